"""NumPy's functions that make and take indices: of triangles and diagonals, of flat arrays, of grids."""

from __future__ import annotations

import array as buffers
import builtins
import math
from collections.abc import Sequence
from typing import Any

from . import _core
from ._core import Array
from ._creation import arange, asarray
from ._device import on
from ._elementwise import clip, where
from ._operands import INTEGERS
from ._parts import assign
from ._reductions import any, argsort, nonzero, sort
from ._shapes import broadcast_arrays, reshape, take
from ._sizes import DTypeLike, Sizes, integers, normalized

# Triangles and diagonals: on the host, since their number is known there.


def _pairs(rows: list[int], columns: list[int], device: Any) -> tuple[Array, Array]:
    made = [asarray(buffers.array("q", each), device=device) for each in (rows, columns)]
    return made[0], made[1]


def tril_indices(n: int, k: int = 0, m: int | None = None, *, device: Any = None) -> tuple[Array, Array]:
    """Returns the rows and the columns of the elements of a lower triangle: on and below diagonal ``k`` of n rows and m
    columns, by default n.

    >>> import lazyxla as lx
    >>> [each.tolist() for each in lx.tril_indices(2)]
    [[0, 1, 1], [0, 0, 1]]
    """
    columns = n if m is None else m
    ends = [builtins.min(builtins.max(i + k + 1, 0), columns) for i in range(n)]
    rows = [i for i, end in enumerate(ends) for _ in range(end)]
    return _pairs(rows, [j for end in ends for j in range(end)], device)


def triu_indices(n: int, k: int = 0, m: int | None = None, *, device: Any = None) -> tuple[Array, Array]:
    """Returns the rows and the columns of the elements of an upper triangle: on and above diagonal ``k`` of n rows and m
    columns, by default n.

    >>> import lazyxla as lx
    >>> [each.tolist() for each in lx.triu_indices(2)]
    [[0, 0, 1], [0, 1, 1]]
    """
    columns = n if m is None else m
    starts = [builtins.min(builtins.max(i + k, 0), columns) for i in range(n)]
    rows = [i for i, start in enumerate(starts) for _ in range(start, columns)]
    return _pairs(rows, [j for start in starts for j in range(start, columns)], device)


def _matrix(of: str, x: Array) -> tuple[int, int]:
    if x.ndim != 2:
        raise ValueError(f"{of}() takes a matrix, not an array of rank {x.ndim}")
    return x.shape[0], x.shape[1]


def tril_indices_from(x: Array, /, k: int = 0) -> tuple[Array, Array]:
    """Returns ``tril_indices`` for the shape of a matrix.

    >>> import lazyxla as lx
    >>> x = lx.asarray([[1, 2], [3, 4]])
    >>> x[lx.tril_indices_from(x)].tolist()
    [1, 3, 4]
    """
    n, m = _matrix("tril_indices_from", x)
    return tril_indices(n, k, m, device=x.device)


def triu_indices_from(x: Array, /, k: int = 0) -> tuple[Array, Array]:
    """Returns ``triu_indices`` for the shape of a matrix.

    >>> import lazyxla as lx
    >>> x = lx.asarray([[1, 2], [3, 4]])
    >>> x[lx.triu_indices_from(x)].tolist()
    [1, 2, 4]
    """
    n, m = _matrix("triu_indices_from", x)
    return triu_indices(n, k, m, device=x.device)


def diag_indices(n: int, ndim: int = 2, *, device: Any = None) -> tuple[Array, ...]:
    """Returns the indices of the diagonal of an array with ``ndim`` axes of size n.

    >>> import lazyxla as lx
    >>> x = lx.zeros((2, 2))
    >>> x[lx.diag_indices(2)] = 5.0
    >>> x.tolist()
    [[5.0, 0.0], [0.0, 5.0]]
    """
    return (arange(n, device=device),) * ndim


