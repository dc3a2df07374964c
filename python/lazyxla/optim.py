"""Optimizers as plain functions on trees of arrays.

Each has ``init(params)``, which returns a state, and ``update(grads, state, params)``, which returns new parameters and
a new state. The trees are those of ``optree``: dictionaries, lists, tuples and named tuples. Moments and steps are
float32 for parameters of 8 and 16 bits, else of the parameters' dtypes; gradients are converted to them.

The state counts steps by an int, and rates are computed from it. In a jitted update the int is a constant: its first
call returns an array in its place, so that the second call traces it again. ``init(params, on_device=True)`` counts by
an array from the beginning, and the rates are computed on its device.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

from . import _core
from ._checks import kind_of
from ._core import Array
from ._creation import asarray, zeros
from ._elementwise import add, cos, expm1, square, where
from ._elementwise import imag as _imag
from ._elementwise import maximum as _maximum
from ._elementwise import minimum as _minimum
from ._elementwise import real as _real
from ._reductions import max as _max
from ._reductions import sum as _sum
from ._trace import FLOATS, device_of
from ._tree import axes_of, flatten, tree_map, unflatten

__all__ = ["Optimizer", "adam", "adamw", "clip_by_global_norm", "cosine_schedule", "global_norm", "sgd"]

# The rate of a step, which is counted from 0: an int, or an array of rank 0.
Rate = float | Callable[[Any], Any]


class Optimizer(NamedTuple):
    """An optimizer: two functions."""

    init: Callable[..., Any]
    """``init(params, *, on_device=False)`` returns the state before the first step, for a tree of parameters. With
    ``on_device`` an array counts the steps, for updates in jitted functions; without it an int."""
    update: Callable[[Any, Any, Any], tuple[Any, Any]]
    """``update(grads, state, params)`` returns new parameters, of the dtypes that they have, and a new state. ``grads``
    has the structure of ``params``, and ``state`` is from ``init`` or from the update before."""


class SgdState(NamedTuple):
    steps: Any
    momentum: Any


class AdamState(NamedTuple):
    steps: Any
    mean: Any
    square: Any


_PARTS = {_core.complex64: _core.float32, _core.complex128: _core.float64}


def _wide(dtype: Any) -> Any:
    """Returns the dtype of the moments of parameters of a dtype: eps and small squares are 0 in float16."""
    return _core.float32 if dtype.itemsize < 4 else dtype


def _ready_zeros(params: Any, *, real: bool = False) -> Any:
    """Zeros from the host: recorded ones would make the first step another program than the next. With ``real``, of the
    dtype of the parts of complex parameters."""

    def ready(x: Any) -> Array:
        if not isinstance(x, Array) or x.dtype.kind not in FLOATS:
            found = x.dtype.name if isinstance(x, Array) else type(x).__name__
            raise TypeError(f"params is a tree of arrays of float and complex dtypes, not of {found}")
        dtype = _wide(_PARTS.get(x.dtype, x.dtype) if real else x.dtype)
        return _core.from_bytes(bytes(x.size * dtype.itemsize), dtype, x.shape, x.device)

    return tree_map(ready, params)


def _squares(x: Array) -> Array:
    """Returns the squares of absolute values."""
    if x.dtype not in _PARTS:
        return x * x
    re, im = _real(x), _imag(x)
    return re * re + im * im


def _first_step(params: Any, on_device: bool) -> Any:
    return asarray(0, device=device_of(params)) if on_device else 0


def _rate(rate: Rate, count: Any) -> Any:
    """Returns the rate of a step; of one that an array counts, a float64 or a Python float."""
    if not isinstance(count, Array):
        return float(rate(count)) if callable(rate) else float(rate)
    now = rate(count) if callable(rate) else float(rate)
    return now.astype(_core.float64) if isinstance(now, Array) else float(now)


def _correction(decay: float, count: Any) -> Any:
    """Returns 1 / (1 - decay^count) for a count from 1 on."""
    if decay == 0:
        return 1.0
    if not isinstance(count, Array):
        return 1 / (1 - decay**count)
    return -1 / expm1(count.astype(_core.float64) * math.log(decay))


def _by(x: Array, factor: Any) -> Array:
    """Returns a product in the dtype of x."""
    return x * (factor.astype(x.dtype) if isinstance(factor, Array) else factor)


def _converted(params: Any, grads: Any) -> Any:
    """Returns gradients in the dtypes of moments, so that states keep their dtypes from step to step. A gradient may be
    a number of Python."""

    def converted(p: Array, g: Any) -> Any:
        if isinstance(g, (int, float, complex)):
            return _core.full(p.shape, g, _wide(p.dtype), p.device)
        if not isinstance(g, Array):
            raise TypeError(f"update(): grads is a tree of arrays, not one with {kind_of(g)}")
        return g.astype(_wide(p.dtype), copy=False)

    return tree_map(converted, params, grads)


def _moved(p: Array, step: Array) -> Array:
    """Returns p - step in the dtype of p; the step has the dtype of moments."""
    return (p.astype(step.dtype, copy=False) - step).astype(p.dtype, copy=False)


def _check(rate: Any, **numbers: Any) -> None:
    if not callable(rate) and not hasattr(type(rate), "__float__"):
        raise TypeError(f"rate is a number, or a function from the step to one, not a {type(rate).__name__}")
    for name, value in numbers.items():
        if not hasattr(type(value), "__float__"):
            raise TypeError(f"{name} is a number, not a {type(value).__name__}")


# The functions of an optimizer are parts of functions of this module, so that it can be pickled.


def _init_sgd(has_momentum: bool, params: Any, *, on_device: bool = False) -> SgdState:
    return SgdState(_first_step(params, on_device), _ready_zeros(params) if has_momentum else None)


def _update_sgd(
    rate: Rate, momentum: float, nesterov: bool, grads: Any, state: SgdState, params: Any
) -> tuple[Any, SgdState]:
    now = _rate(rate, state.steps)
    grads = _converted(params, grads)
    if not momentum:
        return tree_map(lambda p, g: _moved(p, _by(g, now)), params, grads), SgdState(state.steps + 1, None)
    speed = tree_map(lambda v, g: v * momentum + g, state.momentum, grads)
    used = tree_map(lambda v, g: g + v * momentum, speed, grads) if nesterov else speed
    return tree_map(lambda p, v: _moved(p, _by(v, now)), params, used), SgdState(state.steps + 1, speed)


def sgd(rate: Rate, *, momentum: float = 0.0, nesterov: bool = False) -> Optimizer:
    """Stochastic gradient descent: v = momentum * v + g, and p - rate * v (with ``nesterov`` g + momentum * v).

    >>> import lazyxla as lx
    >>> optimizer = lx.optim.sgd(0.5)
    >>> params = {"w": lx.asarray([1.0, 2.0])}
    >>> params, state = optimizer.update({"w": lx.ones(2)}, optimizer.init(params), params)
    >>> params["w"].tolist()
    [0.5, 1.5]
    """
    _check(rate, momentum=momentum)
    update = functools.partial(_update_sgd, rate, momentum, nesterov)
    return Optimizer(functools.partial(_init_sgd, bool(momentum)), update)


class _Adam(NamedTuple):
    rate: Rate
    b1: float
    b2: float
    eps: float
    weight_decay: float
    decays: Any


def _init_adam(params: Any, *, on_device: bool = False) -> AdamState:
    return AdamState(_first_step(params, on_device), _ready_zeros(params), _ready_zeros(params, real=True))


def _update_adam(by: _Adam, grads: Any, state: AdamState, params: Any) -> tuple[Any, AdamState]:
    count = state.steps + 1
    grads = _converted(params, grads)
    mean = tree_map(lambda m, g: m * by.b1 + g * (1 - by.b1), state.mean, grads)
    square = tree_map(lambda v, g: v * by.b2 + _squares(g) * (1 - by.b2), state.square, grads)
    now, of_mean, of_square = _rate(by.rate, state.steps), _correction(by.b1, count), _correction(by.b2, count)

    def moved(p: Array, m: Array, v: Array, does_decay: bool) -> Array:
        step = _by(m, of_mean) / (_by(v, of_square) ** 0.5 + by.eps)
        if by.weight_decay and does_decay:
            step = step + p.astype(step.dtype, copy=False) * by.weight_decay
        return _moved(p, _by(step, now))

    leaves, spec = flatten(params)
    each = [
        None if p is None else moved(p, m, v, does_decay)
        for p, m, v, does_decay in zip(
            leaves, flatten(mean)[0], flatten(square)[0], axes_of(by.decays, params, "decays"), strict=True
        )
    ]
    return unflatten(spec, each), AdamState(count, mean, square)


def adamw(
    rate: Rate,
    *,
    b1: float = 0.9,
    b2: float = 0.999,
    eps: float = 1e-8,
    weight_decay: float = 0.01,
    decays: Any = True,
) -> Optimizer:
    """Adam with decoupled weight decay (Loshchilov and Hutter, 2019): p - rate * (m / (sqrt(v) + eps) + decay * p).

    v is a mean of squares of absolute values: real for complex parameters. ``decays`` says which parameters decay: a
    bool, or a tree of bools whose structure begins that of the parameters.

    >>> import lazyxla as lx
    >>> optimizer = lx.optim.adamw(0.5, weight_decay=0.0)
    >>> params = {"w": lx.asarray([1.0, 2.0])}
    >>> params, state = optimizer.update({"w": lx.ones(2)}, optimizer.init(params), params)
    >>> [round(w, 4) for w in params["w"].tolist()]
    [0.5, 1.5]
    """
    _check(rate, b1=b1, b2=b2, eps=eps, weight_decay=weight_decay)
    settings = _Adam(rate, b1, b2, eps, weight_decay, decays)
    return Optimizer(_init_adam, functools.partial(_update_adam, settings))


def adam(rate: Rate, *, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8) -> Optimizer:
    """Adam (Kingma and Ba, 2015).

    >>> import lazyxla as lx
    >>> optimizer = lx.optim.adam(0.5)
    >>> params = {"w": lx.asarray([1.0, 2.0])}
    >>> params, state = optimizer.update({"w": lx.ones(2)}, optimizer.init(params), params)
    >>> [round(w, 4) for w in params["w"].tolist()]
    [0.5, 1.5]
    """
    return adamw(rate, b1=b1, b2=b2, eps=eps, weight_decay=0.0)


def global_norm(tree: Any) -> Array:
    """Returns the square root of the sum of the squared absolute values of all elements of all arrays: float32, or
    float64 if an array has it. Squares do not overflow in between. Its derivative at zeros is 0.

    >>> import lazyxla as lx
    >>> lx.optim.global_norm({"w": lx.asarray([3.0]), "b": lx.asarray([4.0])}).item()
    5.0
    """
    scale, root, is_zero = _scaled_norm(tree)
    return where(is_zero, 0.0, scale * root)


def _scaled_norm(tree: Any) -> tuple[Array, Array, Array]:
    """Returns two factors of the global norm, and whether it is 0, where both factors are 1: the largest absolute
    value, and the norm of the arrays over it, since squares of the arrays themselves may overflow."""
    parts = [part for leaf in flatten(tree)[0] if leaf is not None for part in _wide_parts(leaf)]
    if not parts:
        raise ValueError("a tree without arrays has no norm")
    parts = [part for part in parts if part.size] or [zeros((1,), dtype=parts[0].dtype, device=parts[0].device)]
    # Constant for derivatives: scale * root has the same derivative for each scale.
    largest = _core.stop_gradient(functools.reduce(_maximum, (_max(abs(part)) for part in parts)))
    scale = where((largest > 0) & (largest < math.inf), largest, 1.0)
    total = functools.reduce(add, (_sum(square(part / scale)) for part in parts))
    # The slope of the square root at 0 is infinite, and times 0 NaN.
    is_zero = total == 0
    return scale, where(is_zero, 1.0, total) ** 0.5, is_zero


def _wide_parts(x: Any) -> list[Array]:
    """Returns a float array, or both parts of a complex one, in float32 at least."""
    if not isinstance(x, Array) or x.dtype.kind not in FLOATS:
        found = x.dtype.name if isinstance(x, Array) else type(x).__name__
        raise TypeError(f"a global norm is one of arrays of float and complex dtypes, not of {found}")
    parts = [_real(x), _imag(x)] if x.dtype in _PARTS else [x]
    return [part.astype(_core.float32) if part.dtype.itemsize < 4 else part for part in parts]


def clip_by_global_norm(tree: Any, limit: float) -> Any:
    """Returns the tree scaled so that its global norm is at most ``limit``.

    >>> import lazyxla as lx
    >>> [round(x, 4) for x in lx.optim.clip_by_global_norm({"w": lx.asarray([3.0, 4.0])}, 1.0)["w"].tolist()]
    [0.6, 0.8]
    """
    scale, root, is_zero = _scaled_norm(tree)
    is_within, to_limit = is_zero | (scale * root <= limit), limit / root
    # The norm can overflow although all elements are finite.
    return tree_map(lambda x: where(is_within, x, (x / scale * to_limit).astype(x.dtype, copy=False)), tree)


def cosine_schedule(peak: float, steps: int, *, warmup: int = 0, end: float = 0.0) -> Callable[[Any], Any]:
    """Returns a rate by the step, which counts from 0.

    In the first ``warmup`` steps the rate is ``peak * (step + 1) / warmup``: linear, from ``peak / warmup`` to
    ``peak``. Then it is half a cosine, from ``peak`` in step ``warmup`` to ``end`` in step ``steps`` and after it.

    >>> import lazyxla as lx
    >>> rate = lx.optim.cosine_schedule(1.0, 10, warmup=2)
    >>> rate(0), rate(1), rate(6), rate(10)
    (0.5, 1.0, 0.5, 0.0)
    """

    for name, value in (("peak", peak), ("steps", steps), ("warmup", warmup), ("end", end)):
        if not hasattr(type(value), "__float__"):
            raise TypeError(f"{name} is a number, not a {type(value).__name__}")
    return functools.partial(_cosine_rate, peak, steps, warmup, end)


def _cosine_rate(peak: float, steps: int, warmup: int, end: float, count: Any) -> Any:
    if isinstance(count, Array):
        at = count.astype(_core.float64)
        done = _minimum((at - warmup) / max(steps - warmup, 1), 1.0)
        falling = (cos(done * math.pi) + 1) * ((peak - end) / 2) + end
        return where(at < warmup, (at + 1) * (peak / warmup), falling) if warmup else falling
    if count < warmup:
        return peak * (count + 1) / warmup
    done = min((count - warmup) / max(steps - warmup, 1), 1.0)
    return end + (peak - end) * (1 + math.cos(math.pi * done)) / 2
