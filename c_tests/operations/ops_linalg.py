"""Factors, solutions, Fourier transforms and norms, as ops_test.py compares them."""

import functools

import numpy as np
from header import constants, family
from ops_cases import Case, Operation, counted, ints, plain
from ops_linalg_products import steep
from ops_values import DTYPES, kind, real


def adjoint(x):
    return np.conj(x.swapaxes(-1, -2))


def solved(lower, b):
    """Solves lower x = b by forward substitution; NaN if there is a 0 on the diagonal."""
    x = np.zeros(b.shape, np.result_type(lower, b))
    for i in range(b.shape[-2]):
        x[..., i, :] = (b[..., i, :] - (lower[..., i : i + 1, :i] @ x[..., :i, :])[..., 0, :]) / lower[..., i, i, None]
    singular = (np.diagonal(lower, axis1=-2, axis2=-1) == 0).any(-1)
    return np.where(singular[..., None, None], x * np.nan, x)


def inverse(lower):
    return solved(lower, np.broadcast_to(np.eye(lower.shape[-1]), lower.shape))


# Cholesky factors.


def factor(a):
    """Returns the lower Cholesky factor, computed from the lower triangle only."""
    n, out = a.shape[-1], np.zeros(a.shape, a.dtype)
    good = np.isfinite(np.tril(a)).all((-1, -2))
    for j in range(n):
        rest = a[..., j:, j] - (out[..., j:, :j] @ adjoint(out[..., j : j + 1, :j]))[..., 0]
        good &= rest[..., 0].real > 0
        root = np.sqrt(rest[..., 0].real)
        out[..., j:, j] = rest / root[..., None]
        out[..., j, j] = root
    return np.where(good[..., None, None], out, np.tril(np.full(a.shape, np.nan)))


@functools.cache
def definite(name, batch, n):
    """Returns a matrix whose lower triangle is Hermitian and positive definite, with unrelated values in the upper
    one."""
    x = plain(name, (*batch, n, n), 71).astype(np.complex128 if kind(name) == "complex" else np.float64)
    a = x @ adjoint(x) + np.eye(n)
    return (np.tril(a) + np.triu(counted("f64", a.shape), 1)).astype(DTYPES[name][1])


@functools.cache
def indefinite(name):
    """Returns a batch of matrices without a factor (with a negative number, 0, NaN or infinity), and one positive
    definite one."""
    batch = np.repeat(definite(name, (), 3)[None], 5, 0)
    batch[0, 1, 1], batch[1, 2, 2], batch[2, 2, 1], batch[3, 1, 0] = -100, 0, np.nan, np.inf
    batch[1, 2, :2] = 0
    return batch


@functools.cache
def upside_down(name, batch, n):
    return np.ascontiguousarray(definite(name, batch, n).swapaxes(-1, -2))


def cholesky():
    def call(world, a, lower):
        return world.make("lxla_cholesky", a, lower)

    def factored(a, lower):
        return factor(a) if lower else adjoint(factor(adjoint(a)))

    def size(a, lower):
        """Returns the change of a factor when the elements of the matrix change."""
        made = factor(a if lower else adjoint(a))
        of, back = np.abs(made), np.abs(inverse(made))
        changed = of @ np.tril(back @ (of @ adjoint(of)) @ adjoint(back))
        return changed if lower else adjoint(changed)

    def cases(name):
        made = [Case([definite(name, (2,), 5)], {"lower": 1}), Case([upside_down(name, (2,), 5)], {"lower": 0})]
        if kind(name) == "float":
            made.append(Case([indefinite(name)], {"lower": 1}))
        if name in ("f32", "c64"):
            made += [Case([definite(name, *of)], {"lower": 1}) for of in [((), 0), ((3,), 1), ((0, 2), 2), ((), 33)]]
        return made

    return Operation("cholesky", "float complex", call, factored, cases, scale=size)


# Triangular systems.

NO, TRANSPOSE = constants.TRANSPOSE_NO_TRANSPOSE, constants.TRANSPOSE_TRANSPOSE
ADJOINT = constants.TRANSPOSE_ADJOINT
# Shapes of a and b; left_side, lower, unit_diagonal, transpose_a.
SYSTEMS = [
    ((2, 5, 5), (2, 5, 3), (1, 1, 0, NO)),
    ((2, 4, 4), (2, 3, 4), (0, 0, 0, ADJOINT)),
    ((4, 4), (4, 2), (1, 0, 0, TRANSPOSE)),
    ((4, 4), (2, 4), (0, 1, 1, NO)),
    ((4, 4), (4, 2), (1, 0, 1, NO)),
    ((4, 4), (4, 2), (1, 1, 1, TRANSPOSE)),
    ((4, 4), (2, 4), (0, 0, 0, NO)),
    ((4, 4), (2, 4), (0, 1, 0, TRANSPOSE)),
    ((1, 1), (1, 1), (1, 1, 0, NO)),
    ((0, 0), (0, 2), (1, 1, 0, NO)),
    ((3, 3), (3, 0), (1, 1, 0, NO)),
    ((0, 2, 2), (0, 2, 1), (1, 1, 0, NO)),
    ((33, 33), (33, 7), (1, 1, 0, NO)),
]


@functools.cache
def triangular(name, shape):
    """Returns a triangular matrix with a dominant diagonal, and values in both triangles."""
    diagonal = np.eye(shape[-1]) * 3
    return (plain(name, shape, 72) + diagonal).astype(DTYPES[name][1])


@functools.cache
def singular(name):
    batch = np.repeat(triangular(name, (3, 3))[None], 2, 0)
    batch[0, 1, 1] = 0
    return batch


