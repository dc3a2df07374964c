"""Compares functions of SciPy and scikit-learn on arrays of this package with their values on arrays of NumPy:

    SCIPY_ARRAY_API=1 python python/tests/array_libraries.py [DEVICE] [WORD ...]

with SciPy and scikit-learn installed; the calls that are refused are those of SciPy 1.17.1 and scikit-learn 1.9.1. The
default device is cpu. It is not a part of the tests, since the libraries are large; docs/testing.md says how to run it."""

import contextlib
import os
import sys
import warnings

os.environ["SCIPY_ARRAY_API"] = "1"

import numpy as np
import scipy_calls
import sklearn_calls
from scipy import (
    cluster,
    constants,
    differentiate,
    fft,
    integrate,
    interpolate,
    linalg,
    ndimage,
    optimize,
    signal,
    spatial,
    special,
    stats,
)
from scipy.cluster import hierarchy, vq  # noqa: F401 - the expressions reach them
from scipy.optimize import elementwise  # noqa: F401
from scipy.spatial import transform  # noqa: F401
from sklearn import config_context

import lazyxla as lx

MODULES = {
    module.__name__.removeprefix("scipy."): module
    for module in (
        cluster, constants, differentiate, fft, integrate, interpolate, linalg, ndimage, optimize, signal, spatial,
        special, stats,
    )
}  # fmt: skip


def flat(value):
    """Returns the arrays and numbers of a result, without counts, texts and functions."""
    if isinstance(value, dict):
        counts = ("nfev", "nit", "maxlevel", "success", "status", "message", "_order_keys")
        value = [each for name, each in sorted(value.items()) if name not in counts]
    elif hasattr(value, "_fields"):
        value = [*value]
    elif hasattr(value, "mean_direction"):
        value = [value.mean_direction, value.mean_resultant_length]
    elif hasattr(value, "statistic") and hasattr(value, "pvalue"):
        value = [value.statistic, value.pvalue]
    if isinstance(value, (list, tuple)):
        return [each for part in value for each in flat(part)]
    return [] if value is None or callable(value) or isinstance(value, (str, slice)) else [value]


def wrong(found, wanted, tolerance):
    """Returns what is wrong with results, or an empty text."""
    found, wanted = flat(found), flat(wanted)
    if len(found) != len(wanted):
        return f"{len(found)} results, with NumPy {len(wanted)}"
    for ours, theirs in zip(found, wanted):
        ours, theirs = np.asarray(ours), np.asarray(theirs)
        if ours.shape != theirs.shape:
            return f"shape {ours.shape}, with NumPy {theirs.shape}"
        if not np.allclose(ours, theirs, rtol=tolerance, atol=tolerance, equal_nan=True):
            return f"{ours.ravel()[:3]}, with NumPy {theirs.ravel()[:3]}"
    return ""


def compare(calls, refused, device, words):
    """Runs calls, functions of `A` and `xp` by their names; returns how many are equal, and prints the others."""
    count = failed = 0
    for name, call in calls.items():
        if words and not any(word in name for word in words):
            continue
        count += 1
        wanted = call(np.array, np)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                with lx.use_device(device):
                    text = wrong(call(lambda x: lx.asarray(np.asarray(x), device=device), lx), wanted, 1e-4)
            except Exception as error:
                text = f"refused: {type(error).__name__}: {error}"
        is_lost = any("changed in place" in str(each.message) for each in caught)
        is_known = name in refused and (text.startswith("refused") or is_lost)
        if (text and not is_known) or (not text and name in refused):
            failed += 1
            print(f"{name}: {text or 'is no longer refused'}"[:300])
    return count, failed


def expression(text):
    """Returns an expression as a function of `A` and `xp`."""
    return lambda A, xp: eval(text, {"np": np, "A": A, "xp": xp, **MODULES, **scipy_calls.ARRAYS})


def dispatched(call):
    """Returns a call of scikit-learn that takes arrays of any array API library."""

    def called(A, xp):
        with config_context(array_api_dispatch=True) if xp is lx else contextlib.nullcontext():
            return call(A)

    return called


def main():
    words = sys.argv[1:]
    device = words.pop(0) if words and words[0].startswith(("cpu", "xla")) else "cpu"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        calls = {text: expression(text) for text in scipy_calls.EXPRESSIONS}
        results = [compare(calls, scipy_calls.REFUSED, device, words)]
        calls = {name: dispatched(call) for name, call in sklearn_calls.CALLS.items()}
        results.append(compare(calls, sklearn_calls.REFUSED, device, words))
    for name, (count, failed) in zip(("SciPy", "scikit-learn"), results):
        print(f"{name}: {count} calls, {failed} of them other than known")
    sys.exit(any(failed for _, failed in results))


if __name__ == "__main__":
    main()
