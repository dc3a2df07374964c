"""Loops in which sizes change, as users write them: batches that are not full, texts of any length, prompts.

A loop is a function of a list of sizes, which yields a tree of arrays for each. test_sizes.py runs each with programs
for bounds and with a program for each size, and counts the programs."""

import numpy as np

import lazyxla as lx


def numbers(seed, *shape, dtype="float32"):
    rng = np.random.default_rng([seed, *shape])
    return (
        rng.integers(0, 10, shape).astype(dtype)
        if dtype.startswith("int")
        else rng.standard_normal(shape).astype(dtype)
    )


def mlp(sizes):
    """Batches of any size, SGD, the loss read in each step."""
    params = [lx.asarray(numbers(i, *shape) * 0.3) for i, shape in enumerate([(8, 16), (16,), (16, 4), (4,)])]

    def loss(params, x, y):
        w, b, v, c = params
        hidden = lx.tanh(x @ w + b)
        scores = lx.nn.log_softmax(hidden @ v + c)
        return -lx.mean(lx.take_along_axis(scores, y[:, None], axis=-1))

    @lx.jit
    def step(params, x, y):
        value, slopes = lx.value_and_grad(loss)(params, x, y)
        return [p - 0.1 * g for p, g in zip(params, slopes)], value

    for n in sizes:
        params, value = step(params, lx.asarray(numbers(7, n, 8)), lx.asarray(numbers(8, n, dtype="int32") % 4))
        yield float(value)
    yield params


def eager(sizes):
    """Functions of arrays outside of any traced function."""
    for n in sizes:
        x = lx.asarray(numbers(1, n, 3))
        centered = x - lx.mean(x, axis=0)
        scale = lx.sqrt(lx.mean(centered * centered, axis=0) + 1e-5)
        yield {
            "normal": centered / scale,
            "softmax": lx.nn.softmax(x, axis=0),
            "steps": x[1:] - x[:-1],
            "sums": lx.cumulative_sum(x, axis=0),
            "largest": lx.max(x, axis=0),
            "where": lx.argmax(x, axis=0),
            "joined": lx.concat([x, lx.zeros((2, 3)), x * 2]),
            "gram": x @ x.T,
            "any": lx.any(x > 2),
        }


def recurrent(sizes):
    """A cell that is scanned over texts of any length."""
    w, u, params = lx.asarray(numbers(1, 4, 8) * 0.3), lx.asarray(numbers(2, 8, 8) * 0.3), None

    def loss(params, texts):
        def cell(state, x):
            state = lx.tanh(x @ params["w"] + state @ params["u"])
            return state, lx.sum(state)

        last, sums = lx.scan(cell, lx.zeros((texts.shape[1], 8)), texts)
        return lx.mean(last**2) + lx.mean(sums**2) * 0.01

    step = lx.jit(lx.value_and_grad(loss))
    params = {"w": w, "u": u}
    for n in sizes:
        value, slopes = step(params, lx.asarray(numbers(3, n, 5, 4)))
        params = {name: params[name] - 0.05 * slopes[name] for name in params}
        yield value
    yield params


def attention(x, w, heads):
    batch, length, width = x.shape
    q, k, v = (lx.reshape(lx.tensordot(x, w[i], axes=1), (batch, length, heads, -1)) for i in range(3))
    scores = lx.einsum("bqhd,bkhd->bhqk", q, k) * (1 / q.shape[-1] ** 0.5)
    places = lx.arange(length, dtype=lx.int32)
    share = lx.nn.softmax(lx.where(places[:, None] >= places, scores, -1e30))
    mixed = lx.permute_dims(lx.einsum("bhqk,bkhd->bhqd", share, v), (0, 2, 1, 3))
    return lx.tensordot(lx.reshape(mixed, x.shape), w[3], axes=1)


