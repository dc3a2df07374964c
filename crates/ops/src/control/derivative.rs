//! Derivatives of operations that apply bodies. Bodies with tangents and backward bodies are derived from the
//! operation's bodies by [`Transforms`].

use super::apply::{Applied, CaseAttributes, IfAttributes};
use super::memo::{CallPasses, Derivation, Pushed, Residuals};
use crate::control::apply::{branch, call, case};
use crate::control::barrier::{held_back, optimization_barrier};
use crate::control::checkpoint::Checkpoint;
use crate::control::ordered::in_recording_order;
use crate::rules::{Forward, Site, Transforms};
use crate::tangents::{or_zeros, zeros};
use base::error::Result;
use base::types::TensorType;
use ir::{Body, NodeId, Trace, take_closed_body};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Returns the nodes in a mask.
pub(crate) fn chosen(nodes: &[NodeId], mask: &[bool]) -> Vec<NodeId> {
    nodes.iter().zip(mask).filter(|(_, is)| **is).map(|(&id, _)| id).collect()
}

pub(crate) fn leaves<'a>(trace: &mut Trace, types: impl IntoIterator<Item = &'a TensorType>) -> Vec<NodeId> {
    types.into_iter().map(|ty| trace.parameter(ty.clone())).collect()
}

/// Adds a leaf for each node in the mask; `None` for the others.
pub(crate) fn leaves_where(trace: &mut Trace, nodes: &[NodeId], mask: &[bool]) -> Vec<Option<NodeId>> {
    let leaf = |(&id, is): (&NodeId, &bool)| {
        is.then(|| {
            let ty = trace.ty(id);
            trace.parameter(ty)
        })
    };
    nodes.iter().zip(mask).map(leaf).collect()
}

pub(crate) fn present(list: &[Option<NodeId>]) -> Vec<bool> {
    list.iter().map(Option::is_some).collect()
}

pub(crate) fn flat(list: &[Option<NodeId>]) -> Vec<NodeId> {
    list.iter().flatten().copied().collect()
}

/// Returns pairs of a result and its cotangent, for the results that have one.
pub(super) fn with_cotangents(results: &[NodeId], cotangents: &[Option<NodeId>]) -> Vec<(NodeId, NodeId)> {
    results.iter().zip(cotangents).filter_map(|(&result, cotangent)| cotangent.map(|c| (result, c))).collect()
}

/// Returns the body with tangents of the operands in the mask, and tangents of the results in `wanted`, or else of all
/// results that have one. `groups` are the ends of groups of operands: each group is followed by its tangents. Operands
/// after the last end are captures. Results are grouped in the same way; their last group ends with the results.
pub(super) fn pushed(
    transforms: &dyn Transforms,
    body: &Arc<Body>,
    active: &[bool],
    wanted: Option<&[bool]>,
    groups: &[usize],
) -> Result<Arc<Pushed>> {
    let mut masks = vec![active];
    masks.extend(wanted);
    let numbers: Vec<i64> = groups.iter().map(|&end| end as i64).collect();
    let derivation = Derivation::of(body, &numbers, &masks);
    transforms.memo().tangents.find_or(derivation, || push(transforms, body, active, wanted, groups))
}

/// Derives the body of [`pushed`].
fn push(
    transforms: &dyn Transforms,
    body: &Body,
    active: &[bool],
    wanted: Option<&[bool]>,
    groups: &[usize],
) -> Result<Pushed> {
    let mut trace = Trace::new();
    let primals = leaves(&mut trace, body.parameters().iter().chain(body.captures()));
    let tangents = leaves_where(&mut trace, &primals, active);
    let (results, made) = transforms.jvp(&mut trace, body, &primals, &tangents)?;
    let has_tangent = wanted.map_or_else(|| present(&made), <[bool]>::to_vec);
    let all = or_zeros(&mut trace, &made, &results)?;
    let of_results: Vec<Option<NodeId>> =
        all.into_iter().zip(&has_tangent).map(|(tangent, has)| has.then_some(tangent)).collect();
    let (&explicit, inner) = groups.split_last().expect("the parameters end somewhere");
    let parameters = grouped(&primals[..explicit], &tangents[..explicit], inner);
    let captures = grouped(&primals[explicit..], &tangents[explicit..], &[]);
    let results = grouped(&results, &of_results, inner);
    Ok(Pushed { body: take_closed_body(&trace, &parameters, &captures, &results)?, has_tangent })
}

