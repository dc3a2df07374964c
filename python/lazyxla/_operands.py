"""Operands of functions: arrays of one dtype, of arrays, arrays of NumPy and scalars."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from . import _core
from ._core import Array, DType

FLOATS = ("real floating", "complex floating")
INTEGERS = ("signed integer", "unsigned integer")
_GROUPS = {"bool": 0, "signed integer": 1, "unsigned integer": 1, "real floating": 2, "complex floating": 2}


def standard_dtype(a: DType, b: DType) -> DType:
    """The promotion of the standard, which has none for dtypes of different kinds and for uint64 with signed ones."""
    kinds = {a.kind, b.kind}
    large = len(kinds) == 2 and "unsigned integer" in kinds and _core.uint64 in (a, b)
    if _GROUPS[a.kind] != _GROUPS[b.kind] or large:
        raise TypeError(f"{a.name} and {b.name} have no common dtype in the standard")
    return _core.promote(a, b)


def common_dtype(dtypes: Iterable[DType]) -> DType:
    """Returns the promotion of dtypes: the standard's, and JAX's for bools with numbers and integers with floats."""
    each = list(dtypes)
    result = each[0]
    for dtype in each[1:]:
        mixed = _GROUPS[result.kind] != _GROUPS[dtype.kind]
        result = _core.promote(result, dtype) if mixed else standard_dtype(result, dtype)
    return result


def promoted(arrays: Iterable[Array]) -> list[Array]:
    """Returns arrays in one dtype if they are of different kinds; others as they are, for the library to promote."""
    each = list(arrays)
    if len({x.dtype for x in each}) < 2 or len({_GROUPS[x.dtype.kind] for x in each}) < 2:
        return each
    dtype = common_dtype(x.dtype for x in each)
    return [x.astype(dtype, copy=False) for x in each]


def array_like(value: Any, like: Array) -> Array:
    """Returns an array; a scalar of Python in the dtype of ``like`` or the next kind, one of NumPy in its own."""
    return value if isinstance(value, Array) else _core.scalar_like(value, like)


def array_of(value: Any, device: Any = None) -> Array | None:
    """Returns a number of Python or an array or scalar of NumPy as an array, and None for anything else."""
    if isinstance(value, Array):
        return value
    if isinstance(value, (bool, int, float, complex)) or hasattr(value, "__array_interface__"):
        from ._creation import asarray

        return asarray(value, device=device)
    return None


def operands(of: str, *values: Any) -> list[Array]:
    """Returns arrays in one dtype, of arrays, numbers and arrays of NumPy; ``of`` is the function, for its error."""
    like = next((x for x in values if isinstance(x, Array)), None)
    if like is None:
        # NumPy's arrays come first: numbers take the dtype of an array.
        given = sorted(values, key=lambda x: not hasattr(x, "__array_interface__"))
        like = array_of(given[0])
        if like is not None:
            at = next(i for i, x in enumerate(values) if x is given[0])
            values = (*values[:at], like, *values[at + 1 :])
    if like is None:
        kinds = ", ".join(type(x).__name__ for x in values)
        raise TypeError(f"{of}(): at least one operand is an array (lx.asarray makes one), not {kinds}")
    arrays = [x if isinstance(x, Array) or hasattr(x, "__array_interface__") else None for x in values]
    given = [array_like(x, like) for x in arrays if x is not None]
    # Python's scalars take the dtype of all arrays together.
    dtype = common_dtype(x.dtype for x in given)
    like = like.astype(dtype, copy=False) if like.dtype != dtype else like
    found = [array_like(x, like) for x in values]
    dtype = common_dtype(x.dtype for x in found)
    return [x.astype(dtype, copy=False) for x in found]


def in_floats(x: Array) -> Array:
    """Returns integers and bools as float32, other arrays as they are."""
    return x if x.dtype.kind in FLOATS else x.astype(_core.float32)


def real_floats(of: str, *values: Any) -> list[Array]:
    """Returns operands in one real float dtype: float32 for integers and bools."""
    found = [in_floats(x) for x in operands(of, *values)]
    if found[0].dtype.kind != "real floating":
        raise TypeError(f"{of}() takes real dtypes, not {found[0].dtype.name}")
    return found


def widened(x: Array) -> Array:
    """Returns floats of 16 bits and less as float32, in which formulas of them are computed."""
    return x.astype(_core.float32) if x.dtype.kind == "real floating" and int(x.dtype.limits["bits"]) < 32 else x


def select(condition: Array, x1: Any, x2: Any) -> Array:
    """Returns x1 where the condition holds and x2 elsewhere: arrays, or one array and a scalar."""
    a, b = operands("where", x1, x2)
    return _core.select(condition, a, b)
