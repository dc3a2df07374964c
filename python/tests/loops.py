"""Loops of training and inference, as users of JAX write them: once for this package and for JAX.

A loop is a function of a dialect `m`: `m.np` has the functions of arrays, `m.jit`, `m.grad` and the others are those of
the library, `m.steps(n)` counts iterations. `OURS` is the dialect of this package; loops_jax_test.py has that of JAX.
A loop returns a tree of arrays and numbers. `run` reads it, and counts what the library did in the iterations."""

import gc
import statistics
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import optree

import lazyxla as lx


def put(x, key, value):
    """Returns a copy of an array with a value in a place."""
    x = x.copy()
    x[key] = value
    return x


class Seen(NamedTuple):
    """What a library has compiled until a time, in seconds, and holds then."""

    time: float
    compiled: int
    tensors: int = 0
    bytes: int = 0


class Dialect(SimpleNamespace):
    """Functions that a loop calls as `m`. `most` limits the iterations of a loop; `seen` has what `measure` returned at
    the start of each iteration, and after the last."""

    def __init__(self, measure, **names):
        super().__init__(measure=measure, most=None, seen=[], **names)

    def steps(self, count):
        """Returns the numbers of the iterations."""
        self.seen.clear()
        try:
            for i in range(count if self.most is None else min(count, self.most)):
                self.seen.append(self.measure())
                yield i
        finally:
            self.seen.append(self.measure())  # also where the loop is left by `break`


def measure():
    tensors = lx.counter("CreateTensor") - lx.counter("DestroyTensor")
    return Seen(time.perf_counter(), lx.counter("UncachedCompile"), tensors, lx.counter("LiveBytes"))


OURS = Dialect(
    measure,
    np=lx,
    **{name: getattr(lx, name) for name in ("jit", "grad", "value_and_grad", "hessian", "vmap", "scan", "cond")},
    **{name: getattr(lx, name) for name in ("while_loop", "random", "nn", "optim", "linalg")},
    tree_map=optree.tree_map,
    put=put,
)


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


def sgd(m):
    params, loss_of, x, y = network(m)

    @m.jit
    def step(params, x, y):
        loss, grads = m.value_and_grad(loss_of)(params, x, y)
        return m.tree_map(lambda p, g: p - 0.1 * g, params, grads), loss

    losses = []
    for _ in m.steps(30):
        params, loss = step(params, x, y)
        losses.append(float(loss))
    return losses, params


def momentum(m):
    params, loss_of, x, y = network(m)
    speed = m.tree_map(m.np.zeros_like, params)

    @m.jit
    def step(params, speed, x, y):
        loss, grads = m.value_and_grad(loss_of)(params, x, y)
        speed = m.tree_map(lambda v, g: 0.9 * v + g, speed, grads)
        return m.tree_map(lambda p, v: p - 0.02 * v, params, speed), speed, loss

    losses = []
    for _ in m.steps(30):
        params, speed, loss = step(params, speed, x, y)
        losses.append(float(loss))
    return losses, params


def adamw_schedule(m):
    params, loss_of, x, y = network(m)
    optimizer = m.optim.adamw(m.optim.cosine_schedule(0.05, 30, warmup=5), weight_decay=0.01)
    state = optimizer.init(params, on_device=True)

    @m.jit
    def step(params, state, x, y):
        loss, grads = m.value_and_grad(loss_of)(params, x, y)
        params, state = optimizer.update(grads, state, params)
        return params, state, loss

    losses = []
    for _ in m.steps(30):
        params, state, loss = step(params, state, x, y)
        losses.append(float(loss))
    return losses, params


def adam_counted_on_the_host(m):
    """The state counts steps by an int, as `init` makes it by default; the update is not in the jitted function."""
    params, loss_of, x, y = network(m)
    optimizer = m.optim.adam(0.02)
    state = optimizer.init(params)
    gradients_of = m.jit(m.value_and_grad(loss_of))
    losses = []
    for _ in m.steps(20):
        loss, grads = gradients_of(params, x, y)
        params, state = optimizer.update(grads, state, params)
        losses.append(float(loss))
    return losses, params


