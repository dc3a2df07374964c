//! The Hurwitz zeta function `zeta(s, q)`, the sum of `(q + k)^-s` over all `k >= 0`, and the polygamma functions,
//! which are multiples of it: `polygamma(n, x) = (-1)^(n + 1) n! zeta(n + 1, x)`.
//!
//! For positive `q`, the first terms are added one by one. The others are the Euler-Maclaurin formula, whose error is
//! below 5e-10 of the sum in f32 and 2e-18 in f64. A power multiplies the relative error of its base by the exponent;
//! so what rounding takes from `q + k` is computed too (two-sum), and the power is corrected by it.
//!
//! For negative `q` and an integer `s`, the terms with a negative base are a difference of two sums of positive ones:
//! `zeta(s, -a) = zeta(s, 1 - p) + (-1)^s (zeta(s, p) - zeta(s, a + 1))`, where `p` is the fractional part of `a`. For
//! odd `s` the terms cancel near the zeros: there the error is small relative to the terms only.
//!
//! A factorial may overflow where the polygamma function does not. So all bases are divided by a power of two, and the
//! factorial by the power of that. What is left of the factorial is between 1/4 and 20 for orders up to 7, and for
//! others between 2^-7 and 2^23 in f32, 2^-66 and 2^165 in f64. Results that are nearer than that to the largest or
//! the least normal number may be infinite or 0.

use crate::elementwise::formula::Expr;
use crate::elementwise::functions::gamma;

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

fn constants(x: Expr) -> &'static Constants {
    if x.is_double() { &CONSTANTS_F64 } else { &CONSTANTS_F32 }
}

/// The Hurwitz zeta function. It is infinite for `s = 1`, and NaN below. At `q = 0` and negative integers it is
/// infinite for even `s`; for odd `s` it has the sign of the zero there, and is NaN at negative integers. It is NaN for
/// negative `q` unless `s` is an integer.
pub fn zeta<'f>(s: Expr<'f>, q: Expr<'f>) -> Expr<'f> {
    let sum = s.ge(1.0).select(sum_of_powers(s, q, None), f64::NAN);
    (s.eq(1.0) & q.eq(q)).select(f64::INFINITY, sum)
}

/// The polygamma function of order `n`, the derivative of order `n` of digamma. It is NaN unless `n` is an integer from
/// 0 to the largest one with a finite factorial: 34 in f32, 170 in f64.
pub fn polygamma<'f>(n: Expr<'f>, x: Expr<'f>) -> Expr<'f> {
    let (factorial, scale) = scaled_factorial(n);
    let size = factorial * sum_of_powers(n + 1.0, x, Some(scale));
    let result = is_multiple(n, 0.5).select(-size, size);
    let is_order = n.ge(1.0) & is_multiple(n, 1.0) & n.le(constants(n).last_order);
    let result = is_order.select(result, f64::NAN);
    n.eq(0.0).select(gamma::digamma(x), result)
}

/// `n!` divided by the power of `n + 1` of the scale, and the scale: a power of two of the size of `n / e`. The
/// factorial is that of the next multiple of 8 below, from a table, times the factors after it.
fn scaled_factorial(n: Expr) -> (Expr, Scale) {
    let table = &SCALES[..constants(n).scales];
    let (exponent, of_base) = table[0];
    let (mut number, mut factorial) = (n.number(2f64.powi(exponent)), n.number(of_base));
    for (i, &(exponent, of_base)) in table.iter().enumerate().skip(1) {
        let is_reached = n.ge(8.0 * i as f64);
        if exponent != table[i - 1].0 {
            number = is_reached.select(2f64.powi(exponent), number);
        }
        factorial = is_reached.select(of_base, factorial);
    }
    let inverse = 1.0 / number;

    let base = (n * 0.125).floor() * 8.0;
    let rest = n - base;
    for i in 1..8 {
        let i = f64::from(i);
        factorial = factorial * rest.ge(i).select((base + i) * inverse, 1.0);
    }
    (factorial, Scale { number, inverse })
}

/// Whether `x` times `by` is an integer.
fn is_multiple(x: Expr, by: f64) -> Expr {
    let share = x * by;
    share.floor().eq(share)
}

/// Power of two by which the bases of a sum are divided, and its inverse.
#[derive(Clone, Copy)]
struct Scale<'f> {
    number: Expr<'f>,
    inverse: Expr<'f>,
}

/// Values shared by all terms of a sum: the exponent, and numbers derived from it.
struct Sum<'f> {
    s: Expr<'f>,
    minus_s: Expr<'f>,
    above_one: Expr<'f>,
    one_minus_s: Expr<'f>,
    scale: Option<Scale<'f>>,
}

