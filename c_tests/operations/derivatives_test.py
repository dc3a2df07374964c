"""Derivatives and batching of every operation: python derivatives_test.py /path/to/liblazyxla.so [name] [--lazily]

Traces each case of the operations of ops_test.py as a computation of f64 or c128 values, and checks natively
- lxla_computation_jvp against central differences,
- lxla_computation_vjp against jvp by the identity <cotangent, jvp(tangent)> = <vjp(cotangent), tangent>,
- jvp of the vjp against central differences of the vjp,
- lxla_computation_vmap against one call for each element of the batch.
With --lazily, also runs all of these on the plugin, and compares with the native results."""

import sys
from ctypes import byref, c_int64, c_size_t

sys.dont_write_bytecode = True  # leaves no caches beside the sources
sys.path.append(sys.path[0] + "/../abi")  # ctypes_test
import ctypes_test as abi
import numpy as np
from ctypes_test import Tensor
from ops_cases import Computation, World, array_of, ints, release
from ops_test import SUBJECTS, described
from ops_values import DTYPES, NAMES, dtypes, kind

STEP = 1e-5
MOST_ELEMENTS = 1500  # of a case: larger arrays are cut
BATCH = 3

# Operations that are refused, in some case, by which transformations.
REFUSED = {
    ("eig", "second"),
    ("igamma", "second"),
    ("igamma_grad_a", "jvp"),
    ("igammac", "second"),
    ("index_put product", "jvp"),
    ("ldl", "jvp"),
    ("ldl_solve", "jvp"),
    ("next_after", "jvp"),
    ("reduce_window max", "jvp"),
    ("reduce_window min", "jvp"),
    ("reduce_window multiply", "jvp"),
    ("reduce_with pairs", "jvp"),
    ("reduce_with pairs", "vmap"),
    ("schur", "jvp"),
    ("scatter multiply", "jvp"),
    ("scatter_along product", "jvp"),
    ("segment_reduce product", "jvp"),
    ("while", "vjp"),
    ("zeta", "jvp"),
}
# Operations that pass tangents on although they only jump, or that have the derivative of another function: an implicit
# one of random numbers, which rejection makes jump.
STRAIGHT_THROUGH = {"reduce_precision", "random_gamma", "random_log_gamma", "random_beta"}
# Cases that have no finite results, whatever the operands, by their given arguments or axes of size 0.
NOT_FINITE = "full_with_scalar select_with_scalars pad_with_scalar norm bitcast_convert".split()


def differentiable(array):
    return kind(NAMES[array.dtype]) in ("float", "complex")


# Calls to compare with the plugin: computation, operands, native results.
CALLS = []


class Traced:
    """A computation, and its application on the native or an XLA device."""

    def __init__(self, world, handle, results):
        self.world, self.handle, self.results = world, handle, results

    def applied(self, world, arrays):
        """Calls the computation in a world and returns the tensors."""
        tensors = array_of([world.put(array) for array in arrays])
        made = (Tensor * self.results)()
        abi.ok(abi.lib.lxla_computation_call(self.handle, tensors, len(arrays), made, self.results))
        return [Tensor(tensor.id) for tensor in made]

    def __call__(self, *arrays):
        made = self.applied(self.world, arrays)
        values = [self.world.read(tensor) for tensor in made]
        for tensor in made:
            release(tensor)
        return values

    def kept(self, *arrays):
        """Calls the computation, and keeps the call for a comparison with the plugin."""
        values = self(*arrays)
        CALLS.append((self, arrays, values))
        return values

    def transformed(self, function, *inputs, results):
        handle = abi.give(getattr(abi.lib, function), Computation, self.handle, *inputs)
        return Traced(self.world, handle, results)

    def jvp(self, results):
        return self.transformed("lxla_computation_jvp", None, 0, results=results)

    def vjp(self):
        forward, backward, count = Computation(), Computation(), c_size_t()
        abi.ok(abi.lib.lxla_computation_vjp(self.handle, None, byref(forward), byref(backward), byref(count)))
        n = abi_results(backward)
        return (
            Traced(self.world, forward, self.results + count.value),
            Traced(self.world, backward, n),
            count.value,
        )

    def vmap(self, in_axes):
        axes = [ints(in_axes), len(in_axes), ints([0] * self.results), self.results, c_int64(BATCH)]
        return self.transformed("lxla_computation_vmap", *axes, results=self.results)


def abi_results(computation):
    counts = [c_size_t() for _ in range(3)]
    abi.ok(abi.lib.lxla_computation_info(computation, *map(byref, counts)))
    return counts[1].value


