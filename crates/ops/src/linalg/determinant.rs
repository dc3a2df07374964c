//! Determinants, with the derivatives of singular matrices.

use super::decomposition::{Matrices, lu, permuted};
use super::systems::DTYPES;
use crate::control::apply::Applied;
use crate::control::custom::{CustomKind, custom_call_of, stop_gradient};
use crate::control::loops::body;
use crate::creation::constants::iota;
use crate::definition::Composed;
use crate::elementwise::convert::convert;
use crate::elementwise::formula::{Expr, Formula, record, widened};
use base::error::Result;
use base::types::{DType, TensorType, float_limits};
use ir::{NodeId, ReduceOp, Trace, UnaryOp};

/// Table entries of the composed operations.
pub(crate) const COMPOSED: &[Composed] = &[
    Composed { name: "determinant", function: "lxla_determinant", dtypes: DTYPES },
    Composed { name: "slogdet", function: "lxla_slogdet", dtypes: DTYPES },
];

/// Multiple of epsilon times the largest element that replaces a pivot of 0 in derivatives.
const UNITS: f64 = 16.0;

/// Whether an even (1) or an odd number (-1) of rows is exchanged, as numbers like the factors.
fn parity<'f>(factors: Expr<'f>, pivots: Expr<'f>) -> Expr<'f> {
    let last = pivots.ty().dims.len() as i64 - 1;
    let n = pivots.size_from_last(0);
    let places = pivots.apply(|trace, _| iota(trace, &TensorType::new(DType::S32, &[n]), 0));
    let exchanges = pivots.ne(places).convert(DType::S32).reduce(ReduceOp::Sum, &[last], false);
    (exchanges % 2i64).eq(0i64).select(factors.number(1.0), factors.number(-1.0))
}

/// Records the diagonal of the upper factor of wide matrices, and the parity of the exchanges.
fn diagonal_and_parity(trace: &mut Trace, a: NodeId) -> Result<[NodeId; 2]> {
    let [factors, pivots, _] = lu(trace, a)?;
    let f = Formula::new(trace);
    let [factors, pivots] = [factors, pivots].map(|id| f.operand(id));
    f.finish_all([factors.diagonal(), parity(factors, pivots)])
}

/// Records the determinants of wide matrices: products of the diagonals of the upper factors.
fn product_of_diagonal(trace: &mut Trace, a: NodeId) -> Result<NodeId> {
    let [diagonal, parity] = diagonal_and_parity(trace, a)?;
    record(trace, [diagonal, parity], |[diagonal, parity]| {
        let last = diagonal.ty().dims.len() as i64 - 1;
        diagonal.reduce(ReduceOp::Product, &[last], false) * parity
    })
}

/// Records the determinants of square matrices.
pub fn determinant(trace: &mut Trace, a: NodeId) -> Result<NodeId> {
    let of = Matrices::square("determinant", "a", &trace.ty(a))?;
    let wide = convert(trace, a, widened(of.dtype));
    let types = [trace.ty(wide)];
    let made = if of.rows == 0 {
        product_of_diagonal(trace, wide)?
    } else {
        let value = body(&types, &[], |trace, given, _| Ok(vec![product_of_diagonal(trace, given[0])?]))?;
        let smooth = body(&types, &[], |trace, given, _| Ok(vec![away_from_zero(trace, given[0])?]))?;
        let bodies = [&value, &smooth].map(|body| Applied { body, captures: &[] });
        custom_call_of(trace, CustomKind::Substitute, &bodies, &[wide])?[0]
    };
    Ok(convert(trace, made, of.dtype))
}

/// Records the determinants of wide matrices, whose derivatives are the cofactors, also of singular matrices.
///
/// The derivative of the upper factor divides by the pivots. Where a pivot is 0, a constant is added to the matrix that
/// replaces the pivot by a number of the size of a factorization's rounding error; cofactors are polynomials of the
/// elements, and change by about as much. The upper factor may have more zeros on its diagonal than its rank is short of
/// n, as the upper factor of a shift matrix has. So the transpose of the upper factor is factorized again, which exchanges
/// columns.
fn away_from_zero(trace: &mut Trace, a: NodeId) -> Result<NodeId> {
    let constant = stop_gradient(trace, a)?;
    let [first, first_pivots, rows] = lu(trace, constant)?;
    let transposed = record(trace, [first], |[factors]| factors.triu(0).transposed())?;
    let [second, second_pivots, columns] = lu(trace, transposed)?;
    let is_zero = record(trace, [second], |[factors]| factors.diagonal().eq(0.0))?;
    let shift = record(trace, [constant, first, second, is_zero], |[a, first, second, is_zero]| {
        let [lower, columns] = [first, second].map(|factors| factors.tril(-1) + factors.identity());
        let steps = is_zero.select(step(a).convert(a.dtype()), 0.0);
        (columns * steps.as_row()).at(lower.transposed())
    })?;
    let shift = stop_gradient(trace, shift)?;
    let moved = permuted(trace, a, rows)?;
    let moved = record(trace, [moved], |[moved]| moved.transposed())?;
    let moved = permuted(trace, moved, columns)?;
    let moved = record(trace, [moved, shift], |[moved, shift]| moved + shift)?;
    let found = product_of_diagonal(trace, moved)?;
    let f = Formula::new(trace);
    let [found, is_zero] = [found, is_zero].map(|id| f.operand(id));
    let [rows, columns] = [[first, first_pivots], [second, second_pivots]]
        .map(|[factors, pivots]| parity(f.operand(factors), f.operand(pivots)));
    let found = found * rows * columns;
    let last = is_zero.ty().dims.len() as i64 - 1;
    let is_singular = is_zero.reduce(ReduceOp::Any, &[last], false);
    // The value of the determinant of a singular matrix is 0.
    f.finish(is_singular.select(found - found.apply(stop_gradient), found))
}

/// Returns the number that replaces a pivot of 0: [`UNITS`] times the epsilon of the dtype times the largest element of
/// the matrix. The result has one number for each matrix, `[..., 1]`.
fn step(a: Expr) -> Expr {
    let limits = float_limits(a.dtype().real()).expect("the limits of a float");
    let rank = a.ty().dims.len() as i64;
    let largest = a.abs().reduce(ReduceOp::Max, &[rank - 2, rank - 1], false).as_column();
    (largest * (UNITS * limits.eps)).max(limits.smallest_normal)
}

/// Records the sign (or phase) and the logarithm of the absolute value of determinants.
pub fn slogdet(trace: &mut Trace, a: NodeId) -> Result<[NodeId; 2]> {
    let of = Matrices::square("slogdet", "a", &trace.ty(a))?;
    let wide = convert(trace, a, widened(of.dtype));
    let [diagonal, parity] = diagonal_and_parity(trace, wide)?;
    let f = Formula::new(trace);
    let [diagonal, parity] = [diagonal, parity].map(|id| f.operand(id));
    let last = diagonal.ty().dims.len() as i64 - 1;
    let sign = diagonal.unary(UnaryOp::Sign).reduce(ReduceOp::Product, &[last], false) * parity;
    let log = diagonal.abs().log().reduce(ReduceOp::Sum, &[last], false);
    f.finish_all([sign.convert(of.dtype), log.convert(of.dtype.real())])
}
