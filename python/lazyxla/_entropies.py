"""Cross entropies under the names of PyTorch and optax; see ``_losses``."""

from __future__ import annotations

import math
from typing import Any

from . import _constants as c
from . import _core, _reductions
from ._core import Array
from ._elementwise import log, maximum
from ._losses import alike, reduced, shown, wide
from ._operands import array_of, in_floats, operands, select
from ._shapes import broadcast_shapes
from ._sizes import normalized


# The least p (1 - p) that the derivative of a binary cross entropy is divided by, as in PyTorch.
_LEAST = 1e-12


def _weighted(of: str, loss: Array, weight: Any, reduction: str) -> Array:
    """Returns a reduced loss whose elements are multiplied by weights, which broadcast to its shape."""
    return reduced(of, loss if weight is None else loss * _fitting(of, "weight", weight, loss), reduction)


def _fitting(of: str, name: str, weights: Any, loss: Array) -> Any:
    """Returns weights that broadcast to the shape of a loss; those that would make it larger are a ValueError."""
    found = array_of(weights, loss.device)
    if found is not None and loss.shape != () and broadcast_shapes(found.shape, loss.shape) != loss.shape:
        raise ValueError(f"{of}(): {name} is {shown(found)}; want one that broadcasts to {list(loss.shape)}")
    return weights


def _log_softmax(logits: Any, axis: int) -> Array:
    return _core.softmax(in_floats(logits), axis, True)


def _labels_of(of: str, scores: Array, labels: Array, axis: int) -> tuple[int, bool]:
    """Returns the axis of the classes counted from the first one, and whether labels are integers, of which each example
    has one, or chances of all classes."""
    at = normalized([axis], scores.ndim)[0]
    if labels.shape == scores.shape:
        return at, False
    examples = scores.shape[:at] + scores.shape[at + 1 :]
    if labels.shape != examples:
        raise ValueError(
            f"{of}(): labels are {shown(labels)}; the scores are {shown(scores)} with {scores.shape[at]} classes along "
            f"axis {at}, want integers of shape {list(examples)} or chances of shape {list(scores.shape)}"
        )
    if labels.dtype.kind not in ("signed integer", "unsigned integer"):
        raise TypeError(f"{of}(): labels are {shown(labels)}; want integers, or chances of shape {list(scores.shape)}")
    return at, True


def nll_loss(
    log_chances: Array,
    labels: Array,
    weight: Array | None = None,
    *,
    ignore_index: int | None = -100,
    label_smoothing: float = 0.0,
    axis: int = -1,
    reduction: str = "mean",
) -> Array:
    """Returns the mean of -log_chances at the labels; see ``cross_entropy`` for its arguments.

    >>> import lazyxla as lx
    >>> round(lx.nn.nll_loss(lx.log(lx.asarray([[0.5, 0.5]])), lx.asarray([1])).item(), 4)
    0.6931
    """
    return _nll("nll_loss", in_floats(log_chances), labels, weight, ignore_index, label_smoothing, axis, reduction)


def _nll(
    of: str,
    scores: Array,
    labels: Array,
    weight: Any,
    ignore_index: int | None,
    smoothing: float,
    axis: int,
    reduction: str,
) -> Array:
    if not 0 <= smoothing <= 1:
        raise ValueError(f"{of}(): label_smoothing is {smoothing}; want 0 to 1")
    at, are_integers = _labels_of(of, scores, labels, axis)
    classes = scores.shape[at]
    weights = None if weight is None else _class_weights(of, weight, scores, at)
    weighted = scores if weights is None else scores * weights
    smooth = _reductions.mean(weighted, axis=at) if smoothing else None
    if not are_integers:
        chances = labels.astype(scores.dtype, copy=False)
        # A class without a chance counts nothing, also where its score is -inf.
        terms = select(chances == 0, 0, chances * weighted)
        loss = -_reductions.sum(terms, axis=at)
        loss = loss if smooth is None else (1 - smoothing) * loss - smoothing * smooth
        return reduced(of, loss, reduction)
    places = _core.expand_dims(labels, [at])
    loss = -_core.squeeze(_core.take_along_axis(weighted, places, at), [at])
    loss = loss if smooth is None else (1 - smoothing) * loss - smoothing * smooth
    # Values of labels are not known when this is recorded: the loss of one that no class has is NaN, as in JAX.
    loss = select((labels >= 0) & (labels < classes), loss, math.nan)
    share = None
    if weights is not None:
        each = _core.broadcast_to(weights, scores.shape)
        share = _core.squeeze(_core.take_along_axis(each, places, at), [at])
    if ignore_index is not None:
        ignored = labels == ignore_index
        loss = select(ignored, 0, loss)
        share = labels != ignore_index if share is None else select(ignored, 0, share)
    return reduced(of, loss, reduction, share)


