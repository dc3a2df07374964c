//! Chapter Shape: operations that rearrange elements.

use super::abi::arguments::{axes_of, out, ranked, scalar, slice, slice_mut};
use super::abi::guard::{guard, guard_out};
use super::tensor::handles;
use super::types::*;
use crate::tensor;
use std::borrow::Cow;

/// Records x with another shape of the same number of elements, in row-major order.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_reshape(
    x: lxla_tensor,
    dims: *const i64,
    rank: usize,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_reshape", || {
        // SAFETY: the caller's promise, see `capi`.
        let (dims, place) = unsafe { (ranked("dims", dims, rank)?, out("out_tensor", out_tensor)?) };
        place.set(tensor::reshape(x.into(), dims)?.into())
    })
}

/// Records x broadcast to a shape by NumPy's rules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_broadcast_to(
    x: lxla_tensor,
    dims: *const i64,
    rank: usize,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_broadcast_to", || {
        // SAFETY: the caller's promise, see `capi`.
        let (dims, place) = unsafe { (ranked("dims", dims, rank)?, out("out_tensor", out_tensor)?) };
        place.set(tensor::broadcast_to(x.into(), dims)?.into())
    })
}

/// Records a permutation of the axes: axis i of the result is axis `perm[i]` of x. `perm` lists each axis once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_transpose(
    x: lxla_tensor,
    perm: *const i64,
    rank: usize,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_transpose", || {
        // SAFETY: the caller's promise, see `capi`.
        let (perm, place) = unsafe { (ranked("perm", perm, rank)?, out("out_tensor", out_tensor)?) };
        place.set(tensor::transpose(x.into(), perm)?.into())
    })
}

/// Records x with the order of the elements reversed along the axes. The same as `lxla_flip`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_reverse(
    x: lxla_tensor,
    axes: *const i64,
    n_axes: usize,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_reverse", || {
        // SAFETY: the caller's promise, see `capi`.
        let (over, place) = unsafe { (axes_of(x, axes, n_axes)?, out("out_tensor", out_tensor)?) };
        place.set(tensor::reverse(x.into(), &over)?.into())
    })
}

/// Records x with the order of the elements reversed along the axes.
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

/// Records x with its elements shifted forward by `shifts[i]` (negative: backward) along `axes[i]`, for i < `n`.
/// Elements shifted beyond one end reenter at the other. An axis may be listed several times; its shifts add up.
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

/// Records x without the listed axes, which must be of size 1; with `axes` NULL, without all axes of size 1.
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

/// Records x with `n_axes` new axes of size 1; `axes` are their positions in the result. `axes` may be NULL only if
/// `n_axes` is 0, and then adds none.
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

/// Records the concatenation of `n` tensors (at least 1) along an axis. Their dtypes promote; their sizes on all
/// other axes must be equal.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_concatenate(
    tensors: *const lxla_tensor,
    n: usize,
    axis: i64,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_concatenate", || {
        // SAFETY: the caller's promise, see `capi`.
        let (tensors, place) = unsafe { (handles("tensors", tensors, n)?, out("out_tensor", out_tensor)?) };
        place.set(tensor::concatenate(&tensors, axis)?.into())
    })
}

/// Records `n` tensors (at least 1) of one shape stacked along a new axis, at position `axis` of the result. Their
/// dtypes promote.
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

/// Records the split of x along an axis into `n` parts of the given sizes, whose sum is the size of the axis. NULL
/// sizes split it equally.
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

/// Records `x[start : limit : stride]` on each of `rank` axes, with 0 <= start <= limit <= size and stride >= 1. NULL
/// strides are all 1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_slice(
    x: lxla_tensor,
    starts: *const i64,
    limits: *const i64,
    strides: *const i64,
    rank: usize,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_slice", || {
        // SAFETY: the caller's promise, see `capi`.
        let (starts, limits, strides, place) = unsafe {
            let strides = if strides.is_null() { None } else { Some(ranked("strides", strides, rank)?) };
            (ranked("starts", starts, rank)?, ranked("limits", limits, rank)?, strides, out("out_tensor", out_tensor)?)
        };
        place.set(tensor::slice(x.into(), starts, limits, strides)?.into())
    })
}

/// Records `x[start : stop : step]` along an axis by Python's rules: a negative start or stop counts from the end,
/// one out of range is clamped, and a negative step reverses the order. INT64_MAX as stop (INT64_MIN for a negative
/// step) stands for an omitted stop. INVALID_ARGUMENT if step is 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_slice_axis(
    x: lxla_tensor,
    axis: i64,
    start: i64,
    stop: i64,
    step: i64,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    // SAFETY: the caller's promise, see `capi`.
    unsafe { guard_out("lxla_slice_axis", out_tensor, || tensor::slice_axis(x.into(), axis, start, stop, step)) }
}

/// Records x padded with `value`, a scalar tensor of x's dtype: on each of `rank` axes, `low` elements before the
/// first, `interior` between adjacent ones, `high` after the last. A negative low or high removes elements. NULL
/// interior is all 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_pad(
    x: lxla_tensor,
    value: lxla_tensor,
    low: *const i64,
    high: *const i64,
    interior: *const i64,
    rank: usize,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_pad", || {
        // SAFETY: the caller's promise, see `capi`.
        let (low, high, interior, place) = unsafe {
            let interior = if interior.is_null() { None } else { Some(ranked("interior", interior, rank)?) };
            (ranked("low", low, rank)?, ranked("high", high, rank)?, interior, out("out_tensor", out_tensor)?)
        };
        place.set(tensor::pad(x.into(), value.into(), low, high, interior)?.into())
    })
}

/// As `lxla_pad`, with a scalar as the padding value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_pad_with_scalar(
    x: lxla_tensor,
    value: *const lxla_scalar,
    low: *const i64,
    high: *const i64,
    interior: *const i64,
    rank: usize,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_pad_with_scalar", || {
        // SAFETY: the caller's promise, see `capi`.
        let ((_, value), low, high, interior, place) = unsafe {
            let interior = if interior.is_null() { None } else { Some(ranked("interior", interior, rank)?) };
            let (low, high) = (ranked("low", low, rank)?, ranked("high", high, rank)?);
            (scalar("value", value)?, low, high, interior, out("out_tensor", out_tensor)?)
        };
        place.set(tensor::pad_with_scalar(x.into(), value, low, high, interior)?.into())
    })
}

/// Records x repeated `repeats[i]` times along axis i, as `tile` of NumPy. If `n` is not x's rank, the shorter of the
/// shape and `repeats` is extended with leading ones.
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

/// Records x with each slice along an axis repeated `repeats` times in succession, as `repeat` of NumPy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_repeat(
    x: lxla_tensor,
    repeats: i64,
    axis: i64,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    // SAFETY: the caller's promise, see `capi`.
    unsafe { guard_out("lxla_repeat", out_tensor, || tensor::repeat(x.into(), repeats, axis)) }
}
