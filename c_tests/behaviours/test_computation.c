// Traced computations: P6, P7 and D10 of docs/behaviours.md, and uses that frontends build on them.
#include "computation.h"

#define F32 LXLA_DTYPE_F32

// x * x + c
static lxla_computation square_plus(lxla_env env, double c) {
  lxla_tensor p = placeholder(env, F32, DIMS(1));
  lxla_tensor square = binary(MUL, p, p), result = scalar(ADD, square, c);
  lxla_computation computation = traced(&p, 1, &result, 1);
  RELEASE(p, square, result);
  return computation;
}

TEST(p6_traced_once_called_with_pending_and_ready_tensors) {
  lxla_env env = new_env();
  lxla_computation f = square_plus(env, 1);
  size_t params, results, captured;
  OK(lxla_computation_info(f, &params, &results, &captured));
  EQUAL(params, 1);
  EQUAL(results, 1);
  EQUAL(captured, 0);
  lxla_tensor ready = one(env, 3), pending = scalar(ADD, ready, 1);
  lxla_tensor a = called(f, &ready, 1), b = called(f, &pending, 1), c = called(f, &a, 1);
  EQUAL(state_of(a), LXLA_STATE_PENDING);
  char *text;
  OK(lxla_stablehlo(TENSORS(a, b, c), &text));
  EQUAL(occurrences(text, "func.func private"), 1);
  EQUAL(occurrences(text, "func.call"), 3);
  lxla_string_free(text);
  EQUAL(step(env), 0);
  EQUAL(value(a), 10);
  EQUAL(value(b), 17);
  EQUAL(value(c), 101);
  EQUAL(counter(env, "UncachedCompile"), 1);
  // Calls it again on other tensors: the program is the same.
  lxla_tensor other = one(env, 5), on_it = called(f, &other, 1);
  EQUAL(value(on_it), 26);
  lxla_tensor again = called(f, &a, 1);
  EQUAL(value(again), 101);
  EQUAL(counter(env, "UncachedCompile"), 2);
  OK(lxla_computation_release(f));
  RELEASE(ready, pending, a, b, c, other, on_it, again);
  no_live_bytes(env);
  OK(lxla_env_release(env));
}

TEST(p6_what_does_not_fit_is_named) {
  lxla_env env = new_env();
  lxla_computation f = square_plus(env, 1), none_c = {0};
  lxla_tensor good = one(env, 1), wide = from_f32(env, DIMS(2), (float[]){1, 2}), out[2] = {{77}, {77}};
  lxla_tensor pair[] = {good, good};
  REFUSED(lxla_computation_call(f, pair, 2, out, 1), LXLA_INVALID_ARGUMENT, "args: 2 given; the computation takes 1");
  REFUSED(lxla_computation_call(f, NULL, 0, out, 1), LXLA_INVALID_ARGUMENT, "args: 0 given");
  REFUSED(lxla_computation_call(f, &wide, 1, out, 1), LXLA_INVALID_ARGUMENT,
          "args[0] is f32[2]; the computation's parameter 0 is f32[1]");
  REFUSED(lxla_computation_call(f, &good, 1, out, 2), LXLA_INVALID_ARGUMENT, "out_results: 2 given; want 1");
  REFUSED(lxla_computation_call(none_c, &good, 1, out, 1), LXLA_INVALID_HANDLE, "computation");
  REFUSED(lxla_computation_call(f, NULL, 1, out, 1), LXLA_NULL_ARGUMENT, "args");
  REFUSED(lxla_computation_call(f, &good, 1, NULL, 1), LXLA_NULL_ARGUMENT, "out_results");
  EQUAL(out[0].id, 77);

  lxla_tensor p = placeholder(env, F32, DIMS(1)), result = scalar(MUL, p, 2);
  lxla_computation c = {77};
  lxla_tensor twice[] = {p, p}, not_one[] = {p, good};
  REFUSED(lxla_computation_trace(twice, 2, &result, 1, &c), LXLA_INVALID_ARGUMENT,
          "params[1] is the same placeholder as params[0]");
  REFUSED(lxla_computation_trace(not_one, 2, &result, 1, &c), LXLA_INVALID_ARGUMENT, "params[1], f32[1], has a value");
  REFUSED(lxla_computation_trace(&result, 1, &result, 1, &c), LXLA_INVALID_ARGUMENT, "params[0], f32[1], has a value");
  REFUSED(lxla_computation_trace(&p, 1, NULL, 0, &c), LXLA_INVALID_ARGUMENT, "n_results");
  REFUSED(lxla_computation_trace(&p, 1, &none, 1, &c), LXLA_INVALID_HANDLE, "results[0]");
  REFUSED(lxla_computation_trace(&p, 1, &result, 1, NULL), LXLA_NULL_ARGUMENT, "out_computation");
  EQUAL(c.id, 77);
  // Checks that the trace is unchanged.
  c = traced(&p, 1, &result, 1);
  lxla_tensor doubled = called(c, &good, 1);
  EQUAL(value(doubled), 2);
  OK(lxla_computation_retain(c));
  OK(lxla_computation_release(c));
  OK(lxla_computation_release(c));
  REFUSED(lxla_computation_release(c), LXLA_INVALID_HANDLE, "computation");
  OK(lxla_computation_release(none_c));
  OK(lxla_computation_release(f));
  RELEASE(good, wide, p, result, doubled);
  OK(lxla_env_release(env));
}

