//! Functions of floats, written out where XLA's own are off by more than a few units in the last place.

use crate::emit::Emitter;
use crate::ir::UnaryOp;
use crate::ops::elementwise::builder::Steps;
use crate::types::{DType, TensorType};

/// Writes `name = op(x)` for a real `x` of this type.
pub fn function(e: &mut Emitter, name: &str, op: UnaryOp, x: &str, ty: &TensorType) {
    match (op, ty.dtype) {
        (UnaryOp::Cbrt, _) => cube_root(e, name, x, ty),
        (UnaryOp::LogPlusOne, DType::F64) => kahan_log_plus_one(&mut Steps::of(e, ty), name, x),
        _ => e.elementwise(name, op.name(), &[x], ty),
    }
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

/// Writes the cube root. XLA's CPU backend computes a power of a third, which is off by 14 units in the last place in
/// f32 and by 119 in f64; one Newton step corrects that. Where the correction is not finite, at 0 and infinity, XLA's
/// value is kept.
fn cube_root(e: &mut Emitter, name: &str, x: &str, ty: &TensorType) {
    let mut s = Steps::of(e, ty);
    let near = s.step("cbrt", &[x]);
    let square = s.step("multiply", &[&near, &near]);
    let other = s.step("divide", &[x, &square]);
    let difference = s.step("subtract", &[&near, &other]);
    let third = s.constant(1.0 / 3.0);
    let correction = s.step("multiply", &[&difference, &third]);
    let better = s.step("subtract", &[&near, &correction]);
    let is_finite = s.is_finite(&correction);
    s.select(name, &is_finite, &better, &near);
}

/// Writes `log(1 + x)` for a part of a complex number.
pub fn log_plus_one(s: &mut Steps, x: &str) -> String {
    if s.dtype() != DType::F64 {
        return s.step("log_plus_one", &[x]);
    }
    let name = s.e.temporary();
    kahan_log_plus_one(s, &name, x);
    name
}

/// Writes `log(1 + x)` in f64 by W. Kahan's formula, `log(u) x / (u - 1)` with `u = 1 + x`: the quotient corrects the
/// rounding error of `u`. XLA's own is off by 122 units in the last place just below 0.41, where it switches to
/// `log(1 + x)` of the sum. The sum passes through an identity that XLA's simplifier cannot fold, since it would
/// replace `u - 1` by `x`.
fn kahan_log_plus_one(s: &mut Steps, name: &str, x: &str) {
    let one = s.constant(1.0);
    let sum = s.step("add", &[x, &one]);
    let sum = s.disguised(&sum, x);
    let log = s.step("log", &[&sum]);
    let rest = s.step("subtract", &[&sum, &one]);
    let share = s.step("divide", &[x, &rest]);
    let value = s.step("multiply", &[&log, &share]);
    let (is_tiny, is_far) = (s.compare("EQ", &sum, &one), s.compare_with("GT", x, 1e18));
    let value = s.choose(&is_far, &log, &value);
    s.select(name, &is_tiny, x, &value);
}
