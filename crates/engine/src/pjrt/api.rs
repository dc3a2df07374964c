//! Calls of functions in a plugin's function table: availability, struct sizes, errors. The rules here make one binary
//! work with plugins that are older or newer than the binding.
//!
//! PJRT does not say that a plugin's function may throw, but some do. Every call catches what comes out, and becomes an
//! error with the exception's text. The plugin's own destructors have run by then; what it had begun stays as it is. So
//! calls that are known to throw are rejected beforehand: more devices than the library supports or than the process
//! can have threads for (`client`).

use super::sys;
use crate::exceptions::{Thrown, catching};
use base::error;
use base::error::{Code, Error, Result};
use std::ops::{Deref, DerefMut};

/// Function table of a loaded plugin. Lives as long as the process: plugins are never unloaded.
pub struct Api {
    table: *const sys::PJRT_Api,
    table_size: usize,
    minor: i32,
}

// SAFETY: the table is constant memory of the plugin, and PJRT's functions may be called from any thread.
unsafe impl Send for Api {}
// SAFETY: as above.
unsafe impl Sync for Api {}

/// Returns the function with this name, or UNIMPLEMENTED if the plugin's table ends before it or has no entry for it.
macro_rules! function {
    ($api:expr, $name:ident) => {{
        let api: &$crate::pjrt::api::Api = $api;
        let end = std::mem::offset_of!($crate::pjrt::sys::PJRT_Api, $name) + size_of::<usize>();
        let found = if end <= api.table_size() {
            // SAFETY: `table_size` says that the table is at least `end` bytes long; only this field is read.
            unsafe { (*api.table()).$name }
        } else {
            None
        };
        found.ok_or_else(|| api.lacks(stringify!($name)))
    }};
}

/// Calls a function that returns an error, with arguments created by [`Args::new`].
macro_rules! call {
    ($api:expr, $name:ident, $args:expr) => {
        match function!($api, $name) {
            // SAFETY: the argument struct is the function's own, zeroed except for the fields that the caller set, and
            // outlives the call.
            Ok(function) => unsafe {
                let args = $args.as_mut_ptr();
                let called = $crate::exceptions::catching(move || function(args));
                called
                    .map_err(|thrown| $crate::pjrt::api::threw(stringify!($name), thrown))
                    .and_then(|error| $api.check(error))
            },
            Err(error) => Err(error),
        }
    };
}

pub(super) use {call, function};

impl Api {
    /// Wraps a table returned by `GetPjrtApi`.
    ///
    /// # Safety
    /// `table` points to a plugin's function table that stays valid for the rest of the process.
    pub unsafe fn new(table: *const sys::PJRT_Api) -> Result<Api> {
        let version_end = std::mem::offset_of!(sys::PJRT_Api, PJRT_Error_Destroy);
        // SAFETY: every table starts with its size; only that field is read here.
        let table_size = unsafe { (*table).struct_size };
        if table_size < version_end {
            return Err(error!(FailedPrecondition, "the plugin's function table has only {table_size} bytes"));
        }
        // SAFETY: the table is long enough to contain the version; the struct is read in place, not copied.
        let (major, minor) = unsafe {
            let version = &raw const (*table).pjrt_api_version;
            ((*version).major_version, (*version).minor_version)
        };
        if major != sys::PJRT_API_MAJOR {
            return Err(error!(
                FailedPrecondition,
                "the plugin speaks PJRT API {major}.{minor}; this library speaks {}.x",
                sys::PJRT_API_MAJOR
            ));
        }
        Ok(Api { table, table_size, minor })
    }

    /// Minor API version of the plugin.
    pub fn minor(&self) -> i32 {
        self.minor
    }

    pub(super) fn table(&self) -> *const sys::PJRT_Api {
        self.table
    }

    pub(super) fn table_size(&self) -> usize {
        self.table_size
    }

    /// Finds the plugin's extension of this type, if it has at least `least` bytes.
    pub(super) fn extension(&self, type_: u32, least: usize) -> Option<*const sys::PJRT_Extension_Base> {
        // SAFETY: every table has the start of the list of extensions after its size; the plugin owns both for the rest
        // of the process.
        let mut next: *const sys::PJRT_Extension_Base = unsafe { (*self.table).extension_start };
        while !next.is_null() {
            // SAFETY: elements of the list start with these fields.
            let base = unsafe { &*next };
            if base.type_ == type_ && base.struct_size >= least {
                return Some(next);
            }
            next = base.next;
        }
        None
    }

    pub(super) fn lacks(&self, function: &str) -> Error {
        error!(Unimplemented, "the plugin (PJRT API 0.{}) has no {function}", self.minor)
    }

