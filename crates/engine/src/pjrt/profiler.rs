//! Profiles of a plugin, through its profiler extension: XLA's own tracers of devices and of the plugin's threads.
//!
//! A plugin records one profile at a time: its tracers, such as CUPTI's, are those of the process. So a profile claims
//! the plugin.

use super::api::{self, threw};
use super::exit;
use super::plugin::Plugin;
use super::profiler_sys as ffi;
use crate::exceptions::catching;
use crate::{Profile, Profiler};
use base::error;
use base::error::{Code, Error, Result};
use base::protobuf;
use std::ptr::{null, null_mut};

/// Most bytes of a profile for which this library provides the memory: protocol buffers cannot be larger.
const MOST_BYTES: usize = (1 << 31) - 1;

/// The profiler of a plugin.
pub struct PjrtProfiler {
    plugin: &'static Plugin,
    table: Table,
}

/// Finds the profiler among the plugin's extensions. A plugin may have the extension without functions, for the
/// arguments of calls only.
pub fn find(plugin: &'static Plugin) -> Option<PjrtProfiler> {
    let least = std::mem::offset_of!(ffi::PJRT_Profiler_Extension, profiler_api) + size_of::<usize>();
    let found = plugin.api().extension(ffi::PJRT_EXTENSION_TYPE_PROFILER, least)?;
    // SAFETY: the type and the size say that it is this struct.
    let table = unsafe { (*found.cast::<ffi::PJRT_Profiler_Extension>()).profiler_api };
    (!table.is_null()).then_some(PjrtProfiler { plugin, table: Table(table) })
}

/// `tensorflow.ProfileOptions`, as JAX passes them by default: tracers of devices, of XLA's threads, and the programs.
fn options() -> Vec<u8> {
    const INCLUDE_DATASET_OPS: u64 = 1;
    const HOST_TRACER_LEVEL: u64 = 2;
    const DEVICE_TRACER_LEVEL: u64 = 3;
    const VERSION: u64 = 5;
    const ENABLE_HLO_PROTO: u64 = 7;
    let fields = [
        (INCLUDE_DATASET_OPS, 1),
        (HOST_TRACER_LEVEL, 2),
        (DEVICE_TRACER_LEVEL, 1),
        (VERSION, 1),
        (ENABLE_HLO_PROTO, 1),
    ];
    fields.iter().flat_map(|&(field, value)| protobuf::number(field, value)).collect()
}

impl Profiler for PjrtProfiler {
    fn start(&self) -> Result<Box<dyn Profile>> {
        let functions = self.table.functions()?;
        let _inside = exit::enter()?;
        if !self.plugin.claim_profile() {
            return Err(error!(AlreadyExists, "another trace of this process records the plugin's profile"));
        }
        let table = self.table;
        let mut profile = PjrtProfile {
            plugin: self.plugin,
            table,
            functions,
            raw: null_mut(),
            is_running: false,
            space: (null(), 0),
            owned: Vec::new(),
        };
        let options = options();
        let mut args = ffi::PLUGIN_Profiler_Create_Args {
            struct_size: size_of::<ffi::PLUGIN_Profiler_Create_Args>(),
            options: options.as_ptr().cast(),
            options_size: options.len(),
            profiler: null_mut(),
        };
        // SAFETY: the arguments are those of the function, which copies the options.
        unsafe { table.call("create", profile.functions.create, &raw mut args)? };
        if args.profiler.is_null() {
            return Err(error!(Internal, "the plugin's profiler: create returned none"));
        }
        profile.raw = args.profiler;
        profile.act("start", profile.functions.start)?;
        profile.is_running = true;
        Ok(Box::new(profile))
    }
}

/// The functions of a profiler. Constant memory of the plugin, which is never unloaded.
#[derive(Clone, Copy)]
struct Table(*const ffi::PLUGIN_Profiler_Api);

// SAFETY: the table is constant.
unsafe impl Send for Table {}
// SAFETY: as above.
unsafe impl Sync for Table {}

/// A function of the table.
type Function<A> = unsafe extern "C-unwind" fn(*mut A) -> *mut ffi::PLUGIN_Profiler_Error;

/// The functions of a profile.
#[derive(Clone, Copy)]
struct Functions {
    create: ffi::Create,
    destroy: ffi::Act,
    start: ffi::Act,
    stop: ffi::Act,
    collect_data: ffi::Collect,
}

