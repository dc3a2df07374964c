"""Checks the relative links of all Markdown files that git tracks: the file exists, and has the heading that is
named."""

import re
import subprocess
import sys
from pathlib import Path

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)


def anchors(text):
    """Returns the anchors that GitHub gives to the headings."""
    found = set()
    for heading in re.findall(r"^#+ (.+)$", CODE.sub("", text), re.MULTILINE):
        heading = LINK.sub(lambda link: link[0][1 : link[0].index("]")], heading)
        name = re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
        numbered = (f"{name}-{i}" for i in range(1, len(found) + 1))
        found.add(name if name not in found else next(other for other in numbered if other not in found))
    return found


def problems(path, text):
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
    listed = subprocess.run(["git", "ls-files", "*.md"], cwd=root, check=True, capture_output=True, text=True).stdout
    files = [root / name for name in listed.split()]
    found = [problem for file in files for problem in problems(file, file.read_text(encoding="utf-8"))]
    print("\n".join(found) or f"links of {len(files)} documents")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
