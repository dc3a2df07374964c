"""Selections: masks, positions of nonzero elements, advanced indexing, and assignment to slices, as ops_test.py
compares them."""

import functools
from ctypes import byref

import numpy as np
from ctypes_test import Tensor
from header import family
from ops_cases import Case, Operation, array_of, counted, ints, kept, plain
from ops_combiners import COMBINERS
from ops_indexing import from_start, indices
from ops_sorting import rows_of
from ops_sorting_unique import filled
from ops_values import DTYPES, kind


@functools.cache
def sparse(name, shape):
    """Returns values that are mostly zeros, of either sign; NaN, edges and numbers."""
    row = rows_of(name).ravel()
    out = np.resize(row, int(np.prod(shape))).copy()
    out[np.resize([True, False, True, True, False], out.shape)] = 0
    if kind(name) in ("float", "complex"):
        out[::4] = -out[::4]
    return out.reshape(shape)


def nonzero():
    def call(world, x, size, fill, dtype, result):
        rank = len(world.type(x)[1])
        made, count = (Tensor * max(rank, 1))(), Tensor()
        world.check("lxla_nonzero", x, size, fill, DTYPES[dtype][0], made, rank, byref(count))
        return kept([*(Tensor(t.id) for t in made[:rank]), count], result)

    def of(x, size, fill, dtype, result):
        places = np.nonzero(x)
        like = DTYPES[dtype][1]
        return np.asarray(len(places[0]), like) if result == x.ndim else filled(places[result], size, fill, like)

    def cases(name):
        rows = [((9, 7), 40, -1, "s32"), ((9, 7), 3, 0, "s64")]
        if name in ("f32", "pred"):
            rows += [
                ((11,), 11, 9, "u8"),
                ((2, 3, 4), 30, -7, "s16"),
                ((0, 3), 4, 5, "s32"),
                ((3, 4), 0, 0, "s32"),
                ((1, 1), 2, 3, "s8"),
            ]
        return [
            Case([sparse(name, shape)], {"size": size, "fill": fill, "dtype": dtype, "result": result}, dtype)
            for shape, size, fill, dtype in rows
            for result in range(len(shape) + 1)
        ]

    return Operation("nonzero", "all", call, of, cases, refuses=False)


def mask_select():
    def call(world, x, mask, fill, size, result):
        return world.one_of("lxla_mask_select", 2, result, x, mask, size, fill, DTYPES["s32"][0])

    def of(x, mask, fill, size, result):
        return np.asarray(mask.sum(), np.int32) if result else filled(x[mask], size, fill, x.dtype)

    def cases(name):
        rows = [((6, 5), (6, 5), 12)]
        if name in ("f32", "s8"):
            rows += [
                ((6, 5), (6,), 4),
                ((6, 5), (6,), 2),
                ((2, 3, 4), (2, 3), 9),
                ((0, 2), (0,), 3),
                ((3, 0), (3,), 2),
                ((4,), (4,), 0),
            ]
        return [
            Case(
                [counted(name, shape), plain("pred", mask, 111), plain(name, (), 112)],
                {"size": size, "result": i},
                "s32" if i else name,
            )
            for shape, mask, size in rows
            for i in (0, 1)
        ]

    return Operation("mask_select", "all", call, of, cases, refuses=False)


