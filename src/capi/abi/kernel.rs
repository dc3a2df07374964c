//! Calls the callers' kernels: C functions, out of which exceptions may come.

use super::types::{lxla_buffer_view, lxla_kernel_call, lxla_kernel_fn, lxla_release_fn};
use base::call;
use base::error;
use base::error::{Code, Result};
use engine::exceptions::{catching, catching_to_log};
use engine::host_calls::HostCall;
use engine::kernels::KernelFunction;
use std::ffi::{CStr, CString, c_char, c_void};
use std::sync::atomic::{AtomicBool, Ordering};

/// Room for a kernel's message, with its NUL.
const ERROR_BYTES: usize = 1024;

/// Function of a kernel.
type Function = unsafe extern "C-unwind" fn(*const lxla_kernel_call, *mut c_void) -> i32;

/// Function, pointer and destructor of a caller. Once it is taken, `destroy` is called when it is dropped.
pub struct CallersKernel {
    function: Function,
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
            let User(user) = user;
            // SAFETY: the caller's promise, see `lxla_kernel_options`; nothing calls the kernel any more.
            catching_to_log("options.destroy of a kernel", move || unsafe { destroy(user) });
        });
    }
}

/// Pointer of the caller.
struct User(*mut c_void);

impl CallersKernel {
    /// Converts a caller's function.
    pub fn new(function: lxla_kernel_fn, user: *mut c_void, destroy: lxla_release_fn) -> Result<Box<CallersKernel>> {
        let function = function.ok_or_else(|| error!(NullArgument, "fn: it is NULL"))?;
        Ok(Box::new(CallersKernel { function, user, destroy, is_taken: AtomicBool::new(false) }))
    }

    /// Bytes that identify the function: its address and that of `user`.
    pub fn key(&self) -> Vec<u8> {
        [self.function as usize, self.user as usize].iter().flat_map(|address| address.to_le_bytes()).collect()
    }
}

impl KernelFunction for CallersKernel {
    /// From now on, `destroy` is called when this is dropped.
    fn take(&self) {
        self.is_taken.store(true, Ordering::Relaxed);
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
        let (described, user, function) = (&raw const described, self.user, self.function);
        // SAFETY: the caller's promise, see `lxla_kernel_fn`: the views are valid during the call.
        let status = catching(move || unsafe { function(described, user) });
        let status = status.map_err(|thrown| error!(Internal, "it {thrown}"))?;
        message[ERROR_BYTES - 1] = 0;
        let text = CStr::from_bytes_until_nul(&message).map(CStr::to_string_lossy).unwrap_or_default();
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
