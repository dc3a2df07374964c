//! Derivatives of operations that apply bodies. The bodies of tangents and cotangents are made from the operation's by
//! the transformations of the site.

use super::apply::{Applied, CaseAttributes, IfAttributes};
use crate::error::Result;
use crate::ir::{Body, NodeId, Trace, take_closed_body};
use crate::ops;
use crate::ops::rules::{Forward, Site, Transforms, reached, zeros};
use crate::types::TensorType;
use std::sync::Arc;

/// Parameters or operands at the places of a mask.
pub(super) fn chosen(nodes: &[NodeId], mask: &[bool]) -> Vec<NodeId> {
    nodes.iter().zip(mask).filter(|(_, is)| **is).map(|(&id, _)| id).collect()
}

pub(super) fn leaves<'a>(trace: &mut Trace, types: impl IntoIterator<Item = &'a TensorType>) -> Vec<NodeId> {
    types.into_iter().map(|ty| trace.parameter(ty.clone())).collect()
}

/// One leaf for each value in the mask, `None` for the others.
pub(super) fn leaves_where(trace: &mut Trace, nodes: &[NodeId], mask: &[bool]) -> Vec<Option<NodeId>> {
    let leaf = |(&id, is): (&NodeId, &bool)| {
        is.then(|| {
            let ty = trace.ty(id);
            trace.parameter(ty)
        })
    };
    nodes.iter().zip(mask).map(leaf).collect()
}

pub(super) fn present(list: &[Option<NodeId>]) -> Vec<bool> {
    list.iter().map(Option::is_some).collect()
}

pub(super) fn flat(list: &[Option<NodeId>]) -> Vec<NodeId> {
    list.iter().flatten().copied().collect()
}

/// The nodes, or zeros of the types of `like`.
pub(super) fn or_zeros(trace: &mut Trace, nodes: &[Option<NodeId>], like: &[NodeId]) -> Result<Vec<NodeId>> {
    nodes
        .iter()
        .zip(like)
        .map(|(node, &like)| match node {
            Some(id) => Ok(*id),
            None => {
                let ty = trace.ty(like);
                zeros(trace, &ty)
            }
        })
        .collect()
}

/// A body with tangents: its parameters, the tangents of those in the mask, its captures, their tangents; its results,
/// then the tangents of those in `wanted`, or of all that have one.
pub(super) struct Pushed {
    pub body: Arc<Body>,
    /// Which results have tangents.
    pub has_tangent: Vec<bool>,
}

pub(super) fn pushed(
    transforms: &dyn Transforms,
    body: &Body,
    active: &[bool],
    wanted: Option<&[bool]>,
    arrange: impl Fn(&[NodeId], &[Option<NodeId>]) -> (Vec<NodeId>, Vec<NodeId>),
    order: impl Fn(Vec<NodeId>, Vec<NodeId>) -> Vec<NodeId>,
) -> Result<Pushed> {
    let mut trace = Trace::new();
    let primals = leaves(&mut trace, body.parameters().iter().chain(body.captures()));
    let tangents = leaves_where(&mut trace, &primals, active);
    let (results, made) = transforms.jvp(&mut trace, body, &primals, &tangents)?;
    let has_tangent = wanted.map_or_else(|| present(&made), <[bool]>::to_vec);
    let all = or_zeros(&mut trace, &made, &results)?;
    let (parameters, captures) = arrange(&primals, &tangents);
    let results = order(results, chosen(&all, &has_tangent));
    Ok(Pushed { body: take_closed_body(&trace, &parameters, &captures, &results), has_tangent })
}

/// Tangents of a call: a call of the body with tangents.
pub fn jvp_of_call(site: &mut Site, tangents: &[Option<NodeId>]) -> Result<Forward> {
    let (operands, body, transforms) = (site.operands.clone(), site.bodies[0].clone(), site.transforms);
    let arrange = |primals: &[NodeId], tangents: &[Option<NodeId>]| ([primals, &flat(tangents)].concat(), vec![]);
    let made = pushed(transforms, &body, &present(tangents), None, arrange, |a, b| [a, b].concat())?;
    let arguments = [&operands[..], &flat(tangents)].concat();
    let results = ops::call(site.trace, &Applied { body: &made.body, captures: &[] }, &arguments)?;
    Ok(split(results, &made.has_tangent))
}

