"""Meshes of devices, in a process with four of them; what a process with one device does."""

import subprocess
import sys
from pathlib import Path

import numpy as np
from common import raises, same

import lazyxla as lx

CASES = Path(__file__).resolve().parent / "mesh_cases.py"


def test_meshes_of_four_devices():
    done = subprocess.run([sys.executable, CASES], capture_output=True, text=True, timeout=600)
    wanted = [line[4:-3] for line in CASES.read_text().splitlines() if line.startswith("def case_")]
    assert done.returncode == 0 and done.stdout.split() == wanted, done.stdout + done.stderr


def test_a_mesh_of_one_device_runs_the_same_program():
    mesh = lx.Mesh({"data": 1, "model": 1})
    x = lx.shard(np.float32([[1, 2], [3, 4]]), mesh, "data,model")
    total = lx.shard_map(lambda x: lx.collectives.all_reduce(x, "data"), mesh, "data,model", "-,model")
    same(total(x) + x, np.float32([[2, 4], [6, 8]]))


def test_options_come_before_the_first_array():
    lx.ones(3)
    raises(RuntimeError, lambda: lx.initialize(device_count=4), "before the first array")
    text = "import lazyxla as lx\nlx.initialize(%s)\nprint(lx.ones(2).tolist(), lx.asarray([1], device='cpu').tolist())"
    for options, wanted in (
        ("", "[1.0, 1.0]"),
        ("device_count=2, plugin_options={}", "[1.0, 1.0]"),
        ("matmul_precision='bf16_bf16_f32_x3'", "[1.0, 1.0]"),
        ("matmul_precision='HIGH'", "matmul_precision; want one of highest, high, default"),
        ("threads=1", "[1.0, 1.0]"),
        ("threads=-1", "options.threads: -1 given; want 0 or more"),
        ("device_count=-1", "ValueError"),
        ("plugin='/nowhere.so'", "/nowhere.so"),
        ("plugin_options={'cpu_device_count': 'two'}", "cpu_device_count"),
    ):
        done = subprocess.run([sys.executable, "-c", text % options], capture_output=True, text=True, timeout=120)
        assert wanted in done.stdout + done.stderr, (options, done)
        assert (done.returncode == 0) == (wanted == "[1.0, 1.0]"), (options, done)
