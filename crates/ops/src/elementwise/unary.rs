//! Elementwise operations of one operand.

use base::error::Result;
use ir::{BinaryOp, NodeId, Op, Trace, UnaryOp};

use crate::creation::constants::every;
use crate::definition::EvalContext;
use crate::elementwise::binary::{binary, binary_scalar};
use crate::elementwise::complex::{imag, real};
use crate::elementwise::convert::convert;
use crate::elementwise::subbyte::same_width;
use crate::elementwise::wide;
use crate::infer::refuse;

use base::types::{DType, Kind, ScalarValue, TensorType};

pub(super) fn member(cx: &EvalContext) -> UnaryOp {
    match cx.op {
        Op::Unary(op) => op,
        _ => unreachable!("asked for {:?}", cx.op),
    }
}

/// Records an elementwise operation of one operand.
pub fn unary(trace: &mut Trace, op: UnaryOp, x: NodeId) -> Result<NodeId> {
    match trace.node(x).dtype.kind() {
        Kind::Subbyte if matches!(op, UnaryOp::Popcnt | UnaryOp::CountLeadingZeros) => return counted(trace, op, x),
        Kind::Float8 | Kind::Subbyte => return wide::in_wide(trace, [x], |trace, [x]| unary(trace, op, x)),
        Kind::Float => {}
        kind => {
            if let Some(known) = beyond_stablehlo(trace, op, x, kind)? {
                return Ok(known);
            }
        }
    }
    let shape = trace.node(x).shape;
    let dtype = infer(op, &trace.ty(x))?;
    Ok(trace.operation(Op::Unary(op), dtype, shape, &[x]))
}

/// Records counts of the bits of integers of 2 or 4 bits.
fn counted(trace: &mut Trace, op: UnaryOp, x: NodeId) -> Result<NodeId> {
    let dtype = trace.node(x).dtype;
    if dtype.is_minifloat() {
        return Err(refuse(op.name(), "x", &trace.ty(x), "integers"));
    }
    let bits = same_width(trace, x, dtype.bits());
    let bytes = convert(trace, bits, DType::U8);
    let count = unary(trace, op, bytes)?;
    let count = match op {
        UnaryOp::CountLeadingZeros => {
            let above = ScalarValue::Unsigned(u64::from(8 - dtype.bit_width()));
            binary_scalar(trace, BinaryOp::Subtract, count, above, false)?
        }
        _ => count,
    };
    Ok(convert(trace, count, dtype))
}

/// Records the result for dtypes that NumPy's function supports and StableHLO's operation does not: abs and sign of
/// unsigned integers, rounding of integers, is_finite of integers and pred (true) and of complex numbers (both parts
/// are finite). None for other dtypes.
fn beyond_stablehlo(trace: &mut Trace, op: UnaryOp, x: NodeId, kind: Kind) -> Result<Option<NodeId>> {
    use UnaryOp::*;
    Ok(match (op, kind) {
        (Abs, Kind::Unsigned) => Some(x),
        (Sign, Kind::Unsigned) => Some(binary_scalar(trace, BinaryOp::Minimum, x, ScalarValue::Unsigned(1), false)?),
        (Floor | Ceil | RoundNearestEven | RoundNearestAfz, Kind::Signed | Kind::Unsigned) => Some(x),
        (IsFinite, Kind::Pred | Kind::Signed | Kind::Unsigned) => Some(every(trace, x, true)?),
        (IsFinite, Kind::Complex) => {
            let (re, im) = (real(trace, x)?, imag(trace, x)?);
            let (re, im) = (unary(trace, op, re)?, unary(trace, op, im)?);
            Some(binary(trace, BinaryOp::And, re, im)?)
        }
        _ => None,
    })
}

fn infer(op: UnaryOp, x: &TensorType) -> Result<DType> {
    use UnaryOp::*;
    let kind = x.dtype.kind();
    let (fits, wanted) = match op {
        Negate => (kind != Kind::Pred, "integers, floats and complex numbers"),
        Abs | Sign => {
            (matches!(kind, Kind::Signed | Kind::Float | Kind::Complex), "integers, floats and complex numbers")
        }
        Exponential | ExponentialMinusOne | Log | LogPlusOne | Logistic | Tanh | Sqrt | Rsqrt | Sine | Cosine | Tan => {
            (matches!(kind, Kind::Float | Kind::Complex), "floats and complex numbers")
        }
        Cbrt | IsFinite => (kind == Kind::Float, "floats"),
        Floor | Ceil | RoundNearestEven | RoundNearestAfz => (kind == Kind::Float, "integers and floats"),
        Not => (kind == Kind::Pred || x.dtype.is_integer(), "pred and integers"),
        Popcnt | CountLeadingZeros => (x.dtype.is_integer(), "integers"),
    };
    match (fits, op) {
        (false, _) => Err(refuse(op.name(), "x", x, wanted)),
        (true, IsFinite) => Ok(DType::Pred),
        (true, Abs) => Ok(x.dtype.real()),
        (true, _) => Ok(x.dtype),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_what_came_and_what_was_wanted() {
        let e = infer(UnaryOp::Popcnt, &TensorType::new(DType::F32, &[2])).unwrap_err();
        assert!(e.message.contains("integers, not f32[2]"), "{e}");
    }
}
