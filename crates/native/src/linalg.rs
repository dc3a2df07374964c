//! Cholesky decomposition and triangular solves of batches of matrices. f16 and bf16 are computed in f32.

use super::array::Array;
use super::complex::divide;
use super::convert::convert;
use super::element::{Element, unsupported};
use super::matmul::{Shape, subtract_product};
use super::parallel::each_piece;
use super::wide::wide;
use base::error::Result;
use base::types::{DType, TensorType};
use ir::{Transposition, attributes};
use num_complex::Complex;
use std::ops::{Add, Mul, Neg, Range, Sub};

/// Minimum number of multiplications, over all matrices, for which several threads are used.
const PARALLEL: usize = 1 << 16;

/// Number of unknowns that are found one by one.
const FEW: usize = 16;

/// A type of matrix elements.
trait Number: Element + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Neg<Output = Self> {
    const ZERO: Self;
    const ONE: Self;
    const NAN: Self;
    fn conjugate(self) -> Self;
    fn over(self, divisor: Self) -> Self;
    /// Square root of the real part as a real number; None unless the real part is positive and finite.
    fn positive_root(self) -> Option<Self>;
}

macro_rules! numbers {
    ($($T:ident)*) => {$(
        impl Number for $T {
            const ZERO: $T = 0.0;
            const ONE: $T = 1.0;
            const NAN: $T = $T::NAN;

            #[inline(always)]
            fn conjugate(self) -> $T {
                self
            }

            #[inline(always)]
            fn over(self, divisor: $T) -> $T {
                self / divisor
            }

            fn positive_root(self) -> Option<$T> {
                (self > 0.0 && self < $T::INFINITY).then(|| self.sqrt())
            }
        }

        impl Number for Complex<$T> {
            const ZERO: Complex<$T> = Complex::new(0.0, 0.0);
            const ONE: Complex<$T> = Complex::new(1.0, 0.0);
            const NAN: Complex<$T> = Complex::new($T::NAN, $T::NAN);

            #[inline(always)]
            fn conjugate(self) -> Complex<$T> {
                self.conj()
            }

            #[inline(always)]
            fn over(self, divisor: Complex<$T>) -> Complex<$T> {
                let wide = |x: Complex<$T>| Complex::new(x.re.into(), x.im.into());
                let quotient = divide(wide(self), wide(divisor));
                Complex::new(quotient.re as $T, quotient.im as $T)
            }

            fn positive_root(self) -> Option<Complex<$T>> {
                self.re.positive_root().map(|root| Complex::new(root, 0.0))
            }
        }
    )*};
}

numbers! { f32 f64 }

/// Evaluates an expression with `$T` defined as the [`Number`] of a dtype. f16 and bf16 must be widened to f32 before.
macro_rules! by_number {
    ($name:literal, $dtype:expr, $T:ident => $body:expr) => {
        match $dtype {
            DType::F32 => {
                type $T = f32;
                $body
            }
            DType::F64 => {
                type $T = f64;
                $body
            }
            DType::C64 => {
                type $T = Complex<f32>;
                $body
            }
            DType::C128 => {
                type $T = Complex<f64>;
                $body
            }
            dtype => Err(unsupported($name, dtype)),
        }
    };
}
pub(super) use by_number;

pub(super) fn widened(ty: &TensorType) -> TensorType {
    let dtype = if matches!(ty.dtype, DType::F16 | DType::BF16) { DType::F32 } else { ty.dtype };
    TensorType { dtype, dims: ty.dims.clone() }
}

/// Cholesky decomposition of Hermitian matrices. Only the chosen triangle and the real part of the diagonal are read;
/// the other triangle of the result is 0. If a matrix is not positive definite or not finite, the chosen triangle of
/// its result is NaN.
pub fn cholesky(ty: &TensorType, lower: bool, x: &Array) -> Result<Array> {
    let wide = widened(ty);
    let x = convert(x, wide.dtype)?;
    let n = ty.dims[ty.dims.len() - 1] as usize;
    let result = by_number!("cholesky", wide.dtype, T => Array::write::<T>(&wide, |out| {
        each_matrix(out.copy_mut(x.elements()), n * n, n * n * n / 3, &|_, matrix| factor(matrix, n, lower));
    }))?;
    convert(&result, ty.dtype)
}