/// Returns the function with this name; None if the table ends before it or has no entry for it.
macro_rules! entry {
    ($table:expr, $name:ident) => {{
        let end = std::mem::offset_of!(ffi::PLUGIN_Profiler_Api, $name) + size_of::<usize>();
        // SAFETY: every table starts with its size, which says that it has this entry.
        unsafe { if end <= (*$table.0).struct_size { (*$table.0).$name } else { None } }
    }};
}

impl Table {
    fn functions(self) -> Result<Functions> {
        let lacks = |name: &str| error!(Unimplemented, "the plugin's profiler has no function {name}");
        Ok(Functions {
            create: entry!(self, create).ok_or_else(|| lacks("create"))?,
            destroy: entry!(self, destroy).ok_or_else(|| lacks("destroy"))?,
            start: entry!(self, start).ok_or_else(|| lacks("start"))?,
            stop: entry!(self, stop).ok_or_else(|| lacks("stop"))?,
            collect_data: entry!(self, collect_data).ok_or_else(|| lacks("collect_data"))?,
        })
    }

    /// Calls a function of the table.
    ///
    /// # Safety
    /// `args` are those of the function.
    unsafe fn call<A>(self, name: &str, function: Function<A>, args: *mut A) -> Result<()> {
        // SAFETY: guaranteed by the caller.
        let called = catching(move || unsafe { function(args) });
        // SAFETY: the function returned the error, which is not used elsewhere.
        unsafe { self.check(name, called.map_err(|thrown| threw(&format!("profiler's {name}"), thrown))?) }
    }

    /// Converts the return value of a function to a result, and frees it.
    ///
    /// # Safety
    /// `error` is null or an error that this profiler returned and that was not freed.
    unsafe fn check(self, function: &str, error: *mut ffi::PLUGIN_Profiler_Error) -> Result<()> {
        if error.is_null() {
            return Ok(());
        }
        // SAFETY: guaranteed by the caller.
        let (code, message) = unsafe { (self.code(error), self.message(error)) };
        // SAFETY: as above; the error is not used after this.
        unsafe { self.destroy(error) };
        Err(Error::new(code, message).context(format_args!("the plugin's profiler: {function}")))
    }

    /// # Safety
    /// As for [`Table::check`].
    unsafe fn code(self, error: *mut ffi::PLUGIN_Profiler_Error) -> Code {
        let Some(get) = entry!(self, error_get_code) else { return Code::Unknown };
        let mut args = ffi::PLUGIN_Profiler_Error_GetCode_Args {
            struct_size: ffi::PLUGIN_PROFILER_ERROR_GET_CODE_ARGS_SIZE,
            priv_: null_mut(),
            error,
            code: 0,
        };
        let to_fill = &raw mut args;
        // SAFETY: the error is alive; an error of this call is freed.
        match catching(move || unsafe { get(to_fill) }) {
            Ok(failed) if failed.is_null() => {}
            Ok(failed) => {
                // SAFETY: as above.
                unsafe { self.destroy(failed) };
                return Code::Unknown;
            }
            Err(_) => return Code::Unknown,
        }
        match Code::from_number(args.code) {
            Some(code) if args.code <= Code::Unauthenticated as i32 => code,
            _ => Code::Unknown,
        }
    }

    /// # Safety
    /// As for [`Table::check`].
    unsafe fn message(self, error: *mut ffi::PLUGIN_Profiler_Error) -> String {
        let Some(get) = entry!(self, error_message) else { return "no message".to_string() };
        let struct_size = size_of::<ffi::PLUGIN_Profiler_Error_Message_Args>();
        let (priv_, message, message_size) = (null_mut(), null(), 0);
        let mut args = ffi::PLUGIN_Profiler_Error_Message_Args { struct_size, priv_, error, message, message_size };
        let to_fill = &raw mut args;
        // SAFETY: the error is alive.
        if let Err(thrown) = catching(move || unsafe { get(to_fill) }) {
            return format!("error_message {thrown}");
        }
        // SAFETY: the message is as alive as the error.
        unsafe { api::text(args.message, args.message_size) }
    }

    /// # Safety
    /// As for [`Table::check`]; the error is not used any more.
    unsafe fn destroy(self, error: *mut ffi::PLUGIN_Profiler_Error) {
        let Some(destroy) = entry!(self, error_destroy) else { return };
        let struct_size = size_of::<ffi::PLUGIN_Profiler_Error_Destroy_Args>();
        let mut args = ffi::PLUGIN_Profiler_Error_Destroy_Args { struct_size, priv_: null_mut(), error };
        let args = &raw mut args;
        // SAFETY: guaranteed by the caller. If it throws, the error stays.
        let _ = catching(move || unsafe { destroy(args) });
    }
}

