"""Losses of `lx.nn` against their formulas in NumPy, in float64, and activations beside those of the library."""

import warnings

import numpy as np
from common import DEVICES, in_one_step, on, raises, same

import lazyxla as lx

SIZES = (0, 1, 7, 33_000)


def log_softmax(x):
    x = x - x.max(-1, keepdims=True)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def data(size):
    """Returns scores, labels, chances of 5 classes, and two rows of numbers with NaN and infinity."""
    rng = np.random.default_rng(size)
    scores, labels = rng.standard_normal((size, 5)) * 3, rng.integers(0, 5, size)
    chances = rng.random((size, 5)) + 0.01
    chances /= chances.sum(1, keepdims=True)
    x, y = rng.standard_normal(size) * 3, rng.standard_normal(size)
    if size > 1:
        scores[1, 2], x[1], y[3] = np.nan, np.nan, np.inf
        chances[-1] = [0, 0, 1, 0, 0]
    return scores, labels, chances, x, y


def elementwise():
    """Returns each loss of elements as a name, further arguments, and its formula of predictions and targets."""
    huber = lambda d, s: np.where(abs(d) <= s, d**2 / 2, s * (abs(d) - s / 2))
    return [
        ("mse_loss", {}, lambda x, y: (x - y) ** 2),
        ("l1_loss", {}, lambda x, y: abs(x - y)),
        ("huber_loss", {"delta": 1.5}, lambda x, y: huber(x - y, 1.5)),
        ("smooth_l1_loss", {"beta": 0.5}, lambda x, y: huber(x - y, 0.5) / 0.5),
        ("smooth_l1_loss", {"beta": 0.0}, lambda x, y: abs(x - y)),
        ("binary_cross_entropy_with_logits", {}, lambda x, y: np.logaddexp(0, x) - x * (y > 0)),
        (
            "binary_cross_entropy_with_logits",
            {"pos_weight": 3.0},
            lambda x, y: np.where(y > 0, 3 * np.logaddexp(0, -x), np.logaddexp(0, x)),
        ),
        ("poisson_nll_loss", {}, lambda x, y: np.exp(x) - y * x),
        ("gaussian_nll_loss", {"variances": 2.0}, lambda x, y: 0.5 * (np.log(2) + (x - y) ** 2 / 2)),
        ("margin_ranking_loss", {"targets": -1.0, "margin": 0.5}, lambda x, y: np.maximum(0, 0.5 + (x - y))),
    ]


def called(name, options, x, y, **more):
    """Calls a loss of elements; the third operand of some is a number here."""
    options = dict(options)
    if name == "gaussian_nll_loss":
        return lx.nn.gaussian_nll_loss(x, y, options.pop("variances"), **options, **more)
    if name == "margin_ranking_loss":
        return lx.nn.margin_ranking_loss(x, y, options.pop("targets"), **options, **more)
    y = lx.astype(y > 0, x.dtype) if name.startswith("binary") else y
    return getattr(lx.nn, name)(x, y, **options, **more)


@np.errstate(invalid="ignore")
@in_one_step
def test_losses_of_elements_are_their_formulas():
    for size in SIZES:
        *_, x, y = data(size)
        for device in DEVICES:
            for name, options, formula in elementwise():
                wanted = formula(x, y)
                same(called(name, options, on(x, device), on(y, device), reduction="none"), wanted, 1e-12)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # the mean of no elements is NaN
                    same(called(name, options, on(x, device), on(y, device), reduction="mean"), wanted.mean(), 1e-12)
                same(called(name, options, on(x, device), on(y, device), reduction="sum"), wanted.sum(), 1e-12)


