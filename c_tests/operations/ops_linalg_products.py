"""Sums of products: of tensors by lists of axes and by equations, and of linear algebra, as ops_test.py compares
them."""

import numpy as np
from ops_cases import Case, Operation, array_of, counted, ints, plain, release
from ops_values import DTYPES, kind

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


# A transposed matrix with many columns, and one with few, which have a lowering of their own.
NARROW = [((7, 160), (7, 10)), ((3, 31), (3, 2)), ((0, 64), (0, 4)), ((64, 1024), (64, 33))]


def matmul():
    def call(world, a, b, transposed=False):
        if not transposed:
            return world.make("lxla_matmul", a, b)
        a = world.make("lxla_transpose", a, ints([1, 0]), 2)
        result = world.make("lxla_matmul", a, b)
        release(a)
        return result

    def product(a, b, transposed=False):
        a = a.T if transposed else a
        if a.dtype.kind in "iu":
            return np.matmul(a, b, dtype=a.dtype)
        return np.matmul(a, b)

    def size(a, b, **given):
        return product(np.abs(a), np.abs(b), **given)

    def cases(dtype):
        pairs = PRODUCTS if dtype == "f32" else PRODUCTS[:2] if dtype in ("s8", "bf16", "c64") else PRODUCTS[:1]
        made = [Case([plain(dtype, a, 12), plain(dtype, b, 13)]) for a, b in pairs]
        if dtype in ("f32", "f64", "bf16"):
            made += [Case([plain(dtype, a, 14), plain(dtype, b, 15)], {"transposed": True}) for a, b in NARROW]
        if dtype == "f32":
            steep_rows = np.tile(steep(dtype), 16)
            made.append(Case([steep_rows, counted(dtype, (4, 2))], {"transposed": True}))
        return made

    return Operation("matmul", "number", call, product, cases, scale=size)


def in_dtype(array, name):
    """Converts integers to the dtype in which they are computed; others are in more precision already."""
    return array.astype(DTYPES[name][1]) if name and array.dtype.kind in "iu" else array


def steep(name):
    """Returns rows with infinities and NaN."""
    return np.array([[np.nan, 1], [np.inf, 1], [np.inf, -np.inf], [-np.inf, 2]], DTYPES[name][1])


# Shapes of two tensors; their batch axes; the axes that are summed over.
CONTRACTIONS = [
    ((2, 3, 5), (5, 2, 4), [[0], [1]], [[-1], [0]]),
    ((3, 5), (5,), [[], []], [[1], [0]]),
    ((4,), (3,), [[], []], [[], []]),
    ((2, 3, 4), (4, 3, 5), [[], []], [[1, 2], [1, 0]]),
    ((3, 2), (2, 3), [[1, 0], [0, 1]], [[], []]),
    ((3, 0), (0, 2), [[], []], [[1], [0]]),
    ((2, 0, 3), (2, 3, 1), [[0], [0]], [[2], [1]]),
    ((1, 1), (1, 1), [[], []], [[0], [-2]]),
    ((), (3,), [[], []], [[], []]),
    ((33, 65), (65, 17), [[], []], [[1], [0]]),
    # Narrow products, at the limits of their own lowering.
    ((7, 160), (7, 10), [[], []], [[0], [0]]),
    ((9, 512), (9, 32), [[], []], [[0], [-2]]),
    ((5, 31), (5, 2), [[], []], [[0], [0]]),
    ((5, 64), (5, 1), [[], []], [[0], [0]]),
    ((0, 32), (0, 2), [[], []], [[0], [0]]),
    ((2, 32, 1024), (2, 32, 33), [[], []], [[0, 1], [0, -2]]),
    ((3, 2, 160), (3, 2, 10), [[], []], [[0, 1], [0, 1]]),
    ((2, 3, 160), (3, 2, 10), [[], []], [[0, 1], [1, 0]]),
]

# Result dtypes other than the operands' own.
WIDER = {"s8": "s32", "u8": "u16", "s32": "s64", "bf16": "f32", "f16": "f32", "f32": "f64", "c64": "c128"}


