"""Loops and branches of functions over trees of arrays, which stay loops and branches of the program.

The functions are called with placeholders, as those of ``grad``.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from . import _core
from ._core import Array
from ._creation import asarray
from ._device import default_device
from ._elementwise import clip
from ._checks import a_function, kind_of
from ._sizes import is_integer
from ._trace import Traced, array_leaves, device_of, with_arrays
from ._tree import Leaves, array_of, flatten, is_static, unflatten


class _Promoted(Exception):
    """Numbers of Python that a loop carries become arrays of other dtypes, by their places among the arrays."""

    def __init__(self, dtypes: dict[int, _core.DType]) -> None:
        self.dtypes = dtypes


def _check_carried(of: str, before: Leaves, after: Leaves) -> None:
    """Raises an error unless a loop carries trees of one structure and arrays of the same types; ``_Promoted`` if all
    that differ are numbers before the loop."""
    if not before.same_places(after):
        raise TypeError(f"{of} changed its structure from {before.spec} to {after.spec}")
    changed = before.differences(after)
    if all(before.is_number[i] and a.shape == b.shape for i, (a, b) in changed.items()):
        if changed:
            raise _Promoted({i: b.dtype for i, (_, b) in changed.items()})
        return
    listed = [f"{before.path(i)} from {_type(a)} to {_type(b)}".strip() for i, (a, b) in changed.items()]
    more = f", and {len(listed) - 3} more" if len(listed) > 3 else ""
    raise TypeError(f"{of} changed {', '.join(listed[:3])}{more}: start with arrays of the types that it becomes")


def _type(x: Array) -> str:
    return f"{x.dtype.name}{list(x.shape)}"


def _promote(first: Leaves, promoted: _Promoted) -> None:
    """Gives numbers at the start of a loop the dtypes that they become."""
    for i, dtype in promoted.dtypes.items():
        first.arrays[i] = first.arrays[i].astype(dtype)
        first.is_number[i] = False


def scan(
    fun: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    *,
    reverse: bool = False,
    unroll: int | bool = 1,
) -> tuple[Any, Any]:
    """Repeats ``carry, y = fun(carry, x)`` for each slice x of ``xs`` along their first axis, as one loop.

    Returns the last carry and the stacked ``y``. Without ``xs``, ``fun`` gets None, and ``length`` is the number of
    repetitions. The carry keeps its structure, shapes and dtypes; a number of Python has the dtype that it becomes.
    ``unroll`` changes nothing: XLA decides.

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
    structure: list[Leaves] = []

    def body(state: Any, x: Any) -> Any:
        pair = fun(state, x)
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError("the function of scan() returns a pair: the carry, and a result to stack or None")
        device = carry[0].device if carry else default_device()
        after = Leaves(pair[0], device)
        _check_carried("scan(): the carry", first, after)
        ys = Leaves(pair[1], device)
        structure[:] = [ys]
        return [*after.arrays, *ys.arrays]

    while True:
        leaves, spec = flatten(((first.rebuild(carry), xs), {}))
        likes = carry + [_core.placeholder(x.shape[1:], x.dtype, x.device) for x in arrays]
        try:
            traced = Traced(body, leaves, spec, likes)
            break
        except _Promoted as promoted:
            _promote(first, promoted)
    outputs = _core.scan(traced.computation, carry, arrays, count, reverse)
    return first.rebuild(outputs[: len(carry)]), structure[0].rebuild(outputs[len(carry) :])


