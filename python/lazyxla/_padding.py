"""Elements before and after the axes of an array: ``pad``."""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable
from typing import Any

from . import _core
from ._core import Array
from ._sizes import integers, is_integer


def pad(x: Array, /, width: Any, mode: str = "constant", *, value: Any = 0, constant_values: Any = None) -> Array:
    """Returns x with elements before and after each axis, as ``numpy.pad``.

    ``width`` is their number: an int for all axes, a pair of those before and after all axes, or a pair for each axis.
    ``mode`` is "constant" for ``value``, "edge" for the next element, "reflect" and "symmetric" for a reflection
    without and with the element at the edge, or "wrap". ``value`` is a scalar, or an array of one element, which is
    read; NumPy's name for it is ``constant_values``.

    >>> import lazyxla as lx
    >>> lx.pad(lx.asarray([1, 2, 3]), (1, 2), value=9).tolist()
    [9, 1, 2, 3, 9, 9]
    >>> lx.pad(lx.asarray([1, 2, 3]), 2, mode="reflect").tolist()
    [3, 2, 1, 2, 3, 2, 1]
    """
    if constant_values is not None:
        if not isinstance(constant_values, (bool, int, float, complex)) and not hasattr(constant_values, "item"):
            raise TypeError(f"pad(): constant_values is one number, not a {type(constant_values).__name__}")
        value = constant_values
    pairs = _pad_widths(width, x.ndim)
    if mode == "constant":
        fill = value.item() if hasattr(value, "item") else value
        if isinstance(fill, complex) and x.dtype.kind != "complex floating":
            raise TypeError(f"pad(): value is {fill}, which {x.dtype.name} cannot represent")
        if x.dtype == _core.bool and fill in (0, 1):
            fill = builtins.bool(fill)
        _core.scalar_like(fill, x)  # refuses numbers that x's dtype lacks
        return _core.pad(x, fill, [low for low, _ in pairs], [high for _, high in pairs])
    if mode not in _PADS:
        raise ValueError(f"pad(): mode is constant, {', '.join(_PADS)}, not {mode!r}")
    for axis, (low, high) in enumerate(pairs):
        n = x.shape[axis]
        if low == high == 0:
            continue
        if n == 0:
            raise ValueError(f"pad(): mode {mode!r} takes no elements from axis {axis}, which has none")
        places = [_PADS[mode](i, n) for i in range(-low, n + high)]
        x = _core.take(x, _core.from_nested(places, _core.int64, x.device), axis)
    return x.copy()


def _reflected(i: int, n: int) -> int:
    i = i % (2 * n - 2) if n > 1 else 0
    return i if i < n else 2 * n - 2 - i


def _symmetric(i: int, n: int) -> int:
    i %= 2 * n
    return i if i < n else 2 * n - 1 - i


# For each mode: the index, on an axis of n elements, of the element that a padded position copies.
_PADS: dict[str, Callable[[int, int], int]] = {
    "edge": lambda i, n: builtins.min(builtins.max(i, 0), n - 1),
    "reflect": _reflected,
    "symmetric": _symmetric,
    "wrap": lambda i, n: i % n,
}


def _pad_widths(width: Any, rank: int) -> list[tuple[int, int]]:
    if is_integer(width):
        pairs = [[operator.index(width)] * 2] * rank
    else:
        each = list(width)
        nested = [each] * rank if all(map(is_integer, each)) and len(each) == 2 else each
        found = [integers(pair, "numbers of elements") for pair in nested]
        found = [pair * 2 if len(pair) == 1 else pair for pair in found]
        pairs = found * rank if len(found) == 1 else found
    if len(pairs) != rank or any(len(pair) != 2 for pair in pairs):
        raise ValueError(f"pad(): width is an int, a pair, or a pair for each of {rank} axes, not {width!r}")
    if any(n < 0 for pair in pairs for n in pair):
        raise ValueError(f"pad(): a width is not negative: {width!r}")
    return [(low, high) for low, high in pairs]
