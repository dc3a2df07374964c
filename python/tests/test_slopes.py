"""Slopes of functions over the range of their arguments, against closed forms in the longest float of NumPy."""

import lazyxla as lx
import numpy as np
from common import DEVICES
from lazyxla import _constants

LONG = np.longdouble
SCALE, ALPHA = LONG("1.0507009873554804934193349852946"), LONG("1.6732632423543772848170429916717")


def logistic(x):
    power = np.exp(-np.abs(x))
    return np.where(x >= 0, 1, power) / (1 + power)


def logistic_slope(x):
    power = np.exp(-np.abs(x))
    return power / (1 + power) ** 2


def below_zero(x):
    return np.exp(np.minimum(x, 0))


# Functions whose values are rounded to a limit far from 0 or next to it, and their slopes.
CASES = {
    "expm1": (lx.expm1, np.exp),
    "tanh": (lx.tanh, lambda x: 4 * logistic_slope(2 * x)),
    "sigmoid": (lx.nn.sigmoid, logistic_slope),
    "elu": (lx.nn.elu, lambda x: np.where(x > 0, 1, below_zero(x))),
    "selu": (lx.nn.selu, lambda x: SCALE * np.where(x > 0, 1, ALPHA * below_zero(x))),
    "softplus": (lx.nn.softplus, logistic),
    "log_sigmoid": (lx.nn.log_sigmoid, lambda x: logistic(-x)),
    "logaddexp": (lambda x: lx.logaddexp(x, x * 2), lambda x: 1 + logistic(x)),
    "tan": (lx.tan, lambda x: 1 / np.cos(x) ** 2),
    "atan": (lx.atan, lambda x: 1 / (1 + x * x)),
    "asinh": (lx.asinh, lambda x: 1 / np.sqrt(1 + x * x)),
    "sinh": (lx.sinh, np.cosh),
    "log1p": (lambda x: lx.log1p(lx.abs(x)), lambda x: np.sign(x) / (1 + np.abs(x))),
}


def points(dtype, end):
    rng = np.random.default_rng(0)
    sizes = np.concatenate([np.exp(rng.uniform(-20, np.log(end), 3000)), np.linspace(0, 30, 2000)[1:]])
    return np.concatenate([sizes, -sizes]).astype(dtype)


def test_slopes_keep_their_digits_where_values_are_rounded_to_limits():
    for dtype, end in ((np.float32, 80), (np.float64, 650)):
        x = points(dtype, end)
        limits = np.finfo(dtype)
        for device in DEVICES:
            for name, (function, slope) in CASES.items():
                want = slope(x.astype(LONG))
                got = np.asarray(lx.grad(lambda x, f=function: lx.sum(f(x)))(lx.asarray(x, device=device)))
                # XLA flushes subnormal numbers to 0, in what the slope is computed from, too.
                kept = np.abs(want) > 16 * limits.tiny
                off = np.abs(got.astype(LONG) - want)[kept] / (np.abs(want[kept]) * limits.eps)
                assert off.max() < 4, f"{name} of {dtype.__name__} on {device}: {off.max()} at {x[kept][off.argmax()]}"


def logaddexp(x, y):
    """As lx.logaddexp, which the standard restricts to real numbers, of complex numbers."""
    return lx._core.binary(_constants.BINARY_LOGADDEXP, x, y, False, False)


def test_complex_slopes_keep_their_digits():
    rng = np.random.default_rng(1)
    for dtype, end in ((np.complex64, 40), (np.complex128, 340)):
        eps = np.finfo(dtype).eps
        real = np.concatenate([rng.uniform(-end, end, 500), rng.uniform(-2, 2, 500), np.zeros(100)])
        z = (real + 1j * rng.uniform(-3, 3, real.size)).astype(dtype)
        shift = dtype(1e5 if dtype is np.complex64 else 1e8)
        apart = (np.clip(real, -40, 40).astype(np.float32) + 1j * rng.uniform(-2, 2, real.size)).astype(dtype)
        far = (apart + shift).astype(dtype)
        long, difference = z.astype(np.clongdouble), far.astype(np.clongdouble) - shift
        cases = (
            ("tanh", z, lambda x: lx.tanh(x), 1 / np.cosh(long) ** 2),
            (
                "logaddexp",
                far,
                lambda x: logaddexp(x, lx.full_like(x, complex(shift))),
                1 / (1 + np.exp(-difference)),
            ),
        )
        for device in DEVICES:
            for name, at, function, want in cases:
                x = lx.asarray(at, device=device)
                _, got = lx.jvp(function, [x], [lx.ones(x.shape, dtype=x.dtype, device=device)])
                kept = np.abs(want) > 16 * np.finfo(dtype).tiny / eps
                off = (np.abs(np.asarray(got) - want) / np.abs(want))[kept] / eps
                assert off.max() < 60, (
                    f"{name} of {dtype.__name__} on {device}: {off.max()} at {at[kept][off.argmax()]}"
                )


def test_higher_slopes_of_tanh_at_and_around_zero():
    derivative = lx.tanh
    # tanh' = 1 - y^2, and so on, with y = tanh(x).
    polynomials = [lambda y: 1 - y**2, lambda y: -2 * y + 2 * y**3, lambda y: -2 + 8 * y**2 - 6 * y**4]
    polynomials += [lambda y: 16 * y - 40 * y**3 + 24 * y**5]
    x = np.array([0.0, -0.0, 1e-8, -1e-8, 0.3, -0.3, 1.5, -1.5])
    for wanted in polynomials:
        derivative = lx.grad(derivative)
        got = [float(derivative(lx.asarray(value))) for value in x]
        assert np.allclose(got, wanted(np.tanh(x)), rtol=1e-12, atol=1e-15), (got, wanted(np.tanh(x)))


