// Leaves the process with work in flight, in the way that its argument says. Exit code 7.
#include "lazyxla.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 256 };
static lxla_tensor a, b;
static const lxla_env env = {0};
static const lxla_device device = {LXLA_DEVICE_XLA, 0};

static void work(void) {
  for (int i = 0; i < 4; i++) {
    lxla_tensor next;
    if (lxla_matmul(a, b, &next)) abort();
    if (lxla_tensor_assign(a, next) || lxla_tensor_release(next)) abort();
    if (lxla_mark_step(env, device, 0)) abort();
  }
}

static void *work_for_ever(void *unused) {
  // Once the process is leaving, calls are refused; the thread goes on asking.
  for (;;) {
    lxla_tensor next;
    if (lxla_matmul(a, b, &next) == LXLA_OK) lxla_tensor_release(next);
    lxla_binary_scalar_inplace(LXLA_BINARY_MULTIPLY, a, 0.5);
    lxla_mark_step(env, device, 0);
    float *values = malloc(N * N * sizeof(float));
    lxla_tensor_read(a, values, N * N * sizeof(float));
    free(values);
  }
  return unused;
}

static void *compile_for_ever(void *unused) {
  for (int64_t n = 1;; n++) {
    lxla_tensor x, y, z;
    if (lxla_tensor_full(env, device, LXLA_DTYPE_F32, &n, 1, 0.25, &x)) return unused;
    if (lxla_unary(LXLA_UNARY_TANH, x, &y)) return unused;
    if (lxla_reduce(LXLA_REDUCE_SUM, y, (int64_t[]){0}, 1, 0, &z)) return unused;
    lxla_sync(&z, 1);
  }
}

// Leaves while another thread is compiling, perhaps the first program of the process.
static int leave_while_compiling(int microseconds) {
  lxla_env made;
  pthread_t thread;
  if (lxla_env_default(&made)) abort();
  if (pthread_create(&thread, NULL, compile_for_ever, NULL)) abort();
  usleep((useconds_t)microseconds);
  return 7;
}

int main(int argc, char **argv) {
  const char *mode = argc > 1 ? argv[1] : "";
  if (argc > 2) return leave_while_compiling(atoi(argv[2]));
  int64_t dims[2] = {N, N};
  static float data[N * N];
  if (lxla_tensor_from_host(env, device, LXLA_DTYPE_F32, dims, 2, data, sizeof data, &a)) abort();
  if (lxla_tensor_full(env, device, LXLA_DTYPE_F32, dims, 2, 0.25, &b)) abort();
  work();
  if (strcmp(mode, "released") == 0) {  // nobody holds what is being computed
    lxla_tensor_release(a);
    lxla_tensor_release(b);
  }
  if (strcmp(mode, "threads") == 0) {
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
      if (pthread_create(&threads[i], NULL, work_for_ever, NULL)) abort();
    work();
  }
  if (strcmp(mode, "transfer") == 0)
    for (int i = 0; i < 8; i++)
      if (lxla_tensor_write(a, data, sizeof data)) abort();
  if (strcmp(mode, "exit") == 0) exit(7);
  return 7;
}
