"""Compares the C API with the committed one by libabigail: python abi.py [--write] [--description FILE]

A library of stubs is compiled from include/lazyxla.json, which declares what lazyxla.h does (the test `description`):
its debug information has the types that C programs are compiled with. That of the library has Rust's; `make check` and
the tests of the header show that it exports these functions. abidiff compares it with c_tests/abi/lazyxla.abi.
Functions may be added, and fields at the end of structs with `struct_size`, behind their old size; everything else
fails. With --write, the new API is committed if it is compatible."""

import argparse
import json
import subprocess
import sys
import tempfile
import xml.etree.ElementTree
from pathlib import Path

sys.dont_write_bytecode = True  # leaves no caches beside the sources
ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "tools/bindings"))
from calls import declaration, options, ordered

BASELINE = ROOT / "c_tests/abi/lazyxla.abi"


def run(*command):
    return subprocess.run([*map(str, command)], capture_output=True, text=True)


def checked(*command):
    answer = run(*command)
    if answer.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{answer.stdout}{answer.stderr}")


def committed_fields():
    """Returns how many fields each struct of the committed API has."""
    if not BASELINE.exists():
        return {}
    structs = xml.etree.ElementTree.parse(BASELINE).getroot().iter("class-decl")
    return {each.get("name"): len(each.findall("data-member")) for each in structs}


def stub(of):
    """Returns a definition of a function, with the signature of the header."""
    result = "" if of["result"] == "void" else f" return ({of['result']})0; "
    return declaration(of).replace(";\n", f" {{{result}}}\n")


def source(description, fields):
    """Returns a program with all types and stubs. Versioned structs have as many fields as `fields` says, and must not
    have a further one in the padding at their end: an old program does not set it."""
    versioned, parts = {each["name"] for each in options(description)}, ["#include <stddef.h>\n#include <stdint.h>\n"]
    for i, of in enumerate(ordered(description["types"])):
        known = fields.get(of["name"])
        if of["name"] in versioned and known and len(of["fields"]) > known:
            whole, further = {**of, "name": of["name"] + "_whole"}, of["fields"][known]["name"]
            of = {**of, "fields": of["fields"][:known]}
            rule = f"offsetof({whole['name']}, {further}) >= sizeof({of['name']})"
            parts += [declaration(of), declaration(whole)]
            parts.append(f'_Static_assert({rule}, "{further} is in the padding of {of["name"]}");\n')
        else:
            parts.append(declaration(of))
        # So that types which no signature has are in the debug information.
        parts.append(f"{of['name']} *lxla_type_{i};\n")
    return "".join(parts + [stub(each) for each in description["functions"]])


def described(description, fields, folder):
    """Writes the API as XML, without paths, so that it is the same everywhere."""
    code, library, out = folder / "lazyxla.c", folder / "liblazyxla.so.0", folder / "lazyxla.abi"
    code.write_text(source(description, fields))
    soname = f"-Wl,-soname,liblazyxla.so.{description['version'].split('.')[0]}"
    checked("gcc", "-g", "-shared", "-fPIC", soname, f"-ffile-prefix-map={folder}=.", code, "-o", library)
    checked("abidw", "--no-corpus-path", "--no-comp-dir-path", "--no-show-locs", "--out-file", out, library)
    return out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", action="store_true", help="commit the API, if it is compatible")
    parser.add_argument("--description", type=Path, default=ROOT / "include/lazyxla.json", help="another description")
    arguments = parser.parse_args()
    description = json.loads(arguments.description.read_text())
    with tempfile.TemporaryDirectory() as name:
        if BASELINE.exists():
            now = described(description, committed_fields(), Path(name))
            answer = run("abidiff", "--no-added-syms", BASELINE, now)
            if answer.returncode:
                print(answer.stdout + answer.stderr, end="")
                sys.exit("the C API is not compatible with c_tests/abi/lazyxla.abi: see docs/abi.md")
        if arguments.write:
            BASELINE.write_text(described(description, {}, Path(name)).read_text())
    print("the C API is compatible with c_tests/abi/lazyxla.abi")


if __name__ == "__main__":
    main()
