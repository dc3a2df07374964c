"""Programs as tutorials of NumPy, JAX and scikit-learn have them, written once: `m` is NumPy or this package.

Each is a function of `m` and of a function `on` that makes an array of values, and returns a tree of arrays. Parts that
NumPy lacks (derivatives, keys) are written out for it, or are compared with what they have to give."""

import functools

import numpy as np

import lazyxla as lx

RNG = np.random.default_rng(42)
POINTS = np.concatenate([RNG.standard_normal((30, 3)) * 0.5 + center for center in (-1.0, 0.5, 2.0)])
LABELS = np.repeat([0, 1, 2], 30)
SIGNAL = np.sin(np.linspace(0, 12, 200)) + 0.3 * RNG.standard_normal(200)
IMAGE = np.clip(np.add.outer(np.arange(24), np.arange(32)) / 60 + 0.1 * RNG.standard_normal((24, 32)), 0, 1)


def fitted_line(m, on):
    """NumPy: a polynomial is fitted, and judged by its residuals."""
    x = on(np.linspace(-2, 2, 50))
    y = on(1.5 * np.linspace(-2, 2, 50) ** 2 - 0.5 + 0.1 * SIGNAL[:50])
    coefficients = m.polyfit(x, y, 2)
    residuals = y - m.polyval(coefficients, x)
    r2 = 1 - m.sum(residuals**2) / m.sum((y - y.mean()) ** 2)
    rate = m.polyder(coefficients)
    return coefficients, r2, rate, m.polyval(rate, 1.0)


def mandelbrot(m, on):
    """NumPy's quickstart: the iterations after which points diverge."""
    re, im = m.meshgrid(on(np.linspace(-2, 0.8, 28)), on(np.linspace(-1.4, 1.4, 20)))
    c = re + 1j * im
    z, diverged = m.zeros_like(c), m.full(c.shape, 20)
    for i in range(20):
        z = z**2 + c
        is_far = m.real(z * m.conj(z)) > 4
        diverged = m.where(is_far & (diverged == 20), i, diverged)
        z = m.where(is_far, 2.0, z)
    return diverged


def compressed_image(m, on):
    """NumPy: an image of low rank by its singular values, in column-major order as MATLAB has it."""
    image = on(IMAGE)
    u, s, vt = m.linalg.svd(image, full_matrices=False)
    energy = m.cumsum(s**2) / m.sum(s**2)
    rank = int(m.searchsorted(energy, 0.99)) + 1
    small = (u[:, :rank] * s[:rank]) @ vt[:rank]
    blocks = m.reshape(m.ravel(small, order="F"), (4, 8, 24), order="F")
    return rank, small, m.max(m.abs(image - small)), blocks.mean(axis=(0, 2)), m.linalg.norm(image - small, "fro")


def equalized_image(m, on):
    """NumPy: an image whose histogram is made flat."""
    image = on(IMAGE)
    counts, edges = m.histogram(m.ravel(image), bins=16, range=(0.0, 1.0))
    share = m.cumsum(counts) / image.size
    flat = m.interp(m.ravel(image), edges[:-1], share.astype(image.dtype))
    padded = m.pad(m.reshape(flat, image.shape), 1, "edge")
    blurred = sum(padded[i : i + 24, j : j + 32] for i in range(3) for j in range(3)) / 9
    return counts, flat, m.gradient(blurred)[0], m.percentile(blurred, [5, 50, 95])


def filtered_signal(m, on):
    """NumPy and SciPy: a smoothed signal, its spectrum, and its area."""
    y = on(SIGNAL)
    window = m.hanning(11).astype(y.dtype)
    smooth = m.convolve(y, window / window.sum(), mode="same")
    spectrum = m.abs(m.fft.rfft(y - y.mean())) ** 2
    peak = m.argmax(spectrum)
    kept = m.where(m.arange(spectrum.shape[0]) <= peak + 2, m.fft.rfft(y), 0)
    slow = m.fft.irfft(kept)
    crossings = m.nonzero(m.diff(m.signbit(slow)))[0]
    return smooth, peak, slow, crossings, m.trapezoid(slow, dx=0.06), m.unwrap(m.angle(kept[1:4]))


def principal_components(m, on):
    """scikit-learn: standardized data, projected on the eigenvectors of its covariances."""
    x = on(POINTS)
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    values, vectors = m.linalg.eigh(m.cov(x, rowvar=False))
    order = m.argsort(values)[::-1]
    vectors = vectors[:, order]
    vectors = vectors * m.sign(vectors[m.argmax(m.abs(vectors), axis=0), m.arange(3)])
    return values[order] / values.sum(), x @ vectors[:, :2], m.corrcoef(x, rowvar=False)[m.triu_indices(3, 1)]


def nearest_neighbours(m, on):
    """scikit-learn: the labels of the nearest points vote; a confusion matrix counts."""
    x, labels = on(POINTS), on(LABELS)
    apart = m.sqrt(m.sum((x[:, None] - x[None]) ** 2, axis=-1))
    m.fill_diagonal(apart, m.inf)
    near = m.sort(m.argpartition(apart, 5, axis=1)[:, :5], axis=1)
    votes = m.sum(labels[near][..., None] == m.arange(3), axis=1)
    found = m.argmax(votes, axis=1)
    confusion = m.reshape(m.bincount(m.ravel_multi_index((labels, found), (3, 3)), minlength=9), (3, 3))
    precision = m.diag(confusion) / m.maximum(confusion.sum(axis=0), 1)
    return near, found, confusion, precision, m.unique(found, return_counts=True)


