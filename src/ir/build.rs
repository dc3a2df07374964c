//! Recording: one function per family of operations. Infers dtype and shape, refuses what does not fit, pushes one node.
//! A result that equals its operand is that operand: values are immutable, so nothing needs to be recorded.

use super::infer;
use super::op::{BinaryOp, CompareOp, Op, ReduceOp, UnaryOp};
use super::trace::{NodeId, Trace};
use crate::error;
use crate::error::Result;
use crate::types::{DType, Scalar, ScalarValue, TensorType, element_count, normalize_axis};

/// `value` in every element.
pub fn full(trace: &mut Trace, ty: &TensorType, value: ScalarValue) -> Result<NodeId> {
    element_count(&ty.dims)?;
    let scalar = Scalar::new(ty.dtype, value)?;
    let shape = trace.intern(&ty.dims);
    Ok(trace.operation_with_scalar(Op::Full, ty.dtype, shape, &[], scalar))
}

/// A scalar that is known as an element, in every element.
pub fn constant(trace: &mut Trace, dims: &[i64], scalar: Scalar) -> NodeId {
    let shape = trace.intern(dims);
    trace.operation_with_scalar(Op::Full, scalar.dtype(), shape, &[], scalar)
}

/// 0, 1, 2, ... along `axis`.
pub fn iota(trace: &mut Trace, ty: &TensorType, axis: i64) -> Result<NodeId> {
    element_count(&ty.dims)?;
    if ty.dtype == DType::Pred {
        return Err(error!(InvalidArgument, "dtype: iota counts in numbers, not pred"));
    }
    let axis = normalize_axis("axis", axis, ty.dims.len())?;
    let shape = trace.intern(&ty.dims);
    Ok(trace.operation_with_attributes(Op::Iota, ty.dtype, shape, &[], &[axis as i64]))
}

/// An elementwise operation of one operand.
pub fn unary(trace: &mut Trace, op: UnaryOp, x: NodeId) -> Result<NodeId> {
    let shape = trace.node(x).shape;
    let dtype = infer::unary(op, &trace.ty(x))?;
    Ok(trace.operation(Op::Unary(op), dtype, shape, &[x]))
}

/// An elementwise operation of two operands.
#[inline]
pub fn binary(trace: &mut Trace, op: BinaryOp, lhs: NodeId, rhs: NodeId) -> Result<NodeId> {
    let (l, r) = (trace.node(lhs), trace.node(rhs));
    if l.shape == r.shape && l.dtype == r.dtype {
        let (dtype, shape) = (l.dtype, l.shape);
        infer::check_binary(op, dtype)?;
        return Ok(trace.operation(Op::Binary(op), dtype, shape, &[lhs, rhs]));
    }
    let ty = infer::binary(op, &trace.ty(lhs), &trace.ty(rhs))?;
    Ok(typed(trace, Op::Binary(op), &ty, &[lhs, rhs]))
}

/// An elementwise operation of a tensor and a scalar, which takes the tensor's dtype.
pub fn binary_scalar(
    trace: &mut Trace,
    op: BinaryOp,
    x: NodeId,
    scalar: ScalarValue,
    scalar_on_left: bool,
) -> Result<NodeId> {
    let node = trace.node(x);
    let (dtype, shape) = (node.dtype, node.shape);
    infer::check_binary(op, dtype)?;
    let scalar = Scalar::new(dtype, scalar)?;
    let op = if scalar_on_left { Op::ScalarBinary(op) } else { Op::BinaryScalar(op) };
    Ok(trace.operation_with_scalar(op, dtype, shape, &[x], scalar))
}

/// A comparison.
pub fn compare(trace: &mut Trace, op: CompareOp, lhs: NodeId, rhs: NodeId) -> Result<NodeId> {
    let ty = infer::compare(op, &trace.ty(lhs), &trace.ty(rhs))?;
    Ok(typed(trace, Op::Compare(op), &ty, &[lhs, rhs]))
}

/// `pred ? on_true : on_false`.
pub fn select(trace: &mut Trace, pred: NodeId, on_true: NodeId, on_false: NodeId) -> Result<NodeId> {
    let ty = infer::select(&trace.ty(pred), &trace.ty(on_true), &trace.ty(on_false))?;
    Ok(typed(trace, Op::Select, &ty, &[pred, on_true, on_false]))
}

