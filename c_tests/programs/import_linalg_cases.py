"""Functions of matrices of JAX that import_test.py exports and imports: their exports call LAPACK, and those for other
platforms cuSOLVER and XLA's own targets. Results that are unique up to signs, phases or an order are compared by
functions that these do not change."""

import jax.numpy as jnp
import jax.scipy.linalg as jsl
import numpy as np
from jax import lax

RANDOM = np.random.default_rng(3)
LAST = ("gradient",)


def matrix(*dims, dtype=np.float64):
    made = RANDOM.standard_normal(dims)
    if np.dtype(dtype).kind == "c":
        made = made + 1j * RANDOM.standard_normal(dims)
    return made.astype(dtype)


def regular(*dims, dtype=np.float64):
    """Matrices of a small condition number, whose rows have to be exchanged."""
    return (matrix(*dims, dtype=dtype) + 3 * np.eye(dims[-1])[::-1]).astype(dtype)


def hermitian(a):
    return (a + jnp.conj(jnp.swapaxes(a, -1, -2))) / 2


def adjoint(a):
    return jnp.conj(jnp.swapaxes(a, -1, -2))


def eigh(a, lower=True, **options):
    v, w = lax.linalg.eigh(a, lower=lower, symmetrize_input=False, **options)
    return w, (v * w[..., None, :]) @ adjoint(v), adjoint(v) @ v


def svd(a, full=False, **options):
    u, s, vh = lax.linalg.svd(a, full_matrices=full, **options)
    k = s.shape[-1]
    product = (u[..., :k] * s[..., None, :]) @ vh[..., :k, :]
    return s, product, u @ adjoint(u), adjoint(vh) @ vh


def eig(a, left=False):
    w, *vectors = lax.linalg.eig(a, compute_left_eigenvectors=left)
    right = vectors[-1]
    sums = [jnp.sum(w**power, -1) for power in (1, 2, 3)]
    residual = a @ right - right * w[..., None, :]
    norms = jnp.sum(jnp.abs(right) ** 2, -2)
    if not left:
        return *sums, residual, norms
    u = adjoint(vectors[0])
    return *sums, residual, norms, u @ a - w[..., None] * u, jnp.sum(jnp.abs(u) ** 2, -1)


def sums_of_eigenvalues(a):
    w = jnp.linalg.eigvals(a)
    return [jnp.sum(w**power, -1).real for power in (1, 2, 3)]


def qr_cases():
    for dims in [(5, 3), (4, 4), (3, 5), (2, 4, 3), (70, 40)]:
        for dtype in (np.float64, np.float32, np.complex128, np.complex64):
            if dims != (70, 40) or dtype in (np.float64, np.complex128):
                yield f"qr {dims} {np.dtype(dtype)}", jnp.linalg.qr, (matrix(*dims, dtype=dtype),), ()
    tall = matrix(6, 3)
    yield "qr full", lambda a: jnp.linalg.qr(a, mode="complete"), (tall,), LAST
    yield "qr full c128", lambda a: jnp.linalg.qr(a, mode="complete"), (matrix(6, 3, dtype=np.complex128),), LAST
    yield "r of qr", lambda a: jnp.linalg.qr(a, mode="r"), (tall,), ()
    yield "q of qr", lambda a: jnp.linalg.qr(a)[0], (tall,), ()
    yield "raw qr", lambda a: jnp.linalg.qr(a, mode="raw"), (tall,), LAST
    # Columns without reflections: tau is 0.
    yield "qr of a triangle", jnp.linalg.qr, (np.triu(matrix(4, 4)),), ()
    yield "qr of 0", jnp.linalg.qr, (np.zeros((3, 2)),), LAST
    yield "qr of small numbers", lambda a: jnp.linalg.qr(a)[0], (tall * 1e-300,), LAST
    yield "qr of large numbers", jnp.linalg.qr, (tall * 1e200,), LAST
    yield "qr of NaN", jnp.linalg.qr, (np.where(np.eye(3) > 0, np.nan, 1.0),), LAST
    reflections = matrix(5, 4)
    for count in (2, 4):
        for dtype in (np.float64, np.complex128):
            vectors, tau = reflections.astype(dtype), matrix(count, dtype=dtype)
            name = f"product of {count} reflections {np.dtype(dtype)}"
            yield name, lax.linalg.householder_product, (vectors, tau), LAST
    yield "batch of reflections", lax.linalg.householder_product, (matrix(2, 5, 4), matrix(2, 3)), LAST


