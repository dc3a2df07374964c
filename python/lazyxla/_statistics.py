"""NumPy's functions of comparison, NaN, statistics and counts, beside the standard's, made of other functions."""

from __future__ import annotations

import builtins
import math
from typing import Any

from . import _core
from ._core import Array
from ._creation import arange, asarray, linspace
from ._dtypes import finfo
from ._elementwise import abs, clip, conj, floor, isfinite, isinf, isnan, logical_and, sqrt, where
from ._operands import in_floats, operands, real_floats, widened
from ._reductions import all, any, max, mean, min, prod, searchsorted, sort, sum
from ._shapes import (
    Axis,
    axes_of,
    broadcast_to,
    expand_dims,
    matmul,
    moveaxis,
    permute_dims,
    reshape,
    scatter,
)
from ._sizes import normalized

# Comparisons.


def isclose(a: Any, b: Any, /, rtol: float = 1e-5, atol: float = 1e-8, *, equal_nan: bool = False) -> Array:
    """Returns whether ``abs(a - b) <= atol + rtol * abs(b)``; of infinities, whether they are equal.

    >>> import lazyxla as lx
    >>> lx.isclose(lx.asarray([1.0, 2.0]), lx.asarray([1.0, 2.1])).tolist()
    [True, False]
    """
    a, b = operands("isclose", a, b)
    if a.dtype.kind not in ("real floating", "complex floating"):
        a, b = a.astype(_core.float64), b.astype(_core.float64)
    both = logical_and(isfinite(a), isfinite(b))
    near = logical_and(abs(a - b) <= atol + rtol * abs(b), both) | (a == b)
    found: Array = near | logical_and(isnan(a), isnan(b)) if equal_nan else near
    return found


def allclose(a: Any, b: Any, /, rtol: float = 1e-5, atol: float = 1e-8, *, equal_nan: bool = False) -> Array:
    """Returns whether all elements are close, as ``isclose`` has it, as an array without axes.

    >>> import lazyxla as lx
    >>> bool(lx.allclose(lx.asarray([1.0, 2.0]), lx.asarray([1.0, 2.0 + 1e-6])))
    True
    """
    return all(isclose(a, b, rtol, atol, equal_nan=equal_nan))


def array_equal(a: Any, b: Any, /, *, equal_nan: bool = False) -> Array:
    """Returns whether two arrays have one shape and equal elements, as an array without axes.

    >>> import lazyxla as lx
    >>> bool(lx.array_equal(lx.asarray([1, 2]), lx.asarray([1, 2])))
    True
    """
    a, b = operands("array_equal", a, b)
    if a.shape != b.shape:
        return _core.full((), False, _core.bool, a.device)
    equal = a == b
    if equal_nan and a.dtype.kind in ("real floating", "complex floating"):
        equal = equal | logical_and(isnan(a), isnan(b))
    return all(equal)


# Elements that are NaN.


def nan_to_num(x: Array, /, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None) -> Array:
    """Returns floats with numbers in place of NaN and infinities: by default 0, and the largest and smallest numbers of
    the dtype.

    >>> import lazyxla as lx
    >>> lx.nan_to_num(lx.asarray([float("nan"), 1.0])).tolist()
    [0.0, 1.0]
    """
    if x.dtype.kind == "complex floating":
        re, im = (nan_to_num(_core.part(x, part), nan, posinf, neginf) for part in (False, True))
        return _core.complex_of(re, im)
    if x.dtype.kind != "real floating":
        return x.copy()
    largest = float(finfo(x.dtype).max)
    high = largest if posinf is None else posinf
    low = -largest if neginf is None else neginf
    found = where(isnan(x), nan, x)
    return where(logical_and(isinf(x), x > 0), high, where(logical_and(isinf(x), x < 0), low, found))


def _without_nan(x: Array, value: float) -> Array:
    return where(isnan(x), value, x) if x.dtype.kind in ("real floating", "complex floating") else x


def nansum(x: Array, /, axis: Axis = None, *, keepdims: bool = False) -> Array:
    """Returns sums over axes, in which NaN counts as 0.

    >>> import lazyxla as lx
    >>> lx.nansum(lx.asarray([1.0, float("nan"), 2.0])).item()
    3.0
    """
    return sum(_without_nan(x, 0), axis=axis, keepdims=keepdims)


