"""The report of lxla_report without a browser: python report_test.py /path/to/liblazyxla.so [test ...]

The page parses, loads nothing, and has the counters, the compile log, the programs with their graphs and the live
tensors as the other functions of the library have them."""

import hashlib
import json
import os
import re
import resource
import sys
import tempfile
import threading
from html.parser import HTMLParser
from pathlib import Path

sys.dont_write_bytecode = True
import ctypes_test as lxla
import numpy as np
from ctypes_test import ADD, INVALID_ARGUMENT, MULTIPLY, NOT_FOUND, Computation, Tensor, give, ok, read, refused
from header import constants

MOST_BYTES = 5_000_000
ROOT = Path(__file__).resolve().parents[2]
HOSTILE = '</script><script>alert(1)</script><!-- \u2028 "&amp;"'


class Page(HTMLParser):
    """The elements of a page, and the texts of its scripts and styles."""

    def __init__(self, path):
        super().__init__(convert_charrefs=True)
        self.elements, self.texts, self.open = [], {}, None
        self.feed(path.read_text(encoding="utf-8"))
        self.close()

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.elements.append((tag, attributes))
        if tag in ("script", "style"):
            self.open = attributes.get("id", tag)
            self.texts[self.open] = ""

    def handle_endtag(self, tag):
        if tag in ("script", "style"):
            self.open = None

    def handle_data(self, data):
        if self.open:
            self.texts[self.open] += data


def reported(env, path):
    """Writes a report, and returns its document."""
    ok(lxla.lib.lxla_report(env, str(path).encode()))
    return json.loads(Page(path).texts["data"])


def log_of(env):
    return json.loads(lxla.text(lxla.lib.lxla_compile_log_json, env))


def floats(env, shape):
    values = np.ones(shape, np.float32)
    return give(
        lxla.lib.lxla_tensor_from_host,
        Tensor,
        env,
        lxla.xla(),
        lxla.F32,
        *lxla.dims(*values.shape),
        values.tobytes(),
        values.nbytes,
    )


def scaled(x, by):
    return give(lxla.lib.lxla_binary_scalar, Tensor, MULTIPLY, x, by)


def tanh(x):
    return give(lxla.lib.lxla_unary, Tensor, constants.UNARY_TANH, x)


def train(env, steps, label="model"):
    """Makes steps that scale a parameter in place; returns the parameter."""
    w = floats(env, (64, 32))
    for _ in range(steps):
        ok(lxla.lib.lxla_label_push(label.encode()))
        ok(lxla.lib.lxla_binary_scalar_inplace(MULTIPLY, w, 0.5))
        ok(lxla.lib.lxla_binary_scalar_inplace(ADD, w, 1.0))
        ok(lxla.lib.lxla_label_pop())
        ok(lxla.lib.lxla_mark_step(env, lxla.xla(), 0))
    ok(lxla.lib.lxla_wait(env, lxla.xla()))
    return w


def test_the_page_loads_nothing_and_has_a_title(env, folder):
    reported(env, folder / "r.html")
    page = Page(folder / "r.html")
    assert [attributes for tag, attributes in page.elements if "src" in attributes] == []
    links = [attributes["href"] for tag, attributes in page.elements if "href" in attributes]
    assert links and all(link.startswith(("#", "data:")) for link in links), links
    (policy,) = [a["content"] for tag, a in page.elements if a.get("http-equiv") == "Content-Security-Policy"]
    assert "default-src 'none'" in policy and "script-src 'sha256-" in policy, policy
    assert "url(" not in page.texts["style"] and "@import" not in page.texts["style"]
    assert "MIT" in (folder / "r.html").read_text(encoding="utf-8")[:4000], "the licences of the libraries"


def test_the_page_is_built_from_its_sources(env, folder):
    sources = ROOT / "tools" / "report"
    names = [
        "build.mjs",
        "package.json",
        "package-lock.json",
        *(f"page/{file.name}" for file in (sources / "page").iterdir()),
    ]
    built = hashlib.sha256()
    for name in sorted(names):
        content = (sources / name).read_bytes()
        built.update(f"{name} {len(content)}\n".encode() + content)
    reported(env, folder / "r.html")
    # The committed page, and the one that the library has.
    for page in [ROOT / "assets" / "report" / "page.html", folder / "r.html"]:
        (stated,) = re.findall(r"from sources with the SHA-256 ([0-9a-f]{64})\.", page.read_text())
        assert stated == built.hexdigest(), f"{page} is older than its sources: run tools/report/build.sh, then build"