def lu_cases():
    for dims in [(4, 4), (2, 3, 3)]:
        for dtype in (np.float64, np.complex128, np.float32):
            a, name = regular(*dims, dtype=dtype), f"{dims} {np.dtype(dtype)}"
            yield f"det {name}", jnp.linalg.det, (a,), ()
            yield f"slogdet {name}", jnp.linalg.slogdet, (a,), ()
            yield f"inv {name}", jnp.linalg.inv, (a,), ()
            yield f"solve {name}", jnp.linalg.solve, (a, matrix(*dims[:-1], 2, dtype=dtype)), ()
    for dims in [(4, 4), (5, 3), (3, 5), (2, 4, 3)]:
        yield f"lu {dims}", lax.linalg.lu, (matrix(*dims),), ()
    yield "lu c128", lax.linalg.lu, (matrix(4, 4, dtype=np.complex128),), ()
    yield "scipy's lu", jsl.lu, (matrix(4, 4),), ()
    yield "solve by lu", lambda a, b: jsl.lu_solve(jsl.lu_factor(a), b), (regular(4, 4), matrix(4)), ()
    for trans in (1, 2):
        solve = lambda a, b, trans=trans: jsl.lu_solve(jsl.lu_factor(a), b, trans=trans)  # noqa: E731
        yield f"solve by lu {trans}", solve, (regular(4, 4, dtype=np.complex128), matrix(4, dtype=np.complex128)), LAST
    singular = np.array([[1.0, 2, 3], [2, 4, 6], [1, 0, 1]])
    yield "lu of a singular matrix", lax.linalg.lu, (singular,), LAST
    yield "det of a singular matrix", jnp.linalg.det, (singular,), LAST
    yield "expm", jsl.expm, (matrix(4, 4) / 4,), ()
    yield "expm of large numbers", jsl.expm, (matrix(4, 4) * 3,), LAST
    yield "matrix_power", lambda a: jnp.linalg.matrix_power(a, -3), (regular(3, 3),), ()
    yield "cond", jnp.linalg.cond, (regular(4, 4),), ()
    yield "tensorinv", lambda a: jnp.linalg.tensorinv(a.reshape(2, 2, 4), ind=2), (regular(4, 4),), ()


def cholesky_cases():
    for dtype in (np.float64, np.complex128, np.float32):
        definite = lambda a: a @ adjoint(a) + 2 * jnp.eye(a.shape[-1], dtype=a.dtype)  # noqa: E731
        a = matrix(3, 4, 4, dtype=dtype)
        yield f"cholesky {np.dtype(dtype)}", lambda a, of=definite: jnp.linalg.cholesky(of(a)), (a,), ()
        yield f"cholesky upper {np.dtype(dtype)}", lambda a, of=definite: jsl.cholesky(of(a)), (a[0],), ()
        solved = lambda a, b, of=definite: jsl.cho_solve(jsl.cho_factor(of(a)), b)  # noqa: E731
        yield f"solve by cholesky {np.dtype(dtype)}", solved, (a[0], matrix(4, 2, dtype=dtype)), ()
    yield "cholesky of an indefinite matrix", jnp.linalg.cholesky, (-np.eye(3),), LAST


