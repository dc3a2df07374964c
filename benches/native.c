// Runs operations on native tensors, for numpy_native.py to compare with NumPy: reads lines "operation calls", and
// answers each with the nanoseconds of one call (its result made and released), the nanoseconds of processor time, and
// one number of the result.
#include "bench.h"

enum { MILLION = 1000000, SIDE = 1000, SMALL = 8 };
static const lxla_device cpu = {LXLA_DEVICE_CPU, 0};

// --- Operands ------------------------------------------------------------------------------------------------------

// Returns a number between 0.1 and 1.1; numpy_native.py makes the same numbers.
static double number(uint32_t i, uint32_t seed) { return 0.1 + (double)((i + seed) * 2654435761u >> 8) / (1 << 24); }

static lxla_tensor operand(int64_t rows, int64_t columns, uint32_t seed) {
  size_t size = (size_t)(rows * columns) * sizeof(float);
  float *data = malloc(size);
  lxla_tensor t;
  if (!data) STOP("no memory");
  for (uint32_t i = 0; i < rows * columns; i++) data[i] = (float)number(i, seed);
  const int64_t dims[2] = {rows, columns};
  int flat = rows == 1;
  OK(lxla_tensor_from_host(env, cpu, LXLA_DTYPE_F32, dims + flat, (size_t)(2 - flat), data, size, &t));
  free(data);
  return t;
}

static lxla_tensor x, y, wide_x, wide_y, s32_x, s32_y, mask, square, column, row, a, b, vector, a64, b64, a256, b256;
static lxla_tensor small, other_small, places;

static lxla_tensor as(lxla_tensor t, int32_t dtype) {
  lxla_tensor out;
  OK(lxla_convert(t, dtype, &out));
  return out;
}

static void prepare(void) {
  lxla_tensor thousands;
  x = operand(1, MILLION, 1), y = operand(1, MILLION, 2);
  wide_x = as(x, LXLA_DTYPE_F64), wide_y = as(y, LXLA_DTYPE_F64);
  OK(lxla_binary_scalar(LXLA_BINARY_MULTIPLY, x, 1000, &thousands));
  s32_x = as(thousands, LXLA_DTYPE_S32), s32_y = as(x, LXLA_DTYPE_S32);
  OK(lxla_compare(LXLA_COMPARE_GT, x, y, &mask));
  square = operand(SIDE, SIDE, 3), column = operand(SIDE, 1, 4), row = operand(1, SIDE, 5);
  a = operand(1024, 1024, 6), b = operand(1024, 1024, 7), vector = operand(1, 1024, 8);
  a64 = operand(64, 64, 9), b64 = operand(64, 64, 10), a256 = operand(256, 256, 11), b256 = operand(256, 256, 12);
  small = operand(1, SMALL, 13), other_small = operand(1, SMALL, 14);
  int64_t all[SIDE], dims[1] = {SIDE};
  for (int i = 0; i < SIDE; i++) all[i] = i * 7 % SIDE;
  OK(lxla_tensor_from_host(env, cpu, LXLA_DTYPE_S64, dims, 1, all, sizeof all, &places));
}

// --- Operations ----------------------------------------------------------------------------------------------------

static const int64_t SWAPPED[] = {1, 0}, AXES[] = {0, 1}, LOW[] = {0, 0}, HIGH[] = {SIDE, SIDE / 2};

#define BINARY(op, l, r) lxla_binary(LXLA_BINARY_##op, l, r, out)
#define UNARY(op, t) lxla_unary(LXLA_UNARY_##op, t, out)
#define REDUCE(op, t, axes, n) lxla_reduce(LXLA_REDUCE_##op, t, axes, n, 0, out)

