"""The array type: operators, promotion, scalars, indexing, conversions; against NumPy, on both devices."""

import copy
import operator
import pickle

import numpy as np
from common import COMPLEX, DEVICES, FLOATS, INTEGERS, in_one_step, on, raises, random, same

import lazyxla as lx


@in_one_step
def test_operators_are_those_of_numpy_for_every_dtype():
    arithmetic = (operator.add, operator.sub, operator.mul)
    compare = (operator.lt, operator.le, operator.gt, operator.ge)
    for device in DEVICES:
        for dtype in (*INTEGERS, *FLOATS, *COMPLEX):
            a, b = random(1, (3, 4), dtype), random(2, (4,), dtype)
            x, y = on(a, device), on(b, device)
            functions = arithmetic + (operator.eq, operator.ne)
            functions += compare if dtype not in COMPLEX else ()
            tolerance = 1e-6 if dtype in FLOATS + COMPLEX else 0
            for function in functions:
                same(function(x, y), function(a, b), tolerance)
            same(-x if dtype[0] != "u" else x, -a if dtype[0] != "u" else a)
            same(abs(x), abs(a), tolerance)
            if dtype in INTEGERS:
                shift = np.abs(b) % 7
                for function in (operator.and_, operator.or_, operator.xor):
                    same(function(x, y), function(a, b))
                for function in (operator.lshift, operator.rshift):
                    same(function(x, on(shift, device)), function(a, shift))
                same(~x, ~a)
            else:
                same(x / y, a / b, 1e-6)


