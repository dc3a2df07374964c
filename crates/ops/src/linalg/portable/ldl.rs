//! LDL factorization with the pivots of Bunch and Kaufman, as LAPACK's `sytf2` and `hetf2` compute it for the lower
//! triangle, and solutions from it. Each matrix of a batch has a place of its own, since pivots have one or two rows.

use super::blocks::{column_numbers, largest, row_numbers, sizes, total, with_batch, zeros};
use crate::control::loops::repeat_while;
use crate::creation::constants::{full, iota};
use crate::elementwise::formula::{Expr, Formula, record};
use crate::linalg::decomposition::permuted;
use crate::linalg::factorization::triangular_solve;
use crate::reduction::reduce_with::arg_extreme;
use crate::shape::axes::broadcast_to;
use crate::shape::rearrange::{expand_dims, slice_axis, squeeze};
use crate::shape::slicing::concatenate;
use crate::sorting::sort::argsort;
use base::error::Result;
use base::types::{DType, ScalarValue, TensorType};
use ir::{NodeId, ReduceOp, Trace, Transposition};
use native::Triangle;

/// Both factors in one matrix, and the pivots.
pub fn ldl(trace: &mut Trace, a: NodeId, hermitian: bool) -> Result<[NodeId; 2]> {
    let (n, _) = sizes(trace, a);
    if n == 0 {
        let of_pivots = with_batch(trace, a, DType::S32, &[0]);
        return Ok([a, zeros(trace, &of_pivots)?]);
    }
    let (of_pivots, of_place) = (with_batch(trace, a, DType::S32, &[1, n]), with_batch(trace, a, DType::S32, &[1, 1]));
    let (pivots, place) = (zeros(trace, &of_pivots)?, zeros(trace, &of_place)?);
    let whole = record(trace, [a], |[a]| {
        let lower = a.tril(-1);
        lower + conjugated(lower, hermitian).transposed() + a.on_diagonal().select(realised(a, hermitian), 0.0)
    })?;
    let goes_on = |trace: &mut Trace, carried: &[NodeId], _: &[NodeId]| {
        record(trace, [carried[2]], |[place]| {
            let axes: Vec<i64> = (0..place.ty().dims.len() as i64).collect();
            place.lt(n).reduce(ReduceOp::Any, &axes, false)
        })
    };
    let step = |trace: &mut Trace, carried: &[NodeId], _: &[NodeId]| {
        let f = Formula::new(trace);
        let [a, pivots, place] = [0, 1, 2].map(|i| f.operand(carried[i]));
        f.finish_all(eliminated(a, pivots, place, hermitian)).map(|made| made.to_vec())
    };
    let made = repeat_while(trace, &[whole, pivots, place], &[], goes_on, step)?;
    let factors = record(trace, [made[0]], |[a]| {
        let lower = a.tril(0);
        if hermitian { lower.on_diagonal().select(realised(lower, true), lower) } else { lower }
    })?;
    Ok([factors, squeeze(trace, made[1], &[-2])?])
}

