"""Arrays that several devices share: shardings, and functions that each device applies to its pieces.

A sharding is a text with one entry for each axis of an array, separated by commas: the axes of the mesh that split it,
joined by ``+``, or ``-``. ``"data,-"`` splits rows by the axis ``data``; ``""`` splits nothing, so that each device has
the whole array.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from . import _core
from ._core import Array, Mesh
from ._creation import asarray
from ._device import use_device
from ._jit import Jit
from ._trace import Traced
from ._tree import axes_of, flatten, tree_map, unflatten


def initialize(
    *,
    device_count: int = 0,
    plugin: str | None = None,
    plugin_options: Mapping[str, Any] | None = None,
    cache_dir: str | None = None,
    dynamic_sizes: str | Sequence[int] | None = None,
    matmul_precision: str | None = None,
    threads: int = 0,
) -> None:
    """Starts the library with options; called once, before the first array.

    ``device_count`` asks a CPU plugin for several devices ``xla:0``, ``xla:1``, ...; 0 is the plugin's default.
    ``plugin`` is the path of a PJRT plugin, ``plugin_options`` has options of its client, and ``cache_dir`` is a folder
    for compiled programs.

    ``dynamic_sizes`` says for which bounds programs are compiled whose sizes change: "buckets" (four in each doubling),
    "powers" (powers of two), or a list of bounds. A program that comes again equal but for sizes is then compiled once
    for each bound, not for each size. The default, "off", compiles for each size.

    ``matmul_precision`` is the precision of products and convolutions on XLA devices: "highest" (the default), "high",
    "default", or an algorithm of StableHLO by name, such as "tf32_tf32_f32" or "bf16_bf16_f32_x3". Imported programs
    keep what their operations state.

    ``threads`` limits native kernels: eager work on ``cpu``, and factorizations in compiled programs. 0 is all
    processors. Results do not depend on it. The threads of a CPU plugin are limited by the variable ``PJRT_NPROC``.
    """
    options = None
    if plugin_options is not None:
        import json

        options = json.dumps(dict(plugin_options))
    if dynamic_sizes is not None and not isinstance(dynamic_sizes, str):
        dynamic_sizes = ",".join(str(int(bound)) for bound in dynamic_sizes)
    _core.initialize(device_count, plugin, options, cache_dir, dynamic_sizes, matmul_precision, threads)


def shard(tree: Any, mesh: Mesh, sharding: str = "") -> Any:
    """Returns the arrays of a tree on a mesh, with a sharding.

    Arrays of other devices, and NumPy's, are computed and copied. An array on the mesh, also in a traced function, gets
    a constraint: XLA chooses the shardings of values without one. The size of an axis has to be divisible by the number
    of its pieces.

    >>> import lazyxla as lx
    >>> mesh = lx.Mesh({"data": 1})
    >>> lx.shard(lx.asarray([1.0, 2.0]), mesh, "data").tolist()
    [1.0, 2.0]
    """

    def place(x: Any) -> Any:
        if not isinstance(x, Array):
            if not hasattr(x, "__array_interface__"):
                return x
            x = asarray(x, device="cpu")
        return _core.shard(x, _mesh(mesh), sharding)

    return tree_map(place, tree)


def sharding(x: Array) -> str:
    """Returns the sharding of an array on a mesh; computes a pending one.

    >>> import lazyxla as lx
    >>> mesh = lx.Mesh({"data": 1})
    >>> lx.sharding(lx.shard(lx.zeros((2, 3)), mesh, "data,-"))
    'data,-'
    """
    return _core.sharding_of(x)


def _mesh(mesh: Any) -> Mesh:
    if not isinstance(mesh, Mesh):
        raise TypeError(f"a mesh is made by lx.Mesh({{'data': 4}}), not a {type(mesh).__name__}")
    return mesh


def _piece(shape: tuple[int, ...], mesh: Mesh, sharding: str) -> tuple[int, ...]:
    """Returns the shape of the piece that one device has of an array."""
    entries = sharding.split(",") if sharding else ["-"] * len(shape)
    if len(entries) != len(shape):
        raise ValueError(f"the sharding {sharding!r} has {len(entries)} entries for an array of shape {shape}")
    sizes = []
    for size, entry in zip(shape, entries, strict=True):
        names = [] if entry.strip() == "-" else [name.strip() for name in entry.split("+")]
        for name in names:
            if name not in mesh.axes:
                raise ValueError(f"the sharding {sharding!r} has an axis {name!r}; the mesh has {', '.join(mesh.axes)}")
        parts = math.prod(mesh.axes[name] for name in names)
        if size % parts:
            raise ValueError(f"an axis of size {size} is not divisible into the {parts} pieces of {entry!r}")
        sizes.append(size // parts)
    return tuple(sizes)


def _texts(shardings: Any, tree: Any, what: str) -> list[str]:
    prefix = tuple(shardings) if isinstance(shardings, list) else shardings
    found = axes_of(prefix, tree, what)
    for each in found:
        if each is not None and not isinstance(each, str):
            raise TypeError(f"{what} are texts such as 'data,-', or None, in a tree; not a {type(each).__name__}")
    return ["" if each is None else each for each in found]


def shard_map(fun: Callable[..., Any], mesh: Mesh, in_shardings: Any, out_shardings: Any) -> Callable[..., Any]:
    """Returns a function in which every device of the mesh applies ``fun`` to its pieces of the arguments.

    ``in_shardings`` is a sharding for all arguments, or a tuple with one for each, or a tree of them whose structure
    begins that of the arguments; None, as ``""``, is an array that each device has as a whole. ``out_shardings`` says
    in the same way how results are put together. Devices exchange pieces by ``lx.collectives``. Where a result is not
    split, all devices have to return equal values, which is not checked. Arrays that ``fun`` takes from elsewhere are
    whole on each device, and have to be on the mesh.

    >>> import lazyxla as lx
    >>> mesh = lx.Mesh({"data": 1})
    >>> total = lx.shard_map(lambda x: lx.collectives.all_reduce(lx.sum(x), "data"), mesh, ("data",), "")
    >>> float(total(lx.shard(lx.asarray([1.0, 2.0]), mesh, "data")))
    3.0
    """
    _mesh(mesh)

    def placed(args: tuple[Any, ...]) -> tuple[Any, list[str]]:
        """Returns arguments with their arrays on the mesh, and the shardings of all leaves."""
        leaves, spec = flatten(args)
        given = in_shardings if in_shardings is None or isinstance(in_shardings, str) else tuple(in_shardings)
        texts = _texts(given, args, "in_shardings")
        for i, text in enumerate(texts):
            x = leaves[i]
            if x.device != mesh.device if isinstance(x, Array) else hasattr(x, "__array_interface__"):
                leaves[i] = shard(x, mesh, text)
        return unflatten(spec, leaves), texts

    @functools.wraps(fun)
    def mapped(*args: Any) -> Any:
        args, texts = placed(args)
        call_leaves, call_spec = flatten((args, {}))
        arrays, inputs, likes = [], [], []
        for x, text in zip(call_leaves, texts, strict=True):
            if isinstance(x, Array):
                arrays.append(x)
                inputs.append(text)
                likes.append(_core.placeholder(_piece(x.shape, mesh, text), x.dtype, mesh.device))
        with use_device(mesh.device):
            traced = Traced(fun, call_leaves, call_spec, likes)
        wanted = _texts(out_shardings, traced.tree.rebuild(traced.results), "out_shardings")
        outputs = [text for i, text in enumerate(wanted) if i not in traced.tree.statics]
        return traced.tree.rebuild(_core.shard_map(traced.computation, mesh, inputs, arrays, outputs))

    # Before the trace: in it, arguments on other devices have no values to copy.
    return Jit(mapped, lambda args, _: placed(args)[0], fun.static) if isinstance(fun, Jit) else mapped


def axes_text(axes: str | Sequence[str]) -> str:
    """Returns axes of a mesh, a name or several, as the library takes them."""
    return axes if isinstance(axes, str) else "+".join(axes)