// Operations: each with its name, and the call that makes `out`.
#define OPERATIONS(ON)                                                      \
  ON(add, BINARY(ADD, x, y))                                                \
  ON(multiply, BINARY(MULTIPLY, x, y))                                      \
  ON(exp, UNARY(EXPONENTIAL, x))                                            \
  ON(tanh, UNARY(TANH, x))                                                  \
  ON(sqrt, UNARY(SQRT, x))                                                  \
  ON(maximum, BINARY(MAXIMUM, x, y))                                        \
  ON(greater, lxla_compare(LXLA_COMPARE_GT, x, y, out))                     \
  ON(where, lxla_select(mask, x, y, out))                                   \
  ON(astype_f64, lxla_convert(x, LXLA_DTYPE_F64, out))                      \
  ON(sum, REDUCE(SUM, x, AXES, 1))                                          \
  ON(max, REDUCE(MAX, x, AXES, 1))                                          \
  ON(sum_axis_0, REDUCE(SUM, square, AXES, 1))                              \
  ON(sum_axis_1, REDUCE(SUM, square, AXES + 1, 1))                          \
  ON(transpose, lxla_transpose(square, SWAPPED, 2, out))                    \
  ON(matmul_1024, lxla_matmul(a, b, out))                                   \
  ON(small_add, BINARY(ADD, small, other_small))                            \
  ON(small_exp, UNARY(EXPONENTIAL, small))                                  \
  ON(small_sum, REDUCE(SUM, small, AXES, 1))                                \
  ON(small_relu, lxla_activation(LXLA_ACTIVATION_RELU, small, out))         \
  ON(small_relu6, lxla_activation(LXLA_ACTIVATION_RELU6, small, out))       \
  ON(small_isinf, UNARY(IS_INF, small))                                     \
  ON(small_lgamma, UNARY(LGAMMA, small))                                    \
  ON(divide, BINARY(DIVIDE, x, y))                                          \
  ON(power, BINARY(POWER, x, y))                                            \
  ON(negate, UNARY(NEGATE, x))                                              \
  ON(log, UNARY(LOG, x))                                                    \
  ON(sin, UNARY(SINE, x))                                                   \
  ON(floor, UNARY(FLOOR, x))                                                \
  ON(add_f64, BINARY(ADD, wide_x, wide_y))                                  \
  ON(exp_f64, UNARY(EXPONENTIAL, wide_x))                                   \
  ON(add_s32, BINARY(ADD, s32_x, s32_y))                                    \
  ON(astype_s32, lxla_convert(x, LXLA_DTYPE_S32, out))                      \
  ON(add_a_scalar, lxla_binary_scalar(LXLA_BINARY_ADD, x, 2, out))          \
  ON(add_a_row, BINARY(ADD, square, row))                                   \
  ON(add_a_column, BINARY(ADD, square, column))                             \
  ON(max_axis_0, REDUCE(MAX, square, AXES, 1))                              \
  ON(max_axis_1, REDUCE(MAX, square, AXES + 1, 1))                          \
  ON(sum_f64, REDUCE(SUM, wide_x, AXES, 1))                                 \
  ON(take_rows, lxla_take(square, places, 0, out))                          \
  ON(half_of_each_row, lxla_slice(square, LOW, HIGH, NULL, 2, out))         \
  ON(concatenate, lxla_concatenate((const lxla_tensor[]){x, y}, 2, 0, out)) \
  ON(matmul_64, lxla_matmul(a64, b64, out))                                 \
  ON(matmul_256, lxla_matmul(a256, b256, out))                              \
  ON(matrix_by_vector, lxla_matmul(a, vector, out))

#define NUMBER(name, call) OP_##name,
#define NAME(name, call) #name,
#define CASE(name, call) \
  case OP_##name: return call;

enum { OPERATIONS(NUMBER) OPERATION_COUNT };
static const char *const NAMES[] = {OPERATIONS(NAME)};

// Runs an operation by its number; the cost of the switch is negligible beside the call.
static lxla_status operate(int operation, lxla_tensor *out) {
  switch (operation) { OPERATIONS(CASE) }
  return LXLA_NOT_FOUND;
}

// --- Answers -------------------------------------------------------------------------------------------------------

// Returns the last element.
static double last(lxla_tensor t) {
  static double room[2 * MILLION];
  size_t rank, elements = 1;
  int64_t dims[2];
  int32_t dtype;
  OK(lxla_tensor_rank(t, &rank));
  OK(lxla_tensor_dims(t, dims, 2));
  OK(lxla_tensor_dtype(t, &dtype));
  for (size_t i = 0; i < rank; i++) elements *= (size_t)dims[i];
  lxla_tensor wide = as(t, LXLA_DTYPE_F64);
  OK(lxla_tensor_read(wide, room, elements * sizeof *room));
  OK(lxla_tensor_release(wide));
  return room[elements - 1];
}

// Returns the processor time of all threads.
static double busy(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static void run(int operation, int calls) {
  lxla_tensor out;
  for (int i = 0; i < calls; i++) {
    OK(operate(operation, &out));
    OK(lxla_tensor_release(out));
  }
}

int main(void) {
  char line[256], *calls;
  prepare();
  while (fgets(line, sizeof line, stdin) && (calls = strrchr(line, ' '))) {
    int operation = 0;
    *calls = 0;
    while (operation < OPERATION_COUNT && strcmp(NAMES[operation], line) != 0) operation++;
    lxla_tensor out;
    OK(operate(operation, &out));
    double value = last(out);
    OK(lxla_tensor_release(out));
    int turns = atoi(calls + 1);
    run(operation, turns / 4 + 1);
    double start = now(), start_busy = busy();
    run(operation, turns);
    double end = now(), end_busy = busy();
    printf("%f %f %.17g\n", (end - start) * 1e3 / turns, (end_busy - start_busy) * 1e3 / turns, value);
    fflush(stdout);
  }
  return 0;
}
