"""Elementwise functions of the array API standard."""

from __future__ import annotations

import builtins
import operator
from typing import Any, overload

from . import _constants as c
from . import _core
from ._core import Array
from ._operands import FLOATS, INTEGERS, in_floats, operands, select
from ._sizes import DTypeLike

_FLOATS = ("real floating", "complex floating")


def _fit(name: str, kinds: tuple[str, ...], *operands: Any) -> list[Any]:
    """Returns the operands of a function as it takes them, which are not all of its kinds of dtypes: integers and bools
    as float32 for a function of floats, numbers as bools for a logical one, bools next to numbers as they are.
    TypeError for others."""
    arrays = [x for x in operands if isinstance(x, Array)]
    given = {x.dtype.kind for x in arrays}
    if kinds == ("bool",):
        return [x.astype(_core.bool, copy=False) if isinstance(x, Array) else builtins.bool(x) for x in operands]
    is_mixed = len(given) > 1 or any(not isinstance(x, (Array, bool)) for x in operands)
    wrong = (
        given - {*kinds} - ({"bool"} if is_mixed else set()) - ({*INTEGERS, "bool"} if kinds[0] in FLOATS else set())
    )
    if wrong:
        other = next(x for x in arrays if x.dtype.kind in wrong)
        raise TypeError(f"{name}() takes {' and '.join(kinds)} dtypes, not {other.dtype.name}")
    if kinds[0] in FLOATS and not given & {*FLOATS}:
        return [in_floats(x) if isinstance(x, Array) else x for x in operands]
    return [*operands]


def _unary(name: str, op: int, doc: str, *, kinds: tuple[str, ...] | None = None, special: bool = False) -> Any:
    call = _core.special if special else _core.unary

    def function(x: Array, /) -> Array:
        if kinds is not None and x.dtype.kind not in kinds:
            (x,) = _fit(name, kinds, x)
        return call(op, x)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


def _are_bools(*operands: Any) -> builtins.bool:
    kinds = [x.dtype.kind if isinstance(x, Array) else type(x) for x in operands]
    return all(kind in ("bool", builtins.bool) for kind in kinds)


def _binary(
    name: str,
    op: int,
    doc: str,
    *,
    compare: bool = False,
    kinds: tuple[str, ...] | None = None,
    bools: int | None = None,
) -> Any:
    """Makes a function of two operands; ``bools`` is its operation on arrays of bools, where it is another one."""

    def function(x1: Any, x2: Any, /) -> Array:
        if kinds == ("bool",) and (hasattr(x1, "__array_interface__") or hasattr(x2, "__array_interface__")):
            x1, x2 = operands(name, x1, x2)
        if kinds is not None:
            for x in (x1, x2):
                if isinstance(x, Array) and x.dtype.kind not in kinds:
                    if bools is not None and _are_bools(x1, x2):
                        return _core.binary(bools, x1, x2, False, False)
                    x1, x2 = _fit(name, kinds, x1, x2)
                    break
        try:
            return _core.binary(op, x1, x2, compare, False)
        except TypeError:
            if isinstance(x1, Array) or isinstance(x2, Array):
                raise
        # Two numbers, or arrays of NumPy.
        of: Any = function
        return of(*operands(name, x1, x2))  # type: ignore[no-any-return]

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc + " Dtypes promote; either operand may be a scalar or an array of NumPy."
    return function


_REAL = ("real floating",)
_INTEGERS = ("signed integer", "unsigned integer")
_NUMBERS = _INTEGERS + _FLOATS
_REALS = _INTEGERS + _REAL
_BITS = ("bool",) + _INTEGERS
_ORDERED = ("bool",) + _REALS

