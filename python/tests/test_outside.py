"""Jitted functions whose variables change: each change that jit sees leads to a new trace, in any folder of the package;
the values are those of the plain function."""

import collections
import dataclasses
import functools
import gc
import math
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import types
import warnings
import weakref
from pathlib import Path

import numpy as np
from common import raises, same

import lazyxla as lx
from lazyxla import _jit, _outside


def follows(function, *changes, jitted=None):
    """Asserts that a jitted function has the values of the plain one before and after changes, and is kept after."""
    x = lx.asarray([1.0, 3.0])
    jitted = lx.jit(function) if jitted is None else jitted
    values = []
    for change in (lambda: None, *changes):
        change()
        for _ in range(2):
            same(jitted(x), np.asarray(function(x)))
        values.append(np.asarray(jitted(x)).tolist())
    assert all(now != before for now, before in zip(values[1:], values, strict=False)), values
    assert jitted.kinds == 1, "the function is traced in each call"


def test_changes_behind_transformed_functions_are_seen():
    w, scale = lx.asarray([1.0, 2.0]), 2.0

    def loss(x):
        return lx.sum(x * x * w * scale)

    def change():
        nonlocal w, scale
        w, scale = w * 10, scale + 1

    follows(lx.grad(loss), change, jitted=lx.grad(lx.jit(loss)))
    follows(lx.grad(loss), change, jitted=lx.jit(lx.grad(loss)))
    follows(lx.checkpoint(loss), change, jitted=lx.checkpoint(lx.jit(loss)))
    follows(lx.vmap(loss), change, jitted=lx.vmap(lx.jit(loss)))
    mesh = lx.Mesh({"data": 1})
    mapped = lx.shard_map(lx.jit(lambda x: x * scale), mesh, "", "")
    follows(lambda x: x * scale, change, jitted=mapped)
    same(mapped(np.float32([1, 3])), np.float32([1, 3]) * np.float32(scale))
    raises(ValueError, lambda: lx.jit(lx.shard_map(lambda x: x * 2, mesh, "", ""))(lx.ones(2)), "xla:0", "lx.shard")
    follows(lambda x: x * scale, change, jitted=lx.jit(lambda x: lx.vmap(lambda x: x * scale)(x)))


def test_an_installed_package_sees_the_same_changes():
    package = Path(lx.__file__).parent
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "site-packages" / "lazyxla"
        copy.mkdir(parents=True)
        for path in package.iterdir():
            if path.suffix in (".py", ".so"):
                shutil.copy(path, copy)
            elif path.name == "lib":
                (copy / "lib").symlink_to(path.resolve())
        (copy.parent / "user_layers.py").write_text(
            "SCALE = 2.0\n\nclass Dense:\n    def __init__(self, w):\n        self.w = w\n\n"
            "    def __call__(self, x):\n        return x * self.w * SCALE\n"
        )
        text = (
            "import sys; sys.path.insert(0, sys.argv[1])\n"
            "import lazyxla as lx, test_jit, test_outside, user_layers\n"
            "assert 'site-packages' in lx.__file__\n"
            "test_outside.test_changes_behind_transformed_functions_are_seen()\n"
            "test_jit.test_variables_that_became_another_array_are_found()\n"
            "test_jit.test_transformations_of_jitted_functions_are_traced_once()\n"
            "layer = user_layers.Dense(lx.asarray([1.0, 2.0]))\n"
            "def change(): layer.w = layer.w * 3\n"
            "def setting(): user_layers.SCALE = 7.0\n"
            "test_outside.follows(lambda x: layer(x), change, setting)\n"
            "print('done')\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", text, str(Path(__file__).resolve().parent)],
            capture_output=True,
            text=True,
            timeout=300,
            cwd=folder,  # the working directory precedes PYTHONPATH
            env={**os.environ, "PYTHONPATH": str(copy.parent)},
        )
        assert done.returncode == 0 and done.stdout == "done\n", (done.stdout, done.stderr)


