"""Programs for meshes that JAX exports, imported: python import_meshes_test.py /path/to/liblazyxla.so, with JAX.

Each function has shardings, or is a shard_map with collectives, for 8 devices. Its export is imported for meshes with
the axes of JAX's mesh, in their order or not and with a further axis, and called there. Values, gradients and batches,
which this library derives from the imported body, are compared with JAX's. What the library writes of an imported
program reads back to the same values; as a file for JAX, JAX calls and differentiates it on 8 devices.
"""

import ctypes
import json
import os
import sys
import tempfile
from ctypes import byref, c_int32, c_int64, c_size_t, c_void_p
from pathlib import Path

if sys.version_info < (3, 11):
    print("JAX 0.10.2 needs Python 3.11")
    sys.exit(77)  # ctest counts 77 as skipped
sys.dont_write_bytecode = True
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../abi"))
import ctypes_test as lxla
from quick_jax import jax  # before what imports JAX
import jax.numpy as jnp
import numpy as np
from ctypes_test import Computation, Device, Mesh, give, ok, texts
from export_cases import JAX
from export_cases import exported as written
from header import constants, types
from jax import export, lax
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
from programs import call, compare, imported, options_of

DATA = Path(__file__).resolve().parent / "data"
X = np.random.default_rng(1).standard_normal((8, 16)).astype(np.float32)
W = np.random.default_rng(2).standard_normal((16, 8)).astype(np.float32)
MESH = jax.sharding.Mesh(np.array(jax.devices()).reshape(2, 4), ("data", "model"))
# JAX's devices in another order: the ids in `sdy.mesh` are not 0, 1, 2, ...
TURNED = jax.sharding.Mesh(np.array(jax.devices()).reshape(4, 2).T[::-1], ("data", "model"))


def mapped(ins, outs, mesh=MESH, **options):
    """A decorator: shard_map with these specifications."""
    return lambda function: jax.shard_map(function, mesh=mesh, in_specs=ins, out_specs=outs, **options)


def constrained(x, *spec):
    return lax.with_sharding_constraint(x, NamedSharding(MESH, P(*spec)))


BOTH = P("data", "model")
ROWS = P(("data", "model"), None)


@mapped((BOTH, P("model", None)), P("data", None))
def matmul(x, w):
    return lax.psum(x @ w, "model")


@mapped(BOTH, P(None, "model"), check_vma=False)
def gather_tiled(x):
    return lax.all_gather(x, "data", axis=0, tiled=True)


@mapped(BOTH, P(None, None, None), check_vma=False)
def gather_both(x):
    return lax.all_gather(x, ("model", "data")) * 2


@mapped(BOTH, P("data", "model"), check_vma=False)
def permute(x):
    turned = lax.ppermute(x, "model", [(0, 1), (1, 2), (2, 0)])
    return turned + lax.ppermute(jnp.sin(x), ("data", "model"), [(0, 5), (5, 2), (7, 7)])


@mapped(BOTH, P("data", None), check_vma=False)
def exchange(x):
    return lax.all_to_all(x, "model", split_axis=1, concat_axis=0, tiled=True) * 3


@mapped(BOTH, P("data", "model"))
def index(x):
    number = lax.axis_index("model") * 10 + lax.axis_index("data") + lax.axis_index(("model", "data")) * 100
    return x * number.astype(x.dtype)


@mapped(P(None, None), P("data", "model"), check_vma=False)
def scatter(x):
    part = x * (1.0 + lax.axis_index("data"))
    return lax.psum_scatter(lax.psum_scatter(part, "model", scatter_dimension=1, tiled=True), "data", tiled=True)


@mapped(BOTH, P())
def extremes(x):
    axes = ("data", "model")
    return lax.pmax(x.max(), axes) + lax.pmin(x.min(), axes) * 2 + lax.pmean(x.sum(), axes)


@mapped(BOTH, BOTH)
def nested(x):
    inner = jax.jit(lambda a: a / lax.psum(jnp.exp(a).sum(), ("data", "model")))
    return inner(x) + inner(x * 2)


@mapped(BOTH, P(None, "model"), check_vma=False)
def loop(x):
    def body(i, carry):
        return lax.psum(carry, "data") * 0.25 + i

    return lax.fori_loop(0, 3, body, x)


