"""Derivatives of factorizations of small and large matrices: those of the unscaled matrix, times a power of the scale."""

import lazyxla as lx
import numpy as np
from common import DEVICES

# Powers of two, so that scaling is exact; beyond the square root of the range of the dtype.
SCALES = {"float32": (2.0**-66, 2.0**63), "float64": (2.0**-600, 2.0**500)}


def polar(x):
    u, _, vh = lx.linalg.svd(x, full_matrices=False)
    return u @ vh


def triangle_of(x):
    q, r = lx.linalg.qr(x)
    return q @ lx.triu(r)


# Functions that are homogeneous, and their degree: the gradient has one less.
FUNCTIONS = {
    "polar": (polar, 0),
    "polar of many rows": (lambda x: polar(x[:, :2]) @ lx.ones((2, 4), dtype=x.dtype, device=x.device), 0),
    "polar of many columns": (lambda x: lx.ones((4, 2), dtype=x.dtype, device=x.device) @ polar(x[:2]), 0),
    "singular values": (lambda x: lx.linalg.svdvals(x), 1),
    "pseudoinverse": (lx.linalg.pinv, -1),
    "inverse": (lx.linalg.inv, -1),
    "eigenvalues": (lambda x: lx.linalg.eigvalsh(x + lx.matrix_transpose(x)), 1),
    "eigenvectors": (
        lambda x: (lambda e: e.eigenvectors * e.eigenvectors)(lx.linalg.eigh(x + lx.matrix_transpose(x))),
        0,
    ),
    "product of qr": (triangle_of, 1),
}


def test_derivatives_of_factorizations_scale_with_the_matrix():
    rng = np.random.default_rng(4)
    for dtype, scales in SCALES.items():
        base = (rng.standard_normal((4, 4)) + np.diag([5.0, 7, 9, 12])).astype(dtype)
        weights = rng.standard_normal((4, 4)).astype(dtype)
        for device in DEVICES:
            for name, (function, degree) in FUNCTIONS.items():
                w = lx.asarray(weights, device=device)

                def gradient(x, f=function, w=w):
                    loss = lambda x: lx.sum(f(x) * (w if f(x).ndim == 2 else w[0]))
                    return np.asarray(lx.grad(loss)(lx.asarray(x, device=device)))

                wanted = gradient(base)
                for scale in scales:
                    # Twice the power of the pseudoinverse would leave the range.
                    s = scale if degree >= 0 else np.sqrt(scale) if np.log2(scale) % 2 == 0 else 2.0**31
                    got = gradient((base * np.dtype(dtype).type(s)).astype(dtype)).astype(np.longdouble)
                    got = got * np.longdouble(s) ** (1 - degree)
                    off = np.abs(got - wanted).max() / np.abs(wanted).max()
                    assert off < 1e-3 if dtype == "float32" else off < 1e-9, (name, dtype, device, s, float(off))
