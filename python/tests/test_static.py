"""Static arguments of jitted functions, and numbers that derivatives refuse, on both devices."""

import functools
from dataclasses import dataclass

import numpy as np
from common import DEVICES, on, raises, random, same

import lazyxla as lx


@dataclass(frozen=True)
class Config:
    """Equal configurations are one constant."""

    width: int
    name: str = "plain"


def test_static_arguments_are_compared_by_their_values():
    a = random(1, (7,))
    for device in DEVICES:
        x = on(a, device)

        @lx.jit(static_argnums=1, static_argnames="config")
        def f(x, shape, *, config=None):
            assert type(shape) is tuple and all(type(n) is int for n in shape)
            return lx.broadcast_to(x, shape) * (1 if config is None else config.width)

        for _ in range(3):
            same(f(x, (2, 7)), np.broadcast_to(a, (2, 7)))
        assert f.traces == 1
        same(f(x, (3, 7)), np.broadcast_to(a, (3, 7)))
        same(f(x, shape=(3, 7)), np.broadcast_to(a, (3, 7)))
        assert f.traces == 3, "by name it is another structure"
        for _ in range(2):
            same(f(x, (1, 7), config=Config(2)), 2 * a[None])
        assert f.traces == 4, "the configurations are two objects that are equal"
        same(f(x, (1, 7), config=Config(3)), 3 * a[None])
        assert f.traces == 5


def test_static_names_and_positions_are_one_argument():
    def power(x, n, m=1):
        assert type(n) is int and type(m) is int
        return x**n * m

    a = random(2, (4,), "float64")
    for device in DEVICES:
        x = on(a, device)
        for f in (
            lx.jit(power, static_argnums=(1, -1)),
            lx.jit(power, static_argnames=("n", "m")),
            functools.partial(lx.jit, static_argnums=[1, 2])(power),
            lx.jit(static_argnames=["n", "m"])(power),
        ):
            same(f(x, 2, 3), a**2 * 3, 1e-12)
            same(f(x, n=2, m=3), a**2 * 3, 1e-12)
            same(f(x, 3), a**3, 1e-12)
            assert f.traces == 3
        # Numbers that are equal have types and signs of their own.
        kinds = lx.jit(lambda x, k: (x * 0 + lx.copysign(lx.ones_like(x), k), isinstance(k, bool)), static_argnums=1)
        assert [np.asarray(kinds(x, k)[0])[0] for k in (0.0, -0.0)] == [1.0, -1.0]
        tuples = lx.jit(lambda x, k: x * k[0] if type(k[0]) is int else x + k[0], static_argnums=1)
        same(tuples(x, (1,)), a)
        same(tuples(x, (1.0,)), a + 1)


def test_functions_are_static_arguments_and_methods_have_a_static_self():
    a = random(3, (5,))

    class Scaled:
        def __init__(self, by):
            self.by = by

        @functools.partial(lx.jit, static_argnums=0)
        def __call__(self, x):
            return x * self.by

    for device in DEVICES:
        x = on(a, device)
        apply = lx.jit(lambda f, x: f(x), static_argnums=0)
        same(apply(lx.abs, x), np.abs(a))
        same(apply(lx.negative, x), -a)
        same(apply(lx.abs, x), np.abs(a))
        assert apply.traces == 2
        scaled = Scaled(2.0)
        same(scaled(x), a * 2)
        same(Scaled(3.0)(x), a * 3)
        scaled.by = 5.0
        same(scaled(x), a * 5)


