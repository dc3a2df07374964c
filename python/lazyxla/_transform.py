"""Derivatives and batches of functions over trees of arrays.

A transformed function is called with placeholders, which have a shape and a dtype but no value, each time that the
result is called; what it records is then differentiated or batched. A function of ``jit`` is called once for each types
of its arguments. Arrays that the function takes from elsewhere (closures, globals) are constants of it. Reading a value
inside of it, by ``float(x)`` or ``if x:``, is a RuntimeError: the value is not known then. An operation in place on an
array from elsewhere is a RuntimeError too, and leaves the array as it was: its new value would be that of the
placeholders. An operation in place on an argument changes a copy that the function got; in a function that is called
through ``jit`` itself it is a RuntimeError.

Trees are those of ``optree``: dictionaries, lists, tuples, named tuples and what is registered there. Their leaves are
arrays; Python's scalars, texts and None are passed on as they are.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

from . import _core
from ._core import Array
from ._jit import Jit
from ._checks import a_function, kind_of
from ._rules import stop_gradient
from ._sizes import AxisError, integers, is_integer
from ._trace import (
    Traced,
    array_leaves,
    call,
    device_of,
    differentiables,
    has_derivatives,
    is_tracing,
    like_of,
    spread,
    with_arrays,
    zero_of,
)
from ._tree import axes_of, flatten, unflatten


def value_and_grad(
    fun: Callable[..., Any], argnums: int | Sequence[int] = 0, *, has_aux: bool = False
) -> Callable[..., Any]:
    """Returns a function that returns the value of ``fun`` and its gradients by some positional arguments.

    ``fun`` returns a scalar of a float dtype, or with ``has_aux`` a pair of it and a tree of other results, which
    the new function returns as ``(value, aux)`` in place of the value. With a list of ``argnums``, the gradients are
    a tuple. Gradients of complex arguments are not conjugated, as in JAX.

    >>> import lazyxla as lx
    >>> value, gradient = lx.value_and_grad(lambda x: lx.sum(x * x))(lx.asarray([1.0, 2.0]))
    >>> float(value), gradient.tolist()
    (5.0, [2.0, 4.0])
    """
    return _value_and_grad(fun, argnums, has_aux, "value_and_grad")


def _value_and_grad(
    fun: Callable[..., Any], argnums: int | Sequence[int], has_aux: bool, name: str
) -> Callable[..., Any]:
    """``value_and_grad`` for the function of that name, which errors name."""
    a_function(fun, name, "fun")
    numbers = tuple(integers(argnums, "argnums"))

    @functools.wraps(fun)
    def value_and_gradient(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = with_arrays((args, kwargs))
        arguments, chosen = differentiable_arguments(args, numbers, device_of((args, kwargs)), name)
        specs, count = {}, 0
        wrt: list[int] = []
        for i, argument in enumerate(arguments):
            leaves, spec = flatten(argument)
            arrays = sum(isinstance(leaf, Array) for leaf in leaves)
            if i in chosen:
                specs[i] = (spec, len(wrt), [leaf is None for leaf in leaves])
                wrt += range(count, count + arrays)
            count += arrays
        leaves, spec = flatten((tuple(arguments), kwargs))
        traced = Traced(_scalar_first(fun, has_aux, name), leaves, spec, is_whole=False)
        outputs = call(leaves, traced.computation.value_and_grad(wrt))
        n = traced.count
        value = traced.tree.rebuild(outputs[:n])
        value = (value[0], value[1]) if has_aux else value[0]
        gradients = []
        for number in numbers:
            of, start, absent = specs[number % len(args)]
            found = iter(outputs[n + start :])
            gradients.append(unflatten(of, [None if none else next(found) for none in absent]))
        return value, gradients[0] if is_integer(argnums) else tuple(gradients)

    return _as_jitted(fun, value_and_gradient, numbers, name)


def differentiable_arguments(
    args: tuple[Any, ...], numbers: Sequence[int], device: _core.Device, name: str
) -> tuple[list[Any], set[int]]:
    """Returns arguments with arrays in place of Python's floats in those of some numbers, and these numbers. ``name``
    is the function that differentiates."""
    chosen = {number % len(args) if -len(args) <= number < len(args) else number for number in numbers}
    if not chosen or not all(0 <= number < len(args) for number in chosen):
        given = ", ".join(map(str, numbers)) or "is empty,"
        raise ValueError(f"{name}(): argnums {given} for {len(args)} positional arguments")
    arguments = list(args)
    for i in chosen:
        leaves, spec = flatten(args[i])
        arguments[i] = unflatten(
            spec, differentiables(leaves, f"{name}(), for argument {i}," if i else f"{name}()", device)
        )
    return arguments, chosen


def _as_jitted(
    fun: Callable[..., Any], transformed: Callable[..., Any], numbers: Sequence[int], name: str = "grad"
) -> Callable[..., Any]:
    """Returns the transformed function, jitted if the function is."""
    if not isinstance(fun, Jit):
        return transformed

    # Floats that are differentiated by are arrays, not constants.
    def prepare(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        return tuple(differentiable_arguments(args, numbers, device_of((args, kwargs)), name)[0])

    return Jit(transformed, prepare, fun.static)


def _scalar_first(fun: Callable[..., Any], has_aux: bool, name: str) -> Callable[..., Any]:
    """Returns fun with its scalar first in a tuple, for the function of that name."""

    def called(*args: Any, **kwargs: Any) -> Any:
        value = fun(*args, **kwargs)
        if has_aux and not (isinstance(value, tuple) and len(value) == 2):
            raise TypeError(
                f"{name}(): with has_aux, the function returns a pair: a scalar, and a tree of other results"
            )
        scalar, aux = value if has_aux else (value, ())
        if not isinstance(scalar, Array) or scalar.shape != () or scalar.dtype.kind != "real floating":
            found = f"{scalar.dtype.name}{list(scalar.shape)}" if isinstance(scalar, Array) else type(scalar).__name__
            raise TypeError(f"{name}() takes functions that return a scalar of a float dtype, not {found}")
        return scalar, aux

    return called


def grad(fun: Callable[..., Any], argnums: int | Sequence[int] = 0, *, has_aux: bool = False) -> Callable[..., Any]:
    """Returns a function that returns the gradients of ``fun``, as ``value_and_grad``; with ``has_aux`` a pair of
    them and the other results.

    >>> import lazyxla as lx
    >>> float(lx.grad(lx.grad(lambda x: x**3))(2.0))
    12.0
    """
    both = _value_and_grad(fun, argnums, has_aux, "grad")

    @functools.wraps(fun)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        value, gradients = both(*args, **kwargs)
        return (gradients, value[1]) if has_aux else gradients

    return _as_jitted(fun, gradient, tuple(integers(argnums, "argnums")))


def _found(fun: Callable[..., Any], leaves: list[Any], spec: Any) -> Traced:
    """Returns a function as it is traced; one of ``jit`` as it was traced before."""
    return fun.find(*unflatten(spec, leaves))[0] if isinstance(fun, Jit) else Traced(fun, leaves, spec, is_whole=False)


def _with_constant_aux(fun: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Returns a function whose pair of results has an auxiliary tree that derivatives treat as constant."""

    def called(*args: Any, **kwargs: Any) -> Any:
        found = fun(*args, **kwargs)
        if not (isinstance(found, tuple) and len(found) == 2):
            raise TypeError(f"{name}(): with has_aux, the function returns a pair: its results, and a tree of others")
        return found[0], stop_gradient(found[1])

    return called


