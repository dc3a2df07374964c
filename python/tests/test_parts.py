"""Assignments to temporary arrays, which NumPy would write through to the array that they are views of, are errors;
assignments to all others are not. On both devices."""

import operator

import numpy as np
from common import DEVICES, on, raises, random, same

import lazyxla as lx

LOST = (
    "x[0][1] = 2.0",
    "x[0][1] += 2.0",
    "x[1:][0] = 1.0",
    "x[0][1:3] = 2.0",
    "x[0][1:3] *= 2.0",
    "x[0][...] = 7.0",
    "x[0][:] = 7.0",
    "x[i][int(i) + max(i, 1)] -= 2.0",
    "x[0][x[0] > 0] = 1.0",
    "x[0][(lambda j: j)(1)] = 2.0",
    "x[0][None][0] = 2.0",
    "x.T[0] = 1.0",
    "x.mT[0, 1] = 2.0",
    "x.reshape(16)[0] = 1.0",
    "lx.ravel(x)[i] = 1.0",
    "held.x[0][1] = 2.0",
    "held.list[0][0][1] = 3.0",
    "_, x[0][0] = 1, 2.0",
    "(x + 1)[0][0] = 2.0",
)
KEPT = (
    "x[0, 1] = 2.0",
    "x[0] += 1.0",
    "x[0, 1] *= 3.0",
    "x[1:3, 0] = 5.0",
    "held.x[2] = 3.0",
    "held.x[i, 1:3] -= 1.0",
    "held.list[0][1] = 4.0",
    "held.list[i - 1][i] += 4.0",
    "held.list[0][1:3] = 4.0",
    "held.list[0][1 if i else 2] = 4.0",
    "{'a': x}['a'][0] = 6.0",
    "[x, None][0][1] = 7.0",
    "(x if i else None)[1] = 8.0",
    "_, x[0, 0] = 1, 2.0",
    "held.tree['w'][0][i] = 9.0",
)


class Held:
    def __init__(self, x):
        self.x, self.list, self.tree = x, [x], {"w": (x,)}


def run(text, x):
    """Runs an assignment by itself, in a function, and in a loop in one."""
    values = {"lx": lx, "x": x, "held": Held(x), "i": 1}
    exec(text, values)
    exec(f"def f(x, held, i):\n for _ in range(1):\n  {text}\nf(x, held, i)", values)


def test_assignments_to_temporary_arrays_are_refused():
    for device in DEVICES:
        x = on(random(1, (4, 4)), device)
        before = np.asarray(x)
        for text in LOST:
            raises(RuntimeError, lambda: run(text, x), "temporary array", "x[0, 1] = value", "x.at[0, 1].set(value)")
        same(x, before)

        def change(x):
            x[0][1] = 2.0
            return x

        raises(RuntimeError, lambda: lx.jit(change)(x), "temporary array")
        raises(RuntimeError, lambda: lx.grad(lambda x: lx.sum(change(x)))(x), "temporary array")
        raises(RuntimeError, lambda: lx.vmap(change)(x[None]), "temporary array")
        # What is wrong with the assignment itself is said first.
        raises(IndexError, lambda: run("x[0][9] = 1.0", x), "9")


def test_assignments_to_arrays_that_something_holds_are_those_of_numpy():
    for device in DEVICES:
        for text in KEPT:
            a = random(2, (4, 4))
            x = on(a, device)
            run(text, x)
            run(text, a)
            same(x, a, 1e-6)


def test_named_parts_and_calls_are_assigned_to():
    for device in DEVICES:
        a = random(3, (4, 4))
        x = on(a, device)
        part = x[0]
        part[1] = 2.0
        part[2:] += 1.0
        (row := x[1])[0] = 5.0
        operator.setitem(x[0], 1, 2.0)
        x[0].__setitem__(1, 2.0)
        list(map(lambda part: part.__setitem__(0, 1.0), [x[0], x[1]]))
        for each in (x[2], x[3]):
            each[0] = 3.0
            assert each[0].item() == 3
        wanted = a[0].copy()
        wanted[1] = 2
        wanted[2:] += 1
        same(part, wanted)
        same(row[0], np.float32(5))
        same(x, a)

        def changed(x):
            x = x.copy()
            x[0, 1] = 2.0
            part = x[0]
            part[0] = 1.0
            return x + part

        wanted = a.copy()
        wanted[0, 1] = 2
        row = wanted[0].copy()
        row[0] = 1
        same(lx.jit(changed)(x), wanted + row, 1e-6)
