//! The secular equation of divide and conquer, `1 + sum of w_j / (p_j - x) = 0`, with ascending poles `p_j` and
//! positive weights `w_j`.
//!
//! Roots: Li, Solving secular equations stably and efficiently, LAPACK Working Note 89 (1993), "the fixed weight
//! method". Weights that have the computed numbers as their exact roots, so that vectors made of them are orthogonal:
//! Gu and Eisenstat, A stable and efficient algorithm for the rank-one modification of the symmetric eigenproblem
//! (1994).

use pulp::{Arch, Simd, WithSimd};
use std::ops::Range;

/// A secular equation. Its poles are the numbers `d` or, if `SQUARES`, their squares. The numbers ascend, and no two
/// are equal; if `SQUARES`, none is negative.
pub struct Secular<const SQUARES: bool> {
    pub d: Vec<f64>,
    pub weights: Vec<f64>,
}

/// The point `x = d[near] + offset`: an iterate or a root of the secular equation or, if `SQUARES`, its square root.
/// `d[j] - x` is computed as `(d[j] - d[near]) - offset`, whose relative error is small for all `j` if `d[near]` is the
/// element of `d` nearest to `x`.
#[derive(Clone, Copy)]
struct Point {
    near: usize,
    offset: f64,
}

/// The solutions of a secular equation.
pub struct Solved {
    /// The roots or, if `SQUARES`, their square roots. They ascend.
    pub roots: Vec<f64>,
    /// Element `i * n + j` is pole `j` minus root `i`.
    differences: Vec<f64>,
    /// Square roots of the recomputed weights: those for which the computed roots are exact.
    pub weight_roots: Vec<f64>,
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
        solved.roots.iter().chain(&solved.weight_roots).all(|x| x.is_finite()).then_some(solved)
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
        // Gu and Eisenstat: weight `j` is the product of `p_j - x_i` over all `i`, divided by the product of
        // `p_j - p_i` over all `i` except `j`. Products of quotients neither overflow nor underflow.
        let mut weight_roots: Vec<f64> = (0..n).map(|j| differences[j * n + j].abs()).collect();
        for (i, row) in differences.chunks_exact(n.max(1)).enumerate() {
            let pole = Point { near: i, offset: 0.0 };
            let mut multiply = |range: Range<usize>| {
                let terms = row[range.clone()].iter().zip(&self.d[range.clone()]);
                let to = &mut weight_roots[range];
                to.iter_mut().zip(terms).for_each(|(w, (x, &d))| *w *= x / self.difference(d, pole));
            };
            multiply(0..i);
            multiply(i + 1..n);
        }
        weight_roots.iter_mut().for_each(|w| *w = w.abs().sqrt());
        Solved { roots, differences, weight_roots }
    }
}

impl<const SQUARES: bool> Secular<SQUARES> {
    /// Returns the difference between the pole of `d` and `x` or, if `SQUARES`, the square of `x`.
    #[inline(always)]
    fn difference(&self, d: f64, x: Point) -> f64 {
        let near = self.d[x.near];
        let difference = (d - near) - x.offset;
        if SQUARES { difference * ((d + near) + x.offset) } else { difference }
    }

    /// Returns the offset of `x + step` or, if `SQUARES`, of the square root of `x^2 + step`.
    #[inline(always)]
    fn moved(&self, x: Point, step: f64) -> f64 {
        if !SQUARES {
            return x.offset + step;
        }
        let at = self.d[x.near] + x.offset;
        x.offset + step / (at + (at * at + step).sqrt())
    }

