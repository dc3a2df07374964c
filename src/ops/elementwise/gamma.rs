//! The logarithm of the gamma function and its first two derivatives.
//!
//! For positive numbers each function has two approximations. Beyond 8, Stirling's asymptotic series with coefficients
//! adjusted to that range. Below 8, a polynomial in `(x - c) / (x + c)`, which maps the poles at 0 and below to values
//! outside the interval (-1, 1). All were computed with mpmath by interpolating the true functions at Chebyshev nodes;
//! their error is below 2e-9 in f32 and 4e-18 in f64. Small numbers use the recurrences `lgamma(x) = lgamma(x + 1) -
//! log(x)`, `digamma(x) = digamma(x + 1) - 1 / x` and `trigamma(x) = trigamma(x + 1) + 1 / x^2`, negative numbers the
//! reflection formulas.
//!
//! Results of positive numbers have a small relative error, also beside the zeros. Results of negative numbers beside
//! zeros of lgamma and digamma have a small error relative to the terms of the reflection formula only.

// Coefficients have the digits with which they were computed.
#![allow(clippy::excessive_precision)]

use crate::error::Result;
use crate::ir::{BinaryOp, CompareOp, NodeId, UnaryOp};
use crate::ops::elementwise::formula::Formula;
use crate::types::DType;

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

fn tables(f: &Formula, x: NodeId) -> &'static Tables {
    if f.trace.node(x).dtype == DType::F64 { &TABLES_F64 } else { &TABLES_F32 }
}

/// From here on, all f32 and f64 are integers.
const ALL_WHOLE: f64 = 9007199254740992.0;

/// Records the logarithm of the size of the gamma function. It is infinite at 0, at negative integers and at both
/// infinities. Negative numbers: `lgamma(-a) = log(pi / |sin(pi a)|) - lgamma(1 + a)`.
pub fn lgamma(f: &mut Formula, x: NodeId) -> Result<NodeId> {
    let size = f.unary(UnaryOp::Abs, x)?;
    let log = f.unary(UnaryOp::Log, size)?;
    let is_small = is_small(f, x)?;
    let above = f.plus(size, 1.0)?;
    let shifted = f.select(is_small, above, size)?;
    let regular = lgamma_from_half(f, shifted, log)?;
    let zero = f.scalar(x, 0.0)?;
    let opposite = f.unary(UnaryOp::Negate, log)?;
    let (of_small, of_others) = (f.select(is_small, opposite, zero)?, f.select(is_small, zero, log)?);
    // At 1, where the first term is -0, the sum is 0.
    let positive = f.add(regular, of_small)?;

    let bounded = f.at_most(size, ALL_WHOLE)?;
    let (_, distance) = from_integers(f, bounded)?;
    let sine = sine_of_pi(f, distance)?;
    let share = f.times(sine, std::f64::consts::FRAC_1_PI)?;
    let log_of_sine = f.unary(UnaryOp::Log, share)?;
    let more = f.add(regular, of_others)?;
    let sum = f.add(log_of_sine, more)?;
    let negative = f.unary(UnaryOp::Negate, sum)?;

    let is_negative = f.compare(CompareOp::Lt, x, 0.0)?;
    let result = f.select(is_negative, negative, positive)?;
    let is_tiny = f.compare(CompareOp::Lt, size, tables(f, x).tiny)?;
    let result = f.select(is_tiny, opposite, result)?;
    let is_pole = is_negative_integer(f, is_negative, distance)?;
    let infinite = f.scalar(x, f64::INFINITY)?;
    f.select(is_pole, infinite, result)
}

/// Records lgamma of `x >= 1/2`. `log` is its logarithm, used beyond 8 only.
fn lgamma_from_half(f: &mut Formula, x: NodeId, log: NodeId) -> Result<NodeId> {
    let place = place(f, x, 2.0)?;
    let slope = f.polynomial(place, tables(f, x).lgamma)?;
    let from_one = f.plus(x, -1.0)?;
    let product = f.multiply(from_one, place)?;
    let near = f.multiply(product, slope)?;

    let (inverse, square) = inverse(f, x)?;
    let series = f.polynomial(square, tables(f, x).lgamma_tail)?;
    let share = f.multiply(series, inverse)?;
    let rest = f.plus(share, HALF_LOG_OF_2_PI_OVER_E)?;
    let (less, log) = (f.plus(x, -0.5)?, f.plus(log, -1.0)?);
    let product = f.multiply(less, log)?;
    let far = f.add(product, rest)?;
    let is_near = f.compare(CompareOp::Lt, x, 8.0)?;
    f.select(is_near, near, far)
}

