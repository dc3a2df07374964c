//! Derivative and batching of convolutions. A convolution is linear in each operand, and its transposes are
//! convolutions with other dimension numbers: of the cotangent with the reversed kernel, and of lhs with the cotangent.

use super::convolution::{ConvolutionAttributes, ConvolutionOptions};
use crate::nn::convolution::convolution;
use crate::rules::{Site, is_differentiable};
use crate::shape::axes::{reshape, reverse, transpose};
use crate::tangents::{to_operand, zeros};
use base::error::Result;
use base::types::{DType, TensorType};
use ir::{NodeId, Trace};

/// Convolution options with these attributes and a result of this dtype.
fn options(attributes: &ConvolutionAttributes, dtype: DType) -> ConvolutionOptions<'_> {
    let [feature_groups, batch_groups] = attributes.groups;
    ConvolutionOptions {
        window_strides: Some(&attributes.strides),
        padding_low: Some(&attributes.low),
        padding_high: Some(&attributes.high),
        lhs_dilation: Some(&attributes.lhs_dilation),
        rhs_dilation: Some(&attributes.rhs_dilation),
        window_reversal: Some(&attributes.reversal),
        lhs_dimensions: Some(&attributes.lhs),
        rhs_dimensions: Some(&attributes.rhs),
        out_dimensions: Some(&attributes.out),
        feature_groups,
        batch_groups,
        sums_batch: attributes.sums_batch,
        dtype: Some(dtype),
        precision: attributes.precision,
    }
}

/// Records the tangent of the result for the tangent of one operand.
pub fn jvp(site: &mut Site, operand: usize, tangent: NodeId) -> Result<Option<NodeId>> {
    let attributes: ConvolutionAttributes = site.attributes();
    let mut operands = [site.operands[0], site.operands[1]];
    operands[operand] = tangent;
    let options = options(&attributes, site.ty.dtype);
    convolution(site.trace, operands[0], operands[1], &options).map(Some)
}

/// Records the cotangent of an operand.
pub fn vjp(site: &mut Site, operand: usize, cotangent: NodeId) -> Result<Option<NodeId>> {
    let ty = site.operand_ty(operand);
    // Arrays without elements are handled here: their transpose might have a kernel of size 0, which convolution
    // rejects.
    if !is_differentiable(ty.dtype) || ty.elements() == 0 || site.ty.elements() == 0 {
        return Ok(None);
    }
    let found = if operand == 0 { of_lhs(site, cotangent)? } else { of_rhs(site, cotangent)? };
    to_operand(site.trace, found, &ty).map(Some)
}

/// Numbers of elements on a spatial axis, with dilations.
struct Spans {
    lhs: i64,
    kernel: i64,
    out: i64,
}

fn spans(site: &Site, attributes: &ConvolutionAttributes) -> Vec<Spans> {
    let dilated = |count: i64, step: i64| if count == 0 { 0 } else { (count - 1) * step + 1 };
    let (lhs, rhs) = (site.operand_ty(0).dims, site.operand_ty(1).dims);
    let of = |axis: usize| Spans {
        lhs: dilated(lhs[attributes.lhs[2 + axis] as usize], attributes.lhs_dilation[axis]),
        kernel: dilated(rhs[attributes.rhs[2 + axis] as usize], attributes.rhs_dilation[axis]),
        out: dilated(site.ty.dims[attributes.out[2 + axis] as usize], attributes.strides[axis]),
    };
    (0..attributes.strides.len()).map(of).collect()
}

/// Dimension numbers with the first two exchanged.
fn exchanged(axes: &[i64]) -> Vec<i64> {
    let mut axes = axes.to_vec();
    axes.swap(0, 1);
    axes
}

/// Spatial axes of the kernel that have this value of the reversal flag.
fn kernel_axes(attributes: &ConvolutionAttributes, reversal: i64) -> Vec<i64> {
    let spatial = attributes.rhs[2..].iter().zip(&attributes.reversal);
    spatial.filter(|&(_, &flag)| flag == reversal).map(|(&axis, _)| axis).collect()
}

