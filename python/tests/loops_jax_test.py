"""Loops against JAX: loops_jax_test.py [NAME ...] [--steps=N] [--time].

Each loop of loops.py runs with lazyxla and with JAX, whose caches are cleared before. The values are equal; lazyxla
compiles at most two programs more than JAX in the iterations, and in the later half of them none more; no operation
runs twice; memory does not grow. `NAME` chooses the loops whose names contain it, `--steps=N` runs at most N iterations
of each. `--time` also prints the milliseconds of an iteration of the later half, those of JAX, and their ratio, of the
fastest of three runs in turns with ten times the iterations, in which a queue of work has become as long as it will;
nothing is asserted of them.

Needs jax, numpy, optree, and lazyxla in PYTHONPATH."""

import math
import sys
import time
import traceback
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

if sys.version_info < (3, 11):
    print("JAX 0.10.2 needs Python 3.11")
    sys.exit(77)  # ctest counts 77 as skipped
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "c_tests/abi"))
if "--time" not in sys.argv:
    import quick_jax  # noqa: F401 - first: JAX compiles quickly
import jax
import jax.numpy as jnp
import numpy as np
import run  # noqa: F401 - it names the plugin
from loops import LOOPS, OURS, Dialect, Seen
from loops import run as run_loop

COMPILED = "/jax/core/compile/backend_compile_duration"
compiled_by_jax = 0


def count(name, *_, **__):
    global compiled_by_jax
    compiled_by_jax += name == COMPILED


jax.monitoring.register_event_duration_secs_listener(count)


class Optimizer(NamedTuple):
    init: Any
    update: Any


def adamw(rate, b1=0.9, b2=0.999, eps=1e-8, weight_decay=0.01):
    """Adam with decoupled weight decay, by the interface of lazyxla.optim; it is written in JAX."""

    def init(params, on_device=False):
        zeros = jax.tree.map(jnp.zeros_like, params)
        return (jnp.asarray(0) if on_device else 0), zeros, zeros

    def update(grads, state, params):
        steps, mean, square = state
        mean = jax.tree.map(lambda m, g: b1 * m + (1 - b1) * g, mean, grads)
        square = jax.tree.map(lambda v, g: b2 * v + (1 - b2) * g * g, square, grads)
        now = rate(steps) if callable(rate) else rate
        of_mean, of_square = 1 - b1 ** (steps + 1), 1 - b2 ** (steps + 1)

        def moved(p, m, v):
            return p - now * (m / of_mean / (jnp.sqrt(v / of_square) + eps) + weight_decay * p)

        return jax.tree.map(moved, params, mean, square), (steps + 1, mean, square)

    return Optimizer(init, update)


def cosine_schedule(peak, steps, warmup):
    def rate(count):
        done = jnp.minimum((count - warmup) / (steps - warmup), 1.0)
        return jnp.where(count < warmup, (count + 1) * peak / warmup, (jnp.cos(done * math.pi) + 1) * peak / 2)

    return rate


THEIRS = Dialect(
    lambda: Seen(time.perf_counter(), compiled_by_jax),
    np=jnp,
    **{name: getattr(jax, name) for name in ("jit", "grad", "value_and_grad", "hessian", "vmap", "random")},
    **{name: getattr(jax.lax, name) for name in ("scan", "cond", "while_loop")},
    nn=SimpleNamespace(
        softmax=jax.nn.softmax,
        log_softmax=jax.nn.log_softmax,
        logsumexp=jax.nn.logsumexp,
        one_hot=jax.nn.one_hot,
    ),
    linalg=jnp.linalg,
    optim=SimpleNamespace(
        adamw=adamw, adam=lambda rate: adamw(rate, weight_decay=0.0), cosine_schedule=cosine_schedule
    ),
    tree_map=jax.tree.map,
    put=lambda x, key, value: x.at[key].set(value),
)


def differences(found, wanted, tolerance):
    if len(found) != len(wanted):
        return [f"{len(found)} values, JAX: {len(wanted)}"]
    wrong = []
    for i, (mine, theirs) in enumerate(zip(found, wanted)):
        if mine.shape != theirs.shape:
            wrong.append(f"value {i}: shape {mine.shape}, JAX: {theirs.shape}")
            continue
        mine, theirs = mine.astype("float64"), theirs.astype("float64")
        bound = tolerance * max(1.0, np.max(np.abs(theirs), initial=0.0))
        if not np.allclose(mine, theirs, rtol=0, atol=bound):
            wrong.append(f"value {i}: {mine.ravel()[:4]}, JAX: {theirs.ravel()[:4]}")
    return wrong[:4] + [f"and {len(wrong) - 4} values more"] * (len(wrong) > 4)


def timed(loop, most):
    """Returns the seconds of an iteration here and in JAX."""
    for OURS.times in (10, 1):
        THEIRS.times = OURS.times
        try:
            runs = [[run_loop(loop, each, most).seconds for each in (OURS, THEIRS)] for _ in range(3)]
            break
        except IndexError:  # it goes through data that it has
            continue
    OURS.times = THEIRS.times = 1
    return map(min, zip(*runs))


def compared(name, loop, most, is_timed):
    """Prints the row of a loop; returns what is wrong with it."""
    jax.clear_caches()
    theirs, ours = run_loop(loop, THEIRS, most), run_loop(loop, OURS, most)
    wrong = differences(ours.values, theirs.values, loop.tolerance)
    if ours.compiled > theirs.compiled + loop.more:
        wrong.append(f"{ours.compiled} programs compiled, JAX: {theirs.compiled}")
    if ours.compiled_late > theirs.compiled_late:
        wrong.append(f"{ours.compiled_late} programs compiled in the later half, JAX: {theirs.compiled_late}")
    if ours.recomputed:
        wrong.append(f"{ours.recomputed} operations run again")
    if any(ours.growth):
        wrong.append("memory grew by {} tensors, {} bytes".format(*ours.growth))
    counts = (ours.compiled, theirs.compiled, ours.compiled_late, theirs.compiled_late, ours.recomputed)
    row = f"{name:<26}" + "".join(f"{each:>10}" for each in counts)
    if is_timed:
        mine, jaxs = timed(loop, most)
        row += f"{1e3 * mine:>10.3f}{1e3 * jaxs:>10.3f}{mine / jaxs:>10.2f}"
    print(row, flush=True)
    return wrong


def main():
    options = dict(each[2:].partition("=")[::2] for each in sys.argv[1:] if each.startswith("--"))
    names = [each for each in sys.argv[1:] if not each.startswith("--")]
    most, is_timed = int(options["steps"]) if "steps" in options else None, "time" in options
    chosen = {name: loop for name, loop in LOOPS.items() if not names or any(each in name for each in names)}
    failed = 0
    head = ["compiled", "JAX", "late", "JAX", "again", *(["ms", "JAX", "ratio"] if is_timed else [])]
    print(" " * 26 + "".join(f"{each:>10}" for each in head))
    for name, loop in chosen.items():
        try:
            wrong = compared(name, loop, most, is_timed)
        except Exception:
            wrong = [traceback.format_exc()]
        if wrong:
            failed += 1
            print(f"FAIL {name}: " + "\n     ".join(wrong), flush=True)
    print(f"{len(chosen)} loops, {failed} failed")
    sys.exit(failed > 0 or not chosen)


if __name__ == "__main__":
    main()
