"""Masks as indices, and other sizes that are read: what uses them is compiled for bounds, not for each size."""

import gc

import numpy as np
from common import on, same

import lazyxla as lx

ROWS, COLUMNS = 200, 3


def table(rows=ROWS):
    return np.random.default_rng(1).standard_normal((rows, COLUMNS)).astype("float32")


def masks(rows, seed, count):
    """Yields masks with different numbers of true elements, at least 2."""
    rng = np.random.default_rng(seed)
    for share in np.linspace(0.9, 0.1, count):
        yield rng.random(rows) < share


def compiled(function):
    """Returns what a function returns, read, and how many programs were compiled for it."""
    before = lx.counter("UncachedCompile")
    found = np.asarray(function())
    return found, lx.counter("UncachedCompile") - before


def close(found, wanted):
    assert found.shape == np.shape(wanted), (found.shape, np.shape(wanted))
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)


def compile_once(wanted, function, rows=ROWS, later=0, seed=0, count=10):
    """Asserts that a function of a mask gives what one of NumPy's gives, and compiles at most `later` programs after the
    first of `count` masks."""
    # What other tests left pending is not compiled for this function.
    gc.collect()
    lx.step()
    a = table(rows)
    x, total = on(a, "xla:0"), 0
    for i, mask in enumerate(masks(rows, seed, count)):
        flags = on(mask, "xla:0")
        found, programs = compiled(lambda flags=flags: function(x, flags))
        close(found, wanted(a, mask))
        total += programs if i else 0
    assert total <= later, f"{total} programs after the first mask"


def test_reductions_products_and_sorts_of_masked_rows_compile_once():
    compile_once(lambda a, m: a[m], lambda x, m: x[m])
    compile_once(lambda a, m: a[m].mean(0), lambda x, m: lx.mean(x[m], axis=0))
    compile_once(lambda a, m: a[m].T @ a[m], lambda x, m: x[m].T @ x[m])
    compile_once(lambda a, m: np.sort(a[m], axis=0), lambda x, m: lx.sort(x[m], axis=0))
    compile_once(lambda a, m: a[m, 1].max(), lambda x, m: lx.max(x[m, 1]))
    compile_once(lambda a, m: np.nonzero(m)[0] * 2, lambda x, m: lx.nonzero(m)[0] * 2)


def test_jitted_functions_and_derivatives_of_masked_rows_compile_once():
    step = lx.jit(lambda v: lx.sum(v * v))
    compile_once(lambda a, m: (a[m] ** 2).sum(), lambda x, m: step(x[m]))
    slope = lx.grad(lambda w, v: lx.sum((v @ w) ** 2))
    w = lx.ones(COLUMNS, dtype=lx.float32)
    compile_once(lambda a, m: 2 * a[m].T @ a[m].sum(1), lambda x, m: slope(w, x[m]))
    compile_once(lambda a, m: 2 * a[m].sum(), lambda x, m: lx.jit(lambda v: lx.sum(v[m] * 2))(x))


def assigned(copy):
    def function(x, mask):
        y = copy(x)
        y[mask] = y[mask] * 2 + 1
        return y

    return function


def test_rows_are_written_by_masks_with_one_program():
    compile_once(assigned(np.copy), assigned(lambda x: x.copy()))


def test_results_that_stay_on_the_device_are_of_any_size_too():
    def held(x, mask):
        rows = x[mask]
        lx.step()
        doubled = rows * 2
        lx.step()
        return lx.sum(doubled, axis=0)

    compile_once(lambda a, m: 2 * a[m].sum(0), held)


def test_several_masks_are_not_compiled_for_each_combination_of_their_sizes():
    def parts(x, mask):
        return lx.stack([lx.mean(x[mask & (x[:, 0] > level)], axis=0) for level in (-0.4, -0.2, 0.0)])

    def wanted(a, mask):
        return np.stack([a[mask & (a[:, 0] > level)].mean(0) for level in (-0.4, -0.2, 0.0)])

    # A mask of few true elements is of another kind if it has one alone.
    compile_once(wanted, parts, later=2)


def test_uses_of_large_masks_are_compiled_for_each_bound():
    def sums(x, mask):
        return lx.sum(x[mask], axis=0)

    # Numbers from 500 to 4,500 have 14 bounds.
    compile_once(lambda a, m: a[m].sum(0), sums, rows=5000, later=14, count=60)
    compile_once(lambda a, m: a[m].sum(0), sums, rows=5000, later=2, count=30, seed=1)


def test_masks_of_none_one_and_all_elements():
    a = table()
    x = on(a, "xla:0")
    for count in (0, 1, 2, 128, ROWS - 1, ROWS):
        mask = np.arange(ROWS) < count
        flags = on(mask, "xla:0")
        same(x[flags], a[mask])
        same(lx.nonzero(flags)[0], np.nonzero(mask)[0])
        close(np.asarray(lx.sum(x[flags], axis=0)), a[mask].sum(0))
    empty = on(np.zeros((0, 3), "float32"), "xla:0")
    same(empty[empty > 0], np.zeros(0, "float32"))
    assert [i.shape for i in lx.nonzero(empty)] == [(0,), (0,)]
    grid = np.random.default_rng(2).random((4, 5, 6)) < 0.3
    for found, wanted in zip(lx.nonzero(on(grid, "xla:0")), np.nonzero(grid), strict=True):
        same(found, wanted)


def test_distinct_elements_compile_once():
    a = np.arange(300, dtype="float32")
    x = on(a, "xla:0")
    for function in (lx.unique_values, lambda v: lx.unique_counts(v).counts):
        for i, k in enumerate((130, 170, 5, 290)):
            least = on(np.float32(k), "xla:0")
            found, count = compiled(lambda f=function, k=least: f(lx.minimum(x, k)) * 2)
            values, counts = np.unique(np.minimum(a, k), return_counts=True)
            close(found, 2 * (values if function is lx.unique_values else counts))
            assert i == 0 or count == 0, (k, count)


def test_moments_of_halves_under_a_mask_are_summed_in_float32():
    a = (np.arange(5000) % 3 + 100).astype("float16")
    mask = np.arange(5000) % 5 > 0
    wide = a.astype(float)
    for device in ("cpu", "xla:0"):
        x, m = on(a, device), on(mask, device)
        same(lx.mean(x, where=m), np.float16(wide.mean(where=mask)), 1e-3)
        same(lx.var(x, where=m, correction=1), np.float16(wide.var(where=mask, ddof=1)), 1e-3)
        same(lx.std(x, where=m), np.float16(wide.std(where=mask)), 1e-3)
