"""Runs a network that JAX exported, trains it on, and exports it: python imported.py [--steps N] [--save FOLDER]

The network of examples/models/export_digits.py, a file of jax.export with weights and a free batch, classifies
handwritten digits. On images that are shifted by a pixel it is poor: so its last layer is trained on such images, by
gradients through the imported function. The trained network is exported for JAX.
"""

import argparse
from pathlib import Path

import lazyxla as lx
from digits import DATA, read

MODEL = Path(__file__).resolve().parents[2] / "examples/models/digits.jax"
BATCH, EVERY = 128, 5


def shifted(x):
    """Returns the images moved by one pixel to the right and downwards."""
    images = lx.reshape(x, (-1, 8, 8))
    moved = lx.zeros_like(images)
    moved[:, 1:, 1:] = images[:, :-1, :-1]
    return lx.reshape(moved, x.shape)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--save", default="tuned_digits.jax")
    given = parser.parse_args()

    x, y = read(DATA)
    held_out = [i for i in range(x.shape[0]) if i % EVERY == EVERY - 1]
    training = [i for i in range(x.shape[0]) if i % EVERY != EVERY - 1]
    test_x, test_y, train_x, train_y = x[held_out], y[held_out], shifted(x[training]), y[training]
    program = lx.import_program(MODEL, shapes=[test_x.shape])
    weights = [w.to_device(x.device) for w in program.weights]

    def network(last, x):
        return program(x, weights=[*weights[:-2], *last])

    def accuracy(last, x):
        return float(lx.mean((lx.argmax(network(last, x), axis=-1) == test_y).astype(lx.float32)))

    def loss(last, x, y):
        scores = lx.nn.log_softmax(network(last, x))
        return -lx.mean(lx.take_along_axis(scores, y[:, None].astype(lx.int64), axis=-1))

    last = weights[-2:]
    print(f"held-out accuracy of the import     {accuracy(last, test_x):.4f}")
    print(f"the same of shifted images          {accuracy(last, shifted(test_x)):.4f}")
    optimizer = lx.optim.adam(lx.optim.cosine_schedule(0.01, given.steps, warmup=10))
    state, gradients_of = optimizer.init(last), lx.value_and_grad(lx.jit(loss))
    for step in range(given.steps):
        rows = lx.asarray([(step * BATCH + i) % len(training) for i in range(BATCH)])
        value, gradients = gradients_of(last, lx.take(train_x, rows, axis=0), lx.take(train_y, rows))
        last, state = optimizer.update(gradients, state, last)
        lx.step()
    tuned = accuracy(last, shifted(test_x))
    print(f"after {given.steps:4} steps of the last layer   {tuned:.4f}, loss {float(value):.4f}")

    lx.export_program(lambda x: network(last, x), test_x, path=given.save, format="jax", vjp_order=1)
    again = lx.import_program(given.save)
    right = lx.argmax(again(shifted(test_x)), axis=-1) == test_y
    print(f"of the file for JAX, imported       {float(lx.mean(right.astype(lx.float32))):.4f}")


if __name__ == "__main__":
    main()
