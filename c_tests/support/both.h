// Helpers for tests that run on an XLA device and on cpu, and expect the same results and errors; array literals and
// comparisons.
#ifndef LXLA_TEST_BOTH_H
#define LXLA_TEST_BOTH_H

#include "check.h"

#define PRED LXLA_DTYPE_PRED
#define S8 LXLA_DTYPE_S8
#define S16 LXLA_DTYPE_S16
#define S32 LXLA_DTYPE_S32
#define S64 LXLA_DTYPE_S64
#define U8 LXLA_DTYPE_U8
#define U16 LXLA_DTYPE_U16
#define U32 LXLA_DTYPE_U32
#define U64 LXLA_DTYPE_U64
#define F16 LXLA_DTYPE_F16
#define BF16 LXLA_DTYPE_BF16
#define F32 LXLA_DTYPE_F32
#define F64 LXLA_DTYPE_F64
#define C64 LXLA_DTYPE_C64
#define C128 LXLA_DTYPE_C128

#define BAD LXLA_INVALID_ARGUMENT

// Environment of the running test; computations are always traced on its XLA device.
static lxla_env env;
static lxla_device device;

static inline void on_both(void (*test)(void)) {
  const lxla_device devices[] = {{LXLA_DEVICE_XLA, 0}, {LXLA_DEVICE_CPU, 0}};
  for (int i = 0; i < 2; i++) {
    env = new_env();
    device = devices[i];
    test();
    no_live_bytes(env);
    OK(lxla_env_release(env));
  }
}

static inline int is_native(void) { return device.kind == LXLA_DEVICE_CPU; }

static inline lxla_tensor array(int32_t dtype, const int64_t *dims, size_t rank, const void *data, size_t size) {
  lxla_tensor t;
  OK(lxla_tensor_from_host(env, device, dtype, dims, rank, data, size, &t));
  return t;
}

// Dims and rank of a scalar.
#define SCALAR NULL, 0

// Makes a tensor from a list of values: ARRAY(F32, float, DIMS(2), 1, 2)
#define ARRAY(dtype, type, dims, ...) array(dtype, dims, (type[]){__VA_ARGS__}, sizeof((type[]){__VA_ARGS__}))
#define F32S(dims, ...) array(F32, dims, (float[]){__VA_ARGS__}, sizeof((float[]){__VA_ARGS__}))

// Makes a scalar with this value.
static inline lxla_tensor at(int32_t dtype, double value) {
  lxla_tensor t;
  OK(lxla_tensor_full(env, device, dtype, NULL, 0, value, &t));
  return t;
}

// Checks the tensor's dtype and shape. Returns its number of elements.
static inline size_t has_type(const char *file, int line, lxla_tensor t, int32_t dtype, const int64_t *dims,
                              size_t rank) {
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
  return n;
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

// Checks the tensor's dtype, shape and elements, bit for bit (any NaN equals any other). Releases the tensor.
static inline void has(const char *file, int line, lxla_tensor t, int32_t dtype, const int64_t *dims, size_t rank,
                       const void *want, size_t size) {
  size_t n = has_type(file, line, t, dtype, dims, rank), element = n ? size / n : 0;
  char *got = malloc(size + 1);
  OK(lxla_tensor_read(t, got, n ? size : 0));
  for (size_t i = 0; i < n; i++) {
    const char *g = got + i * element, *w = (const char *)want + i * element;
    if (!same_element(dtype, g, w, element))
      FAIL("%s:%d: on device %d element %zu is %.9g, want %.9g", file, line, device.kind, i, number(dtype, g, element),
           number(dtype, w, element));
  }
  free(got);
  RELEASE(t);
}

// Compares a tensor with a list of values: HAS(t, F32, float, DIMS(2), 1, 2)
#define HAS(t, dtype, type, dims, ...) \
  has(__FILE__, __LINE__, t, dtype, dims, (type[]){__VA_ARGS__}, sizeof((type[]){__VA_ARGS__}))
#define HAS_F32(t, dims, ...) \
  has(__FILE__, __LINE__, t, F32, dims, (float[]){__VA_ARGS__}, sizeof((float[]){__VA_ARGS__}))
// Compares a tensor with a C array.
#define HAS_ARRAY(t, dtype, dims, values) has(__FILE__, __LINE__, t, dtype, dims, values, sizeof(values))
// Checks that a tensor of this dtype and shape has no elements.
#define EMPTY(t, dtype, dims) has(__FILE__, __LINE__, t, dtype, dims, NULL, 0)

#endif