def _aux(fun: Callable[..., Any], leaves: list[Any], spec: Any) -> Any:
    """Returns the auxiliary tree with the derivatives that an outer transformation takes of it."""
    plain = _found(fun, leaves, spec)
    return plain.call([leaf for leaf in leaves if isinstance(leaf, Array)])[1]


def vjp(fun: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """Returns ``fun(*primals)``, and a function from cotangents of the result, in a tree of its structure, to a tuple
    of the gradients by each of ``primals``.

    With ``has_aux``, ``fun`` returns a pair of what is differentiated and a tree of other results, which is the third
    result here, as in JAX.

    >>> import lazyxla as lx
    >>> value, pullback = lx.vjp(lambda x: x**2, lx.asarray(3.0))
    >>> value.item(), pullback(1.0)[0].item()
    (9.0, 6.0)
    """
    a_function(fun, "vjp", "fun")
    device = device_of(primals)
    leaves, spec = flatten(primals)
    leaves = differentiables(leaves, "vjp()", device)
    call_leaves, call_spec = flatten((unflatten(spec, leaves), {}))
    traced = _found(_with_constant_aux(fun, "vjp") if has_aux else fun, call_leaves, call_spec)
    result_spec = traced.tree.spec.children()[0] if has_aux else traced.tree.spec
    arrays = [leaf for leaf in leaves if leaf is not None]
    wrt = list(range(len(arrays)))
    forward, backward, _ = traced.derived(lambda computation: computation.vjp(wrt), "vjp")
    outputs = forward.call([*arrays, *traced.captured])
    results, residuals = outputs[: traced.count], outputs[traced.count :]

    def pullback(cotangents: Any) -> Any:
        given, given_spec = flatten(cotangents)
        if given_spec != result_spec:
            raise ValueError(f"cotangents {given_spec} for results {result_spec}")
        given = [ct for i, ct in enumerate(given) if i not in traced.tree.statics]
        used = [like_of(ct, y) for ct, y in zip(given, results) if has_derivatives(y)]
        used += [zero_of(y) for y in results[len(given) :] if has_derivatives(y)]
        return unflatten(spec, spread(leaves, backward.call([*residuals, *used])))

    found = traced.tree.rebuild(results)
    if not has_aux:
        return found, pullback
    return found[0], pullback, _aux(fun, call_leaves, call_spec) if is_tracing() else found[1]


def jvp(fun: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], *, has_aux: bool = False) -> Any:
    """Returns ``fun(*primals)`` and its derivative in the direction of ``tangents``, in trees of one structure.

    The tangent of a result of integers or bools is 0. With ``has_aux``, ``fun`` returns a pair of what is differentiated
    and a tree of other results, which is the third result here, as in JAX.

    >>> import lazyxla as lx
    >>> value, slope = lx.jvp(lambda x: x**2, (3.0,), (1.0,))
    >>> value.item(), slope.item()
    (9.0, 6.0)
    """
    a_function(fun, "jvp", "fun")
    device = device_of(primals)
    leaves, spec = flatten(tuple(primals))
    directions, direction_spec = flatten(tuple(tangents))
    if spec != direction_spec:
        raise ValueError(f"tangents {direction_spec} for values {spec}")
    leaves = differentiables(leaves, "jvp()", device)
    pairs = zip(directions, leaves, strict=True)
    directions = [like_of(tangent, leaf) for tangent, leaf in pairs if leaf is not None]
    call_leaves, call_spec = flatten((unflatten(spec, leaves), {}))
    traced = _found(_with_constant_aux(fun, "jvp") if has_aux else fun, call_leaves, call_spec)
    arrays = [leaf for leaf in leaves if leaf is not None]
    wrt = list(range(len(arrays)))
    outputs = traced.derived(lambda computation: computation.jvp(wrt), "jvp").call(
        [*arrays, *traced.captured, *directions]
    )
    n = traced.count
    found = iter(outputs[n:])
    slopes = [next(found) if has_derivatives(y) else zero_of(y) for y in outputs[:n]]
    values, found_slopes = traced.tree.rebuild(outputs[:n]), traced.tree.rebuild(slopes)
    if not has_aux:
        return values, found_slopes
    return values[0], found_slopes[0], _aux(fun, call_leaves, call_spec) if is_tracing() else values[1]


