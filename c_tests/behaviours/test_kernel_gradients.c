// Calls with effects of backward passes: they are made in the reverse order of those that they differentiate.
#include <string.h>

#include "both.h"
#include "computation.h"
#include "noted_calls.h"

static void noted(lxla_tensor x) {
  lxla_kernel_options options = {.struct_size = sizeof options, .ordered = LXLA_ON};
  OK(lxla_host_call(env, note, NULL, &options, &x, 1, NULL, NULL, NULL, 0, NULL));
}

static lxla_tensor parameter(const int64_t *dims, size_t rank) {
  lxla_tensor p;
  OK(lxla_tensor_placeholder(env, device, F32, dims, rank, &p));
  return p;
}

static void run_step(void) { OK(lxla_mark_step(env, device, 1)); }

// y = x, with a call in the forward and in the backward pass, which may read a residual.
enum { CALLS = 5 };
static lxla_computation with_calls(size_t residuals) {
  lxla_tensor p = parameter(SCALAR), y = scalar(MUL, p, 1), r = parameter(SCALAR), q = parameter(SCALAR), back, zero;
  OK(lxla_binary(SUB, r, r, &zero));
  OK(lxla_binary(ADD, q, zero, &back));
  noted(p);
  noted(q);
  lxla_computation primal = traced(&p, 1, &y, 1), forward = traced(&p, 1, (lxla_tensor[]){y, y}, 1 + residuals), made;
  lxla_computation backward = traced((lxla_tensor[]){residuals ? r : q, q}, 1 + residuals, residuals ? &back : &q, 1);
  OK(lxla_computation_with_vjp(primal, forward, backward, &made));
  OK(lxla_computation_release(primal));
  OK(lxla_computation_release(forward));
  OK(lxla_computation_release(backward));
  RELEASE(p, y, r, q, back, zero);
  return made;
}

// The sum of (5 + i) f(x[i]).
static lxla_tensor weighted_of(lxla_computation f, const lxla_tensor *x, int n) {
  lxla_tensor sum = F32S(SCALAR, 0);
  for (int i = 0; i < n; i++) {
    lxla_tensor y = called(f, &x[i], 1), scaled = scalar(MUL, y, 5 + i);
    OK(lxla_binary_inplace(ADD, sum, scaled));
    RELEASE(y, scaled);
  }
  return sum;
}
static lxla_tensor weighted(lxla_computation f, const lxla_tensor *x) { return weighted_of(f, x, CALLS); }

// Releases the gradients.
static void has_weights(const lxla_tensor *gradients) {
  for (int i = 0; i < CALLS; i++) HAS_F32(gradients[i], SCALAR, (float)(5 + i));
}

static void reversed_on(void) {
  lxla_computation f = with_calls(0), value_and_grad, forward, backward;
  lxla_tensor p[CALLS], x[CALLS], made[1 + CALLS + 16];
  for (int i = 0; i < CALLS; i++) p[i] = parameter(SCALAR), x[i] = F32S(SCALAR, (float)(1 + i));
  lxla_tensor sum = weighted(f, p), one = F32S(SCALAR, 1);
  lxla_computation loss = traced(p, CALLS, &sum, 1);
  OK(lxla_computation_value_and_grad(loss, NULL, &value_and_grad));
  OK(lxla_computation_call(value_and_grad, x, CALLS, made, 1 + CALLS));
  run_step();
  NOTED("1234598765");
  HAS_F32(made[0], SCALAR, 115);
  has_weights(made + 1);

  size_t residuals;
  OK(lxla_computation_vjp(loss, NULL, &forward, &backward, &residuals));
  CHECK(residuals < 16);
  OK(lxla_computation_call(forward, x, CALLS, made, 1 + residuals));
  lxla_tensor given[17];
  for (size_t i = 0; i < residuals; i++) given[i] = made[1 + i];
  given[residuals] = one;
  lxla_tensor gradients[CALLS];
  OK(lxla_computation_call(backward, given, residuals + 1, gradients, CALLS));
  run_step();
  NOTED("1234598765");
  has_weights(gradients);
  OK(lxla_tensor_release_many(made, 1 + residuals));

  // Gradients of a traced value, in the computation itself.
  OK(lxla_gradients(&sum, 1, NULL, p, CALLS, gradients));
  lxla_computation inside = traced(p, CALLS, gradients, CALLS);
  OK(lxla_tensor_release_many(gradients, CALLS));
  OK(lxla_computation_call(inside, x, CALLS, gradients, CALLS));
  run_step();
  NOTED("1234598765");
  has_weights(gradients);
  OK(lxla_computation_release(f));
  OK(lxla_computation_release(value_and_grad));
  OK(lxla_computation_release(loss));
  OK(lxla_computation_release(forward));
  OK(lxla_computation_release(backward));
  OK(lxla_computation_release(inside));
  OK(lxla_tensor_release_many(p, CALLS));
  OK(lxla_tensor_release_many(x, CALLS));
  RELEASE(sum, one);
}
TEST(calls_of_a_backward_pass_are_made_in_reverse_order) { on_both(reversed_on); }

