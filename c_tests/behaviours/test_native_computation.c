// Computations traced and applied on cpu without a plugin give the same results as on an XLA device.
#include "both.h"

#define LT LXLA_COMPARE_LT
#define CPU ((lxla_device){LXLA_DEVICE_CPU, 0})
#define LIST(...) (const lxla_tensor[]){__VA_ARGS__}, sizeof((lxla_tensor[]){__VA_ARGS__}) / sizeof(lxla_tensor)

static lxla_tensor hole(int32_t dtype, const int64_t *dims, size_t rank) {
  lxla_tensor p;
  OK(lxla_tensor_placeholder(env, device, dtype, dims, rank, &p));
  return p;
}

static lxla_computation trace_of(const lxla_tensor *params, size_t n, const lxla_tensor *results, size_t n_results) {
  lxla_computation c;
  OK(lxla_computation_trace(params, n, results, n_results, &c));
  return c;
}

static size_t captured_by(lxla_computation c) {
  size_t params, results, captured;
  OK(lxla_computation_info(c, &params, &results, &captured));
  return captured;
}

static lxla_tensor call_one(lxla_computation c, const lxla_tensor *args, size_t n) {
  lxla_tensor out;
  OK(lxla_computation_call(c, args, n, &out, 1));
  return out;
}

static int32_t settled_state(void) { return is_native() ? LXLA_STATE_NATIVE : LXLA_STATE_PENDING; }

// Traces p * w + 3 w.
static lxla_computation weighted(lxla_tensor w) {
  lxla_tensor p = hole(F32, DIMS(2)), product = binary(MUL, p, w), three = scalar(MUL, w, 3),
              sum = binary(ADD, product, three);
  lxla_computation c = trace_of(&p, 1, &sum, 1);
  RELEASE(p, product, three, sum);
  return c;
}

static void placeholders(void) {
  lxla_tensor p = hole(F32, DIMS(2)), like, w = F32S(DIMS(2), 5, 7);
  float values[2];
  EQUAL(state_of(p), LXLA_STATE_PLACEHOLDER);
  OK(lxla_tensor_set_requires_grad(p, 1));
  OK(lxla_tensor_placeholder_like(p, &like));
  int32_t grad;
  OK(lxla_tensor_requires_grad(like, &grad));
  EQUAL(grad, 1);
  lxla_device where;
  OK(lxla_tensor_device(like, &where));
  EQUAL(where.kind, device.kind);
  REFUSED(lxla_tensor_read(p, values, sizeof values), LXLA_FAILED_PRECONDITION, "placeholder f32[2] has no value");
  REFUSED(lxla_sync(&p, 1), LXLA_FAILED_PRECONDITION, "placeholder f32[2]");
  // An operation on a placeholder waits for its value; all other operations are evaluated at once.
  lxla_tensor sum = binary(ADD, p, w), own = scalar(MUL, w, 2), later = binary(MUL, sum, own);
  EQUAL(state_of(sum), LXLA_STATE_PENDING);
  EQUAL(state_of(later), LXLA_STATE_PENDING);
  EQUAL(state_of(own), settled_state());
  REFUSED(lxla_tensor_read(later, values, sizeof values), LXLA_FAILED_PRECONDITION, "placeholder f32[2] has no value");
  REFUSED(lxla_sync(&later, 1), LXLA_FAILED_PRECONDITION, "placeholder f32[2]");
  char path[] = "/tmp/lxla_native_computation";
  REFUSED(lxla_save(path, (const char *[]){"a"}, &sum, 1), LXLA_FAILED_PRECONDITION, "placeholder f32[2]");
  HAS_F32(own, DIMS(2), 10, 14);
  // An in-place update with a waiting operand makes the tensor wait. Assigning a value ends that.
  lxla_tensor kept = snapshot(w);
  OK(lxla_binary_inplace(ADD, w, p));
  EQUAL(state_of(w), LXLA_STATE_PENDING);
  OK(lxla_tensor_assign(w, kept));
  OK(lxla_tensor_assign(p, kept));
  HAS_F32(w, DIMS(2), 5, 7);
  HAS_F32(p, DIMS(2), 5, 7);
  EQUAL(state_of(sum), LXLA_STATE_PENDING);
  OK(lxla_tensor_write(like, (float[]){1, 2}, sizeof values));
  HAS_F32(like, DIMS(2), 1, 2);
  RELEASE(sum, later, kept);
}
TEST(a_placeholder_has_no_value_and_what_needs_one_waits) { on_both(placeholders); }

