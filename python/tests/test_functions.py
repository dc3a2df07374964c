"""Functions beyond the array API standard: pad, split, fold_in, Jacobians, statistics of complex numbers; against
NumPy, formulas, and numbers of JAX."""

import numpy as np
from common import DEVICES, on, raises, random, same

import lazyxla as lx


def test_arrays_are_padded_as_in_numpy():
    a = random(1, (3, 4), "float64")
    for device in DEVICES:
        x = on(a, device)
        for width in (2, (1, 2), ((1, 0), (0, 3)), [(2,), (1,)], [[5, 7], [0, 0]], 0):
            pairs = [tuple(pair) * (3 - len(pair)) for pair in width] if isinstance(width, list) else width
            same(lx.pad(x, width), np.pad(a, pairs))
            same(lx.pad(x, width, value=1.5), np.pad(a, pairs, constant_values=1.5))
            if device == "cpu" or width == (1, 2):
                for mode in ("edge", "reflect", "symmetric", "wrap"):
                    same(lx.pad(x, width, mode=mode), np.pad(a, pairs, mode=mode))
        same(lx.pad(on(np.int8([1]), device), 1, value=-3), np.int8([-3, 1, -3]))
        same(lx.pad(on(np.array([True]), device), 1), np.array([False, True, False]))
        same(lx.pad(x[:1], ((2, 2), (0, 0)), mode="reflect"), np.pad(a[:1], ((2, 2), (0, 0)), mode="reflect"))
        same(lx.grad(lambda x: lx.sum(lx.pad(x, 1, mode="edge")))(x)[1, 1:3], np.ones(2))
        raises(ValueError, lambda: lx.pad(x, -1), "width", "-1")
        raises(ValueError, lambda: lx.pad(x, ((1, 1),) * 3), "width")
        raises(ValueError, lambda: lx.pad(x, 1, mode="full"), "mode", "'full'")
        raises(OverflowError, lambda: lx.pad(on(np.int8([1]), device), 1, value=300), "300")
        raises(ValueError, lambda: lx.pad(on(np.int8([1]), device), 1, value=0.5), "0.5", "int8")


def test_arrays_are_split_as_in_numpy():
    a = random(2, (4, 6), "float64")
    for device in DEVICES:
        x = on(a, device)
        cases = [(2, 0), (3, 1), (1, -1), ([1, 3], 1), ([], 0), ([2, 2], 0), ([-2], 1), ([1, 99], 1), ([5, 2], 1)]
        for parts, axis in cases:
            found, wanted = lx.split(x, parts, axis=axis), np.split(a, parts, axis=axis)
            assert len(found) == len(wanted)
            for one, other in zip(found, wanted):
                same(one, other)
        raises(ValueError, lambda: lx.split(x, 3), "4", "3")
        raises(ValueError, lambda: lx.split(x, 0), "0")
        raises(lx.AxisError, lambda: lx.split(x, 2, axis=2), "2")
        raises(TypeError, lambda: lx.split(x, 1.5), "float")


def test_numbers_are_folded_into_keys_as_in_jax():
    # jax.random.fold_in(jax.random.key(seed), data) of JAX 0.10.2
    numbers = {(0, 0): (1797259609, 2579123966), (42, 7): (2547012911, 1371500959)}
    numbers[1, 2**32 - 1] = (1173147676, 4026309821)
    for device in DEVICES:
        for (seed, data), wanted in numbers.items():
            key = lx.random.key(seed, device=device)
            same(lx.random.fold_in(key, data), np.uint32(wanted))
            same(lx.random.fold_in(key, on(np.array(data), device)), np.uint32(wanted))
        key = lx.random.key(5, device=device)
        keys = np.asarray(lx.random.split(key, 6))
        same(lx.vmap(lambda i: lx.random.fold_in(key, i))(lx.arange(6, device=device)), keys)
        same(lx.jit(lx.random.fold_in)(key, on(np.array(3), device)), keys[3])
        raises(OverflowError, lambda: lx.random.fold_in(key, -1), "-1")
        raises(TypeError, lambda: lx.random.fold_in(key, 1.5), "data", "float")
        raises(TypeError, lambda: lx.random.fold_in(on(np.float32([1, 2]), device), 1), "key", "float32[2]")
        raises(ValueError, lambda: lx.random.fold_in(keys_of(3, device), 1), "key", "uint32[3]")


def keys_of(size, device):
    return on(np.ones(size, "uint32"), device)