/// Splits results that are followed by tangents of those in the mask.
pub(super) fn split(mut results: Vec<NodeId>, has_tangent: &[bool]) -> Forward {
    let mut behind = results.split_off(has_tangent.len()).into_iter();
    let tangents = has_tangent.iter().map(|has| if *has { behind.next() } else { None }).collect();
    Forward { results: Some(results), tangents }
}

/// Results and their tangents of branches, each with its own captures. All branches return tangents for the results
/// that have one in any of them.
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
        let reached = reached(body, &mask);
        has_tangent.iter_mut().zip(reached).for_each(|(has, is)| *has |= is);
        masks.push(mask);
        start += count;
    }
    let mut bodies = Vec::with_capacity(masks.len());
    for (body, mask) in site.bodies.iter().zip(&masks) {
        let arrange = |primals: &[NodeId], tangents: &[Option<NodeId>]| {
            let (given, captured) = primals.split_at(arguments);
            let (of_given, of_captured) = tangents.split_at(arguments);
            ([given, &flat(of_given)].concat(), [captured, &flat(of_captured)].concat())
        };
        let order = |a: Vec<NodeId>, b: Vec<NodeId>| [a, b].concat();
        bodies.push(pushed(site.transforms, body, mask, Some(&has_tangent), arrange, order)?.body);
    }
    Ok((bodies, has_tangent))
}

/// Operands of branches, sorted: the choice, the arguments, and the captures of each branch.
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
    if site.op == crate::ir::Op::If {
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
        [on_true, on_false] if site.op == crate::ir::Op::If => {
            ops::branch(site.trace, choice, on_true, on_false, arguments)
        }
        _ => ops::case(site.trace, choice, branches, arguments),
    }
}

/// Tangents of a conditional or case.
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

/// Cotangents of a conditional or case: another one, each of whose branches computes the branch again and pulls the
/// cotangents back. Nothing is saved inside of branches.
pub fn vjp_of_branches(site: &mut Site, cotangents: &[Option<NodeId>], wanted: &[bool]) -> Result<Vec<Option<NodeId>>> {
    let (arguments, captured) = counts(site);
    let given = choice_of(&site.operands, arguments, &captured);
    let total: usize = captured.iter().sum();
    let mut bodies = Vec::with_capacity(site.bodies.len());
    let mut start = 0;
    for (body, &count) in site.bodies.iter().zip(&captured) {
        // Each branch returns a gradient for every wanted operand: zeros for captures of the other branches.
        let mut trace = Trace::new();
        let primals = leaves(&mut trace, body.parameters().iter().chain(body.captures()));
        let results = trace.replay(body, &primals);
        let mut outputs = Vec::new();
        let mut parameters = primals[..arguments].to_vec();
        for (&result, cotangent) in results.iter().zip(cotangents) {
            if let Some(cotangent) = cotangent {
                let leaf = trace.parameter(site.trace.ty(*cotangent));
                parameters.push(leaf);
                outputs.push((result, leaf));
            }
        }
        let own = |at: &usize| *at < arguments || (start..start + count).contains(&(at - arguments));
        let asked: Vec<usize> = (0..wanted.len() - 1).filter(|at| wanted[at + 1] && own(at)).collect();
        let place = |at: usize| if at < arguments { at } else { at - start };
        let inputs: Vec<NodeId> = asked.iter().map(|&at| primals[place(at)]).collect();
        let found = site.transforms.vjp(&mut trace, &outputs, &inputs)?;
        let mut gradients = Vec::new();
        for (operand, _) in wanted.iter().enumerate().skip(1).filter(|(_, wanted)| **wanted) {
            let own = asked.iter().position(|&at| at == operand - 1).and_then(|i| found[i]);
            let ty = site.operand_ty(operand);
            gradients.push(match own {
                Some(id) => id,
                None => zeros(&mut trace, &ty)?,
            });
        }
        bodies.push(take_closed_body(&trace, &parameters, &primals[arguments..], &gradients));
        start += count;
    }
    debug_assert_eq!(start, total);
    let branches: Vec<Applied> =
        bodies.iter().zip(&given.captures).map(|(body, captures)| Applied { body, captures }).collect();
    let all = [&given.arguments[..], &flat(cotangents)].concat();
    let mut found = chosen_branch(site, given.choice, &branches, &all)?.into_iter();
    Ok(wanted.iter().enumerate().map(|(i, wanted)| if i > 0 && *wanted { found.next() } else { None }).collect())
}