    /// Returns the sum of the terms of some poles at `x`, and the sum of their derivatives.
    #[inline(always)]
    fn sum<S: Simd>(&self, simd: S, range: Range<usize>, x: Point) -> [f64; 2] {
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

    /// Evaluates the function at `x`, which is between the poles `left` and `left + 1` or beyond the last one.
    #[inline(always)]
    fn evaluate<S: Simd>(&self, simd: S, left: usize, x: Point) -> Sums {
        let [below, slope_below] = self.sum(simd, 0..left + 1, x);
        let [above, slope_above] = self.sum(simd, left + 1..self.d.len(), x);
        Sums { value: 1.0 + below + above, slope: slope_below + slope_above, size: 1.0 + below.abs() + above.abs() }
    }

    /// Finds root `i`, which is between the poles `i` and `i + 1`, or beyond the last one.
    #[inline(always)]
    fn root<S: Simd>(&self, simd: S, i: usize) -> Point {
        if self.d.len() == 1 {
            return Point { near: 0, offset: self.moved(Point { near: 0, offset: 0.0 }, self.weights[0]) };
        }
        let (mut bracket, mut x) = self.bracket(simd, i);
        let (mut width, mut steps_since_halved) = (bracket.high - bracket.low, 0);
        for _ in 0..MOST_STEPS {
            let sums = self.evaluate(simd, bracket.left, x);
            if sums.value.abs() <= 4.0 * f64::EPSILON * sums.size {
                break;
            }
            *(if sums.value < 0.0 { &mut bracket.low } else { &mut bracket.high }) = x.offset;
            steps_since_halved += 1;
            if bracket.high - bracket.low <= 0.5 * width {
                (width, steps_since_halved) = (bracket.high - bracket.low, 0);
            }
            let next = bracket.first_inside(self.steps(&bracket, x, &sums).map(|step| self.moved(x, step)));
            // Bisects if four steps have not halved the bracket.
            let next = next.filter(|_| steps_since_halved < 4).unwrap_or_else(|| bracket.middle());
            if !(bracket.low < next && next < bracket.high) {
                break;
            }
            x.offset = next;
        }
        x
    }

    /// Returns a bracket of root `i`, relative to the nearer pole, and an initial guess inside it.
    #[inline(always)]
    fn bracket<S: Simd>(&self, simd: S, i: usize) -> (Bracket, Point) {
        let (d, w) = (&self.d, &self.weights);
        let is_last = i + 1 == d.len();
        let from_pole = |near: usize, step: f64| self.moved(Point { near, offset: 0.0 }, step);
        // Beyond the sum of the weights by some rounding errors, since the last root may be equal to it.
        let end =
            if is_last { from_pole(i, w.iter().sum::<f64>() * (1.0 + 8.0 * f64::EPSILON)) } else { d[i + 1] - d[i] };
        let left = if is_last { i - 1 } else { i };
        let middle = Point { near: i, offset: 0.5 * end };
        let value = self.evaluate(simd, left, middle).value;
        let (near, low, high) = match (value >= 0.0, is_last) {
            (true, _) => (i, 0.0, 0.5 * end),
            (false, true) => (i, 0.5 * end, end),
            (false, false) => (i + 1, -0.5 * end, 0.0),
        };
        let bracket = Bracket { left, near, low, high };
        // The guess: a zero of the function with the terms of the two poles, and the sum of all other terms replaced by
        // its value at `middle`.
        let (near_pole, far) = (Point { near, offset: 0.0 }, bracket.far());
        let rest = value - w[near] / self.difference(d[near], middle) - w[far] / self.difference(d[far], middle);
        let apart = self.difference(d[far], near_pole);
        let guesses = quadratic_roots([rest, rest * apart + w[near] + w[far], w[near] * apart]);
        let guess = bracket.first_inside(guesses.map(|step| from_pole(near, step)));
        (bracket, Point { near, offset: guess.unwrap_or(0.5 * (low + high)) })
    }

    /// Returns the two steps of the fixed weight method from `x`: the distances from `x` to the zeros of
    /// `c + w / (p_near - y) + s / (p_far - y)`, where `w` is the weight of the pole `near`, and `c` and `s` are such
    /// that value and slope at `y = x` are those of the secular function. If `SQUARES`, these are steps of `x^2`.
    #[inline(always)]
    fn steps(&self, bracket: &Bracket, x: Point, sums: &Sums) -> [f64; 2] {
        let (near, far) = (bracket.near, bracket.far());
        let (to_near, to_far) = (self.difference(self.d[near], x), self.difference(self.d[far], x));
        let slope_of_near = self.weights[near] / to_near / to_near;
        let constant = sums.value - to_far * sums.slope - slope_of_near * (to_near - to_far);
        let product = to_near * to_far;
        quadratic_roots([constant, (to_near + to_far) * sums.value - product * sums.slope, product * sums.value])
    }
}

/// The secular function at a number.
struct Sums {
    value: f64,
    slope: f64,
    /// The sum of the absolute values of its terms.
    size: f64,
}

/// A bracket of a root: offsets `low` and `high` from the pole `near`, which is `left` or `left + 1`. The root is
/// between these two poles, or above both if it is the last one.
struct Bracket {
    left: usize,
    near: usize,
    low: f64,
    high: f64,
}

impl Bracket {
    /// The other pole.
    fn far(&self) -> usize {
        2 * self.left + 1 - self.near
    }

