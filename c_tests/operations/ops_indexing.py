"""Reading and writing at indices: at computed positions, with all dimension numbers, and along one axis, as ops_test.py
compares them."""

import functools

import numpy as np
from ctypes_test import Tensor
from header import family
from ops_cases import Case, Operation, array_of, counted, ints, moved, one, options_of, plain
from ops_combiners import COMBINERS, combiner, pairwise, start_of
from ops_values import DTYPES


@functools.cache
def start(number):
    return np.array(number, np.int32)


def clamped(x, at, sizes):
    firsts = [min(max(i, 0), dim - size) for i, dim, size in zip(at, x.shape, sizes)]
    return tuple(slice(first, first + size) for first, size in zip(firsts, sizes))


def at_positions():
    """Returns operations that read and write at computed positions."""

    def starts(world, numbers):
        made = [world.put(start(number)) for number in numbers]
        return (Tensor * len(made))(*made)

    def dynamic_slice(world, x, at, sizes):
        return world.make("lxla_dynamic_slice", x, starts(world, at), ints(sizes), len(sizes))

    yield moved(
        "dynamic_slice",
        lambda x, at, sizes: x[clamped(x, at, sizes)],
        dynamic_slice,
        [
            (one((4, 5)), {"at": [1, 9], "sizes": [2, 3]}),
            (one((4, 5)), {"at": [-3, 2], "sizes": [0, 1]}),
            (one(()), {"at": [], "sizes": []}),
        ],
    )

    def update(world, x, part, at):
        return world.make("lxla_dynamic_update_slice", x, part, starts(world, at), len(at))

    def updated(x, part, at):
        out = x.copy()
        out[clamped(x, at, part.shape)] = part
        return out

    def two(first, second):
        return lambda dtype: [counted(dtype, first), plain(dtype, second, 9)]

    yield moved(
        "dynamic_update_slice",
        updated,
        update,
        [
            (two((4, 5), (2, 3)), {"at": [1, 9]}),
            (two((4, 5), (0, 5)), {"at": [1, 0]}),
            (two((3,), (3,)), {"at": [2]}),
        ],
    )

    def take(world, x, at, axis):
        return world.make("lxla_take", x, at, axis)

    def taken(x, at, axis):
        size = x.shape[axis]
        return (
            np.take(x, np.clip(np.where(at < 0, at + size, at), 0, size - 1).astype(np.int64), axis)
            if at.size
            else np.take(x, at.astype(np.int64), axis)
        )

    def at(shape, dtype, *numbers):
        indices = np.array(numbers, DTYPES[dtype][1]) if numbers else np.empty(0, DTYPES[dtype][1])
        return lambda name: [counted(name, shape), indices]

    yield moved(
        "take",
        taken,
        take,
        [
            (at((4, 5), "s32", 3, -1, 0, 99, -99), {"axis": -1}),
            (at((4, 5), "u8", 3, 200), {"axis": 0}),
            (at((4, 5), "s64"), {"axis": 1}),
        ],
    )


gather_options = options_of("lxla_gather_options")
scatter_options = options_of("lxla_scatter_options")


@functools.cache
def indices(numbers, shape, dtype="s32"):
    return np.array(numbers).astype(DTYPES[dtype][1]).reshape(shape)


# Gather and scatter with StableHLO's dimension numbers.


def starts(rank, at, vector_dim, index_map, batching, at_batching):
    """Yields each position of the indices, with the start of its slice on every axis."""
    at = at[..., None] if vector_dim == at.ndim else np.moveaxis(at, vector_dim, -1)
    for place in np.ndindex(at.shape[:-1]):
        start = [0] * rank
        for axis, number in zip(index_map, at[place]):
            start[axis] = int(number)
        for axis, of in zip(batching, at_batching):
            start[axis] = place[of - (of > vector_dim)]
        yield place, start


def slices(start, sizes):
    return tuple(slice(first, first + size) for first, size in zip(start, sizes))


