"""Writes the declarations of the C API for the Python package, from include/lazyxla.json: python/src/sys.rs for its
extension module, python/lazyxla/_constants.py, and python/lazyxla/c.py, all functions by ctypes. With --check, fails if a
file is not the one that would be written."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
API = json.loads((ROOT / "include/lazyxla.json").read_text())
TYPES = {each["name"]: each for each in API["types"]}
CONSTANTS = [each for family in API["families"] for each in family["constants"]]
RUST = {
    "double": "f64",
    "int32_t": "i32",
    "int64_t": "i64",
    "size_t": "usize",
    "uint8_t": "u8",
    "uint32_t": "u32",
    "uint64_t": "u64",
    "char": "c_char",
    "void": "c_void",
}
CTYPES = {
    "double": "c_double",
    "int32_t": "c_int32",
    "int64_t": "c_int64",
    "size_t": "c_size_t",
    "uint8_t": "c_uint8",
    "uint32_t": "c_uint32",
    "uint64_t": "c_uint64",
}
HEAD = """//! Declarations of the C API. Written by tools/python_binding.py from include/lazyxla.json; do not edit.
#![allow(missing_docs, non_camel_case_types, dead_code)]

use std::ffi::{c_char, c_void};

"""


def rust(text):
    """Returns the type in Rust of a type in C, such as `const lxla_tensor *`."""
    words = text.replace("*", " * ").split()
    base = next(word for word in words if word not in ("const", "*"))
    result = RUST.get(base, base)
    # `const char *const *`: the qualifier of a pointer stands before the star that it applies to.
    constant = words[0] == "const"
    for i, word in enumerate(words):
        if word == "*":
            result = f"*{'const' if constant else 'mut'} {result}"
            constant = i + 1 < len(words) and words[i + 1] == "const"
    return result


def rust_result(text):
    return "" if text == "void" else f" -> {rust(text)}"


def rust_parameter(each):
    return f"{each['name']}: {rust(each['type'])}"


def rust_type(each):
    name = each["name"]
    if each["kind"] == "alias":
        return f"pub type {name} = {rust(each['type'])};"
    if each["kind"] == "function":
        kinds = ", ".join(rust(one["type"]) for one in each["parameters"])
        return f'pub type {name} = Option<unsafe extern "C" fn({kinds}){rust_result(each["result"])}>;'
    rows = []
    for field in each["fields"]:
        kind, length = rust(field["type"]), field.get("array")
        rows.append(f"    pub {field['name']}: {f'[{kind}; {length}]' if length else kind},")
    return f"#[repr(C)]\n#[derive(Clone, Copy)]\npub {each['kind']} {name} {{\n" + "\n".join(rows) + "\n}"


def rust_function(each):
    parameters = ", ".join(map(rust_parameter, each["parameters"]))
    return f"    pub fn {each['name']}({parameters}){rust_result(each['result'])};"


def formatted(command, text):
    return subprocess.run(command, input=text, text=True, capture_output=True, check=True).stdout


def rust_module():
    constants = [f"pub const {each['name']}: i32 = {each['value']};" for each in CONSTANTS]
    body = "\n".join(constants) + "\n\n" + "\n\n".join(map(rust_type, API["types"]))
    functions = "\n".join(map(rust_function, API["functions"]))
    text = f'{HEAD}{body}\n\nunsafe extern "C" {{\n{functions}\n}}\n'
    return formatted(["rustfmt", "--edition", "2024", "--config-path", str(ROOT)], text)


def python_constants():
    rows = "\n".join(f"{each['name'].removeprefix('LXLA_')} = {each['value']}" for each in CONSTANTS)
    return f'"""Constants of the C API. Written by tools/python_binding.py from include/lazyxla.json; do not edit."""\n\n{rows}\n'


C_HEAD = '''"""Every function of lazyxla.h by ctypes. Written by tools/python_binding.py from lazyxla.json; do not edit.

>>> import lazyxla.c as c
>>> device = c.lxla_device()
>>> c.lxla_device_parse(b"xla:1", ctypes.byref(device))
>>> device.ordinal
1

