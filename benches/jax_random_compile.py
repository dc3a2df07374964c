"""Compile times of programs that use random numbers at once, beside JAX's: chains, products, pads, reductions,
gradients.

    build/jax/bin/python benches/jax_random_compile.py build/cmake/lib/liblazyxla.so

Prints milliseconds from recording to the result of a program's first run, less those of its second run; and a mark
where lazyxla takes more than twice as long as JAX. Both run from keys with other values in every turn."""

import os
import statistics
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.append(str(Path(__file__).resolve().parents[1] / "c_tests/abi"))
sys.path.append(str(Path(__file__).resolve().parents[1] / "c_tests/operations"))
os.environ.setdefault("JAX_PLATFORMS", "cpu")
import ctypes_test as abi
import jax
import jax.numpy as jnp
import numpy as np
from ctypes_test import Tensor
from header import constants as C
from ops_cases import World, array_of, ints

TURNS, N = 3, 48
DTYPES = {"f16": jnp.float16, "bf16": jnp.bfloat16, "f32": jnp.float32, "f64": jnp.float64}
jax.config.update("jax_enable_x64", True)
jax.config.update("jax_threefry_partitionable", True)


class Lazy:
    """The programs, recorded."""

    def __init__(self, world, keys, dtype):
        self.world, self.keys, self.dtype = world, keys, getattr(C, f"DTYPE_{dtype.upper()}")

    def draw(self, distribution, i):
        shape = abi.dims(N, N)
        if distribution == "uniform":
            return self.world.make("lxla_random_uniform", C.RNG_THREE_FRY, self.keys[i], self.dtype, *shape, 0.0, 1.0)
        if distribution == "normal":
            return self.world.make("lxla_random_normal", C.RNG_THREE_FRY, self.keys[i], self.dtype, *shape)
        drawn = self.world.make("lxla_random_bernoulli", C.RNG_THREE_FRY, self.keys[i], 0.3, *shape)
        return self.world.make("lxla_convert", drawn, self.dtype)

    def binary(self, op, a, b):
        return self.world.make("lxla_binary", getattr(C, f"BINARY_{op}"), a, b)

    def add(self, a, b):
        return self.binary("ADD", a, b)

    def multiply(self, a, b):
        return self.binary("MULTIPLY", a, b)

    def tanh(self, x):
        return self.world.make("lxla_unary", C.UNARY_TANH, x)

    def product(self, a, b):
        return self.world.make("lxla_matmul", a, b)

    def pad(self, x):
        zero = self.world.make("lxla_tensor_full", self.world.env, self.world.device, self.dtype, None, 0, 0.0)
        return self.world.make("lxla_pad", x, zero, ints([1, 1]), ints([1, 1]), ints([0, 0]), 2)

    def sum(self, x, axis):
        return self.world.make("lxla_reduce", C.REDUCE_SUM, x, ints([axis]), 1, 0)

    def gradient(self, f, x):
        y = f(x)
        for _ in range(2):
            y = self.sum(y, 0)
        made = (Tensor * 1)()
        abi.ok(abi.lib.lxla_gradients(array_of([y]), 1, None, array_of([x]), 1, made))
        return Tensor(made[0].id)


class Jax:
    """The same in JAX."""

    def __init__(self, keys, dtype):
        self.keys, self.dtype = keys, DTYPES[dtype]

    def draw(self, distribution, i):
        if distribution == "bernoulli":
            return jax.random.bernoulli(self.keys[i], 0.3, (N, N)).astype(self.dtype)
        return getattr(jax.random, distribution)(self.keys[i], (N, N), self.dtype)

    add, multiply, tanh, product = jnp.add, jnp.multiply, jnp.tanh, jnp.matmul
    add, multiply, tanh, product = map(staticmethod, (add, multiply, tanh, product))

    def pad(self, x):
        return jnp.pad(x, 1)

    def sum(self, x, axis):
        return jnp.sum(x, axis)

    def gradient(self, f, x):
        return jax.grad(lambda x: jnp.sum(f(x)))(x)


def programs():
    """Each takes the operations, the name of a distribution, and draws from up to four keys."""
    yield "one", lambda o, d: o.draw(d, 0)
    yield "four added", lambda o, d: o.add(o.add(o.draw(d, 0), o.draw(d, 1)), o.add(o.draw(d, 2), o.draw(d, 3)))
    yield "chain", lambda o, d: o.tanh(o.multiply(o.tanh(o.add(o.draw(d, 0), o.draw(d, 1))), o.draw(d, 2)))
    yield (
        "products padded",
        lambda o, d: o.add(
            o.pad(o.multiply(o.draw(d, 0), o.draw(d, 1))), o.pad(o.multiply(o.draw(d, 2), o.draw(d, 3)))
        ),
    )
    yield "matrix product", lambda o, d: o.product(o.draw(d, 0), o.multiply(o.draw(d, 1), o.draw(d, 2)))
    yield (
        "reductions",
        lambda o, d: o.add(
            o.sum(o.multiply(o.draw(d, 0), o.draw(d, 1)), 0), o.sum(o.multiply(o.draw(d, 2), o.draw(d, 3)), 1)
        ),
    )
    yield "gradient", lambda o, d: o.gradient(lambda x: o.tanh(o.multiply(x, o.draw(d, 1))), o.draw(d, 0))


def compile_time(run):
    """Time of the first run less that of the second."""
    times = []
    for _ in range(2):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return 1e3 * (times[0] - times[1])


def lazy_time(dtype, distribution, program):
    env = abi.new_env()
    world = World(env, abi.xla(), "xla:0")
    keys = [world.put(np.array([1, i], np.uint32)) for i in range(4)]

    def run():
        y = program(Lazy(world, keys, dtype), distribution)
        abi.ok(abi.lib.lxla_sync(array_of([y]), 1))
        abi.ok(abi.lib.lxla_tensor_release(y))

    made = compile_time(run)
    abi.release(env)
    return made


def jax_time(dtype, distribution, program):
    keys = jax.random.split(jax.random.key(1), 4)
    jax.block_until_ready(keys)
    f = jax.jit(lambda keys: program(Jax(keys, dtype), distribution))
    made = compile_time(lambda: jax.block_until_ready(f(keys)))
    jax.clear_caches()
    return made


def main(path):
    abi.load(path)
    lazy_time("f32", "uniform", lambda o, d: o.draw(d, 0))  # starts the plugin
    jax_time("f32", "uniform", lambda o, d: o.draw(d, 0))
    marked = count = 0
    for dtype in DTYPES:
        for distribution in ("uniform", "normal", "bernoulli"):
            for name, program in programs():
                ours = statistics.median(lazy_time(dtype, distribution, program) for _ in range(TURNS))
                theirs = statistics.median(jax_time(dtype, distribution, program) for _ in range(TURNS))
                count, marked = count + 1, marked + (ours > 2 * theirs)
                mark = "  more than twice JAX's" if ours > 2 * theirs else ""
                print(f"{dtype:5}{distribution:10}{name:17}{ours:8.0f} ms, JAX {theirs:6.0f} ms{mark}", flush=True)
    print(f"{count} programs, {marked} take more than twice as long as JAX's")


if __name__ == "__main__":
    main(sys.argv[1])
