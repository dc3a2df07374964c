//! LU with partial pivoting. faer's own divides by a pivot of 0; LAPACK's, and this one, pass over the column.

use crate::faer_field::Field;
use crate::{put, taken};
use faer::linalg::matmul::matmul;
use faer::linalg::triangular_solve::solve_unit_lower_triangular_in_place;
use faer::prelude::*;
use faer::traits::math_utils::{abs1, from_f64, one, recip, zero};
use faer::{Accum, MatMut, Par};

/// Columns that are factored one by one.
const FEW: usize = 16;

pub fn lu<T: Field>(a: &mut [T], rows: usize, columns: usize, pivots: &mut [i32]) {
    // Copies column by column, of which an empty matrix may have any number.
    if a.is_empty() {
        return;
    }
    let mut factored = taken(a, rows, columns);
    let mut exchanged = vec![0; rows.min(columns)];
    factor(factored.as_mut(), &mut exchanged);
    put(factored.as_ref(), a);
    pivots.iter_mut().zip(exchanged).for_each(|(pivot, row)| *pivot = row as i32);
}

/// Factors the left half of the columns, updates the right half, and factors what is left of it.
fn factor<T: Field>(mut a: MatMut<'_, T>, pivots: &mut [usize]) {
    let least = pivots.len();
    if least <= FEW {
        return factor_few(a, pivots);
    }
    let half = (least / 2).next_multiple_of(FEW).min(least - 1);
    let (of_left, of_right) = pivots.split_at_mut(half);
    let (mut left, mut right) = a.rb_mut().split_at_col_mut(half);
    factor(left.rb_mut(), of_left);
    exchange(right.rb_mut(), of_left);
    let (top, mut bottom) = left.split_at_row_mut(half);
    let (mut right_top, mut rest) = right.split_at_row_mut(half);
    solve_unit_lower_triangular_in_place(top.rb(), right_top.rb_mut(), Par::Seq);
    matmul(rest.rb_mut(), Accum::Add, bottom.rb(), right_top.rb(), -one::<T>(), Par::Seq);
    factor(rest, of_right);
    exchange(bottom.rb_mut(), of_right);
    of_right.iter_mut().for_each(|pivot| *pivot += half);
}

/// Exchanges rows in order: row `i` with row `pivots[i]`.
fn exchange<T: Field>(mut a: MatMut<'_, T>, pivots: &[usize]) {
    for j in 0..a.ncols() {
        let column = a.rb_mut().col_mut(j).try_as_col_major_mut().expect("column-major").as_slice_mut();
        pivots.iter().enumerate().for_each(|(i, &pivot)| column.swap(i, pivot));
    }
}

fn factor_few<T: Field>(mut a: MatMut<'_, T>, pivots: &mut [usize]) {
    for (i, place) in pivots.iter_mut().enumerate() {
        let column = |j: usize| a.rb().col(j).try_as_col_major().expect("column-major").as_slice();
        let pivot = largest(&column(i)[i..]) + i;
        *place = pivot;
        for j in 0..a.ncols() {
            a.rb_mut().col_mut(j).try_as_col_major_mut().expect("column-major").as_slice_mut().swap(i, pivot);
        }
        let corner = a[(i, i)];
        let (mut done, mut rest) = a.rb_mut().split_at_col_mut(i + 1);
        let column = done.rb_mut().col_mut(i).try_as_col_major_mut().expect("column-major").as_slice_mut();
        if corner != zero::<T>() {
            divide(&mut column[i + 1..], corner);
        }
        for j in 0..rest.ncols() {
            let other = rest.rb_mut().col_mut(j).try_as_col_major_mut().expect("column-major").as_slice_mut();
            let factor = other[i];
            other[i + 1..].iter_mut().zip(&column[i + 1..]).for_each(|(x, &l)| *x -= l * factor);
        }
    }
}

/// Divides by multiplication with the reciprocal; of a number near the ends of the range, with a power of two as scale,
/// since the reciprocal overflows, or is subnormal or 0.
fn divide<T: Field>(column: &mut [T], by: T) {
    let (low, high) = (from_f64::<T::Real>(2f64.powi(-64)), from_f64::<T::Real>(2f64.powi(64)));
    let size = abs1(&by);
    if size >= low && size <= high {
        let reciprocal = recip(&by);
        return column.iter_mut().for_each(|x| *x *= reciprocal);
    }
    let scale = T::of_real(if size < low { high } else { low });
    let reciprocal = recip(&(by * scale));
    column.iter_mut().for_each(|x| *x = (*x * scale) * reciprocal);
}

/// Position of the element with the largest sum of absolute parts, as LAPACK chooses it.
fn largest<T: Field>(column: &[T]) -> usize {
    let mut found = 0;
    let mut most = abs1(&column[0]);
    for (i, x) in column.iter().enumerate().skip(1) {
        let size = abs1(x);
        if size > most {
            (found, most) = (i, size);
        }
    }
    found
}
