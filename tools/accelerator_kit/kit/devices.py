"""Facts of the devices, and programs on several of them: devices.py facts | collectives COUNT | sharded COUNT."""

import ctypes
import json
import sys

import lazyxla as lx
import numpy as np
from lazyxla import c
from runner import write_row


def stats_of(ordinal=0):
    """The plugin's own statistics of the memory of a device, or None where it has none."""
    env, text = c.lxla_env(), ctypes.c_void_p()
    c.lxla_env_default(ctypes.byref(env))
    device = c.lxla_device()
    c.lxla_device_parse(f"xla:{ordinal}".encode(), ctypes.byref(device))
    try:
        c.lxla_device_memory_stats(env, device, ctypes.byref(text))
    except c.Error:
        return None
    found = json.loads(ctypes.string_at(text).decode())
    c.lxla_string_free(text)
    return found


def facts():
    """Starts the plugin: its client alone tells the platform."""
    assert float(lx.sum(lx.ones(3))) == 3
    found = json.loads(lx._core.metrics_json())
    count = len([each for each in lx.__array_namespace_info__().devices() if str(each).startswith("xla")])
    write_row({"platform": found["platform"], "count": count, "memory": stats_of(), "lazyxla": lx.__version__})


def mesh_of(count, platform):
    if platform == "cpu":
        lx.initialize(device_count=count)
    return lx.Mesh({"data": count})


def collectives(count, platform):
    mesh, n = mesh_of(count, platform), 4 * count
    x = np.arange(n, dtype=np.float32)
    given = lx.shard(lx.asarray(x), mesh, "data")
    pieces = x.reshape(count, 4)
    for name, function, out, want in (
        ("all_reduce", lambda x: lx.collectives.all_reduce(x, "data"), "", pieces.sum(0)),
        ("all_gather", lambda x: lx.collectives.all_gather(x, "data"), "", x),
        (
            "permute",
            lambda x: lx.collectives.permute(x, "data", [(i, (i + 1) % count) for i in range(count)]),
            "data",
            np.roll(pieces, 1, 0).ravel(),
        ),
    ):
        got = np.asarray(lx.shard_map(function, mesh, "data", out)(given))
        assert np.array_equal(got, want), f"{name}: {got}, want {want}"


def sharded(count, platform):
    """Steps of a network whose batch is split, against the same steps on cpu."""
    mesh, draw = mesh_of(count, platform), np.random.default_rng(0)
    x = draw.normal(size=(8 * count, 16)).astype(np.float32)
    w = (0.1 * draw.normal(size=(16, 16))).astype(np.float32)

    def train(x, w, steps=10):
        for _ in range(steps):
            value, slope = lx.value_and_grad(lambda w: lx.mean((lx.tanh(x @ w) - 1) ** 2))(w)
            w = w - 0.1 * slope
        return float(value), np.asarray(w)

    loss, got = train(lx.shard(lx.asarray(x), mesh, "data,-"), lx.shard(lx.asarray(w), mesh, "-,-"))
    want_loss, want = train(lx.asarray(x, device="cpu"), lx.asarray(w, device="cpu"))
    off = float(np.abs(got - want).max())
    write_row({"loss": loss, "want": want_loss, "largest difference of the weights": off})
    assert abs(loss - want_loss) < 1e-4 and off < 1e-4, f"loss {loss}, on cpu {want_loss}; weights differ by {off}"


if __name__ == "__main__":
    if sys.argv[1] == "facts":
        facts()
    else:
        {"collectives": collectives, "sharded": sharded}[sys.argv[1]](int(sys.argv[2]), sys.argv[3])
