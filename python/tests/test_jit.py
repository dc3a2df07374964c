"""Functions that are traced once: what they compute, when they are traced again; against NumPy, on both devices."""

import gc
import threading
import warnings

import numpy as np
from common import DEVICES, on, raises, random, same

import lazyxla as lx

SCALE = 2.0


class Calls:
    """Calls, counted where jit does not look: in an array of NumPy that is changed in place."""

    def __init__(self):
        self._count = np.zeros(1, int)

    def append(self, _):
        self._count += 1

    def clear(self):
        self._count[0] = 0

    def __len__(self):
        return int(self._count[0])


def counted(function):
    """Returns a function that counts its calls, which are traces, and the calls."""
    calls = Calls()

    def called(*args, **kwargs):
        calls.append(1)
        return function(*args, **kwargs)

    return called, calls


def test_a_function_is_traced_once_for_each_types_of_its_arguments():
    for device in DEVICES:
        function, calls = counted(lambda tree, y, power=2: {"a": tree["x"] ** power + y, "b": (y, None, "text")})
        jitted = lx.jit(function)
        a, b = random(1, (3, 4), "float64"), random(2, (4,), "float64")
        for shift in range(3):
            out = jitted({"x": on(a + shift, device)}, on(b, device))
            same(out["a"], (a + shift) ** 2 + b, 1e-12)
            same(out["b"][0], b)
            assert out["b"][1:] == (None, "text")
        assert len(calls) == 1
        same(jitted({"x": on(a, device)}, on(b, device), power=3)["a"], a**3 + b, 1e-12)
        same(jitted({"x": on(a[:2], device)}, on(b, device))["a"], a[:2] ** 2 + b, 1e-12)
        same(jitted({"x": on(a.astype("f4"), device)}, on(b.astype("f4"), device))["a"], (a**2 + b).astype("f4"), 1e-5)
        assert len(calls) == 4 and jitted.kinds == 4
        same(jitted({"x": a}, on(b, device))["a"], a**2 + b, 1e-12)
        same(jitted({"x": on(a, device)}, on(b, device), power=2)["a"], a**2 + b, 1e-12)
        assert len(calls) == 5, "the array of NumPy has a type that is known; power=2 is another structure"
        jitted.clear()
        assert jitted.kinds == 0


def test_constants_are_told_apart_by_their_types_and_bits():
    function, calls = counted(lambda x, k: lx.where(x > 0, x, k) if k is not None else x)
    jitted = lx.jit(function)
    x = lx.asarray([-1.0, 2.0])
    values = (0.0, -0.0, 1.0, 2.0, float("nan"), None)
    for _ in range(2):
        for value in values:
            found = np.asarray(jitted(x, value))
            wanted = np.float32([-1 if value is None else value, 2])
            np.testing.assert_array_equal(found, wanted)
            assert np.signbit(found[0]) == np.signbit(wanted[0])
    assert len(calls) == len(values)
    power, calls = counted(lambda x, k: x + k if isinstance(k, bool) else x * k)
    jitted = lx.jit(power)
    flags = lx.asarray([3, 4])
    assert jitted(flags, 2).tolist() == [6, 8] and len(calls) == 1
    assert jitted(flags, True).tolist() == [4, 5]
    assert len(calls) == 2


def test_arrays_from_outside_have_their_present_values_in_a_jitted_function():
    for device in DEVICES:
        a, b = random(3, (4,)), random(4, (4,))
        w, x = on(a, device), on(b, device)
        function, calls = counted(lambda x: (x * w, w, lx.sum(w)))
        jitted = lx.jit(function)
        same(jitted(x)[0], a * b, 1e-6)
        w += 1
        product, value, total = jitted(x)
        same(product, (a + 1) * b, 1e-6)
        same(value, a + 1)
        same(total, np.sum(a + 1), 1e-5)
        w[1] = 7.0
        a = np.asarray(w)
        same(jitted(x)[0], a * b, 1e-6)
        kept = jitted(x)[1]
        w *= 0
        same(kept, a)
        assert len(calls) == 1


