"""Integers of 2 and 4 bits and floats of 4 bits against ml_dtypes, code by code, lazily and natively:
python dtypes_subbyte_test.py /path/to/liblazyxla.so"""

import ctypes
import sys
from ctypes import c_int64

import ml_dtypes
import numpy as np

sys.dont_write_bytecode = True  # leaves no caches beside the sources
sys.path.append(sys.path[0] + "/../abi")  # ctypes_test
import ctypes_test as abi
from ctypes_test import Tensor, give, new_env, ok, release
from dtypes_float8_test import read, tensor
from header import constants
from ops_values import NUMBER, SUBBYTE

LOGICAL, ARITHMETIC = constants.BINARY_SHIFT_RIGHT_LOGICAL, constants.BINARY_SHIFT_RIGHT_ARITHMETIC
SIZES = (0, 1, 7, 16, 33001)
WIDE = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64")


def is_float(kind):
    return kind == np.dtype(ml_dtypes.float4_e2m1fn)


def bits(kind):
    return 4 if is_float(kind) else ml_dtypes.iinfo(kind).bits


def values(kind, codes):
    """Returns the values of codes, as f64."""
    return codes.astype("u1").view(kind).astype("f8")


def wrapped(kind, whole):
    """Returns integers wrapped to the bits of a type, or numbers rounded to it, as f64."""
    if is_float(kind):
        return np.asarray(whole).astype("f4").astype(kind).astype("f8")
    count, signed = bits(kind), ml_dtypes.iinfo(kind).min < 0
    low = np.asarray(whole).astype("i8") & ((1 << count) - 1)
    return (low - ((low >> (count - 1)) << count if signed else 0)).astype("f8")


def same(got, want, what):
    got, want = np.asarray(got).astype("f8"), np.asarray(want).astype("f8")
    assert got.shape == want.shape, f"{what}: {got.shape} instead of {want.shape}"
    differ = (got != want) | (np.signbit(got) != np.signbit(want))
    differ &= ~(np.isnan(got) & np.isnan(want))
    assert not differ.any(), f"{what}: {got[differ][:4]} instead of {want[differ][:4]}"


def saturated(kind, floats):
    """Returns floats converted to a type as wider types convert them."""
    if is_float(kind):
        # ml_dtypes rounds f64 twice. A middle between two values stays one in f32, and what is beside it stays beside.
        near = floats.astype("f4")
        beside = np.where(
            floats > near, np.nextafter(near, np.float32(np.inf)), np.nextafter(near, np.float32(-np.inf))
        )
        return np.where(near == floats, near, beside).astype(kind).astype("f8")
    info = ml_dtypes.iinfo(kind)
    return np.clip(np.trunc(np.nan_to_num(floats, nan=0.0)), int(info.min), int(info.max)) + 0.0


def check_conversions(env, device, name, number, count):
    lib, kind = abi.lib, np.dtype(getattr(ml_dtypes, name))
    rng = np.random.default_rng(count)
    codes = rng.integers(0, 1 << bits(kind), count).astype("u1")
    numbers = values(kind, codes)
    # The bits above the value do not count.
    noise = (rng.integers(0, 16, count) << bits(kind)).astype("u1")
    x = tensor(env, device, codes | noise, number)
    raw = np.empty(count, "u1")
    ok(lib.lxla_tensor_read(x, raw.ctypes.data, raw.nbytes))
    stored = codes.astype("f8") if is_float(kind) else numbers
    same(raw if is_float(kind) or ml_dtypes.iinfo(kind).min == 0 else raw.view("i1"), stored, f"{name} bytes")
    for wide in WIDE:
        want = numbers.astype(wide) if "u" not in wide else numbers.astype("i8").astype(wide)
        if is_float(kind) and "int" in wide:
            want = np.clip(np.trunc(numbers), np.iinfo(wide).min, None).astype(wide)
        same(read(give(lib.lxla_convert, Tensor, x, NUMBER[wide]), count, wide), want, f"{name} to {wide}")
    same(read(give(lib.lxla_convert, Tensor, x, NUMBER["bool"]), count, "?"), numbers != 0, f"{name} to bool")
    release(x)
    for wide, scale in (("int64", 1000), ("int8", 127), ("uint32", 4e9), ("bool", 1)):
        whole = (rng.random(count) * scale).astype("i8").astype(wide)
        given = tensor(env, device, whole, NUMBER[wide])
        want = saturated(kind, whole.astype("f8")) if is_float(kind) else wrapped(kind, whole)
        same(read(give(lib.lxla_convert, Tensor, given, number), count, kind), want, f"{wide} to {name}")
        release(given)
    edges = np.array([np.inf, -np.inf, 0.25, -0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5, -5, 7.9, -8.9, 15.9, 1e-45, -0.0])
    for wide in ("float16", "float32", "float64"):
        with np.errstate(all="ignore"):
            floats = np.resize(np.concatenate([edges, rng.standard_normal(max(count, 1)) * 5]), count).astype(wide)
            floats = np.concatenate([floats, np.nextafter(floats, np.array(9, wide)), np.array([np.nan], wide)])
        want = saturated(kind, floats.astype("f8"))
        given = tensor(env, device, floats, NUMBER[wide])
        same(read(give(lib.lxla_convert, Tensor, given, number), floats.shape, kind), want, f"{wide} to {name}")
        release(given)


