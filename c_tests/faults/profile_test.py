"""The plugin's own profile in traces: python profile_test.py liblazyxla.so libfault_plugin.so plugin.so [test ...]

CPU plugins have no profiler. The fault plugin simulates one around the plugin in LXLA_PJRT_PLUGIN, else the given one:
it notes its calls, and returns profiles that are encoded here."""

import ctypes
import json
import os
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True  # leaves no caches beside the sources
sys.path += [sys.path[0] + "/../abi", sys.path[0] + "/../behaviours"]
import ctypes_test as abi
import numpy as np
import trace_test as trace
from header import constants, types

ALL = "create start stop collect_data destroy "
TWICE = "create start stop collect_data collect_data destroy "


class Profile(ctypes.Structure):
    """`fault_profile` of fault_plugin.h."""

    _fields_ = [
        ("bytes", ctypes.c_char_p),
        ("size", ctypes.c_size_t),
        ("claims", ctypes.c_size_t),
        ("copies", ctypes.c_int),
        ("holds", ctypes.c_int),
        ("code", ctypes.c_int),
        ("fails", ctypes.c_char_p),
        ("extension_size", ctypes.c_size_t),
        ("table_size", ctypes.c_size_t),
        ("no_table", ctypes.c_int),
    ]


fault, logged = None, []


def profiler(space=b"", fails=b"", **given):
    """Gives the plugin a profiler."""
    profile = Profile(bytes=space, size=len(space), fails=fails, **given)
    fault.fault_profile_is(ctypes.byref(profile))
    logged.clear()


def calls():
    """The calls of the profiler. It has nothing that the library must free."""
    assert fault.fault_profile_alive() == 0
    return fault.fault_profile_calls().decode()


# --- Protocol buffers ---


def varint(value):
    value &= 2**64 - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out + bytes([value]))


def number(field, value):
    return varint(field << 3) + varint(value)


def message(field, *parts):
    content = b"".join(part.encode() if isinstance(part, str) else part for part in parts)
    return varint(field << 3 | 2) + varint(len(content)) + content


def plane(name, events):
    """An XPlane of one line of events (name, begin in ns since 1970, duration in ns), each with an hlo_op."""
    since = min(begin for _, begin, _ in events)
    ids = {event: index + 1 for index, event in enumerate(dict.fromkeys(event for event, _, _ in events))}
    line = number(1, 1) + message(2, "Stream #1") + number(3, since)
    for event, begin, duration in events:
        times = number(2, (begin - since) * 1000) + number(3, duration * 1000)
        line += message(4, number(1, ids[event]), times, message(4, number(1, 1), message(5, "op of ", event)))
    names = [message(4, number(1, at), message(2, number(1, at), message(2, name))) for name, at in ids.items()]
    statistic = message(5, number(1, 1), message(2, number(1, 1), message(2, "hlo_op")))
    return message(1, number(1, 1), message(2, name), message(3, line), *names, statistic)


def marked(env, name):
    """Pushes and pops a label. Returns the time within, in ns since 1970."""
    abi.ok(abi.lib.lxla_label_push(name.encode()))
    now = time.time_ns()
    abi.ok(abi.lib.lxla_label_pop())
    return now


def of_plugin(events):
    return trace.spans(events, "plugin")


def notes(events):
    return [e["name"] for e in events if e["ph"] == "i"]


def warnings():
    return [text for level, text in logged if level == 2]


def traced(env, path, space=b"", **given):
    """A trace of a step, with a profiler. Returns its events and the calls of the profiler."""
    profiler(space, **given)
    trace.start(env, path)
    got, want = trace.train(env, 1)
    np.testing.assert_array_equal(got, want)
    trace.stop(env)
    events = trace.events_of(path)
    trace.check_nesting(events)
    trace.check_rows(events)
    assert len(trace.spans(events, "step")) == 1, "the trace is complete"
    return events, calls()


# --- Tests ---


