"""NumPy's functions of interpolation, integrals, products, places and spaced numbers, beside the standard's, made of
other functions."""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence
from typing import Any

from . import _core
from ._core import Array
from ._creation import eye, asarray, linspace
from ._elementwise import clip, isnan, where
from ._operands import in_floats, operands, real_floats
from ._reductions import argsort, cumulative_prod, cumulative_sum, searchsorted, sort, sum
from ._shapes import (
    moveaxis,
    reshape,
    take,
    tensordot,
)
from ._sizes import DTypeLike, normalized

# Interpolation and integrals.


def interp(x: Any, xp: Array, fp: Array, /, left: float | None = None, right: float | None = None) -> Array:
    """Returns the piecewise linear function through the points (xp, fp), xp ascending, at x. Outside of xp it is
    ``left`` and ``right``, by default the first and the last of fp.

    >>> import lazyxla as lx
    >>> lx.interp(lx.asarray([0.5, 3.0]), lx.asarray([0.0, 1.0]), lx.asarray([10.0, 20.0])).tolist()
    [15.0, 20.0]
    """
    x, xp, fp = real_floats("interp", x, xp, fp)
    if xp.ndim != 1 or xp.shape != fp.shape or xp.shape[0] == 0:
        raise ValueError(f"interp(): xp and fp are of the shapes {xp.shape} and {fp.shape}; want vectors of one length")
    n = xp.shape[0]
    after = clip(searchsorted(xp, x, side="right"), 1, builtins.max(n - 1, 1))
    x0, x1, f0, f1 = (take(of, at, axis=0) for of in (xp, fp) for at in (after - 1, clip(after, 0, n - 1)))
    apart = x1 - x0
    # No division by 0 between equal points, also in the derivative.
    share = where(apart == 0, 0, (x - x0) / where(apart == 0, 1, apart))
    found = f0 + share * (f1 - f0)
    found = where(x < xp[0], fp[0] if left is None else left, found)
    found = where(x > xp[-1], fp[-1] if right is None else right, found)
    return where(isnan(x), x, found)


def trapezoid(y: Array, /, x: Array | None = None, dx: float = 1.0, axis: int = -1) -> Array:
    """Returns the integral along an axis by the trapezoidal rule, at the places x, or at distances ``dx``.

    >>> import lazyxla as lx
    >>> lx.trapezoid(lx.asarray([1.0, 2.0, 3.0])).item()
    4.0
    """
    y = moveaxis(in_floats(y), axis, -1)
    if x is None:
        width: Any = dx
    else:
        x = in_floats(x)
        width = moveaxis(x, axis, -1) if x.ndim > 1 else x
        width = width[..., 1:] - width[..., :-1]
    return sum(width * (y[..., 1:] + y[..., :-1]) / 2, axis=-1)


# Products.


def dot(x: Any, y: Any, /) -> Array:
    """Returns the product of two vectors or matrices; of other arrays, sums over x's last and y's last axis but one, and
    the product with a scalar.

    >>> import lazyxla as lx
    >>> lx.dot(lx.asarray([1.0, 2.0]), lx.asarray([3.0, 4.0])).item()
    11.0
    """
    a, b = operands("dot", x, y)
    if a.ndim == 0 or b.ndim == 0:
        return a * b
    return tensordot(a, b, axes=((a.ndim - 1,), (builtins.max(b.ndim - 2, 0),)))


def inner(x: Array, y: Array, /) -> Array:
    """Returns sums of products over the last axes of both.

    >>> import lazyxla as lx
    >>> lx.inner(lx.asarray([1.0, 2.0]), lx.asarray([3.0, 4.0])).item()
    11.0
    """
    x, y = operands("inner", x, y)
    if x.ndim == 0 or y.ndim == 0:
        return x * y
    return tensordot(x, y, axes=((x.ndim - 1,), (y.ndim - 1,)))