def test_jacobians_and_hessians_are_those_of_formulas():
    a, m = random(3, (3,), "float64"), random(4, (2, 3), "float64")
    for device in DEVICES:
        x, w = on(a, device), on(m, device)
        for of in (lx.jacrev, lx.jacfwd, lx.jacobian):
            same(of(lambda x: w @ lx.sin(x))(x), m * np.cos(a), 1e-12)
            same(of(lx.jit(lambda x: w @ lx.sin(x)))(x), m * np.cos(a), 1e-12)
            by_both = of(lambda w, x: w @ x, (0, 1))(w, x)
            same(by_both[0], np.einsum("ik,j->ikj", np.eye(2), a), 1e-12)
            same(by_both[1], m, 1e-12)
            tree = of(lambda p: {"sum": lx.sum(p["w"]) * p["x"], "one": p["x"][0]})({"w": w, "x": x})
            same(tree["sum"]["w"], np.broadcast_to(a[:, None, None], (3, 2, 3)), 1e-12)
            same(tree["sum"]["x"], m.sum() * np.eye(3), 1e-12)
            same(tree["one"]["x"], np.eye(3)[0], 1e-12)
            same(tree["one"]["w"], np.zeros((2, 3)))
            assert abs(of(lambda x: x**3)(2.0).item() - 12) < 1e-5
            raises(TypeError, lambda: of(lambda x: x)(on(np.complex64([1]), device)), "complex64")
            raises(TypeError, lambda: of(3), "fun")
        cubes = lx.hessian(lambda x: lx.sum(x**3) + x[0] * x[1])(x)
        same(cubes, np.diag(6 * a) + np.eye(3)[[1, 0, 2]] * [[1], [1], [0]], 1e-12)
        mixed = lx.hessian(lambda w, x: lx.sum(w @ x), (0, 1))(w, x)
        same(mixed[0][1], np.broadcast_to(np.eye(3), (2, 3, 3)), 1e-12)
        same(mixed[1][1], np.zeros((3, 3)), 1e-12)
    same(lx.vmap(lambda: lx.asarray(1.0), axis_size=3)(), np.ones(3, "float32"))
    raises(ValueError, lambda: lx.vmap(lambda: lx.asarray(1.0))(), "axis_size")


def test_statistics_of_complex_numbers_are_those_of_absolute_values():
    a = random(5, (3, 4), "complex128")
    for device in DEVICES:
        x = on(a, device)
        for options in ({}, {"axis": 1}, {"axis": (0, 1), "keepdims": True}, {"axis": 0, "correction": 1}):
            numpys = {("ddof" if name == "correction" else name): value for name, value in options.items()}
            same(lx.var(x, **options), np.var(a, **numpys), 1e-12)
            same(lx.std(x, **options), np.std(a, **numpys), 1e-12)
        assert lx.var(x.astype(lx.complex64)).dtype == lx.float32


def test_jacobians_by_one_argument_twice_are_equal():
    y, x = lx.asarray([1.0, 2.0], device="cpu"), lx.asarray([3.0, 4.0], device="cpu")
    fun = lambda y, x: lx.sum(y**3 * x**2)
    by_y, by_x = np.float32([27, 192]), np.float32([6, 64])
    for of in (lx.grad, lx.jacrev, lx.jacfwd):
        for argnums in ((0, 0), (0, -2), (1, 0, 1)):
            found = of(fun, argnums)(y, x)
            assert isinstance(found, tuple) and len(found) == len(argnums)
            for each, number in zip(found, argnums):
                same(each, (by_y, by_x)[number % 2], 1e-6)
    second = lx.hessian(fun, (0, 1, 0))(y, x)
    wanted = {(0, 0): [54, 192], (0, 1): [18, 96], (1, 0): [18, 96], (1, 1): [2, 16]}
    for i, row in zip((0, 1, 0), second, strict=True):
        for j, found in zip((0, 1, 0), row, strict=True):
            same(found, np.diag(np.float32(wanted[i, j])), 1e-5)


def test_errors_of_jacobians_name_the_function():
    y = lx.asarray([1.0, 2.0], device="cpu")
    for name in ("jacrev", "jacfwd", "hessian"):
        of = getattr(lx, name)
        raises(TypeError, lambda: of(3), f"{name}()", "fun", "int")
        raises(TypeError, lambda: of(lambda x: x)(lx.asarray([1])), f"{name}()", "int64")
        raises(TypeError, lambda: of(lambda x: x * 1j)(y), f"{name}()", "the result", "complex64")
        raises(ValueError, lambda: of(lambda x: x, 1)(y), f"{name}()", "argnums 1", "1 positional")
        raises(ValueError, lambda: of(lambda x: x, -2)(y), f"{name}()", "argnums -2")
        raises(ValueError, lambda: of(lambda x: y)({}), f"{name}()", "argument")
        raises(ValueError, lambda: of(lambda x: x, ())(y), f"{name}()", "argnums is empty")
    raises(ValueError, lambda: lx.grad(lambda x: x, -2)(y), "grad()", "argnums -2")
