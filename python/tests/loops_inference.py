"""Loops that generate or filter sequences, an element in each iteration; see loops.py."""

import numpy as np
from loops_data import normal


def language_model(m, width=8, symbols=12):
    """Returns the parameters of an attention layer."""
    names = ("embedding", "q", "k", "v", "out")
    shapes = ((symbols, width), *[(width, width)] * 3, (width, symbols))
    return {name: normal(m, 30 + i, *shape) * 0.7 for i, (name, shape) in enumerate(zip(names, shapes))}


def decoder(m):
    """A token per iteration, with a cache of keys and values."""
    params, length = language_model(m), 32

    @m.jit
    def step(params, cache, token, place):
        x = m.np.take(params["embedding"], token, axis=0)
        keys, values = m.put(cache[0], place, x @ params["k"]), m.put(cache[1], place, x @ params["v"])
        scores = m.np.where(m.np.arange(length) <= place, keys @ (x @ params["q"]), -1e30)
        x = x + m.nn.softmax(scores) @ values
        return (keys, values), m.np.argmax(x @ params["out"])

    cache = m.np.zeros((length, 8)), m.np.zeros((length, 8))
    token, tokens = m.np.asarray(1), []
    for i in m.steps(30):
        cache, token = step(params, cache, token, m.np.asarray(i))
        tokens.append(int(token))
    return tokens


def sampled(m):
    """Tokens are drawn, and kept by the host; the function takes a window of them."""
    params, key, tokens = language_model(m), m.random.key(8), [1, 2, 3]

    @m.jit
    def sample(params, window, key):
        x = m.np.take(params["embedding"], window, axis=0)
        share = m.nn.softmax((x @ params["q"]) @ (x @ params["k"]).T)
        logits = (x + share @ (x @ params["v"]))[-1] @ params["out"]
        return m.random.categorical(key, logits)

    for _ in m.steps(25):
        key, now = m.random.split(key)
        window = ([0] * 8 + tokens)[-8:]
        tokens.append(int(sample(params, m.np.asarray(window, dtype=m.np.int32), now)))
        if tokens[-1] == 11 and len(tokens) > 20:
            break
    return tokens


def sampled_on_the_device(m):
    """The state is on the device; the host reads each token."""
    params, key = language_model(m), m.random.key(9)
    state, token = m.np.zeros(8), m.np.asarray(1)

    @m.jit
    def step(params, state, token):
        state = m.np.tanh(state @ params["q"] + m.np.take(params["embedding"], token, axis=0) @ params["k"])
        return state, state @ params["out"]

    tokens = []
    for _ in m.steps(25):
        key, now = m.random.split(key)
        state, logits = step(params, state, token)
        token = m.random.categorical(now, logits / 0.8)
        tokens.append(int(token))
    return tokens


def beam_search(m):
    """The states of beams are on the device, their texts on the host."""
    params, width = language_model(m), 3
    states, totals = m.np.zeros((width, 8)), m.np.asarray([0.0, -1e9, -1e9])
    texts, tokens = [[1]] * width, m.np.asarray([1] * width)

    @m.jit
    def step(params, states, tokens, totals):
        inputs = m.np.take(params["embedding"], tokens, axis=0)
        states = m.np.tanh(states @ params["q"] + inputs @ params["k"])
        scores = totals[:, None] + m.nn.log_softmax(states @ params["out"])
        order = m.np.argsort(m.np.reshape(scores, (-1,)), descending=True)[:width]
        parents, tokens = order // scores.shape[1], order % scores.shape[1]
        return m.np.take(states, parents, axis=0), parents, tokens, m.np.take(m.np.reshape(scores, (-1,)), order)

    for _ in m.steps(20):
        states, parents, tokens, totals = step(params, states, tokens, totals)
        texts = [texts[parent] + [token] for parent, token in zip(parents.tolist(), tokens.tolist())]
    return texts, totals


def streamed(m):
    """A model answers requests of two lengths, padded to one of two sizes."""
    w = normal(m, 40, 4, 3)
    predict = m.jit(lambda w, x: m.np.argmax(m.np.mean(m.np.tanh(x), axis=0) @ w))
    rng, answers = np.random.default_rng(10), []
    for _ in m.steps(30):
        count = int(rng.integers(1, 9))
        size = 4 if count <= 4 else 8
        request = np.zeros((size, 4), "float32")
        request[:count] = rng.standard_normal((count, 4))
        answers.append(int(predict(w, m.np.asarray(request))))
    return answers
