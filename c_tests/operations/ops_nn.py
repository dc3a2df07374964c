"""Activations, softmax and layer normalization, as ops_test.py compares them."""

import numpy as np
import ops_reference as reference
import ops_reference_erf as exact
from ctypes_test import Tensor
from ops_cases import Case, Operation, ints, plain
from ops_elementwise_functions import function_of_one
from ops_reduction_statistics import along, steep


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


def silu(x):
    if x.dtype.kind == "c":
        x = reference.joined(np.maximum(x.real, -2000), x.imag)
        return x * reference.logistic(x)
    return at_least(x, -1000) * share(at_least(x, -1000))


def activations():
    rows = [
        ("relu", lambda x: reference.maximum(x, x.dtype.type(0))),
        ("gelu", lambda x: at_least(x, -1000) * exact.normal_below(at_least(x, -1000))),
        ("gelu_tanh", lambda x: gelu_tanh(at_least(x, -1000))),
        ("silu", silu),
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
        takes = {"relu": "integer float", "relu6": "integer float", "silu": "float complex"}.get(name, "float")
        yield function_of_one("ACTIVATION", name, takes, function)


ROWS = [((5, 33), 1), ((4, 3, 2), -2), ((0, 3), 1), ((3, 0), 1), ((7,), 0), ((3, 1), -1)]


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

    yield Operation("layer_norm", "float", call, normalised, cases, scale=size)

    def call_with(world, x, *rest, result, axes, epsilon, given="so"):
        rest = iter(rest)
        scale, offset = (next(rest) if which in given else Tensor(0) for which in "so")
        inputs = [x, ints(axes), len(axes), scale, offset, epsilon]
        return world.one_of("lxla_layer_norm_with_statistics", 3, result, *inputs)

    def statistics_of(x, *rest, result, **given):
        mean, inverse, *_ = pieces(x, rest, given["axes"], given["epsilon"], given.get("given", "so"))
        return (normalised(x, *rest, **given), mean, inverse)[result]

    def size_of(x, *rest, result, **given):
        mean, inverse, *_ = pieces(x, rest, given["axes"], given["epsilon"], given.get("given", "so"))
        axes, far = tuple(given["axes"]), np.abs(x) + np.abs(mean)
        near = inverse * (1 + inverse**2 * np.mean(np.abs(x - mean) * far, axis=axes, keepdims=True))
        return (size(x, *rest, **given), np.mean(np.abs(x), axis=axes, keepdims=True), near)[result]

    def cases_with(dtype):
        wide = "f32" if dtype in ("f16", "bf16") else dtype
        full = [case for case in cases(dtype) if case.arrays[0].size]
        return [Case(case.arrays, {"result": i, **case.given}, wide if i else dtype) for case in full for i in range(3)]

    name = "layer_norm_with_statistics"
    yield Operation(name, "float", call_with, statistics_of, cases_with, scale=size_of)


def nn():
    return [*activations(), *softmaxes(), *layer_norm()]
