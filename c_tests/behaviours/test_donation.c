// Buffers that a step donates: D1 to D4, D6 to D11 and D13 of docs/behaviours.md. (D12: a Rust test of the engine.)
#include "resident.h"

#include <unistd.h>

TEST(d1_two_updates_and_an_old_sum) {
  lxla_env env = new_env();
  lxla_tensor t1 = one(env, 1), t2 = one(env, 2);
  lxla_tensor t3 = binary(ADD, t1, t2);
  OK(lxla_binary_scalar_inplace(MUL, t1, 2));
  OK(lxla_binary_scalar_inplace(ADD, t2, 2));
  EQUAL(step(env), 2);
  EQUAL(value(t3), 3);
  EQUAL(value(t1), 2);
  EQUAL(value(t2), 4);
  RELEASE(t1, t2, t3);
  OK(lxla_env_release(env));
}

TEST(d2_a_snapshot_keeps_the_old_value) {
  lxla_env env = new_env();
  lxla_tensor t1 = one(env, 5), c = snapshot(t1);
  OK(lxla_binary_scalar_inplace(ADD, t1, 1));
  EQUAL(step(env), 0);
  EQUAL(value(c), 5);
  EQUAL(value(t1), 6);
  // Once the snapshot is released, the next step donates again.
  RELEASE(c);
  OK(lxla_binary_scalar_inplace(ADD, t1, 1));
  EQUAL(step(env), 1);
  EQUAL(value(t1), 7);
  RELEASE(t1);
  OK(lxla_env_release(env));
}

TEST(d2_a_snapshot_of_a_pending_value_and_of_a_snapshot) {
  lxla_env env = new_env();
  lxla_tensor t = one(env, 1);
  OK(lxla_binary_scalar_inplace(ADD, t, 1));
  lxla_tensor a = snapshot(t), b = snapshot(a);
  OK(lxla_binary_scalar_inplace(ADD, a, 10));
  OK(lxla_binary_scalar_inplace(ADD, t, 100));
  step(env);
  EQUAL(value(t), 102);
  EQUAL(value(a), 12);
  EQUAL(value(b), 2);
  RELEASE(t, a, b);
  OK(lxla_env_release(env));
}

TEST(d3_a_step_each) {
  lxla_env env = new_env();
  lxla_tensor t1 = one(env, 1);
  OK(lxla_binary_scalar_inplace(ADD, t1, 1));
  EQUAL(step(env), 1);
  OK(lxla_binary_scalar_inplace(MUL, t1, 100));
  EQUAL(step(env), 1);
  EQUAL(value(t1), 200);
  RELEASE(t1);
  OK(lxla_env_release(env));
}

TEST(d4_a_released_batch_is_donated_or_freed_at_once) {
  lxla_env env = new_env();
  lxla_tensor w = one(env, 3), batch = one(env, 4);
  lxla_tensor y = binary(MUL, w, batch);
  RELEASE(batch);
  EQUAL(step(env), 1);
  EQUAL(value(y), 12);
  EQUAL(value(w), 3);
  EQUAL(counter(env, "FreedEarly"), 0);
  RELEASE(y);

  // No output has the size of this buffer: it is not donated, and the step frees it.
  float values[1000] = {1};
  uint64_t before = counter(env, "LiveBytes");
  batch = from_f32(env, DIMS(1000), values);
  OK(lxla_reduce(LXLA_REDUCE_SUM, batch, DIMS(0), 0, &y));
  RELEASE(batch);
  EQUAL(step(env), 0);
  EQUAL(counter(env, "LiveBytes") - before, sizeof(float));
  EQUAL(counter(env, "FreedEarly"), 1);
  EQUAL(value(y), 1);
  RELEASE(w, y);
  OK(lxla_env_release(env));
}

static lxla_tensor zeros(lxla_env env, int64_t n) {
  lxla_tensor t;
  OK(lxla_tensor_full(env, XLA(0), LXLA_DTYPE_F32, DIMS(n), 0, &t));
  return t;
}

