"""Functions that are traced once for each structure and types of their arguments."""

from __future__ import annotations

import collections
import functools
import threading
import types
import warnings
import weakref
from collections.abc import Callable, Sequence
from typing import Any, overload

from . import _core
from ._checks import a_function
from ._core import Array, Device, DType
from ._device import default_device
from ._outside import Outside
from ._static import Constant, Static, with_values
from ._trace import Traced
from ._tree import flatten, is_plain

# The number of kinds of arguments (texts of 1,000 lengths are as many) for which one function keeps computations; the
# number of kinds that leads to a warning; the number of changes from outside that does.
_MOST_KINDS = 1024
_MANY_KINDS = 64
_MOST_CHANGES = 8
_OPTIONS = ("static_argnums", "static_argnames"), ("donate_argnums", "donate_argnames")
_ONLY_TEXTS = {str}
# Arguments of these types are compared by their values, all others by identity.
_BY_VALUE = (bool, int, float, complex, str, bytes, type(None), DType, Device, Constant)
# Of all functions: a lock in each one could not be copied. Callbacks of weak references may enter it again.
_LOCK = threading.RLock()


class _Identity:
    """An argument as a part of a key: equal to the same object only, which it does not keep alive where possible."""

    __slots__ = ("_hash", "_of")

    def __init__(self, value: Any, gone: Callable[[Any], None] | None = None) -> None:
        self._hash = id(value)
        try:
            self._of: Callable[[], Any] = weakref.ref(value, gone)
        except TypeError:
            self._of = lambda: value

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        mine = self._of()
        return isinstance(other, _Identity) and mine is not None and mine is other._of()


def _part(value: Any, gone: Callable[[Any], None] | None = None) -> Any:
    """Returns a part of a key for an argument that is not an array."""
    kind = type(value)
    if kind in _BY_VALUE:
        return kind, value
    if kind is frozenset:
        # In its order, which equal sets may differ in.
        return kind, *((type(each), repr(each)) if type(each) in _BY_VALUE else _part(each) for each in value)
    if kind is types.MethodType:
        return kind, _Identity(value.__self__, gone), _Identity(value.__func__, gone)
    return _Identity(value, gone)


def _keys(tree: Any, spec: Any) -> tuple[Any, ...]:
    """Returns the keys of all dictionaries in a tree, in their order: structures are equal whatever their order is, and
    for equal keys, such as 1, 1.0 and True."""
    found: list[Any] = []
    nodes, is_known = [tree], True
    while nodes:
        node = nodes.pop()
        kind = type(node)
        if isinstance(node, dict):
            found.append((*node,))
            if {*map(type, node)} != _ONLY_TEXTS:
                found.append(repr([*node]))
            nodes += node.values()
        elif isinstance(node, (tuple, list, collections.deque)):
            nodes += node
        elif kind is not Array and kind not in _BY_VALUE and not hasattr(node, "__array_interface__"):
            is_known = False
    # Other objects may be trees with keys.
    return (*found,) if is_known else (*found, repr(spec))


class _Kept:
    """A computation that is kept, with what the function read from outside, and when it was used last."""

    __slots__ = ("outside", "plain", "traced", "used")

    def __init__(self, traced: Traced, outside: Outside, used: int) -> None:
        self.traced, self.outside, self.used = traced, outside, used
        # The key of `_core.plain_signature`, if it has one.
        self.plain: bytes | None = None


