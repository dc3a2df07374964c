"""Tests plugins for GPUs, TPUs and other chips on machines without these devices: python accelerators_test.py
/path/to/liblazyxla.so FOLDER

FOLDER has the packages of tools/requirements/accelerators.txt (`make test-accelerators`). lxla_plugin_list has to tell
what each plugin is and why it cannot be used, and to survive all of them. Then each is started in a process of its own,
which shows what the list protects from: one hangs, one ends its process. Where a device is there, only what does not
depend on it is checked."""

import glob
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from ctypes import byref, sizeof
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "abi"))
sys.dont_write_bytecode = True  # leaves no caches beside the sources
import ctypes_test as abi

# Time limit of the list's processes, and of a start here. The loader of libtt writes 11,000 files at its first start;
# libtpu was seen to wait for a TPU for more than 90 seconds.
PROBE_SECONDS, START_SECONDS = 60, 30
# Device files by kind of device. A device is present if one of them exists.
DEVICES = {
    "cuda": "/dev/nvidia[0-9]*",
    "tpu": "/dev/accel*",
    "vfio": "/dev/vfio/[0-9]*",
    "tt": "/dev/tenstorrent*",
    "rocm": "/dev/kfd",
}


def start(library, plugin):
    """In a process of its own: creates a client, and prints the status and the message."""
    abi.load(library)
    options = abi.EnvOptions(struct_size=sizeof(abi.EnvOptions), plugin_path=plugin.encode())
    status = abi.lib.lxla_env_create(byref(options), byref(abi.Env()))
    print("\nstatus", status, abi.lib.lxla_last_error_message().decode(), flush=True)
    os._exit(0)


def started(library, plugin):
    """Returns how a process that creates a client ends, and its last line."""
    command = [sys.executable, __file__, library, "--start", plugin]
    try:
        ended = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=START_SECONDS)
    except subprocess.TimeoutExpired:
        return "hung", ""
    return ended.returncode, (ended.stdout.strip().splitlines() or [""])[-1]


def check_list(plugins, there):
    cuda, tpu, tt, rocm = (
        plugins[name] for name in ("xla_cuda_plugin.so", "libtpu.so", "libtt.so", "xla_rocm_plugin.so")
    )
    assert "sdk.so" not in plugins, "a library that is not a plugin"
    of = lambda plugin: (plugin["found"], plugin["name"], plugin["package"], plugin["api_version"], plugin["platform"])
    assert of(cuda) == ("entry_point", "xla_cuda13", "jax_cuda13_pjrt 0.12.0.1", "0.116", "cuda"), cuda
    assert of(tpu) == ("package", None, "libtpu 0.0.52", "0.117", None), tpu
    assert of(tt) == ("entry_point", "libtt", "jax_tt_plugin 0.1.3", "0.114", None), tt
    assert of(rocm)[:3] == ("entry_point", "xla_rocm7", "jax_rocm7_pjrt 0.12.0"), rocm
    # Loading and initializing these two needs no device.
    assert cuda["error"] is None and tt["error"] is None, (cuda, tt)
    if not there["tpu"] and not there["vfio"]:
        assert f"did not answer within {PROBE_SECONDS} s: it hung in PJRT_Plugin_Initialize" in tpu["error"], tpu
    if not there["rocm"]:
        assert "cannot open shared object file" in rocm["error"] and rocm["api_version"] is None, rocm


def check_starts(library, plugins, there):
    path = {name: plugin["path"] for name, plugin in plugins.items()}
    if not there["cuda"]:
        how, line = started(library, path["xla_cuda_plugin.so"])
        assert (
            how == 0 and line.startswith(f"status {abi.FAILED_PRECONDITION} ") and "No visible GPU devices" in line
        ), (how, line)
        print("cuda without a GPU:", line)
    if not there["rocm"]:
        how, line = started(library, path["xla_rocm_plugin.so"])
        assert how == 0 and line.startswith(f"status {abi.FAILED_PRECONDITION} ") and "cannot open shared" in line, (
            how,
            line,
        )
        print("rocm without its libraries:", line)
    if not there["tt"]:
        how, line = started(library, path["libtt.so"])
        assert how == -signal.SIGABRT, (how, line)
        print("libtt without chips: it aborts the process")
    if not there["tpu"] and not there["vfio"]:
        how, line = started(library, path["libtpu.so"])
        assert how == "hung", (how, line)
        print(f"libtpu without a TPU: no answer in {START_SECONDS} s")


def main():
    if sys.argv[2] == "--start":
        start(sys.argv[1], sys.argv[3])
    library, folder = sys.argv[1], os.path.realpath(sys.argv[2])
    there = {name: bool(glob.glob(pattern)) for name, pattern in DEVICES.items()}
    with tempfile.TemporaryDirectory() as temporary:
        # For what the plugins write.
        os.environ.update(TMPDIR=temporary, LXLA_PLUGIN_DIRS=folder, LXLA_PROBE_TIMEOUT=str(PROBE_SECONDS))
        abi.load(library)
        before = time.monotonic()
        plugins = json.loads(abi.text(abi.lib.lxla_plugin_list))
        taken = time.monotonic() - before
        assert taken < 2 * PROBE_SECONDS, taken
        plugins = {os.path.basename(plugin["path"]): plugin for plugin in plugins if plugin["folder"] == folder}
        for name, plugin in plugins.items():
            print(name, plugin["api_version"], plugin["platform"], plugin["error"])
        check_list(plugins, there)
        check_starts(library, plugins, there)
        # This process is as it was.
        env = abi.new_env()
        x = abi.floats(env, 1, 2)
        assert abi.read(x, "f", 2) == [1, 2]
        abi.release(x, env)
    print(f"accelerators: {len(plugins)} plugins, listed in {taken:.0f} s")


if __name__ == "__main__":
    main()
