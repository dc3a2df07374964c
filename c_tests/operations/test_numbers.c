// Numbers at the edges of their range, on an XLA device and natively, on the default plugin.
#include "near.h"

#include <complex.h>

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

// Checks both parts of `f(z)`, within a few units of the larger one.
static void gives(int line, int32_t op, double re, double im, double want_re, double want_im) {
  for (int wide = 0; wide < 2; wide++) {
    float narrow[2] = {(float)re, (float)im};
    double both[2] = {re, im}, got[2];
    lxla_tensor z = wide ? array(C128, DIMS(1), both, sizeof both) : array(C64, DIMS(1), narrow, sizeof narrow);
    lxla_tensor t = as(C128, unary(op, z));
    OK(lxla_tensor_read(t, got, sizeof got));
    RELEASE(z, t);
    double size = fmax(isfinite(want_re) ? fabs(want_re) : 0, isfinite(want_im) ? fabs(want_im) : 0);
    const double want[2] = {want_re, want_im};
    for (int i = 0; i < 2; i++) {
      int same = isnan(want[i]) ? isnan(got[i])
                 : isinf(want[i]) ? got[i] == want[i]
                 : want[i] == 0 && got[i] == 0 ? !signbit(want[i]) == !signbit(got[i])
                                               : fabs(got[i] - want[i]) <= (wide ? 4e-15 : 2e-6) * size;
      if (!same)
        FAIL("line %d, device %d, %s: %.17g%+.17gi gives %.17g%+.17gi, want %.17g%+.17gi", line, device.kind,
             wide ? "c128" : "c64", re, im, got[0], got[1], want_re, want_im);
    }
  }
}

#define GIVES(op, ...) gives(__LINE__, LXLA_UNARY_##op, __VA_ARGS__)
#define INF INFINITY

// Edges of complex functions as C (annex G) and the array API standard define them.
static void edges_of_complex_functions(void) {
  GIVES(EXPONENTIAL, -INF, 1, 0, 0);
  GIVES(EXPONENTIAL, -INF, INF, 0, 0);
  GIVES(EXPONENTIAL, -INF, NAN, 0, 0);
  GIVES(EXPONENTIAL, INF, NAN, INF, NAN);
  GIVES(EXPONENTIAL, INF, 0, INF, 0);
  GIVES(EXPONENTIAL, INF, -0.0, INF, -0.0);
  GIVES(EXPONENTIAL, NAN, 0, NAN, 0);
  GIVES(EXPONENTIAL, 1, INF, NAN, NAN);
  GIVES(EXPONENTIAL_MINUS_ONE, -INF, INF, -1, 0);
  GIVES(EXPONENTIAL_MINUS_ONE, INF, NAN, INF, NAN);
  GIVES(EXPONENTIAL_MINUS_ONE, INF, 0, INF, 0);
  GIVES(EXPONENTIAL_MINUS_ONE, -0.0, 0, -0.0, 0);
  GIVES(EXPONENTIAL_MINUS_ONE, NAN, 0, NAN, 0);
  GIVES(TANH, 0, INF, 0, NAN);
  GIVES(TANH, -0.0, NAN, -0.0, NAN);
  GIVES(TANH, 1, INF, NAN, NAN);
  GIVES(TANH, 1000, INF, NAN, NAN);
  GIVES(TANH, INF, 1, 1, 0);
  GIVES(TANH, -INF, NAN, -1, 0);
  GIVES(TANH, NAN, -0.0, NAN, -0.0);
  GIVES(TAN, 0, INF, 0, 1);
  GIVES(SINE, 0, INF, 0, INF);
  GIVES(SINE, -0.0, -0.0, -0.0, -0.0);
  GIVES(SINE, 0, -0.0, 0, -0.0);
  GIVES(COSINE, 0, -0.0, 1, 0);
  GIVES(COSINE, -0.0, -0.0, 1, -0.0);
  GIVES(SIGN, -0.0, -0.0, 0, 0);
  GIVES(SIGN, 0, -0.0, 0, 0);
  GIVES(SIGN, 3e38, -4e38 / 4 * 3, 0.70710678118654752, -0.70710678118654752);
  GIVES(LOG, NAN, INF, INF, NAN);
  GIVES(LOGISTIC, 0, 0, 0.5, 0);
  GIVES(LOGISTIC, -INF, NAN, 0, 0);
  GIVES(SQRT, -1, -0.0, 0, -1);
}

