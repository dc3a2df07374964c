"""Reductions, searches, sorting, sets and cumulative sums, of the array API standard."""

from __future__ import annotations

import builtins
import math
from typing import Any

from . import _constants as c
from . import _core
from ._core import Array
from ._creation import asarray
from ._masked import masked, with_initial
from ._operands import operands
from ._shapes import Axis, axes_of, reshape, take
from ._sizes import DTypeLike, is_integer, normalized


def _ordered(name: str, x: Array) -> None:
    if x.dtype.kind not in ("bool", "signed integer", "unsigned integer", "real floating"):
        raise TypeError(f"{name}() takes real dtypes, not {x.dtype.name}")


def _extreme(name: str, x: Array, axis: int | None, keepdims: bool, largest: bool) -> Array:
    # The first true element: ``argmax(x > limit)``.
    _ordered(name, x)
    x = x.astype(_core.uint8) if x.dtype.kind == "bool" else x
    if axis is not None:
        return _core.arg_extreme(x, axis, keepdims, largest)
    found = _core.arg_extreme(reshape(x, (-1,)), 0, False, largest)
    return _core.reshape(found, (1,) * x.ndim) if keepdims else found


def argmax(x: Array, /, axis: int | None = None, *, keepdims: bool = False) -> Array:
    """Returns the index of the largest element, the first of equal ones, or of the first NaN; of bools, of the first
    true one.

    >>> import lazyxla as lx
    >>> lx.argmax(lx.asarray([3, 9, 1])).item()
    1
    """
    return _extreme("argmax", x, axis, keepdims, True)


def argmin(x: Array, /, axis: int | None = None, *, keepdims: bool = False) -> Array:
    """Returns the index of the smallest element, the first of equal ones, or of the first NaN.

    >>> import lazyxla as lx
    >>> lx.argmin(lx.asarray([3, 9, 1])).item()
    2
    """
    return _extreme("argmin", x, axis, keepdims, False)


def count_nonzero(x: Array, /, axis: Axis = None, *, keepdims: bool = False) -> Array:
    """Returns the number of elements that are not 0, as int64.

    >>> import lazyxla as lx
    >>> lx.count_nonzero(lx.asarray([0, 3, 5])).item()
    2
    """
    return _core.reduce(c.REDUCE_SUM, x.astype(_core.bool), axes_of(axis), keepdims)


def places_of(x: Array, size: int, fill_value: Any) -> tuple[Array, ...]:
    """Returns the indices of the first ``size`` elements that are not 0, filled up with a number, or one for each axis:
    nothing is read."""
    if not is_integer(size) or size < 0:
        raise ValueError(f"size is a number of elements, not {size!r}")
    fills = list(fill_value) if isinstance(fill_value, (tuple, list)) else [fill_value] * x.ndim
    if len(fills) != x.ndim:
        raise ValueError(f"fill_value has {len(fills)} numbers for an array of rank {x.ndim}")
    is_there = _core.reshape(x.astype(_core.bool, copy=False), [x.size])
    # Those that are there come first, in their order.
    first = _core.argsort(is_there, 0, True, True)[:size]
    lacking = size - first.shape[0]
    if lacking:
        first = _core.join([first, _core.full([lacking], 0, _core.int64, x.device)], 0, False)
    is_one = _core.arange(0, size, 1, _core.int64, x.device) < count_nonzero(is_there)
    found, step = [], x.size
    for extent, fill in zip(x.shape, fills):
        step = step // builtins.max(extent, 1)
        place = first // builtins.max(step, 1) % builtins.max(extent, 1)
        found.append(
            _core.select(is_one, place, _core.full([size], 0 if fill is None else fill, _core.int64, x.device))
        )
    return tuple(found)


def nonzero(x: Array, /, *, size: int | None = None, fill_value: Any = None) -> tuple[Array, ...]:
    """Returns the indices of the elements that are not 0, an array for each axis. Their number is read, unless ``size``
    says how many to return, as in JAX: those that lack are ``fill_value``, by default 0.

    >>> import lazyxla as lx
    >>> [x.tolist() for x in lx.nonzero(lx.asarray([0, 3, 5]))]
    [[1, 2]]
    """
    if x.ndim == 0:
        raise ValueError("nonzero() takes arrays of rank 1 and more")
    if size is not None:
        return places_of(x, size, fill_value)
    return tuple(_core.nonzero(x))


