"""Transformations of functions: against finite differences, formulas and NumPy, on both devices."""

import numpy as np
from common import DEVICES, in_one_step, on, raises, random, same

import lazyxla as lx


def numeric(function, a, epsilon=1e-5):
    """Returns the gradient of a function of an f64 array by central differences."""
    result = np.zeros_like(a)
    for place in np.ndindex(a.shape):
        high, low = a.copy(), a.copy()
        high[place] += epsilon
        low[place] -= epsilon
        result[place] = (function(high) - function(low)) / (2 * epsilon)
    return result


@in_one_step
def test_gradients_agree_with_finite_differences():
    functions = [
        lambda m, x: m.sum(m.tanh(x) * x),
        lambda m, x: m.mean(m.exp(x[1:] - x[:-1])),
        lambda m, x: m.sum(x[0] @ x.T),
        lambda m, x: m.sum(m.where(x > 0, x * x, -x)),
        lambda m, x: m.max(m.cumulative_sum(x * x, axis=0)),
    ]
    for device in DEVICES:
        a = random(1, (3, 4), "float64")
        for function in functions:
            found = lx.grad(lambda x: function(lx, x))(on(a, device))
            same(found, numeric(lambda b: function(np, b), a), 1e-6)


def test_gradients_come_in_the_tree_of_the_arguments():
    for device in DEVICES:
        w, b, x = random(2, (4, 3), "float64"), random(3, (3,), "float64"), random(4, (5, 4), "float64")
        params = {"w": on(w, device), "b": [on(b, device)]}

        def loss(params, x, scale, power=2):
            residual = (x @ params["w"] + params["b"][0]) * scale
            return lx.sum(residual**power), {"residual": residual, "count": 3}

        (value, aux), (gradients, slope) = lx.value_and_grad(loss, (0, 2), has_aux=True)(params, on(x, device), 0.5)
        r = x @ w + b
        same(value, np.sum((0.5 * r) ** 2), 1e-12)
        same(aux["residual"], 0.5 * r, 1e-12)
        same(gradients["w"], 0.5 * x.T @ r, 1e-10)
        same(gradients["b"][0], 0.5 * r.sum(0), 1e-10)
        assert np.isclose(float(slope), np.sum(r * r), rtol=1e-5)
        gradients, aux = lx.grad(loss, has_aux=True)({**params, "none": None}, on(x, device), 0.5, power=2)
        assert gradients["none"] is None
        same(gradients["w"], 0.5 * x.T @ r, 1e-10)


def test_derivatives_of_any_order():
    assert float(lx.grad(lx.grad(lx.grad(lambda x: x**4)))(2.0)) == 48
    for device in DEVICES:
        a = random(5, (3,), "float64")
        hessian = lx.vmap(lambda v: lx.jvp(lx.grad(lambda x: lx.sum(lx.sin(x) * x**2)), (on(a, device),), (v,))[1])
        second = 2 * np.sin(a) + 4 * a * np.cos(a) - a * a * np.sin(a)
        same(hessian(lx.eye(3, dtype=lx.float64, device=device)), np.diag(second), 1e-12)


@in_one_step
def test_second_derivatives_of_products_of_an_array_with_itself():
    products = [lambda v: v @ v, lambda v: lx.vecdot(v, v), lambda v: lx.sum(v * v), lambda v: lx.einsum("i,i->", v, v)]
    products += [lambda v: lx.tensordot(v, v, axes=1), lambda v: lx.linalg.outer(v, v)[0, 0] + v[1:] @ v[1:]]
    for device in DEVICES:
        x, one = on(random(5, (3,), "float64"), device), on(np.ones(3), device)
        for product in products:
            gradient = lx.grad(product)
            same(gradient(x), 2 * np.asarray(x), 1e-12)
            same(lx.jvp(gradient, (x,), (one,))[1], 2 * np.ones(3), 1e-12)
            same(lx.grad(lambda v: lx.sum(gradient(v)))(x), 2 * np.ones(3), 1e-12)
            same(
                lx.vmap(lambda v: lx.jvp(gradient, (x,), (v,))[1])(lx.eye(3, dtype=x.dtype, device=device)),
                2 * np.eye(3),
                1e-12,
            )


