"""Functions that are told when a value is there, and that free memory when a device lacks it."""

import gc
import sys
import threading

import numpy as np
from common import DEVICES, on, raises

import lazyxla as lx


class Told:
    """A callback that keeps what it was called with."""

    def __init__(self):
        self.calls, self.came = [], threading.Semaphore(0)

    def __call__(self, error):
        self.calls.append((error, threading.get_ident()))
        self.came.release()

    def wait(self):
        assert self.came.acquire(timeout=30)
        return self.calls[-1]


def test_values_are_told_once_on_another_thread():
    for device in DEVICES:
        for size in (0, 3, 40000):
            x = on(np.ones(size, np.float32), device)
            pending = x + 1
            for array in (x, pending, pending):
                told = Told()
                lx.on_ready(array, told)
                assert told.wait() == (None, told.calls[0][1]) and told.calls[0][1] != threading.get_ident()
            del x, pending, array
            last = Told()
            lx.on_ready(lx.ones(1, device=device), last)
            last.wait()
            assert len(told.calls) == 1


def test_a_callback_may_compute_and_release():
    told = Told()
    values = []

    def read(error):
        assert error is None
        values.append(float(arrays.pop()) * 2)
        lx.on_ready(lx.ones(2) * 3, told)

    arrays = [lx.sum(lx.ones(5))]
    lx.on_ready(arrays[0], read)
    assert told.wait()[0] is None and values == [10.0]


def test_what_a_callback_raises_is_reported_and_changes_nothing():
    seen, before = [], sys.unraisablehook
    sys.unraisablehook = lambda report: seen.append(str(report.exc_value))
    try:

        def fail(error):
            raise ValueError("not now")

        told = Told()
        lx.on_ready(lx.ones(2), fail)
        lx.on_ready(lx.ones(2), told)
        told.wait()
        assert seen == ["not now"]
    finally:
        sys.unraisablehook = before


def test_a_value_that_is_needed_in_a_trace_is_refused():
    told = Told()
    raises(RuntimeError, lambda: lx.jit(lambda x: lx.on_ready(x, told) or x)(lx.ones(2)), "traced")
    raises(TypeError, lambda: lx.on_ready(3.0, told), "x is an array")
    raises(TypeError, lambda: lx.on_ready(lx.ones(2), 3), "on_ready(): callback is a function, not an int")
    raises(TypeError, lambda: lx.set_memory_callback(3), "set_memory_callback(): callback is a function")
    assert not told.calls


def test_memory_that_only_the_collector_frees():
    """Arrays on cpu in reference cycles, with a limit of the address space."""
    resource = __import__("resource")
    size = 4 << 20

    class Cycle:
        def __init__(self, x):
            self.x, self.me = x, self

    asked = []

    def collect(wanted):
        asked.append(wanted)
        return gc.collect() > 0

    x = lx.zeros(size, device="cpu")
    with open("/proc/self/statm") as file:
        pages = int(file.read().split()[0])
    before = resource.getrlimit(resource.RLIMIT_AS)
    lx.set_memory_callback(collect)
    gc.disable()
    try:
        resource.setrlimit(resource.RLIMIT_AS, (pages * 4096 + 12 * 4 * size, before[1]))
        for _ in range(60):
            x = x + 1
            Cycle(x)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
        gc.enable()
        lx.set_memory_callback(None)
    assert len(asked) >= 3 and set(asked) == {4 * size}
    assert float(x[0]) == 60 and float(x[-1]) == 60
