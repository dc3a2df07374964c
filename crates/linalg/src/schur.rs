//! The real Schur form of small matrices by the implicit QR iteration with two shifts: Golub and Van Loan, Matrix
//! Computations, 4th edition, algorithm 7.5.2, with the tests of LAPACK's `lahqr` for small elements.

use crate::faer_field::Field;
use crate::iteration::{Eigenvalues, Rotation};
use crate::vectorized;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::hessenberg::{hessenberg_in_place, hessenberg_in_place_scratch};
use faer::linalg::householder::{
    apply_block_householder_sequence_on_the_left_in_place_scratch as apply_scratch,
    apply_block_householder_sequence_on_the_left_in_place_with_conj as apply,
};
use faer::linalg::qr::no_pivoting::factor::recommended_block_size;
use faer::traits::RealField;
use faer::traits::math_utils::{eps, from_f64, min_positive, zero};
use faer::{Conj, Mat, Par};

/// `a = z t z^H` with a unitary `z`, and `t` upper triangular; in the real form but for blocks of two rows whose
/// eigenvalues are complex.
pub struct Schur<T> {
    pub t: Mat<T>,
    pub z: Mat<T>,
}

/// A reflection `1 - factor v v^T` of three rows or columns, or of two if the last element is 0. The first element of
/// `v` is 1.
#[derive(Clone, Copy)]
struct Reflection<T> {
    factor: T,
    second: T,
    third: T,
}

/// Largest number of steps for each row; two or three are usual.
pub const MOST_STEPS: usize = 30;

/// Every `STALLED` steps without deflation, one step uses exceptional shifts.
pub const STALLED: usize = 10;

/// Returns the Hessenberg form of a square matrix of at least one row, as the matrix `t`.
pub fn hessenberg<T: Field>(a: &Mat<T>) -> Schur<T> {
    let n = a.nrows();
    let block = recommended_block_size::<T>(n - 1, n - 1);
    let mut t = a.clone();
    let mut reflections = Mat::<T>::zeros(block, n - 1);
    let memory = hessenberg_in_place_scratch::<T>(n, block, Par::Seq, Default::default());
    let mut memory = MemBuffer::new(memory.or(apply_scratch::<T>(n, block, n)));
    let stack = MemStack::new(&mut memory);
    hessenberg_in_place(t.as_mut(), reflections.as_mut(), Par::Seq, stack, Default::default());
    let mut z = Mat::<T>::identity(n, n);
    if n > 1 {
        let (of, to) = (t.as_ref().submatrix(1, 0, n - 1, n - 1), z.as_mut().submatrix_mut(1, 1, n - 1, n - 1));
        apply(of, reflections.as_ref(), Conj::No, to, Par::Seq, stack);
    }
    for j in 0..n {
        (j + 2..n).for_each(|i| t[(i, j)] = zero());
    }
    Schur { t, z }
}

/// Returns the real Schur form of a square matrix of at least one row; None if the iteration does not converge. Blocks
/// of two rows are as `split` leaves them: see `standardize`.
pub fn schur<T>(a: &Mat<T>) -> Option<Schur<T>>
where
    T: Field<Real = T> + RealField,
{
    let mut made = hessenberg(a);
    let mut converged = false;
    vectorized(
        #[inline(always)]
        || converged = made.iterate(),
    );
    converged.then_some(made)
}

