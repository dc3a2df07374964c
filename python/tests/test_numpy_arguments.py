"""Arrays of NumPy among the arguments of transformations, and in lists with arrays: as arrays of this package."""

import numpy as np
from common import DEVICES, on, raises, random, same

import lazyxla as lx


def test_numpy_arrays_are_mapped_and_sliced_as_arrays_are():
    n = np.array([1, 2, 3], "float32")

    def product(p, q):
        return lx.sum(p * q)

    for device in DEVICES:
        x = on(n, device)
        for function in (lx.vmap(product), lx.jit(lx.vmap(product)), lx.vmap(lx.jit(product))):
            same(function(x, n), n * n)
            same(function(n, x), n * n)
        same(lx.scan(lambda c, pq: (c + product(*pq), None), on(np.float32(0), device), (x, n))[0], np.float32(14))
        same(lx.vmap(lambda p, q: p + q, (0, None))(x, n), n[:, None] + n)
        same(lx.vmap(lambda p, by: p * by)(x, by=n), n[:, None] * n)
        with lx.use_device(device):
            same(lx.vmap(lambda p: p * 2)(n), 2 * n)
            same(lx.scan(lambda c, p: (c + p, c * p), np.float32(0), n, length=3)[0], np.float32(6))
            same(lx.cond(True, lambda p: p * 2, lambda p: p, n), 2 * n)
            same(lx.switch(1, [lambda p: p, lambda p: p * 2], n), 2 * n)
            same(lx.checkpoint(lambda p: p * 2)(n), 2 * n)
        raises(ValueError, lambda: lx.vmap(product)(x, np.zeros(2, "float32")), "3, 2")


def test_numpy_arrays_are_arguments_of_gradients():
    data, d = np.array([[1, 2], [3, 4]], "float32"), np.array([5, 6], "float32")
    for device in DEVICES:
        x = on(d, device)
        same(lx.grad(lambda x, data: lx.sum(data @ x))(x, data), data.sum(0))
        same(lx.grad(lambda x, data: lx.sum(data @ x))(x, data=data), data.sum(0))
        value, slope = lx.value_and_grad(lambda x, of: lx.sum(of["a"] * x), 1)(x, {"a": data})
        same(value, np.float32((data * d).sum()))
        same(slope["a"], np.broadcast_to(d, (2, 2)))


def test_scalars_in_lists_take_the_dtype_of_the_arrays():
    for device in DEVICES:
        wide, narrow = lx.asarray(1.0, dtype=lx.float64, device=device), lx.asarray(1, dtype=lx.uint8, device=device)
        single = lx.asarray([1.0, 2.0], device=device)
        same(lx.asarray([wide, 0.1, 1e300], device=device), np.array([1, 0.1, 1e300]))
        same(lx.asarray([[wide, 0.1], [1e300, 7]], device=device), np.array([[1, 0.1], [1e300, 7]]))
        same(lx.asarray([narrow, 1], device=device), np.uint8([1, 1]))
        same(lx.asarray([single[0], 1], device=device), np.float32([1, 1]))
        same(lx.asarray([single[0], 2j], device=device), np.complex64([1, 2j]))
        same(lx.asarray([single, [3, 4.5]], device=device), np.float32([[1, 2], [3, 4.5]]))
        same(lx.asarray([single[0], np.float64(0.1)], device=device), np.float32([1, 0.1]))
        same(lx.asarray([single, np.array([0.1, 0.2])], device=device), np.array([[1, 2], [0.1, 0.2]]))
        same(lx.asarray([single[0], wide, 0.1], device=device), np.array([1, 1, 0.1]))
        same(lx.asarray([wide, 0.1], dtype=lx.float32, device=device), np.float32([1, 0.1]))
        same(lx.asarray([single[0] > 0, False], device=device), np.array([True, False]))
        same(lx.asarray([narrow, 1.5], device=device), np.float32([1, 1.5]))
        raises(OverflowError, lambda: lx.asarray([narrow, 300], device=device), "300", "uint8")
        same(lx.asarray([narrow, single[0]], device=device), np.float32([1, 1]))


def test_places_of_any_dtype_and_shape_are_taken_as_in_numpy():
    a = np.arange(600).reshape(300, 2)
    for device in DEVICES:
        x = on(a, device)
        for places in (np.uint8([[3, 250]]), np.int8([-128, 127, -1]), np.int64([-1000, 1000]), []):
            whole = np.asarray(places, dtype=int)
            for mode in ("clip", "wrap"):
                wanted = np.take(a, whole, 0, mode=mode)
                for found in (x.take(places, 0, mode=mode), lx.take(x, places, 0, mode=mode)):
                    same(found, wanted)
                same(
                    x.take(on(whole.astype(np.asarray(places).dtype if whole.size else int), device), 0, mode=mode),
                    wanted,
                )


def test_covariances_have_weights_and_interpolations_periods():
    for size in (2, 9, 33_000):
        a, b = random(1, (3, size), "float64"), random(2, (size,), "float64")
        rng = np.random.default_rng(3)
        often, much = rng.integers(1, 4, size), rng.random(size) + 0.1
        for device in DEVICES:
            x, y = on(a, device), on(b, device)
            for given in ({"fweights": often}, {"aweights": much}, {"fweights": often, "aweights": much}):
                for more in ({}, {"ddof": 0}, {"bias": True}):
                    same(lx.cov(x, y, **given, **more), np.cov(a, b, **given, **more), 1e-9)
            points, values = rng.permutation(5) * 50.0, rng.random(5)
            given = (on(points, device), on(values, device))
            same(lx.interp(3000 * y, *given, period=360), np.interp(3000 * b, points, values, period=360), 1e-9)
    raises(ValueError, lambda: lx.cov(x, fweights=[1, 2]), "fweights", "[2]", "33000")
    raises(ValueError, lambda: lx.interp(y, points, values, period=0), "period")
