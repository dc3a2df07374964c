"""The functions of the array API standard against NumPy's of the same names, on both devices."""

import ast
import inspect
from pathlib import Path

import ml_dtypes
import numpy as np
from common import COMPLEX, DEVICES, FLOATS, INTEGERS, in_one_step, on, raises, random, same

import lazyxla as lx

UNARY = (
    "acos acosh asin asinh atan atanh ceil cos cosh exp expm1 floor log log10 log1p log2 negative round sign".split()
)
UNARY += "sin sinh sqrt square tan tanh trunc isfinite isinf isnan positive reciprocal signbit abs".split()
BINARY = (
    "add atan2 copysign divide floor_divide hypot logaddexp maximum minimum multiply nextafter pow remainder".split()
)
BINARY += "subtract equal not_equal less less_equal greater greater_equal".split()


def domain(name, a):
    if name in ("acos", "asin", "atanh"):
        return np.tanh(a)
    if name == "acosh":
        return 1 + np.abs(a)
    return np.abs(a) if name in ("log", "log10", "log2", "log1p", "sqrt") else a


@in_one_step
def test_functions_of_one_array():
    for device in DEVICES:
        for dtype in FLOATS:
            a = random(1, (40,), dtype)
            for name in UNARY:
                given = domain(name, a)
                same(
                    getattr(lx, name)(on(given, device)),
                    getattr(np, name)(given),
                    4e-6 if dtype == "float32" else 1e-13,
                )
        for name in ("exp", "sin", "log", "sqrt", "tanh", "conj", "abs", "square", "sign"):
            a = random(2, (20,), "complex128")
            same(getattr(lx, name)(on(a, device)), getattr(np, name)(a), 1e-12)
        for dtype in INTEGERS:
            a = random(3, (20,), dtype)
            for name in ("bitwise_invert", "ceil", "trunc", "sign", "square"):
                same(getattr(lx, name)(on(a, device)), getattr(np, name)(a).astype(dtype))
        a = random(4, (9,), "bool")
        same(lx.logical_not(on(a, device)), ~a)
        same(lx.sin(on(np.ones(2, "int32"), device)), np.sin(np.ones(2, "float32")), 1e-6)
        c = random(5, (4,), "complex64")
        same(lx.real(on(c, device)), c.real)
        same(lx.imag(on(c, device)), c.imag)


@in_one_step
def test_functions_of_two_arrays_and_scalars():
    for device in DEVICES:
        for dtype in FLOATS:
            a, b = np.abs(random(6, (3, 5), dtype)) + 0.5, random(7, (5,), dtype)
            for name in BINARY:
                tolerance = 4e-6 if dtype == "float32" else 1e-13
                same(getattr(lx, name)(on(a, device), on(b, device)), getattr(np, name)(a, b), tolerance)
                same(getattr(lx, name)(on(a, device), 1.5), getattr(np, name)(a, 1.5), tolerance)
                same(getattr(lx, name)(1.5, on(b, device)), getattr(np, name)(1.5, b), tolerance)
        x, y = np.int32([12, -12, 7]), np.int32([3, 2, 1])
        for name in "bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift".split():
            same(getattr(lx, name)(on(x, device), on(y, device)), getattr(np, name)(x, y))
        u = np.uint8([200, 255])
        same(lx.bitwise_right_shift(on(u, device), 1), u >> 1)
        p, q = np.bool_([0, 0, 1, 1]), np.bool_([0, 1, 0, 1])
        for name in ("logical_and", "logical_or", "logical_xor"):
            same(getattr(lx, name)(on(p, device), on(q, device)), getattr(np, name)(p, q))
        same(lx.add(1, 2), np.asarray(3))
        raises(TypeError, lambda: lx.add("a", 2), "an array", "str")
        a = random(8, (4, 3))
        same(lx.clip(on(a, device), -0.5, 0.5), np.clip(a, np.float32(-0.5), np.float32(0.5)))
        same(lx.clip(on(a, device), max=on(a[0], device)), np.minimum(a, a[0]))
        same(lx.where(on(a > 0, device), on(a, device), 0.0), np.where(a > 0, a, np.float32(0)))


