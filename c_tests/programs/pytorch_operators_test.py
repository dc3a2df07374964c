"""Operators of PyTorch alone: python pytorch_operators_test.py /path/to/liblazyxla.so

Each program is an archive that this file writes. Values and derivatives are what PyTorch documents or computes, above
all where the library's own operations differ: at bounds, for equal elements, at 0, for integers and for views."""

import collections
import ctypes
import json
import os
import random
import sys
import zipfile
from ctypes import byref, c_size_t
from io import BytesIO

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../abi"))
import ctypes_test as lxla
import numpy as np
from ctypes_test import INVALID_ARGUMENT, UNIMPLEMENTED, Computation, ok, refused, text
from header import types
from programs import imported
from pytorch_records import archive_of, differences, load_records
from pytorch_test import DATA, Model, damaged, imported_or_refused, read

SCALAR_TYPES = {"uint8": 1, "int32": 4, "int64": 5, "float32": 7, "float64": 8, "bool": 12}
NAN, INF = float("nan"), float("inf")


class Text(str):
    """A text among arguments, where a str is the name of a tensor."""


class Dtype(str):
    """A dtype among arguments."""


def argument(value):
    if value is None:
        return {"as_none": True}
    if isinstance(value, Text):
        return {"as_string": str(value)}
    if isinstance(value, Dtype):
        return {"as_scalar_type": SCALAR_TYPES[str(value)]}
    if isinstance(value, str):
        return {"as_tensor": {"name": value}}
    if isinstance(value, dict):
        return {"as_graph": {"name": "graph", "graph": value}}
    if isinstance(value, bool):
        return {"as_bool": value}
    if isinstance(value, int):
        return {"as_int": value}
    if isinstance(value, float):
        return {"as_float": value if np.isfinite(value) else {INF: "Infinity", -INF: "-Infinity"}.get(value, "NaN")}
    if value and isinstance(value[0], str):
        return {"as_tensors": [{"name": name} for name in value]}
    return {"as_ints": list(value)}


def graph_of(inputs, nodes, outputs, types_of=()):
    """A graph; `nodes` are tuples of a target, arguments by name (or in order), and the names of results."""
    made = []
    for target, given, results in nodes:
        named = given.items() if isinstance(given, dict) else (("", value) for value in given)
        target = target if target.startswith(("higher_order.", "_operator.", "prims.")) else f"aten.{target}"
        made.append({
            "target": target if target.startswith("_") else f"torch.ops.{target}",
            "inputs": [{"name": name, "arg": argument(value), "kind": 1} for name, value in named],
            "outputs": [{"as_tensor": {"name": name}} for name in results],
            "metadata": {},
        })  # fmt: skip
    tensor = lambda name: {"as_tensor": {"name": name}}
    return {
        "inputs": [tensor(name) for name in inputs],
        "outputs": [tensor(name) for name in outputs],
        "nodes": made,
        "tensor_values": dict(types_of),
    }


def archive(inputs, nodes, outputs):
    """The bytes of an archive of a program without weights. `inputs` are arrays by name."""
    types_of = {}
    for name, value in inputs.items():
        strides = [int(stride) // value.itemsize for stride in np.empty(value.shape, value.dtype).strides]
        types_of[name] = {
            "dtype": SCALAR_TYPES[value.dtype.name],
            "sizes": [{"as_int": size} for size in value.shape],
            "strides": [{"as_int": stride} for stride in strides],
        }
    specs = [{"user_input": {"arg": argument(name)}} for name in inputs]
    program = {
        "schema_version": {"major": 8, "minor": 20},
        "graph_module": {
            "graph": graph_of(inputs, nodes, outputs, types_of.items()),
            "signature": {
                "input_specs": specs,
                "output_specs": [{"user_output": {"arg": argument(name)}} for name in outputs],
            },
        },
    }
    made = BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_STORED) as file:
        file.writestr("p/models/model.json", json.dumps(program))
    return made.getvalue()


