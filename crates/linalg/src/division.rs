//! Shared parts of divide and conquer for tridiagonal and bidiagonal matrices: the vectors of two blocks become those
//! of the whole matrix. Values are computed in f64 for all dtypes; vectors have the dtype of the matrix.

use crate::faer_field::Field;
use crate::iteration::Rotation;
use crate::parallel::product;
use faer::traits::math_utils::{eps, from_f64, one};
use faer::{Accum, Mat, MatMut};

/// Rows in which a column of vectors is not 0.
#[derive(Clone, Copy, PartialEq)]
pub enum Part {
    Upper,
    Both,
    Lower,
}

/// Two decomposed blocks, and the vector that couples them.
pub struct Blocks {
    /// Eigenvalues or singular values of both blocks. `d[j]` belongs to column `j` of the vectors.
    pub d: Vec<f64>,
    /// The products of the coupling vector and the columns.
    pub z: Vec<f64>,
    /// The rows of each column that are not 0.
    pub parts: Vec<Part>,
    /// Number of rows of the upper block's vectors.
    pub upper: usize,
}

/// The columns of `Blocks` after deflation.
pub struct Deflation {
    /// Columns that are not deflated. Their values ascend and are distinct.
    pub active: Vec<usize>,
    /// Deflated columns: vectors of the whole matrix, once `rotations` are applied.
    pub deflated: Vec<usize>,
    /// Rotations of two columns with almost equal values, in the order of application. Each deflates its second column.
    rotations: Vec<([usize; 2], Rotation)>,
}

/// Returns the deflation tolerance, as LAPACK's `laed2`: `8 eps` times the largest absolute value, which is at least 1,
/// since the matrix is scaled to a largest element of 1.
pub fn tolerance<T: Field>(d: &[f64]) -> f64 {
    8.0 * T::to_f64(eps()) * d.iter().fold(1.0, |most: f64, x| most.max(x.abs()))
}

impl Blocks {
    /// Deflates the columns `of`, as LAPACK's `laed2` does: those with `factor * |z|` at most `tolerance`, and one of
    /// two columns with almost equal values, after a rotation that makes its `z` 0. `factor` is `rho` if `z` is the
    /// vector of `rho z z^T`, and 1 if it is a row of the matrix. Updates `d`, `z` and `parts`.
    pub fn deflate(&mut self, mut of: Vec<usize>, factor: f64, tolerance: f64) -> Deflation {
        let Blocks { d, z, parts, .. } = self;
        of.sort_by(|&i, &j| d[i].total_cmp(&d[j]));
        let (mut active, mut deflated, mut rotations) = (Vec::<usize>::new(), Vec::new(), Vec::new());
        for j in of {
            if factor * z[j].abs() <= tolerance {
                deflated.push(j);
                continue;
            }
            if let Some(&before) = active.last() {
                let (rotation, norm) = Rotation::onto_first(z[j], z[before]);
                let apart = d[j] - d[before];
                // The off-diagonal element that the rotation creates between the two values.
                if (apart * rotation.c * rotation.s).abs() <= tolerance {
                    rotations.push(([j, before], rotation));
                    (z[j], z[before]) = (norm, 0.0);
                    let moved = apart * rotation.s * rotation.s;
                    d[before] += moved;
                    d[j] -= moved;
                    if parts[before] != parts[j] {
                        parts[j] = Part::Both;
                    }
                    active.pop();
                    deflated.push(before);
                }
            }
            active.push(j);
        }
        Deflation { active, deflated, rotations }
    }

