//! Elementwise operations of two operands, one of which may be a scalar.

use crate::creation::constants::constant;
use crate::definition::EvalContext;
use crate::elementwise::subbyte::same_width;
use crate::elementwise::wide;
use crate::infer::{common_dims, common_dtype, inferred};
use base::error;
use base::error::{Error, Result};
use ir::{BinaryOp, NodeId, Op, Trace};
use native::{self, Array, Source};

use base::types::{self, DType, Kind, Scalar, ScalarValue, TensorType};

pub(super) fn member(cx: &EvalContext) -> BinaryOp {
    match cx.op {
        Op::Binary(op) | Op::BinaryScalar(op) | Op::ScalarBinary(op) => op,
        _ => unreachable!("asked for {:?}", cx.op),
    }
}

/// Records an elementwise operation of two tensors.
#[inline]
pub fn binary(trace: &mut Trace, op: BinaryOp, lhs: NodeId, rhs: NodeId) -> Result<NodeId> {
    let (l, r) = (trace.node(lhs), trace.node(rhs));
    if l.shape == r.shape && l.dtype == r.dtype && l.dtype.has_arithmetic() {
        let (dtype, shape) = (l.dtype, l.shape);
        check(op, dtype)?;
        return Ok(trace.operation(Op::Binary(op), dtype, shape, &[lhs, rhs]));
    }
    if wide::is_any(trace, &[lhs, rhs]) {
        let dtype = common_dtype(&trace.ty(lhs), &trace.ty(rhs))?;
        if op == BinaryOp::ShiftRightLogical && dtype.is_subbyte() && dtype.wide() == DType::S8 {
            return shifted_as_unsigned(trace, lhs, rhs);
        }
        return wide::in_wide(trace, [lhs, rhs], |trace, [lhs, rhs]| binary(trace, op, lhs, rhs));
    }
    inferred(trace, Op::Binary(op), [lhs, rhs], |trace| infer(op, &trace.ty(lhs), &trace.ty(rhs)))
}

/// Records an elementwise operation of a tensor and a scalar. The scalar is converted to the tensor's dtype.
pub fn binary_scalar(
    trace: &mut Trace,
    op: BinaryOp,
    x: NodeId,
    scalar: ScalarValue,
    scalar_on_left: bool,
) -> Result<NodeId> {
    let dtype = trace.node(x).dtype;
    if !dtype.has_arithmetic() {
        let own = scalar_operand(dtype, scalar)?;
        if op == BinaryOp::ShiftRightLogical {
            let own = constant(trace, &[], own);
            let (lhs, rhs) = if scalar_on_left { (own, x) } else { (x, own) };
            return binary(trace, op, lhs, rhs);
        }
        let scalar = match dtype.is_minifloat() {
            true => ScalarValue::Float(types::float8::format(dtype).decode(own.bits() as u8).into()),
            false => scalar,
        };
        return wide::in_wide(trace, [x], |trace, [x]| binary_scalar(trace, op, x, scalar, scalar_on_left));
    }
    let scalar = scalar_operand(dtype, scalar)?;
    of_scalar(trace, op, x, scalar, scalar_on_left)
}

/// Records a logical shift of signed integers of 2 or 4 bits, whose bits have no copies of the sign above them.
fn shifted_as_unsigned(trace: &mut Trace, lhs: NodeId, rhs: NodeId) -> Result<NodeId> {
    let dtype = trace.node(lhs).dtype;
    let (lhs, rhs) = (same_width(trace, lhs, dtype.bits()), same_width(trace, rhs, dtype.bits()));
    let shifted = binary(trace, BinaryOp::ShiftRightLogical, lhs, rhs)?;
    Ok(same_width(trace, shifted, dtype))
}

/// Records an operation of a tensor and a scalar of its dtype, which has arithmetic.
#[inline]
fn of_scalar(trace: &mut Trace, op: BinaryOp, x: NodeId, scalar: Scalar, scalar_on_left: bool) -> Result<NodeId> {
    let node = trace.node(x);
    let (dtype, shape) = (node.dtype, node.shape);
    check(op, dtype)?;
    let op = if scalar_on_left { Op::ScalarBinary(op) } else { Op::BinaryScalar(op) };
    Ok(trace.operation_with_scalar(op, dtype, shape, &[x], scalar))
}

