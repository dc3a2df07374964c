//! Factorizations of one matrix, for f32, f64, c64 and c128, with faer's reductions and products, and its QR iterations
//! for eigenvalues of complex matrices and of real ones with many rows. One thread computes all but products and
//! reflections of large matrices (see `parallel`).
//!
//! A crate of its own because faer is generic, and slow to compile: in the library itself it would be compiled again
//! with each change and for its unit tests.
//!
//! Matrices are row-major slices. A matrix with NaN or an infinity, and one for which an iteration does not converge,
//! has NaN in all results of `svd`, `eigh`, `eig` and `schur`.

mod balance;
mod bidiagonal;
mod bidiagonal_division;
mod division;
mod eigen;
mod eigh;
mod iteration;
mod ldl;
mod lu;
mod parallel;
mod probe;
mod qr;
mod quasi_triangular;
mod reflectors;
mod schur;
mod schur_complex;
mod schur_form;
mod secular;
mod solve;
mod svd;
mod triangular;
mod tridiagonal;
mod tridiagonal_division;

use faer::traits::math_utils::{abs, abs1, eps, from_f64, max_positive, min_positive, one, recip, zero};
use faer::{Mat, MatRef};
use faer_field::Field;
use num_complex::Complex;
use pulp::{Arch, Simd, WithSimd};
use std::borrow::Cow;

mod faer_field {
    use faer::traits::ComplexField;
    use std::ops::{Div, Mul};

    /// Constants and conversions of an element type that the generic kernels use.
    pub trait Field:
        ComplexField<Real: Copy + PartialOrd + Mul<Output = Self::Real> + Div<Output = Self::Real>> + Copy + 'static
    {
        const NAN: Self;
        fn of_real(x: Self::Real) -> Self;
        fn is_finite(self) -> bool;
        fn conjugate(self) -> Self;
        fn real_part(self) -> Self::Real;
        fn imaginary_part(self) -> Self::Real;
        fn to_f64(x: Self::Real) -> f64;
        /// Without the imaginary part if the type is real.
        fn of_parts(re: Self::Real, im: Self::Real) -> Self;
    }
}

