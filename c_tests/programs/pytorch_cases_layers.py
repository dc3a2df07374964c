"""Cases of layers, losses and random numbers, with their arguments away from their defaults."""

import torch
from pytorch_calls import INF, NAN, call, f32, fixed, normal, pred, s64


def layers():
    x1, x2, x3 = normal(2, 4, 7), normal(2, 4, 5, 6), normal(1, 4, 3, 4, 3)
    for rank, x in ((1, x1), (2, x2), (3, x3)):
        w, g, b = normal(6, 4, *[3] * rank), normal(6, 2, *[2] * rank), normal(6)
        yield (
            f"conv{rank}d.default",
            [
                call(x, w),
                call(x, w, b, [2] * rank, [1] * rank),
                call(x, g, b, [1] * rank, [1] * rank, [2 if rank < 3 else 1] * rank, 2),
                call(x, g, None, [1] * rank, [0] * rank, [1] * rank, 2),
                call(x[0], w, b),
            ],
        )
        yield (
            f"conv{rank}d.padding",
            [
                call(x, w, b, [1] * rank, "same"),
                call(x, g, None, [1] * rank, "same", [2 if rank < 3 else 1] * rank, 2),
                call(x, w, None, [2] * rank, "valid"),
            ],
        )
        t = normal(4, 3, *[3] * rank)
        yield (
            f"conv_transpose{rank}d.{'default' if rank == 1 else 'input'}",
            [
                call(x, t),
                call(x, t, normal(3), [2] * rank, [1] * rank, [1] * rank),
                call(x, t, normal(6), [2] * rank, [1] * rank, [0] * rank, 2, [1] * rank),
                call(x, t, None, [1] * rank, [0] * rank, [0] * rank, 1, [2] * rank),
                call(x[0], t),
            ],
        )
        for transposed in (False, True):
            k = normal(4, 4, *[3] * rank)
            yield (
                "convolution.default",
                [
                    call(x, k, normal(4), [1] * rank, [1] * rank, [1] * rank, transposed, [0] * rank, 1),
                    call(
                        x,
                        normal(4, 2, *[2] * rank),
                        None,
                        [2] * rank,
                        [0] * rank,
                        [1] * rank,
                        transposed,
                        [0] * rank,
                        2,
                    ),
                ],
            )
        y = normal(1, 2, *[7, 6, 5][:rank])
        ties = (y * 2).round()
        yield (
            f"max_pool{rank}d.default",
            [
                call(y, [2] * rank),
                call(y, [3] * rank, [2] * rank, [1] * rank),
                call(y, [2] * rank, [1] * rank, [0] * rank, [2] * rank),
                call(y, [2] * rank, [2] * rank, [0] * rank, [1] * rank, True),
                call(y, [3] * rank, [2] * rank, [1] * rank, [1] * rank, True),
                call(ties, [3] * rank, [1] * rank),
                call(y[0], [2] * rank),
                call(-y.abs() - 1, [3] * rank, [2] * rank, [1] * rank),
            ],
        )
        yield (
            f"avg_pool{rank}d.default",
            [
                call(y, [2] * rank),
                call(y, [3] * rank, [2] * rank, [1] * rank),
                call(y, [3] * rank, [2] * rank, [1] * rank, True),
                call(y, [3] * rank, [2] * rank, [1] * rank, False, False),
                call(y, [3] * rank, [2] * rank, [1] * rank, True, False),
                call(y[0], [2] * rank),
                call(y.to(torch.bfloat16), [2] * rank),
            ],
        )
        yield (
            f"adaptive_avg_pool{rank}d.default",
            [
                call(y, [1] * rank),
                call(y, [3] * rank),
                call(y, [7, 6, 5][:rank]),
                call(y, [9] * rank),
                call(y[0], [2] * rank),
                call(y.to(torch.bfloat16), [2] * rank),
            ],
        )
        if rank > 1:
            yield f"avg_pool{rank}d.default", [call(y, [2] * rank, [2] * rank, [0] * rank, False, True, 3)]
            yield f"_adaptive_avg_pool{rank}d.default", [call(y, [2] * rank), call(y, [3] * rank)]
        sizes = [5, 9, 4][:rank]
        yield (
            f"upsample_nearest{rank}d.vec",
            [
                call(y, sizes, None),
                call(y, None, [2.0] * rank),
                call(y, None, [0.6] * rank),
                call(y, None, [1.5] * rank),
                call(y, [1] * rank, None),
            ],
        )
        linear = ("linear1d", "bilinear2d", "trilinear3d")[rank - 1]
        yield (
            f"upsample_{linear}.vec",
            [
                call(y, size, align, scale)
                for align in (False, True)
                for size, scale in (
                    (sizes, None),
                    (None, [2.0] * rank),
                    (None, [0.6] * rank),
                    (None, [1.7] * rank),
                    ([1] * rank, None),
                )
            ],
        )
    a, b = normal(3, 4), normal(4, 5)
    yield (
        "linear.default",
        [
            call(a, normal(5, 4)),
            call(a, normal(5, 4), normal(5)),
            call(normal(2, 3, 4), normal(5, 4), normal(5)),
            call(normal(4), normal(5, 4), normal(5)),
            call(a.to(torch.bfloat16), normal(5, 4, dtype=torch.bfloat16), normal(5, dtype=torch.bfloat16)),
            call(normal(4), normal(4)),
        ],
    )
    yield (
        "matmul.default",
        [
            call(a, b),
            call(normal(4), b),
            call(a, normal(4)),
            call(normal(4), normal(4)),
            call(normal(2, 3, 4), b),
            call(normal(2, 1, 3, 4), normal(3, 4, 5)),
            call(normal(4), normal(2, 4, 3)),
            call(torch.ones(2, 3, dtype=torch.int64), torch.ones(3, 2, dtype=torch.int64)),
            call(torch.zeros(2, 0), torch.zeros(0, 3)),
        ],
    )
    yield "mm.default", [call(a, b), call(a.double(), b.double())]
    yield "bmm.default", [call(normal(2, 3, 4), normal(2, 4, 5))]
    yield "mv.default", [call(a, normal(4))]
    yield "dot.default", [call(normal(4), normal(4)), call(s64(1, 2), s64(3, 4))]
    yield (
        "addmm.default",
        [
            call(normal(3, 5), a, b),
            call(normal(5), a, b, beta=2, alpha=0.5),
            call(f32(NAN), a, b, beta=0),
            call(normal(3, 1), a, b, beta=-1),
        ],
    )
    yield (
        "baddbmm.default",
        [
            call(normal(2, 3, 5), normal(2, 3, 4), normal(2, 4, 5)),
            call(normal(5), normal(2, 3, 4), normal(2, 4, 5), beta=0.5, alpha=2),
        ],
    )
    yield "addmv.default", [call(normal(3), a, normal(4)), call(normal(3), a, normal(4), beta=0.5, alpha=2)]
    yield "outer.default", [call(normal(3), normal(4))]
    yield "ger.default", [call(normal(3), normal(4))]
    yield (
        "einsum.default",
        [
            call("ij,jk->ik", [a, b]),
            call("bij,bkj->bik", [normal(2, 3, 4), normal(2, 5, 4)]),
            call("ii->i", [normal(3, 3)]),
            call("ij->", [a]),
            call("i,j", [normal(3), normal(4)]),
            call("...ij,jk->...ik", [normal(2, 3, 4), b]),
            call("ij,ij->i", [a, a]),
        ],
    )