abs = _unary("abs", c.UNARY_ABS, "Returns absolute values; of complex numbers their magnitude.", kinds=_NUMBERS)
acos = _unary("acos", c.UNARY_ACOS, "Returns inverse cosines, in radians.", kinds=_FLOATS)
acosh = _unary("acosh", c.UNARY_ACOSH, "Returns inverse hyperbolic cosines.", kinds=_FLOATS)
asin = _unary("asin", c.UNARY_ASIN, "Returns inverse sines, in radians.", kinds=_FLOATS)
asinh = _unary("asinh", c.UNARY_ASINH, "Returns inverse hyperbolic sines.", kinds=_FLOATS)
atan = _unary("atan", c.UNARY_ATAN, "Returns inverse tangents, in radians.", kinds=_FLOATS)
atanh = _unary("atanh", c.UNARY_ATANH, "Returns inverse hyperbolic tangents.", kinds=_FLOATS)
bitwise_invert = _unary("bitwise_invert", c.UNARY_NOT, "Returns ~x.", kinds=_BITS)
ceil = _unary("ceil", c.UNARY_CEIL, "Returns the smallest integers not less than x.", kinds=_REALS)
cos = _unary("cos", c.UNARY_COSINE, "Returns cosines of x in radians.", kinds=_FLOATS)
cosh = _unary("cosh", c.UNARY_COSH, "Returns hyperbolic cosines.", kinds=_FLOATS)
exp = _unary("exp", c.UNARY_EXPONENTIAL, "Returns e^x.", kinds=_FLOATS)
expm1 = _unary("expm1", c.UNARY_EXPONENTIAL_MINUS_ONE, "Returns e^x - 1, accurate near 0.", kinds=_FLOATS)
floor = _unary("floor", c.UNARY_FLOOR, "Returns the largest integers not greater than x.", kinds=_REALS)
isfinite = _unary("isfinite", c.UNARY_IS_FINITE, "Returns where x is neither infinite nor NaN.", kinds=_NUMBERS)
isinf = _unary("isinf", c.UNARY_IS_INF, "Returns where x is infinite.", kinds=_NUMBERS)
isnan = _unary("isnan", c.UNARY_IS_NAN, "Returns where x is NaN.", kinds=_NUMBERS)
log = _unary("log", c.UNARY_LOG, "Returns natural logarithms.", kinds=_FLOATS)
log1p = _unary("log1p", c.UNARY_LOG_PLUS_ONE, "Returns log(1 + x), accurate near 0.", kinds=_FLOATS)
log2 = _unary("log2", c.UNARY_LOG2, "Returns logarithms to base 2.", kinds=_FLOATS)
log10 = _unary("log10", c.UNARY_LOG10, "Returns logarithms to base 10.", kinds=_FLOATS)
logical_not = _unary("logical_not", c.UNARY_NOT, "Returns where x is false.", kinds=("bool",))
negative = _unary("negative", c.UNARY_NEGATE, "Returns -x.", kinds=_NUMBERS)
signbit = _unary("signbit", c.UNARY_SIGNBIT, "Returns where the sign bit is set: negative, -0, -NaN.", kinds=_REAL)
sin = _unary("sin", c.UNARY_SINE, "Returns sines of x in radians.", kinds=_FLOATS)
sinh = _unary("sinh", c.UNARY_SINH, "Returns hyperbolic sines.", kinds=_FLOATS)
sqrt = _unary("sqrt", c.UNARY_SQRT, "Returns square roots.", kinds=_FLOATS)
tan = _unary("tan", c.UNARY_TAN, "Returns tangents of x in radians.", kinds=_FLOATS)
tanh = _unary("tanh", c.UNARY_TANH, "Returns hyperbolic tangents.", kinds=_FLOATS)
trunc = _unary("trunc", c.UNARY_TRUNC, "Returns x rounded toward 0.", kinds=_REALS)
sign = _unary("sign", c.UNARY_SIGN, "Returns -1, 0 or 1; of complex numbers x / abs(x).", kinds=_NUMBERS)

