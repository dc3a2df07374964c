//! Fourier transforms of the last axes, one axis after another.

use super::array::Array;
use super::element::{Element, unsupported};
use super::fft_plans::{self, Float};
use super::shape::transpose;
use base::error::Result;
use base::types::{DType, TensorType};
use ir::FftOp;
use lazyxla_fourier::FftDirection;
use num_complex::Complex;

/// Number of elements that one thread transforms at a time.
const PIECE: usize = 1 << 15;

/// Transforms the last `axes` axes; inverse transforms are divided by the number of elements. A transform between reals
/// and complex numbers holds only the first `n / 2 + 1` complex elements of the last axis: the others are their
/// conjugates.
pub fn fft(op: FftOp, ty: &TensorType, axes: usize, x: &Array) -> Result<Array> {
    match ty.dtype.real() {
        DType::F32 => transform::<f32>(op, ty, axes, x),
        DType::F64 => transform::<f64>(op, ty, axes, x),
        dtype => Err(unsupported(op.name(), dtype)),
    }
}

fn transform<T: Float>(op: FftOp, ty: &TensorType, axes: usize, x: &Array) -> Result<Array>
where
    Complex<T>: Element,
{
    let last = ty.dims.len() - 1;
    let others = last + 1 - axes..last;
    match op {
        FftOp::Fft | FftOp::Ifft => {
            let direction = if op == FftOp::Fft { FftDirection::Forward } else { FftDirection::Inverse };
            along::<T>(lines::<T>(x, direction)?, others, direction)
        }
        FftOp::Rfft => along::<T>(of_reals::<T>(ty, x)?, others, FftDirection::Forward),
        FftOp::Irfft => to_reals::<T>(ty, &along::<T>(x.clone(), others, FftDirection::Inverse)?),
    }
}

/// Complex transforms along axes before the last one.
fn along<T: Float>(mut x: Array, axes: std::ops::Range<usize>, direction: FftDirection) -> Result<Array>
where
    Complex<T>: Element,
{
    for axis in axes {
        let swap = |x: &Array| {
            let mut order: Vec<i64> = (0..x.ty().dims.len() as i64).collect();
            let last = order.len() - 1;
            order.swap(axis, last);
            let dims = order.iter().map(|&axis| x.ty().dims[axis as usize]).collect();
            transpose(&TensorType { dtype: x.ty().dtype, dims }, &order, x)
        };
        x = swap(&lines::<T>(&swap(&x)?, direction)?)?;
    }
    Ok(x)
}

/// Largest number of elements up to [`PIECE`] that is a multiple of `length`; at least one line.
fn whole_lines(length: usize) -> usize {
    length * (PIECE / length).max(1)
}

/// Complex transform along the last axis.
fn lines<T: Float>(x: &Array, direction: FftDirection) -> Result<Array>
where
    Complex<T>: Element,
{
    let Some(length) = length_of(x.ty()) else { return Ok(x.clone()) };
    let plan = fft_plans::complex::<T>(length, direction);
    let divisor = T::from_usize(length).expect("a length is a number");
    let elements = x.elements::<Complex<T>>();
    Array::write_pieces(x.ty(), whole_lines(length), &|range, out| {
        let lines = out.copy_mut(&elements[range]);
        plan.process(lines);
        if direction == FftDirection::Inverse {
            lines.iter_mut().for_each(|x| *x = Complex::new(x.re / divisor, x.im / divisor));
        }
    })
}

/// Transform of reals along the last axis.
fn of_reals<T: Float>(ty: &TensorType, x: &Array) -> Result<Array>
where
    Complex<T>: Element,
{
    let (Some(length), Some(half)) = (length_of(x.ty()), length_of(ty)) else { return empty(ty) };
    let plan = fft_plans::of_reals::<T>(length);
    let x = x.elements::<T>();
    Array::write_pieces(ty, whole_lines(half), &|range, out| {
        let results = out.repeat_mut(Complex::new(T::zeroed(), T::zeroed()), range.len());
        let (mut line, mut scratch) = (plan.make_input_vec(), plan.make_scratch_vec());
        for (i, result) in results.chunks_exact_mut(half).enumerate() {
            line.copy_from_slice(&x[(range.start / half + i) * length..][..length]);
            plan.process_with_scratch(&mut line, result, &mut scratch).expect("lines of the plan's lengths");
        }
    })
}

/// Inverse transform to reals along the last axis. Ignores the imaginary part of the first element, and for an even
/// length of the last one: both are 0 in the transform of real numbers.
fn to_reals<T: Float>(ty: &TensorType, x: &Array) -> Result<Array>
where
    Complex<T>: Element,
{
    let (Some(length), Some(half)) = (length_of(ty), length_of(x.ty())) else { return empty(ty) };
    let plan = fft_plans::to_reals::<T>(length);
    let divisor = T::from_usize(length).expect("a length is a number");
    let x = x.elements::<Complex<T>>();
    Array::write_pieces(ty, whole_lines(length), &|range, out| {
        let results = out.repeat_mut(T::zeroed(), range.len());
        let (mut line, mut scratch) = (plan.make_input_vec(), plan.make_scratch_vec());
        for (i, result) in results.chunks_exact_mut(length).enumerate() {
            line.copy_from_slice(&x[(range.start / length + i) * half..][..half]);
            line[0].im = T::zeroed();
            if length % 2 == 0 {
                line[half - 1].im = T::zeroed();
            }
            plan.process_with_scratch(&mut line, result, &mut scratch).expect("lines of the plan's lengths");
            result.iter_mut().for_each(|x| *x = *x / divisor);
        }
    })
}