def test_dtypes_promote_by_the_standard():
    for a in (*INTEGERS, *FLOATS, *COMPLEX, "bool"):
        for b in (*INTEGERS, *FLOATS, *COMPLEX, "bool"):
            x, y = getattr(lx, a), getattr(lx, b)
            groups = [g for g in (INTEGERS, FLOATS + COMPLEX, ("bool",)) if a in g and b in g]
            if not groups:
                assert (
                    lx.result_type(x, y)
                    == (lx.ones(2, dtype=x, device="cpu") + lx.ones(2, dtype=y, device="cpu")).dtype
                )
                continue
            if {a[0], b[0]} == {"u", "i"} and "uint64" in (a, b):
                raises(TypeError, lambda: lx.result_type(x, y))
                raises(TypeError, lambda: lx.ones(2, dtype=x, device="cpu") + lx.ones(2, dtype=y, device="cpu"))
                continue
            wanted = np.result_type(a, b).name
            assert lx.result_type(x, y).name == wanted
            if a != "bool":
                assert (lx.ones(2, dtype=x, device="cpu") + lx.ones(2, dtype=y, device="cpu")).dtype.name == wanted
            assert lx.can_cast(x, y) == (wanted == b)
    assert lx.finfo(lx.float32).eps == np.finfo("float32").eps and lx.iinfo(lx.int8).min == -128
    assert lx.iinfo(lx.uint64).max == 2**64 - 1 and lx.finfo(lx.complex128).dtype == lx.float64
    assert (
        lx.isdtype(lx.int8, "integral")
        and not lx.isdtype(lx.bool, "numeric")
        and lx.isdtype(lx.int8, (lx.bool, lx.int8))
    )
    assert set(lx.__array_namespace_info__().dtypes(kind="bool")) == {"bool"}


@in_one_step
def test_creation():
    for device in DEVICES:
        same(lx.arange(5, device=device), np.arange(5))
        same(lx.arange(1, 8, 3, device=device), np.arange(1, 8, 3))
        same(lx.arange(3, -1, -0.5, device=device), np.arange(3, -1, -0.5, "float32"))
        same(lx.linspace(0, 1, 7, dtype=lx.float64, device=device), np.linspace(0, 1, 7), 1e-15)
        same(lx.linspace(0, 1, 4, endpoint=False, dtype=lx.float64, device=device), np.linspace(0, 1, 4, False), 1e-15)
        same(lx.eye(3, 4, k=1, device=device), np.eye(3, 4, 1, "float32"))
        same(lx.full((2, 2), 7, device=device), np.full((2, 2), 7))
        same(lx.full(3, True, device=device), np.full(3, True))
        same(lx.zeros((2, 0), dtype=lx.int8, device=device), np.zeros((2, 0), "int8"))
        same(lx.zeros(2, dtype=bool, device=device), np.zeros(2, bool))
        same(lx.asarray([1, 0], dtype=bool, device=device), np.bool_([1, 0]))
        raises(TypeError, lambda: lx.zeros(2, dtype=list, device=device), "dtype")
        a = random(9, (4, 5))
        same(lx.tril(on(a, device), k=-1), np.tril(a, -1))
        for k in (2**63, -(2**70), 2**62, -(2**63)):
            same(lx.eye(3, k=k, device=device), np.zeros((3, 3), "float32"))
            same(lx.tril(on(a, device), k=k), a if k > 0 else np.zeros_like(a))
            same(lx.triu(on(a, device), k=k), a if k < 0 else np.zeros_like(a))
        same(lx.triu(on(a, device)), np.triu(a))
        for indexing in ("xy", "ij"):
            found = lx.meshgrid(on(a[0], device), on(a[:, 0], device), on(a[1, :2], device), indexing=indexing)
            for x, y in zip(found, np.meshgrid(a[0], a[:, 0], a[1, :2], indexing=indexing), strict=True):
                same(x, y)
        same(lx.ones_like(on(a, device), dtype=lx.int16), np.ones_like(a, "int16"))
        same(lx.full_like(on(a, device), 2), np.full_like(a, 2))