/// To another element type.
pub fn convert(trace: &mut Trace, x: NodeId, dtype: DType) -> NodeId {
    let node = trace.node(x);
    if node.dtype == dtype {
        return x;
    }
    let shape = node.shape;
    trace.operation(Op::Convert, dtype, shape, &[x])
}

/// To another shape of as many elements.
pub fn reshape(trace: &mut Trace, x: NodeId, dims: &[i64]) -> Result<NodeId> {
    let ty = trace.ty(x);
    infer::reshape(&ty, dims)?;
    Ok(if ty.dims.as_slice() == dims { x } else { typed(trace, Op::Reshape, &TensorType::new(ty.dtype, dims), &[x]) })
}

/// To a shape that it broadcasts to.
pub fn broadcast_to(trace: &mut Trace, x: NodeId, dims: &[i64]) -> Result<NodeId> {
    let ty = trace.ty(x);
    infer::broadcast_to(&ty, dims)?;
    Ok(if ty.dims.as_slice() == dims {
        x
    } else {
        typed(trace, Op::BroadcastTo, &TensorType::new(ty.dtype, dims), &[x])
    })
}

/// Axis i of the result is axis `permutation[i]` of `x`.
pub fn transpose(trace: &mut Trace, x: NodeId, permutation: &[i64]) -> Result<NodeId> {
    let ty = trace.ty(x);
    let (axes, dims) = infer::transpose(&ty, permutation)?;
    if axes.iter().copied().eq(0..axes.len() as i64) {
        return Ok(x);
    }
    let shape = trace.intern(&dims);
    Ok(trace.operation_with_attributes(Op::Transpose, ty.dtype, shape, &[x], &axes))
}

/// A reduction over axes.
pub fn reduce(trace: &mut Trace, op: ReduceOp, x: NodeId, axes: &[i64], keep_dims: bool) -> Result<NodeId> {
    let (axes, ty) = infer::reduce(op, &trace.ty(x), axes, keep_dims)?;
    if axes.is_empty() {
        return Ok(x);
    }
    let shape = trace.intern(&ty.dims);
    Ok(trace.operation_with_attributes(Op::Reduce(op), ty.dtype, shape, &[x], &axes))
}

/// NumPy's matmul.
pub fn matmul(trace: &mut Trace, lhs: NodeId, rhs: NodeId) -> Result<NodeId> {
    let ty = infer::matmul(&trace.ty(lhs), &trace.ty(rhs))?;
    Ok(typed(trace, Op::Matmul, &ty, &[lhs, rhs]))
}

/// `x[start:limit:stride]` on every axis; the three lists are as long as the rank.
pub fn slice(trace: &mut Trace, x: NodeId, starts: &[i64], limits: &[i64], strides: &[i64]) -> Result<NodeId> {
    let ty = trace.ty(x);
    let dims = infer::slice(&ty, starts, limits, strides)?;
    if dims == ty.dims && strides.iter().all(|&s| s == 1) {
        return Ok(x);
    }
    let shape = trace.intern(&dims);
    // A stride beyond the end takes one element like any other, and would overflow XLA's arithmetic.
    let strides: Vec<i64> = strides.iter().zip(&ty.dims).map(|(&stride, &dim)| stride.min(dim.max(1))).collect();
    let attributes = [starts, limits, &strides].concat();
    Ok(trace.operation_with_attributes(Op::Slice, ty.dtype, shape, &[x], &attributes))
}

/// Along one axis.
pub fn concatenate(trace: &mut Trace, tensors: &[NodeId], axis: i64) -> Result<NodeId> {
    let types: Vec<TensorType> = tensors.iter().map(|&id| trace.ty(id)).collect();
    let (axis, ty) = infer::concatenate(&types, axis)?;
    if let [only] = tensors {
        return Ok(*only);
    }
    let shape = trace.intern(&ty.dims);
    Ok(trace.operation_with_attributes(Op::Concatenate, ty.dtype, shape, tensors, &[axis as i64]))
}

fn typed(trace: &mut Trace, op: Op, ty: &TensorType, operands: &[NodeId]) -> NodeId {
    let shape = trace.intern(&ty.dims);
    trace.operation(op, ty.dtype, shape, operands)
}
