"""Methods of arrays: the functions of the package by the names and arguments of NumPy's methods, and ``x.at``. NumPy's
own functions call them: ``np.sum(x)`` is ``x.sum(axis=None, dtype=None, out=None)``.

Importing the module gives them to the class, whose Rust part has the operators and what creates and reads arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import (
    _arranging,
    _core,
    _elements,
    _elementwise,
    _mapping,
    _numerical,
    _places,
    _reductions,
    _shapes,
    _statistics,
)
from ._at import At
from ._checks import kind_of
from ._core import Array, DType
from ._parts import assign, changing
from ._creation import asarray
from ._shapes import Axis
from ._sizes import DTypeLike, is_integer


def _no_out(out: Any) -> None:
    """Refuses an array for the result: NumPy's functions pass ``out`` to methods, None unless the caller gives one."""
    if out is not None:
        raise TypeError(
            "out: an array is given; want None, since a method returns a new array: assign to x[...] instead"
        )


def _total(function: Callable[..., Array]) -> Callable[..., Array]:
    def method(
        self: Array,
        axis: Axis = None,
        dtype: DTypeLike | None = None,
        out: None = None,
        keepdims: bool = False,
        **given: Any,
    ) -> Array:
        _no_out(out)
        return function(self, axis=axis, dtype=dtype, keepdims=keepdims, **given)

    return method


def _spread(function: Callable[..., Array]) -> Callable[..., Array]:
    def method(
        self: Array,
        axis: Axis = None,
        dtype: DTypeLike | None = None,
        out: None = None,
        ddof: float = 0,
        keepdims: bool = False,
        **given: Any,
    ) -> Array:
        _no_out(out)
        return function(self, axis=axis, dtype=dtype, correction=ddof, keepdims=keepdims, **given)

    return method


def _over_axes(function: Callable[..., Array]) -> Callable[..., Array]:
    def method(self: Array, axis: Axis = None, out: None = None, keepdims: bool = False, **given: Any) -> Array:
        _no_out(out)
        return function(self, axis=axis, keepdims=keepdims, **given)

    return method


def _cumulative(function: Callable[..., Array]) -> Callable[..., Array]:
    def method(self: Array, axis: int | None = None, dtype: DTypeLike | None = None, out: None = None) -> Array:
        _no_out(out)
        return function(self, axis, dtype)

    return method


def _reshape(self: Array, *shape: Any, order: str = "C", copy: bool | None = None) -> Array:
    return _shapes.reshape(self, shape[0] if len(shape) == 1 else shape, order, copy=copy)


def _transpose(self: Array, *axes: Any) -> Array:
    if len(axes) == 1 and (axes[0] is None or not hasattr(axes[0], "__index__")):
        return _arranging.transpose(self, axes[0])
    return _arranging.transpose(self, axes or None)


def _squeeze(self: Array, axis: Any = None) -> Array:
    return _shapes.squeeze(self, [at for at, size in enumerate(self.shape) if size == 1] if axis is None else axis)


def _take(self: Array, indices: Any, axis: int | None = None, out: None = None, mode: str | None = None) -> Array:
    _no_out(out)
    return _shapes.take(self, indices, axis, mode)


def _repeat(self: Array, repeats: Any, axis: int | None = None) -> Array:
    return _shapes.repeat(self, repeats, axis=axis)


def _no_fields(order: Any) -> None:
    if order is not None:
        raise TypeError(f"order: {order!r} given; want None, since arrays have no fields")


def _sort(
    self: Array,
    axis: int | None = -1,
    kind: str | None = None,
    order: None = None,
    *,
    stable: bool | None = None,
    descending: bool = False,
) -> Array:
    _no_fields(order)
    return _reductions.sort(self, axis=axis, descending=descending, stable=stable is not False)


def _argsort(
    self: Array,
    axis: int | None = -1,
    kind: str | None = None,
    order: None = None,
    *,
    stable: bool | None = None,
    descending: bool = False,
) -> Array:
    _no_fields(order)
    return _reductions.argsort(self, axis=axis, descending=descending, stable=stable is not False)


