//! Eigenvalues and eigenvectors of Hermitian matrices.

use crate::faer_field::Field;
use crate::iteration::{Band, Columns, ordered};
use crate::parallel::apply_reflections;
use crate::probe::{distance, nearest};
use crate::tridiagonal::iterate;
use crate::tridiagonal_division::divide;
use crate::{
    BAND, LEAST_FOR_DIVISION, Scaled, all_finite, dust, is_finite, phase, phase_or_one, put, scale_to_norm_one,
    without_dust,
};
use faer::diag::Diag;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::tridiag::{tridiag_in_place, tridiag_in_place_scratch};
use faer::linalg::qr::no_pivoting::factor::recommended_block_size;
use faer::traits::math_utils::{abs, eps, from_f64, one, zero};
use faer::{Conj, Mat, MatRef, Par};

pub fn eigh<T: Field>(a: &[T], n: usize, lower: bool, w: &mut [T::Real], v: &mut [T]) {
    if n == 0 {
        return;
    }
    let whole = if is_triangle_finite(a, n, lower) { hermitian(a, n, lower) } else { Vec::new() };
    let scaled = Scaled::with_largest_near_one(&whole);
    let of_size = |least: T::Real| {
        if least == zero() {
            return decomposed(MatRef::from_row_major_slice(&scaled.elements, n, n));
        }
        let on_diagonal = |i: usize| i.is_multiple_of(n + 1);
        let beside = |(i, &x)| if on_diagonal(i) { x } else { without_dust(x, least) };
        let clean: Vec<T> = scaled.elements.iter().enumerate().map(beside).collect();
        decomposed(MatRef::from_row_major_slice(&clean, n, n))
    };
    let made = if whole.is_empty() { None } else { dust::<T>().into_iter().find_map(of_size) };
    let Some((values, mut vectors)) = made else {
        w.fill(T::NAN.real_part());
        return v.fill(T::NAN);
    };
    w.iter_mut().zip(values.column_vector().iter()).for_each(|(w, value)| *w = scaled.restored(*value).real_part());
    if !lower {
        (0..n).for_each(|i| make_real(&mut vectors, i, n - 1));
    }
    put(vectors.as_ref(), v);
}

/// The ascending eigenvalues and the eigenvectors of a Hermitian matrix; None if an iteration does not converge.
/// Results of divide and conquer are checked.
fn decomposed<T: Field>(a: MatRef<'_, T>) -> Option<(Diag<T>, Mat<T>)> {
    if a.nrows() < LEAST_FOR_DIVISION {
        return by_tridiagonal(a, iterated::<T>);
    }
    let apart = |(values, vectors): &(Diag<T>, Mat<T>)| distance(a, vectors.as_ref(), values.as_ref(), None);
    nearest(by_tridiagonal(a, divided::<T>), || by_tridiagonal(a, iterated::<T>), apart)
}

