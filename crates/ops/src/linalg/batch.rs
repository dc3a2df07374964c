//! Batching of contractions, factorizations and Fourier transforms.

use super::derivative::inverse;
use super::dot_general::{DotAxes, DotGeneralAttributes};
use super::factorization::CholeskyAttributes;
use super::fourier::FftAttributes;
use crate::rules::Site;
use crate::shape::axes::{reshape, transpose};
use base::error::Result;
use ir::{NodeId, Trace};
use native::Triangle;

/// Batches a dot_general. If both operands are mapped, the batch is a batching axis; if one is, it is a free axis of
/// that operand, and is moved to the front of the result.
pub fn dot_general(site: &mut Site, mapped: &[bool], _: i64) -> Result<NodeId> {
    let attributes: DotGeneralAttributes = site.attributes();
    let behind_batch = |axes: &[i64], operand: usize| -> Vec<i64> {
        axes.iter().map(|&axis| axis + i64::from(mapped[operand])).collect()
    };
    let mut batching = [behind_batch(&attributes.lhs_batching, 0), behind_batch(&attributes.rhs_batching, 1)];
    let contracting = [behind_batch(&attributes.lhs_contracting, 0), behind_batch(&attributes.rhs_contracting, 1)];
    let both = mapped[0] && mapped[1];
    if both {
        batching.iter_mut().for_each(|axes| axes.insert(0, 0));
    }
    let axes = DotAxes {
        lhs_batching: &batching[0],
        rhs_batching: &batching[1],
        lhs_contracting: &contracting[0],
        rhs_contracting: &contracting[1],
    };
    let (lhs, rhs, dtype) = (site.operands[0], site.operands[1], site.ty.dtype);
    let result = super::dot_general::dot_general_with(site.trace, lhs, rhs, &axes, Some(dtype), attributes.precision)?;
    if both {
        return Ok(result);
    }
    // The batch is the first free axis of its operand. In the result, the free axes of lhs precede those of rhs.
    let free_in_lhs = site.operand_ty(0).dims.len() - batching[0].len() - contracting[0].len();
    let place = batching[0].len() + if mapped[0] { 0 } else { free_in_lhs };
    let mut order: Vec<i64> = (0..=site.ty.dims.len() as i64).collect();
    let batch = order.remove(place);
    order.insert(0, batch);
    transpose(site.trace, result, &order)
}

/// Batches a Cholesky factorization: the operation supports batch axes.
pub fn cholesky(site: &mut Site, _: &[bool], _: i64) -> Result<NodeId> {
    let CholeskyAttributes { lower } = site.attributes();
    let a = site.operands[0];
    super::factorization::cholesky(site.trace, a, lower)
}

/// Batches a triangular solve: the operation supports batch axes. For one matrix and a batch of right-hand sides, the
/// batch is merged into the columns of the right-hand side, or into its rows for a solve from the right.
pub fn triangular_solve(site: &mut Site, mapped: &[bool], size: i64) -> Result<NodeId> {
    let triangle: Triangle = site.attributes();
    if mapped[0] {
        let (a, b) = (site.operands[0], site.mapped_operand(1, mapped, size)?);
        return super::factorization::triangular_solve(site.trace, a, b, triangle);
    }
    let (a, b) = (site.operands[0], site.operands[1]);
    let place = usize::from(!triangle.left_side);
    by_merged_columns(site.trace, b, place, |trace, sides| {
        super::factorization::triangular_solve(trace, a, sides, triangle)
    })
}

/// Solves with right-hand sides of which the leading batch axis is merged into the last axis, or into the one before it
/// for `place` 1.
pub(super) fn by_merged_columns(
    trace: &mut Trace,
    b: NodeId,
    place: usize,
    solve: impl FnOnce(&mut Trace, NodeId) -> Result<NodeId>,
) -> Result<NodeId> {
    let rank = trace.ty(b).dims.len();
    let place = rank - 2 - place;
    let mut order: Vec<i64> = (1..rank as i64).collect();
    order.insert(place, 0);
    let moved = transpose(trace, b, &order)?;
    let dims = trace.ty(moved).dims;
    let mut merged = dims.clone();
    merged[place + 1] *= merged[place];
    merged.remove(place);
    let sides = reshape(trace, moved, &merged)?;
    let solution = solve(trace, sides)?;
    let solution = reshape(trace, solution, &dims)?;
    transpose(trace, solution, &inverse(&order))
}

/// Batches a Fourier transform: it transforms the last axes only.
pub fn fft(site: &mut Site, _: &[bool], _: i64) -> Result<NodeId> {
    let FftAttributes { op, lengths } = site.attributes();
    let x = site.operands[0];
    super::fourier::fft(site.trace, op, x, &lengths)
}
