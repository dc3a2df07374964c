"""Every derivative rule against JAX's: python derivatives_jax_test.py /path/to/liblazyxla.so [name] [--lazily], with
jax and numpy.

Traces each case of the operations of ops_test.py in every dtype of floats and complex numbers, and compares
- lxla_computation_jvp with jax.jvp,
- lxla_computation_vjp with jax.vjp, by the same cotangents: complex ones are not conjugated by either,
- jvp of the vjp with jax.jvp of jax.vjp,
natively, or with --lazily on the plugin. The operands are ordinary values, the case's own (edges of the dtype, among
others), few values with ties and zeros of both signs, and the same with infinities and NaN.

JAX computes in f64 and c128, from the operands of the dtype: that is exact beside f32 and less. An element that differs
is also right if it is near what JAX computes in the dtype, whose intermediate values may overflow.

derivatives_jax_functions.py has JAX's counterparts of the operations; an operation must be there or in WITHOUT. Where a
derivative differs from JAX's on purpose, derivatives_jax_conventions.py has a function with the documented one, which
is compared instead; at ordinary operands it has to agree with JAX's own. Elements that are not compared at all:
`Comparison.left_open`."""

import ctypes
import sys
import time
from collections import Counter
from ctypes import byref, c_size_t

if sys.version_info < (3, 11):
    print("JAX 0.10.2 needs Python 3.11")
    sys.exit(77)  # ctest counts 77 as skipped
sys.dont_write_bytecode = True
from derivatives_test import (
    REFUSED,
    Traced,
    abi,
    differentiable,
    draws,
    finite,
    random_like,
    trace,
)  # first: it finds abi/
from quick_jax import jax  # before what imports JAX
import ml_dtypes
import numpy as np
import ops_reference as reference
from ctypes_test import Computation, Tensor, VjpOptions
from derivatives_jax_conventions import CONVENTIONS, EVERYWHERE, WITHOUT
from derivatives_jax_functions import BINARY, FUNCTIONS
from derivatives_jax_linalg import FURTHER, SYSTEMS, further
from ops_cases import Case, World, array_of, plain, release
from ops_test import SUBJECTS, described
from ops_values import DTYPES, NAMES, dtypes, in_turn, kind, real

# Allowed errors in units of the dtype's epsilon, relative to the size of an element. A rule takes several operations,
# each of which may be off by some units (ULPS of ops_test.py), and so does JAX's. The size is the largest of the
# element that is wanted and of those for other tangents and cotangents, since their terms may cancel in one of them.
UNITS = 64
# Slopes that cancel against 1, as (1 - y) (1 + y): the size is at least 1.
AROUND_1 = """tanh tan logistic lgamma digamma bessel_i0e bessel_i1e exponential_minus_one power logaddexp cholesky
softmax log_softmax gelu gelu_tanh silu elu selu mish hard_swish batch_norm_training batch_norm_grad layer_norm norm
layer_norm_with_statistics attention rms_norm atan2""".split()
# Multiples of UNITS in f64 and c128, where JAX's own errors count, as those of exponentials of large numbers.
MORE = {
    "sinh": 100,
    "cosh": 100,
    "normal_cdf": 8,
    "gelu_tanh": 8,
    "mish": 2,
    "tan": 2,
    "power": 2,
    "igamma": 100,
    "igammac": 100,
}
# Multiples of UNITS in every dtype: differences from a mean cancel where the elements differ in size.
FROM_A_MEAN = {"batch_norm_training": 8, "attention": 8}
# At infinite scores, the order in which a formula divides and sums decides whether a derivative is 0 or NaN.
FINITE = ["attention"]
# The 1 / x of the slope cancels in the second derivative, at worst to half of the digits.
HALF_OF_THE_DIGITS = ["bessel_i1e"]
# Smaller operands are replaced by 0: 1 / length of hypot leaves few digits of the second derivative.
LEAST = {"hypot": 0.1}
# Larger operands are replaced by this: the loop of JAX's does not end for equal numbers of this kind.
MOST = {"igamma": 3000, "igammac": 3000}
# The terms of negative operands cancel, but beside the poles: they are a quarter away from one, on either side of it.
BESIDE_POLES = ["digamma", "trigamma", "polygamma", "zeta"]
# A plugin takes the elements of a window in any order, which matters if a comparison is not transitive, as with NaN.
WITHOUT_NAN = ["select_and_scatter GE", "select_and_scatter GT"]
# Operands that keep their values and have no tangents: initial values, which are identities, count any number of times.
FIXED = {f"reduce_{of} {name}": (1,) for of in ("with", "window") for name in ("add", "multiply", "max", "min")}
# Sums of products whose order is left open: infinity or NaN, if an operand or the value is not finite. Matrices without
# a factor or a solution, and sums of no elements.
UNORDERED = ["einsum", "convolution", "cumulative product", "cholesky", "triangular_solve", "batch_norm_grad"]
# Operations whose operands are matrices with factors, away from singular ones and from equal values.
FACTORED = SYSTEMS.keys() | FURTHER.keys()
# Multiples of UNITS for these: errors are those of the matrix times its size, relative to the distance of its values.
OF_FACTORS = 16
# f64 has no wider dtype: magnitudes with which JAX's intermediate values neither overflow nor underflow.
WIDEST = 1e60
MOST_ELEMENTS = 20000
POOL = [-6, -3, -2, -1, -1, -0.5, -0.0, 0, 0.5, 1, 1, 2, 3, 6]
INFINITE = [np.inf, -np.inf, np.nan, np.nan]
# Operands that broadcast, for each operation of two operands: JAX's cotangents are summed.
BROADCASTS = [((2, 1, 3), (4, 1)), ((7, 1), (1, 0)), ((), (5,))]


