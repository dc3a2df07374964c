//! Derivatives of loops: of scans in both modes, of loops with a condition in forward mode.

use super::apply::{Applied, ScanAttributes, WhileAttributes};
use super::derivative::{chosen, flat, leaves, leaves_where, or_zeros, present, pushed, split};
use crate::error;
use crate::error::Result;
use crate::ir::{BinaryOp, Body, NodeId, Trace, take_closed_body};
use crate::ops;
use crate::ops::rules::{Forward, Site, Transforms, reached, sum_dtype, zeros};
use crate::types::TensorType;

/// Which carried values of a loop have a tangent: those that have one at the start, and those that get one from the
/// body, until no more are found. `others` are the remaining operands of the body.
fn carried_tangents(body: &Body, start: &[bool], others: &[bool]) -> Vec<bool> {
    let mut carried = start.to_vec();
    loop {
        let reached = reached(body, &[&carried[..], others].concat());
        let next: Vec<bool> = carried.iter().zip(&reached).map(|(a, b)| *a || *b).collect();
        if next == carried {
            return carried;
        }
        carried = next;
    }
}

/// Tangents of a loop with a condition: a loop that carries the tangents too. The condition does not see them.
pub fn jvp_of_while(site: &mut Site, tangents: &[Option<NodeId>]) -> Result<Forward> {
    let WhileAttributes { carried, captured_by_condition } = site.attributes();
    let (condition, body, transforms) = (site.bodies[0].clone(), site.bodies[1].clone(), site.transforms);
    let start = carried + captured_by_condition;
    let of_captures = &tangents[start..];
    let active = carried_tangents(&body, &present(&tangents[..carried]), &present(of_captures));
    let arrange = |primals: &[NodeId], tangents: &[Option<NodeId>]| {
        let (values, captures) = primals.split_at(carried);
        let (of_values, of_captures) = tangents.split_at(carried);
        ([values, &flat(of_values)].concat(), [captures, &flat(of_captures)].concat())
    };
    let mask = [&active[..], &present(of_captures)].concat();
    let order = |a: Vec<NodeId>, b: Vec<NodeId>| [a, b].concat();
    let with_tangents = pushed(transforms, &body, &mask, Some(&active), arrange, order)?.body;

    let mut trace = Trace::new();
    let values = leaves(&mut trace, condition.parameters());
    let of_values = flat(&leaves_where(&mut trace, &values, &active));
    let captures = leaves(&mut trace, condition.captures());
    let more = trace.replay(&condition, &[&values[..], &captures].concat());
    let condition = take_closed_body(&trace, &[&values[..], &of_values].concat(), &captures, &more);

    let operands = site.operands.clone();
    let starts = or_zeros(site.trace, &tangents[..carried], &operands[..carried])?;
    let init = [&operands[..carried], &chosen(&starts, &active)].concat();
    let captures = [&operands[start..], &flat(of_captures)].concat();
    let results = ops::while_loop(
        site.trace,
        &Applied { body: &condition, captures: &operands[carried..start] },
        &Applied { body: &with_tangents, captures: &captures },
        &init,
    )?;
    Ok(split(results, &active))
}

/// A loop with a condition has no backward pass, because the number of its iterations is not known.
pub fn vjp_of_while(_: &mut Site, _: &[Option<NodeId>], _: &[bool]) -> Result<Vec<Option<NodeId>>> {
    Err(error!(
        Unimplemented,
        "while has no reverse-mode derivative, because the number of its iterations is not known before it runs; \
         lxla_scan has one, and so has a computation with a rule of its own (lxla_computation_with_vjp)"
    ))
}

