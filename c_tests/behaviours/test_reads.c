// Loops that read and never step: S9 and S10 of docs/behaviours.md. A read computes what shares work with the value.
#include "computation.h"

enum { N = 4, ITERATIONS = 20 };

static lxla_tensor vector(lxla_env env, float start) {
  float values[N];
  for (int i = 0; i < N; i++) values[i] = start + (float)i;
  return from_f32(env, DIMS(N), values);
}

static lxla_tensor sum_of(lxla_tensor x) {
  lxla_tensor out;
  OK(lxla_reduce(LXLA_REDUCE_SUM, x, NULL, 0, 0, &out));
  return out;
}

static void set(lxla_env env, const char *option, const char *text) { OK(lxla_env_set_option(env, option, text)); }

// loss = sum((w x)^2); w -= 0.01 (w x) x. The old weights are released before the loss is read.
TEST(s10_a_training_loop_that_only_reads_its_loss_compiles_twice) {
  lxla_env env = new_env();
  lxla_tensor w = vector(env, 1);
  double expected[N] = {1, 2, 3, 4};
  for (int i = 0; i < ITERATIONS; i++) {
    lxla_tensor x = vector(env, 0.1f * (float)(i % 3)), y = binary(MUL, w, x), square = binary(MUL, y, y);
    lxla_tensor loss = sum_of(square), slope = binary(MUL, y, x), change = scalar(MUL, slope, 0.01);
    lxla_tensor next = binary(SUB, w, change);
    RELEASE(w, x, y, square, slope, change);
    double wanted = 0;
    for (int j = 0; j < N; j++) {
      double in = 0.1 * (i % 3) + j, out = expected[j] * in;
      wanted += out * out;
      expected[j] -= 0.01 * out * in;
    }
    CHECK(fabs(value(loss) - wanted) < 1e-3 * (1 + wanted));
    EQUAL(state_of(next), LXLA_STATE_READY);
    RELEASE(loss);
    w = next;
  }
  CHECK(counter(env, "UncachedCompile") <= 2);
  EQUAL(counter(env, "RecomputedOps"), 0);
  EQUAL(counter(env, "DonatedBuffers"), 0);
  EQUAL(counter(env, "ExecuteComputation"), ITERATIONS);
  // The planner's memory serves reads.
  CHECK(counter(env, "RepeatedStep") >= ITERATIONS - 4);
  RELEASE(w);
  no_live_bytes(env);
  OK(lxla_env_release(env));
}

TEST(s10_results_of_one_call_are_computed_by_the_first_read) {
  lxla_env env = new_env();
  lxla_tensor p = placeholder(env, LXLA_DTYPE_F32, DIMS(N)), results[8], out[8];
  for (int i = 0; i < 8; i++) results[i] = scalar(MUL, p, i + 1);
  lxla_computation c = traced(&p, 1, results, 8);
  for (int i = 0; i < 8; i++) RELEASE(results[i]);
  lxla_tensor x = vector(env, 1);
  OK(lxla_computation_call(c, &x, 1, out, 8));
  for (int i = 0; i < 8; i++) {
    float values[N];
    read_f32(out[i], values, N);
    EQUAL(values[2], 3 * (i + 1));
    RELEASE(out[i]);
  }
  EQUAL(counter(env, "UncachedCompile"), 1);
  EQUAL(counter(env, "ExecuteComputation"), 1);
  RELEASE(p, x);
  OK(lxla_computation_release(c));
  OK(lxla_env_release(env));
}

TEST(s10_what_shares_only_data_stays_pending) {
  lxla_env env = new_env();
  lxla_tensor a = one(env, 2), b = scalar(ADD, a, 1), apart = scalar(MUL, a, 5), far = scalar(ADD, apart, 1);
  EQUAL(value(b), 3);
  EQUAL(state_of(apart), LXLA_STATE_PENDING);
  EQUAL(state_of(far), LXLA_STATE_PENDING);
  // Connected through a value that neither of them is: both need apart * 2, which no handle keeps.
  lxla_tensor on_way = scalar(MUL, apart, 2), left = scalar(ADD, on_way, 1), right = scalar(ADD, on_way, 2);
  RELEASE(on_way);
  EQUAL(value(left), 21);
  lxla_tensor all[] = {apart, far, right};
  for (int i = 0; i < 3; i++) EQUAL(state_of(all[i]), LXLA_STATE_READY);
  EQUAL(value(right) + value(far) + value(apart), 22 + 11 + 10);
  EQUAL(counter(env, "ExecuteComputation"), 2);
  EQUAL(counter(env, "RecomputedOps"), 0);
  RELEASE(a, b, apart, far, left, right);
  OK(lxla_env_release(env));
}

