// Elementwise operations by value, on the real plugin: against the C library where it has the function, else against
// literals.
#include "check.h"

static lxla_env env;
static lxla_tensor f32s(const int64_t *dims, size_t rank, const float *data) { return from_f32(env, dims, rank, data); }

static lxla_tensor make(int32_t dtype, const int64_t *dims, size_t rank, const void *data, size_t bytes) {
  lxla_tensor t;
  OK(lxla_tensor_from_host(env, XLA(0), dtype, dims, rank, data, bytes, &t));
  return t;
}

// Makes a tensor from a list of C values.
#define VALUES(dtype, type, ...)                                                                         \
  make(dtype, (const int64_t[]){sizeof((type[]){__VA_ARGS__}) / sizeof(type)}, 1, (type[]){__VA_ARGS__}, \
       sizeof((type[]){__VA_ARGS__}))

// Checks the tensor's dtype, shape and exact values; releases it.
static void is(lxla_tensor t, int32_t dtype, const int64_t *dims, size_t rank, const void *want, size_t bytes) {
  int32_t got_dtype;
  size_t got_rank;
  int64_t got_dims[8];
  unsigned char got[512];
  OK(lxla_tensor_dtype(t, &got_dtype));
  OK(lxla_tensor_rank(t, &got_rank));
  OK(lxla_tensor_dims(t, got_dims, 8));
  EQUAL(got_dtype, dtype);
  EQUAL(got_rank, rank);
  for (size_t i = 0; i < rank; i++) EQUAL(got_dims[i], dims[i]);
  OK(lxla_tensor_read(t, got, bytes));
  if (memcmp(got, want, bytes) != 0) {
    for (size_t i = 0; i < bytes; i++) fprintf(stderr, "%02x/%02x ", got[i], ((const unsigned char *)want)[i]);
    FAIL("values differ (got/want)");
  }
  RELEASE(t);
}

#define IS(t, dtype, type, ...)                                                                           \
  is(t, dtype, (const int64_t[]){sizeof((type[]){__VA_ARGS__}) / sizeof(type)}, 1, (type[]){__VA_ARGS__}, \
     sizeof((type[]){__VA_ARGS__}))

#define IS_F32(t, ...) IS(t, LXLA_DTYPE_F32, float, __VA_ARGS__)
#define IS_SHAPED(t, dtype, dims, ...) is(t, dtype, dims, (__VA_ARGS__), sizeof(__VA_ARGS__))

static lxla_tensor unary(int32_t op, lxla_tensor x) {
  lxla_tensor out;
  OK(lxla_unary(op, x, &out));
  RELEASE(x);
  return out;
}

// Applies a binary operation to two tensors, and releases both.
static lxla_tensor both(int32_t op, lxla_tensor a, lxla_tensor b) {
  lxla_tensor out = binary(op, a, b);
  RELEASE(a, b);
  return out;
}

static double logistic(double x) { return 1 / (1 + exp(-x)); }
static double negate(double x) { return -x; }
static double sign(double x) { return (x > 0) - (x < 0); }
static double rsqrt(double x) { return 1 / sqrt(x); }

TEST(unary_floats_agree_with_the_c_library) {
  env = new_env();
  const struct {
    int32_t op;
    double (*want)(double);
    int positive;
  } rows[] = {{LXLA_UNARY_NEGATE, negate, 0},
              {LXLA_UNARY_ABS, fabs, 0},
              {LXLA_UNARY_SIGN, sign, 0},
              {LXLA_UNARY_EXPONENTIAL, exp, 0},
              {LXLA_UNARY_EXPONENTIAL_MINUS_ONE, expm1, 0},
              {LXLA_UNARY_LOG, log, 1},
              {LXLA_UNARY_LOG_PLUS_ONE, log1p, 1},
              {LXLA_UNARY_LOGISTIC, logistic, 0},
              {LXLA_UNARY_TANH, tanh, 0},
              {LXLA_UNARY_SQRT, sqrt, 1},
              {LXLA_UNARY_RSQRT, rsqrt, 1},
              {LXLA_UNARY_CBRT, cbrt, 0},
              {LXLA_UNARY_SINE, sin, 0},
              {LXLA_UNARY_COSINE, cos, 0},
              {LXLA_UNARY_TAN, tan, 0},
              {LXLA_UNARY_FLOOR, floor, 0},
              {LXLA_UNARY_CEIL, ceil, 0},
              {LXLA_UNARY_ROUND_NEAREST_EVEN, rint, 0},
              {LXLA_UNARY_ROUND_NEAREST_AFZ, round, 0}};
  const float data[] = {0.5f, -0.5f, 2.5f, -1.5f, 0.1f, 3.75f, -2.25f, 1.0f};
  for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
    float in[8], got[8];
    for (int i = 0; i < 8; i++) in[i] = rows[r].positive ? fabsf(data[i]) : data[i];
    lxla_tensor y = unary(rows[r].op, f32s(DIMS(8), in));
    read_f32(y, got, 8);
    for (int i = 0; i < 8; i++) {
      double want = rows[r].want(in[i]);
      if (fabs(got[i] - want) > 1e-6 * (1 + fabs(want)))
        FAIL("op %d of %g is %g, want %g", rows[r].op, in[i], got[i], want);
    }
    RELEASE(y);
  }
  OK(lxla_env_release(env));
}