def test_counters_and_compiles_are_those_of_the_environment(env, folder):
    w = train(env, 5)
    document = reported(env, folder / "r.html")
    counters = document["metrics"]["counters"]
    assert counters["MarkStep"] == 5 and counters["LiveBytes"] == 64 * 32 * 4, counters
    assert counters == {name: lxla.counter(env, name) for name in counters}
    assert document["metrics"] == json.loads(lxla.text(lxla.lib.lxla_env_metrics_json, env))
    assert document["compiles"] == log_of(env) and document["compiles"]["count"] >= 1
    lxla.release(w)


def test_an_environment_that_did_nothing_has_a_report(env, folder):
    document = reported(env, folder / "r.html")
    assert document["steps"] == [] and document["programs"] == {"count": 0, "listed": []}
    assert document["compiles"] == {"count": 0, "compiles": []}
    assert document["tensors"]["listed"] == [] and document["events"] == []


def test_the_last_events_are_in_the_report(env, folder):
    lxla.ok(lxla.lib.lxla_env_set_option(env, b"timeline", b"true"))
    w = train(env, 4)
    document = reported(env, folder / "r.html")
    lxla.ok(lxla.lib.lxla_env_set_option(env, b"timeline", b"false"))
    lxla.release(w)
    steps = [event for event in document["events"] if event["name"] == "step"]
    executed = [event for event in document["events"] if event["name"] == "execute"]
    assert len(steps) == document["metrics"]["counters"]["MarkStep"] == 4, document["events"]
    assert len(executed) == document["metrics"]["counters"]["ExecuteComputation"], document["events"]
    numbers = {program["number"] for program in document["programs"]["listed"]}
    assert {event["args"]["program"] for event in executed} <= numbers, (executed, numbers)
    assert all(event["ph"] == "X" and event["dur"] >= 0 for event in steps + executed)


def test_steps_and_programs_are_counted(env, folder):
    w = train(env, 7)
    document = reported(env, folder / "r.html")
    steps = [step for step in document["steps"] if step["kind"] == "step"]
    assert sum(step["count"] for step in steps) == 7, steps
    assert {step["device"] for step in steps} == {"xla:0"}
    listed = {program["number"]: program for program in document["programs"]["listed"]}
    assert document["programs"]["count"] == len(listed) == lxla.counter(env, "CachedVariants")
    assert sum(program["runs"] for program in listed.values()) == lxla.counter(env, "ExecuteComputation")
    for step in document["steps"]:
        assert all(number in listed for number in step["programs"]), step
    log = {entry["number"]: entry for entry in log_of(env)["compiles"]}
    for number, program in listed.items():
        for name in (
            "operations",
            "argument_bytes",
            "output_bytes",
            "alias_bytes",
            "temp_bytes",
            "code_bytes",
            "from_disk",
        ):
            assert program[name] == log[number][name], (number, name)
        assert program["compile_nanoseconds"] == log[number]["nanoseconds"]
        assert len(program["key"]) == 16 and int(program["key"], 16) >= 0
    (often,) = [program for program in listed.values() if program["runs"] >= 6]
    assert (often["operations"], often["parameters"], often["donors"]) == (2, 1, 1), often
    lxla.release(w)


