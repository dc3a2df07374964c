"""Meshes, shardings and collectives with random arguments, many of them wrong: python fuzz_meshes.py
/path/to/liblazyxla.so [calls] [seed]

Whether a mesh and a sharding are right is decided here again, by the documented syntax, and the library has to decide
the same. Tensors that are made have to hold the right values, whole and in pieces. Bodies of random collectives that
shard_map takes have to compile and run. Nothing may panic, and a call that is refused may not return anything."""

import json
import math
import random
import re
import sys
from ctypes import byref, c_int32, c_int64, c_size_t

sys.dont_write_bytecode = True  # leaves no caches beside the sources
import numpy as np

import ctypes_test as abi
from ctypes_test import Computation, Device, Mesh, Tensor, texts
from header import constants, family

OK, INTERNAL, PANIC = constants.OK, constants.INTERNAL, constants.PANIC
DTYPE = family("DTYPE")
DEVICES = 8
DTYPES = {
    DTYPE["pred"]: np.bool_,
    DTYPE["s8"]: np.int8,
    DTYPE["s32"]: np.int32,
    DTYPE["s64"]: np.int64,
    DTYPE["u8"]: np.uint8,
    DTYPE["f32"]: np.float32,
    DTYPE["f64"]: np.float64,
    DTYPE["c64"]: np.complex64,
}
SHAPES = [(), (8,), (6,), (1,), (0, 4), (8, 4), (4, 8), (2, 3), (8, 8), (2, 4, 6), (4, 2, 2, 8)]
UNUSED = 2**64 - 1  # an output that nothing may be written to


class Wrong(Exception):
    pass


def split(text, axes, dims):
    """Returns for each tensor axis the list of mesh axes that split it; None if the text is wrong or does not
    divide."""
    entries = text.split(",") if text else ["-"] * len(dims)
    found = [[] if entry == "-" else entry.split("+") for entry in entries]
    used = [name for names in found for name in names]
    if len(found) != len(dims) or len(set(used)) != len(used) or any(name not in axes for name in used):
        return None
    if any(dim % math.prod(axes[name] for name in names) for dim, names in zip(dims, found)):
        return None
    return found


