"""Reductions by computations, over axes and over windows; the gradients of pooling; and cumulative reductions, as
ops_test.py compares them."""

import functools

import numpy as np
import ops_reference as reference
from header import constants, family
from ops_cases import Case, Operation, array_of, counted, ints, options_of, plain, release
from ops_elementwise import logaddexp
from ops_combiners import COMBINERS, combiner, extremes, folded, numbered, scalars, start_array
from ops_shape import padded
from ops_sorting import SHAPES, rows_of
from ops_values import DTYPES, kind

# Reductions.

REDUCED = [((7, 5, 3), [-1, 0]), ((7, 5, 3), [1]), ((4, 33), [1]), ((3, 0), [1]), ((0, 3), [1]), ((1, 5), [0])]
REDUCED += [((5,), []), ((), [])]


def reduces_with():
    for name in ("add", "multiply", "max", "min"):
        takes, _, function = COMBINERS[name]
        yield reduce_with(name, takes, function)


def reduce_with(name, takes, function):
    def call(world, x, start, axes):
        inputs = [combiner(world, name, world.type(x)[0]), array_of([x]), array_of([start]), 1]
        return world.one_of_list("lxla_reduce_with", 1, 0, *inputs, ints(axes), len(axes))

    def reduced(x, start, axes):
        return folded(function, np.moveaxis(x, axes, range(-len(axes), 0)), start, len(axes))

    def size(x, start, axes):
        return reduced(np.abs(x), np.abs(start), axes)

    def cases(dtype):
        rows = REDUCED if dtype in ("f32", "pred") else REDUCED[:1]
        made = [Case([plain(dtype, shape, 31), start_array(name, dtype)], {"axes": axes}) for shape, axes in rows]
        if kind(dtype) == "float" and name in ("max", "min"):
            made.append(Case([extremes(dtype), start_array(name, dtype)], {"axes": [1]}))
        return made

    rounds = name in ("add", "multiply")
    return Operation(f"reduce_with {name}", takes, call, reduced, cases, size if rounds else None, False)


def reduce_pairs():
    """Returns the largest element of one tensor, and the element of another at the same position."""

    def record(world, a, i, b, j):
        more = world.make("lxla_compare", constants.COMPARE_GT, b, a)
        made = [world.make("lxla_select", more, b, a), world.make("lxla_select", more, j, i)]
        release(more)
        return made

    def call(world, x, y, start, other, result):
        types = scalars([world.type(x)[0], world.type(y)[0]] * 2)
        inputs = [world.computation("greater", types, record), array_of([x, y]), array_of([start, other]), 2]
        return world.one_of_list("lxla_reduce_with", 2, result, *inputs, ints([1]), 1)

    def reduced(x, y, start, other, result):
        at = np.argmax(x, 1)[:, None]
        return np.take_along_axis((x, y)[result], at, 1)[:, 0]

    def cases(name):
        distinct = np.array([[3, 1, 2], [1, 5, 4], [6, 7, 9]], DTYPES[name][1])
        arrays = [distinct, counted("s32", (3, 3)), start_array("max", name), numbered(np.int32(0))]
        return [Case(arrays, {"result": 0}), Case(arrays, {"result": 1}, "s32")]

    return Operation("reduce_with pairs", "integer float", call, reduced, cases, refuses=False)


window_options = options_of("lxla_window_options")


def windows(x, sizes, strides, dilations):
    """Returns every window over the last axes: first the axes of positions, then those of a window."""
    for axis, size, stride, dilation in zip(range(x.ndim - len(sizes), x.ndim), sizes, strides, dilations):
        last = x.shape[axis] - (size - 1) * dilation
        places = np.arange(0, max(last, 0), stride)[:, None] + np.arange(size) * dilation
        x = np.moveaxis(x.take(places, axis), axis + 1, -1)
    return x


# Reductions of windows.

# Shapes of x, and the options as fields of the struct.
WINDOWS = [
    ((6, 7), {"window_dimensions": [2, 3], "strides": [2, 1], "low": [1, 0], "high": [0, 2]}),
    ((5, 8), {"window_dimensions": [3, 2], "window_dilations": [1, 3], "base_dilations": [2, 1]}),
    ((9,), {"window_dimensions": [4], "low": [3], "high": [-1], "strides": [2]}),
    ((3, 2), {"window_dimensions": [1, 1]}),
    ((2,), {"window_dimensions": [3]}),
    ((0, 3), {"window_dimensions": [2, 2], "low": [1, 0], "high": [1, 0]}),
    ((2, 3, 4), {"window_dimensions": [1, 3, 4]}),
    ((), {"window_dimensions": []}),
]


