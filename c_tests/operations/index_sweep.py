"""Indices of every integer dtype into axes around the limits of the dtypes: python index_sweep.py
/path/to/liblazyxla.so [operation] [--all]

XLA computes with indices in their own dtype, and truncates to it whatever it compares or combines them with. So each
operation that takes indices is tried with each integer dtype, on axes just below and above what the dtype can count,
with one index and with several, some of them out of bounds. The indices are arguments, constants of the program,
results of the program, slices of a scan and elements of a batch; and the operation is differentiated. On `cpu`, on
`xla:0` and on a mesh of 2 devices; against NumPy. --all tries more sizes."""

import random
import sys
from dataclasses import dataclass
from typing import Callable

sys.dont_write_bytecode = True  # leaves no caches beside the sources
sys.path.append(sys.path[0] + "/../abi")  # ctypes_test
import ctypes_test as abi
import numpy as np
import ops_indexing
from ctypes_test import Computation, Tensor
from header import family
from meshes_test import MeshWorld, created
from ops_cases import World, array_of, ints, release
from ops_values import DTYPES, NAMES

INTEGERS = "s8 u8 s16 u16 s32 u32 s64 u64".split()
# Axis sizes for each dtype of indices, and more of them. All are even, so that the mesh splits them.
SIZES = {
    "s8": ([128, 130, 256, 300], [100, 200]),
    "u8": ([200, 256, 258, 600], [128, 300]),
    "s16": ([32768, 70000], [300, 33000]),
    "u16": ([65600, 70000], [300, 65536]),
}
WIDE_SIZES = ([300], [70000])
# The size for each dtype on the mesh.
MESH_SIZES = {"s8": 256, "u8": 600, "s16": 70000, "u16": 65600}
BATCHES = {True: 300, False: 3}  # for axes of at most 600 elements, and for longer ones
MOST_SMALL = 600
ITERATIONS = 3


@dataclass
class Indexed:
    """`record(world, x, at, updates)` gives a tensor, `reference(x, at, updates)` what it should hold. `x` has
    `shape(size)`, `updates` has `updates(size, n)`, if the operation takes any; `at` has `indices(n)`. Scatters drop
    what is out of bounds; gathers clamp it. `counts` are the numbers of indices."""

    name: str
    record: Callable
    reference: Callable
    indices: Callable = lambda n: (n,)
    updates: Callable = None
    counts: tuple = (1, 5)


def half(size):
    return size // 2


def window(x, at, sizes):
    """The slices that start at `at`, clamped, of a vector."""
    starts = [min(max(int(i), 0), len(x) - sizes) for i in at.ravel()]
    return np.stack([x[start : start + sizes] for start in starts])


def dynamic_update(x, at, updates):
    out, start = x.copy(), min(max(int(at), 0), len(x) - len(updates))
    out[start : start + len(updates)] = updates
    return out


def of_case(operation, **given):
    """The functions of an operation of ops_test.py, with further arguments."""
    record = lambda world, x, at, *updates: operation.call(world, x, at, *updates, **given)
    return record, lambda x, at, *updates: operation.reference(x, at, *updates, **given)


class SplitWorld(MeshWorld):
    """A mesh, with operands that are split at random."""

    def put(self, array):
        tensor = super().put(array)
        self.known[tensor.id] = tensor, array
        return tensor


