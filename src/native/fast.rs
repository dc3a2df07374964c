//! Functions of f32 that the compiler vectorizes in loops: they have no calls, tables or branches. They use no fused
//! multiply-add, so that their results are the same on every processor. Errors over all f32 are below 1 ulp, except for
//! exp_m1 (below 1.5 ulp) and tanh (below 2.6 ulp); sine, cosine and tangent are almost always correctly rounded.

use super::writer::Writer;

const LOG2_E: f32 = std::f32::consts::LOG2_E;
/// ln 2 as a sum of two constants: products of the first one with small integers are exact.
const LN_2: [f32; 2] = [0.693_145_75, 1.428_606_8e-6];
/// 1.5 * 2^23: adding it rounds to the nearest integer and leaves that in the low bits.
const ROUND: f32 = 12_582_912.0;
/// 1.5 * 2^52: like [`ROUND`], for f64.
const ROUND_64: f64 = 6_755_399_441_055_744.0;

/// `c[0] + c[1] x + ...`, by Horner's method.
#[inline(always)]
fn polynomial<const N: usize>(x: f32, c: [f32; N]) -> f32 {
    c.into_iter().rev().reduce(|sum, c| sum * x + c).unwrap_or(0.0)
}

#[inline(always)]
fn polynomial64<const N: usize>(x: f64, c: [f64; N]) -> f64 {
    c.into_iter().rev().reduce(|sum, c| sum * x + c).unwrap_or(0.0)
}

/// Clamps `x` to the bounds; NaN stays NaN.
#[inline(always)]
fn within(x: f32, low: f32, high: f32) -> f32 {
    let x = if x > high { high } else { x };
    if x < low { low } else { x }
}

/// Returns `n` and `e^r - 1`, where `x = n ln 2 + r`.
#[inline(always)]
fn split(x: f32) -> (i32, f32) {
    let rounded = x * LOG2_E + ROUND;
    let n = rounded - ROUND;
    let r = (x - n * LN_2[0]) - n * LN_2[1];
    let p = polynomial(r, [0.5, 0.166_665_43, 0.041_667_2, 0.008_366_547, 0.001_388_251_6]);
    ((rounded.to_bits() as i32).wrapping_sub(ROUND.to_bits() as i32), r * r * p + r)
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
    let (n, q) = split(within(x, -104.0, 89.0));
    // Like [`scale`]; since the first factor is near 1, a fixed step suffices.
    let step = if n < -100 { -64 } else { 1 };
    (q + 1.0) * power_of_two(n.wrapping_sub(step)) * power_of_two(step)
}

/// `e^x` in f64, with an error below 1 ulp.
#[inline(always)]
pub fn exp64(x: f64) -> f64 {
    let x = if x > 710.0 { 710.0 } else { x };
    let x = if x < -746.0 { -746.0 } else { x };
    let rounded = x * std::f64::consts::LOG2_E + ROUND_64;
    let n = rounded - ROUND_64;
    let r = (x - n * 0.693_147_180_369_123_8) - n * 1.908_214_929_270_587_7e-10;
    let p = polynomial64(r, EXPONENTIAL);
    let n = rounded.to_bits().wrapping_sub(ROUND_64.to_bits());
    let power = |n: u64| f64::from_bits(n.wrapping_add(1023) << 52);
    let step = if x < -690.0 { 0u64.wrapping_sub(64) } else { 1 };
    (r * r * p + r + 1.0) * power(n.wrapping_sub(step)) * power(step)
}

/// Coefficients of `(e^x - 1 - x) / x^2`.
const EXPONENTIAL: [f64; 10] = [
    0.500_000_000_000_000_1,
    0.166_666_666_666_666_69,
    0.041_666_666_666_623_99,
    8.333_333_333_330_051e-3,
    1.388_888_891_728_179_4e-3,
    1.984_126_986_310_596_8e-4,
    2.480_152_119_021_773e-5,
    2.755_726_837_868_419_2e-6,
    2.762_013_871_973_399_4e-7,
    2.510_042_415_700_506_7e-8,
];

/// `e^x - 1`.
#[inline(always)]
pub fn exp_m1(x: f32) -> f32 {
    let (n, q) = split(within(x, -18.0, 89.0));
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
    let rounded = size * (2.0 * LOG2_E) + ROUND;
    let h = size - (rounded - ROUND) * (0.5 * std::f32::consts::LN_2);
    let z = h * h;
    let t = h + h * (z * polynomial(z, [-0.333_312_7, 0.131_104]));
    let power = power_of_two((rounded.to_bits() as i32).wrapping_sub(ROUND.to_bits() as i32));
    let (less, more) = (power - 1.0, power + 1.0);
    ((less + t * more) / (more + t * less)).copysign(x)
}

