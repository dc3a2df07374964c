//! Checks of factorizations by random vectors, in a time that is proportional to the number of elements.

use crate::faer_field::Field;
use faer::diag::DiagRef;
use faer::linalg::matmul::matmul;
use faer::traits::math_utils::{eps, from_f64, infinity, one, recip, zero};
use faer::traits::{Conjugate, RealField};
use faer::{Accum, Mat, MatRef, Par};

/// Number of random vectors. An error of `k` times a limit stays below it with a probability of about `k^-4`.
const VECTORS: usize = 4;

/// Limits in rounding errors. Correct results of up to 1,500 rows reached 0.7 of a limit, and 1.9 for matrices whose
/// elements are all equal, so that their rounding errors have one sign.
///
/// Limit of the norm of `a x - u diag(values) v^H x`, relative to the norm of `a`.
const OF_PRODUCT: f64 = 160.0;

/// Limit of the norm of `q^H q x - x`, relative to the square root of the number of columns of `q`.
const OF_NORM: f64 = 48.0;

/// Limit of the largest element of `q^H q x - x`, relative to the same. Two columns with an inner product of 618
/// rounding errors are detected if `q` has 160 columns, and in half of all cases if it has 5,000.
const OF_ELEMENT: f64 = 8.0;

/// Returns how far `u diag(values) v^H` is from `a`, or the columns of `u` and `v` are from orthonormal ones, as a part
/// of the limit: the largest of the three; infinity if one is not finite. `u` and `v` may have more columns than there
/// are values; without `v`, it is `u`.
pub fn distance<T: Field>(
    a: MatRef<'_, T>,
    u: MatRef<'_, T>,
    values: DiagRef<'_, T>,
    v: Option<MatRef<'_, T>>,
) -> T::Real {
    let least = values.dim();
    let given = random::<T>(a.ncols());
    let mut inner = product(v.unwrap_or(u).subcols(0, least).adjoint(), given.as_ref());
    for column in inner.col_iter_mut() {
        column.iter_mut().zip(values.column_vector().iter()).for_each(|(x, value)| *x *= *value);
    }
    let apart = (product(a, given.as_ref()) - product(u.subcols(0, least), inner.as_ref())).norm_l2();
    let norm = a.norm_l2();
    // All results for a matrix of zeros are exact.
    let residual = if norm == zero() { apart } else { apart * recip(&norm) };
    let residual = residual * recip(&from_f64::<T::Real>(OF_PRODUCT * (VECTORS as f64).sqrt()));
    let parts = [residual, not_orthonormal(u), v.map_or(zero(), not_orthonormal)];
    if !parts.iter().all(|part| T::of_real(*part).is_finite()) {
        return infinity();
    }
    parts.into_iter().fold(zero(), larger) * recip(&eps::<T::Real>())
}

/// Returns the difference between `q^H q x` and `x`, for vectors `x` with elements of about 1, relative to the limits:
/// the larger one of its norm and of its largest element, since a single column that is not orthogonal to another one
/// hardly changes the norm. NaN if an element of `q` is NaN.
fn not_orthonormal<T: Field>(q: MatRef<'_, T>) -> T::Real {
    let given = random::<T>(q.ncols());
    let apart = product(q.adjoint(), product(q, given.as_ref()).as_ref()) - &given;
    let limit = |of: f64| recip(&from_f64::<T::Real>(of * (q.ncols() as f64).sqrt()));
    // `larger` returns its first operand if that is NaN, and the norm is NaN if an element is.
    larger(apart.norm_l2() * limit(OF_NORM * (VECTORS as f64).sqrt()), apart.norm_max() * limit(OF_ELEMENT))
}

/// Returns the larger operand, and `x` if one is NaN.
fn larger<R: PartialOrd>(x: R, y: R) -> R {
    if y > x { y } else { x }
}

fn product<T: Field, A: Conjugate<Canonical = T>>(a: MatRef<'_, A>, b: MatRef<'_, T>) -> Mat<T> {
    let mut made = Mat::zeros(a.nrows(), b.ncols());
    matmul(made.as_mut(), Accum::Replace, a, b, one::<T>(), Par::Seq);
    made
}

/// Vectors of numbers between -1 and 1, the same ones in each call (a linear congruential generator with Knuth's
/// constants).
fn random<T: Field>(rows: usize) -> Mat<T> {
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        from_f64::<T::Real>((state >> 11) as f64 * 2f64.powi(-52) - 1.0)
    };
    Mat::from_fn(rows, VECTORS, |_, _| T::of_parts(next(), next()))
}

/// Returns the first result if its distance is at most 1; otherwise makes a second one, and returns the nearer of both.
/// None if the distances are infinite.
pub fn nearest<M, R>(first: Option<M>, second: impl FnOnce() -> Option<M>, distance: impl Fn(&M) -> R) -> Option<M>
where
    R: RealField + PartialOrd,
{
    let judged = |made: Option<M>| {
        let made = made.map(|made| (distance(&made), made));
        made.filter(|(apart, _)| *apart < infinity())
    };
    match judged(first) {
        Some((apart, first)) if apart <= one() => Some(first),
        Some((apart, first)) => Some(judged(second()).filter(|of| of.0 < apart).map_or(first, |of| of.1)),
        None => judged(second()).map(|of| of.1),
    }
}
