//! Operations that are recorded as several others, and creations.

use super::operands::{numbered, operand_list, operands};
use super::operations::create;
use super::recording::{finish, finish_all, finish_in_place};
use crate::device::{Device, TensorHandle};
use crate::error;
use crate::error::Result;
use crate::ir::{CompareOp, NodeId, Trace};
use crate::ops::{self, ActivationOp, BinaryMember, SpecialOp};
use crate::types::{DType, ScalarValue};

/// What one operand gives.
fn of_one(
    name: &str,
    x: TensorHandle,
    record: impl FnOnce(&mut Trace, NodeId) -> Result<NodeId>,
) -> Result<TensorHandle> {
    let (mut state, [x]) = operands([(name, x)])?;
    let id = record(&mut state.trace, x)?;
    finish(state, id)
}

/// An activation.
pub fn activation(op: ActivationOp, x: TensorHandle) -> Result<TensorHandle> {
    of_one("x", x, |trace, x| ops::activation(trace, op, x))
}

/// A special function.
pub fn special(op: SpecialOp, x: TensorHandle) -> Result<TensorHandle> {
    of_one("x", x, |trace, x| ops::special(trace, op, x))
}

/// Exponentials, divided by their sum over an axis.
pub fn softmax(x: TensorHandle, axis: i64) -> Result<TensorHandle> {
    of_one("x", x, |trace, x| ops::softmax(trace, x, axis))
}

/// Their logarithms.
pub fn log_softmax(x: TensorHandle, axis: i64) -> Result<TensorHandle> {
    of_one("x", x, |trace, x| ops::log_softmax(trace, x, axis))
}

/// Normalised over axes. A scale and an offset with the handle 0 are none.
pub fn layer_norm(
    x: TensorHandle,
    axes: &[i64],
    scale: TensorHandle,
    offset: TensorHandle,
    epsilon: f64,
) -> Result<TensorHandle> {
    let given: Vec<(String, TensorHandle)> = [("x", x), ("scale", scale), ("offset", offset)]
        .into_iter()
        .filter(|&(name, handle)| name == "x" || handle.0 != 0)
        .map(|(name, handle)| (name.to_string(), handle))
        .collect();
    let (mut state, nodes) = operand_list(given.into_iter())?;
    let mut rest = nodes[1..].iter().copied();
    let mut next = |handle: TensorHandle| if handle.0 != 0 { rest.next() } else { None };
    let (scale, offset) = (next(scale), next(offset));
    let id = ops::layer_norm(&mut state.trace, nodes[0], axes, scale, offset, epsilon)?;
    finish(state, id)
}

/// The mean over axes.
pub fn mean(x: TensorHandle, axes: &[i64], keep_dims: bool) -> Result<TensorHandle> {
    of_one("x", x, |trace, x| ops::mean(trace, x, axes, keep_dims))
}

/// The variance over axes.
pub fn variance(x: TensorHandle, axes: &[i64], correction: f64, keep_dims: bool) -> Result<TensorHandle> {
    of_one("x", x, |trace, x| ops::variance(trace, x, axes, correction, keep_dims))
}

/// Its square root.
pub fn standard_deviation(x: TensorHandle, axes: &[i64], correction: f64, keep_dims: bool) -> Result<TensorHandle> {
    of_one("x", x, |trace, x| ops::standard_deviation(trace, x, axes, correction, keep_dims))
}

/// The logarithm of the sum of exponentials over axes.
pub fn logsumexp(x: TensorHandle, axes: &[i64], keep_dims: bool) -> Result<TensorHandle> {
    of_one("x", x, |trace, x| ops::logsumexp(trace, x, axes, keep_dims))
}

/// Without axes of size 1.
pub fn squeeze(x: TensorHandle, axes: &[i64]) -> Result<TensorHandle> {
    of_one("x", x, |trace, x| ops::squeeze(trace, x, axes))
}

/// With axes of size 1.
pub fn expand_dims(x: TensorHandle, axes: &[i64]) -> Result<TensorHandle> {
    of_one("x", x, |trace, x| ops::expand_dims(trace, x, axes))
}

