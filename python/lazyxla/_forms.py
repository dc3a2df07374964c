"""NumPy's functions of shapes and sizes, of grids by slices, and of parts, beside the standard's."""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence
from typing import Any

from . import _core
from ._core import Array
from ._creation import arange, asarray, linspace
from ._operands import common_dtype
from ._shapes import concat, moveaxis, reshape, split
from ._sizes import Sizes, integers, normalized

# Shapes and sizes.


def _array(x: Any) -> Array:
    return x if isinstance(x, Array) else asarray(x)


def shape(x: Any, /) -> tuple[int, ...]:
    """Returns the sizes of the axes of an array, or of nested lists.

    >>> import lazyxla as lx
    >>> lx.shape([[1, 2, 3]])
    (1, 3)
    """
    return tuple(_array(x).shape)


def ndim(x: Any, /) -> int:
    """Returns the number of axes of an array, or of nested lists.

    >>> import lazyxla as lx
    >>> lx.ndim([[1, 2, 3]])
    2
    """
    return _array(x).ndim


def isscalar(x: Any, /) -> bool:
    """Returns whether a value is a scalar of Python or NumPy; an array without axes is not.

    >>> import lazyxla as lx
    >>> lx.isscalar(3.0), lx.isscalar(lx.asarray(3.0))
    (True, False)
    """
    if isinstance(x, (bool, int, float, complex, str, bytes)):
        return True
    return hasattr(x, "__array_interface__") and hasattr(x, "item") and type(x).__name__ != "ndarray" and x.shape == ()


def size(x: Any, /, axis: int | None = None) -> int:
    """Returns the number of elements of an array, or of those along an axis.

    >>> import lazyxla as lx
    >>> lx.size(lx.zeros((2, 3))), lx.size(lx.zeros((2, 3)), 1)
    (6, 3)
    """
    x = _array(x)
    return math.prod(x.shape) if axis is None else x.shape[normalized([axis], x.ndim)[0]]


def copy(x: Any, /) -> Array:
    """Returns a new array with the values of another one: operations in place on either do not affect the other.

    >>> import lazyxla as lx
    >>> x = lx.zeros(2)
    >>> y = lx.copy(x)
    >>> y += 1
    >>> x.tolist(), y.tolist()
    ([0.0, 0.0], [1.0, 1.0])
    """
    return asarray(x, copy=True) if isinstance(x, Array) else asarray(x)


