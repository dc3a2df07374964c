//! Facts about parameters and fields that neither their types nor the conventions of the header tell.
//! `c_tests/abi/description_test.py` compares those about NULL with what the library does.

/// Number of elements behind a pointer: a JSON value, by function or type, and parameter or field. Others have as their
/// length the first `size_t` that follows them, or `n_<name>` or `<name>_size`.
pub const LENGTHS: &[(&str, &str, &str)] = &[
    ("lxla_collective_permute", "pairs", r#"{"of": "n_pairs", "times": 2}"#),
    ("lxla_custom_call", "dims", r#"{"sum": "ranks"}"#),
    ("lxla_custom_call", "out_results", r#"{"of": "n_results"}"#),
    ("lxla_executable_run", "out_tensors", r#"{"of": "n_outputs"}"#),
    ("lxla_executable_run_host", "input_sizes", r#"{"of": "n_inputs"}"#),
    ("lxla_executable_run_host", "inputs", r#"{"of": "n_inputs"}"#),
    ("lxla_executable_run_host", "output_sizes", r#"{"of": "n_outputs"}"#),
    ("lxla_executable_run_host", "outputs", r#"{"of": "n_outputs"}"#),
    ("lxla_gradients", "cotangents", r#"{"of": "n_ys"}"#),
    ("lxla_gradients", "out_gradients", r#"{"of": "n_xs"}"#),
    ("lxla_gradients_with_options", "cotangents", r#"{"of": "n_ys"}"#),
    ("lxla_gradients_with_options", "out_gradients", r#"{"of": "n_xs"}"#),
    ("lxla_graph_hash", "out_hash", r#"{"fixed": 32}"#),
    ("lxla_host_call", "dims", r#"{"sum": "ranks"}"#),
    ("lxla_host_call", "out_tensors", r#"{"of": "n_outputs"}"#),
    ("lxla_kernel_apply", "dims", r#"{"sum": "ranks"}"#),
    ("lxla_kernel_apply", "out_tensors", r#"{"of": "n_outputs"}"#),
    ("lxla_mesh_create", "ordinals", r#"{"product": "axis_sizes"}"#),
    ("lxla_optimization_barrier", "out_tensors", r#"{"of": "n"}"#),
    ("lxla_reduce_window", "out_results", r#"{"of": "n"}"#),
    ("lxla_reduce_with", "out_results", r#"{"of": "n"}"#),
    ("lxla_scan", "out_carry", r#"{"of": "n_carry"}"#),
    ("lxla_scatter", "out_results", r#"{"of": "n"}"#),
    ("lxla_sort", "out_results", r#"{"of": "n"}"#),
    ("lxla_split", "out_tensors", r#"{"of": "n"}"#),
    ("lxla_while", "out_results", r#"{"of": "n"}"#),
    ("lxla_while_bounded", "out_values", r#"{"of": "n"}"#),
    ("lxla_buffer_view", "data", r#"{"of": "size_bytes"}"#),
    ("lxla_buffer_view", "dims", r#"{"of": "rank"}"#),
    ("lxla_convolution_options", "window_strides", r#"{"of": "spatial_rank"}"#),
    ("lxla_convolution_options", "padding_low", r#"{"of": "spatial_rank"}"#),
    ("lxla_convolution_options", "padding_high", r#"{"of": "spatial_rank"}"#),
    ("lxla_convolution_options", "lhs_dilation", r#"{"of": "spatial_rank"}"#),
    ("lxla_convolution_options", "rhs_dilation", r#"{"of": "spatial_rank"}"#),
    ("lxla_convolution_options", "window_reversal", r#"{"of": "spatial_rank"}"#),
    ("lxla_convolution_options", "lhs_dimensions", r#"{"of": "spatial_rank", "plus": 2}"#),
    ("lxla_convolution_options", "rhs_dimensions", r#"{"of": "spatial_rank", "plus": 2}"#),
    ("lxla_convolution_options", "out_dimensions", r#"{"of": "spatial_rank", "plus": 2}"#),
    ("lxla_import_options", "ranks", r#"{"of": "n_parameters"}"#),
    ("lxla_import_options", "dims", r#"{"sum": "ranks"}"#),
    ("lxla_save_options", "metadata_keys", r#"{"of": "n_metadata"}"#),
    ("lxla_save_options", "metadata_values", r#"{"of": "n_metadata"}"#),
    ("lxla_window_options", "base_dilations", r#"{"of": "rank"}"#),
    ("lxla_window_options", "high", r#"{"of": "rank"}"#),
    ("lxla_window_options", "low", r#"{"of": "rank"}"#),
    ("lxla_window_options", "strides", r#"{"of": "rank"}"#),
    ("lxla_window_options", "window_dilations", r#"{"of": "rank"}"#),
    ("lxla_window_options", "window_dimensions", r#"{"of": "rank"}"#),
    ("lxla_key_value_reply_fn", "bytes", r#"{"of": "size"}"#),
];

/// Pointers that may be NULL where there is something to point to, by function and parameter. By convention, also
/// options and `axes` may be NULL, and the opaque `user` of a callback.
pub const MAY_BE_NULL: &[(&str, &str)] = &[
    ("lxla_clamp_with_scalars", "max"),
    ("lxla_clamp_with_scalars", "min"),
    ("lxla_computation_jvp", "wrt"),
    ("lxla_env_set_memory_callback", "fn_"),
    ("lxla_fft", "lengths"),
    ("lxla_gradients", "cotangents"),
    ("lxla_gradients_with_options", "cotangents"),
    ("lxla_kernel_apply", "attributes_json"),
    ("lxla_mask_select", "out_count"),
    ("lxla_mesh_create", "ordinals"),
    ("lxla_nonzero", "out_count"),
    ("lxla_pad", "interior"),
    ("lxla_pad_with_scalar", "interior"),
    ("lxla_select_with_scalars", "false_scalar"),
    ("lxla_select_with_scalars", "true_scalar"),
    ("lxla_set_log_callback", "fn_"),
    ("lxla_slice", "strides"),
    ("lxla_slice_assign", "strides"),
    ("lxla_split", "sizes"),
    ("lxla_string_free", "text"),
    ("lxla_tensor_from_host_borrowed", "release"),
    ("lxla_tensor_info", "out_dims"),
    ("lxla_tensor_info", "out_dtype"),
    ("lxla_tensor_info", "out_rank"),
    ("lxla_tensor_shard_read", "dst"),
    ("lxla_tensor_shard_read", "out_dims"),
    ("lxla_tensor_shard_read", "out_offsets"),
    ("lxla_unique", "out_count"),
    ("lxla_unique", "out_counts"),
    ("lxla_unique", "out_indices"),
    ("lxla_unique", "out_inverse"),
];

/// Options and axes that must not be NULL although others may, and fields without a default.
pub const NOT_NULL: &[(&str, &str)] = &[
    ("lxla_gather", "options"),
    ("lxla_reduce_window", "options"),
    ("lxla_scatter", "options"),
    ("lxla_select_and_scatter", "options"),
    ("lxla_window_options", "window_dimensions"),
    ("lxla_buffer_view", "data"),
    ("lxla_buffer_view", "dims"),
    ("lxla_kernel_call", "attributes_json"),
    ("lxla_kernel_call", "error"),
    ("lxla_kernel_call", "inputs"),
    ("lxla_kernel_call", "outputs"),
    ("lxla_kernel_call", "target"),
    ("lxla_key_value_store", "get"),
    ("lxla_key_value_store", "put"),
    ("lxla_key_value_store", "try_get"),
];

/// Families of constants of integers whose documentation names none, or another function: by function or type ("" for
/// all) and parameter or field.
pub const ENUMS: &[(&str, &str, &str)] = &[
    ("", "algorithm", "LXLA_RNG_"),
    ("lxla_device", "kind", "LXLA_DEVICE_"),
    ("lxla_dtype_can_cast", "from", "LXLA_DTYPE_"),
    ("lxla_dtype_can_cast", "to", "LXLA_DTYPE_"),
    ("lxla_dtype_promote", "a", "LXLA_DTYPE_"),
    ("lxla_dtype_promote", "b", "LXLA_DTYPE_"),
    ("lxla_binary_inplace", "op", "LXLA_BINARY_"),
    ("lxla_binary_scalar", "op", "LXLA_BINARY_"),
    ("lxla_binary_scalar_inplace", "op", "LXLA_BINARY_"),
    ("lxla_binary_with_scalar", "op", "LXLA_BINARY_"),
    ("lxla_binary_with_scalar_inplace", "op", "LXLA_BINARY_"),
    ("lxla_binary_with_varying_scalar", "op", "LXLA_BINARY_"),
    ("lxla_compare_scalar", "op", "LXLA_COMPARE_"),
    ("lxla_compare_with_scalar", "op", "LXLA_COMPARE_"),
    ("lxla_reduce_scatter", "op", "LXLA_REDUCE_"),
];

/// Integers of type `int32_t` that are numbers: neither constants nor flags, by function ("" for all) and parameter.
/// Fields of structs, and outputs with names other than `out_flag`, need no row.
pub const NUMBERS: &[(&str, &str)] = &[
    ("lxla_reduce_precision", "exponent_bits"),
    ("lxla_reduce_precision", "mantissa_bits"),
    ("lxla_tensor_shard_read", "ordinal"),
    ("lxla_mesh_create", "ordinals"),
    ("lxla_env_device_count", "out_count"),
    ("lxla_thread_limit", "n"),
    ("lxla_thread_limit", "out_before"),
    ("lxla_log_fn", "level"),
];

/// Flags that bodies do not convert by `flag(...)`.
pub const FLAGS: &[(&str, &str)] = &[("", "out_flag"), ("", "out_done"), ("", "out_ready")];

/// Functions that return handles which the caller must not release.
pub const BORROWED: &[&str] = &["lxla_env_current", "lxla_env_default", "lxla_tensor_env"];
