"""Makes the Python package, a folder to import, and a wheel of it.

    wheel.py stage --tree PREFIX --module liblazyxla_core.so --to FOLDER
    wheel.py wheel --stage FOLDER --to WHEELS

PREFIX is what `cmake --install` wrote. auditwheel, in this Python, says on which systems the wheel runs."""

import argparse
import base64
import hashlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import licenses

ROOT = Path(__file__).resolve().parents[1]
VERSION = re.search(r'^version = "(.*)"', (ROOT / "Cargo.toml").read_text(), re.M)[1]
SONAME = "liblazyxla.so." + VERSION.split(".")[0]
# The plugin of tools/requirements/plugin.txt, and optree for trees of arrays.
PLUGIN = re.search(r"^[\w-]+==[\w.]+", (ROOT / "tools/requirements/plugin.txt").read_text(), re.M)[0]
METADATA = f"""Metadata-Version: 2.1
Name: lazyxla
Version: {VERSION}
Summary: Lazy arrays on XLA, by the Python array API standard
License: MIT OR Apache-2.0
Requires-Python: >=3.10
Requires-Dist: {PLUGIN}
Requires-Dist: optree >=0.13
Description-Content-Type: text/markdown

{(ROOT / "python/README.md").read_text()}"""


def replaced(text, old, new):
    """Replaces text; exits if it is missing."""
    if old not in text:
        sys.exit(f"wheel.py: no {old!r} in what is installed")
    return text.replace(old, new)


def stage(tree, module, folder):
    """Writes the package to `folder`/lazyxla. A wheel has no links: the library is there under its soname alone."""
    package = folder / "lazyxla"
    shutil.rmtree(package, ignore_errors=True)
    shutil.copytree(ROOT / "python/lazyxla", package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(module, package / "_core.abi3.so")
    (installed,) = {path.parent for path in tree.glob("lib*/liblazyxla.so.*") if not path.is_symlink()}
    lib = package / "lib"
    (lib / "lazyxla").mkdir(parents=True)
    shutil.copy(installed / f"liblazyxla.so.{VERSION}", lib / SONAME)
    shutil.copy(installed / "lazyxla/lazyxla-probe", lib / "lazyxla")
    shutil.copytree(tree / "include", package / "include")
    shutil.copytree(tree / "share/licenses/lazyxla", package / "licenses")
    crates = licenses.linked(licenses.metadata(), licenses.LIBRARY, licenses.EXTENSION)
    (package / "licenses/THIRD_PARTY_LICENSES.txt").write_text(licenses.collected(crates, "The Python package"))
    shutil.copytree(installed / "cmake", lib / "cmake")
    shutil.copytree(installed / "pkgconfig", lib / "pkgconfig")
    for path, changes in {
        "cmake/lazyxla/lazyxlaConfig.cmake": [
            (f"liblazyxla.so.{VERSION}", SONAME),
            (f"/{installed.name}/liblazyxla", "/lib/liblazyxla"),
        ],
        "pkgconfig/lazyxla.pc": [("-llazyxla", f"-l:{SONAME}"), (f"/{installed.name}\n", "/lib\n")],
    }.items():
        text = (lib / path).read_text()
        for old, new in changes:
            text = replaced(text, old, new)
        (lib / path).write_text(text)


def digest(data):
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def write_wheel(folder, to, tag):
    """Writes a wheel of the package in `folder`, and returns its path. Equal packages give equal wheels."""
    info = f"lazyxla-{VERSION}.dist-info"
    head = f"Wheel-Version: 1.0\nGenerator: lazyxla\nRoot-Is-Purelib: false\nTag: {tag}\n"
    files = {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mode & 0o777)
        for path in sorted((folder / "lazyxla").rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }
    files[f"{info}/METADATA"] = (METADATA.encode(), 0o644)
    files[f"{info}/WHEEL"] = (head.encode(), 0o644)
    record = [f"{name},{digest(data)},{len(data)}" for name, (data, _) in files.items()] + [f"{info}/RECORD,,"]
    files[f"{info}/RECORD"] = ("\n".join(record).encode() + b"\n", 0o644)
    path = to / f"lazyxla-{VERSION}-{tag}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, (data, mode) in files.items():
            row = zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0))
            row.external_attr = (0o100000 | mode) << 16
            row.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(row, data)
    return path


def platform_of(wheel):
    """Returns the oldest platform that auditwheel finds the wheel to run on, such as manylinux_2_35_x86_64."""
    command = [sys.executable, "-m", "auditwheel", "show", str(wheel)]
    shown = subprocess.run(command, capture_output=True, text=True)
    text = " ".join((shown.stdout + shown.stderr).split())
    found = re.search(r'platform tag: "(manylinux_\w+)"', text)
    if not found:
        sys.exit(f"wheel.py: auditwheel finds no platform:\n{shown.stdout}{shown.stderr}")
    return found[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    staging = commands.add_parser("stage")
    for name in ("tree", "module", "to"):
        staging.add_argument(f"--{name}", type=Path, required=True)
    wheel = commands.add_parser("wheel")
    for name in ("stage", "to"):
        wheel.add_argument(f"--{name}", type=Path, required=True)
    given = parser.parse_args()
    if given.command == "stage":
        stage(given.tree, given.module, given.to)
        return
    given.to.mkdir(parents=True, exist_ok=True)
    for old in given.to.glob("lazyxla-*.whl"):
        old.unlink()
    with tempfile.TemporaryDirectory() as folder:
        platform = platform_of(write_wheel(given.stage, Path(folder), "cp310-abi3-linux_x86_64"))
    print(write_wheel(given.stage, given.to, f"cp310-abi3-{platform}"))


main()
