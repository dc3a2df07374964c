//! Singular values and vectors.

use crate::bidiagonal::iterate;
use crate::bidiagonal_division::divide;
use crate::faer_field::Field;
use crate::iteration::{Band, Columns, ordered};
use crate::parallel::apply_reflections;
use crate::probe::{distance, nearest};
use crate::reflectors::Factored;
use crate::{
    LEAST_FOR_DIVISION, Scaled, all_finite, dust, is_finite, phase_or_one, put, put_identity, scale_to_norm_one, taken,
    without_dust,
};
use faer::diag::Diag;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::matmul::matmul;
use faer::linalg::qr::no_pivoting::factor::recommended_block_size;
use faer::linalg::svd::ComputeSvdVectors;
use faer::linalg::svd::bidiag::{bidiag_in_place, bidiag_in_place_scratch};
use faer::traits::math_utils::{abs, eps, from_f64, one, recip, zero};
use faer::{Accum, Conj, Mat, MatMut, MatRef, Par};

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

/// Parts of a singular value decomposition, which are finite. Without vectors, `u` and `v` are empty.
struct Parts<T: Field> {
    u: Mat<T>,
    values: Diag<T>,
    v: Mat<T>,
}

/// Decomposes a matrix of any size; None if an iteration does not converge. Results of divide and conquer are checked;
/// singular values alone, which cannot be checked, are found by the QR iteration.
fn decomposed<T: Field>(a: &Mat<T>, which: ComputeSvdVectors) -> Option<Parts<T>> {
    let (rows, columns) = (a.nrows(), a.ncols());
    if columns > rows {
        let Parts { u, values, v } = decomposed(&a.adjoint().to_owned(), which)?;
        return Some(Parts { u: v, values, v: u });
    }
    if columns >= LONG_OF_COLUMNS && rows * 6 > columns * 11 {
        return of_long(a, which);
    }
    if which == ComputeSvdVectors::No {
        return by_bidiagonal(a, which, values_alone::<T>);
    }
    let by_iteration = || by_bidiagonal(a, which, iterated::<T>);
    if columns < LEAST_FOR_DIVISION {
        return by_iteration();
    }
    let apart = |of: &Parts<T>| distance(a.as_ref(), of.u.as_ref(), of.values.as_ref(), Some(of.v.as_ref()));
    nearest(by_bidiagonal(a, which, divided::<T>), by_iteration, apart)
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

/// Computes the descending singular values and the singular vectors of a matrix with at least as many rows as columns
/// by reduction to bidiagonal form (Golub and Van Loan, Matrix Computations, 4th edition, algorithm 8.6.1).
/// `vectors_of` overwrites the diagonal of the bidiagonal matrix with its singular values, in any order, and returns
/// its left and right singular vectors, or None if it fails. Returns None then, or if a vector is not finite.
fn by_bidiagonal<T: Field>(
    a: &Mat<T>,
    which: ComputeSvdVectors,
    vectors_of: impl Fn(&mut Band) -> Option<[Mat<T::Real>; 2]>,
) -> Option<Parts<T>> {
    let (rows, columns) = (a.nrows(), a.ncols());
    let block = recommended_block_size::<T>(rows, columns);
    let mut reduced = a.clone();
    let (mut left, mut right) = (Mat::<T>::zeros(block, columns), Mat::<T>::zeros(block, columns - 1));
    let memory = bidiag_in_place_scratch::<T>(rows, columns, Par::Seq, Default::default());
    let mut memory = MemBuffer::new(memory);
    let stack = MemStack::new(&mut memory);
    bidiag_in_place(reduced.as_mut(), left.as_mut(), right.as_mut(), Par::Seq, stack, Default::default());

    let phases = Phases::of(&reduced);
    let above = (1..columns).map(|i| abs(&reduced[(i - 1, i)]));
    let mut band = Band::of::<T>((0..columns).map(|i| abs(&reduced[(i, i)])), above)?;
    let [of_left, of_right] = vectors_of(&mut band)?;
    let order = ordered(&band.diagonal, |x, y| y.total_cmp(x));
    let mut values = Diag::<T>::zeros(columns);
    for (to, &from) in order.iter().enumerate() {
        values[to] = T::of_real(from_f64(band.diagonal[from] * band.largest));
    }
    if which == ComputeSvdVectors::No {
        return Some(Parts { u: Mat::zeros(rows, 0), values, v: Mat::zeros(columns, 0) });
    }
    let mut u = Mat::identity(rows, if which == ComputeSvdVectors::Full { rows } else { columns });
    let mut v = Mat::zeros(columns, columns);
    for (to, &from) in order.iter().enumerate() {
        for i in 0..columns {
            u[(i, to)] = phases.left[i] * T::of_real(of_left[(i, from)]);
            v[(i, to)] = phases.right[i] * T::of_real(of_right[(i, from)]);
        }
    }
    apply_reflections(reduced.as_ref(), left.as_ref(), Conj::No, u.as_mut());
    if columns > 1 {
        // The reflections of the right side are rows of the reduced matrix.
        let reflections = reduced.as_ref().submatrix(0, 1, columns - 1, columns - 1).transpose();
        let of_v = v.as_mut().subrows_mut(1, columns - 1);
        apply_reflections(reflections.to_owned().as_ref(), right.as_ref(), Conj::Yes, of_v);
    }
    scale_to_norm_one(&mut u);
    scale_to_norm_one(&mut v);
    (is_finite(u.as_ref()) && is_finite(v.as_ref())).then_some(Parts { u, values, v })
}

/// Values without vectors, for `by_bidiagonal`.
fn values_alone<T: Field>(band: &mut Band) -> Option<[Mat<T::Real>; 2]> {
    iterate::<T::Real>(band, T::to_f64(eps()), &mut None).then(|| [Mat::zeros(0, 0), Mat::zeros(0, 0)])
}

/// Vectors and values by the implicit QR iteration, for `by_bidiagonal`.
fn iterated<T: Field>(band: &mut Band) -> Option<[Mat<T::Real>; 2]> {
    let n = band.diagonal.len();
    let mut vectors = Some([Columns::identity(n), Columns::identity(n)]);
    let done = iterate(band, T::to_f64(eps()), &mut vectors);
    vectors.filter(|_| done).map(|both| both.map(|of| of.to_mat()))
}

/// Vectors and values by divide and conquer, for `by_bidiagonal`.
fn divided<T: Field>(band: &mut Band) -> Option<[Mat<T::Real>; 2]> {
    let n = band.diagonal.len();
    let (mut u, mut v) = (Mat::zeros(n, n), Mat::zeros(n, n));
    divide::<T>(&mut band.diagonal, &band.beside, u.as_mut(), v.as_mut()).map(|()| [u, v])
}

/// Diagonal unitary matrices with `b = left * |b| * right^H` for a bidiagonal `b`.
struct Phases<T> {
    left: Vec<T>,
    right: Vec<T>,
}

impl<T: Field> Phases<T> {
    fn of(b: &Mat<T>) -> Phases<T> {
        let n = b.ncols();
        let (mut left, mut right) = (Vec::with_capacity(n), vec![one::<T>()]);
        for i in 0..n {
            left.push(phase_or_one(b[(i, i)] * right[i]));
            if i + 1 < n {
                right.push(phase_or_one(b[(i, i + 1)].conjugate() * left[i]));
            }
        }
        Phases { left, right }
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
