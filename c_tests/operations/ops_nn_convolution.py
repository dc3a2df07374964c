"""Convolutions, as ops_test.py compares them."""

import numpy as np
from ops_cases import Case, Operation, options_of, plain
from ops_linalg_products import WIDER, in_dtype
from ops_reduction_windows import windows
from ops_shape import padded
from ops_values import DTYPES

convolution_options = options_of("lxla_convolution_options")

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


def convolutions():
    return [convolution()]
