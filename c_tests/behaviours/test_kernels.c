// Kernels of the caller and host callbacks, natively and in programs of the plugin.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "both.h"
#include "computation.h"
#include "noted_calls.h"

// y = x * 2 + 1 for f32; fails if an element is negative.
static atomic_int calls, destroyed;
static const void *seen_input, *seen_output;
static int32_t affine(const lxla_kernel_call *call, void *user) {
  calls++;
  const float *x = call->inputs[0].data;
  float *y = call->outputs[0].data;
  size_t n = call->inputs[0].size_bytes / sizeof(float);
  seen_input = x;
  seen_output = y;
  for (size_t i = 0; i < n; i++) {
    if (x[i] < 0) {
      snprintf(call->error, call->error_size, "element %zu of %s is negative", i, call->target);
      return LXLA_OUT_OF_RANGE;
    }
    y[i] = x[i] * 2 + (user ? *(float *)user : 1);
  }
  return 0;
}
static void count_destroyed(void *user) {
  (void)user;
  destroyed++;
}

static lxla_tensor applied(lxla_env in, const char *target, lxla_tensor x) {
  int64_t dims[8];
  int32_t dtype;
  size_t rank;
  OK(lxla_tensor_dtype(x, &dtype));
  OK(lxla_tensor_rank(x, &rank));
  OK(lxla_tensor_dims(x, dims, 8));
  lxla_tensor y;
  OK(lxla_kernel_apply(in, target, &x, 1, &dtype, &rank, dims, 1, NULL, &y));
  return y;
}

static lxla_kernel_options kernel_options(void) {
  lxla_kernel_options options = {.struct_size = sizeof options};
  OK(lxla_kernel_options_init(&options));
  options.destroy = count_destroyed;
  return options;
}

static void values_on(void) {
  lxla_kernel_options options = kernel_options();
  destroyed = 0;
  OK(lxla_kernel_register(env, "affine", affine, NULL, &options));
  lxla_tensor x = F32S(DIMS(2, 2), 1, 2, 3, 4), y = applied(env, "affine", x), z = applied(env, "affine", y);
  HAS_F32(z, DIMS(2, 2), 7, 11, 15, 19);
  HAS_F32(y, DIMS(2, 2), 3, 5, 7, 9);
  REFUSED(lxla_kernel_register(env, "affine", affine, NULL, NULL), LXLA_ALREADY_EXISTS, "\"affine\" is registered");
  REFUSED(lxla_kernel_unregister(env, "other"), LXLA_NOT_FOUND, "no kernel \"other\"");
  lxla_tensor none_t;
  int32_t f32 = F32, wrong = 99;
  size_t rank = 0;
  REFUSED(lxla_kernel_apply(env, "other", &x, 1, &f32, &rank, NULL, 1, NULL, &none_t), LXLA_NOT_FOUND, "\"other\"");
  REFUSED(lxla_kernel_apply(env, "affine", &x, 1, &wrong, &rank, NULL, 1, NULL, &none_t), BAD, "dtype: 99");
  REFUSED(lxla_kernel_apply(env, "affine", NULL, 0, &f32, &rank, NULL, 1, NULL, &none_t), BAD, "n_inputs: 0");
  REFUSED(lxla_kernel_apply(env, "affine", &x, 1, NULL, NULL, NULL, 0, NULL, NULL), BAD, "pure (LXLA_OFF)");
  size_t one_axis = 1;
  int64_t negative = -1;
  REFUSED(lxla_kernel_apply(env, "affine", &x, 1, &f32, &one_axis, &negative, 1, NULL, &none_t), BAD, "-1");
  REFUSED(lxla_kernel_register(env, "", affine, NULL, NULL), BAD, "target: it is empty");
  REFUSED(lxla_kernel_register(env, "null", NULL, NULL, NULL), LXLA_NULL_ARGUMENT, "fn");
  // A pending call keeps the kernel, whose name is free for another one.
  lxla_tensor late = applied(env, "affine", x);
  OK(lxla_kernel_unregister(env, "affine"));
  float three = 3;
  OK(lxla_kernel_register(env, "affine", affine, &three, NULL));
  lxla_tensor other = applied(env, "affine", x);
  HAS_F32(other, DIMS(2, 2), 5, 7, 9, 11);
  HAS_F32(late, DIMS(2, 2), 3, 5, 7, 9);
  RELEASE(x);
  OK(lxla_mark_step(env, device, 1));
  OK(lxla_kernel_unregister(env, "affine"));
  EQUAL(destroyed, 1);
}
TEST(a_kernel_computes_and_is_destroyed_once) { on_both(values_on); }

