"""Traces: python trace_test.py /path/to/liblazyxla.so [test ...]

The file is read as JSON. Events nest, belong to their threads and labels, and are as many as the counters say; values are
those without a trace."""

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections import Counter, defaultdict

sys.dont_write_bytecode = True  # leaves no caches beside the sources
sys.path.append(sys.path[0] + "/../abi")  # ctypes_test
import ctypes_test as abi
import numpy as np
from header import constants

ALREADY_EXISTS, RESOURCE_EXHAUSTED = constants.ALREADY_EXISTS, constants.RESOURCE_EXHAUSTED
N = 16


def start(env, path):
    abi.ok(abi.lib.lxla_trace_start(env, path.encode()))


def stop(env):
    abi.ok(abi.lib.lxla_trace_stop(env))


def events_of(path, is_closed=True):
    """The events of a file: lines of one array. That of a process that was killed is not closed."""
    with open(path) as file:
        text = file.read()
    events = json.loads(text if is_closed else text + "\n]\n")
    ends = "[\n", "\n]\n" if is_closed else ""
    assert text.startswith(ends[0]) and text.endswith(ends[1]), text[-200:]
    if events:
        lines = text[len(ends[0]) : len(text) - len(ends[1])].split(",\n")
        assert [json.loads(line) for line in lines] == events, "an event for each line"
    return events


def tensor(env, values):
    values = np.ascontiguousarray(values, np.float32)
    out, dims = abi.Tensor(), (abi.c_int64 * values.ndim)(*values.shape)
    made = abi.lib.lxla_tensor_from_host(
        env, abi.xla(), abi.F32, dims, values.ndim, values.ctypes.data, values.nbytes, abi.byref(out)
    )
    abi.ok(made)
    return out


def scalar(op, x, by):
    return abi.give(abi.lib.lxla_binary_scalar, abi.Tensor, op, x, by)


def read(x, n=N):
    out = np.empty(n, np.float32)
    abi.ok(abi.lib.lxla_tensor_read(x, out.ctypes.data, out.nbytes))
    return out


def step(env):
    abi.ok(abi.lib.lxla_mark_step(env, abi.xla(), 1))


def counters(env):
    return json.loads(abi.text(abi.lib.lxla_env_metrics_json, env))["counters"]


def train(env, steps, label="layer"):
    """Steps of x = (x * 2 + 1) / 2 under labels. Returns what was computed, and what should be."""
    values = np.linspace(0, 1, N).astype(np.float32)
    x = tensor(env, values)
    for _ in range(steps):
        for name, op, by in (("double", abi.MULTIPLY, 2.0), ("shift", abi.ADD, 1.0), ("halve", abi.DIVIDE, 2.0)):
            abi.ok(abi.lib.lxla_label_push(label.encode()))
            abi.ok(abi.lib.lxla_label_push(name.encode()))
            y = scalar(op, x, by)
            abi.ok(abi.lib.lxla_label_pop())
            abi.ok(abi.lib.lxla_label_pop())
            abi.ok(abi.lib.lxla_tensor_release(x))
            x = y
        step(env)
        values = (values * np.float32(2) + np.float32(1)) / np.float32(2)
    got = read(x)
    abi.ok(abi.lib.lxla_tensor_release(x))
    return got, values


def spans(events, category=None):
    return [e for e in events if e["ph"] == "X" and category in (None, e["cat"])]


def check_nesting(events):
    """Spans of one row are within each other, or one after the other."""
    rows = defaultdict(list)
    for event in spans(events):
        assert event["ts"] >= 0 and event["dur"] >= 0, event
        rows[event["pid"], event["tid"]].append(event)
    for row in rows.values():
        row.sort(key=lambda e: (e["ts"], -e["dur"]))
        within = []
        for event in row:
            # Times are whole nanoseconds, written as microseconds.
            begin, end = round(event["ts"] * 1000), round((event["ts"] + event["dur"]) * 1000)
            while within and within[-1] <= begin:
                within.pop()
            assert not within or end <= within[-1], (event, row)
            within.append(end)


def check_flows(events):
    """Each execute has an arrow to one run on a device, which begins there."""
    begins = {e["id"]: e for e in events if e["ph"] == "s"}
    ends = {e["id"]: e for e in events if e["ph"] == "f"}
    assert begins.keys() == ends.keys() and len(begins) == sum(e["ph"] in "sf" for e in events) // 2
    at = {(e["pid"], e["tid"], e["ts"]): e for e in spans(events, "execute") + spans(events, "run")}
    for number, begin in begins.items():
        end = ends[number]
        execute, run = (at[e["pid"], e["tid"], e["ts"]] for e in (begin, end))
        assert (execute["cat"], run["cat"], end["bp"]) == ("execute", "run", "e")
        assert execute["args"]["program"] == run["args"]["program"] and execute["ts"] <= run["ts"]
    assert len(begins) == len(spans(events, "execute"))


