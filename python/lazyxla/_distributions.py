"""Random numbers that are made of those of the library, by the formulas of ``jax.random``: up to rounding, they are its
numbers for a key, but for those of ``dirichlet`` with parameters below 1, and of "eigh" and "svd"."""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Sequence
from typing import Any

from . import _core
from ._core import Array
from ._creation import arange, asarray
from ._dtypes import finfo
from ._elementwise import exp, floor, log, log1p, maximum, sqrt, tan, where
from ._matrices import with_hermitian_slopes
from ._operands import in_floats
from ._reductions import argmax, max
from ._shapes import broadcast_shapes, broadcast_to, matmul
from ._sizes import DTypeLike, integers

Shape = int | Sequence[int]


def _shape(shape: Shape) -> tuple[int, ...]:
    return tuple(integers(shape, "sizes"))


def parameter(name: str, x: Any, key: Array) -> Array:
    """Returns a parameter of a distribution as an array: of float32 if it is a number."""
    if isinstance(x, Array):
        return x
    if isinstance(x, (int, float)) and not isinstance(x, bool):
        return _core.full((), float(x), _core.float32, key.device)
    raise TypeError(f"{name} is an array of floats or a number, not a {type(x).__name__}")


def _drawn(
    name: str, key: Array, shape: Shape | None, parameters: dict[str, Any]
) -> tuple[list[Array], tuple[int, ...]]:
    """Returns parameters as floats of one dtype, and the shape of the numbers: that to which the parameters broadcast,
    unless another one is given."""
    each = [in_floats(parameter(of, x, key)) for of, x in parameters.items()]
    dtype = each[0].dtype
    for x in each[1:]:
        dtype = _core.promote(dtype, x.dtype)
    if dtype.kind != "real floating":
        raise TypeError(f"random.{name}() takes parameters of float dtypes, not {dtype.name}")
    common = broadcast_shapes(*(x.shape for x in each))
    sizes = common if shape is None else _shape(shape)
    if broadcast_shapes(common, sizes) != sizes:
        raise ValueError(f"random.{name}(): parameters of shape {common} do not broadcast to shape {sizes}")
    return [x.astype(dtype, copy=False) for x in each], sizes


def _uniform(key: Array, shape: Sequence[int], dtype: Any, low: float = 0.0) -> Array:
    return _core.random_uniform(key, [*shape], dtype, low, 1.0)


def is_array(x: Any) -> bool:
    """Returns whether a parameter is an array, of this package or of NumPy; a number of NumPy is a number."""
    return isinstance(x, Array) or (hasattr(x, "__array_interface__") and x.shape != ())


def _fitting(name: str, x: Any, shape: Sequence[int], dtype: Any, key: Array) -> Array:
    """Returns a bound as an array of a dtype; an error unless it broadcasts to the shape."""
    given = x if isinstance(x, Array) else asarray(x, device=key.device)
    if dtype.kind != "real floating" and "integer" not in given.dtype.kind:
        raise TypeError(f"{name} is an integer or an array of integers, not of {given.dtype.name}")
    after = shape[len(shape) - given.ndim :]
    if given.ndim > len(shape) or builtins.any(of not in (1, size) for of, size in zip(given.shape, after)):
        raise ValueError(f"{name} of shape {given.shape} does not broadcast to shape {tuple(shape)}")
    return given.astype(dtype, copy=False)


def uniform_between(key: Array, shape: Sequence[int], dtype: DTypeLike, minval: Any, maxval: Any) -> Array:
    dtype = _core.as_dtype(dtype)
    low = _fitting("uniform(): minval", minval, shape, dtype, key)
    high = _fitting("uniform(): maxval", maxval, shape, dtype, key)
    # Rounding may lead below the lower bound.
    made: Array = maximum(low, _core.random_uniform(key, [*shape], dtype, 0.0, 1.0) * (high - low) + low)
    return made


