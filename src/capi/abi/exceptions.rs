//! Calls of kernels, which may throw exceptions of C++ or another language. Rust's own `catch_unwind` ends the process
//! at a foreign exception, so that a function with a personality of its own catches them on x86-64. On other
//! processors, an exception that leaves a kernel ends the process.

use super::types::lxla_kernel_call;
use std::ffi::c_void;

/// Function of a kernel.
pub(super) type Function = unsafe extern "C" fn(*const lxla_kernel_call, *mut c_void) -> i32;

#[cfg(target_arch = "x86_64")]
mod caught;
#[cfg(target_arch = "x86_64")]
mod x86_64;

/// Calls a kernel. Returns its status, or None if it threw an exception, which is freed.
///
/// # Safety
/// The call is described by pointers that are valid during the call; the function is the kernel's.
pub(super) unsafe fn call_catching(
    call: *const lxla_kernel_call,
    user: *mut c_void,
    function: Function,
) -> Option<i32> {
    // SAFETY: guaranteed by the caller.
    #[cfg(target_arch = "x86_64")]
    return unsafe { x86_64::call_catching(call, user, function) };
    // SAFETY: as above.
    #[cfg(not(target_arch = "x86_64"))]
    return Some(unsafe { function(call, user) });
}
