"""Eager indexing, distinct elements, sorts and convolutions of 10^6 elements on `cpu` beside NumPy: python
numpy_indexing.py, with the package on PYTHONPATH. Prints for each call the best of 15 times in milliseconds, NumPy's,
and their ratio."""

import time

import numpy as np

import lazyxla as lx

N = 10**6
rng = np.random.default_rng(0)
data = {
    "v": rng.standard_normal(N).astype(np.float32),
    "i": rng.integers(0, N, N),
    "k": rng.integers(0, 1000, N),
    "r": rng.integers(0, 1000, 1000),
    "w": rng.standard_normal(50).astype(np.float32),
}
data["m"] = data["v"].reshape(1000, 1000)
data["j"] = np.argsort(data["m"], axis=1)
# Expressions, evaluated once with the names of NumPy and once with the names of the package.
CALLS = """
v[i]
take(v, i)
m[r]
m[:, r]
take_along_axis(m, j, axis=1)
v[v > 0]
bincount(k)
unique_values(k)
unique_values(i)
unique_counts(k)
unique_inverse(k)
isin(k, r)
sort(v)
sort(i)
median(v)
histogram(v, 10)
convolve(v, w)
""".split("\n")[1:-1]


def best(call, names):
    times = []
    for _ in range(15):
        start = time.perf_counter()
        eval(call, names)
        times.append(time.perf_counter() - start)
    return min(times) * 1e3


def main():
    with lx.use_device("cpu"):
        ours = {**vars(lx), **{name: lx.asarray(value) for name, value in data.items()}}
        for call in CALLS:
            code = compile(call, call, "eval")
            mine, theirs = best(code, ours), best(code, {**vars(np), **data})
            print(f"{call:32} {mine:8.2f} {theirs:8.2f} {mine / theirs:6.2f}", flush=True)


if __name__ == "__main__":
    main()
