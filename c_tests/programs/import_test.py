"""Programs that JAX exports, imported: python import_test.py /path/to/liblazyxla.so [--natively | --lazily], with JAX.

Each function of import_cases.py is exported as a file of jax.export, imported, and called on cpu and on the plugin's
device. Its values are compared with JAX's, and so are the values of its gradient and of its batch, which this library
derives from the imported body.
"""

import ctypes
import os
import sys
from ctypes import byref, c_size_t

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
from ctypes_test import Computation, give
from header import types
from jax import export
from jax._src.lax.linalg import geqrf
from programs import call, compare, imported

jax.config.update("jax_enable_x64", True)


def data_of(x):
    """The words of a key of random numbers; any other value unchanged."""
    return jax.random.key_data(x) if jax.numpy.issubdtype(x.dtype, jax.dtypes.prng_key) else x


# Targets whose calls JAX exports only if it is told to.
UNCHECKED = [export.DisabledSafetyCheck.custom_call(f"lapack_{letter}gesvd_ffi") for letter in "sdcz"]


def exported(function, arguments, platform="cpu"):
    shapes = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in arguments]
    # Results are a list, since exports do not have JAX's own classes for them.
    listed = jax.jit(lambda *xs: jax.tree.leaves(function(*xs)))
    make = export.export(listed, platforms=[platform], disabled_checks=UNCHECKED)
    return bytes(make(*shapes).serialize())


def check_values(env, device, name, function, arguments):
    computation = imported(env, exported(function, arguments))
    wanted = [data_of(x) for x in jax.tree.leaves(jax.jit(function)(*arguments))]
    compare(name, call(env, device, computation, [np.asarray(data_of(x)) for x in arguments], wanted), wanted)
    return computation


def check_platform(env, device, name, function, arguments, platform):
    """Imports an export for another platform, and compares its values with those of JAX on the CPU."""
    computation = imported(env, exported(function, arguments, platform))
    wanted = jax.tree.leaves(jax.jit(function)(*arguments))
    compare(name, call(env, device, computation, arguments, wanted), wanted)


def wide(x):
    """The dtype in which elements of x are summed."""
    return jax.numpy.promote_types(x.dtype, jax.numpy.float32)


def check_gradient(env, device, name, function, arguments):
    """Differentiates the imported body, and compares with JAX's gradient."""

    def loss(*xs):
        leaves = [x for x in jax.tree.leaves(function(*xs)) if jax.numpy.issubdtype(x.dtype, jax.numpy.floating)]
        return sum(jax.numpy.sum(jax.numpy.sin(x.astype(wide(x)))) for x in leaves)

    places = [i for i, x in enumerate(arguments) if np.asarray(data_of(x)).dtype.kind == "f"]
    if not places:
        return
    computation = imported(env, exported(loss, arguments))
    options = types.lxla_vjp_options(struct_size=ctypes.sizeof(types.lxla_vjp_options))
    wrt = (c_size_t * len(places))(*places)
    options.wrt, options.n_wrt = wrt, len(places)
    derived = give(lxla.lib.lxla_computation_value_and_grad, Computation, computation, byref(options))
    value, gradients = jax.jit(jax.value_and_grad(loss, argnums=tuple(places)))(*arguments)
    wanted = [value, *gradients]
    got = call(env, device, derived, [np.asarray(data_of(x)) for x in arguments], wanted)
    compare(f"gradient of {name}", got, wanted)


def check_batch(env, device, name, function, arguments):
    """Batches the imported body over its first argument, and compares with JAX's vmap."""
    computation = imported(env, exported(function, arguments))
    results = len(jax.tree.leaves(jax.eval_shape(function, *arguments)))
    axes = [0] + [-1] * (len(arguments) - 1)
    batched = give(
        lxla.lib.lxla_computation_vmap, Computation, computation,
        (ctypes.c_int64 * len(axes))(*axes), len(axes), (ctypes.c_int64 * results)(*[0] * results), results, 3,
    )  # fmt: skip
    first = np.stack([np.asarray(data_of(arguments[0]))] * 3)
    if first.dtype.kind == "f":
        first = (first * np.array([1, 0.5, 0.75]).reshape(3, *[1] * (first.ndim - 1))).astype(first.dtype)
    rest = arguments[1:]
    mapped = jax.jit(jax.vmap(function, in_axes=(0, *[None] * len(rest))))
    wanted = [data_of(x) for x in jax.tree.leaves(mapped(first, *rest))]
    got = call(env, device, batched, [first, *[np.asarray(data_of(x)) for x in rest]], wanted)
    compare(f"batch of {name}", got, wanted)


