"""StableHLO's own tests: python stablehlo_test.py /path/to/liblazyxla.so FOLDER [PATTERN], where FOLDER is `stablehlo`
in a checkout of openxla/stablehlo, which is not part of this repository. A PATTERN chooses files.

Each function of `testdata`, `tests/interpret` and `tests/math` that checks values is imported from its text, evaluated
on cpu and run on the plugin's device, and its values are those that the test expects. The same programs in MLIR's
generic form, as bytecode and as portable artifacts of StableHLO 0.9.0, 1.1.0 and the newest version of jaxlib have
equal bytes. Programs with free sizes, which have no expected values, are compared with XLA, after jaxlib has put in the
sizes. What is refused is UNIMPLEMENTED for the reasons below."""

import ctypes
import io
import os
import re
import sys
from collections import Counter
from ctypes import byref, c_size_t
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../abi"))
import ctypes_test as lxla
import jax
import ml_dtypes
import numpy as np
import programs
from ctypes_test import Computation, Tensor, give, ok
from jax._src.interpreters import mlir
from jax._src.lib import _jax
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo
from stablehlo_rewrite import checking, modules, with_sizes

jax.config.update("jax_enable_x64", True)

# Why functions are refused: texts of messages.
REASONS = [
    "elements of type ",  # integers of 2 and 4 bits, floats of 4 and 6 bits, quantized types
    "there are no quantized types",
    "interpreter.",  # several programs beside each other
    "there are no tokens",
    "no input and output while it runs",
    "chlo.scan",
    "chlo.ragged_dot",
    "want real numbers",  # atan2, cbrt
    "want integers and floats",  # bits of preds and complex numbers
]
# Parts of the paths of tests in which values differ: tests of the checks themselves, expected values of nine digits, and
# functions whose values for infinities, NaN and subnormal numbers are C's (annex G) or the plugin's.
OTHER_VALUES = [
    "interpret/check.mlir",
    "math/ulp_difference",
    "log_plus_one_op_test_f64",
    "math/exponential_complex",
    "math/sqrt_complex128",
    "constant_op_test_f8_e8m0fnu",
    "reduce_precision_op_test_f64_zero_mantissa_bits",
]
# Least numbers of what is compared, at commit 3c9301c11.
LEAST = {
    "values on cpu": 2800,
    "values on xla": 2800,
    "as generic": 2700,
    "as bytecode": 2700,
    "as 0.9.0": 2600,
    "free sizes on cpu": 380,
    "free sizes on xla": 380,
}
# Expected values of few digits, or less accurate than the library's.
FEW_DIGITS = [
    "interpret/log_plus_one",
    "interpret/triangular_solve",
    "interpret/power",
    "chlo",
    "log1p",
    "tanh_complex64",
]
SIZES = [(3, 9), (4, 9), (8, 9), (5, 9), (2, 9), (12, 9), (1, 9), (3, 1), (4, 1), (3, 0)]
VERSIONS = ["0.9.0", "1.1.0", stablehlo.get_current_version()]
NUMPY = {
    "i1": "bool", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "ui8": "uint8", "ui16": "uint16",
    "ui32": "uint32", "ui64": "uint64", "f16": "float16", "f32": "float32", "f64": "float64",
    "complex<f32>": "complex64", "complex<f64>": "complex128",
}  # fmt: skip
DTYPES = {number: name for name, number in programs.DTYPE.items()}
EIGHT_BITS = {"f8e4m3fn": "float8_e4m3fn", "f8e5m2": "float8_e5m2"}


def dtype_of(name):
    """The dtype of NumPy for a dtype of the library."""
    known = {ours: numpy for numpy, ours in programs.NUMBERS.items()}
    if name in known and name != "bf16":
        return np.dtype(known[name])
    other = "bfloat16" if name == "bf16" else EIGHT_BITS.get(name, f"float8_{name[2:]}")
    return np.dtype(getattr(ml_dtypes, other))


