"""Random numbers by keys: equal keys give equal numbers, on every device. A key is used once; ``split`` derives others.

Keys, those of ``split`` and ``fold_in``, and the numbers of ``uniform`` and ``bits`` are those of ``jax.random`` with
its default generator (Threefry).
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, cast

from . import _core
from ._core import Array
from ._device import on
from ._checks import kind_of
from ._creation import arange
from ._distributions import (
    bernoulli_of,
    integers_between,
    is_array,
    uniform_between,
    cauchy,
    chisquare,
    dirichlet,
    geometric,
    logistic,
    lognormal,
    multivariate_normal,
    parameter,
    pareto,
    rademacher,
    randint,
    rayleigh,
    t,
    weibull_min,
)
from ._dtypes import iinfo
from ._jit import jit
from ._shapes import broadcast_shapes
from ._sizes import DTypeLike
from ._sizes import integers as _integers
from ._sizes import normalized

__all__ = [
    "PRNGKey", "bernoulli", "beta", "bits", "categorical", "cauchy", "chisquare", "choice", "dirichlet", "exponential",
    "fold_in", "gamma", "geometric", "gumbel", "integers", "key", "laplace", "logistic", "lognormal",
    "multivariate_normal", "normal", "pareto", "permutation", "poisson", "rademacher", "randint", "rayleigh", "split",
    "t", "truncated_normal", "uniform", "weibull_min",
]  # fmt: skip

Shape = int | Sequence[int]


def _shape(shape: Shape) -> tuple[int, ...]:
    return tuple(_integers(shape, "sizes"))


def key(seed: int, *, device: Any = None) -> Array:
    """Returns the key of a seed, an int of at most 64 bits: ``uint32[2]``.

    >>> import lazyxla as lx
    >>> lx.random.key(42).tolist()
    [0, 42]
    """
    seed = operator.index(seed)
    if not -(2**63) <= seed < 2**64:
        raise OverflowError(f"a seed has at most 64 bits: {seed}")
    words = [(seed >> 32) & 0xFFFFFFFF, seed & 0xFFFFFFFF]
    return _core.from_nested(words, _core.uint32, on(device))


PRNGKey = key


def split(key: Array, num: int = 2) -> Array:
    """Returns ``num`` new keys, one per row. The old one should not be used any more.

    >>> import lazyxla as lx
    >>> lx.random.split(lx.random.key(0), 3).shape
    (3, 2)
    """
    if num < 0:
        raise ValueError(f"split(): num is at least 0, not {num}")
    return _core.random_split(key, num)


def fold_in(key: Array, data: int | Array) -> Array:
    """Returns the key that a key and a number make, that of ``jax.random.fold_in``: for the number of a step or of a
    layer.

    ``data`` is an int of 32 bits without a sign, or an array of rank 0 of integers, whose lowest 32 bits count. For
    numbers less than n it is the row of ``split(key, n)``.

    >>> import lazyxla as lx
    >>> key = lx.random.key(0)
    >>> lx.random.fold_in(key, 2).tolist() == lx.random.split(key, 5)[2].tolist()
    True
    """
    if isinstance(data, Array):
        if data.dtype.kind not in ("signed integer", "unsigned integer") or data.shape != ():
            raise TypeError(f"fold_in(): data is an int or an integer array of rank 0, not {kind_of(data)}")
        number = data.astype(_core.uint32, copy=False)
    else:
        if not 0 <= operator.index(data) < 2**32:
            raise OverflowError(f"fold_in(): data is an int from 0 to {2**32 - 1}, not {data}")
        number = _core.full((), operator.index(data), _core.uint32, key.device)
    if key.dtype != _core.uint32 or key.shape != (2,):
        wrong = TypeError if key.dtype != _core.uint32 else ValueError
        raise wrong(f"fold_in(): key is an array of uint32[2], not {kind_of(key)}")
    result: Array = _fold_in(key, number)
    return result


# jit records each call of this function as one operation.
@jit
def _fold_in(key: Array, number: Array) -> Array:
    """The block of Threefry-2x32 with 20 rounds (Salmon et al., 2011) of the counter (0, number)."""
    words = [key[0], key[1]]
    words.append(words[0] ^ words[1] ^ 0x1BD11BDA)
    x, y = words[0], number + words[1]
    for i in range(5):
        for by in ((13, 15, 26, 6), (17, 29, 16, 24))[i % 2]:
            x = x + y
            y = ((y << by) | (y >> (32 - by))) ^ x
        x, y = x + words[(i + 1) % 3], y + words[(i + 2) % 3] + (i + 1)
    return _core.join([x, y], 0, True)


def bits(key: Array, shape: Shape = (), dtype: DTypeLike = _core.uint32) -> Array:
    """Returns integers whose bits are random.

    >>> import lazyxla as lx
    >>> lx.random.bits(lx.random.key(0), 2, dtype=lx.uint8).shape
    (2,)
    """
    return _core.random_bits(key, _shape(shape), dtype)


def uniform(
    key: Array,
    shape: Shape = (),
    dtype: DTypeLike = _core.float32,
    minval: float | Array = 0.0,
    maxval: float | Array = 1.0,
) -> Array:
    """Returns floats that are uniformly distributed from ``minval`` up to but excluding ``maxval``, numbers or arrays
    that broadcast to the shape.

    >>> import lazyxla as lx
    >>> x = lx.random.uniform(lx.random.key(0), 1000, minval=2.0, maxval=3.0)
    >>> lx.all((x >= 2) & (x < 3)).item()
    True
    """
    if is_array(minval) or is_array(maxval):
        return uniform_between(key, _shape(shape), dtype, minval, maxval)
    return _core.random_uniform(key, _shape(shape), dtype, cast(float, minval), cast(float, maxval))


def normal(key: Array, shape: Shape = (), dtype: DTypeLike = _core.float32) -> Array:
    """Returns floats of the standard normal distribution.

    >>> import lazyxla as lx
    >>> lx.random.normal(lx.random.key(0), (2, 3)).shape
    (2, 3)
    """
    return _core.random_floats("normal", key, _shape(shape), dtype)


def exponential(key: Array, shape: Shape = (), dtype: DTypeLike = _core.float32) -> Array:
    """Returns floats of the exponential distribution of rate 1.

    >>> import lazyxla as lx
    >>> lx.all(lx.random.exponential(lx.random.key(0), 100) >= 0).item()
    True
    """
    return _core.random_floats("exponential", key, _shape(shape), dtype)


def gumbel(key: Array, shape: Shape = (), dtype: DTypeLike = _core.float32) -> Array:
    """Returns floats of the standard Gumbel distribution.

    >>> import lazyxla as lx
    >>> lx.random.gumbel(lx.random.key(0), 3).shape
    (3,)
    """
    return _core.random_floats("gumbel", key, _shape(shape), dtype)


def laplace(key: Array, shape: Shape = (), dtype: DTypeLike = _core.float32) -> Array:
    """Returns floats of the standard Laplace distribution.

    >>> import lazyxla as lx
    >>> lx.random.laplace(lx.random.key(0), 3, dtype=lx.float64).dtype.name
    'float64'
    """
    return _core.random_floats("laplace", key, _shape(shape), dtype)


def truncated_normal(
    key: Array, lower: float, upper: float, shape: Shape = (), dtype: DTypeLike = _core.float32
) -> Array:
    """Returns floats of the standard normal distribution between two bounds.

    >>> import lazyxla as lx
    >>> x = lx.random.truncated_normal(lx.random.key(0), -1.0, 1.0, 1000)
    >>> lx.max(lx.abs(x)).item() <= 1
    True
    """
    return _core.random_truncated_normal(key, _shape(shape), dtype, lower, upper)


def bernoulli(key: Array, p: float | Array = 0.5, shape: Shape | None = None) -> Array:
    """Returns bools that are true with probability ``p``, a number or an array. The shape is the one of ``p`` unless it is
    given; ``p`` broadcasts to it.

    >>> import lazyxla as lx
    >>> lx.random.bernoulli(lx.random.key(0), 1.0, 2).tolist()
    [True, True]
    """
    if is_array(p):
        return bernoulli_of(key, p, None if shape is None else _shape(shape))
    return _core.random_bernoulli(key, cast(float, p), _shape(() if shape is None else shape))


def categorical(key: Array, logits: Array, axis: int = -1, shape: Shape | None = None) -> Array:
    """Returns indices along an axis of ``logits`` with probabilities proportional to e^logits.

    The result has the shape of the logits without the axis, or ``shape``, which ends with a shape to which that
    broadcasts; the axes before it have independent draws.

    >>> import lazyxla as lx
    >>> lx.random.categorical(lx.random.key(0), lx.asarray([0.0, -lx.inf]), shape=3).tolist()
    [0, 0, 0]
    """
    (at,) = normalized([axis], logits.ndim)
    batch = (*logits.shape[:at], *logits.shape[at + 1 :])
    sizes = batch if shape is None else _shape(shape)
    before = len(sizes) - len(batch)
    if before < 0 or any(of not in (1, size) for of, size in zip(batch, sizes[before:])):
        raise ValueError(
            f"random.categorical(): shape {sizes} does not end with the shape {batch} of the logits without axis {axis}"
        )
    if (own := sizes[before:]) != batch:
        logits = _core.broadcast_to(logits, (*own[:at], logits.shape[at], *own[at:]))
    return _core.random_categorical(key, logits, at, sizes[:before])


def integers(
    key: Array, low: int | Array, high: int | Array, shape: Shape = (), dtype: DTypeLike = _core.int64
) -> Array:
    """Returns integers from ``low`` up to but excluding ``high``; those of ``jax.random.randint`` with this dtype. Bounds
    that are arrays broadcast to the shape; where ``low`` is not below ``high``, the result is ``low``.

    >>> import lazyxla as lx
    >>> x = lx.random.integers(lx.random.key(0), -3, 3, 1000)
    >>> lx.unique_values(x).tolist()
    [-3, -2, -1, 0, 1, 2]
    """
    if is_array(low) or is_array(high):
        return integers_between(key, _shape(shape), _core.as_dtype(dtype), low, high)
    if not low < high:
        raise ValueError(f"integers() takes low < high, not {low} and {high}")
    limits = iinfo(dtype)
    if low < limits.min or high - 1 > limits.max:
        raise OverflowError(f"integers from {low} to {high - 1} do not fit {limits.dtype.name}")
    if high >= 2**63:
        raise OverflowError(f"high is at most {2**63 - 1}, not {high}: take bits()")
    return _core.random_integers(key, cast(int, low), cast(int, high), _shape(shape), dtype)


def choice(
    key: Array,
    x: Array | int,
    shape: Shape = (),
    *,
    replace: bool = True,
    p: Array | None = None,
    axis: int = 0,
) -> Array:
    """Returns elements, or slices along an axis, of x at random; of ``arange(x)`` if x is an int.

    ``shape`` stands in the place of the axis. Without ``replace`` none is drawn twice. ``p`` are floats, one for each
    element of the axis, proportional to its probability. As in JAX, ``p`` is not read: without ``replace``, elements of
    probability 0 are drawn where no others are left.

    >>> import lazyxla as lx
    >>> sorted(lx.random.choice(lx.random.key(0), 4, 4, replace=False).tolist())
    [0, 1, 2, 3]
    >>> lx.random.choice(lx.random.key(0), lx.asarray([10, 20]), 3, p=lx.asarray([0.0, 1.0])).tolist()
    [20, 20, 20]
    """
    of = x if isinstance(x, Array) else arange(x, device=key.device)
    (at,) = normalized([axis], of.ndim)
    return _core.random_choice(key, of, at, _shape(shape), replace, p)


def permutation(key: Array, x: Array | int, axis: int = 0) -> Array:
    """Returns x with its slices along an axis in random order; the numbers below x if x is an int.

    To shuffle several arrays alike, take each at one permutation of their rows:

    >>> import lazyxla as lx
    >>> x, y = lx.asarray([1, 2, 3]), lx.asarray([10, 20, 30])
    >>> order = lx.random.permutation(lx.random.key(0), 3)
    >>> lx.all(x[order] * 10 == y[order]).item(), sorted(order.tolist())
    (True, [0, 1, 2])
    """
    of = x if isinstance(x, Array) else arange(x, device=key.device)
    (at,) = normalized([axis], of.ndim)
    return choice(key, of, of.shape[at], replace=False, axis=at)


def gamma(key: Array, alpha: Array | float, shape: Shape | None = None) -> Array:
    """Returns floats of the gamma distribution of scale 1, whose shape parameter ``alpha`` (floats) gives their dtype.

    ``alpha`` broadcasts to ``shape``, by default its own. The numbers vary with alpha in derivatives.

    >>> import lazyxla as lx
    >>> lx.random.gamma(lx.random.key(0), lx.asarray([0.5, 2.0]), (3, 2)).shape
    (3, 2)
    """
    alpha = parameter("alpha", alpha, key)
    return _core.random_gamma(key, alpha, alpha.shape if shape is None else _shape(shape))


def beta(key: Array, a: Array | float, b: Array | float, shape: Shape | None = None) -> Array:
    """Returns floats of the beta distribution, whose parameters a and b (floats) give their dtype.

    The parameters are of one dtype, and broadcast to ``shape``, by default their common one.

    >>> import lazyxla as lx
    >>> x = lx.random.beta(lx.random.key(0), lx.asarray(2.0), lx.asarray(3.0), 100)
    >>> lx.all((x > 0) & (x < 1)).item()
    True
    """
    a, b = parameter("a", a, key), parameter("b", b, key)
    return _core.random_beta(key, a, b, broadcast_shapes(a.shape, b.shape) if shape is None else _shape(shape))


def poisson(key: Array, rate: Array | float, shape: Shape | None = None, dtype: DTypeLike = _core.int64) -> Array:
    """Returns integers of the Poisson distribution with the means ``rate`` (floats).

    ``rate`` broadcasts to ``shape``, by default its own.

    >>> import lazyxla as lx
    >>> lx.random.poisson(lx.random.key(0), lx.asarray([0.0, 0.0])).tolist()
    [0, 0]
    """
    rate = parameter("rate", rate, key)
    return _core.random_poisson(key, rate, rate.shape if shape is None else _shape(shape), dtype)
