"""Writes random functions of arrays as text, for lazyxla and JAX: `written(seed)`.

A text uses `m`, which has the functions of the array API standard, and JAX's names of transformations, loops and
branches. Values are float64, except for counters, masks and indices. They stay within the same few powers of two, so
that derivatives of second order keep most of their digits. Functions with kinks take no array that may have equal
elements: there, derivatives are a matter of convention, which `docs/derivatives.md` states and other tests hold.
"""

import random
from dataclasses import dataclass

from random_steps import MoreSteps

SIZES = (1, 2, 3, 4)
# Of one array: smooth, and bounded or of slow growth for arguments of any size.
SMOOTH = (
    "m.sin({0})",
    "m.cos({0})",
    "m.tanh({0})",
    "m.atan({0})",
    "m.asinh({0})",
    "m.exp(-{0} * {0})",
    "m.exp(m.sin({0}))",
    "m.expm1(m.tanh({0}))",
    "m.log1p({0} * {0})",
    "m.log(1.5 + m.cos({0}))",
    "m.sqrt(1.0 + {0} * {0})",
    "1 / (2 + m.sin({0}))",
    "m.square(m.cos({0}))",
    "m.reciprocal(1.0 + {0}**2)",
    "m.nn.sigmoid({0})",
    "m.nn.gelu({0}, approximate=True)",
    "m.nn.gelu(m.sin({0}), approximate=False)",
    "m.nn.softplus({0}) * 0.5",
    "m.sinh(m.tanh({0}))",
    "m.cosh(m.sin({0}))",
    "m.acos(0.9 * m.sin({0}))",
    "m.asin(0.9 * m.cos({0}))",
    "m.atanh(0.8 * m.tanh({0}))",
    "m.acosh(1.5 + m.square(m.sin({0})))",
    "m.log2(2.0 + m.sin({0}))",
    "m.log10(1.5 + m.cos({0}))",
    "m.tan(m.tanh({0}) * 0.9)",
    "(2.0 + m.cos({0})) ** m.sin({0})",
    "-{0}",
    "{0} * 0.5 + 1",
    "2 - {0}",
    "3.0**m.tanh({0})",
    "m.sin({0}) ** 3",
    "(m.sin({0}) + 1.25) ** -2",
    "m.real(m.exp(m.tanh({0}) * 1j))",
    "m.imag(m.conj(m.tanh({0}) * (0.5 + 1j)) ** 2)",
    "m.abs(m.sin({0}) + 2j)",
)
KINKED = ("m.abs({0})", "m.nn.relu({0})", "m.clip({0}, -0.75, 0.75)", "m.sign({0}) * {0}", "m.floor({0}) + {0} * {0}")
BINARY = (
    "{0} + {1}",
    "{0} - {1}",
    "{0} * m.tanh({1})",
    "m.sin({0}) * m.cos({1})",
    "{0} / (2 + m.sin({1}))",
    "m.atan2({0}, 3.0 + m.cos({1}))",
    "m.hypot({0}, 2.0 + m.sin({1}))",
    "m.logaddexp({0}, {1})",
    "(1.5 + m.sin({0})) ** m.tanh({1})",
    "m.copysign(2.0 + m.cos({0}), {1}) * 0.5",
)
TIED = ("m.maximum({0}, {1})", "m.minimum({0}, {1})", "m.remainder({0}, 2.5 + m.sin({1}))")
# Of an axis: a result of one size less.
REDUCTIONS = ("m.sum({0}, axis={1})", "m.mean({0}, axis={1})", "m.prod(m.cos({0}), axis={1})")
REDUCTIONS += ("m.var({0}, axis={1})", "m.nn.logsumexp({0}, axis={1})", "m.linalg.vector_norm(2.0 + {0}, axis={1})")
EXTREMES = ("m.max({0}, axis={1})", "m.min({0}, axis={1})", "m.std({0}, axis={1})")
ALONG = ("m.cumulative_sum({0}, axis={1}) * 0.5", "m.cumulative_prod(m.cos({0}), axis={1})", "m.flip({0}, axis={1})")
ALONG += ("m.nn.softmax({0}, axis={1})", "m.nn.log_softmax({0}, axis={1})", "m.roll({0}, 1, axis={1})")
ORDERED = ("m.sort({0}, axis={1})", "m.sort({0}, axis={1}, descending=True)")