TEST(unary_on_other_dtypes) {
  env = new_env();
  IS(unary(LXLA_UNARY_NEGATE, VALUES(LXLA_DTYPE_S8, int8_t, 1, -128, 0)), LXLA_DTYPE_S8, int8_t, -1, -128, 0);
  IS(unary(LXLA_UNARY_ABS, VALUES(LXLA_DTYPE_S64, int64_t, -5, INT64_MAX)), LXLA_DTYPE_S64, int64_t, 5, INT64_MAX);
  IS(unary(LXLA_UNARY_SIGN, VALUES(LXLA_DTYPE_S32, int32_t, -7, 0, 9)), LXLA_DTYPE_S32, int32_t, -1, 0, 1);
  IS(unary(LXLA_UNARY_NOT, VALUES(LXLA_DTYPE_PRED, uint8_t, 0, 1)), LXLA_DTYPE_PRED, uint8_t, 1, 0);
  IS(unary(LXLA_UNARY_NOT, VALUES(LXLA_DTYPE_U16, uint16_t, 0xF0F0)), LXLA_DTYPE_U16, uint16_t, 0x0F0F);
  IS(unary(LXLA_UNARY_POPCNT, VALUES(LXLA_DTYPE_U32, uint32_t, 0xFF, 0)), LXLA_DTYPE_U32, uint32_t, 8, 0);
  IS(unary(LXLA_UNARY_COUNT_LEADING_ZEROS, VALUES(LXLA_DTYPE_S16, int16_t, 1, 0)), LXLA_DTYPE_S16, int16_t, 15, 16);
  IS(unary(LXLA_UNARY_IS_FINITE, VALUES(LXLA_DTYPE_F32, float, 1, INFINITY, NAN)), LXLA_DTYPE_PRED, uint8_t, 1, 0, 0);
  IS_F32(unary(LXLA_UNARY_ABS, make(LXLA_DTYPE_C64, DIMS(1), (float[]){3, 4}, 8)), 5);
  OK(lxla_env_release(env));
}

TEST(binary_on_numbers) {
  env = new_env();
#define F(...) VALUES(LXLA_DTYPE_F32, float, __VA_ARGS__)
#define S(...) VALUES(LXLA_DTYPE_S32, int32_t, __VA_ARGS__)
  IS_F32(both(ADD, F(1, 2), F(10, 20)), 11, 22);
  IS_F32(both(SUB, F(1, 2), F(10, 20)), -9, -18);
  IS_F32(both(MUL, F(3, -2), F(0.5, 4)), 1.5, -8);
  IS_F32(both(LXLA_BINARY_DIVIDE, F(1, -1), F(4, 0)), 0.25, -INFINITY);
  IS_F32(both(LXLA_BINARY_REMAINDER, F(5.5, -5.5), F(2, 2)), 1.5, -1.5);
  IS_F32(both(LXLA_BINARY_POWER, F(2, 9), F(10, 0.5)), 1024, 3);
  IS_F32(both(LXLA_BINARY_MAXIMUM, F(1, -2), F(0, 3)), 1, 3);
  IS_F32(both(LXLA_BINARY_MINIMUM, F(1, -2), F(0, 3)), 0, -2);
  IS_F32(both(LXLA_BINARY_ATAN2, F(0), F(1)), 0);
  IS(both(LXLA_BINARY_DIVIDE, S(7, -7, 5), S(2, 2, 0)), LXLA_DTYPE_S32, int32_t, 3, -3, -1);
  IS(both(LXLA_BINARY_REMAINDER, S(7, -7), S(4, 4)), LXLA_DTYPE_S32, int32_t, 3, -3);
  IS(both(LXLA_BINARY_AND, S(12), S(10)), LXLA_DTYPE_S32, int32_t, 8);
  IS(both(LXLA_BINARY_OR, S(12), S(10)), LXLA_DTYPE_S32, int32_t, 14);
  IS(both(LXLA_BINARY_XOR, S(12), S(10)), LXLA_DTYPE_S32, int32_t, 6);
  IS(both(LXLA_BINARY_SHIFT_LEFT, S(1, 3), S(4, 1)), LXLA_DTYPE_S32, int32_t, 16, 6);
  IS(both(LXLA_BINARY_SHIFT_RIGHT_ARITHMETIC, S(-16), S(2)), LXLA_DTYPE_S32, int32_t, -4);
  IS(both(LXLA_BINARY_SHIFT_RIGHT_LOGICAL, S(-16), S(28)), LXLA_DTYPE_S32, int32_t, 15);
  lxla_tensor nan = both(LXLA_BINARY_MAXIMUM, F(NAN, 1), F(0, NAN));
  float got[2];
  read_f32(nan, got, 2);
  CHECK(isnan(got[0]) && isnan(got[1]));
  RELEASE(nan);
  OK(lxla_env_release(env));
}

