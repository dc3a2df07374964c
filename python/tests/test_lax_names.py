"""Methods of ufuncs, functions of `jax.lax` and of `scipy.linalg`, against NumPy's values."""

import numpy as np
from common import DEVICES, in_one_step, on, raises, random, same

import lazyxla as lx
from lazyxla import _ufuncs

SIZES = (0, 1, 7, 33_000)


def test_extremes_of_bools_are_the_first_true_ones():
    for size in (1, 7, 33_000):
        a = random(size, (3, size), "bool")
        for device in DEVICES:
            x = on(a, device)
            for name in ("argmax", "argmin"):
                for options in ({}, {"axis": 1}, {"axis": 0, "keepdims": True}):
                    same(getattr(lx, name)(x, **options), getattr(np, name)(a, **options))
                same(getattr(x, name)(), getattr(a, name)())
    raises(TypeError, lambda: lx.argmax(lx.asarray([1j], device="cpu")), "argmax", "complex64")


@in_one_step
def test_ufuncs_reduce_and_accumulate_as_in_numpy():
    for size in SIZES:
        a = random(size, (size, 3), "float64")
        if size > 1:
            a[size // 2, 1] = np.nan
        for device in DEVICES:
            x = on(a, device)
            for name in _ufuncs.REDUCTIONS:
                if size == 0 and name in ("maximum", "minimum"):
                    continue
                of, numpys = getattr(lx, name), getattr(np, name)
                given = (a > 0, x > 0) if name.startswith("logical") else (a, x)
                same(of.reduce(given[1]), numpys.reduce(given[0]), 1e-9)
                same(of.reduce(given[1], axis=None), numpys.reduce(given[0], axis=None), 1e-9)
                same(of.reduce(given[1], 1, keepdims=True), numpys.reduce(given[0], 1, keepdims=True), 1e-12)
            for name in ("add", "multiply", "maximum", "minimum"):
                same(getattr(lx, name).accumulate(x), getattr(np, name).accumulate(a), 1e-9)
                same(getattr(lx, name).accumulate(x, axis=1), getattr(np, name).accumulate(a, axis=1), 1e-12)
            same(lx.cummax(x), np.maximum.accumulate(a))
            same(lx.cummin(x, axis=-1), np.minimum.accumulate(a, axis=-1))
    same(lx.add.reduce(lx.asarray([1, 2], device="cpu"), dtype="float64"), np.float64(3))


@np.errstate(invalid="ignore")
@in_one_step
def test_ufuncs_of_numbers_and_bits_reduce_as_in_numpy():
    for size in (0, 1, 7, 1000):
        whole, floats = random(size, (2, size), "int32"), random(size, (2, size))
        floats[:, 1:2] = np.nan
        # Halves compile for as long as there are halvings.
        for device in DEVICES if size < 1000 else DEVICES[:1]:
            for name in _ufuncs.FOLDS:
                of, numpys = getattr(lx, name), getattr(np, name)
                kinds = [floats] if name in ("fmax", "fmin", "hypot", "logaddexp", "logaddexp2") else [whole]
                kinds += [whole > 0, whole.astype("uint8")] if name.startswith("bitwise") else []
                for a in kinds:
                    x = on(a, device)
                    if size == 0 and _ufuncs.FOLDS[name] is None:
                        raises(ValueError, lambda of=of, x=x: of.reduce(x, 1), name, "no elements")
                        continue
                    for axis in (0, 1, None):
                        found = of.reduce(x, axis)
                        near = 2e-5 if a is floats else 0
                        wanted = numpys.reduce(a.ravel() if axis is None else a, axis or 0)
                        same(found, wanted.astype(found.dtype.name), near)
                    same(
                        of.reduce(x, 1, keepdims=True).astype(float),
                        numpys.reduce(a, 1, keepdims=True).astype("f4"),
                        2e-5,
                    )
                    same(of.accumulate(x, 1).astype(float), numpys.accumulate(a, 1).astype("f4"), 2e-5)


@in_one_step
def test_ufuncs_of_all_pairs_are_those_of_numpy():
    a, b = np.array([[3, 5, 9], [1, 2, 4]]), np.array([2, 7])
    for device in DEVICES:
        for name in _ufuncs.BINARY:
            numpys = getattr(np, {"atan2": "arctan2", "pow": "power"}.get(name, name))
            wanted = numpys.outer(a, b)
            found = getattr(lx, name).outer(on(a, device), b)
            # Integers become float32 here where they become float64 in NumPy.
            same(found, wanted.astype(found.dtype.name), 1e-6)


def test_ufuncs_change_arrays_at_all_of_equal_indices():
    rows, columns = np.array([0, 2, 0, 2, 2]), np.array([1, 1, 1, 0, 1])
    values = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    for device in DEVICES:
        for name in _ufuncs.UPDATES:
            wanted = np.full((3, 2), 3.0)
            getattr(np, name).at(wanted, (rows, columns), values)
            x = lx.full((3, 2), 3.0, dtype="float64", device=device)
            before = x.copy()
            key = (on(rows, device), on(columns, device))
            copy = getattr(lx, name).at(x, key, on(values, device), inplace=False)
            same(x, np.asarray(before))
            assert getattr(lx, name).at(x, key, on(values, device)) is None
            same(x, wanted, 1e-12)
            same(copy, wanted, 1e-12)
        counts = lx.zeros(4, dtype=int, device=device)
        lx.add.at(counts, on(np.array([3, 3, 0]), device), 1)
        assert counts.tolist() == [1, 0, 0, 2]
        raises(TypeError, lambda counts=counts: lx.divide.at(counts, 0, 2), "int64", "float32")
    raises(TypeError, lambda: lx.add.at(np.zeros(2), 0, 1), "array of lazyxla", "ndarray")
    raises(TypeError, lambda: lx.maximum.accumulate(lx.asarray(1.0, device="cpu")), "scalar")
    raises(TypeError, lambda: lx.subtract.outer([1], lx.ones(1, device="cpu")), "subtract.outer", "list")


def test_loops_by_a_number_run_as_loops():
    for device in DEVICES:
        x = on(np.arange(6.0), device)
        body = lambda i, s: (s[0] + x[i] * i, s[1] + 1)
        start = (lx.asarray(0.0, dtype="float64", device=device), 0)
        total = lambda last: lx.fori_loop(1, last, body, start)
        assert [y.item() for y in total(5)] == [30.0, 4]
        assert [y.item() for y in total(0)] == [0.0, 0]
        assert [y.item() for y in total(lx.asarray(5, device=device))] == [30.0, 4]
        assert [y.item() for y in lx.fori_loop(lx.asarray(2, device=device), np.int64(4), body, start)] == [13.0, 2]
        power = lambda x: lx.fori_loop(0, 4, lambda i, y: y * x, lx.ones_like(x))
        assert lx.grad(power)(on(np.float32(2), device)).item() == 32
        same(lx.map(lambda row: lx.sort(row) * 2, on(random(1, (4, 3)), device)), np.sort(random(1, (4, 3)), 1) * 2)
        pairs = lx.map(lambda t: {"sum": t[0] + t[1]}, (x, x))
        assert pairs["sum"].tolist() == (2 * np.arange(6.0)).tolist()
        count = lambda first, last: lx.fori_loop(first, last, lambda i, n: n + 1, on(0, device))
        assert lx.jit(count)(on(0, device), on(5, device)).item() == 5
        assert lx.vmap(lambda last: count(0, last))(on([3, 4], device)).tolist() == [3, 4]
        assert (
            count(on(np.uint8(2), device), 300).item() == count(on(np.uint8(2), device), on(300, device)).item() == 298
        )
        raises(TypeError, lambda: count(on(np.uint64(1), device), on(2, device)), "uint64", "int64")
        for bound in (np.float64(3), on(2.0, device), on([3], device), np.array([3])):
            raises(TypeError, lambda bound=bound: count(0, bound), "upper")
    raises(TypeError, lambda: lx.fori_loop(0, 2.5, body, start), "upper", "float")
    raises(TypeError, lambda: lx.fori_loop(0, 2, None, start), "body_fun", "NoneType")


def test_scans_by_an_operation_are_those_of_a_loop():
    for size in SIZES:
        a, b = random(1, (2, size), "float64") / 2, random(2, (2, size), "float64")
        # x[i] = a[i] * x[i - 1] + b[i], by pairs.
        joined = lambda f, g: (g[0] * f[0], g[0] * f[1] + g[1])
        wanted, last = np.zeros((2, size)), np.zeros(2)
        for i in range(size):
            last = a[:, i] * last + b[:, i]
            wanted[:, i] = last
        for device in DEVICES:
            x = on(a, device), on(b, device)
            same(lx.associative_scan(joined, x, axis=1)[1], wanted, 1e-9)
            same(lx.associative_scan(lx.add, x[1], axis=-1), np.cumsum(b, 1), 1e-9)
            same(lx.associative_scan(lx.add, x[1], reverse=True, axis=1), np.cumsum(b[:, ::-1], 1)[:, ::-1], 1e-9)
    x = lx.ones((2, 3), device="cpu")
    raises(ValueError, lambda: lx.associative_scan(lx.add, (x, x[:1])), "2, 1", "one size")
    raises(TypeError, lambda: lx.associative_scan(lambda a, b: (a, b), x), "structure")
    raises(lx.AxisError, lambda: lx.associative_scan(lx.add, x, axis=2), "axis 2")


def test_slices_at_computed_places_are_clamped():
    a = random(3, (5, 6), "float64")
    for device in DEVICES:
        x = on(a, device)
        for start in (0, 2, 4, 9, -2, -9):
            first = min(max(start + 5 if start < 0 else start, 0), 2)
            for at in (start, on(np.int64(start), device), on(np.int32(start), device)):
                same(lx.dynamic_slice_in_dim(x, at, 3), a[first : first + 3])
                same(lx.dynamic_slice(x, (at, 1), (3, 2)), a[first : first + 3, 1:3])
                wanted = a.copy()
                wanted[first : first + 3, 4:] = 7
                same(lx.dynamic_update_slice(x, lx.full((3, 2), 7.0, dtype="float64", device=device), (at, 9)), wanted)
        same(lx.dynamic_index_in_dim(x, on(np.int64(2), device), axis=1), a[:, 2:3])
        same(lx.dynamic_index_in_dim(x, on(np.int64(2), device), axis=1, keepdims=False), a[:, 2])
        same(lx.dynamic_slice_in_dim(x, 1, 0), a[1:1])
        moving = lx.scan(lambda c, i: (c, lx.dynamic_slice_in_dim(c, i, 2).sum()), x[:, 0], on(np.arange(4), device))[1]
        same(moving, a[:4, 0] + a[1:, 0], 1e-12)
        same(lx.rsqrt(on(np.abs(a), device)), 1 / np.sqrt(np.abs(a)), 1e-12)
    raises(ValueError, lambda: lx.dynamic_slice_in_dim(x, 0, 6), "6 elements", "5")
    raises(TypeError, lambda: lx.dynamic_slice_in_dim(x, 0.5, 2), "integer", "float")
    raises(ValueError, lambda: lx.dynamic_slice(x, (0,), (1, 1)), "1 start_indices", "rank 2")
    raises(ValueError, lambda: lx.dynamic_update_slice(x, x[0], (0, 0)), "rank 2")


def test_copies_by_at_take_the_words_of_jax():
    for device in DEVICES:
        x = on(np.arange(4.0), device)
        assert x.at[1].mul(3, unique_indices=True).tolist() == [0, 3, 2, 3]
        assert x.at[on(np.array([9]), device)].set(7, mode="drop").tolist() == [0, 1, 2, 3]
        assert x.at[on(np.array([9]), device)].get(mode="clip").tolist() == [3]
    raises(ValueError, lambda: x.at[0].set(1, mode="clip"), "'clip'", "'drop'")
    raises(ValueError, lambda: x.at[0].get(mode="fill"), "'fill'", "'clip'")
    raises(TypeError, lambda: x.at[0].add(1, where=True), "where")


@in_one_step
def test_functions_of_scipys_linalg_are_their_formulas():
    for dtype in ("float64", "complex128"):
        a = random(4, (5, 5), dtype)
        a = a @ a.conj().T + 5 * np.eye(5)
        b, v = random(5, (5, 2), dtype), random(6, (5,), dtype)
        for device in DEVICES:
            x = on(a, device)
            for lower in (False, True):
                factor = lx.linalg.cho_factor(x, lower)
                same(lx.linalg.cho_solve(factor, on(b, device)), np.linalg.solve(a, b), 1e-10)
                same(lx.linalg.cho_solve(factor, on(v, device)), np.linalg.solve(a, v), 1e-10)
            low = np.tril(a)
            for trans, of in ((0, low), ("T", low.T), (1, low.T), ("C", low.conj().T), (2, low.conj().T)):
                found = lx.linalg.solve_triangular(x, on(b, device), trans=trans, lower=True)
                same(found, np.linalg.solve(of, b), 1e-10)
            rows = [[v[i - j] if i >= j else v.conj()[j - i] for j in range(5)] for i in range(5)]
            same(lx.linalg.toeplitz(on(v, device)), np.array(rows))
            wide = [[v[i - j] if i >= j else b[j - i, 0] for j in range(5)] for i in range(5)]
            same(lx.linalg.toeplitz(on(v, device), on(b[:, 0], device)), np.array(wide))
    for n in (0, 1, 7):
        same(lx.kaiser(n, 8.6), np.kaiser(n, 8.6).astype("float32"), 1e-6)
    assert lx.linalg.toeplitz(lx.zeros(0, device="cpu"), lx.zeros(3, device="cpu")).shape == (0, 3)


def test_names_for_arrays_are_those_of_numpy():
    x = lx.ndarray
    assert x is lx.Array and lx.asanyarray is lx.ascontiguousarray
    a = random(7, (9,))
    for device in DEVICES:
        y = on(a, device)
        assert sorted(y.argpartition(3).tolist()[:4]) == sorted(np.argsort(a)[:4].tolist())
        same(y.compress([True, False, True]), a[[0, 2]])
        choices = [on(a[:2], device), on(-a[:2], device)]
        same(on(np.array([1, 0]), device).choose(choices), np.array([-a[0], a[1]]))
