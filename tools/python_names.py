"""Writes docs/python_names.md, what the names of NumPy, JAX and PyTorch are in the Python package, from the table that its
errors use: python/lazyxla/_other_names.py. With --check, fails if the page is not the one that would be written.
python/tests/test_names_page.py looks for every name of the page in the package."""

import importlib.util
import re
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "python/lazyxla/_other_names.py"
PAGE = ROOT / "docs/python_names.md"
HEAD = """\
# Names of NumPy, JAX and PyTorch in Python

What to write with `import lazyxla as lx` for names that programs for other libraries have. The package says the same
where a name is missing: `lx.unsqueeze` is an AttributeError with `write lx.expand_dims(x, axis=0)`. In the tables, `x`
is an array. [The package](../python/README.md) describes what differs behind equal names: dtypes, indexing, and when
work runs.

*Written by `tools/python_names.py` from `python/lazyxla/_other_names.py`.*
"""
NUMPY = """
## NumPy

Functions have NumPy's arguments. These are the same, with `lx` in place of `np`; methods of arrays have the names of
these functions, as in NumPy:
"""
JAX = """
## JAX

`jax.numpy` has the names of NumPy, which are listed above. `nn.gelu` is the exact function here, where JAX approximates
it (`lx.nn.gelu(x, approximate=True)`). Functions of Python's floats are float32, also beside float64: write
`math.sqrt(5)` for `lx.sqrt(5.0)`. `random.randint` draws int64, unless `dtype=lx.int32`, JAX's default, is given. The
names below, and `x.at[...]`, are the same in `lx`. A name of `jax`, `jax.numpy` or `jax.lax` is in `lx` itself; a name
of `jax.tree`, `jax.nn`, `jax.random`, `jax.scipy.special` or `jax.scipy.linalg` is in the module of `lx` of that name:
"""
TORCH = """
## PyTorch

These are there under the same name, with `axis` for `dim` and `keepdims` for `keepdim`, and NumPy's arguments and
results: `std` and `var` divide by the number of elements, `median` is the mean of the two in the middle, `split` takes
places, `max` along an axis returns values alone. Functions of `torch.nn.functional` are in `lx.nn`. Three
have other defaults: classes are along the last axis of `cross_entropy`, unless `axis=1` is given; vectors are along the
last axis of `cosine_similarity`; `huber_loss` returns the loss of each element, unless `reduction="mean"` is given:
"""
METHODS = """
## Methods

Arrays have NumPy's methods, and `x.view(dtype)`, `x.view(*sizes)`, `x.numpy()`, `x.block_until_ready()`. Methods of
these libraries that they lack:
"""
FUNCTIONS = """
These are functions alone, `lx.exp(x)` for `x.exp()`:
"""


def table():
    """Returns the module of the table, without the package around it, which need not be built."""
    spec = importlib.util.spec_from_file_location("other_names", TABLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def listed(names):
    """Returns a paragraph of names, sorted, those of modules last."""
    each = sorted(set(names.split()), key=lambda name: ("." in name, name.lower()))
    text = ", ".join(f"`{name}`" for name in each)
    return "\n" + textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False) + "\n"


def cell(text):
    """Returns code as a code span; of a sentence, what follows a colon and begins with a small letter is code."""
    if not (text[0].isupper() and " " in text):
        return f"`{text}`"
    said, _, code = text.partition(": ")
    return f"{said}: `{code}`" if code else said


def rows(title, names):
    body = "".join(
        f"| `{name}` | {cell(text)} |\n" for name, text in sorted(names.items(), key=lambda row: row[0].lower())
    )
    return f"\n| {title} | here |\n|---|---|\n{body}"


def page(names):
    # torch.nn.functional is `F` in all programs.
    torch = {re.sub(r"^nn\.([a-z]\w*)$", r"F.\1", name): text for name, text in names.TORCH.items()}
    return "".join(
        [
            HEAD,
            NUMPY, listed(names.NUMPY_SAME), rows("NumPy", names.NUMPY),
            JAX, listed(names.JAX_SAME), rows("JAX", names.JAX),
            TORCH, listed(names.TORCH_SAME), rows("PyTorch", torch),
            METHODS, rows("method", names.METHODS), FUNCTIONS, listed(names.FUNCTIONS_ONLY),
        ]
    )  # fmt: skip


def main():
    text = page(table())
    if "--check" not in sys.argv:
        PAGE.write_text(text, encoding="utf-8")
    elif not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
        sys.exit("docs/python_names.md is not what python/lazyxla/_other_names.py says; run tools/python_names.py")


if __name__ == "__main__":
    main()
