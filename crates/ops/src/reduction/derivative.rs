//! Derivatives of reductions over axes. Maxima and minima share their derivative evenly among tied elements; where the
//! result is NaN, the NaN elements tie.

use super::reduce::{ReduceAttributes, accumulator};
use super::reduce_with::ReduceWithAttributes;
use crate::control::bodies::{self, combiner};
use crate::creation::constants::full;
use crate::elementwise::binary::{binary, binary_scalar};
use crate::elementwise::compare_select::{compare, select};
use crate::elementwise::convert::convert;
use crate::reduction::reduce::reduce;
use crate::rules::{Forward, Site, is_differentiable, no_derivative};
use crate::shape::axes::{broadcast_to, reshape, transpose};
use crate::shape::rearrange::slice_axis;
use crate::shape::slicing::pad_scalar;
use crate::tangents::{equal_or_nan, expanded, sum_dtype, transposed, zeros};
use base::error::Result;
use base::types::{DType, Dims, ScalarValue, TensorType};
use ir::{BinaryOp, Body, CompareOp, NodeId, Op, ReduceOp, Trace};

/// Returns the reduction that combines elements by a binary operation.
pub fn reduction(op: BinaryOp) -> ReduceOp {
    match op {
        BinaryOp::Multiply => ReduceOp::Product,
        BinaryOp::Maximum => ReduceOp::Max,
        BinaryOp::Minimum => ReduceOp::Min,
        _ => ReduceOp::Sum,
    }
}

fn reduce_op(site: &Site) -> ReduceOp {
    match site.op {
        Op::Reduce(op) => op,
        op => unreachable!("asked for {op:?}"),
    }
}

/// Records the tangent of a reduction.
pub fn jvp_of_reduce(site: &mut Site, _: usize, tangent: NodeId) -> Result<Option<NodeId>> {
    let ReduceAttributes { axes } = site.attributes();
    match reduce_op(site) {
        ReduceOp::Sum => {
            let keep_dims = site.ty.dims.len() == site.operand_ty(0).dims.len();
            reduce(site.trace, ReduceOp::Sum, tangent, &axes, keep_dims).map(Some)
        }
        ReduceOp::Max | ReduceOp::Min => {
            let result = site.result();
            let ty = site.ty.clone();
            let mask = extremes(site.trace, site.operands[0], result, &axes)?;
            mean_where(site.trace, mask, tangent, &axes, &ty.dims).map(Some)
        }
        ReduceOp::Product => expanded(site, &[Some(tangent)], product).map(|(_, tangent)| tangent),
        ReduceOp::All | ReduceOp::Any => Ok(None),
    }
}

/// Records the cotangent of the operand of a reduction.
pub fn vjp_of_reduce(site: &mut Site, _: usize, cotangent: NodeId) -> Result<Option<NodeId>> {
    let ReduceAttributes { axes } = site.attributes();
    let x = site.operand_ty(0);
    match reduce_op(site) {
        ReduceOp::Sum => {
            let kept = reshape(site.trace, cotangent, &with_ones(&x.dims, &axes))?;
            broadcast_to(site.trace, kept, &x.dims).map(Some)
        }
        ReduceOp::Max | ReduceOp::Min => {
            let result = site.result();
            let trace = &mut *site.trace;
            let mask = extremes(trace, site.operands[0], result, &axes)?;
            let wide = sum_dtype(x.dtype);
            let count = count_where(trace, mask, wide, &axes)?;
            let kept = reshape(trace, cotangent, &with_ones(&x.dims, &axes))?;
            let kept = convert(trace, kept, wide);
            let share = binary(trace, BinaryOp::Divide, kept, count)?;
            let share = convert(trace, share, x.dtype);
            let share = broadcast_to(trace, share, &x.dims)?;
            let zero = zeros(trace, &TensorType::new(x.dtype, &[]))?;
            select(trace, mask, share, zero).map(Some)
        }
        ReduceOp::Product => {
            let first = NodeId(site.trace.len() as u32);
            let result = product(site)?;
            let (x, transforms) = (site.operands[0], site.transforms);
            Ok(transforms.vjp_since(site.trace, &[(result, cotangent)], &[x], first)?.remove(0))
        }
        ReduceOp::All | ReduceOp::Any => Ok(None),
    }
}

