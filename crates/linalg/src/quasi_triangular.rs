//! Eigenvalues and eigenvectors of quasi-triangular matrices, by back substitution as in LAPACK's `trevc`, in f64 for
//! all dtypes.

use crate::faer_field::Field;
use crate::iteration::Eigenvalues;
use faer::Mat;
use faer::traits::RealField;
use faer::traits::math_utils::{eps, from_f64};
use num_complex::Complex;

/// A quasi-triangular matrix, column by column: upper triangular but for blocks of two rows with complex eigenvalues.
pub struct QuasiTriangular {
    elements: Vec<f64>,
    n: usize,
    /// The rounding error of the dtype.
    eps: f64,
}

/// The state of a back substitution. Elements of the rows that have been processed are those of the solution; the
/// others are the right-hand sides of their rows.
struct Vector {
    re: Vec<f64>,
    im: Vec<f64>,
}

/// Vectors with a larger element are scaled down, so that its quotient by the least divisor of a back substitution is
/// finite.
const LARGE: f64 = 1e100;

impl QuasiTriangular {
    pub fn of<T: Field<Real = T> + RealField>(t: &Mat<T>) -> QuasiTriangular {
        let elements = t.col_iter().flat_map(|column| column.iter().map(|&x| T::to_f64(x))).collect();
        QuasiTriangular { elements, n: t.nrows(), eps: T::to_f64(eps()) }
    }

    fn at(&self, i: usize, j: usize) -> f64 {
        self.elements[j * self.n + i]
    }

    /// Returns true if a row is the second one of a block.
    fn is_second(&self, i: usize) -> bool {
        i > 0 && self.at(i, i - 1) != 0.0
    }

    /// Returns the eigenvalues and the `n` x `n` eigenvectors, packed as by LAPACK's `geev`: column `k` is the vector
    /// of a real eigenvalue `k`. Of two conjugate eigenvalues `k` and `k + 1`, the first has the positive imaginary
    /// part, and the columns `k` and `k + 1` are the real and the imaginary part of its vector. The largest real or
    /// imaginary part of each vector has the absolute value 1.
    pub fn eigenvectors<T: Field<Real = T> + RealField>(&self) -> (Vec<Complex<T>>, Mat<T>) {
        let of = from_f64::<T>;
        let (mut values, mut made) = (Vec::with_capacity(self.n), Mat::<T>::zeros(self.n, self.n));
        let mut k = 0;
        while k < self.n {
            let is_pair = k + 1 < self.n && self.is_second(k + 1);
            let (value, vector) = if is_pair { self.complex_pair(k) } else { self.real_pair(k) };
            let largest = vector.re.iter().chain(&vector.im).fold(0.0, |most: f64, x| most.max(x.abs()));
            values.push(Complex::new(of(value.re), of(value.im)));
            made.col_mut(k).iter_mut().zip(&vector.re).for_each(|(to, x)| *to = of(x / largest));
            if is_pair {
                values.push(Complex::new(of(value.re), of(-value.im)));
                made.col_mut(k + 1).iter_mut().zip(&vector.im).for_each(|(to, x)| *to = of(x / largest));
            }
            k += 1 + usize::from(is_pair);
        }
        (values, made)
    }

    fn real_pair(&self, k: usize) -> (Complex<f64>, Vector) {
        let value = Complex::new(self.at(k, k), 0.0);
        (value, self.back_substitute(value, k, &[Complex::new(1.0, 0.0)]))
    }

    fn complex_pair(&self, k: usize) -> (Complex<f64>, Vector) {
        let [a, b, c, d] = [self.at(k, k), self.at(k, k + 1), self.at(k + 1, k), self.at(k + 1, k + 1)];
        let of = Eigenvalues::of([a, b, c, d]);
        debug_assert!(of.is_complex, "a block with real eigenvalues");
        let value = Complex::new(of.mean, of.root);
        // A solution of `(block - value) x = 0`, from the row with the larger off-diagonal element.
        let known = if b.abs() >= c.abs() { [b.into(), value - a] } else { [value - d, c.into()] };
        (value, self.back_substitute(value, k, &known))
    }

