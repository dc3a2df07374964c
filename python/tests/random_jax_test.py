"""Transformations of random functions against JAX's: random_jax_test.py [COUNT] [--seed=N] [--some=N] [--device=cpu].

Each function of random_functions.py is run with lazyxla and with JAX on the same arrays: its value, and what jit, grad,
vjp, jvp, vmap, checkpoint and compositions of these give; with `--some=N` the value and N others, chosen by the seed.
Needs jax, numpy, optree, and lazyxla in PYTHONPATH. On an XLA device, unless `--device=cpu` is given, all results of a
function are computed by one program. `--show` prints the functions.

JAX's results are computed by jaxpr_numpy.py, which compiles nothing. Where they differ, JAX computes them itself.
`--compiled` has JAX compute all, and compares jaxpr_numpy.py with it."""

import os
import random
import sys
import traceback
from pathlib import Path
from types import SimpleNamespace

if sys.version_info < (3, 11):
    print("JAX 0.10.2 needs Python 3.11")
    sys.exit(77)  # ctest counts 77 as skipped
os.environ["JAX_ENABLE_X64"] = "1"
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "c_tests/abi"))
import quick_jax  # noqa: F401 - first: JAX compiles quickly
import jax
import jaxpr_numpy
import numpy as np
import optree
import run  # noqa: F401 - it names the plugin
from random_functions import written

import lazyxla as lx

BATCH = 3
# Of differences, beside the largest element; and beside what a change of the arguments in their last digits does.
TOLERANCE = 1e-9
LAST_DIGITS = 1e-14
AMPLIFIED = 100
SINGLE = 2.0**29  # how much wider both are for functions that compute in float32


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


def put_sum(x, key, value):
    x = x.copy()
    x[key] += value
    return x


def put_product(x, key, value):
    x = x.copy()
    x[key] *= value
    return x


def put_in_jax(x, key, value):
    is_mask = getattr(key, "dtype", None) == bool
    return jax.numpy.where(key, value, x) if is_mask else x.at[key].set(value)


OURS = Names(lx, put=put, put_sum=put_sum, put_product=put_product, s=np.s_)
THEIRS = Names(
    jax.numpy,
    **{name: getattr(jax.lax, name) for name in ("scan", "cond", "switch", "while_loop", "stop_gradient")},
    **{name: getattr(jax, name) for name in ("jit", "grad", "value_and_grad", "vjp", "jvp", "vmap", "checkpoint")},
    custom_jvp=jax.custom_jvp,
    custom_vjp=jax.custom_vjp,
    nn=jax.nn,
    put=put_in_jax,
    put_sum=lambda x, key, value: x.at[key].add(value),
    # Without unique_indices, JAX has no derivative. The keys of random_steps.py name no element twice.
    put_product=lambda x, key, value: x.at[key].multiply(value, unique_indices=True),
    s=np.s_,
)


def results(m, function, x, y, dx, dy, xs, ys):
    """Returns functions that compute results, by names."""
    f = function_of(function.text, m)
    vector = (x, y), (dx, dy)

    def total(*arguments):
        out = f(*arguments)
        return sum(m.sum(m.sin(each + 1)) for each in (out["first"], *out["last"]))

    def batches(xs, ys):
        out = m.vmap(f)(xs, ys)
        return sum(m.sum(m.cos(each + 1)) for each in (out["first"], *out["last"]))

    def pulled():
        out, pullback = m.vjp(f, x, y)
        return pullback({"first": m.cos(out["first"]), "last": [m.sin(each) for each in out["last"]]})

    def twice_forward():
        return m.jvp(lambda x, y: m.jvp(f, (x, y), (dx, dy))[1], *vector)[1]

    def twice_backward():
        return m.grad(lambda x, y: sum(m.sum(m.sin(each)) for each in both(x, y)), argnums=(0, 1))(x, y)

    both = m.grad(total, argnums=(0, 1))
    found = {
        "value": lambda: f(x, y),
        "jit": lambda: m.jit(f)(x, y),
        "vmap": lambda: m.vmap(f)(xs, ys),
        "vmap of the first": lambda: m.vmap(f, in_axes=(0, None), out_axes=0)(xs, y),
        "vmap of the last axis": lambda: m.vmap(f, in_axes=(None, -1), out_axes=-1)(x, m.moveaxis(ys, 0, -1)),
    }
    if function.has_forward:
        found |= {
            "jvp": lambda: m.jvp(f, *vector),
            "vmap of jvp": lambda: m.vmap(lambda a, b: m.jvp(f, (x, y), (a, b))[1])(xs, ys),
            "jvp of vmap": lambda: m.jvp(m.vmap(f), (xs, ys), (m.cos(xs), m.sin(ys)))[1],
            "jvp of jvp": twice_forward,
        }
    if function.has_reverse:
        found |= {
            "value and gradients": lambda: m.value_and_grad(total, argnums=(0, 1))(x, y),
            "vjp": pulled,
            "grad of vmap": lambda: m.grad(batches, argnums=(0, 1))(xs, ys),
            "vmap of grad": lambda: m.vmap(both)(xs, ys),
            "grad of grad": twice_backward,
            "grad of jit": lambda: m.grad(m.jit(total), argnums=(0, 1))(x, y),
            "grad of checkpoint": lambda: m.grad(m.checkpoint(total), argnums=(0, 1))(x, y),
        }
    if function.has_reverse and function.has_forward:
        found |= {
            "product with the Hessian": lambda: m.jvp(both, *vector)[1],
            "grad of jvp": lambda: m.grad(lambda x, y: m.sum(m.jvp(total, (x, y), (dx, dy))[1]))(x, y),
        }
    return found


