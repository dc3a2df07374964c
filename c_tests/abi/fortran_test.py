"""The Fortran binding: python fortran_test.py /path/to/liblazyxla.so SOURCE_TREE [train_digits]. Its module compiles
without warnings; the programs of fortran/, of the README and the examples run; random programs have the bytes of the C API; the
training of the digits has the losses of the C example. Exit status 77 if there is no gfortran."""

import ctypes
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # leaves no caches beside the sources
import fortran_programs
import header
from header import types

PROGRAMS = 100
# gfortran before 13 warns of arrays that an assignment allocates.
STRICT = ["-std=f2018", "-Wall", "-Werror", "-Wno-maybe-uninitialized", "-Wno-uninitialized"]


def run(*command, status=0, **options):
    answer = subprocess.run([*map(str, command)], capture_output=True, text=True, **options)
    assert answer.returncode == status, f"{' '.join(map(str, command))}\n{answer.stdout}{answer.stderr}"
    return answer.stderr if status else answer.stdout


class Fortran:
    """Compiles programs in a folder that has the module."""

    def __init__(self, library, tree, folder):
        self.tree, self.folder, self.library = tree, folder, library
        for name in ("liblazyxla.so", "liblazyxla.so.0"):
            (folder / name).symlink_to(library)
        run(sys.executable, tree / "tools/bindings/fortran.py", folder / "lazyxla.f90")
        run("gfortran", *STRICT, "-c", "lazyxla.f90", cwd=folder)
        # The default plugin of the source tree, as for the C examples, unless the suite runs on another one.
        plugin = tree / "build/plugins/fastatomstruct_xla_cpu/libpjrt_cpu.so"
        self.environment = {"LXLA_PJRT_PLUGIN": str(plugin), **os.environ}

    def compiled(self, *sources, options=()):
        program = self.folder / sources[-1].stem
        link = ["lazyxla.o", f"-L{self.folder}", "-llazyxla", f"-Wl,-rpath,{self.folder}", "-o", program]
        run("gfortran", *STRICT, *options, *sources, *link, cwd=self.folder)
        return program

    def run(self, program, *arguments, status=0):
        return run(program, *arguments, status=status, env=self.environment, cwd=self.folder)


def check_layouts(fortran):
    """Structs have the size of C, and options that nothing was assigned to are what C initializes."""
    lib = header.load(fortran.library)
    described = [each for each in header.DESCRIPTION["types"] if each["kind"] in ("struct", "union")]
    names = [each["name"] for each in described]
    lines = [f"  type({name}) :: x_{name}" for name in names]
    lines += [f"  print '(i0)', c_sizeof(x_{name})" for name in names]
    source = fortran.folder / "layouts.f90"
    source.write_text("\n".join(["program layouts", "  use lazyxla_c", "  implicit none", *lines, "end program", ""]))
    sizes = list(map(int, fortran.run(fortran.compiled(source)).split()))
    assert sizes == [ctypes.sizeof(getattr(types, name)) for name in names], list(zip(names, sizes))
    for name in names:
        if f"{name}_init" in header.functions:
            size = ctypes.sizeof(getattr(types, name))
            options = getattr(types, name)(size)
            assert getattr(lib, f"{name}_init")(ctypes.byref(options)) == 0
            zeros = getattr(types, name)(size)
            # Bytes between fields differ: compares fields.
            for field, _ in options._fields_:
                same = ctypes.string_at(ctypes.byref(options, getattr(types, name).__dict__[field].offset), 4)
                zero = ctypes.string_at(ctypes.byref(zeros, getattr(types, name).__dict__[field].offset), 4)
                assert same == zero, f"{name}.{field} has a default that is not 0"


def check_names(fortran):
    """Every function of the API has an interface, and every one with a status a procedure, unless it is about handles."""
    text = (fortran.folder / "lazyxla.f90").read_text()
    interfaces = set(re.findall(r'name="(lxla_\w+)"', text))
    assert interfaces == set(header.functions), interfaces ^ set(header.functions)
    procedures = set(re.findall(r"^  (?:function|subroutine) lx_(\w+)\(", text, re.MULTILINE))
    own = ("_options_init", "_retain", "_release", "_release_many")
    wanted = {name for name, of in header.functions.items() if of.result in ("lxla_status", "const char *")}
    missing = {name for name in wanted if not name.endswith(own) and name.removeprefix("lxla_") not in procedures}
    assert not missing, missing
    long = [line for line in text.split("\n") if len(line) > 132]
    assert not long, long


def check_random_programs(fortran):
    text = fortran_programs.text(PROGRAMS)
    (fortran.folder / "programs.txt").write_text(text)
    fortran.run(fortran.compiled(fortran.tree / "c_tests/abi/fortran/programs.f90"), "programs.txt", "programs.bin")
    wanted, names = fortran_programs.run(header.load(fortran.library), text)
    given, at = (fortran.folder / "programs.bin").read_bytes(), 0
    sizes = [len(each) for each in wanted]
    assert len(given) == sum(sizes), f"{len(given)} bytes of results; want {sum(sizes)}"
    for each, name in zip(wanted, names):
        assert given[at : at + len(each)] == each, f"{name}: the bytes differ from the results of C"
        at += len(each)
    assert min(sizes) == 0 and max(sizes) > 4 * 32768, "sizes are missing"
    print(f"{PROGRAMS} random programs: {len(wanted)} results of {sum(sizes)} bytes equal the results of C")


