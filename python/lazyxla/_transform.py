"""Transformations of functions over trees of arrays: derivatives, batches, loops and branches.

A transformed function is called with placeholders, which have a shape and a dtype but no value, each time that the
result is called; what it records is then differentiated, batched or repeated. Arrays that the function takes from
elsewhere (closures, globals) are constants of it. Reading a value inside of it, by ``float(x)`` or ``if x:``, is a
RuntimeError: the value is not known then. An operation in place on an array from elsewhere is a RuntimeError too, and
leaves the array as it was: its new value would be that of the placeholders.

Trees are those of ``optree``: dictionaries, lists, tuples, named tuples and what is registered there. Their leaves are
arrays; Python's scalars, texts and None are passed on as they are.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from . import _constants as c
from . import _core
from ._core import Array, Computation
from ._creation import asarray
from ._device import default_device
from ._sizes import integers, is_integer, normalized
from ._tree import Leaves, array_of, flatten, optree, tree_map, unflatten

_FLOATS = ("real floating", "complex floating")


def _changed(arrays: Sequence[Array]) -> RuntimeError:
    types = ", ".join(f"{x.dtype.name}{list(x.shape)}" for x in arrays)
    return RuntimeError(
        f"a function that is traced (by grad, vmap, scan, ...) changes arrays from outside of it in place: {types}; "
        f"they have their values from before again. Return the new value as an auxiliary result (has_aux=True, or one "
        f"more result), and assign it after the call"
    )


class _Traced:
    """A function traced with placeholders for the arrays among some leaves."""

    def __init__(
        self, function: Callable[..., Any], leaves: list[Any], spec: Any, likes: Sequence[Array] | None = None
    ) -> None:
        """``likes`` gives the types of the arrays among the leaves; it defaults to these arrays."""
        self.places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, Array)]
        arrays = [leaves[i] for i in self.places]
        parameters = [_core.placeholder_like(like) for like in (arrays if likes is None else likes)]
        self.device = parameters[0].device if parameters else default_device()
        inner = list(leaves)
        _core.begin_trace()
        try:
            for place, parameter in zip(self.places, parameters, strict=True):
                # A copy: an operation in place on an argument must not replace the parameter.
                inner[place] = parameter.copy()
            args, kwargs = unflatten(spec, inner)
            self.tree = Leaves(function(*args, **kwargs), self.device)
        finally:
            changed = _core.end_trace()
        if changed:
            raise _changed(changed)
        self.results = self.tree.arrays
        if not self.results:
            kinds = ", ".join(sorted({type(leaf).__name__ for leaf in self.tree.statics.values()})) or "an empty tree"
            raise TypeError(f"a traced function returns at least one array, not {kinds}")
        self.computation = _core.trace(parameters, self.results)


def _call(leaves: Sequence[Any], computation: Computation) -> list[Array]:
    return computation.call([leaf for leaf in leaves if isinstance(leaf, Array)])


def _differentiable(leaf: Any, of: str, device: _core.Device) -> Array:
    if isinstance(leaf, (float, complex)) or (not isinstance(leaf, Array) and hasattr(leaf, "__array_interface__")):
        leaf = asarray(leaf, device=device)
    if not isinstance(leaf, Array) or leaf.dtype.kind not in _FLOATS:
        found = leaf.dtype.name if isinstance(leaf, Array) else type(leaf).__name__
        raise TypeError(f"{of} takes arrays of float and complex dtypes to differentiate by, not {found}")
    return leaf


def _differentiables(leaves: Sequence[Any], of: str, device: _core.Device) -> list[Any]:
    """Returns leaves as arrays, None among them."""
    return [None if leaf is None else _differentiable(leaf, of, device) for leaf in leaves]


def _spread(like: Sequence[Any], values: Sequence[Any]) -> list[Any]:
    """Returns values for the arrays among some leaves, and None for the others."""
    found = iter(values)
    return [None if leaf is None else next(found) for leaf in like]


def _device_of(tree: Any) -> _core.Device:
    return next((leaf.device for leaf in flatten(tree)[0] if isinstance(leaf, Array)), default_device())


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
    numbers = tuple(integers(argnums, "argnums"))

    @functools.wraps(fun)
    def value_and_gradient(*args: Any, **kwargs: Any) -> Any:
        device = _device_of((args, kwargs))
        chosen = {number % len(args) if -len(args) <= number < len(args) else number for number in numbers}
        if not chosen or max(chosen) >= len(args):
            raise ValueError(f"argnums {argnums} for {len(args)} positional arguments")
        arguments, specs = list(args), {}
        wrt: list[int] = []
        for i in range(len(args)):
            if i in chosen:
                leaves, spec = flatten(args[i])
                arguments[i] = unflatten(spec, _differentiables(leaves, "grad()", device))
        count = 0
        for i, argument in enumerate(arguments):
            leaves, spec = flatten(argument)
            arrays = sum(isinstance(leaf, Array) for leaf in leaves)
            if i in chosen:
                specs[i] = (spec, len(wrt), [leaf is None for leaf in leaves])
                wrt += range(count, count + arrays)
            count += arrays
        leaves, spec = flatten((tuple(arguments), kwargs))
        traced = _Traced(_scalar_first(fun, has_aux), leaves, spec)
        outputs = _call(leaves, traced.computation.value_and_grad(wrt))
        n = len(traced.results)
        value = traced.tree.rebuild(outputs[:n])
        value = (value[0], value[1]) if has_aux else value[0]
        gradients = []
        for number in numbers:
            of, start, absent = specs[number % len(args)]
            found = iter(outputs[n + start :])
            gradients.append(unflatten(of, [None if none else next(found) for none in absent]))
        return value, gradients[0] if is_integer(argnums) else tuple(gradients)

    return value_and_gradient


def _scalar_first(fun: Callable[..., Any], has_aux: bool) -> Callable[..., Any]:
    """Returns fun with its scalar first in a tuple."""

    def called(*args: Any, **kwargs: Any) -> Any:
        value = fun(*args, **kwargs)
        if has_aux and not (isinstance(value, tuple) and len(value) == 2):
            raise TypeError("with has_aux, the function returns a pair: a scalar, and a tree of other results")
        scalar, aux = value if has_aux else (value, ())
        if not isinstance(scalar, Array) or scalar.shape != () or scalar.dtype.kind != "real floating":
            found = f"{scalar.dtype.name}{list(scalar.shape)}" if isinstance(scalar, Array) else type(scalar).__name__
            raise TypeError(f"grad() takes functions that return a scalar of a float dtype, not {found}")
        return scalar, aux

    return called


def grad(fun: Callable[..., Any], argnums: int | Sequence[int] = 0, *, has_aux: bool = False) -> Callable[..., Any]:
    """Returns a function that returns the gradients of ``fun``, as ``value_and_grad``; with ``has_aux`` a pair of
    them and the other results.

    >>> import lazyxla as lx
    >>> float(lx.grad(lx.grad(lambda x: x**3))(2.0))
    12.0
    """
    both = value_and_grad(fun, argnums, has_aux=has_aux)

    @functools.wraps(fun)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        value, gradients = both(*args, **kwargs)
        return (gradients, value[1]) if has_aux else gradients

    return gradient


def vjp(fun: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """Returns ``fun(*primals)``, and a function from cotangents of the result, in a tree of its structure, to a tuple
    of the gradients by each of ``primals``."""
    device = _device_of(primals)
    leaves, spec = flatten(primals)
    leaves = _differentiables(leaves, "vjp()", device)
    call_leaves, call_spec = flatten((unflatten(spec, leaves), {}))
    traced = _Traced(fun, call_leaves, call_spec)
    forward, backward, _ = traced.computation.vjp(list(range(sum(leaf is not None for leaf in leaves))))
    outputs = _call(leaves, forward)
    results, residuals = outputs[: len(traced.results)], outputs[len(traced.results) :]

    def pullback(cotangents: Any) -> Any:
        given, given_spec = flatten(cotangents)
        if given_spec != traced.tree.spec:
            raise ValueError(f"cotangents {given_spec} for results {traced.tree.spec}")
        given = [ct for i, ct in enumerate(given) if i not in traced.tree.statics]
        used = [_like(ct, y) for ct, y in zip(given, results, strict=True) if y.dtype.kind in _FLOATS]
        return unflatten(spec, _spread(leaves, backward.call([*residuals, *used])))

    return traced.tree.rebuild(results), pullback


def _like(value: Any, like: Array) -> Array:
    """Returns a tangent or cotangent as an array of the type of its value."""
    if not isinstance(value, Array) and hasattr(value, "__array_interface__"):
        value = asarray(value, device=like.device)
    if not isinstance(value, Array):
        return _core.full(like.shape, value, like.dtype, like.device)
    if value.shape != like.shape or value.dtype != like.dtype:
        raise ValueError(
            f"a tangent of {value.dtype.name}{list(value.shape)} for a value of {like.dtype.name}{list(like.shape)}"
        )
    return value


def jvp(fun: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """Returns ``fun(*primals)`` and its derivative in the direction of ``tangents``, in trees of one structure.

    The tangent of a result of integers or bools is 0.
    """
    device = _device_of(primals)
    leaves, spec = flatten(tuple(primals))
    directions, direction_spec = flatten(tuple(tangents))
    if spec != direction_spec:
        raise ValueError(f"tangents {direction_spec} for values {spec}")
    leaves = _differentiables(leaves, "jvp()", device)
    pairs = zip(directions, leaves, strict=True)
    directions = [_like(tangent, leaf) for tangent, leaf in pairs if leaf is not None]
    call_leaves, call_spec = flatten((unflatten(spec, leaves), {}))
    traced = _Traced(fun, call_leaves, call_spec)
    arrays = [leaf for leaf in leaves if leaf is not None]
    outputs = traced.computation.jvp(list(range(len(arrays)))).call([*arrays, *directions])
    n = len(traced.results)
    found = iter(outputs[n:])
    slopes = [next(found) if y.dtype.kind in _FLOATS else _zero(y) for y in outputs[:n]]
    return traced.tree.rebuild(outputs[:n]), traced.tree.rebuild(slopes)


def _zero(y: Array) -> Array:
    return _core.full(y.shape, False if y.dtype.kind == "bool" else 0, y.dtype, y.device)


def _axes_of(prefix: Any, tree: Any, what: str) -> list[Any]:
    try:
        return optree().broadcast_prefix(prefix, tree, none_is_leaf=True)
    except ValueError as error:
        raise ValueError(f"{what} {prefix!r} does not fit the tree: {error}") from None


def vmap(fun: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0) -> Callable[..., Any]:
    """Returns ``fun`` over a batch: arguments have an axis more, at ``in_axes``, and results at ``out_axes``.

    Both are a number, or a tree of numbers whose structure begins that of the arguments or results; None is an
    argument that all elements of the batch share. Keyword arguments are shared.
    """

    @functools.wraps(fun)
    def batched(*args: Any, **kwargs: Any) -> Any:
        leaves, spec = flatten((args, kwargs))
        prefix = in_axes if in_axes is None or is_integer(in_axes) else tuple(in_axes)
        given = _axes_of(prefix, args, "in_axes")
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
            if not -leaf.ndim <= axis < leaf.ndim:
                raise ValueError(f"in_axes {axis} for an array of shape {leaf.shape}")
            axis %= leaf.ndim
            axes.append(axis)
            sizes[leaf.shape[axis]] = None
            shape = leaf.shape[:axis] + leaf.shape[axis + 1 :]
            likes.append(_core.placeholder(shape, leaf.dtype, leaf.device))
        if len(sizes) != 1:
            raise ValueError(f"vmap() takes arrays with one size of the batch, not {list(sizes) or 'none'}")
        traced = _Traced(fun, leaves, spec, likes)
        results, wanted = iter(traced.results), []
        for i, axis in enumerate(_axes_of(out_axes, traced.tree.rebuild(traced.results), "out_axes")):
            if i in traced.tree.statics:
                continue
            rank = next(results).ndim + 1
            wanted.append(-1 if axis is None else normalized([axis], rank, ValueError)[0])
        (size,) = sizes
        return traced.tree.rebuild(_call(leaves, traced.computation.vmap(axes, wanted, size)))

    return batched


def scan(
    fun: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    *,
    reverse: bool = False,
) -> tuple[Any, Any]:
    """Repeats ``carry, y = fun(carry, x)`` for each slice x of ``xs`` along their first axis, as one loop.

    Returns the last carry and the stacked ``y``. Without ``xs``, ``fun`` gets None, and ``length`` is the number of
    repetitions. The carry keeps its structure, shapes and dtypes.
    """
    first = Leaves(init, _device_of((init, xs)))
    carry = first.arrays
    slices, _ = flatten(xs)
    arrays = [leaf for leaf in slices if isinstance(leaf, Array)]
    lengths = {x.shape[0] if x.ndim else None for x in arrays} | ({length} if length is not None else set())
    if len(lengths) != 1 or None in lengths:
        raise ValueError(f"scan() takes arrays with one size of the first axis, or a length, not {lengths or 'none'}")
    (count,) = integers(lengths, "the length")
    leaves, spec = flatten(((first.rebuild(carry), xs), {}))
    likes = carry + [_core.placeholder(x.shape[1:], x.dtype, x.device) for x in arrays]
    structure: list[Leaves] = []

    def body(state: Any, x: Any) -> Any:
        pair = fun(state, x)
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError("the function of scan() returns a pair: the carry, and a result to stack or None")
        device = carry[0].device if carry else default_device()
        after = Leaves(pair[0], device)
        types, found = ([(x.dtype.name, x.shape) for x in of.arrays] for of in (first, after))
        if not first.same_places(after) or found != types:
            raise TypeError(f"the carry changed from {types} in {first.spec} to {found} in {after.spec}")
        ys = Leaves(pair[1], device)
        structure[:] = [ys]
        return [*after.arrays, *ys.arrays]

    traced = _Traced(body, leaves, spec, likes)
    outputs = _core.scan(traced.computation, carry, arrays, count, reverse)
    return first.rebuild(outputs[: len(carry)]), structure[0].rebuild(outputs[len(carry) :])


def while_loop(cond_fun: Callable[[Any], Array], body_fun: Callable[[Any], Any], init: Any) -> Any:
    """Repeats ``value = body_fun(value)`` as long as ``cond_fun(value)``, a bool of rank 0, is true.

    The value keeps its structure, shapes and dtypes. Forward mode only: ``grad`` of it is an error; see ``scan``.
    """
    first = Leaves(init, _device_of(init))
    call, call_spec = flatten(((first.rebuild(first.arrays),), {}))
    condition, body = _Traced(cond_fun, call, call_spec), _Traced(body_fun, call, call_spec)
    if not first.same_places(body.tree):
        raise TypeError(f"the value changed its structure from {first.spec} to {body.tree.spec}")
    return first.rebuild(_core.while_loop(condition.computation, body.computation, first.arrays))


def cond(pred: Any, true_fun: Callable[..., Any], false_fun: Callable[..., Any], *operands: Any) -> Any:
    """Returns ``true_fun(*operands)`` if ``pred``, a bool of rank 0, is true, else ``false_fun(*operands)``.

    Only the chosen one runs. Both return trees of one structure, with equal shapes and dtypes.
    """
    leaves, spec = flatten((operands, {}))
    branches = [_Traced(function, leaves, spec) for function in (true_fun, false_fun)]
    if not branches[0].tree.same_places(branches[1].tree):
        raise TypeError(f"the branches return {branches[0].tree.spec} and {branches[1].tree.spec}")
    arrays = [leaf for leaf in leaves if isinstance(leaf, Array)]
    choice = array_of(pred, _device_of(operands))
    outputs = _core.cond(choice, branches[0].computation, branches[1].computation, arrays)
    return branches[0].tree.rebuild(outputs)


_POLICIES = {
    "all": c.CHECKPOINT_SAVE_ALL,
    "none": c.CHECKPOINT_SAVE_NONE,
    "dots": c.CHECKPOINT_SAVE_DOTS,
}


def checkpoint(fun: Callable[..., Any], *, save: str = "none") -> Callable[..., Any]:
    """Returns ``fun`` whose backward pass computes again what the forward pass does not save.

    ``save`` is "none", "dots" (results of matrix products) or "all".
    """
    if save not in _POLICIES:
        raise ValueError(f"save is one of {', '.join(_POLICIES)}, not {save!r}")

    @functools.wraps(fun)
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        leaves, spec = flatten((args, kwargs))
        traced = _Traced(fun, leaves, spec)
        return traced.tree.rebuild(_call(leaves, traced.computation.checkpoint(_POLICIES[save])))

    return checkpointed


class custom_vjp:
    """A function with a reverse-mode derivative of its own, which ``defvjp`` gives.

    ``forward`` takes the arguments, and returns the result and a tree of residuals; ``backward`` takes the residuals
    and the cotangents of the result, and returns a tuple of the gradients by each argument. Arguments are trees of
    arrays of float or complex dtypes. The functions must not take arrays from elsewhere by which a derivative is taken.

    >>> import lazyxla as lx
    >>> @lx.custom_vjp
    ... def clipped(x):
    ...     return x
    >>> clipped.defvjp(lambda x: (x, ()), lambda residuals, ct: (lx.clip(ct, -1, 1),))
    >>> float(lx.grad(lambda x: 5 * clipped(x))(2.0))
    1.0
    """

    def __init__(self, fun: Callable[..., Any]) -> None:
        self._fun = fun
        self._rule: tuple[Callable[..., Any], Callable[..., Any]] | None = None
        functools.update_wrapper(self, fun)

    def defvjp(self, forward: Callable[..., Any], backward: Callable[..., Any]) -> None:
        """Gives the derivative."""
        self._rule = (forward, backward)

    def __call__(self, *args: Any) -> Any:
        if self._rule is None:
            raise TypeError(f"{self._fun.__name__} has no derivative yet: call its defvjp(forward, backward)")
        forward, backward = self._rule
        device = _device_of(args)
        leaves, spec = flatten(args)
        leaves = _differentiables(leaves, "custom_vjp()", device)
        call, call_spec = flatten((unflatten(spec, leaves), {}))
        primal = _Traced(self._fun, call, call_spec)
        structure: list[Any] = []

        def with_residuals(*args: Any) -> Any:
            pair = forward(*args)
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise TypeError("the forward function of custom_vjp returns a pair: the result and residuals")
            device = primal.device
            results, residuals = Leaves(pair[0], device), Leaves(pair[1], device)
            if not results.same_places(primal.tree):
                raise TypeError(f"the forward function returns {results.spec}, and the function {primal.tree.spec}")
            structure[:] = [len(results.arrays), residuals]
            return [*results.arrays, *residuals.arrays]

        ahead = _Traced(with_residuals, call, call_spec)
        n, kept = structure
        differentiable = [y for y in primal.results if y.dtype.kind in _FLOATS]

        def gradients(*given: Array) -> Any:
            residuals = kept.rebuild(given[: len(given) - len(differentiable)])
            cotangents = iter(given[len(given) - len(differentiable) :])
            tree = [next(cotangents) if y.dtype.kind in _FLOATS else None for y in primal.results]
            found = backward(residuals, primal.tree.rebuild(tree))
            flat, found_spec = flatten(found)
            if found_spec != spec:
                raise TypeError(f"the backward function returns {found_spec} for the arguments {spec}")
            pairs = zip(flat, leaves, strict=True)
            return [_like(gradient, leaf) for gradient, leaf in pairs if leaf is not None]

        likes = [*ahead.results[n:], *differentiable]
        behind_leaves, behind_spec = flatten((tuple(likes), {}))
        behind = _Traced(gradients, behind_leaves, behind_spec)
        computation = primal.computation.with_vjp(ahead.computation, behind.computation)
        return primal.tree.rebuild(_call(leaves, computation))


def stop_gradient(tree: Any) -> Any:
    """Returns a tree whose arrays derivatives treat as constants."""
    return tree_map(lambda x: _core.stop_gradient(x) if isinstance(x, Array) else x, tree)
