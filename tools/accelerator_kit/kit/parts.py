"""The parts of a run, in order of worth, and the share of the time that each has."""

import sys
from pathlib import Path

import compared
import runner
import turns
from plugins import PROCESSOR

KIT = Path(__file__).resolve().parents[1]
PROGRAMS, DATA, HERE = KIT / "programs", KIT / "examples/data", KIT / "kit"
LIBRARY = KIT / "python/lazyxla/lib/liblazyxla.so.0"

# Programs of the C suite; of some, only these tests.
C_SAMPLE = {
    "test_donation": (),
    "test_save": (),
    "test_sync": (),
    "test_reads": (),
    "test_failure": (
        "f1_a_failed_compile_leaves_everything_pending",
        "f2_a_failed_execute_leaves_everything_pending",
        "f3_a_later_failure_reaches_whoever_reads_and_nobody_else",
        "f3_a_step_that_waits_reports_it",
        "f4_exhausted_memory_says_what_was_asked_and_what_takes_it",
        "failed_transfers_make_nothing_and_lose_nothing",
    ),
    "test_key": (),
    "test_computation": (),
    "test_derivatives": (),
    "test_threads": (),
    "test_loops": (),
    "test_memory_limits": ("h6_values_of_many_shapes_are_right_after_others_were_removed",),
}
MOST_FAILURES = 8  # of a program, before its other tests are left out
GRADIENTS = ("tanh", "divide", "matmul", "logsumexp", "gather", "cumulative sum", "layer_norm", "reduce_window")


def python(name, *arguments):
    return [sys.executable, "-B", HERE / name, *arguments]


def start(kit):
    limit = min(120, kit.left)
    found = kit.run(python("devices.py", "facts"), limit)
    message = "" if found.status == "passed" else runner.first_message(found, limit)
    kit.facts["device"] = found.rows[-1] if found.rows else {"error": found.output[-400:] or message}
    kit.add(
        "devices", found.status, message, seconds=round(found.seconds, 2), tail=found.output[-1000:] if message else ""
    )
    kit.task("doctor", [sys.executable, "-B", "-m", "lazyxla", "doctor"], 120)
    right = lambda finished: None if "198 198 198" in finished.output else f"it printed {finished.output[:200]!r}"
    kit.task("first program", [PROGRAMS / "first"], 60, check=right)
    kit.task("demo", [PROGRAMS / "train_digits", DATA / "digits.csv"], 120)


def c_suite(kit):
    for name, tests in C_SAMPLE.items():
        c_program(kit, name, tests)
    kernels(kit)
    kit.task("exports", [sys.executable, "-B", KIT / "c_tests/programs/export_test.py", LIBRARY], 60)
    kit.task("Python package", [sys.executable, "-B", KIT / "python/tests/run.py", "jit", "scan"], 60)


def c_program(kit, name, tests):
    """Runs the tests of a program in one process, and those that did not pass one by one: each test has a client, and
    the first one of a process may have taken the memory of the device."""
    if kit.left < 2:
        kit.add(name, "skipped", "no time was left for it")
        return
    finished = kit.run([PROGRAMS / name, *tests], 60)
    if finished.status == "passed":
        kit.add(name, "passed", seconds=round(finished.seconds, 2), data=finished.output.splitlines()[-1])
        return
    if finished.code is None and kit.left < 2:
        if finished.seconds < runner.LEAST_LIMIT:
            kit.add(name, "skipped", f"too little time was left for it: {finished.seconds:.0f} s")
        else:
            kit.add(name, "timeout", runner.first_message(finished, finished.seconds))
        return
    tests = list(tests) or kit.run([PROGRAMS / name, "--list"], 10).output.split()
    message = runner.first_message(finished, 60)
    begun = [test for test in tests if test in finished.output.split()]
    left = tests[max(len(begun) - 1, 0) :]
    if not tests:
        kit.add(name, "failed", message)
    elif len(left) < len(tests):
        words = f"{len(tests) - len(left)} of {len(tests)} tests in one process, the others one by one: {message}"
        kit.add(name, "passed", data=words)
    failures = 0
    for i, test in enumerate(left):
        if failures == MOST_FAILURES:
            kit.add(f"{name}, the rest", "skipped", f"{len(left) - i} tests, after {failures} failures")
            return
        failures += kit.task(f"{name} {test}", [PROGRAMS / name, test], 30).status in ("failed", "crashed", "timeout")
    if not failures and finished.status == "crashed":  # a lack of memory is an error, and ends no process
        kit.add(f"{name} in one process", "crashed", message, tail=finished.output[-runner.MOST_TAIL :])