static void calls(void) {
  lxla_tensor w = F32S(DIMS(2), 10, 20);
  lxla_computation c = weighted(w);
  EQUAL(captured_by(c), 2);
  // The computation keeps the captured values of the time of tracing.
  OK(lxla_binary_scalar_inplace(ADD, w, 100));
  lxla_tensor x = F32S(DIMS(2), 1, 2), wide = F32S(DIMS(3), 1, 2, 3), y = call_one(c, &x, 1), out;
  EQUAL(state_of(y), settled_state());
  HAS_F32(y, DIMS(2), 40, 100);
  OK(lxla_computation_captured(c, 1, &out));
  HAS_F32(out, DIMS(2), 30, 60);
  REFUSED(lxla_computation_call(c, &wide, 1, &out, 1), BAD,
          "args[0] is f32[3]; the computation's parameter 0 is f32[2]");
  REFUSED(lxla_computation_call(c, NULL, 0, &out, 1), BAD, "args: 0 given");
  // Calls it in a body, and in a body nested in that one: q captures a tensor that waits for p.
  lxla_tensor p = hole(F32, DIMS(2)), q = hole(F32, DIMS(2)), first = call_one(c, &p, 1), sum = binary(ADD, first, q);
  EQUAL(state_of(first), LXLA_STATE_PENDING);
  lxla_computation inner = trace_of(&q, 1, &sum, 1);
  EQUAL(captured_by(inner), 1);
  lxla_tensor twice = call_one(inner, &first, 1);
  lxla_computation outer = trace_of(&p, 1, LIST(twice, p, w, first));
  OK(lxla_computation_release(c));
  OK(lxla_computation_release(inner));
  lxla_tensor r[4];
  OK(lxla_computation_call(outer, &x, 1, r, 4));
  HAS_F32(r[0], DIMS(2), 80, 200);
  HAS_F32(r[1], DIMS(2), 1, 2);
  HAS_F32(r[2], DIMS(2), 110, 120);
  HAS_F32(r[3], DIMS(2), 40, 100);
  // Some of these results wait, and others have their values.
  OK(lxla_computation_call(outer, &p, 1, r, 4));
  EQUAL(state_of(r[0]), LXLA_STATE_PENDING);
  EQUAL(state_of(r[1]), LXLA_STATE_PLACEHOLDER);
  EQUAL(state_of(r[3]), LXLA_STATE_PENDING);
  HAS_F32(r[2], DIMS(2), 110, 120);
  RELEASE(r[0], r[1], r[3]);
  lxla_computation none_c;
  REFUSED(lxla_computation_trace(LIST(p, p), &twice, 1, &none_c), BAD,
          "params[1] is the same placeholder as params[0]");
  REFUSED(lxla_computation_trace(&w, 1, &twice, 1, &none_c), BAD, "params[0], f32[2], has a value");
  OK(lxla_computation_release(outer));
  RELEASE(w, x, wide, p, q, first, sum, twice);
}
TEST(calls_capture_arrays_and_what_waits) { on_both(calls); }

// Captures an array once, however often it is used; its views count as other captures.
static void once(void) {
  lxla_tensor w = F32S(DIMS(2), 3, 4), p = hole(F32, DIMS(2)), a = binary(MUL, p, w), b = binary(ADD, a, w),
              c = binary(ADD, b, w);
  lxla_computation f = trace_of(&p, 1, &c, 1);
  EQUAL(captured_by(f), 1);
  HAS_F32(call_one(f, &w, 1), DIMS(2), 15, 24);
  OK(lxla_computation_release(f));
  RELEASE(w, p, a, b, c);
}
TEST(an_array_is_captured_once) { on_both(once); }