def transformer(sizes):
    """Batches of any number of texts of any length; one layer, Adam."""
    shapes = {"e": (10, 16), "a": (4, 16, 16), "up": (16, 32), "down": (32, 16), "scale": (16,), "offset": (16,)}
    params = {name: lx.asarray(numbers(i, *shape) * 0.2) for i, (name, shape) in enumerate(shapes.items())}

    def loss(params, tokens):
        x = lx.take(params["e"], tokens[:, :-1], axis=0)
        x = x + attention(lx.nn.layer_norm(x, params["scale"], params["offset"]), params["a"], 2)
        x = x + lx.tensordot(lx.nn.gelu(lx.tensordot(x, params["up"], axes=1)), params["down"], axes=1)
        scores = lx.nn.log_softmax(lx.tensordot(x, params["e"].T, axes=1))
        return -lx.mean(lx.take_along_axis(scores, tokens[:, 1:, None], axis=-1))

    optimizer = lx.optim.adam(1e-2)

    @lx.jit
    def step(params, state, tokens):
        value, slopes = lx.value_and_grad(loss)(params, tokens)
        params, state = optimizer.update(slopes, state, params)
        return params, state, value

    state = optimizer.init(params)
    for i, n in enumerate(sizes):
        tokens = lx.asarray(numbers(9, 1 + (5 * n + i) % 16, n + 2, dtype="int32"))
        params, state, value = step(params, state, tokens)
        yield float(value)
    yield params


def decoding(sizes):
    """Prompts of any length, which fill a cache of keys and values; then tokens one by one."""
    most = 64
    table, w = lx.asarray(numbers(1, 10, 8) * 0.5), lx.asarray(numbers(2, 3, 8, 8) * 0.4)
    places = lx.arange(most, dtype=lx.int32)

    def scores_of(keys, values, q, seen):
        share = lx.nn.softmax(lx.where(seen, q @ keys.T, -1e30))
        return (share @ values) @ table.T

    @lx.jit
    def read(keys, values, tokens):
        length = tokens.shape[0]
        q, k, v = (lx.take(table, tokens, axis=0) @ w[i] for i in range(3))
        keys, values = keys.copy(), values.copy()
        keys[:length], values[:length] = k, v
        seen = places[None, :] <= lx.arange(length, dtype=lx.int32)[:, None]
        return keys, values, lx.argmax(scores_of(keys, values, q, seen)[-1])

    @lx.jit
    def write(keys, values, token, place):
        q, k, v = (lx.take(table, token, axis=0) @ w[i] for i in range(3))
        keys, values = keys.copy(), values.copy()
        keys[place], values[place] = k, v
        return keys, values, lx.argmax(scores_of(keys, values, q, places <= place))

    for n in sizes:
        keys, values, token = read(
            lx.zeros((most, 8)), lx.zeros((most, 8)), lx.asarray(numbers(3, n + 1, dtype="int32"))
        )
        text = [int(token)]
        for place in range(n + 1, n + 5):
            keys, values, token = write(keys, values, token, lx.asarray(place, dtype=lx.int32))
            text.append(int(token))
        yield keys, values, np.asarray(text)


def pictures(sizes):
    """A convolutional network on batches that are not full."""
    kernel, w = lx.asarray(numbers(1, 4, 1, 3, 3) * 0.3), lx.asarray(numbers(2, 4, 3) * 0.3)

    def loss(params, images, y):
        x = lx.nn.relu(lx.nn.conv(images, params[0]))
        x = lx.mean(x, axis=(2, 3))
        scores = lx.nn.log_softmax(x @ params[1])
        return -lx.mean(lx.take_along_axis(scores, y[:, None], axis=-1))

    step = lx.jit(lx.value_and_grad(loss))
    params = [kernel, w]
    for n in sizes:
        value, slopes = step(params, lx.asarray(numbers(3, n, 1, 6, 6)), lx.asarray(numbers(4, n, dtype="int32") % 3))
        params = [p - 0.1 * g for p, g in zip(params, slopes)]
        yield value
    yield params


def dropout(sizes):
    """Texts of any length, whose elements are dropped at random; the mean over the tokens that have a next one."""

    def loss(w, key, tokens):
        x = lx.nn.dropout(lx.take(w, tokens[:, :-1], axis=0), 0.3, key)
        scores = lx.nn.log_softmax(lx.reshape(x, (-1, x.shape[-1])) @ w.T)
        return -lx.mean(lx.take_along_axis(scores, lx.reshape(tokens[:, 1:], (-1, 1)), axis=-1))

    step, w, key = lx.jit(lx.value_and_grad(loss)), lx.asarray(numbers(1, 10, 8) * 0.5), lx.random.key(3)
    for i, n in enumerate(sizes):
        key, own = lx.random.split(key)
        value, slopes = step(w, own, lx.asarray(numbers(i, 2 + n % 5, n + 3, dtype="int32")))
        w = w - 0.1 * slopes
        yield value
    yield w


LOOPS = [mlp, eager, recurrent, transformer, decoding, pictures, dropout]
