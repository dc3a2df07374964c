//! Records sorts, top-k, unique elements and binary search, by tensor handles.

use super::operands::{operand_list, operands};
use super::recording::{finish, finish_all};
use crate::device::TensorHandle;
use crate::error::Result;
use crate::ir::NodeId;
use crate::ops;
use crate::types::DType;

/// Records `x` sorted along an axis.
pub fn sort_along(x: TensorHandle, axis: i64, descending: bool, stable: bool) -> Result<TensorHandle> {
    let (mut state, [x]) = operands([("x", x)])?;
    let id = ops::sort_along(&mut state.trace, x, axis, descending, stable)?;
    finish(state, id)
}

/// Records the indices that sort `x` along an axis.
pub fn argsort(x: TensorHandle, axis: i64, descending: bool, stable: bool, index_dtype: DType) -> Result<TensorHandle> {
    let (mut state, [x]) = operands([("x", x)])?;
    let id = ops::argsort(&mut state.trace, x, axis, descending, stable, index_dtype)?;
    finish(state, id)
}

/// Records the k largest (or smallest) elements along an axis, and their indices.
pub fn top_k(x: TensorHandle, k: i64, axis: i64, greatest: bool, index_dtype: DType) -> Result<Vec<TensorHandle>> {
    let (mut state, [x]) = operands([("x", x)])?;
    let ids = ops::top_k(&mut state.trace, x, k, axis, greatest, index_dtype)?;
    finish_all(state, &ids)
}

/// Records the k largest (or smallest) elements by the total order of floats, and their indices.
pub fn top_k_total_order(
    x: TensorHandle,
    k: i64,
    axis: i64,
    greatest: bool,
    index_dtype: DType,
) -> Result<Vec<TensorHandle>> {
    let (mut state, [x]) = operands([("x", x)])?;
    let ids = ops::top_k_total_order(&mut state.trace, x, k, axis, greatest, index_dtype)?;
    finish_all(state, &ids)
}

/// Records the distinct elements of `x`; and each only where `wanted`: the first position of each, the inverse indices,
/// the counts, and the number of distinct elements. A fill with the handle 0 is left out.
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

/// Records the positions at which values would be inserted into a sorted row.
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
