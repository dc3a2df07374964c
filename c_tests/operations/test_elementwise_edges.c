// Elementwise operations at the edges of the range of numbers, on an XLA device and natively, on the default plugin.
#include "near.h"

static const int32_t FLOATS[] = {F16, BF16, F32, F64};

// Tolerance for each float dtype: a few units in the last place.
static const double FEW[] = {3e-3, 2e-2, 1e-6, 1e-15};

static lxla_tensor unary(int32_t op, lxla_tensor x) {
  lxla_tensor out;
  OK(lxla_unary(op, x, &out));
  return out;
}

// Results that are recorded first and compared later, so that one program computes them.
static struct {
  const char *what;
  lxla_tensor t;
  double *want;
  size_t n;
  double few;
} expected[64];

static size_t n_expected;

// Adds a comparison to the list; takes over `want` and `t`.
static void expect(const char *what, lxla_tensor t, double *want, size_t n, double few) {
  CHECK(n_expected < 64);
  OK(lxla_convert(t, F64, &expected[n_expected].t));
  RELEASE(t);
  expected[n_expected].what = what, expected[n_expected].want = want;
  expected[n_expected].n = n, expected[n_expected++].few = few;
}

static void compare_all(void) {
  double got[1000];
  OK(lxla_mark_step(env, XLA(0), 1));
  for (size_t k = 0; k < n_expected; k++) {
    const double *want = expected[k].want;
    OK(lxla_tensor_read(expected[k].t, got, expected[k].n * sizeof *got));
    for (size_t i = 0; i < expected[k].n; i++)
      if (!(fabs(got[i] - want[i]) <= expected[k].few * fabs(want[i])))
        FAIL("%s of %zu elements on device %d: element %zu is %.17g, want %.17g", expected[k].what, expected[k].n,
             device.kind, i, got[i], want[i]);
    free(expected[k].want);
    RELEASE(expected[k].t);
  }
  n_expected = 0;
}

// Returns the angles atan2 of numbers and a constant, or of a constant and numbers; of the numbers and themselves if it
// is NAN.
static double *angles(const double *given, double constant, int left, size_t n) {
  double *want = malloc(n * sizeof *want);
  for (size_t i = 0; i < n; i++) {
    double other = isnan(constant) ? given[i] : constant;
    want[i] = left ? atan2(other, given[i]) : atan2(given[i], other);
  }
  return want;
}

static void angles_of(int32_t dtype, double few, size_t n) {
  const double constants[] = {1, -1, 0, 2};
  const int64_t dims[] = {(int64_t)n};
  double given[1000];
  // Numbers that every float dtype has.
  for (size_t i = 0; i < n; i++) given[i] = ((double)(i * 37 % 127) - 63.5) / 16;
  lxla_tensor wide, x, t, half, one;
  OK(lxla_tensor_from_host(env, device, F64, dims, 1, given, n * sizeof *given, &wide));
  OK(lxla_convert(wide, dtype, &x));
  for (size_t c = 0; c < 4; c++)
    for (int left = 0; left < 2; left++) {
      lxla_scalar number = {.dtype = F64, .value = {.f = constants[c]}};
      OK(lxla_binary_with_scalar(LXLA_BINARY_ATAN2, x, &number, left, &t));
      expect("atan2 with a constant", t, angles(given, constants[c], left, n), n, few);
    }
  // A 1 computed from other constants.
  OK(lxla_tensor_full(env, device, dtype, dims, 1, 0.5, &half));
  one = binary(ADD, half, half);
  expect("atan2 with a sum", binary(LXLA_BINARY_ATAN2, x, one), angles(given, 1, 0, n), n, few);
  expect("atan2 with itself", binary(LXLA_BINARY_ATAN2, x, x), angles(given, NAN, 0, n), n, few);
  if (dtype == F32 || dtype == F64) {
    lxla_tensor z, log;
    OK(lxla_complex(one, x, &z));
    log = unary(LXLA_UNARY_LOG, z);
    OK(lxla_imag(log, &t));
    expect("the angle of 1 + ix", t, angles(given, 1, 0, n), n, few);
    RELEASE(z, log);
  }
  RELEASE(wide, x, half, one);
}

// lammps-jax-pjrt-cpu 0.11.2 returns unrelated memory for atan2(x, 1) of more than about 60 elements.
static void angles_with_constants(void) {
  const size_t sizes[] = {1, 63, 64, 1000};
  for (size_t f = 0; f < 4; f++) {
    for (size_t s = 0; s < 4; s++) angles_of(FLOATS[f], FEW[f], sizes[s]);
    compare_all();
  }
}
TEST(an_angle_with_a_constant_is_right) { on_both(angles_with_constants); }