    fn first_inside(&self, offsets: [f64; 2]) -> Option<f64> {
        offsets.into_iter().find(|&x| self.low < x && x < self.high)
    }

    /// Returns a point for bisection: the geometric mean if the bounds differ by a factor above 16, otherwise the
    /// arithmetic mean. The bounds do not have opposite signs.
    fn middle(&self) -> f64 {
        let Bracket { low, high, .. } = *self;
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
fn quadratic_roots([c, a, b]: [f64; 3]) -> [f64; 2] {
    let q = 0.5 * (a + (a * a - 4.0 * b * c).max(0.0).sqrt().copysign(a));
    [b / q, q / c]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::division::samples::Random;

    /// Solves an equation, and checks that roots lie between the poles and that the weights with these roots are the
    /// given ones.
    fn solve<const SQUARES: bool>(mut d: Vec<f64>, weights: &[f64]) {
        d.sort_by(f64::total_cmp);
        d.dedup();
        let weights = weights[..d.len()].to_vec();
        let solved = Secular::<SQUARES> { d: d.clone(), weights: weights.clone() }.solve().expect("finite results");
        for i in 0..d.len() {
            let (below, above) = solved.differences_of(i).split_at(i + 1);
            assert!(below.iter().all(|&x| x < 0.0) && above.iter().all(|&x| x > 0.0), "{i}: {below:?}, {above:?}");
        }
        assert!(solved.roots.is_sorted(), "{:?}", solved.roots);
        let largest = weights.iter().fold(0.0, |most: f64, w| most.max(w.sqrt()));
        for (root, weight) in solved.weight_roots.iter().zip(&weights) {
            // Errors of vectors: relative to the largest weight's root.
            let apart = (root - weight.sqrt()).abs() / largest.max(1.0);
            assert!(apart <= 16.0 * f64::EPSILON, "{root:e} and {:e}: {d:?}, {weights:?}", weight.sqrt());
        }
    }

    #[test]
    fn weights_of_the_roots_are_the_given_ones() {
        const LEAST: f64 = 8.0 * f64::EPSILON;
        let mut random = Random::new(7);
        for n in 1..120 {
            for kind in 0..6 {
                // Poles that are far apart, in clusters or of all magnitudes; weights of one magnitude, or of many.
                let pole = |i: usize| match kind % 3 {
                    0 => random.next(),
                    1 => (i / 5) as f64 / n as f64 + 1e-12 * random.next(),
                    _ => 10f64.powf(-12.0 * random.next()),
                };
                let mut d: Vec<f64> = (0..n).map(pole).collect();
                let weight = |x: f64| if kind < 3 { x + 0.1 } else { (10f64.powf(-12.0 * x).max(LEAST)).powi(2) };
                let mut weights: Vec<f64> = (0..n).map(|_| weight(random.next())).collect();
                solve::<false>(d.clone(), &weights);
                // As divide and conquer of bidiagonal matrices makes them: the first pole is 0, and its weight the
                // least.
                (d[0], weights[0]) = (0.0, LEAST * LEAST);
                solve::<true>(d, &weights);
            }
        }
    }
}
