"""NumPy's functions that arrange elements, beside the standard's: joins, splits, transpositions, diagonals."""

from __future__ import annotations

import builtins
import operator
from collections.abc import Sequence
from typing import Any

from . import _core
from ._core import Array
from ._creation import asarray, holds_lazy
from ._operands import operands, promoted
from ._shapes import moveaxis, concat, flip, reshape, split
from ._sizes import integers, is_integer, normalized


def _arrays(of: str, arrays: Any) -> list[Array]:
    """Returns the arrays of a sequence, scalars among them as arrays; the rows of one array."""
    each = [*arrays]
    if not each:
        raise ValueError(f"{of}(): arrays is empty; want at least one array")
    if all(isinstance(x, Array) for x in each):
        return each
    return operands(of, *each)


def ravel(x: Array, /, order: str = "C") -> Array:
    """Returns all elements in one axis, row-major, or column-major for ``order="F"``.

    >>> import lazyxla as lx
    >>> lx.ravel(lx.asarray([[1, 2], [3, 4]])).tolist()
    [1, 2, 3, 4]
    """
    if order not in ("C", "K", "A", "F"):
        raise ValueError(f"ravel(): order is 'C' or 'F', not {order!r}")
    return reshape(x, (-1,), "F" if order == "F" else "C")


def transpose(x: Array, /, axes: Sequence[int] | None = None) -> Array:
    """Returns x with its axes in another order, reversed without ``axes``: axis i of the result is ``axes[i]`` of x.

    >>> import lazyxla as lx
    >>> lx.transpose(lx.zeros((2, 3, 4))).shape, lx.transpose(lx.zeros((2, 3, 4)), (0, 2, 1)).shape
    ((4, 3, 2), (2, 4, 3))
    """
    order = range(x.ndim)[::-1] if axes is None else normalized(integers(axes, "axes"), x.ndim)
    return _core.transpose(x, [*order])


def swapaxes(x: Array, /, axis1: int, axis2: int) -> Array:
    """Returns x with two axes exchanged.

    >>> import lazyxla as lx
    >>> lx.swapaxes(lx.zeros((2, 3, 4)), 0, -1).shape
    (4, 3, 2)
    """
    a, b = normalized([axis1, axis2], x.ndim)
    order = [*range(x.ndim)]
    order[a], order[b] = b, a
    return _core.transpose(x, order)


def _at_least(of: str, rank: int, arrays: Sequence[Any]) -> Any:
    found = []
    for x in arrays:
        if not isinstance(x, Array):
            x = asarray(x)
        if rank == 3 and x.ndim in (1, 2):
            x = _core.expand_dims(x, [2] if x.ndim == 2 else [0, 2])
        else:
            x = reshape(x, (1,) * (rank - x.ndim) + x.shape) if x.ndim < rank else x
        found.append(x)
    if not found:
        raise TypeError(f"{of}() takes at least one array")
    return found[0] if len(found) == 1 else tuple(found)


def atleast_1d(*arrays: Any) -> Any:
    """Returns arrays with at least one axis; a tuple of them for several.

    >>> import lazyxla as lx
    >>> lx.atleast_1d(lx.asarray(3)).shape
    (1,)
    """
    return _at_least("atleast_1d", 1, arrays)


def atleast_2d(*arrays: Any) -> Any:
    """Returns arrays with at least two axes, a vector as a row; a tuple of them for several.

    >>> import lazyxla as lx
    >>> lx.atleast_2d(lx.asarray([1, 2])).shape
    (1, 2)
    """
    return _at_least("atleast_2d", 2, arrays)


def atleast_3d(*arrays: Any) -> Any:
    """Returns arrays with at least three axes, a vector along the second one; a tuple of them for several.

    >>> import lazyxla as lx
    >>> lx.atleast_3d(lx.asarray([1, 2])).shape
    (1, 2, 1)
    """
    return _at_least("atleast_3d", 3, arrays)


def vstack(arrays: Sequence[Array], /) -> Array:
    """Returns arrays one below the other: along the first axis, vectors as rows.

    >>> import lazyxla as lx
    >>> lx.vstack([lx.asarray([1, 2]), lx.asarray([3, 4])]).tolist()
    [[1, 2], [3, 4]]
    """
    return concat([atleast_2d(x) for x in _arrays("vstack", arrays)], 0)