/// `1 / (1 + e^-x)`; the sum and the quotient are computed in f64.
#[inline(always)]
pub fn logistic(x: f32) -> f32 {
    let (n, q) = split(within(-x, -104.0, 104.0));
    let power = f64::from_bits(u64::from(n.wrapping_add(1023) as u32) << 52);
    (1.0 / (1.0 + (1.0 + f64::from(q)) * power)) as f32
}

/// Returns `n` and `f` with `x = 2^n (1 + f)`, for normal positive `x`; `f` is between sqrt(1/2) - 1 and sqrt(2) - 1.
#[inline(always)]
fn fraction(x: f32) -> (i32, f32) {
    const SQRT_HALF: u32 = std::f32::consts::FRAC_1_SQRT_2.to_bits();
    let moved = x.to_bits().wrapping_sub(SQRT_HALF);
    ((moved as i32) >> 23, f32::from_bits((moved & 0x007F_FFFF).wrapping_add(SQRT_HALF)) - 1.0)
}

/// `ln(1 + f) + n ln 2 + c`, for `f` from [`fraction`] and a very small `c`.
#[inline(always)]
fn ln_of_parts(f: f32, n: i32, c: f32) -> f32 {
    let n = n as f32;
    let s = f / (2.0 + f);
    let z = s * s;
    let r = z * polynomial(z, [0.666_666_7, 0.400_001_23, 0.285_508_16, 0.233_305_83]);
    let half = 0.5 * f * f;
    ((s * (half + r) + (n * LN_2[1] + c)) - half) + f + n * LN_2[0]
}

/// Natural logarithm.
#[inline(always)]
pub fn ln(x: f32) -> f32 {
    let small = x < f32::MIN_POSITIVE;
    let (n, f) = fraction(if small { x * 8_388_608.0 } else { x });
    beyond(x, ln_of_parts(f, if small { n.wrapping_sub(23) } else { n }, 0.0))
}

/// `ln(1 + x)`.
#[inline(always)]
pub fn ln_1p(x: f32) -> f32 {
    let u = 1.0 + x;
    let (n, f) = fraction(u);
    // Rounding error of the sum.
    let lost = if x > 1.0 { 1.0 - (u - x) } else { x - (u - 1.0) };
    let near = n == 0;
    let value = ln_of_parts(if near { x } else { f }, n, if near { 0.0 } else { lost / u });
    // Keeps the sign of -0.
    if x == 0.0 { x } else { beyond(u, value) }
}

/// Returns `value`, the logarithm of a positive finite `x`, or the logarithm of a zero, negative, infinite or NaN `x`.
#[inline(always)]
fn beyond(x: f32, value: f32) -> f32 {
    let value = if x < f32::INFINITY { value } else { x };
    let value = if x < 0.0 { f32::NAN } else { value };
    if x == 0.0 { f32::NEG_INFINITY } else { value }
}

/// `x^y` for positive `x`, computed in f64: almost always the correctly rounded f32.
#[inline(always)]
fn power(x: f32, y: f32) -> f32 {
    const SQRT_HALF: u64 = std::f64::consts::FRAC_1_SQRT_2.to_bits();
    const FRACTION: u64 = (1 << 52) - 1;
    // OR-ing a small integer into these bits gives 2^52 plus that integer.
    const TWO_52: u64 = 4_503_599_627_370_496f64.to_bits();
    let moved = f64::from(x).to_bits().wrapping_sub(SQRT_HALF);
    let n = f64::from_bits(TWO_52 | (moved >> 52).wrapping_add(1024) & 0x7FF) - 4_503_599_627_371_520.0;
    let f = f64::from_bits((moved & FRACTION).wrapping_add(SQRT_HALF)) - 1.0;
    let s = f / (2.0 + f);
    let t = f64::from(y) * (n + s * polynomial64(s * s, LOGARITHM));
    let t = if t > 200.0 { 200.0 } else { t };
    let t = if t < -200.0 { -200.0 } else { t };
    let rounded = t + ROUND_64;
    let r = t - (rounded - ROUND_64);
    let scale = f64::from_bits(rounded.to_bits().wrapping_sub(ROUND_64.to_bits()).wrapping_add(1023) << 52);
    (polynomial64(r, POWER_OF_TWO) * scale) as f32
}

/// Coefficients of `log2((1 + s) / (1 - s)) / s`, a polynomial in `s^2`.
const LOGARITHM: [f64; 5] = [
    2.885_390_081_790_048,
    0.961_796_673_368_230_9,
    0.577_083_583_007_008_7,
    0.411_672_687_343_768_55,
    0.340_732_993_242_455_9,
];
/// Coefficients of `2^r`.
const POWER_OF_TWO: [f64; 8] = [
    0.999_999_999_959_432_1,
    0.693_147_180_556_822_5,
    0.240_226_512_147_426_38,
    0.055_504_109_064_216_56,
    9.618_025_447_428_506e-3,
    1.333_347_834_600_701_2e-3,
    1.546_978_228_107_792_5e-4,
    1.530_374_155_434_504_5e-5,
];