// A derivative of x[0] + ... (5 + i) f(x[i]) ..., in a body that an operation applies.
enum { INNER = 3 };
static lxla_computation of_inner(lxla_computation f) {
  lxla_tensor p[INNER];
  for (int i = 0; i < INNER; i++) p[i] = parameter(SCALAR);
  lxla_tensor sum = weighted_of(f, p, INNER);
  lxla_computation made = traced(p, INNER, &sum, 1);
  OK(lxla_tensor_release_many(p, INNER));
  RELEASE(sum);
  return made;
}

// Fails unless the calls of the loss and its gradients at 1, 2, 3 are `calls`, and their values `times` the inner ones.
// Releases the loss.
static void derived(lxla_computation loss, const char *calls, int times) {
  lxla_tensor x[INNER] = {F32S(SCALAR, 1), F32S(SCALAR, 2), F32S(SCALAR, 3)}, made[1 + INNER];
  lxla_computation derivative;
  OK(lxla_computation_value_and_grad(loss, NULL, &derivative));
  OK(lxla_computation_call(derivative, x, INNER, made, 1 + INNER));
  run_step();
  NOTED(calls);
  HAS_F32(made[0], SCALAR, (float)(38 * times));
  for (int i = 0; i < INNER; i++) HAS_F32(made[1 + i], SCALAR, (float)((5 + i) * times));
  OK(lxla_computation_release(derivative));
  OK(lxla_computation_release(loss));
  OK(lxla_tensor_release_many(x, INNER));
}

static lxla_computation of_call(lxla_computation inner, int times) {
  lxla_tensor p[INNER], sum = F32S(SCALAR, 0);
  for (int i = 0; i < INNER; i++) p[i] = parameter(SCALAR);
  for (int i = 0; i < times; i++) {
    lxla_tensor y = called(inner, p, INNER);
    OK(lxla_binary_inplace(ADD, sum, y));
    RELEASE(y);
  }
  lxla_computation loss = traced(p, INNER, &sum, 1);
  OK(lxla_tensor_release_many(p, INNER));
  RELEASE(sum);
  return loss;
}

