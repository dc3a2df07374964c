"""Special functions, by the names of scipy.special and jax.scipy.special."""

from __future__ import annotations

from typing import Any

from . import _constants as c
from . import _core
from ._core import Array
from ._elementwise import log, where
from ._operands import in_floats, real_floats
from .nn import logsumexp as _logsumexp

__all__ = [
    "betaln", "digamma", "entr", "erf", "erfc", "erfcx", "erfinv", "expit", "gammaln", "log_ndtr", "logit", "logsumexp",
    "ndtr", "xlog1py", "xlogy",
]  # fmt: skip


def _function(name: str, call: Any, op: int, text: str, example: str) -> Any:
    def function(x: Array, /) -> Array:
        found: Array = call(op, in_floats(x))
        return found

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Returns {text}; integers as float32.\n\n    >>> import lazyxla as lx\n    {example}\n    "
    return function


erf = _function(
    "erf",
    _core.special,
    c.SPECIAL_ERF,
    "the error function",
    ">>> round(lx.special.erf(lx.asarray(1.0)).item(), 4)\n    0.8427",
)
erfc = _function(
    "erfc",
    _core.special,
    c.SPECIAL_ERFC,
    "1 - erf(x), accurate for large x",
    ">>> round(lx.special.erfc(lx.asarray(1.0)).item(), 4)\n    0.1573",
)
erfcx = _function(
    "erfcx",
    _core.special,
    c.SPECIAL_ERFCX,
    "e^(x^2) erfc(x)",
    ">>> round(lx.special.erfcx(lx.asarray(1.0)).item(), 4)\n    0.4276",
)
ndtr = _function(
    "ndtr",
    _core.special,
    c.SPECIAL_NORMAL_CDF,
    "the distribution function of the normal distribution",
    ">>> lx.special.ndtr(lx.asarray(0.0)).item()\n    0.5",
)
erfinv = _function(
    "erfinv",
    _core.unary,
    c.UNARY_ERF_INV,
    "the inverse of erf; NaN outside of [-1, 1]",
    ">>> round(lx.special.erfinv(lx.asarray(0.5)).item(), 4)\n    0.4769",
)
gammaln = _function(
    "gammaln",
    _core.unary,
    c.UNARY_LGAMMA,
    "the logarithm of |gamma(x)|",
    ">>> round(lx.special.gammaln(lx.asarray(5.0)).item(), 4)\n    3.1781",
)
digamma = _function(
    "digamma",
    _core.unary,
    c.UNARY_DIGAMMA,
    "the derivative of gammaln",
    ">>> round(lx.special.digamma(lx.asarray(1.0)).item(), 4)\n    -0.5772",
)


def log_ndtr(x: Array, /) -> Array:
    """Returns the logarithm of ``ndtr``, also where that underflows; integers as float32.

    >>> import lazyxla as lx
    >>> round(lx.special.log_ndtr(lx.asarray(-10.0)).item(), 3)
    -53.231
    """
    x = in_floats(x)
    low = where(x < -1, x, -1.0)
    below = -low * low / 2 + log(erfcx(-low * 2**-0.5) / 2)
    above = where(x < -1, -1.0, x)
    upper = _core.unary(c.UNARY_LOG_PLUS_ONE, -erfc(above * 2**-0.5) / 2)
    return where(x < -1, below, upper)


def expit(x: Array, /) -> Array:
    """Returns the logistic function, 1 / (1 + e^-x); integers as float32.

    >>> import lazyxla as lx
    >>> lx.special.expit(lx.asarray(0.0)).item()
    0.5
    """
    return _core.unary(c.UNARY_LOGISTIC, in_floats(x))


def logit(x: Array, /) -> Array:
    """Returns log(x / (1 - x)), the inverse of ``expit``; integers as float32.

    >>> import lazyxla as lx
    >>> lx.special.logit(lx.asarray(0.5)).item()
    0.0
    """
    x = in_floats(x)
    found: Array = log(x) - _core.unary(c.UNARY_LOG_PLUS_ONE, -x)
    return found


def logsumexp(x: Array, /, axis: Any = None, *, keepdims: bool = False) -> Array:
    """Returns the logarithm of the sums of e^x over axes, without overflow; integers as float32.

    >>> import lazyxla as lx
    >>> round(lx.special.logsumexp(lx.asarray([1000.0, 1000.0])).item(), 3)
    1000.693
    """
    return _logsumexp(in_floats(x), axis=axis, keepdims=keepdims)


def xlogy(x: Any, y: Any, /) -> Array:
    """Returns x log(y), which is 0 where x is 0 and y is not NaN; integers as float32.

    >>> import lazyxla as lx
    >>> lx.special.xlogy(lx.asarray([0.0, 1.0]), lx.asarray([0.0, 1.0])).tolist()
    [0.0, 0.0]
    """
    x, y = real_floats("xlogy", x, y)
    none = (x == 0) & (y == y)
    return where(none, 0.0, x * log(where(none, 1.0, y)))


def xlog1py(x: Any, y: Any, /) -> Array:
    """Returns x log(1 + y), which is 0 where x is 0 and y is not NaN; integers as float32.

    >>> import lazyxla as lx
    >>> lx.special.xlog1py(lx.asarray([0.0]), lx.asarray([-1.0])).tolist()
    [0.0]
    """
    x, y = real_floats("xlog1py", x, y)
    none = (x == 0) & (y == y)
    return where(none, 0.0, x * _core.unary(c.UNARY_LOG_PLUS_ONE, where(none, 0.0, y)))


def entr(x: Array, /) -> Array:
    """Returns -x log(x), which is 0 at 0 and -infinity below; integers as float32.

    >>> import lazyxla as lx
    >>> lx.special.entr(lx.asarray([0.0, 1.0])).tolist()
    [0.0, 0.0]
    """
    x = in_floats(x)
    return where(x < 0, float("-inf"), -xlogy(x, where(x < 0, 1.0, x)))


def betaln(a: Any, b: Any, /) -> Array:
    """Returns the logarithm of the beta function of positive numbers: gammaln(a) + gammaln(b) - gammaln(a + b).

    >>> import lazyxla as lx
    >>> round(lx.special.betaln(lx.asarray(2.0), lx.asarray(3.0)).item(), 4)
    -2.4849
    """
    a, b = real_floats("betaln", a, b)
    found: Array = gammaln(a) + gammaln(b) - gammaln(a + b)
    return found
