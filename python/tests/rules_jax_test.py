"""Functions with rules and arguments that are not differentiated, against JAX: values, gradients, batches, jit. Needs
jax and numpy, and lazyxla in PYTHONPATH."""

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
from test_rules import with_power

import lazyxla as lx


def results(library, total, x):
    """Returns what transformations of the functions give, of lazyxla or of JAX."""
    found = []
    for place, power in enumerate(with_power(library)):
        value = lambda x: total(power(3, x))
        slope = library.grad(value)
        found += [power(3, x), slope(x), library.jit(slope)(x), library.grad(lambda x: total(slope(x) * x))(x)]
        found += [library.vmap(lambda x: power(2, x))(x), library.vmap(library.grad(lambda x: power(4, x)))(x)]
        found.append(library.grad(lambda x: total(power(2, power(3, x))))(x))
        if place == 1:
            found += library.jvp(lambda x: power(3, x), (x,), (x,))
    return [np.asarray(each) for each in found]


def main():
    a = np.array([1.0, -2.0, 3.0, 0.5])
    wanted = results(jax, jax.numpy.sum, jax.numpy.asarray(a))
    for device in DEVICES:
        found = results(lx, lx.sum, on(a, device))
        for number, (ours, jaxs) in enumerate(zip(found, wanted, strict=True)):
            np.testing.assert_allclose(ours, jaxs, rtol=1e-12, err_msg=f"result {number} on {device}")
    print(f"{len(wanted)} results are JAX's on {', '.join(DEVICES)}")


if __name__ == "__main__":
    main()