impl<T> Schur<T>
where
    T: Field<Real = T> + RealField,
{
    #[inline(always)]
    fn at(&self, i: usize, j: usize) -> f64 {
        T::to_f64(self.t[(i, j)])
    }

    /// Makes `t`, a Hessenberg matrix, quasi-triangular. Returns false if the iteration does not converge.
    #[inline(always)]
    fn iterate(&mut self) -> bool {
        let mut rows = self.t.nrows();
        let (mut steps, mut since_deflated) = (0, 0);
        while rows > 0 {
            // The unreduced block of the rows from `first` on.
            let last = rows - 1;
            let first = (1..rows).rev().find(|&k| self.is_small(k)).unwrap_or(0);
            if first > 0 {
                self.t[(first, first - 1)] = zero();
            }
            if first + 1 >= last {
                if first < last {
                    self.split(first);
                }
                (rows, since_deflated) = (first, 0);
                continue;
            }
            if steps == MOST_STEPS * self.t.nrows().max(10) {
                return false;
            }
            steps += 1;
            since_deflated += 1;
            let shifts = self.shifts([first, last], since_deflated);
            self.step([first, last], shifts);
        }
        true
    }

    /// Returns true if the element to the left of the diagonal in row `k` may be set to 0: it is small beside the
    /// elements of the diagonal, and so is its product with its mirror image (Ahues and Tisseur, LAPACK Working Note
    /// 122).
    #[inline(always)]
    fn is_small(&self, k: usize) -> bool {
        let (eps, n) = (T::to_f64(eps()), self.t.nrows());
        let least = T::to_f64(min_positive()) / eps * n as f64;
        let beside = self.at(k, k - 1).abs();
        if beside <= least {
            return true;
        }
        let (above, on) = (self.at(k - 1, k - 1), self.at(k, k));
        let mut near = above.abs() + on.abs();
        if near == 0.0 {
            near += if k >= 2 { self.at(k - 1, k - 2).abs() } else { 0.0 };
            near += if k + 1 < n { self.at(k + 1, k).abs() } else { 0.0 };
        }
        if beside > eps * near {
            return false;
        }
        let sorted = |x: f64, y: f64| if x < y { [x, y] } else { [y, x] };
        let [small, large] = sorted(beside, self.at(k - 1, k).abs());
        let [less, more] = sorted(on.abs(), (above - on).abs());
        let sum = more + large;
        small * (large / sum) <= least.max(eps * (less * (more / sum)))
    }

    /// Returns the real part and the imaginary part of two conjugate shifts for the rows `first..=last`: the
    /// eigenvalues of the last 2 x 2 block or, if they are real, the one nearer to the last element as a double shift.
    /// Every `STALLED` steps without deflation, returns exceptional shifts.
    #[inline(always)]
    fn shifts(&self, [first, last]: [usize; 2], since_deflated: usize) -> [f64; 2] {
        if since_deflated.is_multiple_of(STALLED) {
            // LAPACK's exceptional shifts: a diagonal element plus `size` times the eigenvalues of
            // `[0.75 -0.4375; 1 0.75]`.
            let (on, row) = if since_deflated.is_multiple_of(2 * STALLED) { (last, last) } else { (first, first + 2) };
            let size = self.at(row, row - 1).abs() + self.at(row - 1, row - 2).abs();
            return [0.75 * size + self.at(on, on), 0.4375f64.sqrt() * size];
        }
        let [a, b, c, d] = self.diagonal_block(last - 1);
        let of = Eigenvalues::of([a, b, c, d]);
        if of.is_complex {
            return [of.mean, of.root];
        }
        [of.mean - of.root.copysign(of.half), 0.0]
    }

    /// The elements `[a b; c d]` of two rows.
    #[inline(always)]
    fn diagonal_block(&self, i: usize) -> [f64; 4] {
        [self.at(i, i), self.at(i, i + 1), self.at(i + 1, i), self.at(i + 1, i + 1)]
    }

    /// Applies one Francis double-shift step to the rows `first..=last`. As in `lahqr`, the step starts at the last row
    /// at which two consecutive small subdiagonal elements allow it, otherwise at `first`.
    #[inline(always)]
    fn step(&mut self, [first, last]: [usize; 2], [real, imaginary]: [f64; 2]) {
        let eps = T::to_f64(eps());
        // The first column of `(t - shift) (t - other shift)`, divided by a size, of the rows from `m` on.
        let column = |m: usize| {
            let [a, b, c, d] = self.diagonal_block(m);
            let size = (a - real).abs() + imaginary + c.abs();
            let down = if size == 0.0 { 1.0 } else { 1.0 / size };
            let square = (a - real) * ((a - real) * down) + imaginary * (imaginary * down);
            [square + b * (c * down), (c * down) * ((a - real) + (d - real)), (c * down) * self.at(m + 2, m + 1)]
        };
        let is_start = |&m: &usize| {
            if m == first {
                return true;
            }
            let [x, y, z] = column(m);
            let near = self.at(m - 1, m - 1).abs() + self.at(m, m).abs() + self.at(m + 1, m + 1).abs();
            self.at(m, m - 1).abs() * (y.abs() + z.abs()) <= eps * x.abs() * near
        };
        let start = (first..last - 1).rev().find(is_start).unwrap_or(first);
        let mut x = column(start);
        for k in start..last {
            if k > start {
                x = [self.at(k, k - 1), self.at(k + 1, k - 1), if k + 2 <= last { self.at(k + 2, k - 1) } else { 0.0 }];
            }
            let (reflection, image) = Reflection::<T>::onto_first(x);
            if k > start {
                self.t[(k, k - 1)] = from_f64(image);
                self.t[(k + 1, k - 1)] = zero();
                if k + 2 <= last {
                    self.t[(k + 2, k - 1)] = zero();
                }
            } else if k > first {
                // The elements that the reflection creates below this one are negligible: see `is_start`.
                self.t[(k, k - 1)] = self.t[(k, k - 1)] - self.t[(k, k - 1)] * reflection.factor;
            }
            self.reflect(reflection, k, last);
        }
    }

    /// Multiplies `t` by a reflection of the rows and columns `k` to `k + 2`, or to `last`, from both sides; `z` from
    /// the right.
    #[inline(always)]
    fn reflect(&mut self, reflection: Reflection<T>, k: usize, last: usize) {
        let n = self.t.nrows();
        let width = 3.min(last + 1 - k);
        for column in self.t.as_mut().subcols_mut(k, n - k).col_iter_mut() {
            let x = &mut column.try_as_col_major_mut().expect("column-major").as_slice_mut()[k..k + width];
            match x {
                [x, y, z] => reflection.apply(x, y, z),
                [x, y] => reflection.apply(x, y, &mut zero()),
                _ => {}
            }
        }
        let rows = n.min(last.min(k + 3) + 1);
        reflection.apply_to_columns(&mut self.t, k, width, rows);
        reflection.apply_to_columns(&mut self.z, k, width, n);
    }

    /// Makes a block of two rows upper triangular if its eigenvalues are real.
    #[inline(always)]
    fn split(&mut self, i: usize) {
        let [a, b, c, d] = self.diagonal_block(i);
        let of = Eigenvalues::of([a, b, c, d]);
        if c == 0.0 || of.is_complex {
            return;
        }
        // The eigenvector of an eigenvalue `x` is `(x - d, c)`. For the one farther from `d`, `x - d` does not cancel.
        let (rotation, _) = Rotation::onto_first(of.half + of.root.copysign(of.half), c);
        self.rotate(i, rotation);
        self.t[(i + 1, i)] = zero();
    }

    /// Multiplies `t` by a rotation of two rows and columns from both sides; `z` from the right.
    #[inline(always)]
    fn rotate(&mut self, i: usize, rotation: Rotation) {
        let n = self.t.nrows();
        let (cosine, sine) = (from_f64::<T>(rotation.c), from_f64::<T>(rotation.s));
        for j in i..n {
            let (x, y) = (self.t[(i, j)], self.t[(i + 1, j)]);
            (self.t[(i, j)], self.t[(i + 1, j)]) = (cosine * x + sine * y, cosine * y - sine * x);
        }
        for (of, rows) in [(&mut self.t, i + 2), (&mut self.z, n)] {
            for row in 0..rows {
                let (x, y) = (of[(row, i)], of[(row, i + 1)]);
                (of[(row, i)], of[(row, i + 1)]) = (cosine * x + sine * y, cosine * y - sine * x);
            }
        }
    }

    /// Makes the two elements on the diagonal of each block of two rows equal, and the other two of opposite signs, as
    /// LAPACK's `lanv2` leaves them: the eigenvalues are `t[i, i] +- i sqrt(-t[i, i + 1] t[i + 1, i])`.
    pub fn standardize(&mut self) {
        for i in 0..self.t.nrows().saturating_sub(1) {
            let [a, b, c, d] = self.diagonal_block(i);
            if c == 0.0 {
                continue;
            }
            // The angle `x` at which `(a - d) cos(2 x) + (b + c) sin(2 x)` is 0.
            let (difference, sum) = (a - d, b + c);
            if difference != 0.0 {
                let whole = difference.hypot(sum);
                let cosine = (0.5 * (1.0 + sum.abs() / whole)).sqrt();
                let sine = -0.5 * (difference / whole) * sum.signum() / cosine;
                self.rotate(i, Rotation { c: cosine, s: sine });
            }
            let mean = from_f64::<T>(0.5 * (self.at(i, i) + self.at(i + 1, i + 1)));
            (self.t[(i, i)], self.t[(i + 1, i + 1)]) = (mean, mean);
            let [_, b, c, _] = self.diagonal_block(i);
            if b == 0.0 || c == 0.0 || b.is_sign_negative() == c.is_sign_negative() {
                // Eigenvalues that are real but for rounding: `(sqrt(|b|), +-sqrt(|c|))`, with the sign
                // of `c`, is an eigenvector.
                let (rotation, _) = Rotation::onto_first(b.abs().sqrt(), c.abs().sqrt().copysign(c));
                self.rotate(i, rotation);
                self.t[(i + 1, i)] = zero();
            }
        }
    }
}

