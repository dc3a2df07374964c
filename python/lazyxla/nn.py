"""Functions of neural networks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import _constants as c
from . import _core
from ._core import Array
from ._elementwise import abs, clip, sign, tanh, where
from ._entropies import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cross_entropy,
    nll_loss,
    sigmoid_binary_cross_entropy,
    sigmoid_focal_loss,
    smooth_labels,
    softmax_cross_entropy,
    softmax_cross_entropy_with_integer_labels,
)
from ._losses import (
    cosine_distance,
    cosine_similarity,
    gaussian_nll_loss,
    hinge_loss,
    huber_loss,
    kl_div,
    kl_divergence,
    l1_loss,
    l2_loss,
    log_cosh,
    mae,
    margin_ranking_loss,
    mse,
    mse_loss,
    poisson_nll_loss,
    smooth_l1_loss,
    squared_error,
    triplet_margin_loss,
)
from ._operands import in_floats, select
from ._sizes import DTypeLike, integers, normalized
from ._softmax import log_softmax, logsumexp, softmax
from ._windows import avg_pool, batch_norm, batch_norm_inference, conv, dropout, max_pool

__all__ = [
    "attention", "avg_pool", "batch_norm", "batch_norm_inference", "binary_cross_entropy",
    "binary_cross_entropy_with_logits", "celu", "conv", "cosine_distance", "cosine_similarity", "cross_entropy",
    "dropout", "elu", "gaussian_nll_loss", "gelu", "glu", "hard_sigmoid", "hard_silu", "hard_swish", "hard_tanh",
    "hinge_loss", "huber_loss", "kl_div", "kl_divergence", "l1_loss", "l2_loss", "layer_norm", "leaky_relu",
    "log_cosh", "log_sigmoid", "log_softmax", "logsumexp", "mae", "margin_ranking_loss", "max_pool", "mish", "mse",
    "mse_loss", "nll_loss", "one_hot", "poisson_nll_loss", "relu", "relu6", "rms_norm", "rotary_embedding", "selu",
    "sigmoid", "sigmoid_binary_cross_entropy", "sigmoid_focal_loss", "silu", "smooth_l1_loss", "smooth_labels",
    "soft_sign", "softmax", "softmax_cross_entropy", "softmax_cross_entropy_with_integer_labels", "softplus",
    "squared_error", "swish", "tanh", "triplet_margin_loss",
]  # fmt: skip


def _activation(name: str, op: int, formula: str) -> Any:
    def function(x: Array, /) -> Array:
        return _core.activation(op, x)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Returns {formula}, elementwise."
    return function


relu = _activation("relu", c.ACTIVATION_RELU, "max(x, 0)")
relu6 = _activation("relu6", c.ACTIVATION_RELU6, "min(max(x, 0), 6)")
silu = _activation("silu", c.ACTIVATION_SILU, "x / (1 + e^-x)")
elu = _activation("elu", c.ACTIVATION_ELU, "x if x > 0, else e^x - 1")
selu = _activation("selu", c.ACTIVATION_SELU, "1.0507009873554805 * (x if x > 0, else 1.6732632423543772 * (e^x - 1))")
softplus = _activation("softplus", c.ACTIVATION_SOFTPLUS, "log(1 + e^x)")
mish = _activation("mish", c.ACTIVATION_MISH, "x * tanh(log(1 + e^x))")
log_sigmoid = _activation("log_sigmoid", c.ACTIVATION_LOG_SIGMOID, "-log(1 + e^-x)")
hard_sigmoid = _activation("hard_sigmoid", c.ACTIVATION_HARD_SIGMOID, "min(max(x + 3, 0), 6) / 6")
hard_swish = _activation("hard_swish", c.ACTIVATION_HARD_SWISH, "x * min(max(x + 3, 0), 6) / 6")

# Other names of JAX.
swish, hard_silu = silu, hard_swish


def gelu(x: Array, /, *, approximate: bool = False) -> Array:
    """Returns x times the cumulative normal distribution at x, or with ``approximate`` its formula by tanh.

    >>> import lazyxla as lx
    >>> lx.nn.gelu(lx.asarray([0.0])).tolist()
    [0.0]
    """
    return _core.activation(c.ACTIVATION_GELU_TANH if approximate else c.ACTIVATION_GELU, x)


def sigmoid(x: Array, /) -> Array:
    """Returns 1 / (1 + e^-x), elementwise.

    >>> import lazyxla as lx
    >>> lx.nn.sigmoid(lx.asarray([0.0])).tolist()
    [0.5]
    """
    return _core.unary(c.UNARY_LOGISTIC, x)


def leaky_relu(x: Array, /, negative_slope: float = 0.01) -> Array:
    """Returns x where it is at least 0, and elsewhere x times a slope.

    >>> import lazyxla as lx
    >>> lx.nn.leaky_relu(lx.asarray([-2.0, 3.0]), 0.5).tolist()
    [-1.0, 3.0]
    """
    x = in_floats(x)
    return select(x >= 0, x, x * negative_slope)


def celu(x: Array, /, alpha: float = 1.0) -> Array:
    """Returns x if x > 0, else alpha * (e^(x / alpha) - 1).

    >>> import lazyxla as lx
    >>> lx.nn.celu(lx.asarray([0.0, 2.0])).tolist()
    [0.0, 2.0]
    """
    x = in_floats(x)
    return alpha * _core.activation(c.ACTIVATION_ELU, x / alpha)


def hard_tanh(x: Array, /) -> Array:
    """Returns min(max(x, -1), 1).

    >>> import lazyxla as lx
    >>> lx.nn.hard_tanh(lx.asarray([-3.0, 0.5])).tolist()
    [-1.0, 0.5]
    """
    return clip(x, -1, 1)


def soft_sign(x: Array, /) -> Array:
    """Returns x / (\\|x\\| + 1).

    >>> import lazyxla as lx
    >>> lx.nn.soft_sign(lx.asarray([-1.0, 0.0])).tolist()
    [-0.5, 0.0]
    """
    x = in_floats(x)
    size = abs(x)
    # The slope of x / (size + 1) is a difference, in which all digits of large numbers cancel.
    return where(size < 1, where(size < 1, x, 0) / (size + 1), sign(x) * (1 - 1 / (size + 1)))


def glu(x: Array, /, axis: int = -1) -> Array:
    """Returns the first half of x along an axis, times the sigmoid of the second half.

    >>> import lazyxla as lx
    >>> lx.nn.glu(lx.asarray([3.0, 0.0])).tolist()
    [1.5]
    """
    at = normalized([axis], x.ndim)[0]
    if x.shape[at] % 2:
        raise ValueError(f"glu(): axis {axis} has {x.shape[at]} elements; want an even number")
    a, b = _core.split(in_floats(x), [x.shape[at] // 2] * 2, at)
    return a * _core.unary(c.UNARY_LOGISTIC, b)


def layer_norm(
    x: Array,
    /,
    scale: Array | None = None,
    offset: Array | None = None,
    *,
    axis: int | Sequence[int] = -1,
    epsilon: float = 1e-5,
) -> Array:
    """Returns (x - mean) / sqrt(variance + epsilon) * scale + offset, with mean and variance over axes.

    >>> import lazyxla as lx
    >>> [round(x, 3) for x in lx.nn.layer_norm(lx.asarray([1.0, 3.0])).tolist()]
    [-1.0, 1.0]
    """
    return _core.layer_norm(x, integers(axis, "axes"), scale, offset, epsilon)


def rms_norm(x: Array, /, weight: Array | None = None, *, epsilon: float = 1e-5) -> Array:
    """Returns x / sqrt(mean(x^2) + epsilon) * weight, with the mean over the last axis.

    >>> import lazyxla as lx
    >>> [round(x, 3) for x in lx.nn.rms_norm(lx.asarray([1.0, 7.0])).tolist()]
    [0.2, 1.4]
    """
    return _core.rms_norm(x, weight, epsilon)


def rotary_embedding(x: Array, cosines: Array, sines: Array, /, *, interleaved: bool = False) -> Array:
    """Returns x with pairs (a, b) of elements of the last axis replaced by (a cos - b sin, b cos + a sin).

    Element i of the first half of the axis is paired with element i of the second half, or with ``interleaved`` element
    2i with element 2i + 1. ``cosines`` and ``sines`` broadcast to half of x, as ``(length, width / 2)``.

    >>> import lazyxla as lx
    >>> lx.nn.rotary_embedding(lx.asarray([1.0, 2.0]), lx.asarray([0.0]), lx.asarray([1.0])).tolist()
    [-2.0, 1.0]
    """
    return _core.rotary_embedding(x, cosines, sines, interleaved)


def attention(
    query: Array,
    key: Array,
    value: Array,
    /,
    mask: Array | None = None,
    *,
    scale: float | None = None,
    causal: bool = False,
) -> Array:
    """Returns softmax(scale * query key^T) value, for ``query`` of shape ``(..., heads, length, width)``.

    ``key`` and ``value`` may have fewer heads, each of which serves a group of adjacent heads of ``query``. ``mask``
    broadcasts to ``(..., heads, length, length of key)``: booleans are true where a row attends to a column, floats are
    added. With ``causal``, row i attends to columns 0 to i. A row that may attend to nothing is 0. ``scale`` is by
    default 1 / sqrt(width).

    >>> import lazyxla as lx
    >>> x = lx.asarray([[0.0], [4.0]])
    >>> lx.nn.attention(x * 0, x, x).tolist(), lx.nn.attention(x * 0, x, x, causal=True).tolist()
    ([[2.0], [2.0]], [[0.0], [2.0]])
    """
    if scale == 0:
        raise ValueError("scale: 0 given; want another number, or None for 1 / sqrt(width)")
    return _core.attention(query, key, value, mask, 0.0 if scale is None else scale, causal)


def one_hot(indices: Array, num_classes: int, *, axis: int = -1, dtype: DTypeLike = _core.float32) -> Array:
    """Returns ones at the positions that indices give along a new axis, and zeros elsewhere.

    >>> import lazyxla as lx
    >>> lx.nn.one_hot(lx.asarray([2, 0]), 3).tolist()
    [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    """
    return _core.one_hot(indices, num_classes, axis, dtype)


# An example of each function that is made above: a call, and what it returns.
_EXAMPLES = {
    "elu": ("lx.nn.elu(lx.asarray([0.0, 2.0])).tolist()", "[0.0, 2.0]"),
    "hard_sigmoid": ("lx.nn.hard_sigmoid(lx.asarray([-4.0, 0.0, 4.0])).tolist()", "[0.0, 0.5, 1.0]"),
    "hard_swish": ("lx.nn.hard_swish(lx.asarray([-4.0, 0.0, 4.0])).tolist()", "[-0.0, 0.0, 4.0]"),
    "log_sigmoid": ("round(lx.nn.log_sigmoid(lx.asarray(0.0)).item(), 4)", "-0.6931"),
    "mish": ("lx.nn.mish(lx.asarray([0.0])).tolist()", "[0.0]"),
    "relu": ("lx.nn.relu(lx.asarray([-1.0, 2.0])).tolist()", "[0.0, 2.0]"),
    "relu6": ("lx.nn.relu6(lx.asarray([-1.0, 8.0])).tolist()", "[0.0, 6.0]"),
    "selu": ("lx.nn.selu(lx.asarray([0.0])).tolist()", "[0.0]"),
    "silu": ("lx.nn.silu(lx.asarray([0.0])).tolist()", "[0.0]"),
    "softplus": ("round(lx.nn.softplus(lx.asarray(0.0)).item(), 4)", "0.6931"),
}
for _name, (_call, _result) in _EXAMPLES.items():
    globals()[_name].__doc__ += f"\n\n>>> import lazyxla as lx\n>>> {_call}\n{_result}\n"