add = _binary("add", c.BINARY_ADD, "Returns x1 + x2; of bools x1 | x2.", kinds=_NUMBERS, bools=c.BINARY_OR)
atan2 = _binary("atan2", c.BINARY_ATAN2, "Returns the angle of the point (x2, x1), in radians.", kinds=_REAL)
bitwise_and = _binary("bitwise_and", c.BINARY_AND, "Returns x1 & x2.", kinds=_BITS)
bitwise_left_shift = _binary("bitwise_left_shift", c.BINARY_SHIFT_LEFT, "Returns x1 << x2.", kinds=_INTEGERS)
bitwise_or = _binary("bitwise_or", c.BINARY_OR, "Returns x1 | x2.", kinds=_BITS)
bitwise_xor = _binary("bitwise_xor", c.BINARY_XOR, "Returns x1 ^ x2.", kinds=_BITS)
copysign = _binary("copysign", c.BINARY_COPYSIGN, "Returns abs(x1) with the sign of x2.", kinds=_REAL)
divide = _binary("divide", c.BINARY_DIVIDE, "Returns x1 / x2; of integers as float32.", kinds=_FLOATS)
floor_divide = _binary("floor_divide", c.BINARY_FLOOR_DIVIDE, "Returns floor(x1 / x2).", kinds=_REALS)
hypot = _binary("hypot", c.BINARY_HYPOT, "Returns sqrt(x1^2 + x2^2) without overflow in between.", kinds=_REAL)
logaddexp = _binary("logaddexp", c.BINARY_LOGADDEXP, "Returns log(e^x1 + e^x2).", kinds=_REAL)
maximum = _binary("maximum", c.BINARY_MAXIMUM, "Returns the larger elements; NaN if either is.", kinds=_ORDERED)
minimum = _binary("minimum", c.BINARY_MINIMUM, "Returns the smaller elements; NaN if either is.", kinds=_ORDERED)
multiply = _binary(
    "multiply", c.BINARY_MULTIPLY, "Returns x1 * x2; of bools x1 & x2.", kinds=_NUMBERS, bools=c.BINARY_AND
)
nextafter = _binary("nextafter", c.BINARY_NEXT_AFTER, "Returns the next float after x1 toward x2.", kinds=_REAL)
pow = _binary("pow", c.BINARY_POWER, "Returns x1 raised to x2.", kinds=_NUMBERS)
remainder = _binary("remainder", c.BINARY_MODULO, "Returns x1 % x2, with the sign of x2.", kinds=_REALS)
subtract = _binary("subtract", c.BINARY_SUBTRACT, "Returns x1 - x2.", kinds=_NUMBERS)
logical_and = _binary("logical_and", c.BINARY_AND, "Returns where both are true.", kinds=("bool",))
logical_or = _binary("logical_or", c.BINARY_OR, "Returns where either is true.", kinds=("bool",))
logical_xor = _binary("logical_xor", c.BINARY_XOR, "Returns where one of the two is true.", kinds=("bool",))

equal = _binary("equal", c.COMPARE_EQ, "Returns where x1 == x2.", compare=True)
greater = _binary("greater", c.COMPARE_GT, "Returns where x1 > x2.", compare=True, kinds=_ORDERED)
greater_equal = _binary("greater_equal", c.COMPARE_GE, "Returns where x1 >= x2.", compare=True, kinds=_ORDERED)
less = _binary("less", c.COMPARE_LT, "Returns where x1 < x2.", compare=True, kinds=_ORDERED)
less_equal = _binary("less_equal", c.COMPARE_LE, "Returns where x1 <= x2.", compare=True, kinds=_ORDERED)
not_equal = _binary("not_equal", c.COMPARE_NE, "Returns where x1 != x2.", compare=True)


def bitwise_right_shift(x1: Any, x2: Any, /) -> Array:
    """Returns x1 >> x2: filled with the sign of signed integers, and with zeros of unsigned ones.

    >>> import lazyxla as lx
    >>> lx.bitwise_right_shift(lx.asarray([8, -8]), 2).tolist()
    [2, -2]
    """
    if not isinstance(x1, Array) and not isinstance(x2, Array):
        x1, x2 = operands("bitwise_right_shift", x1, x2)
    for x in (x1, x2):
        if isinstance(x, Array) and x.dtype.kind not in _INTEGERS:
            raise TypeError(f"bitwise_right_shift() takes integer dtypes, not {x.dtype.name}")
    return _core.binary(0, x1, x2, False, True)


def round(x: Array, /, decimals: int = 0) -> Array:
    """Returns the nearest integers, ties to even; of complex numbers both parts are rounded.

    With ``decimals``, numbers are rounded to so many decimal places, or to a power of ten if it is negative.

    >>> import lazyxla as lx
    >>> lx.round(lx.asarray([0.5, 1.5, 2.4])).tolist()
    [0.0, 2.0, 2.0]
    """
    if x.dtype.kind == "complex floating":
        return _core.complex_of(round(_core.part(x, False), decimals), round(_core.part(x, True), decimals))
    if x.dtype.kind not in _NUMBERS:
        raise TypeError(f"round() takes {' and '.join(_NUMBERS)} dtypes, not {x.dtype.name}")
    digits = operator.index(decimals)
    if digits == 0 or (digits > 0 and x.dtype.kind in _INTEGERS):
        return _core.unary(c.UNARY_ROUND_NEAREST_EVEN, x)
    power = 10.0 ** builtins.abs(digits)
    if x.dtype.kind in _INTEGERS:
        return (_core.unary(c.UNARY_ROUND_NEAREST_EVEN, x.astype(_core.float64) / power) * power).astype(x.dtype)
    if digits < 0:
        return _core.unary(c.UNARY_ROUND_NEAREST_EVEN, x / power) * power
    return _core.unary(c.UNARY_ROUND_NEAREST_EVEN, x * power) / power