/// Tangents of a scan: a scan that carries and stacks the tangents too.
pub fn jvp_of_scan(site: &mut Site, tangents: &[Option<NodeId>]) -> Result<Forward> {
    let ScanAttributes { carried, arrays, length, reverse } = site.attributes();
    let (body, transforms) = (site.bodies[0].clone(), site.transforms);
    let others = present(&tangents[carried..]);
    let active = carried_tangents(&body, &present(&tangents[..carried]), &others);
    let mask = [&active[..], &others].concat();
    let stacked = reached(&body, &mask).split_off(carried);
    let has_tangent = [&active[..], &stacked].concat();
    let explicit = carried + arrays;
    let arrange = |primals: &[NodeId], tangents: &[Option<NodeId>]| {
        let part = |from: usize, to: usize| [&primals[from..to], &flat(&tangents[from..to])].concat();
        ([part(0, carried), part(carried, explicit)].concat(), part(explicit, primals.len()))
    };
    let count = active.iter().filter(|is| **is).count();
    let order = |results: Vec<NodeId>, tangents: Vec<NodeId>| {
        let (values, stacks) = results.split_at(carried);
        let (of_values, of_stacks) = tangents.split_at(count);
        [values, of_values, stacks, of_stacks].concat()
    };
    let made = pushed(transforms, &body, &mask, Some(&has_tangent), arrange, order)?.body;

    let operands = site.operands.clone();
    let starts = or_zeros(site.trace, &tangents[..carried], &operands[..carried])?;
    let init = [&operands[..carried], &chosen(&starts, &active)].concat();
    let arrays = [&operands[carried..explicit], &flat(&tangents[carried..explicit])].concat();
    let captures = [&operands[explicit..], &flat(&tangents[explicit..])].concat();
    let applied = Applied { body: &made, captures: &captures };
    let found = ops::scan(site.trace, &applied, &init, &arrays, length, reverse)?;
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

fn iteration(transforms: &dyn Transforms, body: &Body, arriving: &[bool], wanted: &[bool]) -> Result<Iteration> {
    let mut trace = Trace::new();
    let primals = leaves(&mut trace, body.parameters().iter().chain(body.captures()));
    let results = trace.replay(body, &primals);
    let cotangents = leaves_where(&mut trace, &results, arriving);
    let outputs: Vec<(NodeId, NodeId)> =
        results.iter().zip(&cotangents).filter_map(|(&result, cotangent)| cotangent.map(|c| (result, c))).collect();
    let mut found = transforms.vjp(&mut trace, &outputs, &chosen(&primals, wanted))?.into_iter();
    let gradients = wanted.iter().map(|wanted| if *wanted { found.next().flatten() } else { None }).collect();
    Ok(Iteration { trace, primals, results, cotangents, gradients })
}

/// The backward pass of one iteration. Its carried cotangents are those of the scan's results, and those that the pass
/// itself returns for the iteration before; it is recorded again until no further carried value gets one.
fn settled_iteration(
    transforms: &dyn Transforms,
    body: &Body,
    cotangents: &[Option<NodeId>],
    active: &[bool],
    wanted: &[bool],
) -> Result<Iteration> {
    let mut arriving = present(cotangents);
    arriving.resize(body.results().len(), false);
    arriving.iter_mut().zip(active).for_each(|(arriving, active)| *arriving &= active);
    loop {
        let made = iteration(transforms, body, &arriving, wanted)?;
        let mut grown = false;
        for (arriving, gradient) in arriving.iter_mut().zip(&made.gradients[..active.len()]) {
            if gradient.is_some() && !*arriving {
                (*arriving, grown) = (true, true);
            }
        }
        if !grown {
            return Ok(made);
        }
    }
}

/// Cotangents of a scan: a scan in the opposite direction. The forward scan is extended to stack the residuals of each
/// iteration. The backward scan carries the cotangents of carried values and the sums of the captures' cotangents; it
/// reads the residuals, the slices of the forward scan, and the cotangents of stacked results. Slices and captures are
/// never stacked.
pub fn vjp_of_scan(site: &mut Site, cotangents: &[Option<NodeId>], wanted: &[bool]) -> Result<Vec<Option<NodeId>>> {
    let ScanAttributes { carried, arrays, length, reverse } = site.attributes();
    let (body, transforms, operands) = (site.bodies[0].clone(), site.transforms, site.operands.clone());
    let explicit = carried + arrays;
    // A carried value that depends on a wanted operand in any iteration is differentiated in all.
    let active = carried_tangents(&body, &wanted[..carried], &wanted[carried..]);
    let inner: Vec<bool> = [&active[..], &wanted[carried..]].concat();
    let Iteration { mut trace, primals, results, cotangents: arriving, gradients } =
        settled_iteration(transforms, &body, cotangents, &active, &inner)?;

    // One more sum for each wanted capture, which the backward scan carries.
    let (mut sums, mut next_sums, mut summed) = (Vec::new(), Vec::new(), Vec::new());
    for (capture, gradient) in gradients.iter().enumerate().skip(explicit) {
        let Some(gradient) = *gradient else { continue };
        let ty = trace.ty(gradient);
        let wide = TensorType { dtype: sum_dtype(ty.dtype), dims: ty.dims.clone() };
        let sum = trace.parameter(wide.clone());
        let term = ops::convert(&mut trace, gradient, wide.dtype);
        next_sums.push(ops::binary(&mut trace, BinaryOp::Add, sum, term)?);
        sums.push(sum);
        summed.push((capture, wide));
    }
    let carries: Vec<usize> = (0..carried).filter(|&i| arriving[i].is_some()).collect();
    let next: Vec<NodeId> = carries
        .iter()
        .map(|&i| match gradients[i] {
            Some(id) => Ok(id),
            None => {
                let ty = trace.ty(primals[i]);
                zeros(&mut trace, &ty)
            }
        })
        .collect::<Result<_>>()?;
    let of_slices: Vec<usize> = (carried..explicit).filter(|&i| gradients[i].is_some()).collect();
    let slice_gradients: Vec<NodeId> = of_slices.iter().map(|&i| gradients[i].expect("it is given")).collect();

    let arrived: Vec<NodeId> = flat(&arriving);
    let made = [&next[..], &next_sums, &slice_gradients].concat();
    let late = [&arrived[..], &sums].concat();
    let saved = transforms.residuals(&trace, &primals[carried..], &primals[explicit..], &late, &made);
    let stacked_cotangents: Vec<usize> = (carried..arriving.len()).filter(|&i| arriving[i].is_some()).collect();

    let forward =
        take_closed_body(&trace, &primals[..explicit], &primals[explicit..], &[&results[..], &saved].concat());
    let node = |i: &usize| arriving[*i].expect("it arrives");
    let parameters = [
        &carries.iter().map(node).collect::<Vec<_>>()[..],
        &sums,
        &saved,
        &primals[carried..explicit],
        &stacked_cotangents.iter().map(node).collect::<Vec<_>>(),
    ]
    .concat();
    let backward = take_closed_body(&trace, &parameters, &primals[explicit..], &made);

    let stack_types: Vec<TensorType> = saved.iter().map(|&id| stacked(&trace.ty(id), length)).collect();
    let attributes: ScanAttributes = site.attributes();
    let stacks = site.trace.extend_results(site.node, &attributes, &[&forward], results.len(), &stack_types);

    let mut init = Vec::with_capacity(carries.len() + sums.len());
    for &i in &carries {
        init.push(match cotangents.get(i).copied().flatten() {
            Some(id) => id,
            None => zeros(site.trace, &trace.ty(primals[i]))?,
        });
    }
    for (_, ty) in &summed {
        init.push(zeros(site.trace, ty)?);
    }
    let mut slices = [&stacks[..], &operands[carried..explicit]].concat();
    for &i in &stacked_cotangents {
        slices.push(cotangents[i].expect("it arrives"));
    }
    let applied = Applied { body: &backward, captures: &operands[explicit..] };
    let found = ops::scan(site.trace, &applied, &init, &slices, length, !reverse)?;

    let mut all = vec![None; operands.len()];
    for (at, &i) in carries.iter().enumerate().filter(|(_, i)| wanted[**i]) {
        all[i] = Some(found[at]);
    }
    for (at, (capture, _)) in summed.iter().enumerate() {
        let dtype = site.operand_ty(*capture).dtype;
        all[*capture] = Some(ops::convert(site.trace, found[carries.len() + at], dtype));
    }
    for (at, &i) in of_slices.iter().enumerate() {
        all[i] = Some(found[init.len() + at]);
    }
    Ok(all)
}

fn stacked(ty: &TensorType, length: i64) -> TensorType {
    let mut ty = ty.clone();
    ty.dims.insert(0, length);
    ty
}
