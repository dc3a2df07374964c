//! Keeps XLA's algebraic simplifier from combining operations on floats where that changes values by more than rounding
//! (`docs/xla-workarounds.md`, "Combined constants and quotients"). It treats floats as real numbers: `(x + 1e20) - 1e20`
//! becomes `x`, `(x * 1e30) * 1e30` becomes `x * infinity`, `(a / b) / c` becomes `a / (b c)`, the logarithm of a power of
//! a negative number a number, and `abs(x) >= 0` true, also of NaN.

use crate::emit::{Emitter, Extent, Folded, emit, mlir};
use crate::ir::{BinaryOp, CompareOp, Op, UnaryOp};
use crate::ops::elementwise::lower::{disguised, write_formula};
use crate::types::Kind;

/// Disguises the operands of an operation that XLA would combine with it. Barriers would not do: the CPU backend removes
/// them before it simplifies for the last time.
pub fn keep_apart(e: &mut Emitter, position: usize) {
    if e.platform.is_empty() {
        return;
    }
    let value = e.instruction(position);
    // XLA evaluates an operation on constants as it is.
    if value.operands.iter().all(|&operand| e.folded[operand] != Folded::No) {
        return;
    }
    for &operand in value.operands.iter() {
        let ty = &e.instruction(operand).ty;
        if ty.dtype.kind() == Kind::Float && is_combined(e, position, source(e, operand)) {
            let name = e.name(operand);
            let kept = write_formula(e, [(&name, ty)], |[x]| disguised(x, x));
            e.rename(operand, kept);
        }
        if may_be_zero(e, position, operand) {
            let (name, kept) = (e.name(operand), e.temporary());
            emit!(e, "    {kept} = stablehlo.optimization_barrier {name} : {}", mlir(ty));
            e.rename(operand, kept);
        }
    }
}

/// Whether an operand may be a constant 0 that is added to something: XLA takes that for the sum, also where it is -0.
fn may_be_zero(e: &Emitter, position: usize, operand: usize) -> bool {
    let is_sum = matches!(e.instruction(position).op, Op::Binary(BinaryOp::Add | BinaryOp::Subtract));
    let is_float = e.instruction(operand).ty.dtype.kind() == Kind::Float;
    let is_constant = e.instruction(source(e, operand)).op == Op::Full;
    is_sum && is_float && is_constant && !matches!(e.extent, Extent::Whole(_))
}

/// Returns the value whose elements a value has in another order or number.
fn source(e: &Emitter, mut position: usize) -> usize {
    while matches!(e.instruction(position).op, Op::Reshape | Op::BroadcastTo | Op::Transpose | Op::Slice) {
        position = e.instruction(position).operands[0];
    }
    position
}

/// Whether XLA combines an operation with the one that computes its operand, and other values may result.
fn is_combined(e: &Emitter, position: usize, operand: usize) -> bool {
    let [outer, inner] = [position, operand].map(|at| e.instruction(at).op);
    match (outer, inner) {
        (Op::Unary(UnaryOp::Log), inner) => binary_op(inner) == Some(BinaryOp::Power),
        (Op::Compare(CompareOp::Ge | CompareOp::Le), inner) => is_never_negative(inner) && has_constant(e, position),
        _ => {
            let [Some(outer), Some(inner)] = [outer, inner].map(binary_op) else { return false };
            let are_quotients = [outer, inner] == [BinaryOp::Divide; 2];
            let has_constants = has_constant(e, position) && has_constant(e, operand);
            are_quotients || (has_constants && group(outer).is_some() && group(outer) == group(inner))
        }
    }
}

/// Operation of two operands, one of which may be a scalar.
fn binary_op(op: Op) -> Option<BinaryOp> {
    match op {
        Op::Binary(op) | Op::BinaryScalar(op) | Op::ScalarBinary(op) => Some(op),
        _ => None,
    }
}

/// Operations that XLA combines with each other: the operation with which constants are combined.
fn group(op: BinaryOp) -> Option<BinaryOp> {
    match op {
        BinaryOp::Add | BinaryOp::Subtract => Some(BinaryOp::Add),
        BinaryOp::Multiply | BinaryOp::Divide => Some(BinaryOp::Multiply),
        _ => None,
    }
}

/// Whether one operand is a constant for XLA.
fn has_constant(e: &Emitter, position: usize) -> bool {
    let value = e.instruction(position);
    let has_scalar = matches!(value.op, Op::BinaryScalar(_) | Op::ScalarBinary(_));
    has_scalar || value.operands.iter().any(|&operand| e.folded[operand] != Folded::No)
}

/// Whether XLA knows that a value is not negative, and forgets that it may be NaN.
fn is_never_negative(op: Op) -> bool {
    matches!(op, Op::Unary(UnaryOp::Abs | UnaryOp::Exponential | UnaryOp::Sqrt | UnaryOp::Logistic))
        || matches!(binary_op(op), Some(BinaryOp::Multiply | BinaryOp::Power))
}