def eigen_cases():
    for dtype in (np.float64, np.complex128, np.float32):
        for dims in [(4, 4), (2, 3, 3)]:
            name = f"{dims} {np.dtype(dtype)}"
            yield f"eigh {name}", lambda a: eigh(hermitian(a)), (matrix(*dims, dtype=dtype),), ()
        a = matrix(4, 4, dtype=dtype)
        # One triangle is read.
        yield f"eigh of the upper triangle {np.dtype(dtype)}", lambda a: eigh(a, lower=False), (a,), LAST
        yield f"eigvalsh {np.dtype(dtype)}", jnp.linalg.eigvalsh, (a,), ()
        yield f"eig {np.dtype(dtype)}", eig, (a,), LAST
        yield f"eig with left vectors {np.dtype(dtype)}", lambda a: eig(a, left=True), (a,), LAST
        yield f"eigvals {np.dtype(dtype)}", sums_of_eigenvalues, (a,), () if dtype == np.float64 else LAST
    yield "eigvals of a batch", sums_of_eigenvalues, (matrix(3, 4, 4),), ()
    yield "eigh of NaN", lambda a: eigh(a)[0], (np.full((3, 3), np.nan),), LAST


def schur_cases():
    """The matrices of the forms, which are not unique, and functions of matrices that are made of them."""

    def of_form(output):
        def matrix_again(a):
            t, z = jsl.schur(a, output)
            product = z @ t @ adjoint(z)
            return (
                product,
                adjoint(z) @ z,
                jnp.tril(t, -2),
                sum(jnp.trace(jnp.linalg.matrix_power(t, n)) for n in (1, 2, 3)),
            )

        return matrix_again

    for dtype in (np.float64, np.complex128, np.float32, np.complex64):
        a, name = matrix(5, 5, dtype=dtype), np.dtype(dtype)
        yield f"real schur {name}", of_form("real"), (a,), LAST
        yield f"complex schur {name}", of_form("complex"), (a,), LAST
        yield (
            f"form of schur alone {name}",
            lambda a: jnp.trace(lax.linalg.schur(a, compute_schur_vectors=False)[0]),
            (a,),
            LAST,
        )
    square = regular(4, 4)
    yield "sqrtm", lambda a: jsl.sqrtm(a @ a), (square,), LAST
    yield "rsf2csf", lambda a: (lambda t, z: z @ t @ adjoint(z))(*jsl.rsf2csf(*jsl.schur(a))), (square,), LAST
    yield (
        "schur of a batch",
        lambda a: (lambda t, z: z @ t @ adjoint(z))(*lax.linalg.schur(a)),
        (matrix(3, 4, 4),),
        LAST,
    )
    yield "schur of NaN", lax.linalg.schur, (np.full((3, 3), np.nan),), LAST


def svd_cases():
    for dims in [(5, 3), (3, 5), (4, 4), (2, 4, 3)]:
        for dtype in (np.float64, np.complex128, np.float32):
            a, name = matrix(*dims, dtype=dtype), f"{dims} {np.dtype(dtype)}"
            yield f"svd {name}", svd, (a,), ()
            yield f"full svd {name}", lambda a: svd(a, full=True), (a,), LAST
            yield f"singular values {name}", lambda a: jnp.linalg.svd(a, compute_uv=False), (a,), ()
    algorithm = lax.linalg.SvdAlgorithm.QR
    yield "svd by QR", lambda a: svd(a, algorithm=algorithm), (matrix(4, 3),), ()
    yield "svd by QR of a wide matrix", lambda a: svd(a, algorithm=algorithm), (matrix(3, 4),), ()
    a = matrix(5, 3)
    yield "pinv", jnp.linalg.pinv, (a,), ()
    yield "pinv c128", jnp.linalg.pinv, (matrix(3, 4, dtype=np.complex128),), ()
    yield "lstsq", lambda a, b: jnp.linalg.lstsq(a, b), (a, matrix(5, 2)), LAST
    yield "solution of lstsq", lambda a, b: jnp.linalg.lstsq(a, b)[0], (a, matrix(5)), ()
    yield "matrix_rank", jnp.linalg.matrix_rank, (a @ a.T,), LAST
    yield "norms", lambda a: [jnp.linalg.norm(a, kind) for kind in (2, -2, "nuc")], (a,), ()
    yield "polar", jsl.polar, (regular(4, 4),), LAST
    yield "svd of NaN", lambda a: jnp.linalg.svd(a, compute_uv=False), (np.full((3, 2), np.nan),), LAST


