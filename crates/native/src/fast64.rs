//! Functions of f64 that the compiler vectorizes in loops, like those of f32 in `fast.rs`. Errors are below 1 ulp,
//! except for exp_m1 (below 1.5 ulp) and tanh (below 2.5 ulp).

use super::fast::{EXPONENTIAL, ROUND_64 as ROUND};
pub use super::fast::{exp64 as exp, polynomial64};
use super::wide::widest;
use super::writer::Writer;
use std::f64::consts::{FRAC_2_PI, FRAC_PI_2, LOG2_E};

/// ln 2 as a sum of two constants: products of the first one with exponents are exact.
pub const LN_2: [f64; 2] = [0.693_147_180_369_123_8, 1.908_214_929_270_587_7e-10];

/// `2^n` for an `n` from -1022 to 1023, given as [`ROUND`]` + n`.
#[inline(always)]
fn power_of_two(rounded: f64) -> f64 {
    f64::from_bits(rounded.to_bits().wrapping_sub(ROUND.to_bits()).wrapping_add(1023) << 52)
}

/// `e^x - 1` for `x` from -40 to 710, as `a` and `b` with the value `a b`; `b` is a power of two, so that only the
/// product may overflow. With `x = n ln 2 + r`, this is `2^n (r + 1 - 2^-n + r^2 ...)`.
#[inline(always)]
fn less_one(x: f64) -> (f64, f64) {
    let rounded = x.mul_add(LOG2_E, ROUND);
    let n = rounded - ROUND;
    let near = n.mul_add(-LN_2[0], x);
    let part = n * LN_2[1];
    let r = near - part;
    let r_low = (near - r) - part;
    // For `n` above 60 the 1 is lost in rounding anyway.
    let least = if rounded > ROUND + 60.0 { ROUND + 60.0 } else { rounded };
    let first = 1.0 - power_of_two(2.0 * ROUND - least);
    let sum = first + r;
    let rest = (first - sum) + r + r_low.mul_add(r, r_low);
    // 2^1024 is infinite.
    ((sum + (r * r).mul_add(polynomial64(r, EXPONENTIAL), rest)) * 2.0, power_of_two(rounded - 1.0))
}

/// `e^x - 1`.
#[inline(always)]
pub fn exp_m1(x: f64) -> f64 {
    // NaN stays NaN.
    let inside = if x > 710.0 { 710.0 } else { x };
    let inside = if inside < -40.0 { -40.0 } else { inside };
    let (value, power) = less_one(inside);
    // The result has the sign of `x`, also for zeros.
    (value * power).copysign(x)
}

/// `e^x / 2` for `x >= 0`; it overflows later than `e^x`.
#[inline(always)]
pub fn half_exp(x: f64) -> f64 {
    let x = if x > 710.5 { 710.5 } else { x };
    let rounded = x.mul_add(LOG2_E, ROUND);
    let n = rounded - ROUND;
    let r = n.mul_add(-LN_2[1], n.mul_add(-LN_2[0], x));
    ((r * r).mul_add(polynomial64(r, EXPONENTIAL), r) + 1.0) * power_of_two(rounded - 2.0) * 2.0
}

/// Uses `tanh x = (e^2x - 1) / (e^2x - 1 + 2)`.
#[inline(always)]
pub fn tanh(x: f64) -> f64 {
    let size = x.abs();
    let size = if size > 20.0 { 20.0 } else { size };
    let (value, power) = less_one(2.0 * size);
    let value = value * power;
    (value / (value + 2.0)).copysign(x)
}

/// Returns `n` and `f` with `x = 2^n (1 + f)`, for normal positive `x`; `f` is between sqrt(1/2) - 1 and sqrt(2) - 1.
#[inline(always)]
pub fn fraction(x: f64) -> (f64, f64) {
    const SQRT_HALF: u64 = std::f64::consts::FRAC_1_SQRT_2.to_bits();
    const WHOLE: f64 = 4_503_599_627_370_496.0;
    let moved = x.to_bits().wrapping_sub(SQRT_HALF);
    // The exponent plus 1023 is not negative. As the low bits of 2^52, it becomes a float on every processor.
    let n = f64::from_bits((moved.wrapping_add(1023 << 52) >> 52) | WHOLE.to_bits()) - (WHOLE + 1023.0);
    (n, f64::from_bits((moved & ((1 << 52) - 1)).wrapping_add(SQRT_HALF)) - 1.0)
}