def nanprod(x: Array, /, axis: Axis = None, *, keepdims: bool = False) -> Array:
    """Returns products over axes, in which NaN counts as 1.

    >>> import lazyxla as lx
    >>> lx.nanprod(lx.asarray([3.0, float("nan"), 2.0])).item()
    6.0
    """
    return prod(_without_nan(x, 1), axis=axis, keepdims=keepdims)


def nanmax(x: Array, /, axis: Axis = None, *, keepdims: bool = False) -> Array:
    """Returns the largest elements over axes but for NaN; NaN where all elements are NaN.

    >>> import lazyxla as lx
    >>> lx.nanmax(lx.asarray([1.0, float("nan"), 2.0])).item()
    2.0
    """
    return _nan_extreme(x, axis, keepdims, max, -math.inf)


def nanmin(x: Array, /, axis: Axis = None, *, keepdims: bool = False) -> Array:
    """Returns the smallest elements over axes but for NaN; NaN where all elements are NaN.

    >>> import lazyxla as lx
    >>> lx.nanmin(lx.asarray([1.0, float("nan"), 2.0])).item()
    1.0
    """
    return _nan_extreme(x, axis, keepdims, min, math.inf)


def _nan_extreme(x: Array, axis: Axis, keepdims: bool, of: Any, beyond: float) -> Array:
    if x.dtype.kind != "real floating":
        extreme: Array = of(x, axis=axis, keepdims=keepdims)
        return extreme
    found = of(_without_nan(x, beyond), axis=axis, keepdims=keepdims)
    return where(all(isnan(x), axis=axis, keepdims=keepdims), math.nan, found)


def _count(x: Array, axis: Axis, keepdims: bool) -> Array:
    return sum(~isnan(x), axis=axis, keepdims=keepdims).astype(x.dtype)


def nanmean(x: Array, /, axis: Axis = None, *, keepdims: bool = False) -> Array:
    """Returns the mean of the elements over axes that are not NaN; NaN where all elements are NaN.

    >>> import lazyxla as lx
    >>> lx.nanmean(lx.asarray([1.0, float("nan"), 3.0])).item()
    2.0
    """
    x = in_floats(x)
    if x.dtype.kind == "complex floating":
        raise TypeError(f"nanmean() takes real dtypes, not {x.dtype.name}")
    wide = widened(x)
    return (nansum(wide, axis, keepdims=keepdims) / _count(wide, axis, keepdims)).astype(x.dtype, copy=False)


def nanvar(x: Array, /, axis: Axis = None, *, ddof: float = 0, keepdims: bool = False) -> Array:
    """Returns the variance of the elements over axes that are not NaN: squares divided by their number less ``ddof``.

    >>> import lazyxla as lx
    >>> lx.nanvar(lx.asarray([1.0, float("nan"), 3.0])).item()
    1.0
    """
    x = in_floats(x)
    wide = widened(x)
    # The distance of an infinity is NaN, and stays.
    apart = where(isnan(wide), 0.0, wide - nanmean(wide, axis, keepdims=True))
    count = _count(wide, axis, keepdims) - ddof
    found = where(count > 0, sum(apart * apart, axis=axis, keepdims=keepdims) / count, math.nan)
    return found.astype(x.dtype, copy=False)


def nanstd(x: Array, /, axis: Axis = None, *, ddof: float = 0, keepdims: bool = False) -> Array:
    """Returns the square root of ``nanvar``.

    >>> import lazyxla as lx
    >>> lx.nanstd(lx.asarray([1.0, float("nan"), 3.0])).item()
    1.0
    """
    x = in_floats(x)
    found: Array = sqrt(nanvar(widened(x), axis, ddof=ddof, keepdims=keepdims)).astype(x.dtype, copy=False)
    return found


# Order statistics.

_METHODS = "linear", "lower", "higher", "nearest", "midpoint"


