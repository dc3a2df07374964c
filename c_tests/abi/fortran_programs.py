"""Random programs as text, for fortran_test.py: `text` writes them, `run` runs them by the C API. The interpreter in
Fortran is fortran/programs.f90. Shapes are in Fortran's order: the dims of the tensor, reversed."""

import array
import ctypes
import math
import random
import struct
from ctypes import byref

import ctypes_test
import header
from ctypes_test import Tensor, cpu, dims, give, ok, xla
from header import constants, types

DTYPES = {
    "f32": constants.DTYPE_F32,
    "f64": constants.DTYPE_F64,
    "s32": constants.DTYPE_S32,
    "pred": constants.DTYPE_PRED,
}
CODES = {"f32": "f", "f64": "d", "s32": "i", "pred": "b"}
FLOATS = ("f32", "f64")
# No element, one, about a thousand, and more than 32,768, from which eager operations use threads.
SHAPES = [[0, 3], [3, 0], [1], [1, 1], [], [2, 3], [25, 40], [10, 10, 10], [1001], [200, 170], [40000], [33, 1000]]
ARITHMETIC = ("add", "subtract", "multiply", "divide", "maximum", "minimum")
UNARY = ("negate", "abs", "exponential", "tanh", "sqrt", "sine")


class Program:
    """A program that is being written: its lines, and dtype and shape of each value."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines, self.values = [f"device {'cpu' if seed % 3 == 0 else 'xla'}"], []
        self.shape = SHAPES[seed % len(SHAPES)]

    def add(self, line, dtype, shape):
        """Appends a line whose `@` is the number of a new value."""
        self.lines.append(line.replace("@", str(len(self.values))))
        self.values.append((dtype, list(shape)))

    def input(self, dtype, shape):
        sizes = "".join(f" {n}" for n in shape)
        has_nan = int(dtype in FLOATS and self.random.random() < 0.3)
        self.add(f"input @ {dtype} {len(shape)}{sizes} {self.random.randrange(2**31)} {has_nan}", dtype, shape)

    def pick(self, wanted=lambda dtype, shape: True):
        """Returns the number of a value with this property, or None."""
        fitting = [i for i, value in enumerate(self.values) if wanted(*value)]
        return self.random.choice(fitting) if fitting else None

    def operation(self):
        kind = self.random.choice(
            ("binary", "compare", "scalar", "unary", "reduce", "matmul", "shaped", "step", "copy")
        )
        a = self.pick(lambda dtype, shape: dtype != "pred" and len(shape) < 5)
        dtype, shape = self.values[a]
        same = self.pick(lambda *value: value == (dtype, shape))
        getattr(self, f"write_{kind}")(a, same, dtype, shape)

    def write_binary(self, a, same, dtype, shape):
        op = self.random.choice(ARITHMETIC + ("power",) * (dtype in FLOATS))
        self.add(f"binary @ {op} {a} {same}", dtype, shape)

    def write_compare(self, a, same, dtype, shape):
        self.add(f"binary @ {self.random.choice(('less', 'equal'))} {a} {same}", "pred", shape)
        self.add(f"merge @ {a} {same} {len(self.values) - 1}", dtype, shape)

    def write_scalar(self, a, same, dtype, shape):
        kind = self.random.choice(("i4", "i8") if dtype == "s32" else ("r4", "r8", "i4", "i8"))
        value = self.random.randrange(-9, 10) * (1 if kind[0] == "i" else 0.25)
        self.add(f"scalar @ {self.random.choice(('add', 'subtract', 'multiply'))} {a} {kind} {value}", dtype, shape)

    def write_unary(self, a, same, dtype, shape):
        if dtype in FLOATS:
            self.add(f"unary @ {self.random.choice(UNARY)} {a}", dtype, shape)
        else:
            wanted = self.random.choice(FLOATS)
            self.add(f"unary @ {wanted} {a}", wanted, shape)

    def write_reduce(self, a, same, dtype, shape):
        if not shape or self.random.random() < 0.2:
            self.add(f"reduce @ all {a} 0 0", dtype, [])
            return
        dim, keep = self.random.randrange(len(shape)), self.random.randrange(2)
        op = self.random.choice(("sum", "maxval", "mean") if dtype in FLOATS else ("sum", "maxval"))
        self.add(f"reduce @ {op} {a} {dim + 1} {keep}", dtype, shape[:dim] + [1] * keep + shape[dim + 1 :])

    def write_matmul(self, a, same, dtype, shape):
        if len(shape) != 2 or math.prod(shape) > 10000:
            return
        self.add(f"unary @ transpose {a}", dtype, shape[::-1])
        self.add(f"binary @ matmul {a} {len(self.values) - 1}", dtype, [shape[0], shape[0]])

    def write_shaped(self, a, same, dtype, shape):
        way = self.random.choice(("reshape", "concatenate", "split"))
        if way == "reshape":
            wanted = self.random.choice([[math.prod(shape)], [1, math.prod(shape)], shape[::-1]])
            self.add(f"reshape @ {a} {len(wanted)} {' '.join(map(str, wanted))}", dtype, wanted)
        elif shape and way == "concatenate" and math.prod(shape) < 50000:
            dim = self.random.randrange(len(shape))
            self.add(f"concatenate @ {a} {same} {dim + 1}", dtype, shape[:dim] + [2 * shape[dim]] + shape[dim + 1 :])
        elif shape:
            n = self.random.randrange(shape[0] + 1)
            self.add(f"split @ {a} {n}", dtype, [n, *shape[1:]])
            self.values.append((dtype, [shape[0] - n, *shape[1:]]))

    def write_step(self, *_):
        self.lines.append("step")

    def write_copy(self, a, same, dtype, shape):
        self.add(f"unary @ copy {a}", dtype, shape)

    def written(self):
        for dtype in ("f32", self.random.choice(("f32", "f64", "s32"))):
            self.input(dtype, self.shape)
        for _ in range(self.random.randrange(4, 12)):
            self.operation()
        chosen = sorted(
            set(self.random.sample(range(len(self.values)), min(3, len(self.values)))) | {len(self.values) - 1}
        )
        return [*self.lines, *(f"output {i}" for i in chosen), "end"]


def text(n):
    """Returns n programs."""
    return "".join(f"{line}\n" for seed in range(n) for line in Program(seed).written())


def numbers(dtype, n, state, has_nan):
    """Returns n numbers of a linear congruential generator, as bytes of a dtype."""
    made = array.array(CODES[dtype])
    for _ in range(n):
        state = (state * 1103515245 + 12345) % 2**31
        number = state // 256 - 2**22
        if dtype == "s32":
            made.append(int(math.fmod(number, 101)))
        elif dtype == "pred":
            made.append(number % 2 == 0)
        else:
            made.append(math.nan if has_nan and state % 97 == 0 else number / 2**20)
    return made.tobytes()


class Runner:
    """Runs programs by the C API."""

    def __init__(self, lib):
        self.lib, self.env, self.values, self.device, self.results = lib, types.lxla_env(), {}, xla(), []

    def one(self, name, *inputs):
        return give(getattr(self.lib, name), Tensor, *inputs)

    def sizes(self, tensor):
        out, rank = (ctypes.c_int64 * 64)(), ctypes.c_size_t()
        ok(self.lib.lxla_tensor_info(tensor, None, byref(rank), out, 64))
        return list(out[: rank.value])

    def input(self, at, dtype, rank, *rest):
        shape, (state, has_nan) = list(map(int, rest[: int(rank)])), map(int, rest[int(rank) :])
        data = numbers(dtype, math.prod(shape), state, has_nan)
        sizes, rank = dims(*shape[::-1])
        given = (self.env, self.device, DTYPES[dtype], sizes, rank, data, len(data))
        self.values[int(at)] = self.one("lxla_tensor_from_host", *given)

    def binary(self, at, op, a, b):
        a, b = self.values[int(a)], self.values[int(b)]
        if op == "matmul":
            made = self.one("lxla_matmul", b, a)
        elif op in ("less", "equal"):
            made = self.one("lxla_compare", {"less": constants.COMPARE_LT, "equal": constants.COMPARE_EQ}[op], a, b)
        else:
            made = self.one("lxla_binary", header.family("BINARY")[op], a, b)
        self.values[int(at)] = made

    def scalar(self, at, op, a, kind, value):
        dtype = {"r4": "F32", "r8": "F64", "i4": "S32", "i8": "S64"}[kind]
        scalar = types.lxla_scalar(getattr(constants, f"DTYPE_{dtype}"))
        setattr(scalar.value, "f" if kind[0] == "r" else "i", float(value) if kind[0] == "r" else int(value))
        given = (header.family("BINARY")[op], self.values[int(a)], byref(scalar), int(op != "add"))
        self.values[int(at)] = self.one("lxla_binary_with_scalar", *given)

    def unary(self, at, op, a):
        x = self.values[int(a)]
        if op == "copy":
            made = self.one("lxla_tensor_snapshot", x)
        elif op == "transpose":
            perm, rank = dims(*reversed(range(len(self.sizes(x)))))
            made = self.one("lxla_transpose", x, perm, rank)
        elif op in DTYPES:
            made = self.one("lxla_convert", x, DTYPES[op])
        else:
            made = self.one("lxla_unary", header.family("UNARY")[op], x)
        self.values[int(at)] = made

    def reduce(self, at, op, a, dim, keep):
        x, (axes, n), keep = self.values[int(a)], dims(-int(dim)), int(keep)
        if op == "mean":
            made = self.one("lxla_mean", x, axes, n, keep)
        elif op == "all":
            made = self.one("lxla_reduce", constants.REDUCE_SUM, x, None, 0, 0)
        else:
            code = {"sum": constants.REDUCE_SUM, "maxval": constants.REDUCE_MAX}[op]
            made = self.one("lxla_reduce", code, x, axes, n, keep)
        self.values[int(at)] = made

    def reshape(self, at, a, n, *shape):
        self.values[int(at)] = self.one("lxla_reshape", self.values[int(a)], *dims(*map(int, shape[::-1])))

    def concatenate(self, at, a, b, dim):
        both = (Tensor * 2)(self.values[int(a)], self.values[int(b)])
        self.values[int(at)] = self.one("lxla_concatenate", both, 2, -int(dim))

    def merge(self, at, a, b, mask):
        a, b, mask = (self.values[int(each)] for each in (a, b, mask))
        self.values[int(at)] = self.one("lxla_select", mask, a, b)

    def split(self, at, a, n):
        x, out = self.values[int(a)], (Tensor * 2)()
        sizes, parts = dims(int(n), self.sizes(x)[-1] - int(n))
        ok(self.lib.lxla_split(x, sizes, parts, -1, out))
        self.values |= {int(at): out[0], int(at) + 1: out[1]}

    def step(self):
        ok(self.lib.lxla_mark_step(self.env, self.device, 0))

    def output(self, a):
        x = self.values[int(a)]
        dtype = give(self.lib.lxla_tensor_dtype, ctypes.c_int32, x).value
        name = next(name for name, code in DTYPES.items() if code == dtype)
        data = ctypes.create_string_buffer(math.prod(self.sizes(x)) * struct.calcsize(CODES[name]) or 1)
        size = math.prod(self.sizes(x)) * struct.calcsize(CODES[name])
        ok(self.lib.lxla_tensor_read(x, data, size))
        self.results.append(data.raw[:size])

    def run(self, line):
        word, *arguments = line.split()
        if word == "device":
            self.device = cpu() if arguments == ["cpu"] else xla()
        elif word == "end":
            for each in self.values.values():
                ok(self.lib.lxla_tensor_release(each))
            self.values.clear()
        else:
            getattr(self, word)(*arguments)


def run(lib, programs):
    """Returns the bytes of all outputs, and what each one is."""
    ctypes_test.lib = lib
    runner, names, program = Runner(lib), [], -1
    for line in programs.splitlines():
        program += line.startswith("device")
        runner.run(line)
        names += [f"program {program}, {line}"] * line.startswith("output")
    return runner.results, names