def test_captured_arrays_have_their_present_values():
    w = lx.asarray(2.0)
    gradient = lx.grad(lambda x: x * x * w)
    assert float(gradient(3.0)) == 12
    w += 1
    assert float(gradient(3.0)) == 18


def test_arguments_changed_in_place_stay_with_the_caller():
    def f(x):
        x *= x
        return lx.sum(x)

    x = lx.asarray([1.0, 2.0])
    assert lx.grad(f)(x).tolist() == [2, 4] and x.tolist() == [1, 2]


def test_arrays_from_outside_keep_their_values():
    for device in DEVICES:
        w, x = on(np.float32([1, 2]), device), on(np.float32([3, 4]), device)

        def add(v):
            nonlocal w
            w += lx.sum(v)
            return lx.sum(v)

        def put(v):
            w[0] = lx.sum(v)
            w[1] = 0.0
            return lx.sum(v * w)

        def carried(carry, v):
            put(v)
            return carry, None

        calls = [
            lambda f: lx.grad(f)(x),
            lambda f: lx.vmap(f)(x),
            lambda f: lx.vjp(f, x),
            lambda f: lx.jvp(f, (x,), (x,)),
        ]
        calls += [lambda f: lx.checkpoint(f)(x), lambda f: lx.cond(True, f, f, x)]
        for call in calls:
            for f in (add, put):
                raises(RuntimeError, lambda: call(f), "float32[2]", "auxiliary")
                same(w, np.float32([1, 2]))
        raises(RuntimeError, lambda: lx.scan(carried, x, x[:, None]), "in place")
        same(w, np.float32([1, 2]))

        # An array of the outer function is one from outside for the inner one.
        def outer(v):
            kept = v * 2

            def inner(u):
                kept[0] = lx.sum(u)
                return lx.sum(u)

            return lx.sum(lx.grad(inner)(v))

        raises(RuntimeError, lambda: lx.grad(outer)(x), "in place")

        # An array of the function itself may change, and all may after the call.
        def own(v):
            total = lx.zeros(2, device=device)
            total += v
            total[0] = total[0] * 3
            return lx.sum(total), total

        gradient, total = lx.grad(own, has_aux=True)(x)
        same(gradient, np.float32([3, 1]))
        w += total
        same(w, np.float32([10, 6]))


def test_results_and_arguments_may_hold_none_texts_and_scalars_of_numpy():
    for device in DEVICES:
        a = random(20, (3, 2), "float64")
        x = on(a, device)
        aux = {"none": None, "text": "name", "flag": True, "np": np.float32(2), "bool": np.bool_(False), "x": x}
        gradient, found = lx.grad(lambda v: (lx.sum(v * v), aux), has_aux=True)(x)
        same(gradient, 2 * a)
        assert found["none"] is None and found["text"] == "name" and found["flag"].tolist() is True
        same(found["np"], np.float32(2))
        same(found["bool"], np.bool_(False))
        same(found["x"], a)
        found = lx.vmap(lambda v: {"y": v * 2, "none": None, "text": "t", "one": np.float32(1)}, out_axes=0)(x)
        same(found["y"], a * 2)
        same(found["one"], np.ones(3, "float32"))
        assert found["none"] is None and found["text"] == "t"
        init = {"sum": np.zeros(2), "n": np.int64(0), "flag": np.bool_(True), "none": None}

        def step(carry, v):
            after = {"sum": carry["sum"] + v, "n": carry["n"] + 1, "flag": ~carry["flag"], "none": carry["none"]}
            return after, {"v": v, "text": "t", "none": None}

        last, ys = lx.scan(step, init, x)
        same(last["sum"], a.sum(0), 1e-12)
        same(last["n"], np.int64(3))
        same(last["flag"], np.bool_(False))
        same(ys["v"], a)
        assert last["none"] is None and ys["text"] == "t" and ys["none"] is None
        for pred in (True, np.bool_(True), on(np.bool_(True), device)):
            found = lx.cond(pred, lambda v: (v + 1, None), lambda v: (v, None), x)
            same(found[0], a + 1)
            assert found[1] is None
        value = lx.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, None), (np.int64(0), None))
        assert int(value[0]) == 3 and value[1] is None
        same(lx.grad(lambda v: v * v)(np.float64(3)), np.float64(6))
        params = {"w": x, "none": None}
        out, pullback = lx.vjp(lambda p: (p["w"] * 2, None), params)
        same(out[0], a * 2)
        (ct,) = pullback((x, None))
        same(ct["w"], a * 2)
        assert out[1] is None and ct["none"] is None
        _, slope = lx.jvp(lambda p: p["w"] * 2, (params,), (params,))
        same(slope, a * 2)
        same(lx.optim.clip_by_global_norm(params, 0.1)["w"], a * 0.1 / np.linalg.norm(a), 1e-9)
        for optimizer in (lx.optim.sgd(0.1, momentum=0.9), lx.optim.adam(0.1)):
            moved, _ = optimizer.update(lx.grad(lambda p: lx.sum(p["w"]))(params), optimizer.init(params), params)
            assert moved["none"] is None and moved["w"].shape == (3, 2)


