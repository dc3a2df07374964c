// Gradients of pending tensors; derivatives of computations: values, checkpoints, second derivatives; what is refused:
// T1, T2, T3, T5 and T9 of docs/behaviours.md.
#include "derivatives.h"

// --- T1: gradients of pending tensors ---

XLA_TEST(t1_gradients_of_pending_tensors_equal_those_by_hand) {
  const lxla_tensor x = DATA(DIMS(2, 3), 1, -2, 0.5, 0.25, 1.5, -1), target = DATA(DIMS(2, 1), 0.5, -1);
  const lxla_tensor w1 = DATA(DIMS(3, 4), 0.1, -0.2, 0.3, 0.4, 0.5, 0.6, -0.7, 0.8, 0.9, -1, 0.11, 0.12);
  const lxla_tensor w2 = DATA(DIMS(4, 1), 0.3, -0.6, 0.9, 0.2), none_of_it = DATA(DIMS(2), 1, 2);
  const lxla_tensor h = tanh_of(product(x, w1)), error = subtract(product(h, w2), target),
                    loss = total(mul(error, error));
  // The derivative by hand.
  const lxla_tensor de = times(error, 2), dw2 = product(transposed(h), de), dh = product(de, transposed(w2));
  const lxla_tensor dz = mul(dh, plus(times(mul(h, h), -1), 1)), dw1 = product(transposed(x), dz);
  lxla_tensor g[5];
  gradients(&loss, 1, NULL, TENSORS(w1, w2, h, error, none_of_it), g);
  EQUAL(state_of(g[0]), LXLA_STATE_PENDING);
  ARE_NEAR(g[0], dw1);
  ARE_NEAR(g[1], dw2);
  ARE_NEAR(g[2], dh);  // an interior value
  ARE_NEAR(g[3], de);
  IS(g[4], DIMS(2), 0, 0);
}

XLA_TEST(t1_several_ys_with_cotangents) {
  const lxla_tensor x = DATA(DIMS(2), 1, 2), square = mul(x, x), cube = total(mul(square, x)),
                    c[] = {DATA(DIMS(2), 10, 100), number_of(F32, 2)};
  const lxla_tensor of_square = total(square), of_x = total(x);
  // All of them are recorded before the first read, which leaves `square` without its operation.
  lxla_tensor weighted, g[3], itself, by_pending;
  gradients(TENSORS(square, cube), c, &x, 1, &weighted);
  // Without cotangents: scalars with cotangent 1. One x may be given twice, depend on another one, and be a y.
  gradients(TENSORS(of_square, of_x), NULL, TENSORS(x, square, x), g);
  gradients(&of_x, 1, NULL, &of_x, 1, &itself);
  gradients(&square, 1, &square, &x, 1, &by_pending);
  IS(weighted, DIMS(2), 10 * 2 + 2 * 3, 100 * 4 + 2 * 12);
  IS(g[0], DIMS(2), 3, 5);
  IS(g[1], DIMS(2), 1, 1);
  IS(g[2], DIMS(2), 3, 5);
  IS(itself, SCALAR, 1);
  IS(by_pending, DIMS(2), 2, 16);
}

XLA_TEST(t1_gradients_of_gradients) {
  const lxla_tensor x = number_of(F32, 3), square = mul(x, x), y = mul(square, x), g = gradient(y, x),
                    gg = gradient(g, x);
  IS(gradient(gg, x), SCALAR, 6);
  IS(gg, SCALAR, 18);
  IS(g, SCALAR, 27);
}

XLA_TEST(t1_in_place_updates_and_steps) {
  lxla_tensor w = DATA(DIMS(2), 1, 2), y = total(mul(w, w)), before;
  OK(lxla_tensor_snapshot(w, &before));
  own(before);
  OK(lxla_binary_scalar_inplace(ADD, w, 1));
  // y was computed from the value that w had before.
  IS(gradient(y, before), DIMS(2), 2, 4);
  IS(gradient(y, w), DIMS(2), 0, 0);
  lxla_tensor now = total(mul(w, w));
  const lxla_tensor by_now = gradient(now, w), by_before = gradient(now, before);
  // SGD: the gradient was recorded before the update.
  OK(lxla_binary_inplace(SUB, w, by_now));
  step(env);
  IS(w, DIMS(2), -2, -3);
  IS(by_now, DIMS(2), 4, 6);
  IS(by_before, DIMS(2), 4, 6);
  // The step computed the loss from the value that w had before.
  IS(gradient(now, w), DIMS(2), 0, 0);
}

