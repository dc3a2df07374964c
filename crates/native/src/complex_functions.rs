//! Functions of complex numbers, as formulas of their real and imaginary parts. They are the kernels of host arrays,
//! whose parts are f64 ([`Part`] for f64), and what `crates/ops/src/elementwise/functions/complex.rs` records for XLA, whose own
//! functions lose bits near poles, zeros and the unit circle, and overflow before their results do. Values at
//! infinities and NaN follow C (ISO/IEC 9899:2018, annex G) and the array API standard.

use std::ops::{Add, BitAnd, BitOr, Div, Mul, Neg, Not, Sub};

/// Real and imaginary part.
pub type Parts<R> = [R; 2];

/// A real or imaginary part: a float, or an expression whose operations are recorded.
pub trait Part:
    Copy
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + Add<f64, Output = Self>
    + Sub<f64, Output = Self>
    + Mul<f64, Output = Self>
{
    /// Result of a comparison.
    type Mask: Copy + BitAnd<Output = Self::Mask> + BitOr<Output = Self::Mask> + Not<Output = Self::Mask>;

    /// Whether it has the width of f64, not of f32.
    fn is_double(self) -> bool;
    /// A number of the same type.
    fn number(self, value: f64) -> Self;
    /// `self` where the mask is true, and `other` elsewhere.
    fn when(self, mask: Self::Mask, other: Self) -> Self;
    /// Whether it equals another number.
    fn equals(self, other: Self) -> Self::Mask;
    /// Whether it is less than another number; false if either is NaN.
    fn is_below(self, other: Self) -> Self::Mask;
    /// Whether it is neither infinite nor NaN.
    fn is_finite(self) -> Self::Mask;
    /// The larger number; NaN if either is NaN.
    fn greater(self, other: Self) -> Self;
    /// The smaller number; NaN if either is NaN.
    fn smaller(self, other: Self) -> Self;
    /// The magnitude with the sign bit of another number.
    fn with_sign_of(self, other: Self) -> Self;
    /// The magnitude.
    fn abs(self) -> Self;
    /// e to this power.
    fn exp(self) -> Self;
    /// `exp(self) - 1`, accurate near 0.
    fn exp_minus_one(self) -> Self;
    /// The natural logarithm.
    fn log(self) -> Self;
    /// `log(1 + self)`, accurate near 0.
    fn log_plus_one(self) -> Self;
    /// The square root.
    fn sqrt(self) -> Self;
    /// The sine of an angle in radians.
    fn sin(self) -> Self;
    /// The cosine of an angle in radians.
    fn cos(self) -> Self;
    /// The angle of the point (x, self), in radians.
    fn atan2(self, x: Self) -> Self;

    /// Whether it equals a number.
    fn is_number(self, value: f64) -> Self::Mask {
        self.equals(self.number(value))
    }

    /// Whether it is less than a number.
    fn is_less(self, value: f64) -> Self::Mask {
        self.is_below(self.number(value))
    }

    /// Whether it is greater than a number.
    fn is_more(self, value: f64) -> Self::Mask {
        self.number(value).is_below(self)
    }

    /// Whether it is positive or zero.
    fn is_right(self) -> Self::Mask {
        self.is_more(0.0) | self.is_number(0.0)
    }

    /// `self` where the mask is true, and a number elsewhere.
    fn when_or(self, mask: Self::Mask, value: f64) -> Self {
        self.when(mask, self.number(value))
    }

    /// A number where the mask is true, and `self` elsewhere.
    fn unless(self, mask: Self::Mask, value: f64) -> Self {
        self.number(value).when(mask, self)
    }
}

impl Part for f64 {
    type Mask = bool;

    fn is_double(self) -> bool {
        true
    }

    fn number(self, value: f64) -> f64 {
        value
    }

    fn when(self, mask: bool, other: f64) -> f64 {
        if mask { self } else { other }
    }

    fn equals(self, other: f64) -> bool {
        self == other
    }

    fn is_below(self, other: f64) -> bool {
        self < other
    }

    fn is_finite(self) -> bool {
        f64::is_finite(self)
    }

