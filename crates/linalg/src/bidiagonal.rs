//! Singular values and vectors by the reduction to a bidiagonal matrix and its implicit QR iteration: Golub and Van Loan,
//! Matrix Computations, 4th edition, algorithms 8.6.1 and 8.6.2.

use crate::faer_field::Field;
use crate::iteration::{Band, Columns, MOST_SWEEPS, Rotation, nearer, ordered};
use crate::{is_finite, phase_or_one, scale_to_norm_one};
use faer::diag::Diag;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::householder::{
    apply_block_householder_sequence_on_the_left_in_place_scratch as apply_scratch,
    apply_block_householder_sequence_on_the_left_in_place_with_conj as apply,
};
use faer::linalg::qr::no_pivoting::factor::recommended_block_size;
use faer::linalg::svd::ComputeSvdVectors;
use faer::linalg::svd::bidiag::{bidiag_in_place, bidiag_in_place_scratch};
use faer::traits::RealField;
use faer::traits::math_utils::{abs, eps, from_f64, one};
use faer::{Conj, Mat, Par};

/// Parts of a singular value decomposition, which are finite. Without vectors, `u` and `v` are empty.
pub struct Parts<T: Field> {
    pub u: Mat<T>,
    pub values: Diag<T>,
    pub v: Mat<T>,
}

