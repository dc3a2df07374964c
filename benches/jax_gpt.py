"""The language model of examples/gpt.c in JAX: the same text, random numbers, batches, model and optimizer.

    python jax_gpt.py examples/data/genesis_exodus.txt [OPTION VALUE] ... [--compare CURVE | --program GPT]

Takes the options of gpt.c that concern the training, and prints the loss as gpt.c does; --curve writes it step by step.
--compare reads what `gpt --curve` wrote, and ends with status 1 if the two curves are further apart than rounding
explains; --program runs gpt with the same options first. Ends with status 77 where there is no JAX for this Python.
"""

import argparse
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time

if sys.version_info < (3, 11):
    print("JAX 0.10.2 needs Python 3.11")
    sys.exit(77)  # ctest counts 77 as skipped
os.environ.setdefault("JAX_PLATFORMS", "cpu")
import jax
import jax.numpy as jnp
import numpy as np
from jax.ad_checkpoint import checkpoint_name

BETA1, BETA2, EPSILON, NORM_EPSILON, HIDDEN = 0.9, 0.99, 1e-8, 1e-5, -1e30
HELD_OUT, MOST_EVALUATIONS = 0.1, 40  # the share of the text, and the number of its batches that are evaluated
# The largest difference of two curves, relative to the loss. Rounding differs, and training amplifies it.
EARLY_STEPS, EARLY_LIMIT, LATE_LIMIT = 20, 1e-4, 0.03
POLICIES = {
    "all": None,
    "none": jax.checkpoint_policies.nothing_saveable,
    "dots": jax.checkpoint_policies.dots_saveable,
    "named": jax.checkpoint_policies.save_only_these_names("attended", "expanded"),
}


