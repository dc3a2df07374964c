"""Creation functions of the array API standard. Default dtypes are float32, int64, complex64 and bool."""

from __future__ import annotations

import collections
import operator
from collections.abc import Iterator, Sequence
from typing import Any, Literal, overload

from . import _constants as c
from . import _core
from ._core import Array, DType
from ._checks import kind_of
from ._device import on
from ._dtypes import result_type
from ._sizes import DTypeLike, Sizes, integers

Shape = int | Sequence[int]


def _shape(shape: Shape) -> tuple[int, ...]:
    return tuple(integers(shape, "sizes"))


def _plain(value: Any) -> Any:
    """Returns a scalar of NumPy as Python's."""
    return value.item() if hasattr(value, "dtype") and not isinstance(value, Array) else value


def _default_dtype(*values: Any) -> DType:
    if any(isinstance(value, complex) for value in values):
        return _core.complex64
    if any(isinstance(value, float) for value in values):
        return _core.float32
    return _core.bool if all(isinstance(value, bool) for value in values) else _core.int64


def asarray(obj: Any, /, dtype: DTypeLike | None = None, *, device: Any = None, copy: bool | None = None) -> Array:
    """Returns an array of ``obj``: an array, a scalar, nested lists or tuples of them, or an array of another library.

    An array of this package is returned itself, unless dtype, device or ``copy=True`` ask for another one. Values of
    other libraries (NumPy, buffers, DLPack) are copied. Numbers without a dtype become int64, float32 or complex64;
    ``copy=False`` is a ValueError where a copy is needed.

    >>> import lazyxla as lx
    >>> lx.asarray([[1, 2], [3, 4]], device="cpu")
    Array([[1, 2],
           [3, 4]], dtype=int64, device='cpu')
    """
    if isinstance(obj, Array):
        if (device is None or on(device) == obj.device) and (dtype is None or dtype == obj.dtype):
            return obj.copy() if copy else obj
        if copy is False:
            raise ValueError("copy=False, but the array has another dtype or device")
        moved = obj if device is None or on(device) == obj.device else obj.to_device(on(device))
        return moved if dtype is None else moved.astype(dtype, copy=False)
    if copy is False:
        raise ValueError("copy=False, but the values have to be copied; from_dlpack can share memory")
    target = on(device)
    if hasattr(obj, "__array_interface__"):
        from ._numpy import from_numpy

        return from_numpy(obj, dtype, target)
    if hasattr(obj, "__dlpack__"):
        made = from_dlpack(obj, device=target, copy=True)
        return made if dtype is None else made.astype(dtype, copy=False)
    if isinstance(obj, (bytes, bytearray, memoryview)) or type(obj).__module__ == "array":
        return _from_buffer(memoryview(obj), dtype, target)
    is_plain = isinstance(obj, (list, tuple)) and _is_plain(obj)
    if not is_plain:
        obj = _as_lists(obj)
        is_plain = isinstance(obj, (list, tuple)) and _is_plain(obj)
    if is_plain:
        return _core.from_nested(obj, dtype, target)
    if holds_lazy(obj):
        return _stacked(obj, dtype, target)
    if _holds_numpy(obj):
        # One array on the host, by NumPy's rules for the dtype.
        from ._numpy import from_list

        return from_list(obj, dtype, target)
    return _core.from_nested(obj, dtype, target)


_FORMATS = {"?": "bool", "b": "int8", "B": "uint8", "h": "int16", "H": "uint16", "i": "int32", "I": "uint32"}
_FORMATS |= {"l": "int64", "L": "uint64", "q": "int64", "Q": "uint64", "e": "float16", "f": "float32", "d": "float64"}


def _from_buffer(view: memoryview, dtype: DTypeLike | None, device: Any) -> Array:
    name = _FORMATS.get(view.format.lstrip("@="))
    if name is None or getattr(_core, name).itemsize != view.itemsize:
        raise TypeError(f"a buffer of format {view.format!r} has no dtype here")
    made = _core.from_bytes(view.tobytes(), name, view.shape or (), device)
    return made if dtype is None else made.astype(dtype, copy=False)


_NUMBERS, _LISTS = {bool, int, float, complex}, {list, tuple}


def _is_plain(obj: Any) -> bool:
    """Returns whether nested lists hold Python's numbers alone, row by row: faster than element by element."""
    kinds = {*map(type, obj)}
    return kinds <= _NUMBERS or (kinds <= _LISTS and all(map(_is_plain, obj)))


