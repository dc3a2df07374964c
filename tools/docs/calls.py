"""Finds a call of each C function in programs that the tests build and run: the examples, then the C tests."""

import re

from common import ROOT, files_of

# Statements before the call that are shown with it.
MOST_LINES = 8
# Calls that are expected to fail, and the macros of the tests that say so.
FAILING = re.compile(
    r"\b(?:REFUSED\w*|WRONG|FAILS|BAD|LXLA_\w+_ARGUMENT|LXLA_FAILED\w*|LXLA_UNIMPLEMENTED|LXLA_NOT_FOUND|LXLA_OK|said)\b"
)

# Calls that show an edge case: arrays of size 0, empty lists, NaN.
EMPTY = re.compile(
    r"DIMS\((?:0|[^)]*, 0)|NULL, 0[,)]|1LL << 40|NAN|INFINITY|\b\w*(?:empty|nothing|none)\w*\b(?! = \{0\})"
)
STRINGS = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)'|//.*")


def sources():
    return files_of("examples/*.c") + files_of("c_tests/*/*.c")


def statements(text):
    """Yields each statement of the functions of a C file: its lines, with their numbers."""
    lines, start, depth = text.split("\n"), None, 0
    for number, line in enumerate(lines):
        if start is None:
            if not re.match(r"  +\S", line) or line.lstrip().startswith(("//", "/*", "*", "#", "}")):
                continue
            start = number
        code = STRINGS.sub("", line)
        depth += code.count("(") - code.count(")")
        if depth <= 0 and code.rstrip().endswith((";", "{", "}")):
            yield start, number + 1
            start, depth = None, 0


def prepared(lines, start, end):
    """Returns the lines of a statement with those just before it that declare what it uses."""
    words = set(re.findall(r"\b[a-z_]\w*\b", "\n".join(lines[start:end])))
    first = start
    while first > 0 and start - first < MOST_LINES:
        before = lines[first - 1]
        declared = re.match(r"  +(?:const )?(?:lxla_|u?int|size_t|float|double|char|bool)[\w ]*[ *]", before)
        indent = len(before) - len(before.lstrip())
        if not declared or indent != len(lines[start]) - len(lines[start].lstrip()):
            break
        if not words & set(re.findall(r"\b[a-z_]\w*\b", before)):
            break
        words |= set(re.findall(r"\b[a-z_]\w*\b", before))
        first -= 1
    indent = min(len(line) - len(line.lstrip()) for line in lines[first:end] if line.strip())
    return "\n".join(line[indent:] for line in lines[first:end])


def rank(file, code):
    """Prefers calls on arrays with elements, calls in examples, with declarations, short statements of one call."""
    calls = len(re.findall(r"\blxla_\w+\(", code))
    return (
        bool(EMPTY.search(code)),
        not file.startswith("examples/"),
        "/faults/" in file,
        code.count("\n") > MOST_LINES + 4,
        calls > 2,
        code.count("\n") == 0,
        len(code),
    )


def calls():
    """Returns the file and the code of the clearest call of each function."""
    found = {}
    for file in sources():
        lines = (ROOT / file).read_text(encoding="utf-8").split("\n")
        for start, end in statements("\n".join(lines)):
            statement = "\n".join(lines[start:end])
            if FAILING.search(statement) or STRINGS.sub("", statement).rstrip().endswith("{"):
                continue
            for name in set(re.findall(r"\b(lxla_\w+)\(", statement)):
                code = prepared(lines, start, end)
                ranked = rank(file, code), file, code
                found[name] = min(found.get(name, ranked), ranked)
    return {name: (file, code) for name, (_, file, code) in found.items()}
