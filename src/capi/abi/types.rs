//! Types of the C header.

use super::pointers::{In, List, Text};
use std::ffi::{c_char, c_void};

/// Status code returned by every fallible function: `LXLA_OK` (0) or another `LXLA_*` status code.
pub type lxla_status = i32;

/// Handle of a tensor. id 0 is the null handle.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct lxla_tensor {
    /// Opaque.
    pub id: u64,
}

/// Handle of an environment. id 0 selects the calling thread's current environment, or the default one outside any
/// scope.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct lxla_env {
    /// Opaque.
    pub id: u64,
}

/// Handle of an asynchronous save. id 0 is the null handle.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct lxla_save_ticket {
    /// Opaque.
    pub id: u64,
}

/// Handle of a traced computation. id 0 is the null handle.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct lxla_computation {
    /// Opaque.
    pub id: u64,
}

/// Handle of an executable. id 0 is the null handle.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct lxla_executable {
    /// Opaque.
    pub id: u64,
}

/// Handle of a mesh. id 0 is the null handle.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct lxla_mesh {
    /// Opaque.
    pub id: u64,
}

/// A device of an environment: a kind and an index among the devices of that kind.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct lxla_device {
    /// `LXLA_DEVICE_UNSPECIFIED`, `LXLA_DEVICE_CPU`, `LXLA_DEVICE_XLA` or `LXLA_DEVICE_MESH`.
    pub kind: i32,
    /// Index of the device, from 0. Must be 0 for UNSPECIFIED and CPU.
    pub ordinal: i32,
}

/// Options of `lxla_env_create`. NULL or 0 selects the default of a field.
#[repr(C)]
pub struct lxla_env_options<'a> {
    /// sizeof(lxla_env_options), set by the caller.
    pub struct_size: usize,
    /// Path of the PJRT plugin. NULL: the file in the variable `LXLA_PJRT_PLUGIN`, else the first that exists of the
    /// default plugin in `lazyxla/` beside the library, in the build folder (for a library inside the source tree), and
    /// the files in `PJRT_NAMES_AND_LIBRARY_PATHS`.
    pub plugin_path: Text<'a>,
    /// Directory of the disk cache; created with mode 700 if it does not exist. The cache uses only the subdirectory
    /// `lazyxla-v2`. NULL: the variable `LXLA_CACHE_DIR`; if that is not set, there is no disk cache. An unusable
    /// directory disables the disk cache and logs a warning.
    pub cache_dir: Text<'a>,
    /// Maximum number of compiled programs kept in memory; the least recently used is evicted. Default 1024.
    pub cache_capacity: usize,
    /// Maximum number of operations in one compiled program; larger graphs are split. Default 16384.
    pub max_program_ops: usize,
    /// Number of devices to request from the plugin, at most 1023. Default: chosen by the plugin (1 on CPU).
    pub device_count: i32,
    /// `LXLA_ON` or `LXLA_OFF`: tensors on `cpu`, or created without a device, are eager (on) or lazy on xla:0 (off).
    /// Default on.
    pub use_native_for_cpu_tensor: i32,
    /// Policy of operations on tensors of different devices, one of LXLA_MIXED_*. Default LXLA_MIXED_SCALAR.
    pub mixed_device_policy: i32,
    /// `LXLA_ON` or `LXLA_OFF`: steps donate buffers that nothing else can read. Default on.
    pub donation: i32,
    /// Number of this process, from 0 to `process_count` - 1.
    pub process_id: i32,
    /// Number of processes that run the same program together, each with its own environment. Default 1.
    pub process_count: i32,
    /// Key-value store through which the plugins of these processes find each other. Required if `process_count` is 2
    /// or more, otherwise ignored. The struct is copied during the call.
    pub key_value_store: In<'a, lxla_key_value_store>,
    /// Options of the plugin's client: a JSON object such as `{"memory_fraction": 0.5, "visible_devices": [0, 1]}`, of
    /// strings, integers (int64), floats (32 bits; written with a point or an exponent), true, false, and lists of
    /// integers. Each is passed by its name and type; the plugin judges them, and some plugins end the process if a
    /// type is wrong. `cpu_device_count` excludes `device_count`; with several processes, the library sets `node_id`
    /// and `num_nodes`. NULL: none.
    pub plugin_options: Text<'a>,
    /// Engine of the XLA devices: `pjrt` (a PJRT plugin), or `xla-rs` (the crate xla: one device, no meshes, no plugin;
    /// UNIMPLEMENTED unless the library was built from `crates/xla-rs`), which is started during the call. NULL: `pjrt`
    /// if `plugin_path` is given, else the variable `LXLA_ENGINE`, else `pjrt`.
    pub engine: Text<'a>,
    /// Bounds of sizes that change, as the option `dynamic_sizes` of `lxla_env_set_option`: `off`, `buckets`, `powers`,
    /// or a list of bounds. NULL: the variable `LXLA_DYNAMIC_SIZES`, else `off`.
    pub dynamic_sizes: Text<'a>,
    /// Number of threads of native kernels, as the option `threads` of `lxla_env_set_option`. 0: the variable
    /// `LXLA_THREADS`, else all processors.
    pub threads: i32,
}