/// Size of the last axis; None if there are no elements.
fn length_of(ty: &TensorType) -> Option<usize> {
    if ty.elements() == 0 { None } else { ty.dims.last().map(|&length| length as usize) }
}

fn empty(ty: &TensorType) -> Result<Array> {
    Array::from_bytes(ty, &[])
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Typed, array};
    use super::*;

    type C128 = Complex<f64>;

    fn run<A: Typed, B: Typed>(op: FftOp, x: &[A], from: &[i64], to: &[i64], axes: usize) -> Vec<B> {
        fft(op, &TensorType::new(B::DTYPE, to), axes, &array(from, x)).unwrap().elements().to_vec()
    }

    fn numbers(count: usize) -> Vec<C128> {
        let part = |i: usize| ((i * 2_654_435_761) % 1000) as f64 / 500.0 - 1.0;
        (0..count).map(|i| C128::new(part(i), part(i + 12345))).collect()
    }

    /// Discrete Fourier transform by its definition; inverse, not divided by the length, for a positive sign.
    fn slow(x: &[C128], sign: f64) -> Vec<C128> {
        let n = x.len();
        let root = |k: usize| C128::from_polar(1.0, sign * std::f64::consts::TAU * (k % n) as f64 / n as f64);
        (0..n).map(|k| (0..n).map(|j| x[j] * root(j * k)).sum()).collect()
    }

    fn near(got: &[C128], want: &[C128]) {
        let size = want.iter().map(|x| x.norm()).fold(0.0, f64::max);
        assert_eq!(got.len(), want.len());
        assert!(got.iter().zip(want).all(|(got, want)| (got - want).norm() <= 1e-14 * size), "{got:?}, not {want:?}");
    }

    #[test]
    fn all_lengths_are_those_of_the_definition() {
        for n in (1..20).chain([97, 128, 210]) {
            let (x, dims) = (numbers(n), [n as i64]);
            near(&run::<_, C128>(FftOp::Fft, &x, &dims, &dims, 1), &slow(&x, -1.0));
            let inverse: Vec<C128> = slow(&x, 1.0).iter().map(|x| x / n as f64).collect();
            near(&run::<_, C128>(FftOp::Ifft, &x, &dims, &dims, 1), &inverse);
            let reals: Vec<f64> = x.iter().map(|x| x.re).collect();
            let half = [n as i64 / 2 + 1];
            let spectrum: Vec<C128> = run(FftOp::Rfft, &reals, &dims, &half, 1);
            near(&spectrum, &slow(&reals.iter().map(|&x| x.into()).collect::<Vec<C128>>(), -1.0)[..n / 2 + 1]);
            let back: Vec<f64> = run(FftOp::Irfft, &spectrum, &half, &dims, 1);
            assert!(back.iter().zip(&reals).all(|(back, x)| (back - x).abs() < 1e-14), "{n}");
        }
    }

    #[test]
    fn axes_and_batches() {
        let (n, dims) = (2 * 3 * 4 * 5, [2, 3, 4, 5]);
        let x = numbers(n);
        // Reference: one line after another, along each axis.
        let mut want = x.clone();
        for (step, length) in [(1, 5), (5, 4), (20, 3)] {
            for start in (0..n).filter(|i| i / step % length == 0) {
                let line: Vec<C128> = (0..length).map(|i| want[start + i * step]).collect();
                slow(&line, -1.0).into_iter().enumerate().for_each(|(i, x)| want[start + i * step] = x);
            }
        }
        let got: Vec<C128> = run(FftOp::Fft, &x, &dims, &dims, 3);
        near(&got, &want);
        near(&run::<_, C128>(FftOp::Ifft, &got, &dims, &dims, 3), &x);
        let reals: Vec<f64> = x.iter().map(|x| x.re).collect();
        let half: Vec<C128> = run(FftOp::Rfft, &reals, &dims, &[2, 3, 4, 3], 3);
        let back: Vec<f64> = run(FftOp::Irfft, &half, &[2, 3, 4, 3], &dims, 3);
        assert!(back.iter().zip(&reals).all(|(back, x)| (back - x).abs() < 1e-14));
    }

    #[test]
    fn many_lines_on_several_threads() {
        let (rows, n) = (5000, 16);
        let x: Vec<Complex<f32>> = numbers(rows * n).iter().map(|x| Complex::new(x.re as f32, x.im as f32)).collect();
        let dims = [rows as i64, n as i64];
        let got: Vec<Complex<f32>> = run(FftOp::Fft, &x, &dims, &dims, 1);
        for row in [0, 1, 2048, 4999] {
            let line: Vec<C128> = x[row * n..][..n].iter().map(|x| C128::new(x.re.into(), x.im.into())).collect();
            let same = got[row * n..][..n].iter().zip(slow(&line, -1.0));
            same.for_each(|(got, want)| assert!((C128::new(got.re.into(), got.im.into()) - want).norm() < 1e-5));
        }
    }

    #[test]
    fn parts_that_reals_do_not_have_are_not_looked_at() {
        let half = [C128::new(1.0, 5.0), C128::new(2.0, 1.0), C128::new(3.0, 7.0)];
        assert_eq!(run::<_, f64>(FftOp::Irfft, &half, &[3], &[4], 1), [2.0, -1.0, 0.0, 0.0]);
        assert!(run::<C128, f64>(FftOp::Irfft, &[], &[0, 3], &[0, 4], 1).is_empty());
        assert!(run::<f64, C128>(FftOp::Rfft, &[], &[0, 4], &[0, 3], 1).is_empty());
        assert!(run::<C128, C128>(FftOp::Fft, &[], &[4, 0], &[4, 0], 2).is_empty());
    }
}
