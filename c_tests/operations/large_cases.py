"""Random operations on tensors of thousands of elements, for large_sweep.py: legal arguments, as keywords of the
functions of ops_test.py that call an operation. Each function `case_...(r, dtype)` returns the operands, a function of
a world and tensors, and what describes the case; None if the arguments that it chose are not legal or too large."""

import math

import numpy as np
import ops_values as values
from header import family
from ops_cases import array_of, ints, release
from ops_combiners import COMBINERS, combiner, start_array
from ops_indexing import gather, scatter_call
from ops_linalg_products import dot_general
from ops_nn_convolution import convolution
from ops_reduction_windows import reduce_window, reduce_with, select_and_scatter
from ops_values import DTYPES, dtypes, kind

LEAST, MOST = 10000, 200000  # elements of operands
CONVOLUTION, DOT_GENERAL, GATHER = convolution(), dot_general(), next(gather())
SELECT_AND_SCATTER = select_and_scatter("GE", None)


def shape_of(r, rank):
    """Returns a shape of that rank with LEAST to MOST elements. A fifth has an axis of one element."""
    if rank > 1 and r.random() < 0.2:
        shape, axis = shape_of(r, rank - 1), r.randrange(rank)
        return (*shape[:axis], 1, *shape[axis:])
    while True:
        total = math.exp(r.uniform(math.log(LEAST), math.log(MOST)))
        parts = [r.expovariate(1) + 0.05 for _ in range(rank)]
        shape = tuple(max(1, round(total ** (part / sum(parts)))) for part in parts)
        if LEAST <= math.prod(shape) <= MOST:
            return shape


def numbers(r, dtype, shape):
    made, of = values.plain(dtype, shape, r.randrange(2**30)), kind(dtype)
    return made % 7 - 3 * (of == "signed") if of in ("signed", "unsigned") else made


def extremes(r, dtype, shape, name):
    """Returns numbers; of a reduction to a maximum or minimum of floats, half with NaN and infinities among them."""
    made = numbers(r, dtype, shape)
    if name in ("max", "min") and kind(dtype) == "float" and r.random() < 0.5:
        for value in (np.nan, np.inf, -np.inf):
            made.ravel()[r.randrange(40) :: r.choice([50, 3001])] = value
    return made


def some(r, axes):
    """Returns some of the axes in random order."""
    return r.sample(list(axes), r.randint(0, len(axes)))


def placed(r, count, rank):
    """Returns `count` places of a rank, in ascending order."""
    return sorted(r.sample(range(rank), count))


# Windows. Most axes have windows of one element, strides and dilations of 1 and no padding. In half of the cases the
# windows are adjacent, along all axes or all but one, and fill the axes: XLA makes other operations of these.


def often_first(r, choices, count):
    return [r.choice([choices[0]] * 4 + choices[1:]) for _ in range(count)]


