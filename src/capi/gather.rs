//! Chapter Operations, third part: reading and writing at indices.

use super::arguments::{out, ranked};
use super::computation::{Results, computation_of};
use super::guard::guard;
use super::options::{self, Options};
use super::tensor::handles;
use super::types::*;
use crate::error;
use crate::error::Result;
use crate::ir::{Placement, ScatterOp};
use crate::ops::Promises;
use crate::{computation, tensor};

// SAFETY: it is as the trait wants it.
unsafe impl Options for lxla_gather_options {
    const NAME: &str = "lxla_gather_options";
}

// SAFETY: it is as the trait wants it.
unsafe impl Options for lxla_scatter_options {
    const NAME: &str = "lxla_scatter_options";
}

/// A switch of 0 and 1.
pub fn switch(name: &str, value: i32) -> Result<bool> {
    match value {
        0 | 1 => Ok(value == 1),
        other => Err(error!(InvalidArgument, "{name}: {other} given; want 0 or 1")),
    }
}

/// Fills options with the defaults: no axes, an index vector along axis 0. `options->struct_size` is set by the caller before,
/// and at most that many bytes are written. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_gather_options_init(options: *mut lxla_gather_options) -> lxla_status {
    // SAFETY: the caller's promise, see `capi`.
    guard("lxla_gather_options_init", || unsafe { options::init(options) })
}

/// Fills options with the defaults, as `lxla_gather_options_init`. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_scatter_options_init(options: *mut lxla_scatter_options) -> lxla_status {
    // SAFETY: the caller's promise, see `capi`.
    guard("lxla_scatter_options_init", || unsafe { options::init(options) })
}

/// Records StableHLO's gather: slices of x of `slice_sizes`, beginning where `indices` (any integers) say, side by side. An
/// index vector lies along `index_vector_dim` of the indices (their rank: each index is alone), and has the start on axis
/// `start_index_map[i]` as its element i; on other axes slices start at 0, or on batching axes at the place of the index. The
/// result has the slices' axes, without those collapsed or batching (size 1 each), at `offset_dims`, and the indices' other
/// axes in between. Starts are clamped so that slices lie within x. `indices_are_sorted` is a promise. All dtypes. Gives one
/// reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_gather(
    x: lxla_tensor,
    indices: lxla_tensor,
    options: *const lxla_gather_options,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_gather", || {
        // SAFETY: the caller's promise, see `capi`.
        let (given, place) = unsafe { (options::read_given(options)?, out("out_tensor", out_tensor)?) };
        // SAFETY: likewise, for the lists.
        let (placement, slice_sizes) = unsafe {
            let placement = Placement {
                window_dims: list("offset_dims", given.offset_dims, given.n_offset_dims)?,
                collapsed_dims: list("collapsed_slice_dims", given.collapsed_slice_dims, given.n_collapsed_slice_dims)?,
                batching_dims: list(
                    "operand_batching_dims",
                    given.operand_batching_dims,
                    given.n_operand_batching_dims,
                )?,
                indices_batching_dims: list(
                    "start_indices_batching_dims",
                    given.start_indices_batching_dims,
                    given.n_start_indices_batching_dims,
                )?,
                index_map: list("start_index_map", given.start_index_map, given.n_start_index_map)?,
                index_vector_dim: given.index_vector_dim,
            };
            (placement, list("slice_sizes", given.slice_sizes, given.n_slice_sizes)?)
        };
        let sorted = switch("options.indices_are_sorted", given.indices_are_sorted)?;
        place.set(tensor::gather(x.into(), indices.into(), &placement, &slice_sizes, sorted)?.into())
    })
}

unsafe fn list(name: &str, start: *const i64, length: usize) -> Result<Vec<i64>> {
    // SAFETY: the caller's promise, see `capi`.
    Ok(unsafe { ranked(name, start, length)? }.to_vec())
}