/// Returns the nodes in groups that end at `ends` and at the last node, each group followed by the tangents of its
/// nodes.
fn grouped(nodes: &[NodeId], tangents: &[Option<NodeId>], ends: &[usize]) -> Vec<NodeId> {
    let mut all = Vec::with_capacity(2 * nodes.len());
    let mut start = 0;
    for end in ends.iter().copied().chain([nodes.len()]) {
        all.extend_from_slice(&nodes[start..end]);
        all.extend(flat(&tangents[start..end]));
        start = end;
    }
    all
}

/// Records the tangents of a call, by a call of the body with tangents.
pub fn jvp_of_call(site: &mut Site, tangents: &[Option<NodeId>]) -> Result<Forward> {
    let (body, operands) = (site.bodies[0].clone(), site.operands.clone());
    jvp_of_applied(site, &body, &operands, tangents)
}

/// Records the tangents of a body applied to operands: its parameters, then its captures.
pub(super) fn jvp_of_applied(
    site: &mut Site,
    body: &Arc<Body>,
    operands: &[NodeId],
    tangents: &[Option<NodeId>],
) -> Result<Forward> {
    let made = pushed(site.transforms, body, &present(tangents), None, &[operands.len()])?;
    let arguments = [operands, &flat(tangents)].concat();
    let results = call(site.trace, &Applied { body: &made.body, captures: &[] }, &arguments)?;
    Ok(split(results, &made.has_tangent))
}

/// Splits a list of results, followed by tangents of those in the mask.
pub(crate) fn split(mut results: Vec<NodeId>, has_tangent: &[bool]) -> Forward {
    let mut behind = results.split_off(has_tangent.len()).into_iter();
    let tangents = has_tangent.iter().map(|has| if *has { behind.next() } else { None }).collect();
    Forward { results: Some(results), tangents }
}

/// Returns each branch with tangents, and which results have one. All branches return tangents of the results that have
/// one in any branch.
fn branches_with_tangents(
    site: &Site,
    arguments: usize,
    captured: &[usize],
    tangents: &[Option<NodeId>],
) -> Result<(Vec<Arc<Body>>, Vec<bool>)> {
    let choice = 1;
    let mut has_tangent = vec![false; site.bodies[0].results().len()];
    let mut masks = Vec::with_capacity(site.bodies.len());
    let mut start = choice + arguments;
    for (body, &count) in site.bodies.iter().zip(captured) {
        let own = [&tangents[choice..choice + arguments], &tangents[start..start + count]].concat();
        let mask = present(&own);
        let reached = site.transforms.reached(body, &mask);
        has_tangent.iter_mut().zip(reached).for_each(|(has, is)| *has |= is);
        masks.push(mask);
        start += count;
    }
    let mut bodies = Vec::with_capacity(masks.len());
    for (body, mask) in site.bodies.iter().zip(&masks) {
        bodies.push(pushed(site.transforms, body, mask, Some(&has_tangent), &[arguments])?.body.clone());
    }
    Ok((bodies, has_tangent))
}

/// Operands of a conditional or case by role: the choice, the arguments, and the captures of each branch.
struct Choice {
    choice: NodeId,
    arguments: Vec<NodeId>,
    captures: Vec<Vec<NodeId>>,
}

fn choice_of(operands: &[NodeId], arguments: usize, captured: &[usize]) -> Choice {
    let mut rest = &operands[1 + arguments..];
    let captures = captured.iter().map(|&count| {
        let (own, others) = rest.split_at(count);
        rest = others;
        own.to_vec()
    });
    Choice { choice: operands[0], captures: captures.collect(), arguments: operands[1..1 + arguments].to_vec() }
}

/// Numbers of arguments and of captures of each body of a conditional or case.
fn counts(site: &Site) -> (usize, Vec<usize>) {
    if site.op == ir::Op::If {
        let IfAttributes { arguments, .. } = site.attributes();
        (arguments, site.bodies.iter().map(|body| body.captures().len()).collect())
    } else {
        let CaseAttributes { captured, arguments } = site.attributes();
        (arguments, captured)
    }
}