def check_symbolic(env, device, name, function, shapes, arguments):
    """Exports a function with free sizes, and imports it for the sizes of the arguments."""
    scope = export.SymbolicScope()
    symbolic = [export.symbolic_shape(shape, scope=scope) for shape in shapes]
    of = [jax.ShapeDtypeStruct(shape, x.dtype) for shape, x in zip(symbolic, arguments, strict=True)]
    data = bytes(export.export(jax.jit(function))(*of).serialize())
    computation = imported(env, data, [x.shape for x in arguments])
    wanted = jax.tree.leaves(jax.jit(function)(*arguments))
    compare(name, call(env, device, computation, arguments, wanted), wanted)


def check_reflections(env, device):
    """Forward mode of q beside the factors of its reflections as a plain result: their tangents are NaN."""

    def function(a):
        packed, tau = geqrf(a)
        return jax.lax.linalg.householder_product(packed, tau), tau

    a, t = np.random.default_rng(3).normal(size=(2, 5, 3))
    computation = imported(env, exported(function, [a]))
    forward = give(lxla.lib.lxla_computation_jvp, Computation, computation, None, 0)
    (q, tau), (change, _) = function(a), jax.jvp(lambda a: jax.numpy.linalg.qr(a), (a,), (t,))[1]
    wanted = [np.asarray(q), np.asarray(tau), np.asarray(change), np.full(3, np.nan)]
    compare("tangents of reflections", call(env, device, forward, [a, t], wanted), wanted)


def main():
    lxla.load(sys.argv[1])
    chosen = sys.argv[2:]
    env = lxla.new_env()
    devices = [("cpu", lxla.cpu()), ("xla:0", lxla.xla())]
    if "--natively" in chosen:
        devices = devices[:1]
    if "--lazily" in chosen:
        devices = devices[1:]
    names = [name for name in chosen if not name.startswith("--")]
    failures, count = [], 0
    for name, function, arguments, without in [*import_cases.cases(), *import_linalg_cases.cases()]:
        if names and name not in names:
            continue
        checks = {"values": check_values, "gradient": check_gradient, "batch": check_batch}
        for place, device in devices:
            for kind, check in checks.items():
                if kind in without:
                    continue
                count += 1
                try:
                    check(env, device, name, function, arguments)
                except Exception as failure:  # also those of JAX, which names no case
                    failures.append(f"{name}, {kind} on {place}: {type(failure).__name__}: {failure}")
    for name, function, shapes, arguments in import_cases.symbolic():
        for place, device in devices:
            if names and name not in names:
                continue
            count += 1
            try:
                check_symbolic(env, device, name, function, shapes, arguments)
            except Exception as failure:
                failures.append(f"{name} with free sizes on {place}: {type(failure).__name__}: {failure}")
    for name, function, arguments, platform in import_linalg_cases.other_platforms():
        for place, device in devices:
            if names and name not in names:
                continue
            count += 1
            try:
                check_platform(env, device, name, function, arguments, platform)
            except Exception as failure:
                failures.append(f"{name} of {platform} on {place}: {type(failure).__name__}: {failure}")
    for place, device in devices if not names or "reflections" in names else []:
        count += 1
        try:
            check_reflections(env, device)
        except Exception as failure:
            failures.append(f"reflections on {place}: {type(failure).__name__}: {failure}")
    for failure in failures:
        print(failure)
    print(f"{count} checks of {len(names) or 'all'} functions, {len(failures)} failed")
    assert count > 0
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
