//! Reshapes, broadcasts, transposes and reversals.

use crate::emit::{Emitter, emit, mlir};
use base::error;
use base::error::Result;
use ir::{Arguments, NodeId, Op, Trace, attributes};

use crate::infer::{distinct_axes, inferred_with_arguments};

use base::types::{Axes, Dims, TensorType, broadcast, element_count};

attributes! {
    /// Attributes of `transpose`.
    pub struct TransposeAttributes {
        /// Axis of the operand for each axis of the result.
        pub permutation: Axes,
    }
}

attributes! {
    /// Attributes of `reverse`.
    pub struct ReverseAttributes {
        /// Axes that are reversed, ascending.
        pub axes: Axes,
    }
}

/// Records a reshape to `dims`, which have the same number of elements.
pub fn reshape(trace: &mut Trace, x: NodeId, dims: &[i64]) -> Result<NodeId> {
    inferred_with_arguments(trace, Op::Reshape, x, Arguments { list: dims, flag: false }, |ty| {
        check_reshape(ty, dims)?;
        Ok((ty.dims.as_slice() != dims).then(|| (TensorType::new(ty.dtype, dims), ())))
    })
}

/// Records a broadcast to `dims`, by NumPy's rules.
pub fn broadcast_to(trace: &mut Trace, x: NodeId, dims: &[i64]) -> Result<NodeId> {
    inferred_with_arguments(trace, Op::BroadcastTo, x, Arguments { list: dims, flag: false }, |ty| {
        check_broadcast_to(ty, dims)?;
        Ok((ty.dims.as_slice() != dims).then(|| (TensorType::new(ty.dtype, dims), ())))
    })
}

/// Records a transpose: axis i of the result is axis `permutation[i]` of `x`.
pub fn transpose(trace: &mut Trace, x: NodeId, permutation: &[i64]) -> Result<NodeId> {
    inferred_with_arguments(trace, Op::Transpose, x, Arguments { list: permutation, flag: false }, |ty| {
        let (permutation, dims) = infer_transpose(ty, permutation)?;
        let moves = !permutation.iter().copied().eq(0..permutation.len() as i64);
        Ok(moves.then(|| (TensorType { dtype: ty.dtype, dims }, TransposeAttributes { permutation })))
    })
}

/// Records a reversal of axes.
pub fn reverse(trace: &mut Trace, x: NodeId, axes: &[i64]) -> Result<NodeId> {
    let ty = trace.ty(x);
    let mut axes = distinct_axes("axes", axes, ty.dims.len())?;
    // Axes with at most one element are unchanged.
    axes.retain(|axis| ty.dims[*axis as usize] > 1);
    axes.sort_unstable();
    if axes.is_empty() {
        return Ok(x);
    }
    let shape = trace.node(x).shape;
    Ok(trace.operation_with_attributes(Op::Reverse, ty.dtype, shape, &[x], &ReverseAttributes { axes }))
}

/// Returns an error unless `dims` have as many elements as `x`.
fn check_reshape(x: &TensorType, dims: &[i64]) -> Result<()> {
    if element_count(dims)? != x.elements() {
        let wanted = TensorType::new(x.dtype, dims);
        return Err(error!(
            InvalidArgument,
            "dims: {x} has {} elements and cannot be reshaped to {wanted}",
            x.elements()
        ));
    }
    Ok(())
}

/// Returns an error unless `x` broadcasts to `dims`.
fn check_broadcast_to(x: &TensorType, dims: &[i64]) -> Result<()> {
    element_count(dims)?;
    if broadcast(&x.dims, dims).as_deref() != Some(dims) {
        let wanted = TensorType::new(x.dtype, dims);
        return Err(error!(InvalidArgument, "dims: {x} does not broadcast to {wanted}"));
    }
    Ok(())
}

/// Returns the permutation with normalized axes, and the result's dims.
fn infer_transpose(x: &TensorType, permutation: &[i64]) -> Result<(Axes, Dims)> {
    let rank = x.dims.len();
    if permutation.len() != rank {
        return Err(error!(InvalidArgument, "perm: {} axes given for {x}; want {rank}", permutation.len()));
    }
    let axes = distinct_axes("perm", permutation, rank)?;
    let dims = axes.iter().map(|&axis| x.dims[axis as usize]).collect();
    Ok((axes, dims))
}

pub(super) fn lower_transpose(e: &mut Emitter, at: usize) {
    let TransposeAttributes { permutation } = e.instruction(at).attributes();
    e.one_operand(at, "transpose", &format!(", dims = {permutation:?}"));
}

pub(super) fn lower_reverse(e: &mut Emitter, at: usize) {
    let value = e.instruction(at);
    let ReverseAttributes { axes } = value.attributes();
    let (name, x) = (e.name_of(at), e.name(value.operands[0]));
    emit!(e, "    {name} = stablehlo.reverse {x}, dims = {axes:?} : {}", mlir(&value.ty));
}

pub(super) fn lower_broadcast_to(e: &mut Emitter, at: usize) {
    let value = e.instruction(at);
    let x = value.operands[0];
    e.broadcast(&e.name_of(at), &e.name(x), &e.instruction(x).ty, &value.ty);
}