def window_of(r, shape, is_adjacent, dilates=False, pads=False):
    """Returns options, and the number of windows along each axis."""
    of = lambda choices: often_first(r, choices, len(shape))
    options = {"window_dimensions": of([1, 1, 2, 3, 4, 7]), "strides": of([1, 2, 3, 5])}
    if is_adjacent:
        options["window_dimensions"] = [r.choice([1, 2, 3, 4]) for _ in shape]
        options["strides"] = options["window_dimensions"][:]
        options["strides"][r.randrange(len(shape))] = r.choice([1, 2, 3])
    if dilates:
        options |= {"window_dilations": of([1, 2, 3]), "base_dilations": of([1, 1, 2])}
    if pads:
        options |= {"low": of([0, 1, 2, 5, -1]), "high": of([0, 1, 2, 5, -1])}
    places = []
    for axis, size in enumerate(shape):
        at = lambda name, default, axis=axis: options[name][axis] if name in options else default
        padded = (size - 1) * at("base_dilations", 1) + 1 + at("low", 0) + at("high", 0)
        if padded < 0:
            return window_of(r, shape, is_adjacent, dilates, pads)
        reach = (at("window_dimensions", 1) - 1) * at("window_dilations", 1) + 1
        places.append((padded - reach) // at("strides", 1) + 1 if padded >= reach else 0)
    return options, tuple(places)


def with_whole_axes(r, shape, options):
    """Returns options with windows as long as one or all of the axes, which have the same number of places or one."""
    for axis in r.choice([[r.randrange(len(shape))], range(len(shape))]):
        options["window_dimensions"][axis], options["strides"][axis] = shape[axis], r.choice([1, shape[axis]])
    return {name: options[name] for name in ("window_dimensions", "strides")}


def shape_of_windows(r, is_adjacent):
    shape = shape_of(r, r.randint(1, 4))
    return tuple(size // 12 * 12 or size for size in shape) if is_adjacent else shape


def case_reduce_window(r, dtype):
    name, is_adjacent = r.choice(["add", "max", "min"]), r.random() < 0.5
    shape = shape_of_windows(r, is_adjacent)
    changes = [r.random() < (0.15 if is_adjacent else 0.5), r.random() < 0.5]
    options, places = window_of(r, shape, is_adjacent, *changes)
    if r.random() < 0.1:
        options = with_whole_axes(r, shape, options)
    if dtype not in dtypes(COMBINERS[name][0]) or math.prod(places) > MOST:
        return None
    operation = reduce_window(name)
    return (
        [extremes(r, dtype, shape, name), start_array(name, dtype)],
        lambda world, *x: operation.call(world, *x, options=options),
        options,
        name,
    )


def case_select_and_scatter(r, dtype):
    is_adjacent = r.random() < 0.5
    shape = shape_of_windows(r, is_adjacent)
    options, places = window_of(r, shape, is_adjacent)
    if kind(dtype) in ("pred", "complex") or not math.prod(places):
        return None
    if r.random() < 0.4:
        low = [r.randint(0, size - 1) for size in options["window_dimensions"]]
        options |= {"low": low}
        rows = zip(shape, low, options["window_dimensions"], options["strides"])
        places = tuple((size + more - window) // stride + 1 for size, more, window, stride in rows)
    given = [numbers(r, dtype, shape), numbers(r, dtype, places), np.array(0, DTYPES[dtype][1])]
    return given, lambda world, *x: SELECT_AND_SCATTER.call(world, *x, options=options), options


def case_convolution(r, dtype):
    # Two axes of space and many features, the features last: such convolutions go to a library.
    is_wide = r.random() < 0.4
    rank, of = 2 if is_wide else r.randint(0, 3), lambda choices: often_first(r, choices, rank)
    groups, batches = r.choice([(1, 1)] * 3 + [(2, 1), (3, 1), (1, 2)])
    features, made = (r.choice([6, 9, 20, 33] if is_wide else [1, 2, 3, 4]) for _ in range(2))
    batch, made = r.randint(1, 3) * batches, made * batches * groups
    if is_wide:
        space = [r.choice([1, 5, 12, 28]) for _ in range(2)]
    else:
        space = [each for each in shape_of(r, rank)] if rank else []
    window = [min(size, each) for size, each in zip(of([3, 1, 2, 5]), space)]
    if math.prod(space) > 8000 or dtype == "pred":
        return None
    lhs, rhs = (batch, features * groups, *space), (made, features, *window)
    options = {"window_strides": of([1, 2, 3]), "feature_group_count": groups, "batch_group_count": batches}
    options |= {"padding_low": of([0, 1, 2, -1]), "padding_high": of([0, 1, 2, -1])}
    options |= {"lhs_dilation": of([1, 1, 1, 2]), "rhs_dilation": of([1, 1, 2]), "window_reversal": of([0, 0, 1])}
    if r.random() < 0.3:
        options["window_strides"] = window[:]
    arrays = [numbers(r, dtype, lhs), numbers(r, dtype, rhs)]
    # A list of dimensions names, for each logical axis, the axis of the operand.
    orders = [r.sample(range(rank + 2), rank + 2) for _ in range(3)]
    if is_wide:
        orders = [[0, 3, 1, 2], [3, 2, 0, 1], [0, 3, 1, 2]]
    for i, name in enumerate(("lhs_dimensions", "rhs_dimensions", "out_dimensions")):
        if is_wide or r.random() < 0.5:
            options[name] = orders[i]
            if i < 2:
                arrays[i] = np.ascontiguousarray(arrays[i].transpose(np.argsort(orders[i])))
    return arrays, lambda world, *x: CONVOLUTION.call(world, *x, options=options, dtype=None), options


def case_dot_general(r, dtype):
    shared = [r.choice([1, 2, 3, 8]) for _ in range(r.choice([0, 0, 1, 2]))]
    summed = [r.choice([1, 3, 16, 50, 128]) for _ in range(r.choice([0, 1, 1, 1, 2]))]
    own = [[r.choice([1, 2, 7, 32, 100]) for _ in range(r.choice([0, 1, 1, 2]))] for _ in range(2)]
    arrays, lists = [], []
    for rest in own:
        sizes = [*shared, *summed, *rest]
        order = r.sample(range(len(sizes)), len(sizes))  # the logical axis at each place
        arrays.append(numbers(r, dtype, tuple(sizes[axis] for axis in order)))
        at = [order.index(axis) for axis in range(len(sizes))]
        lists.append((at[: len(shared)], at[len(shared) : len(shared) + len(summed)]))
    most = max(math.prod(shared) * math.prod(own[0]) * math.prod(own[1]), *(array.size for array in arrays))
    if most > 4 * MOST or most * math.prod(summed) > 2**25 or dtype == "pred":
        return None
    batching, contracting = ([lists[0][i], lists[1][i]] for i in range(2))
    given = {"batching": batching, "contracting": contracting, "dtype": None}
    return arrays, lambda world, *x: DOT_GENERAL.call(world, *x, **given), given


# Gather and scatter.


def slices_of(r, shape):
    """Returns axes of batches, further axes whose slices have one element and are left out, and the sizes of slices."""
    axes = list(range(len(shape)))
    batching = [axis for axis in axes if shape[axis] < 50 and r.random() < 0.2]
    left_out = [axis for axis in axes if axis not in batching and r.random() < 0.4]
    ones = batching + left_out
    sizes = [1 if axis in ones else r.choice([size, r.randint(1, size)]) for axis, size in enumerate(shape)]
    return batching, left_out, sizes


def indices_of(r, shape, batching, mapped):
    """Returns indices, some of them out of bounds, the axes of batches of theirs, and the axis of index vectors."""
    places = [shape[axis] for axis in batching] + [r.choice([1, 2, 7, 40]) for _ in range(r.choice([0, 1, 1, 2]))]
    order = r.sample(range(len(places)), len(places))
    dims = [places[i] for i in order]
    vector = r.randint(0, len(dims))
    at_batching = [order.index(i) + (order.index(i) >= vector) for i in range(len(batching))]
    if len(mapped) == 1 and vector == len(dims) and r.random() < 0.5:
        full = tuple(dims)
    else:
        full = (*dims[:vector], len(mapped), *dims[vector:])
    dtype = r.choice(["s32", "s64", "s16", "u8", "s8", "u32"])
    if vector < len(dims) or len(full) > len(dims):
        columns = [np.array([r.randint(-2, shape[axis] + 1) for _ in range(math.prod(dims))]) for axis in mapped]
        at = np.stack([column.reshape(dims) for column in columns], vector) if mapped else np.zeros(full)
    else:
        at = np.array([r.randint(-2, shape[mapped[0]] + 1) for _ in range(math.prod(dims))]).reshape(dims)
    limits = np.iinfo(DTYPES[dtype][1])
    return np.clip(at, limits.min, limits.max).astype(DTYPES[dtype][1]), dims, at_batching, vector


def case_gather(r, dtype):
    shape = shape_of(r, r.randint(1, 4))
    batching, collapsed, sizes = slices_of(r, shape)
    mapped = some(r, [axis for axis in range(len(shape)) if axis not in batching])
    at, dims, at_batching, vector = indices_of(r, shape, batching, mapped)
    kept = len(shape) - len(batching) - len(collapsed)
    if math.prod(dims) * math.prod(sizes) > 2 * MOST:
        return None
    offset = placed(r, kept, len(dims) + kept)
    given = [offset, collapsed, batching, at_batching, mapped, vector, sizes]
    return [numbers(r, dtype, shape), at], lambda world, *x: GATHER.call(world, *x, numbers=given), given


def case_scatter(r, dtype):
    name = r.choice(["add", "max", "min"])
    shape = shape_of(r, r.randint(1, 4))
    batching, inserted, sizes = slices_of(r, shape)
    mapped = some(r, [axis for axis in range(len(shape)) if axis not in batching])
    at, dims, at_batching, vector = indices_of(r, shape, batching, mapped)
    kept = [sizes[axis] for axis in range(len(shape)) if axis not in batching + inserted]
    if math.prod(dims) * math.prod(sizes) > 2 * MOST or dtype not in dtypes(COMBINERS[name][0]):
        return None
    window = placed(r, len(kept), len(dims) + len(kept))
    rest, left = iter(dims), iter(kept)
    full = tuple(next(left) if axis in window else next(rest) for axis in range(len(dims) + len(kept)))
    given = [window, inserted, batching, at_batching, mapped, vector]

    def call(world, x, at, updates):
        return scatter_call(world, combiner(world, name, DTYPES[dtype][1]), [x], at, [updates], given, 0)

    return [numbers(r, dtype, shape), at, numbers(r, dtype, full)], call, given, name


# Reductions and order.


def case_reduce_with(r, dtype):
    name = r.choice(["add", "max", "min"])
    shape = shape_of(r, r.randint(1, 4))
    axes = some(r, range(len(shape)))
    if dtype not in dtypes(COMBINERS[name][0]):
        return None
    operation = reduce_with(name, *COMBINERS[name][::2])
    given = [extremes(r, dtype, shape, name), start_array(name, dtype)]
    return given, lambda world, *x: operation.call(world, *x, axes=axes), axes, name


def case_reduce(r, dtype):
    name, takes = r.choice([("sum", "number"), ("max", "integer float"), ("min", "integer float")])
    shape = shape_of(r, r.randint(1, 4))
    axes, keeps = some(r, range(len(shape))), r.randint(0, 1)
    if dtype not in dtypes(takes):
        return None
    call = lambda world, x: world.make("lxla_reduce", family("REDUCE")[name], x, ints(axes), len(axes), keeps)
    return [extremes(r, dtype, shape, name)], call, name, axes


# Functions of a chain of elementwise operations. Those of STEPS come first, and conversions to integers follow EXACT
# alone: a rounding error before them would become 1.
STEPS = "ceil floor round_nearest_even sign".split()
EXACT = "maximum minimum abs negate".split()
BINARY = "add subtract multiply divide maximum minimum power".split()
SMOOTH = "exponential exponential_minus_one log_plus_one rsqrt sqrt tanh logistic".split()
MILD = "add subtract multiply maximum minimum abs negate tanh logistic".split()  # of values of few bits
OF_INTEGERS = "add subtract multiply divide maximum minimum abs negate sign".split()


def case_chain(r, dtype):
    """Elementwise operations of one dtype or two, and a reduction of what they give."""
    dtype = r.choice(["f32", "f32", "f64", "bf16", "s8", "u8", "s32"])
    name, shape = r.choice(["sum", "max", "min"]), shape_of(r, r.randint(1, 4))
    axes, to = some(r, range(len(shape))), r.choice([None, None, "s32", "f32", "s8", "u8", "bf16"])
    if kind(dtype) != "float":
        known = OF_INTEGERS
    elif to and kind(to) != "float":
        known = EXACT
    else:
        # A sum of rounded values that becomes f32 has errors of the former.
        to = None if dtype == "bf16" else to
        known = MILD if "bf16" in (dtype, to) else BINARY + SMOOTH + EXACT
    steps = [r.choice(known) for _ in range(r.randint(1, 5))]
    if kind(dtype) == "float" and r.random() < 0.3:
        steps[0] = r.choice(STEPS)

    def call(world, x, y):
        made = []
        for i, step in enumerate(steps):
            a = made[-1] if made else x
            if step in BINARY:
                made.append(world.make("lxla_binary", family("BINARY")[step], *([a, y] if i % 2 else [y, a])))
            else:
                made.append(world.make("lxla_unary", family("UNARY")[step], a))
        if to:
            made.append(world.make("lxla_convert", made[-1], DTYPES[to][0]))
        made.append(world.make("lxla_reduce", family("REDUCE")[name], made[-1], ints(axes), len(axes), 0))
        for tensor in made[:-1]:
            release(tensor)
        return made[-1]

    return [numbers(r, dtype, shape), numbers(r, dtype, shape)], call, steps, to, name, axes


def case_cumulative(r, dtype):
    name, takes = r.choice([("sum", "number"), ("max", "integer float"), ("min", "integer float")])
    shape = shape_of(r, r.randint(1, 4))
    axis, reverse = r.randrange(len(shape)), r.randint(0, 1)
    if dtype not in dtypes(takes):
        return None
    call = lambda world, x: world.make("lxla_cumulative", family("REDUCE")[name], x, axis, reverse)
    return [extremes(r, dtype, shape, name)], call, name, axis, reverse


def case_sort(r, dtype):
    shape = shape_of(r, r.randint(1, 3))
    axis, descending, stable = r.randrange(len(shape)), r.randint(0, 1), r.randint(0, 1)
    if kind(dtype) == "complex":
        return None
    call = lambda world, x: world.make("lxla_sort_along", x, axis, descending, stable)
    return [numbers(r, dtype, shape)], call, axis, descending, stable


# Movements.


def case_pad(r, dtype):
    shape = shape_of(r, r.randint(1, 4))
    lists = [[r.choice([0, 0, 0, *others]) for _ in shape] for others in ([1, 5, -1], [1, 5, -1], [1, 2])]
    sizes = [(size - 1) * (more + 1) + 1 + low + high for size, low, high, more in zip(shape, *lists)]
    if min(sizes) < 0 or math.prod(sizes) > 4 * MOST:
        return None
    call = lambda world, x, value: world.make("lxla_pad", x, value, *map(ints, lists), len(shape))
    return [numbers(r, dtype, shape), np.array(1, DTYPES[dtype][1])], call, lists


def case_slice(r, dtype):
    shape = shape_of(r, r.randint(1, 4))
    starts = [r.choice([0, r.randrange(size)]) for size in shape]
    limits = [r.choice([size, r.randint(start, size)]) for start, size in zip(starts, shape)]
    strides = [r.choice([1, 1, 2, 3]) for _ in shape]
    call = lambda world, x: world.make("lxla_slice", x, *map(ints, (starts, limits, strides)), len(shape))
    return [numbers(r, dtype, shape)], call, starts, limits, strides


def case_concatenate(r, dtype):
    shape = shape_of(r, r.randint(1, 4))
    axis = r.randrange(len(shape))
    arrays = [
        numbers(r, dtype, (*shape[:axis], r.choice([shape[axis], 0, 1, 3]), *shape[axis + 1 :]))
        for _ in range(r.randint(1, 5))
    ]
    if sum(array.size for array in arrays) > 4 * MOST:
        return None
    call = lambda world, *x: world.make("lxla_concatenate", array_of(x), len(x), axis)
    return arrays, call, axis


def case_roll(r, dtype):
    shape = shape_of(r, r.randint(1, 4))
    axes = placed(r, r.randint(1, len(shape)), len(shape))
    shifts = [r.randint(-9, 9) for _ in axes]
    call = lambda world, x: world.make("lxla_roll", x, ints(shifts), ints(axes), len(axes))
    return [numbers(r, dtype, shape)], call, shifts, axes


CASES = {name.removeprefix("case_"): made for name, made in list(globals().items()) if name.startswith("case_")}
