"""Functions of the array API standard that rearrange and index arrays, and products."""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

from . import _constants as c
from . import _core
from ._checks import kind_of
from ._core import Array
from ._operands import array_like, promoted
from ._sizes import AxisError, DTypeLike, integers, is_integer, normalized

Axis = int | Sequence[int] | None


def axes_of(axis: Axis) -> list[int] | None:
    """Returns a list of axes, or None for all."""
    return None if axis is None else integers(axis, "axes")


# Shapes.


def numeric(name: str, x: Array) -> None:
    if x.dtype.kind == "bool":
        raise TypeError(f"{name}() takes numeric dtypes, not bool")


def broadcast_to(x: Array, /, shape: Sequence[int]) -> Array:
    """Returns x broadcast to a shape by NumPy's rules.

    >>> import lazyxla as lx
    >>> lx.broadcast_to(lx.asarray([1, 2]), (2, 2)).tolist()
    [[1, 2], [1, 2]]
    """
    return _core.broadcast_to(x, integers(shape, "sizes"))


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """Returns the shape to which shapes broadcast together.

    >>> import lazyxla as lx
    >>> lx.broadcast_shapes((3, 1), (2,))
    (3, 2)
    """
    rank = builtins.max((len(shape) for shape in shapes), default=0)
    result = [1] * rank
    for shape in shapes:
        for i, size in enumerate(shape, rank - len(shape)):
            if size != 1 and result[i] not in (1, size):
                raise ValueError(f"shapes {shapes} do not broadcast: {result[i]} and {size} on one axis")
            result[i] = result[i] if size == 1 else size
    return tuple(result)


def broadcast_arrays(*arrays: Array) -> list[Array]:
    """Returns arrays broadcast to their common shape.

    >>> import lazyxla as lx
    >>> [x.shape for x in lx.broadcast_arrays(lx.zeros((3, 1)), lx.zeros(2))]
    [(3, 2), (3, 2)]
    """
    shape = broadcast_shapes(*(x.shape for x in arrays))
    return [_core.broadcast_to(x, shape) for x in arrays]


def _listed(arrays: Any, of: str) -> list[Array]:
    """Returns the arrays of an iterable; an error that names the function if there are none, or others."""
    each = list(arrays)
    other = [x for x in each if not isinstance(x, Array)]
    if other:
        raise TypeError(
            f"{of}(): arrays is a sequence of arrays (lx.asarray makes one), not one with {kind_of(other[0])}"
        )
    if not each:
        raise ValueError(f"{of}(): arrays is empty; want at least one array")
    return each


def concat(arrays: Sequence[Array], /, axis: int | None = 0) -> Array:
    """Returns arrays one after another along an axis; with ``axis=None``, all elements in one axis.

    >>> import lazyxla as lx
    >>> lx.concat([lx.asarray([1, 2]), lx.asarray([3])]).tolist()
    [1, 2, 3]
    """
    each = _listed(arrays, "concat")
    if axis is None:
        return _core.join([reshape(x, (-1,)) for x in promoted(each)], 0, False)
    return _core.join(promoted(each), axis, False)


def stack(arrays: Sequence[Array], /, axis: int = 0) -> Array:
    """Returns arrays of one shape along a new axis.

    >>> import lazyxla as lx
    >>> lx.stack([lx.asarray([1, 2]), lx.asarray([3, 4])]).tolist()
    [[1, 2], [3, 4]]
    """
    return _core.join(promoted(_listed(arrays, "stack")), axis, True)


def expand_dims(x: Array, /, axis: int | Sequence[int] = 0) -> Array:
    """Returns x with a new axis of size 1 at ``axis``, or with several at these places of the result.

    >>> import lazyxla as lx
    >>> lx.expand_dims(lx.asarray([1, 2]), axis=0).shape
    (1, 2)
    """
    axes = integers(axis, "expand_dims(): axis")
    rank = x.ndim + len(axes)
    for each in axes:
        if not -rank <= each < rank:
            raise AxisError(f"axis {each} is out of range for a result of rank {rank}")
    if len({each % rank for each in axes}) != len(axes):
        raise ValueError(f"expand_dims(): axis {axis} names an axis twice")
    return _core.expand_dims(x, axes)


