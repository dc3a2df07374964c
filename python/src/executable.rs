//! Executables: computations that are compiled for a device.

use crate::array::Array;
use crate::computation::{Computation, results};
use crate::device::{On, check_outside, env, text};
use crate::functions::handles;
use crate::sys::*;
use pyo3::prelude::*;
use std::ffi::CString;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A computation that was compiled for a device.
#[pyclass(frozen, module = "lazyxla._core")]
pub struct Executable {
    handle: lxla_executable,
}

impl Drop for Executable {
    fn drop(&mut self) {
        // SAFETY: the reference that this object owns.
        unsafe { lxla_executable_release(self.handle) };
    }
}

#[pymethods]
impl Executable {
    /// Runs it on arrays, and returns the `n` results.
    fn run(&self, py: Python<'_>, inputs: Vec<PyRef<'_, Array>>, n: usize) -> PyResult<Vec<Array>> {
        let (handle, inputs) = (self.handle, handles(&inputs));
        // SAFETY: lists with their lengths; the library checks the number of results.
        results(py, n, move |out| unsafe { lxla_executable_run(handle, inputs.as_ptr(), inputs.len(), out, n) })
    }

    fn save(&self, py: Python<'_>, path: String) -> PyResult<()> {
        let (handle, path) = (self.handle, CString::new(path)?);
        // SAFETY: a string that ends in NUL.
        check_outside(py, || unsafe { lxla_executable_save(handle, path.as_ptr()) })
    }

    fn describe_json(&self, py: Python<'_>) -> PyResult<String> {
        let handle = self.handle;
        // SAFETY: a writable output.
        py.detach(|| text(|out| unsafe { lxla_executable_describe(handle, out) }))
    }
}

/// Compiles a computation for a device. `donated` are the indices of the parameters whose buffers a run may consume.
#[pyfunction]
fn compile(
    py: Python<'_>,
    computation: PyRef<'_, Computation>,
    device: On,
    donated: Vec<usize>,
) -> PyResult<Executable> {
    if crate::trace::is_in_scope() {
        let (of, mut out) = (computation.handle(), lxla_executable { id: 0 });
        let place = &mut out;
        check_outside(py, || compiled(of, device, &donated, place))?;
        return Ok(Executable { handle: out });
    }
    // Another thread may compile, and nobody waits for it after an interrupt.
    let (of, made) = (computation.handle(), Arc::new(Made::default()));
    let place = made.clone();
    crate::interrupt::check_long(py, move || {
        let mut out = lxla_executable { id: 0 };
        let status = compiled(of, device, &donated, &mut out);
        place.0.store(out.id, Ordering::Release);
        status
    })?;
    Ok(Executable { handle: lxla_executable { id: made.0.swap(0, Ordering::AcqRel) } })
}

/// An executable that nobody has taken yet.
#[derive(Default)]
struct Made(AtomicU64);

impl Drop for Made {
    fn drop(&mut self) {
        let id = *self.0.get_mut();
        if id != 0 {
            // SAFETY: the reference that nobody has taken.
            unsafe { lxla_executable_release(lxla_executable { id }) };
        }
    }
}

fn compiled(of: lxla_computation, device: On, donated: &[usize], out: &mut lxla_executable) -> lxla_status {
    let options = lxla_executable_options {
        struct_size: size_of::<lxla_executable_options>(),
        donated: donated.as_ptr(),
        n_donated: donated.len(),
    };
    // SAFETY: options whose list lives as long as `donated`, and a writable output.
    unsafe { lxla_executable_compile(of, device.0, &options, out) }
}

#[pyfunction]
fn load_executable(py: Python<'_>, path: String, device: On) -> PyResult<Executable> {
    let (path, mut out) = (CString::new(path)?, lxla_executable { id: 0 });
    let place = &mut out;
    // SAFETY: a string that ends in NUL, and a writable output.
    check_outside(py, || unsafe { lxla_executable_load(env(), device.0, path.as_ptr(), place) })?;
    Ok(Executable { handle: out })
}

/// Adds the functions of this file to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Executable>()?;
    module.add_function(wrap_pyfunction!(compile, module)?)?;
    module.add_function(wrap_pyfunction!(load_executable, module)?)
}
