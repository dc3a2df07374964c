"""Losses under the names of PyTorch and optax. A loss with a name of PyTorch returns the mean, a scalar to be
differentiated, or with ``reduction="none"`` the loss of each element; a loss with a name of optax returns the loss of each
element or example."""

from __future__ import annotations

import math
from typing import Any

from . import _constants as c
from . import _core, _reductions
from ._core import Array
from ._elementwise import abs as _abs
from ._elementwise import exp, log, maximum, square
from ._operands import in_floats, operands, select
from ._shapes import broadcast_arrays

_REDUCTIONS = ("mean", "sum", "none")


def shown(x: Array) -> str:
    return f"{x.dtype.name}{list(x.shape)}"


def alike(of: str, names: tuple[str, ...], *values: Any) -> list[Array]:
    """Returns operands as floats of one dtype and, but for scalars, one shape: a loss that broadcasts [n] and [n, 1] to
    [n, n] is a mistake that no error would show."""
    found = [in_floats(x) for x in operands(of, *values)]
    if len({x.shape for x in found} - {()}) > 1:
        first, *others = (
            f"{name} are {shown(x)}" if i == 0 else f"{name} {shown(x)}"
            for i, (name, x) in enumerate(zip(names, found))
        )
        raise ValueError(f"{of}(): {', '.join([first, *others[:-1]])} and {others[-1]}; want one shape")
    return found


def wide(x: Array) -> Array:
    """Returns floats of 8 and 16 bits as float32: a sum of them overflows, or loses what is added. Bools stay."""
    return x.astype(_core.float32) if x.dtype.kind == "real floating" and x.dtype.itemsize < 4 else x


def reduced(of: str, loss: Array, reduction: str, weights: Array | None = None) -> Array:
    """Returns the loss of each element, or its sum or mean. A mean of weighted elements is divided by the
    sum of the weights."""
    if reduction not in _REDUCTIONS:
        raise ValueError(f"{of}(): reduction is {reduction!r}; want {', '.join(map(repr, _REDUCTIONS))}")
    if reduction == "none":
        return loss
    if reduction == "mean" and weights is None:
        return _reductions.mean(loss)
    total = _reductions.sum(wide(loss))
    if reduction == "mean" and weights is not None:
        total = total / _reductions.sum(wide(weights)).astype(total.dtype, copy=False)
    return total.astype(loss.dtype, copy=False)


def _apart(of: str, predictions: Any, targets: Any) -> Array:
    """Returns predictions less targets; None as targets are zeros."""
    if targets is None:
        return in_floats(operands(of, predictions)[0])
    x, y = alike(of, ("predictions", "targets"), predictions, targets)
    return x - y


def mse_loss(predictions: Array, targets: Array, *, reduction: str = "mean") -> Array:
    """Returns the mean of (predictions - targets)^2.

    >>> import lazyxla as lx
    >>> lx.nn.mse_loss(lx.asarray([1.0, 5.0]), lx.asarray([1.0, 2.0])).item()
    4.5
    """
    return reduced("mse_loss", square(_apart("mse_loss", predictions, targets)), reduction)


def l1_loss(predictions: Array, targets: Array, *, reduction: str = "mean") -> Array:
    """Returns the mean of \\|predictions - targets\\|.

    >>> import lazyxla as lx
    >>> lx.nn.l1_loss(lx.asarray([1.0, 5.0]), lx.asarray([1.0, 2.0])).item()
    1.5
    """
    return reduced("l1_loss", _abs(_apart("l1_loss", predictions, targets)), reduction)


def squared_error(predictions: Array, targets: Array | None = None) -> Array:
    """Returns (predictions - targets)^2, elementwise, as optax has it.

    >>> import lazyxla as lx
    >>> lx.nn.squared_error(lx.asarray([1.0, 5.0]), lx.asarray([1.0, 2.0])).tolist()
    [0.0, 9.0]
    """
    return square(_apart("squared_error", predictions, targets))


def l2_loss(predictions: Array, targets: Array | None = None) -> Array:
    """Returns (predictions - targets)^2 / 2, elementwise, as optax has it.

    >>> import lazyxla as lx
    >>> lx.nn.l2_loss(lx.asarray([1.0, 5.0]), lx.asarray([1.0, 2.0])).tolist()
    [0.0, 4.5]
    """
    return square(_apart("l2_loss", predictions, targets)) * 0.5


def log_cosh(predictions: Array, targets: Array | None = None) -> Array:
    """Returns log(cosh(predictions - targets)), elementwise, as optax has it.

    >>> import lazyxla as lx
    >>> [round(x, 4) for x in lx.nn.log_cosh(lx.asarray([0.0, 1.0])).tolist()]
    [0.0, 0.4338]
    """
    size: Array = _abs(_apart("log_cosh", predictions, targets))
    return size + _core.activation(c.ACTIVATION_SOFTPLUS, -2 * size) - math.log(2)


