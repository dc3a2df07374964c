//! Chapter Indexing: reading and writing at computed indices.

use super::abi::arguments::{flag, index_dtype_of, ranked, ranked_or};
use super::abi::guard::{guard, guard_into};
use super::abi::options;
use super::abi::pointers::{In, List, Out, OutList};
use super::abi::types::{lxla_computation, lxla_gather_options, lxla_scatter_options, lxla_status, lxla_tensor};
use super::computation::computation_of;
use super::shape::check_rank;
use super::tensor::{handles, optional_handle};
use crate::computation;
use crate::device::TensorHandle;
use crate::tensor::{numbered, record, record_list, record_optional};
use base::error;
use base::error::Result;
use ir::{DimensionNumbers, ReduceOp, ScatterOp};
use ops::indexing::{self, IndexHints};

/// Records the slices of x along `axis` at `indices` (integers of any shape), as `take` of NumPy: the axes of the
/// indices replace `axis`. Negative indices count from the end; indices out of range are clamped.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_take(
    x: lxla_tensor,
    indices: lxla_tensor,
    axis: i64,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_take", out_tensor.named("out_tensor"), || {
        let operands = [("x", x.into()), ("indices", indices.into())];
        record(operands, |trace, [x, indices]| indexing::take(trace, x, indices, axis))
    })
}

/// Records the slice of x with the given `sizes` that begins at `starts`: one integer scalar tensor for each of the
/// `rank` axes, all of one dtype. Starts are clamped so that the slice lies within x, as in StableHLO.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_dynamic_slice(
    x: lxla_tensor,
    starts: List<lxla_tensor>,
    sizes: List<i64>,
    rank: usize,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_dynamic_slice", out_tensor.named("out_tensor"), || {
        let (starts, sizes) = (handles("starts", starts, rank)?, ranked("sizes", sizes, rank)?);
        record_list([("x", x.into())], ("starts", &starts), |trace, [x], starts| {
            indexing::dynamic_slice(trace, x, starts, sizes)
        })
    })
}

/// Records x with `update` written at `starts`, which are as in `lxla_dynamic_slice`. `update` has x's dtype and
/// rank, and must not be larger on any axis. If x's old buffer is donated, it is updated in place.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_dynamic_update_slice(
    x: lxla_tensor,
    update: lxla_tensor,
    starts: List<lxla_tensor>,
    rank: usize,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_dynamic_update_slice", out_tensor.named("out_tensor"), || {
        let starts = handles("starts", starts, rank)?;
        let operands = [("x", x.into()), ("update", update.into())];
        record_list(operands, ("starts", &starts), |trace, [x, update], starts| {
            indexing::dynamic_update_slice(trace, x, update, starts)
        })
    })
}

/// Records one element of x for each of `indices` (integers) along `axis`, as `take_along_axis` of NumPy. indices
/// have x's rank; both broadcast on the other axes. Negative indices count from the end; indices out of range are
/// clamped. All dtypes.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_take_along_axis(
    x: lxla_tensor,
    indices: lxla_tensor,
    axis: i64,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_take_along_axis", out_tensor.named("out_tensor"), || {
        let operands = [("x", x.into()), ("indices", indices.into())];
        record(operands, |trace, [x, indices]| indexing::take_along_axis(trace, x, indices, axis))
    })
}

/// Records x with each of `updates` combined into the element at its index along `axis`, by `op`, one of
/// `LXLA_SCATTER_*`; `scatter` and `scatter_add` of PyTorch. `indices` (integers) have x's shape except on `axis`;
/// `updates` have the shape of the indices and x's dtype. Negative indices count from the end; updates at indices out
/// of range are dropped. If several updates target one element, floating-point SUM and PRODUCT combine them in an
/// order that depends on the plugin, and COPY keeps one of them (on cpu and XLA's CPU, the last). SUM and PRODUCT
/// take all dtypes (of pred: logical or, logical and), MAX and MIN take pred, integers and floats.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_scatter_along(
    op: i32,
    x: lxla_tensor,
    indices: lxla_tensor,
    updates: lxla_tensor,
    axis: i64,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_scatter_along", out_tensor.named("out_tensor"), || {
        let op = ScatterOp::from_number(op)?;
        let operands = [("x", x.into()), ("indices", indices.into()), ("updates", updates.into())];
        record(operands, |trace, [x, indices, updates]| indexing::scatter_along(trace, op, x, indices, updates, axis))
    })
}