/// Records a conditional or case with other bodies.
fn chosen_branch(site: &mut Site, choice: NodeId, branches: &[Applied], arguments: &[NodeId]) -> Result<Vec<NodeId>> {
    match branches {
        [on_true, on_false] if site.op == ir::Op::If => branch(site.trace, choice, on_true, on_false, arguments),
        _ => case(site.trace, choice, branches, arguments),
    }
}

/// Records the tangents of a conditional or case.
pub fn jvp_of_branches(site: &mut Site, tangents: &[Option<NodeId>]) -> Result<Forward> {
    let (arguments, captured) = counts(site);
    let (bodies, has_tangent) = branches_with_tangents(site, arguments, &captured, tangents)?;
    let given = choice_of(&site.operands, arguments, &captured);
    let mut start = 1 + arguments;
    let mut captures = Vec::with_capacity(bodies.len());
    for own in &given.captures {
        captures.push([&own[..], &flat(&tangents[start..start + own.len()])].concat());
        start += own.len();
    }
    let branches: Vec<Applied> =
        bodies.iter().zip(&captures).map(|(body, captures)| Applied { body, captures }).collect();
    let all = [&given.arguments[..], &flat(&tangents[1..1 + arguments])].concat();
    let results = chosen_branch(site, given.choice, &branches, &all)?;
    Ok(split(results, &has_tangent))
}

/// Records the cotangents of a conditional or case, by another one: each of its branches recomputes the original branch
/// and propagates the cotangents. No values inside of branches are saved.
pub fn vjp_of_branches(site: &mut Site, cotangents: &[Option<NodeId>], wanted: &[bool]) -> Result<Vec<Option<NodeId>>> {
    let (arguments, captured) = counts(site);
    let given = choice_of(&site.operands, arguments, &captured);
    let (branches, transforms) = (site.bodies.clone(), site.transforms);
    let arriving = arriving(&branches[0], cotangents);
    let derivation = Derivation::new(&branches, &[], &[&arriving, wanted]);
    let derive = || branches_back(transforms, &branches, &arriving, &wanted[1..]);
    let bodies = transforms.memo().branches.find_or(derivation, derive)?;
    let branches: Vec<Applied> =
        bodies.iter().zip(&given.captures).map(|(body, captures)| Applied { body, captures }).collect();
    let all = [&given.arguments[..], &flat(cotangents)].concat();
    let mut found = chosen_branch(site, given.choice, &branches, &all)?.into_iter();
    Ok(wanted.iter().enumerate().map(|(i, wanted)| if i > 0 && *wanted { found.next() } else { None }).collect())
}

/// Which results of a body have a cotangent.
pub(super) fn arriving(body: &Body, cotangents: &[Option<NodeId>]) -> Vec<bool> {
    let mut arriving = present(cotangents);
    arriving.resize(body.results().len(), false);
    arriving
}

/// Returns the backward pass of each branch, which takes the branch's parameters and the cotangents that arrive. Each
/// returns a gradient for every wanted argument and every wanted capture of all branches: zeros for captures of other
/// branches.
fn branches_back(
    transforms: &dyn Transforms,
    branches: &[Arc<Body>],
    arriving: &[bool],
    wanted: &[bool],
) -> Result<Vec<Arc<Body>>> {
    let given = branches[0].parameters();
    let arguments = given.len();
    let types: Vec<&TensorType> = given.iter().chain(branches.iter().flat_map(|branch| branch.captures())).collect();
    let mut bodies = Vec::with_capacity(branches.len());
    let mut start = arguments;
    for body in branches {
        let end = start + body.captures().len();
        let mut trace = Trace::new();
        let primals = leaves(&mut trace, body.parameters().iter().chain(body.captures()));
        let results = trace.replay(body, &primals)?;
        let arrived = leaves_where(&mut trace, &results, arriving);
        let own = |at: &usize| *at < arguments || (start..end).contains(at);
        let asked: Vec<usize> = (0..wanted.len()).filter(|at| wanted[*at] && own(at)).collect();
        let place = |at: usize| if at < arguments { at } else { arguments + at - start };
        let inputs: Vec<NodeId> = asked.iter().map(|&at| primals[place(at)]).collect();
        let found = transforms.vjp(&mut trace, &with_cotangents(&results, &arrived), &inputs)?;
        let mut gradients = Vec::new();
        for at in (0..wanted.len()).filter(|&at| wanted[at]) {
            gradients.push(match asked.iter().position(|&own| own == at).and_then(|i| found[i]) {
                Some(id) => id,
                None => zeros(&mut trace, types[at])?,
            });
        }
        let parameters = [&primals[..arguments], &flat(&arrived)].concat();
        in_recording_order(&mut trace, &[], &mut gradients)?;
        bodies.push(take_closed_body(&trace, &parameters, &primals[arguments..], &gradients)?);
        start = end;
    }
    Ok(bodies)
}