def dropout(m):
    params, _, x, y = network(m)
    key = m.random.key(0)

    def loss_of(params, x, y, key):
        hidden = m.np.tanh(x @ params["w1"] + params["b1"])
        keep = m.random.bernoulli(key, 0.8, hidden.shape)
        hidden = m.np.where(keep, hidden / 0.8, 0.0)
        return m.np.mean((hidden @ params["w2"] + params["b2"] - y) ** 2)

    @m.jit
    def step(params, x, y, key):
        loss, grads = m.value_and_grad(loss_of)(params, x, y, key)
        return m.tree_map(lambda p, g: p - 0.1 * g, params, grads), loss

    losses = []
    for _ in m.steps(30):
        key, now = m.random.split(key)
        params, loss = step(params, x, y, now)
        losses.append(float(loss))
    return losses, params


def accumulation(m):
    params, loss_of, x, y = network(m)
    gradients_of = m.jit(m.value_and_grad(loss_of))
    losses = []
    for _ in m.steps(20):
        total = m.tree_map(m.np.zeros_like, params)
        loss = 0.0
        for i in range(4):
            part, grads = gradients_of(params, x[4 * i : 4 * i + 4], y[4 * i : 4 * i + 4])
            total = m.tree_map(lambda t, g: t + g, total, grads)
            loss += part / 4
        params = m.tree_map(lambda p, t: p - 0.1 * t / 4, params, total)
        losses.append(float(loss))
    return losses, params


def early_stopping(m):
    params, loss_of, x, y = regression(m)

    @m.jit
    def step(params, x, y):
        grads = m.grad(loss_of)(params, x, y)
        return m.tree_map(lambda p, g: p - 0.3 * g, params, grads)

    validate = m.jit(loss_of)
    best, waited, losses = float("inf"), 0, []
    for _ in m.steps(40):
        params = step(params, x, y)
        loss = float(validate(params, x[:4], y[:4] + 0.3))
        losses.append(loss)
        waited = 0 if loss < 0.99 * best else waited + 1
        best = min(best, loss)
        if waited == 3:
            break
    return losses


def evaluation(m):
    params, loss_of, x, y = network(m)
    evaluate = m.jit(loss_of)

    @m.jit
    def step(params, x, y):
        loss, grads = m.value_and_grad(loss_of)(params, x, y)
        return m.tree_map(lambda p, g: p - 0.1 * g, params, grads), loss

    found = []
    for i in m.steps(40):
        params, loss = step(params, x, y)
        if i % 10 == 9:
            found.append((float(loss), float(evaluate(params, x + 0.1, y))))
    return found


def rate_argument(m):
    params, loss_of, x, y = network(m)

    @m.jit
    def step(params, rate, x, y):
        loss, grads = m.value_and_grad(loss_of)(params, x, y)
        return m.tree_map(lambda p, g: p - rate * g, params, grads), loss

    losses, rate = [], 0.2
    for _ in m.steps(30):
        params, loss = step(params, m.np.asarray(rate), x, y)
        losses.append(float(loss))
        rate *= 0.95
    return losses, params


def rate_outside(m):
    params, loss_of, x, y = network(m)
    gradients_of = m.jit(m.value_and_grad(loss_of))
    losses, rate = [], 0.2
    for _ in m.steps(30):
        loss, grads = gradients_of(params, x, y)
        params = m.tree_map(lambda p, g: p - rate * g, params, grads)
        losses.append(float(loss))
        rate *= 0.95
    return losses, params


def rate_of_the_loss(m):
    """Halves the rate where a loss that was read did not fall."""
    params, loss_of, x, y = regression(m)
    gradients_of = m.jit(m.value_and_grad(loss_of))
    losses, rate = [float("inf")], 1.5
    for _ in m.steps(25):
        loss, grads = gradients_of(params, x, y)
        losses.append(float(loss))
        if losses[-1] >= losses[-2]:
            rate *= 0.5
        params = {name: params[name] - rate * grads[name] for name in params}
    return losses[1:], params


def clipping(m):
    params, loss_of, x, y = network(m)
    gradients_of = m.jit(m.value_and_grad(loss_of))
    losses, norms = [], []
    for _ in m.steps(25):
        loss, grads = gradients_of(params, x, y)
        norm = float(m.np.sqrt(sum(m.np.sum(g**2) for g in grads.values())))
        scale = min(1.0, 0.5 / norm)
        params = m.tree_map(lambda p, g: p - 0.1 * scale * g, params, grads)
        norms.append(norm)
        losses.append(float(loss))
    return losses, norms


