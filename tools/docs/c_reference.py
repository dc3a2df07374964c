"""Writes the reference of the C API from include/lazyxla.json and the comment at the top of include/lazyxla.h."""

import json
import re

from calls import calls
from common import ROOT, files_of, first_sentence, write

API = json.loads((ROOT / "include/lazyxla.json").read_text())
STATUSES = {each["name"][5:] for each in API["families"][0]["constants"]} - {"OK"}
HANDLES = {each["name"] for each in API["types"] if each.get("handle")}
# Tensors that may be absent (id 0), also as elements of a list. lazyxla.json does not have this of handles.
OPTIONAL = {
    "lxla_attention": ["mask"],
    "lxla_index": ["indices"],
    "lxla_index_put": ["indices"],
    "lxla_layer_norm": ["scale", "offset"],
    "lxla_layer_norm_with_statistics": ["scale", "offset"],
    "lxla_random_choice": ["probabilities"],
    "lxla_rms_norm": ["weight"],
    "lxla_select_with_scalars": ["on_true", "on_false"],
    "lxla_unique": ["fill"],
}
FUNCTIONS = [each for each in API["types"] if each["kind"] == "function"]
OWNERSHIP = {
    "call": "read during the call only",
    "until_release": "used until the callback is called",
    "library": "the library takes it over",
    "opaque": "never read",
    "caller": "the caller frees it",
    "borrowed": "must not be released",
}
DIRECTIONS = {"in": "in", "out": "out", "inout": "in, out"}


def title_of(chapter):
    """Returns the title of a chapter, and the rest of the header's line."""
    title, _, rest = chapter["title"].rstrip(".").partition(": ")
    return title, rest[:1].upper() + rest[1:] + "." if rest else ""


def prose(text, documents):
    """Returns documentation of the header as Markdown: names of statuses and of documents are links."""

    def outside(part):
        part = re.sub(r"\bdocs/(\w[\w-]*\.md)\b", lambda m: document(m[0], documents), part)
        statuses = r"\b(" + "|".join(sorted(STATUSES, key=len, reverse=True)) + r")\b"
        part = re.sub(statuses, r"{c:macro}`\1 <LXLA_\1>`", part)
        part = re.sub(r"(?<!\\)([*_<$])", r"\\\1", part) if not part.startswith("{c:macro}") else part
        return re.sub(r"\{c:macro\}`[^`]*`", lambda m: m[0].replace("\\", ""), part)

    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if i % 2 else outside(part) for i, part in enumerate(parts))


def document(path, documents):
    return f"[{path}](/{documents[path]}.md)" if path in documents else path


def length(of):
    """Returns the words for the length of a list."""
    if "fixed" in of:
        return str(of["fixed"])
    if "sum" in of:
        return f"sum of `{of['sum']}`"
    if "product" in of:
        return f"product of `{of['product']}`"
    text = f"`{of['of']}`"
    if "times" in of:
        text = f"{of['times']} · {text}"
    return f"{text} + {of['plus']}" if "plus" in of else text


def facts(of):
    """Returns what lazyxla.json knows of a parameter or field besides its type, as Markdown."""
    made = []
    if of["role"] in ("list", "output_list") and "length" in of:
        made.append(f"{length(of['length'])} elements")
    if of["role"] in ("bytes", "output_bytes") and "length" in of:
        made.append(f"{length(of['length'])} bytes")
    if of["role"] in ("string", "owned_string"):
        made.append("NUL-terminated UTF-8")
    if "enum" in of:
        made.append(f"one of [`{of['enum']}*`](#{anchor(of['enum'])})")
    if of.get("flag"):
        made.append("0 or 1")
    if of.get("switch"):
        made.append("0 default, 1 on, 2 off")
    if of["role"] == "user":
        made.append("passed to the callback")
    if "nullable" in of:
        made.append("may be NULL" if of["nullable"] else "not NULL")
    if of.get("ownership") == "caller" and "release" in of:
        made.append(f"freed by `{of['release']}`")
    elif "ownership" in of and not (of["ownership"] == "call" or of["role"] == "user"):
        made.append(OWNERSHIP[of["ownership"]])
    return "; ".join(made)


