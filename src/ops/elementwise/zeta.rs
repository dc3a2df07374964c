//! The Hurwitz zeta function `zeta(s, q)`, the sum of `(q + k)^-s` over all `k >= 0`, and the polygamma functions,
//! which are multiples of it: `polygamma(n, x) = (-1)^(n + 1) n! zeta(n + 1, x)`.
//!
//! For positive `q`, the first terms are added one by one. The others are the Euler-Maclaurin formula, whose error is
//! below 5e-10 of the sum in f32 and 2e-18 in f64. A power multiplies the relative error of its base by the exponent;
//! so what rounding takes from `q + k` is computed too (two-sum), and the power is corrected by it.
//!
//! For negative `q` and an integer `s`, the terms with a negative base are a difference of two sums of positive ones:
//! `zeta(s, -a) = zeta(s, 1 - p) + (-1)^s (zeta(s, p) - zeta(s, a + 1))`, where `p` is the fractional part of `a`. For
//! odd `s` the terms cancel beside the zeros: there the error is small relative to the terms only.
//!
//! A factorial may overflow where the polygamma function does not. So all bases are divided by a power of two, and the
//! factorial by the power of that. What is left of the factorial is between 1/4 and 20 for orders up to 7, and for
//! others between 2^-7 and 2^23 in f32, 2^-66 and 2^165 in f64. Results that are nearer than that to the greatest or
//! the least normal number may be infinite or 0.

use crate::error::Result;
use crate::ir::{BinaryOp, CompareOp, NodeId, UnaryOp};
use crate::ops::elementwise::compare_select::compare;
use crate::ops::elementwise::formula::Formula;
use crate::ops::elementwise::gamma;
use crate::types::DType;

/// Constants for one dtype.
struct Constants {
    /// Number of terms that are added one by one.
    terms: usize,
    /// Number of the [`CORRECTIONS`] that are used.
    corrections: usize,
    /// Number of the [`SCALES`] that are used.
    scales: usize,
    /// Largest order whose factorial is finite.
    last_order: f64,
}

const CONSTANTS_F32: Constants = Constants { terms: 4, corrections: 5, scales: 5, last_order: 34.0 };
const CONSTANTS_F64: Constants = Constants { terms: 8, corrections: 10, scales: 22, last_order: 170.0 };

fn constants(f: &Formula, x: NodeId) -> &'static Constants {
    if f.trace.node(x).dtype == DType::F64 { &CONSTANTS_F64 } else { &CONSTANTS_F32 }
}

/// Records the Hurwitz zeta function. It is infinite for `s = 1`, and NaN below. At `q = 0` and negative integers it is
/// infinite for even `s`; for odd `s` it has the sign of the zero there, and is NaN at negative integers. It is NaN for
/// negative `q` unless `s` is an integer.
pub fn zeta(f: &mut Formula, s: NodeId, q: NodeId) -> Result<NodeId> {
    let sum = sum_of_powers(f, s, q, None)?;
    let (none, infinite) = (f.scalar(q, f64::NAN)?, f.scalar(q, f64::INFINITY)?);
    let converges = f.compare(CompareOp::Ge, s, 1.0)?;
    let sum = f.select(converges, sum, none)?;
    let (is_one, is_number) = (f.compare(CompareOp::Eq, s, 1.0)?, compare(f.trace, CompareOp::Eq, q, q)?);
    let is_pole = f.binary(BinaryOp::And, is_one, is_number)?;
    f.select(is_pole, infinite, sum)
}

/// Records the polygamma function of order `n`, the derivative of order `n` of digamma. It is NaN unless `n` is an
/// integer from 0 to the largest one with a finite factorial: 34 in f32, 170 in f64.
pub fn polygamma(f: &mut Formula, n: NodeId, x: NodeId) -> Result<NodeId> {
    let (factorial, scale) = scaled_factorial(f, n)?;
    let s = f.plus(n, 1.0)?;
    let sum = sum_of_powers(f, s, x, Some(scale))?;
    let size = f.multiply(factorial, sum)?;
    let is_even = is_multiple(f, n, 0.5)?;
    let of_even = f.unary(UnaryOp::Negate, size)?;
    let result = f.select(is_even, of_even, size)?;

    let (is_positive, is_integer) = (f.compare(CompareOp::Ge, n, 1.0)?, is_multiple(f, n, 1.0)?);
    let is_finite = f.compare(CompareOp::Le, n, constants(f, n).last_order)?;
    let is_order = f.binary(BinaryOp::And, is_positive, is_integer)?;
    let is_order = f.binary(BinaryOp::And, is_order, is_finite)?;
    let none = f.scalar(x, f64::NAN)?;
    let result = f.select(is_order, result, none)?;
    let of_zero = gamma::digamma(f, x)?;
    let is_zero = f.compare(CompareOp::Eq, n, 0.0)?;
    f.select(is_zero, of_zero, result)
}

