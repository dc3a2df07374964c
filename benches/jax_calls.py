"""Calls of a jitted training step of two layers, beside JAX: PYTHONPATH=build/cmake/python $JAX benches/jax_calls.py

1,000 calls in each round, whose losses are read after the loop, in every call, or in every tenth; the best of several
rounds, in which the two libraries take turns. Needs jax and lazyxla in PYTHONPATH."""

import time

import jax
import jax.numpy as jnp
import numpy as np

import lazyxla as lx

CALLS, ROUNDS = 1000, 15
SHAPES = {"w1": (8, 16), "b1": (16,), "w2": (16, 1), "b2": (1,)}


def loop_of(np_, jit, value_and_grad, tree_map):
    """Returns a function that runs a number of calls, and reads the loss of each n-th one, or all at the end."""
    random = np.random.default_rng(0)
    asarray = lambda shape: np_.asarray(random.standard_normal(shape).astype("float32"))
    params = {name: asarray(shape) for name, shape in SHAPES.items()}
    x, y = asarray((32, 8)), asarray((32, 1))

    def loss_of(params, x, y):
        hidden = np_.tanh(x @ params["w1"] + params["b1"])
        return np_.mean((hidden @ params["w2"] + params["b2"] - y) ** 2)

    @jit
    def step(params, x, y):
        loss, grads = value_and_grad(loss_of)(params, x, y)
        return tree_map(lambda p, g: p - 0.1 * g, params, grads), loss

    def run(calls, every):
        nonlocal params
        losses = []
        for i in range(calls):
            params, loss = step(params, x, y)
            losses.append(float(loss) if every and i % every == 0 else loss)
        return [float(each) for each in losses]

    return run


def seconds(run, every):
    start = time.perf_counter()
    run(CALLS, every)
    return time.perf_counter() - start


def main():
    ours = loop_of(lx, lx.jit, lx.value_and_grad, lx.tree_map)
    theirs = loop_of(jnp, jax.jit, jax.value_and_grad, jax.tree.map)
    for name, every in (("at the end", 0), ("in every call", 1), ("in every tenth", 10)):
        assert np.allclose(ours(100, every), theirs(100, every), rtol=1e-4)
        best = [min(times) for times in zip(*((seconds(ours, every), seconds(theirs, every)) for _ in range(ROUNDS)))]
        mine, jaxs = (1e6 * each / CALLS for each in best)
        print(f"read {name:<16}{mine:8.1f} us a call, JAX {jaxs:8.1f} us: {mine / jaxs:.2f}")


if __name__ == "__main__":
    main()