def test_attributes_are_found_wherever_objects_keep_them():
    @dataclasses.dataclass(slots=True)
    class Slots:
        w: object

    class Items:
        def __init__(self):
            self._parts = {"w": lx.asarray([1.0, 2.0])}

        def __getitem__(self, key):
            return self._parts[key]

        def __getattr__(self, name):
            if name not in self._parts:
                raise AttributeError(name)
            return self._parts[name]

        def __rmatmul__(self, x):
            return x * self._parts["w"]

        def set(self, value):
            self._parts["w"] = value

    class Number(float):
        factor = 3.0

    class Stored:
        def __get__(self, instance, owner):
            return instance.stored

    class Described:
        w = Stored()

        def __init__(self):
            self.stored = 2.0

        @functools.cached_property
        def twice(self):
            return self.stored * 2

    class Scaling(type):
        scale = 2.0

    class Scaled(metaclass=Scaling):
        pass

    slots, items, described = Slots(lx.asarray([1.0, 2.0])), Items(), Described()
    space, queue, plain = types.SimpleNamespace(w=2.0), collections.deque([2.0]), types.SimpleNamespace()
    later, numbers, numbers_of = Described(), {2.0}, {"w": 2.0}
    ten = lx.asarray([10.0, 20.0])
    follows(lambda x: x * slots.w, lambda: setattr(slots, "w", ten))
    follows(lambda x: x * items["w"], lambda: items.set(ten))
    follows(lambda x: x * items.w, lambda: items.set(2.0))
    follows(lambda x: x @ items, lambda: items.set(ten))
    follows(lambda x: x * described.w, lambda: setattr(described, "stored", 3.0))
    follows(lambda x: x * described.twice, lambda: setattr(described, "twice", 5.0))
    follows(lambda x: x * getattr(space, "w"), lambda: setattr(space, "w", 5.0))
    follows(lambda x: x * vars(space)["w"], lambda: setattr(space, "w", 7.0))
    follows(lambda x: x * queue[0], lambda: queue.appendleft(3.0))
    follows(lambda x: x * max(numbers), lambda: numbers.add(9.0))
    follows(lambda x: x * Scaled.scale, lambda: setattr(Scaling, "scale", 3.0))
    get, named = numbers_of.get, Number(2.0)
    follows(lambda x: x * get("w"), lambda: numbers_of.update(w=5.0))
    follows(lambda x: x * named.factor, lambda: setattr(named, "factor", 4.0))
    follows(lambda x: x + plain.b if hasattr(plain, "b") else x, lambda: setattr(plain, "b", 5.0))
    follows(lambda x: x + getattr(later, "b", 0.0), lambda: setattr(later, "b", 5.0))

    def tried(x):
        try:
            return x * later.c
        except AttributeError:
            return x

    follows(tried, lambda: setattr(later, "c", 5.0))
    assert hash(Slots) and not hasattr(slots, "__dict__")


def test_functions_are_followed_by_their_code():
    factors = [2.0]

    @functools.wraps(math.sin)
    def scaled(x):
        return x * factors[0]

    def change():
        factors[0] += 1

    follows(scaled, change)

    @functools.singledispatch
    def chosen(x):
        return scaled(x)

    follows(lambda x: chosen(x), change)
    follows(functools.partial(lambda y, x: scaled(x) + y, 1.0), change)

    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "outside_settings.py").write_text("SCALE = 2.0\n")
        sys.path.insert(0, folder)
        try:

            def local(x):
                import outside_settings

                return x * outside_settings.SCALE

            def taken(x):
                from outside_settings import SCALE

                return x * SCALE

            for function in (local, taken):
                follows(function, lambda: setattr(sys.modules["outside_settings"], "SCALE", 7.0))
                sys.modules["outside_settings"].SCALE = 2.0
        finally:
            sys.path.remove(folder)


