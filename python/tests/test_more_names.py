"""Functions beside NumPy's: trees, types of results, distances, special functions and distributions, on both devices;
functions that change an array in place; and the errors of all."""

import math

import numpy as np
from common import DEVICES, on, raises, random, same

import lazyxla as lx
from lazyxla import _parts


def test_trees_have_the_names_of_jax():
    tree = {"b": [lx.asarray(1.0), None], "a": (2, 3)}
    leaves, structure = lx.tree.flatten(tree)
    assert [float(x) for x in leaves] == [2, 3, 1] and lx.tree.structure(tree) == structure == lx.tree_structure(tree)
    again = lx.tree.unflatten(structure, [10, 20, 30])
    assert again == {"b": [30, None], "a": (10, 20)} == lx.tree_unflatten(structure, [10, 20, 30])
    assert lx.tree_leaves(again) == [10, 20, 30] == lx.tree.leaves(again) == lx.tree_flatten(again)[0]
    assert lx.tree.map(lambda x, y: x + y, again, again)["a"] == (20, 40)
    assert lx.tree.reduce(lambda x, y: x + y, again) == 60 and lx.tree.reduce(max, again, 99) == 99
    assert lx.tree.leaves(again, is_leaf=lambda x: isinstance(x, tuple)) == [(10, 20), 30]
    assert lx.tree.all([True, {"a": True}]) and not lx.tree.all([1, 0])


def test_types_of_results_are_known_without_values():
    for device in DEVICES:
        x = on(random(1, (3, 4)), device)
        before = lx.counter("CreateTensor"), lx.counter("UncachedCompile")
        found = lx.eval_shape(
            lambda x, t: {"y": x @ t["w"], "n": lx.sum(x > 0)}, x, {"w": lx.ShapeDtypeStruct((4, 2), "float32")}
        )
        wanted = lx.ShapeDtypeStruct((3, 2), lx.float32)
        assert found == {"y": wanted, "n": lx.ShapeDtypeStruct((), lx.int64)}, found
        assert lx.counter("UncachedCompile") == before[1]
        assert found["y"].shape == (3, 2) and found["y"].ndim == 2 and hash(found["y"]) == hash(wanted)
        raises(ValueError, lambda: lx.eval_shape(lambda x: x @ x, x))
        raises(RuntimeError, lambda: lx.eval_shape(lambda x: x * float(lx.sum(x)), x))
        moved = lx.device_put({"a": np.float32([1, 2]), "b": [x, 3, None, "text"]}, device)
        assert str(moved["a"].device) == device == str(moved["b"][1].device) and moved["b"][2:] == [None, "text"]
        got = lx.device_get({"x": x + 1, "n": None})
        same(got["x"], np.asarray(x) + 1)
        assert lx.block_until_ready((x,))[0] is x
        value, slope = lx.linearize(lambda x, y: x * y, on(np.float32(3), device), on(np.float32(4), device))
        same(value, np.float32(12))
        same(slope(1.0, 10.0), np.float32(34))
        raises(TypeError, lambda: slope(1.0), "1 tangents for 2")
    assert str(lx.devices()[0]) == "xla:0"


def test_changes_in_place_are_those_of_numpy():
    for device in DEVICES:
        for shape in ((3, 3), (2, 5), (7, 3), (3, 3, 3), (1, 1), (0, 0)):
            for value in (2.5, np.float32([1, 2])):
                for wrap in (False, True):
                    a = random(2, shape)
                    x = on(a, device)
                    np.fill_diagonal(a, value, wrap)
                    lx.fill_diagonal(x, value if isinstance(value, float) else on(value, device), wrap)
                    same(x, a)
        a = random(3, (3, 4))
        for axis, shape in ((1, (3, 1)), (0, (2, 4)), (None, (5,))):
            places = np.random.default_rng(4).integers(0, 3, shape)
            if axis == 0:
                places = np.argsort(random(5, (3, 4)), axis=0)[:2]
            if axis is None:
                places = np.array([0, 3, 5, 7, 11])
            values = random(6, shape)
            x, wanted = on(a, device), a.copy()
            np.put_along_axis(wanted, places, values, axis)
            lx.put_along_axis(x, on(places, device), on(values, device), axis)
            same(x, wanted)
    raises(ValueError, lambda: lx.fill_diagonal(lx.zeros((2, 3, 2)), 1.0), "one size")
    raises(TypeError, lambda: lx.fill_diagonal(np.zeros((2, 2)), 1.0), "x is an array")


