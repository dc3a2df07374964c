//! Recording operations that select elements: by masks, by what they are, by several arrays of indices, by slices.

use super::operands::{numbered, operand_list, operands};
use super::recording::{State, finish, finish_all};
use crate::device::TensorHandle;
use crate::error;
use crate::error::Result;
use crate::ir::{NodeId, ScatterOp};
use crate::ops;
use crate::types::DType;

/// Where `x` is not 0, on each axis; and how many such places there are.
pub fn nonzero(x: TensorHandle, size: i64, fill: i64, index_dtype: DType, places: usize) -> Result<Vec<TensorHandle>> {
    let (mut state, [x]) = operands([("x", x)])?;
    let rank = state.trace.ty(x).dims.len();
    if places != rank {
        return Err(error!(InvalidArgument, "out_indices: {places} given; x has {rank} axes, want as many"));
    }
    let ids = ops::nonzero(&mut state.trace, x, size, fill, index_dtype)?;
    finish_all(state, &ids)
}

/// The slices of `x` where a mask is true; and how many there are.
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

/// The different elements of `x`; where each is first, which of them each element is, how often each is there, and how many
/// there are, each only where `wanted`. A fill with the handle 0 is none.
pub fn unique(
    x: TensorHandle,
    size: i64,
    fill: TensorHandle,
    index_dtype: DType,
    wanted: [bool; 4],
) -> Result<Vec<TensorHandle>> {
    let given = [("x", x), ("fill", fill)].into_iter().filter(|&(name, handle)| name == "x" || handle.0 != 0);
    let (mut state, nodes) = operand_list(given.map(|(name, handle)| (name.to_string(), handle)))?;
    let made = ops::unique(&mut state.trace, nodes[0], size, nodes.get(1).copied(), index_dtype)?;
    let (values, others) = made.split_first().expect("values are first");
    let asked = others.iter().zip(wanted).filter(|(_, wanted)| *wanted).map(|(id, _)| id);
    let ids: Vec<NodeId> = std::iter::once(values).chain(asked).copied().collect();
    finish_all(state, &ids)
}

/// Where values go in a row that is in order.
pub fn searchsorted(
    sorted: TensorHandle,
    values: TensorHandle,
    right: bool,
    index_dtype: DType,
) -> Result<TensorHandle> {
    let (mut state, [sorted, values]) = operands([("sorted", sorted), ("values", values)])?;
    let id = ops::searchsorted(&mut state.trace, sorted, values, right, index_dtype)?;
    finish(state, id)
}

/// The nodes of operands, then of indices, of which those with the handle 0 are whole axes.
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

/// NumPy's advanced indexing.
pub fn index(x: TensorHandle, indices: &[TensorHandle]) -> Result<TensorHandle> {
    let (mut state, nodes, indices) = with_indices(&[("x", x)], indices)?;
    let id = ops::index(&mut state.trace, nodes[0], &indices)?;
    finish(state, id)
}

/// `x` with values combined into what those indices name.
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

/// `x` with values in the place of a slice.
pub fn slice_assign(
    x: TensorHandle,
    starts: &[i64],
    limits: &[i64],
    strides: Option<&[i64]>,
    values: TensorHandle,
) -> Result<TensorHandle> {
    let (mut state, [x, values]) = operands([("x", x), ("values", values)])?;
    let ty = state.trace.ty(x);
    super::operations::check_rank(starts.len(), &ty)?;
    let ones = vec![1; starts.len()];
    let id = ops::slice_assign(&mut state.trace, x, starts, limits, strides.unwrap_or(&ones), values)?;
    finish(state, id)
}
