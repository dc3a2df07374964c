//! Functions of complex numbers in f64. Values at infinities and NaN follow C (ISO/IEC 9899:2018, annex G) and the
//! array API standard; intermediate results do not overflow unless the result does. `ops::complex_functions` uses the
//! same formulas in StableHLO.

use num_complex::Complex64;

const ONE: Complex64 = Complex64::ONE;

fn is_infinite(z: Complex64) -> bool {
    z.re.is_infinite() || z.im.is_infinite()
}

/// Returns `z / root^2`, its absolute value, and `root`: a power of two such that the absolute value neither overflows
/// nor underflows.
fn scaled(z: Complex64) -> (Complex64, f64, f64) {
    let large = z.re.abs().max(z.im.abs());
    let root = match large {
        _ if large > 2f64.powi(500) => 2f64.powi(260),
        _ if large < 2f64.powi(-450) => 2f64.powi(-260),
        _ => 1.0,
    };
    let z = Complex64::new(z.re / root / root, z.im / root / root);
    (z, z.re.hypot(z.im), root)
}

/// `z / |z|`; 0 for zeros of either sign.
pub fn sign(z: Complex64) -> Complex64 {
    if z == Complex64::ZERO {
        return Complex64::ZERO;
    }
    let (z, size, _) = scaled(z);
    Complex64::new(z.re / size, z.im / size)
}

/// Above this argument `e^x` is computed as `e^(x - STEP)`, and the factor `e^STEP` is multiplied in where nothing
/// overflows.
const LARGE: f64 = 512.0;
const STEP: f64 = 708.4375;

/// `e^x` as two factors, of which neither overflows as long as their product does not.
fn power_of_e(x: f64) -> (f64, f64) {
    if x > LARGE { ((x - STEP).exp(), STEP.exp()) } else { (x.exp(), 1.0) }
}

/// `e^a (cos b + i sin b)`.
pub fn exp(z: Complex64) -> Complex64 {
    if z.im == 0.0 {
        return Complex64::new(z.re.exp(), z.im);
    }
    if z.re.is_infinite() && !z.im.is_finite() {
        return if z.re < 0.0 { Complex64::ZERO } else { Complex64::new(z.re, f64::NAN) };
    }
    let (power, scale) = power_of_e(z.re);
    Complex64::new(z.im.cos() * scale * power, z.im.sin() * scale * power)
}

pub fn exp_m1(z: Complex64) -> Complex64 {
    if z.im == 0.0 {
        return Complex64::new(z.re.exp_m1(), z.im);
    }
    let whole = exp(z);
    if z.re.is_infinite() || z.re > 45.0 {
        return Complex64::new(whole.re - 1.0, whole.im);
    }
    let half = (z.im / 2.0).sin();
    Complex64::new(z.re.exp_m1() * z.im.cos() - 2.0 * half * half, whole.im)
}

/// Natural logarithm of the absolute value of `re + i im`.
fn ln_size(re: f64, im: f64) -> f64 {
    if re.is_infinite() || im.is_infinite() {
        return f64::INFINITY;
    }
    let (re, im) = (re.abs(), im.abs());
    if re.is_nan() || im.is_nan() {
        return f64::NAN;
    }
    let (large, small) = if re > im { (re, im) } else { (im, re) };
    // Near the unit circle `ln(|z|)` would lose most of its bits to cancellation.
    if large > 0.5 && large < 2.0 && small < 1.0 {
        0.5 * ((large - 1.0) * (large + 1.0) + small * small).ln_1p()
    } else if large == 0.0 {
        f64::NEG_INFINITY
    } else {
        let ratio = small / large;
        large.ln() + 0.5 * (ratio * ratio).ln_1p()
    }
}

pub fn ln(z: Complex64) -> Complex64 {
    Complex64::new(ln_size(z.re, z.im), z.im.atan2(z.re))
}

pub fn ln_1p(z: Complex64) -> Complex64 {
    let re = if z.re.abs() < 0.5 && z.im.abs() < 0.5 {
        0.5 * (z.re * (2.0 + z.re) + z.im * z.im).ln_1p()
    } else {
        ln_size(1.0 + z.re, z.im)
    };
    Complex64::new(re, z.im.atan2(1.0 + z.re))
}

/// `sin a cosh b + i cos a sinh b`.
pub fn sin(z: Complex64) -> Complex64 {
    let (sine, cosine, sinh, cosh) = circle(z);
    let is_aside = !z.re.is_finite() && (z.im == 0.0 || z.im.is_infinite());
    let im = if is_aside { sinh } else { cosine * sinh };
    Complex64::new(if z.re == 0.0 { z.re } else { sine * cosh }, im)
}

/// `cos a cosh b - i sin a sinh b`.
pub fn cos(z: Complex64) -> Complex64 {
    let (sine, cosine, sinh, cosh) = circle(z);
    let is_lost = !z.re.is_finite();
    let re = if is_lost && z.im.is_infinite() { cosh } else { cosine * cosh };
    let im = match z.re {
        _ if z.re == 0.0 => z.re * 1f64.copysign(z.im),
        _ if is_lost && z.im == 0.0 => sinh,
        _ => sine * sinh,
    };
    Complex64::new(re, -im)
}

