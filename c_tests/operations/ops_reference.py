"""Reference results by NumPy, in more precision than the dtype has, and the distance of a result from them."""

import functools

import numpy as np
from ops_values import DTYPES, NAMES, finfo, kind, real


def wide(array, exact=False):
    """Converts to more precision: 64 bits of mantissa for f64, 53 for less. Exact operations are correctly rounded in
    f64 already."""
    name = NAMES[array.dtype]
    if kind(name) == "float":
        return array.astype(np.longdouble if name == "f64" and not exact else np.float64)
    if kind(name) == "complex":
        return array.astype(np.complex128 if name == "c64" or exact else np.clongdouble)
    return array


def rounded(values, name):
    """Rounds wide values to a dtype once, to nearest, ties to even."""
    dtype = DTYPES[name][1]
    values = np.asarray(values)
    if values.dtype == dtype or kind(name) in ("pred", "signed", "unsigned"):
        return values.astype(dtype)
    if kind(name) == "complex":
        out = np.empty(values.shape, dtype)
        out.real, out.imag = rounded(values.real, real(name)), rounded(values.imag, real(name))
        return out
    with np.errstate(over="ignore"):
        return (odd(values) if name in ("f16", "bf16") else values).astype(dtype)


def odd(values):
    """Converts to f32 towards 0, and sets the last bit where that is inexact, so that a second rounding gives the same
    result as one."""
    with np.errstate(invalid="ignore", over="ignore"):
        near = values.astype(np.float32)
        beyond = np.abs(near).astype(values.dtype) > np.abs(values)
        inexact = near.astype(values.dtype) != values
    bits = near.view(np.uint32) - beyond.astype(np.uint32) | inexact.astype(np.uint32)
    return np.where(np.isfinite(values), bits, near.view(np.uint32)).astype(np.uint32).view(np.float32)


def flushed(array):
    """Replaces denormals by 0, as XLA does."""
    name = NAMES.get(array.dtype)
    if name is None or kind(name) not in ("float", "complex") or name == "f16":
        return array
    if kind(name) == "complex":
        out = np.empty(array.shape, array.dtype)
        out.real, out.imag = flushed(np.ascontiguousarray(array.real)), flushed(np.ascontiguousarray(array.imag))
        return out
    with np.errstate(invalid="ignore"):
        small = np.abs(array) < array.dtype.type(limits(name)[0])
    return np.where(small, np.copysign(np.zeros((), array.dtype), array), array).astype(array.dtype)


def without_denormals(want, name):
    """Replaces values of a wide result by 0 that are denormal in the dtype before they are rounded."""
    if kind(name) == "complex":
        return joined(without_denormals(want.real, real(name)), without_denormals(want.imag, real(name)))
    if kind(name) != "float" or name == "f16":
        return want
    return np.where(np.abs(want) <= limits(name)[0], np.copysign(0, want), want)


def denormal(array):
    """Returns where a number, or a part of a complex number, is denormal."""
    return np.any(
        [(flushed(part) != part) & ~np.isnan(part) for part in map(np.ascontiguousarray, parts(array))], axis=0
    )


def computed_in(x):
    """Returns the dtype in which a wide result is computed: f16 and bf16 as f32."""
    return "f32" if x.dtype == np.float64 else "f64"


@functools.cache
def limits(name):
    """Returns the least normal number, the largest number, and the distance from 1 to the next."""
    info = finfo(DTYPES[real(name)][1])
    return float(info.tiny), float(info.max), float(info.eps)


def unit(size, name):
    """Returns one unit in the last place of numbers of this size."""
    least, most, eps = limits(name)
    with np.errstate(invalid="ignore"):
        _, exponent = np.frexp(np.clip(np.where(np.isnan(size), 1, size), least, most).astype(np.longdouble))
    return np.ldexp(np.longdouble(eps), exponent - 1)


def parts(values):
    return (values.real, values.imag) if values.dtype.kind == "c" else (values,)


def error(got, want, name, scale=None):
    """Returns the distance of each element from the wanted one, in units of the last place (of `scale`, where that is
    larger); infinity where they differ in kind, such as NaN and a number. Complex numbers are measured by their larger
    part."""
    with np.errstate(all="ignore"):
        size = np.max([np.abs(part) for part in parts(want)], axis=0)
        if scale is not None:
            size = np.maximum(size, np.where(np.isfinite(scale), scale, 0))
        worst = np.zeros(want.shape, np.longdouble)
        for g, w in zip(parts(got), parts(want)):
            off = part_error(g.astype(np.longdouble), w.astype(np.longdouble), size, name)
            worst = np.maximum(worst, off)
    return worst


