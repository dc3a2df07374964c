//! Recording operations that read or write at places that are computed, and padding.

use super::build;
use super::op::Op;
use super::trace::{NodeId, Trace};
use crate::error;
use crate::error::Result;
use crate::types::{Dims, ScalarValue, TensorType, element_count, normalize_axis};

/// `sizes` elements on each axis of `x`, from `starts`: one integer scalar for each axis.
pub fn dynamic_slice(trace: &mut Trace, x: NodeId, starts: &[NodeId], sizes: &[i64]) -> Result<NodeId> {
    let ty = trace.ty(x);
    check_starts(trace, &ty, starts)?;
    if sizes.len() != ty.dims.len() {
        return Err(error!(InvalidArgument, "sizes: {} given for x, which is {ty}", sizes.len()));
    }
    for (axis, (&size, &dim)) in sizes.iter().zip(&ty.dims).enumerate() {
        if size < 0 || size > dim {
            return Err(error!(InvalidArgument, "sizes: sizes[{axis}] is {size}; x is {ty}, want 0 to {dim}"));
        }
    }
    // All of it, wherever it starts: starts are clamped.
    if sizes == ty.dims.as_slice() {
        return Ok(x);
    }
    let shape = trace.intern(sizes);
    Ok(trace.operation(Op::DynamicSlice, ty.dtype, shape, &[&[x], starts].concat()))
}

/// `x` with `update` written over it, from `starts`: one integer scalar for each axis.
pub fn dynamic_update_slice(trace: &mut Trace, x: NodeId, update: NodeId, starts: &[NodeId]) -> Result<NodeId> {
    let (ty, part) = (trace.ty(x), trace.ty(update));
    check_starts(trace, &ty, starts)?;
    let fits = part.dims.len() == ty.dims.len() && part.dims.iter().zip(&ty.dims).all(|(part, dim)| part <= dim);
    if part.dtype != ty.dtype || !fits {
        return Err(error!(
            InvalidArgument,
            "update: it is {part}; x is {ty}, and wants its dtype and a part of its shape"
        ));
    }
    if part.dims == ty.dims {
        return Ok(update);
    }
    let shape = trace.node(x).shape;
    Ok(trace.operation(Op::DynamicUpdateSlice, ty.dtype, shape, &[&[x, update], starts].concat()))
}

fn check_starts(trace: &Trace, ty: &TensorType, starts: &[NodeId]) -> Result<()> {
    if starts.len() != ty.dims.len() {
        return Err(error!(InvalidArgument, "starts: {} given for x, which is {ty}", starts.len()));
    }
    for (axis, &start) in starts.iter().enumerate() {
        let start_ty = trace.ty(start);
        if !start_ty.dtype.is_integer() || !start_ty.dims.is_empty() {
            return Err(error!(InvalidArgument, "starts: starts[{axis}] is {start_ty}; want an integer scalar"));
        }
        let first = trace.node(starts[0]).dtype;
        if start_ty.dtype != first {
            return Err(error!(InvalidArgument, "starts: starts[{axis}] is {}, starts[0] is {first}", start_ty.dtype));
        }
    }
    Ok(())
}

/// Slices of `x` along an axis, at `indices`: the axis gives way to the indices' axes.
pub fn take(trace: &mut Trace, x: NodeId, indices: NodeId, axis: i64) -> Result<NodeId> {
    let (ty, at) = (trace.ty(x), trace.ty(indices));
    if !at.dtype.is_integer() {
        return Err(error!(InvalidArgument, "indices: they are {at}; want integers"));
    }
    let axis = normalize_axis("axis", axis, ty.dims.len())?;
    let mut dims = Dims::from_slice(&ty.dims[..axis]);
    dims.extend_from_slice(&at.dims);
    dims.extend_from_slice(&ty.dims[axis + 1..]);
    let elements = element_count(&dims)?;
    if ty.dims[axis] == 0 && elements > 0 {
        return Err(error!(InvalidArgument, "x: it is {ty}, and has nothing to take on axis {axis}"));
    }
    if elements == 0 {
        return build::full(trace, &TensorType { dtype: ty.dtype, dims }, ScalarValue::Unsigned(0));
    }
    let shape = trace.intern(&dims);
    Ok(trace.operation_with_attributes(Op::Take, ty.dtype, shape, &[x, indices], &[axis as i64]))
}

/// `x` with `value` before (`low`), after (`high`) and between (`interior`) its elements on each axis; negative `low` and
/// `high` cut off.
pub fn pad(trace: &mut Trace, x: NodeId, value: NodeId, low: &[i64], high: &[i64], interior: &[i64]) -> Result<NodeId> {
    let (ty, value_ty) = (trace.ty(x), trace.ty(value));
    if value_ty != TensorType::new(ty.dtype, &[]) {
        return Err(error!(InvalidArgument, "value: it is {value_ty}; x is {ty}, and wants {}[]", ty.dtype));
    }
    let mut dims = Dims::new();
    for (axis, &dim) in ty.dims.iter().enumerate() {
        if interior[axis] < 0 {
            return Err(error!(InvalidArgument, "interior: interior[{axis}] is {}; want at least 0", interior[axis]));
        }
        let between = (dim - 1).max(0).checked_mul(interior[axis]);
        let size = between.and_then(|n| n.checked_add(dim)?.checked_add(low[axis])?.checked_add(high[axis]));
        match size {
            Some(size) if size >= 0 => dims.push(size),
            _ => {
                return Err(error!(
                    InvalidArgument,
                    "low, high: {} and {} on axis {axis} of x, which is {ty}, leave no shape", low[axis], high[axis]
                ));
            }
        }
    }
    element_count(&dims)?;
    if [low, high, interior].iter().all(|list| list.iter().all(|&n| n == 0)) {
        return Ok(x);
    }
    let shape = trace.intern(&dims);
    Ok(trace.operation_with_attributes(Op::Pad, ty.dtype, shape, &[x, value], &[low, high, interior].concat()))
}
