"""Shared by the tests: devices, dtypes, comparisons with NumPy."""

import functools

import numpy as np

import lazyxla as lx

DEVICES = ("cpu", "xla:0")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float32", "float64")
COMPLEX = ("complex64", "complex128")


def random(seed, shape, dtype="float32"):
    """Returns numbers of a dtype: integers from 0 or -9 to 9, floats and complex parts of the normal distribution."""
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.random(shape) < 0.5
    if dtype in INTEGERS:
        return rng.integers(0 if dtype.startswith("u") else -9, 10, shape).astype(dtype)
    if dtype in COMPLEX:
        return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


def on(values, device):
    return lx.asarray(values, device=device)


# Comparisons that wait for the end of a test, in one that is `in_one_step`.
_waiting = None


def in_one_step(test):
    """Makes `same` wait for the end of a test, so that one program computes all values: most of the time of a test goes
    into compilation."""

    @functools.wraps(test)
    def in_step():
        global _waiting
        _waiting = []
        try:
            test()
            waiting, _waiting = _waiting, None
            lx.step()
            for arguments in waiting:
                same(*arguments)
        finally:
            _waiting = None

    return in_step


def same(found, wanted, tolerance=0.0):
    """Asserts dtype, shape and values."""
    if _waiting is not None and isinstance(found, lx.Array):
        # Both may be changed in place before the end.
        _waiting.append((found.copy(), np.array(wanted), tolerance))
        return
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert found.dtype == wanted.dtype, (found.dtype, wanted.dtype)
    assert found.shape == wanted.shape, (found.shape, wanted.shape)
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)


def raises(kind, function, *parts):
    """Asserts that a call raises an exception whose text has the given parts."""
    try:
        function()
    except kind as error:
        assert all(part in str(error) for part in parts), (parts, str(error))
        return error
    raise AssertionError(f"no {kind} was raised")