/// Records x with each slice of `source` along `axis` added to the slice of x at its index, as `index_add` of
/// PyTorch. `indices` are integers of rank 1; `source` has x's dtype and, except on `axis`, its shape. Slices with
/// equal indices accumulate (preds by logical or). Negative indices count from the end; slices at indices out of range
/// are dropped.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_index_add(
    x: lxla_tensor,
    axis: i64,
    indices: lxla_tensor,
    source: lxla_tensor,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_index_add", out_tensor.named("out_tensor"), || {
        let operands = [("x", x.into()), ("indices", indices.into()), ("source", source.into())];
        record(operands, |trace, [x, indices, source]| {
            indexing::index_combine(trace, ScatterOp::Sum, x, axis, indices, source)
        })
    })
}

/// Records the reduction by `op`, one of `LXLA_REDUCE_*`, of the slices of x along axis 0 that have the same number in
/// `segment_ids` (integers, one for each slice, in any order): `segment_sum`, `segment_prod`, `segment_max` and
/// `segment_min` of `jax.ops`. The result has `num_segments` slices; a segment without slices has the identity of the
/// reduction (0, 1, the lowest or highest number). Slices whose id is negative or not below `num_segments` are dropped.
/// Dtypes are as in `lxla_reduce`. Floating-point sums and products are in an order that depends on the plugin.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_segment_reduce(
    op: i32,
    x: lxla_tensor,
    segment_ids: lxla_tensor,
    num_segments: i64,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_segment_reduce", out_tensor.named("out_tensor"), || {
        let op = ReduceOp::from_number(op)?;
        record([("x", x.into()), ("segment_ids", segment_ids.into())], |trace, [x, ids]| {
            indexing::segment_reduce(trace, op, x, ids, num_segments)
        })
    })
}

/// Records x with the slices at `indices` along `axis` replaced by those of `source`, as `index_copy` of PyTorch, with
/// arguments as in `lxla_index_add`. All dtypes. If indices are equal, one of their slices is written (on cpu and XLA's
/// CPU, the last).
#[unsafe(no_mangle)]
pub extern "C" fn lxla_index_copy(
    x: lxla_tensor,
    axis: i64,
    indices: lxla_tensor,
    source: lxla_tensor,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_index_copy", out_tensor.named("out_tensor"), || {
        let operands = [("x", x.into()), ("indices", indices.into()), ("source", source.into())];
        record(operands, |trace, [x, indices, source]| {
            indexing::index_combine(trace, ScatterOp::Copy, x, axis, indices, source)
        })
    })
}

/// Records advanced indexing of NumPy, `x[i, :, j]`: `indices[a]` is an integer tensor of any shape for axis `a` of
/// x, or id 0 for the whole axis; axes beyond `n_indices` are whole. The index tensors may differ in dtype, and
/// broadcast. Their common shape replaces the indexed axes if these are adjacent, and precedes the whole axes
/// otherwise, as in NumPy. Negative indices count from the end; indices out of range are clamped. Masks are not
/// accepted (see `lxla_nonzero`). Without index tensors, the result is x. All dtypes. INVALID_ARGUMENT if an indexed
/// axis is empty, unless the result is empty.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_index(
    x: lxla_tensor,
    indices: List<lxla_tensor>,
    n_indices: usize,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_index", out_tensor.named("out_tensor"), || {
        let indices = optional_handles("indices", indices, n_indices)?;
        record_optional([("x", x.into())], numbered("indices", &indices), |trace, [x], indices| {
            indexing::index(trace, x, indices)
        })
    })
}

/// Records x with `values` combined into the elements that `lxla_index` selects, by `op`, one of `LXLA_SCATTER_*`:
/// `x[i, :, j] = y`, and `x[i, :, j] += y` as `add.at` of NumPy. `values` have x's dtype and broadcast to the shape
/// of `lxla_index`. Negative indices count from the end; values at indices out of range are dropped. Dtypes and
/// repeated indices are as in `lxla_scatter_along`.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_index_put(
    op: i32,
    x: lxla_tensor,
    indices: List<lxla_tensor>,
    n_indices: usize,
    values: lxla_tensor,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_index_put", out_tensor.named("out_tensor"), || {
        let indices = optional_handles("indices", indices, n_indices)?;
        let op = ScatterOp::from_number(op)?;
        let operands = [("x", x.into()), ("values", values.into())];
        record_optional(operands, numbered("indices", &indices), |trace, [x, values], indices| {
            indexing::index_put(trace, op, x, indices, values)
        })
    })
}

/// Records x with `values` written to `x[start : limit : stride]`, with limits as in `lxla_slice` (NULL strides are all
/// 1). `values` have x's dtype and broadcast to the shape of the slice. If x's old buffer is donated, a slice without
/// strides is written in place. The starts of a slice without strides are scalars of the program: changed starts cause
/// one more compilation, once. The positions of a slice with strides are constants of the program. All dtypes.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_slice_assign(
    x: lxla_tensor,
    starts: List<i64>,
    limits: List<i64>,
    strides: List<i64>,
    rank: usize,
    values: lxla_tensor,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_slice_assign", out_tensor.named("out_tensor"), || {
        let (starts, limits) = (ranked("starts", starts, rank)?, ranked("limits", limits, rank)?);
        let strides = ranked_or("strides", strides, rank, 1)?;
        record([("x", x.into()), ("values", values.into())], |trace, [x, values]| {
            check_rank(trace, x, rank)?;
            indexing::slice_assign(trace, x, starts, limits, &strides, values)
        })
    })
}