@mapped(P(None, "model"), P(), axis_names={"model"})
def partly_manual(x):
    return lax.psum(jnp.tanh(x), "model")


@mapped((P("model", None), P()), P("model", None), mesh=TURNED)
def turned(x, w):
    return x * (1 + lax.axis_index("model")).astype(x.dtype) + w[:1, :1] * lax.axis_index("model")


def shardings(x, w):
    hidden = constrained(jnp.tanh(constrained(x, "data", None) @ w), "data", "model")
    return constrained(hidden, P.UNCONSTRAINED, "model").sum(0), constrained(hidden @ w.T, ("data", "model"))


def mixed(x, w):
    hidden = constrained(x * 2, "data", None)
    return jnp.sin(matmul(hidden, w)) + constrained(w[:8] * 2, None, "model")


def gradient(x, w):
    return jax.grad(lambda x, w: jnp.sum(jnp.sin(matmul(x, w)) ** 2), argnums=(0, 1))(x, w)


CASES = [
    (matmul, (X, W)), (gather_tiled, (X,)), (gather_both, (X,)), (permute, (X,)), (exchange, (X,)), (index, (X,)),
    (scatter, (X,)), (extremes, (X,)), (nested, (X,)), (loop, (X,)), (partly_manual, (X,)), (turned, (X, W)),
    (shardings, (X, W)), (mixed, (X, W)), (gradient, (X, W)),
]  # fmt: skip
# JAX has no derivative of pmax, and a loop of `while` has none in reverse mode.
WITHOUT_GRADIENT = (extremes, loop)
# Meshes of the library: the axes of JAX's, in another order, with a further one.
MESHES = {
    "as JAX's": {"data": 2, "model": 4},
    "in another order": {"model": 4, "data": 2},
    "with a further axis": {"data": 2, "more": 1, "model": 4},
}


def created(env, axes):
    """A mesh and its place."""
    mesh, names = Mesh(), texts(*[name.encode() for name in axes])
    sizes, count = (c_int64 * len(axes))(*axes.values()), int(np.prod(list(axes.values())))
    ordinals = (c_int32 * count)(*reversed(range(count)))
    ok(lxla.lib.lxla_mesh_create(env, names, sizes, len(axes), ordinals, byref(mesh)))
    return mesh, give(lxla.lib.lxla_mesh_device, Device, mesh)


def exported(function, arguments, mesh):
    given = [jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=NamedSharding(mesh, P())) for x in arguments]
    return bytes(export.export(jax.jit(function))(*given).serialize())


def text_of(computation):
    out = c_void_p()
    ok(lxla.lib.lxla_computation_stablehlo(computation, byref(out)))
    made = ctypes.string_at(out)
    lxla.lib.lxla_string_free(out)
    return made


def loss(function):
    return lambda *xs: sum(jnp.sum(jnp.sin(x)) for x in jax.tree.leaves(function(*xs)))


def check_values(env, mesh, place, function, arguments, of):
    computation = imported(env, exported(function, arguments, of), mesh=mesh)
    wanted = jax.tree.leaves(jax.jit(function)(*arguments))
    compare("values", call(env, place, computation, arguments, wanted), wanted)
    counts = [c_size_t() for _ in range(3)]
    ok(lxla.lib.lxla_computation_info(computation, *map(byref, counts)))
    if counts[2].value == 0:
        again = imported(env, text_of(computation), mesh=mesh)
        compare("values of the text", call(env, place, again, arguments, wanted), wanted)