// Traces body(i, x) = (i + 1, x * w) and cond(i, x) = i < limit; both have captures.
static void loops(void) {
  lxla_tensor w = F32S(DIMS(2), 2, 3), limit = at(S32, 4), i = hole(S32, SCALAR), x = hole(F32, DIMS(2)), below;
  lxla_tensor next = scalar(ADD, i, 1), scaled = binary(MUL, x, w), r[3];
  OK(lxla_compare(LT, i, limit, &below));
  lxla_computation cond = trace_of(LIST(i, x), &below, 1), body = trace_of(LIST(i, x), LIST(next, scaled));
  lxla_tensor zero = at(S32, 0), start = F32S(DIMS(2), 1, 1);
  OK(lxla_while(cond, body, LIST(zero, start), r));
  EQUAL(state_of(r[1]), settled_state());
  HAS(r[0], S32, int32_t, SCALAR, 4);
  HAS_F32(r[1], DIMS(2), 16, 81);
  // Calls the loop within a branch within a scan.
  OK(lxla_while(cond, body, LIST(i, x), r));
  lxla_computation powers = trace_of(LIST(i, x), LIST(r[1], r[0]));
  RELEASE(r[0], r[1]);
  lxla_computation given = trace_of(LIST(i, x), LIST(x, i));
  lxla_tensor pred;
  OK(lxla_compare_scalar(LXLA_COMPARE_GT, i, 1, &pred));
  lxla_tensor total = hole(F32, DIMS(2)), added;
  OK(lxla_cond(pred, powers, given, LIST(i, total), r, 2));
  added = binary(ADD, total, r[0]);
  lxla_computation step_of = trace_of(LIST(total, i), LIST(added, r[1]));
  RELEASE(r[0], r[1]);
  lxla_tensor numbers = ARRAY(S32, int32_t, DIMS(3), 0, 2, 3), carried, stacked;
  OK(lxla_scan(step_of, &start, 1, &numbers, 1, 3, 0, &carried, &stacked, 1));
  HAS_F32(carried, DIMS(2), 30, 80);
  HAS(stacked, S32, int32_t, DIMS(3), 0, 4, 4);
  OK(lxla_scan(step_of, &start, 1, &numbers, 1, 3, 1, &carried, &stacked, 1));
  HAS_F32(carried, DIMS(2), 30, 80);
  HAS(stacked, S32, int32_t, DIMS(3), 0, 4, 4);
  REFUSED(lxla_scan(step_of, &start, 1, &numbers, 1, 2, 0, &carried, &stacked, 1), BAD, "want 2 slices");
  lxla_computation bodies[] = {step_of, step_of};
  lxla_tensor chosen[2];
  OK(lxla_case(limit, bodies, 2, LIST(start, zero), chosen, 2));
  HAS_F32(chosen[0], DIMS(2), 2, 2);
  HAS(chosen[1], S32, int32_t, SCALAR, 0);
  const lxla_computation all[] = {cond, body, powers, given, step_of};
  for (int n = 0; n < 5; n++) OK(lxla_computation_release(all[n]));
  RELEASE(w, limit, i, x, below, next, scaled, zero, start, pred, total, added, numbers);
}
TEST(loops_branches_and_scans_capture_arrays) { on_both(loops); }

// Reduces by a combiner that captures a scalar.
static void regions(void) {
  lxla_tensor a = hole(F32, SCALAR), b = hole(F32, SCALAR), w = at(F32, 2), scaled = binary(MUL, b, w),
              sum = binary(ADD, a, scaled);
  lxla_computation body = trace_of(LIST(a, b), &sum, 1);
  lxla_tensor x = F32S(DIMS(3), 1, 2, 3), start = at(F32, 0), out;
  OK(lxla_reduce_with(body, &x, &start, 1, (int64_t[]){0}, 1, &out));
  EQUAL(state_of(out), settled_state());
  RELEASE(out);
  OK(lxla_computation_release(body));
  RELEASE(a, b, w, scaled, sum, x, start);
}
TEST(computations_of_scalars_capture_arrays) { on_both(regions); }

