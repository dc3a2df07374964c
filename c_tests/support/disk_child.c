// Trains a little with the disk cache in a process of its own, and prints counters, the result, and the bytes that it
// read from files.
#include "lazyxla.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const lxla_env env = {0};
static const lxla_device device = {LXLA_DEVICE_XLA, 0};

#define TRY(call)                                         \
  do {                                                    \
    if ((call) != LXLA_OK) {                              \
      fprintf(stderr, "%s\n", lxla_last_error_message()); \
      exit(1);                                            \
    }                                                     \
  } while (0)

static uint64_t counter(const char *name) {
  uint64_t value;
  TRY(lxla_env_counter(env, name, &value));
  return value;
}

// Bytes that this process has read from files. What is mapped does not count.
static uint64_t bytes_read(void) {
  uint64_t bytes;
  FILE *f = fopen("/proc/self/io", "r");
  if (!f || fscanf(f, "rchar: %" SCNu64, &bytes) != 1) exit(1);
  fclose(f);
  return bytes;
}

int main(void) {
  const int64_t dims[] = {4};
  const float start[] = {1, 2, 3, 4};
  lxla_tensor x, y;
  float values[4], tanhs[4];
  TRY(lxla_tensor_from_host(env, device, LXLA_DTYPE_F32, dims, 1, start, sizeof start, &x));
  for (int i = 0; i < 5; i++) {
    TRY(lxla_binary_scalar_inplace(LXLA_BINARY_MULTIPLY, x, 0.5));
    TRY(lxla_binary_scalar_inplace(LXLA_BINARY_ADD, x, i));  // changes each time: a constant once, then a parameter
    TRY(lxla_mark_step(env, device, 1));
  }
  TRY(lxla_unary(LXLA_UNARY_TANH, x, &y));
  TRY(lxla_tensor_read(x, values, sizeof values));
  TRY(lxla_tensor_read(y, tanhs, sizeof tanhs));
  printf("%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %.9g %.9g %" PRIu64 "\n", counter("UncachedCompile"),
         counter("PersistentCacheHit"), counter("PersistentCacheMiss"), counter("DonatedBuffers"), values[3], tanhs[0],
         bytes_read());
  return 0;
}
