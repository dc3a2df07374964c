"""Where derivatives differ from JAX's on purpose, and what derivatives_jax_test.py does not compare.

CONVENTIONS has functions whose derivatives by JAX are those that the library documents (docs/derivatives.md), with the
operands at which they differ from those of JAX's counterpart, and how. All others are the same: derivatives_jax_test.py
checks it at ordinary operands."""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
from derivatives_jax_functions import FUNCTIONS, UNARY, norm, over, window_options, with_scalars
from derivatives_jax_indexing import index_of, order
from jax import lax, nn
from jax.custom_derivatives import SymbolicZero
from jax.lax import stop_gradient

# Elementwise functions, by their slopes.


def with_slopes(function, *slopes):
    """Returns a function with these partial derivatives, which are functions of the operands and of the result."""

    @jax.custom_jvp
    def of(*operands):
        return function(*operands)

    @functools.partial(of.defjvp, symbolic_zeros=True)
    def tangent(operands, tangents):
        result = of(*operands)
        terms = [slope(*operands, result) * t for slope, t in zip(slopes, tangents) if not isinstance(t, SymbolicZero)]
        return result, sum(terms, jnp.zeros_like(result))

    return lambda *operands: of(*jnp.broadcast_arrays(*operands))


def sign(x):
    if not jnp.iscomplexobj(x):
        return jnp.sign(x)
    safe = jnp.where(x == 0, 1, x)
    return jnp.where(x == 0, 0, safe / jnp.sqrt(jnp.real(safe) ** 2 + jnp.imag(safe) ** 2))


@jax.custom_jvp
def absolute(x):
    return jnp.abs(x)


@absolute.defjvp
def tangent_of_absolute(operands, tangents):
    return absolute(*operands), jnp.real(jnp.conj(sign(*operands)) * tangents[0])


def power_of(a, b):
    """JAX's complex powers of 0 are NaN."""
    known = (a == 0) & (jnp.real(b) > 0)
    return jnp.where(known, 0, jnp.power(jnp.where(known, 1, a), b)) if jnp.iscomplexobj(a) else jnp.power(a, b)


def power_by_base(a, b, result):
    singular = (b == 0) & ~jnp.isfinite(1 / a)
    return jnp.where(singular, 0, b * power(jnp.where(singular, 1, a), b - 1))


power = with_slopes(power_of, power_by_base, lambda a, b, result: jnp.log(jnp.where(a == 0, 1, a)) * result)


def share(own, other, result):
    """Returns e^own / (e^own + e^other); at an infinite result, the share in the maximum."""
    at_infinity = jnp.where(own == result, jnp.where(other == result, 0.5, 1), 0)
    if jnp.iscomplexobj(own):
        found = jnp.exp(own - jnp.where(jnp.isinf(result), own, result))
    else:
        found = nn.sigmoid(own - jnp.where(jnp.isinf(result), own, other))
    return jnp.where(jnp.isinf(result), at_infinity, found)


divide = with_slopes(jnp.divide, lambda a, b, result: divide(1, b), lambda a, b, result: -divide(result, b))


def over_length(own, length):
    return jnp.where(length == 0, 0, divide(own, jnp.where(length == 0, 1, length)))


def held(function, low=-1000):
    """The library's functions are constant from there down, where the slope has vanished."""
    return lambda x: function(jnp.where(x < low, low, x))


def gelu_tanh(x):
    """JAX's 1 + tanh(u) cancels; it is twice the logistic function of 2 u."""
    return x * nn.sigmoid(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))


def bessel_i1e(x):
    """JAX's slope is 1/2 of NaN, and its derivative cancels near 0: this is a series there."""
    is_near = jnp.abs(x) < 0.5
    near = jnp.where(is_near, x, 0)
    series = sum((near * near / 4) ** k / (math.factorial(k) * math.factorial(k + 1)) for k in range(8))
    made = jnp.exp(-near * jnp.sign(near)) * near / 2 * series
    return jnp.where(is_near, made, lax.bessel_i1e(jnp.where(is_near, 1, x))) * jnp.where(jnp.isnan(x), jnp.nan, 1)


def relu(x):
    return jnp.where(x <= 0, 0, x)


def hard_sigmoid(x):
    return jnp.minimum(jnp.maximum(x + 3, 0), 6) / 6