def operations(size):
    """The operations for axes of a size."""
    known = {operation.name: operation for operation in ops_indexing.indexed()}
    half_of = half(size)
    rows = lambda size, n: (n, half(size))
    yield Indexed(
        "dynamic_slice",
        lambda world, x, at: world.make("lxla_dynamic_slice", x, array_of([at]), ints([half_of]), 1),
        lambda x, at: window(x, at, half_of)[0],
        indices=lambda n: (),
        counts=(1,),
    )
    yield Indexed(
        "dynamic_update_slice",
        lambda world, x, at, updates: world.make("lxla_dynamic_update_slice", x, updates, array_of([at]), 1),
        dynamic_update,
        indices=lambda n: (),
        updates=lambda size, n: (half(size),),
        counts=(1,),
    )
    yield Indexed("take", *of_case(known["take"], axis=0))
    yield Indexed("take_along_axis", *of_case(known["take_along_axis"], axis=0))
    yield Indexed("gather", *of_case(known["gather"], numbers=([], [0], [], [], [0], 1, [1])))
    yield Indexed("gather of slices", *of_case(known["gather"], numbers=([1], [], [], [], [0], 1, [half_of])))
    whole = dict(numbers=([], [0], [], [], [0], 1))
    parts = dict(numbers=([1], [], [], [], [0], 1))
    for name in ("replace", "add", "max"):
        operation = known[f"scatter {name}"]
        yield Indexed(f"scatter {name}", *of_case(operation, **whole), updates=lambda size, n: (n,))
    yield Indexed("scatter of slices", *of_case(known["scatter add"], **parts), updates=rows)
    for name in ("scatter_along sum", "scatter_along copy", "index_add", "index_copy"):
        yield Indexed(name, *of_case(known[name], axis=0), updates=lambda size, n: (n,))
    yield Indexed(
        "index",
        lambda world, x, at: world.make("lxla_index", x, array_of([at]), 1),
        lambda x, at: x[np.clip(ops_indexing.from_start(at, len(x)), 0, len(x) - 1).astype(np.int64)],
    )
    number = family("SCATTER")["sum"]
    yield Indexed(
        "index_put",
        lambda world, x, at, updates: world.make("lxla_index_put", number, x, array_of([at]), 1, updates),
        lambda x, at, updates: known["index_add"].reference(x, at, updates, axis=0),
        updates=lambda size, n: (n,),
    )


def drawn_indices(draw, dtype, size, count):
    """Distinct indices near the limits of the axis and of the dtype, and anywhere; in bounds for the most part."""
    limits = np.iinfo(DTYPES[dtype][1])
    near = [
        0,
        1,
        44,
        100,
        127,
        128,
        half(size),
        half(size) + 1,
        size - half(size),
        size - 2,
        size - 1,
        size,
        size + 3,
        -1,
    ]
    near += [limits.max, limits.max - 1] if limits.max <= size + 5 else []
    inside = [i for i in near if limits.min <= i <= limits.max]
    inside += [draw.randrange(0, min(size, limits.max)) for _ in range(4)]
    return draw.sample(sorted(set(inside)), count)


def gradients(f, cotangent, arrays, of):
    """The gradient of <cotangent, f(arrays)> by operand `of`, for an f that is linear in it with factors 0 and 1."""
    at_zero = [np.zeros_like(array) if i != 1 else array for i, array in enumerate(arrays)]
    if of == 0:
        # Every element of the result has at most one element of x in it.
        at_zero[0] = np.arange(1, arrays[0].size + 1, dtype=arrays[0].dtype)
        sources = f(*at_zero).astype(np.int64).ravel()
        made = np.zeros(arrays[0].size + 1, arrays[0].dtype)
        np.add.at(made, sources, cotangent.ravel())
        return made[1:].reshape(arrays[0].shape)
    made = np.zeros(arrays[of].size, arrays[of].dtype)
    for i in range(made.size):
        unit = np.zeros(made.size, made.dtype)
        unit[i] = 1
        at_zero[of] = unit.reshape(arrays[of].shape)
        made[i] = (f(*at_zero) * cotangent).sum()
    return made.reshape(arrays[of].shape)


