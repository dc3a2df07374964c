//! Chapter Indexing: reading and writing at computed indices.

use super::abi::arguments::{Out, flag, index_dtype_of, optional_out, out, ranked, slice_mut};
use super::abi::guard::guard;
use super::abi::options;
use super::abi::options::Options;
use super::abi::results::Results;
use super::computation::computation_of;
use super::tensor::handles;
use super::types::*;
use crate::error::Result;
use crate::ir::{Placement, ScatterOp};
use crate::ops::Promises;
use crate::{computation, tensor};

/// Records the slices of x along `axis` (negative: from the end) at `indices`, integers of any shape: the result has the
/// indices' axes where x has `axis`, as NumPy's take. A negative index counts from the end; one beyond either end is clamped
/// to it. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_take(
    x: lxla_tensor,
    indices: lxla_tensor,
    axis: i64,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_take", || {
        // SAFETY: the caller's promise, see `capi`.
        let place = unsafe { out("out_tensor", out_tensor)? };
        place.set(tensor::take(x.into(), indices.into(), axis)?.into())
    })
}

/// Records the `sizes` elements of x that begin at `starts`: one integer scalar tensor for each of the `rank` axes, all of
/// one dtype. As StableHLO has it, a start is clamped so that the slice lies within x. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_dynamic_slice(
    x: lxla_tensor,
    starts: *const lxla_tensor,
    sizes: *const i64,
    rank: usize,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_dynamic_slice", || {
        // SAFETY: the caller's promise, see `capi`.
        let (starts, sizes, place) = unsafe {
            (handles("starts", starts, rank)?, ranked("sizes", sizes, rank)?, out("out_tensor", out_tensor)?)
        };
        place.set(tensor::dynamic_slice(x.into(), &starts, sizes)?.into())
    })
}

/// Records x with `update` written over it, beginning at `starts` (as in `lxla_dynamic_slice`). `update` has x's dtype and
/// rank and is nowhere larger. Where x's old buffer is donated, it is updated in place. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_dynamic_update_slice(
    x: lxla_tensor,
    update: lxla_tensor,
    starts: *const lxla_tensor,
    rank: usize,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_dynamic_update_slice", || {
        // SAFETY: the caller's promise, see `capi`.
        let (starts, place) = unsafe { (handles("starts", starts, rank)?, out("out_tensor", out_tensor)?) };
        place.set(tensor::dynamic_update_slice(x.into(), update.into(), &starts)?.into())
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

/// Records NumPy's indexing by several arrays at once, `x[i, :, j]`: `indices[a]` is a tensor of integers of any shape for x's
/// axis `a`, or has id 0 for the whole axis; further axes are whole. The arrays broadcast together. In the result their common
/// shape stands where their axes were, if those are next to each other, else before all whole axes, as in NumPy. A negative
/// index counts from the end; one beyond either end is clamped to it. Dtypes of indices may differ; a mask is no index (see
/// `lxla_nonzero`). Without any array the result is x. Takes all dtypes. INVALID_ARGUMENT for an axis without elements, unless
/// the result has none. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_index(
    x: lxla_tensor,
    indices: *const lxla_tensor,
    n_indices: usize,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_index", || {
        // SAFETY: the caller's promise, see `capi`.
        let (indices, place) = unsafe { (handles("indices", indices, n_indices)?, out("out_tensor", out_tensor)?) };
        place.set(tensor::index(x.into(), &indices)?.into())
    })
}

/// Records x with `values` combined into the elements that `lxla_index` would take with these indices, as `op`, one of
/// `LXLA_SCATTER_*`, says: `x[i, :, j] = y` and `x[i, :, j] += y`, NumPy's `add.at`. `values` have x's dtype and broadcast to
/// the shape that `lxla_index` gives. A negative index counts from the end; what is beyond an end is dropped. Where several
/// values meet one element, the same holds as for `lxla_scatter_along`, and the same dtypes are taken. Gives one reference. Any
/// thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_index_put(
    op: i32,
    x: lxla_tensor,
    indices: *const lxla_tensor,
    n_indices: usize,
    values: lxla_tensor,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_index_put", || {
        // SAFETY: the caller's promise, see `capi`.
        let (indices, place) = unsafe { (handles("indices", indices, n_indices)?, out("out_tensor", out_tensor)?) };
        let op = ScatterOp::from_number(op)?;
        place.set(tensor::index_put(op, x.into(), &indices, values.into())?.into())
    })
}

/// Records x with `values` in the place of `x[start : limit : stride]` on each of `rank` axes, which are given as to
/// `lxla_slice` (NULL strides are all 1): `x[a:b:c] = y`. `values` have x's dtype and broadcast to the slice's shape. Where x's
/// old buffer is donated, a slice without strides is written in place, and its starts are scalars: when they change, one more
/// program is compiled, once. The positions of a slice with strides are part of the program, like those of `lxla_slice`. Takes all
/// dtypes. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_slice_assign(
    x: lxla_tensor,
    starts: *const i64,
    limits: *const i64,
    strides: *const i64,
    rank: usize,
    values: lxla_tensor,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_slice_assign", || {
        // SAFETY: the caller's promise, see `capi`.
        let (starts, limits, strides, place) = unsafe {
            (
                ranked("starts", starts, rank)?,
                ranked("limits", limits, rank)?,
                if strides.is_null() { None } else { Some(ranked("strides", strides, rank)?) },
                out("out_tensor", out_tensor)?,
            )
        };
        place.set(tensor::slice_assign(x.into(), starts, limits, strides, values.into())?.into())
    })
}

