"""Trains a small convolutional network on the handwritten digits, and exports it with its weights:

    python export_digits.py examples/data/digits.csv examples/models/digits.jax

It needs JAX of the version in tools/requirements/jax.txt. The batch is a free size. Weights are constants of the
function, so that the file is all that a program needs. Order of the images, initial weights and batches are fixed; two
runs on one machine write the same bytes, and rounding may differ on another one.
"""

import os
import sys

os.environ.setdefault("JAX_PLATFORMS", "cpu")
import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")  # the file names no folders
SIZE, CLASSES, BATCH, STEPS, RATE, DECAY = 8, 10, 128, 600, 0.004, 0.5
# Every fifth image is held out. The file is ordered by writer, so both parts have all of them.
HELD_OUT = 5
SHAPES = {
    "first": (3, 3, 1, 16),
    "first_bias": (16,),
    "second": (3, 3, 16, 32),
    "second_bias": (32,),
    "last": (128, CLASSES),
    "last_bias": (CLASSES,),
}


def load(path):
    """Returns the pixels from 0 to 1 and the labels of the training images, then those of the held-out images."""
    data = np.loadtxt(path, delimiter=",", dtype=np.float32)
    pixels, labels = data[:, :-1] / 16, data[:, -1].astype(np.int32)
    held_out = np.arange(len(data)) % HELD_OUT == HELD_OUT - 1
    return pixels[~held_out], labels[~held_out], pixels[held_out], labels[held_out]


def convolution(x, weights, bias):
    """A convolution, and the maximum of each square of 2 x 2 pixels."""
    layout = ("NHWC", "HWIO", "NHWC")
    y = jax.nn.relu(jax.lax.conv_general_dilated(x, weights, (1, 1), "SAME", dimension_numbers=layout) + bias)
    return jax.lax.reduce_window(y, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def scores(weights, pixels):
    """The scores of the classes, f32[images, 10], of pixels f32[images, 64]."""
    x = pixels.reshape(-1, SIZE, SIZE, 1)
    x = convolution(x, weights["first"], weights["first_bias"])
    x = convolution(x, weights["second"], weights["second_bias"])
    return x.reshape(x.shape[0], -1) @ weights["last"] + weights["last_bias"]


def loss(weights, pixels, labels):
    chosen = jnp.take_along_axis(jax.nn.log_softmax(scores(weights, pixels)), labels[:, None], 1)
    return -chosen.mean()


def initial(random):
    """Normal numbers with the variance 2 / (number of inputs); small ones for biases."""
    of = lambda shape: random.standard_normal(shape) * np.sqrt(2 / np.prod(shape[:-1]) if len(shape) > 1 else 0.0001)
    return {name: of(shape).astype(np.float32) for name, shape in SHAPES.items()}


@jax.jit
def step(weights, momenta, pixels, labels, rate):
    """A step of Adam."""
    first, second, count = momenta
    gradients = jax.grad(loss)(weights, pixels, labels)
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, gradients)
    second = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, second, gradients)
    count = count + 1
    change = lambda w, m, v: w - rate * m / (1 - 0.9**count) / (jnp.sqrt(v / (1 - 0.99**count)) + 1e-8)
    return jax.tree.map(change, weights, first, second), (first, second, count)


def train(pixels, labels):
    random = np.random.default_rng(1)
    weights = initial(random)
    zeros = jax.tree.map(np.zeros_like, weights)
    momenta = (zeros, zeros, np.float32(0))
    for number in range(STEPS):
        chosen = random.choice(len(pixels), BATCH, replace=False)
        rate = np.float32(RATE * (1 - number / STEPS))
        weights, momenta = step(weights, momenta, pixels[chosen], labels[chosen], rate)
    return jax.tree.map(np.asarray, weights)


def exported(weights):
    """The file of the scores as a function of the pixels alone, for any number of images."""

    @jax.jit
    def digits(pixels):
        return scores(weights, pixels)

    shape = jax.export.symbolic_shape(f"images, {SIZE * SIZE}")
    return jax.export.export(digits)(jax.ShapeDtypeStruct(shape, np.float32)).serialize()


def main():
    pixels, labels, held_out, held_out_labels = load(sys.argv[1])
    weights = train(pixels, labels)
    share = float((scores(weights, held_out).argmax(-1) == held_out_labels).mean())
    file = exported(weights)
    with open(sys.argv[2], "wb") as out:
        out.write(file)
    print(f"held-out accuracy {share:.4f}, {len(file)} bytes")


if __name__ == "__main__":
    main()