def _as_lists(obj: Any) -> Any:
    """Returns nested lists with lists in place of ranges and deques among them."""
    if isinstance(obj, (range, collections.deque)):
        return [_as_lists(each) for each in obj]
    return list(map(_as_lists, obj)) if isinstance(obj, (list, tuple)) else obj


def holds_lazy(obj: Any) -> bool:
    """Returns whether nested lists hold an array of this package."""
    return isinstance(obj, (list, tuple)) and any(isinstance(each, Array) or holds_lazy(each) for each in obj)


def _holds_numpy(obj: Any) -> bool:
    if not isinstance(obj, (list, tuple)):
        return False
    return any(_holds_numpy(each) or hasattr(each, "__array_interface__") for each in obj)


def _stacked(obj: Any, dtype: DTypeLike | None, device: Any) -> Array:
    """Returns nested lists with arrays among their elements, as one array. Its dtype is that of the arrays, which
    Python's scalars take."""
    if dtype is None:
        dtype = result_type(*_elements(obj))
    if holds_lazy(obj):
        return _core.join([_stacked(each, dtype, device) for each in obj], 0, True)
    return asarray(obj, dtype=dtype, device=device)


def _elements(obj: Any) -> Iterator[Any]:
    """Returns the arrays and Python's scalars in nested lists; objects of other libraries as arrays."""
    if isinstance(obj, (list, tuple)):
        for each in obj:
            yield from _elements(each)
    else:
        yield obj if isinstance(obj, (Array, bool, int, float, complex)) else asarray(obj, device="cpu")


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Array:
    """Returns an array with the values of an object that has ``__dlpack__``, in host memory.

    Memory is shared where its alignment permits, unless ``copy=True``: its owner must not change it then.
    ``copy=False`` is a BufferError where a copy is needed: on an XLA device, and for memory that is not row-major or
    not aligned to the size of an element.

    >>> import lazyxla as lx
    >>> import numpy as np
    >>> lx.from_dlpack(np.asarray([1, 2])).tolist()
    [1, 2]
    """
    if isinstance(x, Array):
        return asarray(x, device=device, copy=copy)
    if not hasattr(x, "__dlpack__"):
        raise TypeError(f"from_dlpack(): x is an object with __dlpack__, not {kind_of(x)}")
    try:
        capsule = x.__dlpack__(max_version=(1, 1), copy=copy)
    except TypeError:
        # A producer before DLPack 1.0.
        capsule = x.__dlpack__()
    return _core.from_capsule(capsule, _core.Device("cpu") if device is None else on(device), bool(copy), copy is False)


def full(shape: Shape, fill_value: Any, dtype: DTypeLike | None = None, *, device: Any = None) -> Array:
    """Returns an array of ``fill_value``.

    >>> import lazyxla as lx
    >>> lx.full((2,), 7).tolist()
    [7, 7]
    """
    if isinstance(fill_value, Array) or hasattr(fill_value, "__array_interface__"):
        return _core.broadcast_to(asarray(fill_value, dtype=dtype, device=device), _shape(shape))
    return _core.full(_shape(shape), fill_value, dtype or _default_dtype(fill_value), on(device))


def zeros(shape: Shape, dtype: DTypeLike | None = None, *, device: Any = None) -> Array:
    """Returns an array of zeros, float32 without a dtype.

    >>> import lazyxla as lx
    >>> lx.zeros((2, 2), dtype=lx.int32).tolist()
    [[0, 0], [0, 0]]
    """
    return _of(0, shape, dtype or _core.float32, device)


def ones(shape: Shape, dtype: DTypeLike | None = None, *, device: Any = None) -> Array:
    """Returns an array of ones, float32 without a dtype.

    >>> import lazyxla as lx
    >>> lx.ones(2).tolist()
    [1.0, 1.0]
    """
    return _of(1, shape, dtype or _core.float32, device)


def empty(shape: Shape, dtype: DTypeLike | None = None, *, device: Any = None) -> Array:
    """Returns an array of zeros: values that are not set cannot be seen.

    >>> import lazyxla as lx
    >>> lx.empty(2).tolist()
    [0.0, 0.0]
    """
    return zeros(shape, dtype=dtype, device=device)


def _of(value: int, shape: Shape, dtype: DTypeLike, device: Any) -> Array:
    return _core.full(_shape(shape), value, dtype, on(device))


