//! Factorization of symmetric and Hermitian indefinite matrices with the pivots of Bunch and Kaufman (1977), in the
//! form of LAPACK's `sytrf` and `hetrf` for the lower triangle, and solutions of systems. faer's own factors complex
//! matrices as Hermitian ones only, and exchanges rows of all columns.

use crate::faer_field::Field;
use crate::lu::{LANES, divide, substitute, subtract};
use faer::linalg::matmul::matmul;
use faer::linalg::matmul::triangular::{BlockStructure, matmul_with_conj};
use faer::prelude::*;
use faer::traits::math_utils::{abs1, from_f64, one, zero};
use faer::{Accum, Conj, MatMut, MatRef, Par};

/// Largest number of columns that are factored one by one before those at their right are updated by a product.
const WIDTH: usize = 48;

/// Unknowns that are found one by one.
const FEW: usize = 16;

pub fn ldl<T: Field>(a: &mut [T], n: usize, hermitian: bool, pivots: &mut [i32]) {
    if n == 0 {
        return;
    }
    let step = n.next_multiple_of(LANES) | LANES;
    let mut columns = vec![zero::<T>(); step * n];
    for (i, row) in a.chunks_exact(n).enumerate() {
        row[..=i].iter().enumerate().for_each(|(j, &x)| columns[j * step + i] = x);
    }
    let mut factoring = Factoring { columns, updated: vec![zero(); step * WIDTH], step, n, hermitian };
    let mut start = 0;
    while start < n {
        start = factoring.factor_panel(start, pivots);
    }
    for (i, row) in a.chunks_exact_mut(n).enumerate() {
        row.iter_mut()
            .enumerate()
            .for_each(|(j, x)| *x = if j <= i { factoring.columns[j * step + i] } else { zero() });
    }
}

/// A matrix whose first columns are factored. Both arrays are column-major, with `step` elements from column to column.
struct Factoring<T> {
    /// The lower triangle: factors, then columns that the panels before this one have updated.
    columns: Vec<T>,
    /// Columns of the panel updated by those before them: the products of its factors `L` and `D`.
    updated: Vec<T>,
    step: usize,
    n: usize,
    hermitian: bool,
}

impl<T: Field> Factoring<T> {
    fn conjugate(&self, x: T) -> T {
        if self.hermitian { x.conjugate() } else { x }
    }

    /// Factors columns from `start` on, and updates those behind them; returns the first one of these.
    fn factor_panel(&mut self, start: usize, pivots: &mut [i32]) -> usize {
        let n = self.n;
        // A block of two columns fits behind the last but one.
        let stop = if n - start <= WIDTH { n } else { start + WIDTH - 1 };
        let mut k = start;
        while k < stop {
            let (pivot, is_pair) = self.chosen(start, k);
            let row = k + usize::from(is_pair);
            if pivot != row {
                self.exchange(start, k, row, pivot);
            }
            if is_pair {
                self.store_pair(start, k)
            } else {
                self.store(start, k)
            }
            let number = pivot as i32 + 1;
            pivots[k..=row].fill(if is_pair { -number } else { number });
            k = row + 1;
        }
        if k < n {
            self.update_rest(start, k);
        }
        self.undo_exchanges(start, k, pivots);
        k
    }

    /// Writes the rows from `k` on of a column of the matrix, updated by the columns from `start` to `k`, to a place of
    /// `updated`.
    fn update(&mut self, start: usize, k: usize, number: usize, place: usize) {
        let (n, step, hermitian) = (self.n, self.step, self.hermitian);
        let (done, rest) = self.updated.split_at_mut(place * step);
        let (column, columns) = (&mut rest[..n], &self.columns);
        for i in k..number {
            let x = columns[i * step + number];
            column[i] = if hermitian { x.conjugate() } else { x };
        }
        column[number..].copy_from_slice(&columns[number * step..][number..n]);
        let vectors: Vec<&[T]> = (start..k).map(|j| &columns[j * step..][k..n]).collect();
        let factors = (start..k).map(|j| done[(j - start) * step + number]);
        let factors: Vec<T> = factors.map(|x| if hermitian { x.conjugate() } else { x }).collect();
        subtract(&mut column[k..], &vectors, &factors);
        if hermitian {
            column[number] = T::of_real(column[number].real_part());
        }
    }

    /// The row that is exchanged for the next pivot, and whether this is a block of two rows. Updates the columns that
    /// are compared.
    fn chosen(&mut self, start: usize, k: usize) -> (usize, bool) {
        let (n, step, place) = (self.n, self.step, k - start);
        let alpha = from_f64::<T::Real>((1.0 + 17f64.sqrt()) / 8.0);
        self.update(start, k, k, place);
        let column = &self.updated[place * step..][..n];
        let (row, most) = largest(column, k + 1..n);
        let own = abs1(&column[k]);
        // NaN is a pivot.
        let is_small = own < alpha * most;
        if !is_small {
            return (k, false);
        }
        self.update(start, k, row, place + 1);
        let other = &self.updated[(place + 1) * step..][..n];
        let (before, behind) = (largest(other, k..row).1, largest(other, row + 1..n).1);
        let most_of_row = if behind > before { behind } else { before };
        if own >= alpha * most * (most / most_of_row) {
            return (k, false);
        }
        if abs1(&other[row]) >= alpha * most_of_row {
            self.updated.copy_within((place + 1) * step + k..(place + 1) * step + n, place * step + k);
            return (row, false);
        }
        (row, true)
    }