def _class_weights(of: str, weight: Any, scores: Array, at: int) -> Array:
    """Returns weights of classes in a shape that broadcasts with the scores."""
    weight = operands(of, scores, weight)[1].astype(scores.dtype, copy=False)
    if weight.shape != (scores.shape[at],):
        raise ValueError(f"{of}(): weight is {shown(weight)}; want one number for each of {scores.shape[at]} classes")
    return _core.reshape(weight, [scores.shape[at] if axis == at else 1 for axis in range(scores.ndim)])


def cross_entropy(
    logits: Array,
    labels: Array,
    weight: Array | None = None,
    *,
    ignore_index: int | None = -100,
    label_smoothing: float = 0.0,
    axis: int = -1,
    reduction: str = "mean",
) -> Array:
    """Returns the mean of -log softmax(logits) at the labels: integers without the axis of the classes, or chances of
    all classes, in the shape of the logits. The classes are along the last axis; PyTorch has them along ``axis=1``.

    ``weight`` has a number for each class; the mean is then divided by the weights of the labels. Examples whose label
    is ``ignore_index`` do not count; the loss of others without a class is NaN. ``reduction`` is "mean", "sum" or
    "none".

    >>> import lazyxla as lx
    >>> logits = lx.asarray([[0.0, 0.0], [0.0, 9.0]])
    >>> round(lx.nn.cross_entropy(logits, lx.asarray([0, -100])).item(), 4)
    0.6931
    """
    scores = _log_softmax(logits, axis)
    return _nll("cross_entropy", scores, labels, weight, ignore_index, label_smoothing, axis, reduction)


def softmax_cross_entropy(logits: Array, labels: Array, axis: int = -1) -> Array:
    """Returns the cross entropy of each example, for chances of all classes, as optax has it.

    >>> import lazyxla as lx
    >>> [round(x, 4) for x in lx.nn.softmax_cross_entropy(lx.zeros((1, 2)), lx.asarray([[0.5, 0.5]])).tolist()]
    [0.6931]
    """
    scores = _log_softmax(logits, axis)
    if getattr(labels, "shape", None) != scores.shape:
        raise ValueError(
            f"softmax_cross_entropy(): labels are of shape {list(getattr(labels, 'shape', ()))}; want chances of shape "
            f"{list(scores.shape)} (softmax_cross_entropy_with_integer_labels takes integers)"
        )
    return _nll("softmax_cross_entropy", scores, labels, None, None, 0.0, axis, "none")


def softmax_cross_entropy_with_integer_labels(logits: Array, labels: Array, axis: int = -1) -> Array:
    """Returns the cross entropy of each example, for integers as labels, as optax has it. NaN for one without a class.

    >>> import lazyxla as lx
    >>> found = lx.nn.softmax_cross_entropy_with_integer_labels(lx.zeros((2, 2)), lx.asarray([1, 7]))
    >>> [round(x, 4) for x in found.tolist()]
    [0.6931, nan]
    """
    of = "softmax_cross_entropy_with_integer_labels"
    scores = _log_softmax(logits, axis)
    if getattr(labels, "shape", None) == scores.shape:
        raise ValueError(
            f"{of}(): labels have the shape {list(scores.shape)} of the logits (softmax_cross_entropy takes these)"
        )
    return _nll(of, scores, labels, None, None, 0.0, axis, "none")


def _bce(of: str, logits: Any, labels: Any, pos_weight: Any = None) -> Array:
    x, y = alike(of, ("logits", "labels"), logits, labels)
    positive = _core.activation(c.ACTIVATION_LOG_SIGMOID, x)
    negative = _core.activation(c.ACTIVATION_LOG_SIGMOID, -x)
    return -(y if pos_weight is None else y * _fitting(of, "pos_weight", pos_weight, y)) * positive - (1 - y) * negative