    fn greater(self, other: f64) -> f64 {
        if self > other || self.is_nan() { self } else { other }
    }

    fn smaller(self, other: f64) -> f64 {
        if self < other || self.is_nan() { self } else { other }
    }

    fn with_sign_of(self, other: f64) -> f64 {
        self.copysign(other)
    }

    fn abs(self) -> f64 {
        f64::abs(self)
    }

    fn exp(self) -> f64 {
        f64::exp(self)
    }

    fn exp_minus_one(self) -> f64 {
        self.exp_m1()
    }

    fn log(self) -> f64 {
        self.ln()
    }

    fn log_plus_one(self) -> f64 {
        self.ln_1p()
    }

    fn sqrt(self) -> f64 {
        f64::sqrt(self)
    }

    fn sin(self) -> f64 {
        f64::sin(self)
    }

    fn cos(self) -> f64 {
        f64::cos(self)
    }

    fn atan2(self, x: f64) -> f64 {
        f64::atan2(self, x)
    }
}

/// Whether either number is infinite.
fn any_infinite<R: Part>([a, b]: Parts<R>) -> R::Mask {
    a.abs().is_number(f64::INFINITY) | b.abs().is_number(f64::INFINITY)
}

/// A complex number multiplied by a power of four, so that squares of its parts neither overflow nor underflow.
struct Scaled<R: Part> {
    parts: Parts<R>,
    /// Absolute value of the scaled number.
    size: R,
    /// Whether the number is 0.
    is_zero: R::Mask,
    /// Factor by which the scaled absolute value is multiplied to get the unscaled one.
    back: R,
    /// Square root of `back`; `root` is the square root of its reciprocal.
    root_back: R,
    root: R,
}

impl<R: Part> Scaled<R> {
    fn of([a, b]: Parts<R>) -> Scaled<R> {
        // The smallest subnormal number, scaled, has a square that is a normal number. Large numbers are scaled less,
        // so that a much smaller part keeps its bits.
        let ((above, down), (below, up)) =
            if a.is_double() { ((500, 260), (-450, 300)) } else { ((60, 36), (-50, 44)) };
        let large = a.abs().greater(b.abs());
        let (is_large, is_small) = (large.is_more(2f64.powi(above)), large.is_less(2f64.powi(below)));
        let power = |factor: i32| {
            let [of_large, of_small] = [-factor * down, factor * up].map(|exponent| a.number(2f64.powi(exponent)));
            of_large.when(is_large, of_small.when_or(is_small, 1.0))
        };
        let scale = power(2);
        let parts = [a * scale, b * scale];
        Scaled {
            size: (parts[0] * parts[0] + parts[1] * parts[1]).sqrt(),
            parts,
            is_zero: large.is_number(0.0),
            back: power(-2),
            root_back: power(-1),
            root: power(1),
        }
    }

    /// Square root of the scaled number.
    fn square_root(&self) -> Parts<R> {
        let [a, b] = self.parts;
        let half = ((a.abs() + self.size) * 0.5).sqrt();
        let other = (b.abs() / (half + half)).unless(self.is_zero, 0.0);
        let is_right = a.is_right();
        [half.when(is_right, other), other.when(is_right, half).with_sign_of(b)]
    }
}

/// The absolute value: infinite if either part is, even if the other is NaN.
pub fn size<R: Part>(z: Parts<R>) -> R {
    let scaled = Scaled::of(z);
    (scaled.size * scaled.back).unless(any_infinite(z), f64::INFINITY)
}

/// `z / |z|`; 0 for zeros of any sign.
pub fn sign<R: Part>(z: Parts<R>) -> Parts<R> {
    let scaled = Scaled::of(z);
    scaled.parts.map(|part| (part / scaled.size).unless(scaled.is_zero, 0.0))
}

