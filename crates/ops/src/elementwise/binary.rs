//! Elementwise operations of two operands, one of which may be a scalar.

use crate::definition::EvalContext;
use crate::elementwise::float8;
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
    if l.shape == r.shape && l.dtype == r.dtype && !l.dtype.is_float8() {
        let (dtype, shape) = (l.dtype, l.shape);
        check(op, dtype)?;
        return Ok(trace.operation(Op::Binary(op), dtype, shape, &[lhs, rhs]));
    }
    if float8::is_any(trace, &[lhs, rhs]) {
        common_dtype(&trace.ty(lhs), &trace.ty(rhs))?;
        return float8::in_f32(trace, [lhs, rhs], |trace, [lhs, rhs]| binary(trace, op, lhs, rhs));
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
    if dtype.is_float8() {
        let rounded = types::float8::format(dtype).decode(scalar_operand(dtype, scalar)?.bits() as u8);
        let scalar = ScalarValue::Float(rounded.into());
        return float8::in_f32(trace, [x], |trace, [x]| binary_scalar(trace, op, x, scalar, scalar_on_left));
    }
    let scalar = scalar_operand(dtype, scalar)?;
    of_scalar(trace, op, x, scalar, scalar_on_left)
}

/// Records an operation of a tensor and a scalar of its dtype, which is not an 8-bit float.
#[inline]
fn of_scalar(trace: &mut Trace, op: BinaryOp, x: NodeId, scalar: Scalar, scalar_on_left: bool) -> Result<NodeId> {
    let node = trace.node(x);
    let (dtype, shape) = (node.dtype, node.shape);
    check(op, dtype)?;
    let op = if scalar_on_left { Op::ScalarBinary(op) } else { Op::BinaryScalar(op) };
    Ok(trace.operation_with_scalar(op, dtype, shape, &[x], scalar))
}

/// Records a binary operation with a scalar whose value changes from step to step. The dtype is not an 8-bit float.
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

/// Whether `op` supports `dtype`. Operations on float8 are evaluated in f32.
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