def clipping_in_a_step(m):
    params, loss_of, x, y = network(m)
    gradients_of = m.jit(m.grad(loss_of))
    norm_of = m.jit(lambda grads: m.np.sqrt(sum(m.np.sum(g**2) for g in grads.values())))
    update = m.jit(lambda params, grads, rate: m.tree_map(lambda p, g: p - rate * g, params, grads))
    norms = []
    for _ in m.steps(25):
        grads = gradients_of(params, x, y)
        norms.append(float(norm_of(grads)))
        params = update(params, grads, m.np.asarray(0.1 * min(1.0, 0.5 / norms[-1])))
    return norms, params


def five_scalars(m):
    params, loss_of, x, y = network(m)

    @m.jit
    def step(params, x, y):
        loss, grads = m.value_and_grad(loss_of)(params, x, y)
        leaves = grads.values()
        logs = {
            "loss": loss,
            "gradient": m.np.sqrt(sum(m.np.sum(g**2) for g in leaves)),
            "largest": m.np.max(m.np.stack([m.np.max(m.np.abs(g)) for g in leaves])),
            "weights": m.np.sqrt(sum(m.np.sum(p**2) for p in params.values())),
            "mean": m.np.mean(params["w1"]),
        }
        return m.tree_map(lambda p, g: p - 0.1 * g, params, grads), logs

    history = []
    for _ in m.steps(25):
        params, logs = step(params, x, y)
        history.append({name: float(value) for name, value in logs.items()})
    return history


def progress(m):
    params, loss_of, x, y = network(m)

    @m.jit
    def step(params, x, y):
        loss, grads = m.value_and_grad(loss_of)(params, x, y)
        return m.tree_map(lambda p, g: p - 0.1 * g, params, grads), loss

    lines = []
    for i in m.steps(25):
        params, loss = step(params, x, y)
        norm = m.np.sqrt(m.np.sum(params["w1"] ** 2))
        lines.append(f"step {i} loss {loss.item():.3f} norm {norm.item():.3f}")
    return [float(word) for line in lines for word in line.split()[3::2]]


def losses_after(m):
    params, loss_of, x, y = network(m)

    @m.jit
    def step(params, x, y):
        loss, grads = m.value_and_grad(loss_of)(params, x, y)
        return m.tree_map(lambda p, g: p - 0.1 * g, params, grads), loss

    losses = []
    for _ in m.steps(100):
        params, loss = step(params, x, y)
        losses.append(loss)
    return [float(loss) for loss in losses]


def losses_stacked(m):
    """Eager updates; the losses are stacked on the device after the loop."""
    params, loss_of, x, y = regression(m)
    gradients_of = m.jit(m.value_and_grad(loss_of))
    losses = []
    for _ in m.steps(30):
        loss, grads = gradients_of(params, x, y)
        params = m.tree_map(lambda p, g: p - 0.1 * g, params, grads)
        losses.append(loss)
    return np.asarray(m.np.stack(losses)), params


def averaged(m):
    """An exponential moving average of the parameters."""
    params, loss_of, x, y = network(m)
    mean = params

    @m.jit
    def step(params, x, y):
        loss, grads = m.value_and_grad(loss_of)(params, x, y)
        return m.tree_map(lambda p, g: p - 0.1 * g, params, grads), loss

    losses = []
    for _ in m.steps(30):
        params, loss = step(params, x, y)
        mean = m.tree_map(lambda a, p: 0.9 * a + 0.1 * p, mean, params)
        losses.append(float(loss))
    return losses, mean


def eager(m):
    params, loss_of, x, y = network(m)
    losses = []
    for _ in m.steps(20):
        grads = m.grad(loss_of)(params, x, y)
        params = m.tree_map(lambda p, g: p - 0.1 * g, params, grads)
        losses.append(float(loss_of(params, x, y)))
    return losses, params


def eager_value_and_grad(m):
    params, loss_of, x, y = regression(m)
    losses = []
    for _ in m.steps(20):
        loss, grads = m.value_and_grad(loss_of)(params, x, y)
        for name in params:
            params[name] = params[name] - 0.1 * grads[name]
        losses.append(float(loss))
    return losses, params