class Jit:
    """A function that ``lx.jit`` returned."""

    __wrapped__: Callable[..., Any]

    def __init__(
        self,
        fun: Callable[..., Any],
        prepare: Callable[[tuple[Any, ...], dict[str, Any]], tuple[Any, ...]] | None = None,
        static: Static | None = None,
    ) -> None:
        """``prepare`` returns the positional arguments as the function takes them."""
        a_function(fun, "jit", "fun")
        functools.update_wrapper(self, fun)
        self._fun = fun
        self._prepare = prepare
        self.static = static
        self._kept: dict[Any, _Kept] = {}
        self._plain: dict[bytes, _Kept] = {}
        self._clock = self._traces = self._changes = self._unkept = self._gone = 0
        self._warned: set[str] = set()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._prepare is not None:
            args = self._prepare(args, kwargs)
        found = None if self.static is not None else _core.plain_signature(args, kwargs, default_device())
        if found is None:
            traced, arrays = self.find(args, kwargs)
            return traced.call(arrays)
        kept = self._plain.get(found[0])
        if kept is not None and kept.outside.changed() is None:
            self._clock = kept.used = self._clock + 1
            return kept.traced.call(found[1])
        # `find` returns the arrays in the order of optree, which may be another one.
        traced, arrays = self.find(args, kwargs, found[0])
        return traced.call(arrays)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    @property
    def kinds(self) -> int:
        """The number of structures and types of arguments for which a computation is kept."""
        return len(self._kept)

    @property
    def traces(self) -> int:
        """The number of times that the function has been traced."""
        return self._traces

    def clear(self) -> None:
        """Drops the computations: the next call traces the function."""
        with _LOCK:
            self._kept.clear()
            self._plain.clear()

    def find(self, args: Any, kwargs: dict[str, Any], plain: bytes | None = None) -> tuple[Traced, list[Array]]:
        """Returns the computation for arguments, and the arrays among their leaves. ``plain`` is the key of
        ``_core.plain_signature``, by which later calls find it."""
        device = default_device()
        if self.static is not None:
            args, kwargs = self.static.marked(args, kwargs)
        leaves, spec = flatten((args, kwargs))
        found, arrays = _core.signature(leaves, spec, device)
        others: Sequence[Any] = found[3::2]
        key = (found[0], spec, _keys((args, kwargs), spec), *map(_part, others))
        kept = self._kept.get(key)
        if kept is not None:
            name = kept.outside.changed()
            if name is None:
                self._clock = kept.used = self._clock + 1
                self._note_plain(key, plain, leaves, spec, (args, kwargs))
                return kept.traced, arrays
            self._drop_changed()
            self._changes += 1
            if self._changes == _MOST_CHANGES:
                self._warn(
                    f"reads {name!r} from outside, which has changed {_MOST_CHANGES} times: each change traces the "
                    f"function again. Make it an argument"
                )
        walked, given = leaves, iter(arrays)
        leaves = [next(given) if isinstance(x, Array) or hasattr(x, "__array_interface__") else x for x in leaves]
        outside = Outside(self._fun, [x.value if isinstance(x, Constant) else x for x in others])
        self._traces += 1
        function = self._fun if self.static is None else with_values(self._fun)
        traced = Traced(function, leaves, spec, keep=device)
        if traced.holds and self._is_known(outside):
            self._keep(key, others, traced, outside)
            self._note_plain(key, plain, walked, spec, (args, kwargs))
        else:
            self._forget(key)
        return traced, arrays

    def _note_plain(self, key: Any, plain: bytes | None, leaves: list[Any], spec: Any, tree: Any) -> None:
        """Notes the key of ``_core.plain_signature`` of a computation, if that finds the arrays in the order of optree."""
        if plain is None or not is_plain(tree, leaves, spec):
            return
        with _LOCK:
            kept = self._kept.get(key)
            if kept is not None:
                if kept.plain is not None:
                    self._plain.pop(kept.plain, None)
                kept.plain, self._plain[plain] = plain, kept

    def _forget(self, key: Any) -> bool:
        """Drops the computation of a key; returns whether there was one."""
        with _LOCK:
            kept = self._kept.pop(key, None)
            if kept is not None and kept.plain is not None:
                self._plain.pop(kept.plain, None)
        return kept is not None

    def _drop_changed(self) -> None:
        """Drops the computations that are not right any more: they hold what the variables were."""
        for key, kept in self._kept.copy().items():
            if kept.outside.changed() is not None:
                self._forget(key)

    def _is_known(self, outside: Outside) -> bool:
        """Returns whether later calls can see that something from outside has changed since the trace began."""
        if outside.is_full:
            self._warn("reaches too many variables from outside to look at: it is traced in each call. Pass arguments")
            return False
        name = outside.changed()
        if name is None:
            return True
        self._unkept += 1
        if self._unkept == _MOST_CHANGES:
            self._warn(
                f"reads {name!r} from outside, which has changed while it was traced, {_MOST_CHANGES} times: the "
                f"function is traced in each call. Take it as an argument, and return its new value"
            )
        return False

    def _keep(self, key: Any, others: Sequence[Any], traced: Traced, outside: Outside) -> None:
        with _LOCK:
            if len(self._kept) >= _MANY_KINDS and key not in self._kept:
                self._warn(
                    f"was called with more than {_MANY_KINDS} kinds of arguments, and is traced for each. Python's "
                    f"numbers and other arguments that are not arrays are constants: pass a number that changes as an "
                    f"array, by lx.asarray. Each shape of an array is a kind, also if "
                    f"dynamic_sizes compiles a program for many shapes; {_MOST_KINDS} kinds are kept"
                )
            while len(self._kept) >= _MOST_KINDS and key not in self._kept:
                pairs = self._kept.copy().items()
                self._forget(min(pairs, key=lambda pair: pair[1].used)[0])
            if others:
                # The end of an argument drops its computations.
                me = weakref.ref(self)

                def gone(_: Any) -> None:
                    if (jitted := me()) is not None:
                        jitted._drop(key)

                key = (*key[:3], *(_part(each, gone) for each in others))
            self._forget(key)
            self._clock += 1
            self._kept[key] = _Kept(traced, outside, self._clock)

    def _drop(self, key: Any) -> None:
        if self._forget(key):
            self._gone += 1
            if self._gone == _MANY_KINDS:
                self._warn(
                    f"was traced for {_MANY_KINDS} objects that are gone, each of them an argument: objects are "
                    f"compared by identity. Pass one object several times, or what it holds"
                )

    def _warn(self, text: str) -> None:
        if text not in self._warned:
            self._warned.add(text)
            name = getattr(self._fun, "__qualname__", "a function")
            warnings.warn(f"the jitted function {name} {text}", RuntimeWarning, stacklevel=5)


