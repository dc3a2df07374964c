//! Devices, and what is called per device: steps, waits, counters.

use crate::array::Array;
use crate::error::{check, error};
use crate::sys::*;
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::ffi::{CStr, CString, c_char};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The environment that `initialize` made; 0 is the current one, else the default one.
static ENVIRONMENT: AtomicU64 = AtomicU64::new(0);

/// Whether a mesh has been made, which belongs to the environment of that time.
pub static HAS_MESH: AtomicBool = AtomicBool::new(false);

/// Options of the environment whose defaults are not the library's, as in JAX: a call of a traced function runs, and
/// operations outside of such functions run when there are many. Each with the variable that sets it otherwise.
const OPTIONS: &[(&CStr, &CStr, &str)] = &[
    (c"step_before_call", c"true", "LXLA_STEP_BEFORE_CALL"),
    (c"max_pending_ops", c"4096", "LXLA_MAX_PENDING_OPS"),
    (c"pending_limit_policy", c"loop", "LXLA_PENDING_LIMIT_POLICY"),
];

/// Whether the environment has these options.
static HAS_OPTIONS: AtomicBool = AtomicBool::new(false);

/// The environment of all calls.
pub fn env() -> lxla_env {
    let env = lxla_env { id: ENVIRONMENT.load(Ordering::Relaxed) };
    if !HAS_OPTIONS.swap(true, Ordering::Relaxed) {
        set_defaults(env);
    }
    env
}

#[cold]
fn set_defaults(env: lxla_env) {
    for (name, value, variable) in OPTIONS {
        // SAFETY: strings that end in NUL.
        let is_set = std::env::var_os(variable).is_some()
            || unsafe { lxla_env_set_option(env, name.as_ptr(), value.as_ptr()) } == LXLA_OK;
        if !is_set {
            // There is no environment: the call that needs it says why.
            HAS_OPTIONS.store(false, Ordering::Relaxed);
            return;
        }
    }
}

/// Makes an environment for all further calls, which the process keeps. Options that are None have their defaults.
#[pyfunction]
#[pyo3(signature = (device_count, plugin, plugin_options, cache_dir, dynamic_sizes, matmul_precision, threads))]
#[expect(clippy::too_many_arguments, reason = "the options of the library, one by one")]
fn initialize(
    py: Python<'_>,
    device_count: i32,
    plugin: Option<String>,
    plugin_options: Option<String>,
    cache_dir: Option<String>,
    dynamic_sizes: Option<String>,
    matmul_precision: Option<String>,
    threads: i32,
) -> PyResult<()> {
    let is_used = crate::array::made() > 0 || HAS_MESH.load(Ordering::Relaxed);
    if is_used || ENVIRONMENT.load(Ordering::Relaxed) != 0 {
        return Err(PyRuntimeError::new_err(
            "initialize() is called once, before the first array and the first mesh: some have been made, or it was \
             called before",
        ));
    }
    let [plugin, plugin_options, cache_dir, sizes, precision] =
        [plugin, plugin_options, cache_dir, dynamic_sizes, matmul_precision]
            .map(|text| text.map(CString::new).transpose());
    let (plugin, plugin_options, cache_dir) = (plugin?, plugin_options?, cache_dir?);
    let (sizes, precision) = (sizes?, precision?);
    let mut made = lxla_env { id: 0 };
    check_detached(py, || {
        // SAFETY: zeros are valid fields.
        let mut options: lxla_env_options = unsafe { std::mem::zeroed() };
        options.struct_size = size_of::<lxla_env_options>();
        let text = |text: &Option<CString>| text.as_ref().map_or(std::ptr::null(), |text| text.as_ptr());
        // SAFETY: writable; the texts live until the call has returned.
        unsafe {
            let status = lxla_env_options_init(&mut options);
            if status != LXLA_OK {
                return status;
            }
            options.device_count = device_count;
            options.plugin_path = text(&plugin);
            options.plugin_options = text(&plugin_options);
            options.cache_dir = text(&cache_dir);
            options.dynamic_sizes = text(&sizes);
            options.threads = threads;
            let status = lxla_env_create(&options, &mut made);
            if status != LXLA_OK {
                return status;
            }
            with_precision(made, &precision)
        }
    })?;
    ENVIRONMENT.store(made.id, Ordering::Relaxed);
    set_defaults(made);
    HAS_OPTIONS.store(true, Ordering::Relaxed);
    Ok(())
}

