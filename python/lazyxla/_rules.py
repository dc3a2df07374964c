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
from ._checks import a_function, kind_of
from ._elementwise import add, real
from ._jit import Jit
from ._reductions import sum
from ._shapes import broadcast_to
from ._sizes import integers
from ._trace import (
    Traced,
    array_leaves,
    call,
    device_of,
    differentiable,
    differentiables,
    has_derivatives,
    like_of,
    zero_of,
)
from ._tree import Leaves, flatten, tree_map, unflatten

_POLICIES = {
    "all": c.CHECKPOINT_SAVE_ALL,
    "none": c.CHECKPOINT_SAVE_NONE,
    "dots": c.CHECKPOINT_SAVE_DOTS,
}


class checkpoint_policies:
    """JAX's names of what the forward pass of ``checkpoint`` saves."""

    everything_saveable = "all"
    nothing_saveable = "none"
    dots_saveable = checkpoint_dots = "dots"

    @staticmethod
    def save_only_these_names(*names: str) -> str | tuple[str, ...]:
        """Returns the policy that saves the values with names of ``checkpoint_name``."""
        return names or "none"


def checkpoint_name(x: Any, name: str) -> Any:
    """Returns the arrays of a tree under a name, for ``checkpoint``, which saves them if it lists the name.

    >>> import lazyxla as lx
    >>> f = lx.checkpoint(lambda x: lx.sin(lx.checkpoint_name(lx.exp(x), "e")), save=("e",))
    >>> round(lx.grad(f)(0.0).item(), 4)
    0.5403
    """
    if not isinstance(name, str) or not name:
        raise TypeError(f"checkpoint_name(): name is a text that is not empty, not {name!r}")
    return tree_map(lambda leaf: _core.checkpoint_name(leaf, name) if isinstance(leaf, Array) else leaf, x)


def checkpoint(
    fun: Callable[..., Any], *, save: str | Sequence[str] | None = None, policy: str | Sequence[str] | None = None
) -> Callable[..., Any]:
    """Returns ``fun`` whose backward pass computes again what the forward pass does not save.

    ``save`` is "none", "dots" (results of matrix products), "all", or a tuple of names of ``checkpoint_name``;
    ``policy`` is another name for it, which JAX has, and takes one of ``checkpoint_policies``.

    >>> import lazyxla as lx
    >>> lx.grad(lx.checkpoint(lambda x: lx.sin(x) ** 2, save="none"))(0.0).item()
    0.0
    """
    a_function(fun, "checkpoint", "fun")
    if save is not None and policy is not None:
        raise TypeError("checkpoint(): save and policy are the same argument: give one of them")
    chosen = next((each for each in (save, policy) if each is not None), "none")
    names = [] if isinstance(chosen, str) else list(chosen) if isinstance(chosen, (tuple, list)) else None
    if names is None or (not names and chosen not in _POLICIES) or not all(isinstance(each, str) for each in names):
        known = ", ".join(_POLICIES)
        raise ValueError(f"checkpoint(): save is one of {known}, or a tuple of names, not {chosen!r}")
    kept = c.CHECKPOINT_SAVE_NAMED if names else _POLICIES[str(chosen)]

    @functools.wraps(fun)
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        leaves, spec = array_leaves((args, kwargs))
        traced = Traced(fun, leaves, spec)
        return traced.tree.rebuild(call(leaves, traced.computation.checkpoint(kept, names)))

    return Jit(checkpointed, None, fun.static) if isinstance(fun, Jit) else checkpointed


# Depth of nested rules of one function up to which calls of it use its rule.
_DEEPEST = 4


