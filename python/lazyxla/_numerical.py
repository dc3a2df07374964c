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
from ._elementwise import abs, clip, conj, isnan, sqrt, where
from ._operands import in_floats, operands, real_floats
from ._reductions import argsort, cumulative_prod, cumulative_sum, max, places_of, searchsorted, sort, sum
from ._shapes import (
    take_along_axis,
    matmul,
    moveaxis,
    reshape,
    take,
    tensordot,
)
from ._sizes import DTypeLike, normalized

# Interpolation and integrals.


def interp(
    x: Any, xp: Any, fp: Any, left: float | None = None, right: float | None = None, period: float | None = None
) -> Array:
    """Returns the piecewise linear function through the points (xp, fp), xp ascending, at x. Outside of xp it is
    ``left`` and ``right``, by default the first and the last of fp. With ``period``, the function repeats itself, and xp
    need not ascend.

    >>> import lazyxla as lx
    >>> lx.interp(lx.asarray([0.5, 3.0]), lx.asarray([0.0, 1.0]), lx.asarray([10.0, 20.0])).tolist()
    [15.0, 20.0]
    """
    device = next((each.device for each in (x, xp, fp) if isinstance(each, Array)), None)
    x, xp, fp = (each if isinstance(each, Array) else asarray(each, device=device) for each in (x, xp, fp))
    x, xp, fp = real_floats("interp", x, xp, fp)
    if xp.ndim != 1 or xp.shape != fp.shape or xp.shape[0] == 0:
        raise ValueError(f"interp(): xp and fp are of the shapes {xp.shape} and {fp.shape}; want vectors of one length")
    if period is not None:
        if period == 0:
            raise ValueError("interp(): period is not 0")
        period = builtins.abs(period)
        x, xp = x % period, xp % period
        order = argsort(xp)
        xp, fp = take(xp, order), take(fp, order)
        xp = _core.join([xp[-1:] - period, xp, xp[:1] + period], 0, False)
        fp = _core.join([fp[-1:], fp, fp[:1]], 0, False)
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


def polyval(p: Any, x: Any, /) -> Array:
    """Returns the polynomial with the coefficients p, the highest power first, at x, by Horner's rule.

    >>> import lazyxla as lx
    >>> lx.polyval(lx.asarray([1.0, 0.0, 2.0]), lx.asarray([3.0])).tolist()
    [11.0]
    """
    p = p if isinstance(p, Array) else asarray(p, device=x.device if isinstance(x, Array) else None)
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


def argwhere(x: Array, /, *, size: int | None = None, fill_value: Any = None) -> Array:
    """Returns the places of elements that are not 0, one in each row. Reads their number, since the shape depends on it;
    ``size`` and ``fill_value`` are those of ``nonzero``.

    >>> import lazyxla as lx
    >>> lx.argwhere(lx.asarray([[0, 1], [2, 0]])).tolist()
    [[0, 1], [1, 0]]
    """
    if x.ndim == 0:
        return argwhere(reshape(x, (1,)), size=size, fill_value=fill_value)[:, :0]
    return _core.join(list(_core.nonzero(x) if size is None else places_of(x, size, fill_value)), 1, True)


def flatnonzero(x: Array, /, *, size: int | None = None, fill_value: Any = None) -> Array:
    """Returns the places of elements that are not 0 in row-major order. Reads their number; ``size`` and ``fill_value``
    are those of ``nonzero``.

    >>> import lazyxla as lx
    >>> lx.flatnonzero(lx.asarray([0, 1, 2])).tolist()
    [1, 2]
    """
    flat = reshape(x, (-1,))
    return _core.nonzero(flat)[0] if size is None else places_of(flat, size, fill_value)[0]


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


def lexsort(keys: Sequence[Array], /, axis: int = -1) -> Array:
    """Returns the indices that sort along an axis by several keys of one shape, the last of which counts most.

    >>> import lazyxla as lx
    >>> lx.lexsort([lx.asarray([2, 1, 0]), lx.asarray([0, 0, 1])]).tolist()
    [1, 0, 2]
    """
    order = None
    for key in keys:
        if order is None:
            order = argsort(key, axis)
        elif key.shape != order.shape:
            raise ValueError(
                f"lexsort(): keys have the shapes {list(order.shape)} and {list(key.shape)}; want one shape"
            )
        else:
            order = take_along_axis(order, argsort(take_along_axis(key, order, axis), axis), axis)
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