/// Sets the option of a new environment; on an error, releases it.
///
/// # Safety
/// The environment has one reference, which the caller gives up if the status is an error.
unsafe fn with_precision(env: lxla_env, precision: &Option<CString>) -> lxla_status {
    let Some(precision) = precision else { return LXLA_OK };
    // SAFETY: strings that end in NUL; the reference is given up once. A release that succeeds
    // keeps the message of the call that failed.
    unsafe {
        let status = lxla_env_set_option(env, c"matmul_precision".as_ptr(), precision.as_ptr());
        if status != LXLA_OK {
            lxla_env_release(env);
        }
        status
    }
}

/// A device: ``lx.device("cpu")``, whose arrays are eager, or ``lx.device("xla:0")``, whose arrays are lazy.
#[pyclass(frozen, module = "lazyxla")]
pub struct Device {
    pub device: lxla_device,
}

impl Device {
    fn text(&self) -> String {
        match self.device.kind {
            LXLA_DEVICE_CPU => "cpu".to_string(),
            LXLA_DEVICE_XLA => format!("xla:{}", self.device.ordinal),
            _ => format!("mesh:{}", self.device.ordinal),
        }
    }
}

#[pymethods]
impl Device {
    #[new]
    fn new(name: On) -> Device {
        Device { device: name.0 }
    }

    fn __str__(&self) -> String {
        self.text()
    }

    fn __repr__(&self) -> String {
        format!("lazyxla.device('{}')", self.text())
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Device>().is_ok_and(|other| {
            let (a, b) = (self.device, other.get().device);
            a.kind == b.kind && a.ordinal == b.ordinal
        })
    }

    fn __hash__(&self) -> isize {
        (self.device.kind * 1024 + self.device.ordinal) as isize
    }

    fn __reduce__(slf: &Bound<'_, Self>) -> (Py<PyAny>, (String,)) {
        (slf.get_type().into_any().unbind(), (slf.get().text(),))
    }
}

fn parse(name: &str) -> PyResult<lxla_device> {
    let text = CString::new(name)?;
    let mut device = lxla_device { kind: 0, ordinal: 0 };
    // SAFETY: a string that ends in NUL, and a writable output.
    check(unsafe { lxla_device_parse(text.as_ptr(), &mut device) })?;
    Ok(device)
}

/// A device as argument: an object of this module or a text.
#[derive(Clone, Copy)]
pub struct On(pub lxla_device);

impl<'py> FromPyObject<'_, 'py> for On {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<On> {
        if let Ok(device) = object.cast::<Device>() {
            return Ok(On(device.get().device));
        }
        if let Ok(mesh) = object.cast::<crate::mesh::Mesh>() {
            return Ok(On(mesh.get().device));
        }
        let text: String = object.extract().map_err(|_| {
            let given = object.repr().map_or_else(|_| "an object".to_string(), |text| text.to_string());
            PyTypeError::new_err(format!("a device such as lx.device('cpu'), or its name, is wanted, not {given}"))
        })?;
        parse(&text).map(On)
    }
}

/// Takes over a text that the library allocated.
pub fn text(call: impl FnOnce(*mut *mut c_char) -> lxla_status) -> PyResult<String> {
    let mut out = null_mut();
    check(call(&mut out))?;
    // SAFETY: the call succeeded, so that `out` is a string, which is freed once, after it was copied.
    unsafe {
        let copy = CStr::from_ptr(out).to_string_lossy().into_owned();
        lxla_string_free(out);
        Ok(copy)
    }
}

/// The tensor of an array whose value is needed.
pub fn read_of(array: &Array) -> lxla_tensor {
    crate::trace::before_read(array);
    array.handle
}

/// Runs all pending operations of a device, or of every device without one.
#[pyfunction]
#[pyo3(signature = (device, wait))]
fn mark_step(py: Python<'_>, device: Option<On>, wait: bool) -> PyResult<()> {
    let device = device.map_or(lxla_device { kind: 0, ordinal: 0 }, |on| on.0);
    let env = current_env();
    // SAFETY: values only.
    crate::interrupt::check(py, move || unsafe { lxla_mark_step(env, device, 0) })?;
    if wait { wait_for_device(py, device) } else { Ok(()) }
}

#[pyfunction]
fn wait(py: Python<'_>, device: Option<On>) -> PyResult<()> {
    let device = device.map_or(lxla_device { kind: 0, ordinal: 0 }, |on| on.0);
    wait_for_device(py, device)
}

