//! Bounds of the starts of slices. Gather clamps starts so that slices lie within the array; scatter drops slices that
//! do not.

use crate::creation::constants::full;
use crate::elementwise::binary::{binary, binary_scalar};
use crate::elementwise::compare_select::{compare, compare_scalar};
use crate::reduction::reduce::reduce;
use crate::shape::slicing::concatenate;
use base::error::Result;
use base::types::{Kind, ScalarValue, TensorType, integer_limits};
use ir::{BinaryOp, CompareOp, DimensionNumbers, NodeId, ReduceOp, Trace};

/// Largest start of a slice of shape `sizes` along each axis of the index map, in its order.
pub fn last_starts(dims: &[i64], sizes: &[i64], numbers: &DimensionNumbers) -> Vec<i64> {
    numbers.index_map.iter().map(|&axis| dims[axis as usize] - sizes[axis as usize]).collect()
}

/// Shape of a slice of an array of this rank; `side` is the shape of the gather's result or of the scatter's updates.
pub fn slice_sizes(numbers: &DimensionNumbers, rank: usize, side: &[i64]) -> Vec<i64> {
    let mut sizes = vec![1; rank];
    for (axis, &at) in numbers.array_axes(rank).into_iter().zip(&numbers.window_dims) {
        sizes[axis] = side[at as usize];
    }
    sizes
}

/// Records the largest valid starts in the dtype of the indices, in a shape that broadcasts to theirs. `None` if the
/// dtype cannot represent a greater index, so that no upper bound is needed.
fn limits(trace: &mut Trace, indices: &TensorType, vector_dim: i64, lasts: &[i64]) -> Result<Option<NodeId>> {
    let largest = integer_limits(indices.dtype).expect("indices are integers").max;
    let largest = i64::try_from(largest).unwrap_or(i64::MAX);
    if lasts.iter().all(|&last| last >= largest) {
        return Ok(None);
    }
    let part = |trace: &mut Trace, last: i64, dims: &[i64]| {
        full(trace, &TensorType::new(indices.dtype, dims), ScalarValue::Signed(last.min(largest)))
    };
    if lasts.iter().all(|&last| last == lasts[0]) {
        return Ok(Some(part(trace, lasts[0], &[])?));
    }
    let dims = vec![1; indices.dims.len()];
    let mut parts = Vec::with_capacity(lasts.len());
    for &last in lasts {
        parts.push(part(trace, last, &dims)?);
    }
    Ok(Some(concatenate(trace, &parts, vector_dim)?))
}

/// Records the indices, clamped as by gather. `lasts` are the largest valid starts.
pub fn clamped(trace: &mut Trace, indices: NodeId, vector_dim: i64, lasts: &[i64]) -> Result<NodeId> {
    if lasts.is_empty() {
        return Ok(indices);
    }
    let ty = trace.ty(indices);
    let mut indices = indices;
    if ty.dtype.kind() == Kind::Signed {
        indices = binary_scalar(trace, BinaryOp::Maximum, indices, ScalarValue::Signed(0), false)?;
    }
    match limits(trace, &ty, vector_dim, lasts)? {
        Some(last) => binary(trace, BinaryOp::Minimum, indices, last),
        None => Ok(indices),
    }
}

/// Records whether each slice lies within the array: pred in the shape of the indices without the axis of the index
/// vectors. `None` if all slices do, whatever the indices are. `lasts` are the largest valid starts.
pub fn inside(trace: &mut Trace, indices: NodeId, vector_dim: i64, lasts: &[i64]) -> Result<Option<NodeId>> {
    if lasts.is_empty() {
        return Ok(None);
    }
    let ty = trace.ty(indices);
    let mut fits = None;
    if ty.dtype.kind() == Kind::Signed {
        fits = Some(compare_scalar(trace, CompareOp::Ge, indices, ScalarValue::Signed(0), false)?);
    }
    if let Some(last) = limits(trace, &ty, vector_dim, lasts)? {
        let is_below = compare(trace, CompareOp::Le, indices, last)?;
        fits = Some(match fits {
            Some(fits) => binary(trace, BinaryOp::And, fits, is_below)?,
            None => is_below,
        });
    }
    let Some(fits) = fits else { return Ok(None) };
    if vector_dim as usize == ty.dims.len() {
        return Ok(Some(fits));
    }
    Ok(Some(reduce(trace, ReduceOp::All, fits, &[vector_dim], false)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::types::DType;
    use ir::Op;

    #[test]
    fn bounds_are_recorded_only_where_an_index_can_exceed_them() {
        let mut trace = Trace::new();
        let mut at = |dtype, dims: &[i64]| trace.parameter(TensorType::new(dtype, dims));
        let (bytes, unsigned, vectors) = (at(DType::U8, &[3]), at(DType::U32, &[3]), at(DType::S32, &[3, 2]));
        assert_eq!(clamped(&mut trace, bytes, 1, &[255]).unwrap(), bytes);
        assert_eq!(inside(&mut trace, bytes, 1, &[255]).unwrap(), None);
        let least = clamped(&mut trace, unsigned, 1, &[4]).unwrap();
        assert_eq!(trace.node(least).op, Op::Binary(BinaryOp::Minimum));
        let both = clamped(&mut trace, vectors, 1, &[4, 7]).unwrap();
        assert_eq!(trace.ty(both), TensorType::new(DType::S32, &[3, 2]));
        let fits = inside(&mut trace, vectors, 1, &[4, 7]).unwrap().unwrap();
        assert_eq!(trace.ty(fits), TensorType::new(DType::Pred, &[3]));
    }
}
