"""Runs the functions `test_*` of the files here: run.py [--long] [NAME ...]. Also pytest does: pytest python/tests.

`--long` runs the functions `long_test_*` instead."""

import importlib
import os
import sys
import time
import traceback
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER))
# As the C tests: the default plugin of the build folder, unless a variable names another.
PLUGIN = FOLDER.parents[1] / "build/plugins/fastatomstruct_xla_cpu/libpjrt_cpu.so"
if PLUGIN.exists():
    os.environ.setdefault("LXLA_PJRT_PLUGIN", str(PLUGIN))


def main():
    failed = count = 0
    names = [each for each in sys.argv[1:] if each != "--long"]
    kind = "long_test_" if "--long" in sys.argv else "test_"
    for path in sorted(FOLDER.glob("test_*.py")):
        module = importlib.import_module(path.stem)
        for name in sorted(vars(module)):
            if not name.startswith(kind) or (names and not any(each in name for each in names)):
                continue
            start, count = time.perf_counter(), count + 1
            try:
                getattr(module, name)()
                print(f"ok   {path.stem}.{name} ({time.perf_counter() - start:.2f} s)", flush=True)
            except Exception:
                failed += 1
                print(f"FAIL {path.stem}.{name}\n{traceback.format_exc()}", flush=True)
    print(f"{count} tests, {failed} failed")
    sys.exit(failed > 0 or count == 0)


if __name__ == "__main__":
    main()
