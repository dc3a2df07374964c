"""Cases of further functions of elements, of distances, and of operators that move elements."""

import torch
from pytorch_calls import INF, NAN, call, f32, fixed, normal, of_integers, of_points, pred, s64


def other(*dims):
    return normal(*dims, seed=7)


def functions():
    yield "positive.default", of_points()
    yield "isfinite.default", of_points(extra=(NAN, INF, -INF)) + of_integers()
    yield "signbit.default", [call(f32(-0.0, 0.0, -2.0, 3.0, -INF)), call(s64(-3, 0, 2))]
    yield "exp2.default", of_points() + of_integers()
    yield "deg2rad.default", of_points(30) + of_integers()
    yield "rad2deg.default", of_points() + of_integers()
    yield "frac.default", of_points(1.7)
    yield (
        "nan_to_num.default",
        [
            call(f32(NAN, INF, -INF, 1.5)),
            call(f32(NAN, INF, -INF, 1.5), 2.0, 3.0, -4.0),
            call(f32(NAN, INF, -INF, 1.5).double()),
            call(f32(NAN, INF, -INF, 1.5).bfloat16()),
            call(f32(NAN, INF, -INF, 1.5).half()),
            call(s64(1, 2)),
        ],
    )
    yield "logit.default", [call(f32(0.1, 0.5, 0.9, 0.0, 1.0)), call(f32(-0.5, 2.0))]
    yield "hypot.default", [call(normal(3, 4), normal(4)), call(f32(3.0, 0.5), f32(4.0, 0.0))]
    yield "copysign.Tensor", [call(normal(3, 4), other(3, 4)), call(s64(3, -2), s64(-1, 1))]
    yield "copysign.Scalar", [call(normal(3), -1.0)]
    # PyTorch has no derivative of 0 log(0) by the second operand.
    points = (fixed(f32(0.0, 0.0, 0.0, 1.0)), fixed(f32(0.0, NAN, INF, 2.0)))
    yield "xlogy.Tensor", [call(*points), call(f32(0.0, 1.0, -2.0), f32(3.0, 2.0, 0.5)), call(s64(0, 2), s64(3, 4))]
    yield "special_xlogy.default", [call(*points)]
    yield "special_xlog1py.default", [call(*points)]
    for shift in ("lshift", "rshift"):
        yield f"__{shift}__.Scalar", [call(s64(-7, 7, 1), 2)]
        yield (
            f"__{shift}__.Tensor",
            [call(s64(-7, 7, 1), s64(1, 2, 3)), call(s64(7, 200).to(torch.uint8), s64(1, 2).to(torch.uint8))],
        )
    for shift in ("left", "right"):
        yield f"bitwise_{shift}_shift.Tensor", [call(s64(-7, 7, 1), s64(1, 2, 3))]
        yield f"bitwise_{shift}_shift.Tensor_Scalar", [call(s64(-7, 7, 1), 2)]
    for name in ("hardshrink", "softshrink"):
        yield f"{name}.default", [call(f32(-0.5, 0.5, 0.0, -2.0, 2.0, NAN, INF)), call(normal(3, 4), 0.3)]
    yield "heaviside.default", [call(fixed(f32(-1.0, 0.0, 2.0)), fixed(f32(5.0, 6.0, 7.0)))]
    yield "logcumsumexp.default", [call(normal(3, 4), 1), call(normal(3, 4), -2)]
    yield "lerp_.Scalar", [call(normal(3, 4), other(3, 4), 0.3)]
    yield "lerp_.Tensor", [call(normal(3, 4), other(3, 4), torch.sigmoid(normal(3, 4)))]


def numbers_beside_halves():
    """PyTorch computes sums, products and quotients with numbers in f32, and infinities of numbers that are too large."""
    for dtype in (torch.float16, torch.bfloat16):
        x, tensor = normal(4, 5, dtype=dtype), fixed(torch.tensor(0.3))
        numbers = (0.3, 3, -1e9, 1e-9, 100000)
        for name in ("add", "sub", "mul", "div"):
            yield f"{name}.Tensor", [call(x, number) for number in numbers] + [call(x, tensor)]
        yield "rsub.Scalar", [call(x, number) for number in numbers]
        yield "add.Tensor", [call(x, other(4, 5).to(dtype), alpha=0.3), call(x, 0.3, alpha=3)]
        for name in ("gt", "le", "eq"):
            yield f"{name}.Scalar", [call(x, number) for number in numbers]
        yield "where.ScalarOther", [call(x > 0, x, number) for number in (-1e9, 1e9, 0.3)]


