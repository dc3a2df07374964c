// README.md's first program: a tensor that is updated in place a hundred times, by one compiled program.
#include <lazyxla.h>
#include <stdio.h>
#include <stdlib.h>

static void check(lxla_status status) {
  if (status == LXLA_OK) return;
  fprintf(stderr, "%s: %s\n", lxla_status_name(status), lxla_last_error_message());
  exit(1);
}

int main(void) {
  lxla_env env = {0};                         // the default environment
  lxla_device device = {LXLA_DEVICE_XLA, 0};  // its first XLA device
  int64_t dims[] = {3};
  float start[] = {1, 2, 3}, values[3];
  lxla_tensor x, old, y;

  // [recipe]
  check(lxla_tensor_from_host(env, device, LXLA_DTYPE_F32, dims, 1, start, sizeof start, &x));
  for (int step = 0; step < 100; step++) {
    check(lxla_binary_scalar_inplace(LXLA_BINARY_MULTIPLY, x, 0.5));  // recorded, not run
    check(lxla_binary_scalar_inplace(LXLA_BINARY_ADD, x, 1));
    check(lxla_mark_step(env, device, 0));  // compiled once, run 100 times, in place
  }
  check(lxla_tensor_snapshot(x, &old));                             // keeps the present value; no copy
  check(lxla_binary_scalar_inplace(LXLA_BINARY_MULTIPLY, x, 100));  // `old` is unchanged
  check(lxla_binary(LXLA_BINARY_SUBTRACT, x, old, &y));
  check(lxla_tensor_read(y, values, sizeof values));      // computes y, and waits for it
  printf("%g %g %g\n", values[0], values[1], values[2]);  // 198 198 198
  // [recipe end]

  lxla_tensor all[] = {x, old, y};
  check(lxla_tensor_release_many(all, 3));
  return 0;
}
