"""Operations without operands, and masks, as ops_test.py compares them. An array gives only the dtype or the type."""

import numpy as np
from ops_cases import Case, Operation, counted, edges, ints, moved, one
from ops_values import DTYPES, NAMES, kind


def creations():
    """Returns operations for which an array gives dtype and shape."""

    def full(world, like, value):
        return world.make("lxla_tensor_full", world.env, world.device, *described(world, like), value)

    def described(world, like):
        dtype, shape = world.type(like)
        return DTYPES[NAMES[dtype]][0], ints(shape), len(shape)

    def filled(like, value):
        return np.full_like(like, value)

    def full_cases(name):
        chosen = {"f32": [0.1, -0.0, np.inf, np.nan, 1e-40], "pred": [1]}.get(name, [3])
        return [Case([counted(name, (2, 3))], {"value": value}) for value in chosen]

    yield Operation("full", "all", full, filled, full_cases, refuses=False)

    def iota(world, like, axis):
        return world.make("lxla_iota", world.env, world.device, *described(world, like), axis)

    def counting(like, axis):
        line = np.arange(like.shape[axis]).reshape([-1 if i == axis % like.ndim else 1 for i in range(like.ndim)])
        return np.broadcast_to(line.astype(like.dtype), like.shape)

    def iota_cases(name):
        shapes = [((3, 300, 2), 1), ((0, 2), -1), ((2, 1), -1)]
        return [
            Case([counted(name, shape)], {"axis": axis}) for shape, axis in (shapes if name == "s32" else shapes[:1])
        ]

    yield Operation("iota", "number", iota, counting, iota_cases)


def ranges():
    """Returns operations for which an array gives only the dtype."""

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

    reach = lambda like, start, stop, step: np.full(
        max(int(np.ceil((stop - start) / step)), 0), max(abs(start), abs(stop))
    )
    yield Operation("arange", "all", made("lxla_arange"), arange, arange_cases, scale=reach, refuses=False)

    def linspace(like, start, stop, count, endpoint):
        numbers = np.linspace(np.longdouble(start), np.longdouble(stop), count, bool(endpoint), dtype=np.longdouble)
        if kind(NAMES.get(like.dtype, "f64")) in ("signed", "unsigned"):
            return np.floor(numbers).astype(like.dtype)
        return numbers != 0 if like.dtype == bool else numbers

    def linspace_cases(name):
        others = {"pred": [(0, 1, 3, 1), (1, 0, 2, 0)], "signed": [(-7, 3, 8, 1), (9, -9, 4, 0)]}
        others["unsigned"] = [(1, 9, 4, 1), (200, 3, 7, 0), (5, 5, 1, 1)]
        chosen = [
            (-1, 2, 11, 1),
            (0.1, 3, 7, 0),
            (5, 5, 3, 1),
            (1, 2, 1, 1),
            (1, 2, 1, 0),
            (1, 2, 0, 1),
            (3, -3, 1001, 1),
        ]
        return [
            Case([counted(name, ())], dict(zip(("start", "stop", "count", "endpoint"), values)))
            for values in (chosen if name == "f32" else others.get(kind(name), chosen[:2]))
        ]

    size = lambda like, start, stop, count, endpoint: np.full(count, max(abs(start), abs(stop)), np.longdouble)
    yield Operation("linspace", "all", made("lxla_linspace"), linspace, linspace_cases, scale=size, refuses=False)


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
                    ((2, 3), 4, 0, "bf16" if "bf16" in DTYPES else "f16"),
                    ((2, 3), 4, 1, "pred"),
                    ((), 3, 0, "s8"),
                    ((2,), 0, 0, "f32"),
                    ((0,), 3, 1, "c64"),
                    ((3,), 1, -1, "u64"),
                ]
            ]
        return made

    yield Operation("one_hot", "integer", one_hot, hot, cases)


def creation():
    return [*creations(), *ranges(), *masks()]