def _huber(apart: Array, delta: float) -> Array:
    """Returns squares up to a size of ``delta``, then lines, without a square that overflows."""
    size = _abs(apart)
    near = select(size <= delta, size, 0)
    return select(size <= delta, 0.5 * near**2, delta * (size - 0.5 * delta))


def huber_loss(
    predictions: Array, targets: Array | None = None, delta: float = 1.0, *, reduction: str = "none"
) -> Array:
    """Returns (predictions - targets)^2 / 2 up to an error of ``delta``, and beyond it delta * (error - delta / 2):
    elementwise, as optax has it, or with ``reduction="mean"`` as PyTorch does.

    >>> import lazyxla as lx
    >>> lx.nn.huber_loss(lx.asarray([0.5, 3.0]), lx.zeros(2)).tolist()
    [0.125, 2.5]
    """
    if delta <= 0:
        raise ValueError(f"huber_loss(): delta is {delta}; want more than 0")
    return reduced("huber_loss", _huber(_apart("huber_loss", predictions, targets), delta), reduction)


def smooth_l1_loss(predictions: Array, targets: Array, *, beta: float = 1.0, reduction: str = "mean") -> Array:
    """Returns the mean of error^2 / (2 * beta) up to an error of ``beta``, and beyond it error - beta / 2.

    >>> import lazyxla as lx
    >>> lx.nn.smooth_l1_loss(lx.asarray([0.5, 3.0]), lx.zeros(2)).item()
    1.3125
    """
    if beta < 0:
        raise ValueError(f"smooth_l1_loss(): beta is {beta}; want 0 or more")
    apart = _apart("smooth_l1_loss", predictions, targets)
    loss = _abs(apart) if beta == 0 else _huber(apart, beta) / beta
    return reduced("smooth_l1_loss", loss, reduction)


def hinge_loss(predictions: Array, targets: Array) -> Array:
    """Returns max(0, 1 - predictions * targets), elementwise, for targets of -1 and 1, as optax has it.

    >>> import lazyxla as lx
    >>> lx.nn.hinge_loss(lx.asarray([0.5, 3.0]), lx.asarray([1, -1])).tolist()
    [0.5, 4.0]
    """
    x, y = alike("hinge_loss", ("predictions", "targets"), predictions, targets)
    return _core.activation(c.ACTIVATION_RELU, 1 - x * y)


def _divergence(of: str, log_predictions: Any, targets: Any, log_target: bool) -> Array:
    x, y = alike(of, ("log_predictions", "targets"), log_predictions, targets)
    if log_target:
        chances: Array = exp(y)
        return chances * (y - x)
    # Also where log(0) and predictions of -inf stand: nothing is expected there, and nothing counts.
    return select(y == 0, 0, y * (log(select(y == 0, 1, y)) - x))


def kl_div(log_predictions: Array, targets: Array, *, log_target: bool = False, reduction: str = "mean") -> Array:
    """Returns the mean of targets * (log(targets) - log_predictions) over all elements, as PyTorch has it;
    ``reduction="batchmean"`` divides the sum by the size of the first axis, which is the divergence.

    >>> import lazyxla as lx
    >>> half = lx.asarray([[0.5, 0.5]])
    >>> round(lx.nn.kl_div(lx.log(half), lx.asarray([[1.0, 0.0]]), reduction="batchmean").item(), 4)
    0.6931
    """
    loss = _divergence("kl_div", log_predictions, targets, log_target)
    if reduction == "batchmean":
        if loss.ndim == 0:
            raise ValueError("kl_div(): a scalar has no first axis for reduction='batchmean'")
        return reduced("kl_div", loss, "sum") / loss.shape[0]
    return reduced("kl_div", loss, reduction)


def kl_divergence(log_predictions: Array, targets: Array, axis: int = -1) -> Array:
    """Returns the sum of targets * (log(targets) - log_predictions) along an axis, as optax has it.

    >>> import lazyxla as lx
    >>> [round(x, 4) for x in lx.nn.kl_divergence(lx.log(lx.asarray([[0.5, 0.5]])), lx.asarray([[1.0, 0.0]])).tolist()]
    [0.6931]
    """
    return _reductions.sum(_divergence("kl_divergence", log_predictions, targets, False), axis=axis)


