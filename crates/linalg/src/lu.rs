//! LU with partial pivoting. faer's own divides by a pivot of 0; LAPACK's, and this one, pass over the column.

use crate::faer_field::Field;
use crate::parallel::product;
use crate::vectorized;
use faer::linalg::matmul::matmul;
use faer::prelude::*;
use faer::traits::math_utils::{abs1, from_f64, one, recip, zero};
use faer::{Accum, MatMut, MatRef, Par};

/// Columns that are factored one by one, in a column-major copy.
const FEW: usize = 16;

/// Matrices with at most this many pivots, and at most twice as many rows, are factored without a copy.
const SMALL: usize = 64;

/// Number of columns of a small matrix that are factored before the columns to the right of them are updated.
const STEP: usize = 8;

/// Elements whose sizes are compared at the same time.
pub const LANES: usize = 16;

pub fn lu<T: Field>(a: &mut [T], rows: usize, columns: usize, pivots: &mut [i32]) {
    if a.is_empty() {
        return;
    }
    if rows.min(columns) <= SMALL && rows <= 2 * SMALL {
        return factor_small(a, rows, columns, pivots);
    }
    let mut exchanged = vec![0; rows.min(columns)];
    // A panel's columns are an odd number of cache lines apart, so that they do not compete for the same ones.
    let step = rows.next_multiple_of(LANES) | LANES;
    let mut panel = vec![zero::<T>(); step * FEW.min(columns)];
    factor(MatMut::from_row_major_slice_mut(a, rows, columns), &mut exchanged, &mut panel, step);
    pivots.iter_mut().zip(exchanged).for_each(|(pivot, row)| *pivot = row as i32);
}

/// Factors a matrix that fits into the cache, in place: `STEP` columns one by one, then updates the columns to the
/// right of them by one product.
fn factor_small<T: Field>(a: &mut [T], rows: usize, columns: usize, pivots: &mut [i32]) {
    vectorized(
        #[inline(always)]
        || {
            for start in (0..pivots.len()).step_by(STEP) {
                let end = pivots.len().min(start + STEP);
                for (j, pivot) in (start..end).zip(&mut pivots[start..end]) {
                    *pivot = factor_column(a, columns, j, end) as i32;
                }
                let (top, below) = a.split_at_mut(end * columns);
                let top = &mut top[start * columns..];
                for i in 1..end - start {
                    let (known, row) = top.split_at_mut(i * columns);
                    let (factors, x) = row[start..columns].split_at_mut(end - start);
                    for (k, factor) in factors[..i].iter().enumerate() {
                        let known = &known[k * columns + end..][..x.len()];
                        x.iter_mut().zip(known).for_each(|(x, &known)| *x -= *factor * known);
                    }
                }
                let known = MatRef::from_row_major_slice(top, end - start, columns).get(.., end..);
                let below = MatMut::from_row_major_slice_mut(below, rows - end, columns);
                let (left, rest) = below.split_at_col_mut(end);
                matmul(rest, Accum::Add, left.rb().get(.., start..), known, -one::<T>(), Par::Seq);
            }
        },
    );
}

/// Eliminates column `j` of a row-major matrix from the columns up to `end`: exchanges row `j` with the row of the
/// largest element, divides the column by that pivot unless it is 0, and returns the row of the pivot.
#[inline(always)]
fn factor_column<T: Field>(a: &mut [T], columns: usize, j: usize, end: usize) -> usize {
    let mut pivot = j;
    let mut most = abs1(&a[j * columns + j]);
    for (i, row) in a.chunks_exact(columns).enumerate().skip(j + 1) {
        let size = abs1(&row[j]);
        if size > most {
            (pivot, most) = (i, size);
        }
    }
    let (top, below) = a.split_at_mut((j + 1) * columns);
    let known = &mut top[j * columns..];
    if pivot != j {
        known.swap_with_slice(&mut below[(pivot - j - 1) * columns..][..columns]);
    }
    let corner = known[j];
    let divisor = (corner != zero()).then(|| Divisor::of(corner));
    let known = &known[j + 1..end];
    for row in below.chunks_exact_mut(columns) {
        let factor = divisor.map_or(row[j], |divisor| divisor.divided(row[j]));
        row[j] = factor;
        row[j + 1..end].iter_mut().zip(known).for_each(|(x, &known)| *x -= factor * known);
    }
    pivot
}

