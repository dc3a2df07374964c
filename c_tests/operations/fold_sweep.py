"""Operations on large constants: python fold_sweep.py /path/to/liblazyxla.so [operation ...] [--times]

XLA evaluates operations on constants with an interpreter while it compiles. Each operation is recorded on `xla:0` with
constants of 2^20 elements: iotas, full arrays, broadcasts of a short iota, and concatenations, which XLA makes literals
of. In the text that is compiled, no operation for which the interpreter is slow may take a large constant without a
barrier. --times compiles them, too, and the same operations of a parameter: the constants may take SECONDS longer, in
the best of TRIES."""

import re
import sys
import time
from ctypes import byref

sys.dont_write_bytecode = True  # leaves no caches beside the sources
HERE = sys.path[0]
sys.path += [HERE + "/../abi"]  # ctypes_test
import ctypes_test as abi
import numpy as np
from header import constants
from ops_cases import World, array_of, release
from ops_values import DTYPES

ROWS = COLUMNS = 1024
SIZE = ROWS * COLUMNS
LARGE = 1 << 12
SECONDS, TRIES = 0.3, 3
SUM, PRODUCT, MAX, MIN = constants.REDUCE_SUM, constants.REDUCE_PRODUCT, constants.REDUCE_MAX, constants.REDUCE_MIN
ALL, ANY = constants.REDUCE_ALL, constants.REDUCE_ANY
S32 = DTYPES["s32"][0]

# Operations for which the interpreter takes a microsecond or more for an element of an operand, or of a product.
SLOW = "reduce reduce_window select_and_scatter sort dot_general convolution scatter gather call while if case".split()
# XLA inlines their computations, and then evaluates what it can; others if all of their operands are constants.
CALLS = "call while if case".split()
# Not constants, even if their operands are.
OPAQUE = "optimization_barrier custom_call while if case rng_bit_generator call".split()


def flat(world, x):
    return world.make("lxla_reshape", x, *abi.dims(SIZE))


def square(world, x):
    return world.make("lxla_reshape", x, *abi.dims(ROWS, COLUMNS))


def reduced(op, *axes):
    def record(world, x):
        x = square(world, x)
        return world.make("lxla_reduce", op, x, *abi.dims(*axes or (0, 1)), 0)

    return record


def norm(order):
    return lambda world, x: world.make("lxla_norm", x, order, *abi.dims(0), 0)


def product(world, x):
    return world.make("lxla_matmul", square(world, x), square(world, x))


def cumulative(op):
    return lambda world, x: world.make("lxla_cumulative", op, x, 0, 0)


def top(world, x):
    return world.one_of("lxla_topk", 2, 0, x, 8, 0, 1, S32)


NUMBERS, FLOATS = "f32 bf16 f16 f64 s32", "f32 bf16 f16 f64"
# Each operation: the dtypes and what records it.
OPERATIONS = {
    "sum": (NUMBERS, reduced(SUM)),
    "product": (NUMBERS, reduced(PRODUCT)),
    "max": (NUMBERS, reduced(MAX)),
    "min": (NUMBERS, reduced(MIN)),
    "max of rows": (NUMBERS, reduced(MAX, 1)),
    "max of columns": (NUMBERS, reduced(MAX, 0)),
    "all": ("pred", reduced(ALL)),
    "any": ("pred", reduced(ANY)),
    "max of all": (NUMBERS, lambda world, x: world.make("lxla_reduce", MAX, x, *abi.dims(0), 0)),
    "sum of all": (NUMBERS, lambda world, x: world.make("lxla_reduce", SUM, x, *abi.dims(0), 0)),
    "mean": (FLOATS, lambda world, x: world.make("lxla_mean", x, *abi.dims(0), 0)),
    "variance": (FLOATS, lambda world, x: world.make("lxla_variance", x, *abi.dims(0), 0.0, 0)),
    "logsumexp": (FLOATS, lambda world, x: world.make("lxla_logsumexp", x, *abi.dims(0), 0)),
    "softmax": (FLOATS, lambda world, x: world.make("lxla_softmax", square(world, x), 1)),
    "norm 1": (FLOATS, norm(1.0)),
    "norm 2": (FLOATS, norm(2.0)),
    "norm 3": (FLOATS, norm(3.0)),
    "norm inf": (FLOATS, norm(float("inf"))),
    "argmax": (NUMBERS + " pred", lambda world, x: world.make("lxla_argmax", x, 0, 0, S32)),
    "cumulative sum": (NUMBERS, cumulative(SUM)),
    "cumulative max": (NUMBERS, cumulative(MAX)),
    "sort": (NUMBERS, lambda world, x: world.make("lxla_sort_along", x, 0, 0, 1)),
    "argsort": (NUMBERS, lambda world, x: world.make("lxla_argsort", x, 0, 0, 1, S32)),
    "topk": (NUMBERS, top),
    "searchsorted": (NUMBERS, lambda world, x: world.make("lxla_searchsorted", x, x, 0, S32)),
    "matmul": (NUMBERS, product),
}


