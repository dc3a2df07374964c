"""Loops and branches of functions over trees of arrays, which stay loops and branches of the program.

The functions are called with placeholders, as those of ``grad``.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from . import _core
from ._core import Array
from ._device import default_device
from ._elementwise import clip
from ._checks import a_function, kind_of
from ._sizes import is_integer
from ._trace import Traced, array_leaves, device_of, with_arrays
from ._tree import Leaves, array_of, flatten


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

    >>> import lazyxla as lx
    >>> total, sums = lx.scan(lambda carry, x: (carry + x, carry + x), 0, lx.asarray([1, 2, 3]))
    >>> total.item(), sums.tolist()
    (6, [1, 3, 6])
    """
    a_function(fun, "scan", "fun")
    if length is not None and (isinstance(length, Array) or not is_integer(length)):
        raise TypeError(f"scan(): length is an int or None, not {kind_of(length)}: it is a part of the program")
    init, xs = with_arrays((init, xs))
    first = Leaves(init, device_of((init, xs)))
    carry = first.arrays
    slices, _ = flatten(xs)
    arrays = [leaf for leaf in slices if isinstance(leaf, Array)]
    if any(x.ndim == 0 for x in arrays):
        raise ValueError("scan(): xs is a tree of arrays that have a first axis, not of rank 0")
    lengths = {x.shape[0]: None for x in arrays} | ({operator.index(length): None} if length is not None else {})
    if len(lengths) != 1:
        given = f"the sizes {', '.join(map(str, lengths))}" if lengths else "neither"
        raise ValueError(f"scan() takes xs with one size of the first axis, or that number as length, not {given}")
    (count,) = lengths
    if count < 0:
        raise ValueError(f"scan(): length is at least 0, not {count}")
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

    traced = Traced(body, leaves, spec, likes)
    outputs = _core.scan(traced.computation, carry, arrays, count, reverse)
    return first.rebuild(outputs[: len(carry)]), structure[0].rebuild(outputs[len(carry) :])


def while_loop(
    cond_fun: Callable[[Any], Array], body_fun: Callable[[Any], Any], init: Any, *, max_iterations: int | None = None
) -> Any:
    """Repeats ``value = body_fun(value)`` as long as ``cond_fun(value)``, a bool of rank 0, is true.

    The value keeps its structure, shapes and dtypes. Without ``max_iterations`` forward mode only: ``grad`` of it is an
    error. With it, the loop ends after so many iterations, has derivatives in both modes, and returns the value and
    whether it ended before the bound, a bool of rank 0. The backward pass takes time in proportion to the iterations
    that ran, and memory in proportion to the square root of the bound.

    >>> import lazyxla as lx
    >>> lx.while_loop(lambda x: x < 100, lambda x: x * 2, 3).item()
    192
    >>> def root(a):
    ...     def improved(x):
    ...         return (x + a / x) / 2
    ...     return lx.while_loop(lambda x: abs(x * x - a) > 1e-6, improved, a, max_iterations=50)[0]
    >>> round(lx.grad(root)(4.0).item(), 4)
    0.25
    """
    a_function(cond_fun, "while_loop", "cond_fun")
    a_function(body_fun, "while_loop", "body_fun")
    first = Leaves(init, device_of(init))
    call, call_spec = flatten(((first.rebuild(first.arrays),), {}))
    condition, body = Traced(cond_fun, call, call_spec), Traced(body_fun, call, call_spec)
    if not first.same_places(body.tree):
        raise TypeError(f"the value changed its structure from {first.spec} to {body.tree.spec}")
    if max_iterations is None:
        return first.rebuild(_core.while_loop(condition.computation, body.computation, first.arrays))
    *values, ended = _core.while_bounded(
        condition.computation, body.computation, first.arrays, operator.index(max_iterations)
    )
    return first.rebuild(values), ended


def cond(pred: Any, true_fun: Callable[..., Any], false_fun: Callable[..., Any], *operands: Any) -> Any:
    """Returns ``true_fun(*operands)`` if ``pred``, a bool of rank 0, is true, else ``false_fun(*operands)``.

    Only the chosen one runs, with all that it computes from arrays that it closes over. Both return trees of one structure, with equal shapes and dtypes.

    >>> import lazyxla as lx
    >>> lx.cond(lx.asarray(True), lambda x: x + 1, lambda x: x * 2, lx.asarray(5)).item()
    6
    """
    a_function(true_fun, "cond", "true_fun")
    a_function(false_fun, "cond", "false_fun")
    if not isinstance(pred, (Array, bool, int, float, complex)) and not hasattr(pred, "__array_interface__"):
        raise TypeError(f"cond(): pred is a bool or an array of one, not {kind_of(pred)}")
    leaves, spec = array_leaves((operands, {}))
    branches = [Traced(function, leaves, spec) for function in (true_fun, false_fun)]
    if not branches[0].tree.same_places(branches[1].tree):
        raise TypeError(f"the branches return {branches[0].tree.spec} and {branches[1].tree.spec}")
    arrays = [leaf for leaf in leaves if isinstance(leaf, Array)]
    choice = array_of(pred, device_of(operands))
    outputs = _core.cond(choice, branches[0].computation, branches[1].computation, arrays)
    return branches[0].tree.rebuild(outputs)


def _branch_number(index: Any, count: int, device: _core.Device) -> Array:
    """Returns the number of a branch as an array. The library itself takes one that is too large for the last one."""
    if not isinstance(index, (Array, bool)) and is_integer(index):
        return array_of(min(max(operator.index(index), 0), count - 1), device)
    choice = array_of(index, device)
    return clip(choice, 0) if choice.dtype.kind == "signed integer" else choice


def switch(index: Any, branches: Sequence[Callable[..., Any]], *operands: Any) -> Any:
    """Returns ``branches[index](*operands)``, where ``index`` is an integer of rank 0. An index below 0 selects the
    first branch, one that is too large the last branch.

    Only the chosen one runs, with all that it computes from arrays that it closes over. All return trees of one structure, with equal shapes and dtypes.

    >>> import lazyxla as lx
    >>> lx.switch(1, [lx.sin, lambda x: x + 1, lambda x: x * 3], lx.asarray(2.0)).item()
    3.0
    """
    if callable(branches):
        raise TypeError(f"switch(): branches is a sequence of functions, not {kind_of(branches)}")
    for number, branch in enumerate(branches):
        a_function(branch, "switch", f"branches[{number}]")
    if not isinstance(index, Array) and not is_integer(index):
        raise TypeError(f"switch(): index is an int or an array of one, not {kind_of(index)}")
    if not branches:
        raise ValueError("switch() takes at least one branch")
    leaves, spec = array_leaves((operands, {}))
    traced = [Traced(function, leaves, spec) for function in branches]
    for number, other in enumerate(traced):
        if not traced[0].tree.same_places(other.tree):
            raise TypeError(f"branch 0 returns {traced[0].tree.spec}, and branch {number} {other.tree.spec}")
    arrays = [leaf for leaf in leaves if isinstance(leaf, Array)]
    choice = _branch_number(index, len(branches), device_of(operands))
    return traced[0].tree.rebuild(_core.switch(choice, [each.computation for each in traced], arrays))
