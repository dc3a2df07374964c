"""Operations on shapes and places, reductions and products, as ops_test.py compares them."""

import functools

import numpy as np
from ctypes_test import Tensor
from header import family
from ops_cases import Case, Operation, counted, ints, moved, one, plain
from ops_values import DTYPES, NAMES, kind


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


def places():
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


@functools.cache
def start(number):
    return np.array(number, np.int32)


def clamped(x, at, sizes):
    firsts = [min(max(i, 0), dim - size) for i, dim, size in zip(at, x.shape, sizes)]
    return tuple(slice(first, first + size) for first, size in zip(firsts, sizes))


def padded(x, value, low, high, interior):
    """Pads as StableHLO does: first between the elements, then around them; a negative edge cuts elements off."""
    spread = [(dim - 1) * (gap + 1) + 1 if dim else 0 for dim, gap in zip(x.shape, interior)]
    out = np.full([size + max(l, 0) + max(h, 0) for size, l, h in zip(spread, low, high)], value, x.dtype)
    out[tuple(slice(max(l, 0), max(l, 0) + size, gap + 1) for size, l, gap in zip(spread, low, interior))] = x
    return out[tuple(slice(max(-l, 0), dim - max(-h, 0)) for dim, l, h in zip(out.shape, low, high))]


def creations():
    """Operations without operands: an array gives only dtype and shape."""

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
        return [Case([counted(name, shape)], {"axis": axis}) for shape, axis in (shapes if name == "s32" else shapes[:1])]

    yield Operation("iota", "number", iota, counting, iota_cases)


# Reductions and products.

REDUCED = [
    ((7, 5, 3), [1]),
    ((7, 5, 3), [-1, 0]),
    ((4, 33), [0, 1]),
    ((3, 0), [1]),
    ((0, 3), [1]),
    ((1, 5), [0]),
    ((5,), []),
]


def reduces():
    rows = [
        ("sum", "all", np.sum),
        ("product", "all", np.prod),
        ("max", "integer float", np.max),
        ("min", "integer float", np.min),
        ("all", "pred", np.all),
        ("any", "pred", np.any),
    ]
    for name, takes, function in rows:
        yield reduce(name, takes, function)


def lowest(name, dtype):
    """Returns the greatest, or the least, of no elements."""
    if dtype.kind in "iu":
        return np.iinfo(dtype).min if name == "max" else np.iinfo(dtype).max
    return -np.inf if name == "max" else np.inf


def reduce(name, takes, function):
    def call(world, x, axes, keep):
        return world.make("lxla_reduce", family("REDUCE")[name], x, ints(axes), len(axes), keep)

    def reduced(x, axes, keep):
        more = {"initial": lowest(name, x.dtype)} if name in ("max", "min") else {}
        if name in ("sum", "product") and x.dtype.kind in "biu":
            more["dtype"] = np.int64 if x.dtype.kind == "b" else x.dtype
        result = np.asarray(function(x, axis=tuple(axes), keepdims=bool(keep), **more))
        if name in ("max", "min") and x.dtype.kind == "f":
            # Of two zeros the positive one is the greater.
            negative = np.signbit(np.where(x == 0, x, -0.0 if name == "max" else 0.0))
            negative = (np.all if name == "max" else np.any)(negative, axis=tuple(axes), keepdims=bool(keep))
            result = np.where(result == 0, np.where(negative, -0.0, 0.0), result)
        return result

    def size(x, axes, keep):
        """Returns the scale of the errors of the steps."""
        if name == "sum":
            return np.sum(np.abs(x), axis=tuple(axes), keepdims=bool(keep))
        if name == "product":
            return np.prod(np.abs(x), axis=tuple(axes), keepdims=bool(keep))

    def cases(dtype):
        result = "s64" if dtype == "pred" and name in ("sum", "product") else ""
        given = lambda i, axes: {"axes": axes, "keep": i % 2}
        made = [Case([plain(dtype, shape, 11)], given(i, axes), result) for i, (shape, axes) in enumerate(REDUCED)]
        if kind(dtype) == "float":
            at = np.array(
                [[np.nan, 1, 2], [np.inf, 1, -np.inf], [np.inf, 1, 2], [-0.0, 0.0, -0.0], [-0.0, -0.0, -0.0]],
                DTYPES[dtype][1],
            )
            made.append(Case([at if name in ("max", "min") else at[:3]], {"axes": [1], "keep": 0}))
        return made if dtype in ("f32", "pred") else made[:1] + made[7:]

    return Operation(name, takes, call, reduced, cases, scale=size if name in ("sum", "product") else None)


PRODUCTS = [
    ((3, 5), (5, 4)),
    ((2, 1, 3, 7), (4, 7, 2)),
    ((9,), (9,)),
    ((3, 9), (9,)),
    ((9,), (9, 2)),
    ((3, 0), (0, 2)),
    ((0, 3), (3, 2)),
    ((1, 1), (1, 1)),
    ((70, 130), (130, 50)),
]


def matmul():
    def call(world, a, b):
        return world.make("lxla_matmul", a, b)

    def product(a, b):
        if a.dtype.kind in "iu":
            return np.matmul(a, b, dtype=a.dtype)
        return np.matmul(a, b)

    def size(a, b):
        return np.matmul(np.abs(a), np.abs(b))

    def cases(dtype):
        pairs = PRODUCTS if dtype == "f32" else PRODUCTS[:2] if dtype in ("s8", "bf16", "c64") else PRODUCTS[:1]
        return [Case([plain(dtype, a, 12), plain(dtype, b, 13)]) for a, b in pairs]

    return Operation("matmul", "number", call, product, cases, scale=size)


def arrays():
    return [*shapes(), *places(), *creations(), *reduces(), matmul()]
