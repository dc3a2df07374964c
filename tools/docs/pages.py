"""Arranges the Markdown of the repository as pages of the site: parts of documents become pages of their own, and links
lead to the pages. The documents stay as they are."""

import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

from common import ROOT, files_of, first_sentence, write

sys.path.insert(0, str(ROOT / "tools"))
from check_links import CODE, LINK, anchors  # noqa: E402

GUIDE = "docs/frontends.md"


@dataclass
class Page:
    """A page of a document: the chapters (headings of level 2) in `chapters`, or without these everything that no other
    page of the document has. A page of several chapters has a title."""

    name: str
    file: str
    chapters: list[str] = field(default_factory=list)
    title: str = ""


# The first page, then each group of the navigation. `@` names a page that is generated.
FRONT = Page("index", "README.md")
GROUPS = {
    "Start": [
        Page("quickstart", "README.md", ["Set it up", "Install it"], "Quick start"),
        Page("tutorial", "docs/tutorial.md"),
        Page("concepts", "docs/concepts.md"),
        Page("python", "python/README.md"),
        Page("python-quickstart", "python/QUICKSTART.md"),
        Page("python-names", "docs/python_names.md"),
    ],
    "Guide": [
        Page("guide/cpp", "docs/cpp.md"),
        Page("guide/fortran", "bindings/fortran/README.md"),
        Page("guide/go", "bindings/go/README.md"),
        Page("guide/errors", GUIDE, ["Errors"]),
        Page("guide/training", GUIDE, ["A training step"]),
        Page("guide/saving", GUIDE, ["Saving and loading"]),
        Page("guide/gradients", GUIDE, ["Gradients"]),
        Page("guide/checkpointing", GUIDE, ["Checkpointing"]),
        Page("guide/batching", GUIDE, ["Batching"]),
        Page("guide/custom-derivatives", GUIDE, ["Custom derivatives"]),
        Page("guide/meshes", "docs/meshes.md"),
        Page("guide/kernels", "docs/kernels.md"),
        Page("guide/import", "docs/import.md"),
        Page("guide/inference", "docs/inference.md"),
        Page("guide/torchscript", "docs/torchscript.md"),
        Page("guide/debugging", "docs/debugging.md"),
        Page("guide/performance", "docs/performance.md"),
    ],
    "Writing a frontend": [
        Page("frontend/index", GUIDE),
        Page("frontend/tracing", GUIDE, ["Placeholders and traced computations"]),
        Page("frontend/loops", GUIDE, ["Scan over layers"]),
        Page("frontend/environments", GUIDE, ["Environments: eager and lazy tensors"]),
        Page("frontend/dlpack", GUIDE, ["DLPack"]),
        Page("frontend/compiles", GUIDE, ["What compiles once: slices and scalars"]),
        Page("frontend/counters", GUIDE, ["Counters, environment variables, disk cache"]),
        Page("frontend/threads", GUIDE, ["Threads"]),
        Page("frontend/exit", GUIDE, ["Process exit"]),
        Page("frontend/embedding", "docs/embedding.md"),
        Page("frontend/bindings", "docs/bindings.md"),
    ],
    "Reference": [
        "@reference/c/index",
        "@reference/cpp/index",
        "@reference/python/index",
        Page("reference/operations", "docs/operations.md"),
        Page("reference/derivatives", "docs/derivatives.md"),
        "@examples",
    ],
    "More": [
        Page("more/plugins", "docs/plugins.md"),
        Page("more/mpi", "docs/mpi.md"),
        Page("more/behaviours", "docs/behaviours.md"),
        Page("more/xla-workarounds", "docs/xla-workarounds.md"),
        Page("more/packages", "docs/packages.md"),
        Page("more/abi", "docs/abi.md"),
        Page("more/benchmarks", "benches/README.md"),
        Page("more/changelog", "CHANGELOG.md"),
    ],
    "Development": [
        Page("development/contributing", "CONTRIBUTING.md"),
        Page("development/architecture", "docs/architecture.md"),
        Page("development/testing", "docs/testing.md"),
        Page("development/adding-an-operation", "docs/adding-an-operation.md"),
        Page("development/generated-files", "docs/generated-files.md"),
        Page("development/c_tests", "c_tests/README.md"),
        Page("development/tests", "tests/README.md"),
    ],
}
# The page examples lists the programs of these folders.
EXAMPLES = ["examples", "python/examples"]
# The navigation of the site has these links.
LEFT_OUT = {"README.md": ["Where to go on"]}