/// Records the digamma function, the derivative of lgamma. It is -inf at 0, inf at -0, and NaN at negative integers and
/// at -inf. Negative numbers: `digamma(-a) = digamma(1 + a) + pi / tan(pi a)`.
pub fn digamma(f: &mut Formula, x: NodeId) -> Result<NodeId> {
    let size = f.unary(UnaryOp::Abs, x)?;
    let is_small = is_small(f, x)?;
    let above = f.plus(size, 1.0)?;
    let shifted = f.select(is_small, above, size)?;
    let regular = digamma_from_half(f, shifted)?;
    let inverse = f.of(1.0, BinaryOp::Divide, size)?;
    let zero = f.scalar(x, 0.0)?;
    let (of_small, of_others) = (f.select(is_small, inverse, zero)?, f.select(is_small, zero, inverse)?);
    let positive = f.subtract(regular, of_small)?;

    let (part, distance) = from_integers(f, size)?;
    let cotangent = cotangent_of_pi(f, part, distance)?;
    let more = f.add(regular, of_others)?;
    let negative = f.add(cotangent, more)?;

    let is_negative = f.compare(CompareOp::Lt, x, 0.0)?;
    let result = f.select(is_negative, negative, positive)?;
    let is_pole = is_negative_integer(f, is_negative, distance)?;
    let none = f.scalar(x, f64::NAN)?;
    let result = f.select(is_pole, none, result)?;
    let is_tiny = f.compare(CompareOp::Lt, size, tables(f, x).tiny)?;
    let near_zero = f.of(-1.0, BinaryOp::Divide, x)?;
    f.select(is_tiny, near_zero, result)
}

/// Records digamma of `x >= 1/2`.
fn digamma_from_half(f: &mut Formula, x: NodeId) -> Result<NodeId> {
    let place = place(f, x, tables(f, x).root)?;
    let slope = f.polynomial(place, tables(f, x).digamma)?;
    let product = f.multiply(place, slope)?;
    let near = f.plus(product, tables(f, x).value_at_root)?;

    let (inverse, square) = inverse(f, x)?;
    let series = f.polynomial(square, tables(f, x).digamma_tail)?;
    let (half, rest) = (f.times(inverse, 0.5)?, f.multiply(series, square)?);
    let less = f.add(half, rest)?;
    let log = f.unary(UnaryOp::Log, x)?;
    let far = f.subtract(log, less)?;
    let is_near = f.compare(CompareOp::Lt, x, 8.0)?;
    f.select(is_near, near, far)
}

/// Records the trigamma function, the derivative of digamma. It is infinite at 0 and at negative integers, and NaN at
/// -inf. Negative numbers: `trigamma(-a) = (pi / sin(pi a))^2 - trigamma(1 + a)`.
pub fn trigamma(f: &mut Formula, x: NodeId) -> Result<NodeId> {
    let size = f.unary(UnaryOp::Abs, x)?;
    let is_small = f.compare(CompareOp::Lt, size, 1.0)?;
    let above = f.plus(size, 1.0)?;
    let shifted = f.select(is_small, above, size)?;
    let regular = trigamma_from_one(f, shifted)?;
    let (_, square) = inverse(f, size)?;
    let zero = f.scalar(x, 0.0)?;
    let (of_small, of_others) = (f.select(is_small, square, zero)?, f.select(is_small, zero, square)?);
    let positive = f.add(regular, of_small)?;

    let (_, distance) = from_integers(f, size)?;
    let sine = sine_of_pi(f, distance)?;
    let share = f.of(std::f64::consts::PI, BinaryOp::Divide, sine)?;
    let total = f.multiply(share, share)?;
    let less = f.subtract(regular, of_others)?;
    let negative = f.subtract(total, less)?;
    let is_negative = f.compare(CompareOp::Lt, x, 0.0)?;
    f.select(is_negative, negative, positive)
}

/// Records trigamma of `x >= 1`.
fn trigamma_from_one(f: &mut Formula, x: NodeId) -> Result<NodeId> {
    let place = place(f, x, 3.0)?;
    let slope = f.polynomial(place, tables(f, x).trigamma)?;
    let near = f.divide(slope, x)?;

    let (inverse, square) = inverse(f, x)?;
    let series = f.polynomial(square, tables(f, x).trigamma_tail)?;
    let share = f.multiply(series, inverse)?;
    let sum = f.plus(share, 0.5)?;
    let product = f.multiply(sum, inverse)?;
    let rest = f.multiply(product, inverse)?;
    let far = f.add(inverse, rest)?;
    let is_near = f.compare(CompareOp::Lt, x, 8.0)?;
    f.select(is_near, near, far)
}