/// Elements of matrices: f32, f64 and the complex numbers of both.
pub trait Number: Copy + Send + Sync + 'static {
    /// The type of absolute values.
    type Real: Copy + Send + Sync + 'static;
    /// The complex numbers of the same width.
    type Complex: Copy + Send + Sync + 'static;

    /// `a = q r`, for `a` of `rows` x `columns`. `q` has `rows` columns if `full`, otherwise `min(rows, columns)`; `r`
    /// has as many rows. The diagonal of `r` is real, with LAPACK's signs.
    fn qr(a: &[Self], rows: usize, columns: usize, full: bool, q: &mut [Self], r: &mut [Self]);

    /// The QR factors as LAPACK's `geqrf` has them: `packed`, with the upper triangular factor, whose diagonal is real,
    /// on and above the diagonal and the vectors `v_i` of the reflections below it (their first element is 1); their
    /// `factors` `tau_i`, and `q`, `rows` x `min(rows, columns)`, the product of all `1 - tau_i v_i v_i^H`.
    fn reflectors(a: &[Self], rows: usize, columns: usize, packed: &mut [Self], factors: &mut [Self], q: &mut [Self]);

    /// Overwrites `a` with its unit lower triangular and its upper triangular factor. `pivots[i]` is the row that was
    /// exchanged with row `i`. A column without a pivot other than 0 is left as it is.
    fn lu(a: &mut [Self], rows: usize, columns: usize, pivots: &mut [i32]);

    /// Writes the solution `x`, `n` x `columns`, of `a x = b`, given the result of `lu` for a square `a`, and the
    /// permutation that exchanges rows as `pivots` say: row `i` of the factors' product is row `permutation[i]` of `a`.
    /// Without `b`, the inverse, `n` x `n`. All elements are NaN if a pivot is 0.
    fn lu_solve(factors: &[Self], permutation: &[i32], n: usize, b: Option<&[Self]>, columns: usize, x: &mut [Self]);

    /// Overwrites the lower triangle of a symmetric or, if `hermitian`, Hermitian `a` with its factors `L` and `D`, as
    /// LAPACK's `sytrf` and `hetrf` have them, and the upper one with 0. `pivots[k]`, from 1: the row that was
    /// exchanged with row `k`; equal negative numbers for the two rows of a block, of which the second one was
    /// exchanged.
    fn ldl(a: &mut [Self], n: usize, hermitian: bool, pivots: &mut [i32]);

    /// Overwrites `b`, of `n` rows, with the solution of `a x = b`, given the results of `ldl` for `a`: NaN if `D` has
    /// a 0 on its diagonal outside of a block, or if the pivots cannot be those of `ldl`.
    fn ldl_solve(factors: &[Self], pivots: &[i32], n: usize, hermitian: bool, b: &mut [Self]);

    /// `a = u diag(s) vh`, with descending `s`. With `vectors`, `u` and `vh`, which are square if `full`; otherwise
    /// both are empty. Of complex matrices, the first row of `u` is real if there are more columns than rows, otherwise
    /// the first column of `vh`.
    fn svd(
        a: &[Self],
        rows: usize,
        columns: usize,
        full: bool,
        s: &mut [Self::Real],
        vectors: Option<[&mut [Self]; 2]>,
    );

    /// The pseudoinverse of `a`, `columns` x `rows`. Singular values up to `tolerance` times the largest count as 0.
    fn pinv(a: &[Self], rows: usize, columns: usize, tolerance: f64, inverse: &mut [Self]);

    /// `a = v diag(w) v^H` for the Hermitian matrix of which `a` holds the lower or the upper triangle, with ascending
    /// `w`. The imaginary parts of the diagonal are ignored. Of complex matrices, the first row of `v` is real if
    /// `lower`, otherwise the last one.
    fn eigh(a: &[Self], n: usize, lower: bool, w: &mut [Self::Real], v: &mut [Self]);

    /// `a v = v diag(w)`. Columns of `v` have norm 1, and their largest element is real: positive, except in a real
    /// column of a real matrix. Conjugates are neighbours, the one with the positive imaginary part first.
    fn eig(a: &[Self], n: usize, w: &mut [Self::Complex], v: &mut [Self::Complex]);

    /// `a = z t z^H` with a unitary `z`. Of a complex matrix, `t` is upper triangular; of a real one, it has blocks of
    /// two rows on its diagonal, one for each pair of complex eigenvalues, standardized as by LAPACK's `lanv2`.
    fn schur(a: &[Self], n: usize, t: &mut [Self], z: &mut [Self]);
}

macro_rules! numbers {
    ($($T:ident $eig_of_real:path, $eig_of_complex:path, $schur_of_real:path, $schur_of_complex:path;)*) => {$(
        impl Field for $T {
            const NAN: $T = $T::NAN;

            fn of_real(x: $T) -> $T {
                x
            }

            fn is_finite(self) -> bool {
                $T::is_finite(self)
            }

            fn conjugate(self) -> $T {
                self
            }

            fn real_part(self) -> $T {
                self
            }

            fn imaginary_part(self) -> $T {
                0.0
            }

            fn to_f64(x: $T) -> f64 {
                f64::from(x)
            }

            fn of_parts(re: $T, _: $T) -> $T {
                re
            }
        }

        impl Field for Complex<$T> {
            const NAN: Complex<$T> = Complex::new($T::NAN, $T::NAN);

            fn of_real(x: $T) -> Complex<$T> {
                Complex::new(x, 0.0)
            }

            fn is_finite(self) -> bool {
                self.re.is_finite() && self.im.is_finite()
            }

            fn conjugate(self) -> Complex<$T> {
                self.conj()
            }

            fn real_part(self) -> $T {
                self.re
            }

            fn imaginary_part(self) -> $T {
                self.im
            }

            fn to_f64(x: $T) -> f64 {
                f64::from(x)
            }

            fn of_parts(re: $T, im: $T) -> Complex<$T> {
                Complex::new(re, im)
            }
        }

        number!($T, $T, $T, $eig_of_real, $schur_of_real);
        number!(Complex<$T>, $T, $T, $eig_of_complex, $schur_of_complex);
    )*};
}

