//! Chapter Tensors: handles, values, reads and writes.

use super::abi::arguments::{flag, tensor_type};
use super::abi::borrowed::{Borrowed, wait_until_unused};
use super::abi::guard::{guard, guard_into};
use super::abi::pointers::{Bytes, BytesMut, List, Out, OutList};
use super::abi::types::{lxla_device, lxla_env, lxla_release_fn, lxla_status, lxla_tensor};
use super::constants::{LXLA_DEVICE_CPU, LXLA_DEVICE_MESH, LXLA_DEVICE_XLA};
use super::device;
use super::device::kept_device;
use crate::device::{Place, TensorHandle, release, release_many, retain};
use crate::sync::{check_pred, check_size};
use crate::{env, sync, tensor};
use base::allocation::{collected, probe};
use base::error;
use base::error::Result;
use base::types::SharedBytes;
use native::Array;
use std::ffi::c_void;

impl From<lxla_tensor> for TensorHandle {
    fn from(tensor: lxla_tensor) -> TensorHandle {
        TensorHandle(tensor.id)
    }
}

impl From<TensorHandle> for lxla_tensor {
    fn from(handle: TensorHandle) -> lxla_tensor {
        lxla_tensor { id: handle.0 }
    }
}

/// Bytes that an operation takes for each tensor of a list: its node, its type, and its name in messages.
const LISTED_BYTES: usize = 384;

/// Converts a list of tensor handles. RESOURCE_EXHAUSTED if there is no memory for an operation on so many.
pub(super) fn handles(name: &str, list: List<lxla_tensor>, n: usize) -> Result<Vec<TensorHandle>> {
    let tensors = list.get(name, n)?;
    let purpose = format_args!("{n} tensors of a list");
    probe(n.saturating_mul(LISTED_BYTES), purpose).map_err(|e| e.context(name))?;
    collected(tensors.iter().map(|&tensor| tensor.into()), purpose)
}

/// Converts `tensors`, a list of at least one tensor handle, whose length is the argument `n`.
pub(super) fn some_handles(tensors: List<lxla_tensor>, n: usize) -> Result<Vec<TensorHandle>> {
    if n == 0 {
        return Err(error!(InvalidArgument, "n: 0 tensors given; want at least 1"));
    }
    handles("tensors", tensors, n)
}

/// Converts an optional tensor: None for the null handle.
pub(super) fn optional_handle(tensor: lxla_tensor) -> Option<TensorHandle> {
    (tensor.id != 0).then(|| tensor.into())
}

/// Returns a tensor with a copy of `size_bytes` bytes at `data`: row-major values of any alignment, which are not
/// read after the call. INVALID_ARGUMENT if `size_bytes` is not the size of the type. With 0 bytes, `data` may be
/// NULL. pred takes one byte per element, 0 or 1.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_tensor_from_host(
    env: lxla_env,
    device: lxla_device,
    dtype: i32,
    dims: List<i64>,
    rank: usize,
    data: Bytes,
    size_bytes: usize,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_tensor_from_host", out_tensor.named("out_tensor"), || {
        let ty = tensor_type(dtype, dims, rank)?;
        check_size(&ty, size_bytes)?;
        let bytes = data.get("data", size_bytes)?;
        let target = kept_device(env, device)?;
        sync::from_host(target.device, &ty, bytes)
    })
}

/// As `lxla_tensor_from_host`, without a copy where that is possible: an eager tensor uses the memory itself if it is
/// aligned to the size of an element (16 bytes for c128), a tensor on a device that computes in host memory (CPU
/// plugins) if it is also aligned to 64 bytes. Elsewhere the values are copied. No step donates memory that is used in
/// place, so parameters that steps update are better copied.
///
/// On success the library calls `release(user)` once, when it no longer needs the memory, on any thread, holding no
/// lock of the library, so that `release` may call the library; possibly before this function returns. Until then the
/// memory must neither be modified nor freed. On failure `release` is not called. NULL `release`: the memory is never
/// modified or freed.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_tensor_from_host_borrowed(
    env: lxla_env,
    device: lxla_device,
    dtype: i32,
    dims: List<i64>,
    rank: usize,
    data: Bytes,
    size_bytes: usize,
    release: lxla_release_fn,
    user: *mut c_void,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_tensor_from_host_borrowed", out_tensor.named("out_tensor"), || {
        let ty = tensor_type(dtype, dims, rank)?;
        check_size(&ty, size_bytes)?;
        let memory = Borrowed::new(data, size_bytes, release, user)?;
        let bytes = memory.bytes();
        check_pred(&ty, bytes)?;
        let target = kept_device(env, device)?;
        let made = match Array::shared(&ty, memory.clone()) {
            Some(array) => sync::from_array(target.device, array),
            None => sync::from_host(target.device, &ty, bytes),
        };
        let tensor = made.inspect_err(|_| wait_until_unused(&memory))?;
        memory.take();
        Ok(tensor)
    })
}

