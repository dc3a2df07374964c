"""Transformed functions that are not jitted, with numbers of Python that change in each iteration: few programs, and the
values of the formulas."""

import numpy as np
from common import on, same

import lazyxla as lx


def compiles_few(iteration, most=4, iterations=30):
    """Calls ``iteration`` with 0, 1, ... and asserts that this compiles few programs, and none in the later half."""
    before = lx.counter("UncachedCompile")
    for i in range(iterations):
        if i == iterations // 2:
            half = lx.counter("UncachedCompile")
        iteration(i)
    assert lx.counter("UncachedCompile") - before <= most
    assert lx.counter("UncachedCompile") == half


def test_numbers_of_a_closure():
    x, many = np.float32(1.5), np.linspace(-1, 1, 7, dtype=np.float32)

    def gradient(i):
        same(lx.grad(lambda x: x * x * (0.5 + i))(on(x, "xla")), np.float32(2 * x * (0.5 + i)))

    def both(i):
        value, slope = lx.value_and_grad(lambda x: lx.sin(x) * (1 + 0.1 * i) + i)(on(x, "xla"))
        same(value, np.sin(x) * np.float32(1 + 0.1 * i) + i, 1e-6)
        same(slope, np.cos(x) * np.float32(1 + 0.1 * i), 1e-6)

    def mapped(i):
        same(lx.vmap(lambda x: x * (2 + i) - i)(on(many, "xla")), many * (2 + i) - i, 1e-6)

    def forward(i):
        value, slope = lx.jvp(lambda x: x**2 / (i + 1), (on(x, "xla"),), (on(np.float32(1), "xla"),))
        same(value, np.float32(x * x / (i + 1)), 1e-6)
        same(slope, np.float32(2 * x / (i + 1)), 1e-6)

    def twice(i):
        second = lx.grad(lx.grad(lambda x: x**3 * (1 + i)))
        same(second(on(x, "xla")), np.float32(6 * x * (1 + i)), 1e-6)

    def each(i):
        slopes = lx.vmap(lx.grad(lambda x: lx.exp(x) * (1 + 0.5 * i)))(on(many, "xla"))
        same(slopes, np.exp(many) * np.float32(1 + 0.5 * i), 1e-6)

    def made_anew(i):
        same(lx.jit(lambda x: x * (3 + i))(on(many, "xla")), many * (3 + i), 1e-6)

    for iteration in (gradient, both, mapped, forward, twice, each, made_anew):
        compiles_few(iteration, most=6)


def test_numbers_that_are_arguments():
    x = np.linspace(-1, 1, 20, dtype=np.float32).reshape(10, 2)

    def loss(params, x, weight):
        return lx.mean((x @ params["w"] - 1) ** 2) + weight * lx.sum(params["w"] ** 2)

    params, w = {"w": on(np.ones(2, np.float32), "xla")}, np.ones(2)

    def step(i):
        nonlocal params, w
        grads = lx.grad(loss)(params, on(x, "xla"), 0.001 * i)
        params = {"w": params["w"] - 0.1 / (1 + i) * grads["w"]}
        w = w - 0.1 / (1 + i) * (2 / len(x) * x.T @ (x @ w - 1) + 2 * 0.001 * i * w)
        same(params["w"], w.astype(np.float32), 1e-5)

    compiles_few(step, most=6)


def test_a_rate_that_stays_for_some_iterations():
    x = np.float32([1, 2])

    def step(i):
        rate = 0.1 * 0.5 ** (i // 5)
        same(lx.grad(lambda x: lx.sum(x * x) * rate)(on(x, "xla")), 2 * x * np.float32(rate), 1e-6)

    compiles_few(step, most=4, iterations=80)


def test_a_jitted_function_stays_one_operation():
    """Functions that differ in a number only are called as before, whatever the program of the other one was."""
    x = np.float32([1, 2])
    for scale in (2.0, 3.0, 4.0):
        lx.grad(lambda x: lx.sum(x) * scale)(on(x, "xla")).tolist()  # noqa: B023
    double, triple = lx.jit(lambda x: x * 2), lx.jit(lambda x: x * 3)

    def alternate(i):
        same(double(on(x, "xla")), 2 * x)
        same(triple(on(x, "xla")), 3 * x)

    compiles_few(alternate, most=2)