// 1 / (1 + e^-x), where e^-x is infinite and the result is denormal; XLA returns 0.
static void smallest_shares(void) {
  lxla_tensor x = ARRAY(F64, double, DIMS(3), -709.78271289338409, -745, -800), t = unary(LXLA_UNARY_LOGISTIC, x);
  double got[3];
  OK(lxla_tensor_read(t, got, sizeof got));
  double want = exp(-709.78271289338409);
  CHECK(fabs(got[0] - want) <= 1e-15 * want || (!is_native() && got[0] == 0));
  CHECK(got[1] == exp(-745) || (!is_native() && got[1] == 0));
  EQUAL(got[2], 0);
  RELEASE(x, t);
}
TEST(the_logistic_function_is_0_where_it_must) { on_both(smallest_shares); }

// A function of two numbers, and its value.
typedef struct {
  double a, b, want;
} value_of_two;

static void has_values(int32_t op, const value_of_two *values, size_t n) {
  const int32_t dtypes[] = {F32, F64};
  double a[32], b[32], got[32];
  CHECK(n <= 32);
  for (size_t i = 0; i < n; i++) a[i] = values[i].a, b[i] = values[i].b;
  for (int wide = 0; wide < 2; wide++) {
    const int64_t dims[] = {(int64_t)n};
    lxla_tensor x = as(dtypes[wide], array(F64, dims, 1, a, n * sizeof *a)),
                y = as(dtypes[wide], array(F64, dims, 1, b, n * sizeof *b));
    lxla_tensor t = as(F64, binary(op, x, y));
    OK(lxla_tensor_read(t, got, n * sizeof *got));
    for (size_t i = 0; i < n; i++) {
      const double want = values[i].want;
      const int same = isnan(want)   ? isnan(got[i])
                       : isinf(want) ? got[i] == want
                                     : fabs(got[i] - want) <= (wide ? 2e-15 : 1e-6) * fabs(want);
      if (!same) FAIL("of %.17g and %.17g it is %.17g, want %.17g", a[i], b[i], got[i], want);
    }
    RELEASE(x, y, t);
  }
}

// Orders with an exact factorial only, and poles of one or of two signs.
static void polygamma_and_zeta(void) {
  const value_of_two polygamma[] = {
      {0, 1, -0.57721566490153286},
      {1, 0.5, 4.934802200544679},
      {2, 0.5, -16.82879664423432},
      {2, -0.5, -0.82879664423432},
      {3, -1.25, 1558.2209125348506},
      {6, 3.5, -0.1383581075500352},
      {34, 1, -2.9523279904819652e38},
      {34, 2, -8.592411229698816e27},
      {1, 0, INFINITY},
      {2, 0, -INFINITY},
      {2, -0.0, INFINITY},
      {1, -3, INFINITY},
      {2, -3, NAN},
      {2, INFINITY, 0},
      {1, -INFINITY, NAN},
      {1.5, 1, NAN},
      {-1, 1, NAN},
      {171, 1, NAN},
      {NAN, 1, NAN},
      {1, NAN, NAN},
      {0, 0, -INFINITY},
  };
  const value_of_two zeta[] = {
      {2, 1, 1.6449340668482264},
      {3, 0.5, 8.41439832211716},
      {1.5, 2, 1.6123753486854883},
      {3, -0.5, 0.41439832211716},
      {2, -1.5, 9.379246644989124},
      {5, 100, 2.5504166375049986e-9},
      {1, 2, INFINITY},
      {1, -0.5, INFINITY},
      {0.5, 2, NAN},
      {2, 0, INFINITY},
      {3, -0.0, -INFINITY},
      {2, -4, INFINITY},
      {3, -4, NAN},
      {2.5, -0.5, NAN},
      {2, INFINITY, 0},
      {2, -INFINITY, NAN},
      {1, NAN, NAN},
      {NAN, 1, NAN},
  };
  has_values(LXLA_BINARY_POLYGAMMA, polygamma, sizeof polygamma / sizeof *polygamma);
  has_values(LXLA_BINARY_ZETA, zeta, sizeof zeta / sizeof *zeta);
  // An order whose factorial is infinite in f32 and finite in f64.
  lxla_tensor x = F32S(DIMS(1), 1), t;
  OK(lxla_binary_with_scalar(LXLA_BINARY_POLYGAMMA, x, &(lxla_scalar){.dtype = F32, .value = {.f = 35}}, 1, &t));
  VALUES(t, F32, DIMS(1), NAN);
  lxla_tensor n = ARRAY(S32, int32_t, DIMS(1), 2);
  REFUSED(lxla_binary(LXLA_BINARY_ZETA, n, n, &t), BAD, "zeta takes floats, not s32");
  RELEASE(x, n);
}
TEST(polygamma_and_zeta_have_poles_at_integers_up_to_0) { on_both(polygamma_and_zeta); }

