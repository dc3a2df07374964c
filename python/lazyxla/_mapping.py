"""NumPy's functions that take functions: over elements, along axes, by conditions, of indices."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Collection, Sequence
from typing import Any

from . import _core
from ._checks import a_function
from ._core import Array
from ._creation import asarray
from ._elementwise import clip, where
from ._operands import INTEGERS, common_dtype, operands
from ._places import indices
from ._shapes import broadcast_shapes, broadcast_to, moveaxis, reshape
from ._sizes import DTypeLike, normalized
from ._tree import flatten, unflatten
from ._transform import vmap

_NAMES = r"\(\s*(?:\w+\s*(?:,\s*\w+\s*)*,?)?\s*\)"
_SIGNATURE = re.compile(rf"\s*{_NAMES}\s*(?:,\s*{_NAMES}\s*)*->\s*{_NAMES}\s*(?:,\s*{_NAMES}\s*)*")


def _core_axes(signature: str | None) -> tuple[list[list[str]] | None, list[list[str]] | None]:
    """Returns the names of the axes of each argument and of each result."""
    if signature is None:
        return None, None
    if not _SIGNATURE.fullmatch(signature):
        raise ValueError(f"vectorize(): signature is a text such as '(n),(n)->()', not {signature!r}")
    sides = [[re.findall(r"\w+", each) for each in re.findall(_NAMES, side)] for side in signature.split("->")]
    return sides[0], sides[1]


def _require_axes(shape: Sequence[int], names: Sequence[str], sizes: dict[str, int], what: str) -> None:
    """Checks the last axes of an argument or result, and notes the sizes of new names."""
    if len(shape) < len(names):
        raise ValueError(
            f"vectorize(): {what} has the shape {tuple(shape)}; the signature has the axes {', '.join(names)}"
        )
    for name, size in zip(names, shape[len(shape) - len(names) :], strict=True):
        size = int(size)
        if name.isdigit() and int(name) != size or sizes.setdefault(name, size) != size:
            raise ValueError(f"vectorize(): {what}: axis {name} has size {size}, elsewhere {sizes.get(name, name)}")


def vectorize(
    fun: Callable[..., Any] | None = None, *, excluded: Collection[int | str] = (), signature: str | None = None
) -> Any:
    """Returns a function that applies ``fun``, a function of scalars, to all elements of arrays that broadcast to one
    shape. ``fun`` is called once, with placeholders, as by ``vmap``. Without ``fun``, returns a decorator.

    With a ``signature`` such as "(n),(n)->()", ``fun`` takes and returns arrays with these last axes. Arguments whose
    positions or names are ``excluded`` are passed as they are; keyword arguments are.

    >>> import lazyxla as lx
    >>> clipped = lx.vectorize(lambda x, most: lx.where(x > most, most, x))
    >>> clipped(lx.asarray([[1.0], [3.0]]), lx.asarray([2.0, 0.0])).tolist()
    [[1.0, 0.0], [2.0, 0.0]]
    """
    if fun is None:
        return functools.partial(vectorize, excluded=excluded, signature=signature)
    a_function(fun, "vectorize", "fun")
    inputs, outputs = _core_axes(signature)

    @functools.wraps(fun)
    def called(*args: Any, **kwargs: Any) -> Any:
        places = [i for i in range(len(args)) if i not in excluded]
        if inputs is not None and len(inputs) != len(places):
            raise TypeError(f"vectorize(): {len(places)} arguments for the signature {signature!r}")
        device = next((x.device for x in args if isinstance(x, Array)), None)
        names = inputs or [[] for _ in places]
        arrays, sizes = [], dict[str, int]()
        for i, axes in zip(places, names, strict=True):
            x = args[i] if isinstance(args[i], Array) else asarray(args[i], device=device)
            _require_axes(x.shape, axes, sizes, f"argument {i}")
            arrays.append(x)
        ranks = [x.ndim - len(axes) for x, axes in zip(arrays, names, strict=True)]
        batch = broadcast_shapes(*(x.shape[:rank] for x, rank in zip(arrays, ranks, strict=True)))

        def inner(*elements: Any) -> Any:
            given = list(args)
            for i, x in zip(places, elements, strict=True):
                given[i] = x
            return fun(*given, **kwargs)

        if not arrays or batch == ():
            return _checked(inner(*arrays), outputs, sizes, 0)
        count = math.prod(batch)
        flat = [
            reshape(broadcast_to(x, (*batch, *x.shape[rank:])), (count, *x.shape[rank:]))
            for x, rank in zip(arrays, ranks, strict=True)
        ]
        leaves, spec = flatten(_checked(vmap(inner)(*flat), outputs, sizes, 1))
        found = [reshape(y, (*batch, *y.shape[1:])) if isinstance(y, Array) else y for y in leaves]
        return unflatten(spec, found)

    return called


def _checked(results: Any, outputs: list[list[str]] | None, sizes: dict[str, int], before: int) -> Any:
    """Returns results whose last axes are those of a signature."""
    if outputs is None:
        return results
    each = results if isinstance(results, tuple) else (results,)
    if len(each) != len(outputs):
        raise TypeError(f"vectorize(): the function returns {len(each)} results; the signature has {len(outputs)}")
    for i, (y, axes) in enumerate(zip(each, outputs, strict=True)):
        shape = getattr(y, "shape", ())[before:]
        if len(shape) != len(axes):
            raise ValueError(f"vectorize(): result {i} has the shape {shape}; the signature has {len(axes)} axes")
        _require_axes(shape, axes, sizes, f"result {i}")
    return results


def apply_along_axis(func1d: Callable[..., Any], axis: int, x: Array, /, *args: Any, **kwargs: Any) -> Array:
    """Returns the results of a function of vectors on all vectors along an axis; the axes of a result stand in the place
    of the axis. The function is called once, with a placeholder, as by ``vmap``; further arguments are passed to it.

    >>> import lazyxla as lx
    >>> lx.apply_along_axis(lambda v: v[-1] - v[0], 1, lx.asarray([[1, 5], [2, 9]])).tolist()
    [4, 7]
    """
    a_function(func1d, "apply_along_axis", "func1d")
    (at,) = normalized([axis], x.ndim)
    last = moveaxis(x, at, -1)
    rest = last.shape[:-1]
    found = vmap(lambda v: func1d(v, *args, **kwargs))(reshape(last, (math.prod(rest), last.shape[-1])))
    if not isinstance(found, Array):
        raise TypeError(f"apply_along_axis(): the function returns an array, not a {type(found).__name__}")
    inner = found.ndim - 1
    found = reshape(found, (*rest, *found.shape[1:]))
    ahead = range(len(rest), len(rest) + inner)
    return moveaxis(found, [*ahead], [*range(at, at + inner)]) if inner else found


def select(condlist: Sequence[Array], choicelist: Sequence[Any], default: Any = 0) -> Array:
    """Returns elements of the first choice whose condition is true there, and ``default`` where none is.

    >>> import lazyxla as lx
    >>> x = lx.arange(5)
    >>> lx.select([x < 2, x > 3], [x, x * 10], -1).tolist()
    [0, 1, -1, -1, 40]
    """
    if len(condlist) != len(choicelist) or not len(condlist):
        raise ValueError(
            f"select(): {len(condlist)} conditions and {len(choicelist)} choices; want as many, at least one"
        )
    for condition in condlist:
        if not isinstance(condition, Array) or condition.dtype != _core.bool:
            kind = condition.dtype.name if isinstance(condition, Array) else type(condition).__name__
            raise TypeError(f"select(): conditions are arrays of bools, not {kind}")
    like = next((x for x in choicelist if isinstance(x, Array)), None)
    choices: list[Any] = [*choicelist, default]
    if like is None:
        dtype = common_dtype(asarray(each, device="cpu").dtype for each in choices)
        choices = [asarray(each, dtype=dtype, device=condlist[0].device) for each in choices]
    *values, found = operands("select", *choices)
    for condition, value in zip(reversed(condlist), reversed(values), strict=True):
        found = where(condition, value, found)
    return found


def choose(a: Array, choices: Any, /, mode: str = "clip") -> Array:
    """Returns elements of the choices, arrays or scalars that broadcast to one shape: at each place that of the choice
    whose number stands in a. Numbers out of range are clamped, or wrapped for ``mode="wrap"``: they are not read.

    >>> import lazyxla as lx
    >>> lx.choose(lx.asarray([1, 0]), [lx.asarray([10, 20]), 7]).tolist()
    [7, 20]
    """
    if mode not in ("clip", "wrap"):
        raise ValueError(f"choose(): mode is 'clip' or 'wrap', not {mode!r}")
    each = [*choices]
    if not each or a.dtype.kind not in INTEGERS:
        raise TypeError(f"choose() takes integers and at least one choice, not {a.dtype.name} and {len(each)} choices")
    each = [x if isinstance(x, (Array, int, float, complex)) else asarray(x, device=a.device) for x in each]
    *values, found = operands("choose", *each, asarray(each[0], device=a.device))
    at = a % len(values) if mode == "wrap" else clip(a, 0, len(values) - 1)
    for number, value in enumerate(values):
        found = where(at == number, value, found)
    return found


def piecewise(x: Array, condlist: Any, funclist: Sequence[Any], /, *args: Any, **kwargs: Any) -> Array:
    """Returns the results of the last function whose condition is true, on each element of x: functions, or scalars; 0
    where none is true. One function more than conditions is for the elements where none is.

    All functions are applied to all elements, as by ``where``; the result has the dtype of x.

    >>> import lazyxla as lx
    >>> x = lx.asarray([-2.0, 3.0])
    >>> lx.piecewise(x, [x < 0, x >= 0], [lambda x: -x, lambda x: 10 * x]).tolist()
    [2.0, 30.0]
    """
    conditions = [*condlist] if isinstance(condlist, (list, tuple)) else [condlist]
    if len(funclist) not in (len(conditions), len(conditions) + 1):
        raise ValueError(
            f"piecewise(): {len(funclist)} functions for {len(conditions)} conditions; want as many, or 1 more"
        )
    functions = [*funclist]

    def value(function: Any) -> Any:
        made = function(x, *args, **kwargs) if callable(function) else function
        made = made if isinstance(made, Array) else _core.full((), made, x.dtype, x.device)
        return made.astype(x.dtype, copy=False)

    zero: Any = False if x.dtype == _core.bool else 0
    last = functions.pop() if len(functions) > len(conditions) else zero
    found = broadcast_to(value(last), x.shape)
    for condition, function in zip(conditions, functions, strict=True):
        condition = condition if isinstance(condition, Array) else asarray(condition, device=x.device)
        found = where(condition, value(function), found)
    return found


def fromfunction(
    function: Callable[..., Any],
    shape: Sequence[int],
    dtype: DTypeLike | None = None,
    *,
    device: Any = None,
    **kwargs: Any,
) -> Any:
    """Returns the result of a function of the indices of each element of a shape, one array for each axis, float32 unless
    a dtype is given.

    >>> import lazyxla as lx
    >>> lx.fromfunction(lambda i, j: i + j, (2, 2)).tolist()
    [[0.0, 1.0], [1.0, 2.0]]
    """
    a_function(function, "fromfunction", "function")
    made = indices(shape, dtype or _core.float32, device=device)
    return function(*(made[i] for i in range(made.shape[0])), **kwargs)
