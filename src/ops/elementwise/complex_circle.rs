//! Complex functions computed from sines, cosines and hyperbolic functions of the parts.

use crate::ops::elementwise::builder::Parts;
use crate::ops::elementwise::builder::Steps;
use crate::ops::elementwise::complex_exponential::Power;
use crate::types::DType;

/// Writes `sinh h` for `h` in [0, 1] by its Taylor series; the difference of exponentials would lose most bits there.
fn small_hyperbolic_sine(s: &mut Steps, h: &str) -> String {
    let terms = if s.dtype() == DType::F64 { 9 } else { 5 };
    let square = s.step("multiply", &[h, h]);
    let factor = |k: u32| 1.0 / f64::from(2 * k * (2 * k + 1));
    // Horner's scheme for 1 + h^2 / 6 (1 + h^2 / 20 (...)), from the innermost term.
    let mut sum = s.times(&square, factor(terms));
    for k in (1..terms).rev() {
        let one = s.constant(1.0);
        let inner = s.step("add", &[&sum, &one]);
        let scaled = s.times(&square, factor(k));
        sum = s.step("multiply", &[&scaled, &inner]);
    }
    let rest = s.step("multiply", &[h, &sum]);
    s.step("add", &[h, &rest])
}

/// Writes `sinh h` and `cosh h` for `h` >= 0, from `power`, which is `e^h`, and its reciprocal.
fn hyperbolic(s: &mut Steps, h: &str, power: &str, inverse: &str) -> [String; 2] {
    let (sum, difference) = (s.step("add", &[power, inverse]), s.step("subtract", &[power, inverse]));
    let (cosh, far) = (s.times(&sum, 0.5), s.times(&difference, 0.5));
    let (is_small, near) = (s.compare_with("LT", h, 1.0), small_hyperbolic_sine(s, h));
    [s.choose(&is_small, &near, &far), cosh]
}

/// Sine and cosine of `a`, hyperbolic sine and cosine of `b`. The sine and cosine are multiplied by `Power::scale`, by
/// which the hyperbolic functions are divided.
struct Circle {
    sine: String,
    cosine: String,
    sinh: String,
    cosh: String,
    /// Mask of elements where `a` is infinite or NaN and `b` is 0 (`flat`) or infinite (`tall`).
    flat: String,
    tall: String,
    /// Mask of elements where `a` is 0.
    straight: String,
}

impl Circle {
    fn of(s: &mut Steps, [a, b]: &Parts) -> Circle {
        let h = s.step("abs", &[b]);
        let power = Power::of(s, &h);
        let (one, zero) = (s.constant(1.0), s.constant(0.0));
        let inverse = s.step("divide", &[&one, &power.power]);
        let is_whole = s.compare("EQ", &power.scale, &one);
        let inverse = s.choose(&is_whole, &inverse, &zero);
        let [size, cosh] = hyperbolic(s, &h, &power.power, &inverse);
        let sinh = s.with_sign_of(&size, b);
        let (is_finite, is_flat, is_tall) = (s.is_finite(a), s.compare("EQ", b, &zero), s.is_infinite(&h));
        let is_lost = s.not(&is_finite);
        let (flat, tall, straight) =
            (s.both(&is_lost, &is_flat), s.both(&is_lost, &is_tall), s.compare("EQ", a, &zero));
        let [sine, cosine] = ["sine", "cosine"].map(|op| {
            let value = s.step(op, &[a]);
            s.step("multiply", &[&value, &power.scale])
        });
        Circle { sine, cosine, sinh, cosh, flat, tall, straight }
    }
}

/// Writes the complex sine `sin a cosh b + i cos a sinh b`.
pub fn sine(s: &mut Steps, z: &Parts) -> Parts {
    let c = Circle::of(s, z);
    let (one, aside) = (s.constant(1.0), s.either(&c.flat, &c.tall));
    let cosine = s.choose(&aside, &one, &c.cosine);
    let (re, im) = (s.step("multiply", &[&c.sine, &c.cosh]), s.step("multiply", &[&cosine, &c.sinh]));
    [s.choose(&c.straight, &z[0], &re), im]
}

/// Writes the complex cosine `cos a cosh b - i sin a sinh b`.
pub fn cosine(s: &mut Steps, z: &Parts) -> Parts {
    let c = Circle::of(s, z);
    let one = s.constant(1.0);
    let (sine, cosine) = (s.choose(&c.flat, &one, &c.sine), s.choose(&c.tall, &one, &c.cosine));
    let (re, im) = (s.step("multiply", &[&cosine, &c.cosh]), s.step("multiply", &[&sine, &c.sinh]));
    let side = s.with_sign_of(&one, &z[1]);
    let zero = s.step("multiply", &[&z[0], &side]);
    let im = s.choose(&c.straight, &zero, &im);
    [re, s.step("negate", &[&im])]
}

