//! Selection of elements by a mask or by value, with a static size as in JAX: nonzero, mask_select and
//! mask_assign.

use crate::creation::constants::full;
use crate::definition::Composed;
use crate::elementwise::binary::{binary, binary_scalar};
use crate::elementwise::compare_select::{compare, compare_scalar, select};
use crate::elementwise::convert::convert;
use crate::indexing::dynamic::take;
use crate::infer::{check_index_dtype, places_dtype, refuse};
use crate::reduction::windows::cumulative;
use crate::shape::axes::{broadcast_to, reshape};
use crate::shape::slicing::slice;
use crate::sorting::ordered_bits::{counted, is_nonzero, search};
use base::error;
use base::error::Result;
use base::types::{DType, Dims, Scalar, ScalarValue, TensorType, broadcast, element_count};
use ir::{BinaryOp, CompareOp, NodeId, ReduceOp, Trace};

/// Table entries of the composed operations.
pub(crate) const COMPOSED: &[Composed] = &[
    Composed { name: "nonzero", function: "lxla_nonzero", dtypes: "all; gives integers" },
    Composed { name: "mask_select", function: "lxla_mask_select", dtypes: "all; mask pred" },
    Composed { name: "mask_assign", function: "lxla_mask_assign", dtypes: "all; mask pred" },
];

/// Records the first `size` positions at which a row of preds is true, padded with the row's length, and the number of
/// all such positions as a scalar.
fn true_places(trace: &mut Trace, row: NodeId, size: i64) -> Result<(NodeId, NodeId)> {
    let n = trace.ty(row).dims[0];
    let dtype = places_dtype(n.max(size));
    if n == 0 {
        let zero = full(trace, &TensorType::new(dtype, &[]), ScalarValue::Unsigned(0))?;
        return Ok((broadcast_to(trace, zero, &[size])?, zero));
    }
    let ones = convert(trace, row, dtype);
    let before = cumulative(trace, ReduceOp::Sum, ones, 0, false)?;
    let last = slice(trace, before, &[n - 1], &[n], &[1])?;
    let count = reshape(trace, last, &[])?;
    Ok((places_of(trace, before, n, size)?, count))
}

/// Records, for each of 1, 2, ... `size`, the first position at which a non-decreasing row of counts is at least that
/// number; `n` if there is none.
pub(crate) fn places_of(trace: &mut Trace, counts: NodeId, n: i64, size: i64) -> Result<NodeId> {
    let dtype = trace.node(counts).dtype;
    let numbers = counted(trace, size, n)?;
    let numbers = convert(trace, numbers, dtype);
    let wanted = binary_scalar(trace, BinaryOp::Add, numbers, ScalarValue::Signed(1), false)?;
    let found = search(trace, &[counts], n, &[wanted], false)?;
    Ok(convert(trace, found, dtype))
}

/// Records, for each of 0, 1, ... `size` - 1, whether it is less than `count`.
pub(crate) fn are_there(trace: &mut Trace, count: NodeId, size: i64) -> Result<NodeId> {
    let numbers = counted(trace, size, 0)?;
    let numbers = convert(trace, numbers, trace.node(count).dtype);
    compare(trace, CompareOp::Lt, numbers, count)
}

pub(crate) fn check_size(size: i64) -> Result<()> {
    if size < 0 {
        return Err(error!(InvalidArgument, "size: {size} given; want at least 0"));
    }
    element_count(&[size]).map(drop)
}

pub(crate) fn flat(trace: &mut Trace, x: NodeId) -> Result<(NodeId, i64)> {
    let n = trace.ty(x).elements() as i64;
    Ok((reshape(trace, x, &[n])?, n))
}

/// Records the indices of nonzero elements in row-major order: for each axis `size` indices, padded with `fill`; then
/// the number of nonzero elements.
pub fn nonzero(trace: &mut Trace, x: NodeId, size: i64, fill: i64, index_dtype: DType) -> Result<Vec<NodeId>> {
    let ty = trace.ty(x);
    check_size(size)?;
    if ty.dims.is_empty() {
        return Err(error!(InvalidArgument, "x: it is {ty}; want at least one axis"));
    }
    for &dim in &ty.dims {
        check_index_dtype(index_dtype, dim)?;
    }
    let fill = Scalar::new(index_dtype, ScalarValue::Signed(fill))
        .map_err(|_| error!(InvalidArgument, "fill: {fill} given; {index_dtype} cannot represent it"))?;
    let pred = is_nonzero(trace, x)?;
    let (row, _) = flat(trace, pred)?;
    let (places, count) = true_places(trace, row, size)?;
    let (fill, there) = (crate::creation::constants::constant(trace, &[], fill), are_there(trace, count, size)?);
    let mut results = Vec::with_capacity(ty.dims.len() + 1);
    for (axis, &dim) in ty.dims.iter().enumerate() {
        let behind: i64 = ty.dims[axis + 1..].iter().product();
        let of = |n: i64| ScalarValue::Signed(n.max(1));
        let mut place = places;
        if behind != 1 {
            place = binary_scalar(trace, BinaryOp::Divide, place, of(behind), false)?;
        }
        // Of the first axis, the quotient is the index: places beyond the elements get `fill` below.
        if axis > 0 {
            place = binary_scalar(trace, BinaryOp::Remainder, place, of(dim), false)?;
        }
        let place = convert(trace, place, index_dtype);
        results.push(select(trace, there, place, fill)?);
    }
    results.push(convert(trace, count, index_dtype));
    Ok(results)
}

