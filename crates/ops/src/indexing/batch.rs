//! Batching of reads and writes at computed indices. In gather and scatter, the batch becomes a window axis if the
//! indices are not mapped, and a batching axis otherwise.

use super::bounds::{clamped, last_starts};
use super::derivative::gather_of_take;
use super::dynamic::{TakeAttributes, dynamic_slice, dynamic_update_slice, take};
use super::gather::{GatherAttributes, gather};
use super::scatter::{IndexHints, ScatterAttributes, scatter};
use crate::control::apply::Applied;
use crate::control::bodies;
use crate::creation::constants::{full, nothing};
use crate::indexing::along::from_start;
use crate::rules::Site;
use crate::shape::axes::{broadcast_to, reshape};
use crate::shape::slicing::concatenate;
use base::error;
use base::error::Result;
use base::types::{ScalarValue, TensorType};
use ir::{DimensionNumbers, NodeId, Trace};

/// Axes after a new leading one is added.
fn behind(axes: &[i64]) -> Vec<i64> {
    axes.iter().map(|axis| axis + 1).collect()
}

/// The new leading axis, followed by the other axes.
fn with_first(axes: &[i64]) -> Vec<i64> {
    std::iter::once(0).chain(behind(axes)).collect()
}

/// Dimension numbers with a leading batch axis on the array and on the result (or updates), but not on the indices.
fn over_array(numbers: &DimensionNumbers) -> DimensionNumbers {
    DimensionNumbers {
        window_dims: with_first(&numbers.window_dims),
        collapsed_dims: behind(&numbers.collapsed_dims),
        batching_dims: behind(&numbers.batching_dims),
        indices_batching_dims: numbers.indices_batching_dims.clone(),
        index_map: behind(&numbers.index_map),
        index_vector_dim: numbers.index_vector_dim,
    }
}

/// Dimension numbers with a leading batch axis on the indices and on the result, but not on the array.
fn over_indices(numbers: &DimensionNumbers) -> DimensionNumbers {
    DimensionNumbers {
        window_dims: behind(&numbers.window_dims),
        collapsed_dims: numbers.collapsed_dims.clone(),
        batching_dims: numbers.batching_dims.clone(),
        indices_batching_dims: behind(&numbers.indices_batching_dims),
        index_map: numbers.index_map.clone(),
        index_vector_dim: numbers.index_vector_dim + 1,
    }
}

/// Dimension numbers with a leading batch axis on the array, the indices and the result (or updates).
fn over_all(numbers: &DimensionNumbers) -> DimensionNumbers {
    DimensionNumbers {
        window_dims: behind(&numbers.window_dims),
        collapsed_dims: behind(&numbers.collapsed_dims),
        batching_dims: with_first(&numbers.batching_dims),
        indices_batching_dims: with_first(&numbers.indices_batching_dims),
        index_map: behind(&numbers.index_map),
        index_vector_dim: numbers.index_vector_dim + 1,
    }
}

/// A gather whose array and indices may have a leading batch axis.
struct Batched<'a> {
    x: NodeId,
    indices: NodeId,
    /// Whether the array and the indices are mapped. At least one of them is.
    mapped: [bool; 2],
    /// Dimension numbers and slice sizes without the batch.
    numbers: &'a DimensionNumbers,
    sizes: &'a [i64],
    indices_are_sorted: bool,
    size: i64,
}

impl Batched<'_> {
    /// Records the gather; `ty` is the type of its result without the batch.
    fn record(&self, trace: &mut Trace, ty: &TensorType) -> Result<NodeId> {
        if self.size == 0 {
            return empty(trace, ty);
        }
        let with = |first: i64| [&[first], self.sizes].concat();
        let (numbers, sizes, is_sorted) = match self.mapped {
            [true, false] => (over_array(self.numbers), with(self.size), self.indices_are_sorted),
            [false, _] => (over_indices(self.numbers), self.sizes.to_vec(), false),
            [true, true] => (over_all(self.numbers), with(1), false),
        };
        gather(trace, self.x, self.indices, &numbers, &sizes, is_sorted)
    }
}

/// Records the result of an empty batch of values of a type.
fn empty(trace: &mut Trace, ty: &TensorType) -> Result<NodeId> {
    let mut ty = ty.clone();
    ty.dims.insert(0, 0);
    nothing(trace, &ty)
}

/// Dimension numbers of one slice of an array of this rank, whose starts are a vector.
fn one_slice(rank: usize) -> DimensionNumbers {
    let axes: Vec<i64> = (0..rank as i64).collect();
    DimensionNumbers { window_dims: axes.clone(), index_map: axes, index_vector_dim: 0, ..DimensionNumbers::default() }
}

/// Returns a start of 0 for the batch axis, followed by the starts: the operands from `first` on.
fn starts_behind_batch(site: &mut Site, first: usize) -> Result<Vec<NodeId>> {
    let dtype = site.operand_ty(first).dtype;
    let zero = full(site.trace, &TensorType::new(dtype, &[]), ScalarValue::Unsigned(0))?;
    Ok([&[zero], &site.operands[first..]].concat())
}

/// Records the starts (the operands from `first` on) as vectors, one for each element of the batch.
fn vectors_of_starts(site: &mut Site, first: usize, mapped: &[bool], size: i64) -> Result<NodeId> {
    let mut columns = Vec::with_capacity(mapped.len() - first);
    for (&start, &is_mapped) in site.operands[first..].iter().zip(&mapped[first..]) {
        columns.push(if is_mapped {
            reshape(site.trace, start, &[size, 1])?
        } else {
            broadcast_to(site.trace, start, &[size, 1])?
        });
    }
    concatenate(site.trace, &columns, 1)
}

