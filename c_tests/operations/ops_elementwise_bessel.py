"""Bessel functions of the first and the second kind, modified ones of the second kind, and the scaled complementary
error function, as ops_test.py compares them: computed with 60 or more decimal digits."""

import functools
from decimal import Decimal, localcontext

import ops_reference_erf as exact
from ops_elementwise import unary
from ops_elementwise_functions import INF, NAN, each, function_of_one
from ops_elementwise_igamma import EULER

# From here on, the asymptotic series, whose smallest term is below 1e-26.
FAR = 30


def pi():
    """Returns pi with the digits of the context."""
    with localcontext() as context:
        bits = int(context.prec * 3.4) + 16
        return Decimal(exact.pi(bits)) / (1 << bits)


def power_series(order, x, sign):
    """Returns the sums of the terms of J (sign -1) or I (sign 1), and of their products with the sum of two digamma
    numbers (DLMF 10.8.1, 10.31.1)."""
    term = x / 2 if order else Decimal(1)
    first, second = -EULER, 1 - EULER if order else -EULER
    total, other, k = Decimal(0), Decimal(0), 0
    least = Decimal("1e-60") * min(abs(term), Decimal(1))
    while abs(term) > least:
        total, other, k = total + term, other + term * (first + second), k + 1
        first, second = first + Decimal(1) / k, second + Decimal(1) / (k + order)
        term *= sign * x * x / (4 * k * (k + order))
    return total, other


def asymptotic_terms(order, x):
    """Yields the terms of the asymptotic series (DLMF 10.17.1), while they fall."""
    term, k = Decimal(1), 0
    while abs(term) > Decimal("1e-45") and k < 2 * FAR:
        yield term
        k += 1
        term *= (4 * order - (2 * k - 1) ** 2) / (8 * k * x)


def sine_and_cosine(angle):
    """Returns both by their series; the context has digits for all of the angle."""
    turn = 2 * pi()
    angle -= turn * (angle / turn).to_integral_value()
    sums, term, n = [Decimal(0), Decimal(0)], Decimal(1), 0
    while abs(term) > Decimal("1e-60"):
        sums[n % 2] += -term if n % 4 > 1 else term
        n += 1
        term *= angle / n
    return sums[1], sums[0]


@functools.cache
def wave(order, x):
    """Returns J and Y of a positive number."""
    with localcontext() as context:
        context.prec = 75 + max(x.adjusted(), 0)
        if x < FAR:
            first, other = power_series(order, x, -1)
            second = (2 * (x / 2).ln() * first - other - (2 / x if order else 0)) / pi()
            return first, second
        sine, cosine = sine_and_cosine(x - pi() * (2 * order + 1) / 4)
        parts = [Decimal(0), Decimal(0)]
        for k, term in enumerate(asymptotic_terms(order, x)):
            parts[k % 2] += -term if k % 4 > 1 else term
        size = (2 / (pi() * x)).sqrt()
        return size * (parts[0] * cosine - parts[1] * sine), size * (parts[0] * sine + parts[1] * cosine)


def first_kind(order):
    def function(x):
        if x.is_nan() or x == 0 or x in (INF, -INF):
            if x.is_nan() or (order and x == 0):
                return x
            return Decimal(0).copy_sign(x) if order else Decimal(int(x == 0))
        value = wave(order, x.copy_abs())[0]
        return value.copy_negate() if order and x < 0 else value

    return function


def second_kind(order):
    def function(x):
        if x.is_nan() or x < 0:
            return NAN
        return -INF if x == 0 else Decimal(0) if x == INF else wave(order, x)[1]

    return function


def envelope(least):
    """Returns the size of the waves, from the first zero on; the errors of smaller numbers are relative."""

    def function(x):
        return (2 / (pi() * abs(x))).sqrt() if x.is_finite() and abs(x) > least else Decimal(0)

    return function


def modified(order, is_scaled):
    def function(x):
        if x.is_nan() or x < 0:
            return NAN
        if x == 0 or x == INF:
            return INF if x == 0 else Decimal(0)
        if x > 2000 and not is_scaled:
            return Decimal(0)
        with localcontext() as context:
            context.prec = 75
            if x < FAR:
                total, other = power_series(order, x, 1)
                log = (x / 2).ln() * total
                value = 1 / x + log - other / 2 if order else other / 2 - log
                return value * x.exp() if is_scaled else value
            value = (pi() / (2 * x)).sqrt() * sum(asymptotic_terms(order, x))
            return value if is_scaled else value * (-x).exp()

    return function


def decimal_erfcx(x):
    """Beyond 10 by its asymptotic series, below by e^(x^2) minus the series of e^(x^2) erf(x), whose terms have one
    sign."""
    if not x.is_finite() or abs(x) > 30:
        if x.is_nan() or x < 0:
            return NAN if x.is_nan() else INF
        if x == INF:
            return Decimal(0)
    with localcontext() as context:
        context.prec = 90
        if x > 10:
            term, total, k = Decimal(1), Decimal(0), 0
            while abs(term) > Decimal("1e-40"):
                total, k = total + term, k + 1
                term *= -(2 * k - 1) / (2 * x * x)
            return total / (x * pi().sqrt())
        term = total = x
        k = 0
        while abs(term) > Decimal("1e-70") * abs(total):
            k += 1
            term *= 2 * x * x / (2 * k + 1)
            total += term
        return (x * x).exp() - 2 / pi().sqrt() * total


def bessels():
    made = []
    for order in (0, 1):
        made.append(unary(f"bessel_j{order}", "float", each(first_kind(order))))
        made[-1].scale = each(envelope(order + 1))
        made.append(unary(f"bessel_y{order}", "float", each(second_kind(order))))
        made[-1].scale = each(envelope(Decimal("0.5")))
        made.append(unary(f"bessel_k{order}", "float", each(modified(order, False))))
        made.append(unary(f"bessel_k{order}e", "float", each(modified(order, True))))
    return [*made, function_of_one("SPECIAL", "erfcx", "float", each(decimal_erfcx))]
