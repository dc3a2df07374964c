"""Variables that a function reaches from outside by names: whether they are the same as when it was traced.

The search follows the code of functions and methods: globals, cells of closures, and attributes, elements of containers
and slots of the objects that these give. It finds neither names that are computed (``getattr(x, "w" + i)``), nor what
objects of extension modules hold, nor changes in place of NumPy's arrays.
"""

from __future__ import annotations

import collections
import contextvars
import functools
import os
import sys
import types
import weakref
from collections.abc import Callable, Iterable
from operator import is_
from typing import Any

from ._core import Array, Device, DType, Mesh

_PLAIN = frozenset((bool, int, float, complex, str, bytes))
_CONSTANTS = frozenset((Array, DType, Device, Mesh, type(None), *_PLAIN))
_BUILTINS = (types.BuiltinFunctionType, types.MethodWrapperType)
_ABSENT = object()
# Variables and containers that are looked at before a call.
_MOST = 10_000
# Methods that a traced function does not call by an operator, and those that only making an object calls.
_UNUSED = frozenset(("__repr__", "__str__", "__del__", "__reduce__", "__reduce_ex__", "__getstate__", "__setstate__"))
_MAKING = frozenset(("__init__", "__new__", "__post_init__", "__init_subclass__", "__set_name__"))
_BY_TEXT = frozenset(("getattr", "hasattr", "attrgetter", "vars", "__dict__", "AttributeError"))

_OURS = os.path.dirname(os.path.abspath(__file__)) + os.sep
_INSTALLED = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")


def _is_same(now: Any, before: Any) -> bool:
    """Returns whether two values that are not one object are equal constants; -0.0 is not 0.0."""
    return type(now) is type(before) and type(now) in _PLAIN and repr(now) == repr(before)


def _is_other_list(items: Iterable[Any], elements: tuple[Any, ...]) -> bool:
    now = tuple(items)
    return len(now) != len(elements) or not all(map(is_, now, elements))


def _is_other_dict(pairs: Any, keys: list[Any], values: tuple[Any, ...]) -> bool:
    return len(pairs) != len(keys) or not (all(map(is_, pairs.values(), values)) and all(map(is_, pairs, keys)))


