"""PyTorch's results and gradients of every operator that is imported, beside ours:
python pytorch_survey.py /path/to/liblazyxla.so [words of names] [--native] [--write FILE]

Exports the cases of pytorch_cases.py with PyTorch, in the training form and in the core form, imports the archives, and
compares results, changed inputs and gradients on cpu and on the plugin's device. Overloads of the table that no program
contains are an error, unless pytorch_cases.py names them. `--native` leaves out the plugin's
device; `--write` stores the programs for pytorch_operators_test.py."""

import base64
import io
import json
import os
import re
import sys
import warnings
import zipfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../abi"))
import ctypes_test as lxla
import torch
from pytorch_cases import ELSEWHERE, cases
from pytorch_records import cotangent, differences, save_records, stored
from torch.utils import _pytree as pytree

TABLE = Path(__file__).resolve().parents[2] / "crates/programs/src/import/pytorch/operators"
NAMES = {
    torch.bool: "pred",
    torch.int8: "s8",
    torch.int16: "s16",
    torch.int32: "s32",
    torch.int64: "s64",
    torch.uint8: "u8",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.float32: "f32",
    torch.float64: "f64",
    torch.complex64: "c64",
}


def overloads():
    """The overloads of the table of the recorder."""
    found = set()
    for path in TABLE.glob("*.rs"):
        for names in re.findall(r"\boperator\(\s*&\[(.*?)\]", path.read_text(), re.DOTALL):
            found.update(re.findall(r'"([^"]+)"', names))
    return found


def function_of(name):
    if not isinstance(name, str):
        return name
    base, overload = name.removesuffix("[0]").split(".")
    function = getattr(getattr(torch.ops.aten, base), overload)
    # The other results are not computed.
    return (lambda *given, **named: function(*given, **named)[0]) if name.endswith("[0]") else function