def check_rows(events):
    """Each row has one name. A thread that was in its first step when the trace ended has a name and no span."""
    names = Counter((e["pid"], e["tid"]) for e in events if e["ph"] == "M" and e["name"] == "thread_name")
    assert set(names) >= {(e["pid"], e["tid"]) for e in spans(events)} and set(names.values()) == {1}, names


def steps_compiles_runs_and_transfers_have_events(folder):
    env, path = abi.new_env(), folder + "/steps.json"
    start(env, path)
    before = counters(env)
    got, want = train(env, 5)
    np.testing.assert_array_equal(got, want)
    y = tensor(env, np.arange(N))
    z = scalar(abi.MULTIPLY, y, 3.0)
    abi.ok(abi.lib.lxla_sync(abi.byref(z), 1))
    file = (folder + "/saved.safetensors").encode()
    abi.ok(abi.lib.lxla_save(file, (abi.c_char_p * 1)(b"z"), abi.byref(z), 1))
    np.testing.assert_array_equal(read(z), np.arange(N) * 3)
    after = counters(env)
    abi.ok(abi.lib.lxla_tensor_release(y))
    abi.ok(abi.lib.lxla_tensor_release(z))
    stop(env)
    events = events_of(path)
    check_nesting(events)
    check_flows(events)
    check_rows(events)
    made = {name: after[name] - before[name] for name in after}
    found = Counter((e["cat"], e["name"]) for e in spans(events))
    assert made["MarkStep"] == 5 == found["step", "step"], found
    assert found["step", "sync"] == 1
    assert made["UncachedCompile"] == found["compile", "compile"] >= 2
    assert made["ExecuteComputation"] == found["execute", "execute"] == len(spans(events, "run")) == 6
    assert made["TransferToDevice"] == found["transfer", "to device"] >= 2
    assert made["TransferFromDevice"] == found["transfer", "from device"] >= 2
    assert found["plan", "plan"] == 6 == found["plan", "look up"]
    assert found["wait", "wait"] == 5 and found["save", "save"] == 1
    sent = [e["args"]["bytes"] for e in spans(events, "transfer") if e["name"] == "to device"]
    assert sum(sent) == made["OutboundBytes"]
    # One span of recording for each label between two syncs, not one for each operation.
    labels = Counter(e["args"].get("label") for e in spans(events, "record"))
    wanted = {"layer/double": 5, "layer/shift": 5, "layer/halve": 5, None: 1}
    assert labels == wanted, labels
    labels = Counter(e["args"]["label"] for e in spans(events, "label"))
    assert labels == {"layer": 15, "layer/double": 5, "layer/shift": 5, "layer/halve": 5}, labels
    assert all(e["args"]["label"].split("/")[-1] == e["name"] for e in spans(events, "label"))
    # Runs have the names that the labels of their operations have in common, and the numbers of the compile log.
    log = json.loads(abi.text(abi.lib.lxla_compile_log_json, env))
    runs = spans(events, "run")
    assert [e["args"].get("label") for e in runs] == ["layer"] * 5 + [None]
    assert {e["args"]["program"] for e in runs} <= {e["number"] for e in log["compiles"]}
    assert [e["name"] for e in runs] == ["layer"] * 5 + [f"program {log['count']}"]
    devices = {e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name" and e["pid"] == 0}
    assert devices == {"xla:0"}, devices
    # Nothing is written any more.
    size = os.path.getsize(path)
    train(env, 1)
    assert os.path.getsize(path) == size
    # Another trace has names of its own, and nothing of before.
    start(env, path)
    train(env, 1)
    stop(env)
    again = events_of(path)
    check_rows(again)
    assert len(spans(again, "step")) == 1 and min(e["ts"] for e in spans(again)) > max(e["ts"] for e in spans(events))
    abi.ok(abi.lib.lxla_env_release(env))


def threads_have_rows_of_their_own(folder):
    env, path = abi.new_env(), folder + "/threads.json"
    start(env, path)
    failures, ids = [], {}

    def work(name):
        try:
            got, want = train(env, 3, name)
            np.testing.assert_array_equal(got, want)
            ids[name] = threading.get_native_id()
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work, args=[f"model{i}"]) for i in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not failures, failures
    stop(env)
    events = events_of(path)
    check_nesting(events)
    check_flows(events)
    check_rows(events)
    for name, number in ids.items():
        own = [e for e in spans(events) if e["tid"] == number and e["pid"] == os.getpid()]
        assert sum(e["cat"] == "step" for e in own) == 3
        assert {e["args"]["label"].split("/")[0] for e in own if e["cat"] in ("record", "label")} == {name}
    abi.ok(abi.lib.lxla_env_release(env))