class Ways:
    """The ways in which one operation gets its indices: each is a computation, and the arrays that it takes."""

    def __init__(self, world, operation, arrays, batch, draw):
        self.world, self.operation, self.arrays, self.batch, self.draw = world, operation, arrays, batch, draw

    def traced(self, arrays, record):
        """Traces `record(*placeholders)`, which returns a list of tensors."""
        place = self.world.env, self.world.device
        kinds = [(DTYPES[NAMES[array.dtype]][0], abi.dims(*array.shape)) for array in arrays]
        parameters = [self.world.make("lxla_tensor_placeholder", *place, dtype, *dims) for dtype, dims in kinds]
        results = record(*parameters)
        given = [array_of(parameters), len(parameters), array_of(results), len(results)]
        handle = abi.give(abi.lib.lxla_computation_trace, Computation, *given)
        for tensor in {tensor.id for tensor in [*parameters, *results]}:
            release(Tensor(tensor))
        return handle

    def record(self, x, at, *updates):
        return self.operation.record(self.world, x, at, *updates)

    def reference(self, x, at, *updates):
        # No index is greater than an s64: NumPy computes with them as XLA would, in their own dtype.
        return self.operation.reference(x, at.astype(np.int64), *updates)

    def call(self, f, arrays, results):
        made = (Tensor * results)()
        tensors = array_of([self.world.put(array) for array in arrays])
        abi.ok(abi.lib.lxla_computation_call(f, tensors, len(arrays), made, results))
        abi.ok(abi.lib.lxla_computation_release(f))
        return [Tensor(tensor.id) for tensor in made]

    def argument(self):
        f = self.traced(self.arrays, lambda *given: [self.record(*given)])
        yield "argument", self.call(f, self.arrays, 1)[0], self.reference(*self.arrays)

    def constant(self):
        x, at, *updates = self.arrays
        place = self.world.env, self.world.device, DTYPES[NAMES[at.dtype]][0]
        single = lambda value, shape: self.world.make("lxla_tensor_full", *place, *abi.dims(*shape), float(value))

        def record(x, *updates):
            if not at.shape:
                return [self.record(x, single(at, ()), *updates)]
            parts = [single(value, (1,)) for value in at]
            row = self.world.make("lxla_concatenate", array_of(parts), len(parts), 0)
            return [self.record(x, row, *updates)]

        yield (
            "constant",
            self.call(self.traced([x, *updates], record), [x, *updates], 1)[0],
            self.reference(*self.arrays),
        )

    def computed(self):
        x, at, *updates = self.arrays
        part = (at // 2).astype(at.dtype)
        rest = (at - part).astype(at.dtype)

        def record(x, part, rest, *updates):
            at = self.world.make("lxla_binary", abi.ADD, part, rest)
            return [self.record(x, at, *updates)]

        arrays = [x, part, rest, *updates]
        yield "computed", self.call(self.traced(arrays, record), arrays, 1)[0], self.reference(*self.arrays)

    def several(self, count):
        """Indices for each of `count` applications."""
        at = self.arrays[1]
        return np.stack([self.draw.permutation(at.ravel()).reshape(at.shape) if at.shape else at for _ in range(count)])

    def moved(self, count):
        """Like `several`; if there is one index, others near it, as far as the dtype has them."""
        at = self.several(count)
        limits = np.iinfo(at.dtype)
        steps = np.arange(count).reshape([-1] + [1] * (at.ndim - 1)) * (7 if at[0].size == 1 else 0)
        return np.clip(at.astype(object) - steps, max(limits.min, 0), limits.max).astype(at.dtype)

    def scanned(self):
        x, at, *updates = self.arrays
        rows = self.moved(ITERATIONS)

        def body(x, *rest):
            *updates, at = rest
            return [x, *updates, self.record(x, at, *updates)]

        handle = self.traced([x, *updates, at], body)
        tensors = array_of([self.world.put(array) for array in [x, *updates]])
        carried, made = (Tensor * len(tensors))(), (Tensor * 1)()
        abi.ok(
            abi.lib.lxla_scan(
                handle, tensors, len(tensors), array_of([self.world.put(rows)]), 1, ITERATIONS, 0, carried, made, 1
            )
        )
        abi.ok(abi.lib.lxla_computation_release(handle))
        for tensor in carried:
            release(Tensor(tensor.id))
        yield "scan", Tensor(made[0].id), np.stack([self.reference(x, row, *updates) for row in rows])

    def batched(self):
        x, at, *updates = self.arrays
        rows = self.moved(self.batch)
        repeated = [np.stack([array] * self.batch) for array in (x, *updates)]
        want = np.stack([self.reference(x, row, *updates) for row in rows])
        for is_mapped in (False, True):
            f = self.traced(self.arrays, lambda *given: [self.record(*given)])
            axis = 0 if is_mapped else -1
            axes = ints([axis, 0, *[axis] * len(updates)])
            handle = abi.give(abi.lib.lxla_computation_vmap, Computation, f, axes, len(axes), ints([0]), 1, self.batch)
            abi.ok(abi.lib.lxla_computation_release(f))
            given = [repeated[0], rows, *repeated[1:]] if is_mapped else [x, rows, *updates]
            yield f"batch, {'all' if is_mapped else 'indices'} mapped", self.call(handle, given, 1)[0], want

    def differentiated(self):
        if self.arrays[0].dtype != np.float32 or "max" in self.operation.name:
            return
        x, at, *updates = self.arrays
        want = self.reference(*self.arrays)
        cotangent = self.draw.integers(1, 9, want.shape).astype(np.float32)
        wanted = [0, 2][: 1 + len(updates)]
        if updates and updates[0].size > MOST_SMALL:
            wanted = [0]

        def record(*given):
            *given, cotangent = given
            y = self.record(*given)
            made = (Tensor * len(wanted))()
            by = array_of([given[i] for i in wanted])
            abi.ok(abi.lib.lxla_gradients(array_of([y]), 1, array_of([cotangent]), by, len(wanted), made))
            release(y)
            return [Tensor(tensor.id) for tensor in made]

        arrays = [*self.arrays, cotangent]
        made = self.call(self.traced(arrays, record), arrays, len(wanted))
        for operand, tensor in zip(wanted, made):
            yield f"gradient by operand {operand}", tensor, gradients(self.reference, cotangent, self.arrays, operand)

    def all(self):
        for way in (self.argument, self.constant, self.computed, self.scanned, self.batched, self.differentiated):
            yield from way()


def failures(world, operation, size, dtype, count, draw, numbers):
    """Applies an operation in all ways; yields what is wrong."""
    at = np.array(drawn_indices(draw, dtype, size, count), DTYPES[dtype][1]).reshape(operation.indices(count))
    x = numbers.permutation(size).astype(np.float32)
    updates = [numbers.integers(1, 99, operation.updates(size, count)).astype(np.float32)] if operation.updates else []
    batch = BATCHES[size <= MOST_SMALL]
    made = list(Ways(world, operation, [x, at, *updates], batch, numbers).all())
    # In one program, which compiles faster than one for each way.
    tensors = array_of([tensor for _, tensor, _ in made])
    abi.ok(abi.lib.lxla_sync(tensors, len(tensors)))
    for way, tensor, want in made:
        got = world.read(tensor)
        release(tensor)
        if got.shape != want.shape or not (got == want).all():
            off = np.argwhere(got != want)[:3].tolist() if got.shape == want.shape else got.shape
            yield f"{operation.name}, {way}, indices {at.tolist()} of {dtype} on f32[{size}]: wrong at {off}"


def main(path, *given):
    abi.load(path)
    parts = 2 if "--all" in given else 1
    names = [each for each in given if not each.startswith("--")]
    env, draw, numbers = abi.new_env(device_count=8), random.Random(1), np.random.default_rng(1)
    mesh = SplitWorld(env, created(env, {"a": 2}, draw), draw)
    mesh.name = "mesh"
    worlds = [World(env, abi.cpu(), "cpu"), World(env, abi.xla(), "xla:0"), mesh]
    count = wrong = turn = 0
    for dtype in INTEGERS:
        for size in sum(SIZES.get(dtype, WIDE_SIZES)[:parts], []):
            for operation in operations(size):
                if names and operation.name not in names:
                    continue
                for world in worlds:
                    if world is mesh and size != MESH_SIZES.get(dtype, WIDE_SIZES[0][0]):
                        continue
                    # One index and several in turn, unless all cases are wanted.
                    turn += 1
                    counts = operation.counts if parts > 1 else [operation.counts[turn % len(operation.counts)]]
                    for n in counts:
                        count += 1
                        for failure in failures(world, operation, size, dtype, n, draw, numbers):
                            wrong += 1
                            print(f"{world.name}: {failure}", flush=True)
                    for tensor, _ in world.known.values():
                        release(tensor)
                    world.known.clear()
    print(f"{count} cases, {wrong} failures")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
