"""Training steps that lazyxla and JAX both run, each written once: only `Ours` and `Peers` differ.

As a program, steps.py LIBRARY answers commands on descriptors that turns.py gives it."""

import ctypes
import json
import os
import sys
import time
from pathlib import Path

import numpy as np

DIGITS = Path(__file__).resolve().parents[1] / "examples/data/digits.csv"


class Ours:
    """lazyxla."""

    def __init__(self, _):
        import lazyxla as lx

        self.xp, self.nn, self.scan, self.value_and_grad = lx, lx.nn, lx.scan, lx.value_and_grad
        self.version, self.array, self.device = lx.__version__, lx.asarray, str(lx.default_device())

    def conv(self, x, kernel, stride):
        return self.nn.conv(x, kernel, strides=stride, padding="same", layout=("NHWC", "HWIO", "NHWC"))

    def jit(self, step):
        return self.xp.jit(step)

    def wait(self, _):
        self.xp.step()
        self.xp.wait()

    def multiply_at(self, precision):
        """Compiles products at this precision from here on."""
        import lazyxla.c as c

        env = c.lxla_env()
        c.lxla_env_default(ctypes.byref(env))
        if status := c.lxla_env_set_option(env, b"matmul_precision", precision.encode()):
            raise RuntimeError(f"matmul_precision: {c.lxla_last_error_message().decode()} (status {status})")


class Peers:
    """JAX, on the same plugin; products of f32 at the precision that is asked for."""

    def __init__(self, precision):
        import jax

        jax.config.update("jax_default_matmul_precision", None if precision == "default" else precision)
        self.jax, self.xp, self.nn, self.scan = jax, jax.numpy, jax.nn, jax.lax.scan
        self.value_and_grad, self.array, self.version = jax.value_and_grad, jax.numpy.asarray, jax.__version__
        self.device = str(jax.devices()[0])

    def conv(self, x, kernel, stride):
        dims = ("NHWC", "HWIO", "NHWC")
        return self.jax.lax.conv_general_dilated(x, kernel, (stride, stride), "SAME", dimension_numbers=dims)

    def jit(self, step):
        return self.jax.jit(step, donate_argnums=(0,))

    def wait(self, arrays):
        self.jax.block_until_ready(arrays)


def cross_entropy(lib, logits, labels):
    return -lib.xp.mean(lib.xp.sum(lib.nn.log_softmax(logits) * labels, axis=-1))


def relu(lib, x):
    return lib.xp.maximum(x, 0)


def normals(*shapes):
    draw = np.random.default_rng(0)
    return [
        (draw.normal(size=shape) * (shape[-2] if len(shape) > 1 else 1) ** -0.5).astype(np.float32) for shape in shapes
    ]


def labels_of(rows, count=10):
    return np.eye(count, dtype=np.float32)[np.arange(rows) % count]


def digits():
    rows = np.loadtxt(DIGITS, delimiter=",", dtype=np.float32)[:128]
    labels = np.eye(10, dtype=np.float32)[rows[:, 64].astype(int)]

    def loss(lib, params, x, labels):
        for i in range(0, len(params), 2):
            x = x @ params[i] + params[i + 1]
            x = x if i + 2 == len(params) else relu(lib, x)
        return cross_entropy(lib, x, labels)

    return loss, normals((64, 256), (256,), (256, 256), (256,), (256, 10), (10,)), (rows[:, :64] / 16, labels)


def layers(depth):
    def loss(lib, params, x, y):
        for i in range(0, len(params), 2):
            x = x + relu(lib, x @ params[i] + params[i + 1]) * (1 / depth)
        return lib.xp.mean((x - y) ** 2)

    return loss, normals(*[(64, 64), (64,)] * depth), normals((32, 64), (32, 64))


def convolutions():
    def loss(lib, params, x, labels):
        first, second, dense = params
        x = relu(lib, lib.conv(x, first, 1))
        x = relu(lib, lib.conv(x, second, 2))
        return cross_entropy(lib, lib.xp.mean(x, axis=(1, 2)) @ dense, labels)

    params = normals((3, 3, 3, 16), (3, 3, 16, 32), (32, 10))
    return loss, params, (normals((32, 32, 32, 3))[0], labels_of(32))


def lstm(width=128, batch=32, length=32):
    def loss(lib, params, x, labels):
        inner, outer, bias, dense = params
        xp = lib.xp
        sigmoid = lambda x: 1 / (1 + xp.exp(-x))

        def cell(carry, x):
            h, c = carry
            gates = x @ inner + h @ outer + bias
            i, f, g, o = (gates[:, k * width : (k + 1) * width] for k in range(4))
            c = sigmoid(f + 1) * c + sigmoid(i) * xp.tanh(g)
            h = sigmoid(o) * xp.tanh(c)
            return (h, c), h

        start = xp.zeros((batch, width), dtype=xp.float32)
        (h, _), _ = lib.scan(cell, (start, start), x)
        return cross_entropy(lib, h @ dense, labels)

    params = normals((64, 4 * width), (width, 4 * width), (4 * width,), (width, 10))
    return loss, params, (normals((length, batch, 64))[0], labels_of(batch))