def counters(m):
    """A running mean of the loss and a number of samples, both on the device."""
    params, loss_of, x, y = network(m)

    @m.jit
    def step(params, x, y):
        loss, grads = m.value_and_grad(loss_of)(params, x, y)
        return m.tree_map(lambda p, g: p - 0.1 * g, params, grads), loss

    mean, seen, found = m.np.asarray(0.0), m.np.asarray(0), []
    for i in m.steps(40):
        params, loss = step(params, x, y)
        seen = seen + x.shape[0]
        mean = mean + (loss - mean) / (i + 1)
        if i % 10 == 9:
            found.append((float(mean), int(seen)))
    return found


def best_parameters(m):
    params, loss_of, x, y = network(m)

    @m.jit
    def step(params, x, y):
        loss, grads = m.value_and_grad(loss_of)(params, x, y)
        return m.tree_map(lambda p, g: p - 0.4 * g, params, grads), loss

    best, best_params, losses = float("inf"), params, []
    for _ in m.steps(30):
        later, loss = step(params, x, y)
        losses.append(float(loss))
        if losses[-1] < best:
            best, best_params = losses[-1], params
        params = later
    return best, best_params


def checkpoints(m):
    params, loss_of, x, y = network(m)

    @m.jit
    def step(params, x, y):
        loss, grads = m.value_and_grad(loss_of)(params, x, y)
        return m.tree_map(lambda p, g: p - 0.1 * g, params, grads), loss

    saved = []
    for i in m.steps(25):
        params, loss = step(params, x, y)
        if i % 5 == 4:
            saved.append(m.tree_map(np.asarray, params))
    return saved, float(loss)


def largest_gradient(m):
    params, loss_of, x, y = network(m)

    @m.jit
    def step(params, x, y):
        grads = m.grad(loss_of)(params, x, y)
        return m.tree_map(lambda p, g: p - 0.1 * g, params, grads), grads

    largest = []
    for _ in m.steps(25):
        params, grads = step(params, x, y)
        largest.append(max(float(m.np.max(m.np.abs(g))) for g in grads.values()))
    return largest


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


def conjugate_gradients(m):
    root = normal(m, 16, 8, 8)
    a, b = root @ root.T + 4 * m.np.eye(8), normal(m, 17, 8)
    x = m.np.zeros(8)
    r = p = b - a @ x
    squares, residuals = float(m.np.sum(r * r)), []
    while squares > 1e-6 and len(residuals) < 20:
        ap = a @ p
        alpha = squares / float(m.np.sum(p * ap))
        x = x + alpha * p
        r = r - alpha * ap
        before, squares = squares, float(m.np.sum(r * r))
        p = r + squares / before * p
        residuals.append(squares)
    return len(residuals), x


def jacobi(m):
    a = 0.1 * normal(m, 18, 8, 8) + 3 * m.np.eye(8)
    b = normal(m, 19, 8)
    diagonal = m.np.sum(a * m.np.eye(8), axis=1)
    sweep = m.jit(lambda x: (b - a @ x) / diagonal + x)
    x, residuals = m.np.zeros(8), []
    for _ in m.steps(30):
        x = sweep(x)
        residuals.append(float(m.np.max(m.np.abs(a @ x - b))))
        if residuals[-1] < 1e-5:
            break
    return x


def power_iteration(m):
    root = normal(m, 20, 8, 8)
    a, v = root @ root.T, m.np.ones(8)
    values = []
    for _ in m.steps(30):
        v = a @ v
        v = v / m.np.sqrt(m.np.sum(v * v))
        values.append(float(v @ (a @ v)))
    return values, v


def newton(m):
    def f(x):
        return m.np.sum(x**4) / 4 + m.np.sum((x - 1) ** 2) + m.np.sum(x[1:] * x[:-1])

    gradient, hessian = m.jit(m.grad(f)), m.jit(m.hessian(f))
    x, norms = 3 * m.np.ones(4), []
    for _ in m.steps(20):
        g = gradient(x)
        norms.append(float(m.np.max(m.np.abs(g))))
        if norms[-1] < 1e-4:
            break
        x = x - m.linalg.solve(hessian(x), g)
    return norms[:4], x


def newton_of_one_number(m):
    f = lambda x: x**3 - 2 * x - 5
    slope = m.grad(f)
    x = m.np.asarray(4.0)
    for _ in m.steps(20):
        change = f(x) / slope(x)
        x = x - change
        if abs(float(change)) < 1e-6:
            break
    return x