TEST(d4_rebinding_and_momentum_run_in_place) {
  enum { N = 64 << 20 };  // 256 MB
  lxla_env env = new_env();
  lxla_tensor p = zeros(env, N);
  step(env);
  for (int i = 0; i < 3; i++) {
    reset_peak();
    double before = status_bytes("VmRSS:");
    lxla_tensor scaled = scalar(MUL, p, 0.9), next = scalar(ADD, scaled, 1);
    RELEASE(p, scaled);
    p = next;
    EQUAL(step(env), 1);
    if (i) CHECK(status_bytes("VmHWM:") - before < 16e6);
  }
  lxla_tensor v = zeros(env, N);
  step(env);
  for (int i = 0; i < 3; i++) {
    reset_peak();
    double before = status_bytes("VmRSS:");
    OK(lxla_binary_scalar_inplace(MUL, v, 0.9));
    OK(lxla_binary_inplace(ADD, v, p));
    lxla_tensor change = scalar(MUL, v, 0.1);
    OK(lxla_binary_inplace(SUB, p, change));
    RELEASE(change);
    EQUAL(step(env), 2);
    if (i) CHECK(status_bytes("VmHWM:") - before < 16e6);
  }
  EQUAL(counter(env, "LiveBytes"), 2.0 * N * sizeof(float));
  RELEASE(p, v);
  no_live_bytes(env);
  OK(lxla_env_release(env));
}

TEST(d6_donation_can_be_turned_off) {
  float results[2];
  for (int on = 0; on < 2; on++) {
    lxla_env_options options = default_options();
    options.donation = on ? LXLA_ON : LXLA_OFF;
    lxla_env env;
    OK(lxla_env_create(&options, &env));
    lxla_tensor t = one(env, 1);
    for (int i = 0; i < 5; i++) {
      OK(lxla_binary_scalar_inplace(MUL, t, 1.5));
      EQUAL(step(env), on);
    }
    results[on] = value(t);
    RELEASE(t);
    OK(lxla_env_release(env));
  }
  EQUAL(results[0], results[1]);

  lxla_env env = new_env();
  lxla_tensor t = one(env, 1);
  OK(lxla_env_set_option(env, "donation", "false"));
  OK(lxla_binary_scalar_inplace(MUL, t, 2));
  EQUAL(step(env), 0);
  OK(lxla_env_set_option(env, "donation", "true"));
  OK(lxla_binary_scalar_inplace(MUL, t, 2));
  EQUAL(step(env), 1);
  EQUAL(value(t), 4);
  RELEASE(t);
  OK(lxla_env_release(env));
}

// A small network with momentum: the parameters and momenta of three layers.
TEST(d7_every_parameter_and_momentum_is_donated_each_step) {
  enum { LAYERS = 6, WIDTH = 16 };
  lxla_env env = new_env();
  float eye[WIDTH * WIDTH] = {0}, x_values[WIDTH];
  for (int i = 0; i < WIDTH; i++) eye[i * WIDTH + i] = 1, x_values[i] = 1;
  lxla_tensor w[LAYERS], m[LAYERS], x = from_f32(env, DIMS(1, WIDTH), x_values);
  for (int i = 0; i < LAYERS; i++) {
    w[i] = from_f32(env, DIMS(WIDTH, WIDTH), eye);
    OK(lxla_tensor_full(env, XLA(0), LXLA_DTYPE_F32, DIMS(WIDTH, WIDTH), 0, &m[i]));
  }
  step(env);
  uint64_t live = counter(env, "LiveBytes"), compiled = counter(env, "UncachedCompile");
  EQUAL(live, (2.0 * LAYERS * WIDTH * WIDTH + WIDTH) * sizeof(float));
  OK(lxla_env_metrics_reset(env));
  for (int s = 0; s < 1000; s++) {
    lxla_tensor h = snapshot(x);
    for (int i = 0; i < LAYERS; i++) {
      lxla_tensor next;
      OK(lxla_matmul(h, w[i], &next));
      RELEASE(h);
      h = next;
    }
    for (int i = 0; i < LAYERS; i++) {
      lxla_tensor change;
      OK(lxla_binary_scalar_inplace(MUL, m[i], 0.5));
      OK(lxla_binary_inplace(ADD, m[i], h));
      change = scalar(MUL, m[i], 0.0);
      OK(lxla_binary_inplace(SUB, w[i], change));
      RELEASE(change);
    }
    RELEASE(h);
    EQUAL(step(env), 2 * LAYERS);
  }
  EQUAL(counter(env, "UncachedCompile"), 1);
  EQUAL(compiled, 1);
  EQUAL(counter(env, "LiveBytes"), live);
  CHECK(counter(env, "PeakLiveBytes") == live);
  float values[WIDTH * WIDTH];
  read_f32(m[0], values, WIDTH * WIDTH);
  CHECK(fabsf(values[0] - 2) < 1e-6);
  OK(lxla_tensor_release_many(w, LAYERS));
  OK(lxla_tensor_release_many(m, LAYERS));
  RELEASE(x);
  OK(lxla_env_release(env));
}