static void failure_on(void) {
  OK(lxla_kernel_register(env, "affine", affine, NULL, NULL));
  lxla_tensor x = F32S(DIMS(2), 1, -2), weight = F32S(DIMS(2), 5, 6);
  if (is_native()) {
    lxla_tensor y;
    int32_t f32 = F32;
    size_t rank = 1;
    REFUSED(lxla_kernel_apply(env, "affine", &x, 1, &f32, &rank, (int64_t[]){2}, 1, NULL, &y), LXLA_OUT_OF_RANGE,
            "kernel affine: element 1 of affine is negative");
    RELEASE(x, weight);
  } else {
    lxla_tensor y = applied(env, "affine", x), twice = scalar(MUL, weight, 2);
    // The step would consume the weight, since nothing else needs it.
    RELEASE(weight);
    for (int i = 0; i < 2; i++) {
      int32_t status = lxla_mark_step(env, device, 1);
      CHECK(status != 0);
      CHECK(strstr(lxla_last_error_message(), "element 1 of affine is negative") != NULL);
      EQUAL(state_of(y), LXLA_STATE_PENDING);
    }
    OK(lxla_wait(env, device));
    RELEASE(y);
    HAS_F32(twice, DIMS(2), 10, 12);
    HAS_F32(x, DIMS(2), 1, -2);
  }
  OK(lxla_kernel_unregister(env, "affine"));
}
TEST(a_kernel_that_fails_fails_the_step_and_loses_nothing) { on_both(failure_on); }

static void noted(lxla_tensor x) {
  lxla_kernel_options options = {.struct_size = sizeof options};
  options.ordered = LXLA_ON;
  OK(lxla_host_call(env, note, NULL, &options, &x, 1, NULL, NULL, NULL, 0, NULL));
}
static void order_on(void) {
  order[0] = 0;
  lxla_tensor x[4];
  for (int i = 0; i < 4; i++) x[i] = F32S(SCALAR, (float)(3 - i));
  for (int i = 0; i < 4; i++) noted(x[i]);
  OK(lxla_mark_step(env, device, 1));
  CHECK(strcmp(order, "3210") == 0);
  OK(lxla_mark_step(env, device, 1));
  CHECK(strcmp(order, "3210") == 0);
  RELEASE(x[0], x[1], x[2], x[3]);
}
TEST(ordered_calls_keep_their_order_and_are_made_once) { on_both(order_on); }

// while (i < 3) { note(i); i = i + 1; }, between two other notes.
static void loop_on(void) {
  order[0] = 0;
  lxla_tensor p, q, less, next, bound = F32S(SCALAR, 3), start = F32S(SCALAR, 0), last, nine = F32S(SCALAR, 9);
  OK(lxla_tensor_placeholder(env, device, F32, NULL, 0, &p));
  OK(lxla_compare(LXLA_COMPARE_LT, p, bound, &less));
  lxla_computation condition = traced(&p, 1, &less, 1);
  OK(lxla_tensor_placeholder(env, device, F32, NULL, 0, &q));
  noted(q);
  next = scalar(ADD, q, 1);
  lxla_computation body = traced(&q, 1, &next, 1);
  noted(nine);
  OK(lxla_while(condition, body, &start, 1, &last));
  RELEASE(last);
  noted(nine);
  OK(lxla_mark_step(env, device, 1));
  CHECK(strcmp(order, "90129") == 0);
  OK(lxla_computation_release(condition));
  OK(lxla_computation_release(body));
  RELEASE(p, q, less, next, bound, start, nine);
}
TEST(a_loop_makes_its_calls_in_order) { on_both(loop_on); }

static void batching_on(void) {
  OK(lxla_kernel_register(env, "affine", affine, NULL, NULL));
  lxla_tensor p, x = F32S(DIMS(3, 2), 1, 2, 3, 4, 5, 6);
  OK(lxla_tensor_placeholder(env, device, F32, DIMS(2), &p));
  lxla_tensor y = applied(env, "affine", p);
  lxla_computation f = traced(&p, 1, &y, 1), g;
  OK(lxla_computation_vmap(f, (int64_t[]){0}, 1, (int64_t[]){0}, 1, 3, &g));
  lxla_tensor batched = called(g, &x, 1);
  HAS_F32(batched, DIMS(3, 2), 3, 5, 7, 9, 11, 13);
  lxla_computation forward, backward;
  size_t residuals;
  REFUSED(lxla_computation_vjp(f, NULL, &forward, &backward, &residuals), LXLA_UNIMPLEMENTED,
          "kernel affine has no derivative");
  OK(lxla_computation_release(f));
  OK(lxla_computation_release(g));
  RELEASE(p, y, x);
  OK(lxla_kernel_unregister(env, "affine"));
}
TEST(batching_calls_for_each_element_and_derivatives_are_refused) { on_both(batching_on); }