/// Records `n!` divided by the power of `n + 1` of the scale, and the scale: a power of two of the size of `n / e`. The
/// factorial is that of the next multiple of 8 below, from a table, times the factors after it.
fn scaled_factorial(f: &mut Formula, n: NodeId) -> Result<(NodeId, Scale)> {
    let table = &SCALES[..constants(f, n).scales];
    let (exponent, of_base) = table[0];
    let (mut number, mut factorial) = (f.scalar(n, 2f64.powi(exponent))?, f.scalar(n, of_base)?);
    for (i, &(exponent, of_base)) in table.iter().enumerate().skip(1) {
        let is_reached = f.compare(CompareOp::Ge, n, 8.0 * i as f64)?;
        if exponent != table[i - 1].0 {
            let own = f.scalar(n, 2f64.powi(exponent))?;
            number = f.select(is_reached, own, number)?;
        }
        let own = f.scalar(n, of_base)?;
        factorial = f.select(is_reached, own, factorial)?;
    }
    let inverse = f.of(1.0, BinaryOp::Divide, number)?;

    let eighth = f.times(n, 0.125)?;
    let floor = f.unary(UnaryOp::Floor, eighth)?;
    let base = f.times(floor, 8.0)?;
    let rest = f.subtract(n, base)?;
    let one = f.scalar(n, 1.0)?;
    for i in 1..8_i32 {
        let next = f.plus(base, f64::from(i))?;
        let share = f.multiply(next, inverse)?;
        let is_factor = f.compare(CompareOp::Ge, rest, f64::from(i))?;
        let share = f.select(is_factor, share, one)?;
        factorial = f.multiply(factorial, share)?;
    }
    Ok((factorial, Scale { number, inverse }))
}

/// Records whether `x` times `by` is an integer.
fn is_multiple(f: &mut Formula, x: NodeId, by: f64) -> Result<NodeId> {
    let share = f.times(x, by)?;
    let floor = f.unary(UnaryOp::Floor, share)?;
    compare(f.trace, CompareOp::Eq, floor, share)
}

/// Power of two by which the bases of a sum are divided, and its inverse.
#[derive(Clone, Copy)]
struct Scale {
    number: NodeId,
    inverse: NodeId,
}

/// Values shared by all terms of a sum: the exponent, and numbers derived from it.
struct Sum {
    s: NodeId,
    minus_s: NodeId,
    above_one: NodeId,
    one_minus_s: NodeId,
    scale: Option<Scale>,
}

/// Records `zeta(s, q)` for `s > 1`, with bases that are divided by the scale.
fn sum_of_powers(f: &mut Formula, s: NodeId, q: NodeId, scale: Option<Scale>) -> Result<NodeId> {
    let (minus_s, one_minus_s) = (f.unary(UnaryOp::Negate, s)?, f.of(1.0, BinaryOp::Subtract, s)?);
    let sum = &Sum { s, minus_s, above_one: f.plus(s, -1.0)?, one_minus_s, scale };
    let is_negative = f.compare(CompareOp::Lt, q, 0.0)?;
    let size = f.unary(UnaryOp::Abs, q)?;
    let whole = f.unary(UnaryOp::Floor, size)?;
    let part = f.subtract(size, whole)?;

    let (first, rest) = positive_terms(f, sum, q, is_negative, part)?;
    let positive = f.add(rest, first)?;
    let (first_below, rest_below) = negative_terms(f, sum, size, whole, part)?;
    let is_even = is_multiple(f, s, 0.5)?;
    let first_below = negated_unless(f, is_even, first_below)?;
    let rest_below = negated_unless(f, is_even, rest_below)?;
    // Where the first terms cancel, they do so before the others are added.
    let (firsts, rests) = (f.add(first, first_below)?, f.add(rest, rest_below)?);
    let both = f.add(firsts, rests)?;

    let is_pole = f.compare(CompareOp::Eq, part, 0.0)?;
    let is_odd = f.unary(UnaryOp::Not, is_even)?;
    let changes_sign = f.binary(BinaryOp::And, is_pole, is_odd)?;
    let is_integer = is_multiple(f, s, 1.0)?;
    let none = f.scalar(q, f64::NAN)?;
    let both = f.select(changes_sign, none, both)?;
    let negative = f.select(is_integer, both, none)?;
    let result = f.select(is_negative, negative, positive)?;
    let (zero, is_infinite) = (f.scalar(q, 0.0)?, f.compare(CompareOp::Eq, q, f64::INFINITY)?);
    f.select(is_infinite, zero, result)
}