def part_error(got, want, size, name):
    most = np.longdouble(limits(name)[1])
    near = rounded(want, real(name)).astype(np.longdouble)
    same = (np.isnan(got) & np.isnan(near)) | (got == near)
    # Overflowed results count as the next number beyond the largest.
    beyond = lambda x: np.where(np.isinf(x), np.copysign(most + unit(most, name), x), x)
    bad = np.isnan(got) != np.isnan(near)
    bad |= np.isinf(want) & (got != want)
    off = np.abs(beyond(got) - np.where(np.isinf(want), want, beyond(np.clip(want, -2 * most, 2 * most)))) / unit(
        size, name
    )
    return np.where(bad, np.inf, np.where(same, 0, off))


def zeros_differ(got, want):
    """Returns where both are 0 with different signs."""
    differ = np.zeros(want.shape, bool)
    with np.errstate(invalid="ignore"):  # signaling NaN raises it
        for g, w in zip(parts(got), parts(want)):
            differ |= (g == 0) & (w == 0) & (np.signbit(g) != np.signbit(w))
    return differ


# Functions that NumPy lacks, or has only for some numbers.


def whole(function):
    """Applies a rounding function to floats; returns integers unchanged."""
    return lambda x: x if x.dtype.kind in "iu" else function(x)


def log2(x):
    return np.log2(x) if x.dtype.kind != "c" else joined(*(part / np.log(part.dtype.type(2)) for part in parts(log(x))))


def log10(x):
    return (
        np.log10(x) if x.dtype.kind != "c" else joined(*(part / np.log(part.dtype.type(10)) for part in parts(log(x))))
    )


def round_away(x):
    whole = np.floor(np.abs(x))
    return np.copysign(whole + (np.abs(x) - whole >= 0.5), x)


def sign(x):
    if x.dtype.kind != "c":
        return np.where(x == 0, x, np.sign(x)).astype(x.dtype)
    size = np.hypot(x.real, x.imag)
    return joined(np.where(size == 0, 0, x.real / size), np.where(size == 0, 0, x.imag / size))


def joined(re, im):
    out = np.empty(np.broadcast(re, im).shape, np.result_type(re, im, np.complex64))
    out.real, out.imag = re, im
    return out


def expm1(x):
    if x.dtype.kind != "c":
        return np.expm1(x)
    power = np.exp(x)
    re = np.expm1(x.real) * np.cos(x.imag) - 2 * np.sin(x.imag / 2) ** 2
    # Beyond 50 the 1 is lost; for infinities and NaN the exponential function decides.
    is_far = (x.real > 50) | ~np.isfinite(x.real) | ~np.isfinite(x.imag)
    return joined(np.where(is_far, power.real - 1, re), power.imag)


def log(x):
    if x.dtype.kind != "c":
        return np.log(x)
    large, small = np.maximum(np.abs(x.real), np.abs(x.imag)), np.minimum(np.abs(x.real), np.abs(x.imag))
    near = (large > 0.5) & (large < 2) & (small < 1)
    re = np.where(near, np.log1p((large - 1) * (large + 1) + small * small) / 2, np.log(np.hypot(x.real, x.imag)))
    return joined(re, np.arctan2(x.imag, x.real))


def log1p(x):
    if x.dtype.kind != "c":
        return np.log1p(x)
    near = (np.abs(x.real) < 0.5) & (np.abs(x.imag) < 0.5)
    re = np.where(near, np.log1p(x.real * (2 + x.real) + x.imag * x.imag) / 2, np.log(np.hypot(1 + x.real, x.imag)))
    return joined(re, np.arctan2(x.imag, 1 + x.real))


def logistic(x):
    if x.dtype.kind != "c":
        return 1 / (1 + np.exp(-x))
    # Near its poles uses the hyperbolic tangent, which loses no precision there.
    power = np.exp(x)
    # A quotient that underflows to 0 may have either sign.
    far = np.where(x.real < -1000, power, power / (1 + power))
    near = (1 + np.tanh(x / 2)) / 2
    is_near, is_end = x.real > -1, np.isinf(x.real)
    re, im = np.where(is_near, near.real, far.real), np.where(is_near, np.tanh(x / 2).imag / 2, far.imag)
    return joined(
        np.where(is_end, x.real > 0, re), np.where((x.imag == 0) & ~np.isnan(x.real), x.imag, np.where(is_end, 0, im))
    )


def rsqrt(x):
    """Returns 1 / sqrt(x), which is 0 at infinity. Conjugates have conjugate results, also real ones, unlike NumPy's
    quotient."""
    made = 1 / np.sqrt(x)
    if x.dtype.kind == "c":
        infinite = np.isinf(x.real) | np.isinf(x.imag)
        is_real = infinite | (made.imag == 0)
        made = joined(np.where(infinite, 0, np.abs(made.real)), np.where(is_real, -np.copysign(0, x.imag), made.imag))
    return made


