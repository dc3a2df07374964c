//! The logarithm of the gamma function and its first two derivatives.
//!
//! For positive numbers each function has two approximations. Beyond 8, Stirling's asymptotic series with coefficients
//! adjusted to that range. Below 8, a polynomial in `(x - c) / (x + c)`, which maps the poles at 0 and below to values
//! outside the interval (-1, 1). All were computed with mpmath by interpolating the true functions at Chebyshev nodes;
//! their error is below 2e-9 in f32 and 4e-18 in f64. Small numbers use the recurrences `lgamma(x) = lgamma(x + 1) -
//! log(x)`, `digamma(x) = digamma(x + 1) - 1 / x` and `trigamma(x) = trigamma(x + 1) + 1 / x^2`, negative numbers the
//! reflection formulas.
//!
//! Results of positive numbers have a small relative error, also near the zeros. Results of negative numbers near
//! zeros of lgamma and digamma have a small error relative to the terms of the reflection formula only.

// Coefficients have the digits with which they were computed.
#![allow(clippy::excessive_precision)]

use crate::elementwise::formula::Expr;
use std::f64::consts::{FRAC_1_PI, PI};

/// Coefficients for one dtype.
struct Tables {
    /// `lgamma(x) (x + 2) / ((x - 1) (x - 2))` in `(x - 2) / (x + 2)`, for x in [0.5, 8].
    lgamma: &'static [f64],
    /// `x (lgamma(x) - (x - 1/2) log(x) + x - log(2 pi) / 2)` in `1 / x^2`, for x >= 8.
    lgamma_tail: &'static [f64],
    /// `(digamma(x) - value_at_root) / p` in `p = (x - root) / (x + root)`, for x in [0.5, 8].
    digamma: &'static [f64],
    /// `x^2 (log(x) - 1 / (2x) - digamma(x))` in `1 / x^2`, for x >= 8.
    digamma_tail: &'static [f64],
    /// Number of the dtype nearest to the positive zero of digamma, and the value of digamma there.
    root: f64,
    value_at_root: f64,
    /// `x trigamma(x)` in `(x - 3) / (x + 3)`, for x in [1, 8].
    trigamma: &'static [f64],
    /// `x^3 (trigamma(x) - 1 / x - 1 / (2 x^2))` in `1 / x^2`, for x >= 8.
    trigamma_tail: &'static [f64],
    /// Below this size, lgamma is -log|x| and digamma is -1 / x to all bits.
    tiny: f64,
}

const TABLES_F32: Tables = Tables {
    lgamma: &LGAMMA_F32,
    lgamma_tail: &LGAMMA_TAIL_F32,
    digamma: &DIGAMMA_F32,
    digamma_tail: &DIGAMMA_TAIL_F32,
    root: 1.4616321325302124,
    value_at_root: -1.203605255e-08,
    trigamma: &TRIGAMMA_F32,
    trigamma_tail: &TRIGAMMA_TAIL_F32,
    tiny: 1e-10,
};
const TABLES_F64: Tables = Tables {
    lgamma: &LGAMMA_F64,
    lgamma_tail: &LGAMMA_TAIL_F64,
    digamma: &DIGAMMA_F64,
    digamma_tail: &DIGAMMA_TAIL_F64,
    root: 1.4616321449683622,
    value_at_root: -9.241265521729427e-17,
    trigamma: &TRIGAMMA_F64,
    trigamma_tail: &TRIGAMMA_TAIL_F64,
    tiny: 1e-20,
};

fn tables(x: Expr) -> &'static Tables {
    if x.is_double() { &TABLES_F64 } else { &TABLES_F32 }
}

/// From here on, all f32 and f64 are integers.
const ALL_WHOLE: f64 = 9007199254740992.0;

/// The logarithm of the size of the gamma function. It is infinite at 0, at negative integers and at both infinities.
/// Negative numbers: `lgamma(-a) = log(pi / |sin(pi a)|) - lgamma(1 + a)`.
pub fn lgamma(x: Expr) -> Expr {
    let size = x.abs();
    let log = size.log();
    let is_small = is_small(x);
    let regular = lgamma_from_half(is_small.select(size + 1.0, size), log);
    // At 1, where the first term is -0, the sum is 0.
    let positive = regular + is_small.select(-log, 0.0);

    let (_, distance) = from_integers(size.min(ALL_WHOLE));
    let log_of_sine = (sine_of_pi(distance) * FRAC_1_PI).log();
    let negative = -(log_of_sine + (regular + is_small.select(0.0, log)));

    let is_negative = x.lt(0.0);
    let result = is_negative.select(negative, positive);
    let result = size.lt(tables(x).tiny).select(-log, result);
    is_negative_integer(is_negative, distance).select(f64::INFINITY, result)
}

/// Coefficients of the rest of Stirling's formula for lgamma, times `x`, in `1 / x^2`, for `x >= 8`.
pub fn stirling(x: Expr) -> &'static [f64] {
    tables(x).lgamma_tail
}

