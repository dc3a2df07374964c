//! Calls on x86-64: a frame whose personality catches everything.

use super::Thrown;
use super::caught::{Exception, free};
use super::text::text_of;
use base::call;
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;

/// A call, and where its result goes.
struct Slot<C, R> {
    call: C,
    result: MaybeUninit<R>,
}

/// Runs the call of a [`Slot`]. It has no destructors, so that exceptions may pass it.
///
/// # Safety
/// `slot` points to a slot of these types, which nothing else uses during the call.
unsafe extern "C-unwind" fn run<C: FnOnce() -> R + Copy, R: Copy>(slot: *mut c_void) {
    let slot = slot.cast::<Slot<C, R>>();
    // SAFETY: guaranteed by the caller.
    unsafe {
        let result = ((*slot).call)();
        (*slot).result.write(result);
    }
}

/// Calls a foreign function, and catches what it throws.
pub(super) fn catching<C: FnOnce() -> R + Copy, R: Copy>(call: C) -> Result<R, Thrown> {
    let mut slot = Slot { call, result: MaybeUninit::uninit() };
    // SAFETY: the slot has these types, and is alive during the call.
    let caught = unsafe { lxla_call_catching((&raw mut slot).cast(), run::<C, R>) };
    if caught == 0 {
        // SAFETY: the call returned, so that its result was written.
        return Ok(unsafe { slot.result.assume_init() });
    }
    let exception = (caught & !FORCED) as *mut Exception;
    if caught & FORCED != 0 {
        end_later(exception);
        return Err(Thrown::EndOfThread);
    }
    // SAFETY: it was caught on this thread, and is not used after it is freed.
    unsafe {
        let text = text_of(exception);
        free(exception);
        Err(Thrown::Exception(text))
    }
}

/// Lets the thread end when its outermost call of the library does. A thread that is in none is a plugin's or the
/// library's, which others wait for: it goes on. The system keeps the object by which a thread ends in the thread, so
/// that nothing is to be freed.
fn end_later(exception: *mut Exception) {
    call::run_last(move || {
        // SAFETY: the unwinding that stopped at the call goes on from here. It passes `call`, the guard and the function
        // of the ABI, which hold nothing any more, to the caller's code.
        unsafe { _Unwind_Resume(exception) }
    });
}

/// Bit of the result of a call that says that the stack is unwound without a search for a handler. Exceptions are at
/// multiples of 16.
const FORCED: usize = 1;

unsafe extern "C-unwind" {
    /// Calls `run` with the slot. Returns 0, or the address of what came out of it, with [`FORCED`] if that applies.
    fn lxla_call_catching(slot: *mut c_void, run: unsafe extern "C-unwind" fn(*mut c_void)) -> usize;
    fn _Unwind_Resume(exception: *mut Exception) -> !;
}

unsafe extern "C" {
    /// Where a call continues after an exception.
    static lxla_catching_landing: u8;
    fn _Unwind_SetGR(context: *mut c_void, register: c_int, value: usize);
    fn _Unwind_SetIP(context: *mut c_void, address: usize);
}

/// The personality of `lxla_call_catching`: it catches every exception, and the end of a thread.
unsafe extern "C" fn personality(
    _version: c_int,
    actions: c_int,
    _class: u64,
    exception: *mut Exception,
    context: *mut c_void,
) -> c_int {
    const SEARCH: c_int = 1;
    const HANDLER: c_int = 4;
    const FORCE: c_int = 8;
    const HANDLER_FOUND: c_int = 6;
    const INSTALL: c_int = 7;
    const CONTINUE: c_int = 8;
    // DWARF's number of rax, which has the result of a function.
    const RAX: c_int = 0;
    if actions & SEARCH != 0 {
        return HANDLER_FOUND;
    }
    if actions & (HANDLER | FORCE) == 0 {
        return CONTINUE;
    }
    let forced = if actions & FORCE != 0 { FORCED } else { 0 };
    // SAFETY: the unwinder passes its context; the landing is in the function whose frame it is.
    unsafe {
        _Unwind_SetGR(context, RAX, exception as usize | forced);
        _Unwind_SetIP(context, &raw const lxla_catching_landing as usize);
    }
    INSTALL
}

std::arch::global_asm!(
    ".text",
    ".hidden lxla_call_catching",
    ".globl lxla_call_catching",
    ".type lxla_call_catching, @function",
    "lxla_call_catching:",
    ".cfi_startproc",
    ".cfi_personality 0x9b, lxla_catching_personality_at",
    "push rbp",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset rbp, -16",
    "mov rbp, rsp",
    ".cfi_def_cfa_register rbp",
    "call rsi",
    "xor eax, eax",
    ".hidden lxla_catching_landing",
    ".globl lxla_catching_landing",
    "lxla_catching_landing:",
    "mov rsp, rbp",
    "pop rbp",
    ".cfi_def_cfa rsp, 8",
    "ret",
    ".cfi_endproc",
    ".size lxla_call_catching, . - lxla_call_catching",
    ".section .data.rel.ro.lxla_catching_personality_at, \"aw\", @progbits",
    ".p2align 3",
    ".hidden lxla_catching_personality_at",
    ".globl lxla_catching_personality_at",
    "lxla_catching_personality_at:",
    ".quad {personality}",
    ".text",
    personality = sym personality,
);
