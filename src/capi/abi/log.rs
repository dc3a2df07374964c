//! The caller's log callback.

use super::types::lxla_log_fn;
use base::log::{Level, Sink};
use engine::exceptions::catching;
use std::ffi::{CStr, c_void};

/// Returns a sink that passes messages to the caller's function, with its pointer `user`; None for NULL.
pub fn sink(function: lxla_log_fn, user: *mut c_void) -> Option<Sink> {
    let (function, user) = (function?, User(user));
    Some(Box::new(move |level: Level, message: &CStr| {
        let User(user) = &user;
        let (message, user) = (message.as_ptr(), *user);
        // SAFETY: the caller guarantees a function that may be called from any thread.
        let thrown = catching(move || unsafe { function(level as i32, message, user) });
        // There is nobody else to tell.
        let _ = thrown;
    }))
}

/// Pointer of the caller, passed to its callback only.
struct User(*mut std::ffi::c_void);
// SAFETY: the pointer is only passed to the caller's callback, which may be called from any thread.
unsafe impl Send for User {}
// SAFETY: as above.
unsafe impl Sync for User {}
