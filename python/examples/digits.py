"""Trains a network on handwritten digits: python digits.py [examples/data/digits.csv] [--epochs N]"""

import argparse
from pathlib import Path

import lazyxla as lx

DATA = Path(__file__).resolve().parents[2] / "examples/data/digits.csv"
HIDDEN, BATCH, HELD_OUT = 128, 64, 360


def read(path):
    """Returns pixels from 0 to 1 and labels of the rows of a file: 64 pixels from 0 to 16, then the digit."""
    rows = [[int(value) for value in line.split(",")] for line in Path(path).read_text().split()]
    pixels = lx.asarray([row[:-1] for row in rows], dtype=lx.float32) / 16
    return pixels, lx.asarray([row[-1] for row in rows], dtype=lx.int32)


def create(key):
    first, second = lx.random.split(key)
    return {
        "w1": lx.random.normal(first, (64, HIDDEN)) * (2 / 64) ** 0.5,
        "b1": lx.zeros(HIDDEN),
        "w2": lx.random.normal(second, (HIDDEN, 10)) * (1 / HIDDEN) ** 0.5,
        "b2": lx.zeros(10),
    }


def logits(params, x):
    return lx.nn.relu(x @ params["w1"] + params["b1"]) @ params["w2"] + params["b2"]


def loss(params, x, y):
    """The mean cross entropy."""
    right = lx.nn.one_hot(y, 10)
    return -lx.mean(lx.sum(lx.nn.log_softmax(logits(params, x)) * right, axis=-1))


def accuracy(params, x, y):
    return float(lx.mean((lx.argmax(logits(params, x), axis=-1) == y).astype(lx.float32)))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="?", default=DATA)
    parser.add_argument("--epochs", type=int, default=10)
    given = parser.parse_args()
    x, y = read(given.data)
    train, test = (x[HELD_OUT:], y[HELD_OUT:]), (x[:HELD_OUT], y[:HELD_OUT])
    params = create(lx.random.key(0))
    lx.step()
    batches = train[0].shape[0] // BATCH
    optimizer = lx.optim.adamw(lx.optim.cosine_schedule(3e-3, given.epochs * batches, warmup=batches))
    state = optimizer.init(params)
    gradients_of = lx.value_and_grad(loss)
    for epoch in range(given.epochs):
        order = lx.argsort(lx.random.uniform(lx.random.key(1 + epoch), train[0].shape[0]))
        for i in range(batches):
            rows = order[i * BATCH : (i + 1) * BATCH]
            value, gradients = gradients_of(params, lx.take(train[0], rows, axis=0), lx.take(train[1], rows))
            params, state = optimizer.update(gradients, state, params)
            lx.step()
        print(f"epoch {epoch + 1}: loss {float(value):.4f}, held out {accuracy(params, *test):.4f}")
    return accuracy(params, *test)


if __name__ == "__main__":
    main()