/// Key-value store shared by all processes of a program, for example on a server, in MPI or in files. All three
/// functions are required. The plugin calls them while its client is created (in `lxla_env_create`, or at the first use
/// of an XLA device) and later, from any thread, also concurrently. The functions and `user` must stay valid until the
/// environment and all its tensors and computations are released; if one of them is never released, until the process
/// ends. The functions must not call this library, except for `reply`. An exception that one of them throws becomes an
/// INTERNAL error with the exception's text.
///
/// Keys and values are bytes, not NUL-terminated, and valid only during the call. A function returns `LXLA_OK` or
/// another status code; the plugin reports that code as its error, with the replied text as the message. Plugins use
/// the same keys for every client: give each environment of a process its own store, or prefix the keys.
#[repr(C)]
pub struct lxla_key_value_store {
    /// sizeof(lxla_key_value_store), set by the caller.
    pub struct_size: usize,
    /// Pointer passed to each function.
    pub user: *mut c_void,
    /// Waits for the value of a key.
    pub get: lxla_key_value_get_fn,
    /// Sets the value of a key.
    pub put: lxla_key_value_put_fn,
    /// Looks up the value of a key.
    pub try_get: lxla_key_value_try_get_fn,
}

/// Function that receives the reply of a function of `lxla_key_value_store`. Call it as `reply(to, bytes, size)`, with
/// the `to` that the function was passed, on the same thread, before the function returns. The bytes are copied: the
/// value if the function returns `LXLA_OK`, otherwise the error message (UTF-8). The last of several replies counts. A
/// value may be empty; INTERNAL if `get` or `try_get` returns `LXLA_OK` without a reply.
pub type lxla_key_value_reply_fn = Option<unsafe extern "C" fn(to: *mut c_void, bytes: *const c_void, size: usize)>;

/// Replies the value of a key; if there is none, waits until a process puts it, for at most `timeout_ms` milliseconds
/// (0 or more). DEADLINE_EXCEEDED after that time.
pub type lxla_key_value_get_fn = Option<
    unsafe extern "C-unwind" fn(
        user: *mut c_void,
        key: *const c_char,
        key_size: usize,
        timeout_ms: i64,
        reply: lxla_key_value_reply_fn,
        to: *mut c_void,
    ) -> lxla_status,
>;

/// Sets the value of a key, and wakes all processes that wait for it. On success there is no reply; on failure, the
/// reply is the error message.
pub type lxla_key_value_put_fn = Option<
    unsafe extern "C-unwind" fn(
        user: *mut c_void,
        key: *const c_char,
        key_size: usize,
        value: *const c_void,
        value_size: usize,
        reply: lxla_key_value_reply_fn,
        to: *mut c_void,
    ) -> lxla_status,
>;

/// Replies the value of the key without waiting. NOT_FOUND if there is none.
pub type lxla_key_value_try_get_fn = Option<
    unsafe extern "C-unwind" fn(
        user: *mut c_void,
        key: *const c_char,
        key_size: usize,
        reply: lxla_key_value_reply_fn,
        to: *mut c_void,
    ) -> lxla_status,
>;