/// `zeta(s, q)` for `s > 1`, with bases that are divided by the scale.
fn sum_of_powers<'f>(s: Expr<'f>, q: Expr<'f>, scale: Option<Scale<'f>>) -> Expr<'f> {
    let sum = Sum { s, minus_s: -s, above_one: s - 1.0, one_minus_s: 1.0 - s, scale };
    let is_negative = q.lt(0.0);
    let size = q.abs();
    let whole = size.floor();
    let part = size - whole;

    let (first, rest) = positive_terms(&sum, q, is_negative, part);
    let (first_below, rest_below) = negative_terms(&sum, size, whole, part);
    let is_even = is_multiple(s, 0.5);
    let below = |term: Expr<'f>| is_even.select(term, -term);
    // The first terms of both sums are added first: if they cancel, no bits of the other terms are lost.
    let both = (first + below(first_below)) + (rest + below(rest_below));

    let changes_sign = part.eq(0.0) & !is_even;
    let both = changes_sign.select(f64::NAN, both);
    let negative = is_multiple(s, 1.0).select(both, f64::NAN);
    let result = is_negative.select(negative, rest + first);
    q.eq(f64::INFINITY).select(0.0, result)
}

/// The sum of the powers of `q + k`, of negative `q` those of `1 - part + k`: the first one, and the sum of the others.
fn positive_terms<'f>(sum: &Sum<'f>, q: Expr<'f>, is_negative: Expr<'f>, part: Expr<'f>) -> (Expr<'f>, Expr<'f>) {
    let above = 1.0 - part;
    let start = is_negative.select(above, q);
    let lost = is_negative.select(1.0 - above - part, 0.0);

    let power = sum.power(start, sum.minus_s);
    let first = is_negative.select(corrected(power, sum.s, lost / start), power);

    let terms = constants(q).terms;
    let (place, of_place) = place_after(start, lost, terms);
    let mut rest = sum.tail(place, Some(of_place));
    for k in (1..terms).rev() {
        let (place, of_place) = place_after(start, lost, k);
        rest = rest + corrected(sum.power(place, sum.minus_s), sum.s, of_place / place);
    }
    (first, rest)
}

/// The sum of the powers of `part + k` up to `size`: the first one, and the sum of the others. All these bases are
/// exact.
fn negative_terms<'f>(sum: &Sum<'f>, size: Expr<'f>, whole: Expr<'f>, part: Expr<'f>) -> (Expr<'f>, Expr<'f>) {
    let terms = constants(size).terms;
    let between = sum.tail(part + terms as f64, None) - sum.tail(size + 1.0, None);
    let mut rest = whole.ge(terms as f64).select(between, 0.0);
    for k in (1..terms).rev().map(|k| k as f64) {
        rest = rest + whole.ge(k).select(sum.power(part + k, sum.minus_s), 0.0);
    }
    (sum.power(part, sum.minus_s), rest)
}

/// `start + lost + k` as a rounded number, and what rounding takes from it.
fn place_after<'f>(start: Expr<'f>, lost: Expr<'f>, k: usize) -> (Expr<'f>, Expr<'f>) {
    let k = k as f64;
    let place = start + k;
    let step = place - start;
    let of_start = start - (place - step);
    (place, of_start + (k - step) + lost)
}

/// The power of a base that is greater by this share of itself. `power` is the base to the power `-exponent`.
fn corrected<'f>(power: Expr<'f>, exponent: Expr<'f>, share: Expr<'f>) -> Expr<'f> {
    power * (1.0 - exponent * share)
}

impl<'f> Sum<'f> {
    /// The power of a base divided by the scale.
    fn power(&self, base: Expr<'f>, exponent: Expr<'f>) -> Expr<'f> {
        self.scale.map_or(base, |scale| base * scale.inverse).power(exponent)
    }

    /// The sum of the powers of `a + k` for all `k >= 0`, where `a` is at least the number of terms that are added one
    /// by one: `a^(1 - s) (1 / (s - 1) + (1/2 + s / a (B2/2! + (s + 1) (s + 2) / a^2 (B4/4! + ...))) / a)`. `lost` is
    /// what rounding took from `a`. For `s` beyond `6 a` the sum is a negligible part of the whole; the series is that
    /// of `s = 6 a`, which is finite.
    fn tail(&self, a: Expr<'f>, lost: Option<Expr<'f>>) -> Expr<'f> {
        let inverse = 1.0 / a;
        let ratio = (self.s * inverse).min(6.0);
        let (last, others) = CORRECTIONS[..constants(a).corrections].split_last().expect("there are corrections");
        // (s + 1) / a, (s + 2) / a, ...
        let (mut step, mut steps) = (ratio, Vec::with_capacity(2 * others.len()));
        for _ in 0..2 * others.len() {
            step = step + inverse;
            steps.push(step);
        }
        let mut series = a.number(*last);
        for (pair, correction) in steps.chunks(2).zip(others).rev() {
            series = series * (pair[0] * pair[1]) + *correction;
        }
        let mut factor = 1.0 / self.above_one + inverse * (ratio * series + 0.5);
        if let Some(scale) = self.scale {
            factor = factor * scale.number;
        }
        let mut power = self.power(a, self.one_minus_s);
        if let Some(lost) = lost {
            power = corrected(power, self.above_one, lost * inverse);
        }
        power * factor
    }
}

/// Coefficients of the Euler-Maclaurin formula: the Bernoulli numbers `B(2 j) / (2 j)!`, from j = 1 on.
static CORRECTIONS: [f64; 10] = [
    0.08333333333333333, -0.001388888888888889, 3.3068783068783064e-05, -8.267195767195768e-07, 2.08767569878681e-08,
    -5.284190138687493e-10, 1.338253653068468e-11, -3.3896802963225827e-13, 8.586062056277845e-15,
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