def diag_indices_from(x: Array, /) -> tuple[Array, ...]:
    """Returns ``diag_indices`` for an array whose axes have one size.

    >>> import lazyxla as lx
    >>> lx.asarray([[1, 2], [3, 4]])[lx.diag_indices_from(lx.zeros((2, 2)))].tolist()
    [1, 4]
    """
    if x.ndim < 2 or len({*x.shape}) != 1:
        raise ValueError(f"diag_indices_from(): x is of shape {x.shape}; want at least two axes of one size")
    return diag_indices(x.shape[0], x.ndim, device=x.device)


def tri(n: int, m: int | None = None, k: int = 0, dtype: DTypeLike | None = None, *, device: Any = None) -> Array:
    """Returns a matrix of n rows and m columns, by default n, with ones on and below diagonal ``k`` and zeros elsewhere.

    >>> import lazyxla as lx
    >>> lx.tri(2, 3).tolist()
    [[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]]
    """
    columns = n if m is None else m
    ones = _core.full((n, columns), 1, _core.int8, on(device))
    return _core.triangle(ones, k, False).astype(dtype or _core.float32)


# Grids.


def indices(
    dimensions: Sequence[int], dtype: DTypeLike | None = None, sparse: bool = False, *, device: Any = None
) -> Any:
    """Returns the index of each element of an array of these sizes: an array with one row for each axis, or with
    ``sparse`` a tuple of arrays that broadcast to the sizes.

    >>> import lazyxla as lx
    >>> lx.indices((2, 2)).tolist()
    [[[0, 0], [1, 1]], [[0, 1], [0, 1]]]
    """
    sizes = integers(dimensions, "indices(): dimensions")
    apart = []
    for axis, size in enumerate(sizes):
        shape = [1] * len(sizes)
        shape[axis] = size
        apart.append(reshape(arange(size, dtype=dtype or _core.int64, device=device), shape))
    if sparse:
        return tuple(apart)
    if not sizes:
        return _core.full((0,), 0, dtype or _core.int64, on(device))
    return _core.join([_core.broadcast_to(each, sizes) for each in apart], 0, True)


def ix_(*args: Any) -> tuple[Array, ...]:
    """Returns arrays that index the rows, columns, ... of vectors of integers: ``x[lx.ix_([0, 2], [1])]``. A vector of
    bools is read, and stands for the places of its true elements.

    >>> import lazyxla as lx
    >>> lx.reshape(lx.arange(6), (2, 3))[lx.ix_([0, 1], [2, 0])].tolist()
    [[2, 0], [5, 3]]
    """
    found = []
    for axis, given in enumerate(args):
        x = given if isinstance(given, Array) else asarray(given)
        if x.ndim != 1:
            raise ValueError(f"ix_() takes vectors, not an array of rank {x.ndim}")
        if x.size == 0 and not isinstance(given, Array):
            x = x.astype(_core.int64)
        x = nonzero(x)[0] if x.dtype == _core.bool else x
        if x.dtype.kind not in INTEGERS:
            raise TypeError(f"ix_() takes integers and bools, not {x.dtype.name}")
        found.append(reshape(x, [-1 if i == axis else 1 for i in range(len(args))]))
    return tuple(found)


def unravel_index(indices: Any, shape: Sizes, order: str = "C") -> tuple[Array, ...]:
    """Returns the index by each axis of an array of a shape for places in its row-major order, or column-major for
    ``order="F"``. Negative places count from the end; those out of range are clamped, since they are not read.

    >>> import lazyxla as lx
    >>> [each.tolist() for each in lx.unravel_index(lx.asarray([1, 5]), (2, 3))]
    [[0, 1], [1, 2]]
    """
    if order not in ("C", "F"):
        raise ValueError(f"unravel_index(): order is 'C' or 'F', not {order!r}")
    at = indices if isinstance(indices, Array) else asarray(indices)
    if at.dtype.kind not in INTEGERS:
        raise TypeError(f"unravel_index(): indices are integers, not {at.dtype.name}")
    sizes = integers(shape, "unravel_index(): shape")
    total = math.prod(sizes)
    if total == 0 and at.size:
        raise ValueError(f"unravel_index(): {tuple(sizes)} has no elements")
    at = at.astype(_core.int64, copy=False)
    at = clip(where(at < 0, at + total, at), 0, builtins.max(total - 1, 0))
    found = []
    for size in sizes if order == "F" else sizes[::-1]:
        found.append(at % builtins.max(size, 1))
        at = at // builtins.max(size, 1)
    return tuple(found if order == "F" else found[::-1])