/// Along a new axis.
pub fn stack(tensors: &[TensorHandle], axis: i64) -> Result<TensorHandle> {
    if tensors.is_empty() {
        return Err(error!(InvalidArgument, "n: 0 tensors given; want at least 1"));
    }
    let (mut state, nodes) = operand_list(numbered("tensors", tensors))?;
    let id = ops::stack(&mut state.trace, &nodes, axis)?;
    finish(state, id)
}

/// Parts of these sizes along an axis, or as many of equal size.
pub fn split(x: TensorHandle, sizes: Option<&[i64]>, count: usize, axis: i64) -> Result<Vec<TensorHandle>> {
    let (mut state, [x]) = operands([("x", x)])?;
    let ids = match sizes {
        Some(sizes) => ops::split(&mut state.trace, x, sizes, axis)?,
        None => ops::split_equally(&mut state.trace, x, count, axis)?,
    };
    finish_all(state, &ids)
}

/// `x[start:stop:step]` along an axis.
pub fn slice_axis(x: TensorHandle, axis: i64, start: i64, stop: i64, step: i64) -> Result<TensorHandle> {
    of_one("x", x, |trace, x| ops::slice_axis(trace, x, axis, start, stop, step))
}

/// Backwards along axes.
pub fn flip(x: TensorHandle, axes: &[i64]) -> Result<TensorHandle> {
    of_one("x", x, |trace, x| ops::flip(trace, x, axes))
}

/// Moved along axes, round the end.
pub fn roll(x: TensorHandle, shifts: &[i64], axes: &[i64]) -> Result<TensorHandle> {
    of_one("x", x, |trace, x| ops::roll(trace, x, shifts, axes))
}

/// Copies of the whole.
pub fn tile(x: TensorHandle, repeats: &[i64]) -> Result<TensorHandle> {
    of_one("x", x, |trace, x| ops::tile(trace, x, repeats))
}

/// Copies of each slice.
pub fn repeat(x: TensorHandle, repeats: i64, axis: i64) -> Result<TensorHandle> {
    of_one("x", x, |trace, x| ops::repeat(trace, x, repeats, axis))
}

/// The lower triangle.
pub fn tril(x: TensorHandle, k: i64) -> Result<TensorHandle> {
    of_one("x", x, |trace, x| ops::tril(trace, x, k))
}

/// The upper triangle.
pub fn triu(x: TensorHandle, k: i64) -> Result<TensorHandle> {
    of_one("x", x, |trace, x| ops::triu(trace, x, k))
}

/// Rows of zeros with a one.
pub fn one_hot(indices: TensorHandle, depth: i64, axis: i64, dtype: DType) -> Result<TensorHandle> {
    of_one("indices", indices, |trace, indices| ops::one_hot(trace, indices, depth, axis, dtype))
}

/// Ones on a diagonal.
pub fn eye(device: &'static Device, dtype: DType, rows: i64, columns: i64, k: i64) -> Result<TensorHandle> {
    create(device, |trace| ops::eye(trace, dtype, rows, columns, k))
}

/// Numbers by their distance.
pub fn arange(device: &'static Device, dtype: DType, start_stop_step: [ScalarValue; 3]) -> Result<TensorHandle> {
    create(device, |trace| ops::arange(trace, dtype, start_stop_step))
}

/// Numbers by how many they are.
pub fn linspace(
    device: &'static Device,
    dtype: DType,
    ends: [ScalarValue; 2],
    count: i64,
    endpoint: bool,
) -> Result<TensorHandle> {
    create(device, |trace| ops::linspace(trace, dtype, ends, count, endpoint))
}

/// A comparison with a scalar.
pub fn compare_scalar(
    op: CompareOp,
    x: TensorHandle,
    scalar: ScalarValue,
    scalar_on_left: bool,
) -> Result<TensorHandle> {
    of_one("lhs", x, |trace, x| ops::compare_scalar(trace, op, x, scalar, scalar_on_left))
}

/// `dst = dst (op) scalar`, or `dst = scalar (op) dst`.
pub fn binary_with_scalar_inplace(
    op: impl Into<BinaryMember>,
    dst: TensorHandle,
    scalar: ScalarValue,
    scalar_on_left: bool,
) -> Result<()> {
    let (mut state, [x]) = operands([("dst", dst)])?;
    let id = ops::binary_member_scalar(&mut state.trace, op.into(), x, scalar, scalar_on_left)?;
    finish_in_place(state, dst, id)
}