@dataclass
class Var:
    """An array of the text: its name or a short expression, shape, and whether it may have equal elements."""

    name: str
    shape: tuple
    tied: bool = False
    kind: str = "f"  # f, i (an index below 2) or b


def broadcast(a, b):
    """Returns the shape of a + b, or None."""
    n = max(len(a), len(b))
    a, b = (1,) * (n - len(a)) + a, (1,) * (n - len(b)) + b
    if any(x != y and 1 not in (x, y) for x, y in zip(a, b)):
        return None
    return tuple(y if x == 1 else x for x, y in zip(a, b))


class Writer(MoreSteps):
    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.lines, self.indent, self.count = [], 0, 0
        # while_loop has no reverse mode, and JAX's custom_vjp no forward mode: a function has one of them or neither.
        self.loops = self.backward = False
        # Some functions may convert to float32; `single` says that one does.
        self.narrow = self.single = False
        # JAX loses the rule of a value that a scan returns in derivatives of its vjp: rules there are the true ones.
        self.scans = 0
        self.outer = []  # variables of the functions around this one

    def put(self, line):
        self.lines.append("    " * self.indent + line)

    def fresh(self, letter="v"):
        self.count += 1
        return f"{letter}{self.count}"

    def let(self, expression, shape, tied=False, kind="f"):
        name = self.fresh()
        self.put(f"{name} = {expression}")
        return Var(name, tuple(shape), tied, kind)

    def pick(self, scope, test=lambda v: True):
        """Returns a float array of the scope, a recent one more often; None if there is none."""
        found = [v for v in scope if v.kind == "f" and test(v)]
        if not found:
            return None
        return found[max(self.rng.randrange(len(found)), self.rng.randrange(len(found)))]

    def shape(self, most=3):
        return tuple(self.rng.choice(SIZES) for _ in range(self.rng.randrange(most + 1)))

    # Steps: each returns a new variable, or None if the scope has nothing for it.

    def unary(self, scope):
        x = self.pick(scope)
        if self.rng.random() < 0.2 and not x.tied:
            kinked = self.rng.choice(KINKED)
            return self.let(kinked.format(x.name), x.shape, "relu" in kinked or "clip" in kinked)
        return self.let(self.rng.choice(SMOOTH).format(x.name), x.shape, x.tied)

    def binary(self, scope):
        x = self.pick(scope)
        y = self.pick(scope, lambda v: broadcast(x.shape, v.shape) is not None)
        shape = broadcast(x.shape, y.shape)
        tied = x is y or x.tied or y.tied or x.shape != shape or y.shape != shape
        if x is not y and not x.tied and not y.tied and self.rng.random() < 0.25:
            return self.let(self.rng.choice(TIED).format(x.name, y.name), shape, True)
        return self.let(self.rng.choice(BINARY).format(x.name, y.name), shape, tied)

    def select(self, scope):
        x = self.pick(scope)
        y = self.pick(scope, lambda v: broadcast(x.shape, v.shape) is not None)
        z = self.pick(scope, lambda v: broadcast(broadcast(x.shape, y.shape), v.shape) is not None)
        shape = broadcast(broadcast(x.shape, y.shape), z.shape)
        test = self.rng.choice(("{0} > {1}", "m.logical_and({0} > 0, {1} < 0.5)", "~({0} <= {1})", "m.isfinite({0})"))
        if "{1}" not in test:
            shape = broadcast(x.shape, y.shape)
        test = test.format(x.name, "0.25" if x is z else z.name)
        if not z.shape and y.shape and self.rng.random() < 0.3:
            return self.let(f"m.where({test}, {y.name}, 0.5)", shape, True)
        return self.let(f"m.where({test}, {y.name}, m.sin({x.name}))", shape, True)

    def reduction(self, scope):
        x = self.pick(scope, lambda v: len(v.shape) > 0)
        if x is None:
            return None
        axis = self.rng.randrange(len(x.shape))
        forms = REDUCTIONS
        if not x.tied and x.shape[axis] > 1 and self.rng.random() < 0.4:
            forms = EXTREMES
        text = self.rng.choice(forms).format(x.name, self.rng.choice((axis, axis - len(x.shape))))
        if self.rng.random() < 0.3:
            return self.let(text[:-1] + ", keepdims=True)", x.shape[:axis] + (1,) + x.shape[axis + 1 :], x.tied)
        return self.let(text, x.shape[:axis] + x.shape[axis + 1 :], x.tied)

    def total(self, scope):
        x = self.pick(scope)
        text = self.rng.choice(("m.sum({0})", "m.mean({0})", "m.linalg.vector_norm(2.0 + {0})", "m.nn.logsumexp({0})"))
        return self.let(text.format(x.name), ())

    def along(self, scope):
        x = self.pick(scope, lambda v: len(v.shape) > 0)
        if x is None:
            return None
        axis = self.rng.randrange(len(x.shape))
        if not x.tied and self.rng.random() < 0.4:
            if self.rng.random() < 0.4:
                order = self.let(f"m.argsort({x.name}, axis={axis})", x.shape, kind="order")
                return self.let(f"m.take_along_axis(m.sin({x.name}), {order.name}, axis={axis})", x.shape)
            return self.let(self.rng.choice(ORDERED).format(x.name, axis), x.shape)
        # A softmax of one element is 1.
        return self.let(self.rng.choice(ALONG).format(x.name, axis), x.shape, x.tied or x.shape[axis] == 1)

    def reshaped(self, scope):
        x = self.pick(scope)
        n, rng = len(x.shape), self.rng
        choice = rng.randrange(8)
        if choice == 0:
            axes = rng.sample(range(n), n)
            return self.let(f"m.permute_dims({x.name}, {tuple(axes)})", [x.shape[i] for i in axes], x.tied)
        if choice == 1:
            axis = rng.randrange(n + 1)
            return self.let(f"m.expand_dims({x.name}, axis={axis})", x.shape[:axis] + (1,) + x.shape[axis:], x.tied)
        if choice == 2:
            shape = rng.choice(SIZES[1:]), *x.shape
            return self.let(f"m.broadcast_to({x.name}, {shape})", shape, True)
        if choice == 3 and n:
            return self.let(f"m.reshape({x.name}, (-1,))", [size_of(x.shape)], x.tied)
        if choice == 4 and n:
            axis = rng.randrange(n)
            shape = list(x.shape)
            shape[axis] *= 2
            form = rng.choice(("m.repeat({0}, 2, axis={1})", "m.concat([{0}, m.cos({0})], axis={1})"))
            return self.let(form.format(x.name, axis), shape, True)
        if choice == 5 and n:
            times = [rng.choice((1, 2)) for _ in x.shape]
            shape = [a * b for a, b in zip(x.shape, times)]
            return self.let(f"m.tile({x.name}, {tuple(times)})", shape, True)
        if choice == 6 and n >= 2:
            a, b = rng.sample(range(n), 2)
            shape = list(x.shape)
            shape.insert(b, shape.pop(a))
            return self.let(f"m.moveaxis({x.name}, {a}, {b})", shape, x.tied)
        if choice == 7 and 1 in x.shape:
            axis = x.shape.index(1)
            return self.let(f"m.squeeze({x.name}, axis={axis})", x.shape[:axis] + x.shape[axis + 1 :], x.tied)
        axis = rng.randrange(n + 1)
        other = self.pick(scope, lambda v: v.shape == x.shape)
        shape = x.shape[:axis] + (2,) + x.shape[axis:]
        return self.let(f"m.stack([{x.name}, {other.name}], axis={axis})", shape, True)

    def product(self, scope):
        x = self.pick(scope, lambda v: len(v.shape) >= 1)
        if x is None:
            return None
        choice, k = self.rng.randrange(5), x.shape[-1]
        if choice == 0:
            y = self.pick(scope, lambda v: len(v.shape) == 1 and len(v.shape) <= len(x.shape))
            if y is not None:
                return self.let(f"m.tensordot({x.name}, {y.name}, axes=0) * 0.5", x.shape + y.shape, True)
        if choice == 1:
            y = self.pick(scope, lambda v: v.shape == x.shape)
            return self.let(f"m.vecdot({x.name}, m.sin({y.name})) / {k}", x.shape[:-1], x.tied)
        if choice == 2 and len(x.shape) >= 2:
            letters = "abcdefgh"[: len(x.shape)]
            out = "".join(self.rng.sample(letters, self.rng.randrange(1, len(letters) + 1)))
            y = self.pick(scope, lambda v: v.shape == x.shape)
            shape = [x.shape[letters.index(each)] for each in out]
            return self.let(
                f"m.einsum('{letters},{letters}->{out}', {x.name}, {y.name}) * 0.3", shape, x.tied or y.tied
            )
        if len(x.shape) == 1:
            y = self.pick(scope, lambda v: len(v.shape) in (1, 2) and v.shape[0 if len(v.shape) == 1 else -2] == k)
            return self.let(f"{x.name} @ {y.name} / {k}", y.shape[1:], x.tied or y.tied)
        y = self.pick(scope, lambda v: len(v.shape) == 2 and v.shape[0] == k)
        if y is None:
            return self.let(
                f"{x.name} @ m.matrix_transpose(m.cos({x.name})) / {k}", x.shape[:-1] + x.shape[-2:-1], x.tied
            )
        return self.let(f"{x.name} @ {y.name} / {k}", x.shape[:-1] + y.shape[1:], x.tied or y.tied)

    def index(self, scope):
        x = self.pick(scope, lambda v: len(v.shape) > 0)
        if x is None:
            return None
        rng, n = self.rng, len(x.shape)
        choice = rng.randrange(7)
        if choice == 0:
            axis = rng.randrange(n)
            i = rng.randrange(-x.shape[axis], x.shape[axis])
            key = ", ".join([":"] * axis + [str(i)])
            return self.let(f"{x.name}[{key}]", x.shape[:axis] + x.shape[axis + 1 :], x.tied)
        if choice == 1:
            key, shape = [], []
            for size in x.shape:
                step = rng.choice((1, 1, 2, -1, -2))
                at = slice(None, None, step) if rng.random() < 0.5 else slice(rng.randrange(size), None, step)
                key.append(f"{'' if at.start is None else at.start}::{step}")
                shape.append(len(range(size)[at]))
            return self.let(f"{x.name}[{', '.join(key)}]", shape, x.tied)
        if choice == 2:
            return self.let(f"{x.name}[None, ..., None]", (1, *x.shape, 1), x.tied)
        if choice == 3:
            most, count = x.shape[0], rng.choice(SIZES)
            places = [rng.randrange(most) for _ in range(count)]
            return self.let(f"m.take({x.name}, m.asarray({places}), axis=0)", (count, *x.shape[1:]), True)
        if choice == 4 and not x.tied:
            i = self.fresh("i")
            self.put(f"{i} = m.argmax(m.reshape({x.name}, ({x.shape[0]}, -1))[:, 0])")
            return self.let(f"m.sin({x.name})[{i}]", x.shape[1:], x.tied)
        if choice == 5:
            at = rng.randrange(x.shape[0])
            y = self.pick(scope, lambda v: v.shape == x.shape[1:])
            value = "0.5" if y is None else f"m.cos({y.name})"
            return self.let(f"m.put({x.name}, {at}, {value})", x.shape, True)
        rows = [rng.randrange(x.shape[0]) for _ in range(2)]
        if n >= 2 and rng.random() < 0.5:
            columns = [rng.randrange(-x.shape[1], x.shape[1]) for _ in range(2)]
            return self.let(f"{x.name}[m.asarray({rows}), m.asarray({columns})]", (2, *x.shape[2:]), True)
        return self.let(f"{x.name}[..., m.asarray({[i % x.shape[-1] for i in rows]})]", (*x.shape[:-1], 2), True)

    # Nested functions.

    def define(self, parameters, scope, steps, depth, wanted=None, captures=True):
        """Writes a function, and returns its name, and its result, which has the shape `wanted` if that is given."""
        name = self.fresh("f")
        self.put(f"def {name}({', '.join(v.name for v in parameters)}):")
        self.indent += 1
        inner = list(parameters)
        if captures and self.rng.random() < 0.6:
            inner = [each for each in [self.pick(scope)] if each is not None] + inner
        result = self.body(inner, steps, depth)
        if wanted is not None and result.shape != wanted:
            result = self.let(f"m.sum({result.name}) * 0.25 + m.zeros({wanted}, dtype=m.float64)", wanted, True)
        self.put(f"return {result.name}")
        self.indent -= 1
        return name, result

    def parameter(self, shape, tied=False):
        return Var(self.fresh("a"), tuple(shape), tied)

    def nested(self, scope, depth):
        kinds = [
            self.mapped,
            self.gradient,
            self.pulled,
            self.wrapped,
            self.scanned,
            self.branch,
            self.ruled,
            self.counting,
        ]
        kinds += [self.forward] * (not self.backward) + [self.repeated] * (3 * self.loops)
        return self.rng.choice(kinds)(scope, depth)

    def mapped(self, scope, depth):
        x = self.pick(scope, lambda v: len(v.shape) > 0)
        if x is None:
            return None
        axis, y = self.rng.randrange(len(x.shape)), self.pick(scope)
        size = x.shape[axis]
        a, b = self.parameter(x.shape[:axis] + x.shape[axis + 1 :], x.tied), self.parameter(y.shape, y.tied)
        f, result = self.define([a, b], scope, 3, depth)
        out = self.rng.randrange(len(result.shape) + 1)
        shape = result.shape[:out] + (size,) + result.shape[out:]
        return self.let(f"m.vmap({f}, in_axes=({axis}, None), out_axes={out})({x.name}, {y.name})", shape, True)

    def gradient(self, scope, depth):
        x, y = self.pick(scope), self.pick(scope)
        a, b = self.parameter(x.shape, x.tied), self.parameter(y.shape, y.tied)
        loops, self.loops = self.loops, False
        f, _ = self.define([a, b], scope, 3, depth, ())
        self.loops = loops
        if self.rng.random() < 0.5:
            return self.let(f"m.tanh(m.grad({f})({x.name}, {y.name}))", x.shape, True)
        pair = self.fresh()
        self.put(f"{pair} = m.value_and_grad({f}, argnums=1)({x.name}, {y.name})")
        return self.let(f"{pair}[0] * 0.5 + m.sin({pair}[1])", y.shape, True)

    def forward(self, scope, depth):
        x = self.pick(scope)
        t = self.pick(scope, lambda v: v.shape == x.shape)
        a = self.parameter(x.shape, x.tied)
        f, result = self.define([a], scope, 3, depth)
        pair = self.fresh()
        self.put(f"{pair} = m.jvp({f}, ({x.name},), (m.cos({t.name}),))")
        return self.let(f"{pair}[0] * 0.5 + m.tanh({pair}[1])", result.shape, True)

    def pulled(self, scope, depth):
        x = self.pick(scope)
        a = self.parameter(x.shape, x.tied)
        loops, self.loops = self.loops, False
        f, result = self.define([a], scope, 3, depth)
        self.loops = loops
        value, pull = self.fresh(), self.fresh("p")
        self.put(f"{value}, {pull} = m.vjp({f}, {x.name})")
        return self.let(f"m.tanh({pull}(m.cos({value}))[0])", x.shape, True)

    def wrapped(self, scope, depth):
        x = self.pick(scope)
        a = self.parameter(x.shape, x.tied)
        f, result = self.define([a], scope, 4, depth)
        how = self.rng.choice(("jit", "checkpoint", "jit", "checkpoint", "stop"))
        if how == "stop":
            return self.let(f"{f}(m.stop_gradient({x.name})) + {f}({x.name})", result.shape, True)
        return self.let(f"m.{how}({f})({x.name})", result.shape, result.tied)

    def scanned(self, scope, depth):
        c = self.pick(scope)
        x = self.pick(scope, lambda v: len(v.shape) > 0)
        if x is None:
            return None
        a, b = self.parameter(c.shape, True), self.parameter(x.shape[1:], x.tied)
        name = self.fresh("f")
        self.put(f"def {name}({a.name}, {b.name}):")
        self.indent += 1
        inner = [each for each in [self.pick(scope)] if self.rng.random() < 0.5] + [a, b]
        self.scans += 1
        result = self.body(inner, 3, depth)
        self.scans -= 1
        after = result.name if result.shape == c.shape else f"m.sum(m.tanh({result.name})) * 0.25"
        self.put(f"return m.sin({a.name}) + 0.5 * {after}, {result.name}")
        self.indent -= 1
        last, all_ = self.fresh(), self.fresh()
        reverse = self.rng.choice(("", ", reverse=True"))
        self.put(f"{last}, {all_} = m.scan({name}, {c.name}, {x.name}{reverse})")
        stacked = Var(all_, (x.shape[0], *result.shape), True)
        return self.rng.choice((Var(last, c.shape, True), stacked))

    def branch(self, scope, depth):
        x, y = self.pick(scope), self.pick(scope)
        a = self.parameter(x.shape, x.tied)
        f, result = self.define([a], scope, 2, depth)
        functions = [f]
        for _ in range(self.rng.choice((1, 2))):
            functions.append(self.define([a], scope, 2, depth, result.shape)[0])
        if len(functions) == 2:
            text = f"m.cond(m.sum({y.name}) > 0.1, {functions[0]}, {functions[1]}, {x.name})"
        else:
            i = self.fresh("i")
            self.put(f"{i} = m.astype(m.floor(m.sum(m.sin({y.name}) + 1.5)), m.int32)")
            text = f"m.switch({i}, [{', '.join(functions)}], {x.name})"
        return self.let(text, result.shape, True)

    def repeated(self, scope, depth):
        """A loop whose number of repetitions depends on values."""
        x, y = self.pick(scope), self.pick(scope)
        n, a = self.fresh("n"), self.parameter(x.shape, x.tied)
        name = self.fresh("f")
        self.put(f"def {name}(s):")
        self.indent += 1
        self.put(f"{n}, {a.name} = s")
        result = self.body([a], 2, depth)
        after = result.name if result.shape == x.shape else f"m.sum(m.tanh({result.name})) * 0.25"
        self.put(f"return {n} + 1, m.cos({a.name}) + 0.5 * {after}")
        self.indent -= 1
        start = f"(m.asarray(0, dtype=m.int32), {x.name})"
        limit = self.fresh()
        self.put(f"{limit} = m.sum(m.sin({y.name}))")
        test = f"lambda s: m.logical_and(s[0] < 4, m.sum(s[1]) * 0.1 + m.astype(s[0], m.float64) < 2.5 + {limit})"
        return self.let(f"m.while_loop({test}, {name}, {start})[1]", x.shape, True)

    def body(self, scope, steps, depth):
        """Writes steps, and returns the last variable."""
        scope = list(scope)
        plain = (self.unary, self.binary, self.reduction, self.along, self.reshaped, self.product, self.index)
        plain += (self.unary, self.binary, self.select, self.total, self.in_place)
        plain += (self.assigned, self.read, self.twice, self.tied_order, self.counted, self.scalar, self.longer)
        plain += (self.complex, self.ruled_by_two)
        rare = (self.matrix, self.fourier, self.factored, self.factored, self.empty, self.empty)
        result = None
        for _ in range(steps):
            for _ in range(20):
                if depth > 0 and self.rng.random() < 0.25:
                    result = self.nested(scope, depth - 1)
                else:
                    result = self.rng.choice(plain if self.rng.random() < 0.87 else rare)(scope)
                if result is not None:
                    break
            if size_of(result.shape) > 64 or len(result.shape) > 4:
                result = self.let(f"m.mean({result.name}, axis=0)", result.shape[1:], result.tied)
            if size_of(result.shape) > 64 or len(result.shape) > 4:
                result = self.let(f"m.mean({result.name})", (), result.tied)
            scope.append(result)
        return result


def size_of(shape):
    size = 1
    for each in shape:
        size *= each
    return size


@dataclass
class Written:
    """A random function `f(x, y)` as text; it returns a dictionary of arrays."""

    text: str
    shapes: tuple
    has_reverse: bool
    has_forward: bool
    single: bool  # some of it is computed in float32


def written(seed):
    """Returns the random function of a seed. Some have loops that cannot be differentiated in reverse, others functions
    that JAX cannot differentiate forward."""
    writer = Writer(seed)
    kind = writer.rng.random()
    writer.loops, writer.backward = kind < 0.1, kind > 0.85
    writer.narrow = writer.rng.random() < 0.15
    shapes = writer.shape(), writer.shape()
    writer.put("def f(x, y):")
    writer.indent = 1
    scope = [Var("x", shapes[0]), Var("y", shapes[1])]
    first = writer.body(scope, writer.rng.choice((2, 3, 4, 5)), 2)
    last = writer.body([*scope, first], writer.rng.choice((1, 2, 3)), 1)
    writer.put(f"return {{'first': {first.name}, 'last': [{last.name}, x * 0.5]}}")
    text = "\n".join(writer.lines) + "\n"
    return Written(text, shapes, "while_loop" not in text, "custom_vjp" not in text, writer.single)