def dot_general():
    def call(world, a, b, batching, contracting, dtype):
        lists = [*map(ints, batching), len(batching[0]), *map(ints, contracting), len(contracting[0])]
        return world.make("lxla_dot_general", a, b, *lists, DTYPES[dtype][0] if dtype else 0)

    def product(a, b, batching, contracting, dtype):
        a, b = in_dtype(a, dtype), in_dtype(b, dtype)
        left, right = list(range(a.ndim)), list(range(a.ndim, a.ndim + b.ndim))
        for i, j in [*zip(*batching), *zip(*contracting)]:
            right[j] = left[i]
        batches = [left[i] for i in batching[0]]
        rest = [axis for axis in left + right if (left + right).count(axis) == 1]
        return np.einsum(a, left, b, right, batches + rest)

    def size(a, b, **given):
        return product(np.abs(a), np.abs(b), **given)

    def cases(name):
        chosen = [(row, None) for row in (CONTRACTIONS if name == "f32" else CONTRACTIONS[:1])]
        chosen += [(CONTRACTIONS[0], WIDER[name])] if name in WIDER else []
        made = []
        for (a, b, batching, contracting), dtype in chosen:
            given = {"batching": batching, "contracting": contracting, "dtype": dtype}
            made.append(Case([plain(name, a, 51), plain(name, b, 52)], given, dtype or name))
        given = {"batching": [[], []], "contracting": [[1], [0]], "dtype": None}
        if kind(name) == "float":
            made.append(Case([steep(name), counted(name, (2, 3))], given))
        if name == "s16":
            made.append(Case([plain("s8", (3, 5), 53), plain("u8", (5, 2), 54)], given | {"dtype": "s16"}, "s16"))
        return made

    return Operation("dot_general", "number", call, product, cases, scale=size)


EQUATIONS = [
    ("ij,jk->ik", (3, 5), (5, 4)),
    ("bij,bjk,bk->i", (2, 3, 4), (2, 4, 3), (2, 3)),
    ("ii->i", (4, 4)),
    ("ii", (3, 3)),
    ("...ij->...ji", (2, 3, 4)),
    ("ba", (2, 3)),
    ("i,j->ij", (3,), (2,)),
    ("...i,...i->...", (2, 1, 5), (3, 5)),
    (" i j , j -> i ", (2, 0), (0,)),
    ("ij,ij->", (1, 3), (2, 3)),
    ("i,->i", (0,), ()),
    ("iij,jjk->ki", (2, 2, 3), (3, 3, 2)),
    ("a,ab,bc,c->", (3,), (3, 4), (4, 2), (2,)),
]

# Indices that occur several times in a tensor, on every dtype.
REPEATED = [
    ("ijij->ij", (2, 3, 2, 3)),
    ("ijji->ji", (2, 3, 3, 2)),
    ("iiijj->j", (2, 2, 2, 3, 3)),
    ("ijkijk", (2, 3, 1, 2, 3, 1)),
    ("ijij,jkk->ik", (0, 2, 0, 2), (2, 3, 3)),
    ("jij...i->...i", (2, 3, 2, 2, 3)),
]


def einsum():
    def call(world, *tensors, equation):
        return world.make("lxla_einsum", equation.encode(), array_of(tensors), len(tensors))

    def total(*arrays, equation):
        return np.einsum(equation, *arrays)

    def size(*arrays, equation):
        return total(*map(np.abs, arrays), equation=equation)

    def cases(name):
        rows = (EQUATIONS if name == "f32" else EQUATIONS[:2]) + REPEATED
        return [
            Case([plain(name, shape, 55 + i) for i, shape in enumerate(shapes)], {"equation": equation})
            for equation, *shapes in rows
        ]

    return Operation("einsum", "number", call, total, cases, scale=size)


def ragged_dot():
    def call(world, a, b, sizes):
        return world.make("lxla_ragged_dot", a, b, sizes)

    def product(a, b, sizes):
        out = np.zeros((len(a), b.shape[2]), np.result_type(a, b))
        start = 0
        for matrix, size in zip(b, sizes):
            out[start : start + size] = np.matmul(a[start : start + size], matrix)
            start += size
        return out

    def size(a, b, sizes):
        return product(np.abs(a), np.abs(b), sizes)

    def cases(name):
        rows = [(7, 5, 3, [2, 0, 4])]
        if name in ("f32", "s32", "c64"):
            rows += [
                (7, 5, 3, [3, 4]),
                (7, 5, 3, [0, 9, 1]),
                (4, 0, 3, [1, 2]),
                (0, 2, 3, [0]),
                (4, 2, 3, []),
                (1, 1, 1, [1]),
            ]
        return [
            Case([plain(name, (m, k), 51), plain(name, (len(of), k, n), 52), np.array(of, "i4")], {}, name)
            for m, k, n, of in rows
        ]

    return Operation("ragged_dot", "number", call, product, cases, scale=size)


def products():
    return [matmul(), dot_general(), einsum(), ragged_dot()]
