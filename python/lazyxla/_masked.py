"""The arguments ``where`` and ``initial`` of reductions: which elements count, and a first one before them."""

from __future__ import annotations

from typing import Any

from . import _core
from ._core import Array
from ._creation import asarray
from ._operands import array_of, select


def masked(x: Array, where: Any, identity: Any) -> Array:
    """Returns x with an identity of a reduction in place of elements that do not count."""
    if where is None:
        return x
    mask = asarray(where, device=x.device) if isinstance(where, (list, tuple)) else array_of(where, x.device)
    if mask is None or mask.dtype != _core.bool:
        kind = type(where).__name__ if mask is None else mask.dtype.name
        raise TypeError(f"where: an array of bools is wanted, not {kind}")
    if identity is None:
        raise ValueError("where: a reduction that has no identity needs initial, too")
    if x.dtype == _core.bool:
        identity = bool(identity)
    return select(mask, x, identity)


def with_initial(op: int, found: Array, initial: Any) -> Array:
    """Returns results of a reduction, of which ``initial`` is one more operand."""
    return found if initial is None else _core.binary(op, found, initial, False, False)