def kron(x: Array, y: Array, /) -> Array:
    """Returns the Kronecker product: y, times each element of x, in its place.

    >>> import lazyxla as lx
    >>> lx.kron(lx.asarray([1, 10]), lx.asarray([1, 2])).tolist()
    [1, 2, 10, 20]
    """
    x, y = operands("kron", x, y)
    rank = builtins.max(x.ndim, y.ndim)
    a, b = ((1,) * (rank - each.ndim) + each.shape for each in (x, y))
    apart = reshape(x, [size for each in a for size in (each, 1)]) * reshape(
        y, [size for each in b for size in (1, each)]
    )
    return reshape(apart, [m * n for m, n in zip(a, b, strict=True)])


def polyval(p: Array, x: Any, /) -> Array:
    """Returns the polynomial with the coefficients p, the highest power first, at x, by Horner's rule.

    >>> import lazyxla as lx
    >>> lx.polyval(lx.asarray([1.0, 0.0, 2.0]), lx.asarray([3.0])).tolist()
    [11.0]
    """
    if p.ndim != 1:
        raise ValueError(f"polyval(): p is of shape {p.shape}; want a vector")
    coefficients, at = operands("polyval", p, x)
    found = 0 * at
    for i in builtins.range(p.shape[0]):
        found = found * at + coefficients[i]
    return found


def outer(x: Any, y: Any, /) -> Array:
    """Returns the products of each element of x and each of y, a row for each element of x.

    >>> import lazyxla as lx
    >>> lx.outer(lx.asarray([1, 2]), lx.asarray([3, 4])).tolist()
    [[3, 4], [6, 8]]
    """
    a, b = operands("outer", x, y)
    return reshape(a, (-1, 1)) * reshape(b, (1, -1))


# Cumulative results.


def cumsum(x: Array, /, axis: int | None = None, dtype: DTypeLike | None = None) -> Array:
    """Returns the sums of the elements up to each one along an axis; without one (None), of all in row-major order.

    >>> import lazyxla as lx
    >>> lx.cumsum(lx.asarray([[1, 2], [3, 4]])).tolist()
    [1, 3, 6, 10]
    """
    return cumulative_sum(reshape(x, (-1,)) if axis is None else x, axis=0 if axis is None else axis, dtype=dtype)


def cumprod(x: Array, /, axis: int | None = None, dtype: DTypeLike | None = None) -> Array:
    """Returns the products of the elements up to each one along an axis; without one (None), of all in row-major order.

    >>> import lazyxla as lx
    >>> lx.cumprod(lx.asarray([[1, 2], [3, 4]])).tolist()
    [1, 2, 6, 24]
    """
    return cumulative_prod(reshape(x, (-1,)) if axis is None else x, axis=0 if axis is None else axis, dtype=dtype)


# Places.


def argwhere(x: Array, /) -> Array:
    """Returns the places of elements that are not 0, one in each row. Reads their number, since the shape depends on it.

    >>> import lazyxla as lx
    >>> lx.argwhere(lx.asarray([[0, 1], [2, 0]])).tolist()
    [[0, 1], [1, 0]]
    """
    return _core.join(list(_core.nonzero(x)), 1, True)


def flatnonzero(x: Array, /) -> Array:
    """Returns the places of elements that are not 0 in row-major order. Reads their number.

    >>> import lazyxla as lx
    >>> lx.flatnonzero(lx.asarray([0, 1, 2])).tolist()
    [1, 2]
    """
    return _core.nonzero(reshape(x, (-1,)))[0]


def isin(x: Array, of: Any, /, *, invert: bool = False) -> Array:
    """Returns whether each element of x is among the elements of another array.

    >>> import lazyxla as lx
    >>> lx.isin(lx.asarray([1, 2, 3]), [3, 1]).tolist()
    [True, False, True]
    """
    of = of if isinstance(of, Array) else asarray(of, device=x.device)
    x, of = operands("isin", x, of)
    of = reshape(of, (-1,))
    if of.shape[0] == 0:
        found = _core.full(x.shape, False, _core.bool, x.device)
    else:
        ordered = sort(of)
        at = clip(searchsorted(ordered, reshape(x, (-1,))), 0, of.shape[0] - 1)
        found = reshape(take(ordered, at, axis=0), x.shape) == x
    return ~found if invert else found


