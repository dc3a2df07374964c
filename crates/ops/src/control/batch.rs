//! Batching of operations that apply bodies.

use super::apply::{self, Applied, CaseAttributes, IfAttributes, ScanAttributes, WhileAttributes};
use super::flow::{MOST_STEPS, carried_forward};
use super::memo::{BatchedBody, Derivation};
use crate::batch_axis::with_batch_axis;
use crate::control::barrier::optimization_barrier;
use crate::control::custom::stop_gradient;
use crate::creation::constants::full;
use crate::elementwise::binary::binary;
use crate::elementwise::compare_select::{compare, select};
use crate::elementwise::unary::unary;
use crate::reduction::reduce::reduce;
use crate::rules::{Site, Transforms, is_differentiable};
use crate::shape::axes::{reshape, transpose};
use base::error::Result;
use base::types::{DType, Scalar, ScalarValue, TensorType};
use ir::{BinaryOp, Body, CompareOp, NodeId, Op, ReduceOp, Trace, UnaryOp, take_closed_body};
use std::sync::Arc;

fn with_batch(ty: &TensorType, size: i64) -> TensorType {
    let mut ty = ty.clone();
    ty.dims.insert(0, size);
    ty
}

/// Returns the body with a batch axis on the parameters and captures in the mask. Results have the axis if they depend
/// on one of these, or are in `wanted`.
pub(super) fn batched(
    transforms: &dyn Transforms,
    body: &Arc<Body>,
    mapped: &[bool],
    wanted: Option<&[bool]>,
    size: i64,
) -> Result<Arc<BatchedBody>> {
    let batches = &transforms.memo().batches;
    let derivation = Derivation::of(body, &[size], &[mapped]);
    let plain = batches.find_or(derivation, || over_batch(transforms, body, mapped, &[], size))?;
    match wanted {
        Some(wanted) if wanted.iter().zip(&plain.mapped).any(|(want, is)| *want && !*is) => {
            let derivation = Derivation::of(body, &[size], &[mapped, wanted]);
            batches.find_or(derivation, || over_batch(transforms, body, mapped, wanted, size))
        }
        _ => Ok(plain),
    }
}

/// Derives the body of [`batched`].
fn over_batch(
    transforms: &dyn Transforms,
    body: &Body,
    mapped: &[bool],
    wanted: &[bool],
    size: i64,
) -> Result<BatchedBody> {
    let mut trace = Trace::new();
    let types = body.parameters().iter().chain(body.captures());
    let leaf = |(ty, is): (&TensorType, &bool)| trace.parameter(if *is { with_batch(ty, size) } else { ty.clone() });
    let leaves: Vec<NodeId> = types.zip(mapped).map(leaf).collect();
    let made = transforms.batch(&mut trace, body, &leaves, mapped, size)?;
    let mut results = Vec::with_capacity(made.len());
    let mut of_results = Vec::with_capacity(made.len());
    for (i, (id, is_mapped)) in made.into_iter().enumerate() {
        let want = wanted.get(i).is_some_and(|want| *want);
        results.push(if want && !is_mapped { with_batch_axis(&mut trace, id, size)? } else { id });
        of_results.push(is_mapped || want);
    }
    let (parameters, captures) = leaves.split_at(body.parameters().len());
    Ok(BatchedBody { body: take_closed_body(&trace, parameters, captures, &results)?, mapped: of_results })
}

fn paired(results: Vec<NodeId>, mapped: &[bool]) -> Vec<(NodeId, bool)> {
    results.into_iter().zip(mapped.iter().copied()).collect()
}

/// Batches a call.
pub fn call(site: &mut Site, mapped: &[bool], size: i64) -> Result<Vec<(NodeId, bool)>> {
    let (body, operands) = (site.bodies[0].clone(), site.operands.clone());
    applied(site, &body, &operands, mapped, size)
}

/// Batches the application of a body to operands: its parameters, then its captures.
pub(super) fn applied(
    site: &mut Site,
    body: &Arc<Body>,
    operands: &[NodeId],
    mapped: &[bool],
    size: i64,
) -> Result<Vec<(NodeId, bool)>> {
    let made = batched(site.transforms, body, mapped, None, size)?;
    let (arguments, captures) = operands.split_at(body.parameters().len());
    let results = apply::call(site.trace, &Applied { body: &made.body, captures }, arguments)?;
    Ok(paired(results, &made.mapped))
}

