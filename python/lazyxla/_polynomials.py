"""NumPy's functions of polynomials, whose coefficients are vectors with the highest power first."""

from __future__ import annotations

import builtins
import operator
from typing import Any

from . import _core, linalg
from ._core import Array
from ._creation import arange, asarray
from ._dtypes import finfo
from ._elementwise import sqrt
from ._operands import in_floats, operands
from ._reductions import sum
from ._shapes import expand_dims, reshape
from ._signals import convolve


def _vectors(of: str, *polynomials: Any) -> list[Array]:
    """Returns coefficients as vectors of one dtype; lists and scalars among them as arrays."""
    device = next((p.device for p in polynomials if isinstance(p, Array)), None)
    arrays = [p if isinstance(p, Array) else asarray(p, device=device) for p in polynomials]
    if wrong := [p for p in arrays if p.ndim > 1]:
        raise ValueError(f"{of}() takes vectors of coefficients, not an array of rank {wrong[0].ndim}")
    return [reshape(p, (-1,)) for p in operands(of, *arrays)]


def vander(x: Array, /, N: int | None = None, increasing: bool = False) -> Array:
    """Returns the powers of a vector in N columns, by default as many as it has elements, the highest first, or with
    ``increasing`` last.

    >>> import lazyxla as lx
    >>> lx.vander(lx.asarray([2, 3]), 3).tolist()
    [[4, 2, 1], [9, 3, 1]]
    """
    if x.ndim != 1:
        raise ValueError(f"vander() takes a vector, not an array of rank {x.ndim}")
    count = x.shape[0] if N is None else operator.index(N)
    if count < 0:
        raise ValueError(f"vander(): N is at least 0, not {count}")
    x = x.astype(_core.int64) if x.dtype == _core.bool else x
    powers = [_core.full(x.shape, 1, x.dtype, x.device)][:count]
    while len(powers) < count:
        powers.append(powers[-1] * x)
    if not powers:
        return _core.full((x.shape[0], 0), 0, x.dtype, x.device)
    return _core.join(powers if increasing else powers[::-1], 1, True)


def polyfit(
    x: Array, y: Array, deg: int, /, rcond: float | None = None, *, w: Array | None = None, cov: Any = False
) -> Any:
    """Returns the coefficients of the polynomial of degree ``deg`` with the least sum of squared differences to y at x,
    for each column of y. ``w`` are factors of the differences. Singular values up to ``rcond`` times the largest count
    as 0, by default len(x) times the distance of 1.0 and the next float.

    With ``cov``, returns a pair of them and their covariances, scaled so that the differences have variances of 1 by w;
    ``cov="unscaled"`` takes w as inverse deviations. Integers are taken as float32: pass float64 for high degrees.

    >>> import lazyxla as lx
    >>> x = lx.asarray([0.0, 1.0, 2.0, 3.0])
    >>> [round(c, 4) for c in lx.polyfit(x, 2 * x + 1, 1).tolist()]
    [2.0, 1.0]
    """
    deg = operator.index(deg)
    x, y = (in_floats(each) for each in operands("polyfit", x, y))
    if deg < 0:
        raise ValueError(f"polyfit(): deg is at least 0, not {deg}")
    if x.ndim != 1 or x.shape[0] == 0 or y.ndim not in (1, 2) or y.shape[0] != x.shape[0]:
        raise ValueError(
            f"polyfit(): x and y are of the shapes {x.shape} and {y.shape}; want a vector, and as many rows"
        )
    left, right = vander(x, deg + 1), y
    if w is not None:
        w = w.astype(y.dtype, copy=False)
        if w.shape != x.shape:
            raise ValueError(f"polyfit(): w is of shape {w.shape}; want that of x, {x.shape}")
        left = left * expand_dims(w, 1)
        right = right * (expand_dims(w, 1) if y.ndim == 2 else w)
    scale = sqrt(sum(left * left, 0))
    cut = float(finfo(x.dtype).eps) * x.shape[0] if rcond is None else rcond
    found = _core.lstsq(left / scale, right, cut)
    found = found / (expand_dims(scale, 1) if y.ndim == 2 else scale)
    if not cov:
        return found
    base = linalg.inv((left / scale).mT @ (left / scale)) / (expand_dims(scale, 1) * scale)
    if cov == "unscaled":
        factor: Any = 1.0
    else:
        freedom = x.shape[0] - (deg + 1)
        if freedom <= 0:
            raise ValueError(f"polyfit(): {x.shape[0]} points for degree {deg}; cov needs at least {deg + 2}")
        apart = right - left @ found
        factor = sum(apart * apart, 0) / freedom
    return found, base * factor if y.ndim == 1 else expand_dims(base, -1) * factor


def polyadd(a: Any, b: Any, /) -> Array:
    """Returns the sum of two polynomials.

    >>> import lazyxla as lx
    >>> lx.polyadd(lx.asarray([1, 2]), [9, 5, 4]).tolist()
    [9, 6, 6]
    """
    a, b = _vectors("polyadd", a, b)
    size = builtins.max(a.shape[0], b.shape[0])
    zero: Any = 0 if a.dtype != _core.bool else False
    a, b = (_core.pad(each, zero, [size - each.shape[0]], [0]) for each in (a, b))
    found: Array = a + b
    return found


