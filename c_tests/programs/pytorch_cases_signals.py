"""Cases of windows, integrals, distances, places, losses and solvers, for pytorch_survey.py."""

import torch
from pytorch_calls import call, f32, fixed, normal, pred, s64


def other(*dims):
    return normal(*dims, seed=7)


def windows():
    for name in ("hann", "hamming", "blackman", "bartlett", "kaiser"):
        yield f"{name}_window.default", [call(n) for n in (0, 1, 2, 7)] + [call(8, dtype=torch.float64)]
        yield f"{name}_window.periodic", [call(n, False) for n in (1, 2, 8)] + [call(5, True)]
    yield "hamming_window.periodic_alpha", [call(6, True, 0.5)]
    yield "hamming_window.periodic_alpha_beta", [call(6, False, 0.6, 0.4)]
    yield "kaiser_window.beta", [call(7, True, 5.0), call(6, False, 0.0)]


def integrals():
    y, x = normal(3, 5), fixed(torch.cumsum(normal(5).abs() + 0.25, 0))
    for name in ("trapezoid", "cumulative_trapezoid"):
        yield f"{name}.dx", [call(y), call(y, dx=0.5, dim=0), call(normal(4))]
        yield f"{name}.x", [call(y, x), call(y, other(3, 5)), call(normal(5, 2), x, dim=0)]
    yield "gradient.scalarint", [call(y), call(y, dim=1), call(y, spacing=2.0), call(normal(5), edge_order=2)]
    yield "gradient.scalarint", [call(normal(2)), call(normal(3, 4, 3), edge_order=2)]
    yield "gradient.array", [call(y, dim=[1]), call(normal(3, 4, 3), dim=[0, -1])]
    yield "gradient.scalararray", [call(y, spacing=0.5, dim=[0, 1])]
    yield "gradient.scalarrayint", [call(y, spacing=[2.0, 0.5])]
    yield "gradient.scalarrayarray", [call(y, spacing=[2.0, 0.5], dim=[1, 0])]


def further_distances():
    a, b = normal(4, 3), other(5, 3)
    for p in (1.0, 2.0, 3.0, 0.0, float("inf")):
        given = fixed if p in (0.0, float("inf")) else (lambda tensor: tensor)
        yield "cdist.default", [call(given(a), given(b), p), call(given(normal(2, 4, 3)), given(other(2, 2, 3)), p)]
        yield "dist.default", [call(given(a), given(normal(3)), p)]
        yield "pdist.default", [call(given(a), p)]
    yield "cdist.default", [call(a, a)]
    yield "pairwise_distance.default", [call(a, other(4, 3), 1.0), call(a, other(4, 3), 3.0)]
    yield "renorm.default", [call(a, 2, 0, 1.0), call(a, 1, 1, 2.5), call(normal(2, 3, 2), 2, 1, 0.5)]


def renormed():
    """The rows of an embedding that are used, with norms of at most a number."""

    def function(table, places):
        rows = table.detach().clone()
        torch.embedding_renorm_(rows, places, 1.0, 2.0)
        return rows[places], rows

    yield "embedding_renorm", function, [call(fixed(normal(5, 3) * 2), s64(0, 3, 3))]


def further_places():
    x, mask = normal(3, 4), pred(1, 0, 1, 1, 0, 0, 1, 0, 0, 0, 1, 0).reshape(3, 4)
    yield (
        "masked_scatter.default",
        [call(x, mask, other(12)), call(x, pred(1, 0, 0, 1), other(3, 4)), call(x, mask, other(6))],
    )
    yield (
        "fill_diagonal_.default",
        [
            call(normal(3, 3), 5.0),
            call(normal(2, 4), 1),
            call(normal(7, 3), 2.0, True),
            call(normal(7, 3), 2.0),
            call(normal(3, 3, 3), 2.0),
        ],
    )
    at = s64(0, 2, 1, 0).reshape(2, 2)
    yield "scatter.reduce", [call(x, 1, at, fixed(other(2, 2)), reduce=how) for how in ("add", "multiply")]
    yield "scatter.value_reduce", [call(fixed(x), 1, at, 2.0, reduce=how) for how in ("add", "multiply")]
    yield "repeat_interleave.Tensor", [call(s64(2, 0, 3), output_size=5)]
    yield (
        "repeat_interleave.self_Tensor",
        [
            call(x, s64(1, 0, 2), 0, output_size=3),
            call(normal(3), s64(2, 1, 0), output_size=3),
            call(x, s64(2), 1, output_size=8),
        ],
    )
    yield (
        "nonzero_static.default",
        [
            call(s64(0, 3, 0, 5).reshape(2, 2), size=3),
            call(pred(1, 0, 1), size=2),
            call(pred(0, 0), size=2, fill_value=7),
        ],
    )
    yield "index_fill.int_Tensor", [call(x, 1, s64(0, 3), torch.tensor(2.0))]
    yield (
        "bincount.default",
        [call(s64(0, 2, 2, 4), minlength=5), call(s64(1, 0, 1), fixed(f32(0.5, 2, 3)), 3), call(s64(1), s64(2), 4)],
    )
    yield "embedding_renorm.default", [call(fixed(normal(5, 3) * 2), s64(0, 3, 3), 1.0, 2.0)]
    yield "meshgrid.default", [call([normal(3), normal(2)])]
    yield "fill.Tensor", [call(x, torch.tensor(2.5))]
    yield "logspace.default", [call(0, 2, 5), call(-1.0, 1.0, 4, 2.0), call(1, 3, 1)]
    yield "sum_to_size.default", [call(normal(2, 3, 4), [3, 1]), call(normal(2, 3), [2, 3]), call(normal(2, 3), [1])]