/// Records whether lgamma and digamma are computed from their values at `1 + |x|`, not at `|x|`: below 1/2, where the
/// range of the polynomials starts, and above -1, since reflection there would lose bits.
fn is_small(f: &mut Formula, x: NodeId) -> Result<NodeId> {
    let is_below = f.compare(CompareOp::Lt, x, 0.5)?;
    let is_above = f.compare(CompareOp::Gt, x, -1.0)?;
    f.binary(BinaryOp::And, is_below, is_above)
}

/// Records `(x - c) / (x + c)`.
fn place(f: &mut Formula, x: NodeId, c: f64) -> Result<NodeId> {
    let (above, below) = (f.plus(x, -c)?, f.plus(x, c)?);
    f.divide(above, below)
}

/// Records `1 / x` and its square.
fn inverse(f: &mut Formula, x: NodeId) -> Result<(NodeId, NodeId)> {
    let inverse = f.of(1.0, BinaryOp::Divide, x)?;
    let square = f.multiply(inverse, inverse)?;
    Ok((inverse, square))
}

/// Records the fractional part of `a >= 0`, and the distance to the nearest integer. Both are exact.
fn from_integers(f: &mut Formula, a: NodeId) -> Result<(NodeId, NodeId)> {
    let floor = f.unary(UnaryOp::Floor, a)?;
    let part = f.subtract(a, floor)?;
    let rest = f.of(1.0, BinaryOp::Subtract, part)?;
    let distance = f.binary(BinaryOp::Minimum, part, rest)?;
    Ok((part, distance))
}

/// Records `sin(pi d)` for `0 <= d <= 1/2`.
fn sine_of_pi(f: &mut Formula, d: NodeId) -> Result<NodeId> {
    let angle = f.times(d, std::f64::consts::PI)?;
    f.unary(UnaryOp::Sine, angle)
}

/// Records `pi / tan(pi part)` for a part in [0, 1) at this distance from an integer. Beyond a distance of 1/4 it is
/// `pi tan(pi (1/2 - distance))`, which is accurate beside 0 too.
fn cotangent_of_pi(f: &mut Formula, part: NodeId, distance: NodeId) -> Result<NodeId> {
    let is_far = f.compare(CompareOp::Gt, distance, 0.25)?;
    let from_half = f.of(0.5, BinaryOp::Subtract, distance)?;
    let d = f.select(is_far, from_half, distance)?;
    let angle = f.times(d, std::f64::consts::PI)?;
    let tangent = f.unary(UnaryOp::Tan, angle)?;
    let inverse = f.of(1.0, BinaryOp::Divide, tangent)?;
    let size = f.select(is_far, tangent, inverse)?;
    let is_beyond = f.compare(CompareOp::Gt, part, 0.5)?;
    let (of_beyond, of_others) = (f.scalar(d, -std::f64::consts::PI)?, f.scalar(d, std::f64::consts::PI)?);
    let factor = f.select(is_beyond, of_beyond, of_others)?;
    f.multiply(size, factor)
}

fn is_negative_integer(f: &mut Formula, is_negative: NodeId, distance: NodeId) -> Result<NodeId> {
    let is_whole = f.compare(CompareOp::Eq, distance, 0.0)?;
    f.binary(BinaryOp::And, is_negative, is_whole)
}

/// `log(2 pi) / 2 - 1/2`.
const HALF_LOG_OF_2_PI_OVER_E: f64 = 0.41893853320467274;

