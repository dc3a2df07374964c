"""Functions with derivatives of their own, and what backward passes keep."""

import numpy as np
from common import DEVICES, in_one_step, on, raises, random, same

import lazyxla as lx


@in_one_step
def test_checkpoints_have_the_same_gradients():
    for device in DEVICES:
        a = on(random(16, (4, 4), "float64"), device)
        f = lambda x: lx.sum(lx.sin(x @ x))
        for save in ("none", "dots", "all"):
            same(lx.grad(lx.checkpoint(f, save=save))(a), np.asarray(lx.grad(f)(a)), 1e-12)
        raises(ValueError, lambda: lx.checkpoint(f, save="some"))
        same(lx.grad(lambda x: lx.sum(lx.stop_gradient(x) * x))(a), np.asarray(a))


def test_a_function_may_bring_its_derivative():
    calls = []

    @lx.custom_vjp
    def scaled(tree, s):
        return {"y": tree["x"] * s, "positive": tree["x"] > 0}

    def forward(tree, s):
        return scaled._fun(tree, s), (tree["x"], {"s": s})

    def backward(residuals, ct):
        calls.append(ct["positive"])
        x, s = residuals[0], residuals[1]["s"]
        return {"x": ct["y"] * s * 10}, lx.sum(ct["y"] * x) * 100

    raises(TypeError, lambda: scaled(1.0, 2.0), "defvjp")
    scaled.defvjp(forward, backward)
    for device in DEVICES:
        a = random(19, (4,), "float64")
        x, s = on(a, device), on(np.float64(3), device)
        same(scaled({"x": x}, s)["y"], a * 3)
        gx, gs = lx.grad(lambda x, s: lx.sum(scaled({"x": x}, s)["y"] ** 2), (0, 1))(x, s)
        same(gx, 2 * a * 3 * 3 * 10, 1e-12)
        same(gs, np.float64(100 * np.sum(2 * a * 3 * a)), 1e-12)
        batched = lx.vmap(lx.grad(lambda x: scaled({"x": x}, on(np.float64(3), device))["y"]))(x)
        same(batched, np.full(4, 30.0))
    assert calls and all(each is None for each in calls)
    scaled.defvjp(forward, lambda residuals, ct: (ct["y"],))
    raises(TypeError, lambda: scaled({"x": x}, s), "backward")


def test_results_beside_a_gradient_have_the_derivative_of_the_rule():
    f = lx.custom_vjp(lambda x: lx.sin(x))
    # Not the derivative of sin, so that the two can be told apart.
    f.defvjp(lambda x: (lx.sin(x), x), lambda x, g: (g * lx.tanh(x),))
    for device in DEVICES:
        x = on(np.float64(0.7), device)
        same(lx.grad(lambda a: lx.vjp(f, a)[0])(x), np.tanh(0.7), 1e-15)
        same(lx.grad(lambda a: lx.value_and_grad(f)(a)[0])(x), np.tanh(0.7), 1e-15)


def test_a_function_may_bring_its_forward_derivative():
    calls = []

    @lx.custom_jvp
    def scaled(tree, n):
        return {"y": tree["x"] ** 2 * n, "positive": tree["x"] > 0}

    def rule(primals, tangents):
        tree, n = primals
        calls.append(tangents[1])
        return scaled(tree, n), {"y": tangents[0]["x"] * tree["x"] * n * 10, "positive": None}

    raises(TypeError, lambda: scaled({"x": 1.0}, 2.0), "defjvp")
    assert scaled.defjvp(rule) is rule
    for device in DEVICES:
        a = random(21, (4,), "float64")
        x, n = on(a, device), on(np.int64(3), device)
        same(scaled({"x": x}, n.astype(lx.float64))["y"], a**2 * 3, 1e-12)

        def last(x):
            return scaled({"x": x}, lx.astype(n, lx.float64))["y"]

        out, slope = lx.jvp(last, (x,), (x,))
        same(out, a**2 * 3, 1e-12)
        same(slope, a * a * 30, 1e-12)
        same(lx.grad(lambda x: lx.sum(last(x) ** 2))(x), 2 * a**2 * 3 * a * 30, 1e-11)
        same(lx.vmap(lx.grad(last))(x), a * 30, 1e-12)
        same(lx.jit(lx.vmap(lx.grad(last)))(x), a * 30, 1e-12)
        same(lx.vmap(lx.grad(lx.grad(last)))(x), np.full(4, 30.0), 1e-12)
    assert len(calls) > 8

    @lx.custom_jvp
    def whole(x, k):
        return x * k.astype(lx.float64), k + 1

    whole.defjvp(lambda primals, tangents: (whole(*primals), (tangents[0] * 7, tangents[1])))
    out, slopes = lx.jvp(lambda x: whole(x, on(np.int32(2), device)), (x,), (x,))
    same(out[1], np.int32(3))
    same(slopes[0], 7 * a)
    scaled.defjvp(lambda primals, tangents: scaled(*primals))
    raises(TypeError, lambda: last(x), "pair")
    scaled.defjvp(lambda primals, tangents: (scaled(*primals), 1.0))
    raises(TypeError, lambda: last(x), "tangent")


