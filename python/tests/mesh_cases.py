"""Meshes of four devices: run by test_meshes.py as a process of its own, since they are asked for before the first
array. Prints the names of the cases that passed."""

import gc
import os
import sys
import tempfile

import numpy as np
from common import raises, random, same

import lazyxla as lx

lx.initialize(device_count=4)
MESH = lx.Mesh({"data": 2, "model": 2})


def case_meshes_are_equal_by_their_axes_and_devices():
    again = lx.Mesh({"data": 2, "model": 2}, devices=[f"xla:{i}" for i in range(4)])
    assert again == MESH and hash(again) == hash(MESH) and again.device == MESH.device
    other = lx.Mesh({"model": 2, "data": 2})
    assert other != MESH and other.device != MESH.device
    assert MESH.axes == {"data": 2, "model": 2} and [str(each) for each in MESH.devices] == [
        f"xla:{i}" for i in range(4)
    ]
    assert repr(MESH) == "lazyxla.Mesh({'data': 2, 'model': 2})"
    assert repr(lx.Mesh({"a": 1}, devices=["xla:3"]).devices) == "[lazyxla.device('xla:3')]"
    raises(ValueError, lambda: lx.Mesh({"data": 8}))
    raises(ValueError, lambda: lx.Mesh({"data": 0}))
    raises(ValueError, lambda: lx.Mesh({"data": 2}, devices=["xla:0"]), "devices")
    raises(ValueError, lambda: lx.Mesh({"data": 2}, devices=["xla:0", "xla:0"]))
    raises(ValueError, lambda: lx.Mesh({"data": 1}, devices=["cpu"]), "XLA devices")
    raises(ValueError, lambda: lx.Mesh({"9": 1}))
    raises(TypeError, lambda: lx.Mesh([2, 2]))
    raises(TypeError, lambda: lx.Mesh({"data": "two"}), "{'data': 4}")
    raises(RuntimeError, lambda: lx.initialize(device_count=2), "once")


def case_compiled_functions_keep_the_shardings_of_their_arguments():
    a, w = np.arange(16, dtype=np.float32).reshape(8, 2), np.ones((2, 3), np.float32)
    x, weights = lx.shard(a, MESH, "data,-"), lx.shard(w, MESH, "-,-")
    step = lx.compile(lambda p, x: {"y": x @ p["w"], "sum": lx.sum(x)}, {"w": weights}, x)
    assert [of["sharding"] for of in step.description["parameters"]] == ["-,-", "data,-"]
    got = step({"w": weights}, x)
    same(got["y"], a @ w)
    assert float(got["sum"]) == a.sum()
    other = lx.shard(a, MESH, "-,-")
    raises(ValueError, lambda: step({"w": weights}, other), 'inputs[1]: it has the sharding "-,-"')
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "step.lxe")
        step.save(path)
        before = lx.counter("UncachedCompile")
        loaded = lx.load_executable(path, device=MESH.device)
        assert lx.counter("UncachedCompile") == before
        assert [of["sharding"] for of in loaded.description["parameters"]] == ["-,-", "data,-"]
        for got in (loaded(weights, x), loaded({"w": weights}, x)):
            same(got[1], a @ w)
            assert float(got[0]) == a.sum()
        raises(ValueError, lambda: loaded(weights, other), 'inputs[1]: it has the sharding "-,-"')
        raises(ValueError, lambda: lx.load_executable(path), "the program is for the mesh data=2,model=2")


def case_loaded_steps_take_their_own_results():
    """A result in the memory of a donated array has its sharding, also along axes of one device."""
    for axes, sharding in (({"a": 4, "b": 1}, "a,b"), ({"a": 1}, "a,-"), ({"data": 2, "model": 2}, "model,data")):
        mesh = lx.Mesh(axes, devices=[f"xla:{i}" for i in range(int(np.prod(list(axes.values()))))])
        a = np.arange(32, dtype=np.float32).reshape(8, 4)
        step = lx.compile(lambda x: x * 0.5, lx.shard(a, mesh, sharding), donate_argnums=(0,))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "step.lxe")
            step.save(path)
            loaded = lx.load_executable(path, device=mesh.device)
        for each in (step, loaded):
            x = first = lx.shard(a, mesh, sharding)
            for _ in range(3):
                x = each(x)
                assert lx.sharding(x) == sharding
            same(x, a / 8)
            raises(RuntimeError, lambda: each(first), "donated to executable")  # noqa: B023


