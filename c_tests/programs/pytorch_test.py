"""Programs that PyTorch exported, in pytorch/: python pytorch_test.py /path/to/liblazyxla.so

Each is imported without PyTorch, called on cpu and on the plugin's device, and trained. Outputs, changed buffers,
gradients of all trainable weights and curves of 10 steps of SGD are those of PyTorch."""

import collections
import ctypes
import json
import os
import random
import sys
import zipfile
from ctypes import byref, c_size_t, c_void_p
from io import BytesIO
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../abi"))
import ctypes_test as lxla
import numpy as np
from ctypes_test import INVALID_ARGUMENT, UNIMPLEMENTED, Computation, Tensor, give, ok, refused, text
from header import family, types
from programs import imported, imported_file, options_of

DATA = Path(__file__).resolve().parent / "pytorch"
DTYPE = family("DTYPE")
DTYPES = {
    "pred": np.bool_, "s8": np.int8, "s16": np.int16, "s32": np.int32, "s64": np.int64, "u8": np.uint8,
    "u32": np.uint32, "f16": np.float16, "f32": np.float32, "f64": np.float64, "c64": np.complex64,
}  # fmt: skip
# Relative to the largest element plus 0.001: of outputs, buffers and losses; and of gradients.
LIMITS, LIMITS_OF_BF16 = (1e-5, 1e-4), (2e-2, 2e-2)


def encode(value, dtype):
    """The bytes of an array in a dtype. bf16 is rounded to nearest, ties to even."""
    if dtype != "bf16":
        return np.asarray(value).astype(DTYPES[dtype]).tobytes()
    bits = np.asarray(value, np.float32).reshape(-1).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16).tobytes()


def decode(data, dtype, dims):
    if dtype != "bf16":
        return np.frombuffer(data, DTYPES[dtype]).reshape(dims)
    return (np.frombuffer(data, np.uint16).astype(np.uint32) << 16).view(np.float32).reshape(dims)


def size_of(entry):
    return int(np.prod(entry["dims"])) * (2 if entry["dtype"] == "bf16" else np.dtype(DTYPES[entry["dtype"]]).itemsize)


def read(tensor, entry):
    data = ctypes.create_string_buffer(max(size_of(entry), 1))
    ok(lxla.lib.lxla_tensor_read(tensor, data, size_of(entry)))
    return decode(data.raw[: size_of(entry)], entry["dtype"], entry["dims"])