def model_of(env, device, data):
    model = Model.__new__(Model)
    model.env, model.device, model.imported = env, device, imported(env, data)
    described = json.loads(text(lxla.lib.lxla_computation_describe, model.imported))
    model.inputs, model.results = described["parameters"], described["results"]
    return model


def values_of(env, inputs, nodes, outputs=("y",), device=None):
    model = model_of(env, device or lxla.cpu(), archive(inputs, nodes, outputs))
    values = model.call(list(inputs.values()))
    ok(lxla.lib.lxla_computation_release(model.imported))
    return values


def gradients_of(env, inputs, nodes, device):
    """The gradients of the sum of y by the float inputs."""
    model = model_of(env, device, archive(inputs, nodes, ["y"]))
    options = types.lxla_vjp_options(struct_size=ctypes.sizeof(types.lxla_vjp_options))
    forward, backward, residuals = Computation(), Computation(), c_size_t()
    lib = lxla.lib
    ok(lib.lxla_computation_vjp(model.imported, byref(options), byref(forward), byref(backward), byref(residuals)))
    given = model.tensors(list(inputs.values()), model.inputs)
    made = model.run(forward, given, 1 + residuals.value)
    ones = model.tensors([np.ones(model.results[0]["dims"])], model.results[:1])
    entries = [entry for entry in model.inputs if entry["dtype"][0] == "f"]
    found = model.run(backward, [*made[1:], *ones], len(entries))
    values = [read(tensor, entry) for tensor, entry in zip(found, entries, strict=True)]
    for computation in (model.imported, forward, backward):
        ok(lib.lxla_computation_release(computation))
    return values


def f32(*values):
    return np.array(values, np.float32)


def s64(*values):
    return np.array(values, np.int64)


def one(target, given, results=("y",)):
    return [(target, given, results)]


def close(what, got, want):
    want = np.asarray(want)
    assert got.shape == want.shape, f"{what}: {got.shape} instead of {want.shape}"
    assert np.allclose(got.astype(np.float64), want.astype(np.float64), 1e-5, 1e-6, equal_nan=True), (
        f"{what}: {got} instead of {want}"
    )


