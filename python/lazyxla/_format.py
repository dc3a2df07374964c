"""The text of an array. It runs no step: a pending array is shown by its type."""

from __future__ import annotations

import ctypes
import itertools
from typing import Any

from . import _core

# Above this number of elements, the corners are shown.
_MOST = 1000
_EDGE = 3


def _number(value: Any, single: bool) -> str:
    if isinstance(value, complex):
        real, imaginary = _number(value.real, single), _number(value.imag, single)
        return f"({real}{'' if imaginary.startswith('-') else '+'}{imaginary}j)"
    if not isinstance(value, float):
        return str(value)
    # The fewest digits that give the value back.
    for digits in range(6, 9) if single else range(15, 17):
        text = f"{value:.{digits}g}"
        back = float(text)
        if value == (ctypes.c_float(back).value if single else back):
            return text
    return f"{value:.{9 if single else 17}g}"


def _rows(values: Any, indent: int, cut: bool, single: bool) -> str:
    if not isinstance(values, list):
        return _number(values, single)
    shown = values
    middle = cut and len(values) > 2 * _EDGE
    if middle:
        shown = list(itertools.chain(values[:_EDGE], values[-_EDGE:]))
    texts = [_rows(each, indent + 1, cut, single) for each in shown]
    if middle:
        texts.insert(_EDGE, "...")
    nested = bool(values) and isinstance(values[0], list)
    separator = ",\n" + " " * (indent + 1) if nested else ", "
    return "[" + separator.join(texts) + "]"


def array_repr(array: _core.Array) -> str:
    dtype, device = array.dtype.name, str(array.device)
    if array.state not in ("ready", "native"):
        # Such an array has no value if it depends on an argument of the function.
        state = f"{array.state}, of a trace that has ended" if _core.is_of_ended_trace(array) else array.state
        return f"Array(shape={array.shape}, dtype={dtype}, device='{device}', {state})"
    values = _rows(array.tolist(), len("Array("), array.size > _MOST, dtype not in ("float64", "complex128"))
    empty = f", shape={array.shape}" if array.size == 0 else ""
    return f"Array({values}, dtype={dtype}, device='{device}'{empty})"
