"""Operations on windows: convolutions, reductions of windows and the gradients of pooling, as ops_test.py compares
them."""

import numpy as np
from ops_arrays import padded
from header import family
from ops_cases import Case, Operation, array_of, counted, options_of, plain
from ops_products import WIDER, in_dtype
from ops_regions import COMBINERS, combiner, extremes, folded, numbered, scalars, start_array
from ops_values import DTYPES, kind

convolution_options = options_of("lxla_convolution_options")
window_options = options_of("lxla_window_options")


def windows(x, sizes, strides, dilations):
    """Returns every window over the last axes: first the axes of positions, then those of a window."""
    for axis, size, stride, dilation in zip(range(x.ndim - len(sizes), x.ndim), sizes, strides, dilations):
        last = x.shape[axis] - (size - 1) * dilation
        places = np.arange(0, max(last, 0), stride)[:, None] + np.arange(size) * dilation
        x = np.moveaxis(x.take(places, axis), axis + 1, -1)
    return x


# Convolutions.

# Shapes of x and the kernel, and the options as fields of the struct.
CONVOLUTIONS = [
    ((2, 3, 5, 7), (4, 3, 3, 2), {"window_strides": [2, 1], "padding_low": [1, 0], "padding_high": [1, 2]}),
    ((2, 4, 9), (6, 2, 3), {"feature_group_count": 2}),
    ((4, 2, 5), (6, 2, 3), {"batch_group_count": 2, "padding_low": [-1], "padding_high": [3]}),
    ((1, 8, 8), (8, 8, 1), {"padding_low": [-1], "padding_high": [1]}),
    ((1, 2, 6, 5), (3, 2, 2, 3), {"lhs_dilation": [2, 1], "rhs_dilation": [1, 2], "window_reversal": [0, 1]}),
    (
        (2, 5, 6, 3),
        (2, 3, 3, 4),
        {"lhs_dimensions": [0, 3, 1, 2], "rhs_dimensions": [3, 2, 0, 1], "out_dimensions": [0, 3, 1, 2]},
    ),
    ((1, 1, 3, 4, 5), (2, 1, 2, 2, 2), {"window_strides": [1, 2, 3], "padding_low": [0, 1, 0]}),
    ((2, 3), (4, 3), {}),
    ((1, 1, 1), (1, 1, 1), {}),
    ((2, 3, 2), (4, 3, 3), {}),
    ((0, 3, 4), (2, 3, 2), {}),
    ((2, 0, 4), (3, 0, 2), {}),
    ((2, 3, 4), (0, 3, 2), {}),
    ((1, 32, 17), (8, 32, 5), {"padding_low": [2], "padding_high": [2]}),
]


def convolution():
    def call(world, a, b, options, dtype):
        rank = len(world.type(a)[1]) - 2
        number = DTYPES[dtype][0] if dtype else 0
        return world.make("lxla_convolution", a, b, convolution_options(spatial_rank=rank, dtype=number, **options))

    def convolved(a, b, options, dtype):
        a, b = (in_dtype(x, dtype) for x in (a, b))
        a = a.transpose(options.get("lhs_dimensions", range(a.ndim)))
        b = b.transpose(options.get("rhs_dimensions", range(b.ndim)))
        b = b[(..., *(slice(None, None, -1 if back else 1) for back in options.get("window_reversal", [])))]
        groups, batches = options.get("feature_group_count", 1), options.get("batch_group_count", 1)
        parts = np.split(a, batches) if batches > 1 else np.split(a, groups, 1)
        kernels = np.split(b, max(batches, groups))
        out = np.concatenate([group(part, kernel, options) for part, kernel in zip(parts, kernels)], 1)
        return out.transpose(np.argsort(options.get("out_dimensions", range(out.ndim))))

    def group(a, b, options):
        """Batch, features and places of one, output features, features and elements of a window of the other."""
        rank = a.ndim - 2
        of = lambda name, default: options.get(name, [default] * rank)
        edges = [[0, 0, *of("padding_low", 0)], [0, 0, *of("padding_high", 0)]]
        a = padded(a, 0, *edges, [0, 0, *(dilation - 1 for dilation in of("lhs_dilation", 1))])
        places = windows(a, b.shape[2:], of("window_strides", 1), of("rhs_dilation", 1))
        window = list(range(9, 9 + rank))
        return np.einsum(places, [0, 1, *range(3, 3 + rank), *window], b, [2, 1, *window], [0, 2, *range(3, 3 + rank)])

    def size(a, b, **given):
        return convolved(np.abs(a), np.abs(b), **given)

    def cases(name):
        chosen = [(row, None) for row in (CONVOLUTIONS if name == "f32" else CONVOLUTIONS[:1])]
        chosen += [(CONVOLUTIONS[0], WIDER[name])] if name in ("s8", "bf16") else []
        return [
            Case([plain(name, a, 61), plain(name, b, 62)], {"options": options, "dtype": dtype}, dtype or name)
            for (a, b, options), dtype in chosen
        ]

    return Operation("convolution", "number", call, convolved, cases, scale=size)


# Reductions of windows.

