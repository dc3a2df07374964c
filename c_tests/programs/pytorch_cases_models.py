"""Cases of operators that whole models have beside those of layers: pools with places, resizing, sampling, patches,
cells, bags, scattering, diagonals, Fourier transforms and functions of matrices."""

import torch
import torch.nn.functional as F
from pytorch_calls import INF, NAN, call, f32, fixed, normal, pred, s64


def other(*dims):
    return normal(*dims, seed=7)


def pools():
    for rank in (1, 2, 3):
        y = normal(1, 2, *[7, 6, 5][:rank])
        ties = (y * 2).round()
        yield (
            f"adaptive_max_pool{rank}d.default",
            [
                call(y, [1] * rank), call(y, [3] * rank), call(ties, [2] * rank), call(y, [7, 6, 5][:rank]),
                call(y, [9] * rank), call(y[0], [2] * rank), call(y.bfloat16(), [2] * rank),
            ],
        )  # fmt: skip
        if rank == 1:
            continue
        calls = [
            call(y, [2] * rank),
            call(ties, [3] * rank, [2] * rank, [1] * rank),
            call(y, [2] * rank, [1] * rank, [0] * rank, [2] * rank),
            call(ties, [3] * rank, [2] * rank, [1] * rank, [1] * rank, True),
            call(y[0], [2] * rank, [1] * rank),
        ]
        yield f"max_pool{rank}d_with_indices.default", calls
        made, places = getattr(F, f"max_pool{rank}d")(y, 2, return_indices=True)
        more = ([2] * 3, [0] * 3) if rank == 3 else ()
        sizes = [7, 6, 5][:rank]
        yield f"max_unpool{rank}d.default", [call(made, places, sizes, *more), call(made[0], places[0], sizes, *more)]


def resizing():
    for rank in (1, 2, 3):
        y = normal(1, 2, *[7, 6, 5][:rank])
        sizes, scales = [5, 9, 4][:rank], [1.7, 0.6, 2.0][:rank]
        yield (
            f"_upsample_nearest_exact{rank}d.vec",
            [call(y, sizes, None), call(y, None, scales), call(y, [1] * rank, None)],
        )
        yield f"_upsample_nearest_exact{rank}d.default", [call(y, sizes), call(y, [11, 3, 10][:rank], *scales)]
        yield f"upsample_nearest{rank}d.default", [call(y, sizes), call(y, [11, 3, 10][:rank], *scales)]
        linear = ("linear1d", "bilinear2d", "trilinear3d")[rank - 1]
        aligned = [call(y, sizes, align) for align in (False, True)]
        yield f"upsample_{linear}.default", [*aligned, call(y, [11, 3, 10][:rank], False, *scales)]
    y = normal(1, 2, 7, 6)
    for name in ("upsample_bicubic2d", "_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa"):
        shapes = ([[5, 9], None], [None, [1.7, 0.6]], [[2, 3], None], [[1, 1], None], [[13, 7], None])
        for x in (y, y.double()):
            calls = [call(x, size, align, scale) for align in (False, True) for size, scale in shapes]
            yield f"{name}.vec", calls
        yield f"{name}.default", [call(y, [5, 9], False), call(y, [11, 3], False, 1.7, 0.6)]


def sampling():
    grids = {2: normal(2, 4, 5, 2) * 0.8, 3: normal(2, 2, 4, 3, 3) * 0.8}
    for rank, grid in grids.items():
        x = normal(2, 3, *[5, 6, 4][:rank])
        modes = (0, 1, 2) if rank == 2 else (0, 1)
        for mode in modes:
            for outside in (0, 1, 2):
                calls = [call(x, grid, mode, outside, align) for align in (False, True)]
                yield f"grid_sampler_{rank}d.default", calls
                yield "grid_sampler.default", calls
    theta = normal(2, 2, 3), normal(2, 3, 4)
    for align in (False, True):
        yield (
            "affine_grid_generator.default",
            [call(theta[0], [2, 3, 4, 5], align), call(theta[1], [2, 3, 4, 1, 3], align)],
        )
    x = normal(2, 3, 6, 7)
    yield (
        "im2col.default",
        [
            call(x, [2, 3], [1, 1], [0, 0], [1, 1]), call(x, [3, 2], [2, 1], [1, 2], [2, 3]),
            call(x[0], [2, 2], [1, 1], [1, 0], [2, 1]),
        ],
    )  # fmt: skip
    yield (
        "col2im.default",
        [
            call(normal(2, 18, 25), [6, 7], [2, 3], [1, 1], [0, 0], [1, 1]),
            call(normal(2, 12, 9), [5, 5], [2, 2], [1, 1], [1, 1], [2, 2]),
            call(normal(18, 9), [7, 7], [3, 3], [2, 2], [0, 0], [1, 1]),
        ],
    )