def triangular_solve():
    def call(world, a, b, how):
        return world.make("lxla_triangular_solve", a, b, *how)

    def taken(a, b, how):
        """Brings a system into the form of a lower triangle; also returns the function that restores the solution's
        shape."""
        left, lower, unit, transposed = how
        a = np.tril(a) if lower else np.triu(a)
        if unit:
            a = a - a * np.eye(a.shape[-1]) + np.eye(a.shape[-1])
        a = a if transposed == NO else a.swapaxes(-1, -2) if transposed == TRANSPOSE else adjoint(a)
        a, b = (a, b) if left else (a.swapaxes(-1, -2), b.swapaxes(-1, -2))
        is_lower = (lower == 1) ^ (transposed != NO) ^ (not left)
        flip = 1 if is_lower else -1
        back = lambda x: x[..., ::flip, :] if left else x[..., ::flip, :].swapaxes(-1, -2)
        return a[..., ::flip, ::flip], b[..., ::flip, :], back

    def solution(a, b, how):
        a, b, back = taken(a, b, how)
        return back(solved(a, b))

    def size(a, b, how):
        """Returns the change of a solution when the elements of the matrix change."""
        a, b, back = taken(a, b, how)
        return back(np.abs(inverse(a)) @ (np.abs(a) @ np.abs(solved(a, b))))

    def cases(name):
        rows = SYSTEMS if name == "f32" else SYSTEMS[:2]
        made = [Case([triangular(name, a), plain(name, b, 73)], {"how": how}) for a, b, how in rows]
        return made + [Case([singular(name), plain(name, (2, 3, 2), 74)], {"how": (1, 1, 0, NO)})]

    return Operation("triangular_solve", "float complex", call, solution, cases, scale=size)


# Fourier transforms.

SHAPES = [((2, 12), 1), ((7,), 1), ((97,), 1), ((3, 5), 2), ((2, 3, 4), 3), ((1,), 1), ((0, 4), 1), ((2, 1024), 1)]
SHAPES += [((4, 1), 2)]


def ffts():
    transforms = [np.fft.fftn, np.fft.ifftn, np.fft.rfftn, np.fft.irfftn]
    rows = zip(("FFT", "IFFT", "RFFT", "IRFFT"), ("complex", "complex", "f32 f64", "complex"), transforms)
    for name, takes, function in rows:
        yield fft(name, takes, function)


def fft(name, takes, function):
    def call(world, x, lengths):
        return world.make("lxla_fft", family("FFT")[name.lower()], x, ints(lengths), len(lengths))

    def transformed(x, lengths):
        if x.size == 0:
            return np.zeros((*x.shape[:-1], x.shape[-1] // 2 + 1) if name == "RFFT" else (*x.shape[:-1], *lengths))
        return function(x, lengths, range(-len(lengths), 0))

    def size(x, lengths):
        of = np.abs(transformed(x, lengths))
        return np.broadcast_to(np.max(of, axis=tuple(range(-len(lengths), 0)), keepdims=True, initial=0), of.shape)

    def shape_of(shape):
        return (*shape[:-1], shape[-1] // 2 + 1) if name == "IRFFT" else shape

    def result(of):
        return {"RFFT": {"f32": "c64", "f64": "c128"}.get(of, of), "IRFFT": real(of)}.get(name, of)

    def cases(of):
        chosen = SHAPES if of in ("f32", "c64") else SHAPES[:2]
        return [
            Case([plain(of, shape_of(shape), 75)], {"lengths": list(shape[-count:])}, result(of))
            for shape, count in chosen
        ]

    return Operation(f"fft {name}", takes, call, transformed, cases, scale=size)


# Norms.

NORMS = [((5, 33), [1]), ((3, 4, 2), [-1, 0]), ((3, 0), [1]), ((0, 3), [1]), ((3, 1), [1]), ((4, 5), []), ((), [])]
ORDERS = [2, 1, 0, np.inf, -np.inf, 3, 0.5, -1]


def norm():
    def call(world, x, order, axes, keep):
        return world.make("lxla_norm", x, order, ints(axes) if axes else None, len(axes), keep)

    def measured(x, order, axes, keep):
        over = {"axis": tuple(axes) if axes else tuple(range(x.ndim)), "keepdims": bool(keep)}
        of = np.abs(x)
        if np.isinf(order):
            return np.max(of, initial=0, **over) if order > 0 else np.min(of, initial=np.inf, **over)
        if order == 0:
            return np.sum((of != 0).astype(of.dtype), **over)
        return np.sum(of ** of.dtype.type(order), **over) ** (1 / of.dtype.type(order))

    def cases(name):
        rows = [(shape, axes, 2) for shape, axes in (NORMS if name == "f32" else NORMS[:1])]
        rows += [(*NORMS[0], order) for order in (ORDERS[1:] if name in ("f32", "c64") else [3])]
        rows += [(*row, order) for row in NORMS[2:4] for order in ORDERS if name == "f64"]
        made = [
            Case([plain(name, shape, 76)], {"order": float(order), "axes": axes, "keep": i % 2}, real(name))
            for i, (shape, axes, order) in enumerate(rows)
        ]
        if kind(name) == "float":
            orders = ORDERS if name == "f32" else [2, -np.inf]
            made += [Case([steep(name)], {"order": float(order), "axes": [1], "keep": 0}) for order in orders]
        return made

    return Operation("norm", "float complex", call, measured, cases)


def linalg():
    return [cholesky(), triangular_solve(), *ffts(), norm()]
