"""Scalars, dtypes, sizes and axes as arguments, and the exceptions for wrong ones; against NumPy."""

import operator

import numpy as np
from common import DEVICES, on, raises, random, same

import lazyxla as lx


def test_bounds_of_clip_promote_and_scalars_are_not_rounded():
    for device in DEVICES:
        a, f = np.array([-5, 3, 120], "int8"), np.float32([-2, 0.25, 7])
        x, y = on(a, device), on(f, device)
        same(lx.clip(x, -1, 100), np.clip(a, -1, 100))
        same(lx.clip(x, on(np.int8([0, 5, 5]), device), None), np.clip(a, np.int8([0, 5, 5]), None))
        same(lx.clip(x, np.int8(0), np.int8(9)), np.clip(a, 0, 9))
        same(lx.clip(y, 0, 0.5), np.clip(f, np.float32(0), np.float32(0.5)))
        same(lx.clip(x, 0.5, 2), np.float32([0.5, 2, 2]))
        same(lx.clip(x, None, 2.5), np.float32([-5, 2.5, 2.5]))
        raises(OverflowError, lambda: lx.clip(x, 0, 300), "300")
        raises(OverflowError, lambda: lx.clip(on(np.uint8([1]), device), -1, 5), "-1")
        for bound in (np.int16(300), on(np.float32(0.5), device), on(np.int64(300), device)):
            same(lx.clip(x, None, bound), np.minimum(a, np.asarray(bound)).astype(bound.dtype.name))
        same(lx.clip(y, on(np.float64(0.1), device)), np.clip(f, np.float64(0.1), None))
        raises(TypeError, lambda: lx.clip(y, "a"))


def test_copies_are_not_changed_with_their_originals():
    for device in DEVICES:
        x = on(np.float32([1, 2, 3]), device)
        for copy in (+x, lx.diff(x, n=0), lx.positive(x), lx.clip(x)):
            copy += 1
            same(x, np.float32([1, 2, 3]))
        raises(ValueError, lambda: lx.diff(x, n=-1))


def test_scalars_of_where_keep_their_values():
    for device in DEVICES:
        mask, x = on(np.array([True, False]), device), on(np.float32([1, 2]), device)
        found = np.asarray(lx.where(mask, x, -0.0))
        same(found, np.float32([1, -0.0]))
        assert np.signbit(found[1])
        found = np.asarray(lx.where(mask, complex(-0.0, np.inf), x))
        same(found, np.array([complex(-0.0, np.inf), 2], "complex64"))
        assert np.signbit(found[0].real)
        same(lx.where(mask, x, np.float64(0.1)), np.array([1, 0.1], "float32"))
        same(lx.where(mask, on(np.array([True, True]), device), False), np.array([True, False]))
        raises(OverflowError, lambda: lx.where(mask, on(np.int8([1, 2]), device), 300))
        same(lx.where(mask, on(np.int8([1, 2]), device), 0.5), np.float32([1, 0.5]))


def test_axes_out_of_range_are_errors():
    for device in DEVICES:
        x = on(random(1, (3, 4), "float64"), device)
        for function in (lx.fft.fftn, lx.fft.ifftn, lx.fft.rfftn, lx.fft.irfftn):
            for axes in ((2,), (0, -3), (7,)):
                raises((IndexError, ValueError), lambda: function(x, axes=axes), str(axes[-1]))
        raises(ValueError, lambda: lx.vmap(lambda v: v, out_axes=2)(x), "2")
        raises(ValueError, lambda: lx.vmap(lambda v: v, out_axes=-3)(x), "-3")
        raises(ValueError, lambda: lx.fft.fftn(x, s=(2, 2, 2)))
        same(lx.fft.fftn(x, axes=(np.int64(-1),)), np.fft.fftn(np.asarray(x), axes=(-1,)), 1e-12)
        same(lx.vmap(lambda v: v * 2, out_axes=-1)(x), 2 * np.asarray(x).T)


