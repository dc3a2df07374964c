"""Evaluates what JAX has traced with NumPy: `evaluate(jax.make_jaxpr(f)(*arguments), *arguments)`.

JAX traces and transforms, and nothing is compiled, which would take most of the time of a test with many functions.
Primitives without an entry here are JAX's own.
"""

import numpy as np
from jax.extend.core import ClosedJaxpr, Literal

PLAIN = {
    name: getattr(np, name)
    for name in (
        "sin cos tan tanh exp log log1p expm1 sqrt sinh cosh floor ceil real imag conj square sign abs exp2 cbrt "
        "nextafter"
    ).split()
}
PLAIN |= {
    "neg": np.negative,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "logistic": lambda x: 1 / (1 + np.exp(-x)),
    "is_finite": np.isfinite,
    "not": np.invert,
    "stop_gradient": lambda x: x,
    "copy": lambda x: x,
    "add": np.add,
    "add_any": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "rem": np.fmod,
    "atan2": np.arctan2,
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "complex": lambda x, y: x + 1j * y,
    "shift_right_arithmetic": np.right_shift,
    "clamp": lambda low, x, high: np.minimum(np.maximum(x, low), high),
    "select_n": lambda which, *cases: np.select([which == i for i in range(len(cases))], cases),
}
RULES = {}


def rule(function):
    RULES[function.__name__.strip("_")] = function
    return function


def evaluate(closed, *arguments):
    """Returns the results of a jaxpr with its constants, as a list of arrays."""
    jaxpr, values = closed.jaxpr, {}

    def read(variable):
        if isinstance(variable, Literal):
            return np.asarray(variable.val, variable.aval.dtype)
        return values[variable]

    values.update(zip(jaxpr.constvars, map(np.asarray, closed.consts), strict=True))
    values.update(zip(jaxpr.invars, arguments, strict=True))
    for step in jaxpr.eqns:
        found = applied(step, [read(variable) for variable in step.invars])
        if not step.primitive.multiple_results:
            found = [found]
        for variable, value in zip(step.outvars, found, strict=True):
            values[variable] = np.asarray(value, variable.aval.dtype)
            assert values[variable].shape == variable.aval.shape, step
    return [read(variable) for variable in jaxpr.outvars]


def applied(step, operands):
    name = step.primitive.name
    if name in PLAIN:
        return PLAIN[name](*operands)
    if name in RULES:
        found = RULES[name](*operands, **step.params)
        if found is not NotImplemented:
            return found
    return step.primitive.bind(*operands, **step.primitive.get_bind_params(step.params))


def called(jaxpr, operands):
    return evaluate(jaxpr if hasattr(jaxpr, "consts") else ClosedJaxpr(jaxpr, ()), *operands)


@rule
def div(x, y):
    return NotImplemented if x.dtype.kind in "iu" else np.divide(x, y)


@rule
def pow(x, y):
    return np.power(x, y) if x.dtype.kind in "fc" else NotImplemented


@rule
def integer_pow(x, y):
    return x ** np.asarray(y, np.float64 if y < 0 else np.int64)


@rule
def convert_element_type(x, new_dtype, **_):
    x = x.real if x.dtype.kind == "c" and np.dtype(new_dtype).kind != "c" else x
    return x.astype(new_dtype)


@rule
def bitcast_convert_type(x, new_dtype):
    return x.view(new_dtype) if x.dtype.itemsize == np.dtype(new_dtype).itemsize else NotImplemented


@rule
def empty2(dtype, **_):
    return np.full((), 77, dtype)  # nothing may depend on it


@rule
def iota(dtype, shape, dimension, **_):
    return np.broadcast_to(np.arange(shape[dimension]).reshape([-1] + [1] * (len(shape) - 1 - dimension)), shape)


@rule
def broadcast_in_dim(x, *_, shape, broadcast_dimensions, **__):
    sizes = [1] * len(shape)
    for size, at in zip(x.shape, broadcast_dimensions):
        sizes[at] = size
    return np.broadcast_to(x.reshape(sizes), shape)


@rule
def reshape(x, new_sizes, dimensions, **_):
    return (x if dimensions is None else x.transpose(dimensions)).reshape(new_sizes)


@rule
def squeeze(x, dimensions):
    return np.squeeze(x, dimensions)


@rule
def transpose(x, permutation):
    return x.transpose(permutation)


@rule
def rev(x, dimensions):
    return np.flip(x, dimensions)


@rule
def slice_(x, start_indices, limit_indices, strides):
    return x[tuple(map(slice, start_indices, limit_indices, strides or [1] * x.ndim))]


@rule
def pad(x, value, padding_config):
    sizes = [low + high + n + max(n - 1, 0) * inner for n, (low, high, inner) in zip(x.shape, padding_config)]
    if any(low < 0 or high < 0 for low, high, _ in padding_config):
        return NotImplemented
    out = np.full(sizes, value, x.dtype)
    out[tuple(slice(at, at + n + max(n - 1, 0) * i, i + 1) for n, (at, _, i) in zip(x.shape, padding_config))] = x
    return out


