//! Uniform operations: elementwise operations whose operands have the same shape, and are not converted to another
//! dtype first. On small native arrays they are evaluated without being recorded (`src/tensor/elementwise.rs`), because
//! recording takes longer than evaluating.

use crate::ir::{CompareOp, Op, UnaryOp};
use crate::ops::elementwise::binary::{scalar_operand, supports};
use crate::ops::elementwise::compare_select::is_ordered;
use crate::ops::elementwise::members::{BinaryMember, UnaryMember};
use crate::types::{DType, Kind, Scalar, ScalarValue};

/// A uniform operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Uniform {
    /// The operation.
    pub op: Op,
    /// Scalar operand, converted to the dtype of the array; None if the operation has no scalar operand.
    pub scalar: Option<Scalar>,
    /// Dtype of the result.
    pub dtype: DType,
}

/// Returns the operation that `unary_member` records for an operand of this dtype. None if the dtype is not a float, if
/// the result has another dtype, or if the member is recorded as several operations.
#[inline]
pub fn uniform_unary(member: UnaryMember, [dtype]: [DType; 1]) -> Option<Uniform> {
    use UnaryOp::*;
    let UnaryMember::Operation(op) = member else { return None };
    let is_of_floats = !matches!(op, IsFinite | Not | Popcnt | CountLeadingZeros);
    (is_of_floats && dtype.kind() == Kind::Float).then_some(Uniform { op: Op::Unary(op), scalar: None, dtype })
}

/// Returns the operation that `binary_member` records for operands of these dtypes and of equal shapes. None if the
/// dtypes differ, or if the member is not a StableHLO operation, does not support the dtype, or is evaluated in another
/// dtype (float8).
#[inline]
pub fn uniform_binary(member: BinaryMember, [dtype, rhs]: [DType; 2]) -> Option<Uniform> {
    let BinaryMember::Operation(op) = member else { return None };
    let is_uniform = dtype == rhs && !dtype.is_float8() && supports(op, dtype);
    is_uniform.then_some(Uniform { op: Op::Binary(op), scalar: None, dtype })
}

/// Returns the operation that `binary_member_scalar` records for an operand of this dtype. None in the cases of
/// [`uniform_binary`], and if the scalar cannot be converted to the dtype; recording then returns the error.
#[inline]
pub fn uniform_scalar(
    member: BinaryMember,
    [dtype]: [DType; 1],
    scalar: ScalarValue,
    on_left: bool,
) -> Option<Uniform> {
    let BinaryMember::Operation(op) = member else { return None };
    if dtype.is_float8() || !supports(op, dtype) {
        return None;
    }
    let scalar = Some(scalar_operand(dtype, scalar).ok()?);
    let op = if on_left { Op::ScalarBinary(op) } else { Op::BinaryScalar(op) };
    Some(Uniform { op, scalar, dtype })
}

/// Returns the operation that `compare` records for operands of these dtypes and of equal shapes. None if the dtypes
/// differ, or if `op` does not support the dtype, or evaluates it in another dtype (float8).
#[inline]
pub fn uniform_compare(op: CompareOp, [dtype, rhs]: [DType; 2]) -> Option<Uniform> {
    let is_uniform = dtype == rhs && !dtype.is_float8() && is_ordered(op, dtype);
    is_uniform.then_some(Uniform { op: Op::Compare(op), scalar: None, dtype: DType::Pred })
}

/// Returns the operation that `select` records for operands of these dtypes and of equal shapes. None if the first
/// dtype is not pred, or if the other two differ.
#[inline]
pub fn uniform_select([pred, dtype, on_false]: [DType; 3]) -> Option<Uniform> {
    let is_uniform = pred == DType::Pred && dtype == on_false;
    is_uniform.then_some(Uniform { op: Op::Select, scalar: None, dtype })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Result;
    use crate::ir::{BinaryOp, NodeId, Trace};
    use crate::ops::elementwise::compare_select::{compare, select};
    use crate::ops::elementwise::members::{binary_member, binary_member_scalar, unary_member};
    use crate::types::TensorType;

    /// Returns what `record` records on operands of these dtypes and of one shape. None if it fails, if it records more
    /// than one operation, or if the result has another shape.
    fn recorded<const N: usize>(
        dtypes: [DType; N],
        record: impl FnOnce(&mut Trace, [NodeId; N]) -> Result<NodeId>,
    ) -> Option<Uniform> {
        let mut trace = Trace::new();
        let operands = dtypes.map(|dtype| trace.parameter(TensorType::new(dtype, &[3])));
        let result = record(&mut trace, operands).ok()?;
        let (node, first) = (trace.node(result), trace.node(operands[0]));
        let is_uniform = trace.len() == N + 1
            && trace.operands(node) == operands
            && trace.words(node).is_empty()
            && node.shape == first.shape;
        is_uniform.then(|| Uniform { op: node.op, scalar: trace.scalar(node), dtype: node.dtype })
    }

    fn pairs() -> impl Iterator<Item = [DType; 2]> {
        DType::ALL.into_iter().flat_map(|lhs| DType::ALL.into_iter().map(move |rhs| [lhs, rhs]))
    }

    #[test]
    fn operations_of_two_operands_are_those_that_are_recorded() {
        for dtypes in pairs() {
            for member in BinaryOp::ALL.iter().map(|&op| BinaryMember::from(op)) {
                let want = recorded(dtypes, |trace, [lhs, rhs]| binary_member(trace, member, lhs, rhs));
                let want = want.filter(|_| dtypes[0] == dtypes[1]);
                assert_eq!(uniform_binary(member, dtypes), want, "{member:?} of {dtypes:?}");
            }
        }
    }

    #[test]
    fn comparisons_are_those_that_are_recorded() {
        for dtypes in pairs() {
            for &op in CompareOp::ALL {
                let want = recorded(dtypes, |trace, [lhs, rhs]| compare(trace, op, lhs, rhs));
                let want = want.filter(|_| dtypes[0] == dtypes[1]);
                assert_eq!(uniform_compare(op, dtypes), want, "{op:?} of {dtypes:?}");
            }
        }
    }

    #[test]
    fn selects_are_those_that_are_recorded() {
        for [on_true, on_false] in pairs() {
            for pred in DType::ALL {
                let dtypes = [pred, on_true, on_false];
                let want = recorded(dtypes, |trace, [pred, a, b]| select(trace, pred, a, b));
                let want = want.filter(|_| on_true == on_false);
                assert_eq!(uniform_select(dtypes), want, "{dtypes:?}");
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
                    let want = recorded([dtype], |trace, [x]| binary_member_scalar(trace, member, x, scalar, on_left));
                    assert_eq!(
                        uniform_scalar(member, [dtype], scalar, on_left),
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
                let want = recorded([dtype], |trace, [x]| unary_member(trace, member, x))
                    .filter(|want| is_float && want.dtype == dtype);
                assert_eq!(uniform_unary(member, [dtype]), want, "{member:?} of {dtype}");
            }
        }
    }
}
