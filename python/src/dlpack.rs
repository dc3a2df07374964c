//! DLPack: arrays shared with other libraries, in capsules.

use crate::array::Array;
use crate::device::{ENV, On, check_detached};
use crate::error::check;
use crate::sys::*;
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyDict;
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
pub fn export<'py>(array: &Bound<'py, Array>, options: Option<&Bound<'py, PyDict>>) -> PyResult<Bound<'py, PyAny>> {
    let py = array.py();
    let option = |name: &str| options.map_or(Ok(None), |all| all.get_item(name));
    for name in options.iter().flat_map(|all| all.keys().iter().map(|key| key.to_string()).collect::<Vec<_>>()) {
        if !["stream", "max_version", "dl_device", "copy"].contains(&name.as_str()) {
            return Err(PyTypeError::new_err(format!("__dlpack__() has no argument {name:?}")));
        }
    }
    if option("stream")?.is_some_and(|stream| !stream.is_none()) {
        return Err(PyBufferError::new_err("memory of the host has no streams: stream has to be None"));
    }
    if let Some(wanted) = option("dl_device")?.filter(|wanted| !wanted.is_none())
        && wanted.extract::<(i32, i32)>()? != CPU
    {
        return Err(PyBufferError::new_err("arrays are exported to host memory only: dl_device (1, 0)"));
    }
    let copy = option("copy")?.filter(|copy| !copy.is_none()).map(|copy| copy.is_truthy()).transpose()?;
    let version = option("max_version")?.filter(|version| !version.is_none());
    let is_versioned = version.map(|version| version.extract::<(u32, u32)>()).transpose()?.is_some_and(|v| v.0 >= 1);
    // A copy of its own: the memory of a new tensor, that nothing else holds, is still shared with the library.
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
