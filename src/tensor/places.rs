//! Recording operations that read and write at indices.

use super::operands::operands;
use super::recording::finish;
use crate::device::TensorHandle;
use crate::error::Result;
use crate::ir::{Placement, ScatterOp};
use crate::ops;

/// Slices that begin where indices say.
pub fn gather(
    x: TensorHandle,
    indices: TensorHandle,
    placement: &Placement,
    slice_sizes: &[i64],
    indices_are_sorted: bool,
) -> Result<TensorHandle> {
    let (mut state, [x, indices]) = operands([("x", x), ("indices", indices)])?;
    let id = ops::gather(&mut state.trace, x, indices, placement, slice_sizes, indices_are_sorted)?;
    finish(state, id)
}

/// An element for each index.
pub fn take_along_axis(x: TensorHandle, indices: TensorHandle, axis: i64) -> Result<TensorHandle> {
    let (mut state, [x, indices]) = operands([("x", x), ("indices", indices)])?;
    let id = ops::take_along_axis(&mut state.trace, x, indices, axis)?;
    finish(state, id)
}

/// `x` with an element combined into it for each index.
pub fn scatter_along(
    op: ScatterOp,
    x: TensorHandle,
    indices: TensorHandle,
    updates: TensorHandle,
    axis: i64,
) -> Result<TensorHandle> {
    let (mut state, [x, indices, updates]) = operands([("x", x), ("indices", indices), ("updates", updates)])?;
    let id = ops::scatter_along(&mut state.trace, op, x, indices, updates, axis)?;
    finish(state, id)
}

/// `x` with a slice of `source` combined into it for each index.
pub fn index_combine(
    op: ScatterOp,
    x: TensorHandle,
    axis: i64,
    indices: TensorHandle,
    source: TensorHandle,
) -> Result<TensorHandle> {
    let (mut state, [x, indices, source]) = operands([("x", x), ("indices", indices), ("source", source)])?;
    let id = ops::index_combine(&mut state.trace, op, x, axis, indices, source)?;
    finish(state, id)
}
