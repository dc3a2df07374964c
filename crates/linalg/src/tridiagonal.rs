//! Eigenvalues and eigenvectors of Hermitian matrices by the reduction to a tridiagonal matrix and its implicit QR
//! iteration: Golub and Van Loan, Matrix Computations, 4th edition, algorithms 8.3.1 to 8.3.3.

use crate::faer_field::Field;
use crate::iteration::{Band, Columns, MOST_SWEEPS, Rotation, nearer, ordered};
use crate::{is_finite, phase_or_one, scale_to_norm_one};
use faer::diag::Diag;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::tridiag::{tridiag_in_place, tridiag_in_place_scratch};
use faer::linalg::householder::{
    apply_block_householder_sequence_on_the_left_in_place_scratch as apply_scratch,
    apply_block_householder_sequence_on_the_left_in_place_with_conj as apply,
};
use faer::linalg::qr::no_pivoting::factor::recommended_block_size;
use faer::traits::RealField;
use faer::traits::math_utils::{abs, eps, from_f64, one};
use faer::{Conj, Mat, MatRef, Par};

/// The ascending eigenvalues and the eigenvectors; None if the iteration does not converge, or results are not finite.
pub fn by_iteration<T: Field>(a: MatRef<'_, T>) -> Option<(Diag<T>, Mat<T>)> {
    let n = a.nrows();
    let block = recommended_block_size::<T>(n, n);
    let mut reduced = Mat::<T>::zeros(n, n);
    reduced.copy_from_triangular_lower(a);
    let mut reflections = Mat::<T>::zeros(block, n - 1);
    let memory = tridiag_in_place_scratch::<T>(n, Par::Seq, Default::default());
    let mut memory = MemBuffer::new(memory.or(apply_scratch::<T>(n, block, n)));
    let stack = MemStack::new(&mut memory);
    tridiag_in_place(reduced.as_mut(), reflections.as_mut(), Par::Seq, stack, Default::default());

    // The tridiagonal matrix is `p * t * p^H` with a diagonal unitary matrix of `phases` and a real `t`.
    let mut phases = vec![one::<T>()];
    (1..n).for_each(|i| phases.push(phase_or_one(reduced[(i, i - 1)] * phases[i - 1])));
    let beside = (1..n).map(|i| abs(&reduced[(i, i - 1)]));
    let mut band = Band::of::<T>((0..n).map(|i| reduced[(i, i)].real_part()), beside)?;
    let mut vectors = Columns::<T::Real>::identity(n);
    if !iterate(&mut band, T::to_f64(eps()), &mut vectors) {
        return None;
    }
    let (mut values, mut made) = (Diag::<T>::zeros(n), Mat::<T>::zeros(n, n));
    for (to, from) in ordered(&band.diagonal, f64::total_cmp).into_iter().enumerate() {
        values[to] = T::of_real(from_f64(band.diagonal[from] * band.largest));
        for (i, &x) in vectors.column(from).iter().enumerate() {
            made[(i, to)] = phases[i] * T::of_real(x);
        }
    }
    if n > 1 {
        let (of, to) = (reduced.as_ref().submatrix(1, 0, n - 1, n - 1), made.as_mut().subrows_mut(1, n - 1));
        apply(of, reflections.as_ref(), Conj::No, to, Par::Seq, MemStack::new(&mut memory));
    }
    scale_to_norm_one(&mut made);
    is_finite(made.as_ref()).then_some((values, made))
}

/// Overwrites the diagonal with the eigenvalues, in any order, and multiplies the columns of `vectors` by the
/// eigenvectors. Returns false if the iteration does not converge or an element is not finite.
fn iterate<R: RealField + Copy>(band: &mut Band, eps: f64, vectors: &mut Columns<R>) -> bool {
    let n = band.diagonal.len();
    let mut sweeps = 0;
    let mut rotations = vec![Rotation::default(); n];
    while let Some([first, last]) = band.rest(eps, eps * eps) {
        if sweeps == MOST_SWEEPS * n || !band.is_finite() {
            return false;
        }
        sweeps += 1;
        let rotations = &mut rotations[..last - first];
        sweep(band, first, last, rotations);
        vectors.turn_all(first, rotations);
    }
    band.is_finite()
}

/// One implicit QR step on an unreduced block. Writes its rotations.
fn sweep(band: &mut Band, first: usize, last: usize, rotations: &mut [Rotation]) {
    let (d, e) = (&mut band.diagonal[first..=last], &mut band.beside[first..last]);
    let end = e.len();
    // Elements that the step changes again stay in registers: `on` and `beside` of the two diagonals, and `x` and `y`, which
    // the next rotation takes to `r` and 0.
    let (mut on, mut beside) = (d[0], e[0]);
    let (mut x, mut y) = (on - nearer(d[end - 1], d[end], e[end - 1]), beside);
    for k in 0..end {
        let (rotation, r) = Rotation::onto_first(x, y);
        if k > 0 {
            e[k - 1] = r;
        }
        // One number is added to one diagonal element and subtracted from the other, which keeps the trace.
        let Rotation { c, s } = rotation;
        let moved = s * (d[k + 1] - on) + 2.0 * c * beside;
        d[k] = on + s * moved;
        on = d[k + 1] - s * moved;
        x = c * moved - beside;
        let next = if k + 1 < end { e[k + 1] } else { 0.0 };
        (y, beside) = (s * next, c * next);
        rotations[k] = rotation;
    }
    (d[end], e[end - 1]) = (on, x);
}
