//! Functions that are being traced: an array from outside that they change in place gets its value back.

use crate::array::{Array, made};
use crate::functions::add;
use pyo3::prelude::*;
use std::cell::RefCell;

/// A function that is being traced.
struct Frame {
    /// Arrays of a smaller age are from outside.
    start: u64,
    /// Arrays from outside that were changed, each with its value before.
    changed: Vec<(Array, Array)>,
}

thread_local! {
    /// The functions that this thread traces, the innermost one last.
    static FRAMES: RefCell<Vec<Frame>> = const { RefCell::new(Vec::new()) };
}

/// Called before the value of an array is replaced: keeps the value if the array is older than the traced function.
pub fn before_change(array: &Array) -> PyResult<()> {
    FRAMES.with_borrow_mut(|frames| {
        let Some(frame) = frames.last_mut() else { return Ok(()) };
        let is_kept = frame.changed.iter().any(|(kept, _)| kept.handle.id == array.handle.id);
        if array.age < frame.start && !is_kept {
            frame.changed.push((array.copy_handle()?, array.copy()?));
        }
        Ok(())
    })
}

/// Begins the trace of a function in this thread.
#[pyfunction]
fn begin_trace() {
    FRAMES.with_borrow_mut(|frames| frames.push(Frame { start: made(), changed: Vec::new() }));
}

/// Ends the innermost trace: arrays from outside get their values back. Returns the arrays that had been changed.
#[pyfunction]
fn end_trace() -> PyResult<Vec<Array>> {
    let frame = FRAMES.with_borrow_mut(Vec::pop);
    let changed = frame.map_or_else(Vec::new, |frame| frame.changed);
    for (array, value) in &changed {
        array.restore(value)?;
    }
    Ok(changed.into_iter().map(|(array, _)| array).collect())
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    add!(module, begin_trace, end_trace);
    Ok(())
}