# Shapes of x and of the indices; offset, collapsed and batching axes; batching axes of the indices; the index map; the
# axis of index vectors; the sizes of slices.
GATHERS = [
    ((5, 4), (3,), [1], [0], [], [], [0], 1, [1, 3]),
    ((3, 4, 5), (2, 2), [0, 2], [1], [], [], [2, 0], 0, [2, 1, 3]),
    ((4, 3, 2), (3, 2, 1), [2], [0], [1], [0], [0], 2, [1, 1, 2]),
    ((3, 4), (2, 0), [0], [0], [], [], [0], 2, [1, 2]),
    ((3, 4), (2,), [1], [0], [], [], [0], 1, [1, 0]),
    ((4,), (), [], [0], [], [], [0], 0, [1]),
    ((2, 3), (1,), [0, 1], [], [], [], [1], 0, [2, 2]),
]

NUMBERS = [1, -9, 4, 0, 99, 2, 3, -1]


def gather():
    def call(world, x, at, numbers):
        names = ["offset_dims", "collapsed_slice_dims", "operand_batching_dims", "start_indices_batching_dims"]
        names += ["start_index_map", "index_vector_dim", "slice_sizes"]
        return world.make("lxla_gather", x, at, gather_options(**dict(zip(names, numbers))))

    def gathered(x, at, numbers):
        offset, collapsed, batching, at_batching, index_map, vector_dim, sizes = numbers
        kept = [size for axis, size in enumerate(sizes) if axis not in collapsed + batching]
        places = [dim for axis, dim in enumerate(at.shape) if axis != vector_dim]
        out = np.empty([*places, *kept], x.dtype)
        for place, start in starts(x.ndim, at, vector_dim, index_map, batching, at_batching):
            start = [min(max(first, 0), dim - size) for first, dim, size in zip(start, x.shape, sizes)]
            out[place] = x[slices(start, sizes)].reshape(kept)
        return np.moveaxis(out, range(len(places), out.ndim), offset)

    def cases(dtype, of=None):
        rows = GATHERS if dtype == "f32" else GATHERS[:3]
        return [
            Case([counted(of or dtype, shape), places(at, dtype if of else "s32")], {"numbers": numbers})
            for shape, at, *numbers in rows
        ]

    yield Operation("gather", "all", call, gathered, cases, refuses=False)
    yield Operation("gather indices", "integer", call, gathered, lambda dtype: cases(dtype, "f32"))


@functools.cache
def places(shape, dtype="s32"):
    """Returns indices, some of which are out of range."""
    return indices(tuple(np.resize(NUMBERS, int(np.prod(shape)))), shape, dtype)


# Shapes of x, the indices and the updates; window, inserted and batching axes; batching axes of the indices; the index
# map; the axis of index vectors.
SCATTERS = [
    ((5, 4), (6,), (6, 3), [1], [0], [], [], [0], 1),
    ((3, 4, 5), (2, 4), (2, 4, 3), [0, 2], [1], [], [], [2, 0], 0),
    ((4, 3, 2), (3, 2, 1), (3, 2, 2), [2], [0], [1], [0], [0], 2),
    ((3, 4), (0,), (0, 4), [1], [0], [], [], [0], 1),
    ((0, 4), (2,), (2, 4), [1], [0], [], [], [0], 1),
    ((4,), (), (), [], [0], [], [], [0], 0),
]


def scattered(tensors, at, updates, numbers, combine):
    """Applies the updates of one tensor after another; drops slices that are not within the tensor."""
    window, inserted, batching, at_batching, index_map, vector_dim = numbers
    out = [x.copy() for x in tensors]
    updates = [np.moveaxis(x, window, range(x.ndim - len(window), x.ndim)) for x in updates]
    sizes = list(updates[0].shape[updates[0].ndim - len(window) :])
    for axis in sorted(inserted + batching):
        sizes.insert(axis, 1)
    for place, start in starts(out[0].ndim, at, vector_dim, index_map, batching, at_batching):
        where = slices(start, sizes)
        if all(0 <= first <= dim - size for first, dim, size in zip(start, out[0].shape, sizes)):
            made = combine(*(x[where] for x in out), *(x[place].reshape(sizes) for x in updates))
            for x, part in zip(out, made):
                x[where] = part
    return out


def scatter_call(world, body, tensors, at, updates, numbers, result):
    names = ["update_window_dims", "inserted_window_dims", "input_batching_dims", "scatter_indices_batching_dims"]
    options = scatter_options(**dict(zip([*names, "scatter_dims_to_operand_dims", "index_vector_dim"], numbers)))
    inputs = [body, array_of(tensors), at, array_of(updates), len(tensors), options]
    return world.one_of_list("lxla_scatter", len(tensors), result, *inputs)


