"""Operations that apply computations: reductions, control flow and calls, as ops_test.py compares them."""

import numpy as np
import ops_reference as reference
from ctypes import byref
from ops_cases import Case, Computation, Operation, array_of, counted, declare, edges, ints, plain, scalar_of
from ops_values import DTYPES, NAMES, kind

declare("lxla_reduce_with", "computation tensors tensors size list")
declare("lxla_computation_call", "computation tensors size")
declare("lxla_while", "computation computation tensors size")
declare("lxla_cond", "tensor computation computation tensors size")
declare("lxla_case", "tensor computations size tensors size")
declare("lxla_scan", "computation tensors size tensors size i64 i32")


def binary_of(number):
    return lambda world, a, b: [world.make("lxla_binary", number, a, b)]


# Dtypes that computations of two scalars take, what they record, what they are of NumPy's arrays.
COMBINERS = {
    "replace": ("all", lambda world, a, b: [b], lambda a, b: b),
    "add": ("number", binary_of(1), lambda a, b: a + b),
    "multiply": ("number", binary_of(3), lambda a, b: a * b),
    "max": ("pred integer float", binary_of(7), reference.maximum),
    "min": ("pred integer float", binary_of(8), reference.minimum),
}


def scalars(dtypes):
    return [(NAMES[dtype], ()) for dtype in dtypes]


def combiner(world, name, dtype):
    return world.computation(name, scalars([dtype, dtype]), COMBINERS[name][1])


def pairwise(world, dtype):
    """(a, c) and (b, d) to (a + b, c * d + b)."""

    def record(world, a, c, b, d):
        product = world.make("lxla_binary", 3, c, d)
        return [world.make("lxla_binary", 1, a, b), world.make("lxla_binary", 1, product, b)]

    return world.computation("pairwise", scalars([dtype] * 4), record)


def regions():
    return []
