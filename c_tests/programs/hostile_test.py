"""Files and folders that are not programs, or lie: python hostile_test.py /path/to/liblazyxla.so

Each is refused with the reason, within one GiB of memory: files without an end, sparse files, folders whose counts do
not fit their program."""

import json
import os
import resource
import shutil
import sys
import tempfile
from ctypes import byref, c_size_t, c_void_p
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../abi"))
import ctypes_test as lxla
import numpy as np
from ctypes_test import INVALID_ARGUMENT, Computation, refused
from export_cases import exported
from programs import call, imported, imported_file
from safetensors.numpy import save_file

MOST_BYTES = 1 << 30
# Memory that the process may allocate beyond its own; a read of an endless file fails at this limit.
LIMIT_BYTES = 6 << 30
HUGE = 3 << 30
# A file whose size is 0 and whose content has petabytes, and a text of the same kind.
ENDLESS, TEXT = "/proc/self/pagemap", "/proc/self/maps"


def refused_at(env, path, words, status=INVALID_ARGUMENT):
    """Fails unless the import and the description of a file or folder are refused with these words."""
    name = str(path).encode()
    refused(lxla.lib.lxla_computation_import_file(env, name, None, byref(Computation())), status, words)
    refused(lxla.lib.lxla_module_describe_file(name, byref(c_void_p())), status, words)


