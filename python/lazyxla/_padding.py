"""Elements before and after the axes of an array: ``pad``."""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable, Sequence
from typing import Any

from . import _core
from ._checks import kind_of
from ._core import Array
from ._dtypes import can_cast
from ._elementwise import floor, round
from ._operands import array_like
from ._reductions import max, mean, min
from ._shapes import broadcast_to, reshape
from ._sizes import integers, is_integer
from ._statistics import median

Pair = tuple[Any, Any]


def pad(
    x: Array,
    /,
    width: Any,
    mode: str = "constant",
    *,
    value: Any = 0,
    constant_values: Any = None,
    end_values: Any = 0,
    stat_length: Any = None,
    reflect_type: str = "even",
) -> Array:
    """Returns x with elements before and after each axis, as ``numpy.pad``.

    ``width`` is their number: an int for all axes, a pair of those before and after all axes, or a pair for each axis.
    ``mode`` is

    - "constant" for ``value``, or ``constant_values`` as NumPy names it;
    - "edge" for the next element, "wrap" for the elements from the other end;
    - "reflect" and "symmetric" for a reflection without and with the element at the edge; with ``reflect_type="odd"``,
      twice the element at the edge less the reflection;
    - "linear_ramp" for numbers that lead from the element at the edge to one of ``end_values``;
    - "maximum", "minimum", "mean" and "median" for these of the ``stat_length`` elements at the edge, or of all;
    - "empty" for zeros.

    Values and lengths are given as the width is. Values may be arrays of one element, whose gradients are sums.

    >>> import lazyxla as lx
    >>> lx.pad(lx.asarray([1, 2, 3]), (1, 2), value=9).tolist()
    [9, 1, 2, 3, 9, 9]
    >>> lx.pad(lx.asarray([1, 2, 3]), 2, mode="reflect").tolist()
    [3, 2, 1, 2, 3, 2, 1]
    >>> lx.pad(lx.asarray([4.0]), 2, mode="linear_ramp").tolist()
    [0.0, 2.0, 4.0, 2.0, 0.0]
    """
    widths = _pad_widths(width, x.ndim)
    if reflect_type not in ("even", "odd"):
        raise ValueError(f"pad(): reflect_type is 'even' or 'odd', not {reflect_type!r}")
    if mode == "constant":
        name = "value" if constant_values is None else "constant_values"
        return _with_constants(x, widths, value if constant_values is None else constant_values, name)
    if mode == "linear_ramp":
        blocks = _pairs(end_values, x.ndim, "end_values", _is_number)
        return _by_blocks(x, widths, blocks, _ramp)
    if mode in _STATISTICS:
        lengths = _pairs(stat_length, x.ndim, "stat_length", lambda each: each is None or is_integer(each))
        if any(each is not None and each < 1 for pair in lengths for each in pair):
            raise ValueError(f"pad(): stat_length is a number of elements from 1 on, not {stat_length!r}")
        statistic = _STATISTICS[mode]
        return _by_blocks(x, widths, lengths, lambda *given: _statistic(statistic, *given))
    if mode == "empty":
        return _with_constants(x, widths, 0, "value")
    if mode not in _PLACES:
        known = ", ".join(("constant", *_PLACES, "linear_ramp", *_STATISTICS, "empty"))
        raise ValueError(f"pad(): mode is one of {known}, not {mode!r}")
    is_odd = reflect_type == "odd" and mode in ("reflect", "symmetric")
    for axis, (low, high) in enumerate(widths):
        if low or high:
            _with_elements(x, axis, mode)
            x = _odd(x, axis, low, high, mode) if is_odd else _taken(x, axis, low, high, mode)
    return x.copy()


def _with_elements(x: Array, axis: int, mode: str) -> None:
    if x.shape[axis] == 0:
        raise ValueError(f"pad(): mode {mode!r} takes no elements from axis {axis}, which has none")


# Copies of elements.


def _taken(x: Array, axis: int, low: int, high: int, mode: str) -> Array:
    n = x.shape[axis]
    places = [_PLACES[mode](i, n) for i in range(-low, n + high)]
    return _core.take(x, _core.from_nested(places, _core.int64, x.device), axis)


def _reflected(i: int, n: int) -> int:
    i = i % (2 * n - 2) if n > 1 else 0
    return i if i < n else 2 * n - 2 - i