/// Options of `lxla_attention`. NULL or 0 selects the default of a field.
#[repr(C)]
pub struct lxla_attention_options {
    /// sizeof(lxla_attention_options), set by the caller.
    pub struct_size: usize,
    /// Factor of the scores, finite. Default 1 / sqrt(width).
    pub scale: f64,
    /// `LXLA_ON` or `LXLA_OFF`: row i of the query attends only to rows 0 to i of the key, also where their lengths
    /// differ. Default off.
    pub causal: i32,
}

/// Options of `lxla_convolution`. NULL or 0 selects the default of a field. The `*_dimensions` lists have
/// `spatial_rank` + 2 entries, all other lists `spatial_rank`. The lists are read during the call only.
#[repr(C)]
pub struct lxla_convolution_options<'a> {
    /// sizeof(lxla_convolution_options), set by the caller.
    pub struct_size: usize,
    /// Number of spatial axes: the rank of the operands minus 2. Ignored if all lists are NULL.
    pub spatial_rank: usize,
    /// Step between adjacent windows, at least 1. Default 1.
    pub window_strides: List<'a, i64>,
    /// Number of zeros before the first element; a negative number removes elements. Default 0.
    pub padding_low: List<'a, i64>,
    /// Number of zeros after the last element; a negative number removes elements. Default 0.
    pub padding_high: List<'a, i64>,
    /// Distance between adjacent elements of lhs after insertion of zeros, at least 1. Default 1.
    pub lhs_dilation: List<'a, i64>,
    /// Distance between adjacent elements of rhs, at least 1. Default 1.
    pub rhs_dilation: List<'a, i64>,
    /// 1 reverses rhs along the axis. Default 0.
    pub window_reversal: List<'a, i32>,
    /// Axes of lhs: batch, features, spatial axes. Default 0, 1, 2, ... (NCHW).
    pub lhs_dimensions: List<'a, i64>,
    /// Axes of rhs: output features, input features, spatial axes. Default 0, 1, 2, ... (OIHW).
    pub rhs_dimensions: List<'a, i64>,
    /// Axes of the result: batch, features, spatial axes. Default 0, 1, 2, ... (NCHW).
    pub out_dimensions: List<'a, i64>,
    /// Number of groups into which the features are split, each convolved with its part of rhs. Default 1.
    pub feature_group_count: i64,
    /// Number of groups into which the batch is split, each convolved with its part of rhs. Default 1. One of the two
    /// counts must be 1.
    pub batch_group_count: i64,
    /// Dtype of the accumulation and the result, as in `lxla_dot_general`. Default: the common dtype of the operands.
    pub dtype: i32,
    /// Must be 0.
    pub reserved: i32,
}

/// Device memory of compiled programs in bytes. The caller sets `struct_size`; at most that many bytes are written.
/// All fields but `temp_bytes` are sums over the programs.
#[repr(C)]
pub struct lxla_memory_stats {
    /// sizeof(lxla_memory_stats), set by the caller.
    pub struct_size: usize,
    /// Size of the arguments.
    pub argument_bytes: u64,
    /// Size of the outputs, including those that alias arguments.
    pub output_bytes: u64,
    /// Size of the outputs that alias donated arguments.
    pub alias_bytes: u64,
    /// Size of the temporary memory during execution; the maximum over the programs.
    pub temp_bytes: u64,
    /// Size of the compiled code.
    pub code_bytes: u64,
}

/// Options of `lxla_custom_call`. NULL or 0 selects the default of a field.
#[repr(C)]
pub struct lxla_custom_call_options<'a> {
    /// sizeof(lxla_custom_call_options), set by the caller.
    pub struct_size: usize,
    /// Configuration passed to the target: a string, or for TYPED_FFI an MLIR dictionary such as `{lower = true, n =
    /// 3 : i64}`. Default: none.
    pub backend_config: Text<'a>,
    /// Calling convention of the target, one of `LXLA_CUSTOM_CALL_*`. Default TYPED_FFI.
    pub api_version: i32,
    /// `LXLA_ON` or `LXLA_OFF`: the call has a side effect, so that XLA neither eliminates nor merges calls. Default
    /// off.
    pub has_side_effect: i32,
}