    /// Converts the return value of a PJRT function to a result, and frees it.
    ///
    /// # Safety
    /// `error` is null or an error that this plugin returned and that was not freed.
    pub unsafe fn check(&self, error: *mut sys::PJRT_Error) -> Result<()> {
        if error.is_null() {
            return Ok(());
        }
        let code = self.error_code(error);
        let message = self.error_message(error);
        if let Ok(destroy) = function!(self, PJRT_Error_Destroy) {
            let mut args = Args::<sys::PJRT_Error_Destroy_Args>::new(self);
            args.error = error;
            let args = args.as_mut_ptr();
            // SAFETY: the error is owned by the caller, and is not used after this. If it throws, the error stays.
            let _ = catching(move || unsafe { destroy(args) });
        }
        Err(Error::new(code_of(code, &message), message))
    }

    fn error_code(&self, error: *mut sys::PJRT_Error) -> Code {
        let Ok(get) = function!(self, PJRT_Error_GetCode) else {
            return Code::Unknown;
        };
        let mut args = Args::<sys::PJRT_Error_GetCode_Args>::new(self);
        args.error = error;
        let to_fill = args.as_mut_ptr();
        // SAFETY: `error` is alive. An error while reading the code of an error is ignored.
        if !catching(move || unsafe { get(to_fill) }).is_ok_and(|failed| failed.is_null()) {
            return Code::Unknown;
        }
        // Only PJRT's own codes are accepted: a plugin cannot return a code that is specific to this library.
        match Code::from_number(args.code as i32) {
            Some(code) if args.code <= 16 => code,
            _ => Code::Unknown,
        }
    }

    fn error_message(&self, error: *mut sys::PJRT_Error) -> String {
        let Ok(get) = function!(self, PJRT_Error_Message) else {
            return "the plugin returned no message".to_string();
        };
        let mut args = Args::<sys::PJRT_Error_Message_Args>::new(self);
        args.error = error;
        let to_fill = args.as_mut_ptr();
        // SAFETY: `error` is alive.
        if let Err(thrown) = catching(move || unsafe { get(to_fill) }) {
            return format!("the plugin's PJRT_Error_Message {thrown}");
        }
        // SAFETY: the plugin returned pointer and length, which are valid as long as the error.
        unsafe { text(args.message, args.message_size) }
    }
}

/// The error of a call of a plugin's function that threw.
pub(super) fn threw(function: &str, thrown: Thrown) -> Error {
    let message = format!("the plugin's {function} {thrown}");
    Error::new(code_of(Code::Internal, &message), message)
}

/// Refines an error code by the plugin's message. Some allocation failures within a run are reported as INTERNAL.
fn code_of(code: Code, message: &str) -> Code {
    const WORDS: [&str; 4] = ["RESOURCE_EXHAUSTED", "Out of memory", "out of memory", "std::bad_alloc"];
    let is_vague = matches!(code, Code::Internal | Code::Unknown | Code::Aborted);
    if is_vague && WORDS.iter().any(|words| message.contains(words)) { Code::ResourceExhausted } else { code }
}

/// Copies a string that a plugin returned as pointer and length.
///
/// # Safety
/// `start` is null, or points to `size` readable bytes.
pub unsafe fn text(start: *const std::ffi::c_char, size: usize) -> String {
    if start.is_null() || size == 0 {
        return String::new();
    }
    // SAFETY: guaranteed by the caller.
    let bytes = unsafe { std::slice::from_raw_parts(start.cast::<u8>(), size) };
    String::from_utf8_lossy(bytes).into_owned()
}

/// Argument struct followed by zeroed reserve space, so that a plugin whose struct is longer than the binding's reads
/// zeros (the documented default of every added field) instead of stack memory.
#[repr(C)]
pub struct Args<T> {
    fields: T,
    room: [u64; 16],
}

impl<T: sys::VersionedStruct> Args<T> {
    /// Creates zeroed arguments with their struct size: that of the binding, or including the reserve if the plugin is
    /// newer.
    pub fn new(api: &Api) -> Args<T> {
        // SAFETY: `VersionedStruct` is implemented only by the binding's structs of integers, bools, raw pointers and
        // optional function pointers, for which zero is a valid value.
        let mut args: Args<T> = unsafe { std::mem::zeroed() };
        let size = if api.minor > sys::PJRT_API_MINOR { size_of::<Args<T>>() } else { T::STRUCT_SIZE };
        // SAFETY: the first field of every such struct is `struct_size: usize`.
        unsafe { *(&raw mut args).cast::<usize>() = size };
        args
    }

    /// Pointer to pass to the function.
    pub fn as_mut_ptr(&mut self) -> *mut T {
        (self as *mut Args<T>).cast()
    }
}

impl<T> Deref for Args<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.fields
    }
}

impl<T> DerefMut for Args<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.fields
    }
}
