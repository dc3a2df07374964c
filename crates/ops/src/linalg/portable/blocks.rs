//! Parts of matrices in the last two axes.

use crate::creation::constants::{full, iota};
use crate::creation::masks::eye;
use crate::elementwise::formula::{Expr, Formula};
use crate::indexing::dynamic::{dynamic_slice, dynamic_update_slice};
use crate::infer::places_dtype;
use crate::shape::axes::broadcast_to;
use crate::shape::rearrange::slice_axis;
use base::error::Result;
use base::types::{DType, ScalarValue, TensorType};
use ir::{NodeId, ReduceOp, Trace};
use std::ops::RangeInclusive;

/// Number of rows and columns of matrices.
pub fn sizes(trace: &Trace, a: NodeId) -> (i64, i64) {
    let dims = trace.ty(a).dims;
    (dims[dims.len() - 2], dims[dims.len() - 1])
}

/// The type with the batch axes of a value and these axes.
pub fn with_batch(trace: &Trace, a: NodeId, dtype: DType, dims: &[i64]) -> TensorType {
    let ty = trace.ty(a);
    TensorType { dtype, dims: ty.dims[..ty.dims.len() - 2].iter().chain(dims).copied().collect() }
}

/// Number of columns that are factored one by one before the columns to the right of them are updated by products. At
/// most 16 panels, since the program has a loop for each.
pub fn panel_width(columns: i64) -> i64 {
    ((columns + 15) / 16).max(32)
}

/// Rows from `start` on.
pub fn rows_from(trace: &mut Trace, x: NodeId, start: i64) -> Result<NodeId> {
    slice_axis(trace, x, -2, start, i64::MAX, 1)
}

/// Rows up to `stop`.
pub fn rows_to(trace: &mut Trace, x: NodeId, stop: i64) -> Result<NodeId> {
    slice_axis(trace, x, -2, 0, stop, 1)
}

/// Columns from `start` to `stop`.
pub fn columns(trace: &mut Trace, x: NodeId, start: i64, stop: i64) -> Result<NodeId> {
    slice_axis(trace, x, -1, start, stop, 1)
}

/// Matrices with a block replaced whose first element is at a row and a column.
pub fn replaced(trace: &mut Trace, x: NodeId, block: NodeId, (row, column): (i64, i64)) -> Result<NodeId> {
    let rank = trace.ty(x).dims.len();
    let starts = (0..rank)
        .map(|axis| {
            let at = [row, column].get((axis + 2).wrapping_sub(rank)).copied().unwrap_or(0);
            full(trace, &TensorType::new(DType::S32, &[]), ScalarValue::Signed(at))
        })
        .collect::<Result<Vec<NodeId>>>()?;
    dynamic_update_slice(trace, x, block, &starts)
}

/// The column of matrices with a number that is a scalar.
pub fn column_at<'f>(a: Expr<'f>, number: Expr<'f>) -> Expr<'f> {
    a.apply_with(number, |trace, a, number| {
        let mut dims = trace.ty(a).dims;
        let last = dims.len() - 1;
        dims[last] = 1;
        let zero = full(trace, &TensorType::new(DType::S32, &[]), ScalarValue::Signed(0))?;
        let mut starts = vec![zero; last];
        starts.push(number);
        dynamic_slice(trace, a, &starts, &dims)
    })
}

/// Numbers of the rows, as a column.
pub fn row_numbers(a: Expr<'_>) -> Expr<'_> {
    let rows = a.size_from_last(1);
    a.apply(|trace, _| iota(trace, &TensorType::new(places_dtype(rows), &[rows, 1]), 0))
}

/// Numbers of the columns, as a vector of s32.
pub fn column_numbers(a: Expr<'_>) -> Expr<'_> {
    let columns = a.size_from_last(0);
    a.apply(|trace, _| iota(trace, &TensorType::new(DType::S32, &[columns]), 0))
}

/// The sum over an axis of size 1 afterwards, counted from the last one.
pub fn total(x: Expr<'_>, from_last: usize) -> Expr<'_> {
    let axis = x.ty().dims.len() as i64 - 1 - from_last as i64;
    x.reduce(ReduceOp::Sum, &[axis], true)
}

/// The largest element, likewise.
pub fn largest(x: Expr<'_>, from_last: usize) -> Expr<'_> {
    let axis = x.ty().dims.len() as i64 - 1 - from_last as i64;
    x.reduce(ReduceOp::Max, &[axis], true)
}

/// The Euclidean norms of columns, without overflow.
pub fn norms(x: Expr<'_>) -> Expr<'_> {
    let sizes = x.abs();
    let most = largest(sizes, 1);
    let scale = most.eq(0.0).select(1.0, most);
    let part = sizes / scale;
    most * total(part * part, 1).sqrt()
}

/// Identity matrices in a batch.
pub fn identities(trace: &mut Trace, like: NodeId, rows: i64, columns: i64) -> Result<NodeId> {
    let ty = with_batch(trace, like, trace.node(like).dtype, &[rows, columns]);
    let one = eye(trace, ty.dtype, rows, columns, 0)?;
    broadcast_to(trace, one, &ty.dims)
}

/// Zeros of a type.
pub fn zeros(trace: &mut Trace, ty: &TensorType) -> Result<NodeId> {
    full(trace, ty, ScalarValue::Unsigned(0))
}

/// Matrices divided by their largest absolute value unless it lies in a range, and what they were divided by, as matrices
/// of one element: NaN for matrices with an element that is not finite, which become 0.
pub fn scaled(trace: &mut Trace, a: NodeId, usual: RangeInclusive<f64>) -> Result<(NodeId, NodeId)> {
    let f = Formula::new(trace);
    let a = f.operand(a);
    let sizes = match a.is_complex() {
        true => a.real().abs().max(a.imag().abs()),
        false => a.abs(),
    };
    let most = largest(largest(sizes, 0), 1);
    let is_finite = most.lt(f64::INFINITY);
    let stays = most.eq(0.0) | (most.ge(*usual.start()) & most.le(*usual.end())) | !is_finite;
    let scale = stays.select(1.0, most);
    let quotient = if a.is_complex() { (a.real() / scale).complex(a.imag() / scale) } else { a / scale };
    let scaled = is_finite.select(quotient, 0.0);
    let [scaled, scale] = f.finish_all([scaled, is_finite.select(scale, f64::NAN)])?;
    Ok((scaled, scale))
}