/// Computes the ascending eigenvalues and the eigenvectors of a Hermitian matrix by reduction to tridiagonal form
/// (Golub and Van Loan, Matrix Computations, 4th edition, algorithm 8.3.1). `vectors_of` overwrites the diagonal of the
/// tridiagonal matrix with its eigenvalues, in any order, and returns its eigenvectors, or None if it fails. Returns
/// None then, or if a result is not finite.
fn by_tridiagonal<T: Field>(
    a: MatRef<'_, T>,
    vectors_of: impl Fn(&mut Band) -> Option<Mat<T::Real>>,
) -> Option<(Diag<T>, Mat<T>)> {
    let n = a.nrows();
    let block = recommended_block_size::<T>(n, n);
    let mut reduced = Mat::<T>::zeros(n, n);
    reduced.copy_from_triangular_lower(a);
    let mut reflections = Mat::<T>::zeros(block, n - 1);
    let memory = tridiag_in_place_scratch::<T>(n, Par::Seq, Default::default());
    let mut memory = MemBuffer::new(memory);
    let stack = MemStack::new(&mut memory);
    tridiag_in_place(reduced.as_mut(), reflections.as_mut(), Par::Seq, stack, Default::default());

    // The tridiagonal matrix is `p * t * p^H` with a diagonal unitary matrix of `phases` and a real `t`.
    let mut phases = vec![one::<T>()];
    (1..n).for_each(|i| phases.push(phase_or_one(reduced[(i, i - 1)] * phases[i - 1])));
    let beside = (1..n).map(|i| abs(&reduced[(i, i - 1)]));
    let mut band = Band::of::<T>((0..n).map(|i| reduced[(i, i)].real_part()), beside)?;
    let vectors = vectors_of(&mut band)?;
    let (mut values, mut made) = (Diag::<T>::zeros(n), Mat::<T>::zeros(n, n));
    for (to, from) in ordered(&band.diagonal, f64::total_cmp).into_iter().enumerate() {
        values[to] = T::of_real(from_f64(band.diagonal[from] * band.largest));
        for (i, &x) in vectors.col(from).iter().enumerate() {
            made[(i, to)] = phases[i] * T::of_real(x);
        }
    }
    if n > 1 {
        let (of, to) = (reduced.as_ref().submatrix(1, 0, n - 1, n - 1), made.as_mut().subrows_mut(1, n - 1));
        apply_reflections(of, reflections.as_ref(), Conj::No, to);
    }
    scale_to_norm_one(&mut made);
    is_finite(made.as_ref()).then_some((values, made))
}

/// Vectors and values by the implicit QR iteration, for `by_tridiagonal`.
fn iterated<T: Field>(band: &mut Band) -> Option<Mat<T::Real>> {
    let n = band.diagonal.len();
    let mut vectors = Columns::identity(n);
    iterate(band, T::to_f64(eps()), &mut vectors).then(|| vectors.to_mat())
}

/// Vectors and values by divide and conquer, for `by_tridiagonal`.
fn divided<T: Field>(band: &mut Band) -> Option<Mat<T::Real>> {
    let n = band.diagonal.len();
    let mut vectors = Mat::zeros(n, n);
    divide::<T>(&mut band.diagonal, &band.beside, vectors.as_mut()).map(|()| vectors)
}

/// Returns true if the elements of a triangle beside the diagonal, and the real parts of the diagonal, are finite.
fn is_triangle_finite<T: Field>(a: &[T], n: usize, lower: bool) -> bool {
    a.chunks_exact(n).enumerate().all(|(i, row)| {
        let beside = if lower { &row[..i] } else { &row[i + 1..] };
        T::of_real(row[i].real_part()).is_finite() && all_finite(beside)
    })
}

/// The Hermitian matrix with one triangle of `a`, row by row.
fn hermitian<T: Field>(a: &[T], n: usize, lower: bool) -> Vec<T> {
    let mut made = a.to_vec();
    // By square tiles, which stay in the cache: an element and its mirror image are in different rows.
    let squares = (0..n).step_by(BAND).flat_map(|j| (j..n).step_by(BAND).map(move |i| (i, j)));
    for (first_i, first_j) in squares {
        for j in first_j..n.min(first_j + BAND) {
            for i in first_i.max(j + 1)..n.min(first_i + BAND) {
                let (of, to) = if lower { (i * n + j, j * n + i) } else { (j * n + i, i * n + j) };
                made[to] = made[of].conjugate();
            }
        }
    }
    (0..n).for_each(|i| made[i * n + i] = T::of_real(made[i * n + i].real_part()));
    made
}

/// Multiplies a column by the phase that makes an element real, and not negative. LAPACK's heevd, and faer, reduce a
/// matrix to tridiagonal form by reflections that leave the first row as it is if they read the lower triangle. LAPACK
/// leaves the last row if it reads the upper one.
fn make_real<C: Field>(vectors: &mut Mat<C>, column: usize, row: usize) {
    let element = vectors[(row, column)];
    if element == C::of_real(element.real_part()) {
        return;
    }
    let size = abs(&element);
    let phase = phase(element).conjugate();
    for i in 0..vectors.nrows() {
        vectors[(i, column)] *= phase;
    }
    vectors[(row, column)] = C::of_real(size);
}
