//! The types of the header.

use super::abi::options::Options;
use std::ffi::c_char;

/// What a call says of itself: 0 (`LXLA_OK`) or one of the `LXLA_*` status codes.
pub type lxla_status = i32;

/// A handle on a tensor. id 0 is none.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct lxla_tensor {
    /// For the library.
    pub id: u64,
}

/// A handle on an environment. id 0 means the thread's current environment, else the default one.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct lxla_env {
    /// For the library.
    pub id: u64,
}

/// A handle on an asynchronous save. id 0 is none.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct lxla_save_ticket {
    /// For the library.
    pub id: u64,
}

/// A handle on a traced computation. id 0 is none.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct lxla_computation {
    /// For the library.
    pub id: u64,
}

/// A device of an environment: one of `LXLA_DEVICE_*` and a number among those of its kind.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct lxla_device {
    /// `LXLA_DEVICE_UNSPECIFIED`, `LXLA_DEVICE_CPU` or `LXLA_DEVICE_XLA`.
    pub kind: i32,
    /// 0 for the first.
    pub ordinal: i32,
}

/// Options of `lxla_env_create`. Set `struct_size` to `sizeof(lxla_env_options)`, call `lxla_env_options_init`, then change
/// what you want. NULL or 0 is the default. Switches: 0 default, 1 on, 2 off.
#[repr(C)]
pub struct lxla_env_options {
    /// Size of the struct as the caller knows it.
    pub struct_size: usize,
    /// File of the PJRT plugin. NULL: `LXLA_PJRT_PLUGIN`, then the plugin that the set-up command installed, then the first
    /// of `PJRT_NAMES_AND_LIBRARY_PATHS`.
    pub plugin_path: *const c_char,
    /// Folder of the disk cache, made if it is not there, for this user alone (mode 700). The cache is a folder `lazyxla-v2` in
    /// it; other files are left alone. NULL: the variable `LXLA_CACHE_DIR`, else no disk cache. A folder that cannot be used
    /// is not, with a warning in the log.
    pub cache_dir: *const c_char,
    /// How many compiled programs are kept in memory; the least recently used give way. Default 1024.
    pub cache_capacity: usize,
    /// The most operations of one program; more are cut into several. Default 16384.
    pub max_program_ops: usize,
    /// How many devices to ask the plugin for, at most 1023. Default: the plugin's own; one on a CPU.
    pub device_count: i32,
    /// Switch: tensors on `cpu`, or made without a device, are native (on), or lazy on xla:0 (off). Default on.
    pub use_native_for_cpu_tensor: i32,
    /// What an operation does that meets tensors of different devices: 1 error, 2 copy, 3 scalar. Default 3.
    pub mixed_device_policy: i32,
    /// Switch: steps donate buffers. Default on.
    pub donation: i32,
}

// SAFETY: it is as the trait wants it; zero is NULL, 0 or a switch's default.
unsafe impl Options for lxla_env_options {
    const NAME: &'static str = "lxla_env_options";
}

/// Options of `lxla_convolution`. Set `struct_size` to `sizeof(lxla_convolution_options)`, call
/// `lxla_convolution_options_init`, then change what you want. Lists have `spatial_rank` entries, those of dimensions 2 more;
/// NULL is the default. They are read during the call only.
#[repr(C)]
pub struct lxla_convolution_options {
    /// Size of the struct as the caller knows it.
    pub struct_size: usize,
    /// How many spatial axes the lists are for: the operands' rank - 2. With all lists NULL it is not looked at.
    pub spatial_rank: usize,
    /// From window to window, at least 1. Default 1.
    pub window_strides: *const i64,
    /// How many zeros stand before the first element; negative: elements that are cut off. Default 0.
    pub padding_low: *const i64,
    /// The same behind the last element.
    pub padding_high: *const i64,
    /// From element to element of lhs, at least 1, with zeros between them. Default 1.
    pub lhs_dilation: *const i64,
    /// From element to element of rhs, at least 1. Default 1.
    pub rhs_dilation: *const i64,
    /// 1 where rhs is applied backwards. Default 0.
    pub window_reversal: *const i32,
    /// The axes of lhs: of the batch, of features, then the spatial ones. Default 0, 1, 2, ...: NCHW.
    pub lhs_dimensions: *const i64,
    /// The axes of rhs: of output features, of input features, then the spatial ones. Default 0, 1, 2, ...: OIHW.
    pub rhs_dimensions: *const i64,
    /// The axes of the result: of the batch, of features, then the spatial ones. Default 0, 1, 2, ...: NCHW.
    pub out_dimensions: *const i64,
    /// Groups of features, each with its part of rhs. Default 1.
    pub feature_group_count: i64,
    /// Groups of the batch, each with its part of rhs. Default 1; one of the two counts is 1.
    pub batch_group_count: i64,
    /// In which dtype it is computed and given, as in `lxla_dot_general`. Default: the operands' common one.
    pub dtype: i32,
    /// Set it to 0.
    pub reserved: i32,
}

