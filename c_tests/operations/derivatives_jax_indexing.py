"""JAX's counterparts of operations on indices and of orders, for derivatives_jax_functions.py."""

import jax
import jax.numpy as jnp
from jax import lax


def near(at, dim):
    """Returns indices counted from the end where they are negative, and held within the axis."""
    at = at.astype(jnp.int64)
    return jnp.clip(jnp.where(at < 0, at + dim, at), 0, max(dim - 1, 0))


# Gather, scatter and indices.


def vectors_last(at, axis):
    return at[..., None] if axis == at.ndim else jnp.moveaxis(at, axis, -1)


def tuples(numbers):
    return (tuple(each) if isinstance(each, list) else each for each in numbers)


def gather(x, at, numbers):
    offset, collapsed, batching, at_batching, index_map, vector_dim, sizes = tuples(numbers)
    at_batching = tuple(axis - (axis > vector_dim) for axis in at_batching)
    dims = lax.GatherDimensionNumbers(offset, collapsed, index_map, batching, at_batching)
    return lax.gather(x, vectors_last(at, vector_dim), dims, sizes, mode="clip")


def scatter(function):
    def of(x, at, updates, numbers):
        if x.size == 0:
            return x
        window, inserted, batching, at_batching, index_map, vector_dim = tuples(numbers)
        at_batching = tuple(axis - (axis > vector_dim) for axis in at_batching)
        dims = lax.ScatterDimensionNumbers(window, inserted, index_map, batching, at_batching)
        return function(x, vectors_last(at, vector_dim), updates, dims, mode="drop")

    return of


def take_along_axis(x, at, axis):
    axis %= x.ndim
    common = jnp.broadcast_shapes(*([1 if i == axis else dim for i, dim in enumerate(y.shape)] for y in (x, at)))
    whole = lambda y: jnp.broadcast_to(y, [*common[:axis], y.shape[axis], *common[axis + 1 :]])
    if x.shape[axis] == 0:
        return jnp.zeros(whole(at).shape, x.dtype)
    return jnp.take_along_axis(whole(x), near(whole(at), x.shape[axis]), axis, mode="clip")


def scatter_along(how):
    def of(x, at, updates, axis):
        if x.size == 0:
            return x
        where = jnp.meshgrid(*map(jnp.arange, at.shape), indexing="ij")
        where[axis] = at.astype(jnp.int64)
        return getattr(x.at[tuple(where)], how)(updates, mode="drop")

    return of


def index_write(how):
    def of(x, at, source, axis):
        if x.size == 0:
            return x
        where = (slice(None),) * (axis % x.ndim) + (at.astype(jnp.int64),)
        return getattr(x.at[where], how)(source, mode="drop")

    return of


def index_of(at, pattern):
    rest = iter(at)
    return tuple(slice(None) if c == ":" else next(rest).astype(jnp.int64) for c in pattern)


def index(x, *at, pattern):
    rest = iter(at)
    where = tuple(slice(None) if c == ":" else near(next(rest), dim) for c, dim in zip(pattern, x.shape))
    return x.at[where].get(mode="clip")


def index_put(how):
    return lambda values, x, *at, pattern: getattr(x.at[index_of(at, pattern)], how)(values, mode="drop")


def mask_assign(x, mask, values):
    if values.ndim <= x.ndim - mask.ndim:
        return jnp.where(mask.reshape(*mask.shape, *[1] * (x.ndim - mask.ndim)), values, x)
    if 0 in (x.size, len(values)):
        return x
    rows = x.reshape(mask.size, *x.shape[mask.ndim :])
    at = jnp.cumsum(mask.ravel()) - 1
    there = (mask.ravel() & (at < len(values))).reshape(-1, *[1] * (rows.ndim - 1))
    return jnp.where(there, values[jnp.clip(at, 0, len(values) - 1)], rows).reshape(x.shape)


def mask_select(x, mask, fill, size, result):
    if x.size == 0:
        return jnp.broadcast_to(fill, (size, *x.shape[mask.ndim :]))
    rows = x.reshape(mask.size, *x.shape[mask.ndim :])
    at = jnp.nonzero(mask.ravel(), size=size, fill_value=mask.size)[0]
    found = rows.at[at].get(mode="fill", fill_value=0)
    return jnp.where((at == mask.size).reshape(-1, *[1] * (rows.ndim - 1)), fill, found)


def segment(name):
    reduced = getattr(jax.ops, f"segment_{name}")
    return lambda x, ids, of, count: reduced(x, ids, count) if count else x[:0]


INDEXING = {
    "gather": gather,
    "scatter replace": scatter(lax.scatter),
    "scatter add": scatter(lax.scatter_add),
    "scatter max": scatter(lax.scatter_max),
    "scatter min": scatter(lax.scatter_min),
    "take_along_axis": take_along_axis,
    "index_add": index_write("add"),
    "index_copy": index_write("set"),
    **{f"segment_reduce {name}": segment(name) for name in ("sum", "max", "min")},
    "index": index,
    "mask_select": mask_select,
    "mask_assign": mask_assign,
}
for ours, theirs in {"copy": "set", "sum": "add", "max": "max", "min": "min"}.items():
    INDEXING |= {f"scatter_along {ours}": scatter_along(theirs), f"index_put {ours}": index_put(theirs)}


# Orders.


def order(x, axis, descending):
    """Returns the indices that sort, with equal elements in their order; complex numbers as NumPy has them: by their
    parts, behind them those with a NaN."""
    if not jnp.iscomplexobj(x):
        return jnp.argsort(x, axis, stable=True, descending=bool(descending))
    if descending:
        return jnp.flip(x.shape[axis] - 1 - order(jnp.flip(x, axis), axis, False), axis)
    parts = jnp.real(x), jnp.imag(x)
    kind = 2 * jnp.isnan(parts[0]) + jnp.isnan(parts[1])
    keys = kind, *(jnp.where(jnp.isnan(part), 0, part) for part in parts)
    return lax.sort([*keys, lax.broadcasted_iota(int, x.shape, axis % x.ndim)], dimension=axis % x.ndim, num_keys=3)[-1]


def sort_along(x, axis, descending):
    return jnp.sort(x, axis, stable=True, descending=bool(descending))


def sort(x, *keys, axis, descending, result=0):
    at = order(keys[0] if keys else jnp.real(x), axis, descending)
    return jnp.take_along_axis((x, *keys)[result], at, axis)


def top_k(x, axis, k, largest, dtype, result):
    return jnp.take_along_axis(x, lax.slice_in_dim(order(x, axis, largest), 0, k, axis=axis), axis)


def top_k_total_order(x, axis, k, largest, result):
    bits = lax.bitcast_convert_type(x, f"int{8 * x.dtype.itemsize}")
    key = jnp.where(bits < 0, bits ^ jnp.iinfo(bits.dtype).max, bits)
    at = jnp.argsort(~key if largest else key, axis, stable=True)
    return jnp.take_along_axis(x, lax.slice_in_dim(at, 0, k, axis=axis), axis)


def unique(x, *fill, size, dtype, result):
    return jnp.unique(x, size=size, fill_value=fill[0] if fill else None)


ORDERS = {
    "sort_along": sort_along,
    "sort": sort,
    "top_k": top_k,
    "top_k_total_order": top_k_total_order,
    "unique": unique,
}
