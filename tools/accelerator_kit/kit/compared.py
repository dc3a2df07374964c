"""Every operation on some dtypes against NumPy, by c_tests/operations: in groups, each in a process of its own.

As a program: compared.py HALVES NAME ... compares these operations in so many threads, and writes a row for each."""

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import plugins
import runner

KIT = Path(__file__).resolve().parents[1]
LIBRARY = KIT / "python/lazyxla/lib/liblazyxla.so.0"
WANTED = ("f32", "bf16", "s32", "pred", "c64")
# A group takes a start of the plugin, which may be seconds, and stops at its limit.
GROUP, GROUP_SECONDS, MOST_FAILURES = 24, 120, 6


def run(kit):
    """Compares all operations, as far as the time is enough. A group whose process ended is divided."""
    listing = kit.run([sys.executable, "-B", __file__], 60)
    if not listing.rows:
        kit.add("operations", "failed", listing.output.strip()[-300:] or "no operations were listed")
        return
    names, dtypes = listing.rows[-1]["names"], listing.rows[-1]["dtypes"]
    if left_out := [name for name in WANTED if name not in dtypes]:
        kit.add(f"operations on {', '.join(left_out)}", "skipped", "ml_dtypes is not installed")
    # Each half has a client, and clients of an accelerator share its memory.
    halves = "2" if kit.platform == plugins.PROCESSOR else "1"
    count = -(-len(names) // GROUP)
    groups, found, broken = [names[i::count] for i in range(count)], [], []
    while groups and kit.left > 2:
        group = groups.pop(0)
        started, limit = time.monotonic(), min(GROUP_SECONDS, kit.left)
        finished = kit.run([sys.executable, "-B", __file__, halves, *group], limit)
        found += finished.rows
        missing = [name for name in group if name not in {row["name"] for row in finished.rows}]
        if missing and finished.code is None and limit < GROUP_SECONDS:
            groups.append(missing)  # the time of the part is over
        elif missing and len(group) > 1:
            half = (len(missing) + 1) // 2
            groups = [missing[:half], missing[half:], *groups]
        elif missing:
            words = "stopped at its limit" if finished.code is None else finished.output.strip()[-300:]
            status = "failed" if finished.status == "passed" else finished.status
            broken.append(missing[0])
            kit.add(missing[0], status, words, seconds=round(time.monotonic() - started, 2))
        elif finished.code or finished.code is None and limit == GROUP_SECONDS:  # after its last operation
            broken.append(group[0])
            words = runner.first_message(finished, limit)
            kit.add(f"the end of {group[0]} and {len(group) - 1} more", finished.status, words)
    report(kit, names, found, broken, sum(map(len, groups)))


def report(kit, names, found, broken, left):
    failed = [row for row in found if row["failures"]]
    for row in failed:
        data = {"failures": row["failures"], "count": row["count"]}
        kit.add(f"operation {row['name']}", "failed", row["failures"][0], data=data)
    accuracies = {row["name"]: row["ulps"] for row in found}
    words = f"{len(found) - len(failed)} of {len(names)} operations agree with NumPy"
    if left:
        kit.add("operations that had no time", "skipped", f"{left} of {len(names)}")
    kit.add(words, "passed" if not failed and not broken else "failed", words, data=accuracies)


def operations():
    """Returns the operations of c_tests by their names."""
    for folder in ("operations", "abi"):
        sys.path.insert(0, str(KIT / "c_tests" / folder))
    import ctypes_test as abi
    import ops_test

    abi.load(str(LIBRARY))
    return {operation.name: operation for subject in ops_test.SUBJECTS for operation in subject()}


def main():
    from runner import write_row

    known = operations()
    from ops_values import DTYPES

    if not sys.argv[1:]:
        write_row({"names": list(known), "dtypes": list(DTYPES)})
    else:
        write_rows([known[name] for name in sys.argv[2:]], int(sys.argv[1]))


def write_rows(group, halves):
    """Compares operations, and writes a row for each. A call that fails ends a step, so the group is divided then."""
    import ops_test
    from ops_values import DTYPES, dtypes
    from runner import write_row

    chosen = lambda operation: [each for each in dtypes(operation.takes) if each in WANTED and each in DTYPES]
    parts = [part for part in (group[i::halves] for i in range(halves)) if part]
    try:
        with ThreadPoolExecutor(len(parts)) as pool:
            done = list(pool.map(lambda part: ops_test.run(part, chosen), parts))
    except AssertionError as error:
        if len(group) == 1:
            write_row({"name": group[0].name, "ulps": {}, "failures": [str(error)[:300]], "count": 1})
            return
        middle = len(group) // 2
        write_rows(group[:middle], 1)
        write_rows(group[middle:], 1)
        return
    measured = {key: off for _, known, _ in done for key, off in known.items()}
    failures = [failure for _, _, said in done for failure in said]
    names = sorted((operation.name for operation in group), key=len, reverse=True)
    owners = {failure: next((name for name in names if is_of(failure, name)), names[0]) for failure in failures}
    for name in names:
        ulps = {dtype: off.get("lazily", 0) for (of, dtype), off in measured.items() if of == name}
        said = [failure[:300] for failure, owner in owners.items() if owner == name]
        rounded = {dtype: float(f"{off:.3g}") for dtype, off in ulps.items()}
        write_row({"name": name, "ulps": rounded, "failures": said[:MOST_FAILURES], "count": len(said)})


def is_of(failure, name):
    """Whether the text of a failure, which begins as ops_test.described, is of that operation."""
    return failure.removeprefix("again: ").startswith(f"{name} of ")


if __name__ == "__main__":
    main()