def normalizations():
    x, w, b = normal(2, 6, 4), normal(4), normal(4, seed=1)
    half = [t.to(torch.bfloat16) for t in (x, w, b)]
    yield (
        "layer_norm.default",
        [
            call(x, [4]),
            call(x, [4], w, b),
            call(x, [6, 4], normal(6, 4), None, 1e-3),
            call(half[0], [4], half[1], half[2]),
            call(torch.ones(2, 4), [4]),
        ],
    )
    yield "native_layer_norm.default", [call(x, [4], w, b, 1e-5), call(x, [6, 4], None, None, 1e-3)]
    yield (
        "rms_norm.default",
        [
            call(x, [4]),
            call(x, [4], w, 1e-3),
            call(x, [6, 4]),
            call(half[0], [4], half[1]),
            call(x.half(), [4]),
            call(x.double(), [4]),
            call(x * 1e-3, [4]),
        ],
    )
    c = normal(6)
    yield (
        "group_norm.default",
        [
            call(x, 2),
            call(x, 3, c, normal(6, seed=2)),
            call(x, 1, c, None, 1e-2),
            call(x, 6),
            call(normal(2, 6), 2),
            call(half[0], 2),
        ],
    )
    yield "native_group_norm.default[0]", [call(x, c, c, 2, 6, 4, 3, 1e-5)]
    yield (
        "instance_norm.default",
        [call(x, None, None, None, None, True, 0.1, 1e-5, True), call(x, c, c, None, None, True, 0.1, 1e-3, True)],
    )
    mean, var = fixed(normal(6, seed=3)), fixed(normal(6, seed=4).abs() + 0.5)
    half_mean, half_var = fixed(mean.to(torch.bfloat16)), fixed(var.to(torch.bfloat16))
    for training in (False, True):
        yield (
            "batch_norm.default",
            [
                call(x, c, normal(6, seed=2), mean, var, training, 0.2, 1e-3, True),
                call(x, None, None, mean, var, training, 0.1, 1e-5, True),
                call(normal(5, 6), c, c, mean, var, training, 0.1, 1e-5, True),
                call(
                    half[0], c.to(torch.bfloat16), c.to(torch.bfloat16), half_mean, half_var, training, 0.1, 1e-5, True
                ),
                call(half[0], c, c, mean, var, training, 0.1, 1e-5, True),
            ],
        )
        for name in ("native_batch_norm", "_native_batch_norm_legit"):
            yield f"{name}.default{'' if training else '[0]'}", [call(x, c, c, mean, var, training, 0.2, 1e-3)]
        yield (
            f"_native_batch_norm_legit_functional.default{'' if training else '[0]'}",
            [call(x, c, c, mean, var, training, 0.2, 1e-3)],
        )
    yield (
        "batch_norm.default",
        [
            call(x, c, c, None, None, True, 0.1, 1e-5, True),
            call(normal(1, 6, 1), c, c, mean, var, False, 0.1, 1e-5, True),
        ],
    )
    yield "_native_batch_norm_legit_no_training.default[0]", [call(x, c, c, mean, var, 0.1, 1e-3)]
    yield "_native_batch_norm_legit.no_stats", [call(x, c, c, True, 0.1, 1e-3)]
    q, k, v = normal(2, 2, 3, 4), normal(2, 2, 5, 4), normal(2, 2, 5, 6)
    mask = pred(True, False, True, True, False).expand(3, 5).clone()
    mask[1] = False
    yield (
        "scaled_dot_product_attention.default",
        [
            call(q, k, v),
            call(q, k, v, is_causal=True),
            call(q, k, v, scale=0.3),
            call(q, k, v, mask),
            call(q, k, v, normal(3, 5)),
            call(q[0], k[0], v[0]),
            call(q, k, v, normal(2, 1, 3, 5)),
            call(q, k, v, torch.zeros(3, 5).masked_fill(~mask, -INF)),
            call(normal(1, 4, 3, 4), normal(1, 2, 3, 4), normal(1, 2, 3, 4), enable_gqa=True),
            call(q, q, q, is_causal=True),
        ],
    )


