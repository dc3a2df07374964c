"""Programs of other frameworks: files of jax.export, StableHLO, folders of PyTorch/XLA."""

from __future__ import annotations

import importlib
import io
import os
import threading
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


# Shapes of arguments that one program keeps computations of.
_MOST_SHAPES = 64


def _contents(path: str) -> bytes | None:
    """Returns a digest of a file, or of the names and contents of all files in a folder; None if it cannot be read."""
    # It loads OpenSSL, which takes longer than the rest of the package.
    import hashlib

    found = hashlib.blake2b()
    try:
        paths = [os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names] or [path]
        for each in sorted(paths):
            found.update(f"{os.path.relpath(each, path)}\0{os.path.getsize(each)}\0".encode(errors="surrogateescape"))
            with open(each, "rb") as file:
                while block := file.read(1 << 20):
                    found.update(block)
    except OSError:
        return None
    return found.digest()


class Program:
    """A function that ``lx.import_program`` or ``lx.from_torch`` read; it takes and returns arrays, and can be differentiated, batched and
    jitted as any other one."""

    def __init__(
        self, source: str | bytes, function: str | None, mesh: Mesh | None, shapes: list[list[int]] | None
    ) -> None:
        """``source``: a path, or the bytes of a file."""
        self._source, self._function, self._mesh = source, function, mesh
        self._lock = threading.Lock()
        self._of_shapes: dict[str, tuple[Computation, Computation]] = {}
        self._is_fixed = shapes is None
        self._n_shapes = len(shapes or ())
        self._contents = None if isinstance(source, bytes) else _contents(source)
        self._first = self._read(shapes)
        if self._is_fixed and isinstance(source, bytes):
            # It is not read again.
            self._source = b""
        self._first_shapes = str(shapes)
        self._weights = self._first[0].captured()

    def _read(self, shapes: list[list[int]] | None) -> tuple[Computation, Computation]:
        try:
            if isinstance(self._source, bytes):
                computation = _core.import_bytes(self._source, self._function, shapes, self._mesh)
            else:
                computation = _core.import_file(self._source, self._function, shapes, self._mesh)
        except ValueError as error:
            if shapes is None and "ranks, dims: none given" in str(error):
                raise ValueError(f"{error}; shapes=[...] gives the shape of each parameter") from None
            raise
        return computation, computation.lift()

    @property
    def weights(self) -> list[Array]:
        """The constant arrays of the program, on ``cpu``, in its order.

        Calls take others in their place (``weights=``), which are on the device of the arguments: for instance
        ``[w.to_device(x.device) for w in program.weights]``."""
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
        """Returns the computation for the shapes of arguments; reads the file again if they are new."""
        if len(arrays) != (count := self._first[0].info()[0]):
            raise TypeError(f"the program takes {count} arrays, not {len(arrays)}")
        # A key of random numbers, which comes last in a program of PyTorch, has no shape to be given.
        shapes = [list(x.shape) for x in arrays[: self._n_shapes]]
        key = str(shapes)
        # A program that could be read without shapes has no free sizes.
        if self._is_fixed or key == self._first_shapes:
            return self._first
        with self._lock:
            found = self._of_shapes.pop(key, None)
            if found is None:
                found = self._read(shapes)
                if not isinstance(self._source, bytes) and _contents(self._source) != self._contents:
                    raise ValueError(
                        f"{self._source} has changed since lx.import_program read it, and shapes {key} are new: import "
                        f"it again, or give these shapes to a program of their own"
                    )
                if len(self._of_shapes) >= _MOST_SHAPES:
                    del self._of_shapes[next(iter(self._of_shapes))]
            # The last one of the dictionary is the one used last.
            self._of_shapes[key] = found
            return found


def import_program(
    path: str | os.PathLike[str],
    *,
    shapes: Sequence[int | Sequence[int]] | None = None,
    function: str | None = None,
    mesh: Mesh | None = None,
) -> Program:
    """Reads a function of a file of ``jax.export``, of StableHLO (text or bytecode), of an archive of
    ``torch.export.save`` (``.pt2``), or of a folder of PyTorch/XLA. Results of a program of PyTorch are its outputs,
    then the new values of buffers and inputs that it changes.

    ``shapes`` has the shape of each parameter, for programs with free sizes, such as that of a batch. ``function`` is
    the name of a function, ``main`` if it is None. The first call with other shapes reads the file again, which must
    not have changed. With ``mesh``, shardings in the program are those of that mesh.

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


def from_torch(module: Any, *examples: Any, **options: Any) -> Program:
    """Returns a ``torch.nn.Module`` as the function that ``lx.import_program`` returns for its archive (``.pt2``).

    The module is exported by ``torch.export.export``, in the mode that it is in (``module.eval()``, ``module.train()``),
    for example arguments. ``options`` are those of that function: ``kwargs``, ``strict``, and ``dynamic_shapes``, which
    leaves sizes open. Nothing is written to disk, and PyTorch is not needed for calls. The weights are copies; those
    that are trained go back by ``module.load_state_dict``.

    Of ``net = torch.nn.Linear(2, 1)``, for batches of any size:

    >>> import lazyxla as lx
    >>> free = {0: torch.export.Dim("batch")}  # doctest: +SKIP
    >>> f = lx.from_torch(net, torch.ones(3, 2), dynamic_shapes=(free,))  # doctest: +SKIP
    >>> f(lx.ones((5, 2))).shape  # doctest: +SKIP
    (5, 1)
    """
    try:
        torch = importlib.import_module("torch")
        tree = importlib.import_module("torch.utils._pytree")
    except ImportError as error:
        raise ImportError(
            f"from_torch() needs PyTorch, which cannot be imported ({error}): install it, or read a file that "
            f"torch.export.save wrote elsewhere by lx.import_program"
        ) from error
    exported = torch.export.export(module, tuple(examples), **options)
    archive = io.BytesIO()
    torch.export.save(exported, archive)
    shapes = None
    if options.get("dynamic_shapes") is not None:
        given = tree.tree_leaves(exported.example_inputs)
        shapes = [[int(size) for size in x.shape] for x in given if isinstance(x, torch.Tensor)]
    return Program(archive.getvalue(), None, None, shapes)


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
