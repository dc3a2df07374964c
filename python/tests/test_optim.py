"""Optimizers and norms of gradients at their edges: complex numbers, large ones, mixed dtypes, pickles."""

import pickle

import numpy as np
from common import DEVICES, on, raises, same

import lazyxla as lx


def test_moments_of_complex_parameters_are_those_of_absolute_values():
    # Adam's first step is rate * g / |g|.
    a, g = np.array([1j, 2.0, -3 + 4j], "complex128"), np.array([1j, -5.0, 3 + 4j], "complex128")
    for device in DEVICES:
        optimizer = lx.optim.adam(0.1)
        state = optimizer.init([on(a, device)])
        assert state.square[0].dtype == lx.float64
        params, state = optimizer.update([on(g, device)], state, [on(a, device)])
        same(params[0], a - 0.1 * g / np.abs(g), 1e-8)
        same(state.square[0], 0.001 * np.abs(g) ** 2, 1e-12)
        params, _ = optimizer.update([on(2 * g, device)], state, params)
        mean, square = 0.09 * g + 0.2 * g, (0.000999 + 0.004) * np.abs(g) ** 2
        step = mean / (1 - 0.81) / np.sqrt(square / (1 - 0.999**2))
        same(params[0], a - 0.1 * g / np.abs(g) - 0.1 * step, 1e-7)


def test_global_norms_neither_overflow_nor_underflow():
    for device in DEVICES:
        same(lx.optim.global_norm([on(np.complex64([3 + 4j]), device)]), np.float32(5))
        tree = [on(np.float32([3e20]), device), None, {"b": on(np.float64([4e20]), device)}]
        same(lx.optim.global_norm(tree), np.float64(5e20), 1e-6)
        same(lx.optim.global_norm([on(np.float32([3e-30, 4e-30]), device)]), np.float32(5e-30), 1e-6)
        same(lx.optim.global_norm([lx.full((100,), 300.0, dtype=lx.float16, device=device)]), np.float32(3000), 1e-6)
        same(lx.optim.global_norm([lx.zeros(3, device=device), lx.zeros(0, device=device)]), np.float32(0))
        same(lx.optim.global_norm([lx.zeros(0, device=device)]), np.float32(0))
        same(lx.optim.global_norm([on(np.float32([1, -np.inf]), device)]), np.float32(np.inf))
        assert np.isnan(lx.optim.global_norm([on(np.float32([1, np.nan]), device)]).item())
        a = np.array([1.0, -2.0, 2.0])
        same(lx.grad(lambda x: lx.optim.global_norm([x]))(on(a, device)), a / 3, 1e-12)
    raises(TypeError, lambda: lx.optim.global_norm([lx.asarray([1, 2])]), "int64")
    raises(ValueError, lambda: lx.optim.global_norm([None]))


def test_exploding_gradients_are_clipped():
    for device in DEVICES:
        for values in ([1e20, 1e20], [3e38, 3e38]):
            clipped = lx.optim.clip_by_global_norm([on(np.float32(values), device)], 1.0)[0]
            same(clipped, np.float32([0.5**0.5] * 2), 1e-6)
        clipped = lx.optim.clip_by_global_norm([lx.full((100,), 300.0, dtype=lx.float16, device=device)], 1.0)[0]
        same(clipped, np.full(100, 0.1, "float16"), 1e-3)
        z = np.complex64([3e20 + 4e20j])
        same(lx.optim.clip_by_global_norm([on(z, device)], 10.0)[0], np.complex64([6 + 8j]), 1e-6)
        mixed = [on(np.float32([3]), device), on(np.float64([4]), device)]
        found = lx.optim.clip_by_global_norm(mixed, 1.0)
        same(found[0], np.float32([0.6]), 1e-6)
        same(found[1], np.float64([0.8]), 1e-12)
        small = np.float32([1e-30, 0.1])
        same(lx.optim.clip_by_global_norm([on(small, device)], 1.0)[0], small)
        assert np.isnan(np.asarray(lx.optim.clip_by_global_norm([on(np.float32([1, np.nan]), device)], 1.0)[0])).all()


