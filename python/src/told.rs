//! Functions of Python that the library calls: when a value is there, and when a device lacks memory.

use crate::array::Array;
use crate::device::{check_outside, env, read_of};
use crate::error::{check, with_message};
use crate::sys::*;
use pyo3::prelude::*;
use std::ffi::{CStr, c_char, c_void};
use std::ptr::null_mut;
use std::sync::Mutex;

/// Calls `callback` with None when the value of an array is there, or with the exception of its failure.
#[pyfunction]
fn on_ready(py: Python<'_>, x: PyRef<'_, Array>, callback: Py<PyAny>) -> PyResult<()> {
    let handle = read_of(&x);
    let user = Box::into_raw(Box::new(callback)) as usize;
    // SAFETY: `tell` takes over the box, once.
    let called = check_outside(py, || unsafe { lxla_tensor_on_ready(handle, Some(tell), user as *mut c_void) });
    called.inspect_err(|_| {
        // SAFETY: the box from above, which the failed call did not take over.
        drop(unsafe { Box::from_raw(user as *mut Py<PyAny>) });
    })
}

/// Calls the function of Python in the box `user`. Nothing if the interpreter has ended.
unsafe extern "C" fn tell(status: lxla_status, message: *const c_char, user: *mut c_void) {
    // SAFETY: the text is valid during the call.
    let message = unsafe { CStr::from_ptr(message) }.to_string_lossy();
    let told = Python::try_attach(|py| {
        // SAFETY: the box that `on_ready` passed, which the library passes once.
        let callback = *unsafe { Box::from_raw(user.cast::<Py<PyAny>>()) };
        let failure = (status != LXLA_OK).then(|| with_message(status, &message));
        if let Err(raised) = callback.call1(py, (failure,)) {
            raised.write_unraisable(py, Some(callback.bind(py)));
        }
    });
    // Without an interpreter the box stays: its object is gone.
    let _ = told;
}

/// The function that frees memory.
static ASK: Mutex<Option<Py<PyAny>>> = Mutex::new(None);

/// Sets the function that frees memory when a device lacks it; None removes it.
#[pyfunction]
fn set_memory_callback(callback: Option<Py<PyAny>>) -> PyResult<()> {
    let function: lxla_memory_fn = if callback.is_some() { Some(ask) } else { None };
    // SAFETY: a function without a pointer of its own.
    check(unsafe { lxla_env_set_memory_callback(env(), function, null_mut()) })?;
    let before = std::mem::replace(&mut *ASK.lock().unwrap_or_else(|poisoned| poisoned.into_inner()), callback);
    drop(before);
    Ok(())
}

/// Calls the function of Python. Its thread may or may not hold the interpreter's lock.
unsafe extern "C" fn ask(bytes: u64, _: *mut c_void) -> i32 {
    let asked = Python::try_attach(|py| {
        let callback = ASK.lock().ok()?.as_ref().map(|callback| callback.clone_ref(py))?;
        let answer = callback.call1(py, (bytes,)).and_then(|answer| answer.is_truthy(py));
        answer.inspect_err(|raised| raised.clone_ref(py).write_unraisable(py, Some(callback.bind(py)))).ok()
    });
    i32::from(asked.flatten().unwrap_or(false))
}

/// Adds the functions of this file to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(on_ready, module)?)?;
    module.add_function(wrap_pyfunction!(set_memory_callback, module)?)
}
