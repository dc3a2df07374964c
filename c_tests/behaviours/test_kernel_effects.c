// Calls with effects: which computation makes them, in which order, and what becomes of those that none makes.
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "both.h"
#include "computation.h"
#include "noted_calls.h"

static atomic_int destroyed;
static void count_destroyed(void *user) {
  (void)user;
  destroyed++;
}

static void noted_as(lxla_tensor x, int32_t ordered, int32_t pure, void *user) {
  lxla_kernel_options options = {.struct_size = sizeof options};
  options.ordered = ordered;
  options.pure = pure;
  options.destroy = count_destroyed;
  OK(lxla_host_call(env, note, user, &options, &x, 1, NULL, NULL, NULL, 0, NULL));
}
static void noted(lxla_tensor x) { noted_as(x, 1, 0, NULL); }

static lxla_tensor parameter(const int64_t *dims, size_t rank) {
  lxla_tensor p;
  OK(lxla_tensor_placeholder(env, device, F32, dims, rank, &p));
  return p;
}

static void run_step(void) { OK(lxla_mark_step(env, device, 1)); }

static void abandoned_on(void) {
  lxla_tensor p = parameter(SCALAR), nine = F32S(SCALAR, 9), y = scalar(ADD, p, 1), q = parameter(SCALAR);
  noted(p);
  noted(nine);
  run_step();
  NOTED("9");
  // A call of another computation does not wait for it either.
  noted(q);
  lxla_computation f = traced(&q, 1, &q, 1);
  lxla_tensor out = called(f, &nine, 1);
  run_step();
  NOTED("9");
  HAS_F32(out, SCALAR, 9);
  RELEASE(p);
  noted(nine);
  run_step();
  NOTED("9");
  OK(lxla_computation_release(f));
  RELEASE(nine, y, q);
}
TEST(a_call_on_a_placeholder_that_is_never_traced_holds_up_no_other) { on_both(abandoned_on); }

static void twice_on(void) {
  lxla_tensor p = parameter(SCALAR), doubled = scalar(MUL, p, 2), tripled = scalar(MUL, p, 3);
  lxla_tensor one = F32S(SCALAR, 1), four = F32S(SCALAR, 4);
  noted(doubled);
  lxla_computation f = traced(&p, 1, &doubled, 1), g = traced(&p, 1, &tripled, 1);
  lxla_tensor out[] = {called(f, &four, 1), called(g, &one, 1)};
  run_step();
  NOTED("82");
  HAS_F32(out[0], SCALAR, 8);
  HAS_F32(out[1], SCALAR, 3);
  OK(lxla_computation_release(f));
  OK(lxla_computation_release(g));
  RELEASE(p, doubled, tripled, one, four);
}
TEST(every_computation_over_a_placeholder_makes_the_calls_on_it) { on_both(twice_on); }

static void failed_on(void) {
  enum { LENGTH = 300000 };
  lxla_tensor p = parameter(SCALAR), two = F32S(SCALAR, 2), sum;
  OK(lxla_binary(ADD, p, p, &sum));
  for (int i = 0; i < LENGTH; i++) OK(lxla_binary_scalar_inplace(ADD, sum, 1));
  noted(p);
  // Without memory for the body, the trace fails.
  malloc_trim(0);
  long pages;
  FILE *sizes = fopen("/proc/self/statm", "r");
  CHECK(sizes && fscanf(sizes, "%ld", &pages) == 1);
  fclose(sizes);
  struct rlimit before, limited;
  CHECK(getrlimit(RLIMIT_AS, &before) == 0);
  limited = (struct rlimit){(rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE), before.rlim_max};
  CHECK(setrlimit(RLIMIT_AS, &limited) == 0);
  lxla_computation f;
  int32_t status = lxla_computation_trace(&p, 1, &sum, 1, &f);
  CHECK(setrlimit(RLIMIT_AS, &before) == 0);
  EQUAL(status, LXLA_RESOURCE_EXHAUSTED);
  f = traced(&p, 1, &p, 1);
  lxla_tensor out = called(f, &two, 1);
  RELEASE(sum);
  run_step();
  NOTED("2");
  HAS_F32(out, SCALAR, 2);
  OK(lxla_computation_release(f));
  RELEASE(p, two);
}
TEST(a_trace_that_fails_keeps_the_calls_for_another_one) { on_both(failed_on); }