/// The square root, whose real part is not negative. Below the branch cut (imaginary part negative or -0), the root's
/// imaginary part has that sign too.
pub fn sqrt<R: Part>(z: Parts<R>) -> Parts<R> {
    let scaled = Scaled::of(z);
    let [re, im] = scaled.square_root().map(|part| part * scaled.root_back);
    let [a, b] = z;
    let is_tall = b.abs().is_number(f64::INFINITY);
    let (grows, above) = (is_tall | a.is_number(f64::INFINITY), is_tall | a.is_number(f64::NEG_INFINITY));
    [re.unless(grows, f64::INFINITY), im.unless(above, f64::INFINITY).with_sign_of(b)]
}

/// The reciprocal square root: the conjugate of the root divided by the absolute value; 0 for infinity;
/// `infinity + NaN i` for 0, as by division.
pub fn rsqrt<R: Part>(z: Parts<R>) -> Parts<R> {
    let scaled = Scaled::of(z);
    let any = any_infinite(z);
    let [re, im] = scaled.square_root().map(|part| (part / scaled.size * scaled.root).unless(any, 0.0));
    [re.unless(scaled.is_zero, f64::INFINITY), -im.with_sign_of(z[1])]
}

/// `e^x` as a product of two factors. `x` may be nearly twice as large as for the exponential itself, if the value that
/// it is multiplied by is correspondingly small.
struct Power<R> {
    /// `e^x`, divided by `scale`.
    power: R,
    /// 1, or a fixed factor if `x` is large.
    scale: R,
}

/// Amount subtracted from `x` above a limit. The subtraction is exact, and e to this power is nearly a float: among all
/// values with few bits, these are the best.
const STEP_F32: f64 = 87.28125;
const STEP_F64: f64 = 708.4375;

impl<R: Part> Power<R> {
    fn of(x: R) -> Power<R> {
        let (limit, step) = if x.is_double() { (512.0, STEP_F64) } else { (64.0, STEP_F32) };
        let is_large = x.is_more(limit);
        let down = x.number(step).when_or(is_large, 0.0);
        Power { power: (x - down).exp(), scale: x.number(step.exp()).when_or(is_large, 1.0) }
    }

    /// `factor e^x`.
    fn times(&self, factor: R) -> R {
        factor * self.scale * self.power
    }
}

/// Masks of the elements whose angle `b` is infinite or NaN, but whose magnitude `e^a` determines the result.
/// `anywhere`: `a` is infinite, so that the magnitude is 0 or infinite. `at_zero`: `a` is -infinity, so that it is 0.
struct Lost<M> {
    anywhere: M,
    at_zero: M,
}

impl<M> Lost<M> {
    fn of<R: Part<Mask = M>>([a, b]: Parts<R>) -> Lost<M>
    where
        M: Copy + BitAnd<Output = M> + Not<Output = M>,
    {
        let anywhere = a.abs().is_number(f64::INFINITY) & !b.is_finite();
        Lost { anywhere, at_zero: anywhere & a.is_less(0.0) }
    }
}

/// `e^a (cos b + i sin b)`.
pub fn exp<R: Part>(z: Parts<R>) -> Parts<R> {
    let [a, b] = z;
    let (lost, power) = (Lost::of(z), Power::of(a));
    let cosine = b.cos().unless(lost.anywhere, 1.0);
    let sine = b.sin().unless(lost.at_zero, 0.0);
    [power.times(cosine), b.when(b.is_number(0.0), power.times(sine))]
}

/// `(e^a - 1) cos b - 2 sin^2(b/2) + i e^a sin b`. For `a` above 45, where rounding loses the 1, the real part is that
/// of `e^z`.
pub fn exp_minus_one<R: Part>(z: Parts<R>) -> Parts<R> {
    let [a, b] = z;
    let [far, im] = exp(z);
    let lost = Lost::of(z);
    let cosine = b.cos().unless(lost.anywhere, 1.0);
    let sine = (b * 0.5).sin().unless(lost.anywhere, 0.0);
    let square = sine * sine;
    let near = a.exp_minus_one() * cosine - (square + square);
    [far.when(a.is_more(45.0), near), im]
}

