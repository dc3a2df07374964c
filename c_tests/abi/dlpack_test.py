"""DLPack between the library and NumPy, and with `torch` PyTorch, with no copy:
python dlpack_test.py /path/to/liblazyxla.so [torch]"""

import ctypes
import sys
from ctypes import byref, c_char_p, c_void_p, py_object

import numpy as np

sys.dont_write_bytecode = True  # leaves no caches beside the sources
import ctypes_test as abi
from ctypes_test import Tensor, new_env, ok, release

cpu, xla = abi.cpu(), abi.xla()
NAME, USED = b"dltensor_versioned", b"used_dltensor_versioned"
OLD_NAME, OLD_USED = b"dltensor", b"used_dltensor"
DTYPES = [
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
]

python = ctypes.pythonapi
python.PyCapsule_New.restype, python.PyCapsule_New.argtypes = py_object, [c_void_p, c_char_p, c_void_p]
python.PyCapsule_GetPointer.restype, python.PyCapsule_GetPointer.argtypes = c_void_p, [py_object, c_char_p]
python.PyCapsule_SetName.argtypes = [py_object, c_char_p]


class Exported:
    """Wraps a tensor of lazyxla as the object that a library's from_dlpack takes."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        assert max_version and max_version[0] >= 1, "the consumer knows no versioned capsules"
        managed = c_void_p()
        ok(abi.lib.lxla_tensor_to_dlpack(self.tensor, byref(managed)))
        return python.PyCapsule_New(managed, NAME, None)


class ExportedUnversioned(Exported):
    """Wraps a tensor as an exporter from before DLPack 1.0."""

    def __init__(self, tensor, copy):
        self.tensor, self.copy = tensor, copy

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        managed = c_void_p()
        ok(abi.lib.lxla_tensor_to_dlpack_unversioned(self.tensor, self.copy, byref(managed)))
        return python.PyCapsule_New(managed, OLD_NAME, None)


def imported_unversioned(env, device, array, copy=0):
    capsule = array.__dlpack__()
    tensor, managed = Tensor(), python.PyCapsule_GetPointer(capsule, OLD_NAME)
    ok(abi.lib.lxla_tensor_from_dlpack_unversioned(env, device, managed, copy, byref(tensor)))
    python.PyCapsule_SetName(capsule, OLD_USED)
    return tensor


def imported(env, device, array, copy=0):
    capsule = array.__dlpack__(max_version=(1, 0))
    tensor = Tensor()
    ok(abi.lib.lxla_tensor_from_dlpack(env, device, python.PyCapsule_GetPointer(capsule, NAME), copy, byref(tensor)))
    python.PyCapsule_SetName(capsule, USED)
    return tensor


def read(tensor, like):
    out = np.empty_like(like, order="C")
    ok(abi.lib.lxla_tensor_read(tensor, out.ctypes.data, out.nbytes))
    return out


def content(dtype, shape):
    count = int(np.prod(shape))
    return (np.arange(count) % 2 if dtype == "bool" else np.arange(count)).astype(dtype).reshape(shape)


def check_numpy(env):
    for dtype in DTYPES:
        for shape in [(), (1,), (0,), (3, 5), (2, 0, 3), (4, 1, 9)]:
            given = content(dtype, shape)
            for device in (cpu, xla):
                tensor = imported(env, device, given)
                seen = np.from_dlpack(Exported(tensor))
                assert seen.dtype == given.dtype and seen.shape == given.shape and not seen.flags.writeable
                assert np.array_equal(seen, given) and np.array_equal(read(tensor, given), given), (dtype, shape)
                release(tensor)
                assert np.array_equal(seen, given), "an export outlives its tensor"


def check_sharing(env):
    given = np.arange(4096, dtype="float32")
    tensor = imported(env, cpu, given)
    assert np.from_dlpack(Exported(tensor)).ctypes.data == given.ctypes.data, "shared both ways"
    release(tensor)
    turned = given.reshape(64, 64).T[::2, ::-3]
    tensor = imported(env, cpu, turned)
    assert np.array_equal(np.from_dlpack(Exported(tensor)), turned), "any strides"
    release(tensor)
    references = sys.getrefcount(given)
    tensors = [imported(env, device, given, copy) for device in (cpu, xla) for copy in (0, 1)]
    assert sys.getrefcount(given) > references
    for tensor in tensors:
        release(tensor)
    assert sys.getrefcount(given) == references, "each deleter was called"


def check_alignment(env):
    """Memory that is not aligned for the element type, or not for the type as which it is reinterpreted."""
    memory = np.zeros(256, dtype="uint8")
    start = -memory.ctypes.data % 16
    for offset in (0, 8):
        given = memory[start + offset :][:64].view("complex128").reshape(2, 2)
        given[...] = [[1 + 2j, 3], [4, 5j]]
        tensor, turned = imported(env, cpu, given), Tensor()
        ok(abi.lib.lxla_transpose(tensor, (ctypes.c_int64 * 2)(1, 0), 2, byref(turned)))
        assert np.array_equal(read(turned, given), given.T)
        release(tensor, turned)
    for offset in (0, 1):
        given = memory[start + offset :][:64].reshape(16, 4)
        given[...] = np.arange(64).reshape(16, 4)
        tensor, floats, sum = imported(env, cpu, given), Tensor(), Tensor()
        ok(abi.lib.lxla_bitcast_convert(tensor, abi.F32, byref(floats)))
        ok(abi.lib.lxla_binary(abi.ADD, floats, floats, byref(sum)))
        want = given.copy().view("float32").reshape(16)
        assert np.array_equal(read(sum, want), want + want)
        release(tensor, floats, sum)


def check_unversioned(env):
    for dtype in DTYPES:
        for shape in [(), (0,), (3, 5), (4, 1, 9)]:
            given = content(dtype, shape)
            for device in (cpu, xla):
                tensor = imported_unversioned(env, device, given)
                for copy in (0, 1):
                    seen = np.from_dlpack(ExportedUnversioned(tensor, copy))
                    assert seen.dtype == given.dtype and seen.shape == given.shape and np.array_equal(seen, given)
                release(tensor)
                assert np.array_equal(seen, given), "an export outlives its tensor"
    given = np.arange(4096, dtype="float32")
    references = sys.getrefcount(given)
    tensor = imported_unversioned(env, cpu, given)
    shared, own = (np.from_dlpack(ExportedUnversioned(tensor, copy)) for copy in (0, 1))
    assert shared.ctypes.data == given.ctypes.data and own.ctypes.data != given.ctypes.data
    # A consumer that writes to a copy does not change the tensor.
    ctypes.c_float.from_address(own.ctypes.data).value = 77
    assert read(tensor, given)[0] == 0 and own[0] == 77
    release(tensor)
    turned = given.reshape(64, 64).T[::2, ::-3]
    tensor = imported_unversioned(env, cpu, turned)
    assert np.array_equal(read(tensor, turned), turned), "any strides"
    release(tensor)
    del shared, own, turned
    assert sys.getrefcount(given) == references, "each deleter was called"
    tensor, managed = Tensor(), c_void_p()
    assert abi.lib.lxla_tensor_from_dlpack_unversioned(env, cpu, None, 0, byref(tensor)) == 65
    assert abi.lib.lxla_tensor_to_dlpack_unversioned(tensor, 2, byref(managed)) == 3


TORCH_DTYPES = ["bfloat16", "float8_e5m2", "float8_e4m3fn", "float8_e5m2fnuz", "float8_e4m3fnuz", "float8_e8m0fnu"]


def check_torch(env):
    """Exchanges every dtype that PyTorch has: the bytes are the same, in shared memory, with strides and from an
    offset."""
    import torch

    for name in DTYPES + TORCH_DTYPES:
        dtype = getattr(torch, name)
        for shape in [(), (1,), (0,), (3, 5), (2, 0, 3)]:
            size = int(np.prod(shape)) * torch.empty((), dtype=dtype).element_size()
            given = torch.arange(size, dtype=torch.uint8).remainder(2).view(dtype).reshape(shape)
            for device in (cpu, xla):
                tensor = imported(env, device, given)
                seen = torch.from_dlpack(Exported(tensor))
                release(tensor)
                assert seen.dtype == dtype and seen.shape == given.shape, (seen, given)
                assert torch.equal(seen.reshape(-1).view(torch.uint8), given.reshape(-1).view(torch.uint8)), (
                    name,
                    shape,
                )
    given = torch.arange(4096, dtype=torch.float32)
    tensor = imported(env, cpu, given)
    assert torch.from_dlpack(Exported(tensor)).data_ptr() == given.data_ptr(), "shared both ways"
    release(tensor)
    turned = given.reshape(64, 64).T[::2, 3:40]
    tensor = imported(env, cpu, turned)
    assert torch.equal(torch.from_dlpack(Exported(tensor)), turned), "any strides"
    release(tensor)


def main():
    abi.load(sys.argv[1])
    env = new_env()
    check_numpy(env)
    check_sharing(env)
    check_alignment(env)
    check_unversioned(env)
    if "torch" in sys.argv[2:]:
        check_torch(env)
    ok(abi.lib.lxla_env_release(env))
    print("dlpack: passed")


if __name__ == "__main__":
    main()
