"""Random programs for the Go binding: lists of calls as JSON, which this module runs by ctypes, and
bindings/go/internal/programs by the binding. Results have to be equal bit for bit.

A call has a name of C and its arguments, without lengths and outputs. An argument that is a tensor is its number among
the values so far. Arguments are chosen by the shapes that the library infers; calls that it refuses are left out."""

import base64
import ctypes
import hashlib
import random
import struct
import sys
from ctypes import byref
from pathlib import Path

sys.dont_write_bytecode = True  # leaves no caches beside the sources
sys.path.append(str(Path(__file__).resolve().parents[2] / "tools/bindings"))
import calls
from header import constants, family, load, types

CALLS = {each.function["name"]: each for each in calls.calls(calls.described())}
NAMES = {n: name for name, n in family("DTYPE").items()}
FLOATS = ("f32", "f64", "f16", "bf16")
MOST_ELEMENTS = 200_000


class Program:
    """A program, and its values in this process."""

    def __init__(self, lib, seed):
        self.lib, self.random, self.calls, self.values = lib, random.Random(seed), [], []
        kind = constants.DEVICE_XLA if seed % 2 else constants.DEVICE_CPU
        self.device = types.lxla_device(kind, 0)

    # --- Running ---

    def info(self, number):
        dtype, rank, dims = ctypes.c_int32(), ctypes.c_size_t(), (ctypes.c_int64 * 64)()
        self.ok(self.lib.lxla_tensor_info(self.values[number], byref(dtype), byref(rank), dims, 64))
        return NAMES[dtype.value], list(dims[: rank.value])

    def ok(self, status):
        assert status == 0, self.lib.lxla_last_error_message().decode()

    def argument(self, of, given):
        """Returns an argument for C, of what JSON has."""
        base, role = of["base"], of["role"]
        if role == "bytes":
            return base64.b64decode(given)
        if role == "list":
            if given is None:
                return None
            kind = {"int64_t": ctypes.c_int64, "lxla_tensor": types.lxla_tensor}[base]
            elements = [self.values[each] for each in given] if base == "lxla_tensor" else given
            return (kind * max(len(given), 1))(*elements)
        if base == "lxla_tensor":
            return self.values[given] if given >= 0 else types.lxla_tensor()
        if base == "lxla_device":
            return types.lxla_device(given["Kind"], given["Ordinal"])
        if base == "lxla_env":
            return types.lxla_env()
        return given.encode() if role == "string" else given

    def call(self, name, *given):
        """Makes a call, and adds it to the program unless the library refuses it. Returns whether it did not."""
        call = CALLS[f"lxla_{name}"]
        free = [n for n, lists in call.lengths.items() if name == "split" and n == "n"]
        names = [each["name"] for each in call.function["parameters"]]
        inputs = [n for n in names if n in free or n in {each["name"] for each in call.inputs}]
        assert len(inputs) == len(given), (name, inputs, given)
        of = {each["name"]: each for each in call.function["parameters"]}
        arguments = {n: self.argument(of[n], each) for n, each in zip(inputs, given)}
        sizes = dict(zip(inputs, given))
        for n, lists in call.lengths.items():
            if n not in free:
                every = [each["name"] for each in lists if arguments[each["name"]] is not None]
                is_bytes = every and isinstance(arguments[every[0]], bytes)
                arguments[n] = len((arguments if is_bytes else sizes)[every[0]]) if every else 0
        outputs = []
        for each in call.outputs:
            n = arguments[each["length"]["of"]] if each["role"] == "output_list" else 1
            outputs.append((types.lxla_tensor * n)())
            arguments[each["name"]] = outputs[-1]
        # A cast does not keep the bytes alive; `arguments` does.
        data = {n: ctypes.cast(each, ctypes.c_void_p) for n, each in arguments.items() if of[n]["role"] == "bytes"}
        if self.lib[call.function["name"]](*({**arguments, **data}[n] for n in names)) != 0:
            return False
        self.values += [each for output in outputs for each in output]
        go = [bool(each) if of[n].get("flag") else each for n, each in zip(inputs, given)]
        self.calls.append({"Name": name, "Args": go})
        return True

    def digests(self):
        """Computes all values, and returns dtype, shape and a hash of each, as the program in Go. Releases them."""
        every = (types.lxla_tensor * len(self.values))(*self.values)
        self.ok(self.lib.lxla_sync(every, len(every)))
        made = []
        for number, value in enumerate(self.values):
            dtype, dims = self.info(number)
            size = ctypes.c_size_t()
            self.ok(self.lib.lxla_dtype_size(family("DTYPE")[dtype], byref(size)))
            n = size.value
            for each in dims:
                n *= each
            data = ctypes.create_string_buffer(max(n, 1))
            self.ok(self.lib.lxla_tensor_read(value, data, n))
            shape = " ".join(map(str, dims))
            made.append(f"{dtype}[{shape}] {hashlib.sha256(data.raw[:n]).hexdigest()[:16]}")
        self.ok(self.lib.lxla_tensor_release_many(every, len(every)))
        return made

    def json(self):
        return {"Calls": self.calls}

    # --- Choosing ---

    def data(self, dtype, n):
        """Returns the bytes of n elements; among floats are NaN, infinities, zeros."""
        choose = self.random
        if dtype == "pred":
            return bytes(choose.randrange(2) for _ in range(n))
        if dtype in ("f32", "f64", "c64"):
            count, code = (2 * n, "f") if dtype == "c64" else (n, "f" if dtype == "f32" else "d")
            special = [float("nan"), float("inf"), float("-inf"), 0.0, -0.0, 1e30, 1e-42]
            odd = 0.02 if n > 100 else 0.2
            values = [choose.choice(special) if choose.random() < odd else choose.gauss(0, 3) for _ in range(count)]
            return struct.pack(f"<{count}{code}", *values)
        width = {"s8": 1, "u8": 1, "f16": 2, "bf16": 2, "s32": 4, "u32": 4, "s64": 8}[dtype]
        if dtype in ("s32", "s64") and choose.random() < 0.5:
            return b"".join(choose.randrange(-9, 9).to_bytes(width, "little", signed=True) for _ in range(n))
        return choose.randbytes(width * n)

    def shape(self, n):
        """Returns a shape of about n elements."""
        if n <= 1:
            return self.random.choice([[n], [n, 3], [3, n], [1, n], []][: 5 if n else 3])
        divisors = [each for each in (2, 3, 5, 8, 32, 100) if each < n]
        d = self.random.choice(divisors)
        return self.random.choice([[n], [n // d, d], [d, n // d], [2, n // (2 * d), d]])

    def input(self, n):
        dtype = self.random.choice(["f32", "f32", "f64", "s32", "u8", "s64", "f16", "bf16", "pred", "c64", "s8", "u32"])
        dims = self.shape(n)
        count = 1
        for each in dims:
            count *= each
        text = base64.b64encode(self.data(dtype, count)).decode()
        where = {"Kind": self.device.kind, "Ordinal": 0}
        assert self.call("tensor_from_host", None, where, family("DTYPE")[dtype], dims, text), dtype

    def one(self):
        """Makes a random call, if the library does not refuse it."""
        r = self.random
        x = r.randrange(len(self.values))
        y = r.randrange(len(self.values))
        dtype, dims = self.info(x)
        rank = len(dims)
        axis = r.randrange(rank) if rank else 0
        axes = r.choice([None, [], [axis], list(range(rank))])
        flag = r.random() < 0.5
        op = lambda prefix: r.choice(list(family(prefix).values()))
        s64, s32 = constants.DTYPE_S64, constants.DTYPE_S32
        starts = [r.randrange(each + 1) for each in dims]
        limits = [r.randrange(a, b + 1) for a, b in zip(starts, dims)]
        count = 1
        for each in dims:
            count *= each
        here = {"Kind": self.device.kind, "Ordinal": 0}
        choices = [
            ("unary", op("UNARY"), x),
            ("unary", op("UNARY"), x),
            ("binary", op("BINARY"), x, y),
            ("binary", op("BINARY"), x, y),
            ("binary_scalar", op("BINARY"), x, r.choice([0.5, -1, 2, 3])),
            ("binary_inplace", r.choice([constants.BINARY_ADD, constants.BINARY_MULTIPLY]), x, y),
            ("compare", op("COMPARE"), x, y),
            ("select", x, y, r.randrange(len(self.values))),
            ("convert", x, op("DTYPE")),
            ("reshape", x, r.choice([[count], [count, 1], [1, count]])),
            ("broadcast_to", x, [2, *dims]),
            ("transpose", x, r.sample(range(rank), rank)),
            ("flip", x, axes),
            ("roll", x, [r.randrange(-5, 6)], [axis]),
            ("expand_dims", x, [axis]),
            ("concatenate", [x, y, x], axis),
            ("stack", [x, y], axis),
            ("split", x, None, 2, axis),
            ("slice", x, starts, limits, r.choice([None, [2] * rank])),
            ("slice_axis", x, axis, 0, max(dims[axis] // 2, 1) if rank else 1, 1),
            ("tile", x, [2] * max(rank, 1)),
            ("reduce", op("REDUCE"), x, axes, flag),
            ("mean", x, axes, flag),
            ("variance", x, axes, 1.0, flag),
            ("logsumexp", x, axes, flag),
            ("argmax", x, axis, flag, s64),
            ("cumulative", op("REDUCE"), x, axis, flag),
            ("sort_along", x, axis, flag, True),
            ("argsort", x, axis, flag, True, s32),
            ("topk", x, min(3, dims[axis]) if rank else 0, axis, flag, s32),
            ("matmul", x, y),
            ("einsum", r.choice(["ij,ij->i", "ij,kj->ik", "i,i->", "ij->ji,"]), [x, y]),
            ("softmax", x, axis),
            ("activation", op("ACTIVATION"), x),
            ("layer_norm", x, [axis], -1, -1, 1e-5),
            ("norm", x, r.choice([1.0, 2.0, 3.0]), axes, flag),
            ("take", x, y, axis),
            ("tril", x, r.randrange(-2, 3)),
            ("special", op("SPECIAL"), x),
            ("iota", None, here, s32, dims or [3], 0),
            ("tensor_full", None, here, constants.DTYPE_F32, dims, r.choice([0.0, 1.5, -2.0])),
            ("tensor_snapshot", x),
        ]
        if 0 < count <= 2000:
            choices.append(("qr", x, False))
        self.call(*r.choice(choices))

    def is_large(self):
        """Returns whether the last value takes long."""
        count = 1
        for each in self.info(len(self.values) - 1)[1]:
            count *= each
        return count > MOST_ELEMENTS


def make(lib, seed):
    """Returns a program of 8 calls or more, and the digests of its values."""
    program = Program(lib, seed)
    choose = program.random
    n = [0, 1, choose.randrange(900, 1100), choose.randrange(32_769, 40_000)][seed // 2 % 4]
    for _ in range(2):
        program.input(n)
    while len(program.calls) < 10:
        program.one()
        if program.is_large():
            every = (types.lxla_tensor * len(program.values))(*program.values)
            program.ok(lib.lxla_tensor_release_many(every, len(every)))
            return make(lib, seed + 1_000_000)
    return program.json(), program.digests()


def programs(library, n):
    """Returns n programs and their digests."""
    lib = load(library)
    made = [make(lib, seed) for seed in range(n)]
    return [each for each, _ in made], [each for _, each in made]