def field(options, name, default, rank):
    return options.get(name, [default] * rank)


def padded_with(x, value, options):
    of = lambda name, default: field(options, name, default, x.ndim)
    return padded(x, value, of("low", 0), of("high", 0), [dilation - 1 for dilation in of("base_dilations", 1)])


def reduce_window(name):
    takes, _, function = COMBINERS[name]

    def call(world, x, start, options):
        dtype, shape = world.type(x)
        inputs = [combiner(world, name, dtype), array_of([x]), array_of([start]), 1]
        return world.one_of_list("lxla_reduce_window", 1, 0, *inputs, window_options(rank=len(shape), **options))

    def reduced(x, start, options):
        of = lambda name, default: field(options, name, default, x.ndim)
        lists = [of("window_dimensions", 1), of("strides", 1), of("window_dilations", 1)]
        return folded(function, windows(padded_with(x, start, options), *lists), start, x.ndim)

    def size(x, start, options):
        return reduced(np.abs(x), np.abs(start), options)

    def cases(dtype):
        rows = WINDOWS if (dtype, name) in (("f32", "add"), ("u8", "max")) else WINDOWS[:1]
        made = [
            Case([plain(dtype, shape, 63), start_array(name, dtype)], {"options": options}) for shape, options in rows
        ]
        if kind(dtype) == "float" and name in ("max", "min"):
            made.append(Case([extremes(dtype), start_array(name, dtype)], {"options": {"window_dimensions": [1, 2]}}))
        return made

    rounds = name in ("add", "multiply")
    return Operation(f"reduce_window {name}", takes, call, reduced, cases, size if rounds else None, False)


# Gradients of poolings.

SELECTIONS = [
    ((4, 6), {"window_dimensions": [2, 3], "strides": [2, 3]}),
    ((5, 5), {"window_dimensions": [3, 2], "strides": [1, 2], "low": [1, 0], "high": [0, 1]}),
    ((7,), {"window_dimensions": [3], "strides": [2]}),
    ((1, 1), {"window_dimensions": [1, 1]}),
]


