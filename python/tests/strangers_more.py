"""More programs as tutorials of NumPy, SciPy and scikit-learn have them: simulations, statistics, sequences. `m` is NumPy
or this package, as in strangers.py; what NumPy lacks is written out for it."""

import numpy as np

import lazyxla as lx

F64 = "float64"


def rng(seed):
    return np.random.default_rng(seed)


def heat_equation(m, on):
    """NumPy: explicit steps in one dimension by slices, and Jacobi's iteration in two until it stands."""
    u, history = on(np.sin(np.pi * np.linspace(0, 1, 33))), []
    for n in range(40):
        u[1:-1] = u[1:-1] + 0.4 * (u[2:] - 2 * u[1:-1] + u[:-2])
        u[0] = u[-1] = 0
        if n % 10 == 0:
            history.append(u.copy())
    plate = m.zeros((12, 16), dtype=F64)
    plate[0, :] = 100.0
    plate[:, -1] = 50.0
    for k in range(60):
        old = plate.copy()
        plate[1:-1, 1:-1] = 0.25 * (plate[2:, 1:-1] + plate[:-2, 1:-1] + plate[1:-1, 2:] + plate[1:-1, :-2])
        if k % 20 == 19 and m.abs(plate - old).max() < 1e-3:
            break
    return m.stack(history), m.gradient(u, 1 / 32), plate


def game_of_life(m, on):
    """NumPy: neighbours by roll, on a torus."""
    grid, alive = on((rng(1).random((16, 16)) < 0.3).astype("int64")), []
    for _ in range(6):
        near = sum(m.roll(m.roll(grid, i, 0), j, 1) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0))
        grid = ((near == 3) | ((grid == 1) & (near == 2))).astype(grid.dtype)
        alive.append(grid.sum())
    return grid, m.array(alive)


def image_filters(m, on):
    """SciPy's ndimage by hand: a blur, edges, medians of windows."""
    image = on(rng(2).random((20, 30)))
    kernel = m.outer(m.array([1, 2, 1]), m.array([1, 2, 1])) / 16
    padded = m.pad(image, ((1, 1), (1, 1)), mode="reflect")
    blurred = m.zeros_like(image)
    for i in range(3):
        for j in range(3):
            blurred += kernel[i, j] * padded[i : i + image.shape[0], j : j + image.shape[1]]
    across, down = padded[1:-1, 2:] - padded[1:-1, :-2], padded[2:, 1:-1] - padded[:-2, 1:-1]
    size = m.hypot(across, down)
    edges = size > m.percentile(size, 90)
    windows = m.stack([padded[i : i + 20, j : j + 30] for i in range(3) for j in range(3)], axis=-1)
    rows, _ = m.nonzero(edges)
    bytes_ = m.clip(image * 255, 0, 255).astype(m.uint8)
    return blurred, edges, m.median(windows, axis=-1), rows.mean(), m.arctan2(down, across)[edges][:10], bytes_


def markov_chain(m, on):
    """NumPy: a stationary distribution by least squares, a path by the inverse of sums, and its counts."""
    chain = on(np.array([[0.9, 0.075, 0.025], [0.15, 0.8, 0.05], [0.25, 0.25, 0.5]]))
    equations = m.vstack([chain.T - m.eye(3), m.ones((1, 3))])
    stationary = m.linalg.lstsq(equations, m.array([0, 0, 0, 1]), rcond=None)[0]
    draws, sums, state, states = on(rng(3).random(60)), m.cumsum(chain, axis=1), 0, []
    for t in range(60):
        state = int(m.searchsorted(sums[state], draws[t]))
        states.append(state)
    path = m.array(states)
    counts = m.zeros((3, 3), dtype=F64)
    m.add.at(counts, (path[:-1], path[1:]), 1)
    return stationary, path, counts / m.maximum(m.add.reduce(counts, axis=1), 1)[:, None]


def gram_schmidt(m, on):
    """NumPy: an orthonormal basis, column by column, and checks of it."""
    a = on(rng(4).standard_normal((8, 5)))
    q, r = m.zeros_like(a), m.zeros((5, 5), dtype=a.dtype)
    for j in range(5):
        v = a[:, j].copy()
        for i in range(j):
            r[i, j] = m.dot(q[:, i], v)
            v -= r[i, j] * q[:, i]
        r[j, j] = m.linalg.norm(v)
        q[:, j] = v / r[j, j]
    assert m.allclose(q @ r, a) and m.allclose(q.T @ q, m.eye(5), atol=1e-6)
    return q, r, m.linalg.matrix_rank(a), m.linalg.cond(a)


