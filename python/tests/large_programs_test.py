"""Random programs on arrays of 60,000 elements, as large as those that XLA fuses, splits and hands to libraries:
large_programs_test.py [COUNT] [--seed=N].

The value of each program on an XLA device is compared with NumPy's in float64, and its gradient with that on `cpu`,
which uses no XLA. Programs run in another process, so that one that ends the process is reported with its text. Needs
numpy, and lazyxla in PYTHONPATH. `--show` prints the programs.
"""

import math
import random
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import run  # noqa: F401 - it names the plugin

SHAPES = ((60000,), (300, 200), (200, 300), (600, 100), (3, 100, 200), (6, 100, 100))
UNARY = ("tanh", "abs", "square", "negative", "sin", "cos", "exp", "log1p_of_square", "half", "rounded")
# Relative to the largest element; HALF for programs that round to float16.
TOLERANCE, HALF = 2e-3, 3e-2


class Writer:
    """Writes one program: `lines` of assignments to v0, v1, ..., whose shapes are `shapes`."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.lines, self.shapes = [], []
        for i in range(2):
            self.add(f"x[{i}]", self.rng.choice(SHAPES))
        self.inputs = self.shapes[:]
        while len(self.lines) < self.rng.randrange(5, 12):
            self.step()
        last = len(self.lines) - 1
        axes = [None, *range(len(self.shapes[last]))]
        self.result = f"m.{self.rng.choice(('sum', 'max', 'min', 'mean'))}(v{last}, axis={self.rng.choice(axes)})"

    def add(self, text, shape):
        self.lines.append(text)
        self.shapes.append(shape)

    def step(self):
        rng = self.rng
        at = rng.choice(range(max(0, len(self.lines) - 4), len(self.lines)))
        shape, x = self.shapes[at], f"v{at}"
        kind = rng.randrange(23)
        if kind > 15:
            self.structured(x, shape)
        elif kind < 3:
            shapes = [other for other in SHAPES if math.prod(other) == math.prod(shape) and other != shape]
            if shapes:
                other = rng.choice(shapes)
                self.add(f"m.reshape({x}, {other})", other)
        elif kind == 3:
            self.add(f"m.{rng.choice(UNARY)}({x})", shape)
        elif kind == 4:
            y = rng.choice([i for i, other in enumerate(self.shapes) if other == shape])
            self.add(f"{x} {rng.choice('+-*')} v{y}", shape)
        elif kind == 5:
            self.add(f"{x} * {rng.choice(('1.0', '0.5', '-1.0'))} + {rng.choice(('0.0', '1.0'))}", shape)
        elif shape and kind == 6:
            self.add(f"m.cumulative_sum({x}, axis={rng.randrange(len(shape))})", shape)
        elif shape and kind == 7:
            axis, how = rng.randrange(len(shape)), rng.choice(("sum", "max", "min", "mean"))
            self.add(f"m.{how}({x}, axis={axis})", shape[:axis] + shape[axis + 1 :])
        elif shape and kind == 8:
            how = rng.choice(("sum", "max", "mean"))
            self.add(f"{x} - m.{how}({x}, axis={rng.randrange(len(shape))}, keepdims=True)", shape)
        elif shape and kind == 9:
            start = rng.randrange(shape[0])
            self.add(f"m.concat([{x}[{start}:], {x}[:{start}]], axis=0)", shape)
        elif shape and kind == 10:
            self.add(f"m.expand_dims({x}, axis=0)[0]", shape)
        elif len(shape) > 1 and kind == 11:
            self.add(f"m.matrix_transpose({x})", (*shape[:-2], shape[-1], shape[-2]))
        elif len(shape) > 1 and kind > 11:
            self.product(x, shape)

    def structured(self, x, shape):
        """Adds a gather, scatter, sort or window."""
        if not shape or min(shape) < 1:
            return
        rng, seed = self.rng, self.rng.randrange(1000)
        axis = rng.randrange(len(shape))
        how = rng.choice(("take", "scatter", "sort", "flip", "roll", "where", "window", "convolution", "convolution"))
        if how == "take":
            count = rng.choice((1, shape[axis], min(2 * shape[axis], 60000), rng.randint(1, shape[axis])))
            if math.prod(shape) // shape[axis] * count <= 120000:
                self.add(f"m.take({x}, {count}, {axis}, {seed})", (*shape[:axis], count, *shape[axis + 1 :]))
        elif how == "scatter":
            rows = rng.randint(1, shape[0])
            self.add(f"m.scatter({x}, {rows}, {seed})", (rows, *shape[1:]))
        elif how == "sort":
            self.add(f"m.sort({x}, axis={axis})", shape)
        elif how == "flip":
            self.add(f"m.flip({x}, axis={axis})", shape)
        elif how == "roll":
            self.add(f"m.roll({x}, {rng.randint(-5, 5)}, axis={axis})", shape)
        elif how == "where":
            self.add(f"m.where({x} > 0, {x}, {rng.choice(('0.0', '-0.5', x + ' * 0.1'))})", shape)
        elif len(shape) in (2, 3):
            self.window(x, shape, how, seed)

    def window(self, x, shape, how, seed):
        """Adds a convolution or a pooling over the last two axes."""
        rng = self.rng
        sizes = [rng.choice((1, 2, 3, 3, 5)) for _ in range(2)]
        strides = [rng.choice((1, 1, 1, 2, 3)) for _ in range(2)]
        dilations = [rng.choice((1, 1, 2)) if how == "convolution" else 1 for _ in range(2)]
        pads = [[rng.choice((0, 0, 1, 2)) for _ in range(2)] for _ in range(2)]
        pads = [[min(each, size - 1) for each in pair] for pair, size in zip(pads, sizes, strict=True)]
        found = []
        for size, taps, by, gap, (low, high) in zip(shape[-2:], sizes, strides, dilations, pads, strict=True):
            found.append((size + low + high - (taps - 1) * gap - 1) // by + 1)
        if min(found) < 1:
            return
        outer, made = shape[:-2], tuple(shape[:-2])
        name = "pool" if how == "window" else "convolution"
        options = f"{sizes}, {strides}, {dilations}, {pads}"
        if how == "convolution" and outer:
            groups = rng.choice([n for n in (1, 1, 3) if outer[0] % n == 0])
            made = (groups * rng.choice((1, 2)),)
            self.add(f"m.convolution({x}, {options}, {made[0]}, {groups}, {seed})", (*made, *found))
        elif how == "convolution":
            self.add(f"m.convolution({x}[None], {options}, 1, 1, {seed})[0]", tuple(found))
        else:
            self.add(f"m.{name}({x}, {options}, {rng.choice(('max', 'mean'))!r})", (*made, *found))

    def product(self, x, shape):
        """Adds a product with a value that fits, transposed or not, often with the value itself."""
        fits = []
        for i, other in enumerate(self.shapes):
            if len(other) == len(shape) and other[:-2] == shape[:-2]:
                if other[-1] == shape[-1]:
                    fits.append((f"m.matrix_transpose(v{i})", other[-2]))
                if other[-2] == shape[-1]:
                    fits.append((f"v{i}", other[-1]))
        if fits:
            y, columns = self.rng.choice(fits)
            scale = self.rng.choice(("", "", " * 1.0", " * 0.1"))
            self.add(f"m.matmul({x}, {y}){scale}", (*shape[:-1], columns))

    def text(self):
        lines = [f"    v{i} = {line}" for i, line in enumerate(self.lines)]
        return "\n".join(["def program(m, *x):", *lines, f"    return {self.result}", ""])


def numbers(seed, i, shape):
    return np.random.default_rng([seed, i]).standard_normal(shape).astype(np.float32) * np.float32(0.1)


def indices(count, size, seed):
    return np.random.default_rng(seed).integers(0, size, count)


def kernel_of(outer, groups, made, sizes, seed):
    return np.random.default_rng(seed).standard_normal((made, outer // groups, *sizes)).astype(np.float32) * 0.5


def taps(x, sizes, strides, dilations, pads, fill):
    """Returns, for each place in a window, the elements at that place of all windows over the last two axes."""
    padded = np.pad(x, [(0, 0)] * (x.ndim - 2) + pads, constant_values=fill)
    counts = [
        (size - (many - 1) * gap - 1) // by + 1
        for size, many, by, gap in zip(padded.shape[-2:], sizes, strides, dilations, strict=True)
    ]
    for place in np.ndindex(*sizes):
        (top, down, rows), (left, right, columns) = (
            (at * gap, by, n) for at, gap, by, n in zip(place, dilations, strides, counts, strict=True)
        )
        end = (top + (rows - 1) * down + 1, left + (columns - 1) * right + 1)
        yield place, padded[..., top : end[0] : down, left : end[1] : right]


def convolution_by_numpy(x, sizes, strides, dilations, pads, made, groups, seed):
    kernel, total = kernel_of(x.shape[0], groups, made, sizes, seed).astype(np.float64), 0
    for place, values in taps(x, sizes, strides, dilations, pads, 0.0):
        values = values.reshape(groups, -1, *values.shape[1:])
        by_group = kernel[(..., *place)].reshape(groups, made // groups, -1)
        total = total + np.einsum("gihw,goi->gohw", values, by_group).reshape(made, *values.shape[2:])
    return total


def pool_by_numpy(x, sizes, strides, dilations, pads, how):
    each = [values for _, values in taps(x, sizes, strides, dilations, pads, -np.inf if how == "max" else 0.0)]
    return np.max(each, axis=0) if how == "max" else np.mean(each, axis=0)


def scatter_by_numpy(x, rows, seed):
    total = np.zeros((rows, *x.shape[1:]), x.dtype)
    np.add.at(total, indices(x.shape[0], rows, seed), x)
    return total


def structured_by_lazyxla(lx):
    def put(values, x):
        return lx.asarray(values, device=x.device)

    def convolution(x, sizes, strides, dilations, pads, made, groups, seed):
        kernel = put(kernel_of(x.shape[0], groups, made, sizes, seed), x)
        options = {"strides": strides, "kernel_dilation": dilations, "padding": pads, "groups": groups}
        return lx.nn.conv(x[None], kernel, **options)[0]

    def pool(x, sizes, strides, dilations, pads, how):
        function = lx.nn.max_pool if how == "max" else lx.nn.avg_pool
        return function(x, sizes, strides=strides, padding=pads, axes=(-2, -1))

    def scatter(x, rows, seed):
        zeros = lx.zeros((rows, *x.shape[1:]), dtype=x.dtype, device=x.device)
        return lx.scatter(zeros, put(indices(x.shape[0], rows, seed), x), x)

    def take(x, count, axis, seed):
        return lx.take(x, put(indices(count, x.shape[axis], seed), x), axis=axis)

    return {"convolution": convolution, "pool": pool, "scatter": scatter, "take": take}


def structured_by_numpy():
    def take(x, count, axis, seed):
        return np.take(x, indices(count, x.shape[axis], seed), axis=axis)

    return {"convolution": convolution_by_numpy, "pool": pool_by_numpy, "scatter": scatter_by_numpy, "take": take}


def names(m, rounded, cumulative_sum, structured):
    """The functions of a program, by those of NumPy or lazyxla."""
    plain = "sum max min mean tanh abs square negative sin cos exp matmul expand_dims reshape sort flip roll where"
    return SimpleNamespace(
        **structured,
        **{name: getattr(m, name) for name in plain.split()},
        matrix_transpose=lambda x: m.moveaxis(x, -1, -2),
        concat=getattr(m, "concat", None) or m.concatenate,
        cumulative_sum=cumulative_sum,
        log1p_of_square=lambda x: m.log1p(x * x),
        half=rounded,
        rounded=lambda x: x + m.floor(x * 2) * 0.25,
    )


def difference(found, wanted, tolerance):
    """Returns the largest difference as a text; None if it is within the tolerance."""
    found, wanted = np.asarray(found), np.asarray(wanted)
    finite = np.isfinite(wanted) & (np.abs(wanted) < 1e30)
    scale = np.max(np.abs(wanted[finite]), initial=0.5)
    worst = np.max(np.abs(found[finite] - wanted[finite]), initial=0.0)
    return None if worst <= tolerance * scale else f"{worst:.3g} beside {scale:.3g}"


def compared(seed):
    """Returns the differences of a program from its references, as texts."""
    import lazyxla as lx

    writer = Writer(seed)
    text, scope = writer.text(), {}
    exec(text, scope)
    program = scope["program"]
    ours = names(
        lx,
        lambda x: lx.astype(lx.astype(x, lx.float16), lx.float32),
        lambda x, axis: lx.cumulative_sum(x, axis=axis),
        structured_by_lazyxla(lx),
    )
    theirs = names(
        np,
        lambda x: x.astype(np.float16).astype(np.float64),
        lambda x, axis: np.cumsum(x, axis=axis),
        structured_by_numpy(),
    )
    host = [numbers(seed, i, shape) for i, shape in enumerate(writer.inputs)]
    tolerance = HALF if "half" in text else TOLERANCE
    wrong = []
    # At an edge of `floor`, a rounding error becomes a step.
    if "rounded" not in text:
        wanted = program(theirs, *[x.astype(np.float64) for x in host])
        found = program(ours, *[lx.asarray(x, device="xla:0") for x in host])
        wrong.append(("value", difference(found, wanted, tolerance)))

    def gradients(device):
        def total(*x):
            return lx.sum(lx.tanh(program(ours, *x)))

        made = lx.grad(total, argnums=(0, 1))(*[lx.asarray(x, device=device) for x in host])
        return [np.asarray(x) for x in made]

    # After rounding, another element can be the largest one, and gets the gradient.
    if not any(how in text for how in ("max", "min", "rounded", "abs", "sort", "where")):
        for i, (found, wanted) in enumerate(zip(gradients("xla:0"), gradients("cpu"), strict=True)):
            wrong.append((f"gradient {i}", difference(found, wanted, 5 * tolerance)))
    else:
        gradients("xla:0")
    return [f"{name}: {what}" for name, what in wrong if what]


def work(first, end):
    for seed in range(first, end):
        print("start", seed, flush=True)
        with np.errstate(all="ignore"):
            for each in compared(seed):
                print("wrong", seed, each, flush=True)


def main():
    options = dict(each[2:].partition("=")[::2] for each in sys.argv[1:] if each.startswith("--"))
    count = int(next((each for each in sys.argv[1:] if not each.startswith("--")), 200))
    first = int(options.get("seed", 1))
    if "work" in options:
        return work(first, first + count)
    if "show" in options:
        for seed in range(first, first + count):
            print(f"seed {seed}\n{Writer(seed).text()}")
        return None
    failed, at, end = 0, first, first + count
    while at < end:
        command = [sys.executable, __file__, str(end - at), f"--seed={at}", "--work"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        lines = done.stdout.splitlines()
        for line in lines:
            if line.startswith("wrong"):
                failed += 1
                print(f"{line}\n{Writer(int(line.split()[1])).text()}", flush=True)
        if done.returncode == 0:
            break
        started = [int(line.split()[1]) for line in lines if line.startswith("start")]
        seed = started[-1] if started else at
        failed += 1
        print(f"seed {seed} ended with {done.returncode}: {done.stderr[-2000:]}\n{Writer(seed).text()}", flush=True)
        at = seed + 1
    print(f"{count} programs, seeds from {first}, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
