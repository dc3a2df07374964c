//! Callbacks of the caller that the library asks or tells.

use super::types::{lxla_memory_fn, lxla_ready_fn};
use base::error;
use base::error::Result;
use base::log::{Level, log};
use engine::Tell;
use engine::exceptions::{catching, catching_to_log};
use std::ffi::{CString, c_void};

/// Pointer of the caller, passed to its callback only.
#[derive(Clone, Copy)]
struct User(*mut c_void);

// SAFETY: the pointer is only passed to the caller's callback, which may be called from any thread.
unsafe impl Send for User {}
// SAFETY: as above.
unsafe impl Sync for User {}

impl User {
    /// Returns the pointer. A closure that calls it captures the whole, which may change threads.
    fn get(self) -> *mut c_void {
        self.0
    }
}

/// Returns what passes the outcome of a computation to the caller's function, with its pointer `user`.
pub fn teller(function: lxla_ready_fn, user: *mut c_void) -> Result<Tell> {
    let function = function.ok_or_else(|| error!(NullArgument, "fn: it is NULL"))?;
    let user = User(user);
    Ok(Box::new(move |outcome| {
        let user = user.get();
        let (status, message) = match outcome {
            Ok(()) => (0, String::new()),
            Err(error) => (error.code as i32, error.message.replace('\0', " ")),
        };
        let message = CString::new(message).expect("the zeros are replaced");
        let message = message.as_ptr();
        // SAFETY: the caller guarantees a function that may be called from any thread; the text outlives the call.
        catching_to_log("fn of lxla_tensor_on_ready", move || unsafe { function(status, message, user) });
    }))
}

/// Returns what asks the caller's function for memory, with its pointer `user`; None for NULL.
pub fn asker(function: lxla_memory_fn, user: *mut c_void) -> Option<crate::device::AskForMemory> {
    let (function, user) = (function?, User(user));
    Some(Box::new(move |bytes| {
        let user = user.get();
        // SAFETY: the caller guarantees a function that may be called from any thread.
        let answer = catching(move || unsafe { function(bytes, user) });
        let answer = answer.inspect_err(|thrown| {
            log(Level::Error, || format!("fn of lxla_env_set_memory_callback {thrown}"));
        });
        answer.is_ok_and(|answer| answer != 0)
    }))
}
