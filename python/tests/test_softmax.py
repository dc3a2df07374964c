"""Arguments of JAX's ``softmax``, ``log_softmax`` and ``logsumexp``: which elements count, factors and signs."""

import numpy as np
from common import DEVICES, on, raises, random, same

import lazyxla as lx


def sums(a, b, axis):
    """Returns the sums of factors times exponentials of f64."""
    with np.errstate(all="ignore"):
        return np.sum(np.where(b == 0, 0, b * np.exp(np.where(b == 0, 0, a))), axis)


def test_elements_that_do_not_count_have_no_weight_and_no_slope():
    for shape, axis in (((1, 3), 1), ((5, 4), 0), ((2, 3, 4), (0, 2)), ((2, 33_000), 1), ((3, 2), None)):
        a, mask = random(1, shape, "float64"), random(2, shape, "bool")
        a[~mask] = np.nan
        with np.errstate(all="ignore"):
            weights = np.where(mask, np.exp(np.where(mask, a, 0)), 0)
            share = weights / weights.sum(axis, keepdims=True)
        wanted = np.where(mask, share, 0)
        for device in DEVICES if len(shape) == 2 else DEVICES[:1]:
            x, where = on(a, device), on(mask, device)
            same(lx.nn.softmax(x, axis, where=where), wanted, 1e-12)
            with np.errstate(all="ignore"):
                same(lx.nn.log_softmax(x, axis, where), np.where(mask, np.log(wanted), -np.inf), 1e-12)
                same(lx.nn.logsumexp(x, axis, where=where), np.log(weights.sum(axis)), 1e-12)
            slope = lx.grad(lambda x: lx.sum(lx.nn.softmax(x, axis, where=where) ** 2))(x)
            assert np.all(np.asarray(slope)[~mask] == 0) and np.all(np.isfinite(np.asarray(slope)[mask]))
    same(lx.nn.softmax(lx.asarray([1, 5, 1], device="cpu"), where=[True, False, True]), np.float32([0.5, 0, 0.5]))
    raises(TypeError, lambda: lx.nn.softmax(x, where=1.0), "where", "float")


def test_sums_of_exponentials_have_factors_and_signs():
    for shape, axis in (((0,), None), ((4,), 0), ((3, 5), 1), ((3, 5), None), ((33_000,), 0)):
        a, b = random(3, shape, "float64"), random(4, shape, "int32").astype("float64")
        a = np.where(b == 0, np.inf, a)  # does not count
        for device in DEVICES:
            x, factors = on(a, device), on(b, device)
            if a.size == 0:
                raises(ValueError, lambda: lx.nn.logsumexp(x, b=factors), "max")
                continue
            total = sums(a, b, axis)
            size, sign = lx.nn.logsumexp(x, axis, factors, return_sign=True)
            same(size, np.log(np.abs(total)), 1e-9)
            same(sign, np.sign(total))
            with np.errstate(all="ignore"):
                same(lx.special.logsumexp(x, axis, factors), np.log(total), 1e-9)
    large = on(np.float32([1000, 1000]), "cpu")
    same(lx.nn.logsumexp(large, b=on(np.float32([1, -0.5]), "cpu")), np.float32(1000 + np.log(0.5)), 1e-6)
    same(lx.grad(lambda x: lx.nn.logsumexp(x, b=2.0))(large), np.float32([0.5, 0.5]))
    half = on(np.float16([12.0] * 2), "cpu")
    assert lx.nn.logsumexp(half, b=1.0).dtype == lx.float16
    same(
        lx.nn.logsumexp(on(np.complex64([1 + 2j, 0]), "cpu"), b=3.0),
        np.log(3 * (np.exp(1 + 2j) + 1)).astype("c8"),
        1e-6,
    )
