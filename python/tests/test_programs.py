"""Programs of other frameworks: imported, called, differentiated, exported and imported again; files in the
background."""

import gc
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
import zipfile
from pathlib import Path

import numpy as np
from common import DEVICES, on, raises, random, same

import lazyxla as lx

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
DIGITS = EXAMPLES / "models/digits.jax"
PYTORCH = Path(__file__).resolve().parents[2] / "c_tests/programs/pytorch"


def test_a_network_of_jax_is_imported_called_and_differentiated():
    rows = np.loadtxt(EXAMPLES / "data/digits.csv", delimiter=",", dtype="float32")[4::5]
    pixels, labels = rows[:, :-1] / 16, rows[:, -1].astype("int64")
    program = lx.import_program(DIGITS, shapes=[(len(rows), 64)])
    assert [w.shape for w in program.weights] == [(3, 3, 1, 16), (16,), (3, 3, 16, 32), (32,), (128, 10), (10,)]
    for device in DEVICES:
        x, y = on(pixels, device), on(labels, device)
        scores = program(x)
        assert np.mean(np.argmax(np.asarray(scores), -1) == labels) > 0.97
        weights = [w.to_device(device) for w in program.weights]
        same(program(x, weights=weights), np.asarray(scores), 1e-4)
        same(program(pixels[:3]), np.asarray(scores)[:3], 1e-4)

        def loss(bias, k=None):
            out = program(x[:k], weights=[*weights[:-1], bias])
            return -lx.mean(lx.take_along_axis(lx.nn.log_softmax(out), y[:k, None], axis=-1))

        # The gradient by the last bias is the mean of softmax - one_hot.
        shifted = np.asarray(scores, "float64")
        p = np.exp(shifted - shifted.max(-1, keepdims=True))
        p /= p.sum(-1, keepdims=True)
        wanted = np.mean(p - np.eye(10)[labels], 0).astype("float32")
        same(lx.grad(loss)(weights[-1]), wanted, 1e-5)
        same(lx.grad(lx.jit(loss))(weights[-1]), wanted, 1e-5)
        same(lx.jit(program)(x), np.asarray(scores), 1e-4)
        batched = lx.vmap(lambda row: program(row[None])[0])(x[:5])
        same(batched, np.asarray(scores)[:5], 1e-4)
    raises(TypeError, lambda: program(x, x), "takes 1 arrays")
    raises(ValueError, lambda: program(x, weights=weights[1:]), "5 weights")
    raises(ValueError, lambda: program(x[:, :63]))
    raises(ValueError, lambda: lx.import_program(DIGITS), "shapes")
    raises(ValueError, lambda: lx.import_program(DIGITS, shapes=[(3, 65)]))
    raises(FileNotFoundError, lambda: lx.import_program("nowhere.mlir"), "nowhere.mlir")
    with tempfile.NamedTemporaryFile(suffix=".mlir") as file:
        file.write(b"func.func nonsense")
        file.flush()
        raises(ValueError, lambda: lx.import_program(file.name))


def test_a_program_of_pytorch_is_imported_and_differentiated():
    with np.load(PYTORCH / "mlp.npz") as file:
        values = {key: file[key] for key in file.files}
    program = lx.import_program(PYTORCH / "mlp.pt2", shapes=[values["input.0"].shape])
    gradients = [value for key, value in values.items() if key.startswith("grad.")]
    assert [w.shape for w in program.weights] == [g.shape for g in gradients]
    for device in DEVICES:
        x, target = on(values["input.0"], device), on(values["target.0"], device)
        same(program(x), values["output.0"], 1e-5)
        weights = [w.to_device(device) for w in program.weights]
        loss = lambda weights: lx.mean((program(x, weights=weights) - target) ** 2)
        value, found = lx.value_and_grad(loss)(weights)
        same(value, values["loss"], 1e-5)
        for made, wanted in zip(found, gradients, strict=True):
            same(made, wanted, 1e-4)
        # Other sizes of the batch, which is free.
        same(program(on(values["input2.0"], device)), values["output2.0"], 1e-5)
    raises(ValueError, lambda: lx.import_program(PYTORCH / "mlp.pt2"), "shapes")
    raises(ValueError, lambda: lx.import_program(PYTORCH / "mlp.npz"), "torch.export.save")


