"""Errors for names of other libraries that are missing here: they say what to write."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from types import ModuleType
from typing import Any

from ._core import Array

# Where a name of the package itself is looked for, if it has another place.
_MODULES = ("nn", "linalg", "random", "special", "fft", "optim", "tree")


def of_package(name: str, names: Sequence[str]) -> str:
    """Returns the message for a name that the package lacks: what stands for it here, or names that are like it."""
    from ._other_names import said

    modules = {each: sys.modules[f"{__package__}.{each}"] for each in _MODULES}
    near = [f"{each}.{name}" for each, module in modules.items() if name in module.__all__]
    text = None if near else said("", name)
    return f"lazyxla has no {name!r}" + (_instead(text) if text else _near("lx", name, near, names))


def _instead(text: str) -> str:
    # A sentence, or code.
    return f". {text}" if text[0].isupper() and " " in text else f"; write {text}"


def _near(prefix: str, name: str, near: list[str], names: Sequence[str]) -> str:
    import difflib

    near = near or difflib.get_close_matches(name, names, 3, 0.7)
    return f"; there is {', '.join(f'{prefix}.{each}' for each in near)}" if near else ""


def _of_module(module: ModuleType) -> Any:
    own = module.__name__.rpartition(".")[2]

    def __getattr__(name: str) -> object:
        from ._other_names import said

        text = said(own, name)
        what = _instead(text) if text else _near(f"lx.{own}", name, [], module.__all__)
        raise AttributeError(f"lazyxla.{own} has no {name!r}{what}")

    return __getattr__


class _Missing:
    """A method of other libraries that arrays lack: to ask for it is an AttributeError, which says what to write."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, array: Any, kind: Any = None) -> Any:
        from ._other_names import methods

        raise AttributeError(f"an array has no {self._name!r}{_instead(methods()[self._name])}")


def _names_of(array: Array) -> Iterable[str]:
    """Returns the names of the attributes of an array, for completion: without those that it lacks."""
    kind: Any = type(array)
    return sorted(name for name in object.__dir__(array) if not isinstance(vars(kind).get(name), _Missing))


def install(modules: Iterable[ModuleType]) -> None:
    """Gives modules and arrays their errors for missing names."""
    from ._other_names import FUNCTIONS_ONLY, METHODS

    for module in modules:
        vars(module)["__getattr__"] = _of_module(module)
    for name in (*METHODS, *(each.rpartition(".")[2] for each in FUNCTIONS_ONLY.split())):
        setattr(Array, name, _Missing(name))
    Array.__dir__ = _names_of  # type: ignore[method-assign, assignment]