def conj(x: Array, /) -> Array:
    """Returns complex conjugates; real numbers as they are.

    >>> import lazyxla as lx
    >>> lx.conj(lx.asarray([1 + 2j])).tolist()
    [(1-2j)]
    """
    return _core.unary(c.UNARY_CONJ, x)


def real(x: Array, /) -> Array:
    """Returns real parts.

    >>> import lazyxla as lx
    >>> lx.real(lx.asarray([1 + 2j])).tolist()
    [1.0]
    """
    return _core.part(x, False)


def imag(x: Array, /) -> Array:
    """Returns the imaginary parts; of real numbers, zeros of their dtype.

    >>> import lazyxla as lx
    >>> lx.imag(lx.asarray([1 + 2j])).tolist()
    [2.0]
    """
    if x.dtype.kind in _REALS:
        return _core.full(x.shape, 0, x.dtype, x.device)
    if x.dtype.kind == "bool":
        raise TypeError("imag() takes numeric dtypes, not bool")
    return _core.part(x, True)


def positive(x: Array, /) -> Array:
    """Returns +x: a copy.

    >>> import lazyxla as lx
    >>> lx.positive(lx.asarray([1, -2])).tolist()
    [1, -2]
    """
    return x.copy()


def square(x: Array, /) -> Array:
    """Returns x * x.

    >>> import lazyxla as lx
    >>> lx.square(lx.asarray([2, -3])).tolist()
    [4, 9]
    """
    return x * x


def reciprocal(x: Array, /) -> Array:
    """Returns 1 / x; of integers as float32.

    >>> import lazyxla as lx
    >>> lx.reciprocal(lx.asarray([2.0, 4.0])).tolist()
    [0.5, 0.25]
    """
    return 1 / (x if isinstance(x, Array) else operands("reciprocal", x)[0])


def clip(x: Array, /, min: Any = None, max: Any = None, *, a_min: Any = None, a_max: Any = None) -> Array:
    """Returns min(max(x, min), max). Bounds are arrays, scalars or None: absent. Bounds of another dtype promote. Older
    programs for NumPy name them ``a_min`` and ``a_max``.

    NaN in any of them gives NaN.

    >>> import lazyxla as lx
    >>> lx.clip(lx.asarray([-2, 1, 9]), 0, 5).tolist()
    [0, 1, 5]
    """
    if x.dtype.kind not in _REALS:
        raise TypeError(f"clip() takes real dtypes, not {x.dtype.name}")
    if (min is not None and a_min is not None) or (max is not None and a_max is not None):
        raise ValueError("clip(): min and a_min are one argument, and max and a_max")
    min, max = a_min if min is None else min, a_max if max is None else max
    result = x
    for bound, op in ((min, c.BINARY_MAXIMUM), (max, c.BINARY_MINIMUM)):
        if bound is not None:
            result = _core.binary(op, result, bound, False, False)
    return x.copy() if result is x else result


@overload
def where(condition: Array, /, *, size: int | None = None, fill_value: Any = None) -> tuple[Array, ...]: ...


@overload
def where(condition: Array, x1: Any, x2: Any, /) -> Array: ...


def where(
    condition: Array, x1: Any = None, x2: Any = None, /, *, size: int | None = None, fill_value: Any = None
) -> Any:
    """Returns x1 where the condition is true and x2 elsewhere; all three broadcast. x1 and x2 may be scalars, or arrays
    of NumPy. Of a condition alone, returns the places where it is true, as ``nonzero``, with its arguments.

    >>> import lazyxla as lx
    >>> lx.where(lx.asarray([True, False]), lx.asarray([1, 2]), 0).tolist()
    [1, 0]
    """
    if x1 is None and x2 is None:
        from ._reductions import nonzero

        return nonzero(condition, size=size, fill_value=fill_value)
    if x1 is None or x2 is None:
        raise ValueError("where() takes both x1 and x2, or neither")
    if not isinstance(x1, Array) and not isinstance(x2, Array):
        # Next to a bool, scalars have their own dtypes.
        x1 = _core.scalar_like(x1, _core.full((), False, _core.bool, condition.device))
    return select(condition, x1, x2)


