"""examples/import.c against JAX: python import_example_test.py /path/to/import SOURCE_TREE, with JAX.

The network that the example imports, trains and exports is that of examples/models/export_digits.py. JAX computes the
same accuracies, losses and trained weights from the imported weights; and it calls and differentiates the export. Other
programs, which JAX exports here or in docs/import.md, are run by the example's second form."""

import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile

if sys.version_info < (3, 11):
    print("JAX 0.10.2 needs Python 3.11")
    sys.exit(77)  # ctest counts 77 as skipped
sys.dont_write_bytecode = True
os.environ["JAX_PLATFORMS"] = "cpu"
PROGRAM, TREE = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
sys.path.insert(0, str(TREE / "examples/models"))
import export_digits as digits
import jax
import jax.numpy as jnp
import numpy as np

MODEL, DATA = TREE / "examples/models/digits.jax", TREE / "examples/data/digits.csv"
STEPS, RATE, WARMUP, CLIP = 200, 0.01, 10, 1.0
# Rounding differs, and training amplifies it; relative to the loss plus 0.01.
LOSS_LIMIT = 0.002


def run(*arguments, status=0):
    """Returns what the example prints, on both streams."""
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=600)
    assert done.returncode == status, (arguments, done)
    return done.stdout + done.stderr


def tensors(path):
    """Reads a safetensors file of f32 and s32."""
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    header.pop("__metadata__", None)
    dtypes = {"F32": np.float32, "I32": np.int32}

    def read(entry):
        start, end = entry["data_offsets"]
        part = data[8 + size + start : 8 + size + end]
        return np.frombuffer(part, dtypes[entry["dtype"]]).reshape(entry["shape"])

    return {name: read(entry) for name, entry in header.items()}


def weights_in(path):
    """Weights by their names in export_digits.py; each has a shape of its own."""
    names = {shape: name for name, shape in digits.SHAPES.items()}
    found = {names[x.shape]: x for x in tensors(path).values()}
    assert len(found) == len(names), found
    return found


def shifted(pixels):
    images = pixels.reshape(-1, 8, 8)
    moved = np.zeros_like(images)
    moved[:, 1:, 1:] = images[:, :-1, :-1]
    return moved.reshape(pixels.shape)


def rate_of(step):
    if step < WARMUP:
        return RATE * (step + 1) / WARMUP
    return RATE * (0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi * (step - WARMUP) / (STEPS - WARMUP))))


@jax.jit
def trained_step(last, momenta, frozen, pixels, labels, rates):
    """A step of the last layer, as examples/optimizer.h makes it."""
    loss, gradients = jax.value_and_grad(lambda last: digits.loss(frozen | last, pixels, labels))(last)
    norm = jnp.sqrt(sum(jnp.sum(g**2) for g in gradients.values()))
    gradients = {name: g * (CLIP / jnp.maximum(norm, CLIP)) for name, g in gradients.items()}
    m = {name: 0.9 * momenta[0][name] + 0.1 * g for name, g in gradients.items()}
    v = {name: 0.99 * momenta[1][name] + 0.01 * g * g for name, g in gradients.items()}
    change = lambda name: rates[0] * m[name] / (jnp.sqrt(v[name]) * rates[1] + 1e-8)
    return loss, {name: w - change(name) for name, w in last.items()}, (m, v)


def trained(weights, pixels, labels):
    """Returns the losses, and the weights after the training."""
    last = {name: weights[name] for name in ("last", "last_bias")}
    frozen = {name: w for name, w in weights.items() if name not in last}
    momenta, losses = (jax.tree.map(np.zeros_like, last),) * 2, []
    for step in range(STEPS):
        chosen = np.arange(step * 128, (step + 1) * 128) % len(pixels)
        rates = (rate_of(step) / (1 - 0.9 ** (step + 1)), 1 / math.sqrt(1 - 0.99 ** (step + 1)))
        rates = tuple(np.float32(rate) for rate in rates)
        loss, last, momenta = trained_step(last, momenta, frozen, pixels[chosen], labels[chosen], rates)
        losses.append(float(loss))
    return np.array(losses), frozen | last


