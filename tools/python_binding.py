"""Writes the declarations of include/lazyxla.h for the Python package: python/src/sys.rs for its extension module,
python/lazyxla/_constants.py, and python/lazyxla/c.py, all functions by ctypes. With --check, fails if a file is not the
one that would be written."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "c_tests/abi"))
import header  # noqa: E402

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
HEAD = """//! Declarations of include/lazyxla.h. Written by tools/python_binding.py; do not edit.
#![allow(missing_docs, non_camel_case_types, dead_code)]

use std::ffi::{c_char, c_void};

"""


def rust(text):
    """Returns the type in Rust of a type in C, such as `const lxla_tensor *`."""
    words = text.split()
    base = next(word for word in words if word not in ("const", "*"))
    result = RUST.get(base, base)
    # `const char *const *`: the qualifier of a pointer stands before the star that it applies to.
    constant = words[0] == "const"
    for i, word in enumerate(words):
        if word == "*":
            result = f"*{'const' if constant else 'mut'} {result}"
            constant = i + 1 < len(words) and words[i + 1] == "const"
    return result


def fields(text):
    rows = []
    for each in header.variables(text, ";"):
        kind = rust(each.type)
        rows.append(f"    pub {each.name}: {f'[{kind}; {each.length}]' if each.length else kind},")
    return "\n".join(rows)


def types():
    for text in header.statements():
        if match := header.FUNCTION_POINTER.fullmatch(text):
            kinds = ", ".join(rust(each.type) for each in header.variables(match["parameters"], ","))
            result = "" if match["result"] == "void" else f" -> {rust(match['result'])}"
            yield f'pub type {match["name"]} = Option<unsafe extern "C" fn({kinds}){result}>;'
        elif match := header.STRUCT.fullmatch(text):
            yield f"#[repr(C)]\n#[derive(Clone, Copy)]\npub {match['kind']} {match['name']} {{\n{fields(match['fields'])}\n}}"
        elif match := header.ALIAS.fullmatch(text):
            yield f"pub type {match['name']} = {rust(match['type'])};"


def functions():
    for name, function in header.functions.items():
        # `fn_` and the like avoid words of Rust.
        parameters = ", ".join(f"{each.name}: {rust(each.type)}" for each in function.parameters)
        result = "" if function.result == "void" else f" -> {rust(function.result)}"
        yield f"    pub fn {name}({parameters}){result};"


def binding():
    constants = [f"pub const LXLA_{name}: i32 = {value};" for name, value in vars(header.constants).items()]
    body = "\n".join(constants) + "\n\n" + "\n\n".join(types())
    text = f'{HEAD}{body}\n\nunsafe extern "C" {{\n' + "\n".join(functions()) + "\n}\n"
    done = subprocess.run(["rustfmt", "--edition", "2024", "--config-path", str(ROOT)], input=text, text=True,
                          capture_output=True, check=True)  # fmt: skip
    return done.stdout


def python_constants():
    rows = [f"{name} = {value}" for name, value in vars(header.constants).items()]
    return (
        '"""Constants of include/lazyxla.h. Written by tools/python_binding.py; do not edit."""\n\n'
        + "\n".join(rows)
        + "\n"
    )


C_HEAD = '''"""Every function of lazyxla.h by ctypes. Written by tools/python_binding.py; do not edit.

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

from . import _constants as constants  # noqa: F401
from . import _core

_library = ctypes.CDLL(os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib", "LIBRARY"))


class Error(RuntimeError):
    """A failed call: ``status`` is its code, one of ``constants.INVALID_ARGUMENT`` and so on."""

    def __init__(self, status):
        self.status = status
        super().__init__(f"{lxla_status_name(status).decode()}: {lxla_last_error_message().decode()}")


def _check(status, function, arguments):
    if status != 0:
        raise Error(status)


def _function(name, result, parameters):
    kind = CFUNCTYPE(result, *(each for _, each in parameters))
    function = kind((name, _library), tuple((1, each) for each, _ in parameters))
    if result is c_int32:
        function.errcheck = _check
    return function


def handle_of(array):
    """Returns the handle of an array, which stays the array's."""
    return lxla_tensor(array.handle)


def array_of(handle):
    """Returns an array of a handle, and takes over one reference to it."""
    return _core.from_handle(handle.id)


'''


def ctypes_text(text):
    """Returns the class of ctypes of a type in C, as Python: as `ctype` of header.py."""
    words = [word for word in text.split() if word != "const"]
    base, stars = words[0], len(words) - 1
    if base in ("char", "void"):
        kind = "c_char_p" if base == "char" and text.startswith("const") else "c_void_p"
        stars -= 1
        if stars < 0:
            return "None"
    else:
        kind = C_NAMES.get(base, base)
    return "POINTER(" * stars + kind + ")" * stars


# Classes of ctypes are called by their width here; on this platform some are other names of long.
C_NAMES = {
    "double": "c_double",
    "int32_t": "c_int32",
    "int64_t": "c_int64",
    "size_t": "c_size_t",
    "uint8_t": "c_uint8",
    "uint32_t": "c_uint32",
    "uint64_t": "c_uint64",
}


def ctypes_types():
    for text in header.statements():
        if match := header.FUNCTION_POINTER.fullmatch(text):
            variables = header.variables(match["parameters"], ",")
            names = [each.name for each in variables]
            # Bytes with a length need not end in NUL: they are pointers.
            kinds = ["c_void_p" if each.name + "_size" in names else ctypes_text(each.type) for each in variables]
            yield f"{match['name']} = CFUNCTYPE({', '.join([ctypes_text(match['result']), *kinds])})"
        elif match := header.STRUCT.fullmatch(text):
            rows = []
            for each in header.variables(match["fields"], ";"):
                length = f" * {each.length}" if each.length else ""
                rows.append(f'("{each.name}", {ctypes_text(each.type)}{length})')
            base = "Structure" if match["kind"] == "struct" else "Union"
            yield f"class {match['name']}({base}):\n    _fields_ = [{', '.join(rows)}]"
        elif match := header.ALIAS.fullmatch(text):
            yield f"{match['name']} = {ctypes_text(match['type'])}"


def ctypes_functions():
    for name, function in header.functions.items():
        rows = [f'("{each.name}", {ctypes_text(each.type)})' for each in function.parameters]
        yield f'{name} = _function("{name}", {ctypes_text(function.result)}, [{", ".join(rows)}])'


def ctypes_module():
    head = C_HEAD.replace("LIBRARY", f"liblazyxla.so.{header.constants.VERSION_MAJOR}")
    text = head + "\n\n".join(ctypes_types()) + "\n\n" + "\n".join(ctypes_functions()) + "\n"
    command = [str(ROOT / "build/tools/bin/ruff"), "format", "--no-cache", "--config", str(ROOT / "ruff.toml"), "-"]
    return subprocess.run(command, input=text, text=True, capture_output=True, check=True).stdout


def main():
    wrong = []
    for path, text in {
        "python/src/sys.rs": binding(),
        "python/lazyxla/_constants.py": python_constants(),
        "python/lazyxla/c.py": ctypes_module(),
    }.items():
        if "--check" not in sys.argv:
            (ROOT / path).write_text(text)
        elif not (ROOT / path).exists() or (ROOT / path).read_text() != text:
            wrong.append(path)
    if wrong:
        sys.exit(f"{', '.join(wrong)}: not what include/lazyxla.h says; run tools/python_binding.py")


main()