class Model:
    """An imported program on a device, whose weights are parameters."""

    def __init__(self, env, device, path, shapes=None):
        self.env, self.device = env, device
        self.imported = imported_file(env, path, shapes)
        self.described = json.loads(text(lxla.lib.lxla_computation_describe, self.imported))
        self.inputs, self.captured = self.described["parameters"], self.described["captured"]
        self.results = self.described["results"]
        self.lifted = give(lxla.lib.lxla_computation_lift, Computation, self.imported)
        assert json.loads(text(lxla.lib.lxla_computation_describe, self.lifted))["parameters"] == [
            *self.inputs,
            *self.captured,
        ]
        self.weights = []
        for i, entry in enumerate(self.captured):
            tensor = give(lxla.lib.lxla_computation_captured, Tensor, self.imported, c_size_t(i))
            self.weights.append(read(tensor, entry))
            lxla.release(tensor)
        self.trained = [i for i, entry in enumerate(self.captured) if entry["trainable"]]
        self.passes = None

    def close(self):
        for computation in (self.imported, self.lifted, *(self.passes or ())[:2]):
            ok(lxla.lib.lxla_computation_release(computation))

    def tensors(self, values, entries):
        made = []
        for value, entry in zip(values, entries, strict=True):
            data, place = encode(value, entry["dtype"]), lxla.dims(*entry["dims"])
            number = DTYPE[entry["dtype"]]
            made.append(
                give(lxla.lib.lxla_tensor_from_host, Tensor, self.env, self.device, number, *place, data, len(data))
            )
        return made

    def run(self, computation, given, count):
        results = (Tensor * count)()
        ok(lxla.lib.lxla_computation_call(computation, (Tensor * len(given))(*given), len(given), results, count))
        ok(lxla.lib.lxla_sync(results, count))
        return list(results)

    def call(self, inputs):
        """Calls the program with the weights that it captured."""
        given = self.tensors(inputs, self.inputs)
        made = self.run(self.imported, given, len(self.results))
        values = [read(tensor, entry) for tensor, entry in zip(made, self.results, strict=True)]
        lxla.release(*given, *made)
        return values

    def differentiated(self):
        if self.passes is None:
            wrt = [len(self.inputs) + i for i in self.trained]
            options = types.lxla_vjp_options(struct_size=ctypes.sizeof(types.lxla_vjp_options))
            options.wrt, options.n_wrt = (c_size_t * len(wrt))(*wrt), len(wrt)
            forward, backward, residuals = Computation(), Computation(), c_size_t()
            status = lxla.lib.lxla_computation_vjp(
                self.lifted, byref(options), byref(forward), byref(backward), byref(residuals)
            )
            ok(status)
            self.passes = forward, backward, residuals.value
        return self.passes

    def step(self, inputs, targets):
        """Returns the results, the loss and its gradients by the trainable weights."""
        forward, backward, residuals = self.differentiated()
        given = self.tensors([*inputs, *self.weights], [*self.inputs, *self.captured])
        made = self.run(forward, given, len(self.results) + residuals)
        values = [read(tensor, entry) for tensor, entry in zip(made, self.results, strict=False)]
        is_float = lambda entry: entry["dtype"][0] in "fb"
        outputs = [i for i, entry in enumerate(self.results) if "updates" not in entry and is_float(entry)]
        cotangents = [np.zeros(entry["dims"]) for entry in self.results]
        if targets:
            loss = 0.0
            for i, target in zip(outputs, targets, strict=True):
                difference = values[i].astype(np.float64) - target
                loss += np.mean(difference**2) / len(outputs)
                cotangents[i] = 2 * difference / difference.size / len(outputs)
        else:
            loss, cotangents[outputs[0]] = float(values[outputs[0]]), np.ones(())
        wanted = [(value, entry) for value, entry in zip(cotangents, self.results, strict=True) if is_float(entry)]
        tangents = self.tensors([value for value, _ in wanted], [entry for _, entry in wanted])
        gradients = self.run(backward, [*made[len(self.results) :], *tangents], len(self.trained))
        entries = [self.captured[i] for i in self.trained]
        found = [read(tensor, entry) for tensor, entry in zip(gradients, entries, strict=True)]
        lxla.release(*given, *made, *tangents, *gradients)
        return values, loss, found

    def changed(self, values):
        """The new values of buffers by name."""
        return {
            entry["updates"]: value for entry, value in zip(self.results, values, strict=True) if "updates" in entry
        }

    def train(self, inputs, targets, rate):
        """A step of SGD; returns the loss before it."""
        values, loss, gradients = self.step(inputs, targets)
        for i, gradient in zip(self.trained, gradients, strict=True):
            entry = self.captured[i]
            new = self.weights[i].astype(np.float32) - np.float32(rate) * gradient.astype(np.float32)
            self.weights[i] = decode(encode(new, entry["dtype"]), entry["dtype"], entry["dims"])
        new = self.changed(values)
        for i, entry in enumerate(self.captured):
            if entry["name"] in new:
                self.weights[i] = new.pop(entry["name"])
        assert not new, f"changed values of nothing: {list(new)}"
        return loss