/// Computes some arrays and what they need; donates as a step does if `donate`.
#[pyfunction]
fn compute(py: Python<'_>, arrays: Vec<PyRef<'_, Array>>, donate: bool, wait: bool) -> PyResult<()> {
    let handles: Vec<lxla_tensor> = arrays.iter().map(|array| read_of(array)).collect();
    // SAFETY: a list with its length; handles of arrays that have gone are errors.
    let call = move || unsafe {
        if donate {
            lxla_step_tensors(handles.as_ptr(), handles.len(), 0)
        } else {
            lxla_sync(handles.as_ptr(), handles.len())
        }
    };
    if crate::trace::is_in_scope() {
        check_outside(py, call)?
    } else {
        crate::interrupt::check(py, call)?
    }
    match arrays.first().filter(|_| wait) {
        Some(array) => wait_for_device(py, array.device()?),
        None => Ok(()),
    }
}

/// Milliseconds between two calls of Python's signal handlers while a thread waits.
const SIGNALS_MS: i64 = crate::interrupt::SIGNALS.as_millis() as i64;

/// Calls a wait of limited time until it says that it is done, and Python's signal handlers in between: Ctrl-C raises
/// KeyboardInterrupt although the device goes on.
fn wait_with_signals(py: Python<'_>, wait: impl Fn(&mut i32) -> lxla_status + Sync) -> PyResult<()> {
    let mut done = 0;
    loop {
        check_outside(py, || wait(&mut done))?;
        if done == 1 {
            return Ok(());
        }
        py.check_signals()?;
    }
}

/// Waits for a device as `lxla_wait`, and calls Python's signal handlers meanwhile.
fn wait_for_device(py: Python<'_>, device: lxla_device) -> PyResult<()> {
    let mut enqueued = 0;
    // SAFETY: a writable output.
    check(unsafe { lxla_enqueued(&mut enqueued) })?;
    // SAFETY: a writable output.
    wait_with_signals(py, |done| unsafe { lxla_wait_for(env(), device, enqueued, SIGNALS_MS, done) })
}

/// Computes the value of an array and waits for it, and calls Python's signal handlers meanwhile: a read does not wait
/// then.
pub fn wait_for_value(py: Python<'_>, array: &Array) -> PyResult<()> {
    let handle = read_of(array);
    if crate::computation::HAS_CALLS.load(Ordering::Relaxed) && !crate::trace::is_tracing() {
        step_calls(py, handle)?;
    }
    if !crate::trace::is_in_scope() && (is_pending(handle) || crate::interrupt::goes_on()) {
        // The wait would compile, or wait for a compile, before its time begins.
        let compiled = move || {
            let mut done = 0;
            // SAFETY: a writable output; the handle of an array that has gone is an error.
            unsafe { lxla_tensor_wait_for(handle, 0, &mut done) }
        };
        crate::interrupt::check(py, compiled)?;
    }
    // SAFETY: a writable output; the handle belongs to `array`.
    wait_with_signals(py, |done| unsafe { lxla_tensor_wait_for(handle, SIGNALS_MS, done) })
}

fn is_pending(handle: lxla_tensor) -> bool {
    let mut state = 0;
    // SAFETY: a writable output.
    unsafe { lxla_tensor_state(handle, &mut state) == LXLA_OK && state == LXLA_STATE_PENDING }
}

/// Before a value that is pending is read, steps what calls of computations left pending on its device: a loop has released
/// the state before the last call by then, which the step donates and a read would keep.
fn step_calls(py: Python<'_>, handle: lxla_tensor) -> PyResult<()> {
    let (mut state, mut device) = (0, lxla_device { kind: 0, ordinal: 0 });
    // SAFETY: writable outputs.
    unsafe {
        check(lxla_tensor_state(handle, &mut state))?;
        check(lxla_tensor_device(handle, &mut device))?;
    }
    if state != LXLA_STATE_PENDING || device.kind == LXLA_DEVICE_CPU {
        return Ok(());
    }
    crate::computation::HAS_CALLS.store(false, Ordering::Relaxed);
    step_before_read(py, device)
}

/// Runs all pending operations of a device before a read. A value that cannot be computed fails where it is read.
pub fn step_before_read(py: Python<'_>, device: lxla_device) -> PyResult<()> {
    let env = current_env();
    // SAFETY: values only.
    match crate::interrupt::call(py, move || unsafe { lxla_mark_step(env, device, 0) })? {
        // A NaN or an infinity, by the option check_nonfinite: all values are computed.
        Err(failure) if failure.status == LXLA_OUT_OF_RANGE => Err(failure.exception),
        _ => Ok(()),
    }
}

/// The environment of calls that another thread makes for this one, which may have entered one.
fn current_env() -> lxla_env {
    let (given, mut entered) = (env(), lxla_env { id: 0 });
    // SAFETY: a writable output.
    if given.id == 0 && unsafe { lxla_env_current(&mut entered) } == LXLA_OK { entered } else { given }
}

