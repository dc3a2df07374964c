//! QR by Householder reflections in LAPACK's form (`geqrf`): `q = h_1 h_2 ... h_k` with `h_i = 1 - tau_i v_i v_i^H`.

use crate::faer_field::Field;
use crate::{Scaled, all_finite, put, taken};
use faer::linalg::matmul::matmul;
use faer::prelude::*;
use faer::traits::math_utils::{abs2, from_f64, one, recip, sqrt, zero};
use faer::{Accum, Mat, MatMut, MatRef, Par};

/// Columns that are reflected one by one; their product is applied to the others.
const PANEL: usize = 32;

pub fn reflectors<T: Field>(a: &[T], rows: usize, columns: usize, packed: &mut [T], factors: &mut [T], q: &mut [T]) {
    if !all_finite(a) {
        return [packed, factors, q].into_iter().for_each(|out| out.fill(T::NAN));
    }
    let least = rows.min(columns);
    let scaled = Scaled::of(a);
    let mut left = taken(&scaled.elements, rows, columns);
    let mut blocks = Vec::new();
    for start in (0..least).step_by(PANEL) {
        let end = least.min(start + PANEL);
        let part = left.as_mut().submatrix_mut(start, start, rows - start, columns - start);
        let (mut panel, rest) = part.split_at_col_mut(end - start);
        factor(panel.rb_mut(), &mut factors[start..end]);
        let vectors = unit_lower(panel.rb());
        let triangle = triangle(vectors.as_ref(), &factors[start..end]);
        // Reflections of this panel in the order in which they were applied: the adjoint of their product.
        reflect(rest, vectors.as_ref(), triangle.adjoint().to_owned().as_ref());
        blocks.push((start, vectors, triangle));
    }
    let mut basis = Mat::<T>::identity(rows, least);
    for (start, vectors, triangle) in blocks.iter().rev() {
        let part = basis.as_mut().submatrix_mut(*start, *start, rows - start, least - start);
        reflect(part, vectors.as_ref(), triangle.as_ref());
    }
    put(basis.as_ref(), q);
    put(left.as_ref(), packed);
    for i in 0..least {
        packed[i * columns..][i..columns].iter_mut().for_each(|x| *x = scaled.restored(*x));
    }
}

/// Reflects the columns of a panel one by one.
fn factor<T: Field>(mut panel: MatMut<'_, T>, factors: &mut [T]) {
    for (j, tau) in factors.iter_mut().enumerate() {
        let (mut done, mut rest) = panel.rb_mut().split_at_col_mut(j + 1);
        let column = done.rb_mut().col_mut(j).try_as_col_major_mut().expect("column-major").as_slice_mut();
        *tau = reflector(&mut column[j..]);
        let (conjugate, tail) = (tau.conjugate(), &column[j + 1..]);
        for c in 0..rest.ncols() {
            let other = rest.rb_mut().col_mut(c).try_as_col_major_mut().expect("column-major").as_slice_mut();
            let (head, below) = other[j..].split_first_mut().expect("a panel has as many rows as columns");
            let product = below.iter().zip(tail).fold(*head, |sum, (&x, v)| sum + v.conjugate() * x) * conjugate;
            *head -= product;
            below.iter_mut().zip(tail).for_each(|(x, &v)| *x -= v * product);
        }
    }
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
    let size = sqrt(&scaled.elements.iter().fold(zero(), |sum: T::Real, x| sum + abs2(x)));
    let part = alpha.real_part();
    let is_negative = part < zero() || (part == zero() && recip(&part) < zero());
    let beta = if is_negative { T::of_real(size) } else { -T::of_real(size) };
    let tau = (beta - alpha) * recip(&beta);
    let factor = recip(&(alpha - beta));
    let mut made: Vec<T> = scaled.elements.iter().map(|&x| x * factor).collect();
    made[0] = scaled.restored(beta);
    x.copy_from_slice(&made);
    tau
}

/// The vectors of a panel as columns, with their ones and zeros.
fn unit_lower<T: Field>(panel: MatRef<'_, T>) -> Mat<T> {
    Mat::from_fn(panel.nrows(), panel.ncols(), |i, j| match i.cmp(&j) {
        std::cmp::Ordering::Less => zero(),
        std::cmp::Ordering::Equal => one(),
        std::cmp::Ordering::Greater => panel[(i, j)],
    })
}

/// The upper triangular `t` with `h_1 ... h_k = 1 - v t v^H` (LAPACK's `larft`).
fn triangle<T: Field>(vectors: MatRef<'_, T>, factors: &[T]) -> Mat<T> {
    let count = factors.len();
    let mut products = Mat::<T>::zeros(count, count);
    matmul(products.as_mut(), Accum::Replace, vectors.adjoint(), vectors, one::<T>(), Par::Seq);
    let mut made = Mat::<T>::zeros(count, count);
    for (j, &tau) in factors.iter().enumerate() {
        for i in 0..j {
            made[(i, j)] = (i..j).fold(zero(), |sum: T, l| sum - made[(i, l)] * products[(l, j)]) * tau;
        }
        made[(j, j)] = tau;
    }
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
    matmul(inner.as_mut(), Accum::Replace, vectors.adjoint(), a.rb(), one::<T>(), Par::Seq);
    matmul(turned.as_mut(), Accum::Replace, triangle, inner.as_ref(), one::<T>(), Par::Seq);
    matmul(a.rb_mut(), Accum::Add, vectors, turned.as_ref(), from_f64::<T>(-1.0), Par::Seq);
}
