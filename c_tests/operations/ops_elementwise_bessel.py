"""Bessel functions of the first and the second kind, modified ones of the second kind, Airy functions, and the scaled
complementary error function, as ops_test.py compares them: computed with 60 or more decimal digits."""

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


# Ai(0) = 3^(-2/3) / gamma(2/3) and -Ai'(0) = 3^(-1/3) / gamma(1/3).
AIRY_AT_0 = [
    Decimal(
        "0.3550280538878172392600631860041831763979791741991772405833"
        "265103008100424501267129571742460540402716884204487303494958"
    ),
    Decimal(
        "0.2588194037928067984051835601892039634790911383549345822100"
        "018138561027726767902806541964058272753843133711932117891334"
    ),
]


def airy_near(x):
    """Returns Ai, Ai', Bi and Bi' by their power series (DLMF 9.4)."""
    sums = [Decimal(0)] * 4
    first, second, k = AIRY_AT_0[0], AIRY_AT_0[1] * x, 0
    least = Decimal("1e-80")
    while max(abs(first), abs(second)) > least or k < 3:
        # The derivatives of x^(3 k) and x^(3 k + 1), times x.
        for i, term in enumerate((first, second, 3 * k * first, (3 * k + 1) * second)):
            sums[i] += term
        k += 1
        first *= x**3 / (3 * k * (3 * k - 1))
        second *= x**3 / (3 * k * (3 * k + 1))
    value, other, slope, other_slope = sums
    root = Decimal(3).sqrt()
    return value - other, (slope - other_slope) / x, root * (value + other), root * (slope + other_slope) / x


def airy_far(x):
    """Returns the same by their asymptotic series (DLMF 9.7)."""
    size = abs(x)
    z, root = size * size.sqrt() * 2 / 3, size.sqrt().sqrt()
    terms, u, k = [], Decimal(1), 0
    while abs(u) > Decimal("1e-45") and k < 2 * FAR:
        terms.append((u, u * (6 * k + 1) / (1 - 6 * k)))
        k += 1
        u *= Decimal((6 * k - 5) * (6 * k - 3) * (6 * k - 1)) / (216 * k * (2 * k - 1) * z)
    if x > 0:
        totals = [sum(sign**k * pair[i] for k, pair in enumerate(terms)) for sign in (-1, 1) for i in (0, 1)]
        down, up = (-z).exp() / (2 * pi().sqrt()), z.exp() / pi().sqrt()
        return down / root * totals[0], -down * root * totals[1], up / root * totals[2], up * root * totals[3]
    sine, cosine = sine_and_cosine(z - pi() / 4)
    parts = [[Decimal(0), Decimal(0)], [Decimal(0), Decimal(0)]]
    for k, pair in enumerate(terms):
        for i in (0, 1):
            parts[i][k % 2] += -pair[i] if k % 4 > 1 else pair[i]
    (even, odd), (even_slope, odd_slope) = parts
    values = cosine * even + sine * odd, sine * even_slope - cosine * odd_slope
    others = cosine * odd - sine * even, cosine * even_slope + sine * odd_slope
    return [
        each * factor / pi().sqrt()
        for each, factor in zip((*values, *others), (1 / root, root, 1 / root, root), strict=True)
    ]


@functools.cache
def airy_values(x):
    with localcontext() as context:
        context.prec = 95 + max(2 * x.adjusted(), 0)
        return airy_near(x) if abs(x) < 13 else airy_far(x)


def airy(index):
    """Ai, Ai', Bi or Bi'. Waves whose angle no dtype can represent have no reference: their size allows any value."""

    def function(x):
        if x.is_nan() or x == -INF and index % 2:
            return NAN
        if x == 0:
            value = AIRY_AT_0[index % 2]
            return [value, value.copy_negate(), value * Decimal(3).sqrt(), value * Decimal(3).sqrt()][index]
        if x > 500 or x < Decimal("-1e20"):
            return INF if x > 0 and index > 1 else Decimal("-0" if x > 0 and index == 1 else "0")
        return airy_values(x)[index]

    return function


def airy_envelope(index):
    """Returns the size of the waves. Where a rounding error of the number turns the angle by much, errors may grow with
    it."""

    def function(x):
        if not x.is_finite() or x > Decimal("-0.5"):
            return Decimal(0)
        root = abs(x).sqrt().sqrt()
        return (root if index % 2 else 1 / root) / pi().sqrt() * max(abs(x) * root * root / 1500, Decimal(1))

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
    for index, name in enumerate(("ai", "ai_prime", "bi", "bi_prime")):
        made.append(unary(f"airy_{name}", "float", each(airy(index))))
        made[-1].scale = each(airy_envelope(index))
    return [*made, function_of_one("SPECIAL", "erfcx", "float", each(decimal_erfcx))]
