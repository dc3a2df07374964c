"""Shared by the scripts that write the pages of the site."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WRITTEN = set()


def files_of(pattern):
    """Returns the files of the repository that a pattern matches, sorted."""
    return sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob(pattern) if path.is_file())


def write(path, content):
    """Writes a file if it has other contents, so that Sphinx reads only the pages that changed."""
    WRITTEN.add(path)
    data = content.encode() if isinstance(content, str) else content
    if not path.exists() or path.read_bytes() != data:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def remove_others(folder):
    """Removes the files below a folder that were not written."""
    for path in folder.rglob("*"):
        if path.is_file() and path not in WRITTEN:
            path.unlink()


def first_sentence(text):
    """Returns the first sentence of a text. Points in `code`, of an ellipsis and of abbreviations end none; a list ends
    the sentence that leads to it."""
    head = " ".join(re.split(r"\n\s*\n|\n\s*[-*] ", text.strip())[0].split())
    for match in re.finditer(r"\.(?=\s)", head):
        before = head[: match.end()]
        if before.count("`") % 2 == 0 and not re.search(r"(?:\.\.\.|\b(?:e\.g|i\.e|cf|vs|et al)\.)$", before):
            return before
    return head[:-1] + "." if head.endswith(":") else head