def ravel_multi_index(multi_index: Sequence[Any], dims: Sizes, mode: Any = "raise", order: str = "C") -> Array:
    """Returns the places in row-major order of indices by each axis of an array of sizes ``dims``, or in column-major
    order for ``order="F"``. Indices out of range are an error for ``mode="raise"``, which reads them, and are clamped
    or wrapped for "clip" and "wrap", which work in traced functions. With several modes each axis has its own.

    >>> import lazyxla as lx
    >>> lx.ravel_multi_index((lx.asarray([0, 1]), lx.asarray([1, 2])), (2, 3)).tolist()
    [1, 5]
    """
    sizes = integers(dims, "ravel_multi_index(): dims")
    modes = [mode] * len(sizes) if isinstance(mode, str) else [*mode]
    if len(multi_index) != len(sizes) or len(modes) != len(sizes):
        raise ValueError(
            f"ravel_multi_index(): {len(multi_index)} indices and {len(modes)} modes for dims {tuple(sizes)}"
        )
    if order not in ("C", "F"):
        raise ValueError(f"ravel_multi_index(): order is 'C' or 'F', not {order!r}")
    apart = [each if isinstance(each, Array) else asarray(each) for each in multi_index]
    flat = _core.full((), 0, _core.int64, apart[0].device if apart else on(None))
    entries = [*zip(apart, sizes, modes, strict=True)]
    for at, size, how in entries if order == "C" else entries[::-1]:
        if at.dtype.kind not in INTEGERS:
            raise TypeError(f"ravel_multi_index(): indices are integers, not {at.dtype.name}")
        at = at.astype(_core.int64, copy=False)
        if how == "raise" and bool(any((at < 0) | (at >= size))):
            raise ValueError(f"ravel_multi_index(): an index is out of range for size {size}")
        if how not in ("raise", "clip", "wrap"):
            raise ValueError(f"ravel_multi_index(): mode is 'raise', 'clip' or 'wrap', not {how!r}")
        flat = flat * size + (clip(at, 0, size - 1) if how == "clip" else at % size if how == "wrap" else at)
    return flat


# Assignments in place.


def fill_diagonal(x: Array, val: Any, wrap: bool = False, *, inplace: bool = True) -> Any:
    """Assigns to the diagonal of x, in place: a scalar, or values that are repeated as often as needed. With ``wrap``, the
    diagonal of a matrix with more rows than columns begins again below its end. Returns a changed copy instead with
    ``inplace=False``, as in JAX.

    >>> import lazyxla as lx
    >>> x = lx.zeros((2, 2))
    >>> lx.fill_diagonal(x, 3.0)
    >>> x.tolist()
    [[3.0, 0.0], [0.0, 3.0]]
    """
    if not inplace:
        found = x.copy()
        fill_diagonal(found, val, wrap)
        return found
    if x.ndim < 2:
        raise ValueError(f"fill_diagonal() takes arrays of rank 2 and more, not {x.ndim}")
    if x.ndim > 2 and len({*x.shape}) != 1:
        raise ValueError(f"fill_diagonal(): x is of shape {x.shape}; want axes of one size")
    end = x.size
    if x.ndim == 2:
        step = x.shape[1] + 1
        end = end if wrap else builtins.min(end, x.shape[1] ** 2)
    else:
        step = builtins.sum(x.shape[0] ** i for i in range(x.ndim))
    flat = reshape(x, (-1,)).copy()
    count = len(range(0, end, step)) if step else 0
    if isinstance(val, Array) or hasattr(val, "__len__"):
        values = reshape(val if isinstance(val, Array) else asarray(val, device=x.device), (-1,))
        if values.shape[0] == 0 and count:
            raise ValueError("fill_diagonal(): val has no elements")
        val = take(values, arange(count, device=x.device) % builtins.max(values.shape[0], 1), axis=0)
    if count:
        flat[:end:step] = val
        assign(x, ..., reshape(flat, x.shape))