// SAFETY: it is as the trait wants it; zero is NULL or 0, which stands for the default.
unsafe impl Options for lxla_convolution_options {
    const NAME: &'static str = "lxla_convolution_options";
}

/// Bytes that compiled programs take on their device. Set `struct_size` to `sizeof(lxla_memory_stats)`; what is written is
/// never more than that.
#[repr(C)]
pub struct lxla_memory_stats {
    /// Size of the struct as the caller knows it.
    pub struct_size: usize,
    /// Their arguments.
    pub argument_bytes: u64,
    /// Their outputs, those in arguments' memory among them.
    pub output_bytes: u64,
    /// Outputs that are written over donated arguments.
    pub alias_bytes: u64,
    /// What they need besides while they run; of several programs, the most.
    pub temp_bytes: u64,
    /// The programs themselves.
    pub code_bytes: u64,
}

/// Options of `lxla_custom_call`. Set `struct_size` to `sizeof(lxla_custom_call_options)`, call
/// `lxla_custom_call_options_init`, then change what you want. NULL or 0 is the default. Switches: 0 default, 1 on, 2 off.
#[repr(C)]
pub struct lxla_custom_call_options {
    /// Size of the struct as the caller knows it.
    pub struct_size: usize,
    /// For the target: text, or with TYPED_FFI a dictionary as MLIR writes it, such as `{lower = true, n = 3 : i64}`. Default
    /// none.
    pub backend_config: *const c_char,
    /// How the plugin calls the target: `LXLA_CUSTOM_CALL_*`. Default TYPED_FFI.
    pub api_version: i32,
    /// Switch: XLA neither leaves the call out nor makes one of two. Default off.
    pub has_side_effect: i32,
}

/// Dimension numbers of `lxla_gather`, by StableHLO's names, each list with its length. Set `struct_size` to
/// `sizeof(lxla_gather_options)`, call `lxla_gather_options_init`, then set what there is. Axes are 0 or more.
#[repr(C)]
pub struct lxla_gather_options {
    /// Size of the struct as the caller knows it.
    pub struct_size: usize,
    /// The result's axes that go through a slice, ascending.
    pub offset_dims: *const i64,
    /// How many.
    pub n_offset_dims: usize,
    /// x's axes, ascending, that a slice has not.
    pub collapsed_slice_dims: *const i64,
    /// How many.
    pub n_collapsed_slice_dims: usize,
    /// x's axes, ascending, on which a slice is where its index is on an axis of the indices.
    pub operand_batching_dims: *const i64,
    /// How many.
    pub n_operand_batching_dims: usize,
    /// Those axes of the indices.
    pub start_indices_batching_dims: *const i64,
    /// How many.
    pub n_start_indices_batching_dims: usize,
    /// x's axes that the elements of an index vector are for.
    pub start_index_map: *const i64,
    /// How many.
    pub n_start_index_map: usize,
    /// The indices' axis that goes through an index vector; their rank if each index is alone.
    pub index_vector_dim: i64,
    /// The size of a slice on each of x's axes.
    pub slice_sizes: *const i64,
    /// How many.
    pub n_slice_sizes: usize,
    /// 1: the caller promises that index vectors ascend.
    pub indices_are_sorted: i32,
}

