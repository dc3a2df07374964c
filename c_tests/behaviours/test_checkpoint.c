// Checkpoint policies of computations within others: T13 of docs/behaviours.md.
#include "derivatives.h"

// --- T13: lxla_computation_checkpoint ---

static lxla_computation checkpointed(lxla_computation f, int32_t policy, const char *name) {
  lxla_computation made;
  OK(lxla_computation_checkpoint(f, policy, name ? &name : NULL, name != NULL, &made));
  return owned(made);
}

// x -> tanh(tanh("h": sin(x)) w) + x, with w captured.
static lxla_computation block(lxla_tensor w) {
  const lxla_tensor x = HOLE(DIMS(2, 2)), h = marked(unary(LXLA_UNARY_SINE, x), "h");
  return traces(&x, 1, (lxla_tensor[]){add(tanh_of(product(tanh_of(h), w)), x)}, 1);
}

// sum(g(g(x)) c).
static lxla_computation twice_in_a_loss(lxla_computation g) {
  const lxla_tensor x = HOLE(DIMS(2, 2)), c = HOLE(DIMS(2, 2));
  lxla_tensor y, z;
  apply(g, &x, 1, &y, 1);
  apply(g, &y, 1, &z, 1);
  return traces(TENSORS(x, c), (lxla_tensor[]){total(mul(z, c))}, 1);
}

static const struct {
  int32_t policy;
  const char *name;
  size_t residuals;  // of twice_in_a_loss, of which x, the result of the first call, the second one, and c
} policies[] = {
    {LXLA_CHECKPOINT_SAVE_NONE, NULL, 4}, {LXLA_CHECKPOINT_SAVE_NAMED, "other", 4},
    {LXLA_CHECKPOINT_SAVE_NAMED, "h", 6}, {LXLA_CHECKPOINT_SAVE_DOTS, NULL, 6},
    {LXLA_CHECKPOINT_SAVE_ALL, NULL, 12},
};
enum { POLICIES = sizeof policies / sizeof *policies };

BOTH_TEST(t13_a_policy_of_a_computation_saves_what_it_says_of_its_inside) {
  const lxla_tensor w = DATA(DIMS(2, 2), 0.5, -1, 0.25, 2), x = DATA(DIMS(2, 2), 1, 2, -0.5, 0.75),
                    c = DATA(DIMS(2, 2), 1, 2, 3, 4), one_f32 = number_of(F32, 1);
  const lxla_computation f = block(w), plain = twice_in_a_loss(f);
  lxla_vjp_options options = vjp_defaults();
  options.captured = LXLA_ON;
  lxla_tensor want[3], got[3], v[4], y[2];
  pull(vjp_by(plain, &options), TENSORS(x, c), &one_f32, 1, want);
  apply(f, &x, 1, &y[0], 1);
  for (int i = 0; i < POLICIES; i++) {
    const lxla_computation g = checkpointed(f, policies[i].policy, policies[i].name), loss = twice_in_a_loss(g);
    apply(g, &x, 1, &y[1], 1);
    ARE_NEAR(y[1], y[0]);
    for (int32_t outer = LXLA_CHECKPOINT_SAVE_ALL; outer <= LXLA_CHECKPOINT_SAVE_NONE; outer++) {
      options.checkpoint = outer;
      const passes p = vjp_by(loss, &options);
      EQUAL(p.residuals, policies[i].residuals);
      pull(p, TENSORS(x, c), &one_f32, 1, got);
      for (int k = 0; k < 3; k++) ARE_NEAR(got[k], want[k]);
      apply(value_and_grad_by(loss, &options), TENSORS(x, c), v, 4);
      for (int k = 0; k < 3; k++) ARE_NEAR(v[1 + k], want[k]);
    }
    if (!is_native()) {
      lxla_tensor z, d[2];
      apply(loss, TENSORS(x, c), &z, 1);
      gradients(&z, 1, NULL, TENSORS(x, w), d);
      ARE_NEAR(d[0], want[0]);
      ARE_NEAR(d[1], want[2]);
    }
  }
}

