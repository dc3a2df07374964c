"""Indices that are known on the host, their bounds, and where the axes of index arrays stand; against NumPy."""

import numpy as np
from common import DEVICES, INTEGERS, in_one_step, on, raises, random, same

import lazyxla as lx


def assign(x, key, value):
    x[key] = value


@in_one_step
def test_integers_of_numpy_are_integers():
    a = random(1, (4, 5), "float64")
    for device in DEVICES:
        x = on(a, device)
        for dtype in INTEGERS:
            i = np.dtype(dtype).type(3)
            same(x[i], a[i])
            same(x[1, i], a[1, i])
            same(x[np.array(i)], a[np.array(i)])
            same(x[i, [0, 1]], a[i, [0, 1]])
            wanted, written = a.copy(), x.copy()
            wanted[i, np.int64(-1)] = 7
            written[i, np.int64(-1)] = 7
            same(written, wanted)


def test_indices_known_on_the_host_are_checked_by_reads_and_writes():
    a = random(2, (4, 5), "float32")
    keys = [np.int64(4), np.int8(-5), np.array(4), [0, 4], [-5], np.array([[0], [4]]), np.uint8([200]), 4]
    keys += [(slice(None), [5]), (slice(None), np.array([-6])), ([0, 1], [0, 5]), (0, np.int32(5)), 2**70]
    keys += [np.array([2**63], "uint64"), (np.array([True, False, True, True]), [9])]
    for device in DEVICES:
        x = on(a, device)
        before = lx.counter("ExecuteComputation")
        for key in keys:
            raises(IndexError, lambda: x[key])
            raises(IndexError, lambda: assign(x, key, 1.0))
        assert lx.counter("ExecuteComputation") == before
        same(x, a)
        same(x[[-4, 3]], a[[-4, 3]])
        same(x[[]], a[[]])
        same(x[np.zeros((2, 0), int)], a[np.zeros((2, 0), int)])
        # The values of arrays of this package are not read.
        same(x[on([9, -9], device)], a[[3, 0]])
        x[on([9, 1], device)] = 0.0
        wanted = a.copy()
        wanted[1] = 0
        same(x, wanted)


@in_one_step
def test_index_arrays_may_have_any_byte_order():
    a = random(3, (300, 3), "float64")
    for device in DEVICES:
        x = on(a, device)
        for order in "<>":
            i = np.array([1, 2, 256]).astype(order + "i4")
            same(x[i], a[i])
            same(x[i[1]], a[2])
            same(x[list(i[:2]), i[:2]], a[i[:2], i[:2]])
            value = a.astype(order + "f8")
            same(on(value, device), a)
            same(lx.asarray([value[0], value[1]], device=device), a[:2])
            same(x[0] * value[0, 0], a[0] * a[0, 0])
            wanted, written = a.copy(), x.copy()
            wanted[i] = value[:3]
            written[i] = value[:3]
            same(written, wanted)


@in_one_step
def test_an_ellipsis_of_no_axes_separates_index_arrays():
    i, j = np.array([0, 1, 1]), np.array([2, 0, 1])
    mask = np.array([True, False, True, True])
    cases = [
        ((4, 5, 6), (slice(None), i, ..., j)),
        ((4, 5, 6), (slice(1, 3), 2, ..., j)),
        ((4, 5, 6), (slice(None), j, ..., 1)),
        ((4, 5, 6), (None, i, ..., j, slice(0, 4))),
        ((4, 5, 6), (None, slice(None), i, ..., j)),
        ((4, 5, 6, 2), (slice(None), i, ..., j, slice(None, None, -1))),
        ((5, 4, 6), (slice(None), mask, ..., j)),
        ((4, 5, 6), (slice(None), i, ..., i, None)),
        ((4, 5, 6), (slice(None), i, None, ..., j)),
        ((4, 5, 6), (slice(None), i, j, ...)),
        ((4, 5, 6, 7), (slice(None), i, ..., j)),
    ]
    for device in DEVICES:
        for shape, key in cases:
            a = random(4, shape, "float64")
            x = on(a, device)
            same(x[key], a[key])
            for value in (1.5, np.zeros(a[key].shape), np.ones(a[key].shape[1:])):
                wanted, written = a.copy(), x.copy()
                # Equal indices get equal values: their order is not defined.
                wanted[key] = value
                written[key] = value
                same(written, wanted)
        a, k = random(7, (4, 5, 6), "float64"), (slice(None), np.array([0, 1, 3]), ..., j)
        value = random(8, a[k].shape, "float64")
        x = on(a, device)
        x[k] = value
        a[k] = value
        same(x, a)


