// Traces by scopes: T14 of docs/behaviours.md. What a thread records in a trace belongs to the computation.
#include <pthread.h>

#include "both.h"
#include "computation.h"
#include "noted_calls.h"

static void begin(void) { OK(lxla_tracing_begin(env, device)); }

static lxla_computation ended(const lxla_tensor *params, size_t n, const lxla_tensor *results, size_t n_results) {
  lxla_computation c;
  OK(lxla_tracing_end(params, n, results, n_results, &c));
  return c;
}

static lxla_tensor hole(const int64_t *dims, size_t rank) {
  lxla_tensor p;
  OK(lxla_tensor_placeholder(env, device, F32, dims, rank, &p));
  return p;
}

static lxla_tensor sum_of(lxla_tensor x) {
  lxla_tensor out;
  OK(lxla_reduce(LXLA_REDUCE_SUM, x, NULL, 0, 0, &out));
  return out;
}

static void noted(lxla_tensor x) {
  lxla_kernel_options options = {.struct_size = sizeof options};
  options.ordered = LXLA_ON;
  OK(lxla_host_call(env, note, NULL, &options, &x, 1, NULL, NULL, NULL, 0, NULL));
}

static void counts(lxla_computation c, size_t params, size_t results, size_t captured) {
  size_t found[3];
  OK(lxla_computation_info(c, &found[0], &found[1], &found[2]));
  EQUAL(found[0], params);
  EQUAL(found[1], results);
  EQUAL(found[2], captured);
}

static int text_has(lxla_computation c, const char *words) {
  char *text;
  OK(lxla_computation_stablehlo(c, &text));
  const int n = occurrences(text, words);
  lxla_string_free(text);
  return n;
}

// sum(tanh(w)) of a tensor from before depends on no parameter, and is a part of the computation all the same.
static void whole(void) {
  lxla_tensor w = F32S(DIMS(3), 1, 2, 3);
  begin();
  lxla_tensor p = hole(SCALAR), t, constant, copy = snapshot(w);
  OK(lxla_unary(LXLA_UNARY_TANH, copy, &t));
  lxla_tensor total = sum_of(t), heavy = scalar(MUL, total, 2), moved = binary(ADD, p, heavy);
  OK(lxla_tensor_full(env, device, F32, NULL, 0, 7, &constant));
  lxla_tensor unlike = scalar(MUL, constant, 3);
  lxla_computation c = ended(&p, 1, (lxla_tensor[]){moved, heavy, w, unlike}, 4);
  counts(c, 1, 4, 1);
  EQUAL(text_has(c, "stablehlo.tanh"), 1);
  EQUAL(state_of(t), LXLA_STATE_PENDING);
  float left;
  REFUSED(lxla_tensor_read(total, &left, sizeof left), LXLA_FAILED_PRECONDITION, "placeholder");
  if (is_native()) {
    REFUSED(lxla_tensor_read(unlike, &left, sizeof left), LXLA_FAILED_PRECONDITION, "while a computation was traced");
    REFUSED(lxla_step_tensors(&unlike, 1, 0), LXLA_FAILED_PRECONDITION, "while a computation was traced");
  } else {
    EQUAL(value(unlike), 21);
  }
  RELEASE(p, t, copy, total, heavy, moved, constant, unlike);
  // The computation keeps the value that the tensor had in the trace.
  OK(lxla_binary_scalar_inplace(MUL, w, 100));
  lxla_tensor five = F32S(SCALAR, 5), out[4];
  OK(lxla_computation_call(c, &five, 1, out, 4));
  const double want = 2 * (tanh(1) + tanh(2) + tanh(3));
  CHECK(fabs(value(out[0]) - 5 - want) < 1e-5 && fabs(value(out[1]) - want) < 1e-5);
  HAS_F32(out[2], DIMS(3), 1, 2, 3);
  EQUAL(value(out[3]), 21);
  RELEASE(w, five, out[0], out[1], out[3]);
  OK(lxla_computation_release(c));
}
TEST(t14_what_depends_on_no_parameter_belongs_to_the_computation) { on_both(whole); }