def polysub(a: Any, b: Any, /) -> Array:
    """Returns the difference of two polynomials.

    >>> import lazyxla as lx
    >>> lx.polysub(lx.asarray([2, 10, -2]), [3, 10, -4]).tolist()
    [-1, 0, 2]
    """
    a, b = _vectors("polysub", a, b)
    return polyadd(a, -b)


def polymul(a: Any, b: Any, /) -> Array:
    """Returns the product of two polynomials.

    >>> import lazyxla as lx
    >>> lx.polymul(lx.asarray([1, 2]), [1, -2]).tolist()
    [1, 0, -4]
    """
    a, b = _vectors("polymul", a, b)
    return convolve(a, b)


def polyder(p: Any, /, m: int = 1) -> Array:
    """Returns the m-th derivative of a polynomial.

    >>> import lazyxla as lx
    >>> lx.polyder(lx.asarray([1, 1, 1, 1])).tolist()
    [3, 2, 1]
    """
    (p,) = _vectors("polyder", p)
    for _ in range(_order("polyder", m)):
        n = p.shape[0] - 1
        p = p[: builtins.max(n, 0)] * arange(builtins.max(n, 0), 0, -1, device=p.device).astype(p.dtype)
    found: Array = p
    return found


def polyint(p: Any, /, m: int = 1, k: Any = 0) -> Array:
    """Returns the m-th antiderivative of a polynomial; ``k`` are the constants of the m steps, or a single one for all.
    Integers are taken as float32.

    >>> import lazyxla as lx
    >>> lx.polyint(lx.asarray([3.0, 2.0, 1.0]), k=5).tolist()
    [1.0, 1.0, 1.0, 5.0]
    """
    (p,) = (in_floats(each) for each in _vectors("polyint", p))
    m = _order("polyint", m)
    constants = [*k] if hasattr(k, "__len__") else [k] * m
    if len(constants) == 1:
        constants *= m
    if len(constants) != m:
        raise ValueError(f"polyint(): k has {len(constants)} constants; want one, or {m}")
    for constant in constants:
        p = p / arange(p.shape[0], 0, -1, device=p.device).astype(p.dtype)
        last = constant if isinstance(constant, Array) else _core.full((), constant, p.dtype, p.device)
        p = _core.join([p, reshape(last.astype(p.dtype, copy=False), (1,))], 0, False)
    found: Array = p
    return found


def _order(of: str, m: Any) -> int:
    m = operator.index(m)
    if m < 0:
        raise ValueError(f"{of}(): m is at least 0, not {m}")
    return int(m)


def poly(roots: Any, /) -> Array:
    """Returns the coefficients of the polynomial with these roots, or of the characteristic polynomial of a matrix, whose
    highest one is 1. Those of complex roots are complex. Integers are taken as float32.

    >>> import lazyxla as lx
    >>> lx.poly(lx.asarray([1.0, 2.0])).tolist()
    [1.0, -3.0, 2.0]
    """
    roots = roots if isinstance(roots, Array) else asarray(roots)
    if roots.ndim == 2 and roots.shape[0] == roots.shape[1]:
        is_real = roots.dtype.kind != "complex floating"
        made = poly(linalg.eigvals(roots))
        return _core.part(made, False) if is_real else made
    if roots.ndim != 1:
        raise ValueError(f"poly() takes a vector of roots or a square matrix, not an array of shape {roots.shape}")
    roots = in_floats(roots)
    found = _core.full((1,), 1.0, roots.dtype, roots.device)
    zero: Any = 0j if roots.dtype.kind == "complex floating" else 0.0
    for i in range(roots.shape[0]):
        found = _core.pad(found, zero, [0], [1]) - _core.pad(found * roots[i], zero, [1], [0])
    return found


def roots(p: Any, /) -> Array:
    """Returns the roots of a polynomial as complex numbers: the eigenvalues of its companion matrix. Reads the
    coefficients, since the degree does not count leading zeros, and zeros at the end are roots that are 0.

    >>> import lazyxla as lx
    >>> sorted(round(root.real, 4) for root in lx.roots(lx.asarray([1.0, -3.0, 2.0])).tolist())
    [1.0, 2.0]
    """
    (p,) = (in_floats(each) for each in _vectors("roots", p))
    complex_of = {"float64": _core.complex128, "complex128": _core.complex128}.get(p.dtype.name, _core.complex64)
    places = [i for i, value in enumerate(p.tolist()) if value != 0]
    if not places:
        return _core.full((0,), 0, complex_of, p.device)
    first, last = places[0], places[-1]
    zeros = _core.full((p.shape[0] - 1 - last,), 0, complex_of, p.device)
    kept = p[first : last + 1]
    n = kept.shape[0] - 1
    if n == 0:
        return zeros
    below = _core.eye(n - 1, n, 0, p.dtype, p.device)
    companion = _core.join([reshape(-kept[1:] / kept[0], (1, n)), below], 0, False)
    return _core.join([linalg.eigvals(companion), zeros], 0, False)
