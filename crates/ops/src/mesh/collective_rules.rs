//! Derivatives and batching of collectives. The transpose of a sum over devices is a sum over devices: a cotangent of a
//! value that several devices hold is divided among them (see `shard_map_rules`), and the parts add up to it.

use super::collectives::{
    AllReduceAttributes, AllToAllAttributes, AlongAttributes, all_gather, all_reduce, all_to_all, reduce_scatter,
};
use super::permute::{CollectivePermuteAttributes, collective_permute};
use crate::elementwise::binary::{binary, binary_scalar};
use crate::elementwise::compare_select::{compare, select};
use crate::elementwise::convert::convert;
use crate::rules::{Site, Tangent, no_derivative};
use crate::tangents::{sum_dtype, zeros};
use base::error::Result;
use base::types::{ScalarValue, TensorType};
use ir::{BinaryOp, CompareOp, NodeId, Op, ReduceOp};

/// The reduction of a site.
fn reduce_op(site: &Site) -> ReduceOp {
    match site.op {
        Op::AllReduce(op) | Op::ReduceScatter(op) => op,
        op => unreachable!("asked for {op:?}"),
    }
}

/// Records the sum over the devices of the groups of an `all_reduce`.
fn total(site: &mut Site, x: NodeId) -> Result<NodeId> {
    let AllReduceAttributes { mesh, axes } = site.attributes();
    all_reduce(site.trace, ReduceOp::Sum, x, &mesh, &axes)
}

/// Devices of a group that tie for its maximum or minimum, and share the derivative.
struct Ties {
    /// Mask: this device's value equals the result, or is NaN.
    is_extreme: NodeId,
    /// Number of such devices, at least 1, in the dtype of sums.
    count: NodeId,
}

fn ties(site: &mut Site) -> Result<Ties> {
    let (x, result) = (site.operands[0], site.result());
    let wide = sum_dtype(site.ty.dtype);
    let is_equal = compare(site.trace, CompareOp::Eq, x, result)?;
    let is_nan = compare(site.trace, CompareOp::Ne, x, x)?;
    let is_extreme = binary(site.trace, BinaryOp::Or, is_equal, is_nan)?;
    let ones = convert(site.trace, is_extreme, wide);
    let count = total(site, ones)?;
    let count = binary_scalar(site.trace, BinaryOp::Maximum, count, ScalarValue::Signed(1), false)?;
    Ok(Ties { is_extreme, count })
}

/// Records `x` where this device shares the derivative, and 0 elsewhere.
fn where_extreme(site: &mut Site, ties: &Ties, x: NodeId) -> Result<NodeId> {
    let zero = zeros(site.trace, &TensorType::new(site.ty.dtype, &[]))?;
    select(site.trace, ties.is_extreme, x, zero)
}

/// Records `x` divided by the number of devices that share the derivative.
fn share(site: &mut Site, ties: &Ties, x: NodeId) -> Result<NodeId> {
    let dtype = site.ty.dtype;
    let wide = convert(site.trace, x, sum_dtype(dtype));
    let share = binary(site.trace, BinaryOp::Divide, wide, ties.count)?;
    Ok(convert(site.trace, share, dtype))
}

/// Records the tangent of an `all_reduce`.
pub fn jvp_of_all_reduce(site: &mut Site, _: usize, tangent: NodeId) -> Result<Tangent> {
    match reduce_op(site) {
        ReduceOp::Sum => total(site, tangent).map(Some),
        ReduceOp::Max | ReduceOp::Min => {
            let ties = ties(site)?;
            let own = where_extreme(site, &ties, tangent)?;
            let sum = total(site, own)?;
            share(site, &ties, sum).map(Some)
        }
        ReduceOp::Product => Err(no_derivative("all_reduce by a product")),
        ReduceOp::All | ReduceOp::Any => Ok(None),
    }
}

/// Records the cotangent of the operand of an `all_reduce`.
pub fn vjp_of_all_reduce(site: &mut Site, _: usize, cotangent: NodeId) -> Result<Tangent> {
    match reduce_op(site) {
        ReduceOp::Sum => total(site, cotangent).map(Some),
        ReduceOp::Max | ReduceOp::Min => {
            let ties = ties(site)?;
            let sum = total(site, cotangent)?;
            let own = share(site, &ties, sum)?;
            where_extreme(site, &ties, own).map(Some)
        }
        ReduceOp::Product => Err(no_derivative("all_reduce by a product")),
        ReduceOp::All | ReduceOp::Any => Ok(None),
    }
}

/// Batches an `all_reduce`.
pub fn batch_all_reduce(site: &mut Site, _: &[bool], _: i64) -> Result<NodeId> {
    let (op, AllReduceAttributes { mesh, axes }) = (reduce_op(site), site.attributes());
    all_reduce(site.trace, op, site.operands[0], &mesh, &axes)
}

