//! QR factorization by Householder reflections, as LAPACK's `geqrf` and `ungqr` compute it: panels of columns, whose
//! reflections are applied to the columns at their right as `I - V T V^H` (R. Schreiber and C. Van Loan, "A
//! storage-efficient WY representation for products of Householder transformations", 1989).

use super::blocks::{
    column_at, column_numbers, columns, identities, norms, panel_width, replaced, row_numbers, rows_from, rows_to,
    scaled, sizes, total, with_batch, zeros,
};
use crate::control::loops::repeat_while;
use crate::creation::constants::full;
use crate::elementwise::formula::{Expr, Formula, record};
use crate::shape::rearrange::squeeze;
use crate::shape::slicing::concatenate;
use base::error::Result;
use base::types::{DType, ScalarValue, TensorType};
use ir::{NodeId, Trace};

/// `q` and `r`; `q` is square if `full`.
pub fn qr(trace: &mut Trace, a: NodeId, full: bool) -> Result<[NodeId; 2]> {
    let (m, n) = sizes(trace, a);
    let inner = if full { m } else { m.min(n) };
    let (packed, factors) = factored(trace, a)?;
    let q = orthogonal(trace, packed, factors, inner)?;
    let r = rows_to(trace, packed, inner)?;
    Ok([q, record(trace, [r], |[r]| r.triu(0))?])
}

/// `q` with as many columns as the smaller size, the packed factors, and the factors of the reflections.
pub fn reflectors(trace: &mut Trace, a: NodeId) -> Result<[NodeId; 3]> {
    let (m, n) = sizes(trace, a);
    let (packed, factors) = factored(trace, a)?;
    Ok([orthogonal(trace, packed, factors, m.min(n))?, packed, factors])
}

/// The upper triangular factor with the vectors of the reflections below its diagonal, and their factors, as `geqrf`
/// returns them. Matrices of very large or small elements are scaled: squares of these overflow or underflow.
fn factored(trace: &mut Trace, a: NodeId) -> Result<(NodeId, NodeId)> {
    let (m, n) = sizes(trace, a);
    if m.min(n) == 0 {
        let ty = with_batch(trace, a, trace.node(a).dtype, &[0]);
        return Ok((a, zeros(trace, &ty)?));
    }
    let usual = if trace.node(a).dtype.real() == DType::F64 { 1e-100..=1e100 } else { 1e-10..=1e10 };
    let (scaled, scale) = scaled(trace, a, usual)?;
    let (packed, factors) = panels(trace, scaled)?;
    let packed = record(trace, [packed, scale], |[packed, scale]| {
        packed.triu(0) * scale.convert(packed.dtype()) + packed.tril(-1)
    })?;
    Ok((packed, factors))
}

fn panels(trace: &mut Trace, a: NodeId) -> Result<(NodeId, NodeId)> {
    let (m, n) = sizes(trace, a);
    let (least, width) = (m.min(n), panel_width(m.min(n)));
    let (mut packed, mut factors) = (a, Vec::new());
    for start in (0..least).step_by(width as usize) {
        let stop = (start + width).min(least);
        let below = rows_from(trace, packed, start)?;
        let panel = columns(trace, below, start, stop)?;
        let (panel, factor) = panel_factored(trace, panel)?;
        packed = replaced(trace, packed, panel, (start, start))?;
        factors.push(factor);
        if stop < n {
            let right = columns(trace, below, stop, n)?;
            let updated = record(trace, [panel, factor, right], |[panel, factor, right]| {
                let v = vectors(panel);
                right - v.at(block_factor(v, factor).adjoint().at(v.adjoint().at(right)))
            })?;
            packed = replaced(trace, packed, updated, (start, stop))?;
        }
    }
    Ok((packed, concatenate(trace, &factors, -1)?))
}

/// The first columns of the product of the reflections, from the last panel to the first.
fn orthogonal(trace: &mut Trace, packed: NodeId, factors: NodeId, count: i64) -> Result<NodeId> {
    let (m, n) = sizes(trace, packed);
    let (least, width) = (m.min(n), panel_width(m.min(n)));
    let mut q = identities(trace, packed, m, count)?;
    for start in (0..least).step_by(width as usize).collect::<Vec<i64>>().into_iter().rev() {
        let stop = (start + width).min(least);
        let below = rows_from(trace, packed, start)?;
        let panel = columns(trace, below, start, stop)?;
        let factor = columns(trace, factors, start, stop)?;
        let part = rows_from(trace, q, start)?;
        let part = columns(trace, part, start, count)?;
        let turned = record(trace, [panel, factor, part], |[panel, factor, part]| {
            let v = vectors(panel);
            part - v.at(block_factor(v, factor).at(v.adjoint().at(part)))
        })?;
        q = replaced(trace, q, turned, (start, start))?;
    }
    Ok(q)
}