# Shapes of x, and the options as fields of the struct.
WINDOWS = [
    ((6, 7), {"window_dimensions": [2, 3], "strides": [2, 1], "low": [1, 0], "high": [0, 2]}),
    ((5, 8), {"window_dimensions": [3, 2], "window_dilations": [1, 3], "base_dilations": [2, 1]}),
    ((9,), {"window_dimensions": [4], "low": [3], "high": [-1], "strides": [2]}),
    ((3, 2), {"window_dimensions": [1, 1]}),
    ((2,), {"window_dimensions": [3]}),
    ((0, 3), {"window_dimensions": [2, 2], "low": [1, 0], "high": [1, 0]}),
    ((2, 3, 4), {"window_dimensions": [1, 3, 4]}),
    ((), {"window_dimensions": []}),
]


def field(options, name, default, rank):
    return options.get(name, [default] * rank)


def padded_with(x, value, options):
    of = lambda name, default: field(options, name, default, x.ndim)
    return padded(x, value, of("low", 0), of("high", 0), [dilation - 1 for dilation in of("base_dilations", 1)])


def reduce_window(name):
    takes, _, function = COMBINERS[name]

    def call(world, x, start, options):
        dtype, shape = world.type(x)
        inputs = [combiner(world, name, dtype), array_of([x]), array_of([start]), 1]
        return world.one_of_list("lxla_reduce_window", 1, 0, *inputs, window_options(rank=len(shape), **options))

    def reduced(x, start, options):
        of = lambda name, default: field(options, name, default, x.ndim)
        lists = [of("window_dimensions", 1), of("strides", 1), of("window_dilations", 1)]
        return folded(function, windows(padded_with(x, start, options), *lists), start, x.ndim)

    def size(x, start, options):
        return reduced(np.abs(x), np.abs(start), options)

    def cases(dtype):
        rows = WINDOWS if (dtype, name) in (("f32", "add"), ("u8", "max")) else WINDOWS[:1]
        made = [Case([plain(dtype, shape, 63), start_array(name, dtype)], {"options": options}) for shape, options in rows]
        if kind(dtype) == "float" and name in ("max", "min"):
            made.append(Case([extremes(dtype), start_array(name, dtype)], {"options": {"window_dimensions": [1, 2]}}))
        return made

    rounds = name in ("add", "multiply")
    return Operation(f"reduce_window {name}", takes, call, reduced, cases, size if rounds else None, False)


# Gradients of poolings.

SELECTIONS = [
    ((4, 6), {"window_dimensions": [2, 3], "strides": [2, 3]}),
    ((5, 5), {"window_dimensions": [3, 2], "strides": [1, 2], "low": [1, 0], "high": [0, 1]}),
    ((7,), {"window_dimensions": [3], "strides": [2]}),
    ((1, 1), {"window_dimensions": [1, 1]}),
]


def select_and_scatter(name, keeps):
    """Returns `keeps(a, b)` for the comparison of that name: whether the first of two elements stays selected."""

    def call(world, x, source, start, options):
        dtype, shape = world.type(x)
        record = lambda world, a, b: [world.make("lxla_compare", family("COMPARE")[name.lower()], a, b)]
        select = world.computation(name, scalars([dtype] * 2), record)
        more = [combiner(world, "add", dtype), x, source, start, window_options(rank=len(shape), **options)]
        return world.make("lxla_select_and_scatter", select, *more)

    def selected(x, source, start, options):
        of = lambda name, default: field(options, name, default, x.ndim)
        out = np.full(x.shape, start, x.dtype)
        for place in np.ndindex(source.shape):
            best = None
            for offset in np.ndindex(*options["window_dimensions"]):
                at = tuple(p * s + o - low for p, s, o, low in zip(place, of("strides", 1), offset, of("low", 0)))
                if all(0 <= i < dim for i, dim in zip(at, x.shape)) and not (best is not None and keeps(x[best], x[at])):
                    best = at
            out[best] += source[place]
        return out

    def size(x, source, start, options):
        return selected(x, np.abs(source), np.abs(start), options)

    def places(x, options):
        """Returns the number of windows on each axis."""
        of = lambda name, default: field(options, name, default, x.ndim)
        rows = zip(x.shape, of("low", 0), of("high", 0), options["window_dimensions"], of("strides", 1))
        return tuple((dim + low + high - window) // stride + 1 for dim, low, high, window, stride in rows)

    def cases(dtype):
        selections = SELECTIONS if dtype == "f32" else SELECTIONS[:1]
        rows = [(plain(dtype, shape, 64), options) for shape, options in selections]
        if dtype in ("f32", "u8"):
            rows.append((np.ones((4, 6), DTYPES[dtype][1]), SELECTIONS[0][1]))
        if kind(dtype) == "float":
            rows.append((extremes(dtype), {"window_dimensions": [1, 3]}))
        return [
            Case([x, counted(dtype, places(x, options)), numbered(DTYPES[dtype][1].type(1))], {"options": options})
            for x, options in rows
        ]

    return Operation(f"select_and_scatter {name}", "integer float", call, selected, cases, size, False)


def windowed():
    reduced = [reduce_window(name) for name in ("add", "multiply", "max", "min")]
    selections = [select_and_scatter("GE", lambda a, b: a >= b), select_and_scatter("GT", lambda a, b: a > b)]
    return [convolution(), *reduced, *selections]
