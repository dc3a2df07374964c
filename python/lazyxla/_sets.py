"""NumPy's functions of sets: distinct elements, and what two arrays have in common. They read the numbers of elements,
since shapes depend on them, but for ``unique`` with a size. NaN counts as equal to NaN, unlike in the standard's
``unique_values``."""

from __future__ import annotations

from typing import Any

from . import _core
from ._core import Array
from ._creation import arange, asarray
from ._numerical import isin, lexsort
from ._operands import FLOATS, array_like, operands, select
from ._reductions import any, cumulative_sum, nonzero, places_of
from ._shapes import moveaxis, reshape, take
from ._sizes import is_integer, normalized
from ._unique import UniqueAll, unique_of


def unique(
    x: Array,
    /,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    size: int | None = None,
    fill_value: Any = None,
) -> Any:
    """Returns the distinct elements in ascending order, or the distinct slices along an axis; with the options a tuple of
    them, the indices of their first occurrences, the place of each element among them, and how often each occurs.

    Their number is read, unless ``size`` says how many to return, as in JAX: those that lack are ``fill_value``, by
    default the smallest one, and occur 0 times.

    >>> import lazyxla as lx
    >>> values, counts = lx.unique(lx.asarray([3, 1, 3]), return_counts=True)
    >>> values.tolist(), counts.tolist()
    ([1, 3], [1, 2])
    """
    names = ["values"]
    wanted = (("indices", return_index), ("inverse_indices", return_inverse), ("counts", return_counts))
    names += [name for name, is_wanted in wanted if is_wanted]
    if size is not None:
        if not is_integer(size) or size < 0:
            raise ValueError(f"unique(): size is a number of elements, not {size!r}")
        if not equal_nan:
            raise NotImplementedError("unique(): with size, all NaN are one element: equal_nan is True")
        if x.size == 0 and size > 0 and fill_value is None:
            raise ValueError("unique() of no elements: with size, fill_value is needed")
    if axis is None and size is not None:
        fill = None if fill_value is None else array_like(fill_value, x)
        found = UniqueAll(*_core.unique(x, size, fill)[:4])
        results = tuple(getattr(found, name) for name in names)
    elif axis is None:
        found = unique_of(x, *names, equal_nan=equal_nan)
        results = tuple(getattr(found, name) for name in names)
    else:
        results = _unique_slices(x, normalized([axis], x.ndim)[0], names, size, fill_value)
    return results[0] if len(results) == 1 else results


def _unique_slices(x: Array, axis: int, names: list[str], size: int | None, fill_value: Any) -> tuple[Array, ...]:
    """Sorts the slices by their elements, the first of which count most."""
    rows = moveaxis(x, axis, 0)
    n = rows.shape[0]
    flat = reshape(rows, (n, -1)) if x.size else reshape(rows, (n, 0))
    width = flat.shape[1]
    if n == 0 or width == 0:
        if size is not None:
            raise ValueError(f"unique(): with size, slices have elements; x has shape {list(x.shape)}")
        count = min(n, 1)
        first = arange(count, device=x.device)
        made = {
            "values": x if n == 0 else _core.slice_axis(x, axis, 0, count, 1),
            "indices": first,
            "inverse_indices": _core.full((n,), 0, _core.int64, x.device),
            "counts": _core.full((count,), n, _core.int64, x.device),
        }
        return tuple(made[name] for name in names)
    order = lexsort([flat[:, i] for i in range(width)][::-1])
    ordered = take(flat, order, axis=0)
    differs = any(ordered[1:] != ordered[:-1], axis=1)
    starts = _core.join([_core.full((1,), True, _core.bool, x.device), differs], 0, False)
    if size is None:
        (places,) = nonzero(starts)
        ends = _core.join([places[1:], _core.full((1,), n, places.dtype, x.device)], 0, False)
    else:
        (bounds,) = places_of(starts, size + 1, n)
        places, ends = bounds[:-1], bounds[1:]
    is_there = places < n
    made = {"indices": take(order, select(is_there, places, 0), axis=0)}
    made["values"] = _core.take(x, made["indices"], axis)
    if size is not None and fill_value is not None:
        along = reshape(is_there, [-1 if at == axis else 1 for at in range(x.ndim)])
        made["values"] = select(along, made["values"], array_like(fill_value, x))
    if "inverse_indices" in names:
        inverse = _core.full((n,), 0, _core.int64, x.device)
        inverse[order] = cumulative_sum(starts.astype(_core.int64)) - 1
        made["inverse_indices"] = inverse
    if "counts" in names:
        made["counts"] = ends - places
    return tuple(made[name] for name in names)


def _both(of: str, x: Any, y: Any) -> tuple[Array, Array]:
    device = next((each.device for each in (x, y) if isinstance(each, Array)), None)
    x, y = operands(of, *(each if isinstance(each, Array) else asarray(each, device=device) for each in (x, y)))
    return reshape(x, (-1,)), reshape(y, (-1,))


def union1d(x: Any, y: Any, /) -> Array:
    """Returns the distinct elements of two arrays together, ascending.

    >>> import lazyxla as lx
    >>> lx.union1d(lx.asarray([3, 1]), [2, 1]).tolist()
    [1, 2, 3]
    """
    found: Array = unique(_core.join([*_both("union1d", x, y)], 0, False))
    return found


def _member(x: Array, of: Array) -> Array:
    """Returns whether elements are among others; NaN is not among NaN, as in NumPy's functions of sets."""
    return isin(x, of)


def intersect1d(x: Any, y: Any, /, assume_unique: bool = False, return_indices: bool = False) -> Any:
    """Returns the distinct elements that both arrays have, ascending; with ``return_indices`` a tuple of them, and of the
    indices of their first occurrences in each. ``assume_unique`` says that no array has an element twice.

    >>> import lazyxla as lx
    >>> lx.intersect1d(lx.asarray([3, 1, 2]), [2, 3, 9]).tolist()
    [2, 3]
    """
    x, y = _both("intersect1d", x, y)
    values, places = unique(x, return_index=True)
    is_common = _member(values, y)
    common = values[is_common]
    if not return_indices:
        return common
    others, there = unique(y, return_index=True)
    return common, places[is_common], there[_member(others, values)]


def setdiff1d(x: Any, y: Any, /, assume_unique: bool = False) -> Array:
    """Returns the distinct elements of x that y does not have, ascending; with ``assume_unique`` those of x in its order.

    >>> import lazyxla as lx
    >>> lx.setdiff1d(lx.asarray([3, 1, 2, 3]), [2]).tolist()
    [1, 3]
    """
    x, y = _both("setdiff1d", x, y)
    values = x if assume_unique else unique(x)
    found: Array = values[~_member(values, y)]
    return found


def setxor1d(x: Any, y: Any, /, assume_unique: bool = False) -> Array:
    """Returns the distinct elements that one of two arrays has and the other has not, ascending.

    >>> import lazyxla as lx
    >>> lx.setxor1d(lx.asarray([1, 2]), [2, 3]).tolist()
    [1, 3]
    """
    x, y = (unique(each) for each in _both("setxor1d", x, y))
    apart = [x[~_member(x, y)], y[~_member(y, x)]]
    joined = _core.join(apart, 0, False)
    found: Array = _core.sort(joined, 0, False, True) if joined.dtype.kind not in FLOATS[1:] else unique(joined)
    return found
