"""Elementwise operations, as ops_test.py compares them."""

import functools
from ctypes import byref

import numpy as np
import ops_reference as reference
import ops_values as values
from header import constants, family
from ops_cases import Case, Operation, counted, edges, plain, samples, scalar_of, two_samples
from ops_values import DTYPES, kind

UNARY, BINARY, COMPARE = family("UNARY"), family("BINARY"), family("COMPARE")

SHAPES = [(), (1,), (0,), (3, 0, 2), (7, 1, 3)]


def unary_cases(name):
    return [Case([samples(name)])]


# Operations on complex numbers that are compared beside branch cuts and for infinite parts.
AT_INFINITY = ["abs", "log", "log_plus_one", "sqrt", "conj", "is_finite", "is_nan", "is_inf", "asin", "acos", "atan"]
AT_INFINITY += ["asinh", "acosh", "atanh"]


def unary(name, takes, function):
    def call(world, x):
        return world.make("lxla_unary", UNARY[name], x)

    def cases(dtype):
        shaped = SHAPES if (name, dtype) in (("negate", "s8"), ("tanh", "f32")) else []
        made = unary_cases(dtype) + [Case([plain(dtype, shape, 4)]) for shape in shaped]
        return made + [Case([values.infinite(dtype)])] if name in AT_INFINITY and kind(dtype) == "complex" else made

    return Operation(name, takes, call, function, cases)


def pred_result(cases):
    def changed(name):
        return [Case(case.arrays, case.given, "pred") for case in cases(name)]

    return changed


def unaries():
    made = [
        unary("negate", "number", lambda x: -x),
        unary("abs", "integer float complex", lambda x: np.hypot(x.real, x.imag) if x.dtype.kind == "c" else np.abs(x)),
        unary("sign", "integer float complex", reference.sign),
        unary("exponential", "float complex", np.exp),
        unary("exponential_minus_one", "float complex", reference.expm1),
        unary("log", "float complex", reference.log),
        unary("log_plus_one", "float complex", reference.log1p),
        unary("logistic", "float complex", reference.logistic),
        unary("tanh", "float complex", np.tanh),
        unary("sqrt", "float complex", np.sqrt),
        unary("rsqrt", "float complex", reference.rsqrt),
        unary("cbrt", "float", np.cbrt),
        unary("sine", "float complex", np.sin),
        unary("cosine", "float complex", np.cos),
        unary("tan", "float complex", np.tan),
        unary("floor", "integer float", reference.whole(np.floor)),
        unary("ceil", "integer float", reference.whole(np.ceil)),
        unary("round_nearest_even", "integer float", reference.whole(np.rint)),
        unary("round_nearest_afz", "integer float", reference.whole(reference.round_away)),
        unary("not", "pred integer", np.invert),
        unary("popcnt", "integer", reference.popcnt),
        unary("count_leading_zeros", "integer", reference.leading_zeros),
        unary("trunc", "integer float", reference.whole(np.trunc)),
        unary("log2", "float complex", reference.log2),
        unary("log10", "float complex", reference.log10),
        unary("conj", "number", np.conj),
        unary("is_finite", "all", np.isfinite),
        unary("is_nan", "all", np.isnan),
        unary("is_inf", "all", np.isinf),
        unary("signbit", "integer float", lambda x: np.signbit(x) if x.dtype.kind == "f" else x < 0),
    ]
    for operation in made[-4:]:
        operation.cases = pred_result(operation.cases)
    of_abs = made[1].cases
    made[1].cases = lambda name: [Case(case.arrays, {}, values.real(name)) for case in of_abs(name)]
    return made


BROADCASTS = [
    ((), ()),
    ((1,), (5,)),
    ((0,), (1,)),
    ((2, 1, 3), (4, 1)),
    ((7, 1), (1, 0)),
    ((3, 40), (1, 40)),
    ((3, 1), (3, 40)),
]
PROMOTIONS = [("s8", "u8", "s16"), ("u32", "s32", "s64"), ("f16", "bf16", "f32"), ("bf16", "f64", "f64")]
PROMOTIONS += [
    ("f32", "c64", "c64"),
    ("f64", "c64", "c128"),
    ("f16", "f32", "f32"),
    ("u8", "u16", "u16"),
    ("s64", "u8", "s64"),
]


def logaddexp(a, b):
    """Returns NumPy's logaddexp; of complex numbers, with the imaginary part between -pi and pi."""
    if np.result_type(a, b).kind != "c":
        return np.logaddexp(a, b)
    less = np.real(a) < np.real(b)
    large, small = np.where(less, b, a), np.where(less, a, b)
    made = large + reference.log1p(np.exp(small - large))
    turn = 8 * np.arctan(np.ones((), made.real.dtype))
    return reference.joined(made.real, made.imag - turn * np.round(made.imag / turn))


