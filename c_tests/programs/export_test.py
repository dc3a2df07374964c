"""Programs out: python export_test.py /path/to/liblazyxla.so

The programs in data/, imported, exported in each form and imported again: values are equal in every bit, and the body
is that of an export of the export. Names, versions, folders that are replaced, and what is refused."""

import ctypes
import json
import os
import shutil
import sys
import tempfile
import threading
from ctypes import byref, c_size_t
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../abi"))
import ctypes_test as lxla
import numpy as np
from ctypes_test import INVALID_ARGUMENT, NOT_FOUND, Computation, Tensor, give, ok, refused, text
from header import constants
from export_cases import FOLDER, FORMATS, JAX, TEXT, exported, stablehlo
from programs import DTYPE, call, compare, imported_file, tensor
from samples_test import FREE, programs, values


def described(path):
    return json.loads(text(lxla.lib.lxla_module_describe_file, str(path).encode()))


def main_of(path):
    (main,) = [function for function in described(path)["functions"] if function["public"]]
    return main


def counts_of(computation):
    counts = [c_size_t() for _ in range(3)]
    ok(lxla.lib.lxla_computation_info(computation, *map(byref, counts)))
    return [count.value for count in counts]


def traced(env, device, capture):
    """The computation of 2 x and a captured value."""
    x = give(lxla.lib.lxla_tensor_placeholder, Tensor, env, device, DTYPE["f32"], *lxla.dims(3))
    sum = give(lxla.lib.lxla_binary, Tensor, lxla.ADD, x, x)
    made = give(lxla.lib.lxla_computation_trace, Computation, (Tensor * 1)(x), 1, (Tensor * 2)(sum, capture), 2)
    lxla.release(x, sum)
    return made


def bytes_of(tensor, size):
    data = ctypes.create_string_buffer(size)
    ok(lxla.lib.lxla_tensor_read(tensor, data, size))
    return data.raw


def test_what_is_exported_is_imported_with_equal_values_and_bodies(env, folder):
    count = equal = 0
    for name, path in programs():
        inputs, results = values(name)
        computation = imported_file(env, path, [x.shape for x in inputs] if name in FREE else None)
        for device in (lxla.cpu(), lxla.xla()):
            wanted = call(env, device, computation, inputs, results)
            for form, format in FORMATS.items():
                ok(exported(computation, folder / "first", format=format))
                again = imported_file(env, folder / "first")
                got = call(env, device, again, inputs, results)
                if device.kind == lxla.CPU or format == FOLDER:
                    assert got == wanted, f"{path} as {form}"
                # XLA folds constants into the operations that use them, with other roundings.
                compare(f"{path} as {form}", got, results)
                ok(exported(again, folder / "second", format=format))
                third = imported_file(env, folder / "second")
                # The region of a loop is imported as a body that calls the body of the loop.
                if "stablehlo.while" not in stablehlo(again):
                    assert stablehlo(third) == stablehlo(again), f"{path} as {form}"
                    equal += 1
                assert described(folder / "first")["unsupported"] == [], f"{path} as {form}"
                for made in (again, third):
                    ok(lxla.lib.lxla_computation_release(made))
                for made in ("first", "second"):
                    removed(folder / made)
                count += 1
        ok(lxla.lib.lxla_computation_release(computation))
    assert count >= 60 and equal >= 40, (count, equal)


def removed(path):
    shutil.rmtree(path) if path.is_dir() else path.unlink()


def test_captured_values_of_every_dtype_keep_their_bits(env, folder):
    rng = np.random.default_rng(5)
    for name, number in DTYPE.items():
        size = give(lxla.lib.lxla_dtype_size, c_size_t, number).value
        # The first and the last element differ: equal elements become a constant of the body.
        data = b"\0" + rng.integers(0, 2 if name == "pred" else 256, 3 * size - 2, dtype=np.uint8).tobytes() + b"\1"
        for device in (lxla.cpu(), lxla.xla()):
            if device.kind == lxla.xla().kind and name.startswith("f8"):
                continue  # plugins lack some of them
            capture = give(lxla.lib.lxla_tensor_from_host, Tensor, env, device, number, *lxla.dims(3), data, len(data))
            data = bytes_of(capture, len(data))  # of types of 2 and 4 bits, the low bits count
            computation = traced(env, device, capture)
            for form, format in FORMATS.items():
                if form == "jax" and name in ("s2", "u2"):
                    status = exported(computation, folder / "all", format=format)
                    lxla.refused(status, lxla.UNIMPLEMENTED, f"files of jax.export have no {name}")
                    continue
                ok(exported(computation, folder / "all", format=format))
                again = imported_file(env, folder / "all")
                assert counts_of(again) == [1, 2, 1], f"{name} as {form}"
                if form == "jax":  # in the library's names, as those of `functions`: s32, where JAX's file says i32
                    results = [each["dtype"] for each in described(folder / "all")["jax"]["results"]]
                    assert results == ["f32", name], results
                value = give(lxla.lib.lxla_computation_captured, Tensor, again, c_size_t(0))
                assert bytes_of(value, len(data)) == data, f"{name} as {form}"
                lxla.release(value)
                removed(folder / "all")


