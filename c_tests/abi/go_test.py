"""The Go binding: python go_test.py /path/to/liblazyxla.so SOURCE_TREE [/path/to/train_digits]. Exit status 77 if Go or
pkg-config is missing. Nothing is downloaded.

Its generated files are current; it is formatted and vetted; its tests pass; its examples run, and train as the C
example does; 100 random programs give the bits that they give through ctypes."""

import json
import os
import contextlib
import hashlib
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # leaves no caches beside the sources
import go_programs

GENERATED = ("calls.go", "calls.h")
SCRIPTS = ("go.py", "go_types.py", "calls.py")
PROGRAMS, EPOCHS = 100, 12
# The random numbers of Go and of C may differ in the last place: as in digits_test.py.
LIMIT = 0.0005
PKG_CONFIG = """Name: lazyxla
Description: the library of this build
Version: 0.1.0
Cflags: -I{include}
Libs: -L{folder} -llazyxla -Wl,-rpath,{folder}
"""


def run(*command, **options):
    answer = subprocess.run([*map(str, command)], capture_output=True, text=True, **options)
    assert answer.returncode == 0, f"{' '.join(map(str, command))}\n{answer.stdout}{answer.stderr}"
    return answer.stdout


def missing():
    """Returns what the test needs and does not find, or None."""
    for tool in ("go", "gofmt", "pkg-config"):
        if not shutil.which(tool):
            return f"{tool} was not found"
    version = re.search(r"go1\.(\d+)", run("go", "version"))
    return f"Go 1.19 or later was not found, but {version[0]}" if version and int(version[1]) < 19 else None


def environment(library, tree):
    """Returns variables with which the go tool finds this library, and downloads nothing. Each library has a cache of its
    own: the go tool keeps compiled packages, and with them the folder in which it found the library."""
    cache = tree / "build/go-cache" / hashlib.sha256(str(library).encode()).hexdigest()[:16]
    folder = cache / "library"
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("liblazyxla.so", "liblazyxla.so.0"):
        with contextlib.suppress(FileExistsError):
            (folder / name).symlink_to(library)
    (folder / "lazyxla.pc").write_text(PKG_CONFIG.format(include=tree / "include", folder=folder))
    plugin = tree / "build/plugins/fastatomstruct_xla_cpu/libpjrt_cpu.so"
    offline = {"GOPROXY": "off", "GOFLAGS": "-mod=readonly", "GOTOOLCHAIN": "local", "GOWORK": "off"}
    given = {"LXLA_PJRT_PLUGIN": str(plugin), "GOCACHE": str(cache), **os.environ}
    return {**given, **offline, "PKG_CONFIG_PATH": str(folder)}


def check_generated(tree):
    for script in SCRIPTS:
        lines = (tree / "tools/bindings" / script).read_text().splitlines()
        assert len(lines) <= 300, f"{script} is long"
    run(sys.executable, tree / "tools/bindings/go.py", tree / "bindings/go", "--check")
    described = {each["name"] for each in go_programs.calls.described()["functions"]}
    called = set(re.findall(r"\blxla_\w+(?=\()", (tree / "bindings/go/calls.h").read_text() + sources(tree)))
    own = {name for name in described if name.endswith(("_retain", "_options_init", "_release_many"))}
    assert described - called - own == set(), described - called - own


def check_readme(tree):
    """Its first program is the example."""
    text = (tree / "bindings/go/README.md").read_text()
    code = text[text.index("```go\npackage main") + 6 :].split("```\n")[0]
    assert (tree / "bindings/go/examples/regression/main.go").read_text().split("\n", 1)[1] == code


def sources(tree):
    return "".join(each.read_text() for each in (tree / "bindings/go").glob("*.[gch]*") if each.name not in GENERATED)


def curve(path):
    lines = [line.split() for line in path.read_text().splitlines()]
    return [[float(value) for name, value in lines if name == key] for key in ("loss", "accuracy")]


def check_digits(digits, train_digits, tree, folder, variables):
    """Trains in Go and in C."""
    data = tree / "examples/data/digits.csv"
    told = run(digits, data, EPOCHS, folder / "go.txt", env=variables)
    assert "buffers donated 12 each step" in told, told
    assert int(re.search(r"programs compiled (\d+)", told)[1]) <= 3, told
    losses, accuracies = curve(folder / "go.txt")
    assert len(accuracies) == EPOCHS and accuracies[-1] > 0.96, accuracies
    if train_digits:
        run(train_digits, data, EPOCHS, folder / "c.txt", env=variables)
        wanted, wanted_accuracies = curve(folder / "c.txt")
        assert len(losses) == len(wanted)
        stray = max(abs(a - b) / (b + 0.01) for a, b in zip(losses, wanted))
        assert stray <= LIMIT and max(abs(a - b) for a, b in zip(accuracies, wanted_accuracies)) < 0.01, stray
        print(f"{len(losses)} losses differ from the losses of C by at most {stray:.2g}")


def check_programs(program, library, folder, variables):
    os.environ.setdefault("LXLA_PJRT_PLUGIN", variables["LXLA_PJRT_PLUGIN"])
    made, wanted = go_programs.programs(library, PROGRAMS)
    (folder / "programs.json").write_text(json.dumps(made))
    got = json.loads(run(program, folder / "programs.json", env=variables))
    assert len(got) == len(wanted) == PROGRAMS
    for each, ours, theirs in zip(made, got, wanted):
        assert ours == theirs, f"{[call['Name'] for call in each['Calls']]}\n{ours}\n{theirs}"
    names = {call["Name"] for each in made for call in each["Calls"]}
    print(f"{PROGRAMS} programs of {len(names)} functions have the bits of ctypes: {sum(map(len, got))} values")


def main():
    library, tree = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    train_digits = sys.argv[3] if len(sys.argv) > 3 else None
    if absent := missing():
        print(absent)
        return 77
    with tempfile.TemporaryDirectory() as name:
        folder, module = pathlib.Path(name), tree / "bindings/go"
        check_generated(tree)
        check_readme(tree)
        variables = environment(library, tree)
        go = lambda *command: run("go", *command, cwd=module, env=variables)
        assert run("gofmt", "-l", ".", cwd=module) == "", "bindings/go is not formatted: run gofmt -w"
        go("vet", "-tags", "lazyxla_test", "./...")
        (folder / "bin").mkdir()
        go("build", "-o", folder / "bin", "./...")
        built = lambda name, *arguments: run(folder / "bin" / name, *arguments, env=variables)
        assert built("first") == "[198 198 198]\n"
        assert built("regression").endswith("\n3.000 x + 1.000\n")
        built("saving", folder / "x.safetensors")  # ends while it saves
        assert (folder / "x.safetensors").stat().st_size > 40 << 20
        assert "ready: [2 4 6]" in built("threads")
        assert "shifts, axes: different lengths" in built("errors")
        told = built(
            "imported", tree / "examples/models/digits.jax", tree / "examples/data/digits.csv", folder / "tuned"
        )
        # The same as examples/import.c prints.
        assert re.search(r"import +0\.9861 on cpu", told) and re.search(r"shifted images +0\.2869\n", told), told
        assert (folder / "tuned/tuned.jax").stat().st_size > 0
        check_digits(folder / "bin/digits", train_digits, tree, folder, variables)
        check_programs(folder / "bin/programs", library, folder, variables)
        print(go("test", "-count=1", "-tags", "lazyxla_test", "."), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
