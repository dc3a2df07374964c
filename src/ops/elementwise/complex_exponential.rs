//! The complex exponential and logarithm, computed from real and imaginary parts.

use crate::ops::elementwise::arc::arc_tangent;
use crate::ops::elementwise::builder::Parts;
use crate::ops::elementwise::builder::Steps;
use crate::ops::elementwise::functions::log_plus_one;
use crate::types::DType;

/// `e^x` as a product of two factors. `x` may be nearly twice as large as for the exponential itself, if the value that
/// it is multiplied by is correspondingly small.
pub struct Power {
    /// `e^x`, divided by `scale`.
    pub power: String,
    /// 1, or a fixed factor if `x` is large.
    pub scale: String,
}

impl Power {
    /// Amount subtracted from `x` above a limit. The subtraction is exact, and e to this power is nearly a float: among
    /// all values with few bits, these are the best.
    const STEP_F32: f64 = 87.28125;
    const STEP_F64: f64 = 708.4375;

    /// Writes the factors of `e^x`.
    pub fn of(s: &mut Steps, x: &str) -> Power {
        let (limit, step) = if s.dtype() == DType::F64 { (512.0, Power::STEP_F64) } else { (64.0, Power::STEP_F32) };
        let is_large = s.compare_with("GT", x, limit);
        let [step, zero, factor, one] = [step, 0.0, step.exp(), 1.0].map(|value| s.constant(value));
        let down = s.choose(&is_large, &step, &zero);
        let moved = s.step("subtract", &[x, &down]);
        Power { power: s.step("exponential", &[&moved]), scale: s.choose(&is_large, &factor, &one) }
    }

    /// Writes `factor e^x`.
    pub fn times(&self, s: &mut Steps, factor: &str) -> String {
        let larger = s.step("multiply", &[factor, &self.scale]);
        s.step("multiply", &[&larger, &self.power])
    }
}

/// Masks of elements whose angle is undefined (`b` is infinite or NaN) where that has no effect or only a partial one:
/// `anywhere` where the magnitude is 0 or infinite (`a` is infinite), `at_zero` where it is 0 (`a` is -infinity).
struct Lost {
    anywhere: String,
    at_zero: String,
}

impl Lost {
    fn of(s: &mut Steps, a: &str, b: &str) -> Lost {
        let (size, is_finite) = (s.step("abs", &[a]), s.is_finite(b));
        let (is_infinite, is_lost) = (s.is_infinite(&size), s.not(&is_finite));
        let (anywhere, is_low) = (s.both(&is_infinite, &is_lost), s.compare_with("LT", a, 0.0));
        let at_zero = s.both(&anywhere, &is_low);
        Lost { anywhere, at_zero }
    }
}

/// Writes the complex exponential `e^a (cos b + i sin b)`.
pub fn exponential(s: &mut Steps, [a, b]: &Parts) -> Parts {
    let (lost, power) = (Lost::of(s, a, b), Power::of(s, a));
    exponential_of(s, b, &lost, &power)
}

fn exponential_of(s: &mut Steps, b: &str, lost: &Lost, power: &Power) -> Parts {
    let (zero, one) = (s.constant(0.0), s.constant(1.0));
    let (cosine, sine) = (s.step("cosine", &[b]), s.step("sine", &[b]));
    let (cosine, sine) = (s.choose(&lost.anywhere, &one, &cosine), s.choose(&lost.at_zero, &zero, &sine));
    let (re, im) = (power.times(s, &cosine), power.times(s, &sine));
    let is_real = s.compare("EQ", b, &zero);
    [re, s.choose(&is_real, b, &im)]
}

