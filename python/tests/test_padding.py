"""``pad`` in every mode of NumPy's, against NumPy's values."""

import numpy as np
from common import DEVICES, in_one_step, on, raises, random, same

import lazyxla as lx

STATISTICS = ("maximum", "minimum", "mean", "median")


def options(mode, rank):
    """Returns keyword arguments of a mode, for arrays of a rank."""
    if mode in ("reflect", "symmetric"):
        return [{}, {"reflect_type": "odd"}]
    if mode in STATISTICS:
        return [{}, {"stat_length": 1}, {"stat_length": (1, 2)}, {"stat_length": ((2, 1),) * rank}]
    if mode == "linear_ramp":
        return [{}, {"end_values": 3}, {"end_values": (1, -2)}, {"end_values": ((4, -2),) * rank}]
    return [{"constant_values": (1, 0)}, {"constant_values": ((1, 0),) * rank}, {"constant_values": 1}]


@in_one_step
def test_modes_have_numpys_values():
    arrays = [
        (random(1, (3, 4)), ((1, (2, 3), ((5, 7), (0, 1))))),
        (random(2, (4, 3), "int32"), (1, (2, 3))),
        (random(3, (1,)), (1, (3, 2))),
        (random(4, (33_000,)), ((2, 1),)),
        (random(5, (2, 1, 3), "float64"), ((1, 2),)),
    ]
    for a, widths in arrays:
        for device in DEVICES if a.shape == (3, 4) else DEVICES[:1]:
            x = on(a, device)
            for width in widths:
                for mode in ("edge", "reflect", "symmetric", "wrap", "linear_ramp", "constant", *STATISTICS):
                    for given in [{}] if mode in ("edge", "wrap") else options(mode, a.ndim):
                        same(lx.pad(x, width, mode, **given), np.pad(a, width, mode, **given), 1e-5)
    assert lx.pad(lx.asarray([7]), 1, "empty").tolist() == [0, 7, 0]
    for a in (np.uint64([2**63 + 4096, 3]), np.int64([-(2**62), 2**62])):
        same(lx.pad(on(a, "cpu"), 2, "linear_ramp"), np.pad(a, 2, "linear_ramp"))
    for value, device in ((3.0, "xla:0"), (3, "cpu")):
        made = lx.pad(
            lx.ones(1, device="cpu" if device == "xla:0" else "xla:0"),
            1,
            constant_values=lx.asarray(value, device=device),
        )
        assert made.tolist() == [3, 1, 3]
    small = lx.ones(1, dtype=lx.int8, device="cpu")
    assert lx.pad(small, 1, value=lx.asarray(3, device="cpu")).tolist() == [3, 1, 3]
    raises(OverflowError, lambda: lx.pad(small, 1, value=lx.asarray(300, device="cpu")), "300")
    for value in (0.5, lx.asarray(0.5, device="cpu"), (0.5, 1)):
        raises(ValueError, lambda: lx.pad(small, 1, value=value), "0.5", "int8")
    assert lx.pad(small, 1, value=(3.0, 2)).tolist() == [3, 1, 2]
    pair = lx.pad(lx.asarray([1.0], device="cpu"), 1, value=lx.asarray([3.0, 4.0], device="cpu"))
    assert pair.tolist() == [3, 1, 4]
    nan = np.float32([np.nan, 1, 2])
    for mode in STATISTICS:
        same(lx.pad(on(nan, "cpu"), 1, mode), np.pad(nan, 1, mode))


def test_values_may_be_arrays_that_are_not_read():
    for device in DEVICES:
        x, fill = on(np.float32([[1, 2], [3, 4]]), device), on(np.float32(9), device)
        same(lx.jit(lambda x, fill: lx.pad(x, 1, constant_values=fill))(x, fill), np.pad(x, 1, constant_values=9))
        ramp = lx.jit(lambda x, end: lx.pad(x, 2, "linear_ramp", end_values=(end, 0)))(x, fill)
        same(ramp, np.pad(x, 2, "linear_ramp", end_values=(9, 0)), 1e-6)
        assert lx.grad(lambda v: lx.sum(lx.pad(x, 1, constant_values=v)))(fill).item() == 12
        assert lx.grad(lambda x: lx.sum(lx.pad(x, ((0, 0), (1, 0)), "mean")))(x).tolist() == [[1.5, 1.5], [1.5, 1.5]]


def test_arguments_that_fit_no_array_are_named():
    x = lx.zeros((2, 3))
    raises(ValueError, lambda: lx.pad(x, 1, "full"), "mode", "'full'", "linear_ramp")
    raises(ValueError, lambda: lx.pad(x, 1, "mean", stat_length=0), "stat_length", "0")
    raises(TypeError, lambda: lx.pad(x, 1, constant_values=((1, 2),) * 3), "constant_values", "2 axes")
    raises(TypeError, lambda: lx.pad(x, 1, "linear_ramp", end_values="a"), "end_values", "str")
    raises(ValueError, lambda: lx.pad(x, 1, "reflect", reflect_type="both"), "reflect_type", "'both'")
    raises(ValueError, lambda: lx.pad(lx.zeros(0), 1, "maximum"), "axis 0")
