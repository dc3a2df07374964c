//! Chapter Tensors, second part: ranges of numbers, and identity matrices.

use super::arguments::{flag, out};
use super::device::kept_device;
use super::guard::guard;
use super::types::*;
use crate::tensor;
use crate::types::{DType, ScalarValue};

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