// Zeros, infinities, negative numbers and NaN.
static void bessel_functions(void) {
  static const struct {
    int32_t op;
    float zero, infinity, negative;
  } functions[] = {
      {LXLA_UNARY_BESSEL_J0, 1, 0, 0.22389078f},
      {LXLA_UNARY_BESSEL_J1, 0, 0, -0.57672481f},
      {LXLA_UNARY_BESSEL_Y0, -INFINITY, 0, NAN},
      {LXLA_UNARY_BESSEL_Y1, -INFINITY, 0, NAN},
      {LXLA_UNARY_BESSEL_K0, INFINITY, 0, NAN},
      {LXLA_UNARY_BESSEL_K1, INFINITY, 0, NAN},
      {LXLA_UNARY_BESSEL_K0E, INFINITY, 0, NAN},
      {LXLA_UNARY_BESSEL_K1E, INFINITY, 0, NAN},
      {LXLA_UNARY_AIRY_AI, 0.35502805f, 0, 0.22740743f},
      {LXLA_UNARY_AIRY_AI_PRIME, -0.25881940f, 0, 0.61825902f},
      {LXLA_UNARY_AIRY_BI, 0.61492663f, INFINITY, -0.41230259f},
      {LXLA_UNARY_AIRY_BI_PRIME, 0.44828836f, INFINITY, 0.27879517f},
  };
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    lxla_tensor x = F32S(DIMS(4), 0, INFINITY, -2, NAN), t = unary(functions[i].op, x);
    NEAR_F32(t, DIMS(4), functions[i].zero, functions[i].infinity, functions[i].negative, NAN);
    RELEASE(x);
  }
  lxla_tensor x = F32S(DIMS(6), 0, INFINITY, -INFINITY, -3, 9, NAN), t;
  OK(lxla_special(LXLA_SPECIAL_ERFCX, x, &t));
  NEAR_F32(t, DIMS(6), 1, 0, INFINITY, 16205.9889f, 0.0623077240f, NAN);
  RELEASE(x);
}
TEST(bessel_functions_have_the_ends_of_scipys) { on_both(bessel_functions); }

// Values of each of the ranges of the formulas, and the ends.
static void incomplete_gammas(void) {
  const value_of_two lower[] = {
      {0.5, 0.25, 0.52049987781304654},
      {2, 0.5, 0.090204010431049865},
      {3, 7, 0.97036383611947822},
      {100, 90, 0.15822098918643017},
      {4, 0.5, 0.0017516225562908237},
      {0.001, 0.5, 0.99943993334352925},
      {1, 0, 0},
      {0, 2, 1},
      {2, INFINITY, 1},
      {INFINITY, 2, 0},
      {3e38, 2.9e38, 0},
      {2.9e38, 3e38, 1},
      {0, 0, NAN},
      {INFINITY, INFINITY, NAN},
      {-1, 1, NAN},
      {1, -1, NAN},
      {NAN, 1, NAN},
      {1, NAN, NAN},
  };
  const value_of_two upper[] = {
      {0.5, 0.25, 0.47950012218695346},
      {1, 3, 0.049787068367863943},
      {25, 30, 0.1572420272383916},
      {0.001, 0.5, 0.00056006665647074988},
      {1, 0, 1},
      {0, 2, 0},
      {2, INFINITY, 0},
      {INFINITY, 2, 1},
      {0, 0, NAN},
      {1, -1, NAN},
  };
  const value_of_two by_a[] = {
      {2, 0.5, -0.15103423690917051},
      {0, 1, -0.21938393439552029},
      {1, 0, 0},
      {2, INFINITY, 0},
      {INFINITY, 2, 0},
      {30, 1e-37, 0},
      {1e5, 1e-34, 0},
      {1e38, 1, 0},
      {0, 0, NAN},
      {-1, 1, NAN},
  };
  has_values(LXLA_BINARY_IGAMMA, lower, sizeof lower / sizeof *lower);
  has_values(LXLA_BINARY_IGAMMAC, upper, sizeof upper / sizeof *upper);
  has_values(LXLA_BINARY_IGAMMA_GRAD_A, by_a, sizeof by_a / sizeof *by_a);
}
TEST(incomplete_gamma_functions_and_their_ends) { on_both(incomplete_gammas); }

