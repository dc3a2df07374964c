//! The members of `LXLA_UNARY_*` and `LXLA_BINARY_*`: StableHLO operations, and functions without a StableHLO
//! operation. Most functions of floats are one node with a formula (`functions/body.rs`); the others are recorded as
//! several operations.

use crate::creation::constants::constant;
use crate::elementwise::binary::{binary, binary_scalar, binary_varying, scalar_operand};
use crate::elementwise::functions::of_one::unary_function;
use crate::elementwise::functions::of_two::{binary_function, binary_function_scalar};
use crate::elementwise::unary::unary;
use base::error;
use base::error::{Error, Result};
use base::types::ScalarValue;
use ir::{BinaryFunction, UnaryFunction};
use ir::{BinaryOp, NodeId, Trace, UnaryOp};

/// A member of `LXLA_UNARY_*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnaryMember {
    /// A StableHLO operation.
    Operation(UnaryOp),
    /// A function without a StableHLO operation.
    Function(UnaryFunction),
}

/// A member of `LXLA_BINARY_*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinaryMember {
    /// A StableHLO operation.
    Operation(BinaryOp),
    /// A function without a StableHLO operation.
    Function(BinaryFunction),
}

impl UnaryMember {
    /// Returns the member with this number in the C ABI.
    #[inline]
    pub fn from_number(number: i32) -> Result<UnaryMember> {
        // Comparing first avoids formatting an error that would be discarded.
        if number < UnaryFunction::ALL[0] as i32
            && let Ok(op) = UnaryOp::from_number(number)
        {
            return Ok(op.into());
        }
        let last = UnaryFunction::ALL[UnaryFunction::ALL.len() - 1] as i32;
        UnaryFunction::from_number(number).map(Into::into).map_err(|_| no_such(number, "LXLA_UNARY_*", last))
    }
}

impl BinaryMember {
    /// Returns the member with this number in the C ABI.
    #[inline]
    pub fn from_number(number: i32) -> Result<BinaryMember> {
        // Comparing first avoids formatting an error that would be discarded.
        if number < BinaryFunction::ALL[0] as i32
            && let Ok(op) = BinaryOp::from_number(number)
        {
            return Ok(op.into());
        }
        let last = BinaryFunction::ALL[BinaryFunction::ALL.len() - 1] as i32;
        BinaryFunction::from_number(number).map(Into::into).map_err(|_| no_such(number, "LXLA_BINARY_*", last))
    }
}

#[cold]
fn no_such(number: i32, constants: &str, last: i32) -> Error {
    error!(InvalidArgument, "op: {number} is not an {constants} constant (valid: 1 to {last})")
}

impl From<UnaryOp> for UnaryMember {
    #[inline]
    fn from(op: UnaryOp) -> UnaryMember {
        UnaryMember::Operation(op)
    }
}

impl From<UnaryFunction> for UnaryMember {
    fn from(function: UnaryFunction) -> UnaryMember {
        UnaryMember::Function(function)
    }
}

impl From<BinaryOp> for BinaryMember {
    #[inline]
    fn from(op: BinaryOp) -> BinaryMember {
        BinaryMember::Operation(op)
    }
}

impl From<BinaryFunction> for BinaryMember {
    fn from(function: BinaryFunction) -> BinaryMember {
        BinaryMember::Function(function)
    }
}

/// Records an elementwise operation or function of one operand.
pub fn unary_member(trace: &mut Trace, member: UnaryMember, x: NodeId) -> Result<NodeId> {
    match member {
        UnaryMember::Operation(op) => unary(trace, op, x),
        UnaryMember::Function(function) => unary_function(trace, function, x),
    }
}

/// Records an elementwise operation or function of two tensors.
#[inline]
pub fn binary_member(trace: &mut Trace, member: BinaryMember, lhs: NodeId, rhs: NodeId) -> Result<NodeId> {
    match member {
        BinaryMember::Operation(op) => binary(trace, op, lhs, rhs),
        BinaryMember::Function(function) => binary_function(trace, function, lhs, rhs),
    }
}

/// Records an elementwise operation or function of `dst` and `rhs` whose result has the dtype and shape of `dst`.
pub fn binary_member_in_place(trace: &mut Trace, member: BinaryMember, dst: NodeId, rhs: NodeId) -> Result<NodeId> {
    let id = binary_member(trace, member, dst, rhs).map_err(|e| e.context("in place (lhs is dst)"))?;
    let (to, made) = (trace.node(dst), trace.node(id));
    if (to.dtype, to.shape) != (made.dtype, made.shape) {
        let [to, from, result] = [dst, rhs, id].map(|id| trace.ty(id));
        return Err(error!(
            InvalidArgument,
            "dst: it is {to}; with rhs {from} the result would be {result}, which does not fit in place"
        ));
    }
    Ok(id)
}

/// Records an elementwise operation or function of a tensor and a scalar, which is converted to the tensor's dtype.
#[inline]
pub fn binary_member_scalar(
    trace: &mut Trace,
    member: BinaryMember,
    x: NodeId,
    scalar: ScalarValue,
    scalar_on_left: bool,
) -> Result<NodeId> {
    match member {
        BinaryMember::Operation(op) => binary_scalar(trace, op, x, scalar, scalar_on_left),
        BinaryMember::Function(function) => binary_function_scalar(trace, function, x, scalar, scalar_on_left),
    }
}

/// Records an elementwise operation or function of a tensor and a scalar, which is converted to the tensor's dtype, and
/// whose value changes from step to step. StableHLO operations have the program of [`binary_member_scalar`].
pub fn binary_member_varying(
    trace: &mut Trace,
    member: BinaryMember,
    x: NodeId,
    scalar: ScalarValue,
    scalar_on_left: bool,
) -> Result<NodeId> {
    let dtype = trace.node(x).dtype;
    match member {
        BinaryMember::Operation(op) if dtype.has_arithmetic() => binary_varying(trace, op, x, scalar, scalar_on_left),
        _ => {
            let scalar = constant(trace, &[], scalar_operand(dtype, scalar)?.varying());
            let (lhs, rhs) = if scalar_on_left { (scalar, x) } else { (x, scalar) };
            binary_member(trace, member, lhs, rhs)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_follow_the_operations_without_a_gap() {
        assert_eq!(UnaryFunction::ALL[0] as usize, UnaryOp::ALL.len() + 1);
        assert_eq!(BinaryFunction::ALL[0] as usize, BinaryOp::ALL.len() + 1);
        assert_eq!(UnaryMember::from_number(1).unwrap(), UnaryOp::Negate.into());
        assert_eq!(BinaryMember::from_number(16).unwrap(), BinaryFunction::FloorDivide.into());
        let last = UnaryOp::ALL.len() + UnaryFunction::ALL.len();
        for bad in [0, -1, last as i32 + 1, i32::MIN, i32::MAX] {
            let e = UnaryMember::from_number(bad).unwrap_err();
            assert!(e.message.contains(&format!("is not an LXLA_UNARY_* constant (valid: 1 to {last})")), "{e}");
        }
        let last = BinaryOp::ALL.len() + BinaryFunction::ALL.len();
        let e = BinaryMember::from_number(last as i32 + 1).unwrap_err();
        assert!(e.message.contains(&format!("is not an LXLA_BINARY_* constant (valid: 1 to {last})")), "{e}");
    }
}
