"""JAX's counterparts of the operations of ops_test.py, for derivatives_jax_test.py: functions of JAX's arrays and of
the cases' further arguments. A composed operation that JAX lacks is written in jax.numpy, as its definition has it."""

import math

import jax
import jax.numpy as jnp
import numpy as np
from derivatives_jax_indexing import INDEXING, ORDERS, near
from derivatives_jax_linalg import FURTHER, SYSTEMS
from jax import lax, nn

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_default_matmul_precision", "highest")


# Elementwise operations.

UNARY = {
    "negate": jnp.negative,
    "abs": jnp.abs,
    "sign": jnp.sign,
    "exponential": jnp.exp,
    "exponential_minus_one": jnp.expm1,
    "log": jnp.log,
    "log_plus_one": jnp.log1p,
    "logistic": lax.logistic,
    "tanh": jnp.tanh,
    "sqrt": jnp.sqrt,
    "rsqrt": lax.rsqrt,
    "cbrt": jnp.cbrt,
    "sine": jnp.sin,
    "cosine": jnp.cos,
    "tan": jnp.tan,
    "floor": jnp.floor,
    "ceil": jnp.ceil,
    "round_nearest_even": lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN),
    "round_nearest_afz": lambda x: lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO),
    "trunc": jnp.trunc,
    "log2": jnp.log2,
    "log10": jnp.log10,
    "conj": jnp.conj,
    "real": jnp.real,
    "imag": jnp.imag,
    "sinh": jnp.sinh,
    "cosh": jnp.cosh,
    "asin": jnp.arcsin,
    "acos": jnp.arccos,
    "atan": jnp.arctan,
    "asinh": jnp.arcsinh,
    "acosh": jnp.arccosh,
    "atanh": jnp.arctanh,
    "lgamma": lax.lgamma,
    "digamma": lax.digamma,
    "trigamma": lambda x: lax.polygamma(jnp.ones_like(x), x),
    "erf_inv": lax.erf_inv,
    "bessel_i0e": lax.bessel_i0e,
    "bessel_i1e": lax.bessel_i1e,
    "relu": nn.relu,
    "gelu": lambda x: nn.gelu(x, approximate=False),
    "gelu_tanh": lambda x: nn.gelu(x, approximate=True),
    "silu": nn.silu,
    "relu6": nn.relu6,
    "elu": nn.elu,
    "selu": nn.selu,
    "softplus": nn.softplus,
    "mish": nn.mish,
    "log_sigmoid": nn.log_sigmoid,
    "hard_sigmoid": nn.hard_sigmoid,
    "hard_swish": nn.hard_swish,
    "erf": lax.erf,
    "erfc": lax.erfc,
    "normal_cdf": lambda x: lax.erfc(-x * math.sqrt(0.5)) / 2,
}

BINARY = {
    "add": jnp.add,
    "subtract": jnp.subtract,
    "multiply": jnp.multiply,
    "divide": jnp.divide,
    "remainder": jnp.fmod,
    "power": jnp.power,
    "maximum": jnp.maximum,
    "minimum": jnp.minimum,
    "atan2": jnp.arctan2,
    "floor_divide": jnp.floor_divide,
    "modulo": jnp.remainder,
    "copysign": jnp.copysign,
    "hypot": jnp.hypot,
    "logaddexp": jnp.logaddexp,
}


def with_scalars(rows):
    """Returns the functions of a tensor and a scalar, which is a constant."""
    for name, function in rows.items():
        yield f"{name} scalar", lambda x, value, f=function: f(x, jnp.full_like(x, value))
        yield f"scalar {name}", lambda x, value, f=function: f(jnp.full_like(x, value), x)


def clamp(low, x, high):
    return jnp.minimum(jnp.maximum(x, low), high)


def clamp_with_scalars(x, min, max):
    x = x if min is None else jnp.maximum(x, jnp.full_like(x, min))
    return x if max is None else jnp.minimum(x, jnp.full_like(x, max))


def select_with_scalars(pred, *arrays, on_true, on_false):
    arrays = iter(arrays)
    a, b = (next(arrays) if scalar is None else scalar for scalar in (on_true, on_false))
    return jnp.where(pred, a, b)


