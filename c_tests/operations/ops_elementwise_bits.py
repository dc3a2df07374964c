"""Bounds, parts and bits of elements, as ops_test.py compares them."""

import functools

import numpy as np
import ops_reference as reference
import ops_values as values
from ops_cases import Case, Operation, counted, edges, plain, samples, two_samples
from ops_values import DTYPES, KINDS, kind, real


@functools.cache
def three_samples(name):
    """Returns bounds, and values within and beyond them: edges and random values, in any order."""
    pool, random = np.concatenate([edges(name), values.spread(name, 99, 41)]), values.random(42)
    return [random.choice(pool, 3000) for _ in range(3)]


def clamp():
    def call(world, low, x, high):
        return world.make("lxla_clamp", low, x, high)

    def clamped(low, x, high):
        return reference.minimum(reference.maximum(low, x), high)

    def cases(name):
        made = [Case(three_samples(name))]
        if name in ("f32", "s8"):
            shapes = [((), (7, 1, 3), ()), ((3,), (2, 1), (2, 3)), ((1,), (0, 3), ()), ((2,), (), (1,))]
            made += [Case([plain(name, shape, 43 + i) for i, shape in enumerate(of)]) for of in shapes]
        if name == "s16":
            made.append(Case([counted("s8", (3,)), counted("u8", (5, 1)), counted("u8", ())], {}, "s16"))
        return made

    return Operation("clamp", "pred integer float", call, clamped, cases)


def parts():
    def whole(world, re, im):
        return world.make("lxla_complex", re, im)

    def whole_cases(name):
        result = {"f32": "c64", "f64": "c128"}[name]
        made = [
            Case(list(two_samples(name)), {}, result),
            Case([counted(name, (3, 1)), counted(name, (2,))], {}, result),
        ]
        return made + [Case([counted(name, ()), counted("f64", (0,))], {}, "c128")]

    yield Operation("complex", "f32 f64", whole, reference.joined, whole_cases)

    def part_cases(name):
        of = samples(name)
        if kind(name) == "complex":
            of = values.pairs(edges(real(name)), edges(real(name)), DTYPES[name][1])
        return [Case([of], {}, real(name)), Case([counted(name, (2, 0))], {}, real(name))]

    yield Operation("real", "all", lambda world, x: world.make("lxla_real", x), np.real, part_cases, refuses=False)
    yield Operation("imag", "all", lambda world, x: world.make("lxla_imag", x), np.imag, part_cases, refuses=False)


def bitcast():
    def call(world, x, of, to):
        return world.make("lxla_bitcast_convert", x, DTYPES[to][0])

    def bits(x, of, to):
        """Bitcasts; the parts of a wider element are on a last axis of their own, in the operand or in the result."""
        x, to = x.astype(DTYPES[of][1]), DTYPES[to][1]
        if x.itemsize > to.itemsize:
            return x[..., None].view(to)
        return (x[..., None] if x.itemsize == to.itemsize else x).view(to)[..., 0]

    def cases(name):
        if name == "pred":
            return [Case([samples(name)], {"of": name, "to": name})]
        made = []
        for to in KINDS["number"]:
            count = max(DTYPES[to][1].itemsize // DTYPES[name][1].itemsize, 1)
            x = samples(name)[: len(samples(name)) // count * count]
            made.append(Case([x.reshape(-1, count) if count > 1 else x], {"of": name, "to": to}, to))
        if name == "u16":
            made += [
                Case([counted(name, shape)], {"of": name, "to": to}, to) for shape, to in [((0, 2), "f32"), ((), "s8")]
            ]
        return made

    yield Operation("bitcast_convert", "number", call, bits, cases)
    yield Operation("bitcast_convert itself", "pred", call, bits, cases, refuses=False)


# Bits of the exponent and of the mantissa of each dtype.
FORMATS = {"f16": (5, 10), "bf16": (8, 7), "f32": (8, 23), "f64": (11, 52)}


def reduce_precision():
    def call(world, x, of, exponent, mantissa):
        return world.make("lxla_reduce_precision", x, exponent, mantissa)

    def reduced(x, of, exponent, mantissa):
        exponent, mantissa = min(exponent, FORMATS[of][0]), min(mantissa, FORMATS[of][1])
        power = np.frexp(np.where(np.isfinite(x), x, 1))[1]
        # Denormal numbers of the dtype have fewer bits.
        last = np.ldexp(1.0, np.maximum(power - 1, 2 - 2 ** (FORMATS[of][0] - 1)) - mantissa)
        near = np.rint(x / last) * last
        if mantissa == 0:
            # The even one of two powers of 2 has an even exponent, as the dtype writes it.
            near = np.where((np.abs(x / last) == 1.5) & (power % 2 == 0), np.copysign(last, x), near)
        if exponent == FORMATS[of][0]:
            return near
        most, least = 2.0 ** (2 ** (exponent - 1)), 2.0 ** (2 - 2 ** (exponent - 1))
        near = np.where(np.abs(near) >= most, np.copysign(np.inf, near), near)
        return np.where(np.abs(near) < least, np.copysign(0, near), near)

    def cases(name):
        chosen = [(5, 10), (8, 7), (4, 3), (FORMATS[name][0], 2), (2, 0), (30, FORMATS[name][1] - 1), (3, 60)]
        chosen += [(1, 23), (8, 0), (8, 23)] if name == "f32" else []
        return [
            Case([samples(name)], {"of": name, "exponent": exponent, "mantissa": bits}) for exponent, bits in chosen
        ]

    return Operation("reduce_precision", "float", call, reduced, cases)


def bits():
    return [clamp(), *parts(), *bitcast(), reduce_precision()]
