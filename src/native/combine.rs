//! How two elements become one in a reduction.

use super::functions::Real;
use super::wide::wide;

/// What a reduction does with two elements. Associative, but for rounding.
pub trait Combine<T>: Copy + Sync {
    /// Both in one.
    fn of(self, a: T, b: T) -> T;

    /// All of `x` in one, or none if there is no quicker way than one by one.
    fn row(self, _x: &[T]) -> Option<T> {
        None
    }

    /// Combines rows, `inner` elements apart, of which the columns from `column` on count, with `out`; false if there is no
    /// quicker way than one by one. Then `out` holds anything.
    fn columns(self, _x: &[T], _inner: usize, _column: usize, _out: &mut [T]) -> bool {
        false
    }
}

impl<T, F: Fn(T, T) -> T + Copy + Sync> Combine<T> for F {
    #[inline(always)]
    fn of(self, a: T, b: T) -> T {
        self(a, b)
    }
}

/// The greater one of floats, NaN before all; of two zeros the positive one.
#[derive(Clone, Copy)]
pub struct Greater;

/// The smaller one of floats, NaN before all; of two zeros the negative one.
#[derive(Clone, Copy)]
pub struct Smaller;

impl<T: Real> Combine<T> for Greater {
    #[inline(always)]
    fn of(self, a: T, b: T) -> T {
        a.greater(b)
    }

    fn row(self, x: &[T]) -> Option<T> {
        row(
            x,
            #[inline(always)]
            |a, b| a > b,
        )
    }

    fn columns(self, x: &[T], inner: usize, column: usize, out: &mut [T]) -> bool {
        columns(
            x,
            inner,
            column,
            out,
            #[inline(always)]
            |a, b| a > b,
        )
    }
}

impl<T: Real> Combine<T> for Smaller {
    #[inline(always)]
    fn of(self, a: T, b: T) -> T {
        a.smaller(b)
    }

    fn row(self, x: &[T]) -> Option<T> {
        row(
            x,
            #[inline(always)]
            |a, b| a < b,
        )
    }

    fn columns(self, x: &[T], inner: usize, column: usize, out: &mut [T]) -> bool {
        columns(
            x,
            inner,
            column,
            out,
            #[inline(always)]
            |a, b| a < b,
        )
    }
}

/// The best element. None if there is NaN, or zeros of both signs might be the best: then one has to look more closely.
#[inline(always)]
fn row<T: Real>(x: &[T], is_better: impl Fn(T, T) -> bool) -> Option<T> {
    // As many lanes as fill some vectors.
    match size_of::<T>() {
        4 => lanes::<T, 32>(x, is_better),
        _ => lanes::<T, 16>(x, is_better),
    }
}

#[inline(always)]
fn lanes<T: Real, const N: usize>(x: &[T], is_better: impl Fn(T, T) -> bool) -> Option<T> {
    let first = *x.first()?;
    let (chunks, rest) = x.as_chunks::<N>();
    let mut last = [first; N];
    last[..rest.len()].copy_from_slice(rest);
    let (best, nan) = wide(
        #[inline(always)]
        || {
            let (mut best, mut nan) = (last, last);
            for chunk in chunks {
                for ((best, nan), &x) in best.iter_mut().zip(&mut nan).zip(chunk) {
                    *best = if is_better(x, *best) { x } else { *best };
                    *nan = if x.is_nan() { x } else { *nan };
                }
            }
            (best, nan)
        },
    );
    let best = best.into_iter().fold(first, |a, b| if is_better(b, a) { b } else { a });
    let is_clear = nan.iter().chain([&first]).all(|x| !x.is_nan()) && (best != T::zeroed() || !any_negative_zero(x));
    is_clear.then_some(best)
}

/// The same for columns, into `out`; false if one has to look more closely.
#[inline(always)]
fn columns<T: Real>(
    x: &[T],
    inner: usize,
    column: usize,
    out: &mut [T],
    is_better: impl Fn(T, T) -> bool + Copy,
) -> bool {
    let width = out.len();
    let better = |a: T, b: T| if is_better(a, b) { a } else { b };
    let has_nan = wide(
        #[inline(always)]
        || {
            let mut has_nan = false;
            let mut fours = x.chunks_exact(4 * inner);
            for four in &mut fours {
                let [a, b, c, d]: [&[T]; 4] = std::array::from_fn(|i| &four[i * inner + column..][..width]);
                for ((((out, &a), &b), &c), &d) in out.iter_mut().zip(a).zip(b).zip(c).zip(d) {
                    *out = better(better(better(a, b), better(c, d)), *out);
                    has_nan |= a.is_nan() | b.is_nan() | c.is_nan() | d.is_nan();
                }
            }
            for row in fours.remainder().chunks_exact(inner) {
                for (out, &x) in out.iter_mut().zip(&row[column..][..width]) {
                    *out = better(x, *out);
                    has_nan |= x.is_nan();
                }
            }
            has_nan
        },
    );
    let mut rows = x.chunks_exact(inner).map(|row| &row[column..][..width]);
    !has_nan && (out.iter().all(|&best| best != T::zeroed()) || !rows.any(any_negative_zero))
}

fn any_negative_zero<T: Real>(x: &[T]) -> bool {
    x.chunks(256).any(|x| {
        wide(
            #[inline(always)]
            || x.iter().fold(false, |any, x| any | x.is_negative_zero()),
        )
    })
}