def test_distances_are_those_of_scipy():
    for shape in ((1, 3), (7, 3), (7, 0), (300, 2)):
        a, b = random(7, shape, "float64"), random(8, (5, *shape[1:]), "float64")
        apart = np.abs(a[:, None] - b[None])
        for device in DEVICES:
            x, y = on(a, device), on(b, device)
            same(lx.cdist(x, y), np.sqrt((apart**2).sum(-1)), 1e-12)
            same(lx.cdist(x, y, "sqeuclidean"), (apart**2).sum(-1), 1e-12)
            same(lx.cdist(x, y, "cityblock"), apart.sum(-1), 1e-12)
            same(lx.cdist(x, y, "minkowski", p=3), (apart**3).sum(-1) ** (1 / 3), 1e-12)
            if shape[1]:
                same(lx.cdist(x, y, metric="chebyshev"), apart.max(-1), 1e-12)
                lengths = [np.linalg.norm(each, axis=1) for each in (a, b)]
                same(lx.cdist(x, y, metric="cosine"), 1 - a @ b.T / np.outer(*lengths), 1e-12)
    x = lx.asarray([[1.0, 2.0]])
    same(
        lx.grad(lambda x: lx.sum(lx.cdist(x, lx.asarray([[1.0, 2.0], [4.0, 6.0]]))))(x),
        np.float32([[-0.6, -0.8]]),
        1e-6,
    )
    raises(ValueError, lambda: lx.cdist(x, x[:, :1]), "rows of one length")
    raises(ValueError, lambda: lx.cdist(x, x, "far"), "'far'", "euclidean")


# Functions of scipy.special, by integrals and by Python's functions.
SPECIAL = {
    "gamma": (math.gamma, [0.5, 1.0, 3.3, -0.5, -1.5, 10.0]),
    "factorial": (lambda n: math.gamma(n + 1), [0.0, 1.0, 4.0, 2.5]),
}


def by_midpoints(function, low, high, count=20001):
    """Returns an integral."""
    places = low + (high - low) * (np.arange(count) + 0.5) / count
    return np.mean(function(places)) * (high - low)