// Branches without operands: only the chosen one is computed.
static void branches(void) {
  lxla_tensor m = F32S(DIMS(2), 3, 4);
  lxla_computation made[2];
  for (int i = 0; i < 2; i++) {
    begin();
    lxla_tensor x = scalar(i == 0 ? MUL : SUB, m, 1), result = sum_of(x);
    noted(result);
    made[i] = ended(NULL, 0, &result, 1);
    RELEASE(x, result);
  }
  for (int taken = 0; taken < 2; taken++) {
    lxla_tensor choice, out;
    const uint8_t is_first = taken == 0;
    OK(lxla_tensor_from_host(env, device, PRED, NULL, 0, &is_first, 1, &choice));
    OK(lxla_cond(choice, made[0], made[1], NULL, 0, &out, 1));
    EQUAL(value(out), taken == 0 ? 7 : 5);
    NOTED(taken == 0 ? "7" : "5");
    RELEASE(choice, out);
  }
  RELEASE(m);
  OK(lxla_computation_release(made[0]));
  OK(lxla_computation_release(made[1]));
}
TEST(t14_only_the_branch_that_is_taken_is_computed) { on_both(branches); }

// An inner trace captures tensors of the outer one, which captures those from before both.
static void nested(void) {
  lxla_tensor w = F32S(SCALAR, 2);
  begin();
  lxla_tensor p = hole(SCALAR), own = binary(MUL, p, w);
  begin();
  lxla_tensor q = hole(SCALAR), both = binary(ADD, q, own), more = binary(MUL, both, w);
  lxla_computation inner = ended(&q, 1, &more, 1);
  counts(inner, 1, 1, 2);
  lxla_tensor applied = called(inner, &p, 1), result = binary(ADD, applied, own);
  lxla_computation outer = ended(&p, 1, &result, 1);
  counts(outer, 1, 1, 1);
  RELEASE(p, own, q, both, more, applied, result);
  lxla_tensor x = F32S(SCALAR, 10), out = called(outer, &x, 1);
  // own = 20; inner = (10 + 20) 2.
  EQUAL(value(out), 60 + 20);
  RELEASE(w, x, out);
  OK(lxla_computation_release(inner));
  OK(lxla_computation_release(outer));
}
TEST(t14_traces_nest) { on_both(nested); }

// A parameter from before the trace; a tensor from the host made in it; gradients by a tensor from before.
static void operands_of_every_kind(void) {
  lxla_tensor p = hole(DIMS(2)), w = F32S(DIMS(2), 3, 4), gradient;
  begin();
  lxla_tensor made = F32S(DIMS(2), 10, 20), product = binary(MUL, p, w), sum = binary(ADD, product, made);
  lxla_tensor square = binary(MUL, sum, sum), loss = sum_of(square);
  OK(lxla_gradients(&loss, 1, NULL, &w, 1, &gradient));
  OK(lxla_binary_scalar_inplace(ADD, made, 1));
  lxla_computation c = ended(&p, 1, (lxla_tensor[]){loss, gradient, made}, 3);
  counts(c, 1, 3, 2);
  RELEASE(p, made, product, sum, square, loss, gradient);
  lxla_tensor x = F32S(DIMS(2), 1, 2), out[3];
  OK(lxla_computation_call(c, &x, 1, out, 3));
  EQUAL(value(out[0]), 13 * 13 + 28 * 28);
  HAS_F32(out[1], DIMS(2), 2 * 13, 2 * 28 * 2);
  HAS_F32(out[2], DIMS(2), 11, 21);
  RELEASE(w, x, out[0]);
  OK(lxla_computation_release(c));
}
TEST(t14_operands_of_every_kind) { on_both(operands_of_every_kind); }

