//! Chapter Creation: tensors made from values.

use super::abi::arguments::{flag, out, scalar, tensor_type};
use super::abi::guard::guard;
use super::device::kept_device;
use super::types::*;
use crate::tensor;
use crate::types::{DType, ScalarValue};

/// A tensor with `value` in every element. Recorded: takes no memory until it is needed. A value that the dtype cannot
/// represent is INVALID_ARGUMENT. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_tensor_full(
    env: lxla_env,
    device: lxla_device,
    dtype: i32,
    dims: *const i64,
    rank: usize,
    value: f64,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_tensor_full", || {
        // SAFETY: the caller's promise, see `capi`.
        let (ty, place) = unsafe { (tensor_type(dtype, dims, rank)?, out("out_tensor", out_tensor)?) };
        let target = kept_device(env, device)?;
        place.set(tensor::full(target.device, &ty, ScalarValue::Float(value))?.into())
    })
}

/// A tensor with `value` in every element, as `lxla_tensor_full`, for values that a double cannot hold. A value that the dtype
/// cannot represent is INVALID_ARGUMENT. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_tensor_full_with_scalar(
    env: lxla_env,
    device: lxla_device,
    dtype: i32,
    dims: *const i64,
    rank: usize,
    value: *const lxla_scalar,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_tensor_full_with_scalar", || {
        // SAFETY: the caller's promise, see `capi`.
        let (ty, (_, value), place) =
            unsafe { (tensor_type(dtype, dims, rank)?, scalar("value", value)?, out("out_tensor", out_tensor)?) };
        let target = kept_device(env, device)?;
        place.set(tensor::full(target.device, &ty, value)?.into())
    })
}

/// A tensor that counts 0, 1, 2, ... along `axis` (negative: from the end), for any dtype but pred. Recorded. Gives one
/// reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_iota(
    env: lxla_env,
    device: lxla_device,
    dtype: i32,
    dims: *const i64,
    rank: usize,
    axis: i64,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_iota", || {
        // SAFETY: the caller's promise, see `capi`.
        let (ty, place) = unsafe { (tensor_type(dtype, dims, rank)?, out("out_tensor", out_tensor)?) };
        let target = kept_device(env, device)?;
        place.set(tensor::iota(target.device, &ty, axis)?.into())
    })
}

/// A tensor of rank 1 with start, start + step, ..., as long as they do not reach stop: as NumPy's arange, of any dtype. All are
/// finite, and step is not 0; every number is one of the dtype (INVALID_ARGUMENT otherwise). Integers are exact; those that a
/// double cannot hold are given to `lxla_arange_with_scalars`. Recorded. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_arange(
    env: lxla_env,
    device: lxla_device,
    dtype: i32,
    start: f64,
    stop: f64,
    step: f64,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_arange", || {
        // SAFETY: the caller's promise, see `capi`.
        let place = unsafe { out("out_tensor", out_tensor)? };
        let dtype = DType::from_number(dtype)?;
        let target = kept_device(env, device)?;
        place.set(tensor::arange(target.device, dtype, [start, stop, step].map(ScalarValue::Float))?.into())
    })
}

/// A tensor of rank 1 with start, start + step, ..., as `lxla_arange`, for numbers that a double cannot hold. Of a complex
/// dtype they are reals, too: an imaginary part is INVALID_ARGUMENT. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_arange_with_scalars(
    env: lxla_env,
    device: lxla_device,
    dtype: i32,
    start: *const lxla_scalar,
    stop: *const lxla_scalar,
    step: *const lxla_scalar,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_arange_with_scalars", || {
        // SAFETY: the caller's promise, see `capi`.
        let (numbers, place) = unsafe {
            let numbers = [scalar("start", start)?.1, scalar("stop", stop)?.1, scalar("step", step)?.1];
            (numbers, out("out_tensor", out_tensor)?)
        };
        let dtype = DType::from_number(dtype)?;
        let target = kept_device(env, device)?;
        place.set(tensor::arange(target.device, dtype, numbers)?.into())
    })
}

/// A tensor of rank 1 with `count` numbers at equal distances from start to stop, which is the last one; with `endpoint` 0 it
/// is the one that would follow: as NumPy's linspace, of any dtype. start and stop are finite numbers of the dtype. Integers are
/// rounded down, exactly; of pred what is not 0 is true. Recorded. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_linspace(
    env: lxla_env,
    device: lxla_device,
    dtype: i32,
    start: f64,
    stop: f64,
    count: i64,
    endpoint: i32,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_linspace", || {
        // SAFETY: the caller's promise, see `capi`.
        let place = unsafe { out("out_tensor", out_tensor)? };
        let (dtype, endpoint) = (DType::from_number(dtype)?, flag("endpoint", endpoint)?);
        let target = kept_device(env, device)?;
        place
            .set(tensor::linspace(target.device, dtype, [start, stop].map(ScalarValue::Float), count, endpoint)?.into())
    })
}

/// A tensor of rank 1 with `count` numbers from start to stop, as `lxla_linspace`, for numbers that a double cannot hold; complex
/// ones go from start to stop in a straight line. Of integers `count` is at most 2^32. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_linspace_with_scalars(
    env: lxla_env,
    device: lxla_device,
    dtype: i32,
    start: *const lxla_scalar,
    stop: *const lxla_scalar,
    count: i64,
    endpoint: i32,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_linspace_with_scalars", || {
        // SAFETY: the caller's promise, see `capi`.
        let (ends, place) =
            unsafe { ([scalar("start", start)?.1, scalar("stop", stop)?.1], out("out_tensor", out_tensor)?) };
        let (dtype, endpoint) = (DType::from_number(dtype)?, flag("endpoint", endpoint)?);
        let target = kept_device(env, device)?;
        place.set(tensor::linspace(target.device, dtype, ends, count, endpoint)?.into())
    })
}

/// A matrix with ones on diagonal `k` (0 for the main one, 1 for the one above it) and zeros elsewhere, of any dtype.
/// Recorded. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_eye(
    env: lxla_env,
    device: lxla_device,
    dtype: i32,
    rows: i64,
    columns: i64,
    k: i64,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_eye", || {
        // SAFETY: the caller's promise, see `capi`.
        let place = unsafe { out("out_tensor", out_tensor)? };
        let dtype = DType::from_number(dtype)?;
        let target = kept_device(env, device)?;
        place.set(tensor::eye(target.device, dtype, rows, columns, k)?.into())
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