/// Batches a dynamic slice: by a gather if a start is mapped. Both clamp the starts.
pub fn batch_of_slice(site: &mut Site, mapped: &[bool], size: i64) -> Result<NodeId> {
    let (x, ty) = (site.operands[0], site.ty.clone());
    if size == 0 {
        return empty(site.trace, &ty);
    }
    if !mapped[1..].contains(&true) {
        let starts = starts_behind_batch(site, 1)?;
        return dynamic_slice(site.trace, x, &starts, &[&[size], &ty.dims[..]].concat());
    }
    let indices = vectors_of_starts(site, 1, mapped, size)?;
    let (numbers, mapped) = (one_slice(ty.dims.len()), [mapped[0], true]);
    let batched = Batched { x, indices, mapped, numbers: &numbers, sizes: &ty.dims, indices_are_sorted: false, size };
    batched.record(site.trace, &ty)
}

/// Batches a dynamic update: by a scatter with clamped indices if a start is mapped.
pub fn batch_of_update(site: &mut Site, mapped: &[bool], size: i64) -> Result<NodeId> {
    let (ty, part) = (site.ty.clone(), site.unbatched_ty(1, mapped));
    if size == 0 {
        return empty(site.trace, &ty);
    }
    let (x, update) = (site.mapped_operand(0, mapped, size)?, site.mapped_operand(1, mapped, size)?);
    if !mapped[2..].contains(&true) {
        let starts = starts_behind_batch(site, 2)?;
        return dynamic_update_slice(site.trace, x, update, &starts);
    }
    let numbers = one_slice(ty.dims.len());
    let vectors = vectors_of_starts(site, 2, mapped, size)?;
    let indices = clamped(site.trace, vectors, 1, &last_starts(&ty.dims, &part.dims, &numbers))?;
    let body = bodies::replace(ty.dtype)?;
    let replace = Applied { body: &body, captures: &[] };
    let hints = IndexHints { sorted: false, unique: true };
    Ok(scatter(site.trace, &replace, &[x], indices, &[update], &over_all(&numbers), hints)?[0])
}

/// Batches a take: by another take if the indices are not mapped, or if only they are and the axis is the first one; by
/// a gather otherwise.
pub fn batch_of_take(site: &mut Site, mapped: &[bool], size: i64) -> Result<NodeId> {
    let TakeAttributes { axis } = site.attributes();
    let (x, indices, ty) = (site.operands[0], site.operands[1], site.ty.clone());
    if !mapped[1] {
        return take(site.trace, x, indices, axis as i64 + 1);
    }
    if !mapped[0] && axis == 0 {
        return take(site.trace, x, indices, 0);
    }
    let dims = site.unbatched_ty(0, mapped).dims;
    let (numbers, sizes) = gather_of_take(axis, &dims, site.unbatched_ty(1, mapped).dims.len());
    let indices = from_start(site.trace, indices, dims[axis])?;
    let mapped = [mapped[0], true];
    let batched = Batched { x, indices, mapped, numbers: &numbers, sizes: &sizes, indices_are_sorted: false, size };
    batched.record(site.trace, &ty)
}

/// Batches a gather.
pub fn batch_of_gather(site: &mut Site, mapped: &[bool], size: i64) -> Result<NodeId> {
    let GatherAttributes { indices_are_sorted, slice_sizes, numbers } = site.attributes();
    let (x, indices, ty) = (site.operands[0], site.operands[1], site.ty.clone());
    let mapped = [mapped[0], mapped[1]];
    let batched = Batched { x, indices, mapped, numbers: &numbers, sizes: &slice_sizes, indices_are_sorted, size };
    batched.record(site.trace, &ty)
}

/// Batches a scatter: all arrays and updates get the batch axis; the indices keep it if they are mapped.
pub fn batch_of_scatter(site: &mut Site, mapped: &[bool], size: i64) -> Result<Vec<(NodeId, bool)>> {
    let ScatterAttributes { indices_are_sorted, unique_indices, numbers } = site.attributes();
    let body = site.bodies[0].clone();
    let count = body.results().len();
    let captures = site.operands[2 * count + 1..].to_vec();
    if mapped[2 * count + 1..].contains(&true) {
        return Err(error!(Unimplemented, "scatter cannot be batched over values that its combiner captured"));
    }
    let indices = site.operands[count];
    let mut arrays = Vec::with_capacity(count);
    let mut updates = Vec::with_capacity(count);
    for i in 0..count {
        arrays.push(site.mapped_operand(i, mapped, size)?);
        updates.push(site.mapped_operand(count + 1 + i, mapped, size)?);
    }
    let numbers = if mapped[count] { over_all(&numbers) } else { over_array(&numbers) };
    let hints = IndexHints { sorted: indices_are_sorted && !mapped[count], unique: unique_indices };
    let combiner = Applied { body: &body, captures: &captures };
    let made = scatter(site.trace, &combiner, &arrays, indices, &updates, &numbers, hints)?;
    Ok(made.into_iter().map(|id| (id, true)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_axis_comes_first() {
        let rows = DimensionNumbers {
            window_dims: vec![1],
            collapsed_dims: vec![0],
            index_map: vec![0],
            index_vector_dim: 1,
            ..DimensionNumbers::default()
        };
        let array = over_array(&rows);
        assert_eq!((array.window_dims, array.collapsed_dims, array.index_vector_dim), (vec![0, 2], vec![1], 1));
        let indices = over_indices(&rows);
        assert_eq!((indices.window_dims, indices.collapsed_dims, indices.index_vector_dim), (vec![2], vec![0], 2));
        let all = over_all(&rows);
        assert_eq!((all.batching_dims, all.indices_batching_dims, all.index_map), (vec![0], vec![0], vec![1]));
    }
}