impl<T> Reflection<T>
where
    T: Field<Real = T> + RealField,
{
    /// Returns the reflection that takes a vector to `(r, 0, 0)`, and `r`. Computed in f64 for all dtypes.
    #[inline(always)]
    fn onto_first([x, y, z]: [f64; 3]) -> (Reflection<T>, f64) {
        if y == 0.0 && z == 0.0 {
            return (Reflection { factor: zero(), second: zero(), third: zero() }, x);
        }
        // Squares of small numbers may be 0.
        let size = x.abs().max(y.abs()).max(z.abs());
        let up = if size < 1e-140 { 1e150 } else { 1.0 };
        let [x, y, z] = [x * up, y * up, z * up];
        let image = -(x * x + y * y + z * z).sqrt().copysign(x);
        let of = from_f64::<T>;
        let inverse = 1.0 / (x - image);
        (Reflection { factor: of((image - x) / image), second: of(y * inverse), third: of(z * inverse) }, image / up)
    }

    #[inline(always)]
    fn apply(self, x: &mut T, y: &mut T, z: &mut T) {
        let product = (*x + self.second * *y + self.third * *z) * self.factor;
        *x -= product;
        *y -= product * self.second;
        *z -= product * self.third;
    }

    /// Multiplies the columns from `k` on of the first rows of a matrix by the reflection.
    #[inline(always)]
    fn apply_to_columns(self, of: &mut Mat<T>, k: usize, width: usize, rows: usize) {
        let mut columns = of.as_mut().subcols_mut(k, width).col_iter_mut();
        let mut next = || {
            columns
                .next()
                .map(|column| &mut column.try_as_col_major_mut().expect("column-major").as_slice_mut()[..rows])
        };
        match (next(), next(), next()) {
            (Some(x), Some(y), Some(z)) => {
                x.iter_mut().zip(y).zip(z).for_each(|((x, y), z)| self.apply(x, y, z));
            }
            (Some(x), Some(y), None) => x.iter_mut().zip(y).for_each(|(x, y)| self.apply(x, y, &mut zero())),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::division::samples::not_orthonormal;
    use crate::quasi_triangular::QuasiTriangular;
    use crate::quasi_triangular::samples::matrices;
    use num_complex::Complex;

    fn check<T: Field<Real = T> + RealField>() {
        let eps = T::to_f64(eps());
        for n in [1, 2, 3, 4, 7, 16, 33, 64] {
            for (kind, of) in matrices(n).into_iter().enumerate() {
                let a = Mat::from_fn(n, n, |i, j| from_f64::<T>(of[(i, j)]));
                let Schur { t, z } = schur(&a).expect("convergence");
                for i in 1..n {
                    let in_block = i < 2 || t[(i, i - 1)] == zero() || t[(i - 1, i - 2)] == zero();
                    let below = (0..i - 1).all(|j| t[(i, j)] == zero());
                    assert!(in_block && below, "matrix {kind} of {n} rows: row {i} of {t:?}");
                    let block = [(i - 1, i - 1), (i - 1, i), (i, i - 1), (i, i)].map(|at| T::to_f64(t[at]));
                    assert!(
                        block[2] == 0.0 || Eigenvalues::of(block).is_complex,
                        "matrix {kind} of {n} rows: {block:?}"
                    );
                }
                let wide = |of: &Mat<T>| Mat::from_fn(n, n, |i, j| T::to_f64(of[(i, j)]));
                let norm = of.norm_l2().max(f64::MIN_POSITIVE);
                let apart = (wide(&a) * wide(&z) - wide(&z) * wide(&t)).norm_l2() / norm / eps;
                let off = not_orthonormal::<T>(z.as_ref());
                assert!(apart <= 64.0 && off <= 64.0, "matrix {kind} of {n} rows: {apart} and {off} rounding errors");
                vectors(kind, &t, norm * eps);
            }
        }
    }

    /// Checks the residual of the eigenvectors of a quasi-triangular matrix.
    fn vectors<T: Field<Real = T> + RealField>(kind: usize, t: &Mat<T>, unit: f64) {
        let n = t.nrows();
        let (values, packed) = QuasiTriangular::of(t).eigenvectors::<T>();
        for (k, value) in values.iter().enumerate() {
            let value = Complex::new(T::to_f64(value.re), T::to_f64(value.im));
            let part = |i: usize, j: usize| T::to_f64(packed[(i, j)]);
            let element = |i: usize| match value.im {
                0.0 => Complex::new(part(i, k), 0.0),
                im if im > 0.0 => Complex::new(part(i, k), part(i, k + 1)),
                _ => Complex::new(part(i, k - 1), -part(i, k)),
            };
            let length = (0..n).map(|i| element(i).norm_sqr()).sum::<f64>().sqrt();
            assert!(length > 0.9, "matrix {kind} of {n} rows, vector {k}: norm {length}");
            let product = |i: usize| (0..n).map(|j| element(j) * T::to_f64(t[(i, j)])).sum::<Complex<f64>>();
            let apart = (0..n).map(|i| (product(i) - value * element(i)).norm_sqr()).sum::<f64>().sqrt();
            assert!(
                apart <= 8.0 * unit * length,
                "matrix {kind} of {n} rows, vector {k}: {} units",
                apart / unit / length
            );
        }
    }

    #[test]
    fn small_blocks_keep_their_complex_eigenvalues() {
        for size in [1.0, 1e-100, 1e-162, 1e-200, 1e-280] {
            let mut a = Mat::<f64>::identity(3, 3);
            (a[(0, 0)], a[(1, 1)], a[(0, 1)], a[(1, 0)]) = (0.0, 0.0, size, -size);
            let Schur { t, .. } = schur(&a).expect("convergence");
            let (values, _) = QuasiTriangular::of(&t).eigenvectors::<f64>();
            assert!(values.iter().any(|value| (value.im / size - 1.0).abs() < 1e-14), "{size:e}: {values:?}");
        }
    }

    #[test]
    fn the_factors_are_a_schur_form_in_f32() {
        check::<f32>();
    }

    #[test]
    fn the_factors_are_a_schur_form_in_f64() {
        check::<f64>();
    }
}