/// The logarithm of the absolute value. Near the unit circle it is computed by log1p of `|z|^2 - 1`, since the
/// logarithm itself would keep few bits there.
fn log_of_size<R: Part>(z: Parts<R>) -> R {
    let sizes = z.map(R::abs);
    let (large, small) = (sizes[0].greater(sizes[1]), sizes[0].smaller(sizes[1]));
    let beyond = (large - 1.0) * (large + 1.0) + small * small;
    let ratio = small / large.unless(large.is_number(0.0), 1.0);
    let is_near = large.is_more(0.5) & large.is_less(2.0) & small.is_less(1.0);
    let half = beyond.when(is_near, ratio * ratio).log_plus_one() * 0.5;
    half.when(is_near, large.log() + half).unless(any_infinite(z), f64::INFINITY)
}

/// The natural logarithm.
pub fn log<R: Part>(z: Parts<R>) -> Parts<R> {
    [log_of_size(z), z[1].atan2(z[0])]
}

/// `log(1 + z)`. Near 0 it is computed from `|1 + z|^2 - 1 = a (2 + a) + b^2`.
pub fn log_plus_one<R: Part>([a, b]: Parts<R>) -> Parts<R> {
    let sum = a + 1.0;
    let near = (a * (a + 2.0) + b * b).log_plus_one() * 0.5;
    let is_near = a.abs().is_less(0.5) & b.abs().is_less(0.5);
    [near.when(is_near, log_of_size([sum, b])), b.atan2(sum)]
}

/// `base^exponent` as `e^(exponent log base)`. As in NumPy, 0 to the power of 0 is 1, 0 to an exponent with a positive
/// real part is 0, and 0 to any other exponent is NaN. Rounding errors grow with the exponential's argument, so powers
/// of c64 are computed in c128.
pub fn power<R: Part>(base: Parts<R>, exponent: Parts<R>) -> Parts<R> {
    let [size, angle] = log(base);
    let [c, d] = exponent;
    let [re, im] = exp([c * size - d * angle, d * size + c * angle]);
    let is_zero = |z: Parts<R>| z[0].is_number(0.0) & z[1].is_number(0.0);
    let of_zero = c.number(0.0).when_or(c.is_more(0.0), f64::NAN);
    let (base_is_zero, is_one) = (is_zero(base), is_zero(exponent));
    [of_zero.when(base_is_zero, re).unless(is_one, 1.0), of_zero.when(base_is_zero, im).unless(is_one, 0.0)]
}

/// `sinh h` for `h` in [0, 1] by its Taylor series; the difference of exponentials would lose most bits there.
fn small_sinh<R: Part>(h: R) -> R {
    let terms = if h.is_double() { 9 } else { 5 };
    let square = h * h;
    let factor = |k: u32| 1.0 / f64::from(2 * k * (2 * k + 1));
    // Horner's scheme for 1 + h^2 / 6 (1 + h^2 / 20 (...)), from the innermost term.
    let sum = (1..terms).rev().fold(square * factor(terms), |sum, k| square * factor(k) * (sum + 1.0));
    h + h * sum
}

/// `sinh h` and `cosh h` for `h` >= 0, from `power`, which is `e^h`, and its reciprocal.
fn sinh_cosh<R: Part>(h: R, power: R, inverse: R) -> [R; 2] {
    let far = (power - inverse) * 0.5;
    [small_sinh(h).when(h.is_less(1.0), far), (power + inverse) * 0.5]
}

/// Sine and cosine of `a`, hyperbolic sine and cosine of `b`. The sine and cosine are multiplied by `Power::scale`, by
/// which the hyperbolic functions are divided.
struct Circle<R: Part> {
    sine: R,
    cosine: R,
    sinh: R,
    cosh: R,
    /// Whether `a` is infinite or NaN and `b` is 0 (`flat`) or infinite (`tall`).
    flat: R::Mask,
    tall: R::Mask,
    /// Whether `a` is 0.
    straight: R::Mask,
}

