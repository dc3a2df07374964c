//! Statuses of the library as Python exceptions with the library's message.

use crate::sys::*;
use crate::texts;
use pyo3::exceptions::*;
use pyo3::prelude::*;
use std::ffi::CStr;

/// Returns the exception for a status other than OK, with the message of the calling thread's last failed call.
#[cold]
pub fn error(status: lxla_status) -> PyErr {
    with_message(status, &message())
}

/// Returns the exception for a status other than OK, with a message of the library.
#[cold]
pub fn with_message(status: lxla_status, given: &str) -> PyErr {
    let message = in_terms_of_python(given, status);
    match status {
        LXLA_INVALID_ARGUMENT if texts::is_about_axis(given) => axis_error(message),
        LXLA_INVALID_ARGUMENT if texts::is_about_dtype(given) => PyTypeError::new_err(message),
        LXLA_INVALID_ARGUMENT | LXLA_INVALID_HANDLE | LXLA_NULL_ARGUMENT => PyValueError::new_err(message),
        LXLA_RESOURCE_EXHAUSTED => PyMemoryError::new_err(message),
        LXLA_NOT_FOUND => PyFileNotFoundError::new_err(message),
        LXLA_ALREADY_EXISTS => PyFileExistsError::new_err(message),
        LXLA_PERMISSION_DENIED => PyPermissionError::new_err(message),
        LXLA_UNIMPLEMENTED => PyNotImplementedError::new_err(message),
        LXLA_DEADLINE_EXCEEDED => PyTimeoutError::new_err(message),
        LXLA_OUT_OF_RANGE => PyFloatingPointError::new_err(message),
        _ => PyRuntimeError::new_err(message),
    }
}

/// Returns an `AxisError`, which is a ValueError and an IndexError.
fn axis_error(message: String) -> PyErr {
    let made = Python::attach(|py| {
        let made = py.import("lazyxla._sizes")?.getattr("AxisError")?.call1((&message,))?;
        Ok::<PyErr, PyErr>(PyErr::from_value(made))
    });
    made.unwrap_or_else(|_| PyValueError::new_err(message))
}

const TRACED: &str = "a function that is traced (by jit, grad, vmap, scan, ...) reads the value of an array, as by \
                      float(x), bool(x), if x: or x.tolist(), but its arguments, and in jit also arrays that are \
                      computed from arrays from outside, are placeholders without values then; compute with arrays \
                      instead, such as lx.where or lx.cond, or return the array as an auxiliary result and read it \
                      afterwards";

const ENDED: &str = "an array has no value, and gets none: it was computed in a function while that was traced (by jit, \
                     grad, vmap, scan, ...), and the trace has ended. Has the function stored it, in an attribute, a \
                     global or a list? Return it as an auxiliary result (has_aux=True, or one more result), and store \
                     it after the call";

/// Says of some messages what a program in Python can do.
fn in_terms_of_python(message: &str, status: lxla_status) -> String {
    if message.contains("the process was forked") {
        return format!("{message}; start processes by multiprocessing's method 'spawn' or 'forkserver'");
    }
    let of_trace = ["has no value: trace a computation over it", "recorded while a computation was traced"];
    if of_trace.iter().any(|part| message.contains(part)) {
        return if crate::trace::reads_from_ended() { ENDED } else { TRACED }.to_string();
    }
    match status {
        // They name files and devices.
        LXLA_NOT_FOUND | LXLA_ALREADY_EXISTS | LXLA_PERMISSION_DENIED => texts::parts(message).1.to_string(),
        _ => texts::in_python(message),
    }
}

/// Returns the message of the calling thread's last failed call.
pub fn message() -> String {
    // SAFETY: the library returns a string that is valid until the thread's next failed call.
    unsafe { CStr::from_ptr(lxla_last_error_message()) }.to_string_lossy().into_owned()
}

pub fn check(status: lxla_status) -> PyResult<()> {
    if status == LXLA_OK { Ok(()) } else { Err(error(status)) }
}
