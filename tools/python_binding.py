"""Writes the declarations of include/lazyxla.h for the Python package: python/src/sys.rs for its extension module, and
python/lazyxla/_constants.py. With --check, fails if a file is not the one that would be written."""

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


def main():
    wrong = []
    for path, text in {"python/src/sys.rs": binding(), "python/lazyxla/_constants.py": python_constants()}.items():
        if "--check" not in sys.argv:
            (ROOT / path).write_text(text)
        elif not (ROOT / path).exists() or (ROOT / path).read_text() != text:
            wrong.append(path)
    if wrong:
        sys.exit(f"{', '.join(wrong)}: not what include/lazyxla.h says; run tools/python_binding.py")


main()