static char said[1024];
static int lines;

static void listen(int32_t level, const char *message, void *user) {
  (void)user;
  EQUAL(level, 2);
  snprintf(said, sizeof said, "%s", message);
  lines++;
}

// An update in place between the loss and the gradients, which would be zero in silence.
XLA_TEST(t1_xs_without_a_path_are_logged_and_refused_on_request) {
  const lxla_tensor v = DATA(DIMS(2), 3, 4), h = HOLE(DIMS(2)), s = HOLE(DIMS(2));
  const lxla_computation first = traces(TENSORS(h, s), (lxla_tensor[]){mul(h, h)}, 1);
  lxla_tensor w = DATA(DIMS(2), 1, 2), args[2] = {v, DATA(DIMS(2), 5, 6)}, called, g[3] = {{9}, {9}, {9}}, stopped;
  apply(first, args, 2, &called, 1);
  OK(lxla_stop_gradient(args[1], &stopped));
  const lxla_tensor y = total(mul(mul(w, called), own(stopped)));
  OK(lxla_binary_scalar_inplace(ADD, w, 1));
  lxla_gradients_options options = {.struct_size = sizeof options, .require_connected = LXLA_ON};
  REFUSED(lxla_gradients_with_options(&y, 1, NULL, TENSORS(v, w, args[1]), &options, g), LXLA_INVALID_ARGUMENT,
          "lxla_gradients_with_options: xs: xs[1] (f32[2]), xs[2] (f32[2]) given; want values that ys depend on");
  CHECK(g[0].id == 9 && g[1].id == 9 && strstr(lxla_last_error_message(), "keep a snapshot from before"));
  OK(lxla_set_log_callback(listen, NULL));
  OK(lxla_gradients_with_options(&y, 1, NULL, &v, 1, &options, g));
  own(g[0]);
  EQUAL(lines, 0);
  for (int i = 0; i < 2; i++) {
    OK(lxla_gradients_options_init(&options));
    lines = 0;
    OK(lxla_gradients_with_options(&y, 1, NULL, TENSORS(v, w, args[1]), i ? NULL : &options, &g[0]));
    EQUAL(lines, 1);
    CHECK(strstr(said, "lxla_gradients: the gradients by xs[1] (f32[2]), xs[2] (f32[2]) are zero; want values that"));
    for (int at = 0; at < 3; at++) own(g[at]);
  }
  OK(lxla_set_log_callback(NULL, NULL));
  IS(g[0], DIMS(2), 2 * 3 * 5, 2 * 2 * 4 * 6);
  IS(g[1], DIMS(2), 0, 0);
  IS(g[2], DIMS(2), 0, 0);
  options.require_connected = 3;
  REFUSED(lxla_gradients_with_options(&y, 1, NULL, &v, 1, &options, g), LXLA_INVALID_ARGUMENT,
          "options.require_connected: 3 given; want LXLA_ON (1)");
}

// In a loop, gradients that are copied are refused as those that the rules record, and are logged no more.
XLA_TEST(t1_xs_without_a_path_are_refused_where_gradients_repeat) {
  OK(lxla_set_log_callback(listen, NULL));
  lines = 0;
  for (int i = 0; i < 5; i++) {
    lxla_tensor w = DATA(DIMS(2), 1, 2), unused = DATA(DIMS(2), 1, 2), y = total(mul(w, w)), g[2];
    const uint64_t before = counter(env, "RepeatedGradients");
    gradients(&y, 1, NULL, TENSORS(w, unused), g);
    EQUAL(counter(env, "RepeatedGradients") - before, i > 1);
    EQUAL(lines, i > 1 ? 2 : i + 1);
    step(env);
  }
  lxla_gradients_options options = {.struct_size = sizeof options, .require_connected = LXLA_ON};
  lxla_tensor w = DATA(DIMS(2), 1, 2), unused = DATA(DIMS(2), 1, 2), y = total(mul(w, w)), g[2];
  REFUSED(lxla_gradients_with_options(&y, 1, NULL, TENSORS(w, unused), &options, g), LXLA_INVALID_ARGUMENT, "xs[1]");
  EQUAL(lines, 2);
  OK(lxla_set_log_callback(NULL, NULL));
}

