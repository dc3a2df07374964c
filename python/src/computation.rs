//! Traced computations: their derivatives, batches, calls and loops.

use crate::array::Array;
use crate::device::{check_detached, env, text};
use crate::error::check;
use crate::functions::{add, handles};
use crate::sys::*;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use std::ffi::CString;
use std::ptr::null;
use std::sync::atomic::{AtomicBool, Ordering};

/// A computation that was traced of a function.
#[pyclass(frozen, module = "lazyxla._core")]
pub struct Computation {
    pub handle: lxla_computation,
}

impl Drop for Computation {
    fn drop(&mut self) {
        // SAFETY: the reference that this object owns.
        unsafe { lxla_computation_release(self.handle) };
    }
}

/// Whether a computation was called since the last step before a read.
pub static HAS_CALLS: AtomicBool = AtomicBool::new(false);

const NONE: lxla_computation = lxla_computation { id: 0 };

impl Computation {
    pub fn handle(&self) -> lxla_computation {
        self.handle
    }

    pub fn detached(
        py: Python<'_>,
        call: impl FnOnce(*mut lxla_computation) -> lxla_status + Send,
    ) -> PyResult<Computation> {
        let mut out = NONE;
        check_detached(py, || call(&mut out))?;
        Ok(Computation { handle: out })
    }
}

/// Calls with `n` results in a list.
pub fn results(
    py: Python<'_>,
    n: usize,
    call: impl FnOnce(*mut lxla_tensor) -> lxla_status + Send,
) -> PyResult<Vec<Array>> {
    let mut out = vec![lxla_tensor { id: 0 }; n];
    let space = &mut out;
    check_detached(py, move || call(space.as_mut_ptr()))?;
    Ok(out.into_iter().map(Array::sized).collect())
}

/// Steps what earlier calls left pending, as the library does by the option step_before_call, but so that Ctrl-C is heard
/// while their programs are compiled.
fn step_earlier_calls(py: Python<'_>, arguments: &[PyRef<'_, Array>]) -> PyResult<()> {
    // SAFETY: a string that ends in NUL, and a writable output.
    let option = text(|out| unsafe { lxla_env_get_option(env(), c"step_before_call".as_ptr(), out) })?;
    match arguments.first() {
        Some(array) if option == "true" => crate::device::step_before_read(py, array.device()?),
        _ => Ok(()),
    }
}

#[pymethods]
impl Computation {
    /// Numbers of parameters, results and captured values.
    pub fn info(&self) -> PyResult<(usize, usize, usize)> {
        let (mut params, mut results, mut captured) = (0, 0, 0);
        // SAFETY: writable outputs.
        check(unsafe { lxla_computation_info(self.handle, &mut params, &mut results, &mut captured) })?;
        Ok((params, results, captured))
    }

    fn stablehlo(&self, py: Python<'_>) -> PyResult<String> {
        let handle = self.handle;
        // SAFETY: a writable output.
        py.detach(|| text(|out| unsafe { lxla_computation_stablehlo(handle, out) }))
    }

    fn call(&self, py: Python<'_>, arguments: Vec<PyRef<'_, Array>>) -> PyResult<Vec<Array>> {
        let (handle, of) = (self.handle, handles(&arguments));
        let n = self.info()?.1;
        if HAS_CALLS.load(Ordering::Relaxed) && crate::interrupt::has_new_call() && !crate::trace::is_tracing() {
            step_earlier_calls(py, &arguments)?;
        }
        crate::interrupt::note_call(handle.id);
        HAS_CALLS.store(true, Ordering::Relaxed);
        // SAFETY: lists with their lengths.
        results(py, n, move |out| unsafe { lxla_computation_call(handle, of.as_ptr(), of.len(), out, n) })
    }

