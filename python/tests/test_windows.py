"""Convolutions, pools, batch normalization and dropout; against sums over windows in NumPy, and finite differences."""

import itertools

import numpy as np
from common import DEVICES, on, raises, random, same

import lazyxla as lx


def windows(a, window, strides, low, high, fill):
    """Returns the windows over the last axes of an array, which come last."""
    n = len(window)
    a = np.pad(a, [(0, 0)] * (a.ndim - n) + list(zip(low, high)), constant_values=fill)
    view = np.lib.stride_tricks.sliding_window_view(a, window, axis=tuple(range(a.ndim - n, a.ndim)))
    return view[(..., *(slice(None, None, by) for by in strides), *(slice(None),) * n)]


def spread(a, gaps):
    """Returns an array with zeros between the elements of its last axes."""
    shape = [(size - 1) * gap + 1 for size, gap in zip(a.shape[-len(gaps) :], gaps)]
    wide = np.zeros((*a.shape[: -len(gaps)], *shape), a.dtype)
    wide[(..., *(slice(None, None, gap) for gap in gaps))] = a
    return wide


def convolved(a, k, strides, low, high, kernel_dilation=(1, 1), input_dilation=(1, 1), groups=1):
    """NCHW, OIHW."""
    a, k = spread(a, input_dilation), spread(k, kernel_dilation)
    parts = []
    for x, kernel in zip(np.split(a, groups, 1), np.split(k, groups, 0)):
        parts.append(np.einsum("ncxyhw,ochw->noxy", windows(x, k.shape[2:], strides, low, high, 0), kernel))
    return np.concatenate(parts, 1)


def test_convolutions_are_sums_over_windows():
    a, k = random(1, (2, 4, 7, 6), "float64"), random(2, (6, 4, 3, 2), "float64")
    for device in DEVICES:
        x, kernel = on(a, device), on(k, device)
        same(lx.nn.conv(x, kernel), convolved(a, k, (1, 1), (0, 0), (0, 0)), 1e-12)
        found = lx.nn.conv(x, kernel, strides=(2, 1), padding=[(1, 0), 2], kernel_dilation=(1, 2))
        same(found, convolved(a, k, (2, 1), (1, 2), (0, 2), (1, 2)), 1e-12)
        grouped = lx.nn.conv(x, kernel[:, :2], groups=2, padding=1, input_dilation=2)
        same(grouped, convolved(a, k[:, :2], (1, 1), (1, 1), (1, 1), (1, 1), (2, 2), 2), 1e-12)
        # "same": ceil(size / stride) windows, with the odd element of padding behind.
        found = lx.nn.conv(
            lx.permute_dims(x, (0, 2, 3, 1)),
            lx.permute_dims(kernel, (2, 3, 1, 0)),
            strides=2,
            padding="same",
            layout=("NHWC", "HWIO", "NHWC"),
        )
        same(found, convolved(a, k, (2, 2), (1, 0), (1, 0)).transpose(0, 2, 3, 1), 1e-12)
        line = lx.nn.conv(x[:, :, 0], kernel[:, :, 0], padding=1)
        same(line, convolved(a[:, :, :1], k[:, :, :1], (1, 1), (0, 1), (0, 1))[:, :, 0], 1e-12)
        slope = lx.grad(lambda k: lx.sum(lx.nn.conv(x, k, strides=2) ** 2))(kernel)
        wide, result = windows(a, (3, 2), (2, 2), (0, 0), (0, 0), 0), convolved(a, k, (2, 2), (0, 0), (0, 0))
        same(slope, 2 * np.einsum("ncxyhw,noxy->ochw", wide, result), 1e-11)
        raises(ValueError, lambda: lx.nn.conv(x, kernel[0]), "rank")
        raises(ValueError, lambda: lx.nn.conv(x, kernel, padding="full"), "padding", "'full'")
        raises(ValueError, lambda: lx.nn.conv(x, kernel, padding="same", input_dilation=2), "input_dilation")
        raises(ValueError, lambda: lx.nn.conv(x, kernel, strides=(1, 2, 3)), "strides")
        raises(ValueError, lambda: lx.nn.conv(x, kernel, layout=("NHWC", "HWIO", "NXWC")), "layout", "'NXWC'")
        raises(ValueError, lambda: lx.nn.conv(x, kernel[:, :3]), "conv()")
        raises(TypeError, lambda: lx.nn.conv(x, kernel.astype(lx.int32)))


