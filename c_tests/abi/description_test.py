"""include/lazyxla.json says the same as lazyxla.h, is whole, and says what the library does with NULL:
python description_test.py /path/to/liblazyxla.so SOURCE_TREE"""

import ctypes
import json
import os
import random
import re
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True  # leaves no caches beside the sources
import ctypes_test as abi
import fastjsonschema
import fuzz_abi
import fuzz_waits
import header
from header import DESCRIPTION, constants, functions, types

# Functions of which a call with arguments like those below would do something else than check them.
NOT_CALLED = {"lxla_string_free", "lxla_set_log_callback", "lxla_trace_start", "lxla_report"}
# Parameters of type size_t that are the length of no pointer: a position, and a number of results in one tensor.
NO_LENGTHS = {
    ("lxla_computation_captured", "index"),
    ("lxla_random_split", "n"),
    ("lxla_tensor_set_dynamic", "axis"),
}
# Parameters whose NULL other arguments decide on: a scalar is needed where its tensor is 0, and there only.
DEPENDS = {("lxla_select_with_scalars", "true_scalar"), ("lxla_select_with_scalars", "false_scalar")}
# Lists that are empty in these calls.
DEPENDS |= {("lxla_scan", "out_ys")}


def packed(text):
    return re.sub(r"\s+", "", text)


def parameter(of):
    return f"{of['type']} {of['name']}" + (f"[{of['array']}]" if "array" in of else "")


def declaration(of):
    """Returns the declaration in C of a type or function."""
    members = [parameter(each) for each in of.get("parameters", of.get("fields", []))]
    kind = of.get("kind")
    if kind == "alias":
        return f"typedef {of['type']} {of['name']};"
    if kind in ("struct", "union"):
        return f"typedef {kind} {{ {''.join(each + ';' for each in members)} }} {of['name']};"
    arguments = f"({', '.join(members) or 'void'});"
    return (f"typedef {of['result']} (*{of['name']})" if kind else f"{of['result']} {of['name']}") + arguments


def all_variables():
    for of in DESCRIPTION["functions"] + DESCRIPTION["types"]:
        for each in of.get("parameters", of.get("fields", [])):
            yield of, each


def test_it_declares_what_the_header_declares(lib, tree):
    text = (tree / "include/lazyxla.h").read_text()
    plain = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    plain = re.sub(r"^#ifdef __cplusplus$.*?^#endif.*?$", "", plain, flags=re.S | re.M)
    plain = packed(re.sub(r"^#.*$", "", plain, flags=re.M))
    for of in DESCRIPTION["types"] + DESCRIPTION["functions"]:
        wanted = packed(declaration(of))
        assert plain.count(wanted) == 1, f"lazyxla.h has no {declaration(of)}"
        plain = plain.replace(wanted, "")
    assert plain == "", f"lazyxla.json lacks {plain}"
    macros = re.findall(r"^#define LXLA_(\w+) (-?\d+)", text, re.M)
    assert dict(macros) == {name: str(n) for name, n in vars(constants).items()}


def test_comments_are_those_of_the_header(lib, tree):
    words = lambda text: re.sub(r"[\s*/<]+", " ", text).strip()
    comments = {words(each) for each in re.findall(r"/\*\*(.*?)\*/", (tree / "include/lazyxla.h").read_text(), re.S)}
    told = DESCRIPTION["functions"] + DESCRIPTION["types"]
    told += [each for of in DESCRIPTION["types"] for each in of.get("fields", [])]
    told += [each for family in DESCRIPTION["families"] for each in family["constants"]]
    for each in told:
        assert each["doc"] and words(each["doc"]) in comments, (
            f"lazyxla.h does not say of {each['name']}: {each['doc']}"
        )


def test_it_has_the_form_of_its_schema(lib, tree):
    schema = json.loads((tree / "include/lazyxla.schema.json").read_text())
    assert fastjsonschema.compile(schema)(DESCRIPTION) == DESCRIPTION
    broken = {**DESCRIPTION, "functions": [{**DESCRIPTION["functions"][0], "parameters": [{"name": "x"}]}]}
    try:
        fastjsonschema.compile(schema)(broken)
    except fastjsonschema.JsonSchemaException:
        return
    raise AssertionError("the schema takes a parameter without a type")


def test_every_size_is_a_length(lib, tree):
    for of in DESCRIPTION["functions"]:
        counted = {each["length"].get("of") for each in of["parameters"] if "length" in each}
        sizes = [each["name"] for each in of["parameters"] if each["type"] == "size_t" and each["direction"] == "in"]
        others = [name for name in sizes if name not in counted and (of["name"], name) not in NO_LENGTHS]
        assert not others, f"{of['name']}: {others} are the length of nothing"