def tridiagonal_cases():
    for dtype in (np.float64, np.complex128, np.float32, np.complex64):
        for dims in [(6,), (2, 3)]:
            diagonals = [matrix(*dims, dtype=dtype) for _ in range(3)]
            diagonals[1] = diagonals[1] + np.where(diagonals[1].real < 0, -1, 1).astype(dtype)
            name = f"tridiagonal solve {dims} {np.dtype(dtype)}"
            yield name, lax.linalg.tridiagonal_solve, (*diagonals, matrix(*dims, 2, dtype=dtype)), ()
    zeros = np.zeros(3)
    yield "singular tridiagonal solve", lax.linalg.tridiagonal_solve, (zeros, zeros, zeros, matrix(3, 1)), LAST


def cases():
    """Returns all cases."""
    for family in (qr_cases, lu_cases, cholesky_cases, eigen_cases, schur_cases, svd_cases, tridiagonal_cases):
        yield from family()


def other_platforms():
    """Returns functions whose exports for other platforms are imported: their values are those of exports for CPUs."""
    square, tall, wide = regular(4, 4, dtype=np.float32), matrix(5, 3, dtype=np.float32), matrix(3, 5, dtype=np.float32)
    hermitian_part = lambda a: eigh(hermitian(a))  # noqa: E731
    everywhere = [
        ("qr", jnp.linalg.qr, (tall,)),
        ("qr of a wide matrix", jnp.linalg.qr, (wide,)),
        ("full qr", lambda a: jnp.linalg.qr(a, mode="complete"), (tall,)),
        ("lu", lax.linalg.lu, (tall,)),
        ("solve", jnp.linalg.solve, (square, tall[:4])),
        ("slogdet", jnp.linalg.slogdet, (square,)),
        ("cholesky", lambda a: jnp.linalg.cholesky(a @ a.T + 2 * jnp.eye(4, dtype=a.dtype)), (square,)),
        ("eigh", hermitian_part, (matrix(4, 4, dtype=np.float32),)),
        ("eigh of the upper triangle", lambda a: eigh(a, lower=False), (square,)),
        ("svd", svd, (tall,)),
        ("svd of a wide matrix", svd, (wide,)),
        ("full svd", lambda a: svd(a, full=True), (tall,)),
        ("singular values", lambda a: jnp.linalg.svd(a, compute_uv=False), (tall,)),
    ]
    for platform in ("cuda", "rocm", "tpu"):
        for name, function, arguments in everywhere:
            yield name, function, arguments, platform
    # JAX does not export those for ROCm.
    for platform in ("cuda", "tpu"):
        diagonals = square[0], square[1] + 3, square[2]
        yield "tridiagonal solve", lax.linalg.tridiagonal_solve, (*diagonals, square), platform
    complexes = matrix(4, 3, dtype=np.complex64)
    by_qr = lax.linalg.SvdAlgorithm.QR
    batch = matrix(2, 4, 4, dtype=np.float32)
    for platform in ("cuda", "rocm"):
        yield "svd c64", svd, (complexes,), platform
        yield "qr c64", jnp.linalg.qr, (complexes,), platform
        yield "svd by QR", lambda a: svd(a, algorithm=by_qr), (tall,), platform
        yield "svd by QR of a wide matrix", lambda a: svd(a, algorithm=by_qr), (wide,), platform
        yield "svd by QR of a wide matrix c64", lambda a: svd(a, algorithm=by_qr), (complexes.T,), platform
        yield "inverses of a batch", jnp.linalg.inv, (batch + 3 * np.eye(4, dtype=np.float32),), platform
        yield "factors of a batch", lax.linalg.lu, (batch,), platform