def test_a_trace_that_changed_something_is_not_kept():
    class Lazy:
        w = None

        def __call__(self, x):
            if self.w is None:
                self.w = lx.asarray(np.ones(2, "float32"))
            return x * self.w

    lazy, x = Lazy(), lx.asarray([1.0, 3.0])
    jitted = lx.jit(lambda x: lazy(x))
    assert jitted(x).tolist() == [1, 3] and jitted.kinds == 0
    assert jitted(x).tolist() == [1, 3] and jitted.kinds == 1
    lazy.w = lazy.w * 10
    assert jitted(x).tolist() == [10, 30]
    lazy.w += 1
    assert jitted(x).tolist() == [11, 33]

    state = {"steps": 0.0}

    def counting(x):
        state["steps"] += 1.0
        return x * state["steps"]

    jitted = lx.jit(counting)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert [jitted(x).tolist()[0] for _ in range(12)] == list(range(1, 13))
    assert len(caught) == 1 and "'state'" in str(caught[0].message) and "in each call" in str(caught[0].message)

    # Another thread changes a variable while the function is traced.
    begun, changed = threading.Event(), threading.Event()
    model = types.SimpleNamespace(w=lx.asarray([1.0, 1.0]))

    def slow(x):
        w = model.w
        begun.set()
        changed.wait(30)
        return x * w

    def other():
        begun.wait(30)
        model.w = lx.asarray([5.0, 5.0])
        changed.set()

    jitted, thread = lx.jit(slow), threading.Thread(target=other)
    thread.start()
    assert jitted(x).tolist() == [1, 3]
    thread.join()
    assert jitted(x).tolist() == [5, 15]


def test_a_function_that_reaches_too_much_is_traced_in_each_call():
    parts = [{"w": 1.0} for _ in range(300)]
    before, _outside._MOST = _outside._MOST, 200
    try:
        jitted, x = lx.jit(lambda x: x * math.prod(part["w"] for part in parts)), lx.asarray([1.0, 3.0])
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for last in (1.0, 3.0, 4.0):
                parts[-1]["w"] = last
                assert jitted(x).tolist() == [last, 3 * last] and jitted.kinds == 0
        assert len(caught) == 1 and "too many variables" in str(caught[0].message)
    finally:
        _outside._MOST = before
    follows(lambda x: x * math.prod(part["w"] for part in parts), lambda: parts[-1].update(w=7.0))
    deep = inner = [2.0]
    for _ in range(3000):
        deep = [deep]

    def deepest(x):
        found = deep
        while isinstance(found, list):
            found = found[0]
        return x * found

    jitted = lx.jit(deepest)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for inner[0] in (2.0, 5.0):
            assert jitted(x).tolist() == [inner[0], 3 * inner[0]]
    assert len(caught) == 1 and "too many variables" in str(caught[0].message)


def test_arguments_that_are_equal_but_not_the_same_have_traces_of_their_own():
    @dataclasses.dataclass(frozen=True)
    class Layer:
        n: int
        w: object = dataclasses.field(compare=False)

        @lx.jit
        def apply(self, x):
            return x * self.w

    x = lx.asarray([1.0, 3.0])
    first, second = Layer(2, lx.asarray([1.0, 2.0])), Layer(2, lx.asarray([5.0, 5.0]))
    assert first == second and first.apply(x).tolist() == [1, 6] and second.apply(x).tolist() == [5, 15]
    kind = lx.jit(lambda x, s: x * 0 + (7 if isinstance(next(iter(s)), float) else 3))
    for _ in range(2):
        assert kind(x, frozenset({1})).tolist() == [3, 3]
        assert kind(x, frozenset({1.0})).tolist() == [7, 7]
    assert kind.kinds == 2
    keys = lx.jit(lambda tree: {key: x * (7 if isinstance(key, float) else 3) for key, x in tree.items()})
    for _ in range(2):
        assert keys({1: x})[1].tolist() == [3, 9]
        assert keys({1.0: x})[1.0].tolist() == [7, 21]
        assert [type(key) for key in keys({True: x})] == [bool]
    assert keys.kinds == 3
    first_key = lx.jit(lambda tree, **named: next(iter(tree.values())) + next(iter(named.values())) * 10)
    for _ in range(2):
        assert first_key({"a": x, "b": x * 2}, p=x, q=x * 2).tolist() == [11, 33]
        assert first_key({"b": x * 2, "a": x}, p=x, q=x * 2).tolist() == [12, 36]
        assert first_key({"a": x, "b": x * 2}, q=x * 2, p=x).tolist() == [21, 63]
    assert first_key.kinds == 3
    element = lx.jit(lambda x, s: x * next(iter(s)))
    for numbers in (frozenset([0, 8]), frozenset([8, 0])):
        assert element(x, numbers).tolist() == [next(iter(numbers)), 3 * next(iter(numbers))]
    method = lx.jit(lambda function, x: function(x))
    for _ in range(3):
        assert method(first.apply, x).tolist() == [1, 6]
    assert method.kinds == 1, "a bound method is an object of its own each time"


