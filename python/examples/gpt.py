"""Trains a small language model on real text: the decoder-only transformer over characters of examples/gpt.c.

    python gpt.py [examples/data/genesis_exodus.txt] [--steps N] [--curve losses.png] ...

Layer norm before attention and before the MLP, learned positions, tied output projection; AdamW, warm-up, cosine
schedule, clipping. The layers are one lx.scan over stacked weights. A step is one jitted function, and one program. Then
the weights are saved, loaded, and write a few lines. With tqdm, progress is a bar; --curve needs matplotlib.
"""

import argparse
import random
import statistics
import time
from pathlib import Path

import lazyxla as lx

DATA = Path(__file__).resolve().parents[2] / "examples/data/genesis_exodus.txt"
HELD_OUT, MOST_EVALUATIONS = 0.1, 40
# Parameters that are matrices, which decay, and are random at first.
MATRICES = {"token_embedding", "position_embedding", "qkv_weight", "mix_weight", "up_weight", "down_weight"}
OUTER = ("token_embedding", "position_embedding", "final_scale", "final_offset")


def options():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("text", nargs="?", default=DATA)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--width", type=int, default=128, help="elements of a position, a multiple of the heads")
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--context", type=int, default=64, help="characters that a position can see")
    parser.add_argument("--batch", type=int, default=16, help="windows of text in a step")
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--warmup", type=int, default=50)
    parser.add_argument("--rate", type=float, default=3e-3, help="highest learning rate")
    parser.add_argument("--decay", type=float, default=0.1, help="weight decay of matrices")
    parser.add_argument("--clip", type=float, default=1.0, help="largest norm of the gradients")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--policy", default="dots", help="what the backward pass keeps: all, dots, none")
    parser.add_argument("--every", type=int, default=50, help="steps from one line of progress to the next")
    parser.add_argument("--bound", type=float, default=2.0, help="validation loss that has to be reached")
    parser.add_argument("--save", default="gpt.safetensors", help="file for the parameters")
    parser.add_argument("--curve", help="picture of the loss of each step")
    parser.add_argument("--prompt", default="And God said")
    parser.add_argument("--characters", type=int, default=300, help="how many to write")
    parser.add_argument("--temperature", type=float, default=0.7, help="of the sampling; 0: the likeliest character")
    parser.add_argument("--bench", action="store_true", help="wait for each step, and print the median time")
    return parser.parse_args()


def create(given, symbols):
    """Returns the parameters; those of layers are stacked."""
    w, layers = given.width, given.layers
    shapes = {
        "token_embedding": (symbols, w),
        "position_embedding": (given.context, w),
        "final_scale": (w,),
        "final_offset": (w,),
        "attention_scale": (layers, w),
        "attention_offset": (layers, w),
        "qkv_weight": (layers, w, 3 * w),
        "qkv_bias": (layers, 3 * w),
        "mix_weight": (layers, w, w),
        "mix_bias": (layers, w),
        "mlp_scale": (layers, w),
        "mlp_offset": (layers, w),
        "up_weight": (layers, w, 4 * w),
        "up_bias": (layers, 4 * w),
        "down_weight": (layers, 4 * w, w),
        "down_bias": (layers, w),
    }
    params, keys = {}, lx.random.split(lx.random.key(given.seed), len(shapes))
    for number, (name, shape) in enumerate(shapes.items()):
        if name in MATRICES:
            # Those that add to the residual stream are scaled down with the number of layers.
            deviation = 0.02 / (2 * layers) ** 0.5 if name in ("mix_weight", "down_weight") else 0.02
            params[name] = lx.random.normal(keys[number], shape) * deviation
        else:
            params[name] = lx.ones(shape) if name.endswith("scale") else lx.zeros(shape)
    return params


def attention(x, w, heads):
    batch, context, width = x.shape
    qkv = lx.tensordot(x, w["qkv_weight"], axes=1) + w["qkv_bias"]
    q, k, v = (lx.reshape(qkv[:, :, i * width : (i + 1) * width], (batch, context, heads, -1)) for i in range(3))
    scores = lx.einsum("bqhd,bkhd->bhqk", q, k) * (1 / q.shape[-1] ** 0.5)
    places = lx.arange(context, dtype=lx.int32)
    share = lx.nn.softmax(lx.where(places[:, None] >= places, scores, -1e30))
    mixed = lx.permute_dims(lx.einsum("bhqk,bkhd->bhqd", share, v), (0, 2, 1, 3))
    return lx.tensordot(lx.reshape(mixed, x.shape), w["mix_weight"], axes=1) + w["mix_bias"]


def layer(x, w, heads):
    x = x + attention(lx.nn.layer_norm(x, w["attention_scale"], w["attention_offset"]), w, heads)
    before = lx.nn.layer_norm(x, w["mlp_scale"], w["mlp_offset"])
    expanded = lx.tensordot(before, w["up_weight"], axes=1) + w["up_bias"]
    return x + lx.tensordot(lx.nn.gelu(expanded, approximate=True), w["down_weight"], axes=1) + w["down_bias"]


def forward(params, tokens, heads):
    """Returns the normalized output of the last layer."""
    x = lx.take(params["token_embedding"], tokens, axis=0) + params["position_embedding"]
    stacked = {name: value for name, value in params.items() if name not in OUTER}
    x, _ = lx.scan(lambda x, w: (layer(x, w, heads), None), x, stacked)
    return lx.nn.layer_norm(x, params["final_scale"], params["final_offset"])


