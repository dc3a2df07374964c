//! QR by Householder reflections.

use crate::faer_field::Field;
use crate::{Scaled, phase, put, taken};
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::householder::{
    apply_block_householder_on_the_left_in_place_scratch as apply_scratch,
    apply_block_householder_on_the_left_in_place_with_conj as apply,
};
use faer::linalg::matmul::matmul;
use faer::linalg::qr::no_pivoting::factor::{qr_in_place, qr_in_place_scratch, recommended_block_size};
use faer::linalg::triangular_solve::solve_unit_lower_triangular_in_place;
use faer::prelude::*;
use faer::traits::math_utils::{abs, one, recip, zero};
use faer::{Accum, Conj, Mat, MatMut, Par};

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
    // In an identity matrix, the reflections of this block and of later ones change only columns from `start` on.
    for start in (0..least).step_by(block).rev() {
        let width = block.min(least - start);
        let vectors = factored.as_ref().submatrix(start, start, rows - start, width);
        let factors = coefficients.as_ref().submatrix(0, start, width, width);
        let part = basis.as_mut().submatrix_mut(start, start, rows - start, made - start);
        apply(vectors, factors, Conj::No, part, Par::Seq, stack);
    }
    let is_trivial: Vec<bool> = (0..least).map(|j| (j + 1..rows).all(|i| factored[(i, j)] == zero())).collect();
    for i in 0..made {
        for j in 0..i.min(columns) {
            factored[(i, j)] = zero();
        }
    }
    if !T::IS_REAL {
        (0..least).for_each(|i| make_positive(&mut factored, &mut basis, i));
        let mut top = basis.as_ref().submatrix(0, 0, least, least).to_owned();
        let mut negative = vec![false; least];
        signs(top.as_mut(), &is_trivial, &mut negative);
        negative.into_iter().enumerate().filter(|of| of.1).for_each(|(i, _)| negate(&mut factored, &mut basis, i));
    }
    put(basis.as_ref(), q);
    put(factored.as_ref().subrows(0, made), r);
    r.iter_mut().for_each(|x| *x = scaled.restored(*x));
}

/// Multiplies row `i` of `r` by the phase that makes its diagonal element real and positive, and column `i` of `q` by
/// the inverse.
fn make_positive<T: Field>(r: &mut Mat<T>, q: &mut Mat<T>, i: usize) {
    let corner = r[(i, i)];
    let size = abs(&corner);
    if corner == T::of_real(size) {
        return;
    }
    let phase = phase(corner);
    for j in i..r.ncols() {
        r[(i, j)] *= phase.conjugate();
    }
    r[(i, i)] = T::of_real(size);
    for j in 0..q.nrows() {
        q[(j, i)] *= phase;
    }
}

fn negate<T: Field>(r: &mut Mat<T>, q: &mut Mat<T>, i: usize) {
    for j in i..r.ncols() {
        r[(i, j)] = -r[(i, j)];
    }
    for j in 0..q.nrows() {
        q[(j, i)] = -q[(j, i)];
    }
}

/// Signs of the diagonal of `r` that LAPACK's geqrf gives: each reflection of a column `x` leaves `r_ii = -|x|` if the
/// real part of `x_i` is not negative, otherwise `|x|`; if nothing but a real `x_i` is left, it stays. `x_i / |x|` are
/// the pivots of `q - s = l u` without exchanges, for the `q` of a positive diagonal and the diagonal matrix `s` of
/// the signs (Ballard et al., "Reconstructing Householder vectors from tall-skinny QR", 2015; LAPACK's unhr_col). `a`
/// is the square part of `q` at the top, and is overwritten.
fn signs<T: Field>(mut a: MatMut<'_, T>, is_trivial: &[bool], negative: &mut [bool]) {
    let n = negative.len();
    if n <= FEW {
        return signs_of_few(a, is_trivial, negative);
    }
    let half = (n / 2).next_multiple_of(FEW).min(n - 1);
    let (of_left, of_right) = negative.split_at_mut(half);
    let (mut left, right) = a.rb_mut().split_at_col_mut(half);
    signs(left.rb_mut(), is_trivial, of_left);
    let (top, bottom) = left.split_at_row_mut(half);
    let (mut right_top, mut rest) = right.split_at_row_mut(half);
    solve_unit_lower_triangular_in_place(top.rb(), right_top.rb_mut(), Par::Seq);
    matmul(rest.rb_mut(), Accum::Add, bottom.rb(), right_top.rb(), -one::<T>(), Par::Seq);
    signs(rest, &is_trivial[half..], of_right);
}

/// Columns for which signs are found one by one.
const FEW: usize = 16;

fn signs_of_few<T: Field>(mut a: MatMut<'_, T>, is_trivial: &[bool], negative: &mut [bool]) {
    let n = a.nrows();
    for (i, negative) in negative.iter_mut().enumerate() {
        let pivot = a[(i, i)];
        let is_positive = pivot.real_part() >= zero();
        let stays = is_trivial[i] && pivot == T::of_real(pivot.real_part());
        *negative = if stays { !is_positive } else { is_positive };
        let (mut done, mut rest) = a.rb_mut().split_at_col_mut(i + 1);
        let mut column = done.rb_mut().col_mut(i);
        if stays {
            column.subrows_mut(i + 1, n - i - 1).fill(zero());
            continue;
        }
        let divisor = recip(&(pivot - if *negative { -one::<T>() } else { one() }));
        for j in i + 1..n {
            column[j] *= divisor;
        }
        for k in 0..rest.ncols() {
            let factor = rest[(i, k)];
            for j in i + 1..n {
                rest[(j, k)] -= column[j] * factor;
            }
        }
    }
}