def naive_bayes(m, on):
    """scikit-learn: classes by the means and variances of features, split without a loop over rows."""
    x, labels = on(POINTS), on(LABELS)
    classes, places, counts = m.unique(labels, return_inverse=True, return_counts=True)
    means = m.stack([x[places == k].mean(axis=0) for k in range(3)])
    variances = m.stack([x[places == k].var(axis=0) for k in range(3)])
    prior = m.log(counts / x.shape[0])
    apart = x[:, None] - means
    joint = prior - 0.5 * m.sum(m.log(2 * m.pi * variances) + apart**2 / variances, axis=-1)
    scores = joint - m.max(joint, axis=1, keepdims=True)
    chances = m.exp(scores) / m.sum(m.exp(scores), axis=1, keepdims=True)
    return classes, means, variances, chances, (m.argmax(chances, axis=1) == labels).mean()


def missing_values(m, on):
    """NumPy: a table with gaps is filled by the medians of its columns."""
    gaps = np.where(np.random.default_rng(3).random(POINTS.shape) < 0.2, np.nan, POINTS)
    x = on(gaps)
    filled = m.where(m.isnan(x), m.nanmedian(x, axis=0), x)
    low, high = m.nanpercentile(x, [10, 90], axis=0)
    clipped = m.clip(filled, low, high)
    ranks = m.argsort(m.argsort(clipped, axis=0, kind="stable"), axis=0)
    return filled, clipped, ranks, m.isnan(x).sum(axis=0), m.nanstd(x, axis=0), m.nanargmax(x, axis=0)


def page_rank(m, on):
    """NumPy: the stationary distribution of a chain, by powers and by eigenvalues."""
    links = on((np.random.default_rng(5).random((8, 8)) < 0.4).astype("float64"))
    m.fill_diagonal(links, 1.0)
    chain = 0.85 * links / links.sum(axis=0) + 0.15 / 8
    rank = m.full(8, 1 / 8, dtype="float64")
    for _ in range(60):
        rank = chain @ rank
    values, vectors = m.linalg.eig(chain)
    first = m.argmax(m.abs(values))
    by_eigen = m.abs(vectors[:, first]) / m.sum(m.abs(vectors[:, first]))
    return rank, by_eigen, m.linalg.matrix_power(chain, 50)[:, 0], m.argsort(-rank)[:3]


def softmax_regression(m, on):
    """JAX: a tree of parameters is trained by the gradient of a jitted loss with a static configuration."""
    x, labels = on(POINTS), on(LABELS)

    def loss_by_hand(params):
        scores = x @ params["w"] + params["b"]
        chances = np.exp(scores - scores.max(1, keepdims=True))
        chances /= chances.sum(1, keepdims=True)
        wrong = (chances - np.eye(3)[LABELS]) / len(LABELS)
        value = -np.log(chances[np.arange(90), LABELS]).mean() + 0.01 * np.sum(params["w"] ** 2)
        return value, {"w": x.T @ wrong + 0.02 * params["w"], "b": wrong.sum(0)}

    @functools.partial(lx.jit, static_argnames=("decay", "classes"))
    def loss(params, x, labels, *, decay, classes):
        scores = lx.nn.log_softmax(x @ params["w"] + params["b"])
        picked = lx.sum(lx.nn.one_hot(labels, classes) * scores, axis=1)
        return -lx.mean(picked) + decay * lx.sum(params["w"] ** 2)

    params = {"w": on(np.zeros((3, 3))), "b": on(np.zeros(3))}
    losses = []
    for _ in range(30):
        if m is np:
            value, slopes = loss_by_hand(params)
            params = {name: p - 0.5 * slopes[name] for name, p in params.items()}
        else:
            value, slopes = lx.value_and_grad(loss)(params, x, labels, decay=0.01, classes=3)
            params = lx.tree.map(lambda p, g: p - 0.5 * g, params, slopes)
        losses.append(float(value))
    return params["w"], params["b"], losses


def newton_basins(m, on):
    """NumPy: Newton's method from all points of a grid at once."""
    p = on(np.array([1.0, 0.0, 0.0, -1.0]))
    rate = m.polyder(p)
    y, x = m.meshgrid(on(np.linspace(-1, 1, 9)), on(np.linspace(-1, 1.1, 10)), indexing="ij")
    z = x + 1j * y
    for _ in range(25):
        z = z - m.polyval(p, z) / m.polyval(rate, z)
    roots = on(np.exp(2j * np.pi * np.arange(3) / 3))
    apart = m.abs(z[..., None] - roots)
    return m.argmin(apart, axis=-1), m.all(m.min(apart, axis=-1) < 1e-6), m.sort(m.real(m.roots(p)))


# Programs compiled at most on an XLA device: one where no value is read between, and two in a loop of training.
MOST = {
    "fitted_line": 1,
    "mandelbrot": 2,
    "compressed_image": 2,
    "equalized_image": 1,
    "filtered_signal": 3,
    "principal_components": 1,
    "nearest_neighbours": 5,
    "naive_bayes": 7,
    "missing_values": 1,
    "page_rank": 1,
    "softmax_regression": 2,
    "newton_basins": 3,
}