def test_pools_are_reductions_of_windows():
    a = random(3, (2, 3, 7, 6), "float64")
    for device in DEVICES:
        x = on(a, device)
        same(lx.nn.max_pool(x, 2), windows(a, (2, 2), (2, 2), (0, 0), (0, 0), 0).max((-2, -1)))
        found = lx.nn.max_pool(x, (3, 2), strides=1, padding=[(1, 1), (0, 1)])
        same(found, windows(a, (3, 2), (1, 1), (1, 0), (1, 1), -np.inf).max((-2, -1)))
        last = lx.nn.max_pool(lx.permute_dims(x, (0, 2, 3, 1)), (2, 3), padding="same", axes=(1, 2))
        wanted = windows(a, (2, 3), (2, 3), (0, 0), (1, 0), -np.inf).max((-2, -1))
        same(last, wanted.transpose(0, 2, 3, 1))
        whole = random(4, (2, 2, 5), "int32")
        same(lx.nn.max_pool(on(whole, device), 2, padding=1), windows(whole, (2,), (2,), (1,), (1,), -(2**31)).max(-1))
        wide = windows(a, (2, 2), (1, 1), (1, 1), (1, 1), 0)
        same(lx.nn.avg_pool(x, 2, strides=1, padding=1), wide.mean((-2, -1)), 1e-12)
        counts = windows(np.ones_like(a), (2, 2), (1, 1), (1, 1), (1, 1), 0).sum((-2, -1))
        found = lx.nn.avg_pool(x, 2, strides=1, padding=1, count_include_pad=False)
        same(found, wide.sum((-2, -1)) / counts, 1e-12)
        slope = lx.grad(lambda x: lx.sum(lx.nn.max_pool(x, 2) ** 2))(x)
        wanted = np.zeros_like(a)
        for n, c, i, j in itertools.product(range(2), range(3), range(3), range(3)):
            part = a[n, c, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2]
            wanted[n, c, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2] = np.where(part == part.max(), 2 * part, 0)
        same(slope, wanted)
        slope = lx.grad(lambda x: lx.sum(lx.nn.avg_pool(x, (2, 2)) * 3))(x)
        wanted = np.zeros_like(a)
        wanted[:, :, :6] = 0.75
        same(slope, wanted)
        raises(ValueError, lambda: lx.nn.max_pool(x, 0), "window")
        raises(ValueError, lambda: lx.nn.max_pool(x, 2, strides=0), "strides")
        raises(lx.AxisError, lambda: lx.nn.max_pool(x, 2, axes=(4,)), "4")
        raises(TypeError, lambda: lx.nn.avg_pool(on(whole, device), 2), "int32")


def test_pools_of_small_floats_neither_overflow_nor_become_nan():
    names = "e5m2 e4m3fn e4m3b11fnuz e5m2fnuz e4m3fnuz e4m3 e3m4".split()
    for device in DEVICES:
        x = on(np.float32([[[-1, -2, -0.5, -4, -8]]]), device)
        wanted = np.float32([[[-1, -0.5, -4]]])
        for name in [*(f"float8_{end}" for end in names), "float16", "bfloat16"]:
            found = lx.nn.max_pool(x.astype(name), 2, padding=[(1, 0)])
            assert found.dtype.name == name
            same(found.astype(lx.float32), wanted)
        powers = lx.nn.max_pool(abs(x).astype(lx.float8_e8m0fnu), 2, padding=[(1, 0)])
        same(powers.astype(lx.float32), np.float32([[[1, 2, 8]]]))
        large = lx.full((1, 1, 4), 40000.0, dtype=lx.float16, device=device)
        same(lx.nn.avg_pool(large, 4), np.full((1, 1, 1), 40000, "float16"))
        found = lx.nn.avg_pool(large, 4, strides=1, padding=2, count_include_pad=False)
        same(found, np.full((1, 1, 5), 40000, "float16"))
        # Sums of 300 ones, which bfloat16 does not count to.
        ones = lx.nn.avg_pool(lx.ones((1, 1, 300), dtype=lx.bfloat16, device=device), 300, count_include_pad=False)
        assert ones.dtype == lx.bfloat16 and ones.tolist() == [[[1.0]]]


