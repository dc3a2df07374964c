// Avoiding recompilation: positions of slices as attributes or as operands, and scalars as constants or as parameters.
#include "frontend.h"

enum { N = 16, TURNS = 8 };

static lxla_tensor x;

static lxla_tensor position(int64_t at) {
  int32_t value = (int32_t)at;
  lxla_tensor out;
  TRY(lxla_tensor_from_host(env, device, LXLA_DTYPE_S32, NULL, 0, &value, sizeof value, &out));
  return out;
}

// [recipe]
static lxla_tensor window_static(int64_t at) {  // x[at : at + 2]: the position is part of the program
  lxla_tensor out;
  TRY(lxla_slice(x, &at, (int64_t[]){at + 2}, NULL, 1, &out));
  return out;
}

static lxla_tensor window_dynamic(int64_t at) {  // the position is an operand: one program for all positions
  lxla_tensor start = position(at), out;
  TRY(lxla_dynamic_slice(x, &start, (int64_t[]){2}, 1, &out));
  RELEASE(start);
  return out;
}

static lxla_tensor scaled(int64_t by) {  // a scalar: a constant, until it changes; then a parameter for good
  return binary_scalar(LXLA_BINARY_MULTIPLY, x, (double)by);
}

static lxla_tensor assigned(int64_t at) {  // x[at : at + 2] = 7: its starts are scalars
  lxla_tensor seven, out;
  TRY(lxla_tensor_full(env, device, LXLA_DTYPE_F32, NULL, 0, 7, &seven));
  TRY(lxla_slice_assign(x, &at, (int64_t[]){at + 2}, NULL, 1, seven, &out));
  RELEASE(seven);
  return out;
}
// [recipe end]

static float head_of(lxla_tensor y) {
  int64_t dims[1];
  TRY(lxla_tensor_dims(y, dims, 1));
  float value = first_value(y, (size_t)dims[0]);
  RELEASE(y);
  return value;
}

static uint64_t compiles(lxla_tensor record(int64_t), float expected(int64_t)) {
  uint64_t before = counter(env, "UncachedCompile");
  for (int64_t turn = 0; turn < TURNS; turn++) CHECK(head_of(record(turn)) == expected(turn));
  return counter(env, "UncachedCompile") - before;
}

static float itself(int64_t at) { return (float)at + 1; }  // element `at` of 1, 2, 3, ...
static float product(int64_t by) { return (float)by; }
static float seven_at_first(int64_t at) { return at == 0 ? 7 : 1; }

int main(void) {
  float values[N];
  for (int i = 0; i < N; i++) values[i] = (float)(i + 1);
  x = from_floats(device, DIMS(N), values);
  // [recipe]
  CHECK(compiles(window_static, itself) == TURNS);  // one program for each position
  CHECK(compiles(window_dynamic, itself) == 1);
  CHECK(compiles(scaled, product) <= 2);
  CHECK(compiles(assigned, seven_at_first) <= 2);
  // [recipe end]

  // [recipe]
  // A scalar that a double cannot hold: lxla_scalar, 64-bit integers and complex numbers among them.
  const lxla_scalar large = {.dtype = LXLA_DTYPE_S64, .value.i = INT64_MAX - 1};
  const lxla_device cpu = {LXLA_DEVICE_CPU, 0};
  lxla_tensor ones, sum;
  int64_t result;
  TRY(lxla_tensor_full(env, cpu, LXLA_DTYPE_S64, NULL, 0, 1, &ones));
  TRY(lxla_binary_with_scalar(LXLA_BINARY_ADD, ones, &large, 0, &sum));
  TRY(lxla_tensor_read(sum, &result, sizeof result));
  CHECK(result == INT64_MAX);
  // [recipe end]
  RELEASE(x, ones, sum);
  return 0;
}
