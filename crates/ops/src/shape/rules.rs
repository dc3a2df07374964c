//! Derivatives and batching of operations that rearrange elements. All are linear.

use super::axes::{ReverseAttributes, TransposeAttributes};
use super::slicing::{ConcatenateAttributes, PadAttributes, SliceAttributes};
use crate::elementwise::compare_select::select;
use crate::elementwise::convert::convert;
use crate::rules::{Derivative, Site};
use crate::shape::axes::{broadcast_to, reshape, reverse, transpose};
use crate::shape::slicing::{concatenate, pad, pad_scalar, slice};
use crate::tangents::{sum, to_operand, zeros};
use base::error::Result;
use base::types::{Dims, ScalarValue, TensorType};
use ir::NodeId;

/// Derivative of `reshape`.
pub const RESHAPE: Derivative = Derivative::Linear {
    jvp: |site, _, tangent| reshape(site.trace, tangent, &site.ty.dims).map(Some),
    vjp: |site, operand, cotangent| {
        let dims = site.operand_ty(operand).dims;
        reshape(site.trace, cotangent, &dims).map(Some)
    },
};

/// Derivative of `broadcast_to`: cotangents are summed over the broadcast axes.
pub const BROADCAST_TO: Derivative = Derivative::Linear {
    jvp: |site, _, tangent| broadcast_to(site.trace, tangent, &site.ty.dims).map(Some),
    vjp: |site, operand, cotangent| {
        let ty = site.operand_ty(operand);
        to_operand(site.trace, cotangent, &ty).map(Some)
    },
};

/// Derivative of `transpose`.
pub const TRANSPOSE: Derivative = Derivative::Linear {
    jvp: |site, _, tangent| {
        let TransposeAttributes { permutation } = site.attributes();
        transpose(site.trace, tangent, &permutation).map(Some)
    },
    vjp: |site, _, cotangent| {
        let TransposeAttributes { permutation } = site.attributes();
        let mut inverse = Dims::from_elem(0, permutation.len());
        permutation.iter().enumerate().for_each(|(i, &axis)| inverse[axis as usize] = i as i64);
        transpose(site.trace, cotangent, &inverse).map(Some)
    },
};

/// Derivative of `reverse`.
pub const REVERSE: Derivative = Derivative::Linear { jvp: reversed, vjp: reversed };

fn reversed(site: &mut Site, _: usize, tangent: NodeId) -> Result<Option<NodeId>> {
    let ReverseAttributes { axes } = site.attributes();
    reverse(site.trace, tangent, &axes).map(Some)
}

/// Derivative of `slice`: cotangents are padded with zeros.
pub const SLICE: Derivative = Derivative::Linear {
    jvp: |site, _, tangent| {
        let SliceAttributes { starts, limits, strides } = site.attributes();
        slice(site.trace, tangent, &starts, &limits, &strides).map(Some)
    },
    vjp: |site, operand, cotangent| {
        let SliceAttributes { starts, strides, .. } = site.attributes();
        let ty = site.operand_ty(operand);
        if site.ty.elements() == 0 {
            return zeros(site.trace, &ty).map(Some);
        }
        let interior: Dims = strides.iter().map(|stride| stride - 1).collect();
        let covered = |axis: usize| starts[axis] + (site.ty.dims[axis] - 1) * strides[axis] + 1;
        let high: Dims = (0..starts.len()).map(|axis| ty.dims[axis] - covered(axis)).collect();
        pad_scalar(site.trace, cotangent, ScalarValue::Signed(0), &starts, &high, &interior).map(Some)
    },
};

/// Derivative of `concatenate`: the cotangent of an operand is its part.
pub const CONCATENATE: Derivative = Derivative::Linear {
    jvp: |site, operand, tangent| {
        let tangent = convert(site.trace, tangent, site.ty.dtype);
        let ConcatenateAttributes { axis } = site.attributes();
        let (before, own) = extent(site, operand, axis);
        let (mut low, mut high) = (vec![0; site.ty.dims.len()], vec![0; site.ty.dims.len()]);
        (low[axis], high[axis]) = (before, site.ty.dims[axis] - before - own);
        let interior = vec![0; low.len()];
        pad_scalar(site.trace, tangent, ScalarValue::Signed(0), &low, &high, &interior).map(Some)
    },
    vjp: |site, operand, cotangent| {
        let ConcatenateAttributes { axis } = site.attributes();
        let (before, own) = extent(site, operand, axis);
        let (mut starts, mut limits) = (vec![0; site.ty.dims.len()], site.ty.dims.to_vec());
        (starts[axis], limits[axis]) = (before, before + own);
        let strides = vec![1; starts.len()];
        let part = slice(site.trace, cotangent, &starts, &limits, &strides)?;
        let ty = site.operand_ty(operand);
        to_operand(site.trace, part, &ty).map(Some)
    },
};

/// Start and size of an operand of a concatenation along the axis.
fn extent(site: &Site, operand: usize, axis: usize) -> (i64, i64) {
    let size = |i: usize| site.trace.ty(site.operands[i]).dims[axis];
    ((0..operand).map(size).sum(), size(operand))
}

/// Derivative of `pad`: the cotangent of the array is a slice, the cotangent of the padding value is the sum of the
/// rest.
pub const PAD: Derivative = Derivative::Linear { jvp: pad_jvp, vjp: pad_vjp };

fn pad_jvp(site: &mut Site, operand: usize, tangent: NodeId) -> Result<Option<NodeId>> {
    let PadAttributes { low, high, interior } = site.attributes();
    let ty = site.operand_ty(0);
    let scalar = TensorType::new(ty.dtype, &[]);
    let (array, value) =
        if operand == 0 { (tangent, zeros(site.trace, &scalar)?) } else { (zeros(site.trace, &ty)?, tangent) };
    pad(site.trace, array, value, &low, &high, &interior).map(Some)
}

