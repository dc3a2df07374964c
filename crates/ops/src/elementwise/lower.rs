//! Lowerings of elementwise functions: by formulas where XLA's own function is inaccurate or wrong.

use crate::elementwise::formula::{Expr, record};
use crate::elementwise::functions::complex;
use crate::elementwise::integers::{integer_division, integer_power};
use crate::elementwise::reducers;
use crate::emit::{Emitter, emit, mlir};
use base::types::{DType, Kind, Scalar, ScalarValue, TensorType, float_limits};
use ir::{BinaryOp, Op, Trace, UnaryOp, take_closed_body};
use std::f64::consts::PI;

/// Writes a formula of named values. Returns the name of its result.
pub fn write_formula<const N: usize>(
    e: &mut Emitter,
    operands: [(&str, &TensorType); N],
    formula: impl for<'f> FnOnce([Expr<'f>; N]) -> Expr<'f>,
) -> String {
    let mut trace = Trace::new();
    let parameters = operands.map(|(_, ty)| trace.parameter(ty.clone()));
    let body = record(&mut trace, parameters, formula)
        .and_then(|result| take_closed_body(&trace, &parameters, &[], &[result]))
        .expect("the operands of a recorded operation fit its formula");
    let (values, results) = body.decode();
    let prefix = format!("{}_", e.temporary().trim_start_matches('%'));
    let names = operands.map(|(name, _)| name.to_string());
    e.write_out(&values, body.scalars(), &prefix, &names, &results).swap_remove(0)
}

/// Writes an operation of one operand.
pub fn unary(e: &mut Emitter, at: usize) {
    let value = e.instruction(at);
    let Op::Unary(op) = value.op else { return };
    let x = value.operands[0];
    let (name, ty) = (e.name(x), e.values[x].ty.clone());
    if !is_wide(op) || !matches!(ty.dtype, DType::F16 | DType::BF16) {
        return match by_formula(e, op, &name, &ty) {
            Some(made) => e.rename(at, made),
            None => e.one_operand(at, op.name(), ""),
        };
    }
    let wide = TensorType { dtype: DType::F32, dims: ty.dims.clone() };
    let operand = e.cast(x, &wide);
    let result = by_formula(e, op, &operand, &wide).unwrap_or_else(|| {
        let result = e.temporary();
        e.elementwise(&result, op.name(), &[&operand], &wide);
        result
    });
    emit!(e, "    {} = stablehlo.convert {result} : ({}) -> {}", e.name_of(at), mlir(&wide), mlir(&ty));
}

/// True if 16-bit floats are computed in f32 and rounded once. XLA rounds some of these functions after each step: the
/// logistic function of f16 -11.09 would be 0.
pub fn is_wide(op: UnaryOp) -> bool {
    use UnaryOp::*;
    match op {
        Exponential | ExponentialMinusOne | Log | LogPlusOne | Logistic | Tanh | Sqrt | Rsqrt | Cbrt | Sine
        | Cosine | Tan => true,
        Negate | Abs | Sign | Floor | Ceil | RoundNearestEven | RoundNearestAfz | Not | Popcnt | CountLeadingZeros
        | IsFinite => false,
    }
}

/// Writes an operation by its formula, if it has one. Returns the name of the result.
fn by_formula(e: &mut Emitter, op: UnaryOp, x: &str, ty: &TensorType) -> Option<String> {
    match (op, ty.dtype) {
        (UnaryOp::Negate, _) => None,
        (_, DType::C64 | DType::C128) => Some(write_formula(e, [(x, ty)], |[z]| {
            complex::formula(op, z).expect("an operation of complex numbers has a formula")
        })),
        (UnaryOp::Cbrt, _) => {
            let near = e.temporary();
            e.elementwise(&near, "cbrt", &[x], ty);
            Some(write_formula(e, [(x, ty), (&near, ty)], |[x, near]| cube_root(x, near)))
        }
        (UnaryOp::LogPlusOne, DType::F64) => Some(write_formula(e, [(x, ty)], |[x]| kahan_log_plus_one(x))),
        _ => None,
    }
}