def isdtype(dtype: DTypeLike, kind: Any) -> bool:
    """Returns whether a dtype is of a kind: a dtype, a name such as ``"real floating"``, or a tuple of these.

    >>> import lazyxla as lx
    >>> lx.isdtype(lx.float32, "real floating")
    True
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, each) for each in kind)
    dtype = _core.as_dtype(dtype)
    if not isinstance(kind, str):
        return dtype == _core.as_dtype(kind)
    groups = {
        "bool": ("bool",),
        "signed integer": ("signed integer",),
        "unsigned integer": ("unsigned integer",),
        "integral": _INTEGERS,
        "real floating": _REAL,
        "complex floating": ("complex floating",),
        "numeric": _NUMBERS,
    }
    if kind not in groups:
        raise ValueError(f"kind is a dtype or one of {', '.join(groups)}, not {kind!r}")
    return dtype.kind in groups[kind]


# An example of each function that is made above: a call, and what it returns.
_EXAMPLES = {
    "abs": ("lx.abs(lx.asarray([-1, 2])).tolist()", "[1, 2]"),
    "acos": ("lx.acos(lx.asarray([1.0])).tolist()", "[0.0]"),
    "acosh": ("lx.acosh(lx.asarray([1.0])).tolist()", "[0.0]"),
    "asin": ("lx.asin(lx.asarray([0.0])).tolist()", "[0.0]"),
    "asinh": ("lx.asinh(lx.asarray([0.0])).tolist()", "[0.0]"),
    "atan": ("lx.atan(lx.asarray([0.0])).tolist()", "[0.0]"),
    "atanh": ("lx.atanh(lx.asarray([0.0])).tolist()", "[0.0]"),
    "bitwise_invert": ("lx.bitwise_invert(lx.asarray([0, 5])).tolist()", "[-1, -6]"),
    "ceil": ("lx.ceil(lx.asarray([1.2, -1.2])).tolist()", "[2.0, -1.0]"),
    "cos": ("lx.cos(lx.asarray([0.0])).tolist()", "[1.0]"),
    "cosh": ("lx.cosh(lx.asarray([0.0])).tolist()", "[1.0]"),
    "exp": ("lx.exp(lx.asarray([0.0])).tolist()", "[1.0]"),
    "expm1": ("lx.expm1(lx.asarray([0.0])).tolist()", "[0.0]"),
    "floor": ("lx.floor(lx.asarray([1.2, -1.2])).tolist()", "[1.0, -2.0]"),
    "isfinite": ("lx.isfinite(lx.asarray([1.0, lx.inf, lx.nan])).tolist()", "[True, False, False]"),
    "isinf": ("lx.isinf(lx.asarray([1.0, -lx.inf, lx.nan])).tolist()", "[False, True, False]"),
    "isnan": ("lx.isnan(lx.asarray([1.0, lx.inf, lx.nan])).tolist()", "[False, False, True]"),
    "log": ("lx.log(lx.asarray([1.0])).tolist()", "[0.0]"),
    "log1p": ("lx.log1p(lx.asarray([0.0])).tolist()", "[0.0]"),
    "log2": ("lx.log2(lx.asarray([8.0])).tolist()", "[3.0]"),
    "log10": ("lx.log10(lx.asarray([100.0])).tolist()", "[2.0]"),
    "logical_not": ("lx.logical_not(lx.asarray([True, False])).tolist()", "[False, True]"),
    "negative": ("lx.negative(lx.asarray([1, -2])).tolist()", "[-1, 2]"),
    "signbit": ("lx.signbit(lx.asarray([1.0, -0.0])).tolist()", "[False, True]"),
    "sin": ("lx.sin(lx.asarray([0.0])).tolist()", "[0.0]"),
    "sinh": ("lx.sinh(lx.asarray([0.0])).tolist()", "[0.0]"),
    "sqrt": ("lx.sqrt(lx.asarray([4.0, 9.0])).tolist()", "[2.0, 3.0]"),
    "tan": ("lx.tan(lx.asarray([0.0])).tolist()", "[0.0]"),
    "tanh": ("lx.tanh(lx.asarray([0.0])).tolist()", "[0.0]"),
    "trunc": ("lx.trunc(lx.asarray([1.7, -1.7])).tolist()", "[1.0, -1.0]"),
    "sign": ("lx.sign(lx.asarray([3.0, -2.0])).tolist()", "[1.0, -1.0]"),
    "add": ("lx.add(lx.asarray([1, 2]), 10).tolist()", "[11, 12]"),
    "atan2": ("lx.atan2(lx.asarray([0.0]), lx.asarray([1.0])).tolist()", "[0.0]"),
    "bitwise_and": ("lx.bitwise_and(lx.asarray([6, 5]), 3).tolist()", "[2, 1]"),
    "bitwise_or": ("lx.bitwise_or(lx.asarray([6, 5]), 3).tolist()", "[7, 7]"),
    "bitwise_xor": ("lx.bitwise_xor(lx.asarray([6, 5]), 3).tolist()", "[5, 6]"),
    "bitwise_left_shift": ("lx.bitwise_left_shift(lx.asarray([1, 2]), 3).tolist()", "[8, 16]"),
    "copysign": ("lx.copysign(lx.asarray([1.0, 2.0]), lx.asarray([-1.0, 1.0])).tolist()", "[-1.0, 2.0]"),
    "divide": ("lx.divide(lx.asarray([1.0, 3.0]), 2).tolist()", "[0.5, 1.5]"),
    "equal": ("lx.equal(lx.asarray([1, 2]), 2).tolist()", "[False, True]"),
    "floor_divide": ("lx.floor_divide(lx.asarray([7, -7]), 2).tolist()", "[3, -4]"),
    "greater": ("lx.greater(lx.asarray([1, 2, 3]), 2).tolist()", "[False, False, True]"),
    "greater_equal": ("lx.greater_equal(lx.asarray([1, 2, 3]), 2).tolist()", "[False, True, True]"),
    "hypot": ("lx.hypot(lx.asarray([3.0]), lx.asarray([4.0])).tolist()", "[5.0]"),
    "less": ("lx.less(lx.asarray([1, 2, 3]), 2).tolist()", "[True, False, False]"),
    "less_equal": ("lx.less_equal(lx.asarray([1, 2, 3]), 2).tolist()", "[True, True, False]"),
    "logaddexp": ("lx.logaddexp(lx.asarray([-lx.inf]), lx.asarray([2.0])).tolist()", "[2.0]"),
    "logical_and": ("lx.logical_and(lx.asarray([True, False]), lx.asarray([True, True])).tolist()", "[True, False]"),
    "logical_or": ("lx.logical_or(lx.asarray([True, False]), lx.asarray([False, False])).tolist()", "[True, False]"),
    "logical_xor": ("lx.logical_xor(lx.asarray([True, False]), lx.asarray([True, True])).tolist()", "[False, True]"),
    "maximum": ("lx.maximum(lx.asarray([1, 5]), 3).tolist()", "[3, 5]"),
    "minimum": ("lx.minimum(lx.asarray([1, 5]), 3).tolist()", "[1, 3]"),
    "multiply": ("lx.multiply(lx.asarray([1, 2]), lx.asarray([3, 4])).tolist()", "[3, 8]"),
    "nextafter": ("lx.nextafter(lx.asarray([1.0]), lx.asarray([2.0])).tolist()", "[1.0000001192092896]"),
    "not_equal": ("lx.not_equal(lx.asarray([1, 2]), 2).tolist()", "[True, False]"),
    "pow": ("lx.pow(lx.asarray([2, 3]), 2).tolist()", "[4, 9]"),
    "remainder": ("lx.remainder(lx.asarray([7, -7]), 3).tolist()", "[1, 2]"),
    "subtract": ("lx.subtract(lx.asarray([5, 2]), 1).tolist()", "[4, 1]"),
}
for _name, (_call, _result) in _EXAMPLES.items():
    globals()[_name].__doc__ += f"\n\n>>> import lazyxla as lx\n>>> {_call}\n{_result}\n"