def hard_swish(x):
    x = jnp.maximum(x, -4)
    return x * hard_sigmoid(x)


def positive_zeta(s, q):
    """JAX's is NaN at infinity: this is the same, terms and the Euler-Maclaurin formula."""
    is_far, count, series = q > 1e3, 16, 0
    a = jnp.where(is_far, q, q + count)
    for k in reversed(range(10)):
        series = BERNOULLI[k] / math.factorial(2 * k + 2) + series * ((s + 2 * k + 1) / a * ((s + 2 * k + 2) / a))
    terms = sum((jnp.where(is_far, 1, q) + k) ** -s for k in reversed(range(count)))
    return a ** (1 - s) * (1 / (s - 1) + (0.5 + s / a * series) / a) + jnp.where(is_far, 0, terms)


BERNOULLI = [1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330]


def value_of_zeta(s, q):
    """JAX's is wrong for negative numbers, and has no sign at 0."""
    is_odd, part = s % 2 == 1, -q - jnp.floor(-q)
    above = positive_zeta(s, jnp.where(q < 0, 1 - part, q))
    below = positive_zeta(s, part) - positive_zeta(s, 1 - q)
    negative = jnp.where(part == 0, jnp.where(is_odd, jnp.nan, jnp.inf), above + jnp.where(is_odd, -below, below))
    at_0 = jnp.where(is_odd, jnp.copysign(jnp.inf, q), jnp.inf)
    return jnp.where(q == 0, at_0, jnp.where(q < 0, negative, above))


zeta = with_slopes(value_of_zeta, lambda s, q, result: jnp.zeros_like(q), lambda s, q, result: -s * zeta(s + 1, q))


def value_of_digamma(x):
    """JAX's is NaN at 0."""
    return jnp.where(x == 0, -jnp.copysign(jnp.inf, x), lax.digamma(x))


FACTORIALS = [float(math.factorial(n)) for n in range(50)]


def value_of_polygamma(n, x):
    size = jnp.asarray(FACTORIALS, x.dtype)[n.astype(int)] * zeta(n + 1, x)
    return jnp.where(n == 0, value_of_digamma(x), jnp.where(n % 2 == 1, size, -size))


polygamma = with_slopes(
    value_of_polygamma, lambda n, x, result: jnp.zeros_like(x), lambda n, x, result: polygamma(n + 1, x)
)
trigamma = with_slopes(lambda x: zeta(jnp.full_like(x, 2), x), lambda x, result: -2 * zeta(jnp.full_like(x, 3), x))
digamma = with_slopes(value_of_digamma, lambda x, result: trigamma(x))


def exponential_integral(x):
    """Returns E1: JAX's takes minutes to compile. Up to 2 by its power series, beyond by its continued fraction."""
    near, far = jnp.where(x < 2, x, 1), jnp.where(x < 2, 2, x)

    def term(k, state):
        power, total = state
        power = power * -near / k
        return power, total + power / k

    def step(i, rest):
        k = 200 - i
        return far + 2 * k - 1 - k * k / rest

    _, total = lax.fori_loop(1, 40, term, (jnp.ones_like(x), jnp.zeros_like(x)))
    rest = lax.fori_loop(0, 200, step, far + 401)
    return jnp.where(x < 2, -np.euler_gamma - jnp.log(near) - total, jnp.exp(-far) / rest)


def igamma_by_a(a, x, result):
    """JAX's is NaN at a = 0 and at infinity."""
    made = lax.igamma_grad_a(jnp.where((a == 0) | jnp.isinf(a), 1, a), jnp.where(jnp.isinf(x), 1, x))
    made = jnp.where(a == 0, -exponential_integral(jnp.where(x > 0, x, 1)), made)
    at_end = ((x == 0) & (a > 0)) | (jnp.isinf(a) ^ jnp.isinf(x))
    is_open = (a < 0) | (x < 0) | ((a == 0) & (x == 0)) | (jnp.isinf(a) & jnp.isinf(x)) | jnp.isnan(a + x)
    return jnp.where(is_open, jnp.nan, jnp.where(at_end, 0, made))