def while_loop(
    cond_fun: Callable[[Any], Array], body_fun: Callable[[Any], Any], init: Any, *, max_iterations: int | None = None
) -> Any:
    """Repeats ``value = body_fun(value)`` as long as ``cond_fun(value)``, a bool of rank 0, is true.

    The value keeps its structure, shapes and dtypes; a number of Python has the dtype that it becomes. Without ``max_iterations`` forward mode only: ``grad`` of it is an
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
    while True:
        call, call_spec = flatten(((first.rebuild(first.arrays),), {}))
        body = Traced(body_fun, call, call_spec)
        try:
            _check_carried("while_loop(): the value", first, body.tree)
            break
        except _Promoted as promoted:
            _promote(first, promoted)
    condition = Traced(cond_fun, call, call_spec)
    if max_iterations is None:
        return first.rebuild(_core.while_loop(condition.computation, body.computation, first.arrays))
    *values, ended = _core.while_bounded(
        condition.computation, body.computation, first.arrays, operator.index(max_iterations)
    )
    return first.rebuild(values), ended


def cond(pred: Any, true_fun: Callable[..., Any], false_fun: Callable[..., Any], *operands: Any) -> Any:
    """Returns ``true_fun(*operands)`` if ``pred``, a bool of rank 0, is true, else ``false_fun(*operands)``.

    Only the chosen one runs, with all that it computes from arrays that it closes over. Both return trees of one
    structure, with equal shapes and dtypes; a number of Python has the dtype that the other one has in its place.

    >>> import lazyxla as lx
    >>> lx.cond(lx.asarray(True), lambda x: x + 1, lambda x: x * 2, lx.asarray(5)).item()
    6
    """
    a_function(true_fun, "cond", "true_fun")
    a_function(false_fun, "cond", "false_fun")
    if not isinstance(pred, (Array, bool, int, float, complex)) and not hasattr(pred, "__array_interface__"):
        raise TypeError(f"cond(): pred is a bool or an array of one, not {kind_of(pred)}")
    leaves, spec = array_leaves((operands, {}))
    branches = _branches("cond", [true_fun, false_fun], leaves, spec)
    arrays = [leaf for leaf in leaves if isinstance(leaf, Array)]
    choice = array_of(pred, device_of(operands))
    outputs = _core.cond(choice, branches[0].computation, branches[1].computation, arrays)
    return branches[0].tree.rebuild(outputs)


def _branches(of: str, functions: Sequence[Callable[..., Any]], leaves: list[Any], spec: Any) -> list[Traced]:
    """Traces functions whose results have one structure. Numbers among the results of one have the dtypes of the arrays
    in their places among the results of another one."""
    traced = [Traced(function, leaves, spec) for function in functions]
    first = traced[0].tree
    for number, each in enumerate(traced):
        if not first.same_places(each.tree):
            raise TypeError(f"{of}(): branch 0 returns {first.spec}, and branch {number} {each.tree.spec}")
    for i in range(len(first.arrays)):
        known = [each.tree.arrays[i].dtype for each in traced if not each.tree.is_number[i]]
        for number, each in enumerate(traced):
            if known and each.tree.is_number[i] and each.tree.arrays[i].dtype != known[0]:
                functions = [*functions]
                functions[number] = _with_dtype(functions[number], i, known[0])
                traced[number] = Traced(functions[number], leaves, spec)
    return traced


def _with_dtype(function: Callable[..., Any], number: int, dtype: _core.DType) -> Callable[..., Any]:
    """Returns a function with another dtype of one of its results, a number."""

    def converted(*operands: Any) -> Any:
        results, spec = flatten(function(*operands))
        place = [i for i, leaf in enumerate(results) if not is_static(leaf)][number]
        results[place] = asarray(results[place], dtype=dtype, device=default_device())
        return unflatten(spec, results)

    return converted


def _branch_number(index: Any, count: int, device: _core.Device) -> Array:
    """Returns the number of a branch as an array. The library itself takes one that is too large for the last one."""
    if not isinstance(index, (Array, bool)) and is_integer(index):
        return array_of(min(max(operator.index(index), 0), count - 1), device)
    choice = array_of(index, device)
    return clip(choice, 0) if choice.dtype.kind == "signed integer" else choice


def switch(index: Any, branches: Sequence[Callable[..., Any]], *operands: Any) -> Any:
    """Returns ``branches[index](*operands)``, where ``index`` is an integer of rank 0. An index below 0 selects the
    first branch, one that is too large the last branch.

    Only the chosen one runs, with all that it computes from arrays that it closes over. All return trees of one
    structure, with equal shapes and dtypes; a number of Python has the dtype that another one has in its place.

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
    traced = _branches("switch", branches, leaves, spec)
    arrays = [leaf for leaf in leaves if isinstance(leaf, Array)]
    choice = _branch_number(index, len(branches), device_of(operands))
    return traced[0].tree.rebuild(_core.switch(choice, [each.computation for each in traced], arrays))
