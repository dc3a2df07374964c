"""Handles, signatures and errors in Python: python frontend_ctypes.py /path/to/liblazyxla.so"""

import array
import sys
import tempfile

# [recipe]
import ctypes
from ctypes import POINTER, Structure, byref, c_char_p, c_double, c_int32, c_int64, c_size_t, c_uint64, c_void_p


class Tensor(Structure):  # a handle: a struct with one 64-bit field, by value; a plain int would lose its upper half
    _fields_ = [("id", c_uint64)]


class Env(Structure):
    _fields_ = [("id", c_uint64)]


class Device(Structure):
    _fields_ = [("kind", c_int32), ("ordinal", c_int32)]


DIMS = [POINTER(c_int64), c_size_t]


class Error(RuntimeError):
    def __init__(self, status):
        self.status = status
        super().__init__(f"{lib.lxla_status_name(status).decode()}: {lib.lxla_last_error_message().decode()}")


def check(status, function, arguments):
    if status != 0:
        raise Error(status)


def load(path):
    lib = ctypes.CDLL(path)
    lib.lxla_status_name.restype, lib.lxla_status_name.argtypes = c_char_p, [c_int32]
    lib.lxla_last_error_message.restype, lib.lxla_last_error_message.argtypes = c_char_p, []
    lib.lxla_string_free.restype, lib.lxla_string_free.argtypes = None, [c_void_p]
    for name, argtypes in {
        "lxla_tensor_from_host": [Env, Device, c_int32, *DIMS, c_void_p, c_size_t, POINTER(Tensor)],
        "lxla_tensor_release": [Tensor],
        "lxla_tensor_read": [Tensor, c_void_p, c_size_t],
        "lxla_binary": [c_int32, Tensor, Tensor, POINTER(Tensor)],
        "lxla_binary_scalar": [c_int32, Tensor, c_double, POINTER(Tensor)],
        "lxla_mark_step": [Env, Device, c_int32],
        "lxla_stack": [POINTER(Tensor), c_size_t, c_int64, POINTER(Tensor)],
        "lxla_save": [c_char_p, POINTER(c_char_p), POINTER(Tensor), c_size_t],
        "lxla_stablehlo": [POINTER(Tensor), c_size_t, POINTER(c_void_p)],
    }.items():
        function = getattr(lib, name)
        function.restype, function.argtypes, function.errcheck = c_int32, argtypes, check
    return lib


def stablehlo(tensor):  # a string to be freed is a c_void_p: ctypes converts a c_char_p and loses the pointer
    text = c_void_p()
    lib.lxla_stablehlo(byref(tensor), 1, byref(text))
    try:
        return ctypes.string_at(text).decode()
    finally:
        lib.lxla_string_free(text)


# [recipe end]


# [recipe]
class Owned:  # a tensor that is released with its Python object
    def __init__(self, handle):
        self.handle = handle

    def __del__(self):
        lib.lxla_tensor_release(self.handle)


def handles_of(tensors):  # copies of the handles, which keep nothing alive: the caller keeps the Owned objects
    return (Tensor * len(tensors))(*[tensor.handle for tensor in tensors])


def stack(tensors):
    tensors, out = list(tensors), Tensor()  # a generator's temporaries would be released before the call
    lib.lxla_stack(handles_of(tensors), len(tensors), 0, byref(out))
    return Owned(out)


def save(path, tensors):
    names = [name.encode() for name in tensors]  # const char *const *: pointers into bytes, kept until the call ends
    lib.lxla_save(path.encode(), (c_char_p * len(names))(*names), handles_of(list(tensors.values())), len(names))


# [recipe end]


lib = load(sys.argv[1])
F32, ADD, MULTIPLY, XLA = 11, 1, 3, Device(2, 0)


def tensor(values):
    data, dims, out = array.array("f", values), (c_int64 * 1)(len(values)), Tensor()
    lib.lxla_tensor_from_host(Env(), XLA, F32, dims, 1, data.buffer_info()[0], 4 * len(values), byref(out))
    return out


a, b, doubled, failed = tensor([1, 2, 3]), tensor([1, 2]), Tensor(), Tensor()
lib.lxla_binary_scalar(MULTIPLY, a, 2, byref(doubled))
assert "stablehlo.multiply" in stablehlo(doubled)
lib.lxla_mark_step(Env(), XLA, 0)
values = array.array("f", [0, 0, 0])
lib.lxla_tensor_read(doubled, values.buffer_info()[0], 12)
assert list(values) == [2, 4, 6]
try:
    lib.lxla_binary(ADD, a, b, byref(failed))
except Error as error:
    assert error.status == 3 and "INVALID_ARGUMENT" in str(error) and failed.id == 0, error
else:
    raise AssertionError("f32[3] + f32[2] was accepted")
# A list of handles outlives the objects that it was made of.
gone = (Tensor * 2)(*[Owned(tensor([i, i])).handle for i in range(2)])
try:
    lib.lxla_stack(gone, 2, 0, byref(failed))
except Error as error:
    assert "INVALID_HANDLE" in str(error), error
else:
    raise AssertionError("released tensors were stacked")
rows = stack(Owned(tensor([i, i + 1])) for i in range(2))
values = array.array("f", [0] * 4)
lib.lxla_tensor_read(rows.handle, values.buffer_info()[0], 16)
assert list(values) == [0, 1, 1, 2]
with tempfile.TemporaryDirectory() as folder:
    save(folder + "/two.safetensors", {"rows": rows, "ones": Owned(tensor([1, 1]))})
    assert b'"ones"' in open(folder + "/two.safetensors", "rb").read()
for handle in (a, b, doubled):
    lib.lxla_tensor_release(handle)
print("ok")
