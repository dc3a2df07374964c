//! Records reads and writes at computed indices, by tensor handles.

use super::operands::{numbered, operand_list, operands};
use super::recording::{State, finish, finish_all};
use super::shape::check_rank;
use crate::device::TensorHandle;
use crate::error::Result;
use crate::ir::{NodeId, Placement, ScatterOp};
use crate::types::DType;
use crate::{error, ops};

/// Records slices of `x` along an axis, at the given indices.
pub fn take(x: TensorHandle, indices: TensorHandle, axis: i64) -> Result<TensorHandle> {
    let (mut state, [x, indices]) = operands([("x", x), ("indices", indices)])?;
    let id = ops::take(&mut state.trace, x, indices, axis)?;
    finish(state, id)
}

/// Records a slice of `x` with `sizes` elements on each axis, beginning at `starts`.
pub fn dynamic_slice(x: TensorHandle, starts: &[TensorHandle], sizes: &[i64]) -> Result<TensorHandle> {
    let (mut state, nodes) = operand_list(std::iter::once(("x".to_string(), x)).chain(numbered("starts", starts)))?;
    let id = ops::dynamic_slice(&mut state.trace, nodes[0], &nodes[1..], sizes)?;
    finish(state, id)
}

/// Records `x` with `update` written over it, beginning at `starts`.
pub fn dynamic_update_slice(x: TensorHandle, update: TensorHandle, starts: &[TensorHandle]) -> Result<TensorHandle> {
    let both = [("x".to_string(), x), ("update".to_string(), update)];
    let (mut state, nodes) = operand_list(both.into_iter().chain(numbered("starts", starts)))?;
    let id = ops::dynamic_update_slice(&mut state.trace, nodes[0], nodes[1], &nodes[2..])?;
    finish(state, id)
}

/// Records an element of `x` for each index along an axis.
pub fn take_along_axis(x: TensorHandle, indices: TensorHandle, axis: i64) -> Result<TensorHandle> {
    let (mut state, [x, indices]) = operands([("x", x), ("indices", indices)])?;
    let id = ops::take_along_axis(&mut state.trace, x, indices, axis)?;
    finish(state, id)
}

/// Records `x` with an element combined into it for each index along an axis.
pub fn scatter_along(
    op: ScatterOp,
    x: TensorHandle,
    indices: TensorHandle,
    updates: TensorHandle,
    axis: i64,
) -> Result<TensorHandle> {
    let (mut state, [x, indices, updates]) = operands([("x", x), ("indices", indices), ("updates", updates)])?;
    let id = ops::scatter_along(&mut state.trace, op, x, indices, updates, axis)?;
    finish(state, id)
}

/// Records `x` with a slice of `source` combined into it for each index.
pub fn index_combine(
    op: ScatterOp,
    x: TensorHandle,
    axis: i64,
    indices: TensorHandle,
    source: TensorHandle,
) -> Result<TensorHandle> {
    let (mut state, [x, indices, source]) = operands([("x", x), ("indices", indices), ("source", source)])?;
    let id = ops::index_combine(&mut state.trace, op, x, axis, indices, source)?;
    finish(state, id)
}

/// Looks up the nodes of operands, then of indices. An index with the handle 0 stands for a whole axis.
fn with_indices(
    first: &[(&str, TensorHandle)],
    indices: &[TensorHandle],
) -> Result<(State, Vec<NodeId>, Vec<Option<NodeId>>)> {
    let first_ones = first.iter().map(|(name, handle)| (name.to_string(), *handle));
    let (state, nodes) =
        operand_list(first_ones.chain(numbered("indices", indices).filter(|(_, handle)| handle.0 != 0)))?;
    let (first, given) = nodes.split_at(first.len());
    let mut given = given.iter().copied();
    let of = |handle: &TensorHandle| if handle.0 == 0 { None } else { given.next() };
    let indices = indices.iter().map(of).collect();
    Ok((state, first.to_vec(), indices))
}

/// Records NumPy's advanced indexing.
pub fn index(x: TensorHandle, indices: &[TensorHandle]) -> Result<TensorHandle> {
    let (mut state, nodes, indices) = with_indices(&[("x", x)], indices)?;
    let id = ops::index(&mut state.trace, nodes[0], &indices)?;
    finish(state, id)
}

/// Records `x` with values combined into the elements that advanced indexing selects.
pub fn index_put(
    op: ScatterOp,
    x: TensorHandle,
    indices: &[TensorHandle],
    values: TensorHandle,
) -> Result<TensorHandle> {
    let (mut state, nodes, indices) = with_indices(&[("x", x), ("values", values)], indices)?;
    let id = ops::index_put(&mut state.trace, op, nodes[0], &indices, nodes[1])?;
    finish(state, id)
}

/// Records `x` with values in place of a slice.
pub fn slice_assign(
    x: TensorHandle,
    starts: &[i64],
    limits: &[i64],
    strides: Option<&[i64]>,
    values: TensorHandle,
) -> Result<TensorHandle> {
    let (mut state, [x, values]) = operands([("x", x), ("values", values)])?;
    let ty = state.trace.ty(x);
    check_rank(starts.len(), &ty)?;
    let ones = vec![1; starts.len()];
    let id = ops::slice_assign(&mut state.trace, x, starts, limits, strides.unwrap_or(&ones), values)?;
    finish(state, id)
}

/// Records the positions of the elements of `x` that are not 0, on each axis; and the number of such elements.
pub fn nonzero(x: TensorHandle, size: i64, fill: i64, index_dtype: DType, places: usize) -> Result<Vec<TensorHandle>> {
    let (mut state, [x]) = operands([("x", x)])?;
    let rank = state.trace.ty(x).dims.len();
    if places != rank {
        return Err(error!(InvalidArgument, "out_indices: {places} given; x has {rank} axes, want as many"));
    }
    let ids = ops::nonzero(&mut state.trace, x, size, fill, index_dtype)?;
    finish_all(state, &ids)
}

/// Records the slices of `x` where a mask is true; and their number.
pub fn mask_select(
    x: TensorHandle,
    mask: TensorHandle,
    size: i64,
    fill: TensorHandle,
    index_dtype: DType,
) -> Result<Vec<TensorHandle>> {
    let (mut state, [x, mask, fill]) = operands([("x", x), ("mask", mask), ("fill", fill)])?;
    let ids = ops::mask_select(&mut state.trace, x, mask, size, fill, index_dtype)?;
    finish_all(state, &ids)
}

/// Records slices of `x` that begin at positions given by index vectors.
pub fn gather(
    x: TensorHandle,
    indices: TensorHandle,
    placement: &Placement,
    slice_sizes: &[i64],
    indices_are_sorted: bool,
) -> Result<TensorHandle> {
    let (mut state, [x, indices]) = operands([("x", x), ("indices", indices)])?;
    let id = ops::gather(&mut state.trace, x, indices, placement, slice_sizes, indices_are_sorted)?;
    finish(state, id)
}
