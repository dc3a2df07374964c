"""docs/python_names.md: every name of it is in the package, what it says to write runs, and errors say it."""

import contextlib
import io
import re
import tempfile
from pathlib import Path

import numpy as np
from common import raises

import lazyxla as lx
from lazyxla import _other_names as table

TABLES = {"np": table.NUMPY, "jax": table.JAX, "torch": table.TORCH, "x": table.METHODS}


def found(path):
    """Returns what a dotted name is, from the package on."""
    value = lx
    for name in path.split("."):
        value = getattr(value, name)
    return value


def code_of(text):
    """Returns what there is to write: all of an entry, or what follows a colon in a sentence; None for words alone."""
    if not (text[0].isupper() and " " in text):
        return text
    return text.partition(": ")[2] or None


def variables():
    """Returns values for the names in the entries."""
    x = lx.asarray([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 10.0]], device="cpu")
    mesh = lx.Mesh({"data": 1})
    key = lx.random.key(0, device="cpu")
    return {
        "lx": lx,
        "np": np,
        "x": x,
        "y": x.copy(),
        "a": x,
        "b": x[0],
        "w": x,
        "re": x,
        "im": x,
        "t": lx.ones_like(x),
        "q": 0.5,
        "p": 0.5,
        "n": 3,
        "m": 3,
        "k": 1,
        "dim": 0,
        "axis": 0,
        "start": 0,
        "length": 2,
        "bins": 3,
        "seed": 1,
        "value": 0.0,
        "min": 0,
        "max": 2,
        "values": x[0],
        "index": lx.zeros((3, 3), dtype=int, device="cpu"),
        "places": lx.asarray([0, 1, 2], device="cpu"),
        "mask": x > 2,
        "condition": x > 2,
        "ids": lx.asarray([0, 1], device="cpu"),
        "table": x,
        "keys": x[0],
        "key": key,
        "shape": (3, 3),
        "dtype": "int32",
        "data": b"\0" * 8,
        "iterable": range(3),
        "f": lambda x, *more: (x["w"] if isinstance(x, dict) else x).sum(),
        "loss": lambda x: (x["w"] if isinstance(x, dict) else x).sum(),
        "params": {"w": x},
        "updates": {"w": x},
        "gradients": {"w": x},
        "logits": x,
        "labels": lx.asarray([0, 1, 2], device="cpu"),
        "chances": x / 10,
        "mesh": mesh,
        "image": lx.zeros((1, 3, 8, 8), device="cpu"),
        "scale": lx.ones(3, device="cpu"),
        "offset": lx.zeros(3, device="cpu"),
        "cell": lambda carry, x: (carry, x),
        "carry": lx.zeros(3, device="cpu"),
        "xs": x,
        "kernel": lx.ones((4, 3, 3, 3), device="cpu"),
    }


# Of these, the arguments depend on more than the line shows: their names alone are looked for.
NAMES_ALONE = ("shard_map(", "all_gather(", "axis_index(", "all_reduce(", "lx.Mesh(", "lx.shard(", "attention(")
IMAGES = ("lx.nn.conv(", "_pool(", "batch_norm(")


def test_every_name_of_the_page_is_in_the_package():
    for names in (table.NUMPY_SAME, table.JAX_SAME, table.TORCH_SAME, table.FUNCTIONS_ONLY):
        for name in names.split():
            found(name)
        assert len(set(names.split())) == len(names.split())
    for of in TABLES.values():
        for text in of.values():
            for path in re.findall(r"\blx((?:\.\w+)+)", text):
                found(path[1:])
    methods = [name for name in table.NUMPY_SAME.split() if hasattr(np.ndarray, name) and "." not in name]
    lacking = [name for name in methods if not hasattr(lx.Array, name)]
    assert lacking == ["partition", "resize"] and all(name in table.METHODS for name in lacking), lacking


def test_names_that_are_the_same_are_not_said_to_be_others():
    for kind, of in TABLES.items():
        for name in of:
            holder = lx.zeros(1, device="cpu") if kind == "x" else lx
            assert not hasattr(holder, name), (kind, name)


def test_what_the_page_says_to_write_runs():
    with tempfile.TemporaryDirectory() as folder, lx.use_device("cpu"):
        np.savetxt(Path(folder) / "file", np.ones(3))
        wrong = []
        for of in TABLES.values():
            for name, text in of.items():
                code = code_of(text)
                if code is None or any(part in code for part in NAMES_ALONE):
                    continue
                given = variables()
                given["path"] = f"{folder}/{name}"
                given["x"] = given["image"] if any(part in code for part in IMAGES) else given["x"]
                if name in ("ldexp", "narrow") or ".at[" in code or "scatter(" in code:
                    given["index"] = given["places"]
                if name in ("loadtxt", "genfromtxt", "savetxt"):
                    given["path"] = str(Path(folder) / "file")
                if name == "nn.LayerNorm":
                    given["x"] = given["x"][0]
                try:
                    with contextlib.redirect_stdout(io.StringIO()):
                        exec(code if not code.startswith("def ") else f"{code}: pass", given)
                except Exception as error:
                    wrong.append(f"{name}: {code}: {type(error).__name__}: {error}")
    assert not wrong, "\n".join(wrong)


def test_errors_for_missing_names_say_what_to_write():
    x = lx.zeros((2, 3), device="cpu")
    raises(AttributeError, lambda: lx.unsqueeze, "'unsqueeze'", "write lx.expand_dims(x, axis=0)")
    raises(AttributeError, lambda: lx.psum, "lx.collectives.all_reduce(x, 'data')")
    raises(AttributeError, lambda: lx.softmax, "lx.nn.softmax")
    raises(AttributeError, lambda: lx.no_grad, "only lx.grad")
    raises(AttributeError, lambda: lx.random.seed, "lazyxla.random", "lx.random.key(seed)")
    raises(AttributeError, lambda: lx.random.normall, "lx.random.normal")
    raises(AttributeError, lambda: lx.nn.Linear, "x @ w + b")
    raises(AttributeError, lambda: lx.nn.nothing_like_it, "lazyxla.nn has no 'nothing_like_it'")
    raises(AttributeError, lambda: x.unsqueeze, "'unsqueeze'", "lx.expand_dims(x, axis=0)")
    raises(AttributeError, lambda: x.exp, "lx.exp(x)")
    raises(AttributeError, lambda: x.nothing_like_it, "nothing_like_it")
    for name in table.methods():
        assert not hasattr(x, name) and name not in dir(x), name
    assert "sum" in dir(x) and "view" in dir(x)
    raises(TypeError, lambda: lx.sum(x, dim=1), "sum(): dim is axis here")
    raises(TypeError, lambda: lx.mean(x, 0, keepdim=True), "mean(): keepdim is keepdims here")
    raises(TypeError, lambda: lx.linalg.inv(x, how=1), "inv()", "'how'")