/// Calls `work` with the index and the elements of each matrix, of `size` elements. `work_of_one` is the number of
/// multiplications for one matrix.
fn each_matrix<T: Send>(all: &mut [T], size: usize, work_of_one: usize, work: &(dyn Fn(usize, &mut [T]) + Sync)) {
    if all.is_empty() {
        return;
    }
    if (all.len() / size).saturating_mul(work_of_one) >= PARALLEL {
        each_piece(all, size, &|start, matrix| work(start / size, matrix));
    } else {
        all.chunks_exact_mut(size).enumerate().for_each(|(number, matrix)| work(number, matrix));
    }
}

/// Overwrites a matrix with its Cholesky factor.
fn factor<T: Number>(matrix: &mut [T], n: usize, lower: bool) {
    if !lower {
        conjugate_transpose(matrix, n);
    }
    let is_positive_definite = lower_factor(matrix, n);
    for (row, line) in matrix.chunks_exact_mut(n).enumerate() {
        line[row + 1..].fill(T::ZERO);
        if !is_positive_definite {
            line[..=row].fill(T::NAN);
        }
    }
    if !lower {
        conjugate_transpose(matrix, n);
    }
}

fn conjugate_transpose<T: Number>(matrix: &mut [T], n: usize) {
    for row in 0..n {
        for column in 0..row {
            let (a, b) = (matrix[row * n + column], matrix[column * n + row]);
            (matrix[row * n + column], matrix[column * n + row]) = (b.conjugate(), a.conjugate());
        }
        matrix[row * n + row] = matrix[row * n + row].conjugate();
    }
}

/// Computes the factor row by row from the lower triangle; returns false if the matrix is not positive definite.
fn lower_factor<T: Number>(matrix: &mut [T], n: usize) -> bool {
    for i in 0..n {
        let (above, row) = matrix.split_at_mut(i * n);
        for (j, other) in above.chunks_exact(n).enumerate() {
            row[j] = (row[j] - dot(&row[..j], &other[..j])).over(other[j]);
        }
        match (row[i] - dot(&row[..i], &row[..i])).positive_root() {
            Some(root) => row[i] = root,
            None => return false,
        }
    }
    true
}

/// Sum of `a * conj(b)`, with several accumulators.
fn dot<T: Number>(a: &[T], b: &[T]) -> T {
    let (a_chunks, a_rest) = a.as_chunks::<8>();
    let (b_chunks, b_rest) = b.as_chunks::<8>();
    let sums = wide(
        #[inline(always)]
        || {
            let mut sums = [T::ZERO; 8];
            for (a, b) in a_chunks.iter().zip(b_chunks) {
                for (sum, (&a, &b)) in sums.iter_mut().zip(a.iter().zip(b)) {
                    *sum = *sum + a * b.conjugate();
                }
            }
            sums
        },
    );
    let rest = a_rest.iter().zip(b_rest).fold(T::ZERO, |sum, (&a, &b)| sum + a * b.conjugate());
    sums.into_iter().fold(rest, |sum, x| sum + x)
}

attributes! {
    /// Options of a triangular solve.
    #[derive(Copy)]
    pub struct Triangle {
        /// True to solve `op(a) x = b`, false to solve `x op(a) = b`, where `op` is the transposition.
        pub left_side: bool,
        /// True to read the lower triangle of `a`, false to read the upper one.
        pub lower: bool,
        /// True if the diagonal is assumed to be 1 and is not read.
        pub unit_diagonal: bool,
        /// Transposition applied to `a`.
        pub transposition: Transposition,
    }
}

