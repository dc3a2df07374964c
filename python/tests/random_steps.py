"""More steps of random_functions.py: indices, ties, dtypes, complex numbers, empty arrays, factors, equal operands, rules."""

import numpy as np

# Of an array that stands twice: rules must not take one operand for the other.
TWICE = (
    "{0} * {0}",
    "{0} / (1 + {0} * {0})",
    "(1.5 + m.sin({0})) ** m.sin({0})",
    "m.logaddexp({0}, {0}) * 0.5",
    "m.atan2({0}, 2 + {0} * {0})",
    "m.hypot(m.tanh({0}) + 2, m.tanh({0}) + 2)",
    "m.where({0} > 0.1, {0}, {0}) * {0}",
    "m.maximum({0}, {0}) * {0}",
)
# Of numbers z and w of one shape, with results of the shape, of modest size.
COMPLEX = (
    "{0} * m.conj({0}) * 0.3",
    "{0} / (2 + m.abs({0}))",
    "m.exp(1j * m.real({0})) * {1}",
    "m.exp({0} / (1 + m.abs({0})))",
    "m.sin({0} / (1 + m.abs({1})))",
    "m.tanh({0} / (2 + m.abs({0})))",
    "m.sqrt(3 + {0} / (1 + m.abs({0})))",
    "m.log(3 + {0} / (2 + m.abs({1})))",
    "m.reciprocal(3 + {0} / (1 + m.abs({0})))",
    "m.where(m.real({0}) > 0.1, {0}, 1j * {1})",
    "m.square({0}) * 0.3 - {1}",
    "({0} / (2 + m.abs({0}))) ** 3",
    "{0} - m.imag({1}) * (0.5 - 1j)",
    "(2 + {0} / (2 + m.abs({0}))) ** ({1} / (2 + m.abs({1})))",
)
ALONG_COMPLEX = (
    "m.cumulative_sum({0}, axis={1}) * 0.5",
    "m.fft.fft({0}, axis={1}) * 0.5",
    "m.fft.ifft({0}, axis={1})",
    "m.roll({0}, 1, axis={1})",
    "{0} - m.sum({0}, axis={1}, keepdims=True) * 0.3",
    "{0} * m.prod({0} / (1 + m.abs({0})), axis={1}, keepdims=True)",
    "{0} * m.linalg.vector_norm({0} + 2j, axis={1}, keepdims=True) * 0.3",
)
REAL = ("m.real({0})", "m.imag({0})", "m.abs({0} + 3j) * 0.5", "m.real({0} * m.conj({0})) * 0.3")
# Of integers and bools: constant nearly everywhere.
COUNTS = (
    "m.sum({0} > 0.1, axis={1}, dtype=m.float64)",
    "m.astype(m.count_nonzero({0} < 0.3, axis={1}), m.float64)",
    "m.astype(m.sum(m.astype({0} * 3, m.int32), axis={1}), m.float64)",
    "m.astype(m.prod(m.astype({0} * 3, m.int8), axis={1}, dtype=m.int64), m.float64)",
    "m.astype(m.any({0} > 0.5, axis={1}), m.float64)",
    "m.astype(m.all({0} > -0.5, axis={1}), m.float64)",
    "m.astype(m.argmin(m.floor({0} * 2), axis={1}), m.float64)",
    "m.real(m.sum({0}, axis={1}, dtype=m.complex128))",
)
SCALARS = (
    "np.float64(0.75) * {0}",
    "{0} - np.float64(0.5)",
    "{0} / np.float64(1.5) + np.float32(0.5)",
    "np.float64(1.5) ** m.tanh({0})",
    "m.where({0} > np.float64(0.2), {0}, np.float64(0.25))",
    "np.float32(1.5) - {0}",
    "m.sin({0}) * m.asarray(np.float64(1.25))",
)
NARROW = (
    "m.astype(m.sin(m.astype({0}, m.float32)), m.float64)",
    "{0} * m.astype(m.cos({0}), m.float32)",
    "m.astype(m.astype({0}, m.float32) * 0.5, m.float64)",
    "m.astype(m.astype(m.cos({0}), m.float32) ** 2 + 1, m.float64)",
    "m.sin({0}) * m.sum({0}, dtype=m.float32) * 0.2",
    "m.real(m.exp(m.astype(m.tanh({0}), m.complex64) * 1j) * m.cos({0}))",
    "m.astype({0}, m.float32) * np.float32(1.5)",
)