TEST(operands_broadcast_and_promote) {
  env = new_env();
  float six[] = {1, 2, 3, 4, 5, 6};
  IS_SHAPED(both(ADD, f32s(DIMS(2, 3), six), f32s(DIMS(2, 1), (float[]){10, 20})), LXLA_DTYPE_F32, DIMS(2, 3),
            (float[]){11, 12, 13, 24, 25, 26});
  IS_SHAPED(both(MUL, f32s(DIMS(3), six), f32s(DIMS(2, 1, 1), (float[]){1, -1})), LXLA_DTYPE_F32, DIMS(2, 1, 3),
            (float[]){1, 2, 3, -1, -2, -3});
  IS_SHAPED(both(ADD, f32s(NULL, 0, six), f32s(DIMS(2), six)), LXLA_DTYPE_F32, DIMS(2), (float[]){2, 3});
  IS(both(ADD, VALUES(LXLA_DTYPE_U8, uint8_t, 200), VALUES(LXLA_DTYPE_S8, int8_t, -100)), LXLA_DTYPE_S16, int16_t, 100);
  IS(both(ADD, VALUES(LXLA_DTYPE_S32, int32_t, -1), VALUES(LXLA_DTYPE_U32, uint32_t, UINT32_MAX)), LXLA_DTYPE_S64,
     int64_t, 4294967294);
  IS(both(ADD, VALUES(LXLA_DTYPE_F32, float, 1.5), VALUES(LXLA_DTYPE_F64, double, 0.25)), LXLA_DTYPE_F64, double, 1.75);
  IS_F32(both(ADD, VALUES(LXLA_DTYPE_F16, uint16_t, 0x3C00), VALUES(LXLA_DTYPE_BF16, uint16_t, 0x4000)), 3);
  IS_SHAPED(both(MUL, make(LXLA_DTYPE_C64, DIMS(1), (float[]){1, 2}, 8), VALUES(LXLA_DTYPE_F32, float, 3)),
            LXLA_DTYPE_C64, DIMS(1), (float[]){3, 6});
  OK(lxla_env_release(env));
}

