"""Reductions of segments, with the names and arguments of ``jax.ops``."""

from __future__ import annotations

import builtins
import operator
from typing import Any

from . import _core
from ._checks import kind_of
from ._core import Array
from ._dtypes import iinfo
from ._elementwise import where
from ._reductions import max


def _lowest(dtype: _core.DType) -> Any:
    return -float("inf") if dtype.kind == "real floating" else iinfo(dtype).min


def _highest(dtype: _core.DType) -> Any:
    return float("inf") if dtype.kind == "real floating" else iinfo(dtype).max


def _segments(name: str, data: Array, segment_ids: Array, num_segments: int | None, start: Any, how: str) -> Array:
    """Returns, for each segment, the reduction of the slices of ``data`` with its number."""
    if not isinstance(segment_ids, Array) or "integer" not in segment_ids.dtype.kind:
        raise TypeError(f"{name}(): segment_ids is an array of integers, not {kind_of(segment_ids)}")
    if data.shape[: segment_ids.ndim] != segment_ids.shape:
        raise ValueError(
            f"{name}(): segment_ids of shape {segment_ids.shape} are not one for each slice of data of shape {data.shape}"
        )
    if num_segments is None:
        # The shape depends on it: the ids are read.
        num_segments = builtins.max(0, int(max(segment_ids)) + 1) if segment_ids.size else 0
    count = operator.index(num_segments)
    if count < 0:
        raise ValueError(f"{name}(): num_segments is at least 0, not {count}")
    made = _core.full((count, *data.shape[segment_ids.ndim :]), start, data.dtype, data.device)
    ids = segment_ids.astype(_core.int64, copy=False)
    # A negative id would count from the end.
    found: Array = getattr(made.at[where(ids < 0, count, ids)], how)(data)
    return found


def segment_sum(
    data: Array,
    segment_ids: Array,
    num_segments: int | None = None,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
) -> Array:
    """Returns the sums of the slices of ``data`` along the first axis that have one id each. ``num_segments`` is the number
    of segments; without it the ids are read, since the shape depends on the largest. Slices with other ids are left out.
    What is known of the ids, ``indices_are_sorted`` and ``unique_indices``, changes nothing.

    >>> import lazyxla as lx
    >>> lx.segment_sum(lx.asarray([1.0, 2.0, 3.0]), lx.asarray([0, 2, 0]), 3).tolist()
    [4.0, 0.0, 2.0]
    """
    return _segments("segment_sum", data, segment_ids, num_segments, 0, "add")


def segment_prod(
    data: Array,
    segment_ids: Array,
    num_segments: int | None = None,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
) -> Array:
    """Returns the products of the slices of ``data`` with one id each, as ``segment_sum``; 1 for a segment without slices.

    >>> import lazyxla as lx
    >>> lx.segment_prod(lx.asarray([4.0, 2.0, 3.0]), lx.asarray([0, 2, 0]), 3).tolist()
    [12.0, 1.0, 2.0]
    """
    return _segments("segment_prod", data, segment_ids, num_segments, 1, "multiply")


def segment_max(
    data: Array,
    segment_ids: Array,
    num_segments: int | None = None,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
) -> Array:
    """Returns the largest of the slices of ``data`` with one id each, as ``segment_sum``; the lowest number of the dtype
    for a segment without slices.

    >>> import lazyxla as lx
    >>> lx.segment_max(lx.asarray([4.0, 2.0, 3.0]), lx.asarray([0, 1, 0]), 2).tolist()
    [4.0, 2.0]
    """
    return _segments("segment_max", data, segment_ids, num_segments, _lowest(data.dtype), "max")


def segment_min(
    data: Array,
    segment_ids: Array,
    num_segments: int | None = None,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
) -> Array:
    """Returns the smallest of the slices of ``data`` with one id each, as ``segment_sum``; the highest number of the dtype
    for a segment without slices.

    >>> import lazyxla as lx
    >>> lx.segment_min(lx.asarray([4.0, 2.0, 3.0]), lx.asarray([0, 1, 0]), 2).tolist()
    [3.0, 2.0]
    """
    return _segments("segment_min", data, segment_ids, num_segments, _highest(data.dtype), "min")