def igamma_by_x(a, x, result):
    """The density: JAX's is NaN at infinity, and at x = 0 for a = 1."""
    at_end, is_known = jnp.isinf(a) | jnp.isinf(x), (a >= 0) & (x >= 0)
    base = jnp.where(at_end | ((x == 0) & (a == 1)), 1, x)
    power = jnp.where(at_end, 1, a - 1) * jnp.log(base)
    density = jnp.exp(power - base * (x != 0) - lax.lgamma(jnp.where(at_end, 1, a)))
    return jnp.where(is_known, jnp.where(at_end, 0, density), jnp.nan)


def igamma(a, x, dtype):
    return with_slopes(lax.igamma, igamma_by_a, igamma_by_x)(a, x)


def igammac(a, x, dtype):
    return with_slopes(lax.igammac, *(lambda *of, f=f: -f(*of) for f in (igamma_by_a, igamma_by_x)))(a, x)


# Extremes.


def extreme(reduce):
    """Elements share that are equal to the result, or NaN."""

    def of(x, axis, keepdims=False):
        best = stop_gradient(reduce(x, axis=axis, keepdims=True))
        ties = (x == best) | jnp.isnan(x)
        count = jnp.maximum(jnp.sum(ties, axis, keepdims=keepdims), 1)
        share = jnp.sum(jnp.where(ties, x, 0), axis, keepdims=keepdims) / count
        return share if x.size else best.reshape(share.shape)

    return of


largest = extreme(functools.partial(jnp.max, initial=-np.inf))
smallest = extreme(functools.partial(jnp.min, initial=np.inf))


def norm_of(x, order, axes, keep):
    """As JAX's, of the library's absolute values and extremes."""
    over = {"axis": tuple(axes) if axes else tuple(range(x.ndim)), "keepdims": bool(keep)}
    if order == 1:
        return jnp.sum(absolute(x), **over)
    if np.isinf(order):
        return jnp.maximum(largest(absolute(x), **over), 0) if order > 0 else smallest(absolute(x), **over)
    if order in (0, 2):
        return norm(x, order, axes, keep)
    return jnp.sum(absolute(x) ** order, **over) ** (1 / order)


def windows_of(shape, sizes, strides, edges, dilations):
    """Returns the flat indices of the elements of each window, -1 for places outside."""
    at = np.arange(int(np.prod(shape))).reshape(shape)
    for axis, (size, stride, (low, high, gap), dilation) in enumerate(zip(sizes, strides, edges, dilations)):
        dim = at.shape[axis]
        line = np.full((dim - 1) * (gap + 1) + 1 if dim else 0, -1)
        line[:: gap + 1] = np.arange(dim)
        around = [np.full(max(edge, 0), -1) for edge in (low, high)]
        line = np.concatenate([around[0], line[max(-low, 0) : len(line) - max(-high, 0)], around[1]])
        places = np.arange(0, max(len(line) - (size - 1) * dilation, 0), stride)[:, None] + np.arange(size) * dilation
        # The last element, of index -1, stands for the places outside.
        edge = np.full([1 if i == axis else n for i, n in enumerate(at.shape)], -1)
        at = np.moveaxis(np.take(np.concatenate([at, edge], axis), line[places], axis), axis + 1, -1)
    return at.reshape(*at.shape[: len(shape)], -1)


def selected(x, at, stays):
    """Returns the flat index of the element of each window that is selected: an element stays against a later one."""
    x, best = x.ravel(), at[..., 0]
    for i in range(1, at.shape[-1]):
        next_ = at[..., i]
        keeps = (next_ < 0) | (best >= 0) & stays(x[best], x[next_])
        best = jnp.where(keeps, best, next_)
    return best


def first_of(more):
    """The first of the largest elements is selected, or of the smallest ones, or of NaN."""
    return lambda a, b: ~(more(b, a) | jnp.isnan(b) & ~jnp.isnan(a))


def reduce_window(more):
    def of(x, start, options):
        best = selected(x, windows_of(x.shape, *window_options(x, options)), first_of(more))
        made = jnp.where(best < 0, start, x.ravel()[best])
        return jnp.where(first_of(more)(made, start), made, start)

    return of