XLA_TEST(t1_gradients_through_calls_and_loops) {
  const lxla_tensor x = DATA(DIMS(2), 1, 2), w = DATA(DIMS(3, 2), 1, 2, 3, 4, 5, 6), h = HOLE(DIMS(2)),
                    s = HOLE(DIMS(2));
  const lxla_computation square = traces(&h, 1, (lxla_tensor[]){mul(h, h)}, 1);
  const lxla_computation body = traces(TENSORS(h, s), (lxla_tensor[]){mul(mul(h, s), x)}, 1);  // captures x
  lxla_tensor squared, end;
  apply(square, &x, 1, &squared, 1);
  scan(body, &squared, 1, &w, 1, 3, 0, &end, NULL, 0);
  // end = x^5 w0 w1 w2, elementwise.
  const lxla_tensor y = total(end);
  lxla_tensor g[2];
  gradients(&y, 1, NULL, TENSORS(x, w), g);
  IS(g[0], DIMS(2), 5 * 15, 5 * 16 * 48);
  IS(g[1], DIMS(3, 2), 15, 32 * 24, 5, 32 * 12, 3, 32 * 8);
}

// A training loop: the third gradients of the same operations are those of the second, copied. The scan returns more
// results for its gradient than it did before.
XLA_TEST(t1_gradients_that_repeat_are_copied) {
  const lxla_tensor h = HOLE(DIMS(2)), s = HOLE(DIMS(2));
  const lxla_computation body = traces(TENSORS(h, s), (lxla_tensor[]){mul(h, s)}, 1);
  for (int i = 0; i < 7; i++) {
    const uint64_t before = counter(env, "RepeatedGradients");
    const double scale = i == 4 ? 3 : 2;  // rules may look at scalars
    const lxla_tensor x = DATA(DIMS(2), 1 + i, 2), w = DATA(DIMS(3, 2), 1, 2, 3, 4, 5, 6), unused = DATA(DIMS(1), 7);
    lxla_tensor end, g[3];
    scan(body, &x, 1, &w, 1, 3, 0, &end, NULL, 0);
    // y = scale x w0 w1 w2, summed.
    const lxla_tensor y = times(total(end), scale);
    gradients(&y, 1, NULL, TENSORS(x, w, unused), g);
    EQUAL(counter(env, "RepeatedGradients") - before, i == 2 || i == 3 || i == 5 || i == 6);
    step(env);
    IS(y, SCALAR, scale * (15 * (1 + i) + 96));
    IS(g[0], DIMS(2), scale * 15, scale * 48);
    IS(g[1], DIMS(3, 2), scale * 15 * (1 + i), scale * 48, scale * 5 * (1 + i), scale * 24, scale * 3 * (1 + i),
       scale * 16);
    IS(g[2], DIMS(1), 0);
  }
}

// Traces that differ in the position of a slice, or in the computation that is called, only.
XLA_TEST(t1_gradients_of_other_attributes_and_computations_are_not_copied) {
  const lxla_tensor h = HOLE(DIMS(2)), k = HOLE(DIMS(2));
  const lxla_computation square = traces(&h, 1, (lxla_tensor[]){mul(h, h)}, 1);
  const lxla_computation thrice = traces(&k, 1, (lxla_tensor[]){times(k, 3)}, 1);
  for (int i = 0; i < 12; i++) {
    const lxla_tensor x = DATA(DIMS(2, 2), 1, 2, 3, 4);
    const int second = i % 2, is_square = i / 2 % 2;
    const lxla_tensor taken = row(x, second);
    lxla_tensor made;
    apply(is_square ? square : thrice, &taken, 1, &made, 1);
    const lxla_tensor g = gradient(total(made), x);
    step(env);
    const double a = is_square ? (second ? 6 : 2) : 3, b = is_square ? (second ? 8 : 4) : 3;
    IS(g, DIMS(2, 2), second ? 0 : a, second ? 0 : b, second ? a : 0, second ? b : 0);
  }
  EQUAL(counter(env, "RepeatedGradients"), 4);
}

