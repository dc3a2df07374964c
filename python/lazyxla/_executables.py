"""Functions that are compiled for a device, as objects that can be saved."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from typing import Any

from . import _core
from ._checks import a_function, kind_of
from ._core import Array
from ._device import on
from ._jit import Jit
from ._trace import Traced, array_leaves, is_tracing
from ._tree import Leaves, array_of, flatten, is_static, unflatten


class Executable:
    """A function that ``lx.compile`` compiled, or ``lx.load_executable`` loaded.

    A call runs it at once: nothing is recorded, looked up or compiled, and derivatives do not pass through it."""

    def __init__(self, of: _core.Executable, spec: Any, leaves: Sequence[Any], tree: Leaves | None) -> None:
        """``leaves`` are the leaves of the arguments that it was compiled for, arrays as None; ``spec`` is the
        structure of the arguments, None for a loaded executable."""
        self._of, self._spec, self._leaves, self._tree = of, spec, leaves, tree
        self._described: dict[str, Any] = json.loads(of.describe_json())
        self._device = _core.Device(self._described["device"])
        self._count = len(self._described["results"])

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Returns the results for arrays of the types and the structure that it was compiled for."""
        leaves, spec = flatten((args, kwargs))
        if self._spec is not None and spec != self._spec:
            raise TypeError(f"{self!r} was compiled for arguments of the structure {self._spec}, not {spec}")
        given = self._given(leaves)
        if (other := next((leaf for leaf in given if is_static(leaf)), self)) is not self:
            raise TypeError(f"{self!r} takes arrays and numbers, not {kind_of(other)}")
        arrays = [array_of(leaf, self._device) for leaf in given]
        if len(arrays) != (wanted := len(self._described["parameters"])):
            raise TypeError(f"{self!r} takes {wanted} arrays, not {len(arrays)}")
        # A copy on the same device would hold the value of a donated array.
        moved = [x if x.device == self._device else x.to_device(self._device) for x in arrays]
        try:
            results = self._of.run(moved, self._count)
        except RuntimeError as error:
            if not is_tracing():
                raise
            raise RuntimeError(
                f"{self!r} computes values at once: it cannot be called on arrays of a function that is traced (by jit, "
                f"grad, vmap, scan, ...), and derivatives do not pass through it. Call the function that it was compiled from"
            ) from error
        if self._tree is not None:
            return self._tree.rebuild(results)
        return results[0] if len(results) == 1 else tuple(results)

    def _given(self, leaves: Sequence[Any]) -> list[Any]:
        """Returns the leaves that are arrays, if the others are those that it was compiled for."""
        if self._spec is None:
            return list(leaves)
        found = []
        for leaf, known in zip(leaves, self._leaves, strict=True):
            if known is None:
                found.append(leaf)
            elif type(leaf) is not type(known[0]) or leaf != known[0]:
                raise TypeError(f"{self!r} was compiled for {known[0]!r} in place of {leaf!r}, a constant")
        return found

    def __repr__(self) -> str:
        return f"<{self._described['name']}>"

    @property
    def device(self) -> _core.Device:
        """The device that it was compiled for."""
        return self._device

    @property
    def memory(self) -> dict[str, int] | None:
        """Bytes of the device that the program needs: ``argument_bytes``, ``output_bytes``, ``alias_bytes`` (of outputs
        in the memory of donated arguments), ``temp_bytes`` and ``code_bytes``; None on ``cpu``."""
        found: dict[str, int] | None = self._described["memory"]
        return found

    @property
    def cost(self) -> dict[str, Any]:
        """What one run takes: ``flops`` and ``bytes_accessed``, and their ``source``: "plugin", the estimate for the
        compiled program, or "counted", the sums over the operations of the function."""
        found: dict[str, Any] = self._described["cost"]
        return found

    @property
    def description(self) -> dict[str, Any]:
        """The types of parameters and results, and how it was compiled; see ``lxla_executable_describe``."""
        return dict(self._described)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the compiled code, the program and the arrays that the function took from outside to a file."""
        self._of.save(os.fspath(path))


def compile(
    fun: Callable[..., Any], *args: Any, device: Any = None, donate_argnums: int | Sequence[int] = (), **kwargs: Any
) -> Executable:
    """Compiles a function for a device and arguments of these types, as an object.

    The device is the one of the arrays unless it is given; on a mesh, it takes arrays with the shardings of these.
    Arguments that are not arrays are constants, as in ``jit``; so are the values of arrays that the function takes from
    outside. A call consumes the arrays of the positional arguments ``donate_argnums`` unless something else holds their
    values.

    >>> import lazyxla as lx
    >>> double = lx.compile(lambda x: {"twice": 2 * x}, lx.ones(3))
    >>> double(lx.asarray([1.0, 2.0, 3.0]))["twice"].tolist()
    [2.0, 4.0, 6.0]
    >>> double.cost["flops"] >= 3
    True
    """
    a_function(fun, "compile", "fun")
    numbers = (donate_argnums,) if isinstance(donate_argnums, int) else tuple(donate_argnums)
    for number in numbers:
        if not 0 <= number < len(args):
            raise ValueError(f"donate_argnums: {number} given; the function takes {len(args)} positional arguments")
    leaves, spec = array_leaves((args, kwargs))
    inner = fun._fun if isinstance(fun, Jit) else fun
    traced = Traced(_split(inner, leaves), leaves, spec)
    # Arguments come in their order, each with as many leaves as it has.
    donated: list[int] = []
    place = 0
    for number, argument in enumerate(args):
        count = sum(isinstance(leaf, Array) for leaf in array_leaves(argument)[0])
        donated += range(place, place + count) if number in numbers else ()
        place += count
    of = _core.compile(traced.computation, traced.device if device is None else on(device), donated)
    return Executable(of, spec, [None if isinstance(leaf, Array) else (leaf,) for leaf in leaves], traced.tree)


def _split(fun: Callable[..., Any], leaves: Sequence[Any]) -> Callable[..., Any]:
    """Returns the function with the shardings of these leaves as constraints on its parameters."""
    is_split = [isinstance(leaf, Array) and str(leaf.device).startswith("mesh") for leaf in leaves]
    if not any(is_split):
        return fun
    texts = [_core.sharding_of(leaf) if split else None for leaf, split in zip(leaves, is_split, strict=True)]

    def constrained(*args: Any, **kwargs: Any) -> Any:
        given, spec = flatten((args, kwargs))
        stated = [
            leaf if text is None else _core.constrained(leaf, text) for leaf, text in zip(given, texts, strict=True)
        ]
        args, kwargs = unflatten(spec, stated)
        return fun(*args, **kwargs)

    return constrained


def load_executable(path: str | os.PathLike[str], *, device: Any = None) -> Executable:
    """Loads what ``Executable.save`` wrote, for a device. Nothing is compiled on the plugin and processor of the save.

    It takes the arrays of the arguments, in trees or not, in their order, and returns an array, or a tuple of several.
    Load files only from people whose programs you would run: they hold machine code.

    >>> import lazyxla as lx
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "double.lxe")
    >>> lx.compile(lambda x: 2 * x, lx.ones(3)).save(path)
    >>> lx.load_executable(path)(lx.asarray([1.0, 2.0, 3.0])).tolist()
    [2.0, 4.0, 6.0]
    """
    return Executable(_core.load_executable(os.fspath(path), on(device)), None, (), None)
