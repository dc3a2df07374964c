"""The example's training against NumPy: python digits_test.py /path/to/train_digits digits.csv [--mesh data=4]

The same network, data, random numbers and order of batches in f64. The loss of each step and the held-out accuracy of
each epoch have to follow: a product with a stale weight, say, shows within a few steps."""

import math
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

SIZES = [64, 256, 256, 10]
BATCH, HELD_OUT, MOMENTUM, FIRST_RATE = 128, 360, 0.9, 0.05
EPOCHS = 40
# Rounding differs, and training amplifies the difference. Measured errors, relative to the loss plus 0.01: 0.000007 in
# the first 100 steps, 0.0012 in all.
EARLY_STEPS, EARLY_LIMIT, LATE_LIMIT = 100, 0.0005, 0.02
# Number of images of HELD_OUT whose class may differ at the end.
CLASSIFIED_OTHERWISE = 2


class Random:
    """Generates numbers by xorshift64, as the example does."""

    def __init__(self):
        self.state = 0x9E3779B97F4A7C15

    def uniform(self):
        mask = (1 << 64) - 1
        self.state ^= self.state << 13 & mask
        self.state ^= self.state >> 7
        self.state ^= self.state << 17 & mask
        return (self.state >> 11) / 9007199254740992.0

    def normal(self):
        radius = math.sqrt(-2 * math.log(1 - self.uniform()))
        return radius * math.cos(2 * 3.14159265358979 * self.uniform())

    def shuffle(self, order):
        for i in range(len(order) - 1, 0, -1):
            k = int(self.uniform() * (i + 1))
            order[i], order[k] = order[k], order[i]


def forward(layers, x):
    activations = [x]
    for i, (weight, bias) in enumerate(layers):
        y = activations[-1] @ weight + bias
        activations.append(np.maximum(y, 0) if i + 1 < len(layers) else y)
    return activations


def train(path, dtype=np.float64):
    """Returns the losses of all steps and the accuracies of all epochs."""
    random = Random()
    data = np.loadtxt(path, delimiter=",")
    order = list(range(len(data)))
    random.shuffle(order)
    data = data[order]
    pixels, labels = (data[:, :64] / 16).astype(dtype), np.eye(10, dtype=dtype)[data[:, 64].astype(int)]
    training = len(data) - HELD_OUT
    layers = []
    for fan_in, fan_out in zip(SIZES, SIZES[1:]):
        weight = [random.normal() * math.sqrt(2 / fan_in) for _ in range(fan_in * fan_out)]
        layers.append(
            [np.array(weight, np.float32).astype(dtype).reshape(fan_in, fan_out), np.zeros((1, fan_out), dtype)]
        )
    momenta = [[np.zeros_like(p) for p in layer] for layer in layers]
    batches = training // BATCH
    order, losses, accuracies, steps = list(range(training)), [], [], EPOCHS * batches
    for _ in range(EPOCHS):
        random.shuffle(order)
        for b in range(batches):
            chosen = order[b * BATCH : (b + 1) * BATCH]
            rate = FIRST_RATE * (1 - 0.9 * len(losses) / steps)
            losses.append(step(layers, momenta, pixels[chosen], labels[chosen], dtype(rate)))
        scores = forward(layers, pixels[training:])[-1]
        accuracies.append(np.mean(scores.argmax(1) == labels[training:].argmax(1)))
    return np.array(losses), np.array(accuracies)


def step(layers, momenta, x, labels, rate):
    activations = forward(layers, x)
    shifted = activations[-1] - activations[-1].max(1, keepdims=True)
    powers = np.exp(shifted)
    total = powers.sum(1, keepdims=True)
    loss = -(labels * (shifted - np.log(total))).sum() / BATCH
    gradient = (powers / total - labels) / BATCH
    for i in reversed(range(len(layers))):
        gradients = [activations[i].T @ gradient, gradient.sum(0, keepdims=True)]
        if i > 0:
            gradient = (gradient @ layers[i][0].T) * (activations[i] > 0)
        for k in range(2):
            momenta[i][k] = momenta[i][k].dtype.type(MOMENTUM) * momenta[i][k] + gradients[k]
            layers[i][k] = layers[i][k] - rate * momenta[i][k]
    return float(loss)


def strays(losses, reference):
    """Returns the difference from the reference, relative to the loss plus 0.01."""
    return np.abs(losses - reference) / (reference + 0.01)


def check(losses, accuracies, wanted, wanted_accuracies):
    assert len(losses) == len(wanted) and len(accuracies) == len(wanted_accuracies)
    stray = strays(losses, wanted)
    for name, part, limit in [("early", stray[:EARLY_STEPS], EARLY_LIMIT), ("late", stray[EARLY_STEPS:], LATE_LIMIT)]:
        print(f"{name} losses stray by at most {part.max():.2g}, limit {limit}")
        at = int(part.argmax())
        assert part.max() <= limit, f"{name} step {at}: {losses[at]} against {wanted[at]}"
    off = np.abs(accuracies - wanted_accuracies)[[0, 1, 2, -1]] * HELD_OUT
    print(f"held-out accuracy {accuracies[-1]:.4f}, {wanted_accuracies[-1]:.4f} in NumPy")
    assert (off <= CLASSIFIED_OTHERWISE + 0.5).all(), (accuracies, wanted_accuracies)


def main():
    program, data = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as folder:
        curve = pathlib.Path(folder) / "curve.txt"
        subprocess.run([program, data, str(EPOCHS), curve, *sys.argv[3:]], check=True, stdout=subprocess.DEVNULL)
        lines = [line.split() for line in curve.read_text().splitlines()]
    losses, accuracies = (
        np.array([float(value) for name, value in lines if name == key]) for key in ("loss", "accuracy")
    )
    check(losses, accuracies, *train(data))


if __name__ == "__main__":
    main()
