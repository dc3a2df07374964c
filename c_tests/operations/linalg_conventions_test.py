"""Signs and phases of factorizations beside LAPACK's, and eigenvectors of badly scaled matrices:
python linalg_conventions_test.py /path/to/liblazyxla.so, with NumPy, which calls LAPACK.

On cpu and on the plugin's device.
"""

import sys

sys.dont_write_bytecode = True
import linalg_test  # finds the modules of the other folders
import numpy as np
from linalg_test import results
from programs import tensor

lxla = linalg_test.lxla
SHAPES = [(1, 1), (2, 2), (3, 3), (5, 3), (3, 5), (6, 6), (40, 40), (40, 7), (7, 40)]
DTYPES = [np.dtype(name) for name in ("float32", "float64", "complex64", "complex128")]
# Backward errors of single elements, in units of epsilon. NumPy's are below 20, without balancing they are 1e15.
UNITS = 200


class Checks:
    """Compares arrays, and keeps the failures."""

    def __init__(self, env, device):
        self.env, self.device, self.count, self.failures = env, device, 0, []

    def call(self, name, a, *given, shapes):
        """Results of a function of one matrix, of these shapes and dtypes."""
        handle = tensor(self.env, self.device, a)
        made = results(getattr(lxla.lib, name), [handle, *given], shapes)
        lxla.ok(lxla.lib.lxla_tensor_release(handle))
        return [array.astype(dtype) for array, (_, dtype) in zip(made, shapes, strict=True)]

    def has(self, what, holds):
        self.count += 1
        if not holds:
            self.failures.append(what)

    def near(self, what, got, wanted, units=1000):
        """Compares with a multiple of epsilon, relative to the largest element."""
        bound = units * np.finfo(got.dtype).eps * max(np.abs(wanted).max(), 1)
        error = np.abs(got - wanted).max()
        self.has(f"{what}: {error / np.finfo(got.dtype).eps:.3g} units", error <= bound)


def random(dtype, rows, columns, seed=1):
    draws = np.random.default_rng([seed, rows, columns])
    a = draws.normal(size=(rows, columns)) + 1j * draws.normal(size=(rows, columns))
    return (a if dtype.kind == "c" else a.real).astype(dtype)


def real_of(dtype):
    return np.finfo(dtype).dtype


def qr(checks):
    for dtype in DTYPES:
        cases = [random(dtype, *shape) for shape in SHAPES] + [-np.eye(4, dtype=dtype)]
        cases += [np.triu(cases[2]), np.triu(cases[2].real).astype(dtype), cases[5].real.astype(dtype)]
        for i, a in enumerate(cases):
            m, n = a.shape
            shapes = [((m, min(m, n)), dtype), ((min(m, n), n), dtype)]
            for got, wanted, name in zip(
                checks.call("lxla_qr", a, 0, shapes=shapes), np.linalg.qr(a), "qr", strict=True
            ):
                checks.near(f"qr of {dtype} {m} x {n}, case {i}: {name}", got, wanted, 4000)


def signed(got, wanted):
    """Columns with the signs of others."""
    return got * np.where(np.sum(got.conj() * wanted, axis=0).real < 0, -1, 1).astype(got.dtype)


def eigh(checks):
    for dtype in DTYPES[1], DTYPES[3]:
        for n in (1, 2, 3, 8, 40):
            a = random(dtype, n, n)
            for lower in (0, 1):
                shapes = [((n,), real_of(dtype)), ((n, n), dtype)]
                w, v = checks.call("lxla_eigh", a, lower, shapes=shapes)
                wanted_w, wanted_v = np.linalg.eigh(a, UPLO="UL"[lower])
                what = f"eigh of {dtype} {n} x {n}, lower {lower}: "
                checks.near(what + "w", w, wanted_w)
                checks.near(what + "v", signed(v, wanted_v), wanted_v, 20000)
                checks.has(what + "a real row", np.all(np.imag(v[0 if lower else -1]) == 0))


def svd(checks):
    for dtype in DTYPES[1], DTYPES[3]:
        for m, n in SHAPES:
            a, k = random(dtype, m, n), min(m, n)
            shapes = [((m, k), dtype), ((k,), real_of(dtype)), ((k, n), dtype)]
            u, s, vh = checks.call("lxla_svd", a, 0, shapes=shapes)
            wanted = np.linalg.svd(a, full_matrices=False)
            got_both, both = np.vstack([u, vh.conj().T]), np.vstack([wanted[0], wanted[2].conj().T])
            checks.near(f"svd of {dtype} {m} x {n}: s", s, wanted[1])
            checks.near(f"svd of {dtype} {m} x {n}: u and v", signed(got_both, both), both, 20000)
            checks.has(f"svd of {dtype} {m} x {n}: real", np.all(np.imag(vh[:, 0] if m >= n else u[0]) == 0))