def test_integers_of_numpy_are_sizes_and_axes():
    n, two = np.int64(3), np.uint8(2)
    for device in DEVICES:
        a = random(2, (2, 3, 4), "float64")
        x = on(a, device)
        assert lx.zeros(n, device=device).shape == (3,) and lx.ones((n, two), device=device).shape == (3, 2)
        same(lx.arange(n, device=device), np.arange(3))
        same(lx.full(n, np.float64(2.5), device=device), np.full(3, 2.5))
        same(lx.full(n, np.float32(2.5), device=device), np.full(3, 2.5, "float32"))
        same(lx.sum(x, axis=two), a.sum(2), 1e-12)
        same(lx.reshape(x, (n, -1)), a.reshape(3, -1))
        same(lx.reshape(x, np.int64(-1)), a.reshape(-1))
        same(lx.roll(x, n, axis=two), np.roll(a, 3, 2))
        same(lx.repeat(x, two, axis=0), a.repeat(2, 0))
        same(lx.tensordot(x, x[0].mT, axes=np.int64(1)), np.tensordot(a, a[0].T, 1), 1e-12)
        same(lx.fft.fftshift(x, axes=np.int64(1)), np.fft.fftshift(a, axes=1))
        same(lx.linalg.vector_norm(x, axis=np.int64(1)), np.linalg.norm(a, axis=1), 1e-12)
        assert lx.random.uniform(lx.random.key(0, device=device), n).shape == (3,)
        same(lx.grad(lambda p: lx.sum(p * p), np.int64(0))(x), 2 * a)
        raises(TypeError, lambda: lx.zeros(2.0, device=device), "float")
        raises(TypeError, lambda: lx.zeros((2, 2.0), device=device))
        raises(TypeError, lambda: lx.reshape(x, (6.0, 4)))
        raises(TypeError, lambda: lx.reshape(x, (6.7, 4)))
        raises(TypeError, lambda: lx.sum(x, axis=1.0))
        raises(TypeError, lambda: lx.roll(x, 1.5, axis=0))


def test_counts_out_of_range_are_value_errors():
    for device in DEVICES:
        x = on(np.arange(6.0).reshape(2, 3), device)
        for repeats in (-1, [1, -1, 2], on(np.array([2, -1, 2]), device)):
            raises(ValueError, lambda: lx.repeat(x, repeats, axis=1), "-1")
        same(lx.repeat(x, [1, 0, 2], axis=-1), np.repeat(np.asarray(x), [1, 0, 2], axis=-1))
        same(lx.repeat(x, on(np.array([2, 1, 0]), device), axis=1), np.repeat(np.asarray(x), [2, 1, 0], axis=1))
        for axes in (-1, 3):
            raises(ValueError, lambda: lx.tensordot(x, x, axes=axes), str(axes))


def test_lists_with_scalars_of_numpy_have_the_dtype_of_numpy():
    lists = [[np.int64(1), np.float32(2.5)], [np.float64(1), 2], [np.int8(1), np.int16(300)], [np.bool_(True), False]]
    lists += [[[np.float32(0.1), 1], [2, np.float32(3)]], (np.complex64(1j), 2.0), [np.uint8([1, 2]), np.int8([3, 4])]]
    for device in DEVICES:
        for values in lists:
            same(lx.asarray(values, device=device), np.asarray(values))
        same(lx.asarray([np.float64(0.1), 1], dtype=lx.float32, device=device), np.float32([0.1, 1]))
        raises(ValueError, lambda: lx.asarray([np.float64(1), [2]], device=device))
        masked = np.ma.masked_array([1.0, 2.0], [True, False])
        for values in (masked, [masked, masked], [1.0, np.ma.masked]):
            raises(TypeError, lambda: lx.asarray(values, device=device), "masked")


