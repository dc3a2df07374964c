"""Checks the documents that git tracks:
- a relative link in Markdown leads to a file that exists, and to one of its headings,
- a file of Rust, Python, shell or C++ that Markdown or a comment in Rust names in backticks exists,
- a line of Markdown has at most 120 columns, except for rows of tables, code and single words,
- documents, comments and messages say "X is not a Y" where they do not say "there is no Y"."""

import re
import subprocess
import sys
from pathlib import Path

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"^ *```.*?^ *```$", re.DOTALL | re.MULTILINE)
NAMED = re.compile(r"`([\w./-]+\.(?:rs|py|sh|hpp))`")
WORD = re.compile(r"[\w']+[.,:;]?")
COLUMNS = 120
WRITTEN = (".md", ".rs", ".h", ".hpp", ".c", ".cc", ".py", ".sh", ".mjs")
# Other people's texts, and this file.
SPARED = ("examples/data/", "tools/check_links.py")


def anchors(text):
    """Returns the anchors that GitHub gives to the headings."""
    found = set()
    for heading in re.findall(r"^#+ (.+)$", CODE.sub("", text), re.MULTILINE):
        heading = LINK.sub(lambda link: link[0][1 : link[0].index("]")], heading)
        name = re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
        numbered = (f"{name}-{i}" for i in range(1, len(found) + 1))
        found.add(name if name not in found else next(other for other in numbered if other not in found))
    return found


def tails(names):
    """Returns the paths, and what is left of each without its first folders."""
    return {"/".join(parts[at:]) for parts in (name.split("/") for name in names) for at in range(len(parts))}


def problems_of_names(path, text, known):
    """A name is a path from the root or from the file's folder, or the end of a path."""
    for number, line in enumerate(text.split("\n"), 1):
        for name in NAMED.findall(line) if path.suffix == ".md" or line.lstrip().startswith("//") else []:
            if name not in known and not (path.parent / name).exists():
                yield f"{path}:{number}: {name}: there is no such file"


def problems_of_width(path, text):
    blank = lambda code: "\n" * code[0].count("\n")
    for number, line in enumerate(CODE.sub(blank, text).split("\n"), 1):
        is_text = not line.startswith("    ") and not line.lstrip().startswith("|") and " " in line[:COLUMNS].strip()
        if len(line) > COLUMNS and is_text:
            yield f"{path}:{number}: {len(line)} columns; want at most {COLUMNS}"


def problems_of_phrases(path, text):
    lines = enumerate(text.split("\n"), 1)
    words = [(word, number) for number, line in lines for word in WORD.findall(line)]
    for (before, _), (verb, number), (no, _), (after, _) in zip(words, words[1:], words[2:], words[3:], strict=False):
        is_usual = before.lower() in ("there", "x") or after.strip(".,:;") in ("longer", "more")
        if verb in ("is", "are") and no == "no" and not is_usual:
            yield f"{path}:{number}: {verb} no {after}; want {verb} not"


def problems_of_links(path, text):
    for target in LINK.findall(CODE.sub("", text)):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        file = path.parent / name if name else path
        if not file.exists():
            yield f"{path}: {target}: there is no such file"
        elif anchor and anchor not in anchors(file.read_text(encoding="utf-8")):
            yield f"{path}: {target}: there is no such heading"


def main():
    root = Path(__file__).resolve().parent.parent
    listed = subprocess.run(["git", "ls-files"], cwd=root, check=True, capture_output=True, text=True).stdout.split()
    known, found, documents = tails(listed), [], 0
    for name in listed:
        path = root / name
        if path.suffix not in WRITTEN or not path.exists():
            continue
        text = path.read_text(encoding="utf-8")
        if not name.startswith(SPARED):
            found += problems_of_phrases(path, text)
        if path.suffix in (".md", ".rs"):
            found += problems_of_names(path, text, known)
        if path.suffix == ".md":
            documents += 1
            found += [*problems_of_links(path, text), *problems_of_width(path, text)]
    print("\n".join(found) or f"links, names, lines and phrases of {documents} documents")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
