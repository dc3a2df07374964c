//! Memory that the caller lends beyond the end of a call.

use super::pointers::Bytes;
use super::types::lxla_release_fn;
use base::call;
use base::error::Result;
use base::types::SharedBytes;
use engine::exceptions::catching_to_log;
use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Waits until nothing else holds memory that stays the caller's because a call failed: a plugin may still copy it.
/// There is no limit: the caller may free the memory once the call has returned.
pub fn wait_until_unused<T>(memory: &Arc<T>) {
    while Arc::strong_count(memory) > 1 {
        std::thread::sleep(Duration::from_micros(100));
    }
}

/// Memory of the caller, which the library uses in place once the call has succeeded (`is_taken`).
pub struct Borrowed {
    bytes: *const [u8],
    release: lxla_release_fn,
    user: *mut c_void,
    is_taken: AtomicBool,
}

impl Borrowed {
    /// Returns `size` bytes at `data`. The caller of a function that lends memory promises that it does not change,
    /// also after the call, until `release` is called; if the call fails, until nothing uses it (see
    /// [`wait_until_unused`]).
    pub fn new(data: Bytes, size: usize, release: lxla_release_fn, user: *mut c_void) -> Result<Arc<Borrowed>> {
        let bytes: *const [u8] = data.get("data", size)?;
        Ok(Arc::new(Borrowed { bytes, release, user, is_taken: AtomicBool::new(false) }))
    }

    /// From now on, `release` is called when this is dropped.
    pub fn take(&self) {
        self.is_taken.store(true, Ordering::Relaxed);
    }
}

// SAFETY: the memory is only read, and the caller promises that `release` may be called on any thread.
unsafe impl Send for Borrowed {}
// SAFETY: as above.
unsafe impl Sync for Borrowed {}

// SAFETY: the caller promises that the memory does not change until `release` is called, when this is dropped.
unsafe impl SharedBytes for Borrowed {
    fn bytes(&self) -> &[u8] {
        // SAFETY: as above.
        unsafe { &*self.bytes }
    }
}

impl Drop for Borrowed {
    fn drop(&mut self) {
        if self.is_taken.load(Ordering::Relaxed)
            && let Some(release) = self.release
        {
            // Deferred: this thread may hold a lock, and the function may call the library.
            let user = self.user;
            // SAFETY: the caller passed `user` with the function, which may be called on any thread.
            let call = move || unsafe { release(user) };
            call::run_later(move || catching_to_log("release of borrowed memory", call));
        }
    }
}