/// Records the cotangent of lhs: a convolution of the result's cotangent with the reversed kernel. Strides become the
/// dilation of lhs, and the other way round.
fn of_lhs(site: &mut Site, cotangent: NodeId) -> Result<NodeId> {
    let attributes: ConvolutionAttributes = site.attributes();
    let [feature_groups, batch_groups] = attributes.groups;
    let groups = feature_groups.max(batch_groups);
    let axis = |axes: &[i64], i: usize| axes[i] as usize;
    let mut kernel = reverse(site.trace, site.operands[1], &kernel_axes(&attributes, 0))?;
    kernel = regrouped(site.trace, kernel, axis(&attributes.rhs, 0), axis(&attributes.rhs, 1), groups)?;
    let spans = spans(site, &attributes);
    let low: Vec<i64> = spans.iter().zip(&attributes.low).map(|(span, low)| span.kernel - low - 1).collect();
    let high: Vec<i64> =
        spans.iter().zip(&low).map(|(span, low)| span.lhs + span.kernel - 1 - span.out - low).collect();
    let rhs = exchanged(&attributes.rhs);
    let transposed = ConvolutionOptions {
        window_strides: Some(&attributes.lhs_dilation),
        padding_low: Some(&low),
        padding_high: Some(&high),
        lhs_dilation: Some(&attributes.strides),
        rhs_dilation: Some(&attributes.rhs_dilation),
        window_reversal: None,
        lhs_dimensions: Some(&attributes.out),
        rhs_dimensions: Some(&rhs),
        out_dimensions: Some(&attributes.lhs),
        feature_groups: groups,
        batch_groups: 1,
        sums_batch: false,
        dtype: None,
        precision: attributes.precision,
    };
    let found = convolution(site.trace, cotangent, kernel, &transposed)?;
    // Batch groups are the outer part of the feature axis.
    regrouped(site.trace, found, axis(&attributes.lhs, 1), axis(&attributes.lhs, 0), batch_groups)
}

/// Records the cotangent of the kernel: a convolution of lhs with the result's cotangent. Features and batch are
/// exchanged, as are strides and the dilation of the kernel.
fn of_rhs(site: &mut Site, cotangent: NodeId) -> Result<NodeId> {
    let attributes: ConvolutionAttributes = site.attributes();
    let [feature_groups, batch_groups] = attributes.groups;
    let spans = spans(site, &attributes);
    let high: Vec<i64> =
        spans.iter().zip(&attributes.low).map(|(span, low)| span.out - span.lhs + span.kernel - low - 1).collect();
    let [lhs, rhs, out] = [&attributes.lhs, &attributes.out, &attributes.rhs].map(|axes| exchanged(axes));
    let transposed = ConvolutionOptions {
        window_strides: Some(&attributes.rhs_dilation),
        padding_low: Some(&attributes.low),
        padding_high: Some(&high),
        lhs_dilation: Some(&attributes.lhs_dilation),
        rhs_dilation: Some(&attributes.strides),
        window_reversal: None,
        lhs_dimensions: Some(&lhs),
        rhs_dimensions: Some(&rhs),
        out_dimensions: Some(&out),
        feature_groups: batch_groups,
        batch_groups: feature_groups,
        sums_batch: !attributes.sums_batch,
        dtype: None,
        precision: attributes.precision,
    };
    let found = convolution(site.trace, site.operands[0], cotangent, &transposed)?;
    reverse(site.trace, found, &kernel_axes(&attributes, 1))
}

