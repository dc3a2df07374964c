"""Programs of others, damaged ones too, and exports of random computations, for fuzz_abi.py."""

import ctypes
import json
import math
import os
import shutil
import struct
import tempfile
from ctypes import POINTER, byref, c_char_p, c_int64, c_size_t, c_void_p
from pathlib import Path

import ctypes_test as abi
from ctypes_test import Computation, Mesh, Tensor
from fuzz_computations import Function
from fuzz_kernels import BROKEN, NOT_UTF8, OK, SIZE_OF
from header import constants, family, types

DATA = Path(__file__).resolve().parents[1] / "programs/data"
SUFFIXES = (".jax", ".mlirbc", ".mlir", ".bytecode")
NAME_OF = {number: name for name, number in family("DTYPE").items()}
DTYPE_OF = family("DTYPE")
CODES = {"f32": "f", "f64": "d", "c64": "f", "c128": "d"}
NEAR = {"f": 1e-4, "d": 1e-10}
FOLDER, TEXT, JAX = constants.EXPORT_FOLDER, constants.EXPORT_TEXT, constants.EXPORT_JAX
MOST_ELEMENTS = 5000
MOST_SAMPLES = 60
# Pieces of text that programs are damaged with.
PIECES = [
    b"tensor<?xf32>",
    b"-1",
    b"9223372036854775807",
    b"dense<",
    b"{",
    b"}",
    b"stablehlo.add",
    b"%arg0",
    b"i1",
    b"0x",
]


def damaged(chosen, samples, pieces):
    """Returns a program with some changes."""
    data = bytearray(chosen.choice(samples))
    for _ in range(chosen.choice((1, 1, 2, 4, 16))):
        at = chosen.randrange(len(data) + 1)
        length = min(chosen.choice((1, 1, 2, 8, 64)), len(data) - at)
        kind = chosen.randrange(6)
        if kind == 0 and length:
            data[at] ^= 1 << chosen.randrange(8)
        elif kind == 1 and length:
            data[at] = chosen.choice((0, 1, 0x7F, 0x80, 0xFF, ord("<"), ord("("), ord("9")))
        elif kind == 2:
            del data[at : at + length]
        elif kind == 3:
            data[at:at] = data[at : at + length] * chosen.choice((1, 2, 50))
        elif kind == 4:
            data[at : at + length] = chosen.choice(pieces)
        else:
            other = chosen.choice(samples)
            start = chosen.randrange(len(other))
            data[at : at + length] = other[start : start + length]
    return bytes(data)


def sample_paths():
    return [path for path in sorted(DATA.rglob("*")) if path.suffix in SUFFIXES]


def values_of(tensor, dtype, dims):
    """Returns the bytes of a tensor."""
    data = ctypes.create_string_buffer(max(math.prod(dims) * SIZE_OF[dtype], 1))
    abi.ok(abi.lib.lxla_tensor_read(tensor, data, math.prod(dims) * SIZE_OF[dtype]))
    return data.raw[: math.prod(dims) * SIZE_OF[dtype]]


def differ(dtype, got, want):
    """Whether bytes are other values; floats may be rounded differently."""
    name = NAME_OF[dtype]
    if name[0] not in "fbc":
        return got != want
    code = CODES.get(name)
    if code is None:
        return False
    got, want = (struct.unpack(f"<{len(x) // struct.calcsize(code)}{code}", x) for x in (got, want))
    size = max((abs(x) for x in want if math.isfinite(x)), default=0)
    same = lambda a, b: a == b or math.isnan(a) and math.isnan(b) or abs(a - b) <= NEAR[code] * (1 + size)
    return not all(map(same, got, want))


