//! Eigenvalues and eigenvectors.

use crate::faer_field::Field;
use crate::{Scaled, all_finite, put, taken};
use faer::diag::Diag;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::{
    ComputeEigenvectors, evd_cplx, evd_real, evd_scratch, self_adjoint_evd, self_adjoint_evd_scratch,
};
use faer::traits::RealField;
use faer::traits::math_utils::{abs, one, recip, zero};
use faer::{Mat, Par};
use num_complex::Complex;

pub fn eigh<T: Field>(a: &[T], n: usize, lower: bool, w: &mut [T::Real], v: &mut [T]) {
    if n == 0 {
        return;
    }
    let scaled = Scaled::of(a);
    let a = &*scaled.elements;
    let mut hermitian = Mat::<T>::zeros(n, n);
    for i in 0..n {
        for j in 0..i {
            let x = if lower { a[i * n + j] } else { a[j * n + i].conjugate() };
            hermitian[(i, j)] = x;
            hermitian[(j, i)] = x.conjugate();
        }
        hermitian[(i, i)] = T::of_real(a[i * n + i].real_part());
    }
    let finite = (0..n).all(|j| (0..n).all(|i| hermitian[(i, j)].is_finite()));
    let mut values = Diag::<T>::zeros(n);
    let mut vectors = Mat::<T>::zeros(n, n);
    let done = finite && {
        let with = ComputeEigenvectors::Yes;
        let mut memory = MemBuffer::new(self_adjoint_evd_scratch::<T>(n, with, Par::Seq, Default::default()));
        let (stack, to) = (MemStack::new(&mut memory), Some(vectors.as_mut()));
        self_adjoint_evd(hermitian.as_ref(), values.as_mut(), to, Par::Seq, stack, Default::default()).is_ok()
    };
    if !done {
        w.fill(T::NAN.real_part());
        return v.fill(T::NAN);
    }
    w.iter_mut().zip(values.column_vector().iter()).for_each(|(w, value)| *w = scaled.restored(*value).real_part());
    put(vectors.as_ref(), v);
}

pub fn eig_of_real<T>(a: &[T], n: usize, w: &mut [Complex<T>], v: &mut [Complex<T>])
where
    T: Field<Real = T> + RealField,
    Complex<T>: Field<Real = T>,
{
    if n == 0 {
        return;
    }
    let scaled = Scaled::of(a);
    let a = &*scaled.elements;
    let [mut real, mut imaginary] = [Diag::<T>::zeros(n), Diag::<T>::zeros(n)];
    let mut vectors = Mat::<T>::zeros(n, n);
    let done = all_finite(a) && {
        let (no, yes) = (ComputeEigenvectors::No, ComputeEigenvectors::Yes);
        let mut memory = MemBuffer::new(evd_scratch::<T>(n, no, yes, Par::Seq, Default::default()));
        let (stack, to) = (MemStack::new(&mut memory), Some(vectors.as_mut()));
        let a = taken(a, n, n);
        evd_real(a.as_ref(), real.as_mut(), imaginary.as_mut(), None, to, Par::Seq, stack, Default::default()).is_ok()
    };
    if !done {
        w.fill(Complex::<T>::NAN);
        return v.fill(Complex::<T>::NAN);
    }
    let mut made = Mat::<Complex<T>>::zeros(n, n);
    let mut i = 0;
    while i < n {
        let (re, im) = (real.column_vector()[i], imaginary.column_vector()[i]);
        w[i] = Complex::new(scaled.restored(re), scaled.restored(im));
        // Complex eigenvalues are pairs of conjugates, with the parts of the first one's vector in two columns.
        let pair = im != zero() && i + 1 < n;
        for j in 0..n {
            made[(j, i)] = Complex::new(vectors[(j, i)], if pair { vectors[(j, i + 1)] } else { zero() });
        }
        normalize(&mut made, i);
        if pair {
            w[i + 1] = w[i].conjugate();
            for j in 0..n {
                made[(j, i + 1)] = made[(j, i)].conjugate();
            }
        }
        i += 1 + usize::from(pair);
    }
    put(made.as_ref(), v);
}

pub fn eig_of_complex<T>(a: &[Complex<T>], n: usize, w: &mut [Complex<T>], v: &mut [Complex<T>])
where
    T: Field<Real = T> + RealField,
    Complex<T>: Field<Real = T>,
{
    if n == 0 {
        return;
    }
    let scaled = Scaled::of(a);
    let a = &*scaled.elements;
    let mut values = Diag::<Complex<T>>::zeros(n);
    let mut vectors = Mat::<Complex<T>>::zeros(n, n);
    let done = all_finite(a) && {
        let (no, yes) = (ComputeEigenvectors::No, ComputeEigenvectors::Yes);
        let mut memory = MemBuffer::new(evd_scratch::<Complex<T>>(n, no, yes, Par::Seq, Default::default()));
        let (stack, to) = (MemStack::new(&mut memory), Some(vectors.as_mut()));
        let a = taken(a, n, n);
        evd_cplx(a.as_ref(), values.as_mut(), None, to, Par::Seq, stack, Default::default()).is_ok()
    };
    if !done {
        w.fill(Complex::<T>::NAN);
        return v.fill(Complex::<T>::NAN);
    }
    w.iter_mut().zip(values.column_vector().iter()).for_each(|(w, value)| *w = scaled.restored(*value));
    (0..n).for_each(|i| normalize(&mut vectors, i));
    put(vectors.as_ref(), v);
}

/// Scales a column to norm 1, with a real largest element.
fn normalize<C: Field>(vectors: &mut Mat<C>, column: usize) {
    let rows = vectors.nrows();
    let size = |i: usize| abs(&vectors[(i, column)]);
    let largest = (1..rows).fold(0, |most, i| if size(i) > size(most) { i } else { most });
    let most = vectors[(largest, column)];
    if most == zero() {
        return;
    }
    let down = recip(&abs(&most));
    // A real column keeps its sign.
    let is_real = (0..rows).all(|i| vectors[(i, column)] == C::of_real(vectors[(i, column)].real_part()));
    let turn = if is_real { one() } else { (most * C::of_real(down)).conjugate() };
    for i in 0..rows {
        vectors[(i, column)] = vectors[(i, column)] * C::of_real(down) * turn;
    }
    let down = recip(&vectors.col(column).norm_l2());
    for i in 0..rows {
        vectors[(i, column)] *= C::of_real(down);
    }
    vectors[(largest, column)] = C::of_real(vectors[(largest, column)].real_part());
}
