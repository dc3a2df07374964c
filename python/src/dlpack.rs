//! DLPack: arrays shared with other libraries, in capsules.

use crate::array::Array;
use crate::device::{On, check_detached, env};
use crate::sys::*;
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;
use std::ffi::{CStr, c_void};
use std::ptr::null_mut;

/// kDLCPU: arrays are exported from host memory.
pub const CPU: (i32, i32) = (1, 0);

const VERSIONED: &CStr = c"dltensor_versioned";
const USED_VERSIONED: &CStr = c"used_dltensor_versioned";
const OLD: &CStr = c"dltensor";
const USED_OLD: &CStr = c"used_dltensor";

/// The first fields of DLManagedTensorVersioned (dlpack.h 1.0).
#[repr(C)]
struct Versioned {
    version: [u32; 2],
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Versioned)>,
}

/// DLManagedTensor: the tensor, of 48 bytes, comes first.
#[repr(C)]
struct Old {
    tensor: [u64; 6],
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Old)>,
}

/// All fields of DLManagedTensorVersioned.
#[repr(C)]
struct Copied {
    head: Versioned,
    flags: u64,
    tensor: [u64; 6],
}

/// DLPACK_FLAG_BITMASK_IS_COPIED
const IS_COPIED: u64 = 2;

/// Frees a copy that `copied` made.
unsafe extern "C" fn drop_copied(managed: *mut Versioned) {
    // SAFETY: the pointer is that of a box of `copied`, and a consumer calls its deleter once.
    unsafe {
        let copied = Box::from_raw(managed.cast::<Copied>());
        let old = copied.head.context.cast::<Old>();
        if let Some(deleter) = (*old).deleter {
            deleter(old);
        }
    }
}

/// Returns a copy of the values in a struct of version 1.0, without the flag READ_ONLY.
///
/// # Safety
/// `out` is writable.
unsafe fn copied(handle: lxla_tensor, out: *mut *mut c_void) -> lxla_status {
    let mut managed = null_mut();
    // SAFETY: a writable output.
    let status = unsafe { lxla_tensor_to_dlpack_unversioned(handle, 1, &mut managed) };
    if status == LXLA_OK {
        // SAFETY: the library returned a DLManagedTensor, and `out` is writable.
        unsafe {
            let tensor = (*managed.cast::<Old>()).tensor;
            let head = Versioned { version: [1, 0], context: managed.cast(), deleter: Some(drop_copied) };
            *out = Box::into_raw(Box::new(Copied { head, flags: IS_COPIED, tensor })).cast();
        }
    }
    status
}

/// Calls a function with the values of an array in host memory, row-major, without a copy.
pub fn with_bytes<R>(array: &Array, size: usize, use_bytes: impl FnOnce(&[u8]) -> R) -> PyResult<R> {
    let mut managed = null_mut();
    // SAFETY: a writable output.
    crate::error::check(unsafe { lxla_tensor_to_dlpack_unversioned(array.handle, 0, &mut managed) })?;
    let old = managed.cast::<Old>();
    let _exported = ExportedHere(old);
    if size == 0 {
        return Ok(use_bytes(&[]));
    }
    // SAFETY: the library returned a DLManagedTensor, whose `size` bytes from `data + byte_offset` on stay unchanged
    // until its deleter is called.
    Ok(unsafe {
        let [data, .., offset] = (*old).tensor;
        let start = std::ptr::with_exposed_provenance::<u8>((data + offset) as usize);
        use_bytes(std::slice::from_raw_parts(start, size))
    })
}

/// An export that this module reads itself.
struct ExportedHere(*mut Old);

impl Drop for ExportedHere {
    fn drop(&mut self) {
        // SAFETY: the struct is the library's, and its deleter is called once.
        unsafe { (*self.0).deleter.into_iter().for_each(|deleter| deleter(self.0)) };
    }
}

/// Frees an export that no consumer took.
unsafe extern "C" fn drop_versioned(capsule: *mut ffi::PyObject) {
    // SAFETY: Python calls this with the capsule; the name says that the struct is still ours.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, VERSIONED.as_ptr()) == 1 {
            let managed = ffi::PyCapsule_GetPointer(capsule, VERSIONED.as_ptr()).cast::<Versioned>();
            if let Some(deleter) = (*managed).deleter {
                deleter(managed);
            }
        }
    }
}

/// As `drop_versioned`, for the struct before 1.0.
unsafe extern "C" fn drop_old(capsule: *mut ffi::PyObject) {
    // SAFETY: as in `drop_versioned`.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, OLD.as_ptr()) == 1 {
            let managed = ffi::PyCapsule_GetPointer(capsule, OLD.as_ptr()).cast::<Old>();
            if let Some(deleter) = (*managed).deleter {
                deleter(managed);
            }
        }
    }
}

/// `__dlpack__(*, stream, max_version, dl_device, copy)`.
pub fn export<'py>(
    array: &Bound<'py, Array>,
    has_stream: bool,
    max_version: Option<(u32, u32)>,
    dl_device: Option<(i32, i32)>,
    copy: Option<bool>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = array.py();
    if has_stream {
        return Err(PyBufferError::new_err("memory of the host has no streams: stream has to be None"));
    }
    if dl_device.is_some_and(|wanted| wanted != CPU) {
        return Err(PyBufferError::new_err("arrays are exported to host memory only: dl_device (1, 0)"));
    }
    let is_versioned = max_version.is_some_and(|version| version.0 >= 1);
    if is_versioned && copy == Some(true) {
        // The consumer may write to a copy.
        capsule(py, array, VERSIONED, drop_versioned, |handle, out| {
            // SAFETY: a writable output.
            unsafe { copied(handle, out) }
        })
    } else if is_versioned {
        // The struct says that its memory is read-only.
        capsule(py, array, VERSIONED, drop_versioned, |handle, out| {
            // SAFETY: a writable output.
            unsafe { lxla_tensor_to_dlpack(handle, out) }
        })
    } else {
        let must_copy = copy.unwrap_or(true);
        capsule(py, array, OLD, drop_old, move |handle, out| {
            // SAFETY: a writable output.
            unsafe { lxla_tensor_to_dlpack_unversioned(handle, i32::from(must_copy), out) }
        })
    }
}

