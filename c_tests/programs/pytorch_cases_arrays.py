"""Cases of reductions, shapes and indices: of rank 0, of sizes 0 and 1, and for ties."""

import torch
from pytorch_calls import FLOATS, INF, NAN, call, f32, normal, pred, s64, with_others


def reductions():
    x, ties = normal(2, 3, 4), f32(1, 3, 3, 0, 3)
    halves = [normal(3, 5, dtype=dtype) for dtype in FLOATS[1:]]
    integers = [
        s64(-2, 3, 4),
        pred(True, False, True),
        torch.tensor([200, 100], dtype=torch.uint8),
        torch.tensor([[1, 2], [3, 4]], dtype=torch.int32),
    ]
    odd = [torch.tensor(2.5), torch.zeros(2, 0), f32(1, NAN, 2), f32(INF, -INF, 1)]
    whole = [call(value) for value in (x, ties, *halves, *integers, *odd, f32(0.0, 2.0, 3.0), f32(0.0, 0.0, 3.0))]
    axes = [
        call(x, [0]),
        call(x, [-1]),
        call(x, [0, 2]),
        call(x, [1], True),
        call(x, [-1, -2], True),
        call(torch.zeros(2, 0, 3), [1]),
        call(torch.tensor(2.5), [0]),
        call(torch.tensor(2.5), [-1], True),
        call(halves[1], [0]),
    ]
    one_axis = [
        call(x, 0),
        call(x, -1),
        call(x, 1, True),
        call(x, -2, True),
        call(torch.tensor(2.5), 0),
        call(torch.tensor(2.5), -1, True),
        call(halves[1], 0),
        call(integers[3], 1),
        call(integers[1], 0),
        call(normal(3, 1), 1),
        call(ties, 0),
        call(f32(1, NAN, 2, NAN), 0),
        call(torch.zeros(0, 3), 1),
    ]
    for name in ("sum", "prod", "mean"):
        # The derivative of a product of infinities: PyTorch divides the product by them.
        given = [each for each in whole if name != "prod" or not each[0][0].isinf().any()]
        yield f"{name}.default", given + [call(integers[0], dtype=torch.float32), call(halves[1], dtype=torch.float32)]
    for name in ("max", "min", "any", "all"):
        yield f"{name}.default", whole
    for name in ("sum.dim_IntList", "mean.dim"):
        yield (
            name,
            axes
            + [
                call(x, []),
                call(x, None, True),
                call(integers[3], [0], dtype=torch.float32),
                call(halves[1], [1], dtype=torch.float32),
            ],
        )
    yield "prod.dim_int", one_axis + [call(f32(0.0, 2, 0), 0), call(integers[3], 0, dtype=torch.float64)]
    for name in ("any", "all"):
        yield f"{name}.dim", one_axis
        yield f"{name}.dims", axes + [call(x, []), call(x, None), call(integers[3], [0, 1], True)]
    for name in ("amax", "amin"):
        yield (
            f"{name}.default",
            axes[:5] + axes[6:] + [call(ties, [0]), call(x, []), call(x, [], True), call(ties), call(integers[3], [0])],
        )
    for name in ("max.dim", "min.dim"):
        yield name, one_axis
    for name in ("argmax", "argmin"):
        yield f"{name}.default", one_axis + whole + [call(x, None, True), call(x), call(-ties, 0)]
    for name in ("var", "std"):
        yield (
            f"{name}.correction",
            [
                call(x),
                call(x, [0]),
                call(x, [-1], correction=0),
                call(x, [0, 1], correction=2, keepdim=True),
                call(x, [1], correction=0.5),
                call(torch.full((2, 3), 2.0), [1]),
                call(normal(2, 1), [1]),
                call(torch.tensor(2.0)),
                call(halves[1], [1]),
            ],
        )
        yield f"{name}.dim", [call(x, [1]), call(x, [1], False), call(x, [0, -1], True, True), call(x, None, False)]
        yield f"{name}.default", [call(x), call(x, False), call(halves[2])]
    yield "var_mean.correction", [call(x, [1], correction=1), call(x, [0, 2], correction=0, keepdim=True), call(x)]
    yield (
        "logsumexp.default",
        axes + [call(f32(-INF, -INF), [0]), call(f32(INF, 1), [0]), call(integers[0], [0]), call(f32(1000, 1000), [0])],
    )
    for order in (2, 1, INF, 0, -INF, 3, 0.5, -1):
        yield (
            "linalg_vector_norm.default",
            [
                call(x, order),
                call(x, order, [1]),
                call(x, order, [0, -1], True),
                call(torch.zeros(2, 3) + f32(0, 1, 0), order, [0]),
                call(halves[1], order),
                call(f32(3.0, -3.0, 1), order),
            ],
        )
    yield (
        "linalg_vector_norm.default",
        [
            call(torch.zeros(2, 3)),
            call(torch.zeros(2, 3), 1, [1]),
            call(torch.zeros(2, 3), INF, [1]),
            call(torch.tensor(-3.0)),
            call(halves[1], 2, [0], dtype=torch.float32),
            call(torch.zeros(2, 0), 2, [1]),
        ],
    )
    yield (
        "norm.ScalarOpt_dim",
        [
            call(x, 2, [1]),
            call(x, 1, [-1], True),
            call(x, None, [0]),
            call(torch.zeros(2, 3), 2, [1]),
            call(x, INF, [0]),
        ],
    )
    yield "norm.Scalar", [call(x), call(x, 1), call(torch.zeros(3))]
    for name in ("cumsum", "cumprod"):
        yield (
            f"{name}.default",
            one_axis[:7]
            + [
                call(s64(1, 2, 3), 0),
                call(pred(True, True), 0),
                call(s64(1, 2), 0, dtype=torch.float32),
                call(f32(2, 0, 3, 0, 4), 0),
                call(torch.zeros(0, 2), 0),
            ],
        )
    for name in ("softmax", "log_softmax"):
        given = [
            call(x, 0),
            call(x, -1),
            call(x, 1),
            call(torch.tensor(2.0), 0),
            call(f32(-INF, 1, 2), 0),
            call(f32(-INF, -INF), 0),
            call(f32(1000, 0), 0),
            call(f32(NAN, 0), 0),
            call(torch.zeros(2, 0), 1),
        ]
        yield (
            f"{name}.int",
            given
            + [
                call(halves[1], 1, torch.float32),
                call(s64(1, 2), 0, torch.float32),
                call(halves[2], -1),
                call(halves[1], 0),
            ],
        )
        yield f"_{name}.default", with_others(given, False)
    apart = torch.randperm(24, generator=torch.Generator().manual_seed(3)).reshape(2, 3, 4) / 4
    yield (
        "topk.default",
        [
            call(apart, 2),
            call(apart, 1, 0),
            call(apart, 2, -2, False),
            call(halves[1], 2),
            call(s64(3, 1, 2), 2),
            call(f32(1, NAN, 3), 2),
            call(x, 0),
        ],
    )
    spread = torch.tensor([[3.0, 1, 2], [0, 5, -1]])
    for name in ("sort", "argsort"):
        yield (
            f"{name}.default",
            [
                call(spread),
                call(spread, 0),
                call(spread, -1, True),
                call(s64(3, 1, 2)),
                call(f32(2, NAN, 1)),
                call(f32(2, NAN, 1), 0, True),
                call(torch.tensor(1.0)),
            ],
        )
        yield (
            f"{name}.stable",
            [
                call(ties, stable=True),
                call(ties, stable=True, descending=True),
                call(spread, stable=True, dim=0),
                call(pred(True, False, True), stable=True),
            ],
        )
    yield (
        "diff.default",
        [
            call(x),
            call(x, 2, 1),
            call(x, 1, 0),
            call(pred(True, False, False)),
            call(f32(1, 4, 9), 1, 0, f32(0), f32(16)),
            call(f32(1), 3),
            call(torch.tensor([3, 250], dtype=torch.uint8)),
        ],
    )


