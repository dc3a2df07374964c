"""Linear algebra: the extension ``linalg`` of the array API standard."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from . import _constants as c
from . import _core
from ._core import Array
from ._matrices import (
    block_diag,
    cho_factor,
    cho_solve,
    eig,
    eigvals,
    multi_dot,
    toeplitz,
    with_hermitian_slopes,
)
from ._elementwise import isnan, where
from ._operands import in_floats
from ._shapes import matmul, matrix_transpose, moveaxis, tensordot, vecdot
from ._reductions import any as _any
from ._reductions import sum as _sum
from ._sizes import DTypeLike, integers, normalized

__all__ = [
    "block_diag", "cho_factor", "cho_solve", "cholesky", "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "expm", "inv", "lstsq", "matmul", "matrix_norm",
    "matrix_power", "matrix_rank", "matrix_transpose", "multi_dot", "norm", "outer", "pinv", "qr", "schur", "slogdet", "solve",
    "solve_triangular",
    "solve_tridiagonal",
    "svd", "svdvals", "tensordot", "toeplitz", "trace", "vecdot", "vector_norm",
]  # fmt: skip


class EighResult(NamedTuple):
    eigenvalues: Array
    eigenvectors: Array


class QRResult(NamedTuple):
    Q: Array
    R: Array


class SlogdetResult(NamedTuple):
    sign: Array
    logabsdet: Array


class SVDResult(NamedTuple):
    U: Array
    S: Array
    Vh: Array


def cholesky(x: Array, /, *, upper: bool = False) -> Array:
    """Returns Cholesky factors of Hermitian matrices; NaN where a matrix is not positive definite. One triangle is
    read; slopes are Hermitian, as in JAX.

    >>> import lazyxla as lx
    >>> lx.linalg.cholesky(lx.asarray([[4.0, 0.0], [0.0, 9.0]])).tolist()
    [[2.0, 0.0], [0.0, 3.0]]
    """
    return _core.cholesky(with_hermitian_slopes(x), not upper)


def cross(x1: Array, x2: Array, /, axis: int = -1) -> Array:
    """Returns cross products along an axis of size 3.

    >>> import lazyxla as lx
    >>> lx.linalg.cross(lx.asarray([1, 0, 0]), lx.asarray([0, 1, 0])).tolist()
    [0, 0, 1]
    """
    normalized([axis], min(x1.ndim, x2.ndim))
    if x1.shape[axis] != 3 or x2.shape[axis] != 3:
        raise ValueError(f"cross() takes sizes of 3 along axis {axis}, not {x1.shape[axis]} and {x2.shape[axis]}")
    a, b = (moveaxis(x, axis, -1) for x in (x1, x2))
    (a0, a1, a2), (b0, b1, b2) = ([x[..., i] for i in range(3)] for x in (a, b))
    parts = [a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0]
    return moveaxis(_core.join(parts, -1, True), -1, axis)


def det(x: Array, /) -> Array:
    """Returns determinants.

    >>> import lazyxla as lx
    >>> round(lx.linalg.det(lx.asarray([[2.0, 0.0], [1.0, 3.0]])).item(), 4)
    6.0
    """
    return _core.determinant(x)


def diagonal(x: Array, /, offset: int = 0) -> Array:
    """Returns diagonals of matrices: ``offset`` above the main one, or below it if negative.

    >>> import lazyxla as lx
    >>> lx.linalg.diagonal(lx.asarray([[1, 2], [3, 4]])).tolist()
    [1, 4]
    """
    rows, columns = x.shape[-2:]
    row, column = max(-offset, 0), max(offset, 0)
    size = max(min(rows - row, columns - column), 0)
    square = x[..., row : row + size, column : column + size]
    return _core.einsum("...ii->...i", [square]) if x.dtype.kind != "bool" else _bools(square)


def _bools(square: Array) -> Array:
    return _core.einsum("...ii->...i", [square.astype(_core.uint8)]).astype(_core.bool)


def eigh(x: Array, /) -> EighResult:
    """Returns eigenvalues, ascending, and eigenvectors (columns) of Hermitian matrices. The lower triangle is read; slopes
    are Hermitian, as in JAX.

    >>> import lazyxla as lx
    >>> values, vectors = lx.linalg.eigh(lx.asarray([[1.0, 0.0], [0.0, 2.0]]))
    >>> [round(value, 4) for value in values.tolist()]
    [1.0, 2.0]
    """
    return EighResult(*_core.eigh(with_hermitian_slopes(x), True))


class SchurResult(NamedTuple):
    t: Array
    z: Array


def schur(x: Array, /, *, output: str = "real") -> SchurResult:
    """Returns the Schur forms t of square matrices and unitary z with x = z t z^H, as scipy.linalg.schur.

    With ``output="complex"``, and for complex x, t is complex and upper triangular; otherwise t and z are real, and t
    has a block of two rows on its diagonal for each pair of complex eigenvalues. The order of the eigenvalues is
    arbitrary. There is no derivative.

    >>> import lazyxla as lx
    >>> t, z = lx.linalg.schur(lx.asarray([[1.0, 2.0], [0.0, 3.0]]))
    >>> t.tolist()
    [[1.0, 2.0], [0.0, 3.0]]
    """
    if output not in ("real", "complex"):
        raise ValueError(f'output: {output!r} given; want "real" or "complex"')
    return SchurResult(*_core.schur(x, output == "complex"))


def cond(x: Array, /, p: Any = None) -> Array:
    """Returns the condition numbers of matrices: the norm of each times that of its inverse, by the order ``p`` of
    ``norm``. By default, and for 2 and -2, quotients of singular values, also of matrices that are not square.

    >>> import lazyxla as lx
    >>> lx.linalg.cond(lx.asarray([[2.0, 0.0], [0.0, 1.0]])).item()
    2.0
    """
    x = in_floats(x)
    if x.ndim < 2:
        raise ValueError(f"linalg.cond() takes matrices, not an array of rank {x.ndim}")
    if p in (None, 2, -2):
        values = _core.singular_values(x)
        return values[..., -1] / values[..., 0] if p == -2 else values[..., 0] / values[..., -1]
    found = matrix_norm(x, ord=p) * matrix_norm(inv(x), ord=p)
    # A singular matrix has no inverse.
    return where(isnan(found) & ~_any(isnan(x), axis=(-2, -1)), math.inf, found)


def eigvalsh(x: Array, /) -> Array:
    """Returns eigenvalues of Hermitian matrices, ascending. The lower triangle is read; slopes are Hermitian, as in JAX.

    >>> import lazyxla as lx
    >>> [round(value, 4) for value in lx.linalg.eigvalsh(lx.asarray([[1.0, 0.0], [0.0, 2.0]])).tolist()]
    [1.0, 2.0]
    """
    return _core.eigh(with_hermitian_slopes(x), True)[0]


def inv(x: Array, /) -> Array:
    """Returns inverses; NaN of a singular matrix.

    >>> import lazyxla as lx
    >>> lx.linalg.inv(lx.asarray([[2.0, 0.0], [0.0, 4.0]])).tolist()
    [[0.5, 0.0], [0.0, 0.25]]
    """
    return _core.inverse(x)


def norm(x: Array, /, ord: Any = None, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Array:
    """Returns norms, as numpy.linalg.norm: of vectors along one axis, or of matrices of two axes. Without ``axis``, of x;
    without both, the square root of the sum of all squares. Integers count as float32.

    >>> import lazyxla as lx
    >>> lx.linalg.norm(lx.asarray([[3.0, 0.0], [0.0, 4.0]])).item()
    5.0
    """
    x = in_floats(x)
    if ord is None and axis is None:
        return vector_norm(x, keepdims=keepdims)
    axes = [*range(x.ndim)] if axis is None else normalized(integers(axis, "axes"), x.ndim)
    if len(axes) == 1:
        return vector_norm(x, axis=axes[0], keepdims=keepdims, ord=2 if ord is None else ord)
    if len(axes) != 2:
        raise ValueError(f"linalg.norm(): axis has {len(axes)} axes; want one for vectors or two for matrices")
    found = matrix_norm(
        _core.transpose(x, [*(i for i in range(x.ndim) if i not in axes), *axes]), ord="fro" if ord is None else ord
    )
    return _core.reshape(found, [1 if i in axes else n for i, n in enumerate(x.shape)]) if keepdims else found


def matrix_norm(x: Array, /, *, keepdims: bool = False, ord: Any = "fro") -> Array:
    """Returns norms of matrices: "fro", "nuc", 1, -1, 2, -2, inf or -inf.

    >>> import lazyxla as lx
    >>> round(lx.linalg.matrix_norm(lx.asarray([[3.0, 0.0], [0.0, 4.0]])).item(), 4)
    5.0
    """
    inf = float("inf")
    if ord == "fro":
        return _core.norm(x, 2.0, [-2, -1], keepdims)
    if ord in (1, -1, inf, -inf):
        over, then = (-2, -1) if abs(ord) == 1 else (-1, -2)
        sums = _core.reduce(c.REDUCE_SUM, abs(x), [over], True)
        found = _core.reduce(c.REDUCE_MAX if ord > 0 else c.REDUCE_MIN, sums, [then], True)
    elif ord in (2, -2, "nuc"):
        values = _core.singular_values(x)
        op = c.REDUCE_SUM if ord == "nuc" else c.REDUCE_MAX if ord == 2 else c.REDUCE_MIN
        found = _core.expand_dims(_core.reduce(op, values, [-1], True), [-1])
    else:
        raise ValueError(f"there is no matrix norm {ord!r}")
    return found if keepdims else _core.squeeze(found, [-2, -1])


def matrix_power(x: Array, n: int, /) -> Array:
    """Returns powers of square matrices; of the inverses for a negative ``n``, which integers have as float32.

    >>> import lazyxla as lx
    >>> lx.linalg.matrix_power(lx.asarray([[2.0, 0.0], [0.0, 3.0]]), 2).tolist()
    [[4.0, 0.0], [0.0, 9.0]]
    """
    if x.dtype.kind in ("real floating", "complex floating"):
        return _core.matrix_power(x, n)
    if n < 0:
        return _core.matrix_power(in_floats(x), n)
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise ValueError(f"linalg.matrix_power(): x is {x.dtype.name}{list(x.shape)}; want square matrices")
    x = x.astype(_core.int64) if x.dtype.kind == "bool" else x
    found = _core.broadcast_to(_core.eye(x.shape[-1], x.shape[-1], 0, x.dtype, x.device), x.shape)
    while n:
        found, x, n = matmul(found, x) if n & 1 else found, matmul(x, x) if n > 1 else x, n >> 1
    return found


def _above(values: Array, rtol: Array) -> Array:
    """Returns which singular values are greater than ``rtol``, an array with one number for each matrix."""
    largest = _core.reduce(c.REDUCE_MAX, values, [-1], True)
    return values > largest * _core.expand_dims(rtol.astype(values.dtype, copy=False), [-1])


def matrix_rank(x: Array, /, rtol: float | Array | None = None) -> Array:
    """Returns numbers of singular values above ``rtol`` times the largest one; an array has a number per matrix.

    >>> import lazyxla as lx
    >>> lx.linalg.matrix_rank(lx.asarray([[1.0, 1.0], [1.0, 1.0]])).item()
    1
    """
    if isinstance(rtol, Array):
        return _core.reduce(c.REDUCE_SUM, _above(_core.singular_values(x), rtol), [-1], False)
    return _core.matrix_rank(x, -1.0 if rtol is None else float(rtol)).astype(_core.int64)


def outer(x1: Array, x2: Array, /) -> Array:
    """Returns all products of an element of x1 and one of x2, two vectors.

    >>> import lazyxla as lx
    >>> lx.linalg.outer(lx.asarray([1, 2]), lx.asarray([3, 4])).tolist()
    [[3, 4], [6, 8]]
    """
    if x1.ndim != 1 or x2.ndim != 1:
        raise ValueError(f"outer() takes arrays of rank 1, not {x1.ndim} and {x2.ndim}")
    return x1[:, None] * x2[None, :]


def pinv(x: Array, /, rtol: float | Array | None = None) -> Array:
    """Returns pseudoinverses; singular values up to ``rtol`` times the largest one count as 0.

    An array has a number for each matrix.

    >>> import lazyxla as lx
    >>> [[round(x, 4) for x in row] for row in lx.linalg.pinv(lx.asarray([[2.0, 0.0], [0.0, 4.0]])).tolist()]
    [[0.5, 0.0], [0.0, 0.25]]
    """
    if isinstance(rtol, Array):
        x = in_floats(x)
        u, s, vh = svd(x, full_matrices=False)
        used = _above(s, rtol)
        one, zero = (_core.full((), value, s.dtype, s.device) for value in (1, 0))
        inverse = _core.select(used, 1 / _core.select(used, s, one), zero).astype(x.dtype, copy=False)
        return _core.unary(c.UNARY_CONJ, vh).mT * inverse[..., None, :] @ _core.unary(c.UNARY_CONJ, u).mT
    return _core.pinv(x, -1.0 if rtol is None else float(rtol))


def qr(x: Array, /, mode: str = "reduced") -> Any:
    """Returns QR factors; ``mode`` is "reduced" or "complete", or "r" for the second factor alone.

    >>> import lazyxla as lx
    >>> q, r = lx.linalg.qr(lx.asarray([[1.0, 2.0], [3.0, 4.0]]))
    >>> [round(x, 4) for x in lx.reshape(q @ r, -1).tolist()]
    [1.0, 2.0, 3.0, 4.0]
    """
    if mode not in ("reduced", "complete", "r"):
        raise ValueError(f"mode is 'reduced', 'complete' or 'r', not {mode!r}")
    made = QRResult(*_core.qr(x, mode == "complete"))
    return made.R if mode == "r" else made


def slogdet(x: Array, /) -> SlogdetResult:
    """Returns signs of determinants and logarithms of their absolute values.

    >>> import lazyxla as lx
    >>> sign, logarithm = lx.linalg.slogdet(lx.asarray([[0.0, 1.0], [1.0, 0.0]]))
    >>> sign.item(), abs(round(logarithm.item(), 4))
    (-1.0, 0.0)
    """
    return SlogdetResult(*_core.slogdet(x))


def solve(x1: Array, x2: Array, /) -> Array:
    """Returns the solution y of x1 y = x2; x2 is a vector if its rank is 1, and has matrices otherwise.

    >>> import lazyxla as lx
    >>> lx.linalg.solve(lx.asarray([[2.0, 0.0], [0.0, 4.0]]), lx.asarray([2.0, 8.0])).tolist()
    [1.0, 2.0]
    """
    return _core.solve(x1, x2)


def solve_triangular(
    a: Array,
    b: Array,
    /,
    trans: int | str = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    *,
    transposed: bool = False,
) -> Array:
    """Returns the solution x of a x = b for triangular matrices a; of a^T x = b if ``transposed`` or, as in SciPy,
    ``trans`` is 1 or "T"; of the conjugate of a^T if it is 2 or "C".

    Only the triangle that ``lower`` names is read, and with ``unit_diagonal`` not the diagonal, which counts as 1. b is
    a vector if its rank is 1, and has matrices otherwise, with the batch axes of a. NaN where a diagonal has a 0.

    >>> import lazyxla as lx
    >>> a = lx.asarray([[2.0, 0.0], [1.0, 4.0]])
    >>> lx.linalg.solve_triangular(a, lx.asarray([2.0, 9.0]), lower=True).tolist()
    [1.0, 2.0]
    """
    orders: dict[int | str, int] = {0: c.TRANSPOSE_NO_TRANSPOSE, 1: c.TRANSPOSE_TRANSPOSE, 2: c.TRANSPOSE_ADJOINT}
    orders |= {"N": orders[0], "T": orders[1], "C": orders[2]}
    if trans not in orders:
        raise ValueError(f"solve_triangular(): trans is {trans!r}; want 0, 1, 2, 'N', 'T' or 'C'")
    how = orders[1] if transposed else orders[trans]
    right = b[:, None] if b.ndim == 1 else b
    x = _core.triangular_solve(a, right, lower, unit_diagonal, how)
    return x[:, 0] if b.ndim == 1 else x


def solve_tridiagonal(lower: Array, diagonal: Array, upper: Array, b: Array, /) -> Array:
    """Returns the solution x of a x = b for tridiagonal matrices a with these diagonals.

    ``lower[i]`` is a[i, i - 1] and ``upper[i]`` is a[i, i + 1]; ``lower[0]`` and ``upper[-1]`` are not read. b is a
    vector if it has the rank of the diagonals, and otherwise has one more axis, of right-hand sides. NaN where a is
    singular.

    >>> import lazyxla as lx
    >>> lower, diagonal, upper = lx.asarray([0.0, 1.0]), lx.asarray([2.0, 2.0]), lx.asarray([1.0, 0.0])
    >>> lx.linalg.solve_tridiagonal(lower, diagonal, upper, lx.asarray([4.0, 5.0])).tolist()
    [1.0, 2.0]
    """
    if b.ndim != diagonal.ndim:
        return _core.tridiagonal_solve(lower, diagonal, upper, b)
    return _core.tridiagonal_solve(lower, diagonal, upper, b[..., None])[..., 0]


class LstsqResult(NamedTuple):
    x: Array
    residuals: Array
    rank: Array
    singular_values: Array


def lstsq(a: Array, b: Array, /, rcond: float | None = None, *, rtol: float | None = None) -> LstsqResult:
    """Returns x with the least sum of squares of ``b - a @ x``, and of several such x the shortest; these sums, one for each
    column of b, if a has more rows than columns, and else an empty array; the ranks of a; and its singular values. b is
    a vector, or has as many axes as a.

    Singular values up to ``rcond`` times the largest one count as 0, by default the number of rows or of columns, the
    larger one, times the distance of 1.0 and the next float. ``rtol`` is another name of it. Residuals do not depend on
    the rank, as in JAX.

    >>> import lazyxla as lx
    >>> a = lx.asarray([[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]])
    >>> x, residuals, rank, _ = lx.linalg.lstsq(a, lx.asarray([1.0, 3.0, 5.0]))
    >>> [round(x, 4) for x in x.tolist()], rank.item()
    ([2.0, 1.0], 2)
    """
    if rcond is not None and rtol is not None:
        raise ValueError("linalg.lstsq(): rcond and rtol are one argument, but both are given")
    cut = rcond if rtol is None else rtol
    x = _core.lstsq(a, b, -1.0 if cut is None else cut)
    rows, columns = a.shape[-2:]
    is_vector = b.ndim == 1
    if rows > columns:
        apart = (b[..., None] if is_vector else b) - matmul(a, x[..., None] if is_vector else x)
        residuals = vector_norm(apart, axis=-2) ** 2
    else:
        residuals = _core.full((*a.shape[:-2], 0), 0, vector_norm(x).dtype, x.device)
    return LstsqResult(x, residuals, matrix_rank(a, cut), _core.singular_values(a))


def expm(x: Array, /) -> Array:
    """Returns the exponentials of square matrices.

    >>> import lazyxla as lx
    >>> lx.linalg.expm(lx.zeros((2, 2))).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    return _core.matrix_exponential(x)


