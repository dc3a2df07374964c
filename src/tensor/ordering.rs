//! Recording operations that put elements in order, and those that go through them in order.

use super::operands::operands;
use super::recording::{finish, finish_all};
use crate::device::TensorHandle;
use crate::error::Result;
use crate::ir::ReduceOp;
use crate::ops;
use crate::types::DType;

/// Sorted along an axis.
pub fn sort_along(x: TensorHandle, axis: i64, descending: bool, stable: bool) -> Result<TensorHandle> {
    let (mut state, [x]) = operands([("x", x)])?;
    let id = ops::sort_along(&mut state.trace, x, axis, descending, stable)?;
    finish(state, id)
}

/// The indices that sort it.
pub fn argsort(x: TensorHandle, axis: i64, descending: bool, stable: bool, index_dtype: DType) -> Result<TensorHandle> {
    let (mut state, [x]) = operands([("x", x)])?;
    let id = ops::argsort(&mut state.trace, x, axis, descending, stable, index_dtype)?;
    finish(state, id)
}

/// The first `k` elements of an order along an axis, and their indices.
pub fn top_k(x: TensorHandle, k: i64, axis: i64, greatest: bool, index_dtype: DType) -> Result<Vec<TensorHandle>> {
    let (mut state, [x]) = operands([("x", x)])?;
    let ids = ops::top_k(&mut state.trace, x, k, axis, greatest, index_dtype)?;
    finish_all(state, &ids)
}

/// The same by the total order of floats.
pub fn top_k_total_order(
    x: TensorHandle,
    k: i64,
    axis: i64,
    greatest: bool,
    index_dtype: DType,
) -> Result<Vec<TensorHandle>> {
    let (mut state, [x]) = operands([("x", x)])?;
    let ids = ops::top_k_total_order(&mut state.trace, x, k, axis, greatest, index_dtype)?;
    finish_all(state, &ids)
}

/// The index of the greatest (or smallest) element along an axis.
pub fn arg_extreme(
    x: TensorHandle,
    axis: i64,
    keep_dims: bool,
    greatest: bool,
    index_dtype: DType,
) -> Result<TensorHandle> {
    let (mut state, [x]) = operands([("x", x)])?;
    let id = ops::arg_extreme(&mut state.trace, x, axis, keep_dims, greatest, index_dtype)?;
    finish(state, id)
}

/// A reduction of all elements of an axis up to each.
pub fn cumulative(op: ReduceOp, x: TensorHandle, axis: i64, reverse: bool) -> Result<TensorHandle> {
    let (mut state, [x]) = operands([("x", x)])?;
    let id = ops::cumulative(&mut state.trace, op, x, axis, reverse)?;
    finish(state, id)
}