def hstack(arrays: Sequence[Array], /) -> Array:
    """Returns arrays side by side: along the second axis, vectors along their only one.

    >>> import lazyxla as lx
    >>> lx.hstack([lx.asarray([1, 2]), lx.asarray([3, 4])]).tolist()
    [1, 2, 3, 4]
    """
    each = [atleast_1d(x) for x in _arrays("hstack", arrays)]
    return concat(each, 0 if each[0].ndim == 1 else 1)


def dstack(arrays: Sequence[Array], /) -> Array:
    """Returns arrays along the third axis.

    >>> import lazyxla as lx
    >>> lx.dstack([lx.asarray([1, 2]), lx.asarray([3, 4])]).tolist()
    [[[1, 3], [2, 4]]]
    """
    return concat([atleast_3d(x) for x in _arrays("dstack", arrays)], 2)


def column_stack(arrays: Sequence[Array], /) -> Array:
    """Returns arrays side by side, vectors as columns.

    >>> import lazyxla as lx
    >>> lx.column_stack([lx.asarray([1, 2]), lx.asarray([3, 4])]).tolist()
    [[1, 3], [2, 4]]
    """
    each = _arrays("column_stack", arrays)
    return concat([x if x.ndim > 1 else reshape(x, (-1, 1)) for x in each], 1)


def array_split(x: Array, parts: int | Sequence[int], /, axis: int = 0) -> list[Array]:
    """Returns the parts of x along an axis, as ``split``; for an int also where they are not equal: the first ones are
    longer by 1.

    >>> import lazyxla as lx
    >>> [part.tolist() for part in lx.array_split(lx.arange(5), 3)]
    [[0, 1], [2, 3], [4]]
    """
    if not is_integer(parts):
        return split(x, parts, axis)
    (at,) = normalized([axis], x.ndim)
    count = operator.index(parts)  # type: ignore[arg-type]
    if count < 1:
        raise ValueError(f"array_split(): parts is at least 1, not {count}")
    size, longer = divmod(x.shape[at], count)
    return _core.split(x, [size + 1] * longer + [size] * (count - longer), at)


def vsplit(x: Array, parts: int | Sequence[int], /) -> list[Array]:
    """Returns the parts of x along the first axis, as ``split``; x has at least two axes.

    >>> import lazyxla as lx
    >>> [part.shape for part in lx.vsplit(lx.zeros((4, 3)), 2)]
    [(2, 3), (2, 3)]
    """
    if x.ndim < 2:
        raise ValueError(f"vsplit() takes arrays of rank 2 and more, not {x.ndim}")
    return split(x, parts, 0)


def hsplit(x: Array, parts: int | Sequence[int], /) -> list[Array]:
    """Returns the parts of x along the second axis, of a vector along its only one, as ``split``.

    >>> import lazyxla as lx
    >>> [part.shape for part in lx.hsplit(lx.zeros((3, 4)), 2)]
    [(3, 2), (3, 2)]
    """
    if x.ndim < 1:
        raise ValueError("hsplit() takes arrays of rank 1 and more, not 0")
    return split(x, parts, 0 if x.ndim == 1 else 1)


def _values_like(of: str, x: Array, values: Any) -> list[Array]:
    if isinstance(values, (list, tuple)):
        values = asarray(values) if holds_lazy(values) else asarray(values, device=x.device)
    return operands(of, x, values)


def append(x: Array, values: Any, /, axis: int | None = None) -> Array:
    """Returns x with values behind its elements along an axis; without one, all elements of both in one axis.

    >>> import lazyxla as lx
    >>> lx.append(lx.asarray([1, 2]), [3, 4]).tolist()
    [1, 2, 3, 4]
    """
    return concat(_values_like("append", x, values), axis)


def _on_axis(x: Array, axis: int | None) -> tuple[Array, int]:
    if axis is None:
        return reshape(x, (-1,)), 0
    return x, normalized([axis], x.ndim)[0]


