//! The regularized incomplete gamma functions `P(a, x)` (lower, igamma) and `Q(a, x)` (upper, igammac), and the
//! derivative of `P` by `a`.
//!
//! The smaller one is computed with a small relative error, the other is 1 minus it. Both have the factor
//! `x^a e^-x / gamma(a + 1)`. With `r = x / a` it is `e^(-a (r - 1 - log r)) / sqrt(2 pi a)` times the rest of
//! Stirling's formula; where `r` is near 1, `r - 1 - log r` is a power series in `(x - a) / (x + a)`. There are four
//! ranges, and a fixed number of terms in each:
//!
//! - `a` beyond 20 (10 in f32) and `r` near 1: the uniform asymptotic expansion of N. M. Temme, "The asymptotic
//!   expansion of the incomplete gamma functions" (SIAM Journal on Mathematical Analysis 10, 1979; DLMF 8.12);
//! - small `a` and `x`, where `P` may be near 1: `gamma(a) Q` as `(gamma(a + 1) - x^a) / a` and a power series, in a
//!   form that does not cancel for `a` near 0;
//! - otherwise up to `x = a`: the power series of `P` (DLMF 8.7.1), whose terms are positive;
//! - otherwise beyond `a`: Legendre's continued fraction of `Q` (DLMF 8.9.2), from an estimate of its tail.
//!
//! The derivative by `a` is that of each form, term by term ([`Dual`]).

use super::igamma_tables::{Tables, tables};
use crate::elementwise::formula::Expr;
use crate::elementwise::functions::dual::Dual;
use crate::elementwise::functions::erf;
use std::f64::consts::FRAC_1_PI;

/// `r` is near 1 from here on.
const NEAR_LOW: f64 = 0.45;
/// `r` is near 1 up to here.
const NEAR_HIGH: f64 = 1.6;
/// Largest `x` for which `Q` is computed by the form for small operands, and the largest `a` with it.
const LAST_SMALL: f64 = 1.25;
const LAST_SMALL_ORDER: f64 = 1.375;

/// The regularized lower incomplete gamma function `P(a, x)`.
pub fn igamma<'f>(a: Expr<'f>, x: Expr<'f>) -> Expr<'f> {
    let parts = Parts::new(a, x);
    let (value, is_lower) = parts.smaller(false);
    let lower = is_lower.select(value.value, 1.0 - value.value);
    at_edges(a, x, lower, [0.0, 1.0])
}

/// The regularized upper incomplete gamma function `Q(a, x)`, which is `1 - P(a, x)`.
pub fn igammac<'f>(a: Expr<'f>, x: Expr<'f>) -> Expr<'f> {
    let parts = Parts::new(a, x);
    let (value, is_lower) = parts.smaller(false);
    let upper = is_lower.select(1.0 - value.value, value.value);
    at_edges(a, x, upper, [1.0, 0.0])
}

/// The derivative of `P(a, x)` by `a`. At `a = 0` it is that from above, `-E1(x)`.
pub fn igamma_grad_a<'f>(a: Expr<'f>, x: Expr<'f>) -> Expr<'f> {
    let parts = Parts::new(a, x);
    let (value, is_lower) = parts.smaller(true);
    let slope = value.slope.expect("it was asked for");
    let by_order = is_lower.select(slope, -slope);
    let is_end = x.eq(0.0) & a.gt(0.0) | a.is_infinite() ^ x.is_infinite();
    domain(a, x, is_end.select(0.0, by_order))
}

/// Values at the ends of the ranges: `first` where `x` is 0 or `a` infinite, `last` where `a` is 0 or `x` infinite.
fn at_edges<'f>(a: Expr<'f>, x: Expr<'f>, value: Expr<'f>, [first, last]: [f64; 2]) -> Expr<'f> {
    let value = (x.eq(0.0) | a.is_infinite()).select(first, value);
    let value = (a.eq(0.0) | x.is_infinite()).select(last, value);
    domain(a, x, value)
}

/// NaN for negative operands and NaN, and where both operands are 0 or both infinite.
fn domain<'f>(a: Expr<'f>, x: Expr<'f>, value: Expr<'f>) -> Expr<'f> {
    let is_known = a.ge(0.0) & x.ge(0.0);
    let is_open = a.eq(0.0) & x.eq(0.0) | a.is_infinite() & x.is_infinite();
    (is_known & !is_open).select(value, f64::NAN)
}

