"""Cases of elementwise operators and new tensors: at bounds, at kinks, and for all kinds of dtypes."""

import torch
from pytorch_calls import FLOATS, INF, NAN, POINTS, call, f32, normal, of_integers, of_points, pred, s64, with_others


def unary():
    for name in (
        "exp",
        "expm1",
        "sigmoid",
        "tanh",
        "sin",
        "cos",
        "tan",
        "sinh",
        "cosh",
        "atan",
        "asinh",
        "erf",
        "erfc",
    ):
        yield f"{name}.default", of_points() + of_integers()
    for name in ("asin", "acos", "atanh", "erfinv"):
        yield f"{name}.default", of_points(1 / 6) + of_integers()
    for name in ("log", "log1p", "sqrt", "rsqrt", "log2", "log10", "lgamma", "digamma", "reciprocal"):
        yield f"{name}.default", of_points(0.6, 0.3) + of_points(0.75, 5.5)[:2] + of_integers() + [call(f32(0.0, 1.0))]
    yield "acosh.default", of_points(0.6, 4.7, extra=(NAN, INF)) + of_integers()[:1]
    for name in (
        "neg",
        "abs",
        "sign",
        "sgn",
        "floor",
        "ceil",
        "round",
        "trunc",
        "fix",
        "square",
        "isnan",
        "isinf",
        "logical_not",
    ):
        yield f"{name}.default", of_points() + of_integers()
    yield "bitwise_not.default", of_integers()
    complexes = [call(torch.tensor([1 + 2j, -3j])), call(f32(1, 2))]
    yield "real.default", complexes
    yield "imag.default", complexes[:1]
    for name in (
        "relu",
        "relu6",
        "silu",
        "mish",
        "selu",
        "log_sigmoid",
        "gelu",
        "hardswish",
        "hardsigmoid",
        "leaky_relu",
        "elu",
        "celu",
        "softplus",
        "hardtanh",
    ):
        calls = of_points(extra=(NAN, 120.0, -120.0)) + of_integers()
        # PyTorch rounds the slope 1/6 of hardsigmoid to f32; its hardtanh wraps bounds that an u8 cannot hold.
        left_out = {"hardsigmoid": torch.float64, "hardtanh": torch.uint8}.get(name)
        yield f"{name}.default", [each for each in calls if each[0][0].dtype != left_out]
    for name in (
        "exp",
        "log",
        "sigmoid",
        "tanh",
        "sqrt",
        "neg",
        "abs",
        "relu",
        "relu6",
        "silu",
        "mish",
        "selu",
        "gelu",
        "hardswish",
        "hardsigmoid",
        "leaky_relu",
        "elu",
        "hardtanh",
        "zero",
    ):
        yield f"{name}_.default", [call(f32(0.25, 0.5, 3.0)), call(normal(2, 3, dtype=torch.bfloat16).abs())]
    yield "logical_not_.default", [call(pred(True, False)), call(s64(0, 2))]
    yield "zero.default", [call(f32(1, 2)), call(s64(1))]


def parameters_of_activations():
    x = f32(*POINTS)
    yield "gelu.default", [call(x.to(dtype), approximate="tanh") for dtype in FLOATS]
    yield "leaky_relu.default", [call(x, 0.2), call(x, -0.5), call(x, 0)]
    yield "elu.default", [call(x, 0.5, 2.0, 1.5), call(x, 2)]
    yield "celu.default", [call(x, 0.5), call(x, 3)]
    yield "softplus.default", [call(x, 2.0, 6.0), call(x, 0.5, 1), call(x, 1, 3)]
    yield "threshold.default", [call(x, 0.5, 20.0), call(x, -1, -7), call(s64(1, 5), 2, 9), call(f32(NAN), 1, 2)]
    yield "hardtanh.default", [call(x, -0.5, 0.5), call(x, 0, 6), call(s64(-3, 3), -1, 1)]
    yield (
        "prelu.default",
        [call(normal(2, 3, 2), f32(0.1, 0.0, -0.5)), call(x, f32(0.25)), call(normal(4, 3), f32(0.5, 1, 2))],
    )
    yield "prelu.default", [call(torch.tensor(-2.0), f32(0.25)), call(normal(2, 3), torch.tensor(0.5))]
    yield "_prelu_kernel.default", [call(normal(2, 3), f32(0.5, 0.25, 0.1)[None])]
    yield "glu.default", [call(normal(4, 6)), call(normal(4, 6), 0), call(normal(2, 4, 3), -2)]


