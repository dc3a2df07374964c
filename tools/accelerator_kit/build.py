"""Makes the accelerator kit, a folder, for `make accelerator-kit`: build.py --tree TREE --to FOLDER [--cargo cargo]

TREE is a tree of CMake with the targets accelerator_kit_programs and lazyxla_python. Tests and data
of the source lie in the kit under the same names, so that they find each other."""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
VERSION = re.search(r'^version = "(.*)"', (ROOT / "Cargo.toml").read_text(), re.M)[1]
MOST_BYTES = 60 << 20
# The newest C library that a program of the kit may ask for: Ubuntu 22.04 has it.
NEWEST_GLIBC = (2, 35)
# Patterns of files of the source.
FILES = [
    "LICENSE-*",
    "include/**/*",
    "c_tests/abi/*.py",
    "c_tests/operations/*.py",
    "c_tests/programs/*.py",
    "c_tests/programs/data/**/*",
    "python/tests/*",
    "python/examples/*",
    "examples/data/*",
    "examples/models/*",
]
# Python packages that the package of the kit needs, for each Python.
PACKAGES, PYTHONS = ("optree", "typing-extensions"), ("3.10", "3.11", "3.12", "3.13", "3.14", "3.15")


def oracle(cargo):
    """Builds the tests of random programs, and returns the program."""
    command = [cargo, "test", "--release", "--test", "oracle", "--no-run", "--message-format=json"]
    built = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    rows = [json.loads(line) for line in built.stdout.splitlines() if line.startswith("{")]
    found = [row["executable"] for row in rows if row.get("executable") and row["target"]["name"] == "oracle"]
    if len(found) != 1:
        sys.exit(f"build.py: cargo made {found}, want one program of the oracle")
    return Path(found[0])


def copy_source(kit):
    for pattern in FILES:
        found = [path for path in ROOT.glob(pattern) if path.is_file() and "__pycache__" not in path.parts]
        if not found:
            sys.exit(f"build.py: no file is called {pattern}")
        for path in found:
            to = kit / path.relative_to(ROOT)
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, to)
    shutil.copytree(HERE / "kit", kit / "kit", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy2(HERE / "run.sh", kit)


def strip(path):
    subprocess.run(["strip", "--strip-all" if path.name == "oracle" else "--strip-unneeded", str(path)], check=True)


def copy_built(tree, cargo, kit):
    package = shutil.ignore_patterns("__pycache__", "cmake", "pkgconfig")
    shutil.copytree(tree / "python/lazyxla", kit / "python/lazyxla", ignore=package)
    shutil.copytree(tree / "tools/accelerator_kit/programs", kit / "programs")
    shutil.copy2(oracle(cargo), kit / "programs/oracle")
    strip(kit / "programs/oracle")
    strip(kit / "python/lazyxla/_core.abi3.so")


def download(kit):
    """Wheels of the packages, as tools/requirements has them with their hashes."""
    text = (ROOT / "tools/requirements/python.txt").read_text()
    wanted = [each for each in re.split(r"\n(?=\S)", text) if each.startswith(tuple(f"{name}==" for name in PACKAGES))]
    if len(wanted) != len(PACKAGES):
        sys.exit(f"build.py: tools/requirements/python.txt has {len(wanted)} of {', '.join(PACKAGES)}")
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("\n".join(wanted) + "\n")
        file.flush()
        for version in PYTHONS:
            options = [
                "--python-version",
                version,
                "--only-binary",
                ":all:",
                "--no-deps",
                "--require-hashes",
                "--quiet",
            ]
            to = ["--disable-pip-version-check", "--dest", str(kit / "wheels"), "--requirement", file.name]
            subprocess.run([sys.executable, "-m", "pip", "download", *options, *to], check=True)


def needed_glibc(path):
    """The newest version of the C library whose symbols a program needs."""
    listed = subprocess.run(["objdump", "-T", str(path)], capture_output=True, text=True, check=True).stdout
    found = re.findall(r"\*UND\*.*\(?GLIBC_(\d+)\.(\d+)", listed)
    return max((tuple(map(int, each)) for each in found), default=(0, 0))


def glibc(kit):
    """The newest of all programs. Exits if a program needs a newer one than it may."""
    found = {}
    for path in sorted(kit.rglob("*")):
        if path.is_file() and not path.is_symlink() and path.open("rb").read(4) == b"\x7fELF":
            found[path.relative_to(kit)] = needed_glibc(path)
    new = {str(path): version for path, version in found.items() if version > NEWEST_GLIBC}
    if new:
        sys.exit(f"build.py: glibc {NEWEST_GLIBC} is the newest that a program may need: {new}")
    return ".".join(map(str, max(found.values())))


def paths_of_this_machine():
    """Beginnings of paths that a file of the kit could only have from the machine on which it was built."""
    home = Path.home()
    folders = {Path(os.environ.get("CARGO_HOME") or home / ".cargo"), home / ".cargo", home / ".rustup"}
    # By the entries of the source: a short path, as /src is, may be part of another one.
    return {str(each) + "/" for each in folders | {entry for entry in ROOT.iterdir() if entry.is_dir()}}


def without_paths_of_this_machine(kit):
    """Exits if a file names a folder of the machine on which the kit is built."""
    known = re.compile(b"|".join(re.escape(each.encode()) for each in sorted(paths_of_this_machine())))
    found = {}
    for path in sorted(path for path in kit.rglob("*") if path.is_file()):
        if said := known.search(data := path.read_bytes()):
            found[str(path.relative_to(kit))] = data[said.start() : said.end() + 60].decode(errors="replace")
    if found:
        sys.exit(f"build.py: files name folders of this machine, want none: {found}")


def commit():
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=12", "--exclude", "*"]
    return subprocess.run(command, capture_output=True, text=True).stdout.strip() or "no commit"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tree", type=Path, required=True)
    parser.add_argument("--to", type=Path, required=True)
    parser.add_argument("--cargo", default="cargo")
    given = parser.parse_args()
    kit = given.to
    shutil.rmtree(kit, ignore_errors=True)
    kit.mkdir(parents=True)
    copy_source(kit)
    copy_built(given.tree, given.cargo, kit)
    download(kit)
    without_paths_of_this_machine(kit)
    newest = glibc(kit)
    facts = {"version": VERSION, "commit": commit(), "glibc": newest}
    (kit / "kit.json").write_text(json.dumps(facts) + "\n")
    (kit / "README.md").write_text((HERE / "README.md").read_text().replace("@GLIBC@", newest))
    size = sum(path.stat().st_size for path in kit.rglob("*") if path.is_file())
    if size > MOST_BYTES:
        sys.exit(f"build.py: the kit has {size} bytes, want at most {MOST_BYTES}")
    print(f"{kit}: {size / 2**20:.1f} MiB, lazyxla {VERSION}, {facts['commit']}, glibc {newest}")


if __name__ == "__main__":
    main()
