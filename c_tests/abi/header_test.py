"""The declarations of header.py are complete, and agree with C compilers and the library:
python header_test.py /path/to/liblazyxla.so SOURCE_TREE"""

import ctypes
import re
import sys
from ctypes import POINTER, byref, c_char_p, c_double, c_int32, c_int64, c_size_t, c_void_p
from pathlib import Path

sys.dont_write_bytecode = True  # leaves no caches beside the sources
import header
from header import constants, family, functions, types

# A variable of the environment, whose name begins like those of a family of constants.
VARIABLES = {"LXLA_MIXED_DEVICE_POLICY", "LXLA_STATE_DIR"}
# The operation that docs/adding-an-operation.md adds as an example.
IMAGINED = {"LXLA_UNARY_SINC"}


def test_every_function_is_exported(lib, tree):
    assert sorted(functions) == (tree / "include/lazyxla.symbols").read_text().split()
    for name in functions:
        getattr(lib, name)  # an AttributeError if the library does not export it


def test_layouts_and_numbers_are_those_of_c(lib, tree):
    """header_c.c asserts them in C."""
    text = (tree / "c_tests/abi/header_c.c").read_text()
    sizes = re.findall(r"sizeof\((lxla_\w+)\)(?:,| >=) (\d+)", text)
    offsets = re.findall(r"offsetof\((lxla_\w+), (\w+)\), (\d+)", text)
    frozen = (tree / "c_tests/abi/frozen.h").read_text()
    numbers = re.findall(r"^CONSTANT\(LXLA_(\w+), (\d+)\)", frozen, re.M)
    assert len(sizes) > 10 and len(numbers) > 170 and len(offsets) > 60, "header_c.c or frozen.h has another form now"
    for name, size in sizes:
        kind = getattr(types, name)
        may_grow = hasattr(kind, "struct_size")
        assert ctypes.sizeof(kind) == int(size) or (may_grow and ctypes.sizeof(kind) > int(size)), name
    for name, field, offset in offsets:
        assert getattr(getattr(types, name), field).offset == int(offset), f"{name}.{field}"
    for name, number in numbers:
        assert getattr(constants, name) == int(number), name


def test_sizes_of_options_are_the_librarys(lib, tree):
    """lxla_*_options_init zeroes as much of a larger struct as the library knows."""
    names = [name for name in vars(types) if name.endswith("_options")]
    assert len(names) >= 7
    for name in names:
        words = (ctypes.c_uint64 * 64)(ctypes.sizeof(ctypes.c_uint64 * 64), *[2**64 - 1] * 63)
        init = getattr(lib, name + "_init")
        assert init(ctypes.cast(words, POINTER(getattr(types, name)))) == constants.OK
        known = ctypes.string_at(words, ctypes.sizeof(words)).index(b"\xff")
        assert known == ctypes.sizeof(getattr(types, name)), f"{name} has {known} bytes"


def test_types_are_mapped(lib, tree):
    wanted = {
        "lxla_version": (c_char_p, []),
        "lxla_string_free": (None, [c_void_p]),
        "lxla_plugin_list": (c_int32, [POINTER(c_void_p)]),
        "lxla_file_names": (c_int32, [c_char_p, POINTER(c_void_p)]),
        "lxla_binary_scalar": (c_int32, [c_int32, types.lxla_tensor, c_double, POINTER(types.lxla_tensor)]),
        "lxla_mesh_create": (
            c_int32,
            [types.lxla_env, POINTER(c_char_p), POINTER(c_int64), c_size_t, POINTER(c_int32), POINTER(types.lxla_mesh)],
        ),
        "lxla_tensor_write": (c_int32, [types.lxla_tensor, c_void_p, c_size_t]),
    }
    for name, of in wanted.items():
        assert (functions[name].restype, functions[name].argtypes) == of, functions[name]
    # Keys of a store have a length, and are not strings; messages of the log are.
    assert types.lxla_key_value_try_get_fn._argtypes_[1] is c_void_p and types.lxla_log_fn._argtypes_[1] is c_char_p
    assert lib.lxla_set_log_callback(types.lxla_log_fn(), None) == constants.OK


def test_wrong_calls_are_refused(lib, tree):
    out, axes = types.lxla_tensor(), (c_int32 * 2)()
    tensor, env = types.lxla_tensor(), types.lxla_env()
    for call, error in [
        (lambda: lib.lxla_status_name(), TypeError),
        (lambda: lib.lxla_status_name(1, 2), TypeError),
        (lambda: lib.lxla_status_name("OK"), ctypes.ArgumentError),
        (lambda: lib.lxla_env_release(1), ctypes.ArgumentError),
        (lambda: lib.lxla_env_release(tensor), ctypes.ArgumentError),
        (lambda: lib.lxla_tril(tensor, 0.5, byref(out)), ctypes.ArgumentError),
        (lambda: lib.lxla_tril(tensor, 0, byref(env)), ctypes.ArgumentError),
        (lambda: lib.lxla_tril(tensor, 0, out.id), ctypes.ArgumentError),
        (lambda: lib.lxla_transpose(tensor, axes, 2, byref(out)), ctypes.ArgumentError),
        (lambda: lib.lxla_nothing(), AttributeError),
    ]:
        try:
            call()
        except error:
            continue
        raise AssertionError(f"a wrong call was made, of {call.__code__.co_names}")


def test_constants_of_the_documents_exist(lib, tree):
    families = {name.split("_")[0] for name in vars(constants)}
    for document in (tree / "README.md", tree / "include/lazyxla.h", *sorted((tree / "docs").glob("*.md"))):
        named = set(re.findall(r"\bLXLA_[A-Z0-9_]*[A-Z0-9]\b", document.read_text())) - VARIABLES - IMAGINED
        for name in (each.removeprefix("LXLA_") for each in named):
            assert hasattr(constants, name) or name.split("_")[0] not in families, f"{document.name} names LXLA_{name}"
    assert family("COMPARE") == {"eq": 1, "ne": 2, "ge": 3, "gt": 4, "le": 5, "lt": 6}


def main():
    lib, tree = header.load(sys.argv[1]), Path(sys.argv[2])
    tests = [(name, test) for name, test in globals().items() if name.startswith("test_")]
    for name, test in tests:
        print(name, flush=True)
        test(lib, tree)
    print(f"{len(tests)} tests passed")


if __name__ == "__main__":
    main()
