"""NumPy's order statistics, places and cumulative results that pass over NaN."""

from __future__ import annotations

import math
from typing import Any

from . import _core
from ._core import Array
from ._creation import asarray
from ._elementwise import clip, isnan, where
from ._numerical import cumprod, cumsum
from ._operands import in_floats, widened
from ._reductions import all, argmax, argmin, sort, sum
from ._shapes import Axis, expand_dims, moveaxis, reshape, take_along_axis
from ._sizes import DTypeLike
from ._statistics import between, last_axes, places_between

_FLOATS = ("real floating", "complex floating")


def nancumsum(x: Array, /, axis: int | None = None, dtype: DTypeLike | None = None) -> Array:
    """Returns ``cumsum``, in which NaN counts as 0.

    >>> import lazyxla as lx
    >>> lx.nancumsum(lx.asarray([1.0, lx.nan, 2.0])).tolist()
    [1.0, 1.0, 3.0]
    """
    return cumsum(where(isnan(x), 0, x) if x.dtype.kind in _FLOATS else x, axis, dtype)


def nancumprod(x: Array, /, axis: int | None = None, dtype: DTypeLike | None = None) -> Array:
    """Returns ``cumprod``, in which NaN counts as 1.

    >>> import lazyxla as lx
    >>> lx.nancumprod(lx.asarray([2.0, lx.nan, 3.0])).tolist()
    [2.0, 2.0, 6.0]
    """
    return cumprod(where(isnan(x), 1, x) if x.dtype.kind in _FLOATS else x, axis, dtype)


def _place(x: Array, axis: int | None, keepdims: bool, of: Any, beyond: float) -> Array:
    if x.dtype.kind != "real floating":
        found: Array = of(x, axis=axis, keepdims=keepdims)
        return found
    found = of(where(isnan(x), beyond, x), axis=axis, keepdims=keepdims)
    # Infinity beside NaN alone: the first element that is not NaN.
    first = argmax((~isnan(x)).astype(_core.int8), axis=axis, keepdims=keepdims)
    flat = reshape(x, (-1,)) if axis is None else x
    at = reshape(found, (1,)) if axis is None else found if keepdims else expand_dims(found, axis)
    is_nan = isnan(take_along_axis(flat, at, axis=0 if axis is None else axis))
    is_nan = reshape(is_nan, found.shape)
    return where(all(isnan(x), axis=axis, keepdims=keepdims), -1, where(is_nan, first, found))


def nanargmax(x: Array, /, axis: int | None = None, *, keepdims: bool = False) -> Array:
    """Returns the indices of the first largest elements that are not NaN along an axis, or of all elements; -1 where all
    are NaN, as in JAX.

    >>> import lazyxla as lx
    >>> lx.nanargmax(lx.asarray([lx.nan, 1.0, 3.0])).item()
    2
    """
    return _place(x, axis, keepdims, argmax, -math.inf)


def nanargmin(x: Array, /, axis: int | None = None, *, keepdims: bool = False) -> Array:
    """Returns the indices of the first smallest elements that are not NaN along an axis, or of all elements; -1 where all
    are NaN, as in JAX.

    >>> import lazyxla as lx
    >>> lx.nanargmin(lx.asarray([lx.nan, 1.0, 3.0])).item()
    1
    """
    return _place(x, axis, keepdims, argmin, math.inf)


def nanquantile(x: Array, /, q: Any, axis: Axis = None, *, method: str = "linear", keepdims: bool = False) -> Array:
    """Returns ``quantile`` of the elements that are not NaN; NaN where all are. ``method`` is "linear", "lower", "higher",
    "nearest" or "midpoint".

    >>> import lazyxla as lx
    >>> lx.nanquantile(lx.asarray([1.0, lx.nan, 3.0]), 0.5).item()
    2.0
    """
    x = in_floats(x)
    if x.dtype.kind != "real floating":
        raise TypeError(f"nanquantile() takes real dtypes, not {x.dtype.name}")
    flat, over = last_axes(x, axis)
    n = flat.shape[-1]
    if n == 0:
        raise ValueError("nanquantile() of no elements")
    wide = widened(x).dtype
    q = q.astype(wide) if isinstance(q, Array) else asarray(q, dtype=wide, device=x.device)
    ordered = sort(flat, axis=-1)
    count = expand_dims(sum(~isnan(flat), axis=-1).astype(wide), -1)
    at = clip(clip(reshape(q, (-1,)), 0, 1) * (count - 1), 0, None)
    below, weight = places_between("nanquantile", method, at)
    low = below.astype(_core.int64)
    first, second = (widened(take_along_axis(ordered, place, axis=-1)) for place in (low, clip(low + 1, 0, n - 1)))
    found = moveaxis(between(first, second, weight).astype(x.dtype, copy=False), -1, 0)
    rest = found.shape[1:] if not keepdims else [1 if i in over else size for i, size in enumerate(x.shape)]
    return reshape(found, (*q.shape, *rest))


def nanpercentile(x: Array, /, q: Any, axis: Axis = None, *, method: str = "linear", keepdims: bool = False) -> Array:
    """Returns ``nanquantile`` of ``q / 100``.

    >>> import lazyxla as lx
    >>> lx.nanpercentile(lx.asarray([1.0, lx.nan, 3.0]), 50).item()
    2.0
    """
    q = in_floats(q) / 100 if isinstance(q, Array) else asarray(q, dtype=_core.float64, device=x.device) / 100
    return nanquantile(x, q, axis, method=method, keepdims=keepdims)


def nanmedian(x: Array, /, axis: Axis = None, *, keepdims: bool = False) -> Array:
    """Returns the median of the elements that are not NaN; NaN where all are.

    >>> import lazyxla as lx
    >>> lx.nanmedian(lx.asarray([1.0, lx.nan, 3.0])).item()
    2.0
    """
    return nanquantile(x, 0.5, axis, keepdims=keepdims)