// Gradients of values that wait for a placeholder, natively as well, are part of the computation.
BOTH_TEST(t1_gradients_of_what_waits_for_a_placeholder) {
  const lxla_tensor p = HOLE(DIMS(2)), w = DATA(DIMS(2), 3, 5), square = mul(p, p), y = total(mul(square, w));
  lxla_tensor g[2], out[2], eager = DATA(DIMS(2), 1, 1);
  gradients(&y, 1, NULL, TENSORS(p, square), g);
  EQUAL(state_of(g[0]), LXLA_STATE_PENDING);
  const lxla_computation f = traces(&p, 1, g, 2);
  apply(f, (lxla_tensor[]){DATA(DIMS(2), 1, 2)}, 1, out, 2);
  IS(out[0], DIMS(2), 6, 20);
  IS(out[1], DIMS(2), 3, 5);
  if (is_native()) {
    const lxla_tensor sum = total(eager);
    REFUSED(lxla_gradients(&sum, 1, NULL, &eager, 1, out), BAD, "lxla_computation_value_and_grad");
    // Operations on eager tensors are not recorded, so that their part of the gradient would be missing.
    REFUSED(lxla_gradients(&y, 1, NULL, &w, 1, out), BAD, "xs: xs[0] is an eager tensor");
  }
}

// --- T2: value_and_grad, captured values, checkpoints ---

BOTH_TEST(t2_value_and_grad_by_parameters_and_captured_values) {
  // sum(x^2 w) + sum(y c), n, x: captures w and c.
  const lxla_tensor w = DATA(DIMS(2), 3, 5), c = DATA(DIMS(2), 10, 20), x = HOLE(DIMS(2)), y = HOLE(DIMS(2)),
                    n = hole_of(S32, SCALAR);
  const lxla_tensor loss = add(total(mul(mul(x, x), w)), total(mul(y, c)));
  const lxla_computation f = traces(TENSORS(x, n, y), TENSORS(loss, n, x));
  const lxla_tensor args[] = {DATA(DIMS(2), 1, 2), number_of(S32, 6), DATA(DIMS(2), 7, 9)};
  lxla_tensor r[8];
  const lxla_computation all = value_and_grad(f);
  EQUAL(n_results(all), 5);
  apply(all, args, 3, r, 5);
  IS(r[0], SCALAR, 273);
  OK(lxla_tensor_retain(r[1]));
  HAS(r[1], S32, int32_t, SCALAR, 6);
  IS(r[2], DIMS(2), 1, 2);
  IS(r[3], DIMS(2), 6, 20);
  IS(r[4], DIMS(2), 10, 20);
  // One parameter, in the order given, and captured values in theirs.
  lxla_vjp_options options = vjp_defaults();
  options.wrt = (size_t[]){2, 0}, options.n_wrt = 2, options.captured = LXLA_ON;
  const lxla_computation some = value_and_grad_by(f, &options);
  EQUAL(n_results(some), 3 + 4);
  apply(some, args, 3, r, 7);
  IS(r[3], DIMS(2), 10, 20);
  IS(r[4], DIMS(2), 6, 20);
  for (size_t i = 0; i < 2; i++) {
    lxla_tensor captured;
    float values[2];
    OK(lxla_computation_captured(some, i, &captured));
    read_f32(own(captured), values, 2);
    if (values[0] == 3) IS(r[5 + i], DIMS(2), 1, 4);
    else IS(r[5 + i], DIMS(2), 7, 9);
  }
  // An empty list: by captured values only.
  options.n_wrt = 0;
  EQUAL(n_results(value_and_grad_by(f, &options)), 3 + 2);
}