/// Sine and cosine of the real part, and hyperbolic sine and cosine of the imaginary part. For a large imaginary part a
/// factor of the latter two is moved to the former two, to avoid overflow.
fn circle(z: Complex64) -> (f64, f64, f64, f64) {
    let (sine, cosine) = z.re.sin_cos();
    if z.im.abs() > LARGE {
        let (power, scale) = power_of_e(z.im.abs());
        let half = 0.5 * power;
        return (sine * scale, cosine * scale, half.copysign(z.im), half);
    }
    (sine, cosine, z.im.sinh(), z.im.cosh())
}

/// `(sinh x cosh x + i sin y cos y) / (sinh^2 x + cos^2 y)`; the divisor is a sum without cancellation near the poles.
pub fn tanh(z: Complex64) -> Complex64 {
    let (x, y) = (z.re, z.im);
    let turn = if x.is_infinite() && !y.is_finite() { 0.0 } else { y.sin() * y.cos() };
    let (re, im) = if x.abs() > 20.0 {
        let power = (-x.abs()).exp();
        // For finite `x` both parts are NaN if `y` is NaN or infinite.
        (if turn.is_nan() { turn } else { 1f64.copysign(x) }, 4.0 * turn * power * power)
    } else {
        let (sinh, cosine) = (x.sinh(), y.cos());
        let divisor = sinh * sinh + cosine * cosine;
        (sinh * x.cosh() / divisor, turn / divisor)
    };
    Complex64::new(if x == 0.0 { x } else { re }, if y == 0.0 { y } else { im })
}

/// `-i tanh(i z)`.
pub fn tan(z: Complex64) -> Complex64 {
    let rotated = tanh(Complex64::new(z.im, z.re));
    Complex64::new(rotated.im, rotated.re)
}

/// `1 / (1 + e^-z)`. With `w = e^-|a|`, `p = 1 - w` and `k = 1 + cos b`, the divisor `|1 + w e^(ib)|^2` is computed
/// without cancellation near the poles, as `p^2 + 2 w k`.
pub fn logistic(z: Complex64) -> Complex64 {
    let (w, p) = ((-z.re.abs()).exp(), -(-z.re.abs()).exp_m1());
    let (sine, cosine) = if z.re.is_infinite() && !z.im.is_finite() { (0.0, 1.0) } else { (z.im / 2.0).sin_cos() };
    let k = 2.0 * cosine * cosine;
    let divisor = p * p + 2.0 * (w * k);
    let re = if z.re >= 0.0 { p + w * k } else { w * (k - p) };
    Complex64::new(re / divisor, w * (2.0 * cosine * sine) / divisor)
}

/// Principal square root: its real part is not negative.
pub fn sqrt(z: Complex64) -> Complex64 {
    if z.im.is_infinite() {
        return Complex64::new(f64::INFINITY, z.im);
    }
    if z.re.is_infinite() {
        let other = if z.im.is_nan() { z.im } else { 0.0 };
        return if z.re > 0.0 {
            Complex64::new(z.re, other.copysign(z.im))
        } else {
            Complex64::new(other, f64::INFINITY.copysign(z.im))
        };
    }
    let (z, size, root) = scaled(z);
    let half = root_of_scaled(z, size);
    Complex64::new(half.re * root, half.im * root)
}

fn root_of_scaled(z: Complex64, size: f64) -> Complex64 {
    if z == Complex64::ZERO {
        return Complex64::new(0.0, z.im);
    }
    let half = (0.5 * (z.re.abs() + size)).sqrt();
    let other = z.im.abs() / (2.0 * half);
    let (re, im) = if z.re >= 0.0 { (half, other) } else { (other, half) };
    Complex64::new(re, im.copysign(z.im))
}

/// Reciprocal of the principal square root, computed as `conj(sqrt(z)) / |z|`. 0 for infinite `z`; infinity + NaN i for
/// 0, as complex division gives.
pub fn rsqrt(z: Complex64) -> Complex64 {
    if is_infinite(z) {
        return Complex64::new(0.0, -0f64.copysign(z.im));
    }
    if z == Complex64::ZERO {
        return Complex64::new(f64::INFINITY, f64::NAN);
    }
    let (z, size, root) = scaled(z);
    let half = root_of_scaled(z, size);
    Complex64::new(half.re / size / root, -half.im / size / root)
}

/// As in NumPy: 1 for exponent 0; a zero base with another exponent gives NaN unless the exponent's real part is
/// positive.
pub fn power(base: Complex64, exponent: Complex64) -> Complex64 {
    if exponent == Complex64::ZERO {
        return ONE;
    }
    if base == Complex64::ZERO {
        return if exponent.re > 0.0 { Complex64::ZERO } else { Complex64::new(f64::NAN, f64::NAN) };
    }
    exp(exponent * ln(base))
}
