"""Functions that are traced and close over arrays: what they compute from these belongs to them, as in JAX."""

import threading

import numpy as np
from common import DEVICES, on, raises, random, same

import lazyxla as lx
from lazyxla import _core


def test_gradients_of_branches_without_operands_are_those_of_the_branch_that_is_taken():
    for device in DEVICES:

        def f(x):
            return lx.cond(x > 0, lambda: lx.log(x), lambda: 0 * x)

        def g(x):
            return lx.switch((x > 0).astype(lx.int32), [lambda: 3 * x, lambda: lx.sqrt(x)])

        for x, slopes in ((0.0, (0, 3)), (4.0, (0.25, 0.25)), (-1.0, (0, 3))):
            for function, slope in zip((f, g), slopes, strict=True):
                for derivative in (lx.grad(function), lx.jit(lx.grad(function)), lx.grad(lx.jit(function))):
                    same(derivative(on(np.float32(x), device)), np.float32(slope))


def test_work_of_a_branch_is_in_the_branch():
    m = on(random(1, (3, 3)), "xla:0")
    for call in (
        lambda p: lx.cond(p, lambda: lx.sum(lx.tanh(m @ m)), lambda: lx.sum(m)),
        lambda p: lx.switch(p.astype(lx.int32), [lambda: lx.sum(m), lambda: lx.sum(lx.tanh(m @ m))]),
    ):
        for flag, wanted in ((True, np.tanh(np.asarray(m) @ np.asarray(m)).sum()), (False, np.asarray(m).sum())):
            for made in (call, lx.jit(call)):
                y = made(on(np.array(flag), "xla:0"))
                text = _core.stablehlo([y])
                main = text[text.index("@main") :]
                assert "stablehlo.tanh" in text and ("stablehlo.case" in text or "stablehlo.if" in text)
                # The branch is a function of its own, or a region of the conditional operation.
                before = main[
                    : min(at for at in map(main.find, ("stablehlo.case", "stablehlo.if", "call @")) if at >= 0)
                ]
                assert "stablehlo.tanh" not in before and "dot_general" not in before, text
                same(y, np.float32(wanted), 1e-5)


def test_bodies_of_loops_close_over_arrays():
    for device in DEVICES:
        w, xs = on(random(2, (3,)), device), on(random(3, (4, 3)), device)
        a, b = np.asarray(w), np.asarray(xs)

        def body(carry, x):
            return carry + lx.sum(x * lx.tanh(w)), lx.cond(carry > 0, lambda: lx.sum(w), lambda: -carry)

        for run in (
            lambda: lx.scan(body, on(np.float32(0), device), xs),
            lx.jit(lambda: lx.scan(body, xs[0, 0] * 0, xs)),
        ):
            total, ys = run()
            carry, wanted = np.float32(0), []
            for x in b:
                wanted.append(a.sum() if carry > 0 else -carry)
                carry = carry + (x * np.tanh(a)).sum()
            same(total, carry, 1e-5)
            same(ys, np.float32(wanted), 1e-5)
        same(
            lx.while_loop(lambda v: v < lx.sum(w * w) + 10, lambda v: v + lx.abs(w[0]) + 1, on(np.float32(0), device))
            > 10,
            True,
        )


def test_constants_and_values_of_the_host_in_traced_functions():
    for device in DEVICES:
        with lx.use_device(device):
            w, table = lx.asarray(np.float32([1, 2, 3])), np.float32([10, 20, 30])

            def f(x):
                return lx.cond(
                    lx.sum(x) > 0,
                    lambda: lx.sum(x * lx.ones(3) * 2),
                    lambda: lx.sum(lx.asarray(table) * w + lx.arange(3, dtype=lx.float32)),
                )

            for function in (f, lx.jit(f)):
                same(function(w), np.float32(12))
                same(function(-w), np.float32(140 + 3), 1e-6)
                same(lx.grad(function)(w), np.float32([2, 2, 2]))
            # A value that is read is fixed: it is read outside of the trace.
            same(lx.grad(lambda x: lx.sum(x) * float(w[1]))(w), np.float32([2, 2, 2]))


def test_closures_in_closures():
    for device in DEVICES:
        w = on(np.float32([1, 2]), device)

        def outer(x):
            y = x * w

            def inner(z):
                return lx.cond(lx.sum(z) > 0, lambda: lx.sum(z * y * w), lambda: lx.sum(y))

            return lx.sum(lx.grad(inner)(x)) + lx.sum(lx.vmap(lambda e: e * y[0] * w[1])(x))

        x = np.float32([3, 5])
        wanted = (x * np.float32([1, 4])).sum() + x.sum() * x[0] * 2
        for function in (outer, lx.jit(outer)):
            same(function(on(x, device)), np.float32(wanted), 1e-6)
            # d/dx of (x w^2) . 1 + sum(x) x0 2
            same(lx.grad(function)(on(x, device)), np.float32([1 + 2 * 3 + 2 * 8, 4 + 2 * 3]), 1e-6)


def test_traces_on_cpu_and_calls_of_other_threads_do_not_meet():
    x = on(np.ones(3, np.float32), "cpu")
    wrong = []

    def trace():
        for k in range(60):
            f = lx.jit(lambda x, k=k: x + lx.ones(3, dtype=lx.float32, device="cpu") * k)
            if f(x).tolist() != [1 + k] * 3:
                wrong.append(k)

    def call():
        f = lx.jit(lambda x: x * 3)
        for _ in range(300):
            if f(x).tolist() != [3] * 3 or (x + 1).tolist() != [2] * 3:
                wrong.append("call")

    threads = [threading.Thread(target=target) for target in (trace, call, call)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not wrong, wrong[:4]


def test_a_function_that_failed_while_it_was_traced_leaves_nothing_to_run():
    for device in DEVICES:
        x, kept = on(np.ones(3, np.float32), device), []

        def bad(x):
            kept.append(lx.zeros(3, dtype=x.dtype, device=x.device) + 1)
            raise ZeroDivisionError

        raises(ZeroDivisionError, lambda: lx.jit(bad)(x))
        triple = lx.jit(lambda x: x * 3)
        for _ in range(4):
            same(triple(x), np.full(3, 3, np.float32))


def test_threads_of_a_traced_function_compute_with_its_arguments():
    for device in DEVICES:

        def f(x):
            found = []
            thread = threading.Thread(target=lambda: found.append(x * 2))
            thread.start()
            thread.join()
            return found[0] + 1

        x = on(np.float32([1, 2]), device)
        same(lx.jit(f)(x), np.float32([3, 5]))
        same(lx.cond(lx.asarray(True, device=device), f, lambda x: x, x), np.float32([3, 5]))
