//! QR by Householder reflections in LAPACK's form (`geqrf`): `q = h_1 h_2 ... h_k` with `h_i = 1 - tau_i v_i v_i^H`.

use crate::faer_field::Field;
use crate::{Scaled, all_finite, put, taken, vectorized};
use faer::linalg::matmul::matmul;
use faer::prelude::*;
use faer::traits::math_utils::{from_f64, one, recip, zero};
use faer::{Accum, ColRef, Mat, MatMut, MatRef, Par};
use std::borrow::Cow;

/// Columns whose reflections are applied to the others as one product.
const PANEL: usize = 32;

/// Most rows of a panel whose columns are reflected without calls of faer's product, which take longer.
const SHORT: usize = 128;

pub fn reflectors<T: Field>(a: &[T], rows: usize, columns: usize, packed: &mut [T], factors: &mut [T], q: &mut [T]) {
    if !all_finite(a) {
        return [packed, factors, q].into_iter().for_each(|out| out.fill(T::NAN));
    }
    let least = rows.min(columns);
    if least == 0 {
        return;
    }
    let scaled = Scaled::of(a);
    let factored = Factored::of(taken(&scaled.elements, rows, columns), factors);
    put(factored.basis(least).as_ref(), q);
    put(factored.packed.as_ref(), packed);
    for i in 0..least {
        packed[i * columns..][i..columns].iter_mut().for_each(|x| *x = scaled.restored(*x));
    }
}

/// A factored matrix. faer's own QR takes columns for dependent that differ by less than the number of rows times 16
/// rounding errors: in f32, all of them from some hundred thousand rows on.
pub struct Factored<T: Field> {
    /// The upper triangular factor, and below it the vectors.
    pub packed: Mat<T>,
    panels: Vec<Panel<T>>,
}

/// Reflections whose product is `1 - vectors * triangle * vectors^H` for the rows from `start` on.
struct Panel<T: Field> {
    start: usize,
    vectors: Mat<T>,
    triangle: Mat<T>,
}

impl<T: Field> Factored<T> {
    /// Writes `tau` of each reflection to `factors`.
    pub fn of(mut a: Mat<T>, factors: &mut [T]) -> Factored<T> {
        let (rows, columns) = (a.nrows(), a.ncols());
        let mut panels = Vec::new();
        for start in (0..factors.len()).step_by(PANEL) {
            let end = factors.len().min(start + PANEL);
            let part = a.as_mut().submatrix_mut(start, start, rows - start, columns - start);
            let (mut panel, rest) = part.split_at_col_mut(end - start);
            factor(panel.rb_mut(), &mut factors[start..end]);
            let vectors = unit_lower(panel.rb());
            let triangle = triangle(vectors.as_ref(), &factors[start..end]);
            // Reflections of this panel in the order in which they were applied: the adjoint of their product.
            reflect(rest, vectors.as_ref(), triangle.adjoint().to_owned().as_ref());
            panels.push(Panel { start, vectors, triangle });
        }
        Factored { packed: a, panels }
    }

    /// The first columns of the product of all reflections.
    pub fn basis(&self, columns: usize) -> Mat<T> {
        let mut made = Mat::<T>::identity(self.packed.nrows(), columns);
        for panel in self.panels.iter().rev() {
            // In an identity matrix, this panel and later ones change only columns from its start on.
            panel.reflect(made.as_mut().subcols_mut(panel.start, columns - panel.start));
        }
        made
    }

    /// The product of all reflections with a matrix.
    pub fn times(&self, mut a: Mat<T>) -> Mat<T> {
        self.panels.iter().rev().for_each(|panel| panel.reflect(a.as_mut()));
        a
    }
}

impl<T: Field> Panel<T> {
    fn reflect(&self, a: MatMut<'_, T>) {
        let rows = a.nrows() - self.start;
        reflect(a.subrows_mut(self.start, rows), self.vectors.as_ref(), self.triangle.as_ref());
    }
}

/// Reflects the columns of a panel one by one.
fn factor<T: Field>(mut panel: MatMut<'_, T>, factors: &mut [T]) {
    let mut products = Mat::<T>::zeros(1, factors.len());
    for (j, tau) in factors.iter_mut().enumerate() {
        let rows = panel.nrows() - j;
        let (mut done, rest) = panel.rb_mut().subrows_mut(j, rows).split_at_col_mut(j + 1);
        let column = done.rb_mut().col_mut(j).try_as_col_major_mut().expect("column-major").as_slice_mut();
        *tau = reflector(column);
        let beta = std::mem::replace(&mut column[0], one());
        if rows <= SHORT {
            reflect_each(column, tau.conjugate(), rest);
        } else {
            let vector = done.rb().subcols(j, 1);
            let mut products = products.as_mut().subcols_mut(0, rest.ncols());
            adjoint_product(products.rb_mut(), vector, rest.rb(), tau.conjugate());
            matmul(rest, Accum::Add, vector, products.rb(), -one::<T>(), Par::Seq);
        }
        done[(0, j)] = beta;
    }
}