def wrong_calls_are_refused(folder):
    env, other, path = abi.new_env(), abi.new_env(), folder + "/refused.json"
    lib = abi.lib
    abi.refused(lib.lxla_trace_stop(env), abi.FAILED_PRECONDITION, "no trace is being written")
    abi.refused(lib.lxla_trace_start(env, f"{folder}/gone/trace.json".encode()), abi.NOT_FOUND, "gone/trace.json")
    abi.refused(lib.lxla_trace_start(env, folder.encode()), abi.INVALID_ARGUMENT, "path")
    abi.refused(lib.lxla_trace_start(env, b"/dev/full"), abi.INVALID_ARGUMENT, "not a regular file")
    abi.refused(lib.lxla_trace_start(env, None), abi.NULL_ARGUMENT, "path")
    start(env, path)
    abi.refused(lib.lxla_trace_start(env, f"{folder}/second.json".encode()), ALREADY_EXISTS, "refused.json")
    assert not os.path.exists(folder + "/second.json")
    abi.refused(lib.lxla_trace_start(other, path.encode()), ALREADY_EXISTS, "another environment")
    start(other, folder + "/other.json")
    train(env, 1)
    stop(env)
    stop(other)
    abi.refused(lib.lxla_trace_stop(env), abi.FAILED_PRECONDITION, "no trace is being written")
    assert len(spans(events_of(path), "step")) == 1
    # The labels of a thread are shown in both.
    events = events_of(folder + "/other.json")
    assert {e["cat"] for e in spans(events)} == {"label"}
    abi.ok(lib.lxla_env_release(env))
    abi.ok(lib.lxla_env_release(other))


def a_full_disk_is_reported_at_the_end_and_lines_stay_whole(folder):
    env, path = abi.new_env(), folder + "/full.json"
    start(env, path)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    # Python ignores SIGXFSZ.
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        got, want = train(env, 200)
        np.testing.assert_array_equal(got, want)
        abi.refused(abi.lib.lxla_trace_stop(env), RESOURCE_EXHAUSTED, "events are missing")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert 0 < os.path.getsize(path) <= 100_000
    assert len(spans(events_of(path), "step")) > 5
    start(env, path)
    train(env, 1)
    stop(env)
    assert len(spans(events_of(path), "step")) == 1
    abi.ok(abi.lib.lxla_env_release(env))


def a_folder_that_disappears_takes_its_trace_along_and_nothing_else(folder):
    env, inner = abi.new_env(), folder + "/inner"
    os.mkdir(inner)
    start(env, inner + "/trace.json")
    train(env, 2)
    shutil.rmtree(inner)
    got, want = train(env, 200)
    np.testing.assert_array_equal(got, want)
    stop(env)
    assert not os.path.exists(inner)
    abi.refused(abi.lib.lxla_trace_start(env, f"{inner}/trace.json".encode()), abi.NOT_FOUND, "inner/trace.json")
    abi.ok(abi.lib.lxla_env_release(env))


def a_trace_without_events_is_json(folder):
    env, path = abi.new_env(), folder + "/empty.json"
    start(env, path)
    stop(env)
    assert events_of(path) == []
    abi.ok(abi.lib.lxla_env_release(env))


def the_last_release_of_an_environment_ends_its_trace(folder):
    env, path = abi.new_env(), folder + "/released.json"
    start(env, path)
    train(env, 2)
    abi.ok(abi.lib.lxla_env_release(env))
    events = events_of(path)
    assert len(spans(events, "step")) == 2
    check_nesting(events)


def labels_and_recording_under_way_end_with_the_trace(folder):
    env, path = abi.new_env(), folder + "/open.json"
    abi.ok(abi.lib.lxla_label_push(b"before"))
    start(env, path)
    abi.ok(abi.lib.lxla_label_push(b"within"))
    x = tensor(env, np.ones(N))
    y = scalar(abi.ADD, x, 1.0)
    stop(env)
    abi.ok(abi.lib.lxla_label_pop())
    abi.ok(abi.lib.lxla_label_pop())
    np.testing.assert_array_equal(read(y), np.full(N, 2))
    events = events_of(path)
    check_nesting(events)
    assert [e["name"] for e in spans(events, "label")] == ["within"] and len(spans(events, "record")) == 1
    # A label that was pushed before begins with the trace.
    abi.ok(abi.lib.lxla_label_push(b"before"))
    start(env, path)
    step(env)
    abi.ok(abi.lib.lxla_label_pop())
    stop(env)
    events = events_of(path)
    check_nesting(events)
    assert [e["args"]["label"] for e in spans(events, "label")] == ["before"]
    for handle in (x, y):
        abi.ok(abi.lib.lxla_tensor_release(handle))
    abi.ok(abi.lib.lxla_env_release(env))


