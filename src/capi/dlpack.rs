//! Chapter DLPack: arrays shared with other libraries.

use super::abi::arguments::flag;
use super::abi::dlpack::{Managed, Unversioned, exported, imported};
use super::abi::guard::guard_into;
use super::abi::pointers::{Dlpack, Out};
use super::abi::types::{lxla_device, lxla_env, lxla_status, lxla_tensor};
use super::device::kept_device;
use crate::sync;
use native::Array;
use std::ffi::c_void;

/// Returns the current values of a tensor in host memory as a `DLManagedTensorVersioned` (dlpack.h 1.x), row-major,
/// with the flag READ_ONLY. Computes a pending value first. The memory is shared with the library where the values
/// are in host memory (eager tensors, CPU plugins); otherwise they are copied, and the flag IS_COPIED is set. No step
/// donates the memory while the export lives; in-place operations give the tensor other memory. The caller owns the
/// struct, and must call its `deleter`, on any thread.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_tensor_to_dlpack(tensor: lxla_tensor, out_managed: Out<*mut c_void>) -> lxla_status {
    guard_into("lxla_tensor_to_dlpack", out_managed.named("out_managed"), || {
        let (array, is_copied) = sync::to_array(tensor.into())?;
        exported::<Managed>(array, is_copied)
    })
}

/// As `lxla_tensor_to_dlpack`, but returns a `DLManagedTensor`, the struct of DLPack before 1.0 (in Python the
/// capsule `dltensor`). It has no read-only flag: with `copy` 1 the consumer gets memory of its own, which it may
/// write; with `copy` 0 the memory may be shared, and the caller must ensure that the consumer only reads it (NumPy
/// makes such arrays read-only, PyTorch does not).
#[unsafe(no_mangle)]
pub extern "C" fn lxla_tensor_to_dlpack_unversioned(
    tensor: lxla_tensor,
    copy: i32,
    out_managed: Out<*mut c_void>,
) -> lxla_status {
    guard_into("lxla_tensor_to_dlpack_unversioned", out_managed.named("out_managed"), || {
        let copy = flag("copy", copy)?;
        let (mut array, is_copied) = sync::to_array(tensor.into())?;
        if copy && !is_copied {
            array = Array::from_bytes(array.ty(), array.bytes())?;
        }
        exported::<Unversioned>(array, copy)
    })
}

/// Returns a tensor with the values of a `DLManagedTensorVersioned` (dlpack.h 1.x) in host memory. With `copy` 0, the
/// memory is shared by an eager tensor if it is row-major and aligned to the size of an element (16 bytes for c128),
/// and by a tensor on a device that computes in host memory (CPU plugins) if it is also aligned to 64 bytes; it must
/// not be modified until the `deleter` is called. Otherwise, and with `copy` 1, the values are copied.
///
/// On success the library owns the struct, and calls its `deleter` when the memory is no longer needed, on any
/// thread, holding no lock of the library, so that the deleter may call the library. On failure the caller keeps the
/// struct. UNIMPLEMENTED for memory of other devices, more than one lane, and unsupported dtypes; INVALID_ARGUMENT
/// for an element of pred other than 0 and 1.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_tensor_from_dlpack(
    env: lxla_env,
    device: lxla_device,
    managed: Dlpack<Managed>,
    copy: i32,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_tensor_from_dlpack", out_tensor.named("out_tensor"), || {
        managed.check()?;
        let copy = flag("copy", copy)?;
        let target = kept_device(env, device)?;
        imported(target.device, managed, copy)
    })
}

/// As `lxla_tensor_from_dlpack`, for a `DLManagedTensor`, the struct of DLPack before 1.0 (in Python the capsule
/// `dltensor`).
#[unsafe(no_mangle)]
pub extern "C" fn lxla_tensor_from_dlpack_unversioned(
    env: lxla_env,
    device: lxla_device,
    managed: Dlpack<Unversioned>,
    copy: i32,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_tensor_from_dlpack_unversioned", out_tensor.named("out_tensor"), || {
        managed.check()?;
        let copy = flag("copy", copy)?;
        let target = kept_device(env, device)?;
        imported(target.device, managed, copy)
    })
}