def trace(world, arrays, record):
    """Traces `record(*placeholders)`, which returns tensors, on placeholders of the arrays' types."""
    make = lambda array: world.make(
        "lxla_tensor_placeholder", world.env, world.device, DTYPES[NAMES[array.dtype]][0], *abi.dims(*array.shape)
    )
    parameters = [make(array) for array in arrays]
    results = record(*parameters)
    given = [array_of(parameters), len(parameters), array_of(results), len(results)]
    handle = abi.give(abi.lib.lxla_computation_trace, Computation, *given)
    for tensor in {tensor.id for tensor in [*parameters, *results]}:
        release(Tensor(tensor))
    return Traced(world, handle, len(results))


def draws(case, random):
    """Yields operand lists for a case: its own values where they are moderate, then values of several ranges."""

    def drawn(array, low, high, mixed, keep):
        if not differentiable(array):
            return array
        value = random.uniform(low, high, array.shape)
        if mixed:
            value = value * random.choice([-1, 1], array.shape)
        if kind(NAMES[array.dtype]) == "complex":
            value = value * np.exp(1j * random.uniform(-1, 1, array.shape))
        value = value.astype(array.dtype)
        if not keep:
            return value
        with np.errstate(all="ignore"):
            size = np.abs(array)
            # Apart from each other, since a tie is a kink.
            own = array * (1 + random.uniform(0, 0.01, array.shape))
            if kind(NAMES[array.dtype]) == "complex":
                own = own * np.exp(1j * random.uniform(0.01, 0.02, array.shape))
            return np.where((size > 0.05) & (size < 5), own, value).astype(array.dtype)

    if case.given.keys() == {"lower"} and len(case.arrays) == 1:
        yield [positive_definite(case.arrays[0], random)]
    for low, high, mixed, keep in (
        (0.2, 2, True, True),
        (0.2, 0.9, True, False),
        (0.2, 0.9, False, False),
        (1.1, 2.5, False, False),
    ):
        yield [drawn(array, low, high, mixed, keep) for array in case.arrays]


def positive_definite(array, random):
    factor = random_like(random, array)
    return factor @ np.conj(np.swapaxes(factor, -1, -2)) + np.eye(array.shape[-1])


def finite(arrays):
    return all(np.isfinite(array).all() for array in arrays if differentiable(array))


def inner(a, b):
    return sum(float(np.real(np.sum(x * y))) for x, y in zip(a, b))


def near(got, want, scale, what):
    """Returns a description of the largest difference, if it is too large."""
    got, want = np.asarray(got), np.asarray(want)
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"{what}: it is {got.dtype}{list(got.shape)}, want {want.dtype}{list(want.shape)}"
    if not got.size:
        return None
    off = np.abs(got - want) / (1 + np.abs(want))
    if not (off <= scale).all():
        at = np.unravel_index(np.nanargmax(np.where(np.isnan(off), np.inf, off)), off.shape)
        return f"{what}: {got[at]!r} at {[int(i) for i in at]}, want {want[at]!r}"
    return None


def differences(f, arrays, tangents):
    """Returns central differences in a direction, and where two step sizes agree."""

    def moved(by):
        step = lambda array, tangent: array if tangent is None else (array + by * tangent).astype(array.dtype)
        return f(*map(step, arrays, tangents))

    with np.errstate(all="ignore"):
        of = lambda h: [(a - b) / (2 * h) if differentiable(a) else a for a, b in zip(moved(h), moved(-h))]
        coarse, fine = of(2 * STEP), of(STEP)
        agree = [np.abs(a - b) <= 1e-5 * (1 + np.abs(a)) if differentiable(a) else None for a, b in zip(fine, coarse)]
    return fine, agree


def check_jvp(name, f, jvp, arrays, tangents, results):
    given = [tangent for tangent in tangents if tangent is not None]
    found = jvp.kept(*arrays, *given)
    pushed = iter(found[len(results) :])
    slopes, agree = differences(f, arrays, tangents)
    for i, (result, slope, smooth) in enumerate(zip(results, slopes, agree)):
        if not differentiable(result):
            continue
        tangent = next(pushed)
        if smooth.size > 4 and smooth.mean() < 0.5:
            yield f"{name} result {i}: the differences agree at {smooth.mean():.0%} of the elements only"
        words = near(np.where(smooth, tangent, 0), np.where(smooth, slope, 0), 2e-5, f"{name} result {i}")
        if words:
            yield words