impl<R: Part> Circle<R> {
    fn of([a, b]: Parts<R>) -> Circle<R> {
        let h = b.abs();
        let Power { power, scale } = Power::of(h);
        let inverse = (h.number(1.0) / power).when_or(scale.is_number(1.0), 0.0);
        let [size, cosh] = sinh_cosh(h, power, inverse);
        let is_lost = !a.is_finite();
        Circle {
            sine: a.sin() * scale,
            cosine: a.cos() * scale,
            sinh: size.with_sign_of(b),
            cosh,
            flat: is_lost & b.is_number(0.0),
            tall: is_lost & h.is_number(f64::INFINITY),
            straight: a.is_number(0.0),
        }
    }
}

/// `sin a cosh b + i cos a sinh b`.
pub fn sin<R: Part>(z: Parts<R>) -> Parts<R> {
    let c = Circle::of(z);
    let cosine = c.cosine.unless(c.flat | c.tall, 1.0);
    [z[0].when(c.straight, c.sine * c.cosh), cosine * c.sinh]
}

/// `cos a cosh b - i sin a sinh b`.
pub fn cos<R: Part>(z: Parts<R>) -> Parts<R> {
    let c = Circle::of(z);
    let (sine, cosine) = (c.sine.unless(c.flat, 1.0), c.cosine.unless(c.tall, 1.0));
    let side = z[1].number(1.0).with_sign_of(z[1]);
    [cosine * c.cosh, -(z[0] * side).when(c.straight, sine * c.sinh)]
}

/// `(sinh x cosh x + i sin y cos y) / (sinh^2 x + cos^2 y)`, whose denominator loses no bits near the poles. For `|x|`
/// above 20 the real part is 1 (with the sign of `x`) and the imaginary part `4 sin y cos y e^(-2 |x|)`.
pub fn tanh<R: Part>([x, y]: Parts<R>) -> Parts<R> {
    let h = x.abs();
    let is_far = h.is_more(20.0);
    let power = (-h).when(is_far, h).exp();
    let [sinh, cosh] = sinh_cosh(h, power, h.number(1.0) / power);
    let cosine = y.cos();
    // If x is infinite, the result does not depend on y. If x is finite and y is not, the result is NaN.
    let (is_infinite, is_finite) = (h.is_number(f64::INFINITY), y.is_finite());
    let turn = (y.sin() * cosine).unless(is_infinite & !is_finite, 0.0);
    let divisor = sinh * sinh + cosine * cosine;
    let far = x.number(1.0).when_or(is_infinite | is_finite, f64::NAN);
    let re = far.when(is_far, sinh * cosh / divisor).with_sign_of(x);
    let im = (turn * 4.0 * power * power).when(is_far, turn / divisor);
    [x.when(x.is_number(0.0), re), y.when(y.is_number(0.0), im)]
}

/// `tan z = -i tanh(i z)`. Since `tanh(conj z) = conj(tanh z)`, this is tanh with swapped input and output parts.
pub fn tan<R: Part>([a, b]: Parts<R>) -> Parts<R> {
    let [re, im] = tanh([b, a]);
    [im, re]
}

/// `1 / (1 + e^-z)`. With `w = e^-|a|`, `p = 1 - w` and `k = 1 + cos b`, the divisor `|1 + w e^(ib)|^2` is
/// `p^2 + 2 w k`, which loses no bits near the poles.
pub fn logistic<R: Part>([a, b]: Parts<R>) -> Parts<R> {
    let h = a.abs();
    let one = a.number(1.0);
    let is_small = h.is_less(1.0);
    let power = (-(h * 0.5).when(is_small, h)).exp();
    // 1 - e^-h = 2 sinh(h/2) e^(-h/2).
    let sinh = small_sinh(h * 0.5);
    let near = (sinh + sinh) * power;
    let p = near.when(is_small, one - power);
    let w = (one - near).when(is_small, power);

    let aside = h.is_number(f64::INFINITY) & !b.is_finite();
    let half = b * 0.5;
    let (sine, cosine) = (half.sin().unless(aside, 0.0), half.cos().unless(aside, 1.0));
    let twice = cosine + cosine;
    let k = twice * cosine;
    let wk = w * k;
    let divisor = p * p + (wk + wk);
    let re = (p + wk).when(a.is_right(), w * (k - p));
    [re / divisor, w * (twice * sine) / divisor]
}