impl Residuals {
    /// Finds residuals, in a trace of both passes, among the results of the body from index `first` on, and adds those
    /// that are not among them. Also returns the results of the forward body.
    pub fn among(trace: &Trace, results: &[NodeId], first: usize, saved: &[NodeId]) -> (Residuals, Vec<NodeId>) {
        let known = trace.value_numbers();
        let number = |id: NodeId| known[id.0 as usize];
        let mut places = FxHashMap::default();
        (first..results.len()).for_each(|i| {
            places.entry(number(results[i])).or_insert(i);
        });
        let (mut numbers, mut added) = (Vec::with_capacity(saved.len()), Vec::new());
        let mut all = results.to_vec();
        for &id in saved {
            let present = places.get(&number(id)).copied();
            numbers.push(present.unwrap_or(all.len()));
            if present.is_none() {
                added.push(trace.ty(id));
                all.push(id);
            }
        }
        (Residuals { numbers, added }, all)
    }

    /// Nodes of the residuals at a site whose results had the types `present` before it was extended by the results
    /// `added`.
    pub fn at(&self, site: &mut Site, present: &[TensorType], added: &[NodeId]) -> Vec<NodeId> {
        let mut nodes = Vec::with_capacity(self.numbers.len());
        for &number in &self.numbers {
            nodes.push(match (number.checked_sub(present.len()), site.results.get(number).copied().flatten()) {
                (Some(i), _) => added[i],
                (None, Some(id)) => id,
                (None, None) => site.trace.result(site.node, number, &present[number]),
            });
        }
        nodes
    }
}

/// Returns the passes for the cotangents that arrive and the operands that are wanted; `None` if no operand has a
/// gradient. With `is_held`, what the backward pass recomputes stands behind an optimization barrier.
fn call_passes(
    transforms: &dyn Transforms,
    body: &Body,
    arriving: &[bool],
    wanted: &[bool],
    is_held: bool,
) -> Result<Option<CallPasses>> {
    let mut trace = Trace::new();
    let primals = leaves(&mut trace, body.parameters().iter().chain(body.captures()));
    let results = trace.replay(body, &primals)?;
    let arrived = leaves_where(&mut trace, &results, arriving);
    let found = transforms.vjp(&mut trace, &with_cotangents(&results, &arrived), &chosen(&primals, wanted))?;
    let mut gradients = flat(&found);
    if gradients.is_empty() {
        return Ok(None);
    }
    let late = flat(&arrived);
    let saved = transforms.residuals(&trace, &primals, &[], &late, &gradients)?;
    let (residuals, all) = Residuals::among(&trace, &results, 0, &saved);
    let explicit = body.parameters().len();
    let forward = take_closed_body(&trace, &primals[..explicit], &primals[explicit..], &all)?;
    in_recording_order(&mut trace, &saved, &mut gradients)?;
    let mut backward = take_closed_body(&trace, &[&primals[..], &saved, &late].concat(), &[], &gradients)?;
    if is_held {
        let mut held = transforms.held(&trace, &[&primals[..], &saved].concat(), &late, &gradients);
        if held.contains(&true) {
            held.resize(held.len() + late.len(), true);
            backward = held_back(&backward, &held)?;
        }
    }
    let mut found = found.into_iter();
    let has_gradient = wanted.iter().map(|wanted| *wanted && found.next().flatten().is_some()).collect();
    Ok(Some(CallPasses { forward, backward, residuals, has_gradient }))
}