TEST(d8_an_operand_used_twice_is_passed_once) {
  lxla_env env = new_env();
  lxla_tensor x = one(env, 3), same = snapshot(x);
  lxla_tensor y = binary(MUL, x, same);
  RELEASE(same);
  OK(lxla_binary_inplace(ADD, x, x));
  EQUAL(step(env), 1);
  EQUAL(value(x), 6);
  EQUAL(value(y), 9);
  char *text;
  lxla_tensor z = binary(MUL, x, x);
  OK(lxla_stablehlo(&z, 1, &text));
  int arguments = 0;
  for (char *at = strstr(text, "@main"); *at && *at != '\n'; at++) arguments += *at == '%';
  EQUAL(arguments, 1);
  lxla_string_free(text);
  RELEASE(x, y, z);
  OK(lxla_env_release(env));
}

TEST(d9_a_chain_in_place_donates_one_buffer) {
  lxla_env env = new_env();
  lxla_tensor t = one(env, 1);
  for (int i = 0; i < 10; i++) OK(lxla_binary_scalar_inplace(MUL, t, 2));
  EQUAL(step(env), 1);
  EQUAL(value(t), 1024);
  RELEASE(t);
  OK(lxla_env_release(env));
}

// An operation that waits for a placeholder needs the new value only: the step computes it and donates the old one.
TEST(d10_what_waits_for_a_placeholder_and_a_result_keeps_the_result) {
  lxla_env env = new_env();
  lxla_tensor p, t = one(env, 1), result;
  OK(lxla_tensor_placeholder(env, XLA(0), LXLA_DTYPE_F32, DIMS(1), &p));
  OK(lxla_binary_scalar_inplace(ADD, t, 1));
  lxla_tensor q = binary(ADD, p, t);
  EQUAL(step(env), 1);
  EQUAL(state_of(q), LXLA_STATE_PENDING);
  OK(lxla_binary_scalar_inplace(ADD, t, 1));
  EQUAL(step(env), 0);  // q needs the old value now
  lxla_computation f;
  OK(lxla_computation_trace(&p, 1, &q, 1, &f));
  OK(lxla_computation_call(f, &t, 1, &result, 1));
  EQUAL(value(result), 3 + 2);
  OK(lxla_computation_release(f));
  RELEASE(p, t, q, result);
  no_live_bytes(env);
  OK(lxla_env_release(env));
}

TEST(d11_identical_outputs_constants_and_parameters) {
  lxla_env env = new_env();
  lxla_tensor a = one(env, 2), b = one(env, 3);
  // Two identical outputs, each of which is updated on its own later.
  lxla_tensor x = binary(ADD, a, b), y = binary(ADD, a, b);
  // A constant as an output, twice; and a parameter as an output (a reshape to the same shape is its operand).
  lxla_tensor c1, c2, same;
  OK(lxla_tensor_full(env, XLA(0), LXLA_DTYPE_F32, DIMS(1), 7, &c1));
  OK(lxla_tensor_full(env, XLA(0), LXLA_DTYPE_F32, DIMS(1), 7, &c2));
  OK(lxla_reshape(a, DIMS(1), &same));
  EQUAL(state_of(same), LXLA_STATE_READY);
  step(env);
  OK(lxla_binary_scalar_inplace(ADD, x, 1));
  OK(lxla_binary_scalar_inplace(ADD, c1, 1));
  OK(lxla_binary_scalar_inplace(ADD, same, 1));
  EQUAL(step(env), 2);
  EQUAL(value(x), 6);
  EQUAL(value(y), 5);
  EQUAL(value(c1), 8);
  EQUAL(value(c2), 7);
  EQUAL(value(same), 3);
  EQUAL(value(a), 2);
  RELEASE(a, b, x, y, c1, c2, same);
  OK(lxla_env_release(env));
}

