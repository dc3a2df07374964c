// Defines TEST(name) { ... }, and a main that runs all tests, or those named on its command line, or prints their names
// (--list). A failed check prints its file and line, and ends the program with status 1.
#ifndef LXLA_CHECK_H
#define LXLA_CHECK_H

#include "lazyxla.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct lxla_test {
  const char *name;
  void (*run)(void);
  struct lxla_test *next;
} lxla_test;

static lxla_test *lxla_tests, **lxla_tests_end = &lxla_tests;

#define TEST(test_name)                                                 \
  static void test_name(void);                                          \
  static lxla_test test_name##_entry = {#test_name, test_name, NULL};   \
  __attribute__((constructor)) static void test_name##_register(void) { \
    *lxla_tests_end = &test_name##_entry;                               \
    lxla_tests_end = &test_name##_entry.next;                           \
  }                                                                     \
  static void test_name(void)

#define FAIL(...)                                   \
  do {                                              \
    fprintf(stderr, "%s:%d: ", __FILE__, __LINE__); \
    fprintf(stderr, __VA_ARGS__);                   \
    fprintf(stderr, "\n");                          \
    exit(1);                                        \
  } while (0)

#define CHECK(condition)                                    \
  do {                                                      \
    if (!(condition)) FAIL("check failed: %s", #condition); \
  } while (0)

#define OK(call)                                                                                                     \
  do {                                                                                                               \
    lxla_status status_ = (call);                                                                                    \
    if (status_ != LXLA_OK) FAIL("%s returned %s: %s", #call, lxla_status_name(status_), lxla_last_error_message()); \
  } while (0)

// Checks that the call fails with this status, and that its message contains these words.
#define REFUSED(call, wanted, words)                                                                  \
  do {                                                                                                \
    lxla_status status_ = (call);                                                                     \
    if (status_ != (wanted))                                                                          \
      FAIL("%s returned %s, want %s: %s", #call, lxla_status_name(status_), lxla_status_name(wanted), \
           status_ == LXLA_OK ? "" : lxla_last_error_message());                                      \
    if (!strstr(lxla_last_error_message(), words))                                                    \
      FAIL("%s says \"%s\", want \"%s\" in it", #call, lxla_last_error_message(), words);             \
  } while (0)

#define EQUAL(got, want)                                                      \
  do {                                                                        \
    double got_ = (double)(got), want_ = (double)(want);                      \
    if (!(got_ == want_)) FAIL("%s is %.17g, want %.17g", #got, got_, want_); \
  } while (0)

#define DIMS(...) (const int64_t[]){__VA_ARGS__}, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)
#define XLA(n) ((lxla_device){LXLA_DEVICE_XLA, (n)})
static const lxla_env no_env = {0};
static const lxla_tensor none = {0};

// Returns the path of the plugin under test.
static inline const char *test_plugin(void) {
  const char *path = getenv("LXLA_PJRT_PLUGIN");
  return path && *path ? path : LXLA_TEST_PLUGIN;
}

// Creates an environment for the test, so that its counters start at 0. Uses the default plugin unless LXLA_PJRT_PLUGIN
// names another.
static inline lxla_env new_env(void) {
  lxla_env env;
  OK(lxla_env_create(NULL, &env));
  return env;
}

static inline lxla_env_options default_options(void) {
  lxla_env_options options;
  options.struct_size = sizeof options;
  OK(lxla_env_options_init(&options));
  return options;
}

static inline uint64_t counter(lxla_env env, const char *name) {
  uint64_t value;
  OK(lxla_env_counter(env, name, &value));
  return value;
}

// Checks that all buffers of the environment are freed within 20 seconds. XLA frees the arguments of a run on a thread
// of its own, which may happen after the results of the run were read.
static inline void no_live_bytes(lxla_env env) {
  uint64_t live = counter(env, "LiveBytes");
  for (int waits = 0; live != 0 && waits < 4000; waits++) {
    nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    live = counter(env, "LiveBytes");
  }
  EQUAL(live, 0);
}

static inline lxla_tensor from_f32(lxla_env env, const int64_t *dims, size_t rank, const float *data) {
  size_t n = 1;
  for (size_t i = 0; i < rank; i++) n *= (size_t)dims[i];
  lxla_tensor t;
  OK(lxla_tensor_from_host(env, XLA(0), LXLA_DTYPE_F32, dims, rank, data, n * sizeof(float), &t));
  return t;
}

// Makes a tensor f32[1].
static inline lxla_tensor one(lxla_env env, float value) { return from_f32(env, DIMS(1), &value); }

// Reads the `n` values of an f32 tensor.
static inline void read_f32(lxla_tensor t, float *values, size_t n) {
  OK(lxla_tensor_read(t, values, n * sizeof(float)));
}

static inline float value(lxla_tensor t) {
  float v;
  read_f32(t, &v, 1);
  return v;
}

static inline lxla_tensor binary(int32_t op, lxla_tensor a, lxla_tensor b) {
  lxla_tensor out;
  OK(lxla_binary(op, a, b, &out));
  return out;
}

static inline lxla_tensor scalar(int32_t op, lxla_tensor a, double b) {
  lxla_tensor out;
  OK(lxla_binary_scalar(op, a, b, &out));
  return out;
}

static inline lxla_tensor snapshot(lxla_tensor t) {
  lxla_tensor out;
  OK(lxla_tensor_snapshot(t, &out));
  return out;
}

static inline int32_t state_of(lxla_tensor t) {
  int32_t state;
  OK(lxla_tensor_state(t, &state));
  return state;
}

// Runs a step and waits for it. Returns the increase of the counter DonatedBuffers, which docs/behaviours.md calls D.
static inline uint64_t step(lxla_env env) {
  uint64_t before = counter(env, "DonatedBuffers");
  OK(lxla_mark_step(env, XLA(0), 1));
  return counter(env, "DonatedBuffers") - before;
}

#define ADD LXLA_BINARY_ADD
#define SUB LXLA_BINARY_SUBTRACT
#define MUL LXLA_BINARY_MULTIPLY
#define RELEASE(...)                                                   \
  do {                                                                 \
    lxla_tensor list_[] = {__VA_ARGS__};                               \
    OK(lxla_tensor_release_many(list_, sizeof list_ / sizeof *list_)); \
  } while (0)

int main(int argc, char **argv) {
  int count = 0;
  if (argc == 2 && strcmp(argv[1], "--list") == 0) {
    for (lxla_test *test = lxla_tests; test; test = test->next) printf("%s\n", test->name);
    return 0;
  }
  for (lxla_test *test = lxla_tests; test; test = test->next) {
    int wanted = argc < 2;
    for (int i = 1; i < argc; i++) wanted |= strcmp(argv[i], test->name) == 0;
    if (!wanted) continue;
    printf("%s\n", test->name);
    fflush(stdout);
    test->run();
    count++;
  }
  printf("%d tests passed\n", count);
  return count ? 0 : 1;
}

#endif
