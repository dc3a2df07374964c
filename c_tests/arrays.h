// Tests that run on an XLA device and natively, with arrays of any dtype written down and compared.
#ifndef LXLA_TEST_ARRAYS_H
#define LXLA_TEST_ARRAYS_H

#include "computation.h"

#define F32 LXLA_DTYPE_F32
#define F64 LXLA_DTYPE_F64
#define S32 LXLA_DTYPE_S32

// Where the test runs; computations are traced on the XLA device in any case.
static lxla_env env;
static lxla_device device;

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

static inline int is_native(void) { return device.kind == LXLA_DEVICE_CPU; }

static inline lxla_tensor array(int32_t dtype, const int64_t *dims, size_t rank, const void *data, size_t size) {
  lxla_tensor t;
  OK(lxla_tensor_from_host(env, device, dtype, dims, rank, data, size, &t));
  return t;
}

// ARRAY(F32, float, DIMS(2), 1, 2)
#define ARRAY(dtype, type, dims, ...) array(dtype, dims, (type[]){__VA_ARGS__}, sizeof((type[]){__VA_ARGS__}))

// The dims of a scalar.
#define SCALAR NULL, 0

// A scalar with a value.
static inline lxla_tensor at(int32_t dtype, double value) {
  lxla_tensor t;
  OK(lxla_tensor_full(env, device, dtype, NULL, 0, value, &t));
  return t;
}

static inline int same_element(int32_t dtype, const char *got, const char *want, size_t size) {
  if (dtype == F32 && isnan(*(const float *)want)) return isnan(*(const float *)got);
  if (dtype == F64 && isnan(*(const double *)want)) return isnan(*(const double *)got);
  return memcmp(got, want, size) == 0;
}

static inline double number(int32_t dtype, const void *element, size_t size) {
  if (dtype == F32) return *(const float *)element;
  if (dtype == F64) return *(const double *)element;
  int64_t value = 0;
  memcpy(&value, element, size < sizeof value ? size : sizeof value);
  return (double)value;
}

// The tensor has this dtype, shape and elements, bit for bit (but for NaN, which is NaN); takes it over.
static inline void has(const char *file, int line, lxla_tensor t, int32_t dtype, const int64_t *dims, size_t rank,
                       const void *want, size_t size, size_t element) {
  int64_t got_dims[8];
  int32_t got_dtype;
  size_t n = 1, got_rank;
  OK(lxla_tensor_dtype(t, &got_dtype));
  OK(lxla_tensor_rank(t, &got_rank));
  OK(lxla_tensor_dims(t, got_dims, 8));
  if (got_dtype != dtype || got_rank != rank) FAIL("%s:%d: dtype %d, rank %zu", file, line, got_dtype, got_rank);
  for (size_t i = 0; i < rank; i++) {
    if (got_dims[i] != dims[i]) FAIL("%s:%d: dims[%zu] is %" PRId64, file, line, i, got_dims[i]);
    n *= (size_t)dims[i];
  }
  if (n * element > size) FAIL("%s:%d: %zu elements, and bytes of %zu", file, line, n, size);
  char *got = malloc(n * element + 1);
  OK(lxla_tensor_read(t, got, n * element));
  for (size_t i = 0; i < n; i++) {
    const char *g = got + i * element, *w = (const char *)want + i * element;
    if (!same_element(dtype, g, w, element))
      FAIL("%s:%d: on device %d element %zu is %.9g, want %.9g", file, line, device.kind, i, number(dtype, g, element),
           number(dtype, w, element));
  }
  free(got);
  RELEASE(t);
}

// HAS(t, F32, float, DIMS(2), 1, 2)
#define HAS(t, dtype, type, dims, ...) \
  has(__FILE__, __LINE__, t, dtype, dims, (type[]){__VA_ARGS__}, sizeof((type[]){__VA_ARGS__}), sizeof(type))

// A computation of two scalars.
static inline lxla_computation of_two(int32_t op, int32_t dtype) {
  lxla_tensor a = placeholder(env, dtype, NULL, 0), b = placeholder(env, dtype, NULL, 0), r = binary(op, a, b);
  lxla_computation c = traced(TENSORS(a, b), TENSORS(r));
  RELEASE(a, b, r);
  return c;
}

static inline lxla_tensor compared(int32_t op, lxla_tensor a, lxla_tensor b) {
  lxla_tensor r;
  OK(lxla_compare(op, a, b, &r));
  return r;
}

static inline lxla_tensor selected(lxla_tensor pred, lxla_tensor a, lxla_tensor b) {
  lxla_tensor r;
  OK(lxla_select(pred, a, b, &r));
  return r;
}

static inline lxla_computation comparison(int32_t op, int32_t dtype) {
  lxla_tensor a = placeholder(env, dtype, NULL, 0), b = placeholder(env, dtype, NULL, 0), r = compared(op, a, b);
  lxla_computation c = traced(TENSORS(a, b), TENSORS(r));
  RELEASE(a, b, r);
  return c;
}

#define DONE(...)                                                             \
  do {                                                                        \
    lxla_computation done_[] = {__VA_ARGS__};                                 \
    for (size_t i_ = 0; i_ < sizeof done_ / sizeof *done_; i_++) OK(lxla_computation_release(done_[i_])); \
  } while (0)

#endif
