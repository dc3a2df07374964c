"""Decompositions, linear systems and functions of matrices, as ops_test.py compares them: what is unique of each
decomposition. linalg_test.py has their residuals, and what is special about a matrix."""

import functools

import numpy as np
from header import constants
from ops_cases import Case, Operation, ints
from ops_linalg import adjoint
from ops_values import DTYPES, kind, real

SQUARE = [((2,), 4, 4), ((), 1, 1), ((), 0, 0), ((0,), 2, 2), ((), 9, 9)]
ANY = [((2,), 4, 4), ((), 5, 3), ((3,), 2, 4), ((), 1, 1), ((), 0, 0), ((), 0, 2), ((), 3, 0), ((0,), 2, 2)]


def wide(x):
    return x.astype(np.complex128 if np.iscomplexobj(x) else np.float64)


@functools.cache
def matrices(name, batch, rows, columns):
    """Returns matrices with distinct singular values and eigenvalues, none near 0."""
    draws = np.random.default_rng([7, rows, columns, len(batch)])
    x = draws.uniform(-0.5, 0.5, (*batch, rows, columns))
    if kind(name) == "complex":
        x = x + 1j * draws.uniform(-0.5, 0.5, x.shape)
    x = x + np.eye(rows, columns) * (1.5 + np.arange(rows)[:, None])
    return x.astype(DTYPES[name][1])


def chosen(name, shapes):
    return shapes if name in ("f32", "c64") else shapes[:3]


def largest(reference):
    """The size of a result: its largest element."""

    def size(*arrays, **given):
        made = np.abs(reference(*arrays, **given))
        axes = tuple(range(max(made.ndim - 2, 0), made.ndim))
        return np.broadcast_to(np.max(made, axis=axes, keepdims=True, initial=0), made.shape)

    return size


def norm_of(reference):
    """The norm of the operand, as the size of each element of a result."""

    def size(a, *arrays, **given):
        made = reference(a, *arrays, **given)
        norms = np.linalg.norm(wide(a), axis=(-2, -1))
        return np.broadcast_to(norms.reshape(norms.shape + (1,) * (made.ndim - norms.ndim)), made.shape)

    return size


def factors(a):
    """LU factors in one matrix, row by row."""
    a = wide(a).copy()
    rows, columns = a.shape[-2:]
    for matrix in a.reshape(-1, rows, columns) if a.size else []:
        for i in range(min(rows, columns)):
            sizes = np.abs(matrix[i:, i].real) + np.abs(matrix[i:, i].imag)
            pivot = i + int(np.argmax(sizes))
            matrix[[i, pivot]] = matrix[[pivot, i]]
            matrix[i + 1 :, i] /= matrix[i, i]
            matrix[i + 1 :, i + 1 :] -= np.outer(matrix[i + 1 :, i], matrix[i, i + 1 :])
    return a


def bunch_kaufman(a, hermitian):
    """LDL factors of a matrix and pivots, as LAPACK's sytf2 and hetf2 have them for the lower triangle."""
    n, kind = len(a), np.clongdouble if np.iscomplexobj(a) else np.longdouble
    turned = lambda x: x.T.conj() if hermitian else x.T
    low = np.tril(a, -1).astype(kind)
    a = low + turned(low) + np.diag(np.diag(a.real if hermitian else a))
    size, alpha, pivots, k = lambda x: np.abs(x.real) + np.abs(x.imag), (1 + 17**0.5) / 8, np.zeros(n, np.int32), 0
    while k < n:
        step, pivot, column = 1, k, size(a[k + 1 :, k])
        most = column.max(initial=0)
        if size(a[k, k]) < alpha * most:
            other = k + 1 + int(np.argmax(column))
            of_row = np.delete(size(a[k:, other]), other - k).max()
            if size(a[k, k]) < alpha * most * (most / of_row):
                pivot = other
                step = 1 if size(a[other, other]) >= alpha * of_row else 2
        last = k + step - 1
        for matrix in (a[:, k:], a[k:].T):
            matrix[[last, pivot]] = matrix[[pivot, last]]
        block, rest = a[k : last + 1, k : last + 1], slice(last + 1, n)
        if step == 2 or block[0, 0] != 0:
            determinant = block[0, 0] * block[1, 1] - block[0, 1] * block[1, 0] if step == 2 else block[0, 0]
            adjugate = [[block[1, 1], -block[0, 1]], [-block[1, 0], block[0, 0]]] if step == 2 else [[1]]
            factors = a[rest, k : last + 1] @ (np.array(adjugate) / determinant)
            a[rest, rest] -= factors @ a[k : last + 1, rest]
            a[rest, k : last + 1] = factors
        pivots[k : last + 1] = pivot + 1 if step == 1 else -pivot - 1
        k = last + 1
    return np.tril(a), pivots


def of_ldl(a, hermitian, which):
    """A result of bunch_kaufman for a batch."""
    n = a.shape[-1]
    made = [bunch_kaufman(matrix, hermitian)[which] for matrix in a.reshape(-1, n, n)] if a.size else []
    return np.array(made).reshape(a.shape[: -1 if which else None])


