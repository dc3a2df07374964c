"""The blocks of code in README.md run, print what they say, and compute what NumPy does."""

import contextlib
import io
import re
import subprocess
import sys
from pathlib import Path

import lazyxla as lx
import numpy as np

README = Path(__file__).resolve().parents[1] / "README.md"


def blocks():
    found = re.findall(r"^```python\n(.*?)^```$", README.read_text(encoding="utf-8"), re.M | re.S)
    assert found, "README.md shows no code"
    return found


def arguments():
    """Returns what the blocks take for granted: parameters of a network, and a batch."""
    random = np.random.default_rng(0)
    sizes = {"w1": (4, 8), "b1": (8,), "w2": (8, 2), "b2": (2,)}
    params = {name: random.standard_normal(shape).astype(np.float32) for name, shape in sizes.items()}
    batch = [random.standard_normal(shape).astype(np.float32) for shape in ((5, 4), (5, 2))]
    return params, *batch


def loss(params, x, y):
    """The loss of README.md, in f64 by NumPy."""
    p = {name: value.astype(np.float64) for name, value in params.items()}
    return np.mean((np.tanh(x @ p["w1"] + p["b1"]) @ p["w2"] - y) ** 2)


def test_blocks_run_and_print_what_they_say():
    params, x, y = arguments()
    given = {"lx": lx, "params": {name: lx.asarray(value) for name, value in params.items()}}
    given |= {"x": lx.asarray(x), "y": lx.asarray(y)}
    names = {}
    for block in blocks():
        if "lx.initialize(" in block:  # before the first array of a process
            alone(block)
            continue
        printed = io.StringIO()
        # A block goes on from those before it, with the values that the text takes for granted.
        names |= given
        with contextlib.redirect_stdout(printed):
            exec(compile(block, str(README), "exec"), names)
        want = re.findall(r"^print\(.*\)  # (.*)$", block, re.M)
        assert printed.getvalue().splitlines() == want, f"{block}prints {printed.getvalue()!r}"
        if "gradients" in block:
            compare(names, params, x, y)
    assert "gradients" in names


def alone(block):
    """Runs a block in a process of its own, with NumPy's arrays x and w, and compares the product that it computes."""
    head = "import lazyxla as lx, numpy as np\n"
    head += "x = start = np.arange(32, dtype=np.float32).reshape(4, 8)\nw = weights = np.ones((8, 4), np.float32)\n"
    tail = "assert np.array_equal(np.asarray(y), start @ weights)\n"
    done = subprocess.run([sys.executable, "-c", head + block + tail], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, f"{block}{done.stderr}"


def compare(own, params, x, y):
    """The value and the gradients against NumPy and central differences."""
    assert abs(float(own["value"]) - loss(params, x, y)) < 1e-5
    step = 1e-4
    for name in ("w1", "b1", "w2"):
        got = np.asarray(own["gradients"][name])
        assert got.shape == params[name].shape
        for index in np.ndindex(got.shape):
            ends = []
            for sign in (1, -1):
                moved = {key: value.astype(np.float64) for key, value in params.items()}
                moved[name][index] += sign * step
                ends.append(loss(moved, x, y))
            want = (ends[0] - ends[1]) / (2 * step)
            assert abs(got[index] - want) < 1e-4, f"{name}{index}: {got[index]}, want {want}"
