"""Sorts, and the largest elements, as ops_test.py compares them."""

import functools

import numpy as np
import ops_values as values
from header import constants
from ops_cases import Case, Operation, array_of, counted, edges, plain, release
from ops_combiners import scalars
from ops_values import DTYPES, kind


@functools.cache
def rows_of(name, has_infinite=True):
    """Returns rows with equal elements, edges, and for floats zeros of both signs and several NaN. Complex numbers have
    infinities and NaN only on request."""
    pool = [edges(name), edges(name)[:3], values.spread(name, 20, 101)]
    pool = np.concatenate([*pool, values.infinite(name)] if has_infinite and kind(name) == "complex" else pool)
    return np.stack([values.random(102 + i).permutation(pool) for i in range(3)])


def order(x, axis, descending):
    """Returns the indices that sort, with equal elements in their order. NaN is the largest."""
    if not descending:
        return np.argsort(x, axis, kind="stable")
    size = x.shape[axis]
    return np.flip(size - 1 - np.argsort(np.flip(x, axis), axis, kind="stable"), axis)


def twice(function):
    """Returns the function with x as its own sort key."""
    return lambda x, **given: function(x, x, **given)


SHAPES = [((3, 7), 0), ((2, 3, 4), -2), ((0, 3), 1), ((3, 0), 1), ((1, 3), 0), ((1,), -1), ((5, 33), 1)]


def along(name, of, given, empty=True):
    """Returns cases: rows of each dtype, and for f32 several shapes."""
    made = [Case([rows_of(name)], {"axis": 1, **given}, of)]
    for shape, axis in SHAPES if name == "f32" else []:
        if empty or shape[axis]:
            made.append(Case([plain(name, shape, 105)], {"axis": axis, **given}, of))
    return made


ORDERED = "pred integer float"
SORTED = "all"


def sorts():
    def sort_along(world, x, axis, descending):
        return world.make("lxla_sort_along", x, axis, descending, 1)

    def by(x, key, axis, descending):
        return np.take_along_axis(x, order(key, axis, descending), axis)

    both_ways = lambda name: [case for down in (0, 1) for case in along(name, name, {"descending": down})]
    yield Operation("sort_along", SORTED, sort_along, twice(by), both_ways, in_order=by)

    def argsort(world, x, axis, descending, dtype):
        return world.make("lxla_argsort", x, axis, descending, 1, DTYPES[dtype][0])

    def places(x, axis, descending, dtype):
        return order(x, axis, descending).astype(DTYPES[dtype][1])

    def cases(name):
        dtype = name if kind(name) in ("signed", "unsigned") else "s32"
        return [case for down in (0, 1) for case in along(name, dtype, {"descending": down, "dtype": dtype})]

    yield Operation("argsort", SORTED, argsort, places, cases)


def top_k():
    def call(world, x, axis, k, largest, dtype, result):
        return world.one_of("lxla_topk", 2, result, x, k, axis, largest, DTYPES[dtype][0])

    def first(x, key, axis, k, largest, dtype, result):
        at = np.take(order(key, axis, largest), range(k), axis)
        return at.astype(DTYPES[dtype][1]) if result else np.take_along_axis(x, at, axis)

    def cases(name):
        made = []
        rows = [(plain(name, shape, 106), axis, shape[axis] // 2) for shape, axis in SHAPES if name == "f32"]
        for x, axis, k in [(rows_of(name), -1, 5), *rows]:
            for largest in (0, 1):
                given = {"axis": axis, "k": k, "largest": largest, "dtype": ("u8", "s64")[largest]}
                made += [Case([x], given | {"result": i}, given["dtype"] if i else name) for i in (0, 1)]
        return made + [Case([rows_of(name)], {"axis": 0, "k": 3, "largest": 1, "dtype": "s32", "result": 0})]

    return Operation("top_k", SORTED, call, twice(first), cases, in_order=first)


def top_k_total_order():
    """Floats as signed integers of their bits, of which the negative ones are turned round behind the sign."""

    def call(world, x, axis, k, largest, result):
        return world.one_of("lxla_topk_total_order", 2, result, x, k, axis, largest, DTYPES["s32"][0])

    def first(x, axis, k, largest, result):
        key = x
        if x.dtype.kind not in "biu":
            # Denormals are kept: this operation is exact and does not flush them.
            bits = np.ascontiguousarray(x).view(f"i{x.dtype.itemsize}")
            key = np.where(bits < 0, bits ^ np.iinfo(bits.dtype).max, bits)
        # Descending order takes ~key, since -key overflows for the smallest integer.
        key = key.astype(np.uint64 if key.dtype == np.uint64 else np.int64)
        at = np.take(np.argsort(~key if largest else key, axis, kind="stable"), range(k), axis)
        return at.astype(np.int32) if result else np.take_along_axis(x, at, axis)

    def cases(name):
        given = [{"axis": axis, "k": 3, "largest": largest} for axis in (0, -1) for largest in (0, 1)]
        return [Case([rows_of(name)], row | {"result": i}, "s32" if i else name) for row in given for i in (0, 1)]

    return Operation("top_k_total_order", ORDERED, call, first, cases)


# Sorts by computations.


def compared(op, of, count):
    """Compares what `of` makes of the elements of the last of `count` tensors."""

    def record(world, *parameters):
        pair = [of(world, x) for x in parameters[2 * count - 2 :]]
        made = world.make("lxla_compare", op, *pair)
        for tensor in pair:
            release(tensor)
        return [made]

    return record


def itself(world, x):
    return world.make("lxla_tensor_snapshot", x)


def real_part(world, x):
    return world.make("lxla_real", x)


def sort_by():
    """Returns sorts of one tensor by itself, and of two by the second one; complex numbers are sorted by their real
    parts."""

    def call(world, x, *keys, axis, descending, result=0):
        of = real_part if np.dtype(world.type(x)[0]).kind == "c" else itself
        types = [world.type(tensor)[0] for tensor in (x, *keys) for _ in range(2)]
        op = constants.COMPARE_GT if descending else constants.COMPARE_LT
        record = compared(op, of if not keys else itself, 1 + len(keys))
        body = world.computation(f"{'GT' if descending else 'LT'} of {1 + len(keys)}", scalars(types), record)
        return world.one_of_list("lxla_sort", 1 + len(keys), result, body, array_of([x, *keys]), 1 + len(keys), axis, 1)

    def in_order(*arrays, axis, descending, result=0):
        """The second half of the arrays are the sort keys."""
        key = arrays[-1].real
        return np.take_along_axis(arrays[result], order(key, axis, descending), axis)

    def cases(name):
        # A comparator that calls lxla_real leaves the order of NaN open.
        made = [Case([rows_of(name, False)], {"axis": 1, "descending": down}) for down in (0, 1)]
        keys = np.array([[3, 1, 3, -1], [0, 0, 2, 0]], np.int16)
        together, given = [counted(name, (2, 4)), keys], {"axis": 1, "descending": 1}
        made += [Case(together, given | {"result": 0}), Case(together, given | {"result": 1}, "s16")]
        if name == "f32":
            made += [Case([plain(name, shape, 107)], {"axis": axis, "descending": 0}) for shape, axis in SHAPES]
        return made

    return Operation("sort", "all", call, in_order, cases, refuses=False, in_order=in_order)


def ordered():
    return [*sorts(), top_k(), top_k_total_order(), sort_by()]