TEST(computations_without_captures_run_on_any_device_of_their_environment) {
  lxla_env_options options = default_options();
  options.device_count = 2;
  lxla_env env, other_env = new_env();
  OK(lxla_env_create(&options, &env));
  lxla_computation f = square_plus(env, 1), c;
  lxla_tensor there, native, foreign = one(other_env, 1), out, p = placeholder(env, F32, DIMS(1)),
                             captured = one(env, 3);
  OK(lxla_tensor_full(env, XLA(1), F32, DIMS(1), 4, &there));
  OK(lxla_tensor_full(env, (lxla_device){LXLA_DEVICE_CPU, 0}, F32, DIMS(1), 5, &native));
  lxla_tensor of_there = called(f, &there, 1), of_native = called(f, &native, 1);
  EQUAL(value(of_there), 17);
  EQUAL(state_of(of_native), LXLA_STATE_NATIVE);
  EQUAL(value(of_native), 26);
  REFUSED(lxla_computation_call(f, &foreign, 1, &out, 1), LXLA_INVALID_ARGUMENT,
          "args[0]: in another environment than the computation");
  lxla_tensor sum = binary(ADD, p, captured);
  lxla_computation g = traced(&p, 1, &sum, 1);
  REFUSED(lxla_computation_call(g, &there, 1, &out, 1), LXLA_INVALID_ARGUMENT, "captured 1 values");
  REFUSED(lxla_computation_call(g, &native, 1, &out, 1), LXLA_INVALID_ARGUMENT, "captured 1 values");
  OK(lxla_computation_release(g));
  RELEASE(of_there, of_native, native, captured, sum);
  REFUSED(lxla_computation_trace(&p, 1, &there, 1, &c), LXLA_INVALID_ARGUMENT, "results[0] is on xla:1");
  REFUSED(lxla_computation_trace(&p, 1, &foreign, 1, &c), LXLA_INVALID_ARGUMENT, "two environments");
  OK(lxla_computation_release(f));
  RELEASE(there, foreign, p);
  OK(lxla_env_release(env));
  OK(lxla_env_release(other_env));
}

TEST(p7_captures_are_hidden_inputs) {
  lxla_env env = new_env();
  lxla_tensor w = one(env, 10), pending = scalar(MUL, w, 3), p = placeholder(env, F32, DIMS(1));
  lxla_tensor weighted = binary(MUL, p, w), result = binary(ADD, weighted, pending);
  uint64_t in = counter(env, "InboundBytes"), out = counter(env, "OutboundBytes");
  lxla_computation f = traced(&p, 1, &result, 1);
  size_t params, results, captured;
  OK(lxla_computation_info(f, &params, &results, &captured));
  EQUAL(captured, 2);
  lxla_tensor captures[2];
  for (int i = 0; i < 2; i++) OK(lxla_computation_captured(f, i, &captures[i]));
  REFUSED(lxla_computation_captured(f, 2, &captures[0]), LXLA_INVALID_ARGUMENT,
          "index: 2 given; 2 values were captured");
  EQUAL(state_of(captures[1]), LXLA_STATE_PENDING);
  RELEASE(captures[0], captures[1]);
  RELEASE(weighted, result, p, pending);
  // Overwrites and releases the captured tensor: the computation keeps the value of the time of tracing.
  OK(lxla_binary_scalar_inplace(ADD, w, 1));
  EQUAL(step(env), 0);
  lxla_tensor x = one(env, 2);
  out += sizeof(float);
  lxla_tensor y = called(f, &x, 1);
  char *text = text_of(y);
  CHECK(!strstr(text, "dense<0x41200000>"));  // 10 is not a constant
  lxla_string_free(text);
  EQUAL(counter(env, "InboundBytes"), in);
  EQUAL(counter(env, "OutboundBytes"), out);
  EQUAL(step(env), 0);
  EQUAL(value(y), 2 * 10 + 30);
  EQUAL(value(w), 11);
  RELEASE(w);
  RELEASE(y);
  y = called(f, &x, 1);
  EQUAL(step(env), 0);
  EQUAL(value(y), 50);
  // Releasing the computation releases its captures.
  uint64_t before = counter(env, "LiveBytes");
  OK(lxla_computation_release(f));
  EQUAL(before - counter(env, "LiveBytes"), 2 * sizeof(float));
  RELEASE(x, y);
  no_live_bytes(env);
  OK(lxla_env_release(env));
}

