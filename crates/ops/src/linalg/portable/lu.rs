//! LU factorization with partial pivoting, as LAPACK's `getrf` computes it: panels of columns, then a triangular solve
//! and a product for the columns at their right.

use super::blocks::{
    column_at, column_numbers, columns, panel_width, replaced, row_numbers, rows_from, rows_to, sizes, total,
    with_batch, zeros,
};
use crate::control::loops::repeat_while;
use crate::creation::constants::{full, iota};
use crate::elementwise::formula::{Expr, Formula, record};
use crate::indexing::along::take_along_axis;
use crate::linalg::decomposition::permuted;
use crate::reduction::reduce_with::arg_extreme;
use crate::shape::axes::broadcast_to;
use crate::shape::rearrange::{slice_axis, squeeze};
use crate::shape::slicing::concatenate;
use base::error::Result;
use base::types::{DType, ScalarValue, TensorType};
use ir::{NodeId, Trace};

/// Both factors in one matrix, the pivots and the permutation.
pub fn lu(trace: &mut Trace, a: NodeId) -> Result<[NodeId; 3]> {
    let (m, n) = sizes(trace, a);
    let (least, width) = (m.min(n), panel_width(m.min(n)));
    let of_rows = with_batch(trace, a, DType::S32, &[m]);
    let numbers = iota(trace, &TensorType::new(DType::S32, &[m]), 0)?;
    let mut order = broadcast_to(trace, numbers, &of_rows.dims)?;
    let (mut packed, mut pivots) = (a, Vec::new());
    for start in (0..least).step_by(width as usize) {
        let stop = (start + width).min(least);
        let below = rows_from(trace, packed, start)?;
        let panel = columns(trace, below, start, stop)?;
        let panel = panel_factored(trace, panel)?;
        // The rows at the left and at the right are exchanged as those of the panel were.
        let below = permuted(trace, below, panel.order)?;
        let below = replaced(trace, below, panel.factors, (0, start))?;
        let below = if stop < n { updated(trace, below, panel.factors, stop)? } else { below };
        packed = replaced(trace, packed, below, (start, 0))?;
        let rest = slice_axis(trace, order, -1, start, i64::MAX, 1)?;
        let rest = take_along_axis(trace, rest, panel.order, -1)?;
        let head = slice_axis(trace, order, -1, 0, start, 1)?;
        order = concatenate(trace, &[head, rest], -1)?;
        pivots.push(record(trace, [panel.pivots], |[pivots]| pivots + start)?);
    }
    let of_pivots = with_batch(trace, a, DType::S32, &[least]);
    let pivots = if pivots.is_empty() { zeros(trace, &of_pivots)? } else { concatenate(trace, &pivots, -1)? };
    Ok([packed, pivots, order])
}

/// Rows below a panel's first one, with the columns from `stop` on eliminated by the panel.
fn updated(trace: &mut Trace, below: NodeId, panel: NodeId, stop: i64) -> Result<NodeId> {
    let width = sizes(trace, panel).1;
    let right = columns(trace, below, stop, i64::MAX)?;
    let (top, head) = (rows_to(trace, panel, width)?, rows_to(trace, right, width)?);
    let head = record(trace, [top, head], |[top, head]| top.solve(head, true, true))?;
    let (lower, tail) = (rows_from(trace, panel, width)?, rows_from(trace, right, width)?);
    let tail = record(trace, [lower, tail, head], |[lower, tail, head]| tail - lower.at(head))?;
    let right = concatenate(trace, &[head, tail], -2)?;
    replaced(trace, below, right, (0, stop))
}

/// A panel whose columns are eliminated.
struct Panel {
    factors: NodeId,
    /// The row that each row was before.
    order: NodeId,
    /// The row with which each row was exchanged, in their order.
    pivots: NodeId,
}

fn panel_factored(trace: &mut Trace, panel: NodeId) -> Result<Panel> {
    let (rows, width) = sizes(trace, panel);
    let (of_order, of_pivots) =
        (with_batch(trace, panel, DType::S32, &[rows, 1]), with_batch(trace, panel, DType::S32, &[1, width]));
    let numbers = iota(trace, &TensorType::new(DType::S32, &[rows, 1]), 0)?;
    let order = broadcast_to(trace, numbers, &of_order.dims)?;
    let pivots = zeros(trace, &of_pivots)?;
    let first = full(trace, &TensorType::new(DType::S32, &[]), ScalarValue::Signed(0))?;
    let goes_on =
        |trace: &mut Trace, carried: &[NodeId], _: &[NodeId]| record(trace, [carried[3]], |[at]| at.lt(width));
    let step = |trace: &mut Trace, carried: &[NodeId], _: &[NodeId]| {
        let f = Formula::new(trace);
        let [panel, order, pivots, at] = [0, 1, 2, 3].map(|i| f.operand(carried[i]));
        let [panel, order, pivots] = eliminated(panel, order, pivots, at);
        f.finish_all([panel, order, pivots, at + 1i64]).map(|made| made.to_vec())
    };
    let made = repeat_while(trace, &[panel, order, pivots, first], &[], goes_on, step)?;
    let (order, pivots) = (squeeze(trace, made[1], &[-1])?, squeeze(trace, made[2], &[-2])?);
    Ok(Panel { factors: made[0], order, pivots })
}

/// Exchanges a row of a panel with the one whose element in the column with its number is largest, and eliminates the
/// column below it.
fn eliminated<'f>(panel: Expr<'f>, order: Expr<'f>, pivots: Expr<'f>, at: Expr<'f>) -> [Expr<'f>; 3] {
    let column = column_at(panel, at);
    let rows = row_numbers(panel);
    let (here, below) = (rows.eq(at), rows.gt(at));
    // LAPACK compares |re| + |im|.
    let sizes = match panel.is_complex() {
        true => column.real_part().abs() + column.imag().abs(),
        false => column.abs(),
    };
    let candidates = rows.lt(at).select(-1.0, sizes);
    let pivot = candidates.apply(|trace, x| arg_extreme(trace, x, -2, true, true, DType::S32));
    let chosen = rows.eq(pivot);

    let exchanged = |x: Expr<'f>, zero: Expr<'f>| {
        let (old, new) = (total(here.select(x, zero), 1), total(chosen.select(x, zero), 1));
        (here.select(new, chosen.select(old, x)), new)
    };
    let (panel, top) = exchanged(panel, panel.number(0.0));
    let (order, _) = exchanged(order, order.constant(ScalarValue::Signed(0)));
    let (own, later) = (column_numbers(panel).eq(at), column_numbers(panel).gt(at));
    let divisor = total(own.select(top, 0.0), 0);
    let column = total(own.select(panel, 0.0), 0);
    let factors = column / divisor.eq(0.0).select(1.0, divisor);
    let panel = (below & own).select(factors, panel - (below & later).select(factors * top, 0.0));
    [panel, order, own.select(pivot, pivots)]
}