macro_rules! number {
    ($N:ty, $Real:ty, $Part:ty, $eig:path, $schur:path) => {
        impl Number for $N {
            type Real = $Real;
            type Complex = Complex<$Part>;

            fn qr(a: &[$N], rows: usize, columns: usize, full: bool, q: &mut [$N], r: &mut [$N]) {
                qr::qr(a, rows, columns, full, q, r);
            }

            fn reflectors(a: &[$N], rows: usize, columns: usize, packed: &mut [$N], factors: &mut [$N], q: &mut [$N]) {
                reflectors::reflectors(a, rows, columns, packed, factors, q);
            }

            fn lu(a: &mut [$N], rows: usize, columns: usize, pivots: &mut [i32]) {
                lu::lu(a, rows, columns, pivots);
            }

            fn lu_solve(factors: &[$N], permutation: &[i32], n: usize, b: Option<&[$N]>, columns: usize, x: &mut [$N]) {
                solve::lu_solve(factors, permutation, n, b, columns, x);
            }

            fn ldl(a: &mut [$N], n: usize, hermitian: bool, pivots: &mut [i32]) {
                ldl::ldl(a, n, hermitian, pivots);
            }

            fn ldl_solve(factors: &[$N], pivots: &[i32], n: usize, hermitian: bool, b: &mut [$N]) {
                ldl::ldl_solve(factors, pivots, n, hermitian, b);
            }

            fn svd(
                a: &[$N],
                rows: usize,
                columns: usize,
                full: bool,
                s: &mut [$Real],
                vectors: Option<[&mut [$N]; 2]>,
            ) {
                svd::svd(a, rows, columns, full, s, vectors);
            }

            fn pinv(a: &[$N], rows: usize, columns: usize, tolerance: f64, inverse: &mut [$N]) {
                svd::pinv(a, rows, columns, tolerance, inverse);
            }

            fn eigh(a: &[$N], n: usize, lower: bool, w: &mut [$Real], v: &mut [$N]) {
                eigh::eigh(a, n, lower, w, v);
            }

            fn eig(a: &[$N], n: usize, w: &mut [Complex<$Part>], v: &mut [Complex<$Part>]) {
                $eig(a, n, w, v);
            }

            fn schur(a: &[$N], n: usize, t: &mut [$N], z: &mut [$N]) {
                $schur(a, n, t, z);
            }
        }
    };
}

numbers! {
    f32 eigen::eig_of_real, eigen::eig_of_complex, schur_form::of_real, schur_form::of_complex;
    f64 eigen::eig_of_real, eigen::eig_of_complex, schur_form::of_real, schur_form::of_complex;
}

/// A matrix, multiplied by a power of two if its largest element is far from 1: squares and products of elements
/// neither overflow nor vanish then.
struct Scaled<'a, T: Field> {
    elements: Cow<'a, [T]>,
    /// `times` multiplications by it gave the elements.
    by: T::Real,
    /// `times` multiplications by it give results of the matrix itself.
    back: T::Real,
    times: usize,
}