def _places(of: str, obj: Any, size: int, most: int) -> list[int]:
    """Returns the places on an axis that an int, a slice, a mask or a sequence of ints names; an array is read."""
    if isinstance(obj, slice):
        return [*range(size)[obj]]
    if hasattr(obj, "tolist"):
        obj = obj.tolist()
    values = [obj] if isinstance(obj, int) and not isinstance(obj, bool) else [*obj]
    if values and all(isinstance(value, bool) for value in values):
        if len(values) != size:
            raise IndexError(f"{of}(): a mask of {len(values)} elements for an axis of size {size}")
        return [i for i, value in enumerate(values) if value]
    found = integers(values, f"{of}(): places")
    for value in found:
        if not -size <= value <= most:
            raise IndexError(f"{of}(): {value} is out of range for an axis of size {size}")
    return [value + size if value < 0 else value for value in found]


def delete(x: Array, obj: Any, /, axis: int | None = None) -> Array:
    """Returns x without the elements at ``obj`` along an axis: an int, a slice, a mask, or several ints. An array of them
    is read: the shape depends on it. Without an axis, all elements in one axis are meant.

    >>> import lazyxla as lx
    >>> lx.delete(lx.asarray([10, 20, 30]), 1).tolist()
    [10, 30]
    """
    x, at = _on_axis(x, axis)
    size = x.shape[at]
    gone = {*_places("delete", obj, size, size - 1)}
    if len(gone) == 1:
        (place,) = gone
        whole = (slice(None),) * at
        return _core.join([x[(*whole, slice(None, place))], x[(*whole, slice(place + 1, None))]], at, False)
    kept = [i for i in range(size) if i not in gone]
    return _core.take(x, _core.from_nested(kept, _core.int64, x.device), at)


def insert(x: Array, obj: Any, values: Any, /, axis: int | None = None) -> Array:
    """Returns x with values before the elements at ``obj`` along an axis, which are given as for ``delete``. The result
    has x's dtype. Without an axis, all elements in one axis are meant.

    >>> import lazyxla as lx
    >>> lx.insert(lx.asarray([10, 20, 30]), 1, 15).tolist()
    [10, 15, 20, 30]
    """
    dtype = x.dtype
    x, at = _on_axis(x, axis)
    size = x.shape[at]
    values = _values_like("insert", x, values)[1].astype(dtype, copy=False)
    places = _places("insert", obj, size, size)
    if is_integer(obj):
        # Several values before one place, as in NumPy: the first axis of values, which may be absent, is x's.
        values = moveaxis(reshape(values, (1,) * (x.ndim - values.ndim) + values.shape), 0, at)
        places = places * values.shape[at]
    shape = (*x.shape[:at], len(places), *x.shape[at + 1 :])
    joined = _core.join([x, _core.broadcast_to(values, shape)], at, False)
    # A place for each element of the result: sorted is stable, so that values keep their order.
    order = sorted([(place, 0, size + i) for i, place in enumerate(places)] + [(i, 1, i) for i in range(size)])
    return _core.take(joined, _core.from_nested([each[2] for each in order], _core.int64, x.device), at)


def rot90(x: Array, /, k: int = 1, axes: Sequence[int] = (0, 1)) -> Array:
    """Returns x rotated ``k`` times by 90 degrees, from the first of two axes towards the second.

    >>> import lazyxla as lx
    >>> lx.rot90(lx.asarray([[1, 2], [3, 4]])).tolist()
    [[2, 4], [1, 3]]
    """
    a, b = normalized(integers(axes, "axes"), x.ndim)
    if a == b:
        raise ValueError(f"rot90(): axes are two different ones, not {axes!r}")
    turns = operator.index(k) % 4
    if turns == 0:
        return x.copy()
    if turns == 2:
        return _core.flip(x, [a, b])
    return swapaxes(flip(x, b), a, b) if turns == 1 else flip(swapaxes(x, a, b), b)


def flipud(x: Array, /) -> Array:
    """Returns x in reversed order along the first axis.

    >>> import lazyxla as lx
    >>> lx.flipud(lx.asarray([[1, 2], [3, 4]])).tolist()
    [[3, 4], [1, 2]]
    """
    return _core.flip(x, [0])


def fliplr(x: Array, /) -> Array:
    """Returns x in reversed order along the second axis.

    >>> import lazyxla as lx
    >>> lx.fliplr(lx.asarray([[1, 2], [3, 4]])).tolist()
    [[2, 1], [4, 3]]
    """
    return _core.flip(x, [1])


