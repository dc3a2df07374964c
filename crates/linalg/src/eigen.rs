//! Eigenvalues and eigenvectors of general matrices.

use crate::balance::balance;
use crate::faer_field::Field;
use crate::quasi_triangular::QuasiTriangular;
use crate::schur::{Schur, schur};
use crate::triangular::{eigenvectors, is_upper};
use crate::{Scaled, all_finite, dust, put, taken, without_dust};
use faer::diag::Diag;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::{ComputeEigenvectors, evd_cplx, evd_real, evd_scratch};
use faer::linalg::matmul::matmul;
use faer::traits::RealField;
use faer::traits::math_utils::{abs, abs2, eps, from_f64, max, one, recip, sqrt, zero};
use faer::{Accum, Mat, Par, Scale};
use num_complex::Complex;

/// Eigenvalues, and eigenvectors of any length as columns.
struct Pairs<C: Field> {
    values: Vec<C>,
    vectors: Mat<C>,
    /// The matrix times the vectors.
    products: Mat<C>,
}

impl<C: Field> Pairs<C> {
    /// Replaces the products by those of `a`, so that `residual` checks the pairs against `a`.
    fn with_products_of<T: Field<Real = C::Real>>(mut self, a: &Mat<T>) -> Pairs<C> {
        let wide = Mat::from_fn(a.nrows(), a.ncols(), |i, j| wide::<T, C>(a[(i, j)]));
        matmul(self.products.as_mut(), Accum::Replace, wide.as_ref(), self.vectors.as_ref(), one::<C>(), Par::Seq);
        self
    }

    /// The number of vectors that are not finite, and the largest norm of `a v - w v` of the others, in rounding errors
    /// of the norm of `a` times that of `v`.
    fn residual(&self, norm: C::Real) -> (usize, C::Real) {
        let (mut not_finite, mut most) = (0, zero::<C::Real>());
        for (j, &value) in self.values.iter().enumerate() {
            let (vector, product) = (self.vectors.col(j), self.products.col(j));
            let length = vector.norm_l2();
            let apart = (product - vector * Scale(value)).norm_l2() * recip(&length) * recip(&eps::<C::Real>());
            // Of zeros, the products are 0.
            let apart = if norm == zero() { apart } else { apart * recip(&norm) };
            if C::of_real(apart).is_finite() && length > zero() { most = max(&most, &apart) } else { not_finite += 1 }
        }
        (not_finite, most)
    }
}

/// Residuals up to this many rounding errors are those of a stable algorithm.
const SMALL: f64 = 64.0;

pub fn eig_of_real<T>(a: &[T], n: usize, w: &mut [Complex<T>], v: &mut [Complex<T>])
where
    T: Field<Real = T> + RealField,
    Complex<T>: Field<Real = T>,
{
    eig(a, n, w, v, |a| {
        let norm = a.norm_l2();
        let made = pairs_of_real(a).map(|made| (made.residual(norm), made));
        let made = match made {
            Some((residual, made)) if residual <= (0, from_f64::<T>(SMALL)) => return Some(made),
            made => made,
        };
        // The iteration does not converge or, above `MOST_FOR_SCHUR` rows: faer solves with the 2 x 2 blocks of the
        // real Schur form by their inverses, which is inaccurate if they are badly scaled.
        let wide = Mat::from_fn(a.nrows(), a.nrows(), |i, j| Complex::of_real(a[(i, j)]));
        let other = pairs_of_complex(&wide).map(|other| paired(&wide, other));
        let other = other.map(|other| (other.residual(norm), other));
        match (made, other) {
            (Some(made), Some(other)) => Some(if other.0 < made.0 { other.1 } else { made.1 }),
            (made, other) => made.or(other).map(|(_, pairs)| pairs),
        }
    });
}

pub fn eig_of_complex<T>(a: &[Complex<T>], n: usize, w: &mut [Complex<T>], v: &mut [Complex<T>])
where
    T: Field<Real = T> + RealField,
    Complex<T>: Field<Real = T>,
{
    eig(a, n, w, v, pairs_of_complex);
}

