"""Data and models of the loops of loops.py."""

import numpy as np


def normal(m, seed, *shape):
    """Returns numbers of the normal distribution, which NumPy draws."""
    return m.np.asarray(np.random.default_rng(seed).standard_normal(shape).astype("float32"))


def regression(m):
    """Returns parameters of a linear function, its loss, and a batch."""

    def loss(params, x, y):
        return m.np.mean((x @ params["w"] + params["b"] - y) ** 2)

    x = normal(m, 1, 16, 3)
    y = x @ m.np.asarray([1.0, -2.0, 0.5]) + 0.3
    return {"w": m.np.zeros(3), "b": m.np.asarray(0.0)}, loss, x, y


def network(m):
    """Returns parameters of a network of one hidden layer, its loss, and a batch."""

    def loss(params, x, y):
        hidden = m.np.tanh(x @ params["w1"] + params["b1"])
        return m.np.mean((hidden @ params["w2"] + params["b2"] - y) ** 2)

    params = {
        "w1": normal(m, 2, 3, 8) * 0.5,
        "b1": m.np.zeros(8),
        "w2": normal(m, 3, 8, 1) * 0.5,
        "b2": m.np.zeros(1),
    }
    x = normal(m, 4, 16, 3)
    return params, loss, x, m.np.sin(m.np.sum(x, axis=1, keepdims=True))


# Training: the loss of each step is read.
