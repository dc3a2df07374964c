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


def test_distinct_elements_of_a_size_that_is_given_are_not_read():
    for shape in ((1,), (7, 2), (33_000,)):
        a = random(1, shape, "int32")
        values, first, inverse, counts = np.unique(a, True, True, True)
        for size in (1, len(values), len(values) + 3):
            for device in DEVICES:
                found = lx.jit(lambda x, size=size: lx.unique(x, True, True, True, size=size, fill_value=-77))(
                    on(a, device)
                )
                lacking = max(size - len(values), 0)
                same(found[0], np.append(values[:size], [-77] * lacking).astype("int32"))
                same(found[1], np.append(first[:size], [first[0]] * lacking).astype("int64"))
                same(found[2], inverse.reshape(shape))
                same(found[3], np.append(counts[:size], [0] * lacking).astype("int64"))
    rows = np.array([[3, 1], [1, 2], [3, 1]])
    for device in DEVICES:
        x = on(rows, device)
        found = lx.jit(lambda x: lx.unique(x, True, True, True, axis=0, size=4))(x)
        for mine, wanted in zip(found, ([[1, 2], [3, 1], [1, 2], [1, 2]], [1, 0, 1, 1], [1, 0, 1], [1, 2, 0, 0])):
            assert mine.tolist() == wanted
        assert lx.unique(x, return_counts=True, axis=0, size=1)[1].tolist() == [1]
        assert lx.unique(x, axis=1, size=3, fill_value=7).tolist() == [[1, 3, 7], [2, 1, 7], [1, 3, 7]]
    raises(ValueError, lambda: lx.unique(x, size=-1), "size", "-1")
    raises(ValueError, lambda: lx.unique(lx.zeros(0), size=2), "fill_value")
    raises(NotImplementedError, lambda: lx.unique(x, size=2, equal_nan=False), "equal_nan")


def test_repeats_that_are_arrays_need_not_be_read():
    for size in (1, 5, 33_000):
        a, counts = random(1, (size, 2)), np.random.default_rng(2).integers(0, 3, size)
        for device in DEVICES:
            x, repeats = on(a, device), on(counts, device)
            wanted = np.repeat(a, counts, 0)
            same(lx.repeat(x, repeats, 0), wanted)
            for total in (0, len(wanted), len(wanted) + 2):
                found = lx.jit(lambda x, n, total=total: lx.repeat(x, n, 0, total_repeat_length=total))(x, repeats)
                same(found, np.concatenate([wanted, a[-1:], a[-1:]])[:total])
    same(lx.repeat(x, on(np.int32(2), device), 1), np.repeat(a, 2, 1))
    raises(ValueError, lambda: lx.repeat(x, on(np.array([-1]), device), 0), "-1")
    raises(ValueError, lambda: lx.repeat(x, on(np.array([1, 2]), device), 0), "[2]", "33000")


def test_auxiliary_results_have_derivatives_of_outer_transformations_only():
    def f(x, y):
        return {"r": x * y}, (x * 3, y.astype(lx.int32))

    for device in DEVICES:
        x, y = on(np.float32([1, np.inf]), device), on(np.float32([2, 5]), device)
        for function in (f, lx.jit(f)):
            value, pullback, aux = lx.vjp(function, x, y, has_aux=True)
            assert value["r"].tolist() == [2, np.inf] and [each.tolist() for each in aux] == [[3, np.inf], [2, 5]]
            by_x, by_y = pullback({"r": lx.ones_like(x)})
            assert by_x.tolist() == [2, 5] and by_y.tolist() == [1, np.inf]
            value, slope, aux = lx.jvp(function, (x, y), (y, x), has_aux=True)
            assert slope["r"].tolist() == [5, np.inf] and aux[0].tolist() == [3, np.inf]
            raises(ValueError, lambda: pullback((lx.ones_like(x), aux)), "cotangents")
    raises(TypeError, lambda: lx.vjp(lambda x: x, x, has_aux=True), "vjp()", "pair")
    # An outer transformation differentiates them.
    for device in DEVICES:
        x, one = on(np.float32(2), device), on(np.float32(1), device)
        for g in (lambda x: (x * x, x * x * x), lx.jit(lambda x: (x * x, x * x * x))):
            assert lx.grad(lambda x: lx.vjp(g, x, has_aux=True)[2])(x).item() == 12
            assert lx.grad(lambda x: lx.jvp(g, (x,), (one,), has_aux=True)[2])(x).item() == 12
            assert (
                lx.jit(lx.grad(lambda x: lx.vjp(g, x, has_aux=True)[1](one)[0] * lx.vjp(g, x, has_aux=True)[2]))(
                    x
                ).item()
                == 64
            )


