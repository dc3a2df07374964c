"""Trees of arrays: those of ``optree``, with None as a leaf."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import is_
from typing import Any

from . import _core
from ._core import Array
from ._creation import asarray


def optree() -> Any:
    """Imports the package at the first transformation: it takes a third of the time of importing this one."""
    import optree

    return optree


def flatten(tree: Any) -> tuple[list[Any], Any]:
    """Returns the leaves of a tree, None among them, and its structure."""
    leaves, spec = optree().tree_flatten(tree, none_is_leaf=True)
    return leaves, spec


def unflatten(spec: Any, leaves: Sequence[Any]) -> Any:
    return optree().tree_unflatten(spec, leaves)


def tree_map(function: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """Returns a tree of the results of a function on each leaf of trees of one structure.

    >>> import lazyxla as lx
    >>> lx.tree_map(lambda x: 2 * x, {"a": 1, "b": [2, 3]})
    {'a': 2, 'b': [4, 6]}
    """
    return optree().tree_map(function, tree, *others)


def axes_of(prefix: Any, tree: Any, what: str) -> list[Any]:
    """Returns the entries of a tree that begins the structure of another one, one for each leaf of that."""
    try:
        entries: list[Any] = optree().broadcast_prefix(prefix, tree, none_is_leaf=True)
    except ValueError as error:
        raise ValueError(f"{what} {prefix!r} does not fit the tree: {error}") from None
    return entries


def is_static(leaf: Any) -> bool:
    """Returns whether a leaf has no values of an array: None or a text."""
    return leaf is None or isinstance(leaf, (str, bytes))


def array_of(leaf: Any, device: _core.Device) -> Array:
    if isinstance(leaf, Array):
        return leaf
    if isinstance(leaf, (bool, int, float, complex)) or hasattr(leaf, "__array_interface__"):
        return asarray(leaf, device=device)
    raise TypeError(f"a traced function returns arrays in trees, not a {type(leaf).__name__}")


def is_plain(tree: Any, leaves: list[Any], spec: Any) -> bool:
    """Returns whether the extension module walks a tree as optree does: it finds the same leaves in the same order, and
    there is no class that is registered with optree, whose trees may have other parts beside their leaves."""
    found = _core.plain_leaves(tree)
    if found is None or len(found) != len(leaves) or not all(map(is_, found, leaves)):
        return False
    nodes, custom = [spec], optree().PyTreeKind.CUSTOM
    while nodes:
        node = nodes.pop()
        if node.kind == custom:
            return False
        nodes += node.children()
    return True


class Leaves:
    """The leaves of a tree: arrays, and None and texts, which keep their places."""

    def __init__(self, tree: Any, device: _core.Device) -> None:
        leaves, self.spec = flatten(tree)
        self.statics = {i: leaf for i, leaf in enumerate(leaves) if is_static(leaf)}
        self.count = len(leaves)
        self.arrays = [array_of(leaf, device) for leaf in leaves if not is_static(leaf)]
        # Numbers of Python have the dtype that other operands give them.
        self.is_number = [type(leaf) in (int, float, complex) for leaf in leaves if not is_static(leaf)]
        self._template = _core.Template.of(tree) if is_plain(tree, leaves, self.spec) else None

    def rebuild(self, arrays: Sequence[Any]) -> Any:
        """Returns the tree with other values in place of the arrays."""
        if self._template is not None:
            return self._template.build(arrays)
        found = iter(arrays)
        return unflatten(self.spec, [self.statics[i] if i in self.statics else next(found) for i in range(self.count)])

    def path(self, number: int) -> str:
        """Returns where the tree has an array, as ``['a'][0]``; nothing for a tree that is an array."""
        places = [i for i in range(self.count) if i not in self.statics]
        path: str = self.spec.accessors()[places[number]].codify("")
        return path

    def differences(self, other: Leaves) -> dict[int, tuple[Array, Array]]:
        """Returns the arrays that have another dtype or shape in another tree of the same structure, by their numbers."""
        pairs = enumerate(zip(self.arrays, other.arrays, strict=True))
        return {i: (a, b) for i, (a, b) in pairs if (a.dtype, a.shape) != (b.dtype, b.shape)}

    def same_places(self, other: Leaves) -> bool:
        """Returns whether two trees have one structure, and arrays at the same places."""
        return self.spec == other.spec and self.statics.keys() == other.statics.keys()