def resize(x: Any, /, new_shape: Sizes) -> Array:
    """Returns an array of a shape with the elements of x in row-major order, repeated as often as needed.

    >>> import lazyxla as lx
    >>> lx.resize(lx.asarray([1, 2, 3]), (2, 2)).tolist()
    [[1, 2], [3, 1]]
    """
    x = _array(x)
    sizes = integers(new_shape, "resize(): sizes")
    if builtins.any(each < 0 for each in sizes):
        raise ValueError(f"resize(): sizes are at least 0, not {tuple(sizes)}")
    count, flat = math.prod(sizes), reshape(x, (-1,))
    if flat.shape[0] == 0:
        zero: Any = False if x.dtype == _core.bool else 0
        return _core.full(sizes, zero, x.dtype, x.device)
    if count > flat.shape[0]:
        flat = _core.tile(flat, [-(-count // flat.shape[0])])
    return reshape(_core.slice_axis(flat, 0, 0, count, 1), sizes)


def rollaxis(x: Array, axis: int, /, start: int = 0) -> Array:
    """Returns x with an axis moved before the axis ``start``. ``moveaxis`` is easier to read.

    >>> import lazyxla as lx
    >>> lx.rollaxis(lx.zeros((2, 3, 4)), 2).shape
    (4, 2, 3)
    """
    (at,) = normalized([axis], x.ndim)
    to = start + x.ndim if start < 0 else start
    normalized([to], x.ndim + 1)
    return moveaxis(x, at, to - 1 if at < to else to)


def dsplit(x: Array, parts: int | Sequence[int], /) -> list[Array]:
    """Returns the parts of x along the third axis, as ``split``.

    >>> import lazyxla as lx
    >>> [part.shape for part in lx.dsplit(lx.zeros((1, 2, 4)), 2)]
    [(1, 2, 2), (1, 2, 2)]
    """
    if x.ndim < 3:
        raise ValueError(f"dsplit() takes arrays of rank 3 and more, not {x.ndim}")
    return split(x, parts, 2)


def trim_zeros(x: Any, /, trim: str = "fb") -> Array:
    """Returns a vector without the zeros at its front ("f"), its back ("b") or both. Reads where the others are.

    >>> import lazyxla as lx
    >>> lx.trim_zeros(lx.asarray([0, 1, 0, 2, 0])).tolist()
    [1, 0, 2]
    """
    x = _array(x)
    if x.ndim != 1:
        raise ValueError(f"trim_zeros() takes a vector, not an array of rank {x.ndim}")
    if not trim or {*trim.lower()} - {*"fb"}:
        raise ValueError(f"trim_zeros(): trim is 'f', 'b' or 'fb', not {trim!r}")
    places = [i for i, value in enumerate(x.tolist()) if value != 0]
    first = places[0] if places and "f" in trim.lower() else 0 if places else x.shape[0]
    last = places[-1] + 1 if places and "b" in trim.lower() else x.shape[0]
    return _core.slice_axis(x, 0, first, last, 1)


# Grids and joins by slices.


def _range(key: slice) -> Array:
    """Returns the numbers of a slice; a complex step is their number, with both ends."""
    start, stop, step = (0 if key.start is None else key.start), key.stop, (1 if key.step is None else key.step)
    if stop is None:
        raise ValueError("a slice of a grid has an end: 0:5, 0:1:0.1, or 0:1:11j for 11 numbers with both ends")
    if isinstance(step, complex):
        return linspace(float(start), float(stop), int(builtins.abs(step)))
    return arange(start, stop, step)


class _Grid:
    """``lx.mgrid[0:2, 0:3]``: the coordinates of a grid, an array with a row for each axis. A complex step is the number of
    coordinates, with both ends: ``lx.mgrid[0:1:5j]``."""

    __slots__ = ("_is_sparse",)

    def __init__(self, is_sparse: bool) -> None:
        self._is_sparse = is_sparse

    def __getitem__(self, key: slice | tuple[slice, ...]) -> Any:
        if isinstance(key, slice):
            return _range(key)
        ranges = [_range(each) for each in key]
        if not ranges:
            raise ValueError("a grid has at least one slice")
        dtype = common_dtype(each.dtype for each in ranges)
        sizes = [each.shape[0] for each in ranges]
        apart = [
            reshape(each.astype(dtype, copy=False), [size if i == at else 1 for i in range(len(sizes))])
            for at, (each, size) in enumerate(zip(ranges, sizes, strict=True))
        ]
        if self._is_sparse:
            return tuple(apart)
        return _core.join([_core.broadcast_to(each, sizes) for each in apart], 0, True)


class _Join:
    """``lx.r_[0:3, 7, x]``: numbers, ranges and arrays one behind the other; ``lx.c_[x, y]``: vectors as columns."""

    __slots__ = ("_of", "_is_columns")

    def __init__(self, is_columns: bool) -> None:
        self._is_columns, self._of = is_columns, "c_" if is_columns else "r_"

    def __getitem__(self, key: Any) -> Array:
        parts = []
        for each in key if isinstance(key, tuple) else (key,):
            if isinstance(each, str):
                raise TypeError(f"{self._of} takes numbers, slices and arrays, not the text {each!r}; take lx.concat")
            x = _range(each) if isinstance(each, slice) else _array(each)
            if self._is_columns:
                parts.append(reshape(x, (-1, 1)) if x.ndim < 2 else x)
            else:
                parts.append(reshape(x, (1,)) if x.ndim == 0 else x)
        return concat(parts, -1 if self._is_columns else 0)


class _Slices:
    """``lx.s_[1:, ::2]``: the key of an index, as an object."""

    def __getitem__(self, key: Any) -> Any:
        return key


mgrid, ogrid, r_, c_, s_ = _Grid(False), _Grid(True), _Join(False), _Join(True), _Slices()