/// Records the cotangents of a call. The recorded call is extended to also return the residuals.
pub fn vjp_of_call(site: &mut Site, cotangents: &[Option<NodeId>], wanted: &[bool]) -> Result<Vec<Option<NodeId>>> {
    let (body, operands) = (site.bodies[0].clone(), site.operands.clone());
    vjp_of_applied(site, &body, &operands, cotangents, wanted, |site, forward, added| {
        site.trace.extend_results(site.node, &(), &[forward], body.results().len(), added)
    })
}

/// Records the cotangents of the operands (parameters, then captures) of an applied body, by a call of the backward
/// body on the operands, the residuals and the cotangents. `extend` replaces the body of the recorded operation by the
/// forward body, which has additional results of the given types, and returns their nodes.
pub(super) fn vjp_of_applied(
    site: &mut Site,
    body: &Arc<Body>,
    operands: &[NodeId],
    cotangents: &[Option<NodeId>],
    wanted: &[bool],
    extend: impl FnOnce(&mut Site, &Arc<Body>, &[TensorType]) -> Vec<NodeId>,
) -> Result<Vec<Option<NodeId>>> {
    vjp_by_policy(site, None, body, operands, cotangents, wanted, extend)
}

/// Like [`vjp_of_applied`], under a checkpoint policy of the applied body's own.
pub(super) fn vjp_by_policy(
    site: &mut Site,
    policy: Option<&Checkpoint>,
    body: &Arc<Body>,
    operands: &[NodeId],
    cotangents: &[Option<NodeId>],
    wanted: &[bool],
    extend: impl FnOnce(&mut Site, &Arc<Body>, &[TensorType]) -> Vec<NodeId>,
) -> Result<Vec<Option<NodeId>>> {
    let inner = policy.map(|policy| site.transforms.with_policy(policy));
    let transforms = inner.as_deref().unwrap_or(site.transforms);
    let is_held = inner.is_some();
    let arriving = arriving(body, cotangents);
    let derivation = Derivation::of(body, &[i64::from(is_held)], &[&arriving, wanted]);
    let derive = || call_passes(transforms, body, &arriving, wanted, is_held);
    let made = transforms.memo().calls.find_or(derivation, derive)?;
    let Some(passes) = &*made else { return Ok(vec![None; wanted.len()]) };
    let CallPasses { forward, backward, residuals, has_gradient } = passes;
    let is_same = residuals.added.is_empty() && forward == body;
    let added = if is_same { vec![] } else { extend(site, forward, &residuals.added) };
    let saved = residuals.at(site, body.results(), &added);
    let arguments = [operands, &saved, &flat(cotangents)].concat();
    let mut found = call(site.trace, &Applied { body: backward, captures: &[] }, &arguments)?.into_iter();
    Ok(has_gradient.iter().map(|has| if *has { found.next() } else { None }).collect())
}

/// Records the tangents of an operation that returns its operands.
pub fn jvp_of_barrier(site: &mut Site, tangents: &[Option<NodeId>]) -> Result<Forward> {
    let given = flat(tangents);
    let held = optimization_barrier(site.trace, &given)?;
    let mut held = held.into_iter();
    let tangents = tangents.iter().map(|tangent| tangent.and_then(|_| held.next())).collect();
    Ok(Forward { results: None, tangents })
}

/// Records the cotangents of an operation that returns its operands.
pub fn vjp_of_barrier(site: &mut Site, cotangents: &[Option<NodeId>], wanted: &[bool]) -> Result<Vec<Option<NodeId>>> {
    let mut all = cotangents.to_vec();
    all.resize(wanted.len(), None);
    let kept: Vec<Option<NodeId>> = all.iter().zip(wanted).map(|(c, wanted)| c.filter(|_| *wanted)).collect();
    let given = flat(&kept);
    if given.is_empty() {
        return Ok(kept);
    }
    let mut held = optimization_barrier(site.trace, &given)?.into_iter();
    Ok(kept.iter().map(|cotangent| cotangent.and_then(|_| held.next())).collect())
}