def base_name(operation):
    """Returns the name of an operation with its indices in all dtypes without that."""
    name = operation.name.removesuffix(" indices")
    return "scatter_along copy" if name == "scatter_along" else name


# Operands.


def cases_of(operation, name):
    cases = operation.cases(name)
    if operation.name in BINARY and name in ("f32", "c64"):
        cases = cases + [Case([plain(name, a, 5), plain(name, b, 6)]) for a, b in BROADCASTS]
    fits = lambda case: sum(array.size for array in case.arrays) <= MOST_ELEMENTS
    return [case for case in cases if any(map(differentiable, case.arrays)) and fits(case)]


def limited(operation, array):
    """Replaces numbers by 0 that are denormal, as XLA does, or smaller than the operation's least ones; limits f64."""
    with np.errstate(all="ignore"):
        array = reference.flushed(array)
        if kind(NAMES[array.dtype]) == "complex":
            return array
        if operation.name in BESIDE_POLES:
            wide, near = array.astype(np.float64), np.round(array.astype(np.float64))
            beside = near + np.where(near % 2 == 1, 0.25, -0.25)
            array = np.where((wide < 0) & (wide != near), beside, wide).astype(array.dtype)
        size, none = np.abs(array), np.copysign(np.zeros_like(array), array)
        least = [LEAST[word] for word in operation.name.split() if word in LEAST]
        array = np.where(size < max([ml_dtypes.finfo(array.dtype).tiny, *least]), none, array)
        most = MOST.get(operation.name, np.inf)
        array = np.where((size > most) & np.isfinite(array), np.copysign(most, array), array).astype(array.dtype)
        if NAMES[array.dtype] == "f64":
            array = np.where((size > WIDEST) & np.isfinite(array), np.copysign(WIDEST, array), array)
            array = np.where((size < 1 / WIDEST) & (array != 0), np.copysign(1 / WIDEST, array), array)
    return array


def chosen(random, array, pool):
    """Returns values of a pool. The parts of complex numbers are finite."""
    if kind(NAMES[array.dtype]) != "complex":
        return random.choice(np.array(pool), array.shape).astype(array.dtype)
    out = np.empty_like(array)
    out.real, out.imag = (random.choice(np.array(POOL), array.shape) for _ in range(2))
    return out


def ordinary(f, case, random):
    """Returns operands of derivatives_test.py, with finite results if there are any."""
    for arrays in draws(case, random):
        arrays = [array.astype(own.dtype) for array, own in zip(arrays, case.arrays)]
        with np.errstate(all="ignore"):
            if finite(f(*arrays)):
                break
    return arrays


