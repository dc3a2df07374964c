//! Chapter Operations, second part: places that are computed, and padding.

use super::arguments::{out, ranked};
use super::guard::guard;
use super::tensor::handles;
use super::types::*;
use crate::tensor;

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

/// Records x with `value` (a scalar tensor of x's dtype) around it: on each of `rank` axes, `low` of them before the first
/// element, `interior` between each two, `high` after the last. A negative low or high cuts off; NULL interior is all 0.
/// Gives one reference. Any thread.
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
