"""Decompositions, linear systems and functions of matrices for derivatives_jax_test.py: JAX's counterparts of the
operations of ops_linalg_systems.py, and further operations with what those do not read: the vectors, full factors, the
sign, other powers. Factors have free phases, so that functions are compared which do not depend on them: absolute
values, and products of factors."""

from ctypes import byref

import ctypes_test as abi
import jax
import jax.numpy as jnp
from header import constants
from jax import lax
from ops_cases import Case, Operation, ints
from ops_linalg_systems import ANY, SQUARE, absolute, chosen, matrices


def adjoint(x):
    return jnp.conj(jnp.swapaxes(x, -1, -2))


def orthogonal(a):
    """The factor q; that of a wide matrix depends on the square on the left alone."""
    return jnp.linalg.qr(a[..., : min(a.shape[-2:])]).Q


def upper(a, full):
    r = adjoint(orthogonal(a)) @ a
    mask = jnp.triu(jnp.ones(r.shape, bool))
    return jnp.where(mask, jnp.abs(jnp.where(mask, r, 1)), 0)


def hermitian(a, lower):
    own = jnp.tril(a, -1) if lower else jnp.triu(a, 1)
    return own + adjoint(own) + jnp.real(a) * jnp.eye(a.shape[-1], dtype=a.dtype)


def determinant(a):
    """JAX does not differentiate that of an empty matrix, which is 1."""
    return jnp.linalg.det(a) if a.shape[-1] else jnp.ones(a.shape[:-2], a.dtype)


def solution(a, b):
    return jnp.linalg.solve(a, b[..., None])[..., 0] if b.ndim == 1 else jnp.linalg.solve(a, b)


def least(a, b, rtol):
    """The normal equations; the operation takes singular values."""
    if a.shape[-2] >= a.shape[-1]:
        return jnp.linalg.solve(adjoint(a) @ a, adjoint(a) @ b)
    return adjoint(a) @ jnp.linalg.solve(a @ adjoint(a), b)


def squared(x):
    return jnp.real(x * jnp.conj(x))


def singular_values(a, full=0):
    return jnp.linalg.svd(a, full_matrices=False, compute_uv=False)


def eigenvalues(a):
    # JAX's second derivative fails for empty matrices.
    return jnp.linalg.eigvals(a) if a.size else jnp.zeros(a.shape[:-1], jnp.result_type(a, jnp.complex64))


def of_svd(part):
    return lambda a, full: squared(jnp.linalg.svd(a, full_matrices=False)[part])


SYSTEMS = {
    "qr": upper,
    "lu": lambda a: lax.linalg.lu(a)[0],
    "svd": singular_values,
    "singular_values": singular_values,
    "eigh": lambda a, lower: jnp.linalg.eigvalsh(hermitian(a, lower), symmetrize_input=False),
    "eig": lambda a: jnp.sum(eigenvalues(a) ** 2, -1),
    "solve": solution,
    "tridiagonal_solve": lambda *operands: lax.linalg.tridiagonal_solve(*operands) if operands[3].size else operands[3],
    "inverse": jnp.linalg.inv,
    "determinant": determinant,
    "slogdet": lambda a: jnp.linalg.slogdet(a)[1],
    "lstsq": least,
    "pinv": lambda a, rtol: jnp.linalg.pinv(a),
    "matrix_power": lambda a, n: jnp.linalg.matrix_power(a, n),
    "matrix_exponential": jax.scipy.linalg.expm,
}

# Further operations.


FURTHER = {
    "qr q": lambda a, full: squared(orthogonal(a)),
    "svd u": of_svd(0),
    "svd vh": of_svd(2),
    "svd product": lambda a, full: a @ adjoint(a) @ a,
    "svd full": lambda a, full: a @ adjoint(a) @ a,
    "eigh upper": SYSTEMS["eigh"],
    "eigh vectors": lambda a, lower: squared(jnp.linalg.eigh(hermitian(a, lower), symmetrize_input=False)[1]),
    "eigh product": lambda a, lower: hermitian(a, lower) @ hermitian(a, lower) @ hermitian(a, lower),
    "eig absolute": lambda a: jnp.sum(jnp.abs(eigenvalues(a)), -1),
    "slogdet sign": lambda a: jnp.linalg.slogdet(a)[0],
    "matrix_power inverse": SYSTEMS["matrix_power"],
    "matrix_power none": SYSTEMS["matrix_power"],
    "matrix_power one": SYSTEMS["matrix_power"],
}


