//! The error function and related functions.
//!
//! All are computed from two approximations, made by interpolating the true function (computed with 60 digits) at
//! Chebyshev nodes: of `erf(x) / x` by a polynomial in `x^2`, for `|x| < 1`; and of `(1 + 2a) e^(a^2) erfc(a)`, for
//! `a >= 0`, by a polynomial in `(a - 3) / (a + 3)`, the form of M. Shepherd and J. Laframboise (Chebyshev
//! Approximation of (1 + 2x)exp(x^2)erfc x in 0 <= x < infinity, Mathematics of Computation 36, 1981). Their error is
//! below 1.4e-9 in f32 and 9e-18 in f64.

use crate::definition::Composed;
use crate::elementwise::formula::{Expr, in_wide};
use crate::infer::refuse;
use base::error::Result;
use ir::{NodeId, Op, SpecialOp, Trace};
use std::f64::consts::FRAC_2_SQRT_PI;

/// Table entries of the composed operations.
pub(crate) const COMPOSED: &[Composed] = &[Composed { name: "special", function: "lxla_special", dtypes: "" }];

/// Records a special function of floats.
pub fn special(trace: &mut Trace, op: SpecialOp, x: NodeId) -> Result<NodeId> {
    let ty = trace.ty(x);
    if !ty.dtype.is_float() {
        return Err(refuse(op.name(), "x", &ty, "floats"));
    }
    in_wide(trace, x, |x| x.operation(Op::Special(op)))
}

/// The formula of a special function of f32 or f64.
pub(crate) fn formula(op: SpecialOp, x: Expr) -> Expr {
    match op {
        SpecialOp::Erf => erf(x),
        SpecialOp::Erfc => erfc(x),
        SpecialOp::NormalCdf => normal_cdf(x),
        SpecialOp::Erfcx => erfcx(x),
    }
}

/// erf: a polynomial for |x| < 1, else 1 - erfc, which loses no bits there.
fn erf(x: Expr) -> Expr {
    let coefficients: &[f64] = if x.is_double() { &NEAR_F64 } else { &NEAR_F32 };
    let near = x * (x * x).polynomial(coefficients);
    let size = x.abs();
    let far = (1.0 - gaussian_tail(size, 1.0)) * x.sign();
    size.lt(1.0).select(near, far)
}

fn erfc(x: Expr) -> Expr {
    let tail = gaussian_tail(x.abs(), 1.0);
    x.lt(0.0).select(2.0 - tail, tail)
}

/// The standard normal cumulative distribution function at `x`.
fn normal_cdf(x: Expr) -> Expr {
    let tail = gaussian_tail(x.abs(), 0.5) * 0.5;
    x.lt(0.0).select(tail, 1.0 - tail)
}

/// `erfc(sqrt(scale) a)` for `a >= 0`, as `e^(-scale a^2)` times a slowly varying factor. Rounding the square would
/// lose bits that the exponential needs, so `a` is rounded to a multiple of 1/16, whose square is exact, and the
/// remainder goes into a second exponential. XLA would merge a product of two exponentials into one and lose these
/// bits, so the slow factor is multiplied between them.
fn gaussian_tail(a: Expr, scale: f64) -> Expr {
    let (end, coefficients): (f64, &[f64]) = if a.is_double() { (END_F64, &TAIL_F64) } else { (END_F32, &TAIL_F32) };
    let a = a.min(end / scale.sqrt());
    let z = a * scale.sqrt();
    let slow = ((z - 3.0) / (z + 3.0)).polynomial(coefficients) / (z * 2.0 + 1.0);

    let coarse = (a * 16.0).round() * (1.0 / 16.0);
    let rest = (a - coarse) * (a + coarse);
    (coarse * coarse * -scale).exp() * slow * (rest * -scale).exp()
}

