"""Values that ops_test.py gives to operations: the dtypes, and for each the values at which errors are likely."""

import os
import zlib

import numpy as np
from header import family

try:
    import ml_dtypes
except ImportError:  # bf16 is left out, as on a machine that has NumPy alone
    ml_dtypes = None

# NumPy's dtypes by their names in the ABI.
NUMPY = {
    "pred": np.dtype(bool),
    "s8": np.dtype(np.int8),
    "s16": np.dtype(np.int16),
    "s32": np.dtype(np.int32),
    "s64": np.dtype(np.int64),
    "u8": np.dtype(np.uint8),
    "u16": np.dtype(np.uint16),
    "u32": np.dtype(np.uint32),
    "u64": np.dtype(np.uint64),
    "f16": np.dtype(np.float16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    **({"bf16": np.dtype(ml_dtypes.bfloat16)} if ml_dtypes else {}),
    "c64": np.dtype(np.complex64),
    "c128": np.dtype(np.complex128),
}
# Numbers in the ABI and NumPy's dtypes, of these dtypes. Numbers of the 8-bit floats, by their names in ml_dtypes.
DTYPES = {name: (family("DTYPE")[name], dtype) for name, dtype in NUMPY.items()}
FLOAT8 = {name.replace("f8", "float8_"): n for name, n in family("DTYPE").items() if name.startswith("f8")}
# Numbers of the types of 2 and 4 bits, by their names in ml_dtypes, and of the others by their names in NumPy.
SUBBYTE = {"int4": "s4", "uint4": "u4", "int2": "s2", "uint2": "u2", "float4_e2m1fn": "f4e2m1fn"}
SUBBYTE = {name: family("DTYPE")[own] for name, own in SUBBYTE.items()}
NUMBER = {dtype.name: number for number, dtype in DTYPES.values()}
NAMES = {dtype: name for name, (_, dtype) in DTYPES.items()}
KINDS = {
    "pred": ["pred"],
    "signed": ["s8", "s16", "s32", "s64"],
    "unsigned": ["u8", "u16", "u32", "u64"],
    "float": [name for name in ("f16", "bf16", "f32", "f64") if name in NUMPY],
    "complex": ["c64", "c128"],
}
KINDS["integer"] = KINDS["signed"] + KINDS["unsigned"]
KINDS["number"] = KINDS["integer"] + KINDS["float"] + KINDS["complex"]
KINDS["all"] = KINDS["pred"] + KINDS["number"]


def finfo(dtype):
    """Returns the limits of a float dtype."""
    return (ml_dtypes or np).finfo(dtype)


def dtypes(words):
    """Returns the dtypes of kinds, given in words as "signed float"."""
    return [name for word in words.split() for name in KINDS.get(word, [word]) if name in NUMPY]


def kind(name):
    return next(kind for kind in ("pred", "signed", "unsigned", "float", "complex") if name in KINDS[kind])


def in_turn(operation, names):
    """Returns the dtypes of a test of all dtypes: a third of each kind, and f32, if LXLA_TEST_TURN has a number; all of
    them if it is not set. Numbers that follow each other, as those of commits, choose every dtype of every operation."""
    turn = os.environ.get("LXLA_TEST_TURN")
    if not turn:
        return names
    first, chosen = zlib.crc32(operation.encode()) + int(turn), {"f32"}
    for of in set(map(kind, names)):
        known = [name for name in names if kind(name) == of]
        chosen.update(name for i, name in enumerate(known) if (first + i) % min(3, len(known)) == 0)
    return [name for name in names if name in chosen]


def real(name):
    """Returns the dtype of a complex dtype's parts; other dtypes as they are."""
    return {"c64": "f32", "c128": "f64"}.get(name, name)


def random(seed):
    return np.random.default_rng(seed)


def special(name):
    """Returns edge values of a dtype."""
    dtype = DTYPES[name][1]
    if name == "pred":
        return np.array([False, True])
    if kind(name) == "complex":
        # Finite parts only, since the results of most functions at infinity depend on the plugin.
        parts = np.array([0.0, 1, -1, 0.5, -2.5, 3, -7, 1e-3, -20], DTYPES[real(name)][1])
        return pairs(parts, parts, dtype).ravel()
    if kind(name) == "float":
        info = finfo(dtype)
        least, tiny, most, eps = (float(x) for x in (info.smallest_subnormal, info.tiny, info.max, info.eps))
        positive = [np.nan, np.inf, 0, least, 3 * least, tiny - least, tiny, 2 * tiny, most, most / 2, eps, eps / 4, 1]
        positive += [1 + eps, 1 - eps / 2, 0.5, 0.5 - eps / 4, 1.5, 2, 2.5, 3, 4.5, 7, 8, 10, 100, 0.1, 1e-3, 200.25]
        with np.errstate(over="ignore"):
            return np.array(positive + [-x for x in positive]).astype(dtype)
    info = np.iinfo(dtype)
    edges = [0, 1, 2, 3, 5, 7, 8, 10, 31, 32, 33, 63, 64, 65, 100, info.max, info.max - 1, info.max // 2, info.min]
    if info.min:
        edges += [info.min + 1, -1, -2, -3, -7, -8, -64]
    return np.array([min(max(edge, int(info.min)), int(info.max)) for edge in edges], dtype)


def infinite(name):
    """Returns complex numbers with zeros of either sign, infinities and NaN."""
    parts = np.array([0.0, -0.0, 1, -1, 0.5, 1e30, np.inf, -np.inf, np.nan], DTYPES[real(name)][1])
    return pairs(parts, parts, DTYPES[name][1]).ravel()


def pairs(re, im, dtype):
    """Combines every real part with every imaginary part. Does not use re + im * 1j, which makes NaN of infinity."""
    out = np.empty((len(re), len(im)), dtype)
    out.real, out.imag = re[:, None], im[None, :]
    return out


def spread(name, count, seed):
    """Returns random values of all magnitudes, and as many around 1."""
    random_numbers, dtype = random(seed), DTYPES[name][1]
    if name == "pred":
        return random_numbers.integers(0, 2, count).astype(bool)
    if kind(name) == "complex":
        out = np.empty(count, dtype)
        angles, sizes = random_numbers.uniform(-np.pi, np.pi, count), 2 ** random_numbers.uniform(-12, 6, count)
        out.real, out.imag = sizes * np.cos(angles), sizes * np.sin(angles)
        return out
    if kind(name) == "float":
        info = finfo(dtype)
        exponents = random_numbers.uniform(np.log2(float(info.tiny)), np.log2(float(info.max)) - 0.01, count)
        values = np.where(np.arange(count) % 2, 2.0**exponents, random_numbers.uniform(0, 12, count))
        return (values * random_numbers.choice([-1, 1], count)).astype(dtype)
    info = np.iinfo(dtype)
    shifted = random_numbers.integers(info.min, info.max, count, dtype, endpoint=True)
    return shifted >> random_numbers.integers(0, info.bits, count).astype(dtype)


def plain(name, shape, seed):
    """Returns random values whose sums and products neither overflow nor vanish."""
    random_numbers, dtype = random(seed), DTYPES[name][1]
    if name == "pred":
        return random_numbers.integers(0, 2, shape).astype(bool)
    if kind(name) == "complex":
        out = np.empty(shape, dtype)
        out.real, out.imag = random_numbers.uniform(-2, 2, shape), random_numbers.uniform(-2, 2, shape)
        return out
    if kind(name) == "float":
        return random_numbers.uniform(-2, 2, shape).astype(dtype)
    return spread(name, int(np.prod(shape)), seed).reshape(shape)


def counted(name, shape):
    """Returns distinct elements, as far as the dtype has enough values."""
    numbers = np.arange(int(np.prod(shape))).reshape(shape) + 1
    return (numbers % 2 if name == "pred" else numbers).astype(DTYPES[name][1])


def finite(array):
    """Returns the elements whose parts are all finite."""
    return array[np.isfinite(array.astype(np.complex128) if array.dtype.kind == "c" else array.astype(np.float64))]
