"""Loops with a bound against JAX's scan with a mask: values, gradients of first and second order, tangents, batches, on
all devices. Needs jax and numpy, and lazyxla in PYTHONPATH."""

import os
import sys
from pathlib import Path

if sys.version_info < (3, 11):
    print("JAX 0.10.2 needs Python 3.11")
    sys.exit(77)  # ctest counts 77 as skipped
os.environ["JAX_ENABLE_X64"] = "1"
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "c_tests/abi"))
import quick_jax  # noqa: F401 - first: JAX compiles quickly
import jax
import numpy as np
import run  # noqa: F401 - it names the plugin
from common import DEVICES, on

import lazyxla as lx


def masked(cond, body, init, most):
    """JAX's way: all iterations of the bound run, and those after the end are not selected."""

    def step(state, _):
        goes_on = cond(state)
        # What is not selected must not give NaN, as a gradient of it would be NaN, too.
        safe = jax.tree.map(lambda a: jax.numpy.where(goes_on, a, 1), state)
        return jax.tree.map(lambda a, b: jax.numpy.where(goes_on, a, b), body(safe), state), None

    state, _ = jax.lax.scan(step, init, None, length=most)
    return state, jax.numpy.logical_not(cond(state))


def bounded(cond, body, init, most):
    return lx.while_loop(cond, body, init, max_iterations=most)


def programs(library, loop):
    """Functions of an array x of rank 1 and a weight w of rank 1, each with a loop and its bound."""
    sum_of = library.sum if library is lx else jax.numpy.sum
    log, tanh = (library.log, library.tanh) if library is lx else (jax.numpy.log, jax.numpy.tanh)
    for most in (1, 2, 7, 16, 50):

        def halvings(x, w, most=most):
            # The number of iterations depends on the values.
            state, ended = loop(lambda s: sum_of(s * s) > 0.1, lambda s: s * tanh(w) * 0.5, x, most)
            return sum_of(state * w), ended

        def logarithms(x, w, most=most):
            # Beyond the end, the logarithm has no value.
            body = lambda s: (s[0] - 0.5, s[1] + log(sum_of(s[0]) - 1.0) * w)
            (left, total), ended = loop(lambda s: sum_of(s[0]) > 1.0, body, (x, x * 0), most)
            return sum_of(total) + sum_of(left), ended

        yield from (halvings, logarithms)


def results(library, loop, x, w):
    found = []
    stack = library.stack if library is lx else library.numpy.stack
    for f in programs(library, loop):
        value = lambda x, w, f=f: f(x, w)[0]
        gradient = library.grad(value, argnums=(0, 1))
        dot = lambda x, w, gradient=gradient: sum(
            (library.sum if library is lx else library.numpy.sum)(each) for each in gradient(x, w)
        )
        found += [*f(x, w), *gradient(x, w), *library.grad(dot, argnums=(0, 1))(x, w)]
        found += [*library.jvp(value, (x, w), (w, x))]
        batch = stack([x, x * 0.5, x * 3, x * 0])
        found += [library.vmap(value, in_axes=(0, None))(batch, w)]
        found += [*library.vmap(gradient, in_axes=(0, None))(batch, w)]
    return [np.asarray(each) for each in found]


def main():
    x, w = np.array([1.5, 2.0, -0.5, 3.0]), np.array([0.7, 1.2, 0.4, -0.9])
    wanted = results(jax, masked, jax.numpy.asarray(x), jax.numpy.asarray(w))
    for device in DEVICES:
        found = results(lx, bounded, on(x, device), on(w, device))
        for number, (ours, jaxs) in enumerate(zip(found, wanted, strict=True)):
            np.testing.assert_allclose(ours, jaxs, rtol=1e-10, atol=1e-12, err_msg=f"result {number} on {device}")
    assert all(np.all(np.isfinite(each)) for each in wanted)
    print(f"{len(wanted)} results are JAX's on {', '.join(DEVICES)}")


if __name__ == "__main__":
    main()
