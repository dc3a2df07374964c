"""Distinct elements, of the array API standard, which read their number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from . import _constants as c
from . import _core
from ._core import Array
from ._reductions import nonzero
from ._shapes import concat, reshape, take


# Number of elements from which a table of few distinct ones is faster than a sort.
_MANY = 4096


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

    >>> import lazyxla as lx
    >>> [x.tolist() for x in lx.unique_all(lx.asarray([3, 1, 3]))]
    [[1, 3], [1, 0], [1, 0, 1], [1, 2]]
    """
    return unique_of(x, "values", "indices", "inverse_indices", "counts")


def unique_of(x: Array, *names: str, equal_nan: bool = False) -> UniqueAll:
    """Returns some of the results; the others are not computed. With ``equal_nan``, all NaN are one element."""
    if x.size == 0:
        none = _core.full((0,), 0, _core.int64, x.device)
        return UniqueAll(_core.reshape(x, (0,)), none, _core.full(x.shape, 0, _core.int64, x.device), none)
    x = _core.value_of(x)
    found: UniqueAll = _core.outside(lambda: _unique_of(x, names, equal_nan))
    return found


def _unique_of(x: Array, names: Sequence[str], equal_nan: bool) -> UniqueAll:
    if _core.is_for_the_host(x):
        # A sort on the device takes longer than the way to the host and back, and is compiled for each size.
        on_host = _unique_of(x.to_device("cpu"), names, equal_nan)
        sized = [name for name in names if name != "inverse_indices"]
        moved = dict(zip(sized, _core.copy_sized([getattr(on_host, name) for name in sized], x)))
        if "inverse_indices" in names:
            moved["inverse_indices"] = on_host.inverse_indices.to_device(x.device)
        return on_host._replace(**moved)
    nans = 0
    if x.dtype.kind in ("real floating", "complex floating"):
        nans = _core.mask_count(_core.unary(c.UNARY_IS_NAN, x))
        if nans and not equal_nan:
            return _unique_with_nan(x, nans)
    if not nans and x.device == _core.Device("cpu") and x.dtype.kind != "complex floating":
        if names == ("values",):
            distinct = _distinct_of(x)
            return UniqueAll(distinct, distinct, distinct, distinct)
        # Zeros of both signs are equal, and differ in their bits.
        few = _core.few_counted(x) if x.size >= _MANY and x.dtype.kind != "real floating" else None
        if few is not None:
            return _unique_of_few(x, *few)
    found = _core.unique(x, x.size)
    wanted = [UniqueAll._fields.index(name) for name in names]
    # In one step: otherwise each number of elements would be another program with the search in it.
    _core.compute([*(found[i] for i in wanted), found[4]], False, False)
    inverse, n = found[2], int(found[4])
    # The inverse has the shape of x.
    values, indices, counts = (found[i][:n] if i in wanted else found[i] for i in (0, 1, 3))
    return UniqueAll(values, indices, inverse, counts)


def _unique_of_few(x: Array, values: Array, indices: Array, counts: Array, places: Array) -> UniqueAll:
    """Returns the results in ascending order of the values, which are given in the order of their first occurrences."""
    order = _core.argsort(values, 0, False, True)
    values, indices, counts = (take(each, order) for each in (values, indices, counts))
    inverse = take(_core.argsort(order, 0, False, True), places)
    return UniqueAll(values, indices, _core.reshape(inverse, x.shape), counts)


def _distinct_of(x: Array) -> Array:
    """Returns the distinct values, by a sort of the elements, or of the distinct ones if they are few."""
    few = _core.few_distinct(x) if x.size >= _MANY else None
    ordered = _core.sort(reshape(x if few is None else few, (-1,)), 0, False, True)
    is_first = concat([_core.full((1,), True, _core.bool, x.device), ordered[1:] != ordered[:-1]])
    return ordered[is_first]


def _unique_with_nan(x: Array, nans: int) -> UniqueAll:
    """The NaN follow the distinct numbers, each with its own index and the count 1."""
    flat = reshape(x, (-1,))
    is_nan = _core.unary(c.UNARY_IS_NAN, flat)
    (places,) = nonzero(is_nan)
    values, indices, inverse, counts, count = _core.unique(flat, flat.size)
    _core.compute([values, indices, inverse, counts, count], False, False)
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
    """Returns distinct elements and how often each occurs. Their number is read.

    >>> import lazyxla as lx
    >>> [x.tolist() for x in lx.unique_counts(lx.asarray([3, 1, 3]))]
    [[1, 3], [1, 2]]
    """
    found = unique_of(x, "values", "counts")
    return UniqueCounts(found.values, found.counts)


def unique_inverse(x: Array, /) -> UniqueInverse:
    """Returns distinct elements and the place of each element of x among them. Their number is read.

    >>> import lazyxla as lx
    >>> [x.tolist() for x in lx.unique_inverse(lx.asarray([3, 1, 3]))]
    [[1, 3], [1, 0, 1]]
    """
    found = unique_of(x, "values", "inverse_indices")
    return UniqueInverse(found.values, found.inverse_indices)


def unique_values(x: Array, /) -> Array:
    """Returns distinct elements in ascending order. Their number is read.

    >>> import lazyxla as lx
    >>> lx.unique_values(lx.asarray([3, 1, 3])).tolist()
    [1, 3]
    """
    return unique_of(x, "values").values