/// Coefficients of `(2 atanh(s) - 2 s) / s^3`, a polynomial in `s^2`: those of fdlibm.
const LOGARITHM: [f64; 7] = [
    0.666_666_666_666_673_5, 0.399_999_999_994_094_2, 0.285_714_287_436_623_9, 0.222_221_984_321_497_84,
    0.181_835_721_616_180_5, 0.153_138_376_992_093_73, 0.147_981_986_051_165_86,
];

/// `ln(1 + f) + n ln 2 + c`, for `f` from [`fraction`], `s = f / (2 + f)` and a very small `c`.
#[inline(always)]
fn ln_of_parts(f: f64, s: f64, n: f64, c: f64) -> f64 {
    let half = 0.5 * f * f;
    let z = s * s;
    let rest = s.mul_add(z.mul_add(polynomial64(z, LOGARITHM), half), n.mul_add(LN_2[1], c));
    n.mul_add(LN_2[0], f - (half - rest))
}

/// `1 / (1 + f)` with an error of 0.02, and none for `f = 0`, where `s = f / (2 + f)`.
#[inline(always)]
fn inverse(s: f64) -> f64 {
    s.mul_add(s.mul_add(2.0, -2.0), 1.0)
}

/// `ln(1 + f)`, for `f` from [`fraction`].
#[inline(always)]
pub fn ln_of_fraction(f: f64) -> f64 {
    ln_of_parts(f, f / (2.0 + f), 0.0, -0.0)
}

/// Returns what [`fraction`] does, for positive `x`.
#[inline(always)]
pub fn fraction_of_any(x: f64) -> (f64, f64) {
    let small = x < f64::MIN_POSITIVE;
    let (n, f) = fraction(if small { x * 18_014_398_509_481_984.0 } else { x });
    (if small { n - 54.0 } else { n }, f)
}

/// Natural logarithm.
#[inline(always)]
pub fn ln(x: f64) -> f64 {
    let (n, f) = fraction_of_any(x);
    beyond(x, ln_of_parts(f, f / (2.0 + f), n, -0.0))
}

/// `ln(1 + x)`.
#[inline(always)]
pub fn ln_1p(x: f64) -> f64 {
    let u = 1.0 + x;
    let (n, f) = fraction(u);
    // Rounding error of the sum; above 2^53, where it is not, it is so small that it does not matter.
    let lost = x - (u - 1.0);
    // `u` is at most 2^1023 (1 + f), and the error is 0 unless `n` is small.
    let least = if n > 1000.0 { 1000.0 } else { n };
    let s = f / (2.0 + f);
    let value = ln_of_parts(f, s, n, lost * power_of_two(ROUND - least) * inverse(s));
    // Keeps the sign of -0.
    beyond(u, value).copysign(x)
}

/// Returns `value`, the logarithm of a positive finite `x`, or the logarithm of a zero, negative, infinite or NaN `x`.
#[inline(always)]
pub fn beyond(x: f64, value: f64) -> f64 {
    let value = if x < f64::INFINITY { value } else { x };
    let value = if x < 0.0 { f64::NAN } else { value };
    if x == 0.0 { f64::NEG_INFINITY } else { value }
}

/// Natural logarithm of each element.
pub fn logarithms(x: &[f64], out: &mut Writer<f64>) {
    positive(
        x,
        out,
        #[inline(always)]
        |x| {
            let (n, f) = fraction(x);
            ln_of_parts(f, f / (2.0 + f), n, -0.0)
        },
        ln,
    );
}

/// Applies `near` to positive normal finite numbers and `far` to others, which gives the same for the former and takes
/// longer.
#[inline(always)]
pub fn positive(x: &[f64], out: &mut Writer<f64>, near: impl Fn(f64) -> f64 + Copy, far: impl Fn(f64) -> f64 + Copy) {
    for x in x.chunks(1024) {
        // Their bits are one range.
        const FIRST: u64 = f64::MIN_POSITIVE.to_bits();
        let farthest = widest(
            #[inline(always)]
            || x.iter().fold(0, |farthest, x| x.to_bits().wrapping_sub(FIRST).max(farthest)),
        );
        if farthest < f64::INFINITY.to_bits() - FIRST {
            out.compute(x, near);
        } else {
            out.compute(x, far);
        }
    }
}

