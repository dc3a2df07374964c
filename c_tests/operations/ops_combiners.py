"""Computations of scalars, for operations that apply one, and what they make of NumPy's arrays."""

import functools

import numpy as np
import ops_reference as reference
from header import constants
from ops_cases import release
from ops_values import DTYPES, NAMES

ADD, MULTIPLY = constants.BINARY_ADD, constants.BINARY_MULTIPLY


def binary_of(number):
    return lambda world, a, b: [world.make("lxla_binary", number, a, b)]


# Combiners: the dtypes they take, the operation they record, and their effect on NumPy's arrays.
COMBINERS = {
    "replace": ("all", lambda world, a, b: [b], lambda a, b: b),
    "add": ("number", binary_of(ADD), lambda a, b: a + b),
    "multiply": ("number", binary_of(MULTIPLY), lambda a, b: a * b),
    "max": ("pred integer float", binary_of(constants.BINARY_MAXIMUM), reference.maximum),
    "min": ("pred integer float", binary_of(constants.BINARY_MINIMUM), reference.minimum),
}


def scalars(dtypes):
    return [(NAMES[dtype], ()) for dtype in dtypes]


def combiner(world, name, dtype):
    return world.computation(name, scalars([dtype, dtype]), COMBINERS[name][1])


def pairwise(world, dtype):
    """Combines (a, c) and (b, d) to (a + b, c * d + b)."""

    def record(world, a, c, b, d):
        product = world.make("lxla_binary", MULTIPLY, c, d)
        made = [world.make("lxla_binary", ADD, a, b), world.make("lxla_binary", ADD, product, b)]
        release(product)
        return made

    return world.computation("pairwise", scalars([dtype] * 4), record)


def start_of(name, dtype):
    """Returns the identity of a combiner."""
    dtype = DTYPES[dtype][1]
    if name in ("add", "multiply"):
        return dtype.type(name == "multiply")
    if dtype.kind in "biu":
        ends = (False, True) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        return dtype.type(ends[name == "min"])
    return dtype.type(-np.inf if name == "max" else np.inf)


def folded(function, x, start, count):
    """Reduces the last `count` axes, flattened, one element after another."""
    rows = x.reshape(*x.shape[: x.ndim - count], int(np.prod(x.shape[x.ndim - count :])))
    out = np.full(rows.shape[:-1], start, x.dtype)
    for i in range(rows.shape[-1]):
        out = function(out, rows[..., i])
    return out


def start_array(name, dtype):
    return numbered(start_of(name, dtype))


@functools.lru_cache(None, typed=True)
def numbered(value):
    return np.array(value)


@functools.cache
def extremes(name):
    rows = [[np.nan, 1, 2], [1, np.inf, -np.inf], [0.0, -0.0, 0.0], [-0.0, -0.0, -0.0], [-1, 0.0, np.nan]]
    return np.array(rows, DTYPES[name][1])