def array_of(tensor):
    rank = give(lxla.lib.lxla_tensor_rank, c_size_t, tensor).value
    dims = (ctypes.c_int64 * max(rank, 1))()
    ok(lxla.lib.lxla_tensor_dims(tensor, dims, rank))
    dtype = dtype_of(DTYPES[give(lxla.lib.lxla_tensor_dtype, ctypes.c_int32, tensor).value])
    shape = tuple(dims[:rank])
    size = int(np.prod(shape)) * dtype.itemsize
    data = ctypes.create_string_buffer(max(size, 1))
    ok(lxla.lib.lxla_tensor_read(tensor, data, size))
    return np.frombuffer(data.raw[:size], dtype).reshape(shape)


def imported(env, data, function):
    options = programs.options_of()
    options.function = function.encode()
    return give(lxla.lib.lxla_computation_import, Computation, env, data, len(data), byref(options))


def results_of(env, device, computation, arguments=()):
    counts = [c_size_t() for _ in range(3)]
    ok(lxla.lib.lxla_computation_info(computation, *map(byref, counts)))
    given = [programs.tensor(env, device, x) for x in arguments]
    results = (Tensor * counts[1].value)()
    passed = (Tensor * max(len(given), 1))(*given)
    ok(lxla.lib.lxla_computation_call(computation, passed, len(given), results, len(results)))
    ok(lxla.lib.lxla_sync(results, len(results)))
    arrays = [array_of(result) for result in results]
    lxla.release(*given, *results)
    return arrays


def difference(got, want, units, of_each=False):
    """None if two arrays are equal up to `units` of the rounding of their largest element, or of each element."""
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"{got.dtype}{got.shape} instead of {want.dtype}{want.shape}"
    if got.dtype.kind in "iub":
        return None if (got == want).all() else f"{got[got != want][:4]} instead of {want[got != want][:4]}"
    dtype = want.real.dtype
    rounding = float(ml_dtypes.finfo(dtype).eps)
    wide = np.complex128 if got.dtype.kind == "c" else np.float64
    got, want = (np.atleast_1d(x.astype(wide)).ravel().view(np.float64) for x in (got, want))
    other = (got != want) & ~(np.isnan(got) & np.isnan(want))
    is_finite = np.isfinite(got) & np.isfinite(want)
    if (other & ~is_finite).any():
        return f"{got[other][:4]} instead of {want[other][:4]}"
    sizes = np.where(np.isfinite(want), np.abs(want), 0)
    if wide is np.complex128:
        sizes = np.repeat(sizes.reshape(-1, 2).max(axis=1), 2)
    if not of_each:
        sizes = np.full_like(sizes, sizes.max(initial=0))
    least = float(ml_dtypes.finfo(dtype).tiny)
    error = (np.abs(got[other] - want[other]) / np.maximum(sizes[other], least)).max(initial=0) / rounding
    return None if error <= units else f"{error:.1f} units, {got[other][:2]} instead of {want[other][:2]}"


def forms_of(text):
    """The program in other forms, as far as jaxlib writes them."""
    with mlir.make_ir_context() as context:
        context.allow_unregistered_dialects = True
        module = ir.Module.parse(text)
        yield "generic", module.operation.get_asm(print_generic_op_form=True).encode()
        out = io.BytesIO()
        module.operation.write_bytecode(out)
        yield "bytecode", out.getvalue()
        for version in VERSIONS:
            try:
                yield version, stablehlo.serialize_portable_artifact_str(text, version)
            except ValueError:
                pass  # an operation of CHLO, or one that is newer


