"""Compile times of imported programs beside those of the modules that they were imported from: of the models of
c_tests/programs/models_test.py with their gradients, by JAX's own compiler.

    build/jax/bin/python benches/jax_import_compile.py build/cmake/lib/liblazyxla.so [model ...]

Prints the processor time of reading and compiling the text, the least of several turns, in which the two alternate."""

import os
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
ARGUMENTS, sys.argv = sys.argv[1:], sys.argv[:1]
os.environ.setdefault("JAX_PLATFORMS", "cpu")
sys.path.append(str(Path(__file__).resolve().parents[1] / "c_tests/programs"))
import import_test  # adds the folders of the tests, and sets up JAX
import ctypes_test as lxla
import jax
import jax.numpy as jnp
import models_test
import numpy as np
from jax._src import xla_bridge
from jax._src.interpreters import mlir
from jax._src.lib import xla_client
from jaxlib.mlir import ir
from programs import imported

# The least of 5 turns varies by a tenth.
TURNS = 25
# Training steps, whose own gradients are in them, and a loop that cannot be differentiated.
AS_THEY_ARE = ("adam", "momentum", "decode")


def with_gradient(function, arguments):
    """Returns the function that computes a loss and its gradients by the arguments that are floats."""

    def loss(*xs):
        leaves = [x for x in jax.tree.leaves(function(*xs)) if jnp.issubdtype(x.dtype, jnp.floating)]
        return sum(jnp.sum(jnp.sin(x)) for x in leaves)

    places = tuple(i for i, x in enumerate(arguments) if np.asarray(x).dtype == np.float32)
    return jax.value_and_grad(loss, argnums=places)


def compile_time(text):
    backend = xla_bridge.get_backend("cpu")
    devices = xla_client.DeviceList(tuple(backend.local_devices()[:1]))
    with mlir.make_ir_context():
        start = time.process_time()
        backend.compile_and_load(ir.Module.parse(text), devices, xla_client.CompileOptions())
        return time.process_time() - start


def main():
    jax.config.update("jax_enable_x64", False)
    lxla.load(ARGUMENTS[0])
    env = lxla.new_env()
    for (name, _), function, arguments, _ in models_test.models():
        if ARGUMENTS[1:] and name not in ARGUMENTS[1:]:
            continue
        given = function if name in AS_THEY_ARE else with_gradient(function, arguments)
        computation = imported(env, import_test.exported(given, arguments))
        texts = [
            lxla.text(lxla.lib.lxla_computation_stablehlo, computation),
            jax.jit(given).lower(*arguments).as_text(),
        ]
        times = [[compile_time(text) for text in texts] for _ in range(TURNS)]
        ours, theirs = (1e3 * min(column) for column in zip(*times, strict=True))
        print(f"{name:12} {ours:5.0f} ms, JAX's module {theirs:5.0f} ms, {ours / theirs:.2f}", flush=True)


if __name__ == "__main__":
    main()