def _clip(self: Array, min: Any = None, max: Any = None, out: None = None) -> Array:
    _no_out(out)
    return _elementwise.clip(self, min, max)


def _round(self: Array, decimals: int = 0, out: None = None) -> Array:
    _no_out(out)
    return _elementwise.round(self, decimals)


def _searchsorted(self: Array, v: Any, side: str = "left", sorter: Array | None = None) -> Array:
    return _reductions.searchsorted(self, v, side=side, sorter=sorter)


_item_of: Callable[[Array], Any] = Array.item


def _item(self: Array, *args: Any) -> Any:
    """Returns the value of the only element as a scalar of Python, or of the one at an index: one for each axis, or a
    place in row-major order."""
    if not args:
        return _item_of(self)
    index = args[0] if len(args) == 1 else args
    return _item_of(self[index] if isinstance(index, tuple) else _shapes.reshape(self, (-1,))[index])


def _itemsize(self: Array) -> int:
    """The number of bytes of an element."""
    return self.dtype.itemsize


def _scalar(self: DType, value: Any = 0, /, *, device: Any = None) -> Array:
    """Returns a value as an array of this dtype: ``lx.float32(3)`` is ``lx.asarray(3, dtype=lx.float32)``."""
    return asarray(value, dtype=self, device=device)


def _argpartition(self: Array, kth: Any, axis: int | None = -1, kind: str | None = None, order: None = None) -> Array:
    _no_fields(order)
    return _places.argpartition(self, kth, axis)


def _choose(self: Array, choices: Any, out: None = None, mode: str = "clip") -> Array:
    _no_out(out)
    return _mapping.choose(self, choices, "clip" if mode == "raise" else mode)


def _compress(self: Array, condition: Any, axis: int | None = None, out: None = None) -> Array:
    _no_out(out)
    return _places.compress(condition, self, axis)


def _view(self: Array, *args: Any, dtype: DTypeLike | None = None) -> Array:
    shape = args[0] if len(args) == 1 and isinstance(args[0], (tuple, list)) else args
    if args and dtype is None and all(map(is_integer, shape)):
        # PyTorch's view(*shape): arrays have no strides, so that each shape of the same size will do.
        return _shapes.reshape(self, shape)
    of = args[0] if len(args) == 1 and dtype is None else dtype
    if of is None or len(args) > 1 or (args and dtype is not None):
        raise TypeError("view(): want one dtype, or sizes")
    return _elements.view(self, of)


def _fill(self: Array, value: Any) -> None:
    """Assigns a value to all elements, in place."""
    assign(self, ..., value)


_fill.__qualname__ = "fill()"


def _numpy(self: Array) -> Any:
    return self.__array__()


def _block_until_ready(self: Array) -> Array:
    _core.compute([self], False, True)
    return self


_matrix_of: Callable[[Array], Array] = Array.T.__get__


def _transposed(self: Array) -> Array:
    """The transposed matrix; a vector stays as it is, in contrast to the standard. Other arrays have ``mT``."""
    try:
        return _matrix_of(self)
    except ValueError:
        if self.ndim > 1:
            raise
        return self.copy()


def _given(value: Any) -> str:
    return f"{kind_of(value)}{' of complex numbers' * (not isinstance(value, (Array, complex)))}"


def _real_value(name: str, value: Any, part: Array) -> Any:
    """Returns what is assigned to a part of numbers: a number or an array, also of a list."""
    if isinstance(value, (list, tuple)):
        found = asarray(value, device=part.device)
        # Numbers of a list are rounded once, to the dtype of the part.
        dtype = part.dtype if part.dtype.kind == "real floating" else _core.float64
        value = asarray(value, dtype=dtype, device=part.device) if found.dtype.kind == "real floating" else found
    kind = getattr(getattr(value, "dtype", None), "kind", None)
    if isinstance(value, complex) or kind in ("c", "complex floating"):
        raise TypeError(f"x.{name}: {_given(value)} is given; want real numbers")
    return value


