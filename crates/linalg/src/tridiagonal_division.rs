//! Divide and conquer for the eigenvalues and eigenvectors of symmetric tridiagonal matrices: Cuppen, A divide and
//! conquer method for the symmetric tridiagonal eigenproblem (1981).

use crate::LEAST_SPLIT;
use crate::division::{Blocks, Part, tolerance};
use crate::faer_field::Field;
use crate::iteration::{Band, Columns};
use crate::secular::Secular;
use crate::tridiagonal::iterate;
use faer::MatMut;
use faer::traits::math_utils::eps;

/// Computes the eigenvalues and eigenvectors of a symmetric tridiagonal matrix, whose subdiagonal `e` is not negative
/// and whose largest element is 1 (see `Band`). Overwrites the diagonal `d` with the eigenvalues, in any order, and
/// `q`, which is 0, with the eigenvectors as columns. Returns None if the QR iteration of a block does not converge or
/// a value is not finite.
pub fn divide<T: Field>(d: &mut [f64], e: &[f64], mut q: MatMut<'_, T::Real>) -> Option<()> {
    let n = d.len();
    if n < LEAST_SPLIT {
        return by_iteration::<T>(d, e, q);
    }
    // Cuppen's splitting: the matrix is `[upper 0; 0 lower] + rho v v^T`, where `v` is 1 in the last row of the upper
    // block and in the first row of the lower block, and 0 in all others.
    let upper = n / 2;
    let rho = e[upper - 1];
    d[upper - 1] -= rho;
    d[upper] -= rho;
    let (of_upper, of_lower) = d.split_at_mut(upper);
    divide::<T>(of_upper, &e[..upper - 1], q.as_mut().submatrix_mut(0, 0, upper, upper))?;
    divide::<T>(of_lower, &e[upper..], q.as_mut().submatrix_mut(upper, upper, n - upper, n - upper))?;

    let is_upper = |j: usize| j < upper;
    let z = (0..n).map(|j| T::to_f64(q[(if is_upper(j) { upper - 1 } else { upper }, j)])).collect();
    let parts = (0..n).map(|j| if is_upper(j) { Part::Upper } else { Part::Lower }).collect();
    let mut blocks = Blocks { d: d.to_vec(), z, parts, upper };
    let deflation = blocks.deflate((0..n).collect(), rho, tolerance::<T>(d));
    let of_active = |of: &[f64]| deflation.active.iter().map(|&j| of[j]).collect::<Vec<f64>>();
    let z = of_active(&blocks.z);
    let solved =
        Secular::<false> { d: of_active(&blocks.d), weights: z.iter().map(|z| rho * z * z).collect() }.solve()?;
    // Eigenvector `i` of the rank-one update: `z_j / (d_j - x_i)`, with the recomputed `z_j`.
    blocks.merge::<T>(&deflation, q, |i, column| {
        let parts = solved.weight_roots.iter().zip(solved.differences_of(i)).zip(&z);
        column.iter_mut().zip(parts).for_each(|(to, ((weight, difference), z))| *to = weight.copysign(*z) / difference);
    });
    let deflated = deflation.deflated.iter().map(|&j| blocks.d[j]);
    d.iter_mut().zip(solved.roots.iter().copied().chain(deflated)).for_each(|(to, value)| *to = value);
    Some(())
}

fn by_iteration<T: Field>(d: &mut [f64], e: &[f64], q: MatMut<'_, T::Real>) -> Option<()> {
    let mut band = Band::scaled(d.to_vec(), e.to_vec())?;
    let mut vectors = Columns::identity(d.len());
    if !iterate(&mut band, T::to_f64(eps()), &mut vectors) {
        return None;
    }
    vectors.write(q);
    d.iter_mut().zip(&band.diagonal).for_each(|(to, value)| *to = value * band.largest);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::division::samples::{bands, not_orthonormal};
    use faer::Mat;

    fn check<T: Field>() {
        for n in [2, 31, 32, 33, 64, 65, 100, 150] {
            for (kind, [diagonal, e]) in bands(n).into_iter().enumerate() {
                let (mut d, mut q) = (diagonal.clone(), Mat::<T::Real>::zeros(n, n));
                divide::<T>(&mut d, &e, q.as_mut()).expect("a finite result");
                let beside = |i: usize, j: usize| if i.abs_diff(j) == 1 { e[i.min(j)] } else { 0.0 };
                let a = Mat::from_fn(n, n, |i, j| if i == j { diagonal[i] } else { beside(i, j) });
                let vectors = Mat::from_fn(n, n, |i, j| T::to_f64(q[(i, j)]));
                let scaled = Mat::from_fn(n, n, |i, j| vectors[(i, j)] * d[j]);
                let apart = (a * vectors - scaled).norm_max() / T::to_f64(eps());
                let off = not_orthonormal::<T>(q.as_ref());
                assert!(apart <= 32.0 && off <= 32.0, "band {kind} of {n} rows: {apart} and {off} rounding errors");
            }
        }
    }

    #[test]
    fn vectors_are_orthonormal_and_residuals_small_of_f32() {
        check::<f32>();
    }

    #[test]
    fn vectors_are_orthonormal_and_residuals_small_of_f64() {
        check::<f64>();
    }
}