@rule
def concatenate(*xs, dimension):
    return np.concatenate(xs, dimension)


@rule
def stack(*xs, axis):
    return np.stack(xs, axis)


@rule
def unstack(x, axis):
    return list(np.moveaxis(x, axis, 0))


@rule
def split(x, sizes, axis):
    return np.split(x, np.cumsum(sizes)[:-1], axis)


@rule
def tile(x, reps):
    return np.tile(x, reps)


def starts_of(shape, sizes, starts):
    return [min(max(int(at), 0), n - size) for at, n, size in zip(starts, shape, sizes)]


@rule
def dynamic_slice(x, *starts, slice_sizes):
    at = starts_of(x.shape, slice_sizes, starts)
    return x[tuple(slice(i, i + size) for i, size in zip(at, slice_sizes))]


@rule
def dynamic_update_slice(x, update, *starts):
    out, at = x.copy(), starts_of(x.shape, update.shape, starts)
    out[tuple(slice(i, i + size) for i, size in zip(at, update.shape))] = update
    return out


def reduction(name, function):
    RULES["reduce_" + name] = lambda x, axes, **_: function(x, axis=tuple(axes)) if x.size else NotImplemented


for name, function in (("sum", np.sum), ("prod", np.prod), ("max", np.max), ("min", np.min)):
    reduction(name, function)


def cumulation(name, function):
    def found(x, axis, reverse):
        return np.flip(function(np.flip(x, axis), axis), axis) if reverse else function(x, axis)

    RULES[name] = found


for name, function in (
    ("cumsum", np.cumsum),
    ("cumprod", np.cumprod),
    ("cummax", np.maximum.accumulate),
    ("cummin", np.minimum.accumulate),
):
    cumulation(name, function)


@rule
def argmax(x, axes, index_dtype):
    return np.argmax(x, axes[0])


@rule
def argmin(x, axes, index_dtype):
    return np.argmin(x, axes[0])


@rule
def sort(*xs, dimension, num_keys, **_):
    if num_keys != 1 or np.iscomplexobj(xs[0]):
        return NotImplemented
    order = np.argsort(xs[0], dimension, kind="stable")
    return [np.take_along_axis(x, order, dimension) for x in xs]


@rule
def dot_general(x, y, dimension_numbers, **_):
    (x_sums, y_sums), (x_batch, y_batch) = dimension_numbers
    of_x = list(range(x.ndim))
    of_y = list(range(x.ndim, x.ndim + y.ndim))
    for a, b in zip((*x_sums, *x_batch), (*y_sums, *y_batch)):
        of_y[b] = a
    free = [a for a in of_x if a not in (*x_sums, *x_batch)] + [b for b in of_y if b >= x.ndim]
    return np.einsum(x, of_x, y, of_y, [*x_batch, *free])


@rule
def fft(x, fft_type, fft_lengths):
    axes = tuple(range(-len(fft_lengths), 0))
    functions = (np.fft.fftn, np.fft.ifftn, np.fft.rfftn, np.fft.irfftn)
    return functions[int(fft_type)](x, fft_lengths, axes)


@rule
def jit(*operands, jaxpr, **_):
    return called(jaxpr, operands)


RULES["pjit"] = RULES["remat2"] = RULES["checkpoint"] = jit


@rule
def closed_call(*operands, call_jaxpr, **_):
    return called(call_jaxpr, operands)


RULES["custom_jvp_call"] = RULES["custom_vjp_call"] = RULES["core_call"] = closed_call


@rule
def custom_linear_solve(*operands, const_lengths, jaxprs):
    first = const_lengths.matvec + const_lengths.vecmat
    rest = first + const_lengths.solve
    return called(jaxprs.solve, [*operands[first:rest], *operands[rest + const_lengths.transpose_solve :]])


@rule
def cond(index, *operands, branches, **_):
    return called(branches[min(max(int(index), 0), len(branches) - 1)], operands)


@rule
def while_(*operands, cond_nconsts, cond_jaxpr, body_nconsts, body_jaxpr):
    test, operands = operands[:cond_nconsts], operands[cond_nconsts:]
    body, carry = operands[:body_nconsts], operands[body_nconsts:]
    while np.any(goes := called(cond_jaxpr, [*test, *carry])[0]):
        found = called(body_jaxpr, [*body, *carry])
        # In a batch of loops, those that have ended keep what they have.
        shapes = [goes.shape + (1,) * (x.ndim - goes.ndim) for x in found]
        carry = [np.where(goes.reshape(shape), x, y) for shape, x, y in zip(shapes, found, carry)]
    return carry


@rule
def scan(*operands, jaxpr, length, reverse, num_consts, num_carry, **_):
    if length == 0:
        return NotImplemented
    last = num_consts + num_carry
    constants, carry, rows = operands[:num_consts], operands[num_consts:last], operands[last:]
    out = [None] * length
    for i in reversed(range(length)) if reverse else range(length):
        found = called(jaxpr, [*constants, *carry, *(row[i] for row in rows)])
        carry, out[i] = found[:num_carry], found[num_carry:]
    return [*carry, *(np.stack(each) for each in zip(*out))]