# Products by rows, and distances.


def vdot(x: Array, y: Array, /) -> Array:
    """Returns the sum of products of the elements of two arrays of one size, those of x conjugated.

    >>> import lazyxla as lx
    >>> lx.vdot(lx.asarray([1j, 1.0]), lx.asarray([1j, 2.0])).item()
    (3+0j)
    """
    x, y = (reshape(each, (-1,)) for each in operands("vdot", x, y))
    if x.shape != y.shape:
        raise ValueError(f"vdot(): x and y have {x.shape[0]} and {y.shape[0]} elements; want as many")
    return tensordot(conj(x) if x.dtype.kind == "complex floating" else x, y, axes=1)


def matvec(x: Array, y: Array, /) -> Array:
    """Returns products of matrices, in the last two axes of x, and vectors, in the last axis of y.

    >>> import lazyxla as lx
    >>> lx.matvec(lx.asarray([[1, 2], [3, 4]]), lx.asarray([1, 1])).tolist()
    [3, 7]
    """
    x, y = operands("matvec", x, y)
    if x.ndim < 2 or y.ndim < 1:
        raise ValueError(f"matvec() takes matrices and vectors, not arrays of the shapes {x.shape} and {y.shape}")
    return matmul(x, y[..., None])[..., 0]


def vecmat(x: Array, y: Array, /) -> Array:
    """Returns products of vectors, in the last axis of x and conjugated, and matrices, in the last two axes of y.

    >>> import lazyxla as lx
    >>> lx.vecmat(lx.asarray([1, 1]), lx.asarray([[1, 2], [3, 4]])).tolist()
    [4, 6]
    """
    x, y = operands("vecmat", x, y)
    if x.ndim < 1 or y.ndim < 2:
        raise ValueError(f"vecmat() takes vectors and matrices, not arrays of the shapes {x.shape} and {y.shape}")
    x = conj(x) if x.dtype.kind == "complex floating" else x
    return matmul(x[..., None, :], y)[..., 0, :]


def cdist(x: Array, y: Array, /, metric: str = "euclidean", *, p: float = 2.0) -> Array:
    """Returns the distances of each row of x and each row of y, as ``scipy.spatial.distance.cdist``. ``metric`` is
    "euclidean", "sqeuclidean", "cityblock", "chebyshev", "cosine", or "minkowski" with the power ``p``. Axes before the
    last two are batches. The slope by rows at distance 0 is 0.

    >>> import lazyxla as lx
    >>> lx.cdist(lx.asarray([[0.0, 0.0]]), lx.asarray([[3.0, 4.0], [0.0, 1.0]])).tolist()
    [[5.0, 1.0]]
    """
    x, y = real_floats("cdist", x, y)
    if x.ndim < 2 or y.ndim < 2 or x.shape[-1] != y.shape[-1]:
        raise ValueError(f"cdist(): x and y are of the shapes {x.shape} and {y.shape}; want rows of one length")
    if metric == "cosine":
        lengths = [sqrt(sum(each * each, axis=-1)) for each in (x, y)]
        found: Array = 1 - matmul(x, y.mT) / (lengths[0][..., :, None] * lengths[1][..., None, :])
        return found
    apart = abs(x[..., :, None, :] - y[..., None, :, :])
    if metric == "chebyshev":
        return max(apart, axis=-1)
    powers = {"euclidean": 2.0, "sqeuclidean": 2.0, "cityblock": 1.0, "minkowski": float(p)}
    if metric not in powers:
        raise ValueError(f"cdist(): metric is one of {', '.join((*powers, 'chebyshev', 'cosine'))}, not {metric!r}")
    power = powers[metric]
    if power <= 0:
        raise ValueError(f"cdist(): p is positive, not {p}")
    if math.isinf(power):
        return max(apart, axis=-1)
    if power == 1:
        return sum(apart, axis=-1)
    total = sum(apart * apart, axis=-1) if power == 2 else sum(apart**power, axis=-1)
    if metric == "sqeuclidean":
        return total
    is_none = total == 0
    safe = where(is_none, 1, total)
    return where(is_none, 0, sqrt(safe) if power == 2 else safe ** (1 / power))