/// Returns the union of masks.
fn either(a: &[bool], b: &[bool]) -> Vec<bool> {
    a.iter().zip(b).map(|(a, b)| *a || *b).collect()
}

/// Batches a conditional or case. If the choice is mapped, all branches are computed, and the result of each element of
/// the batch is selected from its own branch. The operands of each branch are then guarded: the derivative of a branch
/// that an element does not take may be infinite or NaN, and must not reach the operands as a product with 0.
pub fn branches(site: &mut Site, mapped: &[bool], size: i64) -> Result<Vec<(NodeId, bool)>> {
    let (arguments, captured): (usize, Vec<usize>) = if site.op == Op::If {
        let IfAttributes { arguments, .. } = site.attributes();
        (arguments, site.bodies.iter().map(|body| body.captures().len()).collect())
    } else {
        let CaseAttributes { captured, arguments } = site.attributes();
        (arguments, captured)
    };
    let choice = site.operands[0];
    let given = site.operands[1..1 + arguments].to_vec();
    let mut start = 1 + arguments;
    let (mut captures, mut masks) = (Vec::new(), Vec::new());
    for &count in &captured {
        captures.push(site.operands[start..start + count].to_vec());
        masks.push([&mapped[1..1 + arguments], &mapped[start..start + count]].concat());
        start += count;
    }
    let everywhere = vec![true; site.bodies[0].results().len()];
    if mapped[0] {
        let taken = taken(site.trace, site.op, choice, captured.len(), size)?;
        let mut chosen: Option<Vec<NodeId>> = None;
        // The last branch is the result where no other one is taken.
        for number in (0..captured.len()).rev() {
            let Some(is_taken) = taken[number] else { continue };
            let operands = [&given[..], &captures[number]].concat();
            let (operands, mask) = guarded_operands(site.trace, &operands, &masks[number], is_taken, size)?;
            let made = batched(site.transforms, &site.bodies[number], &mask, Some(&everywhere), size)?;
            let (given, captures) = operands.split_at(given.len());
            let own = apply::call(site.trace, &Applied { body: &made.body, captures }, given)?;
            chosen = Some(match chosen {
                None => own,
                Some(others) => {
                    let pairs = own.iter().zip(&others);
                    pairs.map(|(&a, &b)| select_rows(site.trace, is_taken, a, b, size)).collect::<Result<_>>()?
                }
            });
        }
        return Ok(paired(chosen.expect("the last branch can be taken"), &everywhere));
    }
    let mut of_results = vec![false; everywhere.len()];
    for (body, mask) in site.bodies.iter().zip(&masks) {
        of_results = either(&of_results, &batched(site.transforms, body, mask, None, size)?.mapped);
    }
    let mut bodies = Vec::with_capacity(captured.len());
    for (body, mask) in site.bodies.iter().zip(&masks) {
        bodies.push(batched(site.transforms, body, mask, Some(&of_results), size)?.body.clone());
    }
    let applied: Vec<Applied> =
        bodies.iter().zip(&captures).map(|(body, captures)| Applied { body, captures }).collect();
    let results = match &applied[..] {
        [on_true, on_false] if site.op == Op::If => apply::branch(site.trace, choice, on_true, on_false, &given)?,
        all => apply::case(site.trace, choice, all, &given)?,
    };
    Ok(paired(results, &of_results))
}

/// Records for each branch of a conditional or case the elements of the batch that take it. None for a branch that none
/// can take, since the dtype of the index does not represent its number.
fn taken(trace: &mut Trace, op: Op, choice: NodeId, count: usize, size: i64) -> Result<Vec<Option<NodeId>>> {
    if op == Op::If {
        return Ok(vec![Some(choice), Some(unary(trace, UnaryOp::Not, choice)?)]);
    }
    let mut taken = vec![None; count];
    // An index out of range selects the last branch.
    let mut rest = full(trace, &TensorType::new(DType::Pred, &[size]), ScalarValue::Signed(1))?;
    for (number, is_taken) in taken[..count - 1].iter_mut().enumerate() {
        let dtype = trace.node(choice).dtype;
        if Scalar::new(dtype, ScalarValue::Signed(number as i64)).is_err() {
            break;
        }
        let number = full(trace, &TensorType::new(dtype, &[]), ScalarValue::Signed(number as i64))?;
        *is_taken = Some(compare(trace, CompareOp::Eq, choice, number)?);
        let is_other = compare(trace, CompareOp::Ne, choice, number)?;
        rest = binary(trace, BinaryOp::And, rest, is_other)?;
    }
    taken[count - 1] = Some(rest);
    Ok(taken)
}

