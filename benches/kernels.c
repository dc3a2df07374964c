// Cost of the call of a kernel beyond an operation of XLA in the same program: a loop that calls a kernel, and the same
// loop with an operation. And the time of one call on a large array, which is not copied.
#include "bench.h"

enum { LENGTH = 1000, ROUNDS = 101 };
static const int64_t SMALL = 8, LARGE = 25 << 20;  // 100 MiB

static int32_t negate(const lxla_kernel_call *call, void *user) {
  (void)user;
  const float *x = call->inputs[0].data;
  float *y = call->outputs[0].data;
  for (size_t i = 0; i < call->inputs[0].size_bytes / sizeof *x; i++) y[i] = -x[i];
  return 0;
}

// Reads and writes one element only: its results are undefined, its time is that of the call.
static int32_t touch(const lxla_kernel_call *call, void *user) {
  (void)user;
  *(float *)call->outputs[0].data = *(const float *)call->inputs[0].data;
  return 0;
}

static lxla_tensor applied(const char *target, lxla_tensor x, int64_t n) {
  static const int32_t f32 = LXLA_DTYPE_F32;
  static const size_t rank = 1;
  lxla_tensor y;
  OK(lxla_kernel_apply(env, target, &x, 1, &f32, &rank, &n, 1, NULL, &y));
  return y;
}

// x, LENGTH times negated by the kernel, or by an operation.
static lxla_computation negated(int by_kernel) {
  lxla_tensor x, y;
  lxla_computation body;
  OK(lxla_tensor_placeholder(env, device, LXLA_DTYPE_F32, &SMALL, 1, &x));
  if (by_kernel) {
    y = applied("negate", x, SMALL);
  } else {
    OK(lxla_unary(LXLA_UNARY_NEGATE, x, &y));
  }
  OK(lxla_computation_trace(&x, 1, &y, 1, &body));
  OK(lxla_tensor_release(x));
  OK(lxla_tensor_release(y));
  return body;
}

// Time of one iteration of a loop, in us.
static double iteration(lxla_computation body, lxla_tensor x) {
  const double start = now();
  lxla_tensor y;
  OK(lxla_scan(body, &x, 1, NULL, 0, LENGTH, 0, &y, NULL, 0));
  OK(lxla_step_tensors(&y, 1, 1));
  OK(lxla_tensor_release(y));
  return (now() - start) / LENGTH;
}

static lxla_tensor full(int64_t n) {
  lxla_tensor x;
  OK(lxla_tensor_full(env, device, LXLA_DTYPE_F32, &n, 1, 2, &x));
  OK(lxla_step_tensors(&x, 1, 1));
  return x;
}

static double one_call(const char *target, int64_t n) {
  lxla_tensor x = full(n);
  double samples[ROUNDS];
  for (int i = -2; i < ROUNDS; i++) {
    const double start = now();
    lxla_tensor y = applied(target, x, n);
    OK(lxla_step_tensors(&y, 1, 1));
    if (i >= 0) samples[i] = now() - start;
    OK(lxla_tensor_release(y));
  }
  OK(lxla_tensor_release(x));
  return median(samples, ROUNDS);
}

int main(void) {
  setenv("TF_CPP_MIN_LOG_LEVEL", "1", 0);
  OK(lxla_kernel_register(env, "negate", negate, NULL, NULL));
  OK(lxla_kernel_register(env, "touch", touch, NULL, NULL));
  lxla_tensor x = full(SMALL);
  const lxla_computation by_kernel = negated(1), by_operation = negated(0);
  double kernels[ROUNDS], operations[ROUNDS];
  for (int i = -2; i < ROUNDS; i++) {
    const double a = iteration(by_kernel, x), b = iteration(by_operation, x);
    if (i >= 0) kernels[i] = a, operations[i] = b;
  }
  const double a = median(kernels, ROUNDS), b = median(operations, ROUNDS);
  printf("an iteration on f32[8]: kernel %.2f us, operation of XLA %.2f us, difference %.2f us\n", a, b, a - b);
  printf("one call and its step: f32[8] %.1f us, f32[%lld] %.1f us\n", one_call("touch", SMALL), (long long)LARGE,
         one_call("touch", LARGE));
  OK(lxla_computation_release(by_kernel));
  OK(lxla_computation_release(by_operation));
  OK(lxla_tensor_release(x));
  OK(lxla_kernel_unregister(env, "negate"));
  OK(lxla_kernel_unregister(env, "touch"));
  return 0;
}
