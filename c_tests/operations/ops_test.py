"""Every operation on every dtype, lazily and natively, against NumPy: python ops_test.py /path/to/liblazyxla.so [name]

With a name, only operations whose names begin with it; with --some, one dtype of each kind for each operation; with
--measure, how large the errors are. The operations are in the files that SUBJECTS names; ops_cases.py says how to add
one."""

import os
import sys
import time
import zlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

sys.dont_write_bytecode = True  # leaves no caches beside the sources
sys.path.append(sys.path[0] + "/../abi")  # ctypes_test
import ctypes_test as abi
import numpy as np
import ops_reference as reference
from ops_cases import World, counted, release
from ops_control import control
from ops_creation import creation
from ops_elementwise import elementwise
from ops_elementwise_bits import bits
from ops_elementwise_functions import functions
from ops_elementwise_bessel import bessels
from ops_elementwise_igamma import incomplete_gammas
from ops_elementwise_zeta import zetas
from ops_indexing import indexed
from ops_indexing_selection import selected
from ops_linalg import linalg
from ops_linalg_products import products
from ops_linalg_systems import systems
from ops_nn import nn
from ops_nn_attention import attentions
from ops_nn_batch_norm import batch_norms
from ops_nn_convolution import convolutions
from ops_random import randoms
from ops_reduction import reduction
from ops_reduction_statistics import statistics
from ops_reduction_windows import windowed
from ops_scalars import scalars
from ops_shape import shape
from ops_sorting import ordered
from ops_sorting_unique import distinct
from ops_values import DTYPES, NAMES, dtypes, in_turn, kind

SUBJECTS = [
    elementwise,
    bits,
    functions,
    zetas,
    incomplete_gammas,
    bessels,
    creation,
    shape,
    indexed,
    selected,
    ordered,
    distinct,
]
SUBJECTS += [
    reduction,
    statistics,
    windowed,
    linalg,
    products,
    systems,
    nn,
    attentions,
    batch_norms,
    convolutions,
    randoms,
    control,
    scalars,
]

