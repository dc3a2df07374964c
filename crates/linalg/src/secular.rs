//! The secular equation of divide and conquer, `1 + sum of w_j / (p_j - x) = 0`, with ascending poles `p_j` and positive
//! weights `w_j`.
//!
//! Roots: Li, Solving secular equations stably and efficiently, LAPACK Working Note 89 (1993), "the fixed weight method".
//! Weights that have the computed numbers as their exact roots, so that vectors made of them are orthogonal: Gu and
//! Eisenstat, A stable and efficient algorithm for the rank-one modification of the symmetric eigenproblem (1994).

use pulp::{Arch, Simd, WithSimd};
use std::ops::Range;

/// A secular equation. Its poles are the numbers `d` or, if `SQUARES`, their squares. The numbers ascend, and no two are
/// equal; if `SQUARES`, none is negative.
pub struct Secular<const SQUARES: bool> {
    pub d: Vec<f64>,
    pub weights: Vec<f64>,
}

/// The number `d[near] + offset`: a root of the equation or, if `SQUARES`, the square root of one. Its differences from all
/// `d` have small relative errors, since `d[near]` is the nearest of them.
#[derive(Clone, Copy)]
struct Root {
    near: usize,
    offset: f64,
}

/// The solutions of a secular equation.
pub struct Solved {
    /// The roots or, if `SQUARES`, their square roots. They ascend.
    pub roots: Vec<f64>,
    /// Row `i` has the differences between the poles and root `i`.
    differences: Vec<f64>,
    /// Square roots of the weights that have these roots.
    pub weights: Vec<f64>,
}

impl Solved {
    /// Returns the differences between the poles and root `i`.
    pub fn differences_of(&self, i: usize) -> &[f64] {
        let n = self.roots.len();
        &self.differences[i * n..][..n]
    }
}

/// Largest number of evaluations of the function for one root; three to six are usual.
const MOST_STEPS: usize = 100;

impl<const SQUARES: bool> Secular<SQUARES> {
    /// Solves the equation; None if a result is not finite.
    pub fn solve(self) -> Option<Solved> {
        let solved = Arch::new().dispatch(self);
        solved.roots.iter().chain(&solved.weights).all(|x| x.is_finite()).then_some(solved)
    }
}

impl<const SQUARES: bool> WithSimd for Secular<SQUARES> {
    type Output = Solved;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Solved {
        let n = self.d.len();
        let (mut roots, mut differences) = (Vec::with_capacity(n), vec![0.0; n * n]);
        for (i, row) in differences.chunks_exact_mut(n.max(1)).enumerate() {
            let root = self.root(simd, i);
            roots.push(self.d[root.near] + root.offset);
            row.iter_mut().zip(&self.d).for_each(|(to, &d)| *to = self.difference(d, root));
        }
        // Weight `j` is the product of `p_j - x_i` for all `i`, divided by that of `p_j - p_i` for the others.
        let mut weights: Vec<f64> = (0..n).map(|j| differences[j * n + j].abs()).collect();
        for (i, row) in differences.chunks_exact(n.max(1)).enumerate() {
            let pole = Root { near: i, offset: 0.0 };
            let mut multiply = |range: Range<usize>| {
                let terms = row[range.clone()].iter().zip(&self.d[range.clone()]);
                let to = &mut weights[range];
                to.iter_mut().zip(terms).for_each(|(w, (x, &d))| *w *= x / self.difference(d, pole));
            };
            multiply(0..i);
            multiply(i + 1..n);
        }
        weights.iter_mut().for_each(|w| *w = w.abs().sqrt());
        Solved { roots, differences, weights }
    }
}

impl<const SQUARES: bool> Secular<SQUARES> {
    /// Returns the difference between the pole of `d` and `x` or, if `SQUARES`, the square of `x`.
    #[inline(always)]
    fn difference(&self, d: f64, x: Root) -> f64 {
        let near = self.d[x.near];
        let difference = (d - near) - x.offset;
        if SQUARES { difference * ((d + near) + x.offset) } else { difference }
    }

    /// Returns the offset of `x + step` or, if `SQUARES`, of the square root of `x^2 + step`.
    #[inline(always)]
    fn moved(&self, x: Root, step: f64) -> f64 {
        if !SQUARES {
            return x.offset + step;
        }
        let at = self.d[x.near] + x.offset;
        x.offset + step / (at + (at * at + step).sqrt())
    }