@in_one_step
def test_shapes():
    a = random(10, (2, 3, 4))
    for device in DEVICES:
        x = on(a, device)
        same(lx.reshape(x, (4, -1)), a.reshape(4, -1))
        same(lx.permute_dims(x, (2, 0, 1)), a.transpose(2, 0, 1))
        same(lx.moveaxis(x, (0, 1), (-1, 0)), np.moveaxis(a, (0, 1), (-1, 0)))
        same(lx.concat([x, x[:1]], axis=0), np.concatenate([a, a[:1]]))
        same(lx.concat([x, x], axis=None), np.concatenate([a, a], axis=None))
        same(lx.stack([x, x], axis=-1), np.stack([a, a], -1))
        same(lx.squeeze(lx.expand_dims(x, axis=1), 1), a)
        same(lx.flip(x, axis=(0, 2)), np.flip(a, (0, 2)))
        same(lx.roll(x, (1, -2), axis=(0, 2)), np.roll(a, (1, -2), (0, 2)))
        same(lx.roll(x, 5), np.roll(a, 5))
        same(lx.tile(x, (2, 1, 1, 3)), np.tile(a, (2, 1, 1, 3)))
        same(lx.repeat(x, 2, axis=1), np.repeat(a, 2, 1))
        same(lx.repeat(x, on(np.int64([1, 0, 2]), device), axis=1), np.repeat(a, [1, 0, 2], 1))
        same(x.mT, np.swapaxes(a, 1, 2))
        same(x[0].T, a[0].T)
        for row, wanted in zip(lx.unstack(x, axis=1), np.moveaxis(a, 1, 0), strict=True):
            same(row, wanted)
        for part, wanted in zip(lx.broadcast_arrays(x, x[0, 0]), np.broadcast_arrays(a, a[0, 0]), strict=True):
            same(part, wanted)
        raises(ValueError, lambda: lx.reshape(x, (5, -1)))
        raises(ValueError, lambda: x.T)
        assert lx.broadcast_shapes((3, 1), (4,), ()) == (3, 4)


@in_one_step
def test_searching_sorting_and_sets():
    a, i = random(11, (4, 6), "float64"), np.int64([[0, 1], [2, 0]])
    n = np.int32([3, 1, 3, 0, 1, 3])
    for device in DEVICES:
        x, m = on(a, device), on(n, device)
        same(lx.argmax(x, axis=1), a.argmax(1))
        same(lx.argmin(x), np.int64(a.argmin()))
        same(lx.argmax(x, keepdims=True), a.argmax(keepdims=True))
        same(lx.sort(x, axis=0, descending=True), -np.sort(-a, 0))
        same(lx.argsort(m, stable=True), np.argsort(n, kind="stable"))
        for found, wanted in zip(lx.nonzero(x > 0), np.nonzero(a > 0), strict=True):
            same(found, wanted)
        same(lx.count_nonzero(x > 0, axis=0), np.count_nonzero(a > 0, 0))
        same(lx.take(x, on(i[0], device), axis=1), np.take(a, i[0], 1))
        same(lx.take_along_axis(x, on(np.argsort(a, 1), device), axis=1), np.sort(a, 1))
        s = np.sort(a[0])
        same(lx.searchsorted(on(s, device), x, side="right"), np.searchsorted(s, a, "right"))
        found = lx.unique_all(m)
        for part, wanted in zip(found, np.unique(n, True, True, True), strict=True):
            same(part, wanted)
        b = np.float64([2, np.nan, 1, np.nan, 2])
        found = lx.unique_all(on(b, device))
        assert found.counts.tolist() == [1, 2, 1, 1] and found.indices.tolist() == [2, 0, 1, 3]
        same(found.values[found.inverse_indices], b)