fn conjugated(x: Expr<'_>, hermitian: bool) -> Expr<'_> {
    if hermitian { x.conjugate() } else { x }
}

/// Without the imaginary parts if the matrices are Hermitian, in the same dtype.
fn realised(x: Expr<'_>, hermitian: bool) -> Expr<'_> {
    if hermitian { x.real_part().convert(x.dtype()) } else { x }
}

/// The column with a number of each matrix, and the row.
fn column<'f>(a: Expr<'f>, number: Expr<'f>) -> Expr<'f> {
    total(column_numbers(a).eq(number).select(a, 0.0), 0)
}

fn row<'f>(a: Expr<'f>, number: Expr<'f>) -> Expr<'f> {
    total(row_numbers(a).eq(number).select(a, 0.0), 1)
}

/// Chooses the pivot at a place, exchanges rows and columns, and eliminates. Whole matrices are kept, with both
/// triangles of what is not eliminated yet. Nothing changes for places behind the last row.
fn eliminated<'f>(a: Expr<'f>, pivots: Expr<'f>, place: Expr<'f>, hermitian: bool) -> [Expr<'f>; 3] {
    let (rows, columns) = (row_numbers(a), column_numbers(a));
    // LAPACK compares |re| + |im|.
    let size = |x: Expr<'f>| if x.is_complex() { x.real().abs() + x.imag().abs() } else { x.abs() };
    let alpha = (1.0 + 17f64.sqrt()) / 8.0;
    let first = size(column(a, place));
    let own = row(first, place);
    let below = rows.gt(place).select(first, -1.0);
    let most = largest(below, 1).max(0.0);
    let candidate = below.apply(|trace, x| arg_extreme(trace, x, -2, true, true, DType::S32));
    let other = size(column(a, candidate));
    let most_of_row = largest((rows.ge(place) & rows.ne(candidate)).select(other, 0.0), 1);
    // NaN is a pivot.
    let stays = !own.lt(most * alpha) | own.ge(most * alpha * (most / most_of_row));
    let is_pair = !(stays | row(other, candidate).ge(most_of_row * alpha));
    let last = place + is_pair.convert(DType::S32);
    let pivot = stays.select(place, candidate);

    let inside = columns.ge(place);
    let (old, new) = (row(a, last), row(a, pivot));
    let a = (inside & rows.eq(last)).select(new, (inside & rows.eq(pivot)).select(old, a));
    let inside = rows.ge(place);
    let (old, new) = (column(a, last), column(a, pivot));
    let a = (inside & columns.eq(last)).select(new, (inside & columns.eq(pivot)).select(old, a));

    let next = place + 1i64;
    let [left, right] = [column(a, place), column(a, next)];
    let diagonal = realised(row(left, place), hermitian);
    let block = Block::of(diagonal, row(left, next), realised(row(right, next), hermitian), is_pair, hermitian);
    // The rows of `L` are solutions for the transposed block.
    let of_pair = block.solved([left, right].map(|x| conjugated(x, hermitian))).map(|x| conjugated(x, hermitian));
    let divisor = diagonal.eq(0.0).select(1.0, diagonal);
    let of_left = is_pair.select(of_pair[0], left / divisor);
    let of_right = is_pair.select(of_pair[1], 0.0);
    // By the columns alone: differences of both triangles would grow if rows were taken from the upper one.
    let [above_left, above_right] = [left, right].map(|x| conjugated(x, hermitian).transposed());
    let product = of_left * above_left + is_pair.select(of_right * above_right, 0.0);
    let (rest, behind) = (rows.gt(last), columns.gt(last));
    let a = a - (rest & behind).select(product, 0.0);
    let a = (rest & columns.eq(place)).select(of_left, a);
    let a = (rest & columns.eq(next) & is_pair).select(of_right, a);
    let number = pivot + 1i64;
    let is_here = columns.eq(place) | (columns.eq(next) & is_pair);
    [a, is_here.select(is_pair.select(-number, number), pivots), last + 1i64]
}

/// Blocks of two rows, symmetric or Hermitian, relative to the element `b` below the diagonal, so that no product
/// overflows.
struct Block<'f> {
    above: Expr<'f>,
    below: Expr<'f>,
    of_a: Expr<'f>,
    of_c: Expr<'f>,
    divisor: Expr<'f>,
}

impl<'f> Block<'f> {
    /// The block with these elements where `exists`.
    fn of(a: Expr<'f>, b: Expr<'f>, c: Expr<'f>, exists: Expr<'f>, hermitian: bool) -> Block<'f> {
        let below = exists.select(b, 1.0);
        let above = conjugated(below, hermitian);
        let (of_a, of_c) = (a / above, c / below);
        Block { above, below, of_a, of_c, divisor: exists.select(of_a * of_c - 1.0, 1.0) }
    }

    fn solved(&self, [x, y]: [Expr<'f>; 2]) -> [Expr<'f>; 2] {
        let (x, y) = (x / self.above, y / self.below);
        [(self.of_c * x - y) / self.divisor, (self.of_a * y - x) / self.divisor]
    }
}

/// The solution of systems, NaN for matrices with a pivot of 0, or with pivots that are none.
pub fn ldl_solve(trace: &mut Trace, factors: NodeId, pivots: NodeId, b: NodeId, hermitian: bool) -> Result<NodeId> {
    if trace.ty(b).dims.contains(&0) {
        return Ok(b);
    }
    let Exchanged { lower, order, is_second, is_valid } = exchanged(trace, factors, pivots)?;
    let solve = |trace: &mut Trace, b: NodeId, transposition: Transposition| {
        triangular_solve(trace, lower, b, Triangle { left_side: true, lower: true, unit_diagonal: true, transposition })
    };
    let x = permuted(trace, b, order)?;
    let x = solve(trace, x, Transposition::NoTranspose)?;
    let f = Formula::new(trace);
    let [factors, x, is_second, is_valid] = [factors, x, is_second, is_valid].map(|id| f.operand(id));
    let (x, is_regular) = by_blocks(factors, x, is_second, hermitian);
    let [x, is_valid] = f.finish_all([x, is_valid & is_regular])?;
    let x = solve(trace, x, if hermitian { Transposition::Adjoint } else { Transposition::Transpose })?;
    let back = argsort(trace, order, -1, false, true, DType::S32)?;
    let x = permuted(trace, x, back)?;
    record(trace, [x, is_valid], |[x, is_valid]| is_valid.select(x, f64::NAN))
}

/// Factors with all exchanges of rows in all columns, and without the elements of blocks.
struct Exchanged {
    lower: NodeId,
    /// Numbers of the rows after all exchanges, `[..., n]`.
    order: NodeId,
    /// Which rows are the second ones of blocks: 1, else 0, `[..., 1, n]`.
    is_second: NodeId,
    /// True for matrices with valid pivots, `[..., 1, 1]`.
    is_valid: NodeId,
}

