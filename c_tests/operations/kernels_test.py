"""Executables that run again on other values at the same addresses: python kernels_test.py /path/to/liblazyxla.so

Large operands, for which XLA chooses library kernels, some of which keep state by address. Each operation runs on a
weight that was made, updated in place by a step, freed and made again, recomputed by a partial sync, written, and
loaded from a file; each time its result is compared with NumPy's. All values are small whole numbers, so products are
exact in f32 and f64; bf16 and f16 round the result once."""

import os
import sys
import tempfile
from ctypes import c_char_p
from dataclasses import dataclass
from typing import Callable

sys.dont_write_bytecode = True  # leaves no caches beside the sources
sys.path.append(sys.path[0] + "/../abi")  # ctypes_test
import ctypes_test as abi
import numpy as np
from ctypes_test import Tensor
from header import constants
from ops_cases import World, ints, release
from ops_nn_convolution import convolution_options
from ops_values import DTYPES


ADD, MULTIPLY = abi.ADD, abi.MULTIPLY
SUM, FFT = abi.SUM, constants.FFT_FFT
FLOATS = ["f32", "f64", "bf16", "f16"]


def whole(name, shape, seed):
    """Returns whole numbers from -4 to 4."""
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(DTYPES[name][1])


def wide(array):
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


@dataclass
class Kernel:
    """`call(world, x, w)` gives a tensor, `reference(x, w)` its values; `bits` are lost by rounding inside."""

    name: str
    dtypes: list
    shapes: tuple
    call: Callable
    reference: Callable
    bits: int = 0


def products():
    call = lambda world, x, w: world.make("lxla_matmul", x, w)
    for rows, depth, columns in [(1, 512, 512), (64, 512, 512), (128, 256, 256), (512, 1024, 1024), (256, 64, 10)]:
        name = f"matmul {rows} x {depth} x {columns}"
        yield Kernel(name, FLOATS, ((rows, depth), (depth, columns)), call, np.matmul)
    yield Kernel("matmul of batches", FLOATS + ["s32", "c64"], ((8, 64, 128), (8, 128, 128)), call, np.matmul)

    def of_transpose(world, x, w):
        turned = world.make("lxla_transpose", w, ints([1, 0]), 2)
        product = world.make("lxla_matmul", x, turned)
        release(turned)
        return product

    yield Kernel("matmul with a transpose", FLOATS, ((64, 512), (512, 512)), of_transpose, lambda x, w: x @ w.T)
    vector = lambda world, x, w: world.make("lxla_matmul", w, x)
    yield Kernel("matrix by vector", FLOATS, ((1024,), (1024, 1024)), vector, lambda x, w: w @ x)


def images():
    """Convolution of x[N, C, H, W] with w[O, C, 3, 3], the default layout."""

    def call(world, x, w):
        return world.make("lxla_convolution", x, w, convolution_options(spatial_rank=2))

    def reference(x, w):
        windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), (2, 3))
        return np.einsum("nchwij,ocij->nohw", windows, w, optimize=True)

    yield Kernel("convolution", FLOATS, ((4, 16, 34, 34), (32, 16, 3, 3)), call, reference)


def of_one():
    """Returns operations whose only operand is the weight."""
    total = lambda axis: lambda world, x, w: world.make("lxla_reduce", SUM, w, ints([axis]), 1, 0)
    for axis in (0, 1):
        shapes = ((1,), (1024, 1000))
        yield Kernel(f"sum over axis {axis}", FLOATS, shapes, total(axis), lambda x, w, axis=axis: w.sum(axis))
    sort = lambda world, x, w: world.make("lxla_sort_along", w, -1, 0, 1)
    yield Kernel("sort", FLOATS + ["s32"], ((1,), (64, 2000)), sort, lambda x, w: np.sort(w, -1))
    fft = lambda world, x, w: world.make("lxla_fft", FFT, w, ints([1024]), 1)
    yield Kernel("fft", ["c64", "c128"], ((1,), (32, 1024)), fft, lambda x, w: np.fft.fft(w, axis=-1), bits=6)


def weights(world, name, shape, folder):
    """Yields the same weight with changing values: a description, the tensor and its values."""
    steps = lambda: abi.ok(abi.lib.lxla_mark_step(world.env, world.device, 1))
    values = whole(name, shape, 1)
    make = lambda array: World(world.env, world.device, "anew").put(array)
    w = make(values)
    yield "made", w, values
    for _ in range(2):
        abi.ok(abi.lib.lxla_binary_scalar_inplace(MULTIPLY, w, 2))
        steps()
        values = (wide(values) * 2).astype(values.dtype)
        yield "updated in place by a step", w, values
    for seed in (2, 3):
        release(w)
        values = whole(name, shape, seed)
        w = make(values)
        yield "freed and made again", w, values
    for _ in range(2):
        more = world.make("lxla_binary_scalar", ADD, w, 1)
        release(w)
        w = more
        abi.ok(abi.lib.lxla_sync((Tensor * 1)(w), 1))
        values = (wide(values) + 1).astype(values.dtype)
        yield "computed by a partial sync", w, values
    values = whole(name, shape, 4)
    abi.ok(abi.lib.lxla_tensor_write(w, values.ctypes.data, values.nbytes))
    yield "written", w, values
    if name != "c128":  # safetensors has no c128
        values = whole(name, shape, 5)
        other, path = make(values), os.path.join(folder, "weight").encode()
        abi.ok(abi.lib.lxla_save(path, (c_char_p * 1)(b"w"), (Tensor * 1)(other), 1))
        release(other)
        release(w)
        w = world.make("lxla_load", world.env, world.device, path, b"w")
        yield "loaded", w, values
    release(w)


def check(kernel, name, got, want, how):
    eps = {"bf16": 2.0**-8, "f16": 2.0**-11}.get(name, 2.0**-52 if name in ("f64", "c128") else 2.0**-23)
    exact = name in ("f32", "f64", "s32") or not kernel.bits
    limit = 0 if exact and name not in ("bf16", "f16") else eps * 2**kernel.bits * np.abs(want).max()
    with np.errstate(over="ignore"):
        want = want if name not in ("bf16", "f16") else wide(want.astype(DTYPES[name][1]))
    off = np.abs(np.where(np.isinf(want) & (got == want), 0, got - want))
    if got.shape != want.shape or not (off <= limit).all():
        where = np.unravel_index(np.argmax(off), off.shape) if got.shape == want.shape else ()
        said = f"{got[where]} at {where}, want {want[where]}" if got.shape == want.shape else f"shape {got.shape}"
        return [f"{kernel.name} of {name}, weight {how}: {said}; {int((off > limit).sum())} of {off.size} elements"]
    return []


def main():
    abi.load(sys.argv[1])
    env = abi.new_env()
    world = World(env, abi.xla(), "lazily")
    failures, count = [], 0
    with tempfile.TemporaryDirectory() as folder:
        for kernel in [*products(), *images(), *of_one()]:
            for name in kernel.dtypes:
                of_x, of_w = kernel.shapes
                values = whole(name, of_x, 0)
                x = world.put(values)
                for how, w, array in weights(world, name, of_w, folder):
                    y = kernel.call(world, x, w)
                    got = wide(world.read(y))
                    release(y)
                    failures += check(kernel, name, got, kernel.reference(wide(values), wide(array)), how)
                    count += 1
    print(*failures, sep="\n", end="\n" if failures else "")
    print(f"{count} runs of {abi.counter(env, 'UncachedCompile')} programs, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
