"""Whole models of others beside PyTorch: python pytorch_models.py /path/to/liblazyxla.so [words of names]

Builds models of torchvision, timm, transformers and PyTorch itself with random weights, exports each in the training
form and in the core form, imports both, and compares outputs with PyTorch's on the CPU. Models that TRAINED lists are
exported in train mode and in f64 as well: then the gradients of a loss by all weights and the changed buffers are
compared. For each form of each model a line says `ok`, `refused` with the reason, or `wrong`."""

import copy
import os
import sys
import tempfile
import time
import warnings

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../abi"))
import ctypes_test as lxla
import numpy as np
import pytorch_models_plain as plain
import pytorch_models_text as text
import pytorch_models_vision as vision
import torch
from pytorch_test import Model
from torch.utils import _pytree as pytree

# Of the largest element of each output in f32.
OUTPUTS = 1e-5
# Of each output, changed buffer and gradient in f64, where rounding hides no fault.
WIDE = 1e-7
# Models that compute rotations, norms or scans in f32 whatever the dtype is.
PARTLY_F32 = ("Bloom", "Llama", "Qwen2", "Gemma", "Mamba", "T5")
WIDE_PARTLY = 1e-5
# Their outputs in f32 are compared in f64: attention is so sharp that PyTorch's own outputs in f32 and f64 differ by
# 1e-3.
SHARP = ("timm.visformer_tiny",)
# Models whose result is expected to differ from PyTorch's: the outcome, and words of the report.
KNOWN = {
    # A kernel of transformers.
    "Mixtral": ("refused", "transformers.grouped_mm_fallback"),
    # PyTorch's own decompositions fail.
    "GPT2 (core": ("not exported", "Cannot view a tensor"),
    # PyTorch's core form differentiates what the model does without gradients.
    "norms (core, train)": ("wrong", "gradient by spectral"),
    # PyTorch's core form has the gradient NaN at the norm 0, as the import has.
    "swin_v2 (core, train)": ("wrong", "other elements are finite"),
}


def survey():
    for group in (plain, text, vision):
        for name, build in group.models():
            yield name, build, name in group.TRAINED


def shuffled(model):
    """Makes weights random that are all equal at first, as scales of norms and heads that are 0, and statistics: they
    would hide parts of the model."""
    for weight in model.parameters():
        if weight.is_floating_point() and weight.numel() > 1 and weight.std() == 0:
            weight.data = weight.data.clamp(0.1, 1.0) + 0.1 * torch.randn_like(weight)
    for name, buffer in model.named_buffers():
        if name.endswith("running_mean"):
            buffer.copy_(0.1 * torch.randn_like(buffer))
        if name.endswith("running_var"):
            buffer.copy_(0.5 + torch.rand_like(buffer))
    return model


def without_draws(model):
    """Turns random layers off, but leaves them in train mode."""
    for module in model.modules():
        for name in ("p", "drop_prob", "dropout", "drop_rate"):
            if isinstance(getattr(module, name, None), float):
                setattr(module, name, 0.0)
    return model


def tensors(made):
    return [leaf.detach() for leaf in pytree.tree_leaves(made) if isinstance(leaf, torch.Tensor)]


def distance(got, want):
    """The largest difference, in units of the largest element."""
    want = want.resolve_conj().numpy()
    if got.shape != want.shape:
        return f"{got.shape} instead of {want.shape}"
    wide = np.complex128 if want.dtype.kind == "c" else np.float64
    got, want = got.astype(wide), want.astype(wide)
    if not np.array_equal(np.isfinite(got), np.isfinite(want)):
        return "other elements are finite"
    finite = np.isfinite(want)
    return float(np.abs(got - want)[finite].max(initial=0) / max(np.abs(want[finite]).max(initial=0), 1e-30))


def loss_of(outputs):
    """Targets that no layer makes, so that no gradient is 0."""
    return [np.cos(np.arange(output.numel())).reshape(output.shape) for output in outputs]


class Case:
    """A model in one mode."""

    def __init__(self, env, name, model, inputs):
        self.env, self.name, self.model, self.inputs = env, name, model, inputs

    def exported(self):
        """Yields the forms. Export changes no weights, but may change buffers."""
        program = torch.export.export(self.model, self.inputs, strict=False)
        yield "training", program
        yield "core", program.run_decompositions()

    def imported(self, program):
        file = tempfile.NamedTemporaryFile(suffix=".pt2", dir=os.environ.get("TMPDIR", "/tmp"))
        torch.export.save(program, file.name)
        started = time.time()
        made = Model(self.env, lxla.cpu(), file.name)
        made.seconds = time.time() - started
        file.close()
        return made

    def arguments(self, program):
        given = [leaf.numpy() for leaf in pytree.tree_leaves(self.inputs) if isinstance(leaf, torch.Tensor)]
        return [*given, *[np.arange(2)] * (len(program.inputs) - len(given))]


def worst_of(pairs):
    """The worst difference of named pairs, with its name."""
    found = [(distance(got, want), name) for name, got, want in pairs]
    wrong = [(words, name) for words, name in found if isinstance(words, str)]
    return wrong[0] if wrong else max(found, default=(0.0, "nothing"))