def scatters():
    for name, (takes, _, function) in COMBINERS.items():
        yield scatter(name, takes, function)
    yield scatter("together", "s8 u64 f16 f32 c64", None)


def scatter(name, takes, function):
    """Makes an operation that scatters by a combiner of two elements; without `function`, two tensors at once."""

    def call(world, x, at, updates, numbers):
        dtype = world.type(x)[0]
        if function:
            return scatter_call(world, combiner(world, name, dtype), [x], at, [updates], numbers, 0)
        return scatter_call(world, pairwise(world, dtype), [x, x], at, [updates, updates], numbers, 1)

    def of(x, at, updates, numbers):
        if function:
            return scattered([x], at, [updates], numbers, lambda a, b: [function(a, b)])[0]
        return scattered([x, x], at, [updates, updates], numbers, lambda a, c, b, d: [a + b, c * d + b])[1]

    def size(x, at, updates, numbers):
        return of(np.abs(x), at, np.abs(updates), numbers)

    def cases(dtype):
        rows = SCATTERS if (name, dtype) in (("add", "f32"), ("replace", "u8")) else SCATTERS[:1]
        return [
            Case([plain(dtype, x, 91), places(at), plain(dtype, updates, 92)], {"numbers": numbers})
            for x, at, updates, *numbers in rows
        ]

    rounds = name not in ("max", "min", "replace")
    return Operation(f"scatter {name}", takes, call, of, cases, size if rounds else None, False)


# Gather and scatter along one axis.


def from_start(at, dim):
    return [int(i) + dim if i < 0 else int(i) for i in at.ravel()]


def take_along_axis():
    def call(world, x, at, axis):
        return world.make("lxla_take_along_axis", x, at, axis)

    def taken(x, at, axis):
        axis %= x.ndim
        dims, at_dims = list(x.shape), list(at.shape)
        dims[axis] = at_dims[axis] = 1
        common = list(np.broadcast_shapes(dims, at_dims))
        whole = lambda array: np.broadcast_to(array, [*common[:axis], array.shape[axis], *common[axis + 1 :]])
        near = np.clip(from_start(at, x.shape[axis]), 0, max(x.shape[axis] - 1, 0)).astype(int).reshape(at.shape)
        return np.take_along_axis(whole(x), whole(near), axis)

    rows = [((5, 3), (2, 3), 0), ((2, 1, 4), (3, 5), -1), ((3, 4), (3, 0), 1), ((0, 4), (0, 2), 1), ((3,), (1,), 0)]

    def cases(dtype, of=None):
        made = []
        for x, at, axis in rows if dtype in ("f32", "s8") else rows[:1]:
            at = at if len(at) == len(x) else (1,) * (len(x) - len(at)) + at
            made.append(Case([counted(of or dtype, x), places(at, dtype if of else "s32")], {"axis": axis}))
        return made

    yield Operation("take_along_axis", "all", call, taken, cases, refuses=False)
    yield Operation("take_along_axis indices", "integer", call, taken, lambda dtype: cases(dtype, "f32"))


def combined_along(function):
    """Updates element by element; drops indices out of range."""

    def combined(x, at, updates, axis):
        out = x.copy()
        near = np.reshape(from_start(at, x.shape[axis]), at.shape)
        for place in np.ndindex(at.shape):
            if 0 <= near[place] < x.shape[axis]:
                where = list(place)
                where[axis] = int(near[place])
                out[tuple(where)] = function(out[tuple(where)], updates[place])
        return out

    return combined


def scatter_along():
    rows = [("copy", *COMBINERS["replace"])]
    rows += [("sum", "all", *COMBINERS["add"][1:]), ("product", "all", *COMBINERS["multiply"][1:])]
    rows += [(name, "pred integer float", *COMBINERS[name][1:]) for name in ("max", "min")]
    for name, takes, _, function in rows:
        yield along(name, takes, combined_along(function))
    copied = combined_along(lambda a, b: b)
    arrays = lambda dtype: [counted("f32", (5, 3)), places((4, 3), dtype), counted("f32", (4, 3))]
    cases = lambda dtype: [Case(arrays(dtype), {"axis": 0})]
    yield Operation("scatter_along indices", "integer", scatter_along_call("copy"), copied, cases)


def scatter_along_call(name):
    number = family("SCATTER")[name]
    return lambda world, x, at, updates, axis: world.make("lxla_scatter_along", number, x, at, updates, axis)


