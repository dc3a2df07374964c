"""Writes the reference of the Python package. Griffe reads the sources, so that nothing has to be built; the texts of
the classes of the extension module are the comments of its Rust source."""

import functools
import re
import textwrap

import griffe
from common import ROOT, write
from made_functions import made_functions

MODULES = {
    "lazyxla": "Arrays and functions",
    "lazyxla.linalg": "Linear algebra",
    "lazyxla.fft": "Fourier transforms",
    "lazyxla.random": "Random numbers",
    "lazyxla.nn": "Neural networks",
    "lazyxla.optim": "Optimizers",
}
# Functions of the first page, by the file that defines them.
PARTS = {
    "_core": "Arrays, dtypes and devices",
    "_creation": "Creation",
    "_device": "Devices and steps",
    "_dtypes": "Dtypes",
    "_elementwise": "Elementwise functions",
    "_shapes": "Shapes, indexing, reductions, products",
    "_transform": "Derivatives, batches, loops",
    "_files": "Files",
}


def rust_docs():
    """Returns the documentation of classes and of their methods, by name, from the comments of python/src."""
    found = {}
    item = r"((?:^ *///[^\n]*\n)*)((?:^ *#\[[^\n]*\]\n)*)^ *(?:pub(?:\([a-z]+\))? )?(impl|struct|fn) (\w+)"
    for path in sorted((ROOT / "python/src").glob("*.rs")):
        owner = None
        for comment, attributes, kind, name in re.findall(item, path.read_text(encoding="utf-8"), re.M):
            doc = "\n".join(line.strip()[3:].removeprefix(" ") for line in comment.splitlines())
            if kind == "impl":
                owner = name if "#[pymethods]" in attributes else None
            elif kind == "struct":
                found[name] = doc
            elif owner and doc:
                named = re.search(r"#\[(?:getter\(|pyo3\(name = \")(\w+)", attributes)
                found[f"{owner}.{named[1] if named else name}"] = doc
    return found


def indented(text, by=3):
    return textwrap.indent(text, " " * by)


def doc_of(of, rust):
    if of.docstring:
        return textwrap.dedent(of.docstring.value)
    path = of.path.removeprefix("lazyxla._core.")
    return rust.get(path, "")


def function(of, name, rust, kind="function"):
    signature = of.signature(name=name).replace("builtins.", "")
    lines = [f".. py:{kind}:: {signature}", ""]
    return "\n".join(lines) + "\n" + indented(doc_of(of, rust)) + "\n\n"


def attribute(of, name, rust, kind="attribute"):
    made = made_in(of.filepath).get(name) if kind == "data" else None
    if made:
        return f".. py:function:: {made.signature}\n\n{indented(made.doc)}\n\n"
    facts = f"   :type: {of.annotation}\n" if of.annotation else ""
    if kind == "data" and of.value is not None and not name.startswith("_"):
        facts += f"   :value: {of.value}\n"
    return f".. py:{kind}:: {name}\n{facts}\n{indented(doc_of(of, rust))}\n\n"


@functools.cache
def made_in(path):
    """Returns the functions that calls make in a file."""
    return made_functions(path.read_text(encoding="utf-8")) if path.suffix == ".py" else {}


def class_part(of, name, rust):
    bases = f"\n\nA {of.bases[0]}." if of.bases and str(of.bases[0]) == "NamedTuple" else ""
    made = f".. py:class:: {name}\n\n{indented(doc_of(of, rust) + bases)}\n\n"
    members, operators = "", []
    for member, each in of.members.items():
        each = each.final_target if each.is_alias else each
        if member.startswith("_"):
            operators += [member] if each.is_function and doc_of(each, rust) == "" else []
            if not (each.is_function and doc_of(each, rust)):
                continue
        if each.is_function:
            members += function(each, member, rust, "method")
        elif each.is_attribute:
            members += attribute(each, member, rust, "property" if "property" in each.labels else "attribute")
    if operators:
        names = ", ".join(f"``{each}``" for each in operators)
        members += f"Operators and protocols: {names}.\n\n"
    return made + indented(members) + "\n"


def object_part(of, name, rust):
    target = of.final_target if of.is_alias else of
    if target.is_class:
        return class_part(target, name, rust)
    return function(target, name, rust) if target.is_function else attribute(target, name, rust, "data")


def heading(text, mark):
    return f"{text}\n{mark * len(text)}\n\n"


def part_of(of, module):
    """Returns the heading below which an object is."""
    path = (of.target_path if of.is_alias else of.path).split(".")
    if module != "lazyxla":
        return None
    return PARTS.get(path[1], title_of(path[1]) if path[1].startswith("_") else "Constants")


def title_of(name):
    return name.strip("_").replace("_", " ").capitalize()


def page(module, loaded, rust):
    of = loaded if module == "lazyxla" else loaded[module.split(".")[1]]
    made = heading(MODULES[module], "=") + f".. py:module:: {module}\n\n{of.docstring.value}\n\n"
    names = of.exports or [name for name in of.members if not name.startswith("_")]
    names = [str(name) for name in names]
    parts = {}
    for name in names:
        if not of[name].is_module and not name.startswith("__"):
            parts.setdefault(part_of(of[name], module), []).append(name)
    order = [*PARTS.values(), *sorted(set(parts) - {*PARTS.values(), "Constants", None}, key=str), "Constants", None]
    for part in sorted(parts, key=order.index):
        made += heading(part, "-") if part else ""
        # Classes first: they are what the functions take.
        found = sorted(parts[part], key=lambda name: (not of[name].is_class, name.lower()))
        made += "".join(object_part(of[name], name, rust) for name in found)
    return made


def add_modules(loaded):
    """Adds the public modules that MODULES does not name."""
    for name, each in loaded.members.items():
        if not each.is_alias and each.is_module and not name.startswith("_") and name != "c" and each.docstring:
            MODULES.setdefault(f"lazyxla.{name}", title_of(name))


def reference(to, _documents):
    loaded, rust = griffe.load("lazyxla", search_paths=[str(ROOT / "python")]), rust_docs()
    add_modules(loaded)
    rows = ""
    for module in MODULES:
        write(to / f"reference/python/{module.replace('.', '_')}.rst", page(module, loaded, rust))
        rows += f"| [`{module}`]({module.replace('.', '_')}.rst) | {MODULES[module]} |\n"
    tree = "\n".join(module.replace(".", "_") for module in MODULES)
    write(to / "reference/python/index.md",
          f"# Python API\n\nThe package `lazyxla`: [how to start](/python.md). `lazyxla.c` has the functions of the"
          f" [C API](/reference/c/index.md).\n\n| module | |\n|---|---|\n{rows}\n"
          f"```{{toctree}}\n:hidden:\n\n{tree}\n```\n")  # fmt: skip