def popcnt(x):
    # NumPy has bitwise_count since 2.0, and the kit for accelerators runs beside older ones.
    return np.unpackbits(x[..., np.newaxis].view(np.uint8), axis=-1).sum(axis=-1).astype(x.dtype)


def leading_zeros(x):
    bits, left = 8 * x.dtype.itemsize, x.view(x.dtype.str.replace("i", "u")).copy()
    count = np.full(x.shape, bits, x.dtype)
    for _ in range(bits):
        count -= (left != 0).astype(x.dtype)
        left >>= 1
    return count


def divide(a, b):
    """Divides integers towards 0; division by 0 gives all ones."""
    if a.dtype.kind in "fc":
        return a / b
    return np.where(b == 0, ~a.dtype.type(0), truncated(a, b)).astype(a.dtype)


def truncated(a, b):
    safe = np.where(b == 0, 1, b).astype(a.dtype)
    quotient = a // safe
    return (quotient + ((quotient < 0) & (quotient * safe != a))).astype(a.dtype)


def remainder(a, b):
    """Returns the remainder of division towards 0; division by 0 gives the dividend."""
    return np.fmod(a, b) if a.dtype.kind == "f" else np.where(b == 0, a, a - truncated(a, b) * b).astype(a.dtype)


def power(a, b):
    if a.dtype.kind in "fc":
        # Broadcasts the exponents: for a single exponent NumPy uses another algorithm, with another result at
        # -infinity.
        a, b = (np.array(x) for x in np.broadcast_arrays(a, b))
        found = np.power(a, b)
        # NumPy before 2.0 has NaN for complex exponents of 0.
        return np.where((a == 0) & (b.real > 0), found.dtype.type(0), found) if a.dtype.kind == "c" else found
    a, b = np.broadcast_arrays(a, b)
    result, square, left = np.ones(a.shape, a.dtype), a.copy(), np.where(b < 0, 0, b).astype(b.dtype)
    for _ in range(8 * a.dtype.itemsize):
        result = np.where(left & 1, result * square, result)
        square, left = square * square, left >> 1
    inverse = np.where(a == 1, 1, np.where((a == -1) if a.dtype.kind == "i" else False, 1 - 2 * (b & 1), 0))
    return np.where(b < 0, inverse, result).astype(a.dtype)


def power_scale(a, b):
    """Returns the scale of errors of powers: for complex numbers the power times the exponential's argument, where that
    is more than 1. c64 is computed in c128, so its errors are relative to the power."""
    if np.result_type(a, b) != np.clongdouble:
        return np.zeros(np.broadcast(a, b).shape)
    found = np.abs(power(a, b)) * np.maximum(np.abs(b * np.log(a)), 1)
    return np.where(np.isfinite(found), found, 0)


def maximum(a, b):
    """Returns the maximum, where NaN wins, and of two zeros the positive one."""
    result = np.maximum(a, b)
    return np.where((a == 0) & (b == 0), np.where(np.signbit(a), b, a), result) if a.dtype.kind == "f" else result


def minimum(a, b):
    result = np.minimum(a, b)
    return np.where((a == 0) & (b == 0), np.where(np.signbit(a), a, b), result) if a.dtype.kind == "f" else result


def shift(a, b, how):
    """Shifts, also by more than the width, which leaves only the sign of an arithmetic shift, else 0."""
    bits = 8 * a.dtype.itemsize
    signed, unsigned = np.dtype(f"i{a.dtype.itemsize}"), np.dtype(f"u{a.dtype.itemsize}")
    by = b.view(unsigned) if b.dtype.kind == "i" else b
    far, by = by >= bits, np.minimum(by, bits - 1)
    if how == "arithmetic":
        return (a.view(signed) >> by.view(signed)).view(a.dtype)
    moved = a.view(unsigned) << by if how == "left" else a.view(unsigned) >> by
    return np.where(far, 0, moved).astype(unsigned).view(a.dtype)


def convert(x, name):
    """Converts to another dtype: floats towards 0, to the nearest integer beyond the range, and NaN to 0."""
    target = kind(name)
    if name == "pred":
        return x != 0
    if x.dtype.kind == "c" and target != "complex":
        x = x.real
    if target in ("float", "complex"):
        if target == "complex" and x.dtype.kind != "c":
            x = joined(x.astype(np.longdouble), np.zeros(x.shape, np.longdouble))
        return x.astype(np.longdouble) if x.dtype.kind in "biu" else x
    if x.dtype.kind in "biu":
        return x.astype(DTYPES[name][1])
    info = np.iinfo(DTYPES[name][1])
    whole = np.trunc(np.where(np.isnan(x), 0, x)).astype(np.longdouble)
    inside = np.clip(whole, info.min, info.max).astype(object)
    return np.array([min(max(int(v), info.min), info.max) for v in inside.ravel()], DTYPES[name][1]).reshape(x.shape)
