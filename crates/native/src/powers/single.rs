//! `x^y` of f32 in two loops, with logarithms in f64.

use super::super::fast::{ROUND_64, fraction, polynomial64};
use super::super::wide::widest;
use super::super::writer::Writer;

/// Largest absolute exponent of 2 that is computed; the results of larger ones are infinite or 0.
const MOST_EXPONENT: f64 = 200.0;

/// Coefficients of `log2(1 + f) / f`.
const LOGARITHM: [f64; 12] = [
    1.442_695_040_939_356, -0.721_347_525_213_088, 0.480_898_320_726_245_9, -0.360_672_800_549_556_64,
    0.288_540_643_699_832_46, -0.240_504_174_393_483_2, 0.206_096_254_531_577_6, -0.179_046_944_591_641_75,
    0.159_001_495_521_914_3, -0.156_982_309_344_071_34, 0.154_857_621_458_368_54, -0.086_346_036_658_916_52,
];

/// Coefficients of `2^r`.
const POWER_OF_TWO: [f64; 7] = [
    1.000_000_000_554_017_3, 0.693_147_205_738_039, 0.240_226_468_912_011_1, 0.055_503_287_757_345_4,
    0.009_618_488_911_142_826, 0.001_339_993_160_970_868_2, 0.000_153_458_224_188_436_38,
];

/// Base-2 logarithms of the powers of a block of pairs.
pub struct Block<const N: usize>([f64; N]);

impl<const N: usize> super::Block<f32> for Block<N> {
    fn new() -> Block<N> {
        Block([0.0; N])
    }

    fn fill(&mut self, x: &[f32], y: &[f32]) -> bool {
        let exponents = &mut self.0[..x.len()];
        widest(
            #[inline(always)]
            || {
                // Bits of positive normal finite numbers are one range, and so are those of finite sizes.
                const FIRST: u32 = f32::MIN_POSITIVE.to_bits();
                let (mut farthest_x, mut largest_y) = (0, 0);
                for ((exponent, &x), &y) in exponents.iter_mut().zip(x).zip(y) {
                    *exponent = exponent_of(x, y);
                    farthest_x = x.to_bits().wrapping_sub(FIRST).max(farthest_x);
                    largest_y = y.abs().to_bits().max(largest_y);
                }
                farthest_x < f32::INFINITY.to_bits() - FIRST && largest_y < f32::INFINITY.to_bits()
            },
        )
    }

    fn power(&self, i: usize) -> f32 {
        power_of_two(self.0[i])
    }

    fn write(&self, count: usize, out: &mut Writer<f32>) {
        out.compute(&self.0[..count], power_of_two);
    }
}

/// Returns `y log2(x)`, with a relative error of 2^-33.
#[inline(always)]
fn exponent_of(x: f32, y: f32) -> f64 {
    let (n, f) = fraction(x);
    let f = f64::from(f);
    let e = f64::from(y) * f.mul_add(polynomial64(f, LOGARITHM), f64::from(n));
    let e = if e > MOST_EXPONENT { MOST_EXPONENT } else { e };
    if e < -MOST_EXPONENT { -MOST_EXPONENT } else { e }
}

/// `2^e` for `e` up to [`MOST_EXPONENT`].
#[inline(always)]
fn power_of_two(e: f64) -> f32 {
    let rounded = e + ROUND_64;
    let r = e - (rounded - ROUND_64);
    // The polynomial is between 0.7 and 1.5: adding to its exponent is exact.
    let power = polynomial64(r, POWER_OF_TWO).to_bits().wrapping_add(rounded.to_bits() << 52);
    f64::from_bits(power) as f32
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check_single, computed};

    /// Pairs of numbers of all sizes, whose powers are finite.
    fn ordinary() -> impl Iterator<Item = (f32, f32)> {
        (0..if cfg!(miri) { 1000 } else { 300_000u32 }).map(|i| {
            let bits = i.wrapping_mul(2_654_435_761);
            let x = f32::from_bits(bits >> 1);
            let y = (f64::from(bits >> 7) / f64::from(1u32 << 25) - 0.5) * 300.0 / f64::from(x).log2();
            (x, y as f32)
        })
    }

    /// Error in units of the last place of the nearest f32.
    fn distance(got: f32, truth: f64) -> f64 {
        let near = truth as f32;
        if got == near || (got.is_nan() && near.is_nan()) {
            return 0.5;
        }
        let size = near.abs().clamp(f32::MIN_POSITIVE, 3e38);
        (f64::from(got) - truth).abs() / (f64::from(f32::from_bits(size.to_bits() + 1)) - f64::from(size))
    }

    #[test]
    fn errors_are_below_three_quarters_of_an_ulp() {
        let special =
            [0.0, -0.0, 1.0, -1.0, 0.5, -2.0, 3.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 1e-45, f32::MAX];
        let pairs: Vec<(f32, f32)> = special.iter().flat_map(|&x| special.map(|y| (x, y))).chain(ordinary()).collect();
        let (x, y): (Vec<f32>, Vec<f32>) = pairs.iter().copied().unzip();
        for ((x, y), got) in pairs.into_iter().zip(computed(&x, &y)) {
            let want = f64::from(x).powf(y.into());
            assert!(distance(got, want) < 0.75 || got.to_bits() == x.powf(y).to_bits(), "{x}^{y}: {got} {want}");
        }
    }

    #[test]
    fn a_power_depends_on_its_pair_alone() {
        check_single(ordinary(), -2.0);
    }
}
