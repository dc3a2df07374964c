"""Programs as tutorials of JAX and of models have them: keys, training, scans; see strangers_more.py."""

import math

import numpy as np

import lazyxla as lx


def rng(seed):
    return np.random.default_rng(seed)


def option_prices(m, on):
    """JAX: a call option by Monte Carlo with a key for each price, its delta and vega, near the formula's."""
    price0, strike, rate, spread, time = 100.0, 105.0, 0.05, 0.2, 1.0
    if m is np:
        return np.array([True] * 3)

    @lx.jit
    def price(key, start, spread):
        z = lx.random.normal(key, (20000,))
        end = start * lx.exp((rate - 0.5 * spread**2) * time + spread * lx.sqrt(time) * z)
        return lx.exp(-rate * time) * lx.maximum(end - strike, 0).mean()

    below = lambda x: 0.5 * (1 + math.erf(x / 2**0.5))
    d1 = (math.log(price0 / strike) + (rate + 0.5 * spread**2) * time) / (spread * time**0.5)
    wanted = price0 * below(d1) - strike * math.exp(-rate * time) * below(d1 - spread * time**0.5)
    key, prices = lx.random.key(0), []
    for _ in range(8):
        key, part = lx.random.split(key)
        prices.append(price(part, price0, spread))
    delta, vega = lx.grad(price, argnums=(1, 2))(part, price0, spread)
    slope = price0 * math.exp(-(d1**2) / 2) / (2 * math.pi) ** 0.5
    return m.array([abs(m.array(prices).mean() - wanted) < 0.2, abs(delta - below(d1)) < 0.03, abs(vega - slope) < 2])


def word_vectors(m, on):
    """JAX: word2vec with negative samples; indices come again within a batch, and their gradients add up."""
    params = {"in": on(rng(21).standard_normal((20, 8)) * 0.1), "out": on(rng(22).standard_normal((20, 8)) * 0.1)}
    centers, negatives = rng(23).integers(0, 20, (8, 16)), rng(24).integers(0, 20, (8, 16, 4))

    def by_hand(params, center, context, negative):
        vector, good, bad = params["in"][center], params["out"][context], params["out"][negative]
        sigmoid = lambda x: 1 / (1 + np.exp(-x))
        p, n = sigmoid((vector * good).sum(-1)), sigmoid(np.einsum("bd,bkd->bk", vector, bad))
        to_good, to_bad = ((p - 1) / len(p))[:, None], (n / len(p))[..., None]
        slopes = {name: np.zeros_like(table) for name, table in params.items()}
        np.add.at(slopes["in"], center, to_good * good + (to_bad * bad).sum(1))
        np.add.at(slopes["out"], context, to_good * vector)
        np.add.at(slopes["out"], negative, to_bad * vector[:, None])
        value = -(np.log(p) + np.log(1 - n).sum(-1)).mean()
        return value, {name: table - 0.5 * slopes[name] for name, table in params.items()}

    def loss(params, center, context, negative):
        vector = params["in"][center]
        good = lx.sum(vector * params["out"][context], axis=-1)
        bad = lx.einsum("bd,bkd->bk", vector, params["out"][negative])
        return -lx.mean(lx.nn.log_sigmoid(good) + lx.nn.log_sigmoid(-bad).sum(-1))

    @lx.jit
    def update(params, *batch):
        value, slopes = lx.value_and_grad(loss)(params, *batch)
        return value, lx.tree.map(lambda p, g: p - 0.5 * g, params, slopes)

    losses = []
    for center, negative in zip(centers, negatives):
        step = by_hand if m is np else update
        value, params = step(params, on(center), on((center + 1) % 20), on(negative))
        losses.append(float(value))
    return params["in"], params["out"], losses


def policy_gradient(m, on):
    """JAX: a bandit by REINFORCE, with a moving baseline; it finds the best arm."""
    if m is np:
        return np.array([True]), np.array(3)
    rewards, logits, key, baseline = on(np.array([0.1, 0.2, 0.15, 0.9])), lx.zeros(4), lx.random.PRNGKey(0), 0.0

    @lx.jit
    def step(logits, key, baseline):
        arms = lx.random.categorical(key, logits, shape=(32,))
        won = rewards[arms]
        slope = lx.grad(lambda l: -lx.mean(lx.nn.log_softmax(l)[arms] * (won - baseline)))(logits)
        return logits - slope, won.mean()

    for _ in range(40):
        key, part = lx.random.split(key)
        logits, won = step(logits, part, lx.asarray(baseline))
        baseline = 0.9 * baseline + 0.1 * float(won)
    return m.array([won > 0.7]), lx.argmax(logits)


