"""Functions of the array API standard that rearrange, index, search, sort and reduce."""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Sequence
from typing import NamedTuple

from . import _constants as c
from . import _core
from ._core import Array, DType
from ._sizes import integers, is_integer, normalized

Axis = int | Sequence[int] | None


def axes_of(axis: Axis) -> list[int] | None:
    """Returns a list of axes, or None for all."""
    return None if axis is None else integers(axis, "axes")


# Shapes.


def broadcast_to(x: Array, /, shape: Sequence[int]) -> Array:
    """Returns x broadcast to a shape by NumPy's rules."""
    return _core.broadcast_to(x, integers(shape, "sizes"))


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """Returns the shape to which shapes broadcast together."""
    rank = builtins.max((len(shape) for shape in shapes), default=0)
    result = [1] * rank
    for shape in shapes:
        for i, size in enumerate(shape, rank - len(shape)):
            if size != 1 and result[i] not in (1, size):
                raise ValueError(f"shapes {shapes} do not broadcast: {result[i]} and {size} on one axis")
            result[i] = result[i] if size == 1 else size
    return tuple(result)


def broadcast_arrays(*arrays: Array) -> list[Array]:
    """Returns arrays broadcast to their common shape."""
    shape = broadcast_shapes(*(x.shape for x in arrays))
    return [_core.broadcast_to(x, shape) for x in arrays]


def concat(arrays: Sequence[Array], /, *, axis: int | None = 0) -> Array:
    """Returns arrays one after another along an axis; with ``axis=None``, all elements in one axis."""
    if axis is None:
        return _core.join([reshape(x, (-1,)) for x in arrays], 0, False)
    return _core.join(list(arrays), axis, False)


def stack(arrays: Sequence[Array], /, *, axis: int = 0) -> Array:
    """Returns arrays of one shape along a new axis."""
    return _core.join(list(arrays), axis, True)


def expand_dims(x: Array, /, axis: int = 0) -> Array:
    """Returns x with a new axis of size 1 at ``axis``."""
    if not -x.ndim - 1 <= axis <= x.ndim:
        raise IndexError(f"axis {axis} is out of bounds for a result of rank {x.ndim + 1}")
    return _core.expand_dims(x, [axis])


def squeeze(x: Array, /, axis: int | Sequence[int]) -> Array:
    """Returns x without the given axes, which must have size 1."""
    return _core.squeeze(x, axes_of(axis))


def flip(x: Array, /, *, axis: Axis = None) -> Array:
    """Returns x in reversed order along axes; along all without ``axis``."""
    return _core.flip(x, axes_of(axis))


def moveaxis(x: Array, source: int | Sequence[int], destination: int | Sequence[int], /) -> Array:
    """Returns x with axes moved to new positions; the others keep their order."""
    sources, places = axes_of(source), axes_of(destination)
    if len(sources) != len(places):
        raise ValueError("source and destination have the same number of axes")
    sources, places = normalized(sources, x.ndim), normalized(places, x.ndim)
    order = [axis for axis in range(x.ndim) if axis not in sources]
    for place, axis in sorted(zip(places, sources, strict=True)):
        order.insert(place, axis)
    return _core.transpose(x, order)


def permute_dims(x: Array, /, axes: Sequence[int]) -> Array:
    """Returns x with its axes in another order: axis i of the result is axis ``axes[i]`` of x."""
    return _core.transpose(x, axes)


def matrix_transpose(x: Array, /) -> Array:
    """Returns x with its last two axes exchanged."""
    return x.mT


def repeat(x: Array, repeats: int | Sequence[int] | Array, /, *, axis: int | None = None) -> Array:
    """Returns x with each element repeated. An array of numbers of repeats is read: the shape depends on it."""
    if axis is None:
        x, axis = reshape(x, (-1,)), 0
    (axis,) = normalized([axis], x.ndim)
    if isinstance(repeats, Array):
        if repeats.dtype.kind not in ("signed integer", "unsigned integer"):
            raise TypeError(f"numbers of repeats are integers, not {repeats.dtype.name}")
        repeats = repeats.tolist()
    counts = integers(repeats, "numbers of repeats")
    if builtins.min(counts, default=0) < 0:
        raise ValueError(f"a number of repeats is not negative: {builtins.min(counts)}")
    if len(counts) == 1:
        return _core.repeat(x, counts[0], axis)
    if len(counts) != x.shape[axis]:
        raise ValueError(f"{len(counts)} numbers of repeats for an axis of size {x.shape[axis]}")
    places = [i for i, count in enumerate(counts) for _ in range(count)]
    return _core.take(x, _core.from_nested(places, _core.int64, x.device), axis)


