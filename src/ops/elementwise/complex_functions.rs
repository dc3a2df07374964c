//! Complex functions, written as operations on real and imaginary parts. XLA's own functions lose bits near poles,
//! zeros and the unit circle, overflow before their results do, and differ from C (ISO/IEC 9899:2018, annex G) and the
//! array API standard at infinities and NaN.

use crate::emit::Emitter;
use crate::ir::UnaryOp;
use crate::ops::elementwise::arc::arc_tangent;
use crate::ops::elementwise::builder::Parts;
use crate::ops::elementwise::builder::Steps;
use crate::ops::elementwise::complex_circle::{cosine, logistic, sine, tangent};
use crate::ops::elementwise::complex_exponential::{exponential, exponential_minus_one, logarithm, logarithm_plus_one};
use crate::types::{DType, ScalarValue, TensorType};

/// Writes `name = op(x)` for a complex `x` of this type.
pub fn function(e: &mut Emitter, name: &str, op: UnaryOp, x: &str, ty: &TensorType) {
    let formula: fn(&mut Steps, &Parts) -> Parts = match op {
        UnaryOp::Sign => sign,
        UnaryOp::Exponential => exponential,
        UnaryOp::ExponentialMinusOne => exponential_minus_one,
        UnaryOp::Log => |s, z| with_angle(s, z, logarithm),
        UnaryOp::LogPlusOne => logarithm_plus_one,
        UnaryOp::Logistic => logistic,
        UnaryOp::Tanh => |s, [a, b]| tangent(s, a, b),
        // tan z = -i tanh(i z). Since tanh(conj z) = conj(tanh z), this is tanh with swapped input and output parts.
        UnaryOp::Tan => |s, [a, b]| {
            let [re, im] = tangent(s, b, a);
            [im, re]
        },
        UnaryOp::Sqrt => root,
        UnaryOp::Rsqrt => reciprocal_root,
        UnaryOp::Sine => sine,
        UnaryOp::Cosine => cosine,
        _ => return e.elementwise(name, op.name(), &[x], ty),
    };
    let given = parts(e, x, ty);
    let [re, im] = formula(&mut Steps::of(e, &part(ty)), &given);
    join(e, name, &re, &im, ty);
}

/// Type of the real and imaginary parts.
fn part(ty: &TensorType) -> TensorType {
    TensorType { dtype: ty.dtype.real(), dims: ty.dims.clone() }
}

fn parts(e: &mut Emitter, x: &str, ty: &TensorType) -> Parts {
    ["real", "imag"].map(|which| {
        let name = e.temporary();
        e.changing(&name, which, &[x], ty, &part(ty));
        name
    })
}

fn join(e: &mut Emitter, name: &str, re: &str, im: &str, ty: &TensorType) {
    e.changing(name, "complex", &[re, im], &part(ty), ty);
}

/// A complex number multiplied by a power of four, so that squares of its parts neither overflow nor underflow.
struct Scaled {
    /// Larger absolute value of the parts of the unscaled number.
    large: String,
    parts: Parts,
    /// Absolute value of the scaled number.
    size: String,
    /// Factor by which the scaled absolute value is multiplied to get the unscaled one.
    back: String,
    /// Square root of `back`; `root` is the square root of its reciprocal.
    root_back: String,
    root: String,
}

fn scaled(s: &mut Steps, [a, b]: &Parts) -> Scaled {
    let (above, below, exponent) = if s.dtype() == DType::F64 { (500, -450, 260) } else { (60, -50, 36) };
    let [width, height] = [a, b].map(|part| s.step("abs", &[part]));
    let large = s.step("maximum", &[&width, &height]);
    let (is_large, is_small) =
        (s.compare_with("GT", &large, 2f64.powi(above)), s.compare_with("LT", &large, 2f64.powi(below)));
    let mut power = |exponent: i32| {
        let [large, small, one] = [-exponent, exponent, 0].map(|exponent| s.constant(2f64.powi(exponent)));
        let upper = s.choose(&is_small, &small, &one);
        s.choose(&is_large, &large, &upper)
    };
    let (scale, back, root, root_back) = (power(2 * exponent), power(-2 * exponent), power(exponent), power(-exponent));
    let parts = [a, b].map(|part| s.step("multiply", &[part, &scale]));
    let squares = parts.each_ref().map(|part| s.step("multiply", &[part, part]));
    let sum = s.step("add", &[&squares[0], &squares[1]]);
    let size = s.step("sqrt", &[&sum]);
    Scaled { large, parts, size, back, root_back, root }
}

/// Writes the absolute value: infinite if either part is, even if the other is NaN. `name` has the parts' type.
pub fn magnitude(e: &mut Emitter, name: &str, x: &str, ty: &TensorType) {
    let given = parts(e, x, ty);
    let mut s = Steps::of(e, &part(ty));
    let number = scaled(&mut s, &given);
    let size = s.step("multiply", &[&number.size, &number.back]);
    let (any, infinity) = (s.any_infinite(&given), s.constant(f64::INFINITY));
    s.select(name, &any, &infinity, &size);
}

