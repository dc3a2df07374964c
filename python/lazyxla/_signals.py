"""NumPy's functions of differences and convolutions along axes."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

from . import _core
from ._core import Array
from ._creation import asarray
from ._elementwise import conj
from ._operands import in_floats, operands
from ._shapes import Axis, axes_of, flip, moveaxis, reshape
from ._sizes import normalized

# Convolutions.


def _vectors(of: str, a: Any, v: Any) -> list[Array]:
    """Returns two vectors in one dtype; lists among them as arrays."""
    device = next((x.device for x in (a, v) if isinstance(x, Array)), None)
    return operands(of, *(x if isinstance(x, Array) else asarray(x, device=device) for x in (a, v)))


def _sliding(of: str, a: Array, v: Array, mode: str) -> Array:
    """Returns sums of products of a and v at all distances of their starts, in the order of a's; of two vectors."""
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"{of}(): mode is 'full', 'same' or 'valid', not {mode!r}")
    for x, name in ((a, "a"), (v, "v")):
        if x.ndim > 1 or x.size == 0:
            raise ValueError(f"{of}(): {name} is of shape {x.shape}; want a vector of at least one element")
    a, v = reshape(a, (-1,)), reshape(v, (-1,))
    n, m = a.shape[0], v.shape[0]
    low, high = {"full": (m - 1, m - 1), "same": (m // 2, m - 1 - m // 2), "valid": (0, 0)}[mode]
    is_bool = a.dtype == _core.bool
    if is_bool:
        a, v = a.astype(_core.int64), v.astype(_core.int64)
    # Axes: of the batch, of features, and of space, for a, the kernel and the result.
    order = [[0, 1, 2], [0, 1, 2], [0, 1, 2]]
    found = _core.convolution(reshape(a, (1, 1, n)), reshape(v, (1, 1, m)), [1], [low], [high], [1], [1], order, 1)
    found = reshape(found, (-1,))
    return found != 0 if is_bool else found


def correlate(a: Any, v: Any, /, mode: str = "valid") -> Array:
    """Returns the cross-correlation of two vectors: sums of ``a[n + k] * conj(v[n])``. ``mode`` is "valid" for distances at
    which the shorter one lies within the longer one, "same" for as many as the longer one has, or "full" for all.

    >>> import lazyxla as lx
    >>> lx.correlate(lx.asarray([1, 2, 3]), lx.asarray([0, 1, 2]), "full").tolist()
    [2, 5, 8, 3, 0]
    """
    a, v = _vectors("correlate", a, v)
    v = conj(v) if v.dtype.kind == "complex floating" else v
    if a.ndim == v.ndim == 1 and v.shape[0] > a.shape[0] > 0:
        # The other way round: both are turned.
        return flip(_sliding("correlate", v, a, mode))
    return _sliding("correlate", a, v, mode)


def convolve(a: Any, v: Any, /, mode: str = "full") -> Array:
    """Returns the convolution of two vectors: sums of ``a[n] * v[k - n]``. ``mode`` is "full" for all of it, "same" for the
    middle part of the length of the longer vector, or "valid" for the part where both lie one over the other.

    >>> import lazyxla as lx
    >>> lx.convolve(lx.asarray([1, 2, 3]), lx.asarray([0, 1])).tolist()
    [0, 1, 2, 3]
    """
    a, v = _vectors("convolve", a, v)
    if a.ndim == v.ndim == 1 and v.shape[0] > a.shape[0]:
        a, v = v, a
    return _sliding("convolve", a, flip(v) if v.ndim else v, mode)


# Windows.


def _window(n: int, device: Any, function: Callable[[float], float]) -> Array:
    """Returns a symmetric window of n elements: a function of places from 0 to 1."""
    n = operator.index(n)
    values = [1.0] if n == 1 else [function(i / (n - 1)) for i in range(n)]
    return asarray(values, dtype=_core.float32, device=device)


def kaiser(n: int, beta: float, /, *, device: Any = None) -> Array:
    """Returns the Kaiser window of n elements: ratios of the Bessel function I0.

    >>> import lazyxla as lx
    >>> [round(x, 4) for x in lx.kaiser(3, 2.0).tolist()]
    [0.4387, 1.0, 0.4387]
    """
    from .special import i0

    # Of a float64 on the host, whose window is as exact as the others.
    places = [max(0.0, 1 - (2 * i / (n - 1) - 1) ** 2) ** 0.5 if n > 1 else 1.0 for i in range(n)]
    x = asarray([*places, 1.0], dtype=_core.float64, device="cpu") * float(beta)
    values = i0(x)
    return asarray((values[:-1] / values[-1]).tolist(), dtype=_core.float32, device=device)


def hanning(n: int, /, *, device: Any = None) -> Array:
    """Returns the Hann window of n elements: 0.5 - 0.5 cos(2 pi t).

    >>> import lazyxla as lx
    >>> lx.hanning(3).tolist()
    [0.0, 1.0, 0.0]
    """
    return _window(n, device, lambda t: 0.5 - 0.5 * math.cos(2 * math.pi * t))


def hamming(n: int, /, *, device: Any = None) -> Array:
    """Returns the Hamming window of n elements: 0.54 - 0.46 cos(2 pi t).

    >>> import lazyxla as lx
    >>> round(lx.hamming(3)[0].item(), 2)
    0.08
    """
    return _window(n, device, lambda t: 0.54 - 0.46 * math.cos(2 * math.pi * t))


def blackman(n: int, /, *, device: Any = None) -> Array:
    """Returns the Blackman window of n elements: 0.42 - 0.5 cos(2 pi t) + 0.08 cos(4 pi t).

    >>> import lazyxla as lx
    >>> round(lx.blackman(3)[1].item(), 2)
    1.0
    """
    return _window(n, device, lambda t: 0.42 - 0.5 * math.cos(2 * math.pi * t) + 0.08 * math.cos(4 * math.pi * t))


def bartlett(n: int, /, *, device: Any = None) -> Array:
    """Returns the triangular window of n elements, 0 at its ends.

    >>> import lazyxla as lx
    >>> lx.bartlett(3).tolist()
    [0.0, 1.0, 0.0]
    """
    return _window(n, device, lambda t: 1.0 - abs(2.0 * t - 1.0))


# Differences.


def ediff1d(x: Array, /, to_end: Any = None, to_begin: Any = None) -> Array:
    """Returns the differences of neighbours among all elements of x, with values behind and before them.

    >>> import lazyxla as lx
    >>> lx.ediff1d(lx.asarray([1, 2, 4]), to_begin=0, to_end=[9, 9]).tolist()
    [0, 1, 2, 9, 9]
    """
    flat = reshape(x, (-1,))
    parts = [flat[1:] - flat[:-1]]
    for value, at in ((to_begin, 0), (to_end, 2)):
        if value is not None:
            given = value if isinstance(value, Array) else asarray(value, device=x.device)
            parts.insert(at, reshape(given.astype(x.dtype, copy=False), (-1,)))
    return _core.join(parts, 0, False) if len(parts) > 1 else parts[0]


def _spacings(x: Array, given: Sequence[Any], axes: Sequence[int]) -> list[Any]:
    """Returns a distance, or the distances of neighbours as an array, for each axis."""
    each = [*given] or [1.0]
    if len(each) == 1:
        each *= len(axes)
    if len(each) != len(axes):
        raise TypeError(f"gradient(): {len(each)} distances for {len(axes)} axes; want none, one, or one for each axis")
    found = []
    for spacing, at in zip(each, axes, strict=True):
        if not isinstance(spacing, (int, float)):
            spacing = spacing if isinstance(spacing, Array) else asarray(spacing, device=x.device)
            spacing = spacing.astype(_core.promote(in_floats(spacing).dtype, x.dtype), copy=False)
            if spacing.ndim == 1:
                if spacing.shape[0] != x.shape[at]:
                    raise ValueError(f"gradient(): {spacing.shape[0]} places for an axis of size {x.shape[at]}")
                spacing = spacing[1:] - spacing[:-1]
            elif spacing.ndim:
                raise ValueError(f"gradient() takes distances as scalars and vectors, not of rank {spacing.ndim}")
        found.append(spacing)
    return found


def gradient(f: Array, /, *varargs: Any, axis: Axis = None, edge_order: int = 1) -> Any:
    """Returns differences of neighbours divided by their distances, along each axis: central ones inside, and at both ends
    one-sided ones of first or second order, by ``edge_order``. A tuple with one array for each axis; an array for one.

    ``varargs`` are distances: a scalar for all axes, or for each axis a scalar or the places of the elements.

    >>> import lazyxla as lx
    >>> lx.gradient(lx.asarray([1.0, 2.0, 4.0, 7.0])).tolist()
    [1.0, 1.5, 2.5, 3.0]
    """
    f = in_floats(f)
    given = axes_of(axis)
    axes = [*range(f.ndim)] if given is None else normalized(given, f.ndim)
    if edge_order not in (1, 2):
        raise ValueError(f"gradient(): edge_order is 1 or 2, not {edge_order}")
    found = []
    for spacing, at in zip(_spacings(f, varargs, axes), axes, strict=True):
        if f.shape[at] < edge_order + 1:
            raise ValueError(f"gradient(): axis {at} has {f.shape[at]} elements; want at least {edge_order + 1}")
        last = moveaxis(f, at, -1)
        steps = spacing if isinstance(spacing, Array) and spacing.ndim == 1 else None
        made = _slopes(last, spacing, edge_order) if steps is None else _uneven_slopes(last, steps, edge_order)
        found.append(moveaxis(made, -1, at))
    return found[0] if len(found) == 1 else tuple(found)


def _slopes(f: Array, h: Any, order: int) -> Array:
    """Differences along the last axis at one distance."""
    parts = [(f[..., 1:2] - f[..., :1]) / h, (f[..., -1:] - f[..., -2:-1]) / h]
    if order == 2:
        parts = [
            (-1.5 * f[..., :1] + 2.0 * f[..., 1:2] - 0.5 * f[..., 2:3]) / h,
            (1.5 * f[..., -1:] - 2.0 * f[..., -2:-1] + 0.5 * f[..., -3:-2]) / h,
        ]
    return _core.join([parts[0], (f[..., 2:] - f[..., :-2]) / (2.0 * h), parts[1]], f.ndim - 1, False)


def _uneven_slopes(f: Array, h: Array, order: int) -> Array:
    """Differences along the last axis at the distances h of neighbours, of second order inside."""
    before, after = h[:-1], h[1:]
    inner = (
        -after / (before * (before + after)) * f[..., :-2]
        + (after - before) / (before * after) * f[..., 1:-1]
        + before / (after * (before + after)) * f[..., 2:]
    )
    if order == 1:
        parts = [(f[..., 1:2] - f[..., :1]) / h[0], (f[..., -1:] - f[..., -2:-1]) / h[-1]]
    else:
        a, b = h[0], h[1]
        first = -(2.0 * a + b) / (a * (a + b)) * f[..., :1] + (a + b) / (a * b) * f[..., 1:2]
        y, z = h[-2], h[-1]
        last = z / (y * (y + z)) * f[..., -3:-2] - (z + y) / (y * z) * f[..., -2:-1]
        parts = [
            first - a / (b * (a + b)) * f[..., 2:3],
            last + (2.0 * z + y) / (z * (y + z)) * f[..., -1:],
        ]
    return _core.join([parts[0], inner, parts[1]], f.ndim - 1, False)