/// Moves groups, the outer part of axis `from`, to the outer part of axis `to`.
fn regrouped(trace: &mut Trace, x: NodeId, from: usize, to: usize, groups: i64) -> Result<NodeId> {
    if groups == 1 {
        return Ok(x);
    }
    let mut merged = trace.ty(x).dims.to_vec();
    merged[from] /= groups;
    let mut split = merged.clone();
    split.insert(from, groups);
    merged[to] *= groups;
    let behind = if to > from { to + 1 } else { to };
    let mut order = Vec::with_capacity(split.len());
    for axis in (0..split.len()).filter(|&axis| axis != from) {
        if axis == behind {
            order.push(from as i64);
        }
        order.push(axis as i64);
    }
    let split = reshape(trace, x, &split)?;
    let moved = transpose(trace, split, &order)?;
    reshape(trace, moved, &merged)
}

/// Batches a convolution. The batch of lhs is merged into its batch axis, the batch of the kernel into its output
/// features. If both are mapped, each element of the batch is a group.
pub fn batch(site: &mut Site, mapped: &[bool], size: i64) -> Result<NodeId> {
    let mut attributes: ConvolutionAttributes = site.attributes();
    let ty = site.ty.clone();
    if size == 0 {
        let mut empty = ty;
        empty.dims.insert(0, 0);
        return zeros(site.trace, &empty);
    }
    let [feature_groups, batch_groups] = attributes.groups;
    let axis = |axes: &[i64], i: usize| axes[i] as usize;
    let (mut lhs, mut rhs) = (site.operands[0], site.operands[1]);
    // Axis of the result into which the batch is merged, and the number of groups that are the outer part of this axis.
    let (out, outer);
    if mapped[0] && mapped[1] {
        let into = usize::from(batch_groups == 1);
        lhs = merged(site.trace, lhs, axis(&attributes.lhs, into), 1, size)?;
        rhs = merged(site.trace, rhs, axis(&attributes.rhs, 0), 1, size)?;
        attributes.groups[1 - into] *= size;
        (out, outer) = (axis(&attributes.out, 1), 1);
    } else if mapped[0] {
        lhs = merged(site.trace, lhs, axis(&attributes.lhs, 0), batch_groups, size)?;
        (out, outer) = (axis(&attributes.out, 0), 1);
    } else {
        let groups = feature_groups.max(batch_groups);
        rhs = merged(site.trace, rhs, axis(&attributes.rhs, 0), groups, size)?;
        (out, outer) = (axis(&attributes.out, 1), groups);
    }
    let found = convolution(site.trace, lhs, rhs, &options(&attributes, ty.dtype))?;
    unmerged(site.trace, found, out, outer, size, &ty)
}

/// Merges the leading batch axis into `axis` (counted without it), after the groups, which are the outer part of that
/// axis.
fn merged(trace: &mut Trace, x: NodeId, axis: usize, groups: i64, size: i64) -> Result<NodeId> {
    let mut result = trace.ty(x).dims[1..].to_vec();
    let mut split = trace.ty(x).dims.to_vec();
    split[axis + 1] /= groups;
    split.insert(axis + 1, groups);
    result[axis] *= size;
    // Moves the batch behind the groups, which are at `axis + 1`.
    let mut order: Vec<i64> = (1..split.len() as i64).collect();
    order.insert(axis + 1, 0);
    let split = reshape(trace, x, &split)?;
    let moved = transpose(trace, split, &order)?;
    reshape(trace, moved, &result)
}

/// Reverses [`merged`]: splits the batch off an axis of a result of this type, and moves it to the front.
fn unmerged(trace: &mut Trace, x: NodeId, axis: usize, groups: i64, size: i64, ty: &TensorType) -> Result<NodeId> {
    let mut split = ty.dims.to_vec();
    split[axis] /= groups;
    split.insert(axis, size);
    split.insert(axis, groups);
    let mut result = vec![size];
    result.extend_from_slice(&ty.dims);
    // The batch is behind the groups, which are at `axis`.
    let batch = axis as i64 + 1;
    let mut order = vec![batch];
    order.extend((0..split.len() as i64).filter(|&other| other != batch));
    let split = reshape(trace, x, &split)?;
    let moved = transpose(trace, split, &order)?;
    reshape(trace, moved, &result)
}
