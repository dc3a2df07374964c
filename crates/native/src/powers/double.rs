//! `x^y` of f64 in two loops. Logarithms are sums of two f64.

use super::super::fast::{EXPONENTIAL, ROUND_64, polynomial64};
use super::super::fast64::fraction;
use super::super::wide::widest;
use super::super::writer::Writer;

/// Largest absolute exponent of 2 that is computed; the results of larger ones are infinite or 0.
const MOST_EXPONENT: f64 = 1200.0;

/// Coefficients of `(atanh(s) - s - s^3 / 3) / s^5`, a polynomial in `s^2`.
const LOGARITHM: [f64; 8] = [
    0.2, 0.142_857_142_857_146_84, 0.111_111_111_108_279_72, 0.090_909_091_676_897_57, 0.076_922_974_819_691,
    0.066_674_023_083_150_56, 0.058_531_192_036_303_89, 0.058_615_785_005_950_95,
];
/// A third, `2 / ln 2` and `ln 2`, as sums of two.
const THIRD: [f64; 2] = [0.333_333_333_333_333_3, 1.850_371_707_708_594e-17];
const TWO_LOG2_E: [f64; 2] = [2.885_390_081_777_926_8, 4.071_054_748_074_782e-17];
const LN_2: [f64; 2] = [std::f64::consts::LN_2, 2.319_046_813_846_299_6e-17];

/// Intermediate results of a block of pairs.
pub struct Block<const N: usize> {
    /// Base-2 logarithms of the powers, and what is left of them.
    exponents: [f64; N],
    rests: [f64; N],
    results: [f64; N],
}

impl<const N: usize> super::Block<f64> for Block<N> {
    fn new() -> Block<N> {
        Block { exponents: [0.0; N], rests: [0.0; N], results: [0.0; N] }
    }

    fn fill(&mut self, x: &[f64], y: &[f64]) -> bool {
        let exponents = &mut self.exponents[..x.len()];
        let rests = &mut self.rests[..x.len()];
        let results = &mut self.results[..x.len()];
        widest(
            #[inline(always)]
            || {
                // Bits of positive normal finite numbers are one range, and so are those of finite sizes.
                const FIRST: u64 = f64::MIN_POSITIVE.to_bits();
                let (mut farthest_x, mut largest_y) = (0, 0);
                for (((exponent, rest), &x), &y) in exponents.iter_mut().zip(&mut *rests).zip(x).zip(y) {
                    [*exponent, *rest] = exponent_of(x, y);
                    farthest_x = x.to_bits().wrapping_sub(FIRST).max(farthest_x);
                    largest_y = y.abs().to_bits().max(largest_y);
                }
                for ((result, &exponent), &rest) in results.iter_mut().zip(&*exponents).zip(&*rests) {
                    *result = power_of_two(exponent, rest);
                }
                farthest_x < f64::INFINITY.to_bits() - FIRST && largest_y < f64::INFINITY.to_bits()
            },
        )
    }

    fn power(&self, i: usize) -> f64 {
        self.results[i]
    }

    fn write(&self, count: usize, out: &mut Writer<f64>) {
        out.copy(&self.results[..count]);
    }
}

/// Returns `y log2(x)` as a sum of two.
#[inline(always)]
fn exponent_of(x: f64, y: f64) -> [f64; 2] {
    let [high, low] = log2(x);
    let product = y * high;
    let rest = y.mul_add(low, y.mul_add(high, -product));
    let inside = if product > MOST_EXPONENT { MOST_EXPONENT } else { product };
    let inside = if inside < -MOST_EXPONENT { -MOST_EXPONENT } else { inside };
    [inside, if inside == product { rest } else { 0.0 }]
}