def shapes():
    x = normal(2, 3, 4)
    for name in ("view.default", "reshape.default", "_unsafe_view.default"):
        yield (
            name,
            [
                call(x, [6, 4]),
                call(x, [-1]),
                call(x, [2, -1, 2]),
                call(torch.tensor(1.0), [1, 1]),
                call(torch.zeros(0, 3), [3, 0]),
                call(f32(1), []),
            ],
        )
    yield "view.dtype", [call(x, torch.float32), call(s64(1), torch.int64)]
    yield "view_as.default", [call(x, normal(6, 4))]
    yield "reshape_as.default", [call(x, normal(6, 4))]
    yield (
        "flatten.using_ints",
        [call(x), call(x, 1), call(x, -2, -1), call(x, 1, 1), call(torch.tensor(1.0)), call(torch.zeros(2, 0, 3), 1)],
    )
    yield "unflatten.int", [call(x, -1, [2, 2]), call(x, 1, [3, -1]), call(x, 2, [-1, 2, 1])]
    yield "unsqueeze.default", [call(x, 0), call(x, -1), call(x, -4), call(torch.tensor(1.0), 0)]
    yield "squeeze.default", [call(normal(1, 3, 1)), call(x), call(f32(1))]
    yield "squeeze.dim", [call(normal(1, 3, 1), 0), call(normal(1, 3, 1), -1), call(x, 1), call(torch.tensor(1.0), 0)]
    yield "squeeze.dims", [call(normal(1, 3, 1), [0, -1]), call(normal(1, 3, 1), [0, 1])]
    yield "permute.default", [call(x, [2, 0, 1]), call(x, [-1, 0, -2]), call(torch.tensor(1.0), [])]
    yield "transpose.int", [call(x, 0, 1), call(x, -1, -3), call(x, 1, 1), call(torch.tensor(1.0), 0, -1)]
    yield "swapaxes.default", [call(x, 0, -1)]
    yield "t.default", [call(normal(2, 3)), call(f32(1, 2)), call(torch.tensor(1.0))]
    yield "numpy_T.default", [call(x), call(normal(2, 3))]
    yield "movedim.int", [call(x, 0, 2), call(x, -1, 0), call(x, 1, -1)]
    yield (
        "expand.default",
        [
            call(normal(1, 3), [2, 3]),
            call(normal(1, 3), [4, -1, 3]),
            call(normal(3, 1), [-1, 2]),
            call(torch.tensor(1.0), [2, 2]),
            call(normal(1, 3), [0, 3]),
        ],
    )
    yield "broadcast_to.default", [call(normal(1, 3), [2, 3]), call(f32(1, 2), [3, 2])]
    yield "expand_as.default", [call(normal(1, 3), normal(2, 3))]
    yield (
        "slice.Tensor",
        [
            call(x, 2, 1, 3),
            call(x, -1, -3, -1),
            call(x, 1, 0, 100, 2),
            call(x, 0, 5, 9),
            call(x, 2, 3, 1),
            call(x, 2, None, None, 3),
            call(x),
            call(x, 2, -100, 2),
            call(x, 2, 0, 9223372036854775807),
        ],
    )
    yield "narrow.default", [call(x, 1, 1, 2), call(x, -1, -3, 2), call(x, 0, 0, 0)]
    yield "select.int", [call(x, 0, 1), call(x, -1, -2), call(f32(1, 2), 0, 0)]
    yield "split.Tensor", [call(x, 2, 1), call(x, 2, -1), call(x, 5), call(torch.zeros(0, 2), 1)]
    yield "split.sizes", [call(x, [1, 3], 2), call(x, [0, 2])]
    yield "split_with_sizes.default", [call(x, [1, 2], 1)]
    yield (
        "chunk.default",
        [
            call(x, 2, 2),
            call(x, 2, 1),
            call(normal(6), 4),
            call(x, 9, 0),
            call(normal(5), 3),
            call(torch.zeros(0, 2), 3),
        ],
    )
    yield "unbind.int", [call(x), call(x, -1)]
    for name in (
        "alias",
        "lift_fresh",
        "detach",
        "contiguous",
        "clone",
        "lift_fresh_copy",
        "alias_copy",
        "detach_copy",
    ):
        yield f"{name}.default", [call(x), call(x.t() if x.ndim == 2 else x.transpose(0, 1))]
    for name in ("cat", "concat"):
        yield (
            f"{name}.default",
            [
                call([x, x + 1]),
                call([x, x[:, :1]], 1),
                call([x, x], -1),
                call([f32(1, 2), s64(3)]),
                call([torch.zeros(0), x]),
                call([normal(2, dtype=torch.bfloat16), f32(1)]),
                call([pred(True), s64(2)]),
                call([x]),
            ],
        )
    yield (
        "stack.default",
        [
            call([x, x + 1]),
            call([x, x], -1),
            call([x, x], 1),
            call([torch.tensor(1.0), torch.tensor(2)]),
            call([f32(1, 2), s64(3, 4)]),
        ],
    )
    yield "flip.default", [call(x, [0]), call(x, [-1, 0]), call(x, [])]
    yield (
        "roll.default",
        [call(x, [1], [0]), call(x, [-1, 5], [1, -1]), call(x, [5]), call(x, 3), call(torch.zeros(0, 2), [1], [0])],
    )
    yield (
        "repeat.default",
        [
            call(f32(1, 2), [2]),
            call(f32(1, 2), [3, 2]),
            call(normal(2, 3), [1, 2]),
            call(f32(1, 2), [0]),
            call(torch.tensor(1.0), [2]),
        ],
    )
    yield "tile.default", [call(normal(2, 3), [2]), call(f32(1, 2), [2, 2]), call(normal(2, 3), [1, 2])]
    yield (
        "repeat_interleave.self_int",
        [call(normal(2, 3), 2), call(normal(2, 3), 2, 1), call(normal(2, 3), 3, -2), call(normal(2, 3), 0, 0)],
    )
    y = normal(1, 2, 3, 4)
    yield (
        "pad.default",
        [
            call(y, [1, 2]),
            call(y, [1, 2, 0, 1], "constant", 5.0),
            call(y, [-1, 1]),
            call(y, [-1, -1, 1, -1], "constant", -INF),
            call(y, [1, 2, 2, 1], "reflect"),
            call(y, [1, 2, 2, 1], "replicate"),
            call(y, [1, 2, 2, 1], "circular"),
            call(x, [1, 2], "reflect"),
            call(x, [3, 0], "replicate"),
            call(x, [4, 0], "circular"),
            call(y[0], [1, 0, 1, 1], "reflect"),
            call(s64(1, 2), [1, 1], "constant", 3),
            call(pred(True), [1, 0]),
        ],
    )
    yield "constant_pad_nd.default", [call(y, [1, 2], 3), call(y, [1, -2, 0, 1]), call(y, []), call(s64(1), [1, 1], 2)]
    z = normal(1, 1, 3, 3, 3)
    for rank, value in ((1, x), (2, y), (3, z)):
        for kind in ("reflection", "replication"):
            yield (
                f"{kind}_pad{rank}d.default",
                [call(value, [1, 2] + [2, 1] * (rank - 1)), call(value[0], [0, 1] + [1, 0] * (rank - 1))],
            )