// A scan over g, whose backward pass reads the stack of what is saved in each iteration.
static lxla_computation scanned(lxla_computation g) {
  const lxla_tensor x = HOLE(DIMS(2, 2));
  lxla_tensor end;
  scan(g, &x, 1, NULL, 0, 3, 0, &end, NULL, 0);
  return traces(&x, 1, (lxla_tensor[]){total(end)}, 1);
}

BOTH_TEST(t13_policies_in_scans_batches_and_derivatives_of_derivatives) {
  const lxla_tensor w = DATA(DIMS(2, 2), 0.5, -1, 0.25, 2), x = DATA(DIMS(2, 2), 1, 2, -0.5, 0.75),
                    t = DATA(DIMS(2, 2), 1, -1, 2, 3);
  const lxla_tensor rows = DATA(DIMS(3, 2, 2), 1, 2, -0.5, 0.75, 0, 1, 2, 3, -1, -2, 0.5, 0.25);
  const lxla_computation f = block(w), loop = scanned(f);
  lxla_vjp_options options = vjp_defaults();
  options.captured = LXLA_ON;
  const size_t all = vjp_by(loop, &options).residuals;
  lxla_tensor want[5][6], got[6];
  for (int i = -1; i < POLICIES; i++) {
    const lxla_computation g = i < 0 ? f : checkpointed(f, policies[i].policy, policies[i].name),
                           of = i < 0 ? loop : scanned(g);
    const lxla_computation df = value_and_grad_by(of, &options);
    const lxla_tensor a = HOLE(DIMS(2, 2));
    lxla_tensor made[3];
    apply(df, &a, 1, made, 3);
    // Gradients; tangents; both of a batch; second derivatives, in reverse and in forward mode.
    const lxla_computation second = traces(&a, 1, (lxla_tensor[]){total(mul(made[1], made[1]))}, 1);
    const struct {
      lxla_computation what;
      lxla_tensor args[2];
      size_t n, results;
    } cases[] = {
        {df, {x}, 1, 3},
        {jvp(of, NULL, 0), {x, t}, 2, 2},
        {vmap(df, LIST(int64_t, 0), LIST(int64_t, 0, 0, 0), 3), {rows}, 1, 3},
        {value_and_grad(second), {x}, 1, 2},
        {jvp(df, NULL, 0), {x, t}, 2, 6},
    };
    for (int k = 0; k < 5; k++) {
      apply(cases[k].what, cases[k].args, cases[k].n, i < 0 ? want[k] : got, cases[k].results);
      for (size_t j = 0; i >= 0 && j < cases[k].results; j++) ARE_NEAR(got[j], want[k][j]);
    }
    if (i < 0) continue;
    // The forward pass stacks the carry and the values that the policy saves.
    const size_t residuals = vjp_by(of, &options).residuals;
    EQUAL(residuals, policies[i].residuals / 2 - 1);
    CHECK(residuals < all || policies[i].policy == LXLA_CHECKPOINT_SAVE_ALL);
    // The derivative of a batch, and reverse mode over forward mode, have the policy too.
    const lxla_tensor many = HOLE(DIMS(3, 2, 2)), b = HOLE(DIMS(2, 2));
    lxla_tensor y, pair[2];
    apply(vmap(g, LIST(int64_t, 0), LIST(int64_t, 0), 3), &many, 1, &y, 1);
    const lxla_computation over = traces(&many, 1, (lxla_tensor[]){total(y)}, 1);
    EQUAL(vjp_by(over, &options).residuals, policies[i].residuals / 2 - 1);
    apply(jvp(g, NULL, 0), TENSORS(a, b), pair, 2);
    const size_t of_tangent = vjp_by(traces(TENSORS(a, b), (lxla_tensor[]){total(pair[1])}, 1), &options).residuals;
    if (policies[i].policy == LXLA_CHECKPOINT_SAVE_NONE) EQUAL(of_tangent, 2);
  }
}

