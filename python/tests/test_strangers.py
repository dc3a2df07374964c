"""Programs of tutorials have NumPy's values, on both devices, and compile as rarely as is written; see strangers.py,
strangers_more.py and strangers_jax.py."""

import gc
import inspect

import numpy as np
import optree
import strangers
import strangers_jax
import strangers_more
from common import DEVICES, on

import lazyxla as lx

MODULES = (strangers, strangers_more, strangers_jax)
# The function of each program, and the number of programs that it compiles at most.
PROGRAMS = {name: (getattr(module, name), most) for module in MODULES for name, most in module.MOST.items()}


def run(name, device):
    """Returns the results of a program as arrays of NumPy, and the number of programs that were compiled."""
    gc.collect()
    lx.step(wait=True)
    before = lx.counter("UncachedCompile")
    with lx.use_device(device):
        made = PROGRAMS[name][0](lx, lambda values: on(values, device))
        leaves = optree.tree_leaves(made)
        lx.step()
        found = [np.asarray(leaf) for leaf in leaves]
    return found, lx.counter("UncachedCompile") - before


def compare(name):
    wanted = [np.asarray(leaf) for leaf in optree.tree_leaves(PROGRAMS[name][0](np, np.array))]
    for device in DEVICES:
        found, compiled = run(name, device)
        assert len(found) == len(wanted), (name, device)
        for i, (ours, theirs) in enumerate(zip(found, wanted)):
            assert ours.shape == theirs.shape, (name, device, i, ours.shape, theirs.shape)
            np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-7, err_msg=f"{name} on {device}, result {i}")
        assert compiled <= (0 if device == "cpu" else PROGRAMS[name][1]), (name, device, compiled)


def test_programs_of_numpy_have_its_values():
    for name in ("fitted_line", "mandelbrot", "compressed_image", "equalized_image", "missing_values", "page_rank"):
        compare(name)


def test_programs_of_signals_and_grids_have_numpys_values():
    for name in ("filtered_signal", "newton_basins"):
        compare(name)


def test_programs_of_machine_learning_have_numpys_values():
    for name in ("principal_components", "nearest_neighbours", "naive_bayes", "softmax_regression"):
        compare(name)


def test_simulations_have_numpys_values():
    for name in ("heat_equation", "game_of_life", "lorenz", "finite_elements", "newton_by_hessian"):
        compare(name)


def test_programs_of_images_chains_and_prices_have_numpys_values():
    for name in ("image_filters", "markov_chain", "gram_schmidt", "bootstrap", "moving_averages"):
        compare(name)


def test_estimators_by_hand_have_numpys_values():
    for name in ("gaussian_process", "mixture_by_em", "pca_by_svd", "tsne", "recommender", "logistic_regression"):
        compare(name)


def test_sequences_have_numpys_values():
    for name in ("padded_sequences", "beam_search", "viterbi", "kalman_filter"):
        compare(name)


def test_programs_of_jax_train_and_estimate():
    for name in ("option_prices", "word_vectors", "policy_gradient", "loss_scaling"):
        compare(name)


def test_every_program_is_run():
    """Each function of a module has a number of compiles, and a test names it."""
    tests = "".join(inspect.getsource(each) for name, each in globals().items() if name.startswith("test_"))
    for module in MODULES:
        programs = {name for name, each in vars(module).items() if getattr(each, "__module__", "") == module.__name__}
        assert programs - {"rng"} == module.MOST.keys()
        assert all(f'"{name}"' in tests for name in programs - {"rng"})