ZERO = np.zeros((2, 3), np.float32)
TIES = f32(1, 3, 3, 0)
# A name, inputs, a target with its arguments, the value, and the gradients by the float inputs.
DERIVATIVES = [
    ("clamp", {"x": f32(-2, -1, 0, 1, 2)}, "clamp.default", {"self": "x", "min": -1, "max": 1}, [-1, -1, 0, 1, 1], [0, 0, 1, 0, 0]),
    ("clamp of NaN", {"x": f32(NAN, 2)}, "clamp.default", {"self": "x", "max": 1.0}, [NAN, 1], [1, 0]),
    ("clamp the wrong way", {"x": f32(0, 5)}, "clamp.default", {"self": "x", "min": 3, "max": 1}, [1, 1], [0, 0]),
    ("hardtanh", {"x": f32(-1, 0, 1)}, "hardtanh.default", {"self": "x"}, [-1, 0, 1], [0, 1, 0]),
    ("relu6", {"x": f32(0, 3, 6)}, "relu6.default", {"self": "x"}, [0, 3, 6], [0, 1, 0]),
    ("hardswish", {"x": f32(-3, 0, 3, 4)}, "hardswish.default", {"self": "x"}, [0, 0, 3, 4], [0, 0.5, 1, 1]),
    ("hardsigmoid", {"x": f32(-3, 0, 3)}, "hardsigmoid.default", {"self": "x"}, [0, 0.5, 1], [0, 1 / 6, 0]),
    ("leaky_relu", {"x": f32(-2, 0, 1)}, "leaky_relu.default", {"self": "x"}, [-0.02, 0, 1], [0.01, 0.01, 1]),
    ("elu", {"x": f32(-200, 0, 1)}, "elu.default", {"self": "x", "alpha": 2}, [-2, 0, 1], [0, 2, 1]),
    ("softplus", {"x": f32(0, 100)}, "softplus.default", {"self": "x"}, [np.log(2), 100], [0.5, 1]),
    ("max by an axis", {"x": TIES}, "max.dim", {"self": "x", "dim": 0}, 3, [0, 1, 0, 0]),
    ("amax", {"x": TIES}, "amax.default", {"self": "x", "dim": [0]}, 3, [0, 0.5, 0.5, 0]),
    ("min by an axis", {"x": f32(2, 0, 0)}, "min.dim", {"self": "x", "dim": -1}, 0, [0, 1, 0]),
    ("the norm of 0", {"x": ZERO}, "linalg_vector_norm.default", {"self": "x", "dim": [1]}, [0, 0], ZERO),
    ("a norm", {"x": f32(3, 4)}, "linalg_vector_norm.default", {"self": "x"}, 5, [0.6, 0.8]),
    ("the deviation of a constant", {"x": ZERO + 2}, "std.dim", {"self": "x", "dim": [1]}, [0, 0], ZERO),
    ("a power", {"x": f32(0, -2)}, "pow.Tensor_Scalar", {"self": "x", "exponent": 3}, [0, -8], [0, 12]),
    ("chances of 0 and 1", {"x": f32(0, 1, 0, 1, 0.5), "t": f32(0, 1, 1, 0, 1)}, "binary_cross_entropy.default", {"self": "x", "target": "t", "reduction": 0}, [0, 0, 100, 100, np.log(2)], [0, 0, -1e12, 1e12, -2]),
    ("the absolute value", {"x": f32(-1, 0, 2)}, "abs.default", {"self": "x"}, [1, 0, 2], [-1, 0, 1]),
    ("embedding", {"x": f32([1], [2], [3]), "i": s64(2, 1, 2)}, "embedding.default", {"weight": "x", "indices": "i", "padding_idx": 1}, [[3], [2], [3]], [[0], [0], [2]]),
    ("index", {"x": f32(1, 2, 3), "i": s64(-1, 0)}, "index.Tensor", {"self": "x", "indices": ["i"]}, [3, 1], [1, 0, 1]),
    ("index_put", {"x": f32(1, 2, 3), "i": s64(-1), "v": f32(9)}, "index_put.default", {"self": "x", "indices": ["i"], "values": "v"}, [1, 2, 9], [1, 1, 0]),
    ("gather of a part", {"x": f32([1, 2], [3, 4], [5, 6]), "i": s64([1], [0])}, "gather.default", {"self": "x", "dim": 1, "index": "i"}, [[2], [3]], [[0, 1], [1, 0], [0, 0]]),
    ("scatter to a part", {"x": f32([1, 2], [3, 4]), "i": s64([1])[None, 0]}, "scatter.value", {"self": "x", "dim": 1, "index": "i", "value": 7.0}, [[1, 7], [3, 4]], [[1, 0], [1, 1]]),
    ("adaptive pooling", {"x": f32([[1, 2, 3, 4, 5]])}, "adaptive_avg_pool1d.default", {"self": "x", "output_size": [3]}, [[[1.5, 3, 4.5]]], [[[1 / 2, 1 / 2 + 1 / 3, 1 / 3, 1 / 3 + 1 / 2, 1 / 2]]]),
    ("ceil_mode", {"x": f32([[1, 2, 3, 4, 5]])}, "avg_pool1d.default", {"self": "x", "kernel_size": [2], "ceil_mode": True}, [[[1.5, 3.5, 5]]], [[[0.5, 0.5, 0.5, 0.5, 1]]]),
    ("padding that counts", {"x": f32([[1, 2, 3, 4, 5]])}, "avg_pool1d.default", {"self": "x", "kernel_size": [3], "stride": [2], "padding": [1]}, [[[1, 3, 3]]], [[[1 / 3, 2 / 3, 1 / 3, 2 / 3, 1 / 3]]]),
    ("padding that does not", {"x": f32([[1, 2, 3, 4, 5]])}, "avg_pool1d.default", {"self": "x", "kernel_size": [3], "stride": [2], "padding": [1], "count_include_pad": False}, [[[1.5, 3, 4.5]]], [[[0.5, 0.5 + 1 / 3, 1 / 3, 0.5 + 1 / 3, 0.5]]]),
    ("max pooling of equal elements", {"x": f32([[2, 2, 1, 1]])}, "max_pool1d.default", {"self": "x", "kernel_size": [2]}, [[[2, 1]]], [[[1, 0, 1, 0]]]),
    ("reflect", {"x": f32([[1, 2, 3]])}, "pad.default", {"self": "x", "pad": [2, 1], "mode": Text("reflect")}, [[[3, 2, 1, 2, 3, 2]]], [[[1, 3, 2]]]),
    ("replicate", {"x": f32([[1, 2, 3]])}, "pad.default", {"self": "x", "pad": [2, 1], "mode": Text("replicate")}, [[[1, 1, 1, 2, 3, 3]]], [[[3, 1, 2]]]),
    ("circular", {"x": f32([[1, 2, 3]])}, "pad.default", {"self": "x", "pad": [1, 2], "mode": Text("circular")}, [[[3, 1, 2, 3, 1, 2]]], [[[2, 2, 2]]]),
]  # fmt: skip


