// Partial syncs and reads: S2 and S9 of docs/behaviours.md, and operations that a step does not run.
#include "computation.h"

// Runs the scenario of S1 with a partial sync in place of the save.
static void s2(int by_read) {
  lxla_env env = new_env();
  lxla_tensor t0 = one(env, 1), t1 = one(env, 2);
  step(env);
  lxla_tensor t2 = binary(ADD, t0, t1);
  OK(lxla_binary_scalar_inplace(ADD, t1, 1));
  uint64_t donated = counter(env, "DonatedBuffers");
  if (by_read) {
    EQUAL(value(t1), 3);
  } else {
    OK(lxla_sync(&t1, 1));
    EQUAL(state_of(t1), LXLA_STATE_READY);
  }
  EQUAL(counter(env, "DonatedBuffers"), donated);
  EQUAL(state_of(t2), LXLA_STATE_PENDING);
  step(env);
  EQUAL(value(t1), 3);
  EQUAL(value(t2), 3);
  RELEASE(t0, t1, t2);
  OK(lxla_env_release(env));
}

TEST(s2_sync_of_an_updated_tensor_leaves_its_old_value) { s2(0); }
TEST(s2_read_of_an_updated_tensor_leaves_its_old_value) { s2(1); }

TEST(s9_reading_a_loss_before_the_step_computes_nothing_twice) {
  lxla_env env = new_env();
  lxla_tensor w = one(env, 2);
  for (int i = 0; i < 4; i++) {
    // loss = (w * 3) ^ 2. The gradient needs w * 3, too, which no handle keeps: the read computes both.
    lxla_tensor y = scalar(MUL, w, 3), loss = binary(MUL, y, y), gradient = scalar(MUL, y, 0.01);
    OK(lxla_binary_inplace(SUB, w, gradient));
    RELEASE(y, gradient);
    float before = value(loss);
    EQUAL(state_of(w), LXLA_STATE_READY);
    EQUAL(step(env), 0);
    EQUAL(value(loss), before);
    RELEASE(loss);
  }
  CHECK(fabs(value(w) - 2 * pow(0.97, 4)) < 1e-6);
  EQUAL(counter(env, "RecomputedOps"), 0);
  EQUAL(counter(env, "UncachedCompile"), 1);
  RELEASE(w);
  OK(lxla_env_release(env));
}

TEST(s9_what_is_live_on_the_way_is_kept) {
  lxla_env env = new_env();
  lxla_tensor a = one(env, 2), b = scalar(MUL, a, 3), c = scalar(ADD, b, 1), apart = scalar(ADD, a, 100);
  EQUAL(value(c), 7);
  EQUAL(state_of(b), LXLA_STATE_READY);
  // It shares only the data of a.
  EQUAL(state_of(apart), LXLA_STATE_PENDING);
  step(env);
  EQUAL(counter(env, "RecomputedOps"), 0);
  EQUAL(counter(env, "ExecuteComputation"), 2);
  EQUAL(value(b), 6);
  EQUAL(value(apart), 102);
  RELEASE(a, b, c, apart);
  OK(lxla_env_release(env));
}

TEST(sync_takes_many_tensors_also_twice_and_ready_ones) {
  lxla_env env = new_env();
  lxla_tensor a = one(env, 1), b = scalar(ADD, a, 1), c = scalar(ADD, a, 2), c2 = snapshot(c);
  lxla_tensor list[] = {a, b, c, b, c2};
  OK(lxla_sync(list, 5));
  EQUAL(counter(env, "ExecuteComputation"), 1);
  EQUAL(value(b) + value(c) + value(c2), 8);
  EQUAL(counter(env, "ExecuteComputation"), 1);
  OK(lxla_sync(NULL, 0));
  lxla_tensor with_stale[] = {a, none};
  lxla_tensor pending = scalar(ADD, a, 5);
  with_stale[0] = pending;
  REFUSED(lxla_sync(with_stale, 2), LXLA_INVALID_HANDLE, "tensors[1]");
  EQUAL(state_of(pending), LXLA_STATE_PENDING);
  RELEASE(a, b, c, c2, pending);
  OK(lxla_env_release(env));
}