/// Calls the library without the interpreter's lock, so that other threads go on.
pub fn check_detached(py: Python<'_>, call: impl FnOnce() -> lxla_status + Send) -> PyResult<()> {
    // The message belongs to the thread, which stays the same.
    let status = py.detach(call);
    if status == LXLA_OK { Ok(()) } else { Err(error(status)) }
}

/// Calls the library for the value of an array, without the interpreter's lock. While this thread traces a function, the
/// library refuses such calls: then another thread makes it.
pub fn check_outside(py: Python<'_>, call: impl FnOnce() -> lxla_status + Send) -> PyResult<()> {
    if !crate::trace::is_in_scope() {
        return check_detached(py, call);
    }
    // The message belongs to the thread of the call, and what it says of a trace to this one.
    let called = crate::trace::outside(|| match call() {
        LXLA_OK => Ok(None),
        status => Ok(Some((status, crate::error::message()))),
    });
    called?.map_or(Ok(()), |(status, message)| Err(crate::error::with_message(status, &message)))
}

#[pyfunction]
fn device_count(py: Python<'_>) -> PyResult<i32> {
    let mut count = 0;
    // SAFETY: a writable output.
    check_detached(py, || unsafe { lxla_env_device_count(env(), &mut count) })?;
    Ok(count)
}

#[pyfunction]
fn counter(name: &str) -> PyResult<u64> {
    let (name, mut value) = (CString::new(name)?, 0);
    // SAFETY: a string that ends in NUL, and a writable output.
    match unsafe { lxla_env_counter(env(), name.as_ptr(), &mut value) } {
        LXLA_NOT_FOUND => Err(PyValueError::new_err(crate::texts::in_python(&crate::error::message()))),
        status => check(status).map(|()| value),
    }
}

#[pyfunction]
fn metrics_json(py: Python<'_>) -> PyResult<String> {
    // SAFETY: a writable output.
    py.detach(|| text(|out| unsafe { lxla_env_metrics_json(env(), out) }))
}

#[pyfunction]
fn plugin_list_json(py: Python<'_>) -> PyResult<String> {
    // SAFETY: a writable output.
    py.detach(|| text(|out| unsafe { lxla_plugin_list(out) }))
}

#[pyfunction]
fn version() -> String {
    // SAFETY: the library returns a string in static memory.
    unsafe { CStr::from_ptr(lxla_version()) }.to_string_lossy().into_owned()
}

/// Returns the StableHLO text of the program that computes the arrays.
#[pyfunction]
fn stablehlo(py: Python<'_>, arrays: Vec<PyRef<'_, Array>>) -> PyResult<String> {
    let handles: Vec<lxla_tensor> = arrays.iter().map(|array| read_of(array)).collect();
    // SAFETY: the handles belong to `arrays`, which live until the call has returned.
    py.detach(|| text(|out| unsafe { lxla_stablehlo(handles.as_ptr(), handles.len(), out) }))
}

#[pyfunction]
fn dtype_of(py: Python<'_>, name: &str) -> PyResult<Py<crate::dtype::DType>> {
    crate::dtype::object(py, crate::dtype::by_name(name)?)
}

/// Sets options of the current environment, given by name.
#[pyfunction]
#[pyo3(signature = (**options))]
fn set_options(options: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
    let Some(options) = options else { return Ok(()) };
    for (name, value) in options.iter() {
        let (name, value) = (CString::new(name.to_string())?, CString::new(value.str()?.to_string().to_lowercase())?);
        // SAFETY: strings that end in NUL.
        check(unsafe { lxla_env_set_option(env(), name.as_ptr(), value.as_ptr()) })?;
    }
    Ok(())
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(initialize, module)?)?;
    module.add_function(wrap_pyfunction!(mark_step, module)?)?;
    module.add_function(wrap_pyfunction!(wait, module)?)?;
    module.add_function(wrap_pyfunction!(compute, module)?)?;
    module.add_function(wrap_pyfunction!(device_count, module)?)?;
    module.add_function(wrap_pyfunction!(counter, module)?)?;
    module.add_function(wrap_pyfunction!(metrics_json, module)?)?;
    module.add_function(wrap_pyfunction!(plugin_list_json, module)?)?;
    module.add_function(wrap_pyfunction!(version, module)?)?;
    module.add_function(wrap_pyfunction!(stablehlo, module)?)?;
    module.add_function(wrap_pyfunction!(dtype_of, module)?)?;
    module.add_function(wrap_pyfunction!(set_options, module)?)
}