def anchor(prefix):
    return "constants-" + prefix.lower().strip("_").replace("_", "-")


def declared(of):
    array = f"[{of['array']}]" if "array" in of else ""
    space = "" if of["type"].endswith("*") else " "
    return f"{of['type']}{space}{of['name']}{array}"


def choice_of(names):
    return " or ".join([", ".join(names[:-1])] * (len(names) > 1) + names[-1:])


def meaning_of_null(function, of):
    """Returns the meaning of the null handle for a parameter that may be it, else nothing."""
    name = function["name"]
    if of["base"] not in HANDLES or of["direction"] != "in" or name == "lxla_env_retain":
        return ""
    if name.endswith("_release"):
        return "id 0 is ignored"
    if name == "lxla_env_exit":
        return "id 0: any environment"
    if of["base"] == "lxla_env":
        return "id 0: the current environment"
    return "id 0: absent" if of["name"] in OPTIONAL.get(name, []) else ""


def wrong_handles(function):
    """Returns the condition of INVALID_HANDLE: handles that may be null, and others."""
    if function["name"] == "lxla_env_exit":  # compares the environment with the current one, by FAILED_PRECONDITION
        return ""
    strict, lenient = [], []
    for each in function["parameters"]:
        if each["base"] in HANDLES and each["direction"] == "in":
            of_list = "an element of " if each["role"] == "list" else ""
            (lenient if meaning_of_null(function, each) else strict).append(f"{of_list}`{each['name']}`")
    made = [f"{choice_of(strict)} is stale, foreign or null"] if strict else []
    made += [f"{choice_of(lenient)} is stale or foreign"] if lenient else []
    return "; ".join(made)


def takes_types(function):
    """Returns whether there are shapes, axes or dtypes that a function may refuse."""
    parameters = function["parameters"]
    tensors = {each["direction"] for each in parameters if each["base"] == "lxla_tensor"}
    named = {each["name"] for each in parameters if each["direction"] == "in"}
    return tensors == {"in", "out"} or bool(named & {"dims", "axes", "axis", "dtype", "dtypes"})


def errors(function):
    """Returns the statuses that follow from the parameters by the conventions, then those that the text names; and for
    each its conditions."""
    parameters = function["parameters"]
    found = {}
    handles = wrong_handles(function)
    if handles:
        found["INVALID_HANDLE"] = [handles]
    required = [f"`{each['name']}`" for each in parameters if each.get("nullable") is False]
    if required:
        found["NULL_ARGUMENT"] = [f"{choice_of(required)} is NULL"]
    wrong = [f"`{each['name']}`" for each in parameters if "enum" in each or each.get("flag") or each.get("switch")]
    if wrong:
        found["INVALID_ARGUMENT"] = [f"another value of {choice_of(wrong)}"]
    if takes_types(function):
        found.setdefault("INVALID_ARGUMENT", []).append("shapes, axes or dtypes that it does not take")
    for name in dict.fromkeys(re.findall(r"[A-Z][A-Z_]+", re.sub(r"`LXLA_\w+`", "", function["doc"]))):
        if name in STATUSES:
            found.setdefault(name, []).append("see above")
    return found


def with_unit(accuracy):
    """Returns an entry of the column Accuracy with the unit of its numbers."""
    ulps = re.sub(r"(?<![\w.])(\d+)(?=;|,|$)", r"\1 ULP", accuracy)
    return f"{ulps} ([how it is measured](/reference/operations.md#accuracy))"


# Macros in the calls that are shown.
MACROS = {
    "TRY": "ends the program on an error",
    "OK": "fails the test on an error",
    "DIMS": "is a list with its length",
    "F32S": "makes an array of f32",
    "ARRAY": "makes an array",
}