def chosen(seed, found, some):
    """Returns the value, and some of the other results, chosen by the seed; all if `some` is None."""
    names = list(found)[1:]
    if some is not None and some < len(names):
        names = random.Random(seed).sample(names, some)
    return {name: found[name]() for name in ["value", *names]}


def function_of(text, m):
    names = {"m": m, "np": np}
    exec(text, names)
    return names["f"]


def arguments(seed, shapes):
    rng = np.random.default_rng(seed)
    single = [rng.standard_normal(shape) for shape in (*shapes, *shapes)]
    return [*single, *(rng.standard_normal((BATCH, *shape)) for shape in shapes)]


def reference(function, arrays, seed, some, compiled):
    """Returns the names of results, JAX's, and how much they change with the last digits of the arguments."""
    names = []

    def all_of(*arrays):
        found = chosen(seed, results(THEIRS, function, *arrays), some)
        names[:] = found
        return [jax.tree.leaves(found[name]) for name in names]

    jaxpr, shapes = jax.make_jaxpr(all_of, return_shape=True)(*arrays)
    shape = jax.tree.structure(shapes)

    def evaluated(*arrays):
        return jax.tree.unflatten(shape, jaxpr_numpy.evaluate(jaxpr, *arrays))

    computed = jax.jit(all_of) if compiled else evaluated
    found = [[np.asarray(leaf) for leaf in leaves] for leaves in computed(*arrays)]
    signs = np.random.default_rng(0)
    changes = [np.zeros(len(leaves)) for leaves in found]
    digits = LAST_DIGITS * (SINGLE if function.single else 1)
    with np.errstate(invalid="ignore"):
        for _ in range(2):
            moved = [a * (1 + digits * signs.choice((-1, 1), a.shape)) for a in arrays]
            for of, leaves, others in zip(changes, found, computed(*moved)):
                of[:] = np.fmax(of, [np.max(np.abs(a - np.asarray(b)), initial=0) for a, b in zip(leaves, others)])
    return names, found, changes


def ours(function, arrays, seed, some, device):
    """Returns the names and values of results of this package."""
    with lx.use_device(device):
        found = chosen(seed, results(OURS, function, *(lx.asarray(a) for a in arrays)), some)
        trees = {name: optree.tree_leaves(tree) for name, tree in found.items()}
        lx.step()
    return list(trees), [[np.asarray(leaf) for leaf in leaves] for leaves in trees.values()]


def differences(found, wanted, single):
    """Returns the names of results that differ, with the largest difference."""
    wrong = []
    for name, mine, their_name, theirs, changes in zip(*found, *wanted, strict=True):
        assert name == their_name and len(mine) == len(theirs), (name, their_name, len(mine), len(theirs))
        for a, b, change in zip(mine, theirs, changes):
            if a.shape != b.shape or a.dtype != b.dtype:
                wrong.append(f"{name}: {a.dtype}{a.shape}, JAX: {b.dtype}{b.shape}")
                continue
            scale = np.max(np.abs(b[np.isfinite(b)]), initial=1.0)
            tolerance = TOLERANCE * (SINGLE if single else 1)
            bound = tolerance * scale + AMPLIFIED * (change if np.isfinite(change) else 0)
            if not np.allclose(a, b, rtol=0, atol=bound, equal_nan=True):
                wrong.append(f"{name}: {np.max(np.abs(a - b)):.3g} of {scale:.3g}, bound {bound:.3g}")
    return wrong


def compared(function, arrays, seed, some, device, compiled):
    """Returns what differs from JAX, or from JAX's own computation what jaxpr_numpy.py computes."""
    found = ours(function, arrays, seed, some, device)
    evaluated = reference(function, arrays, seed, some, False)
    wrong = differences(found, evaluated, function.single)
    if wrong or compiled:
        wanted = reference(function, arrays, seed, some, True)
        wrong = differences(found, wanted, function.single)
        wrong += ["evaluated " + each for each in differences(evaluated[:2], wanted, function.single)]
    return wrong


def main():
    options = dict(each[2:].partition("=")[::2] for each in sys.argv[1:] if each.startswith("--"))
    count = int(next((each for each in sys.argv[1:] if not each.startswith("--")), 300))
    first, device = int(options.get("seed", 1)), options.get("device", "xla:0")
    some = int(options["some"]) if "some" in options else None
    failed = 0
    np.seterr(all="ignore")  # branches that are not selected may divide by zero
    for seed in range(first, first + count):
        function = written(seed)
        if "show" in options:
            print(f"seed {seed}, shapes {function.shapes}\n{function.text}", flush=True)
        try:
            arrays = arguments(seed, function.shapes)
            wrong = compared(function, arrays, seed, some, device, "compiled" in options)
        except Exception:
            wrong = [traceback.format_exc()]
        if (seed - first) % 50 == 49:
            jax.clear_caches()
            print(f"seed {seed}: {failed} failed", flush=True)
        if wrong:
            failed += 1
            print(f"FAIL seed {seed}, shapes {function.shapes}\n{function.text}" + "\n".join(wrong), flush=True)
    print(f"{count} functions, seeds from {first}, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
