"""The parts of the accelerator kit that need no plugin: python unit_test.py. Programs that hang, crash and lie, the
choice of a plugin, the page, the limit of the file, and arguments."""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "kit")]
import build
import compared
import main
import page
import parts
import plugins
import runner
import turns
from runner import Result


def ran(folder, program, seconds=20):
    return runner.run([sys.executable, "-c", program], seconds, dict(os.environ), folder)


def test_a_program_that_passes_writes_rows(folder):
    finished = ran(
        folder, f"import sys; sys.path.insert(0, {str(HERE / 'kit')!r}); import runner; runner.write_row([1])"
    )
    assert (finished.status, finished.rows) == ("passed", [[1]]), finished


def test_a_program_that_fails_says_why(folder):
    finished = ran(folder, "raise ValueError('no such device')")
    assert finished.status == "failed", finished
    assert runner.first_message(finished, 1) == "ValueError: no such device"
    finished = ran(folder, "print('a.c:7: check failed: x == 1'); print('more'); raise SystemExit(1)")
    assert runner.first_message(finished, 1) == "a.c:7: check failed: x == 1 more"


def test_a_program_that_crashes_names_its_signal_and_keeps_its_rows(folder):
    program = "import os; open(os.environ['LXLA_KIT_ROWS'], 'w').write('{\"n\": 1}\\n{\"n\"'); os.abort()"
    finished = ran(folder, program)
    assert (finished.status, finished.rows) == ("crashed", [{"n": 1}]), finished
    assert "SIGABRT" in runner.first_message(finished, 1)


def test_a_program_that_hangs_is_stopped_with_its_children(folder):
    note = folder / "child"
    child = f"import os, time; open({str(note)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    program = f"import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', {child!r}]); time.sleep(600)"
    finished = ran(folder, program, 3)
    assert finished.status == "timeout" and finished.seconds < 60, finished
    assert "stopped after 3 s" in runner.first_message(finished, 3)
    assert is_gone(int(note.read_text())), "the child runs on"


def is_gone(number):
    """Whether a process ends within some seconds."""
    for _ in range(200):
        state = Path(f"/proc/{number}/stat")
        if not state.exists() or state.read_text().rpartition(") ")[2][0] == "Z":
            return True
        time.sleep(0.05)
    return False


def test_a_signal_ends_what_runs(folder):
    note = folder / "child"
    child = f"import os, time; open({str(note)!r}, 'w').write(str(os.getpid()) + '.'); time.sleep(600)"
    program = f"""
import os, sys
sys.path.insert(0, {str(HERE / "kit")!r})
import main, runner
main.end_by_signals()
runner.run([sys.executable, "-c", {child!r}], 600, dict(os.environ), {str(folder)!r})
"""
    process = subprocess.Popen([sys.executable, "-c", program])
    while not note.exists() or not note.read_text().endswith("."):
        time.sleep(0.05)
    process.terminate()
    assert process.wait(60) == 128 + 15
    assert is_gone(int(note.read_text()[:-1])), "the program that it ran runs on"


def test_a_plugin_that_is_not_there_is_refused(folder):
    env = {**os.environ, "LXLA_PJRT_PLUGIN": str(folder / "none.so")}
    command = [sys.executable, str(HERE / "kit/main.py"), "--out", str(folder / "out")]
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    assert done.returncode == 2 and "none.so', want the file of a plugin" in done.stderr, done


def test_a_long_output_keeps_its_ends(folder):
    finished = ran(folder, "print('first'); print('x' * 10**6); print('last')")
    assert len(finished.output) < 500_000 and finished.output.startswith("first") and "last" in finished.output


def test_accelerators_are_chosen_before_processors(_):
    cpu = {"path": "/a/pjrt_cpu.so", "platform": None, "error": None}
    cuda = {"path": "/b/xla_cuda_plugin.so", "platform": "cuda", "error": None}
    broken = {"path": "/c/libtpu.so", "platform": None, "error": "no answer in 10 s"}
    assert plugins.ordered([broken, cpu, cuda]) == [cuda, cpu]
    assert [plugins.platform_of(each) for each in (cpu, cuda, broken)] == ["cpu", "cuda", "tpu"]


def test_compiler_files_of_cuda_are_found_beside_the_plugin(folder):
    plugin = {"path": str(folder / "jax_plugins/xla_cuda13/xla_cuda_plugin.so"), "platform": "cuda"}
    assert plugins.cuda_folder(plugin) is None
    (folder / "nvidia/cu13/nvvm/libdevice").mkdir(parents=True)
    assert plugins.cuda_folder(plugin) == folder / "nvidia/cu13"
    assert plugins.cuda_folder({**plugin, "platform": "rocm"}) is None


