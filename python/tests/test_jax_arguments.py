"""Arguments of JAX's functions of arrays: sizes that are known before the values, copies instead of changes, and what
examples of its documentation have, against NumPy's values."""

import numpy as np
from common import DEVICES, on, raises, random, same

import lazyxla as lx


def test_places_of_a_size_that_is_given_are_not_read():
    for size in (0, 1, 7, 33_000):
        for a in (random(size, (size,), "bool"), random(size, (size, 3), "bool"), np.ones((size, 2), bool)):
            for device in DEVICES:
                x = on(a, device)
                wanted = np.nonzero(a)
                for count in (0, 2, len(wanted[0]), len(wanted[0]) + 3):
                    found = lx.jit(lambda x, count=count: lx.nonzero(x, size=count, fill_value=-1))(x)
                    for mine, numpys in zip(found, wanted):
                        padded = np.full(count, -1)
                        padded[: min(count, len(numpys))] = numpys[:count]
                        same(mine, padded)
                    if size > 7:
                        break
    a = np.array([[0, 3, 0], [4, 0, 5]])
    for device in DEVICES:
        x = on(a, device)
        same(lx.argwhere(x, size=4, fill_value=(9, 8)), np.array([[0, 1], [1, 0], [1, 2], [9, 8]]))
        same(lx.flatnonzero(x, size=2), np.flatnonzero(a)[:2])
        same(lx.where(x > 3, size=3)[1], np.array([0, 2, 0]))
        masks = lx.vmap(lambda row: lx.nonzero(row, size=2, fill_value=7)[0])(x)
        same(masks, np.array([[1, 7], [0, 2]]))
    raises(ValueError, lambda: lx.nonzero(x, size=-1), "-1")
    raises(ValueError, lambda: lx.nonzero(x, size=2, fill_value=(1, 2, 3)), "3 numbers", "rank 2")


def test_functions_that_change_an_array_return_copies_where_this_is_asked():
    for device in DEVICES:
        x = lx.zeros((3, 3), device=device)
        assert lx.fill_diagonal(x, 2.0, inplace=False).tolist() == [[2, 0, 0], [0, 2, 0], [0, 0, 2]]
        places = on(np.array([[1], [0], [2]]), device)
        assert lx.put_along_axis(x, places, 5.0, 1, inplace=False).tolist() == [[0, 5, 0], [5, 0, 0], [0, 0, 5]]
        assert lx.fill_diagonal(x.T, 1.0, inplace=False).tolist() == np.eye(3).tolist()
        assert x.tolist() == np.zeros((3, 3)).tolist()
        assert lx.jit(lambda x: lx.fill_diagonal(x, 1.0, inplace=False))(x).tolist() == np.eye(3).tolist()


def test_examples_of_jax_have_numpys_values():
    for size in (1, 7, 33_000):
        a, bins = random(size, (size,), "float64"), np.array([1.0, 0.5, -0.5, -2.0])
        keys = [random(seed, (3, size), "int32") for seed in (1, 2)]
        a[:1] = np.nan
        for device in DEVICES:
            x = on(a, device)
            for right in (False, True):
                same(lx.digitize(x, on(bins, device), right), np.digitize(a, bins, right))
                same(lx.digitize(x, list(bins), right), np.digitize(a, bins, right))
                same(lx.digitize(x, on(bins[::-1].copy(), device), right), np.digitize(a, bins[::-1], right))
            for axis in (-1, 0):
                same(lx.lexsort([on(key, device) for key in keys], axis), np.lexsort(keys, axis))
            same(lx.diff(x, prepend=2, append=on(np.array([1.0, 3]), device)), np.diff(a, prepend=2, append=[1.0, 3]))
            same(lx.diff(on(keys[0], device), axis=0, prepend=0), np.diff(keys[0], axis=0, prepend=np.int32(0)))
            places = np.array([[0, 9 * size], [-size - 2, size - 1]])
            for given in (places, on(places, device), places.tolist()):
                for mode in ("clip", "wrap"):
                    same(lx.take(x, given, mode=mode), np.take(a, places, mode=mode))
                    same(lx.take(on(keys[0], device), given, 1, mode), np.take(keys[0], places, 1, mode=mode))
            whole = np.sort(random(size, (size,), "int64"))
            found = lx.searchsorted(on(whole, device), on(np.float32([-0.5, 3, 8.5]), device))
            same(found, np.searchsorted(whole, [-0.5, 3, 8.5]))
    for device in DEVICES:
        x = on(np.int32([1, 2]), device)
        for name in ("zeros_like", "ones_like", "empty_like"):
            made = getattr(lx, name)(x, shape=(2, 3))
            assert made.shape == (2, 3) and made.dtype == lx.int32 and made.device == x.device
        assert lx.full_like(x, 7, shape=3).tolist() == [7, 7, 7]
        same(lx.polyder(on(np.float32([1, 2, 3]), device), m=2), np.float32([2]))
        same(lx.polyint(on(np.float32([6, 2]), device), m=1), np.float32([3, 2, 0]))
    assert lx.reciprocal(0.0).item() == np.inf
    raises(ValueError, lambda: lx.take(x, 1, mode="fill"), "'fill'", "'wrap'")
