"""The `lxla_scalar` forms of functions that otherwise take doubles or tensors, as ops_test.py compares them. Integers
are compared with Python's, which are exact."""

from ctypes import byref

import numpy as np
import ops_reference as reference
from ctypes_test import Tensor
from ops_cases import Case, Operation, counted, ints, plain, samples, scalar_of
from ops_shape import padded
from ops_values import DTYPES, NAMES, kind


def element(name, value):
    return DTYPES[name][1].type(value)


def given_as(value):
    return None if value is None else byref(scalar_of(value))


def number_of(world, like):
    return DTYPES[NAMES[world.type(like)[0]]][0]


def extremes(name):
    """Returns two values of a dtype that a double may not hold: the ends of 64-bit integers, both parts of complex
    numbers."""
    if kind(name) in ("signed", "unsigned"):
        info = np.iinfo(DTYPES[name][1])
        return [element(name, info.max), element(name, info.min if info.min else info.max - 1)]
    if kind(name) == "complex":
        return [element(name, 1.1 - 2.5j), element(name, complex(-0.0, np.inf))]
    return [element(name, 1), element(name, 0)] if name == "pred" else [element(name, 0.1), element(name, np.inf)]


def fulls():
    def call(world, like, value):
        shape = world.type(like)[1]
        place = world.env, world.device, number_of(world, like)
        return world.make("lxla_tensor_full_with_scalar", *place, ints(shape), len(shape), given_as(value))

    def cases(name):
        return [Case([counted(name, (2, 3))], {"value": value}) for value in extremes(name)]

    return Operation(
        "full_with_scalar", "all", call, lambda like, value: np.full_like(like, value), cases, refuses=False
    )


def exact(numbers, dtype):
    return np.array(list(numbers), dtype)


def aranges():
    def call(world, like, **given):
        place = world.env, world.device, number_of(world, like)
        return world.make("lxla_arange_with_scalars", *place, *map(given_as, given.values()))

    def counting(like, start, stop, step):
        return exact(range(int(start.real), int(stop.real), int(step.real)), like.dtype)

    def cases(name):
        chosen = {
            "s64": [
                (2**62 + 1, 2**62 + 8, 3),
                (-(2**63), -(2**63) + 5, 2),
                (2**63 - 1, 2**63 - 8, -3),
                (-(2**63), 2**63 - 1, 2**62),
            ],
            "u64": [(2**64 - 6, 2**64 - 1, 2), (2**64 - 1, 2**64 - 9, -4), (2**53 + 1, 2**53 + 4, 1)],
            "s8": [(-128, 127, 1), (127, -128, -100)],
            "pred": [(0, 2, 1)],
        }.get(name, [(0, 5, 2), (5, 0, 2)])
        as_scalar = lambda value: np.uint64(value) if value > 2**63 - 1 else np.int64(value)
        return [
            Case([counted(name, ())], dict(zip(("start", "stop", "step"), map(as_scalar, numbers))))
            for numbers in chosen
        ]

    return Operation("arange_with_scalars", "all", call, counting, cases, refuses=False)


