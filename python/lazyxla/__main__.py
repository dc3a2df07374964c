"""``python -m lazyxla doctor`` and ``python -m lazyxla config``."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path

import lazyxla as lx
from lazyxla import _core

FOLDER = Path(__file__).resolve().parent


def doctor() -> int:
    """Prints versions, variables, plugins and devices, and computes a sum on each device. Returns the exit status."""
    print(f"lazyxla {lx.__version__}, Python {sys.version.split()[0]}, {FOLDER}")
    for name in sorted(os.environ):
        if name.startswith(("LXLA_", "PJRT_", "XLA_FLAGS", "TPU_LIBRARY_PATH")):
            print(f"  {name}={os.environ[name]}")
    try:
        for plugin in json.loads(_core.plugin_list_json()):
            state = plugin["error"] or f"PJRT API {plugin['api_version']}"
            print(f"plugin{' (default)' if plugin['default'] else ''}: {plugin['path']}: {state}")
    except OSError as error:
        print(f"plugins are not listed: {error}")
    failed = 0
    try:
        devices = lx.__array_namespace_info__().devices()
    except (OSError, RuntimeError, ValueError) as error:
        print(f"no XLA device: {error}")
        devices, failed = [lx.device("cpu")], 1
    for device in devices:
        start = time.perf_counter()
        found = float(lx.sum(lx.arange(1000, device=device) ** 2))
        ok = found == 332833500.0
        failed |= not ok
        text = "ok" if ok else f"WRONG: the sum of squares is {found}, not 332833500"
        print(f"device {device}: {text} ({time.perf_counter() - start:.3f} s)")
    print(f"disk cache: {os.environ.get('LXLA_CACHE_DIR') or 'none (LXLA_CACHE_DIR is not set)'}")
    return failed


def config(arguments: argparse.Namespace) -> int:
    """Prints what a compiler needs to use the library in this package."""
    include, lib = FOLDER / "include", FOLDER / "lib"
    parts = []
    if arguments.cflags:
        parts.append(f"-I{include}")
    if arguments.libs:
        parts.append(f"-L{lib} -Wl,-rpath,{lib} -l:liblazyxla.so.0")
    if arguments.cmake_dir:
        parts.append(str(lib / "cmake" / "lazyxla"))
    if arguments.library:
        parts.append(str(lib / "liblazyxla.so.0"))
    print(" ".join(parts))
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m lazyxla")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("doctor", help="versions, plugins, devices, and a computation on each device")
    options = commands.add_parser("config", help="flags for compilers")
    options.add_argument("--cflags", action="store_true", help="options of the C compiler")
    options.add_argument("--libs", action="store_true", help="options of the linker")
    options.add_argument("--cmake-dir", action="store_true", help="folder for lazyxla_DIR of CMake")
    options.add_argument("--library", action="store_true", help="path of the shared library")
    arguments = parser.parse_args()
    return doctor() if arguments.command == "doctor" else config(arguments)


if __name__ == "__main__":
    sys.exit(main())
