//! Keeps XLA's algebraic simplifier from combining operations on floats where that changes values by more than rounding
//! (`docs/xla-workarounds.md`, "Combined constants and quotients"). It treats floats as real numbers: `(x + 1e20) - 1e20`
//! becomes `x`, `(x * 1e30) * 1e30` becomes `x * infinity`, `(a / b) / c` becomes `a / (b c)`, the logarithm of a power of
//! a negative number a number, and `abs(x) >= 0` true, also of NaN.

use crate::elementwise::lower::{disguised, write_formula};
use crate::emit::{Chain, Emitter, Extent, Folded, emit, mlir};
use base::types::{DType, Kind, TensorType, float_limits};
use ir::{BinaryOp, CompareOp, Op, UnaryOp};

/// Number of values of a function that are disguised.
const MOST_DISGUISES: usize = 100;

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
    let mut chain = None;
    for (i, &operand) in value.operands.iter().enumerate() {
        let ty = &e.instruction(operand).ty;
        if ty.dtype.kind() != Kind::Float {
            continue;
        }
        let inner = source(e, operand);
        let alone = combined(e, position, None);
        let before =
            e.chains.get(&inner).copied().filter(|inner| alone.is_some_and(|own| own.is_product == inner.is_product));
        let all = combined(e, position, before);
        chain = all;
        // An operation with one constant is not changed.
        let is_lossy = before.is_some() && all.is_some_and(|chain| is_lossy(chain, ty.dtype));
        let is_factored = i == 0 && has_common_factor(e, position);
        if is_lossy || is_factored || is_misread(e, position, inner) {
            let name = e.name(operand);
            let kept = kept_apart(e, &name, ty);
            e.rename(operand, kept);
            chain = alone;
        }
        if may_be_zero(e, position, operand) {
            let (name, kept) = (e.name(operand), e.temporary());
            emit!(e, "    {kept} = stablehlo.optimization_barrier {name} : {}", mlir(ty));
            e.rename(operand, kept);
        }
    }
    if let Some(chain) = chain {
        e.chains.insert(position, chain);
    }
}

/// Returns the constant that an operation with a constant and the constant of its operand are combined to. Without an
/// operand's, the operation's own.
fn combined(e: &Emitter, position: usize, inner: Option<Chain>) -> Option<Chain> {
    let op = e.instruction(position).op;
    let binary = binary_op(op)?;
    let is_product = match binary {
        BinaryOp::Multiply | BinaryOp::Divide => true,
        BinaryOp::Add | BinaryOp::Subtract => false,
        _ => return None,
    };
    let is_first = matches!(op, Op::ScalarBinary(_));
    let constant = match op {
        Op::Binary(_) if has_constant(e, position) => f64::NAN,
        Op::Binary(_) => return None,
        _ => e.next_constant()?,
    };
    let before = inner.map_or(if is_product { 1.0 } else { 0.0 }, |inner| inner.value);
    let (left, right) = if is_first { (constant, before) } else { (before, constant) };
    let value = match binary {
        BinaryOp::Multiply => left * right,
        BinaryOp::Divide => left / right,
        BinaryOp::Add => left + right,
        _ => left - right,
    };
    let largest = inner.map_or(0.0, |inner| inner.largest).max(constant.abs());
    Some(Chain { is_product, value, largest })
}

/// Whether a combined constant changes values: a factor so far from 1 that it, or a part of its factors, may overflow or
/// underflow in the dtype, or a sum that is much less than its summands.
fn is_lossy(chain: Chain, dtype: DType) -> bool {
    // A part of a chain may be as far from 1 as the square of the limit.
    let limit = float_limits(dtype).map_or(1.0, |limits| limits.max.powf(0.3));
    let size = chain.value.abs();
    let is_kept = if chain.is_product { size <= limit && size >= 1.0 / limit } else { size >= chain.largest / 2.0 };
    !is_kept
}

/// Whether XLA takes a constant factor out of a sum, which it does with powers of 2: `x * 0.5 + y * 0.5` becomes
/// `(x + y) * 0.5`, whose sum may overflow.
fn has_common_factor(e: &Emitter, position: usize) -> bool {
    let value = e.instruction(position);
    let factor = |operand: usize| e.chains.get(&source(e, operand)).filter(|chain| chain.is_product);
    match (value.op, &value.operands[..]) {
        (Op::Binary(BinaryOp::Add | BinaryOp::Subtract), &[left, right]) => match (factor(left), factor(right)) {
            (Some(left), Some(right)) => left.value == right.value || left.value.is_nan() || right.value.is_nan(),
            _ => false,
        },
        _ => false,
    }
}

/// Writes a value so that XLA does not combine it with its user. Beyond [`MOST_DISGUISES`], it stays as it is: XLA's fusion
/// takes memory by the square of the operations that it cannot combine.
fn kept_apart(e: &mut Emitter, name: &str, ty: &TensorType) -> String {
    e.disguises += 1;
    if e.disguises > MOST_DISGUISES {
        return name.to_string();
    }
    write_formula(e, [(name, ty)], |[x]| disguised(x, x))
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

/// Whether XLA combines an operation with the one that computes its operand by a rule that does not hold for floats.
fn is_misread(e: &Emitter, position: usize, operand: usize) -> bool {
    let [outer, inner] = [position, operand].map(|at| e.instruction(at).op);
    match outer {
        Op::Unary(UnaryOp::Log) => binary_op(inner) == Some(BinaryOp::Power),
        Op::Compare(CompareOp::Ge | CompareOp::Le) => is_never_negative(inner) && has_constant(e, position),
        // A chain of divisions by constants is a chain of constants.
        Op::BinaryScalar(_) if e.chains.contains_key(&operand) && e.next_constant().is_some() => false,
        _ => [outer, inner].map(binary_op) == [Some(BinaryOp::Divide); 2],
    }
}

/// Operation of two operands, one of which may be a scalar.
fn binary_op(op: Op) -> Option<BinaryOp> {
    match op {
        Op::Binary(op) | Op::BinaryScalar(op) | Op::ScalarBinary(op) => Some(op),
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