def linspaces():
    def call(world, like, start, stop, count, endpoint):
        place = world.env, world.device, number_of(world, like)
        ends = given_as(start), given_as(stop)
        return world.make("lxla_linspace_with_scalars", *place, *ends, count, endpoint)

    def line(like, start, stop, count, endpoint):
        gaps = max(count - endpoint, 1)
        if like.dtype.kind in "iu":
            first, last = int(start), int(stop)
            return exact((first + i * (last - first) // gaps for i in range(count)), like.dtype)
        wide = np.clongdouble if like.dtype.kind == "c" else np.longdouble
        first, last = (wide(complex(end) if like.dtype.kind == "c" else float(end)) for end in (start, stop))
        numbers = first + np.arange(count).astype(np.longdouble) * (last - first) / gaps
        return numbers.astype(wide) != 0 if like.dtype == bool else numbers.astype(wide)

    def size(like, start, stop, count, endpoint):
        return np.full(count, max(abs(complex(start)), abs(complex(stop))), np.longdouble)

    def cases(name):
        info = np.iinfo(DTYPES[name][1]) if kind(name) in ("signed", "unsigned") else None
        chosen = [(0, 1, 3, 1)] if name == "pred" else [(1.5, -2, 7, 1), (0.25, 3, 5, 0)]
        if info:
            chosen = [
                (info.min, info.max, 7, 1),
                (info.max, info.min, 6, 0),
                (info.max, info.max - 5, 3, 1),
                (3, 4, 1, 1),
            ]
        if kind(name) == "complex":
            chosen = [(1 + 2j, -3 - 1j, 9, 1), (2 - 1j, 2 + 3j, 4, 0)]
        names = "start", "stop", "count", "endpoint"
        row = lambda a, b, *rest: dict(zip(names, (element(name, a), element(name, b), *rest)))
        return [Case([counted(name, ())], row(*numbers)) for numbers in chosen]

    return Operation("linspace_with_scalars", "all", call, line, cases, scale=size, refuses=False)


NONE = Tensor(0)


def selects():
    def call(world, pred, *tensors, on_true, on_false):
        tensors = iter(tensors)
        a = (NONE, given_as(on_true)) if on_true is not None else (next(tensors), None)
        b = (NONE, given_as(on_false)) if on_false is not None else (next(tensors), None)
        return world.make("lxla_select_with_scalars", pred, *a, *b)

    def chosen(pred, *arrays, on_true, on_false):
        arrays = iter(arrays)
        sides = [np.asarray(scalar) if scalar is not None else next(arrays) for scalar in (on_true, on_false)]
        return np.where(pred, *[reference.wide(side, True) for side in sides])

    def cases(name):
        first, second = extremes(name)
        pred, x = counted("pred", (4, 1)), plain(name, (3,), 7)
        made = [
            Case([pred, x], {"on_true": first, "on_false": None}, name),
            Case([pred, x], {"on_true": None, "on_false": second}, name),
            Case([pred, x, x], {"on_true": None, "on_false": None}, name),
        ]
        return made + [Case([pred], {"on_true": first, "on_false": second}, name)]

    return Operation("select_with_scalars", "all", call, chosen, cases, refuses=False)


def clamps():
    def call(world, x, min, max):
        return world.make("lxla_clamp_with_scalars", x, given_as(min), given_as(max))

    def held(x, min, max):
        for bound, limit in ((np.maximum, min), (np.minimum, max)):
            x = x if limit is None else bound(x, np.asarray(limit).astype(x.dtype))
        return x

    def cases(name):
        low, high = (element(name, v) for v in {"pred": (1, 1), "unsigned": (3, 60)}.get(kind(name), (-3, 5)))
        most = extremes(name)[0]
        bounds = [(low, high), (None, high), (low, None), (None, None), (high, low), (None, most)]
        return [Case([samples(name)], {"min": a, "max": b}) for a, b in bounds]

    return Operation("clamp_with_scalars", "pred integer float", call, held, cases)


def pads():
    def call(world, x, value, low, high, interior):
        between = ints(interior) if interior else None
        return world.make("lxla_pad_with_scalar", x, given_as(value), ints(low), ints(high), between, len(low))

    def around(x, value, low, high, interior):
        return padded(x, value, low, high, interior or [0] * x.ndim)

    def cases(name):
        first, second = extremes(name)
        edges = {"low": [1, -1], "high": [0, 2]}
        made = [Case([counted(name, (3, 2))], {"value": first, **edges, "interior": [2, 0]})]
        return made + [Case([counted(name, (3, 2))], {"value": second, **edges, "interior": None})]

    return Operation("pad_with_scalar", "all", call, around, cases, refuses=False)


def scalars():
    return [fulls(), aranges(), linspaces(), selects(), clamps(), pads()]
