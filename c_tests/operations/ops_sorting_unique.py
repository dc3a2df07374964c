"""Distinct elements, and positions in a sorted row, as ops_test.py compares them."""

import functools

import numpy as np
from ctypes_test import Tensor
from ops_cases import Case, Operation, plain
from ops_sorting import rows_of
from ops_values import DTYPES


def filled(rows, size, fill, like):
    """Returns the first `size` rows, padded with `fill`."""
    out = np.empty((size, *rows.shape[1:]), like)
    out[...] = fill
    out[: len(rows)] = rows[:size]
    return out


def unique():
    def call(world, x, *fill, size, dtype, result):
        return world.one_of("lxla_unique", 5, result, x, size, *(fill or [Tensor()]), DTYPES[dtype][0])

    def of(x, *fill, size, dtype, result):
        """NaN in either part of a complex number makes all of it NaN."""
        key = np.where(np.isnan(x), np.nan, x) if x.dtype.kind in "fc" else x
        _, first, inverse, counts = np.unique(key.ravel(), True, True, True)
        like = DTYPES[dtype][1]
        if result == 0:
            values = x.ravel()[first]
            return filled(values, size, fill[0] if fill else values[0] if size else 0, x.dtype)
        if result == 4:
            return np.asarray(len(first), like)
        if result == 2:
            return inverse.reshape(x.shape).astype(like)
        return filled(first if result == 1 else counts, size, first[0] if result == 1 and len(first) else 0, like)

    def cases(name):
        rows = [(rows_of(name)[0], 150, plain(name, (), 113), "s64")]
        if name in ("f32", "pred", "c64"):
            rows += [
                (rows_of(name)[:2], 12, None, "s32"),
                (plain(name, (1,), 114), 3, None, "s8"),
                (plain(name, (), 114), 2, None, "u8"),
                (np.tile(plain(name, (2, 3), 115), (3, 2)), 4, None, "s16"),
                (plain(name, (0, 2), 116), 3, plain(name, (), 113), "s32"),
                (plain(name, (0,), 116), 0, None, "s32"),
                (plain(name, (5,), 116), 0, None, "s32"),
            ]
        return [
            Case(
                [x] + ([fill] if fill is not None else []),
                {"size": size, "dtype": dtype, "result": i},
                dtype if i else name,
            )
            for x, size, fill, dtype in rows
            for i in (range(5) if name in ("f32", "pred", "c64") else (0, 2))
        ]

    return Operation("unique", "all", call, of, cases, refuses=False)


def searchsorted():
    def call(world, row, values, right, dtype):
        return world.make("lxla_searchsorted", row, values, right, DTYPES[dtype][0])

    def of(row, values, right, dtype):
        side = ("left", "right")[right]
        if row.ndim == 1:
            return np.searchsorted(row, values, side).astype(DTYPES[dtype][1])
        made = np.empty(values.shape, DTYPES[dtype][1])
        for at in np.ndindex(row.shape[:-1]):
            made[at] = np.searchsorted(row[at], values[at], side)
        return made

    @functools.cache
    def ascending(name):
        row = rows_of(name).ravel()
        return row[np.argsort(row if row.dtype.kind in "biuc" else row.astype(np.float64), kind="stable")]

    def cases(name):
        other = {"s8": "s32", "u16": "u8", "f32": "bf16", "f16": "f32"}.get(name, name)
        other = other if other in DTYPES else name
        pairs = [(ascending(name), rows_of(name))]
        for n in [0, 1, 2, 3, 7, 8] if name in ("f32", "s64", "c128") else []:
            pairs.append((ascending(name)[-n:] if n else ascending(name)[:0], rows_of(name, False)[0, :9]))
        pairs.append((ascending(name), plain(other, (3, 2), 117)))
        pairs.append((ascending(name), plain(name, (), 118)))
        pairs.append((ascending(name), plain(name, (0, 2), 118)))
        if name in ("f32", "s64", "c128", "pred"):
            line = ascending(name)
            pairs.append((np.stack([line[:5], line[2:7], line[-5:]]), rows_of(name, False)[0, :9].reshape(3, 3)))
            pairs.append((np.stack([line[-7:], line[:7]])[:, None], plain(name, (2, 1, 4), 119)))
            pairs.append((np.stack([line[:3], line[1:4]]), plain(name, (2, 0), 119)))
            pairs.append((np.stack([line[:0], line[:0]]), plain(name, (2, 3), 119)))
        return [Case([*pair], {"right": right, "dtype": "s32"}, "s32") for pair in pairs for right in (0, 1)]

    return Operation("searchsorted", "all", call, of, cases, refuses=False, again=False)


def distinct():
    return [unique(), searchsorted()]
