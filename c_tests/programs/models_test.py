"""Whole models that JAX exports, imported: python models_test.py /path/to/liblazyxla.so, with JAX.

A residual network in training, a recurrent network, and a transformer whose layers are scanned, with dropout and a step
of Adam. Their values are compared with JAX's, and so are gradients and batches that this library derives."""

import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import import_test  # skips without Python 3.11, and sets up JAX
import ctypes_test as lxla
import jax
import jax.numpy as jnp
import numpy as np

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


def models():
    """Returns each model: its name, its function, its arguments, and the checks that it is left out of."""
    blocks = [normal(3, 3, 4, 8), normal(3, 3, 8, 8), normal(1, 1, 4, 8)]
    blocks += [normal(3, 3, 8, 16), normal(3, 3, 16, 16), normal(1, 1, 8, 16)]
    yield "residual", residual, [normal(2, 32, 32, 3), normal(7, 7, 3, 4), *blocks], ()
    yield "recurrent", recurrent, [normal(6, 2, 5), normal(5, 10), normal(5, 10)], ()
    layers = [normal(2, 16, 48), normal(2, 16, 16), normal(2, 16, 32), normal(2, 32, 16)]
    weights = [normal(20, 16), normal(9, 16), *layers]
    given = [*weights, jax.random.PRNGKey(3), np.arange(9, dtype=np.int32) * 7 % 20]
    yield "transformer", transformer, given, ()
    count = sum(w.size for w in weights)
    moments = [np.float32(3), normal(count, scale=0.01), np.abs(normal(count, scale=0.01))]
    yield "adam", adam, [*moments, *given], ("gradient", "batch")


def main():
    lxla.load(sys.argv[1])
    env = lxla.new_env()
    checks = {
        "values": import_test.check_values, "gradient": import_test.check_gradient, "batch": import_test.check_batch,
    }  # fmt: skip
    for name, function, arguments, without in models():
        for place, device in (("cpu", lxla.cpu()), ("xla:0", lxla.xla())):
            for kind, check in checks.items():
                if kind not in without:
                    check(env, device, name, function, arguments)
                    print(f"ok {name}, {kind} on {place}", flush=True)


if __name__ == "__main__":
    main()
