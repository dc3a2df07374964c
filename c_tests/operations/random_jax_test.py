"""Random numbers of distributions against jax.random with the same keys: python random_jax_test.py liblazyxla.so

Floats differ by roundings of the functions of the distributions; integers and indices are equal. The status 77 says that
JAX is missing."""

import sys

sys.dont_write_bytecode = True  # leaves no caches beside the sources
sys.path.append(sys.path[0] + "/../abi")  # ctypes_test
import ctypes_test as abi
import numpy as np
from header import constants
from ops_cases import World, ints
from ops_values import DTYPES, NAMES

try:
    import jax
except ImportError:
    sys.exit(77)

THREE_FRY = constants.RNG_THREE_FRY
KEYS = [(0, 42), (0xDEADBEEF, 7), (2**32 - 1, 2**31)]
NOTHING = abi.Tensor(0)
FLOATS = [np.float32, np.float64]
# Largest difference from JAX's numbers in units of the dtype's eps, relative to the number or to 1.
ULPS = {np.float32: 300, np.float64: 300}


def number_of(dtype):
    return DTYPES[NAMES[np.dtype(dtype)]][0]


class Draws:
    """Draws on one device."""

    def __init__(self, world):
        self.world = world

    def __call__(self, name, key, *given):
        put = lambda value: self.world.put(value) if isinstance(value, np.ndarray) else value
        made = self.world.make(f"lxla_random_{name}", THREE_FRY, put(np.array(key, "u4")), *map(put, given))
        return self.world.read(made)


def shaped(shape):
    return ints(shape), len(shape)


def close(ours, theirs):
    theirs = np.asarray(theirs)
    assert ours.dtype == theirs.dtype and ours.shape == theirs.shape, (ours.dtype, theirs.dtype)
    eps = np.finfo(ours.dtype).eps * ULPS[ours.dtype.type]
    np.testing.assert_allclose(ours, theirs, rtol=eps, atol=eps)


def same(ours, theirs):
    np.testing.assert_array_equal(ours, np.asarray(theirs), strict=True)


def test_integers(draw, words, key):
    rows = [
        (np.int8, -128, 128), (np.uint8, 0, 256), (np.int8, -5, 3), (np.uint16, 7, 8), (np.int16, -300, 20000),
        (np.int32, -(2**31), 2**31 - 1), (np.int32, -3, 100), (np.uint32, 0, 2**32), (np.uint32, 0, 2**31 + 3),
        (np.int64, -(2**62), 2**62 + 5), (np.int64, -9, 10), (np.uint64, 3, 2**63 - 1),
    ]  # fmt: skip
    for i, (dtype, low, high) in enumerate(rows):
        for shape in [(300,)] if i else [(300,), (2, 3), (), (0, 2)]:
            ours = draw("integers", words, number_of(dtype), *shaped(shape), low, high)
            least, most = (np.int64(low), np.int64(high)) if dtype != np.uint64 else (np.uint64(low), np.uint64(high))
            same(ours, jax.random.randint(key, shape, least, most, dtype))


def test_choice(draw, words, key):
    x = np.arange(5 * 30 * 2, dtype=np.float32).reshape(5, 30, 2)
    row = np.arange(3000, dtype=np.int32)
    p = np.random.default_rng(1).random(30).astype(np.float32)
    p[3:6] = 0
    chances = [None, p]
    for shape in [(2, 3), (30,)]:
        for p_given in chances:
            for replace in (0, 1):
                ours = draw("choice", words, x, 1, *shaped(shape), replace, NOTHING if p_given is None else p_given)
                with jax.enable_x64(False):
                    same(ours, jax.random.choice(key, x, shape, bool(replace), p_given, axis=1))
    with jax.enable_x64(False):
        ours = draw("choice", words, row, -1, *shaped((3000,)), 0, NOTHING)
        same(ours, jax.random.choice(key, row, (3000,), False))


def test_poisson(draw, words, key):
    rates = np.array([0, 0.1, 1, 3.7, 9.99, 10, 10.5, 33, 150, np.nan], np.float32)
    for dtype in (np.int32, np.int64, np.uint8):
        some = rates[:8] if dtype == np.uint8 else rates
        ours = draw("poisson", words, some, number_of(dtype), *shaped((200, len(some))))
        same(ours, jax.random.poisson(key, some, (200, len(some)), dtype))
    # Of large rates, rounding decides more often: the logarithm of a probability is a difference of large numbers.
    ours = draw("poisson", words, np.array(1e4, np.float32), number_of(np.int32), *shaped((500,)))
    theirs = np.asarray(jax.random.poisson(key, 1e4, (500,), np.int32))
    assert (ours == theirs).mean() > 0.95 and np.abs(ours - 1e4).max() < 600, (ours, theirs)
    same(
        draw("poisson", words, np.array(2, np.float32), number_of(np.int32), *shaped(())),
        jax.random.poisson(key, 2, (), "i4"),
    )


def test_gamma(draw, words, key):
    for dtype in FLOATS:
        alpha = np.array([1e-3, 0.1, 0.5, 0.99, 1, 1.5, 3, 30, 1e4, np.nan, -3], dtype)
        shape = (50, len(alpha))
        close(draw("gamma", words, alpha, *shaped(shape)), jax.random.gamma(key, alpha, shape, dtype))
        close(draw("log_gamma", words, alpha, *shaped(shape)), jax.random.loggamma(key, alpha, shape, dtype))
        assert draw("gamma", words, alpha, *shaped((0, len(alpha)))).shape == (0, len(alpha))


def test_beta(draw, words, key):
    for dtype in FLOATS:
        a, b = np.array([0.01, 0.5, 1, 3, 40], dtype), np.array([[0.02], [1], [70]], dtype)
        close(draw("beta", words, a, b, *shaped((3, 5))), jax.random.beta(key, a, b, (3, 5), dtype))


TESTS = [test_integers, test_choice, test_poisson, test_gamma, test_beta]


def main():
    abi.load(sys.argv[1])
    jax.config.update("jax_enable_x64", True)
    env = abi.new_env()
    for world in (World(env, abi.cpu(), "natively"), World(env, abi.xla(), "lazily")):
        for test in TESTS:
            for words in KEYS:
                test(Draws(world), words, jax.random.wrap_key_data(np.uint32(words)))
            print(f"{test.__name__[5:]} {world.name}: ok")


if __name__ == "__main__":
    main()