def case_arrays_on_a_mesh_have_whole_shapes_and_shardings():
    a = random(1, (4, 6), "float64")
    for sharding in ("", "data,-", "-,model", "data,model", "data+model,-"):
        x = lx.shard(a, MESH, sharding)
        assert x.shape == (4, 6) and x.device == MESH.device
        assert lx.sharding(x) == (sharding or "-,-")
        same(x, a)
        same(lx.sin(x) @ x.T, np.sin(a) @ a.T, 1e-12)
        same(lx.shard(x, MESH, "-,-"), a)
    for start in ("cpu", "xla:2"):
        same(lx.shard(lx.asarray(a, device=start) + 1, MESH, "data,-"), a + 1)
    tree = lx.shard({"w": a, "none": None, "text": "t", "n": 3}, MESH, "data,-")
    assert lx.sharding(tree["w"]) == "data,-" and tree["none"] is None and tree["text"] == "t" and tree["n"] == 3
    x = lx.shard(a, MESH, "data,-")
    same(x.to_device("cpu"), a)
    same(lx.zeros((2, 2), device=MESH) + 1, np.ones((2, 2), "float32"))
    with lx.use_device(MESH.device):
        assert lx.ones(3).device == MESH.device
    raises(ValueError, lambda: lx.shard(a, MESH, "data"), "data")
    raises(ValueError, lambda: lx.shard(a[:3], MESH, "data,-"), "3")
    raises(ValueError, lambda: lx.shard(a, MESH, "rows,-"), "rows")
    raises(TypeError, lambda: lx.shard(a, {"data": 2}, "data,-"), "Mesh")
    raises(ValueError, lambda: lx.sharding(lx.ones(3, device="cpu")))
    raises(ValueError, lambda: x + lx.ones((4, 6), dtype=lx.float64, device="xla:0"))


def case_training_on_a_mesh_is_that_of_one_device():
    a, b, w = random(2, (8, 4), "float64"), random(3, (8, 2), "float64"), random(4, (4, 2), "float64")

    def loss(w, x, y):
        return lx.mean((lx.tanh(lx.shard(x, MESH, "data,-") @ w) - y) ** 2)

    step = lx.value_and_grad(lx.jit(loss))
    x, y, v = (lx.shard(each, MESH, sharding) for each, sharding in ((a, "data,-"), (b, "data,-"), (w, "-,model")))
    for _ in range(3):
        value, slope = step(v, x, y)
        t = np.tanh(a @ w)
        same(value, np.mean((t - b) ** 2), 1e-12)
        wanted = a.T @ ((t - b) * 2 / b.size * (1 - t * t))
        same(slope, wanted, 1e-12)
        v, w = v - slope, w - wanted
        lx.step()
    assert step.kinds == 1


def case_every_device_applies_the_function_to_its_pieces():
    a, w = random(5, (4, 8), "float64"), random(6, (8, 6), "float64")
    x, v = lx.shard(a, MESH, "data,model"), lx.shard(w, MESH, "model,-")

    def partial(x, w, scale):
        assert x.shape == (2, 4) and w.shape == (4, 6) and scale == 2
        return {"product": lx.collectives.all_reduce(x @ w, "model"), "none": None, "piece": x * scale}

    product = lx.shard_map(
        partial, MESH, ("data,model", "model,-", None), {"product": "data,-", "none": None, "piece": "data,model"}
    )
    out = product(x, v, 2)
    same(out["product"], a @ w, 1e-12)
    same(out["piece"], 2 * a)
    assert out["none"] is None and lx.sharding(out["piece"]) == "data,model"
    same(product(a, w, 2)["product"], a @ w, 1e-12)
    slope = lx.grad(lambda x: lx.sum(product(x, v, 2)["product"] ** 2))(x)
    same(slope, 2 * (a @ w) @ w.T, 1e-11)
    jitted = lx.shard_map(lx.jit(lambda x: lx.sum(x, axis=0, keepdims=True)), MESH, "data+model,-", "data+model,-")
    for scale in (1, 2):
        same(jitted(lx.shard(a * scale, MESH)), a * scale, 1e-12)
    assert jitted.kinds == 1


def case_collectives_move_elements_of_few_bits():
    co = lx.collectives
    for dtype in (lx.int4, lx.uint2, lx.float4_e2m1fn):
        # Pieces of 6 elements: an odd number of them in some rows.
        values = (np.arange(12).reshape(4, 3) % 4).astype("float32") - (3 if dtype == lx.int4 else 0)

        def on(function, out, dtype=dtype, values=values):
            x = lx.shard(lx.asarray(values).astype(dtype), MESH, "data,-")
            made = lx.shard_map(function, MESH, "data,-", out)(x)
            assert made.dtype == dtype
            return np.asarray(made.astype(lx.float32))

        same(on(lambda x: co.all_gather(x, "data"), ""), values)
        same(on(lambda x: co.all_to_all(x[:, :2], "data", split_axis=1, concat_axis=0), "-,data"), values[:, :2])
        same(on(lambda x: co.permute(x, "data", [(0, 1), (1, 0)]), "data,-"), np.roll(values, 2, 0))
        same(on(lambda x: co.all_reduce(x, "data", op="max"), ""), np.maximum(values[:2], values[2:]))


