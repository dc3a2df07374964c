//! Recording operations on tensors: look the operands up, let the trace infer and record, hand the result out. Errors are
//! reported here, at the call that made them, and change nothing.

use super::operands::{numbered, operand_list, operands};
use super::recording::{finish, finish_in_place, to_record};
use crate::device::{Device, TensorHandle};
use crate::error;
use crate::error::{Error, Result};
use crate::ir::{CompareOp, NodeId, ReduceOp, Trace};
use crate::ops::{self, BinaryMember, Side, UnaryMember};
use crate::types::{DType, ScalarValue, TensorType};

/// A tensor made from nothing but its type and an attribute.
pub(super) fn create(
    device: &'static Device,
    record: impl FnOnce(&mut Trace) -> Result<NodeId>,
) -> Result<TensorHandle> {
    let mut state = to_record(device)?;
    let id = record(&mut state.trace)?;
    finish(state, id)
}

/// `value` in every element.
pub fn full(device: &'static Device, ty: &TensorType, value: ScalarValue) -> Result<TensorHandle> {
    create(device, |trace| ops::full(trace, ty, value))
}

/// 0, 1, 2, ... along an axis.
pub fn iota(device: &'static Device, ty: &TensorType, axis: i64) -> Result<TensorHandle> {
    create(device, |trace| ops::iota(trace, ty, axis))
}

/// An elementwise operation of one operand.
pub fn unary(op: impl Into<UnaryMember>, x: TensorHandle) -> Result<TensorHandle> {
    let (mut state, [x]) = operands([("x", x)])?;
    let id = ops::unary_member(&mut state.trace, op.into(), x)?;
    finish(state, id)
}

/// An elementwise operation of two operands.
#[inline]
pub fn binary(op: impl Into<BinaryMember>, lhs: TensorHandle, rhs: TensorHandle) -> Result<TensorHandle> {
    let (mut state, [lhs, rhs]) = operands([("lhs", lhs), ("rhs", rhs)])?;
    let id = ops::binary_member(&mut state.trace, op.into(), lhs, rhs)?;
    finish(state, id)
}

/// `dst = dst (op) rhs`.
pub fn binary_inplace(op: impl Into<BinaryMember>, dst: TensorHandle, rhs: TensorHandle) -> Result<()> {
    let (mut state, [left, right]) = operands([("dst", dst), ("rhs", rhs)])?;
    let (to, from) = (state.trace.ty(left), state.trace.ty(right));
    let id =
        ops::binary_member(&mut state.trace, op.into(), left, right).map_err(|e| e.context("in place (lhs is dst)"))?;
    let result = state.trace.ty(id);
    if result != to {
        return Err(not_in_place(&to, &from, &result));
    }
    finish_in_place(state, dst, id)
}

fn not_in_place(dst: &TensorType, rhs: &TensorType, result: &TensorType) -> Error {
    error!(
        InvalidArgument,
        "dst: it is {dst}; with rhs {rhs} the result would be {result}, which does not fit in place"
    )
}

/// tensor (op) scalar, or scalar (op) tensor.
#[inline]
pub fn binary_scalar(
    op: impl Into<BinaryMember>,
    x: TensorHandle,
    scalar: ScalarValue,
    scalar_on_left: bool,
) -> Result<TensorHandle> {
    let (mut state, [x]) = operands([("lhs", x)])?;
    let id = ops::binary_member_scalar(&mut state.trace, op.into(), x, scalar, scalar_on_left)?;
    finish(state, id)
}

/// `dst = dst (op) scalar`.
pub fn binary_scalar_inplace(op: impl Into<BinaryMember>, dst: TensorHandle, scalar: ScalarValue) -> Result<()> {
    let (mut state, [x]) = operands([("dst", dst)])?;
    let id = ops::binary_member_scalar(&mut state.trace, op.into(), x, scalar, false)?;
    finish_in_place(state, dst, id)
}

/// A comparison.
pub fn compare(op: CompareOp, lhs: TensorHandle, rhs: TensorHandle) -> Result<TensorHandle> {
    let (mut state, [lhs, rhs]) = operands([("lhs", lhs), ("rhs", rhs)])?;
    let id = ops::compare(&mut state.trace, op, lhs, rhs)?;
    finish(state, id)
}

/// `pred ? on_true : on_false`.
pub fn select(pred: TensorHandle, on_true: TensorHandle, on_false: TensorHandle) -> Result<TensorHandle> {
    let (mut state, [pred, on_true, on_false]) =
        operands([("pred", pred), ("on_true", on_true), ("on_false", on_false)])?;
    let id = ops::select(&mut state.trace, pred, on_true, on_false)?;
    finish(state, id)
}

/// A tensor or a scalar where a choice takes either.
#[derive(Clone, Copy, Debug)]
pub enum Choice {
    /// A tensor.
    Tensor(TensorHandle),
    /// A scalar with the dtype that it was given with.
    Scalar(DType, ScalarValue),
}

