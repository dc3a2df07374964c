"""NumPy's elementwise functions beside the standard's, made of other functions."""

from __future__ import annotations

import builtins
import math
from typing import Any

from . import _constants as c
from . import _core
from ._core import Array
from ._elementwise import (
    abs,
    atan2,
    copysign,
    floor_divide,
    imag,
    isinf,
    isnan,
    logaddexp,
    maximum,
    minimum,
    pow,
    real,
    remainder,
    round,
    signbit,
    sin,
    trunc,
    where,
)
from ._operands import INTEGERS, in_floats, operands, real_floats
from ._sizes import DTypeLike

# Angles.


def angle(z: Array, /, deg: bool = False) -> Array:
    """Returns the angles of complex numbers from the positive real axis, in radians or with ``deg`` in degrees.

    >>> import lazyxla as lx
    >>> lx.angle(lx.asarray([1.0, -1.0, 2j]), deg=True).tolist()
    [0.0, 180.0, 90.0]
    """
    z = in_floats(z)
    re = real(z)
    im = imag(z) if z.dtype.kind == "complex floating" else 0 * where(isnan(re), re, 0)
    found: Array = atan2(im, re)
    return rad2deg(found) if deg else found


def deg2rad(x: Array, /) -> Array:
    """Returns degrees as radians.

    >>> import lazyxla as lx
    >>> lx.deg2rad(lx.asarray([0.0, 180.0])).tolist() == [0.0, lx.asarray(lx.pi).item()]
    True
    """
    return in_floats(x) * (math.pi / 180)


def rad2deg(x: Array, /) -> Array:
    """Returns radians as degrees.

    >>> import lazyxla as lx
    >>> lx.rad2deg(lx.asarray([0.0, lx.pi])).tolist()
    [0.0, 180.0]
    """
    return in_floats(x) * (180 / math.pi)


def unwrap(p: Array, /, discont: float | None = None, axis: int = -1, *, period: float = 2 * math.pi) -> Array:
    """Returns angles along an axis, with multiples of the period added to those that differ from the one before by more
    than ``discont``, by default half a period.

    >>> import lazyxla as lx
    >>> lx.unwrap(lx.asarray([0, 1, 2, -1, 0]), period=4).tolist()
    [0, 1, 2, 3, 4]
    """
    from ._reductions import cumulative_sum
    from ._shapes import moveaxis

    is_whole = p.dtype.kind in INTEGERS and isinstance(period, int)
    last = moveaxis(p if is_whole else in_floats(p), axis, -1)
    if last.shape[-1] == 0:
        return moveaxis(last, -1, axis)
    steps = last[..., 1:] - last[..., :-1]
    half: Any = period // 2 if is_whole else period / 2
    is_even = not is_whole or period % 2 == 0
    moved = remainder(steps + half, period) - half
    if is_even:
        moved = where((moved == -half) & (steps > 0), half, moved)
    change = where(abs(steps) < builtins.max(half, discont or 0), 0, moved - steps)
    found = _core.join([last[..., :1], last[..., 1:] + cumulative_sum(change, -1)], last.ndim - 1, False)
    return moveaxis(found, -1, axis)


# Powers, logarithms and parts of numbers.


def cbrt(x: Array, /) -> Array:
    """Returns cube roots of real numbers; of negative ones, too.

    >>> import lazyxla as lx
    >>> lx.cbrt(lx.asarray([-8.0, 27.0])).tolist()
    [-2.0, 3.0]
    """
    (x,) = real_floats("cbrt", x)
    return _core.unary(c.UNARY_CBRT, x)


def exp2(x: Array, /) -> Array:
    """Returns 2^x.

    >>> import lazyxla as lx
    >>> lx.exp2(lx.asarray([-1.0, 3.0])).tolist()
    [0.5, 8.0]
    """
    found: Array = pow(2.0, in_floats(x))
    return found


def logaddexp2(x1: Any, x2: Any, /) -> Array:
    """Returns log2(2^x1 + 2^x2).

    >>> import lazyxla as lx
    >>> lx.logaddexp2(lx.asarray(3.0), lx.asarray(3.0)).item()
    4.0
    """
    x1, x2 = real_floats("logaddexp2", x1, x2)
    found: Array = logaddexp(x1 * math.log(2), x2 * math.log(2)) / math.log(2)
    return found


