//! Calls of functions of this process by compiled programs, through the FFI extension of a plugin: one handler, which
//! is registered once with each plugin, converts the plugin's buffers and calls the function that the program names.
//!
//! Nothing may unwind into the plugin: a panic of the function becomes an error, which fails the run.

use super::api::{Api, threw};
use super::ffi_sys as ffi;
use super::sys;
use crate::exceptions::catching;
use crate::host_calls::{self, CALL_TARGET, HostCall, HostInput, HostOutput};
use base::error;
use base::error::{Code, Error, Result};
use base::types::DType;
use smallvec::SmallVec;
use std::ffi::{CString, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;

/// Platform of CPU plugins, as XLA names it.
const PLATFORM: &str = "Host";

/// Registers the handler with a plugin for CPUs. UNIMPLEMENTED if the plugin does not have the extension.
pub fn register(api: &'static Api) -> Result<()> {
    let register = find(api).ok_or_else(|| api.lacks("FFI extension"))?;
    let mut args = ffi::PJRT_FFI_Register_Handler_Args {
        struct_size: std::mem::offset_of!(ffi::PJRT_FFI_Register_Handler_Args, traits) + size_of::<u32>(),
        target_name: CALL_TARGET.as_ptr().cast(),
        target_name_size: CALL_TARGET.len(),
        handler: handle as *mut c_void,
        platform_name: PLATFORM.as_ptr().cast(),
        platform_name_size: PLATFORM.len(),
        traits: 0,
    };
    let args = &raw mut args;
    // SAFETY: the arguments are those of the extension's function, which copies the names.
    let registered = catching(move || unsafe { register(args) });
    // SAFETY: the plugin returned the error, which is not used elsewhere.
    unsafe { api.check(registered.map_err(|thrown| threw("FFI_Register_Handler", thrown))?) }
}

type Register = unsafe extern "C-unwind" fn(*mut ffi::PJRT_FFI_Register_Handler_Args) -> *mut sys::PJRT_Error;

/// Finds the function that registers a handler among the plugin's extensions.
fn find(api: &'static Api) -> Option<Register> {
    let found = api.extension(ffi::PJRT_EXTENSION_TYPE_FFI, size_of::<ffi::PJRT_FFI_Extension>())?;
    // SAFETY: the type and the size say that it is this struct.
    unsafe { (*found.cast::<ffi::PJRT_FFI_Extension>()).register_handler }
}

/// The handler. Returns null, or an error for the plugin.
unsafe extern "C" fn handle(frame: *mut ffi::XLA_FFI_CallFrame) -> *mut ffi::XLA_FFI_Error {
    // SAFETY: the plugin passes a frame that is valid during the call.
    let frame = unsafe { &*frame };
    // SAFETY: as above.
    if unsafe { answer(frame) } || frame.stage != ffi::XLA_FFI_EXECUTION_STAGE_EXECUTE {
        return null_mut();
    }
    // SAFETY: as above.
    let call = || unsafe { call(frame) };
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(())) => null_mut(),
        // SAFETY: as above.
        Ok(Err(error)) => unsafe { failed(frame, &error) },
        // SAFETY: as above.
        Err(_) => unsafe { failed(frame, &error!(Internal, "a function that the program called panicked")) },
    }
}

/// Answers a question for the version of the handler, if the frame is one: the plugin's own version, since the structs
/// of `ffi_sys` have the same layout in all versions with this major number. Other answers are not registered.
///
/// # Safety
/// The frame is the plugin's, and valid during the call.
unsafe fn answer(frame: &ffi::XLA_FFI_CallFrame) -> bool {
    // SAFETY: guaranteed by the caller; the type says which struct an extension is.
    unsafe {
        let Some(extension) = frame.extension_start.as_ref() else { return false };
        if extension.type_ != ffi::XLA_FFI_EXTENSION_METADATA {
            return false;
        }
        let metadata = &mut *(*frame.extension_start.cast::<ffi::XLA_FFI_Metadata_Extension>()).metadata;
        let minor = frame.api.as_ref().map_or(3, |api| api.api_version.minor_version);
        (metadata.api_version.major_version, metadata.api_version.minor_version) = (0, minor);
        metadata.traits = 0;
        true
    }
}