def cells():
    x, h = normal(3, 5), normal(3, 4)
    for name, gates in (("lstm_cell", 4), ("gru_cell", 3), ("rnn_tanh_cell", 1), ("rnn_relu_cell", 1)):
        state = [h, other(3, 4)] if name == "lstm_cell" else h
        weights = normal(4 * gates, 5), normal(4 * gates, 4)
        biases = normal(4 * gates), other(4 * gates)
        yield f"{name}.default", [call(x, state, *weights), call(x, state, *weights, *biases)]
    for name in ("rnn_tanh", "rnn_relu"):
        for biased in (True, False):
            weights = [normal(4, 3), normal(4, 4), *([normal(4), other(4)] if biased else [])]
            back = [t + 0.125 for t in weights]
            x, h = normal(5, 2, 3), normal(2, 2, 4)
            yield f"{name}.input", [call(x, h, [*weights, *back], biased, 1, 0.0, False, True, False)]
            yield (
                f"{name}.input",
                [call(x.transpose(0, 1).contiguous(), h[:1], weights, biased, 1, 0.0, False, False, True)],
            )
    for biased in (True, False):
        weights = [normal(16, 3), normal(16, 2), *([normal(16), other(16)] if biased else []), normal(2, 4)]
        states = [normal(1, 2, 2), normal(1, 2, 4)]
        yield "lstm.input", [call(normal(5, 2, 3), states, weights, biased, 1, 0.0, False, False, False)]


def bags():
    """Bags of words, as functions: the operators have results of integers, which PyTorch's gradients refuse."""
    words, starts = s64(0, 2, 2, 5, 1, 3), s64(0, 2, 2, 5)
    for mode in ("sum", "mean", "max"):

        def bag(table, words, starts, mode=mode, **named):
            return F.embedding_bag(words, table, starts, mode=mode, **named)

        calls = [
            call(normal(6, 3), words, starts),
            call(normal(6, 3), words, starts, padding_idx=2),
            call(normal(6, 3), words, starts, padding_idx=-1),
            call(normal(6, 3), words, s64(0, 2, 6), include_last_offset=True),
            # Two rows of a bag that are equal: the first one has the gradient.
            call(normal(6, 3)[[0, 0, 1]], s64(1, 0, 2), s64(0)),
        ]
        yield f"bags by {mode}", bag, calls
    yield (
        "weighted bags",
        lambda t, w, s, p: F.embedding_bag(w, t, s, mode="sum", per_sample_weights=p),
        [call(normal(6, 3), words, starts, normal(6))],
    )


def scattering():
    at = s64(0, 2, 0, 1, 1, 0, 2, 0).reshape(2, 4)
    x = normal(3, 4)
    for name in ("sum", "prod", "mean", "amax", "amin"):
        for kept in (True, False):
            # A product has no derivative by its updates.
            given = [fixed(x.clone()), fixed(other(2, 4))] if name == "prod" else [x, other(2, 4)]
            column = fixed(other(3, 1)) if name == "prod" else other(3, 1)
            integers = [(normal(3, 4) * 9).long(), (other(2, 4) * 9).long()]
            yield (
                "scatter_reduce.two",
                [
                    call(given[0], 0, at, given[1], name, include_self=kept),
                    call(integers[0], 0, at, integers[1], name, include_self=kept),
                    call(given[0], -1, s64(3, 1, 3).reshape(3, 1), column, name, include_self=kept),
                ],
            )  # fmt: skip
            if name != "sum":
                rows = [fixed(x.clone()), fixed(other(4, 4))] if name == "prod" else [x, other(4, 4)]
                yield "index_reduce.default", [call(rows[0], 0, s64(0, 2, 0, 0), rows[1], name, include_self=kept)]
        yield "scatter_reduce_.two", [call(fixed(x.clone()), 0, at, fixed(other(2, 4)), name)]
    # Equal elements share the gradient.
    yield "scatter_reduce.two", [call(f32(1.0, 2.0), 0, s64(1, 1, 0), f32(2.0, 2.0, 0.0), "amax")]
    yield "clamp.Tensor", [
        call(f32(1.0, 2.0, 3.0, 0.5, 5.0, 2.0), f32(1.0, 2.0, 1.0, 1.0, 1.0, 3.0), f32(3.0, 2.0, 3.0, 3.0, 3.0, 1.0)),
        call(normal(3, 4), normal(4) - 0.5, None), call(normal(3, 4), None, normal(3, 1)),
        call(f32(NAN, INF, -INF), f32(0.0, 0.0, 0.0), f32(1.0, 1.0, 1.0)),
        call(s64(1, 5, 9), s64(2, 2, 2), s64(4, 4, 4)),
        call(s64(1, 5, 9), fixed(f32(2.5, 2.5, 2.5))),
    ]  # fmt: skip
    for name, bound in (("clamp_min", f32(0.5, 1.0, 2.0)), ("clamp_max", f32(0.5, 1.0, 2.0))):
        yield f"{name}.Tensor", [call(f32(0.0, 1.0, 3.0), bound)]
    mask = pred(1, 0, 1)
    yield "index_put.default", [
        call(normal(3, 4), [mask], normal(4)), call(normal(3, 4), [mask], normal(1, 4)),
        call(normal(3, 4, 2), [mask], normal(1, 2)), call(normal(3, 4), [mask], normal(1)),
    ]  # fmt: skip