TEST(a_step_on_no_device_named_steps_all) {
  lxla_env_options options = default_options();
  options.device_count = 2;
  lxla_env env;
  OK(lxla_env_create(&options, &env));
  lxla_tensor t[2];
  for (int i = 0; i < 2; i++) {
    OK(lxla_tensor_full(env, XLA(i), LXLA_DTYPE_F32, DIMS(1), i + 1, &t[i]));
  }
  OK(lxla_mark_step(env, (lxla_device){LXLA_DEVICE_UNSPECIFIED, 0}, 1));
  OK(lxla_mark_step(env, (lxla_device){LXLA_DEVICE_CPU, 0}, 1));
  OK(lxla_wait(env, (lxla_device){LXLA_DEVICE_UNSPECIFIED, 0}));
  EQUAL(counter(env, "MarkStep"), 2);
  EQUAL(counter(env, "UncachedCompile"), 1 + 1);
  for (int i = 0; i < 2; i++) EQUAL(state_of(t[i]), LXLA_STATE_READY);

  // Tensors of two devices do not mix; to_device copies a value from one to the other.
  lxla_tensor bad, moved;
  REFUSED(lxla_binary(ADD, t[0], t[1], &bad), LXLA_INVALID_ARGUMENT, "lhs is on xla:0 and rhs is on xla:1");
  OK(lxla_binary_scalar_inplace(ADD, t[0], 10));
  OK(lxla_tensor_to_device(t[0], XLA(1), &moved));
  OK(lxla_binary_scalar_inplace(ADD, t[0], 10));
  OK(lxla_binary_inplace(ADD, moved, t[1]));
  OK(lxla_mark_step(env, (lxla_device){LXLA_DEVICE_UNSPECIFIED, 0}, 1));
  EQUAL(value(moved), 13);
  EQUAL(value(t[0]), 21);
  lxla_device where;
  OK(lxla_tensor_device(moved, &where));
  CHECK(where.kind == LXLA_DEVICE_XLA && where.ordinal == 1);
  RELEASE(t[0], t[1], moved);
  OK(lxla_env_release(env));
}

enum { MANY = 1 << 16 };

// x + the number of iterations, by a loop that takes far longer than a call. XLA's CPU client runs programs with few
// operations on the thread that starts them: x has MANY elements.
static lxla_tensor long_loop(lxla_env env, lxla_tensor x, int iterations) {
  lxla_tensor i = placeholder(env, LXLA_DTYPE_S32, NULL, 0), value = placeholder(env, LXLA_DTYPE_F32, DIMS(MANY));
  lxla_tensor more, next = scalar(ADD, i, 1), grown = scalar(ADD, value, 1), zero, r[2];
  OK(lxla_compare_scalar(LXLA_COMPARE_LT, i, iterations, &more));
  lxla_computation cond = traced(TENSORS(i, value), &more, 1), body = traced(TENSORS(i, value), TENSORS(next, grown));
  OK(lxla_tensor_full(env, XLA(0), LXLA_DTYPE_S32, NULL, 0, 0, &zero));
  OK(lxla_while(cond, body, (lxla_tensor[]){zero, x}, 2, r));
  RELEASE(i, value, more, next, grown, zero, r[0]);
  OK(lxla_computation_release(cond));
  OK(lxla_computation_release(body));
  return r[1];
}

static float first_of(lxla_tensor x) {
  static float values[MANY];
  OK(lxla_tensor_read(x, values, sizeof values));
  return values[0];
}

