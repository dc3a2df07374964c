"""Exponentials of matrices of any norm, and their derivatives, against closed forms, on both devices."""

import numpy as np
from common import DEVICES, on, random, same

import lazyxla as lx

# Relative errors double with each squaring; a norm of 2^k takes about k of them.
EPSILON = {"float32": 2.0**-23, "float64": 2.0**-52}


def bound(norm, dtype):
    return 64 * EPSILON[dtype] * max(1.0, norm)


def rotation(angle, dtype="float64"):
    return np.asarray([[0, -angle], [angle, 0]], dtype)


def rotated(angle):
    return np.asarray([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


def test_exponentials_of_matrices_of_any_norm():
    for device in DEVICES:
        for dtype, norms in (("float32", (0, 1e-3, 1, 10, 1e3)), ("float64", (0, 1e-3, 1, 1e3, 1e6, 1e9))):
            for norm in norms:
                angle = float(np.asarray(norm, dtype))
                out = lx.linalg.expm(on(rotation(angle, dtype), device))
                same(out, rotated(angle).astype(dtype), bound(norm, dtype))
                # Of a nilpotent matrix, 1 + a.
                out = lx.linalg.expm(on(np.asarray([[0, norm], [0, 0]], dtype), device))
                same(out, np.asarray([[1, norm], [0, 1]], dtype), bound(norm, dtype))
            # A generator of a Markov chain that has long come to rest.
            rates = np.asarray([[-3, 1, 2], [4, -5, 1], [1, 1, -2]]) * (1e4 if dtype == "float32" else 1e6)
            left = np.linalg.svd(rates.T)[2][-1]
            rest = np.broadcast_to(left / left.sum(), (3, 3)).astype(dtype)
            same(
                lx.linalg.expm(on(rates.astype(dtype), device)), rest, bound(1e5 if dtype == "float32" else 1e7, dtype)
            )


def test_exponentials_of_a_batch_take_each_matrix_by_its_own_norm():
    largest = 5.371920351148152 * 2.0**40
    for device in DEVICES:
        angles = np.asarray([1e-2, 3.0, 1e6, 0.0, np.nan, np.inf, 4 * largest, 2.0])
        given = np.stack([rotation(each) for each in angles])
        for function in (lx.linalg.expm, lx.jit(lx.linalg.expm), lx.vmap(lx.linalg.expm)):
            out = np.asarray(function(on(given, device)))
            for i in (0, 1, 2, 3, 7):
                same(on(out[i], device), rotated(angles[i]), bound(abs(angles[i]), "float64"))
            assert np.isnan(out[4:7]).all(), out
        # The last that has a value: all its squarings are rounded to something finite, or overflow.
        edge = lx.linalg.expm(on(np.diag([-0.99 * largest, -1.0]), device))
        same(edge, np.diag([0, np.exp(-1.0)]), 1e-3)
        for shape in ((0, 2, 2), (3, 0, 0), (1, 1), (0, 0)):
            empty = np.zeros(shape)
            wanted = np.broadcast_to(np.eye(shape[-1]), shape)
            same(lx.linalg.expm(on(empty, device)), wanted)


def test_derivatives_of_exponentials_of_any_norm():
    for device in DEVICES:
        # Of the trace, the transposed exponential.
        gradient = lx.grad(lambda a: lx.sum(lx.linalg.trace(lx.linalg.expm(a))))
        for a in (np.diag([-1e6, -1.0]), rotation(1e3), random(3, (4, 4), "float64"), random(4, (4, 4), "float64") * 8):
            wanted = np.swapaxes(np.asarray(lx.linalg.expm(on(a, "cpu"))), -1, -2)
            norm = np.abs(a).sum()
            tolerance = bound(norm, "float64") * max(1, np.abs(wanted).max())
            same(gradient(on(a, device)), wanted, tolerance)
            # By forward mode, in the direction of one element.
            along = np.zeros_like(a)
            along[0, 1] = 1
            moved = lx.jvp(lambda a: lx.linalg.trace(lx.linalg.expm(a)), (on(a, device),), (on(along, device),))[1]
            same(moved, wanted[0, 1], tolerance)
        many = np.stack([rotation(x) for x in (1e-3, 1.0, 30.0)])
        wanted = np.stack([rotated(x).T for x in (1e-3, 1.0, 30.0)])
        same(lx.vmap(gradient)(on(many, device)), wanted, 1e-11)
        same(gradient(on(many, device)), wanted, 1e-11)
        # Twice: the second derivative of the trace of a rotation by its angle is -2 cos.
        j = on(rotation(1.0), device)
        second = lx.grad(lx.grad(lambda t: lx.linalg.trace(lx.linalg.expm(t * j))))
        for angle in (0.5, 20.0, 1e4):
            same(second(on(np.float64(angle), device)), -2 * np.cos(angle), 1e-7)


def test_exponentials_compile_once_for_any_norm():
    jitted = lx.jit(lx.linalg.expm)
    np.asarray(jitted(on(rotation(1.0), "xla")))
    before = lx.counter("UncachedCompile")
    for angle in (1e-6, 3.0, 1e3, 1e8):
        same(jitted(on(rotation(angle), "xla")), rotated(angle), bound(angle, "float64"))
    assert lx.counter("UncachedCompile") == before


def badly_scaled():
    """Yields f64 matrices whose norms are far above the size of their eigenvalues, their exponentials, and for each
    element what its error is measured by."""
    for above in (1e10, -1e150, 1e300):
        slope = above * (np.exp(-1) - np.exp(-2))
        wanted = np.asarray([[np.exp(-1), slope], [0, np.exp(-2)]])
        size = np.asarray([[1, abs(above)], [1, 1]])
        yield np.asarray([[-1, above], [0, -2]]), wanted, size
        yield np.asarray([[-1, above], [0, -2]]).T, wanted.T, size.T
    wanted = rotated(1.0) * [[1, 1e100], [1e-100, 1]]
    yield np.asarray([[0, -1e100], [1e-100, 0]]), wanted, np.abs(wanted)
    chain = np.diag([1e60, 1e70, 1e80], 1)
    wanted = np.eye(4) + chain + chain @ chain / 2 + chain @ chain @ chain / 6
    yield chain, wanted, np.maximum(wanted, 1)
    for n in (3, 40):
        symmetric = random(n, (n, n), "float64") / np.sqrt(n)
        symmetric = symmetric + symmetric.T
        values, vectors = np.linalg.eigh(symmetric)
        power = (vectors * np.exp(values)) @ vectors.T
        scale = 2.0 ** np.round(np.linspace(-150, 150, n))[np.argsort(np.sin(np.arange(n)))]
        of = scale[:, None] / scale
        yield symmetric * of, power * of, np.abs(power).max() * of


def test_exponentials_of_badly_scaled_matrices():
    def check(out, wanted, size):
        assert (np.abs(np.asarray(out) - wanted) <= 1e-13 * size).all(), (out, wanted)

    for device in DEVICES:
        for given, wanted, size in badly_scaled():
            for function in (lx.linalg.expm, lx.jit(lx.linalg.expm), lx.vmap(lambda a: lx.linalg.expm(a))):
                # Beside a matrix that is not scaled.
                identity = np.eye(len(given))
                out = function(on(np.stack([given, identity]), device))
                check(out[0], wanted, size)
                check(out[1], np.e * identity, np.ones_like(identity))
            check(lx.linalg.expm(on(given, device)), wanted, size)


def test_derivatives_of_exponentials_of_badly_scaled_matrices():
    for device in DEVICES:

        def corner(a, above):
            zero, low = on(np.asarray(0.0), device), on(np.asarray(-2.0), device)
            rows = [lx.stack([a, above]), lx.stack([zero, low])]
            return lx.linalg.expm(lx.stack(rows))[0, 1]

        given = (on(np.asarray(-1.0), device), on(np.asarray(1e150), device))
        # above (e^a - e^-2) / (a + 2)
        wanted = 1e150 * np.exp(-2.0), np.exp(-1.0) - np.exp(-2.0)
        for mode in (lx.grad, lx.jacfwd):
            for slope, right in zip(mode(corner, argnums=(0, 1))(*given), wanted, strict=True):
                same(slope, np.asarray(right), 1e-13)