def full_like(
    x: Array, /, fill_value: Any, dtype: DTypeLike | None = None, *, shape: Sizes | None = None, device: Any = None
) -> Array:
    """Returns an array of ``fill_value`` with the shape, dtype and device of ``x``, unless they are given.

    >>> import lazyxla as lx
    >>> lx.full_like(lx.zeros(2), 7).tolist()
    [7.0, 7.0]
    """
    return full(x.shape if shape is None else shape, fill_value, dtype=dtype or x.dtype, device=device or x.device)


def zeros_like(x: Array, /, dtype: DTypeLike | None = None, *, shape: Sizes | None = None, device: Any = None) -> Array:
    """Returns zeros with the shape, dtype and device of ``x``, unless they are given.

    >>> import lazyxla as lx
    >>> lx.zeros_like(lx.asarray([5, 6])).tolist()
    [0, 0]
    """
    return _of(0, x.shape if shape is None else shape, dtype or x.dtype, device or x.device)


def ones_like(x: Array, /, dtype: DTypeLike | None = None, *, shape: Sizes | None = None, device: Any = None) -> Array:
    """Returns ones with the shape, dtype and device of ``x``, unless they are given.

    >>> import lazyxla as lx
    >>> lx.ones_like(lx.asarray([5, 6])).tolist()
    [1, 1]
    """
    return _of(1, x.shape if shape is None else shape, dtype or x.dtype, device or x.device)


def empty_like(x: Array, /, dtype: DTypeLike | None = None, *, shape: Sizes | None = None, device: Any = None) -> Array:
    """Returns zeros with the shape, dtype and device of ``x``, unless they are given.

    >>> import lazyxla as lx
    >>> lx.empty_like(lx.asarray([1, 2])).tolist()
    [0, 0]
    """
    return zeros_like(x, dtype=dtype, shape=shape, device=device)


def arange(
    start: float, stop: float | None = None, step: float = 1, dtype: DTypeLike | None = None, *, device: Any = None
) -> Array:
    """Returns start, start + step, ... up to but excluding stop; with one argument, from 0.

    >>> import lazyxla as lx
    >>> lx.arange(1, 7, 2).tolist()
    [1, 3, 5]
    """
    if stop is None:
        start, stop = 0, start
    start, stop, step = _plain(start), _plain(stop), _plain(step)
    chosen = _core.as_dtype(dtype or _default_dtype(start, stop, step))
    is_integer = isinstance(start, int) and isinstance(stop, int) and isinstance(step, int)
    if is_integer and "integer" in chosen.kind and step != 0:
        low, high = chosen.integer_limits
        values = range(int(start), int(stop), int(step))
        if not values:
            return _core.arange(0, 0, 1, chosen, on(device))
        beyond = [value for value in (*values[:1], *values[-1:]) if not low <= value <= high]
        if beyond:
            bits = beyond[0].bit_length()
            number = beyond[0] if bits <= 128 else f"an int of {bits} bits"
            raise OverflowError(f"arange(): {number} is out of bounds for {chosen.name}")
    return _core.arange(start, stop, step, chosen, on(device))


@overload
def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: Literal[False] = False,
    *,
    dtype: DTypeLike | None = None,
    device: Any = None,
) -> Array: ...


@overload
def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    *,
    retstep: Literal[True],
    dtype: DTypeLike | None = None,
    device: Any = None,
) -> tuple[Array, Any]: ...


