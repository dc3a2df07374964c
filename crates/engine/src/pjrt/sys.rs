//! The PJRT C API, as far as we call it: written by tools/pjrt_binding.py from pjrt_c_api.h, version 0.81.
//! Do not edit; run the tool again. Meanings are documented in that header, which the plugin's package carries.
#![allow(non_camel_case_types, non_upper_case_globals, non_snake_case, dead_code)]

use std::ffi::{c_char, c_void};

pub const PJRT_API_MAJOR: i32 = 0;
pub const PJRT_API_MINOR: i32 = 81;

/// A struct that a caller hands to a plugin: its first field is its size.
pub trait VersionedStruct {
    /// `PJRT_STRUCT_SIZE` of the header: up to the end of the last field, without padding.
    const STRUCT_SIZE: usize;
}

pub type PJRT_Error_Code = u32;
pub const PJRT_Error_Code_OK: PJRT_Error_Code = 0;
pub const PJRT_Error_Code_CANCELLED: PJRT_Error_Code = 1;
pub const PJRT_Error_Code_UNKNOWN: PJRT_Error_Code = 2;
pub const PJRT_Error_Code_INVALID_ARGUMENT: PJRT_Error_Code = 3;
pub const PJRT_Error_Code_DEADLINE_EXCEEDED: PJRT_Error_Code = 4;
pub const PJRT_Error_Code_NOT_FOUND: PJRT_Error_Code = 5;
pub const PJRT_Error_Code_ALREADY_EXISTS: PJRT_Error_Code = 6;
pub const PJRT_Error_Code_PERMISSION_DENIED: PJRT_Error_Code = 7;
pub const PJRT_Error_Code_RESOURCE_EXHAUSTED: PJRT_Error_Code = 8;
pub const PJRT_Error_Code_FAILED_PRECONDITION: PJRT_Error_Code = 9;
pub const PJRT_Error_Code_ABORTED: PJRT_Error_Code = 10;
pub const PJRT_Error_Code_OUT_OF_RANGE: PJRT_Error_Code = 11;
pub const PJRT_Error_Code_UNIMPLEMENTED: PJRT_Error_Code = 12;
pub const PJRT_Error_Code_INTERNAL: PJRT_Error_Code = 13;
pub const PJRT_Error_Code_UNAVAILABLE: PJRT_Error_Code = 14;
pub const PJRT_Error_Code_DATA_LOSS: PJRT_Error_Code = 15;
pub const PJRT_Error_Code_UNAUTHENTICATED: PJRT_Error_Code = 16;

pub type PJRT_NamedValue_Type = u32;
pub const PJRT_NamedValue_kString: PJRT_NamedValue_Type = 0;
pub const PJRT_NamedValue_kInt64: PJRT_NamedValue_Type = 1;
pub const PJRT_NamedValue_kInt64List: PJRT_NamedValue_Type = 2;
pub const PJRT_NamedValue_kFloat: PJRT_NamedValue_Type = 3;
pub const PJRT_NamedValue_kBool: PJRT_NamedValue_Type = 4;

pub type PJRT_Buffer_Type = u32;
pub const PJRT_Buffer_Type_INVALID: PJRT_Buffer_Type = 0;
pub const PJRT_Buffer_Type_PRED: PJRT_Buffer_Type = 1;
pub const PJRT_Buffer_Type_S8: PJRT_Buffer_Type = 2;
pub const PJRT_Buffer_Type_S16: PJRT_Buffer_Type = 3;
pub const PJRT_Buffer_Type_S32: PJRT_Buffer_Type = 4;
pub const PJRT_Buffer_Type_S64: PJRT_Buffer_Type = 5;
pub const PJRT_Buffer_Type_U8: PJRT_Buffer_Type = 6;
pub const PJRT_Buffer_Type_U16: PJRT_Buffer_Type = 7;
pub const PJRT_Buffer_Type_U32: PJRT_Buffer_Type = 8;
pub const PJRT_Buffer_Type_U64: PJRT_Buffer_Type = 9;
pub const PJRT_Buffer_Type_F16: PJRT_Buffer_Type = 10;
pub const PJRT_Buffer_Type_F32: PJRT_Buffer_Type = 11;
pub const PJRT_Buffer_Type_F64: PJRT_Buffer_Type = 12;
pub const PJRT_Buffer_Type_BF16: PJRT_Buffer_Type = 13;
pub const PJRT_Buffer_Type_C64: PJRT_Buffer_Type = 14;
pub const PJRT_Buffer_Type_C128: PJRT_Buffer_Type = 15;
pub const PJRT_Buffer_Type_F8E5M2: PJRT_Buffer_Type = 16;
pub const PJRT_Buffer_Type_F8E4M3FN: PJRT_Buffer_Type = 17;
pub const PJRT_Buffer_Type_F8E4M3B11FNUZ: PJRT_Buffer_Type = 18;
pub const PJRT_Buffer_Type_F8E5M2FNUZ: PJRT_Buffer_Type = 19;
pub const PJRT_Buffer_Type_F8E4M3FNUZ: PJRT_Buffer_Type = 20;
pub const PJRT_Buffer_Type_S4: PJRT_Buffer_Type = 21;
pub const PJRT_Buffer_Type_U4: PJRT_Buffer_Type = 22;
pub const PJRT_Buffer_Type_TOKEN: PJRT_Buffer_Type = 23;
pub const PJRT_Buffer_Type_S2: PJRT_Buffer_Type = 24;
pub const PJRT_Buffer_Type_U2: PJRT_Buffer_Type = 25;
pub const PJRT_Buffer_Type_F8E4M3: PJRT_Buffer_Type = 26;
pub const PJRT_Buffer_Type_F8E3M4: PJRT_Buffer_Type = 27;
pub const PJRT_Buffer_Type_F8E8M0FNU: PJRT_Buffer_Type = 28;
pub const PJRT_Buffer_Type_F4E2M1FN: PJRT_Buffer_Type = 29;

pub type PJRT_HostBufferSemantics = u32;
pub const PJRT_HostBufferSemantics_kImmutableOnlyDuringCall: PJRT_HostBufferSemantics = 0;
pub const PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes: PJRT_HostBufferSemantics = 1;
pub const PJRT_HostBufferSemantics_kImmutableZeroCopy: PJRT_HostBufferSemantics = 2;
pub const PJRT_HostBufferSemantics_kMutableZeroCopy: PJRT_HostBufferSemantics = 3;

pub type PJRT_Buffer_MemoryLayout_Type = u32;
pub const PJRT_Buffer_MemoryLayout_Type_Tiled: PJRT_Buffer_MemoryLayout_Type = 0;
pub const PJRT_Buffer_MemoryLayout_Type_Strides: PJRT_Buffer_MemoryLayout_Type = 1;