def function_part(function, uses, called, operations, documents):
    name, parameters = function["name"], function["parameters"]
    signature = ", ".join(declared(each) for each in parameters) or "void"
    space = "" if function["result"].endswith("*") else " "
    made = (
        f":::::{{c:function}} {function['result']}{space}{name}({signature})\n\n{prose(function['doc'], documents)}\n\n"
    )
    if parameters:
        rows = ""
        for each in parameters:
            told = "; ".join(part for part in (facts(each), meaning_of_null(function, each)) if part)
            rows += f"| `{each['name']}` | `{each['type']}` | {DIRECTIONS[each['direction']]} | {told} |\n"
        made += f"| parameter | type | direction | |\n|---|---|---|---|\n{rows}\n"
    lines = []
    if function["result"] == "lxla_status":
        told = "".join(
            f"{{c:macro}}`{each} <LXLA_{each}>` ({'; '.join(why)}), " for each, why in errors(function).items()
        )
        of_all = "the errors of the [conventions](conventions.md)"
        lines.append(f"**Errors:** {told}and {of_all}." if told else f"**Errors:** {of_all}.")
    if name in operations:
        dtypes, accuracies = operations[name]
        lines.append(f"**Dtypes:** {dtypes}. **Accuracy:** {with_unit(accuracies)}.")
    if name in uses:
        lines.append("**Examples:** " + ", ".join(f"[`{each[9:]}`](/source/{each}.md)" for each in uses[name]) + ".")
    if name in called:
        file, code = called[name]
        place = f"[`{file[9:]}`](/source/{file}.md)" if file.startswith("examples/") else f"the test `{file}`"
        macros = "".join(f"; `{each}` {told}" for each, told in MACROS.items() if re.search(rf"\b{each}\(", code))
        lines.append(f"```c\n{code}\n```\n*From {place}{macros}.*")
    return made + "\n\n".join(line for line in lines if line) + "\n:::::\n\n"


def constants_part(family, documents):
    title, place = family["prefix"] + "\\*", anchor(family["prefix"])
    if family is API["families"][0]:
        title = "Status codes"
    elif family["prefix"] == "LXLA_":  # LXLA_ON and LXLA_OFF, to which no parameter links
        title, place = "Switches", "constants-switches"
    made = f"({place})=\n### {title}\n\n{prose(family['doc'], documents)}\n\n"
    for each in family["constants"]:
        made += f":::::{{c:macro}} {each['name']}\n\n`{each['value']}`: {prose(each['doc'], documents)}\n:::::\n\n"
    return made


def type_part(of, documents):
    doc = prose(of["doc"], documents)
    if of["kind"] == "alias":
        return f":::::{{c:type}} {of['type']} {of['name']}\n\n{doc}\n:::::\n\n"
    if of["kind"] == "function":
        arguments = ", ".join(declared(each) for each in of["parameters"]) or "void"
        return f":::::{{c:type}} {of['result']} (*{of['name']})({arguments})\n\n{doc}\n:::::\n\n"
    fields = ""
    for each in of["fields"]:
        told = "; ".join(part for part in (facts(each),) if part)
        text = prose(each.get("doc", ""), documents)
        fields += f"::::{{c:member}} {declared(each)}\n\n{text}{f' *({told})*' if told else ''}\n::::\n\n"
    note = ""
    if of.get("handle"):
        note = f"\n\nA handle: `{of['name']}_retain` and `{of['name']}_release` count its references."
    return f"::::::{{c:{of['kind']}}} {of['name']}\n\n{doc}{note}\n\n{fields}::::::\n\n"


def summary(functions, documents):
    rows = ""
    for each in functions:
        first = first_sentence(each["doc"]).replace("|", "\\|")
        rows += f"| `{each['name']}` | {prose(first, documents)} |\n"
    return f"| function | |\n|---|---|\n{rows}\n"


def chapter_of_types():
    """Returns the chapter of each type: that of the first function that takes it, or of a type that has it."""
    found = {}
    users = [(each["name"], each["chapter"], each["parameters"]) for each in API["functions"]]
    for _, chapter, parameters in users:
        for each in parameters:
            found.setdefault(each["base"], chapter)
    for _ in range(3):
        for of in API["types"]:
            for each in of.get("fields", []) + of.get("parameters", []):
                if of["name"] in found:
                    found.setdefault(each["base"], found[of["name"]])
    return {of["name"]: found.get(of["name"], "library") for of in API["types"]} | {"lxla_status": "library"}


