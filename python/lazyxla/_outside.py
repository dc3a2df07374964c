"""What a function reaches from outside by names: whether it is still what it was when the function was traced."""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable
from operator import is_
from typing import Any

from ._core import Array, Device, DType

_PLAIN = (bool, int, float, complex, str, bytes)
_VALUES = (Array, DType, Device, type(None), *_PLAIN)
_ABSENT = object()
# Variables and containers that are looked at; more of them are taken as constants.
_MOST = 2000


def _is_same(now: Any, before: Any) -> bool:
    """Returns whether two values that are not one object are equal constants; -0.0 is not 0.0."""
    return type(now) is type(before) and isinstance(now, _PLAIN) and repr(now) == repr(before)


def _is_other_list(items: list[Any], elements: tuple[Any, ...]) -> bool:
    return len(items) != len(elements) or not all(map(is_, items, elements))


def _is_other_dict(pairs: dict[Any, Any], keys: list[Any], values: tuple[Any, ...]) -> bool:
    return len(pairs) != len(keys) or not all(map(is_, pairs.values(), values)) or list(pairs) != keys


def _is_foreign(function: types.FunctionType) -> bool:
    """Returns whether a function belongs to an installed package or to Python, whose variables do not change."""
    top = (function.__module__ or "").partition(".")[0]
    path = function.__code__.co_filename
    return top in sys.stdlib_module_names or "site-packages" in path or "dist-packages" in path


def _is_ours(value: Any) -> bool:
    return (getattr(value, "__module__", None) or "").partition(".")[0] == "lazyxla"


class Outside:
    """Variables that a function reads, and what they reach, as they are now."""

    def __init__(self, function: Any, arguments: tuple[Any, ...] = ()) -> None:
        self._variables: list[tuple[Callable[..., Any], str, Any]] = []
        self._cells: list[tuple[Any, str, Any]] = []
        self._lists: list[tuple[list[Any], str, tuple[Any, ...]]] = []
        self._dicts: list[tuple[dict[Any, Any], str, list[Any], tuple[Any, ...]]] = []
        # While it is collected: names of attributes and globals in the code, objects that may have them, and what was
        # seen already, by identity.
        self._names: dict[str, None] = {}
        self._objects: list[tuple[list[Any], set[str]]] = []
        self._seen: dict[int, Any] = {}
        for root in (function, *arguments):
            self._reach(root, getattr(root, "__name__", type(root).__name__))
        self._attributes()
        del self._names, self._objects, self._seen

    def changed(self) -> str | None:
        """Returns the name of something that is no longer what it was, or None."""
        for get, name, before in self._variables:
            now = get(name, _ABSENT)
            if now is not before and not _is_same(now, before):
                return name
        for cell, name, before in self._cells:
            now = _content(cell)
            if now is not before and not _is_same(now, before):
                return name
        for items, name, elements in self._lists:
            if _is_other_list(items, elements):
                return name
        for pairs, name, keys, values in self._dicts:
            if _is_other_dict(pairs, keys, values):
                return name
        return None

    def settle(self) -> None:
        """Drops what has changed: what the function itself changes, such as a counter, is not watched."""
        self._variables = [each for each in self._variables if each[0](each[1], _ABSENT) is each[2]]
        self._cells = [each for each in self._cells if _content(each[0]) is each[2]]
        self._lists = [each for each in self._lists if not _is_other_list(each[0], each[2])]
        self._dicts = [each for each in self._dicts if not _is_other_dict(each[0], *each[2:])]

    def _is_full(self) -> bool:
        return len(self._variables) + len(self._cells) + len(self._lists) + len(self._dicts) >= _MOST

    def _reach(self, value: Any, name: str) -> None:
        """Adds what a value reaches."""
        if isinstance(value, _VALUES) or id(value) in self._seen or self._is_full():
            return
        self._seen[id(value)] = value
        if isinstance(value, types.FunctionType):
            if not _is_foreign(value):
                self._function(value)
        elif isinstance(value, types.MethodType):
            self._reach(value.__self__, name)
            self._reach(value.__func__, name)
        elif isinstance(value, functools.partial):
            for each in (value.func, value.args, value.keywords):
                self._reach(each, name)
        elif isinstance(value, tuple):
            for each in value:
                self._reach(each, name)
        elif isinstance(value, list):
            self._lists.append((value, name, tuple(value)))
            for each in value:
                self._reach(each, name)
        elif isinstance(value, dict):
            self._dicts.append((value, name, list(value), tuple(value.values())))
            for each in value.values():
                self._reach(each, name)
        elif _is_ours(type(value)):
            # A jitted function, or one with a derivative of its own.
            for attribute in ("_fun", "_rule"):
                if (inner := getattr(value, attribute, None)) is not None:
                    self._variables.append((vars(value).get, attribute, inner))
                    self._reach(inner, name)
        elif isinstance(value, (staticmethod, classmethod)):
            self._reach(value.__func__, name)
        elif isinstance(value, property):
            self._reach(value.fget, name)
        elif isinstance(value, types.ModuleType):
            if not _is_our_module(value):
                self._objects.append(([vars(value)], set()))
        elif not _is_ours(value):
            self._object(value, name)

    def _object(self, value: Any, name: str) -> None:
        """Adds an object, or a class, with its classes: the first one that has an attribute gives it."""
        classes = [
            each for each in (value if isinstance(value, type) else type(value)).__mro__ if not _is_builtin(each)
        ]
        own = [] if isinstance(value, type) or not hasattr(value, "__dict__") else [vars(value)]
        self._objects.append(([*own, *map(vars, classes)], set()))
        for each in classes:
            if not isinstance(value, type) and "__call__" in vars(each):
                self._reach(vars(each)["__call__"], name)

    def _function(self, function: types.FunctionType) -> None:
        self._code(function.__code__, function.__globals__)
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            content = _content(cell)
            self._cells.append((cell, name, content))
            self._reach(content, name)
        for default in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            self._reach(default, function.__name__)

    def _code(self, code: types.CodeType, variables: dict[str, Any]) -> None:
        for name in code.co_names:
            self._names[name] = None
            if name in variables:
                self._variable(variables, name)
        for inner in code.co_consts:
            if isinstance(inner, types.CodeType):
                self._code(inner, variables)

    def _variable(self, of: Any, name: str) -> None:
        """Adds a global, or an attribute by its name."""
        value = of[name]
        if not _is_our_module(value) and not self._is_full():
            self._variables.append((of.get, name, value))
            self._reach(value, name)

    def _attributes(self) -> None:
        """Adds attributes whose names are in the code, until nothing is new."""
        again = True
        while again:
            again = False
            for spaces, done in list(self._objects):
                for name in [name for name in self._names if name not in done]:
                    place = next((i for i, space in enumerate(spaces) if name in space), None)
                    if place is None:
                        continue
                    done.add(name)
                    again = True
                    self._variables += [(space.get, name, _ABSENT) for space in spaces[:place]]
                    self._variable(spaces[place], name)


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return _ABSENT


def _is_builtin(kind: type) -> bool:
    return kind.__module__ in sys.stdlib_module_names or _is_ours(kind)


def _is_our_module(value: Any) -> bool:
    return isinstance(value, types.ModuleType) and value.__name__.partition(".")[0] == "lazyxla"