def product(world, a, b):
    return world.make("lxla_matmul", a, b)


def times(world, a, b):
    return world.make("lxla_binary", constants.BINARY_MULTIPLY, a, b)


def square(world, x):
    size = absolute(world, x)
    return times(world, size, size)


def scaled(world, vectors, values, power):
    """Returns vectors, as columns, times a power of their values."""
    row = world.make("lxla_expand_dims", values, ints([-2]), 1)
    for _ in range(power):
        vectors = times(world, vectors, row)
    return vectors


def adjoint_of(world, x):
    rank = len(world.type(x)[1])
    order = [*range(rank - 2), rank - 1, rank - 2]
    turned = world.make("lxla_transpose", x, ints(order), rank)
    return world.make("lxla_unary", constants.UNARY_CONJ, turned)


def results(world, function, count, *inputs):
    made = [abi.Tensor() for _ in range(count)]
    world.check(function, *inputs, *map(byref, made))
    return made


def of_vectors(name, function, count, which, given, shapes):
    """The squared absolute values of a result, which has columns or rows of free phases."""

    def call(world, a, **given):
        return square(world, results(world, function, count, a, *given.values())[which])

    return made(name, call, given, shapes)


def of_products(name, given, shapes, hermitian_ones):
    """The product of the factors with the third powers of the values: that of the matrix."""

    def call(world, a, **given):
        if hermitian_ones:
            values, vectors = results(world, "lxla_eigh", 2, a, *given.values())
            back = adjoint_of(world, vectors)
        else:
            vectors, values, back = results(world, "lxla_svd", 3, a, *given.values())
        return product(world, scaled(world, vectors, values, 3), back)

    return made(name, call, given, shapes)


def made(name, call, given, shapes):
    def cases(of):
        return [Case([matrices(of, *shape)], dict(given)) for shape in chosen(of, shapes)]

    return Operation(name, "f64 c128", call, None, cases)


def further():
    """Returns operations of the further functions."""
    some = [shape for shape in ANY if 0 not in shape[1:]]
    squares = [shape for shape in SQUARE if shape[1] > 0][:4]

    def power(name, n):
        call = lambda world, a, n: world.make("lxla_matrix_power", a, n)
        return made(name, call, {"n": n}, squares)

    def sizes_of_eigenvalues(world, a):
        size = absolute(world, results(world, "lxla_eig", 2, a)[0])
        rank = len(world.type(size)[1])
        return world.make("lxla_reduce", constants.REDUCE_SUM, size, ints([rank - 1]), 1, 0)

    def sign(world, a):
        return results(world, "lxla_slogdet", 2, a)[0]

    def values(world, a, lower):
        return results(world, "lxla_eigh", 2, a, lower)[0]

    return [
        of_vectors("qr q", "lxla_qr", 2, 0, {"full": 0}, some),
        of_vectors("svd u", "lxla_svd", 3, 0, {"full": 0}, some),
        of_vectors("svd vh", "lxla_svd", 3, 2, {"full": 0}, some),
        of_products("svd product", {"full": 0}, some, False),
        of_products("svd full", {"full": 1}, squares, False),
        made("eigh upper", values, {"lower": 0}, squares),
        of_vectors("eigh vectors", "lxla_eigh", 2, 1, {"lower": 1}, squares),
        of_products("eigh product", {"lower": 1}, squares, True),
        made("eig absolute", sizes_of_eigenvalues, {}, squares),
        made("slogdet sign", sign, {}, squares),
        power("matrix_power inverse", -2),
        power("matrix_power none", 0),
        power("matrix_power one", 1),
    ]