def logaddexp_cases(name):
    if kind(name) != "complex":
        return binary_cases(name)
    return [Case([3 * plain(name, (999,), 13), 3 * plain(name, (999,), 14)])]


def binary_cases(name):
    return [Case(list(two_samples(name)))]


def shaped_cases(name):
    """Returns the binary cases, and operands that broadcast, and that promote to the dtype."""
    cases = binary_cases(name)
    if name in ("f32", "s8"):
        cases += [Case([plain(name, a, 5), plain(name, b, 6)]) for a, b in BROADCASTS]
    pairs = [(a, b) for a, b, common in PROMOTIONS if common == name and {a, b} <= DTYPES.keys()]
    return cases + [Case([plain(a, (3, 5), 7), plain(b, (5,), 8)], {}, name) for a, b in pairs]


def in_common(function):
    """Applies a function to operands after promotion."""

    def promoting(*arrays):
        if arrays[0].dtype.kind in "iu":
            return function(*(array.astype(np.result_type(*arrays)) for array in arrays))
        return function(*arrays)

    return promoting


def binaries():
    rows = [
        ("add", "number", np.add),
        ("subtract", "number", np.subtract),
        ("multiply", "number", np.multiply),
        ("divide", "number", reference.divide),
        ("remainder", "integer float", reference.remainder),
        ("power", "number", reference.power),
        ("maximum", "pred integer float", reference.maximum),
        ("minimum", "pred integer float", reference.minimum),
        ("atan2", "float", np.arctan2),
        ("and", "pred integer", np.bitwise_and),
        ("or", "pred integer", np.bitwise_or),
        ("xor", "pred integer", np.bitwise_xor),
        ("shift_left", "integer", functools.partial(reference.shift, how="left")),
        ("shift_right_arithmetic", "integer", functools.partial(reference.shift, how="arithmetic")),
        ("shift_right_logical", "integer", functools.partial(reference.shift, how="logical")),
        ("floor_divide", "integer float", np.floor_divide),
        ("modulo", "integer float", np.remainder),
        ("copysign", "float", np.copysign),
        ("hypot", "float", np.hypot),
        ("logaddexp", "float complex", logaddexp),
    ]
    for name, takes, function in rows:
        yield binary(name, takes, in_common(function) if name in ("add", "modulo") else function)
        yield from scalars_on(name, takes, function)


def power_cases(name):
    """Returns complex numbers of moderate size: the errors of larger ones are those of their logarithms, times the
    exponent."""
    if kind(name) != "complex":
        return binary_cases(name)
    line = np.array([0, 1, -1, 1j, 2, -0.5, 1 + 1j, 2 - 1j, -2 - 1j, 0.25j], DTYPES[name][1])
    both = [np.repeat(line, len(line)), np.tile(line, len(line))]
    return [Case([np.concatenate([a, values.plain(name, 999, seed)]) for seed, a in enumerate(both)])]


def modulo_cases(name):
    """Returns cases without divisors so small that the remainder is denormal: XLA would return 0."""
    cases = shaped_cases(name)
    if kind(name) == "float" and name != "f16":
        a, b = cases[0].arrays
        least, _, eps = reference.limits(name)
        large = ~(np.abs(b.astype(np.float64)) < least / eps) | (b == 0)
        cases[0] = Case([a[large], b[large]])
    return cases


def binary(name, takes, function):
    def call(world, a, b):
        return world.make("lxla_binary", BINARY[name], a, b)

    cases = {
        "add": shaped_cases,
        "hypot": shaped_cases,
        "modulo": modulo_cases,
        "power": power_cases,
        "logaddexp": logaddexp_cases,
    }.get(name, binary_cases)
    scale = {"logaddexp": larger, "power": reference.power_scale}.get(name)
    made = Operation(name, takes, call, function, cases, scale=scale)
    if name in ("maximum", "minimum"):
        # For denormal numbers, which may count as 0, and for 0, either order is allowed.
        made.in_order = lambda a, b, x, y: [np.where(x == y, which, function(a, b)) for which in (a, b)]
    return made


def larger(a, b):
    """Returns the size of the terms that cancel in a sum of logarithms."""
    return np.maximum(np.abs(a), np.abs(b))


# Scalars, which are constants of the program and may be simplified by XLA: by operation, or for all.
SCALARS = {
    "divide": [0, 1, 3, np.inf],
    "power": [0, 1, 2, 3, -1, 0.5, np.nan],
    "add": [0, -0.0, 3],
    "multiply": [0, 1, -1, 2],
    "maximum": [np.inf, -0.0, np.nan],
    "floor_divide": [0, 1, -3, 0.1, np.inf],
    "modulo": [0, 1, -3, 0.1, -np.inf],
    "copysign": [-0.0, np.nan],
}


