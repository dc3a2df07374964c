"""Computes the error function exactly to the last bit: by its series, in integers that are fractions of a power of
2."""

import functools
import math

import numpy as np


@functools.cache
def pi(bits):
    """Returns pi, by Machin's formula."""

    def arctangent(inverse):
        term, total, n = (1 << bits) // inverse, 0, 1
        while term:
            total += term // n if n % 4 == 1 else -(term // n)
            term, n = term // (inverse * inverse), n + 2
        return total

    return 4 * (4 * arctangent(5) - arctangent(239))


def series(square, bits):
    """Returns erf of the square root of `square`, a fraction (n, d)."""
    numerator, denominator = square
    term, total, n = 1 << bits, 0, 0
    while term:
        total += term // (2 * n + 1) if n % 2 == 0 else -(term // (2 * n + 1))
        n += 1
        term = term * numerator // (denominator * n)
    # Multiplies by the root and by 2 / sqrt(pi).
    return total * math.isqrt(4 * numerator * (1 << 3 * bits) // (denominator * pi(bits))) >> bits


def as_longdouble(value, bits):
    """Rounds a fraction of 2 ** bits to 64 bits of mantissa."""
    shift = max(value.bit_length() - 64, 0)
    return np.ldexp(np.longdouble(value >> shift), shift - bits)


def enough(square):
    """Returns the bits needed for terms as large as e^square and a sum as small as e^-square. Rounded up, so that few
    values of pi are computed."""
    return 128 * (2 + int(3 * square) // 128)


@functools.cache
def complement(x, halved=False):
    """Returns erfc of `x`; with `halved`, of x / sqrt(2)."""
    n, d = abs(x).as_integer_ratio()
    square = (n * n, d * d * (2 if halved else 1))
    bits = enough(square[0] / square[1])
    value = (1 << bits) - series(square, bits)
    return as_longdouble(value if x >= 0 else (2 << bits) - value, bits)


@functools.cache
def near(x):
    """Returns erf of a number below 1; of tiny numbers, whose squares would need too many bits, by the series' first
    term."""
    if abs(x) < 1e-10:
        return np.longdouble(x) * 2 / np.sqrt(np.arctan(np.longdouble(1)) * 4)
    n, d = abs(x).as_integer_ratio()
    return np.copysign(as_longdouble(series((n * n, d * d), 256), 256), x)


def each(function, x, end):
    """Applies a function to every element; elements beyond `end` on either side are replaced by it."""
    found = [np.longdouble(v) if np.isnan(v) else function(float(min(max(v, -end), end))) for v in x.ravel()]
    return np.array(found, np.longdouble).reshape(x.shape)


def with_shortcut(exact, quick):
    """Wraps a function: f32 and narrower dtypes are compared with the C library's, which is off by one unit of f64."""
    return lambda x: exact(x) if x.dtype == np.longdouble else np.vectorize(quick, otypes=[np.float64])(x)


def exact_erfc(x):
    """Returns erfc; beyond 28 the result is less than any float, and 0."""
    return np.where(x > 28, 0, each(complement, x, 28))


def exact_erf(x):
    """Returns erf; small numbers by its series, as the complement would lose them beside 1."""
    inside = np.abs(x) < 1
    return np.where(inside, each(near, np.where(inside, x, 0), 1), 1 - exact_erfc(x))


def exact_normal_below(x):
    """Returns the probability that a normal variable is below x."""
    return np.where(x < -39, 0, each(lambda v: complement(-v, True) / 2, x, 39))


erfc = with_shortcut(exact_erfc, math.erfc)
erf = with_shortcut(exact_erf, math.erf)
normal_below = with_shortcut(exact_normal_below, lambda x: math.erfc(-x / math.sqrt(2)) / 2)