@in_one_step
def test_a_forward_derivative_holds_in_derivatives_of_it():
    @lx.custom_jvp
    def square(x):
        return x * x

    # The rule multiplies by 100 and uses the result, so each further derivative has one more factor of 100.
    @square.defjvp
    def rule(primals, tangents):
        y = square(*primals)
        y += 0 * square(2 * primals[0])
        return square(*primals), 100 * y * tangents[0]

    for device in DEVICES:
        a = random(22, (4,), "float64")
        x, one = on(a, device), on(np.ones(4), device)
        first = lambda x: lx.jvp(square, (x,), (one,))[1]
        same(lx.jvp(first, (x,), (one,))[1], 1e4 * a * a, 1e-9)
        same(lx.jvp(lambda x: lx.jvp(first, (x,), (one,))[1], (x,), (one,))[1], 1e6 * a * a, 1e-7)
        same(lx.vmap(lx.grad(lx.grad(lx.grad(square))))(x), 1e6 * a * a, 1e-7)
        same(lx.jit(lx.vmap(lx.grad(lx.grad(lx.jit(square)))))(x), 1e4 * a * a, 1e-9)
        same(lx.vmap(lx.grad(lambda v: lx.scan(lambda c, _: (square(c), None), v, length=2)[0]))(x), 1e4 * a**6, 1e-7)

    # The derivative of the plain function is NaN at 0.
    @lx.custom_jvp
    def length(x):
        return lx.sqrt(lx.sum(x * x))

    @length.defjvp
    def of_length(primals, tangents):
        y = length(*primals)
        return y, lx.sum(primals[0] * tangents[0]) / lx.where(y == 0, 1.0, y)

    zero = lx.zeros(2)
    assert lx.grad(length)(zero).tolist() == [0, 0]
    hessian = lx.vmap(lambda v: lx.jvp(lx.grad(lambda x: length(x) ** 2 / 2), (lx.asarray([3.0, 4.0]),), (v,))[1])
    same(hessian(lx.eye(2)), np.eye(2, dtype="float32"), 1e-6)


def test_a_rule_may_change_its_arguments():
    def added(x):
        x += 1.0

    def added_to_elements(x):
        x += lx.asarray(1.0)

    def assigned(x):
        x[...] = x + 1.0

    for change in (added, added_to_elements, assigned):

        @lx.custom_jvp
        def square(x):
            return x * x

        @square.defjvp
        def rule(primals, tangents, square=square, change=change):
            x = primals[0]
            y = square(x)
            change(x)
            return y, square(x) * tangents[0]

        value, slope = lx.jvp(square, (lx.asarray(3.0),), (lx.asarray(1.0),))
        assert (value.item(), slope.item()) == (9, 16), change