def operands(operation, f, case, random):
    """Yields kinds of operands, with the arrays."""
    if operation.name in FACTORED:
        near = lambda x: (x * (1 + random.uniform(0, 0.01, x.shape))).astype(x.dtype)
        yield "ordinary", [near(array) for array in case.arrays]
        yield "own", case.arrays
        return
    drawn = {"ordinary": ordinary(f, case, random), "own": case.arrays}
    infinite = INFINITE[:2] if operation.name in WITHOUT_NAN else INFINITE
    pools = {"ties": POOL} | ({} if operation.name in FINITE else {"infinite": POOL + infinite})
    for name, pool in pools.items():
        drawn[name] = [chosen(random, array, pool) if differentiable(array) else array for array in case.arrays]
    for name, arrays in drawn.items():
        fixed = FIXED.get(operation.name, ())
        yield (
            name,
            [
                own if i in fixed or not differentiable(own) else limited(operation, array)
                for i, (array, own) in enumerate(zip(arrays, case.arrays))
            ],
        )


# Ours.


class Ours:
    """The transformations of a case, on a device."""

    def __init__(self, native, place, operation, case):
        self.native, self.place, self.arrays = native, place, case.arrays
        self.fixed = FIXED.get(operation.name, ())
        self.f = trace(native, case.arrays, lambda *parameters: [operation.call(native, *parameters, **case.given)])
        self.made = [self.f]
        with np.errstate(all="ignore"):
            (self.result,) = self.f(*case.arrays)
        self.moving = [i for i, array in enumerate(case.arrays) if differentiable(array) and i not in self.fixed]
        self.transformed, self.refused = {}, []
        if differentiable(self.result) and self.moving:
            self.transform()

    def transform(self):
        count = len(self.moving)
        rules = {
            "jvp": lambda: self.jvp(self.f, self.moving, 2),
            "vjp": self.vjp,
            "second": lambda: self.jvp(self.transformed["vjp"], [*self.moving, len(self.arrays)], 2 * count),
        }
        for how, rule in rules.items():
            if how == "second" and "vjp" not in self.transformed:
                continue
            try:
                self.transformed[how] = rule()
                self.made.append(self.transformed[how])
            except AssertionError as failure:
                if not str(failure).startswith("UNIMPLEMENTED"):
                    raise
                self.refused.append(how)

    def jvp(self, f, by, results):
        return f.transformed("lxla_computation_jvp", (c_size_t * len(by))(*by), len(by), results=results)

    def vjp(self):
        """Returns a computation of the gradients, from operands and the cotangent."""
        options = VjpOptions(struct_size=ctypes.sizeof(VjpOptions))
        abi.ok(abi.lib.lxla_vjp_options_init(byref(options)))
        options.wrt, options.n_wrt = (c_size_t * len(self.moving))(*self.moving), len(self.moving)
        forward, backward, residuals = Computation(), Computation(), c_size_t()
        made = map(byref, (forward, backward, residuals))
        abi.ok(abi.lib.lxla_computation_vjp(self.f.handle, byref(options), *made))
        parts = [Traced(self.native, forward, 1 + residuals.value), Traced(self.native, backward, len(self.moving))]
        self.made += parts

        def record(*parameters):
            result, *saved = called(parts[0], parameters[:-1])
            found = called(parts[1], [*saved, parameters[-1]])
            for tensor in (result, *saved):
                release(tensor)
            return found

        return trace(self.native, [*self.arrays, self.result], record)

    def values(self, arrays, tangents, cotangent, cotangents_tangent):
        """Returns the operation's result, and what each transformation gives, as lists of arrays."""
        given = {
            "jvp": [*arrays, *tangents],
            "vjp": [*arrays, cotangent],
            "second": [*arrays, cotangent, *tangents, cotangents_tangent],
        }
        calls = {"": (self.f, arrays)} | {how: (f, given[how]) for how, f in self.transformed.items()}
        tensors = {how: f.applied(self.place, inputs) for how, (f, inputs) in calls.items()}
        if self.place is not self.native:
            abi.ok(abi.lib.lxla_mark_step(self.place.env, self.place.device, 1))
        found = {how: [self.place.read(tensor) for tensor in listed] for how, listed in tensors.items()}
        for listed in tensors.values():
            for tensor in listed:
                release(tensor)
        first = {"": 0, "jvp": 1, "vjp": 0, "second": len(self.moving)}
        return {how: listed[first[how] :] for how, listed in found.items()}

    def release(self):
        for computation in self.made:
            abi.ok(abi.lib.lxla_computation_release(computation.handle))
        for world in {id(world): world for world in (self.native, self.place)}.values():
            for tensor, _ in world.known.values():
                release(tensor)
            world.known.clear()