def searchsorted(x1: Array, x2: Any, /, side: str = "left", sorter: Array | None = None) -> Array:
    """Returns where elements of x2, an array, a list or a number, would be inserted into x1, which is ascending: before or
    after equal ones.

    >>> import lazyxla as lx
    >>> lx.searchsorted(lx.asarray([1, 3, 5]), lx.asarray([3, 4])).tolist()
    [1, 2]
    """
    if side not in ("left", "right"):
        raise ValueError(f"side is 'left' or 'right', not {side!r}")
    if sorter is not None:
        if isinstance(sorter, Array) and sorter.dtype.kind not in ("signed integer", "unsigned integer"):
            raise TypeError(f"searchsorted(): sorter has integers, not {sorter.dtype.name}")
        x1 = take(x1, sorter)
    x2 = x2 if isinstance(x2, Array) else asarray(x2, device=x1.device)
    if x1.dtype != x2.dtype:
        x1, x2 = operands("searchsorted", x1, x2)
    return _core.searchsorted(x1, x2, side == "right")


def argsort(
    x: Array, /, axis: int | None = -1, kind: str | None = None, *, descending: bool = False, stable: bool = True
) -> Array:
    """Returns the indices that sort x along an axis; without one (None), those of all elements in row-major order. Every
    ``kind`` of NumPy's is stable here.

    >>> import lazyxla as lx
    >>> lx.argsort(lx.asarray([3, 9, 1])).tolist()
    [2, 0, 1]
    """
    _ordered("argsort", x)
    _sort_kind("argsort", kind)
    x, axis = (reshape(x, (-1,)), 0) if axis is None else (x, axis)
    return _core.argsort(x, axis, descending, stable)


def _sort_kind(of: str, kind: Any) -> None:
    if kind not in (None, "quicksort", "heapsort", "mergesort", "stable"):
        raise ValueError(f"{of}(): kind is 'quicksort', 'heapsort', 'mergesort' or 'stable', not {kind!r}")


def sort(
    x: Array, /, axis: int | None = -1, kind: str | None = None, *, descending: bool = False, stable: bool = True
) -> Array:
    """Returns x sorted along an axis, or all elements for None; NaN counts as greater than every number. ``kind`` is that
    of ``argsort``.

    >>> import lazyxla as lx
    >>> lx.sort(lx.asarray([3, 9, 1]), descending=True).tolist()
    [9, 3, 1]
    """
    _ordered("sort", x)
    _sort_kind("sort", kind)
    x, axis = (reshape(x, (-1,)), 0) if axis is None else (x, axis)
    return _core.sort(x, axis, descending, stable)


# Reductions.


def _widened(x: Array, dtype: DTypeLike | None) -> Array:
    """Returns x in the dtype of its sums: the given one, and else int64 or uint64 for narrower integers."""
    if dtype is not None:
        return x.astype(dtype, copy=False)
    wide = {"bool": _core.int64, "signed integer": _core.int64, "unsigned integer": _core.uint64}.get(x.dtype.kind)
    return x if wide is None else x.astype(wide, copy=False)