def transformer(depth=2, width=128, heads=4, batch=8, length=64):
    def norm(xp, x):
        mean = xp.mean(x, axis=-1, keepdims=True)
        return (x - mean) / xp.sqrt(xp.mean((x - mean) ** 2, axis=-1, keepdims=True) + 1e-5)

    def loss(lib, params, x, labels):
        xp = lib.xp
        split = lambda x: xp.permute_dims(xp.reshape(x, (batch, length, heads, width // heads)), (0, 2, 1, 3))
        for i in range(0, 6 * depth, 6):
            q, k, v, mix, up, down = params[i : i + 6]
            y = norm(xp, x)
            scores = split(y @ q) @ xp.permute_dims(split(y @ k), (0, 1, 3, 2)) * (width // heads) ** -0.5
            mixed = xp.permute_dims(lib.nn.softmax(scores, axis=-1) @ split(y @ v), (0, 2, 1, 3))
            x = x + xp.reshape(mixed, (batch, length, width)) @ mix
            x = x + relu(lib, norm(xp, x) @ up) @ down
        return cross_entropy(lib, x @ params[-1], labels)

    block = [(width, width)] * 4 + [(width, 4 * width), (4 * width, width)]
    labels = np.broadcast_to(labels_of(length), (batch, length, 10)).copy()
    return loss, normals(*block * depth, (width, 10)), (normals((batch, length, width))[0], labels)


STEPS = {
    "digits": digits,
    "10 layers": lambda: layers(10),
    "100 layers": lambda: layers(100),
    "400 layers": lambda: layers(400),
    "convolutions": convolutions,
    "LSTM": lstm,
    "transformer": transformer,
}


class Step:
    """A training step with its state: all steps are steps of gradient descent."""

    def __init__(self, lib, name):
        loss, params, data = STEPS[name]()
        self.lib, self.params = lib, tuple(map(lib.array, params))
        self.data = tuple(map(lib.array, data))

        def step(params, *data):
            value, slopes = lib.value_and_grad(lambda params: loss(lib, params, *data))(params)
            return tuple(p - 0.01 * slope for p, slope in zip(params, slopes)), value

        self.step, start = lib.jit(step), time.perf_counter()
        self.call()
        first = float(self.loss)
        self.compiled = {"first_s": round(time.perf_counter() - start, 3), "loss": first, "device": lib.device}

    def call(self):
        self.params, self.loss = self.step(self.params, *self.data)

    def block(self, count):
        """Microseconds of a call, and of a step of `count` that are waited for together."""
        start = time.perf_counter()
        for _ in range(count):
            self.call()
        called = time.perf_counter()
        self.lib.wait((self.params, self.loss))
        end = time.perf_counter()
        return {"call_us": 1e6 * (called - start) / count, "step_us": 1e6 * (end - start) / count}


class Product:
    """A product of two matrices of f32, over and over."""

    def __init__(self, lib, n):
        self.lib, self.n = lib, n
        a, b = normals((n, n), (n, n))
        self.params, self.other = lib.array(a), lib.array(b)
        self.step = lib.jit(lambda a, b: (a @ b) * 0.5)
        self.compiled = {"n": n, "device": lib.device}
        self.block(1)

    def block(self, count):
        start = time.perf_counter()
        for _ in range(count):
            self.params = self.step(self.params, self.other)
        self.lib.wait(self.params)
        seconds = (time.perf_counter() - start) / count
        return {"step_us": 1e6 * seconds, "tflop_s": 2e-12 * self.n**3 / seconds}


def main():
    library, precision = sys.argv[1:3]
    commands, answers = os.fdopen(int(sys.argv[3])), os.fdopen(int(sys.argv[4]), "w")
    answer = lambda row: (answers.write(json.dumps(row) + "\n"), answers.flush())
    lib = {"lazyxla": Ours, "jax": Peers}[library](precision)
    answer({"version": lib.version, "device": lib.device})
    known = {}
    for line in commands:
        kind, name, count = json.loads(line)
        if kind == "step":
            known = {name: Step(lib, name)}
            answer(known[name].compiled)
        elif kind == "product":
            known = {name: Product(lib, count)}
            answer(known[name].compiled)
        elif kind == "product at default":
            if library == "lazyxla":
                lib.multiply_at("default")
            known = {name: Product(lib, count)}
            answer(known[name].compiled)
        else:
            answer(known[name].block(count))


if __name__ == "__main__":
    main()
