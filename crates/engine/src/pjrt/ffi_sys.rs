//! XLA's FFI C API, as far as we use it, and the FFI extension of PJRT: declared by hand from xla/ffi/api/c_api.h
//! (version 0.3, in the package jaxlib) and xla/pjrt/c/pjrt_c_api_ffi_extension.h. Versions 0.2 to 0.4 have these
//! layouts. Meanings are documented in those headers.
#![allow(non_camel_case_types, non_snake_case)]

use super::sys::{PJRT_Error, PJRT_Extension_Base};
use std::ffi::{c_char, c_void};

/// `PJRT_Extension_Type_FFI`.
pub const PJRT_EXTENSION_TYPE_FFI: u32 = 5;

#[repr(C)]
pub struct PJRT_FFI_Register_Handler_Args {
    pub struct_size: usize,
    pub target_name: *const c_char,
    pub target_name_size: usize,
    pub handler: *mut c_void,
    pub platform_name: *const c_char,
    pub platform_name_size: usize,
    pub traits: u32,
}

#[repr(C)]
pub struct PJRT_FFI_Extension {
    pub base: PJRT_Extension_Base,
    pub type_id_register: *const c_void,
    pub user_data_add: *const c_void,
    pub register_handler: Option<unsafe extern "C-unwind" fn(*mut PJRT_FFI_Register_Handler_Args) -> *mut PJRT_Error>,
}

#[repr(C)]
pub struct XLA_FFI_Extension_Base {
    pub struct_size: usize,
    pub type_: u32,
    pub next: *mut XLA_FFI_Extension_Base,
}

/// `XLA_FFI_Extension_Metadata`.
pub const XLA_FFI_EXTENSION_METADATA: u32 = 1;

#[repr(C)]
pub struct XLA_FFI_Api_Version {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_Extension_Base,
    pub major_version: i32,
    pub minor_version: i32,
}

#[repr(C)]
pub struct XLA_FFI_Metadata {
    pub struct_size: usize,
    pub api_version: XLA_FFI_Api_Version,
    pub traits: u32,
}

#[repr(C)]
pub struct XLA_FFI_Metadata_Extension {
    pub extension_base: XLA_FFI_Extension_Base,
    pub metadata: *mut XLA_FFI_Metadata,
}

#[repr(C)]
pub struct XLA_FFI_Error {
    _opaque: [u8; 0],
}

#[repr(C)]
pub struct XLA_FFI_Error_Create_Args {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_Extension_Base,
    pub message: *const c_char,
    pub errc: u32,
}

#[repr(C)]
pub struct XLA_FFI_Api {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_Extension_Base,
    pub api_version: XLA_FFI_Api_Version,
    pub internal_api: *const c_void,
    pub XLA_FFI_Error_Create: Option<unsafe extern "C" fn(*mut XLA_FFI_Error_Create_Args) -> *mut XLA_FFI_Error>,
}

#[repr(C)]
pub struct XLA_FFI_Buffer {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_Extension_Base,
    pub dtype: u32,
    pub data: *mut c_void,
    pub rank: i64,
    pub dims: *mut i64,
}

/// `XLA_FFI_ArgType_BUFFER` and `XLA_FFI_RetType_BUFFER`.
pub const XLA_FFI_TYPE_BUFFER: u32 = 1;

/// `XLA_FFI_Args` and `XLA_FFI_Rets`.
#[repr(C)]
pub struct XLA_FFI_List {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_Extension_Base,
    pub size: i64,
    pub types: *mut u32,
    pub items: *mut *mut c_void,
}

#[repr(C)]
pub struct XLA_FFI_ByteSpan {
    pub ptr: *const c_char,
    pub len: usize,
}

#[repr(C)]
pub struct XLA_FFI_Scalar {
    pub dtype: u32,
    pub value: *mut c_void,
}

#[repr(C)]
pub struct XLA_FFI_Array {
    pub dtype: u32,
    pub size: usize,
    pub data: *mut c_void,
}

pub const XLA_FFI_ATTR_TYPE_ARRAY: u32 = 1;
pub const XLA_FFI_ATTR_TYPE_SCALAR: u32 = 3;
pub const XLA_FFI_ATTR_TYPE_STRING: u32 = 4;

/// `XLA_FFI_DataType_S64`.
pub const XLA_FFI_DATA_TYPE_S64: u32 = 5;

#[repr(C)]
pub struct XLA_FFI_Attrs {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_Extension_Base,
    pub size: i64,
    pub types: *mut u32,
    pub names: *mut *mut XLA_FFI_ByteSpan,
    pub attrs: *mut *mut c_void,
}

/// `XLA_FFI_ExecutionStage_EXECUTE`.
pub const XLA_FFI_EXECUTION_STAGE_EXECUTE: u32 = 3;

#[repr(C)]
pub struct XLA_FFI_CallFrame {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_Extension_Base,
    pub api: *const XLA_FFI_Api,
    pub ctx: *mut c_void,
    pub stage: u32,
    pub args: XLA_FFI_List,
    pub rets: XLA_FFI_List,
    pub attrs: XLA_FFI_Attrs,
    pub future: *mut c_void,
}