/// Solves `op(a) x = b` or `x op(a) = b`, where `op` is the transposition. All elements of a solution are NaN if the
/// diagonal of its matrix contains 0.
pub fn triangular_solve(ty: &TensorType, triangle: Triangle, a: &Array, b: &Array) -> Result<Array> {
    let wide = widened(ty);
    let (a, b) = (convert(a, wide.dtype)?, convert(b, wide.dtype)?);
    let [rows, columns] = [ty.dims.len() - 2, ty.dims.len() - 1].map(|axis| ty.dims[axis] as usize);
    let n = if triangle.left_side { rows } else { columns };
    let result = by_number!("triangular_solve", wide.dtype, T => {
        let a = a.elements::<T>();
        Array::write::<T>(&wide, |out| {
            each_matrix(out.copy_mut(b.elements()), rows * columns, n * rows * columns / 2, &|number, b| {
                System::of(triangle, &a[number * n * n..][..n * n], n).solve(b, triangle.left_side);
            });
        })
    })?;
    convert(&result, ty.dtype)
}

/// A triangular system `matrix x = b`.
struct System<T> {
    /// Row-major; 0 outside of the triangle.
    matrix: Vec<T>,
    n: usize,
    lower: bool,
    is_singular: bool,
}

impl<T: Number> System<T> {
    fn of(triangle: Triangle, a: &[T], n: usize) -> System<T> {
        // Solving from the right: `x a = b` is equivalent to `a^T x^T = b^T`.
        let transposed = (triangle.transposition != Transposition::NoTranspose) == triangle.left_side;
        let conjugated = triangle.transposition == Transposition::Adjoint;
        let lower = triangle.lower != transposed;
        let mut matrix = vec![T::ZERO; n * n];
        for row in 0..n {
            let used = if lower { 0..row + 1 } else { row..n };
            if transposed || conjugated {
                for column in used {
                    let element = if transposed { a[column * n + row] } else { a[row * n + column] };
                    matrix[row * n + column] = if conjugated { element.conjugate() } else { element };
                }
            } else {
                matrix[row * n..][used.clone()].copy_from_slice(&a[row * n..][used]);
            }
            if triangle.unit_diagonal {
                matrix[row * n + row] = T::ONE;
            }
        }
        let is_singular = (0..n).any(|i| matrix[i * n + i] == T::ZERO);
        System { matrix, n, lower, is_singular }
    }

    /// Overwrites `b` with the solution.
    fn solve(&self, b: &mut [T], left_side: bool) {
        if self.is_singular {
            return b.fill(T::NAN);
        }
        if left_side {
            return self.substitute(b);
        }
        let (n, rows) = (self.n, b.len() / self.n);
        let mut turned: Vec<T> = (0..b.len()).map(|i| b[i % rows * n + i / rows]).collect();
        self.substitute(&mut turned);
        b.iter_mut().enumerate().for_each(|(i, b)| *b = turned[i % n * rows + i / n]);
    }

    /// Forward or back substitution.
    fn substitute(&self, x: &mut [T]) {
        let columns = x.len() / self.n;
        self.substitute_in(0..self.n, columns, x);
    }

    /// Finds the unknowns of a range of rows, half by half: of what is known, a product is subtracted from the rest.
    fn substitute_in(&self, rows: Range<usize>, columns: usize, x: &mut [T]) {
        if rows.len() <= FEW {
            return self.substitute_few(rows, columns, x);
        }
        let middle = rows.start + (rows.len() / 2).next_multiple_of(FEW).min(rows.len() - 1);
        let halves =
            if self.lower { [rows.start..middle, middle..rows.end] } else { [middle..rows.end, rows.start..middle] };
        let [first, second] = halves;
        self.substitute_in(first.clone(), columns, x);
        let (before, behind) = x.split_at_mut(middle * columns);
        let shape = Shape { rows: second.len(), depth: first.len(), columns };
        let factors = &self.matrix[second.start * self.n + first.start..];
        if self.lower {
            let (known, rest) = (&before[first.start * columns..], &mut behind[..second.len() * columns]);
            subtract_product(shape, [factors, known], self.n, rest, T::ONE);
        } else {
            let (known, rest) = (&behind[..first.len() * columns], &mut before[second.start * columns..]);
            subtract_product(shape, [factors, known], self.n, rest, T::ONE);
        }
        self.substitute_in(second, columns, x);
    }

