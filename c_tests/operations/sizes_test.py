"""Eager elementwise functions of arrays of all sizes: python sizes_test.py /path/to/liblazyxla.so [function ...]

Small arrays are evaluated without being recorded, operation by operation, or by a function that is kept from an earlier call;
large ones in blocks. Each element of the result must have the same bits whatever the size; NaN, the same place."""

import sys

sys.dont_write_bytecode = True  # leaves no caches beside the sources
sys.path.append(sys.path[0] + "/../abi")  # ctypes_test
import ctypes_test as abi
import numpy as np
from header import family
from ops_cases import World, release
from ops_values import DTYPES

# Large arrays are evaluated in blocks of at most 4,096 elements.
LARGE, BLOCK = 6_000, 4096
# Starts and sizes of parts: parts of a vector register, several registers, more than is evaluated without being recorded
# (beyond the end of a block), and eight elements, twelve times, at the end.
PARTS = [(0, 1), (1, 3), (4, 17), (21, 300), (BLOCK - 515, 1030)] + [
    (start, 8) for start in range(LARGE - 96, LARGE, 8)
]
FUNCTIONS = {"UNARY": ("lxla_unary", 1), "BINARY": ("lxla_binary", 2), "SPECIAL": ("lxla_special", 1)}
FUNCTIONS["ACTIVATION"] = "lxla_activation", 1
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, 6.0, 8.0, 20.0, -1000.0, 1e-38, np.inf, -np.inf, np.nan]


def operand(dtype, random):
    """All special numbers, then numbers of ordinary sizes and random bits in turn."""
    bits = np.frombuffer(random.bytes(LARGE * dtype.itemsize), np.uint8)
    if dtype.kind == "b":
        return (bits & 1).astype(bool)
    made = bits.view(dtype).copy()
    with np.errstate(all="ignore"):
        ordinary = random.uniform(-4, 4, (LARGE + 1) // 2)
        made[::2] = (ordinary * 10 if dtype.kind in "iu" else ordinary).astype(
            np.int64 if dtype.kind in "iu" else dtype
        )
        if dtype.kind not in "iu":
            made[: len(SPECIAL) ** 2] = random.permutation(np.tile(np.array(SPECIAL), len(SPECIAL))).astype(dtype)
    return made


def same(got, want):
    if got.dtype.kind == "c":
        return same(got.real, want.real) & same(got.imag, want.imag)
    bits = [np.ascontiguousarray(each).view(f"u{each.dtype.itemsize}") for each in (got, want)]
    equal = bits[0] == bits[1]
    with np.errstate(invalid="ignore"):
        return equal if got.dtype.kind in "biu" else equal | (np.isnan(got) & np.isnan(want))


def read(tensor):
    number = abi.give(abi.lib.lxla_tensor_dtype, abi.c_int32, tensor)
    dtype = next(dtype for known, dtype in DTYPES.values() if known == number.value)
    rank = abi.give(abi.lib.lxla_tensor_rank, abi.c_size_t, tensor)
    assert rank.value == 1
    size = (abi.c_int64 * 1)()
    abi.ok(abi.lib.lxla_tensor_dims(tensor, size, 1))
    array = np.empty(size[0], dtype)
    abi.ok(abi.lib.lxla_tensor_read(tensor, array.ctypes.data, array.nbytes))
    release(tensor)
    return array


def evaluated(world, call, number, operands):
    tensors = [world.put(array) for array in operands]
    try:
        return read(world.make(call, number, *tensors))
    finally:
        for tensor, _ in world.known.values():
            release(tensor)
        world.known.clear()


def failures(world, call, number, operands, want):
    """Yields the parts of the operands whose results have other bits than in the whole."""
    # Each part more than once: a function is kept when it is called again.
    for start, size in [part for part in PARTS for _ in range(2)]:
        part = slice(start, start + size)
        got = evaluated(world, call, number, [array[part].copy() for array in operands])
        equal = same(got, want[part])
        if got.dtype != want.dtype or not equal.all():
            at = start + int(np.argmin(equal))
            yield f"{size} elements: {got[at - start]!r}, of {LARGE} {want[at]!r}, at {[x[at] for x in operands]!r}"


def main(path, *names):
    abi.load(path)
    world = World(abi.new_env(), abi.cpu(), "cpu")
    compared = wrong = 0
    for prefix, (call, count) in FUNCTIONS.items():
        for name, number in family(prefix).items():
            if names and name not in names:
                continue
            for dtype_name, (_, dtype) in DTYPES.items():
                random = np.random.default_rng(number)
                operands = [operand(dtype, random) for _ in range(count)]
                try:
                    want = evaluated(world, call, number, operands)
                except AssertionError as refused:
                    assert "INVALID_ARGUMENT" in str(refused), refused
                    continue
                compared += 1
                for failure in failures(world, call, number, operands, want):
                    wrong += 1
                    print(f"{prefix} {name} of {dtype_name}: {failure}", flush=True)
    print(f"{compared} functions, {wrong} failures")
    sys.exit(wrong > 0 or compared < (1 if names else 500))


if __name__ == "__main__":
    main(*sys.argv[1:])