/// Writes an operation of two operands.
pub fn binary(e: &mut Emitter, at: usize) {
    let value = e.instruction(at);
    let Op::Binary(op) = value.op else { return };
    let lhs = e.cast(value.operands[0], &value.ty);
    let rhs = e.cast(value.operands[1], &value.ty);
    write_binary(e, at, op, &lhs, &rhs, &value.ty);
}

/// Writes an operation of an operand and a scalar.
pub fn binary_with_scalar(e: &mut Emitter, at: usize) {
    let value = e.instruction(at);
    let mut scalar = e.temporary();
    let is_misread = is_misread(value.op, e.next_scalar());
    e.scalar(&scalar, &value.ty);
    let x = e.name(value.operands[0]);
    if is_misread && !e.platform.is_empty() {
        let ty = &value.ty;
        scalar = write_formula(e, [(&scalar, ty), (&x, ty)], |[scalar, x]| disguised(scalar, x));
    }
    match value.op {
        Op::ScalarBinary(op) => write_binary(e, at, op, &scalar, &x, &value.ty),
        Op::BinaryScalar(op) => write_binary(e, at, op, &x, &scalar, &value.ty),
        _ => {}
    }
}

/// Whether XLA's simplifier gives another value for an operation with a scalar: a division by a float whose inverse, by
/// which it multiplies instead, is subnormal and has lost digits, or is flushed to 0; or the sum of a zero and -0, for
/// which it takes the operand.
fn is_misread(op: Op, scalar: Scalar) -> bool {
    let dtype = scalar.dtype();
    if dtype.kind() != Kind::Float {
        return false;
    }
    let bits = |value| Scalar::new(dtype, ScalarValue::Float(value)).map_or(u128::MAX, |scalar| scalar.bits());
    match op {
        Op::BinaryScalar(BinaryOp::Add) | Op::ScalarBinary(BinaryOp::Add) => scalar.bits() == bits(0.0),
        Op::BinaryScalar(BinaryOp::Subtract) => scalar.bits() == bits(-0.0),
        Op::BinaryScalar(BinaryOp::Divide) => {
            let limit = 1.0 / float_limits(dtype).expect("the limits of a float").smallest_normal;
            // The bits of positive floats are in their order.
            let size = scalar.bits() & !bits(-0.0);
            bits(limit) < size && size < bits(f64::INFINITY)
        }
        _ => false,
    }
}

fn write_binary(e: &mut Emitter, at: usize, op: BinaryOp, lhs: &str, rhs: &str, ty: &TensorType) {
    let name = e.name_of(at);
    if matches!(op, BinaryOp::Divide | BinaryOp::Remainder) && ty.dtype.is_integer() {
        return integer_division(e, &name, op, lhs, rhs, ty);
    }
    if op == BinaryOp::Power && ty.dtype.is_integer() {
        return integer_power(e, &name, lhs, rhs, ty);
    }
    if op == BinaryOp::Power && ty.dtype.kind() == Kind::Complex {
        let made = complex_power(e, lhs, rhs, ty);
        return e.rename(at, made);
    }
    if op == BinaryOp::Atan2 {
        return atan2(e, &name, lhs, rhs, ty);
    }
    if reducers::is_rewritten(e, op, ty.dtype) {
        return reducers::write(e, &name, op, [lhs, rhs], ty);
    }
    // XLA combines a minimum of a maximum into a clamp, which it may not have for preds.
    let written = match op {
        BinaryOp::Maximum if ty.dtype == DType::Pred => "or",
        BinaryOp::Minimum if ty.dtype == DType::Pred => "and",
        _ => op.name(),
    };
    emit!(e, "    {name} = stablehlo.{written} {lhs}, {rhs} : {}", mlir(ty));
}

/// The cube root. XLA's CPU backend computes `near` as a power of a third, which is off by 14 units in the last place
/// in f32 and by 119 in f64; one Newton step corrects that. Where the correction is not finite, at 0 and infinity,
/// XLA's value is kept.
fn cube_root<'f>(x: Expr<'f>, near: Expr<'f>) -> Expr<'f> {
    let correction = (near - x / (near * near)) * (1.0 / 3.0);
    correction.is_finite().select(near - correction, near)
}

