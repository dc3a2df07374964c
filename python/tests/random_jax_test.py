"""Transformations of random functions against JAX's: random_jax_test.py [COUNT] [--seed=N] [--device=cpu] [--show].

Each function of random_functions.py is run with lazyxla and with JAX on the same arrays: its value, and what jit, grad,
vjp, jvp, vmap, checkpoint and compositions of these give. Needs jax, numpy, optree, and lazyxla in PYTHONPATH. On an
XLA device, unless `--device=cpu` is given, all results of a function are computed by one program. `--show` prints the
functions. `--reference=FILE` keeps JAX's results in a file, or takes them from it."""

import os
import pickle
import sys
import traceback
from pathlib import Path
from types import SimpleNamespace

if sys.version_info < (3, 11):
    print("JAX 0.10.2 needs Python 3.11")
    sys.exit(77)  # ctest counts 77 as skipped
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["JAX_ENABLE_X64"] = "1"
flags = os.environ.pop("XLA_FLAGS", None)
os.environ["XLA_FLAGS"] = "--xla_backend_optimization_level=0"  # most of the time goes into JAX's compiles
import jax
import numpy as np
import optree

# JAX reads its flags for the first program; the plugin is to have the caller's.
jax.jit(lambda x: x + 1)(0)
os.environ.pop("XLA_FLAGS")
if flags is not None:
    os.environ["XLA_FLAGS"] = flags
import run  # noqa: F401 - it names the plugin
from random_functions import written

import lazyxla as lx

BATCH = 3
# Of differences, beside the largest element; and beside what a change of the arguments in their last digits does.
TOLERANCE = 1e-9
LAST_DIGITS = 1e-14
AMPLIFIED = 100


class Names(SimpleNamespace):
    """Functions that a generated program calls as `m`."""

    def __init__(self, base, **more):
        super().__init__(**more)
        self._base = base

    def __getattr__(self, name):
        return getattr(self._base, name)


def put(x, key, value):
    """Returns a copy of an array with a value in a place."""
    x = x.copy()
    x[key] = value
    return x


OURS = Names(lx, put=put)
THEIRS = Names(
    jax.numpy,
    **{name: getattr(jax.lax, name) for name in ("scan", "cond", "switch", "while_loop", "stop_gradient")},
    **{name: getattr(jax, name) for name in ("jit", "grad", "value_and_grad", "vjp", "jvp", "vmap", "checkpoint")},
    custom_jvp=jax.custom_jvp,
    custom_vjp=jax.custom_vjp,
    nn=jax.nn,
    put=lambda x, key, value: x.at[key].set(value),
)


def results(m, function, x, y, dx, dy, xs, ys):
    """Returns names and trees of results."""
    f = function_of(function.text, m)
    vector = (x, y), (dx, dy)

    def total(*arguments):
        out = f(*arguments)
        return sum(m.sum(m.sin(each + 1)) for each in (out["first"], *out["last"]))

    def batches(xs, ys):
        out = m.vmap(f)(xs, ys)
        return sum(m.sum(m.cos(each + 1)) for each in (out["first"], *out["last"]))

    yield "value", f(x, y)
    yield "jit", m.jit(f)(x, y)
    yield "vmap", m.vmap(f)(xs, ys)
    yield "vmap of the first", m.vmap(f, in_axes=(0, None), out_axes=0)(xs, y)
    yield "vmap of the last axis", m.vmap(f, in_axes=(None, -1), out_axes=-1)(x, m.moveaxis(ys, 0, -1))
    if function.has_forward:
        yield "jvp", m.jvp(f, *vector)
        yield "vmap of jvp", m.vmap(lambda a, b: m.jvp(f, (x, y), (a, b))[1])(xs, ys)
        yield "jvp of vmap", m.jvp(m.vmap(f), (xs, ys), (m.cos(xs), m.sin(ys)))[1]
        yield "jvp of jvp", m.jvp(lambda x, y: m.jvp(f, (x, y), (dx, dy))[1], *vector)[1]
    if not function.has_reverse:
        return
    both = m.grad(total, argnums=(0, 1))
    yield "value and gradients", m.value_and_grad(total, argnums=(0, 1))(x, y)
    out, pullback = m.vjp(f, x, y)
    yield "vjp", pullback({"first": m.cos(out["first"]), "last": [m.sin(each) for each in out["last"]]})
    yield "grad of vmap", m.grad(batches, argnums=(0, 1))(xs, ys)
    yield "vmap of grad", m.vmap(both)(xs, ys)
    if function.has_forward:
        yield "product with the Hessian", m.jvp(both, *vector)[1]
        yield "grad of jvp", m.grad(lambda x, y: m.sum(m.jvp(total, (x, y), (dx, dy))[1]))(x, y)
    yield "grad of grad", m.grad(lambda x, y: sum(m.sum(m.sin(each)) for each in both(x, y)), argnums=(0, 1))(x, y)
    yield "grad of jit", m.grad(m.jit(total), argnums=(0, 1))(x, y)
    yield "grad of checkpoint", m.grad(m.checkpoint(total), argnums=(0, 1))(x, y)


