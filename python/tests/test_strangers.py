"""Programs of tutorials have NumPy's values, on both devices, and compile as rarely as is written; see strangers.py."""

import gc

import numpy as np
import optree
import strangers
from common import DEVICES, on

import lazyxla as lx


def run(name, device):
    """Returns the results of a program as arrays of NumPy, and the number of programs that were compiled."""
    gc.collect()
    lx.step(wait=True)
    before = lx.counter("UncachedCompile")
    with lx.use_device(device):
        made = getattr(strangers, name)(lx, lambda values: on(values, device))
        leaves = optree.tree_leaves(made)
        lx.step()
        found = [np.asarray(leaf) for leaf in leaves]
    return found, lx.counter("UncachedCompile") - before


def compare(name):
    wanted = [np.asarray(leaf) for leaf in optree.tree_leaves(getattr(strangers, name)(np, np.array))]
    for device in DEVICES:
        found, compiled = run(name, device)
        assert len(found) == len(wanted), (name, device)
        for i, (ours, theirs) in enumerate(zip(found, wanted)):
            assert ours.shape == theirs.shape, (name, device, i, ours.shape, theirs.shape)
            np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-7, err_msg=f"{name} on {device}, result {i}")
        assert compiled <= (0 if device == "cpu" else strangers.MOST[name]), (name, device, compiled)


def test_programs_of_numpy_have_its_values():
    for name in ("fitted_line", "mandelbrot", "compressed_image", "equalized_image", "missing_values", "page_rank"):
        compare(name)


def test_programs_of_signals_and_grids_have_numpys_values():
    for name in ("filtered_signal", "newton_basins"):
        compare(name)


def test_programs_of_machine_learning_have_numpys_values():
    for name in ("principal_components", "nearest_neighbours", "naive_bayes", "softmax_regression"):
        compare(name)


def test_every_program_is_run():
    programs = {name for name, each in vars(strangers).items() if getattr(each, "__module__", "") == "strangers"}
    assert programs == strangers.MOST.keys()