/// Writes `tanh(x + iy)` as `(sinh x cosh x + i sin y cos y) / (sinh^2 x + cos^2 y)`, whose denominator loses no bits
/// near the poles. For `|x|` above 20 the real part is 1 (with the sign of `x`) and the imaginary part
/// `4 sin y cos y e^(-2 |x|)`.
pub fn tangent(s: &mut Steps, x: &str, y: &str) -> Parts {
    let h = s.step("abs", &[x]);
    let (one, zero) = (s.constant(1.0), s.constant(0.0));
    let (is_far, opposite) = (s.compare_with("GT", &h, 20.0), s.step("negate", &[&h]));
    let signed = s.choose(&is_far, &opposite, &h);
    let power = s.step("exponential", &[&signed]);
    let inverse = s.step("divide", &[&one, &power]);
    let [sinh, cosh] = hyperbolic(s, &h, &power, &inverse);
    let (sine, cosine) = (s.step("sine", &[y]), s.step("cosine", &[y]));
    let turn = s.step("multiply", &[&sine, &cosine]);
    // If x is infinite, the result does not depend on y.
    let (is_infinite, is_finite) = (s.is_infinite(&h), s.is_finite(y));
    let is_lost = s.not(&is_finite);
    let aside = s.both(&is_infinite, &is_lost);
    let turn = s.choose(&aside, &zero, &turn);

    let squares = [&sinh, &cosine].map(|part| s.step("multiply", &[part, part]));
    let divisor = s.step("add", &[&squares[0], &squares[1]]);
    let product = s.step("multiply", &[&sinh, &cosh]);
    let (near_re, near_im) = (s.step("divide", &[&product, &divisor]), s.step("divide", &[&turn, &divisor]));
    let four = s.times(&turn, 4.0);
    let less = s.step("multiply", &[&four, &power]);
    let far_im = s.step("multiply", &[&less, &power]);

    // If x is finite and y is not, the result is NaN.
    let (nan, is_plain) = (s.constant(f64::NAN), s.either(&is_infinite, &is_finite));
    let far_re = s.choose(&is_plain, &one, &nan);
    let (re, im) = (s.choose(&is_far, &far_re, &near_re), s.choose(&is_far, &far_im, &near_im));
    let signed = s.with_sign_of(&re, x);
    let (is_imaginary, is_real) = (s.compare("EQ", x, &zero), s.compare("EQ", y, &zero));
    [s.choose(&is_imaginary, x, &signed), s.choose(&is_real, y, &im)]
}

/// Writes the logistic function `1 / (1 + e^-z)`. With `w = e^-|a|`, `p = 1 - w` and `k = 1 + cos b`,
/// `|1 + w e^(ib)|^2` is `p^2 + 2 w k`, which loses no bits near the poles.
pub fn logistic(s: &mut Steps, [a, b]: &Parts) -> Parts {
    let h = s.step("abs", &[a]);
    let (one, zero) = (s.constant(1.0), s.constant(0.0));
    let (is_small, half_h) = (s.compare("LT", &h, &one), s.times(&h, 0.5));
    let less = s.choose(&is_small, &half_h, &h);
    let opposite = s.step("negate", &[&less]);
    let power = s.step("exponential", &[&opposite]);
    // 1 - e^-h = 2 sinh(h/2) e^(-h/2).
    let sinh = small_hyperbolic_sine(s, &half_h);
    let twice = s.step("add", &[&sinh, &sinh]);
    let (near_p, far_p) = (s.step("multiply", &[&twice, &power]), s.step("subtract", &[&one, &power]));
    let p = s.choose(&is_small, &near_p, &far_p);
    let near_w = s.step("subtract", &[&one, &near_p]);
    let w = s.choose(&is_small, &near_w, &power);

    let half_b = s.times(b, 0.5);
    let (is_infinite, is_finite) = (s.is_infinite(&h), s.is_finite(b));
    let is_lost = s.not(&is_finite);
    let aside = s.both(&is_infinite, &is_lost);
    let (sine, cosine) = (s.step("sine", &[&half_b]), s.step("cosine", &[&half_b]));
    let (sine, cosine) = (s.choose(&aside, &zero, &sine), s.choose(&aside, &one, &cosine));
    let twice = s.step("add", &[&cosine, &cosine]);
    let k = s.step("multiply", &[&twice, &cosine]);
    let wk = s.step("multiply", &[&w, &k]);
    let (square, twice_wk) = (s.step("multiply", &[&p, &p]), s.step("add", &[&wk, &wk]));
    let divisor = s.step("add", &[&square, &twice_wk]);

    let (right, rest) = (s.step("add", &[&p, &wk]), s.step("subtract", &[&k, &p]));
    let left = s.step("multiply", &[&w, &rest]);
    let is_right = s.compare("GE", a, &zero);
    let re = s.choose(&is_right, &right, &left);
    let turn = s.step("multiply", &[&twice, &sine]);
    let im = s.step("multiply", &[&w, &turn]);
    [re, im].map(|part| s.step("divide", &[&part, &divisor]))
}
