//! Reductions. Every sum is a tree: blocks are summed in many independent accumulators and combined pairwise, which is
//! both fast and accurate. The tree depends on the shape alone, never on the number of threads.

use super::array::Array;
use super::combine::{Combine, Greater, Smaller};
use super::convert::convert;
use super::element::unsupported;
use super::element::{Element, by_integer_width};
use super::parallel::{both, collect};
use super::wide::wide;
use base::error::Result;
use base::types::{DType, TensorType};
use ir::ReduceOp;
use num_complex::Complex;
use smallvec::SmallVec;

/// Rows of at most this many elements are reduced one element after another.
const SHORT: usize = 16;
/// Rows of at most this many elements are reduced without a tree.
const BLOCK: usize = 1024;
/// Columns of at most this many rows are reduced without a tree.
const ROWS: usize = 64;
/// Number of columns that are reduced at a time: their results stay in the L1 cache, and memory is read in long runs.
const COLUMNS: usize = 1024;
/// Number of elements of a row that one thread reduces.
const PART: usize = 1 << 18;
/// Minimum number of elements for which several threads are used.
const PARALLEL: usize = 1 << 21;

/// Reduces `axes`, which are ascending. f16 and bf16 are accumulated in f32, and the results are rounded once.
pub fn reduce(op: ReduceOp, ty: &TensorType, axes: &[i64], x: &Array) -> Result<Array> {
    if !matches!(ty.dtype, DType::F16 | DType::BF16) {
        return dispatch(op, ty, axes, x);
    }
    let wide = TensorType { dtype: DType::F32, dims: ty.dims.clone() };
    convert(&dispatch(op, &wide, axes, &convert(x, DType::F32)?)?, ty.dtype)
}

fn dispatch(op: ReduceOp, ty: &TensorType, axes: &[i64], x: &Array) -> Result<Array> {
    use ReduceOp::*;
    macro_rules! run {
        ($T:ty, $identity:expr, $combine:expr) => {
            fold::<$T>(ty, axes, x, $identity, $combine)
        };
    }
    match (op, ty.dtype) {
        (All | Min, DType::Pred) => run!(u8, 1, smaller),
        (Any | Max, DType::Pred) => run!(u8, 0, larger),
        (Sum, DType::F32) => run!(f32, 0.0, |a, b| a + b),
        (Sum, DType::F64) => run!(f64, 0.0, |a, b| a + b),
        (Sum, DType::C64) => run!(Complex<f32>, Complex::ZERO, |a, b| a + b),
        (Sum, DType::C128) => run!(Complex<f64>, Complex::ZERO, |a, b| a + b),
        (Product, DType::F32) => run!(f32, 1.0, |a, b| a * b),
        (Product, DType::F64) => run!(f64, 1.0, |a, b| a * b),
        (Product, DType::C64) => run!(Complex<f32>, Complex::ONE, |a, b| a * b),
        (Product, DType::C128) => run!(Complex<f64>, Complex::ONE, |a, b| a * b),
        (Max, DType::F32) => run!(f32, f32::NEG_INFINITY, Greater),
        (Max, DType::F64) => run!(f64, f64::NEG_INFINITY, Greater),
        (Min, DType::F32) => run!(f32, f32::INFINITY, Smaller),
        (Min, DType::F64) => run!(f64, f64::INFINITY, Smaller),
        (Sum, dtype) if dtype.is_integer() => by_integer_width!(dtype, T => run!(T, 0, T::wrapping_add)),
        (Product, dtype) if dtype.is_integer() => by_integer_width!(dtype, T => run!(T, 1, T::wrapping_mul)),
        (Max, DType::S8) => run!(i8, i8::MIN, larger),
        (Max, DType::S16) => run!(i16, i16::MIN, larger),
        (Max, DType::S32) => run!(i32, i32::MIN, larger),
        (Max, DType::S64) => run!(i64, i64::MIN, larger),
        (Min, DType::S8) => run!(i8, i8::MAX, smaller),
        (Min, DType::S16) => run!(i16, i16::MAX, smaller),
        (Min, DType::S32) => run!(i32, i32::MAX, smaller),
        (Min, DType::S64) => run!(i64, i64::MAX, smaller),
        (Max, dtype) if dtype.is_integer() => by_integer_width!(dtype, T => run!(T, 0, larger)),
        (Min, dtype) if dtype.is_integer() => by_integer_width!(dtype, T => run!(T, T::MAX, smaller)),
        (_, dtype) => Err(unsupported(op.name(), dtype)),
    }
}

/// `Ord::max` as a comparison, because the compiler does not vectorize many calls of the former.
#[inline(always)]
fn larger<T: Ord>(a: T, b: T) -> T {
    if a > b { a } else { b }
}

/// `Ord::min` as a comparison; see [`larger`].
#[inline(always)]
fn smaller<T: Ord>(a: T, b: T) -> T {
    if a < b { a } else { b }
}

/// Adjacent axes of which all or none are reduced.
struct Group {
    size: usize,
    reduced: bool,
}

type Groups = SmallVec<[Group; 4]>;

fn add_all(groups: &mut Groups, dims: &[i64], axes: &[i64]) {
    for (axis, &dim) in dims.iter().enumerate().filter(|(_, dim)| **dim != 1) {
        add(groups, Group { size: dim as usize, reduced: axes.contains(&(axis as i64)) });
    }
}