/// Records the tangent of an `all_gather`.
pub fn jvp_of_all_gather(site: &mut Site, _: usize, tangent: NodeId) -> Result<Tangent> {
    let AlongAttributes { mesh, axes, axis } = site.attributes();
    all_gather(site.trace, tangent, &mesh, &axes, axis as i64).map(Some)
}

/// Records the cotangent of the operand of an `all_gather`: the piece of this device, summed over the group.
pub fn vjp_of_all_gather(site: &mut Site, _: usize, cotangent: NodeId) -> Result<Tangent> {
    let AlongAttributes { mesh, axes, axis } = site.attributes();
    reduce_scatter(site.trace, ReduceOp::Sum, cotangent, &mesh, &axes, axis as i64).map(Some)
}

/// Batches an `all_gather`.
pub fn batch_all_gather(site: &mut Site, _: &[bool], _: i64) -> Result<NodeId> {
    let AlongAttributes { mesh, axes, axis } = site.attributes();
    all_gather(site.trace, site.operands[0], &mesh, &axes, axis as i64 + 1)
}

/// Records the tangent of a `reduce_scatter`.
pub fn jvp_of_reduce_scatter(site: &mut Site, _: usize, tangent: NodeId) -> Result<Tangent> {
    check_sum(site)?;
    let AlongAttributes { mesh, axes, axis } = site.attributes();
    reduce_scatter(site.trace, ReduceOp::Sum, tangent, &mesh, &axes, axis as i64).map(Some)
}

/// Records the cotangent of the operand of a `reduce_scatter`.
pub fn vjp_of_reduce_scatter(site: &mut Site, _: usize, cotangent: NodeId) -> Result<Tangent> {
    check_sum(site)?;
    let AlongAttributes { mesh, axes, axis } = site.attributes();
    all_gather(site.trace, cotangent, &mesh, &axes, axis as i64).map(Some)
}

fn check_sum(site: &Site) -> Result<()> {
    match reduce_op(site) {
        ReduceOp::Sum => Ok(()),
        op => Err(no_derivative(&format!("reduce_scatter by {}", op.name()))),
    }
}

/// Batches a `reduce_scatter`.
pub fn batch_reduce_scatter(site: &mut Site, _: &[bool], _: i64) -> Result<NodeId> {
    let (op, AlongAttributes { mesh, axes, axis }) = (reduce_op(site), site.attributes());
    reduce_scatter(site.trace, op, site.operands[0], &mesh, &axes, axis as i64 + 1)
}

/// Records the tangent of an `all_to_all`.
pub fn jvp_of_all_to_all(site: &mut Site, _: usize, tangent: NodeId) -> Result<Tangent> {
    let AllToAllAttributes { mesh, axes, split_axis, concat_axis } = site.attributes();
    all_to_all(site.trace, tangent, &mesh, &axes, split_axis as i64, concat_axis as i64).map(Some)
}

/// Records the cotangent of the operand of an `all_to_all`: each piece goes back to the device that it came from.
pub fn vjp_of_all_to_all(site: &mut Site, _: usize, cotangent: NodeId) -> Result<Tangent> {
    let AllToAllAttributes { mesh, axes, split_axis, concat_axis } = site.attributes();
    all_to_all(site.trace, cotangent, &mesh, &axes, concat_axis as i64, split_axis as i64).map(Some)
}

/// Batches an `all_to_all`.
pub fn batch_all_to_all(site: &mut Site, _: &[bool], _: i64) -> Result<NodeId> {
    let AllToAllAttributes { mesh, axes, split_axis, concat_axis } = site.attributes();
    all_to_all(site.trace, site.operands[0], &mesh, &axes, split_axis as i64 + 1, concat_axis as i64 + 1)
}

/// Records the tangent of a `collective_permute`.
pub fn jvp_of_permute(site: &mut Site, _: usize, tangent: NodeId) -> Result<Tangent> {
    let CollectivePermuteAttributes { mesh, axis, pairs } = site.attributes();
    let pairs: Vec<(i64, i64)> = pairs.iter().map(|&[source, target]| (source, target)).collect();
    collective_permute(site.trace, tangent, &mesh, axis, &pairs).map(Some)
}

/// Records the cotangent of the operand of a `collective_permute`: from the targets back to the sources.
pub fn vjp_of_permute(site: &mut Site, _: usize, cotangent: NodeId) -> Result<Tangent> {
    let CollectivePermuteAttributes { mesh, axis, pairs } = site.attributes();
    let pairs: Vec<(i64, i64)> = pairs.iter().map(|&[source, target]| (target, source)).collect();
    collective_permute(site.trace, cotangent, &mesh, axis, &pairs).map(Some)
}

/// Batches a `collective_permute`.
pub fn batch_permute(site: &mut Site, _: &[bool], _: i64) -> Result<NodeId> {
    let CollectivePermuteAttributes { mesh, axis, pairs } = site.attributes();
    let pairs: Vec<(i64, i64)> = pairs.iter().map(|&[source, target]| (source, target)).collect();
    collective_permute(site.trace, site.operands[0], &mesh, axis, &pairs)
}