/// Attributes of a call.
#[derive(Default)]
struct Attributes<'a> {
    function: i64,
    words: &'a [i64],
    text: &'a str,
}

/// The default arithmetic of floats, while it is alive: threads of XLA treat denormal numbers as 0, with which native
/// kernels give other values than on `cpu`, or wrong ones (a reciprocal by way of a denormal number is 0).
struct DefaultArithmetic {
    #[cfg(target_arch = "x86_64")]
    before: u32,
}

impl DefaultArithmetic {
    #[cfg(target_arch = "x86_64")]
    fn enter() -> DefaultArithmetic {
        let (mut before, default) = (0u32, 0x1F80u32);
        // SAFETY: it stores and loads the control register of floats; the value masks all exceptions.
        unsafe { std::arch::asm!("stmxcsr [{0}]", "ldmxcsr [{1}]", in(reg) &mut before, in(reg) &default) };
        DefaultArithmetic { before }
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn enter() -> DefaultArithmetic {
        DefaultArithmetic {}
    }
}

impl Drop for DefaultArithmetic {
    fn drop(&mut self) {
        // SAFETY: it loads the value that the register had before.
        #[cfg(target_arch = "x86_64")]
        unsafe {
            std::arch::asm!("ldmxcsr [{0}]", in(reg) &self.before);
        }
    }
}

/// Calls the function that the program names.
///
/// # Safety
/// The frame is the plugin's, and valid during the call.
unsafe fn call(frame: &ffi::XLA_FFI_CallFrame) -> Result<()> {
    // SAFETY: guaranteed by the caller; the plugin runs no other code on the results during the call.
    unsafe {
        let Attributes { function, words, text } = attributes(&frame.attrs)?;
        let inputs = buffers(&frame.args)?.map(|buffer| {
            let (dtype, dims, size) = described(buffer)?;
            Ok(HostInput { dtype, dims, bytes: slice(buffer.data.cast(), size) })
        });
        let inputs: SmallVec<[HostInput; 8]> = inputs.collect::<Result<_>>()?;
        let outputs = buffers(&frame.rets)?.map(|buffer| {
            let (dtype, dims, size) = described(buffer)?;
            let bytes = match size {
                0 => &mut [],
                _ => std::slice::from_raw_parts_mut(buffer.data.cast(), size),
            };
            Ok(HostOutput { dtype, dims, bytes })
        });
        let mut outputs: SmallVec<[HostOutput; 8]> = outputs.collect::<Result<_>>()?;
        let _kept = DefaultArithmetic::enter();
        host_calls::call_host(function, &mut HostCall { words, text, inputs: &inputs, outputs: &mut outputs })
    }
}

/// # Safety
/// The attributes are those of a frame that is valid during the call.
unsafe fn attributes<'a>(attrs: &ffi::XLA_FFI_Attrs) -> Result<Attributes<'a>> {
    let mut found = Attributes::default();
    for i in 0..attrs.size as usize {
        // SAFETY: the lists have `size` elements, and the type of an attribute says which struct it is.
        unsafe {
            let name = &**attrs.names.add(i);
            let value = *attrs.attrs.add(i);
            match (slice(name.ptr.cast(), name.len), *attrs.types.add(i)) {
                (b"function", ffi::XLA_FFI_ATTR_TYPE_SCALAR) => {
                    let scalar = &*value.cast::<ffi::XLA_FFI_Scalar>();
                    if scalar.dtype == ffi::XLA_FFI_DATA_TYPE_S64 {
                        found.function = *scalar.value.cast::<i64>();
                    }
                }
                (b"words", ffi::XLA_FFI_ATTR_TYPE_ARRAY) => {
                    let array = &*value.cast::<ffi::XLA_FFI_Array>();
                    if array.dtype == ffi::XLA_FFI_DATA_TYPE_S64 {
                        found.words = slice(array.data.cast(), array.size);
                    }
                }
                (b"text", ffi::XLA_FFI_ATTR_TYPE_STRING) => {
                    let span = &*value.cast::<ffi::XLA_FFI_ByteSpan>();
                    let bytes = slice(span.ptr.cast::<u8>(), span.len);
                    found.text = std::str::from_utf8(bytes).map_err(|_| error!(Internal, "text: it is not UTF-8"))?;
                }
                (name, ty) => {
                    let name = String::from_utf8_lossy(name);
                    return Err(error!(Internal, "a call of {CALL_TARGET} has an attribute {name} of type {ty}"));
                }
            }
        }
    }
    Ok(found)
}

/// Buffers of a list of arguments or results.
///
/// # Safety
/// The list is that of a frame that is valid during the call.
unsafe fn buffers<'a>(list: &ffi::XLA_FFI_List) -> Result<impl Iterator<Item = &'a ffi::XLA_FFI_Buffer>> {
    let count = list.size as usize;
    // SAFETY: the lists have `size` elements.
    let (types, items) = unsafe { (slice(list.types, count), slice(list.items, count)) };
    if types.iter().any(|&ty| ty != ffi::XLA_FFI_TYPE_BUFFER) {
        return Err(error!(Internal, "a call of {CALL_TARGET} has an argument or a result that is not a buffer"));
    }
    // SAFETY: the types say that the items are buffers.
    Ok(items.iter().map(|&item| unsafe { &*item.cast::<ffi::XLA_FFI_Buffer>() }))
}

/// Dtype, dimensions and size in bytes of a buffer.
///
/// # Safety
/// The buffer is that of a frame that is valid during the call.
unsafe fn described<'a>(buffer: &ffi::XLA_FFI_Buffer) -> Result<(DType, &'a [i64], usize)> {
    // SAFETY: a buffer has `rank` dimensions.
    let dims = unsafe { slice(buffer.dims, buffer.rank as usize) };
    let dtype = dtype_of(buffer.dtype)
        .ok_or_else(|| error!(Unimplemented, "the function gets a buffer of XLA's dtype {}", buffer.dtype))?;
    let elements: i64 = dims.iter().product();
    Ok((dtype, dims, elements as usize * dtype.size_bytes()))
}