/// `e^(x^2) erfc(x)`. For a negative `x = -a` it is `e^(a^2) (2 - erfc(a))`; the square is split as for the tail, here
/// downwards, so that no power overflows before the result does. From 80 on, `e^s` is `e^(s - 8) e^8`, since XLA's
/// exponential of f32 is less accurate near its overflow.
fn erfcx(x: Expr) -> Expr {
    let size = x.abs();
    let a = size.min(if x.is_double() { END_F64 } else { END_F32 });
    let coarse = (a * 16.0).floor() * (1.0 / 16.0);
    let (square, rest) = (coarse * coarse, (a - coarse) * (a + coarse));
    let is_large = square.gt(80.0);
    let slow = (2.0 - gaussian_tail(a, 1.0)) * is_large.select(a.number(8f64.exp()), 1.0);
    let below = is_large.select(square - 8.0, square).exp() * slow * rest.exp();
    x.lt(0.0).select(below, scaled_complement(size))
}

/// `e^(z^2) erfc(z)` for `z >= 0`, which falls as `1 / (z sqrt(pi))`.
pub fn scaled_complement(z: Expr) -> Expr {
    let coefficients: &[f64] = if z.is_double() { &ERFCX_F64 } else { &ERFCX_F32 };
    let near = z.min(1e30);
    ((near - 3.0) / (near + 3.0)).polynomial(coefficients) * 0.5 / (z + 0.5)
}

/// The derivative of erfcx at `x`, where its value is `y`: `2 x y - 2 / sqrt(pi)`. Its terms cancel for large numbers:
/// it is a function of its own for `x >= 0`, of operations that have derivatives of any order.
pub(crate) fn erfcx_slope<'f>(x: Expr<'f>, y: Expr<'f>) -> Expr<'f> {
    let (end, coefficients): (f64, &[f64]) =
        if x.is_double() { (1e150, &ERFCX_SLOPE_F64) } else { (1e18, &ERFCX_SLOPE_F32) };
    let is_below = x.lt(0.0);
    let below = is_below.select(x, 0.0) * y * 2.0 - FRAC_2_SQRT_PI;
    let a = is_below.select(0.0, x).min(end);
    let by = a * 2.0 + 1.0;
    let above = ((a - 3.0) / (a + 3.0)).polynomial(coefficients) / by / by * -2.0;
    is_below.select(below, above)
}

/// From this argument on, `e^(-a^2)` underflows to 0.
const END_F32: f64 = 11.0;
const END_F64: f64 = 28.0;

