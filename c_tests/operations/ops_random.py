"""Random numbers, as ops_test.py compares them: with those that NumPy makes of the same counters.

The generators are those of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (SC 2011). Numbers of a key are
JAX's; the state and the order of elements of rng_bit_generator are XLA's."""

import functools
import math
from statistics import NormalDist

import numpy as np
import ops_reference_erf as exact
from ctypes_test import Tensor
from header import constants
from ops_cases import Case, Operation, counted, ints, plain
from ops_values import DTYPES, NAMES, kind


THREE_FRY, PHILOX = constants.RNG_THREE_FRY, constants.RNG_PHILOX
SHAPES = [(3, 401), (2, 3, 5), (), (1,), (3, 0), (5, 2)]
KEYS = [(0, 42), (2**32 - 1, 7)]


# Counter-based generators: a block of 32-bit words for a key and a counter, in arrays of 64 bits.

LOW = np.uint64(2**32 - 1)


def threefry(key, high, low):
    """Returns two words for each counter (Threefry, twenty rounds)."""
    keys = [np.uint64(word) for word in (key[0], key[1], key[0] ^ key[1] ^ 0x1BD11BDA)]
    a, b = high + keys[0] & LOW, low + keys[1] & LOW
    for group in range(5):
        for turn in [(13, 15, 26, 6), (17, 29, 16, 24)][group % 2]:
            a = a + b & LOW
            b = (b << np.uint64(turn) | b >> np.uint64(32 - turn)) & LOW ^ a
        a = a + keys[(group + 1) % 3] & LOW
        b = b + keys[(group + 2) % 3] + np.uint64(group + 1) & LOW
    return a, b


def philox(key, words):
    """Returns four words for each counter of four words (Philox, ten rounds)."""
    for turn in range(10):
        k = [np.uint64((word + turn * step) % 2**32) for word, step in zip(key, (0x9E3779B9, 0xBB67AE85))]
        first, second = words[0] * np.uint64(0xD2511F53), words[2] * np.uint64(0xCD9E8D57)
        high = np.uint64(32)
        words = [second >> high ^ words[1] ^ k[0], second & LOW, first >> high ^ words[3] ^ k[1], first & LOW]
    return words


def halves(number):
    return number & 2**32 - 1, number >> 32


def counters(count, start):
    """Returns the words of the counters start, start + 1, ..., the lowest word first."""
    numbers = [(start + i) % 2**128 for i in range(count)]
    return [np.array([number >> shift & 2**32 - 1 for number in numbers], np.uint64) for shift in (0, 32, 64, 96)]


def joined(low, high):
    return high << np.uint64(32) | low


