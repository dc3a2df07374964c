"""Loops whose sizes change are compiled for bounds, not for each size, and compute the same; see sizes.py."""

import contextlib
import ctypes

import numpy as np
import optree
from sizes import LOOPS

import lazyxla as lx
import lazyxla.c as c

# Sizes between 1 and 40: with the bounds 16, 32 and 48, three programs serve them.
SIZES = [20, 27, 5, 33, 40, 1, 16, 17, 31, 32, 8, 2, 39, 3]
BOUNDS = "16,32,48"


@contextlib.contextmanager
def options(**values):
    """Sets options of the environment, and their former values at the end."""
    env = c.lxla_env()
    c.lxla_env_default(ctypes.byref(env))
    former = {"dynamic_sizes": "off", "dynamic_exact": "true"}
    for name, value in values.items():
        c.lxla_env_set_option(env, name.encode(), value.encode())
    try:
        yield
    finally:
        for name in values:
            c.lxla_env_set_option(env, name.encode(), former[name].encode())


def run(loop):
    """Returns the values of a loop, and the programs that it compiled."""
    lx.step(wait=True)
    before = lx.counter("UncachedCompile")
    values = [np.asarray(leaf) for made in loop(SIZES) for leaf in optree.tree_leaves(made)]
    return values, lx.counter("UncachedCompile") - before


# Programs that differ in attributes alone, in turns: each has bounds of its own.
TURNS = {
    "sums": lambda x: [lx.sum(x, axis=axis) for axis in (0, 1)],
    "cumulative sums": lambda x: [lx.cumsum(x, axis=axis) for axis in (0, 1)],
    "softmax": lambda x: [lx.nn.softmax(x, axis=axis) for axis in (0, 1)],
    "parts": lambda x: lx.split(x, 3, axis=1),
    "padded": lambda x: [lx.pad(x, ((0, 1), (0, 0))), lx.pad(x, ((0, 0), (1, 0)))],
    "largest": lambda x: [lx.top_k(x, k)[0] for k in (1, 3)],
    "rolled": lambda x: [lx.roll(x, k, axis=0) for k in (1, 2, 3)],
    "shapes": lambda x: [lx.sum(x.reshape(-1, 2, 3), axis=1), lx.sum(x.reshape(-1, 3, 2), axis=1)],
}


def test_programs_that_differ_in_attributes_have_bounds_of_their_own():
    for name, of in TURNS.items():
        with options(dynamic_sizes=BOUNDS, dynamic_exact="false"):
            before, programs = lx.counter("UncachedCompile"), 0
            for n in [size for size in SIZES if size > 3]:
                a = np.random.default_rng(n).integers(-9, 10, (n, 6)).astype("float32")
                for found, wanted in zip(of(lx.asarray(a)), of(lx.asarray(a, device="cpu")), strict=True):
                    np.testing.assert_allclose(np.asarray(found), np.asarray(wanted), rtol=1e-6, err_msg=name)
                    programs += n == SIZES[0]
            # Of each program: its first size, at most one that was compared with others, and three bounds.
            assert lx.counter("UncachedCompile") - before <= 5 * programs, name


def test_loops_are_compiled_for_bounds_and_compute_the_same():
    for loop in LOOPS:
        # Programs for sizes would be found in the cache.
        with options(dynamic_sizes=BOUNDS, dynamic_exact="false"):
            refused = lx.counter("DynamicRefused")
            found, compiled = run(loop)
            assert lx.counter("DynamicRefused") == refused, loop.__name__
        wanted, each = run(loop)
        kinds = 9 if loop.__name__ == "eager" else 1
        # One program for its sizes and three for bounds of each kind; and those that do not change.
        assert compiled <= 4 * kinds + 2 < each, (loop.__name__, compiled, each)
        for a, b in zip(found, wanted, strict=True):
            assert a.shape == b.shape and a.dtype == b.dtype
            np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-5, err_msg=loop.__name__)


def test_parts_are_joined_whole_if_their_sizes_are_sizes_of_other_axes():
    def check(found, wanted):
        np.testing.assert_array_equal(np.asarray(found), wanted)

    for bounds in ("buckets", "powers", "128,256"):
        with options(dynamic_sizes=bounds, dynamic_exact="false"):
            for n, m in ((40, 33), (70, 40), (50, 60), (8, 100), (100, 8), (16, 16), (17, 3)):
                a, b = np.ones((n + m, n), "float32"), np.full((n + m, m), 2, "float32")
                check(lx.concat([lx.asarray(a), lx.asarray(b)], axis=1), np.concatenate([a, b], 1))
            for n in (8, 6, 40, 100, 90, 12, 5, 7, 3, 33):
                a = np.random.default_rng(n).standard_normal((n, 2 * n)).astype("float32")
                x, square = lx.asarray(a), lx.asarray(a[:, :n].copy())
                check(lx.roll(square, n // 2, axis=0), np.roll(a[:, :n], n // 2, 0))
                check(lx.fft.fftshift(square), np.fft.fftshift(a[:, :n]))
                check(lx.concat([x, lx.flip(x)]), np.concatenate([a, np.flip(a)]))
                check(lx.concat([-x[:, n:], x[:, :n]], axis=1), np.concatenate([-a[:, n:], a[:, :n]], 1))
                check(
                    lx.stack([square, square.T], axis=1).reshape(2 * n, n),
                    np.stack([a[:, :n], a[:, :n].T], 1).reshape(2 * n, n),
                )