def put_along_axis(x: Array, indices: Array, values: Any, axis: int | None, *, inplace: bool = True) -> Any:
    """Assigns values to x in place, at the indices along an axis that ``take_along_axis`` takes; without one (None), at
    places in row-major order. Returns a changed copy instead with ``inplace=False``, as in JAX.

    >>> import lazyxla as lx
    >>> x = lx.asarray([[10, 30, 20], [60, 40, 50]])
    >>> lx.put_along_axis(x, lx.argmax(x, 1, keepdims=True), 99, 1)
    >>> x.tolist()
    [[10, 99, 20], [99, 40, 50]]
    """
    if not inplace:
        found = x.copy()
        put_along_axis(found, indices, values, axis)
        return found
    if axis is None:
        flat = reshape(x, (-1,)).copy()
        flat[indices] = values
        assign(x, ..., reshape(flat, x.shape))
        return
    (at,) = normalized([axis], x.ndim)
    if indices.ndim != x.ndim:
        raise ValueError(f"put_along_axis(): indices are of rank {indices.ndim}, x of rank {x.ndim}; want one rank")
    rest = [size if i != at else indices.shape[at] for i, size in enumerate(x.shape)]
    key = list(indices_of(rest, x.device))
    key[at] = indices
    assign(x, tuple(broadcast_arrays(*key)), values)


def indices_of(sizes: Sequence[int], device: Any) -> tuple[Array, ...]:
    """Returns the sparse ``indices`` of an array of these sizes."""
    found: tuple[Array, ...] = indices(sizes, sparse=True, device=device)
    return found


# Orders.


def _kth(of: str, x: Array, kth: Any, axis: int | None) -> None:
    size = x.size if axis is None else x.shape[normalized([axis], x.ndim)[0]]
    for k in integers(kth, f"{of}(): kth"):
        if not -size <= k < size:
            raise ValueError(f"{of}(): kth is {k} for an axis of size {size}")


def partition(x: Array, kth: Sizes, /, axis: int | None = -1) -> Array:
    """Returns x with the elements of the places ``kth`` where they are in sorted order, smaller ones before them and larger
    ones behind them. All elements are sorted, which is one such order.

    >>> import lazyxla as lx
    >>> lx.partition(lx.asarray([3, 1, 2]), 1)[1].item()
    2
    """
    _kth("partition", x, kth, axis)
    return sort(x, axis)


def argpartition(x: Array, kth: Sizes, /, axis: int | None = -1) -> Array:
    """Returns the indices that ``partition`` an array.

    >>> import lazyxla as lx
    >>> lx.argpartition(lx.asarray([3, 1, 2]), 1)[1].item()
    2
    """
    _kth("argpartition", x, kth, axis)
    return argsort(x, axis)


def compress(condition: Any, x: Array, /, axis: int | None = None) -> Array:
    """Returns the slices of x along an axis where a vector of bools is true; without one (None), elements in row-major
    order. Reads the bools, since the shape depends on them.

    >>> import lazyxla as lx
    >>> lx.compress([True, False, True], lx.asarray([1, 2, 3])).tolist()
    [1, 3]
    """
    condition = condition if isinstance(condition, Array) else asarray(condition, device=x.device)
    x, at = (reshape(x, (-1,)), 0) if axis is None else (x, normalized([axis], x.ndim)[0])
    return _core.take(x, nonzero(condition)[0], at)


def extract(condition: Any, x: Array, /) -> Array:
    """Returns the elements of x where a condition of its size is true, in row-major order. Reads it.

    >>> import lazyxla as lx
    >>> x = lx.asarray([[1, 2], [3, 4]])
    >>> lx.extract(x % 2 == 0, x).tolist()
    [2, 4]
    """
    condition = condition if isinstance(condition, Array) else asarray(condition, device=x.device)
    return compress(reshape(condition, (-1,)), x)
