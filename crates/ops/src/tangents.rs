//! Operations on tangents and cotangents that rules of derivatives share: zeros, sums, products with partial
//! derivatives, broadcasts and conversions with their transposes, derivatives of expansions, and transposes of forward
//! rules.

use crate::creation::constants::full;
use crate::elementwise::binary::binary;
use crate::elementwise::compare_select::{compare, select};
use crate::elementwise::complex::real;
use crate::elementwise::convert::convert;
use crate::elementwise::formula::widened;
use crate::elementwise::unary::unary;
use crate::reduction::reduce::reduce;
use crate::rules::{Expand, Factor, Jvp, Site, Tangent, is_differentiable};
use crate::shape::axes::{broadcast_to, reshape};
use base::error::Result;
use base::types::{DType, Kind, ScalarValue, TensorType};
use ir::{BinaryOp, CompareOp, NodeId, Op, ReduceOp, Trace, UnaryOp, take_closed_body};

/// Records zeros of a type.
pub fn zeros(trace: &mut Trace, ty: &TensorType) -> Result<NodeId> {
    full(trace, ty, ScalarValue::Signed(0))
}

/// Records zeros in place of each absent tangent, of the type of the node in `like`.
pub fn or_zeros(trace: &mut Trace, tangents: &[Tangent], like: &[NodeId]) -> Result<Vec<NodeId>> {
    let mut present = Vec::with_capacity(tangents.len());
    for (tangent, &like) in tangents.iter().zip(like) {
        present.push(match tangent {
            Some(tangent) => *tangent,
            None => {
                let ty = trace.ty(like);
                zeros(trace, &ty)?
            }
        });
    }
    Ok(present)
}

/// Indices in a mask.
pub fn indices(mask: &[bool]) -> impl Iterator<Item = usize> + '_ {
    (0..mask.len()).filter(|&i| mask[i])
}

/// Records the sum of two tangents or cotangents of one value; `None` is zero.
pub fn add_tangents(trace: &mut Trace, a: Option<NodeId>, b: Option<NodeId>) -> Result<Option<NodeId>> {
    match (a, b) {
        (Some(a), Some(b)) => binary(trace, BinaryOp::Add, a, b).map(Some),
        (a, b) => Ok(a.or(b)),
    }
}

/// Records whether elements of `x` are equal to those of `result`, or NaN: whether they share its derivative, if it is
/// their maximum or minimum.
pub fn equal_or_nan(trace: &mut Trace, x: NodeId, result: NodeId) -> Result<NodeId> {
    let is_equal = compare(trace, CompareOp::Eq, x, result)?;
    let is_nan = compare(trace, CompareOp::Ne, x, x)?;
    binary(trace, BinaryOp::Or, is_equal, is_nan)
}

/// Dtype in which values of this dtype are summed: f32 for 8-bit and 16-bit floats.
pub fn sum_dtype(dtype: DType) -> DType {
    widened(dtype)
}

/// Records the sum of `x` over axes; 8-bit and 16-bit floats are summed in f32.
pub fn sum(trace: &mut Trace, x: NodeId, axes: &[i64], keep_dims: bool) -> Result<NodeId> {
    if axes.is_empty() {
        return Ok(x);
    }
    let dtype = trace.node(x).dtype;
    let wide = convert(trace, x, sum_dtype(dtype));
    let sum = reduce(trace, ReduceOp::Sum, wide, axes, keep_dims)?;
    Ok(convert(trace, sum, dtype))
}

/// Records the tangent of an operand, converted and broadcast to the type of the result.
pub fn to_result(trace: &mut Trace, tangent: NodeId, ty: &TensorType) -> Result<NodeId> {
    let tangent = convert(trace, tangent, ty.dtype);
    broadcast_to(trace, tangent, &ty.dims)
}

/// Records the transpose of a conversion and of a broadcast with NumPy's rules: sums over the broadcast axes, and
/// converts to the operand's dtype. For a real operand, takes the real part of a complex cotangent.
pub fn to_operand(trace: &mut Trace, cotangent: NodeId, ty: &TensorType) -> Result<NodeId> {
    let from = trace.ty(cotangent);
    let mut cotangent = cotangent;
    if from.dims != ty.dims {
        let added = from.dims.len() - ty.dims.len();
        let stretched = |axis: &usize| *axis < added || ty.dims[axis - added] != from.dims[*axis];
        let axes: Vec<i64> = (0..from.dims.len()).filter(stretched).map(|axis| axis as i64).collect();
        cotangent = sum(trace, cotangent, &axes, added == 0)?;
        cotangent = reshape(trace, cotangent, &ty.dims)?;
    }
    if from.dtype.kind() == Kind::Complex && ty.dtype.kind() != Kind::Complex {
        cotangent = real(trace, cotangent)?;
    }
    match unrounded_sum(trace, cotangent, ty)? {
        Some(sum) => Ok(sum),
        None => Ok(convert(trace, cotangent, ty.dtype)),
    }
}

