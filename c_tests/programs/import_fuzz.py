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
from header import constants
from programs import options_of

REFUSALS = (constants.INVALID_ARGUMENT, constants.UNIMPLEMENTED, constants.RESOURCE_EXHAUSTED)
DATA = Path(__file__).resolve().parent / "data"


def damaged(chosen, samples, pieces):
    """Returns a program with some changes."""
    data = bytearray(chosen.choice(samples))
    for _ in range(chosen.choice((1, 1, 2, 4, 16))):
        at = chosen.randrange(len(data) + 1)
        length = min(chosen.choice((1, 1, 2, 8, 64)), len(data) - at)
        kind = chosen.randrange(6)
        if kind == 0 and length:
            data[at] ^= 1 << chosen.randrange(8)
        elif kind == 1 and length:
            data[at] = chosen.choice((0, 1, 0x7F, 0x80, 0xFF, ord("<"), ord("("), ord("9")))
        elif kind == 2:
            del data[at : at + length]
        elif kind == 3:
            data[at:at] = data[at : at + length] * chosen.choice((1, 2, 50))
        elif kind == 4:
            data[at : at + length] = chosen.choice(pieces)
        else:
            other = chosen.choice(samples)
            start = chosen.randrange(len(other))
            data[at : at + length] = other[start : start + length]
    return bytes(data)


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
    paths = [path for path in sorted(DATA.rglob("*")) if path.suffix in (".jax", ".mlirbc", ".mlir", ".bytecode")]
    samples = [path.read_bytes() for path in paths]
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