def _symmetric(i: int, n: int) -> int:
    i %= 2 * n
    return i if i < n else 2 * n - 1 - i


# For each mode: the index, on an axis of n elements, of the element that a padded position copies.
_PLACES: dict[str, Callable[[int, int], int]] = {
    "edge": lambda i, n: builtins.min(builtins.max(i, 0), n - 1),
    "reflect": _reflected,
    "symmetric": _symmetric,
    "wrap": lambda i, n: i % n,
}


def _odd(x: Array, axis: int, low: int, high: int, mode: str) -> Array:
    """Pads by at most as many elements as the axis has, then pads the result, until the widths are reached."""
    while low or high:
        n = x.shape[axis]
        most = n - 1 if mode == "reflect" else n
        if most == 0:
            return _taken(x, axis, low, high, mode)
        now, then = builtins.min(low, most), builtins.min(high, most)
        made = _taken(x, axis, now, then, mode)
        parts = [x]
        if now:
            parts.insert(0, 2 * _slice(x, axis, 0, 1) - _slice(made, axis, 0, now))
        if then:
            parts.append(2 * _slice(x, axis, n - 1, n) - _slice(made, axis, now + n, now + n + then))
        x, low, high = _core.join(parts, axis, False), low - now, high - then
    return x


# Blocks beside an axis.


def _with_constants(x: Array, widths: list[tuple[int, int]], values: Any, name: str) -> Array:
    if _is_plain(values):
        return _core.pad(x, _constant(x, values, name), [low for low, _ in widths], [high for _, high in widths])
    return _by_blocks(
        x,
        widths,
        _pairs(values, x.ndim, name, _is_number),
        lambda x, axis, n, is_first, given: _filled(x, axis, n, given, name),
    )


def _filled(x: Array, axis: int, n: int, value: Any, name: str) -> Array:
    if not isinstance(value, Array) or not _fits(value, x):
        # A number is read from an array whose dtype has numbers that x's dtype lacks, to refuse these.
        return _core.full(_block(x, axis, n), _constant(x, value, name), x.dtype, x.device)
    return broadcast_to(reshape(_beside(value, x).astype(x.dtype, copy=False), ()), _block(x, axis, n))


def _beside(value: Array, x: Array) -> Array:
    return value if value.device == x.device else value.to_device(x.device)


def _fits(value: Array, x: Array) -> bool:
    """Returns whether the dtype of x has the numbers of a value, rounded if x has floats and the value is an integer."""
    is_whole = value.dtype.kind not in ("real floating", "complex floating")
    return can_cast(value.dtype, x.dtype) or (is_whole and x.dtype.kind in ("real floating", "complex floating"))


def _constant(x: Array, value: Any, name: str) -> Any:
    """Returns a number; refuses one that x's dtype lacks."""
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, complex) and x.dtype.kind != "complex floating":
        raise TypeError(f"pad(): {name} is {value}, which {x.dtype.name} cannot represent")
    if x.dtype == _core.bool and value in (0, 1):
        value = builtins.bool(value)
    elif isinstance(value, float) and x.dtype.kind not in ("real floating", "complex floating"):
        if not value.is_integer():
            raise ValueError(f"pad(): {name}: {value} cannot be represented in {x.dtype.name}")
        value = int(value)
    _core.scalar_like(value, x)
    return value