def test_derivatives_are_pytorchs(env):
    for device in (lxla.cpu(), lxla.xla()):
        for name, inputs, target, given, value, *gradients in DERIVATIVES:
            results = ("y", "index") if target in ("max.dim", "min.dim") else ("y",)
            inputs = {key: (x[None] if "pool" in target or target == "pad.default" else x) for key, x in inputs.items()}
            inputs = {key: x[0] if x.ndim > 3 else x for key, x in inputs.items()}
            nodes = one(target, given, results)
            close(name, values_of(env, inputs, nodes, device=device)[0], value)
            close(f"gradient of {name}", gradients_of(env, inputs, nodes, device)[0], gradients[0])


# A name, inputs, a target with its arguments, and the value with its dtype.
VALUES = [
    ("floor division", {"x": s64(-7, 7)}, "floor_divide.default", {"self": "x", "other": 2}, s64(-4, 3)),
    ("division that truncates", {"x": s64(-7, 7)}, "div.Tensor_mode", {"self": "x", "other": 2, "rounding_mode": Text("trunc")}, s64(-3, 3)),
    ("division of integers", {"x": s64(-7, 7)}, "div.Tensor", {"self": "x", "other": 2}, f32(-3.5, 3.5)),
    ("floor division of floats", {"x": f32(1, -1)}, "floor_divide.default", {"self": "x", "other": 0.3}, f32(3, -4)),
    ("remainder", {"x": s64(-7, 7)}, "remainder.Scalar", {"self": "x", "other": 3}, s64(2, 1)),
    ("fmod", {"x": s64(-7, 7)}, "fmod.Scalar", {"self": "x", "other": 3}, s64(-1, 1)),
    ("the sign of NaN", {"x": f32(NAN, -2, 0)}, "sign.default", {"self": "x"}, f32(0, -1, 0)),
    ("a sum of bools", {"x": np.array([True, True, False])}, "sum.default", {"self": "x"}, np.int64(2)),
    ("bools and bools", {"x": np.array([True, False]), "z": np.array([True, False])}, "add.Tensor", {"self": "x", "other": "z"}, np.array([True, False])),
    ("integers and a float", {"x": s64(1, 2)}, "add.Tensor", {"self": "x", "other": 0.5}, f32(1.5, 2.5)),
    ("alpha", {"x": f32(1, 2)}, "add.Tensor", {"self": "x", "other": 10, "alpha": 2}, f32(21, 22)),
    ("rsub", {"x": f32(1, 2)}, "rsub.Scalar", {"self": "x", "other": 10}, f32(9, 8)),
    ("where", {"x": s64(1, 2), "c": np.array([True, False])}, "where.ScalarOther", {"condition": "c", "self": "x", "other": 0.5}, f32(1, 0.5)),
    ("casts that wrap", {"x": f32(300, -1, 2.9)}, "to.dtype", {"self": "x", "dtype": Dtype("uint8")}, np.array([44, 255, 2], np.uint8)),
    ("a cast to bools", {"x": f32(0.5, 0, NAN)}, "to.dtype", {"self": "x", "dtype": Dtype("bool")}, np.array([True, False, True])),
    ("an image of whole numbers", {"x": np.array([[[[10, 21], [30, 44]]]], np.uint8)}, "upsample_bilinear2d.vec", {"input": "x", "output_size": [3, 3], "align_corners": False, "scale_factors": None}, np.array([[[[10, 16, 21], [20, 27, 33], [30, 37, 44]]]], np.uint8)),
    ("counts without larger numbers", {"x": s64(0, 2, 2, 9)}, "bincount.default", {"self": "x", "minlength": 4}, s64(1, 0, 2, 0)),
    ("a median that is infinite", {"x": f32(INF, 1, INF)}, "median.default", {"self": "x"}, np.float32(INF)),
    ("a constant", {"x": f32(1, 2)}, "lift_fresh.default", {"self": "x"}, f32(1, 2)),
    ("another device", {"x": f32(1, 2)}, "to.prim_Device", {"self": "x", "dtype": Dtype("float64")}, np.array([1.0, 2.0])),
    ("a copy with strides", {"x": f32(1, 2)}, "prims.copy_strided.default", {"a": "x", "stride": [1]}, f32(1, 2)),
    ("round", {"x": f32(0.5, 1.5, -0.5)}, "round.default", {"self": "x"}, f32(0, 2, 0)),
    ("argmax", {"x": TIES}, "argmax.default", {"self": "x"}, np.int64(1)),
    ("cumsum of integers", {"x": np.array([1, 2], np.int32)}, "cumsum.default", {"self": "x", "dim": 0}, s64(1, 3)),
    ("arange", {"x": f32(0)}, "arange.start_step", {"start": 1, "end": 6, "step": 2}, s64(1, 3, 5)),
    ("arange of floats", {"x": f32(0)}, "arange.start_step", {"start": 0, "end": 1.0, "step": 0.5}, f32(0, 0.5)),
    ("full of an integer", {"x": f32(0)}, "full.default", {"size": [2], "fill_value": 3}, s64(3, 3)),
    ("a sum over no axes", {"x": f32(1, 2)}, "sum.dim_IntList", {"self": "x", "dim": []}, np.float32(3)),
    ("tril", {"x": f32([1, 2], [3, 4])}, "tril.default", {"self": "x"}, f32([1, 0], [3, 4])),
    ("repeat", {"x": f32(1, 2)}, "repeat.default", {"self": "x", "repeats": [2, 2]}, f32([1, 2, 1, 2], [1, 2, 1, 2])),
    ("repeat_interleave", {"x": f32(1, 2)}, "repeat_interleave.self_int", {"self": "x", "repeats": 2}, f32(1, 1, 2, 2)),
    ("var", {"x": f32(1, 2, 6)}, "var.correction", {"self": "x", "dim": [0], "correction": 0}, np.float32(14 / 3)),
    ("slices from the end", {"x": s64(0, 1, 2, 3)}, "slice.Tensor", {"self": "x", "dim": 0, "start": -3, "end": -1}, s64(1, 2)),
    ("a mask in index_put", {"x": f32(1, 2), "m": np.array([False, True]), "v": np.float32(9)}, "index_put.default", {"self": "x", "indices": ["m"], "values": "v"}, f32(1, 9)),
    ("addmm", {"x": f32(NAN, 1), "a": f32([1, 2], [3, 4]), "b": f32([1, 0], [0, 1])}, "addmm.default", {"self": "x", "mat1": "a", "mat2": "b", "beta": 0, "alpha": 2}, f32([2, 4], [6, 8])),
    ("rms_norm", {"x": f32([3, 4])}, "rms_norm.default", {"input": "x", "normalized_shape": [2], "eps": 0.0}, f32([3, 4]) / np.sqrt(12.5, dtype=np.float32)),
]  # fmt: skip


