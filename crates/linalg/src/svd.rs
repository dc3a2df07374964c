//! Singular values and vectors.

use crate::bidiagonal::{Parts, by_iteration};
use crate::faer_field::Field;
use crate::probe::{distance, nearest};
use crate::reflectors::Factored;
use crate::{
    FEW, LEAST_DIVIDED, Scaled, all_finite, dust, is_finite, put, put_identity, scale_to_norm_one, taken, without_dust,
};
use faer::diag::Diag;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::matmul::matmul;
use faer::linalg::svd::{ComputeSvdVectors, SvdParams, svd as decompose, svd_scratch};
use faer::traits::math_utils::{from_f64, infinity, one, recip, zero};
use faer::{Accum, Auto, Mat, MatMut, MatRef, Par, Spec};

pub fn svd<T: Field>(
    a: &[T],
    rows: usize,
    columns: usize,
    full: bool,
    s: &mut [T::Real],
    vectors: Option<[&mut [T]; 2]>,
) {
    if rows.min(columns) == 0 {
        return vectors.into_iter().flatten().zip([rows, columns]).for_each(|(to, n)| put_identity(to, n));
    }
    let scaled = Scaled::with_largest_near_one(a);
    let a = taken(&scaled.elements, rows, columns);
    let which = match (&vectors, full) {
        (None, _) => ComputeSvdVectors::No,
        (Some(_), true) => ComputeSvdVectors::Full,
        (Some(_), false) => ComputeSvdVectors::Thin,
    };
    let of_size = |least: T::Real| {
        if least == zero() {
            return decomposed(&a, which);
        }
        decomposed(&Mat::from_fn(rows, columns, |i, j| without_dust(a[(i, j)], least)), which)
    };
    let parts = if all_finite(&scaled.elements) { dust::<T>().into_iter().find_map(of_size) } else { None };
    let Some(parts) = parts else {
        s.fill(T::NAN.real_part());
        return vectors.into_iter().flatten().for_each(|all| all.fill(T::NAN));
    };
    let values = parts.values.column_vector();
    s.iter_mut().zip(values.iter()).for_each(|(s, value)| *s = scaled.restored(*value).real_part());
    if let Some([to_u, to_vh]) = vectors {
        put(parts.u.as_ref(), to_u);
        for (i, row) in to_vh.chunks_exact_mut(columns.max(1)).enumerate() {
            row.iter_mut().zip(parts.v.col(i).iter()).for_each(|(to, x)| *to = x.conjugate());
        }
    }
}

/// None if an iteration does not converge. faer's divide and conquer is wrong by up to a thousandth for matrices of about
/// half of their full rank, so its results are checked, and singular values alone, which cannot be checked, are found by
/// the QR iteration.
fn decomposed<T: Field>(a: &Mat<T>, which: ComputeSvdVectors) -> Option<Parts<T>> {
    let (rows, columns) = (a.nrows(), a.ncols());
    if columns > rows {
        let Parts { u, values, v } = decomposed(&a.adjoint().to_owned(), which)?;
        return Some(Parts { u: v, values, v: u });
    }
    if columns >= LONG_OF_COLUMNS && rows * 6 > columns * 11 {
        return of_long(a, which);
    }
    if which == ComputeSvdVectors::No || columns < FEW {
        return by_iteration(a, which);
    }
    let apart = |of: &Parts<T>| {
        let values = of.values.column_vector().iter().map(|x| x.real_part());
        // Divide and conquer leaves values of 0 among larger ones.
        if !values.is_sorted_by(|x, y| x >= y) {
            return infinity();
        }
        distance(a.as_ref(), of.u.as_ref(), of.values.as_ref(), Some(of.v.as_ref()))
    };
    nearest(by_division(a, which), || by_iteration(a, which), apart)
}

/// Least number of columns for which a matrix of many rows is factored first.
const LONG_OF_COLUMNS: usize = 48;

/// Decomposes the triangular factor of a matrix of many rows.
fn of_long<T: Field>(a: &Mat<T>, which: ComputeSvdVectors) -> Option<Parts<T>> {
    let (rows, columns) = (a.nrows(), a.ncols());
    let factored = Factored::of(a.clone(), &mut vec![zero(); columns]);
    let packed = &factored.packed;
    let r = Mat::from_fn(columns, columns, |i, j| if i <= j { packed[(i, j)] } else { zero() });
    let Parts { u, values, v } = decomposed(&r, which)?;
    let of_u = match which {
        ComputeSvdVectors::No => return Some(Parts { u, values, v }),
        ComputeSvdVectors::Thin => columns,
        ComputeSvdVectors::Full => rows,
    };
    let mut whole = Mat::identity(rows, of_u);
    whole.as_mut().submatrix_mut(0, 0, columns, columns).copy_from(&u);
    let mut u = factored.times(whole);
    scale_to_norm_one(&mut u);
    Some(Parts { u, values, v })
}

/// Decomposes a matrix by faer's divide and conquer; None if it fails, or results are not finite.
fn by_division<T: Field>(a: &Mat<T>, which: ComputeSvdVectors) -> Option<Parts<T>> {
    let (rows, columns) = (a.nrows(), a.ncols());
    let least = rows.min(columns);
    let (of_u, of_v) = match which {
        ComputeSvdVectors::No => (0, 0),
        ComputeSvdVectors::Thin => (least, least),
        ComputeSvdVectors::Full => (rows, columns),
    };
    // The decomposition does not write all parts of the identities.
    let (u, v) = (Mat::identity(rows, of_u), Mat::identity(columns, of_v));
    let mut made = Parts { u, values: Diag::zeros(least), v };
    let parameters: SvdParams = Auto::<T>::auto();
    // Keeps faer from its own QR (see `Factored`).
    let qr_ratio_threshold = f64::INFINITY;
    let parameters = Spec::new(SvdParams { recursion_threshold: LEAST_DIVIDED, qr_ratio_threshold, ..parameters });
    let mut memory = MemBuffer::new(svd_scratch::<T>(rows, columns, which, which, Par::Seq, parameters));
    let with_vectors = which != ComputeSvdVectors::No;
    let (to_u, to_v) = (with_vectors.then(|| made.u.as_mut()), with_vectors.then(|| made.v.as_mut()));
    let stack = MemStack::new(&mut memory);
    decompose(a.as_ref(), made.values.as_mut(), to_u, to_v, Par::Seq, stack, parameters).ok()?;
    let all_finite = made.values.column_vector().iter().all(|x| x.is_finite())
        && is_finite(made.u.as_ref())
        && is_finite(made.v.as_ref());
    scale_to_norm_one(&mut made.u);
    scale_to_norm_one(&mut made.v);
    all_finite.then_some(made)
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