TEST(waits_end_after_their_time) {
  enum { ITERATIONS = 30000 };
  const lxla_device all = {LXLA_DEVICE_UNSPECIFIED, 0};
  lxla_env env = new_env();
  int32_t done = 7;
  OK(lxla_wait_for(env, all, UINT64_MAX, 0, &done));
  EQUAL(done, 1);
  lxla_tensor x, y;
  OK(lxla_tensor_full(env, XLA(0), LXLA_DTYPE_F32, DIMS(MANY), 1, &x));
  y = long_loop(env, x, ITERATIONS);
  uint64_t before, with_y, now;
  OK(lxla_enqueued(&before));
  OK(lxla_mark_step(env, all, 0));
  OK(lxla_enqueued(&with_y));
  CHECK(with_y > before);
  OK(lxla_tensor_wait_for(y, 0, &done));
  EQUAL(done, 0);
  OK(lxla_tensor_wait_for(y, 1, &done));
  EQUAL(done, 0);
  OK(lxla_wait_for(env, XLA(0), with_y, 1, &done));
  EQUAL(done, 0);
  // Only what was enqueued before y is waited for.
  OK(lxla_wait_for(env, all, before, 0, &done));
  EQUAL(done, 1);
  OK(lxla_tensor_wait_for(x, INT64_MAX, &done));
  EQUAL(done, 1);
  OK(lxla_wait_for(env, XLA(0), with_y, INT64_MAX, &done));
  EQUAL(done, 1);
  OK(lxla_tensor_wait_for(y, 0, &done));
  EQUAL(done, 1);
  EQUAL(first_of(y), 1 + ITERATIONS);
  RELEASE(y);

  // A pending value is computed; the loop ends while it is waited for.
  y = long_loop(env, x, ITERATIONS);
  OK(lxla_tensor_wait_for(y, 0, &done));
  EQUAL(done, 0);
  EQUAL(state_of(y), LXLA_STATE_READY);
  // Work that is enqueued later does not count.
  OK(lxla_wait_for(env, all, with_y, 0, &done));
  EQUAL(done, 1);
  OK(lxla_enqueued(&now));
  OK(lxla_wait_for(env, all, now, 0, &done));
  EQUAL(done, 0);
  OK(lxla_tensor_wait_for(y, INT64_MAX, &done));
  EQUAL(done, 1);
  EQUAL(first_of(y), 1 + ITERATIONS);

  lxla_tensor native, stands = placeholder(env, LXLA_DTYPE_F32, NULL, 0), on_it = scalar(ADD, stands, 1);
  OK(lxla_tensor_full(env, (lxla_device){LXLA_DEVICE_CPU, 0}, LXLA_DTYPE_F32, DIMS(1), 7, &native));
  OK(lxla_tensor_wait_for(native, 0, &done));
  EQUAL(done, 1);
  OK(lxla_wait_for(env, (lxla_device){LXLA_DEVICE_CPU, 0}, UINT64_MAX, 0, &done));
  EQUAL(done, 1);
  done = 7;
  REFUSED(lxla_tensor_wait_for(on_it, 0, &done), LXLA_FAILED_PRECONDITION, "placeholder");
  REFUSED(lxla_tensor_wait_for(x, -1, &done), LXLA_INVALID_ARGUMENT, "timeout_ms: -1 given; want 0 or more");
  REFUSED(lxla_wait_for(env, all, 0, INT64_MIN, &done), LXLA_INVALID_ARGUMENT,
          "timeout_ms: -9223372036854775808 given");
  REFUSED(lxla_tensor_wait_for(none, 0, &done), LXLA_INVALID_HANDLE, "tensor");
  REFUSED(lxla_tensor_wait_for(x, 0, NULL), LXLA_NULL_ARGUMENT, "out_ready");
  REFUSED(lxla_wait_for(env, all, 0, 0, NULL), LXLA_NULL_ARGUMENT, "out_done");
  EQUAL(done, 7);
  RELEASE(x, y, native, stands, on_it);
  OK(lxla_env_release(env));
}