// A policy within another one: each holds inside of its own computation.
BOTH_TEST(t13_policies_nest) {
  const lxla_tensor w = DATA(DIMS(2, 2), 0.5, -1, 0.25, 2), x = DATA(DIMS(2, 2), 1, 2, -0.5, 0.75),
                    c = DATA(DIMS(2, 2), 1, 2, 3, 4), one_f32 = number_of(F32, 1);
  const lxla_computation f = block(w), plain = twice_in_a_loss(f);
  lxla_tensor want[2], got[2];
  pull(vjp_by(plain, NULL), TENSORS(x, c), &one_f32, 1, want);
  const lxla_computation none_of_f = checkpointed(f, LXLA_CHECKPOINT_SAVE_NONE, NULL),
                         all_of_f = checkpointed(f, LXLA_CHECKPOINT_SAVE_ALL, NULL);
  const struct {
    lxla_computation what;
    size_t residuals;
  } cases[] = {
      {checkpointed(twice_in_a_loss(none_of_f), LXLA_CHECKPOINT_SAVE_NONE, NULL), 4},
      {checkpointed(twice_in_a_loss(all_of_f), LXLA_CHECKPOINT_SAVE_NONE, NULL), 10},
      {checkpointed(twice_in_a_loss(none_of_f), LXLA_CHECKPOINT_SAVE_ALL, NULL), 4},
      {twice_in_a_loss(checkpointed(all_of_f, LXLA_CHECKPOINT_SAVE_NONE, NULL)), 10},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const passes p = vjp_by(cases[i].what, NULL);
    EQUAL(p.residuals, cases[i].residuals);
    pull(p, TENSORS(x, c), &one_f32, 1, got);
    for (int k = 0; k < 2; k++) ARE_NEAR(got[k], want[k]);
  }
}

// Rules stay: of clipping, of a jvp; a rule can be given to a computation with a policy.
BOTH_TEST(t13_a_computation_with_a_policy_keeps_its_rules) {
  const lxla_tensor x = HOLE(DIMS(2)), c = HOLE(DIMS(2)), a = DATA(DIMS(2), 1, 2), by = DATA(DIMS(2), 1, 10),
                    y = unary(LXLA_UNARY_SINE, x);
  const lxla_computation primal = traces(&x, 1, &y, 1), forward = traces(&x, 1, TENSORS(y, x)),
                         tangents = traces(TENSORS(x, c), TENSORS(y, times(mul(x, c), 100)));
  const lxla_computation backward = traces(TENSORS(x, c), (lxla_tensor[]){times(mul(x, c), 10)}, 1);
  lxla_computation made[2];
  OK(lxla_computation_with_jvp(primal, tangents, &made[0]));
  const lxla_computation with_policy = checkpointed(owned(made[0]), LXLA_CHECKPOINT_SAVE_NONE, NULL);
  OK(lxla_computation_with_vjp(with_policy, forward, backward, &made[1]));
  const lxla_computation both[] = {owned(made[1]), checkpointed(made[1], LXLA_CHECKPOINT_SAVE_NONE, NULL)};
  lxla_tensor v[2], z;
  apply(jvp(with_policy, NULL, 0), TENSORS(a, by), v, 2);
  IS(v[1], DIMS(2), 100, 2000);
  for (int i = 0; i < 2; i++) {
    apply(both[i], &x, 1, &z, 1);
    apply(value_and_grad(traces(&x, 1, (lxla_tensor[]){total(z)}, 1)), &a, 1, v, 2);
    IS(v[1], DIMS(2), 10, 20);
    apply(jvp(both[i], NULL, 0), TENSORS(a, by), v, 2);
    IS(v[1], DIMS(2), 100, 2000);
  }
}