def singular(a):
    if 0 in a.shape:
        return np.zeros((*a.shape[:-2], min(a.shape[-2:])))
    return np.linalg.svd(wide(a), compute_uv=False)


def exponential(a):
    if a.size == 0:
        return wide(a)
    small = a.astype(np.clongdouble if np.iscomplexobj(a) else np.longdouble) / 64
    made = np.zeros_like(small)
    term = np.broadcast_to(np.eye(a.shape[-1]), a.shape)
    for i in range(1, 30):
        made = made + term
        term = term @ small / i
    for _ in range(6):
        made = made @ made
    return made


def one(name, function, reference, shapes, count=1, which=0, given=None, result=None, then=None, size=largest):
    """An operation of one matrix; `which` of its `count` results is compared."""

    def call(world, a, **given):
        if count > 1:
            made = world.one_of(function, count, which, a, *given.values())
        else:
            made = world.make(function, a, *given.values())
        return then(world, made) if then else made

    def cases(of):
        return [
            Case([matrices(of, *shape)], dict(given or {}), result(of) if result else of)
            for shape in chosen(of, shapes)
        ]

    return Operation(name, "float complex", call, reference, cases, scale=size(reference))


def absolute(world, x):
    return world.make("lxla_unary", constants.UNARY_ABS, x)


def sum_of_squares(world, x):
    squared = world.make("lxla_binary", constants.BINARY_MULTIPLY, x, x)
    last = len(world.type(x)[1]) - 1
    return world.make("lxla_reduce", constants.REDUCE_SUM, squared, ints([last]), 1, 0)


def of_systems(name, function, reference, given=None):
    """An operation of a matrix and a right-hand side."""

    def call(world, a, b, **given):
        return world.make(function, a, b, *given.values())

    def cases(of):
        rows = [((2,), 4, 4, (2, 4, 3)), ((), 4, 4, (4,)), ((2,), 3, 3, (3, 2)), ((), 1, 1, (1, 1)), ((), 0, 0, (0, 2))]
        if name == "lstsq":
            rows += [((), 5, 3, (5, 2)), ((2,), 3, 5, (2, 3, 1))]
        made = []
        for batch, m, n, shape in rows if of in ("f32", "c64") else rows[:2]:
            b = np.random.default_rng(5).uniform(-1, 1, shape).astype(DTYPES[of][1])
            made.append(Case([matrices(of, batch, m, n), b], dict(given or {})))
        return made

    return Operation(name, "float complex", call, reference, cases, scale=largest(reference))


def ldl_solve():
    """An operation of factors, pivots and right-hand sides."""

    def call(world, factors, pivots, b, hermitian):
        return world.make("lxla_ldl_solve", factors, pivots, b, hermitian)

    def reference(factors, pivots, b, hermitian):
        """Matrices whose first pivots are on the diagonal have no exchanges."""
        factors = wide(factors)
        lower = np.tril(factors, -1) + np.eye(factors.shape[-1])
        return solved(lower @ (np.eye(factors.shape[-1]) * factors) @ adjoint(lower), b)

    def cases(of):
        made = []
        for shape, side in [
            (((2,), 4, 4), (2, 4, 3)),
            (((), 4, 4), (4,)),
            (((), 0, 0), (0, 2)),
            (((2,), 3, 3), (3, 2)),
        ]:
            a = matrices(of, *shape)
            factors = (np.tril(wide(a), -1) / 8 + np.eye(shape[2]) * wide(a).real).astype(a.dtype)
            pivots = np.broadcast_to(np.arange(1, shape[1] + 1, dtype=np.int32), a.shape[:-1])
            b = np.random.default_rng(5).uniform(-1, 1, side).astype(a.dtype)
            made.append(Case([factors, pivots, b], {"hermitian": 1}))
        return chosen(of, made)

    return Operation("ldl_solve", "float complex", call, reference, cases, scale=largest(reference))


def tridiagonal_solve():
    """Systems whose rows are exchanged: the elements beside the diagonal are as large as it."""

    def dense(lower, diagonal, upper):
        n = diagonal.shape[-1]
        one = np.eye(n)
        lower, diagonal, upper = (wide(x)[..., None] for x in (lower, diagonal, upper))
        return lower * np.eye(n, k=-1) + diagonal * one + upper * np.eye(n, k=1)

    def call(world, lower, diagonal, upper, b):
        return world.make("lxla_tridiagonal_solve", lower, diagonal, upper, b)

    def reference(lower, diagonal, upper, b):
        return np.linalg.solve(dense(lower, diagonal, upper), wide(b))

    def cases(of):
        made = []
        for dims, sides in [((6,), 3), ((2, 5), 1), ((1,), 2), ((3, 2, 2), 2), ((0,), 2), ((4,), 0)]:
            random = np.random.default_rng(11)

            def draw(*shape, away=0.0):
                x = random.uniform(-1, 1, shape)
                x = x + away * np.sign(x)
                if of in ("c64", "c128"):
                    x = x + 1j * random.uniform(-1, 1, shape)
                return x.astype(DTYPES[of][1])

            operands = [draw(*dims, away=0.5), draw(*dims, away=1), draw(*dims, away=0.5), draw(*dims, sides)]
            made.append(Case(operands))
        return chosen(of, made)

    return Operation("tridiagonal_solve", "float complex", call, reference, cases, scale=largest(reference))


