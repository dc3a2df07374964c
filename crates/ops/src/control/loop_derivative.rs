//! Derivatives of loops: scans in both modes, loops with a condition in forward mode only.

use super::apply::{Applied, ScanAttributes, WhileAttributes};
use super::derivative::{arriving, chosen, flat, leaves, leaves_where, present, pushed, split, with_cotangents};
use super::flow::{MOST_STEPS, carried_backward, carried_forward};
use super::memo::{Derivation, Residuals, ScanPasses};
use crate::control::apply::{scan, while_loop};
use crate::control::ordered::in_recording_order;
use crate::elementwise::binary::binary;
use crate::elementwise::convert::convert;
use crate::rules::{Forward, Site, Transforms};
use crate::tangents::{or_zeros, sum_dtype, zeros};
use base::error;
use base::error::Result;
use base::types::TensorType;
use ir::{BinaryOp, Body, NodeId, Trace, take_closed_body};
use std::sync::Arc;

/// Returns the mask of carried values with a tangent: those that have one initially, and those that get one from the
/// body in any iteration. `others` is the mask of the body's remaining operands.
fn carried_tangents(transforms: &dyn Transforms, body: &Body, start: &[bool], others: &[bool]) -> Vec<bool> {
    let passes = |op, dtype| transforms.passes_tangents(op, dtype);
    carried_forward(body, &[start, others].concat(), start.len(), passes)
}

/// Records the tangents of a loop with a condition, by a loop that also carries the tangents. The condition takes the
/// values only.
pub fn jvp_of_while(site: &mut Site, tangents: &[Option<NodeId>]) -> Result<Forward> {
    let WhileAttributes { carried, captured_by_condition } = site.attributes();
    let (condition, body, transforms) = (site.bodies[0].clone(), site.bodies[1].clone(), site.transforms);
    let start = carried + captured_by_condition;
    let of_captures = &tangents[start..];
    let active = carried_tangents(transforms, &body, &present(&tangents[..carried]), &present(of_captures));
    let mask = [&active[..], &present(of_captures)].concat();
    let with_tangents = pushed(transforms, &body, &mask, Some(&active), &[carried])?;
    let condition = condition_beside_tangents(transforms, &condition, &active)?;

    let operands = site.operands.clone();
    let starts = or_zeros(site.trace, &tangents[..carried], &operands[..carried])?;
    let init = [&operands[..carried], &chosen(&starts, &active)].concat();
    let captures = [&operands[start..], &flat(of_captures)].concat();
    let results = while_loop(
        site.trace,
        &Applied { body: &condition, captures: &operands[carried..start] },
        &Applied { body: &with_tangents.body, captures: &captures },
        &init,
    )?;
    Ok(split(results, &active))
}

/// The condition of a loop that carries the tangents in the mask behind its values, and does not see them.
fn condition_beside_tangents(transforms: &dyn Transforms, condition: &Arc<Body>, active: &[bool]) -> Result<Arc<Body>> {
    let made = transforms.memo().conditions.find_or(Derivation::of(condition, &[], &[active]), || {
        let mut trace = Trace::new();
        let values = leaves(&mut trace, condition.parameters());
        let of_values = flat(&leaves_where(&mut trace, &values, active));
        let captures = leaves(&mut trace, condition.captures());
        let more = trace.replay(condition, &[&values[..], &captures].concat())?;
        take_closed_body(&trace, &[&values[..], &of_values].concat(), &captures, &more)
    })?;
    Ok((*made).clone())
}

/// Returns an error: a loop with a condition has no backward pass, because its number of iterations is unknown.
pub fn vjp_of_while(_: &mut Site, _: &[Option<NodeId>], _: &[bool]) -> Result<Vec<Option<NodeId>>> {
    Err(error!(
        Unimplemented,
        "while has no reverse-mode derivative, because the number of its iterations is not known before it runs; \
         lxla_while_bounded, with a bound on that number, has one, and so have lxla_scan and a computation with a custom \
         rule (lxla_computation_with_vjp)"
    ))
}

