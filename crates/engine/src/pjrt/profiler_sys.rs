//! The profiler extension of PJRT and the C API of XLA's profilers, declared by hand from
//! xla/pjrt/c/pjrt_c_api_profiler_extension.h (version 1) and xla/backends/profiler/plugin/profiler_c_api.h
//! (version 1). Meanings are documented in those headers. Later versions add functions at the end of the table.
#![allow(non_camel_case_types, non_snake_case)]

use super::sys::PJRT_Extension_Base;
use std::ffi::{c_char, c_int, c_void};

/// `PJRT_Extension_Type_Profiler`.
pub const PJRT_EXTENSION_TYPE_PROFILER: u32 = 1;

/// Without its last field, which is used in arguments of calls only.
#[repr(C)]
pub struct PJRT_Profiler_Extension {
    pub base: PJRT_Extension_Base,
    pub profiler_api: *const PLUGIN_Profiler_Api,
}

#[repr(C)]
pub struct PLUGIN_Profiler {
    _opaque: [u8; 0],
}

#[repr(C)]
pub struct PLUGIN_Profiler_Error {
    _opaque: [u8; 0],
}

#[repr(C)]
pub struct PLUGIN_Profiler_Error_Destroy_Args {
    pub struct_size: usize,
    pub priv_: *mut c_void,
    pub error: *mut PLUGIN_Profiler_Error,
}

#[repr(C)]
pub struct PLUGIN_Profiler_Error_Message_Args {
    pub struct_size: usize,
    pub priv_: *mut c_void,
    pub error: *const PLUGIN_Profiler_Error,
    pub message: *const c_char,
    pub message_size: usize,
}

#[repr(C)]
pub struct PLUGIN_Profiler_Error_GetCode_Args {
    pub struct_size: usize,
    pub priv_: *mut c_void,
    pub error: *const PLUGIN_Profiler_Error,
    pub code: c_int,
}

/// Size of [`PLUGIN_Profiler_Error_GetCode_Args`] in the API, without the padding after its last field.
pub const PLUGIN_PROFILER_ERROR_GET_CODE_ARGS_SIZE: usize =
    std::mem::offset_of!(PLUGIN_Profiler_Error_GetCode_Args, code) + size_of::<c_int>();

#[repr(C)]
pub struct PLUGIN_Profiler_Create_Args {
    pub struct_size: usize,
    pub options: *const c_char,
    pub options_size: usize,
    pub profiler: *mut PLUGIN_Profiler,
}

/// Arguments of `PLUGIN_Profiler_Destroy`, `PLUGIN_Profiler_Start` and `PLUGIN_Profiler_Stop`.
#[repr(C)]
pub struct PLUGIN_Profiler_Args {
    pub struct_size: usize,
    pub profiler: *mut PLUGIN_Profiler,
}

#[repr(C)]
pub struct PLUGIN_Profiler_CollectData_Args {
    pub struct_size: usize,
    pub profiler: *mut PLUGIN_Profiler,
    pub buffer: *mut u8,
    pub buffer_size_in_bytes: usize,
}

pub type Create = unsafe extern "C-unwind" fn(*mut PLUGIN_Profiler_Create_Args) -> *mut PLUGIN_Profiler_Error;
pub type Act = unsafe extern "C-unwind" fn(*mut PLUGIN_Profiler_Args) -> *mut PLUGIN_Profiler_Error;
pub type Collect = unsafe extern "C-unwind" fn(*mut PLUGIN_Profiler_CollectData_Args) -> *mut PLUGIN_Profiler_Error;

#[repr(C)]
pub struct PLUGIN_Profiler_Api {
    pub struct_size: usize,
    pub priv_: *mut c_void,
    pub error_destroy: Option<unsafe extern "C-unwind" fn(*mut PLUGIN_Profiler_Error_Destroy_Args)>,
    pub error_message: Option<unsafe extern "C-unwind" fn(*mut PLUGIN_Profiler_Error_Message_Args)>,
    pub error_get_code:
        Option<unsafe extern "C-unwind" fn(*mut PLUGIN_Profiler_Error_GetCode_Args) -> *mut PLUGIN_Profiler_Error>,
    pub create: Option<Create>,
    pub destroy: Option<Act>,
    pub start: Option<Act>,
    pub stop: Option<Act>,
    pub collect_data: Option<Collect>,
}
