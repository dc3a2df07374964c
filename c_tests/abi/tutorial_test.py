"""docs/tutorial.md says what its programs print: python tutorial_test.py SOURCE_TREE PROGRAM

PROGRAM is the tutorial in C, C++ or Python (a file *.py). It exits with 0, prints the block `text` of the document, and
saves the weights under the same names and in the same shapes in every language. Losses and numbers of right images
depend on the plugin's rounding, and may differ a little; everything else may not, such as numbers of compiles."""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

# Patterns of numbers in the output, and how far each number may be from the number in the document.
ROUNDED = ((re.compile(r"(?<=: loss )\d+\.\d+"), 0.005), (re.compile(r"\d+(?= of 360 right)"), 4))
WEIGHTS = {"w1": [64, 64], "b1": [64], "w2": [64, 10], "b2": [10]}


def shown(tree):
    """Returns the lines that the document shows."""
    blocks = re.findall(r"^```text\n(.*?)^```$", (tree / "docs/tutorial.md").read_text(encoding="utf-8"), re.M | re.S)
    assert len(blocks) == 1, f"docs/tutorial.md has {len(blocks)} blocks `text`; want one"
    return blocks[0].splitlines()


def differs(got, want):
    """Returns whether a line differs from the line of the document by more than rounding."""
    for number, limit in ROUNDED:
        found, wanted = number.findall(got), number.findall(want)
        if len(found) != len(wanted):
            return True
        if any(abs(float(a) - float(b)) > limit for a, b in zip(found, wanted, strict=True)):
            return True
        got, want = number.sub("#", got), number.sub("#", want)
    return got != want


def shapes_of(path):
    """Returns the names and sizes of the tensors in a safetensors file."""
    data = path.read_bytes()
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    return {name: entry["shape"] for name, entry in header.items() if name != "__metadata__"}


def main():
    tree, program = Path(sys.argv[1]).resolve(), os.path.abspath(sys.argv[2])
    command = [sys.executable, program] if program.endswith(".py") else [program]
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run(
            [*command, str(tree / "examples/data/digits.csv")], cwd=folder, capture_output=True, text=True, check=False
        )
        assert run.returncode == 0, f"exit status {run.returncode}\n{run.stdout}{run.stderr}"
        got, want = run.stdout.splitlines(), shown(tree)
        assert len(got) == len(want), f"prints {len(got)} lines, want {len(want)}:\n{run.stdout}"
        for a, b in zip(got, want, strict=True):
            assert not differs(a, b), f"prints `{a}`, and docs/tutorial.md shows `{b}`"
        shapes = shapes_of(Path(folder) / "tutorial.safetensors")
        assert shapes == WEIGHTS, f"saves {shapes}, want {WEIGHTS}"


if __name__ == "__main__":
    main()