/// Records StableHLO's scatter: `n` tensors of one shape, with slices of `updates` (one tensor for each, of its dtype, all of
/// one shape) combined into them where `indices` (any integers) say. `combiner` takes `n` scalars of what is there, then `n` of
/// the updates, and gives `n`; it may capture scalars. An index vector lies along `index_vector_dim` of the indices, and has
/// the start on axis `scatter_dims_to_operand_dims[i]` as its element i. The updates go through a slice on
/// `update_window_dims`, along all axes of the tensors but the inserted and the batching ones.
///
/// A slice that does not lie within the tensors is dropped as a whole. Slices that overlap are combined in an order that is
/// up to the plugin; natively, and on XLA's CPU, in that of the indices. `indices_are_sorted` and `unique_indices` (no element
/// is updated twice) are promises. Where an old buffer is donated, it is updated in place; on XLA's CPU, of several tensors of
/// a dtype, the first one's is. Gives `n` tensors, one reference each. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_scatter(
    combiner: lxla_computation,
    inputs: *const lxla_tensor,
    indices: lxla_tensor,
    updates: *const lxla_tensor,
    n: usize,
    options: *const lxla_scatter_options,
    out_results: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_scatter", || {
        // SAFETY: the caller's promise, see `capi`.
        let (inputs, updates, given, mut places) = unsafe {
            (
                handles("inputs", inputs, n)?,
                handles("updates", updates, n)?,
                options::read_given(options)?,
                Results::at("out_results", out_results, n)?,
            )
        };
        // SAFETY: likewise, for the lists.
        let placement = unsafe {
            Placement {
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
            }
        };
        let promises = Promises {
            sorted: switch("options.indices_are_sorted", given.indices_are_sorted)?,
            unique: switch("options.unique_indices", given.unique_indices)?,
        };
        let combiner = computation_of("combiner", combiner)?;
        places.set(&computation::scatter(&combiner, &inputs, indices.into(), &updates, &placement, promises)?);
        Ok(())
    })
}

/// Records an element of x for each of `indices`, along `axis` (negative: from the end), as NumPy's take_along_axis: indices
/// have x's rank, and both broadcast beside that axis. A negative index counts from the end; one beyond either end is clamped
/// to it. All dtypes; any integers as indices. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_take_along_axis(
    x: lxla_tensor,
    indices: lxla_tensor,
    axis: i64,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_take_along_axis", || {
        // SAFETY: the caller's promise, see `capi`.
        let place = unsafe { out("out_tensor", out_tensor)? };
        place.set(tensor::take_along_axis(x.into(), indices.into(), axis)?.into())
    })
}

/// Records x with the elements of `updates` combined into those at `indices` along `axis`, as `op`, one of `LXLA_SCATTER_*`,
/// says: COPY gives x the update, SUM adds it, and so on; PyTorch's scatter and scatter_add. `updates` have the indices' shape
/// and x's dtype; beside the axis that is x's shape. A negative index counts from the end; what is beyond an end is dropped.
/// Where several updates meet one element, SUM and PRODUCT of floats round in an order that is up to the plugin (f16 and bf16
/// are kept in f32 and rounded once), and of a COPY one stays: natively, and on XLA's CPU, the last. SUM and PRODUCT take
/// numbers, MAX and MIN pred, integers and floats. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_scatter_along(
    op: i32,
    x: lxla_tensor,
    indices: lxla_tensor,
    updates: lxla_tensor,
    axis: i64,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_scatter_along", || {
        // SAFETY: the caller's promise, see `capi`.
        let place = unsafe { out("out_tensor", out_tensor)? };
        let op = ScatterOp::from_number(op)?;
        place.set(tensor::scatter_along(op, x.into(), indices.into(), updates.into(), axis)?.into())
    })
}

/// Records x with each slice of `source` along `axis` added to that slice of x which `indices`, as many integers in a row,
/// name: PyTorch's index_add. `source` has x's dtype, and beside the axis its shape. Equal indices add up, f16 and bf16 in
/// f32, rounded once. A negative index counts from the end; what is beyond an end is dropped. Gives one reference. Any
/// thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_index_add(
    x: lxla_tensor,
    axis: i64,
    indices: lxla_tensor,
    source: lxla_tensor,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_index_add", || {
        // SAFETY: the caller's promise, see `capi`.
        let place = unsafe { out("out_tensor", out_tensor)? };
        place.set(tensor::index_combine(ScatterOp::Sum, x.into(), axis, indices.into(), source.into())?.into())
    })
}

/// Records x with each slice of `source` along `axis` in the place of that slice of x which `indices` name, as
/// `lxla_index_add` takes them: PyTorch's index_copy. All dtypes. Of equal indices one stays; natively, and on XLA's CPU, the
/// last. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_index_copy(
    x: lxla_tensor,
    axis: i64,
    indices: lxla_tensor,
    source: lxla_tensor,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_index_copy", || {
        // SAFETY: the caller's promise, see `capi`.
        let place = unsafe { out("out_tensor", out_tensor)? };
        place.set(tensor::index_combine(ScatterOp::Copy, x.into(), axis, indices.into(), source.into())?.into())
    })
}