def gaussian_process(m, on):
    """scikit-learn by hand: a posterior by a Cholesky factor, and the marginal likelihood."""
    x, at = on(np.linspace(-3, 3, 15))[:, None], on(np.linspace(-4, 4, 40)).reshape(-1, 1)
    y = m.sin(x).ravel()

    def kernel(a, b):
        apart = m.sum(a**2, 1).reshape(-1, 1) + m.sum(b**2, 1) - 2 * m.dot(a, b.T)
        return m.exp(-0.5 * apart)

    low = m.linalg.cholesky(kernel(x, x) + 1e-4 * m.eye(len(x)))
    weights = m.linalg.solve(low.T, m.linalg.solve(low, y))
    between = kernel(x, at)
    variance = m.diag(kernel(at, at)) - m.sum(m.linalg.solve(low, between) ** 2, axis=0)
    likelihood = -0.5 * y.dot(weights) - m.log(m.diagonal(low)).sum() - len(x) / 2 * np.log(2 * np.pi)
    return between.T.dot(weights), variance, likelihood


def mixture_by_em(m, on):
    """scikit-learn by hand: two normal distributions, until the likelihood stands."""
    x = on(np.concatenate([rng(5).normal(-2, 0.5, 60), rng(6).normal(1, 1, 90)]))
    share, mean, scale, before = m.array([0.5, 0.5]), m.array([-1.0, 2.0]), m.ones(2), -np.inf
    for step in range(100):
        density = m.exp(-0.5 * ((x[:, None] - mean) / scale) ** 2) / (scale * m.sqrt(2 * m.pi))
        weights = share * density
        likelihood = m.log(weights.sum(axis=1)).sum()
        weights /= weights.sum(axis=1, keepdims=True)
        count = weights.sum(axis=0)
        share, mean = count / len(x), (weights * x[:, None]).sum(0) / count
        scale = m.sqrt((weights * (x[:, None] - mean) ** 2).sum(0) / count)
        if abs(likelihood - before) < 1e-6:
            break
        before = likelihood
    return share, mean, scale, float(likelihood), step


def pca_by_svd(m, on):
    """scikit-learn by hand: components with signs, the number that explains 95 percent, whitened data."""
    x = on(rng(7).standard_normal((50, 6)) @ rng(8).standard_normal((6, 6)))
    u, s, vt = m.linalg.svd(x - x.mean(axis=0), full_matrices=False)
    signs = m.sign(vt[m.arange(6), m.argmax(m.abs(vt), axis=1)])
    vt *= signs[:, None]
    u *= signs
    ratio = s**2 / m.sum(s**2)
    kept = int(m.argmax(m.cumsum(ratio) >= 0.95)) + 1
    scores = (x - x.mean(axis=0)) @ vt[:kept].T
    back = scores @ vt[:kept] + x.mean(axis=0)
    return ratio, kept, scores, m.linalg.norm(x - back, axis=1), m.cov((u * m.sqrt(len(x) - 1)).T)


def tsne(m, on):
    """scikit-learn by hand: perplexities by bisection, and steps along the gradient with momentum and gains."""
    x = on(rng(9).standard_normal((20, 5)))
    apart = m.sum((x[:, None, :] - x[None, :, :]) ** 2, -1)
    beta, low, high = m.ones(20, dtype=F64), m.full(20, -m.inf, dtype=F64), m.full(20, m.inf, dtype=F64)
    for _ in range(12):
        p = m.exp(-apart * beta[:, None]) * (1 - m.eye(20))
        total = p.sum(1)
        is_wide = m.log(total) + beta * (apart * p).sum(1) / total > np.log(8.0)
        low, high = m.where(is_wide, beta, low), m.where(is_wide, high, beta)
        more = m.where(m.isinf(high), beta * 2, (beta + high) / 2)
        beta = m.where(is_wide, more, m.where(m.isinf(low), beta / 2, (beta + low) / 2))
    p = p / p.sum(1, keepdims=True)
    p = m.maximum((p + p.T) / 40, 1e-12)
    y = on(rng(10).standard_normal((20, 2)) * 1e-2)
    speed, gains = m.zeros_like(y), m.ones_like(y)
    for _ in range(6):
        near = 1 / (1 + m.sum((y[:, None] - y[None]) ** 2, -1))
        m.fill_diagonal(near, 0)
        slope = 4 * (((p - near / near.sum()) * near)[:, :, None] * (y[:, None] - y[None])).sum(1)
        gains = m.where((slope > 0) != (speed > 0), gains + 0.2, gains * 0.8)
        gains[gains < 0.01] = 0.01
        speed = 0.5 * speed - 10 * gains * slope
        y = y + speed
        y -= y.mean(0)
    return beta, y, gains


