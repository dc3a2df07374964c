"""Calls as users of NumPy write them have NumPy's values, on both devices."""

import warnings

import numpy as np
import numpy_calls
from common import DEVICES, on

import lazyxla as lx


def flat(value):
    """Returns the arrays and numbers in nested tuples and lists."""
    return [each for part in value for each in flat(part)] if isinstance(value, (list, tuple)) else [value]


def wrong_values(found, wanted):
    """Returns what is wrong with results, or an empty text. Dtypes are those of this package."""
    found, wanted = flat(found), flat(wanted)
    if len(found) != len(wanted):
        return f"{len(found)} results, NumPy has {len(wanted)}"
    for ours, theirs in zip(found, wanted):
        ours, theirs = np.asarray(ours), np.asarray(theirs)
        if ours.shape != theirs.shape:
            return f"shape {ours.shape}, NumPy has {theirs.shape}"
        if (ours.dtype.kind == "c") != (theirs.dtype.kind == "c") or (ours.dtype.kind == "b") != (
            theirs.dtype.kind == "b"
        ):
            return f"dtype {ours.dtype}, NumPy has {theirs.dtype}"
        scale = float(np.max(np.abs(theirs[np.isfinite(theirs)]), initial=1.0)) if theirs.dtype.kind != "b" else 0.0
        tolerance = 2e-6 if ours.dtype.itemsize <= (8 if ours.dtype.kind == "c" else 4) else 1e-11
        if not np.allclose(ours, theirs, rtol=tolerance, atol=tolerance * scale, equal_nan=True):
            return f"{ours!r}, NumPy has {theirs!r}"
    return ""


def compare(text):
    failures = []
    for device in DEVICES:
        with lx.use_device(device):
            ours = {name: on(value, device) for name, value in numpy_calls.ARRAYS.items()}
            for call in filter(None, text.split("\n")):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    wanted = eval(call, {"m": np, **{name: x.copy() for name, x in numpy_calls.ARRAYS.items()}})
                try:
                    found = eval(call, {"m": lx, **ours})
                    failure = wrong_values(found, wanted)
                except Exception as error:
                    failure = f"{type(error).__name__}: {error}"
                if failure:
                    failures.append(f"{device}: {call}: {failure}")
    assert not failures, "\n".join(failures)


def test_calls_of_reductions_and_statistics():
    compare(numpy_calls.REDUCTIONS)


def test_calls_of_shapes_and_grids():
    compare(numpy_calls.SHAPES)


def test_calls_of_places_and_sets():
    compare(numpy_calls.PLACES)


def test_calls_of_numerical_functions():
    compare(numpy_calls.NUMERICAL)


def test_calls_of_elementwise_functions():
    compare(numpy_calls.ELEMENTS)