def test_trees_are_vectors_and_back():
    for device in DEVICES:
        tree = {"a": on(random(1, (2, 3)), device), "b": [on(np.int32([7]), device), on(np.zeros((0, 2), "f"), device)]}
        flat, unravel = lx.tree.ravel(tree)
        same(flat, np.append(random(1, (2, 3)).ravel(), 7).astype("float32"))
        back = unravel(flat * 2)
        same(back["a"], 2 * random(1, (2, 3)))
        assert back["b"][0].dtype == lx.int32 and back["b"][0].tolist() == [14] and back["b"][1].shape == (0, 2)
        slope = lx.grad(lambda v: lx.sum(unravel(v)["a"] ** 2))(flat)
        same(slope, np.append(2 * random(1, (2, 3)).ravel(), 0).astype("float32"), 1e-6)
        raises(ValueError, lambda: unravel(flat[:-1]), "[6]", "[7]")
        flat, unravel = lx.tree.ravel([on(np.float32([1, 2]), device), on(np.complex64([1j]), device)])
        back = unravel(flat)
        same(back[0], np.float32([1, 2]))
        same(back[1], np.complex64([1j]))
    assert lx.tree.ravel(())[0].shape == (0,)


def test_policies_of_checkpoints_have_jaxs_names():
    def f(x):
        return lx.sin(lx.checkpoint_name(lx.exp(x), "grown"))

    for device in DEVICES:
        x = on(np.float32(0.5), device)
        wanted = lx.grad(f)(x).item()
        policies = lx.checkpoint_policies
        for policy in (policies.nothing_saveable, policies.dots_saveable, policies.save_only_these_names("grown")):
            same(lx.grad(lx.checkpoint(f, policy=policy))(x), np.float32(wanted), 1e-6)
        same(lx.grad(lx.jit(lx.checkpoint(f, save=("grown", "other"))))(x), np.float32(wanted), 1e-6)
    raises(ValueError, lambda: lx.checkpoint(f, save="some"), "'some'", "dots")
    raises(TypeError, lambda: lx.checkpoint(f, save="all", policy="all"), "policy")
    raises(TypeError, lambda: lx.checkpoint_name(x, ""), "name")


def test_functions_that_read_in_a_traced_function_are_named():
    x = lx.asarray([3.0, 1.0, 3.0])
    for f, words in (
        (lx.unique, ("unique()", "size=")),
        (lambda x: lx.repeat(x, x.astype(lx.int32)), ("repeat()", "total_repeat_length=")),
        (lx.setdiff1d, ("setdiff1d()",)),
        (lambda x: lx.scan(lambda c, x: (c, lx.nonzero(x + c)), x, x), ("nonzero()", "size=")),
    ):
        raises(RuntimeError, lambda: lx.jit(lambda x: f(x, x) if f is lx.setdiff1d else f(x))(x), *words)
    message = raises(RuntimeError, lambda: lx.jit(lambda x: lx.scan(lambda c, x: (c, float(x)), x, x))(x), "float(x)")
    assert message is None or "scan()" not in str(message)


def test_spaced_numbers_between_arrays_are_not_read():
    for device in DEVICES:
        x = on(np.float32([1, 3, 2]), device)
        same(lx.jit(lambda x: lx.linspace(0, lx.max(x), 4))(x), np.linspace(0, 3, 4, dtype="f"), 1e-6)
        same(lx.linspace(x, on(np.float32([7, 3, 4]), device), 2), np.float32([[1, 3, 2], [7, 3, 4]]))
        assert lx.grad(lambda end: lx.sum(lx.linspace(0, end, 5)))(x[0]).item() == 2.5
    assert lx.linspace(lx.asarray(1.0), 2, 0).tolist() == []
    for ends in ((-3.0, -5.0), ([-3.0], [-5.0])):
        made = lx.linspace(lx.asarray(ends[0], device="cpu"), lx.asarray(ends[1], device="cpu"), 4, dtype=lx.int32)
        same(made, np.linspace(*ends, 4, dtype="int32"))
    assert lx.linspace(lx.asarray(0.0), 0.1, 2, dtype=lx.float64).tolist() == [0, 0.1]
    large = 2**40 + 1
    assert lx.linspace(lx.asarray(0), lx.asarray(large), 3, dtype=lx.int64).tolist() == [0, 2**39, large]
    assert lx.linspace(lx.asarray(0.0), 1.0, 3, device="cpu").device == lx.Device("cpu")
    same(lx.linspace(np.array([0.0, 1]), [2, 3], 3, device="cpu").astype("float64"), np.linspace([0, 1], [2, 3], 3))
    raises(ValueError, lambda: lx.linspace(lx.asarray([0.0]), 1, -1), "-1")


def test_products_are_summed_in_the_dtype_that_is_preferred():
    a = np.full((2, 2), 100, "int8")
    for device in DEVICES:
        x = on(a, device)
        same(lx.matmul(x, x, preferred_element_type=lx.int32), np.full((2, 2), 20_000, "int32"))
        same(lx.einsum("ij,kj->ik", x, x, preferred_element_type="int32"), np.full((2, 2), 20_000, "int32"))
        same(lx.tensordot(x, x, axes=1, preferred_element_type=lx.float32), np.full((2, 2), 20_000, "float32"))
        same(x @ x, a @ a)
        few = lx.asarray([[7, 7], [7, 7]], dtype="int4", device=device)
        assert lx.matmul(few, few, preferred_element_type=lx.int32).tolist() == [[98, 98], [98, 98]]