// A list whose computed tensors, native tensors and duplicates need nothing; lists that are refused.
TEST(a_step_of_tensors_checks_its_list) {
  lxla_env_options options = default_options();
  options.device_count = 2;
  lxla_env env;
  OK(lxla_env_create(&options, &env));
  lxla_tensor a = one(env, 1), b = scalar(ADD, a, 1), c = scalar(ADD, a, 2), far, native, lost;
  OK(lxla_tensor_full(env, XLA(1), LXLA_DTYPE_F32, DIMS(1), 7, &far));
  OK(lxla_tensor_full(env, (lxla_device){LXLA_DEVICE_CPU, 0}, LXLA_DTYPE_F32, DIMS(1), 7, &native));
  lxla_tensor list[] = {a, b, b, a}, two[] = {b, c, far}, with_native[] = {b, native}, stale[] = {b, none};
  OK(lxla_step_tensors(NULL, 0, 1));
  OK(lxla_step_tensors(&native, 1, 1));
  REFUSED(lxla_step_tensors(NULL, 1, 0), LXLA_NULL_ARGUMENT, "tensors");
  REFUSED(lxla_step_tensors(&b, 1, 2), LXLA_INVALID_ARGUMENT, "wait");
  REFUSED(lxla_step_tensors(two, 3, 0), LXLA_INVALID_ARGUMENT, "tensors[0] is on xla:0 and tensors[2] is on xla:1");
  REFUSED(lxla_step_tensors(with_native, 2, 0), LXLA_INVALID_ARGUMENT,
          "tensors[0] is on xla:0 and tensors[1] is on cpu");
  REFUSED(lxla_step_tensors(stale, 2, 0), LXLA_INVALID_HANDLE, "tensors[1]");
  EQUAL(state_of(b), LXLA_STATE_PENDING);
  EQUAL(counter(env, "MarkStep"), 0);
  EQUAL(counter(env, "ExecuteComputation"), 0);
  OK(lxla_step_tensors(list, 4, 0));
  EQUAL(counter(env, "MarkStep"), 1);
  EQUAL(counter(env, "ExecuteComputation"), 1);
  EQUAL(state_of(b), LXLA_STATE_READY);
  EQUAL(state_of(c), LXLA_STATE_PENDING);
  EQUAL(state_of(far), LXLA_STATE_PENDING);
  OK(lxla_step_tensors(list, 4, 1));  // a step with nothing to do
  EQUAL(counter(env, "MarkStep"), 2);
  EQUAL(counter(env, "ExecuteComputation"), 1);
  EQUAL(value(b) + value(c) + value(far), 12);
  lost = b;
  RELEASE(a, b, c, far, native);
  REFUSED(lxla_step_tensors(&lost, 1, 0), LXLA_INVALID_HANDLE, "tensors[0]");
  OK(lxla_env_release(env));
}

// Recording and syncing with placeholders: P1, P2, P4 and P5. Computations: test_computation.c.
TEST(p2_a_step_leaves_placeholders_and_materialises_all_else) {
  lxla_env env = new_env();
  lxla_tensor p, t1 = one(env, 4), q, read_back;
  OK(lxla_tensor_placeholder(env, XLA(0), LXLA_DTYPE_F32, DIMS(1), &p));
  EQUAL(state_of(p), LXLA_STATE_PLACEHOLDER);
  uint64_t sent = counter(env, "OutboundBytes");
  q = binary(ADD, p, t1);
  lxla_tensor other = scalar(MUL, t1, 2);
  OK(lxla_binary_scalar_inplace(ADD, t1, 1));
  EQUAL(step(env), 0);  // nothing is donated, since q still needs the old t1: D10
  EQUAL(value(other), 8);
  EQUAL(value(t1), 5);
  EQUAL(state_of(q), LXLA_STATE_PENDING);
  EQUAL(counter(env, "OutboundBytes"), sent);
  float v = 42;
  REFUSED(lxla_tensor_read(p, &v, sizeof v), LXLA_FAILED_PRECONDITION, "placeholder f32[1] has no value");
  REFUSED(lxla_tensor_read(q, &v, sizeof v), LXLA_FAILED_PRECONDITION, "placeholder f32[1] has no value");
  lxla_tensor mixed[] = {scalar(ADD, t1, 1), q};
  REFUSED(lxla_sync(mixed, 2), LXLA_FAILED_PRECONDITION, "tensors[1]");
  EQUAL(state_of(mixed[0]), LXLA_STATE_PENDING);
  EQUAL(v, 42);
  // Gives the placeholder a value by assignment: q, recorded before, still waits; operations recorded now can run.
  lxla_tensor ten = one(env, 10);
  OK(lxla_tensor_assign(p, ten));
  read_back = binary(ADD, p, t1);
  step(env);
  EQUAL(value(read_back), 15);
  EQUAL(state_of(q), LXLA_STATE_PENDING);
  RELEASE(p, t1, q, other, mixed[0], ten, read_back);
  OK(lxla_env_release(env));
}

