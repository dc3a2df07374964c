//! Airy functions `Ai` and `Bi` and their derivatives, the solutions of `y'' = x y`, with `z = 2/3 |x|^1.5`.
//!
//! From -4 to `3^(2/3)`, where `z` is 2, `Ai = a(x^3) - x b(x^3)` and `Bi = sqrt(3) (a(x^3) + x b(x^3))`, with
//! polynomials `a` and `b`, others below `x^3 = -9`; but for `Ai` beyond 0, where terms cancel, `e^(1.25 x) Ai` is a
//! polynomial in `x`. At the right, `e^z x^(1/4) Ai` is one in `(z - 2) / (z + 2)`, and `e^-z x^(1/4) Bi` one in
//! `(z - 4) / (z + 4)` up to `z = 12`, and in `1 / z` beyond. At the left, `|x|^(1/4) Ai = P cos(z - pi/4) + Q sin(z -
//! pi/4)` and `|x|^(1/4) Bi = Q cos(z - pi/4) - P sin(z - pi/4)` (DLMF 9.7), where `P` and `z Q` are polynomials in
//! `1 / z^2`.
//! Likewise for the derivatives.
//!
//! Errors at the left are small relative to `|x|^(-1/4) / sqrt(pi)`, and to `|x|^(1/4) / sqrt(pi)` for derivatives;
//! near the zeros, relative errors may be large.

use super::airy_tables::{F32, F64, Tables};
use crate::elementwise::formula::Expr;
use base::types::DType;
use std::f64::consts::FRAC_1_SQRT_2;

/// Ends of the region of power series.
const LEFT: f64 = -4.0;
const RIGHT: f64 = 2.080083823051904;

/// Here `z` is 12.
const FAR: f64 = 6.868285455319991;

/// `z` at [`LEFT`].
const LEFT_Z: f64 = 16.0 / 3.0;

/// Returns `Ai`, or `Bi` if `is_second`, of order 0, or its derivative, of order 1.
pub fn airy(x: Expr, is_second: bool, order: usize) -> Expr {
    let tables = if x.is_double() { &F64[order] } else { &F32[order] };
    let small = x.max(LEFT).min(RIGHT);
    let cube = small * small * small;
    let (place, is_left) = ((cube.min(-9.0) * 2.0 + 73.0) / 55.0, cube.lt(-9.0));
    let cube = cube.max(-9.0);
    let even = is_left.select(place.polynomial(tables.even_left), cube.polynomial(tables.even));
    let odd = is_left.select(place.polynomial(tables.odd_left), cube.polynomial(tables.odd));
    let (even, odd) = if order == 0 { (even, small * odd) } else { (small * small * even, odd) };
    let near = if is_second {
        (even + odd) * 3f64.sqrt()
    } else {
        let place = small.max(0.0) * (2.0 / RIGHT) - 1.0;
        let right = place.polynomial(tables.right) * (small * -1.25).exp();
        small.gt(0.0).select(if order == 0 { right } else { -right }, even - odd)
    };
    let wave = wave(x, is_second, order, tables);
    let root = root(x.min(1e30));
    let scale = if order == 0 { 1.0 / root } else { root };
    let far = if is_second { growth(x, tables, scale) } else { decay(x, tables) * scale };
    let far = if order == 1 && !is_second { -far } else { far };
    x.lt(LEFT).select(wave, x.le(RIGHT).select(near, far))
}

/// The second derivative `x y`, also at infinity, where a `y` of 0 falls faster. At -infinity it is NaN.
pub(crate) fn second_derivative<'f>(x: Expr<'f>, y: Expr<'f>) -> Expr<'f> {
    (y.eq(0.0) & x.gt(0.0)).select(0.0, x) * y
}

/// `|x|^(1/4)`.
fn root(x: Expr) -> Expr {
    x.abs().sqrt().sqrt()
}

