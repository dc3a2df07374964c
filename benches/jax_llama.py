"""Llama 3.1 405B traced and lowered, nothing allocated: JAX beside benches/llama.c, as a scan and as a Python loop.

    python jax_llama.py FOLDER_OF_THE_PROGRAMS/bench_llama

The model is that of examples/llama.h, operation for operation but for einsum and softmax, which JAX has whole. Each
turn traces a new function, as a program does once a shape.
"""

import gc
import os
import statistics
import subprocess
import sys
import time

os.environ.setdefault("JAX_PLATFORMS", "cpu")
import jax
import jax.numpy as jnp

LAYERS, WIDTH, FFN, HEADS, KV, VOCABULARY, SEQUENCE, TURNS = 126, 16384, 53248, 128, 8, 128256, 8192, 11
HEAD, GROUP = WIDTH // HEADS, HEADS // KV
BF16, F32 = jnp.bfloat16, jnp.float32
WEIGHTS = dict(
    attention_norm=(WIDTH,),
    q=(WIDTH, WIDTH),
    k=(WIDTH, KV * HEAD),
    v=(WIDTH, KV * HEAD),
    o=(WIDTH, WIDTH),
    ffn_norm=(WIDTH,),
    gate=(WIDTH, FFN),
    up=(WIDTH, FFN),
    down=(FFN, WIDTH),
)


def abstract(*dims, dtype=BF16):
    return jax.ShapeDtypeStruct(dims, dtype)


def rms_norm(x, weight):
    wide = x.astype(F32)
    return (wide * jax.lax.rsqrt(jnp.mean(wide * wide, -1, keepdims=True) + 1e-5)).astype(BF16) * weight


def rotated(x, cosine, sine):
    a, b = jnp.split(x.astype(F32), 2, -1)
    return jnp.concatenate([a * cosine - b * sine, b * cosine + a * sine], -1).astype(BF16)


def attention(x, w, cosine, sine, visible):
    q = rotated((x @ w["q"]).reshape(SEQUENCE, HEADS, HEAD), cosine, sine).reshape(SEQUENCE, KV, GROUP, HEAD)
    k = rotated((x @ w["k"]).reshape(SEQUENCE, KV, HEAD), cosine, sine)
    v = (x @ w["v"]).reshape(SEQUENCE, KV, HEAD)
    scores = jnp.einsum("qkgh,skh->kgqs", q, k).astype(F32) / HEAD**0.5
    share = jax.nn.softmax(jnp.where(visible, scores, -1e30)).astype(BF16)
    return jnp.einsum("kgqs,skh->qkgh", share, v).reshape(SEQUENCE, WIDTH) @ w["o"]


def layer(x, w, tables):
    x = x + attention(rms_norm(x, w["attention_norm"]), w, *tables)
    h = rms_norm(x, w["ffn_norm"])
    return x + (jax.nn.silu(h @ w["gate"]) * (h @ w["up"])) @ w["down"]


def model(scanned, checkpointed=False):
    """A new function each time: JAX remembers what it traced."""
    each = jax.checkpoint(layer) if checkpointed else layer

    def forward(tokens, embedding, final_norm, head, layers):
        position = jnp.arange(SEQUENCE, dtype=F32)
        angle = position[:, None] * 500000.0 ** (-jnp.arange(0, HEAD, 2, dtype=F32) / HEAD)
        tables = jnp.cos(angle)[:, None], jnp.sin(angle)[:, None], position[:, None] >= position
        x = embedding[tokens]
        if scanned:
            x, _ = jax.lax.scan(lambda x, w: (each(x, w, tables), None), x, layers)
        else:
            for w in layers:
                x = each(x, w, tables)
        return rms_norm(x, final_norm) @ head

    return forward


def gradients(scanned):
    """The loss of the next tokens and its gradients by all weights; in the scan, each layer is computed again."""
    forward = model(scanned, checkpointed=scanned)

    def loss(weights, tokens, targets):
        shares = jax.nn.log_softmax(forward(tokens, *weights).astype(F32))
        return -jnp.mean(jnp.take_along_axis(shares, targets[:, None], 1))

    return jax.value_and_grad(loss)


def measure(scanned, differentiated):
    """Milliseconds to trace, to lower, and both, and the length of the text."""
    if scanned:
        layers = {name: abstract(LAYERS, *dims) for name, dims in WEIGHTS.items()}
    else:
        count = 24 if differentiated else LAYERS
        layers = [{name: abstract(*dims) for name, dims in WEIGHTS.items()} for _ in range(count)]
    tokens = abstract(SEQUENCE, dtype=jnp.int32)
    weights = abstract(VOCABULARY, WIDTH), abstract(WIDTH), abstract(WIDTH, VOCABULARY), layers
    given = (weights, tokens, tokens) if differentiated else (tokens, *weights)
    traces, lowerings, both = [], [], []
    for turn in range(-1, TURNS):
        forward = gradients(scanned) if differentiated else model(scanned)
        gc.collect()
        start = time.perf_counter()
        traced = jax.jit(forward).trace(*given)
        half = time.perf_counter()
        lowered = traced.lower()
        end = time.perf_counter()
        if turn >= 0:
            traces.append(half - start), lowerings.append(end - half), both.append(end - start)
    return *(statistics.median(times) * 1e3 for times in (traces, lowerings, both)), len(lowered.as_text())


def main():
    ours = subprocess.run([sys.argv[1]], check=True, capture_output=True, text=True).stdout.split("\n")
    ours = {name: [float(x) for x in rest] for name, *rest in (line.split() for line in ours if line)}
    print(f"| Llama 3.1 405B, JAX {jax.__version__}, medians of {TURNS} | trace ms | lower ms | both ms | text kB | |")
    print("|---|---|---|---|---|---|")
    for mode in ("scan", "loop", "scan_gradients", "loop_gradients"):
        peer = measure(mode.startswith("scan"), mode.endswith("gradients"))
        for name, (trace, lower, both, size) in (("lazyxla", ours[mode]), ("JAX", peer)):
            ratio = f"1/{peer[2] / both:.0f} of JAX's" if name == "lazyxla" else ""
            print(f"| {mode}, {name} | {trace:.2f} | {lower:.2f} | {both:.2f} | {size / 1e3:.0f} | {ratio} |")


if __name__ == "__main__":
    main()
