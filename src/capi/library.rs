//! Chapter Library: version, errors, the log.

use super::abi::guard::{guard, last_message};
use super::types::*;
use crate::error::Code;
use crate::types::DType;
use std::ffi::{CString, c_char};

/// Version of the ABI: functions and constants are only ever added within one. A program may compare it with
/// `LXLA_ABI_VERSION` of the header that it was compiled with.
pub const LXLA_ABI_VERSION: u32 = 1;

/// The ABI version of the library that is loaded. Never fails; any thread.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_abi_version() -> u32 {
    LXLA_ABI_VERSION
}

/// The version of the library that is loaded, as "0.1.0". Static memory. Never fails; any thread.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// The name of a status, as "INVALID_ARGUMENT"; "UNKNOWN_STATUS" for a number that is none. Static memory. Any thread.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_status_name(status: lxla_status) -> *const c_char {
    match Code::from_number(status) {
        _ if status == 0 => c"OK".as_ptr(),
        Some(code) => code.name().as_ptr(),
        None => c"UNKNOWN_STATUS".as_ptr(),
    }
}

/// The name of an element type, as "bf16"; "unknown" for a number that is none. Static memory. Any thread.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_dtype_name(dtype: i32) -> *const c_char {
    DType::from_number(dtype).map_or(c"unknown", DType::c_name).as_ptr()
}

/// What went wrong in this thread's last failing call: function, argument, what was given, what was wanted. "" if none
/// failed. The library's memory; valid until this thread's next failing call (success and releases never touch it).
#[unsafe(no_mangle)]
pub extern "C" fn lxla_last_error_message() -> *const c_char {
    last_message()
}

/// Frees a string that the library gave through a `char **out_text`. NULL is fine. Any thread; once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_string_free(text: *mut c_char) {
    if !text.is_null() {
        // SAFETY: the caller got it from `owned_text` and gives it back once.
        drop(unsafe { CString::from_raw(text) });
    }
}

/// Sends the library's log to `fn_`, with `user` handed through; NULL turns it off, which is the default. The function may
/// be called from any thread at any time until another one is set, and must not call the library but for this function.
/// Returns when no other thread is in the function set before: then `user` may be freed, and its code unloaded. So the caller
/// must hold nothing that the function set before waits for. Called from within that function, it does not wait. Any
/// thread.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_set_log_callback(fn_: lxla_log_fn, user: *mut std::ffi::c_void) -> lxla_status {
    guard("lxla_set_log_callback", || {
        crate::log::set_sink(fn_.map(|function| {
            let user = User(user);
            Box::new(move |level: crate::log::Level, message: &std::ffi::CStr| {
                let user = &user;
                // SAFETY: the caller promised a function that takes these from any thread.
                unsafe { function(level as i32, message.as_ptr(), user.0) }
            }) as crate::log::Sink
        }));
        Ok(())
    })
}

/// A caller's pointer, which only the caller's function looks at.
struct User(*mut std::ffi::c_void);
// SAFETY: the pointer is only handed back to the caller's function, which may be called from any thread.
unsafe impl Send for User {}
// SAFETY: as above.
unsafe impl Sync for User {}