def events_of_the_plugin_stand_between_ours(folder):
    env, path = abi.new_env(), folder + "/aligned.json"
    fault.fault_profile_is(None)
    trace.train(env, 1)
    for copies, zero in ((0, b""), (0, b"\0"), (1, b""), (1, b"\0")):
        profiler()
        trace.start(env, path)
        first, second = marked(env, "first"), marked(env, "second")
        host = plane("/host:CPU", [("Execute", first, second - first)])
        space = host + plane("/device:GPU:0", [("fusion.1", second, 0), ("copy", first, 0), ("copy", first + 1, 0)])
        fault.fault_profile_is(
            ctypes.byref(Profile(bytes=space + zero, size=len(space + zero), fails=b"", copies=copies))
        )
        trace.stop(env)
        assert calls() == (TWICE if copies else ALL).replace("create start ", ""), calls()
        events = trace.events_of(path)
        trace.check_nesting(events)
        trace.check_rows(events)
        names = {(e["pid"], e["name"]): e["args"]["name"] for e in events if e["ph"] == "M" and e["pid"] >= 10**9}
        wanted = {
            "process_name": ("plugin /host:CPU", "plugin /device:GPU:0"),
            "thread_name": ("Stream #1", "Stream #1"),
        }
        assert names == {(10**9 + i, kind): texts[i] for kind, texts in wanted.items() for i in (0, 1)}, names
        found = [(e["pid"] - 10**9, e["name"], e["args"]) for e in of_plugin(events)]
        want = [(0, "Execute"), (1, "copy"), (1, "copy"), (1, "fusion.1")]
        assert found == [(pid, name, {"hlo_op": f"op of {name}"}) for pid, name in want], found
        [first], [second] = ([e for e in trace.spans(events, "label") if e["name"] == n] for n in ("first", "second"))
        execute, copy, _, fusion = of_plugin(events)
        # The clocks are not read at the same time.
        slack = 200.0
        assert first["ts"] - slack <= copy["ts"] == execute["ts"] <= first["ts"] + first["dur"] + slack
        assert second["ts"] - slack <= fusion["ts"] <= second["ts"] + second["dur"] + slack
        assert abs(execute["ts"] + execute["dur"] - fusion["ts"]) < 0.0015
        with open(path + ".xplane.pb", "rb") as file:
            assert file.read() == space, "without the zero"
        assert not warnings() and not notes(events), logged
    abi.ok(abi.lib.lxla_env_release(env))


def the_profiler_is_called_in_order_also_when_the_engine_starts_later(folder):
    fault.fault_profile_is(None)
    space = plane("/device:GPU:0", [("late", time.time_ns() + 10**9, 1000)])
    # The environment has no engine when the trace starts.
    env = abi.new_env()
    events, called = traced(env, folder + "/late.json", space)
    assert called == ALL and [e["name"] for e in of_plugin(events)] == ["late"], called
    for number in range(3):
        events, called = traced(env, folder + f"/again{number}.json", space)
        assert called == ALL and [e["name"] for e in of_plugin(events)] == ["late"], called
    # The last release of an environment ends its trace, with the profile.
    profiler(space)
    trace.start(env, folder + "/released.json")
    trace.train(env, 1)
    assert fault.fault_profile_calls() == b"create start "
    abi.ok(abi.lib.lxla_env_release(env))
    assert calls() == ALL and len(of_plugin(trace.events_of(folder + "/released.json"))) == 1
    # An environment that only uses cpu starts no engine, and no profile.
    env = abi.new_env()
    profiler(space)
    trace.start(env, folder + "/cpu.json")
    trace.stop(env)
    assert calls() == "" and not of_plugin(trace.events_of(folder + "/cpu.json"))
    abi.ok(abi.lib.lxla_env_release(env))


def a_profiler_that_fails_costs_its_profile_only(folder):
    env = abi.new_env()
    fault.fault_profile_is(None)
    trace.train(env, 1)
    space = plane("/device:GPU:0", [("event", time.time_ns(), 1000)])
    for name, called in (
        ("create", "create "),
        ("start", "create start destroy "),
        ("stop", "create start stop destroy "),
        ("collect_data", ALL),
    ):
        path = f"{folder}/fails_{name}.json"
        with open(path + ".xplane.pb", "wb") as file:
            file.write(b"of an earlier trace")
        events, found = traced(env, path, space, fails=name.encode(), code=8)
        assert found == called, found
        text = f"the trace has no profile of the plugin: the plugin's profiler: {name}: planted by the fault profiler"
        assert notes(events) == [text] and not of_plugin(events), notes(events)
        assert warnings() == [text], logged
        assert not os.path.exists(path + ".xplane.pb")
    # A profile that cannot be freed is whole.
    events, called = traced(env, folder + "/fails_destroy.json", space, fails=b"destroy", code=13)
    assert called == ALL and len(of_plugin(events)) == 1 and not warnings(), logged
    for size in (2**31, 2**63, 2**64 - 1):
        for copies in (0, 1):
            events, called = traced(env, folder + "/size.json", space, claims=size, copies=copies)
            assert called == ALL and f"has {size} bytes" in notes(events)[0], notes(events)
    # The next trace has its profile again.
    events, called = traced(env, folder + "/good.json", space)
    assert called == ALL and len(of_plugin(events)) == 1 and not warnings()
    abi.ok(abi.lib.lxla_env_release(env))