/// Returns the sum of this type that was rounded to a narrower float to be `x`, if it was. The cotangent of a mean of
/// 16-bit floats is such a sum: rounded, it may be infinite where its quotient by the count is not.
fn unrounded_sum(trace: &mut Trace, x: NodeId, ty: &TensorType) -> Result<Option<NodeId>> {
    let mut rounded = trace.node(x);
    if rounded.op == Op::Reshape {
        rounded = trace.node(trace.operands(rounded)[0]);
    }
    if rounded.op != Op::Convert || !matches!(rounded.dtype, DType::F16 | DType::BF16) {
        return Ok(None);
    }
    let sum = trace.operands(rounded)[0];
    let is_sum = trace.node(sum).op == Op::Reduce(ReduceOp::Sum) && trace.node(sum).dtype == ty.dtype;
    if is_sum { reshape(trace, sum, &ty.dims).map(Some) } else { Ok(None) }
}

/// Records a tangent or cotangent multiplied by a partial derivative.
pub fn scaled(trace: &mut Trace, x: NodeId, factor: &Factor) -> Result<Option<NodeId>> {
    Ok(Some(match *factor {
        Factor::Zero => return Ok(None),
        Factor::One => x,
        Factor::MinusOne => unary(trace, UnaryOp::Negate, x)?,
        Factor::Times(factor) => binary(trace, BinaryOp::Multiply, x, factor)?,
        Factor::Over(divisor) => binary(trace, BinaryOp::Divide, x, divisor)?,
        Factor::Scalar(scalar) => {
            let node = *trace.node(x);
            let op = Op::BinaryScalar(BinaryOp::Multiply);
            trace.operation_with_scalar(op, node.dtype, node.shape, &[x], scalar)
        }
        Factor::Where(pred) => {
            let zero = zeros(trace, &TensorType::new(trace.node(x).dtype, &[]))?;
            select(trace, pred, x, zero)?
        }
        Factor::Unless(pred) => {
            let zero = zeros(trace, &TensorType::new(trace.node(x).dtype, &[]))?;
            select(trace, pred, zero, x)?
        }
    }))
}

/// Records an expansion and its tangent. Returns both. It is expanded once, taken out as a body, and recorded again with
/// tangents.
pub fn expanded(site: &mut Site, tangents: &[Tangent], expand: Expand) -> Result<(NodeId, Tangent)> {
    let result = expand(site)?;
    let (mut operands, mut known): (Vec<NodeId>, Vec<Tangent>) = (Vec::new(), Vec::new());
    for (operand, tangent) in site.operands.iter().zip(tangents) {
        if !operands.contains(operand) {
            operands.push(*operand);
            known.push(*tangent);
        }
    }
    let body = take_closed_body(site.trace, &operands, &[], &[result])?;
    let transforms = site.transforms;
    let (results, tangents) = transforms.jvp(site.trace, &body, &operands, &known)?;
    Ok((results[0], tangents[0]))
}

/// Records the cotangents of the wanted operands, as the transpose of a forward rule: the rule is recorded with zeros as
/// tangents of the operands, and the cotangent is propagated back to these zeros. The rule is linear in the tangents, so
/// that their values do not matter.
pub fn transposed(site: &mut Site, cotangent: NodeId, wanted: &[bool], jvp: Jvp) -> Result<Vec<Tangent>> {
    let mut starts: Vec<Tangent> = vec![None; wanted.len()];
    for operand in indices(wanted) {
        let ty = site.operand_ty(operand);
        if is_differentiable(ty.dtype) {
            starts[operand] = Some(zeros(site.trace, &ty)?);
        }
    }
    let Some(tangent) = jvp(site, &starts)? else { return Ok(vec![None; wanted.len()]) };
    let inputs: Vec<NodeId> = starts.iter().flatten().copied().collect();
    let transforms = site.transforms;
    let mut found = transforms.vjp(site.trace, &[(tangent, cotangent)], &inputs)?.into_iter();
    Ok(starts.iter().map(|start| start.and_then(|_| found.next().expect("one for each input"))).collect())
}
