"""Threads, processes, exits, files, memory."""

import gc
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np
from common import DEVICES, on, raises, random, same

import lazyxla as lx


def run(text, *arguments, **variables):
    environment = {**os.environ, **variables}
    command = [sys.executable, *arguments, "-c", text]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)


def test_threads_compute_their_own_values():
    found = {}

    def work(i):
        x = lx.full((50,), float(i), device=DEVICES[i % 2])
        for _ in range(40):
            x = lx.sqrt(x * x) + 0.0
            if _ % 10 == 9:
                lx.step()
        found[i] = float(lx.sum(x))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(abs(found[i] - 50 * i) < 1e-3 for i in range(8)), found


def test_a_default_device_belongs_to_its_thread():
    found = []
    with lx.use_device("cpu"):
        thread = threading.Thread(target=lambda: found.append(str(lx.zeros(1).device)))
        thread.start()
        thread.join()
    assert found == ["xla:0"]


def test_a_forked_child_gets_an_exception_and_ends():
    done = run(
        "import os, lazyxla as lx\n"
        "x = lx.ones(3) + 1\nx.tolist()\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    try:\n        x + 1\n    except RuntimeError as error:\n        print('child:', error, flush=True)\n"
        "    os._exit(0)\n"
        "print(os.waitpid(pid, 0)[1], x.tolist())\n"
    )
    assert (
        done.returncode == 0
        and "child:" in done.stdout
        and "'spawn' or 'forkserver'" in done.stdout
        and "0 [2.0, 2.0, 2.0]" in done.stdout
    ), done


def test_a_subinterpreter_is_refused_and_the_process_ends():
    done = run("""
try:
    import _interpreters as interpreters  # Python 3.13
except ImportError:
    import _xxsubinterpreters as interpreters
import sys
text = f"import sys; sys.path[:] = {sys.path}\\ntry: import lazyxla\\nexcept ImportError as e: print(e, flush=True)"
interpreters.run_string(interpreters.create(), text)
import lazyxla as lx
print(lx.ones(3).tolist())
""")
    assert done.returncode == 0 and "lazyxla cannot be imported in a subinterpreter" in done.stdout, done
    assert done.stdout.endswith("[1.0, 1.0, 1.0]\n"), done


def test_a_program_may_end_with_steps_in_flight():
    done = run(
        "import lazyxla as lx\nx = lx.ones((500, 500))\nfor _ in range(20): x = x @ x * 1e-3\nlx.step()\nprint('end')"
    )
    assert done.returncode == 0 and done.stdout == "end\n", done
    done = run("import lazyxla as lx\nx = lx.ones((500, 500)) + 1\nraise KeyError('stop')")
    assert done.returncode == 1 and "KeyError" in done.stderr, done


def test_an_interrupt_ends_the_wait_for_a_long_step():
    # The loop takes minutes. Once its step has begun, SIGINT raises KeyboardInterrupt in the read and in the wait. NumPy
    # is imported before: an interrupted import of NumPy is an ImportError.
    text = """
import os, numpy, lazyxla as lx
start = (lx.asarray(0, dtype=lx.int32), lx.ones(100_000))
count, x = lx.while_loop(lambda c: c[0] < 10_000_000, lambda c: (c[0] + 1, c[1] * 0.5 + 1), start)
lx.step()
for wait in (lambda: float(x[0]), lx.wait, lambda: x.__array__(), lambda: lx.step(wait=True)):
    try:
        print("waits", flush=True)
        wait()
    except KeyboardInterrupt:
        print("interrupted", count.state, flush=True)
os._exit(0)
"""
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    with subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True, env=environment) as child:
        lines = []
        try:
            for line in child.stdout:
                lines.append(line)
                if line == "waits\n":
                    child.send_signal(signal.SIGINT)
        finally:
            child.kill()
    assert lines == ["waits\n", "interrupted ready\n"] * 4 and child.returncode == 0, lines


def test_an_interrupt_ends_the_wait_for_a_compile():
    # XLA compiles the products for minutes; nothing runs before.
    text = """
import os, sys, numpy, lazyxla as lx
def products(x, count=12_000):
    y = x
    for i in range(count):
        y = (y @ x) * (1 / (i + 2))
    return y
x = lx.ones((4, 4))
if sys.argv[1] == "compiled":
    waits = (lambda: lx.compile(products, x), lambda: lx.compile(lambda x: products(x) + 1, x))
elif sys.argv[1] == "jitted":
    jitted = lx.jit(products)
    y = jitted(x)
    waits = (lambda: jitted(x), lambda: float(y[0, 0]), lx.step)
else:
    y = products(x)
    waits = (lambda: float(y[0, 0]), lx.step, lambda: lx.step(wait=True), lambda: y.__array__())
for wait in waits:
    try:
        print("waits", flush=True)
        wait()
    except KeyboardInterrupt:
        print("interrupted", lx.counter("ExecuteComputation"), flush=True)
os._exit(0)
"""
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "LXLA_PENDING_LIMIT_POLICY": "step"}
    environment["LXLA_MAX_PENDING_OPS"] = "1000000"
    for kind, count in (("jitted", 3), ("recorded", 4), ("compiled", 2)):
        command = [sys.executable, "-c", text, kind]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as child:
            lines = []
            try:
                for line in child.stdout:
                    lines.append(line)
                    if line == "waits\n":
                        time.sleep(0.1)  # so that the wait has begun, rather
                        child.send_signal(signal.SIGINT)
            finally:
                child.kill()
        assert lines == ["waits\n", "interrupted 0\n"] * count and child.returncode == 0, lines


