"""The programs of docs/torchscript.md, in C++ and Fortran: torch_model_test.py /path/to/liblazyxla.so PROGRAM_IN_C++

They run a model that PyTorch exported, on two batches, on an XLA device and on cpu, with PyTorch's results, and tell
errors in their arguments. The program in Fortran is compiled here, and is left out where gfortran is missing."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

TREE = Path(__file__).resolve().parents[2]
DATA = TREE / "c_tests/programs/pytorch"
MODEL = str(DATA / "mlp.pt2")


def in_fortran(library, folder):
    """Compiles the program in Fortran; returns its path, or None without a compiler."""
    compiler = shutil.which("gfortran")
    if compiler is None:
        print("there is no gfortran: the program in Fortran is left out")
        return None
    program, place = folder / "torch_model", library.parent
    options = ["-std=f2018", "-Wall", "-Wextra", "-Werror", f"-J{folder}", f"-L{place}", f"-Wl,-rpath,{place}"]
    source = str(TREE / "examples/torch_model.f90")
    subprocess.run([compiler, source, "-o", program, *options, "-llazyxla"], check=True)
    return program


def run(program, arguments, x, env=os.environ):
    text = "\n".join(" ".join(map(repr, map(float, row))) for row in x)
    return subprocess.run([program, *map(str, arguments)], input=text, capture_output=True, text=True, env=env)


def results_are_pytorchs(program, values):
    for device in ([], ["cpu"]):
        # On cpu, the model needs no plugin.
        env = {**os.environ, "LXLA_PJRT_PLUGIN": "no/such/plugin.so"} if device else os.environ
        for which in ("", "2"):
            x, wanted = values[f"input{which}.0"], values[f"output{which}.0"]
            done = run(program, [MODEL, *x.shape, *device], x, env)
            assert done.returncode == 0, done.stderr
            found = np.array([line.split() for line in done.stdout.splitlines()], np.float32)
            assert found.shape == wanted.shape, done.stdout
            np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def errors_are_told(program, values):
    x = values["input.0"]
    for arguments, words in (
        (["no_such.pt2", 5, 6], "no_such.pt2: No such file"),
        ([MODEL, 2, 15], "axis 1: 15 given; want 6"),
    ):
        done = run(program, arguments, x)
        assert done.returncode == 1 and words in done.stderr, (arguments, done.returncode, done.stderr)


def main():
    library, in_cpp = (Path(path).resolve() for path in sys.argv[1:])
    with np.load(DATA / "mlp.npz") as file:
        values = {key: file[key] for key in file.files}
    with tempfile.TemporaryDirectory() as folder:
        for program in filter(None, (in_cpp, in_fortran(library, Path(folder)))):
            results_are_pytorchs(program, values)
            errors_are_told(program, values)
            print(f"{program.name}: {'C++' if program == in_cpp else 'Fortran'} has PyTorch's results")


if __name__ == "__main__":
    main()
