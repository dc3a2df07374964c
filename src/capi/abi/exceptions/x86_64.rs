//! Calls of kernels on x86-64: a frame whose personality catches every exception.

use super::Function;
use super::caught::{Exception, free};
use crate::capi::abi::types::lxla_kernel_call;
use std::ffi::{c_int, c_void};

/// Result of a call: the kernel's status, or the exception that came out of it.
#[repr(C)]
struct Outcome {
    status: u64,
    exception: *mut Exception,
}

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
    let Outcome { status, exception } = unsafe { lxla_call_kernel(call, user, function) };
    if exception.is_null() {
        return Some(status as i32);
    }
    // SAFETY: it was caught, and is not used again.
    unsafe { free(exception) };
    None
}

unsafe extern "C" {
    /// Calls a kernel, and catches what it throws.
    fn lxla_call_kernel(call: *const lxla_kernel_call, user: *mut c_void, function: Function) -> Outcome;
    /// Where a call continues after an exception.
    static lxla_kernel_landing: u8;
    fn _Unwind_SetGR(context: *mut c_void, register: c_int, value: usize);
    fn _Unwind_SetIP(context: *mut c_void, address: usize);
}

/// The personality of `lxla_call_kernel`: it catches every exception, but lets a thread that is ending pass.
unsafe extern "C" fn personality(
    _version: c_int,
    actions: c_int,
    _class: u64,
    exception: *mut Exception,
    context: *mut c_void,
) -> c_int {
    const SEARCH: c_int = 1;
    const HANDLER: c_int = 4;
    const HANDLER_FOUND: c_int = 6;
    const INSTALL: c_int = 7;
    const CONTINUE: c_int = 8;
    // DWARF's number of rdx, the second register of a returned struct.
    const RDX: c_int = 1;
    if actions & SEARCH != 0 {
        return HANDLER_FOUND;
    }
    if actions & HANDLER == 0 {
        return CONTINUE;
    }
    // SAFETY: the unwinder passes its context; the landing is in the function whose frame it is.
    unsafe {
        _Unwind_SetGR(context, RDX, exception as usize);
        _Unwind_SetIP(context, &raw const lxla_kernel_landing as usize);
    }
    INSTALL
}

std::arch::global_asm!(
    ".text",
    ".hidden lxla_call_kernel",
    ".globl lxla_call_kernel",
    ".type lxla_call_kernel, @function",
    "lxla_call_kernel:",
    ".cfi_startproc",
    ".cfi_personality 0x9b, lxla_kernel_personality_at",
    "push rbp",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset rbp, -16",
    "mov rbp, rsp",
    ".cfi_def_cfa_register rbp",
    "call rdx",
    "xor edx, edx",
    ".hidden lxla_kernel_landing",
    ".globl lxla_kernel_landing",
    "lxla_kernel_landing:",
    "mov rsp, rbp",
    "pop rbp",
    ".cfi_def_cfa rsp, 8",
    "ret",
    ".cfi_endproc",
    ".size lxla_call_kernel, . - lxla_call_kernel",
    ".section .data.rel.ro.lxla_kernel_personality_at, \"aw\", @progbits",
    ".p2align 3",
    ".hidden lxla_kernel_personality_at",
    ".globl lxla_kernel_personality_at",
    "lxla_kernel_personality_at:",
    ".quad {personality}",
    ".text",
    personality = sym personality,
);
