"""The generated bindings compile and run examples/bindings: python bindings_test.py /path/to/liblazyxla.so SOURCE_TREE
rust|luajit. Exit status 77 if the language's tool is missing."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

TOOLS = {"rust": "rustc", "luajit": "luajit"}


def run(*command, **options):
    answer = subprocess.run([*map(str, command)], capture_output=True, text=True, **options)
    assert answer.returncode == 0, f"{' '.join(map(str, command))}\n{answer.stdout}{answer.stderr}"
    return answer.stdout


def programs_of_rust(library, examples, folder):
    """Compiles the module and both programs; returns the commands that run them."""
    run("rustc", "--edition", "2024", "--crate-type", "rlib", "--crate-name", "lazyxla", "lazyxla.rs", cwd=folder)
    (folder / "liblazyxla.so").symlink_to(library)
    (folder / "liblazyxla.so.0").symlink_to(library)
    link = ["-L", folder, "-C", f"link-arg=-Wl,-rpath,{folder}", "--extern", f"lazyxla={folder / 'liblazyxla.rlib'}"]
    for name in ("first", "training"):
        run("rustc", "--edition", "2024", "-D", "warnings", examples / f"{name}.rs", *link, "-o", folder / name)
    return [[folder / name] for name in ("first", "training")], {}


def programs_of_luajit(library, examples, folder):
    commands = [["luajit", examples / f"{name}.lua", library] for name in ("first", "training")]
    return commands, {"LUA_PATH": f"{folder}/?.lua"}


def main():
    library, tree, language = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve(), sys.argv[3]
    if not shutil.which(TOOLS[language]):
        print(f"{TOOLS[language]} was not found")
        return 77
    generator = tree / f"tools/bindings/{language}.py"
    for script in generator.parent.glob("*.py"):
        assert len(script.read_text().splitlines()) <= 300, f"{script} is long"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        run(sys.executable, generator, folder / {"rust": "lazyxla.rs", "luajit": "lazyxla.lua"}[language])
        programs = {"rust": programs_of_rust, "luajit": programs_of_luajit}[language]
        commands, variables = programs(library, tree / "examples/bindings", folder)
        # The default plugin of the source tree, as for the C examples, unless the suite runs on another one.
        plugin = tree / "build/plugins/fastatomstruct_xla_cpu/libpjrt_cpu.so"
        environment = {"LXLA_PJRT_PLUGIN": str(plugin), **os.environ, **variables}
        first, training = [run(*command, env=environment) for command in commands]
    assert first == "198 198 198\n", first
    assert "weights 3.000 -2.000" in training, training
    print(f"{language}: {first}{language}: {training}", end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