def test_distinct_values():
    """The eager device sorts elements, an XLA device their places: equal values, and equal bits of zeros."""
    for device in DEVICES:
        one = lx.unique_all(on(np.array(3, "int32"), device))
        same(one.values, np.int32([3]))
        same(one.inverse_indices, np.int64(0))
        same(lx.unique_inverse(on(np.array(2.0), device)).inverse_indices, np.int64(0))
        for dtype in ("bool", "int8", "uint8", "int64", "uint64", "float32", "float64", "complex64"):
            whole = np.random.default_rng(0).integers(0, 5, (7, 9))
            for n in (whole.astype(dtype), whole[:1, :1].astype(dtype), np.ones((2, 3), dtype)):
                same(lx.unique_values(on(n, device)), np.unique(n))
        ends = np.array([2**64 - 1, 0, 2**63, 0, 2**64 - 1], "uint64")
        same(lx.unique_values(on(ends, device)), np.unique(ends))
        for zeros in ([-0.0, 0.0, -1, np.inf], [0.0, -0.0, -1, np.inf], [-0.0, np.nan, 0.0, np.nan]):
            b = np.float32(zeros)
            found = lx.unique_values(on(b, device))
            same(
                found,
                np.float32(sorted({*zeros} - {np.nan})) if not np.isnan(b).any() else np.float32([0, np.nan, np.nan]),
            )
            zero = np.asarray(found)[np.asarray(found) == 0]
            assert len(zero) == 1 and np.signbit(zero[0]) == np.signbit(b[b == 0][0]), (device, zeros)


@in_one_step
def test_reductions():
    a = random(12, (3, 4, 5), "float64")
    for device in DEVICES:
        x = on(a, device)
        for name in ("sum", "prod", "max", "min", "mean", "var", "std"):
            for axis in (None, 1, (0, -1), ()):
                for keepdims in (False, True):
                    wanted = getattr(np, name)(a, axis=axis, keepdims=keepdims)
                    same(getattr(lx, name)(x, axis=axis, keepdims=keepdims), wanted, 1e-12)
        same(lx.var(x, correction=1), a.var(ddof=1), 1e-12)
        same(lx.sum(x[0] > 0), (a[0] > 0).sum())
        same(lx.sum(on(np.full(9, 100, "int8"), device)), np.int64(900))
        same(lx.sum(on(np.full(9, 100, "uint8"), device), dtype=lx.uint8), np.uint8(132))
        same(lx.any(x > 2, axis=0), (a > 2).any(0))
        same(lx.all(x > -9), np.bool_(True))
        same(lx.cumulative_sum(x, axis=1), a.cumsum(1), 1e-12)
        same(
            lx.cumulative_prod(x, axis=2, include_initial=True),
            np.concatenate([np.ones((3, 4, 1)), a.cumprod(2)], 2),
            1e-12,
        )
        same(lx.diff(x, axis=0, n=2), np.diff(a, 2, 0), 1e-12)
        raises(ValueError, lambda: lx.max(x[:0]))
        same(lx.mean(on(np.array([1, 2], "int32"), device)), np.float32(1.5))