def test_exceptions_tell_dtypes_from_values():
    for device in DEVICES:
        b, i, z = on(np.array([True, False]), device), on(np.int8([1, 2]), device), on(np.complex64([1, 2]), device)
        f = on(np.float32([1, 2]), device)
        for function in (operator.add, operator.sub, operator.mul, operator.pow, operator.mod, operator.floordiv):
            raises(TypeError, lambda: function(b, b))
        raises(TypeError, lambda: -b)
        raises(TypeError, lambda: ~f)
        raises(TypeError, lambda: f & f)
        raises(TypeError, lambda: z < z)
        raises(TypeError, lambda: z % z)
        raises(OverflowError, lambda: i + 128, "128")
        raises(OverflowError, lambda: i * -129)
        raises(OverflowError, lambda: lx.full(2, 300, dtype=lx.uint8, device=device))
        raises(ValueError, lambda: f + on(np.ones(3, "float32"), device))
        for other in ([1, 2], (1, 2)):
            raises(TypeError, lambda: f == other)
            raises(TypeError, lambda: f != other)
        assert (f == None) is False and (f != "text") is True  # noqa: E711


def test_complex_numbers_are_rounded_by_their_parts():
    a = np.array([1.5 - 2.5j, 0.4 + 3.6j, -0.5 + 0.5j], "complex128")
    for device in DEVICES:
        for dtype in ("complex64", "complex128"):
            same(lx.round(on(a.astype(dtype), device)), np.round(a).astype(dtype))


def test_texts_of_floats_give_the_values_back():
    for dtype in ("float32", "float64", "complex64", "complex128"):
        a = np.concatenate([random(3, (50,), dtype), np.array([0.1, 1 / 3, 1e30, 2], dtype)])
        text = repr(lx.asarray(a, device="cpu")).split("Array(")[1].split(", dtype")[0]
        same(np.array(eval(text), dtype), a)
    assert repr(lx.asarray(np.float64(0.1), device="cpu")).startswith("Array(0.1,")


def test_dlpack_copies_only_where_it_may():
    a = np.arange(6.0).reshape(2, 3)
    x = lx.from_dlpack(a, copy=False)
    same(x, a)
    same(lx.from_dlpack(a, copy=True), a)
    raises((BufferError, ValueError), lambda: lx.from_dlpack(a.T, copy=False), "row-major")
    raises((BufferError, ValueError), lambda: lx.from_dlpack(a, device="xla:0", copy=False), "cpu")
    shifted = np.frombuffer(b"\0" * 20, "uint8")[1:17].view("float64")
    raises((BufferError, ValueError), lambda: lx.from_dlpack(Writable(shifted), copy=False), "aligned")
    for device in DEVICES:
        y = on(a, device)
        view = np.from_dlpack(y, copy=True)
        same(view, a)
        view += 1
        same(y, a)
        assert not np.from_dlpack(y).flags.writeable
        assert "dltensor_versioned" in repr(y.__dlpack__(max_version=(1, 0), copy=True))
        capsule = y.__dlpack__(max_version=(1, 0), copy=True)
        del y
        same(lx._core.from_capsule(capsule, lx.device("cpu"), False, False), a)
        assert "used_dltensor_versioned" in repr(capsule)
        raises(TypeError, lambda: lx._core.from_capsule(capsule, lx.device("cpu"), False, False))


class Writable:
    """Exports memory as NumPy does where it is writable."""

    def __init__(self, array):
        self.array = np.lib.stride_tricks.as_strided(array, writeable=False)

    def __dlpack__(self, **options):
        return self.array.__dlpack__(max_version=(1, 0))


def test_linspace_takes_numbers_whose_distance_is_no_number():
    for device in DEVICES:
        for dtype, tolerance in (("float32", 3e-7), ("float64", 1e-15)):
            most = float(np.finfo(dtype).max)
            for start, stop, options in ((-most, most, {}), (most, -most, {"endpoint": False})):
                found = np.asarray(lx.linspace(start, stop, 7, dtype=getattr(lx, dtype), device=device, **options))
                wanted = np.linspace(start / most, stop / most, 7, **options)
                np.testing.assert_allclose(found / found.dtype.type(most), wanted, rtol=tolerance, atol=tolerance)
                assert found.dtype == dtype and found[0] == start