def called(computation, tensors):
    made = (Tensor * computation.results)()
    given = array_of(tensors), len(tensors), made, computation.results
    abi.ok(abi.lib.lxla_computation_call(computation.handle, *given))
    return [Tensor(tensor.id) for tensor in made]


# JAX's.


def wide(array):
    """Returns an array, or a scalar, in the dtype in which JAX computes; indices beyond s64 become its largest."""
    array = np.minimum(array, np.iinfo(np.int64).max) if array.dtype == np.uint64 else array
    wider = {"float": np.float64, "complex": np.complex128, "pred": bool}
    return array.astype(wider.get(kind(NAMES[array.dtype]), np.int64))


def given_to(function, case, widen):
    """Returns the further arguments of a case for JAX."""
    given = {key: widen(value) if hasattr(value, "dtype") else value for key, value in case.given.items()}
    if "to" in given:
        given["to"] = widen(np.zeros(0, DTYPES[given["to"]][1])).dtype
    return function, given


COMPILED = {}


def compiled(function, given, arrays, moving, hows):
    """Returns a function of all operands, tangents, cotangent and its tangent; it gives a list for each derivative."""
    key = function, repr(given), tuple((array.shape, array.dtype) for array in arrays), tuple(moving), tuple(hows)

    def derivatives(arrays, tangents, cotangent, cotangents_tangent):
        def f(*moved):
            moved = iter(moved)
            return function(*(next(moved) if i in moving else array for i, array in enumerate(arrays)), **given)

        def gradients(*operands):
            return jax.vjp(f, *operands[:-1])[1](operands[-1])

        primals, made = [arrays[i] for i in moving], {}
        if "jvp" in hows:
            made["jvp"] = [jax.jvp(f, primals, tangents)[1]]
        if "second" in hows:
            both = jax.jvp(gradients, [*primals, cotangent], [*tangents, cotangents_tangent])
            made |= {"vjp": list(both[0]), "second": list(both[1])}
        elif "vjp" in hows:
            made["vjp"] = list(gradients(*primals, cotangent))
        return made

    if key not in COMPILED:
        COMPILED[key] = jax.jit(derivatives)
    return COMPILED[key]


class Theirs:
    """JAX's derivatives of a case at some operands."""

    def __init__(self, function, case, ours, arrays):
        self.function, self.case, self.ours, self.arrays = function, case, ours, arrays

    def __call__(self, tangents, cotangent, cotangents_tangent, widen=wide, function=None):
        function, given = given_to(function or self.function, self.case, widen)
        arrays = [widen(array) for array in self.arrays]
        f = compiled(function, given, arrays, self.ours.moving, list(self.ours.transformed))
        return jax.tree.map(np.asarray, f(arrays, [*map(widen, tangents)], widen(cotangent), widen(cotangents_tangent)))

    def in_dtype(self, *directions):
        """Returns the derivatives that JAX computes in the dtype; None if the counterpart gives another dtype."""
        function, given = given_to(self.function, self.case, lambda x: x)
        result = jax.eval_shape(lambda *arrays: function(*arrays, **given), *self.arrays)
        return self(*directions, widen=lambda x: x) if result.dtype == self.ours.result.dtype else None


# Comparison.


def near(got, want, size, units):
    """Returns where elements are near those that are wanted, which are wide."""
    name = real(NAMES[got.dtype])
    least, most, eps = reference.limits(name)
    with np.errstate(all="ignore"):
        held, got = want.astype(got.dtype).astype(want.dtype), got.astype(want.dtype)
        same = (held == got) | np.isnan(held) & np.isnan(got)
        if np.iscomplexobj(got):
            same |= ~np.isfinite(held) & ~np.isfinite(got)
        else:
            # Of two numbers near the largest one, one may be infinite.
            same |= (np.sign(held) == np.sign(got)) & (np.minimum(np.abs(held), np.abs(got)) > most * (1 - units * eps))
        size = np.maximum(size, np.where(np.isfinite(want), np.abs(want), 0))
        return same | (np.abs(got - want) <= units * eps * size + least)