@np.errstate(invalid="ignore")
@in_one_step
def test_names_of_optax_return_the_loss_of_each_example():
    for size in SIZES:
        scores, labels, chances, x, y = data(size)
        at = labels.copy()
        at[:1] = 9
        for device in DEVICES:
            s, c, a, b = (on(each, device) for each in (scores, chances, x, y))
            picked = np.where(at < 5, -np.take_along_axis(log_softmax(scores), at[:, None] % 5, 1)[:, 0], np.nan)
            same(lx.nn.softmax_cross_entropy_with_integer_labels(s, on(at, device)), picked, 1e-12)
            entropy = -np.sum(np.where(chances == 0, 0, chances * log_softmax(scores)), 1)
            same(lx.nn.softmax_cross_entropy(s, c), entropy, 1e-12)
            same(
                lx.nn.sigmoid_binary_cross_entropy(a, on(labels % 2, device)),
                np.logaddexp(0, x) - x * (labels % 2),
                1e-12,
            )
            same(lx.nn.squared_error(a, b), (x - y) ** 2, 1e-12)
            same(lx.nn.l2_loss(a), x**2 / 2, 1e-12)
            same(lx.nn.log_cosh(a, b), np.logaddexp(x - y, y - x) - np.log(2), 1e-12)
            same(lx.nn.hinge_loss(a, b), np.maximum(0, 1 - x * y), 1e-12)
            terms = np.where(chances == 0, 0, chances * (np.log(np.where(chances == 0, 1, chances)) - scores))
            same(lx.nn.kl_divergence(s, c), terms.sum(1), 1e-12)
            same(lx.nn.kl_div(s, c, reduction="none"), terms, 1e-12)
            if size:
                same(lx.nn.kl_div(s, c, reduction="batchmean"), terms.sum() / size, 1e-12)
            p = np.where(labels % 2 == 1, 1, -1) * x
            focal = np.logaddexp(0, -p) * (1 / (1 + np.exp(p))) ** 2
            same(lx.nn.sigmoid_focal_loss(a, on(labels % 2, device)), focal, 1e-12)
            same(lx.nn.smooth_labels(c, 0.1), 0.9 * chances + 0.02, 1e-12)
            lengths = np.linalg.norm(scores, axis=1) * np.linalg.norm(chances, axis=1)
            cosines = (scores * chances).sum(1) / lengths
            same(lx.nn.cosine_similarity(s, c), cosines, 1e-12)
            same(lx.nn.cosine_distance(s, c), 1 - cosines, 1e-12)


@in_one_step
def test_cross_entropies_weigh_smooth_and_ignore_as_in_pytorch():
    scores, labels, chances, *_ = data(7)
    scores[1, 2] = -np.inf
    labels[:3] = [-100, 0, 4]
    weight = np.array([1.0, 2.0, 0.5, 4.0, 1.0])
    logs, kept = log_softmax(scores), labels != -100
    each = -logs[np.arange(7), labels % 5]
    w = weight[labels % 5]
    smooth = -(logs * weight).mean(1)
    for device in DEVICES:
        s, t, c, v = (on(x, device) for x in (scores, labels, chances, weight))
        same(lx.nn.cross_entropy(s, t), each[kept].mean(), 1e-12)
        same(lx.nn.cross_entropy(s, t, reduction="sum"), each[kept].sum(), 1e-12)
        same(lx.nn.cross_entropy(s, t, reduction="none"), np.where(kept, each, 0), 1e-12)
        same(lx.nn.nll_loss(on(logs, device), t), each[kept].mean(), 1e-12)
        same(lx.nn.cross_entropy(s, t, v), (w * each)[kept].sum() / w[kept].sum(), 1e-12)
        rows = kept & (np.arange(7) != 1)
        some = on(np.where(rows, labels, -100), device)
        wanted = (0.9 * w * each + 0.1 * smooth)[rows].sum() / w[rows].sum()
        same(lx.nn.cross_entropy(s, some, v, label_smoothing=0.1), wanted, 1e-12)
        wanted = -np.where(chances == 0, 0, chances * logs)[2:].sum(1).mean()
        same(lx.nn.cross_entropy(s[2:], c[2:]), wanted, 1e-12)
        # PyTorch's axis of classes, and labels of few bits.
        images = on(np.moveaxis(np.stack([scores] * 2, 1), -1, 1), device)
        pair = on(np.stack([labels % 5] * 2, 1).astype("uint8"), device)
        same(lx.nn.cross_entropy(images, pair, axis=1), each[1:].sum() / 7 + each[0] / 7, 1e-12)
        same(lx.nn.cross_entropy(s, lx.full(7, -100, device=device)), np.float64("nan"))


