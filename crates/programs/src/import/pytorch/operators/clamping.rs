//! Limits of elements, which are numbers or tensors.

use super::super::arguments::Value;
use super::super::call::Call;
use super::super::operator::{Operator, operator};
use base::error;
use base::error::Result;
use ir::{BinaryOp, CompareOp, NodeId};
use ops::elementwise::{binary, compare, select};

pub(super) const TABLE: &[Operator] = &[
    operator(&["clamp.default", "clip.default", "clamp.Tensor", "clip.Tensor"], "self min=none max=none", |call| {
        clamp(call, "min", "max")
    }),
    operator(&["clamp_min.default", "clamp_min.Tensor"], "self min", |call| clamp(call, "min", "max")),
    operator(&["clamp_max.default", "clamp_max.Tensor"], "self max", |call| clamp(call, "min", "max")),
    operator(&["hardtanh.default"], "self min_val=-1 max_val=1", |call| clamp(call, "min_val", "max_val")),
];

/// Limits a tensor. At a bound and beyond it the derivative is 0.
fn clamp<'p>(call: &mut Call<'_, 'p>, low: &str, high: &str) -> Result<Value<'p>> {
    let bounds = [low, high].map(|name| !matches!(call.value(name), Value::None));
    let are_tensors = [low, high].iter().any(|name| matches!(call.value(name), Value::Tensor(_)));
    let [x, low, high] = match bounds {
        [false, false] => return Err(error!(InvalidArgument, "neither min nor max is given")),
        [true, false] => call.promoted(["self", low], false).map(|[x, low]| [x, low, low])?,
        [false, true] => call.promoted(["self", high], false).map(|[x, high]| [x, high, high])?,
        [true, true] => call.promoted(["self", low, high], false)?,
    };
    let trace = call.trace();
    if are_tensors {
        return clamped_by_tensors(call, x, bounds[0].then_some(low), bounds[1].then_some(high));
    }
    let mut made = x;
    if bounds[0] {
        let is_below = compare(trace, CompareOp::Le, x, low)?;
        made = select(trace, is_below, low, made)?;
    }
    if bounds[1] {
        // Of bounds in the wrong order, PyTorch takes the maximum.
        let is_above = compare(trace, CompareOp::Ge, made, high)?;
        made = select(trace, is_above, high, made)?;
    }
    Ok(call.made(made))
}

/// Limits a tensor by tensors. Of equal elements, each gets a half of the gradient; of three equal ones, the tensor.
fn clamped_by_tensors<'p>(
    call: &mut Call<'_, 'p>,
    x: NodeId,
    low: Option<NodeId>,
    high: Option<NodeId>,
) -> Result<Value<'p>> {
    let trace = call.trace();
    let mut made = x;
    for (op, bound) in [(BinaryOp::Maximum, low), (BinaryOp::Minimum, high)] {
        if let Some(bound) = bound {
            made = binary(trace, op, made, bound)?;
        }
    }
    if let (Some(low), Some(high)) = (low, high) {
        let (on_low, on_high) = (compare(trace, CompareOp::Eq, x, low)?, compare(trace, CompareOp::Eq, x, high)?);
        let on_both = binary(trace, BinaryOp::And, on_low, on_high)?;
        made = select(trace, on_both, x, made)?;
    }
    Ok(call.made(made))
}