/// Returns operands with the batch axis on all that have derivatives, and the mask of those that have it. They keep their
/// values; where a branch is not taken, they are constants to derivatives.
fn guarded_operands(
    trace: &mut Trace,
    operands: &[NodeId],
    mapped: &[bool],
    is_taken: NodeId,
    size: i64,
) -> Result<(Vec<NodeId>, Vec<bool>)> {
    let mut mask = mapped.to_vec();
    let mut guarded = operands.to_vec();
    for (operand, mapped) in guarded.iter_mut().zip(&mut mask) {
        if !is_differentiable(trace.node(*operand).dtype) {
            continue;
        }
        if !std::mem::replace(mapped, true) {
            *operand = with_batch_axis(trace, *operand, size)?;
        }
        let stopped = stop_gradient(trace, *operand)?;
        *operand = select_rows(trace, is_taken, *operand, stopped, size)?;
    }
    Ok((guarded, mask))
}

/// Records a select of rows: row i of the result is row i of `a` if `pred[i]` is true, and of `b` otherwise.
fn select_rows(trace: &mut Trace, pred: NodeId, a: NodeId, b: NodeId, size: i64) -> Result<NodeId> {
    let rank = trace.ty(a).dims.len();
    let mut dims = vec![1; rank];
    dims[0] = size;
    let pred = reshape(trace, pred, &dims)?;
    select(trace, pred, a, b)
}

/// Returns the fixed point of the mask of carried values: those that have the batch axis initially, and those that get
/// it from the body. After a few steps, those that could get it count as well.
fn fixed_point(
    transforms: &dyn Transforms,
    body: &Arc<Body>,
    start: &[bool],
    others: &[bool],
    size: i64,
) -> Result<Vec<bool>> {
    let mut carried = start.to_vec();
    for step in 0.. {
        if step == MOST_STEPS {
            carried = carried_forward(body, &[&carried[..], others].concat(), carried.len(), |_, _| true);
        }
        let made = batched(transforms, body, &[&carried[..], others].concat(), None, size)?;
        let next = either(&carried, &made.mapped);
        if next == carried {
            return Ok(carried);
        }
        carried = next;
    }
    unreachable!("a mask that is closed does not change")
}

/// Returns the initial values, with a batch axis on those in the mask.
fn starts(site: &mut Site, mapped: &[bool], carried: &[bool], size: i64) -> Result<Vec<NodeId>> {
    let mut starts = site.operands[..carried.len()].to_vec();
    for i in 0..carried.len() {
        if carried[i] && !mapped[i] {
            starts[i] = with_batch_axis(site.trace, starts[i], size)?;
        }
    }
    Ok(starts)
}

/// Batches a scan.
pub fn scan(site: &mut Site, mapped: &[bool], size: i64) -> Result<Vec<(NodeId, bool)>> {
    let ScanAttributes { carried, arrays, length, reverse } = site.attributes();
    let body = site.bodies[0].clone();
    let carry = fixed_point(site.transforms, &body, &mapped[..carried], &mapped[carried..], size)?;
    let mut wanted = carry.clone();
    wanted.resize(body.results().len(), false);
    let mask = [&carry[..], &mapped[carried..]].concat();
    let made = batched(site.transforms, &body, &mask, Some(&wanted), size)?;
    let init = starts(site, mapped, &carry, size)?;
    // The batch is the second axis of stacked arrays, so that slices have it as their first.
    let mut slices = site.operands[carried..carried + arrays].to_vec();
    for (slice, _) in slices.iter_mut().zip(&mapped[carried..]).filter(|(_, mapped)| **mapped) {
        *slice = swap_leading(site.trace, *slice)?;
    }
    let captures = site.operands[carried + arrays..].to_vec();
    let applied = Applied { body: &made.body, captures: &captures };
    let mut results = apply::scan(site.trace, &applied, &init, &slices, length, reverse)?;
    for (result, mapped) in results.iter_mut().zip(&made.mapped).skip(carried) {
        if *mapped {
            *result = swap_leading(site.trace, *result)?;
        }
    }
    Ok(paired(results, &made.mapped))
}

