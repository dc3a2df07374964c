"""The methods of NumPy's ufuncs, as attributes of functions: ``lx.add.at``, ``lx.maximum.accumulate``,
``lx.subtract.outer``, ``lx.logical_or.reduce``."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from . import _constants as c
from . import _core, _reductions
from ._core import Array
from ._at import At
from ._operands import array_of, in_floats
from ._parts import assign, changing
from ._sizes import DTypeLike, normalized

# Functions of two operands, all of which have ``outer``.
BINARY = (
    "add", "arctan2", "atan2", "bitwise_and", "bitwise_or", "bitwise_xor", "copysign", "divide", "equal", "float_power",
    "floor_divide", "fmax", "fmin", "fmod", "gcd", "greater", "greater_equal", "heaviside", "hypot", "lcm", "less",
    "less_equal", "logaddexp", "logaddexp2", "logical_and", "logical_or", "logical_xor", "maximum", "minimum", "mod",
    "multiply", "not_equal", "pow", "power", "remainder", "subtract", "true_divide",
)  # fmt: skip
# The reduction of each operation.
REDUCTIONS: dict[str, Callable[..., Array]] = {
    "add": _reductions.sum,
    "multiply": _reductions.prod,
    "maximum": _reductions.max,
    "minimum": _reductions.min,
    "logical_and": _reductions.all,
    "logical_or": _reductions.any,
}
# Other operations whose order does not matter, and what changes nothing in them, if there is such a value.
FOLDS: dict[str, Any] = {
    "bitwise_and": "all bits",
    "bitwise_or": 0,
    "bitwise_xor": 0,
    "fmax": None,
    "fmin": None,
    "gcd": 0,
    "hypot": 0,
    "lcm": None,
    "logaddexp": -math.inf,
    "logaddexp2": -math.inf,
    "logical_xor": False,
}
_CUMULATIVE = {"maximum": c.REDUCE_MAX, "minimum": c.REDUCE_MIN}
# The methods of ``x.at`` that combine elements.
UPDATES = {
    "add": "add",
    "subtract": "subtract",
    "multiply": "multiply",
    "divide": "divide",
    "true_divide": "divide",
    "maximum": "max",
    "minimum": "min",
}


def _array(of: str, value: Any, device: Any = None) -> Array:
    found = array_of(value, device)
    if found is None:
        raise TypeError(f"{of}(): want an array (lx.asarray makes one), not a {type(value).__name__}")
    return found


def cumulative_extreme(op: int, x: Array, axis: int) -> Array:
    """Returns the largest or smallest of the elements up to each one along an axis."""
    (at,) = normalized([axis], x.ndim)
    return _core.cumulative(op, x, at)


def _outer(name: str, function: Callable[..., Array]) -> Callable[..., Array]:
    def outer(a: Any, b: Any, /) -> Array:
        device = next((x.device for x in (a, b) if isinstance(x, Array)), None)
        first, second = (_array(f"{name}.outer", x, device) for x in (a, b))
        return function(_core.reshape(first, [*first.shape, *[1] * second.ndim]), second)

    outer.__doc__ = f"Returns lx.{name} of each element of the first array with each one of the second."
    return outer


def _reduce(name: str, function: Callable[..., Array]) -> Callable[..., Array]:
    def reduce(array: Any, /, axis: Any = 0, dtype: DTypeLike | None = None, **given: Any) -> Array:
        options = given if dtype is None else {"dtype": dtype, **given}
        return function(_array(f"{name}.reduce", array), axis=axis, **options)

    reduce.__doc__ = f"Reduces an array by lx.{name} along an axis, by default the first one; None is all axes."
    return reduce


def _in_its_dtype(name: str, x: Array) -> Array:
    """Returns an array in the dtype of results, which one element has, too."""
    if name == "logical_xor":
        return x.astype(_core.bool, copy=False)
    return in_floats(x) if name in ("hypot", "logaddexp", "logaddexp2") else x


def _identity(name: str, x: Array, shape: list[int]) -> Array:
    """Returns what a reduction of no elements of x's dtype gives."""
    if FOLDS[name] is None:
        raise ValueError(f"{name}.reduce() of no elements has no value")
    if name == "bitwise_and":
        return _core.unary(c.UNARY_NOT, _core.full(shape, 0, x.dtype, x.device))
    return _core.full(shape, FOLDS[name], x.dtype, x.device)