@functools.cache
def _standard() -> tuple[str, ...]:
    """Returns the folders of Python's standard library."""
    import sysconfig

    return tuple({sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib")})


@functools.cache
def _is_standard(path: str) -> bool:
    """Returns whether a file is of Python's standard library, or of NumPy."""
    if path.startswith("<frozen "):
        return True
    numpy = getattr(sys.modules.get("numpy"), "__file__", None)
    if numpy is not None and path.startswith(os.path.dirname(numpy) + os.sep):
        return True
    return path.startswith(_standard()) and not any(folder in path for folder in _INSTALLED)


def _is_constant_module(module: types.ModuleType) -> bool:
    path = getattr(module, "__file__", None)
    if path is None:
        return module.__name__.partition(".")[0] in sys.builtin_module_names
    return path.startswith(_OURS) or _is_standard(path)


def _is_ours(kind: type) -> bool:
    return str(kind.__module__).partition(".")[0] == "lazyxla"


def _is_constant_class(kind: type) -> bool:
    """Returns whether a class is of Python, of its standard library, of NumPy, or of this package."""
    if kind.__module__ == "builtins" or _is_ours(kind):
        return True
    module = sys.modules.get(kind.__module__)
    return module is not None and _is_constant_module(module)


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return _ABSENT


def _slots_of(value: Any) -> Callable[..., Any]:
    """Returns a function that gets slots of an object, without keeping it alive where that is possible."""
    try:
        of = weakref.ref(value)
    except TypeError:
        return functools.partial(getattr, value)
    return lambda name, default: getattr(of(), name, default)


def _imported(code: types.CodeType, variables: dict[str, Any]) -> list[str]:
    """Returns the names of modules that import statements within a function may give."""
    import dis
    from importlib.util import resolve_name

    names: list[str] = []
    if dis.opmap["IMPORT_NAME"] not in code.co_code[::2]:
        return names
    for each in dis.get_instructions(code):
        if each.opname == "IMPORT_NAME":
            package = variables.get("__package__") or ""
            names.append(each.argval)
            if package:
                names += [resolve_name("." + each.argval, package), package]
        elif each.opname == "IMPORT_FROM":
            names += [f"{module}.{each.argval}" for module in names[-3:]]
    return names


class Outside:
    """Variables that a function reads, and what they reach, as they are now."""

    def __init__(self, function: Any, arguments: Iterable[Any] = ()) -> None:
        self._variables: list[tuple[Callable[..., Any], str, Any]] = []
        self._cells: list[tuple[Any, str, Any]] = []
        self._lists: list[tuple[Any, str, tuple[Any, ...]]] = []
        self._dicts: list[tuple[Any, str, list[Any], tuple[Any, ...]]] = []
        # True if there is more than what is looked at.
        self.is_full = False
        # While it is collected: names of attributes and globals in the code, those that may be absent, objects that may
        # have them, and what was seen already, by identity.
        self._names: dict[str, None] = {}
        self._optional: dict[str, None] = {}
        self._objects: list[tuple[list[Any], set[str], Any]] = []
        self._seen: dict[Any, Any] = {}
        try:
            for root in (function, *arguments):
                self._reach(root, getattr(root, "__name__", type(root).__name__))
            self._attributes()
        except RecursionError:
            self.is_full = True
        del self._names, self._optional, self._objects, self._seen

    def changed(self) -> str | None:
        """Returns the name of something that is no longer the same, or None."""
        for get, name, before in self._variables:
            now = get(name, _ABSENT)
            if now is not before and not _is_same(now, before):
                return name
        for cell, name, before in self._cells:
            now = _content(cell)
            if now is not before and not _is_same(now, before):
                return name
        name = ""
        try:
            for items, name, elements in self._lists:
                if _is_other_list(items, elements):
                    return name
            for pairs, name, keys, values in self._dicts:
                if _is_other_dict(pairs, keys, values):
                    return name
        except RuntimeError:
            # Another thread changes its size.
            return name
        return None

    def _has_room(self) -> bool:
        count = len(self._variables) + len(self._cells) + len(self._lists) + len(self._dicts)
        self.is_full = self.is_full or count >= _MOST
        return not self.is_full

    def _reach(self, value: Any, name: str) -> None:
        """Adds what a value reaches."""
        if type(value) in _CONSTANTS or id(value) in self._seen or not self._has_room():
            return
        self._seen[id(value)] = value
        if isinstance(value, types.FunctionType):
            self._function(value)
        elif isinstance(value, types.MethodType):
            self._all((value.__self__, value.__func__), name)
        elif isinstance(value, _BUILTINS):
            self._reach(value.__self__, name)
        elif isinstance(value, types.ModuleType):
            if not _is_constant_module(value):
                self._objects.append(([vars(value)], set(), None))
        elif isinstance(value, type):
            self._class(value, name)
        else:
            self._container(value, name)
            self._object(value, name)

    def _all(self, values: Iterable[Any], name: str) -> None:
        for each in values:
            self._reach(each, name)

    def _container(self, value: Any, name: str) -> None:
        """Adds the elements of an object of the standard library, and functions that it wraps."""
        if isinstance(value, (tuple, frozenset)):
            self._all(value, name)
        elif isinstance(value, (list, set, collections.deque)):
            self._lists.append((value, name, tuple(value)))
            self._all(value, name)
        elif isinstance(value, (dict, types.MappingProxyType)):
            self._dicts.append((value, name, list(value), tuple(value.values())))
            self._all(value.values(), name)
        elif isinstance(value, functools.partial):
            self._all((value.func, value.args, value.keywords), name)
        elif isinstance(value, functools.partialmethod):
            self._all((value.func, value.args, value.keywords), name)
        elif isinstance(value, property):
            self._reach(value.fget, name)
        elif isinstance(value, functools.cached_property):
            self._reach(value.func, name)
        elif isinstance(value, contextvars.ContextVar):
            self._variable(lambda _, default: value.get(default), name)
        elif isinstance(value, weakref.ref):
            self._reach(value(), name)
        elif isinstance(value, (staticmethod, classmethod, functools._lru_cache_wrapper)):
            self._reach(value.__wrapped__, name)

    def _object(self, value: Any, name: str) -> None:
        """Adds an object: it has attributes, or the first of its classes that has them."""
        classes = type(value).__mro__
        try:
            own = value.__dict__
        except Exception:  # Objects may compute attributes.
            own = None
        if any(map(_is_ours, classes)):
            # A jitted function, or one with a derivative of its own.
            for attribute in ("_fun", "_rule"):
                if isinstance(own, dict) and (inner := getattr(value, attribute, None)) is not None:
                    self._variables.append((own.get, attribute, inner))
                    self._reach(inner, name)
        users = [each for each in classes if not _is_constant_class(each)]
        if not users:
            # Methods of the standard library may read all of it.
            if isinstance(own, dict) and not _is_ours(type(value)):
                self._container(own, name)
                self._objects.append(([own], set(), None))
            return
        spaces = [own] if isinstance(own, dict) else []
        self._objects.append(([*spaces, *map(vars, users)], set(), value))
        for each in users:
            self._operators(each, name)

    def _class(self, value: type, name: str) -> None:
        """Adds a class: it, one of its bases, or else its metaclass has an attribute."""
        metaclass: type = type(value)
        users = [each for each in (*value.__mro__, *metaclass.__mro__) if not _is_constant_class(each)]
        if users:
            self._objects.append(([*map(vars, users)], set(), None))
            for each in users:
                self._operators(each, name)
                self._all((vars(each)[method] for method in _MAKING if method in vars(each)), name)

    def _operators(self, kind: type, name: str) -> None:
        """Adds the methods of a class that are called without their names: by operators, calls, statements."""
        if (id(kind), "operators") in self._seen:
            return
        self._seen[id(kind), "operators"] = kind
        for method, value in list(vars(kind).items()):
            if method.startswith("__") and isinstance(value, types.FunctionType):
                if method not in _UNUSED and method not in _MAKING:
                    self._variables.append((vars(kind).get, method, value))
                    self._reach(value, name)

    def _function(self, function: types.FunctionType) -> None:
        path = function.__code__.co_filename
        # Such functions reach functions that they wrap by cells, and read no globals that change.
        if not path.startswith(_OURS) and not _is_standard(path):
            self._code(function.__code__, function.__globals__)
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            content = _content(cell)
            self._cells.append((cell, name, content))
            if content is not _ABSENT:
                self._reach(content, name)
        self._all((*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()), function.__name__)
        if function.__dict__:
            self._objects.append(([function.__dict__], set(), None))

    def _code(self, code: types.CodeType, variables: dict[str, Any]) -> None:
        names = dict.fromkeys(code.co_names)
        if not _BY_TEXT.isdisjoint(names):
            texts = dict.fromkeys(x for x in code.co_consts if isinstance(x, str) and x.isidentifier())
            self._optional.update(names if "AttributeError" in names else texts)
            names.update(texts)
        self._names.update(names)
        for name in names:
            if name in variables:
                self._variable(variables.get, name)
        for name in _imported(code, variables):
            self._variable(sys.modules.get, name)
        for inner in code.co_consts:
            if isinstance(inner, types.CodeType):
                self._code(inner, variables)

    def _variable(self, get: Callable[..., Any], name: str) -> None:
        """Adds a global, or an attribute by its name."""
        value = get(name, _ABSENT)
        if isinstance(value, types.ModuleType) and value.__name__.partition(".")[0] == "lazyxla":
            return
        if self._has_room():
            self._variables.append((get, name, value))
            if value is not _ABSENT:
                self._reach(value, name)

    def _attributes(self) -> None:
        """Adds attributes whose names are in the code, until nothing is new."""
        again = True
        while again and self._has_room():
            again = False
            for spaces, done, value in list(self._objects):
                for name in [name for name in self._names if name not in done]:
                    place = next((i for i, space in enumerate(spaces) if name in space), None)
                    if place is None:
                        continue
                    done.add(name)
                    again = True
                    self._variables += [(space.get, name, _ABSENT) for space in spaces[:place]]
                    if value is not None and isinstance(spaces[place][name], types.MemberDescriptorType):
                        self._variable(_slots_of(value), name)
                    else:
                        self._variable(spaces[place].get, name)
                    # A property, or another descriptor, that the object's own value does not hide.
                    self._all((space[name] for space in spaces[place + 1 :] if name in space), name)
        for spaces, done, _ in self._objects:
            for name in self._optional:
                if name not in done and self._has_room():
                    self._variables += [(space.get, name, _ABSENT) for space in spaces]
