//! Chapter Creation: tensors made from values.

use super::abi::arguments::{flag, scalar, tensor_type};
use super::abi::guard::guard_into;
use super::abi::pointers::{In, List, Out};
use super::abi::types::{lxla_device, lxla_env, lxla_scalar, lxla_status, lxla_tensor};
use super::device::kept_device;
use crate::tensor::{create, record};
use base::types::{DType, ScalarValue};
use ops::creation;

/// Records a tensor filled with `value`; on an XLA device it takes no memory until it is needed. INVALID_ARGUMENT if
/// the dtype cannot represent the value.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_tensor_full(
    env: lxla_env,
    device: lxla_device,
    dtype: i32,
    dims: List<i64>,
    rank: usize,
    value: f64,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_tensor_full", out_tensor.named("out_tensor"), || {
        let ty = tensor_type(dtype, dims, rank)?;
        let target = kept_device(env, device)?;
        create(target.device, |trace| creation::full(trace, &ty, ScalarValue::Float(value)))
    })
}

/// As `lxla_tensor_full`, for values that a double cannot represent.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_tensor_full_with_scalar(
    env: lxla_env,
    device: lxla_device,
    dtype: i32,
    dims: List<i64>,
    rank: usize,
    value: In<lxla_scalar>,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_tensor_full_with_scalar", out_tensor.named("out_tensor"), || {
        let (ty, (_, value)) = (tensor_type(dtype, dims, rank)?, scalar("value", value)?);
        let target = kept_device(env, device)?;
        create(target.device, |trace| creation::full(trace, &ty, value))
    })
}

/// Records a tensor of rank 0 whose value changes from step to step, such as a learning rate or a step's number:
/// programs take it as a parameter from their first compilation on. (The scalar of `lxla_tensor_full` and
/// `lxla_binary_scalar` is a constant of the program, which XLA optimizes, until the same program comes with another
/// value; that compiles once more.) Costs no transfer of its own: the varying scalars of a program are passed together.
/// In a traced computation, the value is a constant; make it a parameter of the computation instead.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_tensor_varying_scalar(
    env: lxla_env,
    device: lxla_device,
    dtype: i32,
    value: In<lxla_scalar>,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_tensor_varying_scalar", out_tensor.named("out_tensor"), || {
        let (_, value) = scalar("value", value)?;
        let dtype = DType::from_number(dtype)?;
        let target = kept_device(env, device)?;
        create(target.device, |trace| creation::varying(trace, dtype, value))
    })
}

/// Records a tensor whose elements are their index along `axis`: 0, 1, 2, ... All dtypes but pred.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_iota(
    env: lxla_env,
    device: lxla_device,
    dtype: i32,
    dims: List<i64>,
    rank: usize,
    axis: i64,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_iota", out_tensor.named("out_tensor"), || {
        let ty = tensor_type(dtype, dims, rank)?;
        let target = kept_device(env, device)?;
        create(target.device, |trace| creation::iota(trace, &ty, axis))
    })
}

/// Records start, start + step, ... up to but excluding stop, in a tensor of rank 1, as `arange` of NumPy, for every
/// dtype. INVALID_ARGUMENT if an argument is not finite, if step is 0, or if the dtype cannot represent one of them.
/// Integers are exact; use `lxla_arange_with_scalars` for integers that a double cannot represent.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_arange(
    env: lxla_env,
    device: lxla_device,
    dtype: i32,
    start: f64,
    stop: f64,
    step: f64,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_arange", out_tensor.named("out_tensor"), || {
        let dtype = DType::from_number(dtype)?;
        let target = kept_device(env, device)?;
        create(target.device, |trace| creation::arange(trace, dtype, [start, stop, step].map(ScalarValue::Float)))
    })
}

