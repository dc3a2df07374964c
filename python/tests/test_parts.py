"""Assignments to temporary arrays, which NumPy would write through to the array that they are views of, are errors;
assignments to all others are not. On both devices."""

import operator
import sys
import warnings

import numpy as np
from common import DEVICES, on, raises, random, same

import lazyxla as lx
from lazyxla import _parts

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
        # An error of the assignment itself comes before the error about the temporary array.
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


def warned(function, *args):
    """Returns the warnings of a call that changed a part."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        function(*args)
    return [str(each.message) for each in caught if "changed in place" in str(each.message)]


def added_to_diagonal(part, value):
    for i in range(part.shape[0]):
        part[i, i] += value


def set_on_diagonal(part, value):
    n = part.shape[0]
    for i in range(n):
        part[i, i] = value


def returned(part, value):
    part[0] = value
    return part


def read_later(part, value):
    part[0] = value
    for _ in range(2):
        if value:
            part[1] = value
    return float(lx.sum(part))


def read_after_an_error(part, value):
    try:
        part[0] = value
        raise KeyError
    except KeyError:
        return part


def held_by_another(part, value, held):
    held.append(part)
    part[0] = value


def taken_from_a_closure(x):
    part = x[0]
    inner = lambda: part
    part += 1.0
    return inner()


def changed_in_a_loop(x):
    total = x[0] * 0
    for i in range(3):
        part = x[i]
        part *= 2.0
        total = total + part
    return total


def thrown_away_in_a_loop(x):
    for i in range(3):
        part = x[i]
        part += 1.0
    return x


def slice_thrown_away(x):
    head = x[1:]
    head -= 1.0
    return x


def test_changes_of_parts_that_nothing_reads_are_warnings():
    for device in DEVICES:
        x = on(random(4, (3, 3)), device)
        before = np.asarray(x)
        # Others hold an argument by the stack of the caller, or lend it.
        of_parameters = (3, 11) <= sys.version_info < (3, 14)
        for function in (added_to_diagonal, set_on_diagonal):
            assert len(warned(lambda: function(x[:], 2.0))) == 3 * of_parameters, function
        assert len(warned(thrown_away_in_a_loop, x)) == 3
        (text,) = warned(slice_thrown_away, x)
        assert "x[0] += value" in text and "x[0] = part" in text
        same(x, before)


def test_changes_that_something_may_read_are_silent():
    for device in DEVICES:
        x, held = on(random(5, (3, 3)), device), []
        y = x.copy()
        assert not warned(added_to_diagonal, y, 2.0), "the caller holds the array"
        assert not warned(set_on_diagonal, *[y, 1.0])
        for function in (returned, read_later, read_after_an_error):
            assert not warned(lambda: function(x[0], 2.0)), function
        assert not warned(lambda: held_by_another(x[0], 2.0, held))
        same(held[0][0], np.float32(2))
        for function in (taken_from_a_closure, changed_in_a_loop):
            assert not warned(function, x), function
        state = on(np.zeros(3, "float32"), device)

        def loop(state):
            for _ in range(3):
                state += 1.0
            state[0] = 5.0

        assert not warned(loop, state)
        same(state, np.float32([5, 3, 3]))


def test_functions_that_change_a_temporary_argument_are_errors():
    if not _parts._is_told():
        return

    class Holder:
        pass

    holder = Holder()
    for device in ("cpu", "xla:0"):
        x, first = lx.zeros((3, 3), device=device), lx.asarray([1], device=device)
        holder.x = lx.zeros((2, 2), device=device)
        lost = [
            ("fill_diagonal", lambda x=x: lx.fill_diagonal(lx.fliplr(x), 1.0)),
            ("put_along_axis", lambda x=x, first=first: lx.put_along_axis(x[0], first, 5.0, 0)),
            ("add.at", lambda x=x: lx.add.at(x[0], 0, 1.0)),
            ("fill", lambda x=x: x.T.fill(3.0)),
        ]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for name, call in lost:
                raises(RuntimeError, call, f"{name}", "changes a temporary array", "x[0] = part")
            lx.fill_diagonal(x, 1.0)
            lx.add.at(x, (0, 0), 1.0)
            part = x[1]
            part.fill(4.0)
            x[1] = part
            assert x.tolist() == [[2, 0, 0], [4, 4, 4], [0, 0, 1]]
            assert lx.add.at(x[0], 0, 1.0, inplace=False).tolist() == [3, 0, 0]
            holder.x.fill(2.0)
            lx.fill_diagonal([holder.x][0], 3.0)
            assert holder.x.tolist() == [[3, 2], [2, 3]]
