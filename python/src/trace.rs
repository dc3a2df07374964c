//! Functions that are being traced, by scopes: what a function records belongs to its computation. It must not change
//! arrays from outside in place. In a function whose computation is kept (`lx.jit`), placeholders stand for arrays from
//! outside, so that each call reads their values.

use crate::array::{Array, made};
use crate::computation::Computation;
use crate::device::{On, env};
use crate::error::check;
use crate::functions::{add, handles};
use crate::sys::*;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A function that is being traced.
struct Frame {
    /// Number of arrays made before the trace began: arrays with a smaller sequence number are from outside.
    start: u64,
    /// If the computation is to be kept.
    kept: Option<Kept>,
    /// Whether this is a call within the trace of a function whose computation is to be kept. It belongs to that trace.
    is_of_arguments: bool,
    /// Whether all that is recorded belongs to the computation. Else what depends on no parameter is computed outside.
    is_scope: bool,
}

/// Arrays from outside of a function whose computation is to be kept.
struct Kept {
    device: lxla_device,
    /// Arrays from outside that are operands, each with its placeholder.
    captured: Vec<(Array, Array)>,
    places: HashMap<u64, usize>,
    /// Whether the value of an array from outside is a part of the computation, which therefore holds for one call.
    is_fixed: bool,
}

thread_local! {
    /// The functions that this thread traces, the innermost one last.
    static FRAMES: RefCell<Vec<Frame>> = const { RefCell::new(Vec::new()) };
    /// Number of functions that this thread traces; `FRAMES` may be borrowed where it is asked for.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
    /// Number of these that are scopes.
    static SCOPES: Cell<usize> = const { Cell::new(0) };
    /// The sequence number of creation of the array that was read last.
    static READ: Cell<u64> = const { Cell::new(0) };
}

/// Number of frames of all threads whose computations are to be kept.
static KEPT: AtomicUsize = AtomicUsize::new(0);

/// Returns the tensor to record operations of an array with.
pub fn operand(array: &Array) -> lxla_tensor {
    if KEPT.load(Ordering::Relaxed) == 0 {
        return array.handle;
    }
    FRAMES.with_borrow_mut(|frames| {
        let innermost = frames.iter_mut().rev().find_map(|frame| frame.kept.as_mut().map(|kept| (frame.start, kept)));
        match innermost {
            Some((start, kept)) if array.number < start => kept.stand_in(array),
            _ => array.handle,
        }
    })
}

impl Kept {
    fn stand_in(&mut self, array: &Array) -> lxla_tensor {
        if let Some(&place) = self.places.get(&array.handle.id) {
            return self.captured[place].1.handle;
        }
        match self.placeholder(array) {
            Ok(pair) => {
                let handle = pair.1.handle;
                self.places.insert(array.handle.id, self.captured.len());
                self.captured.push(pair);
                handle
            }
            // Of another device, or released: the operation uses it as it is, or says what is wrong.
            Err(_) => {
                self.is_fixed = true;
                array.handle
            }
        }
    }

    fn placeholder(&self, array: &Array) -> Result<(Array, Array), ()> {
        let device = array.device().map_err(drop)?;
        if device.kind != self.device.kind || device.ordinal != self.device.ordinal {
            return Err(());
        }
        let mut out = lxla_tensor { id: 0 };
        // SAFETY: a writable output.
        if unsafe { lxla_tensor_placeholder_like(array.handle, &mut out) } != LXLA_OK {
            return Err(());
        }
        Ok((array.copy_handle().map_err(drop)?, Array::new(out, array.is_large)))
    }
}

/// Called before the value of an array is read, other than by an operation that is recorded.
pub fn before_read(array: &Array) {
    READ.set(array.number);
    if KEPT.load(Ordering::Relaxed) == 0 {
        return;
    }
    FRAMES.with_borrow_mut(|frames| {
        for frame in frames.iter_mut().filter(|frame| array.number < frame.start) {
            if let Some(kept) = &mut frame.kept {
                kept.is_fixed = true;
            }
        }
    });
}

/// Returns whether the array that was read last, which has no value, belongs to a trace that has ended: no function is
/// traced, or the array is older than the outermost trace.
pub fn reads_from_ended() -> bool {
    is_outside(READ.get())
}

/// Returns whether an array with a sequence number of creation is from outside of all functions that are traced.
fn is_outside(number: u64) -> bool {
    FRAMES.with_borrow(|frames| frames.first().is_none_or(|frame| number < frame.start))
}

/// Returns whether this thread traces a function.
pub fn is_tracing() -> bool {
    DEPTH.get() > 0
}

/// Returns whether what this thread records belongs to a function that is traced.
pub fn is_in_scope() -> bool {
    SCOPES.get() > 0
}

/// Calls a function that computes values from outside. While what this thread records belongs to a function that is traced,
/// another thread makes the call, without the interpreter's lock.
pub fn outside<R: Send>(call: impl FnOnce() -> PyResult<R> + Send) -> PyResult<R> {
    if !is_in_scope() {
        return call();
    }
    let called = Python::attach(|py| py.detach(|| std::thread::scope(|scope| scope.spawn(call).join())));
    called.unwrap_or_else(|_| Err(PyRuntimeError::new_err("a read in a function that is traced ended its thread")))
}