/// Expressions that several ranges share.
struct Parts<'f> {
    a: Expr<'f>,
    x: Expr<'f>,
    tables: &'static Tables,
    /// Whether `a` is at least 1. Below, the factor is computed from `x`, not from `r`, which may overflow.
    is_regular: Expr<'f>,
    /// Whether `a` is at least 1 and `r` is near 1.
    is_near: Expr<'f>,
    /// `log r`; for `a` below 1, `log x`.
    log: Expr<'f>,
    log_x: Expr<'f>,
    /// Where [`Parts::is_near`] holds, `r - 1 - log r`; 0 elsewhere.
    deviation: Expr<'f>,
    /// Whether `x > a`.
    is_beyond: Expr<'f>,
    /// `e^(-a (r - 1 - log r))`; for `a` below 1, `x^a`.
    core: Expr<'f>,
    /// For `a` below 1, `e^-x`.
    decay: Expr<'f>,
    /// `1 / a`, and 1 for `a` below 1.
    inverse: Expr<'f>,
}

impl<'f> Parts<'f> {
    fn new(a: Expr<'f>, x: Expr<'f>) -> Parts<'f> {
        let tables = tables(a);
        // For so large a number, P is 0 below it, a half at it, and 1 beyond it, also if both are divided; their sum
        // must not overflow.
        let is_huge = a.gt(if a.is_double() { 1e300 } else { 1e30 });
        let scale = is_huge.select(a.number(2f64.powi(-20)), 1.0);
        let (a, x) = (a * scale, x * scale);
        let ratio = x / a;
        let is_regular = a.ge(1.0);
        let is_near = is_regular & ratio.ge(NEAR_LOW) & ratio.le(NEAR_HIGH);

        // log r = 2 artanh(t) and a (r - 1 - log r) = (x - a) t - 2 a (artanh(t) - t) with t = (x - a) / (x + a).
        let difference = x - a;
        let t = is_near.select(difference / (x + a), 0.0);
        let square = t * t;
        let rest = t * square * square.polynomial(tables.artanh) * 2.0;
        let exponent = is_near.select(difference * t - a * rest, 0.0);