@overload
def jit(
    fun: Callable[..., Any],
    *,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Sequence[str] | None = None,
    donate_argnums: int | Sequence[int] | None = None,
    donate_argnames: str | Sequence[str] | None = None,
) -> Jit: ...


@overload
def jit(
    fun: None = None,
    *,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Sequence[str] | None = None,
    donate_argnums: int | Sequence[int] | None = None,
    donate_argnames: str | Sequence[str] | None = None,
) -> Callable[[Callable[..., Any]], Jit]: ...


def jit(
    fun: Callable[..., Any] | None = None,
    *,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Sequence[str] | None = None,
    donate_argnums: int | Sequence[int] | None = None,
    donate_argnames: str | Sequence[str] | None = None,
) -> Any:
    """Returns a function that is traced once for each structure and types of its arguments; later calls record what it
    did, as one operation. A call first runs what earlier calls left pending, without waiting for it. Without ``fun``,
    returns a decorator with the options: ``@lx.jit(static_argnames="n")``.

    The types are dtype, shape and device of arrays (those of NumPy become arrays), and the default device. All other
    arguments are constants of the computation: numbers and texts, compared by type and value, and objects with a hash,
    compared by identity. A number that changes from call to call should be an array. 1024 computations are kept; that
    which was not used for the longest time is dropped first, and those of an object when it is gone.

    Arguments of ``static_argnums`` (positions) and ``static_argnames`` are constants as a whole, compared by type and by
    ``==``: an object of a class with ``__eq__`` and ``__hash__``, or a tuple of numbers that is a shape. They need a
    hash. A position also means the name of that argument, and a name its position.

    ``donate_argnums`` and ``donate_argnames`` may be given, as for JAX, and change nothing: the memory of an array that
    nothing holds any more is used for results without them, and an array that is still held keeps its value.

    The function has to be pure: its results depend on its arguments only. Variables from outside are read when it is
    traced:

    - Arrays are operands, which have their present values in each call, also after operations in place. If the
      function reads the value of one (``float(w)``), or takes one from another device, it is traced in each call.
    - These changes lead to a new trace: another array, number, text or object in a global, in a variable of an
      enclosing function, in an attribute (also in ``__slots__``), or in a list, tuple, dictionary, set or deque, which
      the function or those that it calls by name reach. If one of them changes while the function is traced, or there
      are more than 10000 of them, the function is traced in each call.
    - No other change is seen: in place of NumPy's arrays; of attributes and globals with names that are computed; of
      what objects of extension modules hold; of files and clocks; in functions of Python's standard library, of NumPy
      and of this package. Pass what changes as an argument; ``clear()`` drops the computations.

    A function that changes its arguments or arrays from outside in place is a RuntimeError: return the new value. Other
    effects, such as ``print``, happen when the function is traced. Threads that it starts are not a part of the trace:
    arrays from outside are constants in them. Numbers and bools among the results become arrays.

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
    options = (static_argnums, static_argnames), (donate_argnums, donate_argnames)
    if fun is None:
        return functools.partial(
            jit,
            static_argnums=static_argnums,
            static_argnames=static_argnames,
            donate_argnums=donate_argnums,
            donate_argnames=donate_argnames,
        )
    a_function(fun, "jit", "fun")
    static, donated = (
        None if given == (None, None) else Static(fun, *given, names) for given, names in zip(options, _OPTIONS)
    )
    if donated is not None and static is not None and (both := {*static.numbers} & {*donated.numbers}):
        raise ValueError(f"jit(): donate_argnums: {min(both)} is also static; only arrays have memory to donate")
    if isinstance(fun, Jit) and static is None:
        return fun
    return Jit(fun, None, static)