def all_pages():
    """Returns the pages, with one under More for each document in docs/ that has none."""
    pages = [FRONT] + [page for group in GROUPS.values() for page in group if isinstance(page, Page)]
    known = {page.file for page in pages}
    for file in files_of("docs/*.md"):
        if file not in known:
            GROUPS["More"].append(Page(f"more/{Path(file).stem}", file))
            pages.append(GROUPS["More"][-1])
    return pages


def chapters_of(text):
    """Returns the text before the first heading of level 2, and the text of each chapter by its heading."""
    inside = [match.span() for match in CODE.finditer(text)]
    starts = [
        match
        for match in re.finditer(r"^## (.+)$", text, re.M)
        if not any(begin <= match.start() < end for begin, end in inside)
    ]
    ends = [match.start() for match in starts[1:]] + [len(text)] * bool(starts)
    head = text[: starts[0].start()] if starts else text
    return head, {match[1]: text[match.start() : end] for match, end in zip(starts, ends, strict=True)}


def text_of(page, pages, text):
    """Returns the part of a document that a page has."""
    head, chapters = chapters_of(text)
    if not page.chapters:
        elsewhere = {name for other in pages if other.file == page.file for name in other.chapters}
        elsewhere |= set(LEFT_OUT.get(page.file, []))
        return head + "".join(part for name, part in chapters.items() if name not in elsewhere)
    missing = [name for name in page.chapters if name not in chapters]
    if missing:
        sys.exit(f"docs: {page.file} has no chapter {missing[0]!r}, of which tools/docs/pages.py makes {page.name}")
    parts = "".join(chapters[name] for name in page.chapters)
    if page.title:
        return f"# {page.title}\n\n{parts}"
    # One chapter: its headings move up by a level.
    return outside_code(parts, lambda prose: re.sub(r"^##", "#", prose, flags=re.M))


def outside_code(text, change):
    """Changes what is not in fenced blocks of code."""
    parts = re.split(r"(^```.*?^```$)", text, flags=re.M | re.S)
    return "".join(part if i % 2 else change(part) for i, part in enumerate(parts))


class Links:
    """Where the documents' links lead on the site."""

    def __init__(self, pages, texts):
        self.places, self.first, self.sources, self.folders, self.images = {}, {}, set(), set(), set()
        for page in pages:
            self.first.setdefault(page.file, page.name)
            if not page.chapters:
                self.first[page.file] = page.name
        for file, parts in texts.items():
            _, chapters = chapters_of((ROOT / file).read_text(encoding="utf-8"))
            for page, text in parts:
                for anchor in anchors(text):
                    self.places[file, anchor] = page.name
                for name in page.chapters:  # its title, which is an anchor of the document
                    self.places[file, next(iter(anchors(f"## {name}\n")))] = page.name
            for name in LEFT_OUT.get(file, []):
                self.places.pop((file, next(iter(anchors(chapters[name])))), None)

    def target(self, page, target):
        """Returns the target on the site of a link of a page."""
        if re.match(r"[a-z]+:", target):
            return target
        name, _, anchor = target.partition("#")
        file = page.file
        if name:
            file = str(((ROOT / page.file).parent / name).resolve().relative_to(ROOT))
        if file in self.first:
            to = self.places.get((file, anchor), self.first[file])
            return f"/{to}.md" + (f"#{anchor}" if anchor else "")
        if file.startswith("include/lazyxla") and file.endswith((".h", ".hpp")) and "mpi" not in file:
            return "/reference/c/index.md" if file.endswith(".h") else "/reference/cpp/index.md"
        if file.endswith((".png", ".svg")):
            self.images.add(file)
            return f"/{file}"
        if file in EXAMPLES:
            return "/examples.md"
        if (ROOT / file).is_dir():
            self.folders.add(file)
            return f"/source/{file}/index.md"
        if not (ROOT / file).is_file():
            sys.exit(f"docs: {page.file}: {target} is neither a file nor a folder")
        self.sources.add(file)
        return f"/source/{file}.md"

    def rewritten(self, page, text):
        def one(match):
            start, target = match[0].rsplit("(", 1)
            return f"{start}({self.target(page, target[:-1])})"

        # Sessions, so that their prompts and results are neither errors of syntax nor copied.
        text = text.replace("```python\n>>> ", "```pycon\n>>> ")
        return outside_code(text, lambda prose: LINK.sub(one, prose))