def test_special_functions_are_their_integrals():
    for device in DEVICES:
        for name, (function, values) in SPECIAL.items():
            found = getattr(lx.special, name)(on(np.array(values), device))
            same(found, np.array([function(value) for value in values]), 1e-12)
        at = np.array([0.3, 1.0, 2.7])
        x = on(at, device)
        cosines = lambda order, x: by_midpoints(lambda t: np.exp(x * np.cos(t)) * np.cos(order * t), 0, np.pi) / np.pi
        waves = lambda order, x: by_midpoints(lambda t: np.cos(order * t - x * np.sin(t)), 0, np.pi) / np.pi
        for order in (0, 1):
            same(getattr(lx.special, f"i{order}")(x), np.array([cosines(order, v) for v in at]), 1e-8)
            same(getattr(lx.special, f"i{order}e")(x), np.array([cosines(order, v) * np.exp(-v) for v in at]), 1e-8)
            same(getattr(lx.special, f"j{order}")(x), np.array([waves(order, v) for v in at]), 1e-8)
            decay = lambda t, v, order=order: np.exp(-v * np.cosh(t)) * np.cosh(order * t)
            wanted = np.array([by_midpoints(lambda t, v=v: decay(t, v), 0, 8) for v in at])
            same(getattr(lx.special, f"k{order}")(x), wanted, 1e-8)
        # The Wronskian of both kinds.
        j0, j1, y0, y1 = (getattr(lx.special, name)(x) for name in ("j0", "j1", "y0", "y1"))
        same(j1 * y0 - j0 * y1, 2 / (np.pi * at), 1e-10)
        lower = [by_midpoints(lambda t, a=a: t**a * np.exp(-t), 0, a, 2000001) / math.gamma(a + 1) for a in at]
        same(lx.special.gammainc(x + 1, x), np.array(lower), 1e-8)
        same(lx.special.gammainc(x + 1, x) + lx.special.gammaincc(x + 1, x), np.ones(3), 1e-12)
        same(lx.special.beta(x, 2.0), 1 / (at * (at + 1)), 1e-12)
        same(lx.special.zeta(on(np.array([2.0, 4.0]), device), 1.0), np.array([np.pi**2 / 6, np.pi**4 / 90]), 1e-12)
        same(lx.special.polygamma(1, on(np.array([1.0, 0.5]), device)), np.array([np.pi**2 / 6, np.pi**2 / 2]), 1e-12)
        multi = [math.log(math.pi) / 2 + math.lgamma(v + 1) + math.lgamma(v + 0.5) for v in at]
        same(lx.special.multigammaln(x + 1, 2), np.array(multi), 1e-12)
        p, q = np.array([0.0, 0.5, 1.0, 0.0, -1.0]), np.array([1.0, 0.25, 0.0, 0.0, 1.0])
        wanted = np.array([0, 0.5 * np.log(2), np.inf, 0, np.inf])
        same(lx.special.rel_entr(on(p, device), on(q, device)), wanted, 1e-12)
        same(lx.special.kl_div(on(p, device), on(q, device)), wanted - p + q, 1e-12)
        same(lx.special.softmax(x), np.exp(at) / np.exp(at).sum(), 1e-12)
        assert np.isnan(np.asarray(lx.special.gamma(on(np.array([-1.0, -2.0]), device)))).all()
        assert np.asarray(lx.special.gamma(on(np.array([0.0, -0.0]), device))).tolist() == [math.inf, -math.inf]


# For each distribution: arguments after the key, its mean and its variance.
MOMENTS = {
    "logistic": ((), 0, math.pi**2 / 3),
    "lognormal": ((0.5,), math.exp(0.125), (math.exp(0.25) - 1) * math.exp(0.25)),
    "rayleigh": ((2.0,), 2 * math.sqrt(math.pi / 2), (2 - math.pi / 2) * 4),
    "weibull_min": (
        (2.0, 1.5),
        2 * math.gamma(1 + 1 / 1.5),
        4 * (math.gamma(1 + 2 / 1.5) - math.gamma(1 + 1 / 1.5) ** 2),
    ),
    "pareto": ((5.0,), 5 / 4, 5 / (16 * 3)),
    "geometric": ((0.25,), 4, 0.75 / 0.0625),
    "chisquare": ((3.0,), 3, 6),
    "t": ((9.0,), 0, 9 / 7),
}


def test_distributions_have_their_moments():
    count, key = 40000, lx.random.key(11)
    drawn = {name: getattr(lx.random, name)(key, *of, shape=count) for name, (of, _, _) in MOMENTS.items()}
    drawn["cauchy"], drawn["rademacher"] = lx.random.cauchy(key, count), lx.random.rademacher(key, count)
    drawn["dirichlet"] = lx.random.dirichlet(key, lx.asarray([0.3, 2.0, 1.0]), count)
    mean, cov = np.float32([1.0, -1.0]), np.float32([[2.0, 0.6], [0.6, 1.0]])
    for method in ("cholesky", "eigh"):
        normal = lx.random.multivariate_normal(key, lx.asarray(mean), lx.asarray(cov), count, method=method)
        drawn[method] = normal
    found = lx.device_get(drawn)
    for name, (_, middle, variance) in MOMENTS.items():
        x = found[name].astype("float64")
        assert abs(x.mean() - middle) < 6 * math.sqrt(variance / count), (name, x.mean(), middle)
        assert abs(x.var() / variance - 1) < 0.2, (name, x.var(), variance)
    assert abs(np.mean(np.abs(found["cauchy"]) < 1) - 0.5) < 0.02
    assert {*found["rademacher"].tolist()} == {-1, 1} and abs(found["rademacher"].mean()) < 0.03
    same(found["dirichlet"].sum(1), np.ones(count, "float32"), 1e-5)
    np.testing.assert_allclose(found["dirichlet"].mean(0), np.array([0.3, 2, 1]) / 3.3, atol=0.01)
    for method in ("cholesky", "eigh"):
        np.testing.assert_allclose(found[method].mean(0), mean, atol=0.05)
        np.testing.assert_allclose(np.cov(found[method].T), cov, atol=0.08)


