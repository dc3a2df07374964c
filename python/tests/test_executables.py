"""Functions that are compiled for a device, as objects."""

import os
import tempfile

import numpy as np
from common import DEVICES, on, raises, same

import lazyxla as lx


def test_values_and_structures_are_those_of_the_function():
    for device in DEVICES:
        for size in (0, 3, 40000):
            x, w = np.linspace(-1, 1, size, dtype=np.float32), np.float32([2, 3])
            scale = on(np.float32(10), device)

            def model(params, x, mode, *, bias=None):
                y = x * params["w"][0] + params["b"]
                return {"y": y * scale if mode == "scaled" else y, "none": bias, "sum": (lx.sum(y),)}

            params = {"w": on(w, device), "b": on(np.float32(1), device)}
            compiled = lx.compile(model, params, on(x, device), "scaled")
            assert compiled.device == params["w"].device
            for _ in range(3):
                found, wanted = (f(params, on(x, device), "scaled") for f in (compiled, model))
                assert found.keys() == wanted.keys() and found["none"] is None
                same(found["y"], np.asarray(wanted["y"]))
                same(found["sum"][0], np.asarray(wanted["sum"][0]))
            # Arrays of NumPy are copied to the device.
            same(compiled({"w": w, "b": np.float32(1)}, x, "scaled")["y"], np.asarray(wanted["y"]))
            raises(TypeError, lambda: compiled(params, on(x, device), "plain"), "'scaled' in place of 'plain'")
            raises(TypeError, lambda: compiled(params, on(x, device)), "structure")
            raises(ValueError, lambda: compiled(params, on(np.zeros(7, np.float32), device), "scaled"), "inputs[2]")


def test_a_compiled_function_compiles_once_and_is_not_changed_from_outside():
    w = lx.ones(3)
    compiled = lx.compile(lambda x: lx.sum(x * w), lx.ones(3))
    before = lx.counter("UncachedCompile")
    w *= 5
    assert [float(compiled(on(np.full(3, i, np.float32), "xla:0"))) for i in range(4)] == [0, 3, 6, 9]
    assert lx.counter("UncachedCompile") == before
    jitted = lx.compile(lx.jit(lambda x: lx.sum(x)), lx.ones(3))
    assert float(jitted(lx.ones(3))) == 3


def test_donated_arguments_are_consumed():
    def update(state, x):
        return state[0] + x, state[1] * 2

    x = lx.ones(5)
    compiled = lx.compile(update, (lx.zeros(5), lx.ones(5)), x, donate_argnums=0)
    assert [p["donated"] for p in compiled.description["parameters"]] == [True, True, False]
    state = (on(np.zeros(5, np.float32), "xla:0"), on(np.ones(5, np.float32), "xla:0"))
    first = state[0]
    before = lx.counter("DonatedBuffers")
    for _ in range(3):
        state = compiled(state, x)
    assert lx.counter("DonatedBuffers") >= before + 5
    same(state[0], np.full(5, 3, np.float32))
    same(state[1], np.full(5, 8, np.float32))
    raises(RuntimeError, lambda: first.tolist(), "donated to executable")
    raises(ValueError, lambda: lx.compile(update, state, x, donate_argnums=2), "donate_argnums: 2 given")


def test_a_saved_executable_is_loaded_for_any_device():
    w = on(np.float32([1, 2, 3]), "xla:0")
    compiled = lx.compile(lambda tree: (lx.sum(tree["a"] * w), tree["b"] - 1), {"a": lx.ones(3), "b": lx.ones(2)})
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model")
        compiled.save(path)
        for device in DEVICES:
            loaded = lx.load_executable(path, device=device)
            a, b = on(np.float32([1, 1, 2]), device), on(np.float32([5, 6]), device)
            for found in (loaded(a, b), loaded({"a": a, "b": b})):
                assert type(found) is tuple and float(found[0]) == 9
                same(found[1], np.float32([4, 5]))
            raises(TypeError, lambda: loaded(a), "takes 2 arrays, not 1")
        raises(OSError, lambda: lx.load_executable(path + "x"), "No such file")
        with open(path, "r+b") as file:
            file.truncate(100)
        raises(RuntimeError, lambda: lx.load_executable(path), "it is damaged")


def test_memory_and_cost_are_told():
    x = lx.ones((8, 16))
    compiled = lx.compile(lambda x: lx.sum(x @ x.T), x)
    assert compiled.memory["argument_bytes"] == 512 and compiled.memory["output_bytes"] >= 4
    # At least the product.
    assert compiled.cost["flops"] >= 2 * 8 * 16 * 8 and compiled.cost["bytes_accessed"] >= 512
    native = lx.compile(lambda x: lx.sum(x @ x.T), on(np.ones((8, 16), np.float32), "cpu"))
    assert native.memory is None and native.cost["source"] == "counted"
    # Product and sum.
    assert native.cost["flops"] == 2 * 8 * 16 * 8 + 64
    assert repr(native).startswith("<executable ") and native.device == lx.device("cpu")
    raises(TypeError, lambda: lx.compile(3, x), "compile(): fun is a function")


def test_what_sorts_and_has_run_is_saved_with_its_code():
    """A plugin may not serialize a program that sorts, once it has run."""
    x = np.float32([[3, 1], [2, 5]])
    compiled = lx.compile(lambda x: lx.sort(x, axis=0), on(x, "xla"))
    same(compiled(on(x, "xla")), np.sort(x, axis=0))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "sort.lxe")
        compiled.save(path)
        before = lx.counter("ExecutableRecompiled")
        loaded = lx.load_executable(path)
        same(loaded(on(x, "xla")), np.sort(x, axis=0))
        assert lx.counter("ExecutableRecompiled") == before


def test_executables_say_where_they_cannot_be_called():
    add = lx.compile(lambda x: x + 1, lx.ones(3))
    x = lx.ones(3)
    calls = (
        lambda: lx.jit(lambda x: add(x))(x),
        lambda: lx.grad(lambda x: lx.sum(add(x)))(x),
        lambda: lx.vmap(add)(lx.ones((2, 3))),
        lambda: lx.jvp(add, (x,), (x,)),
    )
    for call in calls:
        raises(RuntimeError, call, "traced", "Call the function that it was compiled from")
    assert lx.grad(lambda y: lx.sum(y * add(x)))(x).tolist() == [2, 2, 2]
    raises(TypeError, lambda: add(None), "takes arrays", "None")
    raises(TypeError, lambda: add("a"), "takes arrays", "str")