def test_losses_have_the_derivatives_of_their_formulas():
    scores, labels, chances, *_ = data(7)
    scores[1, 2] = 0.3
    softmax = np.exp(log_softmax(scores))
    for device in DEVICES:
        s, t, c = on(scores, device), on(labels, device), on(chances, device)
        same(lx.grad(lx.nn.cross_entropy)(s, t), (softmax - np.eye(5)[labels]) / 7, 1e-12)
        same(lx.grad(lambda s: lx.nn.cross_entropy(s, c))(s), (softmax - chances) / 7, 1e-12)
        ignored = lx.where(t == t[0], -100, t)
        kept = (labels != labels[0])[:, None]
        wanted = (softmax - np.eye(5)[labels]) * kept / kept.sum()
        same(lx.jit(lx.grad(lx.nn.cross_entropy))(s, ignored), wanted, 1e-12)
        zero = lx.zeros((2, 3), device=device)
        for loss in (lambda x: lx.sum(lx.nn.cosine_similarity(x, zero + 1)), lambda x: lx.sum(lx.nn.log_cosh(x))):
            assert np.isfinite(np.asarray(lx.grad(loss)(zero))).all()
        large = on(np.float32([1e30, -3, 0.5]), device)
        same(lx.grad(lambda x: lx.sum(lx.nn.huber_loss(x)))(large), np.float32([1, -1, 0.5]))
        v = lx.grad(lambda v: lx.nn.gaussian_nll_loss(zero, zero + 1, v))(lx.zeros((2, 3), device=device))
        same(v, np.full((2, 3), (1e6 - 1e12) / 12, "float32"), 1e-5)


def test_binary_cross_entropies_have_slopes_at_chances_of_0_and_1():
    p, y = np.float32([0, 1, 0, 1, 0.25]), np.float32([0, 0, 1, 1, 1])
    for device in DEVICES:
        a, b = on(p, device), on(y, device)
        same(lx.nn.binary_cross_entropy(a, b, reduction="none"), np.float32([0, 100, 100, 0, np.log(4)]), 1e-6)
        slopes = lx.grad(lambda a: lx.nn.binary_cross_entropy(a, b, on(2 * y + 1, device), reduction="sum"))(a)
        same(slopes, (2 * y + 1) * (p - y) / np.maximum(p * (1 - p), np.float32(1e-12)), 1e-6)


def test_third_operands_of_losses_have_the_shape_of_the_others():
    for device in DEVICES:
        x, v = lx.ones((2, 3), device=device), on(np.float32([-1, 0, -1e20, 2, 1e-7]), device)
        for call in (
            lambda: lx.nn.gaussian_nll_loss(x, x, x[:, 0]),
            lambda: lx.nn.margin_ranking_loss(x[:, 0], x[:, 0], x[:, :1]),
            lambda: lx.nn.triplet_margin_loss(x, x, x[:1]),
            lambda: lx.nn.binary_cross_entropy(x[:, :1], x[:, :1], x),
            lambda: lx.nn.binary_cross_entropy_with_logits(x[:, 0], x[:, 0], pos_weight=x[:, :1]),
        ):
            raises(ValueError, call, "float32[")
        same(lx.nn.gaussian_nll_loss(x, 0, x[:, :1]), np.float32(0.5))
        # Variances of at most eps are eps.
        zero = lx.zeros(5, device=device)
        wanted = np.log(np.float32([1e-6, 1e-6, 1e-6, 2, 1e-6])) / 2
        same(lx.nn.gaussian_nll_loss(zero, zero, v, reduction="none"), wanted, 1e-6)
        same(lx.nn.cosine_similarity(x[:, :1], x), np.ones(2, "float32"), 1e-6)
        vector, rows = np.float32([1, 2]), np.float32([[1, 2], [3, 4]])
        cosines = (vector * rows).sum(0) / np.linalg.norm([vector, vector], axis=0) / np.linalg.norm(rows, axis=0)
        same(lx.nn.cosine_similarity(on(vector, device), on(rows, device), 0), cosines.astype("float32"), 1e-6)


def test_sums_of_narrow_floats_do_not_overflow():
    for device in DEVICES:
        for dtype in (lx.float16, lx.bfloat16):
            x = lx.full(100_000, 2, dtype=dtype, device=device)
            found = lx.nn.mse_loss(x, 0)
            assert found.dtype == dtype and found.item() == 4
            scores = lx.zeros((100_000, 2), dtype=dtype, device=device)
            found = lx.nn.cross_entropy(scores, lx.zeros(100_000, dtype=int, device=device))
            assert found.dtype == dtype and abs(found.item() - np.log(2)) < 3e-3
        assert lx.nn.mse(lx.asarray([1, 3], device=device), 1).item() == 2 and lx.nn.mae is lx.nn.l1_loss