/// Options of `lxla_save_with_options` and `lxla_save_async_with_options`. NULL or 0 selects the default of a field.
#[repr(C)]
pub struct lxla_save_options<'a> {
    /// sizeof(lxla_save_options), set by the caller.
    pub struct_size: usize,
    /// Keys of the file's metadata (`__metadata__` of the format), distinct, UTF-8. The strings are copied during the
    /// call.
    pub metadata_keys: List<'a, Text<'a>>,
    /// Value of each key, UTF-8.
    pub metadata_values: List<'a, Text<'a>>,
    /// Length of `metadata_keys` and `metadata_values`. Default: no metadata is given.
    pub n_metadata: usize,
    /// `LXLA_ON` or `LXLA_OFF`: if no metadata is given, that of the replaced file is kept. Default on.
    pub keep_metadata: i32,
}

/// Options of `lxla_computation_import`. NULL or 0 selects the default of a field.
#[repr(C)]
pub struct lxla_import_options<'a> {
    /// sizeof(lxla_import_options), set by the caller.
    pub struct_size: usize,
    /// Name of the function. NULL: `main`, or the only public function.
    pub function: Text<'a>,
    /// Rank of each parameter, for a module whose types have free sizes.
    pub ranks: List<'a, usize>,
    /// Sizes of all parameters, one parameter after the other.
    pub dims: List<'a, i64>,
    /// Number of parameters; length of `ranks`. 0: the shapes are those of the module.
    pub n_parameters: usize,
    /// Mesh on which the computation will be called; it has the axes of the module's mesh by their names and sizes.
    /// Default: none, the computation is for one device.
    pub mesh: lxla_mesh,
}

/// Options of `lxla_computation_export`. NULL or 0 selects the default of a field.
#[repr(C)]
pub struct lxla_export_options<'a> {
    /// sizeof(lxla_export_options), set by the caller.
    pub struct_size: usize,
    /// Form of the export, one of `LXLA_EXPORT_*`. Default FOLDER.
    pub format: i32,
    /// How often the file can be differentiated: 0, or 1 for `LXLA_EXPORT_JAX`, which adds the backward pass.
    pub vjp_order: i32,
    /// Version of StableHLO that the readers of a FOLDER or JAX export have at least, such as "1.5.0". NULL: the oldest
    /// one that has all operations of the computation.
    pub stablehlo_version: Text<'a>,
    /// Names of the parameters, distinct, UTF-8.
    pub parameter_names: List<'a, Text<'a>>,
    /// Length of `parameter_names`: number of parameters of the computation, or 0 for the names arg0, arg1, ...
    pub n_parameter_names: usize,
    /// Names of the results, distinct, UTF-8.
    pub result_names: List<'a, Text<'a>>,
    /// Length of `result_names`: number of results of the computation, or 0 for the names result0, result1, ...
    pub n_result_names: usize,
}

/// Options of `lxla_executable_compile`. NULL or 0 selects the default of a field.
#[repr(C)]
pub struct lxla_executable_options<'a> {
    /// sizeof(lxla_executable_options), set by the caller.
    pub struct_size: usize,
    /// Distinct indices of the parameters whose buffers a run may consume. Default: none.
    pub donated: List<'a, usize>,
    /// Length of `donated`.
    pub n_donated: usize,
}

/// Options of `lxla_computation_vjp` and `lxla_computation_value_and_grad`. NULL or 0 selects the default of a field.
#[repr(C)]
pub struct lxla_vjp_options<'a> {
    /// sizeof(lxla_vjp_options), set by the caller.
    pub struct_size: usize,
    /// Distinct indices of the parameters by which to differentiate, of float or complex dtypes. Default: all of them.
    pub wrt: List<'a, usize>,
    /// Length of `wrt`.
    pub n_wrt: usize,
    /// `LXLA_ON` or `LXLA_OFF`: differentiates by the captured values of float or complex dtypes too. Default off.
    pub captured: i32,
    /// Values that the forward pass saves for the backward pass, one of `LXLA_CHECKPOINT_*`. Default SAVE_ALL.
    pub checkpoint: i32,
    /// Names of the values that SAVE_NAMED saves, as given to `lxla_checkpoint_name`.
    pub saved_names: List<'a, Text<'a>>,
    /// Length of `saved_names`.
    pub n_saved_names: usize,
}