@in_one_step
def test_vjp_and_jvp_are_transposes():
    for device in DEVICES:
        a, b = random(6, (3, 4), "float64"), random(7, (4, 2), "float64")
        x, y = on(a, device), on(b, device)

        def f(x, y):
            return {"product": x @ y, "sine": lx.sin(x), "sign": x > 0}

        tangents = on(random(8, (3, 4), "float64"), device), on(random(9, (4, 2), "float64"), device)
        out, slopes = lx.jvp(f, (x, y), tangents)
        same(out["product"], a @ b, 1e-12)
        same(slopes["product"], np.asarray(tangents[0]) @ b + a @ np.asarray(tangents[1]), 1e-12)
        same(slopes["sign"], np.zeros((3, 4), bool))
        again, pullback = lx.vjp(f, x, y)
        ct = {"product": on(random(10, (3, 2), "float64"), device), "sine": on(random(11, (3, 4), "float64"), device)}
        gx, gy = pullback({**ct, "sign": None})
        forward = sum(np.sum(np.asarray(ct[k]) * np.asarray(slopes[k])) for k in ct)
        back = np.sum(np.asarray(gx) * np.asarray(tangents[0])) + np.sum(np.asarray(gy) * np.asarray(tangents[1]))
        assert np.isclose(forward, back, rtol=1e-10)
        raises(ValueError, lambda: pullback({"product": ct["product"]}))


@in_one_step
def test_batches_are_stacks_of_single_results():
    for device in DEVICES:
        a, b = random(12, (5, 3, 4), "float64"), random(13, (4, 5), "float64")
        x, y = on(a, device), on(b, device)
        same(lx.vmap(lambda m, v: m @ v, (0, 1))(x, y), np.stack([a[i] @ b[:, i] for i in range(5)]), 1e-12)
        same(lx.vmap(lambda m, v: m @ v, (0, None), 1)(x, y[:, 0]), np.stack([m @ b[:, 0] for m in a], 1), 1e-12)
        tree = lx.vmap(lambda t: (t["m"] * 2, lx.sum(t["v"])), ({"m": 0, "v": -1},), (2, 0))({"m": x, "v": y})
        same(tree[0], np.moveaxis(a * 2, 0, 2), 1e-12)
        same(tree[1], b.sum(0), 1e-12)
        nested = lx.vmap(lx.vmap(lambda u, v: lx.sum(u * v), (None, 0)), (0, None))(x[0], x[1])
        same(nested, a[0] @ a[1].T, 1e-12)
        none = lx.vmap(lambda u, v: (u[:, 0] + v, v, v > 0, "text"), (1, None), (-1, None, 0, None))(x[:, :0], y[0])
        same(none[0], np.zeros((b.shape[1], 0)))
        same(none[1], b[0])
        assert none[2].shape == (0, b.shape[1]) and none[3] == "text"
        same(lx.grad(lambda u: lx.sum(lx.vmap(lx.sin)(u)))(x[:0]), a[:0])
        # Of an empty batch the function does not run: with zeros, this loop would not end.
        endless = lx.vmap(lambda u: lx.while_loop(lambda v: v < 1, lambda v: v * 2, lx.sum(u * 0)))
        same(endless(x[:0]), np.zeros(0, a.dtype))
        raises(ValueError, lambda: lx.vmap(lambda u, v: u)(x, y), "one size")
        raises(ValueError, lambda: lx.vmap(lambda u: u, 7)(x))


