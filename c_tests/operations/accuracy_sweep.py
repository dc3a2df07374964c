"""Functions over the whole range of their arguments, lazily and natively, against NumPy in more precision:
python accuracy_sweep.py /path/to/liblazyxla.so [--bits=20] [--measure] [--only=natively] [name]

All values of 8 and 16 bits; f32 and f64 by 2^bits values over all exponents, and the neighbours of poles, zeros and
overflow; complex numbers over all pairs of such parts, with zeros of either sign, infinities and NaN, and by 2^bits
random ones near poles, branch cuts and the unit circle. What ops_test.py allows, and docs/operations.md states, must
hold. With a name, only functions whose names begin with it; with --measure, how large the errors are."""

import sys
import time

sys.dont_write_bytecode = True  # leaves no caches beside the sources
sys.path.append(sys.path[0] + "/../abi")  # ctypes_test
import ctypes_test as abi
import ml_dtypes
import numpy as np
import ops_reference as reference
import ops_test
from ops_cases import Case, World, release
from ops_elementwise import binaries, unaries
from ops_elementwise_functions import circular_functions, error_functions
from ops_nn import activations
from ops_values import DTYPES, FLOAT8, dtypes, kind, pairs, real

# Number of elements per call, so that one program serves all.
CHUNK = 1 << 15
# Operations for which reference values in more precision are too slow for millions of values.
PAIRS = {"power", "atan2", "divide"}
LEFT_OUT = {"gelu", "erf", "erfc", "relu", "relu6"}
PREDICATES = ("is_finite", "is_nan", "is_inf", "signbit")


def around(values, dtype, steps=6):
    """Returns the values, of both signs, with this many neighbours on either side."""
    bits = np.dtype(f"i{dtype.itemsize}")
    near = np.abs(np.array(values, np.longdouble)).astype(dtype).view(bits)[:, None] + np.arange(
        -steps, steps + 1, dtype=bits
    )
    near = np.maximum(near, 0).ravel().view(dtype)
    return np.concatenate([near, -near])


def edges(name):
    """Returns numbers where functions have poles, zeros and cuts, and where their results overflow or underflow."""
    dtype = DTYPES[name][1]
    info, quarter = ml_dtypes.finfo(dtype), np.arctan(np.longdouble(1)) * 2
    limits = [np.longdouble(float(x)) for x in (info.max, info.tiny, info.eps)]
    logs = [np.log(x) for x in limits]
    values = [0, *limits, 1, 2, 0.5, 0.25, 0.2929, 0.4142, 1e-3, 3, 10, 100]
    values += [log * factor for log in logs for factor in (0.25, 0.5, 1, 2)]
    values += [sum(logs[:2]), logs[0] + np.log(np.longdouble(2)), logs[0] - logs[1], 19.06, 9.02, 20, 22, 45, 64, 512]
    values += [quarter * k for k in (*range(1, 13), 50, 1001, 123456, 10**7 + 1)]
    return np.concatenate([around(values, dtype), np.array([np.inf, -np.inf, np.nan], dtype)])


def spread_bits(name, count, seed):
    """Returns floats of all exponents: their bits are evenly spaced, with random low bits."""
    bits = np.dtype(f"u{DTYPES[name][1].itemsize}")
    width = 8 * bits.itemsize
    if count >= 1 << width:
        return np.arange(1 << width, dtype=bits).view(DTYPES[name][1])
    gap = (1 << width) // count
    ends = np.random.default_rng(seed).integers(0, gap, count, np.uint64)
    return (np.arange(count, dtype=np.uint64) * np.uint64(gap) + ends).astype(bits).view(DTYPES[name][1])


def floats(name, bits):
    if DTYPES[name][1].itemsize == 2:
        return spread_bits(name, 1 << 16, 0)
    return np.concatenate([edges(name), spread_bits(name, 1 << bits, 1)])