class MoreSteps:
    """A part of `Writer`."""

    def key(self, shape, unique):
        """Returns the text of a random key with at most one array of indices, which repeats none if `unique`."""
        rng, parts, has_array = self.rng, [], False
        for size in shape[: rng.randrange(1, len(shape) + 1)]:
            kind = rng.randrange(6)
            if kind == 0:
                parts.append(str(rng.randrange(-size, size)))
            elif kind == 1 and not has_array:
                has_array = True
                count = rng.randrange(1, size + 1)
                rows = rng.sample(range(size), count) if unique else [rng.randrange(size) for _ in range(count)]
                rows = [row - size if rng.random() < 0.3 else row for row in rows]
                parts.append(rng.choice(("m.asarray({})", "np.asarray({})")).format(rows))
            elif kind == 2:
                parts.append(f"{rng.randrange(size)}:")
            elif kind == 3:
                parts.append(f":{rng.randrange(-size, size + 1)}")
            else:
                parts.append(f"::{rng.choice((1, 2, -1, -2))}")
        if rng.random() < 0.3:
            # A `...` before the end would move the entries behind it to other axes.
            more, whole = rng.choice(("None", "...")), len(parts) == len(shape)
            parts.insert(rng.randrange(len(parts) + 1) if more == "None" or whole else len(parts), more)
        return ", ".join(parts)

    @staticmethod
    def selected(shape, key):
        return np.empty(shape)[eval(f"np.s_[{key}]", {"np": np, "m": np})].shape

    def in_place(self, scope):
        x = self.pick(scope)
        y = self.pick(scope, lambda v: self.fits(v.shape, x.shape))
        result = self.let(f"m.sin({x.name})", x.shape, x.tied or y.tied or y.shape != x.shape)
        self.put(f"{result.name} {self.rng.choice(('+=', '-=', '*='))} {y.name}")
        return result

    def assigned(self, scope):
        """A copy with some elements replaced, or changed by an operation in place."""
        x = self.pick(scope, lambda v: len(v.shape) > 0)
        if x is None:
            return None
        if self.rng.random() < 0.2:
            y = self.pick(scope, lambda v: v.shape == x.shape)
            return self.let(
                f"m.put(m.sin({x.name}), {y.name} > 0.2, {self.rng.choice(('0.5', '-2', '0'))})", x.shape, True
            )
        key = self.key(x.shape, True)
        shape = self.selected(x.shape, key)
        y = self.pick(scope, lambda v: self.fits(v.shape, shape))
        value = "0.5" if y is None or self.rng.random() < 0.2 else f"m.cos({y.name})"
        how = self.rng.choice(("put", "put", "put_sum", "put_product"))
        return self.let(f"m.{how}(m.sin({x.name}), m.s[{key}], {value})", x.shape, True)

    @staticmethod
    def fits(shape, place):
        return len(shape) <= len(place) and all(a in (1, b) for a, b in zip(shape[::-1], place[::-1]))

    def read(self, scope):
        x = self.pick(scope, lambda v: len(v.shape) > 0)
        if x is None:
            return None
        key = self.key(x.shape, False)
        shape = self.selected(x.shape, key)
        if 0 in shape:
            return self.let(f"m.sin({x.name}) * (1 + m.sum({x.name}[{key}]))", x.shape, x.tied)
        return self.let(f"{x.name}[{key}]", shape, True)

    def twice(self, scope):
        x = self.pick(scope)
        v = self.let(f"m.sin({x.name})", x.shape, x.tied)
        n = len(x.shape)
        forms = [(text, x.shape) for text in TWICE]
        if n:
            whole = "abcd"[:n]
            forms += [
                ("m.vecdot({0}, {0})", x.shape[:-1]),
                (f"m.tensordot({{0}}, {{0}}, axes={n})", ()),
                (f"m.einsum('{whole},{whole}->{whole[0]}', {{0}}, {{0}})", x.shape[:1]),
                (f"m.einsum('{whole},{whole}->', {{0}}, {{0}})", ()),
                ("m.sum({0} * {0}, axis=-1)", x.shape[:-1]),
                ("m.sum(m.stack([{0}, {0}]) ** 3, axis=0)", x.shape),
            ]
        if n == 1:
            forms += [("{0} @ {0}", ()), ("m.linalg.outer({0}, {0})", x.shape * 2)] * 2
        if n >= 2:
            forms += [("{0} @ m.matrix_transpose({0})", (*x.shape[:-1], x.shape[-2]))] * 2
        if n == 2 and x.shape[0] == x.shape[1]:
            forms += [
                ("{0} @ {0}", x.shape),
                ("m.linalg.solve({0} + 3 * m.eye(len({0}), dtype=m.float64), {0})", x.shape),
            ]
        text, shape = self.rng.choice(forms)
        return self.let(text.replace("len({0})", str(x.shape[0] if n else 0)).format(v.name), shape, True)

    def tied_order(self, scope):
        """Sorts and searches with equal keys: stable, so that the order is defined."""
        x = self.pick(scope, lambda v: len(v.shape) > 0)
        if x is None:
            return None
        y = self.pick(scope, lambda v: v.shape == x.shape)
        rng, axis = self.rng, self.rng.randrange(len(x.shape))
        keys = f"m.floor({x.name} * 1.5)"
        if rng.random() < 0.3 and len(x.shape) == 1:
            side = rng.choice(("left", "right"))
            text = f"m.astype(m.searchsorted(m.sort({keys}), m.floor({y.name}), side='{side}'), m.float64)"
            return self.let(f"{text} * m.cos({y.name})", x.shape, True)
        order = self.fresh("i")
        self.put(f"{order} = m.argsort({keys}, axis={axis}{rng.choice(('', ', descending=True'))})")
        return self.let(f"m.take_along_axis(m.sin({y.name}), {order}, axis={axis})", x.shape, True)

    def counted(self, scope):
        x = self.pick(scope, lambda v: len(v.shape) > 0)
        if x is None:
            return None
        axis = self.rng.randrange(len(x.shape))
        text = self.rng.choice(COUNTS).format(x.name, axis)
        shape = x.shape[:axis] + x.shape[axis + 1 :]
        return self.let(f"{text} * 0.25 + m.sin(m.sum({x.name}, axis={axis}))", shape, True)

    def scalar(self, scope):
        x = self.pick(scope)
        if self.narrow and self.rng.random() < 0.7:
            self.single = True
            return self.let(self.rng.choice(NARROW).format(x.name), x.shape, True)
        return self.let(self.rng.choice(SCALARS).format(x.name), x.shape, True)

    def longer(self, scope):
        """Cumulative sums from 0, and differences: other sizes."""
        x = self.pick(scope, lambda v: len(v.shape) > 0)
        if x is None:
            return None
        axis = self.rng.randrange(len(x.shape))
        shape = list(x.shape)
        if shape[axis] > 1 and self.rng.random() < 0.5:
            shape[axis] -= 1
            return self.let(f"m.diff({x.name}, axis={axis})", shape, True)
        shape[axis] += 1
        return self.let(f"m.cumulative_sum({x.name}, axis={axis}, include_initial=True) * 0.5", shape, True)

    def complex(self, scope):
        x = self.pick(scope)
        y = self.pick(scope, lambda v: v.shape in ((), x.shape))
        z = self.fresh("z")
        form = self.rng.choice(
            ("{0} * (0.5 + 0.3j) + 1j * m.sin({1})", "{0} - m.astype(m.cos({1}), m.complex128) * 1j")
        )
        self.put(f"{z} = {form.format(x.name, y.name)}")
        names, shape = [z], x.shape
        for _ in range(self.rng.randrange(1, 4)):
            z = self.fresh("z")
            forms = [each.format(names[-1], self.rng.choice(names)) for each in COMPLEX]
            if shape:
                axis = self.rng.randrange(len(shape))
                forms += [each.format(names[-1], axis) for each in ALONG_COMPLEX]
            if len(shape) >= 2:
                forms += [f"{names[-1]} @ m.conj(m.matrix_transpose({names[-1]})) @ {names[0]} * 0.1"] * 2
            self.put(f"{z} = {self.rng.choice(forms)}")
            names.append(z)
        return self.let(self.rng.choice(REAL).format(z), shape, True)

    def empty(self, scope):
        x = self.pick(scope, lambda v: len(v.shape) > 0)
        if x is None:
            return None
        forms = [
            "m.concat([{0}[:0], m.sin({0})], axis=0)",
            "m.sin({0}) + m.sum({0}[..., :0], axis=-1, keepdims=True)",
            "m.cos({0}) * m.prod({0}[:0], axis=0)",
            "m.cos({0}) + m.sum(m.sort(m.exp({0}[:0]), axis=0))",
            "m.put({0}, m.s[:0], 7.0)",
            "m.sin({0}) + m.sum(m.vmap(m.sin)({0}[:0]), axis=0)",
            "m.sin({0}) * m.scan(lambda c, r: (c * 2, m.sin(r)), m.cos({0}), {0}[:0])[0]",
        ]
        if len(x.shape) >= 2:
            forms += ["{0} + m.sum({0}[..., :0] @ m.matrix_transpose({0}[..., :0]))"]
        return self.let(self.rng.choice(forms).format(x.name), x.shape, True)

    def matrix(self, scope):
        """A function of a symmetric matrix with eigenvalues above 1."""
        x = self.pick(scope, lambda v: len(v.shape) == 2)
        if x is None:
            return None
        n, k = x.shape
        name = self.fresh()
        wide = f"m.tanh({x.name})"
        self.put(f"{name} = {wide} @ m.matrix_transpose({wide}) / {k} + 2 * m.eye({n}, dtype=m.float64)")
        form = self.rng.choice(
            (
                ("m.linalg.inv({0})", (n, n)),
                ("m.linalg.det({0} * 0.3)", ()),
                ("m.linalg.slogdet({0})[1]", ()),
                ("m.linalg.cholesky({0})", (n, n)),
                (f"m.linalg.solve({{0}}, {x.name})", (n, k)),
                ("m.linalg.trace({0}) * 0.3", ()),
                ("m.linalg.diagonal({0})", (n,)),
                ("m.tril({0})", (n, n)),
                ("m.triu({0}, k=1)", (n, n)),
                ("m.linalg.matrix_norm({0})", ()),
                ("m.linalg.matrix_power({0} * 0.3, 3)", (n, n)),
            )
        )
        return self.let(form[0].format(name), form[1], True)

    def fourier(self, scope):
        x = self.pick(scope, lambda v: len(v.shape) > 0)
        if x is None:
            return None
        axis, part = self.rng.randrange(len(x.shape)), self.rng.choice(("real", "imag"))
        size = x.shape[axis]
        form = self.rng.choice(("fft", "ifft", "rfft"))
        shape = list(x.shape)
        if form == "rfft":
            shape[axis] = size // 2 + 1
        return self.let(f"m.{part}(m.fft.{form}({x.name}, axis={axis})) * 0.5", shape, True)

    def factored(self, scope):
        """Factors of matrices, in batches, too: positive definite, with distinct eigenvalues, or lower triangles."""
        x = self.pick(scope, lambda v: len(v.shape) >= 2)
        if x is None:
            return None
        *batch, n, k = x.shape
        name, wide = self.fresh(), f"m.tanh({x.name})"
        self.put(
            f"{name} = {wide} @ m.matrix_transpose({wide}) / {k} + m.eye({n}, dtype=m.float64) * "
            f"m.arange(2, {4 * n + 2}, 4, dtype=m.float64)"
        )
        form, shape = self.rng.choice(
            (
                ("m.linalg.qr({0})[0]", (n, n)),
                ("m.linalg.qr({0})[1]", (n, n)),
                ("m.linalg.eigvalsh({0})", (n,)),
                ("m.linalg.eigh({0})[1] ** 2", (n, n)),
                ("m.linalg.svdvals({0})", (n,)),
                ("m.linalg.svd({0} + 0.1 * m.tril({0}))[1] * 0.3", (n,)),
                ("m.linalg.pinv({0})", (n, n)),
                ("m.linalg.cholesky({0}, upper=True)", (n, n)),
                (f"m.linalg.solve(m.tril({{0}}), {x.name})", (n, k)),
                (f"m.linalg.solve(m.linalg.cholesky({{0}}), {x.name})", (n, k)),
                ("m.linalg.matrix_norm({0}, ord='nuc')", ()),
                ("m.linalg.matrix_norm({0}, ord=2)", ()),
                ("m.linalg.slogdet({0})[1]", ()),
            )
        )
        return self.let(form.format(name), (*batch, *shape), True)

    def ruled(self, scope, depth):
        """A function with a derivative that is not its own, so that a rule that is not used shows."""
        x = self.pick(scope)
        own, tangent = ("m.cos(a) * 2", "m.cos(a[0]) * 2") if self.scans else ("m.cos(a)", "m.cos(a[0]) * 3")
        factor = "" if self.scans else " * m.tanh(r[0])"
        name, how = self.fresh("f"), "custom_vjp" if self.backward else "custom_jvp"
        self.put(f"{name} = m.{how}(lambda a: m.sin(a) * 2)")
        if how == "custom_vjp":
            self.put(f"{name}.defvjp(lambda a: (m.sin(a) * 2, (a, {own})), lambda r, g: (g * r[1]{factor},))")
        else:
            self.put(f"{name}.defjvp(lambda a, t: ({name}(a[0]), t[0] * {tangent}))")
        return self.let(f"{name}({x.name})", x.shape, x.tied)

    def ruled_by_two(self, scope):
        """A function of two arrays with derivatives that are not its own."""
        x = self.pick(scope)
        y = self.pick(scope, lambda v: v.shape == x.shape)
        name, how = self.fresh("f"), "custom_vjp" if self.backward else "custom_jvp"
        self.put(f"{name} = m.{how}(lambda a, b: m.sin(a) * b)")
        if how == "custom_vjp":
            slopes = "g * m.tanh(r['a']) * r['more'][1], g * m.sin(r['more'][0]) * 2"
            if self.scans:
                slopes = "g * m.cos(r['a']) * r['more'][0], g * m.sin(r['a'])"
            self.put(f"def {name}_forward(a, b):")
            self.put("    return m.sin(a) * b, {'a': a, 'more': (b, m.cos(b))}")
            self.put(f"def {name}_backward(r, g):")
            self.put(f"    return {slopes}")
            self.put(f"{name}.defvjp({name}_forward, {name}_backward)")
        else:
            more = ("t[1] * m.sin(a[0])", f"{name}(a[1], a[0]) * t[1]", f"{name}(a[0], 2 * a[1]) * t[1]")
            slope = "t[0] * m.cos(a[1]) * 3 + " + self.rng.choice(more)
            if self.scans:
                slope = f"t[0] * m.cos(a[0]) * a[1] + {name}(a[0], t[1])"
            self.put(f"def {name}_rule(a, t):")
            self.put(f"    return {name}(*a), {slope}")
            self.put(f"{name}.defjvp({name}_rule)")
        return self.let(f"{name}({x.name}, {y.name})", x.shape, True)

    def counting(self, scope, depth):
        """A scan with a tree of carries, one of them a counter, and without rows or with rows in a dictionary."""
        c, t = self.pick(scope), self.pick(scope)
        a, b = self.parameter(c.shape, True), self.parameter(t.shape, True)
        rows = self.pick(scope, lambda v: len(v.shape) > 0)
        if rows is None or self.rng.random() < 0.5:
            count, arguments, inner = self.rng.choice((1, 2, 3)), "None, 3", []
            arguments = f"None, {count}"
        else:
            count, arguments = rows.shape[0], f"{{'x': {rows.name}, 'n': m.arange({rows.shape[0]})}}"
            inner = [self.parameter(rows.shape[1:], True)]
        name = self.fresh("f")
        self.put(f"def {name}(c, r):")
        self.indent += 1
        self.put(f"({a.name}, n), {b.name} = c['pair'], c['b']")
        for each in inner:
            self.put(f"{each.name} = r['x'] * m.astype(r['n'] + 1, m.float64)")
        self.scans += 1
        result = self.body([*inner, b, a], 3, depth)
        self.scans -= 1
        self.put(
            f"return {{'pair': (m.sin({a.name}) + 0.3 * m.sum(m.tanh({result.name})), n + 1), "
            f"'b': m.cos({b.name}) * m.astype(n, m.float64) * 0.5}}, (n, {result.name})"
        )
        self.indent -= 1
        last, stacked = self.fresh(), self.fresh()
        start = f"{{'pair': ({c.name}, m.asarray(1)), 'b': {t.name}}}"
        reverse = self.rng.choice(("", ", reverse=True"))
        self.put(f"{last}, {stacked} = m.scan({name}, {start}, {arguments}{reverse})")
        kind = self.rng.randrange(3)
        if kind == 0:
            return self.let(f"{last}['pair'][0] * m.astype({last}['pair'][1], m.float64)", c.shape, True)
        if kind == 1:
            return self.let(f"{last}['b'] + m.sum({stacked}[1]) * 0.1", t.shape, True)
        return self.let(f"{stacked}[1]", (count, *result.shape), True)