        let log_x = x.log();
        let decay = is_regular.select(1.0 - ratio, -x).exp();
        let base = is_regular.select(ratio * decay, x);
        let power = base.power(a);
        let core = is_near.select((-exponent).exp(), power);
        // Replaces the logarithm by 0 where the power is 0: of a quotient that underflows it is minus infinity, and the
        // product of both would be NaN.
        let is_known = !power.eq(0.0);
        let log = is_near
            .select(t * 2.0 + rest, is_known.select(is_known.select(is_regular.select(ratio, x), 1.0).log(), 0.0));
        let inverse = 1.0 / is_regular.select(a, 1.0);
        let deviation = exponent * inverse;
        Parts { a, x, tables, is_regular, is_near, log, log_x, deviation, is_beyond: x.gt(a), core, decay, inverse }
    }

    /// The smaller one of `P` and `Q`, roughly, with its derivative by `a` if `with_slope`, and whether it is `P`.
    fn smaller(&self, with_slope: bool) -> (Dual<'f>, Expr<'f>) {
        let Parts { a, x, tables, .. } = *self;
        let is_expanded = self.is_near & a.ge(tables.least_expanded);
        // Up to this a, P(a, x) is so large that Q is computed.
        let bound = x.gt(0.5).select(x * 1.1, -0.4 / self.log_x);
        let is_small = x.le(LAST_SMALL) & a.lt(bound);

        let one = with_slope.then(|| x.number(1.0));
        let (factor, slope) = self.factor(with_slope);
        let series = self.series(one, factor, slope);
        let fraction = self.fraction(one, factor, slope);
        let small = self.small(one);
        let expanded = self.expanded(with_slope);
        let chosen = |of: fn(Dual<'f>) -> Option<Expr<'f>>| {
            let [expanded, small, series, fraction] = [expanded, small, series, fraction].map(of);
            let other = is_small.select(small?, self.is_beyond.select(fraction?, series?));
            Some(is_expanded.select(expanded?, other))
        };
        let value = chosen(|dual| Some(dual.value)).expect("there are values");
        let is_lower = is_expanded.select(!self.is_beyond, !(is_small | self.is_beyond));
        (Dual::new(value, chosen(|dual| dual.slope)), is_lower)
    }

    /// `x^a e^-x / gamma(a + 1)`, and the derivative of its logarithm by `a`.
    fn factor(&self, with_slope: bool) -> (Expr<'f>, Option<Expr<'f>>) {
        let inverse = self.inverse;
        let of_inverse = with_slope.then(|| -(inverse * inverse));
        let star = Dual::new(inverse, of_inverse).polynomial(self.tables.stirling);
        let small = self.reciprocal_gamma(with_slope.then(|| inverse.number(1.0))).0;
        let regular = (inverse * (0.5 * FRAC_1_PI)).sqrt() * star.value;
        let factor = self.core * self.is_regular.select(regular, self.decay * small.value);
        let slope = star.slope.zip(small.slope).map(|(of_star, of_small)| {
            let regular = of_star / star.value - inverse * 0.5;
            self.log + self.is_regular.select(regular, of_small / small.value)
        });
        (factor, slope)
    }

    /// `1 / gamma(a + 1)` for small `a`, and `(1 / gamma(a + 1) - 1) / a`.
    fn reciprocal_gamma(&self, one: Option<Expr<'f>>) -> (Dual<'f>, Dual<'f>) {
        let a = Dual::new(self.a.min(LAST_SMALL_ORDER), one);
        let share = a.polynomial(self.tables.reciprocal_gamma);
        (a * share + 1.0, share)
    }

    /// `P` by its power series: the factor times `1 + x / (a + 1) (1 + x / (a + 2) (1 + ...))`.
    fn series(&self, one: Option<Expr<'f>>, factor: Expr<'f>, of_factor: Option<Expr<'f>>) -> Dual<'f> {
        let (a, x) = (Dual::new(self.a, one), Dual::constant(self.x));
        let mut sum = Dual::constant(self.x.number(1.0));
        for n in (1..=self.tables.terms).rev() {
            sum = sum * x.over(a + n as f64) + 1.0;
        }
        let slope = of_factor.zip(sum.slope).map(|(of_factor, slope)| factor * (sum.value * of_factor + slope));
        Dual::new(factor * sum.value, slope)
    }

    /// `Q` by its continued fraction: the factor times `a / (b(0) - c(1) / (b(1) - c(2) / (b(2) - ...)))` with
    /// `b(k) = x - a + 2 k + 1` and `c(k) = k (k - a)`. The rest after the last step, which satisfies about
    /// `f = b - c / f`, is the root of that equation.
    fn fraction(&self, one: Option<Expr<'f>>, factor: Expr<'f>, of_factor: Option<Expr<'f>>) -> Dual<'f> {
        // So large a number that the factor is 0, and so small a number that no step overflows.
        let a = Dual::new(self.a.min(1e30), one);
        let difference = Dual::new(self.x - self.a, one.map(|one| -one));
        let last = self.tables.steps as f64;
        let b = difference + (2.0 * last + 1.0);
        let c = a * -(last + 0.5) + (last + 0.5) * (last + 0.5);
        let root = (b.value * b.value - c.value * 4.0).max(0.0).sqrt();
        let of_root = b.slope.zip(c.slope).map(|(of_b, of_c)| (b.value * of_b - of_c * 2.0) / root);
        let mut rest = (b + Dual::new(root, of_root)) * 0.5;
        for k in (1..=self.tables.steps).rev().map(|k| k as f64) {
            let step = (a * -k + k * k).over(rest);
            rest = -step + (difference + (2.0 * k - 1.0));
        }
        let share = Dual::constant(self.x.number(1.0)).over(rest);
        let slope = of_factor.zip(share.slope).map(|(of_factor, slope)| {
            let change = self.a * of_factor + 1.0;
            factor * (share.value * change + self.a * slope)
        });
        Dual::new(factor * (self.a * share.value), slope)
    }

    /// `Q` for small operands: `a / gamma(a + 1)` times `(gamma(a + 1) - 1) / a - (x^a - 1) / a - x^a s`, where `s` is
    /// the sum of `(-x)^n / ((a + n) n!)`.
    fn small(&self, one: Option<Expr<'f>>) -> Dual<'f> {
        let a = Dual::new(self.a.min(LAST_SMALL_ORDER), one);
        let x = Dual::constant(self.x.min(LAST_SMALL));
        let mut sum = Dual::constant(self.x.number(0.0));
        for n in (1..=self.tables.small_terms).rev().map(|n| n as f64) {
            sum = (Dual::constant(self.x.number(1.0)).over(a + n) + sum) * (x * (-1.0 / n));
        }
        // (x^a - 1) / a = log(x) (e^y - 1) / y with y = a log(x).
        let y = Dual::new(a.value * self.log_x, one.map(|_| self.log_x));
        let mean = y.polynomial(&EXPONENTIAL_MEAN[..self.tables.exponential_terms]);
        let power = y * mean + 1.0;
        let (reciprocal, share) = self.reciprocal_gamma(one);
        let gamma = share.over(reciprocal);
        let rest = -(gamma + mean * Dual::constant(self.log_x) + power * sum);
        a * reciprocal * rest
    }

    /// The expansion for large `a`: with `e^2 / 2 = r - 1 - log r`, where `e` has the sign of `r - 1`, and
    /// `b = c0(e) + c1(e) / a + ...`, `Q = erfc(e sqrt(a / 2)) / 2 + e^(-a e^2 / 2) b / sqrt(2 pi a)`.
    fn expanded(&self, with_slope: bool) -> Dual<'f> {
        let inverse = self.inverse;
        let size = (self.deviation.max(0.0) * 2.0).sqrt();
        let e = self.is_beyond.select(size, -size);
        let (first, others) = self.tables.expansion.split_first().expect("there are coefficients");
        // (r - 1) / e, from c0 = 1 / (r - 1) - 1 / e.
        let slant = with_slope.then(|| 1.0 / (e * e.polynomial(first) + 1.0));
        let place = Dual::new(e, slant.map(|slant| -(slant * inverse)));
        let small = Dual::new(inverse, with_slope.then(|| -(inverse * inverse)));
        let (last, between) = others.split_last().expect("there are several coefficients");
        let mut sum = place.polynomial(last);
        for coefficients in between.iter().rev().chain([first]) {
            sum = sum * small + place.polynomial(coefficients);
        }

        let weight = (inverse * (0.5 * FRAC_1_PI)).sqrt();
        let tail = erf::scaled_complement(size * (self.a * 0.5).sqrt()) * 0.5;
        let more = sum.value * weight;
        let value = self.core * (tail + self.is_beyond.select(more, -more));
        let slope = slant.zip(sum.slope).map(|(slant, of_sum)| {
            let change = slant - e * 0.5 + self.log * sum.value - sum.value * inverse * 0.5 + of_sum;
            let of_upper = self.core * weight * change;
            self.is_beyond.select(of_upper, -of_upper)
        });
        Dual::new(value, slope)
    }
}

/// The density `x^(a - 1) e^-x / gamma(a)`, the derivative of `P(a, x)` by `x`, as operations that have derivatives of
/// any order. From `a = 8` on, powers of `x / a` and Stirling's series: logarithms of the gamma function would cancel.
pub(crate) fn density<'f>(a: Expr<'f>, x: Expr<'f>) -> Expr<'f> {
    use ir::UnaryFunction::Lgamma;
    // At the end of the range the density is 0, and its exponent must not be a difference of infinities.
    let end = if a.is_double() { 1e300 } else { 1e30 };
    let (a, x) = (a.min(end), x.min(end));
    let is_large = a.ge(8.0);

    // Operands of the form that is not selected are those whose derivatives are finite.
    let (small, x_of_small) = (is_large.select(1.0, a), is_large.select(1.0, x));
    // At x = 0 and a = 1, x^0 is 1.
    let base = (x_of_small.eq(0.0) & small.eq(1.0)).select(1.0, x_of_small);
    let near = ((small - 1.0) * base.log() - x_of_small - small.function(Lgamma)).exp();

    // Powers of smaller x are 0.
    let least = if a.is_double() { 1e-290 } else { 1e-30 };
    let (large, x_of_large) = (is_large.select(a, 8.0), is_large.select(x.max(least), 8.0));
    let inverse = 1.0 / large;
    let rest = inverse * (inverse * inverse).polynomial(super::gamma::stirling(a));
    let log = log_of_quotient(x_of_large, large);
    let far = ((large - 1.0) * log - (x_of_large - large) - rest).exp() * (inverse * (0.5 * FRAC_1_PI)).sqrt();
    let value = is_large.select(far, near);
    (a.ge(0.0) & x.ge(0.0)).select(value, f64::NAN)
}

/// `log(x / a)`, which keeps its digits where the operands are near each other, and is finite where the quotient
/// underflows.
fn log_of_quotient<'f>(x: Expr<'f>, a: Expr<'f>) -> Expr<'f> {
    let quotient = (x / a).max(if a.is_double() { 1e-300 } else { 1e-37 });
    let is_near = quotient.gt(0.5) & quotient.lt(2.0);
    let near = is_near.select((x - a) / a, 0.0).log_plus_one();
    is_near.select(near, is_near.select(1.0, quotient).log())
}

/// The derivative of the density by `a`, which is that of [`igamma_grad_a`] by `x`.
pub(crate) fn density_by_order<'f>(a: Expr<'f>, x: Expr<'f>) -> Expr<'f> {
    use ir::UnaryFunction::Digamma;
    let density = density(a, x);
    // 0 where the density is, also where the logarithm is infinite.
    let base = density.eq(0.0).select(1.0, x);
    density * (base.log() - a.function(Digamma))
}

/// Coefficients of `(e^y - 1) / y` in `y`: `1 / (n + 1)!`.
const EXPONENTIAL_MEAN: [f64; 14] = {
    let mut made = [1.0; 14];
    let mut n = 1;
    while n < 14 {
        made[n] = made[n - 1] / (n as f64 + 1.0);
        n += 1;
    }
    made
};