/// Records the indices of the elements of x that are not 0 (NaN is not 0; a complex number is 0 if both parts are),
/// in row-major order, as `nonzero(size=, fill_value=)` of JAX: `n_indices` tensors of shape `[size]`, one for each
/// axis of x (at least one). If there are fewer than `size`, the rest is `fill`; if there are more, the first `size`
/// are returned. `out_count`, a scalar of `index_dtype`, is their total number; it may be NULL. All dtypes.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_nonzero(
    x: lxla_tensor,
    size: i64,
    fill: i64,
    index_dtype: i32,
    out_indices: OutList<lxla_tensor>,
    n_indices: usize,
    out_count: Out<lxla_tensor>,
) -> lxla_status {
    let outputs = (out_indices.list("out_indices", n_indices), out_count.optional("out_count"));
    guard_into("lxla_nonzero", outputs, || {
        let index_dtype = index_dtype_of(index_dtype)?;
        let mut made = record([("x", x.into())], |trace, [x]| {
            let rank = trace.ty(x).dims.len();
            if n_indices != rank {
                return Err(error!(InvalidArgument, "out_indices: {n_indices} given; x has {rank} axes, want as many"));
            }
            indexing::nonzero(trace, x, size, fill, index_dtype)
        })?;
        let count = made.pop();
        Ok((made, count))
    })
}

/// Records `x[mask]` of NumPy with a given size: the slices of x where `mask` is true, in row-major order, with shape
/// `[size, other axes of x]`. `mask` is pred, with the shape of the leading axes of x (at least one). If there are
/// fewer than `size`, the rest is `fill`, a scalar tensor of x's dtype; if there are more, the first `size` are
/// returned. `out_count`, a scalar of `index_dtype`, is their total number; it may be NULL. All dtypes.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_mask_select(
    x: lxla_tensor,
    mask: lxla_tensor,
    size: i64,
    fill: lxla_tensor,
    index_dtype: i32,
    out_tensor: Out<lxla_tensor>,
    out_count: Out<lxla_tensor>,
) -> lxla_status {
    let outputs = (out_tensor.named("out_tensor"), out_count.optional("out_count"));
    guard_into("lxla_mask_select", outputs, || {
        let index_dtype = index_dtype_of(index_dtype)?;
        let operands = [("x", x.into()), ("mask", mask.into()), ("fill", fill.into())];
        let [selected, count] =
            record(operands, |trace, [x, mask, fill]| indexing::mask_select(trace, x, mask, size, fill, index_dtype))?;
        Ok((selected, Some(count)))
    })
}

/// Records x with `x[mask] = values` of NumPy: new slices where `mask` is true. `mask` is pred, with the shape of the
/// leading axes of x; a slice has the other axes. `values` have x's dtype. If they broadcast to a slice, each slice is
/// replaced by them. If they have one axis more than a slice, they are the new slices in row-major order, as
/// `masked_scatter_` of PyTorch: there may be more of them than the mask has true elements; if there are fewer, x stays
/// as it is at the true elements after the last one. All dtypes.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_mask_assign(
    x: lxla_tensor,
    mask: lxla_tensor,
    values: lxla_tensor,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_mask_assign", out_tensor.named("out_tensor"), || {
        let operands = [("x", x.into()), ("mask", mask.into()), ("values", values.into())];
        record(operands, |trace, [x, mask, values]| indexing::mask_assign(trace, x, mask, values))
    })
}

/// Sets all fields after `struct_size` to their defaults: empty lists, `index_vector_dim` 0.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_gather_options_init(options: Out<lxla_gather_options>) -> lxla_status {
    guard("lxla_gather_options_init", || options::init(options))
}

/// Records the gather of StableHLO: slices of x of `slice_sizes`, at starts given by `indices` (integers). The
/// options must not be NULL. An index vector lies along `index_vector_dim` of the indices; its element i is the start
/// on axis `start_index_map[i]`. On other axes the start is 0, on batching axes the position along the paired axis of
/// the indices. In the result, the axes of a slice, without collapsed and batching axes (of slice size 1), are at
/// `offset_dims`; the other axes are those of the indices, without `index_vector_dim`. Starts are clamped so that
/// slices lie within x. All dtypes.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_gather(
    x: lxla_tensor,
    indices: lxla_tensor,
    options: In<lxla_gather_options>,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_gather", out_tensor.named("out_tensor"), || {
        let given = options::read_given(options)?;
        let (numbers, slice_sizes) =
            (gather_numbers(&given)?, list("slice_sizes", given.slice_sizes, given.n_slice_sizes)?);
        let sorted = flag("options.indices_are_sorted", given.indices_are_sorted)?;
        record([("x", x.into()), ("indices", indices.into())], |trace, [x, indices]| {
            indexing::gather(trace, x, indices, &numbers, &slice_sizes, sorted)
        })
    })
}