def complex_parts(name):
    """Returns parts to be combined with each other: the edges, with fewer neighbours."""
    dtype = DTYPES[name][1]
    info, quarter = np.finfo(dtype), np.arctan(np.longdouble(1)) * 2
    log, low = np.log(np.longdouble(info.max)), -np.log(np.longdouble(info.tiny))
    values = [
        1e-3,
        1,
        0.5,
        0.6,
        0.8,
        2,
        3,
        info.eps,
        info.tiny,
        np.sqrt(info.tiny),
        info.max,
        np.sqrt(info.max),
        1e-10,
        1e10,
    ]
    values += [quarter, quarter * 2, quarter * 3, quarter * 4, quarter * 1001, 10, 20, 20.5, 44, 46, 64, log / 2, log]
    values += [log + 0.5, log + 1, log + low * 0.5, log + low * 0.9, 700, 2000]
    near = around(values, dtype, 1)
    return np.concatenate([near, np.array([0, -0.0, np.inf, -np.inf, np.nan], dtype)])


def complexes(name, bits):
    """Returns all pairs of edges, and random numbers whose part, size or distance from a pole has any exponent."""
    dtype, part = DTYPES[name][1], DTYPES[real(name)][1]
    parts, count, rng = complex_parts(real(name)), 1 << bits, np.random.default_rng(2)
    scale = lambda low, high: 2.0 ** rng.uniform(low, high, count) * rng.choice([-1, 1], count)
    out = np.zeros(4 * count, np.clongdouble)
    any_size, near_poles, circle, plain = out.reshape(4, count)
    any_size.real, any_size.imag = scale(-60, 60), scale(-60, 60)
    quarters = rng.integers(-8, 9, count) * 2 * np.arctan(np.longdouble(1))
    quarters = quarters.astype(part).astype(np.longdouble)
    near_poles.real, near_poles.imag = quarters + scale(-60, 0), scale(-60, 0)
    swapped = rng.integers(0, 2, count).astype(bool)
    near_poles[swapped] = near_poles[swapped].imag + 1j * near_poles[swapped].real
    angles, off = rng.uniform(-np.pi, np.pi, count) * 2.0 ** rng.uniform(-30, 0, count), 1 + scale(-30, 0) / 2
    circle.real, circle.imag = off * np.cos(angles), off * np.sin(angles)
    plain.real, plain.imag = rng.uniform(-100, 100, count), rng.uniform(-100, 100, count)
    with np.errstate(over="ignore"):
        return np.concatenate([pairs(parts, parts, dtype).ravel(), out.astype(dtype)])


def pairs_of(name, bits):
    """Returns pairs of floats of any exponents, pairs of edges, and bases with exponents for results from underflow to
    overflow."""
    dtype, rng, count = DTYPES[name][1], np.random.default_rng(3), 1 << bits
    line = [0.5, -0.5, 1, -1, 2, -2, 3, -3, 0.0, -0.0, np.inf, -np.inf, np.nan]
    line = np.concatenate([edges(name)[::13], np.array(line, dtype)])
    first, second = (
        spread_bits(name, min(count, 1 << 16), 4),
        rng.permutation(spread_bits(name, min(count, 1 << 16), 5)),
    )
    bases = np.abs(spread_bits(name, min(count, 1 << 16), 6))
    with np.errstate(all="ignore"):
        reach = np.log(float(ml_dtypes.finfo(dtype).max))
        powers = (rng.uniform(-1.1, 1.1, len(bases)) * reach / np.log(bases.astype(np.float64))).astype(dtype)
    parts = [np.repeat(line, len(line)), first, bases], [np.tile(line, len(line)), second, powers]
    return [np.concatenate(part) for part in parts]


def complex_pairs(name, bits):
    """Returns bases of any size and direction, and exponents for which the exponential's argument has any size up to
    overflow."""
    dtype, rng, count = DTYPES[name][1], np.random.default_rng(7), 1 << bits
    reach = float(np.log(np.finfo(DTYPES[real(name)][1]).max))
    base = np.exp(rng.uniform(-0.9, 0.9, count) * reach * rng.choice([1, 0.1, 0.01, 1e-4], count))
    base = base * np.exp(1j * rng.uniform(-np.pi, np.pi, count))
    exponent = (
        rng.uniform(0, 0.95, count)
        * reach
        / (np.abs(np.log(base)) + 1e-30)
        * np.exp(1j * rng.uniform(-np.pi, np.pi, count))
    )
    small = rng.uniform(-3, 3, count) + 1j * rng.uniform(-3, 3, count)
    exponent = np.where(np.abs(exponent) > 1e4, small, exponent)
    return [
        np.concatenate([base, base]).astype(dtype),
        np.concatenate([exponent, np.round(exponent.real)]).astype(dtype),
    ]


