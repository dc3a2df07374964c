// Measures the planning of a step whose size changes: the host's time for recording and stepping a chain, whose
// programs are compiled, with one size and with several in turn.
#include "bench.h"

enum { OPERATIONS = 400, STEPS = 800, MOST = 64 };

// Returns the median time of a step over this number of sizes, of the later half of the steps.
static double time_of(int sizes) {
  static float values[MOST];
  double samples[STEPS];
  int count = 0;
  for (int step = 0; step < STEPS; step++) {
    int64_t n = 20 + step % sizes;
    lxla_tensor x, y;
    OK(lxla_tensor_from_host(env, device, LXLA_DTYPE_F32, &n, 1, values, (size_t)n * sizeof *values, &x));
    double start = now();
    OK(lxla_binary_scalar(LXLA_BINARY_ADD, x, 1, &y));
    for (int i = 1; i < OPERATIONS; i++) {
      lxla_tensor next;
      OK(lxla_binary(i % 2 ? LXLA_BINARY_MULTIPLY : LXLA_BINARY_ADD, y, x, &next));
      OK(lxla_tensor_release(y));
      y = next;
    }
    OK(lxla_mark_step(env, device, 0));
    if (step >= STEPS / 2) samples[count++] = now() - start;
    OK(lxla_tensor_read(y, values, (size_t)n * sizeof *values));
    memset(values, 0, sizeof values);
    OK(lxla_tensor_release_many((const lxla_tensor[]){x, y}, 2));
  }
  return median(samples, count);
}

int main(void) {
  OK(lxla_env_set_option(env, "dynamic_exact", "false"));
  double off = time_of(1);
  OK(lxla_env_set_option(env, "dynamic_sizes", "32"));
  double one = time_of(1), several = time_of(8);
  printf("a step of %d operations: %.1f us; with the option on %.1f us (%.3f)\n", OPERATIONS, off, one, one / off);
  printf("with 8 sizes in turn %.1f us: %.0f ns more for each operation\n", several,
         (several - one) * 1e3 / OPERATIONS);
  return 0;
}