# Largest errors that are allowed, in units of the last place: the largest measured lazily (on three CPU plugins) and
# natively, over all dtypes, here and by accuracy_sweep.py over the whole range. Complex numbers are measured by their
# larger part, and have an entry of their own where they are less accurate. docs/operations.md takes its numbers from
# here.
ULPS = {
    "abs complex": 2,
    "sign complex": 3,
    "exponential": 5,
    "exponential complex": 3,
    "exponential_minus_one": 7,
    "exponential_minus_one complex": 7,
    "log": 2,
    "log complex": 4,
    "log_plus_one": 3,
    "log_plus_one complex": 4,
    "logistic": 3,
    "logistic complex": 5,
    "tanh": 8,
    "tanh complex": 6,
    "sqrt complex": 3,
    "rsqrt": 2,
    "rsqrt complex": 5,
    "cbrt": 1,
    "sinh": 4,
    "cosh": 4,
    "asin": 4,
    "asin complex": 5,
    "acos": 4,
    "acos complex": 6,
    "atan": 2,
    "atan complex": 5,
    "asinh": 4,
    "asinh complex": 5,
    "acosh": 4,
    "acosh complex": 6,
    "atanh": 4,
    "atanh complex": 5,
    "lgamma": 4,
    "digamma": 4,
    "trigamma": 6,
    "polygamma": 5,
    "zeta": 5,
    "igamma": 4,
    "igammac": 10,
    "igamma_grad_a": 12,
    "bessel_i0e": 4,
    "bessel_i1e": 4,
    "bessel_j0": 6,
    "bessel_j1": 5,
    "bessel_y0": 8,
    "bessel_y1": 8,
    "bessel_k0": 12,
    "bessel_k1": 6,
    "bessel_k0e": 12,
    "bessel_k1e": 6,
    "airy_ai": 7,
    "airy_ai_prime": 7,
    "airy_bi": 7,
    "airy_bi_prime": 7,
    "erfcx": 5,
    "erf_inv": 4,
    "normal_cdf": 5,
    "sine": 1,
    "sine complex": 4,
    "cosine": 1,
    "cosine complex": 4,
    "tan": 1,
    "tan complex": 6,
    "multiply complex": 2,
    "divide scalar": 1,
    "divide complex": 3,
    "power": 1,
    "power complex": 6,
    "atan2": 2,
    "log2": 3,
    "log2 complex": 30,
    "log10": 3,
    "log10 complex": 30,
    "floor_divide": 1,
    "modulo": 1,
    "hypot": 2,
    "logaddexp": 3,
    "logaddexp complex": 6,
    "sum": 2,
    "product": 5,
    "matmul": 4,
    "dot_general": 4,
    "einsum": 2,
    "convolution": 3,
    "cholesky": 2,
    "qr": 8,
    "lu": 8,
    "ldl": 8,
    "ldl_solve": 8,
    "tridiagonal_solve": 12,
    "svd": 8,
    "singular_values": 8,
    "eigh": 8,
    "eig": 64,
    "schur": 16,
    "solve": 32,
    "inverse": 32,
    "determinant": 32,
    "slogdet": 32,
    "lstsq": 32,
    "pinv": 32,
    "matrix_power": 32,
    "matrix_exponential": 64,
    "triangular_solve": 2,
    "fft": 5,
    "norm": 5,
    "gelu": 6,
    "gelu_tanh": 1700,
    "silu": 4,
    "silu complex": 8,
    "elu": 6,
    "selu": 7,
    "softplus": 5,
    "mish": 5,
    "log_sigmoid": 5,
    "hard_sigmoid": 2,
    "hard_swish": 3,
    "erf": 2,
    "erfc": 4,
    "softmax": 4,
    "log_softmax": 6,
    "mean": 1,
    "logsumexp": 2,
    "logsumexp complex": 6,
    "cumulative_logaddexp": 2,
    "cumulative_logaddexp complex": 4,
    "variance": 2,
    "standard_deviation": 2,
    "layer_norm": 6,
    "attention": 2,
    "rms_norm": 3,
    "rotary_embedding": 2,
    "ragged_dot": 4,
    "layer_norm_with_statistics": 6,
    "random_normal": 5,
    "random_exponential": 4,
    "random_gamma": 8,
    "random_log_gamma": 8,
    "random_beta": 2,
    "random_gumbel": 4,
    "random_laplace": 4,
    "random_truncated_normal": 6,
    "scatter": 2,
    "cumulative sum": 2,
    "cumulative product": 7,
    "reduce_with add": 2,
    "reduce_with multiply": 7,
    "reduce_window add": 2,
    "reduce_window multiply": 3,
    "select_and_scatter": 1,
    "scatter_along sum": 2,
    "scatter_along product": 3,
    "index_add": 2,
    "segment_reduce sum": 2,
    "segment_reduce product": 3,
    "index_put sum": 2,
    "index_put product": 3,
    "batch_norm_training": 5,
    "batch_norm_inference": 4,
    "batch_norm_grad": 4,
    "arange": 2,
    "linspace": 2,
    "linspace_with_scalars": 2,
}
# The engine xla-rs, over XLA of TensorFlow 2.21.0: off by 1.6.
if os.environ.get("LXLA_ENGINE") == "xla-rs":
    ULPS["tan"] = 2


