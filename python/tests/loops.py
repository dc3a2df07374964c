"""Loops of training and inference, as users of JAX write them: once for this package and for JAX.

A loop is a function of a dialect `m`: `m.np` has the functions of arrays, `m.jit`, `m.grad` and the others are those of
the library, `m.steps(n)` counts iterations. `OURS` is the dialect of this package; loops_jax_test.py has that of JAX.
A loop returns a tree of arrays and numbers. `run` reads it, and counts what the library did in the iterations."""

import gc
import inspect
import statistics
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

import loops_inference
import loops_models
import loops_numerical
import loops_training
import numpy as np
import optree

import lazyxla as lx


def put(x, key, value):
    """Returns a copy of an array with a value in a place."""
    x = x.copy()
    x[key] = value
    return x


class Seen(NamedTuple):
    """What a library has compiled until a time, in seconds, and holds then."""

    time: float
    compiled: int
    tensors: int = 0
    bytes: int = 0


class Dialect(SimpleNamespace):
    """Functions that a loop calls as `m`. `most` limits the iterations of a loop, which has `times` as many; `seen` has
    what `measure` returned at the start of each iteration, and after the last."""

    def __init__(self, measure, **names):
        super().__init__(measure=measure, most=None, times=1, seen=[], **names)

    def steps(self, count):
        """Returns the numbers of the iterations."""
        self.seen.clear()
        try:
            for i in range(self.times * (count if self.most is None else min(count, self.most))):
                self.seen.append(self.measure())
                yield i
        finally:
            self.seen.append(self.measure())  # also where the loop is left by `break`


def measure():
    tensors = lx.counter("CreateTensor") - lx.counter("DestroyTensor")
    return Seen(time.perf_counter(), lx.counter("UncachedCompile"), tensors, lx.counter("LiveBytes"))


OURS = Dialect(
    measure,
    np=lx,
    **{name: getattr(lx, name) for name in ("jit", "grad", "value_and_grad", "hessian", "vmap", "scan", "cond")},
    **{name: getattr(lx, name) for name in ("while_loop", "random", "nn", "optim", "linalg")},
    tree_map=optree.tree_map,
    put=put,
)


class Loop(NamedTuple):
    """A loop: `tolerance` of its values beside the largest; `grows` if it keeps an array of each iteration; `more` is the
    number of programs that this package may compile beyond those of JAX."""

    function: Callable[[Any], Any]
    tolerance: float = 1e-4
    grows: bool = False
    more: int = 2


def loops_of(module):
    """Yields the loops of a module: its functions of a dialect alone, in the order of the file."""
    for name, function in vars(module).items():
        is_own = inspect.isfunction(function) and function.__module__ == module.__name__
        if is_own and [*inspect.signature(function).parameters] == ["m"]:
            yield name, Loop(function)


LOOPS = {
    name: loop
    for module in (loops_training, loops_models, loops_numerical, loops_inference)
    for name, loop in loops_of(module)
}
LOOPS |= {
    "losses_after": Loop(loops_training.losses_after, grows=True),
    "losses_stacked": Loop(loops_training.losses_stacked, grows=True),
    "loss_scale": Loop(loops_models.loss_scale, tolerance=5e-3),  # float16
    # The indices of the last mask wait for their use, and their number changes.
    "k_means_by_masks": Loop(loops_numerical.k_means_by_masks, grows=True),
}


class Run(NamedTuple):
    """What a loop returned, as arrays of NumPy; how many programs were compiled in its iterations and by reading that,
    how many in the later half of the iterations, and how many operations ran again; the tensors and bytes by which its
    memory grew; and the seconds of an iteration of the later half, the median."""

    values: list[np.ndarray]
    compiled: int
    compiled_late: int
    recomputed: int
    growth: tuple[int, int]
    seconds: float


def run(loop, m=OURS, most=None):
    """Runs a loop, and at most `most` of its iterations. A loop that does not count them by `m.steps` is measured as a
    whole, with what precedes it."""
    gc.collect()
    lx.step(wait=True)
    m.most, recomputed = most, lx.counter("RecomputedOps")
    m.seen[:] = [m.measure()]
    values = [np.asarray(leaf) for leaf in optree.tree_leaves(loop.function(m))]
    recomputed, compiled = lx.counter("RecomputedOps") - recomputed, m.measure().compiled - m.seen[0].compiled
    later = m.seen[len(m.seen) // 2 :]
    late = later[-1].compiled - later[0].compiled
    times = [after.time - before.time for before, after in zip(later, later[1:])]
    seconds = statistics.median(times) if times else float("nan")
    return Run(values, compiled, late, recomputed, (0, 0) if loop.grows else growth(m.seen), seconds)


def growth(seen):
    """Returns how many tensors and bytes the last quarter of a loop has more than the second one, or 0. Work that is
    under way holds some, so that iterations differ: the least of the last are compared with the most of the second."""
    quarter = len(seen) // 4
    if quarter < 3:
        return 0, 0
    before, after = seen[quarter : 2 * quarter], seen[-quarter:]
    tensors = min(each.tensors for each in after) - max(each.tensors for each in before)
    return max(0, tensors), max(0, min(each.bytes for each in after) - max(each.bytes for each in before))
