"""A factorization by a program of other operations: linear.py NAME. Residuals, and the times to compile and to run."""

import sys
import time

import lazyxla as lx
import numpy as np
from runner import write_row

SIZES, MOST_UNITS = (8, 33, 64), 60


def residual(name, a, b):
    """Runs it once, and returns the largest residual, relative to the matrix."""
    given = lx.asarray(a)
    wide = a.astype(np.float64)
    size = np.abs(wide).sum(axis=1).max()
    of = lambda result: np.asarray(result).astype(np.float64)
    if name == "cholesky":
        factor = of(lx.linalg.cholesky(given))
        return np.abs(factor @ factor.T - wide).max() / size
    if name == "solve":
        x = of(lx.linalg.solve(given, lx.asarray(b)))
        return np.abs(wide @ x - b).max() / (size * np.abs(x).max() + np.abs(b).max())
    if name == "inverse":
        x = of(lx.linalg.inv(given))
        return np.abs(wide @ x - np.eye(len(a))).max() / (size * np.abs(x).max())
    if name == "qr":
        q, r = map(of, lx.linalg.qr(given))
        return max(np.abs(q @ r - wide).max() / size, np.abs(q.T @ q - np.eye(len(a))).max())
    if name == "eigh":
        values, vectors = map(of, lx.linalg.eigh(given))
        return np.abs(wide @ vectors - vectors * values).max() / size
    u, s, vh = map(of, lx.linalg.svd(given, full_matrices=False))
    return np.abs((u * s) @ vh - wide).max() / size


def main(name):
    draw, large = np.random.default_rng(0), []
    for n in SIZES:
        a = draw.normal(size=(n, n)).astype(np.float32)
        if name in ("cholesky", "eigh", "solve", "inverse"):
            a = (a @ a.T / n + 2 * np.eye(n)).astype(np.float32)
        b, times, units = draw.normal(size=(n, 2)).astype(np.float32), [], []
        for _ in range(4):
            start = time.perf_counter()
            units.append(float(residual(name, a, b) / np.finfo(np.float32).eps))
            times.append(time.perf_counter() - start)
        row = {"n": n, "units": round(max(units), 2), "first_s": round(times[0], 3), "run_s": round(min(times[1:]), 5)}
        write_row(row)
        if not max(units) < MOST_UNITS:
            large.append(f"{name} of f32[{n},{n}]: a residual of {max(units):.1f} units, want less than {MOST_UNITS}")
    if large:
        sys.exit("\n".join(large))


if __name__ == "__main__":
    main(sys.argv[1])
