"""Conversions between all dtypes of real numbers, at and beside the numbers halfway between two values of the target,
lazily and natively: python conversions_test.py /path/to/liblazyxla.so

A number below the middle becomes the lower value, a number above it the upper one, whatever the source is. A number in
the middle becomes the value that ml_dtypes gives for it in f32, or NumPy in f64, where it is exact."""

import itertools
import sys

sys.dont_write_bytecode = True  # leaves no caches beside the sources
sys.path.append(sys.path[0] + "/../abi")  # ctypes_test
import ctypes_test as abi
import numpy as np
from ctypes_test import Tensor, give, new_env, release
from dtypes_float8_test import read, tensor
from dtypes_test import ALL, NUMPY
from header import constants

NARROW = [name for name in ALL if name.startswith("f8") or name.startswith("float8") or name in ("f16", "bf16")]
INTEGERS = [name for name in ALL if name[0] in "su" and name[1:].isdigit()]
FLOATS = [*NARROW, "f32", "f64"]


def kind(name):
    return np.dtype(NUMPY[ALL[name]])


def values_of(name):
    """Returns all finite values of a float of at most 16 bits, some of f32 and f64, in order, in f64."""
    rng = np.random.default_rng(1)
    if name in NARROW:
        codes = np.arange(1 << 8 * kind(name).itemsize)
        with np.errstate(all="ignore"):
            values = codes.astype(f"u{kind(name).itemsize}").view(kind(name)).astype("f8")
    else:
        # Random numbers of f32, each with its successor in f32; for f64, too.
        low = rng.integers(0x00800000, 0x7F000000, 20_000, dtype="u4")
        values = np.concatenate([low, low + 1]).astype("u4").view("f4").astype("f8")
        values = np.concatenate([values, -values])
    # ml_dtypes rounds what is below the second number of the scale format as if the first one were 0.
    return np.unique(values[np.isfinite(values)])[1 if name.endswith("e8m0fnu") else 0 :]


def around_middles(name):
    """Returns numbers in f64, and the values of a dtype that they are nearest to: below, at and above each middle."""
    values = values_of(name)
    low, high = values[:-1], values[1:]
    if name == "f32":
        adjacent = np.nextafter(low.astype("f4"), np.float32(np.inf)).astype("f8") == high
        low, high = low[adjacent], high[adjacent]
    middle = low + (high - low) / 2
    with np.errstate(all="ignore"):
        ties = (
            middle.astype("f4").astype(kind(name)).astype("f8") if name != "f32" else middle.astype("f4").astype("f8")
        )
    below, above = np.nextafter(middle, low), np.nextafter(middle, high)
    return np.concatenate([below, middle, above]), np.concatenate([low, ties, high])


def in_source(numbers, wanted, source):
    """Returns the numbers that a dtype has, in it, and the values wanted."""
    dtype = kind(source)
    with np.errstate(all="ignore"):
        given = numbers.astype("f4").astype(dtype) if dtype.itemsize < 4 else numbers.astype(dtype)
    exact = given.astype("f8") == numbers
    return given[exact], wanted[exact]


def integers_around_middles(source, target):
    """Returns integers below, at and above the middles between values of a float, and the values."""
    limits = np.iinfo(kind(source))
    values = [int(x) for x in values_of(target) if x == int(x) and limits.min <= x <= limits.max]
    given, wanted = [], []
    for low, high in itertools.pairwise(values):
        if high - low < 2 or target == "f32" and float(np.nextafter(np.float32(low), np.float32(np.inf))) != high:
            continue
        middle = (low + high) // 2
        tie = (
            float(np.float64(middle).astype("f4").astype(kind(target)))
            if target in NARROW
            else float(np.float32(middle))
        )
        given += [middle - 1, middle, middle + 1]
        wanted += [low, tie, high]
    return np.array(given, dtype=object).astype(kind(source)), np.array(wanted, dtype="f8")


def check(env, device, source, target):
    if source in INTEGERS:
        given, wanted = integers_around_middles(source, target)
    else:
        given, wanted = in_source(*around_middles(target), source)
    if not given.size:
        return 0
    x = tensor(env, device, given, ALL[source])
    got = read(give(abi.lib.lxla_convert, Tensor, x, ALL[target]), given.shape, kind(target)).astype("f8")
    release(x)
    differ = (got != wanted) & ~(np.isnan(got) & np.isnan(wanted))
    if source == "f32" or target == "f32":
        # XLA flushes subnormal numbers of f32.
        tiny = np.finfo("f4").tiny
        differ &= ~((np.abs(given.astype("f8")) < tiny) | (np.abs(wanted) < tiny))
    assert not differ.any(), (
        f"{source} to {target} on {'xla' if device.kind == constants.DEVICE_XLA else 'cpu'}: {int(differ.sum())} of {differ.size} differ: "
        f"{[float(x).hex() for x in given[differ][:3]]} gives {got[differ][:3]}, want {wanted[differ][:3]}"
    )
    return given.size


def beyond(env, device):
    """Checks numbers beyond the largest and below the least value of each narrow float, from f64."""
    for name in NARROW:
        values = values_of(name)
        largest, least = values[-1], values[values > 0][0]
        unit = largest - values[-2]
        inside = np.nextafter(largest + unit / 2, 0)
        given = np.array([inside, largest + unit, 1e300, np.inf, np.nan, 5e-324, 1e-300, np.nextafter(least / 4, 0)])
        with np.errstate(all="ignore"):
            end = np.array([largest + unit], "f4").astype(kind(name)).astype("f8")[0]
        small = 2.0**-127 if name.endswith("e8m0fnu") else 0
        wanted = np.array([largest, end, end, end, np.nan, small, small, small])
        x = tensor(env, device, given, ALL["f64"])
        got = read(give(abi.lib.lxla_convert, Tensor, x, ALL[name]), given.shape, kind(name)).astype("f8")
        release(x)
        assert np.array_equal(got, wanted, equal_nan=True), f"f64 to {name}: {given} gives {got}, want {wanted}"


def main():
    abi.load(sys.argv[1])
    env = new_env()
    checked = 0
    for device in (abi.cpu(), abi.xla()):
        beyond(env, device)
        for source, target in itertools.product([*FLOATS, *INTEGERS], [*NARROW, "f32"]):
            if source != target:
                checked += check(env, device, source, target)
    release(env)
    assert checked > 1_000_000, checked
    print(f"conversions: {checked} passed")


if __name__ == "__main__":
    main()
