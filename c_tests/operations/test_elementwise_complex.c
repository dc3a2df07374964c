// Complex numbers: their parts, and functions of them at edges and near poles, on an XLA device and natively.
#include "near.h"

#include <complex.h>

static void complex_numbers(void) {
  lxla_tensor out = none, parts = none;
  lxla_tensor re = ARRAY(F32, float, DIMS(2, 1), 1, -0.0f), im = ARRAY(F32, float, DIMS(2), INFINITY, -2);
  OK(lxla_complex(re, im, &out));
  OK(lxla_real(out, &parts));
  HAS(parts, F32, float, DIMS(2, 2), 1, 1, -0.0f, -0.0f);
  OK(lxla_imag(out, &parts));
  HAS(parts, F32, float, DIMS(2, 2), INFINITY, -2, INFINITY, -2);
  HAS(out, C64, float, DIMS(2, 2), 1, INFINITY, 1, -2, -0.0f, INFINITY, -0.0f, -2);
  lxla_tensor wide = ARRAY(F64, double, DIMS(2), 0.1, 1e300), brain = ARRAY(BF16, uint16_t, SCALAR, 0x3FC0);
  OK(lxla_complex(wide, brain, &out));
  HAS(out, C128, double, DIMS(2), 0.1, 1.5, 1e300, 1.5);
  OK(lxla_complex(re, brain, &out));
  HAS(out, C64, float, DIMS(2, 1), 1, 1.5f, -0.0f, 1.5f);

  // A real operand: its real part is itself, its imaginary part zeros.
  lxla_tensor whole = ARRAY(S32, int32_t, DIMS(2), INT32_MIN, 7);
  OK(lxla_real(whole, &out));
  HAS(out, S32, int32_t, DIMS(2), INT32_MIN, 7);
  OK(lxla_imag(whole, &out));
  HAS(out, S32, int32_t, DIMS(2), 0, 0);
  OK(lxla_imag(im, &out));
  HAS(out, F32, float, DIMS(2), 0, 0);
  lxla_tensor empty = array(F64, DIMS(0), NULL, 0);
  OK(lxla_complex(empty, brain, &out));
  EMPTY(out, C128, DIMS(0));

  lxla_tensor half = ARRAY(F16, uint16_t, SCALAR, 0);
  REFUSED(lxla_complex(half, half, &out), LXLA_INVALID_ARGUMENT, "there are no complex numbers of f16");
  REFUSED(lxla_complex(re, whole, &out), LXLA_INVALID_ARGUMENT, "imag: complex takes floats, not s32[2]");
  REFUSED(lxla_complex(empty, im, &out), LXLA_INVALID_ARGUMENT, "do not broadcast");
  RELEASE(re, im, wide, brain, whole, empty, half);
}

static lxla_tensor unary(int32_t op, lxla_tensor x) {
  lxla_tensor out;
  OK(lxla_unary(op, x, &out));
  return out;
}

// Far from 0, the small part of the inverse tangents is x / |z|^2, computed without overflow.
static void far_from_zero(void) {
  const double huge = 1e30, wide = 1e160;
  lxla_tensor z = ARRAY(C64, float, DIMS(2), huge, huge, 1e25f, 3), w = ARRAY(C128, double, DIMS(1), wide, wide);
  float got[4];
  double one[2];
  lxla_tensor first = unary(LXLA_UNARY_ATANH, z), second = unary(LXLA_UNARY_ATAN, z),
              third = unary(LXLA_UNARY_ATANH, w);
  OK(lxla_tensor_read(first, got, sizeof got));
  CHECK(fabsf(got[0] / 5e-31f - 1) < 1e-5f && fabsf(got[2] / 1e-25f - 1) < 1e-5f);
  OK(lxla_tensor_read(second, got, sizeof got));
  CHECK(fabsf(got[1] / 5e-31f - 1) < 1e-5f);
  OK(lxla_tensor_read(third, one, sizeof one));
  CHECK(fabs(one[0] / 5e-161 - 1) < 1e-12);
  RELEASE(z, w, first, second, third);
}