def eigenpairs(checks, a):
    n, dtype = len(a), np.result_type(a.dtype, np.complex64)
    return checks.call("lxla_eig", a, shapes=[((n,), dtype), ((n, n), dtype)])


def eig(checks):
    for dtype in DTYPES[1], DTYPES[3]:
        for n in (1, 2, 3, 8, 40):
            a = random(dtype, n, n)
            w, v = eigenpairs(checks, a)
            wanted_w, wanted_v = np.linalg.eig(a)
            nearest = np.argmin(np.abs(w[:, None] - wanted_w[None, :]), axis=1)
            what = f"eig of {dtype} {n} x {n}: "
            checks.has(what + "values", sorted(nearest) == list(range(n)))
            checks.near(what + "w", w, wanted_w[nearest])
            wanted_v = wanted_v[:, nearest].astype(v.dtype)
            checks.near(what + "v", v if dtype.kind == "c" else signed(v, wanted_v), wanted_v, 20000)
            if dtype.kind == "f":
                check_pairs(checks, what, w, v)


def check_pairs(checks, what, w, v):
    i = 0
    while i < len(w):
        if w[i].imag == 0:
            checks.has(what + "real vectors", np.all(v[:, i].imag == 0))
            i += 1
            continue
        is_pair = w[i].imag > 0 and w[i + 1] == w[i].conj() and np.all(v[:, i + 1] == v[:, i].conj())
        checks.has(what + "pairs", is_pair)
        i += 2


def backward_errors(a, w, v):
    """The largest error of an element of `a v = v w` relative to the terms it is a sum of, and of a column relative to
    the norm of `a`, in units."""
    wide, eps = np.clongdouble, np.finfo(a.dtype).eps
    a, w, v = a.astype(wide), w.astype(wide), v.astype(wide)
    apart = np.abs(a @ v - v * w)
    terms = np.abs(a) @ np.abs(v) + np.abs(v * w)
    norms = np.sqrt(np.sum(apart**2, axis=0)) / np.sqrt(np.sum(np.abs(a) ** 2))
    return float((apart / terms).max() / eps), float(norms.max() / eps)


def badly_scaled(checks):
    for dtype in DTYPES[1], DTYPES[3]:
        for n in (3, 5, 10, 20):
            for span in (4, 8, 16, 60):
                draws = np.random.default_rng([n, span])
                scale = 2.0 ** np.round(draws.uniform(-span, span, n))
                a = random(dtype, n, n) * scale[:, None] / scale
                w, v = eigenpairs(checks, a)
                what = f"eig of a balanced {dtype} {n} x {n} matrix scaled by 2^{span}"
                elements, _ = backward_errors(a, w, v)
                checks.has(f"{what}: {elements:.3g} units", elements < UNITS)
                elements = 10.0 ** draws.uniform(-span / 4, span / 4, (n, n))
                a = random(dtype, n, n) * elements
                w, v = eigenpairs(checks, a)
                _, columns = backward_errors(a, w, v)
                what = f"eig of a {dtype} {n} x {n} matrix with elements scaled by 10^{span / 4}"
                checks.has(f"{what}: {columns:.3g} units", columns < UNITS)


def triangular(checks):
    for dtype in DTYPES:
        # One Jordan block: all vectors are the first unit vector, up to rounding errors.
        n = 20
        a = (np.eye(n) * 2 + np.eye(n, k=1)).astype(dtype)
        w, v = eigenpairs(checks, a)
        checks.has(f"eig of a Jordan block of {dtype}: w", np.all(w == 2))
        checks.near(f"eig of a Jordan block of {dtype}: v", np.abs(v), np.repeat(np.eye(n)[:, :1], n, axis=1))
        # A triangular matrix with permuted rows and columns has the elements of its diagonal as eigenvalues.
        order = np.random.default_rng(3).permutation(n)
        upper = np.triu(random(dtype, n, n), 1) + np.diag(np.arange(1, n + 1))
        a = upper[np.ix_(order, order)].astype(dtype)
        w, v = eigenpairs(checks, a)
        checks.has(f"eig of a permuted triangle of {dtype}: w", np.array_equal(np.sort(w.real), np.arange(1, n + 1)))
        _, columns = backward_errors(a, w, v)
        checks.has(f"eig of a permuted triangle of {dtype}: {columns:.3g} units", columns < UNITS)