def random_like(random, array):
    value = random.uniform(-1, 1, array.shape)
    if kind(NAMES[array.dtype]) == "complex":
        value = value + 1j * random.uniform(-1, 1, array.shape)
    return value.astype(array.dtype)


def check_case(world, operation, case, random, refused):
    """Yields failures of one case. Adds what is refused to `refused`."""
    f = trace(world, case.arrays, lambda *parameters: [operation.call(world, *parameters, **case.given)])
    for arrays in draws(case, random):
        with np.errstate(all="ignore"):
            results = f(*arrays)
        if finite(results):
            break
    else:
        if operation.name not in NOT_FINITE:
            yield "no finite results"
        return
    tangents = [random_like(random, array) if differentiable(array) else None for array in arrays]
    rounded = any(differentiable(result) and NAMES[result.dtype] not in ("f64", "c128") for result in results)
    checks = {"vmap": lambda: check_batches(f, arrays, results, random)}
    if any(tangent is not None for tangent in tangents) and any(map(differentiable, results)) and not rounded:
        of = Derivatives(f, arrays, tangents, results, random, operation.name in STRAIGHT_THROUGH)
        checks |= {"jvp": of.check_jvp, "vjp": of.check_vjp, "second": of.check_second}
    for name in ("jvp", "vjp", "second", "vmap"):
        try:
            yield from checks.get(name, list)()
        except AssertionError as failure:
            if not str(failure).startswith("UNIMPLEMENTED"):
                raise
            refused.add((operation.name, name))
            if name != "vjp" or operation.name != "while":
                checks.pop("vjp", None), checks.pop("second", None)
            checks.pop("second", None)


class Derivatives:
    """Checks of the derivatives of a computation."""

    def __init__(self, f, arrays, tangents, results, random, straight_through):
        self.f, self.arrays, self.tangents, self.results, self.random = f, arrays, tangents, results, random
        self.given = [tangent for tangent in tangents if tangent is not None]
        self.straight_through = straight_through

    def check_jvp(self):
        count = sum(map(differentiable, self.results))
        jvp = self.f.jvp(self.f.results + count)
        self.pushed = jvp(*self.arrays, *self.given)[len(self.results) :]
        # The norm of no elements is the root of 0, where the slope is infinite.
        if not self.straight_through and self.arrays[0].size:
            yield from check_jvp("jvp", self.f, jvp, self.arrays, self.tangents, self.results)

    def check_vjp(self):
        self.forward, self.backward, _ = self.f.vjp()
        made = self.forward(*self.arrays)
        for got, want in zip(made, self.results):
            words = near(got, want, 1e-12, "the forward pass")
            if words and differentiable(got):
                yield words
        cotangents = [random_like(self.random, result) for result in self.results if differentiable(result)]
        self.cotangents, self.gradients = cotangents, self.backward.kept(*made[len(self.results) :], *cotangents)
        for gradient, tangent in zip(self.gradients, self.given, strict=True):
            if gradient.shape != tangent.shape or gradient.dtype != tangent.dtype:
                yield f"vjp: a gradient is {gradient.dtype}{gradient.shape}"
        if finite(self.pushed):
            left, right = inner(cotangents, self.pushed), inner(self.gradients, self.given)
            size = sum(float(np.abs(a * b).sum()) for a, b in zip(cotangents, self.pushed)) + 1
            if not abs(left - right) <= 1e-9 * size:
                yield f"vjp: <cotangent, jvp> is {left}, and <vjp, tangent> is {right}"

    def check_second(self):
        if not self.straight_through:
            yield from check_second(
                self.f, self.forward, self.backward, self.arrays, self.cotangents, self.gradients, self.random
            )


def check_second(f, forward, backward, arrays, cotangents, gradients, random):
    """Checks jvp of the vjp."""

    def record(*parameters):
        made = (Tensor * forward.results)()
        operands = array_of(parameters[: len(arrays)])
        abi.ok(abi.lib.lxla_computation_call(forward.handle, operands, len(arrays), made, forward.results))
        made = [Tensor(tensor.id) for tensor in made]
        passed = array_of([*made[f.results :], *parameters[len(arrays) :]])
        found = (Tensor * backward.results)()
        abi.ok(abi.lib.lxla_computation_call(backward.handle, passed, len(passed), found, backward.results))
        for tensor in made:
            release(tensor)
        return [Tensor(tensor.id) for tensor in found]

    all_arrays = [*arrays, *cotangents]
    both = trace(f.world, all_arrays, record)
    tangents = [random_like(random, array) if differentiable(array) else None for array in all_arrays]
    jvp = both.jvp(both.results * 2)
    yield from check_jvp("jvp of vjp", both, jvp, all_arrays, tangents, gradients)


