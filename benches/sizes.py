"""Sizes that change, by programs for bounds: compiles, values and times of loops over random sizes.

    python benches/sizes.py [--steps 200]

The model is a transformer of two layers, a batch of 1 to 16 texts of 1 to 128 symbols, Adam. Times are ratios within one
run: a program for bounds against a program for its sizes at the bounds, and a minute of a loop over eight lengths with
programs for sizes in the background against programs that were compiled beforehand."""

import argparse
import ctypes
import random
import statistics
import time

import numpy as np

import lazyxla as lx
import lazyxla.c as c

SYMBOLS, WIDTH, HEADS, LAYERS = 100, 64, 4, 2


def option(name, value):
    env = c.lxla_env()
    c.lxla_env_default(ctypes.byref(env))
    c.lxla_env_set_option(env, name.encode(), value.encode())


def create():
    rng = np.random.default_rng(1)
    shapes = {"embedding": (SYMBOLS, WIDTH)}
    for i in range(LAYERS):
        shapes |= {f"qkv{i}": (3, WIDTH, WIDTH), f"mix{i}": (WIDTH, WIDTH)}
        shapes |= {f"up{i}": (WIDTH, 4 * WIDTH), f"down{i}": (4 * WIDTH, WIDTH)}
    params = {name: lx.asarray((rng.standard_normal(shape) * 0.05).astype("f4")) for name, shape in shapes.items()}
    for i in range(2 * LAYERS):
        params |= {f"scale{i}": lx.ones(WIDTH), f"offset{i}": lx.zeros(WIDTH)}
    return params


def attention(x, qkv, mix):
    batch, length, width = x.shape
    q, k, v = (lx.reshape(lx.tensordot(x, qkv[i], axes=1), (batch, length, HEADS, -1)) for i in range(3))
    scores = lx.einsum("bqhd,bkhd->bhqk", q, k) * (1 / q.shape[-1] ** 0.5)
    places = lx.arange(length, dtype=lx.int32)
    share = lx.nn.softmax(lx.where(places[:, None] >= places, scores, -1e30))
    return lx.tensordot(
        lx.reshape(lx.permute_dims(lx.einsum("bhqk,bkhd->bhqd", share, v), (0, 2, 1, 3)), x.shape), mix, axes=1
    )


def loss(params, tokens):
    x = lx.take(params["embedding"], tokens[:, :-1], axis=0)
    for i in range(LAYERS):
        normal = lx.nn.layer_norm(x, params[f"scale{2 * i}"], params[f"offset{2 * i}"])
        x = x + attention(normal, params[f"qkv{i}"], params[f"mix{i}"])
        normal = lx.nn.layer_norm(x, params[f"scale{2 * i + 1}"], params[f"offset{2 * i + 1}"])
        x = x + lx.tensordot(lx.nn.gelu(lx.tensordot(normal, params[f"up{i}"], axes=1)), params[f"down{i}"], axes=1)
    scores = lx.nn.log_softmax(lx.tensordot(x, params["embedding"].T, axes=1))
    return -lx.mean(lx.take_along_axis(scores, tokens[:, 1:, None], axis=-1))


OPTIMIZER = lx.optim.adam(1e-3)


def stepper():
    @lx.jit
    def step(params, state, tokens):
        value, slopes = lx.value_and_grad(loss)(params, tokens)
        params, state = OPTIMIZER.update(slopes, state, params)
        return params, state, value

    return step


def batch(seed, n, length):
    return np.random.default_rng(seed).integers(0, SYMBOLS, (n, length + 1)).astype("i4")


def train(sizes, dynamic):
    """Returns the losses, the compiles, the buckets that occurred and the live bytes after each step."""
    option("dynamic_sizes", dynamic)
    option("dynamic_exact", "false")
    step, params = stepper(), create()
    state, losses, live = OPTIMIZER.init(params), [], []
    lx.step(wait=True)
    before = lx.counter("UncachedCompile")
    for i, (n, length) in enumerate(sizes):
        params, state, value = step(params, state, lx.asarray(batch(i, n, length)))
        losses.append(float(value))
        live.append(lx.counter("LiveBytes"))
    return losses, lx.counter("UncachedCompile") - before, live


def timed(tokens, dynamic, runs=9):
    """Returns the median time of a step in seconds, of programs that are compiled."""
    option("dynamic_sizes", dynamic)
    step, params = stepper(), create()
    state, times = OPTIMIZER.init(params), []
    for i in range(runs + 3):
        start = time.perf_counter()
        params, state, value = step(params, state, lx.asarray(tokens))
        float(value)
        times.append(time.perf_counter() - start)
    return statistics.median(times[3:])


def bucket(size):
    bound = 16
    while bound < size:
        bound += bound // 4 if bound & (bound - 1) == 0 else 1 << (bound.bit_length() - 3)
    return bound


def minute(lengths, seconds, dynamic):
    """Returns how many steps over these lengths run in the time, after ten seconds."""
    option("dynamic_sizes", dynamic)
    option("dynamic_exact", "true")
    step, params = stepper(), create()
    state, steps, start = OPTIMIZER.init(params), 0, time.perf_counter()
    counted = None
    while (now := time.perf_counter() - start) < seconds:
        if counted is None and now > 10:
            counted = (steps, now)
        params, state, value = step(params, state, lx.asarray(batch(steps, 8, lengths[steps % len(lengths)])))
        float(value)
        steps += 1
    return (steps - counted[0]) / (now - counted[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=60)
    given = parser.parse_args()
    draw = random.Random(1)
    sizes = [(draw.randint(1, 16), draw.randint(1, 128)) for _ in range(given.steps)]
    pairs = {(bucket(n), bucket(length + 1)) for n, length in sizes}
    start = time.perf_counter()
    found, compiled, live = train(sizes, "buckets")
    middle = time.perf_counter()
    print(f"{given.steps} steps: {compiled} compiles for {len(pairs)} pairs of buckets, {middle - start:.1f} s")
    print(f"refused: {lx.counter('DynamicRefused')}; live bytes after step 20 and at the end: {live[20]}, {live[-1]}")
    wanted, each, _ = train(sizes[: given.steps // 4], "off")
    worst = max(abs(a - b) / abs(b) for a, b in zip(found, wanted))
    print(
        f"a quarter of them for each size: {each} compiles, {time.perf_counter() - middle:.1f} s, losses differ by {worst:.1e}"
    )

    option("dynamic_exact", "false")
    for n, length in [(16, 127), (11, 96), (9, 65)]:
        at = batch(1, bucket(n), bucket(length + 1) - 1)
        dynamic, bound = timed(batch(1, n, length), "buckets"), timed(at, "off")
        own = timed(batch(1, n, length), "off")
        print(
            f"batch {n}, length {length}: for bounds {dynamic * 1e3:.1f} ms, at the bound {bound * 1e3:.1f} ms, for its size "
            f"{own * 1e3:.1f} ms: {dynamic / bound:.2f}, {dynamic / own:.2f}"
        )
    lengths = [19, 26, 33, 41, 53, 67, 85, 101]
    grown, exact = minute(lengths, given.seconds, "buckets"), minute(lengths, given.seconds, "off")
    print(
        f"eight lengths: {grown:.1f} steps a second with programs in the background, {exact:.1f} compiled for each: {exact / grown:.2f}"
    )


if __name__ == "__main__":
    main()