/// Records the tangents of a scan, by a scan that also carries and stacks the tangents.
pub fn jvp_of_scan(site: &mut Site, tangents: &[Option<NodeId>]) -> Result<Forward> {
    let ScanAttributes { carried, arrays, length, reverse } = site.attributes();
    let (body, transforms) = (site.bodies[0].clone(), site.transforms);
    let others = present(&tangents[carried..]);
    let active = carried_tangents(transforms, &body, &present(&tangents[..carried]), &others);
    let mask = [&active[..], &others].concat();
    let stacked = transforms.reached(&body, &mask).split_off(carried);
    let has_tangent = [&active[..], &stacked].concat();
    let explicit = carried + arrays;
    let made = pushed(transforms, &body, &mask, Some(&has_tangent), &[carried, explicit])?;

    let count = active.iter().filter(|is| **is).count();
    let operands = site.operands.clone();
    let starts = or_zeros(site.trace, &tangents[..carried], &operands[..carried])?;
    let init = [&operands[..carried], &chosen(&starts, &active)].concat();
    let arrays = [&operands[carried..explicit], &flat(&tangents[carried..explicit])].concat();
    let captures = [&operands[explicit..], &flat(&tangents[explicit..])].concat();
    let applied = Applied { body: &made.body, captures: &captures };
    let found = scan(site.trace, &applied, &init, &arrays, length, reverse)?;
    let stacks = body.results().len() - carried;
    let (values, rest) = found.split_at(carried);
    let (of_values, rest) = rest.split_at(count);
    let (stacks, of_stacks) = rest.split_at(stacks);
    Ok(split([values, stacks, of_values, of_stacks].concat(), &has_tangent))
}

/// Backward pass of the body of a scan, in the trace of one iteration.
struct Iteration {
    trace: Trace,
    /// Leaves: carried values, slices, captures.
    primals: Vec<NodeId>,
    results: Vec<NodeId>,
    /// Leaves for the cotangents of results.
    cotangents: Vec<Option<NodeId>>,
    /// Cotangents of the primals.
    gradients: Vec<Option<NodeId>>,
}

/// Records the body of a scan, and propagates the cotangents that arrive.
fn iteration(transforms: &dyn Transforms, body: &Body, arriving: &[bool], wanted: &[bool]) -> Result<Iteration> {
    let mut trace = Trace::new();
    let primals = leaves(&mut trace, body.parameters().iter().chain(body.captures()));
    let results = trace.replay(body, &primals)?;
    let cotangents = leaves_where(&mut trace, &results, arriving);
    let outputs = with_cotangents(&results, &cotangents);
    let mut found = transforms.vjp(&mut trace, &outputs, &chosen(&primals, wanted))?.into_iter();
    let gradients = wanted.iter().map(|wanted| if *wanted { found.next().flatten() } else { None }).collect();
    Ok(Iteration { trace, primals, results, cotangents, gradients })
}

/// Returns the passes of one iteration of a scan that carries `carried` values. Cotangents of carried values are those
/// of the scan's results, and those that the backward pass of the next iteration returns; the backward pass is recorded
/// again until no further carried value gets one, or a few times, and then with all that could get one. `wanted` is the mask of the body's operands that are differentiated.
fn scan_passes(
    transforms: &dyn Transforms,
    body: &Arc<Body>,
    carried: usize,
    mut arriving: Vec<bool>,
    wanted: &[bool],
) -> Result<Arc<ScanPasses>> {
    let memo = transforms.memo();
    for step in 0.. {
        if step == MOST_STEPS {
            let passes = |op, dtype| transforms.passes_tangents(op, dtype);
            arriving = carried_backward(body, &arriving, wanted, carried, passes);
        }
        let derivation = Derivation::of(body, &[carried as i64], &[&arriving, wanted]);
        if let Some(known) = memo.scans.find(&derivation) {
            return Ok(known);
        }
        if let Some(more) = memo.mask_steps.find(&derivation) {
            arriving = more.to_vec();
            continue;
        }
        let made = iteration(transforms, body, &arriving, wanted)?;
        let mut more = arriving.clone();
        more.iter_mut().zip(&made.gradients[..carried]).for_each(|(more, gradient)| *more |= gradient.is_some());
        if more == arriving {
            return Ok(memo.scans.keep(derivation, passes_of(transforms, body, carried, made)?));
        }
        arriving = memo.mask_steps.keep(derivation, more).to_vec();
    }
    unreachable!("a mask that is closed does not change")
}