TEST(d11_nothing_to_do_and_nothing_in_it) {
  lxla_env env = new_env();
  EQUAL(step(env), 0);  // nothing recorded at all
  lxla_tensor a = one(env, 1);
  EQUAL(step(env), 0);  // nothing pending
  lxla_tensor dropped = scalar(ADD, a, 1);
  RELEASE(dropped);
  EQUAL(step(env), 0);  // nothing live
  EQUAL(counter(env, "ExecuteComputation"), 0);

  lxla_tensor empty, sum;
  OK(lxla_tensor_from_host(env, XLA(0), LXLA_DTYPE_F32, DIMS(0, 3), NULL, 0, &empty));
  OK(lxla_binary_scalar_inplace(ADD, empty, 1));
  OK(lxla_reduce(LXLA_REDUCE_SUM, empty, DIMS(0), 0, &sum));
  EQUAL(step(env), 1);  // a zero-size buffer is donated like any other
  float values[3] = {9, 9, 9};
  read_f32(sum, values, 3);
  EQUAL(values[0] + values[1] + values[2], 0);
  OK(lxla_tensor_read(empty, NULL, 0));
  OK(lxla_tensor_full(env, XLA(0), LXLA_DTYPE_S32, DIMS(2), 5, &dropped));  // no inputs
  step(env);
  int32_t fives[2];
  OK(lxla_tensor_read(dropped, fives, sizeof fives));
  EQUAL(fives[0] + fives[1], 10);
  RELEASE(a, empty, sum, dropped);
  OK(lxla_env_release(env));
}

// A step also donates a buffer of other dtype and shape, if it has as many bytes as an output.
TEST(d4_a_donor_of_equal_bytes) {
  lxla_env env = new_env();
  lxla_tensor t = one(env, 2.5f), wide, n;
  OK(lxla_reshape(t, DIMS(1, 1), &wide));
  OK(lxla_convert(wide, LXLA_DTYPE_S32, &n));
  RELEASE(t, wide);
  EQUAL(step(env), 1);
  int32_t got;
  OK(lxla_tensor_read(n, &got, sizeof got));
  EQUAL(got, 2);
  RELEASE(n);
  OK(lxla_env_release(env));
}

// Runs a step of the listed tensors and waits for it. Returns D.
static uint64_t step_of(lxla_env env, const lxla_tensor *list, size_t n) {
  uint64_t before = counter(env, "DonatedBuffers");
  OK(lxla_step_tensors(list, n, 1));
  return counter(env, "DonatedBuffers") - before;
}

TEST(d13_a_list_is_evaluated_in_place_while_others_stay_pending) {
  lxla_env env = new_env();
  lxla_tensor w = one(env, 1), m = one(env, 2), c = one(env, 3);
  lxla_tensor old = scalar(ADD, w, 100), apart = scalar(MUL, c, 2);  // pending, not listed
  OK(lxla_binary_inplace(ADD, w, m));
  OK(lxla_binary_scalar_inplace(MUL, m, 0.5));
  OK(lxla_binary_scalar_inplace(ADD, c, 1));
  lxla_tensor list[] = {w, m}, on_new = scalar(MUL, w, 10);
  EQUAL(step_of(env, list, 2), 1);  // m's old buffer; `old` needs that of w, but on_new needs only the new one
  EQUAL(state_of(w), LXLA_STATE_READY);
  EQUAL(state_of(m), LXLA_STATE_READY);
  EQUAL(state_of(c), LXLA_STATE_PENDING);
  EQUAL(state_of(old), LXLA_STATE_PENDING);
  EQUAL(state_of(apart), LXLA_STATE_PENDING);
  EQUAL(state_of(on_new), LXLA_STATE_PENDING);
  OK(lxla_binary_inplace(ADD, w, m));
  EQUAL(step_of(env, &w, 1), 0);  // on_new needs w's buffer, and no other one has the value of m
  EQUAL(value(w), 4);
  EQUAL(step(env), 3);  // the buffers that old, on_new and c's update needed
  EQUAL(value(old), 101);
  EQUAL(value(apart), 6);
  EQUAL(value(on_new), 30);
  EQUAL(value(c), 4);
  EQUAL(value(m), 1);
  RELEASE(w, m, c, old, apart, on_new);
  no_live_bytes(env);
  OK(lxla_env_release(env));
}

// A value that no handle keeps, computed by the step, and needed again by what stays pending: its operand is kept.
TEST(d13_what_the_step_computes_without_keeping_it_is_computed_again) {
  lxla_env env = new_env();
  lxla_tensor w = one(env, 2), y = scalar(MUL, w, 3), rest = scalar(ADD, y, 1);
  OK(lxla_binary_inplace(ADD, w, y));
  RELEASE(y);
  uint64_t recomputed = counter(env, "RecomputedOps");
  EQUAL(step_of(env, &w, 1), 0);
  EQUAL(value(w), 8);
  EQUAL(step_of(env, &rest, 1), 1);
  EQUAL(value(rest), 7);
  EQUAL(counter(env, "RecomputedOps") - recomputed, 1);
  RELEASE(w, rest);
  OK(lxla_env_release(env));
}