def float_power(x1: Any, x2: Any, /) -> Array:
    """Returns x1 raised to x2 in float64 or complex128.

    >>> import lazyxla as lx
    >>> lx.float_power(lx.asarray([2, 3]), -1).dtype.name
    'float64'
    """
    x1, x2 = operands("float_power", x1, x2)
    wide = _core.complex128 if x1.dtype.kind == "complex floating" else _core.float64
    found: Array = pow(x1.astype(wide, copy=False), x2.astype(wide, copy=False))
    return found


def modf(x: Array, /) -> tuple[Array, Array]:
    """Returns the fractional and the integral parts of numbers, both with their signs.

    >>> import lazyxla as lx
    >>> [each.tolist() for each in lx.modf(lx.asarray([1.5, -2.25]))]
    [[0.5, -0.25], [1.0, -2.0]]
    """
    (x,) = real_floats("modf", x)
    whole = trunc(x)
    # With the sign of x, and a slope of 1 at whole numbers, too.
    part = where(signbit(x), -(trunc(x) - x), x - whole)
    return where(isinf(x), copysign(0.0, x), part), whole


def sinc(x: Array, /) -> Array:
    """Returns sin(pi x) / (pi x), which is 1 at 0.

    >>> import lazyxla as lx
    >>> lx.sinc(lx.asarray([0.0, 0.5])).tolist()[0]
    1.0
    """
    y = in_floats(x) * math.pi
    is_small = abs(y) < 0.03125
    far = where(is_small, 1.0, y)
    # The series near 0 has derivatives of any order there, as the quotient has not.
    square = where(is_small, y, 0.0) ** 2
    near = 1 - square / 6 * (1 - square / 20 * (1 - square / 42 * (1 - square / 72)))
    return where(is_small, near, sin(far) / far)


# Rounding and remainders.


def rint(x: Array, /) -> Array:
    """Returns x rounded to integers, halves to even ones; integers as float32.

    >>> import lazyxla as lx
    >>> lx.rint(lx.asarray([0.5, 1.5, -1.2])).tolist()
    [0.0, 2.0, -1.0]
    """
    return round(in_floats(x))


def fix(x: Array, /) -> Array:
    """Returns x rounded toward 0.

    >>> import lazyxla as lx
    >>> lx.fix(lx.asarray([1.7, -1.7])).tolist()
    [1.0, -1.0]
    """
    found: Array = trunc(x)
    return found


def fmod(x1: Any, x2: Any, /) -> Array:
    """Returns the remainder of x1 / x2 with the sign of x1, as C's fmod; ``remainder`` has that of x2.

    >>> import lazyxla as lx
    >>> lx.fmod(lx.asarray([5, -5]), 3).tolist()
    [2, -2]
    """
    x1, x2 = operands("fmod", x1, x2)
    if x1.dtype.kind == "complex floating" or x1.dtype == _core.bool:
        raise TypeError(f"fmod() takes real numbers, not {x1.dtype.name}")
    found = _core.binary(c.BINARY_REMAINDER, x1, x2, False, False)
    return where(x2 == 0, 0, found) if x1.dtype.kind in INTEGERS else found


def divmod(x1: Any, x2: Any, /) -> tuple[Array, Array]:
    """Returns floor(x1 / x2) and the remainder, with the sign of x2.

    >>> import lazyxla as lx
    >>> [each.tolist() for each in lx.divmod(lx.asarray([7, -7]), 3)]
    [[2, -3], [1, 2]]
    """
    return floor_divide(x1, x2), remainder(x1, x2)


def gcd(x1: Any, x2: Any, /) -> Array:
    """Returns the greatest common divisors of integers, not negative; that of 0 and 0 is 0.

    >>> import lazyxla as lx
    >>> lx.gcd(lx.asarray([12, 18, 0]), lx.asarray([18, -12, 5])).tolist()
    [6, 6, 5]
    """
    from ._loops import while_loop
    from ._reductions import any
    from ._shapes import broadcast_arrays

    a, b = broadcast_arrays(*_integers("gcd", x1, x2))
    if a.size == 0:
        return a.copy()

    def step(pair: tuple[Array, Array]) -> tuple[Array, Array]:
        a, b = pair
        is_done = b == 0
        return where(is_done, a, b), where(
            is_done, 0, _core.binary(c.BINARY_REMAINDER, a, where(is_done, 1, b), False, False)
        )

    found: Array = while_loop(lambda pair: any(pair[1] != 0), step, (a, b))[0]
    return found if found.dtype.kind == "unsigned integer" else abs(found)