/// Factors the left half of the columns, updates the right half, and factors what is left of it.
fn factor<T: Field>(mut a: MatMut<'_, T>, pivots: &mut [usize], panel: &mut [T], step: usize) {
    let least = pivots.len();
    if least <= FEW {
        return factor_few(a, pivots, panel, step);
    }
    let half = (least / 2).next_multiple_of(FEW).min(least - 1);
    let (of_left, of_right) = pivots.split_at_mut(half);
    let (mut left, mut right) = a.rb_mut().split_at_col_mut(half);
    factor(left.rb_mut(), of_left, panel, step);
    exchange(right.rb_mut(), of_left);
    let (top, mut bottom) = left.split_at_row_mut(half);
    let (mut right_top, mut rest) = right.split_at_row_mut(half);
    substitute(top.rb(), right_top.rb_mut());
    product(rest.rb_mut(), Accum::Add, bottom.rb(), right_top.rb(), -one::<T>());
    factor(rest, of_right, panel, step);
    exchange(bottom.rb_mut(), of_right);
    of_right.iter_mut().for_each(|pivot| *pivot += half);
}

/// A row of a row-major matrix, to be written.
pub fn row<'a, T: Field>(a: &'a mut MatMut<'_, T>, i: usize) -> &'a mut [T] {
    a.rb_mut().row_mut(i).try_as_row_major_mut().expect("row-major").as_slice_mut()
}

/// A row of a row-major matrix.
pub fn row_of<'a, T: Field>(a: MatRef<'a, T>, i: usize) -> &'a [T] {
    a.row(i).try_as_row_major().expect("row-major").as_slice()
}

/// Exchanges rows in order: row `i` with row `pivots[i]`.
fn exchange<T: Field>(mut a: MatMut<'_, T>, pivots: &[usize]) {
    for (i, &pivot) in pivots.iter().enumerate().filter(|(i, pivot)| i < *pivot) {
        let (mut above, mut below) = a.rb_mut().split_at_row_mut(pivot);
        row(&mut above, i).swap_with_slice(row(&mut below, 0));
    }
}

/// Solves `l x = b` for a unit lower triangular `l`, half by half.
pub fn substitute<T: Field>(l: MatRef<'_, T>, mut x: MatMut<'_, T>) {
    let n = l.nrows();
    if n <= FEW {
        return substitute_few(l, x);
    }
    let half = (n / 2).next_multiple_of(FEW).min(n - 1);
    let (mut top, mut bottom) = x.rb_mut().split_at_row_mut(half);
    substitute(l.submatrix(0, 0, half, half), top.rb_mut());
    product(bottom.rb_mut(), Accum::Add, l.submatrix(half, 0, n - half, half), top.rb(), -one::<T>());
    substitute(l.submatrix(half, half, n - half, n - half), bottom);
}

fn substitute_few<T: Field>(l: MatRef<'_, T>, mut x: MatMut<'_, T>) {
    for i in 1..l.nrows() {
        let (known, mut rest) = x.rb_mut().split_at_row_mut(i);
        let known = known.rb();
        let known: Vec<&[T]> = (0..i).map(|k| row_of(known, k)).collect();
        let factors: Vec<T> = (0..i).map(|k| l[(i, k)]).collect();
        subtract(row(&mut rest, 0), &known, &factors);
    }
}

/// Subtracts multiples of vectors.
pub fn subtract<T: Field>(x: &mut [T], vectors: &[&[T]], factors: &[T]) {
    vectorized(
        #[inline(always)]
        || {
            let (fours, of_fours) = (vectors.chunks_exact(4), factors.chunks_exact(4));
            let rest = (fours.remainder(), of_fours.remainder());
            for (v, f) in fours.zip(of_fours) {
                let [a, b, c, d] = [v[0], v[1], v[2], v[3]].map(|v| &v[..x.len()]);
                for (i, x) in x.iter_mut().enumerate() {
                    *x = *x - f[0] * a[i] - f[1] * b[i] - f[2] * c[i] - f[3] * d[i];
                }
            }
            for (v, &f) in rest.0.iter().zip(rest.1) {
                x.iter_mut().zip(*v).for_each(|(x, &v)| *x -= f * v);
            }
        },
    );
}

