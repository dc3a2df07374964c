"""Every operation on meshes: python meshes_test.py /path/to/liblazyxla.so [seed] [name]

Runs the cases of ops_test.py on meshes of one to eight devices. The operands have random shardings, and half of the
results a random constraint. A result is right if it is what ops_test.py wants, or what xla:0 gives. Operations of which
XLA may split some axes only have further cases (meshes_cases.py), each on several meshes."""

import random
import sys
from ctypes import byref, c_int32, c_int64

sys.dont_write_bytecode = True  # leaves no caches beside the sources
sys.path.append(sys.path[0] + "/../abi")  # ctypes_test
import ctypes_test as abi
import numpy as np
import ops_test
from ctypes_test import Device, Mesh, texts
from meshes_cases import further
from ops_cases import World, release
from ops_values import DTYPES, NAMES, dtypes

MESHES = [
    {"a": 2}, {"a": 2, "b": 2}, {"a": 2, "b": 3}, {"a": 3, "b": 2}, {"a": 7}, {"a": 5}, {"a": 2, "b": 2, "c": 2},
    {"a": 3}, {"a": 4, "b": 2}, {"a": 1, "b": 2},
]  # fmt: skip
# Dtypes of each operation that are tried, f32 among them.
MOST_DTYPES = 3
# Meshes on which each of the further cases runs.
TIMES = 3


def created(env, axes, draw):
    """A mesh with its axes and its place; its devices are in random order."""
    count = int(np.prod(list(axes.values())))
    names, sizes = texts(*[name.encode() for name in axes]), (c_int64 * len(axes))(*axes.values())
    mesh = Mesh()
    ordinals = (c_int32 * count)(*draw.sample(range(8), count))
    abi.ok(abi.lib.lxla_mesh_create(env, names, sizes, len(axes), ordinals, byref(mesh)))
    return mesh, axes, abi.give(abi.lib.lxla_mesh_device, Device, mesh)


def drawn_sharding(draw, axes, shape):
    """A sharding of this shape: axes of the mesh where they divide."""
    left, entries = draw.sample(list(axes), len(axes)), ["-"] * len(shape)
    for axis in draw.sample(range(len(shape)), len(shape)):
        names, size = [], shape[axis]
        for name in list(left):
            if size % axes[name] == 0 and len(names) < 2 and draw.random() < 0.8:
                names.append(name)
                left.remove(name)
                size //= axes[name]
        entries[axis] = "+".join(names) or "-"
    return ",".join(entries)


class MeshWorld(World):
    """Tensors on a mesh, each with a random sharding."""

    def __init__(self, env, mesh, draw):
        super().__init__(env, mesh[2], "lazily")
        self.mesh, self.axes, self.draw, self.shardings = mesh[0], mesh[1], draw, []

    def put(self, array):
        dense = np.ascontiguousarray(array).reshape(np.shape(array))
        sharding = drawn_sharding(self.draw, self.axes, dense.shape)
        self.shardings.append(sharding)
        address = dense.ctypes.data if dense.size else None
        dtype, shape = DTYPES[NAMES[dense.dtype]][0], abi.dims(*dense.shape)
        name = "lxla_tensor_from_host_sharded"
        return self.make(name, self.mesh, dtype, *shape, address, dense.nbytes, sharding.encode())


def result_of(operation, case, world, constraint=None):
    """Applies an operation in a world. `constraint` returns a sharding for the shape of the result."""
    operands = [world.put(array) for array in case.arrays]
    made = operation.call(world, *operands, **case.given)
    if constraint is not None:
        constrained = world.make("lxla_sharding_constraint", made, constraint(world.type(made)[1]).encode())
        release(made)
        made = constrained
    value = world.read(made)
    for tensor in [made, *operands]:
        release(tensor)
    for computation in world.computations.values():
        abi.lib.lxla_computation_release(computation)
    return value


def is_same(single, got):
    """Whether two arrays are equal. Partitioned programs add zeros and take extremes over devices: the sign of a zero
    may differ, and a denormal may be 0."""
    if single.dtype != got.dtype or single.shape != got.shape:
        return False
    a, b = (array.astype(np.complex128) for array in (single, got))
    return np.allclose(a, b, rtol=0, atol=np.finfo(np.float32).tiny, equal_nan=True)


def failure_of(operation, name, case, env, mesh, draw):
    """Runs a case on a mesh. Returns what is wrong with the result, or None."""
    world, constraints = MeshWorld(env, mesh, draw), []

    def constraint(shape):
        constraints.append(drawn_sharding(draw, mesh[1], shape))
        return constraints[0]

    try:
        got = result_of(operation, case, world, constraint if draw.random() < 0.5 else None)
    except AssertionError as error:
        return f"on a mesh {mesh[1]}, split by {world.shardings}, result by {constraints}: {error}"
    ulps = ops_test.tolerance(operation.name, name)
    _, failure = ops_test.check(case, ops_test.wanted(operation, case, ulps == 0), got, True, ulps)
    if not failure:
        return None
    single = result_of(operation, case, World(env, abi.xla(), "lazily"))
    if is_same(single, got):
        return None
    return f"on a mesh {mesh[1]}, split by {world.shardings}, result by {constraints}: {failure}"


def main(path, seed="1", prefix=""):
    abi.load(path)
    env, draw = abi.new_env(device_count=8), random.Random(int(seed))
    meshes = [created(env, axes, draw) for axes in MESHES]
    known = [operation for subject in ops_test.SUBJECTS for operation in subject()]
    operations = [(operation, 1) for operation in known] + [(operation, TIMES) for operation in further(known)]
    count = failures = 0
    for operation, times in operations:
        if not operation.name.startswith(prefix):
            continue
        names = sorted(dtypes(operation.takes), key=lambda name: (name != "f32", draw.random()))[:MOST_DTYPES]
        for name, case in ((name, case) for name in names for case in operation.cases(name) * times):
            sizes = [size for array in case.arrays for size in array.shape if size > 0]
            fitting = [
                mesh for mesh in meshes if any(size % n == 0 for size in sizes for n in mesh[1].values() if n > 1)
            ]
            case.result = case.result or NAMES[case.arrays[0].dtype]
            failure = failure_of(operation, name, case, env, draw.choice(fitting or meshes), draw)
            count += 1
            if failure:
                failures += 1
                print(f"{ops_test.described(operation, case)} {failure}")
    print(f"{count} cases on meshes, {failures} failures")
    sys.exit(failures > 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