def check_jax(env, mesh, place, function, arguments, of):
    """JAX calls the export of the import, and differentiates it."""
    computation = imported(env, exported(function, arguments, of), mesh=mesh)
    differentiates = function not in WITHOUT_GRADIENT
    path = os.path.join(tempfile.gettempdir(), f"lxla_{os.getpid()}.jax")
    try:
        ok(written(computation, path, format=JAX, vjp_order=int(differentiates)))
        with open(path, "rb") as file:
            data = file.read()
    finally:
        Path(path).unlink(missing_ok=True)
    file = export.deserialize(bytearray(data))
    assert file.nr_devices == 8, file.nr_devices
    wanted = jax.tree.leaves(jax.jit(function)(*arguments))
    compare("values of the export", call(env, place, imported(env, data, mesh=mesh), arguments, wanted), wanted)
    try:
        file.call(*arguments)
        raise AssertionError("JAX called a function of 8 devices on one")
    except ValueError as refusal:
        assert "exported for 8 devices" in str(refusal), refusal
    if list(mesh_axes(data)) != list(of.axis_names):
        return  # JAX does not place results of a mesh whose axes are in another order than its caller's.
    whole, split = NamedSharding(of, P()), NamedSharding(of, P("data"))
    for placed in (whole, split):
        given = [jax.device_put(x, placed) for x in arguments]
        got = jax.tree.leaves(jax.jit(file.call, out_shardings=whole)(*given))
        compare("values in JAX", [np.asarray(x).tobytes() for x in got], wanted)
        if differentiates:
            places = tuple(range(len(arguments)))
            wanted_gradients = jax.jit(jax.grad(loss(function), argnums=places))(*arguments)
            got = jax.jit(jax.grad(loss(file.call), argnums=places), out_shardings=whole)(*given)
            compare("gradients in JAX", [np.asarray(x).tobytes() for x in got], wanted_gradients)


def mesh_axes(data):
    """Names of the axes of the mesh of a program."""
    out = c_void_p()
    ok(lxla.lib.lxla_module_describe(data, len(data), byref(out)))
    (mesh,) = json.loads(ctypes.string_at(out))["meshes"]
    lxla.lib.lxla_string_free(out)
    return [axis["name"] for axis in mesh["axes"]]


def check_gradient(env, mesh, place, function, arguments, of):
    computation = imported(env, exported(loss(function), arguments, of), mesh=mesh)
    options = types.lxla_vjp_options(struct_size=ctypes.sizeof(types.lxla_vjp_options))
    derived = give(lxla.lib.lxla_computation_value_and_grad, Computation, computation, byref(options))
    value, gradients = jax.jit(jax.value_and_grad(loss(function), argnums=tuple(range(len(arguments)))))(*arguments)
    wanted = [value, *gradients]
    compare("gradient", call(env, place, derived, arguments, wanted), wanted)


def check_batch(env, mesh, place, function, arguments, of):
    computation = imported(env, exported(function, arguments, of), mesh=mesh)
    results = len(jax.tree.leaves(jax.eval_shape(function, *arguments)))
    axes = [0] + [-1] * (len(arguments) - 1)
    batched = give(
        lxla.lib.lxla_computation_vmap, Computation, computation,
        (c_int64 * len(axes))(*axes), len(axes), (c_int64 * results)(*[0] * results), results, 3,
    )  # fmt: skip
    rows = [arguments[0] * scale for scale in np.float32([1, 0.5, -0.75])]
    each = [jax.tree.leaves(jax.jit(function)(row, *arguments[1:])) for row in rows]
    wanted = [np.stack([np.asarray(x) for x in parts]) for parts in zip(*each, strict=True)]
    compare("batch", call(env, place, batched, [np.stack(rows), *arguments[1:]], wanted), wanted)


def check_refusals(env):
    """Without a mesh, shardings are ignored and manual computations refused; a mesh that does not fit is refused."""
    wanted = jax.tree.leaves(jax.jit(shardings)(X, W))
    for place in (lxla.cpu(), lxla.xla()):
        computation = imported(env, exported(shardings, (X, W), MESH))
        compare("without a mesh", call(env, place, computation, (X, W), wanted), wanted)
    single, place = created(env, {"data": 1})
    computation = imported(env, exported(shardings, (X, W), MESH), mesh=single)
    compare("on a mesh of one device", call(env, place, computation, (X, W), wanted), wanted)
    other, _ = created(env, {"data": 4, "model": 2})
    foreign, _ = created(env, {"rows": 8})
    data = exported(matmul, (X, W), MESH)
    for mesh, status, words in [
        (None, constants.UNIMPLEMENTED, "options.mesh"),
        (single, constants.UNIMPLEMENTED, "options.mesh"),
        (other, constants.INVALID_ARGUMENT, 'an axis "data" of size 2'),
        (foreign, constants.INVALID_ARGUMENT, 'an axis "data" of size 2'),
        (Mesh(12345), constants.INVALID_HANDLE, "options.mesh"),
    ]:
        options = options_of(mesh=mesh)
        got = lxla.lib.lxla_computation_import(env, data, len(data), byref(options), byref(Computation()))
        message = lxla.lib.lxla_last_error_message().decode()
        assert got == status and words in message, f"{got}, {message}; want {status} and {words}"


