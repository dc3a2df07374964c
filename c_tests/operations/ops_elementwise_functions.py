"""Hyperbolic, inverse circular, gamma, Bessel and error functions, and next_after, as ops_test.py compares them.
Those that NumPy lacks are computed with 60 decimal digits, or, the error function, exactly."""

import functools
import statistics
from decimal import Context, Decimal, setcontext
from fractions import Fraction

import numpy as np
import ops_reference as reference
import ops_reference_erf as exact
from header import constants, family
from ops_cases import Case, Operation, edges, plain, samples, two_samples
from ops_elementwise import unary
from ops_values import DTYPES, kind

CONTEXT = Context(prec=60, Emax=999999, Emin=-999999)
PI = CONTEXT.divide(Decimal(exact.pi(256)), Decimal(1 << 256))
NAN, INF = Decimal("nan"), Decimal("inf")


def each(function):
    """Applies a function of decimals to every element."""

    @functools.cache
    def of(text):  # text, since -0 and 0 are equal numbers
        return np.longdouble(str(function(Decimal(float.fromhex(text)))))

    def apply(x):
        setcontext(CONTEXT)  # each thread has its own
        return np.array([of(float(v).hex()) for v in x.ravel()], np.longdouble).reshape(x.shape)

    return apply


@functools.cache
def bernoulli(n):
    """Returns Bernoulli numbers as fractions."""
    if n == 0:
        return Fraction(1)
    term, total = 1, Fraction(0)
    for k in range(n):
        total += term * bernoulli(k)
        term = term * (n + 1 - k) // (k + 1)
    return -total / (n + 1)


@functools.cache
def series(derivative):
    """Returns the coefficients of Stirling's series: of lgamma, digamma or trigamma."""
    setcontext(CONTEXT)
    numbers = [(2 * k, bernoulli(2 * k)) for k in range(1, 31)]
    made = {0: [b / (n * (n - 1)) for n, b in numbers], 1: [-b / n for n, b in numbers], 2: [b for _, b in numbers]}
    return [Decimal(c.numerator) / c.denominator for c in made[derivative]]


def steps(x):
    """Returns the numbers from x upwards that are below 40, and the number after them."""
    above = [x + k for k in range(40 - int(x))] if x < 40 else []
    return above, x + len(above)


def tail(x, derivative):
    """Returns Stirling's series at x, from its last term."""
    total = Decimal(0)
    for c in reversed(series(derivative)):
        total = total / (x * x) + c
    return total


def positive_lgamma(x):
    below, top = steps(x)
    product = Decimal(1)
    for factor in below:
        product *= factor
    return (top - Decimal("0.5")) * top.ln() - top + (2 * PI).ln() / 2 + tail(top, 0) / top - product.ln()


def positive_digamma(x):
    below, top = steps(x)
    return top.ln() - 1 / (2 * top) + tail(top, 1) / (top * top) - sum(1 / v for v in below)


def positive_trigamma(x):
    below, top = steps(x)
    return 1 / top + 1 / (2 * top * top) + tail(top, 2) / top**3 + sum(1 / (v * v) for v in below)


def sine_of_pi(d):
    """Returns sin(pi d) for 0 <= d <= 1/2."""
    angle, n = PI * d, 1
    term = total = angle
    while abs(term) > abs(total) * Decimal("1e-60"):
        term *= -angle * angle / ((n + 1) * (n + 2))
        total, n = total + term, n + 2
    return total


def fraction(a):
    """Returns the fractional part of a positive number, and its distance from an integer."""
    part = a - int(a)
    return part, min(part, 1 - part)


def decimal_lgamma(x):
    if not x.is_finite() or x == 0:
        return NAN if x.is_nan() else INF
    if x > 0:
        return Decimal(0) if x in (1, 2) else positive_lgamma(x)
    _, d = fraction(-x)
    return PI.ln() - sine_of_pi(d).ln() - positive_lgamma(1 - x) if d else INF


def cotangent(x):
    """Returns pi / tan(pi a) for x = -a, which is not an integer."""
    part, d = fraction(-x)
    size = PI * sine_of_pi(Decimal("0.5") - d) / sine_of_pi(d)
    return size if part <= Decimal("0.5") else -size


def decimal_digamma(x):
    if x == 0 or not x.is_finite():
        return INF.copy_sign(x.copy_negate()) if x == 0 else x if x == INF else NAN
    if x > 0:
        return positive_digamma(x)
    return positive_digamma(1 - x) + cotangent(x) if fraction(-x)[1] else NAN


def decimal_trigamma(x):
    if not x.is_finite():
        return Decimal(0) if x == INF else NAN
    if x > 0:
        return positive_trigamma(x)
    d = fraction(-x)[1]
    return (PI / sine_of_pi(d)) ** 2 - positive_trigamma(1 - x) if d else INF