@in_one_step
def test_linear_algebra():
    a, b = random(13, (2, 4, 4), "float64"), random(14, (2, 4, 3), "float64")
    spd = a @ np.swapaxes(a, 1, 2) + np.eye(4)
    for device in DEVICES:
        x, y, s = on(a, device), on(b, device), on(spd, device)
        same(x @ y, a @ b, 1e-12)
        same(lx.tensordot(x, y, axes=([0, 2], [0, 1])), np.tensordot(a, b, ([0, 2], [0, 1])), 1e-12)
        same(lx.vecdot(x, x, axis=-2), (a * a).sum(-2), 1e-12)
        same(lx.einsum("bij,bjk->ik", x, y), np.einsum("bij,bjk->ik", a, b), 1e-12)
        same(lx.linalg.det(x), np.linalg.det(a), 1e-12)
        same(lx.linalg.inv(x) @ x, np.broadcast_to(np.eye(4), (2, 4, 4)), 1e-9)
        same(lx.linalg.solve(x, y), np.linalg.solve(a, b), 1e-9)
        same(lx.linalg.cholesky(s, upper=True), np.swapaxes(np.linalg.cholesky(spd), 1, 2), 1e-10)
        u, sv, vh = lx.linalg.svd(y, full_matrices=False)
        same((u * sv[..., None, :]) @ vh, b, 1e-10)
        same(lx.linalg.svdvals(y), np.linalg.svd(b, compute_uv=False), 1e-10)
        w, v = lx.linalg.eigh(s)
        same(s @ v, np.asarray(v) * np.asarray(w)[:, None, :], 1e-9)
        q, r = lx.linalg.qr(y)
        same(q @ r, b, 1e-10)
        for order in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
            same(lx.linalg.matrix_norm(x, ord=order), np.linalg.norm(a, order, (1, 2)), 1e-9)
        same(lx.linalg.vector_norm(x, axis=(0, 1), ord=3), (np.abs(a) ** 3).sum((0, 1)) ** (1 / 3), 1e-10)
        same(lx.linalg.trace(x, offset=1), np.trace(a, 1, 1, 2), 1e-12)
        same(lx.linalg.diagonal(x, offset=-2), np.diagonal(a, -2, 1, 2))
        same(lx.linalg.cross(x[..., :3], y), np.cross(a[..., :3], b), 1e-12)
        same(lx.linalg.outer(x[0, 0], y[0, 0]), np.outer(a[0, 0], b[0, 0]), 1e-12)
        same(lx.linalg.matrix_power(x, -2), np.linalg.matrix_power(a, -2), 1e-6)
        same(lx.linalg.matrix_rank(s), np.linalg.matrix_rank(spd))
        same(lx.linalg.pinv(y), np.linalg.pinv(b), 1e-9)
        rtol = np.float64([0.3, 1e-9])
        same(lx.linalg.pinv(y, rtol=on(rtol, device)), np.linalg.pinv(b, rtol), 1e-9)
        same(lx.linalg.matrix_rank(y, rtol=on(rtol, device)), np.linalg.matrix_rank(b, rtol=rtol))
        sign, log = lx.linalg.slogdet(x)
        same(sign * lx.exp(log), np.linalg.det(a), 1e-10)


@in_one_step
def test_fourier_transforms():
    a, c = random(15, (3, 8), "float64"), random(16, (3, 6), "complex128")
    for device in DEVICES:
        x, z = on(a, device), on(c, device)
        for norm in ("backward", "ortho", "forward"):
            for name in ("fft", "ifft", "hfft", "irfft"):
                for n in (None, 5, 9):
                    same(getattr(lx.fft, name)(z, n=n, norm=norm), getattr(np.fft, name)(c, n, norm=norm), 1e-10)
            for name in ("rfft", "ihfft"):
                for n in (None, 7):
                    same(getattr(lx.fft, name)(x, n=n, norm=norm), getattr(np.fft, name)(a, n, norm=norm), 1e-10)
            same(lx.fft.fft(x, axis=0, norm=norm), np.fft.fft(a, axis=0, norm=norm), 1e-10)
            for name in ("fftn", "ifftn", "irfftn"):
                same(getattr(lx.fft, name)(z, norm=norm), getattr(np.fft, name)(c, norm=norm), 1e-10)
                same(
                    getattr(lx.fft, name)(z, s=(2, 8), axes=(0, 1), norm=norm),
                    getattr(np.fft, name)(c, (2, 8), (0, 1), norm),
                    1e-10,
                )
            same(lx.fft.rfftn(x, norm=norm), np.fft.rfftn(a, norm=norm), 1e-10)
        same(lx.fft.fftshift(x, axes=1), np.fft.fftshift(a, 1))
        same(lx.fft.ifftshift(x[:, :7]), np.fft.ifftshift(a[:, :7]))
        same(lx.fft.fftfreq(7, d=0.5, device=device), np.fft.fftfreq(7, 0.5).astype("float32"))
        same(lx.fft.rfftfreq(6, device=device), np.fft.rfftfreq(6).astype("float32"))
        raises(ValueError, lambda: lx.fft.fft(z, norm="other"))


