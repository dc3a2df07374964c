"""Programs of others in tests: imports and calls them, and compares their values."""

import ctypes
import os
import sys
from ctypes import byref, c_size_t

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../abi"))
import ctypes_test as lxla
import numpy as np
from ctypes_test import Computation, Tensor, give, ok
from header import family, types

DTYPE = family("DTYPE")
NUMBERS = {
    "bool": "pred", "int8": "s8", "int16": "s16", "int32": "s32", "int64": "s64", "uint8": "u8", "uint16": "u16",
    "uint32": "u32", "uint64": "u64", "float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64",
    "complex64": "c64", "complex128": "c128",
}  # fmt: skip
# Differences that are allowed, in units of the largest magnitude of the result.
TOLERANCE = {
    "float16": 4e-3,
    "bfloat16": 3e-2,
    "float32": 2e-5,
    "float64": 1e-11,
    "complex64": 2e-5,
    "complex128": 1e-11,
}


def options_of(shapes=None, mesh=None):
    """Options of an import with these shapes of the parameters, on a mesh."""
    options = types.lxla_import_options(struct_size=ctypes.sizeof(types.lxla_import_options))
    if mesh is not None:
        options.mesh = mesh
    if shapes is not None:
        ranks = [len(shape) for shape in shapes]
        sizes = [size for shape in shapes for size in shape]
        options.ranks = (c_size_t * len(ranks))(*ranks)
        options.dims = (ctypes.c_int64 * max(len(sizes), 1))(*sizes)
        options.n_parameters = len(ranks)
    return options


def imported(env, data, shapes=None, mesh=None):
    """Imports a program from its bytes."""
    return give(lxla.lib.lxla_computation_import, Computation, env, data, len(data), byref(options_of(shapes, mesh)))


def imported_file(env, path, shapes=None):
    """Imports a program from a file or folder."""
    name = str(path).encode()
    return give(lxla.lib.lxla_computation_import_file, Computation, env, name, byref(options_of(shapes)))


def tensor(env, device, value):
    value = np.asarray(value, order="C")
    number = DTYPE[NUMBERS[value.dtype.name]]
    return give(
        lxla.lib.lxla_tensor_from_host,
        Tensor,
        env,
        device,
        number,
        *lxla.dims(*value.shape),
        value.tobytes(),
        value.nbytes,
    )


def call(env, device, computation, arguments, wanted):
    """Calls a computation; returns the bytes of its results, which have the sizes of the wanted arrays."""
    counts = [c_size_t() for _ in range(3)]
    ok(lxla.lib.lxla_computation_info(computation, *map(byref, counts)))
    given = [tensor(env, device, x) for x in arguments]
    assert counts[0].value == len(given), f"{counts[0].value} parameters, {len(given)} arguments"
    results = (Tensor * counts[1].value)()
    ok(lxla.lib.lxla_computation_call(computation, (Tensor * len(given))(*given), len(given), results, len(results)))
    ok(lxla.lib.lxla_sync(results, len(results)))  # as one program: a read computes its tensor alone
    assert len(results) == len(wanted), f"{len(results)} results; JAX has {len(wanted)}"
    made = []
    for result, want in zip(results, wanted, strict=True):
        data = ctypes.create_string_buffer(max(np.asarray(want).nbytes, 1))
        ok(lxla.lib.lxla_tensor_read(result, data, np.asarray(want).nbytes))
        made.append(data.raw[: np.asarray(want).nbytes])
    lxla.release(*given, *results)
    return made


def compare(name, raw, wanted):
    """Fails unless the bytes of results are JAX's values within the tolerance of their dtype."""
    for i, (data, want) in enumerate(zip(raw, wanted, strict=True)):
        want = np.asarray(want)
        got = np.frombuffer(data, want.dtype).reshape(want.shape)
        tolerance = TOLERANCE.get(want.dtype.name)
        if tolerance is None:
            assert (got == want).all(), f"{name}: result {i}: {got} instead of {want}"
            continue
        wide = np.complex128 if want.dtype.kind == "c" else np.float64
        got, want = got.astype(wide), want.astype(wide)
        assert (np.isnan(got) == np.isnan(want)).all(), f"{name}: result {i}: {got} instead of {want}"
        finite = np.isfinite(want)
        assert (got[~finite & ~np.isnan(want)] == want[~finite & ~np.isnan(want)]).all(), f"{name}: result {i}"
        scale = max(1.0, np.abs(want[finite]).max(initial=0))
        error = np.abs(got - want)[finite].max(initial=0) / scale
        assert error <= tolerance, f"{name}: result {i} is off by {error:.2e} of its largest element"