/// Returns a tensor with a dtype and a shape, but without a value. Operations that depend on it are recorded, also on
/// cpu, where other operations remain eager. A placeholder is a parameter of lowered programs, and takes no memory.
/// FAILED_PRECONDITION if it, or a tensor that depends on it, is read.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_tensor_placeholder(
    env: lxla_env,
    device: lxla_device,
    dtype: i32,
    dims: List<i64>,
    rank: usize,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_tensor_placeholder", out_tensor.named("out_tensor"), || {
        let ty = tensor_type(dtype, dims, rank)?;
        let target = kept_device(env, device)?;
        tensor::placeholder(target.device, ty, false)
    })
}

/// Returns a placeholder with the dtype, shape, device and requires_grad of `tensor`.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_tensor_placeholder_like(tensor: lxla_tensor, out_tensor: Out<lxla_tensor>) -> lxla_status {
    guard_into("lxla_tensor_placeholder_like", out_tensor.named("out_tensor"), || {
        tensor::placeholder_like(tensor.into())
    })
}

/// Adds one reference.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_tensor_retain(tensor: lxla_tensor) -> lxla_status {
    guard("lxla_tensor_retain", || retain(tensor.into()))
}

/// Removes one reference; the last one invalidates the handle. Operations recorded with the tensor stay valid.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_tensor_release(tensor: lxla_tensor) -> lxla_status {
    guard("lxla_tensor_release", || release(tensor.into()))
}

/// Removes one reference from each of `n` tensors. Releases all that can be released, and returns the first failure.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_tensor_release_many(tensors: List<lxla_tensor>, n: usize) -> lxla_status {
    guard("lxla_tensor_release_many", || {
        let tensors = tensors.get("tensors", n)?;
        release_many(tensors.iter().map(|&tensor| tensor.into()))
    })
}

/// Returns a new tensor with the current value of `tensor`. In-place operations on either do not affect the other.
/// Copies no data.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_tensor_snapshot(tensor: lxla_tensor, out_tensor: Out<lxla_tensor>) -> lxla_status {
    guard_into("lxla_tensor_snapshot", out_tensor.named("out_tensor"), || tensor::snapshot(tensor.into()))
}

/// Replaces the value of `dst` by the current value of `src`. Copies no data. INVALID_ARGUMENT if dtype, shape or
/// device differ.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_tensor_assign(dst: lxla_tensor, src: lxla_tensor) -> lxla_status {
    guard("lxla_tensor_assign", || tensor::assign(dst.into(), src.into()))
}

/// Replaces the value of `dst` by a copy of host memory, as `lxla_tensor_from_host`.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_tensor_write(dst: lxla_tensor, data: Bytes, size_bytes: usize) -> lxla_status {
    guard("lxla_tensor_write", || {
        let bytes = data.get("data", size_bytes)?;
        sync::write(dst.into(), bytes)
    })
}

/// States before the first compile that the size of an axis of a tensor with a value from the host changes, up to
/// `bound` (0: up to the bounds of the option `dynamic_sizes`, or `buckets` if that is off; -1: it changes no longer). A
/// program of the tensor is then compiled for the bound, and serves every size up to it; also if the option is off.
/// Other axes of its size are not meant: each tensor with such an axis is stated. The statement holds for results that
/// such a program leaves padded on the device. The tensors of later steps need not be stated if the option is on. A bound
/// is a promise, not a limit: a larger size has another program.
///
/// FAILED_PRECONDITION for native tensors, placeholders and computed values; INVALID_ARGUMENT if there is no such axis,
/// or if `bound` is below -1, or above 0 and below the size. On a mesh, the statement has no effect.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_tensor_set_dynamic(tensor: lxla_tensor, axis: usize, bound: i64) -> lxla_status {
    guard("lxla_tensor_set_dynamic", || tensor::set_dynamic(tensor.into(), axis, bound))
}

/// Returns the dtype, one of `LXLA_DTYPE_*`.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_tensor_dtype(tensor: lxla_tensor, out_dtype: Out<i32>) -> lxla_status {
    guard_into("lxla_tensor_dtype", out_dtype.named("out_dtype"), || Ok(tensor::ty(tensor.into())?.dtype as i32))
}

/// Returns the number of axes.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_tensor_rank(tensor: lxla_tensor, out_rank: Out<usize>) -> lxla_status {
    guard_into("lxla_tensor_rank", out_rank.named("out_rank"), || Ok(tensor::ty(tensor.into())?.dims.len()))
}

/// Writes the sizes of the axes to the first `rank` entries of `out_dims`. INVALID_ARGUMENT if `capacity` is less
/// than the rank.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_tensor_dims(tensor: lxla_tensor, out_dims: OutList<i64>, capacity: usize) -> lxla_status {
    guard("lxla_tensor_dims", || {
        let dims = tensor::ty(tensor.into())?.dims;
        check_capacity(capacity, dims.len())?;
        out_dims.checked_list("out_dims", dims.len())?.fill(dims.iter().copied());
        Ok(())
    })
}

