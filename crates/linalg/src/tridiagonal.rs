//! The implicit QR iteration for the eigenvalues and eigenvectors of symmetric tridiagonal matrices: Golub and Van
//! Loan, Matrix Computations, 4th edition, algorithms 8.3.2 and 8.3.3.

use crate::iteration::{Band, Columns, MOST_SWEEPS, Rotation, wilkinson_shift};
use faer::traits::RealField;

/// Overwrites the diagonal with the eigenvalues, in any order, and multiplies the columns of `vectors` by the
/// eigenvectors. Returns false if the iteration does not converge or an element is not finite.
pub fn iterate<R: RealField + Copy>(band: &mut Band, eps: f64, vectors: &mut Columns<R>) -> bool {
    let n = band.diagonal.len();
    let mut sweeps = 0;
    let mut rotations = vec![Rotation::default(); n];
    while let Some([first, last]) = band.deflate(eps, eps * eps) {
        if sweeps == MOST_SWEEPS * n || !band.is_finite() {
            return false;
        }
        sweeps += 1;
        let rotations = &mut rotations[..last - first];
        sweep(band, first, last, rotations);
        vectors.rotate_all(first, rotations);
    }
    band.is_finite()
}

/// One implicit QR step on an unreduced block. Writes its rotations.
fn sweep(band: &mut Band, first: usize, last: usize, rotations: &mut [Rotation]) {
    let (d, e) = (&mut band.diagonal[first..=last], &mut band.beside[first..last]);
    let end = e.len();
    // Elements that the step changes again stay in registers: `on` and `beside` of the two diagonals, and `x` and `y`,
    // which the next rotation takes to `r` and 0.
    let (mut on, mut beside) = (d[0], e[0]);
    let (mut x, mut y) = (on - wilkinson_shift(d[end - 1], d[end], e[end - 1]), beside);
    for k in 0..end {
        let (rotation, r) = Rotation::onto_first(x, y);
        if k > 0 {
            e[k - 1] = r;
        }
        // One number is added to one diagonal element and subtracted from the other, which keeps the trace.
        let Rotation { c, s } = rotation;
        let moved = s * (d[k + 1] - on) + 2.0 * c * beside;
        d[k] = on + s * moved;
        on = d[k + 1] - s * moved;
        x = c * moved - beside;
        let next = if k + 1 < end { e[k + 1] } else { 0.0 };
        (y, beside) = (s * next, c * next);
        rotations[k] = rotation;
    }
    (d[end], e[end - 1]) = (on, x);
}
