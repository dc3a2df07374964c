"""Modules of PyTorch as functions, beside PyTorch itself: values, gradients, free sizes. Needs torch and numpy, and
lazyxla in PYTHONPATH."""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

try:
    import torch
except ImportError:
    print("there is no PyTorch")
    sys.exit(77)  # ctest counts 77 as skipped
import run  # noqa: F401 - it names the plugin
from common import DEVICES, on, raises, random, same

import lazyxla as lx


class Block(torch.nn.Module):
    """A layer of a language model with an optional mask. Inputs are in a dictionary, and one is not used."""

    def __init__(self):
        super().__init__()
        self.norm, self.qkv, self.out = torch.nn.RMSNorm(8), torch.nn.Linear(8, 16), torch.nn.Linear(8, 8)

    def forward(self, inputs, mask=None, is_causal=False):
        x = self.norm(inputs["x"])
        q, k, v = torch.split(self.qkv(x).unflatten(-1, (-1, 2)).transpose(1, 2), [4, 2, 2], dim=1)
        options = {"attn_mask": mask, "is_causal": is_causal, "enable_gqa": True}
        made = torch.nn.functional.scaled_dot_product_attention(q, k, v, **options)
        return inputs["x"] + self.out(made.transpose(1, 2).flatten(2)), x.sum()


def inputs_of(batch, length, seed):
    made = {"x": random(seed, (batch, length, 8)), "unused": random(seed, (batch,))}
    return made, {name: torch.from_numpy(x) for name, x in made.items()}


def test_a_module_is_a_function():
    torch.manual_seed(1)
    module = Block().eval()
    given, tensors = inputs_of(2, 5, 1)
    mask = torch.rand(5, 5) > 0.4
    mask[1] = False
    for kwargs in ({}, {"is_causal": True}, {"mask": mask}):
        f = lx.from_torch(module, tensors, kwargs=kwargs)
        wanted = module(tensors, **kwargs)
        for device in DEVICES:
            arrays = [on(x, device) for x in given.values()]
            arrays += [on(mask.numpy(), device)] if "mask" in kwargs else []
            for made, want in zip(f(*arrays), wanted, strict=True):
                same(made, want.detach().numpy(), 1e-5)
    raises(TypeError, lambda: f(*arrays[:2]), "3 arrays", "2")


def test_gradients_by_weights_are_pytorchs():
    torch.manual_seed(2)
    module = Block().train()
    given, tensors = inputs_of(2, 5, 2)
    f = lx.from_torch(module, tensors)
    (module(tensors)[0] ** 2).mean().backward()
    wanted = [p.grad.numpy() for p in module.parameters()]
    for device in DEVICES:
        arrays, weights = [on(x, device) for x in given.values()], [w.to_device(device) for w in f.weights]
        found = lx.grad(lambda weights: lx.mean(f(*arrays, weights=weights)[0] ** 2))(weights)
        for made, want in zip(found, wanted, strict=True):
            same(made, want, 1e-4)


def test_sizes_may_be_free():
    torch.manual_seed(3)
    module = Block().eval()
    batch, length = torch.export.Dim("batch"), torch.export.Dim("length", min=2)
    free = {"inputs": {"x": {0: batch, 1: length}, "unused": {0: batch}}}
    f = lx.from_torch(module, inputs_of(2, 5, 3)[1], dynamic_shapes=free)
    for sizes in ((2, 5), (4, 3), (2, 5)):
        given, tensors = inputs_of(*sizes, 4)
        for device in DEVICES:
            same(f(*[on(x, device) for x in given.values()])[0], module(tensors)[0].detach().numpy(), 1e-5)
    raises(ValueError, lambda: f(*[on(x, "cpu") for x in (random(1, (2, 5, 7)), random(1, (2,)))]), "from_torch()")


def test_dropout_takes_a_key():
    module = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout(0.5)).train()
    free = ({0: torch.export.Dim("batch")},)
    for options in ({}, {"dynamic_shapes": free}):
        f = lx.from_torch(module, torch.ones(8, 4), **options)
        for device in DEVICES:
            for batch in (8, 6) if options else (8,):
                x, key = lx.ones((batch, 4), device=device), lx.random.key(1).to_device(device)
                dropped = f(x, key) == 0
                assert 0.1 < lx.mean(dropped.astype(lx.float32)).item() < 0.9
                assert lx.all((f(x, key) == 0) == dropped).item()


def test_the_module_is_not_changed_and_the_weights_are_copies():
    module = torch.nn.BatchNorm1d(3).train()
    before = {name: x.clone() for name, x in module.state_dict().items()}
    x = random(1, (4, 3))
    f = lx.from_torch(module, torch.from_numpy(x))
    first, mean, *_ = f(on(x, "cpu"))
    assert all(torch.equal(x, before[name]) for name, x in module.state_dict().items())
    with torch.no_grad():
        module.weight.mul_(3)
    same(f(on(x, "cpu"))[0], first, 0)
    same(mean, 0.1 * x.mean(0), 1e-6)


def test_the_export_of_the_documentation():
    """examples/torch_model.py, which docs/torchscript.md shows."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.pt2"
        command = [sys.executable, Path(__file__).resolve().parents[2] / "examples/torch_model.py", path]
        printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        rows = [[float(x) for x in line.split()] for line in printed.splitlines()]
        f = lx.import_program(path, shapes=[(5, 6)])
        for device in DEVICES:
            same(f(lx.asarray(rows[:5], device=device)), np.array(rows[5:], "float32"), 1e-5)


def test_errors():
    class Sorted(torch.nn.Module):
        def forward(self, x):
            return torch.linalg.eigvals(x)

    raises(NotImplementedError, lambda: lx.from_torch(Sorted(), torch.ones(2, 2)), "from_torch()", "eigvals")


if __name__ == "__main__":
    sys.argv = sys.argv[:1]
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            test()
            print(f"ok {name}", flush=True)
