"""The digits step of benches/digits.c in JAX: jitted, parameters and momenta donated, waited for each time.

python jax_digits.py examples/data/digits.csv
"""

import os
import statistics
import sys
import time

os.environ.setdefault("JAX_PLATFORMS", "cpu")
import jax
import jax.numpy as jnp
import numpy as np

SIZES, BATCH, TURNS = [64, 256, 256, 10], 128, 1500
rows = np.loadtxt(sys.argv[1], delimiter=",", dtype=np.float32)[:BATCH]
x, labels = jnp.asarray(rows[:, :64] / 16), jnp.asarray(np.eye(10, dtype=np.float32)[rows[:, 64].astype(int)])
random = np.random.RandomState(0)
parameters = [
    (jnp.asarray(random.randn(i, o).astype(np.float32) * (2 / i) ** 0.5), jnp.zeros((1, o)))
    for i, o in zip(SIZES, SIZES[1:])
]
momenta = jax.tree.map(jnp.zeros_like, parameters)


def loss_of(parameters, x, labels):
    for i, (w, b) in enumerate(parameters):
        x = x @ w + b
        if i + 1 < len(parameters):
            x = jnp.maximum(x, 0)
    return -(labels * jax.nn.log_softmax(x)).sum() / BATCH


def step(parameters, momenta, x, labels):
    loss, gradient = jax.value_and_grad(loss_of)(parameters, x, labels)
    momenta = jax.tree.map(lambda v, g: 0.9 * v + g, momenta, gradient)
    return jax.tree.map(lambda p, v: p - 0.0 * v, parameters, momenta), momenta, loss


step = jax.jit(step, donate_argnums=(0, 1))
times = []
for turn in range(-20, TURNS):
    start = time.perf_counter()
    parameters, momenta, loss = step(parameters, momenta, x, labels)
    jax.block_until_ready((parameters, momenta, loss))
    if turn >= 0:
        times.append(time.perf_counter() - start)
print("JAX %s digits step, waited: %.1f us" % (jax.__version__, statistics.median(times) * 1e6))