/// `log(1 + x)` in f64 by W. Kahan's formula, `log(u) x / (u - 1)` with `u = 1 + x`: the quotient corrects the rounding
/// error of `u`. XLA's own is off by 122 units in the last place just below 0.41, where it switches to `log(1 + x)` of
/// the sum. The sum is disguised, since XLA's simplifier would replace `u - 1` by `x`.
fn kahan_log_plus_one(x: Expr) -> Expr {
    let sum = disguised(x + 1.0, x);
    let log = sum.log();
    let value = x.gt(1e18).select(log, log * (x / (sum - 1.0)));
    sum.eq(1.0).select(x, value)
}

/// Writes `name = atan2(y, x)`. Computes 16-bit floats in f32 and rounds once.
///
/// One version of XLA's algebraic simplifier replaces atan2 by an arc tangent if `x` is a constant 1, also one that
/// results from folding constants, and its CPU backend then returns unrelated memory for about 60 or more elements.
/// `lammps-jax-pjrt-cpu` 0.11.2 is affected; `xla-cpu-pjrt` 0.0.1 and `fastatomstruct-xla-cpu` 2026.6.23 are not. So
/// `x` is disguised; LLVM removes that. Remove this workaround when that plugin is no longer supported.
///
/// Angles of zeros are selected: where `fastatomstruct-xla-cpu` 2026.6.23 finds out late that both are 0, in the emitter of
/// a fusion, it folds its own quotient 0 / 0 to NaN.
fn atan2(e: &mut Emitter, name: &str, y: &str, x: &str, ty: &TensorType) {
    if matches!(ty.dtype, DType::F16 | DType::BF16) {
        let wide = TensorType { dtype: DType::F32, dims: ty.dims.clone() };
        let [y, x] = [y, x].map(|value| {
            let name = e.temporary();
            e.changing(&name, "convert", &[value], ty, &wide);
            name
        });
        let angle = e.temporary();
        atan2(e, &angle, &y, &x, &wide);
        return e.changing(name, "convert", &[&angle], &wide, ty);
    }
    if e.platform != "cpu" {
        return e.elementwise(name, "atan2", &[y, x], ty);
    }
    let hidden = write_formula(e, [(x, ty), (y, ty)], |[x, y]| disguised(x, y));
    let angle = e.temporary();
    e.elementwise(&angle, "atan2", &[y, &hidden], ty);
    let are_zeros = write_formula(e, [(y, ty), (x, ty)], |[y, x]| y.eq(0.0) & x.eq(0.0));
    let of_zeros = write_formula(e, [(y, ty), (x, ty)], |[y, x]| {
        let bits = x.dtype().bits();
        // y has no bits but its sign.
        let straight = (y.number(PI).bits(bits) | y.bits(bits)).bits(y.dtype());
        x.bits(bits).eq(0.0).select(y, straight)
    });
    e.choose(name, &are_zeros, [&of_zeros, &angle], ty);
}

/// Writes a power of complex numbers. Returns the name of the result.
fn complex_power(e: &mut Emitter, base: &str, exponent: &str, ty: &TensorType) -> String {
    write_formula(e, [(base, ty), (exponent, ty)], |[base, exponent]| complex::power(base, exponent))
}

/// An identity of `x` that XLA's simplifier cannot fold: the bits of `x`, OR-ed with the leading zero count of `other`
/// shifted right by more than its width, which is always 0. LLVM recognizes and removes it.
pub fn disguised<'f>(x: Expr<'f>, other: Expr<'f>) -> Expr<'f> {
    let (dtype, bits) = (x.dtype(), x.dtype().bits());
    let past = (8 * bits.size_bytes()).ilog2() + 1;
    let zero = other.bits(bits).leading_zeros().shift_right_logical(i64::from(past));
    (x.bits(bits) | zero).bits(dtype)
}