ELEMENTWISE = {
    "select": jnp.where,
    "polygamma": lambda n, x, dtype: lax.polygamma(n.astype(x.dtype), x),
    "zeta": lambda s, q, dtype: lax.zeta(s.astype(q.dtype), q),
    "igamma": lambda a, x, dtype: lax.igamma(a, x),
    "igammac": lambda a, x, dtype: lax.igammac(a, x),
    "convert": lambda x, to: x.astype(to),
    "clamp": clamp,
    "complex": lambda re, im: lax.complex(*jnp.broadcast_arrays(re, im)),
    "reduce_precision": lambda x, of, exponent, mantissa: lax.reduce_precision(x, exponent, mantissa),
    "optimization_barrier": lambda *x, result: lax.optimization_barrier(x)[result],
    "clamp_with_scalars": clamp_with_scalars,
    "select_with_scalars": select_with_scalars,
}


# Shapes and places.


def pad(x, value, low, high, interior):
    return lax.pad(x, value, [*zip(low, high, interior or [0] * x.ndim)])


def clamped(at, x, sizes):
    """Returns starts within the array, as StableHLO has them; JAX counts negative ones from the end."""
    return [min(max(i, 0), dim - size) for i, dim, size in zip(at, x.shape, sizes)]


def slices(starts, limits, strides=None):
    return tuple(slice(*each) for each in zip(starts, limits, strides or [1] * len(starts)))


def slice_axis(x, axis, at):
    at = range(x.shape[axis])[slice(*at)]
    return jnp.take(x, np.array(at, np.int64), axis)


def held(k):
    return min(max(k, -99), 99)


SHAPES = {
    "reshape": lambda x, dims: jnp.reshape(x, dims),
    "broadcast_to": lambda x, dims: jnp.broadcast_to(x, dims),
    "transpose": lambda x, perm: jnp.transpose(x, perm),
    "slice": lambda x, starts, limits, strides: lax.slice(x, starts, limits, strides),
    "concatenate": lambda *x, axis: jnp.concatenate(x, axis),
    "dynamic_slice": lambda x, at, sizes: lax.dynamic_slice(x, clamped(at, x, sizes), sizes),
    "dynamic_update_slice": lambda x, part, at: lax.dynamic_update_slice(x, part, clamped(at, x, part.shape)),
    "take": lambda x, at, axis: jnp.take(x, near(at, x.shape[axis]), axis, mode="clip"),
    "pad": pad,
    "pad_with_scalar": lambda x, value, **how: pad(x, jnp.asarray(value, x.dtype), **how),
    "squeeze": lambda x, axes: jnp.squeeze(x, tuple(axes)),
    "expand_dims": lambda x, axes: jnp.expand_dims(x, tuple(axes)),
    "flip": lambda x, axes: jnp.flip(x, tuple(axes)),
    "stack": lambda *x, axis: jnp.stack(x, axis),
    "split": lambda x, sizes, axis, part: jnp.split(x, np.cumsum(sizes)[:-1], axis)[part],
    "slice_axis": slice_axis,
    "roll": lambda x, shifts, axes: jnp.roll(x, [s % max(x.shape[a], 1) for s, a in zip(shifts, axes)], axes),
    "tile": lambda x, repeats: jnp.tile(x, repeats),
    "repeat": lambda x, repeats, axis: jnp.repeat(x, repeats, axis),
    "tril": lambda x, k: jnp.tril(x, held(k)),
    "triu": lambda x, k: jnp.triu(x, held(k)),
    "slice_assign": lambda x, values, starts, limits, strides: x.at[slices(starts, limits, strides)].set(values),
}


# Reductions, and functions over axes.


def over(function, **more):
    return lambda x, axes, keep: function(x, axis=tuple(axes), keepdims=bool(keep), **more)


def spread(function):
    def of(x, axes, correction, keep):
        return function(x, tuple(axes), correction=correction, keepdims=bool(keep))

    return of


def norm(x, order, axes, keep):
    axes = [axis % x.ndim for axis in axes] or [*range(x.ndim)]
    rest = [dim for axis, dim in enumerate(x.shape) if axis not in axes]
    row = jnp.moveaxis(x, axes, range(-len(axes), 0)).reshape(*rest, math.prod(x.shape[axis] for axis in axes))
    if row.shape[-1] == 0 and math.isinf(order):
        made = jnp.full(rest, 0.0 if order > 0 else jnp.inf, jnp.real(x).dtype)
    else:
        made = jnp.linalg.norm(row, order, -1)
    return jnp.expand_dims(made, tuple(axes)) if keep else made