/// Options of `lxla_gradients_with_options`. NULL or 0 selects the default of a field.
#[repr(C)]
pub struct lxla_gradients_options {
    /// sizeof(lxla_gradients_options), set by the caller.
    pub struct_size: usize,
    /// `LXLA_ON` or `LXLA_OFF`: INVALID_ARGUMENT, which names it, for one of xs to which no derivative of one of ys passes.
    /// Default off: its gradient is zero.
    pub require_connected: i32,
}

/// Dimension numbers of `lxla_gather`, named as in StableHLO. Each list is followed by its length. Axes must not be
/// negative.
#[repr(C)]
pub struct lxla_gather_options<'a> {
    /// sizeof(lxla_gather_options), set by the caller.
    pub struct_size: usize,
    /// Axes of the result that index into a slice, ascending.
    pub offset_dims: List<'a, i64>,
    /// Length of `offset_dims`.
    pub n_offset_dims: usize,
    /// Axes of x that are removed from each slice, ascending; their slice size is 1.
    pub collapsed_slice_dims: List<'a, i64>,
    /// Length of `collapsed_slice_dims`.
    pub n_collapsed_slice_dims: usize,
    /// Batch axes of x, ascending. The slice start on such an axis is the position along the paired batch axis of the
    /// indices.
    pub operand_batching_dims: List<'a, i64>,
    /// Length of `operand_batching_dims`.
    pub n_operand_batching_dims: usize,
    /// Batch axes of the indices, paired with `operand_batching_dims`.
    pub start_indices_batching_dims: List<'a, i64>,
    /// Length of `start_indices_batching_dims`.
    pub n_start_indices_batching_dims: usize,
    /// Element i of an index vector is the slice start on axis `start_index_map[i]` of x.
    pub start_index_map: List<'a, i64>,
    /// Length of `start_index_map`.
    pub n_start_index_map: usize,
    /// Axis of the indices that holds the index vectors. If it equals their rank, each index is a vector of one
    /// element.
    pub index_vector_dim: i64,
    /// Size of a slice on each axis of x.
    pub slice_sizes: List<'a, i64>,
    /// Length of `slice_sizes`.
    pub n_slice_sizes: usize,
    /// 1: the caller guarantees that the index vectors are sorted in ascending order.
    pub indices_are_sorted: i32,
}

/// Dimension numbers of `lxla_scatter`, named as in StableHLO. Each list is followed by its length. Axes must not be
/// negative.
#[repr(C)]
pub struct lxla_scatter_options<'a> {
    /// sizeof(lxla_scatter_options), set by the caller.
    pub struct_size: usize,
    /// Axes of the updates that index into a slice, ascending.
    pub update_window_dims: List<'a, i64>,
    /// Length of `update_window_dims`.
    pub n_update_window_dims: usize,
    /// Axes of the inputs that the slices lack, ascending; the slice size there is 1.
    pub inserted_window_dims: List<'a, i64>,
    /// Length of `inserted_window_dims`.
    pub n_inserted_window_dims: usize,
    /// Batch axes of the inputs, ascending. The slice start on such an axis is the position along the paired batch
    /// axis of the indices.
    pub input_batching_dims: List<'a, i64>,
    /// Length of `input_batching_dims`.
    pub n_input_batching_dims: usize,
    /// Batch axes of the indices, paired with `input_batching_dims`.
    pub scatter_indices_batching_dims: List<'a, i64>,
    /// Length of `scatter_indices_batching_dims`.
    pub n_scatter_indices_batching_dims: usize,
    /// Element i of an index vector is the slice start on axis `scatter_dims_to_operand_dims[i]` of the inputs.
    pub scatter_dims_to_operand_dims: List<'a, i64>,
    /// Length of `scatter_dims_to_operand_dims`.
    pub n_scatter_dims_to_operand_dims: usize,
    /// Axis of the indices that holds the index vectors. If it equals their rank, each index is a vector of one
    /// element.
    pub index_vector_dim: i64,
    /// 1: the caller guarantees that the index vectors are sorted in ascending order.
    pub indices_are_sorted: i32,
    /// 1: the caller guarantees that no element is updated twice.
    pub unique_indices: i32,
}