/// Records a binary operation with a scalar whose value changes from step to step. The dtype has arithmetic.
pub(crate) fn binary_varying(
    trace: &mut Trace,
    op: BinaryOp,
    x: NodeId,
    scalar: ScalarValue,
    scalar_on_left: bool,
) -> Result<NodeId> {
    let scalar = scalar_operand(trace.node(x).dtype, scalar)?.varying();
    of_scalar(trace, op, x, scalar, scalar_on_left)
}

/// Converts a scalar operand to the tensor's dtype.
#[inline]
pub(crate) fn scalar_operand(dtype: DType, scalar: ScalarValue) -> Result<Scalar> {
    Scalar::new(dtype, scalar).map_err(|e| e.context("rhs"))
}

/// Returns an error unless `op` supports `dtype`.
#[inline]
fn check(op: BinaryOp, dtype: DType) -> Result<()> {
    if supports(op, dtype) { Ok(()) } else { Err(refuse(op, dtype)) }
}

/// Whether `op` supports `dtype`. Dtypes without arithmetic have passed to their wide one.
#[inline]
pub(crate) fn supports(op: BinaryOp, dtype: DType) -> bool {
    kinds(op).contains(&dtype.kind())
}

/// Kinds of dtypes that an operation supports.
#[inline]
fn kinds(op: BinaryOp) -> &'static [Kind] {
    use BinaryOp::*;
    use Kind::*;
    match op {
        Add | Subtract | Multiply | Divide | Power => &[Float, Signed, Unsigned, Complex],
        Remainder => &[Float, Signed, Unsigned],
        Maximum | Minimum => &[Float, Signed, Unsigned, Pred],
        Atan2 => &[Float],
        And | Or | Xor => &[Pred, Signed, Unsigned],
        ShiftLeft | ShiftRightArithmetic | ShiftRightLogical => &[Signed, Unsigned],
    }
}

#[cold]
fn refuse(op: BinaryOp, dtype: DType) -> Error {
    use BinaryOp::*;
    let wanted = match op {
        Add | Subtract | Multiply | Divide | Power => "integers, floats and complex numbers",
        Remainder => "integers and floats",
        Maximum | Minimum => "pred, integers and floats",
        Atan2 => "floats",
        And | Or | Xor => "pred and integers",
        ShiftLeft | ShiftRightArithmetic | ShiftRightLogical => "integers",
    };
    error!(InvalidArgument, "{} takes {wanted}, not {dtype}", op.name())
}

fn infer(op: BinaryOp, lhs: &TensorType, rhs: &TensorType) -> Result<TensorType> {
    let dtype = common_dtype(lhs, rhs)?;
    check(op, dtype).map_err(|e| e.context(format_args!("lhs is {lhs} and rhs is {rhs}")))?;
    Ok(TensorType { dtype, dims: common_dims(lhs, rhs)? })
}

pub(super) fn native_of_two(cx: &EvalContext) -> Result<Array> {
    let (op, ty, a, b) = (member(cx), cx.ty, cx.operands[0], cx.operands[1]);
    if a.ty().dtype == ty.dtype && b.ty().dtype == ty.dtype {
        return native::binary(op, ty, Source::Array(a), Source::Array(b));
    }
    let (a, b) = (native::convert(a, ty.dtype)?, native::convert(b, ty.dtype)?);
    native::binary(op, ty, Source::Array(&a), Source::Array(&b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_what_came_and_what_was_wanted() {
        let f32s = |dims: &[i64]| TensorType::new(DType::F32, dims);
        let e = infer(BinaryOp::Add, &f32s(&[2, 3]), &f32s(&[4])).unwrap_err();
        assert!(e.message.contains("f32[2,3]") && e.message.contains("f32[4]"), "{e}");
        let e = infer(BinaryOp::And, &f32s(&[2]), &f32s(&[2])).unwrap_err();
        assert!(e.message.contains("and takes pred and integers"), "{e}");
    }
}
