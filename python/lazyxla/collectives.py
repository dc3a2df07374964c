"""Exchange of values between the devices of a mesh, in functions of ``lx.shard_map``.

Each function works within groups of devices: those that differ only on the listed ``axes`` of the mesh, a name or
several. Devices of a group are ordered by their position along the axes, the first of which is the major one. All
devices of a group have to reach the call.
"""

from __future__ import annotations

from collections.abc import Sequence

from . import _constants as c
from . import _core
from ._core import Array, Mesh
from ._mesh import axes_text

__all__ = ["all_gather", "all_reduce", "all_to_all", "axis_index", "permute", "reduce_scatter"]

Axes = str | Sequence[str]

_OPERATIONS = {
    "sum": c.REDUCE_SUM,
    "product": c.REDUCE_PRODUCT,
    "max": c.REDUCE_MAX,
    "min": c.REDUCE_MIN,
    "all": c.REDUCE_ALL,
    "any": c.REDUCE_ANY,
}


def _operation(op: str) -> int:
    if op not in _OPERATIONS:
        raise ValueError(f"op is one of {', '.join(_OPERATIONS)}, not {op!r}")
    return _OPERATIONS[op]


def all_reduce(x: Array, axes: Axes, *, op: str = "sum") -> Array:
    """Returns the elementwise reduction of x over the group: "sum", "product", "max", "min", "all" or "any".

    >>> import lazyxla as lx
    >>> mesh = lx.Mesh({"data": 1})
    >>> f = lx.shard_map(lambda x: lx.collectives.all_reduce(x, "data"), mesh, "data", "data")
    >>> f(lx.shard(lx.asarray([1.0, 2.0]), mesh, "data")).tolist()
    [1.0, 2.0]
    """
    return _core.all_reduce(_operation(op), x, axes_text(axes))


def all_gather(x: Array, axes: Axes, *, axis: int = 0) -> Array:
    """Returns the x of all devices of the group, concatenated along an axis.

    >>> import lazyxla as lx
    >>> mesh = lx.Mesh({"data": 1})
    >>> f = lx.shard_map(lambda x: lx.collectives.all_gather(x, "data"), mesh, "data", "data")
    >>> f(lx.shard(lx.asarray([1.0, 2.0]), mesh, "data")).tolist()
    [1.0, 2.0]
    """
    return _core.all_gather(x, axes_text(axes), axis)


def reduce_scatter(x: Array, axes: Axes, *, axis: int = 0, op: str = "sum") -> Array:
    """Returns the device's piece, along an axis, of what ``all_reduce`` returns.

    >>> import lazyxla as lx
    >>> mesh = lx.Mesh({"data": 1})
    >>> f = lx.shard_map(lambda x: lx.collectives.reduce_scatter(x, "data"), mesh, "data", "data")
    >>> f(lx.shard(lx.asarray([1.0, 2.0]), mesh, "data")).tolist()
    [1.0, 2.0]
    """
    return _core.reduce_scatter(_operation(op), x, axes_text(axes), axis)


def all_to_all(x: Array, axes: Axes, *, split_axis: int, concat_axis: int) -> Array:
    """Returns the device's piece, along ``split_axis``, of each x of the group, concatenated along ``concat_axis``.

    >>> import lazyxla as lx
    >>> mesh = lx.Mesh({"data": 1})
    >>> exchange = lambda x: lx.collectives.all_to_all(x, "data", split_axis=0, concat_axis=0)
    >>> f = lx.shard_map(exchange, mesh, "data", "data")
    >>> f(lx.shard(lx.asarray([1.0, 2.0]), mesh, "data")).tolist()
    [1.0, 2.0]
    """
    return _core.all_to_all(x, axes_text(axes), split_axis, concat_axis)


def permute(x: Array, axis: str, pairs: Sequence[tuple[int, int]]) -> Array:
    """Returns the x of the device that a pair (source, target) of positions along an axis names for this one; zeros on
    devices that are not a target.

    >>> import lazyxla as lx
    >>> mesh = lx.Mesh({"data": 1})
    >>> f = lx.shard_map(lambda x: lx.collectives.permute(x, "data", [(0, 0)]), mesh, "data", "data")
    >>> f(lx.shard(lx.asarray([1.0, 2.0]), mesh, "data")).tolist()
    [1.0, 2.0]
    """
    return _core.collective_permute(x, axis, [(source, target) for source, target in pairs])


def axis_index(mesh: Mesh, axes: Axes) -> Array:
    """Returns the position of the device along axes of the mesh: an int32 of rank 0.

    >>> import lazyxla as lx
    >>> mesh = lx.Mesh({"data": 1})
    >>> f = lx.shard_map(lambda x: x + lx.collectives.axis_index(mesh, "data").astype(x.dtype), mesh, "data", "data")
    >>> f(lx.shard(lx.asarray([1.0, 2.0]), mesh, "data")).tolist()
    [1.0, 2.0]
    """
    return _core.axis_index(mesh, axes_text(axes))