    /// Exchanges two rows and columns of what is not factored yet, and these rows of the panel.
    fn exchange(&mut self, start: usize, k: usize, row: usize, pivot: usize) {
        let (n, step) = (self.n, self.step);
        self.columns[pivot * step + pivot] = self.columns[row * step + row];
        for i in row + 1..pivot {
            self.columns[i * step + pivot] = self.conjugate(self.columns[row * step + i]);
        }
        self.columns.copy_within(row * step + pivot + 1..row * step + n, pivot * step + pivot + 1);
        (start..k).for_each(|j| self.columns.swap(j * step + row, j * step + pivot));
        (0..=row - start).for_each(|j| self.updated.swap(j * step + row, j * step + pivot));
    }

    fn store(&mut self, start: usize, k: usize) {
        let (n, step) = (self.n, self.step);
        let column = &mut self.columns[k * step..][k..n];
        column.copy_from_slice(&self.updated[(k - start) * step..][k..n]);
        let pivot = column[0];
        if pivot != zero::<T>() {
            divide(&mut column[1..], pivot);
        }
    }

    fn store_pair(&mut self, start: usize, k: usize) {
        let (n, step, place, hermitian) = (self.n, self.step, k - start, self.hermitian);
        let conjugate = |x: T| if hermitian { x.conjugate() } else { x };
        let (first, second) = (&self.updated[place * step..][..n], &self.updated[(place + 1) * step..][..n]);
        let block = Block { a: first[k], b: first[k + 1], c: second[k + 1], hermitian };
        let (left, right) = self.columns[k * step..].split_at_mut(step);
        (left[k], left[k + 1], right[k + 1]) = (block.a, block.b, block.c);
        let solved = block.solving();
        for i in k + 2..n {
            // The rows are those of `L D`, and `D^T` is the conjugate of a Hermitian `D`.
            let [x, y] = solved.of(conjugate(first[i]), conjugate(second[i]));
            (left[i], right[i]) = (conjugate(x), conjugate(y));
        }
    }

    /// Subtracts the product of the panel's factors from the columns behind it.
    fn update_rest(&mut self, start: usize, k: usize) {
        let (n, step, width) = (self.n, self.step, k - start);
        let (panel, rest) = self.columns.split_at_mut(k * step);
        let of = |elements| MatRef::from_column_major_slice_with_stride(elements, n, width, step).subrows(k, n - k);
        let (factors, updated) = (of(&panel[start * step..]), of(&self.updated[..width * step]));
        let rest = MatMut::from_column_major_slice_with_stride_mut(rest, n, n - k, step).subrows_mut(k, n - k);
        let (square, whole) = (BlockStructure::TriangularLower, BlockStructure::Rectangular);
        let conjugated = if self.hermitian { Conj::Yes } else { Conj::No };
        let transposed = updated.transpose();
        matmul_with_conj(
            rest,
            square,
            Accum::Add,
            factors,
            whole,
            Conj::No,
            transposed,
            whole,
            conjugated,
            -one::<T>(),
            Par::Seq,
        );
    }

    /// LAPACK exchanges rows of the columns behind a pivot alone.
    fn undo_exchanges(&mut self, start: usize, stop: usize, pivots: &[i32]) {
        let step = self.step;
        let mut k = stop;
        while k > start {
            k -= 1;
            let (row, pivot) = (k, pivots[k].unsigned_abs() as usize - 1);
            k -= usize::from(pivots[k] < 0);
            if pivot != row {
                (start..k).for_each(|j| self.columns.swap(j * step + row, j * step + pivot));
            }
        }
    }
}

/// A symmetric or Hermitian matrix of two rows, with `b` below the diagonal, that is not singular.
struct Block<T> {
    a: T,
    b: T,
    c: T,
    hermitian: bool,
}

/// Factors of the solutions for a block, as in LAPACK: elements relative to `b`, so that no product overflows.
struct Solving<T> {
    above: T,
    below: T,
    of_a: T,
    of_c: T,
    scale: T,
}

impl<T: Field> Block<T> {
    fn solving(&self) -> Solving<T> {
        let (above, below) = (if self.hermitian { self.b.conjugate() } else { self.b }, self.b);
        let (of_a, of_c) = (quotient(self.a, above), quotient(self.c, below));
        Solving { above, below, of_a, of_c, scale: quotient(one(), of_a * of_c - one::<T>()) }
    }
}

impl<T: Field> Solving<T> {
    fn of(&self, x: T, y: T) -> [T; 2] {
        let (x, y) = (quotient(x, self.above), quotient(y, self.below));
        [(self.of_c * x - y) * self.scale, (self.of_a * y - x) * self.scale]
    }
}