fn negated_unless(f: &mut Formula, pred: NodeId, x: NodeId) -> Result<NodeId> {
    let opposite = f.unary(UnaryOp::Negate, x)?;
    f.select(pred, x, opposite)
}

/// Records the sum of the powers of `q + k`, of negative `q` those of `1 - part + k`: the first one, and the sum of the
/// others.
fn positive_terms(
    f: &mut Formula,
    sum: &Sum,
    q: NodeId,
    is_negative: NodeId,
    part: NodeId,
) -> Result<(NodeId, NodeId)> {
    let above = f.of(1.0, BinaryOp::Subtract, part)?;
    let back = f.of(1.0, BinaryOp::Subtract, above)?;
    let lost = f.subtract(back, part)?;
    let zero = f.scalar(q, 0.0)?;
    let (start, lost) = (f.select(is_negative, above, q)?, f.select(is_negative, lost, zero)?);

    let power = sum.power(f, start, sum.minus_s)?;
    let share = f.divide(lost, start)?;
    let exact = corrected(f, power, sum.s, share)?;
    let first = f.select(is_negative, exact, power)?;

    let terms = constants(f, q).terms;
    let (place, of_place) = place_after(f, start, lost, terms)?;
    let mut rest = sum.tail(f, place, Some(of_place))?;
    for k in (1..terms).rev() {
        let (place, of_place) = place_after(f, start, lost, k)?;
        let power = sum.power(f, place, sum.minus_s)?;
        let share = f.divide(of_place, place)?;
        let term = corrected(f, power, sum.s, share)?;
        rest = f.add(rest, term)?;
    }
    Ok((first, rest))
}

/// Records the sum of the powers of `part + k` up to `size`: the first one, and the sum of the others. All these bases
/// are exact.
fn negative_terms(f: &mut Formula, sum: &Sum, size: NodeId, whole: NodeId, part: NodeId) -> Result<(NodeId, NodeId)> {
    let first = sum.power(f, part, sum.minus_s)?;
    let terms = constants(f, size).terms;
    let (start, end) = (f.plus(part, terms as f64)?, f.plus(size, 1.0)?);
    let (from_start, from_end) = (sum.tail(f, start, None)?, sum.tail(f, end, None)?);
    let between = f.subtract(from_start, from_end)?;
    let zero = f.scalar(size, 0.0)?;
    let is_far = f.compare(CompareOp::Ge, whole, terms as f64)?;
    let mut rest = f.select(is_far, between, zero)?;
    for k in (1..terms).rev() {
        let place = f.plus(part, k as f64)?;
        let power = sum.power(f, place, sum.minus_s)?;
        let is_term = f.compare(CompareOp::Ge, whole, k as f64)?;
        let term = f.select(is_term, power, zero)?;
        rest = f.add(rest, term)?;
    }
    Ok((first, rest))
}

/// Records `start + lost + k` as a rounded number, and what rounding takes from it.
fn place_after(f: &mut Formula, start: NodeId, lost: NodeId, k: usize) -> Result<(NodeId, NodeId)> {
    let place = f.plus(start, k as f64)?;
    let step = f.subtract(place, start)?;
    let back = f.subtract(place, step)?;
    let (of_start, of_step) = (f.subtract(start, back)?, f.of(k as f64, BinaryOp::Subtract, step)?);
    let both = f.add(of_start, of_step)?;
    Ok((place, f.add(both, lost)?))
}