def test_rules_may_call_their_function_with_other_arguments():
    @lx.custom_jvp
    def ahead(x):
        return lx.sin(x)

    @ahead.defjvp
    def rule(primals, tangents):
        return ahead(*primals), tangents[0] * ahead(primals[0] / 2) * 3

    @lx.custom_vjp
    def behind(x):
        return lx.sin(x)

    behind.defvjp(lambda x: (behind(x), x), lambda x, ct: (ct * behind(x / 2) * 3,))

    def along(f):
        return lambda x: lx.jvp(f, (x,), (lx.ones_like(x),))[1]

    with lx.use_device("cpu"):
        x = lx.asarray(0.7, dtype=lx.float64)
        for f, modes in ((ahead, (along, lx.grad)), (behind, (lx.grad,))):
            for mode in modes:
                found, factor, part = f, 1.0, 0.7
                for order in range(5):
                    same(found(x), np.float64(factor * np.sin(part)), 1e-14)
                    # The derivative of f(x / n) is that of its rule.
                    factor, part, found = factor * 3 / 2**order, part / 2, mode(found)
                # In reverse mode, the call at this depth may be on tangents: the plain operations are transposed.
                assert np.isnan(found(x).item()) or (f, mode) == (ahead, lx.grad)
        mixed = lx.grad(along(lx.grad(ahead)))
        same(mixed(x), np.float64(27 / 8 * np.sin(0.7 / 8)), 1e-14)
        # The value that the forward function returns has the rule, too.
        same(lx.grad(lambda x: lx.value_and_grad(behind)(x)[0])(x), np.float64(3 * np.sin(0.35)), 1e-14)


def test_rules_may_call_their_function_with_tangents():
    @lx.custom_jvp
    def product(x, y):
        return x * y

    @product.defjvp
    def rule(primals, tangents):
        (x, y), (dx, dy) = primals, tangents
        return product(x, y), product(dx, y) + product(x, dy)

    def f(x):
        return lx.sum(product(x, product(x, lx.sin(x))))

    with lx.use_device("cpu"):
        a = random(3, (4,), "float64")
        x = on(a, "cpu")
        wanted = 2 * a * np.sin(a) + a**2 * np.cos(a)
        second = (2 - a**2) * np.sin(a) + 4 * a * np.cos(a)
        third = (6 - a**2) * np.cos(a) - 6 * a * np.sin(a)
        same(lx.grad(f)(x), wanted, 1e-13)
        same(lx.grad(lambda x: lx.sum(lx.grad(f)(x)))(x), second, 1e-13)
        same(lx.jvp(lx.grad(f), (x,), (lx.ones_like(x),))[1], second, 1e-13)
        same(lx.grad(lambda x: lx.jvp(f, (x,), (lx.ones_like(x),))[1])(x), second, 1e-13)
        same(lx.grad(lambda x: lx.sum(lx.jvp(lx.grad(f), (x,), (lx.ones_like(x),))[1]))(x), third, 1e-13)

    # Also through other transformations.
    for through in (lx.jit, lx.checkpoint, lambda f: lambda x, y: lx.cond(x > -9, f, f, x, y)):

        @lx.custom_jvp
        def times(x, y):
            return x * y

        inner = through(times)

        @times.defjvp
        def rule_of_times(primals, tangents):
            (x, y), (dx, dy) = primals, tangents
            return times(x, y), inner(dx, y) + inner(x, dy)

        with lx.use_device("cpu"):
            x = lx.asarray(0.7, dtype=lx.float64)
            slope = np.sin(0.7) + 0.7 * np.cos(0.7)
            same(lx.grad(lambda x: times(x, lx.sin(x)))(x), slope, 1e-13)
            same(lx.jvp(lambda x: times(x, lx.sin(x)), (x,), (lx.ones_like(x),))[1], slope, 1e-13)


def test_functions_of_integers_and_texts_may_have_rules():
    @lx.custom_jvp
    def named(x, k):
        return {"y": x * k.astype(x.dtype), "name": "text", "k": k}

    @named.defjvp
    def rule(primals, tangents):
        x, k = primals
        return named(x, k), {"y": named(2 * tangents[0], k)["y"] / 2, "name": "text", "k": None}

    with lx.use_device("cpu"):
        x, k = lx.asarray(0.5, dtype=lx.float64), lx.asarray(3, dtype=lx.int64)
        assert named(x, k)["name"] == "text"
        same(lx.jvp(lambda x: named(x, k)["y"], (x,), (x,))[1], np.float64(1.5))


def with_power(lx):
    """Returns x^n by custom_vjp and x^n + |x| by custom_jvp, with rules that say 10 times the derivative of x^n."""
    by_vjp = lx.custom_vjp(lambda n, x: x**n, nondiff_argnums=(0,))
    by_vjp.defvjp(lambda n, x: (x**n, x), lambda n, x, ct: (ct * 10 * n * x ** (n - 1),))
    by_jvp = lx.custom_jvp(lambda x, n, shift: x**n + shift(x), nondiff_argnums=(1, 2))

    @by_jvp.defjvp
    def rule(n, shift, primals, tangents):
        (x,), (move,) = primals, tangents
        return by_jvp(x, n, shift), 10 * n * x ** (n - 1) * move

    return by_vjp, lambda n, x: by_jvp(x, n, abs)