/// Window configuration of `lxla_reduce_window` and `lxla_select_and_scatter`. Each list has `rank` entries.
#[repr(C)]
pub struct lxla_window_options<'a> {
    /// sizeof(lxla_window_options), set by the caller.
    pub struct_size: usize,
    /// Rank of the input.
    pub rank: usize,
    /// Number of elements of a window on each axis, at least 1. Required.
    pub window_dimensions: List<'a, i64>,
    /// Step between adjacent windows. NULL: 1.
    pub strides: List<'a, i64>,
    /// Distance between adjacent elements of the input after insertion of padding. NULL: 1.
    pub base_dilations: List<'a, i64>,
    /// Distance between adjacent elements of a window. NULL: 1.
    pub window_dilations: List<'a, i64>,
    /// Padding before the first element; a negative number removes elements. NULL: 0.
    pub low: List<'a, i64>,
    /// Padding after the last element; a negative number removes elements. NULL: 0.
    pub high: List<'a, i64>,
}

/// Limits of a dtype, as `finfo` and `iinfo` of NumPy. The caller sets `struct_size`; at most that many bytes are
/// written. For complex dtypes all fields but `kind` describe the real and imaginary parts. Fields that do not apply
/// are 0.
#[repr(C)]
pub struct lxla_dtype_limits {
    /// sizeof(lxla_dtype_limits), set by the caller.
    pub struct_size: usize,
    /// Kind of the dtype, one of `LXLA_KIND_*`.
    pub kind: i32,
    /// Width of an element (or of one part) in bits; 8 for pred.
    pub bits: i32,
    /// Floats: number of mantissa bits without the leading 1.
    pub mantissa_bits: i32,
    /// Floats: number of exponent bits.
    pub exponent_bits: i32,
    /// Floats: number of decimal digits that every value preserves (FLT_DIG of C), at least 1.
    pub digits: i32,
    /// 1 if the dtype has infinities.
    pub has_infinity: i32,
    /// 1 if the dtype has NaN.
    pub has_nan: i32,
    /// 1 if the dtype has -0.
    pub has_negative_zero: i32,
    /// Floats: difference between 1 and the next larger value.
    pub eps: f64,
    /// Smallest (most negative) finite value; for 64-bit integers the nearest double.
    pub min: f64,
    /// Largest finite value; for 64-bit integers the nearest double.
    pub max: f64,
    /// Floats: smallest positive normal value. XLA may flush smaller values to 0.
    pub smallest_normal: f64,
    /// Floats: smallest positive value.
    pub smallest_subnormal: f64,
    /// Integers and pred: smallest value.
    pub integer_min: i64,
    /// Integers and pred: largest value.
    pub integer_max: u64,
}

/// Value of a `lxla_scalar`; its dtype selects the member.
#[repr(C)]
#[derive(Clone, Copy)]
pub union lxla_scalar_value {
    /// Floats.
    pub f: f64,
    /// Signed integers.
    pub i: i64,
    /// Unsigned integers and pred (0 or 1).
    pub u: u64,
    /// Complex numbers: real part, imaginary part.
    pub c: [f64; 2],
}

/// Scalar with its own dtype, for values that a double cannot represent.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct lxla_scalar {
    /// Dtype of the scalar, one of `LXLA_DTYPE_*`; selects the member of `value`.
    pub dtype: i32,
    /// Must be 0.
    pub reserved: i32,
    /// Value of the scalar.
    pub value: lxla_scalar_value,
}

/// Function that frees or reuses memory that the library borrowed. `user` is the pointer that was passed with it. An
/// exception that it throws is caught, and its text logged as an error.
pub type lxla_release_fn = Option<unsafe extern "C-unwind" fn(user: *mut c_void)>;

/// Function that is told that a value is there (`status` `LXLA_OK`, an empty `message`), or has failed (the status and
/// message of a read). `message` is valid during the call only. `user` is the pointer that was passed with it. An
/// exception that it throws is caught, and its text logged as an error.
pub type lxla_ready_fn =
    Option<unsafe extern "C-unwind" fn(status: lxla_status, message: *const c_char, user: *mut c_void)>;

