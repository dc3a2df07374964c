//! Functions of f32 that the compiler vectorizes in loops: they have no calls, tables or branches. `mul_add` is rounded
//! once, by an instruction or, on a processor without it, in software, so that their results are the same on every
//! processor. Errors over all f32 are below 1 ulp, except for exp_m1 (below 1.5 ulp) and tanh (below 2.6 ulp); sine,
//! cosine and tangent are almost always correctly rounded.

use super::wide::widest;
use super::writer::Writer;

const LOG2_E: f32 = std::f32::consts::LOG2_E;
/// ln 2 as a sum of two constants: products of the first one with small integers are exact.
const LN_2: [f32; 2] = [0.693_145_75, 1.428_606_8e-6];
/// 1.5 * 2^23: adding it rounds to the nearest integer and leaves that in the low bits.
pub const ROUND: f32 = 12_582_912.0;
/// 1.5 * 2^52: like [`ROUND`], for f64.
pub const ROUND_64: f64 = 6_755_399_441_055_744.0;

/// `c[0] + c[1] x + ...`, by Horner's method. With an iterator over the coefficients, LLVM unrolls the sum only after
/// it has tried to vectorize the loop around it.
macro_rules! polynomials {
    ($(#[$doc:meta])* $visibility:vis $name:ident, $T:ident) => {
        $(#[$doc])*
        #[inline(always)]
        $visibility fn $name<const N: usize>(x: $T, c: [$T; N]) -> $T {
            let mut sum = c[N - 1];
            let mut i = N - 1;
            while i > 0 {
                i -= 1;
                sum = sum.mul_add(x, c[i]);
            }
            sum
        }
    };
}

polynomials!(pub polynomial, f32);
polynomials!(
    /// Like [`polynomial`], for f64.
    pub polynomial64, f64
);

/// Clamps `x` to the bounds; NaN stays NaN.
#[inline(always)]
fn within(x: f32, low: f32, high: f32) -> f32 {
    let x = if x > high { high } else { x };
    if x < low { low } else { x }
}

/// Returns `n`, `r` and `(e^r - 1 - r) / r^2`, where `x = n ln 2 + r`.
#[inline(always)]
fn split(x: f32) -> (i32, f32, f32) {
    let rounded = x.mul_add(LOG2_E, ROUND);
    let n = rounded - ROUND;
    let r = n.mul_add(-LN_2[1], n.mul_add(-LN_2[0], x));
    let p = polynomial(r, [0.5, 0.166_665_43, 0.041_667_2, 0.008_366_547, 0.001_388_251_6]);
    ((rounded.to_bits() as i32).wrapping_sub(ROUND.to_bits() as i32), r, p)
}

/// Returns `n` and `e^r - 1`, where `x = n ln 2 + r`.
#[inline(always)]
fn split_m1(x: f32) -> (i32, f32) {
    let (n, r, p) = split(x);
    (n, (r * r).mul_add(p, r))
}

/// `2^n`, for `n` from -126 to 127.
#[inline(always)]
fn power_of_two(n: i32) -> f32 {
    f32::from_bits((n.wrapping_add(127) as u32) << 23)
}

/// `x 2^n`, in two steps, so that the first one neither overflows nor underflows.
#[inline(always)]
fn scale(x: f32, n: i32) -> f32 {
    let half = n >> 1;
    x * power_of_two(half) * power_of_two(n.wrapping_sub(half))
}

/// `e^x`.
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    let (n, r, p) = split(within(x, -104.0, 89.0));
    let sum = 1.0 + r;
    // The rounding error of the sum is added to the rest, which is small.
    let rest = (r * r).mul_add(p, (1.0 - sum) + r);
    // Like [`scale`]; since the first factor is near 1, a fixed step suffices.
    let step = if n < -100 { -64 } else { 1 };
    (sum + rest) * power_of_two(n.wrapping_sub(step)) * power_of_two(step)
}

/// `e^x` in f64, with an error below 1.1 ulp.
#[inline(always)]
pub fn exp64(x: f64) -> f64 {
    let x = if x > 710.0 { 710.0 } else { x };
    let x = if x < -746.0 { -746.0 } else { x };
    let rounded = x.mul_add(std::f64::consts::LOG2_E, ROUND_64);
    let n = rounded - ROUND_64;
    let r = n.mul_add(-1.908_214_929_270_587_7e-10, n.mul_add(-0.693_147_180_369_123_8, x));
    let p = polynomial64(r, EXPONENTIAL);
    let n = rounded.to_bits().wrapping_sub(ROUND_64.to_bits());
    let power = |n: u64| f64::from_bits(n.wrapping_add(1023) << 52);
    let step = if x < -690.0 { 0u64.wrapping_sub(64) } else { 1 };
    ((r * r).mul_add(p, r) + 1.0) * power(n.wrapping_sub(step)) * power(step)
}

/// Coefficients of `(e^x - 1 - x) / x^2`.
pub const EXPONENTIAL: [f64; 10] = [
    0.500_000_000_000_000_1, 0.166_666_666_666_666_69, 0.041_666_666_666_623_99, 8.333_333_333_330_051e-3,
    1.388_888_891_728_179_4e-3, 1.984_126_986_310_596_8e-4, 2.480_152_119_021_773e-5, 2.755_726_837_868_419_2e-6,
    2.762_013_871_973_399_4e-7, 2.510_042_415_700_506_7e-8,
];

/// `e^x / 2` for `x >= 0`; it overflows later than `e^x`.
#[inline(always)]
pub fn half_exp(x: f32) -> f32 {
    let (n, r, p) = split(if x > 89.5 { 89.5 } else { x });
    let sum = 1.0 + r;
    let rest = (r * r).mul_add(p, (1.0 - sum) + r);
    (sum + rest) * power_of_two(n.wrapping_sub(2)) * 2.0
}

/// `e^x - 1`.
#[inline(always)]
pub fn exp_m1(x: f32) -> f32 {
    let (n, q) = split_m1(within(x, -18.0, 89.0));
    // For `n` above 30 the 1 is lost in rounding anyway, so the exponent is clamped. The result has the sign of `x`,
    // also for zeros.
    scale(q + (1.0 - power_of_two(n.wrapping_neg().max(-30))), n).copysign(x)
}

/// Uses `tanh(h + n/2 ln 2) = (2^n - 1 + t (2^n + 1)) / (2^n + 1 + t (2^n - 1))` with `t = tanh h`, where `h` is so
/// small that two terms beyond `h` suffice. `n/2 ln 2` is subtracted with one constant: its error is smaller than that
/// of the quotient.
#[inline(always)]
pub fn tanh(x: f32) -> f32 {
    let size = x.abs();
    let size = if size > 9.02 { 9.02 } else { size };
    let rounded = size.mul_add(2.0 * LOG2_E, ROUND);
    let h = (rounded - ROUND).mul_add(-0.5 * std::f32::consts::LN_2, size);
    let z = h * h;
    let t = (h * z).mul_add(polynomial(z, [-0.333_312_7, 0.131_104]), h);
    let power = power_of_two((rounded.to_bits() as i32).wrapping_sub(ROUND.to_bits() as i32));
    let (less, more) = (power - 1.0, power + 1.0);
    (t.mul_add(more, less) / t.mul_add(less, more)).copysign(x)
}

/// `1 / (1 + e^-x)`; the sum and the quotient are computed in f64.
#[inline(always)]
pub fn logistic(x: f32) -> f32 {
    let (n, q) = split_m1(within(-x, -104.0, 104.0));
    let power = f64::from_bits(u64::from(n.wrapping_add(1023) as u32) << 52);
    (1.0 / (1.0 + (1.0 + f64::from(q)) * power)) as f32
}

/// Returns `n` and `f` with `x = 2^n (1 + f)`, for normal positive `x`; `f` is between sqrt(1/2) - 1 and sqrt(2) - 1.
#[inline(always)]
pub fn fraction(x: f32) -> (i32, f32) {
    const SQRT_HALF: u32 = std::f32::consts::FRAC_1_SQRT_2.to_bits();
    let moved = x.to_bits().wrapping_sub(SQRT_HALF);
    ((moved as i32) >> 23, f32::from_bits((moved & 0x007F_FFFF).wrapping_add(SQRT_HALF)) - 1.0)
}

/// Coefficients of `(ln(1 + f) - f + f^2 / 2) / f^3`.
const LOGARITHM: [f32; 9] = [
    0.333_333_3, -0.249_999_94, 0.200_007_14, -0.166_680_57, 0.142_493_23, -0.124_201_41, 0.116_769_984, -0.115_146_1,
    0.070_376_836,
];

/// `ln(1 + f) + n ln 2 + c`, for `f` from [`fraction`] and a very small `c`.
#[inline(always)]
fn ln_of_parts(f: f32, n: i32, c: f32) -> f32 {
    let n = n as f32;
    let z = f * f;
    let tail = z.mul_add(-0.5, n.mul_add(LN_2[1], c));
    n.mul_add(LN_2[0], (f * z).mul_add(polynomial(f, LOGARITHM), tail) + f)
}

/// Natural logarithm of each element.
pub fn logarithms(x: &[f32], out: &mut Writer<f32>) {
    positive(
        x,
        out,
        #[inline(always)]
        |x| {
            let (n, f) = fraction(x);
            ln_of_parts(f, n, 0.0)
        },
        ln,
    );
}

/// `ln(1 + f)`, for `f` from [`fraction`].
#[inline(always)]
pub fn ln_of_fraction(f: f32) -> f32 {
    let z = f * f;
    (f * z).mul_add(polynomial(f, LOGARITHM), z * -0.5) + f
}

/// Applies `near` to positive normal finite numbers and `far` to others, which gives the same for the former and takes
/// longer. The other elements affect only the speed.
#[inline(always)]
pub fn positive(x: &[f32], out: &mut Writer<f32>, near: impl Fn(f32) -> f32 + Copy, far: impl Fn(f32) -> f32 + Copy) {
    for x in x.chunks(1024) {
        // Their bits are one range.
        const FIRST: u32 = f32::MIN_POSITIVE.to_bits();
        let farthest = widest(
            #[inline(always)]
            || x.iter().fold(0, |farthest, x| x.to_bits().wrapping_sub(FIRST).max(farthest)),
        );
        if farthest < f32::INFINITY.to_bits() - FIRST {
            out.compute(x, near);
        } else {
            out.compute(x, far);
        }
    }
}

/// Returns what [`fraction`] does, for positive `x`.
#[inline(always)]
pub fn fraction_of_any(x: f32) -> (i32, f32) {
    let small = x < f32::MIN_POSITIVE;
    let (n, f) = fraction(if small { x * 8_388_608.0 } else { x });
    (if small { n.wrapping_sub(23) } else { n }, f)
}

/// Natural logarithm.
#[inline(always)]
fn ln(x: f32) -> f32 {
    let (n, f) = fraction_of_any(x);
    beyond(x, ln_of_parts(f, n, 0.0))
}

/// `ln(1 + x)`.
#[inline(always)]
pub fn ln_1p(x: f32) -> f32 {
    let u = 1.0 + x;
    let (n, f) = fraction(u);
    // Rounding error of the sum; above 2^24, where it is not, it is so small that it does not matter.
    let lost = x - (u - 1.0);
    let value = ln_of_parts(f, n, lost / u);
    // Keeps the sign of -0.
    beyond(u, value).copysign(x)
}

/// `ln(1 + x)` for `x >= 0`, without the quotient of [`ln_1p`]: its share of the result is small.
#[inline(always)]
pub fn ln_1p_of_positive(x: f32) -> f32 {
    let u = 1.0 + x;
    let (n, f) = fraction(u);
    let lost = x - (u - 1.0);
    // `1 / u`, with an error of 0.03 and none for `u = 1`. `u` is at most 2^128, and `lost` matters only if `n` is
    // small.
    let least = if n > 100 { 100 } else { n };
    let inverse = power_of_two(least.wrapping_neg()) * f.mul_add(f.mul_add(0.85, -0.98), 1.0);
    let value = ln_of_parts(f, n, lost * inverse);
    if x < f32::INFINITY { value } else { x }
}

/// Returns `value`, the logarithm of a positive finite `x`, or the logarithm of a zero, negative, infinite or NaN `x`.
#[inline(always)]
pub fn beyond(x: f32, value: f32) -> f32 {
    let value = if x < f32::INFINITY { value } else { x };
    let value = if x < 0.0 { f32::NAN } else { value };
    if x == 0.0 { f32::NEG_INFINITY } else { value }
}

/// Largest absolute angle for which the functions below are accurate; larger ones use the standard library.
const LARGEST_ANGLE: f32 = 1_048_576.0;

/// Returns the number of the nearest multiple of pi/2, modulo 2^32, and the distance from it, computed in f64.
#[inline(always)]
fn quarter(x: f32) -> (u32, f64) {
    let x = f64::from(x);
    let rounded = x.mul_add(std::f64::consts::FRAC_2_PI, ROUND_64);
    let n = rounded - ROUND_64;
    let near = n.mul_add(-std::f64::consts::FRAC_PI_2, x);
    (rounded.to_bits() as u32, n.mul_add(-6.123_233_995_736_766e-17, near))
}

/// Coefficients of `(sin x - x) / x^3`, a polynomial in `x^2`.
const SINE: [f64; 4] =
    [-0.166_666_666_638_440_49, 8.333_331_870_341_349e-3, -1.984_008_437_642_270_2e-4, 2.724_962_008_007_533e-6];
/// Coefficients of `(cos x - 1) / x^2`, a polynomial in `x^2`.
const COSINE: [f64; 5] = [
    -0.499_999_999_999_637_1, 0.041_666_666_637_279_06, -1.388_888_508_002_599e-3, 2.479_985_875_074_885_7e-5,
    -2.723_682_200_188_619_4e-7,
];
/// Coefficients of polynomials in `x^2` whose quotient is `tan x / x`.
const TANGENT: [[f64; 3]; 2] = [
    [1.0, -0.111_308_431_405_334_57, 1.071_501_819_110_218_3e-3],
    [1.0, -0.444_641_764_620_966_9, 0.015_952_083_975_738_32],
];

#[inline(always)]
fn sine_of_quarter(quarter: u32, x: f64) -> f32 {
    let z = x * x;
    let sine = x * z.mul_add(polynomial64(z, SINE), 1.0);
    let cosine = z.mul_add(polynomial64(z, COSINE), 1.0);
    let value = if quarter & 1 == 0 { sine } else { cosine };
    (if quarter & 2 == 0 { value } else { -value }) as f32
}

/// Sine, for angles up to [`LARGEST_ANGLE`].
#[inline(always)]
fn sin(x: f32) -> f32 {
    let (quarter, x) = quarter(x);
    sine_of_quarter(quarter, x)
}

/// Cosine, for angles up to [`LARGEST_ANGLE`].
#[inline(always)]
fn cos(x: f32) -> f32 {
    let (quarter, x) = quarter(x);
    sine_of_quarter(quarter.wrapping_add(1), x)
}

/// Tangent, for angles up to [`LARGEST_ANGLE`].
#[inline(always)]
fn tan(x: f32) -> f32 {
    let (quarter, x) = quarter(x);
    let z = x * x;
    let (height, width) = (x * polynomial64(z, TANGENT[0]), polynomial64(z, TANGENT[1]));
    let is_even = quarter & 1 == 0;
    let (above, below) = if is_even { (height, width) } else { (-width, height) };
    (above / below) as f32
}

/// Sine of each element.
pub fn sines(x: &[f32], out: &mut Writer<f32>) {
    angles(x, out, sin, f32::sin);
}

/// Cosine of each element.
pub fn cosines(x: &[f32], out: &mut Writer<f32>) {
    angles(x, out, cos, f32::cos);
}

/// Tangent of each element.
pub fn tangents(x: &[f32], out: &mut Writer<f32>) {
    angles(x, out, tan, f32::tan);
}

/// Applies `near` to angles up to [`LARGEST_ANGLE`] and `far` to the others. The other elements affect only the speed.
#[inline(always)]
fn angles(x: &[f32], out: &mut Writer<f32>, near: impl Fn(f32) -> f32 + Copy, far: impl Fn(f32) -> f32 + Copy) {
    for x in x.chunks(256) {
        // Bits of sizes are in the order of the sizes; those of NaN are the largest.
        let largest = widest(
            #[inline(always)]
            || x.iter().fold(0, |largest, x| x.abs().to_bits().max(largest)),
        );
        if largest <= LARGEST_ANGLE.to_bits() {
            out.compute(x, near);
        } else {
            out.map(x, |x| if x.abs() <= LARGEST_ANGLE { near(x) } else { far(x) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::inverse_circular::single::{acos, asin, atan2};
    use super::super::roots::{cbrt, hypot};
    use super::*;

    /// Largest error of `f` in ulps of the true value, over a sample of all f32 in `range`.
    fn error(f: impl Fn(f32) -> f32, truth: impl Fn(f64) -> f64, range: impl Fn(f32) -> bool) -> f64 {
        let step = if cfg!(miri) { 40_000_007 } else { 4001 };
        let numbers = (0..u32::MAX).step_by(step).map(f32::from_bits).filter(|x| range(*x));
        numbers.map(|x| distance(f(x), truth(x.into()), x)).fold(0.0, f64::max)
    }

    fn distance(got: f32, truth: f64, x: f32) -> f64 {
        let near = truth as f32;
        if got == near || (got.is_nan() && near.is_nan()) {
            return ((f64::from(got) - truth).abs() / unit(near)).min(0.5);
        }
        assert!(near.is_finite() || got.abs() > 3e38, "{got} at {x}, and not {truth}");
        (f64::from(got) - truth).abs() / unit(near)
    }

    fn unit(x: f32) -> f64 {
        let x = x.abs().clamp(f32::MIN_POSITIVE, 3e38);
        f64::from(f32::from_bits(x.to_bits() + 1)) - f64::from(x)
    }

    #[test]
    fn errors_are_small() {
        let all = |_: f32| true;
        let small = |x: f32| x.abs() <= LARGEST_ANGLE;
        let errors = [
            ("exp", error(exp, f64::exp, all), 1.0),
            ("exp_m1", error(exp_m1, f64::exp_m1, all), 1.5),
            ("tanh", error(tanh, f64::tanh, all), 2.6),
            ("logistic", error(logistic, |x| 1.0 / (1.0 + (-x).exp()), all), 1.0),
            ("ln", error(ln, f64::ln, all), 1.0),
            ("ln_1p", error(ln_1p, f64::ln_1p, all), 1.0),
            ("sin", error(sin, f64::sin, small), 0.51),
            ("cos", error(cos, f64::cos, small), 0.51),
            ("tan", error(tan, f64::tan, small), 0.51),
            ("cbrt", error(cbrt, f64::cbrt, all), 0.51),
            ("asin", error(asin, f64::asin, all), 2.5),
            ("acos", error(acos, f64::acos, all), 1.5),
            ("atan", error(|x| atan2(x, 1.0), f64::atan, all), 1.5),
            ("hypot", error(|x| hypot(x, 3.0), |x| x.hypot(3.0), all), 0.51),
        ];
        let wrong: Vec<_> = errors.iter().filter(|(_, error, bound)| error > bound).collect();
        assert!(wrong.is_empty(), "{wrong:?} of {errors:?}");
    }

    #[test]
    fn exponentials_of_f64() {
        // The standard library's error is below 1 ulp, too.
        for i in 0..if cfg!(miri) { 100 } else { 400_000 } {
            let x = (f64::from(i) * 0.618_033_988_749_894_8).fract() * 1500.0 - 760.0;
            let (got, near) = (exp64(x), x.exp());
            assert!(got.to_bits().abs_diff(near.to_bits()) <= 1, "{x}: {got} {near}");
        }
        let same = |x: f64, want: f64| assert_eq!(exp64(x).to_bits(), want.to_bits(), "{x}");
        for x in [0.0, -0.0, 1e-300, f64::INFINITY, f64::NEG_INFINITY, 709.782_712_893_384, 709.782_712_893_385, -745.1]
        {
            same(x, x.exp());
        }
        assert!(exp64(f64::NAN).is_nan());
    }

    #[test]
    fn special_numbers() {
        let same = |got: f32, want: f32| assert_eq!(got.to_bits(), want.to_bits(), "{got} {want}");
        for f in [exp_m1, tanh, ln_1p, sin, tan, asin] {
            same(f(0.0), 0.0);
            same(f(-0.0), -0.0);
            assert!(f(f32::NAN).is_nan());
            let tiny = f32::from_bits(1);
            same(f(tiny), tiny);
            same(f(-tiny), -tiny);
        }
        same(exp(f32::NEG_INFINITY), 0.0);
        same(exp(f32::INFINITY), f32::INFINITY);
        same(exp(88.722_84), f32::INFINITY);
        assert!(exp(88.722_83).is_finite() && exp(f32::NAN).is_nan());
        same(exp(-103.0), 1e-45);
        same(exp_m1(f32::NEG_INFINITY), -1.0);
        same(exp_m1(f32::INFINITY), f32::INFINITY);
        same(tanh(f32::INFINITY), 1.0);
        same(tanh(f32::NEG_INFINITY), -1.0);
        same(cbrt(-0.0), -0.0);
        same(cbrt(-27.0), -3.0);
        same(cbrt(f32::NEG_INFINITY), f32::NEG_INFINITY);
        same(hypot(f32::NAN, f32::NEG_INFINITY), f32::INFINITY);
        same(hypot(-3e38, 0.0), 3e38);
        same(acos(1.0), 0.0);
        assert!(asin(1.5).is_nan() && acos(-1.5).is_nan() && cbrt(f32::NAN).is_nan() && hypot(0.0, f32::NAN).is_nan());
        same(ln(0.0), f32::NEG_INFINITY);
        same(ln(-0.0), f32::NEG_INFINITY);
        same(ln(f32::INFINITY), f32::INFINITY);
        same(ln(1.0), 0.0);
        same(ln_1p(-1.0), f32::NEG_INFINITY);
        same(ln_1p(f32::INFINITY), f32::INFINITY);
        for x in [ln(-1.0), ln(f32::NEG_INFINITY), ln(f32::NAN), ln_1p(-1.5), ln_1p(f32::NEG_INFINITY)] {
            assert!(x.is_nan());
        }
    }
}