    /// Results, then gradients of the first by the parameters `wrt`.
    fn value_and_grad(&self, py: Python<'_>, wrt: Vec<usize>) -> PyResult<Computation> {
        let handle = self.handle;
        Computation::detached(py, move |out| {
            let options = vjp_options(&wrt);
            // SAFETY: the list of the options lives until the call has returned.
            unsafe { lxla_computation_value_and_grad(handle, &options, out) }
        })
    }

    /// The forward and the backward pass, and the number of residuals.
    fn vjp(&self, py: Python<'_>, wrt: Vec<usize>) -> PyResult<(Computation, Computation, usize)> {
        let handle = self.handle;
        let (mut forward, mut backward, mut residuals) = (NONE, NONE, 0);
        check_detached(py, || {
            let options = vjp_options(&wrt);
            // SAFETY: the list of the options lives until the call has returned; writable outputs.
            unsafe { lxla_computation_vjp(handle, &options, &mut forward, &mut backward, &mut residuals) }
        })?;
        Ok((Computation { handle: forward }, Computation { handle: backward }, residuals))
    }

    fn jvp(&self, py: Python<'_>, wrt: Vec<usize>) -> PyResult<Computation> {
        let handle = self.handle;
        // SAFETY: a list with its length, and a writable output.
        Computation::detached(py, move |out| unsafe { lxla_computation_jvp(handle, wrt.as_ptr(), wrt.len(), out) })
    }

    /// -1 is an argument that is not mapped, or a result that depends on no mapped argument.
    fn vmap(&self, py: Python<'_>, in_axes: Vec<i64>, out_axes: Vec<i64>, size: i64) -> PyResult<Computation> {
        let handle = self.handle;
        Computation::detached(py, move |out| {
            let (inputs, outputs) = (in_axes.as_ptr(), out_axes.as_ptr());
            // SAFETY: lists with their lengths, and a writable output.
            unsafe { lxla_computation_vmap(handle, inputs, in_axes.len(), outputs, out_axes.len(), size, out) }
        })
    }

    /// `policy` is one of the constants CHECKPOINT_*; `names` are the names that
    /// CHECKPOINT_SAVE_NAMED saves, and empty for other policies.
    fn checkpoint(&self, py: Python<'_>, policy: i32, names: Vec<String>) -> PyResult<Computation> {
        let handle = self.handle;
        let names = names.into_iter().map(CString::new).collect::<Result<Vec<CString>, _>>()?;
        Computation::detached(py, move |out| {
            let names: Vec<*const std::ffi::c_char> = names.iter().map(|name| name.as_ptr()).collect();
            // SAFETY: a list of texts, which live until the call has returned, with its length, and a writable output.
            unsafe { lxla_computation_checkpoint(handle, policy, names.as_ptr(), names.len(), out) }
        })
    }

    fn with_jvp(&self, py: Python<'_>, jvp: &Computation) -> PyResult<Computation> {
        let (handle, jvp) = (self.handle, jvp.handle);
        // SAFETY: a writable output.
        Computation::detached(py, move |out| unsafe { lxla_computation_with_jvp(handle, jvp, out) })
    }

    /// The computation with its captured values as further parameters.
    fn lift(&self, py: Python<'_>) -> PyResult<Computation> {
        let handle = self.handle;
        // SAFETY: a writable output.
        Computation::detached(py, move |out| unsafe { lxla_computation_lift(handle, out) })
    }

    /// The captured values.
    fn captured(&self, py: Python<'_>) -> PyResult<Vec<Array>> {
        let (handle, n) = (self.handle, self.info()?.2);
        // SAFETY: a writable output.
        (0..n).map(|i| Array::detached(py, move |out| unsafe { lxla_computation_captured(handle, i, out) })).collect()
    }

    fn describe_json(&self, py: Python<'_>) -> PyResult<String> {
        let handle = self.handle;
        // SAFETY: a writable output.
        py.detach(|| text(|out| unsafe { lxla_computation_describe(handle, out) }))
    }