def _ramp(x: Array, axis: int, n: int, is_first: bool, end: Any) -> Array:
    _with_elements(x, axis, "linear_ramp")
    edge = _slice(x, axis, 0, 1) if is_first else _slice(x, axis, x.shape[axis] - 1, x.shape[axis])
    end = reshape(_beside(end, x), ()) if isinstance(end, Array) else end
    along = [n if at == axis else 1 for at in range(x.ndim)]
    steps = reshape(_core.from_nested([i if is_first else n - 1 - i for i in range(n)], _core.int64, x.device), along)
    if x.dtype.kind in ("real floating", "complex floating"):
        start = array_like(end, x)
        return start + steps.astype(x.dtype) * ((edge - start) / n)
    if x.dtype.itemsize == 8:
        # As NumPy: products of 64-bit integers may overflow.
        edge = edge.astype(_core.float64)
        start = array_like(end, edge)
        found: Array = floor(start + steps.astype(_core.float64) * ((edge - start) / n)).astype(x.dtype)
        return found
    # The largest whole numbers below, of exact quotients.
    edge, start = edge.astype(_core.int64), array_like(end, steps)
    return ((start * n + steps * (edge - start)) // n).astype(x.dtype)


def _statistic(of: Callable[..., Array], x: Array, axis: int, n: int, is_first: bool, length: int | None) -> Array:
    extent = x.shape[axis]
    _with_elements(x, axis, of.__name__)
    length = extent if length is None else builtins.min(length, extent)
    part = _slice(x, axis, 0, length) if is_first else _slice(x, axis, extent - length, extent)
    if x.dtype.kind not in ("real floating", "complex floating") and of in (mean, median):
        found = round(of(part.astype(_core.float64), axis=axis, keepdims=True)).astype(x.dtype)
    else:
        found = of(part, axis=axis, keepdims=True)
    return broadcast_to(found, _block(x, axis, n))


_STATISTICS: dict[str, Callable[..., Array]] = {"maximum": max, "minimum": min, "mean": mean, "median": median}


def _by_blocks(
    x: Array, widths: list[tuple[int, int]], given: list[Pair], block: Callable[[Array, int, int, bool, Any], Array]
) -> Array:
    """Joins each axis with blocks before and after it: of what was made for the axes before, as in NumPy."""
    for axis, (low, high) in enumerate(widths):
        first = [block(x, axis, low, True, given[axis][0])] if low else []
        last = [block(x, axis, high, False, given[axis][1])] if high else []
        x = _core.join([*first, x, *last], axis, False) if first or last else x
    return x.copy()


def _slice(x: Array, axis: int, start: int, stop: int) -> Array:
    return _core.slice_axis(x, axis, start, stop, 1)


def _block(x: Array, axis: int, n: int) -> tuple[int, ...]:
    return (*x.shape[:axis], n, *x.shape[axis + 1 :])


# Arguments.


def _is_number(value: Any) -> bool:
    return isinstance(value, (bool, int, float, complex)) or hasattr(value, "item")


def _is_plain(value: Any) -> bool:
    """Returns whether a value is one number that is not an array of this package."""
    return _is_number(value) and not isinstance(value, Array) and getattr(value, "ndim", 0) == 0


def _pairs(given: Any, rank: int, name: str, is_value: Callable[[Any], bool]) -> list[Pair]:
    """Returns a pair for each axis, from one value for all, a pair for all, or a pair or value for each axis."""
    is_foreign = bool(getattr(given, "ndim", None))
    given = given.tolist() if is_foreign else given
    each = [given] if is_value(given) else list(given) if isinstance(given, (tuple, list)) else []
    if each and all(map(is_value, each)) and len(each) <= 2:
        return [(each[0], each[-1])] * rank
    pairs = [pair if isinstance(pair, (tuple, list)) else [] for pair in each]
    if len(pairs) not in (1, rank) or not all(1 <= len(pair) <= 2 and all(map(is_value, pair)) for pair in pairs):
        kind = repr(given) if isinstance(given, (tuple, list)) else kind_of(given)
        raise TypeError(f"pad(): {name} is one value, a pair, or a pair for each of {rank} axes, not {kind}")
    found = [(pair[0], pair[-1]) for pair in pairs]
    return found * rank if len(found) == 1 else found


def _pad_widths(width: Any, rank: int) -> list[tuple[int, int]]:
    if is_integer(width):
        pairs = [[operator.index(width)] * 2] * rank
    else:
        each = list(width)
        nested: Sequence[Any] = [each] * rank if all(map(is_integer, each)) and len(each) == 2 else each
        found = [integers(pair, "numbers of elements") for pair in nested]
        found = [pair * 2 if len(pair) == 1 else pair for pair in found]
        pairs = found * rank if len(found) == 1 else found
    if len(pairs) != rank or any(len(pair) != 2 for pair in pairs):
        raise ValueError(f"pad(): width is an int, a pair, or a pair for each of {rank} axes, not {width!r}")
    if any(n < 0 for pair in pairs for n in pair):
        raise ValueError(f"pad(): a width is not negative: {width!r}")
    return [(low, high) for low, high in pairs]
