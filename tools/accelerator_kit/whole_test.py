"""Runs the whole accelerator kit: whole_test.py KIT --jax PYTHON [--minutes 8] [--debian bookworm] PLUGIN ...

From a folder with spaces: beside JAX on the first plugin; on each plugin in a clean Debian, or where none can be made,
on the others by a Python that has NumPy alone; on a plugin that crashes in the middle, and on a file of another kind.
Their results are asserted."""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "kit")]
import clean_root
import page

PARTS = ["start", "C suite", "operations", "oracle", "linear algebra", "speed", "memory", "several devices"]
MOST_BYTES = 2_000_000


class Whole:
    """Runs of one kit, whose results lie in a folder."""

    def __init__(self, kit, folder):
        self.kit, self.folder, self.number = kit, folder, 0

    def run(self, python, plugin, minutes, **more):
        """Runs the kit, and returns its status, what its file says, and the page."""
        self.number += 1
        out = self.folder / f"out {self.number}.json"
        env = {"PYTHON": str(python), "LXLA_PJRT_PLUGIN": str(plugin), **more}
        start = time.monotonic()
        done = self.called([str(self.kit / "run.sh"), "--minutes", str(minutes), "--out", str(out)], env)
        seconds, out = time.monotonic() - start, self.outside(out)
        assert seconds < 60 * minutes + 60, f"{seconds:.0f} s, of {minutes} minutes"
        assert out.exists(), done.stdout + done.stderr
        assert out.stat().st_size < MOST_BYTES, f"{out.stat().st_size} bytes"
        found = json.loads(out.read_text())
        print(
            done.stdout[-3000:], page.row(found), f"{seconds:.0f} s, {out.stat().st_size} bytes", sep="\n", flush=True
        )
        assert list(dict.fromkeys(each["part"] for each in found["results"])) == PARTS, found["results"]
        assert found["page"] in done.stdout, done.stdout
        return done.returncode, found

    def called(self, command, env):
        known = {key: value for key, value in os.environ.items() if not key.startswith("LXLA_")}
        return subprocess.run(command, env=known | env, capture_output=True, text=True, cwd=self.folder)

    def outside(self, path):
        return path


class InCleanRoot(Whole):
    """Runs in a clean Debian, by its Python. The kit and the plugins are root's."""

    def __init__(self, root, kit):
        self.root, inside = root, "/opt/a kit with spaces"
        super().__init__(Path(inside), Path(clean_root.HOME))
        shutil.copytree(kit, root.outside(inside))
        print(root.check(inside, "/opt"), flush=True)

    def with_plugin(self, path):
        """Copies a plugin into the root, and returns its path there."""
        to = f"/opt/plugins/{path.parent.name}/{path.name}"
        self.outside(to).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, self.outside(to))
        return to

    def called(self, command, env):
        return self.root.run(command, env)

    def outside(self, path):
        return self.root.outside(path)

    def check_written(self):
        """Asserts that only the files of the results are left."""
        want = [f"{clean_root.HOME}/out {i + 1}.json".lstrip("/") for i in range(self.number)]
        assert self.root.written() == sorted(want), self.root.written()


def in_clean_root(kit, release, plugins, minutes):
    with tempfile.TemporaryDirectory(prefix="kit-root-") as name:
        os.chmod(name, 0o755)  # the user of apt reads it
        whole = InCleanRoot(clean_root.CleanRoot(Path(name) / "root", release), kit)
        run_in_clean_root(whole, release, plugins, minutes)


def run_in_clean_root(whole, release, plugins, minutes):
    inside = [whole.with_plugin(path) for path in plugins]
    for plugin in inside:
        print(f"=== {plugin} in a clean Debian {release}", flush=True)
        check_passed(whole.run("python3", plugin, minutes)[1], False)
    print(f"=== a plugin that crashes, in a clean Debian {release}", flush=True)
    crash_in_the_middle(whole, "python3", inside[0], minutes)
    whole.check_written()


def named(found, name):
    (one,) = [each for each in found["results"] if each["name"] == name]
    return one