def check_function(env, devices, place, function, text, counted):
    """Checks one function. Yields what is wrong."""
    try:
        computation = imported(env, text.encode(), function)
    except AssertionError as e:
        known = "UNIMPLEMENTED" in str(e) and any(reason in str(e) for reason in REASONS)
        counted["refused"] += 1
        # Checks in other functions of the module are not operations of a program.
        if not known and "check." not in str(e) and "interpreter." not in str(e):
            yield f"{place}: {e}"
        return
    units = 512 if any(part in place for part in FEW_DIGITS) else 8
    first = None
    for name, device in devices:
        arrays = results_of(env, device, computation)
        first = first or arrays
        for got, want in zip(arrays[::2], arrays[1::2], strict=True):
            # Elementwise functions, of numbers of all sizes.
            wrong = difference(got, want, units, of_each="/math/" in place)
            if wrong and not any(part in place for part in OTHER_VALUES):
                yield f"{place} on {name}: {wrong}"
        counted[f"values on {name}"] += 1
    for form, data in forms_of(text):
        other = imported(env, data, function)
        arrays = results_of(env, devices[0][1], other)
        if [(x.dtype, x.shape, x.tobytes()) for x in arrays] != [(x.dtype, x.shape, x.tobytes()) for x in first]:
            yield f"{place} as {form}: other values than from text"
        counted[f"as {form}"] += 1
        ok(lxla.lib.lxla_computation_release(other))
    ok(lxla.lib.lxla_computation_release(computation))


def array_for(ty, random):
    dims, element = re.match(r"tensor<((?:\d+x)*)(.*)>$", ty).groups()
    shape = tuple(int(size) for size in dims.split("x") if size)
    dtype = np.dtype(ml_dtypes.bfloat16) if element == "bf16" else np.dtype(NUMPY[element])
    if dtype.kind in "iub":
        return random.integers(0, 2 if dtype == bool else 3, shape).astype(dtype)
    return random.uniform(0.1, 1, shape).astype(dtype)


def by_xla(text, arrays):
    """Returns the results of XLA, after jaxlib has put in the sizes."""
    with mlir.make_ir_context():
        code = mlir.module_to_bytecode(ir.Module.parse(text))
        fixed = _jax.mlir.refine_polymorphic_shapes(code, enable_shape_assertions=False, validate_static_shapes=True)
    device = jax.devices("cpu")[0]
    with mlir.make_ir_context():
        devices = _jax.DeviceList((device,))
        program = device.client.compile_and_load(ir.Module.parse(fixed), devices, _jax.CompileOptions())
    results = program.execute_sharded([jax.device_put(x) for x in arrays])
    return [np.asarray(result[0]) for result in results.disassemble_into_single_device_arrays()]


def check_free(env, devices, path, counted):
    """Checks a program with free sizes. Yields what is wrong."""
    for size, constants in SIZES:
        try:
            text, types = with_sizes(path.read_text(), size, constants)
            arrays = [array_for(ty, np.random.default_rng(0)) for ty in types]
            wanted = by_xla(text, arrays)
            break
        except Exception:  # a size that the program does not have
            continue
    else:
        counted["free sizes without values by XLA"] += 1
        return
    computation = programs.imported(env, text.encode(), [x.shape for x in arrays])
    for name, device in devices:
        for got, want in zip(results_of(env, device, computation, arrays), wanted, strict=True):
            if wrong := difference(got, want, 16):
                yield f"{path.name} of size {size} on {name}: {wrong}"
        counted[f"free sizes on {name}"] += 1


def main():
    lxla.load(sys.argv[1])
    folder, pattern = Path(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else "*"
    env = lxla.new_env()
    devices = [("cpu", lxla.cpu()), ("xla", lxla.xla())]
    counted, wrong = Counter(), []
    for part in ("testdata", "tests/interpret", "tests/math"):
        for path in sorted((folder / part).glob(f"**/{pattern}.mlir")):
            for module in modules(path.read_text()):
                for function, text, _ in checking(module):
                    place = f"{path.relative_to(folder)} {function}"
                    wrong += check_function(env, devices, place, function, text, counted)
    for path in sorted((folder / "testdata/dynamic").glob(f"{pattern}.mlir")):
        wrong += check_free(env, devices, path, counted)
    print("\n".join(wrong))
    print(", ".join(f"{name}: {number}" for name, number in sorted(counted.items())))
    assert counted, f"{folder} has no tests"
    if pattern == "*":
        too_few = {name: least for name, least in LEAST.items() if counted[name] < least}
        assert not too_few, f"fewer than {too_few}: functions are refused, or forms are not written"
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