// An unordered call, made once.
static atomic_int counted;
static int32_t count(const lxla_kernel_call *call, void *user) {
  (void)call;
  (void)user;
  counted++;
  return 0;
}

// Two parameters of one computation, and calls that nothing but the order of recording connects.
static void order_of(int64_t n) {
  lxla_tensor p = parameter(&n, 1), q = parameter(SCALAR), x[4], sum, nine = F32S(SCALAR, 9);
  OK(lxla_binary(ADD, p, q, &sum));
  lxla_kernel_options unordered = {.struct_size = sizeof unordered, .pure = LXLA_OFF};
  noted(sum);
  noted(q);
  OK(lxla_host_call(env, count, NULL, &unordered, &sum, 1, NULL, NULL, NULL, 0, NULL));
  noted(p);
  noted(q);
  lxla_computation f = traced((lxla_tensor[]){p, q}, 2, &sum, 1);
  for (int i = 0; i < 4; i++) OK(lxla_tensor_full(env, device, F32, &n, i % 2 ? 0 : 1, i + 1, &x[i]));
  counted = 0;
  noted(nine);
  lxla_tensor first = called(f, (lxla_tensor[]){x[0], x[1]}, 2);
  OK(lxla_host_call(env, count, NULL, &unordered, &nine, 1, NULL, NULL, NULL, 0, NULL));
  noted(nine);
  lxla_tensor second = called(f, (lxla_tensor[]){x[2], x[3]}, 2);
  noted(nine);
  run_step();
  NOTED("93212974349");
  EQUAL(counted, 3);
  OK(lxla_computation_release(f));
  RELEASE(p, q, sum, x[0], x[1], x[2], x[3], nine, first, second);
}
static void orders_on(void) {
  order_of(1);
  order_of(100000);
}
TEST(calls_of_computations_are_made_in_the_order_of_recording) { on_both(orders_on); }

// for (i = 0; i < 3; i++) { note(i + outer); } note(outer); in a computation of outer.
static void nested_on(void) {
  lxla_tensor outer = parameter(SCALAR), i = parameter(SCALAR), three = F32S(SCALAR, 3), zero = F32S(SCALAR, 0);
  lxla_tensor less, next = scalar(ADD, i, 1), sum, last, five = F32S(SCALAR, 5);
  OK(lxla_compare(LXLA_COMPARE_LT, i, three, &less));
  lxla_computation condition = traced(&i, 1, &less, 1);
  OK(lxla_binary(ADD, i, outer, &sum));
  noted(sum);
  lxla_computation body = traced(&i, 1, &next, 1);
  noted(outer);
  OK(lxla_while(condition, body, &zero, 1, &last));
  noted(outer);
  lxla_computation f = traced(&outer, 1, &last, 1);
  lxla_tensor out = called(f, &five, 1);
  run_step();
  // The loop does not depend on `outer` except by what its body captures.
  NOTED("55675");
  HAS_F32(out, SCALAR, 3);
  OK(lxla_computation_release(condition));
  OK(lxla_computation_release(body));
  OK(lxla_computation_release(f));
  RELEASE(outer, i, three, zero, less, next, sum, last, five);
}
TEST(a_call_in_a_loop_may_depend_on_the_computation_around_it) { on_both(nested_on); }

