"""Native tensors beside NumPy: python numpy_native.py FOLDER_OF_THE_PROGRAMS/bench_native [operation ...]

Four processes take turns: bench_native and this script as a server, on as many threads as they like, and on one. Each
answers "operation calls" with the nanoseconds of one call, those of processor time, and a number out of its result.
Both allocate every result. On one thread processor time is compared, which other work on the machine changes less.
"""

import math
import os
import statistics
import subprocess
import sys
import time

ROUNDS, SAMPLE_NS = 11, 50e6  # long samples: threads that wake up share a processor for many milliseconds
THREADS = "RAYON_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"
# What is measured, and the goal: how many times NumPy's time, or nanoseconds. Some have none.
GOALS = {
    **dict.fromkeys(("add", "multiply", "exp", "tanh", "sqrt", "maximum", "greater", "where", "astype_f64"), 1),
    **dict.fromkeys(("sum", "max", "sum_axis_0", "sum_axis_1", "transpose"), 1),
    "matmul_1024": 1 / 0.7,
    **dict.fromkeys(("small_add", "small_exp", "small_sum"), 150),
    **dict.fromkeys(("small_relu", "small_relu6", "small_isinf"), 1000),
    "small_lgamma": 1500,
    **dict.fromkeys(("divide", "power", "negate", "log", "sin", "floor", "add_f64", "exp_f64", "add_s32")),
    **dict.fromkeys(("astype_s32", "add_a_scalar", "add_a_row", "add_a_column", "max_axis_0", "max_axis_1", "sum_f64")),
    **dict.fromkeys(("take_rows", "half_of_each_row", "concatenate", "matmul_64", "matmul_256", "matrix_by_vector")),
}


def operations():
    """The operands of bench_native, and its operations in NumPy."""
    import numpy as np

    def operand(*dims, seed):
        count = np.arange(np.prod(dims), dtype=np.uint32) + np.uint32(seed)
        return (0.1 + (count * np.uint32(2654435761) >> np.uint32(8)) / 2.0**24).astype(np.float32).reshape(dims)

    x, y = operand(1000000, seed=1), operand(1000000, seed=2)
    wide_x, wide_y, s32_x, s32_y, mask = x.astype("d"), y.astype("d"), (x * 1000).astype("i"), x.astype("i"), x > y
    square, column, row = operand(1000, 1000, seed=3), operand(1000, 1, seed=4), operand(1000, seed=5)
    a, b, vector = operand(1024, 1024, seed=6), operand(1024, 1024, seed=7), operand(1024, seed=8)
    a64, b64, a256, b256 = (operand(side, side, seed=seed) for side, seed in ((64, 9), (64, 10), (256, 11), (256, 12)))
    small, other_small, places = operand(8, seed=13), operand(8, seed=14), np.arange(1000) * 7 % 1000
    return {
        "add": lambda: x + y,
        "multiply": lambda: x * y,
        "exp": lambda: np.exp(x),
        "tanh": lambda: np.tanh(x),
        "sqrt": lambda: np.sqrt(x),
        "maximum": lambda: np.maximum(x, y),
        "greater": lambda: x > y,
        "where": lambda: np.where(mask, x, y),
        "astype_f64": lambda: x.astype(np.float64),
        "sum": lambda: x.sum(),
        "max": lambda: x.max(),
        "sum_axis_0": lambda: square.sum(0),
        "sum_axis_1": lambda: square.sum(1),
        "transpose": lambda: square.T.copy(),
        "matmul_1024": lambda: a @ b,
        "small_add": lambda: small + other_small,
        "small_exp": lambda: np.exp(small),
        "small_sum": lambda: small.sum(),
        "small_relu": lambda: np.maximum(small, 0),
        "small_relu6": lambda: np.clip(small, 0, 6),
        "small_isinf": lambda: np.isinf(small),
        "small_lgamma": lambda: np.array([math.lgamma(x) for x in small], np.float32),  # NumPy has none
        "divide": lambda: x / y,
        "power": lambda: x**y,
        "negate": lambda: -x,
        "log": lambda: np.log(x),
        "sin": lambda: np.sin(x),
        "floor": lambda: np.floor(x),
        "add_f64": lambda: wide_x + wide_y,
        "exp_f64": lambda: np.exp(wide_x),
        "add_s32": lambda: s32_x + s32_y,
        "astype_s32": lambda: x.astype(np.int32),
        "add_a_scalar": lambda: x + 2,
        "add_a_row": lambda: square + row,
        "add_a_column": lambda: square + column,
        "max_axis_0": lambda: square.max(0),
        "max_axis_1": lambda: square.max(1),
        "sum_f64": lambda: wide_x.sum(),
        "take_rows": lambda: square.take(places, 0),
        "half_of_each_row": lambda: square[:, :500].copy(),
        "concatenate": lambda: np.concatenate((x, y)),
        "matmul_64": lambda: a64 @ b64,
        "matmul_256": lambda: a256 @ b256,
        "matrix_by_vector": lambda: a @ vector,
    }


