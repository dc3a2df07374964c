//! `x^y` of f32 in three loops, with logarithms in f64.

use super::super::fast::{ROUND_64, fraction, polynomial64};
use super::super::wide::widest;
use super::super::writer::Writer;
use super::Base;

/// Largest absolute exponent of 2 that is computed; the results of larger ones are infinite or 0.
const MOST_EXPONENT: f64 = 200.0;

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

impl Base for f32 {
    type Block<const N: usize> = Block<N>;
    const LANES: usize = 16;
    const ONE: f32 = 1.0;

    fn is_ordinary(x: f32, y: f32) -> bool {
        (f32::MIN_POSITIVE..f32::INFINITY).contains(&x) && y.abs() < f32::INFINITY
    }

    fn power(x: f32, y: f32) -> f32 {
        x.powf(y)
    }
}

/// Intermediate results of a block of pairs.
pub struct Block<const N: usize> {
    /// The results of [`quotient`].
    parts: [[f32; N]; 3],
    /// Base-2 logarithms of the powers.
    exponents: [f64; N],
}

impl<const N: usize> super::Block<f32> for Block<N> {
    fn new() -> Block<N> {
        Block { parts: [[0.0; N]; 3], exponents: [0.0; N] }
    }

    fn fill(&mut self, x: &[f32], y: &[f32]) -> bool {
        let [n, s, rest] = &mut self.parts;
        let (n, s, rest) = (&mut n[..x.len()], &mut s[..x.len()], &mut rest[..x.len()]);
        let exponents = &mut self.exponents[..x.len()];
        widest(
            #[inline(always)]
            || {
                // Bits of positive normal finite numbers are one range, and so are those of finite sizes.
                const FIRST: u32 = f32::MIN_POSITIVE.to_bits();
                let (mut farthest_x, mut largest_y) = (0, 0);
                for ((((n, s), rest), &x), &y) in n.iter_mut().zip(&mut *s).zip(&mut *rest).zip(x).zip(y) {
                    [*n, *s, *rest] = quotient(x);
                    farthest_x = x.to_bits().wrapping_sub(FIRST).max(farthest_x);
                    largest_y = y.abs().to_bits().max(largest_y);
                }
                let parts = n.iter().zip(&*s).zip(&*rest);
                for ((exponent, ((&n, &s), &rest)), &y) in exponents.iter_mut().zip(parts).zip(y) {
                    let e = f64::from(y) * logarithm(n, s, rest);
                    let e = if e > MOST_EXPONENT { MOST_EXPONENT } else { e };
                    *exponent = if e < -MOST_EXPONENT { -MOST_EXPONENT } else { e };
                }
                farthest_x < f32::INFINITY.to_bits() - FIRST && largest_y < f32::INFINITY.to_bits()
            },
        )
    }

    fn power(&self, i: usize) -> f32 {
        power_of_two(self.exponents[i])
    }

    fn write(&self, count: usize, out: &mut Writer<f32>) {
        out.compute(&self.exponents[..count], power_of_two);
    }
}

/// Returns `n`, `s` and `rest` with `x = 2^n (1 + f)` and `s + rest = f / (2 + f)`, almost exactly.
#[inline(always)]
fn quotient(x: f32) -> [f32; 3] {
    let (n, f) = fraction(x);
    let m = 1.0 + f;
    let d = 1.0 + m;
    // Rounding error of the sum.
    let lost = m - (d - 1.0);
    let s = f / d;
    let remainder = s.mul_add(-lost, s.mul_add(-d, f));
    // `1 / d` is `(1 - s) / 2`.
    [n as f32, s, remainder * s.mul_add(-0.5, 0.5)]
}

/// Base-2 logarithm, from the parts of its argument.
#[inline(always)]
fn logarithm(n: f32, s: f32, rest: f32) -> f64 {
    let s = f64::from(s) + f64::from(rest);
    s.mul_add(polynomial64(s * s, LOGARITHM), f64::from(n))
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
    fn powers_are_the_nearest() {
        let special =
            [0.0, -0.0, 1.0, -1.0, 0.5, -2.0, 3.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 1e-45, f32::MAX];
        let pairs: Vec<(f32, f32)> = special.iter().flat_map(|&x| special.map(|y| (x, y))).chain(ordinary()).collect();
        let (x, y): (Vec<f32>, Vec<f32>) = pairs.iter().copied().unzip();
        for ((x, y), got) in pairs.into_iter().zip(computed(&x, &y)) {
            let want = f64::from(x).powf(y.into());
            assert!(distance(got, want) < 0.501 || got.to_bits() == x.powf(y).to_bits(), "{x}^{y}: {got} {want}");
        }
    }

    #[test]
    fn a_power_depends_on_its_pair_alone() {
        check_single(ordinary(), -2.0);
    }
}