def layer_norm(x, *rest, axes, epsilon, given="so"):
    rest = iter(rest)
    scale, offset = (next(rest) if which in given else None for which in "so")
    axes = tuple(axes)
    mean = jnp.mean(x, axes, keepdims=True)
    made = (x - mean) * lax.rsqrt(jnp.mean((x - mean) ** 2, axes, keepdims=True) + epsilon)
    made = made if scale is None else made * scale
    return made if offset is None else made + offset


def layer_norm_with_statistics(x, *rest, result, axes, epsilon, given="so"):
    mean = jnp.mean(x, tuple(axes), keepdims=True)
    inverse = lax.rsqrt(jnp.mean((x - mean) ** 2, tuple(axes), keepdims=True) + epsilon)
    return (layer_norm(x, *rest, axes=axes, epsilon=epsilon, given=given), mean, inverse)[result]


def attention(query, key, value, *rest, options):
    is_flat = all(x.ndim == 2 for x in (query, key, value))
    query, key, value = (x if x.ndim > 2 else x[None] for x in (query, key, value))
    heads = max(x.shape[-3] for x in (query, key, value))
    query, key, value = (jnp.repeat(x, heads // max(x.shape[-3], 1), -3) for x in (query, key, value))
    scores = query @ jnp.swapaxes(key, -1, -2) * (options.get("scale") or 1 / math.sqrt(query.shape[-1]))
    if rest:
        scores = jnp.where(rest[0], scores, -jnp.inf) if rest[0].dtype == bool else scores + rest[0]
    if options.get("causal") == 1:
        scores = jnp.where(jnp.tri(*scores.shape[-2:], dtype=bool), scores, -jnp.inf)
    is_masked = rest or options.get("causal") == 1
    is_empty = is_masked and jnp.max(scores, -1, keepdims=True, initial=-jnp.inf) == -jnp.inf
    scores = jnp.where(is_empty, 0, scores)
    made = jnp.where(is_empty, 0, nn.softmax(scores, -1)) @ value
    return made[0] if is_flat else made


def rms_norm(x, *rest, epsilon):
    made = x * lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + epsilon)
    return made * rest[0] if rest else made


def rotary_embedding(x, cosines, sines, interleaved):
    half = x.shape[-1] // 2
    a, b = (x[..., 0::2], x[..., 1::2]) if interleaved else (x[..., :half], x[..., half:])
    turned = [a * cosines - b * sines, b * cosines + a * sines]
    return jnp.stack(turned, -1).reshape(x.shape) if interleaved else jnp.concatenate(turned, -1)


def ragged_dot(a, b, sizes):
    ends = jnp.cumsum(sizes)
    starts, rows = ends - sizes, jnp.arange(len(a))[None]
    own = (rows >= starts[:, None]) & (rows < ends[:, None])
    made = jnp.zeros((len(a), b.shape[2]), jnp.result_type(a, b))
    for is_own, matrix in zip(own[:, :, None], b):
        # Masks the rows, so that infinities and NaN stay in their group, also in derivatives.
        made = jnp.where(is_own, jnp.where(is_own, a, 0) @ matrix, made)
    return made


def batch_norm(function):
    """Makes a function whose arrays of the shape of x have the features last."""

    def of(x, *numbers, epsilon, axis, result=0):
        moved = [jnp.moveaxis(y, axis, -1) if y.shape == x.shape and x.ndim > 1 else y for y in (x, *numbers)]
        made = function(*moved, epsilon)[result]
        return made if result else jnp.moveaxis(made, -1, axis)

    return of


def batch_norm_training(x, scale, offset, epsilon):
    others = tuple(range(x.ndim - 1))
    mean = jnp.mean(x, others)
    variance = jnp.mean((x - mean) ** 2, others)
    return (x - mean) * lax.rsqrt(variance + epsilon) * scale + offset, mean, variance


def batch_norm_inference(x, scale, offset, mean, variance, epsilon):
    return ((x - mean) * lax.rsqrt(variance + epsilon) * scale + offset,)


def batch_norm_grad(x, scale, mean, variance, grad, epsilon):
    others = tuple(range(x.ndim - 1))
    inverse = lax.rsqrt(variance + epsilon)
    normal, count = (x - mean) * inverse, max(math.prod(x.shape[:-1]), 1)
    offset, along = jnp.sum(grad, others), jnp.sum(grad * normal, others)
    return (grad - offset / count - normal * along / count) * scale * inverse, along, offset


def reduce_with(reduction, combine):
    """The initial value is the identity, which counts any number of times."""
    return lambda x, start, axes: combine(reduction(x, axis=tuple(axes)), start) if axes else x


REDUCTIONS = {
    "sum": over(jnp.sum),
    "product": over(jnp.prod),
    "max": over(jnp.max, initial=-np.inf),
    "min": over(jnp.min, initial=np.inf),
    "norm": norm,
    "mean": over(jnp.mean),
    "logsumexp": over(nn.logsumexp),
    "variance": spread(jnp.var),
    "standard_deviation": spread(jnp.std),
    "softmax": lambda x, axis: nn.softmax(x, axis),
    "log_softmax": lambda x, axis: nn.log_softmax(x, axis),
    "layer_norm": layer_norm,
    "layer_norm_with_statistics": layer_norm_with_statistics,
    "attention": attention,
    "rms_norm": rms_norm,
    "rotary_embedding": rotary_embedding,
    "cumulative_logaddexp": lambda x, axis, reverse: lax.cumlogsumexp(x, axis % x.ndim, bool(reverse)),
    "batch_norm_training": batch_norm(batch_norm_training),
    "batch_norm_inference": batch_norm(batch_norm_inference),
    "batch_norm_grad": batch_norm(batch_norm_grad),
    "reduce_with add": reduce_with(jnp.sum, jnp.add),
    "reduce_with multiply": reduce_with(jnp.prod, jnp.multiply),
    "reduce_with max": reduce_with(lambda x, axis: jnp.max(x, axis, initial=-np.inf), jnp.maximum),
    "reduce_with min": reduce_with(lambda x, axis: jnp.min(x, axis, initial=np.inf), jnp.minimum),
    "cumulative sum": lambda x, axis, reverse: lax.cumsum(x, axis % x.ndim, bool(reverse)),
    "cumulative product": lambda x, axis, reverse: lax.cumprod(x, axis % x.ndim, bool(reverse)),
    "cumulative max": lambda x, axis, reverse: lax.cummax(x, axis % x.ndim, bool(reverse)),
    "cumulative min": lambda x, axis, reverse: lax.cummin(x, axis % x.ndim, bool(reverse)),
}


# Windows.


def window_options(x, options):
    of = lambda name, default: tuple(options.get(name, [default] * x.ndim))
    edges = [*zip(of("low", 0), of("high", 0), (gap - 1 for gap in of("base_dilations", 1)))]
    return of("window_dimensions", 1), of("strides", 1), edges, of("window_dilations", 1)


def reduce_window(combine, least):
    """Reduces windows, and combines them with the initial value, of which JAX takes the identity alone."""

    def of(x, start, options):
        sizes, strides, edges, dilations = window_options(x, options)
        base, edges = [gap + 1 for *_, gap in edges], [edge[:2] for edge in edges]
        made = lax.reduce_window(x, x.dtype.type(least), combine, sizes, strides, edges, base, dilations)
        return combine(made, start)

    return of


def select_and_scatter(last):
    """The vjp of a maximum over windows, of whose equal elements JAX selects the first; in reverse order, the last."""

    def of(x, source, start, options):
        sizes, strides, edges, _ = window_options(x, options)
        edges = [edge[:2] for edge in edges]
        if last:
            x, source = jnp.flip(x), jnp.flip(source)
            reach = [(n - 1) * stride + size for n, stride, size in zip(source.shape, strides, sizes)]
            edges = [(most - low - dim, low) for most, (low, _), dim in zip(reach, edges, x.shape)]
        largest = lambda x: lax.reduce_window(x, x.dtype.type(-np.inf), lax.max, sizes, strides, edges)
        made = jax.vjp(largest, x)[1](source)[0]
        return (jnp.flip(made) if last else made) + start

    return of


def convolution(a, b, options, dtype):
    rank = a.ndim - 2
    of = lambda name, default: options.get(name, [default] * rank)
    specs = [tuple(options.get(f"{name}_dimensions", range(rank + 2))) for name in ("lhs", "rhs", "out")]
    turned = [axis for axis, back in zip(specs[1][2:], of("window_reversal", 0)) if back]
    groups = {name: options.get(name, 1) for name in ("feature_group_count", "batch_group_count")}
    places = of("window_strides", 1), [*zip(of("padding_low", 0), of("padding_high", 0))]
    dilations = of("lhs_dilation", 1), of("rhs_dilation", 1)
    return lax.conv_general_dilated(
        a, lax.rev(b, turned), *places, *dilations, lax.ConvDimensionNumbers(*specs), **groups
    )


WINDOWS = {
    "convolution": convolution,
    "reduce_window add": reduce_window(lax.add, 0),
    "reduce_window max": reduce_window(lax.max, -np.inf),
    "reduce_window min": reduce_window(lax.min, np.inf),
    "select_and_scatter GE": select_and_scatter(False),
    "select_and_scatter GT": select_and_scatter(True),
}


# Products and linear algebra.


def cholesky(a, lower):
    """The operation reads one triangle, and the real part of the diagonal."""
    own, other = (jnp.tril(a, -1), 0) if lower else (jnp.triu(a, 1), 1)
    whole = own + jnp.conj(own.swapaxes(-1, -2)) + jnp.real(a) * jnp.eye(a.shape[-1], dtype=a.dtype)
    made = lax.linalg.cholesky(whole, symmetrize_input=False)
    return jnp.conj(made.swapaxes(-1, -2)) if other else made


def triangular_solve(a, b, how):
    left, lower, unit, transposed = how
    options = {"left_side": bool(left), "lower": bool(lower), "unit_diagonal": bool(unit)}
    return lax.linalg.triangular_solve(a, b, transpose_a=transposed != 1, conjugate_a=transposed == 3, **options)


def fft(kind):
    def of(x, lengths):
        if x.size == 0:
            last = lengths[-1] // 2 + 1 if kind == "RFFT" else lengths[-1]
            dtype = jnp.real(x).dtype if kind == "IRFFT" else jnp.result_type(x, jnp.complex64)
            return jnp.zeros((*x.shape[:-1], last), dtype)
        return lax.fft(x, kind, tuple(lengths))

    return of


PRODUCTS = {
    "matmul": lambda a, b, transposed=False: jnp.matmul(a.T if transposed else a, b),
    "dot_general": lambda a, b, batching, contracting, dtype: lax.dot_general(
        a, b, [[[axis % x.ndim for axis in axes] for x, axes in zip((a, b), pair)] for pair in (contracting, batching)]
    ),
    "ragged_dot": ragged_dot,
    "einsum": lambda *arrays, equation: jnp.einsum(equation.replace(" ", ""), *arrays),
    "cholesky": cholesky,
    "triangular_solve": triangular_solve,
    **{f"fft {kind}": fft(kind) for kind in ("FFT", "IFFT", "RFFT", "IRFFT")},
}


# Control flow.

MOVES = [lambda x: jnp.roll(x, 1, 0), lambda x: jnp.flip(x, 0)]


def repeat(x, times):
    return lax.while_loop(lambda state: state[0] < times, lambda state: (state[0] + 1, MOVES[0](state[1])), (0, x))[1]


def scan(start, xs, reverse, result):
    return lax.scan(lambda carry, x: (x, carry), start, xs, reverse=bool(reverse))[result]


CONTROL = {
    "call": lambda x, which: jax.jit(MOVES[which])(x),
    "cond": lambda x, pred: lax.cond(jnp.asarray(bool(pred)), *MOVES, x),
    "case": lambda x, index, dtype: lax.switch(jnp.asarray(0 if index == 0 else 1), MOVES, x),
    "while": repeat,
    "scan": scan,
}

FUNCTIONS = {**UNARY, **BINARY, **dict(with_scalars(BINARY)), **ELEMENTWISE, **SHAPES, **REDUCTIONS, **WINDOWS}
FUNCTIONS |= {**PRODUCTS, **SYSTEMS, **FURTHER, **INDEXING, **ORDERS, **CONTROL}