def pairs():
    a, b = f32(-7, -3.5, -1, 0, 2, 2, 5.5), f32(2, -2, 3, 4, 2, -2, 0.3)
    m, n = s64(-7, -7, 7, 7, 0), s64(2, -2, 2, -2, 3)
    mixed = [
        call(a, torch.tensor(2)),
        call(m, torch.tensor(0.5)),
        call(a.double(), b),
        call(a.to(torch.bfloat16), b),
        call(a.to(torch.bfloat16), torch.tensor(3.0)),
        call(a.half(), b.to(torch.bfloat16)),
        call(m.int(), n),
        call(torch.tensor(2, dtype=torch.int32), torch.tensor(3)),
        call(normal(2, 1, 3), normal(4, 1)),
        call(normal(2, 0), normal(1)),
        call(torch.tensor([250, 3], dtype=torch.uint8), torch.tensor([7, 2], dtype=torch.uint8)),
        call(torch.tensor([250, 3], dtype=torch.uint8), torch.tensor([-7, 2], dtype=torch.int8)),
        call(f32(NAN, 1, INF), f32(1, NAN, INF)),
        call(f32(1, -1, 0), f32(0.0, 0.0, 0.0)),
        call(pred(True, False), s64(2, 3)),
        call(torch.tensor(1.5, dtype=torch.float64), f32(1, 2)),
        call(a, a),
        call(f32(2.0), torch.tensor(2.0)),
    ]
    all_of = [call(a, b), call(m, n), *mixed]
    numbers = [
        call(a, 2),
        call(a, -1.5),
        call(m, 2),
        call(m, -3),
        call(m, 0.5),
        call(pred(True, False), 2),
        call(pred(True), 0.5),
        call(a.to(torch.bfloat16), 0.3),
        call(torch.tensor([200, 5], dtype=torch.uint8), 3),
        call(a.half(), 3),
        call(pred(True, False), True),
        call(torch.tensor(3), 2.5),
    ]
    for name in ("add", "sub", "mul", "div", "rsub"):
        yield f"{name}.Tensor", all_of
        yield f"{name}.Scalar", numbers
    for name in ("add", "sub", "rsub"):
        yield (
            f"{name}.Tensor",
            [call(a, b, alpha=2), call(m, n, alpha=-3), call(a, b, alpha=0.5), call(a, m.float()[:1], alpha=2)],
        )
        yield f"{name}.Scalar", [call(a, 3, 2), call(m, 2, -1), call(a, 0.5, 0.25)]
    yield (
        "add.Tensor",
        [call(pred(True, False), pred(True, True)), call(pred(True, False), pred(True, True), alpha=True)],
    )
    yield "mul.Tensor", [call(pred(True, False), pred(True, True))]
    yield "true_divide.Tensor", [call(m, n), call(a, b)]
    for mode in (None, "floor", "trunc"):
        yield "div.Tensor_mode", with_others(all_of, rounding_mode=mode)
        yield "div.Scalar_mode", with_others(numbers, rounding_mode=mode)
    yield "floor_divide.default", all_of
    yield "floor_divide.Scalar", numbers
    for name in ("remainder", "fmod"):
        yield f"{name}.Tensor", all_of + [call(f32(6, -6), f32(3, 3))]
        yield f"{name}.Scalar", numbers + [call(f32(5, -5), INF)]
    yield "remainder.Scalar_Tensor", [call(7, m), call(-7, n), call(2.5, a + 0.1)]
    without_nan = [given for given in all_of if not any(t.is_floating_point() and t.isnan().any() for t in given[0])]
    for name in ("maximum.default", "minimum.default", "max.other", "min.other"):
        yield name, without_nan
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor", "__and__", "__or__", "__xor__"):
        yield (
            f"{name}.Tensor",
            [
                call(m, n),
                call(pred(True, False), pred(True, True)),
                call(m.int(), n),
                call(torch.tensor([200, 5], dtype=torch.uint8), torch.tensor([7, 2], dtype=torch.uint8)),
            ],
        )
        yield f"{name}.Scalar", [call(m, 6), call(pred(True, False), True), call(pred(True, False), 3)]
    for name in ("logical_and", "logical_or", "logical_xor"):
        yield (
            f"{name}.default",
            [call(a, b), call(m, n), call(pred(True, False), pred(True, True)), call(f32(NAN, 0), s64(0, 0))],
        )
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        yield f"{name}.Tensor", all_of
        yield (
            f"{name}.Scalar",
            numbers
            + [
                call(f32(0.1, 0.3), 0.1),
                call(s64(2, 3), 2.5),
                call(torch.tensor([255], dtype=torch.uint8), -1),
                call(f32(NAN, INF), INF),
                call(pred(True, False), 1),
            ],
        )
    yield "pow.Tensor_Scalar", [call(a, p) for p in (0, 1, 2, 3, 4, -1, -2, 0.5, -0.5, 1.5, 2.0, 0.0)]
    yield (
        "pow.Tensor_Scalar",
        [
            call(m[:4], 2),
            call(m, 3),
            call(m, 0),
            call(m, 0.5),
            call(pred(True, False), 2),
            call(f32(0.0, 2), -1.5),
            call(f32(0.0, -0.0, 4), 0.5),
            call(f32(0.0), 1),
            call(f32(0.0), 2),
            call(f32(NAN), 0),
        ],
    )
    yield (
        "pow.Tensor_Tensor",
        [
            call(f32(0, 0, 2, -2, 3), f32(0, 2, 0, 2, -1.5)),
            call(s64(2, -3), s64(3, 2)),
            call(s64(2), f32(0.5)),
            call(f32(0, 0), f32(1, 0.5)),
        ],
    )
    yield (
        "pow.Scalar",
        [call(2, f32(-1, 0, 3)), call(0, f32(0, 1, 2)), call(2, s64(0, 3)), call(1, f32(5)), call(-2.0, f32(2.0, 3.0))],
    )
    yield "atan2.default", [call(f32(0, 1, -1, 0, -0.0, 2), f32(1, 0, -1, -1, -1, 3)), call(m, n), call(f32(0), f32(0))]
    yield "logaddexp.default", [call(a, b), call(f32(1000, -1000), f32(1, 1000)), call(a, a)]
    for name in ("add", "sub", "mul", "div"):
        yield (
            f"{name}_.Tensor",
            [call(a, b), call(normal(2, 3), normal(3)), call(a.to(torch.bfloat16), b), call(s64(1, 2), s64(3, 4))],
        )
        yield f"{name}_.Scalar", [call(a, 3), call(a.half(), 0.5)]
    yield "div_.Tensor_mode", [call(a, b, rounding_mode="floor")]
    yield "div_.Scalar_mode", [call(a, 2, rounding_mode="trunc")]
    yield "floor_divide_.Tensor", [call(m, n)]
    yield "remainder_.Scalar", [call(m, 3), call(a, 2)]
    yield "pow_.Scalar", [call(a, 2), call(a, 3.0)]
    for name in ("logical_and", "logical_or"):
        yield f"{name}_.default", [call(pred(True, False), pred(True, True)), call(s64(0, 2), f32(1, 1))]