ORPHAN = "---\norphan: true\n---\n"
LANGUAGES = {
    ".c": "c",
    ".h": "c",
    ".cc": "cpp",
    ".hpp": "cpp",
    ".py": "python",
    ".rs": "rust",
    ".go": "go",
    ".lua": "lua",
}


def source_page(file):
    """Returns a page that shows a file."""
    text = (ROOT / file).read_text(encoding="utf-8")
    fence = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 3)
    language = LANGUAGES.get(Path(file).suffix, "text")
    orphan = "" if any(file.startswith(f"{folder}/") for folder in EXAMPLES) else ORPHAN
    return f"{orphan}# {file}\n\n{fence}{{code-block}} {language}\n:linenos:\n\n{text}{fence}\n"


def sentence(file):
    """Returns the first sentence of the comment or string at the top of a source file."""
    text = (ROOT / file).read_text(encoding="utf-8")
    match = re.match(r'(?:#!.*\n)?((?:(?://|#|--)[^\n]*\n)+|/\*.*?\*/|""".*?""")', text, re.S)
    head = match[1] if match else ""
    marks = r"^(//!?|#|--|/\*+|\*/|\*|\"\"\")|\*/|\"\"\""
    return first_sentence("\n".join(re.sub(marks, "", line.strip()).strip() for line in head.splitlines()))


def table(files, folder):
    """Returns a table of source files with links to their pages."""
    rows = [f"| [`{Path(file).relative_to(folder)}`](/source/{file}.md) | {sentence(file)} |\n" for file in files]
    return "| file | |\n|---|---|\n" + "".join(rows)


def sources_of(folder):
    return [file for file in files_of(f"{folder}/**/*") if Path(file).suffix in LANGUAGES]


def examples_page():
    text = "# Examples\n\nThe programs of the guide and larger ones. The tests build and run them.\n\n"
    names = ""
    for folder in EXAMPLES:
        files = sources_of(folder)
        text += f"## {folder}\n\n{table(files, folder)}\n"
        names += "".join(f"{file.removeprefix('examples/')} </source/{file}>\n" for file in files)
    return f"{text}```{{toctree}}\n:hidden:\n\n{names}```\n"


def toctrees():
    trees = ""
    for caption, group in GROUPS.items():
        names = "\n".join(page[1:] if isinstance(page, str) else page.name for page in group)
        trees += f"\n```{{toctree}}\n:caption: {caption}\n:hidden:\n\n{names}\n```\n"
    return trees


def arrange(to):
    """Writes all pages of documents and sources below a folder."""
    pages = all_pages()
    texts = {}
    for page in pages:
        text = text_of(page, pages, (ROOT / page.file).read_text(encoding="utf-8"))
        texts.setdefault(page.file, []).append((page, text))
    links = Links(pages, texts)
    for parts in texts.values():
        for page, text in parts:
            text = links.rewritten(page, text)
            write(to / f"{page.name}.md", text + toctrees() if page is FRONT else text)
    for folder in links.folders:
        write(to / f"source/{folder}/index.md", f"{ORPHAN}# {folder}\n\n{table(sources_of(folder), folder)}")
    listed = [file for folder in [*EXAMPLES, *sorted(links.folders)] for file in sources_of(folder)]
    for file in sorted(links.sources | set(listed)):
        write(to / f"source/{file}.md", source_page(file))
    write(to / "examples.md", examples_page())
    for file in links.images:
        write(to / file, (ROOT / file).read_bytes())
    return {file: links.first[file] for file in links.first}
