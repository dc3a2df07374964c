//! Balancing of square matrices: a diagonal matrix of powers of 2, `d`, for which the largest elements of each row and
//! column of `d^-1 a d` beside the diagonal are of similar size (Osborne, 1960). A function of `a` is then
//! `d f(d^-1 a d) d^-1`, with no rounding but where it over- or underflows.

use crate::control::custom::stop_gradient;
use crate::control::loops::repeat_while;
use crate::elementwise::formula::{Expr, Formula, record};
use base::error::Result;
use base::types::DType;
use ir::{NodeId, ReduceOp, Trace};

/// Exponent of an element that does not count: of a zero, of a subnormal number, and of the diagonal.
const NONE: f64 = -1e6;

/// Largest number of steps. A long chain of elements far from the diagonal's size takes more, and stays as it is.
const STEPS: i64 = 1024;

/// Records the 1-norms of matrices, `[..., 1, 1]`, as constants of derivatives.
pub(super) fn norm_1<'f>(a: Expr<'f>) -> Expr<'f> {
    let rank = a.ty().dims.len() as i64;
    a.apply(stop_gradient).abs().reduce(ReduceOp::Sum, &[rank - 2], true).reduce(ReduceOp::Max, &[rank - 1], true)
}

/// Whether any element is true.
pub(super) fn any(x: Expr) -> Expr {
    let axes: Vec<i64> = (0..x.ty().dims.len() as i64).collect();
    x.reduce(ReduceOp::Any, &axes, false)
}

/// Records two factors whose product scales the elements of square matrices to balanced matrices. They are 1 for a
/// matrix whose 1-norm is at most `limit`, and for a matrix whose norm balancing would not even halve.
pub(super) fn balancing(trace: &mut Trace, a: NodeId, limit: f64) -> Result<[NodeId; 2]> {
    let exponents = exponents(trace, a, limit)?;
    let f = Formula::new(trace);
    let [a, exponents] = [a, exponents].map(|id| f.operand(id));
    let difference = exponents.as_row() - exponents.as_column();
    // Two factors, since their product may be beyond the largest number. Where the difference is beyond both, balanced
    // elements are 0 or negligible.
    let largest = if a.is_double() { 1000.0 } else { 120.0 };
    let half = (difference * 0.5).floor().max(-largest).min(largest);
    let rest = (difference - half).max(-largest).min(largest);
    let factors = [half, rest].map(power_of_2);
    let norms = [scaled(a, factors), a].map(norm_1);
    let is_better = norms[0].lt(norms[1] * 0.5);
    let one = factors[0].number(1.0).broadcast(&factors[0].ty().dims);
    f.finish_all(factors.map(|factor| is_better.select(factor, one)))
}

/// Scales elements by both factors.
pub(super) fn scaled<'f>(a: Expr<'f>, factors: [Expr<'f>; 2]) -> Expr<'f> {
    factors.into_iter().fold(a, |a, factor| a * factor.convert(a.dtype()))
}

/// Records for each matrix the exponents of `d`, whole numbers `[..., n]`.
fn exponents(trace: &mut Trace, a: NodeId, limit: f64) -> Result<NodeId> {
    let f = Formula::new(trace);
    let a = f.operand(a);
    // A sum of finite elements may overflow.
    let rank = a.ty().dims.len() as i64;
    let size = a.apply(stop_gradient).abs().reduce(ReduceOp::Max, &[rank - 2, rank - 1], true);
    let is_active = norm_1(a).gt(limit) & size.lt(f64::INFINITY);
    let sizes = a.on_diagonal().select(NONE, exponent(a.apply(stop_gradient).abs()));
    let mut dims = sizes.ty().dims;
    let n = dims.pop().expect("a matrix has two axes");
    let [exponents, steps] = [sizes.number(0.0).broadcast(&dims), sizes.number(0.0)];
    let first = f.finish_all([exponents, any(is_active), steps])?;
    let given = f.finish_all([sizes, is_active])?;
    let largest = (64 + n.saturating_mul(n)).min(STEPS) as f64;
    let goes_on = |trace: &mut Trace, state: &[NodeId], _: &[NodeId]| {
        record(trace, [state[1], state[2]], |[moves, steps]| moves & steps.lt(largest))
    };
    let last = repeat_while(trace, &first, &given, goes_on, |trace, state, given| {
        let f = Formula::new(trace);
        let [exponents, steps] = [0, 2].map(|i| f.operand(state[i]));
        let [sizes, is_active] = [0, 1].map(|i| f.operand(given[i]));
        let rank = sizes.ty().dims.len() as i64;
        let scaled = sizes + exponents.as_row() - exponents.as_column();
        // Elements below 1 need no scaling.
        let [row, column] = [rank - 1, rank - 2].map(|axis| scaled.reduce(ReduceOp::Max, &[axis], false).max(0.0));
        let difference = is_active.reduce(ReduceOp::Any, &[rank - 1], false).select(row - column, 0.0);
        // Half of what balances a row alone, since the other rows move at the same time.
        let moved = exponents + difference * 0.25;
        f.finish_list(&[moved, any(difference.abs().gt(2.0)), steps + 1.0])
    })?;
    record(trace, [last[0]], |[exponents]| exponents.round())
}

/// Dtype of the bits of a float, number of bits of its mantissa, and what is added to its exponent.
fn layout(x: Expr) -> (DType, f64, f64) {
    if x.is_double() { (DType::U64, 52.0, 1023.0) } else { (DType::U32, 23.0, 127.0) }
}

/// The exponents of floats that are not negative.
fn exponent(x: Expr) -> Expr {
    let (bits, mantissa, bias) = layout(x);
    let field = x.bits(bits).shift_right_logical(mantissa).convert(x.dtype());
    field.eq(0.0).select(NONE, field - bias)
}

/// 2 to the power of whole numbers that are exponents of normal numbers.
fn power_of_2(k: Expr) -> Expr {
    let (bits, mantissa, bias) = layout(k);
    ((k + bias).convert(bits) * mantissa.exp2()).bits(k.dtype())
}
