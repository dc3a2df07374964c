"""Sorts of a million f32 with and without their indices: eager beside NumPy, lazy beside JAX; least of rounds in turn.

build/jax/bin/python benches/jax_sort.py build/cmake/lib/liblazyxla.so"""

import os
import sys
import time
from ctypes import byref
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ["RAYON_NUM_THREADS"] = "1"
sys.dont_write_bytecode = True
sys.path.append(str(Path(__file__).resolve().parents[1] / "c_tests/abi"))
sys.path.append(str(Path(__file__).resolve().parents[1] / "c_tests/operations"))
import ctypes_test as abi
import jax
import jax.numpy as jnp
import numpy as np
from ctypes_test import Tensor
from header import constants
from ops_cases import World, array_of, release

COUNT, ROUNDS = 1 << 20, 7


def calls(env, device, x):
    """The three sorts on a device, which wait for their results."""
    world = World(env, device, "")
    tensor = world.put(x)

    def both():
        values, indices = Tensor(), Tensor()
        world.check("lxla_topk", tensor, COUNT, 0, 0, constants.DTYPE_S32, byref(values), byref(indices))
        return [values, indices]

    def waited(record):
        def run():
            made = record()
            abi.ok(abi.lib.lxla_sync(array_of(made), len(made)))
            if device.kind == constants.DEVICE_XLA:
                abi.ok(abi.lib.lxla_wait(env, device))
            for each in made:
                release(each)

        return run

    sort = lambda: [world.make("lxla_sort_along", tensor, 0, 0, 1)]
    argsort = lambda: [world.make("lxla_argsort", tensor, 0, 0, 1, constants.DTYPE_S32)]
    return {"sort": waited(sort), "argsort": waited(argsort), "both": waited(both)}


def main(path):
    abi.load(path)
    env, x = abi.new_env(), np.random.default_rng(1).normal(size=COUNT).astype(np.float32)
    on_jax = jnp.array(x)
    compiled = {
        "sort": jax.jit(jnp.sort),
        "argsort": jax.jit(jnp.argsort),
        "both": jax.jit(lambda x: jax.lax.sort_key_val(x, jnp.arange(COUNT, dtype=jnp.int32))),
    }
    sides = {
        "eager": calls(env, abi.cpu(), x),
        "NumPy": {"sort": lambda: np.sort(x), "argsort": lambda: np.argsort(x), "both": lambda: x[np.argsort(x)]},
        "lazy": calls(env, abi.xla(), x),
        "JAX": {name: lambda f=f: jax.block_until_ready(f(on_jax)) for name, f in compiled.items()},
    }
    for name in ("sort", "argsort", "both"):
        least = dict.fromkeys(sides, float("inf"))
        for _ in range(ROUNDS):
            for side, functions in sides.items():
                start = time.perf_counter()
                functions[name]()
                least[side] = min(least[side], 1e3 * (time.perf_counter() - start))
        print(name, *(f"{side} {milliseconds:.0f} ms" for side, milliseconds in least.items()), sep="  ")


if __name__ == "__main__":
    main(sys.argv[1])