/// Dims with 1 on the axes.
fn with_ones(dims: &[i64], axes: &[i64]) -> Dims {
    let mut kept = Dims::from_slice(dims);
    axes.iter().for_each(|&axis| kept[axis as usize] = 1);
    kept
}

/// Records the mask of elements that are the maximum or minimum over axes, or NaN.
fn extremes(trace: &mut Trace, x: NodeId, result: NodeId, axes: &[i64]) -> Result<NodeId> {
    let dims = with_ones(&trace.ty(x).dims, axes);
    let kept = reshape(trace, result, &dims)?;
    equal_or_nan(trace, x, kept)
}

/// Records the number of elements over axes, which are kept, where the mask is true; at least 1.
fn count_where(trace: &mut Trace, mask: NodeId, dtype: DType, axes: &[i64]) -> Result<NodeId> {
    let ones = convert(trace, mask, dtype);
    let count = reduce(trace, ReduceOp::Sum, ones, axes, true)?;
    binary_scalar(trace, BinaryOp::Maximum, count, ScalarValue::Signed(1), false)
}

/// Records the mean over axes of the elements of `x` where the mask is true, in the shape `dims`; 0 where the mask is
/// false everywhere.
fn mean_where(trace: &mut Trace, mask: NodeId, x: NodeId, axes: &[i64], dims: &[i64]) -> Result<NodeId> {
    let dtype = trace.node(x).dtype;
    let wide = sum_dtype(dtype);
    let count = count_where(trace, mask, wide, axes)?;
    let x = convert(trace, x, wide);
    let zero = zeros(trace, &TensorType::new(wide, &[]))?;
    let chosen = select(trace, mask, x, zero)?;
    let total = reduce(trace, ReduceOp::Sum, chosen, axes, true)?;
    let mean = binary(trace, BinaryOp::Divide, total, count)?;
    let mean = reshape(trace, mean, dims)?;
    Ok(convert(trace, mean, dtype))
}

/// Records a product over axes as a tree of products, whose derivatives are correct for any number of zeros.
fn product(site: &mut Site) -> Result<NodeId> {
    let ReduceAttributes { axes } = site.attributes();
    let (result, x) = (site.ty.clone(), site.operands[0]);
    let trace = &mut *site.trace;
    let ty = trace.ty(x);
    let mut order: Vec<i64> = (0..ty.dims.len() as i64).filter(|axis| !axes.contains(axis)).collect();
    let mut dims: Vec<i64> = order.iter().map(|&axis| ty.dims[axis as usize]).collect();
    let mut count: i64 = axes.iter().map(|&axis| ty.dims[axis as usize]).product();
    if count == 0 {
        return full(trace, &result, ScalarValue::Signed(1));
    }
    let last = order.len();
    order.extend_from_slice(&axes);
    dims.push(count);
    let moved = transpose(trace, x, &order)?;
    let flat = reshape(trace, moved, &dims)?;
    let mut left = convert(trace, flat, accumulator(ReduceOp::Product, ty.dtype));
    let none = vec![0; last + 1];
    while count > 1 {
        let half = count - count / 2;
        let first = slice_axis(trace, left, last as i64, 0, half, 1)?;
        let mut second = slice_axis(trace, left, last as i64, half, count, 1)?;
        if count % 2 == 1 {
            let mut high = none.clone();
            high[last] = 1;
            second = pad_scalar(trace, second, ScalarValue::Signed(1), &none, &high, &none)?;
        }
        left = binary(trace, BinaryOp::Multiply, first, second)?;
        count = half;
    }
    let shaped = reshape(trace, left, &result.dims)?;
    Ok(convert(trace, shaped, result.dtype))
}

/// Returns the tangents of all results: the given one for the first result, symbolic zeros for the others.
pub fn of_first(site: &Site, tangent: Option<NodeId>) -> Forward {
    let mut tangents = vec![None; site.results.len().max(1)];
    tangents[0] = tangent;
    Forward { results: None, tangents }
}