def distances():
    p, q = torch.softmax(normal(3, 4), 1), torch.softmax(other(3, 4), 1)
    for reduction in (0, 1, 2):
        yield "kl_div.default", [call(p.log(), q, reduction), call(p.log(), q.log(), reduction, log_target=True)]
        yield (
            "binary_cross_entropy.default",
            [
                call(torch.sigmoid(normal(3, 4)), torch.sigmoid(other(3, 4)), None, reduction),
                call(f32(0.25, 0.75), f32(0.0, 1.0), fixed(f32(2.0, 3.0)), reduction),
            ],
        )
        yield (
            "poisson_nll_loss.default",
            [
                call(normal(3, 4), other(3, 4), True, False, 1e-8, reduction),
                call(normal(3, 4).abs() + 0.5, normal(3, 4), False, False, 1e-8, reduction),
            ],
        )
        yield (
            "margin_ranking_loss.default",
            [
                call(normal(3), other(3), f32(1.0, -1.0, 1.0), 0.5, reduction),
                call(f32(1.0, 2.0), f32(1.0, 2.0), f32(1.0, -1.0), 0.0, reduction),
            ],
        )
        yield (
            "triplet_margin_loss.default",
            [call(normal(3, 4), other(3, 4), normal(3, 4, seed=9), 1.0, 2.0, 1e-6, False, reduction)],
        )
    yield (
        "cosine_similarity.default",
        [
            call(normal(3, 4), other(3, 4)),
            call(normal(2, 3, 4), normal(3, 4), -2),
            call(torch.zeros(2, 3), normal(2, 3)),
        ],
    )
    yield "pairwise_distance.default", [call(normal(3, 4), other(3, 4)), call(normal(3, 4), normal(4), keepdim=True)]


def rearrangements():
    yield "broadcast_tensors.default", [call([normal(3, 1), normal(4)])]
    yield "meshgrid.indexing", [call([normal(3), normal(2)], indexing="ij")]
    yield "hstack.default", [call([normal(3), normal(2)]), call([normal(2, 3), normal(2, 1)])]
    yield "vstack.default", [call([normal(3), normal(3)]), call([normal(2, 3), normal(1, 3)])]
    yield "ravel.default", [call(normal(2, 3))]
    yield "mT.default", [call(normal(2, 3, 4))]
    yield "tensor_split.sections", [call(normal(2, 7), 3, 1), call(normal(2, 3), 5, 1)]
    yield "pixel_shuffle.default", [call(normal(2, 8, 3, 2), 2), call(normal(9, 2, 3), 3)]
    yield "pixel_unshuffle.default", [call(normal(2, 3, 4, 6), 2)]
    yield "channel_shuffle.default", [call(normal(2, 6, 3, 3), 3)]
    yield "take.default", [call(normal(3, 4), s64(0, 11, -1, 5))]
    yield "take_along_dim.default", [call(normal(3, 4), s64(0, 3, 2).reshape(3, 1), 1)]
    yield "count_nonzero.dim_IntList", [call(f32(0.0, 1.0, -0.0, NAN).reshape(2, 2), [0]), call(normal(2, 3), [0, 1])]
    yield "count_nonzero.default", [call(pred(1, 0, 1)), call(s64(0, 2, 3).reshape(1, 3), 1)]
    yield "trace.default", [call(normal(3, 3)), call(normal(2, 4)), call(s64(1, 2, 3, 4).reshape(2, 2))]
    yield "diag_embed.default", [call(normal(2, 3)), call(normal(3), 1), call(normal(2, 3), -2)]
    yield "inner.default", [call(normal(2, 3), normal(4, 3))]
    yield "var_mean.dim", [call(normal(3, 4), [1])]
    yield "var_mean.default", [call(normal(3, 4))]
    for name in ("correction", "dim", "default"):
        axes = {"correction": ([1],), "dim": ([1],), "default": ()}[name]
        yield f"std_mean.{name}", [call(normal(3, 4), *axes)]
    yield "index_add.default", [call(normal(3, 4), 0, s64(0, 2, 0), normal(3, 4), alpha=2)]
    yield "addmm_.default", [call(normal(3, 3), normal(3, 4), normal(4, 3))]
