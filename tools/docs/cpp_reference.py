"""Writes the reference of the C++ wrapper, with what libclang reads from include/lazyxla.hpp."""

import re
import subprocess
import sys

from c_reference import API
from clang.cindex import AccessSpecifier, CursorKind, Index
from common import ROOT, write

FUNCTIONS = {CursorKind.FUNCTION_DECL, CursorKind.CXX_METHOD, CursorKind.CONSTRUCTOR, CursorKind.CONVERSION_FUNCTION,
             CursorKind.FUNCTION_TEMPLATE, CursorKind.DESTRUCTOR}  # fmt: skip
CLASSES = {CursorKind.CLASS_DECL, CursorKind.STRUCT_DECL, CursorKind.CLASS_TEMPLATE}
VALUES = {CursorKind.VAR_DECL, CursorKind.FIELD_DECL}
ALIASES = {CursorKind.TYPE_ALIAS_DECL, CursorKind.TYPEDEF_DECL}
C_FUNCTIONS = {each["name"] for each in API["functions"]}
FOLDER = ROOT / "include/lazyxla"


def parsed():
    include = subprocess.run(["gcc", "-print-file-name=include"], capture_output=True, text=True, check=True).stdout
    arguments = ["-x", "c++", "-std=c++17", f"-I{ROOT / 'include'}", "-isystem", include.strip()]
    unit = Index.create().parse(str(ROOT / "include/lazyxla.hpp"), args=arguments)
    if unit.diagnostics:
        sys.exit(f"docs: libclang cannot read lazyxla.hpp: {unit.diagnostics[0]}")
    return unit.cursor


def comment_of(cursor):
    """Returns the comment before a declaration, or the one that follows it on its line, also behind a macro."""
    text = cursor.raw_comment or ""
    if not text.startswith("///"):
        start, end = cursor.extent.start, cursor.extent.end
        rest = SOURCES.between(start.file.name, max(start.offset, end.offset - 1), end.offset + 200).split("\n")[0]
        text = rest[rest.index("///<") :] if "///<" in rest else ""
    return " ".join(re.sub(r"^\s*///<?", "", line).strip() for line in text.splitlines())


class Sources:
    """Texts of the files."""

    def __init__(self):
        self.texts = {}

    def between(self, file, start, end):
        text = self.texts.setdefault(file, (ROOT / file).read_bytes())
        return text[start:end].decode()


SOURCES = Sources()


def declaration(cursor):
    """Returns the declaration as it stands in the source, without the body and initializers, on one line."""
    start, end = cursor.extent.start, cursor.extent.end
    text = SOURCES.between(start.file.name, start.offset, end.offset)
    # libclang does not name a conversion to a parameter of a template as the source does.
    is_named = cursor.kind == CursorKind.CONVERSION_FUNCTION or cursor.spelling.split("<")[0] in text
    if not is_named or re.match(r"[A-Z_]{6,}\(", text):  # made by a macro
        return made_by_macro(cursor)
    if cursor.kind in VALUES:
        return f"{cursor.type.spelling} {cursor.spelling}"
    if is_constructor(cursor) or cursor.kind == CursorKind.DESTRUCTOR:
        text = without_initializers(SOURCES.between(start.file.name, start.offset, end.offset + 20), cursor)
    elif cursor.kind in FUNCTIONS:
        for child in cursor.get_children():
            if child.kind == CursorKind.COMPOUND_STMT:
                text = SOURCES.between(start.file.name, start.offset, child.extent.start.offset)
    text = re.sub(r"\s+", " ", text).strip().rstrip(";{").strip()
    return re.sub(r"^((?:template ?<.*?> )?)inline ", r"\1", text)


def without_initializers(text, cursor):
    """Returns the declaration of a constructor up to its list of initializers or its body."""
    at = text.index("(", text.index(cursor.spelling.split("<")[0] + "("))
    depth = 0
    for i in range(at, len(text)):
        depth += (text[i] == "(") - (text[i] == ")")
        if depth == 0:
            rest = re.match(r"\s*(noexcept)?\s*(= (default|delete))?", text[i + 1 :])
            return text[: i + 1 + rest.end()]
    return text


def is_constructor(cursor):
    return cursor.kind == CursorKind.CONSTRUCTOR or (
        cursor.kind == CursorKind.FUNCTION_TEMPLATE and cursor.spelling.split("<")[0] == cursor.semantic_parent.spelling
    )


def made_by_macro(cursor):
    children = list(cursor.get_children())
    types = [each.spelling for each in children if each.kind == CursorKind.TEMPLATE_TYPE_PARAMETER]
    arguments = [each for each in children if each.kind == CursorKind.PARM_DECL]
    head = f"template <{', '.join(f'class {name}' for name in types)}> " if types else ""
    listed = ", ".join(f"{each.type.spelling} {each.spelling}" for each in arguments)
    return f"{head}{cursor.result_type.spelling} {cursor.spelling}({listed})"


