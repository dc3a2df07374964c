"""Loops with a bound: memory and times of their gradients, against the bound and against scans of as many iterations.

    python benches/bounded.py

The body is tanh(x * w) of 4,096 f32. Memory is the compiled program's temporaries in arrays of that size; times are
the best of five runs, as ratios within one process."""

import time

import lazyxla as lx

SIZE, ITERATIONS = 4096, 100
BOUNDS = (100, 1_000, 10_000, 100_000)


def bounded(most):
    def loss(w, x, n):
        def body(state):
            i, x = state
            return i + 1, lx.tanh(x * w)

        start = (lx.asarray(0), x)
        (_, x), _ = lx.while_loop(lambda state: state[0] < n, body, start, max_iterations=most)
        return lx.sum(x)

    return loss


def scanned(w, x, n):
    return lx.sum(lx.scan(lambda x, _: (lx.tanh(x * w), None), x, None, length=ITERATIONS)[0])


def best(compiled, *args):
    times = []
    for _ in range(5):
        start = time.perf_counter()
        compiled(*args).tolist()
        times.append(time.perf_counter() - start)
    return min(times)


def main():
    w, x, n = lx.full(SIZE, 1.1), lx.full(SIZE, 0.5), lx.asarray(ITERATIONS)
    scan = lx.compile(lx.grad(scanned), w, x, n)
    reference = best(scan, w, x, n)
    print(f"scan of {ITERATIONS}: {scan.memory['temp_bytes'] / (4 * SIZE):.0f} arrays, {1e3 * reference:.2f} ms")
    for most in BOUNDS:
        loss = bounded(most)
        gradient, value = lx.compile(lx.grad(loss), w, x, n), lx.compile(loss, w, x, n)
        arrays = gradient.memory["temp_bytes"] / (4 * SIZE)
        ratio, alone = best(gradient, w, x, n) / reference, best(value, w, x, n) / reference
        print(f"bound {most}: {arrays:.0f} arrays, gradient {ratio:.2f} of the scan's, the loop alone {alone:.2f}")


if __name__ == "__main__":
    main()