def mask_assign():
    def call(world, x, mask, values):
        return world.make("lxla_mask_assign", x, mask, values)

    def of(x, mask, values):
        out, there = np.array(x), np.array(mask)
        if values.ndim == x.ndim - mask.ndim:
            out[there] = values
            return out
        if values.ndim < x.ndim - mask.ndim:
            out[there] = np.broadcast_to(values, x.shape[mask.ndim :])
            return out
        there.ravel()[np.flatnonzero(there)[len(values) :]] = False
        out[there] = values[: there.sum()]
        return out

    def cases(name):
        rows = [((6, 5), (6, 5), (30,)), ((6, 5), (6,), ())]
        if name in ("f32", "s8", "c64"):
            rows += [
                ((6, 5), (6,), (5,)),
                ((6, 5), (6,), (2, 5)),
                ((6, 5), (6,), (7, 5)),
                ((6, 5), (6, 5), (3,)),
                ((2, 3, 4), (2,), (3, 1)),
                ((2, 3, 4), (2, 3), (9, 4)),
                ((3, 2), (), (2,)),
                ((3, 2), (3,), (0, 2)),
                ((0, 2), (0,), (3, 2)),
                ((), (), ()),
            ]
        return [
            Case([counted(name, shape), plain("pred", mask, 113), plain(name, values, 114)], {}, name)
            for shape, mask, values in rows
        ]

    return Operation("mask_assign", "all", call, of, cases, refuses=False)


# Advanced indexing.

# The shape of x, a letter for each indexed axis and : for whole ones, the shapes of the indices.
INDEXED = [
    ((5, 4, 3), "ij", [(2, 3), (3,)]),
    ((5, 4, 3), "i:j", [(4,), (4,)]),
    ((5, 4, 3), ":ij", [(2, 1), (1, 3)]),
    ((5, 4, 3), ":i", [(6,)]),
    ((5, 4, 3), "ijk", [(7,), (1,), ()]),
    ((5, 4, 3), "i:j", [(), ()]),
    ((2, 3, 4, 5), ":i:j", [(2,), (3, 1)]),
    ((5, 4), "ij", [(0,), (1,)]),
    ((0, 4), "ij", [(0,), (0,)]),
    ((3,), "i", [(2, 2)]),
    ((3, 2), "::", []),
    ((), "", []),
]

NUMBERS = [1, -1, 4, 0, 99, 2, 3, -9, -2]


def places(shape, seed, dtype="s32"):
    return indices(tuple(np.roll(np.resize(NUMBERS, int(np.prod(shape))), seed)), shape, dtype)


def given_to(tensors, pattern):
    """Returns the list of index tensors that the ABI takes, with no tensor for whole axes."""
    rest = iter(tensors)
    return array_of([Tensor() if c == ":" else next(rest) for c in pattern] or [Tensor()])


def numpys_index(at, pattern, shape):
    """Returns NumPy's index: a slice or positions for each axis; positions far out of range are brought nearer."""
    rest = iter(at)

    def places_of(array, dim):
        near = [min(max(i, -999), 999) for i in from_start(array, dim)]
        return np.array(near, np.int64).reshape(array.shape)

    return [slice(None) if c == ":" else places_of(next(rest), dim) for c, dim in zip(pattern, shape)]


def arrays_for(shape, pattern, at, name, index_dtypes):
    return [counted(name, shape), *(places(of, i, index_dtypes[i % len(index_dtypes)]) for i, of in enumerate(at))]


def index_cases(made):
    """Returns rows with some dtypes of elements, and each dtype of indices."""

    def cases(name):
        rows = INDEXED if name in ("f32", "s8") else INDEXED[:2]
        out = [made(name, *row, ["s32"]) for row in rows]
        if name == "f32":
            out += [
                made(name, *INDEXED[0], [first, second])
                for first in ("s8", "s64", "u64")
                for second in ("u8", "s16", "u32")
            ]
        return out

    return cases


def index():
    def call(world, x, *at, pattern):
        return world.make("lxla_index", x, given_to(at, pattern), len(pattern))

    def of(x, *at, pattern):
        where = numpys_index(at, pattern, x.shape)
        near = [w if isinstance(w, slice) else np.clip(w, 0, max(n - 1, 0)) for w, n in zip(where, x.shape)]
        return x[tuple(near)]

    made = lambda name, shape, pattern, at, of: Case(arrays_for(shape, pattern, at, name, of), {"pattern": pattern})
    return Operation("index", "all", call, of, index_cases(made), refuses=False)


