"""Jacobians and Hessians: batches of derivatives over the unit vectors."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from . import _core
from ._checks import a_function
from ._core import Array
from ._sizes import integers, is_integer
from ._trace import device_of, has_derivatives, with_arrays
from ._transform import _as_jitted, differentiable_arguments, jvp, vjp, vmap
from ._tree import flatten, unflatten


def _units(x: Array) -> Array:
    """Returns the unit vectors of the shape of x, along a new first axis."""
    units = _core.eye(x.size, x.size, 0, x.dtype, x.device)
    return _core.reshape(units, (x.size, *x.shape))


def _real_leaves(tree: Any, what: str, name: str) -> tuple[list[Array], Any]:
    leaves, spec = flatten(tree)
    if not leaves:
        raise ValueError(f"{name}(): {what} has no arrays")
    for leaf in leaves:
        if not isinstance(leaf, Array) or leaf.dtype.kind != "real floating" or not has_derivatives(leaf):
            found = leaf.dtype.name if isinstance(leaf, Array) else type(leaf).__name__
            raise TypeError(
                f"{name}() takes functions from arrays of real float dtypes to such arrays; {what} has {found}"
            )
    return leaves, spec


def _alone(leaves: Sequence[Array], place: int, value: Array) -> list[Array]:
    """Returns zeros for all leaves but one."""
    return [
        value if i == place else _core.full(leaf.shape, 0, leaf.dtype, leaf.device) for i, leaf in enumerate(leaves)
    ]


def _with_chosen(
    fun: Callable[..., Any], argnums: int | Sequence[int], jacobian: Callable[..., Any], name: str
) -> Callable[..., Any]:
    """Returns a function of the arguments of ``fun`` that applies ``jacobian`` to ``fun`` as a function of those that
    ``argnums`` select. Its results are tuples, or single ones if ``argnums`` is an int."""
    a_function(fun, name, "fun")
    numbers = tuple(integers(argnums, "argnums"))

    @functools.wraps(fun)
    def called(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = with_arrays((args, kwargs))
        arguments, _ = differentiable_arguments(args, numbers, device_of((args, kwargs)), name)
        places = [number % len(args) for number in numbers]
        # An argument that is given twice is one variable.
        distinct = list(dict.fromkeys(places))

        def of_chosen(*chosen: Any) -> Any:
            inner = list(arguments)
            for place, value in zip(distinct, chosen, strict=True):
                inner[place] = value
            return fun(*inner, **kwargs)

        def pick(found: Sequence[Any]) -> Any:
            by_place = dict(zip(distinct, found, strict=True))
            return by_place[places[0]] if is_integer(argnums) else tuple(by_place[place] for place in places)

        return jacobian(of_chosen, tuple(arguments[place] for place in distinct), pick)

    return _as_jitted(fun, called, numbers, name)


def jacrev(fun: Callable[..., Any], argnums: int | Sequence[int] = 0) -> Callable[..., Any]:
    """Returns a function that returns the Jacobian of ``fun`` by some positional arguments, in reverse mode: for few
    results of many arguments. ``jacobian`` is another name of it.

    The Jacobian is a tree like the result, each of whose leaves is a tree like the argument, of arrays whose shapes are
    those of the result and of the argument, one after the other. With a list of ``argnums`` it is a tuple there.
    Results and arguments are arrays of real float dtypes.

    >>> import lazyxla as lx
    >>> lx.jacrev(lambda x: x * x)(lx.asarray([1.0, 2.0])).tolist()
    [[2.0, 0.0], [0.0, 4.0]]
    """

    return _jacrev(fun, argnums, "jacrev")


def _jacrev(fun: Callable[..., Any], argnums: int | Sequence[int], name: str) -> Callable[..., Any]:
    def jacobian(of: Callable[..., Any], chosen: tuple[Any, ...], pick: Callable[..., Any]) -> Any:
        _real_leaves(chosen, "the argument", name)
        value, pullback = vjp(of, *chosen)
        results, spec = _real_leaves(value, "the result", name)
        found = []
        for place, y in enumerate(results):

            def backward(ct: Array, place: int = place) -> Any:
                return pullback(unflatten(spec, _alone(results, place, ct)))

            rows, row_spec = flatten(vmap(backward)(_units(y)))
            shaped = [_core.reshape(row, y.shape + row.shape[1:]) for row in rows]
            found.append(pick(unflatten(row_spec, shaped)))
        return unflatten(spec, found)

    return _with_chosen(fun, argnums, jacobian, name)


def jacfwd(fun: Callable[..., Any], argnums: int | Sequence[int] = 0) -> Callable[..., Any]:
    """Returns a function that returns the Jacobian of ``fun``, as ``jacrev``, in forward mode: for many results of few
    arguments.

    >>> import lazyxla as lx
    >>> lx.jacfwd(lambda x: x[0] * x)(lx.asarray([1.0, 2.0])).tolist()
    [[2.0, 0.0], [2.0, 1.0]]
    """

    return _jacfwd(fun, argnums, "jacfwd")


def _jacfwd(fun: Callable[..., Any], argnums: int | Sequence[int], name: str) -> Callable[..., Any]:
    def jacobian(of: Callable[..., Any], chosen: tuple[Any, ...], pick: Callable[..., Any]) -> Any:
        leaves, spec = _real_leaves(chosen, "the argument", name)
        columns: list[list[Array]] = []
        result_spec = None
        for place, x in enumerate(leaves):

            def forward(direction: Array, place: int = place) -> Any:
                return jvp(of, chosen, unflatten(spec, _alone(leaves, place, direction)))[1]

            slopes, result_spec = _real_leaves(vmap(forward, out_axes=-1)(_units(x)), "the result", name)
            columns.append([_core.reshape(slope, slope.shape[:-1] + x.shape) for slope in slopes])
        return unflatten(result_spec, [pick(unflatten(spec, list(of_one))) for of_one in zip(*columns, strict=True)])

    return _with_chosen(fun, argnums, jacobian, name)


jacobian = jacrev


def hessian(fun: Callable[..., Any], argnums: int | Sequence[int] = 0) -> Callable[..., Any]:
    """Returns a function that returns the second derivatives of ``fun``: ``jacfwd`` of its ``jacrev``.

    >>> import lazyxla as lx
    >>> lx.hessian(lambda x: lx.sum(x**3))(lx.asarray([1.0, 2.0])).tolist()
    [[6.0, 0.0], [0.0, 12.0]]
    """
    return _jacfwd(_jacrev(fun, argnums, "hessian"), argnums, "hessian")