/// The vectors of the reflections of a panel: the part below the diagonal, and ones on it.
fn vectors(panel: Expr<'_>) -> Expr<'_> {
    panel.on_diagonal().select(1.0, panel.tril(-1))
}

/// The matrix `T` of a product of reflections `I - V T V^H`, whose inverse is the strict upper triangle of `V^H V` plus
/// the inverses of the factors.
fn block_factor<'f>(v: Expr<'f>, factors: Expr<'f>) -> Expr<'f> {
    let products = v.adjoint().at(v).triu(1) * factors.as_column();
    let on_diagonal = products.on_diagonal().select(factors.as_row(), 0.0);
    products.solve(on_diagonal, false, true)
}

/// Factors a panel with at least as many rows as columns, column by column.
fn panel_factored(trace: &mut Trace, panel: NodeId) -> Result<(NodeId, NodeId)> {
    let (_, width) = sizes(trace, panel);
    let ty = with_batch(trace, panel, trace.node(panel).dtype, &[1, width]);
    let factors = zeros(trace, &ty)?;
    let first = full(trace, &TensorType::new(DType::S32, &[]), ScalarValue::Signed(0))?;
    let goes_on =
        |trace: &mut Trace, carried: &[NodeId], _: &[NodeId]| record(trace, [carried[2]], |[at]| at.lt(width));
    let step = |trace: &mut Trace, carried: &[NodeId], _: &[NodeId]| {
        let f = Formula::new(trace);
        let [panel, factors, at] = [0, 1, 2].map(|i| f.operand(carried[i]));
        let (panel, factors) = reflected(panel, factors, at);
        f.finish_all([panel, factors, at + 1i64]).map(|made| made.to_vec())
    };
    let made = repeat_while(trace, &[panel, factors, first], &[], goes_on, step)?;
    Ok((made[0], squeeze(trace, made[1], &[-2])?))
}

/// Reflects the columns of a panel from a number on, so that the elements of the first of them below the diagonal are 0.
fn reflected<'f>(panel: Expr<'f>, factors: Expr<'f>, at: Expr<'f>) -> (Expr<'f>, Expr<'f>) {
    let column = column_at(panel, at);
    let rows = row_numbers(panel);
    let (here, below) = (rows.eq(at), rows.gt(at));
    // Elements this small are rounding errors of columns that depend on others, and count as 0: quotients of subnormal
    // numbers have few bits, and reflections by them would not be unitary.
    let least = if panel.dtype().real() == DType::F64 { 1e-290 } else { 1e-30 };
    let column = (rows.ge(at) & column.abs().lt(least)).select(0.0, column);
    let alpha = total(here.select(column, 0.0), 1);
    let tail = below.select(column, 0.0);
    let rest = norms(tail);
    let is_done = rest.eq(0.0) & alpha.imag().eq(0.0);
    let size = size_of(alpha.abs(), rest);
    let re = alpha.real_part();
    let beta = is_done.select(1.0, re.lt(0.0).select(size, -size));
    let dtype = panel.dtype();
    let factor = match panel.is_complex() {
        true => ((beta - re) / beta).complex(-alpha.imag() / beta),
        false => (beta - re) / beta,
    };
    let factor = is_done.select(0.0, factor);
    let beta = beta.convert(dtype);
    let v = here.select(1.0, tail / is_done.select(1.0, alpha - beta));

    let (own, later) = (column_numbers(panel).eq(at), column_numbers(panel).gt(at));
    let products = v.adjoint().at(panel);
    let panel = panel - later.select(v * products * factor.conjugate(), 0.0);
    let kept = here.select(is_done.select(alpha, beta), below.select(v, column));
    (own.select(kept, panel), own.select(factor, factors))
}

/// `sqrt(x^2 + y^2)` for numbers that are not negative, without overflow.
fn size_of<'f>(x: Expr<'f>, y: Expr<'f>) -> Expr<'f> {
    let most = x.max(y);
    let scale = most.eq(0.0).select(1.0, most);
    let (x, y) = (x / scale, y / scale);
    most * (x * x + y * y).sqrt()
}