def with_dropout(path, to):
    """Writes an archive of PyTorch whose result is dropped by a half, as in train mode."""
    node = {
        "target": "torch.ops.aten.dropout.default",
        "inputs": [
            {"name": "input", "kind": 1},
            {"name": "p", "arg": {"as_float": 0.5}, "kind": 1},
            {"name": "train", "arg": {"as_bool": True}, "kind": 1},
        ],
        "outputs": [{"as_tensor": {"name": "dropped"}}],
        "metadata": {},
    }
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(to, "w") as new:
        for entry in old.namelist():
            data = old.read(entry)
            if entry.endswith("/models/model.json"):
                program = json.loads(data)
                graph = program["graph_module"]["graph"]
                node["inputs"][0]["arg"] = dict(graph["outputs"][0])
                graph["nodes"].append(node)
                graph["outputs"][0] = {"as_tensor": {"name": "dropped"}}
                program["graph_module"]["signature"]["output_specs"][0]["user_output"]["arg"] = graph["outputs"][0]
                data = json.dumps(program)
            new.writestr(entry, data)


def test_a_program_of_pytorch_that_draws_takes_a_key_and_any_batch():
    """The key has no shape to be given: a call once took it for a further input of new sizes, and was refused."""
    with tempfile.TemporaryDirectory() as folder:
        with_dropout(PYTORCH / "mlp.pt2", path := Path(folder) / "dropped.pt2")
        program = lx.import_program(path, shapes=[(8, 6)])
        plain = lx.import_program(PYTORCH / "mlp.pt2", shapes=[(8, 6)])
        for device in DEVICES:
            key = lx.random.key(1).to_device(device)
            for batch in (8, 3):
                x = on(random(1, (batch, 6), "float32"), device)
                found, wanted = np.asarray(program(x, key)), np.asarray(plain(x))
                same(found, np.where(found == 0, 0, 2 * wanted), 1e-5)
                assert 0 < (found == 0).sum() < found.size
            raises(TypeError, lambda: program(x), "2 arrays", "1")


def test_from_torch_says_that_it_needs_pytorch():
    known = sys.modules.get("torch")
    sys.modules["torch"] = None  # as if it were not installed
    try:
        raises(ImportError, lambda: lx.from_torch(None), "from_torch() needs PyTorch", "lx.import_program")
    finally:
        del sys.modules["torch"]
        if known is not None:
            sys.modules["torch"] = known


def test_functions_are_exported_and_imported_again():
    for device in DEVICES:
        a, b, w = random(1, (3, 4)), random(2, (4,)), on(random(3, (4,)), device)
        fun = lambda tree, k: (lx.sin(tree["x"]) * w + tree["y"], lx.sum(tree["y"]) * k)
        wanted = np.sin(a) * np.asarray(w) + b, np.sum(b) * np.float32(2)
        with tempfile.TemporaryDirectory() as folder:
            for format in ("folder", "text", "jax"):
                path = os.path.join(folder, format)
                lx.export_program(fun, {"x": on(a, device), "y": on(b, device)}, 2, path=path, format=format)
                program = lx.import_program(path if format != "folder" else os.path.join(path, "program.mlirbc"))
                arrays = [on(a, device), on(b, device)]
                if format == "folder":
                    found = program(*arrays, lx.load(os.path.join(path, "captured.safetensors"), device=device)["0"])
                else:
                    found = program(*arrays)
                for each, value in zip(found, wanted, strict=True):
                    same(each, value, 1e-5)
                again = lx.jit(fun)
                with lx.use_device(device):
                    lx.export_program(again, {"x": a, "y": b}, 2, path=path + "2", format=format)
                assert os.path.exists(path + "2")
            raises(ValueError, lambda: lx.export_program(fun, a, path=path, format="onnx"), "onnx")
            raises(FileNotFoundError, lambda: lx.export_program(lx.sin, on(a, device), path=folder + "/no/where"))