const LGAMMA_F32: [f64; 17] = [
    1.69113734,
    0.08606051285,
    0.590743689,
    0.03483387707,
    0.366590999,
    0.01795665421,
    0.2670629014,
    0.01088896855,
    0.2137881033,
    0.006648668354,
    0.1452236822,
    0.007979408833,
    0.2873415674,
    -0.003633854917,
    -0.2385430294,
    0.01239550357,
    0.5632701869,
];
const LGAMMA_F64: [f64; 35] = [
    1.6911373403938685,
    0.08606051360420582,
    0.590743726568516,
    0.034833777783751164,
    0.36658601839683624,
    0.017960456322214324,
    0.2672533545527586,
    0.010824320412300059,
    0.21055789472247255,
    0.007222540264280033,
    0.17378475316358305,
    0.005161655438180685,
    0.14797535709954118,
    0.0038734344351081056,
    0.12887542179811734,
    0.00301147518993933,
    0.11385940754239787,
    0.0024380604694181564,
    0.10500589887427594,
    0.001785049208497322,
    0.07375515841568264,
    0.002690316300411862,
    0.19017500977661891,
    -0.002891699860582346,
    -0.3525402118886673,
    0.014160518447525665,
    1.3729901068832902,
    -0.027195005205748354,
    -2.7541022531744037,
    0.043115393113762564,
    4.2626476781410085,
    -0.03863808015051568,
    -3.8359937332595653,
    0.01886458186413883,
    1.8253600531527225,
];
const LGAMMA_TAIL_F32: [f64; 3] = [0.08333333326, -0.002777698545, 0.000780034719];
const LGAMMA_TAIL_F64: [f64; 6] = [
    0.0833333333333333,
    -0.002777777777606244,
    0.0007936506649488252,
    -0.0005952025951802712,
    0.0008372834512071336,
    -0.0016526004455595122,
];
const DIGAMMA_F32: [f64; 18] = [
    2.828761725,
    -0.9548594837,
    1.71902,
    -1.121540599,
    1.568834701,
    -1.201733037,
    1.513591595,
    -1.245137832,
    1.445126326,
    -1.235052819,
    1.72400925,
    -1.604321054,
    0.3590334644,
    0.3132667174,
    3.472316666,
    -5.218718274,
    0.8465735457,
    1.713921243,
];
const DIGAMMA_F64: [f64; 38] = [
    2.828761719479916,
    -0.9548594774081384,
    1.7190189540107004,
    -1.1215399939743127,
    1.5689152703813731,
    -1.2017805056112651,
    1.5112117852236793,
    -1.2433370487075412,
    1.4794452641585245,
    -1.2683334610374912,
    1.4592417042144925,
    -1.2850005424248958,
    1.4452789619286177,
    -1.2969000767724008,
    1.4345277917569659,
    -1.3057294274765794,
    1.43427150330536,
    -1.317099158603047,
    1.3425268915115645,
    -1.2420488333105069,
    2.052007278730291,
    -2.1744826314890666,
    -2.3496388234313166,
    5.238960599244267,
    17.15625296004121,
    -37.22506567500622,
    -41.753193133996,
    137.5188936595445,
    59.62324181595327,
    -370.97234474269743,
    53.96421201665432,
    631.7886043817929,
    -377.84832079834433,
    -590.9311448707949,
    649.9559959799169,
    129.52643464028765,
    -408.5225269522943,
    146.64158258493828,
];
const DIGAMMA_TAIL_F32: [f64; 3] = [0.08333333286, -0.008332783541, 0.003873588262];
const DIGAMMA_TAIL_F64: [f64; 7] = [
    0.08333333333333333,
    -0.008333333333278636,
    0.0039682539119537084,
    -0.0041666448230497,
    0.007571689620283902,
    -0.020697987372370493,
    0.06362150587634356,
];
const TRIGAMMA_F32: [f64; 16] = [
    1.1848022,
    -0.4044440981,
    0.4701868171,
    -0.5264714651,
    0.5712121095,
    -0.6043143807,
    0.6283573767,
    -0.6469294058,
    0.6415109026,
    -0.6090104002,
    0.760832532,
    -1.006022324,
    0.1932777309,
    0.5880196856,
    1.755715675,
    -2.759475456,
];
const TRIGAMMA_F64: [f64; 31] = [
    1.1848022005446792,
    -0.40444411265603564,
    0.4701865822619521,
    -0.5264686096173631,
    0.5712326261668024,
    -0.6044740335135921,
    0.627673461892685,
    -0.6430109501385235,
    0.6526996841256768,
    -0.6585983513569174,
    0.662086746162426,
    -0.6641025962880243,
    0.6652375778215505,
    -0.6658887356989799,
    0.6664369203623903,
    -0.6664275993655047,
    0.6638580349131474,
    -0.6668304426470086,
    0.6934481960280973,
    -0.6633634600516713,
    0.4728408464105762,
    -0.6974373541763256,
    1.6735659780683396,
    -0.4755283265596217,
    -3.011240130145361,
    -1.4396602119310038,
    9.687893741320707,
    1.243625074060152,
    -12.856038058390842,
    -3.088797080658101,
    10.454390230003808,
];
const TRIGAMMA_TAIL_F32: [f64; 3] = [0.1666666629, -0.0333289778, 0.02305793246];
const TRIGAMMA_TAIL_F64: [f64; 7] = [
    0.16666666666666652,
    -0.03333333333249287,
    0.023809522943893217,
    -0.03333299706371194,
    0.07569481310235808,
    -0.24699740954161503,
    0.8586880107331692,
];