def bounds_and_choices():
    x = f32(*POINTS, NAN)
    given = [
        call(x, -1, 1),
        call(x, -0.5),
        call(x, None, 3),
        call(x, 3, -1),
        call(s64(-3, 0, 5), -1, 2),
        call(s64(-3, 0, 5), 0.5),
        call(x.to(torch.bfloat16), 0.3, 2),
        call(x, 0, 6),
        call(torch.tensor(2.0), 0, 1),
    ]
    for name in ("clamp.default", "clip.default"):
        yield name, given
    yield "clamp_.default", given[:4]
    for name in ("clamp_min.default", "clamp_max.default", "clamp_min_.default", "clamp_max_.default"):
        yield name, [call(x, 0), call(x, 0.5), call(s64(-3, 0, 5), 1)]
    p = pred(True, False, True)
    yield (
        "where.self",
        [
            call(p, f32(1, 2, 3), f32(4, 5, 6)),
            call(p, f32(NAN, 1, 2), torch.tensor(0.0)),
            call(p[:, None], s64(1, 2), f32(0.5, 1)),
        ],
    )
    yield (
        "where.ScalarOther",
        [call(p, f32(1, 2, 3), 2), call(p, s64(1, 2, 3), 0.5), call(p, normal(3, dtype=torch.bfloat16), -INF)],
    )
    yield "where.ScalarSelf", [call(p, 2, f32(1, 2, 3)), call(p, 0.5, s64(1, 2, 3))]
    yield "where.Scalar", [call(p, 1, 2), call(p, 1.5, 2), call(p, True, False)]
    for name in ("masked_fill", "masked_fill_"):
        yield (
            f"{name}.Scalar",
            [
                call(f32(1, 2, 3), p, 7),
                call(normal(2, 3), p, -INF),
                call(s64(1, 2, 3), p, 4),
                call(pred(True, True, True), p, False),
            ],
        )
        yield (
            f"{name}.Tensor",
            [call(f32(1, 2, 3), p, torch.tensor(7.0)), call(normal(2, 3, dtype=torch.bfloat16), p, torch.tensor(1.5))],
        )
    yield "masked_fill.Scalar", [call(f32(1, 2, 3), p[:2, None], 7), call(s64(1, 2, 3), p, 2.0)]
    a, b = f32(1, 2, 3), f32(-1, 0.5, 4)
    yield (
        "lerp.Scalar",
        [call(a, b, 0.25), call(a, b, 0.75), call(a, b, 2), call(a.to(torch.bfloat16), b.to(torch.bfloat16), 0.3)],
    )
    yield "lerp.Tensor", [call(a, b, f32(0.1, 0.5, 0.9)), call(a, b, torch.tensor(0.7))]
    for name in ("addcmul", "addcdiv", "addcmul_", "addcdiv_"):
        yield (
            f"{name}.default",
            [call(a, b, f32(2, 3, 4)), call(a, b, f32(2, 3, 4), value=-0.5), call(normal(2, 3), b, a, value=2)],
        )
    yield "addcmul.default", [call(s64(1, 2), s64(3, 4), s64(5, 6), value=2)]
    kinds = (*FLOATS, torch.int64, torch.int32, torch.uint8, torch.int8, torch.bool)
    values = [f32(-2.7, 0, 0.5, 3.5, 300, 65536), s64(-2, 0, 3, 300), pred(True, False)]
    yield "to.dtype", [call(value, kind) for value in values for kind in kinds]
    yield "to.dtype", [call(f32(1, 2), torch.float32, copy=True), call(normal(4, dtype=torch.bfloat16), torch.float32)]
    yield "_to_copy.default", [call(values[0], dtype=kind) for kind in kinds] + [call(f32(1, 2))]
    yield (
        "to.dtype_layout",
        [call(f32(1, 2), dtype=torch.float64, layout=torch.strided), call(f32(1, 2), dtype=torch.int32)],
    )
    yield "to.device", [call(f32(1, 2), torch.device("cpu"), torch.float64)]
    yield "to.other", [call(f32(1, 2.5), s64(1))]
    yield "to.prim_Device", [call(f32(1, 2.5), torch.device("cpu"), torch.int32)]
    yield "type_as.default", [call(f32(1, 2.5), s64(1)), call(f32(1, 2), f32(1))]
    for name in ("copy", "copy_"):
        yield (
            f"{name}.default",
            [call(f32(1, 2), s64(3, 4)), call(normal(2, 3), normal(3)), call(s64(1, 2), f32(2.5, -1.5))],
        )