def kit_with(results, **facts):
    known = {
        "kit": {"version": "1.2.3", "commit": "abc"},
        "plugin": {"path": "/p.so", "api_version": "0.1"},
        "device": {"platform": "cuda", "count": 2, "memory": {"bytes_limit": 2**34}},
        **{"system": "Linux", "processors": 4, "python": "3.12", "numpy": "2"},
    }
    return SimpleNamespace(results=results, facts={**known, **facts}, started=time.monotonic())


def test_the_page_counts_and_names_what_failed_and_what_is_slower(_):
    data = lambda ours, peer: {"lazyxla": {"step_us": ours}, "jax": {"step_us": peer}, "ratio to JAX": ours / peer}
    results = [
        Result("start", "doctor", "passed"),
        Result("C suite", "test_key", "crashed", "ended by SIGSEGV: k3"),
        Result("memory", "memory: flat", "skipped", "no time was left for it"),
        Result("speed", "speed: digits", "passed", data=data(120.0, 100.0)),
        Result("speed", "speed: LSTM", "passed", data=data(80.0, 100.0)),
        Result("speed", "speed: 10 layers", "passed", data={"lazyxla": {"step_us": 70.0, "call_us": 31.0}}),
    ]
    kit = kit_with(results)
    found = {**kit.facts, "results": [each.as_dict() for each in results]}
    assert page.row(found) == "| cuda | `p.so` | 4 of 5 | test_key | digits |", page.row(found)
    text = page.text(kit)
    for words in (
        "2 x cuda, 16.0 GiB",
        "4 passed, 0 failed, 1 crashed, 0 stopped at their limit, 1 left out",
        "C suite, test_key: crashed: ended by SIGSEGV: k3",
        "memory, memory: flat: no time was left for it",
        "digits: 120; 100; 1.2\n",
        "10 layers: 70; -; the host's part 31\n",
        "slower than JAX by more than 5 %: digits\n",
    ):
        assert words in text, f"{words!r} is not in\n{text}"


def test_a_page_without_a_device_says_so(_):
    text = page.text(kit_with([], device={"error": "RuntimeError: no GPU"}))
    assert "no device: RuntimeError: no GPU" in text, text


def test_the_file_stays_below_its_limit(folder):
    path = folder / "out.json"
    for count, size in ((200, 50_000), (400, 15_000)):
        results = [
            Result("a", str(i), "failed", "m" * 400, data=["x" * size], tail="y" * 3000) for i in range(count)
        ] + [Result("a", "short", "passed", data=["z"])]
        main.write(kit_with(results), path)
        assert path.stat().st_size < main.MOST_BYTES
        found = json.loads(path.read_text())["results"]
        assert len(found) == count + 1 and found[-1]["data"] == ["z"], found[-1]


def test_a_kit_names_no_folder_of_the_machine_on_which_it_is_built(folder):
    known = (
        "/lazyxla/crates/ir/src/lib.rs",
        "/cargo/registry/src/faer/src/lib.rs",
        "/rustc/1a2b/library/std/src/io.rs",
    )
    program = folder / "programs/oracle"
    program.parent.mkdir()
    program.write_bytes(b"\x7fELF" + "\0".join(known).encode())
    build.without_paths_of_this_machine(folder)
    for path in (build.ROOT / "crates/ir/src/lib.rs", Path.home() / ".cargo/registry/src/faer/src/lib.rs"):
        program.write_bytes(b"\x7fELF\0" + str(path).encode() + b"\0")
        try:
            build.without_paths_of_this_machine(folder)
        except SystemExit as error:
            assert "programs/oracle" in str(error) and str(path) in str(error), error
        else:
            raise AssertionError(f"{path} is in the kit")


def test_wrong_arguments_are_refused_by_name(folder):
    for words, want in (
        (["--minutes", "0"], "--minutes is 0, want"),
        (["--minutes", "nan"], "--minutes is nan, want"),
        (["--out", str(folder / "none/file")], "want a file in a folder that exists"),
        (["--out", str(folder)], "want a file in a folder that exists"),
    ):
        done = subprocess.run([sys.executable, str(HERE / "kit/main.py"), *words], capture_output=True, text=True)
        assert done.returncode == 2 and want in done.stderr, done


def test_the_sample_names_tests_of_the_suite(_):
    for program, tests in parts.C_SAMPLE.items():
        (source,) = HERE.parents[1].glob(f"c_tests/*/{program}.c")
        missing = [test for test in tests if f"TEST({test})" not in source.read_text()]
        assert not missing, f"{program} has no {missing}"


