//! Solutions of systems from the results of an LU factorization.

use crate::all_finite;
use crate::faer_field::Field;
use crate::lu::{divide, row, row_of, substitute, subtract};
use crate::parallel::product;
use faer::prelude::*;
use faer::traits::math_utils::{one, zero};
use faer::{Accum, MatMut, MatRef};

/// Largest number of unknowns that are computed one by one.
const FEW: usize = 16;

/// Writes the solution of `a x = b` with `columns` columns, given the results of an LU factorization of `a`; without
/// `b`, the inverse of `a`.
pub fn lu_solve<T: Field>(factors: &[T], permutation: &[i32], n: usize, b: Option<&[T]>, columns: usize, x: &mut [T]) {
    if x.is_empty() {
        return;
    }
    if (0..n).any(|i| factors[i * n + i] == zero()) {
        return x.fill(T::NAN);
    }
    let factors_of = MatRef::from_row_major_slice(factors, n, n);
    match b {
        Some(b) => {
            for (to, &from) in x.chunks_exact_mut(columns).zip(permutation) {
                to.copy_from_slice(&b[from as usize * columns..][..columns]);
            }
            let mut x = MatMut::from_row_major_slice_mut(x, n, columns);
            substitute(factors_of, x.rb_mut());
            back_substitute(factors_of, x);
        }
        None => {
            x.fill(zero());
            let mut made = MatMut::from_row_major_slice_mut(x, n, n);
            if all_finite(factors) {
                invert_lower(factors_of, made.rb_mut());
            } else {
                // NaN and infinite factors make elements above the diagonal NaN, which `invert_lower` leaves 0.
                (0..n).for_each(|i| made[(i, i)] = one());
                substitute(factors_of, made.rb_mut());
            }
            back_substitute(factors_of, made);
            let mut line = vec![zero::<T>(); n];
            for row in x.chunks_exact_mut(n) {
                line.copy_from_slice(row);
                permutation.iter().zip(&line).for_each(|(&column, &from)| row[column as usize] = from);
            }
        }
    }
}

/// Solves `u x = b` for an upper triangular `u`, half by half.
fn back_substitute<T: Field>(u: MatRef<'_, T>, mut x: MatMut<'_, T>) {
    let n = u.nrows();
    if n <= FEW {
        return back_substitute_few(u, x);
    }
    let half = (n / 2).next_multiple_of(FEW).min(n - 1);
    let (mut top, mut bottom) = x.rb_mut().split_at_row_mut(half);
    back_substitute(u.submatrix(half, half, n - half, n - half), bottom.rb_mut());
    product(top.rb_mut(), Accum::Add, u.submatrix(0, half, half, n - half), bottom.rb(), -one::<T>());
    back_substitute(u.submatrix(0, 0, half, half), top);
}

fn back_substitute_few<T: Field>(u: MatRef<'_, T>, mut x: MatMut<'_, T>) {
    let n = u.nrows();
    for i in (0..n).rev() {
        let (mut above, known) = x.rb_mut().split_at_row_mut(i + 1);
        let known = known.rb();
        let rows: Vec<&[T]> = (i + 1..n).map(|k| row_of(known, k - i - 1)).collect();
        let (line, factors) = (row(&mut above, i), row_of(u, i));
        subtract(line, &rows, &factors[i + 1..]);
        divide(line, factors[i]);
    }
}

/// Writes the inverse of a unit lower triangular matrix into one that is 0.
fn invert_lower<T: Field>(l: MatRef<'_, T>, mut x: MatMut<'_, T>) {
    let n = l.nrows();
    if n <= FEW {
        for i in 0..n {
            x[(i, i)] = one();
        }
        return substitute(l, x);
    }
    // x = [p 0; -q l' p, q] for l = [., .; l', .]: the lower left part is a solution of a system with q.
    let half = (n / 2).next_multiple_of(FEW).min(n - 1);
    let (mut top, bottom) = x.rb_mut().split_at_row_mut(half);
    let mut first = top.rb_mut().subcols_mut(0, half);
    invert_lower(l.submatrix(0, 0, half, half), first.rb_mut());
    let (mut left, right) = bottom.split_at_col_mut(half);
    let corner = l.submatrix(half, half, n - half, n - half);
    product(left.rb_mut(), Accum::Replace, l.submatrix(half, 0, n - half, half), first.rb(), -one::<T>());
    substitute(corner, left);
    invert_lower(corner, right);
}