/// `e^-z` times a polynomial.
fn decay<'f>(x: Expr<'f>, tables: &Tables) -> Expr<'f> {
    // Beyond 200, the value is 0.
    let z = Argument::of(x.max(RIGHT).min(200.0));
    let sum = z.whole();
    ((sum - 2.0) / (sum + 2.0)).polynomial(tables.tail) * ((-z.main).exp() * (1.0 - z.rest))
}

/// `e^z` times a polynomial and `scale`. The power may overflow where the product does not.
fn growth<'f>(x: Expr<'f>, tables: &Tables, scale: Expr<'f>) -> Expr<'f> {
    let z = Argument::of(x.max(RIGHT).min(200.0));
    let sum = z.whole();
    let near = ((sum - 4.0) / (sum + 4.0)).polynomial(tables.growth);
    let far = (24.0 / sum.max(12.0) - 1.0).polynomial(tables.growth_far);
    let factor = x.le(FAR).select(near, far) * scale;
    let is_large = z.main.gt(if x.is_double() { 600.0 } else { 60.0 });
    let power = is_large.select(z.main - 4.0, z.main).exp();
    factor * is_large.select(factor.number(4f64.exp()), 1.0) * (z.rest + 1.0) * power
}

/// The waves at the left of [`LEFT`].
fn wave<'f>(x: Expr<'f>, is_second: bool, order: usize, tables: &Tables) -> Expr<'f> {
    let size = x.abs().max(-LEFT);
    let limit = if x.is_double() { 1e14 } else { 1e8 };
    let z = Argument::of(size.min(limit));
    let inverse = LEFT_Z / z.whole();
    let place = inverse * inverse * 2.0 - 1.0;
    let (p, q) = (place.polynomial(tables.p), place.polynomial(tables.q) / z.whole());
    let ([sine, cosine], [small_sine, small_cosine]) = (sine_and_cosine(z.main), sine_and_cosine(z.rest));
    let (sine, cosine) = (sine * small_cosine + cosine * small_sine, cosine * small_cosine - sine * small_sine);
    // The cosine and the sine of z - pi/4.
    let (c, s) = ((cosine + sine) * FRAC_1_SQRT_2, (sine - cosine) * FRAC_1_SQRT_2);
    let value = match (order, is_second) {
        (0, false) => p * c + q * s,
        (0, true) => q * c - p * s,
        (_, false) => p * s + q * c,
        (_, true) => p * c - q * s,
    };
    let (value, end) = if order == 0 { (value / root(size), 0.0) } else { (value * root(size), f64::NAN) };
    size.is_infinite().select(end, value)
}

fn sine_and_cosine(x: Expr) -> [Expr; 2] {
    [x.sin(), x.cos()]
}

/// `2/3 x^1.5` as the sum of a number without its last bits and a small rest: a rounding error of it would be an error
/// of the power and the angle.
struct Argument<'f> {
    main: Expr<'f>,
    rest: Expr<'f>,
}

impl<'f> Argument<'f> {
    fn of(x: Expr<'f>) -> Argument<'f> {
        // Products of numbers with half of the bits are exact.
        let half = if x.is_double() { 27 } else { 12 };
        let root = x.sqrt();
        let (x_high, root_high) = (without_bits(x, half), without_bits(root, half));
        let root_low = (x - root_high * root_high) / (root + root_high);
        let product = x_high * root_high;
        let missing = x_high * root_low + (x - x_high) * root;
        let main = without_bits((product + missing) * (2.0 / 3.0), 2);
        Argument { main, rest: ((product - main * 1.5) + missing) * (2.0 / 3.0) }
    }

    fn whole(&self) -> Expr<'f> {
        self.main + self.rest
    }
}

/// A number with its last bits set to 0.
fn without_bits(x: Expr, count: u32) -> Expr {
    let bits = if x.is_double() { DType::S64 } else { DType::S32 };
    (x.bits(bits) & -(1i64 << count)).bits(x.dtype())
}
