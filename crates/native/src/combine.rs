//! Combining functions of reductions.

use super::functions::Real;
use super::wide::{wide, widest};

/// Combines two elements in a reduction. Associative up to rounding.
pub trait Combine<T>: Copy + Sync {
    /// Combines two elements.
    fn of(self, a: T, b: T) -> T;

    /// Combines all elements of `x`; None if there is no faster way than calling `of` for each element.
    fn row(self, _x: &[T]) -> Option<T> {
        None
    }

    /// Combines rows of `inner` elements, each from column `column` on, into `out`, elementwise. Returns false if there
    /// is no faster way than calling `of` for each element; the contents of `out` are then unspecified.
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

/// Maximum of floats: NaN if either operand is NaN; `0.0` of two zeros with different signs.
#[derive(Clone, Copy)]
pub struct Greater;

/// Minimum of floats: NaN if either operand is NaN; `-0.0` of two zeros with different signs.
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

/// Returns the best element. None if `x` is empty, contains NaN, or its best element may be one of zeros with different
/// signs: the caller then combines one by one.
#[inline(always)]
fn row<T: Real>(x: &[T], is_better: impl Fn(T, T) -> bool) -> Option<T> {
    // A few vector registers' worth of lanes.
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
    let (best, nan) = widest(
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

/// Like [`row`], for columns: combines them into `out`. Returns false if the caller must combine one by one.
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
    let has_nan = widest(
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