def case_collectives_are_those_of_numpy():
    a = random(7, (4, 4), "float64")
    x = lx.shard(a, MESH, "data,-")
    co = lx.collectives

    def on(function, inside="data,-", out="data,-"):
        return lx.shard_map(function, MESH, inside, out)(lx.shard(a, MESH, inside))

    for op, function in (("sum", np.sum), ("max", np.max), ("min", np.min), ("product", np.prod)):
        same(on(lambda x: co.all_reduce(x, "data", op=op), out=""), function(a.reshape(2, 2, 4), 0), 1e-12)
    same(on(lambda x: co.all_reduce(x, ("data", "model")), "data+model,-", ""), a.sum(0, keepdims=True), 1e-12)
    same(on(lambda x: co.all_gather(x, "data"), out=""), a)
    same(on(lambda x: co.all_gather(x, "data", axis=1), out=""), np.concatenate([a[:2], a[2:]], 1))
    same(on(lambda x: co.reduce_scatter(x, "data")), a[:2] + a[2:], 1e-12)
    swapped = on(lambda x: co.all_to_all(x, "data", split_axis=1, concat_axis=0), out="-,data")
    same(swapped, a)
    same(on(lambda x: co.permute(x, "data", [(0, 1), (1, 0)])), np.concatenate([a[2:], a[:2]]))
    same(on(lambda x: co.permute(x, "data", [(0, 1)])), np.concatenate([0 * a[:2], a[:2]]))
    index = lx.shard_map(
        lambda x: x * 0 + co.axis_index(MESH, "data+model").astype(lx.float64), MESH, "data+model", "data+model"
    )
    same(index(np.zeros(4)), np.arange(4.0))
    raises(ValueError, lambda: co.all_reduce(x, "data"))
    raises(ValueError, lambda: on(lambda x: co.all_reduce(x, "rows")), "rows")
    raises(ValueError, lambda: on(lambda x: co.all_reduce(x, "data", op="mean")), "mean")
    raises(ValueError, lambda: lx.shard_map(lambda x: x, MESH, "data", "data")(x), "data")
    raises(ValueError, lambda: lx.shard_map(lambda x: x, MESH, "rows,-", "rows,-")(x), "rows")
    raises(ValueError, lambda: lx.shard_map(lambda x: x, MESH, "data,-", "data,-")(a[:3]), "3")
    raises(ValueError, lambda: lx.shard_map(lambda x: x, MESH, ("data,-", ""), "data,-")(x), "in_shardings")
    raises(TypeError, lambda: lx.shard_map(lambda x: x, MESH, 3, "data,-")(x))
    raises(TypeError, lambda: lx.shard_map(lambda x: x, 3, "", ""), "Mesh")


def case_files_have_whole_arrays():
    a = random(8, (4, 4))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "a.safetensors")
        saving = lx.save_async(path, {"x": lx.shard(a, MESH, "data,model")}, metadata={"step": "1"})
        saving.wait()
        assert saving.done() and saving.progress() == (64, 64) and lx.load_metadata(path)["step"] == "1"
        same(lx.load(path, device="cpu")["x"], a)
        same(lx.shard(lx.load(path, device="cpu")["x"], MESH, "-,data"), a)


def case_no_tensor_is_leaked():
    def work():
        x = lx.shard(random(9, (4, 4)), MESH, "data,-")
        total = lx.shard_map(lambda x: lx.collectives.all_reduce(lx.sum(x), "data"), MESH, "data,-", "")
        float(lx.grad(lambda x: total(x) ** 2)(x)[0, 0])
        try:
            lx.shard_map(lambda x: 1 / 0, MESH, "data,-", "")(x)
        except ZeroDivisionError:
            pass
        lx.step(wait=True)
        gc.collect()

    work()
    alive = lx.counter("CreateTensor") - lx.counter("DestroyTensor")
    for _ in range(3):
        work()
    assert lx.counter("CreateTensor") - lx.counter("DestroyTensor") == alive


if __name__ == "__main__":
    for name, case in list(globals().items()):
        if name.startswith("case_") and (not sys.argv[1:] or any(each in name for each in sys.argv[1:])):
            case()
            print(name, flush=True)
