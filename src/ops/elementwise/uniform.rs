//! Uniform operations: elementwise operations whose operands and result have the same dtype and shape. On small native
//! arrays they are evaluated without being recorded (`DeviceState::uniform_work` in `src/device/eager.rs`), because
//! recording takes longer than evaluating.

use crate::ir::{Op, UnaryOp};
use crate::ops::elementwise::binary::{scalar_operand, supports};
use crate::ops::elementwise::members::{BinaryMember, UnaryMember};
use crate::types::{DType, Kind, Scalar, ScalarValue};

/// A uniform operation and its scalar operand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Uniform {
    /// The operation.
    pub op: Op,
    /// Scalar operand, converted to the dtype of the array; None if the operation has no scalar operand.
    pub scalar: Option<Scalar>,
}

/// Returns the operation that `unary_member` records for an operand of this dtype. None if the dtype is not a float, if
/// the result has another dtype, or if the member is recorded as several operations.
#[inline]
pub fn uniform_unary(member: UnaryMember, dtype: DType) -> Option<Uniform> {
    use UnaryOp::*;
    let UnaryMember::Operation(op) = member else { return None };
    let is_of_floats = !matches!(op, IsFinite | Not | Popcnt | CountLeadingZeros);
    (is_of_floats && dtype.kind() == Kind::Float).then_some(Uniform { op: Op::Unary(op), scalar: None })
}

/// Returns the operation that `binary_member` records for two operands of this dtype and of equal shapes. None if the
/// member is not a StableHLO operation, does not support the dtype, or is evaluated in another dtype (float8).
#[inline]
pub fn uniform_binary(member: BinaryMember, dtype: DType) -> Option<Uniform> {
    let BinaryMember::Operation(op) = member else { return None };
    let is_uniform = !dtype.is_float8() && supports(op, dtype);
    is_uniform.then_some(Uniform { op: Op::Binary(op), scalar: None })
}

/// Returns the operation that `binary_member_scalar` records for an operand of this dtype. None in the cases of
/// [`uniform_binary`], and if the scalar cannot be converted to the dtype; recording then returns the error.
#[inline]
pub fn uniform_scalar(member: BinaryMember, dtype: DType, scalar: ScalarValue, on_left: bool) -> Option<Uniform> {
    let BinaryMember::Operation(op) = member else { return None };
    if dtype.is_float8() || !supports(op, dtype) {
        return None;
    }
    let scalar = Some(scalar_operand(dtype, scalar).ok()?);
    let op = if on_left { Op::ScalarBinary(op) } else { Op::BinaryScalar(op) };
    Some(Uniform { op, scalar })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Result;
    use crate::ir::{BinaryOp, NodeId, Trace};
    use crate::ops::{binary_member, binary_member_scalar, unary_member};
    use crate::types::TensorType;

    /// Returns what `record` records on `N` operands of one type. None if it fails, if it records more than one
    /// operation, or if the result has another type.
    fn recorded<const N: usize>(
        dtype: DType,
        record: impl FnOnce(&mut Trace, [NodeId; N]) -> Result<NodeId>,
    ) -> Option<Uniform> {
        let mut trace = Trace::new();
        let operands = [(); N].map(|()| trace.parameter(TensorType::new(dtype, &[3])));
        let result = record(&mut trace, operands).ok()?;
        let (node, first) = (trace.node(result), trace.node(operands[0]));
        let is_uniform = trace.len() == N + 1
            && trace.operands(node) == operands
            && trace.words(node).is_empty()
            && (node.dtype, node.shape) == (first.dtype, first.shape);
        is_uniform.then(|| Uniform { op: node.op, scalar: trace.scalar(node) })
    }

    #[test]
    fn operations_of_two_operands_are_those_that_are_recorded() {
        for dtype in DType::ALL {
            for member in BinaryOp::ALL.iter().map(|&op| BinaryMember::from(op)) {
                let want = recorded(dtype, |trace, [lhs, rhs]| binary_member(trace, member, lhs, rhs));
                assert_eq!(uniform_binary(member, dtype), want, "{member:?} of {dtype}");
            }
        }
    }

    #[test]
    fn operations_with_a_scalar_are_those_that_are_recorded() {
        let scalars =
            [ScalarValue::Float(1.5), ScalarValue::Float(-1.0), ScalarValue::Signed(300), ScalarValue::Unsigned(1)];
        for dtype in DType::ALL {
            for member in BinaryOp::ALL.iter().map(|&op| BinaryMember::from(op)) {
                for (scalar, on_left) in scalars.into_iter().flat_map(|scalar| [(scalar, false), (scalar, true)]) {
                    let want = recorded(dtype, |trace, [x]| binary_member_scalar(trace, member, x, scalar, on_left));
                    assert_eq!(
                        uniform_scalar(member, dtype, scalar, on_left),
                        want,
                        "{member:?} of {dtype} and {scalar:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn operations_of_one_operand_are_those_that_are_recorded_of_floats() {
        for dtype in DType::ALL {
            for member in UnaryOp::ALL.iter().map(|&op| UnaryMember::from(op)) {
                let is_float = dtype.kind() == Kind::Float;
                let want = recorded(dtype, |trace, [x]| unary_member(trace, member, x)).filter(|_| is_float);
                assert_eq!(uniform_unary(member, dtype), want, "{member:?} of {dtype}");
            }
        }
    }
}
