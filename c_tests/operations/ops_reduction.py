"""Reductions over axes, and positions of extremes, as ops_test.py compares them."""

import numpy as np
from header import family
from ops_cases import Case, Operation, ints, plain
from ops_sorting import ORDERED, along, rows_of
from ops_values import DTYPES, kind

REDUCED = [
    ((7, 5, 3), [1]),
    ((7, 5, 3), [-1, 0]),
    ((4, 33), [0, 1]),
    ((3, 0), [1]),
    ((0, 3), [1]),
    ((1, 5), [0]),
    ((5,), []),
]


def reduces():
    rows = [
        ("sum", "all", np.sum),
        ("product", "all", np.prod),
        ("max", "integer float", np.max),
        ("min", "integer float", np.min),
        ("all", "pred", np.all),
        ("any", "pred", np.any),
    ]
    for name, takes, function in rows:
        yield reduce(name, takes, function)


def lowest(name, dtype):
    """Returns the largest, or the least, of no elements."""
    if dtype.kind in "iu":
        return np.iinfo(dtype).min if name == "max" else np.iinfo(dtype).max
    return -np.inf if name == "max" else np.inf


def reduce(name, takes, function):
    def call(world, x, axes, keep):
        return world.make("lxla_reduce", family("REDUCE")[name], x, ints(axes), len(axes), keep)

    def reduced(x, axes, keep):
        more = {"initial": lowest(name, x.dtype)} if name in ("max", "min") else {}
        if name in ("sum", "product") and x.dtype.kind in "biu":
            more["dtype"] = np.int64 if x.dtype.kind == "b" else x.dtype
        result = np.asarray(function(x, axis=tuple(axes), keepdims=bool(keep), **more))
        if name in ("max", "min") and x.dtype.kind == "f":
            # Of two zeros the positive one is the greater.
            negative = np.signbit(np.where(x == 0, x, -0.0 if name == "max" else 0.0))
            negative = (np.all if name == "max" else np.any)(negative, axis=tuple(axes), keepdims=bool(keep))
            result = np.where(result == 0, np.where(negative, -0.0, 0.0), result)
        return result

    def size(x, axes, keep):
        """Returns the scale of the errors of the steps."""
        if name == "sum":
            return np.sum(np.abs(x), axis=tuple(axes), keepdims=bool(keep))
        if name == "product":
            return np.prod(np.abs(x), axis=tuple(axes), keepdims=bool(keep))

    def cases(dtype):
        result = "s64" if dtype == "pred" and name in ("sum", "product") else ""
        given = lambda i, axes: {"axes": axes, "keep": i % 2}
        made = [Case([plain(dtype, shape, 11)], given(i, axes), result) for i, (shape, axes) in enumerate(REDUCED)]
        if kind(dtype) == "float":
            at = np.array(
                [[np.nan, 1, 2], [np.inf, 1, -np.inf], [np.inf, 1, 2], [-0.0, 0.0, -0.0], [-0.0, -0.0, -0.0]],
                DTYPES[dtype][1],
            )
            made.append(Case([at if name in ("max", "min") else at[:3]], {"axes": [1], "keep": 0}))
        return made if dtype in ("f32", "pred") else made[:1] + made[7:]

    return Operation(name, takes, call, reduced, cases, scale=size if name in ("sum", "product") else None)


def extremes():
    for name, function in (("argmax", np.argmax), ("argmin", np.argmin)):
        yield extreme(name, function)


def extreme(name, function):
    def call(world, x, axis, keep, dtype):
        return world.make("lxla_" + name, x, axis, keep, DTYPES[dtype][0])

    def place(x, axis, keep, dtype):
        return function(x, axis, keepdims=bool(keep)).astype(DTYPES[dtype][1])

    def cases(of):
        dtype = of if kind(of) in ("signed", "unsigned") else "s64"
        made = along(of, dtype, {"keep": 0, "dtype": dtype}, empty=False)
        made += along(of, "s16", {"keep": 1, "dtype": "s16"}, empty=False)
        ends = rows_of(of)[:, : 1 if kind(of) != "float" else 9]
        return made + [Case([np.ascontiguousarray(ends)], {"axis": 1, "keep": 0, "dtype": "u8"}, "u8")]

    return Operation(name, ORDERED, call, place, cases)


def reduction():
    return [*reduces(), *extremes()]
