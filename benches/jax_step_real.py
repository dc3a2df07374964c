"""The training steps of benches/step_real.c in JAX, in one run with that program: blocks of both in turn.

    python jax_step_real.py examples/data/digits.csv FOLDER_OF_THE_PROGRAMS/bench_step_real

The program prints its tables, and asks for a block of JAX's after each of its own; this script adds JAX's columns: on
the CPU client in jaxlib, and on the plugin that the program runs on (LXLA_PJRT_PLUGIN, or the default one below
build/), with one device. The steps are jitted, parameters and momenta are donated. The call is that of the jitted
function, which returns before the computation ends.
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

DEFAULT = pathlib.Path(__file__).parents[1] / "build/plugins/fastatomstruct_xla_cpu/libpjrt_cpu.so"
CLIENTS = "cpu", "plugin"  # jaxlib's, and the plugin's
config = tempfile.NamedTemporaryFile("w", suffix=".json")
json.dump(
    {"library_path": os.environ.get("LXLA_PJRT_PLUGIN") or str(DEFAULT), "create_option": {"cpu_device_count": 1}},
    config,
)
config.flush()
os.environ["PJRT_NAMES_AND_LIBRARY_PATHS"] = "plugin:" + config.name
os.environ["JAX_PLATFORMS"] = ",".join(CLIENTS)
import jax
import jax.numpy as jnp
import numpy as np

TURNS, PIPELINED = 10, 8  # of a block, as in step_real.c
MOMENTUM = 0.9
DIGITS, BATCH, WIDTH, ROWS = [64, 256, 256, 10], 128, 64, 32


def digits_loss(parameters, x, labels):
    for i, (w, b) in enumerate(parameters):
        x = x @ w + b
        if i + 1 < len(parameters):
            x = jnp.maximum(x, 0)
    return -(labels * jax.nn.log_softmax(x)).sum() / BATCH


def network_loss(parameters, x, y):
    for w, b in parameters:
        x = x + jnp.maximum(x @ w + b, 0)
    return jnp.square(x - y).sum() / (ROWS * WIDTH)


def random_layers(sizes, scale):
    random = np.random.RandomState(0)
    return [
        (jnp.asarray(scale(i) * random.randn(i, o).astype(np.float32)), jnp.zeros((1, o)))
        for i, o in zip(sizes, sizes[1:])
    ]


def pattern(number):
    return jnp.asarray((np.arange(ROWS * WIDTH) * (number + 3) % 17 / 17).astype(np.float32).reshape(ROWS, WIDTH))


class Step:
    """A training step, with the state that it updates, and the microseconds of all blocks but the first."""

    def __init__(self, loss_of, parameters, x, y, rate):
        def step(parameters, momenta, x, y):
            loss, gradient = jax.value_and_grad(loss_of)(parameters, x, y)
            momenta = jax.tree.map(lambda v, g: MOMENTUM * v + g, momenta, gradient)
            return jax.tree.map(lambda p, v: p - rate * v, parameters, momenta), momenta, loss

        self.jitted = jax.jit(step, donate_argnums=(0, 1))
        self.parameters, self.momenta, self.x, self.y = parameters, jax.tree.map(jnp.zeros_like, parameters), x, y
        self.calls, self.waited, self.unwaited = [], [], []
        self.warm = False

    def call(self):
        self.parameters, self.momenta, self.loss = self.jitted(self.parameters, self.momenta, self.x, self.y)

    def wait(self):
        jax.block_until_ready((self.parameters, self.momenta, self.loss))

    def block(self):
        calls, waited, unwaited = [], [], []
        for _ in range(TURNS):
            start = time.perf_counter()
            self.call()
            called = time.perf_counter()
            self.wait()
            calls.append((called - start) * 1e6), waited.append((time.perf_counter() - start) * 1e6)
        for _ in range(TURNS):
            start = time.perf_counter()
            for _ in range(PIPELINED):
                self.call()
            self.wait()
            unwaited.append((time.perf_counter() - start) * 1e6 / PIPELINED)
        if self.warm:
            self.calls += calls
            self.waited += waited
            self.unwaited += unwaited
        self.warm = True

    def medians(self):
        return [statistics.median(times) for times in (self.calls, self.waited, self.unwaited)]


def make_step(name, digits_file):
    """The step of that name, or None for those that JAX does not run."""
    if name == "digits":
        rows = np.loadtxt(digits_file, delimiter=",", dtype=np.float32)[:BATCH]
        x, labels = jnp.asarray(rows[:, :64] / 16), jnp.asarray(np.eye(10, dtype=np.float32)[rows[:, 64].astype(int)])
        return Step(digits_loss, random_layers(DIGITS, lambda size: (2 / size) ** 0.5), x, labels, 0.0)
    depth, _, rest = name.partition(" layers")
    if not depth.isdigit() or rest:
        return None
    layers = random_layers([WIDTH] * (int(depth) + 1), lambda _: 0.1 / int(depth))
    return Step(network_loss, layers, pattern(0), pattern(1), 1e-3)


class Peer:
    """The same step on the client of JAX's with that name."""

    def __init__(self, client, name, digits_file):
        self.device = jax.devices(client)[0]
        with jax.default_device(self.device):
            self.step = make_step(name, digits_file)

    def block(self):
        with jax.default_device(self.device):
            self.step.block()


class Tables:
    """Adds JAX's columns to the lines of the program's two tables of steps."""

    def __init__(self):
        self.table = ""  # the first words of the head of the table that is printed
        self.ours, self.peers = (
            {},
            {},
        )  # by name of the step: recording and call, waited, unwaited; medians of both peers

    def columns(self, line):
        """JAX's cells for a line of a table."""
        first, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        if first == "step":
            self.table = cells[0]
            if self.table == "tensors made":
                return [
                    f"JAX {jax.__version__}: call",
                    "waited",
                    "unwaited",
                    "JAX on the plugin: call",
                    "waited",
                    "unwaited",
                ]
            return [
                "recording and call / JAX's call",
                "waited / JAX",
                "unwaited / JAX",
                "recording and call / JAX's call on the plugin",
                "waited / JAX on the plugin",
                "unwaited / JAX on the plugin",
            ]
        if self.table == "tensors made":
            recording, call, waited, unwaited = (float(cells[i]) for i in (3, 5, 7, 8))
            self.ours[first] = recording + call, waited, unwaited
            return [f"{time:.1f}" for time in self.peers.get(first, [])] or [""] * 6
        return [f"{ours / peer:.2f}" for ours, peer in zip(self.ours[first] * 2, self.peers.get(first, []))] or [""] * 6

    def extended(self, line):
        if line.startswith("| operations |"):
            self.table = ""
        if not line.startswith("|") or not (self.table or line.startswith("| step |")):
            return line
        if line.startswith("|---"):
            return line + "---|" * 6
        return f"{line} {' | '.join(self.columns(line))} |"


def main():
    digits_file, program = sys.argv[1:]
    child = subprocess.Popen([program, digits_file, "--peer"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    tables, name, peers = Tables(), None, []
    for line in map(str.rstrip, child.stdout):
        if not line.startswith("> "):
            print(tables.extended(line), flush=True)
            continue
        if name != line[2:]:
            name = line[2:]
            peers = [Peer(client, name, digits_file) for client in CLIENTS]
            peers = [peer for peer in peers if peer.step]
        for peer in peers:
            peer.block()
        if peers and peers[0].step.calls:
            tables.peers[name] = [median for peer in peers for median in peer.step.medians()]
        child.stdin.write("\n")
        child.stdin.flush()
    sys.exit(child.wait())


if __name__ == "__main__":
    main()
