"""Functions on trees of arrays, by the names of ``jax.tree``: dictionaries, lists, tuples, named tuples and what is
registered at ``optree``. None is a tree without leaves."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable
from typing import Any

from . import _core
from ._core import Array
from ._operands import promoted
from ._trace import device_of
from ._tree import array_of, optree, tree_map as map

__all__ = ["all", "flatten", "leaves", "map", "ravel", "reduce", "structure", "transpose", "unflatten"]


def leaves(tree: Any, /, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """Returns the leaves of a tree. Where ``is_leaf`` is true, a part of it is a leaf.

    >>> import lazyxla as lx
    >>> lx.tree.leaves({"b": [1, None], "a": 2})
    [2, 1]
    """
    found: list[Any] = optree().tree_leaves(tree, is_leaf)
    return found


def flatten(tree: Any, /, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], Any]:
    """Returns the leaves of a tree, and its structure, from which ``unflatten`` makes trees.

    >>> import lazyxla as lx
    >>> leaves, structure = lx.tree.flatten((1, {"a": 2}))
    >>> lx.tree.unflatten(structure, [10 * leaf for leaf in leaves])
    (10, {'a': 20})
    """
    found, structure = optree().tree_flatten(tree, is_leaf)
    return found, structure


def unflatten(structure: Any, leaves: Iterable[Any], /) -> Any:
    """Returns the tree of a structure with these leaves.

    >>> import lazyxla as lx
    >>> lx.tree.unflatten(lx.tree.structure([0, 0]), [1, 2])
    [1, 2]
    """
    return optree().tree_unflatten(structure, leaves)


def structure(tree: Any, /, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """Returns the structure of a tree: two are equal if the trees differ by their leaves only.

    >>> import lazyxla as lx
    >>> lx.tree.structure({"a": 1}) == lx.tree.structure({"a": lx.zeros(3)})
    True
    """
    return optree().tree_structure(tree, is_leaf)


def ravel(tree: Any, /) -> tuple[Array, Callable[[Any], Any]]:
    """Returns the elements of all leaves as one vector, in the dtype that they promote to, and a function that makes a
    tree of the structure, the shapes and the dtypes from such a vector: ``ravel_pytree`` of JAX.

    >>> import lazyxla as lx
    >>> flat, unravel = lx.tree.ravel({"a": lx.asarray([1.0, 2.0]), "b": 3.0})
    >>> flat.tolist()
    [1.0, 2.0, 3.0]
    >>> unravel(2 * flat)["a"].tolist()
    [2.0, 4.0]
    """
    found, structure = flatten(tree)
    device = device_of(tree)
    arrays = [array_of(leaf, device) for leaf in found]
    shapes, dtypes = [x.shape for x in arrays], [x.dtype for x in arrays]
    sizes, are_real = [x.size for x in arrays], [x.dtype.kind != "complex floating" for x in arrays]
    if arrays:
        flat = _core.join([_core.reshape(x, (x.size,)) for x in promoted(arrays)], 0, False)
    else:
        flat = _core.full((0,), 0, _core.float32, device)

    def unravel(vector: Any) -> Any:
        vector = array_of(vector, device)
        if vector.shape != flat.shape:
            raise ValueError(f"unravel(): a vector of shape {list(vector.shape)}; want {list(flat.shape)}")
        parts = _core.split(vector, sizes, 0) if sizes else []
        made = [_core.reshape(part, shape) for part, shape in zip(parts, shapes)]
        reals = [
            _core.part(x, False) if is_real and vector.dtype.kind == "complex floating" else x
            for x, is_real in zip(made, are_real)
        ]
        return unflatten(structure, [x.astype(dtype) for x, dtype in zip(reals, dtypes)])

    return flat, unravel


_NONE = object()


def reduce(
    function: Callable[[Any, Any], Any],
    tree: Any,
    /,
    initializer: Any = _NONE,
    is_leaf: Callable[[Any], bool] | None = None,
) -> Any:
    """Returns ``function(function(first, second), third)`` and so on over the leaves of a tree, beginning with
    ``initializer`` if it is given.

    >>> import lazyxla as lx
    >>> lx.tree.reduce(lambda a, b: a + b, {"a": 1, "b": [2, 3]}, 0)
    6
    """
    import functools

    given = leaves(tree, is_leaf)
    return functools.reduce(function, given) if initializer is _NONE else functools.reduce(function, given, initializer)


def all(tree: Any, /, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Returns whether all leaves are true.

    >>> import lazyxla as lx
    >>> lx.tree.all({"a": True, "b": [True, False]})
    False
    """
    return builtins.all(leaves(tree, is_leaf))


def transpose(outer: Any, inner: Any, tree: Any, /) -> Any:
    """Returns a tree of the structure ``inner``, whose leaves are trees of the structure ``outer``, of a tree with these
    structures the other way round.

    >>> import lazyxla as lx
    >>> outer, inner = lx.tree.structure([0, 0]), lx.tree.structure({"a": 0, "b": 0})
    >>> lx.tree.transpose(outer, inner, [{"a": 1, "b": 2}, {"a": 3, "b": 4}])
    {'a': [1, 3], 'b': [2, 4]}
    """
    return optree().tree_transpose(outer, inner, tree)