def near(what, got, want, limit):
    got, want = np.asarray(got), np.asarray(want)
    assert got.shape == want.shape, f"{what}: {got.shape} instead of {want.shape}"
    wide = np.complex128 if want.dtype.kind == "c" else np.float64
    got, want = got.astype(wide), want.astype(wide)
    finite = np.isfinite(want)
    assert (finite == np.isfinite(got)).all(), f"{what}: other elements are finite"
    assert (got[~finite] == want[~finite]).all() or np.isnan(want[~finite]).any(), f"{what}: other infinities"
    error = np.abs(got - want)[finite].max(initial=0) / (1e-3 + np.abs(want[finite]).max(initial=0))
    assert error <= limit, f"{what} is off by {error:.2e} of the largest element"


def names():
    found = sorted(path.stem for path in DATA.glob("*.pt2"))
    assert len(found) == 17, found
    return found


def saved(name):
    with np.load(DATA / f"{name}.npz") as values:
        return {key: values[key] for key in values.files}


def listed(values, start):
    return [values[f"{start}.{i}"] for i in range(len(values)) if f"{start}.{i}" in values]


def limits_of(model):
    has_bf16 = any(entry["dtype"] == "bf16" for entry in model.captured if entry["kind"] == "parameter")
    return LIMITS_OF_BF16 if has_bf16 else LIMITS


def check_results(name, model, values, saved_values, limit, start="output"):
    """Compares the outputs, and the gradients that are outputs."""
    plain = [i for i, entry in enumerate(model.results) if "updates" not in entry and "gradient_of" not in entry]
    wanted = listed(saved_values, start)
    if not wanted and start == "output":
        wanted = [saved_values["loss"]]
    outputs = [i for i in plain][: len(wanted)]
    assert len(plain) == len(wanted), f"{name}: {len(plain)} outputs; PyTorch has {len(wanted)}"
    for i, want in zip(outputs, wanted, strict=True):
        near(f"{name}: {start} {i}", values[i], want, limit)


def shapes_of(inputs):
    return [np.shape(x) for x in inputs]


def devices():
    return {"cpu": lxla.cpu(), "xla": lxla.xla()}.items()


def test_outputs_and_buffers_are_pytorchs(env):
    for name in names():
        values = saved(name)
        for kind, device in devices():
            model = Model(env, device, DATA / f"{name}.pt2", shapes_of(listed(values, "input")))
            limit = limits_of(model)[0]
            made = model.call(listed(values, "input"))
            check_results(f"{name} on {kind}", model, made, values, limit)
            changed = model.changed(made)
            wanted = {key[len("buffer.") :]: value for key, value in values.items() if key.startswith("buffer.")}
            assert set(wanted) == set(changed), f"{name}: {sorted(changed)} changed; in PyTorch {sorted(wanted)}"
            for buffer, value in wanted.items():
                near(f"{name} on {kind}: buffer {buffer}", changed[buffer], value, limit)
            model.close()
            if listed(values, "input2"):
                inputs = listed(values, "input2")
                model = Model(env, device, DATA / f"{name}.pt2", shapes_of(inputs))
                check_results(f"{name} on {kind}", model, model.call(inputs), values, limit, "output2")
                model.close()


def test_gradients_and_curves_are_pytorchs(env):
    trained = 0
    for name in names():
        values = saved(name)
        if "losses" not in values or name == "joint":
            continue
        inputs, targets = listed(values, "input"), listed(values, "target")
        for kind, device in devices():
            model = Model(env, device, DATA / f"{name}.pt2", shapes_of(inputs))
            limit, of_gradients = limits_of(model)
            _, loss, gradients = model.step(inputs, targets)
            near(f"{name} on {kind}: loss", loss, values["loss"], limit)
            found = {model.captured[i]["name"]: value for i, value in zip(model.trained, gradients, strict=True)}
            wanted = {key[len("grad.") :]: value for key, value in values.items() if key.startswith("grad.")}
            assert set(found) == set(wanted), f"{name}: {sorted(set(found) ^ set(wanted))}"
            for weight, value in wanted.items():
                near(f"{name} on {kind}: gradient by {weight}", found[weight], value, of_gradients)
            curve = [model.train(inputs, targets, float(values["lr"])) for _ in values["losses"]]
            near(f"{name} on {kind}: losses", curve, values["losses"], limit)
            model.close()
        trained += 1
    assert trained >= 13, trained