def plugins_without_a_profiler_have_none(folder):
    env = abi.new_env()
    fault.fault_profile_is(None)
    trace.train(env, 1)
    path = folder + "/none.json"
    for given in ({"no_table": 1}, {"extension_size": 24}):
        events, called = traced(env, path, **given)
        assert called == "" and not notes(events) and not warnings(), logged
    # An extension and a table of a version with fewer or more fields.
    space = plane("/device:GPU:0", [("event", time.time_ns(), 1000)])
    for given in ({"extension_size": 32}, {"extension_size": 400}, {"table_size": 400}):
        events, called = traced(env, path, space, **given)
        assert called == ALL and len(of_plugin(events)) == 1, called
    for size, lacks in ((72, "collect_data"), (40, "create"), (8, "create")):
        events, called = traced(env, path, space, table_size=size)
        assert called == "" and notes(events)[0].endswith(f"has no function {lacks}"), notes(events)
    events, called = traced(env, path)
    assert called == ALL and not notes(events) and not of_plugin(events), "a profile without content"
    assert not os.path.exists(path + ".xplane.pb"), "the profile of the trace before"
    abi.ok(abi.lib.lxla_env_release(env))


def malformed_and_long_profiles_are_cut_with_a_warning(folder):
    env = abi.new_env()
    fault.fault_profile_is(None)
    trace.train(env, 1)
    now = time.time_ns()
    good, path = plane("/device:GPU:0", [("event", now, 1000)]), folder + "/malformed.json"
    for bad in (b"\xff" * 20, b"\x0a\xff\xff\xff\xff\x07", good[:-3], message(1, b"\x22\x7f")):
        events, called = traced(env, path, good + bad)
        assert called == ALL and [e["name"] for e in of_plugin(events)] == ["event"]
        assert len(warnings()) == 1 and "malformed protocol buffer" in warnings()[0], logged
        with open(path + ".xplane.pb", "rb") as file:
            assert file.read() == good + bad
    messages = message(2, "dropped 7 events") + message(3, "no permission for counters")
    traced(env, path, good + messages)
    words = ["dropped 7 events", "no permission for counters"]
    assert warnings() == [f"the profile of the plugin: {text}" for text in words], logged
    overlapping = plane("/device:GPU:0", [("event", now + i, 1000) for i in range(50)])
    events, _ = traced(env, path, overlapping)
    assert len(of_plugin(events)) == 32
    assert [f"32 of 50 events; {json.dumps(path + '.xplane.pb')} has all" in text for text in warnings()] == [True]
    # The whole profile cannot be written.
    os.mkdir(folder + "/blocked.json.xplane.pb")
    events, _ = traced(env, folder + "/blocked.json", good)
    assert len(of_plugin(events)) == 1 and len(warnings()) == 1 and "blocked.json.xplane.pb" in warnings()[0], logged
    abi.ok(abi.lib.lxla_env_release(env))


def one_environment_at_a_time_records_the_profile(folder):
    first, second = abi.new_env(), abi.new_env()
    fault.fault_profile_is(None)
    trace.train(first, 1)
    trace.train(second, 1)
    profiler(plane("/device:GPU:0", [("event", time.time_ns(), 1000)]))
    trace.start(first, folder + "/first.json")
    trace.start(second, folder + "/second.json")
    trace.train(first, 1)
    trace.train(second, 1)
    trace.stop(second)
    events = trace.events_of(folder + "/second.json")
    assert not of_plugin(events) and "another trace of this process" in notes(events)[0], notes(events)
    assert fault.fault_profile_calls() == b"create start "
    trace.stop(first)
    assert calls() == ALL and len(of_plugin(trace.events_of(folder + "/first.json"))) == 1
    events, called = traced(second, folder + "/second.json")
    assert called == ALL and not notes(events)
    for env in (first, second):
        abi.ok(abi.lib.lxla_env_release(env))