fn check_capacity(capacity: usize, rank: usize) -> Result<()> {
    if rank > capacity {
        return Err(error!(InvalidArgument, "capacity: {capacity} given; the tensor has rank {rank}"));
    }
    Ok(())
}

/// Returns dtype, rank and sizes in one call. `out_dims` has `capacity` entries, of which the first `rank` are
/// written; INVALID_ARGUMENT if they do not fit (64 always suffice). Each output may be NULL, and is then skipped.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_tensor_info(
    tensor: lxla_tensor,
    out_dtype: Out<i32>,
    out_rank: Out<usize>,
    out_dims: OutList<i64>,
    capacity: usize,
) -> lxla_status {
    guard("lxla_tensor_info", || {
        let ty = tensor::ty(tensor.into())?;
        let wanted = if out_dims.is_null() { 0 } else { ty.dims.len() };
        check_capacity(capacity, wanted)?;
        // All outputs are validated before the first is written.
        let dtype = out_dtype.checked_if_given("out_dtype")?;
        let rank = out_rank.checked_if_given("out_rank")?;
        out_dims.checked_list("out_dims", wanted)?.fill(ty.dims.iter().copied());
        dtype.into_iter().for_each(|place| place.fill([ty.dtype as i32]));
        rank.into_iter().for_each(|place| place.fill([ty.dims.len()]));
        Ok(())
    })
}

/// Returns the device.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_tensor_device(tensor: lxla_tensor, out_device: Out<lxla_device>) -> lxla_status {
    guard_into("lxla_tensor_device", out_device.named("out_device"), || {
        let (_, on) = tensor::place(tensor.into())?;
        Ok(match on {
            Place::Cpu => lxla_device { kind: LXLA_DEVICE_CPU, ordinal: 0 },
            Place::Xla(ordinal) => lxla_device { kind: LXLA_DEVICE_XLA, ordinal: ordinal as i32 },
            Place::Mesh(number) => lxla_device { kind: LXLA_DEVICE_MESH, ordinal: number as i32 },
        })
    })
}

/// Returns the environment. The handle is borrowed: it must not be released.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_tensor_env(tensor: lxla_tensor, out_env: Out<lxla_env>) -> lxla_status {
    guard_into("lxla_tensor_env", out_env.named("out_env"), || {
        let (id, _) = tensor::place(tensor.into())?;
        Ok(lxla_env { id })
    })
}

/// Returns the current state of the value, one of `LXLA_STATE_*`. Does not wait.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_tensor_state(tensor: lxla_tensor, out_state: Out<i32>) -> lxla_status {
    guard_into("lxla_tensor_state", out_state.named("out_state"), || Ok(tensor::state(tensor.into())? as i32))
}

/// Sets the requires_grad mark of a tensor to 0 or 1. The library copies the mark to snapshots and placeholders, and
/// does not use it otherwise.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_tensor_set_requires_grad(tensor: lxla_tensor, requires_grad: i32) -> lxla_status {
    guard("lxla_tensor_set_requires_grad", || {
        tensor::set_requires_grad(tensor.into(), flag("requires_grad", requires_grad)?)
    })
}

/// Returns the requires_grad mark, 0 or 1.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_tensor_requires_grad(tensor: lxla_tensor, out_flag: Out<i32>) -> lxla_status {
    guard_into("lxla_tensor_requires_grad", out_flag.named("out_flag"), || tensor::requires_grad(tensor.into()))
}

/// Copies a tensor's values, row-major, to `dst`, and blocks until they are there. Computes a pending tensor first,
/// as `lxla_sync`. INVALID_ARGUMENT if `size_bytes` is not the size of the tensor; FAILED_PRECONDITION if it is, or
/// depends on, a placeholder; the error of the computation if that failed. On failure, `dst` may be partly written.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_tensor_read(tensor: lxla_tensor, dst: BytesMut, size_bytes: usize) -> lxla_status {
    guard("lxla_tensor_read", || {
        let destination = dst.get("dst", size_bytes)?;
        sync::read(tensor.into(), destination)
    })
}

/// Returns a new tensor with the same value on another device of the same environment; on the tensor's own device, a
/// snapshot. Computes a pending value first, as `lxla_sync`. Copies between XLA devices are enqueued, and not waited
/// for. Between cpu and an XLA device that computes in host memory, the value is shared instead of copied where
/// alignment and layout permit.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_tensor_to_device(
    tensor: lxla_tensor,
    device: lxla_device,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_tensor_to_device", out_tensor.named("out_tensor"), || {
        let kind = device::kind_of(device)?;
        let (id, _) = tensor::place(tensor.into())?;
        let environment = env::resolve(id)?;
        let target = environment.device(kind, device.ordinal)?;
        sync::to_device(tensor.into(), target)
    })
}
