"""The incomplete gamma functions, as ops_test.py compares them: computed with 60 decimal digits."""

import functools
from decimal import Decimal, localcontext

import numpy as np
from header import family
from ops_cases import Case, Operation, edges
from ops_elementwise_functions import INF, NAN, positive_digamma, positive_lgamma
from ops_elementwise_zeta import each
from ops_values import DTYPES, random

ZERO, ONE, EULER = Decimal(0), Decimal(1), Decimal("0.57721566490153286060651209008240243104215933593992")
# Steps of difference quotients: their error is about the square of this, and that of 60 digits divided by it.
STEP = Decimal("1e-20")


@functools.cache
def logarithm_of_factor(a, x):
    """Returns the logarithm of x^a e^-x / gamma(a + 1)."""
    return a * x.ln() - x - positive_lgamma(a + 1)


def lower(a, x):
    """Returns P by its power series (DLMF 8.7.1)."""
    term = total = ONE
    n = 0
    while term > total * Decimal("1e-62"):
        n += 1
        term *= x / (a + n)
        total += term
    return total * logarithm_of_factor(a, x).exp()


def upper(a, x):
    """Returns Q by its continued fraction (DLMF 8.9.2), for x > 1 and x > a."""
    steps = int(450 / x + 8 * a.sqrt()) + 40
    rest = x + 2 * steps + 1 - a
    for k in range(steps, 0, -1):
        rest = x + 2 * k - 1 - a - k * (k - a) / rest
    return a * logarithm_of_factor(a, x).exp() / rest


def exponential_integral(x):
    """Returns E1(x): by its power series, beyond 1 by its continued fraction."""
    if x <= 1:
        term, total, n = -ONE, -EULER - x.ln(), 0
        while abs(term) > Decimal("1e-62"):
            n += 1
            term *= -x / n
            total += term / n
        return total
    rest = x + 1001
    for k in range(500, 0, -1):
        rest = x + 2 * k - 1 - k * k / rest
    return (-x).exp() / rest


@functools.cache
def both(a, x):
    """Returns P and Q, of which the smaller one has the digits, and whether it is P."""
    if a < Decimal("1e-25"):
        small = a * exponential_integral(x)
        return 1 - small, small, False
    if x > 1 and x > a:
        small = upper(a, x)
        return 1 - small, small, False
    small = lower(a, x)
    return small, 1 - small, True


def at_edges(a, x, of_zero_x, of_zero_a):
    """Returns the value where an operand is 0, infinite, negative or NaN; None elsewhere."""
    if a.is_nan() or x.is_nan() or a < 0 or x < 0 or (a == x and (a == 0 or a == INF)):
        return NAN
    if x == 0 or a == INF:
        return of_zero_x
    return of_zero_a if a == 0 or x == INF else None


def decimal_igamma(a, x):
    known = at_edges(a, x, ZERO, ONE)
    return both(a, x)[0] if known is None else known


def decimal_igammac(a, x):
    known = at_edges(a, x, ONE, ZERO)
    return both(a, x)[1] if known is None else known


@functools.cache
def decimal_grad(a, x):
    if (known := at_edges(a, x, ZERO, ZERO)) is not None:
        is_limit = a == 0 and not known.is_nan() and x < INF
        return -exponential_integral(x) if is_limit else known
    if a < Decimal("1e-15"):
        return -exponential_integral(x)
    with localcontext() as context:
        context.prec = 80
        step = STEP * min(a, ONE)
        is_lower = both(a, x)[2]
        ends = [lower(v, x) if is_lower else -upper(v, x) for v in (a + step, a - step)]
        return (ends[0] - ends[1]) / (2 * step)


def change(a, x):
    """Returns x times the derivative of P by x: results are as accurate as if x were rounded a few times."""
    if at_edges(a, x, ZERO, ZERO) is not None:
        return ZERO
    return a * logarithm_of_factor(a, x).exp()


def change_of_grad(a, x):
    """Returns x times the derivative of igamma_grad_a by x."""
    if at_edges(a, x, ZERO, ZERO) is not None or a < Decimal("1e-15"):
        return ZERO
    return abs(change(a, x) * (x.ln() - positive_digamma(a)))


def line(dtype):
    """Returns edges, but none so large that its sums take long."""
    values = edges(dtype)
    with np.errstate(all="ignore"):
        size = np.abs(values.astype(np.float64))
    return values[(size < 3000) | ~np.isfinite(size)]


def cases(dtype):
    """Returns one case: all pairs of edges, and pairs of moderate numbers, most of them near each other. XLA takes
    seconds to compile a function, for each shape."""
    drawn, kind = random(25), DTYPES[dtype][1]
    some = np.unique(line(dtype).astype(np.float64))[::4].astype(kind)
    special = np.array([0, 1, 0.5, 2, np.inf, np.nan, -1], kind)
    ends = np.concatenate([some, special])
    a = np.exp(drawn.uniform(np.log(0.002), np.log(600), 300))
    spread = drawn.choice([0.3, 1, 3, 8], 300) * np.minimum(1, 1 / np.sqrt(a))
    x = a * np.exp(np.clip(spread * drawn.normal(size=300), -8, 4))
    small_a, small_x = (np.exp(drawn.uniform(np.log(low), np.log(4), 120)) for low in (1e-4, 1e-3))
    pairs = [(np.repeat(special, ends.size), np.tile(ends, special.size))]
    pairs.append((np.tile(ends, special.size), np.repeat(special, ends.size)))
    pairs.append((np.concatenate([a, small_a]).astype(kind), np.concatenate([x, small_x]).astype(kind)))
    return [Case([np.concatenate(operand) for operand in zip(*pairs)], {"dtype": dtype})]


def operation(name, reference, scale):
    def call(world, a, b, dtype):
        return world.make("lxla_binary", family("BINARY")[name], a, b)

    return Operation(name, "float", call, each(reference), cases, each(scale))


def incomplete_gammas():
    return [
        operation("igamma", decimal_igamma, change),
        operation("igammac", decimal_igammac, change),
        operation("igamma_grad_a", decimal_grad, change_of_grad),
    ]
