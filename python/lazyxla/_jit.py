"""Functions that are traced once for each structure and types of their arguments."""

from __future__ import annotations

import functools
import types
import warnings
from collections.abc import Callable
from typing import Any

from . import _core
from ._core import Array
from ._device import default_device
from ._outside import Outside
from ._trace import Traced
from ._tree import flatten

# Kinds of arguments that one function keeps computations of, and retracings by changes from outside before a warning.
_MOST_KINDS = 64
_MOST_CHANGES = 8
_ONLY_ARRAYS = {Array}


class Jit:
    """A function that ``lx.jit`` returned."""

    __wrapped__: Callable[..., Any]

    def __init__(self, fun: Callable[..., Any], prepare: Callable[[tuple[Any, ...]], tuple[Any, ...]] | None = None):
        if not callable(fun):
            raise TypeError(f"jit() takes a function, not a {type(fun).__name__}")
        functools.update_wrapper(self, fun)
        self._fun = fun
        self._prepare = prepare
        self._kept: dict[Any, tuple[Traced, Outside]] = {}
        self._changes = 0
        self._is_warned = False

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._prepare is not None:
            args = self._prepare(args)
        if not kwargs and {*map(type, args)} == _ONLY_ARRAYS:
            # Without a tree: flattening takes longer than all else of a call.
            key, arrays = _core.signature(list(args), len(args), default_device())
            kept = self._kept.get(key)
            if kept is not None and kept[1].changed() is None:
                return kept[0].call(arrays)
            return self.find(args, {}, key)[0].call(arrays)
        traced, arrays = self.find(args, kwargs)
        return traced.call(arrays)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    @property
    def kinds(self) -> int:
        """The number of structures and types of arguments for which a computation is kept."""
        return len(self._kept)

    def clear(self) -> None:
        """Drops the computations: the next call traces the function."""
        self._kept.clear()

    def find(self, args: Any, kwargs: dict[str, Any], key: Any = None) -> tuple[Traced, list[Array]]:
        """Returns the computation for arguments, and the arrays among their leaves; ``key`` is that of arrays alone."""
        device = default_device()
        leaves, spec = flatten((args, kwargs))
        arrays = leaves
        if key is None:
            key, arrays = _core.signature(leaves, spec, device)
        kept = self._kept.get(key)
        if kept is not None:
            name = kept[1].changed()
            if name is None:
                return kept[0], arrays
            self._changes += 1
            if self._changes == _MOST_CHANGES:
                self._warn(
                    f"reads {name!r} from outside, which has changed {_MOST_CHANGES} times: each change traces the "
                    f"function again. Make it an argument"
                )
        found = iter(arrays)
        leaves = [next(found) if isinstance(x, Array) or hasattr(x, "__array_interface__") else x for x in leaves]
        outside = Outside(self._fun, key[2:])
        traced = Traced(self._fun, leaves, spec, keep=device)
        if traced.holds:
            outside.settle()
            self._keep(key, traced, outside)
        else:
            self._kept.pop(key, None)
        return traced, arrays

    def _keep(self, key: Any, traced: Traced, outside: Outside) -> None:
        while len(self._kept) >= _MOST_KINDS and key not in self._kept:
            self._warn(
                f"was called with more than {_MOST_KINDS} kinds of arguments; computations of the first ones are "
                f"dropped. Python's numbers and other arguments that are no arrays are constants: pass a number that "
                f"changes as an array, by lx.asarray"
            )
            self._kept.pop(next(iter(self._kept), None), None)
        self._kept[key] = (traced, outside)

    def _warn(self, text: str) -> None:
        if not self._is_warned:
            self._is_warned = True
            name = getattr(self._fun, "__qualname__", "a function")
            warnings.warn(f"the jitted function {name} {text}", RuntimeWarning, stacklevel=5)


def jit(fun: Callable[..., Any]) -> Jit:
    """Returns a function that is traced once for each structure and types of its arguments; later calls record what it
    did, as one operation.

    The types are dtype, shape and device of arrays (those of NumPy become arrays), and the default device. All other
    arguments are constants of the computation: numbers, texts, dtypes, functions and other objects with a hash. A
    number that changes from call to call should be an array. The newest 64 computations are kept.

    What the function reads from outside:

    - Arrays are operands, which have their present values in each call, also after operations in place. If the
      function reads the value of one (``float(w)``), or takes one from another device, it is traced in each call.
    - Variables of enclosing functions, globals, and attributes and elements that the function reaches through them: if
      one has become another array, number, text or function, the function is traced again. Changes in place of other
      objects, such as NumPy's arrays, are not seen: ``clear()`` drops the computations.

    A function that changes arrays from outside in place is a RuntimeError: return the new value. Other effects, such as
    ``print``, happen when the function is traced.

    ``grad``, ``value_and_grad``, ``vjp``, ``jvp``, ``vmap`` and ``checkpoint`` of a jitted function are traced once,
    too: ``lx.grad(lx.jit(f))`` is ``lx.jit(lx.grad(f))``. ``scan`` and other loops repeat its computation.

    >>> import lazyxla as lx
    >>> @lx.jit
    ... def area(radius):
    ...     print("traced")
    ...     return lx.pi * radius**2
    >>> radii = lx.asarray([1.0, 2.0])
    >>> area(radii).shape, area(radii + 1).shape
    traced
    ((2,), (2,))
    """
    return fun if isinstance(fun, Jit) else Jit(fun)