/// `pred ? on_true : on_false`, of which each may be a scalar.
pub fn select_with_scalars(pred: TensorHandle, on_true: Choice, on_false: Choice) -> Result<TensorHandle> {
    let named = [("on_true", on_true), ("on_false", on_false)].into_iter().filter_map(|(name, choice)| match choice {
        Choice::Tensor(handle) => Some((name.to_string(), handle)),
        Choice::Scalar(..) => None,
    });
    let (mut state, nodes) = operand_list(std::iter::once(("pred".to_string(), pred)).chain(named))?;
    let mut tensors = nodes[1..].iter().copied();
    let sides = [on_true, on_false].map(|choice| match choice {
        Choice::Tensor(_) => Side::Tensor(tensors.next().expect("a node for each tensor")),
        Choice::Scalar(dtype, value) => Side::Scalar(dtype, value),
    });
    let id = ops::select_sides(&mut state.trace, nodes[0], sides)?;
    finish(state, id)
}

/// To another element type.
pub fn convert(x: TensorHandle, dtype: DType) -> Result<TensorHandle> {
    let (mut state, [x]) = operands([("x", x)])?;
    let id = ops::convert(&mut state.trace, x, dtype);
    finish(state, id)
}

/// To another shape of as many elements.
pub fn reshape(x: TensorHandle, dims: &[i64]) -> Result<TensorHandle> {
    let (mut state, [x]) = operands([("x", x)])?;
    let id = ops::reshape(&mut state.trace, x, dims)?;
    finish(state, id)
}

/// To a shape that it broadcasts to.
pub fn broadcast_to(x: TensorHandle, dims: &[i64]) -> Result<TensorHandle> {
    let (mut state, [x]) = operands([("x", x)])?;
    let id = ops::broadcast_to(&mut state.trace, x, dims)?;
    finish(state, id)
}

/// Axis i of the result is axis `permutation[i]`.
pub fn transpose(x: TensorHandle, permutation: &[i64]) -> Result<TensorHandle> {
    let (mut state, [x]) = operands([("x", x)])?;
    let id = ops::transpose(&mut state.trace, x, permutation)?;
    finish(state, id)
}

/// A reduction over axes.
pub fn reduce(op: ReduceOp, x: TensorHandle, axes: &[i64], keep_dims: bool) -> Result<TensorHandle> {
    let (mut state, [x]) = operands([("x", x)])?;
    let id = ops::reduce(&mut state.trace, op, x, axes, keep_dims)?;
    finish(state, id)
}

/// NumPy's matmul.
pub fn matmul(lhs: TensorHandle, rhs: TensorHandle) -> Result<TensorHandle> {
    let (mut state, [lhs, rhs]) = operands([("lhs", lhs), ("rhs", rhs)])?;
    let id = ops::matmul(&mut state.trace, lhs, rhs)?;
    finish(state, id)
}

/// `x[start:limit:stride]` on every axis.
pub fn slice(x: TensorHandle, starts: &[i64], limits: &[i64], strides: Option<&[i64]>) -> Result<TensorHandle> {
    let (mut state, [x]) = operands([("x", x)])?;
    let ty = state.trace.ty(x);
    check_rank(starts.len(), &ty)?;
    let ones = vec![1; starts.len()];
    let id = ops::slice(&mut state.trace, x, starts, limits, strides.unwrap_or(&ones))?;
    finish(state, id)
}

/// `sizes` elements of each axis, from `starts`.
pub fn dynamic_slice(x: TensorHandle, starts: &[TensorHandle], sizes: &[i64]) -> Result<TensorHandle> {
    let (mut state, nodes) = operand_list(std::iter::once(("x".to_string(), x)).chain(numbered("starts", starts)))?;
    let id = ops::dynamic_slice(&mut state.trace, nodes[0], &nodes[1..], sizes)?;
    finish(state, id)
}

/// `x` with `update` written over it, from `starts`.
pub fn dynamic_update_slice(x: TensorHandle, update: TensorHandle, starts: &[TensorHandle]) -> Result<TensorHandle> {
    let both = [("x".to_string(), x), ("update".to_string(), update)];
    let (mut state, nodes) = operand_list(both.into_iter().chain(numbered("starts", starts)))?;
    let id = ops::dynamic_update_slice(&mut state.trace, nodes[0], nodes[1], &nodes[2..])?;
    finish(state, id)
}

/// Slices along an axis, at indices.
pub fn take(x: TensorHandle, indices: TensorHandle, axis: i64) -> Result<TensorHandle> {
    let (mut state, [x, indices]) = operands([("x", x), ("indices", indices)])?;
    let id = ops::take(&mut state.trace, x, indices, axis)?;
    finish(state, id)
}

/// `x` with `value` around and between its elements.
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

/// `x` with a scalar around and between its elements.
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

pub(super) fn check_rank(rank: usize, ty: &TensorType) -> Result<()> {
    if rank != ty.dims.len() {
        return Err(error!(InvalidArgument, "rank: {rank} given; x is {ty}, of rank {}", ty.dims.len()));
    }
    Ok(())
}

/// Along one axis.
pub fn concatenate(tensors: &[TensorHandle], axis: i64) -> Result<TensorHandle> {
    if tensors.is_empty() {
        return Err(error!(InvalidArgument, "n: 0 tensors given; want at least 1"));
    }
    let (mut state, nodes) = operand_list(numbered("tensors", tensors))?;
    let id = ops::concatenate(&mut state.trace, &nodes, axis)?;
    finish(state, id)
}