def _fold(name: str, function: Callable[..., Array]) -> Callable[..., Array]:
    def reduce(array: Any, /, axis: int | None = 0, *, keepdims: bool = False) -> Array:
        given = _array(f"{name}.reduce", array)
        x = _core.reshape(given, [given.size]) if axis is None else given
        (at,) = normalized([0 if axis is None else axis], x.ndim)
        whole = (slice(None),) * at
        x = _in_its_dtype(name, x)
        if x.shape[at] == 0:
            x = _identity(name, x, [1 if i == at else size for i, size in enumerate(x.shape)])
        elif x.shape[at] == 1 and name in ("gcd", "hypot"):
            x = function(x, _core.full(x.shape, 0, x.dtype, x.device))  # its size
        # Halves, as long as there is more than one element.
        while (count := x.shape[at]) > 1:
            half = count // 2
            joined = function(x[(*whole, slice(0, half))], x[(*whole, slice(half, 2 * half))])
            rest = x[(*whole, slice(2 * half, None))].astype(joined.dtype, copy=False)
            x = _core.join([joined, rest], at, False) if count % 2 else joined
        if axis is None:
            return _core.reshape(x, [1] * given.ndim if keepdims else [])
        return x if keepdims else _core.squeeze(x, [at])

    reduce.__doc__ = f"Reduces an array by lx.{name} along an axis, by default the first one; None is all axes."
    return reduce


def _scan(name: str, function: Callable[..., Array]) -> Callable[..., Array]:
    def accumulate(array: Any, /, axis: int = 0) -> Array:
        from ._lax import associative_scan

        x = _in_its_dtype(name, _array(f"{name}.accumulate", array))
        found: Array = associative_scan(function, x, axis=axis)
        return found

    accumulate.__doc__ = f"Returns lx.{name} of the elements up to each one along an axis, by default the first one."
    return accumulate


def _accumulate(name: str) -> Callable[..., Array]:
    def accumulate(array: Any, /, axis: int = 0, dtype: DTypeLike | None = None) -> Array:
        x = _array(f"{name}.accumulate", array)
        if x.ndim == 0:
            raise TypeError(f"{name}.accumulate(): a scalar has no axis")
        if name == "add":
            return _reductions.cumulative_sum(x, axis, dtype)
        if name == "multiply":
            return _reductions.cumulative_prod(x, axis, dtype)
        return cumulative_extreme(_CUMULATIVE[name], x if dtype is None else x.astype(dtype, copy=False), axis)

    accumulate.__doc__ = f"Returns lx.{name} of the elements up to each one along an axis, by default the first one."
    return accumulate


def _at(name: str) -> Callable[..., Any]:
    def at(a: Array, indices: Any, b: Any, /, *, inplace: bool = True) -> Array | None:
        if not isinstance(a, Array):
            raise TypeError(f"{name}.at(): want an array of lazyxla, not a {type(a).__name__}")
        found: Array = getattr(At(a)[indices], UPDATES[name])(b)
        if not inplace:
            return found
        if found.dtype != a.dtype:
            raise TypeError(f"{name}.at(): the array is {a.dtype.name}, and the result {found.dtype.name}")
        assign(a, ..., found)
        return None

    at.__qualname__ = f"{name}.at()"

    at.__doc__ = f"""Changes an array by lx.{name} at indices; where these are equal, by all of their values, in contrast to
    an operator in place. Returns a changed copy instead with ``inplace=False``, as in JAX."""
    return at


def install(namespace: dict[str, Any]) -> None:
    """Gives the functions of a namespace the methods of ufuncs, and a judgement to those that change an argument."""
    for name in ("fill_diagonal", "put_along_axis"):
        namespace[name] = changing(namespace[name])
    for name in BINARY:
        function = namespace[name]
        function.outer = _outer(name, function)
        if name in UPDATES:
            function.at = changing(_at(name))
        if name in REDUCTIONS:
            function.reduce = _reduce(name, REDUCTIONS[name])
        if name in FOLDS:
            function.reduce, function.accumulate = _fold(name, function), _scan(name, function)
        if name in ("add", "multiply", *_CUMULATIVE):
            function.accumulate = _accumulate(name)