/// Base-2 logarithm as a sum of two, with 65 bits: `n + 2 / ln 2 (s + s^3 / 3 + s^5 ...)`, where `x = 2^n (1 + f)` and
/// `s = f / (2 + f)`. Each term is as exact as its share requires.
#[inline(always)]
fn log2(x: f64) -> [f64; 2] {
    let (n, f) = fraction(x);
    let m = 1.0 + f;
    let d = 1.0 + m;
    // Rounding error of the sum.
    let lost = m - (d - 1.0);
    let s = f / d;
    let remainder = s.mul_add(-lost, s.mul_add(-d, f));
    // `1 / d` is `(1 - s) / 2`.
    let s_low = remainder * s.mul_add(-0.5, 0.5);

    let z = s * s;
    let z_low = s.mul_add(s, -z) + 2.0 * s * s_low;
    let far = z * polynomial64(z, LOGARITHM);
    let c = THIRD[0] + far;
    let c_low = (THIRD[0] - c) + far + THIRD[1];
    let w = z * c;
    let w_low = z.mul_add(c_low, z_low.mul_add(c, z.mul_add(c, -w)));
    let p = s * w;
    let p_low = s.mul_add(w_low, s_low.mul_add(w, s.mul_add(w, -p)));
    let t = s + p;
    let t_low = (s - t) + p + (s_low + p_low);
    let l = t * TWO_LOG2_E[0];
    let l_low = t_low.mul_add(TWO_LOG2_E[0], t.mul_add(TWO_LOG2_E[1], t.mul_add(TWO_LOG2_E[0], -l)));
    let sum = n + l;
    [sum, (n - sum) + l + l_low]
}

/// `2^(e + rest)` for `e` up to [`MOST_EXPONENT`] and a small `rest`.
#[inline(always)]
fn power_of_two(e: f64, rest: f64) -> f64 {
    let rounded = e + ROUND_64;
    let near = e - (rounded - ROUND_64);
    let r = near + rest;
    let r_low = (near - r) + rest;
    let u = r * LN_2[0];
    let u_low = r_low.mul_add(LN_2[0], r.mul_add(LN_2[1], r.mul_add(LN_2[0], -u)));
    let sum = 1.0 + u;
    let small = (u * u).mul_add(polynomial64(u, EXPONENTIAL), u_low.mul_add(sum, (1.0 - sum) + u));
    let n = rounded.to_bits().wrapping_sub(ROUND_64.to_bits());
    let power = |n: u64| f64::from_bits(n.wrapping_add(1023) << 52);
    // Two steps, of which the first one neither overflows nor underflows. What is below 2^-1126 is 0.
    let step = if e < -900.0 { 0u64.wrapping_sub(600) } else { 0 };
    let step = if e > 900.0 { 600 } else { step };
    (sum + small) * power(n.wrapping_sub(step)) * power(step)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check_single, computed};

    /// Pairs of numbers of all sizes, with powers between underflow and overflow, and some beyond.
    fn ordinary() -> impl Iterator<Item = (f64, f64)> {
        (0..if cfg!(miri) { 500 } else { 300_000u64 }).map(|i| {
            let bits = i.wrapping_mul(0x9E37_79B9_7F4A_7C15);
            let x = if i % 2 == 0 { f64::from_bits(bits >> 1) } else { 1.0 + (bits >> 32) as f64 / 1e11 };
            (x, ((bits % 1_000_003) as f64 / 500_001.5 - 1.0) * 1100.0 / x.log2())
        })
    }

    #[test]
    fn powers_are_near_those_of_the_standard_library() {
        let special =
            [0.0, -0.0, 1.0, -1.0, 0.5, -2.0, 3.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 5e-324, f64::MAX];
        let pairs: Vec<(f64, f64)> = special.iter().flat_map(|&x| special.map(|y| (x, y))).chain(ordinary()).collect();
        let (x, y): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
        for ((x, y), got) in pairs.into_iter().zip(computed(&x, &y)) {
            let want = x.powf(y);
            let is_near = got.to_bits().abs_diff(want.to_bits()) <= 1 || (got.is_nan() && want.is_nan());
            assert!(is_near, "{x}^{y}: {got} {want}");
        }
    }

    #[test]
    fn a_power_depends_on_its_pair_alone() {
        check_single(ordinary(), -2.0);
    }
}
