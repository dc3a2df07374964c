"""Floats of 8 bits against ml_dtypes, code by code, lazily and natively:
python dtypes_float8_test.py /path/to/liblazyxla.so"""

import ctypes
import sys
from ctypes import c_int64

import ml_dtypes
import numpy as np

sys.dont_write_bytecode = True  # leaves no caches beside the sources
sys.path.append(sys.path[0] + "/../abi")  # ctypes_test
import ctypes_test as abi
from ctypes_test import Tensor, give, new_env, ok, release
from header import constants
from ops_values import FLOAT8

F32, F64, ADD, MULTIPLY, DIVIDE, SUM = abi.F32, abi.F64, abi.ADD, abi.MULTIPLY, abi.DIVIDE, abi.SUM
NEGATE, MAX, LT = constants.UNARY_NEGATE, constants.REDUCE_MAX, constants.COMPARE_LT


def tensor(env, device, values, dtype):
    values = np.ascontiguousarray(values)
    sizes = (c_int64 * values.ndim)(*values.shape)
    return give(
        abi.lib.lxla_tensor_from_host, Tensor, env, device, dtype, sizes, values.ndim, values.ctypes.data, values.nbytes
    )


def read(t, shape, kind):
    out = np.empty(shape, kind)
    ok(abi.lib.lxla_tensor_read(t, out.ctypes.data, out.nbytes))
    release(t)
    return out


def same(got, want, what):
    """Compares bit for bit, except that any NaN equals any other."""
    wide_got, wide_want = got.astype("float64"), want.astype("float64")
    nans = np.isnan(wide_got) & np.isnan(wide_want)
    differ = (got.view("u%d" % got.itemsize) != want.view("u%d" % want.itemsize)) & ~nans
    assert not differ.any(), f"{what}: {wide_got[differ][:4]} instead of {wide_want[differ][:4]}"


def inputs():
    """Returns all f16 values, their neighbours, and values between codes."""
    halves = np.arange(65536, dtype="u2").view("f2").astype("f4")
    with np.errstate(all="ignore"):
        return np.concatenate(
            [halves, np.nextafter(halves, np.float32(np.inf)), np.nextafter(halves, np.float32(-np.inf))]
        )


def check(env, device, name, number):
    lib, kind = abi.lib, np.dtype(getattr(ml_dtypes, name))
    codes = np.arange(256, dtype="u1").view(kind)
    x, wide = tensor(env, device, codes, number), inputs()
    same(read(give(lib.lxla_convert, Tensor, x, F32), 256, "f4"), codes.astype("f4"), f"{name} to f32")
    same(read(give(lib.lxla_convert, Tensor, x, F64), 256, "f8"), codes.astype("f8"), f"{name} to f64")
    given = tensor(env, device, wide, F32)
    with np.errstate(all="ignore"):
        same(read(give(lib.lxla_convert, Tensor, given, number), wide.shape, kind), wide.astype(kind), f"f32 to {name}")
    release(given)

    rng = np.random.default_rng(1)
    left, right = rng.permutation(codes.repeat(8)), rng.permutation(codes.repeat(8))
    a, b = tensor(env, device, left, number), tensor(env, device, right, number)
    with np.errstate(all="ignore"):
        wide_left, wide_right = left.astype("f4"), right.astype("f4")
        for op, want in (
            (ADD, wide_left + wide_right),
            (MULTIPLY, wide_left * wide_right),
            (DIVIDE, wide_left / wide_right),
        ):
            got = read(give(lib.lxla_binary, Tensor, op, a, b), left.shape, kind)
            # XLA flushes denormal f32 values; only the scale dtype has numbers that small.
            tiny = [(np.abs(of) < np.finfo("f4").tiny) & (of != 0) for of in (wide_left, wide_right, want)]
            keep = ~np.logical_or.reduce(tiny)
            same(got[keep], want.astype(kind)[keep], f"{name}, operation {op}")
        got = read(give(lib.lxla_compare, Tensor, LT, a, b), left.shape, "?")
        assert np.array_equal(got, wide_left < wide_right), f"{name} LT"
        negated = read(give(lib.lxla_unary, Tensor, NEGATE, x), 256, kind)
        same(negated, (-codes.astype("f4")).astype(kind), f"{name} negated")
    small = codes[np.abs(codes.astype("f4")) < 2][:64].reshape(8, -1)
    t = tensor(env, device, small, number)
    total = read(give(lib.lxla_reduce, Tensor, SUM, t, (c_int64 * 1)(1), 1, 0), 8, kind)
    sums = small.astype("f8").sum(1)
    assert (np.abs(total.astype("f8") - sums) <= np.abs(sums) * 2.0**-2).all(), f"{name} sum"
    largest = read(give(lib.lxla_reduce, Tensor, MAX, t, (c_int64 * 2)(0, 1), 2, 0), (), kind)
    assert largest.astype("f4") == small.astype("f4").max(), f"{name} max"
    release(t, a, b, x)


def main():
    abi.load(sys.argv[1])
    env = new_env()
    for device in (abi.xla(), abi.cpu()):
        for name, number in FLOAT8.items():
            check(env, device, name, number)
    a, b = [tensor(env, abi.xla(), np.zeros(2, "u1"), FLOAT8[name]) for name in ("float8_e5m2", "float8_e4m3fn")]
    out = Tensor()
    status = abi.lib.lxla_binary(ADD, a, b, ctypes.byref(out))
    abi.refused(status, abi.INVALID_ARGUMENT, "f8e5m2 and f8e4m3fn do not promote")
    release(a, b, env)
    print("float8: passed")


if __name__ == "__main__":
    main()