def decimal_bessel(order):
    """Returns e^-|x| times a modified Bessel function: by its power series, beyond 60 by its asymptotic series."""

    def function(x):
        a = abs(x)
        if not a.is_finite():
            return NAN if a.is_nan() else Decimal(0).copy_sign(x if order else a)
        is_near, k = a < 60, 1
        term = total = (a / 2 if order else Decimal(1)) if is_near else 1 / (2 * PI * a).sqrt()
        while abs(term) > total * Decimal("1e-45"):
            term *= a * a / (4 * k * (k + order)) if is_near else ((2 * k - 1) ** 2 - 4 * order) / (8 * k * a)
            total, k = total + term, k + 1
        size = total * (-a).exp() if is_near else total
        return size.copy_sign(x) if order else size

    return function


lgamma, digamma, trigamma = each(decimal_lgamma), each(decimal_digamma), each(decimal_trigamma)
bessel_i0e, bessel_i1e = each(decimal_bessel(0)), each(decimal_bessel(1))

# The sizes of the terms that cancel for negative numbers, beside zeros of the functions; of digamma at least 1, since
# 1 - x is rounded.


def decimal_lgamma_scale(x):
    if not x.is_finite() or x >= 0 or not fraction(-x)[1]:
        return Decimal(0)
    return abs((sine_of_pi(fraction(-x)[1]) / PI).ln()) + abs(positive_lgamma(1 - x))


def decimal_digamma_scale(x):
    if not x.is_finite() or x >= 0 or not fraction(-x)[1]:
        return Decimal(0)
    return max(abs(cotangent(x)) + abs(positive_digamma(1 - x)), Decimal(1))


lgamma_scale, digamma_scale = each(decimal_lgamma_scale), each(decimal_digamma_scale)


@functools.cache
def inverse_error_function(x):
    """Returns erf_inv of a number, by Newton's method."""
    a = np.longdouble(abs(x))
    if not a < 1:
        return np.copysign(np.inf if a == 1 else np.nan, x)
    root = np.sqrt(np.arctan(np.longdouble(1)))  # sqrt(pi) / 2
    if a < 1e-9:
        return np.longdouble(x) * root
    probability = (1 + float(a)) / 2 if a < 0.5 else float(1 - a) / 2
    y = np.longdouble(abs(statistics.NormalDist().inv_cdf(probability))) / np.sqrt(np.longdouble(2))
    for _ in range(3):
        y += (a - exact.near(y) if a < 0.5 else exact.complement(y) - (1 - a)) * root * np.exp(y * y)
    return np.copysign(y, x)


def erf_inv(x):
    return np.array([inverse_error_function(float(v)) for v in x.ravel()], np.longdouble).reshape(x.shape)


def next_after(x, y, dtype):
    """Returns the next number after x. Where both are equal it is y, as in C; NumPy returns x in f16."""
    x, y = x.astype(DTYPES[dtype][1]), y.astype(DTYPES[dtype][1])
    return np.where(x == y, y, np.nextafter(x, y))


def next_after_operation():
    def call(world, a, b, dtype):
        return world.make("lxla_binary", constants.BINARY_NEXT_AFTER, a, b)

    def cases(dtype):
        return [Case(list(two_samples(dtype)), {"dtype": dtype})]

    return Operation("next_after", "float", call, next_after, cases)


@functools.cache
def moderate(name):
    """Returns numbers for which exponentials do not overflow, and edge values."""
    return np.concatenate([edges(name), np.linspace(-12, 12, 1201).astype(DTYPES[name][1])])


def function_of_one(family_, name, takes, reference_):
    def call(world, x):
        return world.make("lxla_" + family_.lower(), family(family_)[name], x)

    def cases(dtype):
        if kind(dtype) == "complex":
            return [Case([5 * plain(dtype, (999,), 12)])]
        return [Case([moderate(dtype) if kind(dtype) == "float" else samples(dtype)])]

    # The factor that multiplies x may be denormal.
    def size(x):
        if x.dtype.kind == "c":
            return np.zeros(x.shape, x.real.dtype)
        least, _, eps = reference.limits(reference.computed_in(x))
        return np.abs(x) * least / eps

    return Operation(
        name, takes, call, reference_, cases, scale=size if name in ("gelu_tanh", "silu", "mish") else None
    )


def error_functions():
    yield function_of_one("SPECIAL", "erf", "float", exact.erf)
    yield function_of_one("SPECIAL", "erfc", "float", exact.erfc)
    yield function_of_one("SPECIAL", "normal_cdf", "float", exact.normal_below)


def circular_functions():
    yield unary("sinh", "float complex", np.sinh)
    yield unary("cosh", "float complex", np.cosh)
    yield unary("asin", "float complex", np.arcsin)
    yield unary("acos", "float complex", np.arccos)
    yield unary("atan", "float complex", np.arctan)
    yield unary("asinh", "float complex", np.arcsinh)
    yield unary("acosh", "float complex", np.arccosh)
    yield unary("atanh", "float complex", np.arctanh)


def functions():
    made = [
        unary("lgamma", "float", lgamma),
        unary("digamma", "float", digamma),
        unary("erf_inv", "float", erf_inv),
        unary("bessel_i1e", "float", bessel_i1e),
        unary("bessel_i0e", "float", bessel_i0e),
        unary("trigamma", "float", trigamma),
    ]
    scales = {"lgamma": lgamma_scale, "digamma": digamma_scale}
    for operation in made:
        operation.scale = scales.get(operation.name)
    return [*circular_functions(), *made, *error_functions(), next_after_operation()]