# Operations whose results must be the nearest number, or equal bit for bit. Results of integers and pred always must.
EXACT = """
matrix_rank negate abs sign sqrt floor ceil round_nearest_even round_nearest_afz not popcnt count_leading_zeros is_finite is_nan is_inf
signbit trunc conj copysign next_after stop_gradient checkpoint_name
add subtract multiply divide remainder maximum minimum and or xor shift_left shift_right_arithmetic shift_right_logical
compare compare_scalar compare_total_order select convert full iota
full_with_scalar arange_with_scalars select_with_scalars clamp_with_scalars pad_with_scalar max min all any
reshape broadcast_to transpose slice concatenate dynamic_slice dynamic_update_slice take pad
clamp complex real imag bitcast_convert reduce_precision optimization_barrier
sort sort_along argsort top_k top_k_total_order argmax argmin cumulative
rng_bit_generator random_bits random_uniform random_split random_bernoulli random_categorical random_integers random_choice random_poisson
gather scatter scatter_along segment_reduce take_along_axis index_add index_copy
index index_put slice_assign nonzero mask_select mask_assign unique searchsorted
reduce_with reduce_window select_and_scatter call cond case while scan
sharding_constraint all_gather all_to_all collective_permute axis_index
squeeze expand_dims flip reverse stack split slice_axis roll tile repeat tril triu one_hot eye relu relu6
"""


def tolerance(operation, name):
    """Returns the allowed error. Variants with a scalar, and kinds of an operation, have the base operation's entry
    unless they have their own."""
    base = operation.removeprefix("scalar ").removesuffix(" scalar").removeprefix("compare ")
    names = [operation, base, operation.split()[0]]
    known = next((ULPS[key] for key in [*(f"{key} {kind(name)}" for key in names), *names] if key in ULPS), None)
    if known is None and not set(names) & set(EXACT.split()):
        raise AssertionError(f"{operation}: neither ULPS nor EXACT has it")
    return known or 0 if kind(name) in ("float", "complex") else 0


def described(operation, case):
    arrays = ", ".join(f"{NAMES[a.dtype]}{list(a.shape)}" for a in case.arrays)
    return f"{operation.name} of {arrays}" + (f" with {case.given}" if case.given else "")


def record(operation, name, worlds):
    """Yields the cases of an operation on a dtype, with the tensors that each world returned."""
    for case in operation.cases(name):
        case.result = case.result or NAMES[case.arrays[0].dtype]
        made = []
        for world in worlds:
            try:
                made.append(operation.call(world, *map(world.put, case.arrays), **case.given))
            except AssertionError as failure:
                raise AssertionError(f"{described(operation, case)}: {failure}") from None
        yield operation, name, case, made


def refusals(operation, worlds):
    """Checks that every dtype that the operation does not take is refused, with the same message in all worlds."""
    taken = dtypes(operation.takes)
    like, first = next((name, cases[0]) for name in taken if (cases := operation.cases(name)))
    for name in [] if not operation.refuses else DTYPES.keys() - taken:
        swap = lambda dtype: name if NAMES[dtype] == like else NAMES[dtype]
        arrays = [counted(swap(array.dtype), array.shape) for array in first.arrays]
        given = {key: DTYPES[swap(v.dtype)][1].type(1) if hasattr(v, "dtype") else v for key, v in first.given.items()}
        said = {world.failure(operation.call, *map(world.put, arrays), **given) for world in worlds}
        if len(said) > 1 or not str(*said).startswith("INVALID_ARGUMENT: lxla_"):
            yield f"{operation.name} of {name} should be refused, and gives {said}"


def wanted(operation, case, exact):
    """Returns NumPy's results and the scales of errors; and both again with denormals replaced by 0."""
    of = lambda function, arrays: np.asarray(function(*arrays, **case.given))
    flushed = [reference.flushed(array) for array in case.arrays]
    with np.errstate(all="ignore"):
        wide, small = ([reference.wide(array, exact) for array in arrays] for arrays in (case.arrays, flushed))
        sides = [wide] if all(a.tobytes() == b.tobytes() for a, b in zip(flushed, case.arrays)) else [wide, small]
        found = [(of(operation.reference, arrays), operation.scale and of(operation.scale, arrays)) for arrays in sides]
        if operation.in_order and len(sides) > 1:
            ordered = operation.in_order(*wide, *small, **case.given)
            found += [(each, None) for each in (ordered if isinstance(ordered, list) else [ordered])]
    return found


