"""Rearrangements, masks and ranges that the library makes of several operations, as ops_test.py compares them."""

from ctypes import byref

import numpy as np
from ctypes_test import Tensor
from header import constants
from ops_arrays import several
from ops_cases import Case, Operation, counted, edges, ints, moved, one, samples, scalar_of
from ops_values import DTYPES, NAMES, kind


def lists(function):
    return lambda world, x, axes: world.make(function, x, ints(axes), len(axes))


def rearrangements():
    squeezed = lambda x, axes: np.squeeze(x, tuple(axes))
    yield moved(
        "squeeze",
        squeezed,
        lists("lxla_squeeze"),
        [
            (one((1, 3, 1, 2)), {"axes": [-2]}),
            (one((1, 3, 1)), {"axes": []}),
            (one((1, 0)), {"axes": [0]}),
            (one((1,)), {"axes": [0]}),
        ],
    )
    yield moved(
        "expand_dims",
        lambda x, axes: np.expand_dims(x, tuple(axes)),
        lists("lxla_expand_dims"),
        [
            (one((3, 2)), {"axes": [0, -2]}),
            (one(()), {"axes": [-1, 0]}),
            (one((0,)), {"axes": [1]}),
            (one((2,)), {"axes": []}),
        ],
    )
    yield moved(
        "flip",
        lambda x, axes: np.flip(x, tuple(axes)),
        lists("lxla_flip"),
        [
            (one((3, 4)), {"axes": [-1]}),
            (one((3, 4, 5)), {"axes": []}),
            (one((0, 3)), {"axes": [0]}),
            (one(()), {"axes": []}),
        ],
    )

    def stack(world, *tensors, axis):
        return world.make("lxla_stack", (Tensor * len(tensors))(*tensors), len(tensors), axis)

    yield moved(
        "stack",
        lambda *x, axis: np.stack(x, axis),
        stack,
        [
            (several((2, 3), (2, 3)), {"axis": -1}),
            (several((2, 3)), {"axis": 0}),
            (several((), (), ()), {"axis": 0}),
            (several((0, 2), (0, 2)), {"axis": 1}),
        ],
    )

    def split(world, x, sizes, axis, part):
        equal = len(set(sizes)) == 1
        return world.one_of_list("lxla_split", len(sizes), part, x, None if equal else ints(sizes), len(sizes), axis)

    yield moved(
        "split",
        lambda x, sizes, axis, part: np.split(x, np.cumsum(sizes)[:-1], axis)[part],
        split,
        [
            (one((2, 6)), {"sizes": [1, 3, 2], "axis": -1, "part": 1}),
            (one((2, 6)), {"sizes": [2, 2, 2], "axis": 1, "part": 2}),
            (one((4, 2)), {"sizes": [0, 4], "axis": 0, "part": 0}),
            (one((4, 2)), {"sizes": [0, 4], "axis": 0, "part": 1}),
        ],
    )

    def slice_axis(world, x, axis, at):
        return world.make("lxla_slice_axis", x, axis, *at)

    def sliced(x, axis, at):
        where = [slice(None)] * x.ndim
        where[axis] = slice(*at)
        return x[tuple(where)]

    last = 2**63 - 1
    yield moved(
        "slice_axis",
        sliced,
        slice_axis,
        [
            (one((3, 7)), {"axis": -1, "at": (-2, -last, -2)}),
            (one((3, 7)), {"axis": 1, "at": (-3, last, 1)}),
            (one((3, 7)), {"axis": 0, "at": (5, 9, 1)}),
            (one((3, 7)), {"axis": 1, "at": (1, -1, 3)}),
            (one((0,)), {"axis": 0, "at": (0, last, 1)}),
            (one((3, 7)), {"axis": 1, "at": (0, last, last)}),
        ],
    )

    def roll(world, x, shifts, axes):
        return world.make("lxla_roll", x, ints(shifts), ints(axes), len(axes))

    yield moved(
        "roll",
        lambda x, shifts, axes: np.roll(x, shifts, axes),
        roll,
        [
            (one((3, 5)), {"shifts": [-2, 1], "axes": [-1, 0]}),
            (one((3, 5)), {"shifts": [7, 3], "axes": [1, 1]}),
            (one((0, 2)), {"shifts": [1], "axes": [0]}),
            (one((3,)), {"shifts": [-(2**63)], "axes": [0]}),
            (one((3,)), {"shifts": [3], "axes": [0]}),
        ],
    )

    def tile(world, x, repeats):
        return world.make("lxla_tile", x, ints(repeats), len(repeats))

    yield moved(
        "tile",
        lambda x, repeats: np.tile(x, repeats),
        tile,
        [
            (one((2, 3)), {"repeats": [2, 1, 3]}),
            (one((2, 3)), {"repeats": [2]}),
            (one(()), {"repeats": [3]}),
            (one((2,)), {"repeats": [0]}),
            (one((0, 2)), {"repeats": [2, 2]}),
        ],
    )

    def repeat(world, x, repeats, axis):
        return world.make("lxla_repeat", x, repeats, axis)

    yield moved(
        "repeat",
        lambda x, repeats, axis: np.repeat(x, repeats, axis),
        repeat,
        [
            (one((2, 3)), {"repeats": 2, "axis": -1}),
            (one((2, 3)), {"repeats": 3, "axis": 0}),
            (one((2, 3)), {"repeats": 0, "axis": 0}),
            (one((2, 0)), {"repeats": 2, "axis": 1}),
        ],
    )