@in_one_step
def test_division_and_remainder_round_as_in_python():
    for device in DEVICES:
        for dtype in ("int32", "int64", "float32", "float64"):
            a, b = np.array([7, -7, 7, -7, 6], dtype), np.array([2, 2, -2, -2, 3], dtype)
            x, y = on(a, device), on(b, device)
            same(x // y, a // b)
            same(x % y, a % b)
            same(x // 2, a // 2)
            same(7 % y, 7 % b)


@in_one_step
def test_scalars_take_the_dtype_of_the_array():
    for device in DEVICES:
        for dtype in (*INTEGERS, *FLOATS, *COMPLEX):
            a = random(3, (5,), dtype)
            x = on(a, device)
            for scalar in (2, 3) if dtype in INTEGERS else (2, 0.5):
                same(x + scalar, a + scalar, 1e-6)
                same(scalar - x, (scalar - a).astype(dtype), 1e-6)
                same(x * scalar, a * scalar, 1e-6)
        assert (lx.ones(2, device=device) * 1j).dtype == lx.complex64
        assert (lx.ones(2, dtype=lx.float64, device=device) + 1j).dtype == lx.complex128
        same(on(np.float32([1, -1]), device) * 1e300, np.float32([np.inf, -np.inf]))
        same(on(np.int64([2**62]), device) + (2**62 - 1), np.int64([2**63 - 1]))
        same(on(np.uint64([1]), device) + (2**64 - 2), np.uint64([2**64 - 1]))
        same(on(np.float32([1]), device) + np.float32(2), np.float32([3]))
        same(np.float64(2) * on(np.float64([1]), device), np.float64([2]))


def test_kinds_of_dtypes_mix_as_in_jax():
    for device in DEVICES:
        i, f, b = (on(np.ones(2, dtype), device) for dtype in ("int32", "float32", "bool"))
        u, z = on(np.ones(2, "uint64"), device), on(np.ones(2, "complex64"), device)
        a, wide, whole = np.ones(2, "float32"), np.ones(2), np.ones(2, "int16")
        for found, dtype in (
            (i + f, "float32"), (f * i, "float32"), (i + 0.5, "float32"), (i + 1j, "complex64"), (b + 1, "int64"),
            (b + i, "int32"), (b * f, "float32"), (i / 2, "float32"), (1 / i, "float32"), (i / i, "float32"),
            (f + True, "float32"), (z * i, "complex64"), (f + a, "float32"), (a + f, "float32"), (a - f, "float32"),
            (f * a, "float32"), (a / f, "float32"), (a**f, "float32"), (f * wide, "float64"), (wide * f, "float64"),
            (i + whole, "int32"), (whole / i, "float32"), (i @ f, "float32"), (f @ a, "float32"), (a @ f, "float32"),
        ):  # fmt: skip
            assert found.dtype.name == dtype and found.device == f.device, (found.dtype, dtype)
        same(i + f, np.float32([2, 2]))
        same(f == a, np.array([True, True]))
        # In float32, both would be equal.
        large = on(np.int32([2**24 + 1]), device)
        same(large > on(np.float32([2**24]), device), np.array([True]))
        for function in (lambda: u + i, lambda: f + "text", lambda: f + None, lambda: f @ 2.0):
            raises(TypeError, function)
        raises(ValueError, lambda: f + on(np.ones(3, "float32"), device), "2", "3")
        raises(ValueError, lambda: f + np.ones(3, "float32"), "2", "3")
        with_integers = on(np.ones(2, "int32"), device)
        raises(TypeError, lambda: operator.itruediv(with_integers, 2), "int32")
        raises(TypeError, lambda: operator.iadd(with_integers, 0.5))
        raises(OverflowError, lambda: i + 2**70)
        raises(OverflowError, lambda: on(np.ones(2, "uint8"), device) + 300, "300")


@in_one_step
def test_in_place_operators_change_the_object_and_keep_its_dtype():
    for device in DEVICES:
        a = random(4, (2, 3), "float64")
        x = y = on(a, device)
        kept = x.copy()
        x += 1
        x *= on(a, device)
        x -= 0.5
        x /= 2
        x **= 2
        assert x is y
        same(y, (((a + 1) * a - 0.5) / 2) ** 2, 1e-12)
        same(kept, a)

        def to_complex():
            z = on(a, device)
            z += 1j

        raises(TypeError, to_complex)

        def broadcast():
            z = on(a[0], device)
            z += on(a, device)

        raises(ValueError, broadcast)


@in_one_step
def test_basic_indexing_is_that_of_numpy():
    a = random(5, (4, 5, 6), "int64")
    keys = [0, -1, (1, 2), (1, -2, 3), slice(None), slice(1, 3), slice(None, None, 2), slice(None, None, -1)]
    keys += [(slice(3, 0, -2), 1), (..., 2), (0, ...), (None, 1), (slice(0, 0),), (slice(2, 1), 3), (1, None, 2, None)]
    keys += [
        (slice(-3, None), slice(None, -2), slice(1, 100)),
        ...,
        (),
        None,
        (slice(10, 20),),
        (2, slice(4, None, -3)),
    ]
    for device in DEVICES:
        x = on(a, device)
        for key in keys:
            same(x[key], a[key])
        raises(IndexError, lambda: x[4], "4", "axis 0")
        raises(IndexError, lambda: x[0, 0, 0, 0])
        raises(IndexError, lambda: x[0.5])
        raises(IndexError, lambda: x["a"])
        raises(IndexError, lambda: x[..., ...])
        raises(IndexError, lambda: x[lx.ones(2, device=device)])
        assert len(x) == 4 and [row.shape for row in x] == [(5, 6)] * 4
        raises(TypeError, lambda: len(x[0, 0, 0]))


@in_one_step
def test_arrays_of_indices_and_masks_are_those_of_numpy():
    a = random(6, (4, 5, 6), "float64")
    i, j = np.array([[0, 3], [1, -1]]), np.array([2, 3])
    mask, rows = a > 0.3, np.array([True, False, True, True])
    keys = [
        i,
        (i, j),
        (slice(None), i),
        (i, slice(1, 3)),
        (i, slice(None), j),
        (0, i),
        (i, 2),
        (j, None, j),
        mask,
        rows,
    ]
    keys += [(rows, j[:1]), (slice(None), j, 1), (slice(None, None, -1), j), (..., j), [0, 2], (1, slice(None), j)]
    keys += [np.zeros(4, bool)]
    for device in DEVICES:
        x = on(a, device)
        for key in keys:
            as_arrays = (
                tuple(on(k, device) if isinstance(k, np.ndarray) else k for k in key)
                if isinstance(key, tuple)
                else (on(key, device) if isinstance(key, np.ndarray) else key)
            )
            same(x[as_arrays], a[key])
            same(x[key], a[key])
        raises(IndexError, lambda: x[on(np.ones((3, 5), bool), device)], "mask")
        for flag in (True, False):
            same(x[on(np.bool_(flag), device)], a[np.bool_(flag)])
            for part in (a[np.bool_(flag)], a[None][:, :1, :1], np.zeros((1, 1)), 7.0):
                wanted, changed = a.copy(), x.copy()
                if np.shape(part)[:1] != (0,):
                    wanted[np.bool_(flag)] = part
                changed[on(np.bool_(flag), device)] = part
                same(changed, wanted)
            number = lx.zeros((), device=device)
            number[on(np.bool_(flag), device)] = number[on(np.bool_(flag), device)] + 2
            assert float(number) == 2 * flag
        raises(ValueError, lambda: x.copy().__setitem__(on(np.bool_(True), device), np.zeros((0, 4, 5, 6))))
        raises(ValueError, lambda: x.copy().__setitem__(on(np.bool_(False), device), np.zeros((3, 4, 5, 6))))
        # An axis of size 0 of a mask fits every axis: nothing is chosen.
        for empty in (np.zeros((0, 5), bool), np.zeros((4, 0), bool), np.zeros(0, bool)):
            same(x[on(empty, device)], a[empty])
            changed = x.copy()
            changed[on(empty, device)] = 7.0
            same(changed, a)
        raises(IndexError, lambda: x[on(np.ones((0, 4), bool), device)], "mask")


@in_one_step
def test_assignment_is_that_of_numpy():
    i, j = np.array([[0, 3], [1, -1]]), np.array([2, 4])
    base = random(7, (4, 5, 6), "float32")
    mask, rows = base > 0.3, np.array([True, False, True, True])
    cases = [(0, 1.5), ((1, 2), np.arange(6)), (slice(1, 3), random(8, (2, 5, 6))), (..., 2), ((slice(None), -1), 3)]
    cases += [((slice(None, None, 2), 1), random(8, (2, 6))), (slice(None, None, -1), random(8, (4, 5, 6)))]
    cases += [((slice(3, 0, -2), 0), random(9, (2, 6))), (i, 4), ((i, slice(None), j), random(9, (2, 2, 5)))]
    cases += [
        (mask, 0.5),
        (mask, random(9, (int(mask.sum()),))),
        (rows, random(9, (5, 6))),
        (rows, random(9, (3, 5, 6))),
    ]
    cases += [((rows, 1), 2), ((slice(1, 3), j), random(9, (2, 2, 6))), ((None, 0), 1), (slice(0, 0), 1)]
    cases += [((slice(1, 3), None, j), random(9, (2, 1, 2, 6))), (0, random(9, (1, 5, 6)))]
    for device in DEVICES:
        for key, value in cases:
            wanted, x = base.copy(), on(base, device)
            kept = x.copy()
            wanted[key] = value
            given = value.astype("float32") if isinstance(value, np.ndarray) else value
            x[key] = on(given, device) if isinstance(given, np.ndarray) else given
            same(x, wanted)
            same(kept, base)
        x = on(base, device)

        def assign(key, value):
            x[key] = value

        raises(ValueError, lambda: assign(0, on(np.ones(7, "float32"), device)))
        raises(TypeError, lambda: assign(0, 1j))
        raises(IndexError, lambda: assign(9, 1.0))
        same(x, base)


def test_slices_at_other_positions_are_not_compiled_again():
    x = lx.asarray(np.arange(64, dtype="float32"), device="xla:0")
    lx.wait()
    float(lx.sum(x[0:4]))
    float(lx.sum(x[4:8]))
    before = lx.counter("UncachedCompile")
    for i in range(8, 60):
        assert float(lx.sum(x[i : i + 4])) == 4 * i + 6
    assert lx.counter("UncachedCompile") - before == 0


def test_values_of_one_element_are_scalars():
    for device in DEVICES:
        assert float(on(np.float32(1.5), device)) == 1.5 and int(on(np.float32(-1.5), device)) == -1
        assert int(on(np.uint64(2**64 - 1), device)) == 2**64 - 1 and bool(on(np.int8([1]), device)[0])
        assert complex(on(np.complex64(1 + 2j), device)) == 1 + 2j and complex(on(np.float32(3), device)) == 3
        assert operator.index(on(np.int16(7), device)) == 7 and [10, 20][on(np.int64(1), device)] == 20
        raises(TypeError, lambda: operator.index(on(np.float32(1), device)))
        raises(TypeError, lambda: float(on(np.complex64(1), device)))
        raises(TypeError, lambda: bool(on(np.ones(2), device)), "one element")
        raises(OverflowError, lambda: int(on(np.float32(np.inf), device)))
        raises(TypeError, lambda: hash(on(np.ones(2), device)))


def test_values_come_from_lists_numpy_and_buffers():
    import array

    for device in DEVICES:
        for dtype in ("bool", *INTEGERS, "float16", *FLOATS, *COMPLEX):
            a = random(10, (3, 2), dtype)
            same(on(a, device), a)
            same(on(a.T, device), a.T)
            same(on(a[::-1, 1], device), a[::-1, 1])
            same(on(a.astype(a.dtype.newbyteorder(">")), device), a)
            same(lx.asarray(a.tolist(), dtype=getattr(lx, dtype), device=device), a)
            assert on(a, device).tolist() == a.tolist()
        same(lx.asarray([[1, 2], [3, 4]], device=device), np.array([[1, 2], [3, 4]]))
        same(lx.asarray([1, 2.5], device=device), np.float32([1, 2.5]))
        same(lx.asarray(array.array("d", [1, 2]), device=device), np.float64([1, 2]))
        same(lx.asarray(b"\x01\x02", device=device), np.uint8([1, 2]))
        same(lx.asarray([], device=device), np.float32([]))
        same(lx.asarray([[], []], device=device), np.zeros((2, 0), "float32"))
        same(
            lx.asarray([lx.ones(2, device=device), np.zeros(2, "float32")], device=device), np.float32([[1, 1], [0, 0]])
        )
        for ragged in ([[1], [2, 3]], [1, [2]], [[1], 2], [[], [1]]):
            raises(ValueError, lambda: lx.asarray(ragged, device=device), "ragged")
        raises(TypeError, lambda: lx.asarray(np.array([None, "a"]), device=device))
        raises(TypeError, lambda: lx.asarray([None], device=device))
        raises(TypeError, lambda: lx.asarray({1, 2}, device=device))
        raises(OverflowError, lambda: lx.asarray([300], dtype=lx.uint8, device=device), "300")
        raises(ValueError, lambda: lx.zeros(-1, device=device))
        raises(ValueError, lambda: lx.zeros((2**40, 2**20), device=device), "address space")
        raises(MemoryError, lambda: lx.zeros(2**42, device=device).tolist())


@in_one_step
def test_dlpack_goes_both_ways():
    for device in DEVICES:
        for dtype in ("bool", *INTEGERS, *FLOATS, *COMPLEX):
            a = random(11, (3, 4), dtype)
            same(np.from_dlpack(on(a, device)), a)
            same(lx.from_dlpack(a, device=device), a)
            same(lx.from_dlpack(a.T), a.T)
    x = lx.asarray([1.0, 2.0], device="cpu")
    view = np.from_dlpack(x)
    x += 1
    assert view.tolist() == [1, 2] and x.tolist() == [2, 3]
    raises(BufferError, lambda: x.__dlpack__(stream=1))
    raises(TypeError, lambda: x.__dlpack__(wrong=1))
    capsule = x.__dlpack__(max_version=(1, 0))
    del capsule


def test_arrays_are_pickled_and_copied():
    for device in DEVICES:
        for dtype in ("bool", "int8", "uint64", "float64", "complex64"):
            x = on(random(12, (2, 3), dtype), device)
            for y in (pickle.loads(pickle.dumps(x)), copy.copy(x), copy.deepcopy([x])[0]):
                assert y is not x and y.device == x.device
                same(y, x)
    assert pickle.loads(pickle.dumps(lx.float32)) is lx.float32 and copy.deepcopy(lx.device("cpu")) == lx.device("cpu")


def test_texts_show_values_and_run_nothing():
    assert repr(lx.asarray([[1, 2], [3, 4]], device="cpu")) == (
        "Array([[1, 2],\n       [3, 4]], dtype=int64, device='cpu')"
    )
    assert repr(lx.asarray([1.5, float("nan")], device="cpu")) == "Array([1.5, nan], dtype=float32, device='cpu')"
    assert "..." in repr(lx.arange(2000, device="cpu"))
    x = lx.ones((2, 3), device="xla:0") + 1
    steps = lx.counter("ExecuteComputation")
    assert repr(x) == "Array(shape=(2, 3), dtype=float32, device='xla:0', pending)"
    assert lx.counter("ExecuteComputation") == steps
    lx.step()
    assert "2.0" in repr(x) or "[2, 2, 2]" in repr(x)
    assert f"{lx.asarray(1.25, device='cpu'):.1f}" == "1.2"


def test_devices_are_named_and_chosen():
    x = lx.ones(2, device="cpu")
    assert str(x.device) == "cpu" and x.device == lx.device("cpu") and x.device != lx.device("xla:0")
    same(x.to_device("xla:0"), np.ones(2, "float32"))
    assert lx.ones(2).device == lx.device("xla:0")
    with lx.use_device("cpu"):
        assert lx.ones(2).device == lx.device("cpu")
    assert lx.ones(2).device == lx.device("xla:0")
    raises(ValueError, lambda: lx.device("gpu"))
    raises(ValueError, lambda: lx.ones(2, device="xla:99"))


@in_one_step
def test_values_are_scattered_to_equal_indices():
    rows, columns = np.array([2, 0, 2, 2]), np.array([1, 1, 1, 0])
    functions = {"add": np.add, "multiply": np.multiply, "maximum": np.maximum, "minimum": np.minimum}
    keys = [
        rows,
        (rows, columns),
        (slice(None), columns),
        (..., columns),
        (1, columns),
        (slice(1, 3), columns),
        (None, rows),
    ]
    keys += [1, (slice(None, None, -2),), (slice(1, 3), 0), ..., np.array([True, False, True]), (True, rows)]
    for device in DEVICES:
        # A few keys on the XLA device, which compiles a program for each.
        is_native = device == "cpu"
        for dtype in ("float64", "int32") if is_native else ("float64",):
            a = random(23, (3, 4), dtype)
            x = on(a, device)
            for i, key in enumerate(keys if is_native else keys[1:5]):
                values = random(24 + i, a[key].shape, dtype)
                for how, function in functions.items() if is_native else [("add", np.add)]:
                    wanted = a.copy()
                    function.at(wanted, key, values)
                    parts = key if isinstance(key, tuple) else (key,)
                    given = tuple(on(each, device) if isinstance(each, np.ndarray) else each for each in parts)
                    same(lx.scatter(x, given, on(values, device), how=how), wanted, 1e-13)
            wanted = a.copy()
            np.add.at(wanted, rows, 2)
            same(lx.scatter(x, list(rows), 2), wanted)
            same(x, a)
        # An index out of range is dropped; the gradient of the values is that of the places.
        same(lx.scatter(lx.zeros(3, device=device), on(np.array([1, 7, 1]), device), 1.0), np.float32([0, 2, 0]))
        slopes = lx.grad(lambda v: lx.sum(lx.scatter(x, on(rows, device), v).astype(lx.float64) ** 2))
        v = random(40, (4, 4), "float64")
        x = on(random(41, (3, 4), "float64"), device)
        total = np.asarray(x).copy()
        np.add.at(total, rows, v)
        same(slopes(on(v, device)), 2 * total[rows], 1e-13)
        # A key without arrays takes the same values.
        for values in (np.ones(4), lx.asarray([1, 2, 3, 4], device=device), 2, [1.0, 2.0, 3.0, 4.0]):
            same(lx.scatter(x, slice(0, 2), values), np.asarray(lx.scatter(x, [0, 1], values)), 1e-13)
        raises(ValueError, lambda: lx.scatter(x, 0, 1.0, how="sum"), "add, multiply")
        raises(ValueError, lambda: lx.scatter(x, rows, np.ones(3)))
        raises(IndexError, lambda: lx.scatter(x, [3], 1.0))


def test_result_types_of_scalars_do_not_depend_on_their_order():
    for first, wanted in ((lx.bool, "float32"), (lx.int8, "float32"), (lx.float64, "float64"), (lx.float16, "float16")):
        for scalars in ((1.5,), (True, 1, 1.5), (1.5, 1, True)):
            assert lx.result_type(first, *scalars).name == lx.result_type(*scalars, first).name == wanted
    assert lx.result_type(lx.bool, 1).name == "int64" and lx.result_type(lx.bool, 1.5, 1j).name == "complex64"
    assert (lx.asarray(True, device="cpu") + 1.5).dtype == lx.result_type(lx.bool, 1.5)