// Memory of the gradient of eight blocks x + tanh(x W1) W2, whose insides are 32 times as large as their results.
static int64_t temporary(int32_t policy, lxla_tensor *dx) {
  enum { BLOCKS = 8, ROWS = 64, WIDTH = 16, HIDDEN = 512 };
  const lxla_tensor x = HOLE(DIMS(ROWS, WIDTH)), w1 = HOLE(DIMS(WIDTH, HIDDEN)), w2 = HOLE(DIMS(HIDDEN, WIDTH));
  lxla_computation f = traces(TENSORS(x, w1, w2), (lxla_tensor[]){add(x, product(tanh_of(product(x, w1)), w2))}, 1);
  if (policy) f = checkpointed(f, policy, NULL);
  float values[WIDTH * HIDDEN];
  for (int i = 0; i < WIDTH * HIDDEN; i++) values[i] = (float)((i * 7) % 13 - 6) / 64;
  const lxla_tensor start = own(array(F32, DIMS(ROWS, WIDTH), values, ROWS * WIDTH * sizeof *values));
  const lxla_tensor a = own(array(F32, DIMS(WIDTH, HIDDEN), values, sizeof values)),
                    b = own(array(F32, DIMS(HIDDEN, WIDTH), values, sizeof values));
  lxla_tensor y = start, of;
  for (int i = 0; i < BLOCKS; i++) apply(f, TENSORS(y, a, b), &y, 1);
  const lxla_tensor loss = total(mul(y, y));
  OK(lxla_gradients(&loss, 1, NULL, &start, 1, &of));
  lxla_memory_stats stats = {.struct_size = sizeof stats};
  OK(lxla_compiled_memory(env, device, &of, 1, &stats));
  *dx = total(mul(own(of), of));
  return (int64_t)stats.temp_bytes;
}

XLA_TEST(t13_memory_falls_by_what_is_computed_again) {
  lxla_tensor d[3];
  const int64_t all = temporary(0, &d[0]), none_saved = temporary(LXLA_CHECKPOINT_SAVE_NONE, &d[1]),
                saved = temporary(LXLA_CHECKPOINT_SAVE_ALL, &d[2]);
  const int64_t inside = 64 * 512 * 4;
  CHECK(all > 8 * inside && saved > 8 * inside);
  CHECK(none_saved < 4 * inside);
  ARE_NEAR(d[1], d[0]);
  ARE_NEAR(d[2], d[0]);
}

// Results that are parameters, integers, and a parameter without a gradient.
BOTH_TEST(t13_results_that_are_parameters_and_integers_pass) {
  const lxla_tensor x = HOLE(DIMS(2)), n = hole_of(S32, DIMS(2)), unused = HOLE(DIMS(2)), a = DATA(DIMS(2), 3, 4),
                    k = own(ARRAY(S32, int32_t, DIMS(2), 5, 6));
  lxla_tensor as_float, y[4], v[6];
  OK(lxla_convert(n, F32, &as_float));
  const lxla_computation f = traces(TENSORS(x, n, unused), TENSORS(x, n, mul(mul(x, x), own(as_float)), tanh_of(x)));
  const lxla_computation g = checkpointed(f, LXLA_CHECKPOINT_SAVE_NONE, NULL);
  apply(g, TENSORS(a, k, a), y, 4);
  IS(y[0], DIMS(2), 3, 4);
  OK(lxla_tensor_retain(y[1]));
  HAS(y[1], S32, int32_t, DIMS(2), 5, 6);
  apply(g, TENSORS(x, n, unused), y, 4);
  const lxla_computation loss = traces(TENSORS(x, n, unused), (lxla_tensor[]){total(add(times(y[0], 100), y[2])), y[1]},
                                       2),
                         df = value_and_grad(loss);
  apply(df, TENSORS(a, k, a), v, 4);
  IS(v[2], DIMS(2), 100 + 30, 100 + 48);
  IS(v[3], DIMS(2), 0, 0);
  // One tensor as two arguments.
  const lxla_computation product_of = checkpointed(
      traces(TENSORS(x, unused), (lxla_tensor[]){mul(x, tanh_of(unused))}, 1), LXLA_CHECKPOINT_SAVE_NONE, NULL);
  apply(product_of, TENSORS(x, x), y, 1);
  apply(value_and_grad(traces(&x, 1, (lxla_tensor[]){total(y[0])}, 1)), (lxla_tensor[]){DATA(DIMS(2), 0.5, 0)}, 1, v,
        2);
  IS_NEAR(v[1], DIMS(2), tanh(0.5) + 0.5 * (1 - tanh(0.5) * tanh(0.5)), 0);
}