// Momentum over a list of parameters that a frontend evaluates, while another pending tensor waits for an old value of
// one of them: one program for each set of donors, found again, and one buffer of each tensor.
TEST(d13_an_optimiser_over_a_list_runs_in_place) {
  enum { N = 4, SIZE = 1 << 16, STEPS = 20 };
  lxla_env env = new_env();
  lxla_tensor w[N], m[N], list[2 * N];
  for (int i = 0; i < N; i++) w[i] = zeros(env, SIZE), m[i] = zeros(env, SIZE);
  step(env);
  lxla_tensor ready = one(env, 5);
  uint64_t live = counter(env, "LiveBytes");
  EQUAL(live, 2.0 * N * SIZE * sizeof(float) + sizeof(float));
  OK(lxla_env_metrics_reset(env));
  lxla_tensor pending = scalar(ADD, ready, 1), old = none;
  for (int s = 0; s < STEPS; s++) {
    if (s == STEPS / 2) old = scalar(ADD, w[2], 0.5);
    for (int i = 0; i < N; i++) {
      OK(lxla_binary_scalar_inplace(MUL, m[i], 0.5));
      OK(lxla_binary_scalar_inplace(ADD, m[i], 1));
      OK(lxla_binary_inplace(ADD, w[i], m[i]));
      list[2 * i] = w[i], list[2 * i + 1] = m[i];
    }
    EQUAL(step_of(env, list, 2 * N), s == STEPS / 2 ? 2 * N - 1 : 2 * N);
    EQUAL(state_of(pending), LXLA_STATE_PENDING);
    if (s == STEPS / 2 - 1) CHECK(counter(env, "PeakLiveBytes") == live);  // one copy of everything
  }
  EQUAL(counter(env, "MarkStep"), STEPS);
  CHECK(counter(env, "UncachedCompile") <= 2);
  EQUAL(counter(env, "CachedCompile"), STEPS - counter(env, "UncachedCompile"));
  EQUAL(counter(env, "LiveBytes"), live + SIZE * sizeof(float));  // what `old` needs
  double first = 0, momentum = 0;
  for (int s = 0; s < STEPS / 2; s++) momentum = momentum * 0.5 + 1, first += momentum;
  static float values[SIZE];
  read_f32(old, values, SIZE);
  CHECK(fabs(values[7] - (first + 0.5)) < 1e-4);
  EQUAL(value(pending), 6);
  OK(lxla_tensor_release_many(w, N));
  OK(lxla_tensor_release_many(m, N));
  RELEASE(ready, pending, old);
  no_live_bytes(env);
  OK(lxla_env_release(env));
}

TEST(d13_placeholders_snapshots_and_computations_keep_old_values) {
  lxla_env env = new_env();
  lxla_tensor p, t = one(env, 1), u = one(env, 2), v = one(env, 3), captured = one(env, 4);
  OK(lxla_tensor_placeholder(env, XLA(0), LXLA_DTYPE_F32, DIMS(1), &p));
  lxla_tensor q = binary(ADD, p, t), kept = snapshot(u), sum = binary(ADD, p, captured), result;
  lxla_computation f;
  OK(lxla_computation_trace(&p, 1, &sum, 1, &f));
  RELEASE(sum);
  OK(lxla_binary_scalar_inplace(ADD, t, 10));
  OK(lxla_binary_scalar_inplace(ADD, u, 10));
  OK(lxla_binary_scalar_inplace(ADD, v, 10));
  OK(lxla_binary_scalar_inplace(ADD, captured, 10));
  lxla_tensor list[] = {t, u, v, captured}, with_q[] = {t, q};
  REFUSED(lxla_step_tensors(with_q, 2, 1), LXLA_FAILED_PRECONDITION, "tensors[1]");
  EQUAL(state_of(t), LXLA_STATE_PENDING);
  EQUAL(step_of(env, list, 4), 1);  // v only
  EQUAL(value(kept), 2);
  EQUAL(value(u), 12);
  EQUAL(value(v), 13);
  EQUAL(state_of(q), LXLA_STATE_PENDING);
  // q needs the old t; f has captured 4.
  lxla_computation g;
  OK(lxla_computation_trace(&p, 1, &q, 1, &g));
  OK(lxla_computation_call(g, &v, 1, &result, 1));
  EQUAL(value(result), 14);
  RELEASE(result);
  OK(lxla_computation_call(f, &v, 1, &result, 1));
  EQUAL(value(result), 17);
  // Nothing keeps the old values any more.
  RELEASE(q, kept, p, result);
  OK(lxla_computation_release(f));
  OK(lxla_computation_release(g));
  for (int i = 0; i < 4; i++) OK(lxla_binary_scalar_inplace(ADD, list[i], 1));
  EQUAL(step_of(env, list, 4), 4);
  RELEASE(t, u, v, captured);
  no_live_bytes(env);
  OK(lxla_env_release(env));
}