def losses():
    x, t, w = normal(4, 3), s64(0, 2, -100, 1), fixed(f32(1, 2, 0.5))
    y = normal(2, 3, 4)
    u = s64(0, 2, 1, -100, 1, 1, 0, 2).reshape(2, 4)
    for reduction in (0, 1, 2):
        given = [call(x, t, None, reduction), call(x, t, w, reduction), call(x, t, w, reduction, 1)]
        yield (
            "cross_entropy_loss.default",
            [
                *given,
                call(x, t, w, reduction, -100, 0.1),
                call(y, u, w, reduction, -100, 0.2),
                call(x, normal(4, 3).softmax(1), w, reduction, -100, 0.1),
                call(x[0], torch.tensor(1), w, reduction),
                call(x, normal(4, 3).softmax(1), None, reduction),
                call(y, normal(2, 3, 4).softmax(1), w, reduction),
            ],
        )
        yield "nll_loss.default", given
        yield "nll_loss_nd.default", [*given, call(y, u, w, reduction), call(x[0], torch.tensor(1), w, reduction)]
        yield "nll_loss2d.default", [call(normal(2, 3, 2, 2), u.reshape(2, 2, 2), w, reduction)]
        yield "nll_loss_forward.default", [call(x, t, w, reduction, -100)]
        yield "nll_loss2d_forward.default", [call(normal(2, 3, 2, 2), u.reshape(2, 2, 2), w, reduction, -100)]
        a, b = f32(-3, -1, 0, 0.5, 1, 3), f32(0, 0, 0, 0, 0, 0)
        for name in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"):
            yield (
                f"{name}.default",
                [
                    call(a, b, reduction),
                    call(normal(2, 3), fixed(normal(3)), reduction),
                    call(a.to(torch.bfloat16), b.to(torch.bfloat16), reduction),
                    *([call(a, b.double(), reduction)] if name != "huber_loss" else []),
                    call(torch.tensor(1.0), torch.tensor(2.0), reduction),
                ],
            )
        yield (
            "smooth_l1_loss.default",
            [call(a, b, reduction, 0.5), call(a, b, reduction, 2), call(a + 0.25, b, reduction, 0.0)],
        )
        yield "huber_loss.default", [call(a, b, reduction, 0.5), call(a, b, reduction, 3.0)]
        yield (
            "binary_cross_entropy_with_logits.default",
            [
                call(a, f32(0, 1, 0, 1, 0.3, 1), None, None, reduction),
                call(normal(2, 3), normal(2, 3).sigmoid(), w, fixed(f32(2, 1, 0.5)), reduction),
                call(f32(100, -100), f32(0, 1), None, None, reduction),
            ],
        )
    yield "cross_entropy_loss.default", [call(x, s64(-100, -100, -100, -100)), call(x.to(torch.bfloat16), t)]