def test_programs_of_the_kit_need_no_file_of_the_build_tree(_):
    """The suite defines the paths of programs and files for some tests, which the kit leaves out."""
    tests, ours = HERE.parents[1] / "c_tests", (HERE / "CMakeLists.txt").read_text()
    suite = set(re.findall(r'"(LXLA_[A-Z_]+)=\\"', (tests / "CMakeLists.txt").read_text()))
    missing = suite - set(re.findall(r'"(LXLA_[A-Z_]+)=', ours))
    left_out = re.search(r"EXCLUDE REGEX \"/test_\(([a-z_|]+)\)", ours)[1].split("|")
    sources = [path for folder in ("behaviours", "operations", "faults") for path in (tests / folder).glob("test_*.c")]
    assert len(missing) >= 4 and len(sources) > 80, (missing, len(sources))
    for path in sources:
        used = missing & set(re.findall(r"\bLXLA_[A-Z_]+\b", path.read_text()))
        assert not used or path.stem.removeprefix("test_") in left_out, f"{path.name} of the kit needs {used}"


def test_a_program_that_fails_is_run_test_by_test(folder):
    """A program whose second test ends the process if another one ran before, as on a device whose memory is taken."""
    program = folder / "test_program"
    lines = [
        "#!/bin/sh",
        '[ "$1" = --list ] && { echo one; echo two; echo three; exit 0; }',
        '[ $# = 1 ] && { echo "$1"; [ "$1" != three ]; exit; }',
        "echo one; echo two; echo 'check failed: memory'; exit 1",
    ]
    program.write_text("\n".join(lines) + "\n")
    program.chmod(0o755)
    kit, parts.PROGRAMS = main.Kit(1, folder), folder
    kit.env, kit.deadline = dict(os.environ), time.monotonic() + 60
    parts.c_program(kit, "test_program", ())
    assert [(each.name, each.status) for each in kit.results] == [
        ("test_program", "passed"),
        ("test_program two", "passed"),
        ("test_program three", "failed"),
    ], kit.results


def test_a_program_that_always_fails_is_not_run_for_ever(folder):
    program = folder / "test_program"
    names = "; ".join(f"echo t{i}" for i in range(40))
    program.write_text(f'#!/bin/sh\n[ "$1" = --list ] && {{ {names}; exit 0; }}\nexit 1\n')
    program.chmod(0o755)
    kit, parts.PROGRAMS = main.Kit(1, folder), folder
    kit.env, kit.deadline = dict(os.environ), time.monotonic() + 60
    parts.c_program(kit, "test_program", ())
    assert kit.is_dead and len(kit.results) == parts.MOST_FAILURES + 1, kit.results
    assert "32 tests, after 8 failures" in kit.results[-1].message, kit.results[-1]


def test_a_program_that_the_end_of_its_part_stops_is_listed_once(folder):
    for seconds, status, message in (
        (12.3, "skipped", "too little time was left for it: 12 s"),
        (50.0, "timeout", "stopped after 50 s; its last line: two"),
    ):
        kit = main.Kit(1, folder)
        kit.deadline = time.monotonic() + 60

        def run(command, _):
            kit.deadline = time.monotonic()
            return runner.Finished(None, seconds, "one\ntwo\nthree\n" if "--list" in command else "one\ntwo\n")

        kit.run = run
        parts.c_program(kit, "test_program", ())
        assert [(each.name, each.status, each.message) for each in kit.results] == [("test_program", status, message)]


def test_a_crash_after_the_last_of_tests_that_pass_one_by_one_is_told(folder):
    program = folder / "test_program"
    program.write_text(
        '#!/bin/sh\n[ "$1" = --list ] && { echo one; echo two; exit 0; }\n[ $# = 1 ] && exit 0\n'
        "echo one; echo two; kill -SEGV $$\n"
    )
    program.chmod(0o755)
    kit, parts.PROGRAMS = main.Kit(1, folder), folder
    kit.env, kit.deadline = dict(os.environ), time.monotonic() + 60
    parts.c_program(kit, "test_program", ())
    assert [(each.name, each.status) for each in kit.results] == [
        ("test_program", "passed"),
        ("test_program two", "passed"),
        ("test_program in one process", "crashed"),
    ], kit.results
    assert "SIGSEGV" in kit.results[-1].message, kit.results[-1]


def test_a_device_that_does_not_start_is_a_failure(folder):
    kit = main.Kit(1, folder)
    kit.part, kit.deadline = "start", time.monotonic() + 60
    kit.run = lambda command, most: runner.Finished(-6, 0, "aborted in the driver")
    kit.task = lambda *given, **more: None
    parts.start(kit)
    (found,) = kit.results
    assert (found.name, found.status) == ("devices", "crashed") and "SIGABRT" in found.message, found
    assert "no device: aborted in the driver" in page.text(kit_with([found], device=kit.facts["device"]))