def graded(checks):
    """Triangular matrices with a block far below the rest, and nilpotent ones: eigenvectors in closed form."""
    for dtype in DTYPES:
        small = 1e-25 if np.finfo(dtype).nmant == 23 else 1e-200
        # Eigenvalues 1, small and 2 small, with the vectors (1, 0, 0), (0, 1, 0) and (0, 1, 1) / sqrt(2).
        a = np.array([[1, 0, 0], [0, small, small], [0, 0, 2 * small]], dtype)
        w, v = eigenpairs(checks, a)
        what = f"eig of a graded triangle of {dtype}: "
        order = np.argsort(-np.abs(w))
        checks.near(what + "w", w[order] / np.array([1, small, small], dtype), np.array([1, 2, 1], w.dtype))
        wanted = np.array([[1, 0, 0], [0, 0.5**0.5, 1], [0, 0.5**0.5, 0]], v.dtype)
        checks.near(what + "v", signed(v[:, order], wanted), wanted)
        zero = np.zeros((3, 3), dtype)
        w, v = eigenpairs(checks, zero)
        checks.has(f"eig of zeros of {dtype}", np.all(w == 0) and np.array_equal(np.abs(v), np.eye(3)))


def small_after_balancing(checks):
    """Balancing makes all elements of [[0, 1], [x, 0]] small. The eigenvalues are the square roots of x."""
    for dtype in DTYPES:
        for x in (1e-20, 1e-30, 1e-36) if np.finfo(dtype).nmant == 23 else (1e-150, 1e-300):
            w, _ = eigenpairs(checks, np.array([[0, 1], [x, 0]], dtype))
            checks.near(f"eig of {dtype} with {x:g}: w", np.sort(w.real) / x**0.5, np.array([-1, 1], w.real.dtype))


def defective(checks):
    """Matrices of few small integers, many without a basis of eigenvectors: all results are finite, or none is."""
    for dtype in DTYPES:
        for n in (2, 3, 4, 6):
            draws = np.random.default_rng([7, n])
            batch = draws.integers(-1, 2, (200, n, n)).astype(dtype)
            if dtype.kind == "c":
                batch = batch + 1j * draws.integers(-1, 2, (200, n, n)).astype(dtype)
            batch = np.concatenate([batch, batch * np.where(draws.random(batch.shape) < 0.4, 1, 0)]).astype(dtype)
            c = np.result_type(dtype, np.complex64)
            w, v = checks.call("lxla_eig", batch, shapes=[(batch.shape[:2], c), (batch.shape, c)])
            for i, a in enumerate(batch):
                what = f"eig of the {dtype} matrix {i} of {n} x {n} small integers: "
                finite = bool(np.all(np.isfinite(w[i])) and np.all(np.isfinite(v[i])))
                checks.has(what + "finite", finite)
                if finite:
                    norms = np.linalg.norm(v[i], axis=0)
                    _, columns = backward_errors(a, w[i], v[i]) if np.any(a) else (0, 0)
                    checks.has(what + f"{columns:.3g} units", columns < UNITS and np.allclose(norms, 1))


def tiny_corners(checks):
    """A subnormal element where a phase is taken: the factors are finite and unitary."""
    for dtype in DTYPES[2:]:
        info = np.finfo(dtype)
        for tiny in (3 + 4j) * info.smallest_subnormal, (3 - 4j) * info.smallest_normal / 2**10:
            a = np.array([[1, 0], [0, tiny]], dtype)
            for matrix in a, np.vstack([a, [[0, 0]]]), np.array([[tiny, 1], [1, tiny]], dtype):
                m, n = matrix.shape
                q, r = checks.call("lxla_qr", matrix.astype(dtype), 0, shapes=[((m, n), dtype), ((n, n), dtype)])
                what = f"qr of {dtype} {m} x {n} with {tiny:.3g}: "
                checks.near(what + "q is unitary", q.conj().T @ q, np.eye(n))
                checks.near(what + "the product", q @ r, matrix)
                checks.has(what + "a real diagonal", np.all(np.imag(np.diagonal(r)) == 0))
            hermitian = np.array([[2, 0, 1], [0, 1, tiny], [1, np.conj(tiny), 3]], dtype)
            for lower in (0, 1):
                w, v = checks.call("lxla_eigh", hermitian, lower, shapes=[((3,), real_of(dtype)), ((3, 3), dtype)])
                what = f"eigh of {dtype} with {tiny:.3g}, lower {lower}: "
                checks.near(what + "v is unitary", v.conj().T @ v, np.eye(3))
                checks.near(what + "the product", (v * w) @ v.conj().T, hermitian)


def main():
    lxla.load(sys.argv[1])
    env = lxla.new_env()
    count, failures = 0, []
    for device in (lxla.cpu(), lxla.xla()):
        checks = Checks(env, device)
        for check in (
            qr,
            eigh,
            svd,
            eig,
            badly_scaled,
            triangular,
            graded,
            small_after_balancing,
            defective,
            tiny_corners,
        ):
            check(checks)
        count += checks.count
        failures += checks.failures
    print("\n".join(failures))
    print(f"{count} comparisons, {len(failures)} failures")
    sys.exit(len(failures) > 0)


if __name__ == "__main__":
    main()
