"""Attention, RMS normalization and rotary embeddings, against NumPy and finite differences."""

import numpy as np
from common import DEVICES, on, raises, random, same

import lazyxla as lx


def attended(query, key, value, mask=None, scale=None, causal=False):
    """Attention of arrays with heads; each head of key and value serves a group."""
    key, value = (np.repeat(x, query.shape[-3] // x.shape[-3], -3) for x in (key, value))
    scores = query @ np.swapaxes(key, -1, -2) * (scale or query.shape[-1] ** -0.5)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    if causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    powers = np.exp(scores - np.maximum(scores.max(-1, keepdims=True), -1e300))
    return powers / np.maximum(powers.sum(-1, keepdims=True), 1e-300) @ value


def test_attention_is_a_mean_by_softmax():
    q, k = random(1, (2, 4, 5, 3), "float64"), random(2, (2, 2, 6, 3), "float64")
    v, added = random(3, (2, 1, 6, 2), "float64"), random(4, (5, 6), "float64")
    admits = random(5, (2, 1, 5, 6), "float64") > 0
    admits[0, 0, 2] = False
    for device in DEVICES:
        query, key, value = (on(x, device) for x in (q, k, v))
        same(lx.nn.attention(query, key, value), attended(q, k, v), 1e-12)
        found = lx.nn.attention(query, key, value, on(admits, device), causal=True)
        same(found, attended(q, k, v, admits, causal=True), 1e-12)
        assert lx.all(found[0, :, 2] == 0).item()
        found = lx.nn.attention(query, key, value, on(added, device), scale=-0.5)
        same(found, attended(q, k, v, added, -0.5), 1e-12)


def test_attention_has_derivatives_and_batches():
    q, k, v = (random(i, (3, 2, 4, 3), "float64") for i in (1, 2, 3))
    step = np.zeros_like(k)
    step[1, 0, 2, 1] = 1e-6
    for device in DEVICES:
        query, key, value = (on(x, device) for x in (q, k, v))
        slope = lx.grad(lambda key: lx.sum(lx.nn.attention(query, key, value, causal=True) ** 2))(key)
        above, below = ((attended(q, k + sign * step, v, causal=True) ** 2).sum() for sign in (1, -1))
        assert abs(slope[1, 0, 2, 1].item() - (above - below) / 2e-6) < 1e-7
        found = lx.vmap(lambda q, k: lx.nn.attention(q, k, value[0]))(query, key)
        same(found, attended(q, k, np.broadcast_to(v[:1], v.shape)), 1e-12)


def test_rms_norms_and_rotary_embeddings():
    a, angles = random(1, (2, 3, 4), "float64"), random(2, (3, 2), "float64")
    cosines, sines = np.cos(angles), np.sin(angles)
    pairs = (a[..., :2] + 1j * a[..., 2:]) * (cosines + 1j * sines)
    adjacent = (a[..., ::2] + 1j * a[..., 1::2]) * (cosines + 1j * sines)
    for device in DEVICES:
        x, cosine, sine = on(a, device), on(cosines, device), on(sines, device)
        same(lx.nn.rotary_embedding(x, cosine, sine), np.concatenate([pairs.real, pairs.imag], -1), 1e-14)
        found = lx.nn.rotary_embedding(x, cosine, sine, interleaved=True)
        same(found, np.stack([adjacent.real, adjacent.imag], -1).reshape(a.shape), 1e-14)
        normal = a / np.sqrt((a**2).mean(-1, keepdims=True) + 0.5)
        same(lx.nn.rms_norm(x, epsilon=0.5), normal, 1e-14)
        same(lx.nn.rms_norm(x, x[0, 0], epsilon=0.5), normal * a[0, 0], 1e-14)


def test_errors_name_the_argument():
    for device in DEVICES:
        x, whole = on(random(1, (3, 4), "float32"), device), lx.ones((3, 4), dtype=lx.int32, device=device)
        raises(TypeError, lambda: lx.nn.attention(whole, x, x), "query", "attention takes floats", "int32[3,4]")
        raises(TypeError, lambda: lx.nn.attention(x, x, x, whole), "mask", "int32[3,4]", "want bool, float32")
        raises(ValueError, lambda: lx.nn.attention(x, x[:, :2], x), "key", "width 2", "width 4")
        raises(ValueError, lambda: lx.nn.attention(x, x, x, scale=0), "scale", "None")
        raises(ValueError, lambda: lx.nn.attention(x, x, x, scale=lx.nan), "attention(): scale: NaN")
        raises(TypeError, lambda: lx.nn.rms_norm(whole), "rms_norm takes floats", "int32[3,4]")
        raises(ValueError, lambda: lx.nn.rms_norm(x, x[:2]), "weight", "float32[2,4]")
        raises(ValueError, lambda: lx.nn.rotary_embedding(x[:, :3], x, x), "even")
        raises(ValueError, lambda: lx.nn.rotary_embedding(x, x, x), "cosines", "half of x, float32[3,2]")