fn pad_vjp(site: &mut Site, operand: usize, cotangent: NodeId) -> Result<Option<NodeId>> {
    let PadAttributes { low, high, interior } = site.attributes();
    if operand == 0 {
        return unpadded(site, cotangent, &low, &high, &interior).map(Some);
    }
    // Selects the padding by a mask rather than by a difference of sums, so that elements of the array that are not
    // finite have no effect.
    let ty = site.operand_ty(0);
    let inside = zeros(site.trace, &TensorType { dtype: base::types::DType::Pred, dims: ty.dims })?;
    let outside = pad_scalar(site.trace, inside, ScalarValue::Unsigned(1), &low, &high, &interior)?;
    let zero = zeros(site.trace, &TensorType::new(ty.dtype, &[]))?;
    let kept = select(site.trace, outside, cotangent, zero)?;
    let axes: Vec<i64> = (0..site.ty.dims.len() as i64).collect();
    sum(site.trace, kept, &axes, false).map(Some)
}

/// Records the elements of a padded array that come from the array; 0 for those that negative padding removed.
fn unpadded(site: &mut Site, cotangent: NodeId, low: &[i64], high: &[i64], interior: &[i64]) -> Result<NodeId> {
    let ty = site.operand_ty(0);
    if ty.elements() == 0 || site.ty.elements() == 0 {
        return zeros(site.trace, &ty);
    }
    // Padding by the opposite amounts leaves the array with its interior padding, from which its elements are sliced.
    let none = vec![0; low.len()];
    let opposite = |list: &[i64]| list.iter().map(|amount| -amount).collect::<Vec<i64>>();
    let spread = pad_scalar(site.trace, cotangent, ScalarValue::Signed(0), &opposite(low), &opposite(high), &none)?;
    let limits = site.trace.ty(spread).dims;
    let strides: Vec<i64> = interior.iter().map(|amount| amount + 1).collect();
    slice(site.trace, spread, &none, &limits, &strides)
}

fn leading(size: i64, dims: &[i64]) -> Dims {
    let mut all = Dims::from_slice(&[size]);
    all.extend_from_slice(dims);
    all
}

/// Batches `reshape`.
pub fn batch_reshape(site: &mut Site, _: &[bool], size: i64) -> Result<NodeId> {
    reshape(site.trace, site.operands[0], &leading(size, &site.ty.dims))
}

/// Batches `broadcast_to`: axes of size 1 go between the batch axis and the operand's own axes.
pub fn batch_broadcast_to(site: &mut Site, mapped: &[bool], size: i64) -> Result<NodeId> {
    let own = site.unbatched_ty(0, mapped).dims;
    let mut dims = leading(size, &vec![1; site.ty.dims.len() - own.len()]);
    dims.extend_from_slice(&own);
    let x = reshape(site.trace, site.operands[0], &dims)?;
    broadcast_to(site.trace, x, &leading(size, &site.ty.dims))
}

/// Batches `transpose`.
pub fn batch_transpose(site: &mut Site, _: &[bool], _: i64) -> Result<NodeId> {
    let TransposeAttributes { permutation } = site.attributes();
    let order: Dims = std::iter::once(0).chain(permutation.iter().map(|axis| axis + 1)).collect();
    transpose(site.trace, site.operands[0], &order)
}

/// Batches `reverse`.
pub fn batch_reverse(site: &mut Site, _: &[bool], _: i64) -> Result<NodeId> {
    let ReverseAttributes { axes } = site.attributes();
    let axes: Vec<i64> = axes.iter().map(|axis| axis + 1).collect();
    reverse(site.trace, site.operands[0], &axes)
}

/// Batches `slice`.
pub fn batch_slice(site: &mut Site, _: &[bool], size: i64) -> Result<NodeId> {
    let SliceAttributes { starts, limits, strides } = site.attributes();
    slice(site.trace, site.operands[0], &leading(0, &starts), &leading(size, &limits), &leading(1, &strides))
}

/// Batches `concatenate`.
pub fn batch_concatenate(site: &mut Site, mapped: &[bool], size: i64) -> Result<NodeId> {
    let ConcatenateAttributes { axis } = site.attributes();
    let all: Vec<NodeId> = (0..mapped.len()).map(|i| site.mapped_operand(i, mapped, size)).collect::<Result<_>>()?;
    concatenate(site.trace, &all, axis as i64 + 1)
}

/// Batches `pad`. If the padding value is mapped, pads with zeros and replaces these by the value of each element of
/// the batch.
pub fn batch_pad(site: &mut Site, mapped: &[bool], size: i64) -> Result<NodeId> {
    let PadAttributes { low, high, interior } = site.attributes();
    let (low, high, interior) = (leading(0, &low), leading(0, &high), leading(0, &interior));
    let array = site.mapped_operand(0, mapped, size)?;
    let value = site.operands[1];
    if !mapped[1] {
        return pad(site.trace, array, value, &low, &high, &interior);
    }
    let dims = site.trace.ty(array).dims;
    let padded = pad_scalar(site.trace, array, ScalarValue::Signed(0), &low, &high, &interior)?;
    let inside = zeros(site.trace, &TensorType { dtype: base::types::DType::Pred, dims })?;
    let outside = pad_scalar(site.trace, inside, ScalarValue::Unsigned(1), &low, &high, &interior)?;
    let value = reshape(site.trace, value, &leading(size, &vec![1; site.ty.dims.len()]))?;
    select(site.trace, outside, value, padded)
}