static lxla_computation of_scan(lxla_computation inner, int64_t length) {
  lxla_tensor p[1 + INNER], next[1 + INNER], ends[1 + INNER];
  for (int i = 0; i <= INNER; i++) p[i] = parameter(SCALAR), next[i] = p[i];
  lxla_tensor y = called(inner, p + 1, INNER);
  OK(lxla_binary(ADD, p[0], y, &next[0]));
  lxla_computation body = traced(p, 1 + INNER, next, 1 + INNER);
  // The calls on `p` are those of every computation over it.
  lxla_tensor init[1 + INNER] = {F32S(SCALAR, 0), parameter(SCALAR), parameter(SCALAR), parameter(SCALAR)};
  OK(lxla_scan(body, init, 1 + INNER, NULL, 0, length, 0, ends, NULL, 0));
  lxla_computation loss = traced(init + 1, INNER, ends, 1);
  OK(lxla_computation_release(body));
  OK(lxla_tensor_release_many(p, 1 + INNER));
  OK(lxla_tensor_release_many(init, 1 + INNER));
  OK(lxla_tensor_release_many(ends, 1 + INNER));
  RELEASE(y, next[0]);
  return loss;
}

static lxla_computation of_cond(lxla_computation inner) {
  lxla_tensor p[INNER], is_positive, zero = F32S(SCALAR, 0), y;
  for (int i = 0; i < INNER; i++) p[i] = parameter(SCALAR);
  lxla_tensor product = scalar(MUL, p[0], 2);
  lxla_computation other = traced(p, INNER, &product, 1);
  OK(lxla_compare(LXLA_COMPARE_GT, p[0], zero, &is_positive));
  OK(lxla_cond(is_positive, inner, other, p, INNER, &y, 1));
  lxla_computation loss = traced(p, INNER, &y, 1);
  OK(lxla_computation_release(other));
  OK(lxla_tensor_release_many(p, INNER));
  RELEASE(is_positive, zero, product, y);
  return loss;
}

static void nested_backward_on(void) {
  lxla_computation f = with_calls(0), inner = of_inner(f), checkpointed, scanned;
  derived(of_call(inner, 1), "123765", 1);
  derived(of_call(inner, 2), "123123765765", 2);
  derived(of_scan(inner, 2), "123123765765", 2);
  derived(of_scan(inner, 1), "123765", 1);
  derived(of_cond(inner), "123765", 1);
  OK(lxla_computation_checkpoint(inner, LXLA_CHECKPOINT_SAVE_NONE, NULL, 0, &checkpointed));
  derived(of_call(checkpointed, 2), "123123765765", 2);
  scanned = of_scan(inner, 2);
  // A branch computes the carried values of each iteration again.
  derived(of_cond(scanned), "123123123123765765", 2);
  OK(lxla_computation_release(scanned));
  OK(lxla_computation_release(checkpointed));
  OK(lxla_computation_release(inner));
  OK(lxla_computation_release(f));
  // A backward pass that reads a result of the forward calls: a branch makes these again, first.
  f = with_calls(1), inner = of_inner(f);
  derived(of_call(inner, 2), "123123765765", 2);
  derived(of_scan(inner, 2), "123123765765", 2);
  derived(of_cond(inner), "123123765", 1);
  OK(lxla_computation_release(inner));
  OK(lxla_computation_release(f));
}
TEST(calls_of_backward_passes_of_bodies_are_made_in_reverse_order) { on_both(nested_backward_on); }

// Gradients of pending values: after the calls before, and before those behind.
TEST(calls_of_gradients_are_made_in_order_with_the_others) {
  env = new_env();
  device = (lxla_device){LXLA_DEVICE_XLA, 0};
  lxla_computation f = with_calls(0);
  lxla_tensor x[CALLS], gradients[CALLS], zero = F32S(SCALAR, 0);
  for (int repeat = 0; repeat < 3; repeat++) {
    for (int i = 0; i < CALLS; i++) x[i] = F32S(SCALAR, (float)(1 + i));
    noted(zero);
    lxla_tensor sum = weighted(f, x);
    noted(zero);
    OK(lxla_gradients(&sum, 1, NULL, x, CALLS, gradients));
    noted(zero);
    run_step();
    NOTED("0123450987650");
    has_weights(gradients);
    OK(lxla_tensor_release_many(x, CALLS));
    RELEASE(sum);
  }
  OK(lxla_computation_release(f));
  RELEASE(zero);
  OK(lxla_env_release(env));
}