    /// `format` is one of the constants EXPORT_*.
    fn export(&self, py: Python<'_>, path: String, format: i32, vjp_order: i32) -> PyResult<()> {
        let (handle, path) = (self.handle, CString::new(path)?);
        check_detached(py, || {
            // SAFETY: zeros are valid fields.
            let mut options: lxla_export_options = unsafe { std::mem::zeroed() };
            options.struct_size = size_of::<lxla_export_options>();
            (options.format, options.vjp_order) = (format, vjp_order);
            // SAFETY: a string that ends in NUL; options that live until the call has returned.
            unsafe { lxla_computation_export(handle, &options, path.as_ptr()) }
        })
    }

    fn with_vjp(&self, py: Python<'_>, forward: &Computation, backward: &Computation) -> PyResult<Computation> {
        let (handle, forward, backward) = (self.handle, forward.handle, backward.handle);
        // SAFETY: a writable output.
        Computation::detached(py, move |out| unsafe { lxla_computation_with_vjp(handle, forward, backward, out) })
    }
}

fn vjp_options(wrt: &[usize]) -> lxla_vjp_options {
    lxla_vjp_options {
        struct_size: size_of::<lxla_vjp_options>(),
        wrt: wrt.as_ptr(),
        n_wrt: wrt.len(),
        captured: 0,
        checkpoint: 0,
        saved_names: null(),
        n_saved_names: 0,
    }
}

#[pyfunction]
fn trace(py: Python<'_>, parameters: Vec<PyRef<'_, Array>>, results: Vec<PyRef<'_, Array>>) -> PyResult<Computation> {
    let (params, of) = (handles(&parameters), handles(&results));
    // SAFETY: lists with their lengths, and a writable output.
    Computation::detached(py, move |out| unsafe {
        lxla_computation_trace(params.as_ptr(), params.len(), of.as_ptr(), of.len(), out)
    })
}

#[pyfunction]
fn while_loop(
    py: Python<'_>,
    condition: &Computation,
    body: &Computation,
    init: Vec<PyRef<'_, Array>>,
) -> PyResult<Vec<Array>> {
    let (condition, body, of) = (condition.handle, body.handle, handles(&init));
    // SAFETY: lists with their lengths.
    results(py, of.len(), move |out| unsafe { lxla_while(condition, body, of.as_ptr(), of.len(), out) })
}

/// The values, then whether the loop ended before its bound.
#[pyfunction]
fn while_bounded(
    py: Python<'_>,
    condition: &Computation,
    body: &Computation,
    init: Vec<PyRef<'_, Array>>,
    most: i64,
) -> PyResult<Vec<Array>> {
    let (condition, body, of, n) = (condition.handle, body.handle, handles(&init), init.len());
    results(py, n + 1, move |out| {
        // SAFETY: lists with their lengths; the list of results has room for one more.
        unsafe { lxla_while_bounded(condition, body, of.as_ptr(), n, most, out, out.add(n)) }
    })
}

#[pyfunction]
fn cond(
    py: Python<'_>,
    choice: &Array,
    on_true: &Computation,
    on_false: &Computation,
    arguments: Vec<PyRef<'_, Array>>,
) -> PyResult<Vec<Array>> {
    let n = on_true.info()?.1;
    let (choice, on_true, on_false, of) = (choice.operand(), on_true.handle, on_false.handle, handles(&arguments));
    // SAFETY: lists with their lengths.
    results(py, n, move |out| unsafe { lxla_cond(choice, on_true, on_false, of.as_ptr(), of.len(), out, n) })
}

/// The results of the branch at an index; one out of range selects the last.
#[pyfunction]
fn switch(
    py: Python<'_>,
    index: &Array,
    branches: Vec<PyRef<'_, Computation>>,
    arguments: Vec<PyRef<'_, Array>>,
) -> PyResult<Vec<Array>> {
    let Some(first) = branches.first() else { return Err(PyValueError::new_err("at least one branch is wanted")) };
    let n = first.info()?.1;
    let list: Vec<lxla_computation> = branches.iter().map(|branch| branch.handle).collect();
    let (index, of) = (index.operand(), handles(&arguments));
    // SAFETY: lists with their lengths.
    results(py, n, move |out| unsafe { lxla_case(index, list.as_ptr(), list.len(), of.as_ptr(), of.len(), out, n) })
}