def test_distributions_are_equal_on_all_devices():
    ours = lx.random.key(12)
    host = ours.to_device("cpu")
    for name, (of, _, _) in MOMENTS.items():
        for shape in ((), 0, (7, 2)):
            draw = getattr(lx.random, name)
            same(draw(host, *of, shape=shape), np.asarray(draw(ours, *of, shape=shape)), 2e-5)
    for name in ("cauchy", "logistic", "rademacher"):
        same(getattr(lx.random, name)(host, 7), np.asarray(getattr(lx.random, name)(ours, 7)), 2e-5)
    alpha = np.float64([1e-4, 0.5, 3.0])
    shares = [lx.random.dirichlet(key, on(alpha, key.device), 20) for key in (host, ours)]
    same(shares[0], np.asarray(shares[1]), 1e-9)
    assert np.isfinite(np.asarray(shares[0])).all()
    same(lx.random.randint(host, (9,), -2, 3), np.asarray(lx.random.randint(ours, 9, -2, 3)))
    same(lx.random.PRNGKey(3), np.asarray(lx.random.key(3)))
    raises(ValueError, lambda: lx.random.rayleigh(ours, lx.ones(3), (2,)), "(3,)", "(2,)")
    raises(TypeError, lambda: lx.random.t(ours, "a"), "df", "str")
    flat = lx.zeros(2)
    raises(ValueError, lambda: lx.random.multivariate_normal(ours, flat, lx.eye(3)), "(2,)", "(3, 3)")
    raises(ValueError, lambda: lx.random.multivariate_normal(ours, flat, lx.eye(2), method="qr"), "'qr'")


def test_errors_of_functions_of_numpy_name_what_is_wrong():
    x, k = lx.asarray([1.0, 2.0, 3.0]), lx.asarray([0, 1])
    calls = [
        (ValueError, lambda: lx.partition(x, 3), "partition()", "kth is 3", "size 3"),
        (ValueError, lambda: lx.ravel_multi_index((k, k + 5), (2, 3)), "out of range for size 3"),
        (TypeError, lambda: lx.unravel_index(x, (3,)), "integers", "float32"),
        (ValueError, lambda: lx.unravel_index(k, (0, 2)), "no elements"),
        (ValueError, lambda: lx.triu_indices_from(x), "matrix", "rank 1"),
        (ValueError, lambda: lx.diag_indices_from(lx.zeros((2, 3))), "(2, 3)"),
        (TypeError, lambda: lx.gcd(x, 2), "gcd()", "float32"),
        (TypeError, lambda: lx.bitwise_count(x), "float32"),
        (ValueError, lambda: lx.convolve(x, x, "half"), "'half'"),
        (ValueError, lambda: lx.convolve(x, x[:0]), "convolve()", "(0,)"),
        (ValueError, lambda: lx.gradient(x, edge_order=3), "edge_order", "3"),
        (TypeError, lambda: lx.gradient(x, 1.0, 2.0), "2 distances for 1 axes"),
        (ValueError, lambda: lx.gradient(x[:1]), "1 elements", "at least 2"),
        (ValueError, lambda: lx.polyfit(x, x[:2], 1), "(3,)", "(2,)"),
        (ValueError, lambda: lx.polyfit(x, x, -1), "deg"),
        (ValueError, lambda: lx.vectorize(lambda x: x, signature="n->n")(x), "'n->n'"),
        (TypeError, lambda: lx.vectorize(lambda x: x, signature="(n),(n)->()")(x), "1 arguments"),
        (ValueError, lambda: lx.vectorize(lambda x, y: x @ y, signature="(n),(n)->()")(x, x[:2]), "axis n", "2", "3"),
        (ValueError, lambda: lx.select([], []), "0 conditions"),
        (TypeError, lambda: lx.select([k], [x]), "bools", "int64"),
        (ValueError, lambda: lx.piecewise(x, [x > 1], []), "0 functions for 1 conditions"),
        (ValueError, lambda: lx.resize(x, (-1, 2)), "(-1, 2)"),
        (TypeError, lambda: lx.r_["0,2", x], "r_", "'0,2'"),
        (ValueError, lambda: lx.mgrid[:3:, 1:], "has an end"),
        (ValueError, lambda: lx.linalg.multi_dot([lx.zeros((2, 3)), lx.zeros((2, 3))]), "(2, 3) and (2, 3)"),
        (ValueError, lambda: lx.nanquantile(x, 0.5, method="best"), "'best'"),
        (ValueError, lambda: lx.histogram2d(x, x[:2]), "3 and 2"),
        (ValueError, lambda: lx.max(x, where=x > 1), "where", "initial"),
        (TypeError, lambda: lx.sum(x, where=x), "where", "bools", "float32"),
        (ValueError, lambda: lx.argsort(x, kind="bubble"), "'bubble'"),
        (ValueError, lambda: lx.where(x > 1, x), "both"),
        (ValueError, lambda: lx.clip(x, 0, 1, a_max=2), "a_max"),
        (ValueError, lambda: lx.expand_dims(x, (0, 0)), "twice"),
        (ValueError, lambda: lx.reshape(x, (3, 1), order="K"), "'K'"),
        (TypeError, lambda: lx.pad(x, 1, constant_values=(1, 2, 3)), "constant_values", "(1, 2, 3)"),
        (ValueError, lambda: lx.linalg.lstsq(lx.eye(2), x[:2], 0.1, rtol=0.1), "rcond and rtol"),
        (TypeError, lambda: lx.choose(x, [1, 2]), "choose()", "float32"),
    ]
    for kind, call, *parts in calls:
        raises(kind, call, *parts)