def indexing():
    x, i = normal(4, 3), s64(2, -1, 0, 2)
    mask = pred(True, False, True, True)
    yield (
        "index.Tensor",
        [
            call(x, [i]),
            call(x, [None, s64(0, 2)]),
            call(x, [i, s64(0, 1, 2, -3)]),
            call(x, [s64(0, 1)[:, None], s64(1, 2)]),
            call(x, [torch.tensor(1)]),
            call(normal(2, 3, 4), [s64(0, 1), None, s64(1, 3)]),
            call(normal(2, 3, 4), [None, s64(0, 1), s64(1, 3)]),
            call(x, [i.int()]),
            call(x, [torch.zeros(0, dtype=torch.int64)]),
        ],
    )
    for name in ("index_put", "index_put_"):
        yield (
            f"{name}.default",
            [
                call(x, [s64(1, 3)], normal(2, 3)),
                call(x, [s64(1, 1, 3)], normal(3, 3), True),
                call(x, [s64(1)], torch.tensor(5.0)),
                call(x, [mask], torch.tensor(2.0)),
                call(x, [None, s64(0, -1)], normal(4, 2)),
                call(x, [s64(0, 1), s64(1, 2)], f32(7, 8)),
                call(x, [x > 0], torch.tensor(0.0)),
                call(x, [None, s64(0)], f32(3.0)),
            ],
        )
    yield (
        "index_select.default",
        [
            call(x, 0, s64(2, 0, 2)),
            call(x, -1, s64(1)),
            call(torch.tensor(3.0), 0, s64(0)),
            call(torch.tensor(3.0), 0, torch.tensor(0)),
            call(x, 0, torch.tensor(1)),
            call(x, 1, s64(0, 1).int()),
        ],
    )
    yield (
        "embedding.default",
        [
            call(x, s64(1, 3, 1)),
            call(x, torch.tensor([[0, 1], [2, 3]]), 1),
            call(x, s64(3, 3), 3),
            call(x, torch.tensor(2)),
        ],
    )
    yield (
        "gather.default",
        [
            call(x, 0, torch.tensor([[0, 1, 2], [3, 0, 1]])),
            call(x, -1, torch.tensor([[0], [1], [2], [0]])),
            call(x, 1, torch.tensor([[2, 2]])),
            call(torch.tensor(3.0), 0, torch.tensor(0)),
            call(f32(1, 2), 0, torch.tensor(1)),
            call(x, 0, torch.zeros(0, 3, dtype=torch.int64)),
            call(torch.tensor(3.0), 0, s64(0, 0)),
        ],
    )
    at = torch.tensor([[0, 1, 2], [3, 0, 1]])
    for suffix in ("", "_"):
        yield (
            f"scatter{suffix}.src",
            [
                call(x, 0, at, normal(2, 3)),
                call(x, 1, at[:, :2].clamp(max=2), normal(2, 2)),
                call(torch.tensor(1.0), 0, torch.tensor(0), torch.tensor(2.0)),
            ],
        )
        yield (
            f"scatter{suffix}.value",
            [call(x, 0, at, 5), call(x, -1, at[:, :1].clamp(max=2), -1.5), call(s64(1, 2), 0, s64(1), 7)],
        )
        yield (
            f"scatter_add{suffix}.default",
            [
                call(x, 0, at, normal(2, 3)),
                call(f32(1, 2), 0, s64(1, 1, 0), f32(1, 2, 3)),
                call(x, 1, torch.tensor([[0, 0]]), normal(1, 2)),
                call(torch.tensor(1.0), 0, torch.tensor(0), torch.tensor(2.0)),
            ],
        )
        yield (
            f"index_add{suffix}.default",
            [
                call(x, 0, s64(1, 1), normal(2, 3)),
                call(x, -1, s64(0, 2), normal(4, 2), alpha=2),
                call(x, 0, s64(3), normal(1, 3), alpha=-0.5),
                call(torch.tensor(1.0), 0, s64(0), f32(2.0)),
            ],
        )
        yield f"index_copy{suffix}.default", [call(x, 0, s64(1, 3), normal(2, 3)), call(x, 1, s64(2), normal(4, 1))]
        yield (
            f"index_fill{suffix}.int_Scalar",
            [call(x, 0, s64(1, 3), 2.5), call(x, -1, s64(0), 0), call(s64(1, 2, 3), 0, s64(-1), 7)],
        )
        for name in ("tril", "triu"):
            yield (
                f"{name}{suffix}.default",
                [call(x), call(x, 1), call(x, -1), call(normal(2, 3, 3), 1), call(normal(2, 3), 5)],
            )
    yield (
        "tril.default",
        [
            call(f32(NAN, 1)[None].expand(2, 2).contiguous()),
            call(torch.ones(3, 3, dtype=torch.bool)),
            call(torch.ones(3, 3, dtype=torch.int64)),
        ],
    )
    yield (
        "slice_scatter.default",
        [
            call(x, normal(2, 3), 0, 1, 3),
            call(x, normal(4, 1), -1, -1),
            call(x, normal(2, 3), 0, 0, 4, 2),
            call(x, torch.zeros(0, 3), 0, 3, 1),
        ],
    )
    yield "select_scatter.default", [call(x, normal(3), 0, 1), call(x, normal(4), -1, -1)]
    yield "one_hot.default", [call(s64(0, 2, 1), 3), call(torch.tensor([[1], [0]]), 4), call(torch.tensor(2), 3)]