def check_arithmetic(env, device, name, number, count):
    lib, kind = abi.lib, np.dtype(getattr(ml_dtypes, name))
    rng, every = np.random.default_rng(count), 1 << bits(kind)
    # All pairs of codes, or some of them.
    left, right = np.divmod(np.resize(np.arange(every * every), count), every)
    a, b = values(kind, left), values(kind, right)
    x, y = (tensor(env, device, codes.astype("u1"), number) for codes in (left, right))
    binary = lambda op: read(give(lib.lxla_binary, Tensor, op, x, y), count, kind)
    for op, function in (("ADD", np.add), ("SUBTRACT", np.subtract), ("MULTIPLY", np.multiply)):
        same(binary(getattr(constants, f"BINARY_{op}")) + 0.0, wrapped(kind, function(a, b)) + 0.0, f"{name} {op}")
    for op, function in (("MAXIMUM", np.maximum), ("MINIMUM", np.minimum)):
        same(abs(binary(getattr(constants, f"BINARY_{op}"))), abs(function(a, b)), f"{name} {op}")
    for op, function in (("LT", np.less), ("GE", np.greater_equal), ("EQ", np.equal)):
        got = read(give(lib.lxla_compare, Tensor, getattr(constants, f"COMPARE_{op}"), x, y), count, "?")
        same(got, function(a, b), f"{name} {op}")
    if not is_float(kind):
        wide, mask = a.astype("i8"), every - 1
        small = right < bits(kind)
        logical = np.where(small, (wide & mask) >> np.where(small, right, 0), 0)
        same(binary(LOGICAL), wrapped(kind, logical), f"{name} logical shift")
        same(binary(ARITHMETIC), wrapped(kind, wide >> np.where(small, right, 8)), f"{name} arithmetic shift")
        same(binary(constants.BINARY_XOR), wrapped(kind, left ^ right), f"{name} xor")
        ones = np.array([bin(code).count("1") for code in left]).reshape(count)
        zeros = np.array([bits(kind) - int(code).bit_length() for code in left]).reshape(count)
        for op, want in (("POPCNT", ones), ("COUNT_LEADING_ZEROS", zeros)):
            got = read(give(lib.lxla_unary, Tensor, getattr(constants, f"UNARY_{op}"), x), count, kind)
            same(got, wrapped(kind, want), f"{name} {op}")
    pick = give(lib.lxla_compare, Tensor, constants.COMPARE_LT, x, y)
    same(read(give(lib.lxla_select, Tensor, pick, x, y), count, kind), np.where(a < b, a, b), f"{name} select")
    release(pick)
    if count > 1:
        order = rng.permutation(count)
        indices = tensor(env, device, order, NUMBER["int64"])
        same(read(give(lib.lxla_take, Tensor, x, indices, 0), count, kind), a[order], f"{name} take")
        got = read(give(lib.lxla_sort_along, Tensor, x, 0, 0, 1), count, kind)
        same(got.astype("f8") + 0.0, np.sort(a) + 0.0, f"{name} sort")
        release(indices)
    for op, function in (("SUM", np.sum), ("MAX", np.max), ("MIN", np.min)):
        if count == 0 and op != "SUM" or is_float(kind) and op == "SUM":
            continue
        got = read(
            give(lib.lxla_reduce, Tensor, getattr(constants, f"REDUCE_{op}"), x, (c_int64 * 1)(0), 1, 0), (), kind
        )
        same(got + 0.0, wrapped(kind, function(a)) + 0.0, f"{name} {op}")
    release(x, y)


