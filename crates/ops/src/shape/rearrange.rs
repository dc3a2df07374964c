//! Rearrangements that are recorded as reshapes, slices and concatenations. Axes may be negative.

use crate::definition::Composed;
use crate::infer::distinct_axes;
use crate::shape::axes::{broadcast_to, reshape, reverse};
use crate::shape::slicing::{concatenate, slice};
use base::allocation::filled;
use base::error;
use base::error::Result;
use base::types::{Dims, MAX_RANK, TensorType, element_count, normalize_axis};
use ir::{NodeId, Trace};

/// Table entries of the composed operations.
pub(crate) const COMPOSED: &[Composed] = &[
    Composed { name: "squeeze", function: "lxla_squeeze", dtypes: "all" },
    Composed { name: "expand_dims", function: "lxla_expand_dims", dtypes: "all" },
    Composed { name: "stack", function: "lxla_stack", dtypes: "all" },
    Composed { name: "split", function: "lxla_split", dtypes: "all" },
    Composed { name: "slice_axis", function: "lxla_slice_axis", dtypes: "all" },
    Composed { name: "flip", function: "lxla_flip", dtypes: "all" },
    Composed { name: "roll", function: "lxla_roll", dtypes: "all" },
    Composed { name: "tile", function: "lxla_tile", dtypes: "all" },
    Composed { name: "repeat", function: "lxla_repeat", dtypes: "all" },
];

/// Records `x` without the listed axes, which must have size 1.
pub fn squeeze(trace: &mut Trace, x: NodeId, axes: &[i64]) -> Result<NodeId> {
    let ty = trace.ty(x);
    let given = distinct_axes("axes", axes, ty.dims.len())?;
    if let Some(&axis) = given.iter().find(|&&axis| ty.dims[axis as usize] != 1) {
        return Err(error!(InvalidArgument, "axes: axis {axis} of x, which is {ty}, is not of size 1"));
    }
    let goes = |axis: usize| given.contains(&(axis as i64));
    let dims: Dims = (0..ty.dims.len()).filter(|&axis| !goes(axis)).map(|axis| ty.dims[axis]).collect();
    reshape(trace, x, &dims)
}

/// Records `x` with axes of size 1 inserted; `axes` are their positions in the result.
pub fn expand_dims(trace: &mut Trace, x: NodeId, axes: &[i64]) -> Result<NodeId> {
    let ty = trace.ty(x);
    let rank = ty.dims.len() + axes.len();
    if rank > MAX_RANK {
        return Err(error!(InvalidArgument, "axes: x is {ty}, and would be of rank {rank}; want at most {MAX_RANK}"));
    }
    let new = distinct_axes("axes", axes, rank)?;
    let mut old = ty.dims.iter().copied();
    let dims: Dims =
        (0..rank as i64).map(|axis| if new.contains(&axis) { 1 } else { old.next().expect("an axis of x") }).collect();
    reshape(trace, x, &dims)
}

/// Records tensors of one shape, stacked along a new axis.
pub fn stack(trace: &mut Trace, tensors: &[NodeId], axis: i64) -> Result<NodeId> {
    let first = tensors.first().ok_or_else(|| error!(InvalidArgument, "n: 0 tensors given; want at least 1"))?;
    let first = trace.ty(*first);
    for (i, &tensor) in tensors.iter().enumerate() {
        let ty = trace.ty(tensor);
        if ty.dims != first.dims {
            return Err(error!(
                InvalidArgument,
                "tensors: tensors[{i}] is {ty} and tensors[0] is {first}; want one shape"
            ));
        }
    }
    let axis = normalize_axis("axis", axis, first.dims.len() + 1)? as i64;
    let parts = tensors.iter().map(|&tensor| expand_dims(trace, tensor, &[axis])).collect::<Result<Vec<NodeId>>>()?;
    concatenate(trace, &parts, axis)
}

/// Records consecutive parts of the given sizes along an axis; their sum must be the size of the axis.
pub fn split(trace: &mut Trace, x: NodeId, sizes: &[i64], axis: i64) -> Result<Vec<NodeId>> {
    let ty = trace.ty(x);
    let axis = normalize_axis("axis", axis, ty.dims.len())?;
    let total = sizes.iter().try_fold(0i64, |sum, &size| if size < 0 { None } else { sum.checked_add(size) });
    if total != Some(ty.dims[axis]) {
        let dim = ty.dims[axis];
        return Err(error!(InvalidArgument, "sizes: {sizes:?} for axis {axis} of x, which is {ty}; want {dim} in all"));
    }
    let mut start = 0;
    let mut part = |&size: &i64| {
        start += size;
        cut(trace, x, axis, start - size, start, 1)
    };
    sizes.iter().map(&mut part).collect()
}

/// Records `count` parts of equal size along an axis.
pub fn split_equally(trace: &mut Trace, x: NodeId, count: usize, axis: i64) -> Result<Vec<NodeId>> {
    let ty = trace.ty(x);
    let from_start = normalize_axis("axis", axis, ty.dims.len())?;
    let dim = ty.dims[from_start];
    if count == 0 || dim % count as i64 != 0 {
        return Err(error!(InvalidArgument, "n: axis {from_start} of x, which is {ty}, has no {count} equal parts"));
    }
    split(trace, x, &filled(dim / count as i64, count, "n parts")?, axis)
}

