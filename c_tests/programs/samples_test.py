"""Programs that JAX, TensorFlow and PyTorch/XLA exported, in data/: python samples_test.py /path/to/liblazyxla.so

Each is imported from its file, its bytes or its folder, described, and called on cpu and on the plugin's device; the
values are those that its exporter computed."""

import json
import os
import sys
from ctypes import byref, c_size_t, c_void_p
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../abi"))
import ctypes_test as lxla
import numpy as np
from ctypes_test import INVALID_ARGUMENT, UNIMPLEMENTED, Computation, Tensor, give, ok, refused, text
from programs import call, compare, imported, imported_file, options_of, tensor

DATA = Path(__file__).resolve().parent / "data"
# Programs with free sizes.
FREE = ("batch", "torch_batch")
# Programs for several devices, of import_meshes_test.py.
ON_MESHES = ("manual",)


def values(name):
    """Returns the inputs and the results of a program."""
    with np.load(DATA / f"{name}.npz") as saved:
        of = lambda start: [
            saved[key] for key in sorted(saved, key=lambda key: (len(key), key)) if key.startswith(start)
        ]
        return of("in"), of("out")


def programs():
    """Returns each program: its name and its file or folder."""
    for path in sorted(DATA.iterdir()):
        if path.stem in ON_MESHES:
            continue
        if path.suffix in (".jax", ".mlirbc", ".mlir") or path.is_dir():
            yield path.stem, path


def test_programs_give_their_exporters_values(env):
    count = 0
    for name, path in programs():
        inputs, results = values(name)
        shapes = [x.shape for x in inputs] if name in FREE else None
        for device in (lxla.cpu(), lxla.xla()):
            computation = imported_file(env, path, shapes)
            compare(str(path), call(env, device, computation, inputs, results), results)
            if path.is_file():
                again = imported(env, path.read_bytes(), shapes)
                compare(str(path), call(env, device, again, inputs, results), results)
                ok(lxla.lib.lxla_computation_release(again))
            ok(lxla.lib.lxla_computation_release(computation))
            count += 1
    assert count >= 20, count


def test_a_file_is_described(env):
    described = json.loads(text(lxla.lib.lxla_module_describe_file, str(DATA / "batch.jax").encode()))
    (main,) = [function for function in described["functions"] if function["public"]]
    assert main["name"] == "main" and [x["dims"] for x in main["parameters"]] == [[-1, 4], [4, 3]]
    assert described["jax"]["platforms"] == ["cpu"] and described["unsupported"] == []
    assert described["jax"]["parameters"][0] == {"dtype": "f32", "dims": ["b", "4"], "path": "[0][0]"}
    train = json.loads(text(lxla.lib.lxla_module_describe_file, str(DATA / "train.jax").encode()))
    (main,) = [function for function in train["functions"] if function["public"]]
    assert [x["donated"] for x in main["parameters"]] == [True, True, False, False, False]
    manual = json.loads(text(lxla.lib.lxla_module_describe_file, str(DATA / "manual.jax").encode()))
    assert manual["meshes"] == [{"name": "mesh", "axes": [{"name": "a", "size": 2}, {"name": "b", "size": 2}]}]
    assert manual["unsupported"] == []
    folder = json.loads(text(lxla.lib.lxla_module_describe_file, str(DATA / "torch_conv").encode()))
    assert folder["unsupported"] == [] and folder["operations"]["stablehlo.convolution"] == 1


def test_weights_of_a_folder_are_captured_and_can_be_lifted(env):
    inputs, results = values("torch_conv")
    computation = imported_file(env, DATA / "torch_conv")
    counts = [c_size_t() for _ in range(3)]
    ok(lxla.lib.lxla_computation_info(computation, *map(byref, counts)))
    assert [count.value for count in counts] == [1, 1, 8]
    weights = [give(lxla.lib.lxla_computation_captured, Tensor, computation, c_size_t(i)) for i in range(8)]
    lifted = give(lxla.lib.lxla_computation_lift, Computation, computation)
    given = (Tensor * 9)(tensor(env, lxla.cpu(), inputs[0]), *weights)
    made = (Tensor * 1)()
    ok(lxla.lib.lxla_computation_call(lifted, given, 9, made, 1))
    got = lxla.read(made[0], count=results[0].size)
    assert np.allclose(np.reshape(got, results[0].shape), results[0], atol=1e-5)


def test_what_does_not_fit_is_refused(env):
    lib, out = lxla.lib, Computation()

    def check(name, shapes, status, words):
        path = str(DATA / name).encode()
        refused(lib.lxla_computation_import_file(env, path, byref(options_of(shapes)), byref(out)), status, words)

    check("batch.jax", None, INVALID_ARGUMENT, "parameter 0 (tensor<?x4xf32>)")
    check("batch.jax", [(5, 4)], INVALID_ARGUMENT, "n_parameters: 1 given; the function has 2 parameters")
    check("batch.jax", [(5, 4), (4, 2)], INVALID_ARGUMENT, "parameter 1: dims: [4, 2] given")
    check("torch_batch", None, INVALID_ARGUMENT, "parameter 0 (tensor<?x4xf32>)")
    check("nowhere.jax", None, lxla.NOT_FOUND, "nowhere.jax")
    check("batch.npz", None, INVALID_ARGUMENT, "it is a zip file, but no archive of torch.export.save")
    check(".", None, lxla.NOT_FOUND, "not a folder of PyTorch/XLA")
    token = b"func.func @main() -> !stablehlo.token { %0 = stablehlo.create_token : !stablehlo.token return %0 : !stablehlo.token }"
    status = lib.lxla_computation_import(env, token, len(token), None, byref(out))
    refused(status, UNIMPLEMENTED, "stablehlo.create_token")
    refused(lib.lxla_module_describe(b"", 0, byref(c_void_p())), INVALID_ARGUMENT, "it is empty")


if __name__ == "__main__":
    lxla.load(sys.argv[1])
    environment = lxla.new_env()
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            test(environment)
            print(f"ok {name}")
