"""Loops of training and inference compile about as rarely as in JAX, and compute nothing twice; see loops.py. Their
values are compared with JAX's by loops_jax_test.py."""

from loops import LOOPS, run

# Programs compiled in the iterations of a loop, at most: as many as JAX compiles there, and two more. The first
# iteration also runs what was recorded before it. JAX compiles each operation outside of jit on its own.
MOST = {
    "sgd": 3,
    "momentum": 3,
    "adamw_schedule": 3,
    "adam_counted_on_the_host": 35,
    "dropout": 5,
    "accumulation": 26,
    "early_stopping": 7,
    "evaluation": 5,
    "rate_argument": 4,
    "rate_outside": 11,
    "rate_of_the_loss": 7,
    "clipping": 22,
    "clipping_in_a_step": 6,
    "five_scalars": 3,
    "progress": 6,
    "losses_after": 3,
    "losses_stacked": 8,
    "averaged": 11,
    "eager": 45,
    "eager_value_and_grad": 19,
    "counters": 9,
    "best_parameters": 3,
    "checkpoints": 3,
    "largest_gradient": 11,
    "epochs": 19,
    "batches_of_numpy": 8,
    "accuracy": 9,
    "loss_scale": 12,
    "adversaries": 9,
    "target_network": 4,
    "recurrent": 3,
    "recurrent_state": 5,
    "ensemble": 5,
    "conjugate_gradients": 22,
    "jacobi": 7,
    "power_iteration": 8,
    "newton": 8,
    "newton_of_one_number": 16,
    "line_search": 8,
    "lbfgs": 8,
    "k_means": 16,
    "k_means_by_masks": 7,
    "trimmed": 6,
    "hard_examples": 8,
    "mixture": 3,
    "metropolis": 8,
    "annealing": 16,
    "bandit": 10,
    "adaptive_steps": 4,
    "heat": 11,
    "life": 17,
    "filtered": 6,
    "shrinkage": 13,
    "perceptron": 14,
    "decoder": 4,
    "sampled": 6,
    "sampled_on_the_device": 11,
    "beam_search": 3,
    "streamed": 6,
}
# Those that are compiled in a moment. Some of them share the step of `sgd`.
TRAINING = ("sgd", "evaluation", "losses_after", "counters", "checkpoints", "rate_of_the_loss", "clipping_in_a_step")
NUMERICAL = (
    "conjugate_gradients", "jacobi", "power_iteration", "newton", "newton_of_one_number", "line_search", "lbfgs",
    "k_means", "k_means_by_masks", "trimmed", "hard_examples", "adaptive_steps", "heat", "shrinkage", "perceptron",
)  # fmt: skip
INFERENCE = ("streamed",)


def compile_rarely(names):
    wrong = []
    for name in names:
        found = run(LOOPS[name])
        if found.compiled > MOST[name] or found.compiled_late:
            wrong.append(f"{name}: {found.compiled} programs, {found.compiled_late} in the later half, {MOST[name]=}")
        if found.recomputed:
            wrong.append(f"{name}: {found.recomputed} operations run again")
        if any(found.growth):
            wrong.append("{}: memory grew by {} tensors, {} bytes".format(name, *found.growth))
    assert not wrong, "\n".join(wrong)


def test_training_compiles_its_steps_in_the_first_iterations():
    compile_rarely(TRAINING)


def test_numerical_loops_that_the_host_controls_compile_in_the_first_iterations():
    compile_rarely(NUMERICAL)


def test_inference_compiles_a_program_for_each_shape():
    compile_rarely(INFERENCE)


def long_test_all_loops_compile_in_the_first_iterations():
    assert [*MOST] == [*LOOPS]
    compile_rarely(name for name in LOOPS if name not in (*TRAINING, *NUMERICAL, *INFERENCE))
