"""Sums of bf16 that the same program computes: the summands are rounded to bf16, as recorded."""

import numpy as np
from common import DEVICES, on

import lazyxla as lx

SIZES = (0, 1, 300, 65541)


def rounded(x):
    """Rounds float32 to the nearest bf16, ties to even."""
    bits = np.asarray(x, np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)


def sums(x):
    y = x - 0.00241089
    wide = lx.astype(y, lx.float32)
    scaled = lx.astype(lx.astype(wide * 1.1, lx.bfloat16), lx.float32)
    return lx.sum(wide), lx.sum(wide * wide), lx.sum(scaled), lx.sum(wide.reshape(1, -1), axis=1)[0]


def test_summands_are_rounded():
    for size in SIZES:
        x = rounded(np.random.default_rng(size).normal(size=size))
        y = rounded(x - rounded(0.00241089)).astype(np.float64)
        scaled = rounded(y * np.float32(1.1)).astype(np.float64)
        wants = y.sum(), (y * y).sum(), scaled.sum(), y.sum()
        scales = np.abs(y).sum(), (y * y).sum(), np.abs(scaled).sum(), np.abs(y).sum()
        for device in DEVICES:
            given = lx.astype(on(x, device), lx.bfloat16)
            float(lx.sum(given))
            for f in (sums, lx.jit(sums)):
                for total, want, scale in zip(f(given), wants, scales, strict=True):
                    assert abs(float(total) - want) <= 3e-6 * scale, (device, size, float(total), want)


def test_all_numbers_stay_when_widened():
    bits = np.arange(65536, dtype=np.uint32) << 16
    for device in DEVICES:
        x = lx.astype(on(bits.view(np.float32), device), lx.bfloat16)
        wide = np.asarray(lx.astype(lx.flip(lx.flip(x)), lx.float32))
        is_nan = np.isnan(bits.view(np.float32))
        assert np.isnan(wide[is_nan]).all(), device
        assert (wide.view(np.uint32) == bits)[~is_nan].all(), device
