"""Values that operations read: masks, numbers of elements, in functions that are traced and outside of them."""

import numpy as np
from common import DEVICES, on, raises, same

import lazyxla as lx


def test_masks_from_outside_are_read_in_jitted_functions():
    a, flags = np.float32([1, 2, 3]), np.array([True, False, True])
    for device in DEVICES:
        x, mask, one = on(a, device), on(flags, device), on(np.array(True), device)
        functions = [
            (lambda v: v[mask], a[flags]),
            (lambda v: v * lx.sum(lx.nonzero(mask)[0]).astype(lx.float32), a * 2),
            (lambda v: v * lx.unique_values(mask).shape[0], a * 2),
            (lambda v: v[one], a[None]),
        ]
        for function, wanted in functions:
            jitted = lx.jit(function)
            same(jitted(x), wanted)
            same(jitted(x), wanted)
            assert jitted.kinds == 0 and jitted.traces == 2
            same(lx.grad(lambda v: lx.sum(jitted(v)))(x), np.asarray(lx.grad(lambda v: lx.sum(function(v)))(x)))
        jitted = lx.jit(lambda v: v[mask])
        same(jitted(x), a[flags])
        mask[1] = True
        same(jitted(x), a)
        # An operation of an array from outside has no value in the trace.
        for function in (lambda v: v * float(x[0] * 2), lambda v: v[x > 1], lambda v: v if mask[0] else v):
            raises(RuntimeError, lambda: lx.jit(function)(x), "traced", "computed from arrays from outside")


def test_arrays_that_a_traced_function_stored_say_so():
    class Norm:
        def __init__(self, device):
            self.mean = lx.zeros((), device=device)

        def __call__(self, v):
            self.mean = self.mean * 0.9 + lx.mean(v) * 0.1
            return v - self.mean

    for device in DEVICES:
        for transformed in (lx.grad, lambda f: lx.grad(lx.jit(f)), lambda f: lx.vmap(lx.grad(f))):
            norm = Norm(device)
            x = on(np.float32([[1.0, 2.0]]), device)
            gradient = transformed(lambda v: lx.sum(norm(v) ** 2))
            gradient(x)
            raises(RuntimeError, norm.mean.item, "trace has ended", "auxiliary result")
            raises(RuntimeError, lambda: gradient(x).tolist(), "trace has ended")
            # Within another trace, too.
            raises(RuntimeError, lambda: lx.jit(lambda v: v * float(norm.mean))(x), "trace has ended")
        raises(RuntimeError, lambda: lx.jit(lambda v: v * float(lx.sum(v)))(x), "reads the value")


def test_numbers_that_were_read_or_computed_compile_once():
    x = on(np.float32([1.5, 2.5, 4.0]), "xla:0")
    operations = [
        (lambda v, r: v * r),
        (lambda v, r: r - v),
        (lambda v, r: v / r),
        (lambda v, r: v // r),
        (lambda v, r: v**2 + r * v),
    ]
    for i, operation in enumerate(operations):
        before = lx.counter("UncachedCompile")
        for n in range(5):
            rate = float(np.float32(0.1) * 0.9**n) + 0.01 * i
            found = np.asarray(operation(x, rate))
            np.testing.assert_allclose(found, operation(np.float32([1.5, 2.5, 4.0]), np.float32(rate)), rtol=1e-6)
        assert lx.counter("UncachedCompile") - before == 1
    # A number that somebody wrote is a constant until it changes.
    before = lx.counter("UncachedCompile")
    for rate in (0.125, 1e-3, 0.3141592653589793, 3.0, 0.1 + 0.2):
        same(lx.maximum(x, x) - rate, np.float32([1.5, 2.5, 4.0]) - np.float32(rate))
    assert lx.counter("UncachedCompile") - before == 2


def test_operations_that_nobody_reads_are_stepped_when_there_are_many():
    x = on(np.float32([1, 2]), "xla:0")
    y, before = x, lx.counter("ExecuteComputation")
    for _ in range(9000):
        y = y + 1
    assert lx.counter("ExecuteComputation") - before >= 2
    same(y, np.float32([9001, 9002]))


def test_parts_of_complex_numbers_are_assigned_as_they_are():
    for device in DEVICES:
        z = lx.asarray([1 + 2j, complex(np.inf, -0.0)], dtype="complex128", device=device)
        wanted = np.array([1 + 2j, complex(np.inf, -0.0)])
        for name, value in (("real", [0.1, -0.0]), ("imag", np.array([np.inf, 2])), ("real", 3), ("imag", -0.0)):
            setattr(z, name, value)
            setattr(wanted, name, value)
            assert np.asarray(z).tobytes() == wanted.tobytes()
        for value in (1j, [1j, 2], np.array([1j, 2]), z):
            for name in ("real", "imag"):
                raises(TypeError, lambda name=name, value=value: setattr(z, name, value), name, "real numbers")


def test_imaginary_parts_of_real_numbers_are_zeros():
    for device in DEVICES:
        for dtype in ("float32", "float64", "int8", "uint64"):
            same(lx.imag(on(np.array([1, 2], dtype), device)), np.zeros(2, dtype))
            same(lx.real(on(np.array([1, 2], dtype), device)), np.array([1, 2], dtype))
        same(lx.imag(on(np.complex64([1 + 2j]), device)), np.float32([2]))
        raises(TypeError, lambda: lx.imag(on(np.array([True]), device)), "bool")


def test_an_array_of_an_ended_trace_says_so():
    for device in DEVICES:
        x, kept = lx.asarray([1.0, 2.0], device=device), []
        pending = x + 1

        def function(v):
            kept[:] = [v, v * 2, lx.sin(v * 2 + pending) * pending, x]
            lx.grad(lambda w: lx.sum(w * v))(x)
            assert all("ended" not in repr(each) for each in kept)
            return lx.sum(v * v)

        for transformed in (lx.grad(function), lx.jit(function)):
            result = transformed(x)
            texts = [repr(each) for each in kept[:3]]
            assert all(text.endswith(", of a trace that has ended)") and "shape=(2,)" in text for text in texts), texts
            assert not any("ended" in repr(each) for each in (kept[3], pending, result, result * 2))