class OnMesh:
    """A mesh, its axes by name, and the device at each position."""

    def __init__(self, handle, axes, ordinals):
        self.handle, self.axes, self.ordinals = handle, axes, ordinals
        self.place = abi.give(abi.lib.lxla_mesh_device, Device, handle)

    def piece(self, whole, splits, position):
        """Returns the piece of an array that a position holds, and its offsets."""
        coordinates = dict(zip(self.axes, np.unravel_index(position, tuple(self.axes.values()))))
        offsets, sizes = [], []
        for dim, names in zip(whole.shape, splits):
            index = 0
            for name in names:
                index = index * self.axes[name] + int(coordinates[name])
            sizes.append(dim // math.prod(self.axes[name] for name in names))
            offsets.append(index * sizes[-1])
        return whole[tuple(slice(o, o + s) for o, s in zip(offsets, sizes))], offsets


class Fuzzer:
    def __init__(self, seed):
        self.rng, self.env = random.Random(seed), abi.new_env(device_count=DEVICES)
        self.meshes, self.tensors, self.done = [], [], {}
        while not self.meshes:
            self.make_mesh()

    def called(self, name, *arguments, out=None):
        """Calls a function; returns whether it succeeded. `out` are its outputs, which it may write on success only."""
        status = getattr(abi.lib, name)(*arguments)
        message = abi.lib.lxla_last_error_message().decode() if status else ""
        if status in (INTERNAL, PANIC) or (status and not message.startswith(name + ": ")):
            raise Wrong(f"{name}: status {status}, {message!r}")
        if status and out is not None and any(each.id != UNUSED for each in out):
            raise Wrong(f"{name} failed, but returned something: {message}")
        self.said = message
        if status == OK:
            self.done[name] = self.done.get(name, 0) + 1
        return status == OK

    def decided(self, name, ok, right, what):
        if ok != right:
            raise Wrong(f"{name} of {what} {'succeeded' if ok else 'was refused'}: {self.said}")

    # --- Meshes and shardings ---

    def make_mesh(self):
        r = self.rng
        rank = r.choice([1, 1, 2, 2, 2, 3, 0])
        names = [r.choice(["a", "b", "data", "model", "_x1"] * 3 + ["", "1a", "a-b", "a b", "é"]) for _ in range(rank)]
        sizes = [r.choice([1, 2, 2, 2, 4, 4, 8, 3] * 3 + [0, -1, 2**40, 2**62]) for _ in range(rank)]
        count = math.prod(sizes)
        is_named = all(re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", name) for name in names) and len(set(names)) == rank
        right = rank > 0 and is_named and all(size > 0 for size in sizes) and count <= DEVICES
        ordinals = None
        if min(sizes, default=0) > 0 and count <= 64 and r.random() < 0.5:
            ordinals = [r.randint(-1, 9) for _ in range(count)]
            if count <= DEVICES and r.random() < 0.8:
                ordinals = r.sample(range(DEVICES), count)
            right = right and len(set(ordinals)) == count and all(0 <= ordinal < DEVICES for ordinal in ordinals)
        made = Mesh(UNUSED)
        given = (c_int32 * len(ordinals))(*ordinals) if ordinals else None
        ok = self.called(
            "lxla_mesh_create",
            self.env,
            texts(*[name.encode() for name in names] or [b""]),
            (c_int64 * max(rank, 1))(*sizes),
            rank,
            given,
            byref(made),
            out=[made],
        )
        self.decided("lxla_mesh_create", ok, right, (names, sizes, ordinals))
        if not ok:
            return
        mesh = OnMesh(made, dict(zip(names, sizes)), ordinals or list(range(count)))
        told = json.loads(abi.text(abi.lib.lxla_mesh_info, made))
        if told["ordinals"] != mesh.ordinals or [axis["name"] for axis in told["axes"]] != names:
            raise Wrong(f"lxla_mesh_info: {told}")
        self.meshes.append(mesh)

    def release_mesh(self):
        """Releases a mesh; tensors that are on it stay readable."""
        if len(self.meshes) > 3:
            mesh = self.meshes.pop(self.rng.randrange(len(self.meshes)))
            abi.ok(abi.lib.lxla_mesh_release(mesh.handle))
            for tensor, whole in [(t, w) for t, m, w in self.tensors if m is mesh]:
                self.is_whole(tensor, whole)
            self.forget(lambda m: m is mesh)

    def forget(self, which):
        for tensor, mesh, _ in self.tensors:
            if which(mesh):
                abi.release(tensor)
        self.tensors = [each for each in self.tensors if not which(each[1])]

    def sharding(self, axes, rank):
        """Returns a text that is often right."""
        r, left = self.rng, list(axes)
        r.shuffle(left)
        entries = []
        for _ in range(rank):
            names = [left.pop() for _ in range(min(r.choice([0, 0, 1, 1, 2]), len(left)))]
            entries.append("+".join(names) or "-")
        text = ",".join(entries)
        while r.random() < 0.2:
            at = r.randint(0, len(text))
            text = (
                text[:at]
                + r.choice(["", "-", "+", ",", "a", "b", " ", "é", "data", "model", "\n"])
                + text[at + r.randint(0, 1) :]
            )
        return text

    # --- Tensors ---

    def is_whole(self, tensor, whole):
        got = np.zeros(whole.shape, whole.dtype)
        if not self.called("lxla_tensor_read", tensor, got.ctypes.data, got.nbytes):
            raise Wrong(f"a read of {whole.dtype}{whole.shape} failed: {self.said}")
        if got.tobytes() != whole.tobytes():
            raise Wrong(f"{whole.dtype}{whole.shape} has other values")

    def looked_at(self, tensor, mesh, whole, splits):
        """Checks the values of a tensor, whole and one piece, and its sharding if it is known."""
        self.is_whole(tensor, whole)
        text = abi.text(abi.lib.lxla_tensor_sharding, tensor)
        told = split(text, mesh.axes, whole.shape)
        # A program does not divide results without elements.
        is_open = splits is None or (whole.size == 0 and not any(told or [()]))
        if told is None or (not is_open and told != splits):
            raise Wrong(f"the sharding of {whole.shape} on {mesh.axes} is {text!r}, want {splits}")
        abi.text(abi.lib.lxla_tensor_sharding_picture, tensor)
        position = self.rng.randrange(len(mesh.ordinals))
        piece, offsets = mesh.piece(whole, told, position)
        got, rank = np.zeros(piece.shape, whole.dtype), whole.ndim
        starts, sizes = (c_int64 * max(rank, 1))(), (c_int64 * max(rank, 1))()
        ordinal = mesh.ordinals[position]
        if not self.called("lxla_tensor_shard_read", tensor, ordinal, got.ctypes.data, got.nbytes, starts, sizes, rank):
            raise Wrong(f"the piece of {ordinal}: {self.said}")
        if got.tobytes() != piece.tobytes() or list(starts)[:rank] != offsets or tuple(sizes)[:rank] != piece.shape:
            raise Wrong(f"the piece of device {ordinal}: {whole.shape} by {text!r}")
        wrong = self.rng.choice([-1, DEVICES, 2**31 - 1, -(2**31)])
        if self.called("lxla_tensor_shard_read", tensor, wrong, None, 0, None, None, 0):
            raise Wrong(f"device {wrong} has a piece")

    def values(self):
        dtype = self.rng.choice(list(DTYPES))
        shape = self.rng.choice(SHAPES)
        return dtype, (np.arange(math.prod(shape)) % 100 % (2 if dtype == DTYPE["pred"] else 128)).astype(
            DTYPES[dtype]
        ).reshape(shape)

    def make_tensor(self):
        """From the host, from cpu, or from a device."""
        r, mesh = self.rng, self.rng.choice(self.meshes)
        dtype, whole = self.values()
        text, made = self.sharding(mesh.axes, whole.ndim), Tensor(UNUSED)
        dims, rank = (c_int64 * max(whole.ndim, 1))(*whole.shape), whole.ndim
        right = split(text, mesh.axes, whole.shape)
        if r.random() < 0.6:
            name = "lxla_tensor_from_host_sharded"
            data = whole.ctypes.data, whole.nbytes
            ok = self.called(name, mesh.handle, dtype, dims, rank, *data, text.encode(), byref(made), out=[made])
        else:
            name = "lxla_tensor_shard"
            place = r.choice([abi.cpu(), abi.xla(), abi.xla(5)])
            data = whole.ctypes.data, whole.nbytes
            source = abi.give(abi.lib.lxla_tensor_from_host, Tensor, self.env, place, dtype, dims, rank, *data)
            ok = self.called(name, source, mesh.handle, text.encode(), byref(made), out=[made])
            abi.release(source)
        self.decided(name, ok, right is not None, (text, mesh.axes, whole.shape))
        if ok:
            self.looked_at(made, mesh, whole, right)
            self.tensors.append((made, mesh, whole))

    def constrain(self):
        if not self.tensors:
            return
        tensor, mesh, whole = self.rng.choice(self.tensors)
        other = mesh if self.rng.random() < 0.5 else self.rng.choice(self.meshes)
        text, made = self.sharding(other.axes, whole.ndim), Tensor(UNUSED)
        right = split(text, other.axes, whole.shape)
        if other is mesh:
            name, arguments = "lxla_sharding_constraint", (tensor, text.encode())
        else:
            name, arguments = "lxla_tensor_shard", (tensor, other.handle, text.encode())
        ok = self.called(name, *arguments, byref(made), out=[made])
        self.decided(name, ok, right is not None, (text, other.axes, whole.shape))
        if ok:
            self.looked_at(made, other, whole, right)
            self.tensors.append((made, other, whole))

    def combine(self):
        """Two tensors, of one mesh or of two."""
        if not self.tensors:
            return
        (a, of_a, x), (b, of_b, y) = self.rng.choice(self.tensors), self.rng.choice(self.tensors)
        made = Tensor(UNUSED)
        if not self.called("lxla_binary", abi.ADD, a, b, byref(made), out=[made]):
            return
        if of_a is not of_b:
            raise Wrong("tensors of two meshes were added")
        if x.dtype == y.dtype and x.dtype.kind in "iu":
            self.looked_at(made, of_a, x + y, None)
        abi.release(made)

    # --- Collectives ---

    def collective(self, mesh, x):
        """Records a random collective on x. Returns its result, if it was right."""
        r, made = self.rng, Tensor(UNUSED)
        names = r.sample(list(mesh.axes), r.randint(1, len(mesh.axes)))
        axes = "+".join(names) if r.random() < 0.9 else r.choice(["", "a", "data+data", "a,b", "+", "zz"])
        axis, other = r.choice([0, 0, 1, -1, 2, 7]), r.choice([0, 1, 1, -1, -9])
        op = r.choice([abi.SUM, abi.SUM, *family("REDUCE").values(), 0, 99])
        count = mesh.axes.get(axes, 2)
        pairs = [(i, (i + 1) % count) for i in range(count)]
        if r.random() < 0.3:
            pairs = [(r.randint(-1, 3), r.randint(0, 4)) for _ in range(r.randint(0, 3))]
        flat = (c_int64 * max(2 * len(pairs), 1))(*[n for pair in pairs for n in pair])
        name, arguments = r.choice(
            [
                ("lxla_all_reduce", (op, x, axes.encode())),
                ("lxla_all_gather", (x, axes.encode(), axis)),
                ("lxla_reduce_scatter", (op, x, axes.encode(), axis)),
                ("lxla_all_to_all", (x, axes.encode(), axis, other)),
                ("lxla_collective_permute", (x, axes.encode(), flat, len(pairs))),
            ]
        )
        if not self.called(name, *arguments, byref(made), out=[made]):
            return None
        # Zeros, where no pair has a target; a constant, where there are no elements.
        self.may_be_constant |= (name == "lxla_collective_permute" and not pairs) or self.is_empty(made)
        return made

    def is_empty(self, tensor):
        """Whether a tensor has an axis of size 0."""
        rank, dims = c_size_t(), (c_int64 * 64)()
        abi.ok(abi.lib.lxla_tensor_info(tensor, None, byref(rank), dims, 64))
        return 0 in dims[: rank.value]

    def map_shards(self):
        """Traces a body of random collectives, and applies it."""
        r, mesh = self.rng, self.rng.choice(self.meshes)
        dtype, whole = self.values()
        if whole.size > 1000:
            return
        into, splits = "", None
        while splits is None:
            into = self.sharding(mesh.axes, whole.ndim)
            splits = split(into, mesh.axes, whole.shape)
        piece, _ = mesh.piece(whole, splits, 0)
        dims = (c_int64 * max(whole.ndim, 1))(*(piece.shape if r.random() < 0.95 else whole.shape))
        hole = abi.give(abi.lib.lxla_tensor_placeholder, Tensor, self.env, mesh.place, dtype, dims, whole.ndim)
        chain, self.may_be_constant = [hole], False
        for _ in range(r.randint(1, 3)):
            chain.append(self.collective(mesh, chain[-1]) or chain[-1])
        if r.random() < 0.3 and len(mesh.axes) > 0:
            axis = r.choice(list(mesh.axes))
            chain.append(abi.give(abi.lib.lxla_axis_index, Tensor, self.env, mesh.place, axis.encode()))
            self.may_be_constant = mesh.axes[axis] == 1  # always 0
        result, body, made = chain[-1], Computation(), Tensor(UNUSED)
        abi.ok(abi.lib.lxla_computation_trace(byref(hole), 1, byref(result), 1, byref(body)))
        rank = abi.give(abi.lib.lxla_tensor_rank, c_size_t, result).value
        out = self.sharding(mesh.axes, rank)
        sizes, data = (c_int64 * max(whole.ndim, 1))(*whole.shape), (whole.ctypes.data, whole.nbytes)
        x = abi.give(abi.lib.lxla_tensor_from_host_sharded, Tensor, mesh.handle, dtype, sizes, whole.ndim, *data, b"")
        given = texts(into.encode()), byref(x), 1, texts(out.encode()), byref(made), 1
        if self.called("lxla_shard_map", body, mesh.handle, *given, out=[made]):
            if not self.called("lxla_sync", byref(made), 1):
                raise Wrong(f"a shard_map does not run: {self.said}")
            abi.ok(abi.lib.lxla_wait(self.env, mesh.place))
            abi.release(made)
        # Outside, a collective has no value; a constant has one.
        status = abi.lib.lxla_sync(byref(result), 1)
        if status != abi.FAILED_PRECONDITION and not (status == OK and self.may_be_constant):
            raise Wrong(f"a value outside shard_map: status {status}")
        abi.release(x, *{each.id: each for each in chain}.values())
        abi.ok(abi.lib.lxla_computation_release(body))

    def run(self, calls):
        actions = [
            self.make_mesh,
            self.release_mesh,
            self.make_tensor,
            self.make_tensor,
            self.make_tensor,
            self.constrain,
            self.constrain,
            self.combine,
            self.map_shards,
        ]
        for i in range(calls):
            self.rng.choice(actions)()
            while len(self.tensors) > 40:
                abi.release(self.tensors.pop(self.rng.randrange(len(self.tensors)))[0])
            if i % 50 == 49:
                everywhere = Device(constants.DEVICE_UNSPECIFIED, 0)
                if not self.called("lxla_mark_step", self.env, everywhere, 1):
                    raise Wrong(f"a step of everything: {self.said}")
        self.forget(lambda mesh: True)
        for mesh in self.meshes:
            abi.ok(abi.lib.lxla_mesh_release(mesh.handle))
        held = abi.counter(self.env, "LiveBytes")
        if held:
            raise Wrong(f"{held} bytes are never freed")


def main():
    abi.load(sys.argv[1])
    calls = int(sys.argv[2]) if len(sys.argv) > 2 else 2000
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    fuzzer = Fuzzer(seed)
    try:
        fuzzer.run(calls)
    except Wrong as wrong:
        print(wrong)
        return 1
    print(
        f"{calls} calls, seed {seed}; succeeded:", ", ".join(f"{name} {n}" for name, n in sorted(fuzzer.done.items()))
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