def test_variables_that_became_another_array_are_found():
    for device in DEVICES:
        a, x = random(5, (3,)), on(random(6, (3,)), device)
        w = on(a, device)
        function, calls = counted(lambda x: x * w * SCALE)
        jitted = lx.jit(function)
        wanted = np.asarray(x) * a * 2
        same(jitted(x), wanted, 1e-6)
        w = w * 3
        same(jitted(x), 3 * wanted, 1e-6)
        same(jitted(x), 3 * wanted, 1e-6)
        assert len(calls) == 2
        global SCALE
        SCALE = 4.0
        try:
            same(jitted(x), 6 * wanted, 1e-6)
        finally:
            SCALE = 2.0
        same(jitted(x), 3 * wanted, 1e-6)
        assert len(calls) == 4

        class Model:
            bias = 1.0

            def __init__(self):
                self.layers = [{"w": on(a, device)}]
                self.unused = 0

            def __call__(self, x):
                return helper(self, x)

        def helper(model, x):
            calls.append(1)
            return x * model.layers[0]["w"] + model.bias

        model = Model()
        calls.clear()
        jitted = lx.jit(model.__call__)
        by_argument = lx.jit(lambda model, x: model(x))
        for run in (jitted, lambda x: by_argument(model, x)):
            calls.clear()
            same(run(x), wanted / 2 + 1, 1e-6)
            model.unused += 1
            same(run(x), wanted / 2 + 1, 1e-6)
            assert len(calls) == 1
            model.layers[0]["w"] = on(2 * a, device)
            same(run(x), wanted + 1, 1e-6)
            model.bias = 5.0
            same(run(x), wanted + 5, 1e-6)
            assert len(calls) == 3
            model.layers, model.bias = [{"w": on(a, device)}], 1.0


def test_a_function_that_reads_values_from_outside_is_traced_in_each_call():
    for device in DEVICES:
        w, x = on(np.float32(2), device), on(np.float32([1, 2]), device)
        function, calls = counted(lambda x: x * float(w))
        jitted = lx.jit(function)
        same(jitted(x), np.float32([2, 4]))
        w += 1
        same(jitted(x), np.float32([3, 6]))
        assert len(calls) == 2 and jitted.kinds == 0
        other = on(np.float32(3), "cpu" if device == "xla:0" else "xla:0")
        jitted = lx.jit(lambda x: x * other.to_device(device))
        same(jitted(x), np.float32([3, 6]))
        other += 1
        same(jitted(x), np.float32([4, 8]))
        raises(RuntimeError, lambda: lx.jit(lambda x: float(x[0]))(x), "float(x)")
        raises(RuntimeError, lambda: lx.jit(lambda x: x if float(w + 1) > 0 else w)(x), "float(x)")


def test_a_jitted_function_changes_no_arrays_from_outside():
    for device in DEVICES:
        w, x = on(np.float32([1, 2]), device), on(np.float32([3, 4]), device)

        def add(x):
            nonlocal w
            w += x
            return x

        jitted = lx.jit(add)
        for _ in range(2):
            raises(RuntimeError, lambda: jitted(x), "in place", "float32[2]")
            same(w, np.float32([1, 2]))

        def own(x):
            y = x.copy()
            y += 1
            y[0] = 0.0
            return y

        jitted = lx.jit(own)
        same(jitted(x), np.float32([0, 5]))
        same(jitted(x), np.float32([0, 5]))
        same(x, np.float32([3, 4]))

        def set_first(tree):
            tree["x"][0] = 0.0
            return tree["x"]

        for wrong in (lambda tree: tree["x"].__iadd__(1), set_first):
            jitted = lx.jit(wrong)
            for _ in range(2):
                raises(RuntimeError, lambda: jitted({"x": x}), "its arguments", "float32[2]", "x.copy()")
            same(x, np.float32([3, 4]))