/// Writes `z / |z|`; 0 for zeros of any sign.
fn sign(s: &mut Steps, z: &Parts) -> Parts {
    let number = scaled(s, z);
    let (is_zero, zero) = (s.compare_with("EQ", &number.large, 0.0), s.constant(0.0));
    number.parts.map(|part| {
        let share = s.step("divide", &[&part, &number.size]);
        s.choose(&is_zero, &zero, &share)
    })
}

/// Writes the square root of the scaled number.
fn root_of_scaled(s: &mut Steps, number: &Scaled) -> Parts {
    let [a, b] = &number.parts;
    let [width, height] = [a, b].map(|part| s.step("abs", &[part]));
    let sum = s.step("add", &[&width, &number.size]);
    let mean = s.times(&sum, 0.5);
    let half = s.step("sqrt", &[&mean]);
    let twice = s.step("add", &[&half, &half]);
    let quotient = s.step("divide", &[&height, &twice]);
    let (is_zero, zero) = (s.compare_with("EQ", &number.large, 0.0), s.constant(0.0));
    let other = s.choose(&is_zero, &zero, &quotient);
    let is_right = s.compare("GE", a, &zero);
    let (re, im) = (s.choose(&is_right, &half, &other), s.choose(&is_right, &other, &half));
    [re, s.with_sign_of(&im, b)]
}

/// Writes the square root. Below the branch cut (imaginary part negative or -0), the root's imaginary part has that
/// sign too.
fn root(s: &mut Steps, z: &Parts) -> Parts {
    let number = scaled(s, z);
    let [re, im] = root_of_scaled(s, &number).map(|part| s.step("multiply", &[&part, &number.root_back]));
    let [a, b] = z;
    let (infinity, height) = (s.constant(f64::INFINITY), s.step("abs", &[b]));
    let (is_tall, is_wide) = (s.is_infinite(&height), s.is_infinite(a));
    let is_low = s.compare_with("EQ", a, f64::NEG_INFINITY);
    let (grows, above) = (s.either(&is_tall, &is_wide), s.either(&is_tall, &is_low));
    let (re, im) = (s.choose(&grows, &infinity, &re), s.choose(&above, &infinity, &im));
    [re, s.with_sign_of(&im, b)]
}

/// Writes the reciprocal square root: the conjugate of the root divided by the absolute value; 0 for infinity;
/// `infinity + NaN i` for 0, as by division.
fn reciprocal_root(s: &mut Steps, z: &Parts) -> Parts {
    let number = scaled(s, z);
    let (any, is_zero) = (s.any_infinite(z), s.compare_with("EQ", &number.large, 0.0));
    let (zero, infinity) = (s.constant(0.0), s.constant(f64::INFINITY));
    let [re, im] = root_of_scaled(s, &number).map(|part| {
        let share = s.step("divide", &[&part, &number.size]);
        let share = s.step("multiply", &[&share, &number.root]);
        s.choose(&any, &zero, &share)
    });
    [s.choose(&is_zero, &infinity, &re), s.step("negate", &[&im])]
}

/// Writes the complex logarithm, with the given formula for its real part.
pub fn with_angle(s: &mut Steps, [a, b]: &Parts, real: fn(&mut Steps, &str, &str) -> String) -> Parts {
    [real(s, a, b), arc_tangent(s, b, a)]
}

/// Writes `base^exponent` as `e^(exponent log base)`. As in NumPy, 0 to the power of 0 is 1, 0 to an exponent with a
/// positive real part is 0, and 0 to any other exponent is NaN. Rounding errors grow with the exponential's argument,
/// so c64 is computed in c128.
pub fn power(e: &mut Emitter, name: &str, base: &str, exponent: &str, ty: &TensorType) {
    if ty.dtype == DType::C64 {
        let wide = TensorType { dtype: DType::C128, dims: ty.dims.clone() };
        let result = e.temporary();
        let [base, exponent] = [base, exponent].map(|x| {
            let name = e.temporary();
            e.changing(&name, "convert", &[x], ty, &wide);
            name
        });
        power(e, &result, &base, &exponent, &wide);
        return e.changing(name, "convert", &[&result], &wide, ty);
    }
    let (z, w) = (parts(e, base, ty), parts(e, exponent, ty));
    let mut s = Steps::of(e, &part(ty));
    let [size, angle] = with_angle(&mut s, &z, logarithm);
    let [c, d] = &w;
    let [c_size, d_size] = [c, d].map(|part| s.step("multiply", &[part, &size]));
    let [c_angle, d_angle] = [c, d].map(|part| s.step("multiply", &[part, &angle]));
    let (a, b) = (s.step("subtract", &[&c_size, &d_angle]), s.step("add", &[&d_size, &c_angle]));
    let [re, im] = exponential(&mut s, &[a, b]);
    let grows = s.compare_with("GT", c, 0.0);
    let power = e.temporary();
    join(e, &power, &re, &im, ty);
    let mut s = Steps::of(e, ty);
    let (zero, one, nan) = (s.constant(0.0), s.constant(1.0), s.scalar(ScalarValue::Complex(f64::NAN, f64::NAN)));
    let (base_is_zero, is_one) = (s.compare("EQ", base, &zero), s.compare("EQ", exponent, &zero));
    let of_zero = s.choose(&grows, &zero, &nan);
    let other = s.choose(&base_is_zero, &of_zero, &power);
    s.select(name, &is_one, &one, &other);
}