    /// Returns the solution `x` of `(t - value) x = 0` with the elements `known` from row `from` on and zeros after
    /// them.
    fn back_substitute(&self, value: Complex<f64>, from: usize, known: &[Complex<f64>]) -> Vector {
        let mut x = Vector { re: vec![0.0; self.n], im: vec![0.0; self.n] };
        self.substitute(&mut x, from, known);
        // As in LAPACK's `trevc`, a smaller divisor, of eigenvalues that are equal to within rounding, is replaced by
        // `least`. The square of `least`, which complex division computes, is a normal number.
        let least = (self.eps * value.norm()).max(2.0 * f64::MIN_POSITIVE.sqrt());
        let divisor = |x: Complex<f64>| if x.norm() < least { Complex::new(least, 0.0) } else { x };
        let mut end = from;
        while end > 0 {
            let i = end - 1;
            let right = Complex::new(x.re[i], x.im[i]);
            let on = self.at(i, i) - value;
            if !self.is_second(i) {
                self.substitute(&mut x, i, &[right / divisor(on)]);
                end = i;
                continue;
            }
            // Elimination in the block `[above b; c on]`, with the larger element of its first column as the pivot.
            let above = self.at(i - 1, i - 1) - value;
            let (b, c) = (self.at(i - 1, i), self.at(i, i - 1));
            let top = Complex::new(x.re[i - 1], x.im[i - 1]);
            let (first, second);
            if above.norm() >= c.abs() {
                let factor = c / above;
                second = (right - factor * top) / divisor(on - factor * b);
                first = (top - second * b) / above;
            } else {
                let factor = above / c;
                second = (top - factor * right) / divisor(Complex::from(b) - factor * on);
                first = (right - second * on) / c;
            }
            self.substitute(&mut x, i - 1, &[first, second]);
            end = i - 1;
        }
        x
    }

    /// Sets the elements of `x` from row `from` on to `values`, and subtracts the products of `values` and the columns
    /// of the matrix from the right-hand sides of the rows above. Scales all of `x` down if a value exceeds `LARGE`.
    fn substitute(&self, x: &mut Vector, from: usize, values: &[Complex<f64>]) {
        for (i, value) in (from..).zip(values) {
            (x.re[i], x.im[i]) = (value.re, value.im);
            let column = &self.elements[i * self.n..][..from];
            for (part, value) in [(&mut x.re, value.re), (&mut x.im, value.im)] {
                part.iter_mut().zip(column).for_each(|(x, t)| *x -= t * value);
            }
        }
        let size = values.iter().fold(0.0, |most: f64, value| most.max(value.l1_norm()));
        if size > LARGE {
            x.re.iter_mut().chain(&mut x.im).for_each(|x| *x /= size);
        }
    }
}

#[cfg(test)]
pub mod samples {
    use crate::division::samples::Random;
    use faer::Mat;

    /// Square matrices with real eigenvalues, complex and equal ones, and such that stall iterations.
    pub fn matrices(n: usize) -> Vec<Mat<f64>> {
        let mut random = Random::new(n as u64);
        let any = Mat::from_fn(n, n, |_, _| 2.0 * random.next() - 1.0);
        let one_if = |is: bool| f64::from(u8::from(is));
        vec![
            any.clone(),
            &any - any.transpose(),
            &any + any.transpose(),
            // A permutation, whose eigenvalues have one absolute value; a Jordan block, also almost; a companion
            // matrix.
            Mat::from_fn(n, n, |i, j| one_if((j + 1) % n == i)),
            Mat::from_fn(n, n, |i, j| one_if(i == j) + one_if(i + 1 == j)),
            Mat::from_fn(n, n, |i, j| one_if(i + 1 == j) + 1e-9 * any[(i, j)]),
            Mat::from_fn(n, n, |i, j| if i == 0 { any[(0, j)] } else { one_if(j + 1 == i) }),
            Mat::from_fn(n, n, |i, j| if i / 2 == j / 2 { [1.0, 2.0, -2.0, 1.0][i % 2 * 2 + j % 2] } else { 0.0 }),
            // Blocks with equal complex eigenvalues, and with coupling, by which vectors grow beyond all bounds.
            Mat::from_fn(n, n, |i, j| match (j / 2).checked_sub(i / 2) {
                Some(0) => [1.0, 2.0, -2.0, 1.0][i % 2 * 2 + j % 2],
                Some(1) => one_if(i % 2 == j % 2),
                _ => 0.0,
            }),
            Mat::from_fn(n, n, |i, j| (3.0 * any[(i, j)]).round()),
            Mat::zeros(n, n),
        ]
    }
}
