"""Cases of compositions, of order statistics and of special functions, for pytorch_survey.py."""

import torch
from pytorch_calls import INF, NAN, call, f32, fixed, normal, of_points, pred, s64


def other(*dims):
    return normal(*dims, seed=7)


def distinct(*dims):
    """Elements of which no two are equal."""
    count = torch.Size(dims).numel()
    order = torch.randperm(count, generator=torch.Generator().manual_seed(count))
    return (order - count // 3).float().reshape(dims) / 8


def compositions():
    x, y = normal(2, 3), normal(2, 3, 4)
    for name in ("fliplr", "flipud"):
        yield f"{name}.default", [call(x), call(y)]
    yield "rot90.default", [call(y, k) for k in (0, 1, 2, 3, -1, 5)] + [call(y, 1, [2, 0]), call(y, 3, [0, -1])]
    yield "hsplit.int", [call(normal(4, 6), 3), call(normal(6), 2)]
    yield "hsplit.array", [call(normal(4, 6), [1, 4])]
    yield "vsplit.int", [call(normal(4, 6), 2)]
    yield "vsplit.array", [call(normal(4, 6), [1, 3])]
    yield "dsplit.int", [call(normal(2, 3, 4), 2)]
    yield "dsplit.array", [call(normal(2, 3, 4), [3])]
    yield "tensor_split.indices", [call(normal(7), [1, 3]), call(normal(2, 7), [5, 3, 9, -1], 1), call(normal(3), [])]
    for rank in (1, 2, 3):
        tensors = [torch.tensor(2.0), normal(3), normal(2, 3), normal(2, 3, 4)]
        yield f"atleast_{rank}d.default", [call(t) for t in tensors]
        yield f"atleast_{rank}d.Sequence", [call(tensors)]
    yield "column_stack.default", [call([normal(3), normal(3, 2), normal(3)]), call([torch.tensor(1.0), normal(1)])]
    yield "dstack.default", [call([normal(3), other(3)]), call([normal(2, 3), other(2, 3)])]
    yield "block_diag.default", [call([normal(2, 3), normal(2), torch.tensor(5.0), normal(1, 4)])]
    yield "cartesian_prod.default", [call([normal(2), normal(3)]), call([normal(3)]), call([s64(1, 2), s64(4, 5, 6)])]
    yield (
        "kron.default",
        [call(normal(2, 3), normal(3, 2)), call(normal(3), normal(2, 2)), call(normal(2, 1, 2), other(2))],
    )
    yield (
        "tensordot.default",
        [
            call(normal(2, 3, 4), other(4, 3, 5), [1, 2], [1, 0]),
            call(normal(2, 3), other(3), [-1], [0]),
            call(normal(2), other(3), [], []),
        ],
    )
    yield (
        "inner.default",
        [call(normal(2, 3, 4), other(5, 4)), call(normal(4), other(4)), call(normal(2, 2), torch.tensor(3.0))],
    )
    yield "combinations.default", [call(normal(4)), call(normal(3), 2, True), call(normal(1))]
    yield (
        "meshgrid.indexing",
        [call([normal(3), normal(2), normal(4)], indexing="xy"), call([normal(3)], indexing="xy")],
    )
    for name in ("tril_indices", "triu_indices"):
        yield f"{name}.default", [call(3, 4), call(4, 3, 1), call(3, 3, -1), call(2, 5, -3), call(0, 3)]
    c = torch.view_as_complex(normal(3, 4, 2))
    for name in ("mH", "adjoint"):
        yield f"{name}.default", [call(c), call(normal(2, 3))]
    yield "matrix_H.default", [call(c)]
    yield "unsafe_chunk.default", [call(normal(5), 2)]
    for name in ("swapdims", "swapaxes"):
        yield f"{name}.default", [call(y, 0, -1)]
    yield "concatenate.default", [call([normal(2), normal(3)])]


def order_statistics():
    x, rows = distinct(3, 5), distinct(2, 3, 4)
    gaps = distinct(3, 5)
    gaps[0, 1] = gaps[2, 0] = gaps[2, 4] = NAN
    for name in ("quantile", "nanquantile"):
        for how in ("linear", "lower", "higher", "nearest", "midpoint"):
            yield f"{name}.scalar", [call(x, 0.3, interpolation=how), call(x, 0.55, 1, True, interpolation=how)]
            yield f"{name}.scalar", [call(fixed(gaps), 0.3, 1, interpolation=how)]
        q = fixed(f32(0.0, 0.2, 0.5, 1.0))
        yield (
            f"{name}.default",
            [call(x, q), call(rows, q, 1), call(rows, q, -1, True), call(rows, fixed(torch.tensor(0.4)), 0)],
        )
        yield f"{name}.default", [call(x, q, None, True), call(fixed(gaps), q, 1)]
    for name in ("nansum", "nanmean"):
        yield f"{name}.default", [call(x), call(gaps), call(gaps, [1]), call(gaps, [0, 1], True), call(gaps, [0])]
    yield "nansum.default", [call(s64(1, 2)), call(gaps, dtype=torch.float64)]
    yield "aminmax.default", [call(x), call(x, dim=1), call(x, dim=0, keepdim=True), call(gaps), call(s64(3, 1, 2))]
    for name in ("median", "nanmedian"):
        yield (
            f"{name}.default",
            [call(x), call(gaps), call(f32(1, 2, 2, 2, 3)), call(s64(4, 1, 3, 2)), call(torch.tensor(2.0))],
        )
        yield (
            f"{name}.dim",
            [call(x, 1), call(x, 0, True), call(fixed(gaps[:2]), 1), call(rows, -1), call(torch.tensor(2.0), 0)],
        )
    yield "kthvalue.default", [call(x, 2), call(x, 3, 0, True), call(rows, 4, -1), call(torch.tensor(2.0), 1)]
    yield (
        "mode.default",
        [
            call(f32(1, 2, 2, 3, 3, 3)),
            call(s64(5, 5, 1, 1).reshape(1, 4)),
            call(f32(2, 1, 2, 1, 5, 5).reshape(3, 2), 0, True),
        ],
    )
    yield "msort.default", [call(x), call(s64(3, 1, 2))]
    for name in ("cummax", "cummin"):
        yield (
            f"{name}.default",
            [
                call(x, 1),
                call(rows, 0),
                call(fixed(gaps), 1),
                call(f32(1, 3, 3, 2, 3), 0),
                call(s64(2, 2, 1, 5), 0),
                call(torch.tensor(1.0), 0),
            ],
        )
    edges, values = fixed(f32(-1.0, 0.0, 0.5, 2.0)), fixed(f32(-2.0, -1.0, 0.25, 0.5, 3.0, NAN))
    for right in (False, True):
        yield (
            "bucketize.Tensor",
            [call(values, edges, right=right), call(values.reshape(2, 3), edges, out_int32=True, right=right)],
        )
        yield (
            "searchsorted.Tensor",
            [
                call(edges, values, right=right),
                call(fixed(f32(1, 2, 3, 1, 1, 4).reshape(2, 3)), fixed(f32(1, 2, 0, 4).reshape(2, 2)), right=right),
            ],
        )
    yield (
        "searchsorted.Tensor",
        [call(s64(1, 3, 5), s64(0, 3, 9), side="right"), call(f32(3, 1, 2), f32(1.5), sorter=s64(1, 2, 0))],
    )
    yield "searchsorted.Scalar", [call(s64(1, 3, 5), 4)]
    yield "bucketize.Scalar", [call(2.5, edges)]
    yield (
        "histc.default",
        [
            call(fixed(x), 4),
            call(fixed(x), 5, -1, 1),
            call(fixed(f32(2, 2)), 3),
            call(fixed(f32(0, 1, 2, NAN, 5)), 4, 0, 2),
        ],
    )
    for invert in (False, True):
        yield (
            "isin.Tensor_Tensor",
            [
                call(s64(1, 2, 3, 4), s64(2, 4), invert=invert),
                call(fixed(f32(1, NAN, 2)), fixed(f32(NAN, 2, 5, 7)), invert=invert),
            ],
        )
        yield "isin.Tensor_Scalar", [call(s64(1, 2, 3), 2, invert=invert)]
        yield "isin.Scalar_Tensor", [call(2, s64(1, 2, 3), invert=invert)]


def special_functions():
    plain = (
        "i0 special_i0 special_i0e special_i1 special_i1e special_ndtr special_sinc sinc "
        "special_expit special_exp2 special_expm1 special_log1p special_erf special_erfc special_round angle"
    )
    for name in plain.split():
        yield f"{name}.default", of_points()
    for name in ("special_log_ndtr", "special_erfcx"):
        yield (
            f"{name}.default",
            [call(f32(-4.0, -1.5, -0.25, 0.0, 0.5, 3.0)), call(fixed(f32(NAN, INF, -INF, -30.0, 30.0)))],
        )
    positive = [call(f32(0.25, 0.5, 1.0, 1.5, 3.0, 8.0, 20.0)), call(f32(0.3, 2.0).double())]
    for name in "special_gammaln special_digamma special_psi special_entr digamma lgamma".split():
        yield f"{name}.default", positive
    for name in "bessel_j0 bessel_j1 bessel_y0 bessel_y1 modified_bessel_i0 modified_bessel_i1 modified_bessel_k0 modified_bessel_k1".split():
        yield f"special_{name}.default", [call(fixed(f32(0.25, 0.5, 1.0, 1.5, 3.0, 8.0)))]
    for name in "scaled_modified_bessel_k0 scaled_modified_bessel_k1 airy_ai spherical_bessel_j0".split():
        yield f"special_{name}.default", [call(fixed(f32(0.25, 0.5, 1.0, 1.5, 3.0, 6.0)))]
    chances = f32(1e-30, 1e-10, 1e-3, 0.05, 0.2, 0.5, 0.7, 0.95, 0.9999)
    yield "special_ndtri.default", [call(chances), call(chances.double()), call(fixed(f32(0.0, 1.0, 1.5, NAN)))]
    yield "special_logit.default", [call(f32(0.1, 0.5, 0.9)), call(f32(0.0, 0.5, 1.0), 1e-3)]
    yield "special_erfinv.default", [call(f32(-0.9, -0.1, 0.0, 0.5))]
    for name in ("polygamma", "special_polygamma"):
        yield f"{name}.default", [call(n, f32(0.5, 1.0, 2.5, 10.0)) for n in (0, 1, 2, 3)]
    yield "special_zeta.default", [call(fixed(f32(2.0, 3.5)), fixed(f32(1.0, 2.5)))]
    yield "special_zeta.self_scalar", [call(2.5, fixed(f32(1.0, 2.5)))]
    yield "special_zeta.other_scalar", [call(fixed(f32(2.0, 3.5)), 1.0)]
    for name in ("igamma", "igammac", "special_gammainc", "special_gammaincc"):
        yield f"{name}.default", [call(fixed(f32(0.5, 1.0, 3.0, 10.0)), f32(0.2, 1.0, 4.0, 9.0))]
    for name in ("mvlgamma", "special_multigammaln"):
        yield f"{name}.default", [call(f32(3.0, 4.5), p) for p in (1, 2, 3)]
    yield "special_softmax.default", [call(normal(2, 3), 1)]
    yield "special_log_softmax.default", [call(normal(2, 3), 0)]
    yield "special_logsumexp.default", [call(normal(2, 3), [1])]
    yield "special_xlogy.default", [call(f32(0.0, 1.0, 2.0), f32(0.5, 2.0, 3.0))]
    x, y = f32(-2.5, -1.0, 0.0, 0.5, 3.0), f32(2.0, -1.0, 0.25, 0.0, 3.5)
    yield "logaddexp2.default", [call(x, y)]
    yield "nextafter.default", [call(fixed(x), fixed(y)), call(fixed(f32(0.0)), fixed(f32(1.0)))]
    gaps = f32(NAN, 1.0, NAN, 0.25, 7.0)
    for name in ("fmax", "fmin"):
        yield (
            f"{name}.default",
            [call(x, y), call(fixed(x), fixed(gaps)), call(fixed(gaps), fixed(gaps)), call(s64(1, 5), s64(3, 2))],
        )
    for name in ("maximum", "minimum"):
        yield f"{name}.default", [call(x, y)]
    yield "float_power.Tensor_Tensor", [call(f32(0.5, 2.0), f32(3.0, -1.5)), call(s64(2, 3), s64(3, -1))]
    yield "float_power.Tensor_Scalar", [call(f32(0.5, 2.0), 3), call(s64(2, 3), 0.5)]
    yield "float_power.Scalar", [call(2.0, f32(0.5, 2.0))]
    yield (
        "isclose.default",
        [
            call(x, x + 1e-6),
            call(x, y),
            call(gaps, gaps),
            call(gaps, gaps, equal_nan=True),
            call(f32(INF, -INF), f32(INF, INF)),
            call(s64(100, 3), s64(101, 3), rtol=0.02),
        ],
    )
    yield "round.decimals", [call(fixed(f32(1.25, -2.345, 1234.5, 0.15)), decimals=d) for d in (0, 1, 2, -2)]
    for name in ("gcd", "lcm"):
        yield (
            f"{name}.default",
            [
                call(s64(12, -8, 0, 7, 1134903170), s64(18, 12, 5, 0, 701408733)),
                call(s64(12, 18).reshape(2, 1), s64(8, 9, 6)),
                call(s64(4, 6).int(), s64(6, 9).int()),
            ],
        )
    yield "ldexp.Tensor", [call(f32(0.5, 3.0), s64(3, -2))]
    yield "frexp.Tensor", [call(f32(0.0, 1.0, -3.5, 1e-30, 1e30, 0.4999)), call(f32(2.0, 1e-3).double())]
    yield "isneginf.default", [call(f32(-INF, INF, 1.0)), call(s64(1))]
    yield "isposinf.default", [call(f32(-INF, INF, 1.0))]
    yield "isreal.default", [call(f32(1.0)), call(torch.view_as_complex(f32(1.0, 0.0, 2.0, 3.0).reshape(2, 2)))]
    yield "angle.default", [call(torch.view_as_complex(normal(3, 2))), call(s64(-1, 2))]
    for name in ("absolute", "negative", "arcsinh", "arctan", "fix"):
        yield f"{name}.default", [call(x)]
    yield "arccos.default", [call(f32(-0.5, 0.25))]
    for name in ("multiply", "subtract", "divide", "greater", "less_equal", "not_equal"):
        yield f"{name}.Tensor", [call(x, y + 5)]
    yield from in_place()


def in_place():
    """In-place overloads have the entries of the others."""
    x, y = fixed(f32(-2.5, -1.0, 0.25, 0.5, 3.0)), fixed(f32(2.0, -1.0, 0.25, 1.0, 3.5))
    for name in "absolute_ negative_ arctan_ sinc_ i0_ erfinv_ floor_ ceil_ round_ frac_ square_ logit_".split():
        yield f"{name}.default", [call(x * 0.125 + 0.5)]
    for name in "multiply_ subtract_ divide_ greater_ not_equal_ xlogy_".split():
        yield f"{name}.Tensor", [call(x, y)]
    for name in "atan2_ hypot_ nextafter_".split():
        yield f"{name}.default", [call(x, y)]
    yield "bitwise_and_.Tensor", [call(s64(5, 6), s64(4, 3))]
    yield "bitwise_not_.default", [call(s64(5, 6)), call(pred(True, False))]


def seen_otherwise():
    """Operators that change how a tensor is seen."""

    def changed(change):
        def function(x):
            y = x * 1.0
            z = y.view(-1)
            change(y)
            z.mul_(2.0)
            return y * 3.0

        return function

    cases = {
        "unsqueeze_": lambda y: y.unsqueeze_(0),
        "squeeze_": lambda y: y.squeeze_(0),
        "t_": lambda y: y.t_(),
        "transpose_": lambda y: y.transpose_(0, 1),
    }
    for name, change in cases.items():
        yield name, changed(change), [call(normal(1, 3))]