def test_the_graph_is_that_of_the_program(env, folder):
    x = floats(env, (4, 3))
    ok(lxla.lib.lxla_label_push(b"model"))
    ok(lxla.lib.lxla_label_push(b"a/b"))
    y = scaled(x, 2.5)
    ok(lxla.lib.lxla_label_pop())
    z = tanh(y)
    ok(lxla.lib.lxla_label_pop())
    ok(lxla.lib.lxla_sync((Tensor * 2)(z, y), 2))
    document = reported(env, folder / "r.html")
    graphs = document["graphs"]
    (program,) = document["programs"]["listed"]
    graph = graphs["graphs"][program["graph"]]
    names = [graphs["operations"][op] for op in graph["op"]]
    assert sorted(names) == ["multiply", "parameter", "tanh"], names
    at = {name: i for i, name in enumerate(names)}
    assert graph["in"][at["tanh"]] == [at["multiply"]] and graph["in"][at["multiply"]] == [at["parameter"]]
    assert sorted(graph["outputs"]) == sorted([at["tanh"], at["multiply"]])
    labels = {name: graphs["labels"][graph["label"][i]] for name, i in at.items()}
    assert labels == {"parameter": [], "multiply": ["model", "a/b"], "tanh": ["model"]}
    assert graph["scalar"] == {str(at["multiply"]): "2.5"}
    assert {tuple(graphs["types"][t]) for t in graph["type"]} == {("f32[4,3]", 48)}
    lxla.release(x, y, z)


def test_computations_are_graphs_of_their_own(env, folder):
    p = give(lxla.lib.lxla_tensor_placeholder, Tensor, env, lxla.xla(), lxla.F32, *lxla.dims(4))
    body = give(lxla.lib.lxla_computation_trace, Computation, (Tensor * 1)(p), 1, (Tensor * 1)(tanh(p)), 1)
    x, out = floats(env, (4,)), (Tensor * 1)()
    ok(lxla.lib.lxla_scan(body, (Tensor * 1)(x), 1, None, 0, 5, 0, out, None, 0))
    got = read(out[0], count=4)
    wanted = np.ones(4)
    for _ in range(5):
        wanted = np.tanh(wanted)
    assert np.allclose(got, wanted, rtol=1e-5), got
    document = reported(env, folder / "r.html")
    graphs = document["graphs"]
    (program,) = document["programs"]["listed"]
    graph = graphs["graphs"][program["graph"]]
    (bodies,) = graph["bodies"].values()
    inside = graphs["graphs"][bodies[0]]
    assert sorted(graphs["operations"][op] for op in inside["op"]) == ["parameter", "tanh"], inside


def test_texts_of_the_caller_are_no_markup(env, folder):
    w = train(env, 2, HOSTILE)
    document = reported(env, folder / "r.html")
    text = (folder / "r.html").read_text(encoding="utf-8")
    assert "alert(1)" in text and "<script>alert" not in text and "\u2028" not in text
    assert sum(tag == "script" for tag, _ in Page(folder / "r.html").elements) == 2
    (live,) = [one for one in document["tensors"]["listed"] if one["dims"] == [64, 32]]
    assert live["label"] == [HOSTILE], live
    assert [HOSTILE] in document["graphs"]["labels"]
    lxla.release(w)


def test_live_tensors_have_their_sizes_and_labels(env, folder):
    x = floats(env, (100, 10))
    ok(lxla.lib.lxla_label_push(b"big"))
    y = scaled(x, 2.0)
    ok(lxla.lib.lxla_label_pop())
    ok(lxla.lib.lxla_sync((Tensor * 1)(y), 1))
    same = give(lxla.lib.lxla_tensor_snapshot, Tensor, y)
    z = tanh(y)
    native = give(lxla.lib.lxla_tensor_full, Tensor, env, lxla.cpu(), lxla.F64, *lxla.dims(3), 1.0)
    tensors = reported(env, folder / "r.html")["tensors"]
    assert (tensors["values"], tensors["bytes"]) == (3, 4000 + 4000 + 24), tensors
    assert (tensors["pending"], tensors["pending_bytes"]) == (1, 4000)
    found = {(one["state"], tuple(one["label"]), one["tensors"], one["dtype"], tuple(one["dims"]), one["bytes"])
             for one in tensors["listed"]}  # fmt: skip
    assert found == {
        ("computed", (), 1, "f32", (100, 10), 4000),
        ("computed", ("big",), 2, "f32", (100, 10), 4000),
        ("pending", (), 1, "f32", (100, 10), 4000),
        ("computed", (), 1, "f64", (3,), 24),
    }, found
    sizes = [one["bytes"] for one in tensors["listed"]]
    assert sizes == sorted(sizes, reverse=True)
    lxla.release(x, y, z, same, native)