def further_products():
    yield (
        "addbmm.default",
        [
            call(normal(3, 5), normal(2, 3, 4), other(2, 4, 5)),
            call(normal(5), normal(2, 3, 4), other(2, 4, 5), beta=0.5, alpha=2),
        ],
    )
    yield (
        "addr.default",
        [call(normal(3, 4), normal(3), other(4)), call(normal(3, 4), normal(3), other(4), beta=0.5, alpha=2.0)],
    )
    yield (
        "bilinear.default",
        [
            call(normal(5, 3), other(5, 4), normal(2, 3, 4), normal(2)),
            call(normal(2, 3, 3), other(2, 3, 2), normal(4, 3, 2)),
        ],
    )
    yield (
        "cross.default",
        [call(normal(4, 3), other(4, 3)), call(normal(3, 2), other(3, 2)), call(normal(3, 3), other(3, 3), 1)],
    )
    yield "rrelu.default", [call(normal(3, 4)), call(normal(5), 0.1, 0.5)]


def margins():
    x, target = normal(4, 5), s64(0, 3, 4, 1)
    for reduction in (0, 1, 2):
        yield (
            "multi_margin_loss.default",
            [call(x, target, reduction=reduction), call(x, target, 2, 0.5, fixed(normal(5).abs()), reduction)],
        )
        yield (
            "multilabel_margin_loss.default",
            [call(normal(2, 4), s64(3, 0, -1, 1, 2, -1, 0, 0).reshape(2, 4), reduction)],
        )
    yield "multi_margin_loss.default", [call(normal(5), s64(2))]
    yield "multilabel_margin_loss.default", [call(normal(4), s64(1, 3, -1, 0)), call(normal(3), s64(2, 1, 0))]
    rates, counts = f32(0.5, 1.0, 2.5, 0.25), f32(0.0, 1.0, 2.0, 5.0)
    for log_input in (True, False):
        yield "poisson_nll_loss.default", [call(rates, fixed(counts), log_input, True, 1e-8, r) for r in (0, 1, 2)]
    a, b, c = normal(4, 3), other(4, 3), normal(4, 3, seed=3)
    yield (
        "triplet_margin_loss.default",
        [call(a, b, c, swap=True), call(a, b, c, 0.5, 1.0), call(a, b, c, p=3.0, swap=True, reduction=0)],
    )
    yield "logit.default", [call(f32(0.0, 1e-4, 0.3, 0.9999, 1.0), 1e-3), call(f32(0.2, 0.7), 0.25)]


def general(*dims):
    """Matrices with a dominant diagonal, not in order, so that rows are exchanged."""
    matrix = normal(*dims) + 3 * torch.eye(dims[-2], dims[-1]).flip(0)
    return matrix


def solvers():
    a, wide, tall = general(3, 3), general(2, 4), general(4, 2)
    for name in ("linalg_lu_factor", "linalg_lu_factor_ex"):
        yield f"{name}.default[0]", [call(a), call(general(2, 3, 3)), call(wide), call(tall)]
    yield "linalg_lu.default", [call(a), call(general(2, 3, 3)), call(wide), call(tall)]

    def pivots(x):
        return torch.linalg.lu_factor(x).pivots

    yield pivots, [call(fixed(a)), call(fixed(tall))]
    packed, places = torch.linalg.lu_factor(a)
    yield "lu_unpack.default", [call(packed, places)]
    yield "linalg_lu_solve.default", [call(packed, places, normal(3, 2))]
    yield "linalg_matrix_rank.default", [call(fixed(a), 0.5), call(fixed(torch.ones(3, 3)), 0.1)]
    yield (
        "linalg_matrix_rank.atol_rtol_float",
        [call(fixed(torch.ones(2, 3, 3))), call(fixed(a), atol=2.0), call(fixed(a), rtol=0.3)],
    )
    yield "linalg_cond.default", [call(a), call(a, -2), call(a, 1), call(general(2, 3, 3), float("inf"))]
    yield "linalg_cond.p_str", [call(a, "fro")]
    yield "linalg_tensorsolve.default", [call(general(6, 6).reshape(2, 3, 6), normal(2, 3))]
    yield "linalg_tensorinv.default", [call(general(6, 6).reshape(2, 3, 6)), call(general(4, 4).reshape(4, 2, 2), 1)]
    yield "linalg_vander.default", [call(normal(4)), call(normal(2, 3), N=2)]
    yield "vander.default", [call(fixed(s64(1, 2, 3))), call(fixed(normal(3)), 2, True)]
    reflectors, factors = torch.geqrf(normal(4, 3))
    yield (
        "linalg_householder_product.default",
        [call(reflectors, factors), call(reflectors[:, :2].contiguous(), factors[:2])],
    )
    yield "orgqr.default", [call(reflectors, factors)]
    yield "lu_solve.default", [call(normal(3, 2), packed, places)]
    yield "pinverse.default", [call(a), call(tall)]
    yield "slogdet.default", [call(a)]
    yield "linalg_qr.default", [call(fixed(a), "r"), call(fixed(tall), "r")]
    symmetric = a + a.T

    def sorted_values(x):
        values = torch.linalg.eigvals(x)
        return values.real.sort().values

    yield sorted_values, [call(fixed(symmetric)), call(fixed(f32(2, 1, 0, 3).reshape(2, 2)))]

    def product_of_svd(x):
        u, s, v = torch.svd(x)
        return u @ torch.diag(s) @ v.T, s

    yield product_of_svd, [call(tall), call(wide)]
