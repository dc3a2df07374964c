//! Declarations of the C API. Written by tools/python_binding.py from include/lazyxla.json; do not edit.
#![allow(missing_docs, non_camel_case_types, dead_code)]

use std::ffi::{c_char, c_void};

pub const LXLA_OK: i32 = 0;
pub const LXLA_CANCELLED: i32 = 1;
pub const LXLA_UNKNOWN: i32 = 2;
pub const LXLA_INVALID_ARGUMENT: i32 = 3;
pub const LXLA_DEADLINE_EXCEEDED: i32 = 4;
pub const LXLA_NOT_FOUND: i32 = 5;
pub const LXLA_ALREADY_EXISTS: i32 = 6;
pub const LXLA_PERMISSION_DENIED: i32 = 7;
pub const LXLA_RESOURCE_EXHAUSTED: i32 = 8;
pub const LXLA_FAILED_PRECONDITION: i32 = 9;
pub const LXLA_ABORTED: i32 = 10;
pub const LXLA_OUT_OF_RANGE: i32 = 11;
pub const LXLA_UNIMPLEMENTED: i32 = 12;
pub const LXLA_INTERNAL: i32 = 13;
pub const LXLA_UNAVAILABLE: i32 = 14;
pub const LXLA_DATA_LOSS: i32 = 15;
pub const LXLA_UNAUTHENTICATED: i32 = 16;
pub const LXLA_INVALID_HANDLE: i32 = 64;
pub const LXLA_NULL_ARGUMENT: i32 = 65;
pub const LXLA_PANIC: i32 = 66;
pub const LXLA_FORKED: i32 = 67;
pub const LXLA_DTYPE_PRED: i32 = 1;
pub const LXLA_DTYPE_S8: i32 = 2;
pub const LXLA_DTYPE_S16: i32 = 3;
pub const LXLA_DTYPE_S32: i32 = 4;
pub const LXLA_DTYPE_S64: i32 = 5;
pub const LXLA_DTYPE_U8: i32 = 6;
pub const LXLA_DTYPE_U16: i32 = 7;
pub const LXLA_DTYPE_U32: i32 = 8;
pub const LXLA_DTYPE_U64: i32 = 9;
pub const LXLA_DTYPE_F16: i32 = 10;
pub const LXLA_DTYPE_F32: i32 = 11;
pub const LXLA_DTYPE_F64: i32 = 12;
pub const LXLA_DTYPE_BF16: i32 = 13;
pub const LXLA_DTYPE_C64: i32 = 14;
pub const LXLA_DTYPE_C128: i32 = 15;
pub const LXLA_DTYPE_F8E5M2: i32 = 16;
pub const LXLA_DTYPE_F8E4M3FN: i32 = 17;
pub const LXLA_DTYPE_F8E4M3B11FNUZ: i32 = 18;
pub const LXLA_DTYPE_F8E5M2FNUZ: i32 = 19;
pub const LXLA_DTYPE_F8E4M3FNUZ: i32 = 20;
pub const LXLA_DTYPE_S4: i32 = 21;
pub const LXLA_DTYPE_U4: i32 = 22;
pub const LXLA_DTYPE_S2: i32 = 24;
pub const LXLA_DTYPE_U2: i32 = 25;
pub const LXLA_DTYPE_F8E4M3: i32 = 26;
pub const LXLA_DTYPE_F8E3M4: i32 = 27;
pub const LXLA_DTYPE_F8E8M0FNU: i32 = 28;
pub const LXLA_DTYPE_F4E2M1FN: i32 = 29;
pub const LXLA_KIND_PRED: i32 = 1;
pub const LXLA_KIND_SIGNED: i32 = 2;
pub const LXLA_KIND_UNSIGNED: i32 = 3;
pub const LXLA_KIND_FLOAT: i32 = 4;
pub const LXLA_KIND_COMPLEX: i32 = 5;
pub const LXLA_ON: i32 = 1;
pub const LXLA_OFF: i32 = 2;
pub const LXLA_MIXED_ERROR: i32 = 1;
pub const LXLA_MIXED_COPY: i32 = 2;
pub const LXLA_MIXED_SCALAR: i32 = 3;
pub const LXLA_DEVICE_UNSPECIFIED: i32 = 0;
pub const LXLA_DEVICE_CPU: i32 = 1;
pub const LXLA_DEVICE_XLA: i32 = 2;
pub const LXLA_DEVICE_MESH: i32 = 3;
pub const LXLA_STATE_PENDING: i32 = 1;
pub const LXLA_STATE_READY: i32 = 2;
pub const LXLA_STATE_PLACEHOLDER: i32 = 3;
pub const LXLA_STATE_NATIVE: i32 = 4;
pub const LXLA_STATE_FAILED: i32 = 5;
pub const LXLA_UNARY_NEGATE: i32 = 1;
pub const LXLA_UNARY_ABS: i32 = 2;
pub const LXLA_UNARY_SIGN: i32 = 3;
pub const LXLA_UNARY_EXPONENTIAL: i32 = 4;
pub const LXLA_UNARY_EXPONENTIAL_MINUS_ONE: i32 = 5;
pub const LXLA_UNARY_LOG: i32 = 6;
pub const LXLA_UNARY_LOG_PLUS_ONE: i32 = 7;
pub const LXLA_UNARY_LOGISTIC: i32 = 8;
pub const LXLA_UNARY_TANH: i32 = 9;
pub const LXLA_UNARY_SQRT: i32 = 10;
pub const LXLA_UNARY_RSQRT: i32 = 11;
pub const LXLA_UNARY_CBRT: i32 = 12;
pub const LXLA_UNARY_SINE: i32 = 13;
pub const LXLA_UNARY_COSINE: i32 = 14;
pub const LXLA_UNARY_TAN: i32 = 15;
pub const LXLA_UNARY_FLOOR: i32 = 16;
pub const LXLA_UNARY_CEIL: i32 = 17;
pub const LXLA_UNARY_ROUND_NEAREST_EVEN: i32 = 18;
pub const LXLA_UNARY_ROUND_NEAREST_AFZ: i32 = 19;
pub const LXLA_UNARY_NOT: i32 = 20;
pub const LXLA_UNARY_POPCNT: i32 = 21;
pub const LXLA_UNARY_COUNT_LEADING_ZEROS: i32 = 22;
pub const LXLA_UNARY_IS_FINITE: i32 = 23;
pub const LXLA_UNARY_IS_NAN: i32 = 24;
pub const LXLA_UNARY_IS_INF: i32 = 25;
pub const LXLA_UNARY_SIGNBIT: i32 = 26;
pub const LXLA_UNARY_TRUNC: i32 = 27;
pub const LXLA_UNARY_LOG2: i32 = 28;
pub const LXLA_UNARY_LOG10: i32 = 29;
pub const LXLA_UNARY_CONJ: i32 = 30;
pub const LXLA_UNARY_SINH: i32 = 31;
pub const LXLA_UNARY_COSH: i32 = 32;
pub const LXLA_UNARY_ASIN: i32 = 33;
pub const LXLA_UNARY_ACOS: i32 = 34;
pub const LXLA_UNARY_ATAN: i32 = 35;
pub const LXLA_UNARY_ASINH: i32 = 36;
pub const LXLA_UNARY_ACOSH: i32 = 37;
pub const LXLA_UNARY_ATANH: i32 = 38;
pub const LXLA_UNARY_LGAMMA: i32 = 39;
pub const LXLA_UNARY_DIGAMMA: i32 = 40;
pub const LXLA_UNARY_ERF_INV: i32 = 41;
pub const LXLA_UNARY_BESSEL_I1E: i32 = 42;
pub const LXLA_UNARY_BESSEL_I0E: i32 = 43;
pub const LXLA_UNARY_TRIGAMMA: i32 = 44;
pub const LXLA_UNARY_BESSEL_J0: i32 = 45;
pub const LXLA_UNARY_BESSEL_J1: i32 = 46;
pub const LXLA_UNARY_BESSEL_Y0: i32 = 47;
pub const LXLA_UNARY_BESSEL_Y1: i32 = 48;
pub const LXLA_UNARY_BESSEL_K0: i32 = 49;
pub const LXLA_UNARY_BESSEL_K1: i32 = 50;
pub const LXLA_UNARY_BESSEL_K0E: i32 = 51;
pub const LXLA_UNARY_BESSEL_K1E: i32 = 52;
pub const LXLA_UNARY_AIRY_AI: i32 = 53;
pub const LXLA_UNARY_AIRY_AI_PRIME: i32 = 54;
pub const LXLA_UNARY_AIRY_BI: i32 = 55;
pub const LXLA_UNARY_AIRY_BI_PRIME: i32 = 56;
pub const LXLA_BINARY_ADD: i32 = 1;
pub const LXLA_BINARY_SUBTRACT: i32 = 2;
pub const LXLA_BINARY_MULTIPLY: i32 = 3;
pub const LXLA_BINARY_DIVIDE: i32 = 4;
pub const LXLA_BINARY_REMAINDER: i32 = 5;
pub const LXLA_BINARY_POWER: i32 = 6;
pub const LXLA_BINARY_MAXIMUM: i32 = 7;
pub const LXLA_BINARY_MINIMUM: i32 = 8;
pub const LXLA_BINARY_ATAN2: i32 = 9;
pub const LXLA_BINARY_AND: i32 = 10;
pub const LXLA_BINARY_OR: i32 = 11;
pub const LXLA_BINARY_XOR: i32 = 12;
pub const LXLA_BINARY_SHIFT_LEFT: i32 = 13;
pub const LXLA_BINARY_SHIFT_RIGHT_ARITHMETIC: i32 = 14;
pub const LXLA_BINARY_SHIFT_RIGHT_LOGICAL: i32 = 15;
pub const LXLA_BINARY_FLOOR_DIVIDE: i32 = 16;
pub const LXLA_BINARY_MODULO: i32 = 17;
pub const LXLA_BINARY_COPYSIGN: i32 = 18;
pub const LXLA_BINARY_HYPOT: i32 = 19;
pub const LXLA_BINARY_LOGADDEXP: i32 = 20;
pub const LXLA_BINARY_NEXT_AFTER: i32 = 21;
pub const LXLA_BINARY_POLYGAMMA: i32 = 22;
pub const LXLA_BINARY_ZETA: i32 = 23;
pub const LXLA_BINARY_IGAMMA: i32 = 24;
pub const LXLA_BINARY_IGAMMAC: i32 = 25;
pub const LXLA_BINARY_IGAMMA_GRAD_A: i32 = 26;
pub const LXLA_COMPARE_EQ: i32 = 1;
pub const LXLA_COMPARE_NE: i32 = 2;
pub const LXLA_COMPARE_GE: i32 = 3;
pub const LXLA_COMPARE_GT: i32 = 4;
pub const LXLA_COMPARE_LE: i32 = 5;
pub const LXLA_COMPARE_LT: i32 = 6;
pub const LXLA_SPECIAL_ERF: i32 = 1;
pub const LXLA_SPECIAL_ERFC: i32 = 2;
pub const LXLA_SPECIAL_NORMAL_CDF: i32 = 3;
pub const LXLA_SPECIAL_ERFCX: i32 = 4;
pub const LXLA_SCATTER_COPY: i32 = 1;
pub const LXLA_SCATTER_SUM: i32 = 2;
pub const LXLA_SCATTER_PRODUCT: i32 = 3;
pub const LXLA_SCATTER_MAX: i32 = 4;
pub const LXLA_SCATTER_MIN: i32 = 5;
pub const LXLA_REDUCE_SUM: i32 = 1;
pub const LXLA_REDUCE_PRODUCT: i32 = 2;
pub const LXLA_REDUCE_MAX: i32 = 3;
pub const LXLA_REDUCE_MIN: i32 = 4;
pub const LXLA_REDUCE_ALL: i32 = 5;
pub const LXLA_REDUCE_ANY: i32 = 6;
pub const LXLA_TRANSPOSE_NO_TRANSPOSE: i32 = 1;
pub const LXLA_TRANSPOSE_TRANSPOSE: i32 = 2;
pub const LXLA_TRANSPOSE_ADJOINT: i32 = 3;
pub const LXLA_FFT_FFT: i32 = 1;
pub const LXLA_FFT_IFFT: i32 = 2;
pub const LXLA_FFT_RFFT: i32 = 3;
pub const LXLA_FFT_IRFFT: i32 = 4;
pub const LXLA_ACTIVATION_RELU: i32 = 1;
pub const LXLA_ACTIVATION_GELU: i32 = 2;
pub const LXLA_ACTIVATION_GELU_TANH: i32 = 3;
pub const LXLA_ACTIVATION_SILU: i32 = 4;
pub const LXLA_ACTIVATION_RELU6: i32 = 5;
pub const LXLA_ACTIVATION_ELU: i32 = 6;
pub const LXLA_ACTIVATION_SELU: i32 = 7;
pub const LXLA_ACTIVATION_SOFTPLUS: i32 = 8;
pub const LXLA_ACTIVATION_MISH: i32 = 9;
pub const LXLA_ACTIVATION_LOG_SIGMOID: i32 = 10;
pub const LXLA_ACTIVATION_HARD_SIGMOID: i32 = 11;
pub const LXLA_ACTIVATION_HARD_SWISH: i32 = 12;
pub const LXLA_RNG_THREE_FRY: i32 = 1;
pub const LXLA_RNG_PHILOX: i32 = 2;
pub const LXLA_CUSTOM_CALL_ORIGINAL: i32 = 1;
pub const LXLA_CUSTOM_CALL_STATUS_RETURNING: i32 = 2;
pub const LXLA_CUSTOM_CALL_STATUS_RETURNING_UNIFIED: i32 = 3;
pub const LXLA_CUSTOM_CALL_TYPED_FFI: i32 = 4;
pub const LXLA_CHECKPOINT_SAVE_ALL: i32 = 1;
pub const LXLA_CHECKPOINT_SAVE_NONE: i32 = 2;
pub const LXLA_CHECKPOINT_SAVE_DOTS: i32 = 3;
pub const LXLA_CHECKPOINT_SAVE_NAMED: i32 = 4;
pub const LXLA_EXPORT_FOLDER: i32 = 1;
pub const LXLA_EXPORT_TEXT: i32 = 2;
pub const LXLA_EXPORT_JAX: i32 = 3;