fn swap_leading(trace: &mut Trace, x: NodeId) -> Result<NodeId> {
    let mut order: Vec<i64> = (0..trace.ty(x).dims.len() as i64).collect();
    order.swap(0, 1);
    transpose(trace, x, &order)
}

/// Batches a loop with a condition. If the condition depends on a mapped value, the loop runs until it is false for
/// every element of the batch, and finished elements keep their values.
pub fn while_loop(site: &mut Site, mapped: &[bool], size: i64) -> Result<Vec<(NodeId, bool)>> {
    let WhileAttributes { carried, captured_by_condition } = site.attributes();
    let (condition, body, transforms) = (site.bodies[0].clone(), site.bodies[1].clone(), site.transforms);
    let start = carried + captured_by_condition;
    let (of_condition, of_body) = (&mapped[carried..start], &mapped[start..]);
    let mut carry = fixed_point(transforms, &body, &mapped[..carried], of_body, size)?;
    let tested = |carry: &[bool]| batched(transforms, &condition, &[carry, of_condition].concat(), None, size);
    let is_batched = tested(&carry)?.mapped[0];
    if is_batched {
        carry = vec![true; carried];
    }
    let init = starts(site, mapped, &carry, size)?;
    let (captures_of_condition, captures_of_body) =
        (site.operands[carried..start].to_vec(), site.operands[start..].to_vec());
    let plain = tested(&carry)?.body.clone();
    let next = batched(transforms, &body, &[&carry[..], of_body].concat(), Some(&carry), size)?.body.clone();
    let made = if is_batched {
        let any = any_of(&plain)?;
        let guarded = guarded(&plain, &next, size)?;
        let all = [&captures_of_condition[..], &captures_of_body].concat();
        apply::while_loop(
            site.trace,
            &Applied { body: &any, captures: &captures_of_condition },
            &Applied { body: &guarded, captures: &all },
            &init,
        )?
    } else {
        apply::while_loop(
            site.trace,
            &Applied { body: &plain, captures: &captures_of_condition },
            &Applied { body: &next, captures: &captures_of_body },
            &init,
        )?
    };
    Ok(paired(made, &carry))
}

/// Returns a condition that is true if `condition` is true for any element of the batch.
fn any_of(condition: &Body) -> Result<Arc<Body>> {
    let mut trace = Trace::new();
    let parameters: Vec<NodeId> = condition.parameters().iter().map(|ty| trace.parameter(ty.clone())).collect();
    let captures: Vec<NodeId> = condition.captures().iter().map(|ty| trace.parameter(ty.clone())).collect();
    let more = trace.replay(condition, &[&parameters[..], &captures].concat())?;
    let any = reduce(&mut trace, ReduceOp::Any, more[0], &[0], false)?;
    take_closed_body(&trace, &parameters, &captures, &[any])
}

/// Returns a loop body that changes only the elements of the batch for which the condition is true. Its captures are
/// those of the condition, then those of the body.
fn guarded(condition: &Body, body: &Body, size: i64) -> Result<Arc<Body>> {
    let mut trace = Trace::new();
    let mut leaves =
        |types: &[TensorType]| -> Vec<NodeId> { types.iter().map(|ty| trace.parameter(ty.clone())).collect() };
    let (parameters, of_condition, of_body) =
        (leaves(body.parameters()), leaves(condition.captures()), leaves(body.captures()));
    let more = trace.replay(condition, &[&parameters[..], &of_condition].concat())?[0];
    let next = trace.replay(body, &[&parameters[..], &of_body].concat())?;
    let results: Vec<NodeId> = next
        .iter()
        .zip(&parameters)
        .map(|(&next, &before)| select_rows(&mut trace, more, next, before, size))
        .collect::<Result<_>>()?;
    take_closed_body(&trace, &parameters, &[&of_condition[..], &of_body].concat(), &results)
}

/// Batches a barrier.
pub fn barrier(site: &mut Site, mapped: &[bool], _: i64) -> Result<Vec<(NodeId, bool)>> {
    let operands = site.operands.clone();
    Ok(paired(optimization_barrier(site.trace, &operands)?, mapped))
}
