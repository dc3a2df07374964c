//! One making of a thing that several threads may want at once: the first makes it, the others wait for it.

use crate::error;
use crate::error::{Error, Result};
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;

/// A thing that is being made, was made, or could not be made.
pub struct Flight<T> {
    state: Mutex<State<T>>,
    landed: Condvar,
}

enum State<T> {
    Making,
    Made(Arc<T>),
    Failed(Error),
}

impl<T> Flight<T> {
    /// A thing that the caller is about to make.
    pub fn new() -> Arc<Flight<T>> {
        Arc::new(Flight { state: Mutex::new(State::Making), landed: Condvar::new() })
    }

    /// Makes it, for everybody. No lock is held meanwhile. A maker that panics counts as failed, so that nobody waits
    /// for ever.
    pub fn make(&self, make: impl FnOnce() -> Result<T>) -> Result<Arc<T>> {
        let mut landing =
            Landing { flight: self, outcome: Err(error!(Panic, "the thread that was compiling panicked")) };
        landing.outcome = make().map(Arc::new);
        landing.outcome.clone()
    }

    /// Waits until it was made.
    pub fn wait(&self) -> Result<Arc<T>> {
        let mut state = self.state.lock();
        loop {
            match &*state {
                State::Making => self.landed.wait(&mut state),
                State::Made(made) => return Ok(made.clone()),
                State::Failed(error) => return Err(error.clone()),
            }
        }
    }
}

/// Publishes the outcome however `make` ends.
struct Landing<'a, T> {
    flight: &'a Flight<T>,
    outcome: Result<Arc<T>>,
}

impl<T> Drop for Landing<'_, T> {
    fn drop(&mut self) {
        *self.flight.state.lock() = match &self.outcome {
            Ok(made) => State::Made(made.clone()),
            Err(error) => State::Failed(error.clone()),
        };
        self.flight.landed.notify_all();
    }
}
