"""Exponentials that are divided by their sum, and logarithms of such sums, without overflow in between."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from . import _core
from ._core import Array
from ._elementwise import abs, exp, isfinite, log, sign
from ._masked import masked
from ._operands import in_floats, operands, select, widened
from ._reductions import max, sum
from ._shapes import permute_dims, reshape, squeeze
from ._sizes import integers, is_integer, normalized
from ._statistics import last_axes


def softmax(x: Array, /, axis: int | Sequence[int] | None = -1, where: Any = None) -> Array:
    """Returns e^x / sum(e^x) along axes. Elements at which ``where`` is False do not count, and their results are 0.

    >>> import lazyxla as lx
    >>> lx.nn.softmax(lx.asarray([1.0, 1.0])).tolist()
    [0.5, 0.5]
    >>> lx.nn.softmax(lx.asarray([1.0, 5.0, 1.0]), where=lx.asarray([True, False, True])).tolist()
    [0.5, 0.0, 0.5]
    """
    return _along(x, axis, where, False)


def log_softmax(x: Array, /, axis: int | Sequence[int] | None = -1, where: Any = None) -> Array:
    """Returns the logarithm of ``softmax``, which is -infinity where ``where`` is False.

    >>> import lazyxla as lx
    >>> [round(x, 4) for x in lx.nn.log_softmax(lx.asarray([1.0, 1.0])).tolist()]
    [-0.6931, -0.6931]
    """
    return _along(x, axis, where, True)


def _along(x: Array, axis: Any, where: Any, is_log: bool) -> Array:
    x = masked(x, where, -math.inf)
    if is_integer(axis):
        found = _core.softmax(x, axis, is_log)
    else:
        flat, over = last_axes(x, axis)
        order = [*(at for at in range(x.ndim) if at not in over), *over]
        made = reshape(_core.softmax(flat, -1, is_log), [x.shape[at] for at in order])
        found = permute_dims(made, [order.index(at) for at in range(x.ndim)])
    return masked(found, where, -math.inf if is_log else 0.0)


def logsumexp(
    x: Array,
    /,
    axis: int | Sequence[int] | None = None,
    b: Any = None,
    keepdims: bool = False,
    return_sign: bool = False,
    where: Any = None,
) -> Any:
    """Returns log(sum(b * e^x)) over axes, as JAX and SciPy. ``b`` is 1 by default, and elements at which ``where`` is
    False do not count. The logarithm of a negative sum is NaN; with ``return_sign`` the result is a pair: the logarithm
    of the absolute value of the sum, and its sign.

    >>> import lazyxla as lx
    >>> lx.nn.logsumexp(lx.asarray([2.0, -lx.inf])).item()
    2.0
    >>> lx.nn.logsumexp(lx.asarray([2.0, 9.0]), b=lx.asarray([1.0, 0.0])).item()
    2.0
    """
    axes = None if axis is None else integers(axis, "axes")
    if b is None and not return_sign:
        return _core.logsumexp(masked(x, where, -math.inf), axes, keepdims)
    x, factors = operands("logsumexp", in_floats(x), 1.0 if b is None else b)
    dtype, is_complex = x.dtype, x.dtype.kind == "complex floating"
    x, factors = widened(masked(x, where, -math.inf)), widened(factors)
    # An element whose factor is 0 does not count, even if its exponential is infinite or NaN.
    x = select(factors == 0, -math.inf, x)
    largest = _core.stop_gradient(max(_core.part(x, False) if is_complex else x, axis=axes, keepdims=True))
    largest = select(isfinite(largest), largest, 0.0)
    total = sum(factors * exp(x - largest), axis=axes, keepdims=keepdims)
    if not keepdims:
        over = range(x.ndim) if axes is None else normalized(axes, x.ndim)
        largest = squeeze(largest, tuple(over))
    if not return_sign:
        return (log(total) + largest).astype(dtype, copy=False)
    size = log(abs(total)) + largest
    return (size if is_complex else size.astype(dtype, copy=False)), sign(total).astype(dtype, copy=False)