/// As `lxla_arange`, for numbers that a double cannot represent. For complex dtypes, too, the numbers must be real
/// (INVALID_ARGUMENT otherwise).
#[unsafe(no_mangle)]
pub extern "C" fn lxla_arange_with_scalars(
    env: lxla_env,
    device: lxla_device,
    dtype: i32,
    start: In<lxla_scalar>,
    stop: In<lxla_scalar>,
    step: In<lxla_scalar>,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_arange_with_scalars", out_tensor.named("out_tensor"), || {
        let numbers = [scalar("start", start)?.1, scalar("stop", stop)?.1, scalar("step", step)?.1];
        let dtype = DType::from_number(dtype)?;
        let target = kept_device(env, device)?;
        create(target.device, |trace| creation::arange(trace, dtype, numbers))
    })
}

/// Records `count` evenly spaced numbers from start to stop in a tensor of rank 1, as `linspace` of NumPy, for every
/// dtype. With `endpoint` 1 the last one is stop; with 0, stop is excluded. start and stop must be finite and
/// representable in the dtype. Integers are rounded down, exactly; for pred, nonzero numbers are true.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_linspace(
    env: lxla_env,
    device: lxla_device,
    dtype: i32,
    start: f64,
    stop: f64,
    count: i64,
    endpoint: i32,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_linspace", out_tensor.named("out_tensor"), || {
        let (dtype, endpoint) = (DType::from_number(dtype)?, flag("endpoint", endpoint)?);
        let ends = [start, stop].map(ScalarValue::Float);
        let target = kept_device(env, device)?;
        create(target.device, |trace| creation::linspace(trace, dtype, ends, count, endpoint))
    })
}

/// As `lxla_linspace`, for numbers that a double cannot represent. Complex numbers lie on a straight line from start
/// to stop. For integers, `count` is at most 2^32.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_linspace_with_scalars(
    env: lxla_env,
    device: lxla_device,
    dtype: i32,
    start: In<lxla_scalar>,
    stop: In<lxla_scalar>,
    count: i64,
    endpoint: i32,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_linspace_with_scalars", out_tensor.named("out_tensor"), || {
        let ends = [scalar("start", start)?.1, scalar("stop", stop)?.1];
        let (dtype, endpoint) = (DType::from_number(dtype)?, flag("endpoint", endpoint)?);
        let target = kept_device(env, device)?;
        create(target.device, |trace| creation::linspace(trace, dtype, ends, count, endpoint))
    })
}

/// Records a `rows` x `columns` matrix of any dtype with ones on diagonal `k` (0: the main one; 1: the one above it)
/// and zeros elsewhere.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_eye(
    env: lxla_env,
    device: lxla_device,
    dtype: i32,
    rows: i64,
    columns: i64,
    k: i64,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_eye", out_tensor.named("out_tensor"), || {
        let dtype = DType::from_number(dtype)?;
        let target = kept_device(env, device)?;
        create(target.device, |trace| creation::eye(trace, dtype, rows, columns, k))
    })
}

/// Records the one-hot encoding of `indices` (integers): a tensor of any dtype with an additional axis of size
/// `depth`, at `axis` of the result, which is 1 at the position given by the index and 0 elsewhere. An index out of
/// range gives zeros only.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_one_hot(
    indices: lxla_tensor,
    depth: i64,
    axis: i64,
    dtype: i32,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_one_hot", out_tensor.named("out_tensor"), || {
        let dtype = DType::from_number(dtype)?;
        record([("indices", indices.into())], |trace, [indices]| creation::one_hot(trace, indices, depth, axis, dtype))
    })
}

/// Records the lower triangles of the matrices in the last two axes of x: elements above diagonal `k` are 0. `k` is 0
/// for the main diagonal, 1 for the one above it, -1 for the one below.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_tril(x: lxla_tensor, k: i64, out_tensor: Out<lxla_tensor>) -> lxla_status {
    guard_into("lxla_tril", out_tensor.named("out_tensor"), || {
        record([("x", x.into())], |trace, [x]| creation::tril(trace, x, k))
    })
}

/// Records the upper triangles of the matrices in the last two axes of x: elements below diagonal `k` are 0, with `k`
/// as in `lxla_tril`.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_triu(x: lxla_tensor, k: i64, out_tensor: Out<lxla_tensor>) -> lxla_status {
    guard_into("lxla_triu", out_tensor.named("out_tensor"), || {
        record([("x", x.into())], |trace, [x]| creation::triu(trace, x, k))
    })
}