def cumulative(more):
    def of(x, axis, reverse):
        axis, size = axis % x.ndim, x.shape[axis]
        sizes = [size if i == axis else 1 for i in range(x.ndim)]
        edge = (0, size - 1, 0) if reverse else (size - 1, 0, 0)
        edges = [edge if i == axis else (0, 0, 0) for i in range(x.ndim)]
        best = selected(x, windows_of(x.shape, sizes, [1] * x.ndim, edges, [1] * x.ndim), first_of(more))
        return x.ravel()[best]

    return of


def cumulative_logaddexp(x, axis, reverse):
    """By doubling, where JAX's pairs are others; elements without others before them stay."""
    if jnp.iscomplexobj(x):
        return FUNCTIONS["cumulative_logaddexp"](x, axis, reverse)
    made = jnp.moveaxis(x, axis, 0)[:: -1 if reverse else 1]
    step = 1
    while step < len(made):
        made = jnp.concatenate([made[:step], PAIRS["logaddexp"][0](made[step:], made[:-step])])
        step *= 2
    return jnp.moveaxis(made[:: -1 if reverse else 1], 0, axis)


def select_and_scatter(stays):
    def of(x, source, start, options):
        best = selected(x, windows_of(x.shape, *window_options(x, options)), stays)
        return jnp.zeros(x.size, x.dtype).at[best.ravel()].add(source.ravel()).reshape(x.shape) + start

    return of


def shared(best, add, x, updates):
    """The old element and the updates share that are equal to the result, or NaN. `best` and `add` combine an array
    with updates."""
    result = stop_gradient(best(x, updates))
    reached = jax.vjp(functools.partial(add, jnp.zeros_like(x)), updates)[1](result)[0]
    ties = (x == result) | jnp.isnan(x), (updates == reached) | jnp.isnan(updates)
    count = add(*(tie.astype(x.dtype) for tie in ties))
    return add(*(jnp.where(tie, y, 0) for tie, y in zip(ties, (x, updates)))) / jnp.maximum(count, 1)


def scatter_extreme(name, add):
    def of(x, at, updates, **given):
        put = lambda name: lambda x, updates: FUNCTIONS[name](x, at, updates, **given)
        return shared(put(name), put(add), x, updates)

    return of


def index_put_extreme(name):
    def of(values, x, *at, pattern):
        put = lambda name: lambda x, values: FUNCTIONS[name](values, x, *at, pattern=pattern)
        if x.size == 0:
            return x
        wide = jnp.broadcast_to(values, x.at[index_of(at, pattern)].get().shape)
        return shared(put(name), put("index_put sum"), x, wide)

    return of


def segment_extreme(name):
    def of(x, ids, of, count):
        start = jnp.full((count, *x.shape[1:]), -jnp.inf if name == "max" else jnp.inf, x.dtype)
        at = jnp.where(ids < 0, count, ids)
        put = lambda way: lambda x, updates: getattr(x.at[at], way)(updates, mode="drop")
        return shared(put(name), put("add"), start, x) if count else x[:0]

    return of


def sort_along(x, axis, descending):
    return jnp.take_along_axis(x, order(x, axis, descending), axis)


def sqrt(x):
    if not jnp.iscomplexobj(x):
        return jnp.sqrt(x)
    return jnp.where(jnp.signbit(jnp.imag(x)), jnp.conj(jnp.sqrt(jnp.conj(x))), jnp.sqrt(x))


def inverse(name, slope):
    """A function whose derivative at complex numbers is a function of 1 - z and 1 + z."""
    sided = with_slopes(UNARY[name], lambda z, result: slope(*sides(z)))
    return lambda x: sided(x) if jnp.iscomplexobj(x) else UNARY[name](x)


def sides(z):
    return lax.complex(1 - jnp.real(z), -jnp.imag(z)), lax.complex(1 + jnp.real(z), jnp.imag(z))


def turned(slope):
    """A slope as a function of 1 - iz and 1 + iz, from the sides of z."""
    times_i = lambda z: lax.complex(-jnp.imag(z), jnp.real(z))
    return lambda left, right: slope(*sides(times_i(lax.complex(jnp.real(right) - 1, jnp.imag(right)))))


def over_roots(left, right):
    return lax.rsqrt(left) * lax.rsqrt(right)


def acosh_slope(left, right):
    return lax.rsqrt(lax.complex(-jnp.real(left), -jnp.imag(left))) * lax.rsqrt(right)


