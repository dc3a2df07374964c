//! Calls the callers' kernels: C functions, out of which exceptions may come.

use super::types::{lxla_buffer_view, lxla_kernel_call, lxla_kernel_fn, lxla_release_fn};
use crate::call;
use crate::engine::host_calls::HostCall;
use crate::engine::kernels::KernelFunction;
use crate::error;
use crate::error::{Code, Result};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Room for a kernel's message, with its NUL.
const ERROR_BYTES: usize = 1024;

/// Function, pointer and destructor of a caller. Once it is taken, `destroy` is called when it is dropped.
pub struct CallersKernel {
    function: unsafe extern "C" fn(*const lxla_kernel_call, *mut c_void) -> i32,
    user: *mut c_void,
    destroy: lxla_release_fn,
    is_taken: AtomicBool,
}

// SAFETY: `user` is only passed to the caller's functions, which may be called from any thread.
unsafe impl Send for CallersKernel {}
// SAFETY: as above.
unsafe impl Sync for CallersKernel {}

impl Drop for CallersKernel {
    fn drop(&mut self) {
        let (Some(destroy), true, user) = (self.destroy, self.is_taken.load(Ordering::Relaxed), User(self.user)) else {
            return;
        };
        // It may call the library, so no lock may be held.
        call::run_later(move || {
            let user = user;
            // SAFETY: the caller's promise, see `lxla_kernel_options`; nothing calls the kernel any more.
            unsafe { destroy(user.0) };
        });
    }
}

/// Pointer of the caller.
struct User(*mut c_void);

impl CallersKernel {
    /// Converts a caller's function.
    pub fn new(function: lxla_kernel_fn, user: *mut c_void, destroy: lxla_release_fn) -> Result<Arc<CallersKernel>> {
        let function = function.ok_or_else(|| error!(NullArgument, "fn: it is NULL"))?;
        Ok(Arc::new(CallersKernel { function, user, destroy, is_taken: AtomicBool::new(false) }))
    }

    /// From now on, `destroy` is called when this is dropped.
    pub fn take(&self) {
        self.is_taken.store(true, Ordering::Relaxed);
    }

    /// What tells it from other functions: the addresses.
    pub fn key(&self) -> Vec<u8> {
        [self.function as usize, self.user as usize].iter().flat_map(|address| address.to_le_bytes()).collect()
    }

    /// The function of a kernel.
    pub fn function(self: &Arc<CallersKernel>) -> KernelFunction {
        let kernel = self.clone();
        Box::new(move |target, call| kernel.call(target, call))
    }

    fn call(&self, target: &str, call: &mut HostCall) -> Result<()> {
        let named = |text: &str| CString::new(text.replace('\0', " ")).expect("the zeros are replaced");
        let (target, json) = (named(target), named(call.text));
        let inputs: Vec<lxla_buffer_view> = call
            .inputs
            .iter()
            .map(|input| view(input.dtype as i32, input.dims, input.bytes.as_ptr().cast_mut(), input.bytes.len()))
            .collect();
        let outputs: Vec<lxla_buffer_view> = call
            .outputs
            .iter_mut()
            .map(|output| view(output.dtype as i32, output.dims, output.bytes.as_mut_ptr(), output.bytes.len()))
            .collect();
        let mut message = [0u8; ERROR_BYTES];
        let described = lxla_kernel_call {
            struct_size: size_of::<lxla_kernel_call>(),
            target: target.as_ptr(),
            n_inputs: inputs.len(),
            inputs: inputs.as_ptr(),
            n_outputs: outputs.len(),
            outputs: outputs.as_ptr(),
            attributes_json: json.as_ptr(),
            error: message.as_mut_ptr().cast::<c_char>(),
            error_size: ERROR_BYTES,
        };
        let _inside = call::enter_kernel();
        // SAFETY: the caller's promise, see `lxla_kernel_fn`: the views are valid during the call.
        let Outcome { status, exception } = unsafe { lxla_call_kernel(&raw const described, self.user, self.function) };
        if !exception.is_null() {
            // SAFETY: it was caught, and is not used again.
            unsafe { delete(exception) };
            return Err(error!(Internal, "it threw an exception"));
        }
        message[ERROR_BYTES - 1] = 0;
        let text = CStr::from_bytes_until_nul(&message).map(CStr::to_string_lossy).unwrap_or_default();
        let status = status as i32;
        if status == 0 && text.is_empty() {
            return Ok(());
        }
        let code = Code::from_number(status).filter(|&code| code as i32 <= 16).unwrap_or(Code::Internal);
        let text = if text.is_empty() { format!("it returned status {status}") } else { text.into_owned() };
        Err(error::Error::new(code, text))
    }
}

fn view(dtype: i32, dims: &[i64], data: *mut u8, size_bytes: usize) -> lxla_buffer_view {
    lxla_buffer_view { data: data.cast(), dtype, rank: dims.len() as i32, dims: dims.as_ptr(), size_bytes }
}

/// Result of a call: the kernel's status, or the exception that came out of it.
#[repr(C)]
struct Outcome {
    status: u64,
    exception: *mut Exception,
}

/// Start of an exception, as the Itanium C++ ABI defines it.
#[repr(C)]
struct Exception {
    class: u64,
    cleanup: Option<unsafe extern "C" fn(c_int, *mut Exception)>,
}

/// Class of Rust's panics. Only the copy of the runtime that raised one can free it.
const RUST: u64 = u64::from_be_bytes(*b"MOZ\0RUST");
/// `_URC_FOREIGN_EXCEPTION_CAUGHT`.
const CAUGHT: c_int = 1;

/// Frees an exception that was caught.
///
/// # Safety
/// It was caught, and is not used again.
unsafe fn delete(exception: *mut Exception) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        if let (false, Some(cleanup)) = ((*exception).class == RUST, (*exception).cleanup) {
            cleanup(CAUGHT, exception);
        }
    }
}

unsafe extern "C" {
    /// Calls a kernel, and catches what it throws. Rust's own `catch_unwind` ends the process at an exception of
    /// another language.
    fn lxla_call_kernel(
        call: *const lxla_kernel_call,
        user: *mut c_void,
        function: unsafe extern "C" fn(*const lxla_kernel_call, *mut c_void) -> i32,
    ) -> Outcome;
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