@in_one_step
def test_scans_loops_and_branches_compute_what_python_does():
    for device in DEVICES:
        a, h = random(14, (6, 3), "float64"), random(15, (3,), "float64")

        def step(carry, x):
            carry = lx.tanh(carry + x["in"])
            return carry, {"out": carry * 2, "none": None}

        last, ys = lx.scan(step, on(h, device), {"in": on(a, device)})
        state, wanted = h, []
        for row in a:
            state = np.tanh(state + row)
            wanted.append(2 * state)
        same(last, state, 1e-12)
        same(ys["out"], np.stack(wanted), 1e-12)
        assert ys["none"] is None
        gradient = lx.grad(lambda h: lx.sum(lx.scan(step, h, {"in": on(a, device)})[0]))(on(h, device))

        def plain(h):
            for row in a:
                h = np.tanh(h + row)
            return h.sum()

        same(gradient, numeric(plain, h), 1e-8)
        doubled = lx.while_loop(lambda s: s[0] < 5, lambda s: (s[0] + 1, s[1] * 2), (0, on(h, device)))
        assert int(doubled[0]) == 5
        same(doubled[1], h * 32)
        for flag in (True, False):
            choice = lx.cond(on(np.bool_(flag), device), lambda x: x + 1, lambda x: x * 2, on(h, device))
            same(choice, h + 1 if flag else h * 2)
        raises(TypeError, lambda: lx.scan(lambda c, x: (c.astype(lx.float32), None), on(h, device), on(a, device)))
        raises(ValueError, lambda: lx.scan(step, on(h, device)))


def test_what_cannot_be_transformed_says_why():
    x = lx.ones(3)
    raises(TypeError, lambda: lx.grad(lambda x: x)(x), "scalar")
    raises(TypeError, lambda: lx.grad(lambda x: 1.0)(x), "scalar")
    raises(TypeError, lambda: lx.grad(lx.sum)(lx.arange(3)), "int64")
    raises(ValueError, lambda: lx.grad(lx.sum, 3)(x))
    raises(RuntimeError, lambda: lx.grad(lambda x: lx.sum(x) if float(lx.sum(x)) > 0 else x)(x), "float(x)", "lx.where")
    raises(TypeError, lambda: lx.vmap(lambda x: "text")(x), "str")
    raises(ZeroDivisionError, lambda: lx.grad(lambda x: 1 / 0)(x))
    raises(NotImplementedError, lambda: lx.grad(lambda x: lx.while_loop(lambda v: v < 9, lambda v: v * 2, x))(1.0))


@in_one_step
def test_optimizers_follow_their_formulas():
    for device in DEVICES:
        a, g = random(17, (3,), "float64"), random(18, (3,), "float64")
        for optimizer in (lx.optim.sgd(0.1, momentum=0.9), lx.optim.adamw(0.1), lx.optim.adam(lambda n: 0.1 / (n + 1))):
            params, grads = {"w": on(a, device)}, {"w": on(g, device)}
            state = optimizer.init(params)
            for _ in range(3):
                params, state = optimizer.update(grads, state, params)
            same(params["w"], reference(optimizer, a, g), 1e-9)
        clipped = lx.optim.clip_by_global_norm({"w": on(g, device)}, 0.1)
        same(clipped["w"], g * 0.1 / np.linalg.norm(g), 1e-9)
        same(lx.optim.clip_by_global_norm({"w": on(g, device)}, 1e9)["w"], g, 1e-9)
    rate = lx.optim.cosine_schedule(1.0, 10, warmup=2)
    assert np.allclose([rate(0), rate(1), rate(2), rate(6), rate(10)], [0.5, 1, 1, 0.5, 0])