/// A list that a plugin passes as pointer and length; without elements, the pointer may be null.
///
/// # Safety
/// `start` points to `count` elements that are valid as long as the result is used, or `count` is 0.
unsafe fn slice<'a, T>(start: *const T, count: usize) -> &'a [T] {
    match count {
        0 => &[],
        // SAFETY: guaranteed by the caller.
        _ => unsafe { std::slice::from_raw_parts(start, count) },
    }
}

/// The dtype with this number of `XLA_FFI_DataType`, which are those of XLA's `PrimitiveType`.
fn dtype_of(number: u32) -> Option<DType> {
    let dtype = match number {
        // The two enumerations agree up to F64.
        1..=12 => return DType::from_number(number as i32).ok(),
        15 => DType::C64,
        16 => DType::BF16,
        18 => DType::C128,
        19 => DType::F8E5M2,
        20 => DType::F8E4M3FN,
        23 => DType::F8E4M3B11FNUZ,
        24 => DType::F8E5M2FNUZ,
        25 => DType::F8E4M3FNUZ,
        28 => DType::F8E4M3,
        29 => DType::F8E3M4,
        33 => DType::F8E8M0FNU,
        _ => return None,
    };
    Some(dtype)
}

/// Makes an error for the plugin.
///
/// # Safety
/// The frame is the plugin's, and valid during the call.
unsafe fn failed(frame: &ffi::XLA_FFI_CallFrame, error: &Error) -> *mut ffi::XLA_FFI_Error {
    // Codes of this library are unknown to plugins.
    let code = if error.code as u32 <= Code::Unauthenticated as u32 { error.code } else { Code::Internal };
    let message = CString::new(error.message.replace('\0', " ")).expect("the zeros are replaced");
    let mut args = ffi::XLA_FFI_Error_Create_Args {
        struct_size: std::mem::offset_of!(ffi::XLA_FFI_Error_Create_Args, errc) + size_of::<u32>(),
        extension_start: null_mut(),
        message: message.as_ptr(),
        errc: code as u32,
    };
    // SAFETY: the table is the plugin's; its function copies the message.
    unsafe {
        let create = (*frame.api).XLA_FFI_Error_Create.expect("every version of the API has this function");
        create(&raw mut args)
    }
}