class Calls(torch.nn.Module):
    """Calls of one function, whose tensors are the inputs."""

    def __init__(self, function, calls):
        super().__init__()
        self.function, self.calls, self.tensors = function, [], []
        for arguments, named in calls:
            leaves, spec = pytree.tree_flatten((arguments, named))
            places = []
            for leaf in leaves:
                places.append(len(self.tensors) if isinstance(leaf, torch.Tensor) else None)
                if isinstance(leaf, torch.Tensor):
                    self.tensors.append(leaf)
            leaves = [None if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
            self.calls.append((leaves, places, spec))

    def forward(self, *tensors):
        made = []
        for leaves, places, spec in self.calls:
            pairs = zip(leaves, places, strict=True)
            given = [leaf if place is None else tensors[place] for leaf, place in pairs]
            arguments, named = pytree.tree_unflatten(given, spec)
            made.append(self.function(*arguments, **named))
        return [result for result in pytree.tree_leaves(made) if isinstance(result, torch.Tensor)]


def described(call):
    def one(value):
        if not isinstance(value, torch.Tensor):
            return repr(value)
        return f"{NAMES.get(value.dtype, value.dtype)}{list(value.shape)}"

    arguments, named = call
    shown = [", ".join(map(one, value)).join("[]") if isinstance(value, list) else one(value) for value in arguments]
    return ", ".join([*shown, *(f"{key}={one(value)}" for key, value in named.items())])


def entries_of(program):
    """The entries of an archive that an import reads, without the places in the source."""
    file = io.BytesIO()
    torch.export.save(program, file)
    entries = {}
    with zipfile.ZipFile(file) as archive:
        for name in archive.namelist():
            short = "p/" + name.split("/", 1)[1]
            if "sample_inputs" in name or not re.search(r"/(models|data)/", name):
                continue
            data = archive.read(name)
            try:
                entries[short] = json.dumps(plain(json.loads(data)), separators=(",", ":"))
            except ValueError:
                entries[short] = {"base64": base64.b64encode(data).decode()}
    return entries


def plain(value):
    if isinstance(value, dict):
        dropped = ("metadata", "guards_code", "verifiers", "torch_version")
        return {
            key: {} if key == "metadata" else plain(item)
            for key, item in value.items()
            if key == "metadata" or key not in dropped
        }
    return [plain(item) for item in value] if isinstance(value, list) else value


def targets_of(program):
    """The overloads that a program calls."""
    calls = [
        node.target
        for module in program.graph_module.modules()
        for node in getattr(module, "graph", torch.fx.Graph()).nodes
        if node.op == "call_function"
    ]
    return {str(target).removeprefix("aten.") for target in calls if isinstance(target, torch._ops.OpOverload)}


def evaluated(module, tensors, record):
    """Adds PyTorch's results, changed inputs and gradients to a record."""
    leaves = [t.detach().clone() for t in tensors]
    floats = [i for i, t in enumerate(leaves) if t.is_floating_point()]
    complexes = any(t.is_complex() for t in leaves)
    fixed = [i for i in floats if getattr(tensors[i], "is_fixed", False)]
    for i in set(floats) - set(fixed):
        leaves[i].requires_grad_()
    # Copies, since leaves may not be changed in place.
    given = [t.clone() for t in leaves]
    try:
        outputs = module(*given)
    except RuntimeError as error:
        # The core form of bags of words has results of integers, which PyTorch's gradients refuse.
        if "Autograd not support dtype" not in str(error):
            raise
        given = [t.clone() for t in tensors]
        outputs = module(*given)
    record["inputs"] = [stored(numbers(t), NAMES[t.dtype]) for t in tensors]
    record["outputs"] = [stored(numbers(t), NAMES[t.dtype]) for t in outputs]
    differ = lambda a, b: not torch.equal(a.nan_to_num(7.5), b.nan_to_num(7.5))
    changed = [i for i, t in enumerate(given) if t._version > 0 or differ(t.detach(), tensors[i])]
    record["changed"] = {f"tensors_{i}": stored(numbers(given[i]), NAMES[given[i].dtype]) for i in changed}
    wanted = [t for t in outputs if t.requires_grad]
    record["gradients"] = []
    if wanted and not complexes and not any(t.is_complex() for t in outputs) and not record.get("random"):
        tangents = [torch.tensor(cotangent(list(t.shape))).to(t.dtype) for t in wanted]
        try:
            found = torch.autograd.grad(
                wanted, [leaves[i] for i in floats if i not in fixed], tangents, allow_unused=True
            )
        except (RuntimeError, NotImplementedError) as error:
            known = "derivative for", "has been modified by an inplace operation"
            assert any(words in str(error) for words in known), error
            return
        found = iter(found)
        for i in floats:
            gradient = None if i in fixed else next(found)
            gradient = torch.zeros_like(leaves[i]) if gradient is None else gradient
            record["gradients"].append(None if i in fixed else stored(numbers(gradient), NAMES[gradient.dtype]))


def numbers(tensor):
    tensor = tensor.detach() + 0 if tensor._is_zerotensor() else tensor.detach()
    return (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).resolve_neg().resolve_conj().numpy()


def with_owners(record, module, calls):
    """Names the calls to which outputs and gradients belong."""
    owners = []
    for call, (_, places, _) in zip(calls, module.calls, strict=True):
        owners.extend((place, described(call)) for place in places if place is not None)
    record["of_gradients"] = [text for place, text in owners if module.tensors[place].is_floating_point()]
    record["calls"] = []
    for call in calls:
        arguments, named = pytree.tree_map(lambda t: t.clone() if isinstance(t, torch.Tensor) else t, call)
        made = [t for t in pytree.tree_leaves(module.function(*arguments, **named)) if isinstance(t, torch.Tensor)]
        record["calls"].extend([described(call)] * len(made))


def works(function, call):
    arguments, named = pytree.tree_map(lambda t: t.clone() if isinstance(t, torch.Tensor) else t, call)
    try:
        function(*arguments, **named)
    except (RuntimeError, IndexError, TypeError, ValueError) as error:
        return str(error).splitlines()[0]
    return None


def records_of(name, target, calls, random):
    """The records of a case: the training form, and the core form if it differs and exists."""
    module = Calls(function_of(target), calls)
    program = torch.export.export(module, tuple(t.clone() for t in module.tensors), strict=False)
    made = []
    for form in ("training", "core"):
        if form == "core":
            before = targets_of(program)
            try:
                program = program.run_decompositions()
            except Exception as error:
                print(f"  {name}: no core form: {str(error).splitlines()[0][:100]}")
                break
            if targets_of(program) == before:
                break
        record = {"name": f"{name} ({form})", "targets": sorted(targets_of(program)), "random": random}
        record["entries"] = entries_of(program)
        with_owners(record, module, calls)
        # The core form is its own program: decompositions round, and have derivatives, on their own.
        evaluated(module if form == "training" else program.module(), module.tensors, record)
        made.append(record)
    return made


def compared(env, record):
    found = []
    devices = {"cpu": lxla.cpu(), "xla": lxla.xla()}
    if "--native" in sys.argv:
        del devices["xla"]
    for kind, device in devices.items():
        try:
            found.extend(f"{kind}: {line}" for line in differences(env, device, record))
        except AssertionError as error:
            found.append(f"{kind}: refused: {error}")
            break
    return found


def survey(env, case):
    """Compares a case. If it is refused as a whole, each of its calls is tried, so that the others are kept."""
    name, target, calls, random = case
    kept = []
    for call in calls:
        reason = works(function_of(target), call)
        if reason is None:
            kept.append(call)
        else:
            print(f"  {name}({described(call)}): PyTorch refuses it: {reason[:90]}")
    made, bad = [], []
    if not kept:
        return made, [f"{name}: no call works in PyTorch"]
    for record in records_of(name, target, kept, random):
        found = compared(env, record)
        if found and "refused" in found[-1] and len(kept) > 1 and "(training)" in record["name"]:
            for call in kept:
                records, lines = survey(env, (name, target, [call], random))
                made, bad = made + records, bad + lines
            return made, bad
        if "(core)" in record["name"] and found and "operators that are not supported" in found[-1]:
            print(f"  {record['name']}: {found[-1]}")
            continue
        made.append(record)
        bad.extend(f"{record['name']}: {line}" for line in found)
    return made, bad


def main():
    warnings.filterwarnings("ignore")
    torch.manual_seed(0)
    words = [word for word in sys.argv[2:] if not word.startswith("--")]
    target = None
    if "--write" in sys.argv:
        target = words.pop()
    lxla.load(sys.argv[1])
    env = lxla.new_env()
    records, bad = [], []
    for case in cases():
        if words and not any(word in case[0] for word in words):
            continue
        try:
            made, lines = survey(env, case)
        except Exception as error:  # one case must not hide the others
            made, lines = [], [f"{case[0]}: {type(error).__name__}: {error}"[:600]]
        for line in lines:
            print(f"DIFFERS {line}", flush=True)
        records, bad = records + made, bad + lines
    contained = {name for record in records for name in record["targets"]}
    missing = sorted(overloads() - contained - set(ELSEWHERE))
    if not words:
        print(f"{len(missing)} overloads of {len(overloads())} are in no program: {' '.join(missing)}")
    print(f"{len(records)} programs, {len(bad)} differences")
    if target:
        save_records(target, records)
    sys.exit(bool(bad or (missing and not words)))


if __name__ == "__main__":
    main()