def kernels(kit):
    """Kernels compute on plugins for processors, and are refused by all others when they are recorded."""
    command = [PROGRAMS / "test_kernels"]
    if kit.platform == PROCESSOR:
        kit.task("kernels compute", command, 60)
        return
    if kit.left < 2:
        kit.add("kernels are refused", "skipped", "no time was left for it")
        return
    finished = kit.run(command, 60)
    is_refused = finished.code not in (None, 0) and finished.code > 0 and "UNIMPLEMENTED" in finished.output
    message = "" if is_refused else f"want UNIMPLEMENTED: {finished.output[-200:]}"
    kit.add("kernels are refused", "passed" if is_refused else "failed", message)


def operations(kit):
    # A fifth of the time for gradients.
    end, kit.deadline = kit.deadline, kit.deadline - kit.left / 5
    compared.run(kit)
    kit.deadline = end
    for name in GRADIENTS:
        script = KIT / "c_tests/operations/derivatives_test.py"
        kit.task(f"gradients: {name}", [sys.executable, "-B", script, LIBRARY, "--lazily", name], 40)


def oracle(kit):
    for test in ("e6_longer_float_programs_stay_within_an_error_bound", "e6_native_and_lazy_agree_on_the_plugin"):
        command = [PROGRAMS / "oracle", test, "--exact", "--nocapture", "--test-threads", "1"]
        ran = lambda finished: None if "1 passed" in finished.output else "no test ran"
        more = {"LXLA_ORACLE_PLUGIN_PROGRAMS": "100", "LXLA_ORACLE_LAST": str(kit.folder / "last program")}
        kit.task(f"oracle: {test}, 100 programs", command, kit.left / (2 if "longer" in test else 1), more, ran)


def linear_algebra(kit):
    # Programs that call no functions of the process, as on every device but the processor.
    more = {"LXLA_HOST_CALLS": "0"}
    for name in ("cholesky", "solve", "qr", "eigh", "svd", "inverse"):
        kit.task(f"{name} by a portable program", python("linear.py", name), kit.left / 2, more)


def speed(kit):
    turns.run(kit)
    kit.task("host memory to the device and back", python("memory.py", "bandwidth"), 60)
    for name, words in {
        "recording": ["bench_record"],
        "transformer of benches": ["bench_transformer", "20"],
        "reads": ["bench_reads"],
    }.items():
        task_with_output(kit, name, [PROGRAMS / words[0], *words[1:]])
    words = "--layers 2 --width 64 --context 64 --steps 100 --every 50 --characters 40 --bound 2.6"
    text = DATA / "genesis_exodus.txt"
    task_with_output(kit, "gpt", [PROGRAMS / "gpt", text, *words.split(), "--save", kit.folder / "gpt.safetensors"])


def task_with_output(kit, name, command):
    """A task whose output, a table, is part of the file."""
    finished = kit.task(name, command, 60, check=lambda finished: setattr(kit, "output", finished.output))
    if finished.status == "passed":
        finished.data = kit.output[-3000:].splitlines()


def memory(kit):
    for name in ("donation", "flat", "exhausted"):
        kit.task(f"memory: {name}", python("memory.py", name, kit.platform), 60)


def several_devices(kit):
    """On a processor's plugin, two devices of one processor."""
    count = kit.facts["device"].get("count", 1)
    if kit.platform != PROCESSOR and count < 2:
        kit.add("meshes", "skipped", f"the plugin has {count} device")
        return
    devices = str(max(2, 1 << (count.bit_length() - 1)))
    for name in ("collectives", "sharded"):
        kit.task(f"mesh of {devices}: {name}", python("devices.py", name, devices, kit.platform), 60)
    kit.task("demo on a mesh", [PROGRAMS / "train_digits", DATA / "digits.csv", "--mesh", f"data={devices}"], 90)


PARTS = [
    ("start", 12, start),
    ("C suite", 14, c_suite),
    ("operations", 42, operations),
    ("oracle", 8, oracle),
    ("linear algebra", 9, linear_algebra),
    ("speed", 17, speed),
    ("memory", 5, memory),
    ("several devices", 5, several_devices),
]
