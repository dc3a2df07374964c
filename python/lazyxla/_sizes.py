"""Sizes, axes and counts as arguments: integers of Python and NumPy, or sequences of them."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

Sizes = int | Sequence[int]


def integers(value: Any, what: str = "sizes and axes") -> list[int]:
    """Returns a list of one integer or of those of a sequence; TypeError for anything else, floats among them."""
    try:
        return [operator.index(value)]
    except TypeError:
        pass
    if isinstance(value, (str, bytes)) or not hasattr(value, "__iter__"):
        raise TypeError(f"{what} are an int or a sequence of ints, not a {type(value).__name__}")
    return [operator.index(each) for each in value]


def is_integer(value: Any) -> bool:
    """Returns whether a value is one integer."""
    try:
        operator.index(value)
    except TypeError:
        return False
    return True


def normalized(axes: Sequence[int], rank: int, error: type[Exception] = IndexError) -> list[int]:
    """Returns axes counted from the first one."""
    for axis in axes:
        if not -rank <= axis < rank:
            raise error(f"axis {axis} is out of bounds for rank {rank}")
    return [operator.index(axis) % rank for axis in axes]
