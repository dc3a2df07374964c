"""Arrays in safetensors files."""

from __future__ import annotations

import atexit
import os
import warnings
from collections.abc import Mapping
from typing import Any

from . import _core
from ._core import Array
from ._creation import asarray
from ._device import on
from ._tree import flatten, unflatten
from ._tree import optree as _optree

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


def _entries(tree: Any) -> tuple[dict[str, Any], Any]:
    """Returns the leaves of a tree by the names of their paths, joined by points, and its structure."""
    optree = _optree()
    leaves, spec = flatten(tree)
    paths = [
        ".".join(str(getattr(entry, "field", entry.entry)) for entry in accessor)
        for accessor in optree.tree_accessors(tree, none_is_leaf=True)
    ]
    found: dict[str, Any] = {}
    for path, leaf in zip(paths, leaves, strict=True):
        if path in found:
            raise ValueError(f"two leaves of the tree have the name {path!r}: rename one")
        found[path] = leaf
    return found, spec


def _named(tree: Any) -> dict[str, Array]:
    """Returns the arrays of a tree by their names."""
    if isinstance(tree, Mapping) and all(isinstance(k, str) and isinstance(x, Array) for k, x in tree.items()):
        return dict(tree)
    found = {}
    for path, leaf in _entries(tree)[0].items():
        if path == "":
            raise TypeError(f"save() takes a tree of arrays, such as {{'w': w}}, not a {type(leaf).__name__}")
        if leaf is None:
            continue
        if not isinstance(leaf, (Array, bool, int, float, complex)) and not hasattr(leaf, "__array_interface__"):
            raise TypeError(f"save() takes trees of arrays; {path!r} is a {type(leaf).__name__}")
        found[path] = leaf if isinstance(leaf, Array) else _array_of(path, leaf)
    return found


def _array_of(path: str, leaf: Any) -> Array:
    """Returns a number or an array of NumPy as an array of the same precision."""
    is_number = not hasattr(leaf, "__array_interface__")
    of_float = _core.float64 if isinstance(leaf, float) else None
    dtype = _core.complex128 if isinstance(leaf, complex) else of_float
    try:
        return asarray(leaf, dtype=dtype if is_number else None, device="cpu")
    except (TypeError, ValueError, OverflowError) as e:
        raise type(e)(f"{path!r}: {e}") from None


def _pairs(metadata: Mapping[str, str] | None) -> list[tuple[str, str]] | None:
    if metadata is None:
        return None
    for key, value in metadata.items():
        if not isinstance(key, str) or not isinstance(value, str):
            raise TypeError(f"metadata are texts by texts, not {key!r}: {value!r}; convert by str() or json.dumps()")
    return list(metadata.items())


def save(path: str | os.PathLike[str], arrays: Any, *, metadata: Mapping[str, str] | None = None) -> None:
    """Writes the arrays of a tree to a safetensors file, and returns when it is on disk.

    An array has the name of its key in a dictionary; in nested trees, keys, fields and positions are joined by points
    ("blocks.0.w"). ``load(path, like=tree)`` returns such a tree. Python's floats are written as float64; complex
    numbers of that precision have no form in the file. Pending arrays are computed first. The file is replaced as a
    whole, or stays as it was if the call fails. Without ``metadata``, that of the replaced file is kept.

    >>> import lazyxla as lx
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "weights.safetensors")
    >>> lx.save(path, {"w": lx.ones(2)}, metadata={"steps": "7"})
    >>> lx.load_metadata(path)["steps"]
    '7'
    """
    pairs = _pairs(metadata)
    named = _named(arrays)
    _core.save(os.fspath(path), list(named), list(named.values()), pairs)


def save_async(path: str | os.PathLike[str], arrays: Any, *, metadata: Mapping[str, str] | None = None) -> Save:
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
    pairs = _pairs(metadata)
    _report_dropped()
    text, named = os.fspath(path), _named(arrays)
    return Save(_core.save_async(text, list(named), list(named.values()), pairs), text)


def load(path: str | os.PathLike[str], *, like: Any = None, device: Any = None) -> Any:
    """Returns the arrays of a safetensors file by their names; with ``like`` a tree of its structure.

    ``like`` is a tree as it was saved. Its arrays have the dtypes and shapes of those in the file, and give the devices
    unless ``device`` does; its numbers are read as numbers. Other arrays of the file are left out.

    >>> import lazyxla as lx
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "weights.safetensors")
    >>> lx.save(path, {"layers": [{"w": lx.ones(2)}, {"w": lx.zeros(1)}], "steps": 7})
    >>> sorted(lx.load(path))
    ['layers.0.w', 'layers.1.w', 'steps']
    >>> lx.load(path, like={"layers": [{"w": lx.zeros(2)}, {"w": lx.zeros(1)}], "steps": 0})["steps"]
    7
    """
    text = os.fspath(path)
    if text.endswith((".npy", ".npz")):
        raise ValueError(
            f"load(): {text} is a file of NumPy; write lx.asarray(numpy.load(path)), or of one of its arrays"
        )
    import json

    names = json.loads(_core.file_names_json(text))
    if like is None:
        return {name: _core.load(text, name, on(device)) for name in names}
    entries, spec = _entries(like)
    lacking = [name for name, leaf in entries.items() if leaf is not None and name not in names]
    if lacking:
        raise ValueError(f"{text} has no {', '.join(map(repr, lacking))}; it has {', '.join(map(repr, names))}")
    return unflatten(spec, [_like(text, name, leaf, device) for name, leaf in entries.items()])


def _like(text: str, name: str, leaf: Any, device: Any) -> Any:
    """Returns what a file has in the place of a leaf."""
    if leaf is None:
        return None
    if isinstance(leaf, (bool, int, float, complex)) and not hasattr(leaf, "__array_interface__"):
        return _number(text, name, leaf)
    if not isinstance(leaf, Array) and not hasattr(leaf, "__array_interface__"):
        raise TypeError(f"like: {name!r} is a {type(leaf).__name__}; arrays and numbers are wanted")
    found = _core.load(text, name, on(leaf.device if device is None and isinstance(leaf, Array) else device))
    if found.shape != tuple(leaf.shape) or found.dtype.name != leaf.dtype.name:
        given, is_ = (f"{x.dtype.name}{list(x.shape)}" for x in (found, leaf))
        raise ValueError(f"{name!r} of {text} is {given}, and of the tree {is_}")
    return found


def _number(text: str, name: str, leaf: Any) -> Any:
    """Returns a number of a file, of the type of ``leaf``."""
    found = _core.load(text, name, on("cpu"))
    kinds = ["bool", "signed integer", "unsigned integer", "real floating", "complex floating"]
    fitting = {bool: kinds[:1], int: kinds[1:3], float: kinds[1:4], complex: kinds[1:]}
    of = next(kind for kind in fitting if isinstance(leaf, kind))
    if found.shape != () or found.dtype.kind not in fitting[of]:
        given = f"{found.dtype.name}{list(found.shape)}"
        raise ValueError(f"{name!r} of {text} is {given}, and of the tree a number of type {of.__name__}")
    return type(leaf)(found.item())


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