/// Calls a function that computes with values from outside, and reads them; see `outside`.
#[pyfunction]
#[pyo3(name = "outside")]
fn called_outside(call: Py<PyAny>) -> PyResult<Py<PyAny>> {
    outside(|| Python::attach(|py| call.call0(py)))
}

/// Whether an array was made in a function while that was traced, and the trace has ended.
#[pyfunction]
fn is_of_ended_trace(array: &Array) -> bool {
    array.is_traced && is_outside(array.number)
}

/// Called before the value of an array is replaced. Fails for an array that is older than the traced function.
pub fn before_change(array: &Array) -> PyResult<()> {
    array.changes.fetch_add(1, Ordering::Relaxed);
    let found = FRAMES.with_borrow(|frames| {
        frames.last().filter(|frame| array.number < frame.start).map(|frame| frame.is_of_arguments)
    });
    let Some(is_of_arguments) = found else { return Ok(()) };
    let ty = format!("{}{:?}", crate::dtype::name(array.dtype()?), array.dims()?);
    Err(PyRuntimeError::new_err(if is_of_arguments {
        format!(
            "a jitted function changes its arguments or arrays from outside of it in place: {ty}; a call would lose the \
             change. Write x = x + 1 in place of x += 1, or change x.copy(), and return the new value"
        )
    } else {
        format!(
            "a function that is traced (by jit, grad, vmap, scan, ...) changes arrays from outside of it in place: {ty}. \
             Return the new value as an auxiliary result (has_aux=True, or one more result), and assign it after the call"
        )
    }))
}

/// Begins the trace of a function in this thread; with a device, of one whose computation is to be kept. Of a scope, all
/// that is recorded belongs to the computation.
#[pyfunction]
fn begin_trace(device: Option<On>, is_scope: bool) -> PyResult<()> {
    if is_scope {
        let any = lxla_device { kind: LXLA_DEVICE_UNSPECIFIED, ordinal: 0 };
        // SAFETY: values only.
        check(unsafe { lxla_tracing_begin(env(), any) })?;
    }
    let kept = device.map(|on| {
        KEPT.fetch_add(1, Ordering::Relaxed);
        Kept { device: on.0, captured: Vec::new(), places: HashMap::new(), is_fixed: false }
    });
    push(Frame { start: made(), kept, is_of_arguments: false, is_scope });
    Ok(())
}

/// Begins a call within the trace of a function whose computation is to be kept: it must not change its arguments.
#[pyfunction]
fn begin_arguments() {
    push(Frame { start: made(), kept: None, is_of_arguments: true, is_scope: false });
}

#[pyfunction]
fn end_arguments() {
    pop();
}

/// The computation of a trace, the arrays from outside that are operands, and whether the computation holds for further
/// calls.
type End = (Computation, Vec<Array>, bool);

/// Ends the innermost trace, and returns its computation. Arrays from outside are parameters after the given ones if the
/// computation is to be kept. On an error, the trace goes on.
#[pyfunction]
fn end_trace(py: Python<'_>, parameters: Vec<PyRef<'_, Array>>, results: Vec<PyRef<'_, Array>>) -> PyResult<End> {
    let (mut params, of) = (handles(&parameters), handles(&results));
    let is_scope = FRAMES.with_borrow(|frames| {
        let captured = frames.last().and_then(|frame| frame.kept.as_ref()).map_or(&[][..], |kept| &kept.captured);
        params.extend(captured.iter().map(|(_, placeholder)| placeholder.handle));
        frames.last().is_some_and(|frame| frame.is_scope)
    });
    let end = if is_scope { lxla_tracing_end } else { lxla_computation_trace };
    // SAFETY: lists with their lengths, and a writable output.
    let computation = Computation::detached(py, move |out| unsafe {
        end(params.as_ptr(), params.len(), of.as_ptr(), of.len(), out)
    })?;
    let Some(kept) = pop().and_then(|frame| frame.kept) else { return Ok((computation, Vec::new(), false)) };
    // An array of an enclosing function has no value after the trace of that.
    let outermost = FRAMES.with_borrow(|frames| frames.first().map_or(u64::MAX, |frame| frame.start));
    let holds = !kept.is_fixed && kept.captured.iter().all(|(array, _)| array.number < outermost);
    Ok((computation, kept.captured.into_iter().map(|(array, _)| array).collect(), holds))
}

/// Ends the innermost trace without a computation.
#[pyfunction]
fn abandon_trace() {
    if pop().is_some_and(|frame| frame.is_scope) {
        // SAFETY: no arguments.
        unsafe { lxla_tracing_abandon() };
    }
}

fn push(frame: Frame) {
    DEPTH.set(DEPTH.get() + 1);
    SCOPES.set(SCOPES.get() + usize::from(frame.is_scope));
    FRAMES.with_borrow_mut(|frames| frames.push(frame));
}

fn pop() -> Option<Frame> {
    let frame = FRAMES.with_borrow_mut(Vec::pop)?;
    DEPTH.set(DEPTH.get() - 1);
    SCOPES.set(SCOPES.get() - usize::from(frame.is_scope));
    if frame.kept.is_some() {
        KEPT.fetch_sub(1, Ordering::Relaxed);
    }
    Some(frame)
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    add!(
        module, begin_trace, end_trace, abandon_trace, begin_arguments, end_arguments, called_outside,
        is_of_ended_trace
    );
    Ok(())
}