TEST(d13_a_save_in_flight_keeps_what_it_writes) {
  enum { N = 1 << 20 };
  char path[64];
  snprintf(path, sizeof path, "/tmp/lxla_step_tensors_%d.safetensors", (int)getpid());
  lxla_env env = new_env();
  lxla_tensor big, other = one(env, 1), loaded;
  OK(lxla_tensor_full(env, XLA(0), LXLA_DTYPE_F32, DIMS(N), 1, &big));
  lxla_tensor pending = scalar(ADD, other, 1);
  const char *name = "big";
  static float values[N];
  for (int turn = 0; turn < 4; turn++) {
    lxla_save_ticket ticket;
    OK(lxla_save_async(path, &name, &big, 1, &ticket));
    for (int i = 0; i < 2; i++) {
      OK(lxla_binary_scalar_inplace(ADD, big, 0.5));
      OK(lxla_step_tensors(&big, 1, 0));
    }
    OK(lxla_save_wait(ticket));
    OK(lxla_save_ticket_release(ticket));
    OK(lxla_load(env, XLA(0), path, name, &loaded));
    read_f32(loaded, values, N);
    for (int i = 0; i < N; i += 1000) EQUAL(values[i], 1 + turn);
    RELEASE(loaded);
  }
  EQUAL(state_of(pending), LXLA_STATE_PENDING);
  remove(path);
  RELEASE(big, other, pending);
  OK(lxla_env_release(env));
}

TEST(d13_donation_off_and_lists_that_are_all_that_is_pending) {
  lxla_env env = new_env();
  lxla_tensor t = one(env, 1), u = one(env, 2), list[] = {u, t};
  for (int i = 0; i < 6; i++) {
    OK(lxla_binary_scalar_inplace(MUL, t, 2));
    OK(lxla_binary_inplace(ADD, u, t));
    // The same program as a step of everything, and recognized like one.
    EQUAL(i % 2 ? step(env) : step_of(env, list, 2), 2);
  }
  EQUAL(counter(env, "UncachedCompile"), 1);
  EQUAL(counter(env, "MarkStep"), 6);
  CHECK(counter(env, "RepeatedStep") >= 3);
  OK(lxla_env_set_option(env, "donation", "false"));
  OK(lxla_binary_scalar_inplace(MUL, t, 2));
  EQUAL(step_of(env, &t, 1), 0);
  EQUAL(value(t), 128);
  EQUAL(value(u), 2 + 126);
  RELEASE(t, u);
  OK(lxla_env_release(env));
}

// The text names the output that is written over each donated argument; no two outputs are written over the same one.
TEST(step_text_names_donors) {
  lxla_env env = new_env();
  lxla_tensor p = one(env, 1), v = one(env, 2);
  OK(lxla_binary_scalar_inplace(MUL, v, 0.5));
  lxla_tensor change = scalar(MUL, v, 0.1);
  OK(lxla_binary_inplace(SUB, p, change));
  RELEASE(change);
  char *text;
  OK(lxla_step_stablehlo(env, XLA(0), &text));
  CHECK(strstr(text, "%v0: tensor<1xf32> {tf.aliasing_output = 0 : i32}"));
  CHECK(strstr(text, "{tf.aliasing_output = 1 : i32}"));
  lxla_string_free(text);
  OK(lxla_stablehlo(&p, 1, &text));
  CHECK(!strstr(text, "aliasing_output") && !strstr(text, "buffer_donor"));
  lxla_string_free(text);
  EQUAL(step(env), 2);
  RELEASE(p, v);
  OK(lxla_env_release(env));
}