TEST(scalars_of_every_kind) {
  env = new_env();
  lxla_tensor x = VALUES(LXLA_DTYPE_F32, float, 0.25, 4), out;
  lxla_scalar one_scalar = {LXLA_DTYPE_F64, 0, {.f = 1}};
  OK(lxla_binary_with_scalar(SUB, x, &one_scalar, 1, &out));
  IS_F32(out, 0.75, -3);
  OK(lxla_binary_with_scalar(SUB, x, &one_scalar, 0, &out));
  IS_F32(out, -0.75, 3);
  RELEASE(x);
  x = VALUES(LXLA_DTYPE_S64, int64_t, 1);
  lxla_scalar big = {LXLA_DTYPE_S64, 0, {.i = INT64_MAX - 1}};
  OK(lxla_binary_with_scalar(ADD, x, &big, 0, &out));
  IS(out, LXLA_DTYPE_S64, int64_t, INT64_MAX);
  RELEASE(x);
  x = VALUES(LXLA_DTYPE_U64, uint64_t, 0);
  big = (lxla_scalar){LXLA_DTYPE_U64, 0, {.u = UINT64_MAX}};
  OK(lxla_binary_with_scalar(LXLA_BINARY_OR, x, &big, 0, &out));
  IS(out, LXLA_DTYPE_U64, uint64_t, UINT64_MAX);
  RELEASE(x);
  x = make(LXLA_DTYPE_C128, DIMS(1), (double[]){0, 1}, 16);
  big = (lxla_scalar){LXLA_DTYPE_C128, 0, {.c = {0, 1}}};
  OK(lxla_binary_with_scalar(MUL, x, &big, 0, &out));
  IS_SHAPED(out, LXLA_DTYPE_C128, DIMS(1), (double[]){-1, 0});
  RELEASE(x);
  // A folded constant must not change the sign of zero.
  x = VALUES(LXLA_DTYPE_F32, float, -0.0f, 0.0f);
  OK(lxla_binary_scalar(ADD, x, -0.0, &out));
  IS_F32(out, -0.0f, 0.0f);
  OK(lxla_binary_scalar(MUL, x, -1, &out));
  IS_F32(out, 0.0f, -0.0f);
  RELEASE(x);
  OK(lxla_env_release(env));
}

TEST(compare_select_convert) {
  env = new_env();
  const float data[] = {1, 2, NAN};
  const uint8_t want[7][3] = {{0}, {0, 1, 0}, {1, 0, 1}, {0, 1, 0}, {0, 0, 0}, {1, 1, 0}, {1, 0, 0}};
  for (int op = LXLA_COMPARE_EQ; op <= LXLA_COMPARE_LT; op++) {
    lxla_tensor a = f32s(DIMS(3), data), b = F(2), out;
    OK(lxla_compare(op, a, b, &out));
    IS(out, LXLA_DTYPE_PRED, uint8_t, want[op][0], want[op][1], want[op][2]);
    RELEASE(a, b);
  }
  lxla_tensor u = VALUES(LXLA_DTYPE_U32, uint32_t, UINT32_MAX), z = VALUES(LXLA_DTYPE_U32, uint32_t, 0), out;
  OK(lxla_compare(LXLA_COMPARE_GT, u, z, &out));
  IS(out, LXLA_DTYPE_PRED, uint8_t, 1);
  lxla_tensor pred = VALUES(LXLA_DTYPE_PRED, uint8_t, 1, 0), a = F(1, 2), b = VALUES(LXLA_DTYPE_F64, double, 9);
  OK(lxla_select(pred, a, b, &out));
  IS(out, LXLA_DTYPE_F64, double, 1, 9);
  REFUSED(lxla_select(a, a, a, &out), LXLA_INVALID_ARGUMENT, "select takes pred, not f32[2]");
  RELEASE(u, z, pred, a, b);
  lxla_tensor x = F(-1.75, 0, 300);
  OK(lxla_convert(x, LXLA_DTYPE_S32, &out));
  IS(out, LXLA_DTYPE_S32, int32_t, -1, 0, 300);
  OK(lxla_convert(x, LXLA_DTYPE_PRED, &out));
  IS(out, LXLA_DTYPE_PRED, uint8_t, 1, 0, 1);
  OK(lxla_convert(x, LXLA_DTYPE_F16, &out));
  IS(out, LXLA_DTYPE_F16, uint16_t, 0xBF00, 0, 0x5CB0);
  OK(lxla_convert(x, LXLA_DTYPE_C64, &out));
  IS_SHAPED(out, LXLA_DTYPE_C64, DIMS(3), (float[]){-1.75, 0, 0, 0, 300, 0});
  OK(lxla_convert(x, LXLA_DTYPE_F32, &out));
  IS_F32(out, -1.75, 0, 300);
  RELEASE(x);
  OK(lxla_env_release(env));
}