def lcm(x1: Any, x2: Any, /) -> Array:
    """Returns the lowest common multiples of integers, not negative; 0 where one of them is 0.

    >>> import lazyxla as lx
    >>> lx.lcm(lx.asarray([4, 0]), lx.asarray([6, 5])).tolist()
    [12, 0]
    """
    a, b = _integers("lcm", x1, x2)
    of = gcd(a, b)
    found = a // where(of == 0, 1, of) * b
    return found if found.dtype.kind == "unsigned integer" else abs(found)


def _integers(of: str, x1: Any, x2: Any) -> list[Array]:
    both = operands(of, x1, x2)
    if both[0].dtype.kind not in INTEGERS:
        raise TypeError(f"{of}() takes integers, not {both[0].dtype.name}")
    return both


def bitwise_count(x: Array, /) -> Array:
    """Returns the numbers of ones among the binary digits of the absolute values of integers, as ``uint8``.

    >>> import lazyxla as lx
    >>> lx.bitwise_count(lx.asarray([7, -2])).tolist()
    [3, 1]
    """
    if x.dtype.kind not in INTEGERS:
        raise TypeError(f"bitwise_count() takes integers, not {x.dtype.name}")
    return _core.unary(c.UNARY_POPCNT, abs(x) if x.dtype.kind == "signed integer" else x).astype(_core.uint8)


# Choices of elements.


def fabs(x: Array, /) -> Array:
    """Returns absolute values as floats; integers as float32.

    >>> import lazyxla as lx
    >>> lx.fabs(lx.asarray([-2])).tolist()
    [2.0]
    """
    (x,) = real_floats("fabs", x)
    found: Array = abs(x)
    return found


def _ignoring_nan(of: str, x1: Any, x2: Any, extreme: Any) -> Array:
    x1, x2 = operands(of, x1, x2)
    if x1.dtype.kind != "real floating":
        found: Array = extreme(x1, x2)
        return found
    return where(isnan(x1), x2, where(isnan(x2), x1, extreme(x1, x2)))


def fmax(x1: Any, x2: Any, /) -> Array:
    """Returns the larger elements; where one is NaN, the other one. ``maximum`` returns NaN there.

    >>> import lazyxla as lx
    >>> lx.fmax(lx.asarray([1.0, lx.nan]), 0.5).tolist()
    [1.0, 0.5]
    """
    return _ignoring_nan("fmax", x1, x2, maximum)


def fmin(x1: Any, x2: Any, /) -> Array:
    """Returns the smaller elements; where one is NaN, the other one. ``minimum`` returns NaN there.

    >>> import lazyxla as lx
    >>> lx.fmin(lx.asarray([1.0, lx.nan]), 0.5).tolist()
    [0.5, 0.5]
    """
    return _ignoring_nan("fmin", x1, x2, minimum)


def heaviside(x1: Any, x2: Any, /) -> Array:
    """Returns 0 where x1 is negative, 1 where it is positive, and x2 where it is 0.

    >>> import lazyxla as lx
    >>> lx.heaviside(lx.asarray([-1.0, 0.0, 2.0]), 0.5).tolist()
    [0.0, 0.5, 1.0]
    """
    x1, x2 = real_floats("heaviside", x1, x2)
    return where(isnan(x1), x1, where(x1 == 0, x2, (x1 > 0).astype(x1.dtype)))


# Kinds of numbers.


def isneginf(x: Array, /) -> Array:
    """Returns where x is -infinity.

    >>> import lazyxla as lx
    >>> lx.isneginf(lx.asarray([-lx.inf, lx.inf])).tolist()
    [True, False]
    """
    found: Array = _is_infinity(x, "isneginf") & (x < 0)
    return found


def isposinf(x: Array, /) -> Array:
    """Returns where x is +infinity.

    >>> import lazyxla as lx
    >>> lx.isposinf(lx.asarray([-lx.inf, lx.inf])).tolist()
    [False, True]
    """
    found: Array = _is_infinity(x, "isposinf") & (x > 0)
    return found


