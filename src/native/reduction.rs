//! Reductions. Every sum is a tree: blocks are summed in many independent accumulators and combined pairwise, which is
//! both fast and accurate. The tree depends on the shape alone, never on the number of threads.

use super::array::Array;
use super::combine::{Combine, Greater, Smaller};
use super::convert::convert;
use super::element::unsupported;
use super::element::{Element, by_integer_width};
use super::parallel::{both, collect};
use super::wide::wide;
use crate::error::Result;
use crate::ir::ReduceOp;
use crate::types::{DType, TensorType};
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

#[cfg(test)]
mod tests {
    use super::super::functions::Real;
    use super::super::testing::{Typed, apply, array, counted, numbers, preds, row};
    use super::*;
    use crate::ir::{Op, encode};
    use crate::ops::evaluate;
    use crate::ops::reduction::ReduceAttributes;
    use crate::types::Axes;
    use half::{bf16, f16};

    fn over<T: Typed>(op: ReduceOp, x: &Array, axes: &[i64], dims: &[i64]) -> Vec<T> {
        let attributes = ReduceAttributes { axes: Axes::from_slice(axes) };
        apply(Op::Reduce(op), &TensorType::new(T::DTYPE, dims), &attributes, &[x])
    }

    #[test]
    fn any_axes() {
        let x = counted(&[2, 3, 4]);
        assert_eq!(over::<i32>(ReduceOp::Sum, &x, &[0, 1, 2], &[]), [276]);
        assert_eq!(over::<i32>(ReduceOp::Sum, &x, &[2], &[2, 3]), [6, 22, 38, 54, 70, 86]);
        assert_eq!(over::<i32>(ReduceOp::Sum, &x, &[1], &[2, 1, 4]), [12, 15, 18, 21, 48, 51, 54, 57]);
        assert_eq!(over::<i32>(ReduceOp::Sum, &x, &[0, 2], &[3]), [60, 92, 124]);
        assert_eq!(over::<i32>(ReduceOp::Max, &x, &[0], &[3, 4]), (12..24).collect::<Vec<i32>>());
        assert_eq!(over::<i32>(ReduceOp::Min, &x, &[1, 2], &[2]), [0, 12]);
        assert_eq!(over::<i32>(ReduceOp::Sum, &counted(&[1, 3, 1]), &[0, 2], &[3]), [0, 1, 2]);
    }

    #[test]
    fn empty_reductions_give_the_identity() {
        let floats = |op| over::<f32>(op, &array::<f32>(&[2, 0], &[]), &[1], &[2]);
        assert_eq!(floats(ReduceOp::Sum), [0.0; 2]);
        assert_eq!(floats(ReduceOp::Product), [1.0; 2]);
        assert_eq!(floats(ReduceOp::Max), [f32::NEG_INFINITY; 2]);
        assert_eq!(floats(ReduceOp::Min), [f32::INFINITY; 2]);
        assert_eq!(over::<i8>(ReduceOp::Max, &array::<i8>(&[0, 3], &[]), &[0], &[3]), [i8::MIN; 3]);
        assert_eq!(over::<u16>(ReduceOp::Min, &array::<u16>(&[0], &[]), &[0], &[]), [u16::MAX]);
        assert_eq!(over::<f16>(ReduceOp::Max, &array::<f16>(&[0], &[]), &[0], &[]), [f16::NEG_INFINITY]);
        assert!(over::<i32>(ReduceOp::Sum, &array::<i32>(&[0, 2], &[]), &[1], &[0]).is_empty());
    }

    #[test]
    fn nan_wins_and_pred_is_logic() {
        for at in [0, 1, 50, 99] {
            let mut x = [1.0f32; 100];
            x[at] = f32::NAN;
            assert!(over::<f32>(ReduceOp::Max, &row(&x), &[0], &[])[0].is_nan());
            assert!(over::<f32>(ReduceOp::Min, &array(&[50, 2], &x), &[0], &[2])[at % 2].is_nan());
        }
        let ty = TensorType::new(DType::Pred, &[]);
        for (x, all, any) in [([0, 0], 0, 0), ([0, 1], 0, 1), ([1, 1], 1, 1)] {
            let run = |op| {
                let attributes = ReduceAttributes { axes: Axes::from_slice(&[0]) };
                apply::<u8>(Op::Reduce(op), &ty, &attributes, &[&preds(&x)])
            };
            assert_eq!((run(ReduceOp::All), run(ReduceOp::Any)), (vec![all], vec![any]));
        }
    }