def _set_real(self: Array, value: Any) -> None:
    """Assigns to the real parts."""
    if self.dtype.kind == "complex floating":
        re = _core.part(self, False)
        assign(re, ..., _real_value("real", value, re))
        # Not a sum with 1j * im: a product with 0 changes -0.0 and infinities.
        assign(self, ..., _core.complex_of(re, _core.part(self, True)))
    else:
        assign(self, ..., _real_value("real", value, self))


def _set_imag(self: Array, value: Any) -> None:
    """Assigns to the imaginary parts."""
    if self.dtype.kind != "complex floating":
        raise TypeError(f"an array of {self.dtype.name} has no imaginary parts to assign to")
    im = _core.part(self, True)
    assign(im, ..., _real_value("imag", value, im))
    assign(self, ..., _core.complex_of(_core.part(self, False), im))


_set_imag.__qualname__, _set_real.__qualname__ = "x.imag", "x.real"


def _property(function: Callable[[Array], Any]) -> property:
    return property(function, SETTERS.get(function.__name__), doc=function.__doc__)


# The methods by their names. Those of one function have its documentation.
METHODS: dict[str, tuple[Any, Any]] = {
    "all": (_over_axes(_reductions.all), _reductions.all),
    "any": (_over_axes(_reductions.any), _reductions.any),
    "argmax": (_over_axes(_reductions.argmax), _reductions.argmax),
    "argmin": (_over_axes(_reductions.argmin), _reductions.argmin),
    "argsort": (_argsort, _reductions.argsort),
    "argpartition": (_argpartition, _places.argpartition),
    "block_until_ready": (_block_until_ready, None),
    "choose": (_choose, _mapping.choose),
    "clip": (_clip, _elementwise.clip),
    "compress": (_compress, _places.compress),
    "conj": (_elementwise.conj, None),
    "conjugate": (_elementwise.conj, None),
    "cumprod": (_cumulative(_numerical.cumprod), _numerical.cumprod),
    "cumsum": (_cumulative(_numerical.cumsum), _numerical.cumsum),
    "diagonal": (_arranging.diagonal, None),
    "dot": (_numerical.dot, None),
    "fill": (changing(_fill), None),
    "flatten": (_arranging.ravel, None),
    "item": (_item, None),
    "max": (_over_axes(_reductions.max), _reductions.max),
    "mean": (_total(_reductions.mean), _reductions.mean),
    "min": (_over_axes(_reductions.min), _reductions.min),
    "nonzero": (_reductions.nonzero, None),
    "numpy": (_numpy, None),
    "prod": (_total(_reductions.prod), _reductions.prod),
    "ptp": (_over_axes(_statistics.ptp), _statistics.ptp),
    "ravel": (_arranging.ravel, None),
    "repeat": (_repeat, _shapes.repeat),
    "reshape": (_reshape, _shapes.reshape),
    "round": (_round, _elementwise.round),
    "searchsorted": (_searchsorted, _reductions.searchsorted),
    "sort": (_sort, _reductions.sort),
    "squeeze": (_squeeze, _shapes.squeeze),
    "std": (_spread(_reductions.std), _reductions.std),
    "sum": (_total(_reductions.sum), _reductions.sum),
    "swapaxes": (_arranging.swapaxes, None),
    "take": (_take, _shapes.take),
    "trace": (_arranging.trace, None),
    "transpose": (_transpose, _arranging.transpose),
    "view": (_view, _elements.view),
    "var": (_spread(_reductions.var), _reductions.var),
}
SETTERS: dict[str, Callable[[Array, Any], None]] = {
    "imag": changing(_set_imag, is_setter=True),
    "real": changing(_set_real, is_setter=True),
}
PROPERTIES: dict[str, Callable[[Array], Any]] = {
    "T": _transposed,
    "at": At,
    "imag": _elementwise.imag,
    "itemsize": _itemsize,
    "real": _elementwise.real,
}

for _name, (_method, _function) in METHODS.items():
    if _function is not None:
        _method.__name__, _method.__qualname__ = _name, f"Array.{_name}"
        _method.__doc__ = _function.__doc__
    setattr(Array, _name, _method)
for _name, _function in PROPERTIES.items():
    setattr(Array, _name, _property(_function))
DType.__call__ = _scalar  # type: ignore[method-assign]