# The functions, and at which operands they differ from JAX's: how, or why. First those of two operands, of which one
# may be a scalar.
PAIRS = {
    "power": (power, "base 0 or NaN, exponent 0: 0 by the base, JAX's NaN; base 0: 0 by the exponent, JAX's at 0 NaN"),
    "copysign": (
        lambda a, b: a * stop_gradient(jnp.sign(a) * jnp.copysign(1, b)),
        "0: 0, JAX's a sign; NaN: NaN, JAX's a sign",
    ),
    "hypot": (
        with_slopes(jnp.hypot, lambda a, b, r: over_length(a, r), lambda a, b, r: over_length(b, r)),
        "the origin: 0; infinities: a / r; |a| = |b|: the second derivative, where JAX's formula has a kink",
    ),
    "logaddexp": (
        with_slopes(jnp.logaddexp, share, lambda a, b, result: share(b, a, result)),
        "large results: the logistic function of the difference, JAX's shares take over the rounding of the result; "
        "infinite results: 1, 0, or 1/2 of a tie, JAX's are not shares",
    ),
    "modulo": (
        lambda a, b: a - b * stop_gradient(jnp.floor(a / b)),
        "quotients of different signs that round to 0, as by an infinity: 0 by the divisor, JAX's 1",
    ),
}
BESIDE_CUTS = "complex branch cuts: the side of the value, JAX's the other one; large numbers: JAX's overflows"
CONVENTIONS = {
    **PAIRS,
    **{
        name: (function, PAIRS[name.replace("scalar", "").strip()][1])
        for name, function in with_scalars({name: function for name, (function, _) in PAIRS.items()})
    },
    "abs": (absolute, "0: 0, JAX's 1; NaN: NaN, JAX's -1; complex 0: second derivative 0"),
    "sign": (sign, "complex numbers: the part across, JAX's 0"),
    "sqrt": (sqrt, "complex numbers below the cut: JAX's value has the wrong sign where the imaginary part is -0"),
    "asin": (inverse("asin", over_roots), BESIDE_CUTS),
    "acos": (inverse("acos", lambda *z: -over_roots(*z)), BESIDE_CUTS),
    "asinh": (inverse("asinh", turned(over_roots)), BESIDE_CUTS),
    "acosh": (inverse("acosh", acosh_slope), "complex numbers: JAX's has the wrong sign for negative real parts"),
    "atan": (inverse("atan", turned(lambda left, right: 1 / left * (1 / right))), "complex poles: JAX's cancels"),
    "digamma": (digamma, "0: infinite, JAX's value is NaN; negative, large numbers: JAX's polygamma is wrong or NaN"),
    "trigamma": (trigamma, "as digamma"),
    "polygamma": (lambda n, x, dtype: polygamma(n.astype(x.dtype), x), "as digamma"),
    "zeta": (lambda s, q, dtype: zeta(s.astype(q.dtype), q), "JAX's has no derivative"),
    "igamma": (igamma, "zeros and infinities: JAX's are NaN"),
    "igammac": (igammac, "as igamma"),
    "lgamma": (with_slopes(lax.lgamma, lambda x, result: digamma(x)), "as digamma"),
    "bessel_i1e": (bessel_i1e, "NaN: NaN, JAX's 1/2; near 0: the second derivative, which cancels in JAX's"),
    "relu": (relu, "NaN: 1, JAX's 0"),
    "relu6": (lambda x: jnp.where(x >= 6, 6, relu(x)), "NaN: 1, JAX's 0"),
    "gelu": (held(UNARY["gelu"]), "-infinity: 0, JAX's NaN"),
    "gelu_tanh": (held(gelu_tanh), "-infinity: 0, JAX's NaN; below -5: JAX's cancels"),
    "silu": (held(UNARY["silu"]), "-infinity: 0, JAX's NaN"),
    "mish": (held(UNARY["mish"]), "-infinity: 0, JAX's NaN"),
    "hard_sigmoid": (hard_sigmoid, "-3 and 3: half of the slope, JAX's 0"),
    "hard_swish": (hard_swish, "-3 and 3: half of the slope, JAX's 0; infinity: NaN, JAX's vjp 1"),
    "reduce_precision": (lambda x, **given: x, "straight-through, JAX rounds tangents"),
    "max": (over(largest), "NaN: they share, JAX's jvp is NaN and its vjp 0; no elements: 0, JAX's NaN"),
    "min": (over(smallest), "as max"),
    "reduce_with max": (lambda x, start, axes: jnp.maximum(largest(x, tuple(axes)), start) if axes else x, "as max"),
    "reduce_with min": (lambda x, start, axes: jnp.minimum(smallest(x, tuple(axes)), start) if axes else x, "as max"),
    "norm": (norm_of, "as abs and max"),
    "reduce_window max": (reduce_window(jnp.greater), "windows with NaN: the first NaN, JAX's are other elements"),
    "reduce_window min": (reduce_window(jnp.less), "as reduce_window max"),
    "cumulative max": (cumulative(jnp.greater), "ties: the first, JAX's share; NaN: the first"),
    "cumulative min": (cumulative(jnp.less), "as cumulative max"),
    "cumulative_logaddexp": (cumulative_logaddexp, "infinite results: as logaddexp, of other pairs than JAX's"),
    "select_and_scatter GE": (select_and_scatter(jnp.greater_equal), "windows with NaN: by the comparison alone"),
    "select_and_scatter GT": (select_and_scatter(jnp.greater), "as select_and_scatter GE"),
    "sort_along": (sort_along, "ties: in their order, JAX reverses it if descending; complex NaN: as NumPy sorts them"),
}
for extreme_of in ("max", "min"):
    reason = "NaN: they share, JAX's old NaN that an update reaches has 0"
    for name, add in {"scatter": "scatter add", "scatter_along": "scatter_along sum"}.items():
        CONVENTIONS[f"{name} {extreme_of}"] = (scatter_extreme(f"{name} {extreme_of}", add), reason)
    CONVENTIONS[f"segment_reduce {extreme_of}"] = (segment_extreme(extreme_of), "NaN: they share, JAX's 0")
    CONVENTIONS[f"index_put {extreme_of}"] = (index_put_extreme(f"index_put {extreme_of}"), reason)
