"""Functions of floats, statistics and normalisations that the library makes of several operations, as ops_test.py compares
them."""

import functools

import numpy as np
import ops_reference as reference
import ops_special as exact
from ctypes_test import Tensor
from header import family
from ops_cases import Case, Operation, edges, ints, plain, samples
from ops_values import DTYPES, kind


# Functions of one float.


@functools.cache
def moderate(name):
    """Returns numbers for which exponentials do not overflow, and edge values."""
    return np.concatenate([edges(name), np.linspace(-12, 12, 1201).astype(DTYPES[name][1])])


def at_least(x, low):
    return np.where(x < low, low, x)


def share(x):
    """Returns the logistic function, with full precision for small results."""
    return np.where(x < 0, np.exp(np.minimum(x, 0)), 1) / (1 + np.exp(-np.abs(x)))


def softplus(x):
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def gelu_tanh(x):
    return x * share(2 * np.sqrt(2 / (4 * np.arctan(x.dtype.type(1)))) * (x + x.dtype.type(0.044715) * x**3))


def elu(x, alpha):
    return np.where(x > 0, x, alpha * np.expm1(np.where(x > 0, 0, x)))


def mish(x):
    power = np.exp(np.minimum(x, 20))
    n = power * (power + 2)
    return x * n / (n + 2)


def hard_sigmoid(x):
    return np.clip(x + 3, 0, 6) / 6


def activations():
    rows = [
        ("relu", lambda x: reference.maximum(x, x.dtype.type(0))),
        ("gelu", lambda x: at_least(x, -1000) * exact.normal_below(at_least(x, -1000))),
        ("gelu_tanh", lambda x: gelu_tanh(at_least(x, -1000))),
        ("silu", lambda x: at_least(x, -1000) * share(at_least(x, -1000))),
        ("relu6", lambda x: np.minimum(reference.maximum(x, x.dtype.type(0)), 6)),
        ("elu", lambda x: elu(x, 1)),
        ("selu", lambda x: 1.0507009873554805 * elu(x, 1.6732632423543773)),
        ("softplus", softplus),
        ("mish", lambda x: mish(at_least(x, -1000))),
        ("log_sigmoid", lambda x: -softplus(-x)),
        ("hard_sigmoid", hard_sigmoid),
        ("hard_swish", lambda x: at_least(x, -4) * hard_sigmoid(at_least(x, -4))),
    ]
    for name, function in rows:
        takes = "integer float" if name.startswith("relu") else "float"
        yield function_of_one("ACTIVATION", name, takes, function)
    yield function_of_one("SPECIAL", "erf", "float", exact.erf)
    yield function_of_one("SPECIAL", "erfc", "float", exact.erfc)
    yield function_of_one("SPECIAL", "normal_cdf", "float", exact.normal_below)


def function_of_one(family_, name, takes, reference_):
    def call(world, x):
        return world.make("lxla_" + family_.lower(), family(family_)[name], x)

    def cases(dtype):
        return [Case([moderate(dtype) if kind(dtype) == "float" else samples(dtype)])]

    # The factor that multiplies x may be denormal.
    def size(x):
        least, _, eps = reference.limits(reference.computed_in(x))
        return np.abs(x) * least / eps

    return Operation(name, takes, call, reference_, cases, scale=size if name in ("gelu_tanh", "silu", "mish") else None)


# Functions over axes.

ROWS = [((5, 33), 1), ((4, 3, 2), -2), ((0, 3), 1), ((3, 0), 1), ((7,), 0), ((3, 1), -1)]


@functools.cache
def steep(name):
    """Returns rows with infinities, NaN, and numbers whose exponentials overflow."""
    most = 60000 if name == "f16" else 1e30
    rows = [[most, 1, -most], [np.inf, 0, 1], [-np.inf, 0, 1], [-np.inf, -np.inf, -np.inf], [np.nan, 0, 1], [500, 499, -500]]
    return np.array(rows, DTYPES[name][1])


def along(axis_cases):
    """Returns cases: one shape for each dtype, all shapes for f32."""

    def cases(dtype):
        chosen = axis_cases if dtype == "f32" else axis_cases[:1]
        return [Case([plain(dtype, shape, 21)], given) for shape, given in chosen]

    return cases


def softmaxes():
    def softmax(x, axis):
        powers = np.exp(x - np.max(x, axis=axis, keepdims=True, initial=-np.inf))
        return powers / powers.sum(axis=axis, keepdims=True)

    def log_softmax(x, axis):
        below = x - np.max(x, axis=axis, keepdims=True, initial=-np.inf)
        return below - np.log(np.exp(below).sum(axis=axis, keepdims=True))

    def size(x, axis):
        below = x - np.max(x, axis=axis, keepdims=True, initial=-np.inf)
        return np.abs(below) + np.abs(np.log(np.exp(below).sum(axis=axis, keepdims=True)))

    def cases(dtype):
        return along([(shape, {"axis": axis}) for shape, axis in ROWS])(dtype) + [Case([steep(dtype)], {"axis": 1})]

    def call(function):
        return lambda world, x, axis: world.make(function, x, axis)

    yield Operation("softmax", "float", call("lxla_softmax"), softmax, cases)
    yield Operation("log_softmax", "float", call("lxla_log_softmax"), log_softmax, cases, scale=size)


REDUCED = [((5, 33), [1]), ((4, 3, 2), [-1, 0]), ((3, 0), [1]), ((0, 3), [1]), ((4, 33), [0, 1]), ((3, 1), [1]), ((5,), [])]