def test_a_wait_ends_while_another_thread_goes_on():
    # Work that the thread enqueues after the wait began does not count. Each step takes some milliseconds.
    is_over = threading.Event()

    def work():
        x = lx.ones((300, 300))
        while not is_over.is_set():
            for _ in range(20):
                x = x @ x * 1e-3 + 1.0
            lx.step(x)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        for _ in range(3):
            z = lx.ones(3) + 1
            lx.step(z, wait=True)
            lx.wait()
            assert z.tolist() == [2.0] * 3 and thread.is_alive()
    finally:
        is_over.set()
        thread.join()


def test_cpu_needs_no_plugin_and_its_absence_says_what_to_do():
    text = "import lazyxla as lx\nprint(float(lx.sum(lx.ones(3, device='cpu'))))\nlx.ones(3).tolist()"
    done = run(text, LXLA_PJRT_PLUGIN="/nowhere.so")
    assert done.stdout == "3.0\n" and done.returncode == 1 and "/nowhere.so" in done.stderr, done


def test_no_tensor_is_leaked():
    def work():
        for device in DEVICES:
            x = on(random(1, (4, 4)), device)
            for key in (0, slice(1, 3), (slice(None), [0, 1]), x > 0):
                x[key]
                x[key] = 1.0
            lx.grad(lambda x: lx.sum(lx.tanh(x @ x)))(x)
            lx.vmap(lambda x: x * 2)(x).tolist()
            pulled = lx.vjp(lambda x: x * x, x)[1]
            pulled(x)
            lx.linalg.svd(x)
            for function in (lambda: x + None, lambda: x @ lx.ones(3), lambda: x[9]):
                try:
                    function()
                except (TypeError, ValueError, IndexError):
                    pass
            np.from_dlpack(x)
            lx.from_dlpack(np.ones(3))
        lx.step(wait=True)
        gc.collect()

    work()
    alive = lx.counter("CreateTensor") - lx.counter("DestroyTensor")
    for _ in range(5):
        work()
    assert lx.counter("CreateTensor") - lx.counter("DestroyTensor") == alive


def test_files_keep_names_values_and_metadata():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "a.safetensors")
        for device in DEVICES:
            arrays = {
                "w": on(random(2, (3, 4)), device),
                "n": on(np.int64(7), device),
                "b": lx.ones(2, dtype=lx.bfloat16),
            }
            lx.save(path, arrays, metadata={"step": "3"})
            found = lx.load(path, device=device)
            assert sorted(found) == ["b", "n", "w"] and found["b"].dtype == lx.bfloat16
            same(found["w"], arrays["w"])
            assert int(found["n"]) == 7 and lx.load_metadata(path)["step"] == "3"
        raises(FileNotFoundError, lambda: lx.load(path + "x"), "a.safetensorsx")
        raises(ValueError, lambda: lx.save(folder, arrays))