static void clamps(void) {
  lxla_tensor out = none;
  lxla_tensor low = ARRAY(F32, float, SCALAR, -1), high = ARRAY(F32, float, DIMS(3), 1, 0.5f, -2);
  lxla_tensor x = ARRAY(F32, float, DIMS(2, 3), -3, 3, 0, -0.0f, 0.25f, INFINITY);
  OK(lxla_clamp(low, x, high, &out));
  HAS(out, F32, float, DIMS(2, 3), -1, 0.5f, -2, -0.0f, 0.25f, -2);  // the upper bound wins

  // A NaN operand gives NaN; of two zeros, max takes 0 and min -0.
  lxla_tensor a = ARRAY(F64, double, DIMS(5), NAN, 0, 0, 0.0, -0.0),
              b = ARRAY(F64, double, DIMS(5), 1, NAN, 1, -0.0, 0.0);
  lxla_tensor c = ARRAY(F64, double, DIMS(5), 2, 2, NAN, 1, -0.0);
  OK(lxla_clamp(a, b, c, &out));
  double got[5];
  OK(lxla_tensor_read(out, got, sizeof got));
  CHECK(isnan(got[0]) && isnan(got[1]) && isnan(got[2]));
  CHECK(got[3] == 0 && !signbit(got[3]) && got[4] == 0 && signbit(got[4]));
  RELEASE(out, a, b, c);

  // Dtypes promote and shapes broadcast; the limits of integers are kept.
  lxla_tensor s8 = ARRAY(S8, int8_t, DIMS(2, 1), -128, 3), u8 = ARRAY(U8, uint8_t, DIMS(2), 0, 255),
              s16 = ARRAY(S16, int16_t, SCALAR, 200);
  OK(lxla_clamp(s8, u8, s16, &out));
  HAS(out, S16, int16_t, DIMS(2, 2), 0, 200, 3, 200);
  lxla_tensor top = ARRAY(U64, uint64_t, SCALAR, UINT64_MAX), most = ARRAY(U64, uint64_t, SCALAR, UINT64_MAX - 1);
  OK(lxla_clamp(most, top, top, &out));
  HAS(out, U64, uint64_t, SCALAR, UINT64_MAX);
  OK(lxla_clamp(top, most, most, &out));
  HAS(out, U64, uint64_t, SCALAR, UINT64_MAX - 1);
  lxla_tensor least = ARRAY(S64, int64_t, SCALAR, INT64_MIN), largest = ARRAY(S64, int64_t, SCALAR, INT64_MAX);
  OK(lxla_clamp(least, largest, largest, &out));
  HAS(out, S64, int64_t, SCALAR, INT64_MAX);
  lxla_tensor no = ARRAY(PRED, uint8_t, SCALAR, 0), yes = ARRAY(PRED, uint8_t, DIMS(2), 0, 1);
  OK(lxla_clamp(no, yes, no, &out));
  HAS(out, PRED, uint8_t, DIMS(2), 0, 0);
  // XLA combines the two into a clamp, which not every backend has for preds.
  lxla_tensor raised;
  OK(lxla_binary_scalar(LXLA_BINARY_MAXIMUM, yes, 0, &raised));
  OK(lxla_binary_scalar(LXLA_BINARY_MINIMUM, raised, 1, &out));
  RELEASE(raised);
  HAS(out, PRED, uint8_t, DIMS(2), 0, 1);
  lxla_tensor half = ARRAY(F16, uint16_t, DIMS(3), 0x3C00, 0xBC00, 0x7C00),
              brain = ARRAY(BF16, uint16_t, SCALAR, 0xBF00);
  OK(lxla_clamp(brain, half, half, &out));  // f16 with bf16 gives f32
  HAS(out, F32, float, DIMS(3), 1, -1, INFINITY);
  lxla_tensor empty = array(F32, DIMS(0, 3), NULL, 0);
  OK(lxla_clamp(low, empty, high, &out));
  EMPTY(out, F32, DIMS(0, 3));

  lxla_tensor z = ARRAY(C64, double, SCALAR, 0);
  REFUSED(lxla_clamp(low, z, high, &out), LXLA_INVALID_ARGUMENT,
          "min is f32[], x is c64[], max is f32[3]: complex numbers have no order");
  REFUSED(lxla_clamp(s8, x, low, &out), LXLA_INVALID_ARGUMENT, "s8 and f32 do not promote");
  REFUSED(lxla_clamp(a = ARRAY(F32, float, DIMS(2), 1, 2), x, high, &out), LXLA_INVALID_ARGUMENT,
          "max is f32[3]: their shapes do not broadcast");
  REFUSED(lxla_clamp(low, x, high, NULL), LXLA_NULL_ARGUMENT, "out_tensor");
  RELEASE(low, high, x, s8, u8, s16, top, most, least, largest, no, yes, half, brain, empty, z, a);
}