def entry(kind, signature, text, inner="", depth=0):
    colons = ":" * (8 - depth)
    return f"{colons}{{cpp:{kind}}} {signature}\n\n{text}\n\n{inner}{colons}\n\n"


def prose(text):
    """Returns a comment as Markdown: names are code."""
    text = re.sub(r"(?<![\w`:])((?:lxla|LXLA)_\w+\*?(?:\(\))?|\w+(?:::\w+)*\(\))", r"`\1`", text)
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if i % 2 else re.sub(r"([*_<$~^\[])", r"\\\1", part) for i, part in enumerate(parts))


def same_calls(text):
    """Returns a line with the functions of the C API that a body calls."""
    names = sorted(set(re.findall(r"\blxla_\w+", text)) & C_FUNCTIONS)
    return "" if not names else "C: " + ", ".join(f"`{name}`" for name in names) + "."


def body(cursor):
    start, end = cursor.extent.start, cursor.extent.end
    return SOURCES.between(start.file.name, start.offset, end.offset)


def described(cursor, depth=0):
    """Returns the part of a page for a declaration, or nothing for one that has no comment and is not public."""
    if cursor.access_specifier in (AccessSpecifier.PRIVATE, AccessSpecifier.PROTECTED):
        return ""
    text = comment_of(cursor)
    if cursor.kind in CLASSES and cursor.is_definition():
        inner = "".join(described(child, depth + 1) for child in cursor.get_children())
        head = re.split(r"\s*\{", body(cursor))[0]
        kind = "struct" if re.search(r"\bstruct \w+", head) else "class"
        signature = re.sub(r"\s+", " ", re.sub(r"\b(class|struct) (?=\w+( final|$| :))", "", head))
        return entry(kind, signature, prose(text), inner, depth) if text else ""
    if cursor.kind == CursorKind.ENUM_DECL and text:
        inner = "".join(
            entry("enumerator", child.spelling, prose(comment_of(child)), "", depth + 1)
            for child in cursor.get_children()
        )
        return entry("enum", cursor.spelling, prose(text), inner, depth)
    if cursor.kind in FUNCTIONS:
        calls = same_calls(body(cursor))
        words = prose(text) if text else ""
        return entry("function", declaration(cursor), "\n\n".join(part for part in (words, calls) if part), "", depth)
    if cursor.kind in VALUES and text:
        kind = "var" if cursor.kind == CursorKind.VAR_DECL else "member"
        return entry(kind, declaration(cursor), prose(text), "", depth)
    if cursor.kind in ALIASES and text:
        return entry("type", re.sub(r"^(template ?<.*?> )?using ", r"\1", declaration(cursor)), prose(text), "", depth)
    return ""


def declarations(cursor, namespace):
    """Yields what the namespace lazyxla has, with the file; without `detail`."""
    for child in cursor.get_children():
        file = child.location.file
        if file is None or not file.name.startswith(str(FOLDER) + "/"):
            continue
        if child.kind == CursorKind.NAMESPACE:
            if child.spelling == "lazyxla" or (namespace and child.spelling != "detail"):
                yield from declarations(child, True)
        elif namespace:
            yield file.name, child


def reference(to, _documents):
    pages = {}
    for file, cursor in declarations(parsed(), False):
        pages.setdefault(file, []).append(described(cursor))
    names = []
    for file, parts in sorted(pages.items()):
        name = file[len(str(FOLDER)) + 1 : -4]
        about = re.match(r"// (.*)", SOURCES.between(file, 0, 200))[1]
        title = about.split(":")[0].rstrip(".")
        made = "".join(part for part in parts if part)
        if made:
            write(
                to / f"reference/cpp/{name}.md",
                f"# {name}.hpp\n\n{prose(about)}\n\n:::{{cpp:namespace}} lazyxla\n:::\n\n{made}",
            )
            names.append((name, title))
    rows = "".join(f"| [`{name}.hpp`]({name}.md) | {prose(title)} |\n" for name, title in names)
    tree = "\n".join(name for name, _ in names)
    write(to / "reference/cpp/index.md",
          "# C++ API\n\n`lazyxla.hpp` wraps the [C API](/reference/c/index.md) for C++17, in the namespace `lazyxla`:"
          " objects own handles, calls that fail throw `lazyxla::Error`, and operators record operations. It consists"
          " of headers only.\n\n"
          f"| header | |\n|---|---|\n{rows}\n```{{toctree}}\n:hidden:\n\n{tree}\n```\n")  # fmt: skip
