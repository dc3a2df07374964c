//! The implicit QR iteration for the singular values and vectors of bidiagonal matrices: Golub and Van Loan, Matrix
//! Computations, 4th edition, algorithm 8.6.2.

use crate::iteration::{Band, Columns, MOST_SWEEPS, Rotation, wilkinson_shift};
use faer::traits::RealField;

/// The left and the right singular vectors as columns; None if only values are computed.
pub type Vectors<R> = Option<[Columns<R>; 2]>;

/// Overwrites the diagonal with the singular values, in any order, and multiplies the columns of `vectors` by the
/// singular vectors. Returns false if the iteration does not converge or an element is not finite.
pub fn iterate<R: RealField + Copy>(band: &mut Band, eps: f64, vectors: &mut Vectors<R>) -> bool {
    let n = band.diagonal.len();
    let mut sweeps = 0;
    let mut rotations = [vec![Rotation::default(); n], vec![Rotation::default(); n]];
    // The reduction to bidiagonal form has errors of about `eps` times the largest element, which is 1, so that
    // superdiagonal elements up to `eps / 16` are negligible.
    while let Some([first, last]) = band.deflate(eps, eps / 16.0) {
        if sweeps == MOST_SWEEPS * n || !band.is_finite() {
            return false;
        }
        sweeps += 1;
        match (first..last).find(|&i| band.diagonal[i].abs() <= eps) {
            Some(i) => zero_row(band, [i, last], eps, vectors),
            None => {
                let [of_left, of_right] = rotations.each_mut().map(|of| &mut of[..last - first]);
                sweep(band, [first, last], [of_left, of_right]);
                if let Some([left, right]) = vectors {
                    left.rotate_all(first, of_left);
                    right.rotate_all(first, of_right);
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

/// Sets the superdiagonal element of row `i` to 0 if the diagonal element of the row is negligible, by rotations of row
/// `i` with the rows `i + 1..=last` (Golub and Van Loan, section 8.6.2).
fn zero_row<R: RealField + Copy>(band: &mut Band, [i, last]: [usize; 2], eps: f64, vectors: &mut Vectors<R>) {
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
            left.rotate([j, i], rotation);
        }
    }
}

/// One implicit QR step on an unreduced block, of which only the last element on the diagonal may be 0. The shift is 0
/// then, and the step makes the last superdiagonal element 0 to within rounding. Writes the rotations of the left and
/// of the right vectors.
fn sweep(band: &mut Band, [first, last]: [usize; 2], [of_left, of_right]: [&mut [Rotation]; 2]) {
    let shift = if band.diagonal[last] == 0.0 { 0.0 } else { shift(band, first, last) };
    let (d, e) = (&mut band.diagonal[first..=last], &mut band.beside[first..last]);
    let end = e.len();
    // Elements that the step changes again stay in registers: `on` and `beside` of the two diagonals, and `x` and `y`,
    // which the next rotation takes to `r` and 0.
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
    wilkinson_shift(on, end, d[last - 1] * e[last - 1])
}