static void error_functions(void) {
  lxla_tensor x = F32S(DIMS(7), -INFINITY, -1, -0.0f, 0.5, 3, INFINITY, NAN), out = none;
  OK(lxla_special(LXLA_SPECIAL_ERF, x, &out));
  NEAR_F32(out, DIMS(7), -1, -0.842700793f, 0, 0.520499878f, 0.999977910f, 1, NAN);
  OK(lxla_special(LXLA_SPECIAL_ERFC, x, &out));
  NEAR_F32(out, DIMS(7), 2, 1.84270079f, 1, 0.479500122f, 2.20904970e-5f, 0, NAN);
  lxla_tensor wide = ARRAY(LXLA_DTYPE_F64, double, DIMS(2), 0.5, 6);
  double got[2];
  OK(lxla_special(LXLA_SPECIAL_ERF, wide, &out));
  OK(lxla_tensor_read(out, got, sizeof got));
  CHECK(fabs(got[0] - erf(0.5)) < 2e-16 && got[1] == 1);
  RELEASE(out);
  OK(lxla_special(LXLA_SPECIAL_ERFC, wide, &out));
  OK(lxla_tensor_read(out, got, sizeof got));
  CHECK(fabs(got[1] / erfc(6) - 1) < 2e-15);
  RELEASE(out);
  lxla_tensor whole = ARRAY(LXLA_DTYPE_S8, int8_t, DIMS(1), 1);
  REFUSED(lxla_special(LXLA_SPECIAL_ERF, whole, &out), BAD, "x: erf takes floats, not s8[1]");
  REFUSED(lxla_special(5, x, &out), BAD, "op: 5 is not an LXLA_SPECIAL_* constant (valid: 1 to 4)");
  RELEASE(x, wide, whole);
}

// Functions that are composed in f32, on 8-bit floats, which ops_test.py leaves out.
static void eight_bits(void) {
  lxla_tensor x = F32S(DIMS(6), -2.5, -0.0, 0.5, 3, NAN, -1.5), y = F32S(DIMS(6), 2, -1, -2, -0.25, 1, 0), a, b, out;
  OK(lxla_convert(x, LXLA_DTYPE_F8E5M2, &a));
  OK(lxla_convert(y, LXLA_DTYPE_F8E5M2, &b));
  RELEASE(x, y);
#define AS_F32(call, ...)               \
  do {                                  \
    lxla_tensor small;                  \
    OK(call);                           \
    OK(lxla_convert(small, F32, &out)); \
    RELEASE(small);                     \
    HAS_F32(out, DIMS(6), __VA_ARGS__); \
  } while (0)
  AS_F32(lxla_unary(LXLA_UNARY_TRUNC, a, &small), -2, -0.0, 0, 3, NAN, -1);
  AS_F32(lxla_binary(LXLA_BINARY_FLOOR_DIVIDE, a, b, &small), -2, 0.0, -1, -12, NAN, -INFINITY);
  AS_F32(lxla_binary(LXLA_BINARY_MODULO, a, b, &small), 1.5, -0.0, -1.5, -0.0, NAN, NAN);
  AS_F32(lxla_binary(LXLA_BINARY_COPYSIGN, a, b, &small), 2.5, -0.0, -0.5, -3, NAN, 1.5);
  OK(lxla_unary(LXLA_UNARY_IS_NAN, a, &out));
  HAS(out, PRED, uint8_t, DIMS(6), 0, 0, 0, 0, 1, 0);
  OK(lxla_unary(LXLA_UNARY_SIGNBIT, b, &out));
  HAS(out, PRED, uint8_t, DIMS(6), 0, 1, 1, 1, 0, 0);
  RELEASE(a, b);
}

TEST(clamp) { on_both(clamps); }
TEST(error_functions_of_floats) { on_both(error_functions); }
TEST(floats_of_8_bits_are_rounded_once) { on_both(eight_bits); }
