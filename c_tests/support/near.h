// Comparison of values as numbers of any dtype, on an XLA device and on cpu.
#ifndef LXLA_TEST_NEAR_H
#define LXLA_TEST_NEAR_H

#include "both.h"

// Makes a c64 tensor from a list of parts: real, imaginary, real, imaginary, and so on.
#define C64S(dims, ...) array(LXLA_DTYPE_C64, dims, (float[]){__VA_ARGS__}, sizeof((float[]){__VA_ARGS__}))

// Converts an f32 tensor to another dtype.
static inline lxla_tensor as(int32_t dtype, lxla_tensor x) {
  lxla_tensor out;
  OK(lxla_convert(x, dtype, &out));
  RELEASE(x);
  return out;
}

// Checks the tensor's dtype, shape and values (both parts of complex numbers), with an error of at most `tolerance`
// times the largest value. Releases the tensor.
static inline void has_near(const char *file, int line, lxla_tensor t, int32_t dtype, const int64_t *dims, size_t rank,
                            const double *want, double tolerance) {
  size_t n = has_type(file, line, t, dtype, dims, rank);
  int is_complex = dtype == LXLA_DTYPE_C64 || dtype == LXLA_DTYPE_C128;
  t = as(is_complex ? LXLA_DTYPE_C128 : LXLA_DTYPE_F64, t);
  n *= is_complex ? 2 : 1;
  double got[256], largest = 0;
  CHECK(n <= 256);
  OK(lxla_tensor_read(t, got, n * sizeof *got));
  for (size_t i = 0; i < n; i++) largest = fmax(largest, isfinite(want[i]) ? fabs(want[i]) : 0);
  for (size_t i = 0; i < n; i++) {
    int same = isfinite(want[i]) ? fabs(got[i] - want[i]) <= tolerance * largest
                                 : (isnan(want[i]) ? isnan(got[i]) : got[i] == want[i]);
    if (!same) FAIL("%s:%d: element %zu is %.17g, want %.17g", file, line, i, got[i], want[i]);
  }
  RELEASE(t);
}

#define NEAR(t, dtype, dims, tolerance, ...) \
  has_near(__FILE__, __LINE__, t, dtype, dims, (double[]){__VA_ARGS__}, tolerance)
#define VALUES(t, dtype, dims, ...) has_near(__FILE__, __LINE__, t, dtype, dims, (double[]){__VA_ARGS__}, 0)

// Checks that an f32 tensor has this shape, and that each value is within some units in its last place. Releases the
// tensor.
static inline void has_near_f32(const char *file, int line, lxla_tensor t, const int64_t *dims, size_t rank,
                                const float *want) {
  size_t n = has_type(file, line, t, LXLA_DTYPE_F32, dims, rank);
  float got[64];
  CHECK(n <= 64);
  read_f32(t, got, n);
  for (size_t i = 0; i < n; i++) {
    int same = isnan(want[i]) ? isnan(got[i]) : got[i] == want[i] || fabsf(got[i] - want[i]) <= 1e-6f * fabsf(want[i]);
    if (!same) FAIL("%s:%d: element %zu is %.9g, want %.9g", file, line, i, got[i], want[i]);
  }
  RELEASE(t);
}

#define NEAR_F32(t, dims, ...) has_near_f32(__FILE__, __LINE__, t, dims, (float[]){__VA_ARGS__})

#endif
