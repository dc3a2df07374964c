// Shared by the examples frontend_*.c: the device, checks, and helpers that return their result. docs/frontends.md
// shows the part between the markers.
#ifndef FRONTEND_H
#define FRONTEND_H

#include "try.h"

#include <math.h>
#include <string.h>

// [recipe]
static const lxla_env env = {0};                   // id 0: the current environment, else the default one
static lxla_device device = {LXLA_DEVICE_XLA, 0};  // its first XLA device
// [recipe end]

#define CHECK(condition)                                                            \
  do {                                                                              \
    if (!(condition)) {                                                             \
      fprintf(stderr, "%s:%d: check failed: %s\n", __FILE__, __LINE__, #condition); \
      exit(1);                                                                      \
    }                                                                               \
  } while (0)

static inline lxla_tensor from_floats(lxla_device on, const int64_t *dims, size_t rank, const float *data) {
  size_t bytes = sizeof(float);
  for (size_t i = 0; i < rank; i++) bytes *= (size_t)dims[i];
  lxla_tensor out;
  TRY(lxla_tensor_from_host(env, on, LXLA_DTYPE_F32, dims, rank, data, bytes, &out));
  return out;
}

// Returns zeroed memory, to be freed by free().
static inline void *memory(size_t bytes) {
  void *found = calloc(1, bytes ? bytes : 1);
  CHECK(found);
  return found;
}

static inline float first_value(lxla_tensor x, size_t elements) {
  float values[64];
  CHECK(elements <= 64);
  TRY(lxla_tensor_read(x, values, elements * sizeof(float)));
  return values[0];
}

static inline uint64_t counter(lxla_env of, const char *name) {
  uint64_t value;
  TRY(lxla_env_counter(of, name, &value));
  return value;
}

static inline lxla_tensor binary(int32_t op, lxla_tensor a, lxla_tensor b) {
  lxla_tensor out;
  TRY(lxla_binary(op, a, b, &out));
  return out;
}

static inline lxla_tensor binary_scalar(int32_t op, lxla_tensor a, double b) {
  lxla_tensor out;
  TRY(lxla_binary_scalar(op, a, b, &out));
  return out;
}

static inline lxla_tensor unary(int32_t op, lxla_tensor x) {
  lxla_tensor out;
  TRY(lxla_unary(op, x, &out));
  return out;
}

static inline lxla_tensor matmul(lxla_tensor a, lxla_tensor b) {
  lxla_tensor out;
  TRY(lxla_matmul(a, b, &out));
  return out;
}

static inline lxla_tensor transpose(lxla_tensor x) {
  lxla_tensor out;
  TRY(lxla_transpose(x, DIMS(1, 0), &out));
  return out;
}

static inline lxla_tensor placeholder(const int64_t *dims, size_t rank) {
  lxla_tensor out;
  TRY(lxla_tensor_placeholder(env, device, LXLA_DTYPE_F32, dims, rank, &out));
  return out;
}

// Releases one reference of each tensor: RELEASE(a, b, ...)
#define RELEASE(...)                                               \
  TRY(lxla_tensor_release_many((const lxla_tensor[]){__VA_ARGS__}, \
                               sizeof((lxla_tensor[]){__VA_ARGS__}) / sizeof(lxla_tensor)))

#endif