def test_the_stub_of_the_extension_module_has_its_functions():
    stub = Path(lx.__file__).with_name("_core.pyi")
    declared = {each.name: each for each in ast.parse(stub.read_text()).body if isinstance(each, ast.FunctionDef)}
    kinds = (type, lx.DType)
    there = {name: each for name, each in vars(lx._core).items() if callable(each) and not isinstance(each, kinds)}
    assert declared.keys() == there.keys(), declared.keys() ^ there.keys()
    for name, function in there.items():
        arguments = declared[name].args
        given = [each.arg for each in arguments.args] + ([arguments.kwarg.arg] if arguments.kwarg else [])
        assert given == list(inspect.signature(function).parameters), name


def test_python_bool_is_a_dtype():
    x = lx.asarray([0, 2, 3])
    assert lx.isdtype(lx.bool, bool) and not lx.isdtype(lx.int32, bool)
    assert lx.can_cast(bool, lx.bool) and lx.result_type(bool, lx.bool) == lx.bool
    for function in (lx.sum, lx.prod, lx.cumulative_sum):
        assert function(x, dtype=bool).dtype == lx.bool == function(x, dtype=lx.bool).dtype, function
    assert lx.sum(x, dtype=bool).item() is True and lx.prod(x, dtype=bool).item() is False


@in_one_step
def test_more_linear_algebra():
    for device in DEVICES:
        for dtype in ("float64", "complex128") if device == "cpu" else ("float64",):
            a, b = random(51, (2, 4, 4), dtype) + 4 * np.eye(4), random(52, (2, 4, 3), dtype)
            x, y = on(a, device), on(b, device)
            for lower, part in ((True, np.tril), (False, np.triu)):
                same(lx.linalg.solve_triangular(x, y, lower=lower), np.linalg.solve(part(a), b), 1e-12)
                wanted = np.linalg.solve(np.swapaxes(part(a), -1, -2), b)
                same(lx.linalg.solve_triangular(x, y, lower=lower, transposed=True), wanted, 1e-12)
                unit = part(a) - np.eye(4) * a + np.eye(4)
                found = lx.linalg.solve_triangular(x[0], y[0, :, 0], lower=lower, unit_diagonal=True)
                same(found, np.linalg.solve(unit[0], b[0, :, 0]), 1e-11)
            near, middle = np.eye(4, k=-1), np.diagonal(a, axis1=1, axis2=2)
            lower, upper = random(55, (2, 4), dtype), random(56, (2, 4), dtype)
            dense = a * np.eye(4) + lower[..., None] * near + upper[..., None] * near.T
            diagonals = [on(part, device) for part in (lower, middle, upper)]
            same(lx.linalg.solve_tridiagonal(*diagonals, y), np.linalg.solve(dense, b), 1e-12)
            found = lx.linalg.solve_tridiagonal(*diagonals, y[..., 0])
            same(found, np.linalg.solve(dense, b[..., :1])[..., 0], 1e-12)
            tall, right = random(53, (6, 3), dtype), random(54, (6, 2), dtype)
            for found, wanted in zip(
                lx.linalg.lstsq(on(tall, device), on(right, device), rcond=None),
                np.linalg.lstsq(tall, right, rcond=None),
                strict=True,
            ):
                same(found, np.asarray(wanted, "int64" if np.ndim(wanted) == 0 else None), 1e-11)
            w, v = np.linalg.eigh(a[0] + np.conj(a[0].T))
            wanted = (v * np.exp(w / 8)) @ np.conj(v.T)
            same(lx.linalg.expm(on((a[0] + np.conj(a[0].T)) / 8, device)), wanted, 1e-12)
        flat = np.ones((3, 2))
        same(lx.linalg.lstsq(on(flat, device), on(np.ones(3), device)).x, np.array([0.5, 0.5]), 1e-13)