def test_new_functions_are_traced_and_differentiated():
    a = random(12, (7,), "float64")
    for device in DEVICES:
        x, places = on(a, device), on(np.arange(7.0), device)
        same(lx.jit(lambda x: lx.gradient(x))(x), np.gradient(a), 1e-12)
        same(lx.jit(lambda x: lx.convolve(x, x[:3], "same"))(x), np.convolve(a, a[:3], "same"), 1e-12)
        same(lx.vmap(lambda x: lx.nanmedian(x))(x[None]), np.median(a)[None], 1e-12)
        same(lx.jit(lambda x: lx.unravel_index(lx.argmax(x), (7, 1))[0])(x), np.argmax(a))
        same(lx.grad(lambda x: lx.sum(lx.convolve(x, x)))(x), np.full(7, 2 * a.sum()), 1e-12)
        same(lx.grad(lx.grad(lx.sinc))(on(np.float64(0), device)), np.array(-(np.pi**2) / 3), 1e-12)
        same(lx.grad(lambda x: lx.sum(lx.nanquantile(x, 0.5)))(x), (a == np.median(a)) * 1.0, 1e-12)
        same(lx.grad(lambda x: lx.polyfit(places, x, 1)[0])(x), (np.arange(7) - 3) / 28, 1e-12)
        same(lx.grad(lambda x: lx.max(x, initial=0.0, where=x < 1))(x), (a == np.max(a[a < 1])) * 1.0, 1e-12)
        same(lx.grad(lambda x: lx.mean(x, where=x > 0))(x), (a > 0) / np.sum(a > 0), 1e-12)
        raises(RuntimeError, lambda: lx.jit(lambda x: lx.unique(x))(x))


