// Measures recording: one lxla_binary through the C ABI, the release of its operand included, on chains of any length.
#include "bench.h"

static double ns_per_op(int n) {
  float data[8] = {0};
  int64_t dims[1] = {8};
  lxla_tensor x, y;
  OK(lxla_tensor_from_host(env, device, LXLA_DTYPE_F32, dims, 1, data, sizeof data, &x));
  OK(lxla_tensor_from_host(env, device, LXLA_DTYPE_F32, dims, 1, data, sizeof data, &y));
  double start = now();
  for (int i = 0; i < n; i++) {
    lxla_tensor next;
    OK(lxla_binary(LXLA_BINARY_ADD, x, y, &next));
    OK(lxla_tensor_release(x));
    x = next;
  }
  double taken = now() - start;
  OK(lxla_tensor_release(x));
  OK(lxla_tensor_release(y));
  return taken * 1e3 / n;
}

// With a number as argument, records one chain of that length, for counting instructions.
int main(int count, char **arguments) {
  if (count > 1) {
    ns_per_op(atoi(arguments[1]));
    return 0;
  }
  printf("| ops in the chain | ns per op (median of 9) |\n|---|---|\n");
  for (int n = 1000; n <= 1000000; n *= 10) {
    double samples[9];
    for (int i = 0; i < 9; i++) samples[i] = ns_per_op(n);
    printf("| %d | %.1f |\n", n, median(samples, 9));
  }
  return 0;
}