def test_every_fact_fits(lib, tree):
    prefixes = {family["prefix"] for family in DESCRIPTION["families"]}
    for of, each in all_variables():
        what, names = f"{each['name']} of {of['name']}", [v["name"] for v in of.get("parameters", of.get("fields"))]
        is_field = "fields" in of
        is_pointer = each["pointers"] > 0
        assert is_field or each["direction"] in ("in", "out", "inout"), what
        assert is_pointer == each["type"].endswith("*"), what
        assert not is_pointer or isinstance(each["nullable"], bool), what
        is_output = not is_field and each["direction"] != "in"
        assert not is_output or each["name"].startswith("out_") or each["name"] in ("dst", "options"), what
        assert each.get("enum", "LXLA_") in prefixes, what
        assert ("length" in each) == (each["role"] in ("list", "bytes", "output_list", "output_bytes")), what
        length = each.get("length", {"fixed": 1})
        assert len(length.keys() & {"of", "sum", "product", "fixed"}) == 1, what
        by = length.get("of") or length.get("sum") or length.get("product")
        assert by is None or by in names and by != each["name"], what
        if "of" in length:
            counted = next(v for v in of.get("parameters", of.get("fields")) if v["name"] == by)
            assert counted["type"] in ("size_t", "int32_t"), what
        if "release" in each:
            release = functions[each["release"]].parameters
            assert len(release) == 1 and release[0].type in (each["base"], each["base"] + " *"), what
        if is_output and each["base"] in ("lxla_tensor", "lxla_computation", "char"):
            assert each["ownership"] == "caller" and each["release"] in functions, what


# --- NULL ---


class Arguments:
    """Arguments of functions, of which as many are valid as the fuzzer knows."""

    def __init__(self):
        self.fuzzer = fuzz_abi.Fuzzer(random.Random(1))
        self.kept = []

    def value(self, of, right):
        name, base, pointers, role = of["name"], of["base"], of["pointers"], of["role"]
        if name in right and right[name] is not None:
            return self.fuzzer.right(of["type"], right[name])[1]
        if role == "callback":
            known = {"lxla_release_fn": fuzz_abi.destroy, "lxla_ready_fn": fuzz_waits.told}
            return known.get(base) or getattr(types, base)()
        if role == "user":
            return None
        if role == "string":
            return {"equation": b"ij,jk->ik", "axes": b"data", "text": b"cpu"}.get(name, b"nothing")
        if role in ("bytes", "output_bytes", "dlpack") or of["type"] == "void **":
            return self.keep(ctypes.create_string_buffer(4096))
        if pointers == 2 or (pointers and base in ("lxla_tensor", "lxla_computation")):
            return self.list_of(of)
        if pointers:
            made = self.keep((header.ctype(of)._type_ * (200 if role != "struct" else 1))())
            if hasattr(made[0], "struct_size"):
                made[0].struct_size = ctypes.sizeof(made[0])
            if base == "lxla_scalar":
                made[0].dtype = constants.DTYPE_F32
            for i in range(200 if base in ("int64_t", "int32_t", "size_t") else 0):
                made[i] = constants.DTYPE_F32 if name == "dtypes" else 3 if name in ("dims", "sizes") else 1
            return made
        return self.plain(of)

    def list_of(self, of):
        kind, tensor = header.ctype(of)._type_, self.fuzzer.pool[fuzz_abi.F32, (3, 3)][1]
        made = self.keep((kind * 200)())
        for i in range(200 if of["direction"] == "in" else 0):
            if of["base"] == "lxla_tensor":
                made[i] = tensor
            elif of["base"] == "lxla_computation":
                made[i] = self.fuzzer.computations[fuzz_abi.ADD]
            elif of["base"] == "char":
                made[i] = b"-"
        return made

    def plain(self, of):
        name, base = of["name"], of["base"]
        if base == "lxla_tensor":
            return self.fuzzer.pool[fuzz_abi.F32, (3, 3)][1]
        if base == "lxla_computation":
            return self.fuzzer.computations[fuzz_abi.ADD]
        if base == "lxla_env":
            return self.fuzzer.env
        if base == "lxla_device":
            return abi.cpu()
        if base == "lxla_mesh":
            return self.mesh()
        if base == "lxla_executable":
            return self.executable()
        if base == "lxla_save_ticket":
            return types.lxla_save_ticket()
        if of.get("enum") == "LXLA_DTYPE_":
            return constants.DTYPE_S32 if name == "index_dtype" else constants.DTYPE_F32
        if of.get("enum") == "LXLA_CHECKPOINT_":
            return constants.CHECKPOINT_SAVE_NAMED
        if name == "size_bytes":
            return 36
        return 1.0 if base == "double" else 2 if base == "size_t" else 1

    def mesh(self):
        names, sizes, out = (ctypes.c_char_p * 1)(b"data"), (ctypes.c_int64 * 1)(1), types.lxla_mesh()
        abi.ok(abi.lib.lxla_mesh_create(self.fuzzer.env, names, sizes, 1, None, ctypes.byref(out)))
        return out

    def executable(self):
        out = types.lxla_executable()
        abi.ok(
            abi.lib.lxla_executable_compile(self.fuzzer.computations[fuzz_abi.ADD], abi.cpu(), None, ctypes.byref(out))
        )
        return out

    def keep(self, made):
        self.kept.append(made)
        return made