/// Sets all fields after `struct_size` to their defaults: empty lists, `index_vector_dim` 0.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_scatter_options_init(options: Out<lxla_scatter_options>) -> lxla_status {
    guard("lxla_scatter_options_init", || options::init(options))
}

/// Records the scatter of StableHLO: `n` inputs of one shape, with slices of `updates` combined into them at starts
/// given by `indices` (integers). There is one tensor of updates for each input, of its dtype, all of one shape.
/// `combiner` takes `n` scalars of the inputs, then `n` of the updates, and returns `n`; it may capture scalars. The
/// options must not be NULL. An index vector lies along `index_vector_dim` of the indices; its element i is the start
/// on axis `scatter_dims_to_operand_dims[i]`. `update_window_dims` are the axes of the updates that index into a
/// slice: those of the inputs without inserted and batching axes.
///
/// A slice that does not lie within the inputs is dropped as a whole. Overlapping slices are combined in an order
/// that depends on the plugin (on cpu and XLA's CPU, that of the indices). If the old buffers are donated, they are
/// updated in place; on XLA's CPU, only the first of several inputs of the same dtype is.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_scatter(
    combiner: lxla_computation,
    inputs: List<lxla_tensor>,
    indices: lxla_tensor,
    updates: List<lxla_tensor>,
    n: usize,
    options: In<lxla_scatter_options>,
    out_results: OutList<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_scatter", out_results.list("out_results", n), || {
        let (inputs, updates) = (handles("inputs", inputs, n)?, handles("updates", updates, n)?);
        let given = options::read_given(options)?;
        let numbers = scatter_numbers(&given)?;
        let hints = IndexHints {
            sorted: flag("options.indices_are_sorted", given.indices_are_sorted)?,
            unique: flag("options.unique_indices", given.unique_indices)?,
        };
        let combiner = computation_of("combiner", combiner)?;
        computation::scatter(&combiner, &inputs, indices.into(), &updates, &numbers, hints)
    })
}

/// Reads the dimension numbers of a gather.
fn gather_numbers(given: &lxla_gather_options) -> Result<DimensionNumbers> {
    Ok(DimensionNumbers {
        window_dims: list("offset_dims", given.offset_dims, given.n_offset_dims)?,
        collapsed_dims: list("collapsed_slice_dims", given.collapsed_slice_dims, given.n_collapsed_slice_dims)?,
        batching_dims: list("operand_batching_dims", given.operand_batching_dims, given.n_operand_batching_dims)?,
        indices_batching_dims: list(
            "start_indices_batching_dims",
            given.start_indices_batching_dims,
            given.n_start_indices_batching_dims,
        )?,
        index_map: list("start_index_map", given.start_index_map, given.n_start_index_map)?,
        index_vector_dim: given.index_vector_dim,
    })
}

/// Reads the dimension numbers of a scatter.
fn scatter_numbers(given: &lxla_scatter_options) -> Result<DimensionNumbers> {
    Ok(DimensionNumbers {
        window_dims: list("update_window_dims", given.update_window_dims, given.n_update_window_dims)?,
        collapsed_dims: list("inserted_window_dims", given.inserted_window_dims, given.n_inserted_window_dims)?,
        batching_dims: list("input_batching_dims", given.input_batching_dims, given.n_input_batching_dims)?,
        indices_batching_dims: list(
            "scatter_indices_batching_dims",
            given.scatter_indices_batching_dims,
            given.n_scatter_indices_batching_dims,
        )?,
        index_map: list(
            "scatter_dims_to_operand_dims",
            given.scatter_dims_to_operand_dims,
            given.n_scatter_dims_to_operand_dims,
        )?,
        index_vector_dim: given.index_vector_dim,
    })
}

/// Converts a list of optional tensor handles.
fn optional_handles(name: &str, list: List<lxla_tensor>, n: usize) -> Result<Vec<Option<TensorHandle>>> {
    Ok(list.get(name, n)?.iter().map(|&tensor| optional_handle(tensor)).collect())
}

fn list(name: &str, given: List<i64>, length: usize) -> Result<Vec<i64>> {
    Ok(ranked(name, given, length)?.to_vec())
}
