"""Loops that train models of several parts, or with several programs; see loops.py."""

import numpy as np
from loops_data import normal, network


def epochs(m):
    """Shuffled batches, sliced on the device; the loss of an epoch is a sum on the device."""
    params, loss_of, x, y = network(m)
    key = m.random.key(1)

    @m.jit
    def step(params, x, y):
        loss, grads = m.value_and_grad(loss_of)(params, x, y)
        return m.tree_map(lambda p, g: p - 0.1 * g, params, grads), loss

    means = []
    for _ in m.steps(20):
        key, now = m.random.split(key)
        order = m.random.permutation(now, 16)
        total = 0.0
        for start in range(0, 16, 4):
            rows = order[start : start + 4]
            params, loss = step(params, x[rows], y[rows])
            total += loss
        means.append(float(total) / 4)
    return means, params


def batches_of_numpy(m):
    """Batches come from NumPy; the last one of an epoch is smaller."""
    params, loss_of, x, y = network(m)
    x, y, rng = np.asarray(x), np.asarray(y), np.random.default_rng(5)

    @m.jit
    def step(params, x, y):
        loss, grads = m.value_and_grad(loss_of)(params, x, y)
        return m.tree_map(lambda p, g: p - 0.1 * g, params, grads), loss

    losses = []
    for _ in m.steps(20):
        order = rng.permutation(16)
        for start in range(0, 16, 6):
            rows = order[start : start + 6]
            params, loss = step(params, m.np.asarray(x[rows]), m.np.asarray(y[rows]))
            losses.append(float(loss))
    return losses


def accuracy(m):
    """A classifier: the right answers of all batches are counted on the host."""
    x, labels = normal(m, 6, 24, 4), m.np.asarray(np.arange(24) % 3)
    w = m.np.zeros((4, 3))

    @m.jit
    def step(w, x, labels):
        def loss_of(w):
            return -m.np.mean(m.np.sum(m.nn.log_softmax(x @ w) * m.nn.one_hot(labels, 3), axis=-1))

        loss, grad = m.value_and_grad(loss_of)(w)
        return w - 0.5 * grad, loss

    found = []
    for _ in m.steps(20):
        right = 0
        for i in range(0, 24, 8):
            w, loss = step(w, x[i : i + 8], labels[i : i + 8])
            predicted = m.np.argmax(x[i : i + 8] @ w, axis=-1)
            right += int(m.np.count_nonzero(predicted == labels[i : i + 8]))
        found.append((right / 24, float(loss)))
    return found


def loss_scale(m):
    """Mixed precision: the host adapts the scale of the loss."""
    params, loss_of, x, y = network(m)
    half = m.np.float16

    @m.jit
    def gradients_of(params, scale, x, y):
        def scaled(params):
            loss = loss_of(m.tree_map(lambda p: p.astype(half), params), x.astype(half), y.astype(half))
            return loss.astype(m.np.float32) * scale

        loss, grads = m.value_and_grad(scaled)(params)
        grads = m.tree_map(lambda g: g.astype(m.np.float32) / scale, grads)
        is_finite = m.np.all(m.np.stack([m.np.all(m.np.isfinite(g)) for g in grads.values()]))
        return loss / scale, grads, is_finite

    scale, losses = 2.0**20, []
    for i in m.steps(30):
        loss, grads, is_finite = gradients_of(params, m.np.asarray(scale), x, y)
        if bool(is_finite):
            params = m.tree_map(lambda p, g: p - 0.05 * g, params, grads)
            losses.append(float(loss))
            scale = scale * 2 if i % 10 == 9 else scale
        else:
            scale /= 2
    return losses, scale


# Several models, several functions.


def adversaries(m):
    generator, critic = {"w": m.np.asarray(1.0), "b": m.np.asarray(0.0)}, {"w": m.np.asarray(0.1)}
    key = m.random.key(2)

    def score(critic, x):
        return m.np.mean(m.np.tanh(critic["w"] * x))

    def make(generator, z):
        return generator["w"] * z + generator["b"]

    @m.jit
    def teach(critic, generator, x, z):
        loss_of = lambda c: score(c, make(generator, z)) - score(c, x) + 0.1 * c["w"] ** 2
        loss, grads = m.value_and_grad(loss_of)(critic)
        return m.tree_map(lambda p, g: p - 0.2 * g, critic, grads), loss

    @m.jit
    def learn(generator, critic, z):
        loss, grads = m.value_and_grad(lambda g: -score(critic, make(g, z)))(generator)
        return m.tree_map(lambda p, g: p - 0.2 * g, generator, grads), loss

    losses = []
    for _ in m.steps(25):
        key, first, second = m.random.split(key, 3)
        x, z = 2.0 + 0.5 * m.random.normal(first, (8,)), m.random.normal(second, (8,))
        critic, critic_loss = teach(critic, generator, x, z)
        generator, generator_loss = learn(generator, critic, z)
        losses.append((float(critic_loss), float(generator_loss)))
    return losses, generator


