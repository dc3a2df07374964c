"""``x.at``: changed copies of arrays, as in JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import _core, _shapes
from ._core import Array
from ._operands import in_floats

# The modes of JAX that say what happens here: indices out of range are clamped by reads, and dropped by writes.
_READS, _WRITES = ("clip", "promise_in_bounds"), ("drop", "promise_in_bounds")


def _known(name: str, hints: dict[str, Any], modes: tuple[str, str]) -> None:
    """Takes JAX's keyword arguments that change no value, and refuses others."""
    for each, value in hints.items():
        if each == "mode" and value is not None and value not in modes:
            raise ValueError(f"x.at[...].{name}(): mode is {value!r}; want {' or '.join(map(repr, modes))}")
        if each not in ("mode", "indices_are_sorted", "unique_indices"):
            raise TypeError(f"x.at[...].{name}() takes no argument {each!r}")


class At:
    """``x.at[key]``: a copy of x with other elements at a key, as in JAX; x stays as it is."""

    __slots__ = ("_key", "_x")

    def __init__(self, x: Array, key: Any = None) -> None:
        self._x, self._key = x, key

    def __getitem__(self, key: Any) -> At:
        return At(self._x, key)

    def get(self, **hints: Any) -> Array:
        """Returns ``x[key]``."""
        _known("get", hints, _READS)
        return self._x[self._key]

    def set(self, values: Any, **hints: Any) -> Array:
        """Returns a copy of x with these values at the key."""
        _known("set", hints, _WRITES)
        found = self._x.copy()
        found[self._key] = values
        return found

    def add(self, values: Any, **hints: Any) -> Array:
        """Returns a copy of x with values added; where indices are equal, all of them are."""
        _known("add", hints, _WRITES)
        return _shapes.scatter(self._x, self._key, values, how="add")

    def subtract(self, values: Any, **hints: Any) -> Array:
        """Returns a copy of x with values subtracted; where indices are equal, all of them are."""
        _known("subtract", hints, _WRITES)
        zeros = _core.full(self._x.shape, 0, self._x.dtype, self._x.device)
        return self._x - _shapes.scatter(zeros, self._key, values, how="add")

    def mul(self, values: Any, **hints: Any) -> Array:
        """Returns ``multiply(values)``."""
        return self.multiply(values, **hints)

    def multiply(self, values: Any, **hints: Any) -> Array:
        """Returns a copy of x with elements times values; where indices are equal, times all of them."""
        _known("multiply", hints, _WRITES)
        return _shapes.scatter(self._x, self._key, values, how="multiply")

    def divide(self, values: Any, **hints: Any) -> Array:
        """Returns a copy of x with elements divided by values; where indices are equal, by all of them."""
        _known("divide", hints, _WRITES)
        x = in_floats(self._x)
        ones = _core.full(x.shape, 1, x.dtype, x.device)
        # Not times 1 / values, which rounds twice.
        return x / _shapes.scatter(ones, self._key, values, how="multiply")

    def max(self, values: Any, **hints: Any) -> Array:
        """Returns a copy of x with the larger ones of elements and values."""
        _known("max", hints, _WRITES)
        return _shapes.scatter(self._x, self._key, values, how="maximum")

    def min(self, values: Any, **hints: Any) -> Array:
        """Returns a copy of x with the smaller ones of elements and values."""
        _known("min", hints, _WRITES)
        return _shapes.scatter(self._x, self._key, values, how="minimum")

    def power(self, values: Any, **hints: Any) -> Array:
        """Returns a copy of x with elements to the power of values."""
        _known("power", hints, _WRITES)
        return self.set(self._x[self._key] ** values)

    def apply(self, function: Callable[[Array], Any]) -> Array:
        """Returns a copy of x with a function of the elements in their places."""
        return self.set(function(self._x[self._key]))