// Values that depend on a placeholder, or on lost data, neither join a read nor fail it.
TEST(s10_what_has_no_value_yet_does_not_join) {
  lxla_env env = new_env();
  lxla_tensor a = one(env, 2), b = scalar(ADD, a, 1), p = placeholder(env, LXLA_DTYPE_F32, DIMS(1));
  lxla_tensor waits = binary(ADD, b, p), joins = scalar(MUL, b, 3);
  EQUAL(value(b), 3);
  EQUAL(state_of(joins), LXLA_STATE_READY);
  EQUAL(state_of(waits), LXLA_STATE_PENDING);
  lxla_tensor ten = one(env, 10);
  OK(lxla_tensor_assign(p, ten));
  lxla_tensor later = binary(ADD, b, p);
  EQUAL(value(later), 13);
  RELEASE(a, b, p, waits, joins, ten, later);
  OK(lxla_env_release(env));
}

// The option read_scope.
TEST(s10_the_scope_of_reads_is_an_option) {
  lxla_env env = new_env();
  char *text;
  OK(lxla_env_get_option(env, "read_scope", &text));
  CHECK(!strcmp(text, "connected"));
  lxla_string_free(text);
  for (int all = 0; all < 2; all++) {
    set(env, "read_scope", all ? "all" : "listed");
    lxla_tensor a = one(env, 2), b = scalar(ADD, a, 1), with_b = scalar(MUL, b, 3), apart = scalar(MUL, a, 7);
    lxla_tensor kept = scalar(MUL, a, 5), loss = scalar(ADD, kept, 1), more = scalar(MUL, kept, 2);
    RELEASE(kept);
    uint64_t recomputed = counter(env, "RecomputedOps");
    EQUAL(value(b), 3);
    EQUAL(value(loss), 11);
    const int32_t wanted = all ? LXLA_STATE_READY : LXLA_STATE_PENDING;
    EQUAL(state_of(with_b), wanted);
    EQUAL(state_of(apart), wanted);
    EQUAL(state_of(more), wanted);
    EQUAL(value(more) + value(with_b) + value(apart), 20 + 9 + 14);
    EQUAL(counter(env, "RecomputedOps") - recomputed, all ? 0 : 1);
    RELEASE(a, b, with_b, apart, loss, more);
  }
  REFUSED(lxla_env_set_option(env, "read_scope", "some"), LXLA_INVALID_ARGUMENT, "want connected, listed or all");
  REFUSED(lxla_env_set_option(env, "max_left_pending", "few"), LXLA_INVALID_ARGUMENT, "a number of at least 0");
  OK(lxla_env_release(env));
}

// A counter beside the loop shares nothing with the loss. It stays pending until max_left_pending operations do.
TEST(s10_what_reads_leave_pending_has_a_limit) {
  lxla_env env = new_env();
  set(env, "max_left_pending", "25");
  lxla_tensor w = vector(env, 1), counted = one(env, 0);
  int flushes = 0;
  for (int i = 0; i < 100; i++) {
    lxla_tensor next = scalar(MUL, w, 0.5), loss = sum_of(w);
    RELEASE(w);
    w = next;
    OK(lxla_binary_scalar_inplace(ADD, counted, 1));
    EQUAL(value(loss), 10 * pow(0.5, i));
    flushes += state_of(counted) == LXLA_STATE_READY;
    RELEASE(loss);
  }
  EQUAL(flushes, 100 / 27);
  EQUAL(value(counted), 100);
  EQUAL(counter(env, "RecomputedOps"), 0);
  RELEASE(w, counted);
  OK(lxla_env_release(env));
}

