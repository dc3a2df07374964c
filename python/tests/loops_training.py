"""Loops that train by gradients; see loops.py."""

import numpy as np
from loops_data import regression, network


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