def test_values_are_pytorchs(env):
    for device in (lxla.cpu(), lxla.xla()):
        for name, inputs, target, given, want in VALUES:
            inputs = {key: np.asarray(x) for key, x in inputs.items()}
            (got,) = values_of(env, inputs, one(target, given), device=device)
            assert got.dtype == np.asarray(want).dtype, f"{name}: {got.dtype} instead of {np.asarray(want).dtype}"
            close(name, got, want)


def stored_programs():
    """The programs that pytorch_survey.py stored: a third of them if LXLA_TEST_TURN has a number, such as the number of a commit."""
    records = load_records(DATA / "operators.jsonl.xz")
    assert len(records) >= 1900, len(records)
    turn = os.environ.get("LXLA_TEST_TURN")
    return records[int(turn) % 3 :: 3] if turn else records


def test_programs_of_operators_are_pytorchs(env):
    """Results, changed inputs and gradients that pytorch_survey.py took from PyTorch."""
    records = stored_programs()
    # Compiling all for the plugin's device would take minutes; the survey does.
    for device, chosen in ((lxla.cpu(), records), (lxla.xla(), records[::16])):
        bad = [f"{record['name']}: {line}" for record in chosen for line in differences(env, device, record)]
        assert not bad, "\n".join(bad)


def test_damaged_operators_are_refused(env):
    """Programs of operators with other numbers, names and arguments are imported, or refused with a reason."""
    r = random.Random(5)
    counts = collections.Counter()
    model = "p/models/model.json"
    for record in stored_programs():
        for _ in range(2):
            entries = {**record["entries"], model: damaged(record["entries"][model], r)}
            counts[imported_or_refused(env, archive_of({**record, "entries": entries}), record["name"])] += 1
    assert min(counts[0], counts[INVALID_ARGUMENT], counts[UNIMPLEMENTED]) > 50, counts