/// Splits the backward pass of one iteration, whose masks no longer change, into its two bodies.
fn passes_of(transforms: &dyn Transforms, body: &Body, carried: usize, made: Iteration) -> Result<ScanPasses> {
    let Iteration { mut trace, primals, results, cotangents, gradients } = made;
    let explicit = body.parameters().len();
    // The backward scan carries one sum for each wanted capture.
    let (mut of_sums, mut next_sums, mut sums) = (Vec::new(), Vec::new(), Vec::new());
    for (capture, gradient) in gradients.iter().enumerate().skip(explicit) {
        let Some(gradient) = *gradient else { continue };
        let ty = trace.ty(gradient);
        let wide = TensorType { dtype: sum_dtype(ty.dtype), dims: ty.dims.clone() };
        let sum = trace.parameter(wide.clone());
        let term = convert(&mut trace, gradient, wide.dtype);
        next_sums.push(binary(&mut trace, BinaryOp::Add, sum, term)?);
        of_sums.push(sum);
        sums.push((capture, wide));
    }
    let carries: Vec<usize> = (0..carried).filter(|&i| cotangents[i].is_some()).collect();
    let mut next = Vec::with_capacity(carries.len());
    for &i in &carries {
        next.push(match gradients[i] {
            Some(id) => id,
            None => zeros(&mut trace, &body.parameters()[i])?,
        });
    }
    let slices: Vec<usize> = (carried..explicit).filter(|&i| gradients[i].is_some()).collect();
    let mut all = [&next[..], &next_sums, &flat(&gradients[carried..explicit])].concat();
    let late = [&flat(&cotangents)[..], &of_sums].concat();
    let saved = transforms.residuals(&trace, &primals[carried..], &primals[explicit..], &late, &all)?;
    let stacks: Vec<usize> = (carried..cotangents.len()).filter(|&i| cotangents[i].is_some()).collect();

    // Skips the carried results: they are those of the last iteration, not stacks.
    let (residuals, extended) = Residuals::among(&trace, &results, carried, &saved);
    let forward = take_closed_body(&trace, &primals[..explicit], &primals[explicit..], &extended)?;
    let (of_carried, of_stacks) = (flat(&cotangents[..carried]), flat(&cotangents[carried..]));
    let parameters = [&of_carried[..], &of_sums, &saved, &primals[carried..explicit], &of_stacks].concat();
    in_recording_order(&mut trace, &saved, &mut all)?;
    let backward = take_closed_body(&trace, &parameters, &primals[explicit..], &all)?;
    Ok(ScanPasses { forward, backward, residuals, carries, sums, slices, stacks })
}

/// Records the cotangents of a scan, by a scan in the opposite direction. The forward scan is extended to stack the
/// residuals of each iteration. The backward scan carries the cotangents of carried values and the sums of the
/// captures' cotangents; it reads the residuals, the slices of the forward scan, and the cotangents of stacked results.
/// Slices and captures are never stacked.
pub fn vjp_of_scan(site: &mut Site, cotangents: &[Option<NodeId>], wanted: &[bool]) -> Result<Vec<Option<NodeId>>> {
    let ScanAttributes { carried, arrays, length, reverse } = site.attributes();
    let (body, transforms, operands) = (site.bodies[0].clone(), site.transforms, site.operands.clone());
    let explicit = carried + arrays;
    // A carried value that depends on a wanted operand in one iteration is differentiated in all iterations.
    let active = carried_tangents(transforms, &body, &wanted[..carried], &wanted[carried..]);
    let inner: Vec<bool> = [&active[..], &wanted[carried..]].concat();
    let mut arriving = arriving(&body, cotangents);
    arriving.iter_mut().zip(&active).for_each(|(arriving, active)| *arriving &= active);
    let passes = scan_passes(transforms, &body, carried, arriving, &inner)?;
    let ScanPasses { forward, backward, residuals, carries, sums, slices, stacks } = &*passes;

    let (values, stacked_values) = body.results().split_at(carried);
    let types: Vec<TensorType> =
        values.iter().cloned().chain(stacked_values.iter().map(|ty| stacked(ty, length))).collect();
    let added: Vec<TensorType> = residuals.added.iter().map(|ty| stacked(ty, length)).collect();
    let mut saved = Vec::new();
    if !added.is_empty() || *forward != body {
        let attributes: ScanAttributes = site.attributes();
        saved = site.trace.extend_results(site.node, &attributes, &[forward], types.len(), &added);
    }
    let saved = residuals.at(site, &types, &saved);

    let mut init = Vec::with_capacity(carries.len() + sums.len());
    for &i in carries {
        init.push(match cotangents.get(i).copied().flatten() {
            Some(id) => id,
            None => zeros(site.trace, &body.parameters()[i])?,
        });
    }
    for (_, ty) in sums {
        init.push(zeros(site.trace, ty)?);
    }
    let mut read = [&saved[..], &operands[carried..explicit]].concat();
    read.extend(stacks.iter().map(|&i| cotangents[i].expect("it arrives")));
    let applied = Applied { body: backward, captures: &operands[explicit..] };
    let found = scan(site.trace, &applied, &init, &read, length, !reverse)?;

    let mut all = vec![None; operands.len()];
    for (at, &i) in carries.iter().enumerate().filter(|(_, i)| wanted[**i]) {
        all[i] = Some(found[at]);
    }
    for (at, (capture, _)) in sums.iter().enumerate() {
        let dtype = site.operand_ty(*capture).dtype;
        all[*capture] = Some(convert(site.trace, found[carries.len() + at], dtype));
    }
    for (at, &i) in slices.iter().enumerate() {
        all[i] = Some(found[init.len() + at]);
    }
    Ok(all)
}

fn stacked(ty: &TensorType, length: i64) -> TensorType {
    let mut ty = ty.clone();
    ty.dims.insert(0, length);
    ty
}
