// Helpers of all benchmarks: errors, time, medians, the default environment and its first device.
#ifndef LXLA_BENCH_H
#define LXLA_BENCH_H

#include "lazyxla.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define STOP(...) (fprintf(stderr, __VA_ARGS__), fprintf(stderr, "\n"), exit(1))

#define OK(call)                                                                                        \
  do {                                                                                                  \
    if ((call) != LXLA_OK) STOP("%s:%d: %s: %s", __FILE__, __LINE__, #call, lxla_last_error_message()); \
  } while (0)

// Returns the monotonic time in microseconds.
static inline double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static inline int bench_by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

// Returns the median of n samples; sorts them.
static inline double median(double *samples, int n) {
  qsort(samples, (size_t)n, sizeof *samples, bench_by_value);
  return samples[n / 2];
}

// Benchmarks of the examples' models take both from the examples.
#if !defined LXLA_BENCH_DIGITS_H && !defined FRONTEND_H
static const lxla_env env = {0};
static const lxla_device device = {LXLA_DEVICE_XLA, 0};
#endif

#endif