def written(change):
    """A function that changes a copy by a view, and returns the copy."""

    def function(x, *given):
        y = x.clone()
        change(y, *given)
        return y

    return function


def diagonals():
    for offset in (0, 1, -2, 9):
        yield (
            "diagonal.default",
            [call(normal(3, 4), offset), call(normal(2, 3, 4), offset, 0, 2), call(normal(3, 2, 4), offset, -1, 0)],
        )
        yield "diag.default", [call(normal(3, 4), offset), call(normal(3), offset)]
    yield "linalg_diagonal.default", [call(normal(2, 3, 3)), call(normal(2, 3, 3), offset=1)]
    yield "diagonal_copy.default", [call(normal(3, 4), 1)]
    yield "diagonal_scatter.default", [call(normal(3, 4), normal(3), 1), call(normal(2, 3, 4), normal(3, 2), 0, 0, 2)]
    yield "unfold.default", [call(normal(2, 7), 1, 3, 2), call(normal(2, 7, 3), -2, 2, 3), call(normal(4), 0, 4, 1)]
    pairs = normal(3, 2)
    yield "view_as_complex.default", [call(pairs)]
    yield "view_as_real.default", [call(torch.view_as_complex(normal(3, 2)))]
    yield "as_strided.default", [call(normal(2, 3, 1, 1), [2, 3, 1, 1], [3, 1, 3, 3])]


def views():
    """Writes through views, as functions."""
    cases = {
        "a diagonal": (lambda y, v: y.diagonal(1).copy_(v), normal(3, 4), normal(3)),
        "a diagonal of batches": (lambda y: y.diagonal(dim1=-2, dim2=-1).mul_(2.0), normal(2, 3, 3)),
        "complex numbers": (lambda y: torch.view_as_complex(y).mul_(2j), normal(3, 2)),
        "imaginary parts": (lambda y: torch.view_as_complex(y).imag.fill_(3.0), normal(3, 2)),
        "pairs": (
            lambda y, v: y.copy_(torch.view_as_real(torch.view_as_complex(v).mul(1j))),
            normal(3, 2),
            normal(3, 2),
        ),
        "a quotient": (lambda y, v: torch.div(y, v, out=y), fixed(normal(3)), fixed(normal(3) + 4)),
    }
    for name, (change, *given) in cases.items():
        yield name, written(change), [call(*given)]