def functions(given, ids):
    """Returns the loss of windows of the text, and the step of training."""

    def loss(params, starts):
        windows = lx.take(ids, starts[:, None] + lx.arange(given.context + 1, dtype=lx.int32))
        tokens, targets = windows[:, :-1], windows[:, 1:]
        hidden = forward(params, tokens, given.heads)
        scores = lx.nn.log_softmax(lx.tensordot(hidden, params["token_embedding"].T, axes=1))
        return -lx.mean(lx.take_along_axis(scores, targets[:, :, None], axis=-1))

    optimizer = lx.optim.adamw(
        lx.optim.cosine_schedule(given.rate, given.steps, warmup=given.warmup, end=given.rate / 10),
        b2=0.99,
        weight_decay=given.decay,
        decays={name: name in MATRICES for name in create(given, 1)},
    )
    gradients_of = lx.value_and_grad(lx.checkpoint(loss, save=given.policy))

    def step(params, state, starts):
        value, gradients = gradients_of(params, starts)
        gradients = lx.optim.clip_by_global_norm(gradients, given.clip)
        return value, *optimizer.update(gradients, state, params)

    return lx.jit(loss), lx.jit(step), optimizer


def validate(given, params, loss, training, length):
    """Returns the mean loss over consecutive windows of the held-out text."""
    size = given.batch * given.context
    batches = min((length - training - 1) // size, MOST_EVALUATIONS)
    starts = [[training + i * size + k * given.context for k in range(given.batch)] for i in range(batches)]
    return sum(float(loss(params, lx.asarray(each, dtype=lx.int32))) for each in starts) / batches


def train(given, start, step, optimizer, training):
    """Returns the parameters, the loss of each step, and the seconds of a step. Takes the parameters out of a list: one
    that anything else refers to cannot be overwritten by the first step."""
    params = start.pop()
    state, draw = optimizer.init(params, on_device=True), random.Random(given.seed)
    losses, times = [], []
    steps = range(given.steps)
    try:
        import tqdm

        steps = tqdm.tqdm(steps)
    except ImportError:
        pass
    since = time.perf_counter()
    for number in steps:
        begin = time.perf_counter()
        starts = lx.asarray([draw.randrange(training - given.context) for _ in range(given.batch)], dtype=lx.int32)
        value, params, state = step(params, state, starts)
        lx.step()
        losses.append(value)
        if given.bench:
            float(value)
        if number == 0 or (number + 1) % given.every == 0:
            done = 1 if number == 0 else given.every
            tokens = done * given.batch * given.context / (time.perf_counter() - since)
            print(f"  step {number + 1:5}  loss {float(value):.4f}  {tokens:.0f} tokens/s", flush=True)
            since = time.perf_counter()
        times.append(time.perf_counter() - begin)
    return params, [float(value) for value in losses], statistics.median(times)


def write(given, params, symbols):
    """Returns the prompt, and what the model continues it with."""

    def sample(params, tokens, place, key):
        now, later = lx.random.split(key)
        hidden = forward(params, tokens[None], given.heads)[0]
        scores = params["token_embedding"] @ lx.take(hidden, place, axis=0)
        if given.temperature > 0:
            scores = scores / given.temperature + lx.random.gumbel(now, scores.shape)
        return lx.argmax(scores), later

    sampler, key = lx.jit(sample), lx.random.key(given.seed)
    text = [symbols.index(character) for character in given.prompt.encode()]
    for _ in range(given.characters):
        seen = text[-given.context :]
        tokens = lx.asarray(seen + [0] * (given.context - len(seen)), dtype=lx.int32)
        found, key = sampler(params, tokens, lx.asarray(len(seen) - 1, dtype=lx.int32), key)
        lx.step()
        text.append(int(found))
    return bytes(symbols[number] for number in text).decode(errors="replace")


def draw_curve(path, losses):
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    pyplot.plot(range(1, len(losses) + 1), losses)
    pyplot.xlabel("step")
    pyplot.ylabel("loss")
    pyplot.savefig(path)


def main():
    given = options()
    text = Path(given.text).read_bytes()
    symbols = sorted(set(text))
    number = {symbol: i for i, symbol in enumerate(symbols)}
    training = len(text) - int(len(text) * HELD_OUT)
    ids = lx.asarray([number[symbol] for symbol in text], dtype=lx.int32)
    start = [create(given, len(symbols))]
    lx.step()
    count = sum(x.size for x in start[0].values())
    print(
        f"{given.layers} layers, width {given.width}, context {given.context}, batch {given.batch}: {count} parameters"
    )

    loss, step, optimizer = functions(given, ids)
    first = validate(given, start[0], loss, training, len(text))
    compiled = lx.counter("UncachedCompile")
    params, losses, seconds = train(given, start, step, optimizer, training)
    compiled = lx.counter("UncachedCompile") - compiled
    last = validate(given, params, loss, training, len(text))
    lx.save(given.save, params)
    params = lx.load(given.save)
    loaded = validate(given, params, loss, training, len(text))
    print("\n" + write(given, params, symbols) + "\n")
    print(f"  validation loss      {last:.4f}, was {first:.4f}; has to be below {given.bound}")
    print(f"  from the file        {loaded:.4f}")
    print(f"  programs compiled    {compiled} for {given.steps} steps; traced {step.traces} times")
    if given.bench:
        print(f"  time per step        {1e3 * seconds:.2f} ms (median; waited for)")
    if given.curve:
        draw_curve(given.curve, losses)
    return 0 if last < min(first, given.bound) and loaded == last else 1


if __name__ == "__main__":
    raise SystemExit(main())
