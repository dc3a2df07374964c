"""Exported computations in JAX: python export_jax_test.py /path/to/liblazyxla.so [name], with JAX.

Functions of import_cases.py, imported as computations and exported as files for JAX: what JAX computes by the file, and
its gradient of the file, are the values of the function and of JAX's gradient of it."""

import os
import sys
import tempfile

if sys.version_info < (3, 11):
    print("JAX 0.10.2 needs Python 3.11")
    sys.exit(77)  # ctest counts 77 as skipped
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../abi"))
import ctypes_test as lxla
from quick_jax import jax  # before what imports JAX
import import_cases
import import_linalg_cases
import numpy as np
from ctypes_test import ok
from export_cases import JAX, exported
from import_test import data_of, wide
from import_test import exported as exported_by_jax
from jax import export
from programs import compare, imported

# Every fifth function: JAX compiles each three times.
STRIDE = 5
# Factorizations, which are exported as programs of other operations.
FACTORIZATIONS = [
    "qr (5, 3) float64",
    "qr (2, 4, 3) complex128",
    "det (4, 4) float64",
    "solve (2, 3, 3) complex128",
    "lu (5, 3)",
    "eigh (2, 3, 3) float64",
    "eigh (4, 4) complex128",
    "svd (3, 5) float64",
    "svd (4, 4) complex128",
    "pinv",
]


def cases():
    """Names, functions, arguments, and what is left out."""
    for i, case in enumerate(import_cases.cases()):
        if case[0] in sys.argv[2:] or not (sys.argv[2:] or i % STRIDE):
            yield case
    for case in import_linalg_cases.cases():
        if case[0] in (sys.argv[2:] or FACTORIZATIONS):
            yield case


def called(env, function, arguments, path, vjp_order):
    """The function as JAX calls it in an export of its import."""
    computation = imported(env, exported_by_jax(function, arguments))
    ok(exported(computation, path, format=JAX, vjp_order=vjp_order))
    ok(lxla.lib.lxla_computation_release(computation))
    with open(path, "rb") as file:
        return export.deserialize(bytearray(file.read())).call


def scalar(results):
    """A sum in which every differentiable result has a derivative."""
    leaves = [x for x in jax.tree.leaves(results) if jax.numpy.issubdtype(x.dtype, jax.numpy.floating)]
    return sum(jax.numpy.sum(jax.numpy.sin(x.astype(wide(x)))) for x in leaves)


def check(env, name, function, arguments, without, path):
    data = [np.asarray(data_of(x)) for x in arguments]
    places = tuple(i for i, x in enumerate(data) if x.dtype.kind == "f")
    differentiates = bool(places) and "gradient" not in without
    call = called(env, function, arguments, path, int(differentiates))
    wanted = [data_of(x) for x in jax.tree.leaves(jax.jit(function)(*arguments))]
    got = jax.tree.leaves(jax.jit(call)(*data))
    compare(name, [np.asarray(x).tobytes() for x in got], wanted)
    if differentiates:
        wanted = jax.jit(jax.grad(lambda *xs: scalar(function(*xs)) + 0.0, argnums=places))(*arguments)
        got = jax.jit(jax.grad(lambda *xs: scalar(call(*xs)) + 0.0, argnums=places))(*data)
        compare(f"gradient of {name}", [np.asarray(x).tobytes() for x in got], wanted)
    return 1 + differentiates


def main():
    jax.config.update("jax_enable_x64", True)
    lxla.load(sys.argv[1])
    env = lxla.new_env()
    failures, count = [], 0
    with tempfile.TemporaryDirectory() as folder:
        for name, function, arguments, without in cases():
            try:
                count += check(env, name, function, arguments, without, os.path.join(folder, "function.jax"))
            except Exception as failure:  # also those of JAX, which name no case
                failures.append(f"{name}: {type(failure).__name__}: {failure}")
    for failure in failures:
        print(failure)
    print(f"{count} checks, {len(failures)} failed")
    assert count > 0
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