def reshape(x: Array, /, shape: Sequence[int], *, copy: bool | None = None) -> Array:
    """Returns x with another shape of the same number of elements; one size may be -1. The result is a new array."""
    if copy is False:
        raise ValueError("reshape() returns a new array: copy=False is impossible")
    sizes = integers(shape, "sizes")
    if sizes.count(-1) == 1:
        known = -math.prod(sizes)
        if known == 0 or x.size % known:
            raise ValueError(f"{x.size} elements do not have the shape {tuple(sizes)}")
        sizes[sizes.index(-1)] = x.size // known
    return _core.reshape(x, sizes)


def roll(x: Array, /, shift: int | Sequence[int], *, axis: Axis = None) -> Array:
    """Returns x with elements shifted along axes; those beyond one end reenter at the other."""
    if axis is None:
        if not is_integer(shift):
            raise ValueError("several shifts need an axis for each")
        return _core.reshape(_core.roll(reshape(x, (-1,)), [shift], [0]), x.shape)
    axes = axes_of(axis)
    return _core.roll(x, integers(shift, "shifts") * (len(axes) if is_integer(shift) else 1), axes)


def tile(x: Array, repetitions: Sequence[int], /) -> Array:
    """Returns x repeated along its axes, as ``numpy.tile``."""
    return _core.tile(x, repetitions)


def unstack(x: Array, /, *, axis: int = 0) -> tuple[Array, ...]:
    """Returns the parts of x along an axis, without that axis."""
    (at,) = normalized([axis], x.ndim)
    return tuple(x[(slice(None),) * at + (i,)] for i in range(x.shape[at]))


# Indexing and searching.


def take(x: Array, indices: Array, /, *, axis: int | None = None) -> Array:
    """Returns the elements of x at ``indices`` along an axis. Indices out of range are clamped."""
    if axis is None:
        if x.ndim != 1:
            raise ValueError("take() of an array of another rank than 1 needs an axis")
        axis = 0
    return _core.take(x, indices, axis)


def take_along_axis(x: Array, indices: Array, /, *, axis: int = -1) -> Array:
    """Returns one element for each index along an axis, as in NumPy. Indices out of range are clamped."""
    return _core.take_along_axis(x, indices, axis)


def _real_only(name: str, x: Array) -> None:
    if x.dtype.kind not in ("signed integer", "unsigned integer", "real floating"):
        raise TypeError(f"{name}() takes real dtypes, not {x.dtype.name}")


def _extreme(x: Array, axis: int | None, keepdims: bool, largest: bool) -> Array:
    if axis is not None:
        return _core.arg_extreme(x, axis, keepdims, largest)
    found = _core.arg_extreme(reshape(x, (-1,)), 0, False, largest)
    return _core.reshape(found, (1,) * x.ndim) if keepdims else found