def cosine_similarity(x1: Array, x2: Array, axis: int = -1, *, epsilon: float = 1e-8) -> Array:
    """Returns the cosine of the angles between vectors along an axis, whose lengths count as at least ``epsilon``. The
    axis is one of the shape that both broadcast to.

    >>> import lazyxla as lx
    >>> lx.nn.cosine_similarity(lx.asarray([[3.0, 4.0]]), lx.asarray([[6.0, 8.0]])).tolist()
    [1.0]
    """
    found = [in_floats(x) for x in operands("cosine_similarity", x1, x2)]
    a, b = broadcast_arrays(*map(wide, found))

    def unit(x: Array) -> Array:
        # Not of the squares' sum alone: its root has no slope at 0.
        squares: Array = maximum(_reductions.sum(x * x, axis=axis, keepdims=True), epsilon**2)
        return x / squares**0.5

    return _reductions.sum(unit(a) * unit(b), axis=axis).astype(found[0].dtype, copy=False)


def cosine_distance(x1: Array, x2: Array, axis: int = -1, *, epsilon: float = 1e-8) -> Array:
    """Returns 1 - ``cosine_similarity``.

    >>> import lazyxla as lx
    >>> lx.nn.cosine_distance(lx.asarray([1.0, 0.0]), lx.asarray([0.0, 1.0])).item()
    1.0
    """
    return 1 - cosine_similarity(x1, x2, axis, epsilon=epsilon)


def gaussian_nll_loss(
    means: Array, targets: Array, variances: Any, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Array:
    """Returns the mean of (log(variances) + (means - targets)^2 / variances) / 2, with variances of at least ``eps``:
    one for each mean, or for each row of them in a last axis of size 1. ``full`` adds log(2 pi) / 2. As in PyTorch, the
    bound has no derivative: variances below it keep their slope.

    >>> import lazyxla as lx
    >>> lx.nn.gaussian_nll_loss(lx.asarray([1.0]), lx.asarray([3.0]), lx.asarray([1.0])).item()
    2.0
    """
    of = "gaussian_nll_loss"
    names = ("means", "targets", "variances")
    x, y, v = operands(of, means, targets, variances)
    if v.ndim and v.shape == (*x.shape[:-1], 1):
        v = _core.broadcast_to(v, x.shape)
    x, y, v = alike(of, names, x, y, v)
    # Not v + (eps - v): that is rounded, and 0 for a large v.
    v = select(v > eps, v, eps + (v - _core.stop_gradient(v)))
    return reduced(of, 0.5 * (log(v) + (x - y) ** 2 / v) + (0.5 * math.log(2 * math.pi) if full else 0), reduction)


def poisson_nll_loss(
    rates: Array, targets: Array, *, log_input: bool = True, eps: float = 1e-8, reduction: str = "mean"
) -> Array:
    """Returns the mean of e^rates - targets * rates, or without ``log_input`` rates - targets * log(rates + eps).

    >>> import lazyxla as lx
    >>> lx.nn.poisson_nll_loss(lx.asarray([0.0]), lx.asarray([3.0])).item()
    1.0
    """
    of = "poisson_nll_loss"
    x, y = alike(of, ("rates", "targets"), rates, targets)
    return reduced(of, exp(x) - y * x if log_input else x - y * log(x + eps), reduction)


def margin_ranking_loss(x1: Array, x2: Array, targets: Array, *, margin: float = 0.0, reduction: str = "mean") -> Array:
    """Returns the mean of max(0, margin - targets * (x1 - x2)), for targets of 1 (x1 has to be larger) and -1.

    >>> import lazyxla as lx
    >>> lx.nn.margin_ranking_loss(lx.asarray([1.0]), lx.asarray([3.0]), lx.asarray([1])).item()
    2.0
    """
    of = "margin_ranking_loss"
    a, b, y = alike(of, ("x1", "x2", "targets"), x1, x2, targets)
    return reduced(of, _core.activation(c.ACTIVATION_RELU, margin - y * (a - b)), reduction)


def triplet_margin_loss(
    anchor: Array, positive: Array, negative: Array, *, margin: float = 1.0, eps: float = 1e-6, reduction: str = "mean"
) -> Array:
    """Returns the mean of max(0, |anchor - positive| - |anchor - negative| + margin), with lengths of vectors along the
    last axis, to whose differences ``eps`` is added, as in PyTorch.

    >>> import lazyxla as lx
    >>> round(lx.nn.triplet_margin_loss(lx.zeros((1, 2)), lx.ones((1, 2)), lx.zeros((1, 2))).item(), 3)
    2.414
    """
    of = "triplet_margin_loss"
    a, p, n = alike(of, ("anchor", "positive", "negative"), anchor, positive, negative)

    def length(x: Array) -> Array:
        return _core.norm(x + eps, 2.0, [x.ndim - 1], False)

    return reduced(of, _core.activation(c.ACTIVATION_RELU, length(a - p) - length(a - n) + margin), reduction)


# Short names.
mse, mae = mse_loss, l1_loss
