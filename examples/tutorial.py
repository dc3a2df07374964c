"""The program of docs/tutorial.md in Python: python tutorial.py examples/data/digits.csv"""

import sys
from pathlib import Path

import lazyxla as lx

HELD_OUT = 360


def first_steps():
    # [recipe]
    x = lx.asarray([1.0, 2.0, 3.0])
    y, slope = lx.value_and_grad(lambda x: lx.sum(x * x))(x)  # recorded
    print("y is", y.state)
    a, b, c = slope.tolist()  # runs both, and waits
    print(f"y = {y.item():g}, dy/dx = {a:g} {b:g} {c:g}")
    # [recipe end]


def read_digits(path):
    """Returns the pixels, from 0 to 1, and the digits of lines of 64 pixels from 0 to 16 and the digit."""
    try:
        rows = [[int(value) for value in line.split(",")] for line in Path(path).read_text().split()]
    except (OSError, ValueError) as error:
        sys.exit(f"{path}: {error}")
    if len(rows) <= HELD_OUT or {len(row) for row in rows} != {65}:
        sys.exit(f"{path}: has not more than {HELD_OUT} lines of 64 pixels and a digit")
    return [[pixel / 16 for pixel in row[:64]] for row in rows], [row[64] for row in rows]


# [recipe]
def create():
    w1, w2 = lx.random.normal(lx.random.key(1), (64, 64)), lx.random.normal(lx.random.key(2), (64, 10))
    return {"w1": 0.2 * w1, "b1": lx.zeros(64), "w2": 0.2 * w2, "b2": lx.zeros(10)}


def scores_of(p, x):
    return lx.tanh(x @ p["w1"] + p["b1"]) @ p["w2"] + p["b2"]


def loss_of(p, x, labels):
    return -lx.mean(lx.sum(lx.nn.one_hot(labels, 10) * lx.nn.log_softmax(scores_of(p, x)), axis=1))
    # [recipe end]


# [recipe]
def train(p, x, labels):
    @lx.jit
    def step(p):
        loss, gradients = lx.value_and_grad(loss_of)(p, x, labels)
        return loss, lx.tree.map(lambda each, gradient: each - 0.5 * gradient, p, gradients)

    lx.step()  # computes the first weights
    before = lx.counter("UncachedCompile")
    for i in range(1, 301):
        loss, p = step(p)
        if i % 100 == 0:
            print(f"step {i}: loss {loss.item():.3f}")
    print("programs compiled by 300 steps:", lx.counter("UncachedCompile") - before)
    return p
    # [recipe end]


# [recipe]
def save(p):
    lx.save("tutorial.safetensors", p)


def predict(device, pixels):
    with lx.use_device(device):  # of new arrays
        p = lx.load("tutorial.safetensors")
        return lx.argmax(scores_of(p, lx.asarray(pixels)), axis=1).tolist()
    # [recipe end]


def show(device, pixels, labels):
    """Predicts the digits of the held-out images, and prints and returns how many are right."""
    before = lx.counter("UncachedCompile")
    digits = predict(device, pixels)
    right = sum(digit == label for digit, label in zip(digits, labels, strict=True))
    compiled = lx.counter("UncachedCompile") - before
    print(f"{device}: {right} of {len(labels)} right, programs compiled: {compiled}")
    return right


def main():
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} examples/data/digits.csv")
    pixels, labels = read_digits(sys.argv[1])
    first_steps()
    save(train(create(), lx.asarray(pixels[:-HELD_OUT]), lx.asarray(labels[:-HELD_OUT])))
    rights = [show(device, pixels[-HELD_OUT:], labels[-HELD_OUT:]) for device in ("xla:0", "cpu")]
    return 0 if min(rights) >= 310 else 1


if __name__ == "__main__":
    sys.exit(main())