def test_numpys_documentation_has_these_values():
    """What its examples have, beside the values of the other tests."""
    near = lambda found, wanted: np.testing.assert_allclose(np.asarray(found), wanted, rtol=2e-6)
    a = np.array([[0, 1], [2, 3], [4, 5]])
    z = np.array([1 + 2j, 3 + 4j])
    mask = np.array([[True], [False], [True]])
    for device in DEVICES:
        x = on(a, device)
        for obj, values, axis in (
            (1, [[7], [8], [9]], 1),
            (1, [7, 8, 9], 1),
            ([1], [[7], [8], [9]], 1),
            (1, [7, 8], 0),
            (1, [[7, 8], [5, 6]], 0),
            (2, [7, 8], None),
            (1, 9, 1),
        ):
            same(lx.insert(x, obj, values, axis), np.insert(a, obj, values, axis))
        for axis in (None, 0, 1):
            for name in ("var", "std"):
                wanted = getattr(np, name)(a, axis, where=mask, ddof=1) if axis != 1 else getattr(np, name)(a, axis)
                found = getattr(lx, name)(x, axis, where=mask, ddof=1) if axis != 1 else getattr(lx, name)(x, axis)
                near(found, wanted)
        near(on(a * 1.5, device).std(0, where=mask), (a * 1.5).std(0, where=mask))
        near(lx.var(on(a * 1j + 1, device), where=mask), np.var(a * 1j + 1, where=mask))
        assert np.isnan(np.asarray(lx.var(on(a * 1.0, device), where=np.zeros((3, 1), bool)))).all()
        c, w = on(z, device), z.copy()
        c.real, w.real = 9, 9
        same(c, w)
        c.imag, w.imag = on(np.array([8.0, 7.0]), device), np.array([8, 7])
        same(c, w)
        same(x[0].T, a[0])
        same(x[0, 0].T, a[0, 0].T)
        raises(ValueError, lambda x=x: x[None].T, ".mT", "permute_dims")
        counts, edges = lx.histogram(on(a.ravel(), device), bins="auto")
        same(counts, np.histogram(a, bins="auto")[0])
        near(edges, np.histogram(a, bins="auto")[1])
    assert lx.iscomplexobj([3, 1 + 0j]) and not lx.iscomplexobj([3, 1.0]) and lx.iscomplexobj(z)
    assert lx.right_shift(10, 1).item() == 5
    raises(ValueError, lambda: lx.load("weights.npy"), "numpy.load")
    raises(TypeError, lambda: setattr(x, "imag", 1), "int64", "imaginary")
    try:
        c[:1].real = 1
    except RuntimeError as error:
        assert "real changes a temporary array" in str(error), error
    else:
        assert not _parts._is_told()


def test_keys_of_different_lengths_do_not_sort():
    x = lx.arange(3, device="cpu")
    raises(ValueError, lambda: lx.lexsort([x, x[:2]]), "[3]", "[2]")


def test_shares_of_tiny_parameters_are_0_or_1():
    for dtype, sizes in (
        (lx.float16, (1e-10, 1e-7, 1e-3)),
        (lx.float32, (0.0, 1e-45, 1e-38, 1e-7)),
        (lx.float64, (1e-300,)),
    ):
        for device in DEVICES:
            for size in sizes:
                with lx.use_device(device):
                    alpha = lx.full((3,), size, dtype=dtype)
                    shares = np.asarray(lx.random.dirichlet(lx.random.key(1), alpha, (300,))).astype(np.float64)
                assert np.allclose(shares.sum(1), 1, atol=2e-3), (dtype, size, device)
                assert (shares.max(1) > 0.9).mean() > 0.95
                # Each of the three has its part of the rows.
                assert all(60 < count < 140 for count in (shares > 0.9).sum(0)), (dtype, size, device)
    with lx.use_device("cpu"):
        shares = np.asarray(lx.random.dirichlet(lx.random.key(1), lx.asarray([1e-45, 3e-39, 0.0]), (300,)))
        assert (shares[:, 1] == 1).all()
        shares = np.asarray(lx.random.dirichlet(lx.random.key(1), lx.asarray([2.0, 0.5, 3.0]), (2000,)))
        assert np.allclose(shares.mean(0), np.array([2.0, 0.5, 3.0]) / 5.5, atol=0.02)
    for shape, wanted in (((0,), (2, 0)), ((3,), (0, 3))):
        assert lx.random.dirichlet(lx.random.key(0), lx.ones(shape), wanted[:1]).shape == wanted
