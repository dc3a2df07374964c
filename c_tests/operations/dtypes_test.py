"""Limits and promotions of all dtypes against NumPy, ml_dtypes and JAX's lattice: python dtypes_test.py /path/to/liblazyxla.so"""

import ctypes
import sys
from ctypes import byref, c_int32, c_size_t

sys.dont_write_bytecode = True  # leaves no caches beside the sources
sys.path.append(sys.path[0] + "/../abi")  # ctypes_test
import ctypes_test as abi
import ml_dtypes
import numpy as np
from header import constants, types
from ops_values import DTYPES, FLOAT8

ALL = {name: number for name, (number, _) in DTYPES.items()} | FLOAT8
NUMPY = {number: dtype for number, dtype in DTYPES.values()}
NUMPY |= {number: np.dtype(getattr(ml_dtypes, name)) for name, number in FLOAT8.items()}

# The type lattice of jax.dtypes (jax/_src/dtypes.py), with its weak types i*, f* and c* as intermediate nodes.
LATTICE = {
    "pred": ["i*"],
    "i*": ["u8", "s8"],
    "u8": ["s16", "u16"],
    "u16": ["s32", "u32"],
    "u32": ["s64", "u64"],
    "u64": ["f*"],
    "s8": ["s16"],
    "s16": ["s32"],
    "s32": ["s64"],
    "s64": ["f*"],
    "f*": [*FLOAT8, "bf16", "f16", "c*"],
    "bf16": ["f32"],
    "f16": ["f32"],
    "f32": ["f64", "c64"],
    "f64": ["c128"],
    "c*": ["c64"],
    "c64": ["c128"],
}


def above(name):
    found = {name}
    for parent in LATTICE.get(name, []):
        found |= above(parent)
    return found


def join(a, b):
    """Returns the least upper bound; f64 where it is the weak float, None where there is none."""
    bounds = above(a) & above(b)
    least = [bound for bound in bounds if bounds <= above(bound)]
    return {"f*": "f64"}.get(least[0], least[0]) if least else None


def promotions():
    for a, number_a in ALL.items():
        for b, number_b in ALL.items():
            out, flag = c_int32(), c_int32()
            status = abi.lib.lxla_dtype_promote(number_a, number_b, byref(out))
            wanted = join(a, b)
            assert (status == abi.OK) == (wanted is not None), f"{a}, {b}: status {status}, want {wanted}"
            assert wanted is None or out.value == ALL[wanted], f"{a}, {b}: {out.value}, want {wanted}"
            abi.ok(abi.lib.lxla_dtype_can_cast(number_a, number_b, byref(flag)))
            assert flag.value == (wanted == b), f"{a} to {b}: {flag.value}"


def limits():
    for number, dtype in NUMPY.items():
        size = abi.give(abi.lib.lxla_dtype_size, c_size_t, number).value
        got = types.lxla_dtype_limits(struct_size=ctypes.sizeof(types.lxla_dtype_limits))
        assert size == dtype.itemsize, f"{dtype}: {size} bytes"
        abi.ok(abi.lib.lxla_dtype_info(number, byref(got)))
        if dtype.kind in "iu":
            info = np.iinfo(dtype)
            sign = constants.KIND_SIGNED if dtype.kind == "i" else constants.KIND_UNSIGNED
            assert (got.kind, got.bits) == (sign, info.bits), dtype
            assert (got.integer_min, got.integer_max) == (info.min, info.max), dtype
            assert (got.min, got.max) == (float(info.min), float(info.max)), dtype
            continue
        if dtype == bool:
            assert (got.kind, got.integer_min, got.integer_max) == (1, 0, 1)
            continue
        info = ml_dtypes.finfo(dtype) if dtype.kind != "c" else np.finfo(dtype)
        assert got.kind == (constants.KIND_COMPLEX if dtype.kind == "c" else constants.KIND_FLOAT), dtype
        assert got.bits == info.bits, dtype
        for name in ("eps", "min", "max", "smallest_normal", "smallest_subnormal"):
            assert getattr(got, name) == float(getattr(info, name)), f"{dtype}: {name} is {getattr(got, name)}"
        wanted = (info.nmant, info.nexp, info.precision)
        assert (got.mantissa_bits, got.exponent_bits, got.digits) == wanted, f"{dtype}: {wanted}"
        codes = np.arange(256, dtype=np.uint8).view(dtype) if size == 1 else np.array([np.inf, np.nan, -0.0], info.dtype)
        codes = codes.astype(np.float64)
        has = (np.isinf(codes).any(), np.isnan(codes).any(), ((codes == 0) & np.signbit(codes)).any())
        assert (got.has_infinity, got.has_nan, got.has_negative_zero) == has, f"{dtype}: {has}"


def main():
    abi.load(sys.argv[1])
    promotions()
    limits()
    print(f"{len(ALL)} dtypes")


if __name__ == "__main__":
    main()