def over(function, more=()):
    def call(world, x, axes, keep, **given):
        return world.make(function, x, ints(axes), len(axes), *given.values(), keep)

    return call


def statistics():
    def mean(x, axes, keep, absolute=False):
        total, count = (np.abs(x) if absolute else x).sum(axis=tuple(axes), keepdims=bool(keep)), np.prod(
            [x.shape[axis] for axis in axes]
        )
        return total / x.dtype.type(count)

    def deviations(x, axes):
        return x - mean(x, axes, 1)

    def variance(x, axes, correction, keep):
        count = np.prod([x.shape[axis] for axis in axes]) - correction
        return np.sum(deviations(x, axes) ** 2, axis=tuple(axes), keepdims=bool(keep)) / x.dtype.type(max(count, 0))

    def size(x, axes, correction, keep):
        """Returns the scale of errors: differences are off by as much as the numbers are."""
        count = np.prod([x.shape[axis] for axis in axes]) - correction
        weighted = np.abs(deviations(x, axes)) * (np.abs(x) + np.abs(mean(x, axes, 1)))
        return np.sum(weighted, axis=tuple(axes), keepdims=bool(keep)) / x.dtype.type(max(count, 0))

    def root_size(x, axes, correction, keep):
        return size(x, axes, correction, keep) / np.sqrt(variance(x, axes, correction, keep))

    def logsumexp(x, axes, keep):
        top = np.max(x, axis=tuple(axes), keepdims=True, initial=-np.inf)
        top = np.where(np.isfinite(top), top, 0)
        result = np.log(np.exp(x - top).sum(axis=tuple(axes), keepdims=True)) + top
        return result if keep else result.sum(axis=tuple(axes))

    def top_size(x, axes, keep):
        return np.abs(np.max(x, axis=tuple(axes), keepdims=bool(keep), initial=-np.inf))

    plain_rows = [(shape, {"axes": axes, "keep": i % 2}) for i, (shape, axes) in enumerate(REDUCED)]
    corrected = [
        (shape, {"axes": axes, "correction": correction, "keep": 0})
        for (shape, axes), correction in zip(REDUCED, [1, 0, 0, 1, 0.5, 1, 0])
    ]
    with_edges = lambda dtype: along(plain_rows)(dtype) + [Case([steep(dtype)[1:]], {"axes": [1], "keep": 0})]
    yield Operation(
        "mean", "float", over("lxla_mean"), mean, with_edges, scale=lambda x, axes, keep: mean(x, axes, keep, True)
    )
    yield Operation("logsumexp", "float", over("lxla_logsumexp"), logsumexp, with_edges, scale=top_size)
    yield Operation("variance", "float", over("lxla_variance"), variance, along(corrected), scale=size)
    deviation = lambda *x, **given: np.sqrt(variance(*x, **given))
    yield Operation(
        "standard_deviation", "float", over("lxla_standard_deviation"), deviation, along(corrected), scale=root_size
    )


def layer_norm():
    def call(world, x, *rest, axes, epsilon, given="so"):
        rest = iter(rest)
        scale, offset = (next(rest) if which in given else Tensor(0) for which in "so")
        return world.make("lxla_layer_norm", x, ints(axes), len(axes), scale, offset, epsilon)

    def pieces(x, rest, axes, epsilon, given):
        rest = iter(rest)
        scale, offset = next(rest) if "s" in given else 1, next(rest) if "o" in given else 0
        count = x.dtype.type(np.prod([x.shape[axis] for axis in axes]))
        mean = x.sum(axis=tuple(axes), keepdims=True) / count
        inverse = 1 / np.sqrt(((x - mean) ** 2).sum(axis=tuple(axes), keepdims=True) / count + x.dtype.type(epsilon))
        return mean, inverse, scale, offset

    def normalised(x, *rest, axes, epsilon, given="so"):
        mean, inverse, scale, offset = pieces(x, rest, axes, epsilon, given)
        return (x - mean) * inverse * scale + offset

    def size(x, *rest, axes, epsilon, given="so"):
        mean, inverse, scale, offset = pieces(x, rest, axes, epsilon, given)
        return (np.abs(x) + np.abs(mean)) * inverse * np.abs(scale) + np.abs(offset)

    def cases(dtype):
        x, scale, offset = plain(dtype, (6, 33), 22), plain(dtype, (33,), 23), plain(dtype, (33,), 24)
        made = [Case([x, scale, offset], {"axes": [-1], "epsilon": 1e-5})]
        if dtype in ("bf16", "f16"):
            made.append(Case([x, plain("f32", (33,), 23), offset], {"axes": [-1], "epsilon": 1e-5}))
        if dtype == "f32":
            made.append(Case([x], {"axes": [0, 1], "epsilon": 0.0, "given": ""}))
            made.append(Case([x, offset], {"axes": [1], "epsilon": 1.0, "given": "o"}))
            made.append(Case([x, plain(dtype, (6, 1), 25)], {"axes": [0], "epsilon": 1e-5, "given": "s"}))
            made.append(Case([plain(dtype, (3, 0), 1)], {"axes": [1], "epsilon": 1e-5, "given": ""}))
            made.append(Case([plain(dtype, (3, 1), 1)], {"axes": [1], "epsilon": 1e-5, "given": ""}))
        return made

    return Operation("layer_norm", "float", call, normalised, cases, scale=size)


def composed():
    return [*activations(), *softmaxes(), *statistics(), layer_norm()]
