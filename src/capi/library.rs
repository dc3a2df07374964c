//! Chapter Library: version, errors, the log.

use super::abi::guard::{guard, last_message, set_message};
use super::abi::log::sink;
use super::abi::pointers::{OwnedText, Text};
use super::abi::types::{lxla_log_fn, lxla_status};
use base::error;
use base::error::Code;
use base::types::DType;
use std::ffi::c_char;

/// Version of the ABI. Within one version, functions and constants are only added. Compare it with
/// `lxla_abi_version()` to check that header and library match.
pub const LXLA_ABI_VERSION: u32 = 1;

/// Returns the ABI version of the loaded library. Never fails.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_abi_version() -> u32 {
    LXLA_ABI_VERSION
}

/// Returns the version of the loaded library, such as "0.1.0", in static memory. Never fails.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// Returns the name of a status code, such as "INVALID_ARGUMENT", in static memory; "UNKNOWN_STATUS" for any other
/// number.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_status_name(status: lxla_status) -> *const c_char {
    match Code::from_number(status) {
        _ if status == 0 => c"OK".as_ptr(),
        Some(code) => code.name().as_ptr(),
        None => c"UNKNOWN_STATUS".as_ptr(),
    }
}

/// Returns the name of a dtype, such as "bf16", in static memory; "unknown" for any other number.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_dtype_name(dtype: i32) -> *const c_char {
    DType::from_number(dtype).map_or(c"unknown", DType::c_name).as_ptr()
}

/// Returns the message of the calling thread's last failed call: the function, the argument, the value given and the
/// value expected; "" if no call failed. The memory belongs to the library, and is valid until the thread's next
/// failed call. Successful calls do not change it.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_last_error_message() -> *const c_char {
    last_message()
}

/// Makes `message` the message of the calling thread's last failed call, and returns `status`: for functions of other
/// libraries that build on this one, whose callers then read all messages in one place. By convention, `message` begins
/// with the name of the function, a colon and the argument. `status` is a status code other than LXLA_OK; else
/// INVALID_ARGUMENT. `message` is copied.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_set_last_error(status: lxla_status, message: Text) -> lxla_status {
    let given = guard("lxla_set_last_error", || {
        let text = message.get("message")?.to_string();
        if Code::from_number(status).is_none() {
            return Err(error!(InvalidArgument, "status: {status} given; want a status code other than LXLA_OK"));
        }
        set_message(text);
        Ok(())
    });
    if given == 0 { status } else { given }
}

/// Frees a string returned through a `char **out_text`. NULL is ignored. Each string must be freed once.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_string_free(text: OwnedText) {
    text.free();
}

/// Sets the log callback, to which `user` is passed; NULL (the default) disables logging. The callback may be called
/// from any thread at any time until it is replaced. It must not call the library, except for this function.
///
/// Blocks until no other thread is in the previous callback, so that on return its `user` may be freed and its code
/// unloaded. The caller must not hold a lock that the previous callback acquires. Does not block if called from
/// within a callback.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_set_log_callback(fn_: lxla_log_fn, user: *mut std::ffi::c_void) -> lxla_status {
    guard("lxla_set_log_callback", || {
        base::log::set_sink(sink(fn_, user));
        Ok(())
    })
}
