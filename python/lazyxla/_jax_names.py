"""Names of JAX beside those of the package: types of results without values, and moves of trees between devices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from . import _core
from ._checks import a_function
from ._core import Array, Device, DType
from ._creation import asarray
from ._device import default_device, on
from ._sizes import DTypeLike, integers
from ._trace import Traced, array_leaves
from ._tree import flatten, unflatten


class ShapeDtypeStruct:
    """A shape and a dtype, without values: what ``lx.eval_shape`` takes and returns.

    >>> import lazyxla as lx
    >>> lx.ShapeDtypeStruct((2, 3), lx.float32)
    ShapeDtypeStruct(shape=(2, 3), dtype=float32)
    """

    __slots__ = ("dtype", "shape")

    def __init__(self, shape: int | Sequence[int], dtype: DTypeLike) -> None:
        self.shape: tuple[int, ...] = tuple(integers(shape, "ShapeDtypeStruct(): sizes"))
        self.dtype: DType = _core.as_dtype(dtype)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShapeDtypeStruct) and (self.shape, self.dtype) == (other.shape, other.dtype)

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype))

    def __repr__(self) -> str:
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={self.dtype.name})"


def eval_shape(fun: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Returns the shapes and dtypes of the results of ``fun``, in their tree, and computes nothing. Arguments are arrays,
    or types of arrays: ``lx.ShapeDtypeStruct``.

    >>> import lazyxla as lx
    >>> lx.eval_shape(lambda a, b: a @ b, lx.ShapeDtypeStruct((2, 3), float), lx.zeros((3, 4)))
    ShapeDtypeStruct(shape=(2, 4), dtype=float32)
    """
    a_function(fun, "eval_shape", "fun")
    leaves, spec = array_leaves((args, kwargs))
    device = next((x.device for x in leaves if isinstance(x, Array)), default_device())
    leaves = [_core.placeholder(x.shape, x.dtype, device) if isinstance(x, ShapeDtypeStruct) else x for x in leaves]
    traced = Traced(fun, leaves, spec, is_whole=False)
    return traced.tree.rebuild([ShapeDtypeStruct(y.shape, y.dtype) for y in traced.results])


def devices() -> list[Device]:
    """Returns the devices of the plugin, of which the first is the default one.

    >>> import lazyxla as lx
    >>> [str(device) for device in lx.devices()][0]
    'xla:0'
    """
    return [_core.Device(f"xla:{i}") for i in range(_core.device_count())]


def device_put(x: Any, /, device: Any = None) -> Any:
    """Returns a tree with its arrays on a device, by default the default device: those of NumPy and Python's numbers
    become arrays.

    >>> import lazyxla as lx
    >>> str(lx.device_put({"a": 1.5}, "cpu")["a"].device)
    'cpu'
    """
    target = on(device)

    def moved(leaf: Any) -> Any:
        if leaf is None or isinstance(leaf, (str, bytes)):
            return leaf
        return asarray(leaf, device=target)

    leaves, spec = flatten(x)
    return unflatten(spec, [moved(leaf) for leaf in leaves])


def device_get(x: Any, /) -> Any:
    """Returns a tree with arrays of NumPy in place of arrays: computes and reads their values together.

    >>> import lazyxla as lx
    >>> lx.device_get({"a": lx.ones(2) + 1})
    {'a': array([2., 2.], dtype=float32)}
    """
    leaves, spec = flatten(x)
    _core.compute([leaf for leaf in leaves if isinstance(leaf, Array)], False, False)
    return unflatten(spec, [leaf.__array__() if isinstance(leaf, Array) else leaf for leaf in leaves])


def block_until_ready(x: Any, /) -> Any:
    """Returns a tree when the values of its arrays are on their devices.

    >>> import lazyxla as lx
    >>> lx.block_until_ready([lx.ones(2) + 1])[0].tolist()
    [2.0, 2.0]
    """
    _core.compute([leaf for leaf in flatten(x)[0] if isinstance(leaf, Array)], False, True)
    return x


def linearize(fun: Callable[..., Any], /, *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """Returns ``fun(*primals)``, and the function from tangents of the arguments to those of the results.

    >>> import lazyxla as lx
    >>> value, slope = lx.linearize(lambda x: x**2, 3.0)
    >>> value.item(), slope(10.0).item()
    (9.0, 60.0)
    """
    from ._transform import jvp

    a_function(fun, "linearize", "fun")
    value, _ = jvp(fun, primals, unflatten(flatten(primals)[1], [_zero_like(x) for x in flatten(primals)[0]]))

    def tangents_of(*tangents: Any) -> Any:
        if len(tangents) != len(primals):
            raise TypeError(f"linearize(): {len(tangents)} tangents for {len(primals)} arguments")
        return jvp(fun, primals, tangents)[1]

    return value, tangents_of


def _zero_like(x: Any) -> Any:
    return None if x is None else 0.0 if not isinstance(x, Array) else _core.full(x.shape, 0, x.dtype, x.device)