/// Records `x[start:stop:step]` along an axis, as in Python.
pub fn slice_axis(trace: &mut Trace, x: NodeId, axis: i64, start: i64, stop: i64, step: i64) -> Result<NodeId> {
    let ty = trace.ty(x);
    let axis = normalize_axis("axis", axis, ty.dims.len())?;
    if step == 0 {
        return Err(error!(InvalidArgument, "step: 0 given; want a nonzero step"));
    }
    let (first, count) = python_range(ty.dims[axis], start, stop, step);
    if count == 0 {
        return cut(trace, x, axis, 0, 0, 1);
    }
    // The slice ends right after its last element, so that it stays within the axis.
    let reach = if count == 1 { 0 } else { (count - 1) * step };
    let (low, high) = (first.min(first + reach), first.max(first + reach));
    let forward = cut(trace, x, axis, low, high + 1, if count == 1 { 1 } else { step.abs() })?;
    if step > 0 { Ok(forward) } else { reverse(trace, forward, &[axis as i64]) }
}

/// Returns the index of the first element of a Python slice, and the number of its elements.
fn python_range(dim: i64, start: i64, stop: i64, step: i64) -> (i64, i64) {
    let (lowest, highest) = if step > 0 { (0, dim) } else { (-1, dim - 1) };
    let end = |at: i64| if at < 0 { at.saturating_add(dim) } else { at }.clamp(lowest, highest);
    let (start, stop) = (end(start), end(stop));
    let distance = if step > 0 { stop - start } else { start - stop };
    (start, (distance.max(0) as u64).div_ceil(step.unsigned_abs()) as i64)
}

/// Records the elements from `start` to `limit` along one axis, and all elements along the other axes.
fn cut(trace: &mut Trace, x: NodeId, axis: usize, start: i64, limit: i64, stride: i64) -> Result<NodeId> {
    let mut limits = trace.ty(x).dims.to_vec();
    let (mut starts, mut strides) = (vec![0; limits.len()], vec![1; limits.len()]);
    (starts[axis], limits[axis], strides[axis]) = (start, limit, stride);
    slice(trace, x, &starts, &limits, &strides)
}

/// Records a reversal of axes.
pub fn flip(trace: &mut Trace, x: NodeId, axes: &[i64]) -> Result<NodeId> {
    reverse(trace, x, axes)
}

/// Records a shift by `shifts[i]` along `axes[i]`, with wrap-around. An axis may occur more than once.
pub fn roll(trace: &mut Trace, x: NodeId, shifts: &[i64], axes: &[i64]) -> Result<NodeId> {
    let ty = trace.ty(x);
    let mut result = x;
    for (&shift, &axis) in shifts.iter().zip(axes) {
        let axis = normalize_axis("axes", axis, ty.dims.len())?;
        let dim = ty.dims[axis];
        let shift = if dim == 0 { 0 } else { shift.rem_euclid(dim) };
        if shift != 0 {
            let last = cut(trace, result, axis, dim - shift, dim, 1)?;
            let first = cut(trace, result, axis, 0, dim - shift, 1)?;
            result = concatenate(trace, &[last, first], axis as i64)?;
        }
    }
    Ok(result)
}

/// Records `repeats[i]` copies along axis i. If `repeats` or the shape of `x` is shorter, it is extended by ones in
/// front, as in NumPy.
pub fn tile(trace: &mut Trace, x: NodeId, repeats: &[i64]) -> Result<NodeId> {
    let ty = trace.ty(x);
    let rank = ty.dims.len().max(repeats.len());
    let ahead = |list: &[i64]| [&vec![1; rank - list.len()], list].concat();
    let (dims, repeats) = (ahead(&ty.dims), ahead(repeats));
    // A new axis for the copies precedes each axis.
    copies(trace, x, &ty, dims.iter().zip(&repeats).flat_map(|(&dim, &n)| [(n, true), (dim, false)]))
}

/// Records `repeats` adjacent copies of each slice along an axis.
pub fn repeat(trace: &mut Trace, x: NodeId, repeats: i64, axis: i64) -> Result<NodeId> {
    let ty = trace.ty(x);
    let axis = normalize_axis("axis", axis, ty.dims.len())?;
    let (before, after) = (ty.dims[..=axis].to_vec(), ty.dims[axis + 1..].to_vec());
    let own = |dims: Vec<i64>| dims.into_iter().map(|dim| (dim, false));
    // The axis of the copies follows the original axis, and is merged into it as its inner part, so that copies are
    // adjacent.
    let (last, before) = before.split_last().expect("the axis itself");
    let parts: Vec<(i64, bool)> =
        own(before.to_vec()).chain([(*last, false), (repeats, true)]).chain(own(after)).collect();
    let mut dims = ty.dims.clone();
    dims[axis] = dims[axis].checked_mul(repeats).unwrap_or(-1);
    checked(&ty, repeats, &dims)?;
    spread(trace, x, &parts, &dims)
}

