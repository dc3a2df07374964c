//! The complex Schur form by the implicit QR iteration with one shift: Golub and Van Loan, Matrix Computations, 4th
//! edition, section 7.5, with the tests of LAPACK's `zlahqr` for small elements.

use crate::faer_field::Field;
use crate::schur::{MOST_STEPS, STALLED, Schur, hessenberg};
use crate::vectorized;
use faer::Mat;
use faer::traits::RealField;
use faer::traits::math_utils::{eps, from_f64, min_positive, zero};
use num_complex::Complex;

/// The Givens rotation `[c s; -conj(s) c]`, computed in f64 for all dtypes.
#[derive(Clone, Copy)]
struct Rotation {
    c: f64,
    s: Complex<f64>,
}

/// Returns `x / |x|`, also of subnormal numbers. `x` is not 0.
#[inline(always)]
fn phase(x: Complex<f64>) -> Complex<f64> {
    let near_one = x / x.re.abs().max(x.im.abs());
    near_one / near_one.norm()
}

/// Returns the sum of the absolute values of the parts.
#[inline(always)]
fn size(x: Complex<f64>) -> f64 {
    x.re.abs() + x.im.abs()
}

impl Rotation {
    /// Returns the rotation that takes `(x, y)` to `(r, 0)`, and `r`.
    #[inline(always)]
    fn onto_first(x: Complex<f64>, y: Complex<f64>) -> (Rotation, Complex<f64>) {
        if y == zero() {
            return (Rotation { c: 1.0, s: zero() }, x);
        }
        if x == zero() {
            return (Rotation { c: 0.0, s: phase(y).conj() }, y.norm().into());
        }
        let (of_x, length_x, length_y) = (phase(x), x.norm(), y.norm());
        let length = length_x.hypot(length_y);
        let s = of_x * phase(y).conj() * (length_y / length);
        (Rotation { c: length_x / length, s }, of_x * length)
    }
}

/// Returns the Schur form `a = z t z^H` of a square matrix of at least one row, with `t` upper triangular; None if the
/// iteration does not converge.
pub fn schur<T>(a: &Mat<Complex<T>>) -> Option<Schur<Complex<T>>>
where
    T: Field<Real = T> + RealField,
    Complex<T>: Field<Real = T>,
{
    let mut made = Iteration(hessenberg(a));
    let mut converged = false;
    vectorized(
        #[inline(always)]
        || converged = made.iterate(),
    );
    converged.then_some(made.0)
}

/// The state of the iteration: a Hessenberg matrix, and the product of what it was multiplied by.
struct Iteration<T>(Schur<Complex<T>>);

