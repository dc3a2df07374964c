//! Chapter Operations, fifth part: other arrangements of elements, of any dtype.

use super::arguments::{axes_of, out, ranked, slice, slice_mut};
use super::guard::guard;
use super::tensor::handles;
use super::types::*;
use crate::tensor;
use crate::types::DType;
use std::borrow::Cow;

/// Records x without `n_axes` axes (negative: from the end) that are of size 1, or without all axes that are if `axes` is NULL.
/// Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_squeeze(
    x: lxla_tensor,
    axes: *const i64,
    n_axes: usize,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_squeeze", || {
        // SAFETY: the caller's promise, see `capi`.
        let (mut over, place) = unsafe { (axes_of(x, axes, n_axes)?, out("out_tensor", out_tensor)?) };
        if let Cow::Owned(all) = &mut over {
            let dims = tensor::ty(x.into()).map(|ty| ty.dims).unwrap_or_default();
            all.retain(|&axis| dims.get(axis as usize) == Some(&1));
        }
        place.set(tensor::squeeze(x.into(), &over)?.into())
    })
}

/// Records x with `n_axes` further axes of size 1: `axes` are theirs in the result (negative: from its end). Without a list
/// there are none. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_expand_dims(
    x: lxla_tensor,
    axes: *const i64,
    n_axes: usize,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_expand_dims", || {
        // SAFETY: the caller's promise, see `capi`.
        let (axes, place) = unsafe { (ranked("axes", axes, n_axes)?, out("out_tensor", out_tensor)?) };
        place.set(tensor::expand_dims(x.into(), axes)?.into())
    })
}

/// Records `n` tensors (at least 1) of one shape along a new axis of the result (negative: from its end). They promote to
/// one dtype. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_stack(
    tensors: *const lxla_tensor,
    n: usize,
    axis: i64,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_stack", || {
        // SAFETY: the caller's promise, see `capi`.
        let (tensors, place) = unsafe { (handles("tensors", tensors, n)?, out("out_tensor", out_tensor)?) };
        place.set(tensor::stack(&tensors, axis)?.into())
    })
}

/// Records the `n` parts of x along an axis (negative: from the end) that have these sizes, which make up all of it; NULL
/// sizes are equal ones. Gives `n` tensors, one reference each. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_split(
    x: lxla_tensor,
    sizes: *const i64,
    n: usize,
    axis: i64,
    out_tensors: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_split", || {
        // SAFETY: the caller's promise, see `capi`.
        let (sizes, places) = unsafe {
            let sizes = if sizes.is_null() { None } else { Some(slice("sizes", sizes, n)?) };
            (sizes, slice_mut("out_tensors", out_tensors, n)?)
        };
        let parts = tensor::split(x.into(), sizes, n, axis)?;
        places.iter_mut().zip(parts).for_each(|(place, part)| *place = part.into());
        Ok(())
    })
}

/// Records x[start : stop : step] along an axis (negative: from the end), as Python cuts lists: negative ends count from
/// the end, those beyond an end are at it, and a negative step goes backwards. INT64_MAX as stop is the end; for a negative step
/// that is INT64_MIN. Step 0 is INVALID_ARGUMENT. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_slice_axis(
    x: lxla_tensor,
    axis: i64,
    start: i64,
    stop: i64,
    step: i64,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_slice_axis", || {
        // SAFETY: the caller's promise, see `capi`.
        let place = unsafe { out("out_tensor", out_tensor)? };
        place.set(tensor::slice_axis(x.into(), axis, start, stop, step)?.into())
    })
}

/// Records x backwards along `n_axes` axes (negative: from the end), each once, or along all axes if `axes` is NULL. Gives one
/// reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_flip(
    x: lxla_tensor,
    axes: *const i64,
    n_axes: usize,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_flip", || {
        // SAFETY: the caller's promise, see `capi`.
        let (over, place) = unsafe { (axes_of(x, axes, n_axes)?, out("out_tensor", out_tensor)?) };
        place.set(tensor::flip(x.into(), &over)?.into())
    })
}

/// Records x with its elements moved forward by `shifts[i]` (negative: backward) along `axes[i]` (negative: from the end),
/// for `n` of both; what goes over one end comes in at the other. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_roll(
    x: lxla_tensor,
    shifts: *const i64,
    axes: *const i64,
    n: usize,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_roll", || {
        // SAFETY: the caller's promise, see `capi`.
        let (shifts, axes, place) =
            unsafe { (ranked("shifts", shifts, n)?, ranked("axes", axes, n)?, out("out_tensor", out_tensor)?) };
        place.set(tensor::roll(x.into(), shifts, axes)?.into())
    })
}

/// Records `repeats[i]` copies of x along axis i, one behind the other, as NumPy's tile: where `n` is not x's rank, the
/// shorter list has ones in front. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_tile(
    x: lxla_tensor,
    repeats: *const i64,
    n: usize,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_tile", || {
        // SAFETY: the caller's promise, see `capi`.
        let (repeats, place) = unsafe { (ranked("repeats", repeats, n)?, out("out_tensor", out_tensor)?) };
        place.set(tensor::tile(x.into(), repeats)?.into())
    })
}

/// Records `repeats` copies of each slice of x along an axis (negative: from the end), next to each other, as NumPy's
/// repeat. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_repeat(
    x: lxla_tensor,
    repeats: i64,
    axis: i64,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_repeat", || {
        // SAFETY: the caller's promise, see `capi`.
        let place = unsafe { out("out_tensor", out_tensor)? };
        place.set(tensor::repeat(x.into(), repeats, axis)?.into())
    })
}

/// Records the lower triangles of matrices (the last two axes of x): zeros beyond diagonal `k`, which is 0 for the main one,
/// 1 for the one above it, -1 for the one below. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_tril(x: lxla_tensor, k: i64, out_tensor: *mut lxla_tensor) -> lxla_status {
    guard("lxla_tril", || {
        // SAFETY: the caller's promise, see `capi`.
        let place = unsafe { out("out_tensor", out_tensor)? };
        place.set(tensor::tril(x.into(), k)?.into())
    })
}

/// Records the upper triangles, as `lxla_tril`: zeros before diagonal `k`. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_triu(x: lxla_tensor, k: i64, out_tensor: *mut lxla_tensor) -> lxla_status {
    guard("lxla_triu", || {
        // SAFETY: the caller's promise, see `capi`.
        let place = unsafe { out("out_tensor", out_tensor)? };
        place.set(tensor::triu(x.into(), k)?.into())
    })
}

/// Records indices (integers) with a further axis of size `depth`, which is `axis` of the result (negative: from its end): 1
/// at the place that the index says, 0 elsewhere, and everywhere if it says none. Of any dtype. Gives one reference. Any
/// thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_one_hot(
    indices: lxla_tensor,
    depth: i64,
    axis: i64,
    dtype: i32,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_one_hot", || {
        // SAFETY: the caller's promise, see `capi`.
        let place = unsafe { out("out_tensor", out_tensor)? };
        place.set(tensor::one_hot(indices.into(), depth, axis, DType::from_number(dtype)?)?.into())
    })
}
