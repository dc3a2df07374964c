"""The ABI as include/lazyxla.json describes it: constants, ctypes classes and functions with their types. The tests take
all of these from here, so that a change of src/capi needs no second change in Python.

    from header import constants, family, load, types
    lib = load("liblazyxla.so")
    out = types.lxla_tensor()
    lib.lxla_binary(constants.BINARY_ADD, a, b, ctypes.byref(out))

How types are mapped: a pointer to T is POINTER(T), which takes arrays of T, byref(T()) and None; void * is c_void_p;
const char * is c_char_p, which takes bytes; char **, a string that lxla_string_free frees, is POINTER(c_void_p), since
ctypes would copy a c_char_p and lose the pointer."""

import ctypes
import json
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

DESCRIPTION = json.loads((Path(__file__).resolve().parents[2] / "include/lazyxla.json").read_text())
SCALARS = {
    "double": ctypes.c_double,
    "int32_t": ctypes.c_int32,
    "int64_t": ctypes.c_int64,
    "size_t": ctypes.c_size_t,
    "uint8_t": ctypes.c_uint8,
    "uint32_t": ctypes.c_uint32,
    "uint64_t": ctypes.c_uint64,
}
DESCRIBED = {each["name"]: each for each in DESCRIPTION["types"]}
RESULTS = {"void": None, "const char *": ctypes.c_char_p}


class Variable(NamedTuple):
    """A parameter: its type in C, such as `const lxla_tensor *`, and its name."""

    type: str
    name: str


class Function(NamedTuple):
    """A function: its result and parameters, in C and for ctypes."""

    result: str
    parameters: list
    restype: object
    argtypes: list


def named(name):
    """Returns the ctypes class of a type of the library or of C. Types precede those that they use."""
    if name not in SCALARS and not hasattr(types, name):
        setattr(types, name, made(DESCRIBED[name]))
    return SCALARS.get(name) or getattr(types, name)


def ctype(of):
    """Returns the ctypes class of a parameter or field."""
    base, pointers = of["base"], of["pointers"]
    if base in ("char", "void"):
        # Bytes with a length need not end in NUL: they are pointers. A string to be freed must not be copied.
        is_text = base == "char" and of["type"].startswith("const") and of["role"] != "bytes"
        kind, pointers = (ctypes.c_char_p if is_text else ctypes.c_void_p), pointers - 1
    else:
        kind = named(base)
    for _ in range(pointers):
        kind = ctypes.POINTER(kind)
    return kind * of["array"] if "array" in of else kind


def result(name):
    return RESULTS[name] if name in RESULTS else named(name)


def made(of):
    """Returns the class of a type."""
    if of["kind"] == "alias":
        return named(of["type"])
    if of["kind"] == "function":
        return ctypes.CFUNCTYPE(result(of["result"]), *map(ctype, of["parameters"]))
    base = ctypes.Structure if of["kind"] == "struct" else ctypes.Union
    return type(of["name"], (base,), {"_fields_": [(each["name"], ctype(each)) for each in of["fields"]]})


def declared(of):
    parameters = [Variable(each["type"], each["name"]) for each in of["parameters"]]
    return Function(of["result"], parameters, result(of["result"]), [ctype(each) for each in of["parameters"]])


def family(prefix):
    """Returns the constants of a family by their names in lower case: family("DTYPE")["f32"] is LXLA_DTYPE_F32."""
    start = prefix + "_"
    return {name.removeprefix(start).lower(): n for name, n in vars(constants).items() if name.startswith(start)}


class Library(ctypes.CDLL):
    """The library. Its functions refuse arguments of wrong types or number (ArgumentError, TypeError), which C would
    take as they are; names that the description lacks are an AttributeError."""

    def __getitem__(self, name):
        if name not in functions:
            raise AttributeError(f"lazyxla.json does not describe {name}")
        of = functions[name]
        # With names, ctypes refuses surplus arguments too.
        return ctypes.CFUNCTYPE(of.restype, *of.argtypes)((name, self), tuple((1, each.name) for each in of.parameters))


def load(path):
    return Library(path)


# Every constant LXLA_NAME as NAME; classes of every type; functions; the latter two by their names in C.
constants = SimpleNamespace(
    ABI_VERSION=DESCRIPTION["abi_version"],
    **dict(zip(("VERSION_MAJOR", "VERSION_MINOR", "VERSION_PATCH"), map(int, DESCRIPTION["version"].split(".")))),
    **{
        each["name"].removeprefix("LXLA_"): each["value"]
        for family in DESCRIPTION["families"]
        for each in family["constants"]
    },
)
types = SimpleNamespace()
for name in DESCRIBED:
    named(name)
functions = {each["name"]: declared(each) for each in DESCRIPTION["functions"]}