// Operations that wait for placeholders, and tensors released at random moments, do not change the results of other
// operations.
static void many(void) {
  lxla_tensor w = F32S(DIMS(2), 1, 2), p = hole(F32, DIMS(2)), x = binary(ADD, p, w);
  for (int i = 0; i < 300; i++) {
    lxla_tensor y = scalar(MUL, x, i % 2 ? 2 : 0.5), own = binary(ADD, w, w), bad;
    REFUSED(lxla_reshape(y, DIMS(3), &bad), BAD, "dims");
    RELEASE(x);
    x = y;
    HAS_F32(own, DIMS(2), 2, 4);
    lxla_tensor mean, soft;
    OK(lxla_mean(w, (int64_t[]){0}, 1, 0, &mean));
    OK(lxla_softmax(x, 0, &soft));
    HAS(mean, F32, float, SCALAR, 1.5);
    RELEASE(soft);
  }
  lxla_computation c = trace_of(&p, 1, &x, 1);
  HAS_F32(call_one(c, &w, 1), DIMS(2), 2, 4);
  OK(lxla_computation_release(c));
  RELEASE(p, x);
  lxla_tensor after = binary(ADD, w, w);
  HAS_F32(after, DIMS(2), 2, 4);
  RELEASE(w);
}
TEST(what_waits_and_what_does_not_stay_apart) { on_both(many); }

TEST(what_was_captured_on_cpu_goes_to_a_device_as_the_option_says) {
  env = new_env();
  device = CPU;
  lxla_tensor w = F32S(DIMS(2), 10, 20), half = at(F32, 0.5), p = hole(F32, DIMS(2)), by_half = binary(MUL, p, half);
  lxla_computation c = weighted(w), scaled = trace_of(&p, 1, &by_half, 1);
  lxla_tensor x = from_f32(env, DIMS(2), (float[]){1, 2}), out;
  REFUSED(lxla_computation_call(c, &x, 1, &out, 1), BAD, "captured 2 values");
  REFUSED(lxla_computation_call(c, &x, 1, &out, 1), BAD, "mixed_device_policy is scalar");
  HAS_F32(call_one(scaled, &x, 1), DIMS(2), 0.5, 1);
  OK(lxla_env_set_option(env, "mixed_device_policy", "error"));
  REFUSED(lxla_computation_call(scaled, &x, 1, &out, 1), BAD, "captured 1 values");
  OK(lxla_env_set_option(env, "mixed_device_policy", "copy"));
  uint64_t copies = counter(env, "MixedDeviceCopy");
  for (int i = 0; i < 3; i++) HAS_F32(call_one(c, &x, 1), DIMS(2), 40, 100);
  EQUAL(counter(env, "MixedDeviceCopy") - copies, 2);  // one for each capture, however many calls
  lxla_tensor q = hole(F32, DIMS(2)), sum = binary(ADD, q, by_half);
  lxla_computation unbound = trace_of(&q, 1, &sum, 1);
  REFUSED(lxla_computation_call(unbound, &x, 1, &out, 1), LXLA_FAILED_PRECONDITION, "placeholder f32[2] has no value");
  OK(lxla_computation_release(unbound));
  // A captured tensor of an XLA device stays on that device.
  device = XLA(0);
  lxla_tensor there = from_f32(env, DIMS(2), (float[]){1, 2});
  lxla_computation far = weighted(there);
  REFUSED(lxla_computation_call(far, &w, 1, &out, 1), BAD, "captured 2 values");
  OK(lxla_computation_release(far));
  OK(lxla_computation_release(c));
  OK(lxla_computation_release(scaled));
  RELEASE(w, half, p, by_half, x, q, sum, there);
  no_live_bytes(env);
  OK(lxla_env_release(env));
}

TEST(native_computations_load_no_plugin) {
  CHECK(setenv("LXLA_PJRT_PLUGIN", "no/such/plugin.so", 1) == 0);
  env = new_env();
  device = CPU;
  placeholders();
  calls();
  loops();
  OK(lxla_env_release(env));
}
