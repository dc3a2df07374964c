//! QR by Householder reflections.

use crate::faer_field::Field;
use crate::{Scaled, put, taken};
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::householder::{
    apply_block_householder_sequence_on_the_left_in_place_scratch as apply_scratch,
    apply_block_householder_sequence_on_the_left_in_place_with_conj as apply,
};
use faer::linalg::qr::no_pivoting::factor::{qr_in_place, qr_in_place_scratch, recommended_block_size};
use faer::traits::math_utils::{abs, recip, zero};
use faer::{Conj, Mat, Par};

pub fn qr<T: Field>(a: &[T], rows: usize, columns: usize, full: bool, q: &mut [T], r: &mut [T]) {
    let least = rows.min(columns);
    let made = if full { rows } else { least };
    let mut basis = Mat::<T>::identity(rows, made);
    if least == 0 {
        return put(basis.as_ref(), q);
    }
    let scaled = Scaled::of(a);
    let mut factored = taken(&scaled.elements, rows, columns);
    let block = recommended_block_size::<T>(rows, columns);
    let mut coefficients = Mat::<T>::zeros(block, least);
    let scratch = qr_in_place_scratch::<T>(rows, columns, block, Par::Seq, Default::default());
    let scratch = scratch.or(apply_scratch::<T>(rows, block, made));
    let mut memory = MemBuffer::new(scratch);
    let stack = MemStack::new(&mut memory);
    qr_in_place(factored.as_mut(), coefficients.as_mut(), Par::Seq, stack, Default::default());
    let reflections = factored.as_ref().subcols(0, least);
    apply(reflections, coefficients.as_ref(), Conj::No, basis.as_mut(), Par::Seq, stack);
    for i in 0..made {
        for j in 0..i.min(columns) {
            factored[(i, j)] = zero();
        }
    }
    for i in 0..least {
        make_real(&mut factored, &mut basis, i);
    }
    put(basis.as_ref(), q);
    put(factored.as_ref().subrows(0, made), r);
    r.iter_mut().for_each(|x| *x = scaled.restored(*x));
}

/// Multiplies row `i` of `r` by a phase that makes its diagonal element real, and column `i` of `q` by the inverse.
fn make_real<T: Field>(r: &mut Mat<T>, q: &mut Mat<T>, i: usize) {
    let corner = r[(i, i)];
    if T::IS_REAL || corner == T::of_real(corner.real_part()) {
        return;
    }
    let size = abs(&corner);
    let is_negative = corner.real_part() < zero::<T::Real>();
    let signed = if is_negative { -T::of_real(size) } else { T::of_real(size) };
    let phase = corner * recip(&signed);
    for j in i..r.ncols() {
        r[(i, j)] *= phase.conjugate();
    }
    r[(i, i)] = signed;
    for j in 0..q.nrows() {
        q[(j, i)] *= phase;
    }
}