def _is_infinity(x: Array, of: str) -> Any:
    if x.dtype.kind == "complex floating":
        raise TypeError(f"{of}() takes real numbers, not {x.dtype.name}")
    return isinf(x)


def iscomplexobj(x: Any, /) -> bool:
    """Returns whether an array is of a complex dtype, or a scalar of Python, or one in a list, is complex.

    >>> import lazyxla as lx
    >>> lx.iscomplexobj(lx.zeros(2)), lx.iscomplexobj(1j)
    (False, True)
    """
    if isinstance(x, (list, tuple)):
        return builtins.any(map(iscomplexobj, x))
    dtype = getattr(x, "dtype", None)
    return dtype.kind in ("complex floating", "c") if dtype is not None else isinstance(x, complex)


def isrealobj(x: Any, /) -> bool:
    """Returns whether an array or a scalar is not complex, as ``iscomplexobj`` has it.

    >>> import lazyxla as lx
    >>> lx.isrealobj(lx.zeros(2))
    True
    """
    return not iscomplexobj(x)


def iscomplex(x: Array, /) -> Array:
    """Returns where the imaginary part of x is not 0.

    >>> import lazyxla as lx
    >>> lx.iscomplex(lx.asarray([1j, 1.0])).tolist()
    [True, False]
    """
    if x.dtype.kind != "complex floating":
        return _core.full(x.shape, False, _core.bool, x.device)
    found: Array = imag(x) != 0
    return found


def isreal(x: Array, /) -> Array:
    """Returns where the imaginary part of x is 0.

    >>> import lazyxla as lx
    >>> lx.isreal(lx.asarray([1j, 1.0])).tolist()
    [False, True]
    """
    return ~iscomplex(x)


# Bits.


def bitcast(x: Array, /, dtype: DTypeLike) -> Array:
    """Returns the bits of x as another dtype: a narrower one adds a last axis with the parts of each element, low bits
    first, and a wider one takes away the last axis, as JAX's ``bitcast_convert_type``. ``x.view(dtype)`` has NumPy's
    shapes.

    >>> import lazyxla as lx
    >>> hex(lx.bitcast(lx.asarray(1.0), lx.uint32).item()), lx.bitcast(lx.asarray([1.0]), lx.uint16).tolist()
    ('0x3f800000', [[0, 16256]])
    """
    target = _core.as_dtype(dtype)
    # The library has bits of numbers alone; a bool is a byte that is 0 or 1.
    if x.dtype.kind == "bool" and target.kind != "bool":
        x = x.astype(_core.uint8)
    if target.kind == "bool" and x.dtype.kind != "bool":
        raise TypeError(f"bitcast(): {x.dtype.name} has no bits of bools; want x != 0, or x.astype(lx.bool)")
    return _core.bitcast(x, target)


def view(x: Array, dtype: DTypeLike) -> Array:
    """Returns the bits of x as another dtype, along the last axis, as the methods of NumPy and PyTorch of that name. The
    result is an array of its own.

    >>> import lazyxla as lx
    >>> lx.asarray([1.0, 2.0]).view(lx.uint16).tolist()
    [0, 16256, 0, 16384]
    """
    target = _core.as_dtype(dtype)
    given, wanted = _bits_of(x.dtype), _bits_of(target)
    if given == wanted:
        return bitcast(x, target)
    if x.ndim == 0:
        raise ValueError(f"view(): a scalar of {x.dtype.name} has no axis for the parts of {target.name}")
    if given > wanted:
        parts = bitcast(x, target)
        return _core.reshape(parts, (*x.shape[:-1], x.shape[-1] * parts.shape[-1]))
    each = wanted // given
    if x.shape[-1] % each:
        raise ValueError(
            f"view(): the last axis has {x.shape[-1]} elements of {x.dtype.name}; want a multiple of {each} for {target.name}"
        )
    return bitcast(_core.reshape(x, (*x.shape[:-1], x.shape[-1] // each, each)), target)


def _bits_of(dtype: _core.DType) -> int:
    # Elements of 2 and 4 bits are bytes in host memory.
    return 8 * dtype.itemsize if dtype.itemsize > 1 or dtype.kind == "bool" else int(dtype.limits["bits"])