def recommender(m, on):
    """Collaborative filtering: alternating least squares of the ratings that are there."""
    table = rng(11).integers(1, 6, (10, 8)).astype(float)
    table[rng(12).random(table.shape) < 0.3] = np.nan
    ratings = on(table)
    known, middle = ~m.isnan(ratings), m.nanmean(ratings)
    users, items = on(rng(13).standard_normal((10, 2)) * 0.1), on(rng(14).standard_normal((8, 2)) * 0.1)
    ridge, errors = 0.1 * m.eye(2), []
    for _ in range(3):
        for i in range(10):
            rated = m.where(known[i])[0]
            v = items[rated]
            users[i] = m.linalg.solve(v.T @ v + ridge, v.T @ (ratings[i, rated] - middle))
        for j in range(8):
            u = users[known[:, j]]
            items[j] = m.linalg.solve(u.T @ u + ridge, u.T @ (ratings[known[:, j], j] - middle))
        found = users @ items.T + middle
        errors.append(float(m.sqrt(m.mean((found[known] - ratings[known]) ** 2))))
    best = m.argsort(m.where(known, -m.inf, found), axis=1)[:, ::-1][:, :2]
    return m.clip(found, 1, 5), errors, m.where(m.isnan(ratings).sum(1) > 1, best[:, 0], -1)


def bootstrap(m, on):
    """NumPy: confidence intervals by resampling, and by leaving one out."""
    x, places = on(rng(15).exponential(2.0, 80)), on(rng(16).integers(0, 80, (500, 80)))
    means = x[places].mean(axis=1)
    low, high = m.quantile(means, [0.025, 0.975])
    left_out = m.array([m.delete(x, i).mean() for i in range(8)])
    counts, edges = m.histogram(means, bins=10, density=True)
    far = m.sum(m.abs((means - x.mean()) / means.std(ddof=1)) > 1.96) / 500
    return low, high, m.median(x[places], axis=1)[:5], left_out, counts, edges, far


def lorenz(m, on):
    """SciPy's odeint by hand: Runge and Kutta's method in a loop of Python, and as one loop of the program."""

    def slope(s):
        x, y, z = s
        return m.array([10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z])

    def advanced(s, h=0.01):
        k1 = slope(s)
        k2 = slope(s + h / 2 * k1)
        k3 = slope(s + h / 2 * k2)
        return s + h / 6 * (k1 + 2 * k2 + 2 * k3 + slope(s + h * k3))

    state, path = on(np.array([1.0, 1.0, 1.0])), m.empty((8, 3), dtype=F64)
    for i in range(8):
        state = advanced(state)
        path[i] = state
    if m is np:
        for _ in range(40):
            state = advanced(state)
    else:
        state = lx.fori_loop(0, 40, lambda i, s: advanced(s), state)
    return path, path.min(axis=0), state


def newton_by_hessian(m, on):
    """JAX: Rosenbrock's function by Newton's method, with derivatives written out for NumPy."""

    def f(p):
        return (1 - p[0]) ** 2 + 100 * (p[1] - p[0] ** 2) ** 2

    def derivatives(p):
        slope = np.array([-2 * (1 - p[0]) - 400 * p[0] * (p[1] - p[0] ** 2), 200 * (p[1] - p[0] ** 2)])
        return slope, np.array([[2 - 400 * (p[1] - 3 * p[0] ** 2), -400 * p[0]], [-400 * p[0], 200.0]])

    p, values = on(np.array([-1.2, 1.0])), []
    for _ in range(7):
        slope, curve = derivatives(p) if m is np else (lx.grad(f)(p), lx.hessian(f)(p))
        p = p - m.linalg.solve(curve, slope)
        values.append(float(f(p)))
    return p, values


