// Tests that run on an XLA device and natively, with the same results and errors.
#ifndef LXLA_TEST_RESULTS_H
#define LXLA_TEST_RESULTS_H

#include "check.h"

static lxla_env env;
static lxla_device device;

static lxla_tensor array(int32_t dtype, const int64_t *dims, size_t rank, const void *data, size_t size) {
  lxla_tensor t;
  OK(lxla_tensor_from_host(env, device, dtype, dims, rank, data, size, &t));
  return t;
}

#define ARRAY(dtype, type, dims, ...) array(dtype, dims, (type[]){__VA_ARGS__}, sizeof((type[]){__VA_ARGS__}))
#define F32S(dims, ...) array(LXLA_DTYPE_F32, dims, (float[]){__VA_ARGS__}, sizeof((float[]){__VA_ARGS__}))
// Complex numbers: real part, imaginary part, and so on.
#define C64S(dims, ...) array(LXLA_DTYPE_C64, dims, (float[]){__VA_ARGS__}, sizeof((float[]){__VA_ARGS__}))

// f32 values in another dtype.
static inline lxla_tensor as(int32_t dtype, lxla_tensor x) {
  lxla_tensor out;
  OK(lxla_convert(x, dtype, &out));
  RELEASE(x);
  return out;
}

// The tensor has this dtype, shape and these values, of complex numbers both parts, within `tolerance` of the largest. Takes
// it over.
static inline void has_near(lxla_tensor t, int32_t dtype, const int64_t *dims, size_t rank, const double *want, double tolerance) {
  int64_t got_dims[8];
  size_t n = 1, got_rank;
  int32_t got_dtype;
  OK(lxla_tensor_dtype(t, &got_dtype));
  EQUAL(got_dtype, dtype);
  OK(lxla_tensor_rank(t, &got_rank));
  EQUAL(got_rank, rank);
  OK(lxla_tensor_dims(t, got_dims, 8));
  for (size_t i = 0; i < rank; i++) {
    EQUAL(got_dims[i], dims[i]);
    n *= (size_t)dims[i];
  }
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
    if (!same) FAIL("element %zu is %.17g, want %.17g", i, got[i], want[i]);
  }
  RELEASE(t);
}

#define HAS(t, dtype, dims, ...) has_near(t, dtype, dims, (double[]){__VA_ARGS__}, 0)
#define NEAR(t, dtype, dims, tolerance, ...) has_near(t, dtype, dims, (double[]){__VA_ARGS__}, tolerance)
#define SCALAR NULL, 0

static inline void on_both(void (*test)(void)) {
  const lxla_device devices[] = {{LXLA_DEVICE_XLA, 0}, {LXLA_DEVICE_CPU, 0}};
  for (int i = 0; i < 2; i++) {
    env = new_env();
    device = devices[i];
    test();
    EQUAL(counter(env, "LiveBytes"), 0);
    OK(lxla_env_release(env));
  }
}

#endif
