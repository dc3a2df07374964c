//! Divide and conquer for the singular values and vectors of bidiagonal matrices: Gu and Eisenstat, A
//! divide-and-conquer algorithm for the bidiagonal SVD (1995), as LAPACK's `lasd1`.

use crate::LEAST_SPLIT;
use crate::bidiagonal::iterate;
use crate::division::{Blocks, Part, rotate, tolerance};
use crate::faer_field::Field;
use crate::iteration::{Band, Columns, Rotation};
use crate::secular::Secular;
use faer::MatMut;
use faer::traits::math_utils::{eps, one};

/// Computes the singular values and vectors of an upper bidiagonal matrix with `n = d.len()` rows and `e.len() + 1`
/// columns, which are `n` or `n + 1`. Its elements are not negative, and the largest is 1 (see `Band`).
///
/// Overwrites the diagonal `d` with the singular values, in any order, and the square matrices `u` and `v`, which are
/// 0, with the left and the right singular vectors as columns. `e` is the superdiagonal. With `n + 1` columns, the last
/// column of `v` is a null vector. Returns None if the QR iteration of a block does not converge or a value is not
/// finite.
pub fn divide<T: Field>(
    d: &mut [f64],
    e: &[f64],
    mut u: MatMut<'_, T::Real>,
    mut v: MatMut<'_, T::Real>,
) -> Option<()> {
    let (n, columns) = (d.len(), e.len() + 1);
    if n < LEAST_SPLIT {
        return by_iteration::<T>(d, e, u, v);
    }
    // Row `cut` couples the blocks above and below it. The upper block has one more column than rows; the lower block
    // has one more only if the whole matrix has.
    let cut = n / 2;
    let (coupling, upper) = ([d[cut], e[cut]], cut + 1);
    let below = [n - upper, columns - upper];
    let (u_of_upper, v_of_upper) =
        (u.as_mut().submatrix_mut(0, 0, cut, cut), v.as_mut().submatrix_mut(0, 0, upper, upper));
    divide::<T>(&mut d[..cut], &e[..cut], u_of_upper, v_of_upper)?;
    let u_of_lower = u.as_mut().submatrix_mut(upper, upper, below[0], below[0]);
    let v_of_lower = v.as_mut().submatrix_mut(upper, upper, below[1], below[1]);
    divide::<T>(&mut d[upper..], &e[upper..], u_of_lower, v_of_lower)?;
    u[(cut, cut)] = one();
    d[cut] = 0.0;

    let element = |j: usize| coupling[usize::from(j > cut)] * T::to_f64(v[(if j > cut { upper } else { cut }, j)]);
    let mut z: Vec<f64> = (0..columns).map(element).collect();
    if columns > n {
        // Both blocks have a null vector: columns `cut` and `n` of `v`. After the rotation, column `n` is a null vector
        // of the whole matrix, and only column `cut` is coupled to row `cut`.
        let (rotation, norm) = Rotation::onto_first(z[cut], z[n]);
        rotate::<T>(v.as_mut(), [cut, n], rotation);
        z[cut] = norm;
        z.pop();
    }
    let part = |j: usize| [Part::Upper, Part::Both, Part::Lower][usize::from(j >= cut) + usize::from(j > cut)];
    let blocks = Blocks { d: d.to_vec(), z, parts: (0..n).map(part).collect(), upper };
    merge::<T>(d, blocks, cut, u, v.subcols_mut(0, n))
}