// tanh(tanh(x w1) w2), whose inner tanh has the name "h"; captures w1 and w2.
static lxla_computation two_layers(void) {
  const lxla_tensor w1 = DATA(DIMS(3, 2), 0.1, -0.2, 0.3, 0.4, 0.5, -0.6), w2 = DATA(DIMS(2, 2), 1, 0.5, -0.25, 0.75),
                    x = HOLE(DIMS(2, 3));
  const lxla_tensor h = marked(tanh_of(product(x, w1)), "h");
  return traces(&x, 1, (lxla_tensor[]){total(tanh_of(product(h, w2)))}, 1);
}

BOTH_TEST(t3_checkpoint_policies_save_what_they_say) {
  const lxla_computation f = two_layers();
  const lxla_tensor x = DATA(DIMS(2, 3), 1, -2, 0.5, 0.25, 1.5, -1), one_f32 = number_of(F32, 1);
  const char *const names[] = {"other", "h"};
  struct {
    int32_t policy;
    size_t names, residuals;
  } cases[] = {
      {LXLA_CHECKPOINT_SAVE_NONE, 0, 1},   // x
      {LXLA_CHECKPOINT_SAVE_NAMED, 1, 1},  // no value has the name
      {LXLA_CHECKPOINT_SAVE_NAMED, 2, 2},  // x, h
      {LXLA_CHECKPOINT_SAVE_DOTS, 0, 3},   // x, both products
  };
  lxla_vjp_options options = vjp_defaults();
  options.captured = LXLA_ON;
  const passes all = vjp_by(f, &options);
  const size_t largest = all.residuals;
  CHECK(largest > 2);
  lxla_tensor want[3], got[3], made[8];
  pull(all, &x, 1, &one_f32, 1, want);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    options.checkpoint = cases[i].policy, options.saved_names = names, options.n_saved_names = cases[i].names;
    const passes p = vjp_by(f, &options);
    EQUAL(p.residuals, cases[i].residuals);
    pull(p, &x, 1, &one_f32, 1, got);
    for (int k = 0; k < 3; k++) ARE_NEAR(got[k], want[k]);
    lxla_tensor with_value[4];
    apply(value_and_grad_by(f, &options), &x, 1, with_value, 4);
    for (int k = 0; k < 3; k++) ARE_NEAR(with_value[1 + k], want[k]);
    if (cases[i].residuals != 2) continue;
    // One of the residuals is the named value.
    lxla_tensor h, w1;
    int found = 0;
    OK(lxla_computation_captured(f, 0, &w1));
    h = tanh_of(product(x, own(w1)));
    apply(p.forward, &x, 1, made, 3);
    for (int k = 1; k < 3; k++) {
      int64_t dims[2];
      OK(lxla_tensor_dims(made[k], dims, 2));
      if (dims[1] == 2) ARE_NEAR(made[k], h), found++;
    }
    EQUAL(found, 1);
  }
}

// Under SAVE_NONE too, a sort's results are saved: the values and their order. Of a branch, its operands only, since it
// is computed again.
BOTH_TEST(t3_results_of_several_are_saved_under_every_policy) {
  const lxla_tensor x = HOLE(DIMS(3)), p = hole_of(PRED, SCALAR), a = DATA(DIMS(3), 3, 1, 2),
                    one_f32 = number_of(F32, 1);
  lxla_tensor sorted, chosen, g[2];
  OK(lxla_sort_along(x, 0, 0, 1, &sorted));
  const lxla_tensor weights = DATA(DIMS(3), 1, 10, 100);
  const lxla_computation of_sort = traces(&x, 1, (lxla_tensor[]){total(mul(mul(own(sorted), sorted), weights))}, 1);
  const lxla_computation deep = traces(&x, 1, (lxla_tensor[]){mul(mul(x, x), x)}, 1), same = traces(&x, 1, &x, 1);
  OK(lxla_cond(p, deep, same, &x, 1, &chosen, 1));
  const lxla_computation of_branch = traces(TENSORS(p, x), (lxla_tensor[]){total(own(chosen))}, 1);
  lxla_vjp_options options = vjp_defaults();
  for (options.checkpoint = LXLA_CHECKPOINT_SAVE_ALL; options.checkpoint <= LXLA_CHECKPOINT_SAVE_NONE;
       options.checkpoint++) {
    const passes sort = vjp_by(of_sort, &options), branch = vjp_by(of_branch, &options);
    EQUAL(sort.residuals, 2);
    EQUAL(branch.residuals, 2);
    pull(sort, &a, 1, &one_f32, 1, g);
    IS(g[0], DIMS(3), 600, 2, 40);
    pull(branch, TENSORS(number_of(PRED, 1), a), &one_f32, 1, g);
    IS(g[0], DIMS(3), 27, 3, 12);
  }
}

