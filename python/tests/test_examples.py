"""The examples, each for a short time; the quick start and the examples in docstrings."""

import doctest
import importlib
import inspect
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import lazyxla as lx

PYTHON = Path(__file__).resolve().parents[1]


def run(name, *arguments):
    """Returns what an example prints, run in a folder that is deleted."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, PYTHON / "examples" / name, *arguments]
        # XLA's optimizations take longer than these few steps.
        variables = {**os.environ, "XLA_FLAGS": os.environ.get("XLA_FLAGS", "--xla_backend_optimization_level=0")}
        done = subprocess.run(command, capture_output=True, text=True, timeout=900, cwd=folder, env=variables)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout, sorted(os.listdir(folder))


def test_the_example_learns_digits():
    assert float(run("digits.py", "--epochs", "3")[0].split()[-1]) > 0.85


def test_the_example_on_a_mesh_learns_digits():
    printed, _ = run("mesh.py", "--epochs", "3")
    assert "'w1': '-,model', 'b1': 'model', 'w2': 'model,-', 'b2': '-'" in printed, printed
    assert float(printed.split()[-1]) > 0.85, printed


def test_the_imported_network_learns_shifted_digits_and_is_exported():
    printed, files = run("imported.py", "--steps", "60")
    lines = [line.replace(",", "").split() for line in printed.splitlines()]
    first, shifted, tuned, again = (float(line[at]) for line, at in zip(lines, (-1, -1, -3, -1), strict=True))
    assert first > 0.97 and shifted < 0.6 and tuned > 0.7 and again == tuned, printed
    assert files == ["tuned_digits.jax"]


def test_the_language_model_learns_is_compiled_once_and_writes():
    small = "--layers 1 --width 32 --heads 2 --context 16 --batch 8 --steps 40 --warmup 5 --rate 0.01 --every 20"
    printed, files = run("gpt.py", *small.split(), "--characters", "10", "--bound", "3.4")
    assert "programs compiled    1 for 40 steps; traced 1 times" in printed, printed
    lines = printed.splitlines()
    text = next(line for line in lines if line.startswith("And God said"))
    assert len(text) >= len("And God said") and files == ["gpt.safetensors"], printed


MODULES = (
    "",
    ".c",
    ".collectives",
    ".fft",
    ".linalg",
    ".nn",
    ".optim",
    ".random",
    "._creation",
    "._device",
    "._dtypes",
)
MODULES += (
    "._distributions",
    "._elements",
    "._forms",
    "._jax_names",
    "._mapping",
    "._matrices",
    "._nan",
    "._padding",
    "._places",
    "._polynomials",
    "._sets",
    "._signals",
    "._unique",
    ".tree",
    ".special",
    "._arranging",
    "._numerical",
    "._statistics",
    "._methods",
    "._elementwise",
    "._files",
    "._jit",
    "._loops",
    "._mesh",
    "._programs",
    "._reductions",
    "._rules",
    "._shapes",
)
MODULES += ("._transform", "._jacobians", "._windows", "._losses", "._entropies", "._lax")


NATIVE = (".linalg", ".nn", ".optim", ".random", "._creation", "._elementwise", "._reductions", "._rules")
NATIVE += ("._arranging", "._distributions", "._elements", "._forms", "._mapping", "._matrices", "._nan", "._numerical")
NATIVE += ("._padding", "._places", "._polynomials", "._sets", "._signals", "._statistics", "._unique", ".special")
NATIVE += ("._loops", "._shapes", "._transform", "._jacobians", "._windows", "._losses", "._entropies", "._lax")


# Of these, a few that run on the default device, too.
LAZILY = (".optim", "._loops", "._rules", "._transform")


def examples_hold(names, device):
    """Runs the examples of modules, and returns their number."""
    count = 0
    for name in names:
        module = importlib.import_module("lazyxla" + name)
        with lx.use_device(device):
            found = doctest.testmod(module, extraglobs={"ctypes": importlib.import_module("ctypes")})
        assert found.failed == 0, name
        count += found.attempted
    return count


def test_examples_in_the_documentation_hold():
    # Examples that do not depend on the device run on cpu, which compiles nothing.
    count = examples_hold(NATIVE, "cpu")
    count += examples_hold([name for name in MODULES if name not in NATIVE], lx.default_device())
    assert count > 400
    examples_hold(LAZILY, lx.default_device())


def long_test_examples_in_the_documentation_hold_on_the_default_device():
    assert examples_hold(NATIVE, lx.default_device()) > 300


def test_every_public_function_has_an_example():
    names = [("", lx)] + [
        (name, getattr(lx, name)) for name in ("collectives", "fft", "linalg", "nn", "optim", "random", "special")
    ]
    functions = [(of, name, getattr(module, name)) for of, module in names for name in module.__all__]
    functions = [(of, name) for of, name, each in functions if inspect.isfunction(each) and not name.startswith("__")]
    lacking = [(of, name) for of, name in functions if ">>>" not in getattr(dict(names)[of], name).__doc__]
    # It starts the library with options: once in a process.
    assert lacking == [("", "initialize")] and len(functions) > 200, lacking


def test_the_readme_of_the_library_prints_what_it_says():
    found = doctest.testfile(str(PYTHON.parent / "README.md"), module_relative=False)
    assert found.failed == 0 and found.attempted == 6, found


def test_the_quick_start_prints_what_it_says():
    found = doctest.testfile(str(PYTHON / "QUICKSTART.md"), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert found.failed == 0 and found.attempted > 40, found