/// Coefficients of `(1 + 2a) e^(a^2) erfc(a)` in `(a - 3) / (a + 3)`, for `a` up to the bounds above.
const TAIL_F32: [f64; 12] = [
    1.253008059, -0.1356211087, -0.04756240441, 0.1296452434, -0.1192713771, 0.06830799958, -0.02378773599,
    0.002520801146, 0.001943095161, -0.0007303181188, -0.000165138855, 4.188165159e-05,
];
const TAIL_F64: [f64; 25] = [
    1.2530080582697296, -0.13562110612458114, -0.047562294353450885, 0.12964515870275692, -0.11927366341529412,
    0.06830802734413972, -0.0237705149191233, 0.002529391812930737, 0.0018886903660093953, -0.0007798322389793649,
    -0.00010515985007185607, 0.00012509914192410698, 4.949692873058816e-06, -2.0099719336350727e-05,
    -7.319994916300909e-07, 3.47018936843861e-06, 3.5740689528477796e-07, -6.128658435976342e-07,
    -1.416150470656424e-07, 9.784444456871524e-08, 4.1021252342694524e-08, -1.0890349506249294e-08,
    -7.636882562087531e-09, 3.483752094731445e-10, 5.774514059472329e-10,
];
/// Coefficients of `(1 + 2a) e^(a^2) erfc(a)` in `(a - 3) / (a + 3)`, for all `a >= 0`.
const ERFCX_F32: [f64; 14] = [
    1.253008058, -0.1356211059, -0.04756229258, 0.1296451356, -0.1192736926, 0.06830839969, -0.02377032915,
    0.002527115521, 0.001888102396, -0.0007731099389, -0.000104121541, 0.000114629957, 3.858826871e-06,
    -1.148164147e-05,
];
const ERFCX_F64: [f64; 27] = [
    1.2530080582697296, -0.13562110612458123, -0.047562294353451176, 0.1296451587027649, -0.11927366341527554,
    0.06830802734383974, -0.023770514919609846, 0.0025293918181241806, 0.001888690372865711, -0.0007798322890919704,
    -0.00010515990906392902, 0.00012509943856881694, 4.9500234180295395e-06, -2.0100852729251828e-05,
    -7.332447173064987e-07, 3.4730449918834743e-06, 3.6059375955111935e-07, -6.175922646727533e-07,
    -1.4710961394997167e-07, 1.0280982449402661e-07, 4.72080673199222e-08, -1.3924844635302213e-08,
    -1.1887923223951075e-08, 1.2087504427200233e-09, 2.115962671989073e-09, -3.5596455016217064e-11,
    -1.963916858054108e-10,
];
/// Coefficients of `(1 + 2a)^2 (1 / sqrt(pi) - a e^(a^2) erfc(a))` in `(a - 3) / (a + 3)`, for all `a >= 0`.
const ERFCX_SLOPE_F32: [f64; 15] = [
    1.33212037, -0.1027352759, -0.3468042017, 0.4331375382, -0.2359652148, 0.00964058479, 0.08444424231,
    -0.06276866243, 0.01585291099, 0.004981386516, -0.003942347146, -0.0001475622065, 0.0006485599806,
    -1.321743844e-05, -6.994523713e-05,
];
const ERFCX_SLOPE_F64: [f64; 29] = [
    1.3321203701757354, -0.10273528039965173, -0.3468042144196784, 0.43313770739524815, -0.23596473706677298,
    0.009638746656920287, 0.0844390105420652, -0.06275982676803157, 0.01587845645432554, 0.0049594866794941414,
    -0.004007518389861983, -0.00011836822587001983, 0.00074065149023344, -3.2913524893757055e-05,
    -0.0001417048792719665, 4.510011218627208e-06, 2.9135036860617607e-05, 1.5872767615761905e-06,
    -6.073809231080558e-06, -1.2346140905239423e-06, 1.157281918836668e-06, 4.920075438456049e-07,
    -1.6952238049346454e-07, -1.3821565794596282e-07, 1.0895007525354719e-08, 2.5941084007076445e-08,
    1.960560795445795e-09, -2.4461969546067603e-09, -4.278759728033271e-10,
];
/// Coefficients of `erf(x) / x` in `x^2`.
const NEAR_F32: [f64; 7] =
    [1.128379166, -0.3761262667, 0.1128359472, -0.02685421201, 0.005189087423, -0.0008016864287, 7.875875063e-5];
const NEAR_F64: [f64; 12] = [
    std::f64::consts::FRAC_2_SQRT_PI,
    -0.37612638903183543,
    0.11283791670945006,
    -0.02686617064323777,
    0.0052239776071164225,
    -0.0008548325975389692,
    0.00012055294904839707,
    -1.492473690741966e-05,
    1.6447424703317362e-06,
    -1.6208483801871705e-07,
    1.3720064546777686e-08,
    -7.795898827002142e-10,
];

#[cfg(test)]
mod tests {
    use super::*;
    use base::types::{DType, TensorType};

    #[test]
    fn only_floats_are_taken() {
        let mut trace = Trace::new();
        let x = trace.parameter(TensorType::new(DType::S32, &[2]));
        let e = special(&mut trace, SpecialOp::Erf, x).unwrap_err();
        assert!(e.message.contains("x: erf takes floats, not s32[2]"), "{e}");
    }
}