/// Whether a result that can have a tangent is used.
pub fn has_varying_results(site: &Site) -> bool {
    site.results.iter().flatten().any(|&id| is_differentiable(site.trace.node(id).dtype))
}

/// Returns the cotangent of the first result; None if it is zero, or if another result has a cotangent.
pub fn of_only(cotangents: &[Option<NodeId>]) -> Option<NodeId> {
    let others = cotangents.iter().skip(1).any(Option::is_some);
    cotangents.first().copied().flatten().filter(|_| !others)
}

/// Recognizes a body that selects the greater or smaller of two elements with its index: returns whether it is the
/// greater one. None for any other body.
pub fn largest_with_index(body: &Body) -> Option<bool> {
    let [value, index] = body.results() else { return None };
    if !value.dtype.is_float() || !index.dtype.is_integer() || !body.captures().is_empty() {
        return None;
    }
    let is = |&largest: &bool| bodies::extreme(value.dtype, index.dtype, largest).is_ok_and(|made| *made == *body);
    [true, false].into_iter().find(is)
}

/// Tangents of `reduce_with`.
pub fn jvp_of_reduce_with(site: &mut Site, tangents: &[Option<NodeId>]) -> Result<Forward> {
    if !has_varying_results(site) {
        return Ok(of_first(site, None));
    }
    let tangent = tangent_of_reduce_with(site, tangents)?;
    Ok(of_first(site, tangent))
}

/// Cotangents of `reduce_with`.
pub fn vjp_of_reduce_with(
    site: &mut Site,
    cotangents: &[Option<NodeId>],
    wanted: &[bool],
) -> Result<Vec<Option<NodeId>>> {
    let cotangent = of_only(cotangents).ok_or_else(|| no_derivative("reduce_with"))?;
    transposed(site, cotangent, wanted, tangent_of_reduce_with)
}

fn tangent_of_reduce_with(site: &mut Site, tangents: &[Option<NodeId>]) -> Result<Option<NodeId>> {
    if combiner(&site.bodies[0]).is_some() {
        return expanded(site, tangents, combined).map(|(_, tangent)| tangent);
    }
    if largest_with_index(&site.bodies[0]).is_none() {
        return Err(no_derivative("reduce_with"));
    }
    if tangents[2].is_some() {
        return Err(no_derivative("reduce_with from an initial value that varies"));
    }
    let Some(tangent) = tangents[0] else { return Ok(None) };
    let ReduceWithAttributes { axes } = site.attributes();
    let (x, indices) = (site.operands[0], site.operands[1]);
    let (value, index) = (result_of(site, 0, x), result_of(site, 1, indices));
    let trace = &mut *site.trace;
    let dims = trace.ty(value).dims;
    let kept = with_ones(&trace.ty(x).dims, &axes);
    let index = reshape(trace, index, &kept)?;
    let is_there = compare(trace, CompareOp::Eq, indices, index)?;
    let is_extreme = extremes(trace, x, value, &axes)?;
    let mask = binary(trace, BinaryOp::And, is_there, is_extreme)?;
    mean_where(trace, mask, tangent, &axes, &dims).map(Some)
}

/// Returns the node of a result of `reduce_with`; records it if nothing has used it so far.
fn result_of(site: &mut Site, number: usize, array: NodeId) -> NodeId {
    if let Some(id) = site.results.get(number).copied().flatten() {
        return id;
    }
    let ReduceWithAttributes { axes } = site.attributes();
    let from = site.trace.ty(array);
    let left = (0..from.dims.len()).filter(|&axis| !axes.contains(&(axis as i64)));
    let ty = TensorType { dtype: from.dtype, dims: left.map(|axis| from.dims[axis]).collect() };
    site.trace.result(site.node, number, &ty)
}

/// Records a `reduce_with` by a binary operation as a plain reduction, combined with the initial value.
fn combined(site: &mut Site) -> Result<NodeId> {
    let ReduceWithAttributes { axes } = site.attributes();
    let op = combiner(&site.bodies[0]).ok_or_else(|| no_derivative("reduce_with"))?;
    let (x, init) = (site.operands[0], site.operands[1]);
    let reduced = reduce(site.trace, reduction(op), x, &axes, false)?;
    binary(site.trace, op, reduced, init)
}