def _zeros(x: Array, shape: tuple[int, ...]) -> Array:
    """Returns zeros of the dtype of an array, on its device."""
    return _core.full(shape, False if x.dtype.kind == "bool" else 0, x.dtype, x.device)


def _require_axis(axis: Any, what: str) -> None:
    if not is_integer(axis):
        raise TypeError(f"vmap(): {what} is an int, None or a tree of these, not {kind_of(axis)}")


def vmap(
    fun: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0, *, axis_size: int | None = None
) -> Callable[..., Any]:
    """Returns ``fun`` over a batch: arguments have an axis more, at ``in_axes``, and results at ``out_axes``.

    Both are a number, or a tree of numbers whose structure begins that of the arguments or results; None is an
    argument that all elements of the batch share. Keyword arguments, scalars of Python and NumPy, and texts are shared,
    also where ``in_axes`` has a number. Arrays of NumPy become arrays. ``axis_size`` is the size of the batch where all
    arguments are shared.

    >>> import lazyxla as lx
    >>> lx.vmap(lambda x, y: x * y, (0, None))(lx.asarray([1, 2, 3]), lx.asarray(10)).tolist()
    [10, 20, 30]
    """
    a_function(fun, "vmap", "fun")
    if axis_size is not None:
        if isinstance(axis_size, Array) or not is_integer(axis_size):
            raise TypeError(f"vmap(): axis_size is an int or None, not {kind_of(axis_size)}")
        axis_size = operator.index(axis_size)
        if axis_size < 0:
            raise ValueError(f"vmap(): axis_size is at least 0, not {axis_size}")

    @functools.wraps(fun)
    def batched(*args: Any, **kwargs: Any) -> Any:
        leaves, spec = array_leaves((args, kwargs))
        prefix = tuple(in_axes) if isinstance(in_axes, (list, tuple)) else in_axes
        given = axes_of(prefix, args, "in_axes")
        given += [None] * (len(leaves) - len(given))
        axes, likes = [], []
        sizes: dict[int, None] = {}
        for leaf, axis in zip(leaves, given, strict=True):
            if not isinstance(leaf, Array):
                continue
            if axis is None:
                axes.append(-1)
                likes.append(leaf)
                continue
            _require_axis(axis, "in_axes")
            if not -leaf.ndim <= axis < leaf.ndim:
                raise AxisError(f"vmap(): in_axes {axis} for an array of shape {leaf.shape}")
            axis %= leaf.ndim
            axes.append(axis)
            sizes[leaf.shape[axis]] = None
            shape = leaf.shape[:axis] + leaf.shape[axis + 1 :]
            likes.append(_core.placeholder(shape, leaf.dtype, leaf.device))
        if axis_size is not None:
            if sizes and [*sizes] != [axis_size]:
                counts = ", ".join(map(str, sizes))
                raise ValueError(f"vmap(): axis_size is {axis_size}, and arrays have the sizes {counts} along in_axes")
            sizes[axis_size] = None
        if len(sizes) != 1:
            counts = f"the sizes {', '.join(map(str, sizes))}" if sizes else "none"
            raise ValueError(
                f"vmap() takes arrays with one size of the batch along in_axes, or axis_size, not {counts}"
            )
        traced = Traced(fun, leaves, spec, likes, is_whole=False)
        results, wanted = iter(traced.results), []
        for i, axis in enumerate(axes_of(out_axes, traced.tree.rebuild(traced.results), "out_axes")):
            if axis is not None:
                _require_axis(axis, "out_axes")
            if i in traced.tree.statics:
                continue
            result = next(results)
            rank = result.ndim + 1
            if axis is not None and not -rank <= axis < rank:
                raise AxisError(
                    f"vmap(): out_axes {axis} for results of shape {result.shape}; want {-rank} to {rank - 1}"
                )
            wanted.append(-1 if axis is None else axis % rank)
        (size,) = sizes
        if size != 0:
            return traced.tree.rebuild(call(leaves, traced.computation.vmap(axes, wanted, size)))
        found = traced.results
        if -1 in wanted:
            # Results without the axis of the batch, from one call with zeros.
            arrays = zip([x for x in leaves if isinstance(x, Array)], axes, strict=True)
            one = [x if at < 0 else _zeros(x, x.shape[:at] + (1,) + x.shape[at + 1 :]) for x, at in arrays]
            found = call(one, traced.computation.vmap(axes, wanted, 1))
        pairs = zip(traced.results, found, wanted, strict=True)
        found = [y if at < 0 else _zeros(x, x.shape[:at] + (0,) + x.shape[at:]) for x, y, at in pairs]
        return traced.tree.rebuild(found)

    return Jit(batched, None, fun.static) if isinstance(fun, Jit) else batched