def test_arguments_of_losses_that_do_not_fit_are_errors():
    x, t = lx.zeros((4, 3), device="cpu"), lx.zeros(4, dtype=int, device="cpu")
    nn = lx.nn
    raises(ValueError, lambda: nn.mse_loss(x, x[:, :1]), "float32[4, 3]", "float32[4, 1]", "one shape")
    raises(ValueError, lambda: nn.mse_loss(x, x, reduction="avg"), "'avg'", "'mean', 'sum', 'none'")
    raises(ValueError, lambda: nn.cross_entropy(x, t[:3]), "int64[3]", "3 classes", "[4]", "[4, 3]")
    raises(TypeError, lambda: nn.cross_entropy(x, x[:, 0]), "float32[4]", "integers")
    raises(TypeError, lambda: nn.cross_entropy(x, [0, 1, 2, 0]), "labels is an array", "list")
    raises(ValueError, lambda: nn.cross_entropy(x, t, x[0, :2]), "float32[2]", "3 classes")
    raises(ValueError, lambda: nn.cross_entropy(x, t, label_smoothing=2.0), "label_smoothing", "0 to 1")
    raises(lx.AxisError, lambda: nn.cross_entropy(x, t, axis=2), "axis")
    raises(ValueError, lambda: nn.softmax_cross_entropy(x, t), "[4]", "with_integer_labels")
    raises(ValueError, lambda: nn.softmax_cross_entropy_with_integer_labels(x, x), "softmax_cross_entropy")
    raises(ValueError, lambda: nn.huber_loss(x, x, 0), "delta")
    raises(ValueError, lambda: nn.smooth_l1_loss(x, x, beta=-1.0), "beta")
    raises(ValueError, lambda: nn.kl_div(x[0, 0], x[0, 0], reduction="batchmean"), "first axis")
    raises(ValueError, lambda: nn.smooth_labels(x[0, 0], 0.1), "scalar")
    raises(ValueError, lambda: nn.glu(x), "3 elements", "even")
    assert nn.cross_entropy(np.zeros((2, 2), "float32"), np.array([0, 1])).item() > 0.69


@in_one_step
def test_activations_are_their_formulas():
    for size in SIZES:
        *_, x, _ = data(size)
        for device in DEVICES:
            a = on(x, device)
            same(lx.nn.leaky_relu(a, 0.2), np.where(x >= 0, x, 0.2 * x), 1e-12)
            same(lx.nn.celu(a, 2.0), np.where(x > 0, x, 2 * np.expm1(x / 2)), 1e-12)
            same(lx.nn.hard_tanh(a), np.clip(x, -1, 1), 1e-12)
            same(lx.nn.soft_sign(a), x / (1 + abs(x)), 1e-12)
            pairs = np.stack([x, x[::-1]], 1)
            same(lx.nn.glu(on(pairs, device)), (pairs[:, :1] / (1 + np.exp(-pairs[:, 1:]))), 1e-12)
    assert lx.nn.swish is lx.nn.silu and lx.nn.hard_silu is lx.nn.hard_swish


@in_one_step
def test_bits_are_those_of_numpy():
    for size in (0, 1, 7, 33_000):
        x = np.random.default_rng(size).standard_normal((3, 4 * size)).astype("float32")
        x[:, :1] = np.nan
        for device in DEVICES:
            a = on(x, device)
            for dtype in ("int8", "uint16", "int32", "float64", "complex64", "complex128"):
                found = np.asarray(a.view(dtype))
                assert found.dtype == dtype and found.shape == x.view(dtype).shape
                assert found.tobytes() == x.tobytes()
            same(lx.bitcast(a, lx.uint16), x.view("uint16").reshape(3, 4 * size, 2))
            same(lx.bitcast(lx.bitcast(a, lx.uint16), lx.int32), x.view("int32"))
            same(a.view("int4").view("int32"), x.view("int32"))
            assert a.view("int4").shape == (3, 32 * size) and a.view(2 * size, 6).shape == (2 * size, 6)
            same((a > 0).view("uint8"), (x > 0).view("uint8"))
            same((a > 0).view(bool), x > 0)


def test_bits_that_do_not_fit_are_errors():
    x = lx.zeros((2, 3), device="cpu")
    raises(ValueError, lambda: x.view("float64"), "3 elements of float32", "multiple of 2")
    raises(ValueError, lambda: x[0, 0].view("int8"), "scalar")
    raises(TypeError, lambda: x.view(bool), "float32", "x != 0")
    raises(TypeError, lambda: x.view(), "dtype")
    raises(TypeError, lambda: lx.bitcast(x, "float64"), "last axis of size 2")
    raises(ValueError, lambda: x.view(4, 2), "6")