/// Records the slices of `x` where `mask` is true, and their number. The mask covers the first axes of `x`; there are
/// `size` slices in row-major order, padded with the scalar `fill`.
pub fn mask_select(
    trace: &mut Trace,
    x: NodeId,
    mask: NodeId,
    size: i64,
    fill: NodeId,
    index_dtype: DType,
) -> Result<[NodeId; 2]> {
    let (ty, mask_ty, fill_ty) = (trace.ty(x), trace.ty(mask), trace.ty(fill));
    check_size(size)?;
    if mask_ty.dtype != DType::Pred {
        return Err(refuse("mask_select", "mask", &mask_ty, "pred"));
    }
    if mask_ty.dims.is_empty() || !ty.dims.starts_with(&mask_ty.dims) {
        return Err(error!(
            InvalidArgument,
            "mask: it is {mask_ty}; x is {ty}, want the first of its axes, at least one"
        ));
    }
    check_fill(&fill_ty, &ty)?;
    let n = mask_ty.elements() as i64;
    check_index_dtype(index_dtype, n)?;
    let rest = &ty.dims[mask_ty.dims.len()..];
    let dims_of = |n: i64| [&[n], rest].concat();
    element_count(&dims_of(size))?;
    let (row, _) = flat(trace, mask)?;
    let (places, count) = true_places(trace, row, size)?;
    let counted = convert(trace, count, index_dtype);
    if n == 0 {
        return Ok([broadcast_to(trace, fill, &dims_of(size))?, counted]);
    }
    let rows = reshape(trace, x, &dims_of(n))?;
    let taken = take(trace, rows, places, 0)?;
    let there = are_there(trace, count, size)?;
    let column: Dims = std::iter::once(size).chain(rest.iter().map(|_| 1)).collect();
    let there = reshape(trace, there, &column)?;
    Ok([select(trace, there, taken, fill)?, counted])
}

/// Records `x` with other elements where `mask` is true, which covers the first axes of `x`. `values` with fewer axes
/// broadcast to each slice; with an axis more than a slice has, they are the slices in row-major order, and slices of
/// the mask after the last one stay.
pub fn mask_assign(trace: &mut Trace, x: NodeId, mask: NodeId, values: NodeId) -> Result<NodeId> {
    let (ty, mask_ty, of) = (trace.ty(x), trace.ty(mask), trace.ty(values));
    if mask_ty.dtype != DType::Pred {
        return Err(refuse("mask_assign", "mask", &mask_ty, "pred"));
    }
    if !ty.dims.starts_with(&mask_ty.dims) {
        return Err(error!(InvalidArgument, "mask: it is {mask_ty}; x is {ty}, want the first of its axes"));
    }
    let rest = &ty.dims[mask_ty.dims.len()..];
    let is_in_order = of.dims.len() == rest.len() + 1 && of.dims[1..] == *rest;
    let is_spread = of.dims.len() <= rest.len() && broadcast(&of.dims, rest).is_some_and(|dims| dims[..] == *rest);
    if of.dtype != ty.dtype || !(is_in_order || is_spread) {
        let slice = TensorType::new(ty.dtype, rest);
        return Err(error!(
            InvalidArgument,
            "values: they are {of}; x is {ty} and the mask {mask_ty}: want what broadcasts to {slice}, or a row of these"
        ));
    }
    let (n, count) = (mask_ty.elements() as i64, of.dims.first().copied().unwrap_or(0));
    if n == 0 || ty.elements() == 0 || (is_in_order && count == 0) {
        return Ok(x);
    }
    let column: Dims = std::iter::once(n).chain(rest.iter().map(|_| 1)).collect();
    let all: Dims = std::iter::once(n).chain(rest.iter().copied()).collect();
    let rows = reshape(trace, x, &all)?;
    let (row, _) = flat(trace, mask)?;
    let (chosen, new) = if is_in_order {
        let ones = convert(trace, row, places_dtype(n.max(count)));
        let counts = cumulative(trace, ReduceOp::Sum, ones, 0, false)?;
        let places = binary_scalar(trace, BinaryOp::Subtract, counts, ScalarValue::Signed(1), false)?;
        let places = binary_scalar(trace, BinaryOp::Maximum, places, ScalarValue::Signed(0), false)?;
        let is_there = compare_scalar(trace, CompareOp::Le, counts, ScalarValue::Signed(count), false)?;
        (binary(trace, BinaryOp::And, row, is_there)?, take(trace, values, places, 0)?)
    } else {
        (row, values)
    };
    let chosen = reshape(trace, chosen, &column)?;
    let made = select(trace, chosen, new, rows)?;
    reshape(trace, made, &ty.dims)
}

pub(crate) fn check_fill(fill: &TensorType, x: &TensorType) -> Result<()> {
    if *fill != TensorType::new(x.dtype, &[]) {
        return Err(error!(InvalidArgument, "fill: it is {fill}; x is {x}, and wants {}[]", x.dtype));
    }
    Ok(())
}
