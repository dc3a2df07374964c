"""Random numbers by keys: equal keys give equal numbers, on every device. A key is used once; ``split`` derives others.

Keys, and the numbers of ``uniform`` and ``bits``, are those of ``jax.random`` with its default generator (Threefry).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import _core
from ._core import Array, DType
from ._device import on
from ._sizes import integers

__all__ = [
    "bernoulli", "bits", "categorical", "exponential", "gumbel", "key", "laplace", "normal", "split",
    "truncated_normal", "uniform",
]  # fmt: skip

Shape = int | Sequence[int]


def _shape(shape: Shape) -> tuple[int, ...]:
    return tuple(integers(shape, "sizes"))


def key(seed: int, *, device: Any = None) -> Array:
    """Returns the key of a seed, an int of at most 64 bits: ``uint32[2]``.

    >>> import lazyxla as lx
    >>> lx.random.key(42).tolist()
    [0, 42]
    """
    if not -(2**63) <= seed < 2**64:
        raise OverflowError(f"a seed has at most 64 bits: {seed}")
    words = [(seed >> 32) & 0xFFFFFFFF, seed & 0xFFFFFFFF]
    return _core.from_nested(words, _core.uint32, on(device))


def split(key: Array, num: int = 2) -> Array:
    """Returns ``num`` new keys, one per row. The old one should not be used any more.

    >>> import lazyxla as lx
    >>> lx.random.split(lx.random.key(0), 3).shape
    (3, 2)
    """
    return _core.random_split(key, num)


def bits(key: Array, shape: Shape = (), *, dtype: DType = _core.uint32) -> Array:
    """Returns integers whose bits are random.

    >>> import lazyxla as lx
    >>> lx.random.bits(lx.random.key(0), 2, dtype=lx.uint8).shape
    (2,)
    """
    return _core.random_bits(key, _shape(shape), dtype)


def uniform(
    key: Array, shape: Shape = (), *, minval: float = 0.0, maxval: float = 1.0, dtype: DType = _core.float32
) -> Array:
    """Returns floats that are uniformly distributed from ``minval`` up to but excluding ``maxval``.

    >>> import lazyxla as lx
    >>> x = lx.random.uniform(lx.random.key(0), 1000, minval=2.0, maxval=3.0)
    >>> lx.all((x >= 2) & (x < 3)).item()
    True
    """
    return _core.random_uniform(key, _shape(shape), dtype, minval, maxval)


def normal(key: Array, shape: Shape = (), *, dtype: DType = _core.float32) -> Array:
    """Returns floats of the standard normal distribution.

    >>> import lazyxla as lx
    >>> lx.random.normal(lx.random.key(0), (2, 3)).shape
    (2, 3)
    """
    return _core.random_floats("normal", key, _shape(shape), dtype)


def exponential(key: Array, shape: Shape = (), *, dtype: DType = _core.float32) -> Array:
    """Returns floats of the exponential distribution of rate 1.

    >>> import lazyxla as lx
    >>> lx.all(lx.random.exponential(lx.random.key(0), 100) >= 0).item()
    True
    """
    return _core.random_floats("exponential", key, _shape(shape), dtype)


def gumbel(key: Array, shape: Shape = (), *, dtype: DType = _core.float32) -> Array:
    """Returns floats of the standard Gumbel distribution.

    >>> import lazyxla as lx
    >>> lx.random.gumbel(lx.random.key(0), 3).shape
    (3,)
    """
    return _core.random_floats("gumbel", key, _shape(shape), dtype)


def laplace(key: Array, shape: Shape = (), *, dtype: DType = _core.float32) -> Array:
    """Returns floats of the standard Laplace distribution.

    >>> import lazyxla as lx
    >>> lx.random.laplace(lx.random.key(0), 3, dtype=lx.float64).dtype.name
    'float64'
    """
    return _core.random_floats("laplace", key, _shape(shape), dtype)


def truncated_normal(
    key: Array, lower: float, upper: float, shape: Shape = (), *, dtype: DType = _core.float32
) -> Array:
    """Returns floats of the standard normal distribution between two bounds.

    >>> import lazyxla as lx
    >>> x = lx.random.truncated_normal(lx.random.key(0), -1.0, 1.0, 1000)
    >>> lx.max(lx.abs(x)).item() <= 1
    True
    """
    return _core.random_truncated_normal(key, _shape(shape), dtype, lower, upper)


def bernoulli(key: Array, p: float = 0.5, shape: Shape = ()) -> Array:
    """Returns bools that are true with probability ``p``.

    >>> import lazyxla as lx
    >>> lx.random.bernoulli(lx.random.key(0), 1.0, 2).tolist()
    [True, True]
    """
    return _core.random_bernoulli(key, p, _shape(shape))


def categorical(key: Array, logits: Array, *, axis: int = -1, shape: Shape = ()) -> Array:
    """Returns indices along an axis of ``logits`` with probabilities proportional to e^logits.

    The result has the shape ``shape`` of independent draws, followed by that of the logits without the axis.

    >>> import lazyxla as lx
    >>> lx.random.categorical(lx.random.key(0), lx.asarray([0.0, -lx.inf]), shape=3).tolist()
    [0, 0, 0]
    """
    return _core.random_categorical(key, logits, axis, _shape(shape))
