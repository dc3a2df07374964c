//! Calls, loops, branches and regions with the crate `xla`. XlaBuilder has no calls, and copies every computation that a
//! loop or branch applies; so these are instructions of HLO, whose computations are linked (see
//! [`crate::emit::xla_rs`]).

use super::custom::{CustomAttributes, taken};
use crate::emit::xla_rs::{Building, Graph, Message, Site, apply, failed, inline};
use crate::error::Result;
use crate::ir::{Body, CompareOp, Instruction, Op};
use crate::ops::control::apply::{CaseAttributes, IfAttributes, ScanAttributes, WhileAttributes};
use crate::ops::control::regions::{MOST_VALUES, Passed, passed, scalar};
use crate::ops::elementwise::xla_rs::{with_zero, zero_of_all};
use crate::types::{DType, TensorType};
use std::sync::Arc;
use xla::XlaOp;

pub(in crate::ops) fn call(g: &mut Graph, at: usize) -> Result<()> {
    let value = g.instruction(at);
    let results = g.apply(&value.bodies[0], &g.listed(&value.operands)?)?;
    g.define_all(at, results);
    Ok(())
}

pub(in crate::ops) fn custom(g: &mut Graph, at: usize) -> Result<()> {
    let value = g.instruction(at);
    let attributes: CustomAttributes = value.attributes();
    let positions: Vec<usize> =
        taken(&attributes, value.operands.len()).into_iter().map(|i| value.operands[i]).collect();
    let results = g.apply(&value.bodies[attributes.applied], &g.listed(&positions)?)?;
    g.define_all(at, results);
    Ok(())
}

/// Adds a loop over values of these types. `goes_on` returns whether another iteration follows, `step` the next values.
fn looped(
    s: &Site,
    starts: &[XlaOp],
    types: &[TensorType],
    goes_on: impl FnOnce(&Site, &[XlaOp]) -> Result<XlaOp>,
    step: impl FnOnce(&Site, &[XlaOp]) -> Result<Vec<XlaOp>>,
) -> Result<Vec<XlaOp>> {
    let condition =
        s.region_of_tuple("condition", types, false, |s, inside| goes_on(s, inside).map(|more| vec![more]))?;
    let body = s.region_of_tuple("iteration", types, true, step)?;
    let start = s.builder.tuple(starts).map_err(failed)?;
    s.raw_tuple("while", &[start], types, Message::new(), &[body, condition])
}

pub(in crate::ops) fn while_loop(g: &mut Graph, at: usize) -> Result<()> {
    let value = g.instruction(at);
    let (condition, body, building) = (&value.bodies[0], &value.bodies[1], g.building());
    let WhileAttributes { carried, captured_by_condition: captured } = value.attributes();
    let types: Vec<TensorType> = value.operands.iter().map(|&operand| g.ty(operand).clone()).collect();
    let goes_on = |s: &Site, inside: &[XlaOp]| {
        let (values, captures) = inside.split_at(carried);
        Ok(apply(s, condition, &[values, &captures[..captured]].concat(), building)?.remove(0))
    };
    let step = |s: &Site, inside: &[XlaOp]| {
        let (values, captures) = inside.split_at(carried);
        let mut next = apply(s, body, &[values, &captures[captured..]].concat(), building)?;
        next.extend_from_slice(captures);
        Ok(next)
    };
    let mut results = looped(g, &g.listed(&value.operands)?, &types, goes_on, step)?;
    results.truncate(carried);
    g.define_all(at, results);
    Ok(())
}

/// Adds a conditional. Each branch has a body, and the values that it is applied to.
fn chosen(g: &Graph, choice: XlaOp, branches: &[(&Arc<Body>, Vec<usize>)]) -> Result<Vec<XlaOp>> {
    let building = g.building();
    let (mut operands, mut called) = (vec![choice], Vec::new());
    for (body, positions) in branches {
        let types: Vec<TensorType> = positions.iter().map(|&position| g.ty(position).clone()).collect();
        operands.push(g.builder.tuple(&g.listed(positions)?).map_err(failed)?);
        called.push(g.region_of_tuple("branch", &types, true, |s, inside| apply(s, body, inside, building))?);
    }
    g.raw_tuple("conditional", &operands, branches[0].0.results(), Message::new(), &called)
}

pub(in crate::ops) fn branch(g: &mut Graph, at: usize) -> Result<()> {
    let value = g.instruction(at);
    let IfAttributes { arguments, captured_by_true } = value.attributes();
    let (arguments, captures) = value.operands[1..].split_at(arguments);
    let (of_true, of_false) = captures.split_at(captured_by_true);
    let branches =
        [(&value.bodies[0], [arguments, of_true].concat()), (&value.bodies[1], [arguments, of_false].concat())];
    let results = chosen(g, g.operand(at, 0)?, &branches)?;
    g.define_all(at, results);
    Ok(())
}