def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    *,
    dtype: DTypeLike | None = None,
    device: Any = None,
) -> Any:
    """Returns ``num`` evenly spaced numbers from start to stop, which is excluded with ``endpoint=False``; with
    ``retstep`` a pair of them and their distance. Where start or stop is an array, they are along a new first axis.

    >>> import lazyxla as lx
    >>> lx.linspace(0, 1, 5).tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    if retstep:
        made = linspace(start, stop, num, endpoint, dtype=dtype, device=device)
        count = num - 1 if endpoint else num
        return made, (stop - start) / count if count > 0 else float("nan")
    if any(isinstance(end, (Array, list, tuple)) or getattr(end, "ndim", 0) for end in (start, stop)):
        return _spaced(start, stop, num, endpoint, dtype, device)
    start, stop = _plain(start), _plain(stop)
    kind = dtype or (_core.complex64 if isinstance(start, complex) or isinstance(stop, complex) else _core.float32)
    return _core.linspace(start, stop, num, endpoint, kind, on(device))


def _spaced(start: Any, stop: Any, num: int, endpoint: bool, dtype: DTypeLike | None, device: Any) -> Array:
    """Returns spaced numbers between arrays, which are not read; the last ones are exact."""
    from ._operands import in_floats, operands, widened

    count = operator.index(num)
    if count < 0:
        raise ValueError(f"linspace(): num: {count} given; want at least 0")
    is_list = [isinstance(end, (list, tuple)) or bool(getattr(end, "ndim", 0)) for end in (start, stop)]
    ends = [asarray(end, device=device) if made else end for end, made in zip((start, stop), is_list)]
    common = in_floats(operands("linspace", *ends)[0])
    kind = common.dtype if dtype is None else dtype
    is_whole = _is_whole(kind)
    wide = _core.float64 if is_whole or kind == _core.float64 else widened(common).dtype
    # Numbers beside the arrays take the wide dtype, too.
    first, last = operands("linspace", *(x.astype(wide, copy=False) if isinstance(x, Array) else x for x in ends))
    if device is not None:
        first, last = (each.to_device(device) for each in (first, last))
    steps = max(count - 1 if endpoint else count, 1)
    share = _core.arange(0, count, 1, wide, first.device) / steps
    apart = last - first
    found = first + _core.reshape(share, [count] + [1] * apart.ndim) * apart
    if endpoint and count > 1:
        exact = _core.broadcast_to(last, (1, *apart.shape))
        found = _core.join([found[:-1], exact], 0, False)
    return (_core.unary(c.UNARY_FLOOR, found) if is_whole else found).astype(kind, copy=False)


def _is_whole(dtype: DTypeLike) -> bool:
    return _core.full((), 0, dtype, "cpu").dtype.kind in ("signed integer", "unsigned integer")


def _diagonal(k: int) -> int:
    """Returns the number of a diagonal; of one beyond every array, if it does not fit 64 bits."""
    return min(max(operator.index(k), -(2**62)), 2**62)


def eye(
    n_rows: int, n_cols: int | None = None, /, k: int = 0, dtype: DTypeLike | None = None, *, device: Any = None
) -> Array:
    """Returns a matrix with ones on diagonal ``k`` and zeros elsewhere.

    >>> import lazyxla as lx
    >>> lx.eye(2, k=1).tolist()
    [[0.0, 1.0], [0.0, 0.0]]
    """
    columns = n_rows if n_cols is None else n_cols
    return _core.eye(n_rows, columns, _diagonal(k), dtype or _core.float32, on(device))


def tril(x: Array, /, k: int = 0) -> Array:
    """Returns the lower triangles of matrices: elements above diagonal ``k`` are 0.

    >>> import lazyxla as lx
    >>> lx.tril(lx.ones((2, 2))).tolist()
    [[1.0, 0.0], [1.0, 1.0]]
    """
    return _core.triangle(x, _diagonal(k), False)


def triu(x: Array, /, k: int = 0) -> Array:
    """Returns the upper triangles of matrices: elements below diagonal ``k`` are 0.

    >>> import lazyxla as lx
    >>> lx.triu(lx.ones((2, 2))).tolist()
    [[1.0, 1.0], [0.0, 1.0]]
    """
    return _core.triangle(x, _diagonal(k), True)


def meshgrid(*arrays: Any, indexing: str = "xy", sparse: bool = False) -> list[Array]:
    """Returns coordinate matrices of vectors, as ``numpy.meshgrid``: ``indexing`` is ``"xy"`` or ``"ij"``. With ``sparse``,
    they have size 1 along all axes but one, and broadcast to the matrices.

    >>> import lazyxla as lx
    >>> [x.tolist() for x in lx.meshgrid(lx.asarray([1, 2]), lx.asarray([3, 4]), indexing="ij")]
    [[[1, 1], [2, 2]], [[3, 4], [3, 4]]]
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f"indexing is 'xy' or 'ij', not {indexing!r}")
    device = next((each.device for each in arrays if isinstance(each, Array)), None)
    arrays = tuple(each if isinstance(each, Array) else asarray(each, device=device) for each in arrays)
    if len({each.dtype for each in arrays}) > 1 or any(each.ndim != 1 for each in arrays):
        raise ValueError("meshgrid takes arrays of rank 1 and one dtype")
    places = list(range(len(arrays)))
    if indexing == "xy" and len(arrays) > 1:
        places[:2] = [1, 0]
    shape = [0] * len(arrays)
    for array, place in zip(arrays, places, strict=True):
        shape[place] = array.shape[0]

    def spread(array: Array, place: int) -> Array:
        column = [1] * len(arrays)
        column[place] = array.shape[0]
        if sparse:
            return _core.reshape(array, column)
        return _core.broadcast_to(_core.reshape(array, column), shape)

    return [spread(array, place) for array, place in zip(arrays, places, strict=True)]
