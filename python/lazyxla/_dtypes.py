"""Data type functions of the array API standard, and the inspection of the namespace."""

from __future__ import annotations

from typing import Any, NamedTuple

from . import _constants as _c
from . import _core
from ._core import Array, DType
from ._device import default_device
from ._elementwise import isdtype
from ._operands import common_dtype, standard_dtype
from ._sizes import DTypeLike

_SCALARS = (bool, int, float, complex)
NAMES = tuple("bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128".split())


def _dtype(of: Any) -> DType:
    """Returns the dtype of an array, or the one that an object names."""
    return of.dtype if isinstance(of, Array) else _core.as_dtype(of)


def astype(x: Array, dtype: DTypeLike, /, *, copy: bool = True, device: Any = None) -> Array:
    """Returns x in another dtype. ``copy=False`` returns x itself if it has the dtype already.

    Complex numbers become real ones by ``lx.real``, not by this.

    >>> import lazyxla as lx
    >>> lx.astype(lx.asarray([1.7]), lx.int32).tolist()
    [1]
    """
    return x.astype(dtype, copy=copy, device=device)


def can_cast(from_: DTypeLike | Array, to: DTypeLike, /) -> bool:
    """Returns whether the promotion of the two dtypes is ``to``. Integers of 2 and 4 bits become integers that have all
    their values, and floats of 4 and 8 bits floats and complex dtypes of at least 32 bits, as ``numpy.can_cast`` has it
    for the dtypes of ml_dtypes; the operators do not convert these.

    >>> import lazyxla as lx
    >>> lx.can_cast(lx.int8, lx.int16), lx.can_cast(lx.int4, lx.int8), lx.can_cast(lx.int4, lx.uint8)
    (True, True, False)
    """
    given, wanted = _dtype(from_), _dtype(to)
    if given == wanted:
        return True
    if given.name.startswith(("float4", "float8")):
        return wanted in (_core.float32, _core.float64, _core.complex64, _core.complex128)
    if isdtype(given, "integral") and isdtype(wanted, "integral") and min(_bits(given), _bits(wanted)) < 8:
        # uint2 has a place in int4, but NumPy leads to int8, as everywhere from unsigned integers to signed ones.
        grows = given.kind == wanted.kind or (given.kind == "unsigned integer" and _bits(wanted) >= 8)
        return grows and _bits(given) < _bits(wanted)
    try:
        return standard_dtype(given, wanted) == wanted
    except TypeError:
        return False


def _bits(dtype: DType) -> int:
    return int(dtype.limits["bits"])


def _kind(scalar: Any) -> type:
    return next(kind for kind in (bool, int, float, complex) if isinstance(scalar, kind))


def result_type(*arrays_and_dtypes: Any) -> DType:
    """Returns the promoted dtype of arrays, dtypes and Python scalars: the standard's, and JAX's for dtypes of different
    kinds (integers with floats are that float dtype). Dtypes of 2 and 4 bits promote with bools and scalars alone, as in
    JAX: a TypeError tells to convert them.

    >>> import lazyxla as lx
    >>> lx.result_type(lx.int8, lx.int16).name, lx.result_type(lx.int4, 1).name
    ('int16', 'int4')
    """
    dtypes = [_dtype(each) for each in arrays_and_dtypes if not isinstance(each, _SCALARS)]
    if not dtypes:
        raise ValueError("result_type() takes at least one array or dtype")
    result = common_dtype(dtypes)
    # In the order of their kinds, so that the order of the arguments does not count.
    scalars = [each for each in arrays_and_dtypes if isinstance(each, _SCALARS)]
    for scalar in sorted(scalars, key=lambda each: (bool, int, float, complex).index(_kind(each))):
        if result.kind == "bool" and isinstance(scalar, (float, complex)):
            result = _core.complex64 if isinstance(scalar, complex) else _core.float32
        else:
            like = _core.full((), 0, result, "cpu")
            result = _core.binary(
                _c.BINARY_OR if result.kind == "bool" else _c.BINARY_ADD, like, scalar, False, False
            ).dtype
    return result


class finfo_object(NamedTuple):
    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType


class iinfo_object(NamedTuple):
    bits: int
    max: int
    min: int
    dtype: DType


def finfo(type: DTypeLike | Array, /) -> finfo_object:
    """Returns limits of a float dtype, or of the parts of a complex one.

    >>> import lazyxla as lx
    >>> lx.finfo(lx.float32).bits
    32
    """
    dtype = _dtype(type)
    if not isdtype(dtype, ("real floating", "complex floating")):
        raise TypeError(f"finfo() takes floating dtypes, not {dtype.name}")
    limits = dtype.limits
    part = {_core.complex64: _core.float32, _core.complex128: _core.float64}.get(dtype, dtype)
    eps, most, least, normal = (limits[name] for name in ("eps", "max", "min", "smallest_normal"))
    return finfo_object(int(limits["bits"]), eps, most, least, normal, part)


def iinfo(type: DTypeLike | Array, /) -> iinfo_object:
    """Returns limits of an integer dtype.

    >>> import lazyxla as lx
    >>> lx.iinfo(lx.int8).max
    127
    """
    dtype = _dtype(type)
    if not isdtype(dtype, "integral"):
        raise TypeError(f"iinfo() takes integer dtypes, not {dtype.name}")
    low, high = dtype.integer_limits
    return iinfo_object(int(dtype.limits["bits"]), high, low, dtype)


class Info:
    """Capabilities, devices and dtypes of the namespace, as ``lx.__array_namespace_info__()`` returns them."""

    def capabilities(self) -> dict[str, Any]:
        """Boolean masks are indices, and shapes may depend on values (which are read); the rank is at most 64."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> _core.Device:
        return default_device()

    def default_dtypes(self, *, device: Any = None) -> dict[str, DType]:
        return {
            "real floating": _core.float32,
            "complex floating": _core.complex64,
            "integral": _core.int64,
            "indexing": _core.int64,
        }

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, DType]:
        found = {name: getattr(_core, name) for name in NAMES}
        return {name: dtype for name, dtype in found.items() if kind is None or isdtype(dtype, kind)}

    def devices(self) -> list[_core.Device]:
        count = _core.device_count()
        return [_core.Device("cpu"), *(_core.Device(f"xla:{i}") for i in range(count))]