BOTH_TEST(t3_a_vjp_of_several_results) {
  // x^2, n + 1, x y: cotangents for the floats only.
  const lxla_tensor x = HOLE(DIMS(2)), y = HOLE(DIMS(2)), n = hole_of(S32, SCALAR), more = plus(n, 1);
  const lxla_computation f = traces(TENSORS(x, n, y), TENSORS(mul(x, x), more, mul(x, y)));
  const passes p = vjp_by(f, NULL);
  const lxla_tensor args[] = {DATA(DIMS(2), 1, 2), number_of(S32, 3), DATA(DIMS(2), 5, 7)};
  lxla_tensor g[2];
  pull(p, args, 3, TENSORS(DATA(DIMS(2), 10, 100), DATA(DIMS(2), 1, 2)), g);
  IS(g[0], DIMS(2), 20 + 5, 400 + 14);
  IS(g[1], DIMS(2), 1, 4);
}

// --- T5: derivatives of derivatives ---

BOTH_TEST(t5_derivatives_of_a_cubic_function) {
  // f(x) = sum(x) sum(x^2), of S = 3 and Q = 5: gradient Q + 2 S x = [11, 17], Hessian [[10, 6], [6, 14]].
  const lxla_tensor x = HOLE(DIMS(2)), v = HOLE(DIMS(2));
  const lxla_computation f = traces(&x, 1, (lxla_tensor[]){mul(total(x), total(mul(x, x)))}, 1), df = value_and_grad(f);
  const lxla_tensor a = DATA(DIMS(2), 1, 2), direction = DATA(DIMS(2), 1, 10);
  lxla_tensor r[4], g[1];
  apply(df, &a, 1, r, 2);
  IS(r[0], SCALAR, 15);
  IS(r[1], DIMS(2), 11, 17);
  // Forward over reverse.
  apply(jvp(df, NULL, 0), TENSORS(a, direction), r, 4);
  IS(r[1], DIMS(2), 11, 17);
  IS(r[2], SCALAR, 181);
  IS(r[3], DIMS(2), 70, 146);
  // Reverse over reverse.
  pull(vjp_by(df, NULL), &a, 1, TENSORS(number_of(F32, 1), direction), g);
  IS(g[0], DIMS(2), 70 + 11, 146 + 17);
  // Reverse over forward, and once more: the third derivative along v twice is 4 sum(v) v + 2 sum(v^2).
  apply(jvp(df, NULL, 0), TENSORS(x, v), r, 4);
  const lxla_computation along = traces(TENSORS(x, v), (lxla_tensor[]){total(mul(r[3], v))}, 1);
  lxla_tensor third[3];
  apply(value_and_grad(along), TENSORS(a, direction), third, 3);
  IS(third[0], SCALAR, 70 + 1460);
  IS(third[1], DIMS(2), 4 * 11 + 202, 4 * 11 * 10 + 202);
  IS(third[2], DIMS(2), 140, 292);
}

// --- T9: what does not fit ---