static void refusals(void) {
  lxla_tensor w = F32S(DIMS(2), 3, 4), y = scalar(ADD, w, 1), copy;
  lxla_computation c;
  float values[2];
  const lxla_tensor list[] = {y};
  const char *names[] = {"y"};
  REFUSED(lxla_tracing_end(NULL, 0, list, 1, &c), LXLA_FAILED_PRECONDITION, "this thread traces nothing");
  REFUSED(lxla_tracing_abandon(), LXLA_FAILED_PRECONDITION, "this thread traces nothing");
  begin();
  lxla_tensor p = hole(DIMS(2)), x = binary(ADD, p, y);
  for (int i = 0; i < 2; i++) {
    const lxla_tensor of = i == 0 ? y : x;
    REFUSED(lxla_tensor_read(of, values, sizeof values), LXLA_FAILED_PRECONDITION, "while this thread traces");
    REFUSED(lxla_sync(&of, 1), LXLA_FAILED_PRECONDITION, "while this thread traces");
    REFUSED(lxla_step_tensors(&of, 1, 0), LXLA_FAILED_PRECONDITION, "while this thread traces");
    REFUSED(lxla_save("refused.safetensors", names, &of, 1), LXLA_FAILED_PRECONDITION, "while this thread traces");
  }
  REFUSED(lxla_binary_scalar_inplace(ADD, y, 1), LXLA_FAILED_PRECONDITION, "dst: it is from before the trace");
  REFUSED(lxla_tensor_assign(y, x), LXLA_FAILED_PRECONDITION, "dst: it is from before the trace");
  REFUSED(lxla_tensor_write(y, values, sizeof values), LXLA_FAILED_PRECONDITION, "dst: it is from before the trace");
  const lxla_device other = is_native() ? XLA(0) : (lxla_device){LXLA_DEVICE_CPU, 0};
  REFUSED(lxla_tensor_to_device(y, other, &copy), LXLA_FAILED_PRECONDITION, "while this thread traces");
  if (!is_native()) {
    REFUSED(lxla_mark_step(env, device, 0), LXLA_FAILED_PRECONDITION, "a step while this thread traces");
  }
  // A failed end leaves the trace open.
  REFUSED(lxla_tracing_end(&p, 1, NULL, 0, &c), LXLA_INVALID_ARGUMENT, "n_results");
  REFUSED(lxla_tracing_end(&x, 1, &x, 1, &c), LXLA_INVALID_ARGUMENT, "params[0]");
  REFUSED(lxla_tracing_end(TENSORS(p, p), &x, 1, &c), LXLA_INVALID_ARGUMENT, "the same placeholder");
  REFUSED(lxla_tracing_end(&p, 1, &x, 1, NULL), LXLA_NULL_ARGUMENT, "out_computation");
  REFUSED(lxla_tracing_end(&p, 1, &none, 1, &c), LXLA_INVALID_HANDLE, "results");
  OK(lxla_tracing_end(&p, 1, &x, 1, &c));
  OK(lxla_computation_release(c));
  REFUSED(lxla_tensor_read(x, values, sizeof values), LXLA_FAILED_PRECONDITION, "placeholder");
  read_f32(y, values, 2);
  CHECK(values[0] == 4 && values[1] == 5);

  // Results on another device than the trace was begun for; a trace of any device.
  OK(lxla_tracing_begin(env, other));
  REFUSED(lxla_tracing_end(NULL, 0, &y, 1, &c), LXLA_INVALID_ARGUMENT, "lxla_tracing_begin was given the device");
  OK(lxla_tracing_abandon());
  OK(lxla_tracing_begin(env, (lxla_device){LXLA_DEVICE_UNSPECIFIED, 0}));
  OK(lxla_tracing_end(NULL, 0, &y, 1, &c));
  OK(lxla_computation_release(c));
  REFUSED(lxla_tracing_begin(env, (lxla_device){99, 0}), LXLA_INVALID_ARGUMENT, "device");
  HAS_F32(y, DIMS(2), 4, 5);
  RELEASE(w, p, x);
}
TEST(t14_what_needs_values_is_refused) { on_both(refusals); }

