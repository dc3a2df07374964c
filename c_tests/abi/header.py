"""The ABI as include/lazyxla.h declares it: constants, ctypes classes and functions with their types. The tests take
all of these from here, so that a change of src/capi needs no second change in Python.

    from header import constants, family, load, types
    lib = load("liblazyxla.so")
    out = types.lxla_tensor()
    lib.lxla_binary(constants.BINARY_ADD, a, b, ctypes.byref(out))

How types are mapped: a pointer to T is POINTER(T), which takes arrays of T, byref(T()) and None; void * is c_void_p;
const char * is c_char_p, which takes bytes; char **, a string that lxla_string_free frees, is POINTER(c_void_p), since
ctypes would copy a c_char_p and lose the pointer."""

import ctypes
import re
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

TEXT = (Path(__file__).resolve().parents[2] / "include/lazyxla.h").read_text()
SCALARS = {
    "double": ctypes.c_double,
    "int32_t": ctypes.c_int32,
    "int64_t": ctypes.c_int64,
    "size_t": ctypes.c_size_t,
    "uint8_t": ctypes.c_uint8,
    "uint32_t": ctypes.c_uint32,
    "uint64_t": ctypes.c_uint64,
}
FUNCTION_POINTER = re.compile(r"typedef (?P<result>.+) \( \* (?P<name>\w+) \) \( (?P<parameters>.*) \)")
FUNCTION = re.compile(r"(?P<result>.+) (?P<name>lxla_\w+) \( (?P<parameters>.*) \)")
STRUCT = re.compile(r"typedef (?P<kind>struct|union) { (?P<fields>.*) ; } (?P<name>\w+)")
ALIAS = re.compile(r"typedef (?P<type>\w+) (?P<name>\w+)")
VARIABLE = re.compile(r"(?P<type>.+?) (?P<name>\w+)(?: \[ (?P<length>\d+) \])?")


class Variable(NamedTuple):
    """A parameter or field: its type in C, such as `const lxla_tensor *`, its name, and the length of an array."""

    type: str
    name: str
    length: object


class Function(NamedTuple):
    """A function: its result and parameters, in C and for ctypes."""

    result: str
    parameters: list
    restype: object
    argtypes: list


def statements():
    """Returns the declarations of the header, without comments and macros, with one space between two tokens."""
    text = re.sub(r"/\*.*?\*/", " ", TEXT, flags=re.S)
    text = re.sub(r"^#ifdef __cplusplus$.*?^#endif.*?$", "", text, flags=re.S | re.M)
    tokens = re.findall(r"\w+|\S", re.sub(r"^#.*$", "", text, flags=re.M))
    found, depth = [[]], 0
    for token in tokens:
        depth += (token == "{") - (token == "}")
        if token == ";" and depth == 0:
            found.append([])
        else:
            found[-1].append(token)
    assert found[-1] == [], f"lazyxla.h ends within a declaration: {found[-1]}"
    return [" ".join(each) for each in found[:-1]]


def matched(pattern, text):
    match = pattern.fullmatch(text)
    assert match, f"lazyxla.h has a declaration that header.py cannot read: {text}"
    return match


def variables(text, separator):
    """Returns the variables of a list; (void) has none."""
    rows = [matched(VARIABLE, each) for each in text.split(f" {separator} ") if each != "void"]
    return [Variable(row["type"], row["name"], row["length"] and int(row["length"])) for row in rows]


def ctype(text):
    """Returns the ctypes class of a type in C."""
    words = [word for word in text.split() if word != "const"]
    base, stars = words[0], len(words) - 1
    assert words[1:] == ["*"] * stars, text
    if base in ("char", "void"):
        borrowed = base == "char" and text.startswith("const")
        kind, stars = (ctypes.c_char_p if borrowed else ctypes.c_void_p), stars - 1
        if stars < 0:
            return None
    else:
        kind = SCALARS.get(base) or getattr(types, base)
    for _ in range(stars):
        kind = ctypes.POINTER(kind)
    return kind


def callback(result, parameters):
    """Returns the class of a pointer to a function. Bytes with a length need not end in NUL: they are pointers."""
    names = [each.name for each in parameters]
    kinds = [ctypes.c_void_p if each.name + "_size" in names else ctype(each.type) for each in parameters]
    return ctypes.CFUNCTYPE(ctype(result), *kinds)


def structure(name, kind, fields):
    base = ctypes.Structure if kind == "struct" else ctypes.Union
    members = [(each.name, ctype(each.type) * each.length if each.length else ctype(each.type)) for each in fields]
    return type(name, (base,), {"_fields_": members})


def declare(text):
    """Adds a declaration to `types` or `functions`."""
    if match := FUNCTION_POINTER.fullmatch(text):
        setattr(types, match["name"], callback(match["result"], variables(match["parameters"], ",")))
    elif match := STRUCT.fullmatch(text):
        setattr(types, match["name"], structure(match["name"], match["kind"], variables(match["fields"], ";")))
    elif match := ALIAS.fullmatch(text):
        setattr(types, match["name"], ctype(match["type"]))
    else:
        match = matched(FUNCTION, text)
        parameters = variables(match["parameters"], ",")
        kinds = [ctype(each.type) for each in parameters]
        functions[match["name"]] = Function(match["result"], parameters, ctype(match["result"]), kinds)


def family(prefix):
    """Returns the constants of a family by their names in lower case: family("DTYPE")["f32"] is LXLA_DTYPE_F32."""
    start = prefix + "_"
    return {name.removeprefix(start).lower(): n for name, n in vars(constants).items() if name.startswith(start)}


class Library(ctypes.CDLL):
    """The library. Its functions refuse arguments of wrong types or number (ArgumentError, TypeError), which C would
    take as they are; names that the header does not declare are an AttributeError."""

    def __getitem__(self, name):
        if name not in functions:
            raise AttributeError(f"lazyxla.h does not declare {name}")
        of = functions[name]
        # With names, ctypes refuses surplus arguments too.
        return ctypes.CFUNCTYPE(of.restype, *of.argtypes)((name, self), tuple((1, each.name) for each in of.parameters))


def load(path):
    return Library(path)


# Every `#define LXLA_NAME` as NAME; classes of every typedef; functions; the latter two by their names in C.
constants = SimpleNamespace(
    **{name: int(n) for name, n in re.findall(r"^#define LXLA_(\w+) (-?\d+)(?: /\*\*<.*\*/)?$", TEXT, re.M)}
)
types = SimpleNamespace()
functions = {}
for statement in statements():
    declare(statement)
