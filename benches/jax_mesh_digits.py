"""The digits step on meshes of 2 and 4 CPU devices: JAX's jit with the same shardings beside benches/mesh.c, in turns.

    python jax_mesh_digits.py examples/data/digits.csv FOLDER_OF_THE_PROGRAMS/bench_mesh

The batch is split over the devices, parameters and momenta are replicated and donated; each step is waited for.
"""

import os
import statistics
import subprocess
import sys
import time

DEVICES, ROUNDS = (2, 4), 3
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + f" --xla_force_host_platform_device_count={max(DEVICES)}"
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

SIZES, BATCH, TURNS = [64, 256, 256, 10], 128, 400
rows = np.loadtxt(sys.argv[1], delimiter=",", dtype=np.float32)[:BATCH]


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


def measure(devices):
    """Median of microseconds of a step on a mesh of the first devices."""
    mesh = Mesh(np.array(jax.devices()[:devices]), ("data",))
    by_data, replicated = NamedSharding(mesh, PartitionSpec("data", None)), NamedSharding(mesh, PartitionSpec())
    x = jax.device_put(rows[:, :64] / 16, by_data)
    labels = jax.device_put(np.eye(10, dtype=np.float32)[rows[:, 64].astype(int)], by_data)
    random = np.random.RandomState(0)
    layers = [
        (random.randn(i, o).astype(np.float32) * (2 / i) ** 0.5, np.zeros((1, o), np.float32))
        for i, o in zip(SIZES, SIZES[1:])
    ]
    parameters = jax.device_put(layers, replicated)
    momenta = jax.device_put(jax.tree.map(np.zeros_like, layers), replicated)
    given, made = (replicated, replicated, by_data, by_data), (replicated, replicated, replicated)
    jitted = jax.jit(step, donate_argnums=(0, 1), in_shardings=given, out_shardings=made)
    times = []
    for turn in range(-20, TURNS):
        start = time.perf_counter()
        parameters, momenta, loss = jitted(parameters, momenta, x, labels)
        jax.block_until_ready((parameters, momenta, loss))
        if turn >= 0:
            times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e6


def main():
    print(f"| digits step on a mesh, waited | lazyxla | JAX {jax.__version__} | ratio |")
    print("|---|---|---|---|")
    for devices in DEVICES:
        for _ in range(ROUNDS):
            theirs = measure(devices)
            if len(sys.argv) < 3:
                print(f"| {devices} devices | | {theirs:.1f} us | |")
                continue
            said = subprocess.run(
                [sys.argv[2], sys.argv[1], str(devices)], check=True, capture_output=True, text=True
            ).stdout
            ours, recording = (float(number) for number in said.split()[2:])
            print(
                f"| {devices} devices | {ours:.1f} us, of which recording {recording:.1f} | {theirs:.1f} us | "
                f"{ours / theirs:.2f} |"
            )


if __name__ == "__main__":
    main()
