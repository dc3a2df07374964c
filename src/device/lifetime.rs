//! Reference counts of tensors.

use super::{TensorHandle, device_of};
use base::error::{Error, Result};

/// Owned handles of tensors: dropping the list releases them.
#[derive(Default)]
pub struct Handles(pub Vec<TensorHandle>);

impl Handles {
    /// Adds a reference to each tensor.
    pub fn retained(handles: &[TensorHandle]) -> Result<Handles> {
        let mut retained = Handles(Vec::with_capacity(handles.len()));
        for &handle in handles {
            retain(handle)?;
            retained.0.push(handle);
        }
        Ok(retained)
    }

    /// Returns the handles; the caller releases them.
    pub fn take(mut self) -> Vec<TensorHandle> {
        std::mem::take(&mut self.0)
    }
}

impl Drop for Handles {
    fn drop(&mut self) {
        for &handle in &self.0 {
            let _ = release(handle);
        }
    }
}

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
    let abandoned = if garbage.is_placeholder() { Some(state.abandon_effects()) } else { None };
    if state.is_unused() {
        let unused = state.abandon_if_unused();
        drop(state);
        drop(unused);
    } else {
        drop(state);
    }
    if garbage.is_empty() {
        // Spares the call of the drop, which is most of what a release has left to do.
        std::mem::forget(garbage);
    } else {
        drop(garbage);
    }
    if let Some(abandoned) = abandoned {
        drop(abandoned);
    }
    Ok(())
}

/// Removes a reference of each of these tensors. Takes the lock once for consecutive tensors of one device. Releases
/// all that can be released, and returns the first error.
pub fn release_many(tensors: impl Iterator<Item = TensorHandle>) -> Result<()> {
    let mut outcome = Ok(());
    let mut fail = |i: usize, error: Error| {
        if outcome.is_ok() {
            outcome = Err(error.context(format_args!("tensors[{i}]")));
        }
    };
    let mut tensors = tensors.enumerate().filter(|(_, handle)| handle.0 != 0).peekable();
    while let Some(&(i, first)) = tensors.peek() {
        let device = match device_of("tensor", first) {
            Ok(device) => device,
            Err(error) => {
                fail(i, error);
                tensors.next();
                continue;
            }
        };
        let mut state = device.state();
        let mut garbage = Vec::new();
        while let Some((i, handle)) = tensors.next_if(|(_, handle)| handle.table() == first.table()) {
            match state.check("tensor", handle) {
                Ok(slot) => {
                    let released = state.release(slot);
                    if !released.is_empty() {
                        if released.is_placeholder() {
                            garbage.extend(state.abandon_effects());
                        }
                        garbage.push(released);
                    }
                }
                Err(error) => fail(i, error),
            }
        }
        let unused = state.is_unused().then(|| state.abandon_if_unused());
        drop(state);
        drop((garbage, unused));
    }
    outcome
}
