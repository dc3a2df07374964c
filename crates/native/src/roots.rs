//! Cube roots and lengths that the compiler vectorizes in loops, like the functions in `fast.rs`: almost always
//! correctly rounded.

use super::fast::{ROUND, polynomial, polynomial64};
use super::wide::widest;
use super::writer::Writer;

/// 2^-80: sizes from there on have roots without underflow in their computation.
const LEAST_CUBE: f32 = f32::from_bits((127 - 80) << 23);

/// Cube root of each element. The other elements affect only the speed.
pub fn cube_roots(x: &[f32], out: &mut Writer<f32>) {
    for x in x.chunks(256) {
        // Bits of finite sizes from a least one on are one range.
        const FIRST: u32 = LEAST_CUBE.to_bits();
        let farthest = widest(
            #[inline(always)]
            || x.iter().fold(0, |farthest, x| x.abs().to_bits().wrapping_sub(FIRST).max(farthest)),
        );
        if farthest < f32::INFINITY.to_bits() - FIRST {
            out.compute(
                x,
                #[inline(always)]
                |x| cbrt_of_large(x.abs()).copysign(x),
            );
        } else {
            out.compute(x, cbrt);
        }
    }
}

/// Cube root.
#[inline(always)]
pub fn cbrt(x: f32) -> f32 {
    let size = x.abs();
    let small = size < LEAST_CUBE;
    // 2^72 and its root.
    let root = cbrt_of_large(if small { size * 4_722_366_482_869_645_213_696.0 } else { size });
    let root = (if small { root / 16_777_216.0 } else { root }).copysign(x);
    // Zeros, infinities and NaN are their own roots.
    if size > 0.0 && size < f32::INFINITY { root } else { x }
}

/// Cube root of a positive finite `x` from [`LEAST_CUBE`] on, from its inverse, without a division.
#[inline(always)]
fn cbrt_of_large(x: f32) -> f32 {
    // A third of the bits is a third of the logarithm, almost: this is within 4% of the inverse root. The first 24 of
    // its 32 bits are computed as a float.
    const BITS: f32 = ROUND + (0x0054_A21D - 0x0040_0000) as f32;
    let y = f32::from_bits((x.to_bits() as i32 as f32).mul_add(-1.0 / 768.0, BITS).to_bits() << 8);
    let h = (-x * y).mul_add(y * y, 1.0);
    let y = (y * h).mul_add(polynomial(h, [1.0 / 3.0, 2.0 / 9.0, 14.0 / 81.0, 35.0 / 243.0]), y);
    let square = y * y;
    let t = x * square;
    // x - t^3, almost exactly, and its share of x.
    let of_t = t * t;
    let lost = t.mul_add(t, -of_t);
    let share = t.mul_add(-lost, t.mul_add(-of_t, x)) * (square * y);
    (t * share).mul_add(1.0 / 3.0, t)
}

/// Coefficients of `m^(-1/3)`, for `m` from 1 to 2.
const INVERSE_ROOT_64: [f64; 6] = [
    1.777_647_168_489_005_4, -1.554_027_407_710_659_8, 1.227_149_620_020_715_4, -0.586_514_161_588_980_6,
    0.152_249_564_382_217_64, -0.016_511_679_091_286_464,
];

/// Cube root: `x = 8^k 2^j m` with `j` of 0, 1 or 2. The root of `2^j m` is computed from its inverse, without a
/// division, and then corrected by its error.
#[inline(always)]
pub fn cbrt64(x: f64) -> f64 {
    let size = x.abs();
    let small = size < f64::MIN_POSITIVE;
    let normal = if small { size * 18_014_398_509_481_984.0 } else { size };
    let bits = normal.to_bits();
    // The exponent plus 1023, and that divided by 3; 1023 is 3 times 341.
    let exponent = (bits >> 52) & 0x7FF;
    let third = (exponent * 21_846) >> 16;
    let j = exponent - 3 * third;
    let m = f64::from_bits((bits & ((1 << 52) - 1)) | (1023 << 52));
    let value = f64::from_bits((bits & ((1 << 52) - 1)) | ((1023 + j) << 52));
    let scale = if j == 1 { 0.793_700_525_984_099_8 } else { 1.0 };
    let scale = if j == 2 { 0.629_960_524_947_436_6 } else { scale };
    let y = polynomial64(m, INVERSE_ROOT_64) * scale;
    let h = (-value * y).mul_add(y * y, 1.0);
    let y = y.mul_add(h * h.mul_add(2.0 / 9.0, 1.0 / 3.0), y);
    let square = y * y;
    let root = value * square;
    // value - root^3, almost exactly.
    let of_root = root * root;
    let lost = root.mul_add(root, -of_root);
    let error = root.mul_add(-lost, root.mul_add(-of_root, value));
    let root = error.mul_add(square * (1.0 / 3.0), root);
    let by = third + if small { 1023 - 341 - 18 } else { 1023 - 341 };
    let root = (root * f64::from_bits(by << 52)).copysign(x);
    // Zeros, infinities and NaN are their own roots.
    if size > 0.0 && size < f64::INFINITY { root } else { x }
}

/// Length of the vector (`x`, `y`), infinite if a part is; squares of f32 are exact in f64.
#[inline(always)]
pub fn hypot(x: f32, y: f32) -> f32 {
    let (wide_x, wide_y) = (f64::from(x), f64::from(y));
    let length = wide_x.mul_add(wide_x, wide_y * wide_y).sqrt() as f32;
    if x.abs() == f32::INFINITY || y.abs() == f32::INFINITY { f32::INFINITY } else { length }
}
