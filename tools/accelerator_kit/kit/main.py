"""The accelerator kit: main.py [--minutes 8] [--out FILE]; README.md beside this folder describes it."""

import argparse
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

import numpy as np
import page
import parts
import plugins
import runner
from runner import Result

KIT = Path(__file__).resolve().parents[1]
LIBRARY = KIT / "python/lazyxla/lib/liblazyxla.so.0"
MOST_BYTES = 2_000_000


class Kit:
    """The run: where things are, what the plugin is, how much time is left, and the results."""

    def __init__(self, minutes, folder):
        self.folder, self.results, self.facts = Path(folder), [], {}
        self.started, self.seconds = time.monotonic(), 60 * minutes
        self.env, self.part, self.deadline, self.plugin = {}, "", self.started, None

    def prepare(self, plugin):
        """Sets the variables of every program that is run."""
        self.plugin = plugin
        work = self.folder
        packages = work / "packages"
        unpack_wheels(packages)
        kept = [each for each in os.environ.get("PYTHONPATH", "").split(":") if each]
        self.env = {
            **os.environ,
            "LXLA_PJRT_PLUGIN": os.path.abspath(plugin["path"]),
            "LXLA_STATE_DIR": str(made(work / "state", 0o700)),
            "LXLA_KIT_FAULT_PLUGIN": str(KIT / "programs/fault_plugin.so"),
            "TMPDIR": str(made(work / "tmp", 0o700)),
            "TF_CPP_MIN_LOG_LEVEL": os.environ.get("TF_CPP_MIN_LOG_LEVEL", "1"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONPATH": ":".join([str(KIT / "python"), *kept, str(packages)]),
        }
        cuda = plugins.cuda_folder(plugin)
        if cuda and "XLA_FLAGS" not in os.environ:
            self.env["XLA_FLAGS"] = f"--xla_gpu_cuda_data_dir={cuda}"

    @property
    def platform(self):
        return self.facts.get("device", {}).get("platform") or plugins.platform_of(self.plugin)

    @property
    def is_dead(self):
        """Whether nothing ran on the plugin so far."""
        return bool(self.results) and not any(each.status == "passed" for each in self.results)

    @property
    def left(self):
        """Seconds that the present part has left."""
        return self.deadline - time.monotonic()

    def add(self, name, status, message="", **more):
        self.results.append(Result(self.part, name, status, message[: runner.MOST_MESSAGE], **more))
        words = f": {message}" if message and status != "passed" else ""
        print(f"  {status:8} {name}{words}"[:200], flush=True)
        return self.results[-1]

    def run(self, command, most, more=None):
        """Runs a command for at most so many seconds, or until the part ends."""
        return runner.run(command, min(most, self.left), {**self.env, **(more or {})}, self.folder)

    def task(self, name, command, most, more=None, check=None):
        """Runs a command as a task. `check(finished)` returns a failure that its status does not tell, or None."""
        if self.left < 1:
            return self.add(name, "skipped", "no time was left for it")
        limit = min(most, self.left)
        finished = self.run(command, limit, more)
        status, message = finished.status, ""
        if status == "timeout" and limit < runner.LEAST_LIMIT:
            status, message = "skipped", f"too little time was left for it: {limit:.0f} s"
        elif status != "passed":
            message = runner.first_message(finished, limit)
        elif check and (message := check(finished) or ""):
            status = "failed"
        tail = finished.output[-runner.MOST_TAIL :] if status != "passed" else ""
        return self.add(
            name, status, message, seconds=round(finished.seconds, 2), data=finished.rows or None, tail=tail
        )


def made(folder, mode):
    folder.mkdir(mode, parents=True)
    return folder


def unpack_wheels(folder):
    """Unpacks the packages that the Python package needs, for this Python."""
    tag = f"cp{sys.version_info.major}{sys.version_info.minor}-"
    for path in sorted((KIT / "wheels").glob("*.whl")):
        if f"-{tag}" in path.name or "-py3-" in path.name:
            with zipfile.ZipFile(path) as wheel:
                wheel.extractall(folder)


def facts_of(kit, found):
    """The facts with which the page begins."""
    return {
        "kit": json.loads((KIT / "kit.json").read_text()),
        "plugin": kit.plugin,
        "plugins": found,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "system": f"{platform.platform()}, glibc {platform.libc_ver()[1]}",
        "processors": os.cpu_count(),
        "accelerators": accelerators(),
    }


def accelerators():
    """Names, memory and driver of NVIDIA's devices, if its driver is installed."""
    command = ["nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"]
    try:
        said = subprocess.run(command, capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return said.stdout.splitlines()[:16] if said.returncode == 0 else []


def end_by_signals():
    """Makes a signal that ends this program also end the programs that it runs: they are in sessions of their own."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: sys.exit(128 + number))


def write(kit, path):
    """Writes all results, with less of the outputs if they are long."""
    document = {**kit.facts, "seconds": round(time.monotonic() - kit.started, 1)}
    document["results"] = [each.as_dict() for each in kit.results]
    text = json.dumps(document, indent=1)
    # Characters that are kept of an output, and of data.
    for most, most_data in ((1000, MOST_BYTES), (200, 100_000), (0, 20_000), (0, 1000)):
        if len(text.encode()) < MOST_BYTES:
            break
        for each in document["results"]:
            each["tail"] = each.get("tail", "")[-most:] if most else ""
            if len(json.dumps(each.get("data"))) > most_data:
                each["data"] = "left out: too long"
        text = json.dumps(document)
    scratch = path.with_name(path.name + ".part")
    scratch.write_text(text + "\n")
    scratch.replace(path)


def run_parts(kit, out):
    """Runs the parts in order. Time that a part does not use passes on to the later ones."""
    total, until = sum(share for _, share, _ in parts.PARTS), 0
    for number, (title, share, function) in enumerate(parts.PARTS, 1):
        until += share
        kit.part, kit.deadline = title, kit.started + kit.seconds * until / total
        print(f"{number}. {title} ({max(kit.left, 0):.0f} s)", flush=True)
        try:
            if kit.is_dead:
                kit.add(title, "skipped", "no program of the first part ran on this plugin")
            else:
                function(kit)
        except Exception as error:  # a fault of the kit itself ends one part
            kit.add("the kit", "failed", f"{type(error).__name__}: {error}")
        write(kit, out)


def parsed(arguments):
    parser = argparse.ArgumentParser(prog="run.sh", description="Tries lazyxla on this machine's accelerator.")
    parser.add_argument("--minutes", type=float, default=8, help="the time to take: 8")
    parser.add_argument("--out", type=Path, default=Path("accelerator.json"), help="the file to write")
    given = parser.parse_args(arguments)
    if not 0.1 <= given.minutes <= 600:
        parser.error(f"--minutes is {given.minutes:g}, want a number from 0.1 to 600")
    given.out = given.out.absolute()
    if not given.out.parent.is_dir() or given.out.is_dir():
        parser.error(f"--out is {given.out}, want a file in a folder that exists")
    return given


def main():
    given = parsed(sys.argv[1:])
    end_by_signals()
    folder = tempfile.mkdtemp(prefix="lazyxla-kit-")
    try:
        kit = Kit(given.minutes, folder)
        try:
            plugin, found = plugins.chosen(LIBRARY)
        except OSError as error:
            print(f"run.sh: {error}", file=sys.stderr)
            return 2
        kit.prepare(plugin)
        kit.facts = facts_of(kit, found)
        print(f"plugin {plugin['path']}", flush=True)
        run_parts(kit, given.out)
        text = page.text(kit)
        kit.facts["page"] = text
        write(kit, given.out)
        print("\n" + text + f"\nSend this file: {given.out}")
        return 1 if any(each.status in ("failed", "crashed", "timeout") for each in kit.results) else 0
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
