"""Training steps of lazyxla and of JAX in turns: two processes on the same plugin, of which one works at a time."""

import importlib.util
import json
import os
import selectors
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import plugins
import runner
from steps import STEPS

HERE = Path(__file__).resolve().parent
ROUNDS, BLOCK_SECONDS, MOST_BLOCK, MOST_STARTS = 5, 0.3, 200, 4


class Ended(Exception):
    """A process that ended, or did not answer in time."""


class Worker:
    """A process of steps.py."""

    def __init__(self, kit, library, precision, env):
        self.name = library if precision == "highest" else f"{library} at {precision}"
        self.output = tempfile.TemporaryFile(dir=kit.folder)
        read_commands, self.commands = os.pipe()
        self.answers, write_answers = os.pipe()
        words = [library, precision, str(read_commands), str(write_answers)]
        self.process = subprocess.Popen(
            [sys.executable, "-B", str(HERE / "steps.py"), *words],
            stdin=subprocess.DEVNULL,
            stdout=self.output,
            stderr=subprocess.STDOUT,
            pass_fds=(read_commands, write_answers),
            env={**kit.env, **env},
            cwd=kit.folder,
            start_new_session=True,
        )
        os.close(read_commands), os.close(write_answers)
        self.pending = b""

    def answer(self, seconds):
        """Returns the next answer. Raises Ended with the reason why there is none."""
        end = time.monotonic() + max(seconds, 0.1)
        with selectors.DefaultSelector() as selector:
            selector.register(self.answers, selectors.EVENT_READ)
            while b"\n" not in self.pending:
                if not selector.select(max(end - time.monotonic(), 0)):
                    raise Ended(f"{self.name} did not answer in {seconds:.0f} s")
                if not (read := os.read(self.answers, 65536)):
                    code, words = self.process.wait(), runner.ends_of(self.output).strip().splitlines()
                    how = runner.end_of(code)
                    raise Ended(f"{self.name} ended by {how}: {words[-1] if words else 'no output'}")
                self.pending += read
        line, _, self.pending = self.pending.partition(b"\n")
        return json.loads(line)

    def ask(self, seconds, *command):
        try:
            os.write(self.commands, json.dumps(command).encode() + b"\n")
        except BrokenPipeError:
            pass
        return self.answer(seconds)

    def close(self):
        runner.stop(self.process)
        os.close(self.commands), os.close(self.answers)
        self.output.close()


def peers(kit):
    """The variables with which JAX runs on the plugin, or None if this Python has no JAX."""
    if importlib.util.find_spec("jax") is None or importlib.util.find_spec("jaxlib") is None:
        return None
    more = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
    of_jax = kit.plugin.get("found") == "entry_point" or {"jax_plugins", "libtpu"} & {*Path(kit.plugin["path"]).parts}
    if of_jax and kit.platform != plugins.PROCESSOR:
        return more  # JAX finds its own plugins
    config = kit.folder / "jax plugin.json"
    options = {"cpu_device_count": 1} if kit.platform == plugins.PROCESSOR else {}
    config.write_text(json.dumps({"library_path": kit.env["LXLA_PJRT_PLUGIN"], "create_option": options}))
    return {**more, "PJRT_NAMES_AND_LIBRARY_PATHS": f"kit:{config}", "JAX_PLATFORMS": "kit"}


class Workers:
    """The processes that take turns. One that ended is started again for the next step, up to MOST_STARTS times."""

    def __init__(self, kit, kinds):
        self.kit, self.left = kit, {kind: MOST_STARTS for kind in kinds}
        self.running, self.env = {}, kinds

    def started(self):
        for (library, precision), left in self.left.items():
            if (library, precision) in self.running or not left or self.kit.left < 3:
                continue
            self.left[library, precision] -= 1
            worker = Worker(self.kit, library, precision, self.env[library, precision])
            self.running[library, precision] = worker
            try:
                self.kit.facts.setdefault("peers", {})[worker.name] = worker.answer(min(60, self.kit.left))
            except Ended as error:
                self.drop(worker, f"start of {worker.name}", error)
        return list(self.running.values())

    def drop(self, worker, name, error):
        self.running = {kind: each for kind, each in self.running.items() if each is not worker}
        worker.close()
        ended(self.kit, name, error)

    def close(self):
        for worker in self.running.values():
            worker.close()


