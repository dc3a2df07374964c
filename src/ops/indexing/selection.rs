//! Selection by value, with a result size given by the caller: masks, nonzero, unique, searchsorted.

use crate::error;
use crate::error::Result;
use crate::ir::{BinaryOp, CompareOp, NodeId, ReduceOp, ScatterOp, Trace};
use crate::ops::control::apply::Applied;
use crate::ops::control::bodies;
use crate::ops::creation::constants::{full, nothing};
use crate::ops::definition::Composed;
use crate::ops::elementwise::binary::{binary, binary_scalar};
use crate::ops::elementwise::compare_select::{compare, select};
use crate::ops::elementwise::convert::convert;
use crate::ops::indexing::along::index_combine;
use crate::ops::indexing::dynamic::take;
use crate::ops::reduction::windows::cumulative;
use crate::ops::shape::axes::{broadcast_to, reshape};
use crate::ops::shape::slicing::{concatenate, slice};
use crate::ops::sorting::ordered_bits::{counted, is_nonzero, keys, search, sort_keys};
use crate::ops::sorting::sort::{check_index_dtype, places_dtype, sort};
use crate::ops::{common_dtype, refuse};
use crate::types::{DType, Dims, Scalar, ScalarValue, TensorType, element_count};

/// Table entry of `nonzero`, the indices of elements that are not 0.
pub const NONZERO: Composed = Composed { name: "nonzero", function: "lxla_nonzero", dtypes: "all; gives integers" };
/// Table entry of `mask_select`, the elements where a mask is true.
pub const MASK_SELECT: Composed =
    Composed { name: "mask_select", function: "lxla_mask_select", dtypes: "all; mask pred" };
/// Table entry of `unique`, the distinct elements in ascending order.
pub const UNIQUE: Composed = Composed { name: "unique", function: "lxla_unique", dtypes: "all" };
/// Table entry of `searchsorted`, insertion positions in a sorted row.
pub const SEARCHSORTED: Composed =
    Composed { name: "searchsorted", function: "lxla_searchsorted", dtypes: "all; gives integers" };

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

/// Records, for each of 1, 2, ... `size`, the first position at which a non-decreasing row of counts reaches it; `n` if
/// none does.
fn places_of(trace: &mut Trace, counts: NodeId, n: i64, size: i64) -> Result<NodeId> {
    let dtype = trace.node(counts).dtype;
    let numbers = counted(trace, size, n)?;
    let numbers = convert(trace, numbers, dtype);
    let wanted = binary_scalar(trace, BinaryOp::Add, numbers, ScalarValue::Signed(1), false)?;
    let found = search(trace, &[counts], n, &[wanted], false)?;
    Ok(convert(trace, found, dtype))
}

/// Records, for each of 0, 1, ... `size` - 1, whether it is less than `count`.
fn are_there(trace: &mut Trace, count: NodeId, size: i64) -> Result<NodeId> {
    let numbers = counted(trace, size, 0)?;
    let numbers = convert(trace, numbers, trace.node(count).dtype);
    compare(trace, CompareOp::Lt, numbers, count)
}

fn check_size(size: i64) -> Result<()> {
    if size < 0 {
        return Err(error!(InvalidArgument, "size: {size} given; want at least 0"));
    }
    element_count(&[size]).map(drop)
}