fn exchanged(trace: &mut Trace, factors: NodeId, pivots: NodeId) -> Result<Exchanged> {
    let (n, _) = sizes(trace, factors);
    let number = |dims: &[i64], trace: &mut Trace| with_batch(trace, factors, DType::S32, dims);
    let (of_order, of_second, of_one) = (number(&[n, 1], trace), number(&[1, n], trace), number(&[1, 1], trace));
    let numbers = iota(trace, &TensorType::new(DType::S32, &[n, 1]), 0)?;
    let order = broadcast_to(trace, numbers, &of_order.dims)?;
    let (second, open) = (zeros(trace, &of_second)?, zeros(trace, &of_one)?);
    let is_valid = full(trace, &TensorType { dtype: DType::Pred, dims: of_one.dims }, ScalarValue::Unsigned(1))?;
    let at = full(trace, &TensorType::new(DType::S32, &[]), ScalarValue::Signed(0))?;
    let pivots = expand_dims(trace, pivots, &[-2])?;
    let goes_on = |trace: &mut Trace, carried: &[NodeId], _: &[NodeId]| record(trace, [carried[5]], |[at]| at.lt(n));
    let step = |trace: &mut Trace, carried: &[NodeId], given: &[NodeId]| {
        let f = Formula::new(trace);
        let [lower, order, second, open, is_valid, at] = [0, 1, 2, 3, 4, 5].map(|i| f.operand(carried[i]));
        let pivots = f.operand(given[0]);
        let columns = column_numbers(lower);
        let number = column(pivots, at);
        let is_second = open.ne(0i64);
        let is_first = number.lt(0i64) & !is_second;
        let pivot = number.abs() - 1i64;
        let fits = pivot.ge(at) & pivot.lt(n);
        let is_valid = is_valid & (is_first | fits) & (!is_second | number.eq(open));
        let pivot = (is_first | !fits).select(at, pivot);
        let start = at - is_second.convert(DType::S32);
        let lower = with_rows_exchanged(lower, [at, pivot], Some(columns.lt(start)));
        let order = with_rows_exchanged(order, [at, pivot], None);
        let second = columns.eq(at).select(is_second.convert(DType::S32), second);
        let open = is_first.select(number, 0i64);
        f.finish_all([lower, order, second, open, is_valid, at + 1i64]).map(|made| made.to_vec())
    };
    let made = repeat_while(trace, &[factors, order, second, open, is_valid, at], &[pivots], goes_on, step)?;
    let f = Formula::new(trace);
    let [lower, open, is_valid, second] = [made[0], made[3], made[4], made[2]].map(|id| f.operand(id));
    let is_second = second.transposed().ne(0i64);
    let of_block = is_second & row_numbers(lower).eq(column_numbers(lower) + 1i64);
    let [lower, is_valid] = f.finish_all([of_block.select(0.0, lower), is_valid & open.eq(0i64)])?;
    let order = squeeze(trace, made[1], &[-1])?;
    Ok(Exchanged { lower, order, is_second: made[2], is_valid })
}

/// Exchanges two rows in the columns `inside`.
fn with_rows_exchanged<'f>(x: Expr<'f>, numbers: [Expr<'f>; 2], inside: Option<Expr<'f>>) -> Expr<'f> {
    let [(here, old), (there, new)] = numbers.map(|number| {
        let mask = row_numbers(x).eq(number);
        (inside.map_or(mask, |inside| mask & inside), row(x, number))
    });
    here.select(new, there.select(old, x))
}

/// Solves `d y = x` for the block diagonal `d` of factors. Also returns whether no pivot is 0.
fn by_blocks<'f>(factors: Expr<'f>, x: Expr<'f>, second: Expr<'f>, hermitian: bool) -> (Expr<'f>, Expr<'f>) {
    let second = second.transposed();
    let (is_second, is_first) = (second.ne(0i64), moved(second, 1).ne(0i64));
    let diagonal = realised(factors.diagonal().as_column(), hermitian);
    let is_below = row_numbers(factors).eq(column_numbers(factors) + 1i64);
    // The element left of the diagonal in each row.
    let off = total(is_below.select(factors, 0.0), 0);
    let of_first = Block::of(diagonal, moved(off, 1), moved(diagonal, 1), is_first, hermitian);
    let of_second = Block::of(moved(diagonal, -1), off, diagonal, is_second, hermitian);
    let [first, _] = of_first.solved([x, moved(x, 1)]);
    let [_, last] = of_second.solved([moved(x, -1), x]);
    let is_zero = !is_first & !is_second & diagonal.eq(0.0);
    let divisor = is_zero.select(1.0, diagonal);
    let solution = is_first.select(first, is_second.select(last, x / divisor));
    let axes = solution.ty().dims.len() as i64 - 2;
    (solution, !is_zero.reduce(ReduceOp::Any, &[axes], true))
}

/// The rows moved up by one, or down for -1; 0 comes in.
fn moved(x: Expr<'_>, by: i64) -> Expr<'_> {
    x.apply(|trace, x| {
        let (n, _) = sizes(trace, x);
        let mut ty = trace.ty(x);
        let rank = ty.dims.len();
        ty.dims[rank - 2] = 1;
        let zero = zeros(trace, &ty)?;
        let parts = match by {
            1 => [slice_axis(trace, x, -2, 1, n, 1)?, zero],
            _ => [zero, slice_axis(trace, x, -2, 0, n - 1, 1)?],
        };
        concatenate(trace, &parts, -2)
    })
}