def philox_numbers(key, counter, count, wide):
    """Returns numbers of 32 or 64 bits in a row, and the number of blocks used."""
    blocks = -(-count // (2 if wide else 4))
    words = np.stack(philox(halves(key), counters(blocks, counter)), 1).ravel()
    return (joined(words[0::2], words[1::2]) if wide else words)[:count], blocks


def xla_threefry(key, counter, shape, wide):
    """The two words of a block are one wide number, or lie side by side on an axis: the first even one, else the
    longest."""
    if wide:
        blocks = int(np.prod(shape))
        words = counters(blocks, counter)
        return joined(*threefry(halves(key), words[0], words[1])).reshape(shape), blocks
    shape = shape or (1,)
    axis = next((i for i, dim in enumerate(shape) if dim % 2 == 0), shape.index(max(shape)))
    half = [-(-dim // 2) if i == axis else dim for i, dim in enumerate(shape)]
    words = counters(int(np.prod(half)), counter)
    both = np.stack([word.reshape(half) for word in threefry(halves(key), words[0], words[1])], axis + 1)
    spread = both.reshape([2 * dim if i == axis else dim for i, dim in enumerate(half)])
    return spread.take(range(shape[axis]), axis), int(np.prod(half))


def as_dtype(numbers, name):
    """Returns the low bits as elements of a dtype."""
    size = DTYPES[name][1].itemsize
    return numbers.astype(f"u{size}").view(DTYPES[name][1])


# The generator with a state.


@functools.cache
def numbers_of(values, dtype):
    return np.array(values, dtype)


def described(world, like):
    dtype, shape = world.type(like)
    return DTYPES[NAMES[dtype]][0], ints(shape), len(shape)


def generator():
    def call(world, like, of, algorithm, state, result):
        state = world.put(numbers_of(state, "u8"))
        return world.one_of("lxla_rng_bit_generator", 2, result, algorithm, state, *described(world, like))

    def generated(like, of, algorithm, state, result):
        key, counter, wide = state[0], state[1], DTYPES[of][1].itemsize == 8
        if algorithm == PHILOX:
            # With two words of state, the key is also the high word of the counter.
            counter += (state[2] if len(state) == 3 else key) << 64
            numbers, blocks = philox_numbers(key, counter, like.size, wide)
        else:
            numbers, blocks = xla_threefry(key, counter, like.shape, wide) if like.size else (np.zeros(0, "u8"), 0)
        words = [key, (counter + blocks) % 2**64, (counter + blocks >> 64) % 2**64]
        return np.array(words[: len(state)], "u8") if result == 0 else as_dtype(numbers.reshape(like.shape), of)

    def cases(name):
        states = [(THREE_FRY, (7, 2**64 - 5)), (PHILOX, (7, 2**64 - 5)), (PHILOX, (2**64 - 1, 2**64 - 3, 9))]
        made = []
        for shape in SHAPES if name == "u32" else SHAPES[1:3] if name == "u64" else SHAPES[1:2]:
            for algorithm, state in states if kind(name) == "unsigned" else states[:2]:
                given = {"of": name, "algorithm": algorithm, "state": state}
                made += [Case([counted(name, shape)], given | {"result": 1})]
                made += [Case([counted(name, shape)], given | {"result": 0}, "u64")] if name in ("u32", "u64") else []
        return made

    return Operation("rng_bit_generator", "integer float", call, generated, cases)


# Random numbers from a key.


def bits(shape, name, algorithm, key):
    """Returns an unsigned integer of the dtype's width for each element; with Threefry it depends only on the element's
    position."""
    count, unsigned = int(np.prod(shape)), np.dtype(f"u{DTYPES[name][1].itemsize}")
    if algorithm == PHILOX:
        return (
            philox_numbers(key[0] << 32 | key[1], 0, count, unsigned.itemsize == 8)[0].astype(unsigned).reshape(shape)
        )
    low, high, *_ = counters(count, 0)
    a, b = threefry(key, high, low)
    return (joined(b, a) if unsigned.itemsize == 8 else a ^ b).astype(unsigned).reshape(shape)


def unit_interval(shape, name, algorithm, key):
    """Returns floats from 0 to 1, with a mantissa of random bits."""
    dtype = DTYPES[name][1]
    drawn = bits(shape, "u8" if name == "bf16" else name, algorithm, key).astype(f"u{dtype.itemsize}")
    one = dtype.type(1)
    # Of the same dtype: NumPy before 2.0 makes s64 of an unsigned scalar and a Python integer.
    shift = drawn.dtype.type({"bf16": 1, "f16": 6, "f32": 9, "f64": 12}[name])
    return (drawn >> shift | one.view(drawn.dtype)).view(dtype) - one


def uniform(shape, name, algorithm, key, low, high):
    """Scales to an interval; each step is rounded to the dtype, and the result is less than `high`."""
    type_ = DTYPES[name][1].type
    low, high = type_(low), type_(high)
    made = unit_interval(shape, name, algorithm, key) * (high - low) + low
    return np.minimum(made, np.nextafter(high, low))


def inverse_erf(u):
    """By a quantile of the normal distribution, and for f64 a step by Newton from there, on the side where 1 is not
    near."""
    size = np.abs(u)
    start = np.vectorize(lambda tail: NormalDist().inv_cdf(tail / 2), otypes=["f8"])(1 - size) / -np.sqrt(2)
    start = np.where(size == 0, 0, start)
    if u.dtype == np.float64:
        at = start.astype(np.longdouble)
        slope = np.exp(-at * at) / np.sqrt(np.arctan(np.longdouble(1)))
        near = exact.exact_erf(start) - size
        far = (1 - size.astype(np.longdouble)) - exact.exact_erfc(at)
        start = at - np.where(size < 0.5, near, far) / slope
    return np.copysign(start, u)


def normal(shape, name, algorithm, key):
    drawn = drawn_in(name)
    type_ = DTYPES[drawn][1].type
    made = inverse_erf(uniform(shape, drawn, algorithm, key, np.nextafter(type_(-1), type_(0)), 1))
    return made * np.sqrt(np.longdouble(2))


def drawn_in(name):
    return "f64" if name == "f64" else "f32"


def wide_uniform(shape, name, algorithm, key, low, high=1):
    return uniform(shape, drawn_in(name), algorithm, key, low, high).astype(np.longdouble)


def exponential(shape, name, algorithm, key):
    return -np.log1p(-wide_uniform(shape, name, algorithm, key, 0))


def gumbel(shape, name, algorithm, key):
    least = np.finfo(DTYPES[drawn_in(name)][1]).tiny
    return -np.log(-np.log(wide_uniform(shape, name, algorithm, key, least)))


def laplace(shape, name, algorithm, key):
    type_ = DTYPES[drawn_in(name)][1].type
    u = wide_uniform(shape, name, algorithm, key, np.nextafter(type_(-1), type_(0)))
    return np.sign(u) * np.log1p(-np.abs(u))


def truncated_normal(shape, name, algorithm, key, lower, upper):
    dtype = DTYPES[drawn_in(name)][1]
    a, b = exact.exact_erf(np.array([lower, upper]) / np.sqrt(2)).astype(dtype)
    u = unit_interval(shape, drawn_in(name), algorithm, key) * (b - a) + a
    normal = inverse_erf(np.maximum(u, a)) * np.sqrt(np.longdouble(2))
    return np.clip(normal, np.nextafter(dtype.type(lower), b), np.nextafter(dtype.type(upper), a))


def of_at_least_1(function):
    """The size of numbers near 0 that are differences of larger ones."""
    return lambda like, of, **given: np.maximum(np.abs(function(like.shape, of, **given)), 1)


def beside_1(like, of, **given):
    """The size of a truncated normal number: an error of the probability is divided by its density."""
    x = truncated_normal(like.shape, of, **given)
    return np.maximum(np.abs(x), np.exp(x * x / 2))


def categorical():
    def call(world, logits, of, algorithm, key, axis, dims):
        key = world.put(numbers_of(key, "u4"))
        return world.make(
            "lxla_random_categorical", algorithm, key, logits, axis, ints(dims), len(dims), DTYPES["s32"][0]
        )

    def drawn(logits, of, algorithm, key, axis, dims):
        noise = gumbel((*dims, *logits.shape), of, algorithm, key)
        return np.argmax(noise + logits, len(dims) + axis % logits.ndim)

    def cases(name):
        rows = [((5,), 0, (300,)), ((2, 3, 4), 1, ()), ((3, 4), -1, (2, 5)), ((0, 4), 1, (2,))]
        return [
            Case(
                [plain(name, shape, 121)],
                {"of": name, "algorithm": algorithm, "key": key, "axis": axis, "dims": dims},
                "s32",
            )
            for shape, axis, dims in rows
            for algorithm, key in zip((THREE_FRY, PHILOX), KEYS)
        ]

    return Operation("random_categorical", "float", call, drawn, cases)


def of_key(name, takes, function, more, shapes, scale=None):
    """Random numbers with the dtype and shape of an array, whose contents do not matter."""

    def call(world, like, of, algorithm, key, **given):
        key = world.put(numbers_of(key, "u4"))
        return world.make(f"lxla_{name}", algorithm, key, *described(world, like), *given.values())

    def drawn(like, of, algorithm, key, **given):
        return function(like.shape, of, algorithm, key, **given)

    def cases(dtype):
        chosen = [(shape, more[0]) for shape in shapes] if dtype in ("f32", "u32") else [(shapes[1], more[0])]
        chosen += [(shapes[1], given) for given in (more[1:] if dtype == "f32" else more[2:4])]
        return [
            Case([counted(dtype, shape)], {"of": dtype, "algorithm": algorithm, "key": key, **given})
            for shape, given in chosen
            for algorithm, key in zip((THREE_FRY, PHILOX), KEYS)
        ]

    return Operation(name, takes, call, drawn, cases, scale)


def keys_of(key, algorithm, n):
    drawn = bits((n,), "u64", algorithm, key)
    return [(int(word) >> 32, int(word) & 2**32 - 1) for word in drawn]


def integers(shape, name, algorithm, key, low, high):
    """Returns twice as many bits as the dtype has (or a dtype of 32 bits), modulo the number of integers."""
    wide = 64 if DTYPES[name][1].itemsize == 8 else 32
    first, second = (bits(shape, f"u{wide}", algorithm, k).astype(object) for k in keys_of(key, algorithm, 2))
    span = high - low
    if span == 2**wide:
        return np.asarray(low + second, object).astype(DTYPES[name][1])
    times = (2 ** (wide // 2) % span) ** 2 % 2**wide % span
    sums = (first % span * times + second % span) % 2**wide % span
    return np.asarray(low + sums, object).astype(DTYPES[name][1])


def ranges(name):
    info = np.iinfo(DTYPES[name][1])
    least, most = int(info.min), min(int(info.max), 2**63 - 2)
    return [(0, 10), (least, most + 1), (most // 3, most), (0, 1)]


def random_integers():
    def call(world, like, of, algorithm, key, low, high):
        key = world.put(numbers_of(key, "u4"))
        return world.make("lxla_random_integers", algorithm, key, *described(world, like), low, high)

    def drawn(like, of, algorithm, key, low, high):
        return integers(like.shape, of, algorithm, key, low, high)

    def cases(dtype):
        shapes = [(2, 50), (), (0, 3)] if dtype in ("s32", "u64") else [(2, 50)]
        return [
            Case([counted(dtype, shape)], {"of": dtype, "algorithm": algorithm, "key": key, "low": low, "high": high})
            for shape in shapes
            for low, high in ranges(dtype)
            for algorithm, key in zip((THREE_FRY, PHILOX), KEYS)
        ]

    return Operation("random_integers", "integer", call, drawn, cases)


def random_choice():
    def call(world, x, *chances, algorithm, key, axis, dims, replace):
        key, p = world.put(numbers_of(key, "u4")), chances[0] if chances else Tensor(0)
        return world.make("lxla_random_choice", algorithm, key, x, axis, ints(dims), len(dims), replace, p)

    def drawn(x, *chances, algorithm, key, axis, dims, replace):
        n, count = x.shape[axis], int(np.prod(dims))
        if chances and replace:
            sums = np.cumsum(chances[0].astype(np.float32), dtype=np.float32)
            places = sums[-1] * (1 - unit_interval(dims, "f32", algorithm, key))
            at = np.searchsorted(sums, places)
        elif chances:
            noise = gumbel((n,), "f32", algorithm, key) + np.log(chances[0].astype(np.longdouble))
            at = np.argsort(-noise, kind="stable")[:count]
        elif replace:
            at = integers(dims, "s32", algorithm, key, 0, n)
        else:
            at = np.arange(n)
            for _ in range(int(np.ceil(3 * np.log(n) / np.log(2**32 - 1)))):
                key, own = keys_of(key, algorithm, 2)
                at = at[np.argsort(bits((n,), "u32", algorithm, own), kind="stable")]
        return np.take(x, np.ravel(at)[:count].reshape(dims), axis)

    def cases(name):
        rows = [((9, 5), 0, (4,), 1), ((9, 5), -1, (2, 2), 0)]
        if name in ("f32", "pred"):
            rows += [((3, 7), 1, (), 1), ((2000,), 0, (2000,), 0), ((3, 4), 0, (0, 2), 1), ((3, 4), 0, (300,), 1)]
        chances, generators = [(), (plain("f32", (9,), 122) ** 2,)], [*zip((THREE_FRY, PHILOX), KEYS)]
        # Few of other dtypes: the indices do not depend on them.
        used = len(generators) if name in ("f32", "pred") else 1
        return [
            Case(
                [counted(name, shape), *p],
                {"algorithm": algorithm, "key": key, "axis": axis, "dims": dims, "replace": replace},
                name,
            )
            for shape, axis, dims, replace in rows
            for p in (chances if shape[axis] == 9 else chances[:1])
            for algorithm, key in generators[:used]
        ] + [
            Case(
                [counted(name, (9,)), chances[1][0]],
                {"algorithm": THREE_FRY, "key": key, "axis": 0, "dims": (9,), "replace": 0},
                name,
            )
            for key in KEYS[1:used]
        ]

    return Operation("random_choice", "all", call, drawn, cases, refuses=False, again=False)


def poisson(rate, shape, algorithm, key):
    """Returns Poisson numbers: by Knuth's algorithm for rates below 10, others by Hoermann's transformed rejection."""
    rate = np.broadcast_to(rate.astype(np.float32), shape)
    draw = lambda key: unit_interval(shape, "f32", algorithm, key)
    count, total, rng = np.zeros(shape, int), np.zeros(shape, np.float32), key
    small = np.where(rate < 10, rate, np.float32(0))
    while (total > -small).any():
        rng, own = keys_of(rng, algorithm, 2)
        count += total > -small
        total = total + np.log(draw(own))
    large = np.where(rate < 10, np.float32(1e5), rate)
    found, done, rng = np.full(shape, -1.0), np.zeros(shape, bool), key
    b = np.float32(0.931) + np.float32(2.53) * np.sqrt(large)
    a = np.float32(-0.059) + np.float32(0.02483) * b
    while not done.all():
        rng, *own = keys_of(rng, algorithm, 3)
        u, v = draw(own[0]) - np.float32(0.5), draw(own[1])
        shifted = np.float32(0.5) - np.abs(u)
        k = np.floor((2 * a / shifted + b) * u + large + np.float32(0.43))
        s = np.log(v * (1.1239 + 1.1328 / (b - 3.4)) / (a / (shifted * shifted) + b))
        t = -large + k * np.log(large) - np.vectorize(math.lgamma, otypes=["f8"])(np.maximum(k, 0) + 1)
        accept = (shifted >= 0.07) & (v <= 0.9277 - 3.6224 / (b - 2))
        accept |= ~((k < 0) | ((shifted < 0.013) & (v > shifted))) & (s <= t)
        found, done = np.where(accept, k, found), done | accept
    return np.where(rate == 0, 0, np.where(rate < 10, count - 1, found))


def random_poisson():
    def call(world, rate, algorithm, key, dims, result):
        key, number = world.put(numbers_of(key, "u4")), DTYPES[result][0]
        return world.make("lxla_random_poisson", algorithm, key, rate, number, ints(dims), len(dims))

    def drawn(rate, algorithm, key, dims, result):
        return poisson(rate, dims, algorithm, key).astype(DTYPES[result][1])

    def cases(name):
        rates = np.array([0, 0.5, 3, 9.5, 10, 40, 1000], DTYPES[name][1])
        # Few, since loops take XLA seconds to compile; random_jax_test.py has more.
        rows = {"f32": [(THREE_FRY, (20, 7), "s32"), (PHILOX, (0, 7), "s32")], "bf16": [(PHILOX, (7,), "u16")]}
        return [
            Case([rates], {"algorithm": algorithm, "key": key, "dims": dims, "result": result}, result)
            for (algorithm, dims, result), key in zip(rows.get(name, []), KEYS)
        ]

    return Operation("random_poisson", "float", call, drawn, cases, again=False)


def words_at(keys, i):
    return threefry((keys[0], keys[1]), np.uint64(0), np.uint64(i))


def unit_of(keys, dtype):
    """Returns a uniform number for each key."""
    a, b = words_at(keys, 0)
    one = dtype.type(1)
    if dtype.itemsize == 8:
        return (joined(b, a) >> np.uint64(12) | one.view("u8")).view("f8") - one
    return ((a ^ b).astype("u4") >> np.uint32(9) | one.view("u4")).view("f4") - one


def gamma(alpha, shape, name, algorithm, key):
    """Returns gamma numbers by rejection, their logarithms, and the sizes of the errors of these."""
    dtype = DTYPES[drawn_in(name)][1]
    alpha = np.broadcast_to(alpha.astype(dtype), shape).ravel()
    keys = np.array(keys_of(key, algorithm, alpha.size), "u8").reshape(-1, 2).T
    d = np.where(alpha >= 1, alpha, alpha + dtype.type(1)) - dtype.type(1 / 3)
    c = dtype.type(1 / 3) / np.sqrt(d)
    keys, last = words_at(keys, 0), words_at(keys, 1)
    v, draws = np.ones(alpha.shape, np.longdouble), np.ones(alpha.shape, bool)
    near = np.ones(alpha.shape, np.longdouble)
    while draws.any():
        following, own, other = (words_at(keys, i) for i in range(3))
        x, root = np.zeros(alpha.shape, np.longdouble), np.full(alpha.shape, -1.0, np.longdouble)
        while (root <= 0).any():
            again = root <= 0
            u, least = unit_of(words_at(own, 1), dtype), np.nextafter(dtype.type(-1), dtype.type(0))
            u = np.minimum(u * (dtype.type(1) - least) + least, np.nextafter(dtype.type(1), dtype.type(0)))
            drawn = inverse_erf(u) * np.sqrt(np.longdouble(2))
            x, root = np.where(again, drawn, x), np.where(again, drawn * c + 1, root)
            own = [np.where(again, new, old) for new, old in zip(words_at(own, 0), own)]
        u, square, cube = unit_of(other, dtype), x * x, root**3
        refused = (u >= 1 - 0.0331 * square**2) & (np.log(u) >= square / 2 + d * (1 - cube + np.log(cube)))
        v, near = np.where(draws, cube, v), np.where(draws, (1 + np.abs(x * c)) / root, near)
        keys = [np.where(draws, new, old) for new, old in zip(following, keys)]
        draws = draws & refused
    u = unit_of(last, dtype).astype(np.longdouble)
    boost = np.where((alpha >= 1) | (u == 0), 0, np.log1p(-u) / alpha)
    log = np.where(alpha < 0, np.nan, np.log(d.astype(np.longdouble)) + np.log(v) + boost)
    size = np.abs(np.log(d)) + np.abs(np.log(v)) + np.abs(boost) + near + 1
    return np.exp(log).reshape(shape), log.reshape(shape), size.reshape(shape)


def gamma_numbers():
    parameters = [1e-2, 0.5, 0.99, 1, 1.5, 3, 30, 3000, -0.5]

    def arguments(world, algorithm, key, *tensors, dims):
        return [algorithm, world.put(numbers_of(key, "u4")), *tensors, ints(dims), len(dims)]

    def operation(name, count, drawn, size):
        def call(world, *tensors, of, algorithm, key, dims):
            return world.make(f"lxla_{name}", *arguments(world, algorithm, key, *tensors, dims=dims))

        def cases(dtype):
            # Few, since loops take XLA seconds to compile; random_jax_test.py has more.
            arrays = [np.array(parameters, DTYPES[dtype][1]), np.array([[0.3], [2], [9]], DTYPES[dtype][1])][:count]
            shape = (3, len(parameters))
            rows = {"f32": [(THREE_FRY, arrays, shape), (PHILOX, arrays, (0, *shape))]}
            rows |= {of: [(PHILOX, [np.array(0.7, DTYPES[of][1])] * count, ())] for of in ("f16", "f64")}
            return [
                Case(list(given), {"of": dtype, "algorithm": algorithm, "key": key, "dims": dims}, dtype)
                for (algorithm, given, dims), key in zip(rows.get(dtype, []), KEYS)
            ]

        return Operation(name, "float", call, drawn, cases, size, again=False)

    def beta(a, b, of, algorithm, key, dims):
        keys = keys_of(key, algorithm, 2)
        (_, log_a, size_a), (_, log_b, size_b) = (gamma(x, dims, of, algorithm, k) for x, k in zip((a, b), keys))
        share = 1 / (1 + np.exp(log_b - log_a))
        return share, share * (size_a + size_b)

    def of(index, factor):
        return lambda alpha, of, algorithm, key, dims: factor(gamma(alpha, dims, of, algorithm, key), index)

    item = lambda made, index: made[index]
    yield operation("random_gamma", 1, of(0, item), of(0, lambda made, _: made[0] * made[2]))
    yield operation("random_log_gamma", 1, of(1, item), of(2, item))
    yield operation(
        "random_beta",
        2,
        lambda *arrays, **given: beta(*arrays, **given)[0],
        lambda *arrays, **given: beta(*arrays, **given)[1],
    )


def splits():
    def split(world, key, algorithm, n):
        return world.make("lxla_random_split", algorithm, key, n)

    def keys(key, algorithm, n):
        drawn = bits((n,), "u64", algorithm, [int(word) for word in key])
        return np.stack([drawn >> np.uint64(32), drawn & LOW], 1)

    def bernoulli(world, key, algorithm, p, shape):
        return world.make("lxla_random_bernoulli", algorithm, key, p, ints(shape), len(shape))

    def drawn(key, algorithm, p, shape):
        return unit_interval(shape, "f32", algorithm, [int(word) for word in key]) < np.float32(p)

    def cases(given, result):
        return lambda name: [
            Case([numbers_of(key, "u4")], {"algorithm": algorithm, **more}, result)
            for more in given
            for algorithm, key in zip((THREE_FRY, PHILOX), KEYS)
        ]

    yield Operation("random_split", "u32", split, keys, cases([{"n": n} for n in (3, 1, 0, 100)], "u32"))
    chances = [
        {"p": p, "shape": shape} for p, shape in [(0.3, (7, 300)), (0, (9,)), (1, (2, 3)), (0.5, ()), (0.5, (0,))]
    ]
    yield Operation("random_bernoulli", "u32", bernoulli, drawn, cases(chances, "pred"))


def randoms():
    bounds = [(0, 1), (-1, 1), (0, 3.7), (-0.3, 0.6), (1e-3, 1e3), (-5, 0), (2, 3)]
    between = [{"low": low, "high": high} for low, high in bounds]
    cuts = [{"lower": low, "upper": high} for low, high in [(-2, 1.5), (-np.inf, np.inf), (0.5, np.inf), (-1, 3)]]
    some = [(2, 900), (3, 100), *SHAPES[2:]]
    as_bits = lambda shape, of, algorithm, key: as_dtype(bits(shape, of, algorithm, key), of)
    return [
        generator(),
        of_key("random_bits", "integer", as_bits, [{}], SHAPES),
        of_key("random_uniform", "float", uniform, between, SHAPES),
        of_key("random_normal", "float", normal, [{}], some),
        of_key("random_exponential", "float", exponential, [{}], some),
        of_key("random_gumbel", "float", gumbel, [{}], some, of_at_least_1(gumbel)),
        of_key("random_laplace", "float", laplace, [{}], some),
        of_key("random_truncated_normal", "float", truncated_normal, cuts, some, beside_1),
        categorical(),
        random_integers(),
        random_choice(),
        random_poisson(),
        *gamma_numbers(),
        *splits(),
    ]
