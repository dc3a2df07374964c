"""tools/abi.py accepts the API and additions to it, and nothing else: python abi_test.py SOURCE_TREE. Exit status 77
without abidiff."""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

WORD, NUMBER = ({"type": kind, "base": kind, "pointers": 0, "name": "more"} for kind in ("uint64_t", "int32_t"))


class Api(dict):
    """The description, and what tests change in it."""

    def named(self, kind, name):
        return next(each for each in self[kind] if each["name"] == name)

    def add_field(self, struct, at, field):
        fields = self.named("types", struct)["fields"]
        fields.insert(len(fields) + 1 + at if at < 0 else at, field)

    def change(self, kind, name, member, value):
        of = self.named(kind, name)
        members = of.get("fields") or of.get("parameters")
        next(each for each in members if each["name"] == member)["type"] = value

    def remove(self, kind, name):
        self[kind].remove(self.named(kind, name))


def further(api):
    api["functions"].append({"name": "lxla_further", "result": "int32_t", "parameters": []})


COMPATIBLE = {
    "nothing": lambda api: None,
    "a function is added": further,
    "a versioned struct grows at its end": lambda api: api.add_field("lxla_memory_stats", -1, WORD),
}
INCOMPATIBLE = {
    "a function is removed": lambda api: api.remove("functions", "lxla_tril"),
    "a parameter has another type": lambda api: api.change("functions", "lxla_tril", "k", "int32_t"),
    "a parameter is added": lambda api: api.named("functions", "lxla_tril")["parameters"].append(WORD),
    "a result has another type": lambda api: api.named("functions", "lxla_abi_version").update(result="uint64_t"),
    "a field is inserted": lambda api: api.add_field("lxla_memory_stats", 1, WORD),
    "a field is removed": lambda api: api.named("types", "lxla_memory_stats")["fields"].pop(),
    "a field has another type": lambda api: api.change("types", "lxla_dtype_limits", "smallest_normal", "float"),
    "a struct of a fixed size grows": lambda api: api.add_field("lxla_scalar", -1, WORD),
    "a field is added in the padding": lambda api: api.add_field("lxla_gather_options", -1, NUMBER),
    "a handle grows": lambda api: api.add_field("lxla_mesh", -1, WORD),
    "a callback has another parameter": lambda api: api.change("types", "lxla_log_fn", "level", "int64_t"),
    "another soname": lambda api: api.update(version="1.0.0"),
}


def main():
    tree = pathlib.Path(sys.argv[1]).resolve()
    if not shutil.which("abidiff"):
        print("abidiff was not found (Debian: abigail-tools)")
        return 77
    text = (tree / "include/lazyxla.json").read_text()
    for name, change in (COMPATIBLE | INCOMPATIBLE).items():
        api = Api(json.loads(text))
        change(api)
        with tempfile.TemporaryDirectory() as folder:
            changed = pathlib.Path(folder) / "lazyxla.json"
            changed.write_text(json.dumps(api))
            command = [sys.executable, tree / "tools/abi.py", "--description", changed]
            answer = subprocess.run(command, capture_output=True, text=True)
        said = answer.stdout + answer.stderr
        assert (answer.returncode == 0) == (name in COMPATIBLE), f"{name}: {said}"
        assert "compatible with c_tests/abi/lazyxla.abi" in said or "is in the padding" in said, f"{name}: {said}"
        assert "Traceback" not in said, said
        print(f"{name}: {'compatible' if name in COMPATIBLE else 'refused'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
