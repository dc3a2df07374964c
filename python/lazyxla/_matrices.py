"""Eigenvalues of general matrices, chains of products, and block matrices: functions of ``linalg`` beside the standard's."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

from . import _constants as c
from . import _core
from ._core import Array
from ._creation import arange, asarray
from ._elementwise import conj, isfinite, where
from ._operands import common_dtype, in_floats
from ._shapes import matmul, matrix_transpose
from ._trace import is_tracing


class EigResult(NamedTuple):
    eigenvalues: Array
    eigenvectors: Array


def eig(x: Array, /) -> EigResult:
    """Returns the eigenvalues and eigenvectors (columns) of square matrices, as complex numbers; integers as float32.

    >>> import lazyxla as lx
    >>> sorted(value.real for value in lx.linalg.eig(lx.asarray([[2.0, 0.0], [0.0, 1.0]])).eigenvalues.tolist())
    [1.0, 2.0]
    """
    return EigResult(*_core.eig(in_floats(x)))


def eigvals(x: Array, /) -> Array:
    """Returns the eigenvalues of square matrices, as complex numbers; integers as float32.

    >>> import lazyxla as lx
    >>> sorted(value.imag for value in lx.linalg.eigvals(lx.asarray([[0.0, -1.0], [1.0, 0.0]])).tolist())
    [-1.0, 1.0]
    """
    return _core.eig(in_floats(x))[0]


def multi_dot(arrays: Sequence[Array], /) -> Array:
    """Returns the product of matrices in the order that takes the fewest multiplications. The first and the last may be
    vectors.

    >>> import lazyxla as lx
    >>> lx.linalg.multi_dot([lx.ones((1, 2)), lx.ones((2, 3)), lx.ones(3)]).tolist()
    [6.0]
    """
    given = [*arrays]
    if len(given) < 2:
        raise ValueError(f"linalg.multi_dot() takes at least two arrays, not {len(given)}")
    is_row, is_column = given[0].ndim == 1, given[-1].ndim == 1
    given[0] = given[0][None, :] if is_row else given[0]
    given[-1] = given[-1][:, None] if is_column else given[-1]
    for before, after in itertools.pairwise(given):
        if before.ndim != 2 or after.ndim != 2 or before.shape[1] != after.shape[0]:
            raise ValueError(f"linalg.multi_dot(): {before.shape} and {after.shape} follow each other: no product")
    found = _in_order(given)
    found = found[0] if is_row else found
    return found[..., 0] if is_column else found


def _in_order(matrices: Sequence[Array]) -> Array:
    """Multiplies matrices by the cheapest split of each part of the chain."""
    sizes = [matrices[0].shape[0], *(x.shape[1] for x in matrices)]

    @functools.cache
    def cost(first: int, last: int) -> tuple[int, int]:
        if first == last:
            return 0, first
        return min(
            (cost(first, at)[0] + cost(at + 1, last)[0] + sizes[first] * sizes[at + 1] * sizes[last + 1], at)
            for at in range(first, last)
        )

    def product(first: int, last: int) -> Array:
        if first == last:
            return matrices[first]
        at = cost(first, last)[1]
        return matmul(product(first, at), product(at + 1, last))

    return product(0, len(matrices) - 1)


def block_diag(*arrays: Any) -> Array:
    """Returns the matrix with blocks on its diagonal and zeros elsewhere, as ``scipy.linalg.block_diag``; vectors are rows.

    >>> import lazyxla as lx
    >>> lx.linalg.block_diag(lx.asarray([[1, 2]]), lx.asarray([[3], [4]])).tolist()
    [[1, 2, 0], [0, 0, 3], [0, 0, 4]]
    """
    like = next((x for x in arrays if isinstance(x, Array)), None)
    if like is None:
        raise TypeError("linalg.block_diag() takes arrays, at least one of which is of this package")
    blocks = [x if isinstance(x, Array) else asarray(x, device=like.device) for x in arrays]
    if wrong := [x for x in blocks if x.ndim > 2]:
        raise ValueError(f"linalg.block_diag() takes matrices, not an array of rank {wrong[0].ndim}")
    dtype = common_dtype(x.dtype for x in blocks)
    blocks = [_core.reshape(x, (1,) * (2 - x.ndim) + x.shape).astype(dtype, copy=False) for x in blocks]
    zero: Any = False if dtype == _core.bool else 0
    width, at, rows = sum(x.shape[1] for x in blocks), 0, []
    for x in blocks:
        rows.append(_core.pad(x, zero, [0, at], [0, width - at - x.shape[1]]))
        at += x.shape[1]
    return _core.join(rows, 0, False)


def with_hermitian_slopes(x: Array) -> Array:
    """Returns a matrix of which one triangle is read: a traced one with slopes that are Hermitian, not all in that
    triangle, so that descent keeps a matrix Hermitian."""
    if not is_tracing() or x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        return x
    turned = matrix_transpose(x)
    half = 0.5 * x + 0.5 * (conj(turned) if x.dtype.kind == "complex floating" else turned)
    # The other triangle, which is not read, may have NaN.
    half = where(isfinite(half), half, 0)
    return _core.stop_gradient(x) + (half - _core.stop_gradient(half))


def cho_factor(a: Array, /, lower: bool = False) -> tuple[Array, bool]:
    """Returns a Cholesky factor and whether it is the lower one, for ``cho_solve``, as in SciPy. The other triangle is
    zeros.

    >>> import lazyxla as lx
    >>> lx.linalg.cho_factor(lx.asarray([[4.0]]))[0].tolist()
    [[2.0]]
    """
    return _core.cholesky(with_hermitian_slopes(in_floats(a)), lower), lower


def cho_solve(c_and_lower: tuple[Array, bool], b: Array, /) -> Array:
    """Returns the solution x of a x = b, given the Cholesky factor of a and whether it is the lower one.

    >>> import lazyxla as lx
    >>> a = lx.asarray([[4.0, 0.0], [0.0, 9.0]])
    >>> [round(x, 4) for x in lx.linalg.cho_solve(lx.linalg.cho_factor(a), lx.asarray([8.0, 9.0])).tolist()]
    [2.0, 1.0]
    """
    factor, lower = c_and_lower
    dtype = common_dtype([factor.dtype, in_floats(b).dtype])
    factor, b = factor.astype(dtype, copy=False), b.astype(dtype, copy=False)
    right = b[..., None] if b.ndim == 1 else b
    other = c.TRANSPOSE_ADJOINT
    orders = (c.TRANSPOSE_NO_TRANSPOSE, other) if lower else (other, c.TRANSPOSE_NO_TRANSPOSE)
    for order in orders:
        right = _core.triangular_solve(factor, right, lower, False, order)
    return right[..., 0] if b.ndim == 1 else right


def toeplitz(column: Array, row: Array | None = None, /) -> Array:
    """Returns the matrix with this first column and first row, whose diagonals are constant; without a row, the
    conjugate of the column.

    >>> import lazyxla as lx
    >>> lx.linalg.toeplitz(lx.asarray([1, 2]), lx.asarray([1, 5, 6])).tolist()
    [[1, 5, 6], [2, 1, 5]]
    """
    row = conj(column) if row is None else row
    if column.ndim != 1 or row.ndim != 1:
        raise ValueError(f"toeplitz() takes vectors, not arrays of rank {column.ndim} and {row.ndim}")
    dtype = common_dtype([column.dtype, row.dtype])
    parts = [_core.flip(column.astype(dtype, copy=False), [0]), row[1:].astype(dtype, copy=False)]
    values = _core.join(parts, 0, False)
    rows, columns = column.shape[0], row.shape[0]
    last = arange(rows - 1, -1, -1, device=column.device) if rows else arange(0, device=column.device)
    return values[last[:, None] + arange(columns, device=column.device)]