def places_between(of: str, method: str, at: Array) -> tuple[Array, Array]:
    """Returns the largest whole numbers below places, and the weights of what follows."""
    below = floor(at)
    share = at - below
    weights = {
        "linear": share,
        "lower": 0 * share,
        "higher": where(share > 0, 1.0, share),
        "nearest": where((share > 0.5) | ((share == 0.5) & (below % 2 == 1)), 1.0, 0 * share),
        "midpoint": where(share > 0, 0.5, share),
    }
    if method not in weights:
        raise ValueError(f"{of}(): method is one of {', '.join(_METHODS)}, not {method!r}")
    return below, weights[method].astype(at.dtype)


def between(first: Array, second: Array, weight: Array) -> Array:
    """Returns what lies between two numbers: one of them for a weight of 0 or 1, and where both are equal."""
    # A difference of numbers of different signs may overflow.
    mixed = where((first < 0) & (second > 0), first * (1 - weight) + second * weight, first + (second - first) * weight)
    return where((first == second) | (weight == 0), first, where(weight == 1, second, mixed))


def last_axes(x: Array, axis: Axis) -> tuple[Array, list[int]]:
    """Returns x with the axes as one last axis, and the axes."""
    axes = axes_of(axis)
    over = [*range(x.ndim)] if axes is None else normalized(axes, x.ndim)
    rest = [at for at in range(x.ndim) if at not in over]
    moved = permute_dims(x, (*rest, *over))
    return reshape(moved, (*[x.shape[at] for at in rest], math.prod(x.shape[at] for at in over))), over


def quantile(x: Array, /, q: Any, axis: Axis = None, *, method: str = "linear", keepdims: bool = False) -> Array:
    """Returns the values below which the shares ``q``, from 0 to 1, of the elements over axes lie. With several q, they
    are along a new first axis. ``method`` is "linear", "lower", "higher", "nearest" or "midpoint", as in NumPy. NaN
    where an element is NaN.

    >>> import lazyxla as lx
    >>> lx.quantile(lx.asarray([1.0, 2.0, 3.0, 4.0]), 0.5).item()
    2.5
    """
    x = in_floats(x)
    if x.dtype.kind != "real floating":
        raise TypeError(f"quantile() takes real dtypes, not {x.dtype.name}")
    flat, over = last_axes(x, axis)
    n = flat.shape[-1]
    if n == 0:
        raise ValueError("quantile() of no elements")
    wide = widened(x).dtype
    q = q.astype(wide) if isinstance(q, Array) else asarray(q, dtype=wide, device=x.device)
    ordered = sort(flat, axis=-1)
    below, weight = places_between("quantile", method, reshape(clip(q, 0, 1) * (n - 1), (-1,)))
    low = below.astype(_core.int64)
    places = low, clip(low + 1, 0, n - 1)
    first, second = (widened(_core.take(ordered, place, ordered.ndim - 1)) for place in places)
    found = between(first, second, weight).astype(x.dtype, copy=False)
    found = where(expand_dims(any(isnan(flat), axis=-1), -1), math.nan, found)
    found = moveaxis(found, -1, 0)
    rest = found.shape[1:] if not keepdims else [1 if at in over else size for at, size in enumerate(x.shape)]
    return reshape(found, (*q.shape, *rest))


def percentile(x: Array, /, q: Any, axis: Axis = None, *, method: str = "linear", keepdims: bool = False) -> Array:
    """Returns ``quantile`` of ``q / 100``.

    >>> import lazyxla as lx
    >>> lx.percentile(lx.asarray([1.0, 2.0, 3.0, 4.0]), 50).item()
    2.5
    """
    q = in_floats(q) / 100 if isinstance(q, Array) else asarray(q, dtype=_core.float64, device=x.device) / 100
    return quantile(x, q, axis, method=method, keepdims=keepdims)