def draws():
    x = normal(3, 4)
    yield "dropout.default", [call(x, 0.5, True)]
    yield "dropout_.default", [call(x, 0.5, True)]
    yield "feature_dropout.default", [call(normal(2, 3, 4), 0.5, True)]
    yield "native_dropout.default", [call(x, 0.5, True)]
    yield "rand.default", [call([2, 3]), call([2], dtype=torch.float64)]
    yield "randn.default", [call([2, 3])]
    for name in ("rand_like", "randn_like"):
        yield f"{name}.default", [call(x), call(x, dtype=torch.float64)]
    yield "randint.low", [call(1, 5, [2, 3]), call(1, 5, [2], dtype=torch.int32)]
    yield "randint.default", [call(5, [2, 3]), call(5, [2], dtype=torch.float32)]
    yield "randint_like.default", [call(x, 5)]
    yield "randint_like.low_dtype", [call(x, 2, 5)]
    yield "randperm.default", [call(5), call(3, dtype=torch.int32), call(0)]
    p = x.sigmoid()
    yield "bernoulli.default", [call(p)]
    yield "bernoulli.p", [call(x, 0.3)]
    yield "bernoulli.Tensor", [call(x, p)]
    yield "bernoulli_.float", [call(x, 0.3)]
    yield "bernoulli_.Tensor", [call(x, p)]
    for name in ("uniform_", "normal_", "exponential_", "cauchy_", "log_normal_"):
        yield f"{name}.default", [call(x)]
    for name in ("uniform", "normal_functional", "exponential", "cauchy", "log_normal"):
        yield f"{name}.default", [call(x)]
    yield "geometric.default", [call(x, 0.3)]
    yield "normal.float_float", [call(1.0, 2.0, [3, 4])]
    yield "normal.Tensor_float", [call(x, 2.0)]
    yield "normal.float_Tensor", [call(1.0, p)]
    yield "normal.Tensor_Tensor", [call(x, p)]
    for name in ("poisson", "_standard_gamma", "_sample_dirichlet"):
        yield f"{name}.default", [call(fixed(p))]
    yield "multinomial.default", [call(p, 2), call(p[0], 3), call(p, 7, True), call(p[0], 5, True)]
    for name in ("alpha_dropout", "feature_alpha_dropout"):
        yield f"{name}.default", [call(normal(2, 3, 4), 0.5, True)]
    for name in ("empty.memory_format",):
        yield name, [call([2, 3])]
    yield "empty_like.default", [call(x)]
    yield "new_empty.default", [call(x, [2])]


def without_draws():
    x = normal(3, 4)
    for name in ("alpha_dropout", "feature_alpha_dropout"):
        yield f"{name}.default", [call(x, 0.5, False), call(x, 0.0, True), call(fixed(x), 1.0, True)]
    for name in ("dropout", "dropout_", "feature_dropout", "native_dropout"):
        yield f"{name}.default", [call(x, 0.5, False), call(x, 0.0, True), call(x, 1.0, True)]


def recurrent():
    x, h, c = normal(5, 2, 3), normal(2, 2, 4), normal(2, 2, 4, seed=1)
    of = lambda gates, width: [
        normal(*dims) for dims in ((gates * 4, width), (gates * 4, 4), (gates * 4,), (gates * 4,))
    ]
    for batch_first in (False, True):
        given = x.transpose(0, 1).contiguous() if batch_first else x
        yield (
            "lstm.input",
            [
                call(given, [h, c], of(4, 3) + of(4, 4), True, 2, 0.0, False, False, batch_first),
                call(given, [h, c], of(4, 3) + of(4, 3), True, 1, 0.0, False, True, batch_first),
                call(given, [h[:1], c[:1]], of(4, 3)[:2], False, 1, 0.0, False, False, batch_first),
            ],
        )
        yield (
            "gru.input",
            [
                call(given, h, of(3, 3) + of(3, 4), True, 2, 0.0, False, False, batch_first),
                call(given, h, of(3, 3) + of(3, 3), True, 1, 0.0, False, True, batch_first),
                call(given, h[:1], of(3, 3)[:2], False, 1, 0.0, False, False, batch_first),
            ],
        )