def scalars_on(name, takes, function):
    """Returns the scalar form of an operation on some dtypes: a scalar is a constant of the tensor's dtype, and the
    reference is that of two tensors."""

    def operation(left):
        def call(world, x, value):
            return world.make("lxla_binary_with_scalar", BINARY[name], x, byref(scalar_of(value)), left)

        def of_wide(x, value):
            value = np.array([value]).astype(np.result_type(x.dtype, value.dtype))
            return function(value, x) if left else function(x, value)

        def cases(dtype):
            if name == "logaddexp" and kind(dtype) == "complex":
                return []
            if dtype not in ("f32", "s32", "pred", ("u64", "bf16")[left], ("f64", "c64")[left]):
                return []
            chosen = SCALARS.get(name, [3]) if dtype == "f32" else [1] if dtype == "pred" else [3]
            return [Case([edges(dtype)], {"value": value}) for value in np.array(chosen, DTYPES[dtype][1])]

        def power_scale(x, value):
            return reference.power_scale(value, x) if left else reference.power_scale(x, value)

        scale = {"logaddexp": lambda x, value: larger(x, np.longdouble(value)), "power": power_scale}.get(name)
        return Operation(f"scalar {name}" if left else f"{name} scalar", takes, call, of_wide, cases, scale)

    return operation(0), operation(1)


def compares():
    rows = [
        ("EQ", "all", np.equal),
        ("NE", "all", np.not_equal),
        ("GE", "pred integer float", np.greater_equal),
        ("GT", "pred integer float", np.greater),
        ("LE", "pred integer float", np.less_equal),
        ("LT", "pred integer float", np.less),
    ]
    for name, takes, function in rows:
        yield compare(name, takes, function)
        yield compare_total_order(name, function)


def compare(name, takes, function):
    def call(world, a, b):
        return world.make("lxla_compare", COMPARE[name.lower()], a, b)

    cases = shaped_cases if name == "LE" else binary_cases
    return Operation("compare " + name, takes, call, function, pred_result(cases))


def compare_total_order(name, function):
    def call(world, a, b):
        return world.make("lxla_compare_total_order", COMPARE[name.lower()], a, b)

    def reference_(a, b):
        if a.dtype.kind in "biu":
            return function(a, b)
        a, b = np.broadcast_arrays(a, b)
        # NaN of either sign, then the number, then the sign of a zero.
        ranks = lambda x: [
            np.where(np.isnan(x), np.where(np.signbit(x), -1, 1), 0),
            np.where(np.isnan(x), 0, x),
            ~np.signbit(x),
        ]
        order = 0
        for own, other in reversed([*zip(ranks(a), ranks(b))]):
            order = np.where(own < other, -1, np.where(own > other, 1, order))
        return function(order, 0)

    return Operation("compare_total_order " + name, "pred integer float", call, reference_, pred_result(binary_cases))


def select():
    def cases(name):
        pred = counted("pred", (6, 1))
        made = [Case([counted("pred", (17,)), plain(name, (17,), 1), plain(name, (17,), 2)])]
        made += [Case([pred, edges(name)[:1], plain(name, (1, 4), 3)])]
        made += [
            Case([counted("pred", ()), plain(name, (2,), 1), plain(name, (2,), 2)]),
            Case([counted("pred", (0,)), plain(name, (0,), 1), plain(name, (1,), 1)]),
        ]
        return [Case(case.arrays, {}, name) for case in made]

    def call(world, pred, a, b):
        return world.make("lxla_select", pred, a, b)

    return Operation("select", "all", call, np.where, cases)


def convert():
    def call(world, x, to):
        return world.make("lxla_convert", x, DTYPES[to][0])

    def cases(name):
        return [Case([samples(name)], {"to": to}, to) for to in DTYPES]

    return Operation("convert", "all", call, lambda x, to: reference.convert(x, to), cases)


def scalar_compares():
    def call(world, x, value, left):
        if left is None:
            return world.make("lxla_compare_scalar", constants.COMPARE_LT, x, float(value))
        return world.make("lxla_compare_with_scalar", constants.COMPARE_LT, x, byref(scalar_of(value)), left)

    def less(x, value, left):
        value = np.array(value).astype(x.dtype)
        return value < x if left else x < value

    def cases(name):
        value = edges(name)[-1] if kind(name) != "float" else DTYPES[name][1].type(2.5)
        made = [
            Case([samples(name)], {"value": value, "left": left}, "pred")
            for left in ((0, 1) if name in ("f32", "u64") else (0,))
        ]
        return made + [Case([samples(name)], {"value": DTYPES[name][1].type(1), "left": None}, "pred")]

    return Operation("compare_scalar", "pred integer float", call, less, cases)


def elementwise():
    return [*unaries(), *binaries(), *compares(), scalar_compares(), select(), convert()]