def line_search(m):
    """Gradient descent; the length of a step is halved until the function falls enough."""

    def f(x):
        return m.np.sum(m.np.asarray([1.0, 10.0, 0.5]) * x**2) + m.np.sum(m.np.cos(x))

    f, gradient = m.jit(f), m.jit(m.grad(f))
    x, values = m.np.asarray([2.0, -1.0, 3.0]), []
    for _ in m.steps(20):
        value, g = float(f(x)), gradient(x)
        square, length = float(m.np.sum(g * g)), 1.0
        while float(f(x - length * g)) > value - 0.3 * length * square and length > 1e-3:
            length /= 2
        x = x - length * g
        values.append(value)
    return values


def lbfgs(m):
    """The history of steps grows up to 4; the host keeps it, and computes with numbers that it read."""

    def f(x):
        return m.np.sum(m.np.asarray([1.0, 10.0, 3.0, 0.5]) * (x - 1) ** 2) + m.np.sum(x**4) / 20

    value_and_gradient = m.jit(m.value_and_grad(f))
    x, history, values = m.np.zeros(4), [], []
    value, g = value_and_gradient(x)
    for _ in m.steps(12):
        q, factors = g, []
        for s, y, rho in reversed(history):
            factors.append(rho * float(m.np.sum(s * q)))
            q = q - factors[-1] * y
        if history:
            s, y, rho = history[-1]
            q = q / (rho * float(m.np.sum(y * y)))
        for s, y, rho in history:
            q = q + (factors.pop() - rho * float(m.np.sum(y * q))) * s
        later = x - (q if history else 0.05 * q)
        value, g_later = value_and_gradient(later)
        s, y = later - x, g_later - g
        values.append(float(value))
        curvature = float(m.np.sum(s * y))
        if curvature < 1e-9:
            break
        history = [*history, (s, y, 1 / curvature)][-4:]
        x, g = later, g_later
    return values[:8], x


def k_means(m):
    points = m.np.concat([normal(m, 21 + i, 10, 2) * 0.3 + 2.0 * i for i in range(3)])
    centers, before, sums = points[::10], None, []
    for _ in m.steps(20):
        squares = m.np.sum((points[:, None] - centers[None]) ** 2, axis=-1)
        labels = m.np.argmin(squares, axis=1)
        share = m.nn.one_hot(labels, 3)
        centers = (share.T @ points) / m.np.sum(share, axis=0)[:, None]
        sums.append(float(m.np.sum(m.np.min(squares, axis=1))))
        before = np.asarray(labels)
    return sums, centers, before


def mixture(m):
    """Expectation maximization of two normal distributions, until the likelihood stands still."""
    x = m.np.concat([normal(m, 24, 20) - 2.0, 0.5 * normal(m, 25, 20) + 2.0])
    mean, deviation, share = m.np.asarray([-1.0, 1.0]), m.np.ones(2), m.np.asarray([0.5, 0.5])

    @m.jit
    def improve(mean, deviation, share):
        logits = m.np.log(share / deviation) - ((x[:, None] - mean) / deviation) ** 2 / 2
        weight = m.nn.softmax(logits, axis=1)
        total = m.np.sum(weight, axis=0)
        mean = m.np.sum(weight * x[:, None], axis=0) / total
        deviation = m.np.sqrt(m.np.sum(weight * (x[:, None] - mean) ** 2, axis=0) / total)
        return mean, deviation, total / x.shape[0], m.np.sum(m.nn.logsumexp(logits, axis=1))

    found = [float("-inf")]
    for _ in m.steps(25):
        mean, deviation, share, likelihood = improve(mean, deviation, share)
        found.append(float(likelihood))
    return found[1:], mean, deviation, share


def metropolis(m):
    energy = lambda x: m.np.sum(x**4 - 2 * x**2)
    key, x = m.random.key(4), m.np.zeros(3)
    accepted, energies = 0, []
    now = float(energy(x))
    for _ in m.steps(30):
        key, of_move, of_choice = m.random.split(key, 3)
        moved = x + 0.5 * m.random.normal(of_move, x.shape)
        after = float(energy(moved))
        if float(m.random.uniform(of_choice)) < np.exp(min(0.0, now - after)):
            x, now, accepted = moved, after, accepted + 1
        energies.append(now)
    return accepted, energies