def near(got, wanted, limit, what):
    """The difference relative to the largest wanted value."""
    got, wanted = np.asarray(got, np.float64), np.asarray(wanted, np.float64)
    assert got.shape == wanted.shape, (what, got.shape, wanted.shape)
    off = np.abs(got - wanted).max() / np.abs(wanted).max()
    print(f"{what}: off by {off:.2g}, limit {limit}")
    assert off <= limit, what


def check_digits(folder):
    pixels, labels, held_out, held_out_labels = digits.load(DATA)
    text = run(MODEL, "--digits", DATA, "--steps", STEPS, "--save", folder)
    accuracy = lambda scores: float((np.asarray(scores).argmax(-1) == held_out_labels).mean())
    printed = [float(x) for x in re.findall(r"(?:import|images|layer) +([0-9]\.[0-9]+)", text)]
    assert len(printed) == 3, text

    original = jax.export.deserialize(bytearray(MODEL.read_bytes())).call
    weights, tuned = weights_in(folder / "imported.safetensors"), weights_in(folder / "tuned.safetensors")
    near(digits.scores(weights, held_out), original(held_out), 1e-5, "imported weights")
    losses, wanted = trained(weights, shifted(pixels), labels)
    got = np.loadtxt(folder / "losses.txt")
    stray = np.abs(got - losses) / (losses + 0.01)
    print(f"losses stray by at most {stray.max():.2g}, limit {LOSS_LIMIT}")
    assert got.shape == losses.shape and stray.max() <= LOSS_LIMIT
    for name in digits.SHAPES:
        if name.startswith("last"):
            assert (tuned[name] != weights[name]).any(), name
            near(tuned[name], wanted[name], 0.002, f"trained {name}")
        else:
            assert tuned[name].tobytes() == weights[name].tobytes(), name

    moved = shifted(held_out)
    of_jax = [accuracy(original(x)) for x in (held_out, moved)] + [accuracy(digits.scores(tuned, moved))]
    print("accuracies", printed, "in JAX", of_jax)
    # One image of 359 may be at the border of two classes.
    assert np.abs(np.subtract(printed, of_jax)).max() < 1.5 / len(held_out)
    assert of_jax[1] < 0.6 < 0.9 < of_jax[2]
    check_export(folder, tuned, moved, held_out_labels)


def check_export(folder, tuned, moved, labels):
    """The export in JAX: what the example computed, and what the script's function is of the trained weights."""
    values = tensors(folder / "values.safetensors")
    assert values["pixels"].tobytes() == moved.tobytes() and (values["labels"] == labels).all()
    exported = jax.export.deserialize(bytearray((folder / "tuned.jax").read_bytes()))
    chosen = lambda scores: -jnp.take_along_axis(jax.nn.log_softmax(scores), labels[:, None], 1).mean()
    scores = exported.call(moved)
    near(scores, values["scores"], 1e-5, "scores of the export")
    near(scores, digits.scores(tuned, moved), 1e-5, "scores of the script")
    gradient = jax.grad(lambda x: chosen(exported.call(x)))(moved)
    near(gradient, values["gradient"], 1e-4, "gradient of the export")
    near(gradient, jax.grad(lambda x: digits.loss(tuned, x, labels))(moved), 1e-4, "gradient of the script")

    text = run(folder / "tuned.jax")
    again = re.search(r"result 0: f32\[359,10\], norm (\S+)", text)
    random = uniform(0, moved.shape)
    near(float(again[1]), np.linalg.norm(np.asarray(exported.call(random), np.float64)), 1e-5, "of random numbers")
    folder_text = run(folder / "tuned", "--device", "xla")
    assert "result 0: f32[359,10], norm" in folder_text, folder_text


def uniform(number, shape, dtype=np.float32):
    """The numbers that the example calls programs on."""
    key = jax.random.wrap_key_data(np.array([0, number], np.uint32))
    return np.asarray(jax.random.uniform(key, shape, np.float32, -1, 1)).astype(dtype)