def binary_cross_entropy_with_logits(
    logits: Array, labels: Array, weight: Any = None, *, pos_weight: Any = None, reduction: str = "mean"
) -> Array:
    """Returns the mean of -labels * log(sigmoid(logits)) - (1 - labels) * log(1 - sigmoid(logits)). ``weight``
    multiplies elements, ``pos_weight`` those of label 1.

    >>> import lazyxla as lx
    >>> round(lx.nn.binary_cross_entropy_with_logits(lx.zeros(2), lx.asarray([0, 1])).item(), 4)
    0.6931
    """
    of = "binary_cross_entropy_with_logits"
    return _weighted(of, _bce(of, logits, labels, pos_weight), weight, reduction)


def sigmoid_binary_cross_entropy(logits: Array, labels: Array) -> Array:
    """Returns ``binary_cross_entropy_with_logits`` of each element, as optax has it.

    >>> import lazyxla as lx
    >>> [round(x, 4) for x in lx.nn.sigmoid_binary_cross_entropy(lx.zeros(1), lx.ones(1)).tolist()]
    [0.6931]
    """
    return _bce("sigmoid_binary_cross_entropy", logits, labels)


def sigmoid_focal_loss(logits: Array, labels: Array, alpha: float | None = None, gamma: float = 2.0) -> Array:
    """Returns the binary cross entropy of each element times (1 - p)^gamma, p being the chance of its label, as optax
    has it. ``alpha`` weighs elements of label 1, and 1 - alpha others.

    >>> import lazyxla as lx
    >>> [round(x, 4) for x in lx.nn.sigmoid_focal_loss(lx.zeros(1), lx.ones(1)).tolist()]
    [0.1733]
    """
    x, y = alike("sigmoid_focal_loss", ("logits", "labels"), logits, labels)
    p = _core.unary(c.UNARY_LOGISTIC, x)
    loss = _bce("sigmoid_focal_loss", x, y) * (1 - (p * y + (1 - p) * (1 - y))) ** gamma
    return loss if alpha is None else loss * (alpha * y + (1 - alpha) * (1 - y))


def binary_cross_entropy(chances: Array, labels: Array, weight: Any = None, *, reduction: str = "mean") -> Array:
    """Returns the mean of -labels * log(chances) - (1 - labels) * log(1 - chances), with logarithms of at least -100.
    The derivative for a chance is (chance - label) / max(chance * (1 - chance), 1e-12), as in PyTorch.

    >>> import lazyxla as lx
    >>> lx.nn.binary_cross_entropy(lx.asarray([0.0, 1.0]), lx.asarray([0, 0])).item()
    50.0
    """
    of = "binary_cross_entropy"
    p, y = alike(of, ("chances", "labels"), chances, labels)
    return _weighted(of, _entropy(wide(p), wide(y)).astype(p.dtype, copy=False), weight, reduction)


def _entropy(p: Array, y: Array) -> Array:
    """Returns -y log(p) - (1 - y) log(1 - p), whose derivatives are finite also where p is 0 or 1."""
    is_inside = p * (1 - p) >= _LEAST
    inside = select(is_inside, p, 0.5)
    found = -y * log(inside) - (1 - y) * log(1 - inside)
    # Elsewhere logarithms without slopes, and the slope of PyTorch.
    positive, negative = (_core.stop_gradient(maximum(log(x), -100)) for x in (p, 1 - p))
    slope = _core.stop_gradient((p - y) / _LEAST)
    return select(is_inside, found, -y * positive - (1 - y) * negative + slope * (p - _core.stop_gradient(p)))


def smooth_labels(labels: Array, alpha: float) -> Array:
    """Returns (1 - alpha) * labels + alpha / classes, for chances along the last axis, as optax has it.

    >>> import lazyxla as lx
    >>> lx.nn.smooth_labels(lx.asarray([1.0, 0.0]), 0.5).tolist()
    [0.75, 0.25]
    """
    if labels.ndim == 0:
        raise ValueError("smooth_labels(): labels are a scalar; want chances of classes along the last axis")
    return (1 - alpha) * in_floats(labels) + alpha / labels.shape[-1]
