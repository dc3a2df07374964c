"""Reshapes, slices, padding and rearrangements, as ops_test.py compares them."""

import numpy as np
from ctypes_test import Tensor
from ops_cases import counted, ints, moved, one, plain


def several(*shapes):
    return lambda dtype: [counted(dtype, shape) for shape in shapes]


def shapes():
    def reshape(world, x, dims):
        return world.make("lxla_reshape", x, ints(dims), len(dims))

    yield moved(
        "reshape",
        lambda x, dims: x.reshape(dims),
        reshape,
        [
            (one((3, 4)), {"dims": [2, 1, 6]}),
            (one((1, 1)), {"dims": []}),
            (one((0, 3)), {"dims": [7, 0]}),
            (one(()), {"dims": [1, 1]}),
        ],
    )

    def broadcast_to(world, x, dims):
        return world.make("lxla_broadcast_to", x, ints(dims), len(dims))

    yield moved(
        "broadcast_to",
        lambda x, dims: np.broadcast_to(x, dims),
        broadcast_to,
        [
            (one((3, 1)), {"dims": [2, 3, 5]}),
            (one(()), {"dims": [4]}),
            (one((1, 3)), {"dims": [0, 3]}),
            (one((1,)), {"dims": [1, 1]}),
        ],
    )

    def transpose(world, x, perm):
        return world.make("lxla_transpose", x, ints(perm), len(perm))

    yield moved(
        "transpose",
        lambda x, perm: x.transpose(perm),
        transpose,
        [
            (one((3, 4, 5)), {"perm": [2, 0, -2]}),
            (one((33, 1)), {"perm": [1, 0]}),
            (one((0, 3)), {"perm": [-1, 0]}),
            (one(()), {"perm": []}),
        ],
    )

    def slice_(world, x, starts, limits, strides):
        return world.make("lxla_slice", x, ints(starts), ints(limits), ints(strides), len(starts))

    def sliced(x, starts, limits, strides):
        return x[tuple(slice(*part) for part in zip(starts, limits, strides))]

    yield moved(
        "slice",
        sliced,
        slice_,
        [
            (one((5, 7)), {"starts": [1, 0], "limits": [5, 7], "strides": [2, 3]}),
            (one((5, 7)), {"starts": [2, 3], "limits": [2, 4], "strides": [1, 9]}),
            (one((0,)), {"starts": [0], "limits": [0], "strides": [1]}),
        ],
    )

    def concatenate(world, *tensors, axis):
        return world.make("lxla_concatenate", (Tensor * len(tensors))(*tensors), len(tensors), axis)

    yield moved(
        "concatenate",
        lambda *x, axis: np.concatenate(x, axis),
        concatenate,
        [
            (several((2, 3), (2, 1), (2, 0)), {"axis": -1}),
            (several((1, 3), (4, 3)), {"axis": 0}),
            (several((3,)), {"axis": 0}),
        ],
    )


def padded(x, value, low, high, interior):
    """Pads as StableHLO does: first between the elements, then around them; a negative edge cuts elements off."""
    spread = [(dim - 1) * (gap + 1) + 1 if dim else 0 for dim, gap in zip(x.shape, interior)]
    out = np.full([size + max(l, 0) + max(h, 0) for size, l, h in zip(spread, low, high)], value, x.dtype)
    out[tuple(slice(max(l, 0), max(l, 0) + size, gap + 1) for size, l, gap in zip(spread, low, interior))] = x
    return out[tuple(slice(max(-l, 0), dim - max(-h, 0)) for dim, l, h in zip(out.shape, low, high))]


def pads():
    def two(first, second):
        return lambda dtype: [counted(dtype, first), plain(dtype, second, 9)]

    def pad(world, x, value, low, high, interior):
        return world.make("lxla_pad", x, value, ints(low), ints(high), ints(interior), len(low))

    yield moved(
        "pad",
        padded,
        pad,
        [
            (two((3, 2), ()), {"low": [1, -1], "high": [0, 2], "interior": [2, 0]}),
            (two((0,), ()), {"low": [1], "high": [2], "interior": [3]}),
            (two((4,), ()), {"low": [-1], "high": [-1], "interior": [1]}),
            (two((), ()), {"low": [], "high": [], "interior": []}),
        ],
    )


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


def shape():
    return [*shapes(), *pads(), *rearrangements()]