/// Writes the eigenvalues and eigenvectors that `pairs` finds of the balanced matrix. An iteration that does not
/// converge is found by its residual.
fn eig<T, C>(a: &[T], n: usize, w: &mut [C], v: &mut [C], pairs: impl Fn(&Mat<T>) -> Option<Pairs<C>>)
where
    T: Field,
    C: Field<Real = T::Real>,
{
    if n == 0 {
        return;
    }
    let scaled = Scaled::of(a);
    let mut a = taken(&scaled.elements, n, n);
    let made = all_finite(&scaled.elements).then(|| {
        let balance = balance(&mut a);
        let norm = a.norm_l2();
        let is_near = |made: &Pairs<C>| {
            let (not_finite, most) = made.residual(norm);
            not_finite == 0 && most < recip(&sqrt(&eps::<T::Real>()))
        };
        // Balancing may have made all elements smaller.
        let largest = a.norm_max();
        let made = dust::<T>().into_iter().find_map(|least| {
            let clean = beside_diagonal(&a, least * largest);
            let made = if is_upper(&clean) { pairs_of_triangular(&clean) } else { pairs(&clean)? };
            Some(if least > zero() { made.with_products_of(&a) } else { made }).filter(is_near)
        });
        (balance, made)
    });
    let Some((balance, Some(mut made))) = made else {
        w.fill(C::NAN);
        return v.fill(C::NAN);
    };
    for (i, w) in w.iter_mut().enumerate() {
        *w = (0..scaled.times).fold(made.values[i], |value, _| value * C::of_real(scaled.back));
        let column = made.vectors.as_mut().col_mut(i).try_as_col_major_mut().expect("column-major").as_slice_mut();
        balance.restore(column);
        normalize(column, !T::IS_REAL);
    }
    put(made.vectors.as_ref(), v);
}

/// A matrix in which the elements beside the diagonal are without parts smaller than `least`.
fn beside_diagonal<T: Field>(a: &Mat<T>, least: T::Real) -> Mat<T> {
    Mat::from_fn(a.nrows(), a.ncols(), |i, j| if i == j { a[(i, j)] } else { without_dust(a[(i, j)], least) })
}

fn wide<T: Field, C: Field<Real = T::Real>>(x: T) -> C {
    C::of_parts(x.real_part(), x.imaginary_part())
}

fn pairs_of_triangular<T: Field, C: Field<Real = T::Real>>(a: &Mat<T>) -> Pairs<C> {
    let n = a.nrows();
    let vectors = eigenvectors(a);
    let vectors = Mat::from_fn(n, n, |i, j| wide(vectors[(i, j)]));
    let values: Vec<C> = (0..n).map(|i| wide(a[(i, i)])).collect();
    // Back substitution leaves no residual to check.
    let products = Mat::from_fn(n, n, |i, j| vectors[(i, j)] * values[j]);
    Pairs { values, vectors, products }
}

/// Largest number of rows for which the real Schur form is found by `schur`; above it, faer's blocked iteration is
/// faster.
const MOST_FOR_SCHUR: usize = 128;

/// None if the iteration does not converge.
fn pairs_of_real<T>(a: &Mat<T>) -> Option<Pairs<Complex<T>>>
where
    T: Field<Real = T> + RealField,
    Complex<T>: Field<Real = T>,
{
    let n = a.nrows();
    let (values, vectors) = if n <= MOST_FOR_SCHUR { by_schur(a)? } else { by_faer(a)? };
    let mut products = Mat::<T>::zeros(n, n);
    matmul(products.as_mut(), Accum::Replace, a.as_ref(), vectors.as_ref(), one(), Par::Seq);
    let [vectors, products] = [vectors, products].map(|packed| unpacked(&packed, &values));
    Some(Pairs { values, vectors, products })
}

/// Eigenvalues and packed eigenvectors (see `unpacked`) by `schur`. None if it does not converge.
fn by_schur<T>(a: &Mat<T>) -> Option<(Vec<Complex<T>>, Mat<T>)>
where
    T: Field<Real = T> + RealField,
{
    let n = a.nrows();
    let Schur { t, z } = schur(a)?;
    let (values, of_t) = QuasiTriangular::of(&t).eigenvectors::<T>();
    let mut vectors = Mat::<T>::zeros(n, n);
    matmul(vectors.as_mut(), Accum::Replace, z.as_ref(), of_t.as_ref(), one(), Par::Seq);
    Some((values, vectors))
}

/// Eigenvalues and packed eigenvectors (see `unpacked`) by faer. None if its iteration does not converge.
fn by_faer<T>(a: &Mat<T>) -> Option<(Vec<Complex<T>>, Mat<T>)>
where
    T: Field<Real = T> + RealField,
{
    let n = a.nrows();
    let [mut real, mut imaginary] = [Diag::<T>::zeros(n), Diag::<T>::zeros(n)];
    let mut vectors = Mat::<T>::zeros(n, n);
    let (no, yes) = (ComputeEigenvectors::No, ComputeEigenvectors::Yes);
    let mut memory = MemBuffer::new(evd_scratch::<T>(n, no, yes, Par::Seq, Default::default()));
    let (stack, to) = (MemStack::new(&mut memory), Some(vectors.as_mut()));
    evd_real(a.as_ref(), real.as_mut(), imaginary.as_mut(), None, to, Par::Seq, stack, Default::default()).ok()?;
    Some(((0..n).map(|i| Complex::new(real[i], imaginary[i])).collect(), vectors))
}