@in_one_step
def test_values_lose_leading_axes_of_size_1():
    a = random(9, (4, 5), "float64")
    mask, rows = a > 0, np.array([True, False, True, True])
    cases = [(rows, (1, 1, 5)), (rows, (1, 3, 5)), ([0, 2], (1, 2, 5)), ([0, 2], (1, 1, 1, 5))]
    cases += [(mask, (1,)), (mask, (int(mask.sum()),)), (([0, 1], [1, 2]), (1, 1, 2))]
    for device in DEVICES:
        for key, shape in cases:
            value = random(10, shape, "float64")
            for given in (key, on(key, device) if isinstance(key, np.ndarray) else key):
                wanted, x = a.copy(), on(a, device)
                wanted[key] = value
                x[given] = value
                same(x, wanted)
        raises(ValueError, lambda: assign(on(a, device), [0, 2], np.ones((2, 2, 5))))
        raises(ValueError, lambda: assign(on(a, device), on(mask, device), np.ones((2, 1))))


@in_one_step
def test_bools_are_masks_of_rank_0():
    i = np.array([1, 0, 3])
    a = random(11, (4, 5), "float64")
    flags = [True, False, np.True_, np.False_, np.array(True), np.array(False)]
    keys = list(flags)
    keys += [(flag, place) for flag in flags[:2] + flags[4:] for place in (0, slice(1, 3), None, ..., [2])]
    keys += [(0, flag) for flag in flags[:3]] + [(..., flag) for flag in flags[:3]]
    keys += [(slice(None), True, slice(1, None)), (slice(None), np.False_, 2), (i, True), (True, i, i), (True, True, 1)]
    keys += [
        (True, np.array([True, False, True, True])),
        (slice(None), True, i),
        (None, True, slice(2), i),
        (True, ..., i),
    ]
    for device in DEVICES:
        x = on(a, device)
        # A few keys on the XLA device, which compiles a program for each.
        for key in keys if device == "cpu" else keys[1:3] + keys[-7::2]:
            parts = key if isinstance(key, tuple) else (key,)
            ours = tuple(on(each, device) if isinstance(each, np.ndarray) else each for each in parts)
            for given in (key, ours if isinstance(key, tuple) else ours[0]):
                same(x[given], a[key])
                values = random(12, a[key].shape, "float64")
                for value in (1.5, values, values[..., :1] if values.ndim and values.shape[-1] else 2.0):
                    wanted, written = a.copy(), x.copy()
                    wanted[key] = value
                    written[given] = value
                    same(written, wanted)
        scalar = on(np.float64(2), device)
        same(scalar[True], np.array([2.0]))
        same(scalar[np.False_], np.zeros(0))
        scalar[np.bool_(True)] = 3
        same(scalar, np.float64(3))
        scalar[False] = 4
        same(scalar, np.float64(3))
        raises(ValueError, lambda: assign(x.copy(), np.True_, np.ones(4)))
        raises(ValueError, lambda: x[False, [0, 1]])
        raises(IndexError, lambda: x[True, 0, 0, 0])
        # A bool that is not a constant selects, which reads nothing.
        put = lx.jit(lambda x, flag: assigned(x, flag, 7.0))
        same(put(x, on(np.True_, device)), np.full_like(a, 7))
        same(put(x, on(np.False_, device)), a)
        raises(RuntimeError, lambda: lx.jit(lambda x, flag: x[flag])(x, on(np.True_, device)))


def assigned(x, key, value):
    x = x.copy()
    x[key] = value
    return x