def median(x: Array, /, axis: Axis = None, *, keepdims: bool = False) -> Array:
    """Returns the middle element over axes, or the mean of the two middle ones; NaN where an element is NaN.

    >>> import lazyxla as lx
    >>> lx.median(lx.asarray([3.0, 1.0, 2.0])).item()
    2.0
    """
    x = in_floats(x)
    flat, over = last_axes(x, axis)
    n = flat.shape[-1]
    if n == 0:
        raise ValueError("median() of no elements")
    ordered = sort(flat, axis=-1)
    low, high = ordered[..., (n - 1) // 2], ordered[..., n // 2]
    found = low if n % 2 else where(low == high, low, low / 2 + high / 2)
    found = where(any(isnan(flat), axis=-1), math.nan, found)
    return reshape(found, [1 if at in over else size for at, size in enumerate(x.shape)]) if keepdims else found


def ptp(x: Array, /, axis: Axis = None, *, keepdims: bool = False) -> Array:
    """Returns the distances of the largest and the smallest elements over axes.

    >>> import lazyxla as lx
    >>> lx.ptp(lx.asarray([3, 1, 7])).item()
    6
    """
    return max(x, axis=axis, keepdims=keepdims) - min(x, axis=axis, keepdims=keepdims)


# Means and covariances.


def average(x: Array, /, axis: Axis = None, weights: Any = None, *, keepdims: bool = False) -> Array:
    """Returns the mean over axes, weighted by an array of x's shape, or by a vector along one axis.

    >>> import lazyxla as lx
    >>> lx.average(lx.asarray([1.0, 2.0]), weights=lx.asarray([3.0, 1.0])).item()
    1.25
    """
    if weights is None:
        return mean(x, axis=axis, keepdims=keepdims)
    weights = weights if isinstance(weights, Array) else asarray(weights, device=x.device)
    x, weights = real_floats("average", x, weights)
    if weights.shape != x.shape:
        if not isinstance(axis, int) or weights.ndim != 1 or weights.shape[0] != x.shape[normalized([axis], x.ndim)[0]]:
            raise ValueError(
                f"average(): weights is of shape {weights.shape}; want {x.shape}, or a vector along one axis"
            )
        (at,) = normalized([axis], x.ndim)
        weights = broadcast_to(reshape(weights, [-1 if i == at else 1 for i in range(x.ndim)]), x.shape)
    total = sum(weights, axis=axis, keepdims=keepdims)
    return sum(x * weights, axis=axis, keepdims=keepdims) / total


def cov(
    x: Array,
    y: Array | None = None,
    /,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
) -> Array:
    """Returns the covariances of variables, the rows of x and of y, or their columns without ``rowvar``: sums of products
    divided by the number of observations less ``ddof``, by default 1, or 0 with ``bias``. ``fweights`` says how often
    each observation counts, and ``aweights`` how much, as in NumPy.

    >>> import lazyxla as lx
    >>> lx.cov(lx.asarray([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0]])).tolist()
    [[1.0, 2.0], [2.0, 4.0]]
    """
    rows = [in_floats(each) for each in (x, y) if each is not None]
    if any_rank := [each.ndim for each in rows if each.ndim > 2]:
        raise ValueError(f"cov() takes arrays of rank 1 and 2, not {any_rank[0]}")
    rows = [reshape(each, (1, -1)) if each.ndim < 2 else each if rowvar else each.mT for each in rows]
    variables = _core.join(rows, 0, False) if len(rows) > 1 else rows[0]
    ddof = (0 if bias else 1) if ddof is None else ddof
    weights = _weights_of_observations(variables, fweights, aweights)
    if weights is None:
        apart = variables - mean(variables, axis=1, keepdims=True)
        # An array, since Python's number may be 0: NumPy divides by it as well.
        count = _core.full((), float(variables.shape[1] - ddof), variables.dtype, variables.device)
        made = matmul(apart, conj(apart.mT)) / count
    else:
        total = sum(weights)
        apart = variables - sum(variables * weights, axis=1, keepdims=True) / total
        lost = ddof if aweights is None or ddof == 0 else ddof * sum(weights * _vector(aweights, weights)) / total
        made = matmul(apart * weights, conj(apart.mT)) / (total - lost)
    return reshape(made, ()) if made.shape == (1, 1) else made


def _vector(weights: Any, like: Array) -> Array:
    return (
        weights.astype(like.dtype) if isinstance(weights, Array) else asarray(weights, like.dtype, device=like.device)
    )


def _weights_of_observations(variables: Array, fweights: Any, aweights: Any) -> Array | None:
    """Returns the product of the weights that are given, in a real dtype."""
    like = _core.part(variables, False) if variables.dtype.kind == "complex floating" else variables
    found = None
    for name, weights in (("fweights", fweights), ("aweights", aweights)):
        if weights is None:
            continue
        vector = _vector(weights, like)
        if vector.shape != (variables.shape[1],):
            raise ValueError(f"cov(): {name} has shape {list(vector.shape)}; want [{variables.shape[1]}]")
        found = vector if found is None else found * vector
    return found


def corrcoef(x: Array, y: Array | None = None, /, *, rowvar: bool = True) -> Array:
    """Returns the correlation coefficients of the variables of ``cov``, between -1 and 1.

    >>> import lazyxla as lx
    >>> lx.corrcoef(lx.asarray([[1.0, 2.0], [2.0, 1.0]])).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    of = cov(x, y, rowvar=rowvar)
    if of.ndim == 0:
        return of / of
    deviations = sqrt(_core.part(_diagonal(of), False) if of.dtype.kind == "complex floating" else _diagonal(of))
    found = of / expand_dims(deviations, 1) / expand_dims(deviations, 0)
    return found if found.dtype.kind == "complex floating" else clip(found, -1, 1)


def _diagonal(x: Array) -> Array:
    from ._arranging import diagonal

    return diagonal(x)


# Counts.


def bincount(x: Array, /, weights: Array | None = None, *, minlength: int = 0, length: int | None = None) -> Array:
    """Returns how often each of 0, 1, 2, ... occurs in a vector of integers, or the sums of the ``weights`` of each.

    Without ``length`` the largest element is read, since the shape depends on it. Elements from ``length`` on, and
    negative ones, are not counted.

    >>> import lazyxla as lx
    >>> lx.bincount(lx.asarray([0, 2, 2])).tolist()
    [1, 0, 2]
    """
    if x.ndim != 1 or x.dtype.kind not in ("signed integer", "unsigned integer"):
        raise TypeError(f"bincount() takes a vector of integers, not {x.dtype.name} of shape {x.shape}")
    if length is None:
        length = builtins.max(minlength, int(max(x)) + 1 if x.shape[0] else 0)
    counted = _core.full((), 1, _core.int64, x.device) if weights is None else in_floats(weights)
    start = _core.full((length,), 0, counted.dtype, x.device)
    if length == 0 or x.shape[0] == 0:
        return start
    # Beyond all places, where nothing is counted; a negative index would count from the end.
    places = where(x < 0, length, x.astype(_core.int64)) if x.dtype.kind == "signed integer" else x.astype(_core.int64)
    return scatter(start, places, counted)


def digitize(x: Array, /, bins: Any, right: bool = False) -> Array:
    """Returns the number of the interval between ascending ``bins`` that each element is in: i if
    ``bins[i - 1] <= x < bins[i]``; with ``right``, the right end belongs to it instead. Bins may descend, too.

    >>> import lazyxla as lx
    >>> lx.digitize(lx.asarray([0.5, 1.0, 3.0]), lx.asarray([0.0, 1.0, 2.0])).tolist()
    [1, 2, 3]
    """
    bins = bins if isinstance(bins, Array) else asarray(bins, device=x.device)
    x, bins = operands("digitize", x, bins)
    if bins.ndim != 1 or bins.shape[0] == 0:
        return searchsorted(bins, x, side="left" if right else "right")
    # As in NumPy: of bins that descend, the places from their end. Whether they do is not read.
    descends = bins[0] > bins[-1]
    found = searchsorted(where(descends, _core.flip(bins, [0]), bins), x, side="left" if right else "right")
    return where(descends, bins.shape[0] - found, found)


def histogram_bin_edges(x: Array, /, bins: Any = 10, range: tuple[float, float] | None = None) -> Array:
    """Returns the ends of ``bins`` intervals of one length from the smallest to the largest element, or over ``range``. The name of
    a rule of NumPy, such as "auto", reads the values.

    >>> import lazyxla as lx
    >>> lx.histogram_bin_edges(lx.asarray([0.0, 4.0]), 2).tolist()
    [0.0, 2.0, 4.0]
    """
    x = in_floats(x)
    if isinstance(bins, str):
        # NumPy's rules by name need values: they are read.
        import numpy

        bins = len(numpy.histogram_bin_edges(x.__array__(), bins, range)) - 1
    if not isinstance(bins, int):
        return bins if isinstance(bins, Array) else asarray(bins, dtype=x.dtype, device=x.device)
    if bins < 1:
        raise ValueError(f"histogram(): bins is at least 1, not {bins}")
    if range is not None or x.size == 0:
        low, high = (0.0, 1.0) if range is None else (float(range[0]), float(range[1]))
        if low > high:
            raise ValueError(f"histogram(): range ascends, not {range}")
        low, high = (low - 0.5, high + 0.5) if low == high else (low, high)
        return linspace(low, high, bins + 1, dtype=x.dtype, device=x.device)
    least, most = min(x), max(x)
    apart = where(least == most, 0.5, 0.0)
    share = arange(bins + 1, dtype=x.dtype, device=x.device) / bins
    least, most = least - apart, most + apart
    return where(share == 1, most, least + (most - least) * share)


def histogram(
    x: Array,
    /,
    bins: Any = 10,
    range: tuple[float, float] | None = None,
    *,
    weights: Array | None = None,
    density: bool = False,
) -> tuple[Array, Array]:
    """Returns how many elements are in each interval, and the ends of the intervals, as ``histogram_bin_edges`` has them.
    The last interval has its right end, too. With ``density``, counts are divided by their sum and by the lengths.

    >>> import lazyxla as lx
    >>> counts, edges = lx.histogram(lx.asarray([0.0, 1.0, 4.0]), 2)
    >>> counts.tolist(), edges.tolist()
    ([2, 1], [0.0, 2.0, 4.0])
    """
    x = reshape(in_floats(x), (-1,))
    edges = histogram_bin_edges(x, bins, range)
    count = edges.shape[0] - 1
    given, ends = operands("histogram", x, edges)
    places = searchsorted(ends, given, side="right") - 1
    places = where(given == ends[-1], count - 1, places)
    inside = logical_and(given >= ends[0], given <= ends[-1])
    places = where(inside, places, count).astype(_core.int64)
    weights = None if weights is None else reshape(weights, (-1,))
    made = bincount(places, weights, length=count)
    if density:
        made = made.astype(edges.dtype)
        made = made / sum(made) / (edges[1:] - edges[:-1])
    return made, edges


def histogram2d(
    x: Array,
    y: Array,
    /,
    bins: Any = 10,
    range: Any = None,
    *,
    density: bool = False,
    weights: Array | None = None,
) -> tuple[Array, Array, Array]:
    """Returns how many points (x, y) are in each rectangle of a grid, and the ends of the intervals of both axes. ``bins``
    is a number for both, or the ends for both, or a pair with one for each; ``range`` is a pair of pairs.

    >>> import lazyxla as lx
    >>> counts, _, _ = lx.histogram2d(lx.asarray([0.0, 1.0, 1.0]), lx.asarray([0.0, 1.0, 0.0]), 2)
    >>> counts.tolist()
    [[1.0, 0.0], [1.0, 1.0]]
    """
    x, y = (reshape(each, (-1,)) for each in real_floats("histogram2d", x, y))
    if x.shape != y.shape:
        raise ValueError(f"histogram2d(): x and y have {x.shape[0]} and {y.shape[0]} elements; want as many")
    pair = bins if isinstance(bins, (list, tuple)) and len(bins) == 2 else (bins, bins)
    limits = (None, None) if range is None else range
    ends = [histogram_bin_edges(each, of, limit) for each, of, limit in zip((x, y), pair, limits, strict=True)]
    counts = [each.shape[0] - 1 for each in ends]
    total = math.prod(counts)
    places: list[Array] = []
    inside = _core.full(x.shape, True, _core.bool, x.device)
    for each, edges, count in zip((x, y), ends, counts, strict=True):
        given, edges = operands("histogram2d", each, edges)
        at = searchsorted(edges, given, side="right") - 1
        places.append(where(given == edges[-1], count - 1, at).astype(_core.int64))
        inside = logical_and(inside, logical_and(given >= edges[0], given <= edges[-1]))
    flat = where(inside, places[0] * counts[1] + places[1], total)
    apart = None if weights is None else reshape(weights, (-1,))
    found = reshape(bincount(flat, apart, length=total).astype(x.dtype), counts)
    if density:
        lengths = [edges[1:] - edges[:-1] for edges in ends]
        found = found / sum(found) / (expand_dims(lengths[0], 1) * lengths[1])
    return found, ends[0], ends[1]
