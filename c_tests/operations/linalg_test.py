"""Residuals of factorizations: python linalg_test.py /path/to/liblazyxla.so, with NumPy.

Random matrices of several sizes and dtypes, also with elements near the ends of the range, on cpu and on the plugin's
device. Products of the factors are compared with the matrix in long double, relative to its largest element, and
pseudoinverses, inverses and solutions with the identity or the right-hand sides, relative to the condition. Inverses of
matrices with NaN are NaN. Larger matrices have half of their full rank, eigenvalues in groups of equal ones, many rows,
or equal elements. Bidiagonal and tridiagonal matrices have zeros, elements near the rounding error, and several scales.
"""

import os
import sys
from ctypes import byref, c_double, c_void_p

sys.dont_write_bytecode = True
for folder in ("abi", "programs"):
    sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", folder))
import ctypes_test as lxla
import numpy as np
from ctypes_test import Tensor, ok
from programs import tensor

UNITS = 100
SCALES = {24: [1e-36, 1e-30, 1e-22, 1, 1e19, 1e25, 1e37], 53: [1e-300, 1e-160, 1, 1e160, 1e300]}
WIDE = np.clongdouble


def results(function, arguments, shapes):
    """Calls a function with several results, and reads them."""
    made = [Tensor() for _ in shapes]
    ok(function(*arguments, *map(byref, made)))
    arrays = [np.zeros(shape, dtype) for shape, dtype in shapes]
    for out, array in zip(made, arrays, strict=True):
        ok(lxla.lib.lxla_tensor_read(out, array.ctypes.data_as(c_void_p), array.nbytes))
        ok(lxla.lib.lxla_tensor_release(out))
    return [array.astype(WIDE) if array.dtype.kind in "fc" else array for array in arrays]


def is_upper(t):
    return np.array_equal(t, np.triu(t))


def is_schur(t):
    """Whether a matrix is a Schur form, if its imaginary part is 0 a real one: blocks of two rows are standardized."""
    beside = np.diag(t, -1)
    blocks = np.flatnonzero(beside)
    if t.imag.any() or not blocks.size:
        return is_upper(t)
    alone = np.diff(blocks).min(initial=2) > 1
    equal = (np.diag(t)[blocks] == np.diag(t)[blocks + 1]).all()
    return (
        np.array_equal(t, np.triu(t, -1))
        and alone
        and equal
        and (beside[blocks].real * np.diag(t, 1)[blocks].real < 0).all()
    )


def errors(env, device, a):
    """Residuals of each factorization of a square matrix, in units of the dtype's epsilon."""
    n, dtype, lib = len(a), a.dtype, lxla.lib
    real, complex_ = np.finfo(dtype).dtype, np.result_type(dtype, np.complex64)
    matrix, size = ((n, n), dtype), np.abs(a).max()
    given, wide = tensor(env, device, a), a.astype(WIDE)
    near = lambda got, wanted: float(np.abs(got - wanted).max() / size / np.finfo(dtype).eps)
    u, s, vh = results(lib.lxla_svd, [given, 0], [matrix, ((n,), real), matrix])
    w, v = results(lib.lxla_eig, [given], [((n,), complex_), ((n, n), complex_)])
    t, z = results(lib.lxla_schur, [given, 0], [matrix, matrix])
    of_complex, unitary = results(lib.lxla_schur, [given, 1], [((n, n), complex_)] * 2)
    q, r = results(lib.lxla_qr, [given, 0], [matrix, matrix])
    lu, _, rows = results(lib.lxla_lu, [given], [matrix, ((n,), np.int32), ((n,), np.int32)])
    (pinv,) = results(lib.lxla_pinv, [given, c_double(-1)], [matrix])
    (inverse,) = results(lib.lxla_inverse, [given], [matrix])
    sides = np.random.default_rng(n + 1).normal(size=(n, 3)).astype(dtype)
    b = tensor(env, device, sides)
    (x,) = results(lib.lxla_solve, [given, b], [((n, 3), dtype)])
    ok(lib.lxla_tensor_release(given))
    ok(lib.lxla_tensor_release(b))
    hermitian = (a / 2 + np.conj(a.T) / 2).astype(dtype)
    given = tensor(env, device, hermitian)
    values, vectors = results(lib.lxla_eigh, [given, 1], [((n,), real), matrix])
    ok(lib.lxla_tensor_release(given))
    condition = np.linalg.cond((wide / size).astype(np.complex128))
    to_condition = lambda got, wanted: float(np.abs(got - wanted).max() / condition / np.finfo(dtype).eps)
    return {
        "svd": near((u * s) @ vh, wide),
        "eig": near(v * w, wide @ v),
        "schur": near(z @ t @ np.conj(z.T), wide) if is_schur(t) else np.inf,
        "schur z": near(np.conj(z.T) @ z * size, np.eye(n) * size),
        "complex schur": near(unitary @ of_complex @ np.conj(unitary.T), wide) if is_upper(of_complex) else np.inf,
        "complex schur z": near(np.conj(unitary.T) @ unitary * size, np.eye(n) * size),
        "qr": near(q @ r, wide),
        "lu": near((np.tril(lu, -1) + np.eye(n)) @ np.triu(lu), wide[rows]),
        "eigh": near(vectors * values, hermitian.astype(WIDE) @ vectors),
        "pinv": to_condition(pinv @ wide, np.eye(n)),
        "inverse": to_condition(inverse @ wide, np.eye(n)),
        "solve": to_condition(wide @ x, sides),
    }