pub(in crate::ops) fn case(g: &mut Graph, at: usize) -> Result<()> {
    let value = g.instruction(at);
    let CaseAttributes { captured, arguments } = value.attributes();
    let (arguments, mut captures) = value.operands[1..].split_at(arguments);
    let mut branches = Vec::with_capacity(value.bodies.len());
    for (body, captured) in value.bodies.iter().zip(captured) {
        let (own, others) = captures.split_at(captured);
        branches.push((body, [arguments, own].concat()));
        captures = others;
    }
    let index = branch_number(g, value.operands[0], branches.len() as u128 - 1)?;
    let results = chosen(g, index, &branches)?;
    g.define_all(at, results);
    Ok(())
}

/// The branch index as the s32 that HLO takes; every index out of range selects the last branch.
fn branch_number(g: &Graph, position: usize, last: u128) -> Result<XlaOp> {
    let (given, index) = (g.ty(position), g.value(position)?);
    if given.dtype.size_bytes() < 4 || given.dtype == DType::S32 {
        return g.cast(position, &scalar(DType::S32));
    }
    let end = g.constant(given, last)?;
    let mut kept = g.step("minimum", &[&index, &end], given)?;
    if given.dtype == DType::S64 {
        let is_negative = g.compare(CompareOp::Lt, &index, &g.constant(given, 0)?)?;
        kept = g.select(&is_negative, &end, &kept)?;
    }
    g.convert(&kept, DType::S32)
}

/// A loop over a counter, the carried values, the partial result stacks, the arrays and the captures.
pub(in crate::ops) fn scan(g: &mut Graph, at: usize) -> Result<()> {
    let (value, building) = (g.instruction(at), g.building());
    let body = &value.bodies[0];
    let ScanAttributes { carried, arrays, length, reverse } = value.attributes();
    let counter = scalar(if length <= i64::from(i32::MAX) { DType::S32 } else { DType::S64 });
    let stack_of = |slice: &TensorType| TensorType::new(slice.dtype, &[&[length], &slice.dims[..]].concat());
    let stacks: Vec<TensorType> = body.results()[carried..].iter().map(stack_of).collect();

    let given = g.listed(&value.operands)?;
    let given_types: Vec<TensorType> = value.operands.iter().map(|&operand| g.ty(operand).clone()).collect();
    let mut starts = vec![g.constant(&counter, 0)?];
    starts.extend_from_slice(&given[..carried]);
    for stack in &stacks {
        starts.push(g.constant(stack, 0)?);
    }
    starts.extend_from_slice(&given[carried..]);
    let types = [std::slice::from_ref(&counter), &given_types[..carried], &stacks, &given_types[carried..]].concat();

    let goes_on =
        |s: &Site, inside: &[XlaOp]| s.compare(CompareOp::Lt, &inside[0], &s.constant(&counter, length as u128)?);
    let (stack_start, array_start) = (1 + carried, 1 + carried + stacks.len());
    let step = |s: &Site, inside: &[XlaOp]| {
        let place = match reverse {
            false => inside[0].clone(),
            true => s.step("subtract", &[&s.constant(&counter, length as u128 - 1)?, &inside[0]], &counter)?,
        };
        let mut arguments = inside[1..stack_start].to_vec();
        for i in 0..arrays {
            arguments.push(slice_at(s, &inside[array_start + i], &body.parameters()[carried + i], &place, &counter)?);
        }
        arguments.extend_from_slice(&inside[array_start + arrays..]);
        let results = apply(s, body, &arguments, building)?;
        let mut all = vec![s.step("add", &[&inside[0], &s.constant(&counter, 1)?], &counter)?];
        all.extend_from_slice(&results[..carried]);
        for i in 0..stacks.len() {
            let (stack, slice) = (&inside[stack_start + i], &body.results()[carried + i]);
            all.push(write_at(s, stack, &results[carried + i], slice, &place, &counter)?);
        }
        all.extend_from_slice(&inside[array_start..]);
        Ok(all)
    };
    let results = looped(g, &starts, &types, goes_on, step)?;
    g.define_all(at, results[1..array_start].to_vec());
    Ok(())
}

/// Start indices of a slice of a stack, one for each axis.
fn within_stack(s: &Site, slice: &TensorType, place: &XlaOp, counter: &TensorType) -> Result<Vec<XlaOp>> {
    let mut starts = vec![s.constant(counter, 0)?; slice.dims.len() + 1];
    starts[0] = place.clone();
    Ok(starts)
}

fn slice_at(s: &Site, stack: &XlaOp, slice: &TensorType, place: &XlaOp, counter: &TensorType) -> Result<XlaOp> {
    let sizes = [&[1], &slice.dims[..]].concat();
    let cut = stack.dynamic_slice(&within_stack(s, slice, place, counter)?, &sizes).map_err(failed)?;
    s.reshape(&cut, &slice.dims)
}

fn write_at(
    s: &Site,
    stack: &XlaOp,
    value: &XlaOp,
    slice: &TensorType,
    place: &XlaOp,
    counter: &TensorType,
) -> Result<XlaOp> {
    let shaped = s.reshape(value, &[&[1], &slice.dims[..]].concat())?;
    stack.dynamic_update_slice(&shaped, &within_stack(s, slice, place, counter)?).map_err(failed)
}