def constant(world, dtype, how):
    """Records a constant of `SIZE` elements; None if the dtype has no such one."""
    number = DTYPES[dtype][0]

    def iota(*shape):
        made = world.make("lxla_iota", world.env, world.device, S32, *abi.dims(*shape), len(shape) - 1)
        return world.make("lxla_convert", made, number)

    def full(*shape):
        return world.make("lxla_tensor_full", world.env, world.device, number, *abi.dims(*shape), 1.0)

    def exact(size):
        """Not converted: XLA makes no literal of a concatenation with a conversion. pred has no iota."""
        if dtype == "pred":
            return iota(size)
        return world.make("lxla_iota", world.env, world.device, number, *abi.dims(size), 0)

    if how == "iota":
        return exact(SIZE)
    if how == "full":
        return full(SIZE)
    if how == "broadcast":
        return flat(world, world.make("lxla_broadcast_to", iota(COLUMNS), *abi.dims(ROWS, COLUMNS)))
    if how == "joined":
        parts = array_of([full(1), exact(SIZE - 1)])
        return world.make("lxla_concatenate", parts, len(parts), 0)


def parameter(world, dtype):
    data = np.zeros(SIZE, DTYPES[dtype][1])
    made = world.make(
        "lxla_tensor_from_host",
        world.env,
        world.device,
        DTYPES[dtype][0],
        *abi.dims(SIZE),
        data.ctypes.data,
        data.nbytes,
    )
    return made


def elements(ty):
    *sizes, _ = ty.removeprefix("tensor<").removesuffix(">").split("x")
    return int(np.prod([int(size) for size in sizes], dtype=np.int64))


def statements(text):
    """Yields the statements of the functions, regions with the operations that have them."""
    depth, lines = 0, []
    for line in text.splitlines():
        lines.append(line)
        depth += (
            line.count("({") - line.count("})") + (line.rstrip().endswith(("cond {", "do {")) - (line.strip() == "}"))
        )
        if depth <= 0 or "func.func" in line or line.startswith("module"):
            yield "\n".join(lines)
            depth, lines = 0, []


def unguarded(text):
    """Returns the slow operations with large constant operands, and the number of slow operations."""
    found, count, known, equal, types = [], 0, set(), set(), {}
    for statement in statements(text):
        if "func.func" in statement:
            known, equal, types = set(), set(), dict(re.findall(r"(%\w+): (tensor<[^>]*>)", statement))
            continue
        match = re.match(r"\s*(%\w+)(?::\d+)? = \"?(?:stablehlo\.|func\.)?(\w+)", statement)
        if not match:
            continue
        name, op = match.groups()
        operands = [part for part in re.findall(r"%\w+", statement.split(" = ", 1)[1]) if part in types]
        result = re.findall(r"tensor<[^>]*>", statement[statement.rindex(" : ") :])
        types[name] = result[-1]
        if op in SLOW:
            count += 1
            large = [each for each in operands if each in known and elements(types[each]) >= LARGE]
            if op not in CALLS and not all(each in known for each in operands):
                large = []
            # XLA multiplies a sum of equal numbers, and does not evaluate it.
            if large and not (large[0] in equal and "applies stablehlo.add" in statement):
                found.append(f"{op} of {large[0]}: {types[large[0]]}")
        if op in ("constant", "iota") or op not in OPAQUE and operands and all(each in known for each in operands):
            known.add(name)
            if op == "constant" or op not in ("iota", "concatenate") and all(each in equal for each in operands):
                equal.add(name)
    return found, count


def compile_time(result):
    """Returns the time of the first run, which compiles."""
    start = time.perf_counter()
    abi.ok(abi.lib.lxla_sync(byref(result), 1))
    return time.perf_counter() - start


def time_of(record, make):
    """The best of several compiles, each in a new environment, which has compiled nothing."""
    best = float("inf")
    for _ in range(TRIES):
        fresh = World(abi.new_env(), abi.xla(), "xla:0")
        x = make(fresh)
        result = record(fresh, x)
        best = min(best, compile_time(result))
        release(result)
        release(x)
        abi.release(fresh.env)
        if best < 0.2:
            break
    return best


def main(path, *names):
    abi.load(path)
    with_times, names = "--times" in names, [name for name in names if name != "--times"]
    env = abi.new_env()
    world = World(env, abi.xla(), "xla:0")
    compared = wrong = 0
    for name, (dtypes, record) in OPERATIONS.items():
        if names and name not in names:
            continue
        for dtype in dtypes.split():
            bound = None
            for how in ("iota", "full", "broadcast", "joined"):
                x = constant(world, dtype, how)
                result = record(world, x)
                found, slow = unguarded(abi.text(abi.lib.lxla_stablehlo, byref(result), 1))
                compared += 1
                if slow == 0:
                    found = ["no slow operation was found in the text"]
                took = ""
                if with_times:
                    if bound is None:
                        bound = SECONDS + time_of(record, lambda fresh: parameter(fresh, dtype))
                    seconds = time_of(record, lambda fresh: constant(fresh, dtype, how))
                    took = f", {seconds:.2f} s, {bound - SECONDS:.2f} s for a parameter"
                    if seconds > bound:
                        found.append(f"{seconds:.2f} s to compile; at most {bound:.2f} s expected")
                wrong += bool(found)
                if found or with_times:
                    print(f"{name} of {dtype} {how}{took}: {'; '.join(found) or 'ok'}", flush=True)
                release(result)
                release(x)
    print(f"{compared} programs, {wrong} failures")
    sys.exit(wrong > 0 or compared < (1 if names else 300))


if __name__ == "__main__":
    main(*sys.argv[1:])