def squeeze(x: Array, /, axis: Axis = None) -> Array:
    """Returns x without the given axes, which must have size 1; without ``axis``, without all axes of size 1.

    >>> import lazyxla as lx
    >>> lx.squeeze(lx.zeros((1, 3)), axis=0).shape
    (3,)
    """
    if axis is None:
        return _core.squeeze(x, [at for at, size in enumerate(x.shape) if size == 1])
    return _core.squeeze(x, integers(axis, "axes"))


def flip(x: Array, /, axis: Axis = None) -> Array:
    """Returns x in reversed order along axes; along all without ``axis``.

    >>> import lazyxla as lx
    >>> lx.flip(lx.asarray([1, 2, 3])).tolist()
    [3, 2, 1]
    """
    return _core.flip(x, axes_of(axis))


def moveaxis(x: Array, /, source: int | Sequence[int], destination: int | Sequence[int]) -> Array:
    """Returns x with axes moved to new positions; the others keep their order.

    >>> import lazyxla as lx
    >>> lx.moveaxis(lx.zeros((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    sources, places = integers(source, "axes"), integers(destination, "axes")
    if len(sources) != len(places):
        raise ValueError("source and destination have the same number of axes")
    sources, places = normalized(sources, x.ndim), normalized(places, x.ndim)
    order = [axis for axis in range(x.ndim) if axis not in sources]
    for place, axis in sorted(zip(places, sources, strict=True)):
        order.insert(place, axis)
    return _core.transpose(x, order)


def permute_dims(x: Array, /, axes: Sequence[int]) -> Array:
    """Returns x with its axes in another order: axis i of the result is axis ``axes[i]`` of x.

    >>> import lazyxla as lx
    >>> lx.permute_dims(lx.zeros((2, 3, 4)), (2, 0, 1)).shape
    (4, 2, 3)
    """
    return _core.transpose(x, integers(axes, "axes"))


def matrix_transpose(x: Array, /) -> Array:
    """Returns x with its last two axes exchanged.

    >>> import lazyxla as lx
    >>> lx.matrix_transpose(lx.asarray([[1, 2], [3, 4]])).tolist()
    [[1, 3], [2, 4]]
    """
    return x.mT


def repeat(
    x: Array,
    /,
    repeats: int | Sequence[int] | Array,
    axis: int | None = None,
    *,
    total_repeat_length: int | None = None,
) -> Array:
    """Returns x with each element repeated. The sum of an array of numbers of repeats is read, since the shape depends on
    it, unless ``total_repeat_length`` says how many elements to return, as in JAX: what is beyond is left out, and the
    last element fills up.

    >>> import lazyxla as lx
    >>> lx.repeat(lx.asarray([1, 2]), 2).tolist()
    [1, 1, 2, 2]
    """
    if axis is None:
        x, axis = reshape(x, (-1,)), 0
    (axis,) = normalized([axis], x.ndim)
    if isinstance(repeats, Array):
        if repeats.dtype.kind not in ("signed integer", "unsigned integer"):
            raise TypeError(f"numbers of repeats are integers, not {repeats.dtype.name}")
        return _repeat_by_array(x, repeats, axis, total_repeat_length)
    if total_repeat_length is not None:
        return _repeat_by_array(x, _core.from_nested(repeats, _core.int64, x.device), axis, total_repeat_length)
    counts = integers(repeats, "numbers of repeats")
    if builtins.min(counts, default=0) < 0:
        raise ValueError(f"a number of repeats is not negative: {builtins.min(counts)}")
    if len(counts) == 1:
        return _core.repeat(x, counts[0], axis)
    if len(counts) != x.shape[axis]:
        raise ValueError(f"{len(counts)} numbers of repeats for an axis of size {x.shape[axis]}")
    places = [i for i, count in enumerate(counts) for _ in range(count)]
    return _core.take(x, _core.from_nested(places, _core.int64, x.device), axis)


def _repeat_by_array(x: Array, repeats: Array, axis: int, total: int | None) -> Array:
    n = x.shape[axis]
    if repeats.shape not in ((), (1,), (n,)):
        raise ValueError(f"numbers of repeats of shape {list(repeats.shape)} for an axis of size {n}")
    if n == 0 and not total:
        return x.copy()
    if n == 0:
        raise ValueError(f"repeat(): an axis without elements has none to repeat {total} times")
    ends = _core.cumulative(c.REDUCE_SUM, broadcast_to(repeats.astype(_core.int64), (n,)), 0)
    if total is None:
        least = _core.reduce(c.REDUCE_MIN, reshape(repeats, (-1,)).astype(_core.int64), [0], True)
        least, total = _core.join([least, ends[-1:]], 0, False).tolist()
        if least < 0:
            raise ValueError(f"a number of repeats is not negative: {least}")
    elif not is_integer(total) or total < 0:
        raise ValueError(f"repeat(): total_repeat_length is a number of elements, not {total!r}")
    places = _core.searchsorted(ends, _core.arange(0, total, 1, _core.int64, x.device), True)
    # Beyond the sum of the numbers, the last element.
    return _core.take(x, _core.binary(c.BINARY_MINIMUM, places, n - 1, False, False), axis)


def reshape(x: Array, /, shape: Sequence[int], order: str = "C", *, copy: bool | None = None) -> Array:
    """Returns x with another shape of the same number of elements; one size may be -1. The result is a new array. Elements
    keep their row-major order, or their column-major one for ``order="F"``.

    >>> import lazyxla as lx
    >>> lx.reshape(lx.arange(4), (2, -1)).tolist()
    [[0, 1], [2, 3]]
    """
    if copy is False:
        raise ValueError("reshape() returns a new array: copy=False is impossible")
    sizes = integers(shape, "sizes")
    if sizes.count(-1) == 1:
        known = -math.prod(sizes)
        if known == 0 or x.size % known:
            raise ValueError(f"{x.size} elements do not have the shape {tuple(sizes)}")
        sizes[sizes.index(-1)] = x.size // known
    if order not in ("C", "A", "F"):
        raise ValueError(f"reshape(): order is 'C' or 'F', not {order!r}")
    if order == "F":
        return _reversed_axes(_core.reshape(_reversed_axes(x), sizes[::-1]))
    return _core.reshape(x, sizes)


def _reversed_axes(x: Array) -> Array:
    return _core.transpose(x, [*range(x.ndim)][::-1])


def _rolled(x: Array, shifts: Sequence[Any], axes: Sequence[int]) -> Array:
    """Returns x rolled by shifts that are arrays of one integer each, or ints."""
    for shift, at in zip(shifts, normalized(axes, x.ndim), strict=True):
        if isinstance(shift, Array) and (shift.shape != () or "integer" not in shift.dtype.kind):
            raise TypeError(f"roll(): a shift is an integer, not an array of {shift.dtype.name}{list(shift.shape)}")
        size = x.shape[at]
        if size:
            places = _core.arange(0, size, 1, _core.int64, x.device)
            step = shift.astype(_core.int64, copy=False) if isinstance(shift, Array) else operator.index(shift)
            x = _core.take(x, (places - step) % size, at)
    return x


def roll(x: Array, /, shift: int | Array | Sequence[int | Array], axis: Axis = None) -> Array:
    """Returns x with elements shifted along axes; those beyond one end reenter at the other. A shift that is an array may
    change without another compile.

    >>> import lazyxla as lx
    >>> lx.roll(lx.asarray([1, 2, 3]), 1).tolist()
    [3, 1, 2]
    """
    shifts: list[Any] = [*shift] if isinstance(shift, (list, tuple)) else [shift]
    if any(isinstance(each, Array) for each in shifts):
        if axis is None:
            return _core.reshape(_rolled(reshape(x, (-1,)), shifts, [0]), x.shape)
        axes = integers(axis, "axes")
        return _rolled(x, shifts * (len(axes) if len(shifts) == 1 else 1), axes)
    if axis is None:
        if not is_integer(shift):
            raise ValueError("several shifts need an axis for each")
        return _core.reshape(_core.roll(reshape(x, (-1,)), integers(shift, "shifts"), [0]), x.shape)
    axes = integers(axis, "axes")
    return _core.roll(x, integers(shift, "shifts") * (len(axes) if is_integer(shift) else 1), axes)


def split(x: Array, parts: int | Sequence[int], /, axis: int = 0) -> list[Array]:
    """Returns the parts of x along an axis: an int is the number of equal parts, a sequence has the indices where the
    second and further parts begin, as in ``numpy.split``.

    >>> import lazyxla as lx
    >>> [part.tolist() for part in lx.split(lx.arange(6), 3)]
    [[0, 1], [2, 3], [4, 5]]
    >>> [part.tolist() for part in lx.split(lx.arange(6), [1, 4])]
    [[0], [1, 2, 3], [4, 5]]
    """
    (at,) = normalized([axis], x.ndim)
    size = x.shape[at]
    if is_integer(parts):
        count = integers(parts)[0]
        if count < 1 or size % count:
            raise ValueError(f"split(): {size} elements on axis {axis} have no {count} equal parts")
        return _core.split(x, [size // count] * count, at)
    # Indices count as in slices: negative ones from the end, larger ones are cut to the size.
    ends = [slice(None, end).indices(size)[1] for end in integers(parts, "indices")]
    starts, ends = [0, *ends], [*ends, size]
    sizes = [builtins.max(end - start, 0) for start, end in zip(starts, ends, strict=True)]
    if builtins.sum(sizes) == size:
        return _core.split(x, sizes, at)
    # An index below the one before it gives an empty part.
    whole = (slice(None),) * at
    return [x[(*whole, slice(start, builtins.max(end, start)))] for start, end in zip(starts, ends, strict=True)]


def tile(x: Array, repetitions: int | Sequence[int], /) -> Array:
    """Returns x repeated along its axes, as ``numpy.tile``.

    >>> import lazyxla as lx
    >>> lx.tile(lx.asarray([1, 2]), (2,)).tolist()
    [1, 2, 1, 2]
    """
    return _core.tile(x, integers(repetitions, "repetitions"))


def unstack(x: Array, /, axis: int = 0) -> tuple[Array, ...]:
    """Returns the parts of x along an axis, without that axis.

    >>> import lazyxla as lx
    >>> [x.tolist() for x in lx.unstack(lx.asarray([[1, 2], [3, 4]]))]
    [[1, 2], [3, 4]]
    """
    (at,) = normalized([axis], x.ndim)
    return tuple(x[(slice(None),) * at + (i,)] for i in range(x.shape[at]))


# Indexing and searching.


_WHOLE = ("bool", "signed integer", "unsigned integer")


def take(x: Array, /, indices: Any, axis: int | None = None, mode: str | None = None) -> Array:
    """Returns the elements of x at ``indices`` along an axis; without an axis, of all elements in row-major order.

    An array of this package that is out of range is clamped; integers, lists and NumPy's arrays are an IndexError then,
    as in ``x[indices]``. ``mode`` is "clip", also for these, or "wrap", which counts on from the first element again.

    >>> import lazyxla as lx
    >>> lx.take(lx.asarray([10, 20, 30]), lx.asarray([2, 0])).tolist()
    [30, 10]
    """
    if axis is None:
        x, axis = reshape(x, (-1,)) if x.ndim != 1 else x, 0
    if mode not in (None, "raise", "clip", "wrap"):
        raise ValueError(f"take(): mode is {mode!r}; want 'clip' or 'wrap'")
    (at,) = normalized([axis], x.ndim)
    if not isinstance(indices, Array):
        from ._creation import asarray

        given = asarray(indices, device=x.device)
        if given.size == 0 and isinstance(indices, (list, tuple, range)):
            indices = given.astype(_core.int64)
        elif mode in ("clip", "wrap"):
            indices = given
    if mode in ("clip", "wrap") and indices.dtype.kind in _WHOLE and indices.dtype != _core.uint64:
        # The size of the axis may have no place in the dtype of the indices.
        indices = indices.astype(_core.int64, copy=False)
    if mode == "wrap":
        indices = indices % x.shape[at]
    elif mode == "clip":
        # As in NumPy, indices below 0 are clipped, too.
        indices = binary_extreme(c.BINARY_MAXIMUM, indices, 0)
    if isinstance(indices, Array):
        found = _core.take(x, indices if indices.ndim == 1 else reshape(indices, (-1,)), at)
        return found if indices.ndim == 1 else reshape(found, (*x.shape[:at], *indices.shape, *x.shape[at + 1 :]))
    return x[(slice(None),) * at + (list(indices) if isinstance(indices, (tuple, range)) else indices,)]


def take_along_axis(x: Array, /, indices: Array, axis: int = -1) -> Array:
    """Returns one element for each index along an axis, as in NumPy. Indices out of range are clamped.

    >>> import lazyxla as lx
    >>> lx.take_along_axis(lx.asarray([[1, 2], [3, 4]]), lx.asarray([[1], [0]])).tolist()
    [[2], [3]]
    """
    return _core.take_along_axis(x, indices, axis)


_UPDATES: dict[str, tuple[int, Callable[[Any, Any], Any]]] = {
    "add": (c.SCATTER_SUM, lambda a, b: a + b),
    "multiply": (c.SCATTER_PRODUCT, lambda a, b: a * b),
    "maximum": (c.SCATTER_MAX, lambda a, b: binary_extreme(c.BINARY_MAXIMUM, a, b)),
    "minimum": (c.SCATTER_MIN, lambda a, b: binary_extreme(c.BINARY_MINIMUM, a, b)),
}


def binary_extreme(op: int, a: Array, b: Any) -> Array:
    return _core.binary(op, a, b, False, False)


def scatter(x: Array, key: Any, values: Any, /, *, how: str = "add") -> Array:
    """Returns a copy of x in which each of ``values`` is combined with the element of ``x[key]`` that it is for.

    ``how`` is "add", "multiply", "maximum" or "minimum". Where indices are equal, all of their values are combined, in
    contrast to ``x[key] += values``, which keeps one of them: sums of segments, histograms, gradients of a table's
    rows. ``values`` broadcast to the shape of ``x[key]``. Indices of an array of this package that are out of range are
    dropped.

    >>> import lazyxla as lx
    >>> segments = lx.asarray([0, 2, 0, 2])
    >>> lx.scatter(lx.zeros(3), segments, lx.asarray([1.0, 2.0, 3.0, 4.0])).tolist()
    [4.0, 0.0, 6.0]
    >>> lx.scatter(lx.zeros((2, 3)), (slice(None), lx.asarray([1, 1])), 1.0).tolist()
    [[0.0, 2.0, 0.0], [0.0, 2.0, 0.0]]
    """
    if how not in _UPDATES:
        raise ValueError(f"how is one of {', '.join(_UPDATES)}, not {how!r}")
    op, function = _UPDATES[how]
    found = _core.index_put(op, x, key, values)
    if found is None:
        # A key without arrays selects no element twice.
        given = x[key].copy()
        given[...] = values
        found = x.copy()
        found[key] = function(x[key], given)
    return found


def _part_of(part: Any, x: Array, at: int) -> Array:
    """Returns an array to join with x along an axis; a number as one element there."""
    part = part if isinstance(part, Array) else array_like(part, x)
    return (
        _core.broadcast_to(part, [1 if i == at else size for i, size in enumerate(x.shape)]) if part.ndim == 0 else part
    )


def diff(x: Array, /, n: int = 1, axis: int = -1, *, prepend: Any = None, append: Any = None) -> Array:
    """Returns differences of neighbours along an axis, ``n`` times, of ``prepend``, x and ``append``: arrays or numbers.

    >>> import lazyxla as lx
    >>> lx.diff(lx.asarray([1, 4, 9])).tolist()
    [3, 5]
    """
    (at,) = normalized([axis], x.ndim)
    if n < 0:
        raise ValueError(f"n is the number of differences, not {n}")
    parts = [_part_of(part, x, at) for part in (prepend, x, append) if part is not None]
    x = _core.join(promoted(parts), at, False) if len(parts) > 1 else x
    whole = (slice(None),) * at
    for _ in range(n):
        later, earlier = x[(*whole, slice(1, None))], x[(*whole, slice(None, -1))]
        x = later ^ earlier if x.dtype == _core.bool else later - earlier
    return x if n else x.copy()


# Products.


def _preferred(arrays: Sequence[Array], dtype: DTypeLike | None) -> list[Array]:
    """Returns operands in the dtype in which JAX sums products, if it is given."""
    return [x if dtype is None else x.astype(dtype, copy=False) for x in arrays]


def matmul(x1: Array, x2: Array, /, *, preferred_element_type: DTypeLike | None = None) -> Array:
    """Returns matrix products, as ``x1 @ x2``; batch axes broadcast. Products and sums have the dtype
    ``preferred_element_type``, if it is given: of int8, say, int32 does not wrap.

    >>> import lazyxla as lx
    >>> lx.matmul(lx.asarray([[1, 2], [3, 4]]), lx.asarray([1, 1])).tolist()
    [3, 7]
    """
    x1, x2 = _preferred((x1, x2), preferred_element_type)
    return _core.matmul(x1, x2)


def tensordot(
    x1: Array,
    x2: Array,
    /,
    axes: int | tuple[Sequence[int], Sequence[int]] = 2,
    *,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Returns sums of products over pairs of axes: the last and first ``axes``, or two lists of them, as ``matmul``.

    >>> import lazyxla as lx
    >>> lx.tensordot(lx.asarray([1, 2]), lx.asarray([3, 4]), axes=1).item()
    11
    """
    x1, x2 = _preferred((x1, x2), preferred_element_type)
    if isinstance(axes, (tuple, list)):
        pairs = (normalized(integers(axes[0]), x1.ndim), normalized(integers(axes[1]), x2.ndim))
    else:
        count = operator.index(axes)
        if not 0 <= count <= builtins.min(x1.ndim, x2.ndim):
            raise ValueError(f"{count} axes for arrays of rank {x1.ndim} and {x2.ndim}")
        pairs = (list(range(x1.ndim - count, x1.ndim)), list(range(count)))
    x1, x2 = promoted([x1, x2])
    return _core.dot_general(x1, x2, ([], []), pairs)


