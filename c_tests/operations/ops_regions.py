"""Operations that apply computations: reductions, control flow and calls, as ops_test.py compares them."""

import functools
from ctypes import byref

import numpy as np
import ops_reference as reference
from ctypes_test import Tensor
from header import constants
from ops_cases import Case, Computation, Operation, array_of, counted, ints, kept, moved, one, plain, release
from ops_cases import scalar_of
from ops_values import DTYPES, NAMES, kind

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


# Reductions.

REDUCED = [((7, 5, 3), [-1, 0]), ((7, 5, 3), [1]), ((4, 33), [1]), ((3, 0), [1]), ((0, 3), [1]), ((1, 5), [0])]
REDUCED += [((5,), []), ((), [])]


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


@functools.cache
def extremes(name):
    rows = [[np.nan, 1, 2], [1, np.inf, -np.inf], [0.0, -0.0, 0.0], [-0.0, -0.0, -0.0], [-1, 0.0, np.nan]]
    return np.array(rows, DTYPES[name][1])


def reduce_pairs():
    """Returns the greatest element of one tensor, and the element of another at the same position."""

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


# Control flow and calls on all dtypes: they only move elements.


def rolled(world, x):
    return [world.make("lxla_roll", x, ints([1]), ints([0]), 1)]


def flipped(world, x):
    return [world.make("lxla_reverse", x, ints([0]), 1)]


MOVES = [("rolled", rolled, lambda x: np.roll(x, 1, 0)), ("flipped", flipped, lambda x: np.flip(x, 0))]


def move(world, which, x):
    """Returns a computation that moves the elements of x."""
    dtype, shape = world.type(x)
    return world.computation(MOVES[which][0], [(NAMES[dtype], shape)], MOVES[which][1])


def branches():
    def call(world, x, which):
        return world.one_of_list("lxla_computation_call", 1, 0, move(world, which, x), array_of([x]), 1, counted=True)

    yield moved("call", lambda x, which: MOVES[which][2](x), call, [(one((5,)), {"which": 0}), (one((0,)), {"which": 1})])

    def cond(world, x, pred):
        pred = world.put(numbered(np.bool_(pred)))
        bodies = move(world, 0, x), move(world, 1, x)
        return world.one_of_list("lxla_cond", 1, 0, pred, *bodies, array_of([x]), 1, counted=True)

    def chosen(x, pred):
        return MOVES[0 if pred else 1][2](x)

    rows = [((3, 2), 1), ((3, 2), 0), ((0, 2), 1)]
    yield moved("cond", chosen, cond, [(one(shape), {"pred": pred}) for shape, pred in rows])

    def case(world, x, index, dtype):
        index = world.put(numbered(DTYPES[dtype][1].type(index)))
        bodies = (Computation * 2)(move(world, 0, x), move(world, 1, x))
        return world.one_of_list("lxla_case", 1, 0, index, bodies, 2, array_of([x]), 1, counted=True)

    def by_index(x, index, dtype):
        return MOVES[0 if index == 0 else 1][2](x)

    rows = [(1, "s32"), (0, "u8"), (-1, "s8"), (2, "s64"), (2**32, "u64"), (2**63, "u64"), (0, "s16"), (7, "u32")]
    yield moved("case", by_index, case, [(one((3,)), {"index": index, "dtype": dtype}) for index, dtype in rows])


def loops():
    def below(limit):
        def record(world, i, x):
            limit_of = scalar_of(np.int32(limit))
            return [world.make("lxla_compare_with_scalar", constants.COMPARE_LT, i, byref(limit_of), 0)]

        return record

    def turn(world, i, x):
        one_of = scalar_of(np.int32(1))
        return [world.make("lxla_binary_with_scalar", ADD, i, byref(one_of), 0), *rolled(world, x)]

    def repeat(world, x, times):
        dtype, shape = world.type(x)
        types = [("s32", ()), (NAMES[dtype], shape)]
        start = array_of([world.put(numbered(np.int32(0))), x])
        bodies = [world.computation(f"below {times}", types, below(times)), world.computation("turn", types, turn)]
        return world.one_of_list("lxla_while", 2, 1, *bodies, start, 2)

    rows = [((5,), 3), ((5,), 0), ((0,), 2), ((4, 2), 1)]
    yield moved("while", lambda x, times: np.roll(x, times, 0), repeat, [(one(shape), {"times": n}) for shape, n in rows])

    def scan(world, start, xs, reverse, result):
        dtype, shape = world.type(start)
        body = world.computation("delay", [(NAMES[dtype], shape)] * 2, lambda world, carry, x: [x, carry])
        length = world.type(xs)[1][0]
        carry, rows = (Tensor * 1)(), (Tensor * 1)()
        world.check("lxla_scan", body, array_of([start]), 1, array_of([xs]), 1, length, reverse, carry, rows, 1)
        return kept([Tensor(carry[0].id), Tensor(rows[0].id)], result)

    def delayed(start, xs, reverse, result):
        """Returns rows shifted by one: each becomes the one before it, and the last one is the carry."""
        rows = np.concatenate([xs, start[None]] if reverse else [start[None], xs])
        if result == 0:
            return rows[0 if reverse else -1]
        return rows[1:] if reverse else rows[:-1]

    rows = [(5, 0, 1), (5, 1, 1), (5, 0, 0), (1, 1, 0), (0, 0, 1), (0, 1, 0)]
    both = lambda length: lambda dtype: [plain(dtype, (3,), 32), counted(dtype, (length, 3))]
    yield moved("scan", delayed, scan, [(both(n), {"reverse": reverse, "result": result}) for n, reverse, result in rows])


def regions():
    return [*reduces_with(), reduce_pairs(), *branches(), *loops()]
