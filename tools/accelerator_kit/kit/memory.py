"""Memory of the device: memory.py donation | flat | exhausted PLATFORM, or memory.py bandwidth."""

import json
import resource
import sys
import time

import lazyxla as lx
import numpy as np
from devices import stats_of
from runner import write_row

MIB = 1 << 20


def counters():
    return json.loads(lx._core.metrics_json())["counters"]


def in_use():
    """Bytes that the device says are in use, else the bytes that the library counts."""
    stats = stats_of()
    return stats["bytes_in_use"] if stats and "bytes_in_use" in stats else counters()["LiveBytes"]


def donation():
    """An array of 64 MiB that is updated in place takes its memory once."""
    x = lx.ones(16 * MIB, dtype=lx.float32)
    lx.step()
    float(x[0])
    before, stats, most = in_use(), stats_of(), 0
    for _ in range(10):
        x = x * 0.5 + 1
        lx.step()
        float(x[0])
        most = max(most, in_use())
    row = {"before": before, "most": most, "seen_by": "device" if stats else "library", "stats": stats_of()}
    row["donated"] = counters()["DonatedBuffers"]
    write_row(row)
    assert row["donated"] >= 10, f"{row['donated']} buffers were donated in 10 steps"
    assert most < before + 16 * MIB, f"{before} bytes before the steps, up to {most} after"


def flat():
    """1,000 steps leave no memory behind, on the device and in the process."""
    w, seen = lx.ones((64, 64)), []
    for step in range(1000):
        w = lx.tanh(w @ w) * 0.1 + 1
        lx.step()
        if step % 200 == 199:
            float(w[0, 0])
            time.sleep(0.2)  # arguments are freed by a thread of the plugin
            seen.append((in_use(), resident()))
    write_row({"device_bytes": [each[0] for each in seen], "process_bytes": [each[1] for each in seen]})
    assert seen[-1][0] <= seen[0][0] + MIB, f"device memory after each 200 steps: {[each[0] for each in seen]}"
    assert seen[-1][1] <= seen[0][1] + 32 * MIB, f"process memory after each 200 steps: {[each[1] for each in seen]}"


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def exhausted(platform):
    """Memory that is not there is an error, after which the device computes on, and the values from before are kept."""
    kept = lx.arange(1000, dtype=lx.float32) * 2
    lx.step()
    limit = (stats_of() or {}).get("bytes_limit")
    if platform == "cpu":
        # The kernel would give a processor's plugin more memory than there is, and end the process later.
        used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        limit = 1 << 30
        resource.setrlimit(resource.RLIMIT_AS, (used + limit, resource.getrlimit(resource.RLIMIT_AS)[1]))
    if not limit:
        write_row({"limit": None})
        sys.exit("the plugin does not say how much memory the device has (bytes_limit)")
    step, held, said = limit // 4 // 4, [], ""
    try:
        for i in range(12):
            held.append(lx.full(step, float(i)) + lx.arange(step, dtype=lx.float32))
            lx.step()
            float(held[-1][0])
    except (MemoryError, RuntimeError, OSError) as error:
        said = f"{type(error).__name__}: {error}"
    write_row({"limit": limit, "arrays": len(held), "message": said[:600]})
    held.clear()
    assert said, f"12 arrays of a quarter of {limit} bytes were computed"
    assert "RESOURCE_EXHAUSTED" in said or "memory" in said.lower(), said
    total = float(lx.sum(kept))
    assert total == 999000.0, f"the sum of a kept array is {total}, want 999000"


def bandwidth():
    """GB/s of 64 MiB to the device and back, the best of five."""
    host = np.arange(16 * MIB, dtype=np.float32)
    up, down = [], []
    for _ in range(5):
        start = time.perf_counter()
        x = lx.asarray(host, copy=True)
        float(x[-1])
        up.append(time.perf_counter() - start)
        y = x + 0
        lx.step()
        float(y[-1])
        start = time.perf_counter()
        back = np.asarray(y)
        down.append(time.perf_counter() - start)
        assert np.array_equal(back[::4097], host[::4097])
    write_row({"to_device_gb_s": round(0.0671 / min(up), 2), "to_host_gb_s": round(0.0671 / min(down), 2)})


if __name__ == "__main__":
    if sys.argv[1] == "exhausted":
        exhausted(sys.argv[2])
    else:
        {"donation": donation, "flat": flat, "bandwidth": bandwidth}[sys.argv[1]]()
