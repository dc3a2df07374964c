"""Whether the instructions of a function lose what one of them changes in place; see _parts.py."""

from __future__ import annotations

import sys
import types
from typing import Any

# Results: the changed array stays reachable, or is lost as a temporary, or as the value of a variable.
KEPT, LOST_TEMPORARY, LOST_VARIABLE = range(3)

# Instructions that store, and the place of the container below the top of the stack, 0 for the top.
_STORES = {"STORE_SUBSCR": 1, "STORE_SLICE": 2}
# Instructions whose result is a reference of the stack alone. Loads of variables are not among them: since Python 3.14
# they may borrow the reference of the variable.
_INDEXED = frozenset(("BINARY_SUBSCR", "BINARY_SLICE"))
_MADE = _INDEXED | {"LOAD_ATTR", "CALL", "CALL_KW", "CALL_FUNCTION", "CALL_FUNCTION_KW", "CALL_METHOD"}
_LOADS = frozenset(("LOAD_FAST", "LOAD_FAST_BORROW", "LOAD_FAST_CHECK"))
_LOADS |= {"LOAD_FAST_LOAD_FAST", "LOAD_FAST_BORROW_LOAD_FAST_BORROW"}
_WITHOUT_EFFECT = frozenset(("EXTENDED_ARG", "NOP", "CACHE", "RESUME", "KW_NAMES"))
_ENDS = frozenset(("RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE"))
_WITHOUT_NEXT = _ENDS | {"JUMP_FORWARD", "JUMP_ABSOLUTE", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT"}
# Functions that see local variables.
_SEES_ALL = frozenset(("locals", "vars", "dir", "eval", "exec", "_getframe", "currentframe", "breakpoint"))
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


def _is_jump(each: Any) -> bool:
    import dis

    return bool(each.opcode in dis.hasjrel or each.opcode in dis.hasjabs)


def _maker(instructions: list[Any], at: int, place: int) -> tuple[int, str | None] | None:
    """Returns the index of the instruction that put an element on the stack, which is at a place before the instruction
    ``at``, and the variable that it loads; None if it is not known, or if the element was copied for another use."""
    import dis

    while at > 0 and not instructions[at].is_jump_target:
        at -= 1
        each = instructions[at]
        if each.opname in _WITHOUT_EFFECT:
            continue
        if _is_jump(each) or each.opname == "DUP_TOP" or (each.opname == "COPY" and each.arg == 1):
            return None
        argument = each.arg if each.opcode >= dis.HAVE_ARGUMENT else None
        found = _before(each.opname, each.arg or 0, dis.stack_effect(each.opcode, argument), place)
        if found is None:
            names = _names(each) if each.opname in _LOADS else ()
            # Of two variables that are loaded, the last one is on the top; one that is loaded twice is read.
            name = names[-1 - place] if place < len(names) else None
            return at, name if names.count(name) == 1 else None
        place = found
    return None


def _is_indexed(each: Any) -> bool:
    return each.opname in _INDEXED or (each.opname == "BINARY_OP" and each.argrepr == "[]")


def _is_in_place(each: Any) -> bool:
    return bool(each.opname.startswith("INPLACE_") or (each.opname == "BINARY_OP" and each.argrepr.endswith("=")))


def verdict(code: types.CodeType, offset: int) -> int:
    """Returns what becomes of the array that the instruction at an offset changes, if nothing else refers to it."""
    import dis

    instructions = [each for each in dis.get_instructions(code) if each.opname not in ("CACHE", "EXTENDED_ARG")]
    at = next((i for i, each in enumerate(instructions) if each.offset == offset), None)
    if at is None:
        return KEPT
    changing = instructions[at]
    if changing.opname in _STORES:
        maker = _maker(instructions, at, _STORES[changing.opname])
        if maker is None:
            return KEPT
        made, name = instructions[maker[0]], maker[1]
        if made.opname in _MADE or _is_indexed(made):
            return LOST_TEMPORARY
        after = at + 1
    elif _is_in_place(changing) and at + 1 < len(instructions) and instructions[at + 1].opname == "STORE_FAST":
        maker = _maker(instructions, at, 1)
        after = at + 2
        if maker is None or maker[1] != instructions[at + 1].argval:
            return KEPT
        name = maker[1]
    else:
        return KEPT
    if name is None or not _SEES_ALL.isdisjoint(code.co_names):
        return KEPT
    is_lost = _is_part(code, instructions, name) and _is_dead(code, instructions, after, name)
    return LOST_VARIABLE if is_lost else KEPT


def _names(each: Any) -> tuple[Any, ...]:
    return each.argval if isinstance(each.argval, tuple) else (each.argval,)


def _is_part(code: types.CodeType, instructions: list[Any], name: str) -> bool:
    """Returns whether a variable is a parameter, or holds results of indexing alone, or elements in a loop."""
    is_parameter = name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    stores = 0
    for at, each in enumerate(instructions):
        if not each.opname.startswith("STORE_FAST") or name not in _names(each):
            continue
        before = instructions[at - 1]
        if _is_in_place(before):
            continue
        stores += 1
        if each.opname != "STORE_FAST" or not (_is_indexed(before) or before.opname == "FOR_ITER"):
            return False
    # Since Python 3.14 a parameter may lend the reference of a variable of the caller, which may read it.
    return stores == 0 and sys.version_info < (3, 14) if is_parameter else stores > 0


def _is_dead(code: types.CodeType, instructions: list[Any], start: int, name: str) -> bool:
    """Returns whether no instruction that may run from ``start`` on reads a variable before it is set again. Assignments
    to elements of it do not read it."""
    places = {each.offset: at for at, each in enumerate(instructions)}
    handlers = _handlers(code, places)
    if handlers is None:
        return False
    waiting, seen, loads = [start, *handlers], set[int](), set[int]()
    stores = set[int]()
    while waiting:
        at = waiting.pop()
        if at in seen or at >= len(instructions):
            continue
        seen.add(at)
        each = instructions[at]
        if each.opname in ("STORE_FAST", "DELETE_FAST") and each.argval == name:
            # `x += y` stores the array that it has changed, so the array is not lost.
            if at and _is_in_place(instructions[at - 1]):
                return False
            continue
        if "_FAST" in each.opname and name in _names(each):
            loads.add(at)
        if each.opname in _STORES and (maker := _maker(instructions, at, _STORES[each.opname])) is not None:
            if maker[1] == name:
                stores.add(maker[0])
        if _is_jump(each):
            target = places.get(each.argval)
            if target is None:
                return False
            waiting.append(target)
        if each.opname not in _WITHOUT_NEXT:
            waiting.append(at + 1)
    return loads <= stores


def _handlers(code: types.CodeType, places: dict[int, int]) -> list[int] | None:
    """Returns where exceptions may go on; None if that is not known. Before Python 3.11 they are targets of jumps."""
    import dis

    if not getattr(code, "co_exceptiontable", b""):
        return []
    entries = getattr(dis.Bytecode(code), "exception_entries", None)
    if entries is None:
        return None
    found = [places.get(entry.target) for entry in entries]
    return None if None in found else [at for at in found if at is not None]