/// Records copies along axes: `parts` has a copy axis (marked true) before each axis of `x`.
fn copies(trace: &mut Trace, x: NodeId, ty: &TensorType, parts: impl Iterator<Item = (i64, bool)>) -> Result<NodeId> {
    let parts: Vec<(i64, bool)> = parts.collect();
    let mut dims = Dims::new();
    for pair in parts.chunks_exact(2) {
        dims.push(pair[0].0.checked_mul(pair[1].0).unwrap_or(-1));
        checked(ty, pair[0].0, &dims)?;
    }
    spread(trace, x, &parts, &dims)
}

fn checked(ty: &TensorType, repeats: i64, dims: &[i64]) -> Result<()> {
    if repeats < 0 {
        return Err(error!(InvalidArgument, "repeats: {repeats} given; want at least 0"));
    }
    match element_count(dims) {
        Ok(_) => Ok(()),
        Err(_) => Err(error!(InvalidArgument, "repeats: {repeats} of x, which is {ty}, are too many")),
    }
}

/// Records a broadcast along the axes marked true, and a reshape to `dims`.
fn spread(trace: &mut Trace, x: NodeId, parts: &[(i64, bool)], dims: &[i64]) -> Result<NodeId> {
    // Copy axes of size 1 are dropped.
    let parts: Vec<(i64, bool)> = parts.iter().copied().filter(|&(size, is_copy)| !is_copy || size != 1).collect();
    if parts.len() > MAX_RANK {
        let (ty, rank) = (trace.ty(x), parts.len());
        return Err(error!(
            InvalidArgument,
            "repeats: x is {ty}, and needs an intermediate of rank {rank}; want at most {MAX_RANK}"
        ));
    }
    let apart: Vec<i64> = parts.iter().map(|&(size, is_copy)| if is_copy { 1 } else { size }).collect();
    let all: Vec<i64> = parts.iter().map(|&(size, _)| size).collect();
    let apart = reshape(trace, x, &apart)?;
    let wide = broadcast_to(trace, apart, &all)?;
    reshape(trace, wide, dims)
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::types::DType;

    #[test]
    fn slices_are_pythons() {
        let all: Vec<i64> = (0..5).collect();
        let range = |start, stop, step: i64| {
            let (first, count) = python_range(5, start, stop, step);
            (0..count).map(|i| first + i * step).collect::<Vec<i64>>()
        };
        assert_eq!(range(0, i64::MAX, 1), all);
        assert_eq!(range(i64::MIN, i64::MAX, 2), [0, 2, 4]);
        assert_eq!(range(-2, 100, 1), [3, 4]);
        assert_eq!(range(1, -1, 1), [1, 2, 3]);
        assert!(range(3, 1, 1).is_empty());
        assert_eq!(range(4, i64::MIN, -1), [4, 3, 2, 1, 0]);
        assert_eq!(range(i64::MAX, 0, -3), [4, 1]);
        assert_eq!(range(-1, -4, -1), [4, 3, 2]);
        assert_eq!(range(0, 5, i64::MAX), [0]);
        assert_eq!(range(4, i64::MIN, i64::MIN), [4]);
        assert_eq!(python_range(0, i64::MIN, i64::MAX, 1).1, 0);
        assert_eq!(python_range(0, i64::MAX, i64::MIN, -1).1, 0);
    }

    fn dims_of(record: impl FnOnce(&mut Trace, NodeId) -> Result<NodeId>, dims: &[i64]) -> Vec<i64> {
        let mut trace = Trace::new();
        let x = trace.parameter(TensorType::new(DType::F32, dims));
        record(&mut trace, x).map(|y| trace.ty(y).dims.to_vec()).unwrap_or_default()
    }

    #[test]
    fn shapes_of_what_is_rearranged() {
        assert_eq!(dims_of(|t, x| squeeze(t, x, &[]), &[1, 2, 1, 0]), [1, 2, 1, 0]);
        assert_eq!(dims_of(|t, x| squeeze(t, x, &[-2]), &[1, 2, 1, 3]), [1, 2, 3]);
        assert_eq!(dims_of(|t, x| expand_dims(t, x, &[0, -1]), &[2]), [1, 2, 1]);
        assert_eq!(dims_of(|t, x| tile(t, x, &[2, 1, 3]), &[4, 5]), [2, 4, 15]);
        assert_eq!(dims_of(|t, x| tile(t, x, &[0]), &[4, 5]), [4, 0]);
        assert_eq!(dims_of(|t, x| repeat(t, x, 3, 0), &[4, 5]), [12, 5]);
        assert_eq!(dims_of(|t, x| slice_axis(t, x, -1, -1, i64::MIN, -2), &[4, 5]), [4, 3]);
        assert!(dims_of(|t, x| tile(t, x, &[i64::MAX, i64::MAX]), &[4, 5]).is_empty());
        assert!(dims_of(|t, x| repeat(t, x, -1, 0), &[4]).is_empty());
        assert!(dims_of(|t, x| squeeze(t, x, &[0]), &[2]).is_empty());
    }
}
