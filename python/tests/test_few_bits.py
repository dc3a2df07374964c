"""Types of 2 and 4 bits: their limits, NumPy's arrays, and derivatives, which they do not have."""

import subprocess
import sys

import numpy as np
from common import DEVICES, on, raises

import lazyxla as lx

INTEGERS = {"int4": (-8, 7), "uint4": (0, 15), "int2": (-2, 1), "uint2": (0, 3)}


def test_integers_beyond_the_limits_are_errors():
    for name, (low, high) in INTEGERS.items():
        dtype = getattr(lx, name)
        for device in DEVICES:
            with lx.use_device(device):
                x = lx.asarray([low, high], dtype=dtype)
                assert x.tolist() == [low, high]
                for beyond in (low - 1, high + 1, 1000):
                    raises(OverflowError, lambda beyond=beyond, dtype=dtype: lx.asarray([0, beyond], dtype=dtype), name)
                    raises(OverflowError, lambda beyond=beyond, dtype=dtype: lx.full(2, beyond, dtype=dtype), name)
                    raises(OverflowError, lambda beyond=beyond, x=x: x + beyond, name)
                    raises(OverflowError, lambda beyond=beyond, x=x: x.__setitem__(0, beyond), name)
                assert (x < high + 1).tolist() == (x > low - 1).tolist() == [True, True]
                assert (x == 1000).tolist() == (x < -1000).tolist() == [False, False]


def test_floats_of_4_bits_are_compared_with_numbers_beyond_their_limits():
    for device in DEVICES:
        x = on(np.array([6, -6, -0.0], "float32"), device).astype(lx.float4_e2m1fn)
        for beyond in (6.5, 7, 100.0, float("inf")):
            assert (x < beyond).tolist() == (x > -beyond).tolist() == [True] * 3
            assert (x == beyond).tolist() == (x == -beyond).tolist() == [False] * 3
        nan = float("nan")
        assert (x == nan).tolist() == (x < nan).tolist() == (x >= nan).tolist() == [False] * 3
        assert (x != nan).tolist() == [True] * 3 and (x == 6).tolist() == [True, False, False]


def test_arrays_become_those_of_ml_dtypes_that_nothing_imported():
    program = """
import sys
import numpy as np
import lazyxla as lx
assert "ml_dtypes" not in sys.modules
for name in ("int4", "uint4", "int2", "uint2", "float4_e2m1fn"):
    found = np.asarray(lx.asarray([0, 1], device="cpu").astype(getattr(lx, name)))
    assert found.dtype.name == name and found.tolist() == [0, 1], found
"""
    try:
        import ml_dtypes
    except ImportError:
        return
    if hasattr(ml_dtypes, "float4_e2m1fn"):
        answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        assert answer.returncode == 0, answer.stderr


def test_floats_of_4_bits_have_no_derivatives_as_integers():
    for device in DEVICES:
        w = on(np.array([0.5, 1, -2, 3], "float32"), device)
        for dtype in (lx.float4_e2m1fn, lx.int4):
            narrow = lambda w, dtype=dtype: (w.astype(dtype), w * 2)
            ones = lx.ones(4, device=device)
            values, slopes = lx.jvp(narrow, (w,), (ones,))
            assert slopes[0].dtype == dtype and slopes[0].tolist() == [0] * 4 and slopes[1].tolist() == [2] * 4
            values, pullback = lx.vjp(narrow, w)
            assert values[0].tolist() == w.astype(dtype).tolist()
            assert pullback((lx.zeros(4, dtype=dtype, device=device), ones))[0].tolist() == [2] * 4
            q = w.astype(dtype)
            assert lx.grad(lambda w, q=q: lx.sum(q.astype(lx.float32) * w))(w).tolist() == q.tolist()
            loss = lambda q: lx.sum(q.astype(lx.float32))
            raises(TypeError, lambda q=q, loss=loss: lx.grad(loss)(q), "convert it")
            raises(TypeError, lambda q=q, loss=loss: lx.vjp(loss, q), "convert it")
            raises(TypeError, lambda w=w, narrow=narrow: lx.jacrev(lambda w: narrow(w)[0])(w), dtype.name)


def test_casts_are_those_of_numpy_and_promotions_those_of_jax():
    """`numpy.can_cast` of the dtypes of ml_dtypes: integers of any width, and floats of 4 and 8 bits, become these."""
    integers = [*INTEGERS, "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
    signed = {"int2", "int4", "int8", "int16", "int32", "int64"}
    bits = lambda name: int(name.lstrip("uint"))
    for a in integers:
        for b in integers:
            wanted = a == b or bits(a) < bits(b) and ((a in signed) == (b in signed) or a not in signed)
            # NumPy leads from unsigned integers of few bits to signed ones of 8 bits and more.
            wanted = wanted and not (a == "uint2" and b == "int4")
            assert lx.can_cast(a, b) == wanted, (a, b)
            try:
                import ml_dtypes
            except ImportError:
                continue
            dtypes = [np.dtype(getattr(ml_dtypes, each, each)) for each in (a, b)]
            assert lx.can_cast(a, b) == np.can_cast(*dtypes), (a, b)
    wide = ("float32", "float64", "complex64", "complex128")
    for b in (*wide, "float16", "bfloat16", "float8_e4m3fn", "int8", "bool"):
        assert lx.can_cast("float4_e2m1fn", b) == (b in wide), b
    for a in INTEGERS:
        assert lx.result_type(a, a).name == lx.result_type(a, 1).name == lx.result_type("bool", a).name == a
        assert lx.result_type(a, 1.5) == lx.float32
        assert not lx.can_cast(a, "float32") and not lx.can_cast("bool", a)
        for b in ("int8", "uint8", "float32", "uint2" if a == "int2" else "int2"):
            raises(TypeError, lambda a=a, b=b: lx.result_type(a, b), a, b, "convert")
            raises(TypeError, lambda a=a, b=b: lx.ones(2, dtype=a) + lx.ones(2, dtype=b), a, b, "convert")


def test_arrays_of_every_dtype_of_ml_dtypes_come_back():
    try:
        import ml_dtypes
    except ImportError:
        return
    for name in ("bfloat16", "float8_e5m2", "float8_e4m3fn", "float8_e4m3b11fnuz", "int4", "uint4"):
        if hasattr(ml_dtypes, name):
            a = np.asarray([1, 2, 3]).astype(getattr(ml_dtypes, name))
            x = lx.asarray(a, device="cpu")
            assert x.dtype == getattr(lx, name) and np.asarray(x).dtype == a.dtype
            assert np.asarray(x).astype("float32").tolist() == [1, 2, 3]