def run(kit):
    """Half of the time of the part."""
    end, kit.deadline = kit.deadline, kit.deadline - kit.left / 2
    kinds = {("lazyxla", "highest"): {}}
    if (env := peers(kit)) is None:
        kit.add("JAX beside lazyxla", "skipped", "this Python has no JAX")
    else:
        kinds |= {("jax", "highest"): env, ("jax", "default"): env}
    workers = Workers(kit, kinds)
    try:
        for name in STEPS:
            measure(kit, workers, name, "step", 0)
        size = 1024 if kit.platform == plugins.PROCESSOR else 4096
        measure(kit, workers, "product of f32", "product", size)
        # Last: the library's process multiplies at this precision from here on.
        measure(kit, workers, "product of f32 at the plugin's precision", "product at default", size)
    finally:
        workers.close()
        kit.deadline = end


def ended(kit, name, error):
    """A process that did not answer has failed, unless the time of the part is over."""
    if kit.left < 1:
        kit.add(name, "skipped", "too little time was left for it")
    else:
        kit.add(name, "failed", str(error))


def measure(kit, workers, name, kind, size):
    """Blocks of all workers in turns. JAX has a process for each precision; the library's changes its own."""
    is_for = lambda worker: worker.name == "lazyxla" or ("default" in worker.name) == ("default" in kind)
    taking_part = [each for each in workers.started() if is_for(each)]
    if kit.left < 3 or not any(each.name == "lazyxla" for each in taking_part):
        why = "no time was left for it" if kit.left < 3 else "lazyxla does not run"
        kit.add(f"speed: {name}", "skipped", why)
        return
    start, rows, blocks = time.monotonic(), {}, {}

    def asked(worker, seconds, *command):
        """The answer of a worker, or None if it ended: then it takes no further part."""
        try:
            return worker.ask(seconds, *command)
        except Ended as error:
            taking_part.remove(worker)
            workers.drop(worker, f"speed: {name} of {worker.name}", error)

    for worker in list(taking_part):
        if (row := asked(worker, min(90, kit.left), kind, name, size)) is None:
            continue
        rows[worker.name] = row
        if one := asked(worker, kit.left, "block", name, 2):
            blocks[worker] = max(2, min(MOST_BLOCK, int(1e6 * BLOCK_SECONDS / one["step_us"])))
    found = {worker.name: [] for worker in taking_part}
    for _ in range(ROUNDS):
        for worker in list(taking_part):
            if times := asked(worker, kit.left, "block", name, blocks[worker]):
                found[worker.name].append(times)
    for each, times in found.items():
        for key in times[0] if times else ():
            rows[each][key] = round(statistics.median(row[key] for row in times), 3)
    check(kit, name, rows, time.monotonic() - start)


def check(kit, name, rows, seconds):
    """Both libraries train alike, or the times compare nothing."""
    losses = [row["loss"] for row in rows.values() if "loss" in row]
    ours = rows.get("lazyxla")
    if not ours or "step_us" not in ours:
        return
    peer = rows.get("jax") or rows.get("jax at default")
    if peer and "step_us" in peer:
        rows["ratio to JAX"] = round(ours["step_us"] / peer["step_us"], 3)
    alike = max(losses, default=0) - min(losses, default=0) <= 1e-3 * (1 + abs(max(losses, default=0)))
    kit.add(
        f"speed: {name}",
        "passed" if alike else "failed",
        "" if alike else f"the losses of the first step are {losses}",
        seconds=round(seconds, 2),
        data=rows,
    )