fn flat(trace: &mut Trace, x: NodeId) -> Result<(NodeId, i64)> {
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
        .map_err(|_| error!(InvalidArgument, "fill: {fill} given, which {index_dtype} does not have"))?;
    let pred = is_nonzero(trace, x)?;
    let (row, _) = flat(trace, pred)?;
    let (places, count) = true_places(trace, row, size)?;
    let (fill, there) = (crate::ops::constant(trace, &[], fill), are_there(trace, count, size)?);
    let mut results = Vec::with_capacity(ty.dims.len() + 1);
    for (axis, &dim) in ty.dims.iter().enumerate() {
        let behind: i64 = ty.dims[axis + 1..].iter().product();
        let of = |n: i64| ScalarValue::Signed(n.max(1));
        let rows = binary_scalar(trace, BinaryOp::Divide, places, of(behind), false)?;
        let place = binary_scalar(trace, BinaryOp::Remainder, rows, of(dim), false)?;
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

fn check_fill(fill: &TensorType, x: &TensorType) -> Result<()> {
    if *fill != TensorType::new(x.dtype, &[]) {
        return Err(error!(InvalidArgument, "fill: it is {fill}; x is {x}, and wants {}[]", x.dtype));
    }
    Ok(())
}

/// Records a stable argsort of a row by several keys, in order of decreasing significance.
fn order_of(trace: &mut Trace, keys: &[NodeId], n: i64) -> Result<NodeId> {
    let mut order = counted(trace, n, n)?;
    for (i, &key) in keys.iter().rev().enumerate() {
        let turned = if i == 0 { key } else { take(trace, key, order, 0)? };
        let dtypes = [trace.node(turned).dtype, trace.node(order).dtype];
        let body = bodies::order(&dtypes, false)?;
        order = sort(trace, &Applied { body: &body, captures: &[] }, &[turned, order], 0, true)?[1];
    }
    Ok(order)
}

/// Records NumPy's unique with a fixed size: the `size` distinct elements of `x` in ascending order, padded with a
/// scalar or else the least element; the index of each one's first occurrence; for each element of `x`, the position of
/// its distinct value; the number of occurrences; and the number of distinct elements.
pub fn unique(
    trace: &mut Trace,
    x: NodeId,
    size: i64,
    fill: Option<NodeId>,
    index_dtype: DType,
) -> Result<[NodeId; 5]> {
    let ty = trace.ty(x);
    check_size(size)?;
    if let Some(fill) = fill {
        check_fill(&trace.ty(fill), &ty)?;
    }
    let (row, n) = flat(trace, x)?;
    // Counts can be as large as the number of elements.
    check_index_dtype(index_dtype, n + 1)?;
    if n == 0 {
        return unique_of_nothing(trace, &ty, size, fill, index_dtype);
    }
    let keys = keys(trace, row)?;
    let order = order_of(trace, &keys, n)?;
    let groups = groups(trace, &keys, order, n, places_dtype(n.max(size)))?;
    let last = slice(trace, groups, &[n - 1], &[n], &[1])?;
    let count = reshape(trace, last, &[])?;

    let starts = places_of(trace, groups, n, size.checked_add(1).unwrap_or(size))?;
    let begin = slice(trace, starts, &[0], &[size], &[1])?;
    let end = slice(trace, starts, &[1], &[size + 1], &[1])?;
    let counts = binary(trace, BinaryOp::Subtract, end, begin)?;
    let there = are_there(trace, count, size)?;
    let zero = full(trace, &TensorType::new(trace.node(begin).dtype, &[]), ScalarValue::Unsigned(0))?;
    let begin = select(trace, there, begin, zero)?;
    let first = take(trace, order, begin, 0)?;
    let mut values = take(trace, row, first, 0)?;
    if let Some(fill) = fill {
        values = select(trace, there, values, fill)?;
    }
    let numbers = binary_scalar(trace, BinaryOp::Subtract, groups, ScalarValue::Signed(1), false)?;
    let inverse = index_combine(trace, ScatterOp::Copy, numbers, 0, order, numbers)?;
    let inverse = reshape(trace, inverse, &ty.dims)?;
    let [first, inverse, counts, count] = [first, inverse, counts, count].map(|each| convert(trace, each, index_dtype));
    Ok([values, first, inverse, counts, count])
}

/// Records, for each element in sorted order, the number of distinct elements up to and including it.
fn groups(trace: &mut Trace, keys: &[NodeId], order: NodeId, n: i64, dtype: DType) -> Result<NodeId> {
    let mut differs = full(trace, &TensorType::new(DType::Pred, &[n - 1]), ScalarValue::Unsigned(0))?;
    for &key in keys {
        let sorted = take(trace, key, order, 0)?;
        let (later, earlier) = (slice(trace, sorted, &[1], &[n], &[1])?, slice(trace, sorted, &[0], &[n - 1], &[1])?);
        let here = compare(trace, CompareOp::Ne, later, earlier)?;
        differs = binary(trace, BinaryOp::Or, differs, here)?;
    }
    let first = full(trace, &TensorType::new(DType::Pred, &[1]), ScalarValue::Unsigned(1))?;
    let is_new = concatenate(trace, &[first, differs], 0)?;
    let ones = convert(trace, is_new, dtype);
    cumulative(trace, ReduceOp::Sum, ones, 0, false)
}

fn unique_of_nothing(
    trace: &mut Trace,
    ty: &TensorType,
    size: i64,
    fill: Option<NodeId>,
    index_dtype: DType,
) -> Result<[NodeId; 5]> {
    let values = match fill {
        Some(fill) => broadcast_to(trace, fill, &[size])?,
        None if size == 0 => nothing(trace, &TensorType::new(ty.dtype, &[0]))?,
        None => return Err(error!(InvalidArgument, "fill: none given; x is {ty}, and has no least element")),
    };
    let zeros = full(trace, &TensorType::new(index_dtype, &[size]), ScalarValue::Unsigned(0))?;
    let count = full(trace, &TensorType::new(index_dtype, &[]), ScalarValue::Unsigned(0))?;
    let inverse = nothing(trace, &TensorType::new(index_dtype, &ty.dims))?;
    Ok([values, zeros, inverse, zeros, count])
}

/// Records NumPy's searchsorted: the positions at which to insert `values` into a sorted row.
pub fn searchsorted(
    trace: &mut Trace,
    sorted: NodeId,
    values: NodeId,
    right: bool,
    index_dtype: DType,
) -> Result<NodeId> {
    let (ty, of) = (trace.ty(sorted), trace.ty(values));
    let [n] = ty.dims[..] else {
        return Err(error!(InvalidArgument, "sorted: it is {ty}; want one axis"));
    };
    check_index_dtype(index_dtype, n.saturating_add(1))?;
    let dtype = common_dtype(&ty, &of)
        .map_err(|_| error!(InvalidArgument, "sorted is {ty} and values are {of}: there is no dtype for both"))?;
    let (sorted, values) = (convert(trace, sorted, dtype), convert(trace, values, dtype));
    let (row, wanted) = (sort_keys(trace, sorted)?, sort_keys(trace, values)?);
    let found = search(trace, &row, n, &wanted, right)?;
    Ok(convert(trace, found, index_dtype))
}