class Programs:
    """The part of a Fuzzer that imports and exports programs."""

    def start_programs(self):
        self.kept_folder = tempfile.TemporaryDirectory(prefix="lxla_fuzz_")
        self.folder = Path(self.kept_folder.name)
        self.samples = [path.read_bytes() for path in sample_paths()]
        (self.folder / "taken").write_bytes(b"some bytes")
        (self.folder / "others").mkdir()
        (self.folder / "others/file").write_bytes(b"of someone else")

    def listing(self):
        """Returns all files of the folder with their content."""
        return {str(path): path.read_bytes() if path.is_file() else None for path in sorted(self.folder.rglob("*"))}

    def program(self):
        """Returns a program, and whether it is whole."""
        r = self.rng
        kind = r.random()
        if kind < 0.4:
            return r.choice(self.samples), True
        if kind < 0.45:
            return r.choice([b"", b"\0" * 40, b"ML\xefR", r.randbytes(r.randint(1, 300)), b"module {}"]), False
        if kind < 0.55:
            data = r.choice(self.samples)
            return data[: r.randrange(len(data))], False
        return damaged(r, self.samples, PIECES), False

    def path_of(self, data):
        """Returns a path to read: of a file with these bytes, or another one."""
        r = self.rng
        if r.random() < 0.2:
            other = [
                b"",
                b".",
                b"/",
                b"/dev/null",
                b"/missing/file",
                NOT_UTF8,
                None,
                b"n" * 5000,
                self.folder / "others",
            ]
            path = r.choice([*other, *DATA.glob("torch_*[!z]")])
            return os.fsencode(path) if isinstance(path, Path) else path
        path = self.folder / "program"
        path.write_bytes(data)
        return os.fsencode(path)

    def import_options(self, shapes):
        """Returns options, which have the shapes of the parameters, or are wrong."""
        r = self.rng
        if shapes is None and r.random() < 0.7:
            return None
        made = types.lxla_import_options(struct_size=ctypes.sizeof(types.lxla_import_options))
        if r.random() < 0.05:
            made.struct_size = r.choice([0, 1, 8, 16, 40, 4096, 2**64 - 1])
            return made
        made.function = r.choice([None] * 8 + [b"main", b"forward", b"", NOT_UTF8, b"n" * 3000])
        made.mesh = Mesh(r.choice([0] * 12 + [1, 2**64 - 1]))
        if shapes is not None or r.random() < 0.3:
            shapes = [tuple(max(n, 0) or r.randint(0, 4) if n < 0 else n for n in dims) for dims in shapes or []]
            ranks = [len(dims) for dims in shapes]
            sizes = [n for dims in shapes for n in dims]
            if r.random() < 0.4:
                ranks = [r.choice([0, 1, 2, 64, 65, 2**63, 2**64 - 1]) for _ in range(r.randint(1, 4))]
                sizes = [r.choice([0, 1, 2, 3, -1, 2**40, 2**63 - 1]) for _ in range(300)]
            made.n_parameters = len(ranks)
            lists = (c_size_t * max(len(ranks), 1))(*ranks), (c_int64 * max(len(sizes), 1))(*sizes)
            self.alive += lists
            if r.random() < 0.95:
                made.ranks, made.dims = (ctypes.cast(x, POINTER(x._type_)) for x in lists)
        return made

    def describe_program(self, data, path):
        """Returns the description of a program, and the error found."""
        out = c_void_p()
        name = "lxla_module_describe" + ("_file" if path is not None else "")
        given = [path] if path is not None else [data, len(data)]
        status = getattr(abi.lib, name)(*given, byref(out))
        wrong = self.expected(name, status, *self.refusals(status))
        if wrong or status != OK:
            return None, wrong or (out.value and f"{name} wrote an output and failed") or None
        text = ctypes.string_at(out).decode()
        abi.lib.lxla_string_free(out)
        try:
            made = json.loads(text)
        except ValueError as failure:
            return None, f"{name}: {failure}: {text[:500]}"
        wanted = {"producer", "stablehlo_version", "functions", "meshes", "operations", "unsupported"}
        return made, None if wanted <= made.keys() else f"{name}: {sorted(made)}"

    def refusals(self, status):
        return {status} - set(BROKEN)

    def read_program(self):
        """Describes and imports a program; calls the computation, if the program is whole."""
        r, lib = self.rng, abi.lib
        self.alive = []
        data, whole = self.program()
        path = self.path_of(data) if r.random() < 0.3 else None
        whole = whole and (path is None or path.endswith(b"/program"))
        if r.random() < 0.02:
            status = lib.lxla_module_describe(None, r.choice([0, 1, 2**63, 2**64 - 1]), byref(c_void_p()))
            return self.expected("lxla_module_describe", status, constants.NULL_ARGUMENT, constants.INVALID_ARGUMENT)
        described, wrong = self.describe_program(data, path)
        if wrong:
            return self.keep(wrong, data)
        functions = described["functions"] if described else []
        main = [f for f in functions if f["name"] == "main"] or functions
        shapes = [p.get("dims", []) for p in main[0]["parameters"]] if main and r.random() < 0.7 else None
        options = self.import_options(shapes)
        given = [path] if path is not None else [data, len(data)]
        name = "lxla_computation_import" + ("_file" if path is not None else "")
        handle, env = Computation(77), self.env if r.random() < 0.98 else abi.Env(r.choice([0, 5]))
        status = getattr(lib, name)(env, *given, options and byref(options), byref(handle))
        wrong = self.expected(name, status, *self.refusals(status))
        if wrong or status != OK:
            return self.keep(wrong or (handle.id != 77 and f"{name} wrote an output and failed"), data)
        self.imported += 1
        # Operands of a call are in self.env; those of another environment are refused.
        whole = whole and env is self.env
        return self.keep(self.use(handle, f"{name} of a program", whole), data)

    def keep(self, wrong, data):
        """Keeps the program of an error in a file of the current folder."""
        if not wrong:
            return None
        Path("fuzz_failure.bin").write_bytes(data)
        return f"{wrong} (fuzz_failure.bin has the program)"

    def use(self, handle, what, whole):
        """Describes an imported computation, and calls it."""
        f, wrong = self.described(handle)
        if wrong:
            return f"{what}: {wrong}"
        small = all(math.prod(dims) < MOST_ELEMENTS for _, dims in f.parameters + f.outputs)
        if not whole or not small or not f.results:
            return self.drop(handle)
        f.name = what
        results, wrong = self.called(f)
        self.record_results(what, results)
        self.functions.append(f)
        return wrong

    def described(self, handle):
        """Returns a computation with its types, by its description, and the error found."""
        counts = [c_size_t() for _ in range(3)]
        abi.ok(abi.lib.lxla_computation_info(handle, *map(byref, counts)))
        made = json.loads(abi.text(abi.lib.lxla_computation_describe, handle))
        self.done["lxla_computation_describe"] = self.done.get("lxla_computation_describe", 0) + 1
        number = family("DTYPE")
        lists = [
            [(number[x["dtype"]], tuple(x["dims"])) for x in made[key]] for key in ("parameters", "results", "captured")
        ]
        f = Function(handle, lists[0])
        f.outputs = lists[1]
        wrong = [len(x) for x in lists] != [count.value for count in counts] or lists[2] != self.captured(f)
        return f, f"lxla_computation_describe: {made}, and the counts are {counts}" if wrong else None

    # --- Exports ---

    def listed_names(self, n):
        """Returns a list of names, often distinct and as many, and its length."""
        r = self.rng
        if r.random() < 0.5:
            return None, r.choice([0, 0, 0, 0, n])
        names = [f"name {i} ü".encode() for i in range(n)]
        if r.random() < 0.3:
            names = [
                r.choice([b"", b"a", b'a"\\\n', NOT_UTF8, None, b"n" * 2000]) for _ in range(r.choice([n, n, n + 1]))
            ]
        listed = (c_char_p * max(len(names), 1))(*names)
        self.alive.append(listed)
        return ctypes.cast(listed, POINTER(c_char_p)), len(names)

    def export_options(self, f):
        r = self.rng
        made = types.lxla_export_options(struct_size=ctypes.sizeof(types.lxla_export_options))
        if r.random() < 0.03:
            made.struct_size = r.choice([0, 1, 8, 12, 4096, 2**64 - 1])
            return made
        made.format = r.choice([0, FOLDER, FOLDER, TEXT, TEXT, TEXT, JAX, JAX, JAX] * 3 + [4, -1, 2**31 - 1])
        made.vjp_order = r.choice([0] * 6 + [1, 1, 2, -1]) if made.format in (JAX, 4) or r.random() < 0.1 else 0
        versions = [b"1.5.0", b"0.9.0", b"0.8.0", b"1.20.0", b"1.21.0", b"99.0.0", b"1.5", b"1.5.0.0", b"", b"a.b.c"]
        versions += [b"4294967296.0.0", b"4294967295.4294967295.4294967295", b"-1.0.0", b" 1.5.0", NOT_UTF8]
        made.stablehlo_version = r.choice([None] * 10 + versions)
        if r.random() < 0.4:
            made.parameter_names, made.n_parameter_names = self.listed_names(len(f.parameters))
            made.result_names, made.n_result_names = self.listed_names(f.results)
        return made

    def export_path(self):
        r, folder = self.rng, os.fsencode(self.folder)
        if r.random() < 0.75:
            return folder + r.choice([b"/made", b"/made", b"/second.jax", "/ü n".encode(), b"/made/"])
        return r.choice(
            [folder + b"/taken", folder + b"/others", folder + b"/missing/made", folder + b"/taken/made", folder]
            + [folder + b"/..", folder + b"/.", folder + b"/" + b"n" * 300, folder + b"/" + NOT_UTF8, b"", b"/", None]
        )

    def export(self):
        """Exports a random computation, imports it again, and compares the results of both."""
        r, lib = self.rng, abi.lib
        self.alive = []
        f = self.function_of_call() if r.random() < 0.6 else r.choice(self.functions)
        if f is None:
            return None
        options, path = self.export_options(f) if r.random() < 0.9 else None, self.export_path()
        handle = f.handle if r.random() < 0.98 else Computation(r.choice([0, 2**60]))
        before = self.listing()
        status = lib.lxla_computation_export(handle, options and byref(options), path)
        name = "lxla_computation_export"
        wrong = self.expected(name, status, *self.refusals(status))
        if not wrong and status != OK and self.listing() != before:
            wrong = f"{name}: it failed ({lib.lxla_last_error_message().decode()}), and files changed"
        what = f"{name} of {getattr(f, 'name', 'a computation')}{f.parameters}"
        if not wrong and status == OK:
            changed = [key for key, held in before.items() if key not in self.listing()]
            wrong = self.exported(f, path, what) or (f"{changed} disappeared" if changed else None)
            self.clear(path)
        return f"{what}: {wrong}" if wrong else None

    def clear(self, path):
        """Removes some exports, so that others replace them."""
        path = Path(os.fsdecode(path))
        if path.is_file():
            if path.stat().st_size < 20000 and self.rng.random() < 0.2:
                self.samples.append(path.read_bytes())
            if len(self.samples) > MOST_SAMPLES:
                self.samples.pop(self.rng.randrange(20, MOST_SAMPLES))
        if self.rng.random() < 0.5 or path.is_file():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        if not (self.folder / "taken").exists():
            (self.folder / "taken").write_bytes(b"some bytes")

    def exported(self, f, path, what):
        """Imports an export, and compares its results with those of the computation."""
        _, wrong = self.describe_program(None, path)
        if wrong:
            return wrong
        handle = Computation()
        status = abi.lib.lxla_computation_import_file(self.env, path, None, byref(handle))
        if status != OK:
            return f"its import: {abi.lib.lxla_last_error_message().decode()}"
        g, wrong = self.described(handle)
        if wrong or g.parameters != f.parameters:
            return wrong or f"the parameters of its import are {g.parameters}"
        wrong = self.compared(f, g)
        self.drop(handle)
        return wrong

    def compare(self):
        """Compares a random computation on the device with its native evaluation: nothing may differ."""
        r, lib = self.rng, abi.lib
        f = self.function_of_call() if r.random() < 0.7 else r.choice(self.functions)
        if f is None:
            return None
        world = r.randint(0, 1)
        given = [self.example(*type)[world] for type in f.parameters]
        if r.random() < 0.05:
            given = given[1:] or [self.example(constants.DTYPE_S8, (7,))[world]]
        device = r.choice(self.worlds[:1] * 12 + [abi.Device(0, 0), self.worlds[1], abi.xla(99), abi.Device(77, 0)])
        tolerance = r.choice([0.0] * 9 + [1e6, 1e6, 1e-3, -1.0, math.nan, math.inf])
        handle = f.handle if r.random() < 0.98 else Computation(r.choice([0, 2**60]))
        arguments, text = (Tensor * max(len(given), 1))(*given), c_void_p()
        name, what = "lxla_computation_compare", f"{getattr(f, 'name', 'a computation')}{f.parameters}"
        status = lib.lxla_computation_compare(self.env, device, handle, arguments, len(given), tolerance, byref(text))
        if status != OK:
            wrong = self.expected(name, status, *(set(range(100)) - {OK, *BROKEN}))
            return f"{name} of {what}: {wrong}" if wrong else None
        self.done[name] = self.done.get(name, 0) + 1
        made = json.loads(ctypes.string_at(text).decode(), parse_constant=lambda word: 1 / 0)
        lib.lxla_string_free(text)
        if made["results"] is not None and len(made["results"]) != f.results:
            return f"{name} of {what}: {made}"
        is_wrong = made["found"] or made["accumulated"]
        return f"{name} of {what}: {made}" if is_wrong and tolerance in (0, 1e6) else None

    def execute(self):
        """Compiles a random computation, and runs it: it gives as many results as the computation, or is refused."""
        r, lib = self.rng, abi.lib
        f = self.function_of_call() if r.random() < 0.7 else r.choice(self.functions)
        if f is None:
            return None
        world = r.randint(0, 1)
        device = r.choice(6 * [self.worlds[world]] + [self.worlds[1 - world], abi.xla(99), abi.Device(77, 0)])
        donated = [r.choice([0, 1, 1, 2, 2**63]) for _ in range(r.choice((0, 0, 1, 2)))]
        options = types.lxla_executable_options(struct_size=ctypes.sizeof(types.lxla_executable_options))
        options.donated, options.n_donated = (c_size_t * max(len(donated), 1))(*donated), len(donated)
        made, name = types.lxla_executable(), "lxla_executable_compile"
        status = lib.lxla_executable_compile(f.handle, device, byref(options), byref(made))
        wrong = self.expected(name, status, *(set(range(100)) - set(BROKEN)))
        if wrong or status != OK:
            return wrong
        given = [Tensor() for _ in f.parameters]
        for each, type in zip(given, f.parameters):
            abi.ok(lib.lxla_tensor_snapshot(self.example(*type)[world], byref(each)))
        places, n = (Tensor * max(f.results, 1))(), r.choice(8 * [f.results] + [f.results + 1])
        status = lib.lxla_executable_run(made, (Tensor * max(len(given), 1))(*given), len(given), places, n)
        wrong = self.expected("lxla_executable_run", status, *(set(range(100)) - set(BROKEN)))
        for each in [*given, *(places[: f.results] if status == OK else [])]:
            abi.ok(lib.lxla_tensor_release(each))
        sizes, pointers = (c_size_t * 2)(4, 2**40), (c_void_p * 2)()
        status = lib.lxla_executable_run_host(made, pointers, sizes, r.randint(0, 2), pointers, sizes, r.randint(0, 2))
        wrong = wrong or self.expected("lxla_executable_run_host", status, *(set(range(100)) - set(BROKEN)))
        text = c_void_p()
        abi.ok(lib.lxla_executable_describe(made, byref(text)))
        described = json.loads(ctypes.string_at(text).decode())
        lib.lxla_string_free(text)
        wrong = wrong or self.stored(f, made, device, described)
        abi.ok(lib.lxla_executable_release(made))
        if len(described["results"]) != f.results:
            return f"lxla_executable_describe: {described}"
        return wrong

    def stored(self, f, executable, device, described):
        """Saves an executable, and loads the file, whole or damaged: it computes the same."""
        r, lib, path = self.rng, abi.lib, self.folder / "executable"
        name, loaded = "lxla_executable_save", types.lxla_executable()
        status = lib.lxla_executable_save(executable, str(path).encode())
        wrong = self.expected(name, status, *(set(range(100)) - set(BROKEN)))
        if wrong or status != OK:
            return wrong
        whole, data = r.random() < 0.7, bytearray(path.read_bytes())
        if not whole:
            data[r.randrange(len(data))] ^= 1 << r.randrange(8)
            path.write_bytes(bytes(data))
        name = "lxla_executable_load"
        status = lib.lxla_executable_load(self.env, device, str(path).encode(), byref(loaded))
        path.unlink()
        if (status == OK) != whole:
            return f"{name}: status {status}: {lib.lxla_last_error_message().decode()}"
        if status != OK:
            return None
        self.done[name] = self.done.get(name, 0) + 1
        made = [self.executed(f, each, described) for each in (executable, loaded)]
        abi.ok(lib.lxla_executable_release(loaded))
        if None in made:
            return None if made == [None, None] else f"{name}: only one of {f.name} and its file runs"
        results = zip(described["results"], *made)
        differing = [result for result, a, b in results if differ(DTYPE_OF[result["dtype"]], a, b)]
        return f"{name}: {f.name}{f.parameters} gives other values of {differing}" if differing else None

    def executed(self, f, executable, described):
        """Runs an executable, and returns the bytes of its results; None if it is refused."""
        world = described["device"] == "cpu"
        given = [Tensor() for _ in f.parameters]
        for each, type in zip(given, f.parameters):
            abi.ok(abi.lib.lxla_tensor_snapshot(self.example(*type)[world], byref(each)))
        places = (Tensor * max(f.results, 1))()
        status = abi.lib.lxla_executable_run(
            executable, (Tensor * max(len(given), 1))(*given), len(given), places, f.results
        )
        made = [(DTYPE_OF[result["dtype"]], result["dims"]) for result in described["results"]]
        values = [values_of(place, *type) for place, type in zip(places, made)] if status == OK else None
        for each in [*given, *(places[: f.results] if status == OK else [])]:
            abi.ok(abi.lib.lxla_tensor_release(each))
        return values

    def compared(self, f, g):
        """Calls two computations natively, and compares the results."""
        arguments = [self.example(*type)[1] for type in f.parameters]
        if any(math.prod(dims) > MOST_ELEMENTS for _, dims in g.outputs):
            return None
        made = []
        for each in (f, g):
            places = (Tensor * max(each.results, 1))()
            given = (Tensor * max(len(arguments), 1))(*arguments), len(arguments), places, each.results
            if abi.lib.lxla_computation_call(each.handle, *given) != OK:
                return f"its call: {abi.lib.lxla_last_error_message().decode()}"
            made.append([Tensor(t.id) for t in places[: each.results]])
        try:
            for i, (want, got) in enumerate(zip(*made)):
                if self.type_of(want) != self.type_of(got) or self.type_of(got) != g.outputs[i]:
                    return f"result {i} is {self.type_of(got)}, want {self.type_of(want)}"
                dtype, dims = self.type_of(want)
                held = [values_of(t, dtype, dims) for t in (got, want)]
                if differ(dtype, *held):
                    return f"result {i} of dtype {NAME_OF[dtype]} is {held[0].hex()}, want {held[1].hex()}"
        finally:
            abi.release(*made[0], *made[1])
        return None
