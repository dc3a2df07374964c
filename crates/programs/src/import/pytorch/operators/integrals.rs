//! Integrals and derivatives of samples.

use super::super::arguments::Value;
use super::super::call::Call;
use super::super::operator::{Operator, operator};
use base::error;
use base::error::Result;
use base::types::normalize_axis;
use ir::{BinaryOp, NodeId, ReduceOp, Trace};
use ops::elementwise::binary;
use ops::elementwise::formula::record;
use ops::reduction::{cumulative, reduce};
use ops::shape::{concatenate, reshape, slice_axis};

pub(super) const TABLE: &[Operator] = &[
    operator(&["trapezoid.x"], "y x dim=-1", |call| trapezoids(call, false)),
    operator(&["trapezoid.dx"], "y dx=1 dim=-1", |call| trapezoids(call, false)),
    operator(&["cumulative_trapezoid.x"], "y x dim=-1", |call| trapezoids(call, true)),
    operator(&["cumulative_trapezoid.dx"], "y dx=1 dim=-1", |call| trapezoids(call, true)),
    operator(&["gradient.scalarint", "gradient.scalarrayint"], GRADIENT, slopes),
    operator(&["gradient.scalararray", "gradient.array", "gradient.scalarrayarray"], GRADIENT, slopes),
];

const GRADIENT: &str = "self spacing=none dim=none edge_order=1";

/// Elements from `start` to before `stop` of an axis; `stop` counts from the end if it is not positive.
fn part(trace: &mut Trace, x: NodeId, axis: usize, start: i64, stop: i64) -> Result<NodeId> {
    let size = trace.ty(x).dims[axis];
    slice_axis(trace, x, axis as i64, start, if stop > 0 { stop } else { size + stop }, 1)
}

fn trapezoids<'p>(call: &mut Call<'_, 'p>, is_running: bool) -> Result<Value<'p>> {
    let y = call.floats("y")?;
    let dims = call.dims(y);
    let axis = call.axis("dim", dims.len())?;
    if dims.get(axis).is_none_or(|&size| size < 1) {
        return Err(error!(Unimplemented, "an integral of {}; want at least 1 element along the axis", call.ty(y)));
    }
    let x = if call.has("x") { Some(call.floats("x")?) } else { None };
    let dx = if call.has("dx") { call.float("dx")? } else { 1.0 };
    let trace = call.trace();
    let (first, second) = (part(trace, y, axis, 0, -1)?, part(trace, y, axis, 1, 0)?);
    let mut each = record(trace, [first, second], |[first, second]| (first + second) * (dx / 2.0))?;
    if let Some(x) = x {
        let rank = trace.ty(x).dims.len();
        if rank != 1 && rank != dims.len() {
            return Err(error!(Unimplemented, "x is {}; want 1 axis, or as many as y has", trace.ty(x)));
        }
        let own = if trace.ty(x).dims.len() == 1 { 0 } else { axis };
        let (before, after) = (part(trace, x, own, 0, -1)?, part(trace, x, own, 1, 0)?);
        let mut width = binary(trace, BinaryOp::Subtract, after, before)?;
        if trace.ty(x).dims.len() == 1 {
            let mut alone = vec![1; dims.len()];
            alone[axis] = trace.ty(width).dims[0];
            width = reshape(trace, width, &alone)?;
        }
        each = binary(trace, BinaryOp::Multiply, each, width)?;
    }
    let made = match is_running {
        true => cumulative(trace, ReduceOp::Sum, each, axis as i64, false)?,
        false => reduce(trace, ReduceOp::Sum, each, &[axis as i64], false)?,
    };
    Ok(call.made(made))
}

/// Central differences along axes, and differences of the order `edge_order` at the ends.
fn slopes<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let x = call.floats("self")?;
    let (rank, edge_order) = (call.dims(x).len(), call.int("edge_order")?);
    call.refuse_unless("edge_order", (1..=2).contains(&edge_order))?;
    let axes: Vec<usize> = match call.value("dim") {
        Value::None => (0..rank).collect(),
        _ => call.ints("dim")?.iter().map(|&axis| normalize_axis("dim", axis, rank)).collect::<Result<_>>()?,
    };
    let spacing = match call.value("spacing") {
        Value::None => vec![1.0; axes.len()],
        Value::List(_) => call.optional_floats("spacing")?.unwrap_or_default(),
        _ => vec![call.float("spacing")?; axes.len()],
    };
    if spacing.len() != axes.len() {
        return Err(error!(InvalidArgument, "spacing has {} numbers for {} axes", spacing.len(), axes.len()));
    }
    let along = |(&axis, &step): (&usize, &f64)| {
        let made = slope(call.trace(), x, axis, step, edge_order)?;
        Ok(call.made(made))
    };
    axes.iter().zip(&spacing).map(along).collect::<Result<Vec<Value>>>().map(Value::List)
}

fn slope(trace: &mut Trace, x: NodeId, axis: usize, step: f64, edge_order: i64) -> Result<NodeId> {
    let size = trace.ty(x).dims[axis];
    if size <= edge_order {
        return Err(error!(InvalidArgument, "{size} elements along the axis {axis}; want more than {edge_order}"));
    }
    let mut at = |place: i64| part(trace, x, axis, place, place + 1);
    let ends = [at(0)?, at(1)?, at(size - 2)?, at(size - 1)?];
    let edges = if edge_order == 1 {
        [
            record(trace, [ends[0], ends[1]], |[a, b]| (b - a) / step)?,
            record(trace, [ends[2], ends[3]], |[a, b]| (b - a) / step)?,
        ]
    } else {
        let inner = [at(2)?, at(size - 3)?];
        [
            record(trace, [ends[0], ends[1], inner[0]], |[a, b, c]| (a * -1.5 + b * 2.0 - c * 0.5) / step)?,
            record(trace, [ends[3], ends[2], inner[1]], |[a, b, c]| (a * 1.5 - b * 2.0 + c * 0.5) / step)?,
        ]
    };
    if size == 2 {
        return concatenate(trace, &edges, axis as i64);
    }
    let (before, after) = (part(trace, x, axis, 0, size - 2)?, part(trace, x, axis, 2, 0)?);
    let inside = record(trace, [before, after], |[before, after]| (after - before) / (2.0 * step))?;
    concatenate(trace, &[edges[0], inside, edges[1]], axis as i64)
}