// Complex functions below the branch cut, and with infinite parts, as C (annex G) defines them.
static void complex_edges(void) {
  const float inf = INFINITY;
  lxla_tensor z = ARRAY(C64, float, DIMS(4), -4, -0.0f, inf, NAN, -inf, 1, NAN, -inf);
  HAS_F32(unary(LXLA_UNARY_ABS, z), DIMS(4), 4, inf, inf, inf);
  const float roots[] = {0, -2, inf, NAN, 0, inf, inf, -inf},
              logs[] = {1.3862944f, -3.1415927f, inf, NAN, inf, 3.1415927f, inf, NAN};
  float got[8];
  for (int op = 0; op < 2; op++) {
    lxla_tensor out = unary(op ? LXLA_UNARY_LOG : LXLA_UNARY_SQRT, z);
    OK(lxla_tensor_read(out, got, sizeof got));
    for (int i = 0; i < 8; i++) {
      float want = (op ? logs : roots)[i];
      CHECK(isfinite(want) ? fabsf(got[i] - want) < 1e-6f : isnan(want) ? isnan(got[i]) : got[i] == want);
    }
    RELEASE(out);
  }
  lxla_tensor far = ARRAY(C64, float, DIMS(2), inf, inf, -inf, NAN), out = unary(LXLA_UNARY_TANH, far);
  OK(lxla_tensor_read(out, got, 4 * sizeof *got));
  CHECK(got[0] == 1 && got[1] == 0 && got[2] == -1 && got[3] == 0);
  RELEASE(z, far, out);
}

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
      int same = isnan(want[i])                ? isnan(got[i])
                 : isinf(want[i])              ? got[i] == want[i]
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

// Inverse functions on both sides of their branch cuts, beside 1, and where a square overflows or underflows.
static void branch_cuts(void) {
  lxla_tensor z = ARRAY(C128, double, DIMS(5), 2, 0.0, 2, -0.0, 1, 1e-300, 1e300, 1e300, 1e-300, 1e-300);
  double half = 1.5707963267948966, height = acosh(2), tiny = 1e-150, big = log(2e300) + log(2) / 2;
  NEAR(unary(LXLA_UNARY_ASIN, z), C128, DIMS(5), 1e-15, half, height, half, -height, half, tiny, half / 2, big, 1e-300,
       1e-300);
  NEAR(unary(LXLA_UNARY_ACOS, z), C128, DIMS(5), 1e-15, 0, -height, 0, height, tiny, -tiny, half / 2, -big, half,
       -1e-300);
  NEAR(unary(LXLA_UNARY_ACOSH, z), C128, DIMS(5), 1e-15, height, 0, height, -0.0, tiny, tiny, big, half / 2, 1e-300,
       half);
  NEAR(unary(LXLA_UNARY_ATANH, z), C128, DIMS(5), 1e-15, atanh(0.5), half, atanh(0.5), -half,
       log(2) / 2 + 150 * log(10), half / 2, 5e-301, half, 1e-300, 1e-300);
  RELEASE(z);
}

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

// Subnormal numbers, whose squares are 0: on cpu only, since XLA's CPU backend takes them for 0.
static void subnormal_numbers(void) {
  if (!is_native()) return;
  const double least = 5e-324, small = 1e-318, both = 1e-320;
  lxla_tensor z = ARRAY(C128, double, DIMS(4), least, 0, 0, -least, small, 0, both, both);
  NEAR(unary(LXLA_UNARY_SIGN, z), C128, DIMS(4), 1e-15, 1, 0, 0, -1, 1, 0, sqrt(0.5), sqrt(0.5));
  double complex turned = csqrt(-I * 1.0), half = csqrt(1 + I * 1.0);
  double root = sqrt(least), other = sqrt(both);
  NEAR(unary(LXLA_UNARY_SQRT, z), C128, DIMS(4), 1e-15, root, 0, root * creal(turned), root * cimag(turned),
       sqrt(small), 0, other * creal(half), other * cimag(half));
  double complex below = 1 / turned / root, last = 1 / half / other;
  NEAR(unary(LXLA_UNARY_RSQRT, z), C128, DIMS(4), 1e-15, 1 / root, -0.0, creal(below), cimag(below), 1 / sqrt(small),
       -0.0, creal(last), cimag(last));
  RELEASE(z);
}

// NumPy's rule: true where either part is not 0. StableHLO's convert looks at the real part.
static void preds_of_complex_numbers(void) {
  lxla_tensor z = C64S(DIMS(6), 0, 0, 0, 1, 1, 0, -0.0f, -0.0f, 0, NAN, NAN, 0), p;
  OK(lxla_convert(z, PRED, &p));
  HAS(p, PRED, uint8_t, DIMS(6), 0, 1, 1, 0, 1, 1);
  RELEASE(z);
}

TEST(complex_and_its_parts) { on_both(complex_numbers); }
TEST(complex_functions_at_their_edges) { on_both(complex_edges); }
TEST(complex_functions_far_from_zero) { on_both(far_from_zero); }
TEST(complex_functions_have_the_standards_values_at_the_edges) { on_both(edges_of_complex_functions); }
TEST(inverse_functions_take_the_side_of_the_cut_that_a_zero_has) { on_both(branch_cuts); }
TEST(nothing_is_lost_near_poles_and_overflow) { on_both(poles_and_overflow); }
TEST(subnormal_complex_numbers_have_exact_roots_and_signs_on_cpu) { on_both(subnormal_numbers); }
TEST(a_complex_number_is_true_by_either_part) { on_both(preds_of_complex_numbers); }