/// Largest absolute angle for which [`tan`] is accurate; larger ones use the standard library.
const LARGEST_ANGLE: f64 = 1_048_576.0;

const THIRD: f64 = 1.0 / 3.0;
/// Coefficients of `(tan x - x - x^3 / 3) / x^5`, a polynomial in `x^2`, for `x` up to pi/4.
const TANGENT: [f64; 14] = [
    0.133_333_333_333_329_98, 0.053_968_253_968_656_69, 0.021_869_488_517_019_676, 0.008_863_236_004_747_6,
    0.003_592_120_963_191_753_7, 0.001_455_902_893_419_782, 0.000_589_574_677_904_943_7, 0.000_241_230_232_015_403_84,
    0.000_089_973_817_331_722_7, 0.000_055_611_243_893_475_79, -0.000_011_046_558_640_843_717,
    0.000_036_546_459_760_537_61, -0.000_018_331_699_057_125_86, 8.487_285_594_671_859e-6,
];

/// Tangent, for angles up to [`LARGEST_ANGLE`].
#[inline(always)]
fn tan(x: f64) -> f64 {
    let rounded = x.mul_add(FRAC_2_PI, ROUND);
    let n = rounded - ROUND;
    // The distance from the multiple of pi/2, as a sum of two: the first difference is exact.
    let near = n.mul_add(-FRAC_PI_2, x);
    let part = n * 6.123_233_995_736_766e-17;
    let high = near - part;
    let taken = near - high;
    let lost = (near - (high + taken)) + (taken - part);
    let low = n.mul_add(1.497_384_904_859_169_8e-33, lost - n.mul_add(6.123_233_995_736_766e-17, -part));
    // x + x (x^2 / 3 + x^4 ...), also as a sum of two.
    let z = high * high;
    let z_low = high.mul_add(high, -z);
    let third = z * THIRD;
    let far = z * z * polynomial64(z, TANGENT);
    let share = third + far;
    let share_low = (third - share) + far + z_low.mul_add(THIRD, z.mul_add(THIRD, -third));
    let value = high.mul_add(share, high);
    let rest = high.mul_add(share, high - value) + high.mul_add(share_low, low * value.mul_add(value, 1.0));
    let inverse = 1.0 / value;
    let error = inverse.mul_add(-rest, inverse.mul_add(-value, 1.0));
    let odd = -inverse.mul_add(error, inverse);
    // Keeps the sign of -0.
    let even = if x == 0.0 { x } else { value + rest };
    if rounded.to_bits() & 1 == 0 { even } else { odd }
}