def test_gradients_of_means_of_many_halves_do_not_overflow():
    for device in DEVICES:
        for dtype in ("float16", "bfloat16") if hasattr(lx, "bfloat16") else ("float16",):
            for size in (65_541, 300_000):
                x = lx.astype(lx.linspace(-1.0, 1.0, size, device=device), getattr(lx, dtype))
                got = np.asarray(lx.astype(lx.grad(lambda x: lx.sum(x - lx.mean(x)))(x), lx.float32))
                # The derivative is 1 - 1.
                assert np.abs(got).max() <= 1e-2, (device, dtype, size, got[:3])
                got = np.asarray(lx.astype(lx.grad(lambda x: lx.sum(x * lx.mean(x)))(x), lx.float32))
                assert np.isfinite(got).all(), (device, dtype, size, got[:3])


def test_soft_sign_has_its_slope_at_any_size():
    for dtype, tolerance in ((lx.float16, 2e-3), (lx.bfloat16, 2e-2), (lx.float32, 1e-6), (lx.float64, 1e-14)):
        values = [-300.0, -20.0, -1.0, -0.5, 0.0, 0.25, 1.0, 1.5, 50.0, 200.0]
        values += [] if dtype == lx.float16 else [1e4, -1e6, 1e9]
        for device in DEVICES:
            with lx.use_device(device):
                x = lx.asarray(values, dtype=dtype)
                rounded = [float(value) for value in x.astype(lx.float64).tolist()]
                wanted = [1 / (1 + abs(value)) ** 2 for value in rounded]
                slope = lx.grad(lambda x: lx.sum(lx.nn.soft_sign(x)))(x).astype(lx.float64).tolist()
                value = lx.nn.soft_sign(x).astype(lx.float64).tolist()
            np.testing.assert_allclose(slope, wanted, rtol=tolerance, atol=1e-7 if dtype == lx.float16 else 0)
            np.testing.assert_allclose(value, [x / (1 + abs(x)) for x in rounded], rtol=tolerance)
    for device in DEVICES:
        with lx.use_device(device):
            x = lx.asarray([-np.inf, np.inf])
            assert lx.nn.soft_sign(x).tolist() == [-1, 1]
            assert lx.grad(lambda x: lx.sum(lx.nn.soft_sign(x)))(x).tolist() == [0, 0]


def cofactors(a):
    """Returns the derivatives of a determinant: determinants of minors."""
    made, n = np.zeros_like(a), len(a)
    for i in range(n):
        for j in range(n):
            minor = np.delete(np.delete(a, i, 0), j, 1)
            made[i, j] = (-1) ** (i + j) * (np.linalg.det(minor) if n > 1 else 1)
    return made


def singular_matrices():
    """Returns matrices of ranks from 0 to one less than their rows, and regular ones beside them."""
    rng = np.random.default_rng(0)
    made = (
        [np.zeros((n, n)) for n in (1, 2, 5)] + [np.eye(n, k=1) for n in (2, 6, 10)] + [np.ones((n, n)) for n in (2, 9)]
    )
    made += [np.diag([0.0, 1, 2]), np.diag([1.0, 0, 2]), np.diag([0.0, 0, 2]), np.array([[0.0, 1], [0, 2]]), np.eye(4)]
    for number in range(12):
        a = rng.integers(-3, 4, (n := 2 + number % 5, n)).astype("float64")
        a[:, rng.integers(n)] = 0
        if number % 3 == 0:
            a[rng.integers(n)] = a[0]
        made.append(a)
    return made


def test_slopes_of_determinants_are_cofactors_of_singular_matrices_too():
    for device in DEVICES:
        dtypes = (("float32", 1e-4), ("float64", 1e-12), ("complex128", 1e-12))
        for dtype, tolerance in dtypes if device == "cpu" else dtypes[:1]:
            value_and_slope = lx.value_and_grad(
                lambda x: lx.real(lx.linalg.det(x)) if x.dtype == lx.complex128 else lx.linalg.det(x)
            )
            matrices = singular_matrices()
            for a in matrices if device == "cpu" else matrices[:14]:
                value, slope = value_and_slope(lx.asarray(a.astype(dtype), device=device))
                size = max(1, np.abs(a).max()) ** (len(a) - 1) * len(a)
                np.testing.assert_allclose(np.asarray(slope), cofactors(a), rtol=0, atol=tolerance * size)
                np.testing.assert_allclose(value.item(), np.linalg.det(a), rtol=0, atol=tolerance * size)
        # Second derivatives, and a batch of both kinds.
        a, h = np.array([[1.0, 2, 0], [2, 4, 0], [0, 0, 1]]), 1e-3
        x = lx.asarray(a, device=device)
        found = np.asarray(lx.hessian(lx.linalg.det)(x))
        for i in range(3):
            for j in range(3):
                step = np.zeros((3, 3))
                step[i, j] = h
                wanted = (cofactors(a + step) - cofactors(a - step)) / (2 * h)
                np.testing.assert_allclose(found[:, :, i, j], wanted, atol=1e-9)
        batch = np.stack([a, np.eye(3), np.zeros((3, 3))])
        slopes = lx.vmap(lx.grad(lx.linalg.det))(lx.asarray(batch, device=device))
        np.testing.assert_allclose(np.asarray(slopes), [cofactors(each) for each in batch], atol=1e-12)
        value, slope = lx.jvp(lx.linalg.det, (x,), (x,))
        assert value.item() == 0 and abs(slope.item()) < 1e-12
