"""Every eager elementwise function beside NumPy's or SciPy's: one thread, 2^18 elements.

    build/jax/bin/python benches/numpy_functions.py build/cmake/lib/liblazyxla.so [function ...]

Prints nanoseconds an element for f32 and f64, the peer's, and the ratio; functions without a peer are listed as well.
Both allocate their results. Medians of rounds in which the two take turns."""

import os
import statistics
import sys
import time
from pathlib import Path

os.environ["RAYON_NUM_THREADS"] = "1"
sys.dont_write_bytecode = True
sys.path.append(str(Path(__file__).resolve().parents[1] / "c_tests/abi"))
sys.path.append(str(Path(__file__).resolve().parents[1] / "c_tests/operations"))
import ctypes_test as abi
import numpy as np
import scipy.special as special
from header import family
from ops_cases import World

COUNT, ROUNDS, GOAL = 1 << 18, 7, 1.5

# NumPy's or SciPy's function of the same meaning.
UNARY = {
    "negate": np.negative, "abs": np.abs, "sign": np.sign, "exponential": np.exp, "exponential_minus_one": np.expm1,
    "log": np.log, "log_plus_one": np.log1p, "logistic": special.expit, "tanh": np.tanh, "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x), "cbrt": np.cbrt, "sine": np.sin, "cosine": np.cos, "tan": np.tan, "floor": np.floor,
    "ceil": np.ceil, "round_nearest_even": np.rint, "is_finite": np.isfinite, "is_nan": np.isnan, "is_inf": np.isinf,
    "signbit": np.signbit, "trunc": np.trunc, "log2": np.log2, "log10": np.log10, "conj": np.conj, "sinh": np.sinh,
    "cosh": np.cosh, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "asinh": np.arcsinh, "acosh": np.arccosh,
    "atanh": np.arctanh, "lgamma": special.gammaln, "digamma": special.psi, "erf_inv": special.erfinv,
    "bessel_i0e": special.i0e, "bessel_i1e": special.i1e, "trigamma": lambda x: special.polygamma(1, x),
}  # fmt: skip
BINARY = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide, "remainder": np.fmod,
    "power": np.power, "maximum": np.maximum, "minimum": np.minimum, "atan2": np.arctan2,
    "floor_divide": np.floor_divide, "modulo": np.mod, "copysign": np.copysign, "hypot": np.hypot,
    "logaddexp": np.logaddexp, "next_after": np.nextafter, "polygamma": special.polygamma, "zeta": special.zeta,
}  # fmt: skip
SPECIAL = {"erf": special.erf, "erfc": special.erfc, "normal_cdf": special.ndtr}
ACTIVATION = {
    "relu": lambda x: np.maximum(x, 0), "relu6": lambda x: np.clip(x, 0, 6), "silu": lambda x: x * special.expit(x),
    "gelu": lambda x: x * special.ndtr(x),
    "gelu_tanh": lambda x: 0.5 * x * (1 + np.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))),
    "elu": lambda x: np.where(x > 0, x, np.expm1(x)),
    "selu": lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x)),
    "softplus": lambda x: np.logaddexp(x, 0), "mish": lambda x: x * np.tanh(np.logaddexp(x, 0)),
    "log_sigmoid": special.log_expit, "hard_sigmoid": lambda x: np.clip(x / 6 + 0.5, 0, 1),
    "hard_swish": lambda x: x * np.clip(x / 6 + 0.5, 0, 1),
}  # fmt: skip
# Operands from this interval; others are from -3 to 3.
INTERVALS = {
    **dict.fromkeys("log log2 log10 sqrt rsqrt lgamma digamma trigamma".split(), (0.1, 9)),
    **dict.fromkeys("asin acos atanh erf_inv".split(), (-0.99, 0.99)),
    **dict.fromkeys("acosh zeta".split(), (1.01, 9)),
    "log_plus_one": (-0.9, 9),
    "power": (0.1, 5),
    "polygamma": (1, 3.99),
}


def functions():
    """Yields names, the C function with its number, the number of operands, and the peer."""
    for prefix, call, peers, operands in (
        ("UNARY", "lxla_unary", UNARY, 1),
        ("SPECIAL", "lxla_special", SPECIAL, 1),
        ("ACTIVATION", "lxla_activation", ACTIVATION, 1),
        ("BINARY", "lxla_binary", BINARY, 2),
    ):
        for name, number in family(prefix).items():
            yield prefix, name, call, number, operands, peers.get(name)


def timed(f, calls):
    start = time.process_time_ns()
    for _ in range(calls):
        f()
    return (time.process_time_ns() - start) / calls


def measured(ours, peer):
    """Medians of both, and of their ratio, in nanoseconds an element."""
    calls = [max(1, int(2e7 / max(1, timed(f, 1)))) if f else 0 for f in (ours, peer)]
    samples = [[timed(f, n) / COUNT if f else 0 for f, n in zip((ours, peer), calls)] for _ in range(ROUNDS)]
    ratio = statistics.median(a / b for a, b in samples) if peer else None
    return *(statistics.median(each) for each in zip(*samples)), ratio


def main(path, *names):
    abi.load(path)
    world = World(abi.new_env(), abi.cpu(), "cpu")
    slow = []
    for prefix, name, call, number, operands, peer in functions():
        if names and name not in names:
            continue
        for dtype in (np.float32, np.float64):
            random = np.random.default_rng(1)
            low, high = INTERVALS.get(name, (-3, 3))
            arrays = [random.uniform(low, high, COUNT).astype(dtype) for _ in range(operands)]
            if name == "polygamma":
                arrays[0] = np.floor(arrays[0])
            tensors = [world.put(array) for array in arrays]
            release = abi.lib.lxla_tensor_release

            def ours():
                release(world.make(call, number, *tensors))

            try:
                ours()
            except AssertionError as refused:
                assert "INVALID_ARGUMENT" in str(refused)  # bits of floats
                continue
            with np.errstate(all="ignore"):
                mine, theirs, ratio = measured(ours, peer and (lambda: peer(*arrays)))
            told = f"{theirs:8.2f} {ratio:6.2f}" if peer else "       -      -"
            mark = "  SLOW" if ratio and ratio > GOAL else ""
            slow += [f"{name} {np.dtype(dtype).name}"] if mark else []
            print(f"{prefix.lower():11}{name:20}{np.dtype(dtype).name:8}{mine:9.2f} {told}{mark}", flush=True)
    print(f"{len(slow)} functions take more than {GOAL} of the peer's time: {', '.join(slow)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