class Comparison:
    """Compares the derivatives of a case at some operands."""

    def __init__(self, operation, ours, arrays, value, count):
        self.operation, self.ours, self.arrays, self.value, self.count = operation, ours, arrays, value, count
        self.name = NAMES[ours.result.dtype]
        self.units = UNITS * (MORE.get(base_name(operation), 1) if self.name in ("f64", "c128") else 1)
        self.units *= OF_FACTORS if operation.name in FACTORED else FROM_A_MEAN.get(operation.name, 1)
        read = (value, *(arrays[i] for i in ours.moving))
        self.all_finite = value.size and all(np.isfinite(x).all() for x in read)

    def sizes(self, theirs, random):
        """Returns the sizes of derivatives: the largest ones for some tangents and cotangents."""
        sizes = None
        for _ in range(3):
            made = jax.tree.map(lambda x: np.where(np.isfinite(x), np.abs(x), 0), theirs(*self.directions(random)))
            sizes = made if sizes is None else jax.tree.map(np.maximum, sizes, made)
        if {base_name(self.operation), *self.operation.name.split()} & set(AROUND_1):
            sizes = jax.tree.map(lambda x: np.maximum(x, 1), sizes)
        if self.operation.name in FACTORED:
            # Each element of a factor depends on the whole matrix, and its terms may cancel.
            sizes = jax.tree.map(lambda x: np.full_like(x, np.max(x, initial=1)), sizes)
        return sizes

    def directions(self, random):
        """Returns tangents, a cotangent, and its tangent."""
        tangents = [random_like(random, self.arrays[i]) for i in self.ours.moving]
        return tangents, random_like(random, self.ours.result), random_like(random, self.ours.result)

    def units_of(self, how):
        if how == "second" and self.operation.name in HALF_OF_THE_DIGITS:
            return self.units * reference.limits(real(self.name))[2] ** -0.5
        return self.units

    def check(self, found, theirs, directions, random):
        """Yields failures."""
        wanted, sizes, own = theirs(*directions), self.sizes(theirs, random), None
        for how in self.ours.transformed:
            for i, (got, want, size) in enumerate(zip(found[how], wanted[how], sizes[how], strict=True)):
                words = f"{how} {i}"
                if got.shape != want.shape:
                    yield f"{words}: its shape is {got.shape}, JAX's {want.shape}"
                    continue
                self.count["elements"] += got.size
                right = near(got, want, size, self.units_of(how))
                open_ = self.left_open(how, i, got, want, size, found, wanted)
                self.count["not compared"] += int((open_ & ~right).sum())
                right |= open_
                if not right.all():
                    own = own or theirs.in_dtype(*directions) or {}
                    if how in own:
                        also = near(got, wide(own[how][i]), size, self.units_of(how))
                        self.count["only as JAX in the dtype"] += int((also & ~right).sum())
                        right |= also
                if not right.all():
                    yield f"{words}: {self.example(right, got, want)}"

    def left_open(self, how, i, got, want, size, found, wanted):
        """Returns elements that are not compared."""
        with np.errstate(all="ignore"):
            held = want.astype(got.dtype)
        beside = [x for x in self.arrays if differentiable(x) and x.shape in (got.shape, ())]
        beside = [np.broadcast_to(x, got.shape) for x in beside]
        no_number = np.any([np.zeros(got.shape, bool), *(~np.isfinite(x) for x in beside)], 0)
        # Sizes about the largest number: the sum may be within, and a term of it beyond.
        with np.errstate(all="ignore"):
            largest = 64 * np.maximum(size, np.abs(want))
            left = (largest > reference.limits(real(NAMES[got.dtype]))[1]) & ~np.isnan(want)
        # Outside of the operation's domain.
        if self.value.shape == got.shape:
            left |= np.isnan(self.value) & ~np.any([np.zeros(got.shape, bool), *map(np.isnan, beside)], 0)
        # JAX's complex functions of infinities.
        if np.iscomplexobj(got):
            left |= no_number
        if self.operation.name in UNORDERED and not self.all_finite:
            left |= ~np.isfinite(got) | ~np.isfinite(want)
        # Second derivatives at poles; and where JAX multiplies 0 by an infinity.
        if how == "second":
            slopes = (found["vjp"][i], wanted["vjp"][i]) if "vjp" in found else ()
            pole = np.any([no_number, ~np.isfinite(held), *(~np.isfinite(x) for x in slopes)], 0)
            left |= (np.isnan(got) != np.isnan(want)) & (pole | np.isnan(want))
        return left

    def example(self, right, got, want):
        at = tuple(int(i) for i in np.argwhere(~right)[0])
        of = [x[at] if x.shape == right.shape else x[()] for x in self.arrays if x.shape in (right.shape, ())]
        words = f"{got[at]!r} at {list(at)}, want {want[at]!r}" + (f", of {of}" if of else "")
        return f"{words}; {int((~right).sum())} of {right.size}"


