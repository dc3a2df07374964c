// Tests that run on an XLA device and native, with the same results and errors.
#ifndef LXLA_TEST_BOTH_H
#define LXLA_TEST_BOTH_H

#include "check.h"

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

static inline lxla_tensor array(int32_t dtype, const int64_t *dims, size_t rank, const void *data, size_t size) {
  lxla_tensor t;
  OK(lxla_tensor_from_host(env, device, dtype, dims, rank, data, size, &t));
  return t;
}

#define ARRAY(dtype, type, dims, ...) array(dtype, dims, (type[]){__VA_ARGS__}, sizeof((type[]){__VA_ARGS__}))
#define SCALAR(dtype, type, value) array(dtype, NULL, 0, (type[]){value}, sizeof(type))

// Takes the tensor over: it has this dtype, this shape and these bytes.
static inline void has(lxla_tensor t, int32_t dtype, const int64_t *dims, size_t rank, const void *want, size_t size) {
  int64_t got_dims[8];
  size_t got_rank;
  int32_t got_dtype;
  OK(lxla_tensor_dtype(t, &got_dtype));
  EQUAL(got_dtype, dtype);
  OK(lxla_tensor_rank(t, &got_rank));
  EQUAL(got_rank, rank);
  OK(lxla_tensor_dims(t, got_dims, 8));
  for (size_t i = 0; i < rank; i++) EQUAL(got_dims[i], dims[i]);
  unsigned char got[1024];
  OK(lxla_tensor_read(t, got, size));
  for (size_t i = 0; i < size; i++)
    if (got[i] != ((const unsigned char *)want)[i]) FAIL("byte %zu of %zu is %02x, want %02x", i, size, got[i], ((const unsigned char *)want)[i]);
  RELEASE(t);
}

#define HAS(t, dtype, type, dims, ...) has(t, dtype, dims, (type[]){__VA_ARGS__}, sizeof((type[]){__VA_ARGS__}))

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
#define NO_DIMS NULL, 0

#endif