/// Decomposes a matrix of at least as many rows as columns; None if the iteration does not converge, or results are not
/// finite.
pub fn by_iteration<T: Field>(a: &Mat<T>, which: ComputeSvdVectors) -> Option<Parts<T>> {
    let (rows, columns) = (a.nrows(), a.ncols());
    let block = recommended_block_size::<T>(rows, columns);
    let mut reduced = a.clone();
    let (mut left, mut right) = (Mat::<T>::zeros(block, columns), Mat::<T>::zeros(block, columns - 1));
    let memory = bidiag_in_place_scratch::<T>(rows, columns, Par::Seq, Default::default());
    let mut memory = MemBuffer::new(memory.or(apply_scratch::<T>(rows, block, rows)));
    let stack = MemStack::new(&mut memory);
    bidiag_in_place(reduced.as_mut(), left.as_mut(), right.as_mut(), Par::Seq, stack, Default::default());

    let phases = Phases::of(&reduced);
    let above = (1..columns).map(|i| abs(&reduced[(i - 1, i)]));
    let mut band = Band::of::<T>((0..columns).map(|i| abs(&reduced[(i, i)])), above)?;
    let with_vectors = which != ComputeSvdVectors::No;
    let mut vectors = with_vectors.then(|| [Columns::<T::Real>::identity(columns), Columns::identity(columns)]);
    if !iterate(&mut band, T::to_f64(eps()), &mut vectors) {
        return None;
    }
    let order = ordered(&band.diagonal, |x, y| y.total_cmp(x));
    let mut values = Diag::<T>::zeros(columns);
    for (to, &from) in order.iter().enumerate() {
        values[to] = T::of_real(from_f64(band.diagonal[from] * band.largest));
    }
    let Some([of_left, of_right]) = vectors else {
        return Some(Parts { u: Mat::zeros(rows, 0), values, v: Mat::zeros(columns, 0) });
    };
    let mut u = Mat::identity(rows, if which == ComputeSvdVectors::Full { rows } else { columns });
    let mut v = Mat::zeros(columns, columns);
    for (to, &from) in order.iter().enumerate() {
        let (left, right) = (of_left.column(from), of_right.column(from));
        for i in 0..columns {
            u[(i, to)] = phases.left[i] * T::of_real(left[i]);
            v[(i, to)] = phases.right[i] * T::of_real(right[i]);
        }
    }
    let stack = MemStack::new(&mut memory);
    apply(reduced.as_ref(), left.as_ref(), Conj::No, u.as_mut(), Par::Seq, stack);
    if columns > 1 {
        // The reflections of the right side are rows of the reduced matrix.
        let reflections = reduced.as_ref().submatrix(0, 1, columns - 1, columns - 1).transpose();
        let of_v = v.as_mut().subrows_mut(1, columns - 1);
        apply(reflections.to_owned().as_ref(), right.as_ref(), Conj::Yes, of_v, Par::Seq, stack);
    }
    scale_to_norm_one(&mut u);
    scale_to_norm_one(&mut v);
    (is_finite(u.as_ref()) && is_finite(v.as_ref())).then_some(Parts { u, values, v })
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

/// The left and the right singular vectors as columns; None if only values are computed.
type Vectors<R> = Option<[Columns<R>; 2]>;

/// Overwrites the diagonal with the singular values, in any order, and multiplies the columns of `vectors` by the
/// singular vectors. Returns false if the iteration does not converge or an element is not finite.
fn iterate<R: RealField + Copy>(band: &mut Band, eps: f64, vectors: &mut Vectors<R>) -> bool {
    let n = band.diagonal.len();
    let mut sweeps = 0;
    let mut rotations = [vec![Rotation::default(); n], vec![Rotation::default(); n]];
    // The reduction has errors of a rounding error of the largest element, so that a sixteenth of it may be deflated.
    while let Some([first, last]) = band.rest(eps, eps / 16.0) {
        if sweeps == MOST_SWEEPS * n || !band.is_finite() {
            return false;
        }
        sweeps += 1;
        match (first..last).find(|&i| band.diagonal[i].abs() <= eps) {
            Some(i) => remove_beside(band, [i, last], eps, vectors),
            None => {
                let [of_left, of_right] = rotations.each_mut().map(|of| &mut of[..last - first]);
                sweep(band, [first, last], [of_left, of_right]);
                if let Some([left, right]) = vectors {
                    left.turn_all(first, of_left);
                    right.turn_all(first, of_right);
                }
            }
        }
    }
    for (j, value) in band.diagonal.iter_mut().enumerate().filter(|(_, value)| value.is_sign_negative()) {
        *value = -*value;
        if let Some([_, right]) = vectors {
            right.negate(j);
        }
    }
    band.is_finite()
}

/// Sets the superdiagonal element of row `i` to 0, where the element on the diagonal counts as 0, by rotations of the row
/// with those below it.
fn remove_beside<R: RealField + Copy>(band: &mut Band, [i, last]: [usize; 2], eps: f64, vectors: &mut Vectors<R>) {
    let (d, e) = (&mut band.diagonal, &mut band.beside);
    let mut rest = std::mem::replace(&mut e[i], 0.0);
    for j in i + 1..=last {
        if rest.abs() <= eps * eps {
            break;
        }
        let (rotation, r) = Rotation::onto_first(d[j], rest);
        d[j] = r;
        if j < last {
            rest = -rotation.s * e[j];
            e[j] *= rotation.c;
        }
        if let Some([left, _]) = vectors {
            left.turn([j, i], rotation);
        }
    }
}

/// One implicit QR step on an unreduced block, of which only the last element on the diagonal may be 0. The shift is 0
/// then, and the step makes the last superdiagonal element 0 to within rounding. Writes the rotations of the left and of
/// the right vectors.
fn sweep(band: &mut Band, [first, last]: [usize; 2], [of_left, of_right]: [&mut [Rotation]; 2]) {
    let shift = if band.diagonal[last] == 0.0 { 0.0 } else { shift(band, first, last) };
    let (d, e) = (&mut band.diagonal[first..=last], &mut band.beside[first..last]);
    let end = e.len();
    // Elements that the step changes again stay in registers: `on` and `beside` of the two diagonals, and `x` and `y`, which
    // the next rotation takes to `r` and 0.
    let (mut on, mut beside) = (d[0], e[0]);
    // The first column of `b^T b - shift`, divided by the first diagonal element.
    let (mut x, mut y) = (on - shift / on, beside);
    for k in 0..end {
        let (right, r) = Rotation::onto_first(x, y);
        if k > 0 {
            e[k - 1] = r;
        }
        let (upper, above) = right.times(on, beside);
        let (left, r) = Rotation::onto_first(upper, right.s * d[k + 1]);
        d[k] = r;
        (x, on) = left.times(above, right.c * d[k + 1]);
        let next = if k + 1 < end { e[k + 1] } else { 0.0 };
        (y, beside) = (left.s * next, left.c * next);
        (of_left[k], of_right[k]) = (left, right);
    }
    (d[end], e[end - 1]) = (on, x);
}

/// Wilkinson's shift of `b^T b`.
fn shift(Band { diagonal: d, beside: e, .. }: &Band, first: usize, last: usize) -> f64 {
    let above = if last - 1 > first { e[last - 2] } else { 0.0 };
    let on = d[last - 1] * d[last - 1] + above * above;
    let end = d[last] * d[last] + e[last - 1] * e[last - 1];
    nearer(on, end, d[last - 1] * e[last - 1])
}