/// Records the power of a base that is greater by this share of itself. `power` is the base to the power `-exponent`.
fn corrected(f: &mut Formula, power: NodeId, exponent: NodeId, share: NodeId) -> Result<NodeId> {
    let change = f.multiply(exponent, share)?;
    let factor = f.of(1.0, BinaryOp::Subtract, change)?;
    f.multiply(power, factor)
}

impl Sum {
    /// Records the power of a base divided by the scale.
    fn power(&self, f: &mut Formula, base: NodeId, exponent: NodeId) -> Result<NodeId> {
        let base = match self.scale {
            Some(scale) => f.multiply(base, scale.inverse)?,
            None => base,
        };
        f.binary(BinaryOp::Power, base, exponent)
    }

    /// Records the sum of the powers of `a + k` for all `k >= 0`, where `a` is at least the number of terms that are
    /// added one by one: `a^(1 - s) (1 / (s - 1) + (1/2 + s / a (B2/2! + (s + 1) (s + 2) / a^2 (B4/4! + ...))) / a)`.
    /// `lost` is what rounding took from `a`. For `s` beyond `6 a` the sum is a negligible part of the whole; the
    /// series is that of `s = 6 a`, which is finite.
    fn tail(&self, f: &mut Formula, a: NodeId, lost: Option<NodeId>) -> Result<NodeId> {
        let inverse = f.of(1.0, BinaryOp::Divide, a)?;
        let ratio = f.multiply(self.s, inverse)?;
        let ratio = f.at_most(ratio, 6.0)?;
        let (last, others) = CORRECTIONS[..constants(f, a).corrections].split_last().expect("there are corrections");
        // (s + 1) / a, (s + 2) / a, ...
        let (mut step, mut steps) = (ratio, Vec::with_capacity(2 * others.len()));
        for _ in 0..2 * others.len() {
            step = f.add(step, inverse)?;
            steps.push(step);
        }
        let mut series = f.scalar(a, *last)?;
        for (j, correction) in others.iter().enumerate().rev() {
            let product = f.multiply(steps[2 * j], steps[2 * j + 1])?;
            let term = f.multiply(series, product)?;
            series = f.plus(term, *correction)?;
        }
        let product = f.multiply(ratio, series)?;
        let rest = f.plus(product, 0.5)?;
        let share = f.multiply(inverse, rest)?;
        let integral = f.of(1.0, BinaryOp::Divide, self.above_one)?;
        let mut factor = f.add(integral, share)?;
        if let Some(scale) = self.scale {
            factor = f.multiply(factor, scale.number)?;
        }
        let mut power = self.power(f, a, self.one_minus_s)?;
        if let Some(lost) = lost {
            let share = f.multiply(lost, inverse)?;
            power = corrected(f, power, self.above_one, share)?;
        }
        f.multiply(power, factor)
    }
}

/// Coefficients of the Euler-Maclaurin formula: the Bernoulli numbers `B(2 j) / (2 j)!`, from j = 1 on.
static CORRECTIONS: [f64; 10] = [
    0.08333333333333333,
    -0.001388888888888889,
    3.3068783068783064e-05,
    -8.267195767195768e-07,
    2.08767569878681e-08,
    -5.284190138687493e-10,
    1.338253653068468e-11,
    -3.3896802963225827e-13,
    8.586062056277845e-15,
    -2.174868698558062e-16,
];

/// For the orders from `8 i` on: the exponent of the scale, a power of two, and `(8 i)! / scale^(8 i + 1)`.
static SCALES: [(i32, f64); 22] = [
    (1, 0.5),
    (2, 0.15380859375),
    (3, 0.0092915852292208),
    (3, 16.423132448103935),
    (3, 415147.26043015183),
    (4, 0.03489199320783774),
    (4, 123.603178224689),
    (4, 1648275.209384919),
    (5, 1.8563860941690199e-09),
    (5, 8.147933268544739e-07),
    (5, 0.00086612281471099),
    (5, 2.0415273546373376),
    (5, 9927.108146356082),
    (5, 93766572.36527419),
    (5, 1634974924030.3132),
    (6, 1.8950339513219947e-20),
    (6, 3.880998274220606e-18),
    (6, 1.3083112125329315e-15),
    (6, 7.050497251611525e-13),
    (6, 5.918040414263734e-10),
    (6, 7.559279949953401e-07),
    (5, 1.0767131886937415e+48),
];
