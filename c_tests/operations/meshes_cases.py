"""Further cases of meshes_test.py: operations of which XLA may split some axes only, with sizes that meshes divide. All
numbers are whole and small, so that results are exact in any order."""

from dataclasses import replace

import ctypes_test as abi
import numpy as np
from ctypes_test import Tensor
from ops_cases import Case, Operation, array_of, counted, release
from ops_combiners import start_array
from ops_values import DTYPES, kind

# Shapes of x and the kernel, and the options as fields of the struct. The last three are computed whole by every
# device.
CONVOLUTIONS = [
    ((8, 4, 12), (6, 4, 3), {"padding_low": [1], "padding_high": [1]}),
    ((4, 6, 6, 4), (8, 6, 3, 2), {"window_strides": [2, 1], "padding_low": [1, 1], "rhs_dilation": [1, 2]}),
    (
        (8, 6, 4, 4),
        (3, 3, 4, 8),
        {"lhs_dimensions": [0, 3, 1, 2], "rhs_dimensions": [3, 2, 0, 1], "out_dimensions": [0, 3, 1, 2]},
    ),
    ((8, 6), (4, 6), {}),
    ((8, 4, 6), (4, 4, 4), {"lhs_dilation": [2], "window_reversal": [1]}),
    ((8, 8, 6), (8, 4, 3), {"feature_group_count": 2}),
    ((8, 4, 6), (8, 4, 3), {"batch_group_count": 2}),
    ((8, 4, 8), (6, 4, 3), {"padding_low": [-1]}),
]
REDUCED = [((8, 6, 4), [1]), ((8, 6, 4), [0, 2]), ((4, 8), [0]), ((16,), [0])]
# Edges and gaps of pads of 8 x 6 x 4 elements, some of which are removed.
PADS = [
    ([0, -1, 0], [0, -2, 0], [0, 0, 0]),
    ([0, 0, 1], [-4, 0, 0], [0, 0, 0]),
    ([-1, 0, 0], [0, 2, 0], [1, 0, 0]),
    ([-2, 3, -1], [1, -4, 0], [0, 1, 0]),
]


def whole(name, shape, seed, most=2):
    """Returns whole numbers up to `most`, of both signs if the dtype has them."""
    least = 0 if kind(name) in ("pred", "unsigned") else -most
    return np.random.default_rng(seed).integers(least, most + 1, shape).astype(DTYPES[name][1])


def convolutions(name):
    return [
        Case([whole(name, a, 1), whole(name, b, 2)], {"options": options, "dtype": None}, name)
        for a, b, options in CONVOLUTIONS
    ]


def derivative(convolution, operand):
    """The derivative of a convolution by an operand, times a cotangent."""

    def call(world, x, kernel, cotangent, options, dtype):
        y = convolution.call(world, x, kernel, options, dtype)
        by, made = (x, kernel)[operand], (Tensor * 1)()
        abi.ok(abi.lib.lxla_gradients(array_of([y]), 1, array_of([cotangent]), array_of([by]), 1, made))
        release(y)
        return Tensor(made[0].id)

    def transposed(x, kernel, cotangent, options, dtype):
        """Applies the convolution, which is linear in the operand, to every unit."""
        operands, by = [x, kernel], (x, kernel)[operand]
        out = np.empty(by.size, by.dtype)
        for i in range(by.size):
            operands[operand] = np.zeros(by.size, by.dtype)
            operands[operand][i] = 1
            operands[operand] = operands[operand].reshape(by.shape)
            out[i] = (convolution.reference(*operands, options, dtype) * cotangent).sum()
        return out.reshape(by.shape)

    def size(x, kernel, cotangent, options, dtype):
        return transposed(np.abs(x), np.abs(kernel), np.abs(cotangent), options, dtype)

    def cases(name):
        made = []
        for case in convolutions(name):
            shape = convolution.reference(*(np.zeros(array.shape) for array in case.arrays), **case.given).shape
            made.append(Case([*case.arrays, whole(name, shape, 3)], case.given, name))
        return made

    return Operation(f"convolution derivative {operand}", "float", call, transposed, cases, size, False)


def extremes(name):
    x = whole(name, (8, 6, 4), 4)
    return [Case([x], {"axis": axis, "keep": axis == 2, "dtype": "s32"}, "s32") for axis in (0, 1, 2)]


def reductions(combiner):
    return lambda name: [
        Case([whole(name, shape, 5, 1), start_array(combiner, name)], {"axes": axes}) for shape, axes in REDUCED
    ]


def pads(name):
    fields = ("low", "high", "interior")
    return [Case([counted(name, (8, 6, 4)), counted(name, ())], dict(zip(fields, row))) for row in PADS]


def further(known):
    """Yields operations with these cases, made of the operations `known`."""
    known = {operation.name: operation for operation in known}
    convolution = known["convolution"]
    yield replace(convolution, cases=convolutions)
    yield from (derivative(convolution, operand) for operand in (0, 1))
    yield from (replace(known[name], cases=extremes) for name in ("argmax", "argmin"))
    for combiner in ("add", "multiply", "max", "min"):
        yield replace(known[f"reduce_with {combiner}"], cases=reductions(combiner))
    yield replace(known["pad"], cases=pads)