def target_network(m):
    """The target of the loss is an older copy of the parameters, which the host renews."""
    params, _, x, _ = network(m)
    target = params

    def values(params, x):
        return m.np.tanh(x @ params["w1"] + params["b1"]) @ params["w2"] + params["b2"]

    @m.jit
    def step(params, target, x, reward):
        wanted = reward + 0.9 * values(target, m.np.roll(x, 1, axis=0))
        loss, grads = m.value_and_grad(lambda p: m.np.mean((values(p, x) - wanted) ** 2))(params)
        return m.tree_map(lambda p, g: p - 0.1 * g, params, grads), loss

    losses = []
    for i in m.steps(30):
        if i % 5 == 0:
            target = params
        params, loss = step(params, target, x, x[:, :1])
        losses.append(float(loss))
    return losses


def recurrent(m):
    params = {"w": normal(m, 7, 4, 4) * 0.3, "u": normal(m, 8, 2, 4), "v": normal(m, 9, 4)}
    xs, wanted = normal(m, 10, 6, 5, 2), normal(m, 11, 5)

    def loss_of(params, xs, wanted):
        def cell(state, x):
            return m.np.tanh(state @ params["w"] + x @ params["u"]), None

        state, _ = m.scan(cell, m.np.zeros((5, 4)), xs)
        return m.np.mean((state @ params["v"] - wanted) ** 2)

    @m.jit
    def step(params, xs, wanted):
        loss, grads = m.value_and_grad(loss_of)(params, xs, wanted)
        return m.tree_map(lambda p, g: p - 0.1 * g, params, grads), loss

    losses = []
    for _ in m.steps(25):
        params, loss = step(params, xs, wanted)
        losses.append(float(loss))
    return losses


def recurrent_state(m):
    """Truncated backpropagation through time: the state of the last piece begins the next one."""
    params = {"w": normal(m, 12, 4, 4) * 0.3, "u": normal(m, 13, 2, 4), "v": normal(m, 14, 4)}
    xs = normal(m, 15, 20, 5, 2)
    state = m.np.zeros(4)

    @m.jit
    def step(params, state, xs):
        def loss_of(params):
            def cell(state, x):
                state = m.np.tanh(state @ params["w"] + x @ params["u"])
                return state, state @ params["v"]

            last, ys = m.scan(cell, state, xs)
            return m.np.mean((ys - m.np.sum(xs, axis=1)) ** 2), last

        (loss, last), grads = m.value_and_grad(loss_of, has_aux=True)(params)
        return m.tree_map(lambda p, g: p - 0.1 * g, params, grads), last, loss

    losses = []
    for i in m.steps(20):
        params, state, loss = step(params, state, xs[i])
        losses.append(float(loss))
    return losses, state


def ensemble(m):
    _, loss_of, x, y = network(m)
    keys = m.random.split(m.random.key(3), 4)

    def create(key):
        first, second = m.random.split(key)
        w1, w2 = 0.5 * m.random.normal(first, (3, 8)), 0.5 * m.random.normal(second, (8, 1))
        return {"w1": w1, "b1": m.np.zeros(8), "w2": w2, "b2": m.np.zeros(1)}

    @m.jit
    def step(params, x, y):
        losses, grads = m.vmap(m.value_and_grad(loss_of), in_axes=(0, None, None))(params, x, y)
        return m.tree_map(lambda p, g: p - 0.1 * g, params, grads), losses

    params, history = m.vmap(create)(keys), []
    for _ in m.steps(20):
        params, losses = step(params, x, y)
        history.append((float(m.np.mean(losses)), int(m.np.argmin(losses))))
    return history, np.asarray(losses)


# Numerical methods: the host decides.
