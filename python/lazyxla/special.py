"""Special functions, by the names of scipy.special and jax.scipy.special."""

from __future__ import annotations

import math
from typing import Any

from . import _constants as c
from . import _core
from ._core import Array
from ._elementwise import abs, exp, floor, log, where
from ._operands import in_floats, real_floats
from ._softmax import log_softmax, logsumexp, softmax

__all__ = [
    "beta", "betaln", "digamma", "entr", "erf", "erfc", "erfcx", "erfinv", "expit", "factorial", "gamma", "gammainc",
    "gammaincc", "gammaln", "i0", "i0e", "i1", "i1e", "j0", "j1", "k0", "k1", "kl_div", "log_ndtr", "log_softmax",
    "logit", "logsumexp", "multigammaln", "ndtr", "polygamma", "psi", "rel_entr", "softmax", "xlog1py", "xlogy", "y0",
    "y1", "zeta",
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
i0e = _function(
    "i0e",
    _core.unary,
    c.UNARY_BESSEL_I0E,
    "e^-abs(x) times the modified Bessel function of the first kind of order 0",
    ">>> round(lx.special.i0e(lx.asarray(1.0)).item(), 4)\n    0.4658",
)
i1e = _function(
    "i1e",
    _core.unary,
    c.UNARY_BESSEL_I1E,
    "e^-abs(x) times the modified Bessel function of the first kind of order 1",
    ">>> round(lx.special.i1e(lx.asarray(1.0)).item(), 4)\n    0.2079",
)
j0 = _function(
    "j0",
    _core.unary,
    c.UNARY_BESSEL_J0,
    "the Bessel function of the first kind of order 0",
    ">>> round(lx.special.j0(lx.asarray(1.0)).item(), 4)\n    0.7652",
)
j1 = _function(
    "j1",
    _core.unary,
    c.UNARY_BESSEL_J1,
    "the Bessel function of the first kind of order 1",
    ">>> round(lx.special.j1(lx.asarray(1.0)).item(), 4)\n    0.4401",
)
y0 = _function(
    "y0",
    _core.unary,
    c.UNARY_BESSEL_Y0,
    "the Bessel function of the second kind of order 0",
    ">>> round(lx.special.y0(lx.asarray(1.0)).item(), 4)\n    0.0883",
)
y1 = _function(
    "y1",
    _core.unary,
    c.UNARY_BESSEL_Y1,
    "the Bessel function of the second kind of order 1",
    ">>> round(lx.special.y1(lx.asarray(1.0)).item(), 4)\n    -0.7812",
)
k0 = _function(
    "k0",
    _core.unary,
    c.UNARY_BESSEL_K0,
    "the modified Bessel function of the second kind of order 0",
    ">>> round(lx.special.k0(lx.asarray(1.0)).item(), 4)\n    0.421",
)
k1 = _function(
    "k1",
    _core.unary,
    c.UNARY_BESSEL_K1,
    "the modified Bessel function of the second kind of order 1",
    ">>> round(lx.special.k1(lx.asarray(1.0)).item(), 4)\n    0.6019",
)
psi = digamma


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
    >>> [round(value, 4) for value in lx.special.entr(lx.asarray([0.0, 0.5])).tolist()]
    [0.0, 0.3466]
    """
    x = in_floats(x)
    found = where(x < 0, float("-inf"), -xlogy(x, where(x < 0, 1.0, x)))
    return where(x == 0, 0.0, found)


def betaln(a: Any, b: Any, /) -> Array:
    """Returns the logarithm of the beta function of positive numbers: gammaln(a) + gammaln(b) - gammaln(a + b).

    >>> import lazyxla as lx
    >>> round(lx.special.betaln(lx.asarray(2.0), lx.asarray(3.0)).item(), 4)
    -2.4849
    """
    a, b = real_floats("betaln", a, b)
    found: Array = gammaln(a) + gammaln(b) - gammaln(a + b)
    return found


# Functions of two numbers, and those that are made of others.


def _binary(of: str, op: int, x: Any, y: Any) -> Array:
    x, y = real_floats(of, x, y)
    return _core.binary(op, x, y, False, False)


def gammainc(a: Any, x: Any, /) -> Array:
    """Returns the regularized lower incomplete gamma function of x with the parameter a.

    >>> import lazyxla as lx
    >>> round(lx.special.gammainc(lx.asarray(1.0), 1.0).item(), 4)
    0.6321
    """
    return _binary("gammainc", c.BINARY_IGAMMA, a, x)


def gammaincc(a: Any, x: Any, /) -> Array:
    """Returns the regularized upper incomplete gamma function of x with the parameter a, 1 - gammainc(a, x).

    >>> import lazyxla as lx
    >>> round(lx.special.gammaincc(lx.asarray(1.0), 1.0).item(), 4)
    0.3679
    """
    return _binary("gammaincc", c.BINARY_IGAMMAC, a, x)


def polygamma(n: Any, x: Any, /) -> Array:
    """Returns the n-th derivative of ``digamma`` at x.

    >>> import lazyxla as lx
    >>> round(lx.special.polygamma(1, lx.asarray(1.0)).item(), 4)
    1.6449
    """
    return _binary("polygamma", c.BINARY_POLYGAMMA, n, x)


def zeta(x: Any, q: Any, /) -> Array:
    """Returns the Hurwitz zeta function: the sum of 1 / (k + q)^x over k from 0 on.

    >>> import lazyxla as lx
    >>> round(lx.special.zeta(lx.asarray(2.0), 1.0).item(), 4)
    1.6449
    """
    return _binary("zeta", c.BINARY_ZETA, x, q)


def gamma(x: Array, /) -> Array:
    """Returns the gamma function; NaN at negative integers. Integers as float32.

    >>> import lazyxla as lx
    >>> lx.special.gamma(lx.asarray([1.0, 2.0])).tolist()
    [1.0, 1.0]
    """
    (x,) = real_floats("gamma", x)
    is_odd = (x < 0) & (floor(x) % 2 != 0)
    size = exp(gammaln(x))
    found = where(is_odd, -size, size)
    # The sign of 0 is that of infinity there; at other poles both signs meet.
    found = where(x == 0, 1 / where(x == 0, x, 1), found)
    return where((x < 0) & (x == floor(x)), float("nan"), found)


def factorial(n: Any, /) -> Array:
    """Returns n! as floats, and gamma(n + 1) between integers; 0 for negative n. Integers as float32.

    >>> import lazyxla as lx
    >>> round(lx.special.factorial(lx.asarray(4)).item(), 3)
    24.0
    """
    (n,) = real_floats("factorial", n)
    return where(n < 0, 0.0, gamma(where(n < 0, 0.0, n) + 1))


def beta(a: Any, b: Any, /) -> Array:
    """Returns the beta function of positive numbers: gamma(a) gamma(b) / gamma(a + b).

    >>> import lazyxla as lx
    >>> round(lx.special.beta(lx.asarray(2.0), 3.0).item(), 4)
    0.0833
    """
    found: Array = exp(betaln(a, b))
    return found


def multigammaln(a: Array, d: int, /) -> Array:
    """Returns the logarithm of the multivariate gamma function of dimension d.

    >>> import lazyxla as lx
    >>> round(lx.special.multigammaln(lx.asarray(3.0), 2).item(), 4)
    1.5502
    """
    (a,) = real_floats("multigammaln", a)
    found: Array = gammaln(a) + d * (d - 1) / 4 * math.log(math.pi)
    for i in range(1, d):
        found = found + gammaln(a - i / 2)
    return found


def rel_entr(x: Any, y: Any, /) -> Array:
    """Returns x log(x / y), which is 0 where x is 0 and y is not negative, and infinite where a number is negative.

    >>> import lazyxla as lx
    >>> lx.special.rel_entr(lx.asarray([0.0, 1.0]), lx.asarray([1.0, 1.0])).tolist()
    [0.0, 0.0]
    """
    x, y = real_floats("rel_entr", x, y)
    both = (x > 0) & (y > 0)
    found = where(both, xlogy(where(both, x, 1.0), where(both, x / where(both, y, 1.0), 1.0)), float("inf"))
    found = where((x == 0) & (y >= 0), 0.0, found)
    return where((x != x) | (y != y), float("nan"), found)


def kl_div(x: Any, y: Any, /) -> Array:
    """Returns x log(x / y) - x + y, by the rules of ``rel_entr``.

    >>> import lazyxla as lx
    >>> lx.special.kl_div(lx.asarray([0.0]), lx.asarray([2.0])).tolist()
    [2.0]
    """
    x, y = real_floats("kl_div", x, y)
    found: Array = rel_entr(x, y) - x + y
    return found


def i0(x: Array, /) -> Array:
    """Returns the modified Bessel function of the first kind of order 0.

    >>> import lazyxla as lx
    >>> round(lx.special.i0(lx.asarray(1.0)).item(), 4)
    1.2661
    """
    (x,) = real_floats("i0", x)
    found: Array = exp(abs(x)) * i0e(x)
    return found


def i1(x: Array, /) -> Array:
    """Returns the modified Bessel function of the first kind of order 1.

    >>> import lazyxla as lx
    >>> round(lx.special.i1(lx.asarray(1.0)).item(), 4)
    0.5652
    """
    (x,) = real_floats("i1", x)
    found: Array = exp(abs(x)) * i1e(x)
    return found
