"""Bits as elements of another dtype, twice, with operations between that XLA removes: against NumPy's views."""

import numpy as np
from common import DEVICES, on, random

import lazyxla as lx

BYTES = np.random.default_rng(1).integers(0, 256, (2, 3, 8)).astype("uint8")
# Operations that XLA's simplifier removes, of integers.
IDENTITIES = {
    "none": lambda x: x,
    "+ 0": lambda x: x + 0,
    "* 1": lambda x: x * 1,
    "-(-x)": lambda x: -(-x),
    "xor twice": lambda x: (x ^ 7) ^ 7,
    "two transposes": lambda x: lx.permute_dims(lx.permute_dims(x, (1, 0)), (1, 0)),
    "two flips": lambda x: lx.flip(lx.flip(x, axis=0), axis=0),
    "a slice of all": lambda x: x[0:2],
    "concat of one": lambda x: lx.concat([x], axis=0),
    "where": lambda x: lx.where(lx.ones(3, dtype=lx.bool, device=x.device), x, 0),
    "reshapes": lambda x: lx.reshape(lx.reshape(x, (6,)), (2, 3)),
}


def check(found, wanted, name):
    found = np.asarray(found)
    assert found.dtype == wanted.dtype and found.shape == wanted.shape, (name, found.dtype, found.shape, wanted.shape)
    assert found.tobytes() == wanted.tobytes(), name


def test_bits_of_bits_with_operations_between_that_do_nothing():
    for device in DEVICES:
        x = on(BYTES, device)
        for name, identity in IDENTITIES.items():
            for wide, narrow in ((lx.int64, "uint8"), (lx.int64, "uint16"), (lx.int64, "float32")):

                def twice(x, identity=identity, wide=wide, narrow=narrow):
                    return lx.bitcast(identity(lx.bitcast(x, wide)), narrow)

                wanted = BYTES.view(narrow).reshape(2, 3, -1)
                check(twice(x), wanted, name)
                check(lx.jit(twice)(x), wanted, f"{name}, jitted")
                if name in ("none", "+ 0", "-(-x)"):
                    check(lx.vmap(twice)(x), wanted, f"{name}, batched")


def test_bits_of_complex_numbers_that_bits_have_made():
    for device in DEVICES:
        for shape in ((3, 1, 4), (0, 4), (4,), (9000, 4)):
            a = random(2, shape, "float32")
            for made, numbers in ((lx.complex128, "complex128"), (lx.complex64, "complex64")):
                x = on(a if made == lx.complex128 else a[..., :2].copy(), device)
                bits = np.asarray(x)
                size = np.dtype(numbers).itemsize
                bytes_of = bits.reshape(-1).view("uint8").reshape(*shape[:-1], size)
                check(lx.bitcast(lx.bitcast(x, made), lx.uint8), bytes_of, numbers)
                halves = lx.bitcast(lx.real(lx.conj(lx.bitcast(x, made))), lx.uint8)
                check(halves, bytes_of[..., : size // 2], f"the real part of {numbers}")


def test_bits_in_loops_and_branches():
    for device in DEVICES:
        x = on(BYTES, device)

        def body(carry, _):
            wide = lx.bitcast(carry, lx.int64)
            return lx.bitcast(wide + 0, lx.uint8), wide

        last, wides = lx.scan(body, x, length=3)
        check(last, BYTES, "scan")
        check(wides, np.broadcast_to(BYTES.view("int64")[..., 0], (3, 2, 3)), "stacked")
        chosen = lx.cond(
            lx.asarray(True, device=device),
            lambda x: lx.bitcast(x, lx.uint16),
            lambda x: lx.bitcast(x + 1, lx.uint16),
            lx.bitcast(x, lx.int64),
        )
        check(chosen, BYTES.view("uint16"), "cond")
