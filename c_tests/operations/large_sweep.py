"""Operations on tensors of thousands of elements with random options: python large_sweep.py /path/to/liblazyxla.so
[COUNT] [--seed=N] [--only=OPERATION]

XLA hands large operations to other code than small ones: it fuses them, splits them over threads and calls libraries.
Each program applies one operation of large_cases.py to operands that are moved before it, and computes with its result;
the value on `xla:0` is compared with that on `cpu`, which uses no XLA. Programs run in another process, so that one
that ends the process is reported, and there, where glibc has it, with an allocator that ends the process when memory
beyond a block was overwritten (MALLOC_CHECK_)."""

import os
import random
import subprocess
import sys
from ctypes import byref

sys.dont_write_bytecode = True  # leaves no caches beside the sources
sys.path.append(sys.path[0] + "/../abi")  # ctypes_test
import ctypes_test as abi
import numpy as np
from header import constants
from large_cases import CASES
from ops_cases import World, array_of, ints, release, scalar_of
from ops_values import DTYPES, NAMES, kind

CHOSEN_DTYPES = "f32 f32 f32 f32 f32 f32 f64 bf16 f16 s32 s64 s8 u8 u16 pred c64 c128".split()
# Relative to an element and to the root mean square of all.
TOLERANCES = {"f16": 0.03, "bf16": 0.2, "f32": 1e-4, "f64": 1e-10, "c64": 1e-4, "c128": 1e-10}
ALLOCATOR = "libc_malloc_debug.so.0"


class Program:
    """A random program: an operation, what is done before it, and with its result."""

    def __init__(self, seed, only=None):
        r, made = random.Random(seed), None
        while not made:
            self.name, self.dtype = only or r.choice(list(CASES)), r.choice(CHOSEN_DTYPES)
            made = CASES[self.name](r, self.dtype)
        self.operands, self.call, *self.described = made
        kinds = ["transposed", "reversed", "sliced", "padded", "joined", *["plain"] * 4]
        self.before = [r.choice(kinds) for _ in self.operands]
        self.edge = r.randint(1, 3)
        # The value of edges: the initial value of a reduction, or 0.
        scalars = [x for x in self.operands[1:2] if not x.ndim]
        self.edge_value = scalars[0][()] if scalars else self.operands[0].dtype.type(0)
        for i, x in enumerate(self.operands):
            if self.before[i] in ("padded", "joined") and self.has_edge(x):
                self.operands[i] = np.concatenate([np.full_like(x[: self.edge], self.edge_value), x[self.edge :]])
        self.after, self.draw = r.choice(["nothing", "nothing", "sum", "mirrored", "transposed", "tanh"]), r.random()

    def text(self):
        rows = zip(self.operands, self.before)
        given = ", ".join(f"{NAMES[x.dtype]}{list(x.shape)} {how}" for x, how in rows)
        return f"{self.name}({given}) {self.described}, then {self.after}"

    def value(self, world):
        """Returns the result on a device."""
        made = [self.moved(world, x, how) for x, how in zip(self.operands, self.before)]
        made.append(self.call(world, *made))
        made.append(self.finished(world, made[-1]))
        value = world.read(made[-1])
        for tensor in [*made, *(tensor for tensor, _ in world.known.values())]:
            release(tensor)
        world.known.clear()
        return value

    def moved(self, world, x, how):
        """Returns a tensor of the array, which the program itself puts into place."""
        axes = list(range(x.ndim))
        if how == "transposed":
            order = axes[1:] + axes[:1]
            return world.make("lxla_transpose", world.put(x.transpose(np.argsort(order))), ints(order), x.ndim)
        if how == "reversed":
            return world.make("lxla_reverse", world.put(np.flip(x)), ints(axes), x.ndim)
        if how == "sliced":
            starts = [1] * x.ndim
            lists = starts, [size + 1 for size in x.shape], starts
            return world.make("lxla_slice", world.put(np.pad(x, 1)), *map(ints, lists), x.ndim)
        if how in ("padded", "joined") and self.has_edge(x):
            return self.with_edge(world, world.put(x[self.edge :]), how)
        tensor = world.put(x)
        abi.ok(abi.lib.lxla_tensor_retain(tensor))
        return tensor

    def has_edge(self, x):
        """Returns whether the first rows of an operand may be equal elements that the program adds itself."""
        return x.ndim > 0 and x.shape[0] > self.edge and x.dtype == self.edge_value.dtype

    def with_edge(self, world, x, how):
        dtype, shape = world.type(x)
        value, none = byref(scalar_of(self.edge_value)), [0] * len(shape)
        if how == "padded":
            lists = [self.edge, *none[1:]], none, none
            return world.make("lxla_pad_with_scalar", x, value, *map(ints, lists), len(shape))
        place = world.env, world.device, DTYPES[NAMES[dtype]][0], *abi.dims(self.edge, *shape[1:])
        edge = world.make("lxla_tensor_full_with_scalar", *place, value)
        joined = world.make("lxla_concatenate", array_of([edge, x]), 2, 0)
        release(edge)
        return joined

    def finished(self, world, x):
        dtype, shape = world.type(x)
        axes = list(range(len(shape)))
        if self.after == "sum" and shape and NAMES[dtype] != "pred":
            axis = int(self.draw * len(shape))
            return world.make("lxla_reduce", constants.REDUCE_SUM, x, ints([axis]), 1, 0)
        if self.after == "mirrored" and NAMES[dtype] != "pred":
            mirrored = world.make("lxla_reverse", x, ints(axes), len(axes))
            both = world.make("lxla_binary", constants.BINARY_ADD, x, mirrored)
            release(mirrored)
            return both
        if self.after == "transposed":
            return world.make("lxla_transpose", x, ints(axes[::-1]), len(axes))
        if self.after == "tanh" and kind(NAMES[dtype]) == "float":
            return world.make("lxla_unary", constants.UNARY_TANH, x)
        abi.ok(abi.lib.lxla_tensor_retain(x))
        return x