    /// Returns the sum of the terms of some poles at `x`, and the sum of their derivatives.
    #[inline(always)]
    fn sum<S: Simd>(&self, simd: S, range: Range<usize>, x: Root) -> [f64; 2] {
        let (d, w) = (&self.d[range.clone()], &self.weights[range]);
        let ((d, d_rest), (w, w_rest)) = (S::as_simd_f64s(d), S::as_simd_f64s(w));
        let [near, offset] = [self.d[x.near], x.offset].map(|x| simd.splat_f64s(x));
        let (mut values, mut slopes) = (simd.splat_f64s(0.0), simd.splat_f64s(0.0));
        for (&d, &w) in d.iter().zip(w) {
            let mut difference = simd.sub_f64s(simd.sub_f64s(d, near), offset);
            if SQUARES {
                difference = simd.mul_f64s(difference, simd.add_f64s(simd.add_f64s(d, near), offset));
            }
            let inverse = simd.div_f64s(simd.splat_f64s(1.0), difference);
            let term = simd.mul_f64s(w, inverse);
            values = simd.add_f64s(values, term);
            slopes = simd.mul_add_f64s(term, inverse, slopes);
        }
        let (mut value, mut slope) = (simd.reduce_sum_f64s(values), simd.reduce_sum_f64s(slopes));
        for (&d, w) in d_rest.iter().zip(w_rest) {
            let inverse = 1.0 / self.difference(d, x);
            value += w * inverse;
            slope += w * inverse * inverse;
        }
        [value, slope]
    }

    #[inline(always)]
    fn at<S: Simd>(&self, simd: S, left: usize, x: Root) -> Sums {
        let [below, slope_below] = self.sum(simd, 0..left + 1, x);
        let [above, slope_above] = self.sum(simd, left + 1..self.d.len(), x);
        Sums { value: 1.0 + below + above, slope: slope_below + slope_above, size: 1.0 + below.abs() + above.abs() }
    }

    /// Finds root `i`, which is between the poles `i` and `i + 1`, or beyond the last one.
    #[inline(always)]
    fn root<S: Simd>(&self, simd: S, i: usize) -> Root {
        if self.d.len() == 1 {
            return Root { near: 0, offset: self.moved(Root { near: 0, offset: 0.0 }, self.weights[0]) };
        }
        let (mut within, mut x) = self.start(simd, i);
        let (mut width, mut steps_since_halved) = (within.high - within.low, 0);
        for _ in 0..MOST_STEPS {
            let sums = self.at(simd, within.left, x);
            if sums.value.abs() <= 4.0 * f64::EPSILON * sums.size {
                break;
            }
            *(if sums.value < 0.0 { &mut within.low } else { &mut within.high }) = x.offset;
            steps_since_halved += 1;
            if within.high - within.low <= 0.5 * width {
                (width, steps_since_halved) = (within.high - within.low, 0);
            }
            let next = within.first_inside(self.steps(&within, x, &sums).map(|step| self.moved(x, step)));
            let next = next.filter(|_| steps_since_halved < 4).unwrap_or_else(|| within.middle());
            if !(within.low < next && next < within.high) {
                break;
            }
            x.offset = next;
        }
        x
    }

    /// Returns the interval with root `i`, and a guess.
    #[inline(always)]
    fn start<S: Simd>(&self, simd: S, i: usize) -> (Interval, Root) {
        let (d, w) = (&self.d, &self.weights);
        let is_last = i + 1 == d.len();
        let from_pole = |near: usize, step: f64| self.moved(Root { near, offset: 0.0 }, step);
        let end = if is_last { from_pole(i, w.iter().sum()) } else { d[i + 1] - d[i] };
        let left = if is_last { i - 1 } else { i };
        let middle = Root { near: i, offset: 0.5 * end };
        let value = self.at(simd, left, middle).value;
        let (near, low, high) = match (value >= 0.0, is_last) {
            (true, _) => (i, 0.0, 0.5 * end),
            (false, true) => (i, 0.5 * end, end),
            (false, false) => (i + 1, -0.5 * end, 0.0),
        };
        let within = Interval { left, near, low, high };
        // The equation with the terms of two poles, and the sum of the others in the middle.
        let (near_pole, far) = (Root { near, offset: 0.0 }, within.far());
        let rest = value - w[near] / self.difference(d[near], middle) - w[far] / self.difference(d[far], middle);
        let apart = self.difference(d[far], near_pole);
        let guesses = roots([rest, rest * apart + w[near] + w[far], w[near] * apart]);
        let guess = within.first_inside(guesses.map(|step| from_pole(near, step)));
        (within, Root { near, offset: guess.unwrap_or(0.5 * (low + high)) })
    }

