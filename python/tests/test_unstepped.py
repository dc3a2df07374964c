"""Loops that neither step nor read, outside of jitted functions: few programs for any number of iterations, and NumPy's
values."""

import os
import subprocess
import sys

import numpy as np

import lazyxla as lx


def compiles_few(loop, most=5, rtol=1e-4):
    """Asserts NumPy's values after 400 iterations, and that 400, 800 and 437 iterations compile few programs each."""
    expected = loop(np, 400)
    for iterations in (400, 800, 437):
        before = lx.counter("UncachedCompile")
        values = loop(lx, iterations)
        if iterations == 400:
            for ours, theirs in zip(values, expected, strict=True):
                np.testing.assert_allclose(np.asarray(ours), theirs, rtol=rtol, atol=rtol)
        [np.asarray(value) for value in values]
        compiled = lx.counter("UncachedCompile") - before
        assert compiled <= most, (iterations, compiled)


def test_a_loop_of_few_operations():
    def loop(xp, iterations):
        x, total = xp.ones(4, dtype=xp.float32), xp.zeros(4, dtype=xp.float32)
        for _ in range(iterations):
            x = x * 0.999 + 0.001 * xp.sin(x)
            total = total + x
        return x, total

    compiles_few(loop)


def test_heat_on_a_plate():
    def loop(xp, iterations):
        t = xp.zeros((16, 16), dtype=xp.float32)
        hot = xp.asarray(np.eye(16, dtype=np.float32))
        for _ in range(iterations):
            around = xp.roll(t, 1, axis=0) + xp.roll(t, -1, axis=0) + xp.roll(t, 1, axis=1) + xp.roll(t, -1, axis=1)
            t = xp.where(hot > 0, hot, t + 0.2 * (around - 4 * t))
        return (t,)

    compiles_few(loop)


def test_adam_by_hand_with_a_schedule():
    def loop(xp, iterations):
        data = np.random.default_rng(3)
        x = xp.asarray(data.standard_normal((32, 5)).astype(np.float32))
        y = x @ xp.asarray(np.arange(5, dtype=np.float32)[:, None])
        w, m, v = (xp.zeros((5, 1), dtype=xp.float32) for _ in range(3))
        for i in range(iterations):
            g = x.T @ (x @ w - y) / 32
            m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g
            rate = 0.1 / (1 + i // 50)
            w = w - rate * m / (xp.sqrt(v) + 1e-6)
        return w, m

    compiles_few(loop, most=6, rtol=1e-3)


def test_iterations_of_hundreds_of_operations():
    def loop(xp, iterations):
        a = xp.asarray(np.linspace(0, 1, 12, dtype=np.float32).reshape(3, 4))
        for _ in range(iterations // 20):
            b = a
            for k in range(30):
                b = xp.cos(b + k) if k % 3 else xp.flip(b, axis=1) * 0.5
                if k % 7 == 0:
                    b = b - xp.mean(b, axis=1, keepdims=True)
            a = a * 0.9 + b * 0.1
        return (a,)

    compiles_few(loop)


def test_values_that_are_kept_and_used_late():
    def loop(xp, iterations):
        x, kept = xp.arange(6, dtype=xp.float32), []
        for i in range(iterations):
            x = xp.sqrt(x * x + 1) - 0.01 * x
            if i % 100 == 50:
                kept.append(x * 2)
        return (*kept[:4], x)

    compiles_few(loop, most=12)


def test_two_loops_in_turns():
    def loop(xp, iterations):
        x, n = xp.ones(3, dtype=xp.float32), xp.ones((2, 2), dtype=xp.int32)
        for i in range(iterations):
            if i // 100 % 2:
                n = (n * 5 + 3) % 1000
                n = n + n.T
            else:
                x = xp.tanh(x + 0.5) * 1.01
        return x, n

    compiles_few(loop, most=12)


def test_what_does_not_repeat_is_not_cut():
    order = np.random.default_rng(11)
    before = lx.counter("MarkStep")
    x, y = lx.ones(5), np.ones(5, np.float32)
    for k in order.integers(0, 5, 1500):
        match k:
            case 0:
                x, y = lx.sin(x), np.sin(y)
            case 1:
                x, y = lx.flip(x), np.flip(y)
            case 2:
                x, y = x + 0.5, y + np.float32(0.5)
            case 3:
                x, y = lx.where(x > 0.2, x, 0.3), np.where(y > 0.2, y, np.float32(0.3))
            case _:
                x, y = lx.exp(-x), np.exp(-y)
    assert lx.counter("MarkStep") == before
    np.testing.assert_allclose(np.asarray(x), y, rtol=1e-3)


def test_iterations_that_keep_other_values_compile_less_and_less():
    order = np.random.default_rng(4).integers(0, 64, 3000)

    def loop(xp):
        s, kept = xp.ones(8, dtype=xp.float32), [None] * 64
        for k in order:
            s = xp.tanh(s * 0.9 + 0.1 * xp.cos(s))
            kept[k] = s
        return s, *kept

    before = lx.counter("UncachedCompile")
    for ours, theirs in zip(loop(lx), loop(np), strict=True):
        np.testing.assert_allclose(np.asarray(ours), theirs, rtol=1e-4)
    # After five cuts in a row that compile, twice as many operations are pending before the next one.
    assert lx.counter("UncachedCompile") - before <= 30


def test_what_is_not_finite_is_told_by_the_step_that_computes_it():
    text = """
import lazyxla as lx
x = lx.ones(4)
for i in range(3000):
    x = x * 0.99 + 0.01 * lx.sin(x)
    if i == 1500:
        x = lx.log(x - 5.0)
print("not told")
"""
    environment = {**os.environ, "LXLA_CHECK_NONFINITE": "1", "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run([sys.executable, "-c", text], env=environment, capture_output=True, text=True)
    assert done.returncode == 1 and "FloatingPointError" in done.stderr and "log makes NaN" in done.stderr, done
    assert not done.stdout