def said_of_null(lib, arguments, of, at):
    """Returns what the library says if an argument is NULL, and whether it refuses it as such."""
    right = fuzz_abi.RIGHT.get(of["name"], {})
    given = [arguments.value(each, right) for each in of["parameters"]]
    name = of["parameters"][at]["name"].rstrip("_")
    given[at] = header.ctype(of["parameters"][at])() if of["parameters"][at]["role"] == "callback" else None
    if name in ("axes", "wrt") and of["parameters"][at]["nullable"]:  # all of them, by the header's conventions
        given[at + 1] = 0
    status = getattr(lib, of["name"])(*given)
    text = lib.lxla_last_error_message().decode() if status else ""
    is_refused = status == constants.NULL_ARGUMENT and re.search(rf": {name}(\[0\])?: ", text) is not None
    return status, text, is_refused


def test_null_is_refused_where_it_is_told(lib, tree):
    arguments = Arguments()
    refused, taken, unreached, wrong = 0, 0, [], []
    for of in DESCRIPTION["functions"]:
        if of["result"] != "lxla_status" or of["name"] in NOT_CALLED:
            continue
        for at, each in enumerate(of["parameters"]):
            if "nullable" not in each or each["role"] == "user" or (of["name"], each["name"]) in DEPENDS:
                continue
            status, text, is_refused = said_of_null(lib, arguments, of, at)
            what = f"{of['name']}, {each['name']}: {text}"
            if each["nullable"]:
                wrong += [f"NULL is refused: {what}"] if is_refused else []
                taken += 1
            elif is_refused:
                refused += 1
            elif status == constants.OK:
                wrong.append(f"NULL is taken: {what}")
            else:
                unreached.append(what)
    print(f"NULL is refused for {refused} parameters and taken for {taken}")
    wrong += [f"an earlier argument is refused: {each}" for each in unreached]
    assert not wrong and refused > 400 and taken > 40, "\n".join(wrong)


# Functions that only the body of a shard_map can call, and functions whose indices are looked at before.
UNREACHED = {"lxla_all_gather", "lxla_all_to_all", "lxla_reduce_scatter"}
UNREACHED |= {"lxla_one_hot", "lxla_take", "lxla_take_along_axis", "lxla_scatter_along"}


def test_an_axis_out_of_range_is_named_as_its_parameter(lib, tree):
    arguments = Arguments()
    called, wrong = 0, []
    for of in DESCRIPTION["functions"]:
        for at, each in enumerate(of["parameters"]):
            if each["type"] != "int64_t" or "axis" not in each["name"] or of["name"] in UNREACHED:
                continue
            right = fuzz_abi.RIGHT.get(of["name"], {})
            given = [arguments.value(other, right) for other in of["parameters"]]
            given[at] = 77
            status = getattr(lib, of["name"])(*given)
            text = lib.lxla_last_error_message().decode()
            called += 1
            if status != constants.INVALID_ARGUMENT or not text.startswith(f"{of['name']}: {each['name']}: axis 77 "):
                wrong.append(f"{of['name']}: status {status}, {text}")
    assert called > 20 and not wrong, "\n".join(wrong)


def test_strings_have_the_roles_that_the_document_says(lib, tree):
    owned = [(of["name"], each["name"]) for of, each in all_variables() if each["role"] == "owned_string"]
    assert owned == [("lxla_string_free", "text")], owned
    returned = [each for _, each in all_variables() if each["type"] == "char **"]
    assert len(returned) >= 10
    for each in returned:
        assert (each["role"], each["release"]) == ("output", "lxla_string_free"), each
    row = (tree / "docs/bindings.md").read_text().split("| `role` |")[1].split(" |\n")[0]
    assert "`output`, one value, which is a string if the type is `char **`" in row
    assert "`owned_string`, a string that `lxla_string_free` takes back" in row
    told = set(re.findall(r"`(\w+)`", row)) - {"lxla_string_free"}
    assert told == {each["role"] for _, each in all_variables()}, told


def main():
    lib, tree = abi.load(sys.argv[1]) or abi.lib, Path(sys.argv[2]).resolve()
    # Some calls write files named `nothing`.
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        run(lib, tree)
        os.chdir(tree)


def run(lib, tree):
    tests = [(name, test) for name, test in globals().items() if name.startswith("test_")]
    for name, test in tests:
        print(name, flush=True)
        test(lib, tree)
    print(f"{len(tests)} tests passed")


if __name__ == "__main__":
    main()