def evaluated(case, program):
    """Compares the outputs in eval mode."""
    with torch.no_grad():
        wanted = tensors(copy.deepcopy(case.model)(*case.inputs))
    values = case.imported_model.call(case.arguments(case.imported_model))
    outputs = [v for v, entry in zip(values, case.imported_model.results, strict=True) if "updates" not in entry]
    if len(outputs) != len(wanted):
        return f"{len(outputs)} outputs instead of {len(wanted)}", "the results"
    return worst_of((f"output {i}", got, want) for i, (got, want) in enumerate(zip(outputs, wanted, strict=True)))


def trained(case, program):
    """Compares outputs, changed buffers and gradients in train mode."""
    model = copy.deepcopy(case.model)
    before = {name: buffer.clone() for name, buffer in model.named_buffers()}
    outputs = [leaf for leaf in pytree.tree_leaves(model(*case.inputs)) if isinstance(leaf, torch.Tensor)]
    floats = [output for output in outputs if output.is_floating_point()]
    targets = loss_of(floats)
    parts = [(output - torch.tensor(t)).square().mean() for output, t in zip(floats, targets, strict=True)]
    loss = sum(parts) / len(floats)
    loss.backward()
    ours = case.imported_model
    values, _, gradients = ours.step(case.arguments(ours), targets)
    made = [v for v, entry in zip(values, ours.results, strict=True) if "updates" not in entry]
    pairs = [(f"output {i}", got, want) for i, (got, want) in enumerate(zip(made, tensors(outputs), strict=True))]
    changed = ours.changed(values)
    for name, buffer in model.named_buffers():
        if not torch.equal(buffer, before[name]):
            pairs.append((f"buffer {name}", changed.pop(name), buffer))
    wanted = dict(model.named_parameters(remove_duplicate=False))
    of = lambda name: wanted[name].grad if wanted[name].grad is not None else torch.zeros_like(wanted[name])
    largest = max(of(ours.captured[i]["name"]).abs().max().item() for i in ours.trained)
    for i, gradient in zip(ours.trained, gradients, strict=True):
        want = of(ours.captured[i]["name"])
        # Of a bias before a batch norm, the gradient is 0 but for roundings.
        if want.abs().max() < 1e-9 * largest and np.abs(gradient).max() < 1e-9 * largest:
            continue
        pairs.append((f"gradient by {ours.captured[i]['name']}", gradient, want))
    return worst_of(pairs)


def one(case, mode, compare, limit):
    """Compares both forms of a case; returns the words for each of them that is not right."""
    forms = case.exported()
    for form in ("training", "core"):
        label, started = f"{case.name} ({form}, {mode})", time.time()
        try:
            _, program = next(forms)
        except Exception as error:
            yield label, "not exported", f"{type(error).__name__}: {str(error).strip().splitlines()[0][:200]}"
            return
        try:
            case.imported_model = case.imported(program)
        except AssertionError as error:
            yield label, "refused", str(error)
            continue
        worst, name = compare(case, program)
        case.imported_model.close()
        took = f"{case.imported_model.seconds:.2f} s import, {time.time() - started:.1f} s"
        if isinstance(worst, str) or not worst <= limit:
            yield label, "wrong", f"{name} differs by {worst if isinstance(worst, str) else f'{worst:.1e}'} ({took})"
        else:
            yield label, "ok", f"{worst:.1e} ({took})"


def is_known(label, state, more):
    return any(label.startswith(name) and state == kind and words in more for name, (kind, words) in KNOWN.items())


def checked(env, name, build, is_trained):
    torch.manual_seed(1)
    model, inputs = build()
    with torch.no_grad():
        model(*inputs)  # lazy layers take their sizes
    shuffled(model)
    wide = tuple(x.double() if x.is_floating_point() else x for x in inputs)
    if name in SHARP:
        yield from one(Case(env, name, copy.deepcopy(model).double().eval(), wide), "eval", evaluated, WIDE)
    else:
        yield from one(Case(env, name, copy.deepcopy(model).eval(), inputs), "eval", evaluated, OUTPUTS)
    if is_trained:
        limit = WIDE_PARTLY if name.split()[0] in PARTLY_F32 else WIDE
        yield from one(Case(env, name, without_draws(model.double().train()), wide), "train", trained, limit)


def main():
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    lxla.load(sys.argv[1])
    env, words = lxla.new_env(), sys.argv[2:]
    counts, bad = {}, []
    for name, build, is_trained in survey():
        if words and not any(word in name for word in words):
            continue
        try:
            for label, state, more in checked(env, name, build, is_trained):
                print(f"{state:12} {label}: {more}", flush=True)
                counts[state] = counts.get(state, 0) + 1
                if state != "ok" and not is_known(label, state, more):
                    bad.append(label)
        except Exception as error:  # one model must not hide the others
            print(f"failed       {name}: {type(error).__name__}: {str(error)[:600]}", flush=True)
            bad.append(name)
    print(", ".join(f"{count} {state}" for state, count in sorted(counts.items())))
    if bad:
        print(f"{len(bad)} are otherwise than known: {' '.join(bad)}")
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