impl<T> Iteration<T>
where
    T: Field<Real = T> + RealField,
    Complex<T>: Field<Real = T>,
{
    #[inline(always)]
    fn at(&self, i: usize, j: usize) -> Complex<f64> {
        let x = self.0.t[(i, j)];
        Complex::new(T::to_f64(x.re), T::to_f64(x.im))
    }

    #[inline(always)]
    fn put(&mut self, i: usize, j: usize, x: Complex<f64>) {
        self.0.t[(i, j)] = Complex::new(from_f64(x.re), from_f64(x.im));
    }

    /// Makes `t` upper triangular. Returns false if the iteration does not converge.
    #[inline(always)]
    fn iterate(&mut self) -> bool {
        let n = self.0.t.nrows();
        let (mut rows, mut steps, mut since_deflated) = (n, 0, 0);
        while rows > 0 {
            // The unreduced block of the rows from `first` on.
            let last = rows - 1;
            let first = (1..rows).rev().find(|&k| self.is_small(k)).unwrap_or(0);
            if first > 0 {
                self.0.t[(first, first - 1)] = zero();
            }
            if first == last {
                (rows, since_deflated) = (first, 0);
                continue;
            }
            if steps == MOST_STEPS * n.max(10) {
                return false;
            }
            steps += 1;
            since_deflated += 1;
            let shift = self.shift([first, last], since_deflated);
            self.step([first, last], shift);
        }
        true
    }

    /// Returns true if the element to the left of the diagonal in row `k` may be set to 0: see the real iteration.
    #[inline(always)]
    fn is_small(&self, k: usize) -> bool {
        let (eps, n) = (T::to_f64(eps()), self.0.t.nrows());
        let least = T::to_f64(min_positive()) / eps * n as f64;
        let beside = size(self.at(k, k - 1));
        if beside <= least {
            return true;
        }
        let (above, on) = (self.at(k - 1, k - 1), self.at(k, k));
        let mut near = size(above) + size(on);
        if near == 0.0 {
            near += if k >= 2 { size(self.at(k - 1, k - 2)) } else { 0.0 };
            near += if k + 1 < n { size(self.at(k + 1, k)) } else { 0.0 };
        }
        if beside > eps * near {
            return false;
        }
        let sorted = |x: f64, y: f64| if x < y { [x, y] } else { [y, x] };
        let [small, large] = sorted(beside, size(self.at(k - 1, k)));
        let [less, more] = sorted(size(on), size(above - on));
        let sum = more + large;
        small * (large / sum) <= least.max(eps * (less * (more / sum)))
    }

    /// Returns the eigenvalue of the last 2 x 2 block that is nearer to the last element; every `STALLED` steps without
    /// deflation, an exceptional shift.
    #[inline(always)]
    fn shift(&self, [first, last]: [usize; 2], since_deflated: usize) -> Complex<f64> {
        if since_deflated.is_multiple_of(STALLED) {
            let (on, row) = if since_deflated.is_multiple_of(2 * STALLED) { (last, last) } else { (first, first + 1) };
            return self.at(on, on) + 0.75 * self.at(row, row - 1).norm();
        }
        let on = self.at(last, last);
        let beside = self.at(last - 1, last).sqrt() * self.at(last, last - 1).sqrt();
        if beside == zero() {
            return on;
        }
        let half = (self.at(last - 1, last - 1) - on) * 0.5;
        let most = size(beside).max(size(half));
        let (of_half, of_beside) = (half / most, beside / most);
        let root = (of_half * of_half + of_beside * of_beside).sqrt();
        let is_near = of_half.re * root.re + of_half.im * root.im >= 0.0;
        let sum = if is_near { of_half + root } else { of_half - root };
        on - beside * (of_beside / sum)
    }

    /// Applies one step to the rows `first..=last`. As in `zlahqr`, the step starts at the last row at which two
    /// consecutive small subdiagonal elements allow it, otherwise at `first`.
    #[inline(always)]
    fn step(&mut self, [first, last]: [usize; 2], shift: Complex<f64>) {
        let eps = T::to_f64(eps());
        let is_start = |&m: &usize| {
            if m == first {
                return true;
            }
            let (on, below) = (self.at(m, m) - shift, self.at(m + 1, m));
            let down = size(on) + size(below);
            let near = size(self.at(m, m)) + size(self.at(m + 1, m + 1));
            size(self.at(m, m - 1)) * (size(below) / down) <= eps * ((size(on) / down) * near)
        };
        let start = (first..last).rev().find(is_start).unwrap_or(first);
        let mut x = [self.at(start, start) - shift, self.at(start + 1, start)];
        for k in start..last {
            if k > start {
                x = [self.at(k, k - 1), self.at(k + 1, k - 1)];
            }
            let (rotation, image) = Rotation::onto_first(x[0], x[1]);
            if k > start {
                self.put(k, k - 1, image);
                self.put(k + 1, k - 1, zero());
            } else if k > first {
                // The element that the rotation creates below this one is negligible: see `is_start`.
                self.put(k, k - 1, self.at(k, k - 1) * rotation.c);
            }
            self.rotate(rotation, k, last);
        }
    }

    /// Multiplies `t` by a rotation of the rows and columns `k` and `k + 1` from both sides; `z` from the right.
    #[inline(always)]
    fn rotate(&mut self, rotation: Rotation, k: usize, last: usize) {
        let n = self.0.t.nrows();
        let (c, s) = (from_f64::<T>(rotation.c), rotation.s);
        let s = Complex::new(from_f64::<T>(s.re), from_f64::<T>(s.im));
        for column in self.0.t.as_mut().subcols_mut(k, n - k).col_iter_mut() {
            let x = &mut column.try_as_col_major_mut().expect("column-major").as_slice_mut()[k..k + 2];
            (x[0], x[1]) = (x[0] * c + s * x[1], x[1] * c - s.conj() * x[0]);
        }
        for (of, rows) in [(&mut self.0.t, n.min(last.min(k + 2) + 1)), (&mut self.0.z, n)] {
            let mut columns = of.as_mut().subcols_mut(k, 2).col_iter_mut();
            let mut next = || columns.next().and_then(|column| column.try_as_col_major_mut()).expect("column-major");
            let (left, right) = (next().as_slice_mut(), next().as_slice_mut());
            for (x, y) in left[..rows].iter_mut().zip(&mut right[..rows]) {
                (*x, *y) = (*x * c + s.conj() * *y, *y * c - s * *x);
            }
        }
    }
}
