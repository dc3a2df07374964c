"""The page of text at the end of a run; as a program, page.py FILE, the row of docs/plugins.md for a file."""

import json
import sys

MOST_FAILURES = 25
SLOWER = 1.05


def text(kit):
    facts, results = kit.facts, kit.results
    count = lambda *statuses: sum(each.status in statuses for each in results)
    lines = [
        f"lazyxla {facts['kit']['version']} ({facts['kit']['commit']}) on {device(facts)}",
        f"plugin: {facts['plugin']['path']}, PJRT API {facts['plugin'].get('api_version')}"
        + (f", {facts['plugin']['package']}" if facts["plugin"].get("package") else ""),
        *facts.get("accelerators", []),
        f"{facts['system']}, {facts['processors']} processors, Python {facts['python']}, NumPy {facts['numpy']}",
        "",
        f"{count('passed')} passed, {count('failed')} failed, {count('crashed')} crashed, "
        f"{count('timeout')} stopped at their limit, {count('skipped')} left out",
        "",
    ]
    for part in dict.fromkeys(each.part for each in results):
        of = [each for each in results if each.part == part]
        lines.append(f"{part}: {sum(each.status == 'passed' for each in of)} of {len(of)} passed")
    lines += failures(results) + left_out(results) + speeds(results)
    return "\n".join(lines) + "\n"


def device(facts):
    found = facts.get("device", {})
    if "error" in found:
        return "no device: " + (found["error"].strip().splitlines() or ["it did not start"])[-1]
    memory = (found.get("memory") or {}).get("bytes_limit")
    size = f", {memory / 2**30:.1f} GiB" if memory else ""
    return f"{found.get('count')} x {found.get('platform')}{size}"


def failures(results):
    bad = [each for each in results if each.status in ("failed", "crashed", "timeout")]
    lines = ["", "what failed:"] if bad else []
    lines += [f"  {each.part}, {each.name}: {each.status}: {each.message}"[:220] for each in bad[:MOST_FAILURES]]
    if len(bad) > MOST_FAILURES:
        lines.append(f"  and {len(bad) - MOST_FAILURES} more: see the file")
    return lines


def left_out(results):
    of = [each for each in results if each.status == "skipped"]
    return (["", "what was left out:"] if of else []) + [f"  {each.part}, {each.name}: {each.message}" for each in of]


def speeds(results):
    measured = [each for each in results if each.name.startswith("speed: ") and isinstance(each.data, dict)]
    lines = ["", "microseconds of a step (lazyxla; JAX; ratio):"] if measured else []
    for each in measured:
        ours, peer = each.data.get("lazyxla", {}), each.data.get("jax") or each.data.get("jax at default") or {}
        words = (
            f"{ours.get('step_us', 0):.0f}; {peer.get('step_us', 0):.0f}" if peer else f"{ours.get('step_us', 0):.0f}"
        )
        if "tflop_s" in ours:
            words += f"; {ours['tflop_s']:.3f} TFLOP/s"
            words += f", JAX {peer['tflop_s']:.3f}" if "tflop_s" in peer else ""
        words += f"; {each.data.get('ratio to JAX', '-')}"
        if calls := [f"{of['call_us']:.0f}" for of in (ours, peer) if "call_us" in of]:
            words += f"; the host's part {', '.join(calls)}"
        lines.append(f"  {each.name[7:]}: {words}")
    slow = [each.name[7:] for each in measured if each.data.get("ratio to JAX", 0) > SLOWER]
    if any("ratio to JAX" in each.data for each in measured):
        lines.append(f"slower than JAX by more than 5 %: {', '.join(slow) or 'nothing'}")
    if measured:
        lines.append(
            "Steps and products of f32 are computed at the highest precision where the line says no other one."
        )
    return lines


def row(found):
    """The row of the table in docs/plugins.md for the file of a run, read from JSON."""
    of = lambda *statuses: [each["name"] for each in found["results"] if each["status"] in statuses]
    passed, bad = of("passed"), of("failed", "crashed", "timeout")
    plugin, devices = found["plugin"], found.get("accelerators") or [found["device"].get("platform", "none")]
    name = plugin.get("package") or plugin["path"].rpartition("/")[2]
    slow = [
        each["name"][7:]
        for each in found["results"]
        if isinstance(each.get("data"), dict) and each["data"].get("ratio to JAX", 0) > SLOWER
    ]
    compared = any(isinstance(each.get("data"), dict) and "ratio to JAX" in each["data"] for each in found["results"])
    slower = (", ".join(slow) or "nothing") if compared else "not compared"
    cells = [devices[0], f"`{name}`", f"{len(passed)} of {len(passed) + len(bad)}", ", ".join(bad) or "nothing", slower]
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        print(row(json.load(file)))