def test_wrong_options_of_windows_are_named():
    x, kernel = lx.ones((1, 2, 5, 5), device="cpu"), lx.ones((2, 2, 3, 3), device="cpu")
    values = [
        ({"groups": 0}, "groups", "0"),
        ({"groups": -1}, "groups", "-1"),
        ({"groups": 3}, "groups", "x is float32[1,2,5,5]", "kernel is float32[2,2,3,3]"),
        ({"strides": 0}, "strides", "0"),
        ({"strides": 0, "padding": "same"}, "strides", "0"),
        ({"kernel_dilation": 0}, "kernel_dilation", "0"),
        ({"input_dilation": (1, -2)}, "input_dilation", "-2"),
        ({"kernel_dilation": (1, 2, 3)}, "kernel_dilation", "3"),
        ({"input_dilation": (1, 2, 3)}, "input_dilation", "3"),
        ({"padding": [(1, 2, 3), 0]}, "padding", "3"),
        ({"padding": 2**62}, "padding", "input_dilation", "of x"),
        ({"layout": ("NCHW", "OIHW")}, "layout", "OIHW"),
    ]
    types = [
        ({"groups": 1.5}, "groups", "float"),
        ({"padding": None}, "padding", "NoneType"),
        ({"padding": 1.5}, "padding", "float"),
        ({"padding": (1, None)}, "padding", "NoneType"),
        ({"layout": 5}, "layout", "int"),
        ({"layout": "NCHW"}, "layout", "str"),
        ({"layout": (1, 2, 3)}, "layout", "int"),
        ({"layout": [None] * 3}, "layout", "NoneType"),
        ({"kernel_dilation": 1.5}, "kernel_dilation", "float"),
    ]
    for kind, cases in ((ValueError, values), (TypeError, types)):
        for options, *parts in cases:
            raises(kind, lambda: lx.nn.conv(x, kernel, **options), "conv()" if "padding" not in options else "", *parts)
    raises(TypeError, lambda: lx.nn.conv(x, kernel.astype(lx.int32)), "x is float32", "kernel is int32")
    raises(TypeError, lambda: lx.nn.conv(x > 0, kernel > 0), "nn.conv takes numbers", "bool")
    raises(ValueError, lambda: lx.nn.max_pool(x, 2, padding=-9), "padding", "-9")
    mean = lx.ones(2, device="cpu")
    raises(ValueError, lambda: lx.nn.batch_norm_inference(x, mean[:1], mean), "nn.batch_norm_inference()", "mean")


def test_batches_are_normalized_and_give_their_statistics():
    a, by, shift = random(5, (4, 3, 5), "float64"), random(6, (3,), "float64"), random(7, (3,), "float64")
    mean, variance = a.mean((0, 2)), a.var((0, 2))
    normal = (a - mean[:, None]) / np.sqrt(variance[:, None] + 1e-3)
    for device in DEVICES:
        x = on(a, device)
        found = lx.nn.batch_norm(x, on(by, device), on(shift, device), epsilon=1e-3)
        same(found.values, normal * by[:, None] + shift[:, None], 1e-11)
        same(found.mean, mean, 1e-12)
        same(found.variance, variance, 1e-12)
        same(
            lx.nn.batch_norm(lx.permute_dims(x, (0, 2, 1)), axis=-1, epsilon=1e-3)[0], normal.transpose(0, 2, 1), 1e-11
        )
        given = [on(each, device) for each in (mean, variance, by, shift)]
        same(lx.nn.batch_norm_inference(x, *given, epsilon=1e-3), normal * by[:, None] + shift[:, None], 1e-11)
        same(lx.nn.batch_norm_inference(x, *given[:2], epsilon=1e-3), normal, 1e-11)
        half = lx.nn.batch_norm(x.astype(lx.bfloat16))
        assert half.values.dtype == lx.bfloat16 and half.mean.dtype == lx.float32
        weights = random(8, (4, 3, 5), "float64")
        slope = lx.grad(lambda x: lx.sum(lx.nn.batch_norm(x)[0] * on(weights, device)))(x)
        direction, step = random(9, (4, 3, 5), "float64"), 1e-5
        ends = []
        for sign in (1, -1):
            b = a + sign * step * direction
            b = (b - b.mean((0, 2), keepdims=True)) / np.sqrt(b.var((0, 2), keepdims=True) + 1e-5)
            ends.append((b * weights).sum())
        assert np.isclose((np.asarray(slope) * direction).sum(), (ends[0] - ends[1]) / (2 * step), rtol=1e-6)
        raises(TypeError, lambda: lx.nn.batch_norm(on(np.ones((2, 3), int), device)), "int64")
        raises(lx.AxisError, lambda: lx.nn.batch_norm(x, axis=3), "3")
        raises(ValueError, lambda: lx.nn.batch_norm(x, on(by[:2], device)), "scale")


def test_dropout_keeps_the_mean():
    for device in DEVICES:
        key, x = lx.random.key(3, device=device), on(np.ones(4000, "float32"), device)
        found = np.asarray(lx.nn.dropout(x, 0.25, key))
        assert {*found.tolist()} == {0.0, float(np.float32(1) / np.float32(0.75))}
        assert abs((found == 0).mean() - 0.25) < 0.03
        same(lx.nn.dropout(x, 0.25, key), found)
        same(lx.nn.dropout(x, 0, key), np.asarray(x))
        same(lx.nn.dropout(x, 1, key), np.zeros(4000, "float32"))
        raises(ValueError, lambda: lx.nn.dropout(x, 1.5, key), "rate", "1.5")
        raises(TypeError, lambda: lx.nn.dropout(x, "a", key), "rate", "str")