    /// Replaces the `k` active columns of `q` by their product with an orthogonal `k` x `k` matrix. The products become
    /// the first columns of `q`, followed by the deflated ones. `column(i, x)` writes column `i` of the orthogonal
    /// matrix to `x`, up to a factor, with the elements in the order of `of.active`.
    pub fn merge<T: Field>(
        &self,
        of: &Deflation,
        mut q: MatMut<'_, T::Real>,
        mut column: impl FnMut(usize, &mut [f64]),
    ) {
        for &(columns, rotation) in &of.rotations {
            rotate::<T>(q.as_mut(), columns, rotation);
        }
        let (rows, k) = (q.nrows(), of.active.len());
        let of_part = |part: Part| (0..k).filter(|&i| self.parts[of.active[i]] == part).collect::<Vec<_>>();
        let [upper, both, lower] = [Part::Upper, Part::Both, Part::Lower].map(of_part);
        let (upper_count, both_count) = (upper.len(), both.len());
        let grouped = [upper, both, lower].concat();
        let mut factors = Mat::<T::Real>::zeros(k, k);
        let mut numbers = vec![0.0; k];
        for (i, to) in factors.col_iter_mut().enumerate() {
            column(i, &mut numbers);
            let inverse = 1.0 / numbers.iter().map(|x| x * x).sum::<f64>().sqrt();
            to.iter_mut().zip(&grouped).for_each(|(to, &from)| *to = from_f64(numbers[from] * inverse));
        }
        let copied = |columns: &[usize], first: usize, rows: usize| {
            let mut made = Mat::<T::Real>::zeros(rows, columns.len());
            made.col_iter_mut()
                .zip(columns)
                .for_each(|(mut to, &j)| to.copy_from(q.as_ref().col(j).subrows(first, rows)));
            made
        };
        let columns: Vec<usize> = grouped.iter().map(|&i| of.active[i]).collect();
        let upper = copied(&columns[..upper_count + both_count], 0, self.upper);
        let lower = copied(&columns[upper_count..], self.upper, rows - self.upper);
        let deflated = copied(&of.deflated, 0, rows);
        let upper_factors = factors.subrows(0, upper_count + both_count);
        let lower_factors = factors.subrows(upper_count, k - upper_count);
        let (to_upper, to_lower) = q.as_mut().subcols_mut(0, k).split_at_row_mut(self.upper);
        product(to_upper, Accum::Replace, upper.as_ref(), upper_factors, one());
        product(to_lower, Accum::Replace, lower.as_ref(), lower_factors, one());
        q.subcols_mut(k, of.deflated.len()).copy_from(&deflated);
    }
}

/// Rotates two columns.
pub fn rotate<T: Field>(mut q: MatMut<'_, T::Real>, [left, right]: [usize; 2], rotation: Rotation) {
    let (c, s) = (from_f64::<T::Real>(rotation.c), from_f64::<T::Real>(rotation.s));
    for i in 0..q.nrows() {
        let (x, y) = (q[(i, left)], q[(i, right)]);
        (q[(i, left)], q[(i, right)]) = (c * x + s * y, c * y - s * x);
    }
}

#[cfg(test)]
pub mod samples {
    use super::*;
    use faer::MatRef;

    /// A linear congruential generator with Knuth's constants.
    pub struct Random(u64);

    impl Random {
        pub fn new(seed: u64) -> Random {
            Random(seed)
        }

        /// The next number between 0 and 1.
        pub fn next(&mut self) -> f64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 11) as f64 * 2f64.powi(-53)
        }
    }

    /// Diagonals of `n` elements and the ones beside them, not negative, with a largest element of 1.
    pub fn bands(n: usize) -> Vec<[Vec<f64>; 2]> {
        let mut random = Random::new(n as u64);
        let last = (n - 1) as f64;
        let mut drawn = |of: &[f64], n: usize| -> Vec<f64> {
            (0..n).map(|_| of[(random.next() * of.len() as f64) as usize]).collect()
        };
        let eps = [f64::EPSILON, f64::from(f32::EPSILON)];
        let near_eps = [1.0, 1.0005 * eps[0], 0.9995 * eps[0], 1.0005 * eps[1], 0.9995 * eps[1]];
        let wilkinson: Vec<f64> = (0..n).map(|i| ((i as f64) - 10.0 * (i / 21 * 2 + 1) as f64).abs() / 20.0).collect();
        let glue = |by: f64| (1..n).map(|i| if i % 21 == 0 { by } else { 0.05 }).collect::<Vec<f64>>();
        let graded: Vec<f64> = (0..n).map(|i| 10f64.powf(-20.0 * i as f64 / last)).collect();
        let random_parts: Vec<f64> = (0..100).map(|i| f64::from(i) / 99.0).collect();
        vec![
            [drawn(&random_parts, n), drawn(&random_parts, n - 1)],
            [vec![1.0; n], vec![0.5; n - 1]],
            [vec![1.0; n], vec![1.0; n - 1]],
            [vec![0.0; n], (1..n).map(|i| (i as f64 / last).sqrt()).collect()],
            [wilkinson.clone(), glue(1e-9)],
            [wilkinson, glue(1e-15)],
            [graded.clone(), graded.windows(2).map(|x| 0.3 * (x[0] * x[1]).sqrt()).collect()],
            [drawn(&near_eps, n), drawn(&near_eps, n - 1)],
            [drawn(&[0.0, 1.0, 1e-3], n), drawn(&[0.0, 1.0], n - 1)],
            [vec![0.0; n], vec![0.0; n - 1]],
            [vec![1.0; n], drawn(&near_eps[1..], n - 1)],
        ]
    }

    /// The largest element of `q^T q - 1`, in rounding errors.
    pub fn not_orthonormal<T: Field>(q: MatRef<'_, T::Real>) -> f64 {
        let q = Mat::from_fn(q.nrows(), q.ncols(), |i, j| T::to_f64(q[(i, j)]));
        let apart = q.transpose() * &q - Mat::<f64>::identity(q.ncols(), q.ncols());
        apart.norm_max() / T::to_f64(eps())
    }
}