fn add(groups: &mut Groups, group: Group) {
    match groups.last_mut() {
        Some(last) if last.reduced == group.reduced => last.size *= group.size,
        _ => groups.push(group),
    }
}

/// Reduces one group of axes after another, from the last to the first.
fn fold<T: Element>(ty: &TensorType, axes: &[i64], x: &Array, identity: T, combine: impl Combine<T>) -> Result<Array> {
    let mut groups = Groups::new();
    add_all(&mut groups, &x.ty().dims, axes);
    let mut folded: Option<Array> = None;
    while groups.iter().any(|group| group.reduced) {
        let after = if groups.last().is_some_and(|group| group.reduced) { None } else { groups.pop() };
        let reduced = groups.pop().expect("a group that is reduced over");
        let inner = after.as_ref().map_or(1, |group| group.size);
        after.into_iter().for_each(|group| add(&mut groups, group));
        let from = folded.as_ref().unwrap_or(x);
        let step = Step { x: from.elements(), length: reduced.size, inner, identity, combine };
        if groups.iter().all(|group| !group.reduced) {
            return step.run(ty);
        }
        let left: usize = groups.iter().map(|group| group.size).product();
        folded = Some(step.run(&TensorType::new(ty.dtype, &[left as i64]))?);
    }
    Ok(x.reshape(&ty.dims))
}

/// Reduction of the middle one of three axes.
struct Step<'a, T, C> {
    x: &'a [T],
    length: usize,
    inner: usize,
    identity: T,
    combine: C,
}

impl<T: Element, C: Combine<T>> Step<'_, T, C> {
    fn run(&self, result: &TensorType) -> Result<Array> {
        let worth_a_thread = if self.x.len() < PARALLEL { usize::MAX } else { PART.div_ceil(self.length.max(1)) };
        if self.inner == 1 {
            return Array::write_pieces(result, worth_a_thread, &|range, out| {
                out.generate(range.len(), |i| self.row(&self.x[(range.start + i) * self.length..][..self.length]));
            });
        }
        Array::write_pieces(result, worth_a_thread.max(COLUMNS), &|range, out| {
            let mut at = range.start;
            while at < range.end {
                let (outer, column) = (at / self.inner, at % self.inner);
                let count = COLUMNS.min(self.inner - column).min(range.end - at);
                let x = &self.x[outer * self.inner * self.length..][..self.inner * self.length];
                self.columns(x, column, out.repeat_mut(self.identity, count));
                at += count;
            }
        })
    }

    fn row(&self, x: &[T]) -> T {
        if x.len() <= SHORT {
            return x.iter().fold(self.identity, |sum, &x| self.combine.of(sum, x));
        }
        if x.len() > PART {
            let parts = x.len().div_ceil(PART);
            let part = |i: usize| self.row(&x[i * PART..x.len().min((i + 1) * PART)]);
            let made: Vec<T> = if x.len() < PARALLEL { (0..parts).map(part).collect() } else { collect(parts, &part) };
            return self.row(&made);
        }
        if let Some(made) = self.combine.row(x) {
            return made;
        }
        if x.len() <= BLOCK {
            // A few vector registers' worth of accumulators.
            return match size_of::<T>() {
                1 | 2 => self.block::<64>(x),
                4 => self.block::<32>(x),
                _ => self.block::<16>(x),
            };
        }
        let (left, right) = x.split_at((x.len() / 2).next_multiple_of(BLOCK));
        self.combine.of(self.row(left), self.row(right))
    }

    fn block<const N: usize>(&self, x: &[T]) -> T {
        let (identity, combine) = (self.identity, self.combine);
        let (chunks, rest) = x.as_chunks::<N>();
        let mut last = [identity; N];
        last[..rest.len()].copy_from_slice(rest);
        let mut sums = wide(
            #[inline(always)]
            || {
                let mut sums = last;
                for chunk in chunks {
                    for (sum, &x) in sums.iter_mut().zip(chunk) {
                        *sum = combine.of(*sum, x);
                    }
                }
                sums
            },
        );
        let mut count = N;
        while count > 1 {
            count /= 2;
            (0..count).for_each(|i| sums[i] = combine.of(sums[i], sums[i + count]));
        }
        sums[0]
    }

    /// Reduces the columns of `x` from `column` on into `out`, which holds the identity and has one element for each
    /// column.
    fn columns(&self, x: &[T], column: usize, out: &mut [T]) {
        let (inner, combine) = (self.inner, self.combine);
        let rows = x.len() / inner;
        if rows <= ROWS {
            if combine.columns(x, inner, column, out) {
                return;
            }
            out.fill(self.identity);
            return wide(
                #[inline(always)]
                || {
                    for row in x.chunks_exact(inner) {
                        let row = &row[column..][..out.len()];
                        for (out, &x) in out.iter_mut().zip(row) {
                            *out = combine.of(*out, x);
                        }
                    }
                },
            );
        }
        let (top, bottom) = x.split_at((rows / 2).next_multiple_of(ROWS) * inner);
        let mut others = [self.identity; COLUMNS];
        let others = &mut others[..out.len()];
        if rows * out.len() < PARALLEL {
            self.columns(top, column, out);
            self.columns(bottom, column, others);
        } else {
            both(|| self.columns(top, column, out), || self.columns(bottom, column, others));
        }
        out.iter_mut().zip(others).for_each(|(out, other)| *out = combine.of(*out, *other));
    }
}
