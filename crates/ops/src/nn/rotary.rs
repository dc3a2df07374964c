//! Rotary position embedding.

use super::normalize::fitted_to;
use crate::definition::Composed;
use crate::elementwise::formula::{Expr, Formula, widened};
use crate::infer::refuse;
use crate::shape::axes::reshape;
use crate::shape::rearrange::{slice_axis, stack};
use crate::shape::slicing::concatenate;
use base::error;
use base::error::Result;
use ir::{NodeId, Trace};

/// Table entries of the composed operations.
pub(crate) const COMPOSED: &[Composed] =
    &[Composed { name: "rotary_embedding", function: "lxla_rotary_embedding", dtypes: "floats, 8-bit floats" }];

/// Records pairs of elements of the last axis, each turned by the angle of which the cosine and the sine are given.
/// Element i of the first half of the axis is paired with element i of the second half, or, if interleaved, element 2i
/// with element 2i + 1.
pub fn rotary_embedding(
    trace: &mut Trace,
    x: NodeId,
    cosines: NodeId,
    sines: NodeId,
    is_interleaved: bool,
) -> Result<NodeId> {
    let ty = trace.ty(x);
    if !ty.dtype.is_float() {
        return Err(refuse("rotary_embedding", "x", &ty, "floats"));
    }
    let Some((&width, before)) = ty.dims.split_last() else {
        return Err(refuse("rotary_embedding", "x", &ty, "at least 1 axis"));
    };
    if width % 2 != 0 {
        return Err(error!(InvalidArgument, "x: it is {ty}; want a last axis of even size"));
    }
    let half = [before, &[width / 2]].concat();
    let mut fitting = |name: &str, node: NodeId| fitted_to(trace, name, node, x, "half of x", &half);
    let (cosines, sines) = (fitting("cosines", cosines)?, fitting("sines", sines)?);
    let f = Formula::new(trace);
    let [cosine, sine] = [cosines, sines].map(|node| f.operand(node));
    let x = f.operand(x).convert(widened(ty.dtype));
    let [first, second] = if is_interleaved {
        [0, 1].map(|at| part(x, at, width, 2).apply(|trace, x| reshape(trace, x, &half)))
    } else {
        [0, 1].map(|at| part(x, at * (width / 2), (at + 1) * (width / 2), 1))
    };
    let turned = [first * cosine - second * sine, second * cosine + first * sine];
    let joined = turned[0].apply_with(turned[1], |trace, first, second| {
        if is_interleaved { stack(trace, &[first, second], -1) } else { concatenate(trace, &[first, second], -1) }
    });
    f.finish(joined.apply(|trace, x| reshape(trace, x, &ty.dims)).convert(ty.dtype))
}

/// The elements `start..stop` of the last axis, each `step`.
fn part(x: Expr, start: i64, stop: i64, step: i64) -> Expr {
    x.apply(|trace, x| slice_axis(trace, x, -1, start, stop, step))
}