def bernoulli_of(key: Array, p: Any, shape: Sequence[int] | None) -> Array:
    chances = in_floats(p if isinstance(p, Array) else asarray(p, device=key.device))
    sizes = chances.shape if shape is None else tuple(shape)
    chances = _fitting("bernoulli(): p", chances, sizes, chances.dtype, key)
    return _uniform(key, sizes, chances.dtype) < chances


def integers_between(key: Array, shape: Sequence[int], dtype: _core.DType, low: Any, high: Any) -> Array:
    from .random import bits, split

    # Narrow integers are drawn as int32.
    wide = dtype if int(dtype.limits["bits"]) >= 32 else _core.int32
    first, end = (_fitting(f"integers(): {of}", x, shape, wide, key) for of, x in (("low", low), ("high", high)))
    words = _core.uint64 if int(wide.limits["bits"]) == 64 else _core.uint32
    keys = split(key)
    upper, lower = bits(keys[0], shape, words), bits(keys[1], shape, words)
    span = where(end > first, (end - first).astype(words), 1)
    half = _core.full((), 1 << int(wide.limits["bits"]) // 2, words, key.device) % span
    offset = (upper % span * (half * half % span) + lower % span) % span
    return (first + offset.astype(wide)).astype(dtype, copy=False)


def randint(
    key: Array, shape: Shape, minval: int | Array, maxval: int | Array, dtype: DTypeLike = _core.int64
) -> Array:
    """Returns integers from ``minval`` up to but excluding ``maxval``: ``integers`` with the arguments in JAX's order.

    >>> import lazyxla as lx
    >>> lx.random.randint(lx.random.key(0), (2,), 5, 6).tolist()
    [5, 5]
    """
    from .random import integers

    low, high = (x if is_array(x) else operator.index(x) for x in (minval, maxval))
    return integers(key, low, high, shape, dtype)


def rademacher(key: Array, shape: Shape = (), dtype: DTypeLike = _core.int64) -> Array:
    """Returns numbers that are 1 or -1, with equal probability.

    >>> import lazyxla as lx
    >>> lx.unique(lx.random.rademacher(lx.random.key(0), 100)).tolist()
    [-1, 1]
    """
    return (2 * _core.random_bernoulli(key, 0.5, _shape(shape)).astype(_core.int64) - 1).astype(dtype, copy=False)


def logistic(key: Array, shape: Shape = (), dtype: DTypeLike = _core.float32) -> Array:
    """Returns floats of the standard logistic distribution.

    >>> import lazyxla as lx
    >>> lx.random.logistic(lx.random.key(0), 3).shape
    (3,)
    """
    u = _uniform(key, _shape(shape), dtype, float(finfo(dtype).smallest_normal))
    found: Array = log(u) - log1p(-u)
    return found


def cauchy(key: Array, shape: Shape = (), dtype: DTypeLike = _core.float32) -> Array:
    """Returns floats of the standard Cauchy distribution.

    >>> import lazyxla as lx
    >>> lx.random.cauchy(lx.random.key(0), 3).shape
    (3,)
    """
    u = _uniform(key, _shape(shape), dtype, float(finfo(dtype).eps))
    found: Array = tan(math.pi * (u - 0.5))
    return found


def lognormal(
    key: Array, sigma: Array | float = 1.0, shape: Shape | None = None, dtype: DTypeLike | None = None
) -> Array:
    """Returns floats whose logarithms are of the normal distribution with deviation ``sigma``.

    >>> import lazyxla as lx
    >>> bool(lx.all(lx.random.lognormal(lx.random.key(0), 0.5, 100) > 0))
    True
    """
    (scale,), sizes = _drawn("lognormal", key, shape, {"sigma": sigma})
    found: Array = exp(_core.random_floats("normal", key, sizes, dtype or scale.dtype) * scale)
    return found


def rayleigh(key: Array, scale: Array | float = 1.0, shape: Shape | None = None) -> Array:
    """Returns floats of the Rayleigh distribution with a scale: lengths of normal points in the plane.

    >>> import lazyxla as lx
    >>> bool(lx.all(lx.random.rayleigh(lx.random.key(0), 2.0, 100) >= 0))
    True
    """
    (by,), sizes = _drawn("rayleigh", key, shape, {"scale": scale})
    u = _uniform(key, sizes, by.dtype, float(finfo(by.dtype).smallest_normal))
    found: Array = sqrt(-2.0 * log(u)) * by
    return found


def weibull_min(key: Array, scale: Array | float, concentration: Array | float, shape: Shape | None = None) -> Array:
    """Returns floats of the Weibull distribution.

    >>> import lazyxla as lx
    >>> bool(lx.all(lx.random.weibull_min(lx.random.key(0), 2.0, 1.5, 100) >= 0))
    True
    """
    (by, k), sizes = _drawn("weibull_min", key, shape, {"scale": scale, "concentration": concentration})
    u = _uniform(key, sizes, by.dtype)
    found: Array = (-log1p(-u)) ** (1.0 / k) * by
    return found


def pareto(key: Array, b: Array | float, shape: Shape | None = None) -> Array:
    """Returns floats, at least 1, of the Pareto distribution with the exponent b.

    >>> import lazyxla as lx
    >>> bool(lx.all(lx.random.pareto(lx.random.key(0), 3.0, 100) >= 1))
    True
    """
    (power,), sizes = _drawn("pareto", key, shape, {"b": b})
    found: Array = exp(_core.random_floats("exponential", key, sizes, power.dtype) / power)
    return found


def geometric(key: Array, p: Array | float, shape: Shape | None = None, dtype: DTypeLike = _core.int64) -> Array:
    """Returns how many trials of probability p it takes to the first success, from 1 on.

    >>> import lazyxla as lx
    >>> lx.random.geometric(lx.random.key(0), 1.0, 3).tolist()
    [1, 1, 1]
    """
    (share,), sizes = _drawn("geometric", key, shape, {"p": p})
    u = _uniform(key, sizes, share.dtype, float(finfo(share.dtype).smallest_normal))
    found: Array = (floor(log(u) / log1p(-share)) + 1).astype(dtype)
    return found


def chisquare(key: Array, df: Array | float, shape: Shape | None = None) -> Array:
    """Returns floats of the chi-square distribution with ``df`` degrees of freedom.

    >>> import lazyxla as lx
    >>> bool(lx.all(lx.random.chisquare(lx.random.key(0), 3.0, 100) >= 0))
    True
    """
    (freedom,), sizes = _drawn("chisquare", key, shape, {"df": df})
    return 2.0 * _core.random_gamma(key, broadcast_to(freedom / 2.0, sizes), sizes)


def t(key: Array, df: Array | float, shape: Shape | None = None) -> Array:
    """Returns floats of Student's distribution with ``df`` degrees of freedom.

    >>> import lazyxla as lx
    >>> lx.random.t(lx.random.key(0), 3.0, (2, 3)).shape
    (2, 3)
    """
    (freedom,), sizes = _drawn("t", key, shape, {"df": df})
    keys = _core.random_split(key, 2)
    half = freedom / 2.0
    gamma = _core.random_gamma(keys[1], broadcast_to(half, sizes), sizes)
    found: Array = _core.random_floats("normal", keys[0], sizes, freedom.dtype) * sqrt(half / gamma)
    return found


def dirichlet(key: Array, alpha: Array, shape: Shape | None = None) -> Array:
    """Returns vectors of shares whose sum is 1, of the Dirichlet distribution with the parameters ``alpha``, along its last
    axis. The axes before it broadcast to ``shape``.

    >>> import lazyxla as lx
    >>> x = lx.random.dirichlet(lx.random.key(0), lx.asarray([1.0, 2.0, 3.0]), 5)
    >>> x.shape, bool(lx.allclose(lx.sum(x, 1), 1.0))
    ((5, 3), True)
    """
    from .random import fold_in

    alpha = in_floats(parameter("alpha", alpha, key))
    if alpha.ndim < 1:
        raise ValueError("random.dirichlet(): alpha is a vector of parameters, or several, not a scalar")
    before = alpha.shape[:-1] if shape is None else _shape(shape)
    if broadcast_shapes(alpha.shape[:-1], before) != before:
        raise ValueError(f"random.dirichlet(): alpha of shape {alpha.shape} does not broadcast to shape {before}")
    sizes = (*before, alpha.shape[-1])
    if 0 in sizes:
        return _core.full(sizes, 0, alpha.dtype, alpha.device)
    wide = broadcast_to(alpha, sizes)
    is_small = wide < 1
    # Numbers of small alpha underflow, so that all of a row may be 0: gamma(a) is gamma(a + 1) times u^(1 / a).
    found = log(_core.random_gamma(key, where(is_small, wide + 1, wide), sizes))
    drawn = log1p(-_uniform(fold_in(key, 1), sizes, alpha.dtype))
    found = where(is_small, found + where(wide == 0, -math.inf, drawn / wide), found)
    # Where all logarithms of a row are -inf, the largest share is 1.
    is_beyond = max(found, axis=-1, keepdims=True) == -math.inf
    largest = max(wide, axis=-1, keepdims=True)
    ratio = where(largest > 0, wide / largest, 1)
    places = arange(sizes[-1], device=alpha.device)
    winner = argmax(where(ratio == 0, -math.inf, drawn / ratio), axis=-1, keepdims=True)
    share = (places == winner).astype(found.dtype)
    return where(is_beyond, share, _core.softmax(where(is_beyond, 0, found), -1, False))


def multivariate_normal(
    key: Array,
    mean: Array,
    cov: Array,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
    method: str = "cholesky",
) -> Array:
    """Returns vectors of the normal distribution with means and covariances: along the last axis, the others of ``shape``,
    by default those to which ``mean`` and ``cov`` broadcast. ``method`` is "cholesky", or "eigh" or "svd", which also
    take covariances with eigenvalues of 0.

    >>> import lazyxla as lx
    >>> lx.random.multivariate_normal(lx.random.key(0), lx.zeros(2), lx.eye(2), 5).shape
    (5, 2)
    """
    if mean.ndim < 1 or cov.ndim < 2 or cov.shape[-2:] != (mean.shape[-1],) * 2:
        raise ValueError(
            f"random.multivariate_normal(): mean and cov are of the shapes {mean.shape} and {cov.shape}; want vectors of "
            f"n elements and matrices of n rows and columns"
        )
    chosen = _core.as_dtype(dtype or _core.promote(in_floats(mean).dtype, in_floats(cov).dtype))
    mean, cov = mean.astype(chosen, copy=False), cov.astype(chosen, copy=False)
    common = broadcast_shapes(mean.shape[:-1], cov.shape[:-2])
    before = common if shape is None else _shape(shape)
    if broadcast_shapes(common, before) != before:
        raise ValueError(f"random.multivariate_normal(): parameters of {common} do not broadcast to shape {before}")
    if method == "cholesky":
        factor = _core.cholesky(with_hermitian_slopes(cov), True)
    elif method in ("eigh", "svd"):
        values, vectors = _core.eigh(with_hermitian_slopes(cov), True)
        factor = vectors * sqrt(maximum(values, 0.0))[..., None, :]
    else:
        raise ValueError(f"random.multivariate_normal(): method is 'cholesky', 'eigh' or 'svd', not {method!r}")
    drawn = _core.random_floats("normal", key, [*before, mean.shape[-1]], chosen)
    return mean + matmul(factor, drawn[..., None])[..., 0]