TEST(complex_functions_have_the_standards_values_at_the_edges) { on_both(edges_of_complex_functions); }

// Functions near their poles, and where an exponential overflows before the result does.
static void poles_and_overflow(void) {
  double x = 1.57079632, y = (float)x;
  lxla_tensor z = ARRAY(C128, double, DIMS(5), x, 0, 1.5707963267, 0, 0, x, 710, 1.5707963, 0, 800);
  NEAR(unary(LXLA_UNARY_TAN, z), C128, DIMS(5), 1e-15, creal(ctan(x)), 0, creal(ctan(1.5707963267)), 0, 0, tanh(x),
       creal(ctan(710 + I * 1.5707963)), cimag(ctan(710 + I * 1.5707963)), 0, 1);
  RELEASE(z);
  z = ARRAY(C128, double, DIMS(3), 0, x, 710, 1.5707963, 1e-9, 1.5707963267948966);
  NEAR(unary(LXLA_UNARY_TANH, z), C128, DIMS(3), 1e-15, 0, tan(x), 1, 0, creal(ctanh(1e-9 + I * 1.5707963267948966)),
       cimag(ctanh(1e-9 + I * 1.5707963267948966)));
  RELEASE(z);
  z = ARRAY(C128, double, DIMS(1), 710, 1.5707963);
  double power = exp(700);
  NEAR(unary(LXLA_UNARY_EXPONENTIAL, z), C128, DIMS(1), 1e-14, power * cos(1.5707963) * exp(10), INFINITY);
  RELEASE(z);
  z = ARRAY(C128, double, DIMS(2), 0, 800, 0, -800);
  VALUES(unary(LXLA_UNARY_SINE, z), C128, DIMS(2), 0, INFINITY, 0, -INFINITY);
  VALUES(unary(LXLA_UNARY_COSINE, z), C128, DIMS(2), INFINITY, 0, INFINITY, 0);
  RELEASE(z);
  z = C64S(DIMS(2), 0.5f, 88.9f, (float)y, 0);
  double narrow = 88.9f;
  NEAR(unary(LXLA_UNARY_SINE, z), C64, DIMS(2), 1e-6, sin(0.5) * cosh(narrow), cos(0.5) * sinh(narrow), sin(y), 0);
  RELEASE(z);
  // An imaginary part of two turns, and a real part near 0.
  z = C64S(DIMS(1), 1e-7f, (float)12.566370614359172);
  NEAR(unary(LXLA_UNARY_EXPONENTIAL_MINUS_ONE, z), C64, DIMS(1), 1e-6, 1e-7f, sin((float)12.566370614359172));
  RELEASE(z);
  // Near the pole i pi.
  z = ARRAY(C128, double, DIMS(1), 0, 3.141592653589793);
  NEAR(unary(LXLA_UNARY_LOGISTIC, z), C128, DIMS(1), 1e-15, 0.5, 0.5 * tan(3.141592653589793 / 2));
  RELEASE(z);
  // (1e30 i)^(1.28 + 0.1i) in c64.
  lxla_tensor a = C64S(DIMS(2), 0, 1e30f, 1e19f, 1e19f), b = C64S(DIMS(2), 1.28f, 0.1f, 2, 0);
  double complex want = cpow(I * (double)1e30f, 1.28f + I * (double)0.1f);
  NEAR(binary(LXLA_BINARY_POWER, a, b), C64, DIMS(2), 1e-6, creal(want), cimag(want), 0, 2.0 * 1e19f * 1e19f);
  RELEASE(a, b);
}

TEST(nothing_is_lost_near_poles_and_overflow) { on_both(poles_and_overflow); }