def check_any(folder):
    """A program of the user's own: free sizes, several dtypes and results."""

    @jax.jit
    def f(x, index, y, c):
        return {"picked": x[index] @ y.astype(np.float32), "count": (x > 0).sum(0), "turned": jnp.exp(1j * c).T}

    rows, columns = jax.export.symbolic_shape("rows, columns")
    shapes = [(rows, columns), (), (columns,), (3, columns)]
    dtypes = [np.float32, np.int32, jnp.bfloat16, np.complex64]
    path = folder / "mine.jax"
    path.write_bytes(jax.export.export(f)(*map(jax.ShapeDtypeStruct, shapes, dtypes)).serialize())
    shapes = [(5, 4), (), (4,), (3, 4)]
    x, y, c = (uniform(i, shapes[i], dtypes[i]) for i in (0, 2, 3))
    wanted = jax.tree.leaves(f(x, np.int32(0), y, c))
    for device in ("cpu", "xla"):
        text = run(path, "--shapes", "5x4,,4,3x4", "--device", device)
        found = re.findall(r"result \d: (\w+)\[([\d,]*)\], norm (\S+)", text)
        assert [(d, s) for d, s, _ in found] == [("s32", "4"), ("f32", ""), ("c64", "4,3")], text
        for (_, _, norm), value in zip(found, wanted, strict=True):
            near(float(norm), np.linalg.norm(np.asarray(value, np.complex128)), 1e-5, f"a norm on {device}")
    assert "shape" in run(path, status=1)  # the free sizes
    assert "want sizes" in run(path, "--shapes", "5*4,,4,3x4", status=2)
    assert "NOT_FOUND" in run(folder / "nothing.jax", status=1)
    assert "usage" in run(status=2)


def blocks():
    """The blocks of Python in docs/import.md that need nothing but JAX, as functions of the names that they use."""
    text = (TREE / "docs/import.md").read_text(encoding="utf-8")
    found = re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    packages = lambda block: set(re.findall(r"^(?:import|from) (\w+)", block, re.MULTILINE))
    return [compile(block, "docs/import.md", "exec") for block in found if packages(block) == {"jax"}]


def check_documents(folder, exported):
    """What docs/import.md shows of JAX: each file that it writes is called, and an export is read as it says."""
    writes, reads = blocks()
    os.chdir(folder)
    written = {}
    exec(writes, written)
    first, second, x = (uniform(i, shape) for i, shape in enumerate([(784, 32), (32, 10), (32, 784)]))
    model, weights = written["model"], {"first": first, "second": second}
    trained = "784x32,32x10,32x784"
    for name, shapes, wanted in [
        ("model.jax", "32x784", model(written["weights"], uniform(0, (32, 784)))),
        ("function.jax", trained, model(weights, x)),
        ("step.jax", f"{trained},32", written["step"](weights, x, np.zeros(32, np.int32))),
        ("model.mlir", None, model(weights, x)),
    ]:
        text = run(name, *(["--shapes", shapes] if shapes else []))
        norms = re.findall(r"result \d: f32\[[\d,]*\], norm (\S+)", text)
        for norm, value in zip(norms, jax.tree.leaves(wanted), strict=True):
            near(float(norm), np.linalg.norm(np.asarray(value, np.float64)), 1e-5, f"a norm of {name}")
    read = {"x": uniform(7, (359, 64))}
    pathlib.Path("model.jax").write_bytes(exported.read_bytes())
    exec(reads, read)
    tuned = weights_in(exported.parent / "tuned.safetensors")
    near(read["y"], digits.scores(tuned, read["x"]), 1e-5, "scores of the document")
    near(read["gradient"], jax.grad(lambda x: digits.scores(tuned, x).sum())(read["x"]), 1e-4, "its gradient")


def main():
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        check_digits(folder / "digits")
        check_any(folder)
        check_documents(folder, folder / "digits/tuned.jax")
        os.chdir("/")


main()