def test_speeds_that_have_no_times_are_listed(folder):
    kit = main.Kit(1, folder)
    kit.part, kit.deadline = "speed", time.monotonic() + 60
    only_jax = SimpleNamespace(started=lambda: [SimpleNamespace(name="jax")])
    turns.measure(kit, only_jax, "LSTM", "step", 0)
    (found,) = kit.results
    assert (found.name, found.status) == ("speed: LSTM", "skipped") and "does not run" in found.message, found


def test_a_process_that_takes_turns_and_crashes_names_its_signal(folder):
    """An import of steps.py aborts."""
    kit = main.Kit(1, folder)
    (folder / "numpy.py").write_text("import os; print('begun', flush=True); os.abort()\n")
    kit.env = {**os.environ, "PYTHONPATH": str(folder)}
    worker = turns.Worker(kit, "lazyxla", "highest", {})
    try:
        worker.answer(60)
    except turns.Ended as error:
        assert str(error) == "lazyxla ended by SIGABRT: begun", error
    else:
        raise AssertionError("it answered")
    finally:
        worker.close()


def test_a_refusal_that_had_no_time_is_no_failure(folder):
    kit = main.Kit(1, folder)
    kit.facts, kit.deadline = {"device": {"platform": "cuda"}}, time.monotonic()
    parts.kernels(kit)
    assert [each.status for each in kit.results] == ["skipped"], kit.results


def test_nothing_more_is_tried_on_a_plugin_on_which_nothing_ran(folder):
    kit, tried = main.Kit(1, folder), []
    first = lambda kit: kit.add("doctor", "failed", "no device")
    kept, parts.PARTS = parts.PARTS, [("start", 1, first), ("C suite", 1, tried.append)]
    main.run_parts(kit, folder / "out.json")
    parts.PARTS = kept
    assert [each.status for each in kit.results] == ["failed", "skipped"] and not tried, kit.results


def test_a_group_of_operations_that_crashes_is_divided(folder):
    """Operation 7 of 30 ends its process, and loses no other one."""
    kit, ran_groups = main.Kit(10, folder), []
    kit.facts, kit.deadline = {"device": {"platform": "cuda"}}, time.monotonic() + 600

    def run(command, _):
        names = command[4:]
        if len(command) == 3:
            return runner.Finished(0, 0, "", [{"names": [f"op {i}" for i in range(30)], "dtypes": ["f32"]}])
        ran_groups.append(names)
        if "op 7" in names:
            return runner.Finished(-11, 0, "it crashed")
        return runner.Finished(
            0, 0, "", [{"name": each, "ulps": {"f32": 1}, "failures": [], "count": 0} for each in names]
        )

    kit.run = run
    compared.run(kit)
    by_name = {each.name: each for each in kit.results}
    assert by_name["op 7"].status == "crashed" and "it crashed" in by_name["op 7"].message, kit.results
    assert len(by_name["29 of 30 operations agree with NumPy"].data) == 29, kit.results
    assert len(ran_groups) < 12, ran_groups


def test_a_group_of_operations_that_crashes_at_its_end_is_told(folder):
    kit = main.Kit(10, folder)
    kit.facts, kit.deadline = {"device": {"platform": "cuda"}}, time.monotonic() + 600
    row = {"name": "op", "ulps": {"f32": 1}, "failures": [], "count": 0}

    def run(command, _):
        listing = {"names": ["op"], "dtypes": ["f32"]}
        return runner.Finished(0, 0, "", [listing]) if len(command) == 3 else runner.Finished(-11, 0, "late", [row])

    kit.run = run
    compared.run(kit)
    bad = [(each.name, each.status, each.message) for each in kit.results if each.status == "crashed"]
    assert bad == [("the end of op and 0 more", "crashed", "ended by SIGSEGV: late")], kit.results


def test_operations_have_cases_without_ml_dtypes(folder):
    """A machine with NumPy alone compares all operations, on all dtypes but bf16."""
    tests = HERE.parents[1] / "c_tests"
    program = f"""
import sys
sys.modules["ml_dtypes"] = None
sys.path[:0] = [{str(tests / "operations")!r}, {str(tests / "abi")!r}]
import ops_test
known = [operation for subject in ops_test.SUBJECTS for operation in subject()]
count = sum(len(operation.cases(name)) for operation in known for name in ops_test.dtypes(operation.takes))
assert count > 5000 and "bf16" not in ops_test.DTYPES, count
"""
    finished = ran(folder, program, 120)
    assert finished.status == "passed", finished.output


def main_of_tests():
    tests = {name: test for name, test in globals().items() if name.startswith("test_")}
    for name, test in tests.items():
        with tempfile.TemporaryDirectory() as folder:
            test(Path(folder))
        print(f"ok {name}")
    print(f"{len(tests)} tests passed")


if __name__ == "__main__":
    main_of_tests()
