"""Sizes, axes and counts as arguments: integers of Python and NumPy, or sequences of them."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, Protocol

from . import _core

Sizes = int | Sequence[int]


class _Named(Protocol):
    """A dtype of NumPy or ml_dtypes."""

    @property
    def name(self) -> str: ...


# A dtype as argument: of this package, its name, a type of Python's or NumPy's numbers, or a dtype of NumPy.
DTypeLike = _core.DType | str | type[Any] | _Named


def integers(value: Any, what: str = "sizes and axes") -> list[int]:
    """Returns a list of one integer or of those of a sequence; TypeError for anything else, floats among them."""
    try:
        return [operator.index(value)]
    except TypeError:
        pass
    if isinstance(value, (str, bytes)) or not hasattr(value, "__iter__"):
        raise TypeError(f"{what} are an int or a sequence of ints, not a {type(value).__name__}")
    found = []
    for each in value:
        if not is_integer(each):
            raise TypeError(f"{what} are an int or a sequence of ints, not one with a {type(each).__name__}")
        found.append(operator.index(each))
    return found


def is_integer(value: Any) -> bool:
    """Returns whether a value is one integer."""
    try:
        operator.index(value)
    except TypeError:
        return False
    return True


class AxisError(ValueError, IndexError):
    """Raised for an axis that the array does not have. It is a ValueError and an IndexError, as in NumPy."""


def normalized(axes: Sequence[int], rank: int) -> list[int]:
    """Returns axes counted from the first one."""
    for axis in axes:
        if not -rank <= axis < rank:
            wanted = f"want {-rank} to {rank - 1}" if rank else "it has no axes"
            raise AxisError(f"axis {axis} is out of range for rank {rank} ({wanted})")
    return [operator.index(axis) % rank for axis in axes]