def annealing(m):
    """The key of a step is made of its number; the temperature falls."""
    energy = m.jit(lambda x: m.np.sum(x**2) + m.np.sum(m.np.sin(3 * x)))
    key, x = m.random.key(5), 2 * m.np.ones(2)
    energies, temperature = [], 1.0
    for i in m.steps(30):
        of_move, of_choice = m.random.split(m.random.fold_in(key, i))
        moved = x + temperature * m.random.normal(of_move, (2,))
        does_move = m.random.uniform(of_choice) < m.np.exp((energy(x) - energy(moved)) / temperature)
        x = m.np.where(does_move, moved, x)
        temperature *= 0.9
        energies.append(float(energy(x)))
    return energies


def bandit(m):
    """Policy gradients: the host pulls the arm that the policy drew, and gives the reward."""
    rewards, key, logits = [0.1, 0.9, 0.4], m.random.key(6), m.np.zeros(3)
    rng = np.random.default_rng(7)

    @m.jit
    def improve(logits, arm, advantage):
        grad = m.grad(lambda logits: m.np.take(m.nn.log_softmax(logits), arm) * advantage)(logits)
        return logits + 0.5 * grad

    baseline, arms = 0.0, []
    for i in m.steps(40):
        key, now = m.random.split(key)
        arm = m.random.categorical(now, logits)
        arms.append(int(arm))
        reward = float(rng.random() < rewards[arms[-1]])
        logits = improve(logits, arm, m.np.asarray(reward - baseline))
        baseline += (reward - baseline) / (i + 1)
    return arms, logits


def adaptive_steps(m):
    """An ordinary differential equation by two methods of Runge and Kutta; the host chooses the length of a step."""
    f = lambda t, x: m.np.stack([x[1], -x[0] - 0.1 * x[1] + m.np.cos(t)])

    @m.jit
    def attempt(t, h, x):
        k1 = f(t, x)
        k2 = f(t + h / 2, x + h / 2 * k1)
        k3 = f(t + h * 3 / 4, x + h * 3 / 4 * k2)
        later = x + h * (2 * k1 + 3 * k2 + 4 * k3) / 9
        k4 = f(t + h, later)
        error = h * m.np.max(m.np.abs(-5 * k1 / 72 + k2 / 12 + k3 / 9 - k4 / 8))
        return later, error

    t, h, x, taken = 0.0, 0.5, m.np.asarray([1.0, 0.0]), []
    for _ in m.steps(30):
        later, error = attempt(m.np.asarray(t), m.np.asarray(h), x)
        error = float(error)
        if error < 1e-3:
            t, x = t + h, later
            taken.append(t)
        h *= min(2.0, max(0.5, 0.9 * (1e-3 / max(error, 1e-9)) ** (1 / 3)))
    return taken, x


def heat(m):
    """A simulation of operations without jit, watched by the host."""
    u = m.np.asarray(np.exp(-(((np.arange(32) - 16) / 3) ** 2)).astype("float32"))
    found = []
    for _ in m.steps(25):
        u = u + 0.2 * (m.np.roll(u, 1) - 2 * u + m.np.roll(u, -1))
        found.append((float(m.np.max(u)), float(m.np.sum(u))))
    return found