static void forgotten_on(void) {
  destroyed = 0;
  static int user;
  lxla_tensor p = parameter(SCALAR), one = F32S(SCALAR, 1);
  noted_as(p, 1, 0, &user);
  lxla_computation f = traced(&p, 1, &p, 1);
  EQUAL(destroyed, 0);
  RELEASE(p);
  lxla_tensor out = called(f, &one, 1);
  run_step();
  NOTED("1");
  RELEASE(out, one);
  EQUAL(destroyed, 0);
  OK(lxla_computation_release(f));
  run_step();
  // A plan of a step may refer to the kernel until the next one is made.
  lxla_tensor other = F32S(SCALAR, 1), sum = scalar(ADD, other, 1);
  run_step();
  RELEASE(other, sum);
  EQUAL(destroyed, 1);
}
TEST(calls_on_a_placeholder_are_forgotten_with_it) { on_both(forgotten_on); }

// y = x * x, with calls without floating results on the way.
static int32_t count_positive(const lxla_kernel_call *call, void *user) {
  (void)user;
  const float *x = call->inputs[0].data;
  int32_t n = 0;
  for (size_t i = 0; i < call->inputs[0].size_bytes / sizeof *x; i++) n += x[i] > 0;
  *(int32_t *)call->outputs[0].data = n;
  return 0;
}
static void forward_on(void) {
  lxla_tensor p = parameter(DIMS(3)), square, n, scaled, as_float;
  OK(lxla_binary(MUL, p, p, &square));
  noted(square);
  int32_t s32 = S32;
  size_t rank = 0;
  OK(lxla_host_call(env, count_positive, NULL, NULL, &p, 1, &s32, &rank, NULL, 1, &n));
  OK(lxla_convert(n, F32, &as_float));
  OK(lxla_binary(MUL, square, as_float, &scaled));
  lxla_computation f = traced(&p, 1, &scaled, 1), forward, first, backward;
  OK(lxla_computation_jvp(f, NULL, 0, &forward));
  lxla_tensor x = F32S(DIMS(3), 3, -1, 2), t = F32S(DIMS(3), 1, 10, 100), out[2];
  OK(lxla_computation_call(forward, (lxla_tensor[]){x, t}, 2, out, 2));
  // Two elements are positive: y = 2 x^2, dy = 4 x t.
  HAS_F32(out[0], DIMS(3), 18, 2, 8);
  HAS_F32(out[1], DIMS(3), 12, -40, 800);
  run_step();
  NOTED("9");
  size_t residuals;
  OK(lxla_computation_vjp(f, NULL, &first, &backward, &residuals));
  lxla_tensor made[8], given[8], gradient;
  OK(lxla_computation_call(first, &x, 1, made, 1 + residuals));
  for (size_t i = 0; i < residuals; i++) given[i] = made[1 + i];
  given[residuals] = t;
  OK(lxla_computation_call(backward, given, residuals + 1, &gradient, 1));
  HAS_F32(gradient, DIMS(3), 12, -40, 800);
  run_step();
  NOTED("9");
  OK(lxla_tensor_release_many(made, 1 + residuals));
  OK(lxla_computation_release(f));
  OK(lxla_computation_release(forward));
  OK(lxla_computation_release(first));
  OK(lxla_computation_release(backward));
  RELEASE(p, square, n, scaled, as_float, x, t);
}
TEST(calls_without_floating_results_have_no_tangents) { on_both(forward_on); }

// Reads of results of a called computation make its calls, and leave nothing for a step to do.
static void settled_on(void) {
  enum { N = 1000 };
  int64_t n = N;
  lxla_tensor p = parameter(&n, 1), doubled = scalar(MUL, p, 2), tripled = scalar(MUL, p, 3), x;
  noted(p);
  lxla_computation f = traced(&p, 1, (lxla_tensor[]){doubled, tripled}, 2);
  OK(lxla_tensor_full(env, device, F32, &n, 1, 3, &x));
  OK(lxla_sync(&x, 1));
  uint64_t before = counter(env, "LiveBytes");
  for (int i = 0; i < 6; i++) {
    float values[N];
    lxla_tensor out[2];
    OK(lxla_computation_call(f, &x, 1, out, 2));
    OK(lxla_tensor_read(out[i % 2], values, sizeof values));
    CHECK(values[N - 1] == (i % 2 ? 9 : 6));
    RELEASE(out[0], out[1]);
    NOTED("3");
    EQUAL(counter(env, "LiveBytes"), before);
  }
  run_step();
  NOTED("");
  OK(lxla_computation_release(f));
  RELEASE(p, doubled, tripled, x);
}
TEST(a_read_settles_the_calls_of_a_computation) { on_both(settled_on); }

