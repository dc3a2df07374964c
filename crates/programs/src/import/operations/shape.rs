//! Constants, and operations that rearrange elements.

use super::{Call, Results, single};
use base::error;
use base::error::Result;
use base::types::TensorType;
use ir::{NodeId, Op, Trace};
use mlir::Attribute;

/// `stablehlo.constant`, `chlo.constant`.
pub fn constant(call: Call) -> Result<Results> {
    let ty = call.stated_type(0)?;
    match call.attributes.get("value") {
        Some(Attribute::Dense(dense)) => Ok(single(call.importer.dense(dense, &ty.dims)?)),
        _ => Err(error!(InvalidArgument, "attribute value: want a dense constant")),
    }
}

/// `stablehlo.iota`.
pub fn iota(mut call: Call) -> Result<Results> {
    let (ty, axis) = (call.stated_type(0)?, call.attributes.integer("iota_dimension")?);
    Ok(single(ops::creation::iota(call.trace(), &ty, axis)?))
}

/// `stablehlo.broadcast`, which adds leading axes.
pub fn broadcast(call: Call) -> Result<Results> {
    let [x] = call.exactly()?;
    let mut dims = call.attributes.integers("broadcast_sizes")?;
    dims.extend_from_slice(&call.ty(x).dims);
    call.one(|trace, [x]| spread(trace, x, &dims))
}

/// `stablehlo.broadcast_in_dim`.
pub fn broadcast_in_dim(call: Call) -> Result<Results> {
    let (ty, axes) = (call.stated_type(0)?, call.attributes.integers("broadcast_dimensions")?);
    call.one(|trace, [x]| broadcast_along(trace, x, &axes, &ty.dims))
}

/// Records `x` broadcast to `dims`: its axis `i` is axis `axes[i]` of the result.
pub fn broadcast_along(trace: &mut Trace, x: NodeId, axes: &[i64], dims: &[i64]) -> Result<NodeId> {
    let ty = trace.ty(x);
    let fits = axes.len() == ty.dims.len()
        && axes.iter().zip(&ty.dims).all(|(&axis, &size)| {
            usize::try_from(axis).ok().and_then(|axis| dims.get(axis)).is_some_and(|&dim| size == 1 || size == dim)
        })
        && (1..axes.len()).all(|i| !axes[..i].contains(&axes[i]));
    if !fits {
        let wanted = TensorType::new(ty.dtype, dims);
        return Err(error!(
            InvalidArgument,
            "broadcast_dimensions: {axes:?} given; they do not map the axes of {ty} to {wanted}"
        ));
    }
    if trace.node(x).op == Op::Full {
        return spread(trace, x, dims);
    }
    let mut order: Vec<i64> = (0..axes.len() as i64).collect();
    order.sort_by_key(|&axis| axes[axis as usize]);
    let mut with_ones = vec![1; dims.len()];
    axes.iter().zip(&ty.dims).for_each(|(&axis, &size)| with_ones[axis as usize] = size);
    let first = axes.iter().copied().min().map_or(dims.len(), |axis| axis as usize);
    let x = ops::shape::transpose(trace, x, &order)?;
    // Axes before the first are added by the broadcast.
    let x = ops::shape::reshape(trace, x, &with_ones[first..])?;
    spread(trace, x, dims)
}

/// Records `x` with axes added before its own, and with axes of size 1 repeated. A constant in every element stays one.
pub fn spread(trace: &mut Trace, x: NodeId, dims: &[i64]) -> Result<NodeId> {
    let node = trace.node(x);
    match trace.scalar(node).filter(|_| node.op == Op::Full) {
        Some(scalar) => {
            base::types::element_count(dims)?;
            Ok(ops::creation::constant(trace, dims, scalar))
        }
        None => ops::shape::broadcast_to(trace, x, dims),
    }
}

/// `stablehlo.reshape`.
pub fn reshape(call: Call) -> Result<Results> {
    let ty = call.stated_type(0)?;
    call.one(|trace, [x]| ops::shape::reshape(trace, x, &ty.dims))
}

/// `stablehlo.transpose`.
pub fn transpose(call: Call) -> Result<Results> {
    let permutation = call.attributes.integers("permutation")?;
    call.one(|trace, [x]| ops::shape::transpose(trace, x, &permutation))
}

/// `stablehlo.reverse`.
pub fn reverse(call: Call) -> Result<Results> {
    let axes = call.attributes.integers("dimensions")?;
    call.one(|trace, [x]| ops::shape::reverse(trace, x, &axes))
}

/// `stablehlo.concatenate`.
pub fn concatenate(mut call: Call) -> Result<Results> {
    let axis = call.attributes.integer("dimension")?;
    let dtypes: Vec<_> = call.operands.iter().map(|&operand| call.ty(operand).dtype).collect();
    if let Some(other) = dtypes.iter().find(|&&dtype| dtype != dtypes[0]) {
        return Err(error!(InvalidArgument, "operands of {} and {other}; want one element type", dtypes[0]));
    }
    let operands = call.operands;
    Ok(single(ops::shape::concatenate(call.trace(), operands, axis)?))
}

/// `stablehlo.slice`.
pub fn slice(call: Call) -> Result<Results> {
    let [x] = call.exactly()?;
    let rank = call.ty(x).dims.len();
    let (starts, limits) = (call.list("start_indices", rank)?, call.list("limit_indices", rank)?);
    let strides = call.list("strides", rank)?;
    call.one(|trace, [x]| ops::shape::slice(trace, x, &starts, &limits, &strides))
}

/// `stablehlo.pad`.
pub fn pad(call: Call) -> Result<Results> {
    let [x, _] = call.exactly()?;
    let rank = call.ty(x).dims.len();
    let (low, high) = (call.list("edge_padding_low", rank)?, call.list("edge_padding_high", rank)?);
    let interior = call.list("interior_padding", rank)?;
    call.one(|trace, [x, value]| ops::shape::pad(trace, x, value, &low, &high, &interior))
}
