"""Functions that are called with placeholders, which have a shape and a dtype but no value, to record what they do."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from . import _core
from ._core import Array, Computation
from ._creation import asarray
from ._device import default_device
from ._tree import Leaves, flatten, unflatten

FLOATS = ("real floating", "complex floating")


class _Depth(threading.local):
    """The number of functions that a thread is tracing."""

    number = 0


_depth = _Depth()


def is_tracing() -> bool:
    """Returns whether this thread traces a function."""
    return _depth.number > 0


def _ended(parameters: list[Array], results: list[Array]) -> tuple[Computation, list[Array], bool]:
    """Ends the trace; returns the computation, the arrays from outside that are operands, and whether it holds for
    further calls."""
    try:
        return _core.end_trace(parameters, results)
    except ValueError:
        devices = [list({str(x.device): None for x in arrays}) for arrays in (parameters, results)]
        if len({*devices[0], *devices[1]}) < 2:
            raise
        given, made = (", ".join(each) for each in devices)
        raise ValueError(
            f"a traced function takes arrays on {given}, and returns arrays on {made}: all of them have to be on one "
            f"device. Move the arguments before the call, by x.to_device(device) or lx.shard(x, mesh, sharding)"
        ) from None


def _result(function: Callable[..., Any], args: Any, kwargs: Any, is_kept: bool) -> Any:
    """Returns the result of a function; of one whose computation is kept, if it does not change its arguments."""
    if not is_kept:
        return function(*args, **kwargs)
    # The arguments are from outside of the call, within the trace.
    _core.begin_arguments()
    try:
        return function(*args, **kwargs)
    finally:
        _core.end_arguments()


class Traced:
    """A function traced with placeholders for the arrays among some leaves."""

    def __init__(
        self,
        function: Callable[..., Any],
        leaves: list[Any],
        spec: Any,
        likes: Sequence[Array] | None = None,
        *,
        keep: _core.Device | None = None,
        is_whole: bool = True,
    ) -> None:
        """``likes`` gives the types of the arrays among the leaves; it defaults to these arrays.

        ``keep`` is given if the computation is for further calls, and is the device if no leaf is an array. Arrays from
        outside are then parameters after those of the leaves, and ``captured`` lists them. ``holds`` is false if the
        computation contains the value of an array from outside, so that it is not right for further calls.

        All that the function records belongs to the computation, unless ``is_whole`` is false: then what depends on no
        parameter is computed outside, once, and can be read while the function is traced.
        """
        self.places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, Array)]
        arrays = [leaves[i] for i in self.places] if likes is None else likes
        self.device = arrays[0].device if arrays else keep or default_device()
        inner = list(leaves)
        _core.begin_trace(None if keep is None else self.device, is_whole)
        _depth.number += 1
        try:
            parameters = [_core.placeholder_like(like) for like in arrays]
            for place, parameter in zip(self.places, parameters, strict=True):
                # The function gets a copy: after an operation in place, the array would no longer be the parameter.
                inner[place] = parameter.copy()
            args, kwargs = unflatten(spec, inner)
            self.tree = Leaves(_result(function, args, kwargs, keep is not None), self.device)
            # A result may be an array from outside: an operation, a copy, puts its parameter in its place.
            self.results = [x.copy() for x in self.tree.arrays] if keep is not None else self.tree.arrays
            if not self.results:
                kinds = ", ".join(sorted({type(leaf).__name__ for leaf in self.tree.statics.values()}))
                raise TypeError(f"a traced function returns at least one array, not {kinds or 'an empty tree'}")
            self.computation, self.captured, self.holds = _ended(parameters, self.results)
        except BaseException:
            _core.abandon_trace()
            raise
        finally:
            _depth.number -= 1
        self.count = len(self.results)
        self._derived: dict[Any, Any] = {}
        if keep is not None:
            # They have no values, and each step would look at them.
            self.results, self.tree.arrays = [], []

    def derived(self, how: Callable[[Computation], Any], key: Any) -> Any:
        """Returns a derivative of the computation; the same one for each key."""
        if key not in self._derived:
            self._derived[key] = how(self.computation)
        return self._derived[key]

    def call(self, arrays: Sequence[Array]) -> Any:
        """Returns the results for the arrays among the leaves."""
        return self.tree.rebuild(self.computation.call([*arrays, *self.captured]))


def array_leaves(tree: Any) -> tuple[list[Any], Any]:
    """Returns the leaves of arguments and their structure; arrays of NumPy become arrays, as in jit. Scalars stay."""
    leaves, spec = flatten(tree)
    if any(map(_is_foreign, leaves)):
        device = device_of(tree)
        leaves = [asarray(leaf, device=device) if _is_foreign(leaf) else leaf for leaf in leaves]
    return leaves, spec


def with_arrays(tree: Any) -> Any:
    """Returns a tree with arrays in place of those of NumPy."""
    leaves, spec = flatten(tree)
    return unflatten(spec, array_leaves(tree)[0]) if any(map(_is_foreign, leaves)) else tree


def _is_foreign(leaf: Any) -> bool:
    return not isinstance(leaf, Array) and hasattr(leaf, "__array_interface__") and leaf.shape != ()


def call(leaves: Sequence[Any], computation: Computation) -> list[Array]:
    return computation.call([leaf for leaf in leaves if isinstance(leaf, Array)])


def has_derivatives(x: Array) -> bool:
    """Returns whether an array has derivatives. Floats of 4 bits have none, as integers."""
    return x.dtype.kind in FLOATS and x.dtype != _core.float4_e2m1fn


def differentiable(leaf: Any, of: str, device: _core.Device) -> Array:
    if isinstance(leaf, (float, complex)) or (not isinstance(leaf, Array) and hasattr(leaf, "__array_interface__")):
        leaf = asarray(leaf, device=device)
    if not isinstance(leaf, Array) or not has_derivatives(leaf):
        found = leaf.dtype.name if isinstance(leaf, Array) else type(leaf).__name__
        raise TypeError(
            f"{of} takes arrays of float and complex dtypes to differentiate by, not {found}{_remedy(leaf)}"
        )
    return leaf


def _remedy(leaf: Any) -> str:
    """Returns how to write a number or an array of integers as one of floats, for an error."""
    if isinstance(leaf, Array):
        return ": convert it, by x.astype(float)"
    return f": pass a float, {float(leaf)!r} or float(x)" if isinstance(leaf, int) and abs(leaf) < 2**53 else ""


def differentiables(leaves: Sequence[Any], of: str, device: _core.Device) -> list[Any]:
    """Returns leaves as arrays, None among them."""
    return [None if leaf is None else differentiable(leaf, of, device) for leaf in leaves]


def spread(like: Sequence[Any], values: Sequence[Any]) -> list[Any]:
    """Returns values for the arrays among some leaves, and None for the others."""
    found = iter(values)
    return [None if leaf is None else next(found) for leaf in like]


def device_of(tree: Any) -> _core.Device:
    return next((leaf.device for leaf in flatten(tree)[0] if isinstance(leaf, Array)), default_device())


def like_of(value: Any, like: Array) -> Array:
    """Returns a tangent or cotangent as an array of the type of its value."""
    if not isinstance(value, Array) and hasattr(value, "__array_interface__"):
        value = asarray(value, device=like.device)
    if not isinstance(value, Array):
        return _core.full(like.shape, value, like.dtype, like.device)
    if value.shape != like.shape or value.dtype != like.dtype:
        raise (ValueError if value.dtype == like.dtype else TypeError)(
            f"a tangent of {value.dtype.name}{list(value.shape)} for a value of {like.dtype.name}{list(like.shape)}"
        )
    return value


def zero_of(y: Array) -> Array:
    return _core.full(y.shape, False if y.dtype.kind == "bool" else 0, y.dtype, y.device)