def schur():
    """The matrix of its complex Schur form: the form itself is not unique."""

    def call(world, a, complex_form):
        t, z = (world.one_of("lxla_schur", 2, which, a, complex_form) for which in (0, 1))
        rank = len(world.type(z)[1])
        turned = world.make("lxla_transpose", z, ints([*range(rank - 2), rank - 1, rank - 2]), rank)
        product = world.make("lxla_matmul", z, t)
        return world.make("lxla_matmul", product, world.make("lxla_unary", constants.UNARY_CONJ, turned))

    def reference(a, complex_form):
        return wide(a).astype(np.complex128)

    def cases(of):
        return [Case([matrices(of, *shape)], {"complex_form": 1}, complex_of(of)) for shape in chosen(of, SQUARE)]

    return Operation("schur", "float complex", call, reference, cases, scale=norm_of(reference))


def solved(a, b):
    """Solves systems by matrices of as many axes on both sides: NumPy before 2.0 takes b with fewer axes as vectors."""
    a, b = wide(a), wide(b)
    sides = b[:, None] if b.ndim == 1 else b
    found = np.linalg.solve(a, sides.reshape((1,) * (a.ndim - sides.ndim) + sides.shape))
    return found[..., 0] if b.ndim == 1 else found


def least(a, b, rtol):
    return np.linalg.pinv(wide(a)) @ wide(b)


def complex_of(name):
    return "c128" if name in ("f64", "c128") else "c64"


def hermitian(a, lower):
    a = wide(a)
    low = np.tril(a, -1)
    return low + adjoint(low) + np.real(a) * np.eye(a.shape[-1])


def systems():
    def eigenvalues(a, lower):
        return np.linalg.eigvalsh(hermitian(a, lower)) if a.size else np.zeros(a.shape[:-1])

    def squares(a):
        a = wide(a)
        return np.trace(a @ a, axis1=-2, axis2=-1).astype(np.complex128)

    def upper(a, full):
        made = np.linalg.qr(wide(a), mode="r") if a.size else np.zeros((*a.shape[:-2], min(a.shape[-2:]), a.shape[-1]))
        return np.abs(made)

    def log_of_determinant(a):
        return np.linalg.slogdet(wide(a))[1]

    def rank(a, rtol):
        return np.linalg.matrix_rank(wide(a)) if a.size else np.zeros(a.shape[:-2], np.int64)

    def inverse(a):
        return np.linalg.inv(wide(a))

    def power(a, n):
        return np.linalg.matrix_power(wide(a), n)

    s32 = lambda of: "s32"
    return [
        one("qr", "lxla_qr", upper, ANY, 2, 1, {"full": 0}, real, absolute, norm_of),
        one("lu", "lxla_lu", factors, ANY, 3, 0, size=norm_of),
        one(
            "ldl",
            "lxla_ldl",
            lambda a, hermitian: of_ldl(a, hermitian, 0),
            SQUARE,
            2,
            0,
            {"hermitian": 1},
            size=norm_of,
        ),
        ldl_solve(),
        tridiagonal_solve(),
        one("svd", "lxla_svd", lambda a, full: singular(a), ANY, 3, 1, {"full": 0}, real, size=norm_of),
        one("singular_values", "lxla_singular_values", singular, ANY, result=real, size=norm_of),
        one("eigh", "lxla_eigh", eigenvalues, SQUARE, 2, 0, {"lower": 1}, real, size=norm_of),
        one("eig", "lxla_eig", squares, SQUARE, 2, 0, None, complex_of, sum_of_squares),
        schur(),
        of_systems("solve", "lxla_solve", solved),
        one("inverse", "lxla_inverse", inverse, SQUARE),
        one("determinant", "lxla_determinant", lambda a: np.linalg.det(wide(a)), SQUARE),
        one("slogdet", "lxla_slogdet", log_of_determinant, SQUARE, 2, 1, None, real),
        of_systems("lstsq", "lxla_lstsq", least, {"rtol": -1.0}),
        one("pinv", "lxla_pinv", lambda a, rtol: np.linalg.pinv(wide(a)), ANY[:4], given={"rtol": -1.0}),
        one("matrix_rank", "lxla_matrix_rank", rank, ANY, given={"rtol": -1.0}, result=s32),
        one("matrix_power", "lxla_matrix_power", power, SQUARE, given={"n": 5}),
        one("matrix_exponential", "lxla_matrix_exponential", exponential, SQUARE),
    ]