def test_transformations_of_jitted_functions_are_traced_once():
    for device in DEVICES:
        a, w = random(7, (3,), "float64"), on(np.float64(2), device)
        x = on(a, device)
        function, calls = counted(lambda x, k=1.0: lx.sum(lx.sin(x) * w * k))
        jitted = lx.jit(function)
        gradient, both = lx.grad(jitted), lx.value_and_grad(jitted)
        hessian = lx.jit(
            lambda x: lx.vmap(lambda v: lx.jvp(lx.grad(jitted), (x,), (v,))[1])(
                lx.eye(3, dtype=lx.float64, device=device)
            )
        )
        batched = lx.vmap(gradient)
        saved = lx.grad(lx.checkpoint(jitted))
        for turn in range(3):
            scale = 2 + turn
            same(gradient(x), scale * np.cos(a), 1e-12)
            value, slope = both(x, k=3.0)
            same(value, np.sum(scale * np.sin(a) * 3), 1e-12)
            same(slope, scale * 3 * np.cos(a), 1e-12)
            same(hessian(x), np.diag(-scale * np.sin(a)), 1e-12)
            same(batched(x[None] * on(np.float64([[1], [2]]), device)), scale * np.cos(np.stack([a, 2 * a])), 1e-12)
            same(saved(x), scale * np.cos(a), 1e-12)
            out, pullback = lx.vjp(jitted, x)
            same(out, np.sum(scale * np.sin(a)), 1e-12)
            same(pullback(2.0)[0], 2 * scale * np.cos(a), 1e-12)
            out, slope = lx.jvp(jitted, (x,), (x,))
            same(slope, np.sum(scale * np.cos(a) * a), 1e-12)
            if turn == 0:
                before = len(calls)
            w += 1
        assert len(calls) == before, (before, len(calls))
        assert isinstance(gradient, type(jitted)) and gradient.kinds == 1
        # A float that is differentiated by is not a constant.
        cube = lx.grad(lx.jit(lambda x: x**3))
        assert [float(cube(float(i))) for i in range(4)] == [0, 3, 12, 27] and cube.kinds == 1


def test_loops_and_branches_take_jitted_functions():
    for device in DEVICES:
        a, h = random(8, (5, 3), "float64"), random(9, (3,), "float64")
        function, calls = counted(lambda carry, x: (lx.tanh(carry + x), carry * 2))
        step = lx.jit(function)
        for _ in range(2):
            last, ys = lx.scan(step, on(h, device), on(a, device))
            state, wanted = h, []
            for row in a:
                wanted.append(2 * state)
                state = np.tanh(state + row)
            same(last, state, 1e-12)
            same(ys, np.stack(wanted), 1e-12)
        assert len(calls) == 1
        twice, calls = counted(lambda x: x * 2)
        twice = lx.jit(twice)
        for flag in (True, False):
            same(lx.cond(on(np.bool_(flag), device), twice, lambda x: x, on(h, device)), h * 2 if flag else h)
        assert int(lx.while_loop(lambda n: n < 100, twice, on(np.int64(3), device))) == 192
        assert len(calls) == 2


def test_jitted_functions_nest():
    for device in DEVICES:
        a = random(10, (3,))
        w, x = on(a, device), on(random(11, (3,)), device)
        inner, calls = counted(lambda x: x * w)
        inner = lx.jit(inner)
        outer = lx.jit(lambda x: inner(x) + inner(x + 1) + w)
        for scale in (1, 2, 3):
            b = np.asarray(x)
            same(outer(x), (b + b + 1) * a * scale + a * scale, 1e-5)
            same(inner(x), b * a * scale, 1e-5)
            w += on(a, device)
        assert len(calls) == 1 and outer.kinds == inner.kinds == 1
        # Variables of the outer function belong to one call, so the inner trace is not kept.
        kept = {}
        leaky = lx.jit(lambda x: x * kept["w"])

        def around(x):
            kept["w"] = x + 1
            return leaky(x)

        around = lx.jit(around)
        same(around(x), b * (b + 1), 1e-6)
        assert leaky.kinds == 0
        kept["w"] = w
        same(leaky(x), b * np.asarray(w), 1e-6)


