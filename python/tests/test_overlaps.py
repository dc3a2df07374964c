"""Writes to parts of arrays from other parts of the same arrays, seen by other shapes."""

import numpy as np
from common import DEVICES, on, same

import lazyxla as lx

BASE = np.arange(15.0, dtype=np.float32).reshape(3, 5)


def test_a_part_written_from_elements_that_it_overlaps():
    def written(x):
        return x.reshape(5, 3).at[1].set(x[0][2:5] * 2)

    want = BASE.reshape(5, 3).copy()
    want[1] = BASE[0, 2:5] * 2
    for device in DEVICES:
        x = on(BASE, device)
        same(written(x), want, 0)
        same(lx.jit(written)(x), want, 0)


def test_a_function_of_one_array_in_two_shapes():
    written = lx.jit(lambda y, x: y.at[1].set(x[0][2:5] * 2))
    want = BASE.reshape(5, 3).copy()
    want[1] = BASE[0, 2:5] * 2
    for device in DEVICES:
        x = on(BASE, device)
        y = x.reshape(5, 3)
        same(written(y, x), want, 0)
        y = x.reshape(5, 3)
        same(lx.jit(lambda: y.at[1].set(x[0][2:5] * 2))(), want, 0)


def test_large_parts_of_many_dtypes():
    for dtype in ("bool", "uint8", "float16", "int64", "complex128"):
        base = (np.arange(240000) % 5).astype(dtype).reshape(3, 80000)
        want = base.reshape(6, 40000).copy()
        want[1] = base[0, 39999:79999]
        for device in DEVICES:
            x = on(base, device)
            same(x.reshape(6, 40000).at[1].set(x[0][39999:79999]), want, 0)


def test_a_part_written_twice():
    def written(x):
        y = x.reshape(5, 3)
        y = y.at[1].set(y[1] + x[0][1:4])
        return y.at[1].set(y[1]), y.at[2].set(y[1])

    once = BASE.reshape(5, 3).copy()
    once[1] += BASE[0, 1:4]
    again = once.copy()
    again[2] = once[1]
    for device in DEVICES:
        for got, want in zip(lx.jit(written)(on(BASE, device)), (once, again)):
            same(got, want, 0)


def forms(module, x):
    """Returns the elements of an array in shapes of 24 elements, once with its axes turned."""
    shapes = [(24,), (4, 6), (6, 4), (2, 3, 4), (8, 3), (3, 8)]
    return [module.reshape(x, shape) for shape in shapes] + [module.reshape(x, (4, 6)).T]


def written_at_random(module, start, random, write):
    """Returns an array after some writes of parts of it to other parts, in random shapes."""
    x = start
    for _ in range(random.integers(1, 5)):
        shapes = forms(module, x)
        y = shapes[random.integers(len(shapes))]
        source = shapes[random.integers(len(shapes))]
        count = int(random.integers(1, min(y.shape[-1], source.shape[-1]) + 1))
        row = tuple(int(random.integers(size)) for size in y.shape[:-1])
        other = tuple(int(random.integers(size)) for size in source.shape[:-1])
        at = int(random.integers(y.shape[-1] - count + 1))
        begin = int(random.integers(source.shape[-1] - count + 1))
        part = source[(*other, slice(begin, begin + count))] + int(random.integers(3))
        y = write(y, (*row, slice(at, at + count)), part)
        x = y if random.integers(2) else module.reshape(y, (4, 6))
    return module.reshape(x, (24,))


def test_writes_at_random_are_those_of_numpy():
    def put(array, at, part):
        made = array.copy()
        made[at] = part
        return made

    for dtype in (np.float32, np.int32, np.complex64):
        start = np.arange(24).astype(dtype)
        seeds = range(20)
        run = lambda module, x, write: [
            written_at_random(module, x, np.random.default_rng(seed), write) for seed in seeds
        ]
        wants = run(np, start, put)
        for device in DEVICES:
            got = run(lx, on(start, device), lambda y, at, part: y.at[at].set(part))
            for value, want in zip(got, wants):
                same(value, want, 0)