def diagonal(x: Array, /, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """Returns the diagonals of two axes, the first two as in NumPy, along a new last axis. For the diagonals of the last
    two axes, ``lx.linalg.diagonal`` is the standard's.

    >>> import lazyxla as lx
    >>> lx.diagonal(lx.asarray([[1, 2], [3, 4]])).tolist()
    [1, 4]
    """
    if x.ndim < 2:
        raise ValueError(f"diagonal() takes arrays of rank 2 and more, not {x.ndim}")
    a, b = normalized([axis1, axis2], x.ndim)
    if a == b:
        raise ValueError(f"diagonal(): axis1 and axis2 are different, not {axis1} and {axis2}")
    order = [i for i in range(x.ndim) if i not in (a, b)]
    x = _core.transpose(x, [*order, a, b])
    rows, columns = x.shape[-2:]
    row, column = builtins.max(-offset, 0), builtins.max(offset, 0)
    count = builtins.max(builtins.min(rows - row, columns - column), 0)
    flat = reshape(x, (*x.shape[:-2], rows * columns))
    start = row * columns + column
    return _core.slice_axis(flat, -1, start, start + (count - 1) * (columns + 1) + 1 if count else start, columns + 1)


def trace(x: Array, /, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Array:
    """Returns sums of the diagonals of two axes, the first two as in NumPy. ``lx.linalg.trace`` is the standard's.

    >>> import lazyxla as lx
    >>> lx.trace(lx.asarray([[1, 2], [3, 4]])).item()
    5
    """
    from ._reductions import sum as total

    return total(diagonal(x, offset, axis1, axis2), -1, dtype)


def diag(x: Array, /, k: int = 0) -> Array:
    """Returns diagonal ``k`` of a matrix, or of a vector the matrix that has it as diagonal ``k``.

    >>> import lazyxla as lx
    >>> lx.diag(lx.asarray([1, 2])).tolist(), lx.diag(lx.asarray([[1, 2], [3, 4]])).tolist()
    ([[1, 0], [0, 2]], [1, 4])
    """
    k = operator.index(k)
    if x.ndim == 2:
        return diagonal(x, k)
    if x.ndim != 1:
        raise ValueError(f"diag() takes vectors and matrices, not an array of rank {x.ndim}")
    n = x.shape[0]
    # The elements, each followed by the n zeros between two places of the diagonal of a square of n columns.
    apart = _core.join([reshape(x, (n, 1)), _core.full((n, n), _zero(x), x.dtype, x.device)], 1, False)
    square = reshape(reshape(apart, (-1,))[: n * n], (n, n))
    low, high = builtins.max(-k, 0), builtins.max(k, 0)
    return _core.pad(square, _zero(x), [low, high], [high, low])


def _zero(x: Array) -> Any:
    return False if x.dtype == _core.bool else 0


def diagflat(x: Array, /, k: int = 0) -> Array:
    """Returns the matrix with all elements of x as diagonal ``k``.

    >>> import lazyxla as lx
    >>> lx.diagflat(lx.asarray([[1, 2]])).tolist()
    [[1, 0], [0, 2]]
    """
    return diag(reshape(x, (-1,)), k)


def block(arrays: Any, /) -> Array:
    """Returns an array of nested lists of blocks: the innermost lists along the last axis, and so on outwards.

    >>> import lazyxla as lx
    >>> one = lx.ones((1, 1))
    >>> lx.block([[one, 2 * one], [3 * one, 4 * one]]).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """

    def depth(each: Any) -> int:
        return 1 + builtins.max(map(depth, each)) if isinstance(each, list) else 0

    def joined(each: Any, axis: int, rank: int) -> Array:
        if not isinstance(each, list):
            array = each if isinstance(each, Array) else asarray(each)
            return reshape(array, (1,) * (rank - array.ndim) + array.shape)
        return concat(promoted([joined(part, axis + 1, rank) for part in each]), axis)

    def rank_of(each: Any) -> int:
        return builtins.max(map(rank_of, each)) if isinstance(each, list) else getattr(each, "ndim", 0)

    levels = depth(arrays)
    rank = builtins.max(levels, rank_of(arrays))
    return joined(arrays, rank - levels, rank)