TEST(p7_a_result_may_be_a_parameter_a_capture_or_a_constant) {
  lxla_env env = new_env();
  lxla_tensor w = one(env, 10), later = scalar(ADD, w, 5), constant, p[2];
  for (int i = 0; i < 2; i++) p[i] = placeholder(env, F32, DIMS(1));
  OK(lxla_tensor_full(env, XLA(0), F32, DIMS(1), 7, &constant));
  lxla_computation f = traced(p, 2, TENSORS(p[1], w, later, constant, p[1]));
  size_t params, results, captured;
  OK(lxla_computation_info(f, &params, &results, &captured));
  EQUAL(captured, 2);
  lxla_tensor a = one(env, 1), b = one(env, 2), r[5];
  OK(lxla_computation_call(f, TENSORS(a, b), r, 5));
  EQUAL(state_of(r[0]), LXLA_STATE_READY);  // returned unchanged, so it has its value at once
  OK(lxla_binary_scalar_inplace(ADD, b, 100));
  const float want[] = {2, 10, 15, 7, 2};
  for (int i = 0; i < 5; i++) EQUAL(value(r[i]), want[i]);
  EQUAL(value(b), 102);
  OK(lxla_computation_release(f));
  RELEASE(w, later, constant, p[0], p[1], a, b);
  OK(lxla_tensor_release_many(r, 5));
  no_live_bytes(env);
  OK(lxla_env_release(env));
}

TEST(d10_what_waits_for_a_placeholder_keeps_the_old_value) {
  lxla_env env = new_env();
  lxla_tensor p = placeholder(env, F32, DIMS(1)), t1 = one(env, 5), q = binary(ADD, p, t1);
  OK(lxla_binary_scalar_inplace(ADD, t1, 1));
  EQUAL(step(env), 0);
  EQUAL(value(t1), 6);
  lxla_computation f = traced(&p, 1, &q, 1);
  OK(lxla_binary_scalar_inplace(ADD, t1, 1));
  step(env);
  lxla_tensor x = one(env, 100), y = called(f, &x, 1);
  EQUAL(value(y), 105);
  EQUAL(value(t1), 7);
  OK(lxla_computation_release(f));
  RELEASE(p, t1, q, x, y);
  OK(lxla_env_release(env));
}

TEST(equal_traces_share_one_executable_and_constants_tell_them_apart) {
  lxla_env env = new_env();
  lxla_tensor x = one(env, 3);
  float want[] = {10, 10, 11, 10};
  double c[] = {1, 1, 2, 1};
  lxla_computation f[4];
  for (int i = 0; i < 4; i++) {
    lxla_tensor noise = one(env, 1), y;
    f[i] = square_plus(env, c[i]);
    RELEASE(noise);
    y = called(f[i], &x, 1);
    EQUAL(value(y), want[i]);
    RELEASE(y);
  }
  EQUAL(counter(env, "UncachedCompile"), 2);
  for (int i = 0; i < 4; i++) OK(lxla_computation_release(f[i]));
  RELEASE(x);
  OK(lxla_env_release(env));
}

// As grad(f)(x) in a loop, with a rate that changes: the computation of each iteration is called once.
TEST(constants_of_computations_that_are_called_once_become_parameters) {
  lxla_env env = new_env();
  lxla_tensor x = one(env, 3);
  for (int i = 0; i < 20; i++) {
    lxla_computation f = square_plus(env, i / 3);
    lxla_tensor y = called(f, &x, 1);
    OK(lxla_computation_release(f));
    EQUAL(value(y), 9 + i / 3);
    RELEASE(y);
  }
  CHECK(counter(env, "UncachedCompile") <= 3);
  RELEASE(x);
  OK(lxla_env_release(env));
}

