"""Assignments that are lost: of temporary arrays, ``x[0][1] = 2``, an error; and of parts that nothing reads, a warning.

Indexing returns an array of its own. What changes it has no effect on x, as it would have in NumPy, so that programs for
NumPy would go on with values that were never set. A change is lost for certain if nothing but the stack, or one local
variable, refers to the array, and if the code after it does not read the variable. Both are known: by the count of
references, and by the instructions of the function. Whatever is not sure passes: extension modules, globals, variables
of enclosing functions, instructions of unknown versions of Python."""

from __future__ import annotations

import functools
import sys
import types
import warnings
from collections.abc import Callable
from typing import Any

from ._bytecode import KEPT, LOST_TEMPORARY, LOST_VARIABLE, verdict
from ._core import Array


class _Counted:
    """Counts the references to an object in its methods: their number depends on the version of Python."""

    count = 0

    def __setitem__(self, key: Any, value: Any) -> None:
        _Counted.count = sys.getrefcount(self)


_Counted()[0] = 0
# The references to a temporary array in a method; a local variable may hold one more, or lend it.
_ONLY = _Counted.count
# By the identity of the code, which is kept, and the offset of the instruction: to hash code takes long.
_known: dict[tuple[int, int], tuple[types.CodeType, int]] = {}
_MOST = 4096


def _verdict(code: types.CodeType, offset: int) -> int:
    found = _known.get((id(code), offset))
    if found is None:
        if len(_known) >= _MOST:
            _known.clear()
        try:
            made = verdict(code, offset)
        except Exception:  # Instructions of another version of Python: an assignment may not fail by them.
            made = KEPT
        found = _known[id(code), offset] = code, made
    return found[1]


def _judge(frame: types.FrameType, references: int) -> None:
    """Raises or warns if what a frame changes is lost."""
    found = _verdict(frame.f_code, frame.f_lasti)
    if found == LOST_TEMPORARY and references <= _ONLY:
        raise RuntimeError(
            "the assignment changes a temporary array, which is thrown away: x[0] is an array of its own here, as are "
            "x.T and x.reshape(shape), not a view as in NumPy. Assign to x by one key, x[0, 1] = value instead of "
            "x[0][1] = value, or take a changed copy: x = x.at[0, 1].set(value)"
        )
    if found == LOST_VARIABLE:
        warnings.warn(
            "a part of an array is changed in place and not read after that: the change is lost, since x[0] is an array "
            "of its own here, not a view as in NumPy. Change x itself, x[0] += value, or assign the part to it, "
            "x[0] = part; a function that changes its argument has to return it",
            RuntimeWarning,
            stacklevel=3,
        )


def _judged_assignment(assign: Callable[[Array, Any, Any], None]) -> Callable[[Array, Any, Any], None]:
    @functools.wraps(assign)
    def __setitem__(self: Array, key: Any, value: Any, /) -> None:
        assign(self, key, value)
        # An assignment that fails says why first.
        if (references := sys.getrefcount(self)) <= _ONLY + 1:
            _judge(sys._getframe(1), references)

    return __setitem__


def _judged_operator(operate: Callable[[Array, Any], Any]) -> Callable[[Array, Any], Any]:
    @functools.wraps(operate)
    def operator(self: Array, other: Any, /) -> Any:
        found = operate(self, other)
        # The result is self, which `found` holds once more.
        if (references := sys.getrefcount(self)) <= _ONLY + 2:
            _judge(sys._getframe(1), references)
        return found

    return operator


_OPERATORS = (
    "__iadd__", "__isub__", "__imul__", "__itruediv__", "__ifloordiv__", "__imod__", "__iand__", "__ior__", "__ixor__",
    "__ilshift__", "__irshift__", "__imatmul__",
)  # fmt: skip

# The assignment itself, for functions that change an argument: these are judged as a whole.
assign: Callable[[Array, Any, Any], None] = Array.__setitem__


def _references(x: Any, /, *args: Any, **kwargs: Any) -> int:
    return sys.getrefcount(x)


class _Argument:
    found = 0

    def references(self, *args: Any, **kwargs: Any) -> int:
        return sys.getrefcount(self)

    def _assign(self, *args: Any) -> None:
        _Argument.found = sys.getrefcount(self)

    value = property(None, _assign)


# The references to a temporary array in a function that has it as its first argument, and in a method.
_ONLY_ARGUMENT = max(_references(_Argument()), _Argument().references())
_Argument().value = 0
# As much where it is assigned to an attribute, ``x[0].real = 1``.
_ONLY_OWNER = _Argument.found


def _is_told() -> bool:
    """Returns whether an argument that a local variable holds has more references than a temporary one: versions of
    Python that lend it to the function do not tell them apart."""
    held = _Argument()
    held.value = 0
    return min(_references(held), held.references()) > _ONLY_ARGUMENT and _Argument.found > _ONLY_OWNER


def changing(function: Callable[..., Any], *, is_setter: bool = False) -> Callable[..., Any]:
    """Makes a function that changes its first argument and returns None refuse a temporary array, ``x[0]`` or ``x.T``: the
    change would be lost."""
    if not _is_told():
        return function
    only = _ONLY_OWNER if is_setter else _ONLY_ARGUMENT

    @functools.wraps(function)
    def changed(x: Any, /, *args: Any, **kwargs: Any) -> Any:
        found = function(x, *args, **kwargs)
        if found is None and isinstance(x, Array) and sys.getrefcount(x) <= only:
            raise RuntimeError(
                f"{function.__qualname__.partition('.<')[0]} changes a temporary array, which is thrown away: x[0] is an "
                "array of its own here, as are x.T and x.reshape(shape), not a view as in NumPy. Give it a name, and "
                "assign it to x after the change: part = x[0]; ...; x[0] = part"
            )
        return found

    return changed


if hasattr(sys, "_getframe") and sys.implementation.name == "cpython":
    Array.__setitem__ = _judged_assignment(Array.__setitem__)  # type: ignore[method-assign]
    for _name in _OPERATORS:
        setattr(Array, _name, _judged_operator(getattr(Array, _name)))