def test_transformations_keep_static_arguments():
    a = random(4, (3, 4), "float64")
    for device in DEVICES:
        x = on(a, device)
        f = lx.jit(lambda x, n, config: lx.sum(x**n) * config.width, static_argnums=(1, 2))
        slope = lx.grad(f)
        same(slope(x, 3, Config(2)), 6 * a**2, 1e-12)
        same(slope(x, 3, Config(2)), 6 * a**2, 1e-12)
        assert slope.traces == 1
        value, found = lx.value_and_grad(f)(x, 2, Config(1))
        same(value, np.sum(a**2), 1e-12)
        same(found, 2 * a, 1e-12)
        rows = lx.vmap(f, in_axes=(0, None, None))
        same(rows(x, 2, Config(3)), 3 * np.sum(a**2, 1), 1e-12)
        same(lx.hessian(f)(x[0], 2, Config(1)), 2 * np.eye(4), 1e-12)
        inner = lx.jit(lambda x: f(x, 2, Config(4)))
        same(inner(x), 4 * np.sum(a**2), 1e-12)
        same(lx.grad(lx.checkpoint(f))(x, 2, Config(1)), 2 * a, 1e-12)
        raises(TypeError, lambda: lx.grad(f, argnums=1)(x, 2, Config(1)), "not int", "argument 1", "2.0")
        compiled = lx.compile(f, x, 2, Config(1))
        same(compiled(x, 2, Config(1)), np.sum(a**2), 1e-12)


def test_static_arguments_that_cannot_be_are_named():
    x = lx.ones(3)

    def f(x, sizes, k=1):
        return x * len(sizes) * k

    jitted = lx.jit(f, static_argnums=1, static_argnames="k")
    same(jitted(x, (1, 2), k=2), np.full(3, 4, "float32"))
    raises(TypeError, lambda: jitted(x, [1, 2]), "'sizes'", "f is static", "a list", "no hash")
    raises(TypeError, lambda: jitted(x, ([1], 2)), "'sizes'", "a tuple", "no hash")
    raises(TypeError, lambda: jitted(x, (1,), k={}), "'k'", "a dict", "no hash")
    raises(TypeError, lambda: jitted(x, x), "'sizes'", "an array of float32[3]", "operand")
    raises(TypeError, lambda: jitted(x, np.ones(2)), "'sizes'", "ndarray", "no hash")
    raises(ValueError, lambda: lx.jit(f, static_argnums=3), "static_argnums: 3 given; f takes 3 positional")
    raises(ValueError, lambda: lx.jit(f, static_argnames="n"), "static_argnames: 'n' given", "x, sizes, k")
    raises(TypeError, lambda: lx.jit(f, static_argnums="k"), "static_argnums")
    raises(TypeError, lambda: lx.jit(f, static_argnames=1), "static_argnames")
    raises(TypeError, lambda: lx.jit(3), "fun is a function")


def test_donated_arguments_keep_their_values_where_they_are_held():
    a = random(5, (8,))
    for device in DEVICES:
        step = lx.jit(lambda state, x: {"w": state["w"] + x}, donate_argnums=0)
        first = state = {"w": on(a, device)}
        for _ in range(3):
            state = step(state, on(a, device))
        same(state["w"], a + a + a + a)
        same(first["w"], a)
    same(lx.jit(lambda w: w + 1, donate_argnames="w")(w=lx.zeros(2)), np.ones(2, "float32"))
    raises(ValueError, lambda: lx.jit(lambda x: x, donate_argnums=2), "donate_argnums: 2 given")
    raises(ValueError, lambda: lx.jit(lambda x, n: x, static_argnums=1, donate_argnums=(0, 1)), "1 is also static")


def test_derivatives_by_integers_name_the_float():
    for device in DEVICES:
        x = on(np.arange(3), device)
        for of in (lx.grad, lx.value_and_grad):
            name = of.__name__
            raises(TypeError, lambda: of(lambda x: x * 2.0)(3), f"{name}()", "not int", "pass a float, 3.0")
            raises(TypeError, lambda: of(lambda x: x * 2.0)(True), "not bool", "1.0")
            raises(TypeError, lambda: of(lx.sum)(x), f"{name}()", "not int64", "x.astype(float)")
            raises(TypeError, lambda: of(lx.jit(lx.sum))(x), "not int64", "x.astype(float)")
            raises(TypeError, lambda: of(lambda y, x: lx.sum(x), argnums=1)(1.0, x), "argument 1", "int64")
            raises(TypeError, lambda: of(lambda t: lx.sum(t["a"]))({"a": x}), "int64", "x.astype(float)")
        same(lx.grad(lambda x: lx.sum(x * x))(x.astype(float)), np.float32([0, 2, 4]))
        assert lx.grad(lambda x: x * x)(float(3)).item() == 6
