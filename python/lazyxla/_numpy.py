"""Arrays from and to NumPy. NumPy is imported only where it is there already or an ndarray is asked for."""

from __future__ import annotations

from typing import Any

from . import _core

_KINDS = {"b": "bool", "i": "int", "u": "uint", "f": "float", "c": "complex"}


def _dtype_name(array: Any) -> str:
    """Returns the name of an ndarray's dtype in this package; TypeError for text, objects, dates, records."""
    name = getattr(array.dtype, "name", "")
    typestr = array.__array_interface__["typestr"]
    # The dtypes of ml_dtypes have letters of others: float8_e5m2 is "f1".
    if not _is_dtype(name) and typestr[1] in _KINDS:
        bits = "" if typestr[1] == "b" else str(8 * int(typestr[2:]))
        name = _KINDS[typestr[1]] + bits
    if not _is_dtype(name):
        raise TypeError(f"arrays of dtype {array.dtype!r} are not supported; convert it by astype")
    return name


def _is_dtype(name: str) -> bool:
    return isinstance(getattr(_core, name, None), _core.DType)


def _refuse_masked(values: Any) -> None:
    """Raises a TypeError for masked arrays, also in lists: their masks would be lost."""
    import numpy

    if isinstance(values, numpy.ma.MaskedArray):
        raise TypeError("masked arrays are not supported; take their filled(value), or .data and .mask")
    if isinstance(values, (list, tuple)):
        for each in values:
            _refuse_masked(each)


def from_list(values: Any, dtype: Any, device: Any) -> _core.Array:
    """Returns an array of nested lists with scalars or arrays of NumPy; its dtype is that of ``numpy.asarray``."""
    import numpy

    _refuse_masked(values)
    return from_numpy(numpy.asarray(values), dtype, device)


def from_numpy(array: Any, dtype: Any, device: Any) -> _core.Array:
    """Returns an array with a copy of the values of an ndarray or of a scalar of NumPy."""
    import numpy

    _refuse_masked(array)
    array = numpy.asarray(array)
    name = _dtype_name(array)
    # Row-major, in the byte order of this machine. A scalar becomes an array of rank 1.
    dense = numpy.ascontiguousarray(array)
    dense = dense if dense.dtype.isnative else dense.astype(dense.dtype.newbyteorder("="))
    shape = tuple(int(size) for size in array.shape)
    made = _core.from_address(dense.ctypes.data, dense.nbytes, name, shape, device)
    return made if dtype is None or made.dtype == dtype else made.astype(dtype)


def _numpy_dtype(name: str) -> Any:
    import numpy

    if name.startswith(("bfloat", "float8", "float4", "int4", "uint4", "int2", "uint2")):
        try:
            import ml_dtypes

            return numpy.dtype(getattr(ml_dtypes, name))
        except (ImportError, AttributeError):  # older versions have fewer dtypes
            raise TypeError(f"NumPy has no {name}: install ml_dtypes, or convert the array by astype") from None
    return numpy.dtype(name)


def to_numpy(array: _core.Array, dtype: Any, copy: bool | None) -> Any:
    """Returns a new ndarray with the values; computes them first if they are pending."""
    import numpy

    if copy is False:
        raise ValueError("an ndarray is a copy of the array: copy=False is impossible; see numpy.from_dlpack")
    out = numpy.empty(array.shape, _numpy_dtype(array.dtype.name))
    _core.read_to_address(array, out.ctypes.data, out.nbytes)
    return out if dtype is None else out.astype(dtype, copy=False)