def check_batches(f, arrays, results, random):
    """Checks batches over all operands, over floats only, and over each operand alone."""
    masks = [[True] * len(arrays), [differentiable(array) for array in arrays]]
    masks += [[i == j for j in range(len(arrays))] for i in range(len(arrays))]
    for mask in {tuple(mask) for mask in masks if any(mask)}:
        stacked, rows = [], [list(arrays) for _ in range(BATCH)]
        for i, (array, mapped) in enumerate(zip(arrays, mask)):
            if not mapped:
                stacked.append(array)
                continue
            if differentiable(array):
                for row in rows:
                    row[i] = (array * (1 + random.uniform(0, 0.01))).astype(array.dtype)
            stacked.append(np.stack([row[i] for row in rows]))
        with np.errstate(all="ignore"):
            got = f.vmap([0 if mapped else -1 for mapped in mask]).kept(*stacked)
            want = [f(*row) for row in rows]
        for i, batch in enumerate(got):
            rows_of = np.stack([row[i] for row in want])
            if NAMES[batch.dtype] in ("f64", "c128"):
                words = near(np.nan_to_num(batch), np.nan_to_num(rows_of), 1e-11, f"vmap {list(mask)}")
            else:
                same = batch.shape == rows_of.shape and batch.tobytes() == rows_of.tobytes()
                words = None if same else f"vmap {list(mask)}: it is {batch!r}, want {rows_of!r}"
            if words:
                yield words


def precise(case):
    """Whether all floats of a case are precise enough for differences."""
    return all(NAMES[array.dtype] in ("f64", "c128") for array in case.arrays if differentiable(array))


def cut(case):
    """Returns a case with shorter vectors, if all its arrays are vectors of one length."""
    shapes = {array.shape for array in case.arrays}
    if len(shapes) == 1 and case.arrays[0].ndim == 1 and case.arrays[0].size > 200:
        case.arrays = [np.concatenate([array[:40], array[-40:]]) for array in case.arrays]
    return case


def lazily(world, case, operation):
    """Runs the kept calls on the plugin, in one step. Yields where the results differ from the native ones."""
    tensors = [computation.applied(world, arrays) for computation, arrays, _ in CALLS]
    abi.ok(abi.lib.lxla_mark_step(world.env, world.device, 1))
    for (_, _, values), made in zip(CALLS, tensors):
        for i, (tensor, want) in enumerate(zip(made, values)):
            got = world.read(tensor)
            release(tensor)
            if NAMES[want.dtype] in ("f64", "c128") and operation.name not in NOT_FINITE:
                words = near(np.nan_to_num(got), np.nan_to_num(want), 1e-8, f"lazily, result {i}")
                if words:
                    yield words
    CALLS.clear()
    for tensor, _ in world.known.values():
        release(tensor)
    world.known.clear()


def main():
    names = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    abi.load(names[0])
    env = abi.new_env()
    abi.ok(abi.lib.lxla_env_set_option(env, b"mixed_device_policy", b"copy"))
    world, plugin = World(env, abi.cpu(), "natively"), World(env, abi.xla(), "lazily")
    known = [operation for subject in SUBJECTS for operation in subject()]
    operations = [operation for operation in known if operation.name.startswith("".join(names[1:]))]
    count, failures, refused = 0, [], set()
    for operation in operations:
        for dtype in ("f64", "c128"):
            if dtype not in dtypes(operation.takes):
                continue
            for number, case in enumerate(operation.cases(dtype)):
                case = cut(case)
                if sum(array.size for array in case.arrays) > MOST_ELEMENTS or not precise(case):
                    continue
                random = np.random.default_rng([number, len(operation.name)])
                count += 1
                try:
                    found = [*check_case(world, operation, case, random, refused)]
                    if "--lazily" in sys.argv:
                        found += lazily(plugin, case, operation)
                    CALLS.clear()
                    failures += [f"{described(operation, case)}: {words}" for words in found]
                except AssertionError as failure:
                    CALLS.clear()
                    failures.append(f"{described(operation, case)}: {failure}")
    known = {(name, how) for name, how in REFUSED if name in {operation.name for operation in operations}}
    failures += [f"{name}: {how} is refused" for name, how in sorted(refused - known)]
    failures += [f"{name}: {how} is not refused any more" for name, how in sorted(known - refused)]
    print(*failures, sep="\n", end="\n" if failures else "")
    print(f"{count} cases of {len(operations)} operations, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