def argmax(x: Array, /, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """Returns the index of the largest element, the first of equal ones, or of the first NaN."""
    _real_only("argmax", x)
    return _extreme(x, axis, keepdims, True)


def argmin(x: Array, /, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """Returns the index of the smallest element, the first of equal ones, or of the first NaN."""
    _real_only("argmin", x)
    return _extreme(x, axis, keepdims, False)


def count_nonzero(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Returns the number of elements that are not 0, as int64."""
    return _core.reduce(c.REDUCE_SUM, x.astype(_core.bool), axes_of(axis), keepdims)


def nonzero(x: Array, /) -> tuple[Array, ...]:
    """Returns the indices of the elements that are not 0, an array for each axis. Their number is read."""
    if x.ndim == 0:
        raise ValueError("nonzero() takes arrays of rank 1 and more")
    return tuple(_core.nonzero(x, _core.mask_count(x.astype(_core.bool))))


def searchsorted(x1: Array, x2: Array, /, *, side: str = "left", sorter: Array | None = None) -> Array:
    """Returns where elements of x2 would be inserted into x1, which is ascending: before or after equal ones."""
    if side not in ("left", "right"):
        raise ValueError(f"side is 'left' or 'right', not {side!r}")
    return _core.searchsorted(x1 if sorter is None else take(x1, sorter), x2, side == "right")


def argsort(x: Array, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Array:
    """Returns the indices that sort x along an axis."""
    _real_only("argsort", x)
    return _core.argsort(x, axis, descending, stable)


def sort(x: Array, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Array:
    """Returns x sorted along an axis; NaN counts as greater than every number."""
    _real_only("sort", x)
    return _core.sort(x, axis, descending, stable)


class UniqueAll(NamedTuple):
    values: Array
    indices: Array
    inverse_indices: Array
    counts: Array


class UniqueCounts(NamedTuple):
    values: Array
    counts: Array


class UniqueInverse(NamedTuple):
    values: Array
    inverse_indices: Array


def unique_all(x: Array, /) -> UniqueAll:
    """Returns distinct elements in ascending order, first indices, inverse and counts. Their number is read.

    Each NaN is an element of its own, as the standard says: NaN is not equal to NaN.
    """
    size = x.size
    if size == 0:
        none = _core.full((0,), 0, _core.int64, x.device)
        return UniqueAll(_core.reshape(x, (0,)), none, _core.full(x.shape, 0, _core.int64, x.device), none)
    if x.dtype.kind in ("real floating", "complex floating"):
        nans = _core.mask_count(_core.unary(c.UNARY_IS_NAN, x))
        if nans:
            return _unique_with_nan(x, nans)
    values, indices, inverse, counts, count = _core.unique(x, size)
    n = int(count)
    return UniqueAll(values[:n], indices[:n], inverse, counts[:n])


def _unique_with_nan(x: Array, nans: int) -> UniqueAll:
    """The NaN follow the distinct numbers, each with its own index and the count 1."""
    flat = reshape(x, (-1,))
    is_nan = _core.unary(c.UNARY_IS_NAN, flat)
    (places,) = nonzero(is_nan)
    values, indices, inverse, counts, count = _core.unique(flat, flat.size)
    n = int(count) - 1  # all NaN are one element there, the last
    ones = _core.full((nans,), 1, _core.int64, x.device)
    order = _core.cumulative(c.REDUCE_SUM, is_nan.astype(_core.int64), 0) + (n - 1)
    return UniqueAll(
        concat([values[:n], take(flat, places)]),
        concat([indices[:n], places]),
        _core.reshape(_core.select(is_nan, order, inverse), x.shape),
        concat([counts[:n], ones]),
    )


def unique_counts(x: Array, /) -> UniqueCounts:
    """Returns distinct elements and how often each occurs. Their number is read."""
    found = unique_all(x)
    return UniqueCounts(found.values, found.counts)


def unique_inverse(x: Array, /) -> UniqueInverse:
    """Returns distinct elements and the place of each element of x among them. Their number is read."""
    found = unique_all(x)
    return UniqueInverse(found.values, found.inverse_indices)


def unique_values(x: Array, /) -> Array:
    """Returns distinct elements in ascending order. Their number is read."""
    return unique_all(x).values


# Reductions.


def _widened(x: Array, dtype: DType | None) -> Array:
    """Returns x in the dtype of its sums: the given one, and else int64 or uint64 for narrower integers."""
    if dtype is not None:
        return x.astype(dtype, copy=False)
    wide = {"bool": _core.int64, "signed integer": _core.int64, "unsigned integer": _core.uint64}.get(x.dtype.kind)
    return x if wide is None else x.astype(wide, copy=False)


def _numeric(name: str, x: Array) -> None:
    if x.dtype.kind == "bool":
        raise TypeError(f"{name}() takes numeric dtypes, not bool")


def sum(x: Array, /, *, axis: Axis = None, dtype: DType | None = None, keepdims: bool = False) -> Array:
    """Returns sums over axes. Integers are summed in 64 bits unless a dtype is given."""
    return _core.reduce(c.REDUCE_SUM, _widened(x, dtype), axes_of(axis), keepdims)


def prod(x: Array, /, *, axis: Axis = None, dtype: DType | None = None, keepdims: bool = False) -> Array:
    """Returns products over axes. Integers are multiplied in 64 bits unless a dtype is given."""
    return _core.reduce(c.REDUCE_PRODUCT, _widened(x, dtype), axes_of(axis), keepdims)


def max(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Returns the largest elements over axes; NaN if one is NaN."""
    return _largest("max", c.REDUCE_MAX, x, axis, keepdims)


def min(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Returns the smallest elements over axes; NaN if one is NaN."""
    return _largest("min", c.REDUCE_MIN, x, axis, keepdims)


def _largest(name: str, op: int, x: Array, axis: Axis, keepdims: bool) -> Array:
    _real_only(name, x)
    axes = range(x.ndim) if axis is None else normalized(axes_of(axis), x.ndim)
    if builtins.any(x.shape[axis] == 0 for axis in axes):
        raise ValueError(f"{name}() of no elements has no value")
    return _core.reduce(op, x, axes_of(axis), keepdims)


def all(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Returns whether all elements over axes are not 0."""
    return _core.reduce(c.REDUCE_ALL, x.astype(_core.bool, copy=False), axes_of(axis), keepdims)


def any(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Returns whether an element over axes is not 0."""
    return _core.reduce(c.REDUCE_ANY, x.astype(_core.bool, copy=False), axes_of(axis), keepdims)


def _floats(name: str, x: Array) -> None:
    if x.dtype.kind != "real floating":
        raise TypeError(f"{name}() takes real float dtypes, not {x.dtype.name}")


def mean(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Returns the mean of floats over axes."""
    if x.dtype.kind == "complex floating":
        axes = axes_of(axis)
        over = range(x.ndim) if axes is None else normalized(axes, x.ndim)
        return _core.reduce(c.REDUCE_SUM, x, axes, keepdims) / math.prod(x.shape[axis] for axis in over)
    _floats("mean", x)
    return _core.mean(x, axes_of(axis), keepdims)


def var(x: Array, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False) -> Array:
    """Returns the variance of floats over axes: squares divided by their number less ``correction``."""
    _floats("var", x)
    return _core.variance(x, axes_of(axis), correction, keepdims, False)


def std(x: Array, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False) -> Array:
    """Returns the standard deviation of floats over axes: the root of ``var``."""
    _floats("std", x)
    return _core.variance(x, axes_of(axis), correction, keepdims, True)


def _cumulative(op: int, x: Array, axis: int | None, dtype: DType | None, include_initial: bool) -> Array:
    _numeric("a cumulative function", x)
    if axis is None:
        if x.ndim > 1:
            raise ValueError("an array of several axes needs an axis")
        axis = 0
    if x.ndim == 0:
        x = _core.reshape(x, (1,))
    (at,) = normalized([axis], x.ndim)
    found = _core.cumulative(op, _widened(x, dtype), at)
    if not include_initial:
        return found
    shape = [1 if i == at else size for i, size in enumerate(x.shape)]
    first = _core.full(shape, int(op == c.REDUCE_PRODUCT), found.dtype, x.device)
    return _core.join([first, found], at, False)


def cumulative_sum(
    x: Array, /, *, axis: int | None = None, dtype: DType | None = None, include_initial: bool = False
) -> Array:
    """Returns the sums of the elements up to each one along an axis; with ``include_initial`` preceded by 0."""
    return _cumulative(c.REDUCE_SUM, x, axis, dtype, include_initial)


def cumulative_prod(
    x: Array, /, *, axis: int | None = None, dtype: DType | None = None, include_initial: bool = False
) -> Array:
    """Returns the products of the elements up to each one along an axis; with ``include_initial`` preceded by 1."""
    return _cumulative(c.REDUCE_PRODUCT, x, axis, dtype, include_initial)


def diff(
    x: Array, /, *, axis: int = -1, n: int = 1, prepend: Array | None = None, append: Array | None = None
) -> Array:
    """Returns differences of neighbours along an axis, ``n`` times."""
    (at,) = normalized([axis], x.ndim)
    if n < 0:
        raise ValueError(f"n is the number of differences, not {n}")
    parts = [part for part in (prepend, x, append) if part is not None]
    x = _core.join(parts, at, False) if len(parts) > 1 else x
    whole = (slice(None),) * at
    for _ in range(n):
        later, earlier = x[(*whole, slice(1, None))], x[(*whole, slice(None, -1))]
        x = later ^ earlier if x.dtype == _core.bool else later - earlier
    return x if n else x.copy()


# Products.


def matmul(x1: Array, x2: Array, /) -> Array:
    """Returns matrix products, as ``x1 @ x2``; batch axes broadcast."""
    return _core.matmul(x1, x2)


def tensordot(x1: Array, x2: Array, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2) -> Array:
    """Returns sums of products over pairs of axes: the last and first ``axes``, or two lists of them."""
    if isinstance(axes, (tuple, list)):
        pairs = (normalized(integers(axes[0]), x1.ndim), normalized(integers(axes[1]), x2.ndim))
    else:
        count = operator.index(axes)
        if not 0 <= count <= builtins.min(x1.ndim, x2.ndim):
            raise ValueError(f"{count} axes for arrays of rank {x1.ndim} and {x2.ndim}")
        pairs = (list(range(x1.ndim - count, x1.ndim)), list(range(count)))
    return _core.dot_general(x1, x2, ([], []), pairs)


def vecdot(x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    """Returns sums of conj(x1) * x2 along an axis; the other axes broadcast."""
    _numeric("vecdot", x1)
    if not -builtins.min(x1.ndim, x2.ndim) <= axis < 0:
        raise ValueError(f"axis {axis} is not one of the last axes of both arrays")
    if x1.shape[axis] != x2.shape[axis]:
        raise ValueError(f"sizes {x1.shape[axis]} and {x2.shape[axis]} along axis {axis}")
    left, right = (moveaxis(x, axis, -1) for x in (x1, x2))
    left = _core.unary(c.UNARY_CONJ, left)
    return _core.matmul(left[..., None, :], right[..., :, None])[..., 0, 0]


def einsum(equation: str, *arrays: Array) -> Array:
    """Returns the sum of products that an equation describes, as ``numpy.einsum``."""
    return _core.einsum(equation, list(arrays))