fn capsule<'py>(
    py: Python<'py>,
    array: &Bound<'py, Array>,
    name: &'static CStr,
    destructor: unsafe extern "C" fn(*mut ffi::PyObject),
    call: impl FnOnce(lxla_tensor, *mut *mut c_void) -> lxla_status + Send,
) -> PyResult<Bound<'py, PyAny>> {
    crate::device::wait_for_value(py, array.get())?;
    let (handle, mut address) = (array.get().handle, 0usize);
    crate::device::check_outside(py, || {
        let mut managed = null_mut();
        let status = call(handle, &mut managed);
        address = managed.expose_provenance();
        status
    })?;
    let managed: *mut c_void = std::ptr::with_exposed_provenance_mut(address);
    // SAFETY: the name is static, and the destructor frees the struct once.
    unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyCapsule_New(managed, name.as_ptr(), Some(destructor))) }
}

/// Returns why the memory of a tensor cannot be shared with an eager array; None if it can.
fn obstacle(tensor: &[u64; 6]) -> Option<&'static str> {
    // data; device type and ordinal; rank, code, bits, lanes; shape; strides; byte offset
    let rank = tensor[2] as u32 as usize;
    let bytes = (u64::from((tensor[2] >> 40) as u8)).div_ceil(8).max(1);
    let list = |address: u64| {
        // SAFETY: the producer promises lists of the rank.
        unsafe { std::slice::from_raw_parts(std::ptr::with_exposed_provenance::<i64>(address as usize), rank) }
    };
    let is_row_major = rank == 0 || tensor[4] == 0 || {
        let (dims, strides) = (list(tensor[3]), list(tensor[4]));
        let mut wanted = 1;
        dims.contains(&0)
            || dims.iter().zip(strides).rev().all(|(&dim, &stride)| {
                let fits = dim == 1 || stride == wanted;
                wanted *= dim;
                fits
            })
    };
    if !is_row_major {
        Some("it is not row-major")
    } else if !(tensor[0].wrapping_add(tensor[5])).is_multiple_of(bytes) {
        Some("it is not aligned to the size of an element")
    } else {
        None
    }
}

/// Takes over a capsule. The values are copied at once with `copy`; a copy is an error with `share`.
#[pyfunction]
fn from_capsule(py: Python<'_>, capsule: &Bound<'_, PyAny>, device: On, copy: bool, share: bool) -> PyResult<Array> {
    let raw = capsule.as_ptr();
    // SAFETY: IsValid takes any object; the name says what the pointer is.
    let (address, is_versioned) = unsafe {
        if ffi::PyCapsule_IsValid(raw, VERSIONED.as_ptr()) == 1 {
            (ffi::PyCapsule_GetPointer(raw, VERSIONED.as_ptr()).expose_provenance(), true)
        } else if ffi::PyCapsule_IsValid(raw, OLD.as_ptr()) == 1 {
            (ffi::PyCapsule_GetPointer(raw, OLD.as_ptr()).expose_provenance(), false)
        } else {
            return Err(PyTypeError::new_err("__dlpack__() did not return a capsule that can be taken"));
        }
    };
    if share {
        let managed = std::ptr::with_exposed_provenance::<c_void>(address);
        // SAFETY: the struct of the capsule, by its name.
        let tensor =
            unsafe { if is_versioned { (*managed.cast::<Copied>()).tensor } else { (*managed.cast::<Old>()).tensor } };
        let reason = if device.0.kind == LXLA_DEVICE_CPU { obstacle(&tensor) } else { Some("the device is not cpu") };
        if let Some(reason) = reason {
            return Err(PyBufferError::new_err(format!("copy=False, but the memory cannot be shared: {reason}")));
        }
    }
    let (device, copy) = (device.0, i32::from(copy));
    let mut out = lxla_tensor { id: 0 };
    let (name, used) = if is_versioned { (VERSIONED, USED_VERSIONED) } else { (OLD, USED_OLD) };
    // Before other threads run: they must not take the capsule too.
    // SAFETY: a valid capsule, and a static name.
    unsafe { ffi::PyCapsule_SetName(raw, used.as_ptr()) };
    let taken = check_detached(py, || {
        let managed = std::ptr::with_exposed_provenance_mut(address);
        // SAFETY: the struct of the capsule, which the caller holds.
        unsafe {
            if is_versioned {
                lxla_tensor_from_dlpack(env(), device, managed, copy, &mut out)
            } else {
                lxla_tensor_from_dlpack_unversioned(env(), device, managed, copy, &mut out)
            }
        }
    });
    if taken.is_err() {
        // SAFETY: as above; the library did not take the struct, which stays the capsule's.
        unsafe { ffi::PyCapsule_SetName(raw, name.as_ptr()) };
    }
    taken?;
    Ok(Array::sized(out))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(from_capsule, module)?)
}
