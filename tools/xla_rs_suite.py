"""Runs the C suite on the engine xla-rs: python xla_rs_suite.py BUILD_TREE LIBRARY

Programs and tests in xla_rs_skipped.txt are left out. After the programs come the comparisons with NumPy."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Tests in Python that use one device, with their arguments after the library.
PYTHON = [
    ("operations/ops_test.py", []),
    ("operations/dtypes_test.py", []),
    ("operations/derivatives_test.py", ["--lazily"]),
    ("operations/kernels_test.py", []),
]


def skipped():
    """Returns the programs that are left out, and the tests that are, by program."""
    programs, tests = set(), {}
    for line in (ROOT / "tools/xla_rs_skipped.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            words = line.split(":")[0].split()
            programs.update(words[:1] if len(words) == 1 else [])
            tests.setdefault(words[0], set()).update(words[1:])
    return programs, tests


def succeeds(command):
    """Runs a command; prints what it wrote if it fails."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        print(f"FAILED: {' '.join(map(str, command))}\n{done.stdout[-4000:]}{done.stderr[-4000:]}", flush=True)
    return done.returncode == 0


def main():
    tree, library = Path(sys.argv[1]), sys.argv[2]
    programs, tests = skipped()
    passed = failed = 0
    for source in sorted((ROOT / "c_tests").glob("*/test_*.c")):
        program = tree / "c_tests" / source.stem
        if source.stem in programs or not program.exists():
            continue
        out = tests.get(source.stem, set())
        names = re.findall(r"^(?:[A-Z]+_)?TEST\((\w+)", source.read_text(), re.MULTILINE)
        commands = [[program, name] for name in names if name not in out] if out else [[program]]
        results = [succeeds(command) for command in commands]
        passed, failed = passed + sum(results), failed + results.count(False)
        print(f"{source.stem}: {'FAILED' if False in results else 'passed'}", flush=True)
    for script, arguments in PYTHON:
        result = succeeds([sys.executable, ROOT / "c_tests" / script, library, *arguments])
        passed, failed = passed + result, failed + (not result)
        print(f"{script}: {'passed' if result else 'FAILED'}", flush=True)
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