def test_names_are_described(env, folder):
    capture = tensor(env, lxla.cpu(), np.float32([1, 2, 4]))
    computation = traced(env, lxla.cpu(), capture)
    names = 'weight "w" \\ é'.encode()
    for format in FORMATS.values():
        ok(exported(computation, folder / "named", format=format, parameters=[names], results=[b"sum", b"of"]))
        main = main_of(folder / "named")
        assert [x["name"] for x in main["results"]] == ["sum", "of"], main
        assert names.decode() in [x.get("name") for x in main["parameters"]], main
        removed(folder / "named")
    ok(exported(computation, folder / "named"))
    manifest = json.loads((folder / "named/manifest.json").read_text())
    assert [x["name"] for x in manifest["parameters"] + manifest["results"]] == ["arg0", "result0", "result1"]
    assert manifest["captured"] == [{"name": "0", "dtype": "f32", "dims": [3]}]
    assert manifest["stablehlo_version"] == described(folder / "named")["stablehlo_version"]


def test_versions_are_chosen(env, folder):
    computation = traced(env, lxla.cpu(), tensor(env, lxla.cpu(), np.float32([1, 2, 4])))
    for version in (b"1.0.0", b"1.5.0", b"1.13.0"):
        for format in (FOLDER, JAX):
            ok(exported(computation, folder / "old", format=format, version=version))
            assert described(folder / "old")["stablehlo_version"] == version.decode()
            removed(folder / "old")
    of = lambda version, status, words, format=FOLDER: refused(
        exported(computation, folder / "none", version=version, format=format), status, words
    )
    of(b"9.0.0", INVALID_ARGUMENT, "9.0.0")
    of(b"0.1.0", INVALID_ARGUMENT, "0.1.0")
    of(b"1.5", INVALID_ARGUMENT, 'options.stablehlo_version: "1.5" given; want three numbers')
    of(b"1.-5.0", INVALID_ARGUMENT, "want three numbers")
    of(b"1.5.0", INVALID_ARGUMENT, "given for a text", format=TEXT)
    assert not (folder / "none").exists()


def test_folders_are_replaced_unless_they_have_other_files(env, folder):
    first = traced(env, lxla.cpu(), tensor(env, lxla.cpu(), np.float32([1, 2, 4])))
    second = traced(env, lxla.cpu(), tensor(env, lxla.cpu(), np.float32([5, 6, 7])))
    path = folder / "model"
    path.mkdir()
    ok(exported(first, path))
    ok(exported(second, f"{path}/"))
    value = give(lxla.lib.lxla_computation_captured, Tensor, imported_file(env, path), c_size_t(0))
    assert lxla.read(value, count=3) == [5, 6, 7]
    (path / "mine.txt").write_text("x")
    refused(exported(first, path), constants.ALREADY_EXISTS, "mine.txt")
    assert sorted(x.name for x in path.iterdir()) == [
        "captured.safetensors", "manifest.json", "mine.txt", "program.mlirbc",
    ]  # fmt: skip
    assert [x.name for x in folder.iterdir()] == ["model"], "nothing temporary is left"
    refused(exported(first, path, format=TEXT), INVALID_ARGUMENT, "directory")
    (path / "mine.txt").unlink()
    for manifest in ('{"format": "of another program"}', "[]", "no JSON"):
        (path / "manifest.json").write_text(manifest)
        refused(exported(first, path), constants.ALREADY_EXISTS, "no export wrote the files")
        assert (path / "manifest.json").read_text() == manifest
    (path / "manifest.json").write_text('{"format": "lazyxla.export", "format_version": 9}')
    ok(exported(first, path))
    file = folder / "file"
    file.write_text("x")
    refused(exported(first, file), INVALID_ARGUMENT, "it exists and is not a folder")
    ok(exported(first, file, format=TEXT))
    link = folder / "link"
    link.symlink_to("no where")
    refused(exported(first, link), INVALID_ARGUMENT, 'it is a link to "no where", which is not there')
    refused(exported(first, folder / "no/where"), NOT_FOUND, "no/where")
    refused(exported(first, folder / "no/where", format=JAX), NOT_FOUND, "no/where")