def test_more_random_numbers_are_those_of_jax():
    for device in DEVICES:
        key = lx.random.key(3, device=device)
        with lx.use_device(device):
            # Printed by JAX 0.10.2 for jax.random.key(3).
            assert lx.random.integers(key, -5, 20, 4, dtype=lx.int32).tolist() == [15, 9, 0, -1]
            assert lx.random.permutation(key, 6).tolist() == [0, 5, 4, 2, 1, 3]
            if device != "cpu":
                continue  # the C tests compare all of them on each device
            assert lx.random.choice(key, 10, 4).tolist() == [5, 9, 5, 4]
            assert lx.random.choice(key, 5, 3, replace=False).tolist() == [0, 4, 2]
            assert lx.random.choice(key, 4, 5, p=lx.asarray([0.1, 0.2, 0.3, 0.4])).tolist() == [3, 0, 2, 0, 3]
            assert lx.random.poisson(key, lx.asarray(4.0), 4).tolist() == [1, 9, 6, 4]
            numbers = np.float32([0.9447551369667053, 1.16017484664917, 6.683927536010742])
            same(lx.random.gamma(key, lx.asarray(2.5), 3), numbers, 1e-5)
            same(lx.random.gamma(key, 2.5, 3), numbers, 1e-5)
            raises(TypeError, lambda: lx.random.gamma(key, [2.5]), "alpha", "list")
            numbers = np.float32([0.13563720881938934, 0.4228614270687103, 0.38938039541244507])
            same(lx.random.beta(key, lx.asarray(2.0), lx.asarray(3.0), 3), numbers, 1e-5)
            x = lx.reshape(lx.arange(6), (2, 3))
            assert lx.random.permutation(key, x, axis=1).shape == (2, 3)
            assert lx.random.choice(key, x, (2, 2), axis=-1).shape == (2, 2, 2)
    key = lx.random.key(3, device="cpu")
    raises(ValueError, lambda: lx.random.integers(key, 3, 3), "low < high")
    raises(OverflowError, lambda: lx.random.integers(key, 0, 300, dtype=lx.uint8), "uint8")
    raises(OverflowError, lambda: lx.random.integers(key, 0, 2**63), "bits")
    for dtype, low, high in ((lx.int8, -128, 128), (lx.uint8, 0, 256), (lx.int16, 32000, 32768), (lx.uint32, 0, 2**32)):
        drawn = np.asarray(lx.random.integers(key, low, high, 5000, dtype=dtype)).astype(np.int64)
        assert low <= drawn.min() < low + (high - low) / 50 and high - (high - low) / 50 < drawn.max() < high, dtype


def test_tiny_parameters_of_beta_give_0_and_1_in_their_ratio():
    for device in DEVICES:
        key = lx.random.key(5, device=device)
        for dtype, tiny in (("float16", 1e-10), ("float32", 1e-38), ("float32", 1e-42), ("float64", 1e-308)):
            x = lx.asarray(np.full((), tiny, dtype), device=device)
            drawn = np.asarray(lx.random.beta(key, x, x, 2000))
            assert set(np.unique(drawn)) == {0, 1} and 0.45 < drawn.mean() < 0.55, (device, dtype, tiny)
        a, b = (lx.asarray(value, dtype=lx.float32, device=device) for value in (3e-36, 1e-36))
        drawn = np.asarray(lx.random.beta(key, a, b, 2000))
        assert set(np.unique(drawn)) == {0, 1} and 0.72 < drawn.mean() < 0.78, device
    raises(ValueError, lambda: lx.random.choice(key, 3, 4, replace=False))


def test_floats_are_cast_where_no_value_is_lost():
    import ml_dtypes

    ends = "e5m2 e4m3fn e4m3b11fnuz e5m2fnuz e4m3fnuz e4m3 e3m4 e8m0fnu".split()
    small, large = [f"float8_{end}" for end in ends], ["float16", "bfloat16", "float32", "float64"]
    of_numpy = {name: np.dtype(getattr(ml_dtypes, name, name)) for name in [*small, *large, "complex64", "complex128"]}
    for a, first in of_numpy.items():
        for b, second in of_numpy.items():
            # ml_dtypes also casts 8-bit floats to each other, where values are lost.
            wanted = a == b if a in small and b in small else np.can_cast(first, second)
            assert lx.can_cast(a, b) == wanted, (a, b)
    assert not lx.can_cast(lx.float32, lx.float8_e5m2) and not lx.can_cast(lx.int8, lx.float8_e5m2)
    raises(TypeError, lambda: lx.result_type(lx.float32, lx.float8_e5m2), "float32", "float8_e5m2")