BOTH_TEST(t9_bad_arguments_of_transformations_are_named) {
  const lxla_tensor x = HOLE(DIMS(2)), n = hole_of(S32, SCALAR), y = HOLE(DIMS(3, 2));
  const lxla_computation f = traces(TENSORS(x, n), TENSORS(total(x), n)), vector = traces(TENSORS(x, y), TENSORS(x, y)),
                         none_c = {0};
  lxla_computation c = {77}, d = {77}, gone;
  size_t residuals = 77;
  lxla_vjp_options options = vjp_defaults();
  const double before = live();
#define BAD_WRT(words, ...)                                                                                  \
  do {                                                                                                       \
    options.wrt = (size_t[]){__VA_ARGS__}, options.n_wrt = sizeof((size_t[]){__VA_ARGS__}) / sizeof(size_t); \
    REFUSED(lxla_computation_jvp(f, options.wrt, options.n_wrt, &c), BAD, words);                            \
    REFUSED(lxla_computation_value_and_grad(f, &options, &c), BAD, words);                                   \
    REFUSED(lxla_computation_vjp(f, &options, &c, &d, &residuals), BAD, words);                              \
  } while (0)
  BAD_WRT("wrt[1] is 2; the computation has 2 parameters", 0, 2);
  BAD_WRT("wrt[0] is 18446744073709551615", SIZE_MAX);
  BAD_WRT("wrt: parameter 0 is given twice", 0, 0);
  BAD_WRT("wrt[0] is 1, and parameter 1 is s32[]; want a float or complex dtype", 1);
  options.wrt = NULL;
  CHECK(lxla_computation_vjp(f, &options, &c, &d, &residuals) != LXLA_OK &&
        strstr(lxla_last_error_message(), "options.wrt: "));
  CHECK(lxla_computation_jvp(f, NULL, 1, &c) != LXLA_OK && strstr(lxla_last_error_message(), "wrt: "));
  options = vjp_defaults();
  options.checkpoint = 5;
  REFUSED(lxla_computation_vjp(f, &options, &c, &d, &residuals), BAD, "options.checkpoint: 5");
  options.checkpoint = -1;
  REFUSED(lxla_computation_value_and_grad(f, &options, &c), BAD, "options.checkpoint: -1");
  options.checkpoint = LXLA_CHECKPOINT_SAVE_NONE, options.saved_names = (const char *[]){"a", NULL},
  options.n_saved_names = 1;
  REFUSED(lxla_computation_vjp(f, &options, &c, &d, &residuals), BAD, "options.saved_names");
  options.checkpoint = LXLA_CHECKPOINT_SAVE_NAMED, options.n_saved_names = 2;
  REFUSED(lxla_computation_vjp(f, &options, &c, &d, &residuals), LXLA_NULL_ARGUMENT, "options.saved_names");
  options.saved_names = NULL;
  REFUSED(lxla_computation_vjp(f, &options, &c, &d, &residuals), LXLA_NULL_ARGUMENT, "options.saved_names");
  options = vjp_defaults();
  options.captured = 3;
  REFUSED(lxla_computation_vjp(f, &options, &c, &d, &residuals), BAD, "options.captured: 3");
  options.struct_size = 4;
  REFUSED(lxla_computation_vjp(f, &options, &c, &d, &residuals), BAD, "sizeof(lxla_vjp_options)");
  REFUSED(lxla_vjp_options_init(&options), BAD, "struct_size is 4");
  REFUSED(lxla_vjp_options_init(NULL), LXLA_NULL_ARGUMENT, "options");
  REFUSED(lxla_computation_value_and_grad(vector, NULL, &c), BAD, "f: its first result is f32[2]; want a float scalar");
  REFUSED(lxla_computation_value_and_grad(traces(TENSORS(x, n), &n, 1), NULL, &c), BAD, "first result is s32[]");
  REFUSED(lxla_computation_jvp(none_c, NULL, 0, &c), LXLA_INVALID_HANDLE, "f");
  OK(lxla_computation_trace(&x, 1, &x, 1, &gone));
  OK(lxla_computation_release(gone));
  REFUSED(lxla_computation_jvp(gone, NULL, 0, &c), LXLA_INVALID_HANDLE, "f");
  REFUSED(lxla_computation_vjp(gone, NULL, &c, &d, &residuals), LXLA_INVALID_HANDLE, "f");
  REFUSED(lxla_computation_value_and_grad(gone, NULL, &c), LXLA_INVALID_HANDLE, "f");
  REFUSED(lxla_computation_jvp(f, NULL, 0, NULL), LXLA_NULL_ARGUMENT, "out_computation");
  REFUSED(lxla_computation_value_and_grad(f, NULL, NULL), LXLA_NULL_ARGUMENT, "out_computation");
  REFUSED(lxla_computation_vjp(f, NULL, NULL, &d, &residuals), LXLA_NULL_ARGUMENT, "out_forward");
  REFUSED(lxla_computation_vjp(f, NULL, &c, NULL, &residuals), LXLA_NULL_ARGUMENT, "out_backward");
  REFUSED(lxla_computation_vjp(f, NULL, &c, &d, NULL), LXLA_NULL_ARGUMENT, "out_n_residuals");
  EQUAL(c.id, 77);
  EQUAL(d.id, 77);
  EQUAL(residuals, 77);
  EQUAL(live(), before);
}