def reference(optimizer, p, g):
    """Three steps in NumPy with a constant gradient; the optimizer is known by the order in the test."""
    kind, settings = optimizer.update.func.__name__, optimizer.update.args[0]
    speed, mean, square = np.zeros_like(p), np.zeros_like(p), np.zeros_like(p)
    rates = settings if kind == "_update_sgd" else settings.rate
    for n in range(3):
        rate = rates(n) if callable(rates) else rates
        if kind == "_update_sgd":
            speed = 0.9 * speed + g
            p = p - rate * speed
        else:
            mean, square = 0.9 * mean + 0.1 * g, 0.999 * square + 0.001 * g * g
            step = mean / (1 - 0.9 ** (n + 1)) / (np.sqrt(square / (1 - 0.999 ** (n + 1))) + 1e-8)
            p = p - rate * (step + settings.weight_decay * p)
    return p


def test_training_learns_a_line_and_compiles_little():
    key = lx.random.key(0)
    x = lx.random.normal(key, (64, 3), dtype=lx.float32)
    y = x @ lx.asarray([1.0, -2.0, 0.5]) + 3.0
    params = {"w": lx.asarray(np.zeros(3, "float32")), "b": lx.asarray(np.float32(0))}
    optimizer = lx.optim.adam(0.1)
    state = optimizer.init(params)
    loss = lx.value_and_grad(lambda p: lx.mean((x @ p["w"] + p["b"] - y) ** 2))
    lx.step(wait=True)
    before = lx.counter("UncachedCompile")
    for _ in range(200):
        value, gradients = loss(params)
        params, state = optimizer.update(gradients, state, params)
        lx.step()
    assert float(value) < 1e-3
    assert np.allclose(np.asarray(params["w"]), [1, -2, 0.5], atol=0.05), params
    assert lx.counter("UncachedCompile") - before <= 3


def test_switch_runs_the_branch_of_its_index():
    for device in DEVICES:
        a = random(20, (3,), "float64")
        x = on(a, device)
        branches = [lambda x, n: {"y": x + 1, "n": n}, lambda x, n: {"y": x * 2, "n": n}]
        branches += [lambda x, n: {"y": lx.sin(x), "n": n}]
        wanted = [a + 1, a * 2, np.sin(a)]
        for index in (0, 1, 2, np.int32(1), on(np.uint8(2), device)):
            out = lx.switch(index, branches, x, None)
            same(out["y"], wanted[int(index)], 1e-12)
            assert out["n"] is None
        # Out of range: the first or the last one, as jax.lax.switch.
        for index in (-1, 3, -(2**70), 2**70, np.int8(-128), np.uint64(2**64 - 1), on(np.int16(-5), device)):
            same(lx.switch(index, branches, x, None)["y"], wanted[0 if index < 0 else 2], 1e-12)
        slopes = lx.vmap(lambda i, x: lx.grad(lambda x: lx.sum(lx.switch(i, branches, x, None)["y"]))(x), (0, None))
        rows = np.ones(3), np.full(3, 2.0), np.cos(a)
        same(slopes(on(np.arange(-1, 4), device), x), np.stack([rows[i] for i in (0, 0, 1, 2, 2)]), 1e-12)
        raises(ValueError, lambda: lx.switch(0, [], x), "branch")
        raises(TypeError, lambda: lx.switch(0, [lambda x: x, lambda x: (x, x)], x), "branch 1")
        raises(ValueError, lambda: lx.switch(0, [lambda x: x, lambda x: x[0]], x))
        for index in (0.5, True, on(np.float32(1), device), on(np.bool_(True), device)):
            raises((TypeError, ValueError), lambda: lx.switch(index, branches, x, None), "index")