def test_saves_in_the_background_have_the_values_of_the_call():
    with tempfile.TemporaryDirectory() as folder:
        for device in DEVICES:
            path = os.path.join(folder, device.replace(":", "") + ".safetensors")
            a = random(4, (100, 100))
            x = on(a, device)
            saving = lx.save_async(path, {"x": x, "double": x * 2}, metadata={"step": "7"})
            x += 1
            lx.step()
            saving.wait()
            assert saving.done() and saving.progress() == (80000, 80000)
            found = lx.load(path, device=device)
            same(found["x"], a)
            same(found["double"], a * 2)
            assert lx.load_metadata(path)["step"] == "7"
            same(x, a + 1, 1e-6)
        raises(ValueError, lambda: lx.save_async(folder, {"x": x}).wait())
        raises(RuntimeError, lambda: lx.grad(lambda x: lx.save_async(path, {"x": x}) and lx.sum(x))(x))
        raises((FileNotFoundError, RuntimeError), lambda: lx.save_async(folder + "/no/where", {"x": x}).wait())


def test_a_program_is_that_of_its_import():
    with tempfile.TemporaryDirectory() as folder:
        w, other = lx.asarray([1.0, 2.0]), lx.asarray([100.0, 200.0])
        x = lx.ones(2)
        for name, format in (("program.mlir", "text"), ("program.jax", "jax"), ("program", "folder")):
            path = os.path.join(folder, name)
            lx.export_program(lambda x: x * w, x, path=path, format=format)
            fixed = lx.import_program(path)
            shaped = lx.import_program(path, shapes=[2]) if format == "text" else fixed
            lx.export_program(lambda x: x * other, x, path=path + "2", format=format)
            for kept in (fixed, shaped):
                assert kept(x).tolist() == [1, 2]
            if os.path.isdir(path):
                shutil.rmtree(path)
            os.replace(path + "2", path)
            for kept in (fixed, shaped):
                assert kept(x).tolist() == [1, 2] and kept.weights[0].tolist() == [1, 2]
            assert lx.import_program(path)(x).tolist() == [100, 200]
            raises(ValueError, lambda: fixed(lx.ones(3)))
            raises(TypeError, lambda: fixed(x, x), "1 arrays, not 2")
        # A program with a free size is read again for another one.
        path = os.path.join(folder, "digits.jax")
        shutil.copy(DIGITS, path)
        program = lx.import_program(path, shapes=[(2, 64)])
        before = np.asarray(program(lx.ones((2, 64))))
        three = np.asarray(program(lx.ones((3, 64))))
        same(three[:2], before, 1e-5)
        with open(path, "ab") as file:
            file.write(b"\0")
        same(program(lx.ones((2, 64))), before, 1e-6)
        same(program(lx.ones((3, 64))), three, 1e-6)
        raises((ValueError, RuntimeError), lambda: program(lx.ones((4, 64))), "digits.jax")
        os.remove(path)
        raises(FileNotFoundError, lambda: program(lx.ones((4, 64))), "digits.jax")
        same(program(lx.ones((2, 64))), before, 1e-6)
        shutil.copy(DIGITS, path)
        assert program(lx.ones((4, 64))).shape[0] == 4


def test_the_error_of_a_save_that_nothing_waits_for_is_a_warning():
    x = lx.ones(3)
    with tempfile.TemporaryDirectory() as folder:
        for path in (folder + "/no/where", folder + "/good"):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                saving = lx.save_async(path, {"x": x})
                while not saving.done():
                    time.sleep(0.001)
                del saving
                gc.collect()
            assert len(caught) == (path.endswith("where")), [str(each.message) for each in caught]
            assert all(path in str(each.message) for each in caught)
        text = "import lazyxla as lx\nsaving = lx.save_async({!r}, {{'x': lx.ones(3)}})\nprint('end')"
        for path in ("/no/where", "/at_end"):
            command = [sys.executable, "-c", text.format(folder + path)]
            done = subprocess.run(command, capture_output=True, text=True, timeout=120)
            assert done.returncode == 0 and done.stdout == "end\n"
            assert ("RuntimeWarning" in done.stderr and folder in done.stderr) == (path == "/no/where"), done.stderr
        assert lx.load(folder + "/at_end")["x"].tolist() == [1, 1, 1]
