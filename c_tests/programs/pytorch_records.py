"""Programs of single operators beside PyTorch's results and gradients: how they are stored, and compared with ours."""

import base64
import ctypes
import io
import json
import lzma
import os
import sys
import zipfile
from ctypes import byref, c_size_t

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../abi"))
import ctypes_test as lxla
import numpy as np
from ctypes_test import Computation, ok, text
from header import types
from programs import imported
from pytorch_test import Model, decode, encode, read

# By the dtype of a result: allowed differences relative to an element, and of small elements. XLA's functions differ
# from PyTorch's in the last places.
LIMITS = {"f64": (1e-9, 1e-10), "f32": (3e-5, 3e-6), "f16": (4e-3, 1e-3), "bf16": (3e-2, 1e-2), "c64": (3e-5, 3e-6)}
# Derivatives add more roundings.
MORE_OF_GRADIENTS = 4


def stored(value, dtype):
    """An array as a record holds it."""
    return {"dtype": dtype, "dims": list(np.shape(value)), "data": base64.b64encode(encode(value, dtype)).decode()}


def restored(entry):
    return decode(base64.b64decode(entry["data"]), entry["dtype"], entry["dims"])


def archive_of(record):
    """The archive of a record's program."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_STORED) as file:
        for name, data in record["entries"].items():
            file.writestr(name, data if isinstance(data, str) else base64.b64decode(data["base64"]))
    return made.getvalue()


def load_records(path):
    with lzma.open(path, "rt") as lines:
        return [json.loads(line) for line in lines]


def save_records(path, records):
    with lzma.open(path, "wt", preset=9 | lzma.PRESET_EXTREME) as lines:
        for record in records:
            lines.write(json.dumps(record, separators=(",", ":")) + "\n")


def cotangent(dims):
    """A fixed cotangent: neither symmetric nor constant."""
    count = int(np.prod(dims))
    return ((np.arange(count) * 5 % 7 - 2.5) / 2).reshape(dims)


def is_float(entry):
    return entry["dtype"][0] in "fb"


def difference(what, got, got_dtype, want, more=1, given=None):
    """Returns how an array differs from a stored one, or None. Derivatives where `given` is NaN do not count."""
    if got_dtype != want["dtype"] or list(np.shape(got)) != want["dims"]:
        return f"{what}: {got_dtype}{list(np.shape(got))} instead of {want['dtype']}{want['dims']}"
    wanted = restored(want)
    # Beside narrow floats, PyTorch rounds the gradient of a wider operand to them.
    dtype = next((dtype for dtype in ("bf16", "f16") if is_float(want) and f"({dtype}[" in what), want["dtype"])
    relative, absolute = LIMITS.get(dtype, (0, 0))
    wide = np.complex128 if want["dtype"][0] == "c" else np.float64 if is_float(want) else None
    a, b = (got, wanted) if wide is None else (got.astype(wide), wanted.astype(wide))
    with np.errstate(invalid="ignore"):
        same = np.isclose(a, b, relative * more, absolute * more, equal_nan=True) if wide else a == b
    if given is not None and given["dims"] == want["dims"]:
        same = same | np.isnan(restored(given).astype(np.float64))
    if np.all(same):
        return None
    places = np.argwhere(~np.atleast_1d(same))
    shown = [(np.atleast_1d(a)[tuple(at)].item(), np.atleast_1d(b)[tuple(at)].item()) for at in places[:4]]
    pairs = ", ".join(f"{got!r} instead of {want!r}" for got, want in shown)
    return f"{what}: {len(places)} of {a.size} elements, at {places[0].tolist()}: {pairs}"


class Program(Model):
    """The program of a record on a device."""

    def __init__(self, env, device, record):
        self.env, self.device, self.passes = env, device, None
        self.imported = imported(env, archive_of(record))
        described = json.loads(text(lxla.lib.lxla_computation_describe, self.imported))
        self.inputs, self.results = described["parameters"], described["results"]

    def close(self):
        ok(lxla.lib.lxla_computation_release(self.imported))

    def results_of(self, record):
        """The outputs, and the new values of the inputs that the program changes, by name."""
        arrays = [restored(entry) for entry in record["inputs"]]
        keys = [np.arange(2)] * (len(self.inputs) - len(arrays))
        values = self.call([*arrays, *keys])
        pairs = list(zip(self.results, values, strict=True))
        outputs = [(entry, value) for entry, value in pairs if "updates" not in entry]
        return outputs, {entry["updates"]: (entry, value) for entry, value in pairs if "updates" in entry}

    def gradients_of(self, record):
        """The gradients by the float inputs, for the fixed cotangents of the outputs."""
        options = types.lxla_vjp_options(struct_size=ctypes.sizeof(types.lxla_vjp_options))
        forward, backward, residuals = Computation(), Computation(), c_size_t()
        passes = byref(forward), byref(backward), byref(residuals)
        ok(lxla.lib.lxla_computation_vjp(self.imported, byref(options), *passes))
        given = self.tensors([restored(entry) for entry in record["inputs"]], self.inputs)
        made = self.run(forward, given, len(self.results) + residuals.value)
        wanted = [entry for entry in self.results if is_float(entry)]
        of = lambda entry: np.zeros(entry["dims"]) if "updates" in entry else cotangent(entry["dims"])
        tangents = self.tensors([of(entry) for entry in wanted], wanted)
        inputs = [entry for entry in self.inputs if is_float(entry)]
        found = self.run(backward, [*made[len(self.results) :], *tangents], len(inputs))
        values = [(entry, read(tensor, entry)) for tensor, entry in zip(found, inputs, strict=True)]
        lxla.release(*given, *made, *tangents, *found)
        for computation in (forward, backward):
            ok(lxla.lib.lxla_computation_release(computation))
        return values


def differences(env, device, record):
    """Returns how our results and gradients of a record's program differ from PyTorch's, as texts."""
    program = Program(env, device, record)
    found = []
    outputs, changed = program.results_of(record)
    if len(outputs) != len(record["outputs"]):
        found.append(f"{len(outputs)} outputs instead of {len(record['outputs'])}")
    for i, ((entry, value), want) in enumerate(zip(outputs, record["outputs"], strict=False)):
        if record.get("random"):
            same = entry["dtype"] == want["dtype"] and entry["dims"] == want["dims"]
            found.append(None if same else f"output {i}: {entry['dtype']}{entry['dims']}")
        else:
            found.append(difference(f"output {i} ({record['calls'][i]})", value, entry["dtype"], want))
    if set(changed) != set(record["changed"]):
        found.append(f"{sorted(changed)} are changed; in PyTorch {sorted(record['changed'])}")
    for name in set(changed) & set(record["changed"]) if not record.get("random") else ():
        entry, value = changed[name]
        found.append(difference(f"changed {name}", value, entry["dtype"], record["changed"][name]))
    if record["gradients"]:
        gradients = program.gradients_of(record)
        inputs = [entry for entry in record["inputs"] if is_float(entry)]
        pairs = zip(gradients, record["gradients"], inputs, strict=True)
        for i, ((entry, value), want, given) in enumerate(pairs):
            if want is None:  # PyTorch has no derivative by this input
                continue
            what = f"gradient {i} ({record['of_gradients'][i]})"
            found.append(difference(what, value, entry["dtype"], want, MORE_OF_GRADIENTS, given))
    program.close()
    return [line for line in found if line]