def test_computations_of_objects_that_are_gone_are_dropped():
    class Layer:
        def __init__(self, w):
            self.w = w

        @lx.jit
        def apply(self, x):
            return x * self.w

    x, kept, gone = lx.asarray(2.0, device="cpu"), Layer(lx.asarray(3.0, device="cpu")), []
    assert float(kept.apply(x)) == 6
    before = Layer.apply.kinds
    for i in range(10):
        layer = Layer(lx.full((100,), float(i), device="cpu"))
        assert layer.apply(x).tolist() == [2.0 * i] * 100
        gone += [weakref.ref(layer), weakref.ref(layer.w)]
        del layer
    gc.collect()
    assert all(each() is None for each in gone) and Layer.apply.kinds == before == 1
    assert float(kept.apply(x)) == 6

    w, gone = lx.ones((7,), device="cpu"), []
    jitted = lx.jit(lambda x: x * w)
    for n in range(5):
        jitted(lx.ones((n + 2, 7), device="cpu"))
        gone.append(weakref.ref(w))
        w = w * 2
    jitted(lx.ones((2, 7), device="cpu"))
    gc.collect()
    assert all(each() is None for each in gone) and jitted.kinds == 1

    calls = np.zeros(1, int)

    def function(x, k):
        calls[0] += 1
        return x * k

    jitted, most = lx.jit(function), _jit._MOST_KINDS
    _jit._MOST_KINDS = 64
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for k in range(100):
                assert float(jitted(x, 7.5)) == 15 and float(jitted(x, k)) == 2 * k
    finally:
        _jit._MOST_KINDS = most
    assert jitted.kinds == 64 and calls[0] == 101, "the computation that each turn uses is not dropped"


def test_threads_with_many_kinds_of_arguments_share_a_jitted_function():
    class Factor:
        def __init__(self, k):
            self.k = k

    jitted, x, found = lx.jit(lambda x, factor, n: x * factor.k + n), lx.ones(2, device="cpu"), {}

    def work(i):
        kept = Factor(float(i))
        found[i] = [
            (jitted(x, kept, n).tolist(), jitted(x, Factor(2.0 * i), n % 3).tolist())
            == ([i + n] * 2, [2 * i + n % 3] * 2)
            for n in range(60)
        ]

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(found) == list(range(6)) and all(map(all, found.values())), found
    assert jitted.kinds <= 64 + 6
    assert any("compared by identity" in str(each.message) for each in caught), [str(each.message) for each in caught]


def test_wrong_changes_say_what_to_do():
    x = lx.asarray([1.0, 3.0])
    state = types.SimpleNamespace(w=lx.ones(2))

    def leaks(x):
        state.w = state.w * 0.5
        return x * state.w

    jitted = lx.jit(leaks)
    jitted(x)
    raises(RuntimeError, lambda: jitted(x).tolist(), "trace has ended")
