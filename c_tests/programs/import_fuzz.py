"""Damaged programs: python import_fuzz.py /path/to/liblazyxla.so [mutations] [seed]

Bytes of the samples in data/ are changed, removed, repeated and mixed. Each result is described and imported.
Nothing may panic or be INTERNAL, and every refusal has a message; the damaged program of a failure is kept in the
current folder."""

import os
import random
import sys
from ctypes import byref, c_size_t, c_void_p
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../abi"))
import ctypes_test as lxla
from ctypes_test import Computation, ok
from fuzz_programs import DATA, damaged, sample_paths
from header import constants
from programs import options_of

REFUSALS = (constants.INVALID_ARGUMENT, constants.UNIMPLEMENTED, constants.RESOURCE_EXHAUSTED)


def check(status, data, allowed):
    message = lxla.lib.lxla_last_error_message().decode()
    if status not in allowed or (status != lxla.OK and not message):
        name = Path(f"damaged_{abs(hash(data))}.bin")
        name.write_bytes(data)
        raise AssertionError(f"{name}: {lxla.lib.lxla_status_name(status).decode()}: {message}")
    return status == lxla.OK


def main():
    lxla.load(sys.argv[1])
    mutations = int(sys.argv[2]) if len(sys.argv) > 2 else 20_000
    chosen = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    env = lxla.new_env()
    samples = [path.read_bytes() for path in sample_paths()]
    text = (DATA / "tensorflow.mlir").read_text().split()
    pieces = [word.encode() for word in text] + [b"tensor<?xf32>", b"-1", b"9223372036854775807", b"dense<", b"{", b"}"]
    shapes = options_of([(3, 4), (4, 3)])
    imported = 0
    for _ in range(mutations):
        data = damaged(chosen, samples, pieces)
        described = c_void_p()
        if check(lxla.lib.lxla_module_describe(data, len(data), byref(described)), data, (lxla.OK, *REFUSALS)):
            lxla.lib.lxla_string_free(described)
        computation = Computation()
        options = byref(shapes) if chosen.random() < 0.3 else None
        status = lxla.lib.lxla_computation_import(env, data, len(data), options, byref(computation))
        if not check(status, data, (lxla.OK, *REFUSALS)):
            continue
        imported += 1
        counts = [c_size_t() for _ in range(3)]
        ok(lxla.lib.lxla_computation_info(computation, *map(byref, counts)))
        ok(lxla.lib.lxla_computation_release(computation))
    print(f"{mutations} damaged programs, {imported} of them imported")
    assert 0 < imported < mutations


if __name__ == "__main__":
    main()