/// Tangent of each element.
pub fn tangents(x: &[f64], out: &mut Writer<f64>) {
    for x in x.chunks(256) {
        // Bits of sizes are in the order of the sizes; those of NaN are the largest.
        let largest = widest(
            #[inline(always)]
            || x.iter().fold(0, |largest, x| x.abs().to_bits().max(largest)),
        );
        if largest <= LARGEST_ANGLE.to_bits() {
            out.compute(x, tan);
        } else {
            out.map(x, |x| if x.abs() <= LARGEST_ANGLE { tan(x) } else { f64::tan(x) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::inverse_circular::double::{acos, asin, atan2};
    use super::super::inverse_circular::single;
    use super::super::roots::cbrt64 as cbrt;
    use super::*;

    /// Numbers of all sizes, numbers between -30 and 30, and their neighbours at special values.
    fn numbers() -> impl Iterator<Item = f64> {
        let special =
            [0.0, f64::from_bits(1), f64::MIN_POSITIVE, 1e-8, 0.5, 1.0, 2.0, 27.0, 40.0, 709.78, 1e300, f64::MAX];
        let near = special.into_iter().flat_map(|x| [x, x.next_up(), -x, -x.next_up()]);
        let random = (0..if cfg!(miri) { 200 } else { 300_000u64 }).flat_map(|i| {
            let bits = i.wrapping_mul(0x9E37_79B9_7F4A_7C15);
            [f64::from_bits(bits), ((bits >> 11) as f64 / (1u64 << 52) as f64 - 1.0) * 30.0]
        });
        near.chain([f64::INFINITY, f64::NEG_INFINITY, f64::NAN]).chain(random)
    }

    /// Compares with the standard library, whose errors are below 1 ulp: the largest distance in ulps.
    fn distance(f: impl Fn(f64) -> f64, truth: impl Fn(f64) -> f64, range: impl Fn(f64) -> bool) -> u64 {
        let off = |x: f64| {
            let (got, want) = (f(x), truth(x));
            let same = (got.is_nan() && want.is_nan()) || got.to_bits() == want.to_bits();
            assert!(
                same || got.signum() == want.signum() && got.is_nan() == want.is_nan(),
                "{got} at {x}, and not {want}"
            );
            if same { 0 } else { got.to_bits().abs_diff(want.to_bits()) }
        };
        numbers().filter(|x| range(*x)).map(off).max().unwrap()
    }

    #[test]
    fn errors_are_small() {
        let all = |_: f64| true;
        let distances = [
            ("exp_m1", distance(exp_m1, f64::exp_m1, all), 2),
            ("tanh", distance(tanh, f64::tanh, all), 3),
            ("ln", distance(ln, f64::ln, all), 1),
            ("ln_1p", distance(ln_1p, f64::ln_1p, all), 1),
            ("cbrt", distance(cbrt, f64::cbrt, all), 1),
            ("tan", distance(tan, f64::tan, |x| x.abs() <= LARGEST_ANGLE), 1),
            ("asin", distance(asin, f64::asin, all), 3),
            ("acos", distance(acos, f64::acos, all), 2),
            ("atan", distance(|x| atan2(x, 1.0), f64::atan, all), 2),
        ];
        let wrong: Vec<_> = distances.iter().filter(|(_, distance, bound)| distance > bound).collect();
        assert!(wrong.is_empty(), "{wrong:?} of {distances:?}");
        for i in 1..if cfg!(miri) { 100 } else { 600_000 } {
            let x = f64::from(i) * FRAC_PI_2;
            assert!(tan(x).to_bits().abs_diff(x.tan().to_bits()) <= 1, "{x}: {} {}", tan(x), x.tan());
        }
    }

    #[test]
    fn angles_of_all_directions() {
        let all: Vec<f64> = numbers().step_by(311).collect();
        for (&y, x) in all.iter().flat_map(|y| all.iter().take(300).map(move |x| (y, *x))) {
            let (got, want) = (atan2(y, x), y.atan2(x));
            let is_near = got.to_bits().abs_diff(want.to_bits()) <= 2 || (got.is_nan() && want.is_nan());
            assert!(is_near, "{y} {x}: {got} {want}");
            let (y, x) = (y as f32, x as f32);
            let (got, want) = (single::atan2(y, x), y.atan2(x));
            let is_near = got.to_bits().abs_diff(want.to_bits()) <= 2 || (got.is_nan() && want.is_nan());
            assert!(is_near, "{y} {x}: {got} {want}");
        }
    }

    #[test]
    fn special_numbers() {
        let same = |got: f64, want: f64| assert_eq!(got.to_bits(), want.to_bits(), "{got} {want}");
        for f in [exp_m1, tanh, ln_1p, tan, asin, cbrt] {
            same(f(0.0), 0.0);
            same(f(-0.0), -0.0);
            assert!(f(f64::NAN).is_nan());
        }
        for f in [exp_m1, tanh, ln_1p, tan, asin] {
            let tiny = f64::from_bits(1);
            same(f(tiny), tiny);
            same(f(-tiny), -tiny);
        }
        same(exp_m1(f64::NEG_INFINITY), -1.0);
        same(exp_m1(f64::INFINITY), f64::INFINITY);
        same(exp_m1(709.782_712_893_385), f64::INFINITY);
        assert!(exp_m1(709.782_712_893_383_9).is_finite());
        same(tanh(f64::INFINITY), 1.0);
        same(ln(0.0), f64::NEG_INFINITY);
        same(ln(1.0), 0.0);
        same(ln_1p(-1.0), f64::NEG_INFINITY);
        same(ln_1p(f64::INFINITY), f64::INFINITY);
        same(cbrt(-27.0), -3.0);
        same(cbrt(f64::NEG_INFINITY), f64::NEG_INFINITY);
        same(acos(1.0), 0.0);
        for x in [ln(-1.0), ln(f64::NAN), ln_1p(-1.5), ln_1p(f64::NEG_INFINITY), asin(1.5), acos(-1.5)] {
            assert!(x.is_nan());
        }
    }
}