/// Writes `(e^a - 1) cos b - 2 sin^2(b/2) + i e^a sin b`. For `a` above 45, where rounding loses the 1, the real part
/// is that of `e^z`.
pub fn exponential_minus_one(s: &mut Steps, [a, b]: &Parts) -> Parts {
    let (lost, power) = (Lost::of(s, a, b), Power::of(s, a));
    let [far, im] = exponential_of(s, b, &lost, &power);
    let (zero, one) = (s.constant(0.0), s.constant(1.0));
    let half = s.times(b, 0.5);
    let (cosine, sine) = (s.step("cosine", &[b]), s.step("sine", &[&half]));
    let (cosine, sine) = (s.choose(&lost.anywhere, &one, &cosine), s.choose(&lost.anywhere, &zero, &sine));
    let square = s.step("multiply", &[&sine, &sine]);
    let twice = s.step("add", &[&square, &square]);
    let grown = s.step("exponential_minus_one", &[a]);
    let turned = s.step("multiply", &[&grown, &cosine]);
    let near = s.step("subtract", &[&turned, &twice]);
    let is_far = s.compare_with("GT", a, 45.0);
    [s.choose(&is_far, &far, &near), im]
}

/// Writes the logarithm of the absolute value. Near the unit circle it uses log1p of `|z|^2 - 1`, since the logarithm
/// itself would keep few bits there.
pub fn logarithm(s: &mut Steps, a: &str, b: &str) -> String {
    let sizes = [a, b].map(|part| s.step("abs", &[part]));
    let [large, small] = ["maximum", "minimum"].map(|op| s.step(op, &[&sizes[0], &sizes[1]]));
    let one = s.constant(1.0);

    let (less, more) = (s.step("subtract", &[&large, &one]), s.step("add", &[&large, &one]));
    let (product, square) = (s.step("multiply", &[&less, &more]), s.step("multiply", &[&small, &small]));
    let beyond = s.step("add", &[&product, &square]);

    let is_zero = s.compare_with("EQ", &large, 0.0);
    let divisor = s.choose(&is_zero, &one, &large);
    let ratio = s.step("divide", &[&small, &divisor]);
    let square = s.step("multiply", &[&ratio, &ratio]);
    let log = s.step("log", &[&large]);

    let bounds = [s.compare_with("GT", &large, 0.5), s.compare_with("LT", &large, 2.0), s.compare("LT", &small, &one)];
    let inside = s.both(&bounds[0], &bounds[1]);
    let is_near = s.both(&inside, &bounds[2]);
    let argument = s.choose(&is_near, &beyond, &square);
    let rest = log_plus_one(s, &argument);
    let half = s.times(&rest, 0.5);
    let sum = s.step("add", &[&log, &half]);
    let value = s.choose(&is_near, &half, &sum);
    infinite_where_a_part_is(s, [a, b], &value)
}

fn infinite_where_a_part_is(s: &mut Steps, parts: [&str; 2], otherwise: &str) -> String {
    let (any, infinity) = (s.any_infinite(&parts.map(str::to_string)), s.constant(f64::INFINITY));
    s.choose(&any, &infinity, otherwise)
}

/// Writes log1p of a complex number. Near 0 it uses `|1 + z|^2 - 1 = a (2 + a) + b^2`.
pub fn logarithm_plus_one(s: &mut Steps, [a, b]: &Parts) -> Parts {
    let (one, two) = (s.constant(1.0), s.constant(2.0));
    let sum = s.step("add", &[a, &one]);
    let far = logarithm(s, &sum, b);
    let more = s.step("add", &[a, &two]);
    let (product, square) = (s.step("multiply", &[a, &more]), s.step("multiply", &[b, b]));
    let beyond = s.step("add", &[&product, &square]);
    let log = log_plus_one(s, &beyond);
    let near = s.times(&log, 0.5);
    let is_small = [a, b].map(|part| {
        let size = s.step("abs", &[part]);
        s.compare_with("LT", &size, 0.5)
    });
    let is_near = s.both(&is_small[0], &is_small[1]);
    [s.choose(&is_near, &near, &far), arc_tangent(s, b, &sum)]
}