def difference(found, wanted):
    """Returns what differs, as a text; None if nothing does."""
    if found.dtype != wanted.dtype or found.shape != wanted.shape:
        return f"{found.dtype}{found.shape}, want {wanted.dtype}{wanted.shape}"
    tolerance = TOLERANCES.get(NAMES[found.dtype])
    if tolerance is None:
        wrong = found != wanted
    else:
        wide = np.complex128 if found.dtype.kind == "c" else np.float64
        found, wanted = found.astype(wide), wanted.astype(wide)
        finite = np.isfinite(wanted)
        size = np.sqrt(np.mean(np.abs(wanted[finite]) ** 2)) if finite.any() else 0.0
        near = np.abs(found - wanted) <= tolerance * (np.abs(wanted) + size)
        wrong = ~(near | (found == wanted) | (np.isnan(found) & np.isnan(wanted)))
    if not wrong.any():
        return None
    at = tuple(int(i) for i in np.argwhere(wrong)[0])
    return f"{np.count_nonzero(wrong)} of {wrong.size} elements; at {at} {found[at]}, want {wanted[at]}"


def work(first, end, only):
    env = abi.new_env()
    for seed in range(first, end):
        print("start", seed, flush=True)
        program = Program(seed, only)
        with np.errstate(all="ignore"):
            made = [program.value(World(env, device, "")) for device in (abi.xla(), abi.cpu())]
            wrong = difference(*made)
        if wrong:
            print("wrong", seed, wrong, flush=True)


def checked():
    """Returns the environment of the process that runs the programs."""
    present = subprocess.run([sys.executable, "-c", f"import ctypes; ctypes.CDLL({ALLOCATOR!r})"], capture_output=True)
    return os.environ | ({} if present.returncode else {"LD_PRELOAD": ALLOCATOR, "MALLOC_CHECK_": "3"})


def main():
    options = dict(each[2:].partition("=")[::2] for each in sys.argv[1:] if each.startswith("--"))
    library, count, *_ = [each for each in sys.argv[1:] if not each.startswith("--")] + ["300"]
    first, only = int(options.get("seed", 1)), options.get("only")
    end = first + int(count)
    if "work" in options:
        abi.load(library)
        return work(first, end, only)
    at, failed, environment = first, 0, checked()
    while at < end:
        more = ["--work", *([f"--only={only}"] if only else [])]
        command = [sys.executable, __file__, library, str(end - at), f"--seed={at}", *more]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        lines = [line.split(" ", 2) for line in done.stdout.splitlines()]
        for seed, what in (line[1:] for line in lines if line[0] == "wrong" and len(line) == 3):
            failed += 1
            print(f"seed {seed}: {what}\n  {Program(int(seed), only).text()}", flush=True)
        if not done.returncode:
            break
        at = max([int(line[1]) for line in lines if line[0] == "start" and len(line) == 2], default=at)
        failed += 1
        print(
            f"seed {at} ended with {done.returncode}: {done.stderr[-1000:]}\n  {Program(at, only).text()}", flush=True
        )
        at += 1
    print(f"{count} programs, seeds from {first}, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