def agreement(comparison, theirs, directions, random):
    """Yields where a convention differs from JAX's own derivative at ordinary operands."""
    ours, own = theirs(*directions), theirs(*directions, function=FUNCTIONS[base_name(comparison.operation)])
    sizes = comparison.sizes(theirs, random)
    for how in ours:
        for i, (got, want, size) in enumerate(zip(ours[how], own[how], sizes[how], strict=True)):
            if not near(got, want, size, comparison.units_of(how)).all():
                yield f"{how} {i}: the convention differs from JAX at ordinary operands"


def check_case(native, place, operation, name, case, count):
    """Yields failures of one case."""
    ours = Ours(native, place, operation, case)
    function, _ = CONVENTIONS.get(base_name(operation), (FUNCTIONS[base_name(operation)], ""))
    random = np.random.default_rng([len(operation.name), len(described(operation, case))])
    if ours.refused and not {operation.name, operation.name.split()[0]} & {name for name, _ in REFUSED}:
        yield f"{ours.refused} refused"
    count["cases"] += bool(ours.transformed)
    count[operation.name] += bool(ours.transformed or ours.refused)
    for kind_of, arrays in operands(operation, ours.f, case, random) if ours.transformed else ():
        directions = Comparison(operation, ours, arrays, ours.result, count).directions(random)
        with np.errstate(all="ignore"):
            found = ours.values(arrays, *directions)
            comparison = Comparison(operation, ours, arrays, found.pop("")[0], count)
            theirs = Theirs(function, case, ours, arrays)
            failures = [*comparison.check(found, theirs, directions, random)]
            is_own = base_name(operation) not in CONVENTIONS or base_name(operation) in EVERYWHERE
            if kind_of == "ordinary" and name in ("f64", "c128") and not is_own:
                failures += agreement(comparison, theirs, directions, random)
        yield from (f"{kind_of}, {words}" for words in failures)
    ours.release()


def unknown(operations):
    """Yields operations that no table has, and names in tables that are not operations."""
    names, tables = {base_name(operation) for operation in operations}, FUNCTIONS.keys() | WITHOUT.keys()
    yield from (f"{name}: neither FUNCTIONS nor WITHOUT has it" for name in sorted(names - tables))
    tables |= CONVENTIONS.keys()
    yield from (f"{name}: a table has it, and it is not an operation" for name in sorted(tables - names))


def check_all(native, place, operations, count):
    """Yields failures of operations."""
    for operation in operations:
        for name in in_turn(operation.name, dtypes(operation.takes)):
            for case in cases_of(operation, name):
                try:
                    found = [*check_case(native, place, operation, name, case, count)]
                except Exception as failure:
                    found = [f"{type(failure).__name__}: {str(failure)[:300]}"]
                yield from (f"{described(operation, case)}: {words}" for words in found)
        if not count.pop(operation.name, 0) and operation.name == base_name(operation):
            yield f"{operation.name}: nothing to compare; list it in WITHOUT"


def main():
    names, started = [argument for argument in sys.argv[1:] if not argument.startswith("--")], time.time()
    abi.load(names[0])
    env = abi.new_env()
    abi.ok(abi.lib.lxla_env_set_option(env, b"mixed_device_policy", b"copy"))
    native = World(env, abi.cpu(), "natively")
    place = World(env, abi.xla(), "lazily") if "--lazily" in sys.argv else native
    known = [operation for subject in SUBJECTS for operation in subject()] + further()
    operations = [operation for operation in known if operation.name.startswith("".join(names[1:]))]
    operations = [operation for operation in operations if base_name(operation) in FUNCTIONS]
    count = Counter()
    failures = [*unknown(known), *check_all(native, place, operations, count)]
    print(*failures, sep="\n", end="\n" if failures else "")
    for reason in dict.fromkeys(WITHOUT.values()):
        left = [name for name, why in WITHOUT.items() if why == reason]
        print(f"{len(left)} operations not compared ({reason}): {', '.join(left)}")
    print(*(f"{number} {what}" for what, number in count.items()), sep=", ")
    print(f"{len(operations)} operations, {len(failures)} failures, {time.time() - started:.0f} s")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
