"""The pages of the documentation site, before Sphinx: python docs_test.py SOURCE_TREE

The chapters that pages are made of exist, each chapter is on one page, links lead to pages that are written, and each
function, type and constant has its entry. The checker of links finds those without a target."""

import inspect
import json
import re
import sys
import tempfile
import types
from pathlib import Path
from unittest.mock import MagicMock

TREE = Path(sys.argv[1]).resolve()
sys.path.insert(0, str(TREE / "tools/docs"))
sys.dont_write_bytecode = True

import c_reference  # noqa: E402
import links  # noqa: E402
import made_functions  # noqa: E402
import pages  # noqa: E402

API = json.loads((TREE / "include/lazyxla.json").read_text())


def pages_are_whole(folder):
    pages.arrange(folder)
    written = {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*.md")}
    for file in ("README.md", "docs/frontends.md"):
        for chapter in pages.chapters_of((TREE / file).read_text())[1]:
            of = [page for page in pages.all_pages() if page.file == file]
            found = [
                page.name for page in of if re.search(rf"^##? {re.escape(chapter)}$", written[f"{page.name}.md"], re.M)
            ]
            want = 0 if chapter in pages.LEFT_OUT.get(file, []) else 1
            assert len(found) == want, f"{file}: the chapter {chapter} is on the pages {found}"
    for name, text in written.items():
        for target in re.findall(r"\]\((/[^)#]+)", pages.CODE.sub("", text)):
            known = target[1:] in written or (TREE / target[1:]).is_file() or target.startswith("/reference/")
            assert known, f"{name}: {target}"
    assert "](/examples.md)" in written["python.md"], "links to a folder of examples lead to their page"
    assert "](/python-quickstart.md)" in written["python.md"]
    assert "```pycon\n>>> import lazyxla" in written["python-quickstart.md"]
    assert "/source/python/examples/gpt.py.md" in written["examples.md"]
    assert "/guide/gradients.md" in written["frontend/index.md"], "links to chapters lead to their pages"
    return {file: name[:-3] for name, file in ((page.name + ".md", page.file) for page in pages.all_pages())}


def everything_has_an_entry(folder, documents):
    c_reference.reference(folder, documents)
    text = "".join(path.read_text() for path in sorted((folder / "reference/c").glob("*.md")))
    for function in API["functions"]:
        assert len(re.findall(rf"\{{c:function\}} .*\b{function['name']}\(", text)) == 1, function["name"]
        entry = re.search(rf"\{{c:function\}} [^\n]*\b{function['name']}\(.*?\n:::::\n", text, re.S)[0]
        shown = re.search(r"```c\n(.*?)```\n\*From ", entry, re.S)
        assert shown and f"{function['name']}(" in shown[1], f"{function['name']} has no example"
    for of in API["types"]:
        assert len(re.findall(rf"\{{c:(?:type|struct|union)\}} .*\b{of['name']}\b", text)) >= 1, of["name"]
    for family in API["families"]:
        for constant in family["constants"]:
            entry = f"{{c:macro}} {constant['name']}\n\n`{constant['value']}`"
            assert text.count(entry) == 1, constant["name"]
    # Compares the page of one function with its declaration in the header.
    entry = text[text.index("c:function} lxla_status lxla_tensor_from_host_borrowed") :].split(":::::")[0]
    for want in (
        "| `dtype` | `int32_t` | in | one of [`LXLA_DTYPE_*`](#constants-lxla-dtype) |",
        "| `env` | `lxla_env` | in | id 0: the current environment |",
        "| `dims` | `const int64_t *` | in | `rank` elements; not NULL |",
        "| `data` | `const void *` | in | `size_bytes` bytes; not NULL; used until the callback is called |",
        "| `out_tensor` | `lxla_tensor *` | out | not NULL; freed by `lxla_tensor_release` |",
        "(`dims`, `data` or `out_tensor` is NULL)",
        "(another value of `dtype`; shapes, axes or dtypes that it does not take)",
        "and the errors of the [conventions](conventions.md).",
    ):
        assert want in entry, f"{want} is not in {entry}"


def handles_that_may_be_null():
    """The table of optional tensors has those that the sources of the library read as optional."""
    found = {}
    for path in sorted((TREE / "src/capi").glob("*.rs")):
        for name, body in re.findall(r'extern "C" fn (\w+)(.*?)^}', path.read_text(), re.M | re.S):
            names = re.findall(r'optional_handle\((\w+)\)|optional_handles\("(\w+)"|= choice\(\["(\w+)"', body)
            if names:
                found[name] = ["".join(each) for each in names]
    assert found == c_reference.OPTIONAL, found
    said = {each["name"]: c_reference.errors(each).get("INVALID_HANDLE") for each in API["functions"]}
    for name, want in {
        "lxla_tensor_release": "`tensor` is stale or foreign",
        "lxla_tensor_retain": "`tensor` is stale, foreign or null",
        "lxla_mark_step": "`env` is stale or foreign",
        "lxla_env_retain": "`env` is stale, foreign or null",
        "lxla_layer_norm": "`x` is stale, foreign or null; `scale` or `offset` is stale or foreign",
        "lxla_index": "`x` is stale, foreign or null; an element of `indices` is stale or foreign",
    }.items():
        assert said[name] == [want], f"{name}: {said[name]}"
    assert said["lxla_env_exit"] is None and said["lxla_version"] is None


def sentences_are_whole():
    for text, want in (
        ("Records start, start + step, ... up to stop. More.", "Records start, start + step, ... up to stop."),
        ("Records `a. b` of x.\nMore.", "Records `a. b` of x."),
        ("Returns an object:\n\n- `found`: null. Else.", "Returns an object."),
        ("A title\n\nMore.", "A title"),
    ):
        assert c_reference.first_sentence(text) == want, c_reference.first_sentence(text)
    assert c_reference.with_unit("exact; product 3; sum 2").startswith("exact; product 3 ULP; sum 2 ULP (")
    assert pages.sentence("examples/bindings/first.rs").startswith("README.md's first program in Rust: a tensor")


def functions_as_python_makes_them(module):
    """Compares functions that the reference reads from calls with those that Python makes of the file; modules that it
    imports are stand-ins."""
    text = (TREE / f"python/lazyxla/{module}.py").read_text()
    read = made_functions.made_functions(text)
    for name in re.findall(r"^from \.?(\w*) import|^from \. import (\w+)", text, re.M):
        sys.modules["standing_in." + "".join(name)] = MagicMock()
    package = sys.modules["standing_in"] = types.ModuleType("standing_in")
    package.__path__, package._core, package._constants = [], MagicMock(), MagicMock()
    ran = {"__name__": f"standing_in.{module}", "__package__": "standing_in"}
    exec(compile(text, module, "exec"), ran)
    functions = {name: each for name, each in ran.items() if isinstance(each, types.FunctionType)}
    # Another name of a function is not listed again.
    made = {name for name, each in functions.items() if each.__code__.co_name != name == each.__name__}
    assert made == set(read) and len(made) >= 10, made ^ set(read)
    for name, each in read.items():
        assert each.signature == name + str(inspect.signature(ran[name])).replace("'", ""), each.signature
        without = re.sub(r"\n\nDtypes: [\w, ]+\.", "", each.doc)
        assert without == ran[name].__doc__, f"{name}: {each.doc!r}"
    return read


def dead_links_are_found(folder):
    (folder / "there.html").write_text('<p id="part">text</p>')
    (folder / "page.html").write_text(
        '<a href="there.html#part">right</a> <a href="https://example.org/">elsewhere</a>'
        '<a href="there.html#gone">1</a> <a href="gone.html">2</a> <a href="#gone">3</a> <a href="../x.html">4</a>'
        '<img src="gone.png"> <script src="https://example.org/a.js"></script>'
    )
    (folder / "site.css").write_text("@import 'https://example.org/a.css'; a { background: url(//example.org/b.png) }")
    want = [
        "page.html: #gone: there is no such anchor",
        "page.html: ../x.html: there is no such page",
        "page.html: gone.html: there is no such page",
        "page.html: gone.png: there is no such page",
        "page.html: loads https://example.org/a.js from the network",
        "page.html: there.html#gone: there is no such anchor",
        "site.css: loads //example.org/b.png from the network",
        "site.css: loads https://example.org/a.css from the network",
    ]
    assert sorted(links.problems(folder)) == sorted(want), list(links.problems(folder))


with tempfile.TemporaryDirectory() as folder:
    documents = pages_are_whole(Path(folder))
    everything_has_an_entry(Path(folder), documents)
handles_that_may_be_null()
sentences_are_whole()
elementwise = functions_as_python_makes_them("_elementwise")
assert "\n\nDtypes: real floating, complex floating.\n" in elementwise["sin"].doc
functions_as_python_makes_them("nn")
with tempfile.TemporaryDirectory() as folder:
    dead_links_are_found(Path(folder))
print("pages of the documentation")