// A connected value that cannot be compiled does not fail a read: the value alone is computed, in every read.
TEST(s10_a_value_that_cannot_be_compiled_stays_out) {
  lxla_env env = new_env();
  lxla_tensor x = vector(env, 1), y = scalar(MUL, x, 2), good = scalar(ADD, y, 1), loss = sum_of(y), bad;
  const int32_t dtype = LXLA_DTYPE_F32;
  const int64_t dims[] = {N};
  const size_t rank = 1;
  OK(lxla_custom_call("no such target", &y, 1, &dtype, &rank, dims, 1, NULL, &bad));
  EQUAL(value(loss), 20);
  EQUAL(state_of(y), LXLA_STATE_READY);
  EQUAL(state_of(bad), LXLA_STATE_PENDING);
  float values[N];
  read_f32(good, values, N);
  EQUAL(values[0], 3);
  REFUSED(lxla_tensor_read(bad, values, sizeof values), LXLA_NOT_FOUND, "no such target");
  EQUAL(counter(env, "RecomputedOps"), 0);
  RELEASE(x, y, good, loss, bad);
  OK(lxla_env_release(env));
}

// A decoder: one token is read in each iteration, the cache of keys is updated in place.
TEST(s10_a_decoder_with_a_cache_compiles_a_few_programs) {
  enum { TOKENS = 30, LENGTH = 32 };
  lxla_env env = new_env();
  float zeros[LENGTH] = {0};
  lxla_tensor cache = from_f32(env, DIMS(LENGTH), zeros), token = one(env, 1);
  for (int i = 0; i < TOKENS; i++) {
    lxla_tensor at, filled, key = scalar(ADD, token, 0.5), mean, next;
    const int32_t place = i;
    OK(lxla_tensor_from_host(env, XLA(0), LXLA_DTYPE_S32, NULL, 0, &place, sizeof place, &at));
    OK(lxla_dynamic_update_slice(cache, key, &at, 1, &filled));
    mean = sum_of(filled);
    OK(lxla_reshape(mean, DIMS(1), &next));
    lxla_tensor small = scalar(MUL, next, 0.25);
    RELEASE(cache, token, at, key, mean, next);
    cache = filled, token = small;
    CHECK(value(token) > 0);
  }
  CHECK(counter(env, "UncachedCompile") <= 2);
  EQUAL(counter(env, "RecomputedOps"), 0);
  RELEASE(cache, token);
  no_live_bytes(env);
  OK(lxla_env_release(env));
}

// (w, x) -> (w - 0.01 (w x) x, sum((w x)^2)).
static lxla_computation training_step(lxla_env env) {
  lxla_tensor w = placeholder(env, LXLA_DTYPE_F32, DIMS(N)), x = placeholder(env, LXLA_DTYPE_F32, DIMS(N));
  lxla_tensor y = binary(MUL, w, x), square = binary(MUL, y, y), loss = sum_of(square), slope = binary(MUL, y, x);
  lxla_tensor change = scalar(MUL, slope, 0.01), next = binary(SUB, w, change);
  lxla_computation c = traced(TENSORS(w, x), TENSORS(next, loss));
  RELEASE(w, x, y, square, loss, slope, change, next);
  return c;
}

TEST(s11_a_call_steps_what_earlier_calls_left_pending) {
  enum { CALLS = 100 };
  lxla_env env = new_env();
  set(env, "step_before_call", "true");
  lxla_computation c = training_step(env);
  lxla_tensor w = vector(env, 1), x = vector(env, 0.1f), losses[CALLS], out[2];
  double expected[N] = {1, 2, 3, 4};
  for (int i = 0; i < CALLS; i++) {
    OK(lxla_computation_call(c, TENSORS(w, x), out, 2));
    RELEASE(w);
    w = out[0], losses[i] = out[1];
  }
  for (int i = 0; i < CALLS; i++) {
    double wanted = 0;
    for (int j = 0; j < N; j++) {
      double in = 0.1 + j, result = expected[j] * in;
      wanted += result * result;
      expected[j] -= 0.01 * result * in;
    }
    CHECK(fabs(value(losses[i]) - wanted) < 1e-3 * (1 + wanted));
    RELEASE(losses[i]);
  }
  CHECK(counter(env, "UncachedCompile") <= 2);
  EQUAL(counter(env, "ExecuteComputation"), CALLS);
  // All but the first state, which was alive at the first call, and the last call's, which a read computed.
  CHECK(counter(env, "DonatedBuffers") >= CALLS - 2);
  EQUAL(counter(env, "RecomputedOps"), 0);
  RELEASE(w, x);
  OK(lxla_computation_release(c));
  no_live_bytes(env);
  OK(lxla_env_release(env));
}