pub type lxla_status = i32;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct lxla_tensor {
    pub id: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct lxla_env {
    pub id: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct lxla_save_ticket {
    pub id: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct lxla_computation {
    pub id: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct lxla_executable {
    pub id: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct lxla_mesh {
    pub id: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct lxla_device {
    pub kind: i32,
    pub ordinal: i32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct lxla_env_options {
    pub struct_size: usize,
    pub plugin_path: *const c_char,
    pub cache_dir: *const c_char,
    pub cache_capacity: usize,
    pub max_program_ops: usize,
    pub device_count: i32,
    pub use_native_for_cpu_tensor: i32,
    pub mixed_device_policy: i32,
    pub donation: i32,
    pub process_id: i32,
    pub process_count: i32,
    pub key_value_store: *const lxla_key_value_store,
    pub plugin_options: *const c_char,
    pub engine: *const c_char,
    pub dynamic_sizes: *const c_char,
    pub threads: i32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct lxla_key_value_store {
    pub struct_size: usize,
    pub user: *mut c_void,
    pub get: lxla_key_value_get_fn,
    pub put: lxla_key_value_put_fn,
    pub try_get: lxla_key_value_try_get_fn,
}

pub type lxla_key_value_reply_fn = Option<unsafe extern "C" fn(*mut c_void, *const c_void, usize)>;

pub type lxla_key_value_get_fn = Option<
    unsafe extern "C" fn(*mut c_void, *const c_char, usize, i64, lxla_key_value_reply_fn, *mut c_void) -> lxla_status,
>;

pub type lxla_key_value_put_fn = Option<
    unsafe extern "C" fn(
        *mut c_void,
        *const c_char,
        usize,
        *const c_void,
        usize,
        lxla_key_value_reply_fn,
        *mut c_void,
    ) -> lxla_status,
>;

pub type lxla_key_value_try_get_fn = Option<
    unsafe extern "C" fn(*mut c_void, *const c_char, usize, lxla_key_value_reply_fn, *mut c_void) -> lxla_status,
>;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct lxla_attention_options {
    pub struct_size: usize,
    pub scale: f64,
    pub causal: i32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct lxla_convolution_options {
    pub struct_size: usize,
    pub spatial_rank: usize,
    pub window_strides: *const i64,
    pub padding_low: *const i64,
    pub padding_high: *const i64,
    pub lhs_dilation: *const i64,
    pub rhs_dilation: *const i64,
    pub window_reversal: *const i32,
    pub lhs_dimensions: *const i64,
    pub rhs_dimensions: *const i64,
    pub out_dimensions: *const i64,
    pub feature_group_count: i64,
    pub batch_group_count: i64,
    pub dtype: i32,
    pub reserved: i32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct lxla_memory_stats {
    pub struct_size: usize,
    pub argument_bytes: u64,
    pub output_bytes: u64,
    pub alias_bytes: u64,
    pub temp_bytes: u64,
    pub code_bytes: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct lxla_custom_call_options {
    pub struct_size: usize,
    pub backend_config: *const c_char,
    pub api_version: i32,
    pub has_side_effect: i32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct lxla_save_options {
    pub struct_size: usize,
    pub metadata_keys: *const *const c_char,
    pub metadata_values: *const *const c_char,
    pub n_metadata: usize,
    pub keep_metadata: i32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct lxla_import_options {
    pub struct_size: usize,
    pub function: *const c_char,
    pub ranks: *const usize,
    pub dims: *const i64,
    pub n_parameters: usize,
    pub mesh: lxla_mesh,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct lxla_export_options {
    pub struct_size: usize,
    pub format: i32,
    pub vjp_order: i32,
    pub stablehlo_version: *const c_char,
    pub parameter_names: *const *const c_char,
    pub n_parameter_names: usize,
    pub result_names: *const *const c_char,
    pub n_result_names: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct lxla_executable_options {
    pub struct_size: usize,
    pub donated: *const usize,
    pub n_donated: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct lxla_vjp_options {
    pub struct_size: usize,
    pub wrt: *const usize,
    pub n_wrt: usize,
    pub captured: i32,
    pub checkpoint: i32,
    pub saved_names: *const *const c_char,
    pub n_saved_names: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct lxla_gradients_options {
    pub struct_size: usize,
    pub require_connected: i32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct lxla_gather_options {
    pub struct_size: usize,
    pub offset_dims: *const i64,
    pub n_offset_dims: usize,
    pub collapsed_slice_dims: *const i64,
    pub n_collapsed_slice_dims: usize,
    pub operand_batching_dims: *const i64,
    pub n_operand_batching_dims: usize,
    pub start_indices_batching_dims: *const i64,
    pub n_start_indices_batching_dims: usize,
    pub start_index_map: *const i64,
    pub n_start_index_map: usize,
    pub index_vector_dim: i64,
    pub slice_sizes: *const i64,
    pub n_slice_sizes: usize,
    pub indices_are_sorted: i32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct lxla_scatter_options {
    pub struct_size: usize,
    pub update_window_dims: *const i64,
    pub n_update_window_dims: usize,
    pub inserted_window_dims: *const i64,
    pub n_inserted_window_dims: usize,
    pub input_batching_dims: *const i64,
    pub n_input_batching_dims: usize,
    pub scatter_indices_batching_dims: *const i64,
    pub n_scatter_indices_batching_dims: usize,
    pub scatter_dims_to_operand_dims: *const i64,
    pub n_scatter_dims_to_operand_dims: usize,
    pub index_vector_dim: i64,
    pub indices_are_sorted: i32,
    pub unique_indices: i32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct lxla_window_options {
    pub struct_size: usize,
    pub rank: usize,
    pub window_dimensions: *const i64,
    pub strides: *const i64,
    pub base_dilations: *const i64,
    pub window_dilations: *const i64,
    pub low: *const i64,
    pub high: *const i64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct lxla_dtype_limits {
    pub struct_size: usize,
    pub kind: i32,
    pub bits: i32,
    pub mantissa_bits: i32,
    pub exponent_bits: i32,
    pub digits: i32,
    pub has_infinity: i32,
    pub has_nan: i32,
    pub has_negative_zero: i32,
    pub eps: f64,
    pub min: f64,
    pub max: f64,
    pub smallest_normal: f64,
    pub smallest_subnormal: f64,
    pub integer_min: i64,
    pub integer_max: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub union lxla_scalar_value {
    pub f: f64,
    pub i: i64,
    pub u: u64,
    pub c: [f64; 2],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct lxla_scalar {
    pub dtype: i32,
    pub reserved: i32,
    pub value: lxla_scalar_value,
}

pub type lxla_release_fn = Option<unsafe extern "C" fn(*mut c_void)>;

pub type lxla_ready_fn = Option<unsafe extern "C" fn(lxla_status, *const c_char, *mut c_void)>;

pub type lxla_memory_fn = Option<unsafe extern "C" fn(u64, *mut c_void) -> i32>;

pub type lxla_log_fn = Option<unsafe extern "C" fn(i32, *const c_char, *mut c_void)>;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct lxla_buffer_view {
    pub data: *mut c_void,
    pub dtype: i32,
    pub rank: i32,
    pub dims: *const i64,
    pub size_bytes: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct lxla_kernel_call {
    pub struct_size: usize,
    pub target: *const c_char,
    pub n_inputs: usize,
    pub inputs: *const lxla_buffer_view,
    pub n_outputs: usize,
    pub outputs: *const lxla_buffer_view,
    pub attributes_json: *const c_char,
    pub error: *mut c_char,
    pub error_size: usize,
}

pub type lxla_kernel_fn = Option<unsafe extern "C" fn(*const lxla_kernel_call, *mut c_void) -> i32>;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct lxla_kernel_options {
    pub struct_size: usize,
    pub ordered: i32,
    pub pure: i32,
    pub destroy: lxla_release_fn,
}

unsafe extern "C" {
    pub fn lxla_abi_version() -> u32;
    pub fn lxla_version() -> *const c_char;
    pub fn lxla_status_name(status: lxla_status) -> *const c_char;
    pub fn lxla_dtype_name(dtype: i32) -> *const c_char;
    pub fn lxla_last_error_message() -> *const c_char;
    pub fn lxla_set_last_error(status: lxla_status, message: *const c_char) -> lxla_status;
    pub fn lxla_string_free(text: *mut c_char);
    pub fn lxla_set_log_callback(fn_: lxla_log_fn, user: *mut c_void) -> lxla_status;
    pub fn lxla_dtype_size(dtype: i32, out_size_bytes: *mut usize) -> lxla_status;
    pub fn lxla_dtype_promote(a: i32, b: i32, out_dtype: *mut i32) -> lxla_status;
    pub fn lxla_dtype_can_cast(from: i32, to: i32, out_flag: *mut i32) -> lxla_status;
    pub fn lxla_dtype_info(dtype: i32, out_limits: *mut lxla_dtype_limits) -> lxla_status;
    pub fn lxla_scalar_cast(scalar: *const lxla_scalar, dtype: i32, out_scalar: *mut lxla_scalar) -> lxla_status;
    pub fn lxla_env_options_init(options: *mut lxla_env_options) -> lxla_status;
    pub fn lxla_env_create(options: *const lxla_env_options, out_env: *mut lxla_env) -> lxla_status;
    pub fn lxla_env_retain(env: lxla_env) -> lxla_status;
    pub fn lxla_env_release(env: lxla_env) -> lxla_status;
    pub fn lxla_env_default(out_env: *mut lxla_env) -> lxla_status;
    pub fn lxla_env_enter(env: lxla_env) -> lxla_status;
    pub fn lxla_env_exit(env: lxla_env) -> lxla_status;
    pub fn lxla_env_current(out_env: *mut lxla_env) -> lxla_status;
    pub fn lxla_env_set_option(env: lxla_env, name: *const c_char, value: *const c_char) -> lxla_status;
    pub fn lxla_env_get_option(env: lxla_env, name: *const c_char, out_text: *mut *mut c_char) -> lxla_status;
    pub fn lxla_thread_limit(n: i32, out_before: *mut i32) -> lxla_status;
    pub fn lxla_env_device_count(env: lxla_env, out_count: *mut i32) -> lxla_status;
    pub fn lxla_env_set_memory_callback(env: lxla_env, fn_: lxla_memory_fn, user: *mut c_void) -> lxla_status;
    pub fn lxla_env_counter(env: lxla_env, name: *const c_char, out_value: *mut u64) -> lxla_status;
    pub fn lxla_env_metrics_json(env: lxla_env, out_text: *mut *mut c_char) -> lxla_status;
    pub fn lxla_env_metrics_reset(env: lxla_env) -> lxla_status;
    pub fn lxla_device_parse(text: *const c_char, out_device: *mut lxla_device) -> lxla_status;
    pub fn lxla_device_memory_stats(env: lxla_env, device: lxla_device, out_json: *mut *mut c_char) -> lxla_status;
    pub fn lxla_plugin_list(out_json: *mut *mut c_char) -> lxla_status;
    pub fn lxla_tensor_from_host(
        env: lxla_env,
        device: lxla_device,
        dtype: i32,
        dims: *const i64,
        rank: usize,
        data: *const c_void,
        size_bytes: usize,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_tensor_from_host_borrowed(
        env: lxla_env,
        device: lxla_device,
        dtype: i32,
        dims: *const i64,
        rank: usize,
        data: *const c_void,
        size_bytes: usize,
        release: lxla_release_fn,
        user: *mut c_void,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_tensor_placeholder(
        env: lxla_env,
        device: lxla_device,
        dtype: i32,
        dims: *const i64,
        rank: usize,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_tensor_placeholder_like(tensor: lxla_tensor, out_tensor: *mut lxla_tensor) -> lxla_status;
    pub fn lxla_tensor_retain(tensor: lxla_tensor) -> lxla_status;
    pub fn lxla_tensor_release(tensor: lxla_tensor) -> lxla_status;
    pub fn lxla_tensor_release_many(tensors: *const lxla_tensor, n: usize) -> lxla_status;
    pub fn lxla_tensor_snapshot(tensor: lxla_tensor, out_tensor: *mut lxla_tensor) -> lxla_status;
    pub fn lxla_tensor_assign(dst: lxla_tensor, src: lxla_tensor) -> lxla_status;
    pub fn lxla_tensor_write(dst: lxla_tensor, data: *const c_void, size_bytes: usize) -> lxla_status;
    pub fn lxla_tensor_set_dynamic(tensor: lxla_tensor, axis: usize, bound: i64) -> lxla_status;
    pub fn lxla_tensor_dtype(tensor: lxla_tensor, out_dtype: *mut i32) -> lxla_status;
    pub fn lxla_tensor_rank(tensor: lxla_tensor, out_rank: *mut usize) -> lxla_status;
    pub fn lxla_tensor_dims(tensor: lxla_tensor, out_dims: *mut i64, capacity: usize) -> lxla_status;
    pub fn lxla_tensor_info(
        tensor: lxla_tensor,
        out_dtype: *mut i32,
        out_rank: *mut usize,
        out_dims: *mut i64,
        capacity: usize,
    ) -> lxla_status;
    pub fn lxla_tensor_device(tensor: lxla_tensor, out_device: *mut lxla_device) -> lxla_status;
    pub fn lxla_tensor_env(tensor: lxla_tensor, out_env: *mut lxla_env) -> lxla_status;
    pub fn lxla_tensor_state(tensor: lxla_tensor, out_state: *mut i32) -> lxla_status;
    pub fn lxla_tensor_set_requires_grad(tensor: lxla_tensor, requires_grad: i32) -> lxla_status;
    pub fn lxla_tensor_requires_grad(tensor: lxla_tensor, out_flag: *mut i32) -> lxla_status;
    pub fn lxla_tensor_read(tensor: lxla_tensor, dst: *mut c_void, size_bytes: usize) -> lxla_status;
    pub fn lxla_tensor_to_device(tensor: lxla_tensor, device: lxla_device, out_tensor: *mut lxla_tensor)
    -> lxla_status;
    pub fn lxla_tensor_full(
        env: lxla_env,
        device: lxla_device,
        dtype: i32,
        dims: *const i64,
        rank: usize,
        value: f64,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_tensor_full_with_scalar(
        env: lxla_env,
        device: lxla_device,
        dtype: i32,
        dims: *const i64,
        rank: usize,
        value: *const lxla_scalar,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_tensor_varying_scalar(
        env: lxla_env,
        device: lxla_device,
        dtype: i32,
        value: *const lxla_scalar,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_iota(
        env: lxla_env,
        device: lxla_device,
        dtype: i32,
        dims: *const i64,
        rank: usize,
        axis: i64,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_arange(
        env: lxla_env,
        device: lxla_device,
        dtype: i32,
        start: f64,
        stop: f64,
        step: f64,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_arange_with_scalars(
        env: lxla_env,
        device: lxla_device,
        dtype: i32,
        start: *const lxla_scalar,
        stop: *const lxla_scalar,
        step: *const lxla_scalar,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_linspace(
        env: lxla_env,
        device: lxla_device,
        dtype: i32,
        start: f64,
        stop: f64,
        count: i64,
        endpoint: i32,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_linspace_with_scalars(
        env: lxla_env,
        device: lxla_device,
        dtype: i32,
        start: *const lxla_scalar,
        stop: *const lxla_scalar,
        count: i64,
        endpoint: i32,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_eye(
        env: lxla_env,
        device: lxla_device,
        dtype: i32,
        rows: i64,
        columns: i64,
        k: i64,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_one_hot(
        indices: lxla_tensor,
        depth: i64,
        axis: i64,
        dtype: i32,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_tril(x: lxla_tensor, k: i64, out_tensor: *mut lxla_tensor) -> lxla_status;
    pub fn lxla_triu(x: lxla_tensor, k: i64, out_tensor: *mut lxla_tensor) -> lxla_status;
    pub fn lxla_unary(op: i32, x: lxla_tensor, out_tensor: *mut lxla_tensor) -> lxla_status;
    pub fn lxla_binary(op: i32, lhs: lxla_tensor, rhs: lxla_tensor, out_tensor: *mut lxla_tensor) -> lxla_status;
    pub fn lxla_binary_inplace(op: i32, dst: lxla_tensor, rhs: lxla_tensor) -> lxla_status;
    pub fn lxla_binary_scalar(op: i32, lhs: lxla_tensor, rhs: f64, out_tensor: *mut lxla_tensor) -> lxla_status;
    pub fn lxla_binary_scalar_inplace(op: i32, dst: lxla_tensor, rhs: f64) -> lxla_status;
    pub fn lxla_binary_with_scalar(
        op: i32,
        lhs: lxla_tensor,
        rhs: *const lxla_scalar,
        scalar_on_left: i32,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_binary_with_varying_scalar(
        op: i32,
        lhs: lxla_tensor,
        rhs: *const lxla_scalar,
        scalar_on_left: i32,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_binary_with_scalar_inplace(
        op: i32,
        dst: lxla_tensor,
        rhs: *const lxla_scalar,
        scalar_on_left: i32,
    ) -> lxla_status;
    pub fn lxla_compare(op: i32, lhs: lxla_tensor, rhs: lxla_tensor, out_tensor: *mut lxla_tensor) -> lxla_status;
    pub fn lxla_compare_total_order(
        op: i32,
        lhs: lxla_tensor,
        rhs: lxla_tensor,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_compare_scalar(op: i32, lhs: lxla_tensor, rhs: f64, out_tensor: *mut lxla_tensor) -> lxla_status;
    pub fn lxla_compare_with_scalar(
        op: i32,
        lhs: lxla_tensor,
        rhs: *const lxla_scalar,
        scalar_on_left: i32,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_select(
        pred: lxla_tensor,
        on_true: lxla_tensor,
        on_false: lxla_tensor,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_select_with_scalars(
        pred: lxla_tensor,
        on_true: lxla_tensor,
        true_scalar: *const lxla_scalar,
        on_false: lxla_tensor,
        false_scalar: *const lxla_scalar,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_clamp(min: lxla_tensor, x: lxla_tensor, max: lxla_tensor, out_tensor: *mut lxla_tensor) -> lxla_status;
    pub fn lxla_clamp_with_scalars(
        x: lxla_tensor,
        min: *const lxla_scalar,
        max: *const lxla_scalar,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_convert(x: lxla_tensor, dtype: i32, out_tensor: *mut lxla_tensor) -> lxla_status;
    pub fn lxla_special(op: i32, x: lxla_tensor, out_tensor: *mut lxla_tensor) -> lxla_status;
    pub fn lxla_complex(real: lxla_tensor, imag: lxla_tensor, out_tensor: *mut lxla_tensor) -> lxla_status;
    pub fn lxla_real(x: lxla_tensor, out_tensor: *mut lxla_tensor) -> lxla_status;
    pub fn lxla_imag(x: lxla_tensor, out_tensor: *mut lxla_tensor) -> lxla_status;
    pub fn lxla_bitcast_convert(x: lxla_tensor, dtype: i32, out_tensor: *mut lxla_tensor) -> lxla_status;
    pub fn lxla_reduce_precision(
        x: lxla_tensor,
        exponent_bits: i32,
        mantissa_bits: i32,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_reshape(x: lxla_tensor, dims: *const i64, rank: usize, out_tensor: *mut lxla_tensor) -> lxla_status;
    pub fn lxla_broadcast_to(
        x: lxla_tensor,
        dims: *const i64,
        rank: usize,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_transpose(x: lxla_tensor, perm: *const i64, rank: usize, out_tensor: *mut lxla_tensor) -> lxla_status;
    pub fn lxla_reverse(x: lxla_tensor, axes: *const i64, n_axes: usize, out_tensor: *mut lxla_tensor) -> lxla_status;
    pub fn lxla_flip(x: lxla_tensor, axes: *const i64, n_axes: usize, out_tensor: *mut lxla_tensor) -> lxla_status;
    pub fn lxla_roll(
        x: lxla_tensor,
        shifts: *const i64,
        axes: *const i64,
        n: usize,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_squeeze(x: lxla_tensor, axes: *const i64, n_axes: usize, out_tensor: *mut lxla_tensor) -> lxla_status;
    pub fn lxla_expand_dims(
        x: lxla_tensor,
        axes: *const i64,
        n_axes: usize,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_concatenate(
        tensors: *const lxla_tensor,
        n: usize,
        axis: i64,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_stack(tensors: *const lxla_tensor, n: usize, axis: i64, out_tensor: *mut lxla_tensor) -> lxla_status;
    pub fn lxla_split(
        x: lxla_tensor,
        sizes: *const i64,
        n: usize,
        axis: i64,
        out_tensors: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_slice(
        x: lxla_tensor,
        starts: *const i64,
        limits: *const i64,
        strides: *const i64,
        rank: usize,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_slice_axis(
        x: lxla_tensor,
        axis: i64,
        start: i64,
        stop: i64,
        step: i64,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_pad(
        x: lxla_tensor,
        value: lxla_tensor,
        low: *const i64,
        high: *const i64,
        interior: *const i64,
        rank: usize,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_pad_with_scalar(
        x: lxla_tensor,
        value: *const lxla_scalar,
        low: *const i64,
        high: *const i64,
        interior: *const i64,
        rank: usize,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_tile(x: lxla_tensor, repeats: *const i64, n: usize, out_tensor: *mut lxla_tensor) -> lxla_status;
    pub fn lxla_repeat(x: lxla_tensor, repeats: i64, axis: i64, out_tensor: *mut lxla_tensor) -> lxla_status;
    pub fn lxla_take(x: lxla_tensor, indices: lxla_tensor, axis: i64, out_tensor: *mut lxla_tensor) -> lxla_status;
    pub fn lxla_dynamic_slice(
        x: lxla_tensor,
        starts: *const lxla_tensor,
        sizes: *const i64,
        rank: usize,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_dynamic_update_slice(
        x: lxla_tensor,
        update: lxla_tensor,
        starts: *const lxla_tensor,
        rank: usize,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_take_along_axis(
        x: lxla_tensor,
        indices: lxla_tensor,
        axis: i64,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_scatter_along(
        op: i32,
        x: lxla_tensor,
        indices: lxla_tensor,
        updates: lxla_tensor,
        axis: i64,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_index_add(
        x: lxla_tensor,
        axis: i64,
        indices: lxla_tensor,
        source: lxla_tensor,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_segment_reduce(
        op: i32,
        x: lxla_tensor,
        segment_ids: lxla_tensor,
        num_segments: i64,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_index_copy(
        x: lxla_tensor,
        axis: i64,
        indices: lxla_tensor,
        source: lxla_tensor,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_index(
        x: lxla_tensor,
        indices: *const lxla_tensor,
        n_indices: usize,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_index_put(
        op: i32,
        x: lxla_tensor,
        indices: *const lxla_tensor,
        n_indices: usize,
        values: lxla_tensor,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_slice_assign(
        x: lxla_tensor,
        starts: *const i64,
        limits: *const i64,
        strides: *const i64,
        rank: usize,
        values: lxla_tensor,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_nonzero(
        x: lxla_tensor,
        size: i64,
        fill: i64,
        index_dtype: i32,
        out_indices: *mut lxla_tensor,
        n_indices: usize,
        out_count: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_mask_select(
        x: lxla_tensor,
        mask: lxla_tensor,
        size: i64,
        fill: lxla_tensor,
        index_dtype: i32,
        out_tensor: *mut lxla_tensor,
        out_count: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_mask_assign(
        x: lxla_tensor,
        mask: lxla_tensor,
        values: lxla_tensor,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_gather_options_init(options: *mut lxla_gather_options) -> lxla_status;
    pub fn lxla_gather(
        x: lxla_tensor,
        indices: lxla_tensor,
        options: *const lxla_gather_options,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_scatter_options_init(options: *mut lxla_scatter_options) -> lxla_status;
    pub fn lxla_scatter(
        combiner: lxla_computation,
        inputs: *const lxla_tensor,
        indices: lxla_tensor,
        updates: *const lxla_tensor,
        n: usize,
        options: *const lxla_scatter_options,
        out_results: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_sort(
        comparator: lxla_computation,
        inputs: *const lxla_tensor,
        n: usize,
        axis: i64,
        stable: i32,
        out_results: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_sort_along(
        x: lxla_tensor,
        axis: i64,
        descending: i32,
        stable: i32,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_argsort(
        x: lxla_tensor,
        axis: i64,
        descending: i32,
        stable: i32,
        index_dtype: i32,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_topk(
        x: lxla_tensor,
        k: i64,
        axis: i64,
        largest: i32,
        index_dtype: i32,
        out_values: *mut lxla_tensor,
        out_indices: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_topk_total_order(
        x: lxla_tensor,
        k: i64,
        axis: i64,
        largest: i32,
        index_dtype: i32,
        out_values: *mut lxla_tensor,
        out_indices: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_unique(
        x: lxla_tensor,
        size: i64,
        fill: lxla_tensor,
        index_dtype: i32,
        out_values: *mut lxla_tensor,
        out_indices: *mut lxla_tensor,
        out_inverse: *mut lxla_tensor,
        out_counts: *mut lxla_tensor,
        out_count: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_searchsorted(
        sorted: lxla_tensor,
        values: lxla_tensor,
        right: i32,
        index_dtype: i32,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_reduce(
        op: i32,
        x: lxla_tensor,
        axes: *const i64,
        n_axes: usize,
        keep_dims: i32,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_mean(
        x: lxla_tensor,
        axes: *const i64,
        n_axes: usize,
        keep_dims: i32,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_variance(
        x: lxla_tensor,
        axes: *const i64,
        n_axes: usize,
        correction: f64,
        keep_dims: i32,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_standard_deviation(
        x: lxla_tensor,
        axes: *const i64,
        n_axes: usize,
        correction: f64,
        keep_dims: i32,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_logsumexp(
        x: lxla_tensor,
        axes: *const i64,
        n_axes: usize,
        keep_dims: i32,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_argmax(
        x: lxla_tensor,
        axis: i64,
        keep_dims: i32,
        index_dtype: i32,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_argmin(
        x: lxla_tensor,
        axis: i64,
        keep_dims: i32,
        index_dtype: i32,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_cumulative(
        op: i32,
        x: lxla_tensor,
        axis: i64,
        reverse: i32,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_cumulative_logaddexp(
        x: lxla_tensor,
        axis: i64,
        reverse: i32,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_reduce_with(
        body: lxla_computation,
        inputs: *const lxla_tensor,
        inits: *const lxla_tensor,
        n: usize,
        axes: *const i64,
        n_axes: usize,
        out_results: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_window_options_init(options: *mut lxla_window_options) -> lxla_status;
    pub fn lxla_reduce_window(
        body: lxla_computation,
        inputs: *const lxla_tensor,
        inits: *const lxla_tensor,
        n: usize,
        options: *const lxla_window_options,
        out_results: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_select_and_scatter(
        select: lxla_computation,
        combiner: lxla_computation,
        x: lxla_tensor,
        source: lxla_tensor,
        init: lxla_tensor,
        options: *const lxla_window_options,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_matmul(lhs: lxla_tensor, rhs: lxla_tensor, out_tensor: *mut lxla_tensor) -> lxla_status;
    pub fn lxla_ragged_dot(
        lhs: lxla_tensor,
        rhs: lxla_tensor,
        group_sizes: lxla_tensor,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_dot_general(
        lhs: lxla_tensor,
        rhs: lxla_tensor,
        lhs_batching: *const i64,
        rhs_batching: *const i64,
        n_batching: usize,
        lhs_contracting: *const i64,
        rhs_contracting: *const i64,
        n_contracting: usize,
        dtype: i32,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_einsum(
        equation: *const c_char,
        tensors: *const lxla_tensor,
        n: usize,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_cholesky(a: lxla_tensor, lower: i32, out_tensor: *mut lxla_tensor) -> lxla_status;
    pub fn lxla_triangular_solve(
        a: lxla_tensor,
        b: lxla_tensor,
        left_side: i32,
        lower: i32,
        unit_diagonal: i32,
        transpose_a: i32,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_norm(
        x: lxla_tensor,
        ord: f64,
        axes: *const i64,
        n_axes: usize,
        keep_dims: i32,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_fft(
        op: i32,
        x: lxla_tensor,
        lengths: *const i64,
        n_lengths: usize,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_qr(a: lxla_tensor, full: i32, out_q: *mut lxla_tensor, out_r: *mut lxla_tensor) -> lxla_status;
    pub fn lxla_lu(
        a: lxla_tensor,
        out_lu: *mut lxla_tensor,
        out_pivots: *mut lxla_tensor,
        out_permutation: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_ldl(
        a: lxla_tensor,
        hermitian: i32,
        out_factors: *mut lxla_tensor,
        out_pivots: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_ldl_solve(
        factors: lxla_tensor,
        pivots: lxla_tensor,
        b: lxla_tensor,
        hermitian: i32,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_svd(
        a: lxla_tensor,
        full: i32,
        out_u: *mut lxla_tensor,
        out_s: *mut lxla_tensor,
        out_vh: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_singular_values(a: lxla_tensor, out_tensor: *mut lxla_tensor) -> lxla_status;
    pub fn lxla_eigh(
        a: lxla_tensor,
        lower: i32,
        out_values: *mut lxla_tensor,
        out_vectors: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_eig(a: lxla_tensor, out_values: *mut lxla_tensor, out_vectors: *mut lxla_tensor) -> lxla_status;
    pub fn lxla_schur(
        a: lxla_tensor,
        complex_form: i32,
        out_t: *mut lxla_tensor,
        out_z: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_solve(a: lxla_tensor, b: lxla_tensor, out_tensor: *mut lxla_tensor) -> lxla_status;
    pub fn lxla_tridiagonal_solve(
        lower: lxla_tensor,
        diagonal: lxla_tensor,
        upper: lxla_tensor,
        b: lxla_tensor,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_inverse(a: lxla_tensor, out_tensor: *mut lxla_tensor) -> lxla_status;
    pub fn lxla_determinant(a: lxla_tensor, out_tensor: *mut lxla_tensor) -> lxla_status;
    pub fn lxla_slogdet(a: lxla_tensor, out_sign: *mut lxla_tensor, out_log: *mut lxla_tensor) -> lxla_status;
    pub fn lxla_lstsq(a: lxla_tensor, b: lxla_tensor, rtol: f64, out_x: *mut lxla_tensor) -> lxla_status;
    pub fn lxla_pinv(a: lxla_tensor, rtol: f64, out_tensor: *mut lxla_tensor) -> lxla_status;
    pub fn lxla_matrix_rank(a: lxla_tensor, rtol: f64, out_tensor: *mut lxla_tensor) -> lxla_status;
    pub fn lxla_matrix_power(a: lxla_tensor, n: i64, out_tensor: *mut lxla_tensor) -> lxla_status;
    pub fn lxla_matrix_exponential(a: lxla_tensor, out_tensor: *mut lxla_tensor) -> lxla_status;
    pub fn lxla_activation(op: i32, x: lxla_tensor, out_tensor: *mut lxla_tensor) -> lxla_status;
    pub fn lxla_softmax(x: lxla_tensor, axis: i64, out_tensor: *mut lxla_tensor) -> lxla_status;
    pub fn lxla_log_softmax(x: lxla_tensor, axis: i64, out_tensor: *mut lxla_tensor) -> lxla_status;
    pub fn lxla_layer_norm(
        x: lxla_tensor,
        axes: *const i64,
        n_axes: usize,
        scale: lxla_tensor,
        offset: lxla_tensor,
        epsilon: f64,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_layer_norm_with_statistics(
        x: lxla_tensor,
        axes: *const i64,
        n_axes: usize,
        scale: lxla_tensor,
        offset: lxla_tensor,
        epsilon: f64,
        out_tensor: *mut lxla_tensor,
        out_mean: *mut lxla_tensor,
        out_inverse_deviation: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_rms_norm(
        x: lxla_tensor,
        weight: lxla_tensor,
        epsilon: f64,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_rotary_embedding(
        x: lxla_tensor,
        cosines: lxla_tensor,
        sines: lxla_tensor,
        interleaved: i32,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_attention_options_init(options: *mut lxla_attention_options) -> lxla_status;
    pub fn lxla_attention(
        query: lxla_tensor,
        key: lxla_tensor,
        value: lxla_tensor,
        mask: lxla_tensor,
        options: *const lxla_attention_options,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_batch_norm_training(
        x: lxla_tensor,
        scale: lxla_tensor,
        offset: lxla_tensor,
        epsilon: f64,
        feature_axis: i64,
        out_tensor: *mut lxla_tensor,
        out_mean: *mut lxla_tensor,
        out_variance: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_batch_norm_inference(
        x: lxla_tensor,
        scale: lxla_tensor,
        offset: lxla_tensor,
        mean: lxla_tensor,
        variance: lxla_tensor,
        epsilon: f64,
        feature_axis: i64,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_batch_norm_grad(
        x: lxla_tensor,
        scale: lxla_tensor,
        mean: lxla_tensor,
        variance: lxla_tensor,
        grad_output: lxla_tensor,
        epsilon: f64,
        feature_axis: i64,
        out_grad_x: *mut lxla_tensor,
        out_grad_scale: *mut lxla_tensor,
        out_grad_offset: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_convolution_options_init(options: *mut lxla_convolution_options) -> lxla_status;
    pub fn lxla_convolution(
        lhs: lxla_tensor,
        rhs: lxla_tensor,
        options: *const lxla_convolution_options,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_rng_bit_generator(
        algorithm: i32,
        state: lxla_tensor,
        dtype: i32,
        dims: *const i64,
        rank: usize,
        out_state: *mut lxla_tensor,
        out_bits: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_random_bits(
        algorithm: i32,
        key: lxla_tensor,
        dtype: i32,
        dims: *const i64,
        rank: usize,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_random_split(algorithm: i32, key: lxla_tensor, n: usize, out_tensor: *mut lxla_tensor) -> lxla_status;
    pub fn lxla_random_uniform(
        algorithm: i32,
        key: lxla_tensor,
        dtype: i32,
        dims: *const i64,
        rank: usize,
        low: f64,
        high: f64,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_random_normal(
        algorithm: i32,
        key: lxla_tensor,
        dtype: i32,
        dims: *const i64,
        rank: usize,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_random_bernoulli(
        algorithm: i32,
        key: lxla_tensor,
        p: f64,
        dims: *const i64,
        rank: usize,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_random_exponential(
        algorithm: i32,
        key: lxla_tensor,
        dtype: i32,
        dims: *const i64,
        rank: usize,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_random_gumbel(
        algorithm: i32,
        key: lxla_tensor,
        dtype: i32,
        dims: *const i64,
        rank: usize,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_random_laplace(
        algorithm: i32,
        key: lxla_tensor,
        dtype: i32,
        dims: *const i64,
        rank: usize,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_random_truncated_normal(
        algorithm: i32,
        key: lxla_tensor,
        dtype: i32,
        dims: *const i64,
        rank: usize,
        lower: f64,
        upper: f64,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_random_categorical(
        algorithm: i32,
        key: lxla_tensor,
        logits: lxla_tensor,
        axis: i64,
        dims: *const i64,
        rank: usize,
        index_dtype: i32,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_random_integers(
        algorithm: i32,
        key: lxla_tensor,
        dtype: i32,
        dims: *const i64,
        rank: usize,
        low: i64,
        high: i64,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_random_choice(
        algorithm: i32,
        key: lxla_tensor,
        x: lxla_tensor,
        axis: i64,
        dims: *const i64,
        rank: usize,
        replace: i32,
        probabilities: lxla_tensor,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_random_poisson(
        algorithm: i32,
        key: lxla_tensor,
        rate: lxla_tensor,
        dtype: i32,
        dims: *const i64,
        rank: usize,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_random_gamma(
        algorithm: i32,
        key: lxla_tensor,
        alpha: lxla_tensor,
        dims: *const i64,
        rank: usize,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_random_log_gamma(
        algorithm: i32,
        key: lxla_tensor,
        alpha: lxla_tensor,
        dims: *const i64,
        rank: usize,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_random_beta(
        algorithm: i32,
        key: lxla_tensor,
        a: lxla_tensor,
        b: lxla_tensor,
        dims: *const i64,
        rank: usize,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_computation_trace(
        params: *const lxla_tensor,
        n_params: usize,
        results: *const lxla_tensor,
        n_results: usize,
        out_computation: *mut lxla_computation,
    ) -> lxla_status;
    pub fn lxla_tracing_begin(env: lxla_env, device: lxla_device) -> lxla_status;
    pub fn lxla_tracing_end(
        params: *const lxla_tensor,
        n_params: usize,
        results: *const lxla_tensor,
        n_results: usize,
        out_computation: *mut lxla_computation,
    ) -> lxla_status;
    pub fn lxla_tracing_abandon() -> lxla_status;
    pub fn lxla_computation_retain(computation: lxla_computation) -> lxla_status;
    pub fn lxla_computation_release(computation: lxla_computation) -> lxla_status;
    pub fn lxla_computation_info(
        computation: lxla_computation,
        out_params: *mut usize,
        out_results: *mut usize,
        out_captured: *mut usize,
    ) -> lxla_status;
    pub fn lxla_computation_captured(
        computation: lxla_computation,
        index: usize,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_computation_stablehlo(computation: lxla_computation, out_text: *mut *mut c_char) -> lxla_status;
    pub fn lxla_computation_call(
        computation: lxla_computation,
        args: *const lxla_tensor,
        n_args: usize,
        out_results: *mut lxla_tensor,
        n_results: usize,
    ) -> lxla_status;
    pub fn lxla_while(
        cond: lxla_computation,
        body: lxla_computation,
        init: *const lxla_tensor,
        n: usize,
        out_results: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_while_bounded(
        cond: lxla_computation,
        body: lxla_computation,
        init: *const lxla_tensor,
        n: usize,
        max_iterations: i64,
        out_values: *mut lxla_tensor,
        out_ended: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_cond(
        pred: lxla_tensor,
        on_true: lxla_computation,
        on_false: lxla_computation,
        args: *const lxla_tensor,
        n_args: usize,
        out_results: *mut lxla_tensor,
        n_results: usize,
    ) -> lxla_status;
    pub fn lxla_case(
        index: lxla_tensor,
        branches: *const lxla_computation,
        n_branches: usize,
        args: *const lxla_tensor,
        n_args: usize,
        out_results: *mut lxla_tensor,
        n_results: usize,
    ) -> lxla_status;
    pub fn lxla_scan(
        body: lxla_computation,
        init: *const lxla_tensor,
        n_carry: usize,
        xs: *const lxla_tensor,
        n_xs: usize,
        length: i64,
        reverse: i32,
        out_carry: *mut lxla_tensor,
        out_ys: *mut lxla_tensor,
        n_ys: usize,
    ) -> lxla_status;
    pub fn lxla_optimization_barrier(
        tensors: *const lxla_tensor,
        n: usize,
        out_tensors: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_custom_call_options_init(options: *mut lxla_custom_call_options) -> lxla_status;
    pub fn lxla_custom_call(
        target: *const c_char,
        operands: *const lxla_tensor,
        n_operands: usize,
        dtypes: *const i32,
        ranks: *const usize,
        dims: *const i64,
        n_results: usize,
        options: *const lxla_custom_call_options,
        out_results: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_kernel_options_init(options: *mut lxla_kernel_options) -> lxla_status;
    pub fn lxla_kernel_register(
        env: lxla_env,
        target: *const c_char,
        fn_: lxla_kernel_fn,
        user: *mut c_void,
        options: *const lxla_kernel_options,
    ) -> lxla_status;
    pub fn lxla_kernel_unregister(env: lxla_env, target: *const c_char) -> lxla_status;
    pub fn lxla_kernel_apply(
        env: lxla_env,
        target: *const c_char,
        inputs: *const lxla_tensor,
        n_inputs: usize,
        dtypes: *const i32,
        ranks: *const usize,
        dims: *const i64,
        n_outputs: usize,
        attributes_json: *const c_char,
        out_tensors: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_host_call(
        env: lxla_env,
        fn_: lxla_kernel_fn,
        user: *mut c_void,
        options: *const lxla_kernel_options,
        inputs: *const lxla_tensor,
        n_inputs: usize,
        dtypes: *const i32,
        ranks: *const usize,
        dims: *const i64,
        n_outputs: usize,
        out_tensors: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_debug_print(format: *const c_char, tensors: *const lxla_tensor, n: usize) -> lxla_status;
    pub fn lxla_computation_jvp(
        f: lxla_computation,
        wrt: *const usize,
        n_wrt: usize,
        out_computation: *mut lxla_computation,
    ) -> lxla_status;
    pub fn lxla_vjp_options_init(options: *mut lxla_vjp_options) -> lxla_status;
    pub fn lxla_computation_vjp(
        f: lxla_computation,
        options: *const lxla_vjp_options,
        out_forward: *mut lxla_computation,
        out_backward: *mut lxla_computation,
        out_n_residuals: *mut usize,
    ) -> lxla_status;
    pub fn lxla_computation_value_and_grad(
        f: lxla_computation,
        options: *const lxla_vjp_options,
        out_computation: *mut lxla_computation,
    ) -> lxla_status;
    pub fn lxla_computation_vmap(
        f: lxla_computation,
        in_axes: *const i64,
        n_in: usize,
        out_axes: *const i64,
        n_out: usize,
        size: i64,
        out_computation: *mut lxla_computation,
    ) -> lxla_status;
    pub fn lxla_computation_lift(f: lxla_computation, out_computation: *mut lxla_computation) -> lxla_status;
    pub fn lxla_computation_checkpoint(
        f: lxla_computation,
        policy: i32,
        saved_names: *const *const c_char,
        n_saved_names: usize,
        out_computation: *mut lxla_computation,
    ) -> lxla_status;
    pub fn lxla_computation_with_vjp(
        primal: lxla_computation,
        forward: lxla_computation,
        backward: lxla_computation,
        out_computation: *mut lxla_computation,
    ) -> lxla_status;
    pub fn lxla_computation_with_jvp(
        primal: lxla_computation,
        jvp: lxla_computation,
        out_computation: *mut lxla_computation,
    ) -> lxla_status;
    pub fn lxla_computation_with_vmap(
        primal: lxla_computation,
        batched: lxla_computation,
        out_computation: *mut lxla_computation,
    ) -> lxla_status;
    pub fn lxla_gradients(
        ys: *const lxla_tensor,
        n_ys: usize,
        cotangents: *const lxla_tensor,
        xs: *const lxla_tensor,
        n_xs: usize,
        out_gradients: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_gradients_options_init(options: *mut lxla_gradients_options) -> lxla_status;
    pub fn lxla_gradients_with_options(
        ys: *const lxla_tensor,
        n_ys: usize,
        cotangents: *const lxla_tensor,
        xs: *const lxla_tensor,
        n_xs: usize,
        options: *const lxla_gradients_options,
        out_gradients: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_stop_gradient(x: lxla_tensor, out_tensor: *mut lxla_tensor) -> lxla_status;
    pub fn lxla_checkpoint_name(x: lxla_tensor, name: *const c_char, out_tensor: *mut lxla_tensor) -> lxla_status;
    pub fn lxla_import_options_init(options: *mut lxla_import_options) -> lxla_status;
    pub fn lxla_computation_import(
        env: lxla_env,
        module: *const c_void,
        size: usize,
        options: *const lxla_import_options,
        out_computation: *mut lxla_computation,
    ) -> lxla_status;
    pub fn lxla_computation_import_file(
        env: lxla_env,
        path: *const c_char,
        options: *const lxla_import_options,
        out_computation: *mut lxla_computation,
    ) -> lxla_status;
    pub fn lxla_module_describe(module: *const c_void, size: usize, out_json: *mut *mut c_char) -> lxla_status;
    pub fn lxla_module_describe_file(path: *const c_char, out_json: *mut *mut c_char) -> lxla_status;
    pub fn lxla_computation_describe(computation: lxla_computation, out_json: *mut *mut c_char) -> lxla_status;
    pub fn lxla_export_options_init(options: *mut lxla_export_options) -> lxla_status;
    pub fn lxla_computation_export(
        computation: lxla_computation,
        options: *const lxla_export_options,
        path: *const c_char,
    ) -> lxla_status;
    pub fn lxla_executable_options_init(options: *mut lxla_executable_options) -> lxla_status;
    pub fn lxla_executable_compile(
        f: lxla_computation,
        device: lxla_device,
        options: *const lxla_executable_options,
        out_executable: *mut lxla_executable,
    ) -> lxla_status;
    pub fn lxla_executable_retain(executable: lxla_executable) -> lxla_status;
    pub fn lxla_executable_release(executable: lxla_executable) -> lxla_status;
    pub fn lxla_executable_run(
        executable: lxla_executable,
        inputs: *const lxla_tensor,
        n_inputs: usize,
        out_tensors: *mut lxla_tensor,
        n_outputs: usize,
    ) -> lxla_status;
    pub fn lxla_executable_run_host(
        executable: lxla_executable,
        inputs: *const *const c_void,
        input_sizes: *const usize,
        n_inputs: usize,
        outputs: *const *mut c_void,
        output_sizes: *const usize,
        n_outputs: usize,
    ) -> lxla_status;
    pub fn lxla_executable_save(executable: lxla_executable, path: *const c_char) -> lxla_status;
    pub fn lxla_executable_load(
        env: lxla_env,
        device: lxla_device,
        path: *const c_char,
        out_executable: *mut lxla_executable,
    ) -> lxla_status;
    pub fn lxla_executable_describe(executable: lxla_executable, out_json: *mut *mut c_char) -> lxla_status;
    pub fn lxla_mesh_create(
        env: lxla_env,
        axis_names: *const *const c_char,
        axis_sizes: *const i64,
        rank: usize,
        ordinals: *const i32,
        out_mesh: *mut lxla_mesh,
    ) -> lxla_status;
    pub fn lxla_mesh_retain(mesh: lxla_mesh) -> lxla_status;
    pub fn lxla_mesh_release(mesh: lxla_mesh) -> lxla_status;
    pub fn lxla_mesh_device(mesh: lxla_mesh, out_device: *mut lxla_device) -> lxla_status;
    pub fn lxla_mesh_info(mesh: lxla_mesh, out_json: *mut *mut c_char) -> lxla_status;
    pub fn lxla_tensor_shard(
        x: lxla_tensor,
        mesh: lxla_mesh,
        sharding: *const c_char,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_tensor_from_host_sharded(
        mesh: lxla_mesh,
        dtype: i32,
        dims: *const i64,
        rank: usize,
        data: *const c_void,
        size_bytes: usize,
        sharding: *const c_char,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_tensor_sharding(x: lxla_tensor, out_text: *mut *mut c_char) -> lxla_status;
    pub fn lxla_tensor_sharding_picture(x: lxla_tensor, out_text: *mut *mut c_char) -> lxla_status;
    pub fn lxla_tensor_shard_read(
        x: lxla_tensor,
        ordinal: i32,
        dst: *mut c_void,
        size_bytes: usize,
        out_offsets: *mut i64,
        out_dims: *mut i64,
        capacity: usize,
    ) -> lxla_status;
    pub fn lxla_sharding_constraint(
        x: lxla_tensor,
        sharding: *const c_char,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_shard_map(
        body: lxla_computation,
        mesh: lxla_mesh,
        in_shardings: *const *const c_char,
        args: *const lxla_tensor,
        n_args: usize,
        out_shardings: *const *const c_char,
        out_results: *mut lxla_tensor,
        n_results: usize,
    ) -> lxla_status;
    pub fn lxla_all_reduce(op: i32, x: lxla_tensor, axes: *const c_char, out_tensor: *mut lxla_tensor) -> lxla_status;
    pub fn lxla_all_gather(x: lxla_tensor, axes: *const c_char, axis: i64, out_tensor: *mut lxla_tensor)
    -> lxla_status;
    pub fn lxla_reduce_scatter(
        op: i32,
        x: lxla_tensor,
        axes: *const c_char,
        axis: i64,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_all_to_all(
        x: lxla_tensor,
        axes: *const c_char,
        split_axis: i64,
        concat_axis: i64,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_collective_permute(
        x: lxla_tensor,
        axis: *const c_char,
        pairs: *const i64,
        n_pairs: usize,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_axis_index(
        env: lxla_env,
        device: lxla_device,
        axes: *const c_char,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_mark_step(env: lxla_env, device: lxla_device, wait: i32) -> lxla_status;
    pub fn lxla_wait(env: lxla_env, device: lxla_device) -> lxla_status;
    pub fn lxla_enqueued(out_number: *mut u64) -> lxla_status;
    pub fn lxla_wait_for(
        env: lxla_env,
        device: lxla_device,
        enqueued: u64,
        timeout_ms: i64,
        out_done: *mut i32,
    ) -> lxla_status;
    pub fn lxla_tensor_wait_for(tensor: lxla_tensor, timeout_ms: i64, out_ready: *mut i32) -> lxla_status;
    pub fn lxla_tensor_on_ready(tensor: lxla_tensor, fn_: lxla_ready_fn, user: *mut c_void) -> lxla_status;
    pub fn lxla_step_tensors(tensors: *const lxla_tensor, n: usize, wait: i32) -> lxla_status;
    pub fn lxla_sync(tensors: *const lxla_tensor, n: usize) -> lxla_status;
    pub fn lxla_graph_hash(
        env: lxla_env,
        device: lxla_device,
        tensors: *const lxla_tensor,
        n: usize,
        out_hash: *mut u8,
    ) -> lxla_status;
    pub fn lxla_stablehlo(tensors: *const lxla_tensor, n: usize, out_text: *mut *mut c_char) -> lxla_status;
    pub fn lxla_step_stablehlo(env: lxla_env, device: lxla_device, out_text: *mut *mut c_char) -> lxla_status;
    pub fn lxla_compiled_memory(
        env: lxla_env,
        device: lxla_device,
        tensors: *const lxla_tensor,
        n: usize,
        out_stats: *mut lxla_memory_stats,
    ) -> lxla_status;
    pub fn lxla_label_push(name: *const c_char) -> lxla_status;
    pub fn lxla_label_pop() -> lxla_status;
    pub fn lxla_compile_log_json(env: lxla_env, out_json: *mut *mut c_char) -> lxla_status;
    pub fn lxla_trace_start(env: lxla_env, path: *const c_char) -> lxla_status;
    pub fn lxla_trace_stop(env: lxla_env) -> lxla_status;
    pub fn lxla_report(env: lxla_env, path: *const c_char) -> lxla_status;
    pub fn lxla_graph_dot(tensors: *const lxla_tensor, n: usize, out_text: *mut *mut c_char) -> lxla_status;
    pub fn lxla_live_tensors_json(env: lxla_env, out_json: *mut *mut c_char) -> lxla_status;
    pub fn lxla_find_nonfinite(tensors: *const lxla_tensor, n: usize, out_json: *mut *mut c_char) -> lxla_status;
    pub fn lxla_computation_compare(
        env: lxla_env,
        device: lxla_device,
        computation: lxla_computation,
        args: *const lxla_tensor,
        n_args: usize,
        tolerance: f64,
        out_json: *mut *mut c_char,
    ) -> lxla_status;
    pub fn lxla_save_options_init(options: *mut lxla_save_options) -> lxla_status;
    pub fn lxla_save(
        path: *const c_char,
        names: *const *const c_char,
        tensors: *const lxla_tensor,
        n: usize,
    ) -> lxla_status;
    pub fn lxla_save_with_options(
        path: *const c_char,
        names: *const *const c_char,
        tensors: *const lxla_tensor,
        n: usize,
        options: *const lxla_save_options,
    ) -> lxla_status;
    pub fn lxla_save_async(
        path: *const c_char,
        names: *const *const c_char,
        tensors: *const lxla_tensor,
        n: usize,
        out_ticket: *mut lxla_save_ticket,
    ) -> lxla_status;
    pub fn lxla_save_async_with_options(
        path: *const c_char,
        names: *const *const c_char,
        tensors: *const lxla_tensor,
        n: usize,
        options: *const lxla_save_options,
        out_ticket: *mut lxla_save_ticket,
    ) -> lxla_status;
    pub fn lxla_save_done(ticket: lxla_save_ticket, out_done: *mut i32) -> lxla_status;
    pub fn lxla_save_progress(
        ticket: lxla_save_ticket,
        out_written_bytes: *mut u64,
        out_total_bytes: *mut u64,
    ) -> lxla_status;
    pub fn lxla_save_wait(ticket: lxla_save_ticket) -> lxla_status;
    pub fn lxla_save_ticket_retain(ticket: lxla_save_ticket) -> lxla_status;
    pub fn lxla_save_ticket_release(ticket: lxla_save_ticket) -> lxla_status;
    pub fn lxla_load(
        env: lxla_env,
        device: lxla_device,
        path: *const c_char,
        name: *const c_char,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_file_names(path: *const c_char, out_json: *mut *mut c_char) -> lxla_status;
    pub fn lxla_file_metadata(path: *const c_char, out_json: *mut *mut c_char) -> lxla_status;
    pub fn lxla_tensor_to_dlpack(tensor: lxla_tensor, out_managed: *mut *mut c_void) -> lxla_status;
    pub fn lxla_tensor_to_dlpack_unversioned(
        tensor: lxla_tensor,
        copy: i32,
        out_managed: *mut *mut c_void,
    ) -> lxla_status;
    pub fn lxla_tensor_from_dlpack(
        env: lxla_env,
        device: lxla_device,
        managed: *mut c_void,
        copy: i32,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
    pub fn lxla_tensor_from_dlpack_unversioned(
        env: lxla_env,
        device: lxla_device,
        managed: *mut c_void,
        copy: i32,
        out_tensor: *mut lxla_tensor,
    ) -> lxla_status;
}
