//! Chapter Operations, third part: statistics, and what normalises by them.

use super::arguments::{axes_of, flag, out};
use super::guard::guard;
use super::types::*;
use crate::tensor;

/// Records the mean of floats over `n_axes` axes (negative: from the end), each once, or over all axes if `axes` is NULL. With
/// `keep_dims` 1 the axes stay, of size 1. f16 and bf16 are computed in f32, and rounded once. The mean of nothing is NaN. Gives one
/// reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_mean(
    x: lxla_tensor,
    axes: *const i64,
    n_axes: usize,
    keep_dims: i32,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_mean", || {
        // SAFETY: the caller's promise, see `capi`.
        let (over, place) = unsafe { (axes_of(x, axes, n_axes)?, out("out_tensor", out_tensor)?) };
        place.set(tensor::mean(x.into(), &over, flag("keep_dims", keep_dims)?)?.into())
    })
}

/// Records the variance of floats over axes, as `lxla_mean`: the sum of the squares of what differs from the mean, divided
/// by the number of elements less `correction` (0 for all there are, 1 for a sample), but not by less than 0: with too few
/// elements it is NaN or infinity, as in NumPy. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_variance(
    x: lxla_tensor,
    axes: *const i64,
    n_axes: usize,
    correction: f64,
    keep_dims: i32,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_variance", || {
        // SAFETY: the caller's promise, see `capi`.
        let (over, place) = unsafe { (axes_of(x, axes, n_axes)?, out("out_tensor", out_tensor)?) };
        place.set(tensor::variance(x.into(), &over, correction, flag("keep_dims", keep_dims)?)?.into())
    })
}

/// Records the standard deviation: the square root of `lxla_variance`, rounded once. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_standard_deviation(
    x: lxla_tensor,
    axes: *const i64,
    n_axes: usize,
    correction: f64,
    keep_dims: i32,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_standard_deviation", || {
        // SAFETY: the caller's promise, see `capi`.
        let (over, place) = unsafe { (axes_of(x, axes, n_axes)?, out("out_tensor", out_tensor)?) };
        place.set(tensor::standard_deviation(x.into(), &over, correction, flag("keep_dims", keep_dims)?)?.into())
    })
}

/// Records the logarithm of the sum of the exponentials of floats over axes, as `lxla_mean`, without overflow on the way. Of
/// nothing, and of -infinity alone, it is -infinity. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_logsumexp(
    x: lxla_tensor,
    axes: *const i64,
    n_axes: usize,
    keep_dims: i32,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_logsumexp", || {
        // SAFETY: the caller's promise, see `capi`.
        let (over, place) = unsafe { (axes_of(x, axes, n_axes)?, out("out_tensor", out_tensor)?) };
        place.set(tensor::logsumexp(x.into(), &over, flag("keep_dims", keep_dims)?)?.into())
    })
}

/// Records e^x, divided by their sum over an axis (negative: from the end), without overflow on the way. f16 and bf16 are
/// computed in f32, and rounded once. Beside +infinity or NaN, or of -infinity alone, all of the axis is NaN. Gives one
/// reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_softmax(x: lxla_tensor, axis: i64, out_tensor: *mut lxla_tensor) -> lxla_status {
    guard("lxla_softmax", || {
        // SAFETY: the caller's promise, see `capi`.
        let place = unsafe { out("out_tensor", out_tensor)? };
        place.set(tensor::softmax(x.into(), axis)?.into())
    })
}

/// Records the logarithm of `lxla_softmax`, which is accurate where that is near 0. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_log_softmax(x: lxla_tensor, axis: i64, out_tensor: *mut lxla_tensor) -> lxla_status {
    guard("lxla_log_softmax", || {
        // SAFETY: the caller's promise, see `capi`.
        let place = unsafe { out("out_tensor", out_tensor)? };
        place.set(tensor::log_softmax(x.into(), axis)?.into())
    })
}

/// Records (x - mean) / sqrt(variance + epsilon) over `n_axes` axes (at least 1; negative: from the end; all if `axes` is
/// NULL), times `scale`, plus `offset`, of which each may be none (id 0). They broadcast to x's shape, and have x's dtype, or f32 beside f16 and bf16,
/// which are computed in f32, and rounded once. epsilon is finite, and at least 0. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_layer_norm(
    x: lxla_tensor,
    axes: *const i64,
    n_axes: usize,
    scale: lxla_tensor,
    offset: lxla_tensor,
    epsilon: f64,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_layer_norm", || {
        // SAFETY: the caller's promise, see `capi`.
        let (over, place) = unsafe { (axes_of(x, axes, n_axes)?, out("out_tensor", out_tensor)?) };
        place.set(tensor::layer_norm(x.into(), &over, scale.into(), offset.into(), epsilon)?.into())
    })
}