    /// Returns the steps from `x` to the roots of an equation with the same value and slope: with the term of the nearer
    /// pole, a term of the other one and a constant.
    #[inline(always)]
    fn steps(&self, within: &Interval, x: Root, sums: &Sums) -> [f64; 2] {
        let (near, far) = (within.near, within.far());
        let (to_near, to_far) = (self.difference(self.d[near], x), self.difference(self.d[far], x));
        let slope_of_near = self.weights[near] / to_near / to_near;
        let constant = sums.value - to_far * sums.slope - slope_of_near * (to_near - to_far);
        let product = to_near * to_far;
        roots([constant, (to_near + to_far) * sums.value - product * sums.slope, product * sums.value])
    }
}

/// The secular function at a number.
struct Sums {
    value: f64,
    slope: f64,
    /// The sum of the absolute values of its terms.
    size: f64,
}

/// Where a root is: between two offsets from the pole `near`, which is one of the poles `left` and `left + 1`.
struct Interval {
    left: usize,
    near: usize,
    low: f64,
    high: f64,
}

impl Interval {
    /// The other pole.
    fn far(&self) -> usize {
        2 * self.left + 1 - self.near
    }

    fn first_inside(&self, offsets: [f64; 2]) -> Option<f64> {
        offsets.into_iter().find(|&x| self.low < x && x < self.high)
    }

    /// A number between the bounds, which may have magnitudes far from each other, but have one sign.
    fn middle(&self) -> f64 {
        let Interval { low, high, .. } = *self;
        let [small, large] = if low.abs() < high.abs() { [low, high] } else { [high, low] };
        if small == 0.0 {
            large / 1024.0
        } else if large / small > 16.0 {
            (small.abs().sqrt() * large.abs().sqrt()).copysign(large)
        } else {
            0.5 * (low + high)
        }
    }
}

/// The solutions of `c x^2 - a x + b = 0`, the one nearer to 0 first.
#[inline(always)]
fn roots([c, a, b]: [f64; 3]) -> [f64; 2] {
    let q = 0.5 * (a + (a * a - 4.0 * b * c).max(0.0).sqrt().copysign(a));
    [b / q, q / c]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::division::samples::Random;

    /// Solves equations with ascending numbers at most 1 and positive weights, and checks that roots lie between the poles and
    /// that the weights with these roots are the given ones.
    fn solve<const SQUARES: bool>(mut d: Vec<f64>, weights: Vec<f64>) {
        d.sort_by(f64::total_cmp);
        d.dedup();
        let weights = weights[..d.len()].to_vec();
        let total: f64 = weights.iter().sum();
        let solved = Secular::<SQUARES> { d: d.clone(), weights: weights.clone() }.solve().expect("finite results");
        for i in 0..d.len() {
            let signs = |of: &[f64]| of.iter().all(|&x| x < 0.0) || of.is_empty();
            let of_root = solved.differences_of(i);
            assert!(signs(&of_root[..=i]) && of_root[i + 1..].iter().all(|&x| x > 0.0), "{i}: {of_root:?}");
        }
        assert!(solved.roots.is_sorted(), "{:?}", solved.roots);
        let apart: f64 = solved.weights.iter().zip(&weights).map(|(root, weight)| (root * root - weight).abs()).sum();
        assert!(apart <= 64.0 * f64::EPSILON * total.max(1.0) * (d.len() as f64).sqrt(), "{apart:e} of {total}: {d:?}");
    }

    #[test]
    fn weights_of_the_roots_are_the_given_ones() {
        let mut random = Random::new(7);
        for n in 1..120 {
            for kind in 0..6 {
                // Poles that are far apart, in clusters or of all magnitudes; weights of one magnitude, or of many.
                let d = (0..n).map(|i| match kind % 3 {
                    0 => random.next(),
                    1 => (i / 5) as f64 / n as f64 + 1e-12 * random.next(),
                    _ => 10f64.powf(-12.0 * random.next()),
                });
                let d = d.collect();
                let weight = |x: f64| if kind < 3 { x + 0.1 } else { 10f64.powf(-24.0 * x) };
                let weights: Vec<f64> = (0..n).map(|_| weight(random.next())).collect();
                solve::<false>(d, weights);
            }
        }
    }
}
