"""Programs of other frameworks: files of jax.export, StableHLO, folders of PyTorch/XLA."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from . import _constants as c
from . import _core
from ._core import Array, Computation, Mesh
from ._jit import Jit
from ._sizes import integers
from ._trace import Traced, device_of
from ._tree import array_of, flatten

_FORMATS = {"folder": c.EXPORT_FOLDER, "text": c.EXPORT_TEXT, "jax": c.EXPORT_JAX}


class Program:
    """A function that ``lx.import_program`` read; it takes and returns arrays, and can be differentiated, batched and
    jitted as any other one."""

    def __init__(self, path: str, function: str | None, mesh: Mesh | None, shapes: list[list[int]] | None) -> None:
        self._path, self._function, self._mesh = path, function, mesh
        self._of_shapes: dict[Any, tuple[Computation, Computation]] = {}
        self._first = self._read(shapes)
        self._weights = self._first[0].captured()

    def _read(self, shapes: list[list[int]] | None) -> tuple[Computation, Computation]:
        try:
            computation = _core.import_file(self._path, self._function, shapes, self._mesh)
        except ValueError as error:
            if shapes is None and "ranks, dims: none given" in str(error):
                raise ValueError(f"{error}; shapes=[...] gives the shape of each parameter") from None
            raise
        return computation, computation.lift()

    @property
    def weights(self) -> list[Array]:
        """The constants of the program, such as the weights of a network, in its order."""
        return list(self._weights)

    def __call__(self, *args: Any, weights: Sequence[Array] | None = None) -> Any:
        """Returns the result for arrays, or a tuple of several; with ``weights`` in place of those of the program.

        Shapes other than those that were given are possible where the program leaves them open.
        """
        device = device_of((args, weights))
        arrays = [array_of(x, device) for x in args]
        computation, lifted = self._for(arrays)
        if weights is None:
            results = computation.call(arrays)
        else:
            if len(weights) != len(self._weights):
                raise ValueError(f"{len(weights)} weights for a program of {len(self._weights)}")
            results = lifted.call([*arrays, *weights])
        return results[0] if len(results) == 1 else tuple(results)

    def _for(self, arrays: list[Array]) -> tuple[Computation, Computation]:
        """Returns the computation for the shapes of arguments; imports it if they are new."""
        shapes = [list(x.shape) for x in arrays]
        key = str(shapes)
        if key not in self._of_shapes:
            if len(arrays) != (count := self._first[0].info()[0]):
                raise TypeError(f"the program takes {count} arrays, not {len(arrays)}")
            self._of_shapes[key] = self._read(shapes)
        return self._of_shapes[key]


def import_program(
    path: str | os.PathLike[str],
    *,
    shapes: Sequence[int | Sequence[int]] | None = None,
    function: str | None = None,
    mesh: Mesh | None = None,
) -> Program:
    """Reads a function of a file of ``jax.export``, of StableHLO (text or bytecode), or of a folder of PyTorch/XLA.

    ``shapes`` has the shape of each parameter, for programs with free sizes, such as that of a batch. ``function`` is
    the name of a function, ``main`` if it is None. With ``mesh``, shardings in the program are those of that mesh.

    >>> import lazyxla as lx
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "double.mlir")
    >>> lx.export_program(lambda x: x * 2, lx.ones(3), path=path, format="text")
    >>> double = lx.import_program(path)
    >>> double(lx.asarray([1.0, 2.0, 3.0])).tolist()
    [2.0, 4.0, 6.0]
    """
    sizes = None if shapes is None else [integers(shape) for shape in shapes]
    return Program(os.fspath(path), function, mesh, sizes)


def export_program(
    fun: Any, *args: Any, path: str | os.PathLike[str], format: str = "folder", vjp_order: int = 0
) -> None:
    """Writes ``fun`` for arguments of these types: "folder", "text" (StableHLO) or "jax", a file that
    ``jax.export.deserialize`` reads, with ``vjp_order=1`` to differentiate it there.

    The parameters are the arrays among the arguments. Arrays that the function takes from elsewhere are constants.

    >>> import lazyxla as lx
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "double.mlir")
    >>> lx.export_program(lambda x: x * 2, lx.ones(3), path=path, format="text")
    >>> lx.import_program(path)(lx.asarray([1.0, 2.0, 3.0])).tolist()
    [2.0, 4.0, 6.0]
    """
    if format not in _FORMATS:
        raise ValueError(f"format is one of {', '.join(_FORMATS)}, not {format!r}")
    device = device_of(args)
    leaves, spec = flatten((args, {}))
    leaves = [array_of(x, device) if hasattr(x, "__array_interface__") else x for x in leaves]
    traced = Traced(fun._fun if isinstance(fun, Jit) else fun, leaves, spec)
    traced.computation.export(os.fspath(path), _FORMATS[format], vjp_order)