// NumPy's rule: true where either part is not 0. StableHLO's convert looks at the real part.
static void preds_of_complex_numbers(void) {
  lxla_tensor z = C64S(DIMS(6), 0, 0, 0, 1, 1, 0, -0.0f, -0.0f, 0, NAN, NAN, 0), p;
  OK(lxla_convert(z, PRED, &p));
  HAS(p, PRED, uint8_t, DIMS(6), 0, 1, 1, 0, 1, 1);
  RELEASE(z);
}

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
    lxla_tensor x = as(dtypes[wide], array(F64, dims, 1, a, n * sizeof *a)), y = as(dtypes[wide], array(F64, dims, 1, b, n * sizeof *b));
    lxla_tensor t = as(F64, binary(op, x, y));
    OK(lxla_tensor_read(t, got, n * sizeof *got));
    for (size_t i = 0; i < n; i++) {
      const double want = values[i].want;
      const int same = isnan(want) ? isnan(got[i]) : isinf(want) ? got[i] == want : fabs(got[i] - want) <= (wide ? 2e-15 : 1e-6) * fabs(want);
      if (!same) FAIL("of %.17g and %.17g it is %.17g, want %.17g", a[i], b[i], got[i], want);
    }
    RELEASE(x, y, t);
  }
}

// Orders with an exact factorial only, and poles of one or of two signs.
static void polygamma_and_zeta(void) {
  const value_of_two polygamma[] = {
      {0, 1, -0.57721566490153286}, {1, 0.5, 4.934802200544679}, {2, 0.5, -16.82879664423432}, {2, -0.5, -0.82879664423432},
      {3, -1.25, 1558.2209125348506}, {6, 3.5, -0.1383581075500352}, {34, 1, -2.9523279904819652e38}, {34, 2, -8.592411229698816e27},
      {1, 0, INFINITY}, {2, 0, -INFINITY}, {2, -0.0, INFINITY}, {1, -3, INFINITY}, {2, -3, NAN}, {2, INFINITY, 0},
      {1, -INFINITY, NAN}, {1.5, 1, NAN}, {-1, 1, NAN}, {171, 1, NAN}, {NAN, 1, NAN}, {1, NAN, NAN}, {0, 0, -INFINITY},
  };
  const value_of_two zeta[] = {
      {2, 1, 1.6449340668482264}, {3, 0.5, 8.41439832211716}, {1.5, 2, 1.6123753486854883}, {3, -0.5, 0.41439832211716},
      {2, -1.5, 9.379246644989124}, {5, 100, 2.5504166375049986e-9}, {1, 2, INFINITY}, {1, -0.5, INFINITY}, {0.5, 2, NAN},
      {2, 0, INFINITY}, {3, -0.0, -INFINITY}, {2, -4, INFINITY}, {3, -4, NAN}, {2.5, -0.5, NAN}, {2, INFINITY, 0},
      {2, -INFINITY, NAN}, {1, NAN, NAN}, {NAN, 1, NAN},
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

TEST(a_complex_number_is_true_by_either_part) { on_both(preds_of_complex_numbers); }

static void first_by_total_order(void) {
  const uint32_t bits[] = {0x80000000, 0, 0x7FC00000, 0xFFC00000, 0x7F800000, 0xFF800000, 1, 0x3F800000};
  lxla_tensor x = array(F32, DIMS(8), bits, sizeof bits), v, i, values;
  OK(lxla_topk_total_order(x, 8, 0, 1, S32, &v, &i));
  HAS(i, S32, int32_t, DIMS(8), 2, 4, 7, 6, 1, 0, 5, 3);
  OK(lxla_bitcast_convert(v, U32, &values));
  HAS(values, U32, uint32_t, DIMS(8), 0x7FC00000, 0x7F800000, 0x3F800000, 1, 0, 0x80000000, 0xFF800000, 0xFFC00000);
  RELEASE(v);
  OK(lxla_topk_total_order(x, 3, -1, 0, U8, &v, &i));
  HAS(i, U8, uint8_t, DIMS(3), 3, 5, 0);
  RELEASE(v, x);
  // f16 values: -0, 0, NaN, NaN with a sign bit, 1.
  lxla_tensor h = ARRAY(F16, uint16_t, DIMS(5), 0x8000, 0, 0x7E00, 0xFE00, 0x3C00);
  OK(lxla_topk_total_order(h, 5, 0, 1, S64, &v, &i));
  HAS(i, S64, int64_t, DIMS(5), 2, 4, 1, 0, 3);
  RELEASE(v);
  // In the other order, NaN of either sign is the greatest, and the two zeros are equal.
  OK(lxla_topk(h, 5, 0, 1, S64, &v, &i));
  HAS(i, S64, int64_t, DIMS(5), 2, 3, 4, 0, 1);
  RELEASE(v, h);
  lxla_tensor d = ARRAY(F64, double, DIMS(2, 2), 0.0, 1e300, -0.0, -1);
  OK(lxla_topk_total_order(d, 1, 0, 0, S32, &v, &i));
  HAS(v, F64, double, DIMS(1, 2), -0.0, -1);
  HAS(i, S32, int32_t, DIMS(1, 2), 1, 1);
  RELEASE(d);
  lxla_tensor s = ARRAY(S8, int8_t, DIMS(3), -1, 5, 2);
  OK(lxla_topk_total_order(s, 2, 0, 1, S32, &v, &i));
  HAS(v, S8, int8_t, DIMS(2), 5, 2);
  RELEASE(i);
  REFUSED(lxla_topk_total_order(s, 4, 0, 1, S32, &v, &i), BAD, "k: 4 given; x is s8[3], want 0 to 3");
  lxla_tensor z = C64S(DIMS(1), 1, 2);
  REFUSED(lxla_topk_total_order(z, 1, 0, 1, S32, &v, &i), BAD, "x: topk_total_order takes pred, integers and floats, not c64[1]");
  RELEASE(s, z);
}

TEST(top_k_by_total_order) { on_both(first_by_total_order); }

// An error names the parameter as the header does, the value given and the value wanted.
static void named_arguments(void) {
  lxla_tensor out, x = F32S(DIMS(2), 1, 2), u = ARRAY(U8, uint8_t, DIMS(2), 1, 2);
  const lxla_scalar large = {.dtype = F64, .value = {.f = 1e300}};
  REFUSED(lxla_arange(env, device, S64, 0, 1e18, 1, &out), BAD,
          "start, stop, step: they give 1000000000000000000 elements, more than an address space has bytes");
  REFUSED(lxla_arange(env, device, F32, 0, 1e300, 1e-3, &out), BAD, "they give 1e303 elements, more than");
  REFUSED(lxla_arange(env, device, F32, -1e308, 1e308, 1, &out), BAD, "they give inf elements, more than");
  REFUSED(lxla_linspace(env, device, F32, 0, 1, INT64_MAX, 1, &out), BAD, "count: 9223372036854775807 given");
  REFUSED(lxla_linspace(env, device, F32, 0, 1, -1, 1, &out), BAD, "count: -1 given; want 0 or more");
  REFUSED(lxla_tensor_full(env, device, U8, NULL, 0, 256, &out), BAD, "lxla_tensor_full: value: 256.0 cannot be represented in u8");
  REFUSED(lxla_binary_scalar(ADD, u, -1, &out), BAD, "lxla_binary_scalar: rhs: -1.0 cannot be represented in u8");
  REFUSED(lxla_binary_scalar_inplace(ADD, u, 0.5), BAD, "lxla_binary_scalar_inplace: rhs: 0.5 cannot be represented in u8");
  REFUSED(lxla_binary_with_scalar(ADD, x, &large, 0, &out), BAD, "lxla_binary_with_scalar: rhs: 1e300 cannot be represented in f32");
  REFUSED(lxla_binary_with_scalar_inplace(ADD, x, &large, 1), BAD, "lxla_binary_with_scalar_inplace: rhs: 1e300 cannot");
  REFUSED(lxla_compare_scalar(LXLA_COMPARE_LT, u, 1.5, &out), BAD, "lxla_compare_scalar: rhs: 1.5 cannot be represented in u8");
  REFUSED(lxla_compare_with_scalar(LXLA_COMPARE_LT, x, &large, 0, &out), BAD, "lxla_compare_with_scalar: rhs: 1e300 cannot");
  REFUSED(lxla_layer_norm(x, (int64_t[]){0}, 1, none, none, 1e300, &out), BAD, "lxla_layer_norm: epsilon: 1e300 cannot be represented in f32");
  REFUSED(lxla_variance(x, (int64_t[]){0}, 1, 1e300, 0, &out), BAD, "lxla_variance: correction: 1e300 cannot be represented in f32");
  REFUSED(lxla_norm(x, 1e300, (int64_t[]){0}, 1, 0, &out), BAD, "lxla_norm: ord: 1e300 cannot be represented in f32");
  REFUSED(lxla_arange(env, device, S8, 0, 200, 1, &out), BAD, "start, stop, step: 199 cannot be represented in s8");
  RELEASE(x, u);
}

TEST(errors_name_the_headers_parameters) { on_both(named_arguments); }