def serve():
    table = operations()
    for line in sys.stdin:
        name, calls = line.rsplit(" ", 1)
        call, turns = table[name], range(int(calls))
        result = call()
        value = float(result if result.ndim == 0 else result.flat[-1])
        del result
        for _ in range(int(calls) // 4 + 1):
            call()
        start, start_busy = time.perf_counter_ns(), time.process_time_ns()
        for _ in turns:
            call()
        end, end_busy = time.perf_counter_ns(), time.process_time_ns()
        print((end - start) / len(turns), (end_busy - start_busy) / len(turns), repr(value), flush=True)


class Server:
    def __init__(self, command, threads):
        env = {name: value for name, value in os.environ.items() if name not in THREADS}
        env.update({name: threads for name in THREADS if threads})
        self.figure = 1 if threads else 0
        self.process = subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, name, calls):
        self.process.stdin.write(f"{name} {calls}\n")
        self.process.stdin.flush()
        return [float(word) for word in self.process.stdout.readline().split()]


def measure(servers, name):
    """The samples of each server, after checking that they compute the same."""
    first = [server.ask(name, 3) for server in servers]
    values = [value for *_, value in first]
    if any(abs(value - values[0]) > 1e-4 * abs(values[0]) for value in values):
        sys.exit(f"{name}: {values}")
    calls = [max(1, min(100000, int(SAMPLE_NS / nanoseconds))) for nanoseconds, *_ in first]
    samples = [[] for _ in servers]
    for _ in range(ROUNDS):
        for server, number, kept in zip(servers, calls, samples):
            if name.startswith("mat"):
                time.sleep(0.15)  # OpenBLAS's threads go on waiting for work, and take a processor
            kept.append(server.ask(name, number)[server.figure])
    return samples


def ratio(samples, peer):
    """What a change of the machine's mood does to both does not count."""
    return statistics.median(ours / theirs for ours, theirs in zip(samples, peer))


def shown(nanoseconds):
    return f"{nanoseconds:.0f} ns" if nanoseconds < 1e4 else f"{nanoseconds / 1e3:.0f} us"


def main():
    ours, peer = [sys.argv[1]], [sys.executable, __file__, "serve"]
    servers = [Server(ours, ""), Server(peer, ""), Server(ours, "1"), Server(peer, "1")]
    print("| operation | lazyxla | NumPy | ratio | one thread: lazyxla | NumPy | ratio | goal | |\n|" + "---|" * 9)
    for name in sys.argv[2:] or GOALS:
        samples = measure(servers, name)
        times = [shown(statistics.median(kept)) for kept in samples]
        ratios = [ratio(*samples[:2]), ratio(*samples[2:])]
        reached = statistics.median(samples[0]) if name.startswith("small") else ratios[0]
        goal, told = GOALS[name], " | "
        if goal:
            told = f"{shown(goal) if goal > 2 else f'{goal:.2f}'} | {'met' if reached <= goal else 'MISSED'}"
        cells = *times[:2], f"{ratios[0]:.2f}", *times[2:], f"{ratios[1]:.2f}", told
        print(f"| {name.replace('_', ' ')} | {' | '.join(cells)} |", flush=True)
    for server in servers:
        server.process.stdin.close()
        server.process.wait()


if __name__ == "__main__":
    serve() if sys.argv[1:] == ["serve"] else main()