def svd(x: Array, /, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    """Returns singular value decompositions: x = U diag(S) Vh, with S descending.

    >>> import lazyxla as lx
    >>> u, s, vh = lx.linalg.svd(lx.asarray([[3.0, 0.0], [0.0, 4.0]]))
    >>> [round(value, 4) for value in s.tolist()]
    [4.0, 3.0]
    """
    return SVDResult(*_core.svd(x, full_matrices)) if compute_uv else _core.singular_values(x)


def svdvals(x: Array, /) -> Array:
    """Returns singular values, descending.

    >>> import lazyxla as lx
    >>> [round(value, 4) for value in lx.linalg.svdvals(lx.asarray([[3.0, 0.0], [0.0, 4.0]])).tolist()]
    [4.0, 3.0]
    """
    return _core.singular_values(x)


def trace(x: Array, /, offset: int = 0, *, dtype: DTypeLike | None = None) -> Array:
    """Returns sums of diagonals.

    >>> import lazyxla as lx
    >>> lx.linalg.trace(lx.asarray([[1, 2], [3, 4]])).item()
    5
    """
    return _sum(diagonal(x, offset=offset), axis=-1, dtype=dtype)


def vector_norm(
    x: Array, /, *, axis: int | Sequence[int] | None = None, keepdims: bool = False, ord: float = 2
) -> Array:
    """Returns norms over axes: sum(abs(x)^ord)^(1/ord), the largest for inf, the number of nonzeros for 0.

    >>> import lazyxla as lx
    >>> lx.linalg.vector_norm(lx.asarray([3.0, 4.0])).item()
    5.0
    """
    axes = None if axis is None else integers(axis, "axes")
    return _core.norm(x, float(ord), axes, keepdims)
