"""Licences of the crates in the library and in the Python extension: python licenses.py OUTPUT_FOLDER | --check

Writes THIRD_PARTY_LICENSES.txt, with the texts of the licences as the crates have them and those of Rust's standard
library, and lazyxla.cdx.json, a software bill of materials in the form of CycloneDX 1.5, both from Cargo.lock and the
sources that cargo downloads, if it has not yet. Fails if a crate has a licence that is not in ALLOWED, or no text. With
--check, only that, also for the crates of the Python extension, whose texts tools/wheel.py puts into the wheel."""

import json
import os
import re
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TARGET = "x86_64-unknown-linux-gnu"
# Licences that allow a library with them in it to be given away under MIT or Apache-2.0, with their texts.
ALLOWED = {"MIT", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "Zlib", "0BSD", "CC0-1.0", "Unlicense",
           "Unicode-3.0", "BSL-1.0", "Apache-2.0 WITH LLVM-exception"}  # fmt: skip
# Crates without the text of their licence, and another one of the same author under the same licence that has it. faer
# has the texts of the code in it that was ported from others.
SAME_TEXT = dict.fromkeys(
    """equator faer faer-traits nano-gemm nano-gemm-c32 nano-gemm-c64 nano-gemm-core nano-gemm-f32 nano-gemm-f64
    pulp-wasm-simd-flag""".split(),
    "gemm",
)
# Rust's standard library is linked statically, with the crates that it needs on Linux. compiler_builtins has code from
# LLVM's compiler-rt and from musl.
STANDARD = """Rust's standard library {version} (https://github.com/rust-lang/rust, the folder library): MIT OR Apache-2.0.
Copyright (c) The Rust Project Developers (https://thanks.rust-lang.org).
It has tables of Unicode, Inc. (Unicode-3.0), and these crates, whose sources are at https://crates.io:
addr2line, cfg-if, gimli, hashbrown, libc, object, rustc-demangle: MIT OR Apache-2.0
adler2: 0BSD OR MIT OR Apache-2.0
memchr: Unlicense OR MIT
miniz_oxide: MIT OR Zlib OR Apache-2.0
compiler_builtins: MIT AND Apache-2.0 WITH LLVM-exception AND (MIT OR Apache-2.0)
"""
TEXTS = re.compile(r"(LICEN[CS]E|COPYING|COPYRIGHT|NOTICE|UNLICENSE)", re.I)


def metadata():
    command = ["cargo", "metadata", "--format-version=1", "--locked", "--filter-platform", TARGET]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if answer.returncode:
        sys.exit(f"licenses: cargo metadata fails\n{answer.stderr}")
    return json.loads(answer.stdout)


LIBRARY = "lazyxla"
EXTENSION = "lazyxla-python"


def linked(graph, *names):
    """Returns the packages whose code is in some packages of the workspace, by name: normal dependencies, without
    procedural macros, which run in the compiler, and what only these need."""
    packages = {each["id"]: each for each in graph["packages"]}
    nodes = {each["id"]: each for each in graph["resolve"]["nodes"]}
    is_macro = lambda id: any("proc-macro" in target["kind"] for target in packages[id]["targets"])
    start = [each["id"] for each in graph["packages"] if each["name"] in names and each["source"] is None]
    found, todo = set(), start
    while todo:
        id = todo.pop()
        if id not in found and not is_macro(id):
            found.add(id)
            deps = nodes[id]["deps"]
            todo += [each["pkg"] for each in deps if any(kind["kind"] is None for kind in each["dep_kinds"])]
    needs = lambda id: sorted(each["pkg"] for each in nodes[id]["deps"] if each["pkg"] in found)
    rows = [(packages[id], [packages[other] for other in needs(id)]) for id in found]
    return sorted(rows, key=lambda row: (row[0]["name"], row[0]["version"]))


def allowed(expression):
    """Whether one of the alternatives of a licence is allowed: `A OR B`, `(A OR B) AND C`, `A/B`."""
    words = re.findall(r"\(|\)|[^\s()]+", (expression or "").replace("/", " OR "))
    text = " ".join(words).replace("Apache-2.0 WITH LLVM-exception", "Apache-2.0")
    rule = re.sub(r"[\w.+-]+", lambda m: {"OR": "or", "AND": "and"}.get(m[0], str(m[0] in ALLOWED)), text)
    return bool(expression) and re.fullmatch(r"[()\s]*((True|False|or|and)[()\s]*)+", rule) and eval(rule)


def texts(package):
    folder = ROOT if package["source"] is None else Path(package["manifest_path"]).parent
    files = [each for each in sorted(folder.iterdir()) if each.is_file() and TEXTS.match(each.name)]
    return [(each.name, each.read_text(errors="replace").strip()) for each in files]


def texts_of_all(rows):
    """Returns the texts of each crate, with those of the crate in SAME_TEXT if that has the same licence."""
    packages = {package["name"]: package for package, _ in rows}
    for package, _ in rows:
        other = packages.get(SAME_TEXT.get(package["name"]))
        is_same = other is not None and other["license"] == package["license"]
        yield package, texts(package) + (texts(other) if is_same else [])