def losses(curve):
    return [float(line.split()[1]) for line in curve.read_text().splitlines() if line.startswith("loss")]


def check_training(fortran, images, train_digits):
    examples, data = fortran.tree / "examples/bindings/fortran", fortran.tree / "examples/data/digits.csv"
    program = fortran.compiled(images, examples / "digits.f90")
    answer = fortran.run(program, data, 4, "fortran.txt")
    print(answer.splitlines()[-1] if answer else "")
    given = losses(fortran.folder / "fortran.txt")
    assert len(given) == 44 and re.search(r"programs compiled [1-4],", answer), answer
    if train_digits:
        subprocess.run(
            [train_digits, data, "4", "c.txt"], env=fortran.environment, cwd=fortran.folder, capture_output=True
        )
        wanted = losses(fortran.folder / "c.txt")
        assert len(wanted) == 44
        difference = max(abs(x - y) / y for x, y in zip(given, wanted))
        assert difference < 1e-4, f"the losses differ from the losses of C by {difference}"
        print(f"{len(given)} losses of the digits equal the losses of C to {difference:.1e}")


def check_examples(fortran, train_digits):
    examples = fortran.tree / "examples/bindings/fortran"
    images = examples / "images.f90"
    assert fortran.run(fortran.compiled(examples / "first.f90")).startswith("198. 198. 198."), "first.f90"
    check_training(fortran, images, train_digits)
    model, data = fortran.tree / "examples/models/digits.jax", fortran.tree / "examples/data/digits.csv"
    answer = fortran.run(fortran.compiled(images, examples / "tune.f90"), model, data)
    assert "import     0.9861" in answer and re.search("programs compiled [1-5]\n", answer), answer
    answer = fortran.run(fortran.compiled(examples / "threads.f90", options=["-fopenmp"]))
    assert "slopes    1.000  2.000  3.000  4.000" in answer, answer
    answer = fortran.run(fortran.compiled(examples / "blocks.f90", options=["-fopenmp"]), model)
    assert "programs compiled 1\nINVALID_ARGUMENT: lxla_executable_run_host: " in answer, answer
    errors = fortran.compiled(examples / "errors.f90")
    message = "INVALID_ARGUMENT: lxla_binary: lhs is f32[3] and rhs is f32[2]"
    answer = fortran.run(errors)
    assert f"3 {message}" in answer and "start without one" in answer, answer
    answer = fortran.run(errors, "stop", status=1)
    assert f"ERROR STOP {message}" in answer, answer


def check_readme(fortran):
    """The programs of the README print what it says; its other code is in the examples."""
    folders = ("examples/bindings/fortran", "c_tests/abi/fortran")
    examples = "".join(path.read_text() for folder in folders for path in (fortran.tree / folder).glob("*.f90"))
    text, programs = (fortran.tree / "bindings/fortran/README.md").read_text(), 0
    for code, after in re.findall(r"```fortran\n(.*?)```\n(.*?)(?=\n#|```|\Z)", text, re.DOTALL):
        if "end program" not in code:
            assert code in examples, f"no example has this code of the README:\n{code}"
            continue
        programs += 1
        source = fortran.folder / f"readme_{programs}.f90"
        source.write_text(code)
        answer = run(fortran.compiled(source), env=fortran.environment, cwd=fortran.tree).split()
        blocks = [block.split() for block in after.split("\n\n")]
        assert answer in blocks, f"{code}prints {answer}"
    assert programs >= 4, "the README has no programs"


def main():
    library, tree = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    if not shutil.which("gfortran"):
        print("gfortran was not found")
        return 77
    for script in (tree / "tools/bindings").glob("fortran*.py"):
        assert len(script.read_text().splitlines()) <= 300, f"{script} is long"
    with tempfile.TemporaryDirectory() as name:
        fortran = Fortran(library, tree, pathlib.Path(name))
        os.environ["LXLA_PJRT_PLUGIN"] = fortran.environment["LXLA_PJRT_PLUGIN"]
        check_names(fortran)
        check_layouts(fortran)
        checks = fortran.compiled(tree / "c_tests/abi/fortran/checks.f90")
        for device in ("xla", "cpu"):
            assert "checks passed" in fortran.run(checks, device)
        answer = fortran.run(fortran.compiled(tree / "c_tests/abi/fortran/callbacks.f90"))
        assert "callbacks passed" in answer, answer
        check_readme(fortran)
        print(fortran.run(fortran.compiled(tree / "c_tests/abi/fortran/loop.f90"), 2400).splitlines()[-1])
        check_examples(fortran, sys.argv[3] if len(sys.argv) > 3 else None)
        check_random_programs(fortran)
    return 0


if __name__ == "__main__":
    sys.exit(main())