/// Multiplies the columns of a matrix by `1 - factor v v^H`, one by one.
fn reflect_each<T: Field>(vector: &[T], factor: T, mut of: MatMut<'_, T>) {
    const LANES: usize = 8;
    vectorized(
        #[inline(always)]
        || {
            for column in of.rb_mut().col_iter_mut() {
                let column = column.try_as_col_major_mut().expect("column-major").as_slice_mut();
                let ((v, v_rest), (x, x_rest)) = (vector.as_chunks::<LANES>(), column.as_chunks::<LANES>());
                let mut sums = [zero::<T>(); LANES];
                for (v, x) in v.iter().zip(x) {
                    (0..LANES).for_each(|i| sums[i] += v[i].conjugate() * x[i]);
                }
                let rest = v_rest.iter().zip(x_rest).fold(zero(), |sum: T, (v, &x)| sum + v.conjugate() * x);
                let product = sums.into_iter().fold(rest, |sum, x| sum + x) * factor;
                column.iter_mut().zip(vector).for_each(|(x, &v)| *x -= v * product);
            }
        },
    );
}

/// Overwrites a vector `x` by the real `beta` with `h^H x = beta e_1` and by `v` without its first element, which is 1;
/// returns `tau` (LAPACK's `larfg`). A vector that is 0 but for a real first element is left, with `tau` 0.
fn reflector<T: Field>(x: &mut [T]) -> T {
    let is_zero = |x: &T| *x == zero();
    if x[1..].iter().all(is_zero) && x[0] == T::of_real(x[0].real_part()) {
        return zero();
    }
    let scaled = Scaled::of(x);
    let alpha = scaled.elements[0];
    let size = ColRef::from_slice(&scaled.elements).norm_l2();
    let part = alpha.real_part();
    let is_negative = part < zero() || (part == zero() && recip(&part) < zero());
    let beta = if is_negative { T::of_real(size) } else { -T::of_real(size) };
    let tau = (beta - alpha) * recip(&beta);
    let factor = recip(&(alpha - beta));
    let beta = scaled.restored(beta);
    if let Cow::Owned(elements) = scaled.elements {
        x.copy_from_slice(&elements);
    }
    x.iter_mut().for_each(|x| *x *= factor);
    x[0] = beta;
    tau
}

/// The vectors of a panel as columns, with their ones and zeros.
fn unit_lower<T: Field>(panel: MatRef<'_, T>) -> Mat<T> {
    let mut made = panel.to_owned();
    for j in 0..made.ncols() {
        (0..j).for_each(|i| made[(i, j)] = zero());
        made[(j, j)] = one();
    }
    made
}

/// The upper triangular `t` with `h_1 ... h_k = 1 - v t v^H` (LAPACK's `larft`).
fn triangle<T: Field>(vectors: MatRef<'_, T>, factors: &[T]) -> Mat<T> {
    let count = factors.len();
    let mut products = Mat::<T>::zeros(count, count);
    adjoint_product(products.as_mut(), vectors, vectors, one());
    let mut made = Mat::<T>::zeros(count, count);
    vectorized(
        #[inline(always)]
        || {
            for (j, &tau) in factors.iter().enumerate() {
                let (known, mut rest) = made.as_mut().split_at_col_mut(j);
                let column = rest.rb_mut().col_mut(0).try_as_col_major_mut().expect("column-major").as_slice_mut();
                for (l, from) in known.rb().col_iter().enumerate() {
                    let from = from.try_as_col_major().expect("column-major").as_slice();
                    let product = products[(l, j)];
                    column[..=l].iter_mut().zip(from).for_each(|(x, &known)| *x -= known * product);
                }
                column[..j].iter_mut().for_each(|x| *x *= tau);
                column[j] = tau;
            }
        },
    );
    made
}

/// Multiplies `1 - v t v^H` with a matrix.
fn reflect<T: Field>(mut a: MatMut<'_, T>, vectors: MatRef<'_, T>, triangle: MatRef<'_, T>) {
    let (count, columns) = (vectors.ncols(), a.ncols());
    if columns == 0 {
        return;
    }
    let mut inner = Mat::<T>::zeros(count, columns);
    let mut turned = Mat::<T>::zeros(count, columns);
    adjoint_product(inner.as_mut(), vectors, a.rb(), one());
    matmul(turned.as_mut(), Accum::Replace, triangle, inner.as_ref(), one::<T>(), Par::Seq);
    matmul(a.rb_mut(), Accum::Add, vectors, turned.as_ref(), from_f64::<T>(-1.0), Par::Seq);
}

/// Writes `factor * a^H b`, which is summed over parts of the rows: in one sum of equal terms, all roundings are in the
/// same direction.
fn adjoint_product<T: Field>(mut to: MatMut<'_, T>, a: MatRef<'_, T>, b: MatRef<'_, T>, factor: T) {
    let part = a.nrows().div_ceil(64).max(64);
    to.fill(zero());
    for start in (0..a.nrows()).step_by(part) {
        let rows = part.min(a.nrows() - start);
        let (a, b) = (a.subrows(start, rows), b.subrows(start, rows));
        matmul(to.rb_mut(), Accum::Add, a.adjoint(), b, factor, Par::Seq);
    }
}
