"""Assignments to temporary arrays, which are lost: ``x[0][1] = 2`` is an error.

Indexing returns an array of its own. An assignment to one that nothing else refers to has no effect that can be seen:
in NumPy it changes x, here it would change nothing, without a word.

Such an assignment is known by two facts: the instruction that runs takes its container from the stack, where an
indexing, an attribute or a call has put it, and nothing but the stack refers to it. Anything that is not surely a lost
assignment passes: calls of ``operator.setitem``, extension modules, instructions of unknown versions of Python."""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable
from typing import Any

from ._core import Array

# Instructions that store, and the place of the container below the top of the stack, 0 for the top.
_STORES = {"STORE_SUBSCR": 1, "STORE_SLICE": 2}
# Instructions whose result is a reference of the stack alone. Loads of variables are not among them: since Python 3.14
# they may borrow the reference of the variable.
_MADE = frozenset(
    (
        "BINARY_SUBSCR",
        "BINARY_SLICE",
        "LOAD_ATTR",
        "CALL",
        "CALL_KW",
        "CALL_FUNCTION",
        "CALL_FUNCTION_KW",
        "CALL_METHOD",
    )
)
_WITHOUT_EFFECT = frozenset(("EXTENDED_ARG", "NOP", "CACHE", "RESUME", "KW_NAMES"))
# Instructions of Python 3.10 that move elements of the stack: which one each place had before.
_MOVES = {
    "ROT_TWO": (1, 0),
    "ROT_THREE": (1, 2, 0),
    "ROT_FOUR": (1, 2, 3, 0),
    "DUP_TOP": (0, 0),
    "DUP_TOP_TWO": (0, 1, 0, 1),
}


def _before(name: str, argument: int, effect: int, place: int) -> int | None:
    """Returns the place that an element of the stack had before an instruction, None if the instruction put it there."""
    if name == "SWAP":
        return {0: argument - 1, argument - 1: 0}.get(place, place)
    if name == "COPY":
        return place - 1 if place else argument - 1
    if name in _MOVES:
        moves = _MOVES[name]
        return moves[place] if place < len(moves) else place - effect
    # Those that push nothing count as if they removed one more and pushed it again: no result of theirs is looked for.
    pushed = max(effect, 1)
    return None if place < pushed else place - effect


@functools.lru_cache(maxsize=4096)
def _stores_to_a_temporary(code: types.CodeType, offset: int) -> bool:
    """Returns whether the instruction at an offset assigns to an element of what an expression has just made."""
    import dis

    instructions = [each for each in dis.get_instructions(code) if each.offset <= offset]
    if not instructions or instructions[-1].opname not in _STORES:
        return False
    last = instructions.pop()
    place = _STORES[last.opname]
    target = last.is_jump_target
    while instructions and not target:
        each = instructions.pop()
        target = each.is_jump_target
        if each.opname in _WITHOUT_EFFECT:
            continue
        if each.opcode in dis.hasjrel or each.opcode in dis.hasjabs:
            return False
        argument = each.arg if each.opcode >= dis.HAVE_ARGUMENT else None
        found = _before(each.opname, each.arg or 0, dis.stack_effect(each.opcode, argument), place)
        if found is None:
            return each.opname in _MADE or (each.opname == "BINARY_OP" and each.argrepr == "[]")
        place = found
    return False


class _Counted:
    """Counts the references to a temporary object in ``__setitem__``: their number depends on the version of Python."""

    count = 0

    def __setitem__(self, key: Any, value: Any) -> None:
        _Counted.count = sys.getrefcount(self)


_Counted()[0] = 0
_ONLY = _Counted.count


def _refuse() -> None:
    raise RuntimeError(
        "the assignment changes a temporary array, which is thrown away: x[0] is an array of its own here, as are x.T "
        "and x.reshape(shape), not a view as in NumPy. Assign to x by one key, x[0, 1] = value instead of "
        "x[0][1] = value, or take a changed copy: x = x.at[0, 1].set(value)"
    )


def _refusing(assign: Callable[[Array, Any, Any], None]) -> Callable[[Array, Any, Any], None]:
    def __setitem__(self: Array, key: Any, value: Any, /) -> None:
        assign(self, key, value)
        # An assignment that fails says why first. The count alone would not do where a variable lends its reference.
        if sys.getrefcount(self) <= _ONLY:
            frame = sys._getframe(1)
            if _stores_to_a_temporary(frame.f_code, frame.f_lasti):
                _refuse()

    __setitem__.__doc__ = assign.__doc__
    return __setitem__


if hasattr(sys, "_getframe") and sys.implementation.name == "cpython":
    Array.__setitem__ = _refusing(Array.__setitem__)  # type: ignore[method-assign]
