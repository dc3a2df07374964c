"""Arrays in safetensors files."""

from __future__ import annotations

import atexit
import os
import warnings
from collections.abc import Mapping
from typing import Any

from . import _core
from ._core import Array
from ._device import on

# Saves that nothing has waited for, with their paths and processes; those among them that no object stands for.
_unwaited: dict[int, tuple[_core.Save, str, int]] = {}
_dropped: set[int] = set()


def _report(number: int) -> None:
    """Waits for a save, and warns if it failed."""
    _dropped.discard(number)
    of, path, process = _unwaited.pop(number, (None, "", 0))
    if of is None or process != os.getpid():
        return
    try:
        of.wait()
    except Exception as error:
        warnings.warn(f"lx.save_async to {path!r} failed: {error}", RuntimeWarning, stacklevel=3)


def _report_dropped() -> None:
    for number in list(_dropped):
        if number in _unwaited and _unwaited[number][0].done():
            _report(number)


@atexit.register
def _report_all() -> None:
    for number in list(_unwaited):
        _report(number)


class Save:
    """A file that is written in the background, by ``lx.save_async``.

    If nothing calls ``wait()``, the error of a save that failed is a RuntimeWarning: when the object goes or, if the
    save goes on then, at a later ``lx.save_async`` or the end of the process.
    """

    def __init__(self, of: _core.Save, path: str) -> None:
        self._of = of
        _unwaited[id(of)] = (of, path, os.getpid())

    def done(self) -> bool:
        """Returns whether the save has finished, successfully or not. Does not wait."""
        return self._of.done()

    def progress(self) -> tuple[int, int]:
        """Returns the number of bytes of arrays that are written, and their total. Does not wait."""
        return self._of.progress()

    def wait(self) -> None:
        """Waits until the file is on disk; raises the error of a save that failed."""
        _unwaited.pop(id(self._of), None)
        self._of.wait()

    def __del__(self) -> None:
        if id(self._of) in _unwaited:
            _dropped.add(id(self._of))
            _report_dropped()


def save(
    path: str | os.PathLike[str], arrays: Mapping[str, Array], *, metadata: Mapping[str, str] | None = None
) -> None:
    """Writes arrays under their names to a safetensors file, and returns when it is on disk.

    Pending arrays are computed first. The file is replaced as a whole, or stays as it was if the call fails. Without
    ``metadata``, that of the replaced file is kept.

    >>> import lazyxla as lx
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "weights.safetensors")
    >>> lx.save(path, {"w": lx.ones(2)}, metadata={"steps": "7"})
    >>> lx.load_metadata(path)["steps"]
    '7'
    """
    pairs = None if metadata is None else list(metadata.items())
    _core.save(os.fspath(path), list(arrays), list(arrays.values()), pairs)


def save_async(
    path: str | os.PathLike[str], arrays: Mapping[str, Array], *, metadata: Mapping[str, str] | None = None
) -> Save:
    """As ``save``, but returns at once: a background thread writes the present values, which the program may change and
    drop meanwhile.

    The result has ``wait()``, which returns when the file is on disk and raises the error of a save that failed,
    ``done()``, and ``progress()``: bytes that are written, and their total. A process that ends waits for its saves. An
    error that nothing waits for is a RuntimeWarning.

    >>> import lazyxla as lx, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "weights.safetensors")
    >>> saving = lx.save_async(path, {"w": lx.ones(3)})
    >>> saving.wait()
    >>> lx.load(path)["w"].tolist()
    [1.0, 1.0, 1.0]
    """
    pairs = None if metadata is None else list(metadata.items())
    _report_dropped()
    text = os.fspath(path)
    return Save(_core.save_async(text, list(arrays), list(arrays.values()), pairs), text)


def load(path: str | os.PathLike[str], *, device: Any = None) -> dict[str, Array]:
    """Returns the arrays of a safetensors file by their names.

    >>> import lazyxla as lx
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "weights.safetensors")
    >>> lx.save(path, {"w": lx.ones(2)})
    >>> lx.load(path)["w"].tolist()
    [1.0, 1.0]
    """
    text = os.fspath(path)
    import json

    return {name: _core.load(text, name, on(device)) for name in json.loads(_core.file_names_json(text))}


def load_metadata(path: str | os.PathLike[str]) -> dict[str, str]:
    """Returns the metadata of a safetensors file.

    >>> import lazyxla as lx
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "weights.safetensors")
    >>> lx.save(path, {"w": lx.ones(2)}, metadata={"steps": "7"})
    >>> lx.load_metadata(path)["steps"]
    '7'
    """
    import json

    metadata: dict[str, str] = json.loads(_core.file_metadata_json(os.fspath(path)))
    return metadata