static int32_t reenter(const lxla_kernel_call *call, void *user) {
  lxla_env *in = user;
  int32_t status = lxla_mark_step(*in, (lxla_device){0}, 0);
  *(int32_t *)call->outputs[0].data = status;
  return 0;
}
static void reentry_on(void) {
  lxla_tensor x = F32S(SCALAR, 0), y;
  int32_t s32 = S32;
  size_t rank = 0;
  OK(lxla_host_call(env, reenter, &env, NULL, &x, 1, &s32, &rank, NULL, 1, &y));
  HAS(y, S32, int32_t, SCALAR, LXLA_FAILED_PRECONDITION);
  RELEASE(x);
}
TEST(a_kernel_cannot_call_the_library) { on_both(reentry_on); }

// Waits until another thread has recorded on the same device: no lock of the device's state is held.
static lxla_tensor shared;
static void *record(void *unused) {
  (void)unused;
  lxla_tensor y;
  OK(lxla_binary_scalar(MUL, shared, 3, &y));
  RELEASE(y);
  return NULL;
}
static int32_t wait_for_another(const lxla_kernel_call *call, void *user) {
  (void)user;
  pthread_t thread;
  pthread_create(&thread, NULL, record, NULL);
  pthread_join(thread, NULL);
  memcpy(call->outputs[0].data, call->inputs[0].data, call->inputs[0].size_bytes);
  return 0;
}
static void locks_on(void) {
  shared = F32S(DIMS(2), 1, 2);
  lxla_tensor y;
  int32_t f32 = F32;
  size_t rank = 1;
  OK(lxla_host_call(env, wait_for_another, NULL, NULL, &shared, 1, &f32, &rank, (int64_t[]){2}, 1, &y));
  HAS_F32(y, DIMS(2), 1, 2);
  RELEASE(shared);
}
TEST(no_lock_is_held_while_a_kernel_runs) { on_both(locks_on); }

// Start of DLManagedTensorVersioned.
struct managed {
  uint32_t major, minor;
  void *context;
  void (*deleter)(struct managed *);
  uint64_t flags;
  void *data;
};
// Address of a tensor's memory.
static const void *address_of(lxla_tensor t) {
  void *made;
  OK(lxla_tensor_to_dlpack(t, &made));
  struct managed *managed = made;
  const void *data = managed->data;
  managed->deleter(managed);
  return data;
}
static void large_on(void) {
  OK(lxla_kernel_register(env, "affine", affine, NULL, NULL));
  enum { N = 25 << 20 };  // 100 MiB
  lxla_tensor x, y;
  OK(lxla_tensor_full(env, device, F32, (int64_t[]){N}, 1, 2, &x));
  OK(lxla_step_tensors(&x, 1, 1));
  y = applied(env, "affine", x);
  OK(lxla_step_tensors(&y, 1, 1));
  CHECK(address_of(x) == seen_input);
  CHECK(address_of(y) == seen_output);
  RELEASE(x, y);
  OK(lxla_kernel_unregister(env, "affine"));
}
TEST(a_large_buffer_is_not_copied) { on_both(large_on); }

// Runs `print` with standard error in a file, and returns what it wrote.
static const char *printed(void (*print)(void)) {
  static char text[256];
  FILE *file = tmpfile();
  fflush(stderr);
  int before = dup(2);
  dup2(fileno(file), 2);
  print();
  dup2(before, 2);
  close(before);
  rewind(file);
  text[fread(text, 1, sizeof text - 1, file)] = 0;
  fclose(file);
  return text;
}
static void print_two(void) {
  lxla_tensor x = F32S(DIMS(2), 1, 2.5), n = ARRAY(S32, int32_t, SCALAR, 7);
  OK(lxla_debug_print("n {}: {}!", (lxla_tensor[]){n, x}, 2));
  OK(lxla_debug_print("{}", &n, 1));
  RELEASE(x, n);
  OK(lxla_mark_step(env, device, 1));
}
static void print_on(void) {
  CHECK(strstr(printed(print_two), "n 7: [1, 2.5]!\n7\n") != NULL);
  lxla_tensor x = F32S(SCALAR, 1);
  REFUSED(lxla_debug_print("{} {}", &x, 1), BAD, "format: it has 2 places {} for 1 tensors");
  REFUSED(lxla_debug_print("x", NULL, 0), BAD, "0 given");
  RELEASE(x);
}
TEST(values_are_printed_once_and_in_order) { on_both(print_on); }