COUNT = 40_000
HALF = np.full(COUNT, 0.5, np.float32)

# Operators of a tensor of zeros, their other arguments, and the mean and the variance of what they draw.
DRAWN = [
    ("bernoulli.p", {"p": 0.3}, 0.3, 0.21),
    ("uniform.default", {"from": -1.0, "to": 3.0}, 1.0, 16 / 12),
    ("normal_functional.default", {"mean": 2.0, "std": 3.0}, 2.0, 9.0),
    ("exponential.default", {"lambd": 2.0}, 0.5, 0.25),
    ("geometric.default", {"p": 0.25}, 4.0, 12.0),
    ("log_normal.default", {"mean": 0.0, "std": 0.5}, np.exp(0.125), (np.exp(0.25) - 1) * np.exp(0.25)),
    ("randint_like.low_dtype", {"low": 2, "high": 6}, 3.5, 1.25),
]
# Operators of a tensor of 1/2.
DRAWN_BY_HALVES = [
    ("bernoulli.default", {}, 0.5, 0.25),
    ("poisson.default", {}, 0.5, 0.5),
    ("_standard_gamma.default", {}, 0.5, 0.5),
    ("normal.Tensor_float", {"std": 2.0}, 0.5, 4.0),
    ("alpha_dropout.default", {"p": 0.4, "train": True}, None, None),
]


def drawn(env, device, x, target, given):
    first = {"normal.Tensor_float": "mean", "alpha_dropout.default": "input"}.get(target, "self")
    model = model_of(env, device, archive({"x": x}, one(target, {first: "x", **given}), ("y",)))
    (made,) = model.call([x, np.array([7, 5])])
    ok(lxla.lib.lxla_computation_release(model.imported))
    return np.asarray(made, np.float64)


