//! The caller's callback that frees memory when an allocation on a device fails. Languages with a garbage collector run
//! it there: their handles of tensors are garbage long before anything releases them.

use base::error::{Code, Error};
use engine::kernels::is_of_kernel;
use parking_lot::Mutex;
use std::cell::Cell;
use std::sync::Arc;

/// Function that is asked for memory: gets the number of bytes that are needed, and returns whether to try again.
pub type AskForMemory = Box<dyn Fn(u64) -> bool + Send + Sync>;

/// The callback of an environment, if it has one.
#[derive(Default)]
pub struct MemoryCallback(Mutex<Option<Arc<AskForMemory>>>);

impl MemoryCallback {
    /// Replaces the callback.
    pub fn set(&self, ask: Option<AskForMemory>) {
        let before = std::mem::replace(&mut *self.0.lock(), ask.map(Arc::new));
        drop(before);
    }

    /// If work failed with this error because a device lacks memory, asks the callback for `bytes`. Returns whether to
    /// try the work once more. Called without the locks of tensors, since the callback releases some.
    pub fn has_freed(&self, error: &Error, bytes: u64) -> bool {
        if error.code != Code::ResourceExhausted || is_of_kernel(error) || is_asking() {
            return false;
        }
        let Some(ask) = self.0.lock().clone() else { return false };
        let _asking = Asking::begin();
        ask(bytes)
    }
}

thread_local! {
    /// Whether this thread is in a callback.
    static IS_ASKING: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is in the callback of an environment: it may release values, and compute nothing, since a sync of
/// the thread is in progress.
pub fn is_asking() -> bool {
    IS_ASKING.get()
}

/// Says that this thread is in a callback, until it is dropped.
struct Asking;

impl Asking {
    fn begin() -> Asking {
        IS_ASKING.set(true);
        Asking
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        IS_ASKING.set(false);
    }
}
