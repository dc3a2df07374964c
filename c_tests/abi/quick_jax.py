"""Imports JAX as the reference of a test, with flags of XLA that shorten compiles, which take most of such a test's
time: import it before anything that imports JAX. Results are those of the same operations, rounded as others would be.

JAX reads its flags for its first program, which runs here. The plugin under test reads the caller's, which are set
again."""

import os

os.environ["JAX_PLATFORMS"] = "cpu"
QUICK = "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false"
flags = os.environ.get("XLA_FLAGS")
os.environ["XLA_FLAGS"] = QUICK if flags is None else f"{flags} {QUICK}"
import jax

jax.jit(lambda x: x + 1)(0)
del os.environ["XLA_FLAGS"]
if flags is not None:
    os.environ["XLA_FLAGS"] = flags
