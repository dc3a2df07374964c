//! Chapter Operations, fourth part: order.

use super::arguments::out;
use super::computation::{Results, computation_of};
use super::gather::switch;
use super::guard::guard;
use super::tensor::handles;
use super::types::*;
use crate::error::Result;
use crate::types::DType;
use crate::{computation, tensor};

/// Records StableHLO's sort: `n` tensors of one shape, reordered alike along `axis` (negative: from the end). `comparator`
/// takes two elements of the first tensor, then two of the second, and so on, and gives `pred[]`: whether the first of each two
/// come before the second. It must be a strict order, false for equal elements: one comparison by LE, GE, EQ or NE is
/// INVALID_ARGUMENT. One comparison by LT or GT of the elements of a tensor sorts as `lxla_sort_along` does, NaN included;
/// otherwise NaN is the comparator's affair. It may capture scalars. With `stable` 1 equal elements stay in their order; natively they do in any case. Gives `n` tensors, one
/// reference each. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_sort(
    comparator: lxla_computation,
    inputs: *const lxla_tensor,
    n: usize,
    axis: i64,
    stable: i32,
    out_results: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_sort", || {
        // SAFETY: the caller's promise, see `capi`.
        let (inputs, mut places) =
            unsafe { (handles("inputs", inputs, n)?, Results::at("out_results", out_results, n)?) };
        let stable = switch("stable", stable)?;
        places.set(&computation::sort(&*computation_of("comparator", comparator)?, &inputs, axis, stable)?);
        Ok(())
    })
}

/// Records x sorted along `axis` (negative: from the end), ascending, or with `descending` 1 descending. NaN counts as greater
/// than every number, so that it is last (as in NumPy), or descending first; -0 and 0 are equal. On XLA's CPU so may
/// be 0 and denormal numbers, which stay as they are. Complex numbers are sorted as in NumPy, by real parts and where these are
/// equal by imaginary parts, with those behind all others of which the imaginary part is NaN, then the real part, then both. With
/// `stable` 1 equal elements stay in their order. Takes every dtype. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_sort_along(
    x: lxla_tensor,
    axis: i64,
    descending: i32,
    stable: i32,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_sort_along", || {
        // SAFETY: the caller's promise, see `capi`.
        let place = unsafe { out("out_tensor", out_tensor)? };
        let (descending, stable) = (switch("descending", descending)?, switch("stable", stable)?);
        place.set(tensor::sort_along(x.into(), axis, descending, stable)?.into())
    })
}

/// Records the indices, of an integer dtype that can count the axis, that sort x as `lxla_sort_along` does. Gives one
/// reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_argsort(
    x: lxla_tensor,
    axis: i64,
    descending: i32,
    stable: i32,
    index_dtype: i32,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_argsort", || {
        // SAFETY: the caller's promise, see `capi`.
        let place = unsafe { out("out_tensor", out_tensor)? };
        let (descending, stable) = (switch("descending", descending)?, switch("stable", stable)?);
        place.set(tensor::argsort(x.into(), axis, descending, stable, index(index_dtype)?)?.into())
    })
}

pub(super) fn index(dtype: i32) -> Result<DType> {
    DType::from_number(dtype).map_err(|e| e.context("index_dtype"))
}

/// Records the `k` greatest elements of x along `axis` (negative: from the end), or with `largest` 0 the smallest, in order,
/// and their indices, of an integer dtype that can count the axis. Of equal ones the first come first; NaN and denormal
/// numbers count as in `lxla_sort_along`: NaN is the greatest, of either sign, and -0 equals 0, unlike in `chlo.top_k`, for
/// which there is `lxla_topk_total_order`. Complex numbers are ordered as there, too. Takes every dtype. Gives two tensors, one reference each. Any
/// thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_topk(
    x: lxla_tensor,
    k: i64,
    axis: i64,
    largest: i32,
    index_dtype: i32,
    out_values: *mut lxla_tensor,
    out_indices: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_topk", || {
        // SAFETY: the caller's promise, see `capi`.
        let (values, indices) = unsafe { (out("out_values", out_values)?, out("out_indices", out_indices)?) };
        let made = tensor::top_k(x.into(), k, axis, switch("largest", largest)?, index(index_dtype)?)?;
        values.set(made[0].into())?;
        indices.set(made[1].into())
    })
}

/// As `lxla_topk`, in the total order of floats (IEEE 754), as `chlo.top_k` has it: NaN with a sign bit,
/// -infinity, negative numbers, -0, 0, positive numbers, infinity, NaN without a sign bit; two NaN by their bits. Denormal
/// numbers are told from 0 on every device. 8-bit floats are ordered as the f32 that they convert to. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_topk_total_order(
    x: lxla_tensor,
    k: i64,
    axis: i64,
    largest: i32,
    index_dtype: i32,
    out_values: *mut lxla_tensor,
    out_indices: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_topk_total_order", || {
        // SAFETY: the caller's promise, see `capi`.
        let (values, indices) = unsafe { (out("out_values", out_values)?, out("out_indices", out_indices)?) };
        let largest = switch("largest", largest)?;
        let made = tensor::top_k_total_order(x.into(), k, axis, largest, index(index_dtype)?)?;
        values.set(made[0].into())?;
        indices.set(made[1].into())
    })
}

/// Records the index of the greatest element of x along `axis` (negative: from the end), of an integer dtype that can count
/// the axis: of the first NaN, if there is one (as in NumPy), and of equal elements of the first. With `keep_dims` 1 the axis
/// stays, of size 1. An axis without elements is INVALID_ARGUMENT. Takes pred, integers and floats. Gives one reference. Any
/// thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_argmax(
    x: lxla_tensor,
    axis: i64,
    keep_dims: i32,
    index_dtype: i32,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_argmax", || {
        // SAFETY: the caller's promise, see `capi`.
        let place = unsafe { out("out_tensor", out_tensor)? };
        let keep_dims = switch("keep_dims", keep_dims)?;
        place.set(tensor::arg_extreme(x.into(), axis, keep_dims, true, index(index_dtype)?)?.into())
    })
}

/// Records the index of the smallest element of x along an axis, as `lxla_argmax` does that of the greatest; of the first NaN,
/// too. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_argmin(
    x: lxla_tensor,
    axis: i64,
    keep_dims: i32,
    index_dtype: i32,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_argmin", || {
        // SAFETY: the caller's promise, see `capi`.
        let place = unsafe { out("out_tensor", out_tensor)? };
        let keep_dims = switch("keep_dims", keep_dims)?;
        place.set(tensor::arg_extreme(x.into(), axis, keep_dims, false, index(index_dtype)?)?.into())
    })
}