#[repr(C)]
pub struct PJRT_Buffer {
    _opaque: [u8; 0],
}
#[repr(C)]
pub struct PJRT_Client {
    _opaque: [u8; 0],
}
#[repr(C)]
pub struct PJRT_Device {
    _opaque: [u8; 0],
}
#[repr(C)]
pub struct PJRT_DeviceDescription {
    _opaque: [u8; 0],
}
#[repr(C)]
pub struct PJRT_Error {
    _opaque: [u8; 0],
}
#[repr(C)]
pub struct PJRT_Event {
    _opaque: [u8; 0],
}
#[repr(C)]
pub struct PJRT_Executable {
    _opaque: [u8; 0],
}
#[repr(C)]
pub struct PJRT_ExecuteContext {
    _opaque: [u8; 0],
}
#[repr(C)]
pub struct PJRT_LoadedExecutable {
    _opaque: [u8; 0],
}
#[repr(C)]
pub struct PJRT_Memory {
    _opaque: [u8; 0],
}
#[repr(C)]
pub struct PJRT_RecvCallbackInfo {
    _opaque: [u8; 0],
}
#[repr(C)]
pub struct PJRT_SendCallbackInfo {
    _opaque: [u8; 0],
}
#[repr(C)]
pub struct PJRT_SerializedExecutable {
    _opaque: [u8; 0],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct PJRT_Extension_Base {
    pub struct_size: usize,
    pub type_: u32,
    pub next: *mut PJRT_Extension_Base,
}
impl VersionedStruct for PJRT_Extension_Base {
    const STRUCT_SIZE: usize = std::mem::offset_of!(PJRT_Extension_Base, next) + size_of::<*mut PJRT_Extension_Base>();
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct PJRT_Api_Version {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub major_version: i32,
    pub minor_version: i32,
}
impl VersionedStruct for PJRT_Api_Version {
    const STRUCT_SIZE: usize = std::mem::offset_of!(PJRT_Api_Version, minor_version) + size_of::<i32>();
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct PJRT_Error_Destroy_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub error: *mut PJRT_Error,
}
impl VersionedStruct for PJRT_Error_Destroy_Args {
    const STRUCT_SIZE: usize = std::mem::offset_of!(PJRT_Error_Destroy_Args, error) + size_of::<*mut PJRT_Error>();
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct PJRT_Error_Message_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub error: *const PJRT_Error,
    pub message: *const c_char,
    pub message_size: usize,
}
impl VersionedStruct for PJRT_Error_Message_Args {
    const STRUCT_SIZE: usize = std::mem::offset_of!(PJRT_Error_Message_Args, message_size) + size_of::<usize>();
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct PJRT_Error_GetCode_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub error: *const PJRT_Error,
    pub code: PJRT_Error_Code,
}
impl VersionedStruct for PJRT_Error_GetCode_Args {
    const STRUCT_SIZE: usize = std::mem::offset_of!(PJRT_Error_GetCode_Args, code) + size_of::<PJRT_Error_Code>();
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct PJRT_Plugin_Initialize_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
}
impl VersionedStruct for PJRT_Plugin_Initialize_Args {
    const STRUCT_SIZE: usize =
        std::mem::offset_of!(PJRT_Plugin_Initialize_Args, extension_start) + size_of::<*mut PJRT_Extension_Base>();
}

#[repr(C)]
#[derive(Clone, Copy)]
pub union PJRT_NamedValue_Value {
    pub string_value: *const c_char,
    pub int64_value: i64,
    pub int64_array_value: *const i64,
    pub float_value: f32,
    pub bool_value: bool,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct PJRT_NamedValue {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub name: *const c_char,
    pub name_size: usize,
    pub type_: PJRT_NamedValue_Type,
    pub value: PJRT_NamedValue_Value,
    pub value_size: usize,
}
impl VersionedStruct for PJRT_NamedValue {
    const STRUCT_SIZE: usize = std::mem::offset_of!(PJRT_NamedValue, value_size) + size_of::<usize>();
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct PJRT_Plugin_Attributes_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub attributes: *const PJRT_NamedValue,
    pub num_attributes: usize,
}
impl VersionedStruct for PJRT_Plugin_Attributes_Args {
    const STRUCT_SIZE: usize = std::mem::offset_of!(PJRT_Plugin_Attributes_Args, num_attributes) + size_of::<usize>();
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct PJRT_Event_Destroy_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub event: *mut PJRT_Event,
}
impl VersionedStruct for PJRT_Event_Destroy_Args {
    const STRUCT_SIZE: usize = std::mem::offset_of!(PJRT_Event_Destroy_Args, event) + size_of::<*mut PJRT_Event>();
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct PJRT_Event_IsReady_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub event: *mut PJRT_Event,
    pub is_ready: bool,
}
impl VersionedStruct for PJRT_Event_IsReady_Args {
    const STRUCT_SIZE: usize = std::mem::offset_of!(PJRT_Event_IsReady_Args, is_ready) + size_of::<bool>();
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct PJRT_Event_Error_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub event: *mut PJRT_Event,
}
impl VersionedStruct for PJRT_Event_Error_Args {
    const STRUCT_SIZE: usize = std::mem::offset_of!(PJRT_Event_Error_Args, event) + size_of::<*mut PJRT_Event>();
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct PJRT_Event_Await_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub event: *mut PJRT_Event,
}
impl VersionedStruct for PJRT_Event_Await_Args {
    const STRUCT_SIZE: usize = std::mem::offset_of!(PJRT_Event_Await_Args, event) + size_of::<*mut PJRT_Event>();
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct PJRT_Event_OnReady_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub event: *mut PJRT_Event,
    pub callback: Option<unsafe extern "C" fn(*mut PJRT_Error, *mut c_void)>,
    pub user_arg: *mut c_void,
}
impl VersionedStruct for PJRT_Event_OnReady_Args {
    const STRUCT_SIZE: usize = std::mem::offset_of!(PJRT_Event_OnReady_Args, user_arg) + size_of::<*mut c_void>();
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct PJRT_KeyValueGetCallback_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub key: *const c_char,
    pub key_size: usize,
    pub timeout_in_ms: i32,
    pub callback_error: *mut Option<unsafe extern "C" fn(PJRT_Error_Code, *const c_char, usize) -> *mut PJRT_Error>,
    pub user_arg: *mut c_void,
    pub value: *mut c_char,
    pub value_size: usize,
    pub value_deleter_callback: Option<unsafe extern "C" fn(*mut c_char)>,
}
impl VersionedStruct for PJRT_KeyValueGetCallback_Args {
    const STRUCT_SIZE: usize = std::mem::offset_of!(PJRT_KeyValueGetCallback_Args, value_deleter_callback)
        + size_of::<Option<unsafe extern "C" fn(*mut c_char)>>();
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct PJRT_KeyValuePutCallback_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub key: *const c_char,
    pub key_size: usize,
    pub value: *const c_char,
    pub value_size: usize,
    pub callback_error: *mut Option<unsafe extern "C" fn(PJRT_Error_Code, *const c_char, usize) -> *mut PJRT_Error>,
    pub user_arg: *mut c_void,
}
impl VersionedStruct for PJRT_KeyValuePutCallback_Args {
    const STRUCT_SIZE: usize = std::mem::offset_of!(PJRT_KeyValuePutCallback_Args, user_arg) + size_of::<*mut c_void>();
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct PJRT_KeyValueTryGetCallback_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub key: *const c_char,
    pub key_size: usize,
    pub callback_error: *mut Option<unsafe extern "C" fn(PJRT_Error_Code, *const c_char, usize) -> *mut PJRT_Error>,
    pub user_arg: *mut c_void,
    pub value: *mut c_char,
    pub value_size: usize,
    pub value_deleter_callback: Option<unsafe extern "C" fn(*mut c_char)>,
}
impl VersionedStruct for PJRT_KeyValueTryGetCallback_Args {
    const STRUCT_SIZE: usize = std::mem::offset_of!(PJRT_KeyValueTryGetCallback_Args, value_deleter_callback)
        + size_of::<Option<unsafe extern "C" fn(*mut c_char)>>();
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct PJRT_Client_Create_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub create_options: *const PJRT_NamedValue,
    pub num_options: usize,
    pub kv_get_callback: Option<unsafe extern "C" fn(*mut PJRT_KeyValueGetCallback_Args) -> *mut PJRT_Error>,
    pub kv_get_user_arg: *mut c_void,
    pub kv_put_callback: Option<unsafe extern "C" fn(*mut PJRT_KeyValuePutCallback_Args) -> *mut PJRT_Error>,
    pub kv_put_user_arg: *mut c_void,
    pub client: *mut PJRT_Client,
    pub kv_try_get_callback: Option<unsafe extern "C" fn(*mut PJRT_KeyValueTryGetCallback_Args) -> *mut PJRT_Error>,
    pub kv_try_get_user_arg: *mut c_void,
}
impl VersionedStruct for PJRT_Client_Create_Args {
    const STRUCT_SIZE: usize =
        std::mem::offset_of!(PJRT_Client_Create_Args, kv_try_get_user_arg) + size_of::<*mut c_void>();
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct PJRT_Client_Destroy_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub client: *mut PJRT_Client,
}
impl VersionedStruct for PJRT_Client_Destroy_Args {
    const STRUCT_SIZE: usize = std::mem::offset_of!(PJRT_Client_Destroy_Args, client) + size_of::<*mut PJRT_Client>();
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct PJRT_Client_PlatformName_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub client: *mut PJRT_Client,
    pub platform_name: *const c_char,
    pub platform_name_size: usize,
}
impl VersionedStruct for PJRT_Client_PlatformName_Args {
    const STRUCT_SIZE: usize =
        std::mem::offset_of!(PJRT_Client_PlatformName_Args, platform_name_size) + size_of::<usize>();
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct PJRT_Client_PlatformVersion_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub client: *mut PJRT_Client,
    pub platform_version: *const c_char,
    pub platform_version_size: usize,
}
impl VersionedStruct for PJRT_Client_PlatformVersion_Args {
    const STRUCT_SIZE: usize =
        std::mem::offset_of!(PJRT_Client_PlatformVersion_Args, platform_version_size) + size_of::<usize>();
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct PJRT_Client_ProcessIndex_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub client: *mut PJRT_Client,
    pub process_index: i32,
}
impl VersionedStruct for PJRT_Client_ProcessIndex_Args {
    const STRUCT_SIZE: usize = std::mem::offset_of!(PJRT_Client_ProcessIndex_Args, process_index) + size_of::<i32>();
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct PJRT_Client_AddressableDevices_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub client: *mut PJRT_Client,
    pub addressable_devices: *const *mut PJRT_Device,
    pub num_addressable_devices: usize,
}
impl VersionedStruct for PJRT_Client_AddressableDevices_Args {
    const STRUCT_SIZE: usize =
        std::mem::offset_of!(PJRT_Client_AddressableDevices_Args, num_addressable_devices) + size_of::<usize>();
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct PJRT_Program {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub code: *mut c_char,
    pub code_size: usize,
    pub format: *const c_char,
    pub format_size: usize,
}
impl VersionedStruct for PJRT_Program {
    const STRUCT_SIZE: usize = std::mem::offset_of!(PJRT_Program, format_size) + size_of::<usize>();
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct PJRT_Client_Compile_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub client: *mut PJRT_Client,
    pub program: *const PJRT_Program,
    pub compile_options: *const c_char,
    pub compile_options_size: usize,
    pub executable: *mut PJRT_LoadedExecutable,
}
impl VersionedStruct for PJRT_Client_Compile_Args {
    const STRUCT_SIZE: usize =
        std::mem::offset_of!(PJRT_Client_Compile_Args, executable) + size_of::<*mut PJRT_LoadedExecutable>();
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct PJRT_Buffer_MemoryLayout_Tiled {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub minor_to_major: *const i64,
    pub minor_to_major_size: usize,
    pub tile_dims: *const i64,
    pub tile_dim_sizes: *const usize,
    pub num_tiles: usize,
}
impl VersionedStruct for PJRT_Buffer_MemoryLayout_Tiled {
    const STRUCT_SIZE: usize = std::mem::offset_of!(PJRT_Buffer_MemoryLayout_Tiled, num_tiles) + size_of::<usize>();
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct PJRT_Buffer_MemoryLayout_Strides {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub byte_strides: *const i64,
    pub num_byte_strides: usize,
}
impl VersionedStruct for PJRT_Buffer_MemoryLayout_Strides {
    const STRUCT_SIZE: usize =
        std::mem::offset_of!(PJRT_Buffer_MemoryLayout_Strides, num_byte_strides) + size_of::<usize>();
}

#[repr(C)]
#[derive(Clone, Copy)]
pub union PJRT_Buffer_MemoryLayout_Value {
    pub tiled: PJRT_Buffer_MemoryLayout_Tiled,
    pub strides: PJRT_Buffer_MemoryLayout_Strides,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct PJRT_Buffer_MemoryLayout {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub value: PJRT_Buffer_MemoryLayout_Value,
    pub type_: PJRT_Buffer_MemoryLayout_Type,
}
impl VersionedStruct for PJRT_Buffer_MemoryLayout {
    const STRUCT_SIZE: usize =
        std::mem::offset_of!(PJRT_Buffer_MemoryLayout, type_) + size_of::<PJRT_Buffer_MemoryLayout_Type>();
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct PJRT_Client_BufferFromHostBuffer_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub client: *mut PJRT_Client,
    pub data: *const c_void,
    pub type_: PJRT_Buffer_Type,
    pub dims: *const i64,
    pub num_dims: usize,
    pub byte_strides: *const i64,
    pub num_byte_strides: usize,
    pub host_buffer_semantics: PJRT_HostBufferSemantics,
    pub device: *mut PJRT_Device,
    pub memory: *mut PJRT_Memory,
    pub device_layout: *mut PJRT_Buffer_MemoryLayout,
    pub done_with_host_buffer: *mut PJRT_Event,
    pub buffer: *mut PJRT_Buffer,
}
impl VersionedStruct for PJRT_Client_BufferFromHostBuffer_Args {
    const STRUCT_SIZE: usize =
        std::mem::offset_of!(PJRT_Client_BufferFromHostBuffer_Args, buffer) + size_of::<*mut PJRT_Buffer>();
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct PJRT_Device_GetDescription_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub device: *mut PJRT_Device,
    pub device_description: *mut PJRT_DeviceDescription,
}
impl VersionedStruct for PJRT_Device_GetDescription_Args {
    const STRUCT_SIZE: usize = std::mem::offset_of!(PJRT_Device_GetDescription_Args, device_description)
        + size_of::<*mut PJRT_DeviceDescription>();
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct PJRT_DeviceDescription_Id_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub device_description: *mut PJRT_DeviceDescription,
    pub id: i32,
}
impl VersionedStruct for PJRT_DeviceDescription_Id_Args {
    const STRUCT_SIZE: usize = std::mem::offset_of!(PJRT_DeviceDescription_Id_Args, id) + size_of::<i32>();
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct PJRT_Device_MemoryStats_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub device: *mut PJRT_Device,
    pub bytes_in_use: i64,
    pub peak_bytes_in_use: i64,
    pub peak_bytes_in_use_is_set: bool,
    pub num_allocs: i64,
    pub num_allocs_is_set: bool,
    pub largest_alloc_size: i64,
    pub largest_alloc_size_is_set: bool,
    pub bytes_limit: i64,
    pub bytes_limit_is_set: bool,
    pub bytes_reserved: i64,
    pub bytes_reserved_is_set: bool,
    pub peak_bytes_reserved: i64,
    pub peak_bytes_reserved_is_set: bool,
    pub bytes_reservable_limit: i64,
    pub bytes_reservable_limit_is_set: bool,
    pub largest_free_block_bytes: i64,
    pub largest_free_block_bytes_is_set: bool,
    pub pool_bytes: i64,
    pub pool_bytes_is_set: bool,
    pub peak_pool_bytes: i64,
    pub peak_pool_bytes_is_set: bool,
}
impl VersionedStruct for PJRT_Device_MemoryStats_Args {
    const STRUCT_SIZE: usize =
        std::mem::offset_of!(PJRT_Device_MemoryStats_Args, peak_pool_bytes_is_set) + size_of::<bool>();
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct PJRT_Executable_Destroy_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub executable: *mut PJRT_Executable,
}
impl VersionedStruct for PJRT_Executable_Destroy_Args {
    const STRUCT_SIZE: usize =
        std::mem::offset_of!(PJRT_Executable_Destroy_Args, executable) + size_of::<*mut PJRT_Executable>();
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct PJRT_Executable_NumOutputs_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub executable: *mut PJRT_Executable,
    pub num_outputs: usize,
}
impl VersionedStruct for PJRT_Executable_NumOutputs_Args {
    const STRUCT_SIZE: usize = std::mem::offset_of!(PJRT_Executable_NumOutputs_Args, num_outputs) + size_of::<usize>();
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct PJRT_Executable_Serialize_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub executable: *const PJRT_Executable,
    pub serialized_bytes: *const c_char,
    pub serialized_bytes_size: usize,
    pub serialized_executable: *mut PJRT_SerializedExecutable,
    pub serialized_executable_deleter: Option<unsafe extern "C-unwind" fn(*mut PJRT_SerializedExecutable)>,
}
impl VersionedStruct for PJRT_Executable_Serialize_Args {
    const STRUCT_SIZE: usize = std::mem::offset_of!(PJRT_Executable_Serialize_Args, serialized_executable_deleter)
        + size_of::<Option<unsafe extern "C-unwind" fn(*mut PJRT_SerializedExecutable)>>();
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct PJRT_Executable_DeserializeAndLoad_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub client: *mut PJRT_Client,
    pub serialized_executable: *const c_char,
    pub serialized_executable_size: usize,
    pub loaded_executable: *mut PJRT_LoadedExecutable,
    pub overridden_serialized_compile_options: *const c_char,
    pub overridden_serialized_compile_options_size: usize,
}
impl VersionedStruct for PJRT_Executable_DeserializeAndLoad_Args {
    const STRUCT_SIZE: usize =
        std::mem::offset_of!(PJRT_Executable_DeserializeAndLoad_Args, overridden_serialized_compile_options_size)
            + size_of::<usize>();
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct PJRT_Executable_GetCompiledMemoryStats_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub executable: *mut PJRT_Executable,
    pub generated_code_size_in_bytes: i64,
    pub argument_size_in_bytes: i64,
    pub output_size_in_bytes: i64,
    pub alias_size_in_bytes: i64,
    pub temp_size_in_bytes: i64,
    pub host_generated_code_size_in_bytes: i64,
    pub host_argument_size_in_bytes: i64,
    pub host_output_size_in_bytes: i64,
    pub host_alias_size_in_bytes: i64,
    pub host_temp_size_in_bytes: i64,
    pub peak_memory_in_bytes: i64,
}
impl VersionedStruct for PJRT_Executable_GetCompiledMemoryStats_Args {
    const STRUCT_SIZE: usize =
        std::mem::offset_of!(PJRT_Executable_GetCompiledMemoryStats_Args, peak_memory_in_bytes) + size_of::<i64>();
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct PJRT_Executable_GetCostAnalysis_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub executable: *mut PJRT_Executable,
    pub num_properties: usize,
    pub properties: *const PJRT_NamedValue,
}
impl VersionedStruct for PJRT_Executable_GetCostAnalysis_Args {
    const STRUCT_SIZE: usize =
        std::mem::offset_of!(PJRT_Executable_GetCostAnalysis_Args, properties) + size_of::<*const PJRT_NamedValue>();
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct PJRT_Executable_OptimizedProgram_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub executable: *mut PJRT_Executable,
    pub program: *mut PJRT_Program,
}
impl VersionedStruct for PJRT_Executable_OptimizedProgram_Args {
    const STRUCT_SIZE: usize =
        std::mem::offset_of!(PJRT_Executable_OptimizedProgram_Args, program) + size_of::<*mut PJRT_Program>();
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct PJRT_Executable_OutputDimensions_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub executable: *mut PJRT_Executable,
    pub num_outputs: usize,
    pub dims: *const i64,
    pub dim_sizes: *const usize,
}
impl VersionedStruct for PJRT_Executable_OutputDimensions_Args {
    const STRUCT_SIZE: usize =
        std::mem::offset_of!(PJRT_Executable_OutputDimensions_Args, dim_sizes) + size_of::<*const usize>();
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct PJRT_LoadedExecutable_Destroy_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub executable: *mut PJRT_LoadedExecutable,
}
impl VersionedStruct for PJRT_LoadedExecutable_Destroy_Args {
    const STRUCT_SIZE: usize =
        std::mem::offset_of!(PJRT_LoadedExecutable_Destroy_Args, executable) + size_of::<*mut PJRT_LoadedExecutable>();
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct PJRT_LoadedExecutable_GetExecutable_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub loaded_executable: *mut PJRT_LoadedExecutable,
    pub executable: *mut PJRT_Executable,
}
impl VersionedStruct for PJRT_LoadedExecutable_GetExecutable_Args {
    const STRUCT_SIZE: usize =
        std::mem::offset_of!(PJRT_LoadedExecutable_GetExecutable_Args, executable) + size_of::<*mut PJRT_Executable>();
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct PJRT_ExecuteOptions {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub send_callbacks: *mut *mut PJRT_SendCallbackInfo,
    pub recv_callbacks: *mut *mut PJRT_RecvCallbackInfo,
    pub num_send_ops: usize,
    pub num_recv_ops: usize,
    pub launch_id: i32,
    pub non_donatable_input_indices: *const i64,
    pub num_non_donatable_input_indices: usize,
    pub context: *mut PJRT_ExecuteContext,
    pub call_location: *const c_char,
    pub num_tasks: usize,
    pub task_ids: *mut i32,
    pub incarnation_ids: *mut i64,
}
impl VersionedStruct for PJRT_ExecuteOptions {
    const STRUCT_SIZE: usize = std::mem::offset_of!(PJRT_ExecuteOptions, incarnation_ids) + size_of::<*mut i64>();
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct PJRT_LoadedExecutable_Execute_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub executable: *mut PJRT_LoadedExecutable,
    pub options: *mut PJRT_ExecuteOptions,
    pub argument_lists: *const *const *mut PJRT_Buffer,
    pub num_devices: usize,
    pub num_args: usize,
    pub output_lists: *const *mut *mut PJRT_Buffer,
    pub device_complete_events: *mut *mut PJRT_Event,
    pub execute_device: *mut PJRT_Device,
}
impl VersionedStruct for PJRT_LoadedExecutable_Execute_Args {
    const STRUCT_SIZE: usize =
        std::mem::offset_of!(PJRT_LoadedExecutable_Execute_Args, execute_device) + size_of::<*mut PJRT_Device>();
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct PJRT_Buffer_Destroy_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub buffer: *mut PJRT_Buffer,
}
impl VersionedStruct for PJRT_Buffer_Destroy_Args {
    const STRUCT_SIZE: usize = std::mem::offset_of!(PJRT_Buffer_Destroy_Args, buffer) + size_of::<*mut PJRT_Buffer>();
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct PJRT_Buffer_IsDeleted_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub buffer: *mut PJRT_Buffer,
    pub is_deleted: bool,
}
impl VersionedStruct for PJRT_Buffer_IsDeleted_Args {
    const STRUCT_SIZE: usize = std::mem::offset_of!(PJRT_Buffer_IsDeleted_Args, is_deleted) + size_of::<bool>();
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct PJRT_Buffer_CopyToDevice_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub buffer: *mut PJRT_Buffer,
    pub dst_device: *mut PJRT_Device,
    pub dst_buffer: *mut PJRT_Buffer,
}
impl VersionedStruct for PJRT_Buffer_CopyToDevice_Args {
    const STRUCT_SIZE: usize =
        std::mem::offset_of!(PJRT_Buffer_CopyToDevice_Args, dst_buffer) + size_of::<*mut PJRT_Buffer>();
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct PJRT_Buffer_ToHostBuffer_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub src: *mut PJRT_Buffer,
    pub host_layout: *mut PJRT_Buffer_MemoryLayout,
    pub dst: *mut c_void,
    pub dst_size: usize,
    pub event: *mut PJRT_Event,
}
impl VersionedStruct for PJRT_Buffer_ToHostBuffer_Args {
    const STRUCT_SIZE: usize =
        std::mem::offset_of!(PJRT_Buffer_ToHostBuffer_Args, event) + size_of::<*mut PJRT_Event>();
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct PJRT_Buffer_IsOnCpu_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub buffer: *mut PJRT_Buffer,
    pub is_on_cpu: bool,
}
impl VersionedStruct for PJRT_Buffer_IsOnCpu_Args {
    const STRUCT_SIZE: usize = std::mem::offset_of!(PJRT_Buffer_IsOnCpu_Args, is_on_cpu) + size_of::<bool>();
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct PJRT_Buffer_ReadyEvent_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub buffer: *mut PJRT_Buffer,
    pub event: *mut PJRT_Event,
}
impl VersionedStruct for PJRT_Buffer_ReadyEvent_Args {
    const STRUCT_SIZE: usize = std::mem::offset_of!(PJRT_Buffer_ReadyEvent_Args, event) + size_of::<*mut PJRT_Event>();
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct PJRT_Buffer_GetMemoryLayout_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub buffer: *mut PJRT_Buffer,
    pub layout: PJRT_Buffer_MemoryLayout,
}
impl VersionedStruct for PJRT_Buffer_GetMemoryLayout_Args {
    const STRUCT_SIZE: usize =
        std::mem::offset_of!(PJRT_Buffer_GetMemoryLayout_Args, layout) + size_of::<PJRT_Buffer_MemoryLayout>();
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub buffer: *mut PJRT_Buffer,
    pub device_memory_ptr: *mut c_void,
}
impl VersionedStruct for PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args {
    const STRUCT_SIZE: usize = std::mem::offset_of!(PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args, device_memory_ptr)
        + size_of::<*mut c_void>();
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct PJRT_Buffer_IncreaseExternalReferenceCount_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub buffer: *mut PJRT_Buffer,
}
impl VersionedStruct for PJRT_Buffer_IncreaseExternalReferenceCount_Args {
    const STRUCT_SIZE: usize =
        std::mem::offset_of!(PJRT_Buffer_IncreaseExternalReferenceCount_Args, buffer) + size_of::<*mut PJRT_Buffer>();
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct PJRT_Buffer_DecreaseExternalReferenceCount_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub buffer: *mut PJRT_Buffer,
}
impl VersionedStruct for PJRT_Buffer_DecreaseExternalReferenceCount_Args {
    const STRUCT_SIZE: usize =
        std::mem::offset_of!(PJRT_Buffer_DecreaseExternalReferenceCount_Args, buffer) + size_of::<*mut PJRT_Buffer>();
}

/// The function table. Never copy it: a plugin's may be shorter or longer than ours.
#[repr(C)]
pub struct PJRT_Api {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub pjrt_api_version: PJRT_Api_Version,
    pub PJRT_Error_Destroy: Option<unsafe extern "C-unwind" fn(*mut PJRT_Error_Destroy_Args)>,
    pub PJRT_Error_Message: Option<unsafe extern "C-unwind" fn(*mut PJRT_Error_Message_Args)>,
    pub PJRT_Error_GetCode: Option<unsafe extern "C-unwind" fn(*mut PJRT_Error_GetCode_Args) -> *mut PJRT_Error>,
    pub PJRT_Plugin_Initialize:
        Option<unsafe extern "C-unwind" fn(*mut PJRT_Plugin_Initialize_Args) -> *mut PJRT_Error>,
    pub PJRT_Plugin_Attributes:
        Option<unsafe extern "C-unwind" fn(*mut PJRT_Plugin_Attributes_Args) -> *mut PJRT_Error>,
    pub PJRT_Event_Destroy: Option<unsafe extern "C-unwind" fn(*mut PJRT_Event_Destroy_Args) -> *mut PJRT_Error>,
    pub PJRT_Event_IsReady: Option<unsafe extern "C-unwind" fn(*mut PJRT_Event_IsReady_Args) -> *mut PJRT_Error>,
    pub PJRT_Event_Error: Option<unsafe extern "C-unwind" fn(*mut PJRT_Event_Error_Args) -> *mut PJRT_Error>,
    pub PJRT_Event_Await: Option<unsafe extern "C-unwind" fn(*mut PJRT_Event_Await_Args) -> *mut PJRT_Error>,
    pub PJRT_Event_OnReady: Option<unsafe extern "C-unwind" fn(*mut PJRT_Event_OnReady_Args) -> *mut PJRT_Error>,
    pub PJRT_Client_Create: Option<unsafe extern "C-unwind" fn(*mut PJRT_Client_Create_Args) -> *mut PJRT_Error>,
    pub PJRT_Client_Destroy: Option<unsafe extern "C-unwind" fn(*mut PJRT_Client_Destroy_Args) -> *mut PJRT_Error>,
    pub PJRT_Client_PlatformName:
        Option<unsafe extern "C-unwind" fn(*mut PJRT_Client_PlatformName_Args) -> *mut PJRT_Error>,
    pub PJRT_Client_ProcessIndex:
        Option<unsafe extern "C-unwind" fn(*mut PJRT_Client_ProcessIndex_Args) -> *mut PJRT_Error>,
    pub PJRT_Client_PlatformVersion:
        Option<unsafe extern "C-unwind" fn(*mut PJRT_Client_PlatformVersion_Args) -> *mut PJRT_Error>,
    pub PJRT_Client_Devices: *const c_void,
    pub PJRT_Client_AddressableDevices:
        Option<unsafe extern "C-unwind" fn(*mut PJRT_Client_AddressableDevices_Args) -> *mut PJRT_Error>,
    pub PJRT_Client_LookupDevice: *const c_void,
    pub PJRT_Client_LookupAddressableDevice: *const c_void,
    pub PJRT_Client_AddressableMemories: *const c_void,
    pub PJRT_Client_Compile: Option<unsafe extern "C-unwind" fn(*mut PJRT_Client_Compile_Args) -> *mut PJRT_Error>,
    pub PJRT_Client_DefaultDeviceAssignment: *const c_void,
    pub PJRT_Client_BufferFromHostBuffer:
        Option<unsafe extern "C-unwind" fn(*mut PJRT_Client_BufferFromHostBuffer_Args) -> *mut PJRT_Error>,
    pub PJRT_DeviceDescription_Id:
        Option<unsafe extern "C-unwind" fn(*mut PJRT_DeviceDescription_Id_Args) -> *mut PJRT_Error>,
    pub PJRT_DeviceDescription_ProcessIndex: *const c_void,
    pub PJRT_DeviceDescription_Attributes: *const c_void,
    pub PJRT_DeviceDescription_Kind: *const c_void,
    pub PJRT_DeviceDescription_DebugString: *const c_void,
    pub PJRT_DeviceDescription_ToString: *const c_void,
    pub PJRT_Device_GetDescription:
        Option<unsafe extern "C-unwind" fn(*mut PJRT_Device_GetDescription_Args) -> *mut PJRT_Error>,
    pub PJRT_Device_IsAddressable: *const c_void,
    pub PJRT_Device_LocalHardwareId: *const c_void,
    pub PJRT_Device_AddressableMemories: *const c_void,
    pub PJRT_Device_DefaultMemory: *const c_void,
    pub PJRT_Device_MemoryStats:
        Option<unsafe extern "C-unwind" fn(*mut PJRT_Device_MemoryStats_Args) -> *mut PJRT_Error>,
    pub PJRT_Memory_Id: *const c_void,
    pub PJRT_Memory_Kind: *const c_void,
    pub PJRT_Memory_DebugString: *const c_void,
    pub PJRT_Memory_ToString: *const c_void,
    pub PJRT_Memory_AddressableByDevices: *const c_void,
    pub PJRT_Executable_Destroy:
        Option<unsafe extern "C-unwind" fn(*mut PJRT_Executable_Destroy_Args) -> *mut PJRT_Error>,
    pub PJRT_Executable_Name: *const c_void,
    pub PJRT_Executable_NumReplicas: *const c_void,
    pub PJRT_Executable_NumPartitions: *const c_void,
    pub PJRT_Executable_NumOutputs:
        Option<unsafe extern "C-unwind" fn(*mut PJRT_Executable_NumOutputs_Args) -> *mut PJRT_Error>,
    pub PJRT_Executable_SizeOfGeneratedCodeInBytes: *const c_void,
    pub PJRT_Executable_GetCostAnalysis:
        Option<unsafe extern "C-unwind" fn(*mut PJRT_Executable_GetCostAnalysis_Args) -> *mut PJRT_Error>,
    pub PJRT_Executable_OutputMemoryKinds: *const c_void,
    pub PJRT_Executable_OptimizedProgram:
        Option<unsafe extern "C-unwind" fn(*mut PJRT_Executable_OptimizedProgram_Args) -> *mut PJRT_Error>,
    pub PJRT_Executable_Serialize:
        Option<unsafe extern "C-unwind" fn(*mut PJRT_Executable_Serialize_Args) -> *mut PJRT_Error>,
    pub PJRT_LoadedExecutable_Destroy:
        Option<unsafe extern "C-unwind" fn(*mut PJRT_LoadedExecutable_Destroy_Args) -> *mut PJRT_Error>,
    pub PJRT_LoadedExecutable_GetExecutable:
        Option<unsafe extern "C-unwind" fn(*mut PJRT_LoadedExecutable_GetExecutable_Args) -> *mut PJRT_Error>,
    pub PJRT_LoadedExecutable_AddressableDevices: *const c_void,
    pub PJRT_LoadedExecutable_Delete: *const c_void,
    pub PJRT_LoadedExecutable_IsDeleted: *const c_void,
    pub PJRT_LoadedExecutable_Execute:
        Option<unsafe extern "C-unwind" fn(*mut PJRT_LoadedExecutable_Execute_Args) -> *mut PJRT_Error>,
    pub PJRT_Executable_DeserializeAndLoad:
        Option<unsafe extern "C-unwind" fn(*mut PJRT_Executable_DeserializeAndLoad_Args) -> *mut PJRT_Error>,
    pub PJRT_LoadedExecutable_Fingerprint: *const c_void,
    pub PJRT_Buffer_Destroy: Option<unsafe extern "C-unwind" fn(*mut PJRT_Buffer_Destroy_Args) -> *mut PJRT_Error>,
    pub PJRT_Buffer_ElementType: *const c_void,
    pub PJRT_Buffer_Dimensions: *const c_void,
    pub PJRT_Buffer_UnpaddedDimensions: *const c_void,
    pub PJRT_Buffer_DynamicDimensionIndices: *const c_void,
    pub PJRT_Buffer_GetMemoryLayout:
        Option<unsafe extern "C-unwind" fn(*mut PJRT_Buffer_GetMemoryLayout_Args) -> *mut PJRT_Error>,
    pub PJRT_Buffer_OnDeviceSizeInBytes: *const c_void,
    pub PJRT_Buffer_Device: *const c_void,
    pub PJRT_Buffer_Memory: *const c_void,
    pub PJRT_Buffer_Delete: *const c_void,
    pub PJRT_Buffer_IsDeleted: Option<unsafe extern "C-unwind" fn(*mut PJRT_Buffer_IsDeleted_Args) -> *mut PJRT_Error>,
    pub PJRT_Buffer_CopyToDevice:
        Option<unsafe extern "C-unwind" fn(*mut PJRT_Buffer_CopyToDevice_Args) -> *mut PJRT_Error>,
    pub PJRT_Buffer_ToHostBuffer:
        Option<unsafe extern "C-unwind" fn(*mut PJRT_Buffer_ToHostBuffer_Args) -> *mut PJRT_Error>,
    pub PJRT_Buffer_IsOnCpu: Option<unsafe extern "C-unwind" fn(*mut PJRT_Buffer_IsOnCpu_Args) -> *mut PJRT_Error>,
    pub PJRT_Buffer_ReadyEvent:
        Option<unsafe extern "C-unwind" fn(*mut PJRT_Buffer_ReadyEvent_Args) -> *mut PJRT_Error>,
    pub PJRT_Buffer_UnsafePointer: *const c_void,
    pub PJRT_Buffer_IncreaseExternalReferenceCount:
        Option<unsafe extern "C-unwind" fn(*mut PJRT_Buffer_IncreaseExternalReferenceCount_Args) -> *mut PJRT_Error>,
    pub PJRT_Buffer_DecreaseExternalReferenceCount:
        Option<unsafe extern "C-unwind" fn(*mut PJRT_Buffer_DecreaseExternalReferenceCount_Args) -> *mut PJRT_Error>,
    pub PJRT_Buffer_OpaqueDeviceMemoryDataPointer:
        Option<unsafe extern "C-unwind" fn(*mut PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args) -> *mut PJRT_Error>,
    pub PJRT_CopyToDeviceStream_Destroy: *const c_void,
    pub PJRT_CopyToDeviceStream_AddChunk: *const c_void,
    pub PJRT_CopyToDeviceStream_TotalBytes: *const c_void,
    pub PJRT_CopyToDeviceStream_GranuleSize: *const c_void,
    pub PJRT_CopyToDeviceStream_CurrentBytes: *const c_void,
    pub PJRT_TopologyDescription_Create: *const c_void,
    pub PJRT_TopologyDescription_Destroy: *const c_void,
    pub PJRT_TopologyDescription_PlatformName: *const c_void,
    pub PJRT_TopologyDescription_PlatformVersion: *const c_void,
    pub PJRT_TopologyDescription_GetDeviceDescriptions: *const c_void,
    pub PJRT_TopologyDescription_Serialize: *const c_void,
    pub PJRT_TopologyDescription_Attributes: *const c_void,
    pub PJRT_Compile: *const c_void,
    pub PJRT_Executable_OutputElementTypes: *const c_void,
    pub PJRT_Executable_OutputDimensions:
        Option<unsafe extern "C-unwind" fn(*mut PJRT_Executable_OutputDimensions_Args) -> *mut PJRT_Error>,
    pub PJRT_Buffer_CopyToMemory: *const c_void,
    pub PJRT_Client_CreateViewOfDeviceBuffer: *const c_void,
    pub PJRT_Executable_Fingerprint: *const c_void,
    pub PJRT_Client_TopologyDescription: *const c_void,
    pub PJRT_Executable_GetCompiledMemoryStats:
        Option<unsafe extern "C-unwind" fn(*mut PJRT_Executable_GetCompiledMemoryStats_Args) -> *mut PJRT_Error>,
    pub PJRT_Memory_Kind_Id: *const c_void,
    pub PJRT_ExecuteContext_Create: *const c_void,
    pub PJRT_ExecuteContext_Destroy: *const c_void,
    pub PJRT_Buffer_CopyRawToHost: *const c_void,
    pub PJRT_AsyncHostToDeviceTransferManager_Destroy: *const c_void,
    pub PJRT_AsyncHostToDeviceTransferManager_TransferData: *const c_void,
    pub PJRT_Client_CreateBuffersForAsyncHostToDevice: *const c_void,
    pub PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer: *const c_void,
    pub PJRT_AsyncHostToDeviceTransferManager_Device: *const c_void,
    pub PJRT_AsyncHostToDeviceTransferManager_BufferCount: *const c_void,
    pub PJRT_AsyncHostToDeviceTransferManager_BufferSize: *const c_void,
    pub PJRT_AsyncHostToDeviceTransferManager_SetBufferError: *const c_void,
    pub PJRT_AsyncHostToDeviceTransferManager_AddMetadata: *const c_void,
    pub PJRT_Client_DmaMap: *const c_void,
    pub PJRT_Client_DmaUnmap: *const c_void,
    pub PJRT_Client_CreateUninitializedBuffer: *const c_void,
    pub PJRT_Client_UpdateGlobalProcessInfo: *const c_void,
    pub PJRT_TopologyDescription_Deserialize: *const c_void,
    pub PJRT_Client_CreateAliasBuffer: *const c_void,
    pub PJRT_Client_FulfillAliasBuffer: *const c_void,
    pub PJRT_LoadedExecutable_GetDeviceAssignment: *const c_void,
}

/// One struct of the binding: its name, its size without padding, and the offset and size of each field.
#[cfg(test)]
pub type Layout = (&'static str, usize, &'static [(&'static str, usize)]);

#[cfg(test)]
#[rustfmt::skip]
pub const LAYOUTS: &[Layout] = &[
    ("PJRT_Extension_Base", PJRT_Extension_Base::STRUCT_SIZE, &[("struct_size", std::mem::offset_of!(PJRT_Extension_Base, struct_size)), ("type", std::mem::offset_of!(PJRT_Extension_Base, type_)), ("next", std::mem::offset_of!(PJRT_Extension_Base, next))]),
    ("PJRT_Api_Version", PJRT_Api_Version::STRUCT_SIZE, &[("struct_size", std::mem::offset_of!(PJRT_Api_Version, struct_size)), ("extension_start", std::mem::offset_of!(PJRT_Api_Version, extension_start)), ("major_version", std::mem::offset_of!(PJRT_Api_Version, major_version)), ("minor_version", std::mem::offset_of!(PJRT_Api_Version, minor_version))]),
    ("PJRT_Error_Destroy_Args", PJRT_Error_Destroy_Args::STRUCT_SIZE, &[("struct_size", std::mem::offset_of!(PJRT_Error_Destroy_Args, struct_size)), ("extension_start", std::mem::offset_of!(PJRT_Error_Destroy_Args, extension_start)), ("error", std::mem::offset_of!(PJRT_Error_Destroy_Args, error))]),
    ("PJRT_Error_Message_Args", PJRT_Error_Message_Args::STRUCT_SIZE, &[("struct_size", std::mem::offset_of!(PJRT_Error_Message_Args, struct_size)), ("extension_start", std::mem::offset_of!(PJRT_Error_Message_Args, extension_start)), ("error", std::mem::offset_of!(PJRT_Error_Message_Args, error)), ("message", std::mem::offset_of!(PJRT_Error_Message_Args, message)), ("message_size", std::mem::offset_of!(PJRT_Error_Message_Args, message_size))]),
    ("PJRT_Error_GetCode_Args", PJRT_Error_GetCode_Args::STRUCT_SIZE, &[("struct_size", std::mem::offset_of!(PJRT_Error_GetCode_Args, struct_size)), ("extension_start", std::mem::offset_of!(PJRT_Error_GetCode_Args, extension_start)), ("error", std::mem::offset_of!(PJRT_Error_GetCode_Args, error)), ("code", std::mem::offset_of!(PJRT_Error_GetCode_Args, code))]),
    ("PJRT_Plugin_Initialize_Args", PJRT_Plugin_Initialize_Args::STRUCT_SIZE, &[("struct_size", std::mem::offset_of!(PJRT_Plugin_Initialize_Args, struct_size)), ("extension_start", std::mem::offset_of!(PJRT_Plugin_Initialize_Args, extension_start))]),
    ("PJRT_NamedValue", PJRT_NamedValue::STRUCT_SIZE, &[("struct_size", std::mem::offset_of!(PJRT_NamedValue, struct_size)), ("extension_start", std::mem::offset_of!(PJRT_NamedValue, extension_start)), ("name", std::mem::offset_of!(PJRT_NamedValue, name)), ("name_size", std::mem::offset_of!(PJRT_NamedValue, name_size)), ("type", std::mem::offset_of!(PJRT_NamedValue, type_)), ("value_size", std::mem::offset_of!(PJRT_NamedValue, value_size))]),
    ("PJRT_Plugin_Attributes_Args", PJRT_Plugin_Attributes_Args::STRUCT_SIZE, &[("struct_size", std::mem::offset_of!(PJRT_Plugin_Attributes_Args, struct_size)), ("extension_start", std::mem::offset_of!(PJRT_Plugin_Attributes_Args, extension_start)), ("attributes", std::mem::offset_of!(PJRT_Plugin_Attributes_Args, attributes)), ("num_attributes", std::mem::offset_of!(PJRT_Plugin_Attributes_Args, num_attributes))]),
    ("PJRT_Event_Destroy_Args", PJRT_Event_Destroy_Args::STRUCT_SIZE, &[("struct_size", std::mem::offset_of!(PJRT_Event_Destroy_Args, struct_size)), ("extension_start", std::mem::offset_of!(PJRT_Event_Destroy_Args, extension_start)), ("event", std::mem::offset_of!(PJRT_Event_Destroy_Args, event))]),
    ("PJRT_Event_IsReady_Args", PJRT_Event_IsReady_Args::STRUCT_SIZE, &[("struct_size", std::mem::offset_of!(PJRT_Event_IsReady_Args, struct_size)), ("extension_start", std::mem::offset_of!(PJRT_Event_IsReady_Args, extension_start)), ("event", std::mem::offset_of!(PJRT_Event_IsReady_Args, event)), ("is_ready", std::mem::offset_of!(PJRT_Event_IsReady_Args, is_ready))]),
    ("PJRT_Event_Error_Args", PJRT_Event_Error_Args::STRUCT_SIZE, &[("struct_size", std::mem::offset_of!(PJRT_Event_Error_Args, struct_size)), ("extension_start", std::mem::offset_of!(PJRT_Event_Error_Args, extension_start)), ("event", std::mem::offset_of!(PJRT_Event_Error_Args, event))]),
    ("PJRT_Event_Await_Args", PJRT_Event_Await_Args::STRUCT_SIZE, &[("struct_size", std::mem::offset_of!(PJRT_Event_Await_Args, struct_size)), ("extension_start", std::mem::offset_of!(PJRT_Event_Await_Args, extension_start)), ("event", std::mem::offset_of!(PJRT_Event_Await_Args, event))]),
    ("PJRT_Event_OnReady_Args", PJRT_Event_OnReady_Args::STRUCT_SIZE, &[("struct_size", std::mem::offset_of!(PJRT_Event_OnReady_Args, struct_size)), ("extension_start", std::mem::offset_of!(PJRT_Event_OnReady_Args, extension_start)), ("event", std::mem::offset_of!(PJRT_Event_OnReady_Args, event)), ("callback", std::mem::offset_of!(PJRT_Event_OnReady_Args, callback)), ("user_arg", std::mem::offset_of!(PJRT_Event_OnReady_Args, user_arg))]),
    ("PJRT_KeyValueGetCallback_Args", PJRT_KeyValueGetCallback_Args::STRUCT_SIZE, &[("struct_size", std::mem::offset_of!(PJRT_KeyValueGetCallback_Args, struct_size)), ("extension_start", std::mem::offset_of!(PJRT_KeyValueGetCallback_Args, extension_start)), ("key", std::mem::offset_of!(PJRT_KeyValueGetCallback_Args, key)), ("key_size", std::mem::offset_of!(PJRT_KeyValueGetCallback_Args, key_size)), ("timeout_in_ms", std::mem::offset_of!(PJRT_KeyValueGetCallback_Args, timeout_in_ms)), ("callback_error", std::mem::offset_of!(PJRT_KeyValueGetCallback_Args, callback_error)), ("user_arg", std::mem::offset_of!(PJRT_KeyValueGetCallback_Args, user_arg)), ("value", std::mem::offset_of!(PJRT_KeyValueGetCallback_Args, value)), ("value_size", std::mem::offset_of!(PJRT_KeyValueGetCallback_Args, value_size)), ("value_deleter_callback", std::mem::offset_of!(PJRT_KeyValueGetCallback_Args, value_deleter_callback))]),
    ("PJRT_KeyValuePutCallback_Args", PJRT_KeyValuePutCallback_Args::STRUCT_SIZE, &[("struct_size", std::mem::offset_of!(PJRT_KeyValuePutCallback_Args, struct_size)), ("extension_start", std::mem::offset_of!(PJRT_KeyValuePutCallback_Args, extension_start)), ("key", std::mem::offset_of!(PJRT_KeyValuePutCallback_Args, key)), ("key_size", std::mem::offset_of!(PJRT_KeyValuePutCallback_Args, key_size)), ("value", std::mem::offset_of!(PJRT_KeyValuePutCallback_Args, value)), ("value_size", std::mem::offset_of!(PJRT_KeyValuePutCallback_Args, value_size)), ("callback_error", std::mem::offset_of!(PJRT_KeyValuePutCallback_Args, callback_error)), ("user_arg", std::mem::offset_of!(PJRT_KeyValuePutCallback_Args, user_arg))]),
    ("PJRT_KeyValueTryGetCallback_Args", PJRT_KeyValueTryGetCallback_Args::STRUCT_SIZE, &[("struct_size", std::mem::offset_of!(PJRT_KeyValueTryGetCallback_Args, struct_size)), ("extension_start", std::mem::offset_of!(PJRT_KeyValueTryGetCallback_Args, extension_start)), ("key", std::mem::offset_of!(PJRT_KeyValueTryGetCallback_Args, key)), ("key_size", std::mem::offset_of!(PJRT_KeyValueTryGetCallback_Args, key_size)), ("callback_error", std::mem::offset_of!(PJRT_KeyValueTryGetCallback_Args, callback_error)), ("user_arg", std::mem::offset_of!(PJRT_KeyValueTryGetCallback_Args, user_arg)), ("value", std::mem::offset_of!(PJRT_KeyValueTryGetCallback_Args, value)), ("value_size", std::mem::offset_of!(PJRT_KeyValueTryGetCallback_Args, value_size)), ("value_deleter_callback", std::mem::offset_of!(PJRT_KeyValueTryGetCallback_Args, value_deleter_callback))]),
    ("PJRT_Client_Create_Args", PJRT_Client_Create_Args::STRUCT_SIZE, &[("struct_size", std::mem::offset_of!(PJRT_Client_Create_Args, struct_size)), ("extension_start", std::mem::offset_of!(PJRT_Client_Create_Args, extension_start)), ("create_options", std::mem::offset_of!(PJRT_Client_Create_Args, create_options)), ("num_options", std::mem::offset_of!(PJRT_Client_Create_Args, num_options)), ("kv_get_callback", std::mem::offset_of!(PJRT_Client_Create_Args, kv_get_callback)), ("kv_get_user_arg", std::mem::offset_of!(PJRT_Client_Create_Args, kv_get_user_arg)), ("kv_put_callback", std::mem::offset_of!(PJRT_Client_Create_Args, kv_put_callback)), ("kv_put_user_arg", std::mem::offset_of!(PJRT_Client_Create_Args, kv_put_user_arg)), ("client", std::mem::offset_of!(PJRT_Client_Create_Args, client)), ("kv_try_get_callback", std::mem::offset_of!(PJRT_Client_Create_Args, kv_try_get_callback)), ("kv_try_get_user_arg", std::mem::offset_of!(PJRT_Client_Create_Args, kv_try_get_user_arg))]),
    ("PJRT_Client_Destroy_Args", PJRT_Client_Destroy_Args::STRUCT_SIZE, &[("struct_size", std::mem::offset_of!(PJRT_Client_Destroy_Args, struct_size)), ("extension_start", std::mem::offset_of!(PJRT_Client_Destroy_Args, extension_start)), ("client", std::mem::offset_of!(PJRT_Client_Destroy_Args, client))]),
    ("PJRT_Client_PlatformName_Args", PJRT_Client_PlatformName_Args::STRUCT_SIZE, &[("struct_size", std::mem::offset_of!(PJRT_Client_PlatformName_Args, struct_size)), ("extension_start", std::mem::offset_of!(PJRT_Client_PlatformName_Args, extension_start)), ("client", std::mem::offset_of!(PJRT_Client_PlatformName_Args, client)), ("platform_name", std::mem::offset_of!(PJRT_Client_PlatformName_Args, platform_name)), ("platform_name_size", std::mem::offset_of!(PJRT_Client_PlatformName_Args, platform_name_size))]),
    ("PJRT_Client_PlatformVersion_Args", PJRT_Client_PlatformVersion_Args::STRUCT_SIZE, &[("struct_size", std::mem::offset_of!(PJRT_Client_PlatformVersion_Args, struct_size)), ("extension_start", std::mem::offset_of!(PJRT_Client_PlatformVersion_Args, extension_start)), ("client", std::mem::offset_of!(PJRT_Client_PlatformVersion_Args, client)), ("platform_version", std::mem::offset_of!(PJRT_Client_PlatformVersion_Args, platform_version)), ("platform_version_size", std::mem::offset_of!(PJRT_Client_PlatformVersion_Args, platform_version_size))]),
    ("PJRT_Client_ProcessIndex_Args", PJRT_Client_ProcessIndex_Args::STRUCT_SIZE, &[("struct_size", std::mem::offset_of!(PJRT_Client_ProcessIndex_Args, struct_size)), ("extension_start", std::mem::offset_of!(PJRT_Client_ProcessIndex_Args, extension_start)), ("client", std::mem::offset_of!(PJRT_Client_ProcessIndex_Args, client)), ("process_index", std::mem::offset_of!(PJRT_Client_ProcessIndex_Args, process_index))]),
    ("PJRT_Client_AddressableDevices_Args", PJRT_Client_AddressableDevices_Args::STRUCT_SIZE, &[("struct_size", std::mem::offset_of!(PJRT_Client_AddressableDevices_Args, struct_size)), ("extension_start", std::mem::offset_of!(PJRT_Client_AddressableDevices_Args, extension_start)), ("client", std::mem::offset_of!(PJRT_Client_AddressableDevices_Args, client)), ("addressable_devices", std::mem::offset_of!(PJRT_Client_AddressableDevices_Args, addressable_devices)), ("num_addressable_devices", std::mem::offset_of!(PJRT_Client_AddressableDevices_Args, num_addressable_devices))]),
    ("PJRT_Program", PJRT_Program::STRUCT_SIZE, &[("struct_size", std::mem::offset_of!(PJRT_Program, struct_size)), ("extension_start", std::mem::offset_of!(PJRT_Program, extension_start)), ("code", std::mem::offset_of!(PJRT_Program, code)), ("code_size", std::mem::offset_of!(PJRT_Program, code_size)), ("format", std::mem::offset_of!(PJRT_Program, format)), ("format_size", std::mem::offset_of!(PJRT_Program, format_size))]),
    ("PJRT_Client_Compile_Args", PJRT_Client_Compile_Args::STRUCT_SIZE, &[("struct_size", std::mem::offset_of!(PJRT_Client_Compile_Args, struct_size)), ("extension_start", std::mem::offset_of!(PJRT_Client_Compile_Args, extension_start)), ("client", std::mem::offset_of!(PJRT_Client_Compile_Args, client)), ("program", std::mem::offset_of!(PJRT_Client_Compile_Args, program)), ("compile_options", std::mem::offset_of!(PJRT_Client_Compile_Args, compile_options)), ("compile_options_size", std::mem::offset_of!(PJRT_Client_Compile_Args, compile_options_size)), ("executable", std::mem::offset_of!(PJRT_Client_Compile_Args, executable))]),
    ("PJRT_Buffer_MemoryLayout_Tiled", PJRT_Buffer_MemoryLayout_Tiled::STRUCT_SIZE, &[("struct_size", std::mem::offset_of!(PJRT_Buffer_MemoryLayout_Tiled, struct_size)), ("extension_start", std::mem::offset_of!(PJRT_Buffer_MemoryLayout_Tiled, extension_start)), ("minor_to_major", std::mem::offset_of!(PJRT_Buffer_MemoryLayout_Tiled, minor_to_major)), ("minor_to_major_size", std::mem::offset_of!(PJRT_Buffer_MemoryLayout_Tiled, minor_to_major_size)), ("tile_dims", std::mem::offset_of!(PJRT_Buffer_MemoryLayout_Tiled, tile_dims)), ("tile_dim_sizes", std::mem::offset_of!(PJRT_Buffer_MemoryLayout_Tiled, tile_dim_sizes)), ("num_tiles", std::mem::offset_of!(PJRT_Buffer_MemoryLayout_Tiled, num_tiles))]),
    ("PJRT_Buffer_MemoryLayout_Strides", PJRT_Buffer_MemoryLayout_Strides::STRUCT_SIZE, &[("struct_size", std::mem::offset_of!(PJRT_Buffer_MemoryLayout_Strides, struct_size)), ("extension_start", std::mem::offset_of!(PJRT_Buffer_MemoryLayout_Strides, extension_start)), ("byte_strides", std::mem::offset_of!(PJRT_Buffer_MemoryLayout_Strides, byte_strides)), ("num_byte_strides", std::mem::offset_of!(PJRT_Buffer_MemoryLayout_Strides, num_byte_strides))]),
    ("PJRT_Buffer_MemoryLayout", PJRT_Buffer_MemoryLayout::STRUCT_SIZE, &[("struct_size", std::mem::offset_of!(PJRT_Buffer_MemoryLayout, struct_size)), ("extension_start", std::mem::offset_of!(PJRT_Buffer_MemoryLayout, extension_start)), ("type", std::mem::offset_of!(PJRT_Buffer_MemoryLayout, type_))]),
    ("PJRT_Client_BufferFromHostBuffer_Args", PJRT_Client_BufferFromHostBuffer_Args::STRUCT_SIZE, &[("struct_size", std::mem::offset_of!(PJRT_Client_BufferFromHostBuffer_Args, struct_size)), ("extension_start", std::mem::offset_of!(PJRT_Client_BufferFromHostBuffer_Args, extension_start)), ("client", std::mem::offset_of!(PJRT_Client_BufferFromHostBuffer_Args, client)), ("data", std::mem::offset_of!(PJRT_Client_BufferFromHostBuffer_Args, data)), ("type", std::mem::offset_of!(PJRT_Client_BufferFromHostBuffer_Args, type_)), ("dims", std::mem::offset_of!(PJRT_Client_BufferFromHostBuffer_Args, dims)), ("num_dims", std::mem::offset_of!(PJRT_Client_BufferFromHostBuffer_Args, num_dims)), ("byte_strides", std::mem::offset_of!(PJRT_Client_BufferFromHostBuffer_Args, byte_strides)), ("num_byte_strides", std::mem::offset_of!(PJRT_Client_BufferFromHostBuffer_Args, num_byte_strides)), ("host_buffer_semantics", std::mem::offset_of!(PJRT_Client_BufferFromHostBuffer_Args, host_buffer_semantics)), ("device", std::mem::offset_of!(PJRT_Client_BufferFromHostBuffer_Args, device)), ("memory", std::mem::offset_of!(PJRT_Client_BufferFromHostBuffer_Args, memory)), ("device_layout", std::mem::offset_of!(PJRT_Client_BufferFromHostBuffer_Args, device_layout)), ("done_with_host_buffer", std::mem::offset_of!(PJRT_Client_BufferFromHostBuffer_Args, done_with_host_buffer)), ("buffer", std::mem::offset_of!(PJRT_Client_BufferFromHostBuffer_Args, buffer))]),
    ("PJRT_Device_GetDescription_Args", PJRT_Device_GetDescription_Args::STRUCT_SIZE, &[("struct_size", std::mem::offset_of!(PJRT_Device_GetDescription_Args, struct_size)), ("extension_start", std::mem::offset_of!(PJRT_Device_GetDescription_Args, extension_start)), ("device", std::mem::offset_of!(PJRT_Device_GetDescription_Args, device)), ("device_description", std::mem::offset_of!(PJRT_Device_GetDescription_Args, device_description))]),
    ("PJRT_DeviceDescription_Id_Args", PJRT_DeviceDescription_Id_Args::STRUCT_SIZE, &[("struct_size", std::mem::offset_of!(PJRT_DeviceDescription_Id_Args, struct_size)), ("extension_start", std::mem::offset_of!(PJRT_DeviceDescription_Id_Args, extension_start)), ("device_description", std::mem::offset_of!(PJRT_DeviceDescription_Id_Args, device_description)), ("id", std::mem::offset_of!(PJRT_DeviceDescription_Id_Args, id))]),
    ("PJRT_Device_MemoryStats_Args", PJRT_Device_MemoryStats_Args::STRUCT_SIZE, &[("struct_size", std::mem::offset_of!(PJRT_Device_MemoryStats_Args, struct_size)), ("extension_start", std::mem::offset_of!(PJRT_Device_MemoryStats_Args, extension_start)), ("device", std::mem::offset_of!(PJRT_Device_MemoryStats_Args, device)), ("bytes_in_use", std::mem::offset_of!(PJRT_Device_MemoryStats_Args, bytes_in_use)), ("peak_bytes_in_use", std::mem::offset_of!(PJRT_Device_MemoryStats_Args, peak_bytes_in_use)), ("peak_bytes_in_use_is_set", std::mem::offset_of!(PJRT_Device_MemoryStats_Args, peak_bytes_in_use_is_set)), ("num_allocs", std::mem::offset_of!(PJRT_Device_MemoryStats_Args, num_allocs)), ("num_allocs_is_set", std::mem::offset_of!(PJRT_Device_MemoryStats_Args, num_allocs_is_set)), ("largest_alloc_size", std::mem::offset_of!(PJRT_Device_MemoryStats_Args, largest_alloc_size)), ("largest_alloc_size_is_set", std::mem::offset_of!(PJRT_Device_MemoryStats_Args, largest_alloc_size_is_set)), ("bytes_limit", std::mem::offset_of!(PJRT_Device_MemoryStats_Args, bytes_limit)), ("bytes_limit_is_set", std::mem::offset_of!(PJRT_Device_MemoryStats_Args, bytes_limit_is_set)), ("bytes_reserved", std::mem::offset_of!(PJRT_Device_MemoryStats_Args, bytes_reserved)), ("bytes_reserved_is_set", std::mem::offset_of!(PJRT_Device_MemoryStats_Args, bytes_reserved_is_set)), ("peak_bytes_reserved", std::mem::offset_of!(PJRT_Device_MemoryStats_Args, peak_bytes_reserved)), ("peak_bytes_reserved_is_set", std::mem::offset_of!(PJRT_Device_MemoryStats_Args, peak_bytes_reserved_is_set)), ("bytes_reservable_limit", std::mem::offset_of!(PJRT_Device_MemoryStats_Args, bytes_reservable_limit)), ("bytes_reservable_limit_is_set", std::mem::offset_of!(PJRT_Device_MemoryStats_Args, bytes_reservable_limit_is_set)), ("largest_free_block_bytes", std::mem::offset_of!(PJRT_Device_MemoryStats_Args, largest_free_block_bytes)), ("largest_free_block_bytes_is_set", std::mem::offset_of!(PJRT_Device_MemoryStats_Args, largest_free_block_bytes_is_set)), ("pool_bytes", std::mem::offset_of!(PJRT_Device_MemoryStats_Args, pool_bytes)), ("pool_bytes_is_set", std::mem::offset_of!(PJRT_Device_MemoryStats_Args, pool_bytes_is_set)), ("peak_pool_bytes", std::mem::offset_of!(PJRT_Device_MemoryStats_Args, peak_pool_bytes)), ("peak_pool_bytes_is_set", std::mem::offset_of!(PJRT_Device_MemoryStats_Args, peak_pool_bytes_is_set))]),
    ("PJRT_Executable_Destroy_Args", PJRT_Executable_Destroy_Args::STRUCT_SIZE, &[("struct_size", std::mem::offset_of!(PJRT_Executable_Destroy_Args, struct_size)), ("extension_start", std::mem::offset_of!(PJRT_Executable_Destroy_Args, extension_start)), ("executable", std::mem::offset_of!(PJRT_Executable_Destroy_Args, executable))]),
    ("PJRT_Executable_NumOutputs_Args", PJRT_Executable_NumOutputs_Args::STRUCT_SIZE, &[("struct_size", std::mem::offset_of!(PJRT_Executable_NumOutputs_Args, struct_size)), ("extension_start", std::mem::offset_of!(PJRT_Executable_NumOutputs_Args, extension_start)), ("executable", std::mem::offset_of!(PJRT_Executable_NumOutputs_Args, executable)), ("num_outputs", std::mem::offset_of!(PJRT_Executable_NumOutputs_Args, num_outputs))]),
    ("PJRT_Executable_Serialize_Args", PJRT_Executable_Serialize_Args::STRUCT_SIZE, &[("struct_size", std::mem::offset_of!(PJRT_Executable_Serialize_Args, struct_size)), ("extension_start", std::mem::offset_of!(PJRT_Executable_Serialize_Args, extension_start)), ("executable", std::mem::offset_of!(PJRT_Executable_Serialize_Args, executable)), ("serialized_bytes", std::mem::offset_of!(PJRT_Executable_Serialize_Args, serialized_bytes)), ("serialized_bytes_size", std::mem::offset_of!(PJRT_Executable_Serialize_Args, serialized_bytes_size)), ("serialized_executable", std::mem::offset_of!(PJRT_Executable_Serialize_Args, serialized_executable)), ("serialized_executable_deleter", std::mem::offset_of!(PJRT_Executable_Serialize_Args, serialized_executable_deleter))]),
    ("PJRT_Executable_DeserializeAndLoad_Args", PJRT_Executable_DeserializeAndLoad_Args::STRUCT_SIZE, &[("struct_size", std::mem::offset_of!(PJRT_Executable_DeserializeAndLoad_Args, struct_size)), ("extension_start", std::mem::offset_of!(PJRT_Executable_DeserializeAndLoad_Args, extension_start)), ("client", std::mem::offset_of!(PJRT_Executable_DeserializeAndLoad_Args, client)), ("serialized_executable", std::mem::offset_of!(PJRT_Executable_DeserializeAndLoad_Args, serialized_executable)), ("serialized_executable_size", std::mem::offset_of!(PJRT_Executable_DeserializeAndLoad_Args, serialized_executable_size)), ("loaded_executable", std::mem::offset_of!(PJRT_Executable_DeserializeAndLoad_Args, loaded_executable)), ("overridden_serialized_compile_options", std::mem::offset_of!(PJRT_Executable_DeserializeAndLoad_Args, overridden_serialized_compile_options)), ("overridden_serialized_compile_options_size", std::mem::offset_of!(PJRT_Executable_DeserializeAndLoad_Args, overridden_serialized_compile_options_size))]),
    ("PJRT_Executable_GetCompiledMemoryStats_Args", PJRT_Executable_GetCompiledMemoryStats_Args::STRUCT_SIZE, &[("struct_size", std::mem::offset_of!(PJRT_Executable_GetCompiledMemoryStats_Args, struct_size)), ("extension_start", std::mem::offset_of!(PJRT_Executable_GetCompiledMemoryStats_Args, extension_start)), ("executable", std::mem::offset_of!(PJRT_Executable_GetCompiledMemoryStats_Args, executable)), ("generated_code_size_in_bytes", std::mem::offset_of!(PJRT_Executable_GetCompiledMemoryStats_Args, generated_code_size_in_bytes)), ("argument_size_in_bytes", std::mem::offset_of!(PJRT_Executable_GetCompiledMemoryStats_Args, argument_size_in_bytes)), ("output_size_in_bytes", std::mem::offset_of!(PJRT_Executable_GetCompiledMemoryStats_Args, output_size_in_bytes)), ("alias_size_in_bytes", std::mem::offset_of!(PJRT_Executable_GetCompiledMemoryStats_Args, alias_size_in_bytes)), ("temp_size_in_bytes", std::mem::offset_of!(PJRT_Executable_GetCompiledMemoryStats_Args, temp_size_in_bytes)), ("host_generated_code_size_in_bytes", std::mem::offset_of!(PJRT_Executable_GetCompiledMemoryStats_Args, host_generated_code_size_in_bytes)), ("host_argument_size_in_bytes", std::mem::offset_of!(PJRT_Executable_GetCompiledMemoryStats_Args, host_argument_size_in_bytes)), ("host_output_size_in_bytes", std::mem::offset_of!(PJRT_Executable_GetCompiledMemoryStats_Args, host_output_size_in_bytes)), ("host_alias_size_in_bytes", std::mem::offset_of!(PJRT_Executable_GetCompiledMemoryStats_Args, host_alias_size_in_bytes)), ("host_temp_size_in_bytes", std::mem::offset_of!(PJRT_Executable_GetCompiledMemoryStats_Args, host_temp_size_in_bytes)), ("peak_memory_in_bytes", std::mem::offset_of!(PJRT_Executable_GetCompiledMemoryStats_Args, peak_memory_in_bytes))]),
    ("PJRT_Executable_GetCostAnalysis_Args", PJRT_Executable_GetCostAnalysis_Args::STRUCT_SIZE, &[("struct_size", std::mem::offset_of!(PJRT_Executable_GetCostAnalysis_Args, struct_size)), ("extension_start", std::mem::offset_of!(PJRT_Executable_GetCostAnalysis_Args, extension_start)), ("executable", std::mem::offset_of!(PJRT_Executable_GetCostAnalysis_Args, executable)), ("num_properties", std::mem::offset_of!(PJRT_Executable_GetCostAnalysis_Args, num_properties)), ("properties", std::mem::offset_of!(PJRT_Executable_GetCostAnalysis_Args, properties))]),
    ("PJRT_Executable_OptimizedProgram_Args", PJRT_Executable_OptimizedProgram_Args::STRUCT_SIZE, &[("struct_size", std::mem::offset_of!(PJRT_Executable_OptimizedProgram_Args, struct_size)), ("extension_start", std::mem::offset_of!(PJRT_Executable_OptimizedProgram_Args, extension_start)), ("executable", std::mem::offset_of!(PJRT_Executable_OptimizedProgram_Args, executable)), ("program", std::mem::offset_of!(PJRT_Executable_OptimizedProgram_Args, program))]),
    ("PJRT_Executable_OutputDimensions_Args", PJRT_Executable_OutputDimensions_Args::STRUCT_SIZE, &[("struct_size", std::mem::offset_of!(PJRT_Executable_OutputDimensions_Args, struct_size)), ("extension_start", std::mem::offset_of!(PJRT_Executable_OutputDimensions_Args, extension_start)), ("executable", std::mem::offset_of!(PJRT_Executable_OutputDimensions_Args, executable)), ("num_outputs", std::mem::offset_of!(PJRT_Executable_OutputDimensions_Args, num_outputs)), ("dims", std::mem::offset_of!(PJRT_Executable_OutputDimensions_Args, dims)), ("dim_sizes", std::mem::offset_of!(PJRT_Executable_OutputDimensions_Args, dim_sizes))]),
    ("PJRT_LoadedExecutable_Destroy_Args", PJRT_LoadedExecutable_Destroy_Args::STRUCT_SIZE, &[("struct_size", std::mem::offset_of!(PJRT_LoadedExecutable_Destroy_Args, struct_size)), ("extension_start", std::mem::offset_of!(PJRT_LoadedExecutable_Destroy_Args, extension_start)), ("executable", std::mem::offset_of!(PJRT_LoadedExecutable_Destroy_Args, executable))]),
    ("PJRT_LoadedExecutable_GetExecutable_Args", PJRT_LoadedExecutable_GetExecutable_Args::STRUCT_SIZE, &[("struct_size", std::mem::offset_of!(PJRT_LoadedExecutable_GetExecutable_Args, struct_size)), ("extension_start", std::mem::offset_of!(PJRT_LoadedExecutable_GetExecutable_Args, extension_start)), ("loaded_executable", std::mem::offset_of!(PJRT_LoadedExecutable_GetExecutable_Args, loaded_executable)), ("executable", std::mem::offset_of!(PJRT_LoadedExecutable_GetExecutable_Args, executable))]),
    ("PJRT_ExecuteOptions", PJRT_ExecuteOptions::STRUCT_SIZE, &[("struct_size", std::mem::offset_of!(PJRT_ExecuteOptions, struct_size)), ("extension_start", std::mem::offset_of!(PJRT_ExecuteOptions, extension_start)), ("send_callbacks", std::mem::offset_of!(PJRT_ExecuteOptions, send_callbacks)), ("recv_callbacks", std::mem::offset_of!(PJRT_ExecuteOptions, recv_callbacks)), ("num_send_ops", std::mem::offset_of!(PJRT_ExecuteOptions, num_send_ops)), ("num_recv_ops", std::mem::offset_of!(PJRT_ExecuteOptions, num_recv_ops)), ("launch_id", std::mem::offset_of!(PJRT_ExecuteOptions, launch_id)), ("non_donatable_input_indices", std::mem::offset_of!(PJRT_ExecuteOptions, non_donatable_input_indices)), ("num_non_donatable_input_indices", std::mem::offset_of!(PJRT_ExecuteOptions, num_non_donatable_input_indices)), ("context", std::mem::offset_of!(PJRT_ExecuteOptions, context)), ("call_location", std::mem::offset_of!(PJRT_ExecuteOptions, call_location)), ("num_tasks", std::mem::offset_of!(PJRT_ExecuteOptions, num_tasks)), ("task_ids", std::mem::offset_of!(PJRT_ExecuteOptions, task_ids)), ("incarnation_ids", std::mem::offset_of!(PJRT_ExecuteOptions, incarnation_ids))]),
    ("PJRT_LoadedExecutable_Execute_Args", PJRT_LoadedExecutable_Execute_Args::STRUCT_SIZE, &[("struct_size", std::mem::offset_of!(PJRT_LoadedExecutable_Execute_Args, struct_size)), ("extension_start", std::mem::offset_of!(PJRT_LoadedExecutable_Execute_Args, extension_start)), ("executable", std::mem::offset_of!(PJRT_LoadedExecutable_Execute_Args, executable)), ("options", std::mem::offset_of!(PJRT_LoadedExecutable_Execute_Args, options)), ("argument_lists", std::mem::offset_of!(PJRT_LoadedExecutable_Execute_Args, argument_lists)), ("num_devices", std::mem::offset_of!(PJRT_LoadedExecutable_Execute_Args, num_devices)), ("num_args", std::mem::offset_of!(PJRT_LoadedExecutable_Execute_Args, num_args)), ("output_lists", std::mem::offset_of!(PJRT_LoadedExecutable_Execute_Args, output_lists)), ("device_complete_events", std::mem::offset_of!(PJRT_LoadedExecutable_Execute_Args, device_complete_events)), ("execute_device", std::mem::offset_of!(PJRT_LoadedExecutable_Execute_Args, execute_device))]),
    ("PJRT_Buffer_Destroy_Args", PJRT_Buffer_Destroy_Args::STRUCT_SIZE, &[("struct_size", std::mem::offset_of!(PJRT_Buffer_Destroy_Args, struct_size)), ("extension_start", std::mem::offset_of!(PJRT_Buffer_Destroy_Args, extension_start)), ("buffer", std::mem::offset_of!(PJRT_Buffer_Destroy_Args, buffer))]),
    ("PJRT_Buffer_IsDeleted_Args", PJRT_Buffer_IsDeleted_Args::STRUCT_SIZE, &[("struct_size", std::mem::offset_of!(PJRT_Buffer_IsDeleted_Args, struct_size)), ("extension_start", std::mem::offset_of!(PJRT_Buffer_IsDeleted_Args, extension_start)), ("buffer", std::mem::offset_of!(PJRT_Buffer_IsDeleted_Args, buffer)), ("is_deleted", std::mem::offset_of!(PJRT_Buffer_IsDeleted_Args, is_deleted))]),
    ("PJRT_Buffer_CopyToDevice_Args", PJRT_Buffer_CopyToDevice_Args::STRUCT_SIZE, &[("struct_size", std::mem::offset_of!(PJRT_Buffer_CopyToDevice_Args, struct_size)), ("extension_start", std::mem::offset_of!(PJRT_Buffer_CopyToDevice_Args, extension_start)), ("buffer", std::mem::offset_of!(PJRT_Buffer_CopyToDevice_Args, buffer)), ("dst_device", std::mem::offset_of!(PJRT_Buffer_CopyToDevice_Args, dst_device)), ("dst_buffer", std::mem::offset_of!(PJRT_Buffer_CopyToDevice_Args, dst_buffer))]),
    ("PJRT_Buffer_ToHostBuffer_Args", PJRT_Buffer_ToHostBuffer_Args::STRUCT_SIZE, &[("struct_size", std::mem::offset_of!(PJRT_Buffer_ToHostBuffer_Args, struct_size)), ("extension_start", std::mem::offset_of!(PJRT_Buffer_ToHostBuffer_Args, extension_start)), ("src", std::mem::offset_of!(PJRT_Buffer_ToHostBuffer_Args, src)), ("host_layout", std::mem::offset_of!(PJRT_Buffer_ToHostBuffer_Args, host_layout)), ("dst", std::mem::offset_of!(PJRT_Buffer_ToHostBuffer_Args, dst)), ("dst_size", std::mem::offset_of!(PJRT_Buffer_ToHostBuffer_Args, dst_size)), ("event", std::mem::offset_of!(PJRT_Buffer_ToHostBuffer_Args, event))]),
    ("PJRT_Buffer_IsOnCpu_Args", PJRT_Buffer_IsOnCpu_Args::STRUCT_SIZE, &[("struct_size", std::mem::offset_of!(PJRT_Buffer_IsOnCpu_Args, struct_size)), ("extension_start", std::mem::offset_of!(PJRT_Buffer_IsOnCpu_Args, extension_start)), ("buffer", std::mem::offset_of!(PJRT_Buffer_IsOnCpu_Args, buffer)), ("is_on_cpu", std::mem::offset_of!(PJRT_Buffer_IsOnCpu_Args, is_on_cpu))]),
    ("PJRT_Buffer_ReadyEvent_Args", PJRT_Buffer_ReadyEvent_Args::STRUCT_SIZE, &[("struct_size", std::mem::offset_of!(PJRT_Buffer_ReadyEvent_Args, struct_size)), ("extension_start", std::mem::offset_of!(PJRT_Buffer_ReadyEvent_Args, extension_start)), ("buffer", std::mem::offset_of!(PJRT_Buffer_ReadyEvent_Args, buffer)), ("event", std::mem::offset_of!(PJRT_Buffer_ReadyEvent_Args, event))]),
    ("PJRT_Buffer_GetMemoryLayout_Args", PJRT_Buffer_GetMemoryLayout_Args::STRUCT_SIZE, &[("struct_size", std::mem::offset_of!(PJRT_Buffer_GetMemoryLayout_Args, struct_size)), ("extension_start", std::mem::offset_of!(PJRT_Buffer_GetMemoryLayout_Args, extension_start)), ("buffer", std::mem::offset_of!(PJRT_Buffer_GetMemoryLayout_Args, buffer)), ("layout", std::mem::offset_of!(PJRT_Buffer_GetMemoryLayout_Args, layout))]),
    ("PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args", PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args::STRUCT_SIZE, &[("struct_size", std::mem::offset_of!(PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args, struct_size)), ("extension_start", std::mem::offset_of!(PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args, extension_start)), ("buffer", std::mem::offset_of!(PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args, buffer)), ("device_memory_ptr", std::mem::offset_of!(PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args, device_memory_ptr))]),
    ("PJRT_Buffer_IncreaseExternalReferenceCount_Args", PJRT_Buffer_IncreaseExternalReferenceCount_Args::STRUCT_SIZE, &[("struct_size", std::mem::offset_of!(PJRT_Buffer_IncreaseExternalReferenceCount_Args, struct_size)), ("extension_start", std::mem::offset_of!(PJRT_Buffer_IncreaseExternalReferenceCount_Args, extension_start)), ("buffer", std::mem::offset_of!(PJRT_Buffer_IncreaseExternalReferenceCount_Args, buffer))]),
    ("PJRT_Buffer_DecreaseExternalReferenceCount_Args", PJRT_Buffer_DecreaseExternalReferenceCount_Args::STRUCT_SIZE, &[("struct_size", std::mem::offset_of!(PJRT_Buffer_DecreaseExternalReferenceCount_Args, struct_size)), ("extension_start", std::mem::offset_of!(PJRT_Buffer_DecreaseExternalReferenceCount_Args, extension_start)), ("buffer", std::mem::offset_of!(PJRT_Buffer_DecreaseExternalReferenceCount_Args, buffer))]),
    ("PJRT_Api", size_of::<PJRT_Api>(), &[("PJRT_Error_Destroy", std::mem::offset_of!(PJRT_Api, PJRT_Error_Destroy)), ("PJRT_Error_Message", std::mem::offset_of!(PJRT_Api, PJRT_Error_Message)), ("PJRT_Error_GetCode", std::mem::offset_of!(PJRT_Api, PJRT_Error_GetCode)), ("PJRT_Plugin_Initialize", std::mem::offset_of!(PJRT_Api, PJRT_Plugin_Initialize)), ("PJRT_Plugin_Attributes", std::mem::offset_of!(PJRT_Api, PJRT_Plugin_Attributes)), ("PJRT_Event_Destroy", std::mem::offset_of!(PJRT_Api, PJRT_Event_Destroy)), ("PJRT_Event_IsReady", std::mem::offset_of!(PJRT_Api, PJRT_Event_IsReady)), ("PJRT_Event_Error", std::mem::offset_of!(PJRT_Api, PJRT_Event_Error)), ("PJRT_Event_Await", std::mem::offset_of!(PJRT_Api, PJRT_Event_Await)), ("PJRT_Event_OnReady", std::mem::offset_of!(PJRT_Api, PJRT_Event_OnReady)), ("PJRT_Client_Create", std::mem::offset_of!(PJRT_Api, PJRT_Client_Create)), ("PJRT_Client_Destroy", std::mem::offset_of!(PJRT_Api, PJRT_Client_Destroy)), ("PJRT_Client_PlatformName", std::mem::offset_of!(PJRT_Api, PJRT_Client_PlatformName)), ("PJRT_Client_ProcessIndex", std::mem::offset_of!(PJRT_Api, PJRT_Client_ProcessIndex)), ("PJRT_Client_PlatformVersion", std::mem::offset_of!(PJRT_Api, PJRT_Client_PlatformVersion)), ("PJRT_Client_Devices", std::mem::offset_of!(PJRT_Api, PJRT_Client_Devices)), ("PJRT_Client_AddressableDevices", std::mem::offset_of!(PJRT_Api, PJRT_Client_AddressableDevices)), ("PJRT_Client_LookupDevice", std::mem::offset_of!(PJRT_Api, PJRT_Client_LookupDevice)), ("PJRT_Client_LookupAddressableDevice", std::mem::offset_of!(PJRT_Api, PJRT_Client_LookupAddressableDevice)), ("PJRT_Client_AddressableMemories", std::mem::offset_of!(PJRT_Api, PJRT_Client_AddressableMemories)), ("PJRT_Client_Compile", std::mem::offset_of!(PJRT_Api, PJRT_Client_Compile)), ("PJRT_Client_DefaultDeviceAssignment", std::mem::offset_of!(PJRT_Api, PJRT_Client_DefaultDeviceAssignment)), ("PJRT_Client_BufferFromHostBuffer", std::mem::offset_of!(PJRT_Api, PJRT_Client_BufferFromHostBuffer)), ("PJRT_DeviceDescription_Id", std::mem::offset_of!(PJRT_Api, PJRT_DeviceDescription_Id)), ("PJRT_DeviceDescription_ProcessIndex", std::mem::offset_of!(PJRT_Api, PJRT_DeviceDescription_ProcessIndex)), ("PJRT_DeviceDescription_Attributes", std::mem::offset_of!(PJRT_Api, PJRT_DeviceDescription_Attributes)), ("PJRT_DeviceDescription_Kind", std::mem::offset_of!(PJRT_Api, PJRT_DeviceDescription_Kind)), ("PJRT_DeviceDescription_DebugString", std::mem::offset_of!(PJRT_Api, PJRT_DeviceDescription_DebugString)), ("PJRT_DeviceDescription_ToString", std::mem::offset_of!(PJRT_Api, PJRT_DeviceDescription_ToString)), ("PJRT_Device_GetDescription", std::mem::offset_of!(PJRT_Api, PJRT_Device_GetDescription)), ("PJRT_Device_IsAddressable", std::mem::offset_of!(PJRT_Api, PJRT_Device_IsAddressable)), ("PJRT_Device_LocalHardwareId", std::mem::offset_of!(PJRT_Api, PJRT_Device_LocalHardwareId)), ("PJRT_Device_AddressableMemories", std::mem::offset_of!(PJRT_Api, PJRT_Device_AddressableMemories)), ("PJRT_Device_DefaultMemory", std::mem::offset_of!(PJRT_Api, PJRT_Device_DefaultMemory)), ("PJRT_Device_MemoryStats", std::mem::offset_of!(PJRT_Api, PJRT_Device_MemoryStats)), ("PJRT_Memory_Id", std::mem::offset_of!(PJRT_Api, PJRT_Memory_Id)), ("PJRT_Memory_Kind", std::mem::offset_of!(PJRT_Api, PJRT_Memory_Kind)), ("PJRT_Memory_DebugString", std::mem::offset_of!(PJRT_Api, PJRT_Memory_DebugString)), ("PJRT_Memory_ToString", std::mem::offset_of!(PJRT_Api, PJRT_Memory_ToString)), ("PJRT_Memory_AddressableByDevices", std::mem::offset_of!(PJRT_Api, PJRT_Memory_AddressableByDevices)), ("PJRT_Executable_Destroy", std::mem::offset_of!(PJRT_Api, PJRT_Executable_Destroy)), ("PJRT_Executable_Name", std::mem::offset_of!(PJRT_Api, PJRT_Executable_Name)), ("PJRT_Executable_NumReplicas", std::mem::offset_of!(PJRT_Api, PJRT_Executable_NumReplicas)), ("PJRT_Executable_NumPartitions", std::mem::offset_of!(PJRT_Api, PJRT_Executable_NumPartitions)), ("PJRT_Executable_NumOutputs", std::mem::offset_of!(PJRT_Api, PJRT_Executable_NumOutputs)), ("PJRT_Executable_SizeOfGeneratedCodeInBytes", std::mem::offset_of!(PJRT_Api, PJRT_Executable_SizeOfGeneratedCodeInBytes)), ("PJRT_Executable_GetCostAnalysis", std::mem::offset_of!(PJRT_Api, PJRT_Executable_GetCostAnalysis)), ("PJRT_Executable_OutputMemoryKinds", std::mem::offset_of!(PJRT_Api, PJRT_Executable_OutputMemoryKinds)), ("PJRT_Executable_OptimizedProgram", std::mem::offset_of!(PJRT_Api, PJRT_Executable_OptimizedProgram)), ("PJRT_Executable_Serialize", std::mem::offset_of!(PJRT_Api, PJRT_Executable_Serialize)), ("PJRT_LoadedExecutable_Destroy", std::mem::offset_of!(PJRT_Api, PJRT_LoadedExecutable_Destroy)), ("PJRT_LoadedExecutable_GetExecutable", std::mem::offset_of!(PJRT_Api, PJRT_LoadedExecutable_GetExecutable)), ("PJRT_LoadedExecutable_AddressableDevices", std::mem::offset_of!(PJRT_Api, PJRT_LoadedExecutable_AddressableDevices)), ("PJRT_LoadedExecutable_Delete", std::mem::offset_of!(PJRT_Api, PJRT_LoadedExecutable_Delete)), ("PJRT_LoadedExecutable_IsDeleted", std::mem::offset_of!(PJRT_Api, PJRT_LoadedExecutable_IsDeleted)), ("PJRT_LoadedExecutable_Execute", std::mem::offset_of!(PJRT_Api, PJRT_LoadedExecutable_Execute)), ("PJRT_Executable_DeserializeAndLoad", std::mem::offset_of!(PJRT_Api, PJRT_Executable_DeserializeAndLoad)), ("PJRT_LoadedExecutable_Fingerprint", std::mem::offset_of!(PJRT_Api, PJRT_LoadedExecutable_Fingerprint)), ("PJRT_Buffer_Destroy", std::mem::offset_of!(PJRT_Api, PJRT_Buffer_Destroy)), ("PJRT_Buffer_ElementType", std::mem::offset_of!(PJRT_Api, PJRT_Buffer_ElementType)), ("PJRT_Buffer_Dimensions", std::mem::offset_of!(PJRT_Api, PJRT_Buffer_Dimensions)), ("PJRT_Buffer_UnpaddedDimensions", std::mem::offset_of!(PJRT_Api, PJRT_Buffer_UnpaddedDimensions)), ("PJRT_Buffer_DynamicDimensionIndices", std::mem::offset_of!(PJRT_Api, PJRT_Buffer_DynamicDimensionIndices)), ("PJRT_Buffer_GetMemoryLayout", std::mem::offset_of!(PJRT_Api, PJRT_Buffer_GetMemoryLayout)), ("PJRT_Buffer_OnDeviceSizeInBytes", std::mem::offset_of!(PJRT_Api, PJRT_Buffer_OnDeviceSizeInBytes)), ("PJRT_Buffer_Device", std::mem::offset_of!(PJRT_Api, PJRT_Buffer_Device)), ("PJRT_Buffer_Memory", std::mem::offset_of!(PJRT_Api, PJRT_Buffer_Memory)), ("PJRT_Buffer_Delete", std::mem::offset_of!(PJRT_Api, PJRT_Buffer_Delete)), ("PJRT_Buffer_IsDeleted", std::mem::offset_of!(PJRT_Api, PJRT_Buffer_IsDeleted)), ("PJRT_Buffer_CopyToDevice", std::mem::offset_of!(PJRT_Api, PJRT_Buffer_CopyToDevice)), ("PJRT_Buffer_ToHostBuffer", std::mem::offset_of!(PJRT_Api, PJRT_Buffer_ToHostBuffer)), ("PJRT_Buffer_IsOnCpu", std::mem::offset_of!(PJRT_Api, PJRT_Buffer_IsOnCpu)), ("PJRT_Buffer_ReadyEvent", std::mem::offset_of!(PJRT_Api, PJRT_Buffer_ReadyEvent)), ("PJRT_Buffer_UnsafePointer", std::mem::offset_of!(PJRT_Api, PJRT_Buffer_UnsafePointer)), ("PJRT_Buffer_IncreaseExternalReferenceCount", std::mem::offset_of!(PJRT_Api, PJRT_Buffer_IncreaseExternalReferenceCount)), ("PJRT_Buffer_DecreaseExternalReferenceCount", std::mem::offset_of!(PJRT_Api, PJRT_Buffer_DecreaseExternalReferenceCount)), ("PJRT_Buffer_OpaqueDeviceMemoryDataPointer", std::mem::offset_of!(PJRT_Api, PJRT_Buffer_OpaqueDeviceMemoryDataPointer)), ("PJRT_CopyToDeviceStream_Destroy", std::mem::offset_of!(PJRT_Api, PJRT_CopyToDeviceStream_Destroy)), ("PJRT_CopyToDeviceStream_AddChunk", std::mem::offset_of!(PJRT_Api, PJRT_CopyToDeviceStream_AddChunk)), ("PJRT_CopyToDeviceStream_TotalBytes", std::mem::offset_of!(PJRT_Api, PJRT_CopyToDeviceStream_TotalBytes)), ("PJRT_CopyToDeviceStream_GranuleSize", std::mem::offset_of!(PJRT_Api, PJRT_CopyToDeviceStream_GranuleSize)), ("PJRT_CopyToDeviceStream_CurrentBytes", std::mem::offset_of!(PJRT_Api, PJRT_CopyToDeviceStream_CurrentBytes)), ("PJRT_TopologyDescription_Create", std::mem::offset_of!(PJRT_Api, PJRT_TopologyDescription_Create)), ("PJRT_TopologyDescription_Destroy", std::mem::offset_of!(PJRT_Api, PJRT_TopologyDescription_Destroy)), ("PJRT_TopologyDescription_PlatformName", std::mem::offset_of!(PJRT_Api, PJRT_TopologyDescription_PlatformName)), ("PJRT_TopologyDescription_PlatformVersion", std::mem::offset_of!(PJRT_Api, PJRT_TopologyDescription_PlatformVersion)), ("PJRT_TopologyDescription_GetDeviceDescriptions", std::mem::offset_of!(PJRT_Api, PJRT_TopologyDescription_GetDeviceDescriptions)), ("PJRT_TopologyDescription_Serialize", std::mem::offset_of!(PJRT_Api, PJRT_TopologyDescription_Serialize)), ("PJRT_TopologyDescription_Attributes", std::mem::offset_of!(PJRT_Api, PJRT_TopologyDescription_Attributes)), ("PJRT_Compile", std::mem::offset_of!(PJRT_Api, PJRT_Compile)), ("PJRT_Executable_OutputElementTypes", std::mem::offset_of!(PJRT_Api, PJRT_Executable_OutputElementTypes)), ("PJRT_Executable_OutputDimensions", std::mem::offset_of!(PJRT_Api, PJRT_Executable_OutputDimensions)), ("PJRT_Buffer_CopyToMemory", std::mem::offset_of!(PJRT_Api, PJRT_Buffer_CopyToMemory)), ("PJRT_Client_CreateViewOfDeviceBuffer", std::mem::offset_of!(PJRT_Api, PJRT_Client_CreateViewOfDeviceBuffer)), ("PJRT_Executable_Fingerprint", std::mem::offset_of!(PJRT_Api, PJRT_Executable_Fingerprint)), ("PJRT_Client_TopologyDescription", std::mem::offset_of!(PJRT_Api, PJRT_Client_TopologyDescription)), ("PJRT_Executable_GetCompiledMemoryStats", std::mem::offset_of!(PJRT_Api, PJRT_Executable_GetCompiledMemoryStats)), ("PJRT_Memory_Kind_Id", std::mem::offset_of!(PJRT_Api, PJRT_Memory_Kind_Id)), ("PJRT_ExecuteContext_Create", std::mem::offset_of!(PJRT_Api, PJRT_ExecuteContext_Create)), ("PJRT_ExecuteContext_Destroy", std::mem::offset_of!(PJRT_Api, PJRT_ExecuteContext_Destroy)), ("PJRT_Buffer_CopyRawToHost", std::mem::offset_of!(PJRT_Api, PJRT_Buffer_CopyRawToHost)), ("PJRT_AsyncHostToDeviceTransferManager_Destroy", std::mem::offset_of!(PJRT_Api, PJRT_AsyncHostToDeviceTransferManager_Destroy)), ("PJRT_AsyncHostToDeviceTransferManager_TransferData", std::mem::offset_of!(PJRT_Api, PJRT_AsyncHostToDeviceTransferManager_TransferData)), ("PJRT_Client_CreateBuffersForAsyncHostToDevice", std::mem::offset_of!(PJRT_Api, PJRT_Client_CreateBuffersForAsyncHostToDevice)), ("PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer", std::mem::offset_of!(PJRT_Api, PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer)), ("PJRT_AsyncHostToDeviceTransferManager_Device", std::mem::offset_of!(PJRT_Api, PJRT_AsyncHostToDeviceTransferManager_Device)), ("PJRT_AsyncHostToDeviceTransferManager_BufferCount", std::mem::offset_of!(PJRT_Api, PJRT_AsyncHostToDeviceTransferManager_BufferCount)), ("PJRT_AsyncHostToDeviceTransferManager_BufferSize", std::mem::offset_of!(PJRT_Api, PJRT_AsyncHostToDeviceTransferManager_BufferSize)), ("PJRT_AsyncHostToDeviceTransferManager_SetBufferError", std::mem::offset_of!(PJRT_Api, PJRT_AsyncHostToDeviceTransferManager_SetBufferError)), ("PJRT_AsyncHostToDeviceTransferManager_AddMetadata", std::mem::offset_of!(PJRT_Api, PJRT_AsyncHostToDeviceTransferManager_AddMetadata)), ("PJRT_Client_DmaMap", std::mem::offset_of!(PJRT_Api, PJRT_Client_DmaMap)), ("PJRT_Client_DmaUnmap", std::mem::offset_of!(PJRT_Api, PJRT_Client_DmaUnmap)), ("PJRT_Client_CreateUninitializedBuffer", std::mem::offset_of!(PJRT_Api, PJRT_Client_CreateUninitializedBuffer)), ("PJRT_Client_UpdateGlobalProcessInfo", std::mem::offset_of!(PJRT_Api, PJRT_Client_UpdateGlobalProcessInfo)), ("PJRT_TopologyDescription_Deserialize", std::mem::offset_of!(PJRT_Api, PJRT_TopologyDescription_Deserialize)), ("PJRT_Client_CreateAliasBuffer", std::mem::offset_of!(PJRT_Api, PJRT_Client_CreateAliasBuffer)), ("PJRT_Client_FulfillAliasBuffer", std::mem::offset_of!(PJRT_Api, PJRT_Client_FulfillAliasBuffer)), ("PJRT_LoadedExecutable_GetDeviceAssignment", std::mem::offset_of!(PJRT_Api, PJRT_LoadedExecutable_GetDeviceAssignment))]),
];
