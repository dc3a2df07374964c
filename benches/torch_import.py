"""Training steps of models that PyTorch exported, imported and as PyTorch's own, in turns on the same processors; and
times of imports.

    python torch_import.py /path/to/liblazyxla.so [steps] [imports]

Needs torch 2.15, torchvision 0.29 and transformers 5.24. Two threads. A step is the loss, its gradients by all weights,
Adam and, of ResNet18, the statistics of batch norms; its loss is waited for. Prints medians: of steps in time, of
imports in processor time."""

import os
import statistics
import sys
import tempfile
import time
import warnings

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../c_tests/abi"))
sys.path.insert(0, os.path.join(HERE, "../c_tests/programs"))
import ctypes_test as lxla
import numpy as np
import torch
from ctypes_test import Computation, Tensor, give, ok
from header import family
from programs import imported_file
from pytorch_test import DTYPE, Model, read
from torch import nn
from torch.nn import functional

RATE, BETAS, EPSILON = 1e-3, (0.9, 0.999), 1e-8
WARM_UP, STEPS = 2, 12
BINARY, UNARY = family("BINARY"), family("UNARY")


class Loss(nn.Module):
    """The cross entropy of a model's scores."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x, labels):
        scores = self.model(x)
        scores = getattr(scores, "logits", scores)
        return functional.cross_entropy(scores.reshape(-1, scores.shape[-1]), labels.reshape(-1))


def resnet():
    from torchvision.models import resnet18

    return Loss(resnet18(num_classes=10)), (torch.randn(8, 3, 64, 64), torch.randint(0, 10, (8,)))


def gpt():
    from transformers import GPT2Config, GPT2LMHeadModel

    sizes = {"vocab_size": 1000, "n_positions": 128, "n_embd": 256, "n_layer": 4, "n_head": 4}
    model = GPT2LMHeadModel(GPT2Config(**sizes, use_cache=False, attn_pdrop=0.0, embd_pdrop=0.0, resid_pdrop=0.0))
    return Loss(model), (torch.randint(0, 1000, (8, 128)), torch.randint(0, 1000, (8, 128)))


def binary(op, a, b):
    return give(lxla.lib.lxla_binary, Tensor, BINARY[op], a, b)


def number(env, device, value):
    data = np.float32(value).tobytes()
    return give(lxla.lib.lxla_tensor_from_host, Tensor, env, device, DTYPE["f32"], *lxla.dims(), data, len(data))


class Trained:
    """An imported model with Adam: one traced step."""

    def __init__(self, env, device, path):
        self.env, self.device = env, device
        self.model = Model(env, device, path)
        self.step, self.loss = self.traced(), None
        entries = [self.model.captured[i] for i in self.model.trained]
        moments = [np.zeros(entry["dims"], np.float32) for entry in entries]
        self.state = [
            *self.model.tensors(self.model.weights, self.model.captured),
            *self.model.tensors(moments, entries),
            *self.model.tensors(moments, entries),
        ]
        self.count = 0

    def placeholder(self, entry):
        place = lxla.dims(*entry["dims"])
        return give(lxla.lib.lxla_tensor_placeholder, Tensor, self.env, self.device, DTYPE[entry["dtype"]], *place)

    def called(self, computation, given, count):
        results = (Tensor * count)()
        ok(lxla.lib.lxla_computation_call(computation, (Tensor * len(given))(*given), len(given), results, count))
        return list(results)

    def adam(self, weight, gradient, first, second, rate, scale):
        """The new weight and moments; `rate` and `scale` have the corrections of the step's number."""
        mixed = lambda beta, old, new: binary(
            "add",
            binary("multiply", old, number(self.env, self.device, beta)),
            binary("multiply", new, number(self.env, self.device, 1 - beta)),
        )
        first = mixed(BETAS[0], first, gradient)
        second = mixed(BETAS[1], second, binary("multiply", gradient, gradient))
        root = give(lxla.lib.lxla_unary, Tensor, UNARY["sqrt"], binary("multiply", second, scale))
        root = binary("add", root, number(self.env, self.device, EPSILON))
        change = binary("multiply", binary("divide", first, root), rate)
        return binary("subtract", weight, change), first, second

    def traced(self):
        model = self.model
        forward, backward, residuals = model.differentiated()
        scalar = {"dims": [], "dtype": "f32"}
        entries = [model.captured[i] for i in model.trained]
        wanted = [*model.captured, *entries, *entries, scalar, scalar, *model.inputs]
        parameters = [self.placeholder(entry) for entry in wanted]
        captured, rest = parameters[: len(model.captured)], parameters[len(model.captured) :]
        count = len(entries)
        first, second, (rate, scale, *inputs) = rest[:count], rest[count : 2 * count], rest[2 * count :]
        made = self.called(forward, [*inputs, *captured], len(model.results) + residuals)
        tangents = [np.float32(i == 0) * np.ones(entry["dims"]) for i, entry in enumerate(model.results)]
        tangents = [(t, entry) for t, entry in zip(tangents, model.results, strict=True) if entry["dtype"][0] == "f"]
        tangents = model.tensors([t for t, _ in tangents], [entry for _, entry in tangents])
        gradients = self.called(backward, [*made[len(model.results) :], *tangents], count)
        news = [
            self.adam(captured[i], *values, rate, scale)
            for i, *values in zip(model.trained, gradients, first, second, strict=True)
        ]
        weights = dict(zip(model.trained, (new for new, _, _ in news), strict=True))
        changed = {entry.get("updates"): tensor for entry, tensor in zip(model.results, made, strict=False)}
        state = [weights.get(i, changed.get(entry["name"], captured[i])) for i, entry in enumerate(model.captured)]
        results = [made[0], *state, *(m for _, m, _ in news), *(v for _, _, v in news)]
        arguments = (Tensor * len(parameters))(*parameters), len(parameters), (Tensor * len(results))(*results)
        return give(lxla.lib.lxla_computation_trace, Computation, *arguments, len(results))

    def train(self, inputs):
        self.count += 1
        corrections = [1 - beta**self.count for beta in BETAS]
        more = [
            number(self.env, self.device, RATE / corrections[0]),
            number(self.env, self.device, 1 / corrections[1]),
            *self.model.tensors([x.numpy() for x in inputs], self.model.inputs),
        ]
        given = [*self.state, *more]
        loss, *state = self.called(self.step, given, 1 + len(self.state))
        lxla.release(*given)
        self.state = state
        made = (Tensor * (1 + len(state)))(loss, *state)
        ok(lxla.lib.lxla_sync(made, len(made)))
        value = float(read(loss, {"dims": [], "dtype": "f32"}))
        lxla.release(loss)
        return value


