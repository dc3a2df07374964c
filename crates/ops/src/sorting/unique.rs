//! Unique elements and binary search.

use crate::control::apply::Applied;
use crate::control::bodies;
use crate::creation::constants::{full, nothing};
use crate::definition::Composed;
use crate::elementwise::binary::{binary, binary_scalar};
use crate::elementwise::compare_select::{compare, select};
use crate::elementwise::convert::convert;
use crate::indexing::along::index_combine;
use crate::indexing::dynamic::take;
use crate::indexing::selection::{are_there, check_fill, check_size, flat, places_of};
use crate::infer::{check_index_dtype, common_dtype, places_dtype};
use crate::reduction::windows::cumulative;
use crate::shape::axes::{broadcast_to, reshape};
use crate::shape::slicing::{concatenate, slice};
use crate::sorting::ordered_bits::{counted, keys, search, sort_keys};
use crate::sorting::sort::sort;
use base::error;
use base::error::Result;
use base::types::{DType, ScalarValue, TensorType};
use ir::{BinaryOp, CompareOp, NodeId, ReduceOp, ScatterOp, Trace};

/// Table entries of the composed operations.
pub(crate) const COMPOSED: &[Composed] = &[
    Composed { name: "unique", function: "lxla_unique", dtypes: "all" },
    Composed { name: "searchsorted", function: "lxla_searchsorted", dtypes: "all; gives integers" },
];

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
    // Counts are at most the number of elements.
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

/// Records NumPy's searchsorted: the positions at which to insert `values` into a sorted row. Rows of more axes are
/// searched along their last axis for values with the same other axes.
pub fn searchsorted(
    trace: &mut Trace,
    sorted: NodeId,
    values: NodeId,
    right: bool,
    index_dtype: DType,
) -> Result<NodeId> {
    let (ty, of) = (trace.ty(sorted), trace.ty(values));
    let Some((&n, rows)) = ty.dims.split_last() else {
        return Err(error!(InvalidArgument, "sorted: it is {ty}; want at least one axis"));
    };
    if !rows.is_empty() && of.dims.split_last().is_none_or(|(_, others)| others != rows) {
        return Err(error!(
            InvalidArgument,
            "values: they are {of}, and sorted is {ty}; want the same axes before the last one, or one sorted row"
        ));
    }
    check_index_dtype(index_dtype, n.saturating_add(1))?;
    let dtype = common_dtype(&ty, &of).map_err(|_| {
        error!(InvalidArgument, "values: {of} given, and sorted is {ty}; want dtypes that promote to one")
    })?;
    let (sorted, values) = (convert(trace, sorted, dtype), convert(trace, values, dtype));
    let (row, wanted) = (sort_keys(trace, sorted)?, sort_keys(trace, values)?);
    let found = search(trace, &row, n, &wanted, right)?;
    Ok(convert(trace, found, index_dtype))
}