class Random:
    """splitmix64, and normal numbers from two of its numbers each, as in gpt.c."""

    GAMMA, MASK = 0x9E3779B97F4A7C15, (1 << 64) - 1

    def __init__(self, seed):
        self.state = seed

    def numbers(self, count):
        """The next `count` numbers, as uint64: the state is a counter, so they are computed at once."""
        steps = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(self.GAMMA) + np.uint64(self.state)
        self.state = self.state + count * self.GAMMA & self.MASK
        z = (steps ^ steps >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ z >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
        return z ^ z >> np.uint64(31)

    def normals(self, count):
        uniform = (self.numbers(2 * count) >> np.uint64(11)).astype(np.float64) * 2.0**-53
        pairs = zip(uniform[0::2].tolist(), uniform[1::2].tolist())  # math, not numpy, has the functions of C
        return np.array([math.sqrt(-2 * math.log(1 - a)) * math.cos(6.283185307179586 * b) for a, b in pairs])


def shapes(o, vocabulary):
    """Name, dims, standard deviation (0: no random numbers), constant, and whether it is one for each layer."""
    w, small, last = o.width, 0.02, 0.02 / math.sqrt(2 * o.layers)
    return [
        ("token_embedding", (vocabulary, w), small, 0, False),
        ("position_embedding", (o.context, w), small, 0, False),
        ("final_scale", (w,), 0, 1, False),
        ("final_offset", (w,), 0, 0, False),
        ("attention_scale", (w,), 0, 1, True),
        ("attention_offset", (w,), 0, 0, True),
        ("qkv_weight", (w, 3 * w), small, 0, True),
        ("qkv_bias", (3 * w,), 0, 0, True),
        ("mix_weight", (w, w), last, 0, True),
        ("mix_bias", (w,), 0, 0, True),
        ("mlp_scale", (w,), 0, 1, True),
        ("mlp_offset", (w,), 0, 0, True),
        ("up_weight", (w, 4 * w), small, 0, True),
        ("up_bias", (4 * w,), 0, 0, True),
        ("down_weight", (4 * w, w), last, 0, True),
        ("down_bias", (w,), 0, 0, True),
    ]


def initial(o, vocabulary):
    random, parameters = Random(o.seed), {}
    for name, dims, deviation, constant, stacked in shapes(o, vocabulary):
        dims = (o.layers, *dims) if stacked else dims
        if deviation:
            values = (random.normals(math.prod(dims)) * deviation).astype(np.float32).reshape(dims)
        else:
            values = np.full(dims, constant, np.float32)
        parameters[name] = jnp.asarray(values)
    return parameters


def layer_norm(x, scale, offset):
    centred = x - x.mean(-1, keepdims=True)
    return centred / jnp.sqrt((centred * centred).mean(-1, keepdims=True) + NORM_EPSILON) * scale + offset


def layer(o, x, w):
    qkv = layer_norm(x, w["attention_scale"], w["attention_offset"]) @ w["qkv_weight"] + w["qkv_bias"]
    q, k, v = jnp.moveaxis(qkv.reshape(*x.shape[:2], 3, o.heads, o.width // o.heads), 2, 0)
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) * (1 / math.sqrt(o.width // o.heads))
    positions = jnp.arange(x.shape[1])
    share = jax.nn.softmax(jnp.where(positions[:, None] >= positions, scores, HIDDEN))
    attended = checkpoint_name(jnp.einsum("bhqk,bkhd->bqhd", share, v).reshape(x.shape), "attended")
    x = x + attended @ w["mix_weight"] + w["mix_bias"]
    up = layer_norm(x, w["mlp_scale"], w["mlp_offset"]) @ w["up_weight"] + w["up_bias"]
    return x + jax.nn.gelu(checkpoint_name(up, "expanded"), approximate=True) @ w["down_weight"] + w["down_bias"]


def loss_of(o, p, tokens, targets):
    x = p["token_embedding"][tokens] + p["position_embedding"]
    body = lambda x, w: (layer(o, x, w), None)
    if POLICIES[o.policy]:
        body = jax.checkpoint(body, policy=POLICIES[o.policy])
    of_layers = {
        name: p[name] for name in p if name.partition("_")[0] in ("attention", "qkv", "mix", "mlp", "up", "down")
    }
    x, _ = jax.lax.scan(body, x, of_layers)
    scores = layer_norm(x, p["final_scale"], p["final_offset"]) @ p["token_embedding"].T
    picked = jnp.take_along_axis(jax.nn.log_softmax(scores), targets[..., None], -1)
    return -picked.mean()


def update(o, parameters, m, v, gradients, rates):
    norm = jnp.sqrt(sum((g * g).sum() for g in gradients.values()))
    clip = o.clip / jnp.maximum(norm, o.clip)
    step, root, decay = rates
    for name in parameters:
        g = gradients[name] * clip
        m[name] = BETA1 * m[name] + (1 - BETA1) * g
        v[name] = BETA2 * v[name] + (1 - BETA2) * (g * g)
        change = m[name] / (jnp.sqrt(v[name]) * root + EPSILON) * step
        if name.endswith(("_weight", "_embedding")):
            change = change + parameters[name] * decay
        parameters[name] = parameters[name] - change
    return parameters, m, v


def rate_at(o, step):
    if step < o.warmup:
        return o.rate * (step + 1) / o.warmup
    passed = (step - o.warmup) / max(o.steps - o.warmup, 1)
    return o.rate * (0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi * passed)))


def rates_at(o, step):
    """What the update reads: step size, 1 / sqrt(correction of v), decay."""
    rate = rate_at(o, step)
    return np.array(
        [rate / (1 - BETA1 ** (step + 1)), 1 / math.sqrt(1 - BETA2 ** (step + 1)), rate * o.decay], np.float32
    )


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("text")
    sizes = dict(layers=4, width=128, heads=4, context=64, batch=16, steps=600, warmup=50, seed=1, every=50)
    for name, default in sizes.items():
        parser.add_argument("--" + name, type=int, default=default)
    for name, default in dict(rate=3e-3, decay=0.1, clip=1.0).items():
        parser.add_argument("--" + name, type=float, default=default)
    parser.add_argument("--policy", choices=POLICIES, default="dots")
    for name in "curve", "compare", "program":
        parser.add_argument("--" + name)
    return parser.parse_args()


def run_program(o):
    """Runs gpt with the same options, and returns the losses of its steps."""
    names = "layers width heads context batch steps warmup seed rate decay clip policy".split()
    with tempfile.TemporaryDirectory() as folder:
        files = {"curve": f"{folder}/curve.txt", "save": f"{folder}/gpt.safetensors"}
        given = {name: getattr(o, name) for name in names} | files | {"characters": 0, "bound": 100}
        arguments = [text for name, value in given.items() for text in ("--" + name, str(value))]
        subprocess.run([o.program, o.text, *arguments], check=True)
        return read_curve(files["curve"])


def read_curve(path):
    with open(path) as file:
        return np.array([float(line.split()[1]) for line in file if line.startswith("loss ")])


def compare(theirs, losses):
    assert len(theirs) == len(losses), f"gpt made {len(theirs)} steps, want {len(losses)}"
    apart = np.abs(theirs - losses) / losses
    early, late = apart[:EARLY_STEPS].max(), apart.max()
    print(
        f"losses are at most {early:.2g} apart in the first {EARLY_STEPS} steps (limit {EARLY_LIMIT}), "
        f"{late:.2g} in all (limit {LATE_LIMIT})"
    )
    return early <= EARLY_LIMIT and late <= LATE_LIMIT


def main():
    o = options()
    theirs = run_program(o) if o.program else read_curve(o.compare) if o.compare else None
    text = np.fromfile(o.text, np.uint8)
    symbols = np.unique(text)
    ids = np.searchsorted(symbols, text).astype(np.int32)
    training = len(ids) - int(len(ids) * HELD_OUT)
    parameters = initial(o, len(symbols))
    zeros = lambda: {name: jnp.zeros_like(p) for name, p in parameters.items()}
    m, v, random = zeros(), zeros(), Random(o.seed + 1)
    loss = jax.jit(lambda p, tokens, targets: loss_of(o, p, tokens, targets))

    def step(parameters, m, v, tokens, targets, rates):
        value, gradients = jax.value_and_grad(lambda p: loss_of(o, p, tokens, targets))(parameters)
        return *update(o, dict(parameters), dict(m), dict(v), gradients, rates), value

    step = jax.jit(step, donate_argnums=(0, 1, 2))
    windows = lambda starts: np.stack([ids[s : s + o.context + 1] for s in starts])

    def held_out():
        """The mean loss of consecutive windows of the held-out part."""
        count = min((len(ids) - training - 1) // (o.batch * o.context), MOST_EVALUATIONS)
        total = 0.0
        for i in range(count):
            w = windows(training + (i * o.batch + np.arange(o.batch)) * o.context)
            total += float(loss(parameters, w[:, :-1], w[:, 1:]))
        return total / count

    size = sum(p.size for p in parameters.values())
    print(
        f"JAX {jax.__version__}: {size} parameters, {len(symbols)} symbols, {training} characters to train, "
        f"validation loss {held_out():.4f}"
    )
    w = np.zeros((o.batch, o.context + 1), np.int32)
    memory = step.lower(parameters, m, v, w[:, :-1], w[:, 1:], rates_at(o, 0)).compile().memory_analysis()
    print(f"  policy {o.policy}: temporaries of a step take {memory.temp_size_in_bytes / 1e6:.2f} MB")
    losses, times, begun = [], [], time.perf_counter()
    for i in range(o.steps):
        start = time.perf_counter()
        w = windows((random.numbers(o.batch) % np.uint64(training - o.context)).astype(np.int64))
        parameters, m, v, value = step(parameters, m, v, w[:, :-1], w[:, 1:], rates_at(o, i))
        losses.append(float(value))
        times.append(time.perf_counter() - start)
        if i == 0 or (i + 1) % o.every == 0:
            print(
                f"  step {i + 1:5d}  loss {losses[-1]:.4f}  rate {rate_at(o, i):.2e}  "
                f"{o.batch * o.context / statistics.median(times[-o.every :]):.0f} tokens/s",
                flush=True,
            )
    took, middle = time.perf_counter() - begun, statistics.median(times) * 1e3
    print(f"validation loss {held_out():.4f}; {took:.0f} s, {middle:.1f} ms a step, waited for")
    if o.curve:
        with open(o.curve, "w") as file:
            file.writelines(f"loss {x:.9g}\n" for x in losses)
    return 0 if theirs is None or compare(theirs, np.array(losses)) else 1


if __name__ == "__main__":
    sys.exit(main())
