"""Integers and bools in functions of floats, and bools in functions of order, against NumPy's values."""

import numpy as np
from common import DEVICES, in_one_step, on, raises, random, same

import lazyxla as lx

MATRIX = np.array([[4, 1, 0], [1, 3, 1], [0, 1, 2]])
VECTOR = np.array([1, 2, 3])


def close(found, wanted, kind="float32"):
    """Asserts the values of NumPy, which computes in float64, and the dtype of this package."""
    found = np.asarray(found)
    assert found.dtype == kind, (found.dtype, kind)
    np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=2e-6)


def test_linear_algebra_takes_integers_as_floats():
    for device in DEVICES:
        for a in (MATRIX, MATRIX.astype("uint8"), MATRIX > 0):
            x, b = on(a, device), on(VECTOR, device)
            wide = a.astype(float)
            for name in ("inv", "det", "pinv", "svdvals", "eigvalsh", "cond", "norm"):
                if name in ("inv", "cond", "pinv") and a.dtype == bool:
                    continue  # singular
                close(getattr(lx.linalg, name)(x), getattr(np.linalg, name)(wide))
            if a.dtype != bool:
                tolerance = on(np.float32(1e-3), device)
                close(lx.linalg.pinv(x, rtol=tolerance), np.linalg.pinv(wide))
            assert lx.linalg.matrix_rank(x).item() == np.linalg.matrix_rank(wide)
            q, r = lx.linalg.qr(x)
            close(q @ r, wide)
            close(lx.linalg.vector_norm(x), np.linalg.norm(wide))
            close(lx.linalg.matrix_norm(x), np.linalg.norm(wide))
        x, b = on(MATRIX, device), on(VECTOR, device)
        close(lx.linalg.solve(x, b), np.linalg.solve(MATRIX, VECTOR))
        close(lx.linalg.solve(x, on(VECTOR / 2, device)), np.linalg.solve(MATRIX, VECTOR / 2), "float64")
        close(lx.linalg.solve(on(MATRIX.astype("float32"), device), b), np.linalg.solve(MATRIX, VECTOR))
        close(lx.linalg.solve(MATRIX, VECTOR), np.linalg.solve(MATRIX, VECTOR))
        close(lx.linalg.lstsq(x, b)[0], np.linalg.solve(MATRIX, VECTOR))
        close(lx.linalg.cholesky(x), np.linalg.cholesky(MATRIX))
        values, vectors = lx.linalg.eigh(x)
        close(vectors @ lx.diag(values) @ vectors.T, MATRIX)
        close(lx.linalg.slogdet(x)[1], np.linalg.slogdet(MATRIX)[1])
        close(lx.linalg.solve_triangular(x, b, lower=True), np.linalg.solve(np.tril(MATRIX), VECTOR))
        for n in (0, 1, 5):
            same(lx.linalg.matrix_power(x, n), np.linalg.matrix_power(MATRIX, n))
        close(lx.linalg.matrix_power(x, -2), np.linalg.matrix_power(MATRIX.astype(float), -2))
        assert lx.grad(lambda w: lx.linalg.solve(x, w).sum())(on(np.float32(VECTOR), device)).dtype == lx.float32
    raises(TypeError, lambda: lx.linalg.inv("text"), "x is an array", "str")
    raises(ValueError, lambda: lx.linalg.inv(b), "linalg.inv", "[3]")
    raises(ValueError, lambda: lx.linalg.matrix_power(b, 2), "int64[3]", "square")


def test_transforms_and_activations_take_integers_as_floats():
    for size in (1, 7, 33_000):
        a = random(size, (size,), "int64")
        for device in DEVICES:
            x = on(a, device)
            for name in ("fft", "ifft", "rfft", "ihfft"):
                found, wanted = np.asarray(getattr(lx.fft, name)(x)), getattr(np.fft, name)(a)
                assert found.dtype == np.complex64
                np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-3 if size > 7 else 1e-5)
            close(lx.nn.sigmoid(x), 1 / (1 + np.exp(-a.astype(float))))
            close(lx.nn.softmax(x), np.exp(a - a.max()) / np.exp(a - a.max()).sum())
            close(lx.nn.logsumexp(x), np.log(np.exp(a - a.max()).sum()) + a.max())
            for name in (
                "elu",
                "gelu",
                "hard_sigmoid",
                "log_sigmoid",
                "mish",
                "selu",
                "silu",
                "softplus",
                "log_softmax",
            ):
                function = getattr(lx.nn, name)
                same(function(x), np.asarray(function(on(a.astype("float32"), device))))
    raises(TypeError, lambda: lx.nn.rms_norm(x), "rms_norm takes floats")


@in_one_step
def test_functions_of_order_take_bools():
    for size in (0, 1, 7, 33_000):
        a, b = random(size, (2, size), "bool"), random(size + 1, (2, size), "bool")
        for device in DEVICES:
            x, y = on(a, device), on(b, device)
            same(lx.sort(x), np.sort(a))
            same(lx.argsort(x, axis=0), np.argsort(a, axis=0, kind="stable"))
            if size:
                for name in ("max", "min"):
                    for options in ({}, {"axis": 1}, {"axis": 0, "keepdims": True}, {"initial": False, "axis": 1}):
                        same(getattr(lx, name)(x, **options), getattr(np, name)(a, **options))
            for name in ("maximum", "minimum", "less", "greater_equal", "add", "multiply"):
                same(getattr(lx, name)(x, y), getattr(np, name)(a, b))
                same(getattr(lx, name)(x, True), getattr(np, name)(a, True))
            same(lx.lexsort((x[0], y[0])), np.lexsort((a[0], b[0])))
            same(lx.multiply(x, lx.asarray(2, device=device)), a * 2)
    x = lx.asarray([True], device="cpu")
    raises(TypeError, lambda: lx.subtract(x, x), "subtract", "bool")
    raises(ValueError, lambda: lx.max(x[:0]), "no elements")
