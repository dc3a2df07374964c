"""The documents show code that is compiled, and cite tests that exist: python recipes_test.py SOURCE_TREE

Each block of C, C++, Fortran or Python in DOCUMENTS stands below a line that links to its file in
examples/, and equals a part of that file between `[recipe]` and `[recipe end]`, less common indentation. Each such part
is shown.
Each test that docs/behaviours.md names is defined in c_tests/, tests/, src/ or crates/, or in the file in Python before
its name; each file that it names exists."""

import re
import sys
import textwrap
from pathlib import Path

DOCUMENTS = (
    "README.md",
    "docs/tutorial.md",
    "docs/frontends.md",
    "docs/cpp.md",
    "docs/meshes.md",
    "docs/debugging.md",
    "docs/abi.md",
    "docs/torchscript.md",
    "docs/inference.md",
)
MARKED = re.compile(r"^ *(?://|#|!) \[recipe\]\n(.*?)^ *(?://|#|!) \[recipe end\]$", re.DOTALL | re.MULTILINE)
FENCED = re.compile(r"([^\n]*)\n*^```(c|cpp|fortran|python)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
NUMBERED = re.compile(r"`([a-z][0-9]+_[a-z0-9_]+)`")
NAMED = re.compile(r"`([\w/]+\.(?:py|c|cc|rs))`(?:\s\(((?:`test_\w+`,?\s*)+)\))?")
LINK = re.compile(r"\]\((?:\.\./)?examples/([\w.]+)\)")


def recipes_of(text):
    """Returns the parts between the markers."""
    return [textwrap.dedent(part) for part in MARKED.findall(text)]


def problems_of(document, text, recipes, shown):
    """Returns the errors in the blocks of a document; adds the correct blocks to `shown`."""
    for before, _, code in FENCED.findall(text):
        first = code.split("\n", 1)[0]
        link = LINK.search(before)
        if not link:
            yield f"{document}: no line above the block `{first}` links to a file in examples/"
        elif code not in recipes.get(link[1], []):
            yield f"{document}: the block `{first}` is not a recipe of examples/{link[1]}"
        else:
            shown.add((link[1], code))


def missing_tests(tree):
    """Returns the tests that docs/behaviours.md names and no file defines."""
    files = (path for folder in ("c_tests", "tests", "src", "crates") for path in (tree / folder).rglob("*"))
    sources = [path for path in files if path.suffix in (".c", ".rs")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in sources)
    defined = set(re.findall(r"(?:\bfn |TEST\(|LIMITED\()([a-z0-9_]+)", text))
    return sorted(set(NUMBERED.findall((tree / "docs/behaviours.md").read_text(encoding="utf-8"))) - defined)


def missing_files(tree):
    """Returns the files that docs/behaviours.md names and that are missing, and the functions that they lack."""
    for name, tests in NAMED.findall((tree / "docs/behaviours.md").read_text(encoding="utf-8")):
        if not (tree / name).is_file():
            yield name
            continue
        text = (tree / name).read_text(encoding="utf-8")
        yield from (f"{name}: {test}" for test in re.findall(r"\w+", tests) if f"def {test}(" not in text)


def main():
    tree = Path(sys.argv[1])
    files = sorted(path for path in (tree / "examples").iterdir() if path.suffix in (".c", ".cc", ".f90", ".h", ".py"))
    texts = {path.name: path.read_text(encoding="utf-8") for path in files}
    recipes = {name: recipes_of(text) for name, text in texts.items()}
    problems, shown = [], set()
    for name, text in texts.items():
        if not text.count("[recipe]") == text.count("[recipe end]") == len(recipes[name]):
            problems.append(f"examples/{name}: markers are not in pairs, each on a line of its own")
    problems += [f"docs/behaviours.md: there is no test `{name}`" for name in missing_tests(tree)]
    problems += [f"docs/behaviours.md: there is no `{name}`" for name in missing_files(tree)]
    for document in DOCUMENTS:
        problems += problems_of(document, (tree / document).read_text(encoding="utf-8"), recipes, shown)
    for name, parts in recipes.items():
        for part in parts:
            if (name, part) not in shown:
                problems.append(f"examples/{name}: no document shows the recipe `{part.split(chr(10), 1)[0]}`")
    assert shown, "no recipes found"
    print("\n".join(problems) or f"{len(shown)} recipes")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
