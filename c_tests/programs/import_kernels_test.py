"""Custom calls of programs that JAX exports, as calls of registered kernels: python import_kernels_test.py
/path/to/liblazyxla.so, with JAX."""

import ctypes
import json
import os
import sys
from ctypes import byref

if sys.version_info < (3, 11):
    print("JAX 0.10.2 needs Python 3.11")
    sys.exit(77)  # ctest counts 77 as skipped
sys.dont_write_bytecode = True
os.environ["JAX_PLATFORMS"] = "cpu"
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../abi"))
import ctypes_test as lxla
import jax
import numpy as np
from ctypes_test import Computation, give, ok
from header import types
from jax import export
from programs import call, compare, imported, options_of

jax.config.update("jax_enable_x64", True)
TARGET = "mine.scale"
ATTRIBUTES = {
    "factor": np.float32(2.5), "count": 3, "name": 'a "name"', "flag": True, "list": np.array([1, -2, 3], np.int32),
    "floats": np.array([1.5, 2.5], np.float32), "two": np.array([[1.0, 2.0], [3.0, 4.0]], np.float64),
    "equal": np.ones((2, 2), np.float32), "half": 1.5, "byte": np.uint8(200),
}  # fmt: skip
seen = []


@types.lxla_kernel_fn
def scale(given, _):
    """Multiplies the input by `factor`, and returns the sizes of the input as the second output."""
    given = given.contents
    seen.append((given.target, given.attributes_json))
    attributes = json.loads(given.attributes_json)
    x = given.inputs[0]
    dims = [x.dims[i] for i in range(x.rank)]
    data = np.frombuffer(ctypes.string_at(x.data, x.size_bytes), np.float32)
    scaled = (data * np.float32(attributes["factor"])).tobytes()
    sizes = np.array(dims, np.int32).tobytes()
    for output, made in zip((given.outputs[0], given.outputs[1]), (scaled, sizes), strict=True):
        assert output.size_bytes == len(made)
        ctypes.memmove(output.data, made, len(made))
    return 0


def scaled(x, side_effect=False, layouts=None, **attributes):
    results = (jax.ShapeDtypeStruct(x.shape, x.dtype), jax.ShapeDtypeStruct((x.ndim,), np.int32))
    made = jax.ffi.ffi_call(TARGET, results, has_side_effect=side_effect, input_layouts=layouts)
    return made(x, **{**ATTRIBUTES, **attributes})


def exported(function, x):
    unchecked = [export.DisabledSafetyCheck.custom_call(TARGET)]
    made = export.export(jax.jit(function), disabled_checks=unchecked)(jax.ShapeDtypeStruct(x.shape, x.dtype))
    return bytes(made.serialize())


def refused(env, data, code, *words):
    made = Computation()
    status = lxla.lib.lxla_computation_import(env, data, len(data), byref(options_of()), byref(made))
    message = lxla.lib.lxla_last_error_message().decode()
    assert status == code, f"status {status}: {message}"
    for word in words:
        assert word in message, message


def main():
    lxla.load(sys.argv[1])
    env = lxla.new_env()
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    data = exported(lambda x: [y + 1 for y in scaled(jax.numpy.sin(x))], x)
    unimplemented = lxla.UNIMPLEMENTED
    refused(env, data, unimplemented, f'"{TARGET}"', "lxla_kernel_register", "ffi_call")

    options = types.lxla_kernel_options(struct_size=ctypes.sizeof(types.lxla_kernel_options))
    ok(lxla.lib.lxla_kernel_register(env, TARGET.encode(), scale, None, byref(options)))
    computation = imported(env, data)
    wanted = [np.sin(x) * np.float32(2.5) + 1, np.array([3, 4], np.int32)]
    for device in (lxla.cpu(), lxla.xla()):
        seen.clear()
        compare("a kernel of the program", call(env, device, computation, [x], wanted), wanted)
        target, attributes = seen[0]
        assert target == TARGET.encode(), target
        plain = {name: np.asarray(value).tolist() for name, value in ATTRIBUTES.items()}
        assert json.loads(attributes) == plain, attributes

    # In loops and batches.
    looped = exported(lambda x: jax.lax.fori_loop(0, 3, lambda _, y: scaled(y)[0], x), x)
    wanted = [x * np.float32(2.5) ** 3]
    for device in (lxla.cpu(), lxla.xla()):
        compare("a kernel in a loop", call(env, device, imported(env, looped), [x], wanted), wanted)
    axes = (ctypes.c_int64 * 2)(0, 0)
    batched = give(lxla.lib.lxla_computation_vmap, Computation, computation, axes, 1, axes, 2, 4)
    many = np.stack([x, x + 1, x * 2, -x])
    wanted = [np.sin(many) * np.float32(2.5) + 1, np.tile(np.array([3, 4], np.int32), (4, 1))]
    compare("a batch of a kernel", call(env, lxla.cpu(), batched, [many], wanted), wanted)

    refused(env, exported(lambda x: scaled(x, side_effect=True), x), unimplemented, TARGET, "effects")
    refused(env, exported(lambda x: scaled(x, layouts=[(1, 0)]), x), unimplemented, "operand_layouts", "row-major")
    refused(env, exported(lambda x: scaled(x, factor=np.float32(np.inf)), x), unimplemented, '"factor"', "inf")
    # Small files with large attributes: of no elements, and named often.
    many = ", ".join(["#a"] * 1000)
    for attribute in ("dense<> : tensor<1099511627776x0xi32>", f"[{many}]"):
        text = f"""#a = dense<1> : tensor<65536xi32>
            func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {{
              %r = stablehlo.custom_call @{TARGET}(%x) {{api_version = 4 : i32, backend_config = {{a = {attribute}}}}}
                : (tensor<2xf32>) -> tensor<2xf32>
              return %r : tensor<2xf32>
            }}"""
        refused(env, text.encode(), unimplemented, '"a"', "more than 65536 values")
    ok(lxla.lib.lxla_kernel_unregister(env, TARGET.encode()))
    refused(env, data, unimplemented, "lxla_kernel_register")
    # A computation keeps its kernel.
    wanted = [np.sin(x) * np.float32(2.5) + 1, np.array([3, 4], np.int32)]
    compare("an unregistered kernel", call(env, lxla.cpu(), computation, [x], wanted), wanted)
    print("kernels of imported programs: all right")


if __name__ == "__main__":
    main()