/// Records where x is not 0 (NaN is not 0; a complex number is 0 if both its parts are): `n_indices` tensors of `index_dtype`,
/// one for each of x's axes, of shape `[size]`, with the places in row-major order; JAX's `nonzero(size=, fill_value=)`. Where
/// there are fewer places than `size`, the rest of each is `fill`; where there are more, the first `size` are given.
/// `out_count`, if it is not NULL, gets how many there are in all, a scalar of `index_dtype`, an integer dtype that can count
/// each axis. Takes all dtypes and at least one axis. Gives one reference each. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_nonzero(
    x: lxla_tensor,
    size: i64,
    fill: i64,
    index_dtype: i32,
    out_indices: *mut lxla_tensor,
    n_indices: usize,
    out_count: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_nonzero", || {
        // SAFETY: the caller's promise, see `capi`.
        let (places, count) =
            unsafe { (slice_mut("out_indices", out_indices, n_indices)?, optional_out("out_count", out_count)?) };
        let mut made = tensor::nonzero(x.into(), size, fill, index_dtype_of(index_dtype)?, n_indices)?;
        let counted = made.pop().expect("the count is last");
        places.iter_mut().zip(made).for_each(|(place, tensor)| *place = tensor.into());
        give_or_release(count, counted.into())
    })
}

/// Records NumPy's `x[mask]` of a stated size: the slices of x where `mask`, a pred tensor of the shape of x's first axes (at
/// least one), is true, in row-major order, in a tensor `[size, x's other axes]`. Where there are fewer than `size`, the rest
/// is `fill`, a scalar tensor of x's dtype; where there are more, the first `size` are given. `out_count`, if it is not NULL,
/// gets how many there are in all, a scalar of `index_dtype`, an integer dtype that can count the mask's elements. `x[mask] = y`
/// is `lxla_select` where y broadcasts. Takes all dtypes. Gives one reference each. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_mask_select(
    x: lxla_tensor,
    mask: lxla_tensor,
    size: i64,
    fill: lxla_tensor,
    index_dtype: i32,
    out_tensor: *mut lxla_tensor,
    out_count: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_mask_select", || {
        // SAFETY: the caller's promise, see `capi`.
        let (place, count) = unsafe { (out("out_tensor", out_tensor)?, optional_out("out_count", out_count)?) };
        let made = tensor::mask_select(x.into(), mask.into(), size, fill.into(), index_dtype_of(index_dtype)?)?;
        place.set(made[0].into())?;
        give_or_release(count, made[1].into())
    })
}

/// Fills options with the defaults: no axes, an index vector along axis 0. `options->struct_size` is set by the caller before,
/// and at most that many bytes are written. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_gather_options_init(options: *mut lxla_gather_options) -> lxla_status {
    // SAFETY: the caller's promise, see `capi`.
    guard("lxla_gather_options_init", || unsafe { options::init(options) })
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
        let sorted = flag("options.indices_are_sorted", given.indices_are_sorted)?;
        place.set(tensor::gather(x.into(), indices.into(), &placement, &slice_sizes, sorted)?.into())
    })
}

/// Fills options with the defaults, as `lxla_gather_options_init`. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_scatter_options_init(options: *mut lxla_scatter_options) -> lxla_status {
    // SAFETY: the caller's promise, see `capi`.
    guard("lxla_scatter_options_init", || unsafe { options::init(options) })
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
            sorted: flag("options.indices_are_sorted", given.indices_are_sorted)?,
            unique: flag("options.unique_indices", given.unique_indices)?,
        };
        let combiner = computation_of("combiner", combiner)?;
        places.set(&computation::scatter(&combiner, &inputs, indices.into(), &updates, &placement, promises)?);
        Ok(())
    })
}

// SAFETY: it is as the trait wants it.
unsafe impl Options for lxla_gather_options {
    const NAME: &str = "lxla_gather_options";
}

// SAFETY: it is as the trait wants it.
unsafe impl Options for lxla_scatter_options {
    const NAME: &str = "lxla_scatter_options";
}

unsafe fn list(name: &str, start: *const i64, length: usize) -> Result<Vec<i64>> {
    // SAFETY: the caller's promise, see `capi`.
    Ok(unsafe { ranked(name, start, length)? }.to_vec())
}

fn give_or_release(place: Option<Out<lxla_tensor>>, tensor: lxla_tensor) -> Result<()> {
    match place {
        Some(place) => place.set(tensor),
        None => crate::device::release(tensor.into()),
    }
}