def test_gradients_that_are_outputs(env):
    values = saved("joint")
    inputs = listed(values, "input")
    for kind, device in devices():
        model = Model(env, device, DATA / "joint.pt2")
        made = model.call(inputs)
        found = {
            entry["gradient_of"]: value
            for entry, value in zip(model.results, made, strict=True)
            if "gradient_of" in entry
        }
        wanted = {key[len("grad.") :]: value for key, value in values.items() if key.startswith("grad.")}
        assert set(found) == set(wanted)
        for weight, value in wanted.items():
            near(f"joint on {kind}: gradient by {weight}", found[weight], value, LIMITS[1])
        model.close()


def test_a_batch_of_a_program(env):
    values = saved("mlp")
    (x,) = listed(values, "input")
    model = Model(env, lxla.cpu(), DATA / "mlp.pt2", [x.shape])
    axes = (ctypes.c_int64 * 1)(0)
    batched = give(lxla.lib.lxla_computation_vmap, Computation, model.imported, axes, 1, axes, 1, ctypes.c_int64(2))
    given = model.tensors([np.stack([x, x + 1])], [{"dtype": "f32", "dims": [2, *x.shape]}])
    (made,) = model.run(batched, given, 1)
    entry = {"dtype": "f32", "dims": [2, *model.results[0]["dims"]]}
    near("mlp: batch", read(made, entry)[0], values["output.0"], LIMITS[0])
    near("mlp: batch", read(made, entry)[1], model.call([x + 1])[0], LIMITS[0])
    lxla.release(*given, made)
    ok(lxla.lib.lxla_computation_release(batched))
    model.close()


def test_programs_are_described(env):
    describe = lambda name: json.loads(text(lxla.lib.lxla_module_describe_file, str(DATA / name).encode()))
    mlp = describe("mlp.pt2")
    assert mlp["producer"] == "PyTorch 2.15.0+cu132" and mlp["schema_version"] == "8.20" and mlp["unsupported"] == []
    (parameter,) = mlp["functions"][0]["parameters"]
    assert parameter["dims"][0] == -1 and parameter["sizes"][0] == "s31" and parameter["kind"] == "input"
    assert mlp["symbols"] == {"s31": {"min": 0, "max": None}} and mlp["operations"]["aten.gelu.default"] == 1
    tree = describe("tree.pt2")
    kinds = {entry["name"]: (entry["kind"], entry["trainable"]) for entry in tree["captured"]}
    assert kinds["w"] == ("parameter", True) and kinds["frozen"] == ("parameter", False), kinds
    assert kinds["low"] == ("buffer", False) and kinds["constant"] == ("constant", False)
    for name in names():
        assert describe(f"{name}.pt2")["unsupported"] == [], name
    model = Model(env, lxla.cpu(), DATA / "tree.pt2")
    # A weight under two names is one value.
    assert [entry["name"] for entry in model.captured] == ["w", "frozen", "low", "high", "factor", "constant"]
    assert [entry["name"] for entry in model.inputs] == ["d_x", "d_unused", "pair_0", "pair_1", "k"]
    model.close()
    train = Model(env, lxla.cpu(), DATA / "cnn_train.pt2")
    updates = [entry["updates"] for entry in train.results if "updates" in entry]
    buffers = [entry["name"] for entry in train.captured if entry["kind"] == "buffer"]
    assert updates == buffers and len(updates) == 6, (updates, buffers)
    train.close()


def rewritten(name, change):
    """Returns a sample after `change` of the text of its program."""
    made = BytesIO()
    with zipfile.ZipFile(DATA / name) as old, zipfile.ZipFile(made, "w", zipfile.ZIP_STORED) as new:
        for entry in old.namelist():
            data = old.read(entry)
            new.writestr(entry, change(data.decode()) if entry.endswith("/models/model.json") else data)
    return made.getvalue()