def loss_scaling(m, on):
    """Mixed precision: products in float16, a scaled loss, and steps that are left out where a gradient is infinite."""
    if m is np:
        return np.array([True, True, True])
    data, weights = rng(25).standard_normal((64, 8)).astype("float32"), rng(26).standard_normal(8).astype("float32")
    x, y, w, scale = on(data), on(data @ weights), lx.zeros(8), 2.0**20

    @lx.jit
    def slopes(w, scale):
        def loss(w):
            found = x.astype(lx.float16) @ w.astype(lx.float16)
            return lx.nn.mse_loss(found.astype(lx.float32), y) * scale

        value, slope = lx.value_and_grad(loss)(w)
        return value / scale, slope / scale, lx.all(lx.isfinite(slope))

    left_out, first = 0, None
    for _ in range(20):
        value, slope, is_finite = slopes(w, lx.asarray(scale))
        if is_finite:
            w = w - 0.1 * slope
        else:
            left_out, scale = left_out + 1, scale / 2
        first = float(value) if first is None else first
    return m.array([value < 0.1 * first, m.isfinite(w).all(), 0 < left_out < 10])


def kalman_filter(m, on):
    """JAX: a filter as a scan whose carry is a mean and a covariance."""
    z = on(np.cumsum(rng(27).standard_normal(40)) + rng(28).standard_normal(40))
    move, seen, eye = on(np.array([[1, 1], [0, 1.0]])), on(np.array([[1, 0.0]])), on(np.eye(2))

    def step(carry, z):
        x, p = move @ carry[0], move @ carry[1] @ move.T + 0.01 * eye
        gain = p @ seen.T @ m.linalg.inv(seen @ p @ seen.T + 1)
        x = x + gain @ (z - seen @ x)
        return (x, (eye - gain @ seen) @ p), x

    carry = (on(np.zeros(2)), on(10 * np.eye(2)))
    if m is not np:
        return lx.scan(step, carry, z)
    found = []
    for each in z:
        carry, x = step(carry, each)
        found.append(x)
    return carry, np.stack(found)


def logistic_regression(m, on):
    """statsmodels by hand: weighted least squares, until nothing moves; standard errors and scores."""
    data = np.c_[np.ones(100), rng(29).standard_normal((100, 2))]
    x, y = on(data), on((rng(30).random(100) < 1 / (1 + np.exp(-data @ [0.5, 1, -2]))).astype(float))
    w = m.zeros(3)
    for _ in range(12):
        p = 1 / (1 + m.exp(-x @ w))
        curve = (x.T * (p * (1 - p))) @ x
        moved = m.linalg.solve(curve, x.T @ (y - p))
        w = w + moved
        if m.abs(moved).max() < 1e-8:
            break
    errors = m.sqrt(m.diag(m.linalg.inv(curve)))
    return w, errors, w / errors, ((p > 0.5) == y).mean()


def viterbi(m, on):
    """Hidden Markov models: the likeliest path, read back by its links, and the likelihood."""
    chain, emit = on(np.log(rng(31).dirichlet(np.ones(3), 3))), on(np.log(rng(32).dirichlet(np.ones(4), 3)))
    seen, links = rng(33).integers(0, 4, 10), []
    best, forward = emit[:, seen[0]] + math.log(1 / 3), m.exp(emit[:, seen[0]]) / 3
    for letter in seen[1:]:
        scores = best[:, None] + chain
        links.append(scores.argmax(axis=0))
        best = scores.max(axis=0) + emit[:, letter]
        forward = (forward @ m.exp(chain)) * m.exp(emit[:, letter])
    path = [int(best.argmax())]
    for link in reversed(links):
        path.append(int(link[path[-1]]))
    return m.array(path[::-1]), best.max(), m.log(forward.sum())


# Programs compiled at most on an XLA device. Sizes that change, and values that are read, are compiles of their own.
MOST = {
    "option_prices": 4,
    "word_vectors": 1,
    "policy_gradient": 4,
    "loss_scaling": 4,
    "kalman_filter": 1,
    "logistic_regression": 3,
    "viterbi": 4,
}
