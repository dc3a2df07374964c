"""The polygamma and the Hurwitz zeta function, as ops_test.py compares them: computed with 60 decimal digits."""

import functools
import math
from decimal import Decimal, setcontext

import numpy as np
from header import family
from ops_cases import Case, Operation, edges, release
from ops_elementwise_functions import CONTEXT, INF, NAN, bernoulli, decimal_digamma, decimal_digamma_scale, fraction
from ops_values import DTYPES, random


def each(function):
    """Applies a function of two decimals to every pair of elements, of which the first may be integers."""

    @functools.cache
    def of(first, second):  # texts, since -0 and 0 are equal numbers
        return np.longdouble(str(function(*(Decimal(float.fromhex(text)) for text in (first, second)))))

    def apply(a, b, dtype):
        setcontext(CONTEXT)  # each thread has its own
        pairs = zip(*(np.broadcast_to(x, np.broadcast(a, b).shape).ravel() for x in (a, b)))
        return np.array([of(float(x).hex(), float(y).hex()) for x, y in pairs], np.longdouble).reshape(a.shape)

    return apply


def power(base, exponent):
    """Integer powers are much faster."""
    return base ** (int(exponent) if exponent == int(exponent) else exponent)


@functools.cache
def corrections():
    """Returns the coefficients of the Euler-Maclaurin formula."""
    setcontext(CONTEXT)
    numbers = [bernoulli(2 * k) / math.factorial(2 * k) for k in range(1, 26)]
    return [Decimal(c.numerator) / c.denominator for c in numbers]


def positive_zeta(s, q):
    """Adds the terms up to 40 + s one by one."""
    count = max(int(40 + s - q), 0)
    a, series = q + count, Decimal(0)
    for k, c in reversed([*enumerate(corrections())]):
        series = c + series * (s + 2 * k + 1) * (s + 2 * k + 2) / (a * a)
    rest = power(a, -s) * (a / (s - 1) + Decimal("0.5") + s / a * series)
    return rest + sum(power(q + k, -s) for k in range(count))


def parts(s, q):
    """Returns the sums of the positive and of the negative terms' sizes, for negative q that are not integers."""
    part, _ = fraction(-q)
    return positive_zeta(s, 1 - part), positive_zeta(s, part) - positive_zeta(s, 1 - q)


def decimal_zeta(s, q):
    if s.is_nan() or q.is_nan() or s <= 1:
        return INF if s == 1 and not q.is_nan() else NAN
    if q == INF:
        return Decimal(0)
    is_odd, is_integer = s % 2 == 1, s % 1 == 0
    if q == 0:
        return INF.copy_sign(q) if is_odd else INF
    if q > 0:
        return positive_zeta(s, q)
    if not is_integer or not q.is_finite():
        return NAN
    if q % 1 == 0:
        return NAN if is_odd else INF
    above, below = parts(s, q)
    return above - below if is_odd else above + below


def decimal_zeta_scale(s, q):
    """Returns the size of the terms that cancel for negative numbers."""
    if not (q.is_finite() and s.is_finite() and s > 1 and q < 0 and q % 1 and s % 1 == 0):
        return Decimal(0)
    return sum(parts(s, q))


def decimal_polygamma(n, x):
    if n == 0:
        return decimal_digamma(x)
    size = decimal_zeta(n + 1, x) * math.factorial(int(n))
    return size if n % 2 else size.copy_negate()


def decimal_polygamma_scale(n, x):
    if n == 0:
        return decimal_digamma_scale(x)
    return decimal_zeta_scale(n + 1, x) * math.factorial(int(n))


def of_moderate_size(dtype, count, seed):
    """Returns edges and random numbers of both signs, none of which is so large or small that terms become denormal."""
    line = edges(dtype)
    with np.errstate(all="ignore"):
        size = np.abs(line.astype(np.float64))
    line = line[(size < 300) | ~np.isfinite(size)]
    drawn = random(seed)
    values = np.exp(drawn.uniform(np.log(0.02), np.log(300), count)) * drawn.choice([-1, 1, 1], count)
    return np.concatenate([line, values.astype(DTYPES[dtype][1])])


def operation(name, reference, scale, cases):
    def call(world, a, b, dtype):
        # Integers have no derivative, as the order must not have one.
        first = world.make("lxla_convert", a, DTYPES[dtype][0])
        try:
            return world.make("lxla_binary", family("BINARY")[name], first, b)
        finally:
            release(first)

    return Operation(name, "float", call, each(reference), cases, each(scale))


def polygamma_cases(dtype):
    x = of_moderate_size(dtype, 400, 21)
    high = random(22).uniform(3, 30, 60).astype(DTYPES[dtype][1])
    orders = [(np.arange(x.size) % 7, x), (np.resize([8, 12, 20, 30], high.size), high)]
    return [Case([n.astype(np.int32), values], {"dtype": dtype}, dtype) for n, values in orders]


def zeta_cases(dtype):
    q = of_moderate_size(dtype, 400, 23)
    below = random(24).uniform(0.05, 300, 60).astype(DTYPES[dtype][1])
    s = np.resize(np.array([1, 1.0625, 1.5, 2.5, 3, 0.5, 7.25, np.nan]), below.size).astype(DTYPES[dtype][1])
    of_integers = Case([(np.arange(q.size) % 7 + 2).astype(np.int32), q], {"dtype": dtype}, dtype)
    return [of_integers, Case([s, below], {"dtype": dtype})]


def zetas():
    return [
        operation("polygamma", decimal_polygamma, decimal_polygamma_scale, polygamma_cases),
        operation("zeta", decimal_zeta, decimal_zeta_scale, zeta_cases),
    ]
