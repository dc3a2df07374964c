//! Files of arrays: safetensors, written at once or by a background thread.

use crate::array::Array;
use crate::device::{On, check_detached, env, read_of, text};
use crate::error::check;
use crate::functions::add;
use crate::sys::*;
use pyo3::prelude::*;
use std::ffi::{CString, c_char};

/// Texts that end in NUL, as lists of pointers.
pub struct Names {
    texts: Vec<CString>,
}

impl Names {
    pub fn new(names: Vec<String>) -> PyResult<Names> {
        Ok(Names { texts: names.into_iter().map(CString::new).collect::<Result<_, _>>()? })
    }

    pub fn pointers(&self) -> Vec<*const c_char> {
        self.texts.iter().map(|text| text.as_ptr()).collect()
    }
}

/// Metadata of a file: keys and values, or None to keep those of the file that is replaced.
type Metadata = Option<Vec<(String, String)>>;

/// The arguments of a save.
struct Contents {
    path: CString,
    names: Names,
    handles: Vec<lxla_tensor>,
    keys: Names,
    values: Names,
    keep: bool,
}

impl Contents {
    fn new(path: String, names: Vec<String>, arrays: &[PyRef<'_, Array>], metadata: Metadata) -> PyResult<Contents> {
        let handles = arrays.iter().map(|array| read_of(array)).collect();
        let keep = metadata.is_none();
        let (keys, values): (Vec<String>, Vec<String>) = metadata.unwrap_or_default().into_iter().unzip();
        let (path, names) = (CString::new(path)?, Names::new(names)?);
        Ok(Contents { path, names, handles, keys: Names::new(keys)?, values: Names::new(values)?, keep })
    }

    /// Calls with the path, names, handles, their number, and options, which live until the call has returned.
    fn with<T>(
        &self,
        call: impl FnOnce(*const c_char, *const *const c_char, &[lxla_tensor], &lxla_save_options) -> T,
    ) -> T {
        let (names, keys, values) = (self.names.pointers(), self.keys.pointers(), self.values.pointers());
        let options = lxla_save_options {
            struct_size: size_of::<lxla_save_options>(),
            metadata_keys: keys.as_ptr(),
            metadata_values: values.as_ptr(),
            n_metadata: keys.len(),
            keep_metadata: if self.keep { LXLA_ON } else { LXLA_OFF },
        };
        call(self.path.as_ptr(), names.as_ptr(), &self.handles, &options)
    }
}

/// Writes a safetensors file.
#[pyfunction]
fn save(
    py: Python<'_>,
    path: String,
    names: Vec<String>,
    arrays: Vec<PyRef<'_, Array>>,
    metadata: Metadata,
) -> PyResult<()> {
    let contents = Contents::new(path, names, &arrays, metadata)?;
    check_detached(py, || {
        // SAFETY: all lists and strings live until the call has returned.
        contents.with(|path, names, of, options| unsafe {
            lxla_save_with_options(path, names, of.as_ptr(), of.len(), options)
        })
    })
}

/// A file that is written in the background, by ``lx.save_async``.
#[pyclass(frozen, module = "lazyxla")]
pub struct Save {
    ticket: lxla_save_ticket,
}

impl Drop for Save {
    fn drop(&mut self) {
        // SAFETY: the reference that this object owns.
        unsafe { lxla_save_ticket_release(self.ticket) };
    }
}

#[pymethods]
impl Save {
    /// Returns whether the save has finished, successfully or not. Does not wait.
    fn done(&self) -> PyResult<bool> {
        let mut done = 0;
        // SAFETY: a writable output.
        check(unsafe { lxla_save_done(self.ticket, &mut done) })?;
        Ok(done != 0)
    }

    /// Returns the number of bytes of arrays that are written, and their total. Does not wait.
    fn progress(&self) -> PyResult<(u64, u64)> {
        let (mut written, mut total) = (0, 0);
        // SAFETY: writable outputs.
        check(unsafe { lxla_save_progress(self.ticket, &mut written, &mut total) })?;
        Ok((written, total))
    }

    /// Waits until the file is on disk; raises the error if the save failed.
    fn wait(&self, py: Python<'_>) -> PyResult<()> {
        let ticket = self.ticket;
        // SAFETY: a value.
        check_detached(py, move || unsafe { lxla_save_wait(ticket) })
    }
}

/// Begins to write a safetensors file in the background.
#[pyfunction]
fn save_async(
    py: Python<'_>,
    path: String,
    names: Vec<String>,
    arrays: Vec<PyRef<'_, Array>>,
    metadata: Metadata,
) -> PyResult<Save> {
    let contents = Contents::new(path, names, &arrays, metadata)?;
    let mut ticket = lxla_save_ticket { id: 0 };
    check_detached(py, || {
        // SAFETY: all lists and strings live until the call has returned; a writable output.
        contents.with(|path, names, of, options| unsafe {
            lxla_save_async_with_options(path, names, of.as_ptr(), of.len(), options, &mut ticket)
        })
    })?;
    Ok(Save { ticket })
}
#[pyfunction]
fn load(py: Python<'_>, path: String, name: String, device: On) -> PyResult<Array> {
    let (path, name) = (CString::new(path)?, CString::new(name)?);
    // SAFETY: strings that end in NUL, and a writable output.
    Array::detached(py, move |out| unsafe { lxla_load(env(), device.0, path.as_ptr(), name.as_ptr(), out) })
}

#[pyfunction]
fn file_names_json(path: String) -> PyResult<String> {
    let path = CString::new(path)?;
    // SAFETY: a string that ends in NUL, and a writable output.
    text(|out| unsafe { lxla_file_names(path.as_ptr(), out) })
}

#[pyfunction]
fn file_metadata_json(path: String) -> PyResult<String> {
    let path = CString::new(path)?;
    // SAFETY: a string that ends in NUL, and a writable output.
    text(|out| unsafe { lxla_file_metadata(path.as_ptr(), out) })
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Save>()?;
    add!(module, save, save_async, load, file_names_json, file_metadata_json);
    Ok(())
}
