"""Statistics, as ops_test.py compares them."""

import functools

import numpy as np
from ops_cases import Case, Operation, ints, plain
from ops_values import DTYPES, kind

REDUCED = [
    ((5, 33), [1]),
    ((4, 3, 2), [-1, 0]),
    ((3, 0), [1]),
    ((0, 3), [1]),
    ((4, 33), [0, 1]),
    ((3, 1), [1]),
    ((5,), []),
]


def over(function, more=()):
    def call(world, x, axes, keep, **given):
        return world.make(function, x, ints(axes), len(axes), *given.values(), keep)

    return call


@functools.cache
def steep(name):
    """Returns rows with infinities, NaN, and numbers whose exponentials overflow."""
    most = 60000 if name == "f16" else 1e30
    rows = [
        [most, 1, -most],
        [np.inf, 0, 1],
        [-np.inf, 0, 1],
        [-np.inf, -np.inf, -np.inf],
        [np.nan, 0, 1],
        [500, 499, -500],
    ]
    return np.array(rows, DTYPES[name][1])


def along(axis_cases):
    """Returns cases: one shape for each dtype, all shapes for f32."""

    def cases(dtype):
        chosen = axis_cases if dtype == "f32" else axis_cases[:1]
        return [Case([plain(dtype, shape, 21)], given) for shape, given in chosen]

    return cases


def statistics():
    def mean(x, axes, keep, absolute=False):
        total, count = (
            (np.abs(x) if absolute else x).sum(axis=tuple(axes), keepdims=bool(keep)),
            np.prod([x.shape[axis] for axis in axes]),
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
        top = np.max(x.real, axis=tuple(axes), keepdims=True, initial=-np.inf)
        top = np.where(np.isfinite(top), top, 0)
        result = np.log(np.exp(x - top).sum(axis=tuple(axes), keepdims=True)) + top
        return result if keep else result.sum(axis=tuple(axes))

    def top_size(x, axes, keep):
        top = np.abs(np.max(x.real, axis=tuple(axes), keepdims=bool(keep), initial=-np.inf))
        return top + 3 if x.dtype.kind == "c" else top

    plain_rows = [(shape, {"axes": axes, "keep": i % 2}) for i, (shape, axes) in enumerate(REDUCED)]
    corrected = [
        (shape, {"axes": axes, "correction": correction, "keep": 0})
        for (shape, axes), correction in zip(REDUCED, [1, 0, 0, 1, 0.5, 1, 0])
    ]

    def with_edges(dtype):
        return along(plain_rows)(dtype) + (
            [] if kind(dtype) == "complex" else [Case([steep(dtype)[1:]], {"axes": [1], "keep": 0})]
        )

    yield Operation(
        "mean", "float", over("lxla_mean"), mean, with_edges, scale=lambda x, axes, keep: mean(x, axes, keep, True)
    )
    yield Operation("logsumexp", "float complex", over("lxla_logsumexp"), logsumexp, with_edges, scale=top_size)
    yield Operation("variance", "float", over("lxla_variance"), variance, along(corrected), scale=size)
    deviation = lambda *x, **given: np.sqrt(variance(*x, **given))
    yield Operation(
        "standard_deviation", "float", over("lxla_standard_deviation"), deviation, along(corrected), scale=root_size
    )