/// Imports a program from a file. `shapes` has one for each parameter, or is None.
#[pyfunction]
fn import_file(
    py: Python<'_>,
    path: String,
    function: Option<String>,
    shapes: Option<Vec<Vec<i64>>>,
    mesh: Option<&crate::mesh::Mesh>,
) -> PyResult<Computation> {
    let path = CString::new(path)?;
    imported(py, function, shapes, mesh, move |options, out| {
        // SAFETY: the path lives until the call has returned, as do the lists of the options; a writable output.
        unsafe { lxla_computation_import_file(env(), path.as_ptr(), options, out) }
    })
}

/// Like `import_file`, of the bytes of a file.
#[pyfunction]
fn import_bytes(
    py: Python<'_>,
    module: PyBackedBytes,
    function: Option<String>,
    shapes: Option<Vec<Vec<i64>>>,
    mesh: Option<&crate::mesh::Mesh>,
) -> PyResult<Computation> {
    imported(py, function, shapes, mesh, move |options, out| {
        // SAFETY: as in `import_file`; the bytes do not change.
        unsafe { lxla_computation_import(env(), module.as_ptr().cast(), module.len(), options, out) }
    })
}

fn imported(
    py: Python<'_>,
    function: Option<String>,
    shapes: Option<Vec<Vec<i64>>>,
    mesh: Option<&crate::mesh::Mesh>,
    import: impl FnOnce(*const lxla_import_options, *mut lxla_computation) -> lxla_status + Send,
) -> PyResult<Computation> {
    let function = function.map(CString::new).transpose()?;
    let mesh = mesh.map_or(lxla_mesh { id: 0 }, |mesh| mesh.handle());
    Computation::detached(py, move |out| {
        let shapes = shapes.unwrap_or_default();
        let ranks: Vec<usize> = shapes.iter().map(Vec::len).collect();
        let dims = shapes.concat();
        let options = lxla_import_options {
            struct_size: size_of::<lxla_import_options>(),
            function: function.as_ref().map_or(null(), |name| name.as_ptr()),
            ranks: ranks.as_ptr(),
            dims: dims.as_ptr(),
            n_parameters: ranks.len(),
            mesh,
        };
        import(&options, out)
    })
}

#[pyfunction]
fn describe_file_json(py: Python<'_>, path: String) -> PyResult<String> {
    let path = CString::new(path)?;
    // SAFETY: a string that ends in NUL, and a writable output.
    py.detach(|| text(|out| unsafe { lxla_module_describe_file(path.as_ptr(), out) }))
}

/// The final carry, then the stacked results.
#[pyfunction]
fn scan(
    py: Python<'_>,
    body: &Computation,
    init: Vec<PyRef<'_, Array>>,
    xs: Vec<PyRef<'_, Array>>,
    length: i64,
    reverse: bool,
) -> PyResult<Vec<Array>> {
    let n = body.info()?.1;
    let (body, carry, slices) = (body.handle, handles(&init), handles(&xs));
    let Some(n_ys) = n.checked_sub(carry.len()) else {
        return Err(PyValueError::new_err(format!("a body with {n} results for a carry of {}", carry.len())));
    };
    results(py, n, move |out| {
        let (n_carry, n_xs) = (carry.len(), slices.len());
        // SAFETY: `out` has `n` entries: the carry, then the stacks.
        unsafe {
            let ys = out.add(n_carry);
            lxla_scan(body, carry.as_ptr(), n_carry, slices.as_ptr(), n_xs, length, reverse.into(), out, ys, n_ys)
        }
    })
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    add!(module, trace, while_loop, while_bounded, cond, switch, scan, import_file, import_bytes, describe_file_json);
    Ok(())
}
