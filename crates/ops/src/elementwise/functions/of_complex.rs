//! Functions of one complex operand: hyperbolic ones, and inverse circular and hyperbolic ones.
//!
//! The inverse functions are those of T. Hull, T. Fairgrieve and P. Tang (Implementing the complex arcsine and
//! arccosine functions using exception handling, ACM Transactions on Mathematical Software 23, 1997) and W. Kahan
//! (Branch cuts for complex elementary functions, 1987), which XLA's CHLO uses too. Branch cuts, signs of zeros and
//! values at infinities and NaN are those of C (annex G) and NumPy. The formulas are for `|x| + i |y|`; the signs of
//! the operand's parts are copied at the end.

use crate::elementwise::formula::Expr;
use ir::UnaryFunction;
use std::f64::consts::{FRAC_PI_2, LN_2};

/// The formula of a function of complex numbers.
pub fn formula(function: UnaryFunction, z: Expr) -> Expr {
    match function {
        UnaryFunction::Sinh => swapped(swapped(z).sin()),
        // cosh z = cos(i z), and cos of a conjugate is the conjugate.
        UnaryFunction::Cosh => {
            let cosine = swapped(z).cos();
            cosine.real().complex(-cosine.imag())
        }
        UnaryFunction::Asin => asin(z),
        UnaryFunction::Acos => acos(z),
        UnaryFunction::Atan => swapped(atanh(swapped(z))),
        UnaryFunction::Asinh => swapped(asin(swapped(z))),
        UnaryFunction::Acosh => acosh(z),
        UnaryFunction::Atanh => atanh(z),
        _ => unreachable!("{} has no formula for complex numbers", function.name()),
    }
}

/// `z` with its parts swapped: `i` times the conjugate. An odd function `f` with `f(conj z) = conj f(z)` has
/// `-i f(i z) = swapped(f(swapped(z)))`.
fn swapped(z: Expr) -> Expr {
    z.imag().complex(z.real())
}

/// Magnitude beyond which 1 does not change a square in any bit; squares of smaller numbers do not overflow.
fn far(x: Expr) -> f64 {
    if x.is_double() { 2f64.powi(400) } else { 2f64.powi(40) }
}

/// Whether `z` is beyond [`far`], in the direction of either part.
fn is_far<'f>(x: Expr<'f>, y: Expr<'f>) -> Expr<'f> {
    x.max(y).gt(far(x)) | x.is_infinite() | y.is_infinite()
}

/// The parts of the inverse sine and cosine of `x + i y` in the first quadrant.
struct Triangle<'f> {
    /// The angles of the inverse sine and cosine are those of the point `(across, x)`, seen from either axis.
    across: Expr<'f>,
    /// Imaginary part of the inverse sine.
    height: Expr<'f>,
}

/// Computes the triangle. With the distances `r` and `s` from -1 and 1, `a = (r + s) / 2`, the height is `log(a +
/// sqrt(a^2 - 1))` and `across = sqrt(a^2 - x^2)`. Both `a - 1` and `a - x` are sums of positive terms, in which `r -
/// (1 + x)` is `y^2 / (r + 1 + x)`. For `x < 1`, `y` is taken out of the square root, since its square may underflow.
fn triangle<'f>(z: Expr<'f>) -> Triangle<'f> {
    let (x, y) = (z.real().abs(), z.imag().abs());
    let beyond = is_far(x, y);
    let (near_x, near_y) = (beyond.select(1.0, x), beyond.select(1.0, y));
    let (sum, difference) = (near_x + 1.0, near_x - 1.0);
    let square = near_y * near_y;
    let r = (sum * sum + square).sqrt();
    let s = difference.eq(0.0).select(near_y, (difference * difference + square).sqrt());
    let a = (r + s) * 0.5;

    // (r - 1 - x) / y^2, and likewise for s on the side of 1 on which it does not cancel.
    let of_r = 1.0 / (r + sum);
    let of_s = 1.0 / (s + difference.abs());
    let is_inside = near_x.lt(1.0);
    // Twice `a - 1`, divided by `y^2` inside: its half may be denormal, which XLA replaces by 0.
    let inner = of_r + of_s;
    let outer = near_y * (near_y * of_r) + (s + difference);
    let excess = is_inside.select(near_y * (near_y * inner), outer) * 0.5;
    let root = is_inside.select(near_y, 1.0) * (is_inside.select(inner, outer) * ((a + 1.0) * 0.5)).sqrt();
    let height = (excess + root).log_plus_one();

    let half = (a + near_x) * 0.5;
    let side = near_x.le(1.0);
    let near_across = (half * side.select(near_y * (near_y * of_r) + (s - difference), inner)).sqrt();
    let far_height = x.complex(y).log().real() + LN_2;
    Triangle {
        across: beyond.select(y, side.select(near_across, near_y * near_across)),
        height: beyond.select(far_height, height),
    }
}

