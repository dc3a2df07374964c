// Memory that is limited, or that must not grow: H6 and H7 of docs/behaviours.md.
#define _GNU_SOURCE
#include "check.h"

#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MILLION = 1000000 };

static const lxla_device cpu = {LXLA_DEVICE_CPU, 0};

static double bytes_of(int resident) {
  long pages[2] = {0, 0};
  FILE *f = fopen("/proc/self/statm", "r");
  CHECK(f && fscanf(f, "%ld %ld", &pages[0], &pages[1]) == 2);
  fclose(f);
  return (double)pages[resident] * 4096;
}

// --- Shapes ---

// Records on a tensor of a shape of its own, and releases the results.
static void use_shape(lxla_env env, lxla_device device, int64_t number) {
  lxla_tensor x, y;
  OK(lxla_tensor_full(env, device, LXLA_DTYPE_F32, DIMS(1, number % 1000, number / 1000, 0), 1, &x));
  OK(lxla_unary(LXLA_UNARY_TANH, x, &y));
  RELEASE(x, y);
}

// Uses a million shapes while `kept` operations are pending; steps in between if `steps` is not 0.
static void use_a_million_shapes(lxla_device device, int kept, int steps) {
  lxla_env env = new_env();
  lxla_tensor p = none, held[64];
  for (int i = 0; i < kept; i++) {
    if (!p.id) OK(lxla_tensor_placeholder(env, device, LXLA_DTYPE_F32, DIMS(2), &p));
    OK(lxla_broadcast_to(p, DIMS(3 + i, 2), &held[i]));
  }
  double before = 0;
  for (int i = 0; i < MILLION; i++) {
    use_shape(env, device, i);
    if (steps && i % 1000 == 0) OK(lxla_mark_step(env, device, 1));
    if (i == MILLION / 10) before = bytes_of(1);
  }
  double grown = bytes_of(1) - before;
  if (grown > 20e6) FAIL("%g MB more for 900,000 more shapes", grown / 1e6);
  for (int i = 0; i < kept; i++) {
    int64_t dims[2];
    OK(lxla_tensor_dims(held[i], dims, 2));
    CHECK(dims[0] == 3 + i && dims[1] == 2);
    RELEASE(held[i]);
  }
  if (p.id) RELEASE(p);
  OK(lxla_env_release(env));
}

TEST(h6_a_million_shapes_leave_no_memory_behind_on_cpu) { use_a_million_shapes(cpu, 0, 0); }

TEST(h6_a_million_shapes_leave_no_memory_behind_on_cpu_beside_operations_that_wait) {
  use_a_million_shapes(cpu, 64, 0);
}

TEST(h6_a_million_shapes_leave_no_memory_behind_without_steps) { use_a_million_shapes(XLA(0), 0, 0); }

TEST(h6_a_million_shapes_leave_no_memory_behind_without_steps_beside_operations_that_wait) {
  use_a_million_shapes(XLA(0), 64, 0);
}

TEST(h6_a_million_shapes_leave_no_memory_behind_with_steps) { use_a_million_shapes(XLA(0), 0, 1); }

// Operations of many shapes stay correct when the shapes between them are removed.
TEST(h6_values_of_many_shapes_are_right_after_others_were_removed) {
  enum { SHAPES = 200 };
  lxla_env env = new_env();
  lxla_tensor x = one(env, 3), held[SHAPES];
  for (int i = 0; i < SHAPES; i++) {
    lxla_tensor wide;
    OK(lxla_broadcast_to(x, DIMS(1 + i), &wide));
    held[i] = scalar(ADD, wide, i);
    RELEASE(wide);
    // Compactions take place every 65,536 operations.
    for (int j = 0; j < 1000; j++) use_shape(env, XLA(0), i * 1000 + j);
  }
  OK(lxla_mark_step(env, XLA(0), 1));
  for (int i = 0; i < SHAPES; i++) {
    float values[SHAPES];
    read_f32(held[i], values, (size_t)i + 1);
    EQUAL(values[0], 3 + i);
    EQUAL(values[i], 3 + i);
    RELEASE(held[i]);
  }
  RELEASE(x);
  OK(lxla_env_release(env));
}

