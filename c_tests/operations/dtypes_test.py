"""Limits and promotions of all dtypes against NumPy, ml_dtypes and JAX's lattice; casts of scalars against lxla_convert
and NumPy: python dtypes_test.py /path/to/liblazyxla.so"""

import ctypes
import sys
from ctypes import byref, c_int32, c_size_t

sys.dont_write_bytecode = True  # leaves no caches beside the sources
sys.path.append(sys.path[0] + "/../abi")  # ctypes_test
import ctypes_test as abi
import ml_dtypes
import numpy as np
from header import constants, types
from ops_values import DTYPES, FLOAT8, SUBBYTE, special

ALL = {name: number for name, (number, _) in DTYPES.items()} | FLOAT8
NUMPY = {number: dtype for number, dtype in DTYPES.values()}
NUMPY |= {number: np.dtype(getattr(ml_dtypes, name)) for name, number in FLOAT8.items()}

# The type lattice of jax.dtypes (jax/_src/dtypes.py), with its weak types i*, f* and c* as intermediate nodes.
LATTICE = {
    "pred": ["i*", *SUBBYTE],
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
    for a, number_a in (ALL | SUBBYTE).items():
        for b, number_b in (ALL | SUBBYTE).items():
            out, flag = c_int32(), c_int32()
            status = abi.lib.lxla_dtype_promote(number_a, number_b, byref(out))
            wanted = join(a, b)
            assert (status == abi.OK) == (wanted is not None), f"{a}, {b}: status {status}, want {wanted}"
            assert wanted is None or out.value == (ALL | SUBBYTE)[wanted], f"{a}, {b}: {out.value}, want {wanted}"
            abi.ok(abi.lib.lxla_dtype_can_cast(number_a, number_b, byref(flag)))
            assert flag.value == (wanted == b), f"{a} to {b}: {flag.value}"


def limits():
    subbyte = {number: np.dtype(getattr(ml_dtypes, name)) for name, number in SUBBYTE.items()}
    for number, dtype in (NUMPY | subbyte).items():
        size = abi.give(abi.lib.lxla_dtype_size, c_size_t, number).value
        got = types.lxla_dtype_limits(struct_size=ctypes.sizeof(types.lxla_dtype_limits))
        assert size == dtype.itemsize, f"{dtype}: {size} bytes"
        abi.ok(abi.lib.lxla_dtype_info(number, byref(got)))
        if dtype.kind in "iu" or "int" in dtype.name:
            info = ml_dtypes.iinfo(dtype)
            sign = constants.KIND_UNSIGNED if info.min == 0 else constants.KIND_SIGNED
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
        # ml_dtypes counts no digit for 4 bits.
        wanted = (info.nmant, info.nexp, info.precision or 1)
        assert (got.mantissa_bits, got.exponent_bits, got.digits) == wanted, f"{dtype}: {wanted}"
        codes = (
            np.arange(1 << info.bits, dtype=np.uint8).view(dtype)
            if size == 1
            else np.array([np.inf, np.nan, -0.0], info.dtype)
        )
        codes = codes.astype(np.float64)
        has = (np.isinf(codes).any(), np.isnan(codes).any(), ((codes == 0) & np.signbit(codes)).any())
        assert (got.has_infinity, got.has_nan, got.has_negative_zero) == has, f"{dtype}: {has}"


def member(dtype):
    """Returns the member of lxla_scalar_value that holds values of a dtype."""
    return {"b": "u", "u": "u", "i": "i", "c": "c"}.get(dtype.kind, "f")


def scalar(number, value):
    dtype = NUMPY[number]
    if dtype.kind == "c":
        return abi.Scalar(dtype=number, value=abi.ScalarValue(c=(ctypes.c_double * 2)(value.real, value.imag)))
    of = float if member(dtype) == "f" else int
    return abi.Scalar(dtype=number, value=abi.ScalarValue(**{member(dtype): of(value)}))


def value_of(given):
    """Returns the value of a scalar in NumPy's dtype. The scalar must hold a value that the dtype represents."""
    dtype, value = NUMPY[given.dtype], getattr(given.value, member(NUMPY[given.dtype]))
    with np.errstate(over="ignore", invalid="ignore"):
        made = np.array(complex(*value) if dtype.kind == "c" else value).astype(dtype)
    back = made.astype(np.complex128 if dtype.kind == "c" else np.float64) if dtype.kind not in "iub" else made
    wanted = complex(*value) if dtype.kind == "c" else value
    assert np.array_equal(back, np.array(wanted), equal_nan=True), f"{dtype}: {value}"
    return made


def same(a, b):
    """Whether two arrays of one dtype have equal bits, where they are not both NaN."""
    if a.dtype.kind in "iub":
        return np.array_equal(a, b)
    parts = (lambda x: x.view(np.empty(0, x.dtype).real.dtype)) if a.dtype.kind == "c" else (lambda x: x)
    a, b = (parts(np.ascontiguousarray(x)).ravel().astype(np.float64) for x in (a, b))
    return np.array_equal(a, b, equal_nan=True) and np.array_equal(np.signbit(a[a == a]), np.signbit(b[b == b]))


def values(name):
    dtype = NUMPY[ALL[name]]
    if name in FLOAT8:
        return np.arange(256, dtype=np.uint8).view(dtype)
    if dtype == bool:
        return np.array([False, True])
    rng = np.random.default_rng(7)
    wide = rng.integers(0, 256, 16 * dtype.itemsize, dtype=np.uint8).view(dtype)
    if dtype.kind == "i" or dtype.kind == "u":
        return np.concatenate([special(name), wide])
    with np.errstate(over="ignore", invalid="ignore"):
        near = np.array(
            [
                127.9,
                -128.9,
                255.5,
                256,
                65519.9,
                65520,
                2**31 - 0.5,
                2.0**31,
                2.0**63,
                2.0**64,
                1e300,
                1 + 2**-11 + 2**-40,
                448,
                464.5,
            ]
        ).astype(dtype)
    return np.concatenate([special(name), wide, near, -near])


def numpys(x, dtype):
    """Returns NumPy's result and where it is defined: not for floats that an integer cannot hold."""
    with np.errstate(all="ignore"):
        real = x.real if x.dtype.kind == "c" and dtype.kind not in "cb" else x
        made = (real != 0) if dtype == bool else real.astype(dtype)
    if dtype.kind in "iu" and real.dtype.kind not in "iub":
        info, wide = np.iinfo(dtype), np.trunc(real.astype(np.float64))
        return made, (wide >= float(info.min)) & (wide <= float(info.max)) & (np.abs(wide) < 2.0**63)
    return made, np.ones(x.shape, bool)


def casts():
    env, count = abi.new_env(), 0
    for name, number in ALL.items():
        x = values(name)
        sizes = (ctypes.c_int64 * 1)(len(x))
        tensor = abi.give(
            abi.lib.lxla_tensor_from_host, abi.Tensor, env, abi.cpu(), number, sizes, 1, x.ctypes.data, x.nbytes
        )
        for to, wanted in ALL.items():
            got = []
            for value in x:
                out = abi.Scalar()
                abi.ok(abi.lib.lxla_scalar_cast(byref(scalar(number, value)), wanted, byref(out)))
                assert out.dtype == wanted and out.reserved == 0
                got.append(value_of(out))
            got = np.array(got, NUMPY[wanted])
            converted = abi.give(abi.lib.lxla_convert, abi.Tensor, tensor, wanted)
            native = np.empty(len(x), NUMPY[wanted])
            abi.ok(abi.lib.lxla_tensor_read(converted, native.ctypes.data, native.nbytes))
            assert same(got, native), f"{name} to {to}: {got} where lxla_convert has {native}"
            # ml_dtypes rounds numbers to its 8-bit floats through other types.
            if to not in FLOAT8:
                made, defined = numpys(x, NUMPY[wanted])
                assert same(got[defined], made[defined]), f"{name} to {to}: {got} where NumPy has {made} of {x}"
            abi.release(converted)
            count += len(x)
        abi.release(tensor)
    abi.release(env)
    return count


def main():
    abi.load(sys.argv[1])
    promotions()
    limits()
    print(f"{len(ALL)} dtypes, {casts()} casts")


if __name__ == "__main__":
    main()
