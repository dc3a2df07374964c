"""Loops of numerical methods, which the host often controls; see loops.py."""

import numpy as np
from loops_data import normal


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


def k_means_by_masks(m):
    """The sizes of the clusters change in each iteration, and the rows of a cluster are chosen by a mask."""
    points = m.np.concat([normal(m, 41 + i, 40, 2) * 1.5 + 2.0 * i for i in range(3)])
    centers, sizes = points[:3], []
    for _ in m.steps(16):
        labels = m.np.argmin(m.np.sum((points[:, None] - centers[None]) ** 2, axis=-1), axis=1)
        clusters = [points[labels == k] for k in range(3)]
        centers = m.np.stack([m.np.mean(cluster, axis=0) for cluster in clusters])
        sizes.append([cluster.shape[0] for cluster in clusters])
    return sizes, centers


def trimmed(m):
    """Elements that lie too far from the mean are dropped until none does: each mask has another size, and its result is
    the next array."""
    x, kept = normal(m, 44, 400) ** 3, []
    for _ in m.steps(12):
        deviation = m.np.sqrt(m.np.mean((x - m.np.mean(x)) ** 2))
        x = x[m.np.abs(x - m.np.mean(x)) < 2.5 * deviation]
        kept.append(x.shape[0])
    return kept, m.np.mean(x)


def hard_examples(m):
    """A step of training by the rows whose error is large, chosen by a mask that is not jitted."""
    x, y = normal(m, 45, 64, 4), normal(m, 46, 64)
    w = m.np.zeros(4)
    update = m.jit(lambda w, x, y: w - 0.05 * m.grad(lambda w: m.np.mean((x @ w - y) ** 2))(w))
    for _ in m.steps(16):
        error = m.np.abs(x @ w - y)
        is_hard = error > m.np.mean(error)
        w = update(w, x[is_hard], y[is_hard])
    return w


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