// Steps of training by gradients of pending calls, which are copied from the second step on.
XLA_TEST(t13_gradients_of_calls_with_a_policy_in_steps) {
  const lxla_tensor hole = HOLE(DIMS(2, 2)), by = HOLE(DIMS(2, 2)), x = DATA(DIMS(2, 2), 1, 2, -0.5, 0.75);
  const lxla_computation f = traces(TENSORS(hole, by), (lxla_tensor[]){tanh_of(product(tanh_of(hole), by))}, 1);
  const lxla_computation each[] = {f, checkpointed(f, LXLA_CHECKPOINT_SAVE_NONE, NULL)};
  lxla_tensor w[2];
  for (int i = 0; i < 2; i++) w[i] = DATA(DIMS(2, 2), 0.5, -1, 0.25, 2);
  for (int step = 0; step < 4; step++) {
    for (int i = 0; i < 2; i++) {
      lxla_tensor y = x, loss;
      for (int k = 0; k < 3; k++) {
        OK(lxla_computation_call(each[i], (lxla_tensor[]){y, w[i]}, 2, &loss, 1));
        y = own(loss);
      }
      OK(lxla_binary_inplace(SUB, w[i], times(gradient(total(mul(y, y)), w[i]), 0.1)));
    }
    OK(lxla_mark_step(env, device, 0));
    ARE_NEAR(w[1], w[0]);
  }
}

BOTH_TEST(t13_bad_policies_are_named) {
  const lxla_tensor x = HOLE(SCALAR);
  const lxla_computation f = traces(&x, 1, (lxla_tensor[]){times(x, 2)}, 1), none_c = {0};
  lxla_computation c = {77};
  const char *const names[] = {"a", NULL};
  REFUSED(lxla_computation_checkpoint(none_c, 1, NULL, 0, &c), LXLA_INVALID_HANDLE, "f");
  REFUSED(lxla_computation_checkpoint(f, 0, NULL, 0, &c), BAD,
          "policy: 0 is not an LXLA_CHECKPOINT_* constant (valid: 1 to 4)");
  REFUSED(lxla_computation_checkpoint(f, 5, NULL, 0, &c), BAD,
          "policy: 5 is not an LXLA_CHECKPOINT_* constant (valid: 1 to 4)");
  REFUSED(lxla_computation_checkpoint(f, 5, names, 2, &c), BAD, "policy: 5 is not");  // before the names are read
  REFUSED(lxla_computation_checkpoint(f, LXLA_CHECKPOINT_SAVE_NONE, names, 1, &c), BAD,
          "saved_names: given without the policy LXLA_CHECKPOINT_SAVE_NAMED");
  REFUSED(lxla_computation_checkpoint(f, LXLA_CHECKPOINT_SAVE_NAMED, names, 2, &c), LXLA_NULL_ARGUMENT, "saved_names");
  REFUSED(lxla_computation_checkpoint(f, LXLA_CHECKPOINT_SAVE_NAMED, NULL, 1, &c), LXLA_NULL_ARGUMENT, "saved_names");
  REFUSED(lxla_computation_checkpoint(f, LXLA_CHECKPOINT_SAVE_NONE, NULL, 0, NULL), LXLA_NULL_ARGUMENT,
          "out_computation");
  EQUAL(c.id, 77);
}

WITHOUT_PLUGIN(native_checkpoints_load_no_plugin, t13_a_policy_of_a_computation_saves_what_it_says_of_its_inside_run)