def size_of(of):
    return lambda x, at, updates, **given: of(np.abs(x), at, np.abs(updates), **given)


SHAPES = [((5, 3), (7, 3), 0), ((2, 3, 4), (2, 3, 6), -1), ((3, 2), (0, 2), 0), ((0, 2), (1, 2), 0), ((1,), (1,), 0)]


def along(name, takes, of):
    def cases(dtype):
        return [
            Case([plain(dtype, x, 93), places(at), plain(dtype, at, 94)], {"axis": axis})
            for x, at, axis in (SHAPES if (dtype, name) in (("f32", "sum"), ("u8", "copy")) else SHAPES[:1])
        ]

    scale = size_of(of) if name in ("sum", "product") else None
    return Operation(f"scatter_along {name}", takes, scatter_along_call(name), of, cases, scale)


def index_writes():
    def whole(function):
        """Returns the row of indices, repeated for all slices."""
        combined = combined_along(function)

        def of(x, at, source, axis):
            shape = [-1 if i == axis % x.ndim else 1 for i in range(x.ndim)]
            return combined(x, np.broadcast_to(at.reshape(shape), source.shape), source, axis)

        return of

    def cases(dtype, of=None):
        made = []
        for x, source, axis in SHAPES if dtype in ("f32", "s8") else SHAPES[:1]:
            at = places((source[axis],), dtype if of else "s32")
            made.append(Case([plain(of or dtype, x, 95), at, plain(of or dtype, source, 96)], {"axis": axis}))
        return made

    def call(function):
        return lambda world, x, at, source, axis: world.make(function, x, axis, at, source)

    add, copy = whole(lambda a, b: a + b), whole(lambda a, b: b)
    yield Operation("index_add", "all", call("lxla_index_add"), add, cases, size_of(add))
    yield Operation("index_copy", "all", call("lxla_index_copy"), copy, cases, refuses=False)
    for name, of in [("add", add), ("copy", copy)]:
        with_dtypes = lambda dtype: cases(dtype, "s32" if dtype != "s32" else "s16")
        yield Operation(f"index_{name} indices", "integer", call(f"lxla_index_{name}"), of, with_dtypes)


def segments():
    """Reductions of slices by their numbers, of which some are out of range and some repeated."""
    rows = [("sum", "all", lambda a, b: a + b, 0), ("product", "all", lambda a, b: a * b, 1)]
    rows += [("max", "integer float", COMBINERS["max"][2], None), ("min", "integer float", COMBINERS["min"][2], None)]
    rows += [("all", "pred", np.logical_and, True), ("any", "pred", np.logical_or, False)]
    for name, takes, function, start in rows:
        yield segment_reduce(name, takes, function, start)


def segment_reduce(name, takes, function, start):
    def call(world, x, ids, of, count):
        return world.make("lxla_segment_reduce", family("REDUCE")[name], x, ids, count)

    def of_empty(of):
        return start_of(name, of) if start is None else start

    def reduced(x, ids, of, count):
        x = x.astype(np.int64) if of == "pred" and name in ("sum", "product") else x
        out = np.full((count, *x.shape[1:]), of_empty(of), x.dtype)
        for row, place in zip(x, ids.astype(np.int64)):
            if 0 <= place < count:
                out[place] = function(out[place], row)
        return out

    def size(x, ids, of, count):
        return reduced(np.abs(x) if x.dtype.kind != "b" else x, ids, of, count)

    def cases(dtype):
        ids = np.array([2, 0, 2, -1, 4, 0, 3, 1, 5, 7], "i4")
        rows = [((10, 3), ids, 5), ((10,), ids.astype("i1"), 300), ((0, 2), ids[:0], 3), ((10, 1), ids, 0)]
        of = "s64" if dtype == "pred" and name in ("sum", "product") else dtype
        return [
            Case([plain(dtype, shape, 97), at], {"of": dtype, "count": count}, of)
            for shape, at, count in (rows if dtype in ("f32", "s8", "pred") else rows[:1])
        ]

    scale = size if name in ("sum", "product") else None
    return Operation(f"segment_reduce {name}", takes, call, reduced, cases, scale)


def indexed():
    return [*segments(), *at_positions(), *gather(), *scatters(), *take_along_axis(), *scatter_along(), *index_writes()]
