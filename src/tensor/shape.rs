//! Records operations that rearrange elements, by tensor handles.

use super::operands::of_one;
use super::operands::{numbered, operand_list, operands};
use super::recording::{finish, finish_all};
use crate::device::TensorHandle;
use crate::error::Result;
use crate::types::{ScalarValue, TensorType};
use crate::{error, ops};

/// Records `x` in another shape with as many elements.
pub fn reshape(x: TensorHandle, dims: &[i64]) -> Result<TensorHandle> {
    let (mut state, [x]) = operands([("x", x)])?;
    let id = ops::reshape(&mut state.trace, x, dims)?;
    finish(state, id)
}

/// Records `x` broadcast to a shape.
pub fn broadcast_to(x: TensorHandle, dims: &[i64]) -> Result<TensorHandle> {
    let (mut state, [x]) = operands([("x", x)])?;
    let id = ops::broadcast_to(&mut state.trace, x, dims)?;
    finish(state, id)
}

/// Records `x` with its axes permuted: axis i of the result is axis `permutation[i]`.
pub fn transpose(x: TensorHandle, permutation: &[i64]) -> Result<TensorHandle> {
    let (mut state, [x]) = operands([("x", x)])?;
    let id = ops::transpose(&mut state.trace, x, permutation)?;
    finish(state, id)
}

/// Records `x` reversed along axes, by the operation `reverse`.
pub fn reverse(x: TensorHandle, axes: &[i64]) -> Result<TensorHandle> {
    let (mut state, [x]) = operands([("x", x)])?;
    let id = ops::reverse(&mut state.trace, x, axes)?;
    finish(state, id)
}

/// Records `x` reversed along axes, as NumPy's flip.
pub fn flip(x: TensorHandle, axes: &[i64]) -> Result<TensorHandle> {
    of_one("x", x, |trace, x| ops::flip(trace, x, axes))
}

/// Records `x` rotated along axes: elements that leave one end come in at the other.
pub fn roll(x: TensorHandle, shifts: &[i64], axes: &[i64]) -> Result<TensorHandle> {
    of_one("x", x, |trace, x| ops::roll(trace, x, shifts, axes))
}

/// Records `x` without axes of size 1.
pub fn squeeze(x: TensorHandle, axes: &[i64]) -> Result<TensorHandle> {
    of_one("x", x, |trace, x| ops::squeeze(trace, x, axes))
}

/// Records `x` with new axes of size 1.
pub fn expand_dims(x: TensorHandle, axes: &[i64]) -> Result<TensorHandle> {
    of_one("x", x, |trace, x| ops::expand_dims(trace, x, axes))
}

/// Records tensors joined along an existing axis.
pub fn concatenate(tensors: &[TensorHandle], axis: i64) -> Result<TensorHandle> {
    if tensors.is_empty() {
        return Err(error!(InvalidArgument, "n: 0 tensors given; want at least 1"));
    }
    let (mut state, nodes) = operand_list(numbered("tensors", tensors))?;
    let id = ops::concatenate(&mut state.trace, &nodes, axis)?;
    finish(state, id)
}

/// Records tensors joined along a new axis.
pub fn stack(tensors: &[TensorHandle], axis: i64) -> Result<TensorHandle> {
    if tensors.is_empty() {
        return Err(error!(InvalidArgument, "n: 0 tensors given; want at least 1"));
    }
    let (mut state, nodes) = operand_list(numbered("tensors", tensors))?;
    let id = ops::stack(&mut state.trace, &nodes, axis)?;
    finish(state, id)
}

/// Records parts of `x` along an axis: of the given sizes, or `count` parts of equal size.
pub fn split(x: TensorHandle, sizes: Option<&[i64]>, count: usize, axis: i64) -> Result<Vec<TensorHandle>> {
    let (mut state, [x]) = operands([("x", x)])?;
    let ids = match sizes {
        Some(sizes) => ops::split(&mut state.trace, x, sizes, axis)?,
        None => ops::split_equally(&mut state.trace, x, count, axis)?,
    };
    finish_all(state, &ids)
}

/// Records `x[start:limit:stride]` on every axis.
pub fn slice(x: TensorHandle, starts: &[i64], limits: &[i64], strides: Option<&[i64]>) -> Result<TensorHandle> {
    let (mut state, [x]) = operands([("x", x)])?;
    let ty = state.trace.ty(x);
    check_rank(starts.len(), &ty)?;
    let ones = vec![1; starts.len()];
    let id = ops::slice(&mut state.trace, x, starts, limits, strides.unwrap_or(&ones))?;
    finish(state, id)
}

/// Records `x[start:stop:step]` along one axis.
pub fn slice_axis(x: TensorHandle, axis: i64, start: i64, stop: i64, step: i64) -> Result<TensorHandle> {
    of_one("x", x, |trace, x| ops::slice_axis(trace, x, axis, start, stop, step))
}

pub(super) fn check_rank(rank: usize, ty: &TensorType) -> Result<()> {
    if rank != ty.dims.len() {
        return Err(error!(InvalidArgument, "rank: {rank} given; x is {ty}, of rank {}", ty.dims.len()));
    }
    Ok(())
}

/// Records `x` with `value` around and between its elements.
pub fn pad(
    x: TensorHandle,
    value: TensorHandle,
    low: &[i64],
    high: &[i64],
    interior: Option<&[i64]>,
) -> Result<TensorHandle> {
    let (mut state, [x, value]) = operands([("x", x), ("value", value)])?;
    let ty = state.trace.ty(x);
    check_rank(low.len(), &ty)?;
    let zeros = vec![0; low.len()];
    let id = ops::pad(&mut state.trace, x, value, low, high, interior.unwrap_or(&zeros))?;
    finish(state, id)
}

/// Records `x` with a scalar around and between its elements.
pub fn pad_with_scalar(
    x: TensorHandle,
    value: ScalarValue,
    low: &[i64],
    high: &[i64],
    interior: Option<&[i64]>,
) -> Result<TensorHandle> {
    let (mut state, [x]) = operands([("x", x)])?;
    let ty = state.trace.ty(x);
    check_rank(low.len(), &ty)?;
    let zeros = vec![0; low.len()];
    let id = ops::pad_scalar(&mut state.trace, x, value, low, high, interior.unwrap_or(&zeros))?;
    finish(state, id)
}

/// Records copies of the whole of `x`, side by side.
pub fn tile(x: TensorHandle, repeats: &[i64]) -> Result<TensorHandle> {
    of_one("x", x, |trace, x| ops::tile(trace, x, repeats))
}

/// Records `x` with each slice along an axis repeated.
pub fn repeat(x: TensorHandle, repeats: i64, axis: i64) -> Result<TensorHandle> {
    of_one("x", x, |trace, x| ops::repeat(trace, x, repeats, axis))
}