/// Dimension numbers of `lxla_scatter`, as `lxla_gather_options` has them.
#[repr(C)]
pub struct lxla_scatter_options {
    /// Size of the struct as the caller knows it.
    pub struct_size: usize,
    /// The updates' axes that go through a slice, ascending.
    pub update_window_dims: *const i64,
    /// How many.
    pub n_update_window_dims: usize,
    /// The tensors' axes, ascending, that a slice has not.
    pub inserted_window_dims: *const i64,
    /// How many.
    pub n_inserted_window_dims: usize,
    /// The tensors' axes, ascending, on which a slice is where its index is on an axis of the indices.
    pub input_batching_dims: *const i64,
    /// How many.
    pub n_input_batching_dims: usize,
    /// Those axes of the indices.
    pub scatter_indices_batching_dims: *const i64,
    /// How many.
    pub n_scatter_indices_batching_dims: usize,
    /// The tensors' axes that the elements of an index vector are for.
    pub scatter_dims_to_operand_dims: *const i64,
    /// How many.
    pub n_scatter_dims_to_operand_dims: usize,
    /// The indices' axis that goes through an index vector; their rank if each index is alone.
    pub index_vector_dim: i64,
    /// 1: the caller promises that index vectors ascend.
    pub indices_are_sorted: i32,
    /// 1: the caller promises that no element is updated twice.
    pub unique_indices: i32,
}

/// Windows that go over a tensor. Set `struct_size` to `sizeof(lxla_window_options)`, call `lxla_window_options_init`, then
/// set the rank and what there is; each list is as long as the rank.
#[repr(C)]
pub struct lxla_window_options {
    /// Size of the struct as the caller knows it.
    pub struct_size: usize,
    /// That of the tensor.
    pub rank: usize,
    /// How many elements a window has on each axis, at least 1.
    pub window_dimensions: *const i64,
    /// How far the next window is. NULL: 1.
    pub strides: *const i64,
    /// How far apart the tensor's elements are put first, with padding between them. NULL: 1, side by side.
    pub base_dilations: *const i64,
    /// How far apart a window's elements are. NULL: 1.
    pub window_dilations: *const i64,
    /// Padding before the first element; a negative one takes elements away. NULL: 0.
    pub low: *const i64,
    /// Padding behind the last element. NULL: 0.
    pub high: *const i64,
}

/// What elements of a dtype there are: NumPy's `finfo` and `iinfo`. Set `struct_size` to `sizeof(lxla_dtype_limits)`; what is
/// written is never more than that. Of complex numbers everything but `kind` is that of their parts. What a dtype has not is 0.
#[repr(C)]
pub struct lxla_dtype_limits {
    /// Size of the struct as the caller knows it.
    pub struct_size: usize,
    /// `LXLA_KIND_*`.
    pub kind: i32,
    /// Bits of an element, or of a part; of pred 8, of which one is used.
    pub bits: i32,
    /// Floats: bits of the mantissa, without the leading 1.
    pub mantissa_bits: i32,
    /// Floats: bits of the exponent.
    pub exponent_bits: i32,
    /// Floats: how many decimal digits every number keeps (C's FLT_DIG), at least 1.
    pub digits: i32,
    /// 1 if there are infinities.
    pub has_infinity: i32,
    /// 1 if there is NaN.
    pub has_nan: i32,
    /// 1 if there is a -0.
    pub has_negative_zero: i32,
    /// Floats: from 1 to the next number.
    pub eps: f64,
    /// The least finite number; of 64-bit integers the nearest double.
    pub min: f64,
    /// The greatest finite number; of 64-bit integers the nearest double.
    pub max: f64,
    /// Floats: the least positive number with all bits of the mantissa. XLA may take smaller ones for 0.
    pub smallest_normal: f64,
    /// Floats: the least positive number.
    pub smallest_subnormal: f64,
    /// Integers and pred: the least one.
    pub integer_min: i64,
    /// Integers and pred: the greatest one.
    pub integer_max: u64,
}

/// The member of a `lxla_scalar` that its dtype selects.
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

/// A scalar operand with a dtype of its own, for values that a double cannot hold.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct lxla_scalar {
    /// `LXLA_DTYPE_*`: which member of `value` is set.
    pub dtype: i32,
    /// Set it to 0.
    pub reserved: i32,
    /// The value.
    pub value: lxla_scalar_value,
}

/// Receives the library's log: `level` 1 error, 2 warning, 3 information. `message` lives for the call only.
pub type lxla_log_fn = Option<unsafe extern "C" fn(level: i32, message: *const c_char, user: *mut std::ffi::c_void)>;