def index_put(name, takes, function):
    def call(world, values, x, *at, pattern):
        return world.make("lxla_index_put", family("SCATTER")[name], x, given_to(at, pattern), len(pattern), values)

    def of(values, x, *at, pattern):
        """Writes values at one position after the other; drops positions out of range."""
        out, where = np.array(x), numpys_index(at, pattern, x.shape)
        axes = [i for i, w in enumerate(where) if not isinstance(w, slice)]
        common = np.broadcast_shapes(*(where[i].shape for i in axes))
        position = axes[0] if axes and axes[-1] - axes[0] == len(axes) - 1 else 0
        rest = [n for i, n in enumerate(x.shape) if i not in axes]
        wide = np.broadcast_to(values, [*rest[:position], *common, *rest[position:]])
        first = np.moveaxis(wide, range(position, position + len(common)), range(len(common)))
        spread = {i: np.broadcast_to(where[i], common) for i in axes}
        for place in np.ndindex(common):
            at = {i: int(spread[i][place]) for i in axes}
            if all(0 <= at[i] < x.shape[i] for i in axes):
                to = tuple(at.get(i, slice(None)) for i in range(x.ndim))
                out[to] = function(out[to], first[place])
        return out

    def size(values, x, *at, pattern):
        return of(np.abs(values), np.abs(x), *at, pattern=pattern)

    def made(dtype, shape, pattern, at, index_dtypes):
        x, *at = arrays_for(shape, pattern, at, dtype, index_dtypes)
        result = (
            x[tuple(0 * w if not isinstance(w, slice) else w for w in numpys_index(at, pattern, x.shape))]
            if x.size
            else None
        )
        values = plain(dtype, () if result is None else result.shape[-1:], 119)
        return Case([values, plain(dtype, shape, 120), *at], {"pattern": pattern}, dtype)

    scale = size if name in ("sum", "product") else None
    return Operation(f"index_put {name}", takes, call, of, index_cases(made), scale, refuses=False)


def index_puts():
    rows = [("copy", *COMBINERS["replace"])]
    rows += [("sum", "all", *COMBINERS["add"][1:]), ("product", "all", *COMBINERS["multiply"][1:])]
    rows += [(name, "pred integer float", *COMBINERS[name][1:]) for name in ("max", "min")]
    for name, takes, _, function in rows:
        yield index_put(name, takes, (lambda a, b: b) if name == "copy" else function)


# Slices.


def slice_assign():
    def call(world, x, values, starts, limits, strides):
        return world.make(
            "lxla_slice_assign", x, ints(starts), ints(limits), ints(strides) if strides else None, len(starts), values
        )

    def of(x, values, starts, limits, strides):
        out = np.array(x)
        out[tuple(slice(*each) for each in zip(starts, limits, strides or [1] * x.ndim))] = values
        return out

    rows = [
        ((7, 6), (2, 1), [1, 0], [6, 6], [3, 4]),
        ((7, 6), (), [0, 1], [7, 6], [2, 5]),
        ((7, 6), (3, 2), [2, 3], [5, 5], None),
        ((7, 6), (6,), [6, 0], [7, 6], [9, 1]),
        ((7, 6), (7, 6), [0, 0], [7, 6], [1, 1]),
        ((7, 6), (1,), [3, 2], [3, 5], [2, 2]),
        ((5,), (1,), [4], [5], [3]),
        ((0, 2), (2,), [0, 0], [0, 2], [1, 1]),
        ((), (), [], [], None),
    ]

    def cases(name):
        return [
            Case([counted(name, shape), plain(name, values, 121)], {"starts": a, "limits": b, "strides": c})
            for shape, values, a, b, c in (rows if name in ("f32", "u8", "c64") else rows[:3])
        ]

    return Operation("slice_assign", "all", call, of, cases, refuses=False)


def selected():
    return [nonzero(), mask_select(), mask_assign(), index(), *index_puts(), slice_assign()]