// Tensors of a trace that was abandoned keep no memory, and its calls are never made.
static void abandoned(void) {
  lxla_tensor w = F32S(DIMS(2), 3, 4);
  begin();
  lxla_tensor x = scalar(MUL, w, 2), total = sum_of(x), constant;
  OK(lxla_tensor_full(env, device, F32, NULL, 0, 7, &constant));
  noted(total);
  noted(constant);
  OK(lxla_tracing_abandon());
  RELEASE(x, total, constant);
  OK(lxla_mark_step(env, XLA(0), 1));
  NOTED("");
  HAS_F32(w, DIMS(2), 3, 4);
}
TEST(t14_an_abandoned_trace_leaves_nothing) { on_both(abandoned); }

// A call with effects belongs to the trace, also one on constants, and is made once for each call of the computation.
static void *stepping(void *unused) {
  OK(lxla_mark_step(env, XLA(0), 1));
  return unused;
}
static void effects(void) {
  pthread_t thread;
  lxla_tensor w = F32S(SCALAR, 3);
  begin();
  lxla_tensor p = hole(SCALAR), constant, y = binary(ADD, p, w);
  OK(lxla_tensor_full(env, device, F32, NULL, 0, 7, &constant));
  noted(constant);
  noted(w);
  noted(y);
  // Nor does the step of another thread make them.
  CHECK(!pthread_create(&thread, NULL, stepping, NULL));
  CHECK(!pthread_join(thread, NULL));
  NOTED("");
  lxla_computation c = ended(&p, 1, &y, 1);
  OK(lxla_mark_step(env, XLA(0), 1));
  NOTED("");
  for (int i = 0; i < 2; i++) {
    lxla_tensor out = called(c, &w, 1);
    EQUAL(value(out), 6);
    NOTED("736");
    RELEASE(out);
  }
  RELEASE(w, p, constant, y);
  OK(lxla_computation_release(c));
}
TEST(t14_calls_with_effects_belong_to_the_trace) { on_both(effects); }

// Other threads compute and read meanwhile.
static void *other_thread(void *tensor) {
  const lxla_tensor w = *(const lxla_tensor *)tensor;
  for (int i = 0; i < 20; i++) {
    lxla_tensor y = scalar(ADD, w, i);
    EQUAL(value(y), 3 + i);
    OK(lxla_binary_scalar_inplace(ADD, y, 1));
    OK(lxla_step_tensors(&y, 1, 1));
    EQUAL(value(y), 4 + i);
    RELEASE(y);
  }
  return NULL;
}
static void threads(void) {
  lxla_tensor w = F32S(SCALAR, 3);
  begin();
  lxla_tensor p = hole(SCALAR), y = p;
  pthread_t thread;
  CHECK(!pthread_create(&thread, NULL, other_thread, &w));
  for (int i = 0; i < 100; i++) {
    lxla_tensor next = binary(ADD, y, w);
    RELEASE(y);
    y = next;
    if (i == 0) p = snapshot(y);
  }
  CHECK(!pthread_join(thread, NULL));
  lxla_computation c = ended(NULL, 0, &w, 1);
  OK(lxla_computation_release(c));
  RELEASE(w, p, y);
}
TEST(t14_other_threads_compute_meanwhile) { on_both(threads); }

// max_pending_ops does not limit a trace.
TEST(t14_a_trace_has_no_limit_of_pending_operations) {
  env = new_env();
  device = XLA(0);
  OK(lxla_env_set_option(env, "max_pending_ops", "50"));
  OK(lxla_env_set_option(env, "pending_limit_policy", "step"));
  begin();
  lxla_tensor p = hole(SCALAR), y = snapshot(p);
  for (int i = 0; i < 200; i++) OK(lxla_binary_scalar_inplace(ADD, y, 1));
  lxla_computation c = ended(&p, 1, &y, 1);
  RELEASE(p, y);
  lxla_tensor x = one(env, 5), flat, out;
  OK(lxla_reshape(x, NULL, 0, &flat));
  out = called(c, &flat, 1);
  EQUAL(value(out), 205);
  RELEASE(x, flat, out);
  OK(lxla_computation_release(c));
  OK(lxla_env_release(env));
}

