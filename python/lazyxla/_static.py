"""Arguments of jitted functions that are constants by name or by place: ``static_argnums`` and ``static_argnames``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ._checks import kind_of
from ._core import Array
from ._sizes import integers


class Constant:
    """A static argument as a leaf of the arguments: equal to another one if types and values are equal."""

    __slots__ = ("_hash", "value")

    def __init__(self, value: Any) -> None:
        self.value, self._hash = value, hash((type(value), value))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Constant) or type(self.value) is not type(other.value):
            return False
        # The texts tell elements apart that are equal: 1, 1.0 and True, or 0.0 and -0.0.
        mine, given = self.value, other.value
        return mine is given or (bool(mine == given) and (not _has_numbers(mine) or repr(mine) == repr(given)))

    def __repr__(self) -> str:
        return repr(self.value)


def _has_numbers(value: Any) -> bool:
    return isinstance(value, (float, complex, tuple, frozenset))


def texts(value: Any, what: str) -> tuple[str, ...]:
    """Returns the names of one text or of a sequence of texts."""
    if not isinstance(value, (str, Iterable)):
        raise TypeError(f"jit(): {what} is a text or a sequence of texts, not {kind_of(value)}")
    names = (value,) if isinstance(value, str) else tuple(value)
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"jit(): {what} is a text or a sequence of texts, not one with {kind_of(name)}")
    return names


class Static:
    """Which arguments of a function are static: by position, and by name."""

    def __init__(self, fun: Callable[..., Any], numbers: Any, names: Any, what: tuple[str, str]) -> None:
        """``what`` are the names of the two options, for errors."""
        self._fun = fun
        self.numbers = tuple(integers(() if numbers is None else numbers, f"jit(): {what[0]}"))
        self.names = frozenset(texts(() if names is None else names, what[1]))
        self._places: list[str] = []
        self._resolve(what)

    def _resolve(self, what: tuple[str, str]) -> None:
        """Adds the names of positions and the positions of names, as far as the signature has them."""
        import inspect

        try:
            parameters = inspect.signature(self._fun).parameters
        except (TypeError, ValueError):
            return  # functions of extension modules may have none
        kinds = inspect.Parameter
        by_place = (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)
        self._places = [name for name, each in parameters.items() if each.kind in by_place]
        count, name_of = len(self._places), getattr(self._fun, "__name__", "the function")
        if not any(each.kind is kinds.VAR_POSITIONAL for each in parameters.values()):
            for number in self.numbers:
                if not -count <= number < count:
                    raise ValueError(f"jit(): {what[0]}: {number} given; {name_of} takes {count} positional arguments")
            self.numbers = tuple(number % count for number in self.numbers)
        if not any(each.kind is kinds.VAR_KEYWORD for each in parameters.values()):
            for name in self.names:
                if name not in parameters:
                    there = ", ".join(parameters) or "none"
                    raise ValueError(f"jit(): {what[1]}: {name!r} given; the arguments of {name_of} are {there}")
        named = [i for i, name in enumerate(self._places) if name in self.names]
        self.names |= {
            self._places[number]
            for number in self.numbers
            if 0 <= number < count and parameters[self._places[number]].kind is kinds.POSITIONAL_OR_KEYWORD
        }
        self.numbers = tuple(dict.fromkeys((*self.numbers, *named)))

    def _constant(self, value: Any, name: str) -> Constant:
        of = getattr(self._fun, "__name__", "the function")
        if isinstance(value, Array):
            raise TypeError(
                f"jit(): argument {name} of {of} is static, but {kind_of(value)} is given; want a constant with a hash: "
                f"an array is an operand, so drop it from the static arguments"
            )
        try:
            return Constant(value)
        except TypeError as error:
            raise TypeError(
                f"jit(): argument {name} of {of} is static, but {kind_of(value)} is given, which has no hash ({error}); "
                f"want a value with a hash, such as a number, a text or a tuple of these"
            ) from None

    def marked(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Returns the arguments with constants in place of those that are static."""
        found = list(args)
        for number in self.numbers:
            if -len(found) <= number < len(found):
                at = number % len(found)
                found[at] = self._constant(found[at], repr(self._places[at]) if at < len(self._places) else str(at))
        named = {
            name: self._constant(value, repr(name)) if name in self.names else value for name, value in kwargs.items()
        }
        return tuple(found), named


def with_values(fun: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function that takes constants, and passes their values to ``fun``."""

    def value_of(argument: Any) -> Any:
        return argument.value if isinstance(argument, Constant) else argument

    @functools.wraps(fun)
    def called(*args: Any, **kwargs: Any) -> Any:
        return fun(*map(value_of, args), **{name: value_of(value) for name, value in kwargs.items()})

    return called
