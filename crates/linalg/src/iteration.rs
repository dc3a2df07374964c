//! Shared parts of the implicit QR iterations on bidiagonal and tridiagonal matrices: Givens rotations, the two diagonals
//! with their deflation, and Wilkinson's shift.
//!
//! faer's Givens rotations are not used. For small angles their cosine, `1 / sqrt(1 + t^2)`, is too large more often than
//! too small, because that root is rounded down more often than up. The norms of vectors grow with each rotation: values
//! and vectors of an iteration on `n` columns are off by about `n` rounding errors.

use crate::faer_field::Field;
use faer::traits::math_utils::from_f64;
use faer::traits::{RealField, SimdArch};

/// Largest number of sweeps for each row; an iteration takes two or three.
pub const MOST_SWEEPS: usize = 60;

/// The Givens rotation `[c s; -s c]`. Computed in f64 for all dtypes, so that `c^2 + s^2` of a rotation in f32 is 1 to
/// within the rounding of `c` and `s`.
#[derive(Clone, Copy)]
pub struct Rotation {
    pub c: f64,
    pub s: f64,
}

impl Rotation {
    /// Returns the rotation that takes `(x, y)` to `(r, 0)`, and `r`, which is not negative.
    pub fn onto_first(x: f64, y: f64) -> (Rotation, f64) {
        // Squares of numbers below 2^-480 may be subnormal or 0. After a multiplication by 2^600, the square of the least
        // subnormal number is a normal one.
        const SMALL: f64 = f64::from_bits((1023 - 480) << 52);
        const DOWN: f64 = f64::from_bits((1023 - 600) << 52);
        let largest = x.abs().max(y.abs());
        if largest == 0.0 {
            return (Rotation { c: 1.0, s: 0.0 }, 0.0);
        }
        let (up, down) = if largest < SMALL { (1.0 / DOWN, DOWN) } else { (1.0, 1.0) };
        let (x, y) = (x * up, y * up);
        let r = (x * x + y * y).sqrt();
        (Rotation { c: x / r, s: y / r }, r * down)
    }

    /// Returns the product of the rotation and the vector `(x, y)`.
    pub fn times(self, x: f64, y: f64) -> (f64, f64) {
        (self.c * x + self.s * y, self.c * y - self.s * x)
    }
}

/// Rotates two columns.
#[inline(always)]
pub fn turn<R: RealField + Copy>(left: &mut [R], right: &mut [R], rotation: Rotation) {
    let (c, s) = (from_f64::<R>(rotation.c), from_f64::<R>(rotation.s));
    for (x, y) in left.iter_mut().zip(right) {
        (*x, *y) = (c * *x + s * *y, c * *y - s * *x);
    }
}

/// Rotates the columns `first + k` and `first + k + 1` of a column-major matrix of `rows` rows by `rotations[k]`, for one
/// `k` after the other.
pub fn turn_all<R: RealField + Copy>(matrix: &mut [R], rows: usize, first: usize, rotations: &[Rotation]) {
    R::Arch::default().dispatch(
        #[inline(always)]
        || {
            for (k, &rotation) in (first..).zip(rotations) {
                let (left, right) = matrix[k * rows..][..2 * rows].split_at_mut(rows);
                turn(left, right, rotation);
            }
        },
    );
}

/// A bidiagonal or symmetric tridiagonal matrix, divided by the largest absolute value of its elements.
pub struct Band {
    pub diagonal: Vec<f64>,
    /// The superdiagonal of a bidiagonal matrix, the subdiagonal of a tridiagonal one.
    pub beside: Vec<f64>,
    /// The divisor.
    pub largest: f64,
    /// Elements of `beside` from this position on are 0.
    zero_from: usize,
}

impl Band {
    /// Returns the scaled matrix; None if an element is not finite.
    pub fn of<T: Field>(
        diagonal: impl Iterator<Item = T::Real>,
        beside: impl Iterator<Item = T::Real>,
    ) -> Option<Band> {
        let mut diagonal: Vec<f64> = diagonal.map(T::to_f64).collect();
        let mut beside: Vec<f64> = beside.map(T::to_f64).collect();
        let largest = diagonal.iter().chain(&beside).fold(0.0, |most: f64, x| most.max(x.abs()));
        if largest > 0.0 {
            diagonal.iter_mut().chain(&mut beside).for_each(|x| *x /= largest);
        }
        let zero_from = beside.len();
        Some(Band { diagonal, beside, largest, zero_from }).filter(Band::is_finite)
    }

    /// Returns true if all elements are finite.
    pub fn is_finite(&self) -> bool {
        self.diagonal.iter().chain(&self.beside).all(|x| x.is_finite())
    }

    /// Deflates: sets elements `x` of `beside` to 0 if `x^2 <= eps^2 |d_i d_{i+1}|`, with the elements of the diagonal in
    /// the rows of `x`, or if `|x| <= least`. Returns the first and the last row of the last unreduced block; None if
    /// `beside` is 0.
    pub fn rest(&mut self, eps: f64, least: f64) -> Option<[usize; 2]> {
        let (d, e) = (&self.diagonal, &mut self.beside[..self.zero_from]);
        for (x, ends) in e.iter_mut().zip(d.windows(2)) {
            let is_small = *x * *x <= eps * eps * (ends[0] * ends[1]).abs() || x.abs() <= least;
            *x = if is_small { 0.0 } else { *x };
        }
        let last = e.iter().rposition(|&x| x != 0.0)? + 1;
        self.zero_from = last;
        let first = e[..last].iter().rposition(|&x| x == 0.0).map_or(0, |zero| zero + 1);
        Some([first, last])
    }
}

/// Wilkinson's shift: the eigenvalue of `[first beside; beside last]` that is nearer to `last`.
pub fn nearer(first: f64, last: f64, beside: f64) -> f64 {
    let half = 0.5 * (first - last);
    let sum = half + half.hypot(beside).copysign(half);
    if sum == 0.0 { last } else { last - beside * (beside / sum) }
}

/// Returns the positions of the values, sorted by the values; the order of equal ones is kept.
pub fn ordered(values: &[f64], compare: impl Fn(&f64, &f64) -> std::cmp::Ordering) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&i, &j| compare(&values[i], &values[j]));
    order
}

/// The identity matrix of `n` rows.
pub fn identity<R: RealField + Copy>(n: usize) -> Vec<R> {
    let mut made = vec![from_f64(0.0); n * n];
    made.iter_mut().step_by(n + 1).for_each(|x| *x = from_f64(1.0));
    made
}