def test_doctor_and_config_describe_the_package():
    done = subprocess.run([sys.executable, "-m", "lazyxla", "doctor"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "device cpu: ok" in done.stdout and "device xla:0: ok" in done.stdout, done
    done = subprocess.run(
        [sys.executable, "-m", "lazyxla", "config", "--cflags", "--libs"], capture_output=True, text=True, check=True
    )
    with tempfile.TemporaryDirectory() as folder:
        source, program = os.path.join(folder, "a.c"), os.path.join(folder, "a")
        with open(source, "w") as file:
            file.write("#include <lazyxla.h>\n#include <stdio.h>\nint main(void) { puts(lxla_version()); }\n")
        subprocess.run(["cc", source, "-o", program, *done.stdout.split()], check=True)
        assert subprocess.run([program], capture_output=True, text=True).stdout.strip() == lx.__version__


def test_every_function_is_there_by_ctypes():
    import ctypes

    import lazyxla.c as c

    x = on(np.float32([1, 4, 9]), "cpu")
    out = c.lxla_tensor()
    c.lxla_unary(c.constants.UNARY_SQRT, c.handle_of(x), ctypes.byref(out))
    same(c.array_of(out), np.float32([1, 2, 3]))
    device = c.lxla_device()
    c.lxla_device_parse(b"xla:3", device)
    assert (device.kind, device.ordinal) == (c.constants.DEVICE_XLA, 3)
    error = raises(c.Error, lambda: c.lxla_unary(999, c.handle_of(x), ctypes.byref(out)), "INVALID_ARGUMENT", "999")
    assert error.status == c.constants.INVALID_ARGUMENT
    raises(TypeError, lambda: c.lxla_device_parse(b"xla:3"))
    raises(ValueError, lambda: c.array_of(c.lxla_tensor(12345)))
    assert c.lxla_version().decode() == lx.__version__


def test_random_numbers_are_those_of_their_keys():
    for device in DEVICES:
        keys = lx.random.split(lx.random.key(42, device=device), 3)
        same(lx.random.key(42, device=device), np.uint32([0, 42]))
        same(lx.random.key(2**40 + 1, device=device), np.uint32([256, 1]))
        # jax.random.split(jax.random.key(42), 3), jax.random.uniform(jax.random.key(42), (2,)), JAX 0.10.2
        same(keys, np.uint32(json.loads(KEYS)))
        same(lx.random.uniform(lx.random.key(42, device=device), 2), np.float32(json.loads(UNIFORM)))
        x = np.asarray(lx.random.normal(keys[0], (10000,)))
        assert abs(x.mean()) < 0.05 and abs(x.std() - 1) < 0.05
        assert abs(np.asarray(lx.random.bernoulli(keys[1], 0.25, (10000,))).mean() - 0.25) < 0.02
        draws = np.asarray(
            lx.random.categorical(keys[2], lx.log(lx.asarray([0.2, 0.8], device=device)), shape=(10000,))
        )
        assert abs(draws.mean() - 0.8) < 0.02


KEYS = "[[1832780943, 270669613], [64467757, 2916123636], [2465931498, 255383827]]"
UNIFORM = "[0.48870956897735596, 0.6797971725463867]"


def test_the_library_is_not_started_with_options_after_a_mesh():
    done = run(
        "import lazyxla as lx\n"
        "mesh = lx.Mesh({'d': 1})\n"
        "try:\n    lx.initialize(device_count=4)\nexcept RuntimeError as error:\n    print(error)\n"
        "print(lx.shard(lx.ones(2), mesh, 'd').tolist())\n"
    )
    assert "first mesh" in done.stdout and "[1.0, 1.0]" in done.stdout, (done.stdout, done.stderr)


def test_trees_are_saved_by_their_paths_and_read_like_them():
    optimizer = lx.optim.adam(0.1)
    params = {"blocks": [{"w": on(random(31, (2, 3)), "cpu")}, {"w": lx.ones(2, device="cpu")}], "none": None}
    tree = {"params": params, "state": optimizer.init(params), "numpy": np.arange(3), "rate": 0.1, "flag": True}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "tree.safetensors")
        for save in (lx.save, lambda *arguments: lx.save_async(*arguments).wait()):
            save(path, tree)
            names = sorted(lx.load(path))
            assert names[:3] == ["flag", "numpy", "params.blocks.0.w"] and "state.mean.blocks.1.w" in names, names
            found = lx.load(path, like=tree)
            same(found["params"]["blocks"][0]["w"], np.asarray(params["blocks"][0]["w"]))
            same(found["numpy"], np.arange(3))
            assert found["params"]["none"] is None and type(found["state"]) is type(tree["state"])
            assert (found["state"].steps, found["rate"], found["flag"]) == (0, 0.1, True)
            assert str(found["params"]["blocks"][1]["w"].device) == "cpu"
        numbers = {"large": 1e300, "third": 1 / 3, "count": 7, 0: lx.ones(1)}
        lx.save(path, numbers)
        found = lx.load(path, like=numbers)
        assert (found["large"], found["third"], found["count"]) == (1e300, 1 / 3, 7)
        raises(ValueError, lambda: lx.save(path, {"z": 1 / 3 + 1j}), '"z"', "complex128")
        assert lx.load(path, like={"count": 0.0}) == {"count": 7.0}
        raises(ValueError, lambda: lx.load(path, like={"large": 0}), "'large'", "float64[]", "int")
        raises(ValueError, lambda: lx.load(path, like={"count": False}), "'count'", "bool")
        raises(ValueError, lambda: lx.load(path, like={"0": 1.0}), "'0'", "float32[1]")
        raises(TypeError, lambda: lx.load(path, like={"count": "text"}), "'count'", "str")
        lx.save(path, [lx.ones(2), (lx.zeros(1),)])
        assert sorted(lx.load(path)) == ["0", "1.0"]
        raises(ValueError, lambda: lx.load(path, like=[lx.ones(2), lx.ones(1)]), "'1'", "'1.0'")
        raises(ValueError, lambda: lx.load(path, like=[lx.ones(3)]), "float32[2]", "float32[3]")
        raises(ValueError, lambda: lx.load(path, like=[lx.ones(2, dtype=lx.float64)]), "float64[2]")
        raises(ValueError, lambda: lx.save(path, {"a.b": lx.ones(1), "a": {"b": lx.ones(1)}}), "'a.b'")
        raises(TypeError, lambda: lx.save(path, {"a": {"b": "text"}}), "'a.b'", "str")
        raises(TypeError, lambda: lx.save(path, lx.ones(1)), "tree")
        assert sorted(lx.load(path)) == ["0", "1.0"]