TEST(p3_p4_parameters_are_told_apart_by_identity) {
  lxla_env env = new_env();
  lxla_tensor p1, p2, transposed;
  OK(lxla_tensor_placeholder(env, XLA(0), LXLA_DTYPE_F32, DIMS(2, 3), &p1));
  OK(lxla_tensor_placeholder(env, XLA(0), LXLA_DTYPE_BF16, DIMS(3, 2), &p2));
  OK(lxla_transpose(p2, DIMS(1, 0), &transposed));
  lxla_tensor a = binary(ADD, p1, transposed), b;
  OK(lxla_matmul(a, p2, &b));
  char *text;
  OK(lxla_stablehlo(&b, 1, &text));
  CHECK(strstr(text, "@main(%v0: tensor<3x2xbf16>, %v2: tensor<2x3xf32>) ->"));
  lxla_string_free(text);
  RELEASE(p2, transposed, a, b);

  lxla_tensor like;
  OK(lxla_tensor_set_requires_grad(p1, 1));
  OK(lxla_tensor_placeholder_like(p1, &like));
  int32_t flag = 0;
  OK(lxla_tensor_requires_grad(like, &flag));
  EQUAL(flag, 1);
  a = binary(ADD, p1, like), b = binary(ADD, p1, p1);
  lxla_tensor both[] = {a, b};
  OK(lxla_stablehlo(both, 2, &text));
  CHECK(strstr(text, "@main(%v0: tensor<2x3xf32>, %v1: tensor<2x3xf32>) ->"));
  lxla_string_free(text);
  OK(lxla_stablehlo(&b, 1, &text));
  CHECK(strstr(text, "@main(%v0: tensor<2x3xf32>) ->"));
  lxla_string_free(text);
  RELEASE(p1, like, a, b);
  EQUAL(counter(env, "OutboundBytes"), 0);
  no_live_bytes(env);
  OK(lxla_env_release(env));
}

TEST(p5_a_new_placeholder_is_never_taken_for_a_released_one) {
  lxla_env env = new_env();
  for (int i = 0; i < 100; i++) {
    lxla_tensor p1, p2;
    OK(lxla_tensor_placeholder(env, XLA(0), LXLA_DTYPE_F32, DIMS(4), &p1));
    lxla_tensor x = scalar(ADD, p1, 1);
    RELEASE(p1);
    OK(lxla_tensor_placeholder(env, XLA(0), LXLA_DTYPE_F32, DIMS(4), &p2));
    lxla_tensor both = binary(ADD, x, p2);
    char *text;
    OK(lxla_stablehlo(&both, 1, &text));
    CHECK(strstr(text, "@main(%v0: tensor<4xf32>, %v2: tensor<4xf32>) ->"));
    lxla_string_free(text);
    RELEASE(x, p2, both);
  }
  OK(lxla_env_release(env));
}