TEST(s11_without_the_option_calls_stay_pending) {
  lxla_env env = new_env();
  lxla_computation c = training_step(env);
  lxla_tensor w = vector(env, 1), x = vector(env, 0.1f), first[2], second[2];
  OK(lxla_computation_call(c, TENSORS(w, x), first, 2));
  OK(lxla_computation_call(c, TENSORS(first[0], x), second, 2));
  EQUAL(state_of(first[1]), LXLA_STATE_PENDING);
  set(env, "step_before_call", "true");
  lxla_tensor third[2];
  OK(lxla_computation_call(c, TENSORS(second[0], x), third, 2));
  EQUAL(state_of(first[1]), LXLA_STATE_READY);
  EQUAL(state_of(second[0]), LXLA_STATE_READY);
  EQUAL(state_of(third[0]), LXLA_STATE_PENDING);
  RELEASE(w, x, first[0], first[1], second[0], second[1], third[0], third[1]);
  OK(lxla_computation_release(c));
  OK(lxla_env_release(env));
}

// Work that no call left pending is not stepped; a call in a trace, on placeholders, steps nothing that has no value.
TEST(s11_only_calls_are_stepped) {
  lxla_env env = new_env();
  set(env, "step_before_call", "1");
  lxla_computation c = training_step(env);
  lxla_tensor w = vector(env, 1), x = vector(env, 0.1f), out[2], apart = scalar(ADD, x, 1);
  OK(lxla_computation_call(c, TENSORS(w, x), out, 2));
  EQUAL(state_of(apart), LXLA_STATE_PENDING);
  CHECK(value(out[1]) > 0);
  EQUAL(state_of(apart), LXLA_STATE_PENDING);
  RELEASE(out[0], out[1]);
  lxla_tensor p = placeholder(env, LXLA_DTYPE_F32, DIMS(N)), earlier[2];
  OK(lxla_computation_call(c, TENSORS(w, x), earlier, 2));
  OK(lxla_computation_call(c, TENSORS(p, x), out, 2));
  EQUAL(state_of(out[0]), LXLA_STATE_PENDING);
  EQUAL(state_of(earlier[0]), LXLA_STATE_PENDING);
  RELEASE(earlier[0], earlier[1]);
  lxla_computation outer = traced(&p, 1, &out[1], 1);
  lxla_tensor loss = called(outer, &w, 1);
  CHECK(value(loss) > 0);
  EQUAL(state_of(out[0]), LXLA_STATE_PENDING);
  RELEASE(w, x, p, out[0], out[1], loss, apart);
  OK(lxla_computation_release(outer));
  OK(lxla_computation_release(c));
  OK(lxla_env_release(env));
}

TEST(s11_a_step_that_fails_fails_the_call) {
  lxla_env env = new_env();
  set(env, "step_before_call", "true");
  lxla_computation c = training_step(env);
  lxla_tensor w = vector(env, 1), x = vector(env, 0.1f), out[2], again[2] = {none, none}, bad;
  OK(lxla_computation_call(c, TENSORS(w, x), out, 2));
  const int32_t dtype = LXLA_DTYPE_F32;
  const int64_t dims[] = {N};
  const size_t rank = 1;
  OK(lxla_custom_call("no such target", &out[0], 1, &dtype, &rank, dims, 1, NULL, &bad));
  REFUSED(lxla_computation_call(c, TENSORS(out[0], x), again, 2), LXLA_NOT_FOUND, "the step before the call");
  EQUAL(state_of(out[1]), LXLA_STATE_READY);
  RELEASE(bad);
  OK(lxla_computation_call(c, TENSORS(out[0], x), again, 2));
  CHECK(value(again[1]) < value(out[1]));
  RELEASE(w, x, out[0], out[1], again[0], again[1]);
  OK(lxla_computation_release(c));
  OK(lxla_env_release(env));
}