Names, arguments and their meanings are those of lazyxla.h, which the package has (python -m lazyxla config --cflags). A
status other than 0 is an ``Error``. A pointer to T takes arrays of T, ``byref(T())`` and None; ``const char *`` takes
bytes. A text that the caller has to free, ``char **``, is a pointer to a c_void_p. The interpreter's lock is released
during a call. ``handle_of(x)`` is the handle of an array, valid as long as the array; ``array_of(handle)`` is an array
that takes over a reference to a handle. Constants are in ``constants``.
"""

import ctypes
import os
from ctypes import CFUNCTYPE, POINTER, Structure, Union
from ctypes import c_char_p, c_double, c_int32, c_int64, c_size_t, c_uint8, c_uint32, c_uint64, c_void_p
from typing import Any

from . import _constants as constants  # noqa: F401
from . import _core

_library = ctypes.CDLL(os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib", "LIBRARY"))


class Error(RuntimeError):
    """A failed call: ``status`` is its code, one of ``constants.INVALID_ARGUMENT`` and so on."""

    def __init__(self, status: int) -> None:
        self.status = status
        super().__init__(f"{lxla_status_name(status).decode()}: {lxla_last_error_message().decode()}")


def _check(status: int, function: Any, arguments: Any) -> None:
    if status != 0:
        raise Error(status)


def _function(name: str, result: Any, parameters: list[tuple[str, Any]]) -> Any:
    kind = CFUNCTYPE(result, *(each for _, each in parameters))
    function: Any = kind((name, _library), tuple((1, each) for each, _ in parameters))
    if result is c_int32:
        function.errcheck = _check
    return function


def handle_of(array: _core.Array) -> Any:
    """Returns the handle of an array, which stays the array's."""
    return lxla_tensor(array.handle)


def array_of(handle: Any) -> _core.Array:
    """Returns an array of a handle, and takes over one reference to it."""
    return _core.from_handle(handle.id)


'''


def in_ctypes(each):
    """Returns the class of ctypes of a parameter or field, as Python."""
    base, pointers = each["base"], each["pointers"]
    if base in ("char", "void"):
        # Bytes with a length need not end in NUL, and a text to be freed must not be copied: they are pointers.
        is_text = base == "char" and each["type"].startswith("const") and each["role"] != "bytes"
        kind, pointers = "c_char_p" if is_text else "c_void_p", pointers - 1
    else:
        kind = CTYPES.get(base, base)
    return "POINTER(" * pointers + kind + ")" * pointers + (f" * {each['array']}" if each.get("array") else "")


def ctypes_result(text):
    return {"void": "None", "const char *": "c_char_p"}.get(text) or CTYPES.get(text, text)


def ctypes_type(each):
    name = each["name"]
    if each["kind"] == "alias":
        return f"{name} = {ctypes_result(each['type'])}"
    if each["kind"] == "function":
        kinds = ", ".join([ctypes_result(each["result"]), *map(in_ctypes, each["parameters"])])
        return f"{name} = CFUNCTYPE({kinds})"
    rows = ", ".join(f'("{field["name"]}", {in_ctypes(field)})' for field in each["fields"])
    base = "Structure" if each["kind"] == "struct" else "Union"
    return f"class {name}({base}):\n    _fields_ = [{rows}]"


def in_order():
    """Returns the types, each after those that it uses."""
    found = []

    def add(each):
        if each in found:
            return
        for part in each.get("fields", each.get("parameters", [])):
            if part["base"] in TYPES:
                add(TYPES[part["base"]])
        found.append(each)

    for each in API["types"]:
        add(each)
    return found


def ctypes_function(each):
    name = each["name"]
    rows = ", ".join(f'("{one["name"]}", {in_ctypes(one)})' for one in each["parameters"])
    return f'{name} = _function("{name}", {ctypes_result(each["result"])}, [{rows}])'


def ctypes_module():
    head = C_HEAD.replace("LIBRARY", f"liblazyxla.so.{API['version'].split('.')[0]}")
    functions = "\n".join(map(ctypes_function, API["functions"]))
    text = head + "\n\n".join(map(ctypes_type, in_order())) + f"\n\n{functions}\n"
    ruff = str(ROOT / "build/tools/bin/ruff")
    return formatted([ruff, "format", "--no-cache", "--config", str(ROOT / "ruff.toml"), "-"], text)


def main():
    wrong = []
    files = {"src/sys.rs": rust_module, "lazyxla/_constants.py": python_constants, "lazyxla/c.py": ctypes_module}
    for name, write in files.items():
        path, text = ROOT / "python" / name, write()
        if "--check" not in sys.argv:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            wrong.append(name)
    if wrong:
        sys.exit(f"{', '.join(wrong)} in python: not what lazyxla.json says; run tools/python_binding.py")


main()