def check_bitcasts(env, device, name, number):
    """Bitcasts to and from every type of another width, as StableHLO packs elements: the first in the low bits."""
    lib, kind = abi.lib, np.dtype(getattr(ml_dtypes, name))
    own, rng = bits(kind), np.random.default_rng(3)
    for wide in ("uint8", "int8", "uint16", "float16", "int32", "float32", "uint64"):
        parts = 8 * np.dtype(wide).itemsize // own
        for count in (0, 1, 5, 3000):
            codes = rng.integers(0, 1 << own, (count, parts)).astype("u8")
            words = (codes << (np.arange(parts, dtype="u8") * np.uint64(own))).sum(1, dtype="u8")
            packed = words.astype(f"u{np.dtype(wide).itemsize}").view(wide)
            if packed.dtype.kind == "f":  # XLA may change the bits of a NaN
                packed = np.where(np.isnan(packed), np.array(1, wide), packed)
                again = packed.view(f"u{np.dtype(wide).itemsize}").astype("u8")
                codes = again[:, None] >> (np.arange(parts, dtype="u8") * np.uint64(own)) & np.uint64((1 << own) - 1)
            numbers = values(kind, codes)
            x = tensor(env, device, codes.astype("u1"), number)
            got = read(give(lib.lxla_bitcast_convert, Tensor, x, NUMBER[wide]), count, wide)
            assert np.array_equal(got, packed), f"{name} as {wide}"
            release(x)
            x = tensor(env, device, packed, NUMBER[wide])
            got = read(give(lib.lxla_bitcast_convert, Tensor, x, number), (count, parts), kind)
            same(got, numbers, f"{wide} as {name}")
            release(x)
    for other, to in SUBBYTE.items():
        target = np.dtype(getattr(ml_dtypes, other))
        if bits(target) == own:
            codes = np.arange(1 << own)
            x = tensor(env, device, codes.astype("u1"), number)
            same(read(give(lib.lxla_bitcast_convert, Tensor, x, to), codes.shape, target), values(target, codes), other)
            release(x)
        elif bits(target) < own:
            codes = np.arange(1 << own)
            x = tensor(env, device, codes.astype("u1"), number)
            want = values(target, np.stack([codes & 3, codes >> 2], 1))
            same(read(give(lib.lxla_bitcast_convert, Tensor, x, to), want.shape, target), want, f"{name} as {other}")
            back = tensor(env, device, np.stack([codes & 3, codes >> 2], 1).astype("u1"), to)
            same(
                read(give(lib.lxla_bitcast_convert, Tensor, back, number), codes.shape, kind), values(kind, codes), name
            )
            release(x, back)


def check_products(env, device, name, number):
    lib, kind = abi.lib, np.dtype(getattr(ml_dtypes, name))
    rng = np.random.default_rng(4)
    for m, k, n in ((0, 3, 2), (1, 1, 1), (5, 64, 7), (33, 200, 40)):
        left, right = (rng.integers(0, 1 << bits(kind), shape) for shape in ((m, k), (k, n)))
        a, b = values(kind, left), values(kind, right)
        x, y = (tensor(env, device, codes.astype("u1"), number) for codes in (left, right))
        axes = (None, None, 0, (c_int64 * 1)(1), (c_int64 * 1)(0), 1)
        wide = "float32" if is_float(kind) else "int32"
        product = give(lib.lxla_dot_general, Tensor, x, y, *axes, NUMBER[wide])
        same(read(product, (m, n), wide), a @ b, f"{name} product")
        release(x, y)


def main():
    abi.load(sys.argv[1])
    env = new_env()
    for device in (abi.xla(), abi.cpu()):
        for name, number in SUBBYTE.items():
            for count in SIZES:
                check_conversions(env, device, name, number, count)
                check_arithmetic(env, device, name, number, count)
            check_bitcasts(env, device, name, number)
            check_products(env, device, name, number)
    a, b = [tensor(env, abi.xla(), np.zeros(2, "u1"), number) for number in (SUBBYTE["int4"], NUMBER["int8"])]
    out = Tensor()
    status = abi.lib.lxla_binary(constants.BINARY_ADD, a, b, ctypes.byref(out))
    abi.refused(status, abi.INVALID_ARGUMENT, "s4 and s8 do not promote")
    release(a, b, env)
    print("subbyte: passed")


if __name__ == "__main__":
    main()