def saved(model, inputs, folder):
    path = os.path.join(folder, "model.pt2")
    torch.export.save(torch.export.export(model, inputs, strict=False), path)
    return path


def steps(env):
    for name, build in (("ResNet18, 8 x 3 x 64 x 64", resnet), ("GPT-2 of 4 layers, 256 wide, 8 x 128 tokens", gpt)):
        torch.manual_seed(0)
        model, inputs = build()
        with tempfile.TemporaryDirectory() as folder:
            trained = Trained(env, lxla.xla(), saved(model.train(), inputs, folder))
        optimizer = torch.optim.Adam(model.parameters(), RATE, BETAS, EPSILON)

        def eager(model=model, inputs=inputs, optimizer=optimizer):
            loss = model(*inputs)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return loss.item()

        times, losses = ([], []), ([], [])
        for _ in range(WARM_UP + STEPS):
            for kind, step in enumerate((lambda trained=trained, inputs=inputs: trained.train(inputs), eager)):
                start = time.perf_counter()
                losses[kind].append(step())
                times[kind].append(time.perf_counter() - start)
        ours, theirs = (1e3 * statistics.median(some[WARM_UP:]) for some in times)
        apart = max(abs(a - b) / abs(b) for a, b in zip(*losses, strict=True))
        print(f"{name}: {ours:.1f} ms, PyTorch {theirs:.1f} ms: {ours / theirs:.2f}; losses differ by {apart:.1e}")


class Chain(nn.Module):
    """A chain of 5,000 nodes."""

    def __init__(self):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.randn(8, 8)), nn.Parameter(torch.randn(8))

    def forward(self, x):
        for i in range(1250):
            x = torch.tanh(x @ self.weight + self.bias) * (1 + 1e-3 * i)
        return x


def imports(env):
    wide = nn.Sequential(*(nn.Linear(4096, 4096, bias=False) for _ in range(16)))
    for name, model, x in (
        ("5,000 nodes", Chain(), torch.randn(2, 8)),
        ("1 GB of weights", wide, torch.randn(1, 4096)),
    ):
        with tempfile.TemporaryDirectory() as folder:
            path = saved(model, (x,), folder)
            size = os.path.getsize(path) / 1e6
            times = []
            for _ in range(7):
                start = time.process_time()
                computation = imported_file(env, path)
                times.append(1e3 * (time.process_time() - start))
                ok(lxla.lib.lxla_computation_release(computation))
        print(f"import of {name} ({size:.1f} MB): {statistics.median(times):.1f} ms, at least {min(times):.1f} ms")


def main():
    warnings.filterwarnings("ignore")
    torch.set_num_threads(2)
    lxla.load(sys.argv[1])
    env = lxla.new_env()
    wanted = sys.argv[2:] or ["steps", "imports"]
    for name, part in (("imports", imports), ("steps", steps)):
        if name in wanted:
            part(env)


if __name__ == "__main__":
    main()
