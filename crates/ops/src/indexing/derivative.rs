//! Derivatives of slices at computed starts: dynamic slices, take and gather.

use super::along::{combined, from_start};
use super::bounds::{clamped, last_starts};
use super::dynamic::{TakeAttributes, dynamic_slice, dynamic_update_slice, take};
use super::gather::{GatherAttributes, gather};
use crate::rules::{Forward, Site};
use crate::tangents::zeros;
use base::error::Result;
use base::types::TensorType;
use ir::{DimensionNumbers, NodeId, ScatterOp, Trace};

/// Tangent of a dynamic slice: the slice of the tangent.
pub fn jvp_of_slice(site: &mut Site, operand: usize, tangent: NodeId) -> Result<Option<NodeId>> {
    if operand != 0 {
        return Ok(None);
    }
    let (starts, sizes) = (site.operands[1..].to_vec(), site.ty.dims.clone());
    dynamic_slice(site.trace, tangent, &starts, &sizes).map(Some)
}

/// Cotangent of the array of a dynamic slice: the cotangent of the slice, written into zeros.
pub fn vjp_of_slice(site: &mut Site, operand: usize, cotangent: NodeId) -> Result<Option<NodeId>> {
    if operand != 0 {
        return Ok(None);
    }
    let (starts, ty) = (site.operands[1..].to_vec(), site.operand_ty(0));
    let empty = zeros(site.trace, &ty)?;
    dynamic_update_slice(site.trace, empty, cotangent, &starts).map(Some)
}

/// Tangent of an update: an update of the array's tangent with the update's tangent, which can run in place as the
/// update itself.
pub fn jvp_of_update(site: &mut Site, tangents: &[Option<NodeId>]) -> Result<Forward> {
    if tangents[0].is_none() && tangents[1].is_none() {
        return Ok(Forward { results: None, tangents: vec![None] });
    }
    let x = tangent_or_zeros(site, 0, tangents[0])?;
    let update = tangent_or_zeros(site, 1, tangents[1])?;
    let starts = site.operands[2..].to_vec();
    let tangent = dynamic_update_slice(site.trace, x, update, &starts)?;
    Ok(Forward { results: None, tangents: vec![Some(tangent)] })
}

/// The tangent of an operand, or zeros.
pub fn tangent_or_zeros(site: &mut Site, operand: usize, tangent: Option<NodeId>) -> Result<NodeId> {
    match tangent {
        Some(tangent) => Ok(tangent),
        None => {
            let ty = site.operand_ty(operand);
            zeros(site.trace, &ty)
        }
    }
}

/// Cotangents of an update: of the array, 0 where the update is written; of the update, the slice there.
pub fn vjp_of_update(site: &mut Site, cotangents: &[Option<NodeId>], wanted: &[bool]) -> Result<Vec<Option<NodeId>>> {
    let mut gradients = vec![None; wanted.len()];
    let Some(cotangent) = cotangents[0] else { return Ok(gradients) };
    let (starts, part) = (site.operands[2..].to_vec(), site.operand_ty(1));
    if wanted[0] {
        let empty = zeros(site.trace, &part)?;
        gradients[0] = Some(dynamic_update_slice(site.trace, cotangent, empty, &starts)?);
    }
    if wanted[1] {
        gradients[1] = Some(dynamic_slice(site.trace, cotangent, &starts, &part.dims)?);
    }
    Ok(gradients)
}

/// Dimension numbers and slice sizes of the gather that is equivalent to a take. `dims` is the shape of the array.
pub fn gather_of_take(axis: usize, dims: &[i64], indices_rank: usize) -> (DimensionNumbers, Vec<i64>) {
    let rank = dims.len() - 1 + indices_rank;
    let numbers = DimensionNumbers {
        window_dims: (0..axis).chain(axis + indices_rank..rank).map(|axis| axis as i64).collect(),
        collapsed_dims: vec![axis as i64],
        index_map: vec![axis as i64],
        index_vector_dim: indices_rank as i64,
        ..DimensionNumbers::default()
    };
    let mut sizes = dims.to_vec();
    sizes[axis] = 1;
    (numbers, sizes)
}

/// Tangent of a take: the take of the tangent.
pub fn jvp_of_take(site: &mut Site, operand: usize, tangent: NodeId) -> Result<Option<NodeId>> {
    if operand != 0 {
        return Ok(None);
    }
    let (TakeAttributes { axis }, indices) = (site.attributes(), site.operands[1]);
    take(site.trace, tangent, indices, axis as i64).map(Some)
}

/// Cotangent of the array of a take.
pub fn vjp_of_take(site: &mut Site, operand: usize, cotangent: NodeId) -> Result<Option<NodeId>> {
    if operand != 0 {
        return Ok(None);
    }
    let (TakeAttributes { axis }, indices) = (site.attributes(), site.operands[1]);
    let (ty, indices_rank) = (site.operand_ty(0), site.operand_ty(1).dims.len());
    let (numbers, sizes) = gather_of_take(axis, &ty.dims, indices_rank);
    let indices = from_start(site.trace, indices, ty.dims[axis])?;
    transposed(site.trace, &ty, indices, &numbers, &sizes, cotangent).map(Some)
}

/// Tangent of a gather: the gather of the tangent.
pub fn jvp_of_gather(site: &mut Site, operand: usize, tangent: NodeId) -> Result<Option<NodeId>> {
    if operand != 0 {
        return Ok(None);
    }
    let GatherAttributes { indices_are_sorted, slice_sizes, numbers } = site.attributes();
    let indices = site.operands[1];
    gather(site.trace, tangent, indices, &numbers, &slice_sizes, indices_are_sorted).map(Some)
}

/// Cotangent of the array of a gather.
pub fn vjp_of_gather(site: &mut Site, operand: usize, cotangent: NodeId) -> Result<Option<NodeId>> {
    if operand != 0 {
        return Ok(None);
    }
    let GatherAttributes { slice_sizes, numbers, .. } = site.attributes();
    let (ty, indices) = (site.operand_ty(0), site.operands[1]);
    transposed(site.trace, &ty, indices, &numbers, &slice_sizes, cotangent).map(Some)
}

/// Records the transpose of a gather from an array of type `ty`: slices are added to zeros. Scatter drops slices out of
/// bounds, where gather clamps them, so the indices are clamped first.
fn transposed(
    trace: &mut Trace,
    ty: &TensorType,
    indices: NodeId,
    numbers: &DimensionNumbers,
    sizes: &[i64],
    cotangent: NodeId,
) -> Result<NodeId> {
    let lasts = last_starts(&ty.dims, sizes, numbers);
    let indices = clamped(trace, indices, numbers.index_vector_dim, &lasts)?;
    let empty = zeros(trace, ty)?;
    combined(trace, ScatterOp::Sum, empty, indices, cotangent, numbers)
}