def test_small_floats_are_compared_with_numbers_beyond_their_range():
    for device in DEVICES:
        for name in ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e4m3b11fnuz", "float8_e5m2fnuz", "float8_e5m2"):
            x = lx.asarray([1.0, float("nan"), -2.0], dtype=name, device=device)
            for beyond in (10**5 * 3, 1e30, 10**30):
                assert (x < beyond).tolist() == [True, False, True] == (beyond >= x).tolist()
                assert (x > beyond).tolist() == [False] * 3 == (x == beyond).tolist()
                assert (x != beyond).tolist() == [True] * 3 and (x > -beyond).tolist() == [True, False, True]
    assert lx.arange(300, 300, dtype=lx.uint8).shape == (0,) == lx.arange(-1, -1, dtype=lx.uint8).shape
    assert lx.arange(255, 257, 2, dtype=lx.uint8).tolist() == [255]
    raises(OverflowError, lambda: lx.arange(255, 257, dtype=lx.uint8), "256")


def test_distinct_elements_of_arrays_with_few_and_many():
    rng = np.random.default_rng(5)
    dtypes = [np.bool_, np.uint8, np.int16, np.int32, np.uint64, np.int64, np.float32, np.float64]
    dtypes += [ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.int4, ml_dtypes.uint2, ml_dtypes.float4_e2m1fn]
    for dtype in map(np.dtype, dtypes):
        for size, most in ((1, 3), (4095, 5), (4096, 5), (40001, 3), (40001, 4999), (40001, 5001), (40001, 10**6)):
            values = rng.integers(0, min(most, 9) if dtype.kind == "V" else most, size)
            values = (values if dtype.kind in "iu" else values - 2.0).astype(dtype)
            if dtype.itemsize == 8:
                values *= np.array(2**31 + 1, dtype)
            for x in (values, values[::-2]):
                with lx.use_device("cpu"):
                    found = np.asarray(lx.unique_values(lx.asarray(x)))
                wanted = np.unique(x) if dtype.kind in "biuf" else np.unique(x.astype(np.float32)).astype(dtype)
                assert found.dtype == dtype
                assert np.array_equal(found, wanted), (dtype, size, most)
    # Zeros are equal, and the first one is kept, as in NumPy; each NaN is an element of its own.
    with lx.use_device("cpu"):
        zeros = np.where(np.arange(5000) % 2, np.float32(0), np.float32(-0.0))
        for x in (zeros, zeros[::-1]):
            (found,) = np.asarray(lx.unique_values(lx.asarray(x)))
            assert np.signbit(found) == np.signbit(x[0])
        nans = np.where(np.arange(5000) % 5 == 0, np.float32(np.nan), zeros)
        assert lx.unique_values(lx.asarray(nans)).shape == (1001,)
        assert lx.unique(lx.asarray(nans)).shape == (2,)


def test_unique_elements_of_many_integers_with_all_that_is_known_of_them():
    rng = np.random.default_rng(6)
    for dtype in map(np.dtype, (np.bool_, np.int8, np.uint16, np.int32, np.uint64, np.int64)):
        for shape, most in (((4096,), 2), ((50, 100), 100), ((40001,), 4999), ((40001,), 5001), ((40001,), 10**6)):
            values = (rng.integers(0, most, shape) - (most // 2 if dtype.kind == "i" else 0)).astype(dtype)
            with lx.use_device("cpu"):
                x = lx.asarray(values)
                found = [np.asarray(each) for each in lx.unique_all(x)]
                assert all(map(np.array_equal, map(np.asarray, lx.unique_counts(x)), (found[0], found[3])))
                assert all(map(np.array_equal, map(np.asarray, lx.unique_inverse(x)), (found[0], found[2])))
            flat = np.unique(values, return_index=True, return_inverse=True, return_counts=True)
            for ours, theirs in zip(found, flat, strict=True):
                assert np.array_equal(ours, theirs), (dtype, shape, most)
            assert found[0].dtype == dtype and found[2].shape == shape