def used_in_examples():
    """Returns the examples that call a function: the smallest ones first, at most four."""
    files = [file for file in files_of("examples/**/*") if file.endswith((".c", ".h", ".cc"))]
    texts = sorted(((ROOT / file).read_text(encoding="utf-8"), file) for file in files)
    texts.sort(key=lambda pair: (not pair[1].endswith(".c"), len(pair[0])))
    found = {}
    for text, file in texts:
        for name in set(re.findall(r"\b(lxla_\w+)\(", text)):
            found.setdefault(name, []).append(file)
    return {name: files[:4] for name, files in found.items()}


def operation_table():
    """Returns the dtypes and accuracies of functions that have one row in docs/operations.md."""
    rows = {}
    for line in (ROOT / "docs/operations.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        match = len(cells) == 5 and re.fullmatch(r"`(lxla_\w+)`", cells[1])
        if match:
            rows.setdefault(match[1], []).append((cells[3], cells[4].rstrip("| ")))
    return {name: of[0] for name, of in rows.items() if len(of) == 1}


def conventions(documents):
    """Returns the conventions at the top of the header: a name, and text that is indented."""
    head = (ROOT / "include/lazyxla.h").read_text().split("*/")[0]
    lines = [line[3:] for line in head.split("CONVENTIONS", 1)[1].splitlines()[1:]]
    parts = re.findall(r"^([A-Z][a-z]+)  +(.*(?:\n(?: .*|))*)", "\n".join(lines), re.M)
    made = "# Conventions\n\nThey hold for every function unless its documentation says otherwise.\n\n"
    for name, text in parts:
        words = " ".join(text.split())
        words = re.sub(r"(?<![\w`])(\w*lxla_\w+|LXLA_\w+)(\(\))?(?!\w*\*)", r"`\1`", words)
        made += f"## {name}\n\n{prose(words, documents)}\n\n"
    return made


def reference(to, documents):
    uses, called, operations, chapters = used_in_examples(), calls(), operation_table(), chapter_of_types()
    names = []
    for chapter in API["chapters"]:
        name = chapter["name"]
        functions = [each for each in API["functions"] if each["chapter"] == name]
        families = [each for each in API["families"] if each["chapter"] == name]
        types = [each for each in API["types"] if chapters[each["name"]] == name]
        title, rest = title_of(chapter)
        page = f"# {title}\n\n{rest}\n\n{summary(functions, documents)}"
        page += "## Functions\n\n" + "".join(
            function_part(each, uses, called, operations, documents) for each in functions
        )
        if types:
            page += "## Types\n\n" + "".join(type_part(each, documents) for each in types)
        if families:
            page += "## Constants\n\n" + "".join(constants_part(each, documents) for each in families)
        write(to / f"reference/c/{name}.md", page)
        names.append((name, title, rest, len(functions)))
    write(to / "reference/c/conventions.md", conventions(documents))
    rows = "".join(f"| [{title}]({name}.md) | {rest} | {n} |\n" for name, title, rest, n in names)
    tree = "\n".join(["conventions", *(name for name, *_ in names)])
    head = (
        f"# C API\n\n`lazyxla.h`, version {API['version']}, ABI version {API['abi_version']}:"
        f" {len(API['functions'])} functions. Read the [conventions](conventions.md) first. The index"
        " ([genindex](/genindex.html)) lists all names, and the search finds them.\n\n"
        "`lazyxla.json` is the same as data, for [bindings](/frontend/bindings.md).\n\n"
    )
    head = head.replace("The index ([genindex](/genindex.html))", "The {ref}`index <genindex>`")
    write(to / "reference/c/index.md", f"{head}| chapter | | functions |\n|---|---|---|\n{rows}\n"
          f"```{{toctree}}\n:hidden:\n\n{tree}\n```\n")  # fmt: skip
