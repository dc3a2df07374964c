//! Single-flight: concurrent requests for a value share one computation. The first request makes the value, the others
//! wait for it.

use base::error;
use base::error::{Error, Result};
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;

/// A value shared by concurrent requests: being computed, computed, or failed.
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
    /// Creates a flight whose value the caller computes by [`Flight::make`].
    pub fn new() -> Arc<Flight<T>> {
        Arc::new(Flight { state: Mutex::new(State::Making), landed: Condvar::new() })
    }

    /// Computes the value and publishes it to all waiters. No lock is held while `make` runs. If `make` panics, waiters
    /// get an error instead of waiting forever.
    pub fn make(&self, make: impl FnOnce() -> Result<T>) -> Result<Arc<T>> {
        let mut landing =
            Landing { flight: self, outcome: Err(error!(Panic, "the thread that was compiling panicked")) };
        landing.outcome = make().map(Arc::new);
        landing.outcome.clone()
    }

    /// The value, if it is computed.
    pub fn made(&self) -> Option<Arc<T>> {
        match &*self.state.lock() {
            State::Made(made) => Some(made.clone()),
            State::Making | State::Failed(_) => None,
        }
    }

    /// Waits until the value is computed, or its computation has failed.
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

/// Publishes the outcome on drop, also if `make` panics.
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
