"""What JAX's users give as arrays or numbers: parameters of random numbers, the carry of loops, results of branches."""

import numpy as np
from common import DEVICES, on, raises, same

import lazyxla as lx


def test_random_parameters_may_be_arrays():
    for device in DEVICES:
        key = on(np.asarray(lx.random.key(3)), device)
        for dtype in (lx.float32, lx.float64):
            low, high = (lx.asarray(each, dtype=dtype, device=device) for each in (-2.5, 7.0))
            got = lx.random.uniform(key, (1000,), dtype, low, high)
            same(got, np.asarray(lx.random.uniform(key, (1000,), dtype, -2.5, 7.0)), 1e-6)
            assert got.min().item() >= -2.5 and got.max().item() < 7
        chances = np.linspace(0, 1, 5, dtype=np.float32)
        got = lx.random.bernoulli(key, on(chances, device), (4000, 5))
        assert np.abs(np.asarray(got).mean(0) - chances).max() < 0.04
        assert lx.random.bernoulli(key, chances).shape == (5,)
        same(
            lx.random.bernoulli(key, on(np.float32(0.3), device), (100,)),
            np.asarray(lx.random.bernoulli(key, 0.3, (100,))),
        )
        raises(ValueError, lambda: lx.random.bernoulli(key, chances, (4,)), "broadcast")  # noqa: B023
        raises(ValueError, lambda: lx.random.uniform(key, (2,), minval=chances), "minval of shape (5,)")  # noqa: B023
        raises(TypeError, lambda: lx.random.randint(key, (5,), 0, chances), "high is an integer")  # noqa: B023
        for name, bounds in (("int32", (-7, 50)), ("int64", (0, 3)), ("uint8", (3, 200)), ("int8", (-128, 127))):
            dtype = getattr(lx, name)
            low, high = (lx.asarray(each, dtype=dtype, device=device) for each in bounds)
            got = lx.random.randint(key, (500,), low, high, dtype)
            same(got, np.asarray(lx.random.randint(key, (500,), *bounds, dtype)))
        ends = lx.random.integers(key, 0, on(np.arange(1, 6), device), (300, 5))
        assert np.asarray(ends).max(0).tolist() == [0, 1, 2, 3, 4]
        drawn = lx.jit(lambda key, p: lx.random.bernoulli(key, p, (50,)))(key, on(np.float32(0.3), device))
        same(drawn, np.asarray(lx.random.bernoulli(key, 0.3, (50,))))


def test_shapes_of_categorical_are_whole():
    for device in DEVICES:
        key, logits = on(np.asarray(lx.random.key(3)), device), on(np.zeros((4, 5), np.float32), device)
        for shape in ((4,), (7, 4), (2, 3, 4)):
            assert lx.random.categorical(key, logits, shape=shape).shape == shape
        assert lx.random.categorical(key, logits).shape == (4,)
        assert lx.random.categorical(key, logits, 0).shape == (5,)
        assert lx.random.categorical(key, logits[:1], shape=(6,)).shape == (6,)
        for wrong in ((7,), (5,), ()):
            raises(ValueError, lambda: lx.random.categorical(key, logits, shape=wrong), "does not end with")  # noqa: B023


def test_numbers_that_a_loop_carries_have_the_dtype_that_they_become():
    for device in DEVICES:
        with lx.use_device(device):
            x, wide = on(np.ones(3, np.float32), device), on(np.ones(3), device)
            total, _ = lx.scan(lambda c, a: (c + a, None), 0, x)
            assert total.item() == 3 and total.dtype == lx.float32
            total, sums = lx.scan(lambda c, a: ((c[0] + a, c[1] + 1), c[0]), (0.0, 0), wide)
            assert total[0].dtype == lx.float64 and total[1].item() == 3 and sums.tolist() == [0, 1, 2]
            assert lx.while_loop(lambda c: c < 5, lambda c: c + 1.5, 0).item() == 6
            assert lx.fori_loop(0, 3, lambda i, c: c + 1.5, 0, unroll=2).item() == 4.5
            assert lx.cond(lx.asarray(False), lambda x: x.sum(), lambda x: 0.0, wide).dtype == lx.float64
            assert lx.switch(1, [lambda: 1, lambda: lx.asarray(2.5)]).item() == 2.5
            slope = lx.grad(lambda x: lx.scan(lambda c, a: (c + a * a, None), 0, x)[0])(x)
            same(slope, 2 * np.ones(3, np.float32))


def test_carries_that_change_are_named():
    tree = {"a": lx.ones(3), "b": [lx.ones(2), lx.zeros(4)]}
    raises(
        TypeError,
        lambda: lx.scan(lambda c, a: ({**c, "b": [c["b"][0], c["b"][1][:1]]}, None), tree, lx.ones(3)),
        "scan(): the carry changed ['b'][1] from float32[4] to float32[1]",
    )
    raises(
        TypeError,
        lambda: lx.while_loop(lambda c: c[0, 0] < 1, lambda c: c[0], lx.ones((2, 2))),
        "while_loop(): the value changed from float32[2, 2] to float32[2]",
    )
    raises(TypeError, lambda: lx.scan(lambda c, a: ((c, c), None), lx.ones(3), lx.ones(3)), "changed its structure")


def test_slopes_of_hermitian_matrices_are_hermitian():
    """As JAX's: descent on a matrix that one triangle represents keeps it Hermitian."""
    a = np.asarray([[2, 0.5, 0.1], [0.5, 1, -0.3], [0.1, -0.3, 3]])
    functions = (
        lambda x: lx.linalg.eigvalsh(x)[1],
        lambda x: lx.linalg.eigh(x)[0][2] ** 2,
        lambda x: lx.linalg.cholesky(x).sum(),
        lambda x: lx.linalg.cholesky(x, upper=True).sum(),
        lambda x: lx.linalg.cho_factor(x, True)[0][2, 1],
    )
    for device in DEVICES:
        for function in functions:
            slope = np.asarray(lx.grad(function)(on(a, device)))
            np.testing.assert_array_equal(slope, slope.T)
            for i, j in ((0, 0), (1, 0), (2, 1)):
                step = np.zeros_like(a)
                step[i, j] = step[j, i] = 1e-6
                ends = [function(on(a + sign * step, device)).item() for sign in (1, -1)]
                wanted = (ends[0] - ends[1]) / 2e-6
                got = slope[i, j] if i == j else 2 * slope[i, j]
                assert abs(got - wanted) < 1e-6 * max(1, abs(wanted)), (device, i, j)
            along = np.asarray(lx.jvp(function, (on(a, device),), (on(step, device),))[1])
            assert abs(along - wanted * 1e-6) < 1e-11
        # Values are of the lower triangle alone, also while traced.
        low = np.tril(a) + np.triu(np.full((3, 3), np.nan), 1)
        for function in (lambda x: lx.linalg.eigvalsh(x)[1], lambda x: lx.linalg.cholesky(x)[2, 1]):
            assert lx.jit(function)(on(low, device)).item() == function(on(low, device)).item()