def test_of_exports_to_one_folder_at_once_the_last_wins(env, folder):
    computations = [traced(env, lxla.cpu(), tensor(env, lxla.cpu(), np.float32([i, i, i]))) for i in range(4)]
    for each in range(10):
        start, statuses = threading.Barrier(len(computations)), []

        def export(computation, path=folder / str(each), start=start, statuses=statuses):
            start.wait()
            statuses.append(exported(computation, path))

        threads = [threading.Thread(target=export, args=(computation,)) for computation in computations]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert statuses == [0] * len(computations), statuses
        value = give(lxla.lib.lxla_computation_captured, Tensor, imported_file(env, folder / str(each)), c_size_t(0))
        assert lxla.read(value, count=3) in [[i, i, i] for i in range(4)]
    assert len(list(folder.iterdir())) == 10, "nothing temporary is left"


def test_what_does_not_fit_is_refused(env, folder):
    computation = traced(env, lxla.cpu(), tensor(env, lxla.cpu(), np.float32([1, 2, 4])))
    path = folder / "none"
    of = lambda status, words, **options: refused(exported(computation, path, **options), status, words)
    of(INVALID_ARGUMENT, "options.format: 4 is not an LXLA_EXPORT_* constant", format=4)
    of(INVALID_ARGUMENT, "options.vjp_order: 2 given", format=JAX, vjp_order=2)
    of(INVALID_ARGUMENT, "options.vjp_order: 1 given; only LXLA_EXPORT_JAX", vjp_order=1)
    of(INVALID_ARGUMENT, "options.n_parameter_names: 2 given; want 1", parameters=[b"a", b"b"])
    of(INVALID_ARGUMENT, 'options.result_names: "a" is given twice', results=[b"a", b"a"])
    of(lxla.NULL_ARGUMENT, "options.result_names[1]", results=[b"a", None])
    of(INVALID_ARGUMENT, "options.parameter_names[0]", parameters=[b"\xff"])
    refused(lxla.lib.lxla_computation_export(computation, None, None), lxla.NULL_ARGUMENT, "path")
    refused(lxla.lib.lxla_computation_export(Computation(7), None, b"x"), lxla.INVALID_HANDLE, "computation")
    assert list(folder.iterdir()) == []


def test_damaged_folders_are_refused(env, folder):
    computation = traced(env, lxla.cpu(), tensor(env, lxla.cpu(), np.float32([1, 2, 4])))
    ok(exported(computation, folder / "model"))
    manifest = (folder / "model/manifest.json").read_text()

    def of(status, words, change):
        shutil.copytree(folder / "model", folder / "bad")
        change(folder / "bad")
        out = Computation()
        path = str(folder / "bad").encode()
        refused(lxla.lib.lxla_computation_import_file(env, path, None, byref(out)), status, words)
        removed(folder / "bad")

    replaced = lambda old, new: lambda path: (path / "manifest.json").write_text(manifest.replace(old, new))
    of(NOT_FOUND, "captured.safetensors", lambda path: (path / "captured.safetensors").unlink())
    of(NOT_FOUND, "program.mlirbc", lambda path: (path / "program.mlirbc").unlink())
    of(
        constants.DATA_LOSS,
        "captured.safetensors",
        lambda path: (path / "captured.safetensors").write_bytes(b"12345678"),
    )
    of(INVALID_ARGUMENT, "the manifest says", replaced('"f32"', '"s32"'))
    of(INVALID_ARGUMENT, "it is not JSON", replaced("{", "["))
    of(NOT_FOUND, "no tensor", replaced('"name": "0"', '"name": "1"'))
    assert shutil.rmtree(folder / "model") is None


def main():
    lxla.load(sys.argv[1])
    env = lxla.new_env()
    tests = {name: test for name, test in globals().items() if name.startswith("test_")}
    for name in sys.argv[2:] or tests:
        with tempfile.TemporaryDirectory() as folder:
            tests[name](env, Path(folder))
        print(f"{name}: passed")


if __name__ == "__main__":
    main()