// --- Memory that is used up ---

#define EXHAUSTED LXLA_RESOURCE_EXHAUSTED

// Limits the address space to what is in use now and `megabytes` more.
static void limit_memory(size_t megabytes) {
  struct rlimit limit;
  malloc_trim(0);
  CHECK(getrlimit(RLIMIT_AS, &limit) == 0);
  limit.rlim_cur = (rlim_t)bytes_of(0) + ((rlim_t)megabytes << 20);
  CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
}

static void lift_limit(void) {
  struct rlimit limit;
  CHECK(getrlimit(RLIMIT_AS, &limit) == 0);
  limit.rlim_cur = limit.rlim_max;
  CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
}

// Runs the test `name` in a process of its own, and returns 1 there. Elsewhere, returns 0 when it has succeeded.
static int in_child(const char *name) {
  if (getenv("LXLA_MEMORY_CHILD")) return 1;
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    setenv("LXLA_MEMORY_CHILD", "1", 1);
    // Other arenas have address space in reserve, of which a limit takes nothing.
    setenv("MALLOC_ARENA_MAX", "1", 1);
    execl("/proc/self/exe", "test_memory_limits", name, (char *)NULL);
    _exit(127);
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child);
  if (WIFSIGNALED(status)) FAIL("%s ended by signal %d", name, WTERMSIG(status));
  if (WEXITSTATUS(status)) FAIL("%s failed", name);
  return 0;
}