def check_passed(found, python_has_jax):
    """The results of a plugin on which everything passes."""
    bad = [each for each in found["results"] if each["status"] in ("failed", "crashed", "timeout")]
    assert not bad, bad
    assert found["device"]["platform"] == "cpu" and found["device"]["count"] == 1, found["device"]
    for name in ("doctor", "first program", "demo", "test_donation", "memory: exhausted", "mesh of 2: sharded"):
        assert named(found, name)["status"] == "passed", named(found, name)
    (operations,) = [each for each in found["results"] if each["name"].endswith("operations agree with NumPy")]
    agree, _, total, *_ = operations["name"].split()
    assert int(total) > 300 and int(agree) > 100, operations["name"]
    errors = [off["f32"] for off in operations["data"].values() if "f32" in off]
    assert len(operations["data"]) == int(agree) and len(errors) > 80, operations["data"]
    assert 0 < max(errors) < 5000, operations["data"]  # gelu_tanh: 1700
    assert sum(each["name"].startswith("oracle") for each in found["results"]) == 2, found["results"]
    digits = named(found, "speed: digits")["data"]
    assert 0 < digits["lazyxla"]["step_us"] < 1e6, digits
    assert ("jax" in digits) == python_has_jax, digits
    assert named(found, "memory: donation")["data"][0]["donated"] >= 10


def check_crashes(status, found):
    """Some programs crash, and all parts are tried."""
    assert status == 1, status
    crashed = [each for each in found["results"] if each["status"] == "crashed"]
    passed = [each for each in found["results"] if each["status"] == "passed"]
    assert any("SIGSEGV" in each["message"] for each in crashed), crashed
    assert crashed and passed, found["page"]
    turns = [each["message"] for each in found["results"] if re.fullmatch("speed: .* of lazyxla", each["name"])]
    assert any("ended by SIGSEGV" in message for message in turns), found["page"]
    assert "SIGSEGV" in found["page"], found["page"]


def crash_in_the_middle(whole, python, plugin, minutes):
    faulty = {"LXLA_FAULT_REAL_PLUGIN": str(plugin), "LXLA_FAULT_CRASH_AFTER": "30"}
    check_crashes(*whole.run(python, whole.kit / "programs/fault_plugin.so", min(minutes, 2.5), **faulty))


def numpy_alone(folder):
    """A Python with NumPy, and nothing else."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    python = folder / "bin/python"
    to = subprocess.run([python, "-c", "import site; print(site.getsitepackages()[0])"], capture_output=True, text=True)
    import numpy

    origin = Path(numpy.__file__).parents[1]
    for name in ("numpy", "numpy.libs"):
        shutil.copytree(origin / name, Path(to.stdout.strip()) / name)
    return python


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kit", type=Path)
    parser.add_argument("plugins", nargs="+", type=Path)
    parser.add_argument("--jax", type=Path)
    parser.add_argument("--minutes", type=float, default=8)
    parser.add_argument("--debian", default="bookworm")
    given = parser.parse_args()
    plugins = [path.resolve() for path in given.plugins]
    with tempfile.TemporaryDirectory(prefix="kit ") as name:
        folder = Path(name)
        kit = folder / "a kit with spaces"
        shutil.copytree(given.kit, kit)
        whole, alone = Whole(kit, folder), numpy_alone(folder / "numpy alone")
        print("=== a plugin that crashes", flush=True)
        crash_in_the_middle(whole, alone, plugins[0], given.minutes)
        print("=== a text as a plugin", flush=True)
        status, found = whole.run(alone, kit / "README.md", 1)
        assert status == 1 and "error" in found["device"], found["page"]
        later = {each["status"] for each in found["results"] if each["part"] != "start"}
        assert later == {"skipped"} and "no device: " in found["page"], found["page"]
        reason = clean_root.missing()
        for plugin in plugins[:1] if given.jax and not reason else plugins:
            python = Path(given.jax).absolute() if given.jax and plugin == plugins[0] else alone
            print(f"=== {plugin.name} by {python}", flush=True)
            check_passed(whole.run(python, plugin, given.minutes)[1], python != alone)
        if reason:
            print(f"=== skipped: a clean Debian: {reason}", flush=True)
        else:
            in_clean_root(given.kit, given.debian, plugins, given.minutes)
    print("the kit passed")


if __name__ == "__main__":
    main()
