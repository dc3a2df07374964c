//! Records elementwise operations, by tensor handles.

use super::operands::of_one;
use super::operands::{operand_list, operands};
use super::recording::{finish, finish_in_place};
use crate::device::TensorHandle;
use crate::error::{Error, Result};
use crate::ir::CompareOp;
use crate::ops::{BinaryMember, Side, SpecialOp, UnaryMember};
use crate::types::{DType, ScalarValue, TensorType};
use crate::{error, ops};

/// Records an elementwise operation of one operand.
pub fn unary(op: impl Into<UnaryMember>, x: TensorHandle) -> Result<TensorHandle> {
    let (mut state, [x]) = operands([("x", x)])?;
    let id = ops::unary_member(&mut state.trace, op.into(), x)?;
    finish(state, id)
}

/// Records an elementwise operation of two operands.
#[inline]
pub fn binary(op: impl Into<BinaryMember>, lhs: TensorHandle, rhs: TensorHandle) -> Result<TensorHandle> {
    let (mut state, [lhs, rhs]) = operands([("lhs", lhs), ("rhs", rhs)])?;
    let id = ops::binary_member(&mut state.trace, op.into(), lhs, rhs)?;
    finish(state, id)
}

/// Records `dst = dst (op) rhs`.
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

/// Records tensor (op) scalar, or scalar (op) tensor.
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

/// Records `dst = dst (op) scalar`.
pub fn binary_scalar_inplace(op: impl Into<BinaryMember>, dst: TensorHandle, scalar: ScalarValue) -> Result<()> {
    let (mut state, [x]) = operands([("dst", dst)])?;
    let id = ops::binary_member_scalar(&mut state.trace, op.into(), x, scalar, false)?;
    finish_in_place(state, dst, id)
}

/// Records `dst = dst (op) scalar`, or `dst = scalar (op) dst`.
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

/// Records a comparison of two tensors in IEEE 754's total order.
pub fn compare_total_order(op: CompareOp, lhs: TensorHandle, rhs: TensorHandle) -> Result<TensorHandle> {
    let (mut state, [lhs, rhs]) = operands([("lhs", lhs), ("rhs", rhs)])?;
    let id = ops::compare_total_order(&mut state.trace, op, lhs, rhs)?;
    finish(state, id)
}

/// Records a comparison of two tensors.
pub fn compare(op: CompareOp, lhs: TensorHandle, rhs: TensorHandle) -> Result<TensorHandle> {
    let (mut state, [lhs, rhs]) = operands([("lhs", lhs), ("rhs", rhs)])?;
    let id = ops::compare(&mut state.trace, op, lhs, rhs)?;
    finish(state, id)
}

/// Records a comparison with a scalar.
pub fn compare_scalar(
    op: CompareOp,
    x: TensorHandle,
    scalar: ScalarValue,
    scalar_on_left: bool,
) -> Result<TensorHandle> {
    of_one("lhs", x, |trace, x| ops::compare_scalar(trace, op, x, scalar, scalar_on_left))
}

/// Records `pred ? on_true : on_false`.
pub fn select(pred: TensorHandle, on_true: TensorHandle, on_false: TensorHandle) -> Result<TensorHandle> {
    let (mut state, [pred, on_true, on_false]) =
        operands([("pred", pred), ("on_true", on_true), ("on_false", on_false)])?;
    let id = ops::select(&mut state.trace, pred, on_true, on_false)?;
    finish(state, id)
}

/// Operand of a selection: a tensor or a scalar.
#[derive(Clone, Copy, Debug)]
pub enum Choice {
    /// A tensor, by its handle.
    Tensor(TensorHandle),
    /// A scalar, with the dtype that the caller gave.
    Scalar(DType, ScalarValue),
}

/// Records `pred ? on_true : on_false`; either choice may be a scalar.
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

/// Records `x`, limited to at least `min` and at most `max`.
pub fn clamp(min: TensorHandle, x: TensorHandle, max: TensorHandle) -> Result<TensorHandle> {
    let (mut state, [min, x, max]) = operands([("min", min), ("x", x), ("max", max)])?;
    let id = ops::clamp(&mut state.trace, min, x, max)?;
    finish(state, id)
}

/// Records `x`, limited by scalars; a limit that is None is left out.
pub fn clamp_with_scalars(min: Option<ScalarValue>, x: TensorHandle, max: Option<ScalarValue>) -> Result<TensorHandle> {
    let (mut state, [x]) = operands([("x", x)])?;
    let id = ops::clamp_scalars(&mut state.trace, min, x, max)?;
    finish(state, id)
}

/// Records a conversion to another element type.
pub fn convert(x: TensorHandle, dtype: DType) -> Result<TensorHandle> {
    let (mut state, [x]) = operands([("x", x)])?;
    let id = ops::convert(&mut state.trace, x, dtype);
    finish(state, id)
}

/// Records a special function, such as the error function.
pub fn special(op: SpecialOp, x: TensorHandle) -> Result<TensorHandle> {
    of_one("x", x, |trace, x| ops::special(trace, op, x))
}

/// Records complex numbers from their real and imaginary parts.
pub fn complex(real: TensorHandle, imag: TensorHandle) -> Result<TensorHandle> {
    let (mut state, [real, imag]) = operands([("real", real), ("imag", imag)])?;
    let id = ops::complex(&mut state.trace, real, imag)?;
    finish(state, id)
}

/// Records the real part.
pub fn real(x: TensorHandle) -> Result<TensorHandle> {
    let (mut state, [x]) = operands([("x", x)])?;
    let id = ops::real(&mut state.trace, x)?;
    finish(state, id)
}

/// Records the imaginary part.
pub fn imag(x: TensorHandle) -> Result<TensorHandle> {
    let (mut state, [x]) = operands([("x", x)])?;
    let id = ops::imag(&mut state.trace, x)?;
    finish(state, id)
}

/// Records the bits of `x` as elements of another dtype.
pub fn bitcast_convert(x: TensorHandle, dtype: DType) -> Result<TensorHandle> {
    let (mut state, [x]) = operands([("x", x)])?;
    let id = ops::bitcast_convert(&mut state.trace, x, dtype)?;
    finish(state, id)
}

/// Records `x`, each element rounded to a format with this many exponent and mantissa bits.
pub fn reduce_precision(x: TensorHandle, exponent_bits: i32, mantissa_bits: i32) -> Result<TensorHandle> {
    let (mut state, [x]) = operands([("x", x)])?;
    let id = ops::reduce_precision(&mut state.trace, x, exponent_bits.into(), mantissa_bits.into())?;
    finish(state, id)
}
