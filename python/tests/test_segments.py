"""Reductions of segments, and rolls by shifts that are arrays, against NumPy on both devices."""

import numpy as np
from common import DEVICES, on, raises, random, same

import lazyxla as lx

KINDS = (("segment_sum", np.add, 0), ("segment_prod", np.multiply, 1), ("segment_max", np.maximum, None))
KINDS += (("segment_min", np.minimum, None),)


def test_segments_of_all_sizes():
    for device in DEVICES:
        for dtype in ("float32", "float64", "int32", "uint8"):
            for shape, count in (((0,), 3), ((7,), 3), ((5, 2), 4), ((40000,), 100)):
                data = random(sum(shape), shape, dtype)
                ids = np.random.default_rng(1).integers(-1, count + 1, shape[0])
                for name, of, start in KINDS:
                    limits = np.finfo(dtype) if dtype.startswith("float") else np.iinfo(dtype)
                    lowest, highest = (-np.inf, np.inf) if dtype.startswith("float") else (limits.min, limits.max)
                    first = start if start is not None else lowest if name == "segment_max" else highest
                    wanted = np.full((count, *shape[1:]), first, dtype)
                    inside = (ids >= 0) & (ids < count)
                    with np.errstate(all="ignore"):
                        of.at(wanted, ids[inside], data[inside])
                    got = getattr(lx, name)(on(data, device), on(ids, device), count)
                    same(got, wanted, 1e-4 if dtype == "float32" else 1e-12)


def test_segments_whose_number_is_read_and_bad_ids():
    for device in DEVICES:
        data, ids = on(np.float32([1, np.nan, 3]), device), on(np.array([0, 2, 0]), device)
        same(lx.segment_sum(data, ids), np.float32([4, 0, np.nan]))
        same(lx.segment_max(data, ids), np.float32([3, -np.inf, np.nan]))
        same(lx.segment_sum(data[:0], ids[:0]), np.zeros(0, np.float32))
        slope = lx.grad(lambda x: lx.sum(lx.segment_sum(x, ids, 3) ** 2))(on(np.float32([1, 2, 3]), device))
        same(slope, np.float32([8, 4, 8]))
        raises(TypeError, lambda: lx.segment_sum(data, data, 3), "segment_ids is an array of integers")  # noqa: B023
        raises(ValueError, lambda: lx.segment_sum(data, ids[:2], 3), "not one for each slice")  # noqa: B023
        raises(ValueError, lambda: lx.segment_sum(data, ids, -1), "num_segments is at least 0")  # noqa: B023


def test_rolls_by_arrays():
    for device in DEVICES:
        for shape in ((5,), (3, 4), (0, 2), (40000,)):
            x = random(2, shape)
            for shift in (0, 1, -2, 1000):
                same(lx.roll(on(x, device), on(np.array(shift), device)), np.roll(x, shift))
                same(lx.roll(on(x, device), on(np.int32(shift), device), 0), np.roll(x, shift, 0))
        x = random(3, (3, 4))
        same(lx.roll(on(x, device), (on(np.array(1), device), -2), (0, 1)), np.roll(x, (1, -2), (0, 1)))
        raises(TypeError, lambda: lx.roll(lx.arange(3), lx.ones(2)), "a shift is an integer")
    before = lx.counter("UncachedCompile")
    for i in range(10):
        same(lx.roll(on(x, "xla"), on(np.array(i), "xla"), 1), np.roll(x, i, 1))
    assert lx.counter("UncachedCompile") - before <= 2
    rolled, _ = lx.scan(lambda x, i: (lx.roll(x, i), None), lx.arange(5), lx.arange(3))
    assert rolled.tolist() == [2, 3, 4, 0, 1]