# Conventions that differ at ordinary operands too.
EVERYWHERE = ["sign", "reduce_precision", "zeta", "acosh"]

# Operations that are not compared, by the reason.
NOT_COMPARED = {
    "results of integers or preds": """not, popcnt, count_leading_zeros, is_finite, is_nan, is_inf, signbit, all, any,
        argsort, argmax, argmin, nonzero, searchsorted, one_hot, compare_scalar, cumulative all, cumulative any,
        segment_reduce all, segment_reduce any, matrix_rank""",
    "creations, which read no float": """full, iota, eye, arange, linspace, full_with_scalar, arange_with_scalars,
        linspace_with_scalars, rng_bit_generator, random_bits, random_uniform, random_normal, random_split,
        random_bernoulli, random_exponential, random_gumbel, random_laplace, random_truncated_normal,
        random_categorical, random_integers, random_choice, random_poisson""",
    "of numbers with the keys of PHILOX; random_gradients_jax_test.py": "random_gamma, random_log_gamma, random_beta",
    "refused here, 0 in JAX": "bitcast_convert, bitcast_convert itself",
    "without a counterpart in JAX": """bessel_j0, bessel_j1, bessel_y0, bessel_y1, bessel_k0, bessel_k1, bessel_k0e,
        bessel_k1e, airy_ai, airy_ai_prime, airy_bi, airy_bi_prime, erfcx, ldl, ldl_solve""",
    "refused here, without a counterpart in JAX": "next_after, scatter together, reduce_with pairs",
    "refused in both: by its first operand": "igamma_grad_a",
    "refused in both: matrices of no unique form": "schur",
    "refused in both: products at indices that may be equal, and in overlapping windows": """scatter multiply,
        scatter_along product, index_put product, segment_reduce product, reduce_window multiply""",
}
WITHOUT = {name: reason for reason, names in NOT_COMPARED.items() for name in " ".join(names.split()).split(", ")}
for name in ("and", "or", "xor", "shift_left", "shift_right_arithmetic", "shift_right_logical"):
    WITHOUT |= dict.fromkeys([name, f"{name} scalar", f"scalar {name}"], "results of integers or preds")
for name in ("EQ", "NE", "GE", "GT", "LE", "LT"):
    WITHOUT |= dict.fromkeys([f"compare {name}", f"compare_total_order {name}"], "results of integers or preds")
