"""Every function of lazyxla.h by ctypes. Written by tools/python_binding.py from lazyxla.json; do not edit.

>>> import lazyxla.c as c
>>> device = c.lxla_device()
>>> c.lxla_device_parse(b"xla:1", ctypes.byref(device))
>>> device.ordinal
1

Names, arguments and their meanings are those of lazyxla.h, which the package has (python -m lazyxla config --cflags). A
status other than 0 is an ``Error``. A pointer to T takes arrays of T, ``byref(T())`` and None; ``const char *`` takes
bytes. A text that the caller has to free, ``char **``, is a pointer to a c_void_p. The interpreter's lock is released
during a call. ``handle_of(x)`` is the handle of an array, valid as long as the array; ``array_of(handle)`` is an array
that takes over a reference to a handle. Constants are in ``constants``.
"""

import ctypes
import os
from ctypes import CFUNCTYPE, POINTER, Structure, Union
from ctypes import c_char_p, c_double, c_int32, c_int64, c_size_t, c_uint8, c_uint32, c_uint64, c_void_p
from typing import Any

from . import _constants as constants  # noqa: F401
from . import _core

_library = ctypes.CDLL(os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib", "liblazyxla.so.0"))


class Error(RuntimeError):
    """A failed call: ``status`` is its code, one of ``constants.INVALID_ARGUMENT`` and so on."""

    def __init__(self, status: int) -> None:
        self.status = status
        super().__init__(f"{lxla_status_name(status).decode()}: {lxla_last_error_message().decode()}")


def _check(status: int, function: Any, arguments: Any) -> None:
    if status != 0:
        raise Error(status)


def _function(name: str, result: Any, parameters: list[tuple[str, Any]]) -> Any:
    kind = CFUNCTYPE(result, *(each for _, each in parameters))
    function: Any = kind((name, _library), tuple((1, each) for each, _ in parameters))
    if result is c_int32:
        function.errcheck = _check
    return function


def handle_of(array: _core.Array) -> Any:
    """Returns the handle of an array, which stays the array's."""
    return lxla_tensor(array.handle)


def array_of(handle: Any) -> _core.Array:
    """Returns an array of a handle, and takes over one reference to it."""
    return _core.from_handle(handle.id)


lxla_status = c_int32


class lxla_tensor(Structure):
    _fields_ = [("id", c_uint64)]


class lxla_env(Structure):
    _fields_ = [("id", c_uint64)]


class lxla_save_ticket(Structure):
    _fields_ = [("id", c_uint64)]


class lxla_computation(Structure):
    _fields_ = [("id", c_uint64)]


class lxla_executable(Structure):
    _fields_ = [("id", c_uint64)]


class lxla_mesh(Structure):
    _fields_ = [("id", c_uint64)]


class lxla_device(Structure):
    _fields_ = [("kind", c_int32), ("ordinal", c_int32)]


lxla_key_value_reply_fn = CFUNCTYPE(None, c_void_p, c_void_p, c_size_t)

lxla_key_value_get_fn = CFUNCTYPE(lxla_status, c_void_p, c_void_p, c_size_t, c_int64, lxla_key_value_reply_fn, c_void_p)

lxla_key_value_put_fn = CFUNCTYPE(
    lxla_status, c_void_p, c_void_p, c_size_t, c_void_p, c_size_t, lxla_key_value_reply_fn, c_void_p
)

lxla_key_value_try_get_fn = CFUNCTYPE(lxla_status, c_void_p, c_void_p, c_size_t, lxla_key_value_reply_fn, c_void_p)


class lxla_key_value_store(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("user", c_void_p),
        ("get", lxla_key_value_get_fn),
        ("put", lxla_key_value_put_fn),
        ("try_get", lxla_key_value_try_get_fn),
    ]


class lxla_env_options(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("plugin_path", c_char_p),
        ("cache_dir", c_char_p),
        ("cache_capacity", c_size_t),
        ("max_program_ops", c_size_t),
        ("device_count", c_int32),
        ("use_native_for_cpu_tensor", c_int32),
        ("mixed_device_policy", c_int32),
        ("donation", c_int32),
        ("process_id", c_int32),
        ("process_count", c_int32),
        ("key_value_store", POINTER(lxla_key_value_store)),
        ("plugin_options", c_char_p),
        ("engine", c_char_p),
        ("dynamic_sizes", c_char_p),
        ("threads", c_int32),
    ]


class lxla_attention_options(Structure):
    _fields_ = [("struct_size", c_size_t), ("scale", c_double), ("causal", c_int32)]


class lxla_convolution_options(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("spatial_rank", c_size_t),
        ("window_strides", POINTER(c_int64)),
        ("padding_low", POINTER(c_int64)),
        ("padding_high", POINTER(c_int64)),
        ("lhs_dilation", POINTER(c_int64)),
        ("rhs_dilation", POINTER(c_int64)),
        ("window_reversal", POINTER(c_int32)),
        ("lhs_dimensions", POINTER(c_int64)),
        ("rhs_dimensions", POINTER(c_int64)),
        ("out_dimensions", POINTER(c_int64)),
        ("feature_group_count", c_int64),
        ("batch_group_count", c_int64),
        ("dtype", c_int32),
        ("reserved", c_int32),
    ]


class lxla_memory_stats(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("argument_bytes", c_uint64),
        ("output_bytes", c_uint64),
        ("alias_bytes", c_uint64),
        ("temp_bytes", c_uint64),
        ("code_bytes", c_uint64),
    ]


class lxla_custom_call_options(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("backend_config", c_char_p),
        ("api_version", c_int32),
        ("has_side_effect", c_int32),
    ]


class lxla_save_options(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("metadata_keys", POINTER(c_char_p)),
        ("metadata_values", POINTER(c_char_p)),
        ("n_metadata", c_size_t),
        ("keep_metadata", c_int32),
    ]


class lxla_import_options(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("function", c_char_p),
        ("ranks", POINTER(c_size_t)),
        ("dims", POINTER(c_int64)),
        ("n_parameters", c_size_t),
        ("mesh", lxla_mesh),
    ]


class lxla_export_options(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("format", c_int32),
        ("vjp_order", c_int32),
        ("stablehlo_version", c_char_p),
        ("parameter_names", POINTER(c_char_p)),
        ("n_parameter_names", c_size_t),
        ("result_names", POINTER(c_char_p)),
        ("n_result_names", c_size_t),
    ]


class lxla_executable_options(Structure):
    _fields_ = [("struct_size", c_size_t), ("donated", POINTER(c_size_t)), ("n_donated", c_size_t)]


class lxla_vjp_options(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("wrt", POINTER(c_size_t)),
        ("n_wrt", c_size_t),
        ("captured", c_int32),
        ("checkpoint", c_int32),
        ("saved_names", POINTER(c_char_p)),
        ("n_saved_names", c_size_t),
    ]


class lxla_gradients_options(Structure):
    _fields_ = [("struct_size", c_size_t), ("require_connected", c_int32)]


class lxla_gather_options(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("offset_dims", POINTER(c_int64)),
        ("n_offset_dims", c_size_t),
        ("collapsed_slice_dims", POINTER(c_int64)),
        ("n_collapsed_slice_dims", c_size_t),
        ("operand_batching_dims", POINTER(c_int64)),
        ("n_operand_batching_dims", c_size_t),
        ("start_indices_batching_dims", POINTER(c_int64)),
        ("n_start_indices_batching_dims", c_size_t),
        ("start_index_map", POINTER(c_int64)),
        ("n_start_index_map", c_size_t),
        ("index_vector_dim", c_int64),
        ("slice_sizes", POINTER(c_int64)),
        ("n_slice_sizes", c_size_t),
        ("indices_are_sorted", c_int32),
    ]


class lxla_scatter_options(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("update_window_dims", POINTER(c_int64)),
        ("n_update_window_dims", c_size_t),
        ("inserted_window_dims", POINTER(c_int64)),
        ("n_inserted_window_dims", c_size_t),
        ("input_batching_dims", POINTER(c_int64)),
        ("n_input_batching_dims", c_size_t),
        ("scatter_indices_batching_dims", POINTER(c_int64)),
        ("n_scatter_indices_batching_dims", c_size_t),
        ("scatter_dims_to_operand_dims", POINTER(c_int64)),
        ("n_scatter_dims_to_operand_dims", c_size_t),
        ("index_vector_dim", c_int64),
        ("indices_are_sorted", c_int32),
        ("unique_indices", c_int32),
    ]


class lxla_window_options(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("rank", c_size_t),
        ("window_dimensions", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("base_dilations", POINTER(c_int64)),
        ("window_dilations", POINTER(c_int64)),
        ("low", POINTER(c_int64)),
        ("high", POINTER(c_int64)),
    ]


class lxla_dtype_limits(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("kind", c_int32),
        ("bits", c_int32),
        ("mantissa_bits", c_int32),
        ("exponent_bits", c_int32),
        ("digits", c_int32),
        ("has_infinity", c_int32),
        ("has_nan", c_int32),
        ("has_negative_zero", c_int32),
        ("eps", c_double),
        ("min", c_double),
        ("max", c_double),
        ("smallest_normal", c_double),
        ("smallest_subnormal", c_double),
        ("integer_min", c_int64),
        ("integer_max", c_uint64),
    ]


class lxla_scalar_value(Union):
    _fields_ = [("f", c_double), ("i", c_int64), ("u", c_uint64), ("c", c_double * 2)]


class lxla_scalar(Structure):
    _fields_ = [("dtype", c_int32), ("reserved", c_int32), ("value", lxla_scalar_value)]


lxla_release_fn = CFUNCTYPE(None, c_void_p)

lxla_ready_fn = CFUNCTYPE(None, lxla_status, c_char_p, c_void_p)

lxla_memory_fn = CFUNCTYPE(c_int32, c_uint64, c_void_p)

lxla_log_fn = CFUNCTYPE(None, c_int32, c_char_p, c_void_p)


class lxla_buffer_view(Structure):
    _fields_ = [
        ("data", c_void_p),
        ("dtype", c_int32),
        ("rank", c_int32),
        ("dims", POINTER(c_int64)),
        ("size_bytes", c_size_t),
    ]


class lxla_kernel_call(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("target", c_char_p),
        ("n_inputs", c_size_t),
        ("inputs", POINTER(lxla_buffer_view)),
        ("n_outputs", c_size_t),
        ("outputs", POINTER(lxla_buffer_view)),
        ("attributes_json", c_char_p),
        ("error", c_void_p),
        ("error_size", c_size_t),
    ]


lxla_kernel_fn = CFUNCTYPE(c_int32, POINTER(lxla_kernel_call), c_void_p)


class lxla_kernel_options(Structure):
    _fields_ = [("struct_size", c_size_t), ("ordered", c_int32), ("pure", c_int32), ("destroy", lxla_release_fn)]


lxla_abi_version = _function("lxla_abi_version", c_uint32, [])
lxla_version = _function("lxla_version", c_char_p, [])
lxla_status_name = _function("lxla_status_name", c_char_p, [("status", lxla_status)])
lxla_dtype_name = _function("lxla_dtype_name", c_char_p, [("dtype", c_int32)])
lxla_last_error_message = _function("lxla_last_error_message", c_char_p, [])
lxla_set_last_error = _function("lxla_set_last_error", lxla_status, [("status", lxla_status), ("message", c_char_p)])
lxla_string_free = _function("lxla_string_free", None, [("text", c_void_p)])
lxla_set_log_callback = _function("lxla_set_log_callback", lxla_status, [("fn_", lxla_log_fn), ("user", c_void_p)])
lxla_dtype_size = _function("lxla_dtype_size", lxla_status, [("dtype", c_int32), ("out_size_bytes", POINTER(c_size_t))])
lxla_dtype_promote = _function(
    "lxla_dtype_promote", lxla_status, [("a", c_int32), ("b", c_int32), ("out_dtype", POINTER(c_int32))]
)
lxla_dtype_can_cast = _function(
    "lxla_dtype_can_cast", lxla_status, [("from", c_int32), ("to", c_int32), ("out_flag", POINTER(c_int32))]
)
lxla_dtype_info = _function(
    "lxla_dtype_info", lxla_status, [("dtype", c_int32), ("out_limits", POINTER(lxla_dtype_limits))]
)
lxla_scalar_cast = _function(
    "lxla_scalar_cast",
    lxla_status,
    [("scalar", POINTER(lxla_scalar)), ("dtype", c_int32), ("out_scalar", POINTER(lxla_scalar))],
)
lxla_env_options_init = _function("lxla_env_options_init", lxla_status, [("options", POINTER(lxla_env_options))])
lxla_env_create = _function(
    "lxla_env_create", lxla_status, [("options", POINTER(lxla_env_options)), ("out_env", POINTER(lxla_env))]
)
lxla_env_retain = _function("lxla_env_retain", lxla_status, [("env", lxla_env)])
lxla_env_release = _function("lxla_env_release", lxla_status, [("env", lxla_env)])
lxla_env_default = _function("lxla_env_default", lxla_status, [("out_env", POINTER(lxla_env))])
lxla_env_enter = _function("lxla_env_enter", lxla_status, [("env", lxla_env)])
lxla_env_exit = _function("lxla_env_exit", lxla_status, [("env", lxla_env)])
lxla_env_current = _function("lxla_env_current", lxla_status, [("out_env", POINTER(lxla_env))])
lxla_env_set_option = _function(
    "lxla_env_set_option", lxla_status, [("env", lxla_env), ("name", c_char_p), ("value", c_char_p)]
)
lxla_env_get_option = _function(
    "lxla_env_get_option", lxla_status, [("env", lxla_env), ("name", c_char_p), ("out_text", POINTER(c_void_p))]
)
lxla_thread_limit = _function("lxla_thread_limit", lxla_status, [("n", c_int32), ("out_before", POINTER(c_int32))])
lxla_env_device_count = _function(
    "lxla_env_device_count", lxla_status, [("env", lxla_env), ("out_count", POINTER(c_int32))]
)
lxla_env_set_memory_callback = _function(
    "lxla_env_set_memory_callback", lxla_status, [("env", lxla_env), ("fn_", lxla_memory_fn), ("user", c_void_p)]
)
lxla_env_counter = _function(
    "lxla_env_counter", lxla_status, [("env", lxla_env), ("name", c_char_p), ("out_value", POINTER(c_uint64))]
)
lxla_env_metrics_json = _function(
    "lxla_env_metrics_json", lxla_status, [("env", lxla_env), ("out_text", POINTER(c_void_p))]
)
lxla_env_metrics_reset = _function("lxla_env_metrics_reset", lxla_status, [("env", lxla_env)])
lxla_device_parse = _function(
    "lxla_device_parse", lxla_status, [("text", c_char_p), ("out_device", POINTER(lxla_device))]
)
lxla_device_memory_stats = _function(
    "lxla_device_memory_stats",
    lxla_status,
    [("env", lxla_env), ("device", lxla_device), ("out_json", POINTER(c_void_p))],
)
lxla_plugin_list = _function("lxla_plugin_list", lxla_status, [("out_json", POINTER(c_void_p))])
lxla_tensor_from_host = _function(
    "lxla_tensor_from_host",
    lxla_status,
    [
        ("env", lxla_env),
        ("device", lxla_device),
        ("dtype", c_int32),
        ("dims", POINTER(c_int64)),
        ("rank", c_size_t),
        ("data", c_void_p),
        ("size_bytes", c_size_t),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_tensor_from_host_borrowed = _function(
    "lxla_tensor_from_host_borrowed",
    lxla_status,
    [
        ("env", lxla_env),
        ("device", lxla_device),
        ("dtype", c_int32),
        ("dims", POINTER(c_int64)),
        ("rank", c_size_t),
        ("data", c_void_p),
        ("size_bytes", c_size_t),
        ("release", lxla_release_fn),
        ("user", c_void_p),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_tensor_placeholder = _function(
    "lxla_tensor_placeholder",
    lxla_status,
    [
        ("env", lxla_env),
        ("device", lxla_device),
        ("dtype", c_int32),
        ("dims", POINTER(c_int64)),
        ("rank", c_size_t),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_tensor_placeholder_like = _function(
    "lxla_tensor_placeholder_like", lxla_status, [("tensor", lxla_tensor), ("out_tensor", POINTER(lxla_tensor))]
)
lxla_tensor_retain = _function("lxla_tensor_retain", lxla_status, [("tensor", lxla_tensor)])
lxla_tensor_release = _function("lxla_tensor_release", lxla_status, [("tensor", lxla_tensor)])
lxla_tensor_release_many = _function(
    "lxla_tensor_release_many", lxla_status, [("tensors", POINTER(lxla_tensor)), ("n", c_size_t)]
)
lxla_tensor_snapshot = _function(
    "lxla_tensor_snapshot", lxla_status, [("tensor", lxla_tensor), ("out_tensor", POINTER(lxla_tensor))]
)
lxla_tensor_assign = _function("lxla_tensor_assign", lxla_status, [("dst", lxla_tensor), ("src", lxla_tensor)])
lxla_tensor_write = _function(
    "lxla_tensor_write", lxla_status, [("dst", lxla_tensor), ("data", c_void_p), ("size_bytes", c_size_t)]
)
lxla_tensor_set_dynamic = _function(
    "lxla_tensor_set_dynamic", lxla_status, [("tensor", lxla_tensor), ("axis", c_size_t), ("bound", c_int64)]
)
lxla_tensor_dtype = _function(
    "lxla_tensor_dtype", lxla_status, [("tensor", lxla_tensor), ("out_dtype", POINTER(c_int32))]
)
lxla_tensor_rank = _function(
    "lxla_tensor_rank", lxla_status, [("tensor", lxla_tensor), ("out_rank", POINTER(c_size_t))]
)
lxla_tensor_dims = _function(
    "lxla_tensor_dims", lxla_status, [("tensor", lxla_tensor), ("out_dims", POINTER(c_int64)), ("capacity", c_size_t)]
)
lxla_tensor_info = _function(
    "lxla_tensor_info",
    lxla_status,
    [
        ("tensor", lxla_tensor),
        ("out_dtype", POINTER(c_int32)),
        ("out_rank", POINTER(c_size_t)),
        ("out_dims", POINTER(c_int64)),
        ("capacity", c_size_t),
    ],
)
lxla_tensor_device = _function(
    "lxla_tensor_device", lxla_status, [("tensor", lxla_tensor), ("out_device", POINTER(lxla_device))]
)
lxla_tensor_env = _function("lxla_tensor_env", lxla_status, [("tensor", lxla_tensor), ("out_env", POINTER(lxla_env))])
lxla_tensor_state = _function(
    "lxla_tensor_state", lxla_status, [("tensor", lxla_tensor), ("out_state", POINTER(c_int32))]
)
lxla_tensor_set_requires_grad = _function(
    "lxla_tensor_set_requires_grad", lxla_status, [("tensor", lxla_tensor), ("requires_grad", c_int32)]
)
lxla_tensor_requires_grad = _function(
    "lxla_tensor_requires_grad", lxla_status, [("tensor", lxla_tensor), ("out_flag", POINTER(c_int32))]
)
lxla_tensor_read = _function(
    "lxla_tensor_read", lxla_status, [("tensor", lxla_tensor), ("dst", c_void_p), ("size_bytes", c_size_t)]
)
lxla_tensor_to_device = _function(
    "lxla_tensor_to_device",
    lxla_status,
    [("tensor", lxla_tensor), ("device", lxla_device), ("out_tensor", POINTER(lxla_tensor))],
)
lxla_tensor_full = _function(
    "lxla_tensor_full",
    lxla_status,
    [
        ("env", lxla_env),
        ("device", lxla_device),
        ("dtype", c_int32),
        ("dims", POINTER(c_int64)),
        ("rank", c_size_t),
        ("value", c_double),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_tensor_full_with_scalar = _function(
    "lxla_tensor_full_with_scalar",
    lxla_status,
    [
        ("env", lxla_env),
        ("device", lxla_device),
        ("dtype", c_int32),
        ("dims", POINTER(c_int64)),
        ("rank", c_size_t),
        ("value", POINTER(lxla_scalar)),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_tensor_varying_scalar = _function(
    "lxla_tensor_varying_scalar",
    lxla_status,
    [
        ("env", lxla_env),
        ("device", lxla_device),
        ("dtype", c_int32),
        ("value", POINTER(lxla_scalar)),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_iota = _function(
    "lxla_iota",
    lxla_status,
    [
        ("env", lxla_env),
        ("device", lxla_device),
        ("dtype", c_int32),
        ("dims", POINTER(c_int64)),
        ("rank", c_size_t),
        ("axis", c_int64),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_arange = _function(
    "lxla_arange",
    lxla_status,
    [
        ("env", lxla_env),
        ("device", lxla_device),
        ("dtype", c_int32),
        ("start", c_double),
        ("stop", c_double),
        ("step", c_double),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_arange_with_scalars = _function(
    "lxla_arange_with_scalars",
    lxla_status,
    [
        ("env", lxla_env),
        ("device", lxla_device),
        ("dtype", c_int32),
        ("start", POINTER(lxla_scalar)),
        ("stop", POINTER(lxla_scalar)),
        ("step", POINTER(lxla_scalar)),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_linspace = _function(
    "lxla_linspace",
    lxla_status,
    [
        ("env", lxla_env),
        ("device", lxla_device),
        ("dtype", c_int32),
        ("start", c_double),
        ("stop", c_double),
        ("count", c_int64),
        ("endpoint", c_int32),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_linspace_with_scalars = _function(
    "lxla_linspace_with_scalars",
    lxla_status,
    [
        ("env", lxla_env),
        ("device", lxla_device),
        ("dtype", c_int32),
        ("start", POINTER(lxla_scalar)),
        ("stop", POINTER(lxla_scalar)),
        ("count", c_int64),
        ("endpoint", c_int32),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_eye = _function(
    "lxla_eye",
    lxla_status,
    [
        ("env", lxla_env),
        ("device", lxla_device),
        ("dtype", c_int32),
        ("rows", c_int64),
        ("columns", c_int64),
        ("k", c_int64),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_one_hot = _function(
    "lxla_one_hot",
    lxla_status,
    [
        ("indices", lxla_tensor),
        ("depth", c_int64),
        ("axis", c_int64),
        ("dtype", c_int32),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_tril = _function(
    "lxla_tril", lxla_status, [("x", lxla_tensor), ("k", c_int64), ("out_tensor", POINTER(lxla_tensor))]
)
lxla_triu = _function(
    "lxla_triu", lxla_status, [("x", lxla_tensor), ("k", c_int64), ("out_tensor", POINTER(lxla_tensor))]
)
lxla_unary = _function(
    "lxla_unary", lxla_status, [("op", c_int32), ("x", lxla_tensor), ("out_tensor", POINTER(lxla_tensor))]
)
lxla_binary = _function(
    "lxla_binary",
    lxla_status,
    [("op", c_int32), ("lhs", lxla_tensor), ("rhs", lxla_tensor), ("out_tensor", POINTER(lxla_tensor))],
)
lxla_binary_inplace = _function(
    "lxla_binary_inplace", lxla_status, [("op", c_int32), ("dst", lxla_tensor), ("rhs", lxla_tensor)]
)
lxla_binary_scalar = _function(
    "lxla_binary_scalar",
    lxla_status,
    [("op", c_int32), ("lhs", lxla_tensor), ("rhs", c_double), ("out_tensor", POINTER(lxla_tensor))],
)
lxla_binary_scalar_inplace = _function(
    "lxla_binary_scalar_inplace", lxla_status, [("op", c_int32), ("dst", lxla_tensor), ("rhs", c_double)]
)
lxla_binary_with_scalar = _function(
    "lxla_binary_with_scalar",
    lxla_status,
    [
        ("op", c_int32),
        ("lhs", lxla_tensor),
        ("rhs", POINTER(lxla_scalar)),
        ("scalar_on_left", c_int32),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_binary_with_varying_scalar = _function(
    "lxla_binary_with_varying_scalar",
    lxla_status,
    [
        ("op", c_int32),
        ("lhs", lxla_tensor),
        ("rhs", POINTER(lxla_scalar)),
        ("scalar_on_left", c_int32),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_binary_with_scalar_inplace = _function(
    "lxla_binary_with_scalar_inplace",
    lxla_status,
    [("op", c_int32), ("dst", lxla_tensor), ("rhs", POINTER(lxla_scalar)), ("scalar_on_left", c_int32)],
)
lxla_compare = _function(
    "lxla_compare",
    lxla_status,
    [("op", c_int32), ("lhs", lxla_tensor), ("rhs", lxla_tensor), ("out_tensor", POINTER(lxla_tensor))],
)
lxla_compare_total_order = _function(
    "lxla_compare_total_order",
    lxla_status,
    [("op", c_int32), ("lhs", lxla_tensor), ("rhs", lxla_tensor), ("out_tensor", POINTER(lxla_tensor))],
)
lxla_compare_scalar = _function(
    "lxla_compare_scalar",
    lxla_status,
    [("op", c_int32), ("lhs", lxla_tensor), ("rhs", c_double), ("out_tensor", POINTER(lxla_tensor))],
)
lxla_compare_with_scalar = _function(
    "lxla_compare_with_scalar",
    lxla_status,
    [
        ("op", c_int32),
        ("lhs", lxla_tensor),
        ("rhs", POINTER(lxla_scalar)),
        ("scalar_on_left", c_int32),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_select = _function(
    "lxla_select",
    lxla_status,
    [("pred", lxla_tensor), ("on_true", lxla_tensor), ("on_false", lxla_tensor), ("out_tensor", POINTER(lxla_tensor))],
)
lxla_select_with_scalars = _function(
    "lxla_select_with_scalars",
    lxla_status,
    [
        ("pred", lxla_tensor),
        ("on_true", lxla_tensor),
        ("true_scalar", POINTER(lxla_scalar)),
        ("on_false", lxla_tensor),
        ("false_scalar", POINTER(lxla_scalar)),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_clamp = _function(
    "lxla_clamp",
    lxla_status,
    [("min", lxla_tensor), ("x", lxla_tensor), ("max", lxla_tensor), ("out_tensor", POINTER(lxla_tensor))],
)
lxla_clamp_with_scalars = _function(
    "lxla_clamp_with_scalars",
    lxla_status,
    [
        ("x", lxla_tensor),
        ("min", POINTER(lxla_scalar)),
        ("max", POINTER(lxla_scalar)),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_convert = _function(
    "lxla_convert", lxla_status, [("x", lxla_tensor), ("dtype", c_int32), ("out_tensor", POINTER(lxla_tensor))]
)
lxla_special = _function(
    "lxla_special", lxla_status, [("op", c_int32), ("x", lxla_tensor), ("out_tensor", POINTER(lxla_tensor))]
)
lxla_complex = _function(
    "lxla_complex", lxla_status, [("real", lxla_tensor), ("imag", lxla_tensor), ("out_tensor", POINTER(lxla_tensor))]
)
lxla_real = _function("lxla_real", lxla_status, [("x", lxla_tensor), ("out_tensor", POINTER(lxla_tensor))])
lxla_imag = _function("lxla_imag", lxla_status, [("x", lxla_tensor), ("out_tensor", POINTER(lxla_tensor))])
lxla_bitcast_convert = _function(
    "lxla_bitcast_convert", lxla_status, [("x", lxla_tensor), ("dtype", c_int32), ("out_tensor", POINTER(lxla_tensor))]
)
lxla_reduce_precision = _function(
    "lxla_reduce_precision",
    lxla_status,
    [("x", lxla_tensor), ("exponent_bits", c_int32), ("mantissa_bits", c_int32), ("out_tensor", POINTER(lxla_tensor))],
)
lxla_reshape = _function(
    "lxla_reshape",
    lxla_status,
    [("x", lxla_tensor), ("dims", POINTER(c_int64)), ("rank", c_size_t), ("out_tensor", POINTER(lxla_tensor))],
)
lxla_broadcast_to = _function(
    "lxla_broadcast_to",
    lxla_status,
    [("x", lxla_tensor), ("dims", POINTER(c_int64)), ("rank", c_size_t), ("out_tensor", POINTER(lxla_tensor))],
)
lxla_transpose = _function(
    "lxla_transpose",
    lxla_status,
    [("x", lxla_tensor), ("perm", POINTER(c_int64)), ("rank", c_size_t), ("out_tensor", POINTER(lxla_tensor))],
)
lxla_reverse = _function(
    "lxla_reverse",
    lxla_status,
    [("x", lxla_tensor), ("axes", POINTER(c_int64)), ("n_axes", c_size_t), ("out_tensor", POINTER(lxla_tensor))],
)
lxla_flip = _function(
    "lxla_flip",
    lxla_status,
    [("x", lxla_tensor), ("axes", POINTER(c_int64)), ("n_axes", c_size_t), ("out_tensor", POINTER(lxla_tensor))],
)
lxla_roll = _function(
    "lxla_roll",
    lxla_status,
    [
        ("x", lxla_tensor),
        ("shifts", POINTER(c_int64)),
        ("axes", POINTER(c_int64)),
        ("n", c_size_t),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_squeeze = _function(
    "lxla_squeeze",
    lxla_status,
    [("x", lxla_tensor), ("axes", POINTER(c_int64)), ("n_axes", c_size_t), ("out_tensor", POINTER(lxla_tensor))],
)
lxla_expand_dims = _function(
    "lxla_expand_dims",
    lxla_status,
    [("x", lxla_tensor), ("axes", POINTER(c_int64)), ("n_axes", c_size_t), ("out_tensor", POINTER(lxla_tensor))],
)
lxla_concatenate = _function(
    "lxla_concatenate",
    lxla_status,
    [("tensors", POINTER(lxla_tensor)), ("n", c_size_t), ("axis", c_int64), ("out_tensor", POINTER(lxla_tensor))],
)
lxla_stack = _function(
    "lxla_stack",
    lxla_status,
    [("tensors", POINTER(lxla_tensor)), ("n", c_size_t), ("axis", c_int64), ("out_tensor", POINTER(lxla_tensor))],
)
lxla_split = _function(
    "lxla_split",
    lxla_status,
    [
        ("x", lxla_tensor),
        ("sizes", POINTER(c_int64)),
        ("n", c_size_t),
        ("axis", c_int64),
        ("out_tensors", POINTER(lxla_tensor)),
    ],
)
lxla_slice = _function(
    "lxla_slice",
    lxla_status,
    [
        ("x", lxla_tensor),
        ("starts", POINTER(c_int64)),
        ("limits", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("rank", c_size_t),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_slice_axis = _function(
    "lxla_slice_axis",
    lxla_status,
    [
        ("x", lxla_tensor),
        ("axis", c_int64),
        ("start", c_int64),
        ("stop", c_int64),
        ("step", c_int64),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_pad = _function(
    "lxla_pad",
    lxla_status,
    [
        ("x", lxla_tensor),
        ("value", lxla_tensor),
        ("low", POINTER(c_int64)),
        ("high", POINTER(c_int64)),
        ("interior", POINTER(c_int64)),
        ("rank", c_size_t),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_pad_with_scalar = _function(
    "lxla_pad_with_scalar",
    lxla_status,
    [
        ("x", lxla_tensor),
        ("value", POINTER(lxla_scalar)),
        ("low", POINTER(c_int64)),
        ("high", POINTER(c_int64)),
        ("interior", POINTER(c_int64)),
        ("rank", c_size_t),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_tile = _function(
    "lxla_tile",
    lxla_status,
    [("x", lxla_tensor), ("repeats", POINTER(c_int64)), ("n", c_size_t), ("out_tensor", POINTER(lxla_tensor))],
)
lxla_repeat = _function(
    "lxla_repeat",
    lxla_status,
    [("x", lxla_tensor), ("repeats", c_int64), ("axis", c_int64), ("out_tensor", POINTER(lxla_tensor))],
)
lxla_take = _function(
    "lxla_take",
    lxla_status,
    [("x", lxla_tensor), ("indices", lxla_tensor), ("axis", c_int64), ("out_tensor", POINTER(lxla_tensor))],
)
lxla_dynamic_slice = _function(
    "lxla_dynamic_slice",
    lxla_status,
    [
        ("x", lxla_tensor),
        ("starts", POINTER(lxla_tensor)),
        ("sizes", POINTER(c_int64)),
        ("rank", c_size_t),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_dynamic_update_slice = _function(
    "lxla_dynamic_update_slice",
    lxla_status,
    [
        ("x", lxla_tensor),
        ("update", lxla_tensor),
        ("starts", POINTER(lxla_tensor)),
        ("rank", c_size_t),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_take_along_axis = _function(
    "lxla_take_along_axis",
    lxla_status,
    [("x", lxla_tensor), ("indices", lxla_tensor), ("axis", c_int64), ("out_tensor", POINTER(lxla_tensor))],
)
lxla_scatter_along = _function(
    "lxla_scatter_along",
    lxla_status,
    [
        ("op", c_int32),
        ("x", lxla_tensor),
        ("indices", lxla_tensor),
        ("updates", lxla_tensor),
        ("axis", c_int64),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_index_add = _function(
    "lxla_index_add",
    lxla_status,
    [
        ("x", lxla_tensor),
        ("axis", c_int64),
        ("indices", lxla_tensor),
        ("source", lxla_tensor),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_segment_reduce = _function(
    "lxla_segment_reduce",
    lxla_status,
    [
        ("op", c_int32),
        ("x", lxla_tensor),
        ("segment_ids", lxla_tensor),
        ("num_segments", c_int64),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_index_copy = _function(
    "lxla_index_copy",
    lxla_status,
    [
        ("x", lxla_tensor),
        ("axis", c_int64),
        ("indices", lxla_tensor),
        ("source", lxla_tensor),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_index = _function(
    "lxla_index",
    lxla_status,
    [
        ("x", lxla_tensor),
        ("indices", POINTER(lxla_tensor)),
        ("n_indices", c_size_t),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_index_put = _function(
    "lxla_index_put",
    lxla_status,
    [
        ("op", c_int32),
        ("x", lxla_tensor),
        ("indices", POINTER(lxla_tensor)),
        ("n_indices", c_size_t),
        ("values", lxla_tensor),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_slice_assign = _function(
    "lxla_slice_assign",
    lxla_status,
    [
        ("x", lxla_tensor),
        ("starts", POINTER(c_int64)),
        ("limits", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("rank", c_size_t),
        ("values", lxla_tensor),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_nonzero = _function(
    "lxla_nonzero",
    lxla_status,
    [
        ("x", lxla_tensor),
        ("size", c_int64),
        ("fill", c_int64),
        ("index_dtype", c_int32),
        ("out_indices", POINTER(lxla_tensor)),
        ("n_indices", c_size_t),
        ("out_count", POINTER(lxla_tensor)),
    ],
)
lxla_mask_select = _function(
    "lxla_mask_select",
    lxla_status,
    [
        ("x", lxla_tensor),
        ("mask", lxla_tensor),
        ("size", c_int64),
        ("fill", lxla_tensor),
        ("index_dtype", c_int32),
        ("out_tensor", POINTER(lxla_tensor)),
        ("out_count", POINTER(lxla_tensor)),
    ],
)
lxla_mask_assign = _function(
    "lxla_mask_assign",
    lxla_status,
    [("x", lxla_tensor), ("mask", lxla_tensor), ("values", lxla_tensor), ("out_tensor", POINTER(lxla_tensor))],
)
lxla_gather_options_init = _function(
    "lxla_gather_options_init", lxla_status, [("options", POINTER(lxla_gather_options))]
)
lxla_gather = _function(
    "lxla_gather",
    lxla_status,
    [
        ("x", lxla_tensor),
        ("indices", lxla_tensor),
        ("options", POINTER(lxla_gather_options)),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_scatter_options_init = _function(
    "lxla_scatter_options_init", lxla_status, [("options", POINTER(lxla_scatter_options))]
)
lxla_scatter = _function(
    "lxla_scatter",
    lxla_status,
    [
        ("combiner", lxla_computation),
        ("inputs", POINTER(lxla_tensor)),
        ("indices", lxla_tensor),
        ("updates", POINTER(lxla_tensor)),
        ("n", c_size_t),
        ("options", POINTER(lxla_scatter_options)),
        ("out_results", POINTER(lxla_tensor)),
    ],
)
lxla_sort = _function(
    "lxla_sort",
    lxla_status,
    [
        ("comparator", lxla_computation),
        ("inputs", POINTER(lxla_tensor)),
        ("n", c_size_t),
        ("axis", c_int64),
        ("stable", c_int32),
        ("out_results", POINTER(lxla_tensor)),
    ],
)
lxla_sort_along = _function(
    "lxla_sort_along",
    lxla_status,
    [
        ("x", lxla_tensor),
        ("axis", c_int64),
        ("descending", c_int32),
        ("stable", c_int32),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_argsort = _function(
    "lxla_argsort",
    lxla_status,
    [
        ("x", lxla_tensor),
        ("axis", c_int64),
        ("descending", c_int32),
        ("stable", c_int32),
        ("index_dtype", c_int32),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_topk = _function(
    "lxla_topk",
    lxla_status,
    [
        ("x", lxla_tensor),
        ("k", c_int64),
        ("axis", c_int64),
        ("largest", c_int32),
        ("index_dtype", c_int32),
        ("out_values", POINTER(lxla_tensor)),
        ("out_indices", POINTER(lxla_tensor)),
    ],
)
lxla_topk_total_order = _function(
    "lxla_topk_total_order",
    lxla_status,
    [
        ("x", lxla_tensor),
        ("k", c_int64),
        ("axis", c_int64),
        ("largest", c_int32),
        ("index_dtype", c_int32),
        ("out_values", POINTER(lxla_tensor)),
        ("out_indices", POINTER(lxla_tensor)),
    ],
)
lxla_unique = _function(
    "lxla_unique",
    lxla_status,
    [
        ("x", lxla_tensor),
        ("size", c_int64),
        ("fill", lxla_tensor),
        ("index_dtype", c_int32),
        ("out_values", POINTER(lxla_tensor)),
        ("out_indices", POINTER(lxla_tensor)),
        ("out_inverse", POINTER(lxla_tensor)),
        ("out_counts", POINTER(lxla_tensor)),
        ("out_count", POINTER(lxla_tensor)),
    ],
)
lxla_searchsorted = _function(
    "lxla_searchsorted",
    lxla_status,
    [
        ("sorted", lxla_tensor),
        ("values", lxla_tensor),
        ("right", c_int32),
        ("index_dtype", c_int32),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_reduce = _function(
    "lxla_reduce",
    lxla_status,
    [
        ("op", c_int32),
        ("x", lxla_tensor),
        ("axes", POINTER(c_int64)),
        ("n_axes", c_size_t),
        ("keep_dims", c_int32),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_mean = _function(
    "lxla_mean",
    lxla_status,
    [
        ("x", lxla_tensor),
        ("axes", POINTER(c_int64)),
        ("n_axes", c_size_t),
        ("keep_dims", c_int32),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_variance = _function(
    "lxla_variance",
    lxla_status,
    [
        ("x", lxla_tensor),
        ("axes", POINTER(c_int64)),
        ("n_axes", c_size_t),
        ("correction", c_double),
        ("keep_dims", c_int32),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_standard_deviation = _function(
    "lxla_standard_deviation",
    lxla_status,
    [
        ("x", lxla_tensor),
        ("axes", POINTER(c_int64)),
        ("n_axes", c_size_t),
        ("correction", c_double),
        ("keep_dims", c_int32),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_logsumexp = _function(
    "lxla_logsumexp",
    lxla_status,
    [
        ("x", lxla_tensor),
        ("axes", POINTER(c_int64)),
        ("n_axes", c_size_t),
        ("keep_dims", c_int32),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_argmax = _function(
    "lxla_argmax",
    lxla_status,
    [
        ("x", lxla_tensor),
        ("axis", c_int64),
        ("keep_dims", c_int32),
        ("index_dtype", c_int32),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_argmin = _function(
    "lxla_argmin",
    lxla_status,
    [
        ("x", lxla_tensor),
        ("axis", c_int64),
        ("keep_dims", c_int32),
        ("index_dtype", c_int32),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_cumulative = _function(
    "lxla_cumulative",
    lxla_status,
    [
        ("op", c_int32),
        ("x", lxla_tensor),
        ("axis", c_int64),
        ("reverse", c_int32),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_cumulative_logaddexp = _function(
    "lxla_cumulative_logaddexp",
    lxla_status,
    [("x", lxla_tensor), ("axis", c_int64), ("reverse", c_int32), ("out_tensor", POINTER(lxla_tensor))],
)
lxla_reduce_with = _function(
    "lxla_reduce_with",
    lxla_status,
    [
        ("body", lxla_computation),
        ("inputs", POINTER(lxla_tensor)),
        ("inits", POINTER(lxla_tensor)),
        ("n", c_size_t),
        ("axes", POINTER(c_int64)),
        ("n_axes", c_size_t),
        ("out_results", POINTER(lxla_tensor)),
    ],
)
lxla_window_options_init = _function(
    "lxla_window_options_init", lxla_status, [("options", POINTER(lxla_window_options))]
)
lxla_reduce_window = _function(
    "lxla_reduce_window",
    lxla_status,
    [
        ("body", lxla_computation),
        ("inputs", POINTER(lxla_tensor)),
        ("inits", POINTER(lxla_tensor)),
        ("n", c_size_t),
        ("options", POINTER(lxla_window_options)),
        ("out_results", POINTER(lxla_tensor)),
    ],
)
lxla_select_and_scatter = _function(
    "lxla_select_and_scatter",
    lxla_status,
    [
        ("select", lxla_computation),
        ("combiner", lxla_computation),
        ("x", lxla_tensor),
        ("source", lxla_tensor),
        ("init", lxla_tensor),
        ("options", POINTER(lxla_window_options)),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_matmul = _function(
    "lxla_matmul", lxla_status, [("lhs", lxla_tensor), ("rhs", lxla_tensor), ("out_tensor", POINTER(lxla_tensor))]
)
lxla_ragged_dot = _function(
    "lxla_ragged_dot",
    lxla_status,
    [("lhs", lxla_tensor), ("rhs", lxla_tensor), ("group_sizes", lxla_tensor), ("out_tensor", POINTER(lxla_tensor))],
)
lxla_dot_general = _function(
    "lxla_dot_general",
    lxla_status,
    [
        ("lhs", lxla_tensor),
        ("rhs", lxla_tensor),
        ("lhs_batching", POINTER(c_int64)),
        ("rhs_batching", POINTER(c_int64)),
        ("n_batching", c_size_t),
        ("lhs_contracting", POINTER(c_int64)),
        ("rhs_contracting", POINTER(c_int64)),
        ("n_contracting", c_size_t),
        ("dtype", c_int32),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_einsum = _function(
    "lxla_einsum",
    lxla_status,
    [("equation", c_char_p), ("tensors", POINTER(lxla_tensor)), ("n", c_size_t), ("out_tensor", POINTER(lxla_tensor))],
)
lxla_cholesky = _function(
    "lxla_cholesky", lxla_status, [("a", lxla_tensor), ("lower", c_int32), ("out_tensor", POINTER(lxla_tensor))]
)
lxla_triangular_solve = _function(
    "lxla_triangular_solve",
    lxla_status,
    [
        ("a", lxla_tensor),
        ("b", lxla_tensor),
        ("left_side", c_int32),
        ("lower", c_int32),
        ("unit_diagonal", c_int32),
        ("transpose_a", c_int32),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_norm = _function(
    "lxla_norm",
    lxla_status,
    [
        ("x", lxla_tensor),
        ("ord", c_double),
        ("axes", POINTER(c_int64)),
        ("n_axes", c_size_t),
        ("keep_dims", c_int32),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_fft = _function(
    "lxla_fft",
    lxla_status,
    [
        ("op", c_int32),
        ("x", lxla_tensor),
        ("lengths", POINTER(c_int64)),
        ("n_lengths", c_size_t),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_qr = _function(
    "lxla_qr",
    lxla_status,
    [("a", lxla_tensor), ("full", c_int32), ("out_q", POINTER(lxla_tensor)), ("out_r", POINTER(lxla_tensor))],
)
lxla_lu = _function(
    "lxla_lu",
    lxla_status,
    [
        ("a", lxla_tensor),
        ("out_lu", POINTER(lxla_tensor)),
        ("out_pivots", POINTER(lxla_tensor)),
        ("out_permutation", POINTER(lxla_tensor)),
    ],
)
lxla_ldl = _function(
    "lxla_ldl",
    lxla_status,
    [
        ("a", lxla_tensor),
        ("hermitian", c_int32),
        ("out_factors", POINTER(lxla_tensor)),
        ("out_pivots", POINTER(lxla_tensor)),
    ],
)
lxla_ldl_solve = _function(
    "lxla_ldl_solve",
    lxla_status,
    [
        ("factors", lxla_tensor),
        ("pivots", lxla_tensor),
        ("b", lxla_tensor),
        ("hermitian", c_int32),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_svd = _function(
    "lxla_svd",
    lxla_status,
    [
        ("a", lxla_tensor),
        ("full", c_int32),
        ("out_u", POINTER(lxla_tensor)),
        ("out_s", POINTER(lxla_tensor)),
        ("out_vh", POINTER(lxla_tensor)),
    ],
)
lxla_singular_values = _function(
    "lxla_singular_values", lxla_status, [("a", lxla_tensor), ("out_tensor", POINTER(lxla_tensor))]
)
lxla_eigh = _function(
    "lxla_eigh",
    lxla_status,
    [
        ("a", lxla_tensor),
        ("lower", c_int32),
        ("out_values", POINTER(lxla_tensor)),
        ("out_vectors", POINTER(lxla_tensor)),
    ],
)
lxla_eig = _function(
    "lxla_eig",
    lxla_status,
    [("a", lxla_tensor), ("out_values", POINTER(lxla_tensor)), ("out_vectors", POINTER(lxla_tensor))],
)
lxla_schur = _function(
    "lxla_schur",
    lxla_status,
    [("a", lxla_tensor), ("complex_form", c_int32), ("out_t", POINTER(lxla_tensor)), ("out_z", POINTER(lxla_tensor))],
)
lxla_solve = _function(
    "lxla_solve", lxla_status, [("a", lxla_tensor), ("b", lxla_tensor), ("out_tensor", POINTER(lxla_tensor))]
)
lxla_tridiagonal_solve = _function(
    "lxla_tridiagonal_solve",
    lxla_status,
    [
        ("lower", lxla_tensor),
        ("diagonal", lxla_tensor),
        ("upper", lxla_tensor),
        ("b", lxla_tensor),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_inverse = _function("lxla_inverse", lxla_status, [("a", lxla_tensor), ("out_tensor", POINTER(lxla_tensor))])
lxla_determinant = _function(
    "lxla_determinant", lxla_status, [("a", lxla_tensor), ("out_tensor", POINTER(lxla_tensor))]
)
lxla_slogdet = _function(
    "lxla_slogdet",
    lxla_status,
    [("a", lxla_tensor), ("out_sign", POINTER(lxla_tensor)), ("out_log", POINTER(lxla_tensor))],
)
lxla_lstsq = _function(
    "lxla_lstsq",
    lxla_status,
    [("a", lxla_tensor), ("b", lxla_tensor), ("rtol", c_double), ("out_x", POINTER(lxla_tensor))],
)
lxla_pinv = _function(
    "lxla_pinv", lxla_status, [("a", lxla_tensor), ("rtol", c_double), ("out_tensor", POINTER(lxla_tensor))]
)
lxla_matrix_rank = _function(
    "lxla_matrix_rank", lxla_status, [("a", lxla_tensor), ("rtol", c_double), ("out_tensor", POINTER(lxla_tensor))]
)
lxla_matrix_power = _function(
    "lxla_matrix_power", lxla_status, [("a", lxla_tensor), ("n", c_int64), ("out_tensor", POINTER(lxla_tensor))]
)
lxla_matrix_exponential = _function(
    "lxla_matrix_exponential", lxla_status, [("a", lxla_tensor), ("out_tensor", POINTER(lxla_tensor))]
)
lxla_activation = _function(
    "lxla_activation", lxla_status, [("op", c_int32), ("x", lxla_tensor), ("out_tensor", POINTER(lxla_tensor))]
)
lxla_softmax = _function(
    "lxla_softmax", lxla_status, [("x", lxla_tensor), ("axis", c_int64), ("out_tensor", POINTER(lxla_tensor))]
)
lxla_log_softmax = _function(
    "lxla_log_softmax", lxla_status, [("x", lxla_tensor), ("axis", c_int64), ("out_tensor", POINTER(lxla_tensor))]
)
lxla_layer_norm = _function(
    "lxla_layer_norm",
    lxla_status,
    [
        ("x", lxla_tensor),
        ("axes", POINTER(c_int64)),
        ("n_axes", c_size_t),
        ("scale", lxla_tensor),
        ("offset", lxla_tensor),
        ("epsilon", c_double),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_layer_norm_with_statistics = _function(
    "lxla_layer_norm_with_statistics",
    lxla_status,
    [
        ("x", lxla_tensor),
        ("axes", POINTER(c_int64)),
        ("n_axes", c_size_t),
        ("scale", lxla_tensor),
        ("offset", lxla_tensor),
        ("epsilon", c_double),
        ("out_tensor", POINTER(lxla_tensor)),
        ("out_mean", POINTER(lxla_tensor)),
        ("out_inverse_deviation", POINTER(lxla_tensor)),
    ],
)
lxla_rms_norm = _function(
    "lxla_rms_norm",
    lxla_status,
    [("x", lxla_tensor), ("weight", lxla_tensor), ("epsilon", c_double), ("out_tensor", POINTER(lxla_tensor))],
)
lxla_rotary_embedding = _function(
    "lxla_rotary_embedding",
    lxla_status,
    [
        ("x", lxla_tensor),
        ("cosines", lxla_tensor),
        ("sines", lxla_tensor),
        ("interleaved", c_int32),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_attention_options_init = _function(
    "lxla_attention_options_init", lxla_status, [("options", POINTER(lxla_attention_options))]
)
lxla_attention = _function(
    "lxla_attention",
    lxla_status,
    [
        ("query", lxla_tensor),
        ("key", lxla_tensor),
        ("value", lxla_tensor),
        ("mask", lxla_tensor),
        ("options", POINTER(lxla_attention_options)),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_batch_norm_training = _function(
    "lxla_batch_norm_training",
    lxla_status,
    [
        ("x", lxla_tensor),
        ("scale", lxla_tensor),
        ("offset", lxla_tensor),
        ("epsilon", c_double),
        ("feature_axis", c_int64),
        ("out_tensor", POINTER(lxla_tensor)),
        ("out_mean", POINTER(lxla_tensor)),
        ("out_variance", POINTER(lxla_tensor)),
    ],
)
lxla_batch_norm_inference = _function(
    "lxla_batch_norm_inference",
    lxla_status,
    [
        ("x", lxla_tensor),
        ("scale", lxla_tensor),
        ("offset", lxla_tensor),
        ("mean", lxla_tensor),
        ("variance", lxla_tensor),
        ("epsilon", c_double),
        ("feature_axis", c_int64),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_batch_norm_grad = _function(
    "lxla_batch_norm_grad",
    lxla_status,
    [
        ("x", lxla_tensor),
        ("scale", lxla_tensor),
        ("mean", lxla_tensor),
        ("variance", lxla_tensor),
        ("grad_output", lxla_tensor),
        ("epsilon", c_double),
        ("feature_axis", c_int64),
        ("out_grad_x", POINTER(lxla_tensor)),
        ("out_grad_scale", POINTER(lxla_tensor)),
        ("out_grad_offset", POINTER(lxla_tensor)),
    ],
)
lxla_convolution_options_init = _function(
    "lxla_convolution_options_init", lxla_status, [("options", POINTER(lxla_convolution_options))]
)
lxla_convolution = _function(
    "lxla_convolution",
    lxla_status,
    [
        ("lhs", lxla_tensor),
        ("rhs", lxla_tensor),
        ("options", POINTER(lxla_convolution_options)),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_rng_bit_generator = _function(
    "lxla_rng_bit_generator",
    lxla_status,
    [
        ("algorithm", c_int32),
        ("state", lxla_tensor),
        ("dtype", c_int32),
        ("dims", POINTER(c_int64)),
        ("rank", c_size_t),
        ("out_state", POINTER(lxla_tensor)),
        ("out_bits", POINTER(lxla_tensor)),
    ],
)
lxla_random_bits = _function(
    "lxla_random_bits",
    lxla_status,
    [
        ("algorithm", c_int32),
        ("key", lxla_tensor),
        ("dtype", c_int32),
        ("dims", POINTER(c_int64)),
        ("rank", c_size_t),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_random_split = _function(
    "lxla_random_split",
    lxla_status,
    [("algorithm", c_int32), ("key", lxla_tensor), ("n", c_size_t), ("out_tensor", POINTER(lxla_tensor))],
)
lxla_random_uniform = _function(
    "lxla_random_uniform",
    lxla_status,
    [
        ("algorithm", c_int32),
        ("key", lxla_tensor),
        ("dtype", c_int32),
        ("dims", POINTER(c_int64)),
        ("rank", c_size_t),
        ("low", c_double),
        ("high", c_double),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_random_normal = _function(
    "lxla_random_normal",
    lxla_status,
    [
        ("algorithm", c_int32),
        ("key", lxla_tensor),
        ("dtype", c_int32),
        ("dims", POINTER(c_int64)),
        ("rank", c_size_t),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_random_bernoulli = _function(
    "lxla_random_bernoulli",
    lxla_status,
    [
        ("algorithm", c_int32),
        ("key", lxla_tensor),
        ("p", c_double),
        ("dims", POINTER(c_int64)),
        ("rank", c_size_t),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_random_exponential = _function(
    "lxla_random_exponential",
    lxla_status,
    [
        ("algorithm", c_int32),
        ("key", lxla_tensor),
        ("dtype", c_int32),
        ("dims", POINTER(c_int64)),
        ("rank", c_size_t),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_random_gumbel = _function(
    "lxla_random_gumbel",
    lxla_status,
    [
        ("algorithm", c_int32),
        ("key", lxla_tensor),
        ("dtype", c_int32),
        ("dims", POINTER(c_int64)),
        ("rank", c_size_t),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_random_laplace = _function(
    "lxla_random_laplace",
    lxla_status,
    [
        ("algorithm", c_int32),
        ("key", lxla_tensor),
        ("dtype", c_int32),
        ("dims", POINTER(c_int64)),
        ("rank", c_size_t),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_random_truncated_normal = _function(
    "lxla_random_truncated_normal",
    lxla_status,
    [
        ("algorithm", c_int32),
        ("key", lxla_tensor),
        ("dtype", c_int32),
        ("dims", POINTER(c_int64)),
        ("rank", c_size_t),
        ("lower", c_double),
        ("upper", c_double),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_random_categorical = _function(
    "lxla_random_categorical",
    lxla_status,
    [
        ("algorithm", c_int32),
        ("key", lxla_tensor),
        ("logits", lxla_tensor),
        ("axis", c_int64),
        ("dims", POINTER(c_int64)),
        ("rank", c_size_t),
        ("index_dtype", c_int32),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_random_integers = _function(
    "lxla_random_integers",
    lxla_status,
    [
        ("algorithm", c_int32),
        ("key", lxla_tensor),
        ("dtype", c_int32),
        ("dims", POINTER(c_int64)),
        ("rank", c_size_t),
        ("low", c_int64),
        ("high", c_int64),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_random_choice = _function(
    "lxla_random_choice",
    lxla_status,
    [
        ("algorithm", c_int32),
        ("key", lxla_tensor),
        ("x", lxla_tensor),
        ("axis", c_int64),
        ("dims", POINTER(c_int64)),
        ("rank", c_size_t),
        ("replace", c_int32),
        ("probabilities", lxla_tensor),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_random_poisson = _function(
    "lxla_random_poisson",
    lxla_status,
    [
        ("algorithm", c_int32),
        ("key", lxla_tensor),
        ("rate", lxla_tensor),
        ("dtype", c_int32),
        ("dims", POINTER(c_int64)),
        ("rank", c_size_t),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_random_gamma = _function(
    "lxla_random_gamma",
    lxla_status,
    [
        ("algorithm", c_int32),
        ("key", lxla_tensor),
        ("alpha", lxla_tensor),
        ("dims", POINTER(c_int64)),
        ("rank", c_size_t),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_random_log_gamma = _function(
    "lxla_random_log_gamma",
    lxla_status,
    [
        ("algorithm", c_int32),
        ("key", lxla_tensor),
        ("alpha", lxla_tensor),
        ("dims", POINTER(c_int64)),
        ("rank", c_size_t),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_random_beta = _function(
    "lxla_random_beta",
    lxla_status,
    [
        ("algorithm", c_int32),
        ("key", lxla_tensor),
        ("a", lxla_tensor),
        ("b", lxla_tensor),
        ("dims", POINTER(c_int64)),
        ("rank", c_size_t),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_computation_trace = _function(
    "lxla_computation_trace",
    lxla_status,
    [
        ("params", POINTER(lxla_tensor)),
        ("n_params", c_size_t),
        ("results", POINTER(lxla_tensor)),
        ("n_results", c_size_t),
        ("out_computation", POINTER(lxla_computation)),
    ],
)
lxla_tracing_begin = _function("lxla_tracing_begin", lxla_status, [("env", lxla_env), ("device", lxla_device)])
lxla_tracing_end = _function(
    "lxla_tracing_end",
    lxla_status,
    [
        ("params", POINTER(lxla_tensor)),
        ("n_params", c_size_t),
        ("results", POINTER(lxla_tensor)),
        ("n_results", c_size_t),
        ("out_computation", POINTER(lxla_computation)),
    ],
)
lxla_tracing_abandon = _function("lxla_tracing_abandon", lxla_status, [])
lxla_computation_retain = _function("lxla_computation_retain", lxla_status, [("computation", lxla_computation)])
lxla_computation_release = _function("lxla_computation_release", lxla_status, [("computation", lxla_computation)])
lxla_computation_info = _function(
    "lxla_computation_info",
    lxla_status,
    [
        ("computation", lxla_computation),
        ("out_params", POINTER(c_size_t)),
        ("out_results", POINTER(c_size_t)),
        ("out_captured", POINTER(c_size_t)),
    ],
)
lxla_computation_captured = _function(
    "lxla_computation_captured",
    lxla_status,
    [("computation", lxla_computation), ("index", c_size_t), ("out_tensor", POINTER(lxla_tensor))],
)
lxla_computation_stablehlo = _function(
    "lxla_computation_stablehlo", lxla_status, [("computation", lxla_computation), ("out_text", POINTER(c_void_p))]
)
lxla_computation_call = _function(
    "lxla_computation_call",
    lxla_status,
    [
        ("computation", lxla_computation),
        ("args", POINTER(lxla_tensor)),
        ("n_args", c_size_t),
        ("out_results", POINTER(lxla_tensor)),
        ("n_results", c_size_t),
    ],
)
lxla_while = _function(
    "lxla_while",
    lxla_status,
    [
        ("cond", lxla_computation),
        ("body", lxla_computation),
        ("init", POINTER(lxla_tensor)),
        ("n", c_size_t),
        ("out_results", POINTER(lxla_tensor)),
    ],
)
lxla_while_bounded = _function(
    "lxla_while_bounded",
    lxla_status,
    [
        ("cond", lxla_computation),
        ("body", lxla_computation),
        ("init", POINTER(lxla_tensor)),
        ("n", c_size_t),
        ("max_iterations", c_int64),
        ("out_values", POINTER(lxla_tensor)),
        ("out_ended", POINTER(lxla_tensor)),
    ],
)
lxla_cond = _function(
    "lxla_cond",
    lxla_status,
    [
        ("pred", lxla_tensor),
        ("on_true", lxla_computation),
        ("on_false", lxla_computation),
        ("args", POINTER(lxla_tensor)),
        ("n_args", c_size_t),
        ("out_results", POINTER(lxla_tensor)),
        ("n_results", c_size_t),
    ],
)
lxla_case = _function(
    "lxla_case",
    lxla_status,
    [
        ("index", lxla_tensor),
        ("branches", POINTER(lxla_computation)),
        ("n_branches", c_size_t),
        ("args", POINTER(lxla_tensor)),
        ("n_args", c_size_t),
        ("out_results", POINTER(lxla_tensor)),
        ("n_results", c_size_t),
    ],
)
lxla_scan = _function(
    "lxla_scan",
    lxla_status,
    [
        ("body", lxla_computation),
        ("init", POINTER(lxla_tensor)),
        ("n_carry", c_size_t),
        ("xs", POINTER(lxla_tensor)),
        ("n_xs", c_size_t),
        ("length", c_int64),
        ("reverse", c_int32),
        ("out_carry", POINTER(lxla_tensor)),
        ("out_ys", POINTER(lxla_tensor)),
        ("n_ys", c_size_t),
    ],
)
lxla_optimization_barrier = _function(
    "lxla_optimization_barrier",
    lxla_status,
    [("tensors", POINTER(lxla_tensor)), ("n", c_size_t), ("out_tensors", POINTER(lxla_tensor))],
)
lxla_custom_call_options_init = _function(
    "lxla_custom_call_options_init", lxla_status, [("options", POINTER(lxla_custom_call_options))]
)
lxla_custom_call = _function(
    "lxla_custom_call",
    lxla_status,
    [
        ("target", c_char_p),
        ("operands", POINTER(lxla_tensor)),
        ("n_operands", c_size_t),
        ("dtypes", POINTER(c_int32)),
        ("ranks", POINTER(c_size_t)),
        ("dims", POINTER(c_int64)),
        ("n_results", c_size_t),
        ("options", POINTER(lxla_custom_call_options)),
        ("out_results", POINTER(lxla_tensor)),
    ],
)
lxla_kernel_options_init = _function(
    "lxla_kernel_options_init", lxla_status, [("options", POINTER(lxla_kernel_options))]
)
lxla_kernel_register = _function(
    "lxla_kernel_register",
    lxla_status,
    [
        ("env", lxla_env),
        ("target", c_char_p),
        ("fn_", lxla_kernel_fn),
        ("user", c_void_p),
        ("options", POINTER(lxla_kernel_options)),
    ],
)
lxla_kernel_unregister = _function("lxla_kernel_unregister", lxla_status, [("env", lxla_env), ("target", c_char_p)])
lxla_kernel_apply = _function(
    "lxla_kernel_apply",
    lxla_status,
    [
        ("env", lxla_env),
        ("target", c_char_p),
        ("inputs", POINTER(lxla_tensor)),
        ("n_inputs", c_size_t),
        ("dtypes", POINTER(c_int32)),
        ("ranks", POINTER(c_size_t)),
        ("dims", POINTER(c_int64)),
        ("n_outputs", c_size_t),
        ("attributes_json", c_char_p),
        ("out_tensors", POINTER(lxla_tensor)),
    ],
)
lxla_host_call = _function(
    "lxla_host_call",
    lxla_status,
    [
        ("env", lxla_env),
        ("fn_", lxla_kernel_fn),
        ("user", c_void_p),
        ("options", POINTER(lxla_kernel_options)),
        ("inputs", POINTER(lxla_tensor)),
        ("n_inputs", c_size_t),
        ("dtypes", POINTER(c_int32)),
        ("ranks", POINTER(c_size_t)),
        ("dims", POINTER(c_int64)),
        ("n_outputs", c_size_t),
        ("out_tensors", POINTER(lxla_tensor)),
    ],
)
lxla_debug_print = _function(
    "lxla_debug_print", lxla_status, [("format", c_char_p), ("tensors", POINTER(lxla_tensor)), ("n", c_size_t)]
)
lxla_computation_jvp = _function(
    "lxla_computation_jvp",
    lxla_status,
    [
        ("f", lxla_computation),
        ("wrt", POINTER(c_size_t)),
        ("n_wrt", c_size_t),
        ("out_computation", POINTER(lxla_computation)),
    ],
)
lxla_vjp_options_init = _function("lxla_vjp_options_init", lxla_status, [("options", POINTER(lxla_vjp_options))])
lxla_computation_vjp = _function(
    "lxla_computation_vjp",
    lxla_status,
    [
        ("f", lxla_computation),
        ("options", POINTER(lxla_vjp_options)),
        ("out_forward", POINTER(lxla_computation)),
        ("out_backward", POINTER(lxla_computation)),
        ("out_n_residuals", POINTER(c_size_t)),
    ],
)
lxla_computation_value_and_grad = _function(
    "lxla_computation_value_and_grad",
    lxla_status,
    [("f", lxla_computation), ("options", POINTER(lxla_vjp_options)), ("out_computation", POINTER(lxla_computation))],
)
lxla_computation_vmap = _function(
    "lxla_computation_vmap",
    lxla_status,
    [
        ("f", lxla_computation),
        ("in_axes", POINTER(c_int64)),
        ("n_in", c_size_t),
        ("out_axes", POINTER(c_int64)),
        ("n_out", c_size_t),
        ("size", c_int64),
        ("out_computation", POINTER(lxla_computation)),
    ],
)
lxla_computation_lift = _function(
    "lxla_computation_lift", lxla_status, [("f", lxla_computation), ("out_computation", POINTER(lxla_computation))]
)
lxla_computation_checkpoint = _function(
    "lxla_computation_checkpoint",
    lxla_status,
    [
        ("f", lxla_computation),
        ("policy", c_int32),
        ("saved_names", POINTER(c_char_p)),
        ("n_saved_names", c_size_t),
        ("out_computation", POINTER(lxla_computation)),
    ],
)
lxla_computation_with_vjp = _function(
    "lxla_computation_with_vjp",
    lxla_status,
    [
        ("primal", lxla_computation),
        ("forward", lxla_computation),
        ("backward", lxla_computation),
        ("out_computation", POINTER(lxla_computation)),
    ],
)
lxla_computation_with_jvp = _function(
    "lxla_computation_with_jvp",
    lxla_status,
    [("primal", lxla_computation), ("jvp", lxla_computation), ("out_computation", POINTER(lxla_computation))],
)
lxla_computation_with_vmap = _function(
    "lxla_computation_with_vmap",
    lxla_status,
    [("primal", lxla_computation), ("batched", lxla_computation), ("out_computation", POINTER(lxla_computation))],
)
lxla_gradients = _function(
    "lxla_gradients",
    lxla_status,
    [
        ("ys", POINTER(lxla_tensor)),
        ("n_ys", c_size_t),
        ("cotangents", POINTER(lxla_tensor)),
        ("xs", POINTER(lxla_tensor)),
        ("n_xs", c_size_t),
        ("out_gradients", POINTER(lxla_tensor)),
    ],
)
lxla_gradients_options_init = _function(
    "lxla_gradients_options_init", lxla_status, [("options", POINTER(lxla_gradients_options))]
)
lxla_gradients_with_options = _function(
    "lxla_gradients_with_options",
    lxla_status,
    [
        ("ys", POINTER(lxla_tensor)),
        ("n_ys", c_size_t),
        ("cotangents", POINTER(lxla_tensor)),
        ("xs", POINTER(lxla_tensor)),
        ("n_xs", c_size_t),
        ("options", POINTER(lxla_gradients_options)),
        ("out_gradients", POINTER(lxla_tensor)),
    ],
)
lxla_stop_gradient = _function(
    "lxla_stop_gradient", lxla_status, [("x", lxla_tensor), ("out_tensor", POINTER(lxla_tensor))]
)
lxla_checkpoint_name = _function(
    "lxla_checkpoint_name", lxla_status, [("x", lxla_tensor), ("name", c_char_p), ("out_tensor", POINTER(lxla_tensor))]
)
lxla_import_options_init = _function(
    "lxla_import_options_init", lxla_status, [("options", POINTER(lxla_import_options))]
)
lxla_computation_import = _function(
    "lxla_computation_import",
    lxla_status,
    [
        ("env", lxla_env),
        ("module", c_void_p),
        ("size", c_size_t),
        ("options", POINTER(lxla_import_options)),
        ("out_computation", POINTER(lxla_computation)),
    ],
)
lxla_computation_import_file = _function(
    "lxla_computation_import_file",
    lxla_status,
    [
        ("env", lxla_env),
        ("path", c_char_p),
        ("options", POINTER(lxla_import_options)),
        ("out_computation", POINTER(lxla_computation)),
    ],
)
lxla_module_describe = _function(
    "lxla_module_describe", lxla_status, [("module", c_void_p), ("size", c_size_t), ("out_json", POINTER(c_void_p))]
)
lxla_module_describe_file = _function(
    "lxla_module_describe_file", lxla_status, [("path", c_char_p), ("out_json", POINTER(c_void_p))]
)
lxla_computation_describe = _function(
    "lxla_computation_describe", lxla_status, [("computation", lxla_computation), ("out_json", POINTER(c_void_p))]
)
lxla_export_options_init = _function(
    "lxla_export_options_init", lxla_status, [("options", POINTER(lxla_export_options))]
)
lxla_computation_export = _function(
    "lxla_computation_export",
    lxla_status,
    [("computation", lxla_computation), ("options", POINTER(lxla_export_options)), ("path", c_char_p)],
)
lxla_executable_options_init = _function(
    "lxla_executable_options_init", lxla_status, [("options", POINTER(lxla_executable_options))]
)
lxla_executable_compile = _function(
    "lxla_executable_compile",
    lxla_status,
    [
        ("f", lxla_computation),
        ("device", lxla_device),
        ("options", POINTER(lxla_executable_options)),
        ("out_executable", POINTER(lxla_executable)),
    ],
)
lxla_executable_retain = _function("lxla_executable_retain", lxla_status, [("executable", lxla_executable)])
lxla_executable_release = _function("lxla_executable_release", lxla_status, [("executable", lxla_executable)])
lxla_executable_run = _function(
    "lxla_executable_run",
    lxla_status,
    [
        ("executable", lxla_executable),
        ("inputs", POINTER(lxla_tensor)),
        ("n_inputs", c_size_t),
        ("out_tensors", POINTER(lxla_tensor)),
        ("n_outputs", c_size_t),
    ],
)
lxla_executable_run_host = _function(
    "lxla_executable_run_host",
    lxla_status,
    [
        ("executable", lxla_executable),
        ("inputs", POINTER(c_void_p)),
        ("input_sizes", POINTER(c_size_t)),
        ("n_inputs", c_size_t),
        ("outputs", POINTER(c_void_p)),
        ("output_sizes", POINTER(c_size_t)),
        ("n_outputs", c_size_t),
    ],
)
lxla_executable_save = _function(
    "lxla_executable_save", lxla_status, [("executable", lxla_executable), ("path", c_char_p)]
)
lxla_executable_load = _function(
    "lxla_executable_load",
    lxla_status,
    [("env", lxla_env), ("device", lxla_device), ("path", c_char_p), ("out_executable", POINTER(lxla_executable))],
)
lxla_executable_describe = _function(
    "lxla_executable_describe", lxla_status, [("executable", lxla_executable), ("out_json", POINTER(c_void_p))]
)
lxla_mesh_create = _function(
    "lxla_mesh_create",
    lxla_status,
    [
        ("env", lxla_env),
        ("axis_names", POINTER(c_char_p)),
        ("axis_sizes", POINTER(c_int64)),
        ("rank", c_size_t),
        ("ordinals", POINTER(c_int32)),
        ("out_mesh", POINTER(lxla_mesh)),
    ],
)
lxla_mesh_retain = _function("lxla_mesh_retain", lxla_status, [("mesh", lxla_mesh)])
lxla_mesh_release = _function("lxla_mesh_release", lxla_status, [("mesh", lxla_mesh)])
lxla_mesh_device = _function(
    "lxla_mesh_device", lxla_status, [("mesh", lxla_mesh), ("out_device", POINTER(lxla_device))]
)
lxla_mesh_info = _function("lxla_mesh_info", lxla_status, [("mesh", lxla_mesh), ("out_json", POINTER(c_void_p))])
lxla_tensor_shard = _function(
    "lxla_tensor_shard",
    lxla_status,
    [("x", lxla_tensor), ("mesh", lxla_mesh), ("sharding", c_char_p), ("out_tensor", POINTER(lxla_tensor))],
)
lxla_tensor_from_host_sharded = _function(
    "lxla_tensor_from_host_sharded",
    lxla_status,
    [
        ("mesh", lxla_mesh),
        ("dtype", c_int32),
        ("dims", POINTER(c_int64)),
        ("rank", c_size_t),
        ("data", c_void_p),
        ("size_bytes", c_size_t),
        ("sharding", c_char_p),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_tensor_sharding = _function(
    "lxla_tensor_sharding", lxla_status, [("x", lxla_tensor), ("out_text", POINTER(c_void_p))]
)
lxla_tensor_sharding_picture = _function(
    "lxla_tensor_sharding_picture", lxla_status, [("x", lxla_tensor), ("out_text", POINTER(c_void_p))]
)
lxla_tensor_shard_read = _function(
    "lxla_tensor_shard_read",
    lxla_status,
    [
        ("x", lxla_tensor),
        ("ordinal", c_int32),
        ("dst", c_void_p),
        ("size_bytes", c_size_t),
        ("out_offsets", POINTER(c_int64)),
        ("out_dims", POINTER(c_int64)),
        ("capacity", c_size_t),
    ],
)
lxla_sharding_constraint = _function(
    "lxla_sharding_constraint",
    lxla_status,
    [("x", lxla_tensor), ("sharding", c_char_p), ("out_tensor", POINTER(lxla_tensor))],
)
lxla_shard_map = _function(
    "lxla_shard_map",
    lxla_status,
    [
        ("body", lxla_computation),
        ("mesh", lxla_mesh),
        ("in_shardings", POINTER(c_char_p)),
        ("args", POINTER(lxla_tensor)),
        ("n_args", c_size_t),
        ("out_shardings", POINTER(c_char_p)),
        ("out_results", POINTER(lxla_tensor)),
        ("n_results", c_size_t),
    ],
)
lxla_all_reduce = _function(
    "lxla_all_reduce",
    lxla_status,
    [("op", c_int32), ("x", lxla_tensor), ("axes", c_char_p), ("out_tensor", POINTER(lxla_tensor))],
)
lxla_all_gather = _function(
    "lxla_all_gather",
    lxla_status,
    [("x", lxla_tensor), ("axes", c_char_p), ("axis", c_int64), ("out_tensor", POINTER(lxla_tensor))],
)
lxla_reduce_scatter = _function(
    "lxla_reduce_scatter",
    lxla_status,
    [("op", c_int32), ("x", lxla_tensor), ("axes", c_char_p), ("axis", c_int64), ("out_tensor", POINTER(lxla_tensor))],
)
lxla_all_to_all = _function(
    "lxla_all_to_all",
    lxla_status,
    [
        ("x", lxla_tensor),
        ("axes", c_char_p),
        ("split_axis", c_int64),
        ("concat_axis", c_int64),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_collective_permute = _function(
    "lxla_collective_permute",
    lxla_status,
    [
        ("x", lxla_tensor),
        ("axis", c_char_p),
        ("pairs", POINTER(c_int64)),
        ("n_pairs", c_size_t),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_axis_index = _function(
    "lxla_axis_index",
    lxla_status,
    [("env", lxla_env), ("device", lxla_device), ("axes", c_char_p), ("out_tensor", POINTER(lxla_tensor))],
)
lxla_mark_step = _function(
    "lxla_mark_step", lxla_status, [("env", lxla_env), ("device", lxla_device), ("wait", c_int32)]
)
lxla_wait = _function("lxla_wait", lxla_status, [("env", lxla_env), ("device", lxla_device)])
lxla_enqueued = _function("lxla_enqueued", lxla_status, [("out_number", POINTER(c_uint64))])
lxla_wait_for = _function(
    "lxla_wait_for",
    lxla_status,
    [
        ("env", lxla_env),
        ("device", lxla_device),
        ("enqueued", c_uint64),
        ("timeout_ms", c_int64),
        ("out_done", POINTER(c_int32)),
    ],
)
lxla_tensor_wait_for = _function(
    "lxla_tensor_wait_for",
    lxla_status,
    [("tensor", lxla_tensor), ("timeout_ms", c_int64), ("out_ready", POINTER(c_int32))],
)
lxla_tensor_on_ready = _function(
    "lxla_tensor_on_ready", lxla_status, [("tensor", lxla_tensor), ("fn_", lxla_ready_fn), ("user", c_void_p)]
)
lxla_step_tensors = _function(
    "lxla_step_tensors", lxla_status, [("tensors", POINTER(lxla_tensor)), ("n", c_size_t), ("wait", c_int32)]
)
lxla_sync = _function("lxla_sync", lxla_status, [("tensors", POINTER(lxla_tensor)), ("n", c_size_t)])
lxla_graph_hash = _function(
    "lxla_graph_hash",
    lxla_status,
    [
        ("env", lxla_env),
        ("device", lxla_device),
        ("tensors", POINTER(lxla_tensor)),
        ("n", c_size_t),
        ("out_hash", POINTER(c_uint8)),
    ],
)
lxla_stablehlo = _function(
    "lxla_stablehlo", lxla_status, [("tensors", POINTER(lxla_tensor)), ("n", c_size_t), ("out_text", POINTER(c_void_p))]
)
lxla_step_stablehlo = _function(
    "lxla_step_stablehlo", lxla_status, [("env", lxla_env), ("device", lxla_device), ("out_text", POINTER(c_void_p))]
)
lxla_compiled_memory = _function(
    "lxla_compiled_memory",
    lxla_status,
    [
        ("env", lxla_env),
        ("device", lxla_device),
        ("tensors", POINTER(lxla_tensor)),
        ("n", c_size_t),
        ("out_stats", POINTER(lxla_memory_stats)),
    ],
)
lxla_label_push = _function("lxla_label_push", lxla_status, [("name", c_char_p)])
lxla_label_pop = _function("lxla_label_pop", lxla_status, [])
lxla_compile_log_json = _function(
    "lxla_compile_log_json", lxla_status, [("env", lxla_env), ("out_json", POINTER(c_void_p))]
)
lxla_trace_start = _function("lxla_trace_start", lxla_status, [("env", lxla_env), ("path", c_char_p)])
lxla_trace_stop = _function("lxla_trace_stop", lxla_status, [("env", lxla_env)])
lxla_report = _function("lxla_report", lxla_status, [("env", lxla_env), ("path", c_char_p)])
lxla_graph_dot = _function(
    "lxla_graph_dot", lxla_status, [("tensors", POINTER(lxla_tensor)), ("n", c_size_t), ("out_text", POINTER(c_void_p))]
)
lxla_live_tensors_json = _function(
    "lxla_live_tensors_json", lxla_status, [("env", lxla_env), ("out_json", POINTER(c_void_p))]
)
lxla_find_nonfinite = _function(
    "lxla_find_nonfinite",
    lxla_status,
    [("tensors", POINTER(lxla_tensor)), ("n", c_size_t), ("out_json", POINTER(c_void_p))],
)
lxla_computation_compare = _function(
    "lxla_computation_compare",
    lxla_status,
    [
        ("env", lxla_env),
        ("device", lxla_device),
        ("computation", lxla_computation),
        ("args", POINTER(lxla_tensor)),
        ("n_args", c_size_t),
        ("tolerance", c_double),
        ("out_json", POINTER(c_void_p)),
    ],
)
lxla_save_options_init = _function("lxla_save_options_init", lxla_status, [("options", POINTER(lxla_save_options))])
lxla_save = _function(
    "lxla_save",
    lxla_status,
    [("path", c_char_p), ("names", POINTER(c_char_p)), ("tensors", POINTER(lxla_tensor)), ("n", c_size_t)],
)
lxla_save_with_options = _function(
    "lxla_save_with_options",
    lxla_status,
    [
        ("path", c_char_p),
        ("names", POINTER(c_char_p)),
        ("tensors", POINTER(lxla_tensor)),
        ("n", c_size_t),
        ("options", POINTER(lxla_save_options)),
    ],
)
lxla_save_async = _function(
    "lxla_save_async",
    lxla_status,
    [
        ("path", c_char_p),
        ("names", POINTER(c_char_p)),
        ("tensors", POINTER(lxla_tensor)),
        ("n", c_size_t),
        ("out_ticket", POINTER(lxla_save_ticket)),
    ],
)
lxla_save_async_with_options = _function(
    "lxla_save_async_with_options",
    lxla_status,
    [
        ("path", c_char_p),
        ("names", POINTER(c_char_p)),
        ("tensors", POINTER(lxla_tensor)),
        ("n", c_size_t),
        ("options", POINTER(lxla_save_options)),
        ("out_ticket", POINTER(lxla_save_ticket)),
    ],
)
lxla_save_done = _function(
    "lxla_save_done", lxla_status, [("ticket", lxla_save_ticket), ("out_done", POINTER(c_int32))]
)
lxla_save_progress = _function(
    "lxla_save_progress",
    lxla_status,
    [("ticket", lxla_save_ticket), ("out_written_bytes", POINTER(c_uint64)), ("out_total_bytes", POINTER(c_uint64))],
)
lxla_save_wait = _function("lxla_save_wait", lxla_status, [("ticket", lxla_save_ticket)])
lxla_save_ticket_retain = _function("lxla_save_ticket_retain", lxla_status, [("ticket", lxla_save_ticket)])
lxla_save_ticket_release = _function("lxla_save_ticket_release", lxla_status, [("ticket", lxla_save_ticket)])
lxla_load = _function(
    "lxla_load",
    lxla_status,
    [
        ("env", lxla_env),
        ("device", lxla_device),
        ("path", c_char_p),
        ("name", c_char_p),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_file_names = _function("lxla_file_names", lxla_status, [("path", c_char_p), ("out_json", POINTER(c_void_p))])
lxla_file_metadata = _function("lxla_file_metadata", lxla_status, [("path", c_char_p), ("out_json", POINTER(c_void_p))])
lxla_tensor_to_dlpack = _function(
    "lxla_tensor_to_dlpack", lxla_status, [("tensor", lxla_tensor), ("out_managed", POINTER(c_void_p))]
)
lxla_tensor_to_dlpack_unversioned = _function(
    "lxla_tensor_to_dlpack_unversioned",
    lxla_status,
    [("tensor", lxla_tensor), ("copy", c_int32), ("out_managed", POINTER(c_void_p))],
)
lxla_tensor_from_dlpack = _function(
    "lxla_tensor_from_dlpack",
    lxla_status,
    [
        ("env", lxla_env),
        ("device", lxla_device),
        ("managed", c_void_p),
        ("copy", c_int32),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
lxla_tensor_from_dlpack_unversioned = _function(
    "lxla_tensor_from_dlpack_unversioned",
    lxla_status,
    [
        ("env", lxla_env),
        ("device", lxla_device),
        ("managed", c_void_p),
        ("copy", c_int32),
        ("out_tensor", POINTER(lxla_tensor)),
    ],
)