def errors(case, found, got, lazy, exact):
    """Returns the error of each element. Lazily, denormal operands and results may count as 0."""
    off = np.full(got.shape, np.inf, np.longdouble)
    for want, scale in found if lazy else found[:1]:
        off = np.minimum(off, distance(got, want, case.result, scale))
        if lazy and not (off <= 0.5).all():
            off = np.minimum(off, distance(got, reference.without_denormals(want, case.result), case.result, scale))
    for array in case.arrays if lazy and not exact else []:
        # The result for a denormal operand may be anything between the results with and without it.
        if array.dtype.kind not in "biu" and array.shape == got.shape:
            off = np.where(reference.denormal(array), 0, off)
    return off


def distance(got, want, name, scale):
    """Returns the distance of each element from the wanted value."""
    if got.shape != want.shape:
        raise AssertionError(f"its shape is {got.shape}, want {want.shape}")
    if kind(name) in ("pred", "signed", "unsigned"):
        return np.where(got == reference.rounded(want, name), 0, np.inf)
    off = reference.error(got, want, name, scale)
    if kind(name) == "complex":
        return off
    return np.where(reference.zeros_differ(got, reference.rounded(want, name)), np.inf, off)


def check(case, found, got, lazy, ulps):
    """Returns the largest error, and a description of the failure, if any."""
    if NAMES[got.dtype] != case.result:
        return np.inf, f"it is {NAMES[got.dtype]}, want {case.result}"
    try:
        off = errors(case, found, got, lazy, ulps == 0)
    except AssertionError as failure:
        return np.inf, str(failure)
    if not off.size or off.max() <= ulps:
        return (float(off.max()) if off.size else 0), None
    at = np.unravel_index(np.argmax(off), off.shape)
    inputs = [array[at] for array in case.arrays if array.shape == off.shape]
    words = f"{got.reshape(off.shape)[at]!r} at {[int(i) for i in at]} is off by {float(off[at]):.4g}" + (
        f", of {inputs!r}" if inputs else ""
    )
    return float(off.max()), f"{words}; {int((off > ulps).sum())} of {off.size} elements"


def joined(world, tensors, exact):
    """Joins eight exact results of a dtype into one tensor, since XLA's compile time grows with the number of outputs.
    Returns the joined cases with their shapes."""
    groups = {}
    for i, tensor in enumerate(tensors):
        groups.setdefault(world.type(tensor)[0] if exact[i] else i, []).append(i)
    batches = [group[at : at + 8] for group in groups.values() for at in range(0, len(group), 8)]
    shapes = [[world.type(tensors[i])[1] for i in batch] for batch in batches]
    return [(batch, of, world.join([tensors[i] for i in batch])) for batch, of in zip(batches, shapes)]


def values_of(world, batches, count):
    """Splits joined values, and returns each at its place."""
    found = [None] * count
    for batch, shapes, tensor in batches:
        ends = np.cumsum([int(np.prod(shape)) for shape in shapes])
        for i, shape, part in zip(batch, shapes, np.split(world.read(tensor).ravel(), ends[:-1])):
            found[i] = part.reshape(shape)
        release(tensor)
    return found


def halved(array):
    """Halves floats, so that positive definite matrices and indices stay valid. Leaves scalars alone, which may be the
    initial values of reductions, and values that would become 0, which is an edge value of its own."""
    if kind(NAMES[array.dtype]) not in ("float", "complex") or array.ndim == 0:
        return array
    with np.errstate(all="ignore"):
        half = (array * array.dtype.type(0.5)).astype(array.dtype)
    return np.where((half == 0) & (array != 0), array, half)


def again(recorded, worlds):
    """Returns the same cases with other values in the same tensors, so that the same executables run on addresses used
    before."""
    arrays = {id(array): array for _, _, case, _ in recorded for array in case.arrays}
    # Operations that share an array go on sharing it, or other programs would run.
    kept = {id(array) for operation, _, case, _ in recorded if not operation.again for array in case.arrays}
    changed = {key: array if key in kept else halved(array) for key, array in arrays.items()}
    for world in worlds:
        world.write({key: new for key, new in changed.items() if new is not arrays[key]})
    for operation, name, case, _ in recorded:
        other = replace(case, arrays=[changed[id(array)] for array in case.arrays])
        made = [operation.call(world, *map(world.put, other.arrays), **other.given) for world in worlds]
        yield operation, name, other, made