/// A profile of a plugin. Has claimed it.
struct PjrtProfile {
    plugin: &'static Plugin,
    table: Table,
    functions: Functions,
    raw: *mut ffi::PLUGIN_Profiler,
    is_running: bool,
    /// Address and size of the collected `XSpace`. Points into memory of the profiler, which is valid until the profiler
    /// is destroyed, or into `owned`.
    space: (*const u8, usize),
    owned: Vec<u8>,
}

// SAFETY: functions of a profiler may be called from any thread, by one at a time.
unsafe impl Send for PjrtProfile {}

impl PjrtProfile {
    fn act(&self, name: &str, function: ffi::Act) -> Result<()> {
        let struct_size = size_of::<ffi::PLUGIN_Profiler_Args>();
        let mut args = ffi::PLUGIN_Profiler_Args { struct_size, profiler: self.raw };
        // SAFETY: the profiler is alive, and the arguments are those of the function.
        unsafe { self.table.call(name, function, &raw mut args) }
    }

    /// Collects what was recorded. The header says that the function is called twice, and fills the caller's buffer the
    /// second time; plugins of XLA instead return a buffer of their own the first time, as JAX expects.
    fn collect(&mut self) -> Result<()> {
        let struct_size = size_of::<ffi::PLUGIN_Profiler_CollectData_Args>();
        let (profiler, buffer, buffer_size_in_bytes) = (self.raw, null_mut(), 0);
        let mut args = ffi::PLUGIN_Profiler_CollectData_Args { struct_size, profiler, buffer, buffer_size_in_bytes };
        let collect = self.functions.collect_data;
        // SAFETY: the profiler is alive, and the arguments are those of the function.
        unsafe { self.table.call("collect_data", collect, &raw mut args)? };
        let size = args.buffer_size_in_bytes;
        if size == 0 {
            return Ok(());
        }
        let full = || error!(ResourceExhausted, "the plugin's profile has {size} bytes");
        if size > MOST_BYTES {
            return Err(full());
        }
        self.space = (args.buffer, size);
        if args.buffer.is_null() {
            self.owned.try_reserve_exact(size).map_err(|_| full())?;
            self.owned.resize(size, 0);
            args.buffer = self.owned.as_mut_ptr();
            // SAFETY: as above; the buffer has the size that the function asked for.
            unsafe { self.table.call("collect_data", collect, &raw mut args)? };
            self.space = (self.owned.as_ptr(), size.min(args.buffer_size_in_bytes));
        }
        Ok(())
    }
}

impl Profile for PjrtProfile {
    fn end(&mut self) -> Result<()> {
        let _inside = exit::enter()?;
        self.is_running = false;
        self.act("stop", self.functions.stop)?;
        self.collect()
    }

    fn space(&self) -> &[u8] {
        let (start, size) = self.space;
        if size == 0 {
            return &[];
        }
        // SAFETY: the profiler's memory is valid until it is destroyed, or is `owned`.
        without_zero(unsafe { std::slice::from_raw_parts(start, size) })
    }
}

impl Drop for PjrtProfile {
    fn drop(&mut self) {
        let Ok(_inside) = exit::enter() else { return };
        // Nobody reads a profile that is dropped, nor its errors.
        if self.is_running {
            let _ = self.act("stop", self.functions.stop);
        }
        if !self.raw.is_null() {
            let _ = self.act("destroy", self.functions.destroy);
        }
        self.plugin.release_profile();
    }
}

/// The message without the byte 0 that plugins of XLA add after it. A 0 at the end of a field belongs to the message.
fn without_zero(bytes: &[u8]) -> &[u8] {
    match bytes {
        [message @ .., 0] if protobuf::fields(message).all(|field| field.is_ok()) => message,
        _ => bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_zero_after_a_message_is_removed_and_one_of_a_field_is_not() {
        let message = [protobuf::bytes(1, b"plane"), protobuf::bytes(2, &[7, 0])].concat();
        assert_eq!(without_zero(&message), message, "the last field ends with 0");
        assert_eq!(without_zero(&[&message[..], &[0]].concat()), message);
        assert!(without_zero(&[]).is_empty() && without_zero(&[0]).is_empty());
        let cut = &message[..message.len() - 1];
        assert_eq!(without_zero(cut), cut);
    }

    #[test]
    fn the_options_are_those_of_jax() {
        // As `profile_options` in an XSpace of JAX 0.10 that was recorded with `python_tracer_level = 0`.
        assert_eq!(options(), *b"\x08\x01\x10\x02\x18\x01\x28\x01\x38\x01");
    }
}