fn asin(z: Expr) -> Expr {
    let (Triangle { across, height }, x, y) = (triangle(z), z.real(), z.imag());
    let angle = x.eq(0.0).select(x, x.atan2(across));
    angle.complex(height.with_sign_of(y))
}

/// The parts of the inverse cosine: the angle, and the imaginary part for negative `y`.
fn angle_and_height<'f>(z: Expr<'f>) -> (Expr<'f>, Expr<'f>) {
    let Triangle { across, height } = triangle(z);
    (z.real().eq(0.0).select(FRAC_PI_2, across.atan2(z.real())), height)
}

fn acos(z: Expr) -> Expr {
    let (angle, height) = angle_and_height(z);
    angle.complex(height.with_sign_of(-z.imag()))
}

fn acosh(z: Expr) -> Expr {
    let (angle, height) = angle_and_height(z);
    height.complex(angle.with_sign_of(z.imag()))
}

/// The inverse hyperbolic tangent: `log1p(4x / ((1 - x)^2 + y^2)) / 4` and half of the angle of
/// `(1 - x) (1 + x) - y^2 + 2 i y`. At `x = 1`, where the square of a small `y` may underflow, the real part is
/// `log(2 / y) / 2 + log1p(y^2 / 4) / 4`. Far from 0, it is `x / |z|^2`.
fn atanh(z: Expr) -> Expr {
    let (x, y) = (z.real().abs(), z.imag().abs());
    let beyond = is_far(x, y);
    let (near_x, near_y) = (beyond.select(2.0, x), beyond.select(2.0, y));
    let (sum, difference) = (near_x + 1.0, 1.0 - near_x);
    let square = near_y * near_y;
    let near = (near_x * 4.0 / (difference * difference + square)).log_plus_one() * 0.25;
    let beside_one = (LN_2 - near_y.log()) * 0.5 + (square * 0.25).log_plus_one() * 0.25;
    let near = (near_x.eq(1.0) & near_y.lt(0.5)).select(beside_one, near);

    // Scaled, so that squares do not overflow. Quotients of quotients do in XLA, which multiplies their divisors; it
    // multiplies constant factors of a product, too, which would underflow, but not selected ones.
    let scale = beyond.select(if x.is_double() { 2f64.powi(-514) } else { 2f64.powi(-66) }, x);
    let (u, v) = (x * scale, y * scale);
    let distant = u / (u * u + v * v) * scale;
    let distant = (x.is_infinite() | y.is_infinite()).select(0.0, distant);
    let angle = (near_y * 2.0).atan2(difference * sum - square) * 0.5;
    let quarter = y.ne(y).select(y, FRAC_PI_2);
    let re = x.eq(0.0).select(x, beyond.select(distant, near));
    let im = beyond.select(quarter, angle);
    re.with_sign_of(z.real()).complex(im.with_sign_of(z.imag()))
}