def function_of(text, m):
    names = {"m": m}
    exec(text, names)
    return names["f"]


def arguments(seed, shapes):
    rng = np.random.default_rng(seed)
    single = [rng.standard_normal(shape) for shape in (*shapes, *shapes)]
    return [*single, *(rng.standard_normal((BATCH, *shape)) for shape in shapes)]


def reference(function, arrays):
    """Returns JAX's results, and how much they change with the last digits of the arguments."""
    names = []

    def all_of(*arrays):
        found = dict(results(THEIRS, function, *arrays))
        names[:] = found
        return [jax.tree.leaves(found[name]) for name in names]

    computed = jax.jit(all_of)
    found = [[np.asarray(leaf) for leaf in leaves] for leaves in computed(*arrays)]
    signs = np.random.default_rng(0)
    changes = [np.zeros(len(leaves)) for leaves in found]
    for _ in range(2):
        moved = [a * (1 + LAST_DIGITS * signs.choice((-1, 1), a.shape)) for a in arrays]
        for of, leaves, others in zip(changes, found, computed(*moved)):
            of[:] = np.fmax(of, [np.max(np.abs(a - np.asarray(b)), initial=0) for a, b in zip(leaves, others)])
    return names, found, changes


def differences(function, arrays, wanted, device):
    """Returns the names of results that differ, with the largest difference."""
    with lx.use_device(device):
        found = dict(results(OURS, function, *(lx.asarray(a) for a in arrays)))
        trees = {name: optree.tree_leaves(tree) for name, tree in found.items()}
        lx.step()
    wrong = []
    for name, theirs, changes in zip(*wanted, strict=True):
        ours = [np.asarray(leaf) for leaf in trees[name]]
        assert len(ours) == len(theirs), (name, len(ours), len(theirs))
        for a, b, change in zip(ours, theirs, changes):
            if a.shape != b.shape or a.dtype != b.dtype:
                wrong.append(f"{name}: {a.dtype}{a.shape}, JAX: {b.dtype}{b.shape}")
                continue
            scale = np.max(np.abs(b[np.isfinite(b)]), initial=1.0)
            bound = TOLERANCE * scale + AMPLIFIED * (change if np.isfinite(change) else 0)
            if not np.allclose(a, b, rtol=0, atol=bound, equal_nan=True):
                wrong.append(f"{name}: {np.max(np.abs(a - b)):.3g} of {scale:.3g}, bound {bound:.3g}")
    return wrong


def main():
    options = dict(each[2:].partition("=")[::2] for each in sys.argv[1:] if each.startswith("--"))
    count = int(next((each for each in sys.argv[1:] if not each.startswith("--")), 300))
    first, device = int(options.get("seed", 1)), options.get("device", "xla:0")
    file = Path(options["reference"]) if "reference" in options else None
    kept = pickle.loads(file.read_bytes()) if file and file.exists() else {}
    failed = 0
    for seed in range(first, first + count):
        function = written(seed)
        if "show" in options:
            print(f"seed {seed}, shapes {function.shapes}\n{function.text}", flush=True)
        arrays = arguments(seed, function.shapes)
        try:
            if seed not in kept:
                kept[seed] = reference(function, arrays)
            wrong = differences(function, arrays, kept[seed], device)
            jax.clear_caches()
        except Exception:
            wrong = [traceback.format_exc()]
        if wrong:
            failed += 1
            print(f"FAIL seed {seed}, shapes {function.shapes}\n{function.text}" + "\n".join(wrong), flush=True)
    if file:
        file.write_bytes(pickle.dumps(kept))
    print(f"{count} functions, seeds from {first}, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
