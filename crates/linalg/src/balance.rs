//! Balancing of square matrices (Parlett and Reinsch, 1969; LAPACK's gebal with job B).

use crate::faer_field::Field;
use faer::Mat;
use faer::traits::math_utils::{abs, abs1, from_f64, max, min_positive, one, recip, sqrt, zero};

/// The similarity transformation that [`balance`] applied.
pub struct Balance<T: Field> {
    /// Exchanges of rows and columns, in order.
    exchanges: Vec<[usize; 2]>,
    /// Powers of 2 by which columns were multiplied, and rows divided.
    scale: Vec<T::Real>,
}

impl<T: Field> Balance<T> {
    /// Turns a column of an eigenvector of the balanced matrix into that of the matrix itself, up to a factor.
    pub fn restore<C: Field<Real = T::Real>>(&self, column: &mut [C]) {
        column.iter_mut().zip(&self.scale).for_each(|(x, &scale)| *x *= C::of_real(scale));
        self.exchanges.iter().rev().for_each(|&[i, j]| column.swap(i, j));
    }
}

/// Balances a matrix: moves rows and columns that isolate an eigenvalue to the ends, and scales the rest by powers of 2
/// so that the norms of each row and column are close. Eigenvalues of a badly scaled matrix are more accurate then.
pub fn balance<T: Field>(a: &mut Mat<T>) -> Balance<T> {
    let n = a.nrows();
    let mut made = Balance { exchanges: Vec::new(), scale: vec![one(); n] };
    let (mut low, mut high) = (0, n);
    while let Some(row) = (low..high).rev().find(|&i| (low..high).all(|j| i == j || a[(i, j)] == zero())) {
        high -= 1;
        exchange(a, row, high, &mut made.exchanges);
    }
    while let Some(column) = (low..high).find(|&j| (low..high).all(|i| i == j || a[(i, j)] == zero())) {
        exchange(a, column, low, &mut made.exchanges);
        low += 1;
    }
    let mut changes = true;
    while changes {
        changes = false;
        for i in low..high {
            changes |= rescale(a, low..high, i, &mut made.scale[i]);
        }
    }
    made
}

fn exchange<T: Field>(a: &mut Mat<T>, i: usize, j: usize, exchanges: &mut Vec<[usize; 2]>) {
    if i == j {
        return;
    }
    exchanges.push([i, j]);
    for k in 0..a.nrows() {
        (a[(k, i)], a[(k, j)]) = (a[(k, j)], a[(k, i)]);
    }
    for k in 0..a.nrows() {
        (a[(i, k)], a[(j, k)]) = (a[(j, k)], a[(i, k)]);
    }
}

/// The norm of some elements, without overflow or underflow of their squares.
fn norm<T: Field>(elements: impl Iterator<Item = T> + Clone) -> T::Real {
    let largest = elements.clone().fold(zero(), |most: T::Real, x| max(&most, &abs1(&x)));
    if largest == zero() {
        return largest;
    }
    let of = |x: T| abs(&x) * recip(&largest);
    largest * sqrt(&elements.fold(zero::<T::Real>(), |sum, x| sum + of(x) * of(x)))
}

/// Multiplies column `i` by the power of 2, and divides row `i`, for which the sum of their norms within `range` is
/// least. Returns false if that makes it less than 5 % smaller.
fn rescale<T: Field>(a: &mut Mat<T>, range: std::ops::Range<usize>, i: usize, scale: &mut T::Real) -> bool {
    let mut column = norm(range.clone().map(|k| a[(k, i)]));
    let mut row = norm(range.clone().map(|k| a[(i, k)]));
    if column == zero() || row == zero() {
        return false;
    }
    let before = column + row;
    let [half, two] = [0.5, 2.0].map(from_f64::<T::Real>);
    let least = min_positive::<T::Real>() * from_f64::<T::Real>(2f64.powi(26));
    let most = recip(&least);
    let mut factor = one::<T::Real>();
    while column < row * half && factor * *scale < most && column < most && row > least {
        (factor, column, row) = (factor * two, column * two, row * half);
    }
    while column * half >= row && factor * *scale > least && row < most && column > least {
        (factor, column, row) = (factor * half, column * half, row * two);
    }
    if factor == one() || column + row >= before * from_f64::<T::Real>(0.95) {
        return false;
    }
    *scale *= factor;
    for k in 0..a.nrows() {
        a[(i, k)] *= T::of_real(recip(&factor));
    }
    for k in 0..a.nrows() {
        a[(k, i)] *= T::of_real(factor);
    }
    true
}