def values_of(operation, name, bits):
    """Returns the operands of an operation."""
    if operation.name in PAIRS:
        return complex_pairs(name, min(bits, 18) - 2) if kind(name) == "complex" else pairs_of(name, min(bits, 20) - 2)
    return [complexes(name, bits - 2) if kind(name) == "complex" else floats(name, bits)]


def functions():
    """Returns the operations on one float or complex number that are not exact by nature."""
    of_one = [*unaries(), *activations(), *circular_functions(), *error_functions()]
    found = [operation for operation in of_one if operation.name not in LEFT_OUT]
    found += [operation for operation in binaries() if operation.name in PAIRS]
    for operation in found:
        for name in dtypes(operation.takes):
            # Quotients of infinite complex numbers differ between devices.
            if kind(name) in ("float", "complex") and (operation.name, kind(name)) != ("divide", "complex"):
                yield operation, name


# Values whose sign C's annex G and NumPy leave open: infinities and zeros.
def signless(got, want):
    """Returns `got` with the signs of `want` where both are infinite, or both 0."""
    made = got.copy()
    for g, w, part in zip(reference.parts(got), reference.parts(want), ("real", "imag")):
        alike = (np.isinf(g) & np.isinf(w)) | ((g == 0) & (w == 0))
        fixed = np.where(alike, np.copysign(g, w), g).astype(g.dtype)
        made = setattr_of(made, part, fixed)
    return made


def setattr_of(array, part, values):
    if array.dtype.kind != "c":
        return values
    setattr(array, part, values)
    return array


def fill(array, start):
    """Returns a chunk, padded to the same size each time."""
    part = array[start : start + CHUNK]
    return np.concatenate([part, np.resize(part, CHUNK - len(part))]) if len(part) < CHUNK else part


def sweep(operation, name, worlds, bits, failures):
    """Returns the largest error of each world."""
    allowed, worst = ops_test.tolerance(operation.name, name), {world.name: (0.0, None) for world in worlds}
    values = values_of(operation, name, bits)
    for start in range(0, len(values[0]), CHUNK):
        arrays = [fill(operand, start) for operand in values]
        array = arrays[0]
        case = Case(
            arrays, {}, "pred" if operation.name in PREDICATES else real(name) if operation.name == "abs" else name
        )
        found = ops_test.wanted(operation, case, allowed == 0)
        for world in worlds:
            made = operation.call(world, *map(world.put, arrays))
            got = world.read(made)
            release(made)
            if kind(name) == "complex" and len(arrays) == 1:
                lost = ~np.isfinite(array)
                near = reference.rounded(found[0][0], case.result)
                got = np.where(lost, signless(got, near), got)
            off = ops_test.errors(case, found, got, world.name == "lazily", allowed == 0)
            if kind(case.result) == "complex" and len(arrays) == 1:
                off = np.where(signs_differ(array, got, found, case.result, world.name == "lazily"), np.inf, off)
            at = int(np.argmax(off))
            if off[at] > worst[world.name][0]:
                worst[world.name] = float(off[at]), ([operand[at] for operand in arrays], got[at], found[0][0][at])
            if "--all" in sys.argv:
                for i in np.flatnonzero(off > max(allowed, 6))[:20]:
                    print(
                        f"   {operation.name} {name} {world.name}: {[a[i] for a in arrays]!r} gives {got[i]!r}, want "
                        f"{found[0][0][i]!r}: {off[i]:.3g}"
                    )
        for world in worlds:
            for operand in arrays:
                release(world.known.pop(id(operand))[0])
    for world, (off, where) in worst.items():
        if off > allowed:
            x, got, want = where
            failures.append(
                f"{operation.name} {name} {world}: off by {off:.4g}, stated {allowed}: {got!r} of {x!r}, want {want!r}"
            )
    return worst