#define LIMITED(test_name)                           \
  static void test_name##_limited(void);             \
  TEST(test_name) {                                  \
    if (in_child(#test_name)) test_name##_limited(); \
  }                                                  \
  static void test_name##_limited(void)

// Repeats a call with ever more memory until it succeeds; before, it has to be refused at least once, and never to end
// the process.
#define LADDER(first, megabytes, call)                                                                \
  do {                                                                                                \
    int refused_ = 0;                                                                                 \
    for (size_t more_ = (first);; more_ += (megabytes)) {                                             \
      CHECK(more_ < 8192);                                                                            \
      limit_memory(more_);                                                                            \
      lxla_status status_ = (call);                                                                   \
      lift_limit();                                                                                   \
      if (status_ == LXLA_OK) break;                                                                  \
      if (status_ != EXHAUSTED) FAIL("%s: %s", lxla_status_name(status_), lxla_last_error_message()); \
      refused_++;                                                                                     \
    }                                                                                                 \
    if (!refused_) FAIL("%s was never refused", #call);                                               \
  } while (0)

static lxla_tensor full(lxla_env env, lxla_device device, int64_t n, double x) {
  lxla_tensor out;
  OK(lxla_tensor_full(env, device, LXLA_DTYPE_F32, DIMS(n), x, &out));
  return out;
}

static void all_are(lxla_tensor x, int64_t n, float want) {
  float *values = malloc((size_t)n * sizeof *values);
  CHECK(values);
  read_f32(x, values, (size_t)n);
  for (int64_t i = 0; i < n; i++) EQUAL(values[i], want);
  free(values);
}

LIMITED(h7_sorts_take_as_much_memory_as_their_arrays) {
  enum { N = 4 << 20 };
  lxla_env env = new_env();
  lxla_tensor x = full(env, cpu, N, 3), out = none;
  // The result, and as much again.
  limit_memory(N * 4 / (1 << 20) * 2 + 8);
  OK(lxla_sort_along(x, 0, 0, 1, &out));
  lift_limit();
  all_are(out, N, 3);
  RELEASE(out);
  LADDER(1, 9, lxla_sort_along(x, 0, 1, 1, &out));
  all_are(out, N, 3);
  RELEASE(out);
  LADDER(1, 9, lxla_argsort(x, 0, 0, 1, LXLA_DTYPE_S32, &out));
  RELEASE(out);
  lxla_tensor places;
  LADDER(1, 9, lxla_topk(x, N / 2, 0, 1, LXLA_DTYPE_S32, &out, &places));
  all_are(out, N / 2, 3);
  all_are(x, N, 3);
  RELEASE(x, out, places);
  OK(lxla_env_release(env));
}

// The first of equal elements, and a few of many, take no memory in proportion to the array.
LIMITED(h7_extremes_and_the_first_few_take_the_memory_of_a_block) {
  enum { N = 64 << 20, AT = N - 12345 };
  lxla_env env = new_env();
  uint8_t *bytes = malloc(N);
  CHECK(bytes);
  memset(bytes, 7, N);
  bytes[AT] = bytes[AT + 9] = 200;
  bytes[AT - 3] = 1;
  lxla_tensor x, most, least, values, places;
  OK(lxla_tensor_from_host(env, cpu, LXLA_DTYPE_U8, DIMS(N), bytes, N, &x));
  free(bytes);
  limit_memory(8);
  OK(lxla_argmax(x, 0, 0, LXLA_DTYPE_S64, &most));
  OK(lxla_argmin(x, 0, 1, LXLA_DTYPE_U32, &least));
  OK(lxla_topk(x, 3, 0, 1, LXLA_DTYPE_S64, &values, &places));
  lift_limit();
  int64_t place, first[3];
  uint32_t lowest;
  uint8_t found[3];
  OK(lxla_tensor_read(most, &place, sizeof place));
  OK(lxla_tensor_read(least, &lowest, sizeof lowest));
  OK(lxla_tensor_read(places, first, sizeof first));
  OK(lxla_tensor_read(values, found, sizeof found));
  EQUAL(place, AT);
  EQUAL(lowest, AT - 3);
  CHECK(first[0] == AT && first[1] == AT + 9 && first[2] == 0);
  CHECK(found[0] == 200 && found[1] == 200 && found[2] == 7);
  RELEASE(x, most, least, values, places);
  OK(lxla_env_release(env));
}

// Formulas and programs of floats are evaluated in blocks, on several threads.
LIMITED(h7_functions_are_refused_without_memory) {
  enum { N = 4 << 20 };
  lxla_env env = new_env();
  lxla_tensor x = full(env, cpu, N, 0), out;
  LADDER(1, 3, lxla_special(LXLA_SPECIAL_ERF, x, &out));
  all_are(out, N, 0);
  RELEASE(out);
  LADDER(1, 3, lxla_activation(LXLA_ACTIVATION_MISH, x, &out));
  all_are(out, N, 0);
  RELEASE(out);
  lxla_tensor half;
  OK(lxla_convert(x, LXLA_DTYPE_F16, &half));
  LADDER(1, 3, lxla_activation(LXLA_ACTIVATION_GELU, half, &out));
  RELEASE(half, out, x);
  OK(lxla_env_release(env));
}

// Makes tensors by `make` of the last one until there is no memory, and checks that all of them are still there.
static void until_exhausted(lxla_env env, lxla_tensor first, lxla_status (*make)(lxla_tensor, lxla_tensor *),
                            size_t megabytes) {
  enum { MOST = 20 * MILLION };
  lxla_tensor *list = malloc(MOST * sizeof *list);
  CHECK(list);
  list[0] = first;
  size_t n = 1;
  limit_memory(megabytes);
  lxla_status status = LXLA_OK;
  for (; n < MOST && (status = make(list[n - 1], &list[n])) == LXLA_OK; n++) {
  }
  if (status != EXHAUSTED) FAIL("%zu: %s: %s", n, lxla_status_name(status), lxla_last_error_message());
  CHECK(n > 10000);
  CHECK(strstr(lxla_last_error_message(), "no host memory"));
  lxla_device device;
  OK(lxla_tensor_device(list[n / 2], &device));
  OK(lxla_tensor_release_many(list + 2000, n - 2000));
  if (device.kind == LXLA_DEVICE_CPU) OK(make(list[1999], &list[2000]));
  lift_limit();
  if (device.kind == LXLA_DEVICE_XLA) OK(make(list[1999], &list[2000]));
  EQUAL(value(list[0]), 0);
  EQUAL(value(list[1000]), 1000);
  EQUAL(value(list[2000]), 2000);
  OK(lxla_tensor_release_many(list, 2001));
  free(list);
  OK(lxla_env_release(env));
}

static lxla_status add_one(lxla_tensor x, lxla_tensor *out) { return lxla_binary_scalar(LXLA_BINARY_ADD, x, 1, out); }

static lxla_status add_joined(lxla_tensor x, lxla_tensor *out) {
  lxla_tensor joined, half, one;
  lxla_status status = lxla_concatenate((lxla_tensor[]){x, x, x, x}, 4, 0, &joined);
  if (status != LXLA_OK) return status;
  status = lxla_slice_axis(joined, 0, 2, 3, 1, &half);
  OK(lxla_tensor_release(joined));
  if (status != LXLA_OK) return status;
  status = lxla_binary_scalar(LXLA_BINARY_ADD, half, 1, &one);
  OK(lxla_tensor_release(half));
  *out = one;
  return status;
}

static lxla_env large_env(void) {
  lxla_env env = new_env();
  OK(lxla_env_set_option(env, "max_pending_ops", "1000000000"));
  OK(lxla_env_set_option(env, "max_program_ops", "100"));
  return env;
}

LIMITED(h7_recording_without_steps_is_refused_when_memory_is_used_up) {
  lxla_env env = large_env();
  until_exhausted(env, full(env, XLA(0), 1, 0), add_one, 200);
}

LIMITED(h7_recording_of_lists_and_attributes_is_refused_when_memory_is_used_up) {
  lxla_env env = large_env();
  until_exhausted(env, full(env, XLA(0), 1, 0), add_joined, 150);
}

LIMITED(h7_eager_tensors_are_refused_when_memory_is_used_up) {
  lxla_env env = new_env();
  until_exhausted(env, full(env, cpu, 1, 0), add_one, 200);
}

// Records a chain of operations on a placeholder, and returns both ends.
static void chain(lxla_env env, lxla_device device, int length, lxla_tensor *p, lxla_tensor *end) {
  OK(lxla_tensor_placeholder(env, device, LXLA_DTYPE_F32, NULL, 0, p));
  OK(lxla_unary(LXLA_UNARY_TANH, *p, end));
  for (int i = 1; i < length; i++) {
    lxla_tensor next;
    if (i % 2) {
      OK(lxla_binary_scalar(LXLA_BINARY_ADD, *end, 1e-9, &next));
    } else {
      OK(lxla_binary(LXLA_BINARY_MULTIPLY, *end, *p, &next));
    }
    RELEASE(*end);
    *end = next;
  }
}

LIMITED(h7_computations_of_many_operations_are_refused_without_memory) {
  enum { LENGTH = 50000 };
  lxla_env env = large_env();
  lxla_tensor p, end;
  chain(env, cpu, LENGTH, &p, &end);
  lxla_computation f = {0}, g = {0};
  LADDER(2, 13, lxla_computation_trace(&p, 1, &end, 1, &f));
  LADDER(2, 37, lxla_computation_jvp(f, NULL, 0, &g));
  OK(lxla_computation_release(g));
  lxla_vjp_options options = {.struct_size = sizeof options};
  OK(lxla_vjp_options_init(&options));
  LADDER(2, 37, lxla_computation_value_and_grad(f, &options, &g));
  OK(lxla_computation_release(g));
  int64_t axis = 0;
  LADDER(2, 37, lxla_computation_vmap(f, &axis, 1, &axis, 1, 3, &g));
  OK(lxla_computation_release(g));
  char *text;
  LADDER(2, 17, lxla_computation_stablehlo(f, &text));
  CHECK(strstr(text, "return"));
  lxla_string_free(text);
  lxla_tensor arg, out;
  OK(lxla_tensor_full(env, cpu, LXLA_DTYPE_F32, NULL, 0, 0, &arg));
  LADDER(2, 13, lxla_computation_call(f, &arg, 1, &out, 1));
  // The operations end with a multiplication by 0, and an addition.
  EQUAL(value(out), 1e-9f);
  EQUAL(value(arg), 0);
  OK(lxla_computation_release(f));
  RELEASE(p, end, arg, out);
  OK(lxla_env_release(env));
}

LIMITED(h7_gradients_and_texts_of_many_operations_are_refused_without_memory) {
  enum { LENGTH = 100000 };
  lxla_env env = large_env();
  OK(lxla_env_set_option(env, "max_program_ops", "1000000"));
  lxla_tensor p, end, gradient;
  chain(env, XLA(0), LENGTH, &p, &end);
  LADDER(2, 13, lxla_gradients(&end, 1, NULL, &p, 1, &gradient));
  char *text;
  LADDER(2, 23, lxla_stablehlo(&end, 1, &text));
  CHECK(strstr(text, "return"));
  lxla_string_free(text);
  RELEASE(p, end, gradient);
  OK(lxla_env_release(env));
}

LIMITED(h7_lists_of_many_tensors_are_refused_without_memory) {
  enum { COUNT = 300000 };
  lxla_env env = large_env();
  const lxla_device devices[] = {cpu, XLA(0)};
  lxla_tensor *list = malloc(COUNT * sizeof *list), out;
  CHECK(list);
  for (int d = 0; d < 2; d++) {
    lxla_tensor x = full(env, devices[d], 1, 2);
    for (int i = 0; i < COUNT; i++) {
      if (i % 3) {
        OK(lxla_tensor_full(env, devices[d], LXLA_DTYPE_F32, DIMS(1), i, &list[i]));
      } else {
        OK(lxla_tensor_retain(x));
        list[i] = x;
      }
    }
    LADDER(2, 23, lxla_concatenate(list, COUNT, 0, &out));
    int64_t dim;
    OK(lxla_tensor_dims(out, &dim, 1));
    EQUAL(dim, COUNT);
    RELEASE(out);
    EQUAL(value(x), 2);
    OK(lxla_tensor_release_many(list, COUNT));
    RELEASE(x);
  }
  free(list);
  OK(lxla_env_release(env));
}

LIMITED(h7_files_of_many_names_are_refused_without_memory) {
  enum { COUNT = 40000 };
  char root[] = "/tmp/lxla_names_XXXXXX", path[64];
  CHECK(mkdtemp(root));
  snprintf(path, sizeof path, "%s/many.safetensors", root);
  lxla_env env = new_env();
  lxla_tensor *list = malloc(COUNT * sizeof *list), out;
  char **names = malloc(COUNT * sizeof *names);
  CHECK(list && names);
  for (int i = 0; i < COUNT; i++) {
    OK(lxla_tensor_full(env, cpu, LXLA_DTYPE_F32, DIMS(1), i, &list[i]));
    CHECK(asprintf(&names[i], "model.layers.%d.attention.weight", i) > 0);
  }
  LADDER(2, 11, lxla_save(path, (const char *const *)names, list, COUNT));
  LADDER(2, 11, lxla_load(env, cpu, path, names[COUNT - 1], &out));
  EQUAL(value(out), COUNT - 1);
  char *json;
  LADDER(2, 11, lxla_file_names(path, &json));
  CHECK(strstr(json, names[COUNT - 1]));
  lxla_string_free(json);
  RELEASE(out);
  for (int i = 0; i < COUNT; i++) free(names[i]);
  OK(lxla_tensor_release_many(list, COUNT));
  free(names);
  free(list);
  CHECK(unlink(path) == 0 && rmdir(root) == 0);
  OK(lxla_env_release(env));
}