def test_draws_have_the_means_and_variances_of_their_distributions(env):
    for device in (lxla.cpu(), lxla.xla()):
        cases = [(np.zeros_like(HALF), row) for row in DRAWN] + [(HALF, row) for row in DRAWN_BY_HALVES]
        for x, (target, given, mean, variance) in cases:
            made = drawn(env, device, x, target, given)
            if mean is None:  # two values, which alpha dropout makes of one
                assert len(np.unique(made)) == 2, target
                assert abs((made == made.max()).mean() - 0.6) < 0.02, target
                continue
            error = 5 * np.sqrt(variance / COUNT)
            assert abs(made.mean() - mean) < error, f"{target}: mean {made.mean()} instead of {mean}"
            # The largest fourth moment here is 24 for a variance of 1.
            assert abs(made.var() / variance - 1) < 5 * np.sqrt(40 / COUNT), f"{target}: variance {made.var()}"
        for again in (False, True):
            chances = np.tile(f32(1, 0, 3), (10_000, 1))
            given = {"num_samples": 2, "replacement": again}
            made = drawn(env, device, chances, "multinomial.default", given)
            assert set(np.unique(made)) == {0, 2}
            shares = (made == 2).mean()
            assert abs(shares - (0.75 if again else 0.5)) < 0.02, shares
            assert again or (made[:, 0] != made[:, 1]).all()


def test_rows_that_attend_to_nothing_are_0(env):
    r = np.random.default_rng(5)
    q, k, v = (r.standard_normal((1, 2, 3, 4)).astype(np.float32) for _ in range(3))
    mask = np.array([[True, False, True], [False, False, False], [True, True, True]])
    scores = np.where(mask, q @ k.swapaxes(2, 3) / 2, -INF)
    powers = np.exp(scores - np.where(mask.any(1, keepdims=True), scores.max(-1, keepdims=True), 0))
    wanted = powers / np.maximum(powers.sum(-1, keepdims=True), 1e-30) @ v
    attention = {"query": "q", "key": "k", "value": "v", "attn_mask": "m"}
    nodes = one("scaled_dot_product_attention.default", attention)
    added = np.where(mask, 0, -INF).astype(np.float32)
    for given in (mask, added):
        inputs = {"q": q, "k": k, "v": v, "m": given}
        for device in (lxla.cpu(), lxla.xla()):
            (got,) = values_of(env, inputs, nodes, device=device)
            close("attention", got, wanted)
            assert (got[:, :, 1] == 0).all()
            assert all(np.isfinite(gradient).all() for gradient in gradients_of(env, inputs, nodes, device)[:3])


