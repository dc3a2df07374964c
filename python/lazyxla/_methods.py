"""Methods of arrays: the functions of the package by the names and arguments of NumPy's methods, and ``x.at``.

Importing the module gives them to the class, whose Rust part has the operators and what creates and reads arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import _arranging, _core, _elementwise, _numerical, _reductions, _shapes, _statistics
from ._core import Array
from ._operands import in_floats
from ._shapes import Axis
from ._sizes import DTypeLike, normalized


def _sum(self: Array, axis: Axis = None, dtype: DTypeLike | None = None, keepdims: bool = False) -> Array:
    return _reductions.sum(self, axis=axis, dtype=dtype, keepdims=keepdims)


def _prod(self: Array, axis: Axis = None, dtype: DTypeLike | None = None, keepdims: bool = False) -> Array:
    return _reductions.prod(self, axis=axis, dtype=dtype, keepdims=keepdims)


def _mean(self: Array, axis: Axis = None, dtype: DTypeLike | None = None, keepdims: bool = False) -> Array:
    x = in_floats(self) if dtype is None else self.astype(dtype)
    return _reductions.mean(x, axis=axis, keepdims=keepdims)


def _var(
    self: Array, axis: Axis = None, dtype: DTypeLike | None = None, ddof: float = 0, keepdims: bool = False
) -> Array:
    x = in_floats(self) if dtype is None else self.astype(dtype)
    return _reductions.var(x, axis=axis, correction=ddof, keepdims=keepdims)


def _std(
    self: Array, axis: Axis = None, dtype: DTypeLike | None = None, ddof: float = 0, keepdims: bool = False
) -> Array:
    x = in_floats(self) if dtype is None else self.astype(dtype)
    return _reductions.std(x, axis=axis, correction=ddof, keepdims=keepdims)


def _over_axes(function: Callable[..., Array]) -> Callable[..., Array]:
    def method(self: Array, axis: Axis = None, keepdims: bool = False) -> Array:
        return function(self, axis=axis, keepdims=keepdims)

    return method


def _cumulative(function: Callable[..., Array]) -> Callable[..., Array]:
    def method(self: Array, axis: int | None = None, dtype: DTypeLike | None = None) -> Array:
        x = _shapes.reshape(self, (-1,)) if axis is None else self
        return function(x, axis=0 if axis is None else axis, dtype=dtype)

    return method


def _reshape(self: Array, *shape: Any, order: str = "C") -> Array:
    if order not in ("C", "A"):
        raise ValueError(f"reshape(): order is 'C', not {order!r}")
    return _shapes.reshape(self, shape[0] if len(shape) == 1 else shape)


def _transpose(self: Array, *axes: Any) -> Array:
    if len(axes) == 1 and (axes[0] is None or not hasattr(axes[0], "__index__")):
        return _arranging.transpose(self, axes[0])
    return _arranging.transpose(self, axes or None)


def _squeeze(self: Array, axis: Any = None) -> Array:
    return _shapes.squeeze(self, [at for at, size in enumerate(self.shape) if size == 1] if axis is None else axis)


def _take(self: Array, indices: Any, axis: int | None = None) -> Array:
    if not isinstance(indices, Array):
        return (_shapes.reshape(self, (-1,)) if axis is None else self)[(slice(None),) * _at(self, axis) + (indices,)]
    x = _shapes.reshape(self, (-1,)) if axis is None else self
    at = _at(self, axis)
    found = _core.take(x, _shapes.reshape(indices, (-1,)), at)
    return _shapes.reshape(found, (*x.shape[:at], *indices.shape, *x.shape[at + 1 :]))


def _at(x: Array, axis: int | None) -> int:
    return 0 if axis is None else normalized([axis], x.ndim)[0]


def _repeat(self: Array, repeats: Any, axis: int | None = None) -> Array:
    return _shapes.repeat(self, repeats, axis=axis)


def _sort(self: Array, axis: int = -1, descending: bool = False, stable: bool = True) -> Array:
    return _reductions.sort(self, axis=axis, descending=descending, stable=stable)


def _argsort(self: Array, axis: int = -1, descending: bool = False, stable: bool = True) -> Array:
    return _reductions.argsort(self, axis=axis, descending=descending, stable=stable)


def _clip(self: Array, min: Any = None, max: Any = None) -> Array:
    return _elementwise.clip(self, min, max)


def _searchsorted(self: Array, v: Any, side: str = "left", sorter: Array | None = None) -> Array:
    return _reductions.searchsorted(self, v, side=side, sorter=sorter)


def _fill(self: Array, value: Any) -> None:
    self[...] = value


def _numpy(self: Array) -> Any:
    return self.__array__()


def _block_until_ready(self: Array) -> Array:
    _core.compute([self], False, True)
    return self


class At:
    """``x.at[key]``: a copy of x with other elements at a key, as in JAX; x stays as it is."""

    __slots__ = ("_key", "_x")

    def __init__(self, x: Array, key: Any = None) -> None:
        self._x, self._key = x, key

    def __getitem__(self, key: Any) -> At:
        return At(self._x, key)

    def get(self) -> Array:
        """Returns ``x[key]``."""
        return self._x[self._key]

    def set(self, values: Any) -> Array:
        """Returns a copy of x with these values at the key."""
        found = self._x.copy()
        found[self._key] = values
        return found

    def add(self, values: Any) -> Array:
        """Returns a copy of x with values added; where indices are equal, all of them are."""
        return _shapes.scatter(self._x, self._key, values, how="add")

    def subtract(self, values: Any) -> Array:
        """Returns a copy of x with values subtracted; where indices are equal, all of them are."""
        return _shapes.scatter(self._x, self._key, -values, how="add")

    def multiply(self, values: Any) -> Array:
        """Returns a copy of x with elements times values; where indices are equal, times all of them."""
        return _shapes.scatter(self._x, self._key, values, how="multiply")

    def divide(self, values: Any) -> Array:
        """Returns a copy of x with elements divided by values; where indices are equal, by all of them."""
        return _shapes.scatter(self._x, self._key, 1 / values, how="multiply")

    def max(self, values: Any) -> Array:
        """Returns a copy of x with the larger ones of elements and values."""
        return _shapes.scatter(self._x, self._key, values, how="maximum")

    def min(self, values: Any) -> Array:
        """Returns a copy of x with the smaller ones of elements and values."""
        return _shapes.scatter(self._x, self._key, values, how="minimum")

    def power(self, values: Any) -> Array:
        """Returns a copy of x with elements to the power of values."""
        return self.set(self._x[self._key] ** values)

    def apply(self, function: Callable[[Array], Any]) -> Array:
        """Returns a copy of x with a function of the elements in their places."""
        return self.set(function(self._x[self._key]))


def _property(function: Callable[[Array], Any]) -> property:
    return property(function, doc=function.__doc__)


# The methods by their names. Those of one function have its documentation.
METHODS: dict[str, tuple[Any, Any]] = {
    "all": (_over_axes(_reductions.all), _reductions.all),
    "any": (_over_axes(_reductions.any), _reductions.any),
    "argmax": (_over_axes(_reductions.argmax), _reductions.argmax),
    "argmin": (_over_axes(_reductions.argmin), _reductions.argmin),
    "argsort": (_argsort, _reductions.argsort),
    "block_until_ready": (_block_until_ready, None),
    "clip": (_clip, _elementwise.clip),
    "conj": (_elementwise.conj, None),
    "conjugate": (_elementwise.conj, None),
    "cumprod": (_cumulative(_reductions.cumulative_prod), _reductions.cumulative_prod),
    "cumsum": (_cumulative(_reductions.cumulative_sum), _reductions.cumulative_sum),
    "diagonal": (_arranging.diagonal, None),
    "dot": (_numerical.dot, None),
    "fill": (_fill, None),
    "flatten": (_arranging.ravel, None),
    "max": (_over_axes(_reductions.max), _reductions.max),
    "mean": (_mean, _reductions.mean),
    "min": (_over_axes(_reductions.min), _reductions.min),
    "nonzero": (_reductions.nonzero, None),
    "numpy": (_numpy, None),
    "prod": (_prod, _reductions.prod),
    "ptp": (_over_axes(_statistics.ptp), _statistics.ptp),
    "ravel": (_arranging.ravel, None),
    "repeat": (_repeat, _shapes.repeat),
    "reshape": (_reshape, _shapes.reshape),
    "round": (_elementwise.round, None),
    "searchsorted": (_searchsorted, _reductions.searchsorted),
    "sort": (_sort, _reductions.sort),
    "squeeze": (_squeeze, _shapes.squeeze),
    "std": (_std, _reductions.std),
    "sum": (_sum, _reductions.sum),
    "swapaxes": (_arranging.swapaxes, None),
    "take": (_take, _shapes.take),
    "trace": (_arranging.trace, None),
    "transpose": (_transpose, _arranging.transpose),
    "var": (_var, _reductions.var),
}
PROPERTIES: dict[str, Callable[[Array], Any]] = {"at": At, "imag": _elementwise.imag, "real": _elementwise.real}

for _name, (_method, _function) in METHODS.items():
    if _function is not None:
        _method.__name__, _method.__qualname__ = _name, f"Array.{_name}"
        _method.__doc__ = _function.__doc__
    setattr(Array, _name, _method)
for _name, _function in PROPERTIES.items():
    setattr(Array, _name, _property(_function))
