//! DLPack: arrays shared with other libraries, in capsules.

use crate::array::Array;
use crate::device::{ENV, On, check_detached};
use crate::error::check;
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
    // The versioned struct says that its memory is read-only; a consumer that asks for a copy may write to it.
    if is_versioned && copy != Some(true) {
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
    let (handle, mut address) = (array.get().handle, 0usize);
    let status = py.detach(|| {
        let mut managed = null_mut();
        let status = call(handle, &mut managed);
        address = managed.expose_provenance();
        status
    });
    check(status)?;
    let managed: *mut c_void = std::ptr::with_exposed_provenance_mut(address);
    // SAFETY: the name is static, and the destructor frees the struct once.
    unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyCapsule_New(managed, name.as_ptr(), Some(destructor))) }
}

/// Takes over a capsule. With `copy`, the values are copied at once.
#[pyfunction]
fn from_capsule(py: Python<'_>, capsule: &Bound<'_, PyAny>, device: On, copy: bool) -> PyResult<Array> {
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
    let (device, copy) = (device.0, i32::from(copy));
    let mut out = lxla_tensor { id: 0 };
    check_detached(py, || {
        let managed = std::ptr::with_exposed_provenance_mut(address);
        // SAFETY: the struct of the capsule, which the caller holds.
        unsafe {
            if is_versioned {
                lxla_tensor_from_dlpack(ENV, device, managed, copy, &mut out)
            } else {
                lxla_tensor_from_dlpack_unversioned(ENV, device, managed, copy, &mut out)
            }
        }
    })?;
    // SAFETY: the library owns the struct now; a used capsule does not free it.
    unsafe { ffi::PyCapsule_SetName(raw, if is_versioned { USED_VERSIONED } else { USED_OLD }.as_ptr()) };
    Ok(Array::sized(out))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(from_capsule, module)?)
}