/// lgamma of `x >= 1/2`. `log` is its logarithm, used beyond 8 only.
fn lgamma_from_half<'f>(x: Expr<'f>, log: Expr<'f>) -> Expr<'f> {
    let argument = argument(x, 2.0);
    let near = (x - 1.0) * argument * argument.polynomial(tables(x).lgamma);
    let inverse = 1.0 / x;
    let rest = (inverse * inverse).polynomial(tables(x).lgamma_tail) * inverse + HALF_LOG_OF_2_PI_OVER_E;
    let far = (x - 0.5) * (log - 1.0) + rest;
    x.lt(8.0).select(near, far)
}

/// The digamma function, the derivative of lgamma. It is -inf at 0, inf at -0, and NaN at negative integers and at
/// -inf. Negative numbers: `digamma(-a) = digamma(1 + a) + pi / tan(pi a)`.
pub fn digamma(x: Expr) -> Expr {
    let size = x.abs();
    let is_small = is_small(x);
    let regular = digamma_from_half(is_small.select(size + 1.0, size));
    let inverse = 1.0 / size;
    let positive = regular - is_small.select(inverse, 0.0);

    let (part, distance) = from_integers(size);
    let negative = cotangent_of_pi(part, distance) + (regular + is_small.select(0.0, inverse));

    let is_negative = x.lt(0.0);
    let result = is_negative.select(negative, positive);
    let result = is_negative_integer(is_negative, distance).select(f64::NAN, result);
    size.lt(tables(x).tiny).select(-1.0 / x, result)
}

/// digamma of `x >= 1/2`.
fn digamma_from_half(x: Expr) -> Expr {
    let argument = argument(x, tables(x).root);
    let near = argument * argument.polynomial(tables(x).digamma) + tables(x).value_at_root;
    let inverse = 1.0 / x;
    let square = inverse * inverse;
    let far = x.log() - (inverse * 0.5 + square.polynomial(tables(x).digamma_tail) * square);
    x.lt(8.0).select(near, far)
}

/// The trigamma function, the derivative of digamma. It is infinite at 0 and at negative integers, and NaN at -inf.
/// Negative numbers: `trigamma(-a) = (pi / sin(pi a))^2 - trigamma(1 + a)`.
pub fn trigamma(x: Expr) -> Expr {
    let size = x.abs();
    let is_small = size.lt(1.0);
    let regular = trigamma_from_one(is_small.select(size + 1.0, size));
    let inverse = 1.0 / size;
    let square = inverse * inverse;
    let positive = regular + is_small.select(square, 0.0);

    let (_, distance) = from_integers(size);
    let share = PI / sine_of_pi(distance);
    let negative = share * share - (regular - is_small.select(0.0, square));
    x.lt(0.0).select(negative, positive)
}

/// trigamma of `x >= 1`.
fn trigamma_from_one(x: Expr) -> Expr {
    let near = argument(x, 3.0).polynomial(tables(x).trigamma) / x;
    let inverse = 1.0 / x;
    let series = (inverse * inverse).polynomial(tables(x).trigamma_tail);
    let far = inverse + (series * inverse + 0.5) * inverse * inverse;
    x.lt(8.0).select(near, far)
}

/// Whether lgamma and digamma are computed from their values at `1 + |x|`, not at `|x|`: below 1/2, where the range of
/// the polynomials starts, and above -1, since reflection there would lose bits.
fn is_small(x: Expr) -> Expr {
    x.lt(0.5) & x.gt(-1.0)
}

/// `(x - c) / (x + c)`.
fn argument(x: Expr, c: f64) -> Expr {
    (x - c) / (x + c)
}

/// The fractional part of `a >= 0`, and the distance to the nearest integer. Both are exact.
fn from_integers(a: Expr) -> (Expr, Expr) {
    let part = a - a.floor();
    (part, part.min(1.0 - part))
}

/// `sin(pi d)` for `0 <= d <= 1/2`.
fn sine_of_pi(d: Expr) -> Expr {
    (d * PI).sin()
}

/// `pi / tan(pi part)` for a part in [0, 1) at this distance from an integer. Beyond a distance of 1/4 it is
/// `pi tan(pi (1/2 - distance))`, which is accurate near 0 too.
fn cotangent_of_pi<'f>(part: Expr<'f>, distance: Expr<'f>) -> Expr<'f> {
    let is_far = distance.gt(0.25);
    let tangent = (is_far.select(0.5 - distance, distance) * PI).tan();
    let size = is_far.select(tangent, 1.0 / tangent);
    size * part.gt(0.5).select(part.number(-PI), PI)
}

fn is_negative_integer<'f>(is_negative: Expr<'f>, distance: Expr<'f>) -> Expr<'f> {
    is_negative & distance.eq(0.0)
}

/// `log(2 pi) / 2 - 1/2`.
const HALF_LOG_OF_2_PI_OVER_E: f64 = 0.41893853320467274;