/// Vectors of eigenvalues. Complex ones are pairs of conjugates, the parts of the first one's vector in two columns.
fn unpacked<T>(packed: &Mat<T>, values: &[Complex<T>]) -> Mat<Complex<T>>
where
    T: Field<Real = T> + RealField,
    Complex<T>: Field<Real = T>,
{
    let n = values.len();
    let mut made = Mat::<Complex<T>>::zeros(n, n);
    let mut i = 0;
    while i < n {
        let pair = values[i].im != zero() && i + 1 < n;
        for j in 0..n {
            made[(j, i)] = Complex::new(packed[(j, i)], if pair { packed[(j, i + 1)] } else { zero() });
            if pair {
                made[(j, i + 1)] = made[(j, i)].conjugate();
            }
        }
        i += 1 + usize::from(pair);
    }
    made
}

/// Makes exact conjugates, and real numbers, of eigenvalues of a real matrix that are that but for rounding.
fn paired<T>(a: &Mat<Complex<T>>, of: Pairs<Complex<T>>) -> Pairs<Complex<T>>
where
    T: Field<Real = T> + RealField,
    Complex<T>: Field<Real = T>,
{
    let n = of.values.len();
    let (mut values, mut vectors) = (Vec::new(), Mat::<Complex<T>>::zeros(n, n));
    let mut left: Vec<usize> = (0..n).collect();
    while let Some(at) = left.pop() {
        let value = of.values[at];
        let apart = |other: &usize| abs(&(of.values[*other] - value.conjugate()));
        let mut partner = abs(&(value.im + value.im));
        let mut found = None;
        for (i, other) in left.iter().enumerate() {
            if apart(other) < partner {
                (partner, found) = (apart(other), Some(i));
            }
        }
        let mut vector: Vec<_> = (0..n).map(|i| of.vectors[(i, at)]).collect();
        let column = values.len();
        if let Some(i) = found {
            left.swap_remove(i);
            let is_upper = value.im > zero();
            for (i, x) in vector.into_iter().enumerate() {
                vectors[(i, column)] = if is_upper { x } else { x.conjugate() };
                vectors[(i, column + 1)] = vectors[(i, column)].conjugate();
            }
            let value = if is_upper { value } else { value.conjugate() };
            values.extend([value, value.conjugate()]);
        } else {
            normalize(&mut vector, true);
            vector.into_iter().enumerate().for_each(|(i, x)| vectors[(i, column)] = Complex::of_real(x.re));
            values.push(Complex::of_real(value.re));
        }
    }
    let mut products = Mat::<Complex<T>>::zeros(n, n);
    matmul(products.as_mut(), Accum::Replace, a.as_ref(), vectors.as_ref(), one(), Par::Seq);
    Pairs { values, vectors, products }
}

/// None if the iteration does not converge.
fn pairs_of_complex<T>(a: &Mat<Complex<T>>) -> Option<Pairs<Complex<T>>>
where
    T: Field<Real = T> + RealField,
    Complex<T>: Field<Real = T>,
{
    let n = a.nrows();
    let mut values = Diag::<Complex<T>>::zeros(n);
    let mut vectors = Mat::<Complex<T>>::zeros(n, n);
    let (no, yes) = (ComputeEigenvectors::No, ComputeEigenvectors::Yes);
    let mut memory = MemBuffer::new(evd_scratch::<Complex<T>>(n, no, yes, Par::Seq, Default::default()));
    let (stack, to) = (MemStack::new(&mut memory), Some(vectors.as_mut()));
    evd_cplx(a.as_ref(), values.as_mut(), None, to, Par::Seq, stack, Default::default()).ok()?;
    let mut products = Mat::<Complex<T>>::zeros(n, n);
    matmul(products.as_mut(), Accum::Replace, a.as_ref(), vectors.as_ref(), one(), Par::Seq);
    Some(Pairs { values: values.column_vector().iter().copied().collect(), vectors, products })
}

/// Scales a vector to norm 1, with a real largest element, which is positive if the vector or `positive` says so: as
/// LAPACK's geev, which leaves the sign of real vectors of real matrices as they are.
fn normalize<C: Field>(vector: &mut [C], positive: bool) {
    let largest = (1..vector.len()).fold(0, |most, i| if abs(&vector[i]) > abs(&vector[most]) { i } else { most });
    let most = vector[largest];
    if most == zero() {
        return;
    }
    let down = recip(&abs(&most));
    let is_real = vector.iter().all(|&x| x == C::of_real(x.real_part()));
    let turn = if is_real && !positive { one() } else { (most * C::of_real(down)).conjugate() };
    vector.iter_mut().for_each(|x| *x = *x * C::of_real(down) * turn);
    let norm = sqrt(&vector.iter().fold(zero::<C::Real>(), |sum, x| sum + abs2(x)));
    vector.iter_mut().for_each(|x| *x *= C::of_real(recip(&norm)));
    vector[largest] = C::of_real(vector[largest].real_part());
}