// f(x) = g(g(x)) + w * h, where g calls k, and h is a parameter of the outer trace that the inner one captures.
TEST(computations_call_computations) {
  lxla_env env = new_env();
  lxla_computation k = square_plus(env, 1);
  lxla_tensor w = one(env, 2), h = placeholder(env, F32, DIMS(1)), p = placeholder(env, F32, DIMS(1));
  lxla_tensor inner = called(k, &p, 1), scaled = binary(MUL, inner, h), moved = binary(ADD, scaled, w);
  lxla_computation g = traced(&p, 1, &moved, 1);
  size_t params, results, captured;
  OK(lxla_computation_info(g, &params, &results, &captured));
  EQUAL(captured, 2);
  RELEASE(inner, scaled, moved);
  lxla_tensor once = called(g, &p, 1), twice = called(g, &once, 1);
  lxla_computation f = traced(TENSORS(p, h), &twice, 1);
  OK(lxla_computation_info(f, &params, &results, &captured));
  EQUAL(captured, 1);
  OK(lxla_computation_release(g));
  OK(lxla_computation_release(k));
  lxla_tensor x = one(env, 1), by = one(env, 3), y;
  OK(lxla_computation_call(f, TENSORS(x, by), &y, 1));
  char *text = text_of(y);
  EQUAL(occurrences(text, "func.func private"), 3);
  lxla_string_free(text);
  EQUAL(value(y), (8 * 8 + 1) * 3 + 2);
  // A step does not run operations that still wait for placeholders.
  OK(lxla_mark_step(env, XLA(0), 1));
  EQUAL(state_of(twice), LXLA_STATE_PENDING);
  RELEASE(once, twice, h, p, w, x, by, y);
  OK(lxla_computation_release(f));
  no_live_bytes(env);
  OK(lxla_env_release(env));
}

TEST(calls_in_many_segments_keep_their_results_together) {
  lxla_env env = new_env();
  OK(lxla_env_set_option(env, "max_program_ops", "7"));
  lxla_tensor p = placeholder(env, F32, DIMS(1));
  lxla_tensor up = scalar(ADD, p, 1), double_it = scalar(MUL, p, 2);
  lxla_computation f = traced(&p, 1, TENSORS(up, double_it));
  lxla_tensor x = one(env, 1), first[2] = {none, none}, r[2];
  for (int i = 0; i < 20; i++) {
    OK(lxla_computation_call(f, &x, 1, r, 2));
    RELEASE(x);
    x = scalar(ADD, r[i % 2], 0.5);
    if (i == 0) first[0] = r[0], first[1] = r[1];
    else RELEASE(r[0], r[1]);
  }
  // Uses a result of the first call at the end of the chain.
  lxla_tensor last = binary(ADD, x, first[1]);
  step(env);
  double want = 1;
  for (int i = 0; i < 20; i++) want = (i % 2 ? want * 2 : want + 1) + 0.5;
  EQUAL(value(x), want);
  EQUAL(value(last), want + 2);
  EQUAL(value(first[0]), 2);
  OK(lxla_computation_release(f));
  RELEASE(p, up, double_it, x, first[0], first[1], last);
  no_live_bytes(env);
  OK(lxla_env_release(env));
}

TEST(a_computation_outlives_its_environment_only_to_be_released) {
  lxla_env env = new_env();
  lxla_computation f = square_plus(env, 1);
  lxla_tensor x = one(env, 3), out;
  OK(lxla_env_release(env));
  REFUSED(lxla_computation_call(f, &x, 1, &out, 1), LXLA_FAILED_PRECONDITION, "released");
  EQUAL(value(x), 3);
  RELEASE(x);
  OK(lxla_computation_release(f));
}

// Donations in a step that runs a call: released arguments may be donated, captures never.
TEST(arguments_of_a_call_are_donated_as_others_are) {
  lxla_env env = new_env();
  lxla_tensor p = placeholder(env, F32, DIMS(1000)), w = from_f32(env, DIMS(1000), (float[1000]){1});
  lxla_tensor result = binary(ADD, p, w);
  lxla_computation f = traced(&p, 1, &result, 1);
  RELEASE(p, w, result);
  lxla_tensor x = from_f32(env, DIMS(1000), (float[1000]){2}), y;
  for (int i = 0; i < 5; i++) {
    y = called(f, &x, 1);
    RELEASE(x);
    x = y;
    EQUAL(step(env), 1);
  }
  float values[1000];
  read_f32(x, values, 1000);
  EQUAL(values[0], 7);
  EQUAL(values[999], 0);
  EQUAL(counter(env, "LiveBytes"), 2 * 1000 * sizeof(float));
  OK(lxla_computation_release(f));
  RELEASE(x);
  OK(lxla_env_release(env));
}

TEST(a_computation_as_a_module_of_its_own) {
  lxla_env env = new_env();
  lxla_tensor w = one(env, 2), p = placeholder(env, F32, DIMS(1)), result = binary(MUL, p, w);
  lxla_computation f = traced(&p, 1, &result, 1);
  char *text;
  OK(lxla_computation_stablehlo(f, &text));
  CHECK(strstr(text, "func.func public @main(%v0: tensor<1xf32>, %v1: tensor<1xf32>) -> (tensor<1xf32>)"));
  lxla_string_free(text);
  OK(lxla_computation_release(f));
  RELEASE(w, p, result);
  OK(lxla_env_release(env));
}
