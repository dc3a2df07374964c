"""The default device, and what is called per device."""

from __future__ import annotations

import atexit
import contextlib
import contextvars
import importlib.util
import os
from collections.abc import Callable, Iterator
from typing import Any

from . import _core
from ._checks import a_function

device = _core.Device

_default: contextvars.ContextVar[_core.Device] = contextvars.ContextVar(
    "lazyxla_default_device", default=_core.Device("xla:0")
)
# The package that this one depends on for its plugin, and the file in it.
_PLUGIN = ("fastatomstruct_xla_cpu", "libpjrt_cpu.so")


def find_plugin() -> None:
    """Names the plugin of the package that was installed with this one, unless a variable names a plugin."""
    if os.environ.get("LXLA_PJRT_PLUGIN") or os.environ.get("PJRT_NAMES_AND_LIBRARY_PATHS"):
        return
    try:
        found = importlib.util.find_spec(_PLUGIN[0])
    except (ImportError, ValueError):
        return
    for folder in (found.submodule_search_locations or []) if found else []:
        path = os.path.join(folder, _PLUGIN[1])
        if os.path.isfile(path):
            os.environ["LXLA_PJRT_PLUGIN"] = path
            return


def _finish() -> None:
    """Waits for the work that is in flight when the interpreter ends: plugins destroy threads that it needs."""
    with contextlib.suppress(Exception):
        _core.wait(None)


atexit.register(_finish)


def default_device() -> _core.Device:
    """Returns the device of arrays that are created without one: ``xla:0``, or that of ``use_device``.

    >>> import lazyxla as lx
    >>> str(lx.default_device())
    'xla:0'
    """
    return _default.get()


@contextlib.contextmanager
def use_device(device: _core.Device | _core.Mesh | str) -> Iterator[_core.Device]:
    """Makes a device the default one within a ``with`` statement, in this thread or asyncio task.

    >>> import lazyxla as lx
    >>> with lx.use_device("cpu"):
    ...     print(lx.zeros(2).device)
    cpu
    """
    chosen = on(device)
    token = _default.set(chosen)
    try:
        yield chosen
    finally:
        _default.reset(token)


def on(device: Any) -> _core.Device:
    """Returns a device that may be None, a device, a mesh or a name."""
    if device is None:
        return _default.get()
    if isinstance(device, _core.Mesh):
        return device.device
    return device if isinstance(device, _core.Device) else _core.Device(device)


def step(*arrays: _core.Array, wait: bool = False) -> None:
    """Runs what was recorded: everything that is pending, or with arrays only what these need.

    Work is enqueued; with ``wait`` the call returns when it is done. Buffers of values that nothing can read any
    more are reused. Equal steps are compiled once.

    >>> import lazyxla as lx
    >>> x = lx.ones(3) + 1
    >>> lx.step(x, wait=True)
    >>> x.state
    'ready'
    """
    if arrays:
        _core.compute(list(arrays), True, wait)
    else:
        _core.mark_step(None, wait)


def wait(device: _core.Device | str | None = None) -> None:
    """Waits for all work that is enqueued on a device, or on every device; raises its error if it failed.

    >>> import lazyxla as lx
    >>> lx.wait("cpu")
    """
    _core.wait(device)


def on_ready(x: _core.Array, callback: Callable[[Exception | None], object]) -> None:
    """Calls ``callback(None)`` when the value of an array is there, or ``callback(error)`` if its computation failed.

    Computes a pending value first, and does not wait. The callback runs once, on a thread of the library, which calls
    such functions one after another; what it raises goes to ``sys.unraisablehook``. The array may go meanwhile.

    >>> import lazyxla as lx, threading
    >>> there = threading.Event()
    >>> lx.on_ready(lx.ones(3) + 1, lambda error: there.set())
    >>> there.wait()
    True
    """
    a_function(callback, "on_ready", "callback")
    _core.on_ready(x, callback)


def set_memory_callback(callback: Callable[[int], object] | None) -> None:
    """Sets the function that frees memory when a device lacks it; None removes it.

    It gets the number of bytes that an allocation needs, and returns whether to try again, which is done once. It may
    release arrays, and must not compute. Arrays in reference cycles live until Python collects garbage:

    >>> import gc, lazyxla as lx
    >>> lx.set_memory_callback(lambda size: gc.collect() > 0)
    >>> lx.set_memory_callback(None)
    """
    if callback is not None:
        a_function(callback, "set_memory_callback", "callback")
    _core.set_memory_callback(callback)


def counter(name: str) -> int:
    """Returns a counter of the library, such as ``"UncachedCompile"``, the number of programs compiled.

    >>> import lazyxla as lx
    >>> lx.counter("UncachedCompile") >= 0
    True
    """
    return _core.counter(name)