def test_rules_of_functions_with_other_arguments_than_arrays():
    a = np.array([1.0, -2.0, 3.0])
    for device in DEVICES:
        x = on(a, device)
        for power, value in zip(with_power(lx), (a**3, a**3 + abs(a)), strict=True):
            same(power(3, x), value, 1e-12)
            slope = lx.grad(lambda x: lx.sum(power(3, x)))
            same(slope(x), 30 * a**2, 1e-12)
            same(lx.jit(slope)(x), 30 * a**2, 1e-12)
            same(lx.vmap(lx.grad(lambda x: power(3, x)))(x), 30 * a**2, 1e-12)
            # The plain derivative of what the rule computes.
            same(lx.grad(lambda x: lx.sum(slope(x)))(x), 60 * a, 1e-12)
        _, found = lx.jvp(lambda x: with_power(lx)[1](2, x), (x,), (x,))
        same(found, 20 * a**2, 1e-12)
        # An array of integers is one of the other arguments; the last one may be counted from the end.
        chosen = lx.custom_vjp(lambda x, i: x[i], nondiff_argnums=-1)
        zeros = lx.zeros(3, dtype=lx.float64, device=device)
        chosen.defvjp(lambda x, i: (x[i], ()), lambda i, _, ct: (lx.scatter(zeros, i, 7 * ct),))
        places = on(np.array([2, 0, 2]), device)
        slope = lambda x, i: lx.grad(lambda x: lx.sum(chosen(x, i)))(x)
        same(slope(x, places), np.array([7.0, 0, 14]))
        same(lx.jit(slope)(x, places), np.array([7.0, 0, 14]))
    power = with_power(lx)[0]
    raises(TypeError, lambda: power(x, x), "custom_vjp()", "nondiff_argnums", "argument 0", "float64[3]")
    wrong = lx.custom_jvp(lambda x: x, nondiff_argnums=1)
    wrong.defjvp(lambda primals, tangents: (primals[0], tangents[0]))
    raises(ValueError, lambda: wrong(x), "custom_jvp()", "nondiff_argnums has 1", "1 arguments")


def test_rules_take_defaults_and_keywords_by_position():
    scaled = lx.custom_vjp(lambda x, n=3: x * n, nondiff_argnums=1)
    scaled.defvjp(lambda x, n: (x * n, ()), lambda n, _, ct: (ct * n * 10,))
    for call, factor in ((scaled, 3), (lambda x: scaled(x, 4), 4), (lambda x: scaled(x, n=5), 5)):
        same(call(lx.asarray(2.0)), np.float32(2 * factor))
        same(lx.grad(call)(lx.asarray(2.0)), np.float32(10 * factor))
    moved = lx.custom_jvp(lambda x, n=3: x * n, nondiff_argnums=(1,))
    moved.defjvp(lambda n, primals, tangents: (primals[0] * n, tangents[0] * n * 10))
    same(lx.grad(lambda x: moved(n=2, x=x))(lx.asarray(2.0)), np.float32(20))
    by_name = lx.custom_vjp(lambda x, *, n: x * n)
    by_name.defvjp(lambda x: (x, ()), lambda _, ct: (ct,))
    raises(TypeError, lambda: by_name(lx.ones(2), n=2), "n: a rule takes arguments by position only")
    raises(TypeError, lambda: scaled(), "missing a required argument")
    wrong = lx.custom_vjp(lambda x, n: x * n, nondiff_argnums=1)
    wrong.defvjp(lambda x, n: (x * n, ()), lambda n, _, ct: (ct, None))
    raises(TypeError, lambda: lx.grad(lambda x: wrong(x, 2))(2.0), "none by arguments in nondiff_argnums")
    raises(NotImplementedError, lambda: lx.grad(lambda y: scaled_by(2.0, y))(3.0), "pass them as arguments")


def scaled_by(x, y):
    rule = lx.custom_vjp(lambda x, n: x * n * y, nondiff_argnums=1)
    rule.defvjp(lambda x, n: (x * n * y, ()), lambda n, _, ct: (ct * n,))
    return rule(x, 2) * y