def test_transposed_convolutions_in_groups(env):
    r = np.random.default_rng(6)
    x, w = r.standard_normal((1, 4, 5)).astype(np.float32), r.standard_normal((4, 3, 3)).astype(np.float32)
    stride, padding, more, dilation = 2, 1, 1, 2
    wanted = np.zeros((1, 6, (5 - 1) * stride - 2 * padding + dilation * 2 + more + 1))
    for channel in range(4):
        for out in range(3):
            for i in range(5):
                for j in range(3):
                    at = i * stride + j * dilation - padding
                    if 0 <= at < wanted.shape[2]:
                        wanted[0, channel // 2 * 3 + out, at] += x[0, channel, i] * w[channel, out, j]
    given = {"input": "x", "weight": "w", "stride": [stride], "padding": [padding], "output_padding": [more], "groups": 2, "dilation": [dilation]}  # fmt: skip
    (got,) = values_of(env, {"x": x, "w": w}, one("conv_transpose1d.default", given))
    close("conv_transpose1d", got, wanted)


def test_cross_entropy(env):
    r = np.random.default_rng(7)
    x, w, target = r.standard_normal((4, 3)).astype(np.float32), f32(1, 2, 0.5), s64(0, 2, -100, 1)
    logs = x - np.log(np.exp(x).sum(1, keepdims=True))
    kept = target >= 0
    nll = -np.where(kept, logs[np.arange(4), np.maximum(target, 0)] * w[np.maximum(target, 0)], 0)
    smooth = np.where(kept, -(logs * w).sum(1), 0)
    total = w[target[kept]].sum()
    wanted = {0: 0.9 * nll + 0.1 / 3 * smooth, 2: (0.9 * nll + 0.1 / 3 * smooth).sum()}
    wanted[1] = wanted[2] / total
    for reduction, want in wanted.items():
        given = {"self": "x", "target": "t", "weight": "w", "reduction": reduction, "label_smoothing": 0.1}
        (got,) = values_of(env, {"x": x, "t": target, "w": w}, one("cross_entropy_loss.default", given))
        close("cross entropy", got, want.astype(np.float32))
    even = np.full((4, 3), 1 / 3, np.float32)
    (got,) = values_of(env, {"x": x, "t": even}, one("cross_entropy_loss.default", {"self": "x", "target": "t"}))
    close("cross entropy of probabilities", got, np.float32(-(logs / 3).sum(1).mean()))


def test_writes_through_views(env):
    x = f32([1, 2, 3], [4, 5, 6])
    start = ("clone.default", {"self": "x"}, ["c"])
    turned = ("t.default", {"self": "c"}, ["v"])
    write = lambda name: ("mul_.Tensor", {"self": name, "other": 10}, ["w"])
    (got,) = values_of(
        env, {"x": x}, [start, turned, ("select.int", {"self": "v", "dim": 0, "index": 1}, ["s"]), write("s")], ["c"]
    )
    close("a row of a transposed view", got, [[1, 20, 3], [4, 50, 6]])
    # The input itself is changed: a further result.
    made, changed = values_of(env, {"x": x}, [write("x"), ("sum.default", {"self": "w"}, ["y"])])
    close("a changed input", changed, x * 10)
    close("a changed input", made, np.float32(210))
    # Whether reshape of a transposed tensor copies depends on strides.
    unsure = [start, turned, ("reshape.default", {"self": "v", "shape": [6]}, ["r"]), write("r")]
    data = archive({"x": x}, unsure, ["c"])
    refused(
        lxla.lib.lxla_computation_import(env, data, len(data), None, byref(Computation())),
        UNIMPLEMENTED,
        "depending on its strides",
    )


def test_operators_of_higher_order(env):
    x = f32(1, 2, 3)
    double = graph_of(["a"], one("mul.Tensor", {"self": "a", "other": 2}, ["b"]), ["b"])
    (got,) = values_of(
        env,
        {"x": x},
        [
            ("higher_order.wrap_with_set_grad_enabled", [False, double, "x"], ["z"]),
            ("add.Tensor", {"self": "x", "other": "z"}, ["y"]),
        ],
    )
    close("without gradients", got, x * 3)
    nodes = [
        ("higher_order.wrap_with_set_grad_enabled", [False, double, "x"], ["z"]),
        ("mul.Tensor", {"self": "x", "other": "z"}, ["y"]),
    ]
    for device in (lxla.cpu(), lxla.xla()):
        close("without gradients", gradients_of(env, {"x": x}, nodes, device)[0], x * 2)
    small = graph_of(
        ["a"], [("sum.default", {"self": "a"}, ["s"]), ("lt.Scalar", {"self": "s", "other": 50}, ["p"])], ["p"]
    )
    loop = [("higher_order.while_loop", [small, double, ["x"], []], ["y"])]
    step = graph_of(
        ["c", "a"],
        [("add.Tensor", {"self": "c", "other": "a"}, ["n"]), ("mul.Tensor", {"self": "n", "other": "n"}, ["o"])],
        ["n", "o"],
    )
    scan = [("higher_order.scan", [step, ["i"], ["x"], []], ["last", "y"])]
    for device in (lxla.cpu(), lxla.xla()):
        close("while_loop", values_of(env, {"x": x}, loop, device=device)[0], x * 16)
        close("scan", values_of(env, {"x": x, "i": np.float32(0)[()].reshape(())}, scan, device=device)[0], [1, 9, 36])


if __name__ == "__main__":
    lxla.load(sys.argv[1])
    environment = lxla.new_env()
    for name, test in list(globals().items()):
        if name.startswith("test_") and (len(sys.argv) < 3 or sys.argv[2] in name):
            test(environment)
            print(f"ok {name}", flush=True)