fn quotient<T: Field>(x: T, by: T) -> T {
    let mut x = [x];
    divide(&mut x, by);
    x[0]
}

/// The first row of a range with the largest sum of absolute parts, and this; 0 for an empty range. NaN is not larger
/// than another element.
fn largest<T: Field>(column: &[T], rows: std::ops::Range<usize>) -> (usize, T::Real) {
    rows.fold((0, zero()), |(row, most), i| {
        let size = abs1(&column[i]);
        if size > most { (i, size) } else { (row, most) }
    })
}

/// A pivot of factors: its first row, its last one, and the one that was exchanged with the last.
struct Pivot {
    first: usize,
    row: usize,
    pivot: usize,
}

/// The pivots in order; None unless they may be those of a factorization.
fn pivots_of(pivots: &[i32]) -> Option<Vec<Pivot>> {
    let (mut made, mut first) = (Vec::new(), 0);
    while first < pivots.len() {
        let number = pivots[first];
        let row = first + usize::from(number < 0);
        let pivot = (number.unsigned_abs() as usize).checked_sub(1)?;
        if pivot < row || pivot >= pivots.len() || pivots[row] != number {
            return None;
        }
        made.push(Pivot { first, row, pivot });
        first = row + 1;
    }
    Some(made)
}

pub fn ldl_solve<T: Field>(factors: &[T], pivots: &[i32], n: usize, hermitian: bool, b: &mut [T]) {
    if b.is_empty() {
        return;
    }
    let columns = b.len() / n;
    let Some(pivots) = pivots_of(pivots) else { return b.fill(T::NAN) };
    let swap = |b: &mut [T], width: usize, stride: usize, of: &Pivot| {
        if of.row < of.pivot {
            let (above, below) = b.split_at_mut(of.pivot * stride);
            above[of.row * stride..][..width].swap_with_slice(&mut below[..width]);
        }
    };
    let mut lower = factors.to_vec();
    for of in &pivots {
        if of.first < of.row {
            lower[of.row * n + of.first] = zero();
        }
        swap(&mut lower, of.first, n, of);
        swap(b, columns, columns, of);
    }
    let matrix = MatRef::from_row_major_slice(&lower, n, n);
    substitute(matrix, MatMut::from_row_major_slice_mut(b, n, columns));
    if !divided_by_blocks(factors, &pivots, n, hermitian, b) {
        return b.fill(T::NAN);
    }
    if hermitian {
        lower.iter_mut().for_each(|x| *x = x.conjugate());
    }
    let matrix = MatRef::from_row_major_slice(&lower, n, n);
    substitute_back(matrix, MatMut::from_row_major_slice_mut(b, n, columns));
    pivots.iter().rev().for_each(|of| swap(b, columns, columns, of));
}

/// Solves `d x = b` for the block diagonal `d` of factors; false if a pivot is 0.
fn divided_by_blocks<T: Field>(factors: &[T], pivots: &[Pivot], n: usize, hermitian: bool, b: &mut [T]) -> bool {
    let columns = b.len() / n;
    let diagonal = |i: usize| {
        let x = factors[i * n + i];
        if hermitian { T::of_real(x.real_part()) } else { x }
    };
    for of in pivots {
        let rows = &mut b[of.first * columns..(of.row + 1) * columns];
        if of.first == of.row {
            let pivot = diagonal(of.row);
            if pivot == zero() {
                return false;
            }
            divide(rows, pivot);
            continue;
        }
        let below = factors[of.row * n + of.first];
        let solved = Block { a: diagonal(of.first), b: below, c: diagonal(of.row), hermitian }.solving();
        let (first, second) = rows.split_at_mut(columns);
        for (x, y) in first.iter_mut().zip(second) {
            [*x, *y] = solved.of(*x, *y);
        }
    }
    true
}

/// Solves `l^T x = b` for a unit lower triangular `l`, half by half.
fn substitute_back<T: Field>(l: MatRef<'_, T>, mut x: MatMut<'_, T>) {
    let n = l.nrows();
    if n <= FEW {
        for i in (0..n).rev() {
            let (mut rest, known) = x.rb_mut().split_at_row_mut(i + 1);
            let known = known.rb();
            let known: Vec<&[T]> = (0..n - i - 1).map(|k| crate::lu::row_of(known, k)).collect();
            let factors: Vec<T> = (i + 1..n).map(|k| l[(k, i)]).collect();
            subtract(crate::lu::row(&mut rest, i), &known, &factors);
        }
        return;
    }
    let half = (n / 2).next_multiple_of(FEW).min(n - 1);
    let (mut top, mut bottom) = x.rb_mut().split_at_row_mut(half);
    substitute_back(l.submatrix(half, half, n - half, n - half), bottom.rb_mut());
    let across = l.submatrix(half, 0, n - half, half).transpose();
    matmul(top.rb_mut(), Accum::Add, across, bottom.rb(), -one::<T>(), Par::Seq);
    substitute_back(l.submatrix(0, 0, half, half), top);
}
