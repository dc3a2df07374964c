"""Factorizations beside NumPy's, and lazy ones beside JAX's:

build/jax/bin/python benches/numpy_linalg.py build/cmake/lib/liblazyxla.so [--threads=N] [--lazy] [operation ...]

Square matrices of 64, 512 and 1024 in f32 and f64, and batches of 64 matrices of 32; with --lazy, those of 64 and 512 on
the default plugin beside JAX's compiled functions. The sides take turns; the median of the ratios in one round is printed.
On one thread, the default, processor time is compared, which other work on the machine changes less.
"""

import os
import statistics
import sys
import time
from ctypes import byref, c_double
from pathlib import Path

OPTIONS = [argument for argument in sys.argv[2:] if argument.startswith("--")]
THREADS = next((option.split("=")[1] for option in OPTIONS if option.startswith("--threads=")), "1")
for variable in "RAYON_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS":
    os.environ[variable] = THREADS
if THREADS == "1":
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"
os.environ.setdefault("JAX_PLATFORMS", "cpu")
sys.dont_write_bytecode = True
for folder in "abi", "operations":
    sys.path.append(str(Path(__file__).resolve().parents[1] / "c_tests" / folder))
import ctypes_test as abi
import numpy as np
from ctypes_test import Tensor
from header import constants
from ops_cases import World, array_of, release

SAMPLE_NS, ROUNDS = 4e7, 7
# Results, other arguments and the reference of each function.
OPERATIONS = {
    "solve": (1, [], lambda m, a, b: m.linalg.solve(a, b)),
    "inverse": (1, [], lambda m, a, b: m.linalg.inv(a)),
    "qr": (2, [0], lambda m, a, b: m.linalg.qr(a)),
    "eigh": (2, [1], lambda m, a, b: m.linalg.eigh(a)),
    "svd": (3, [0], lambda m, a, b: m.linalg.svd(a, full_matrices=False)),
    "singular_values": (1, [], lambda m, a, b: m.linalg.svd(a, compute_uv=False)),
    "eig": (2, [], lambda m, a, b: m.linalg.eig(a)),
    "lu": (3, [], None),
    "determinant": (1, [], lambda m, a, b: m.linalg.det(a)),
    "pinv": (1, [c_double(-1)], lambda m, a, b: m.linalg.pinv(a)),
    "lstsq": (1, [c_double(-1)], None),
    "cholesky": (1, [1], lambda m, a, b: m.linalg.cholesky(a)),
}


def matrices(name, shape, dtype):
    a = np.random.default_rng(1).normal(size=shape).astype(dtype)
    if name == "eigh":
        a = (a + np.swapaxes(a, -1, -2)) / 2
    if name == "cholesky":
        a = a @ np.swapaxes(a, -1, -2) + np.eye(shape[-1], dtype=dtype)
    return a, np.random.default_rng(2).normal(size=shape).astype(dtype)


def peer(name, a, b):
    """NumPy's function; SciPy's of LU factors, which calls the same LAPACK routine for each matrix."""
    if name == "lu":
        import scipy.linalg

        return lambda: scipy.linalg.lu_factor(a, check_finite=False)
    if name == "lstsq":
        return lambda: np.linalg.lstsq(a, b, rcond=None)
    return lambda: OPERATIONS[name][2](np, a, b)


def peer_of_lazy(name, a, b):
    import jax

    jax.config.update("jax_enable_x64", True)
    a, b = jax.numpy.array(a), jax.numpy.array(b)
    functions = {"lu": jax.scipy.linalg.lu_factor, "lstsq": lambda a: jax.numpy.linalg.lstsq(a, b)}
    function = functions.get(name, lambda a: OPERATIONS[name][2](jax.numpy, a, b))
    function = jax.jit(function)
    return lambda: jax.block_until_ready(function(a))


def ours(world, name, a, b):
    count, arguments, _ = OPERATIONS[name]
    tensors = [world.put(a)] + ([world.put(b)] if name in ("solve", "lstsq") else [])

    def call():
        made = [Tensor() for _ in range(count)]
        world.check(f"lxla_{name}", *tensors, *arguments, *map(byref, made))
        abi.ok(abi.lib.lxla_sync(array_of(made), len(made)))
        if world.device.kind == constants.DEVICE_XLA:
            abi.ok(abi.lib.lxla_wait(world.env, world.device))
        for each in made:
            release(each)

    return call


def clock():
    return time.process_time_ns() if THREADS == "1" else time.perf_counter_ns()


def sample(call, count):
    start = clock()
    for _ in range(count):
        call()
    return (clock() - start) / count


def measure(calls):
    """The median times of both sides, and of their ratios."""
    for call in calls:
        call()
    counts = [max(1, int(SAMPLE_NS / sample(call, 1))) for call in calls]
    samples = [[], []]
    for _ in range(ROUNDS):
        for call, count, kept in zip(calls, counts, samples, strict=True):
            if THREADS != "1":
                time.sleep(0.1)  # OpenBLAS's threads go on waiting for work, and take a processor
            kept.append(sample(call, count))
    ratio = statistics.median(first / second for first, second in zip(*samples, strict=True))
    return [statistics.median(kept) for kept in samples], ratio


def main(path):
    abi.load(path)
    env, lazy = abi.new_env(), "--lazy" in OPTIONS
    world = World(env, abi.xla() if lazy else abi.cpu(), "")
    make_peer = peer_of_lazy if lazy else peer
    shapes = [(64, 64), (512, 512)] if lazy else [(64, 64), (512, 512), (1024, 1024), (64, 32, 32)]
    for name in [argument for argument in sys.argv[2:] if argument not in OPTIONS] or OPERATIONS:
        for dtype in np.float32, np.float64:
            for shape in shapes:
                if len(shape) == 3 and name in ("lu", "lstsq"):
                    continue
                a, b = matrices(name, shape, dtype)
                times, ratio = measure([ours(world, name, a, b), make_peer(name, a, b)])
                sides = ", ".join(f"{side / 1e6:.3f}" for side in times)
                print(f"{name:16} {np.dtype(dtype)} {shape!s:14} {sides} ms, ratio {ratio:.2f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