/// Overwrites `d` and the columns of `u` and `v` with the singular values and vectors of the matrix that is diagonal
/// but for row `cut`, which is `blocks.z`.
fn merge<T: Field>(
    d: &mut [f64],
    mut blocks: Blocks,
    cut: usize,
    u: MatMut<'_, T::Real>,
    mut v: MatMut<'_, T::Real>,
) -> Option<()> {
    let tolerance = tolerance::<T>(d);
    let mut deflation = blocks.deflate((0..d.len()).filter(|&j| j != cut).collect(), 1.0, tolerance);
    if let Some(&first) = deflation.active.first() {
        // The coupling row has the value 0, the first pole. As in LAPACK's `lasd2`, the next pole must be larger than
        // 0, and the weight of the first one must not be 0.
        blocks.d[first] = blocks.d[first].max(0.5 * tolerance);
        if blocks.z[cut].abs() < tolerance {
            blocks.z[cut] = tolerance;
        }
        deflation.active.insert(0, cut);
    } else {
        // The coupling row is 0 but for its own column, and deflated too.
        if blocks.z[cut] < 0.0 {
            v.as_mut().col_mut(cut).iter_mut().for_each(|x| *x = -*x);
        }
        blocks.d[cut] = blocks.z[cut].abs();
        deflation.deflated.push(cut);
    }
    let of_active = |of: &[f64]| deflation.active.iter().map(|&j| of[j]).collect::<Vec<f64>>();
    let (values, z) = (of_active(&blocks.d), of_active(&blocks.z));
    let weights = z.iter().map(|z| z * z).collect();
    let solved = Secular::<true> { d: values.clone(), weights }.solve()?;
    // Right singular vector `i`: `z_j / (d_j^2 - x_i^2)`, with the recomputed `z_j`.
    let right = |i: usize, column: &mut [f64]| {
        let parts = solved.weight_roots.iter().zip(solved.differences_of(i)).zip(&z);
        column.iter_mut().zip(parts).for_each(|(to, ((weight, difference), z))| *to = weight.copysign(*z) / difference);
    };
    blocks.merge::<T>(&deflation, v, right);
    // Left singular vector `i`: `d_j z_j / (d_j^2 - x_i^2)`, and -1 for `d_0 = 0`.
    blocks.merge::<T>(&deflation, u, |i, column| {
        right(i, column);
        column.iter_mut().zip(&values).for_each(|(to, value)| *to *= value);
        column[0] = -1.0;
    });
    let deflated = deflation.deflated.iter().map(|&j| blocks.d[j]);
    d.iter_mut().zip(solved.roots.iter().copied().chain(deflated)).for_each(|(to, value)| *to = value);
    Some(())
}

fn by_iteration<T: Field>(d: &mut [f64], e: &[f64], u: MatMut<'_, T::Real>, v: MatMut<'_, T::Real>) -> Option<()> {
    let (n, columns) = (d.len(), e.len() + 1);
    let (mut diagonal, mut beside) = (d.to_vec(), e.to_vec());
    let mut right = Columns::identity(columns);
    if columns > n {
        // Makes the last column 0 by rotations with the others.
        let mut rest = beside.pop()?;
        for j in (0..n).rev() {
            let (rotation, r) = Rotation::onto_first(diagonal[j], rest);
            diagonal[j] = r;
            right.rotate([j, n], rotation);
            if j > 0 {
                rest = -rotation.s * beside[j - 1];
                beside[j - 1] *= rotation.c;
            }
        }
    }
    let mut band = Band::scaled(diagonal, beside)?;
    let mut vectors = Some([Columns::identity(n), right]);
    if !iterate(&mut band, T::to_f64(eps()), &mut vectors) {
        return None;
    }
    let [left, right] = vectors?;
    left.write(u);
    right.write(v);
    d.iter_mut().zip(&band.diagonal).for_each(|(to, value)| *to = value * band.largest);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::division::samples::{bands, not_orthonormal};
    use faer::Mat;

    /// Decomposes bidiagonal matrices, square ones and such with a column more than rows.
    fn check<T: Field>() {
        for (n, more) in [2, 31, 32, 33, 64, 65, 100, 150].into_iter().flat_map(|n| [(n, 0), (n, 1)]) {
            for (kind, [mut diagonal, e]) in bands(n + more).into_iter().enumerate() {
                diagonal.truncate(n);
                let columns = n + more;
                let (mut d, mut u, mut v) =
                    (diagonal.clone(), Mat::<T::Real>::zeros(n, n), Mat::<T::Real>::zeros(columns, columns));
                divide::<T>(&mut d, &e, u.as_mut(), v.as_mut()).expect("a finite result");
                let above = |i: usize, j: usize| if i + 1 == j { e[i] } else { 0.0 };
                let a = Mat::from_fn(n, columns, |i, j| if i == j { diagonal[i] } else { above(i, j) });
                let [left, right] = [&u, &v].map(|q| Mat::from_fn(q.nrows(), q.ncols(), |i, j| T::to_f64(q[(i, j)])));
                // The last column of `v` is orthogonal to the rows.
                let scaled = Mat::from_fn(n, columns, |i, j| if j < n { left[(i, j)] * d[j] } else { 0.0 });
                let apart = (a * right - scaled).norm_max() / T::to_f64(eps());
                let off = not_orthonormal::<T>(u.as_ref()).max(not_orthonormal::<T>(v.as_ref()));
                let is_zero = diagonal.iter().chain(&e).all(|&x| x == 0.0);
                assert!(!is_zero || d.iter().all(|&x| x == 0.0), "band {kind} of {n} rows: {d:?}");
                assert!(d.iter().all(|&x| x >= 0.0), "band {kind} of {n} rows: {d:?}");
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