def topk(x: Array, k: int, /, axis: int = -1) -> tuple[Array, Array]:
    """Returns the k largest elements along an axis, descending, and their indices.

    >>> import lazyxla as lx
    >>> values, indices = lx.topk(lx.asarray([1.0, 3.0, 2.0]), 2)
    >>> values.tolist(), indices.tolist()
    ([3.0, 2.0], [1, 2])
    """
    (at,) = normalized([axis], x.ndim)
    if not 0 <= k <= x.shape[at]:
        raise ValueError(f"topk(): k is {k} for an axis of size {x.shape[at]}")
    values, indices = _core.topk(x, k, at, True)
    return values, indices


def lexsort(keys: Sequence[Array], /) -> Array:
    """Returns the indices that sort by several keys of one length, the last of which counts most.

    >>> import lazyxla as lx
    >>> lx.lexsort([lx.asarray([2, 1, 0]), lx.asarray([0, 0, 1])]).tolist()
    [1, 0, 2]
    """
    order = None
    for key in keys:
        order = argsort(key) if order is None else take(order, argsort(take(key, order, axis=0)), axis=0)
    if order is None:
        raise ValueError("lexsort() takes at least one key")
    return order


# Creation.


def array(
    obj: Any, /, dtype: DTypeLike | None = None, *, copy: bool = True, ndmin: int = 0, device: Any = None
) -> Array:
    """Returns a new array of ``obj``, as ``asarray``; with ``copy=False`` an array itself. ``ndmin`` is the least number
    of axes: axes of size 1 come first.

    >>> import lazyxla as lx
    >>> lx.array([1, 2], ndmin=2).tolist()
    [[1, 2]]
    """
    made = asarray(obj, dtype=dtype, device=device, copy=True if copy else None)
    return made if made.ndim >= ndmin else reshape(made, (1,) * (ndmin - made.ndim) + made.shape)


def identity(n: int, /, dtype: DTypeLike | None = None, *, device: Any = None) -> Array:
    """Returns the matrix of n rows with ones on the diagonal and zeros elsewhere.

    >>> import lazyxla as lx
    >>> lx.identity(2).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    return eye(n, dtype=dtype, device=device)


def logspace(
    start: float,
    stop: float,
    num: int = 50,
    endpoint: bool = True,
    base: float = 10.0,
    *,
    dtype: DTypeLike | None = None,
    device: Any = None,
) -> Array:
    """Returns ``base`` to the power of ``num`` evenly spaced exponents from start to stop.

    >>> import lazyxla as lx
    >>> lx.logspace(0, 2, 3).tolist()
    [1.0, 10.0, 100.0]
    """
    found = base ** linspace(start, stop, num, endpoint, dtype=_core.float64, device=device)
    return found.astype(dtype or _core.float32)


def geomspace(
    start: float,
    stop: float,
    num: int = 50,
    endpoint: bool = True,
    *,
    dtype: DTypeLike | None = None,
    device: Any = None,
) -> Array:
    """Returns ``num`` numbers from start to stop, each of which is the one before times the same number.

    >>> import lazyxla as lx
    >>> lx.geomspace(1, 100, 3).tolist()
    [1.0, 10.0, 100.0]
    """
    if start == 0 or stop == 0 or (start < 0) != (stop < 0):
        raise ValueError(f"geomspace() takes two numbers of one sign that are not 0, not {start} and {stop}")
    sign = -1.0 if start < 0 else 1.0
    exponents = linspace(
        math.log10(builtins.abs(start)),
        math.log10(builtins.abs(stop)),
        num,
        endpoint,
        dtype=_core.float64,
        device=device,
    )
    return (sign * 10.0**exponents).astype(dtype or _core.float32)
