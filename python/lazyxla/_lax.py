"""Functions of ``jax.lax``: loops by a number, scans by an operation, and slices at computed places."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from . import _constants as c
from . import _core
from ._checks import a_function, kind_of
from ._core import Array
from ._creation import arange, asarray
from ._elementwise import clip
from ._loops import scan, while_loop
from ._operands import INTEGERS, array_of, common_dtype
from ._sizes import is_integer, normalized
from ._trace import device_of, with_arrays
from ._tree import flatten, unflatten
from ._ufuncs import cumulative_extreme


def fori_loop(
    lower: Any, upper: Any, body_fun: Callable[[Any, Any], Any], init_val: Any, *, unroll: int | bool | None = None
) -> Any:
    """Repeats ``value = body_fun(i, value)`` for each i from ``lower`` on and below ``upper``, as one loop. Bounds that
    are arrays may change without another compile; then there is forward mode only, as in ``while_loop``. ``unroll``
    changes nothing: XLA decides.

    >>> import lazyxla as lx
    >>> lx.fori_loop(0, 5, lambda i, total: total + i, 0).item()
    10
    """
    a_function(body_fun, "fori_loop", "body_fun")
    for name, bound in (("lower", lower), ("upper", upper)):
        # The value of an array is not read: it may be a placeholder.
        is_one = bound.shape == () and bound.dtype.kind in INTEGERS if isinstance(bound, Array) else is_integer(bound)
        if not is_one:
            raise TypeError(f"fori_loop(): {name} is an integer or an array of one, not {kind_of(bound)}")
    if not isinstance(lower, Array) and not isinstance(upper, Array):
        places = arange(int(lower), max(int(lower), int(upper)), device=device_of(init_val))
        return scan(lambda value, i: (body_fun(i, value), None), init_val, places)[0]
    first, last = _bounds(lower, upper)
    state = (first, last, init_val)
    return while_loop(lambda s: s[0] < s[1], lambda s: (s[0] + 1, s[1], body_fun(s[0], s[2])), state)[2]


def _bounds(lower: Any, upper: Any) -> list[Array]:
    """Returns bounds of which one is an array in one dtype: an int in that of the array, if it has a place there."""
    like = lower if isinstance(lower, Array) else upper

    def made(bound: Any) -> Array:
        if isinstance(bound, Array):
            return bound
        try:
            return _core.scalar_like(int(bound), like)
        except OverflowError:
            return asarray(int(bound), dtype=_core.int64, device=like.device)

    bounds = [made(lower), made(upper)]
    try:
        dtype = common_dtype(x.dtype for x in bounds)
    except TypeError:
        names = " and upper ".join(x.dtype.name for x in bounds)
        raise TypeError(f"fori_loop(): lower is {names}; want integers that have a common dtype") from None
    return [x.astype(dtype, copy=False) for x in bounds]


def map(f: Callable[[Any], Any], xs: Any, *, batch_size: int | None = None) -> Any:
    """Returns the stacked results of ``f`` for each slice of ``xs`` along their first axis, one after the other: in less
    memory than ``vmap``, which takes them all at once. ``batch_size`` changes nothing.

    >>> import lazyxla as lx
    >>> lx.map(lambda x: x.sum() + 1, lx.asarray([[1, 2], [3, 4]])).tolist()
    [4, 8]
    """
    a_function(f, "map", "f")
    return scan(lambda _, x: (None, f(x)), None, xs)[1]


def associative_scan(fn: Callable[[Any, Any], Any], elems: Any, reverse: bool = False, axis: int = 0) -> Any:
    """Returns the results of ``fn`` for the elements up to each one along an axis, where ``fn(fn(a, b), c)`` is ``fn(a,
    fn(b, c))``: in as many steps as the logarithm of their number. ``fn`` takes and returns trees of arrays, whose
    elements along the axis it combines one by one.

    >>> import lazyxla as lx
    >>> lx.associative_scan(lx.maximum, lx.asarray([1, 3, 2, 5, 4])).tolist()
    [1, 3, 3, 5, 5]
    """
    a_function(fn, "associative_scan", "fn")
    leaves, spec = flatten(with_arrays(elems))
    if not leaves or not all(isinstance(x, Array) and x.ndim for x in leaves):
        raise TypeError("associative_scan(): elems is a tree of arrays with an axis")
    axes = [normalized([axis], x.ndim)[0] for x in leaves]
    if len({x.shape[at] for x, at in zip(leaves, axes)}) != 1:
        sizes = ", ".join(str(x.shape[at]) for x, at in zip(leaves, axes))
        raise ValueError(f"associative_scan(): elems have the sizes {sizes} along axis {axis}; want one size")

    def part(arrays: list[Array], key: slice) -> list[Array]:
        return [x[(*[slice(None)] * at, key)] for x, at in zip(arrays, axes)]

    def combined(a: list[Array], b: list[Array]) -> list[Array]:
        found, after = flatten(fn(unflatten(spec, a), unflatten(spec, b)))
        if after != spec:
            raise TypeError(f"associative_scan(): fn returns {after}; want the structure of its arguments, {spec}")
        return found

    def scanned(arrays: list[Array]) -> list[Array]:
        count = arrays[0].shape[axes[0]]
        if count < 2:
            return arrays
        even, odd = part(arrays, slice(0, None, 2)), part(arrays, slice(1, None, 2))
        # First the results at odd places, by a scan of pairs; then each result at an even place from the one before it.
        odd = scanned(combined(part(even, slice(0, count // 2)), odd))
        first = part(even, slice(0, 1))
        if count > 2:
            rest = combined(part(odd, slice(0, (count - 1) // 2)), part(even, slice(1, None)))
            first = [_core.join([a, b], at, False) for a, b, at in zip(first, rest, axes)]
        return [_interleaved(a, b, at) for a, b, at in zip(first, odd, axes)]

    arrays = [_core.flip(x, [at]) if reverse else x for x, at in zip(leaves, axes)]
    arrays = scanned(arrays)
    return unflatten(spec, [_core.flip(x, [at]) if reverse else x for x, at in zip(arrays, axes)])


def _interleaved(even: Array, odd: Array, axis: int) -> Array:
    """Returns the elements of two arrays in turn along an axis; ``even`` may have one more."""
    count = odd.shape[axis]
    key = (*[slice(None)] * axis, slice(0, count))
    pairs = _core.join([even[key], odd], axis + 1, True)
    shape = list(even.shape)
    shape[axis] = 2 * count
    found = _core.reshape(pairs, shape)
    return (
        found if even.shape[axis] == count else _core.join([found, even[(*key[:-1], slice(count, None))]], axis, False)
    )


def cummax(x: Array, /, axis: int = 0) -> Array:
    """Returns the largest of the elements up to each one along an axis.

    >>> import lazyxla as lx
    >>> lx.cummax(lx.asarray([1, 3, 2])).tolist()
    [1, 3, 3]
    """
    return cumulative_extreme(c.REDUCE_MAX, x, axis)


def cummin(x: Array, /, axis: int = 0) -> Array:
    """Returns the smallest of the elements up to each one along an axis.

    >>> import lazyxla as lx
    >>> lx.cummin(lx.asarray([2, 3, 1])).tolist()
    [2, 2, 1]
    """
    return cumulative_extreme(c.REDUCE_MIN, x, axis)


def rsqrt(x: Array, /) -> Array:
    """Returns 1 / sqrt(x), elementwise.

    >>> import lazyxla as lx
    >>> lx.rsqrt(lx.asarray([4.0])).tolist()
    [0.5]
    """
    from ._operands import in_floats

    return _core.unary(c.UNARY_RSQRT, in_floats(x))


def _start(x: Array, start: Any, size: int, axis: int) -> Any:
    """Returns where a slice begins: a number or an array, clamped so that all of the slice is there."""
    if not 0 <= size <= x.shape[axis]:
        raise ValueError(f"a slice of {size} elements along axis {axis}; x has {x.shape[axis]} there")
    if not isinstance(start, Array):
        if not is_integer(start):
            raise TypeError(f"the start of a slice is an integer or an array of one, not {kind_of(start)}")
        start = int(start) + (x.shape[axis] if start < 0 else 0)
        return min(max(start, 0), x.shape[axis] - size)
    if start.ndim or start.dtype.kind not in ("signed integer", "unsigned integer"):
        raise TypeError(f"the start of a slice is an integer or an array of one, not {kind_of(start)}")
    start = start.astype(_core.int64)
    return clip(_core.select(start < 0, start + x.shape[axis], start), 0, x.shape[axis] - size)


def dynamic_slice_in_dim(x: Array, start: Any, size: int, axis: int = 0) -> Array:
    """Returns ``size`` elements of x along an axis from ``start`` on, an integer or an array of one: a slice whose place
    is computed. It is moved inside of x where it would reach beyond the end.

    >>> import lazyxla as lx
    >>> lx.dynamic_slice_in_dim(lx.arange(5), lx.asarray(3), 3).tolist()
    [2, 3, 4]
    """
    (at,) = normalized([axis], x.ndim)
    first = _start(x, start, size, at)
    if isinstance(first, int):
        return x[(*[slice(None)] * at, slice(first, first + size))]
    return _core.take(x, first + arange(size, device=x.device), at)


def dynamic_index_in_dim(x: Array, index: Any, axis: int = 0, keepdims: bool = True) -> Array:
    """Returns the slice of x at an index along an axis, which stays with size 1, or goes without ``keepdims``.

    >>> import lazyxla as lx
    >>> lx.dynamic_index_in_dim(lx.arange(5), lx.asarray(3)).tolist()
    [3]
    """
    found = dynamic_slice_in_dim(x, index, 1, axis)
    return found if keepdims else _core.squeeze(found, normalized([axis], x.ndim))


def dynamic_slice(x: Array, start_indices: Sequence[Any], slice_sizes: Sequence[int]) -> Array:
    """Returns a slice of x of fixed sizes that begins at places along all axes, each an integer or an array of one.

    >>> import lazyxla as lx
    >>> lx.dynamic_slice(lx.reshape(lx.arange(12), (3, 4)), (1, lx.asarray(2)), (2, 2)).tolist()
    [[6, 7], [10, 11]]
    """
    starts = _each_axis("dynamic_slice", x, start_indices)
    if len(slice_sizes) != x.ndim:
        raise ValueError(f"dynamic_slice(): {len(slice_sizes)} slice_sizes for an array of rank {x.ndim}")
    for axis, (start, size) in enumerate(zip(starts, slice_sizes)):
        x = dynamic_slice_in_dim(x, start, size, axis)
    return x


def _each_axis(of: str, x: Array, starts: Any) -> list[Any]:
    found = list(starts) if isinstance(starts, (tuple, list, Array)) else [starts]
    if len(found) != x.ndim:
        raise ValueError(f"{of}(): {len(found)} start_indices for an array of rank {x.ndim}")
    return found


def dynamic_update_slice(x: Array, update: Any, start_indices: Sequence[Any]) -> Array:
    """Returns a copy of x with ``update`` from places along all axes on, each an integer or an array of one.

    >>> import lazyxla as lx
    >>> lx.dynamic_update_slice(lx.zeros(4), lx.asarray([1.0, 2.0]), [lx.asarray(1)]).tolist()
    [0.0, 1.0, 2.0, 0.0]
    """
    update = array_of(update, x.device)
    if update is None or update.ndim != x.ndim:
        raise ValueError(f"dynamic_update_slice(): update is {kind_of(update)}; want an array of rank {x.ndim}")
    key: list[Any] = []
    for axis, start in enumerate(_each_axis("dynamic_update_slice", x, start_indices)):
        size = update.shape[axis]
        first = _start(x, start, size, axis)
        places = first + arange(size, device=x.device)
        key.append(_core.reshape(places, [size if i == axis else 1 for i in range(x.ndim)]))
    found = x.copy()
    if x.ndim == 0:
        found[...] = update
    elif update.size:
        found[tuple(key)] = update
    return found