def test_a_jitted_update_is_traced_once_and_equals_the_plain_one():
    for device in DEVICES:
        a, g = random(22, (3,), "float64"), random(23, (3,), "float64")
        rate = lx.optim.cosine_schedule(0.3, 5, warmup=2, end=0.1)
        for optimizer in (
            lx.optim.sgd(rate, momentum=0.9, nesterov=True),
            lx.optim.adamw(rate, weight_decay=0.2, decays={"w": True, "b": False}),
            lx.optim.adam(0.1),
        ):
            plain = jitted = {"w": on(a, device), "b": on(a * 2, device)}
            grads = {"w": on(g, device), "b": on(g, device)}
            state, counted = optimizer.init(plain), optimizer.init(jitted, on_device=True)
            update = lx.jit(optimizer.update)
            for _ in range(7):
                plain, state = optimizer.update(grads, state, plain)
                jitted, counted = update(grads, counted, jitted)
                lx.step()
                for name in "wb":
                    same(jitted[name], np.asarray(plain[name]), 1e-13)
            assert update.kinds == 1 and int(counted.steps) == 7
        moved, _ = lx.optim.adamw(0.5, weight_decay=0.5, decays={"w": True, "b": False}).update(
            {"w": on(0 * g, device), "b": on(0 * g, device)}, lx.optim.adamw(0.5).init(plain), plain
        )
        same(moved["w"], np.asarray(plain["w"]) * 0.75, 1e-15)
        same(moved["b"], np.asarray(plain["b"]))
    raises(
        ValueError,
        lambda: lx.optim.adamw(0.1, decays=[True]).update(grads, lx.optim.adam(1).init(plain), plain),
        "decays",
    )


def test_decay_rates_of_0_are_those_of_the_last_gradient():
    params, grads = {"w": lx.asarray([1.0, 2.0])}, {"w": lx.asarray([0.5, -0.25])}
    for b1, b2 in ((0.0, 0.999), (0.9, 0.0), (0.0, 0.0)):
        optimizer = lx.optim.adam(0.1, b1=b1, b2=b2)
        results = []
        for on_device in (False, True):
            now, state = params, optimizer.init(params, on_device=on_device)
            for _ in range(3):
                now, state = optimizer.update(grads, state, now)
            results.append(now["w"])
        # With equal gradients, the corrected means are the gradient and its square.
        same(results[0], np.float32([1, 2]) - 3 * 0.1 * np.sign([0.5, -0.25]).astype("float32"), 1e-5)
        same(results[1], np.asarray(results[0]), 1e-6)


def test_floats_of_jitted_gradients_are_on_the_device_of_keyword_arguments():
    w = lx.asarray([1.0, 2.0], device="cpu")
    gradient = lx.grad(lx.jit(lambda k, w: lx.sum(w * k)))
    for k in (2.0, 5.0):
        found = gradient(k, w=w)
        assert float(found) == 3 and str(found.device) == "cpu"
    assert gradient.kinds == 1


def test_gradients_of_batched_branches_are_those_of_the_branch_that_is_taken():
    for device in DEVICES:
        x, w = on(np.float32([1, 0, -1, 4]), device), on(np.float32(2), device)

        def log_if_positive(v):
            return lx.cond(v > 0, lambda u: lx.log(u), lambda u: 0 * u, v)

        def closure(v):
            return lx.switch((v > 0).astype(lx.int32), [lambda: 0 * v, lambda: lx.log(v * w)])

        def scanned(v):
            return lx.scan(lambda c, _: (lx.cond(v > 0, lambda: c + lx.sqrt(v), lambda: c), None), v * 0, length=2)[0]

        slopes = {log_if_positive: (1, 0, 0, 0.25), closure: (1, 0, 0, 0.25), scanned: (1, 0, 0, 0.5)}
        for function, wanted in slopes.items():
            wanted = np.float32(wanted)
            same(lx.grad(lambda v: lx.sum(lx.vmap(function)(v)))(x), wanted, 1e-6)
            same(lx.vjp(lx.vmap(function), x)[1](lx.ones(4, device=device))[0], wanted, 1e-6)
            same(lx.jacrev(lx.vmap(function))(x), np.diag(wanted), 1e-6)
            same(lx.jit(lx.grad(lambda v: lx.sum(lx.vmap(function)(v))))(x), wanted, 1e-6)
            same(lx.jvp(lx.vmap(function), (x,), (lx.ones(4, device=device),))[1], wanted, 1e-6)