/// `x^y` for each pair. Pairs other than positive finite `x` and finite `y` use the standard library's `powf`.
pub fn powers(x: &[f32], y: &[f32], out: &mut Writer<f32>) {
    let is_ordinary = |x: f32, y: f32| (x > 0.0) & (x < f32::INFINITY) & (y.abs() < f32::INFINITY);
    for (x, y) in x.chunks(256).zip(y.chunks(256)) {
        if x.iter().zip(y).fold(true, |all, (&x, &y)| all & is_ordinary(x, y)) {
            out.compute_zip(x, y, power);
        } else {
            out.zip(x, y, |x, y| if is_ordinary(x, y) { power(x, y) } else { x.powf(y) });
        }
    }
}

/// Largest absolute angle for which the functions below are accurate; larger ones use the standard library.
const LARGEST_ANGLE: f32 = 1_048_576.0;

/// Returns the number of the nearest multiple of pi/2, modulo 2^32, and the distance from it, computed in f64.
#[inline(always)]
fn quarter(x: f32) -> (u32, f64) {
    let x = f64::from(x);
    let rounded = x * std::f64::consts::FRAC_2_PI + ROUND_64;
    let n = rounded - ROUND_64;
    (rounded.to_bits() as u32, (x - n * 1.570_796_310_901_641_8) - n * 1.589_325_477_352_819_6e-8)
}

/// Coefficients of `(sin x - x) / x^3`, a polynomial in `x^2`.
const SINE: [f64; 4] =
    [-0.166_666_666_638_440_49, 8.333_331_870_341_349e-3, -1.984_008_437_642_270_2e-4, 2.724_962_008_007_533e-6];
/// Coefficients of `(cos x - 1) / x^2`, a polynomial in `x^2`.
const COSINE: [f64; 5] = [
    -0.499_999_999_999_637_1,
    0.041_666_666_637_279_06,
    -1.388_888_508_002_599e-3,
    2.479_985_875_074_885_7e-5,
    -2.723_682_200_188_619_4e-7,
];
/// Coefficients of `(tan x - x) / x^3`, a polynomial in `x^2`.
const TANGENT: [f64; 8] = [
    0.333_333_332_865_134_95,
    0.133_333_430_200_391_73,
    0.053_964_992_333_765_054,
    0.021_910_933_530_958_368,
    8.607_932_619_136_192e-3,
    4.428_756_070_055_574e-3,
    -4.420_234_487_285_373e-6,
    1.791_467_197_889_491_8e-3,
];

#[inline(always)]
fn sine_of_quarter(quarter: u32, x: f64) -> f32 {
    let z = x * x;
    let sine = x * (1.0 + z * polynomial64(z, SINE));
    let cosine = 1.0 + z * polynomial64(z, COSINE);
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
    let value = x * (1.0 + z * polynomial64(z, TANGENT));
    (if quarter & 1 == 0 { value } else { -1.0 / value }) as f32
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
        if x.iter().fold(true, |all, x| all & (x.abs() <= LARGEST_ANGLE)) {
            out.compute(x, near);
        } else {
            out.map(x, |x| if x.abs() <= LARGEST_ANGLE { near(x) } else { far(x) });
        }
    }
}

#[cfg(test)]
mod tests {
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
        ];
        let wrong: Vec<_> = errors.iter().filter(|(_, error, bound)| error > bound).collect();
        assert!(wrong.is_empty(), "{wrong:?} of {errors:?}");
    }

    #[test]
    fn powers_are_the_nearest() {
        let special =
            [0.0, -0.0, 1.0, -1.0, 0.5, -2.0, 3.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 1e-45, f32::MAX];
        let mut pairs: Vec<(f32, f32)> = special.iter().flat_map(|&x| special.map(|y| (x, y))).collect();
        for i in 0..if cfg!(miri) { 1000 } else { 300_000u32 } {
            let bits = i.wrapping_mul(2_654_435_761);
            let x = f32::from_bits(bits >> 1);
            let y = (f64::from(bits >> 7) / f64::from(1u32 << 25) - 0.5) * 300.0 / f64::from(x).log2();
            pairs.push((x, y as f32));
        }
        let (x, y): (Vec<f32>, Vec<f32>) = pairs.iter().copied().unzip();
        let mut slots = vec![std::mem::MaybeUninit::uninit(); x.len()];
        let mut out = Writer::new(&mut slots);
        powers(&x, &y, &mut out);
        for ((x, y), &got) in pairs.into_iter().zip(&*out.finish()) {
            let want = f64::from(x).powf(y.into());
            assert!(distance(got, want, x) < 0.501 || got.to_bits() == x.powf(y).to_bits(), "{x}^{y}: {got} {want}");
        }
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
        for f in [exp_m1, tanh, ln_1p, sin, tan] {
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