def test_what_cannot_be_written_is_refused_and_nothing_is_lost(env, folder):
    report = lambda path: lxla.lib.lxla_report(env, path)
    refused(report(None), lxla.NULL_ARGUMENT, "path")
    refused(report(str(folder / "no/where.html").encode()), NOT_FOUND, "no/where.html")
    refused(report(str(folder).encode()), INVALID_ARGUMENT, "a directory")
    refused(report(b""), INVALID_ARGUMENT, "file name")
    refused(report(str(folder / ("x" * 300)).encode()), INVALID_ARGUMENT, "xxx")
    refused(report(b"/proc/report.html"), NOT_FOUND, "/proc/report.html")
    old = folder / "old.html"
    old.write_text("old")
    refused(report(str(old / "r.html").encode()), INVALID_ARGUMENT, "old.html/r.html")
    refused(lxla.lib.lxla_report(lxla.Env(123456789), str(old).encode()), lxla.INVALID_HANDLE, "env")
    assert old.read_text() == "old" and os.listdir(folder) == ["old.html"]
    reported(env, old)
    assert os.listdir(folder) == ["old.html"]


def test_a_full_disk_is_reported_and_the_old_report_stays(env, folder):
    path = folder / "r.html"
    reported(env, path)
    old = path.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    # Python ignores SIGXFSZ.
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))
    try:
        refused(lxla.lib.lxla_report(env, str(path).encode()), constants.RESOURCE_EXHAUSTED, "r.html")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_bytes() == old and os.listdir(folder) == ["r.html"]


def test_threads_write_reports_while_others_step(env, folder):
    stop, failures, documents = threading.Event(), [], []

    def guarded(run):
        try:
            run()
        except BaseException as failure:
            failures.append(failure)
            stop.set()

    def step():
        x = floats(env, (16,))
        n = 0
        while not stop.is_set():
            y = scaled(x, float(n % 3))
            z = tanh(y)
            ok(lxla.lib.lxla_sync((Tensor * 1)(z), 1))
            assert np.allclose(read(z, count=16), np.tanh(np.full(16, n % 3, np.float32)), atol=1e-6)
            lxla.release(y, z)
            n += 1
        lxla.release(x)

    def report(number):
        for i in range(8):
            documents.append(reported(env, folder / f"{number}-{i % 2}.html"))

    steppers = [threading.Thread(target=guarded, args=(step,)) for _ in range(2)]
    reporters = [threading.Thread(target=guarded, args=(lambda n=n: report(n),)) for n in range(3)]
    for thread in steppers + reporters:
        thread.start()
    for thread in reporters:
        thread.join()
    stop.set()
    for thread in steppers:
        thread.join()
    assert not failures, failures
    assert len(documents) == 24
    for document in documents:
        numbers = {entry["number"] for entry in document["compiles"]["compiles"]}
        assert numbers == set(range(1, len(numbers) + 1))
        assert all(program["number"] <= document["programs"]["count"] for program in document["programs"]["listed"])


def test_a_run_of_10000_steps_makes_a_small_file(env, folder):
    w = train(env, 10_000)
    x = floats(env, (2,))
    y = x
    for i in range(5000):
        y = scaled(y, 1.0 + i)
    ok(lxla.lib.lxla_sync((Tensor * 1)(y), 1))
    document = reported(env, folder / "r.html")
    assert document["metrics"]["counters"]["MarkStep"] == 10_000
    assert max(program["operations"] for program in document["programs"]["listed"]) == 5000
    assert (folder / "r.html").stat().st_size < MOST_BYTES
    lxla.release(w, y, x)


def main():
    lxla.load(sys.argv[1])
    tests = {name: test for name, test in globals().items() if name.startswith("test_")}
    for name in sys.argv[2:] or tests:
        env = lxla.new_env()
        with tempfile.TemporaryDirectory() as folder:
            tests[name](env, Path(folder))
        lxla.release(env)
        print(f"{name}: passed")


if __name__ == "__main__":
    main()