def sum(
    x: Array,
    /,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    *,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Array:
    """Returns sums over axes. Integers are summed in 64 bits unless a dtype is given. Only elements where a mask is true
    count, and ``initial`` is added.

    >>> import lazyxla as lx
    >>> lx.sum(lx.asarray([[1, 2], [3, 4]]), axis=0).tolist()
    [4, 6]
    """
    wide = masked(_widened(x, dtype), where, 0)
    result = with_initial(c.BINARY_ADD, _core.reduce(c.REDUCE_SUM, wide, axes_of(axis), keepdims), initial)
    return result if dtype is None else result.astype(wide.dtype, copy=False)


def prod(
    x: Array,
    /,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    *,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Array:
    """Returns products over axes. Integers are multiplied in 64 bits unless a dtype is given. ``initial`` and ``where`` are
    those of ``sum``.

    >>> import lazyxla as lx
    >>> lx.prod(lx.asarray([2, 3, 4])).item()
    24
    """
    wide = masked(_widened(x, dtype), where, 1)
    result = with_initial(c.BINARY_MULTIPLY, _core.reduce(c.REDUCE_PRODUCT, wide, axes_of(axis), keepdims), initial)
    return result if dtype is None else result.astype(wide.dtype, copy=False)


def max(x: Array, /, axis: Axis = None, *, keepdims: bool = False, initial: Any = None, where: Any = None) -> Array:
    """Returns the largest elements over axes; NaN if one is NaN. ``initial`` is one more element, also of axes without
    elements; with it, only elements where a mask is true count.

    >>> import lazyxla as lx
    >>> lx.max(lx.asarray([[1, 5], [7, 2]]), axis=0).tolist()
    [7, 5]
    """
    return _largest("max", (c.REDUCE_MAX, c.BINARY_MAXIMUM), x, axis, keepdims, initial, where)


def min(x: Array, /, axis: Axis = None, *, keepdims: bool = False, initial: Any = None, where: Any = None) -> Array:
    """Returns the smallest elements over axes; NaN if one is NaN. ``initial`` and ``where`` are those of ``max``.

    >>> import lazyxla as lx
    >>> lx.min(lx.asarray([[1, 5], [7, 2]]), axis=0).tolist()
    [1, 2]
    """
    return _largest("min", (c.REDUCE_MIN, c.BINARY_MINIMUM), x, axis, keepdims, initial, where)


def _largest(name: str, ops: tuple[int, int], x: Array, axis: Axis, keepdims: bool, initial: Any, where: Any) -> Array:
    _ordered(name, x)
    if x.dtype.kind == "bool":
        # The library has no largest bool.
        bits = x.astype(_core.uint8)
        return _largest(name, ops, bits, axis, keepdims, initial, where).astype(_core.bool)
    axes = axes_of(axis)
    x = masked(x, where, initial)
    if initial is None and builtins.any(
        x.shape[each] == 0 for each in (range(x.ndim) if axes is None else normalized(axes, x.ndim))
    ):
        raise ValueError(f"{name}() of no elements has no value")
    return with_initial(ops[1], _core.reduce(ops[0], x, axes, keepdims), initial)


def all(x: Array, /, axis: Axis = None, *, keepdims: bool = False, where: Any = None) -> Array:
    """Returns whether all elements over axes are not 0, of those where a mask is true.

    >>> import lazyxla as lx
    >>> lx.all(lx.asarray([[True, False], [True, True]]), axis=1).tolist()
    [False, True]
    """
    return _core.reduce(c.REDUCE_ALL, masked(x.astype(_core.bool, copy=False), where, True), axes_of(axis), keepdims)


def any(x: Array, /, axis: Axis = None, *, keepdims: bool = False, where: Any = None) -> Array:
    """Returns whether an element over axes is not 0, of those where a mask is true.

    >>> import lazyxla as lx
    >>> lx.any(lx.asarray([[True, False], [False, False]]), axis=1).tolist()
    [True, False]
    """
    return _core.reduce(c.REDUCE_ANY, masked(x.astype(_core.bool, copy=False), where, False), axes_of(axis), keepdims)


_FLOATS = ("real floating", "complex floating")


def _in_dtype(name: str, x: Array, dtype: DTypeLike | None) -> Array:
    """Returns x in the dtype that a mean or a variance is asked for."""
    x = x if dtype is None else x.astype(dtype, copy=False)
    if x.dtype.kind not in _FLOATS:
        raise TypeError(f"{name}(): dtype is a float or complex dtype, not {x.dtype.name}")
    return x


def mean(
    x: Array, /, axis: Axis = None, dtype: DTypeLike | None = None, *, keepdims: bool = False, where: Any = None
) -> Array:
    """Returns the mean over axes, of the elements where a mask is true. Without a dtype, the mean of integers and bools is
    float32, computed in float64.

    >>> import lazyxla as lx
    >>> lx.mean(lx.asarray([1.0, 2.0, 6.0])).item()
    3.0
    """
    if dtype is None and x.dtype.kind not in _FLOATS:
        return mean(x, axis, _core.float64, keepdims=keepdims, where=where).astype(_core.float32)
    x = _in_dtype("mean", x, dtype)
    if where is not None and x.dtype.kind == "real floating" and x.dtype.itemsize < 4:
        # Sums and counts of floats of 16 bits and less overflow, or lose what is added.
        return mean(x.astype(_core.float32), axis, keepdims=keepdims, where=where).astype(x.dtype)
    if where is not None:
        ones = masked(_core.full(x.shape, 1, x.dtype, x.device), where, 0)
        return sum(x, axis, keepdims=keepdims, where=where) / sum(ones, axis, keepdims=keepdims)
    if x.dtype.kind == "complex floating":
        axes = axes_of(axis)
        over = range(x.ndim) if axes is None else normalized(axes, x.ndim)
        return _core.reduce(c.REDUCE_SUM, x, axes, keepdims) / math.prod(x.shape[axis] for axis in over)
    return _core.mean(x, axes_of(axis), keepdims)


def _corrected(name: str, correction: float, ddof: float | None) -> float:
    if ddof is not None and correction != 0.0:
        raise ValueError(f"{name}(): ddof and correction are one argument, but both are given: {ddof}, {correction}")
    return correction if ddof is None else ddof


def var(
    x: Array,
    /,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    *,
    correction: float = 0.0,
    ddof: float | None = None,
    keepdims: bool = False,
    where: Any = None,
) -> Array:
    """Returns the variance over axes: squares divided by their number less ``correction``, which NumPy calls ``ddof``.
    The variance of complex numbers is real: squares of absolute values. Without a dtype, the variance of integers is
    float32, computed in float64. ``where`` is a mask of the elements that count.

    >>> import lazyxla as lx
    >>> lx.var(lx.asarray([1.0, 3.0]), correction=1).item()
    2.0
    """
    correction = _corrected("var", correction, ddof)
    if dtype is None and x.dtype.kind not in _FLOATS:
        return var(x, axis, _core.float64, correction=correction, keepdims=keepdims, where=where).astype(_core.float32)
    x = _in_dtype("var", x, dtype)
    if where is not None:
        return _masked_variance(x, axis, correction, keepdims, where)
    if x.dtype.kind == "complex floating":
        return _complex_variance(x, axis, correction, keepdims)
    return _core.variance(x, axes_of(axis), correction, keepdims, False)


def _masked_variance(x: Array, axis: Axis, correction: float, keepdims: bool, where: Any) -> Array:
    """Returns the variance of the elements where a mask is true; NaN where none is, or not more than ``correction``."""
    if x.dtype.kind == "real floating" and x.dtype.itemsize < 4:
        return _masked_variance(x.astype(_core.float32), axis, correction, keepdims, where).astype(x.dtype)
    apart = x - mean(x, axis, keepdims=True, where=where)
    squares = (
        _core.part(apart * _core.unary(c.UNARY_CONJ, apart), False) if x.dtype.kind in _FLOATS[1:] else apart * apart
    )
    ones = masked(_core.full(x.shape, 1, squares.dtype, x.device), where, 0)
    count = sum(ones, axis, keepdims=keepdims) - correction
    count = _core.binary(c.BINARY_MAXIMUM, count, 0, False, False)
    return sum(squares, axis, keepdims=keepdims, where=where) / count


def _complex_variance(x: Array, axis: Axis, correction: float, keepdims: bool) -> Array:
    over = range(x.ndim) if axis is None else normalized(axes_of(axis) or [], x.ndim)
    apart = x - mean(x, axis=axis, keepdims=True)
    re, im = _core.part(apart, False), _core.part(apart, True)
    total = _core.reduce(c.REDUCE_SUM, re * re + im * im, axes_of(axis), keepdims)
    # As for real numbers: NaN or infinities where no degrees of freedom are left.
    count = math.prod(x.shape[each] for each in over) - correction
    return total / builtins.max(count, 0)


def std(
    x: Array,
    /,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    *,
    correction: float = 0.0,
    ddof: float | None = None,
    keepdims: bool = False,
    where: Any = None,
) -> Array:
    """Returns the standard deviation over axes: the root of ``var``, with its arguments.

    >>> import lazyxla as lx
    >>> lx.std(lx.asarray([1.0, 3.0])).item()
    1.0
    """
    correction = _corrected("std", correction, ddof)
    if dtype is None and x.dtype.kind not in _FLOATS:
        return std(x, axis, _core.float64, correction=correction, keepdims=keepdims, where=where).astype(_core.float32)
    x = _in_dtype("std", x, dtype)
    if where is not None:
        return _masked_variance(x, axis, correction, keepdims, where) ** 0.5
    if x.dtype.kind == "complex floating":
        return _complex_variance(x, axis, correction, keepdims) ** 0.5
    return _core.variance(x, axes_of(axis), correction, keepdims, True)


def _cumulative(op: int, x: Array, axis: int | None, dtype: DTypeLike | None, include_initial: bool) -> Array:
    x = x.astype(_core.int64) if x.dtype == _core.bool else x
    if axis is None:
        if x.ndim > 1:
            raise ValueError("an array of several axes needs an axis")
        axis = 0
    if x.ndim == 0:
        x = _core.reshape(x, (1,))
    (at,) = normalized([axis], x.ndim)
    wide = _widened(x, dtype)
    found = _core.cumulative(op, wide, at)
    if dtype is not None:
        found = found.astype(wide.dtype, copy=False)
    if not include_initial:
        return found
    shape = [1 if i == at else size for i, size in enumerate(x.shape)]
    first = _core.full(shape, int(op == c.REDUCE_PRODUCT), found.dtype, x.device)
    return _core.join([first, found], at, False)


def cumulative_sum(
    x: Array, /, axis: int | None = None, dtype: DTypeLike | None = None, *, include_initial: bool = False
) -> Array:
    """Returns the sums of the elements up to each one along an axis; with ``include_initial`` preceded by 0.

    >>> import lazyxla as lx
    >>> lx.cumulative_sum(lx.asarray([1, 2, 3]), include_initial=True).tolist()
    [0, 1, 3, 6]
    """
    return _cumulative(c.REDUCE_SUM, x, axis, dtype, include_initial)


def cumulative_prod(
    x: Array, /, axis: int | None = None, dtype: DTypeLike | None = None, *, include_initial: bool = False
) -> Array:
    """Returns the products of the elements up to each one along an axis; with ``include_initial`` preceded by 1.

    >>> import lazyxla as lx
    >>> lx.cumulative_prod(lx.asarray([1, 2, 3])).tolist()
    [1, 2, 6]
    """
    return _cumulative(c.REDUCE_PRODUCT, x, axis, dtype, include_initial)
