//! Functions that are being traced. An array from outside that they change in place gets its value back. In a function
//! whose computation is kept (`lx.jit`), placeholders stand for arrays from outside, so that each call reads
//! their values.

use crate::array::{Array, made};
use crate::device::On;
use crate::functions::add;
use crate::sys::*;
use pyo3::prelude::*;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A function that is being traced.
struct Frame {
    /// Number of arrays made before the trace began: arrays with a smaller sequence number are from outside.
    start: u64,
    /// Arrays from outside that were changed, each with its value before.
    changed: Vec<(Array, Array)>,
    /// If the computation is to be kept.
    kept: Option<Kept>,
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

/// Whether an array was made in a function while that was traced, and the trace has ended.
#[pyfunction]
fn is_of_ended_trace(array: &Array) -> bool {
    array.is_traced && is_outside(array.number)
}

/// Called before the value of an array is replaced: keeps the value if the array is older than the traced function.
pub fn before_change(array: &Array) -> PyResult<()> {
    array.changes.fetch_add(1, Ordering::Relaxed);
    FRAMES.with_borrow_mut(|frames| {
        let Some(frame) = frames.last_mut() else { return Ok(()) };
        let is_kept = frame.changed.iter().any(|(kept, _)| kept.handle.id == array.handle.id);
        if array.number < frame.start && !is_kept {
            frame.changed.push((array.copy_handle()?, array.copy_of(array.handle)?));
        }
        Ok(())
    })
}

/// Begins the trace of a function in this thread; with a device, of one whose computation is to be kept.
#[pyfunction]
#[pyo3(signature = (device = None))]
fn begin_trace(device: Option<On>) {
    let kept = device.map(|on| {
        KEPT.fetch_add(1, Ordering::Relaxed);
        Kept { device: on.0, captured: Vec::new(), places: HashMap::new(), is_fixed: false }
    });
    DEPTH.set(DEPTH.get() + 1);
    FRAMES.with_borrow_mut(|frames| frames.push(Frame { start: made(), changed: Vec::new(), kept }));
}

/// The end of a trace: the arrays from outside that had been changed, those that are operands, their placeholders, and
/// whether the computation holds for further calls.
type End = (Vec<Array>, Vec<Array>, Vec<Array>, bool);

/// Ends the innermost trace: arrays from outside get their values back.
#[pyfunction]
fn end_trace() -> PyResult<End> {
    let frame = FRAMES.with_borrow_mut(Vec::pop);
    let Some(frame) = frame else { return Ok((Vec::new(), Vec::new(), Vec::new(), false)) };
    DEPTH.set(DEPTH.get() - 1);
    if frame.kept.is_some() {
        KEPT.fetch_sub(1, Ordering::Relaxed);
    }
    for (array, value) in &frame.changed {
        array.restore(value)?;
    }
    let changed = frame.changed.into_iter().map(|(array, _)| array).collect();
    let Some(kept) = frame.kept else { return Ok((changed, Vec::new(), Vec::new(), false)) };
    // An array of an enclosing function has no value after the trace of that.
    let outermost = FRAMES.with_borrow(|frames| frames.first().map_or(u64::MAX, |frame| frame.start));
    let holds = !kept.is_fixed && kept.captured.iter().all(|(array, _)| array.number < outermost);
    let (captured, placeholders) = kept.captured.into_iter().unzip();
    Ok((changed, captured, placeholders, holds))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    add!(module, begin_trace, end_trace, is_of_ended_trace);
    Ok(())
}