    /// Finds the unknowns of a range of rows one row after another.
    fn substitute_few(&self, rows: Range<usize>, columns: usize, x: &mut [T]) {
        for step in 0..rows.len() {
            let i = if self.lower { rows.start + step } else { rows.end - 1 - step };
            let (before, from_row) = x.split_at_mut(i * columns);
            let (row, behind) = from_row.split_at_mut(columns);
            let line = &self.matrix[i * self.n..][..self.n];
            let (known, factors) = if self.lower {
                (&before[rows.start * columns..], &line[rows.start..i])
            } else {
                (&behind[..], &line[i + 1..rows.end])
            };
            for (known, factors) in known.chunks_exact(4 * columns).zip(factors.chunks_exact(4)) {
                wide(
                    #[inline(always)]
                    || subtract_four(row, known, factors),
                );
            }
            let fours = factors.len() / 4 * 4;
            for (known, &factor) in known[fours * columns..].chunks_exact(columns).zip(&factors[fours..]) {
                wide(
                    #[inline(always)]
                    || row.iter_mut().zip(known.iter()).for_each(|(x, &known)| *x = *x - factor * known),
                );
            }
            row.iter_mut().for_each(|x| *x = x.over(line[i]));
        }
    }
}

/// Subtracts multiples of four rows, one after another, with one pass over `x`.
#[inline(always)]
fn subtract_four<T: Number>(x: &mut [T], rows: &[T], factors: &[T]) {
    let n = x.len();
    let [a, b, c, d] = [0, 1, 2, 3].map(|i| &rows[i * n..][..n]);
    for (i, x) in x.iter_mut().enumerate() {
        *x = *x - factors[0] * a[i] - factors[1] * b[i] - factors[2] * c[i] - factors[3] * d[i];
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Typed, array};
    use super::*;

    type C64 = Complex<f32>;

    fn factored<T: Typed>(dims: &[i64], lower: bool, x: &[T]) -> Vec<T> {
        cholesky(&TensorType::new(T::DTYPE, dims), lower, &array(dims, x)).unwrap().elements().to_vec()
    }

    #[test]
    fn factors_come_from_one_triangle() {
        let x = [4.0f32, 99.0, 99.0, 2.0, 5.0, 99.0, 2.0, 3.0, 6.0];
        assert_eq!(factored(&[3, 3], true, &x), [2.0, 0.0, 0.0, 1.0, 2.0, 0.0, 1.0, 1.0, 2.0]);
        let x = [4.0f32, 2.0, 2.0, 99.0, 5.0, 3.0, 99.0, 99.0, 6.0];
        assert_eq!(factored(&[3, 3], false, &x), [2.0, 1.0, 1.0, 0.0, 2.0, 1.0, 0.0, 0.0, 2.0]);
        let c = C64::new;
        // The imaginary part of the diagonal is ignored.
        let x = [c(4.0, 7.0), c(9.0, 9.0), c(2.0, 2.0), c(6.0, 0.0)];
        let want = [c(2.0, 0.0), c(0.0, 0.0), c(1.0, 1.0), c(2.0, 0.0)];
        assert_eq!(factored(&[2, 2], true, &x), want);
        let x = [c(4.0, 0.0), c(2.0, -2.0), c(9.0, 9.0), c(6.0, -1.0)];
        assert_eq!(factored(&[2, 2], false, &x), [want[0], c(1.0, -1.0), c(0.0, 0.0), want[3]]);
    }

    #[test]
    fn what_is_not_positive_definite_is_nan() {
        for x in [[0.0f64, 0.0, 0.0, 1.0], [1.0, 0.0, 2.0, 1.0], [1.0, 0.0, 1.0, 1.0], [f64::INFINITY, 0.0, 1.0, 1.0]] {
            let both = [x, [4.0, 0.0, 2.0, 5.0]].concat();
            let got = factored(&[2, 2, 2], true, &both);
            assert!(got[0].is_nan() && got[2].is_nan() && got[3].is_nan(), "{x:?}");
            assert_eq!(got[1], 0.0);
            assert_eq!(got[4..], [2.0, 0.0, 1.0, 2.0]);
            let turned = factored(&[2, 2], false, &[x[0], x[2], x[1], x[3]]);
            assert!(turned[1].is_nan() && turned[2] == 0.0);
        }
        assert!(factored(&[1, 1], true, &[f32::NAN])[0].is_nan());
        assert!(factored::<f32>(&[2, 0, 0], true, &[]).is_empty());
    }

    #[test]
    fn products_of_factors_are_the_matrix() {
        let n = 100;
        let part = |i: usize| ((i * 2_654_435_761) % 1000) as f64 / 500.0 - 1.0;
        let root: Vec<f64> = (0..n * n).map(part).collect();
        let product = |a: &[f64], i: usize, j: usize| (0..n).map(|k| a[i * n + k] * a[j * n + k]).sum::<f64>();
        let diagonal = |i: usize| if i / n == i % n { 1.0 } else { 0.0 };
        let x: Vec<f64> = (0..n * n).map(|i| product(&root, i / n, i % n) + diagonal(i)).collect();
        let factor = factored(&[n as i64, n as i64], true, &x);
        let error = (0..n * n).map(|i| (product(&factor, i / n, i % n) - x[i]).abs()).fold(0.0, f64::max);
        assert!(error < 1e-12, "{error}");
    }

    #[test]
    fn systems_of_all_sides_and_forms() {
        // The other triangle of the matrix holds values that must not be read.
        let c = C64::new;
        let a = [c(2.0, 0.0), c(9.0, 9.0), c(1.0, 1.0), c(4.0, 0.0)];
        let x = [c(1.0, 2.0), c(3.0, 0.0), c(0.0, 1.0), c(1.0, -1.0)];
        for lower in [true, false] {
            let stored = if lower { a } else { [a[0], a[2], a[1], a[3]] };
            for unit_diagonal in [true, false] {
                let whole = |i: usize, j: usize| match (i == j, lower == (i > j)) {
                    (true, _) if unit_diagonal => C64::ONE,
                    (false, false) => C64::ZERO,
                    _ => stored[i * 2 + j],
                };
                for transposition in Transposition::ALL.iter().copied() {
                    let formed = |i: usize, j: usize| match transposition {
                        Transposition::NoTranspose => whole(i, j),
                        Transposition::Transpose => whole(j, i),
                        Transposition::Adjoint => whole(j, i).conj(),
                    };
                    for left_side in [true, false] {
                        let product = |i: usize, j: usize| -> C64 {
                            let of = |k: usize| {
                                if left_side { formed(i, k) * x[k * 2 + j] } else { x[i * 2 + k] * formed(k, j) }
                            };
                            of(0) + of(1)
                        };
                        let b = [product(0, 0), product(0, 1), product(1, 0), product(1, 1)];
                        let triangle = Triangle { left_side, lower, unit_diagonal, transposition };
                        let ty = TensorType::new(DType::C64, &[2, 2]);
                        let got = triangular_solve(&ty, triangle, &array(&[2, 2], &stored), &array(&[2, 2], &b));
                        assert_eq!(got.unwrap().elements::<C64>(), x, "{triangle:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn singular_systems_are_nan_and_others_are_not() {
        let triangle =
            Triangle { left_side: false, lower: true, unit_diagonal: false, transposition: Transposition::NoTranspose };
        let a = array(&[2, 2, 2], &[1.0f32, 0.0, 5.0, 0.0, 2.0, 0.0, 0.0, 1.0]);
        let b = array(&[2, 1, 2], &[1.0f32, 2.0, 6.0, 3.0]);
        let got = triangular_solve(&TensorType::new(DType::F32, &[2, 1, 2]), triangle, &a, &b).unwrap();
        let got = got.elements::<f32>();
        assert!(got[..2].iter().all(|x| x.is_nan()));
        assert_eq!(got[2..], [3.0, 3.0]);
        let none = array::<f32>(&[0, 0], &[]);
        let b = array::<f32>(&[3, 0], &[]);
        assert!(triangular_solve(b.ty(), triangle, &none, &b).unwrap().elements::<f32>().is_empty());
    }
}