/// Cotangents of a call: a call of the backward body, on the operands, the residuals and the cotangents. The recorded
/// call is extended to return the residuals as further results.
pub fn vjp_of_call(site: &mut Site, cotangents: &[Option<NodeId>], wanted: &[bool]) -> Result<Vec<Option<NodeId>>> {
    let (body, transforms) = (site.bodies[0].clone(), site.transforms);
    let mut trace = Trace::new();
    let primals = leaves(&mut trace, body.parameters().iter().chain(body.captures()));
    let results = trace.replay(&body, &primals);
    let given: Vec<NodeId> = flat(cotangents);
    let arrived: Vec<NodeId> = given.iter().map(|&id| trace.parameter(site.trace.ty(id))).collect();
    let with_cotangent = results.iter().zip(cotangents).filter(|(_, cotangent)| cotangent.is_some());
    let outputs: Vec<(NodeId, NodeId)> = with_cotangent.map(|(&result, _)| result).zip(arrived.clone()).collect();
    let inputs = chosen(&primals, wanted);
    let found = transforms.vjp(&mut trace, &outputs, &inputs)?;
    let gradients = flat(&found);
    if gradients.is_empty() {
        return Ok(vec![None; wanted.len()]);
    }
    let saved = transforms.residuals(&trace, &primals, &[], &arrived, &gradients);
    let explicit = body.parameters().len();
    let all = [&results[..], &saved].concat();
    let forward = take_closed_body(&trace, &primals[..explicit], &primals[explicit..], &all);
    let parameters = [&primals[..], &saved, &arrived].concat();
    let backward = take_closed_body(&trace, &parameters, &[], &gradients);
    let types: Vec<TensorType> = saved.iter().map(|&id| trace.ty(id)).collect();
    let extra = site.trace.extend_results(site.node, &(), &[&forward], results.len(), &types);
    let arguments = [&site.operands[..], &extra, &given].concat();
    let mut made = ops::call(site.trace, &Applied { body: &backward, captures: &[] }, &arguments)?.into_iter();
    let mut found = found.into_iter();
    Ok(wanted
        .iter()
        .map(|wanted| if *wanted && found.next().flatten().is_some() { made.next() } else { None })
        .collect())
}

/// Tangents of operations that return their operands.
pub fn jvp_of_barrier(site: &mut Site, tangents: &[Option<NodeId>]) -> Result<Forward> {
    let given = flat(tangents);
    let held = ops::optimization_barrier(site.trace, &given)?;
    let mut held = held.into_iter();
    let tangents = tangents.iter().map(|tangent| tangent.and_then(|_| held.next())).collect();
    Ok(Forward { results: None, tangents })
}

/// Cotangents of operations that return their operands.
pub fn vjp_of_barrier(site: &mut Site, cotangents: &[Option<NodeId>], wanted: &[bool]) -> Result<Vec<Option<NodeId>>> {
    let mut all = cotangents.to_vec();
    all.resize(wanted.len(), None);
    let kept: Vec<Option<NodeId>> = all.iter().zip(wanted).map(|(c, wanted)| c.filter(|_| *wanted)).collect();
    let given = flat(&kept);
    if given.is_empty() {
        return Ok(kept);
    }
    let mut held = ops::optimization_barrier(site.trace, &given)?.into_iter();
    Ok(kept.iter().map(|cotangent| cotangent.and_then(|_| held.next())).collect())
}