def peak():
    """Largest number of bytes that the process has had in memory."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def sparse(path, start=b""):
    """Writes a file of 3 GiB of which only the start is stored."""
    path.write_bytes(start)
    os.truncate(path, HUGE)
    return path


def model(env, folder):
    """Exports the sum of a parameter and a captured value to a folder."""
    text = b"func.func @main(%0: tensor<3xf32>) -> tensor<3xf32> { " \
        b"%1 = stablehlo.constant dense<[1.0, 2.0, 4.0]> : tensor<3xf32> " \
        b"%2 = stablehlo.add %0, %1 : tensor<3xf32> return %2 : tensor<3xf32> }"  # fmt: skip
    lxla.ok(exported(imported(env, text), folder))
    return folder


def torch_model(path):
    """Copies a folder of PyTorch/XLA."""
    shutil.copytree(Path(__file__).parent / "data/torch_batch", path)
    return path


def test_files_without_an_end_are_refused(env, folder):
    refused_at(env, ENDLESS, "neither StableHLO text, nor MLIR bytecode, nor a file of jax.export")
    refused_at(env, TEXT, "it has more bytes than its size says")
    refused_at(env, "/dev/zero", "it is a device")
    for name in ("manifest.json", "program.mlirbc"):
        for target in (ENDLESS, TEXT):
            path = model(env, folder / f"{name}{os.path.basename(target)}")
            (path / name).unlink()
            (path / name).symlink_to(target)
            more = target == TEXT or name == "manifest.json"
            refused_at(env, path, "more bytes than its size says" if more else "neither StableHLO text")
    path = model(env, folder / "device")
    (path / "manifest.json").unlink()
    (path / "manifest.json").symlink_to("/dev/zero")
    refused_at(env, path, "it is a device")


def test_sparse_files_are_refused(env, folder):
    refused_at(env, sparse(folder / "zeros"), "neither StableHLO text")
    refused_at(env, sparse(folder / "text", b"module {" + b" " * 100), "it has bytes 0; want text")
    path = model(env, folder / "model")
    sparse(path / "manifest.json", (path / "manifest.json").read_bytes())
    refused_at(env, path, f"it has {HUGE} bytes of JSON")
    path = torch_model(folder / "torch")
    os.truncate(path / "data/0.bias", HUGE)
    refused_at(env, path, "bytes of data; its header says")
    os.truncate(path / "data/0.bias", 5)
    refused_at(env, path, "not a NumPy file: no magic string")
    sparse(path / "functions/forward.meta", b"{")
    refused_at(env, path, f"it has {HUGE} bytes of JSON")


def ones(size):
    """The text of a program that adds its first parameter to all others, each of which has 1 MiB."""
    ty = f"tensor<{1 << 18}xf32>"
    parameters = ", ".join(f"%a{i}: {ty}" for i in range(size))
    sums = [f"%s{i} = stablehlo.add %{f's{i - 1}' if i > 1 else 'a0'}, %a{i} : {ty}" for i in range(1, size)]
    return f"func.func @main({parameters}) -> {ty} {{ {' '.join(sums)} return %s{size - 1} : {ty} }}"


def test_weights_are_counted_before_they_are_read_and_are_read_once(env, folder):
    weight = np.ones(1 << 18, "float32")
    path = model(env, folder / "model")
    manifest = json.loads((path / "manifest.json").read_text())
    manifest["parameters"][0]["dims"] = manifest["captured"][0]["dims"] = [1 << 18]
    manifest["captured"] *= 2000
    (path / "manifest.json").write_text(json.dumps(manifest))
    save_file({"0": weight}, path / "captured.safetensors")
    refused_at(env, path, "it lists 2001 parameters and weights; the function of the program has 2 parameters")
    (path / "program.mlirbc").write_text(ones(2001))
    computation = imported_file(env, path)
    counts = [c_size_t() for _ in range(3)]
    lxla.ok(lxla.lib.lxla_computation_info(computation, *map(byref, counts)))
    assert [count.value for count in counts] == [1, 1, 1], "all captured values are one"
    (raw,) = call(env, lxla.cpu(), computation, [2 * weight], [weight])
    assert (np.frombuffer(raw, "float32") == 2002).all()
    manifest["captured"][7] = {"name": "0", "dtype": "f32", "dims": [1 << 17, 2]}
    (path / "manifest.json").write_text(json.dumps(manifest))
    refused_at(env, path, "the manifest says f32[131072,2]")

    # The weights of PyTorch/XLA are files, which links give many names.
    path = folder / "torch"
    for name in ("data", "functions"):
        (path / name).mkdir(parents=True)
    np.save(path / "data/0.npy", weight)
    (path / "functions/main.bytecode").write_text(ones(2001))
    locations = [{"type_": "input_arg", "position": 0}]
    for i in range(2000):
        os.link(path / "data/0.npy", path / f"data/w{i}")
        locations.append({"type_": "parameter", "name": f"w{i}"})
    (path / "functions/main.meta").write_text(json.dumps({"input_locations": locations}))
    computation = imported_file(env, path)
    lxla.ok(lxla.lib.lxla_computation_info(computation, *map(byref, counts)))
    assert [count.value for count in counts] == [1, 1, 1], "all weights are one"
    (path / "functions/main.meta").write_text(json.dumps({"input_locations": locations[:-1]}))
    refused_at(env, path, "input_locations: it lists 2000 parameters and weights; the function of the program has 2001")


def test_names_that_a_module_has_twice_are_refused(env, folder):
    body = "(%0: tensor<f32>) -> tensor<f32> { return %0 : tensor<f32> }"
    text = f"func.func @main{body} func.func private @f{body} func.func "
    for second in (f"@main{body}", f"private @main{body}", f"private @f{body}", f"@f{body}"):
        (folder / "module.mlir").write_text(f"module {{ {text}{second} }}")
        refused_at(env, folder / "module.mlir", "twice: func.func and func.func; want each name once")
    (folder / "module.mlir").write_text(f'module {{ sdy.mesh @m = <["x"=2]> sdy.mesh @m = <["x"=4]> {text}@g{body} }}')
    refused_at(env, folder / "module.mlir", 'the name "m" twice')


def main():
    lxla.load(sys.argv[1])
    env = lxla.new_env()
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + LIMIT_BYTES, resource.RLIM_INFINITY))
    tests = {name: test for name, test in globals().items() if name.startswith("test_")}
    for name in sys.argv[2:] or tests:
        with tempfile.TemporaryDirectory() as folder:
            before = peak()
            tests[name](env, Path(folder))
            assert peak() - before < MOST_BYTES, f"{name}: {(peak() - before) >> 20} MiB more"
        print(f"{name}: passed")


if __name__ == "__main__":
    main()