class _WithRule:
    """A function with a rule, which may call the function."""

    def __init__(self, fun: Callable[..., Any], nondiff_argnums: int | Sequence[int] = ()) -> None:
        a_function(fun, type(self).__name__, "fun")
        self._fun = fun
        self._numbers = integers(nondiff_argnums, "nondiff_argnums")
        self._inside = threading.local()
        functools.update_wrapper(self, fun)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    def _positional(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """Returns all arguments of a call by position: rules take no others. With ``nondiff_argnums`` or keywords, also
        the defaults of those that are left out."""
        if not kwargs and not self._numbers:
            return args
        import inspect  # with the package, it would take a third of the time to import that

        try:
            bound = inspect.signature(self._fun).bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{self._fun.__name__}(): {error}") from None
        bound.apply_defaults()
        if bound.kwargs:
            names = ", ".join(bound.kwargs)
            raise TypeError(f"{self._fun.__name__}(): {names}: a rule takes arguments by position only")
        return bound.args

    def _split(self, args: tuple[Any, ...]) -> tuple[tuple[Any, ...], list[Any], Callable[..., Any]]:
        """Returns the arguments to differentiate by, the others in the order of their positions, and a function that
        calls another one with the former and these others, each in its place."""
        of, count = type(self).__name__, len(args)
        for number in self._numbers:
            if not -count <= number < count:
                raise ValueError(f"{of}(): nondiff_argnums has {number}, and the call {count} arguments")
        places = sorted({number % count for number in self._numbers})
        for place in places:
            for leaf in flatten(args[place])[0]:
                if isinstance(leaf, Array) and has_derivatives(leaf):
                    raise TypeError(
                        f"{of}(): argument {place} is in nondiff_argnums, and has {kind_of(leaf)}; pass it as an "
                        f"argument to differentiate by, whose rule returns zeros, or compute it from the others"
                    )
        fixed = [args[place] for place in places]

        def called(function: Callable[..., Any], *given: Any) -> Any:
            whole = list(given)
            for place, value in zip(places, fixed, strict=True):
                whole.insert(place, value)
            return function(*whole)

        return tuple(arg for i, arg in enumerate(args) if i not in places), fixed, called

    @contextlib.contextmanager
    def _within(self) -> Iterator[None]:
        """Counts one rule more around the calls in this context."""
        before = self._depth()
        self._inside.depth = before + 1
        try:
            yield
        finally:
            self._inside.depth = before

    def _depth(self) -> int:
        return getattr(self._inside, "depth", 0)


def _without_derivative(fun: Callable[..., Any], *, linear: bool) -> Callable[..., Any]:
    """Returns a function whose derivatives are NaN, since those of the plain operations are not the rule's. With
    ``linear``, it is transposed by the plain operations, as a function that is linear in tangents."""
    plain = custom_jvp(fun)
    plain._is_linear = linear

    def rule(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
        result = plain(*primals)
        moves = [sum(real(move)).astype(_core.float64) for move in flatten(tangents)[0] if isinstance(move, Array)]
        slope = functools.reduce(add, moves) * float("nan") if moves else None

        def moved(y: Any) -> Any:
            if not isinstance(y, Array) or not has_derivatives(y):
                return None
            return zero_of(y) if slope is None else broadcast_to(slope.astype(y.dtype), y.shape)

        return result, tree_map(moved, result)

    plain.defjvp(rule)
    return plain


class custom_vjp(_WithRule):
    """A function with a reverse-mode derivative of its own, which ``defvjp`` gives.

    ``forward`` takes the arguments, and returns the result and a tree of residuals; ``backward`` takes the residuals
    and the cotangents of the result, and returns a tuple of the gradients by each argument, with None for zeros.
    Arguments at the positions ``nondiff_argnums`` are of any kind but arrays of float and complex dtypes, and are
    fixed: ``backward`` takes them first, and returns no gradients by them. Other arguments are trees of arrays of float
    or complex dtypes. The functions must not take arrays from elsewhere by which a derivative is taken. Both may call
    the function itself: it has this rule there, too, and from fifth derivatives on NaN.

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

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._rule is None:
            raise TypeError(f"{self._fun.__name__} has no derivative yet: call its defvjp(forward, backward)")
        forward, backward = self._rule
        args, fixed, called = self._split(self._positional(args, kwargs))
        fun = functools.partial(called, self._fun)
        if fixed and not args:
            return fun()
        if self._depth() == _DEEPEST:
            return _without_derivative(fun, linear=False)(*args)
        device = device_of(args)
        leaves, spec = flatten(args)
        leaves = differentiables(leaves, "custom_vjp()", device)
        call_leaves, call_spec = flatten((unflatten(spec, leaves), {}))
        primal = Traced(fun, call_leaves, call_spec, is_whole=False)
        structure: list[Any] = []

        def with_residuals(*args: Any) -> Any:
            with self._within():
                pair = called(forward, *args)
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise TypeError("the forward function of custom_vjp returns a pair: the result and residuals")
            device = primal.device
            results, residuals = Leaves(pair[0], device), Leaves(pair[1], device)
            if not results.same_places(primal.tree):
                raise TypeError(f"the forward function returns {results.spec}, and the function {primal.tree.spec}")
            structure[:] = [len(results.arrays), residuals]
            return [*results.arrays, *residuals.arrays]

        ahead = Traced(with_residuals, call_leaves, call_spec, is_whole=False)
        n, kept = structure
        differentiable = [y for y in primal.results if has_derivatives(y)]

        def gradients(*given: Array) -> Any:
            residuals = kept.rebuild(given[: len(given) - len(differentiable)])
            cotangents = iter(given[len(given) - len(differentiable) :])
            tree = [next(cotangents) if has_derivatives(y) else None for y in primal.results]
            with self._within():
                found = backward(*fixed, residuals, primal.tree.rebuild(tree))
            flat, found_spec = flatten(found)
            if found_spec != spec:
                without = "; it returns none by arguments in nondiff_argnums" if fixed else ""
                raise TypeError(f"the backward function returns {found_spec} for the arguments {spec}{without}")
            pairs = zip(flat, leaves, strict=True)
            return [
                zero_of(leaf) if gradient is None else like_of(gradient, leaf)
                for gradient, leaf in pairs
                if leaf is not None
            ]

        likes = [*ahead.results[n:], *differentiable]
        behind_leaves, behind_spec = flatten((tuple(likes), {}))
        behind = Traced(gradients, behind_leaves, behind_spec, is_whole=False)
        computation = primal.computation.with_vjp(ahead.computation, behind.computation)
        return primal.tree.rebuild(call(leaves, computation))


class _Call:
    """A call that a rule of custom_jvp is for: its arguments, their tangents, and its result, which the rule may
    use."""

    def __init__(
        self,
        args: tuple[Any, ...],
        fixed: Sequence[Any],
        tangents: Sequence[Array],
        tree: Leaves,
        results: Sequence[Array],
    ) -> None:
        self._fixed, self._tangents = fixed, list(tangents)
        leaves, self._spec = flatten(args)
        # The number of operations in place tells whether an array has the value that it had.
        self._leaves = [(leaf, leaf._changes if isinstance(leaf, Array) else 0) for leaf in leaves]
        self._tree, self._results = tree, results

    def has(self, args: tuple[Any, ...], fixed: Sequence[Any]) -> bool:
        """Returns whether these are the arguments, as they were."""
        if not all(given is own for given, own in zip(fixed, self._fixed, strict=True)):
            return False
        leaves, spec = flatten(args)
        pairs = zip(leaves, self._leaves, strict=False)
        return bool(spec == self._spec) and all(
            leaf is own and (not isinstance(leaf, Array) or leaf._changes == changes) for leaf, (own, changes) in pairs
        )

    def is_linear_in(self, args: Sequence[Array]) -> bool:
        """Returns whether arguments of another call depend on tangents: a trace of them captures more if the tangents
        are not parameters of it."""
        found = [_core.trace(tangents, args).info()[2] for tangents in ([], self._tangents)]
        return found[0] > found[1]

    def result(self) -> Any:
        return self._tree.rebuild([result.copy() for result in self._results])


class custom_jvp(_WithRule):
    """A function with a forward-mode derivative of its own, which ``defjvp`` gives; ``grad`` transposes it.

    The rule takes a tuple of the arguments and a tuple of their tangents, and returns the result and its tangent, which
    has to be linear in the given tangents. Arguments at the positions ``nondiff_argnums`` are of any kind but arrays of
    float and complex dtypes, and are fixed: the rule takes them before the tuples. Other arguments are trees of arrays;
    the tangent of an array of integers or bools is None, and so is that of such a result. The functions must not take
    arrays from elsewhere by which a derivative is taken. The rule may call the function: with its own arguments, the
    result has this rule in derivatives of every order; with others, in the next three, and derivatives of higher order
    are NaN, or in reverse mode those of the plain operations. Reverse mode transposes the plain operations of a call on
    tangents, with respect to all of its arguments.

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
    # True if reverse mode transposes the plain operations of all calls, as of calls on tangents.
    _is_linear = False

    def defjvp(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Gives the derivative, and returns it."""
        self._rule = rule
        return rule

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        rule = self._rule
        if rule is None:
            raise TypeError(f"{self._fun.__name__} has no derivative yet: call its defjvp(rule)")
        args, fixed, called = self._split(self._positional(args, kwargs))
        fun = functools.partial(called, self._fun)
        if fixed and not args:
            return fun()
        of: _Call | None = getattr(self._inside, "call", None)
        if of is not None and of.has(args, fixed):
            return of.result()
        if self._depth() == _DEEPEST:
            return _without_derivative(fun, linear=True)(*args)
        device = device_of(args)
        leaves, spec = flatten(args)
        leaves = [
            leaf if leaf is None or isinstance(leaf, Array) else differentiable(leaf, "custom_jvp()", device)
            for leaf in leaves
        ]
        call_leaves, call_spec = flatten((unflatten(spec, leaves), {}))
        primal = Traced(fun, call_leaves, call_spec, is_whole=False)
        arrays = [leaf for leaf in leaves if leaf is not None]
        varying = [leaf for leaf in arrays if has_derivatives(leaf)]

        def with_tangents(*given: Array) -> Any:
            values = iter(given[: len(arrays)])
            own = given[len(arrays) : len(arrays) + len(varying)]
            tangents = iter(own)
            primals = unflatten(spec, [None if leaf is None else next(values) for leaf in leaves])
            moves = unflatten(
                spec, [next(tangents) if leaf is not None and has_derivatives(leaf) else None for leaf in leaves]
            )
            before = getattr(self._inside, "call", None)
            self._inside.call = _Call(primals, fixed, own, primal.tree, given[len(arrays) + len(varying) :])
            try:
                with self._within():
                    pair = rule(*fixed, primals, moves)
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
            slopes = [like_of(slope, y) for slope, y in zip(found, primal.results, strict=True) if has_derivatives(y)]
            return [*results.arrays, *slopes]

        behind_leaves, behind_spec = flatten(((*arrays, *varying, *primal.results), {}))
        derivative = Traced(with_tangents, behind_leaves, behind_spec, is_whole=False)
        computation = primal.computation
        if self._is_linear or (of is not None and of.is_linear_in(arrays)):
            # A call on tangents is linear in them: reverse mode transposes the plain operations.
            places = [i for i, leaf in enumerate(arrays) if has_derivatives(leaf)]
            forward, backward, _ = computation.vjp(places)
            computation = computation.with_vjp(forward, backward)
        return primal.tree.rebuild(call(leaves, computation.with_jvp(derivative.computation)))


def stop_gradient(tree: Any) -> Any:
    """Returns a tree whose arrays derivatives treat as constants.

    >>> import lazyxla as lx
    >>> lx.grad(lambda x: x * lx.stop_gradient(x))(3.0).item()
    3.0
    """
    return tree_map(lambda x: _core.stop_gradient(x) if isinstance(x, Array) else x, tree)