def spans_begun_before_a_trace_begin_with_it_if_events_are_kept_too(folder):
    env, path = abi.new_env(), folder + "/kept.json"
    abi.ok(abi.lib.lxla_env_set_option(env, b"timeline", b"true"))
    train(env, 1)
    start(env, path)
    abi.ok(abi.lib.lxla_label_push(b"marker"))
    abi.ok(abi.lib.lxla_label_pop())
    stop(env)
    [marker] = spans(events_of(path), "label")
    abi.ok(abi.lib.lxla_label_push(b"a"))
    start(env, path)
    train(env, 1)
    abi.ok(abi.lib.lxla_label_pop())
    stop(env)
    events = events_of(path)
    check_nesting(events)
    check_flows(events)
    check_rows(events)
    [a] = [e for e in spans(events, "label") if e["args"]["label"] == "a"]
    assert a["ts"] >= marker["ts"] + marker["dur"], (a, marker)
    abi.ok(abi.lib.lxla_env_release(env))


def starts_and_stops_meet_labels_and_steps_of_other_threads(folder):
    env, path = abi.new_env(), folder + "/races.json"
    done, failures = threading.Event(), []

    def work(name):
        try:
            while not done.is_set():
                got, want = train(env, 2, name)
                np.testing.assert_array_equal(got, want)
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work, args=[f"model{i}"]) for i in range(3)]
    [thread.start() for thread in threads]
    try:
        for _ in range(30):
            start(env, path)
            train(env, 1)
            stop(env)
            events = events_of(path)
            check_nesting(events)
            check_rows(events)
    finally:
        done.set()
        [thread.join() for thread in threads]
    assert not failures, failures
    abi.ok(abi.lib.lxla_env_release(env))


def child(how, path):
    """Run in a process of its own: traces, and ends without a stop."""
    env = abi.new_env()
    start(env, path)
    if how == "cpu":
        # No plugin is loaded.
        abi.ok(abi.lib.lxla_label_push(b"alone"))
        abi.ok(abi.lib.lxla_label_pop())
        return
    train(env, 3)
    if how == "kill":
        train(env, 200)
        os.kill(os.getpid(), signal.SIGKILL)
    if how.startswith("fork"):
        pid = os.fork()
        if pid == 0:
            is_refused = abi.lib.lxla_trace_stop(env) == constants.FORKED
            leave = sys.exit if how == "fork and exit" else os._exit
            leave(0 if is_refused else 1)
        assert os.waitpid(pid, 0)[1] == 0
        train(env, 1)
        stop(env)


def what_a_process_wrote_before_its_end_is_whole(folder):
    killed = -signal.SIGKILL
    ends = (("cpu", 0, 0), ("exit", 0, 3), ("kill", killed, 3), ("fork", 0, 4), ("fork and exit", 0, 4))
    for how, status, least in ends:
        path = f"{folder}/{how}.json"
        command = [sys.executable, __file__, sys.argv[1], "--child", how, path]
        assert subprocess.run(command).returncode == status, how
        events = events_of(path, is_closed=how != "kill")
        steps = len(spans(events, "step"))
        assert how != "cpu" or [e["name"] for e in spans(events, "label")] == ["alone"]
        assert steps == least if how != "kill" else steps >= least, (how, steps)


TESTS = [
    steps_compiles_runs_and_transfers_have_events,
    threads_have_rows_of_their_own,
    wrong_calls_are_refused,
    a_full_disk_is_reported_at_the_end_and_lines_stay_whole,
    a_folder_that_disappears_takes_its_trace_along_and_nothing_else,
    a_trace_without_events_is_json,
    the_last_release_of_an_environment_ends_its_trace,
    labels_and_recording_under_way_end_with_the_trace,
    spans_begun_before_a_trace_begin_with_it_if_events_are_kept_too,
    starts_and_stops_meet_labels_and_steps_of_other_threads,
    what_a_process_wrote_before_its_end_is_whole,
]

if __name__ == "__main__":
    abi.load(sys.argv[1])
    if sys.argv[2:3] == ["--child"]:
        child(*sys.argv[3:])
        sys.exit(0)
    wanted = sys.argv[2:]
    with tempfile.TemporaryDirectory() as folder:
        for test in TESTS:
            if not wanted or test.__name__ in wanted:
                test(folder)
                print(f"{test.__name__}: ok", flush=True)