impl<'a, T: Field> Scaled<'a, T> {
    /// Only if the largest element is below 2^-16 or above 2^16. A matrix with NaN or an infinity stays as it is.
    fn of(a: &'a [T]) -> Scaled<'a, T> {
        let size = T::to_f64(largest(a));
        let is_far = size < 2f64.powi(-16) || size > 2f64.powi(16);
        if is_far { Scaled::with_largest_near_one(a) } else { Scaled::by_power(a, 0) }
    }

    /// With a largest element near 1, as `dust` requires.
    fn with_largest_near_one(a: &'a [T]) -> Scaled<'a, T> {
        // The sum of the parts of a complex number may be infinite.
        let size = T::to_f64(largest(a)).min(T::to_f64(max_positive()));
        let has_size = size > 0.0 && all_finite(a);
        Scaled::by_power(a, if has_size { -(size.log2().floor() as i32) } else { 0 })
    }

    /// Multiplies elements by two to the power of `exponent`, or of the even number below it if that is large.
    fn by_power(a: &'a [T], exponent: i32) -> Scaled<'a, T> {
        // The largest of these powers are infinite in the type.
        let times = if exponent == 0 { 0 } else { 1 + usize::from(exponent.unsigned_abs() > 100) };
        let each = exponent.div_euclid(times.max(1) as i32);
        let power = |exponent| from_f64::<T::Real>(2f64.powi(exponent));
        let mut scaled = Scaled { elements: Cow::Borrowed(a), by: power(each), back: power(-each), times };
        for _ in 0..times {
            scaled.elements.to_mut().iter_mut().for_each(|x| *x *= T::of_real(scaled.by));
        }
        scaled
    }

    /// A result that is proportional to the matrix.
    fn restored(&self, result: T) -> T {
        (0..self.times).fold(result, |result, _| result * T::of_real(self.back))
    }

    /// A result that is inversely proportional to the matrix.
    fn restored_inverse(&self, result: T) -> T {
        (0..self.times).fold(result, |result, _| result * T::of_real(self.by))
    }
}

/// Calls `function` compiled for the vector instructions that the processor has. `function` must be an
/// `#[inline(always)]` closure. pulp's own `dispatch` calls closures by `FnOnce::call_once`, which is not always
/// inlined for a closure that implements `FnMut`; code that is not inlined does not use these instructions.
fn vectorized<R>(function: impl FnMut() -> R) -> R {
    struct Call<F>(F);
    impl<R, F: FnMut() -> R> WithSimd for Call<F> {
        type Output = R;

        #[inline(always)]
        fn with_simd<S: Simd>(mut self, _: S) -> R {
            (self.0)()
        }
    }
    Arch::new().dispatch(Call(function))
}

/// Returns the largest sum of the absolute values of real and imaginary part. Ignores NaN; 0 if there are no elements.
fn largest<T: Field>(a: &[T]) -> T::Real {
    const LANES: usize = 16;
    vectorized(
        #[inline(always)]
        || {
            let larger = |most: T::Real, size: T::Real| if size > most { size } else { most };
            let (lanes, rest) = a.as_chunks::<LANES>();
            let mut most = [zero::<T::Real>(); LANES];
            for lane in lanes {
                most.iter_mut().zip(lane).for_each(|(most, x)| *most = larger(*most, abs1(x)));
            }
            rest.iter().map(abs1).chain(most).fold(zero(), larger)
        },
    )
}

/// `x / |x|`, also of subnormal numbers, of which the reciprocal overflows. `x` is not 0.
fn phase<T: Field>(x: T) -> T {
    let x = Scaled::of(&[x]).elements[0];
    x * T::of_real(recip(&abs(&x)))
}

/// `x / |x|`, or 1 for 0.
fn phase_or_one<T: Field>(x: T) -> T {
    if x == zero() { one() } else { phase(x) }
}

/// Sizes below which parts of elements count as 0, for a matrix with a largest element near 1: the next one is tried if
/// results are not finite with the one before, since faer's iterations divide by products of small elements, which
/// underflow. None of them changes a matrix by more than a fraction of a rounding error of its norm.
fn dust<T: Field>() -> [T::Real; 3] {
    let of = from_f64::<T::Real>;
    let below_products = min_positive::<T::Real>() * of(2f64.powi(26));
    [zero(), below_products, eps::<T::Real>() * eps::<T::Real>() * of(2f64.powi(-20))]
}

/// An element without the parts that are smaller than `least`.
fn without_dust<T: Field>(x: T, least: T::Real) -> T {
    let part = |x: T::Real| if abs(&x) < least { zero() } else { x };
    T::of_parts(part(x.real_part()), part(x.imaginary_part()))
}

/// Whether all elements of a matrix are finite.
fn is_finite<T: Field>(a: MatRef<'_, T>) -> bool {
    a.col_iter().all(|column| match column.try_as_col_major() {
        Some(column) => all_finite(column.as_slice()),
        None => column.iter().all(|x| x.is_finite()),
    })
}

/// Least number of columns for which singular vectors, and eigenvectors of Hermitian matrices, are found by divide and
/// conquer. It is faster than the QR iteration from 60 columns on in f64, and from 80 columns on in f32.
const LEAST_FOR_DIVISION: usize = 64;

/// Least number of rows of a block that divide and conquer splits; smaller blocks are left to the QR iteration.
const LEAST_SPLIT: usize = 32;

/// Scales columns to norm 1. Rounding in rotations and in products, also with reflections, leaves norms off by up to
/// one rounding error for every 10 to 20 columns.
fn scale_to_norm_one<T: Field>(q: &mut Mat<T>) {
    const LANES: usize = 8;
    let most = 4.0 * q.nrows() as f64 * T::to_f64(eps());
    for column in q.col_iter_mut() {
        let column = column.try_as_col_major_mut().expect("column-major").as_slice_mut();
        vectorized(
            #[inline(always)]
            || {
                // In f64 for all dtypes; several sums, since a single one rounds as often as there are elements.
                let mut sums = [0.0; LANES];
                for part in column.chunks(LANES) {
                    for (sum, &x) in sums.iter_mut().zip(part) {
                        let (re, im) = (T::to_f64(x.real_part()), T::to_f64(x.imaginary_part()));
                        *sum += re * re + im * im;
                    }
                }
                let apart = sums.iter().sum::<f64>() - 1.0;
                // Leaves a column with a larger error as it is: scaling would hide the error from `probe::distance`.
                if apart.abs() < most {
                    // 1 / sqrt(1 + apart), by its series: root and quotient would be rounded.
                    let factor = T::of_real(from_f64(1.0 - apart * (0.5 - 0.375 * apart)));
                    column.iter_mut().for_each(|x| *x *= factor);
                }
            },
        );
    }
}

/// Rows that are transposed together: a cache line of the column-major matrix has as many elements or fewer.
const BAND: usize = 16;

/// A column-major copy, as faer wants it.
fn taken<T: Field>(a: &[T], rows: usize, columns: usize) -> Mat<T> {
    let mut made = Mat::zeros(rows, columns);
    for (band, from) in a.chunks(BAND * columns.max(1)).enumerate() {
        for (j, column) in made.col_iter_mut().enumerate() {
            let column = column.try_as_col_major_mut().expect("column-major").as_slice_mut();
            let rows = from.chunks_exact(columns);
            column[band * BAND..].iter_mut().zip(rows).for_each(|(x, row)| *x = row[j]);
        }
    }
    made
}

/// Writes an identity matrix of `n` rows, or nothing to an empty one, which may have any number of rows.
fn put_identity<T: Field>(to: &mut [T], n: usize) {
    to.fill(zero());
    to.iter_mut().step_by(n + 1).for_each(|x| *x = one());
}

/// Writes a column-major matrix row by row.
fn put<T: Field>(from: MatRef<'_, T>, to: &mut [T]) {
    let columns = from.ncols();
    for (band, to) in to.chunks_mut(BAND * columns.max(1)).enumerate() {
        for (j, column) in from.col_iter().enumerate() {
            let column = &column.try_as_col_major().expect("column-major").as_slice()[band * BAND..];
            to.chunks_exact_mut(columns).zip(column).for_each(|(row, x)| row[j] = *x);
        }
    }
}

fn all_finite<T: Field>(a: &[T]) -> bool {
    // Blocks without branches between their elements are vectorized.
    const BLOCK: usize = 256;
    vectorized(
        #[inline(always)]
        || a.chunks(BLOCK).all(|block| block.iter().fold(true, |all, x| all & x.is_finite())),
    )
}
