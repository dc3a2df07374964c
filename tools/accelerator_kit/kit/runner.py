"""Runs a program with a limit of time, so that a failure, a hang or a crash ends nothing else."""

import json
import os
import signal
import subprocess
import tempfile
import time
from dataclasses import asdict, dataclass, field

MOST_MESSAGE, MOST_TAIL = 400, 3000  # characters that are kept of a message, and of the end of an output
# A program that was stopped after fewer seconds may have needed more: it is not said to hang.
LEAST_LIMIT = 20


@dataclass
class Result:
    """The result of a task: `status` is passed, failed, crashed, timeout or skipped."""

    part: str
    name: str
    status: str
    message: str = ""
    seconds: float = 0.0
    data: object = None
    tail: str = ""

    def as_dict(self):
        return {key: value for key, value in asdict(self).items() if value not in ("", None)}


@dataclass
class Finished:
    """How a process ended: `code` as subprocess has it, or None if it was stopped at its limit."""

    code: int | None
    seconds: float
    output: str
    rows: list = field(default_factory=list)

    @property
    def status(self):
        if self.code is None:
            return "timeout"
        return "passed" if self.code == 0 else "crashed" if self.code < 0 else "failed"


def stop(process):
    """Kills a process and those that it started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def ends_of(file, most=200_000):
    """Returns the text of a file, without the middle of a long one."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    if size <= 2 * most:
        return file.read().decode(errors="replace")
    first = file.read(most)
    file.seek(size - most)
    return (first + b"\n[...]\n" + file.read()).decode(errors="replace")


def run(command, seconds, env, folder):
    """Runs a command in a folder for at most so many seconds. `rows` are the rows that it wrote to LXLA_KIT_ROWS."""
    started = time.monotonic()
    with tempfile.TemporaryFile(dir=folder) as output, tempfile.NamedTemporaryFile(dir=folder) as rows:
        process = subprocess.Popen(
            [str(word) for word in command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**env, "LXLA_KIT_ROWS": rows.name},
            cwd=folder,
            start_new_session=True,
        )
        try:
            code = process.wait(max(seconds, 0.1))
        except subprocess.TimeoutExpired:
            code = None
        finally:
            stop(process)
        return Finished(code, time.monotonic() - started, ends_of(output), rows_of(rows.name))


def rows_of(path):
    """Returns the rows of a file of JSON, one in each line. The last line may be cut where a process crashed."""
    found = []
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            try:
                found.append(json.loads(line))
            except ValueError:
                continue
    return found


def write_row(row):
    """Adds a row to the file LXLA_KIT_ROWS: for the programs that `run` starts."""
    with open(os.environ["LXLA_KIT_ROWS"], "a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")


def first_message(finished, seconds):
    """Returns why a process did not pass, in a line or a few."""
    lines = [line.strip() for line in finished.output.splitlines() if line.strip()]
    if finished.code is None:
        last = f"; its last line: {lines[-1]}" if lines else ""
        return f"stopped after {seconds:.0f} s{last}"[:MOST_MESSAGE]
    marks = ("no XLA device", "check failed", "returned ", "FAIL", "Error", "panicked", "error:", "WRONG")
    chosen = next((i for i, line in enumerate(lines) if any(mark in line for mark in marks)), None)
    if chosen is None or "Traceback" in finished.output:
        words = lines[-1] if lines else "no output"
    else:
        words = " ".join(lines[chosen : chosen + 2])
    if finished.code < 0:
        return f"ended by {end_of(finished.code)}: {lines[-1] if lines else 'no output'}"[:MOST_MESSAGE]
    return words[:MOST_MESSAGE]


def end_of(code):
    """Names the signal or the status by which a process ended."""
    if code >= 0:
        return f"status {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"
