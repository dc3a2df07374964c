"""Profiles of JAX in traces: python profile_jax_test.py liblazyxla.so libfault_plugin.so plugin.so

JAX records profiles of itself, the fault plugin returns them as its own, and the events of the trace are those that JAX
reads from the profile: rows, names, times and statistics."""

import os
import sys
import tempfile
from collections import Counter

os.environ["JAX_PLATFORMS"] = "cpu"
import jax
import jax.numpy as jnp
import profile_test as test
from jax.profiler import ProfileData, ProfileOptions
from jaxlib import _profiler

LONGEST = 400  # bytes of a text; longer ones are cut


def recorded(python, host):
    """A profile of some programs, at levels of detail, as bytes."""
    options = ProfileOptions()
    options.python_tracer_level, options.host_tracer_level, options.enable_hlo_proto = python, host, True
    step = jax.jit(lambda x: jnp.tanh(x @ x).sum(axis=0).sort())
    x = jnp.ones((32, 32))
    session = _profiler.ProfilerSession(options)
    with jax.profiler.TraceAnnotation("outer", number=7, text="ü", share=0.25):
        for _ in range(20):
            x = x + step(x)
            x.block_until_ready()
    return session.stop()


def shown(value):
    """A value as the trace has it."""
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    return value if not isinstance(value, str) or len(value.encode()) <= LONGEST else None


def key(row, name, start, end, statistics):
    return row, name, start, end, tuple(sorted((k, str(v)) for k, v in statistics.items()))


def read_by_jax(space):
    events = []
    for plane in ProfileData.from_serialized_xspace(space).planes:
        for line in plane.lines:
            for event in line.events:
                start, end = int(event.start_ns), int(event.start_ns + event.duration_ns)
                statistics = {k: shown(v) for k, v in event.stats if not k.startswith("_")}
                events.append(key(f"{plane.name}: {line.name}", event.name, start, end, statistics))
    return events


def read_by_us(events):
    names = {(e["pid"], e["tid"], e["name"]): e["args"]["name"] for e in events if e["ph"] == "M"}
    found = []
    for event in test.of_plugin(events):
        pid, tid = event["pid"], event["tid"]
        plane, line = names[pid, 0, "process_name"].removeprefix("plugin "), names[pid, tid, "thread_name"]
        start, duration = round(event["ts"] * 1000), round(event["dur"] * 1000)
        statistics = {k: v for k, v in event["args"].items() if k != "long_name"}
        # Events that overlap are in further rows of their line: "python (2)".
        line = line.rsplit(" (", 1)[0] if line.endswith(")") and line[-2].isdigit() else line
        found.append(key(f"{plane}: {line}", event["name"], start, start + duration, statistics))
    return found


def moved(events):
    """The events, counted, with times since the first."""
    first = min(start for _, _, start, _, _ in events)
    return Counter((row, name, start - first, end - first, rest) for row, name, start, end, rest in events)


def main(folder):
    env = test.abi.new_env()
    for python, host in ((0, 1), (0, 3), (1, 2)):
        space = recorded(python, host)
        events, called = test.traced(env, f"{folder}/jax.json", space)
        assert called == test.ALL, called
        want, got = moved(read_by_jax(space)), moved(read_by_us(events))
        assert got == want, (list((want - got).items())[:5], list((got - want).items())[:5])
        assert any("outer" == name for _, name, *_ in want) and want.total() > 100
        print(f"python_tracer_level {python}, host_tracer_level {host}: {want.total()} events, {len(space)} bytes")
    test.abi.ok(test.abi.lib.lxla_env_release(env))


if __name__ == "__main__":
    test.load(*sys.argv[1:4])
    with tempfile.TemporaryDirectory() as folder:
        main(folder)