def large_errors(env, device, dtype, n, rank):
    """Residuals of larger matrices, relative to the norm, in units of the dtype's epsilon."""
    draws, lib = np.random.default_rng(n), lxla.lib
    real, eps = np.finfo(dtype).dtype, np.finfo(dtype).eps
    random = lambda *shape: draws.normal(size=shape) + 1j * draws.normal(size=shape) * (dtype.kind == "c")
    part = lambda x: x if dtype.kind == "c" else x.real
    near = lambda got, wanted: float(np.linalg.norm(got - wanted) / np.linalg.norm(wanted) / eps)
    unit = lambda q: near(np.conj(q.T) @ q, np.eye(n))
    low = part(random(n, rank) @ random(rank, n)).astype(dtype)
    basis = np.linalg.qr(part(random(n, n)))[0]
    grouped = (basis * (np.arange(n) // 7 * 1e-5)) @ np.conj(basis.T)
    hermitian = ((grouped + np.conj(grouped.T)) / 2).astype(dtype)
    given = tensor(env, device, low), tensor(env, device, hermitian)
    u, s, vh = results(lib.lxla_svd, [given[0], 0], [((n, n), dtype), ((n,), real), ((n, n), dtype)])
    (alone,) = results(lib.lxla_singular_values, [given[0]], [((n,), real)])
    values, vectors = results(lib.lxla_eigh, [given[1], 1], [((n,), real), ((n, n), dtype)])
    lxla.release(*given)
    u, s, vh, alone, values, vectors = (
        each.astype(np.complex128 if each.dtype.kind == "c" else np.float64)
        for each in (u, s, vh, alone, values, vectors)
    )
    wanted = np.linalg.svd(low.astype(np.complex128), compute_uv=False)
    return {
        "svd": near((u * s) @ vh, low),
        "u": unit(u),
        "v": unit(np.conj(vh.T)),
        "singular_values": near(alone, wanted),
        "eigh": near(vectors * values, hermitian.astype(np.complex128) @ vectors),
        "vectors": unit(vectors),
    }


def hard_bidiagonal(dtype):
    """Bidiagonal matrices with elements near the rounding error, and with zeros before many small elements. Divide and
    conquer leaves two right singular vectors of one in five like the last three far from orthogonal, in f32."""
    eps, small, many = np.finfo(dtype).eps, *((1e-6, 51) if dtype.itemsize == 4 else (1e-14, 21))
    diagonals = [([1, 1.0005 * eps, 0.9995 * eps], [0, 1e-3 * eps])]
    for tail in 1, 3:
        on = [0] + [1] * many + [0] + [1] * tail
        diagonals.append((on, [small] * (len(on) - 1)))
    for seed in 7, 12, 25:
        draws = np.random.default_rng(seed)
        diagonals.append([draws.choice([1, 1.0005 * eps], size=size) for size in (160, 159)])
    return [
        (np.diag(np.array(on, float)) + np.diag(np.array(above, float), 1)).astype(dtype) for on, above in diagonals
    ]


def check_vectors(env, device, a):
    """Yields messages about the singular values and vectors of a square matrix."""
    n, dtype, real = len(a), a.dtype, np.finfo(a.dtype).dtype
    given = tensor(env, device, a)
    u, s, vh = results(lxla.lib.lxla_svd, [given, 0], [((n, n), dtype), ((n,), real), ((n, n), dtype)])
    (alone,) = results(lxla.lib.lxla_singular_values, [given], [((n,), real)])
    lxla.release(given)
    limit = UNITS * np.finfo(dtype).eps * s[0]
    product = u @ (s[:, None] * vh)
    if not (np.abs(product - a).max() < limit and np.abs(alone - s).max() < limit and not np.signbit(alone.real).any()):
        yield f"singular values of {dtype}{list(a.shape)}: {s[:3]}, alone {alone[:3]}, errors {np.abs(product - a).max()}"
    for name, q in ("u", u), ("v", np.conj(vh.T)):
        apart = np.abs(np.conj(q.T) @ q - np.eye(n)).max() / np.finfo(dtype).eps
        if not apart < 50:
            yield f"{name} of {dtype}{list(a.shape)} is {apart:.1f} units from unitary"


def check_rows(env, device, name):
    """Yields messages about real matrices with many rows, and with equal ones."""
    dtype = np.dtype(name)
    eps = np.finfo(dtype).eps
    for rows, columns in (100_000, 3), (3_000, 60):
        # Columns that differ by a tenth of their norm.
        a = (np.random.default_rng(rows).normal(size=(rows, columns)) / 10 + 1).astype(dtype)
        given = tensor(env, device, a)
        q, r = results(lxla.lib.lxla_qr, [given, 0], [(a.shape, dtype), ((columns, columns), dtype)])
        (alone,) = results(lxla.lib.lxla_singular_values, [given], [((columns,), dtype)])
        lxla.release(given)
        q, r, alone = (each.real.astype(np.float64) for each in (q, r, alone))
        wanted = np.linalg.svd(a.astype(np.float64), compute_uv=False)
        for what, got, want in ("product of QR", q @ r, a), ("singular values", alone, wanted):
            error = np.linalg.norm(got - want) / np.linalg.norm(want) / eps
            if not error < UNITS:
                yield f"{what} of {name}[{rows},{columns}]: {error:.1f} units"
        if not np.abs(q.T @ q - np.eye(columns)).max() < UNITS * eps:
            yield f"columns of q of {name}[{rows},{columns}] are not orthonormal"
    # The other triangle is ignored, whatever its size.
    triangle = np.tril(np.random.default_rng(9).normal(size=(9, 9)).astype(dtype)) * dtype.type(1e-10)
    given = tensor(env, device, triangle + np.triu(np.full((9, 9), 1e30, dtype), 1))
    (values, _) = results(lxla.lib.lxla_eigh, [given, 1], [((9,), dtype), ((9, 9), dtype)])
    lxla.release(given)
    wanted = np.linalg.eigvalsh(triangle.astype(np.float64))
    if not np.abs(values - wanted).max() < UNITS * eps * np.abs(wanted).max():
        yield f"eigenvalues of {name} depend on the other triangle"
    for a in hard_bidiagonal(dtype):
        yield from check_vectors(env, device, a)
    # The sum of the real and the imaginary part is infinite.
    complex_ = np.result_type(dtype, np.complex64)
    large = complex_.type((1 + 1j) * np.finfo(dtype).max * 0.6)
    yield from check_vectors(env, device, np.array([[large, large / 3], [large / 5, -large / 2]], complex_))
    # If rotations change norms, errors grow with the number of columns.
    a = np.random.default_rng(7).normal(size=(100, 100)).astype(dtype)
    given = tensor(env, device, a)
    (alone,) = results(lxla.lib.lxla_singular_values, [given], [((100,), dtype)])
    lxla.release(given)
    wanted = np.linalg.svd(a.astype(np.float64), compute_uv=False)
    if not np.abs(alone - wanted).max() < 30 * eps * wanted[0]:
        yield f"singular values of {name}[100,100]: {np.abs(alone - wanted).max() / eps / wanted[0]:.1f} units"
    for scale in 2.0**-9, 1.0, 2.0**13, 2.0**14, 2.0**15, 2.0**16:
        a = (scale * (2 * np.eye(200) - np.eye(200, k=1) - np.eye(200, k=-1))).astype(dtype)
        given = tensor(env, device, a)
        (values, _) = results(lxla.lib.lxla_eigh, [given, 1], [((200,), dtype), ((200, 200), dtype)])
        lxla.release(given)
        wanted = scale * (2 - 2 * np.cos(np.arange(1, 201) * np.pi / 201))
        if not np.abs(values - wanted).max() < 30 * eps * scale * 4:
            yield f"eigenvalues of a tridiagonal matrix of {name} times {scale}"
    ones = np.ones((257, 257), dtype)
    given = tensor(env, device, ones)
    u, s, vh = results(lxla.lib.lxla_svd, [given, 0], [(ones.shape, dtype), ((257,), dtype), (ones.shape, dtype)])
    lxla.release(given)
    if not (np.diff(s) <= 0).all() or not np.abs((u * s) @ vh - ones).max() < UNITS * eps * 257:
        yield f"singular values of ones of {name} do not descend, or are wrong"


def main():
    lxla.load(sys.argv[1])
    env, count, failures = lxla.new_env(), 0, []
    for device in (lxla.cpu(), lxla.xla()):
        for name in ("float32", "float64", "complex64", "complex128"):
            dtype = np.dtype(name)
            for scale in SCALES[np.finfo(dtype).nmant + 1]:
                for n in (1, 2, 3, 20) + (77,) * (scale == 1):
                    draws = np.random.default_rng(n)
                    a = draws.normal(size=(n, n)) / 4 + 0.25j * draws.normal(size=(n, n)) * (dtype.kind == "c")
                    a = ((a if dtype.kind == "c" else a.real) * scale).astype(dtype)
                    for function, error in errors(env, device, a).items():
                        count += 1
                        if not error < UNITS:
                            failures.append(f"{function} of {name}[{n},{n}] times {scale}: {error:.1f} units")
            if name == "float32" or (name == "float64" and device.kind == lxla.cpu().kind):
                failures.extend(check_rows(env, device, name))
            for n, rank in [(140, 69)] + [(400, 199)] * (name == "float64"):
                for function, error in large_errors(env, device, dtype, n, rank).items():
                    count += 1
                    if not error < UNITS:
                        failures.append(f"{function} of {name}[{n},{n}] of rank {rank}: {error:.1f} units")
        # The places are in the first and the last block of rows and columns.
        for place in (0, 0), (39, 0), (0, 39), (39, 39), (20, 3):
            a = np.random.default_rng(5).normal(size=(40, 40)).astype(np.float32)
            a[place] = np.nan
            given = tensor(env, device, a)
            (inverse,) = results(lxla.lib.lxla_inverse, [given], [(a.shape, a.dtype)])
            ok(lxla.lib.lxla_tensor_release(given))
            count += 1
            if not np.isnan(inverse).all() or not np.isnan(np.linalg.inv(a)).all():
                failures.append(f"the inverse of a matrix with NaN in {place} has numbers")
    print("\n".join(failures))
    print(f"{count} residuals, {len(failures)} too large")
    sys.exit(len(failures) > 0)


if __name__ == "__main__":
    main()
