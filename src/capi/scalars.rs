//! Chapter Operations, third part: scalars in full, integers of 64 bits and complex numbers among them, where other functions
//! take doubles or tensors.

use super::arguments::{flag, optional_scalar, out, ranked, scalar, tensor_type};
use super::device::kept_device;
use super::guard::guard;
use super::types::*;
use crate::error;
use crate::error::Result;
use crate::tensor::{self, Choice};
use crate::types::DType;

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

/// Records pred ? on_true : on_false, as `lxla_select`, where each side is a tensor (and its scalar NULL) or a scalar (and its
/// tensor the handle 0). A scalar beside a tensor takes its dtype, and is INVALID_ARGUMENT if that cannot represent it; two
/// scalars take the dtype that theirs promote to. A scalar that changes from step to step costs one more compile, ever. Gives
/// one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_select_with_scalars(
    pred: lxla_tensor,
    on_true: lxla_tensor,
    true_scalar: *const lxla_scalar,
    on_false: lxla_tensor,
    false_scalar: *const lxla_scalar,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_select_with_scalars", || {
        // SAFETY: the caller's promise, see `capi`.
        let (on_true, on_false, place) = unsafe {
            (
                choice(["on_true", "true_scalar"], on_true, true_scalar)?,
                choice(["on_false", "false_scalar"], on_false, false_scalar)?,
                out("out_tensor", out_tensor)?,
            )
        };
        place.set(tensor::select_with_scalars(pred.into(), on_true, on_false)?.into())
    })
}

/// The one of the two that is given.
unsafe fn choice([name, of_scalar]: [&str; 2], tensor: lxla_tensor, given: *const lxla_scalar) -> Result<Choice> {
    if given.is_null() {
        return Ok(Choice::Tensor(tensor.into()));
    }
    if tensor.id != 0 {
        return Err(error!(
            InvalidArgument,
            "{name}, {of_scalar}: a tensor and a scalar given; want one of them, and the other 0 or NULL"
        ));
    }
    // SAFETY: the caller's promise, see `capi`.
    let (dtype, value) = unsafe { scalar(of_scalar, given)? };
    Ok(Choice::Scalar(dtype, value))
}

/// Records x with its elements held between two scalars, which take x's dtype (INVALID_ARGUMENT if it cannot represent them): at
/// least `min`, then at most `max`, as `lxla_clamp`. NULL is no bound, as None in NumPy's clip. Takes pred, integers and floats; NaN
/// stays. A scalar that changes from step to step costs one more compile, ever. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_clamp_with_scalars(
    x: lxla_tensor,
    min: *const lxla_scalar,
    max: *const lxla_scalar,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_clamp_with_scalars", || {
        // SAFETY: the caller's promise, see `capi`.
        let (min, max, place) =
            unsafe { (optional_scalar("min", min)?, optional_scalar("max", max)?, out("out_tensor", out_tensor)?) };
        place.set(tensor::clamp_with_scalars(min, x.into(), max)?.into())
    })
}

/// Records x with `value` around and between its elements, as `lxla_pad`, with a scalar, which takes x's dtype (INVALID_ARGUMENT
/// if that cannot represent it). Gives one reference. Any thread.
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
