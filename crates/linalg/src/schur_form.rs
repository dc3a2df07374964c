//! Schur forms of real and of complex matrices.

use crate::faer_field::Field;
use crate::schur::{self, Schur};
use crate::triangular::is_upper;
use crate::{Scaled, all_finite, dust, is_finite, put, schur_complex, taken, without_dust};
use faer::Mat;
use faer::traits::RealField;
use num_complex::Complex;

pub fn of_real<T>(a: &[T], n: usize, t: &mut [T], z: &mut [T])
where
    T: Field<Real = T> + RealField,
{
    write(a, n, t, z, |a| {
        let mut made = schur::schur(a)?;
        made.standardize();
        Some(made)
    });
}

pub fn of_complex<T>(a: &[Complex<T>], n: usize, t: &mut [Complex<T>], z: &mut [Complex<T>])
where
    T: Field<Real = T> + RealField,
    Complex<T>: Field<Real = T>,
{
    write(a, n, t, z, schur_complex::schur);
}

/// Writes the form that `of` finds of the scaled matrix, or NaN.
fn write<T: Field>(a: &[T], n: usize, t: &mut [T], z: &mut [T], of: impl Fn(&Mat<T>) -> Option<Schur<T>>) {
    if n == 0 {
        return;
    }
    let scaled = Scaled::of(a);
    let a = taken(&scaled.elements, n, n);
    let largest = a.norm_max();
    let clean = |least: T::Real| Mat::from_fn(n, n, |i, j| without_dust(a[(i, j)], least * largest));
    let mut sizes = dust::<T>().into_iter().map(clean).filter(|_| all_finite(&scaled.elements));
    let made = sizes.find_map(|a| match is_upper(&a) {
        true => Some(Schur { z: Mat::identity(n, n), t: a }),
        false => of(&a).filter(|made| is_finite(made.t.as_ref()) && is_finite(made.z.as_ref())),
    });
    let Some(Schur { t: of_t, z: of_z }) = made else {
        t.fill(T::NAN);
        return z.fill(T::NAN);
    };
    put(of_t.as_ref(), t);
    t.iter_mut().for_each(|x| *x = scaled.restored(*x));
    put(of_z.as_ref(), z);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Number;
    use crate::division::samples::Random;
    use crate::quasi_triangular::samples::matrices;
    use faer::traits::math_utils::{eps, from_f64, min_positive};

    type Wide = Mat<Complex<f64>>;

    fn wide<T: Field>(of: &[T], n: usize) -> Wide {
        Mat::from_fn(n, n, |i, j| {
            let x = of[i * n + j];
            Complex::new(T::to_f64(x.real_part()), T::to_f64(x.imaginary_part()))
        })
    }

    /// Checks the form of a matrix: the product, the unitary factor and the shape of `t`.
    fn check<T: Field + Number>(what: &str, a: &[T], n: usize) {
        let (mut t, mut z) = (a.to_vec(), a.to_vec());
        Number::schur(a, n, &mut t, &mut z);
        let unit = T::to_f64(eps());
        let [a, t, z] = [wide(a, n), wide(&t, n), wide(&z, n)];
        let apart = (&a * &z - &z * &t).norm_l2() / a.norm_l2().max(f64::MIN_POSITIVE) / unit;
        let off = (z.adjoint() * &z - Wide::identity(n, n)).norm_max() / unit;
        assert!(apart <= 64.0 && off <= 64.0, "{what}: {apart} and {off} rounding errors");
        for i in 1..n {
            assert!((0..i - 1).all(|j| t[(i, j)].norm() == 0.0), "{what}: row {i}");
            let (above, below) = (t[(i - 1, i)], t[(i, i - 1)]);
            if below.norm() > 0.0 {
                // The smallest elements vanish when the scaled matrix is scaled back.
                let vanished = above.re == 0.0 && below.re.abs() < T::to_f64(min_positive()) / unit;
                assert!(T::IS_REAL && (above.re * below.re < 0.0 || vanished), "{what}: {above} and {below}");
                assert!(t[(i, i)] == t[(i - 1, i - 1)], "{what}: the diagonal of block {i}");
                assert!(i < 2 || t[(i - 1, i - 2)].norm() == 0.0, "{what}: three rows of a block at {i}");
            }
        }
    }

    fn check_all<T>()
    where
        T: Field<Real = T> + RealField + Number,
        Complex<T>: Field<Real = T> + Number,
    {
        for n in [1, 2, 3, 4, 7, 16, 33] {
            let mut random = Random::new(n as u64);
            for (kind, of) in matrices(n).into_iter().enumerate() {
                for size in [1.0, 1e-30, 1e25] {
                    let what = format!("matrix {kind} of {n} rows times {size:e}");
                    let real: Vec<T> = (0..n * n).map(|i| from_f64(of[(i / n, i % n)] * size)).collect();
                    check(&what, &real, n);
                    let with = |re: T, im: f64| Complex::new(re, from_f64::<T>(im * size));
                    let complex: Vec<_> = real.iter().map(|&x| with(x, 0.0)).collect();
                    check(&format!("{what}, complex"), &complex, n);
                    let complex: Vec<_> = real.iter().map(|&x| with(x, random.next() - 0.5)).collect();
                    check(&format!("{what}, with imaginary parts"), &complex, n);
                    // Rows of very different sizes.
                    let graded = |i: usize| 10f64.powf(-25.0 * (i / n) as f64 / n as f64);
                    let complex: Vec<_> =
                        complex.iter().enumerate().map(|(i, &x)| x * from_f64::<T>(graded(i))).collect();
                    check(&format!("{what}, graded"), &complex, n);
                    let real: Vec<_> = real.iter().enumerate().map(|(i, &x)| x * from_f64::<T>(graded(i))).collect();
                    check(&format!("{what}, real and graded"), &real, n);
                }
            }
        }
    }

    #[test]
    fn the_factors_are_a_schur_form_in_f32() {
        check_all::<f32>();
    }

    #[test]
    fn the_factors_are_a_schur_form_in_f64() {
        check_all::<f64>();
    }

    #[test]
    fn what_is_not_finite_gives_nan() {
        for bad in [f64::NAN, f64::INFINITY] {
            let (mut t, mut z) = ([0.0; 4], [0.0; 4]);
            Number::schur(&[1.0, 2.0, bad, 4.0], 2, &mut t, &mut z);
            assert!(t.iter().chain(&z).all(|x| x.is_nan()), "{bad}: {t:?} and {z:?}");
        }
    }
}
