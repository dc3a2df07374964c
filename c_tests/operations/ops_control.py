"""Control flow, calls and barriers on all dtypes, as ops_test.py compares them: they only move elements."""

from ctypes import byref

import numpy as np
from ctypes_test import Tensor
from header import constants
from ops_cases import Case, Computation, Operation, array_of, counted, edges, ints, kept, moved, one, plain, scalar_of
from ops_combiners import ADD, numbered
from ops_values import DTYPES, NAMES


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

    yield moved(
        "call", lambda x, which: MOVES[which][2](x), call, [(one((5,)), {"which": 0}), (one((0,)), {"which": 1})]
    )

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
    yield moved(
        "while", lambda x, times: np.roll(x, times, 0), repeat, [(one(shape), {"times": n}) for shape, n in rows]
    )

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
    yield moved(
        "scan", delayed, scan, [(both(n), {"reverse": reverse, "result": result}) for n, reverse, result in rows]
    )


def barrier():
    def call(world, *tensors, result):
        return world.one_of_list("lxla_optimization_barrier", len(tensors), result, array_of(tensors), len(tensors))

    def cases(name):
        arrays = [edges(name), counted("s32", (2, 0)), counted(name, ())]
        return [Case(arrays, {"result": 0}), Case(arrays, {"result": 2})]

    return Operation("optimization_barrier", "all", call, lambda *x, result: x[result], cases, refuses=False)


def control():
    return [*branches(), *loops(), barrier()]