    #[test]
    fn extremes_are_those_of_one_after_the_other() {
        let special = [1.0f64, -1.0, 0.0, -0.0, 0.5, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
        let mut state = 1u32;
        let mut random = |below: usize| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) as usize % below
        };
        for (rows, columns) in [(1, 17), (1, 100), (1, 3001), (150, 40), (70, 2500), (3, 5)].repeat(8) {
            let kinds = 1 + random(special.len());
            let x: Vec<f64> = (0..rows * columns).map(|_| special[random(kinds)]).collect();
            for (op, better) in [(ReduceOp::Max, f64::greater as fn(f64, f64) -> f64), (ReduceOp::Min, f64::smaller)] {
                let best = |x: &mut dyn Iterator<Item = f64>| x.reduce(better).unwrap();
                let same = |got: &[f64], want: &[f64]| {
                    let bits = |x: &[f64]| x.iter().map(|x| x.to_bits()).collect::<Vec<u64>>();
                    assert_eq!(bits(got), bits(want), "{op:?} {rows} {columns}");
                };
                let dims = [rows as i64, columns as i64];
                same(&over(op, &array(&dims, &x), &[0, 1], &[]), &[best(&mut x.iter().copied())]);
                let of_columns: Vec<f64> =
                    (0..columns).map(|i| best(&mut x.iter().copied().skip(i).step_by(columns))).collect();
                same(&over(op, &array(&dims, &x), &[0], &dims[1..]), &of_columns);
                let narrow: Vec<f32> = x.iter().map(|&x| x as f32).collect();
                let of_rows: Vec<f64> = x.chunks(columns).map(|row| best(&mut row.iter().copied())).collect();
                let got: Vec<f32> = over(op, &array(&dims, &narrow), &[1], &dims[..1]);
                same(&got.iter().map(|&x| x.into()).collect::<Vec<f64>>(), &of_rows);
            }
        }
    }

    #[test]
    fn large_sums_are_accurate() {
        for dims in [vec![3_000_001], vec![1500, 2000]] {
            let x: Vec<f32> = (0..crate::types::count(&dims)).map(|i| 0.1 + (i % 7) as f32 * 1e-3).collect();
            let truth: f64 = x.iter().map(|&x| f64::from(x)).sum();
            let axes: Vec<i64> = (0..dims.len() as i64).collect();
            let sum = over::<f32>(ReduceOp::Sum, &array(&dims, &x), &axes, &[])[0];
            assert!((f64::from(sum) - truth).abs() < 1e-6 * truth, "{sum} {truth}");
            if let [rows, columns] = dims[..] {
                let sums = over::<f32>(ReduceOp::Sum, &array(&dims, &x), &[0], &[columns]);
                for (column, &sum) in sums.iter().enumerate() {
                    let of = (0..rows as usize).map(|row| f64::from(x[row * columns as usize + column]));
                    let truth: f64 = of.sum();
                    assert!((f64::from(sum) - truth).abs() < 1e-6 * truth, "{sum} {truth}");
                }
            }
        }
    }

    #[test]
    fn every_dtype_and_halves_accumulate_wide() {
        for dtype in numbers() {
            let x = convert(&row(&[1i32, 2, 3, 2, 1]), dtype).unwrap();
            let run = |op| {
                let ty = TensorType::new(dtype, &[]);
                let words = encode(&ReduceAttributes { axes: Axes::from_slice(&[0]) });
                let result = evaluate(Op::Reduce(op), &ty, &words, None, &[&x]).unwrap();
                convert(&result, DType::S32).unwrap().elements::<i32>()[0]
            };
            assert_eq!((run(ReduceOp::Sum), run(ReduceOp::Product)), (9, 12), "{dtype}");
            if !matches!(dtype, DType::C64 | DType::C128) {
                assert_eq!((run(ReduceOp::Max), run(ReduceOp::Min)), (3, 1), "{dtype}");
            }
        }
        assert_eq!(over::<bf16>(ReduceOp::Sum, &row(&[bf16::ONE; 1000]), &[0], &[])[0].to_f32(), 1000.0);
        assert_eq!(over::<i8>(ReduceOp::Sum, &row(&[100i8; 3]), &[0], &[]), [44]);
    }
}