def finite_elements(m, on):
    """NumPy: a stiffness matrix of elements, and the same by a tridiagonal solve."""
    n = 20
    x = on(np.linspace(0, 1, n + 1))
    stiffness, load = m.zeros((n + 1, n + 1), dtype=F64), m.zeros(n + 1, dtype=F64)
    element = m.array([[1, -1], [-1, 1]]) * n
    for e in range(n):
        stiffness[e : e + 2, e : e + 2] += element
        load[e : e + 2] += m.pi**2 * m.sin(m.pi * (x[e] + x[e + 1]) / 2) / (2 * n)
    stiffness[0, :], stiffness[0, 0], stiffness[-1, :], stiffness[-1, -1] = 0, 1, 0, 1
    load[0] = load[-1] = 0
    u = m.linalg.solve(stiffness, load)
    inner = stiffness[1:-1, 1:-1]
    if m is np:
        again = np.linalg.solve(inner, load[1:-1])
    else:
        zero = lx.zeros(1, dtype=F64)
        lower, upper = (lx.concatenate(each) for each in ((zero, lx.diag(inner, -1)), (lx.diag(inner, 1), zero)))
        again = lx.linalg.solve_tridiagonal(lower, lx.diag(inner), upper, load[1:-1, None])[:, 0]
    return u, again, m.linalg.eigvalsh(inner), m.trapezoid(u, x)


def padded_sequences(m, on):
    """PyTorch's guides: texts of other lengths, padded, with masks in means and in attention."""
    table, weights, found = on(rng(17).standard_normal((30, 4))), on(rng(18).standard_normal((4, 4))), []
    for n in (3, 7, 5, 2, 7, 4):
        ids = m.zeros(8, dtype="int64")
        ids[:n] = on(rng(n).integers(1, 30, n))
        there = ids != 0
        hidden = m.tanh(table[ids] @ weights)
        mean = m.where(there[:, None], hidden, 0).sum(0) / there.sum()
        scores = m.where(there[None, :], hidden @ hidden.T, -m.inf)
        chances = m.exp(scores - scores.max(-1, keepdims=True))
        chances = chances / chances.sum(-1, keepdims=True)
        found.append(m.concatenate([mean, (chances @ hidden)[there].mean(0)]))
    return m.stack(found)


def beam_search(m, on):
    """PyTorch's guides: the best three texts of a model of pairs, which grow by one letter each step."""
    model = on(np.log(rng(19).dirichlet(np.ones(6), (6,))))
    texts, scores = m.zeros((3, 1), dtype="int64"), m.array([0.0, -np.inf, -np.inf])
    for _ in range(5):
        every = (scores[:, None] + model[texts[:, -1]]).ravel()
        best = m.argsort(-every, kind="stable")[:3]
        parent, letter = m.divmod(best, 6)
        texts, scores = m.concatenate([texts[parent], letter[:, None]], axis=1), every[best]
        if (letter == 5).all():
            break
    return texts, scores, [len(text) for text in texts.tolist()]


def moving_averages(m, on):
    """Prices: exponential and simple averages, volatility, the deepest fall, crossings."""
    prices = on(100 + np.cumsum(rng(20).standard_normal(30)))
    alpha = 2 / (12 + 1)
    average, averages = prices[0], [prices[0]]
    for price in prices[1:]:
        average = alpha * price + (1 - alpha) * average
        averages.append(average)
    averages = m.array(averages)
    weights = (1 - alpha) ** m.arange(30)[::-1]
    returns = m.diff(m.log(prices))
    fall = (prices / m.maximum.accumulate(prices) - 1).min()
    crossings = m.where(m.diff(m.sign(averages - prices)))[0]
    simple = m.convolve(prices, m.ones(5) / 5, mode="valid")
    return averages, (weights * prices).sum() / weights.sum(), simple, returns.std(ddof=1), fall, crossings


# Programs compiled at most on an XLA device. Sizes that change, and values that are read, are compiles of their own.
MOST = {
    "heat_equation": 9,
    "game_of_life": 2,
    "image_filters": 3,
    "markov_chain": 5,
    "gram_schmidt": 4,
    "gaussian_process": 1,
    "mixture_by_em": 2,
    "pca_by_svd": 2,
    "tsne": 2,
    "recommender": 15,
    "bootstrap": 1,
    "lorenz": 2,
    "newton_by_hessian": 2,
    "finite_elements": 2,
    "padded_sequences": 4,
    "beam_search": 4,
    "moving_averages": 3,
}