def select_and_scatter(name, keeps):
    """Returns `keeps(a, b)` for the comparison of that name: whether the first of two elements stays selected."""

    def call(world, x, source, start, options):
        dtype, shape = world.type(x)
        record = lambda world, a, b: [world.make("lxla_compare", family("COMPARE")[name.lower()], a, b)]
        select = world.computation(name, scalars([dtype] * 2), record)
        more = [combiner(world, "add", dtype), x, source, start, window_options(rank=len(shape), **options)]
        return world.make("lxla_select_and_scatter", select, *more)

    def selected(x, source, start, options):
        of = lambda name, default: field(options, name, default, x.ndim)
        out = np.full(x.shape, start, x.dtype)
        for place in np.ndindex(source.shape):
            best = None
            for offset in np.ndindex(*options["window_dimensions"]):
                at = tuple(p * s + o - low for p, s, o, low in zip(place, of("strides", 1), offset, of("low", 0)))
                if all(0 <= i < dim for i, dim in zip(at, x.shape)) and not (
                    best is not None and keeps(x[best], x[at])
                ):
                    best = at
            out[best] += source[place]
        return out

    def size(x, source, start, options):
        return selected(x, np.abs(source), np.abs(start), options)

    def places(x, options):
        """Returns the number of windows on each axis."""
        of = lambda name, default: field(options, name, default, x.ndim)
        rows = zip(x.shape, of("low", 0), of("high", 0), options["window_dimensions"], of("strides", 1))
        return tuple((dim + low + high - window) // stride + 1 for dim, low, high, window, stride in rows)

    def cases(dtype):
        selections = SELECTIONS if dtype == "f32" else SELECTIONS[:1]
        rows = [(plain(dtype, shape, 64), options) for shape, options in selections]
        if dtype in ("f32", "u8"):
            rows.append((np.ones((4, 6), DTYPES[dtype][1]), SELECTIONS[0][1]))
        if kind(dtype) == "float":
            rows.append((extremes(dtype), {"window_dimensions": [1, 3]}))
        return [
            Case([x, counted(dtype, places(x, options)), numbered(DTYPES[dtype][1].type(1))], {"options": options})
            for x, options in rows
        ]

    return Operation(f"select_and_scatter {name}", "integer float", call, selected, cases, size, False)


# Cumulative reductions.


def cumulatives():
    rows = [
        ("sum", "all", lambda a, b: a + b),
        ("product", "all", lambda a, b: a * b),
        ("max", "integer float", reference.maximum),
        ("min", "integer float", reference.minimum),
        ("all", "pred", np.logical_and),
        ("any", "pred", np.logical_or),
    ]
    for name, takes, function in rows:
        yield cumulative(name, takes, function)


def cumulative(name, takes, function):
    def call(world, x, axis, reverse):
        return world.make("lxla_cumulative", family("REDUCE")[name], x, axis, reverse)

    def passed(x, axis, reverse):
        x = x.astype(np.int64) if x.dtype.kind == "b" and name in ("sum", "product") else x
        out = np.moveaxis(x, axis, 0)[:: -1 if reverse else 1].copy()
        for i in range(1, len(out)):
            out[i] = function(out[i - 1], out[i])
        return np.moveaxis(out[:: -1 if reverse else 1], 0, axis)

    def size(x, axis, reverse):
        return passed(x if x.dtype.kind == "b" else np.abs(x), axis, reverse)

    def cases(dtype):
        shapes = [(3, 17), (2, 9)] if dtype in ("f32", "bf16") else [(3, 7)]
        rows = [(plain(dtype, shape, 108), 1) for shape in shapes]
        if dtype == "pred" or (dtype, name) in (("f32", "sum"), ("s8", "max")):
            rows += [(plain(dtype, shape, 109), axis) for shape, axis in SHAPES]
        if kind(dtype) == "float":
            rows.append((np.ascontiguousarray(rows_of(dtype)[:, :9]) if name in ("max", "min") else spoilt(dtype), 1))
        of = "s64" if dtype == "pred" and name in ("sum", "product") else dtype
        return [Case([x], {"axis": axis, "reverse": i % 2}, of) for i, (x, axis) in enumerate(rows)]

    return Operation(f"cumulative {name}", takes, call, passed, cases, size if name in ("sum", "product") else None)


def cumulative_logaddexp():
    def call(world, x, axis, reverse):
        return world.make("lxla_cumulative_logaddexp", x, axis, reverse)

    def passed(x, axis, reverse):
        out = np.array(np.moveaxis(x, axis, 0)[:: -1 if reverse else 1])
        for i in range(len(out)):
            out[i] = logaddexp(out[i - 1] if i else out.dtype.type(-np.inf), out[i])
        return np.moveaxis(out[:: -1 if reverse else 1], 0, axis)

    def size(x, axis, reverse):
        out = np.array(np.moveaxis(np.abs(x), axis, 0)[:: -1 if reverse else 1])
        return np.moveaxis(np.maximum.accumulate(out, 0)[:: -1 if reverse else 1], 0, axis) + 1

    def cases(dtype):
        rows = [(3 * plain(dtype, (3, 17), 108), 1, 0)]
        if dtype in ("f32", "c64"):
            shapes = [((9,), 0), ((4, 1), 1), ((0, 3), 1), ((3, 0), 1), ((5, 8), -2), ((2, 33), 1)]
            rows += [(3 * plain(dtype, shape, 109), axis, i % 2) for i, (shape, axis) in enumerate(shapes)]
        return [Case([x.astype(DTYPES[dtype][1])], {"axis": axis, "reverse": r}, dtype) for x, axis, r in rows]

    return Operation("cumulative_logaddexp", "float complex", call, passed, cases, size)


@functools.cache
def spoilt(name):
    rows = [[1, np.inf, 2, 3], [np.inf, 1, -np.inf, 1], [1, 2, np.nan, 1]]
    return np.array(rows, DTYPES[name][1])


def windowed():
    reduced = [reduce_window(name) for name in ("add", "multiply", "max", "min")]
    selections = [select_and_scatter("GE", lambda a, b: a >= b), select_and_scatter("GT", lambda a, b: a > b)]
    return [*reduces_with(), reduce_pairs(), *reduced, *selections, *cumulatives(), cumulative_logaddexp()]