def test_dropout_has_a_key(env):
    """An identity in eval mode becomes a dropout in train mode: the key is the last parameter."""
    node = lambda name, after: (
        '{"target": "torch.ops.aten.dropout.default", '
        '"inputs": [{"name": "input", "arg": {"as_tensor": {"name": "%s"}}, '
        '"kind": 1}, {"name": "p", "arg": {"as_float": 0.25}, "kind": 1}, {"name": "train", "arg": {"as_bool": true}, '
        '"kind": 1}], "outputs": [{"as_tensor": {"name": "%s"}}], "metadata": {}}' % (name, after)
    )

    def change(program):
        program = json.loads(program)
        graph = program["graph_module"]["graph"]
        last = graph["outputs"][0]["as_tensor"]["name"]
        graph["nodes"].append(json.loads(node(last, "dropped")))
        graph["outputs"][0]["as_tensor"]["name"] = "dropped"
        program["graph_module"]["signature"]["output_specs"][0]["user_output"]["arg"]["as_tensor"]["name"] = "dropped"
        return json.dumps(program)

    values = saved("mlp")
    (x,) = listed(values, "input")
    computation = imported(env, rewritten("mlp.pt2", change), [x.shape])
    described = json.loads(text(lxla.lib.lxla_computation_describe, computation))
    assert [entry["kind"] for entry in described["parameters"]] == ["input", "key"]
    assert described["parameters"][1]["dtype"] == "u32" and described["parameters"][1]["dims"] == [2]
    model = Model.__new__(Model)
    model.env, model.imported, model.inputs = env, computation, described["parameters"]
    model.results = described["results"]
    for _, model.device in devices():
        results = [model.call([x, np.array(key)])[0] for key in ([1, 2], [1, 2], [3, 4])]
        assert (results[0] == results[1]).all() and (results[0] != results[2]).any()
        kept = results[0] != 0
        assert 0 < kept.sum() < kept.size
        near("dropout", results[0][kept], values["output.0"][kept] / 0.75, LIMITS[0])
    ok(lxla.lib.lxla_computation_release(computation))