const LGAMMA_F32: [f64; 17] = [
    1.69113734, 0.08606051285, 0.590743689, 0.03483387707, 0.366590999, 0.01795665421, 0.2670629014, 0.01088896855,
    0.2137881033, 0.006648668354, 0.1452236822, 0.007979408833, 0.2873415674, -0.003633854917, -0.2385430294,
    0.01239550357, 0.5632701869,
];
const LGAMMA_F64: [f64; 35] = [
    1.6911373403938685, 0.08606051360420582, 0.590743726568516, 0.034833777783751164, 0.36658601839683624,
    0.017960456322214324, 0.2672533545527586, 0.010824320412300059, 0.21055789472247255, 0.007222540264280033,
    0.17378475316358305, 0.005161655438180685, 0.14797535709954118, 0.0038734344351081056, 0.12887542179811734,
    0.00301147518993933, 0.11385940754239787, 0.0024380604694181564, 0.10500589887427594, 0.001785049208497322,
    0.07375515841568264, 0.002690316300411862, 0.19017500977661891, -0.002891699860582346, -0.3525402118886673,
    0.014160518447525665, 1.3729901068832902, -0.027195005205748354, -2.7541022531744037, 0.043115393113762564,
    4.2626476781410085, -0.03863808015051568, -3.8359937332595653, 0.01886458186413883, 1.8253600531527225,
];
const LGAMMA_TAIL_F32: [f64; 3] = [0.08333333326, -0.002777698545, 0.000780034719];
const LGAMMA_TAIL_F64: [f64; 6] = [
    0.0833333333333333, -0.002777777777606244, 0.0007936506649488252, -0.0005952025951802712, 0.0008372834512071336,
    -0.0016526004455595122,
];
const DIGAMMA_F32: [f64; 18] = [
    2.828761725, -0.9548594837, 1.71902, -1.121540599, 1.568834701, -1.201733037, 1.513591595, -1.245137832,
    1.445126326, -1.235052819, 1.72400925, -1.604321054, 0.3590334644, 0.3132667174, 3.472316666, -5.218718274,
    0.8465735457, 1.713921243,
];
const DIGAMMA_F64: [f64; 38] = [
    2.828761719479916, -0.9548594774081384, 1.7190189540107004, -1.1215399939743127, 1.5689152703813731,
    -1.2017805056112651, 1.5112117852236793, -1.2433370487075412, 1.4794452641585245, -1.2683334610374912,
    1.4592417042144925, -1.2850005424248958, 1.4452789619286177, -1.2969000767724008, 1.4345277917569659,
    -1.3057294274765794, 1.43427150330536, -1.317099158603047, 1.3425268915115645, -1.2420488333105069,
    2.052007278730291, -2.1744826314890666, -2.3496388234313166, 5.238960599244267, 17.15625296004121,
    -37.22506567500622, -41.753193133996, 137.5188936595445, 59.62324181595327, -370.97234474269743, 53.96421201665432,
    631.7886043817929, -377.84832079834433, -590.9311448707949, 649.9559959799169, 129.52643464028765,
    -408.5225269522943, 146.64158258493828,
];
const DIGAMMA_TAIL_F32: [f64; 3] = [0.08333333286, -0.008332783541, 0.003873588262];
const DIGAMMA_TAIL_F64: [f64; 7] = [
    0.08333333333333333, -0.008333333333278636, 0.0039682539119537084, -0.0041666448230497, 0.007571689620283902,
    -0.020697987372370493, 0.06362150587634356,
];
const TRIGAMMA_F32: [f64; 16] = [
    1.1848022, -0.4044440981, 0.4701868171, -0.5264714651, 0.5712121095, -0.6043143807, 0.6283573767, -0.6469294058,
    0.6415109026, -0.6090104002, 0.760832532, -1.006022324, 0.1932777309, 0.5880196856, 1.755715675, -2.759475456,
];
const TRIGAMMA_F64: [f64; 31] = [
    1.1848022005446792, -0.40444411265603564, 0.4701865822619521, -0.5264686096173631, 0.5712326261668024,
    -0.6044740335135921, 0.627673461892685, -0.6430109501385235, 0.6526996841256768, -0.6585983513569174,
    0.662086746162426, -0.6641025962880243, 0.6652375778215505, -0.6658887356989799, 0.6664369203623903,
    -0.6664275993655047, 0.6638580349131474, -0.6668304426470086, 0.6934481960280973, -0.6633634600516713,
    0.4728408464105762, -0.6974373541763256, 1.6735659780683396, -0.4755283265596217, -3.011240130145361,
    -1.4396602119310038, 9.687893741320707, 1.243625074060152, -12.856038058390842, -3.088797080658101,
    10.454390230003808,
];
const TRIGAMMA_TAIL_F32: [f64; 3] = [0.1666666629, -0.0333289778, 0.02305793246];
const TRIGAMMA_TAIL_F64: [f64; 7] = [
    0.16666666666666652, -0.03333333333249287, 0.023809522943893217, -0.03333299706371194, 0.07569481310235808,
    -0.24699740954161503, 0.8586880107331692,
];