def vecdot(x1: Array, x2: Array, /, axis: int = -1) -> Array:
    """Returns sums of conj(x1) * x2 along an axis; the other axes broadcast.

    >>> import lazyxla as lx
    >>> lx.vecdot(lx.asarray([1, 2]), lx.asarray([3, 4])).item()
    11
    """
    numeric("vecdot", x1)
    if not -builtins.min(x1.ndim, x2.ndim) <= axis < 0:
        raise AxisError(f"axis {axis} is not one of the last axes of both arrays")
    if x1.shape[axis] != x2.shape[axis]:
        raise ValueError(f"sizes {x1.shape[axis]} and {x2.shape[axis]} along axis {axis}")
    left, right = (moveaxis(x, axis, -1) for x in promoted([x1, x2]))
    left = _core.unary(c.UNARY_CONJ, left)
    return _core.matmul(left[..., None, :], right[..., :, None])[..., 0, 0]


def einsum(
    equation: str, *arrays: Array, optimize: Any = True, preferred_element_type: DTypeLike | None = None
) -> Array:
    """Returns the sum of products that an equation describes, as ``numpy.einsum``, in a dtype as ``matmul``. The library
    chooses the order of the products; ``optimize`` may be given, as for NumPy, and changes nothing.

    >>> import lazyxla as lx
    >>> lx.einsum("ij,j->i", lx.asarray([[1, 2], [3, 4]]), lx.asarray([1, 10])).tolist()
    [21, 43]
    """
    return _core.einsum(equation, promoted(_preferred(arrays, preferred_element_type)))