def test_what_is_not_supported_is_listed(env):
    lib, out = lxla.lib, Computation()

    def check(data, status, *words, shapes=None):
        for word in words:
            code = lib.lxla_computation_import(env, data, len(data), byref(options_of(shapes)), byref(out))
            refused(code, status, word)

    two = rewritten(
        "mlp.pt2", lambda text: text.replace("aten.gelu.default", "aten.foo.bar").replace("aten.relu.", "custom.relu.")
    )
    check(two, UNIMPLEMENTED, "has 2 operators", 'aten.foo.bar (1 times, first in module "1")', "custom.relu.default")
    described = json.loads(text(lib.lxla_module_describe, two, len(two)))
    assert sorted(entry["operation"] for entry in described["unsupported"]) == ["aten.foo.bar", "custom.relu.default"]
    by_data = rewritten("mlp.pt2", lambda text: text.replace("aten.gelu.default", "aten.nonzero.default"))
    check(by_data, UNIMPLEMENTED, "aten.nonzero.default", "depends on data")
    odd = rewritten("mlp.pt2", lambda text: text.replace('"name": "self", "arg"', '"name": "selves", "arg"', 1))
    check(odd, UNIMPLEMENTED, 'its argument "selves"', "aten.gelu.default", 'in module "1"', shapes=[(3, 6)])

    def give_the_mean(text):
        program = json.loads(text)
        module = program["graph_module"]
        module["graph"]["outputs"][0]["as_tensor"]["name"] = "native_group_norm_unused_1"
        module["signature"]["output_specs"][0]["user_output"]["arg"]["as_tensor"]["name"] = "native_group_norm_unused_1"
        return json.dumps(program)

    check(
        rewritten("unet_core.pt2", give_the_mean), UNIMPLEMENTED, "an output of the program is the mean of an operator"
    )
    whole = (DATA / "mlp.pt2").read_bytes()
    check(whole, INVALID_ARGUMENT, "ranks, dims: none given; want the sizes of parameter 0", "s31")
    check(whole, INVALID_ARGUMENT, "axis 1: 5 given; want 6", shapes=[(3, 5)])
    encoder = (DATA / "encoder.pt2").read_bytes()
    check(encoder, INVALID_ARGUMENT, "was exported for", shapes=[(2, 1, 16), (2, 65, 16)][:1])
    newer = rewritten("mlp.pt2", lambda text: text.replace('{"major": 8, "minor": 20}', '{"major": 9, "minor": 0}'))
    check(newer, UNIMPLEMENTED, "schema 9.0")
    check(whole[: len(whole) // 2], INVALID_ARGUMENT, "zip")
    refused(lib.lxla_module_describe(b"PK\x03\x04", 4, byref(c_void_p())), INVALID_ARGUMENT, "zip")


NUMBERS = (0, 1, -1, 2, 3, 7, 100, 2**31, 2**40, 2**62, 2**63 - 1, -(2**63))


def damaged(text, r):
    """Returns the text of a program of which one to three targets, names, arguments or sizes are others."""
    program = json.loads(text)
    graph = program["graph_module"]["graph"]
    tensors = list(graph["tensor_values"])
    nodes = [node for node in graph["nodes"] if node["inputs"]]
    for _ in range(r.randint(1, 3) if nodes and tensors else 0):
        node = r.choice(nodes)
        choice = r.randrange(6)
        if choice == 0:
            node["target"] = r.choice(nodes)["target"]
        elif choice == 1:
            r.choice(node["inputs"])["name"] = r.choice(r.choice(nodes)["inputs"])["name"]
        elif choice == 2:
            r.choice(node["inputs"])["arg"] = {"as_tensor": {"name": r.choice(tensors)}}
        elif choice == 3:
            r.choice(node["inputs"])["arg"] = {"as_int": r.choice(NUMBERS)}
        elif choice == 4:
            r.choice(node["inputs"])["arg"] = {"as_ints": [r.choice(NUMBERS) for _ in range(r.randrange(4))]}
        else:
            graph["tensor_values"][r.choice(tensors)]["sizes"] = [{"as_int": r.choice(NUMBERS)} for _ in range(2)]
    return json.dumps(program)


def imported_or_refused(env, data, what):
    """Imports an archive; returns the status, which must be one of a refusal with a reason."""
    out = Computation()
    status = lxla.lib.lxla_computation_import(env, data, len(data), byref(options_of()), byref(out))
    allowed = (0, INVALID_ARGUMENT, UNIMPLEMENTED, lxla.constants.RESOURCE_EXHAUSTED)
    assert status in allowed, f"{what}: {status}: {lxla.lib.lxla_last_error_message().decode()}"
    if status == 0:
        ok(lxla.lib.lxla_computation_release(out))
    return status


def test_damaged_programs_are_refused(env):
    """Numbers, names and arguments of programs are changed at random: each is imported, or refused with a reason."""
    r = random.Random(11)
    counts = collections.Counter()
    for name in ("views", "mobile_core", "unet_core", "lstm", "control", "cnn_train", "tree", "joint", "bert"):
        for _ in range(60):
            data = rewritten(f"{name}.pt2", lambda text: damaged(text, r))
            counts[imported_or_refused(env, data, name)] += 1
    assert min(counts[0], counts[INVALID_ARGUMENT], counts[UNIMPLEMENTED]) > 0, counts


if __name__ == "__main__":
    lxla.load(sys.argv[1])
    environment = lxla.new_env()
    for name, test in list(globals().items()):
        if name.startswith("test_") and (len(sys.argv) < 3 or sys.argv[2] in name):
            test(environment)
            print(f"ok {name}", flush=True)