/// Function that frees memory when a device lacks it. `bytes` is the number of bytes that an allocation needs; 0 if that
/// is not known. Returns 1 to try the allocation once more, 0 to let it fail. `user` is the pointer that was passed with
/// it. An exception that it throws is caught, its text logged as an error, and means 0.
pub type lxla_memory_fn = Option<unsafe extern "C-unwind" fn(bytes: u64, user: *mut c_void) -> i32>;

/// Log callback. `level` is 1 (error), 2 (warning) or 3 (information). `message` is valid during the call only.
/// `user` is the pointer passed to `lxla_set_log_callback`. An exception that it throws is caught and dropped.
pub type lxla_log_fn = Option<unsafe extern "C-unwind" fn(level: i32, message: *const c_char, user: *mut c_void)>;

/// Memory of an input or output of a kernel: elements in row-major order. For pred, a byte for each element.
#[repr(C)]
pub struct lxla_buffer_view {
    /// The first element; may be NULL if there are no elements. Only outputs may be written.
    pub data: *mut c_void,
    /// Dtype of the elements, one of `LXLA_DTYPE_*`.
    pub dtype: i32,
    /// Number of dimensions.
    pub rank: i32,
    /// The dimensions.
    pub dims: *const i64,
    /// Size of all elements in bytes.
    pub size_bytes: usize,
}

/// One call of a kernel. Everything that it points to is valid during the call only.
#[repr(C)]
pub struct lxla_kernel_call {
    /// sizeof(lxla_kernel_call) of the library; later versions may have more fields.
    pub struct_size: usize,
    /// Name under which the kernel is registered; `host_call` for `lxla_host_call`.
    pub target: *const c_char,
    /// Number of inputs.
    pub n_inputs: usize,
    /// The inputs.
    pub inputs: *const lxla_buffer_view,
    /// Number of outputs.
    pub n_outputs: usize,
    /// The outputs, which the kernel writes whole: their memory may have any content before.
    pub outputs: *const lxla_buffer_view,
    /// Attributes of the call, as they were given; an empty string if none were.
    pub attributes_json: *const c_char,
    /// Room for a message, UTF-8 with its NUL. A message that is not empty fails the call.
    pub error: *mut c_char,
    /// Size of `error` in bytes.
    pub error_size: usize,
}

/// A kernel: reads the inputs of the call and writes its outputs. Returns 0, or a status code, which fails the step
/// with that code and the message in `error`. An exception fails it with INTERNAL and the exception's text.
///
/// `pthread_exit` and a cancellation of the thread fail the call, too. A thread of the caller then ends when its
/// outermost call of the library would return; a thread of the plugin goes on, since others wait for it. This holds for
/// every callback. No callback may be left by `longjmp`: all later calls of the thread return FAILED_PRECONDITION, and
/// work on the device never ends.
///
/// It is called on any thread, by several at the same time, also while the caller's threads are in the library. No lock
/// of the library is held but that of the sync of the device: a kernel must not wait for a thread that runs a step or a
/// sync of the same device. It must not call the library: such calls return FAILED_PRECONDITION.
pub type lxla_kernel_fn = Option<unsafe extern "C-unwind" fn(call: *const lxla_kernel_call, user: *mut c_void) -> i32>;

/// Options of `lxla_kernel_register` and `lxla_host_call`. NULL or 0 selects the default of a field.
#[repr(C)]
pub struct lxla_kernel_options {
    /// sizeof(lxla_kernel_options), set by the caller.
    pub struct_size: usize,
    /// `LXLA_ON` or `LXLA_OFF`: calls keep the order of recording among the ordered calls of a device, and are neither
    /// merged nor dropped. Default off.
    pub ordered: i32,
    /// `LXLA_ON` or `LXLA_OFF`: equal calls may be merged, and calls whose outputs nothing needs dropped. If off, the
    /// next step makes every call once. Default on.
    pub pure: i32,
    /// Called with `user` once, when nothing can call the kernel any more: it is unregistered or its environment
    /// released, and no recorded operation, no computation, no plan of a step and no history of a tensor refers to it.
    /// Called on any thread, without locks of the library. NULL: nothing.
    pub destroy: lxla_release_fn,
}