def life(m):
    """Conway's cells: the host reads their number, and stops when it is still."""
    cells = m.np.asarray(np.random.default_rng(8).random((8, 8)) < 0.4)
    counts = []
    for _ in m.steps(20):
        ones = cells.astype(m.np.int32)
        shifted = [m.np.roll(ones, (i, j), axis=(0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0)]
        around = m.np.sum(m.np.stack(shifted), axis=0)
        cells = (around == 3) | (cells & (around == 2))
        counts.append(int(m.np.count_nonzero(cells)))
    return counts


def filtered(m):
    """A Kalman filter: measurements come one by one."""
    measured = np.random.default_rng(9).standard_normal(25).astype("float32") * 0.3 + np.arange(25, dtype="float32")
    move, noise = m.np.asarray([[1.0, 1.0], [0.0, 1.0]]), 0.01 * m.np.eye(2)

    @m.jit
    def update(x, p, z):
        x, p = move @ x, move @ p @ move.T + noise
        gain = p[:, 0] / (p[0, 0] + 0.09)
        return x + gain * (z - x[0]), p - gain[:, None] * p[0]

    x, p, places = m.np.zeros(2), m.np.eye(2), []
    for i in m.steps(25):
        x, p = update(x, p, m.np.asarray(measured[i]))
        places.append(float(x[0]))
    return places, p


def shrinkage(m):
    """Iterated shrinkage for a sparse solution, until it stands still."""
    a = normal(m, 26, 10, 6) / 4
    b = a @ m.np.asarray([1.0, 0.0, 0.0, -2.0, 0.0, 0.0])
    x, changes = m.np.zeros(6), []
    for _ in m.steps(30):
        y = x - 0.5 * (a.T @ (a @ x - b))
        later = m.np.sign(y) * m.np.maximum(m.np.abs(y) - 0.01, 0.0)
        changes.append(float(m.np.max(m.np.abs(later - x))))
        x = later
    return x


def perceptron(m):
    """The loop ends when no point is wrong."""
    x = normal(m, 27, 60, 2)
    y = m.np.sign(x[:, 0] + 2 * x[:, 1])
    w, turns = m.np.zeros(2), 0
    for _ in m.steps(30):
        wrong = y * (x @ w) <= 0
        if not bool(m.np.any(wrong)):
            break
        i = int(m.np.argmax(wrong.astype(m.np.int32)))
        w = w + y[i] * x[i]
        turns += 1
    return turns, w


# Inference.


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


class Loop(NamedTuple):
    """A loop: `tolerance` of its values beside the largest; `grows` if it keeps an array of each iteration."""

    function: Callable[[Any], Any]
    tolerance: float = 1e-4
    grows: bool = False


LOOPS = {
    function.__name__: Loop(function)
    for function in (
        sgd, momentum, adamw_schedule, adam_counted_on_the_host, dropout, accumulation, early_stopping, evaluation,
        rate_argument, rate_outside, rate_of_the_loss, clipping, clipping_in_a_step, five_scalars, progress,
        losses_after, losses_stacked, averaged, eager, eager_value_and_grad, counters, best_parameters, checkpoints,
        largest_gradient, epochs, batches_of_numpy, accuracy, loss_scale, adversaries, target_network, recurrent,
        recurrent_state, ensemble, conjugate_gradients, jacobi, power_iteration, newton, newton_of_one_number,
        line_search, lbfgs, k_means, mixture, metropolis, annealing, bandit, adaptive_steps, heat, life, filtered,
        shrinkage, perceptron, decoder, sampled, sampled_on_the_device, beam_search, streamed,
    )
}  # fmt: skip
LOOPS |= {
    "losses_after": Loop(losses_after, grows=True),
    "losses_stacked": Loop(losses_stacked, grows=True),
    "loss_scale": Loop(loss_scale, tolerance=5e-3),  # float16
}


class Run(NamedTuple):
    """What a loop returned, as arrays of NumPy; how many programs were compiled in its iterations and by reading that,
    how many in the later half of the iterations, and how many operations ran again; the tensors and bytes by which its
    memory grew; and the seconds of an iteration of the later half, the median."""

    values: list[np.ndarray]
    compiled: int
    compiled_late: int
    recomputed: int
    growth: tuple[int, int]
    seconds: float


def run(loop, m=OURS, most=None):
    """Runs a loop, and at most `most` of its iterations. A loop that does not count them by `m.steps` is measured as a
    whole, with what precedes it."""
    gc.collect()
    lx.step(wait=True)
    m.most, recomputed = most, lx.counter("RecomputedOps")
    m.seen[:] = [m.measure()]
    values = [np.asarray(leaf) for leaf in optree.tree_leaves(loop.function(m))]
    recomputed, compiled = lx.counter("RecomputedOps") - recomputed, m.measure().compiled - m.seen[0].compiled
    later = m.seen[len(m.seen) // 2 :]
    late = later[-1].compiled - later[0].compiled
    times = [after.time - before.time for before, after in zip(later, later[1:])]
    seconds = statistics.median(times) if times else float("nan")
    return Run(values, compiled, late, recomputed, (0, 0) if loop.grows else growth(m.seen), seconds)


def growth(seen):
    """Returns how many tensors and bytes the last quarter of a loop has more than the second one, or 0. Work that is
    under way holds some, so that iterations differ: the least of the last are compared with the most of the second."""
    quarter = len(seen) // 4
    if quarter < 3:
        return 0, 0
    before, after = seen[quarter : 2 * quarter], seen[-quarter:]
    tensors = min(each.tensors for each in after) - max(each.tensors for each in before)
    return max(0, tensors), max(0, min(each.bytes for each in after) - max(each.bytes for each in before))
