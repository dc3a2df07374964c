// Helpers of tests that trace and call computations.
#ifndef LXLA_TEST_COMPUTATION_H
#define LXLA_TEST_COMPUTATION_H

#include "check.h"

static inline lxla_tensor placeholder(lxla_env env, int32_t dtype, const int64_t *dims, size_t rank) {
  lxla_tensor p;
  OK(lxla_tensor_placeholder(env, XLA(0), dtype, dims, rank, &p));
  return p;
}

#define TENSORS(...) (const lxla_tensor[]){__VA_ARGS__}, sizeof((lxla_tensor[]){__VA_ARGS__}) / sizeof(lxla_tensor)

// Traces a computation, and releases the results.
static inline lxla_computation traced(const lxla_tensor *params, size_t n, const lxla_tensor *results,
                                      size_t n_results) {
  lxla_computation c;
  OK(lxla_computation_trace(params, n, results, n_results, &c));
  return c;
}

// Calls a computation that has one result.
static inline lxla_tensor called(lxla_computation c, const lxla_tensor *args, size_t n) {
  lxla_tensor out;
  OK(lxla_computation_call(c, args, n, &out, 1));
  return out;
}

static inline char *text_of(lxla_tensor t) {
  char *text;
  OK(lxla_stablehlo(&t, 1, &text));
  return text;
}

static inline int occurrences(const char *text, const char *words) {
  int n = 0;
  for (const char *at = text; (at = strstr(at, words)); at += strlen(words)) n++;
  return n;
}

#endif