def test_methods_and_rules_may_be_jitted():
    class Layer:
        def __init__(self, w):
            self.w = w

        @lx.jit
        def apply(self, x):
            return x * self.w

    first, second = Layer(lx.asarray(2.0)), Layer(lx.asarray(3.0))
    x = lx.asarray([1.0, 2.0])
    assert first.apply(x).tolist() == [2, 4] and second.apply(x).tolist() == [3, 6]
    first.w = lx.asarray(5.0)
    assert first.apply(x).tolist() == [5, 10] and second.apply(x).tolist() == [3, 6]

    @lx.custom_vjp
    def clipped(x):
        return x * 1

    clipped.defvjp(lambda x: (clipped(x), ()), lambda residuals, ct: (lx.clip(ct, -1, 1),))
    gradient = lx.jit(lx.grad(lambda x: lx.sum(5 * clipped(x))))
    assert gradient(x).tolist() == [1, 1] and gradient(x).tolist() == [1, 1]
    clipped.defvjp(lambda x: (x, ()), lambda residuals, ct: (ct * 2,))
    assert gradient(x).tolist() == [10, 10]


def test_default_devices_are_a_part_of_the_types():
    jitted = lx.jit(lambda: lx.zeros(2) + 1)
    assert str(jitted().device) == "xla:0" and jitted().tolist() == [1, 1]
    with lx.use_device("cpu"):
        assert str(jitted().device) == "cpu" and jitted().tolist() == [1, 1]
    assert jitted.kinds == 2


def test_wrong_uses_of_jit_say_what_to_do():
    x = lx.ones(3)
    jitted = lx.jit(lambda x, *rest: x + 1)
    raises(TypeError, lambda: lx.jit(3), "int")
    for wrong in ({1, 2}, (i for i in range(3)), iter([1]), bytearray(3)):
        raises(TypeError, lambda: jitted(x, wrong), type(wrong).__name__)
    raises(TypeError, lambda: lx.jit(lambda x: 1 and None)(x), "at least one array")
    raises(TypeError, lambda: lx.jit(lambda x: {1})(x), "set")
    raises(ZeroDivisionError, lambda: lx.jit(lambda x: x / (1 // 0))(x))
    raises(TypeError, lambda: jitted(), "argument")
    same(jitted(x), np.float32([2, 2, 2]))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for i in range(70):
            jitted(x, i)
        assert len(caught) == 1 and "64 kinds" in str(caught[0].message) and jitted.kinds == 71
        w = [x]
        moving = lx.jit(lambda x: x + w[0])
        for _ in range(12):
            w[0] = w[0] + 1
            moving(x)
        assert len(caught) == 2 and "'w'" in str(caught[1].message), [str(each.message) for each in caught]


def test_threads_share_a_jitted_function():
    w = lx.ones((20,))
    jitted = lx.jit(lambda x, k: lx.sum(x * w * k))
    found = {}

    def work(i):
        x = lx.full((20,), float(i), device="xla:0")
        found[i] = [float(jitted(x, k % 3)) for k in range(30)]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(found[i] == [20.0 * i * (k % 3) for k in range(30)] for i in range(6)), found


def test_a_jitted_function_keeps_no_tensors_of_its_calls():
    def work():
        for device in DEVICES:
            w, x = on(random(12, (4,)), device), on(random(13, (4,)), device)
            jitted = lx.jit(lambda x: lx.sum(lx.tanh(x * w)))
            lx.grad(jitted)(x).tolist()
            lx.vjp(jitted, x)[1](1.0)
            lx.jit(lambda x: x * w.tolist()[0])(x)
            for wrong in (lambda x: 1 / 0, lambda x: float(x), lambda x: w.__iadd__(x)):
                try:
                    lx.jit(wrong)(x)
                except (ZeroDivisionError, RuntimeError, TypeError):
                    pass
        lx.step(wait=True)
        gc.collect()

    work()
    alive = lx.counter("CreateTensor") - lx.counter("DestroyTensor")
    for _ in range(4):
        work()
    assert lx.counter("CreateTensor") - lx.counter("DestroyTensor") == alive
    jitted = lx.jit(lambda x: lx.sum(x * x))
    x = on(np.ones(5, "float32"), "xla:0")
    jitted(x).tolist()
    alive = lx.counter("CreateTensor") - lx.counter("DestroyTensor")
    compiled = lx.counter("UncachedCompile")
    for _ in range(5):
        assert jitted(x).tolist() == 5
    assert lx.counter("CreateTensor") - lx.counter("DestroyTensor") == alive
    assert lx.counter("UncachedCompile") == compiled