/// Factors as many columns as there are pivots in a column-major copy, and updates the columns behind them.
fn factor_few<T: Field>(mut a: MatMut<'_, T>, pivots: &mut [usize], panel: &mut [T], step: usize) {
    let (rows, width) = (a.nrows(), pivots.len());
    for i in 0..rows {
        row(&mut a, i)[..width].iter().enumerate().for_each(|(j, &x)| panel[j * step + i] = x);
    }
    factor_panel(&mut panel[..width * step], rows, pivots, step);
    for i in 0..rows {
        row(&mut a, i)[..width].iter_mut().enumerate().for_each(|(j, x)| *x = panel[j * step + i]);
    }
    let (left, mut right) = a.split_at_col_mut(width);
    if right.ncols() > 0 {
        exchange(right.rb_mut(), pivots);
        substitute_few(left.rb().subrows(0, width), right.subrows_mut(0, width));
    }
}

/// Factors a column-major panel with at least as many rows as columns, column by column: each is updated by those
/// before it when its turn comes.
fn factor_panel<T: Field>(panel: &mut [T], rows: usize, pivots: &mut [usize], step: usize) {
    for j in 0..pivots.len() {
        let (done, rest) = panel.split_at_mut(j * step);
        let column = &mut rest[..rows];
        let mut factors = Vec::with_capacity(FEW);
        for k in 0..j {
            let factor = column[k];
            factors.push(factor);
            for i in k + 1..j {
                column[i] -= done[k * step + i] * factor;
            }
        }
        let vectors: Vec<&[T]> = done.chunks_exact(step).map(|vector| &vector[j..rows]).collect();
        subtract(&mut column[j..], &vectors, &factors);
        let pivot = largest(&column[j..]) + j;
        pivots[j] = pivot;
        if pivot != j {
            panel.chunks_exact_mut(step).for_each(|column| column.swap(j, pivot));
        }
        let column = &mut panel[j * step..][..rows];
        let corner = column[j];
        if corner != zero::<T>() {
            divide(&mut column[j + 1..], corner);
        }
    }
}

/// Division by multiplication with the reciprocal; of a number near the ends of the range, with a power of two as
/// scale, since the reciprocal overflows, or is subnormal or 0.
#[derive(Clone, Copy)]
struct Divisor<T> {
    /// None if the reciprocal of the number itself is taken.
    scale: Option<T>,
    reciprocal: T,
}

impl<T: Field> Divisor<T> {
    #[inline(always)]
    fn of(by: T) -> Divisor<T> {
        let (low, high) = (from_f64::<T::Real>(2f64.powi(-64)), from_f64::<T::Real>(2f64.powi(64)));
        let size = abs1(&by);
        if size >= low && size <= high {
            return Divisor { scale: None, reciprocal: recip(&by) };
        }
        let scale = T::of_real(if size < low { high } else { low });
        Divisor { scale: Some(scale), reciprocal: recip(&(by * scale)) }
    }

    #[inline(always)]
    fn divided(self, x: T) -> T {
        match self.scale {
            None => x * self.reciprocal,
            Some(scale) => (x * scale) * self.reciprocal,
        }
    }
}

/// Divides elements by a number other than 0.
pub fn divide<T: Field>(column: &mut [T], by: T) {
    let divisor = Divisor::of(by);
    vectorized(
        #[inline(always)]
        || column.iter_mut().for_each(|x| *x = divisor.divided(*x)),
    );
}

/// Position of the first element with the largest sum of absolute parts, as LAPACK chooses it; NaN is not larger than
/// other elements, and nothing is larger than NaN in the first place.
fn largest<T: Field>(column: &[T]) -> usize {
    let first = abs1(&column[0]);
    let most = vectorized(
        #[inline(always)]
        || {
            let larger = |most: T::Real, x: &T| {
                let size = abs1(x);
                if size > most { size } else { most }
            };
            let (lanes, rest) = column.as_chunks::<LANES>();
            let mut most = [first; LANES];
            for lane in lanes {
                most.iter_mut().zip(lane).for_each(|(most, x)| *most = larger(*most, x));
            }
            let most = most.into_iter().fold(first, |most, size| if size > most { size } else { most });
            rest.iter().fold(most, larger)
        },
    );
    column.iter().position(|x| abs1(x) == most).unwrap_or(0)
}
