"""Functions with derivatives of their own, and what their backward passes keep."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from . import _constants as c
from . import _core
from ._core import Array
from ._jit import Jit
from ._trace import FLOATS, Traced, call, device_of, differentiable, differentiables, like_of
from ._tree import Leaves, flatten, tree_map, unflatten

_POLICIES = {
    "all": c.CHECKPOINT_SAVE_ALL,
    "none": c.CHECKPOINT_SAVE_NONE,
    "dots": c.CHECKPOINT_SAVE_DOTS,
}


def checkpoint(fun: Callable[..., Any], *, save: str = "none") -> Callable[..., Any]:
    """Returns ``fun`` whose backward pass computes again what the forward pass does not save.

    ``save`` is "none", "dots" (results of matrix products) or "all".

    >>> import lazyxla as lx
    >>> lx.grad(lx.checkpoint(lambda x: lx.sin(x) ** 2, save="none"))(0.0).item()
    0.0
    """
    if save not in _POLICIES:
        raise ValueError(f"save is one of {', '.join(_POLICIES)}, not {save!r}")

    @functools.wraps(fun)
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        leaves, spec = flatten((args, kwargs))
        traced = Traced(fun, leaves, spec)
        return traced.tree.rebuild(call(leaves, traced.computation.checkpoint(_POLICIES[save])))

    return Jit(checkpointed) if isinstance(fun, Jit) else checkpointed


class _WithRule:
    """A function with a rule, in which a call of the function itself is one of the plain function."""

    def __init__(self, fun: Callable[..., Any]) -> None:
        if not callable(fun):
            raise TypeError(f"{type(self).__name__} takes a function, not a {type(fun).__name__}")
        self._fun = fun
        self._inside = threading.local()
        functools.update_wrapper(self, fun)

    def __call__(self, *args: Any) -> Any:
        raise NotImplementedError

    @contextlib.contextmanager
    def _plainly(self) -> Iterator[None]:
        before = self._is_inside()
        self._inside.now = True
        try:
            yield
        finally:
            self._inside.now = before

    def _is_inside(self) -> bool:
        return getattr(self._inside, "now", False)


class custom_vjp(_WithRule):
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

    _rule: tuple[Callable[..., Any], Callable[..., Any]] | None = None

    def defvjp(self, forward: Callable[..., Any], backward: Callable[..., Any]) -> None:
        """Gives the derivative."""
        self._rule = (forward, backward)

    def __call__(self, *args: Any) -> Any:
        if self._is_inside():
            return self._fun(*args)
        if self._rule is None:
            raise TypeError(f"{self._fun.__name__} has no derivative yet: call its defvjp(forward, backward)")
        forward, backward = self._rule
        device = device_of(args)
        leaves, spec = flatten(args)
        leaves = differentiables(leaves, "custom_vjp()", device)
        call_leaves, call_spec = flatten((unflatten(spec, leaves), {}))
        primal = Traced(self._fun, call_leaves, call_spec)
        structure: list[Any] = []

        def with_residuals(*args: Any) -> Any:
            with self._plainly():
                pair = forward(*args)
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise TypeError("the forward function of custom_vjp returns a pair: the result and residuals")
            device = primal.device
            results, residuals = Leaves(pair[0], device), Leaves(pair[1], device)
            if not results.same_places(primal.tree):
                raise TypeError(f"the forward function returns {results.spec}, and the function {primal.tree.spec}")
            structure[:] = [len(results.arrays), residuals]
            return [*results.arrays, *residuals.arrays]

        ahead = Traced(with_residuals, call_leaves, call_spec)
        n, kept = structure
        differentiable = [y for y in primal.results if y.dtype.kind in FLOATS]

        def gradients(*given: Array) -> Any:
            residuals = kept.rebuild(given[: len(given) - len(differentiable)])
            cotangents = iter(given[len(given) - len(differentiable) :])
            tree = [next(cotangents) if y.dtype.kind in FLOATS else None for y in primal.results]
            found = backward(residuals, primal.tree.rebuild(tree))
            flat, found_spec = flatten(found)
            if found_spec != spec:
                raise TypeError(f"the backward function returns {found_spec} for the arguments {spec}")
            pairs = zip(flat, leaves, strict=True)
            return [like_of(gradient, leaf) for gradient, leaf in pairs if leaf is not None]

        likes = [*ahead.results[n:], *differentiable]
        behind_leaves, behind_spec = flatten((tuple(likes), {}))
        behind = Traced(gradients, behind_leaves, behind_spec)
        computation = primal.computation.with_vjp(ahead.computation, behind.computation)
        return primal.tree.rebuild(call(leaves, computation))


class _Call:
    """A call that a rule of custom_jvp is for: its arguments, and its result, which the rule may use."""

    def __init__(self, args: tuple[Any, ...], tree: Leaves, results: Sequence[Array]) -> None:
        leaves, self._spec = flatten(args)
        # The number of operations in place tells whether an array has the value that it had.
        self._leaves = [(leaf, leaf._changes if isinstance(leaf, Array) else 0) for leaf in leaves]
        self._tree, self._results = tree, results

    def has(self, args: tuple[Any, ...]) -> bool:
        """Returns whether these are the arguments, as they were."""
        leaves, spec = flatten(args)
        pairs = zip(leaves, self._leaves, strict=False)
        return bool(spec == self._spec) and all(
            leaf is own and (not isinstance(leaf, Array) or leaf._changes == changes) for leaf, (own, changes) in pairs
        )

    def result(self) -> Any:
        return self._tree.rebuild([result.copy() for result in self._results])


class custom_jvp(_WithRule):
    """A function with a forward-mode derivative of its own, which ``defjvp`` gives; ``grad`` transposes it.

    The rule takes a tuple of the arguments and a tuple of their tangents, and returns the result and its tangent, which
    has to be linear in the given tangents. Arguments are trees of arrays; the tangent of an array of integers or bools
    is None, and so is that of such a result. The functions must not take arrays from elsewhere by which a derivative
    is taken. If the rule calls the function with its arguments, the result has this rule again in second derivatives.

    >>> import lazyxla as lx
    >>> @lx.custom_jvp
    ... def soft(x):
    ...     return lx.log1p(lx.exp(x))
    >>> @soft.defjvp
    ... def rule(primals, tangents):
    ...     return soft(*primals), tangents[0] / (1 + lx.exp(-primals[0]))
    >>> lx.grad(soft)(0.0).item()
    0.5
    """

    _rule: Callable[..., Any] | None = None

    def defjvp(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Gives the derivative, and returns it."""
        self._rule = rule
        return rule

    def _result(self, args: tuple[Any, ...]) -> Any:
        """Returns the result within the rule: that which the rule is for, if the arguments are its own."""
        of: _Call | None = getattr(self._inside, "call", None)
        return self._fun(*args) if of is None or not of.has(args) else of.result()

    def __call__(self, *args: Any) -> Any:
        if self._is_inside():
            return self._result(args)
        rule = self._rule
        if rule is None:
            raise TypeError(f"{self._fun.__name__} has no derivative yet: call its defjvp(rule)")
        device = device_of(args)
        leaves, spec = flatten(args)
        leaves = [
            leaf if leaf is None or isinstance(leaf, Array) else differentiable(leaf, "custom_jvp()", device)
            for leaf in leaves
        ]
        call_leaves, call_spec = flatten((unflatten(spec, leaves), {}))
        primal = Traced(self._fun, call_leaves, call_spec)
        arrays = [leaf for leaf in leaves if leaf is not None]
        varying = [leaf for leaf in arrays if leaf.dtype.kind in FLOATS]

        def with_tangents(*given: Array) -> Any:
            values = iter(given[: len(arrays)])
            tangents = iter(given[len(arrays) : len(arrays) + len(varying)])
            primals = unflatten(spec, [None if leaf is None else next(values) for leaf in leaves])
            moves = unflatten(
                spec, [next(tangents) if leaf is not None and leaf.dtype.kind in FLOATS else None for leaf in leaves]
            )
            before = getattr(self._inside, "call", None)
            self._inside.call = _Call(primals, primal.tree, given[len(arrays) + len(varying) :])
            try:
                with self._plainly():
                    pair = rule(primals, moves)
            finally:
                self._inside.call = before
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise TypeError("the rule of custom_jvp returns a pair: the result and its tangent")
            results = Leaves(pair[0], primal.device)
            if not results.same_places(primal.tree):
                raise TypeError(f"the rule returns {results.spec}, and the function {primal.tree.spec}")
            found, found_spec = flatten(pair[1])
            if found_spec != primal.tree.spec:
                raise TypeError(f"the rule returns a tangent {found_spec} for the result {primal.tree.spec}")
            found = [slope for i, slope in enumerate(found) if i not in primal.tree.statics]
            slopes = [
                like_of(slope, y) for slope, y in zip(found, primal.results, strict=True) if y.dtype.kind in FLOATS
            ]
            return [*results.arrays, *slopes]

        behind_leaves, behind_spec = flatten(((*arrays, *varying, *primal.results), {}))
        derivative = Traced(with_tangents, behind_leaves, behind_spec)
        return primal.tree.rebuild(call(leaves, primal.computation.with_jvp(derivative.computation)))


def stop_gradient(tree: Any) -> Any:
    """Returns a tree whose arrays derivatives treat as constants.

    >>> import lazyxla as lx
    >>> lx.grad(lambda x: x * lx.stop_gradient(x))(3.0).item()
    3.0
    """
    return tree_map(lambda x: _core.stop_gradient(x) if isinstance(x, Array) else x, tree)