def test_states_keep_their_dtypes_in_loops():
    device = DEVICES[0]
    optimizers = [lx.optim.sgd(0.1, momentum=0.9), lx.optim.sgd(0.1, momentum=0.9, nesterov=True), lx.optim.adamw(0.1)]
    for p, g in (("float16", "float16"), ("bfloat16", "float32"), ("float32", "float64"), ("float64", "float32")):
        grads = [lx.asarray([1.0, -2.0], dtype=g, device=device)]
        for optimizer in optimizers:
            params = [lx.ones(2, dtype=p, device=device)]
            state = optimizer.init(params, on_device=True)
            (found, last), _ = lx.scan(
                lambda c, _: (optimizer.update(grads, c[1], c[0]), None), (params, state), length=3
            )
            assert found[0].dtype.name == p and [x.dtype for x in last[1]] == [x.dtype for x in state[1]]
            assert last[1][0].dtype.name == ("float64" if p == "float64" else "float32")
            wide, of = (
                [lx.ones(2, dtype=lx.float64, device=device)],
                optimizer.init([lx.ones(2, dtype=lx.float64, device=device)]),
            )
            for _ in range(3):
                wide, of = optimizer.update([grads[0].astype(lx.float64)], of, wide)
            tolerance = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 1e-6, "float64": 1e-7}[p]
            same(found[0].astype(lx.float64), np.asarray(wide[0]), tolerance)


def test_adam_of_half_floats_divides_by_no_zero():
    for device in DEVICES:
        params, grads = [lx.ones(3, dtype=lx.float16, device=device)], lx.asarray([0.0, 1e-4, -2e-4], device=device)
        moved, _ = lx.optim.adam(0.125).update([grads.astype(lx.float16)], lx.optim.adam(0.125).init(params), params)
        same(moved[0], np.float16([1, 0.875, 1.125]), 1e-3)


def test_gradients_of_clipping_are_finite_at_zeros():
    for device in DEVICES:
        x, limit = lx.zeros(3, device=device), 1.0
        clipped = lambda x: lx.optim.clip_by_global_norm([x], limit)[0]
        same(lx.grad(lambda x: lx.sum(clipped(x) * 2))(x), np.float32([2, 2, 2]))
        same(lx.grad(lambda x: lx.optim.global_norm([x]))(x), np.float32([0, 0, 0]))
        # Beyond the limit: (I - x x^T / |x|^2) / |x|.
        a = np.array([3.0, 4.0])
        wanted = (np.eye(2) - np.outer(a, a) / 25) / 5
        same(lx.jacrev(clipped)(on(a, device)), wanted, 1e-12)


def test_parameters_keep_their_dtypes():
    for device in DEVICES:
        params = [lx.asarray([1.0, 2.0], dtype=lx.bfloat16, device=device)]
        grads = [lx.asarray([0.5, -0.5], dtype=lx.float32, device=device)]
        for optimizer in (lx.optim.sgd(0.1), lx.optim.sgd(0.1, momentum=0.9), lx.optim.adam(0.1), lx.optim.adamw(0.1)):
            state, moved = optimizer.init(params), params
            for _ in range(2):
                moved, state = optimizer.update(grads, state, moved)
            assert moved[0].dtype == lx.bfloat16
        moved, _ = lx.optim.sgd(0.1).update(grads, lx.optim.sgd(0.1).init(params), params)
        same(moved[0].astype(lx.float32), np.float32([0.95, 2.05]), 4e-3)


def test_gradients_may_be_numbers_and_errors_name_them():
    params = {"w": lx.asarray([1.0, 2.0])}
    for optimizer in (lx.optim.sgd(0.1), lx.optim.sgd(0.1, momentum=0.9)):
        moved, _ = optimizer.update({"w": 1.0}, optimizer.init(params), params)
        same(moved["w"], np.float32([0.9, 1.9]), 1e-6)
        wrong = {"w": np.ones(2, np.float32)}
        raises(TypeError, lambda: optimizer.update(wrong, optimizer.init(params), params), "grads", "an ndarray")
        wrong = {"v": lx.ones(2)}
        raises(ValueError, lambda: optimizer.update(wrong, optimizer.init(params), params), "expected key(s): ['w']")


def test_optimizers_are_pickled_and_say_what_is_wrong():
    schedule = lx.optim.cosine_schedule(0.1, 10, warmup=2)
    for optimizer in (lx.optim.sgd(0.1, momentum=0.9), lx.optim.adamw(schedule)):
        again = pickle.loads(pickle.dumps(optimizer))
        params, grads = [lx.ones(2, device="cpu")], [lx.asarray([0.5, -2.0], device="cpu")]
        results = [each.update(grads, each.init(params), params)[0][0] for each in (optimizer, again)]
        same(results[0], np.asarray(results[1]))
    raises(TypeError, lambda: lx.optim.adam("a"), "rate", "str")
    raises(TypeError, lambda: lx.optim.sgd(0.1, momentum="a"), "momentum", "str")
    raises(TypeError, lambda: lx.optim.adam(0.1).init({"a": 1.0}), "params", "float")
    raises(TypeError, lambda: lx.optim.adam(0.1).init({"a": lx.asarray([1])}), "params", "int64")