def nothing_waits_for_a_profiler_that_hangs(folder):
    env, other, path = abi.new_env(), abi.new_env(), folder + "/held.json"
    fault.fault_profile_is(None)
    trace.train(env, 1)
    trace.train(other, 1)
    profiler(plane("/device:GPU:0", [("event", time.time_ns(), 1000)]), holds=1)
    trace.start(env, path)
    ended = []
    thread = threading.Thread(target=lambda: ended.append(abi.lib.lxla_trace_stop(env)))
    thread.start()
    while not fault.fault_profile_held():
        time.sleep(0.001)
    abi.refused(abi.lib.lxla_trace_stop(env), constants.FAILED_PRECONDITION, "another thread is ending")
    abi.refused(abi.lib.lxla_trace_start(env, path.encode()), constants.ALREADY_EXISTS, "held.json")
    # Steps go on, and are in the trace; so does the trace of another environment.
    got, want = trace.train(env, 2)
    np.testing.assert_array_equal(got, want)
    trace.start(other, folder + "/other.json")
    trace.train(other, 1)
    trace.stop(other)
    assert len(trace.spans(trace.events_of(folder + "/other.json"), "step")) == 1
    assert not ended
    fault.fault_profile_let_go()
    thread.join()
    assert ended == [constants.OK] and calls() == ALL
    events = trace.events_of(path)
    assert len(trace.spans(events, "step")) == 2 and len(of_plugin(events)) == 1
    trace.check_nesting(events)
    for env in (env, other):
        abi.ok(abi.lib.lxla_env_release(env))


def a_process_that_ends_without_a_stop_leaves_its_own_events(folder):
    path = folder + "/exit.json"
    command = [sys.executable, __file__, *sys.argv[1:4], "--child", path]
    assert subprocess.run(command).returncode == 0
    events = trace.events_of(path)
    assert len(trace.spans(events, "step")) == 2 and not of_plugin(events)


TESTS = [
    events_of_the_plugin_stand_between_ours,
    the_profiler_is_called_in_order_also_when_the_engine_starts_later,
    a_profiler_that_fails_costs_its_profile_only,
    plugins_without_a_profiler_have_none,
    malformed_and_long_profiles_are_cut_with_a_warning,
    one_environment_at_a_time_records_the_profile,
    nothing_waits_for_a_profiler_that_hangs,
    a_process_that_ends_without_a_stop_leaves_its_own_events,
]


def child(path):
    profiler(plane("/device:GPU:0", [("event", time.time_ns(), 1000)]))
    env = abi.new_env()
    trace.start(env, path)
    trace.train(env, 2)
    assert fault.fault_profile_calls() == b"create start "


def load(library, plugin, real):
    """Loads the library and the fault plugin around the plugin in LXLA_PJRT_PLUGIN, else `real`."""
    global fault
    # Found by the variable instead of an option, so that environments start it late. A child has both variables.
    os.environ.setdefault("LXLA_FAULT_REAL_PLUGIN", os.environ.get("LXLA_PJRT_PLUGIN") or real)
    os.environ["LXLA_PJRT_PLUGIN"] = plugin
    abi.load(library)
    fault = ctypes.CDLL(plugin)
    fault.fault_profile_calls.restype = ctypes.c_char_p


if __name__ == "__main__":
    load(*sys.argv[1:4])
    if sys.argv[4:5] == ["--child"]:
        child(sys.argv[5])
        sys.exit(0)
    # Called by threads of the library, too.
    log = types.lxla_log_fn(lambda level, text, user: logged.append((level, text.decode())))
    abi.ok(abi.lib.lxla_set_log_callback(log, None))
    wanted = sys.argv[4:]
    with tempfile.TemporaryDirectory() as folder:
        for test in TESTS:
            if not wanted or test.__name__ in wanted:
                test(folder)
                print(f"{test.__name__}: ok", flush=True)
    abi.ok(abi.lib.lxla_set_log_callback(types.lxla_log_fn(), None))