def creation():
    x, i = f32(1, 2), s64(1, 2)
    kinds = [{}, {"dtype": torch.float64}, {"dtype": torch.int64}, {"dtype": torch.bool}]
    of = lambda *given: [call(*given, **kind) for kind in kinds]
    yield "zeros.default", of([2, 3])
    yield "ones.default", of([2, 0])
    yield "full.default", of([2], 3) + of([2], 2.5) + of([], True)
    yield "scalar_tensor.default", of(2.5) + of(3)
    for name in ("zeros", "ones"):
        yield f"{name}_like.default", of(x) + of(i)
        yield f"new_{name}.default", of(x, [3]) + of(i, [2, 2])
    yield "full_like.default", of(x, 2.5) + of(i, 3) + of(i, 2.5)
    yield "new_full.default", of(x, [2], 2.5) + of(i, [2], 3)
    for name in ("fill", "fill_"):
        yield f"{name}.Scalar", [call(x, 2.5), call(i, 3), call(pred(True, False), 2)]
    yield "arange.default", of(5) + of(2.5) + of(0)
    yield "arange.start", of(2, 6) + of(0.5, 3)[:2]
    yield (
        "arange.start_step",
        of(1, 8, 3) + of(5, 0, -2) + [call(0, 1, 0.1), call(1.0, 2.0, 0.25)],
    )
    yield (
        "linspace.default",
        [
            call(0, 1, 5),
            call(-1.5, 2, 4),
            call(2, -2, 3),
            call(3, 7, 1),
            call(0, 1, 0),
            call(0, 10, 4, dtype=torch.int64),
            call(0, 1, 7, dtype=torch.float64),
            call(-5, 5, 4, dtype=torch.int32),
            call(0, 1, 11),
        ],
    )
    yield "eye.default", of(3)
    yield "eye.m", of(2, 3) + of(3, 2)
