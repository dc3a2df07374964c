//! Reference counts of tensors.

use super::{TensorHandle, device_of};
use crate::error::Result;

/// Adds a reference.
pub fn retain(tensor: TensorHandle) -> Result<()> {
    let mut state = device_of("tensor", tensor)?.state();
    let slot = state.check("tensor", tensor)?;
    state.retain(slot)
}

/// Removes a reference; the last one destroys the tensor. A handle of 0 is ignored.
#[inline]
pub fn release(tensor: TensorHandle) -> Result<()> {
    if tensor.0 == 0 {
        return Ok(());
    }
    let mut state = device_of("tensor", tensor)?.state();
    let slot = state.check("tensor", tensor)?;
    let garbage = state.release(slot);
    if state.is_unused() {
        let unused = state.abandon_if_unused();
        drop(state);
        drop(unused);
    } else {
        drop(state);
    }
    if !garbage.is_empty() {
        drop(garbage);
    }
    Ok(())
}
