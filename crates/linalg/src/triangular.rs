//! Eigenvectors of triangular matrices.

use crate::faer_field::Field;
use faer::Mat;
use faer::traits::math_utils::{abs, abs1, eps, from_f64, max, min_positive, one, recip, zero};

/// Whether all elements below the diagonal are 0.
pub fn is_upper<T: Field>(a: &Mat<T>) -> bool {
    (0..a.ncols()).all(|j| (j + 1..a.nrows()).all(|i| a[(i, j)] == zero()))
}

/// Eigenvectors of an upper triangular matrix, as columns, by back substitution as in LAPACK's trevc: a difference of
/// eigenvalues below their rounding error counts as that, and vectors are scaled down before they overflow.
pub fn eigenvectors<T: Field>(a: &Mat<T>) -> Mat<T> {
    let n = a.nrows();
    let floor = min_positive::<T::Real>() * from_f64::<T::Real>(n as f64) * recip(&eps::<T::Real>());
    let large = from_f64::<T::Real>(2f64.powi(40));
    let mut made = Mat::<T>::zeros(n, n);
    for k in 0..n {
        let least = max(&(abs(&a[(k, k)]) * eps::<T::Real>()), &floor);
        let mut x: Vec<T> = (0..k).map(|i| -a[(i, k)]).collect();
        x.push(one());
        for i in (0..k).rev() {
            let difference = a[(i, i)] - a[(k, k)];
            let divisor = if abs(&difference) < least { T::of_real(least) } else { difference };
            if abs1(&x[i]) > large * abs1(&divisor) {
                let down = T::of_real(large * abs1(&divisor) * recip(&abs1(&x[i])));
                x.iter_mut().for_each(|x| *x *= down);
            }
            let value = x[i] * recip(&divisor);
            x[i] = value;
            for (j, x) in x[..i].iter_mut().enumerate() {
                *x -= a[(j, i)] * value;
            }
        }
        x.into_iter().enumerate().for_each(|(i, x)| made[(i, k)] = x);
    }
    made
}