TEST(complex_numbers_convert_by_their_real_part) {
  env = new_env();
  lxla_tensor x = make(LXLA_DTYPE_C64, DIMS(3), (float[]){1.5, 9, 0, 1, 0, 0}, 24), out;
  OK(lxla_convert(x, LXLA_DTYPE_F32, &out));
  IS_F32(out, 1.5, 0, 0);
  OK(lxla_convert(x, LXLA_DTYPE_S32, &out));
  IS(out, LXLA_DTYPE_S32, int32_t, 1, 0, 0);
  OK(lxla_convert(x, LXLA_DTYPE_PRED, &out));
  IS(out, LXLA_DTYPE_PRED, uint8_t, 1, 1, 0);
  OK(lxla_convert(x, LXLA_DTYPE_C128, &out));
  IS_SHAPED(out, LXLA_DTYPE_C128, DIMS(3), (double[]){1.5, 9, 0, 1, 0, 0});
  RELEASE(x);
  OK(lxla_env_release(env));
}

// bf16 intermediates are rounded as written: in f32, the 1 would survive.
TEST(bf16_is_rounded_at_every_operation) {
  env = new_env();
  lxla_tensor x = VALUES(LXLA_DTYPE_BF16, uint16_t, 0x3F80);    // 1
  lxla_tensor big = VALUES(LXLA_DTYPE_BF16, uint16_t, 0x4380);  // 256
  lxla_tensor y = both(ADD, x, snapshot(big)), z = both(SUB, y, big);
  IS(z, LXLA_DTYPE_BF16, uint16_t, 0);
  OK(lxla_env_release(env));
}

TEST(in_place_operations_keep_dtype_and_shape) {
  env = new_env();
  lxla_tensor a = F(1, 2), b = F(10), wide = VALUES(LXLA_DTYPE_F64, double, 1);
  OK(lxla_binary_inplace(MUL, a, b));
  REFUSED(lxla_binary_inplace(ADD, b, a), LXLA_INVALID_ARGUMENT,
          "dst: it is f32[1]; with rhs f32[2] the result would be f32[2]");
  REFUSED(lxla_binary_inplace(ADD, b, wide), LXLA_INVALID_ARGUMENT, "the result would be f64[1]");
  OK(lxla_tensor_write(b, (float[]){3}, 4));
  OK(lxla_tensor_assign(b, b));
  IS_F32(a, 10, 20);
  IS_F32(b, 3);
  RELEASE(wide);
  OK(lxla_env_release(env));
}

// Integer division and powers: XLA's own division of constants would end the process, and its integer power ignores
// most bits of the exponent.
TEST(integers_divide_and_rise_without_traps_and_wrong_bits) {
  lxla_env env = new_env();
  const lxla_device devices[] = {{LXLA_DEVICE_XLA, 0}, {LXLA_DEVICE_CPU, 0}};
  const int32_t x[] = {7, 7, INT32_MIN, 0, 0, -1, 2, 3, 1, -1, 0}, y[] = {0, -1, -1, 0, 64, 65, 64, 40, -5, -3, -1};
  const int32_t quotient[] = {-1, -7, INT32_MIN, -1, 0, 0, 0, 0, 0, 0, 0}, rest[] = {7, 0, 0, 0, 0, -1, 2, 3, 1, -1, 0};
  const int32_t power[] = {1, 0, 0, 1, 0, -1, 0, 689956897, 1, -1, 0};
  enum { N = sizeof x / sizeof *x };
  for (int d = 0; d < 2; d++)
    for (int constant = 0; constant < 2; constant++)
      for (int i = 0; i < N; i++) {
        lxla_tensor a, b, r[3];
        if (constant) {
          OK(lxla_tensor_full(env, devices[d], LXLA_DTYPE_S32, NULL, 0, x[i], &a));
          OK(lxla_tensor_full(env, devices[d], LXLA_DTYPE_S32, NULL, 0, y[i], &b));
        } else {
          OK(lxla_tensor_from_host(env, devices[d], LXLA_DTYPE_S32, NULL, 0, &x[i], 4, &a));
          OK(lxla_tensor_from_host(env, devices[d], LXLA_DTYPE_S32, NULL, 0, &y[i], 4, &b));
        }
        OK(lxla_binary(LXLA_BINARY_DIVIDE, a, b, &r[0]));
        OK(lxla_binary(LXLA_BINARY_REMAINDER, a, b, &r[1]));
        OK(lxla_binary(LXLA_BINARY_POWER, a, b, &r[2]));
        int32_t got[3];
        for (int k = 0; k < 3; k++) OK(lxla_tensor_read(r[k], &got[k], 4));
        EQUAL(got[0], quotient[i]);
        EQUAL(got[1], rest[i]);
        EQUAL(got[2], power[i]);
        RELEASE(a, b, r[0], r[1], r[2]);
      }
  OK(lxla_env_release(env));
}
