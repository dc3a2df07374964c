"""Whole models that JAX exports, imported: python models_test.py /path/to/liblazyxla.so, with JAX.

Convolutional networks (residual, dense, ConvNeXt), windows of attention that are shifted (Swin), recurrent networks, a
transformer whose layers are scanned with dropout, one that decodes with a cache of keys and values, and training steps
of Adam and of momentum with running statistics. Their values are compared with JAX's, and so are gradients and batches
that this library derives. Gradients by the weights are also those of an export that holds them, for a free batch."""

import ctypes
import functools
import os
import sys
from ctypes import c_size_t

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import import_test  # skips without Python 3.11, and sets up JAX
import ctypes_test as lxla
import jax
import jax.numpy as jnp
import numpy as np
from ctypes_test import give
from header import types
from programs import DTYPE, NUMBERS, call, compare, imported

RANDOM = np.random.default_rng(7)


def normal(*shape, scale=0.3):
    return (RANDOM.standard_normal(shape) * scale).astype(np.float32)


def normalized(x, axes):
    centered = x - x.mean(axes, keepdims=True)
    return centered * jax.lax.rsqrt((centered**2).mean(axes, keepdims=True) + 1e-3)


def convolution(x, w, stride=1):
    return jax.lax.conv_general_dilated(x, w, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def residual(x, first, *blocks):
    """A residual network with batch normalization over the batch, without its scale."""
    x = jax.nn.relu(normalized(convolution(x, first, 2), (0, 1, 2)))
    x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")
    for a, b, short in zip(*[iter(blocks)] * 3):
        y = jax.nn.relu(normalized(convolution(x, a, 2), (0, 1, 2)))
        x = jax.nn.relu(normalized(convolution(y, b), (0, 1, 2)) + convolution(x, short, 2))
    return x.mean((1, 2))


def recurrent(x, w, u):
    """A recurrent unit with gates over the first axis: a loop with slices and a stack."""

    def step(h, slice_):
        z, r = jnp.split(jax.nn.sigmoid(slice_ @ w + h @ u), 2, axis=-1)
        h = (1 - z) * h + z * jnp.tanh(r * slice_)
        return h, h * z

    return jax.lax.scan(step, jnp.zeros(x.shape[1:], x.dtype), x)


def transformer(embedding, positions, qkv, out, wide, narrow, key, tokens):
    """The loss of a causal transformer whose layers are scanned, with dropout."""
    heads, size = 4, embedding.shape[1]
    x = embedding[tokens] + positions
    mask = jnp.tril(jnp.ones((len(tokens), len(tokens)), bool))

    def layer(carry, weights):
        (x, key), (qkv, out, wide, narrow) = carry, weights
        key, of_attention, of_rest = jax.random.split(key, 3)
        drop = lambda key, x: jnp.where(jax.random.bernoulli(key, 0.9, x.shape), x / 0.9, 0)
        q, k, v = jnp.split((normalized(x, -1) @ qkv).reshape(len(tokens), heads, -1), 3, axis=-1)
        scores = jnp.where(mask, jnp.einsum("ihd,jhd->hij", q, k) / (size / heads) ** 0.5, -1e9)
        mixed = jnp.einsum("hij,jhd->ihd", drop(of_attention, jax.nn.softmax(scores)), v).reshape(x.shape)
        x = x + mixed @ out
        return (x + drop(of_rest, jax.nn.gelu(normalized(x, -1) @ wide) @ narrow), key), None

    (x, _), _ = jax.lax.scan(layer, (x, key), (qkv, out, wide, narrow))
    scores = jax.nn.log_softmax(normalized(x, -1) @ embedding.T)
    return -jnp.take_along_axis(scores[:-1], tokens[1:, None], -1).mean()


def adam(count, first, second, *given):
    """A step of Adam for the transformer, with gradients clipped by their norm."""
    weights = given[:6]
    loss, gradients = jax.value_and_grad(transformer, argnums=tuple(range(6)))(*given)
    norm = jnp.sqrt(sum(jnp.sum(g**2) for g in gradients))
    flat = jnp.concatenate([jnp.ravel(g) for g in gradients]) / jnp.maximum(norm, 1)
    count, first, second = count + 1, 0.9 * first + 0.1 * flat, 0.999 * second + 0.001 * flat**2
    change = first / (1 - 0.9**count) / (jnp.sqrt(second / (1 - 0.999**count)) + 1e-4)
    made, start = [], 0
    for w in weights:
        made.append(w - 1e-3 * change[start : start + w.size].reshape(w.shape))
        start += w.size
    return loss, count, first, second, *made


def dense_network(x, first, *layers):
    """A network whose layers see the outputs of all layers before them, with pooling between blocks."""
    x = jax.nn.relu(convolution(x, first, 2))
    for i, w in enumerate(layers):
        x = jnp.concatenate([x, jax.nn.relu(normalized(convolution(x, w), (0, 1, 2)))], axis=-1)
        if i == 1:
            x = jax.lax.reduce_window(x, 0.0, jax.lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "VALID") / 4
    return jax.nn.log_softmax(x.mean((1, 2)))


def convnext(x, stem, depthwise, wide, narrow, scale):
    """A stem of patches and blocks of a depthwise convolution, a normalization and a network on each pixel."""
    x = normalized(
        jax.lax.conv_general_dilated(x, stem, (4, 4), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC")), -1
    )
    for d, w, n, s in zip(depthwise, wide, narrow, scale):
        y = jax.lax.conv_general_dilated(
            x, d, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"), feature_group_count=x.shape[-1]
        )
        x = x + s * (jax.nn.gelu(normalized(y, -1) @ w, approximate=False) @ n)
    return x.mean((1, 2))


def windows_of(x, size):
    batch, height, width, channels = x.shape
    x = x.reshape(batch, height // size, size, width // size, size, channels)
    return x.transpose(0, 1, 3, 2, 4, 5).reshape(batch, -1, size * size, channels)


def shifted_windows(x, qkv, out, table):
    """Attention in windows, then in windows that are shifted by half of their size, with a bias by the distance."""
    batch, height, width, channels = x.shape
    size, heads = 4, 2
    axis = np.arange(size)
    places = np.stack(np.meshgrid(axis, axis, indexing="ij")).reshape(2, -1)
    distance = places[:, :, None] - places[:, None] + size - 1
    for layer, shift in enumerate((0, size // 2)):
        parts = np.zeros((1, height, width, 1), np.int32)
        parts[:, -size:], parts[:, -shift or height :] = 1, 2
        parts[:, :, -size:] += 3
        parts[:, :, -shift or width :] += 3
        regions = windows_of(parts, size)[0, :, :, 0] if shift else np.zeros((height * width // size**2, size**2))
        mask = np.where(regions[:, :, None] == regions[:, None], 0, -100).astype(np.float32)
        y = windows_of(jnp.roll(normalized(x, -1), (-shift, -shift), (1, 2)), size)
        q, k, v = jnp.split((y @ qkv[layer]).reshape(*y.shape[:3], heads, -1), 3, axis=-1)
        scores = jnp.einsum("bwihd,bwjhd->bwhij", q, k) / (channels / heads) ** 0.5
        scores = scores + table[layer][distance[0] * (2 * size - 1) + distance[1]].transpose(2, 0, 1)
        mixed = jnp.einsum("bwhij,bwjhd->bwihd", jax.nn.softmax(scores + mask[:, None]), v).reshape(y.shape)
        y = (mixed @ out[layer]).reshape(batch, height // size, width // size, size, size, channels)
        y = y.transpose(0, 1, 3, 2, 4, 5).reshape(x.shape)
        x = x + jnp.roll(y, (shift, shift), (1, 2))
    return x


def lstm(x, w, u, b):
    """A layer of LSTM in both directions."""

    def run(x, w, u, b):
        def step(carry, slice_):
            h, c = carry
            i, f, g, o = jnp.split(slice_ @ w + h @ u + b, 4, axis=-1)
            c = jax.nn.sigmoid(f + 1) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        zero = jnp.zeros((x.shape[1], u.shape[0]), x.dtype)
        return jax.lax.scan(step, (zero, zero), x)[1]

    return jnp.concatenate([run(x, w[0], u[0], b[0]), run(x[::-1], w[1], u[1], b[1])[::-1]], axis=-1)


def decode(prompt, embedding, q, k, v, count):
    """Tokens that a layer of attention appends to a prompt, with a cache of keys and values, and their scores."""
    size, most = embedding.shape[1], 12

    def step(i, state):
        token, keys, values, tokens, scores = state
        x, at = embedding[token], (i, jnp.zeros_like(i))
        keys = jax.lax.dynamic_update_slice(keys, (x @ k)[None], at)
        values = jax.lax.dynamic_update_slice(values, (x @ v)[None], at)
        weights = jax.nn.softmax(jnp.where(jnp.arange(most) <= i, keys @ (x @ q) / size**0.5, -jnp.inf))
        of_next = (x + weights @ values) @ embedding.T
        given = jnp.where(i + 1 < len(prompt), prompt[jnp.minimum(i + 1, len(prompt) - 1)], jnp.argmax(of_next))
        token = given.astype(jnp.int32)
        return token, keys, values, tokens.at[i].set(token), scores.at[i].set(of_next.max())

    cache = jnp.zeros((most, size), embedding.dtype)
    state = (prompt[0], cache, cache, jnp.zeros(most, jnp.int32), jnp.zeros(most, embedding.dtype))
    return jax.lax.fori_loop(0, jnp.minimum(count, most), step, state)[1:]


def momentum(x, labels, key, mean, variance, velocity, first, last):
    """A training step of a convolution with batch normalization, running statistics, dropout and Nesterov's momentum."""

    def loss(first, last):
        y = convolution(x, first, 2)
        axes = (0, 1, 2)
        of_batch = y.mean(axes), y.var(axes)
        y = jax.nn.relu((y - of_batch[0]) * jax.lax.rsqrt(of_batch[1] + 1e-3)).mean((1, 2))
        y = jnp.where(jax.random.bernoulli(key, 0.8, y.shape), y / 0.8, 0)
        scores = jax.nn.log_softmax(y @ last)
        smooth = jax.nn.one_hot(labels, last.shape[1], dtype=last.dtype) * 0.9 + 0.1 / last.shape[1]
        return -(smooth * scores).sum(-1).mean(), of_batch

    (value, of_batch), gradients = jax.value_and_grad(loss, argnums=(0, 1), has_aux=True)(first, last)
    statistics = [0.9 * old + 0.1 * new for old, new in zip((mean, variance), of_batch)]
    decayed = jnp.concatenate([(g + 1e-4 * w).ravel() for g, w in zip(gradients, (first, last))])
    velocity = 0.9 * velocity + decayed
    change = 0.1 * (decayed + 0.9 * velocity)
    made = first - change[: first.size].reshape(first.shape), last - change[first.size :].reshape(last.shape)
    return value, *statistics, velocity, *made


def check_weights(env, device, name, function, arguments, free):
    """Exports a model with its weights in it, and compares its gradient by the lifted weights with JAX's.

    The parameters are the integers and, with the sizes `free` of the first argument, that."""
    is_weight = [np.asarray(import_test.data_of(x)).dtype.kind == "f" for x in arguments]
    is_weight[0] = is_weight[0] and not free

    def loss(*xs):
        return sum(jnp.sum(jnp.sin(x)) for x in jax.tree.leaves(function(*xs)))

    def merged(parameters, weights):
        parameters, weights = iter(parameters), iter(weights)
        return loss(*[next(weights if is_one else parameters) for is_one in is_weight])

    weights = [jnp.asarray(x) for x, is_one in zip(arguments, is_weight) if is_one]
    parameters = [x for x, is_one in zip(arguments, is_weight) if not is_one]
    shapes = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in parameters]
    if free:
        shapes[0] = jax.ShapeDtypeStruct(jax.export.symbolic_shape(free), parameters[0].dtype)
    data = bytes(jax.export.export(jax.jit(lambda *xs: merged(xs, weights)))(*shapes).serialize())
    computation = imported(env, data, [x.shape for x in parameters] if free else None)

    counts = [c_size_t() for _ in range(3)]
    lxla.ok(lxla.lib.lxla_computation_info(computation, *map(ctypes.byref, counts)))
    captured = [give(lxla.lib.lxla_computation_captured, lxla.Tensor, computation, i) for i in range(counts[2].value)]
    held = [array_of(x) for x in captured]
    places = [find(weight, held) for weight in weights]
    lifted = give(lxla.lib.lxla_computation_lift, lxla.Computation, computation)
    wrt = (c_size_t * len(places))(*[len(parameters) + place for place in places])
    options = types.lxla_vjp_options(struct_size=ctypes.sizeof(types.lxla_vjp_options), wrt=wrt, n_wrt=len(places))
    derived = give(lxla.lib.lxla_computation_value_and_grad, lxla.Computation, lifted, ctypes.byref(options))
    value, gradients = jax.jit(jax.value_and_grad(merged, argnums=1))(parameters, weights)
    wanted = [value, *gradients]
    got = call(env, device, derived, [*[np.asarray(import_test.data_of(x)) for x in parameters], *held], wanted)
    compare(f"weights of {name}", got, wanted)
    lxla.release(*captured)


def array_of(tensor):
    """Returns the elements of a tensor."""
    rank = give(lxla.lib.lxla_tensor_rank, c_size_t, tensor).value
    sizes = (ctypes.c_int64 * rank)()
    lxla.ok(lxla.lib.lxla_tensor_dims(tensor, sizes, rank))
    number = give(lxla.lib.lxla_tensor_dtype, ctypes.c_int32, tensor).value
    dtype = next(name for name, known in NUMBERS.items() if DTYPE[known] == number)
    array = np.empty(tuple(sizes), jnp.dtype(dtype))
    lxla.ok(lxla.lib.lxla_tensor_read(tensor, array.ctypes.data_as(ctypes.c_void_p), array.nbytes))
    return array


def find(weight, held):
    """Returns the index of the captured value that is a weight."""
    (place,) = [i for i, x in enumerate(held) if x.shape == weight.shape and np.array_equal(x, weight)]
    return place


def models():
    """Returns each model: its name, its function, its arguments, and the checks that it is left out of.

    With its name are the sizes of its first argument, if one is free."""
    blocks = [normal(3, 3, 4, 8), normal(3, 3, 8, 8), normal(1, 1, 4, 8)]
    blocks += [normal(3, 3, 8, 16), normal(3, 3, 16, 16), normal(1, 1, 8, 16)]
    yield ("residual", "b, 32, 32, 3"), residual, [normal(2, 32, 32, 3), normal(7, 7, 3, 4), *blocks], ()
    layers = [normal(3, 3, 4, 4), normal(3, 3, 8, 4), normal(3, 3, 12, 4), normal(3, 3, 16, 4)]
    yield ("dense", "b, 16, 16, 3"), dense_network, [normal(2, 16, 16, 3), normal(3, 3, 3, 4), *layers], ()
    blocks = [normal(2, 7, 7, 1, 8), normal(2, 8, 32), normal(2, 32, 8), normal(2, 8)]
    yield ("convnext", "b, 32, 32, 3"), convnext, [normal(2, 32, 32, 3), normal(4, 4, 3, 8), *blocks], ()
    yield (
        ("windows", "b, 8, 8, 8"),
        shifted_windows,
        [normal(2, 8, 8, 8), normal(2, 8, 24), normal(2, 8, 8), normal(2, 49, 2)],
        (),
    )
    yield ("lstm", "5, b, 4"), lstm, [normal(5, 3, 4), normal(2, 4, 24), normal(2, 6, 24), normal(2, 24)], ()
    attention = [normal(20, 8), normal(8, 8), normal(8, 8), normal(8, 8)]
    yield ("decode", None), decode, [np.int32([3, 7, 1]), *attention, np.int32(9)], ("gradient", "batch")
    statistics = [normal(4, scale=0.1), np.abs(normal(4)), normal(3 * 3 * 3 * 4 + 4 * 5, scale=0.01)]
    given = [normal(4, 8, 8, 3), np.int32([0, 3, 1, 4]), jax.random.PRNGKey(5), *statistics]
    yield ("momentum", None), momentum, [*given, normal(3, 3, 3, 4), normal(4, 5)], ("gradient",)
    yield ("recurrent", "6, b, 5"), recurrent, [normal(6, 2, 5), normal(5, 10), normal(5, 10)], ()
    layers = [normal(2, 16, 48), normal(2, 16, 16), normal(2, 16, 32), normal(2, 32, 16)]
    weights = [normal(20, 16), normal(9, 16), *layers]
    given = [*weights, jax.random.PRNGKey(3), np.arange(9, dtype=np.int32) * 7 % 20]
    yield ("transformer", None), transformer, given, ()
    count = sum(w.size for w in weights)
    moments = [np.float32(3), normal(count, scale=0.01), np.abs(normal(count, scale=0.01))]
    yield ("adam", None), adam, [*moments, *given], ("gradient", "batch")


def main():
    lxla.load(sys.argv[1])
    env = lxla.new_env()
    checks = {
        "values": import_test.check_values, "gradient": import_test.check_gradient, "batch": import_test.check_batch,
    }  # fmt: skip
    for (name, free), function, arguments, without in models():
        if sys.argv[2:] and name not in sys.argv[2:]:
            continue
        checks["weights"] = functools.partial(check_weights, free=free)
        for place, device in (("cpu", lxla.cpu()), ("xla:0", lxla.xla())):
            for kind, check in checks.items():
                if kind not in without and not (kind == "weights" and "gradient" in without):
                    check(env, device, name, function, arguments)
                    print(f"ok {name}, {kind} on {place}", flush=True)


if __name__ == "__main__":
    main()