def masks():
    shapes = [((4, 5), -1), ((2, 3, 3), 0), ((3, 2), 5), ((3, 2), -(2**62)), ((0, 2), 0), ((1, 1), 1)]
    for name, function in [("tril", np.tril), ("triu", np.triu)]:
        call = lambda world, x, k, name=name: world.make("lxla_" + name, x, k)
        yield moved(
            name,
            lambda x, k, function=function: function(x, min(max(k, -99), 99)),
            call,
            [(one(shape), {"k": k}) for shape, k in shapes],
        )

    def one_hot(world, at, depth, axis, dtype):
        return world.make("lxla_one_hot", at, depth, axis, DTYPES[dtype][0])

    def hot(at, depth, axis, dtype):
        places = np.arange(depth).reshape([-1 if i == axis % (at.ndim + 1) else 1 for i in range(at.ndim + 1)])
        return np.expand_dims(at, axis).astype(object) == places

    def cases(name):
        made = [Case([edges(name)], {"depth": 300, "axis": -1, "dtype": "f32"}, "f32")]
        if name == "s32":
            made += [
                Case([counted(name, shape)], {"depth": depth, "axis": axis, "dtype": dtype}, dtype)
                for shape, depth, axis, dtype in [
                    ((2, 3), 4, 0, "bf16"),
                    ((2, 3), 4, 1, "pred"),
                    ((), 3, 0, "s8"),
                    ((2,), 0, 0, "f32"),
                    ((0,), 3, 1, "c64"),
                    ((3,), 1, -1, "u64"),
                ]
            ]
        return made

    yield Operation("one_hot", "integer", one_hot, hot, cases)


def ranges():
    """Operations without operands: an array gives only the dtype."""

    def made(function):
        return lambda world, like, **given: world.make(
            function, world.env, world.device, like_dtype(world, like), *given.values()
        )

    def like_dtype(world, like):
        return DTYPES[NAMES[world.type(like)[0]]][0]

    yield Operation(
        "eye",
        "all",
        made("lxla_eye"),
        lambda like, rows, columns, k: np.eye(rows, columns, k),
        lambda name: [
            Case([counted(name, ())], {"rows": rows, "columns": columns, "k": k})
            for rows, columns, k in ([(3, 4, 1), (2, 2, -5), (0, 3, 0), (4, 2, -1)] if name == "f32" else [(3, 4, 1)])
        ],
    )

    def arange(like, start, stop, step):
        numbers = np.arange(np.ceil((float(stop) - float(start)) / float(step))).astype(np.longdouble) * step + start
        return numbers if kind(NAMES.get(like.dtype, "f64")) == "float" else numbers.astype(like.dtype)

    def arange_cases(name):
        chosen = [(1, 10, 3)] if kind(name) not in ("float", "pred") else [(-1, 1, 0.1), (3, -3, -0.5), (0, 2000, 1)]
        if name == "pred":
            chosen = [(0, 2, 1), (1, -1, -1), (1, 9, 100)]
        chosen += {
            "s8": [(-128, 127.5, 1), (5, 0, 1), (2, -3, -2)],
            "u8": [(255, -1, -5), (0, 2.5, 1), (3, 1000, 2000)],
            "s64": [(2**53, 2**53 + 5, 2)],
        }.get(name, [])
        return [Case([counted(name, ())], dict(zip(("start", "stop", "step"), values))) for values in chosen]

    reach = lambda like, start, stop, step: np.full(max(int(np.ceil((stop - start) / step)), 0), max(abs(start), abs(stop)))
    yield Operation("arange", "all", made("lxla_arange"), arange, arange_cases, scale=reach, refuses=False)

    def linspace(like, start, stop, count, endpoint):
        numbers = np.linspace(np.longdouble(start), np.longdouble(stop), count, bool(endpoint), dtype=np.longdouble)
        if kind(NAMES.get(like.dtype, "f64")) in ("signed", "unsigned"):
            return np.floor(numbers).astype(like.dtype)
        return numbers != 0 if like.dtype == bool else numbers

    def linspace_cases(name):
        others = {"pred": [(0, 1, 3, 1), (1, 0, 2, 0)], "signed": [(-7, 3, 8, 1), (9, -9, 4, 0)]}
        others["unsigned"] = [(1, 9, 4, 1), (200, 3, 7, 0), (5, 5, 1, 1)]
        chosen = [(-1, 2, 11, 1), (0.1, 3, 7, 0), (5, 5, 3, 1), (1, 2, 1, 1), (1, 2, 1, 0), (1, 2, 0, 1), (3, -3, 1001, 1)]
        return [
            Case([counted(name, ())], dict(zip(("start", "stop", "count", "endpoint"), values)))
            for values in (chosen if name == "f32" else others.get(kind(name), chosen[:2]))
        ]

    size = lambda like, start, stop, count, endpoint: np.full(count, max(abs(start), abs(stop)), np.longdouble)
    yield Operation("linspace", "all", made("lxla_linspace"), linspace, linspace_cases, scale=size, refuses=False)


def scalar_compares():
    def call(world, x, value, left):
        if left is None:
            return world.make("lxla_compare_scalar", constants.COMPARE_LT, x, float(value))
        return world.make("lxla_compare_with_scalar", constants.COMPARE_LT, x, byref(scalar_of(value)), left)

    def less(x, value, left):
        value = np.array(value).astype(x.dtype)
        return value < x if left else x < value

    def cases(name):
        value = edges(name)[-1] if kind(name) != "float" else DTYPES[name][1].type(2.5)
        made = [
            Case([samples(name)], {"value": value, "left": left}, "pred")
            for left in ((0, 1) if name in ("f32", "u64") else (0,))
        ]
        return made + [Case([samples(name)], {"value": DTYPES[name][1].type(1), "left": None}, "pred")]

    return Operation("compare_scalar", "pred integer float", call, less, cases)


def rearranged():
    return [*rearrangements(), *masks(), *ranges(), scalar_compares()]
