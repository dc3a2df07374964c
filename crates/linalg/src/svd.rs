//! Singular values and vectors.

use crate::faer_field::Field;
use crate::{Scaled, all_finite, dust, is_finite, put, taken, without_dust};
use faer::diag::Diag;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::matmul::matmul;
use faer::linalg::svd::{ComputeSvdVectors, svd as decompose, svd_scratch};
use faer::traits::math_utils::{from_f64, one, recip, zero};
use faer::{Accum, Mat, MatMut, MatRef, Par};

pub fn svd<T: Field>(
    a: &[T],
    rows: usize,
    columns: usize,
    full: bool,
    s: &mut [T::Real],
    vectors: Option<[&mut [T]; 2]>,
) {
    let scaled = Scaled::of(a);
    let a = &*scaled.elements;
    let least = rows.min(columns);
    let (of_u, of_v) = if full { (rows, columns) } else { (least, least) };
    let which = match (&vectors, full) {
        (None, _) => ComputeSvdVectors::No,
        (Some(_), true) => ComputeSvdVectors::Full,
        (Some(_), false) => ComputeSvdVectors::Thin,
    };
    let mut u = Mat::<T>::identity(rows, of_u);
    let mut v = Mat::<T>::identity(columns, of_v);
    let mut values = Diag::<T>::zeros(least);
    let done = least == 0
        || all_finite(a)
            && dust::<T>().into_iter().any(|least| {
                let scratch = svd_scratch::<T>(rows, columns, which, which, Par::Seq, Default::default());
                let mut memory = MemBuffer::new(scratch);
                // Parts that the decomposition does not write stay identities; a try that failed has changed them.
                u = Mat::identity(rows, of_u);
                v = Mat::identity(columns, of_v);
                let (to_u, to_v) = match vectors {
                    Some(_) => (Some(u.as_mut()), Some(v.as_mut())),
                    None => (None, None),
                };
                let mut a = taken(a, rows, columns);
                if least > zero() {
                    a = Mat::from_fn(rows, columns, |i, j| without_dust(a[(i, j)], least));
                }
                let stack = MemStack::new(&mut memory);
                decompose(a.as_ref(), values.as_mut(), to_u, to_v, Par::Seq, stack, Default::default()).is_ok()
                    && values.column_vector().iter().all(|x| x.is_finite())
                    && is_finite(u.as_ref())
                    && is_finite(v.as_ref())
            });
    if !done {
        s.fill(T::NAN.real_part());
        return vectors.into_iter().flatten().for_each(|all| all.fill(T::NAN));
    }
    s.iter_mut().zip(values.column_vector().iter()).for_each(|(s, value)| *s = scaled.restored(*value).real_part());
    if let Some([to_u, to_vh]) = vectors {
        put(u.as_ref(), to_u);
        for (i, row) in to_vh.chunks_exact_mut(columns.max(1)).enumerate() {
            row.iter_mut().enumerate().for_each(|(j, to)| *to = v[(j, i)].conjugate());
        }
    }
}

pub fn pinv<T: Field>(a: &[T], rows: usize, columns: usize, tolerance: f64, inverse: &mut [T]) {
    let scaled = Scaled::of(a);
    let a = &*scaled.elements;
    let least = rows.min(columns);
    let mut values = vec![zero::<T::Real>(); least];
    let (mut u, mut vh) = (vec![zero::<T>(); rows * least], vec![zero::<T>(); least * columns]);
    svd(a, rows, columns, false, &mut values, Some([&mut u, &mut vh]));
    if least > 0 && !T::of_real(values[0]).is_finite() {
        return inverse.fill(T::NAN);
    }
    let limit = values.first().map_or(zero(), |&largest| largest * from_f64::<T::Real>(tolerance));
    for (row, &value) in vh.chunks_exact_mut(columns.max(1)).zip(&values) {
        let factor = if value > limit { T::of_real(recip(&value)) } else { zero() };
        row.iter_mut().for_each(|x| *x *= factor);
    }
    let (u, vh) = (MatRef::from_row_major_slice(&u, rows, least), MatRef::from_row_major_slice(&vh, least, columns));
    let to = MatMut::from_row_major_slice_mut(inverse, columns, rows);
    matmul(to, Accum::Replace, vh.adjoint(), u.adjoint(), one::<T>(), Par::Seq);
    inverse.iter_mut().for_each(|x| *x = scaled.restored_inverse(*x));
}
