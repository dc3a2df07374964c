"""Arrays in safetensors files."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from . import _core
from ._core import Array, Save
from ._device import on


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
    ``done()``, and ``progress()``: bytes that are written, and their total. A process that ends waits for its saves.

    >>> import lazyxla as lx, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "weights.safetensors")
    >>> saving = lx.save_async(path, {"w": lx.ones(3)})
    >>> saving.wait()
    >>> lx.load(path)["w"].tolist()
    [1.0, 1.0, 1.0]
    """
    pairs = None if metadata is None else list(metadata.items())
    return _core.save_async(os.fspath(path), list(arrays), list(arrays.values()), pairs)


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
    return json.loads(_core.file_metadata_json(os.fspath(path)))