def check_samples(env):
    """Exports for 4 devices in data/."""
    mesh, place = created(env, {"a": 2, "b": 2})
    for name in ("sharded", "manual"):
        values = np.load(DATA / f"{name}.npz")
        arguments = [values[f"in{i}"] for i in range(len(values)) if f"in{i}" in values]
        for suffix in (".jax", ".mlirbc"):
            computation = imported(env, (DATA / f"{name}{suffix}").read_bytes(), mesh=mesh)
            compare(name, call(env, place, computation, arguments, [values["out0"]]), [values["out0"]])


SUM_ON_A_MESH = """
module {{
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {{
    %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{{"x", "y"}}]>] out_shardings=[<@mesh, [{{"x", "y"}}]>]
        manual_axes={{"x", "y"}} (%piece: tensor<1xf32>) {{
      %1 = "stablehlo.all_reduce"(%piece) <{{{attributes}}}> ({{
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %2 = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %2 : tensor<f32>
      }}) : (tensor<1xf32>) -> tensor<1xf32> loc("layer/sum")
      sdy.return %1 : tensor<1xf32>
    }} : (tensor<8xf32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }}
}}
"""
CHANNEL = "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, "
ALONE, EMPTY = "replica_groups = dense<0> : tensor<1x1xi64>", "replica_groups = dense<> : tensor<0x0xi64>"
PAIRS = "replica_groups = dense<[[0, 1], [2, 3], [4, 5], [6, 7]]> : tensor<4x2xi64>"


def check_channels(env):
    """What groups list depends on the channel: the specification of StableHLO, `all_reduce`. XLA gives these values.

    The module does not state its number of partitions, and the operation has a location.
    """
    x = np.arange(1, 9, dtype=np.float32)
    mesh, place = created(env, {"x": 4, "y": 2})
    pairs = np.repeat(x.reshape(4, 2).sum(1), 2)
    for attributes, wanted in [
        (EMPTY, x),
        (ALONE, x),
        (CHANNEL + EMPTY, np.full(8, 36)),
        (CHANNEL + ALONE, np.full(8, 36)),
        (CHANNEL + PAIRS + ", use_global_device_ids", pairs),
    ]:
        computation = imported(env, SUM_ON_A_MESH.format(attributes=attributes).encode(), mesh=mesh)
        wanted = wanted.astype(np.float32)
        compare(attributes, call(env, place, computation, [x], [wanted]), [wanted])
        again = imported(env, text_of(computation), mesh=mesh)
        compare(f"{attributes}, written", call(env, place, again, [x], [wanted]), [wanted])
    data = SUM_ON_A_MESH.format(attributes=CHANNEL + PAIRS).encode()
    status = lxla.lib.lxla_computation_import(env, data, len(data), byref(options_of(mesh=mesh)), byref(Computation()))
    message = lxla.lib.lxla_last_error_message().decode()
    assert status == constants.INVALID_ARGUMENT and "of replicas" in message, message


def main():
    lxla.load(sys.argv[1])
    names = sys.argv[2:]
    env = lxla.new_env(device_count=8)
    failures, count = [], 0

    def tried(name, check, *arguments):
        nonlocal count
        count += 1
        try:
            check(env, *arguments)
        except Exception as failure:  # also those of JAX, which names no case
            failures.append(f"{name}: {type(failure).__name__}: {failure}")

    if not names:
        tried("refusals", check_refusals)
        tried("samples", check_samples)
        tried("channels", check_channels)
    for how, axes in MESHES.items():
        mesh, place = created(env, axes)
        for function, arguments in CASES:
            if names and function.__name__ not in names:
                continue
            of = TURNED if function is turned else MESH
            for check in (check_values, check_gradient, check_batch, check_jax):
                if check is check_gradient and function in WITHOUT_GRADIENT:
                    continue
                tried(f"{function.__name__}, {check.__name__}, {how}", check, mesh, place, function, arguments, of)
    for failure in failures:
        print(failure)
    print(f"{count} checks, {len(failures)} failed")
    assert count > 0
    sys.exit(len(failures) > 0)


if __name__ == "__main__":
    main()