def remaining():
    """Overloads that no other case has, as functions."""
    x, low = fixed(normal(3, 4)), fixed(normal(4))
    table, words, starts = fixed(normal(6, 3)), s64(0, 2, 2, 5), s64(0, 2)
    aten = torch.ops.aten

    def out(function):
        def into(x, y):
            made = torch.zeros(3, 4)
            return function(x, y, out=made), made

        return into

    cases = {
        "sums into a tensor": (out(torch.add), x, low),
        "differences into a tensor": (out(torch.sub), x, low),
        "products into a tensor": (out(torch.mul), x, low),
        "clamp_": (lambda x, y: x.clone().clamp_(y, y + 1), normal(3, 4), low),
        "clamp_min_": (lambda x, y: x.clone().clamp_min_(y), normal(3, 4), low),
        "clamp_max_": (lambda x, y: x.clone().clamp_max_(y), normal(3, 4), low),
        "clip": (lambda x, y: aten.clip.Tensor(x, y, None), normal(3, 4), low),
        "index_reduce_": (
            lambda x, i, y: x.clone().index_reduce_(0, i, y, "amax"),
            normal(3, 4),
            s64(1, 1),
            other(2, 4),
        ),
        "bags": (lambda t, w, s: aten.embedding_bag.default(t, w, s)[0], table, words, starts),
        "bags of the core form": (
            lambda t, w, s: aten._embedding_bag.default(t, w, s, padding_idx=2)[0],
            table,
            words,
            starts,
        ),
        "singular values": (lambda x: torch.linalg.svd(x).S, normal(3, 4)),
        "maxima with places": (lambda x: aten.max_pool1d_with_indices.default(x, [2], [1]), normal(1, 2, 7)),
        "detached": (lambda x: x * (x * 2).detach_(), normal(3, 4)),
    }
    for name, (function, *given) in cases.items():
        yield name, function, [call(*given)]


def transforms():
    x, y = normal(3, 6), normal(2, 4, 6)
    c = torch.view_as_complex(normal(3, 6, 2))
    for norm in (None, "ortho", "forward"):
        for name in ("fft", "ifft", "rfft", "ihfft"):
            yield f"fft_{name}.default", [call(x, norm=norm), call(x, 8, norm=norm), call(x, 5, 0, norm=norm)]
        for name in ("fft", "ifft", "irfft", "hfft"):
            yield f"fft_{name}.default", [call(c, norm=norm), call(c, 8, -1, norm=norm), call(c, 7, norm=norm)]
        for name in ("fft2", "ifft2", "rfft2"):
            yield (
                f"fft_{name}.default",
                [call(y, norm=norm), call(y, [3, 8], norm=norm), call(y, None, [0, 2], norm=norm)],
            )
        for name in ("fftn", "ifftn", "rfftn"):
            yield f"fft_{name}.default", [call(y, norm=norm), call(y, [5, 3], norm=norm), call(y, None, [1], norm=norm)]
        for name in ("irfft2", "irfftn"):
            yield f"fft_{name}.default", [call(c, norm=norm), call(c, [4, 7], norm=norm)]
    for norm in (0, 1, 2):
        yield "_fft_c2c.default", [call(c, [1], norm, True), call(c, [0, 1], norm, False)]
        yield "_fft_r2c.default", [call(x, [1], norm, True), call(x, [0, 1], norm, True), call(x, [0], norm, False)]
        yield "_fft_c2r.default", [call(c, [1], norm, 10), call(c, [0, 1], norm, 11)]
    yield "fft_fftshift.default", [call(x), call(normal(5)), call(y, [1])]
    yield "fft_ifftshift.default", [call(x), call(normal(5)), call(y, [1])]
    yield "complex.default", [call(normal(3), other(3))]
    yield "polar.default", [call(normal(3), other(3))]
    for name in ("conj", "_conj", "conj_physical"):
        yield f"{name}.default", [call(c), call(normal(3))] if name != "_conj" else [call(c)]
    for name in ("resolve_conj", "resolve_neg", "real"):
        yield f"{name}.default", [call(c), call(normal(3))]
    yield "imag.default", [call(c)]


def frequencies():
    yield "fft_fftfreq.default", [call(6, 0.5), call(7)]
    yield "fft_rfftfreq.default", [call(6, 0.5), call(7)]


def symmetric(*dims):
    x = normal(*dims, dims[-1], dims[-1])
    return x @ x.mT + torch.eye(dims[-1])