def rust_version():
    """Returns the version of the Rust that builds the library."""
    command = [os.environ.get("RUSTC", "rustc"), "--version"]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return said.split()[1]


def standard_texts():
    """Returns the licences of Rust's standard library, by title: in MIT's, the copyright is that of its developers."""
    mit = re.sub(r"(?m)^Copyright .*$", "Copyright (c) The Rust Project Developers", (ROOT / "LICENSE-MIT").read_text())
    texts = {"MIT": mit, "Apache-2.0": (ROOT / "LICENSE-APACHE").read_text()}
    texts["Unicode-3.0"] = (ROOT / "tools/third_party/Unicode-3.0.txt").read_text(encoding="utf-8")
    return {f"Rust's standard library ({name})": text.strip() for name, text in texts.items()}


def purl(package):
    return f"pkg:cargo/{package['name']}@{package['version']}"


def component(package, kind="library"):
    made = {"type": kind, "bom-ref": purl(package), "name": package["name"], "version": package["version"]}
    made |= {"purl": purl(package), "description": package["description"] or ""}
    made["licenses"] = [{"expression": (package["license"] or "").replace("/", " OR ")}]
    if package["repository"]:
        made["externalReferences"] = [{"type": "vcs", "url": package["repository"]}]
    return made


def bill(rows):
    root = next(package for package, _ in rows if package["name"] == LIBRARY)
    parts = [component(package) for package, _ in rows if package is not root]
    from_registry = {purl(package) for package, _ in rows if package["source"]}
    for part in parts:
        if part["purl"] in from_registry:
            part["hashes"] = [{"alg": "SHA-256", "content": checksum(part)}]
    parts.append(
        {
            "type": "library",
            "bom-ref": "rust-std",
            "name": "rust-std",
            "version": rust_version(),
            "description": "Rust's standard library, linked statically",
            "licenses": [{"expression": "(MIT OR Apache-2.0) AND Unicode-3.0"}],
            "externalReferences": [{"type": "vcs", "url": "https://github.com/rust-lang/rust"}],
        }
    )
    needs = [{"ref": purl(package), "dependsOn": [purl(each) for each in needed]} for package, needed in rows]
    needs[next(i for i, (package, _) in enumerate(rows) if package is root)]["dependsOn"].append("rust-std")
    made = {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1}
    made["metadata"] = {"component": component(root)}
    if "SOURCE_DATE_EPOCH" in os.environ:
        time = datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), timezone.utc)
        made["metadata"]["timestamp"] = time.strftime("%Y-%m-%dT%H:%M:%SZ")
    return made | {"components": parts, "dependencies": needs}


def checksum(part):
    """Returns the SHA-256 of a crate from Cargo.lock."""
    head = f'name = "{part["name"]}"\nversion = "{part["version"]}"\n'
    entry = (ROOT / "Cargo.lock").read_text().split(head)[1].split("[[package]]")[0]
    return re.search(r'checksum = "(\w+)"', entry)[1]


def collected(rows, what="The shared library"):
    """Returns all texts. Those that several crates have in common are there once."""
    by_text = {}
    for package, found in texts_of_all(rows):
        if package["source"] is not None:
            for name, text in found:
                by_text.setdefault(text, []).append(f"{package['name']} {package['version']} ({name})")
    for name, text in standard_texts().items():
        by_text.setdefault(text, []).append(name)
    names = [f"{p['name']} {p['version']}: {p['license']}" for p, _ in rows if p["source"] is not None]
    head = (
        f"{what} of lazyxla contains these crates, whose sources are at https://crates.io:\n\n"
        + "\n".join(names)
        + "\n\nIt also contains "
        + STANDARD.format(version=rust_version())
    )
    line = "\n" + "=" * 80 + "\n"
    return head + "".join(f"{line}{', '.join(of)}\n\n{text}\n" for text, of in by_text.items())


def problems(rows):
    for package, found in texts_of_all(rows):
        name = f"{package['name']} {package['version']}"
        if not allowed(package["license"]):
            yield f"{name} has the licence {package['license']}, which is not in ALLOWED of tools/licenses.py"
        if not found:
            yield f"{name} ({package['license']}) has no text of its licence"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    graph = metadata()
    rows = linked(graph, LIBRARY)
    everything = linked(graph, LIBRARY, EXTENSION)
    wrong = list(problems(everything))
    if wrong:
        sys.exit("licenses: " + "\nlicenses: ".join(wrong))
    if sys.argv[1] != "--check":
        folder = Path(sys.argv[1])
        (folder / "THIRD_PARTY_LICENSES.txt").write_text(collected(rows))
        (folder / "lazyxla.cdx.json").write_text(json.dumps(bill(rows), indent=1) + "\n")
    print(f"licences of {len(everything)} crates are allowed, {len(rows)} of them in the library")


if __name__ == "__main__":
    main()