XLA_TEST(t9_bad_arguments_of_gradients_are_named) {
  const lxla_tensor x = DATA(DIMS(2), 1, 2), y = mul(x, x), s = total(y), n = own(ARRAY(S32, int32_t, DIMS(2), 1, 2)),
                    twice = plus(n, 1);
  const lxla_tensor wide = DATA(DIMS(3), 1, 2, 3);
  lxla_tensor out[2] = {{77}, {77}};
  const double before = live();
  REFUSED(lxla_gradients(&y, 1, NULL, &x, 1, out), BAD,
          "cotangents: NULL given, and ys[0] is f32[2]; without cotangents, want scalars");
  REFUSED(lxla_gradients(&y, 1, &wide, &x, 1, out), BAD, "cotangents[0] is f32[3]; ys[0] is f32[2]");
  REFUSED(lxla_gradients(&y, 1, &n, &x, 1, out), BAD, "cotangents[0] is s32[2]; ys[0] is f32[2]");
  REFUSED(lxla_gradients(&s, 1, NULL, &n, 1, out), BAD, "xs[0] is s32[2]; want a float or complex dtype");
  REFUSED(lxla_gradients(TENSORS(s, twice), NULL, &x, 1, out), BAD, "ys[1] is s32[2]; want a float or complex dtype");
  REFUSED(lxla_gradients(&s, 0, NULL, &x, 1, out), BAD, "n_ys: 0 given; want at least 1");
  REFUSED(lxla_gradients(&s, 1, NULL, &x, 0, out), BAD, "n_xs: 0 given; want at least 1");
  REFUSED(lxla_gradients(NULL, 1, NULL, &x, 1, out), LXLA_NULL_ARGUMENT, "ys");
  REFUSED(lxla_gradients(&s, 1, NULL, NULL, 1, out), LXLA_NULL_ARGUMENT, "xs");
  REFUSED(lxla_gradients(&s, 1, NULL, &x, 1, NULL), LXLA_NULL_ARGUMENT, "out_gradients");
  REFUSED(lxla_gradients(&none, 1, NULL, &x, 1, out), LXLA_INVALID_HANDLE, "ys[0]");
  REFUSED(lxla_gradients(&s, 1, NULL, TENSORS(x, none), out), LXLA_INVALID_HANDLE, "xs[1]");
  REFUSED(lxla_gradients(&s, 1, &none, &x, 1, out), LXLA_INVALID_HANDLE, "cotangents[0]");
  device = (lxla_device){LXLA_DEVICE_CPU, 0};
  const lxla_tensor eager = DATA(DIMS(2), 1, 2), eager_sum = total(eager);
  device = XLA(0);
  REFUSED(lxla_gradients(&s, 1, NULL, &eager, 1, out), BAD, "xs[0]");
  REFUSED(lxla_gradients(&eager_sum, 1, NULL, &eager, 1, out), BAD, "eager tensors");
  EQUAL(out[0].id, 77);
  EQUAL(live() - 2, before);
  // The pending values are as they were.
  IS(s, SCALAR, 5);
}

WITHOUT_PLUGIN(native_derivatives_load_no_plugin, t1_gradients_of_what_waits_for_a_placeholder_run,
               t5_derivatives_of_a_cubic_function_run)