def matrices():
    a, b, v = symmetric(2, 3), normal(2, 3, 4), normal(3)
    general = normal(2, 3, 3) + 2 * torch.eye(3)
    for name in ("linalg_cholesky", "linalg_cholesky_ex"):
        calls = [call(a), call(a, upper=True), call(a.double())]
        yield f"{name}.default" + ("[0]" if name.endswith("ex") else ""), calls
    yield "linalg_solve.default", [call(general, b), call(general[0], v), call(general, b.mT.contiguous(), left=False)]
    yield "_linalg_solve_ex.default[0]", [call(general, b)]
    yield "linalg_solve_ex.default[0]", [call(general, b)]
    for name in (
        "linalg_inv",
        "inverse",
        "linalg_det",
        "det",
        "linalg_slogdet",
        "logdet",
        "linalg_matrix_exp",
        "matrix_exp",
    ):
        yield f"{name}.default", [call(general), call(general[0].double())]
    for name in ("linalg_inv_ex", "_linalg_det"):
        yield f"{name}.default[0]", [call(general)]
    yield "_linalg_slogdet.default[0]", [call(general)]
    yield "linalg_eigvalsh.default", [call(a), call(a, "U")]
    yield "_linalg_eigh.default[0]", [call(a)]
    yield "linalg_eigh.default[0]", [call(a, "U")]
    yield "linalg_svdvals.default", [call(b), call(b[0].double())]
    yield "linalg_qr.default", [call(general), call(b.mT.contiguous()), call(b, "reduced")]
    yield "linalg_pinv.default", [call(b, 1e-6)]
    yield "linalg_pinv.atol_rtol_tensor", [call(b), call(general)]
    yield "linalg_pinv.atol_rtol_float", [call(b, rtol=1e-5)]
    for name in ("linalg_matrix_power", "matrix_power"):
        yield f"{name}.default", [call(general, 3), call(general, 0), call(general, -2)]
    lower = general.tril()
    yield "linalg_solve_triangular.default", [
        call(lower, b, upper=False), call(general.triu(), b, upper=True), call(lower[0], b, upper=False),
        call(lower, b.mT.contiguous(), upper=False, left=False), call(lower, b, upper=False, unitriangular=True),
    ]  # fmt: skip
    yield "triangular_solve.default[0]", [call(b, general), call(b, general, False), call(b, general, True, True)]
    # PyTorch has derivatives by the other triangle too, which is not read.
    yield "cholesky_solve.default", [call(b, fixed(lower.clone())), call(b, fixed(general.triu()), True)]
    yield "cholesky_inverse.default", [call(fixed(lower.clone())), call(fixed(general.triu()), True)]
    for order in (1, -1, 2, -2, INF, -INF):
        yield "linalg_matrix_norm.default", [call(b, order), call(normal(3, 2, 4), order, [0, 2], True)]
    for name in ("linalg_matrix_norm.str_ord", "linalg_norm.ord_str"):
        yield name, [call(b[0], "fro"), call(b[0], "nuc")]
    yield "linalg_norm.default", [call(b), call(b, 3, [1]), call(b, 1, [0, 2], True), call(v, INF)]
    yield "linalg_cross.default", [call(normal(2, 3), other(2, 3)), call(normal(3, 4), other(3, 1), dim=0)]
    for name in ("linalg_multi_dot", "chain_matmul"):
        yield f"{name}.default", [call([normal(2, 3), normal(3, 4), normal(4, 2)])]
    yield "linalg_vecdot.default", [call(normal(2, 3), other(2, 3)), call(normal(2, 3), other(2, 3), dim=0)]
    yield "vdot.default", [call(normal(3), other(3))]


def further():
    for name in ("_is_all_true", "_is_any_true"):
        yield f"{name}.default", [call(pred(1, 0)), call(pred(1, 1)), call(pred(0, 0))]
    yield (
        "_weight_norm.default",
        [call(normal(3, 4), normal(3, 1)), call(normal(3, 4), normal(1, 4), 1), call(normal(3, 4), f32(2.0), -1)],
    )
    yield "_weight_norm_interface.default[0]", [call(normal(3, 4), normal(3, 1))]
    signs = fixed(f32(1.0, -1.0, 1.0))
    for reduction in (0, 1, 2):
        yield "soft_margin_loss.default", [call(normal(3), signs, reduction)]
        yield (
            "hinge_embedding_loss.default",
            [call(f32(0.5, 1.0, -2.0), signs, 1.0, reduction), call(f32(0.5, 3.0, 1.0), -signs, 1.0, reduction)],
        )
        yield "cosine_embedding_loss.default", [call(normal(3, 4), other(3, 4), signs, 0.1, reduction)]


def regions():
    """Functions under vmap."""
    x, y, w = normal(4, 3), other(4, 3), normal(3, 2)
    cases = {
        "vmap": lambda x, y, w: torch.vmap(lambda a, b: torch.tanh(a @ w) * b.sum())(x, y),
        "vmap of axes": lambda x, y, w: torch.vmap(torch.sin, in_dims=1, out_dims=1)(x),
        "vmap in vmap": lambda x, y, w: torch.vmap(lambda a: torch.vmap(lambda b: (a * b).cumsum(0))(y))(x),
        "vmap of a constant": lambda x, y, w: torch.vmap(lambda a: (w.sum(), a + 1))(x),
    }
    for name, function in cases.items():
        yield name, function, [call(x, y, w)]