def compare(env, worlds, recorded, measured):
    """Runs the recorded operations in one step, cut into programs, since XLA is slow on large ones. Returns the
    failures."""
    failures = []
    units = [tolerance(operation.name, name) for operation, name, _, _ in recorded]
    batches = [
        joined(world, [made[i] for *_, made in recorded], [u == 0 for u in units]) for i, world in enumerate(worlds)
    ]
    abi.ok(abi.lib.lxla_mark_step(env, abi.xla(), 1))
    results = [values_of(world, batch, len(recorded)) for world, batch in zip(worlds, batches)]
    for (operation, name, case, _), ulps, *pair in zip(recorded, units, *results):
        wants = wanted(operation, case, ulps == 0)
        for world, got in zip(worlds, pair):
            off, failure = check(case, wants, got, world.name == "lazily", ulps)
            if failure:
                failures.append(f"{described(operation, case)}, {world.name}: {failure}")
            known = measured.setdefault((operation.name, name), {})
            known[world.name] = max(known.get(world.name, 0), off)
    return failures


def one_of_each_kind(operation):
    """Returns one dtype of each kind that an operation takes: another one for each operation."""
    taken = dtypes(operation.takes)
    kinds = [[name for name in taken if kind(name) == of] for of in dict.fromkeys(map(kind, taken))]
    return [names[zlib.crc32(operation.name.encode()) % len(names)] for names in kinds]


def run(operations, chosen):
    """Compares operations on chosen dtypes twice, the second time on other values. Returns the number of cases, the
    largest errors, and the failures."""
    env = abi.new_env()
    abi.ok(abi.lib.lxla_env_set_option(env, b"max_program_ops", b"1000"))
    worlds = [World(env, abi.xla(), "lazily"), World(env, abi.cpu(), "natively")]
    failures = [failure for operation in operations for failure in refusals(operation, worlds)]
    recorded = [
        row for operation in operations for name in chosen(operation) for row in record(operation, name, worlds)
    ]
    measured = {}
    failures += compare(env, worlds, recorded, measured)
    compiled = abi.counter(env, "UncachedCompile")
    failures += [f"again: {failure}" for failure in compare(env, worlds, list(again(recorded, worlds)), measured)]
    if abi.counter(env, "UncachedCompile") != compiled:
        failures.append("the second run compiled programs: other executables ran")
    return len(recorded), measured, failures


def report(measured):
    for (operation, name), known in sorted(measured.items()):
        if max(known.values()):
            print(f"{operation:28} {name:5} " + " ".join(f"{where} {off:.3g}" for where, off in known.items()))


def main():
    arguments = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    abi.load(arguments[0])
    known = [operation for subject in SUBJECTS for operation in subject()]
    operations = [operation for operation in known if operation.name.startswith(" ".join(arguments[1:]))]
    if not operations:
        sys.exit(f"no operation begins with {' '.join(arguments[1:])!r}")
    every = lambda operation: in_turn(operation.name, dtypes(operation.takes))
    chosen = one_of_each_kind if "--some" in sys.argv else every
    started = time.time()
    # Runs two halves in parallel: most of the time goes into compiling, which XLA does on one processor.
    with ThreadPoolExecutor(2) as pool:
        counts, measured, failures = zip(*pool.map(run, [operations[0::2], operations[1::2]], [chosen] * 2))
    if "--measure" in sys.argv:
        report(measured[0] | measured[1])
    failures = failures[0] + failures[1]
    print(*failures, sep="\n", end="\n" if failures else "")
    print(
        f"{sum(counts)} cases of {len(operations)} operations, {len(failures)} failures, {time.time() - started:.0f} s"
    )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