/// Makes the operands available together: HLO's `opt-barrier` of a tuple, of values that XLA's CPU backend cannot merge
/// with others when it drops the barrier.
pub(in crate::ops) fn barrier(g: &mut Graph, at: usize) -> Result<()> {
    let value = g.instruction(at);
    let types: Vec<TensorType> = value.operands.iter().map(|&operand| g.ty(operand).clone()).collect();
    let mut values = g.listed(&value.operands)?;
    let known: Vec<(&XlaOp, &TensorType)> = values.iter().zip(&types).collect();
    let zero = zero_of_all(g, &known, 0)?;
    for (value, ty) in values.iter_mut().zip(&types) {
        *value = with_zero(g, value, ty, &zero)?;
    }
    let all = g.builder.tuple(&values).map_err(failed)?;
    let results = g.raw_tuple("opt-barrier", &[all], &types, Message::new(), &[])?;
    g.define_all(at, results);
    Ok(())
}

/// Captured scalars broadcast to `dims`, as operands of an operation with a region.
pub(in crate::ops) fn spread(g: &Graph, captures: &[usize], dims: &[i64]) -> Result<Vec<XlaOp>> {
    captures.iter().map(|&capture| g.cast(capture, &TensorType::new(g.ty(capture).dtype, dims))).collect()
}

/// Applies a body in a region: inlined, unless it is large or applies bodies.
pub(in crate::ops) fn written_out(
    s: &Site,
    body: &Arc<Body>,
    arguments: &[XlaOp],
    building: Building,
) -> Result<Vec<XlaOp>> {
    let (values, _) = body.decode();
    let is_plain = |value: &Instruction| value.bodies.is_empty() && value.op != Op::CustomCall;
    if values.len() > MOST_VALUES || !values.iter().all(is_plain) {
        return apply(s, body, arguments, building);
    }
    inline(s, body, arguments, building)
}

/// Scalars of the dtypes of these types.
pub(in crate::ops) fn scalars<'a>(types: impl IntoIterator<Item = &'a TensorType>) -> Vec<TensorType> {
    types.into_iter().map(|ty| scalar(ty.dtype)).collect()
}

/// The computation of a comparator: two parameters for each array, then two for each capture.
pub(in crate::ops) fn comparing(g: &Graph, body: &Arc<Body>) -> Result<u64> {
    let captures = body.captures().iter().flat_map(|ty| [ty, ty]);
    let (parameters, building) = (scalars(body.parameters().iter().chain(captures)), g.building());
    g.region("comparator", &parameters, |s, inside| {
        let (explicit, captured) = inside.split_at(body.parameters().len());
        let captured = captured.iter().step_by(2).cloned();
        let arguments: Vec<XlaOp> = explicit.iter().cloned().chain(captured).collect();
        written_out(s, body, &arguments, building)
    })
}

/// Reinterprets values of the same dims as the dtypes as which a reducer's operation passes them.
pub(in crate::ops) fn pass(s: &Site, values: &[Passed], arrays: &[XlaOp], dims: &[i64]) -> Result<Vec<XlaOp>> {
    let pass = |(array, value): (&XlaOp, &Passed)| reinterpreted(s, array, dims, value.dtype, value.as_dtype);
    arrays.iter().zip(values).map(pass).collect()
}

/// Gives results that are passed by a reducer's operation their own dtypes again.
pub(in crate::ops) fn restored(s: &Site, values: &[Passed], results: &[XlaOp], dims: &[i64]) -> Result<Vec<XlaOp>> {
    let restore = |(result, value): (&XlaOp, &Passed)| reinterpreted(s, result, dims, value.as_dtype, value.dtype);
    results.iter().zip(values).map(restore).collect()
}

fn reinterpreted(s: &Site, x: &XlaOp, dims: &[i64], from: DType, to: DType) -> Result<XlaOp> {
    if from == to { Ok(x.clone()) } else { s.bitcast(x, &TensorType::new(to, dims)) }
}

/// The computation of a reducer: parameters are the accumulators and captures, then the next elements and captures.
pub(in crate::ops) fn combining(g: &Graph, body: &Arc<Body>) -> Result<u64> {
    let (values, count, building) = (passed(body), body.results().len(), g.building());
    let scalars: Vec<TensorType> = values.iter().map(|value| scalar(value.as_dtype)).collect();
    g.region("reducer", &[&scalars[..], &scalars].concat(), |s, inside| {
        let (so_far, next) = inside.split_at(values.len());
        let arguments =
            [restored(s, &values[..count], &so_far[..count], &[])?, restored(s, &values, next, &[])?].concat();
        let mut results = pass(s, &values[..count], &written_out(s, body, &arguments, building)?, &[])?;
        results.extend_from_slice(&next[count..]);
        Ok(results)
    })
}
