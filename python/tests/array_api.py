"""Runs the public suite of the array API standard on both devices: array_api.py FOLDER [OPTION OF PYTEST ...].

FOLDER is a checkout of github.com/data-apis/array-api-tests with its submodule. lazyxla is imported from PYTHONPATH.
array_api_xfails.txt lists the tests that fail, with reasons."""

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
# On an XLA device, an example is a program to compile.
EXAMPLES = {"cpu": 100, "xla:0": 10}
MODULE = "exec('import lazyxla as xp; xp._kept = xp.use_device(\"{0}\"); xp._kept.__enter__()')"
WANTED = """want a checkout of the public suite:
    git clone --recurse-submodules https://github.com/data-apis/array-api-tests
    make test-array-api ARRAY_API_TESTS=array-api-tests"""


def main():
    folder = Path(sys.argv[1]) if sys.argv[1:] and sys.argv[1] else None
    if folder is None:
        sys.exit(f"ARRAY_API_TESTS is not set; {WANTED}")
    for part in ("conftest.py", "array_api_tests", "array-api/spec/2024.12"):
        if not (folder / part).exists():
            sys.exit(f"ARRAY_API_TESTS={folder}: it has no {part}; {WANTED}")
    import run  # noqa: F401 - it names the plugin

    failed = []
    for device, examples in EXAMPLES.items():
        print(f"device {device}, {examples} examples of each test", flush=True)
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--disable-deadline"]
        command += ["--hypothesis-derandomize", f"--max-examples={examples}", "array_api_tests"]
        command += ["--xfails-file", str(HERE / "array_api_xfails.txt"), *sys.argv[2:]]
        environment = {**os.environ, "ARRAY_API_TESTS_MODULE": MODULE.format(device)}
        if subprocess.run(command, cwd=folder, env=environment).returncode:
            failed.append(device)
    sys.exit(f"the suite fails on {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
