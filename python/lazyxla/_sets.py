"""NumPy's functions of sets: distinct elements, and what two arrays have in common. All read the numbers of elements,
since shapes depend on them. NaN counts as equal to NaN, unlike in the standard's ``unique_values``."""

from __future__ import annotations

from typing import Any

from . import _core
from ._core import Array
from ._creation import arange, asarray
from ._numerical import isin, lexsort
from ._operands import FLOATS, operands
from ._reductions import any, cumulative_sum, nonzero
from ._shapes import moveaxis, reshape, take
from ._sizes import normalized
from ._unique import unique_of


def unique(
    x: Array,
    /,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
) -> Any:
    """Returns the distinct elements in ascending order, or the distinct slices along an axis; with the options a tuple of
    them, the indices of their first occurrences, the place of each element among them, and how often each occurs.

    >>> import lazyxla as lx
    >>> values, counts = lx.unique(lx.asarray([3, 1, 3]), return_counts=True)
    >>> values.tolist(), counts.tolist()
    ([1, 3], [1, 2])
    """
    names = ["values"]
    wanted = (("indices", return_index), ("inverse_indices", return_inverse), ("counts", return_counts))
    names += [name for name, is_wanted in wanted if is_wanted]
    if axis is None:
        found = unique_of(x, *names, equal_nan=equal_nan)
        results = tuple(getattr(found, name) for name in names)
    else:
        results = _unique_slices(x, normalized([axis], x.ndim)[0], names)
    return results[0] if len(results) == 1 else results


def _unique_slices(x: Array, axis: int, names: list[str]) -> tuple[Array, ...]:
    """Sorts the slices by their elements, the first of which count most."""
    rows = moveaxis(x, axis, 0)
    n = rows.shape[0]
    flat = reshape(rows, (n, -1)) if x.size else reshape(rows, (n, 0))
    width = flat.shape[1]
    if n == 0 or width == 0:
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
    (places,) = nonzero(starts)
    made = {"indices": take(order, places, axis=0)}
    made["values"] = _core.take(x, made["indices"], axis)
    if "inverse_indices" in names:
        inverse = _core.full((n,), 0, _core.int64, x.device)
        inverse[order] = cumulative_sum(starts.astype(_core.int64)) - 1
        made["inverse_indices"] = inverse
    if "counts" in names:
        ends = _core.join([places[1:], _core.full((1,), n, places.dtype, x.device)], 0, False)
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