// A thread that ends in a trace abandons it.
static void *ends_in_a_trace(void *tensor) {
  begin();
  lxla_tensor y = scalar(ADD, *(const lxla_tensor *)tensor, 1), constant;
  OK(lxla_tensor_full(env, device, F32, NULL, 0, 7, &constant));
  noted(constant);
  RELEASE(y, constant);
  return NULL;
}
static void ended_thread(void) {
  lxla_tensor w = F32S(SCALAR, 3);
  pthread_t thread;
  CHECK(!pthread_create(&thread, NULL, ends_in_a_trace, &w));
  CHECK(!pthread_join(thread, NULL));
  lxla_tensor y = scalar(ADD, w, 1);
  OK(lxla_mark_step(env, XLA(0), 1));
  EQUAL(value(y), 4);
  NOTED("");
  RELEASE(w, y);
}
TEST(t14_the_end_of_a_thread_abandons_its_traces) { on_both(ended_thread); }

// Calls and steps ignore tensors of an abandoned trace that nobody has released.
static void left_behind(void) {
  OK(lxla_env_set_option(env, "step_before_call", "true"));
  lxla_tensor x = F32S(SCALAR, 2), p = hole(SCALAR), y = scalar(MUL, p, 3), left;
  lxla_computation c = traced(&p, 1, &y, 1);
  begin();
  OK(lxla_tensor_full(env, device, F32, NULL, 0, 7, &left));
  OK(lxla_binary_scalar_inplace(ADD, left, 1));
  OK(lxla_tracing_abandon());
  for (int i = 0; i < 4; i++) {
    lxla_tensor out = called(c, &x, 1);
    OK(lxla_mark_step(env, device, 1));
    EQUAL(value(out), 6);
    RELEASE(out);
  }
  RELEASE(x, p, y, left);
  OK(lxla_computation_release(c));
}
TEST(t14_tensors_that_a_trace_left_concern_no_call) { on_both(left_behind); }

// Operands on two devices in one trace: each is captured on its own, and the computation is on the device of its
// results.
TEST(t14_a_trace_on_two_devices) {
  env = new_env();
  const lxla_device cpu = {LXLA_DEVICE_CPU, 0};
  for (int i = 0; i < 2; i++) {
    device = i == 0 ? cpu : XLA(0);
    lxla_tensor here[3], there[3], results[2], total;
    for (int k = 0; k < 3; k++) here[k] = F32S(SCALAR, k + 1);
    device = i == 0 ? XLA(0) : cpu;
    for (int k = 0; k < 3; k++) there[k] = F32S(SCALAR, 10 * (k + 1));
    OK(lxla_tracing_begin(env, (lxla_device){LXLA_DEVICE_UNSPECIFIED, 0}));
    total = snapshot(here[0]);
    for (int k = 0; k < 3; k++) {
      OK(lxla_binary_inplace(ADD, total, here[k]));
      results[0] = scalar(MUL, there[k], 2);
      RELEASE(results[0]);
    }
    lxla_computation c = ended(NULL, 0, &total, 1);
    counts(c, 0, 1, 3);
    OK(lxla_computation_call(c, NULL, 0, &results[1], 1));
    EQUAL(value(results[1]), 7);
    RELEASE(total, results[1]);
    for (int k = 0; k < 3; k++) RELEASE(here[k], there[k]);
    OK(lxla_computation_release(c));
  }
  no_live_bytes(env);
  OK(lxla_env_release(env));
}