static int32_t out_of_room(const lxla_kernel_call *call, void *user) {
  (void)user;
  snprintf(call->error, call->error_size, "the queue is full");
  return LXLA_RESOURCE_EXHAUSTED;
}
static void exhausted_on(void) {
  // The sum is a temporary of the program.
  lxla_tensor x = F32S(DIMS(4), 1, 2, 3, 4), sum = binary(ADD, x, x), y;
  int32_t f32 = F32;
  size_t rank = 0;
  int32_t status = lxla_host_call(env, out_of_room, NULL, NULL, &sum, 1, &f32, &rank, NULL, 1, &y);
  RELEASE(sum);
  if (!is_native()) {
    OK(status);
    status = lxla_mark_step(env, device, 1);
    RELEASE(y);
  }
  EQUAL(status, LXLA_RESOURCE_EXHAUSTED);
  CHECK(strstr(lxla_last_error_message(), "kernel host_call: the queue is full") != NULL);
  CHECK(strstr(lxla_last_error_message(), "live tensors") == NULL);
  CHECK(strstr(lxla_last_error_message(), "temporaries") == NULL);
  RELEASE(x);
}
TEST(a_kernel_that_lacks_something_is_not_out_of_device_memory) { on_both(exhausted_on); }

static uint64_t live_tensors(void) { return counter(env, "CreateTensor") - counter(env, "DestroyTensor"); }
TEST(a_step_with_values_that_cannot_be_compiled_releases_the_calls_that_it_made) {
  env = new_env();
  device = XLA(0);
  lxla_tensor x = F32S(SCALAR, 4), bad;
  OK(lxla_custom_call("no_such_target", &x, 1, (int32_t[]){F32}, (size_t[]){0}, NULL, 1, NULL, &bad));
  EQUAL(live_tensors(), 2);
  noted(x);
  EQUAL(live_tensors(), 3);
  REFUSED(lxla_mark_step(env, device, 1), LXLA_NOT_FOUND, "; the other value was computed");
  NOTED("4");
  EQUAL(live_tensors(), 2);
  REFUSED(lxla_mark_step(env, device, 1), LXLA_NOT_FOUND, "no_such_target");
  NOTED("");
  RELEASE(bad, x);
  no_live_bytes(env);
  OK(lxla_env_release(env));
}

// Two threads that are the first to call one function.
enum { ROUNDS = 200 };
static pthread_barrier_t both_ready;
static char users[ROUNDS];
static lxla_tensor first_input;
static void *call_first(void *made) {
  lxla_kernel_options options = {.struct_size = sizeof options, .destroy = count_destroyed};
  int32_t f32 = F32;
  size_t rank = 0;
  for (int i = 0; i < ROUNDS; i++) {
    pthread_barrier_wait(&both_ready);
    OK(lxla_host_call(env, note, &users[i], &options, &first_input, 1, &f32, &rank, NULL, 1, (lxla_tensor *)made + i));
  }
  return NULL;
}
TEST(threads_that_call_a_function_first_share_its_kernel) {
  env = new_env();
  device = XLA(0);
  destroyed = 0;
  first_input = F32S(SCALAR, 1);
  static lxla_tensor made[2][ROUNDS];
  pthread_t threads[2];
  pthread_barrier_init(&both_ready, NULL, 2);
  for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, call_first, made[i]);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  EQUAL(destroyed, 0);
  for (int i = 0; i < 2; i++) OK(lxla_tensor_release_many(made[i], ROUNDS));
  RELEASE(first_input);
  OK(lxla_env_release(env));
  EQUAL(destroyed, ROUNDS);
  pthread_barrier_destroy(&both_ready);
}