def signs_differ(array, got, found, name, lazy):
    """Returns where a part is a zero of the wrong sign, for finite arguments."""
    want = reference.rounded(found[0][0], name)
    # Where no part of the argument is 0, the result is 0 by underflow.
    differ = reference.zeros_differ(got, want) & np.isfinite(array) & ((array.real == 0) | (array.imag == 0))
    with np.errstate(all="ignore"):
        # A result that underflows to 0 may have either sign.
        differ &= ~np.any(
            [(part != 0) & (np.abs(part) < reference.limits(name)[0]) for part in reference.parts(found[0][0])], axis=0
        )
    return differ & ~reference.denormal(array) if lazy else differ


def float8(operation, worlds, failures):
    """Compares every code of an 8-bit dtype: results are rounded from f32, and may be off by as much as f32 is."""
    allowed = ops_test.tolerance(operation.name, "f32")
    for name, number in FLOAT8.items():
        codes = np.arange(256, dtype="u1")
        x = codes.view(getattr(ml_dtypes, name))
        with np.errstate(all="ignore"):
            want = np.asarray(operation.reference(x.astype(np.float64)))
            sides = [(want * (1 + way * allowed * 2.0**-23)).astype(np.float32).astype(x.dtype) for way in (-1, 0, 1)]
            if operation.name in PREDICATES:
                sides = [want]
        for world in worlds:
            sizes = abi.dims(256)
            given = world.make("lxla_tensor_from_host", world.env, world.device, number, *sizes, codes.ctypes.data, 256)
            made = operation.call(world, given)
            out = np.empty(256, bool if operation.name in PREDICATES else x.dtype)
            abi.ok(abi.lib.lxla_tensor_read(made, out.ctypes.data, 256))
            release(made)
            release(given)
            got = out.astype(np.float32)
            wide = [side.astype(np.float32) for side in sides]
            fits = [(got == side) | (np.isnan(got) & np.isnan(side)) for side in wide]
            if world.name == "lazily":
                # Scales may be as small as denormal numbers of f32, which count as 0.
                fits.append(np.abs(x.astype(np.float64)) < 2.0**-125)
                fits.append(np.abs(want.astype(np.float64)) < 2.0**-125)
            bad = ~np.any(fits, axis=0)
            if bad.any():
                at = int(np.flatnonzero(bad)[0])
                failures.append(f"{operation.name} {name} {world.name}: {got[at]} of {x[at]!r}, want {want[at]}")


def main():
    options = dict(a[2:].split("=") if "=" in a else (a[2:], "") for a in sys.argv[1:] if a.startswith("--"))
    arguments = [a for a in sys.argv[1:] if not a.startswith("--")]
    abi.load(arguments[0])
    env = abi.new_env()
    worlds = [World(env, abi.xla(), "lazily"), World(env, abi.cpu(), "natively")]
    worlds = [world for world in worlds if options.get("only", world.name) == world.name]
    failures, started, bits = [], time.time(), int(options.get("bits", 20))
    chosen = [
        (o, n) for o, n in functions() if o.name.startswith("".join(arguments[1:2])) and options.get("dtype", n) == n
    ]
    for operation, name in chosen:
        worst = sweep(operation, name, worlds, bits, failures)
        if "measure" in options:
            print(
                f"{operation.name:24} {name:5} "
                + "  ".join(
                    f"{world} {off:.3g}" + (f" at {' '.join(map(str, where[0]))}" if where and off > 0.6 else "")
                    for world, (off, where) in worst.items()
                ),
                flush=True,
            )
    for operation in {o.name: o for o, n in chosen if n == "f32" and o.name not in PAIRS}.values():
        float8(operation, worlds, failures)
    print(*failures, sep="\n", end="\n" if failures else "")
    print(f"{len(chosen)} functions by dtype, 2^{bits} values, {len(failures)} failures, {time.time() - started:.0f} s")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
