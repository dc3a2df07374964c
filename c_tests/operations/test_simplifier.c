// Formulas that XLA's algebraic simplifier would evaluate as formulas of real numbers: sums and products with
// constants, quotients of quotients, signs of zeros, NaN in comparisons and in products with preds. Lazy and native.
#include "combiners.h"

#define DIV LXLA_BINARY_DIVIDE

// The values do not fit if XLA keeps the factors together, or the sums.
static lxla_tensor of_scalars(lxla_tensor x, int32_t first, double a, int32_t second, double b) {
  lxla_tensor inner = scalar(first, x, a), outer = scalar(second, inner, b);
  RELEASE(inner);
  return outer;
}

static lxla_tensor of_two_values(int32_t op, lxla_tensor a, lxla_tensor b) {
  lxla_tensor made = binary(op, a, b);
  RELEASE(a, b);
  return made;
}

static lxla_tensor full(double value) {
  lxla_tensor t;
  OK(lxla_tensor_full(env, device, F32, DIMS(1), value, &t));
  return t;
}

static void chains_of_constants(void) {
  const struct {
    float x;
    int32_t first;
    double a;
    int32_t second;
    double b;
    float want;
  } cases[] = {
      {1e-30f, MUL, 1e30, MUL, 1e30, 1e30f},
      {1e30f, MUL, 1e-30, MUL, 1e-30, 1e-30f},
      {1e38f, DIV, 1e30, DIV, 1e30, 1e-22f},
      {1e-30f, MUL, 1e30, DIV, 1e-30, 1e30f},
      {1e38f, DIV, 1e30, MUL, 1e-30, 1e-22f},
      {1, ADD, 1e20, SUB, 1e20, 0},
      {1, SUB, 1e20, ADD, 1e20, 0},
      {1.3f, ADD, 12582912, SUB, 12582912, 1},
      {2.5f, ADD, 12582912, SUB, 12582912, 2},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    lxla_tensor x = F32S(DIMS(2), cases[i].x, 0);
    lxla_tensor made = of_scalars(x, cases[i].first, cases[i].a, cases[i].second, cases[i].b);
    float got[2];
    OK(lxla_tensor_read(made, got, sizeof got));
    if (!(fabsf(got[0] - cases[i].want) <= 1e-6f * fabsf(cases[i].want)))
      FAIL("on device %d case %zu is %.9g, want %.9g", device.kind, i, got[0], cases[i].want);
    RELEASE(x, made);
  }
  // Constants that are tensors, and an operation between that only moves elements.
  lxla_tensor x = F32S(DIMS(1), 1), moved, sum;
  HAS_F32(of_two_values(SUB, of_two_values(ADD, snapshot(x), full(1e20)), full(1e20)), DIMS(1), 0);
  sum = scalar(ADD, x, 1e20);
  OK(lxla_reshape(sum, DIMS(1, 1), &moved));
  HAS_F32(scalar(SUB, moved, 1e20), DIMS(1, 1), 0);
  RELEASE(x, sum, moved);
}

static void quotients(void) {
  lxla_tensor a = F32S(DIMS(2), 1e30, 1), b = F32S(DIMS(2), 1e25, 2), c = F32S(DIMS(2), 1e20, 4), q = binary(DIV, a, b);
  float got[2];
  lxla_tensor made = binary(DIV, q, c);
  OK(lxla_tensor_read(made, got, sizeof got));
  CHECK(fabsf(got[0] - 1e-15f) < 1e-21f);
  EQUAL(got[1], 0.125);
  RELEASE(made);
  // The quotient is not computed yet, as in one expression.
  lxla_tensor p = binary(DIV, b, c);
  made = binary(DIV, a, p);
  OK(lxla_tensor_read(made, got, sizeof got));
  CHECK(fabsf(got[0] - 1e25f) < 1e19f);
  EQUAL(got[1], 2);
  RELEASE(made, p, q);
  // The inverses of these divisors are subnormal.
  lxla_tensor large = F32S(DIMS(2), 3e38f, 1.5e38f), halves, sixty;
  HAS_F32(scalar(DIV, large, (double)3e38f), DIMS(2), 1, 0.5);
  lxla_tensor given = F32S(DIMS(2), 60000, 30000);
  OK(lxla_convert(given, F16, &halves));
  sixty = scalar(DIV, halves, 60000);
  HAS(sixty, F16, uint16_t, DIMS(2), 0x3C00, 0x3800);
  RELEASE(a, b, c, large, given, halves);
}

// The sum of the operands overflows, the sum of their halves does not.
static void common_factors(void) {
  lxla_tensor x = F32S(DIMS(2), 3e38f, -2e38f), y = F32S(DIMS(2), 2e38f, -3e38f), minus = F32S(DIMS(2), -2e38f, 3e38f);
  const struct {
    int32_t op;
    double factor;
    lxla_tensor other;
  } cases[] = {{ADD, 0.5, y}, {SUB, 0.5, minus}, {ADD, 0.25, y}, {ADD, -0.5, y}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    lxla_tensor left = scalar(MUL, x, cases[i].factor), right = scalar(MUL, cases[i].other, cases[i].factor);
    lxla_tensor made = of_two_values(cases[i].op, left, right);
    float got[2], want = (float)(5e38 * cases[i].factor);
    OK(lxla_tensor_read(made, got, sizeof got));
    if (!(fabsf(got[0] - want) <= 1e-6f * fabsf(want) && fabsf(got[1] + want) <= 1e-6f * fabsf(want)))
      FAIL("on device %d case %zu is %.9g and %.9g, want %.9g", device.kind, i, got[0], got[1], want);
    RELEASE(made);
  }
  // The factors of many steps: XLA would make 2^200 and 2^-200 of them.
  lxla_tensor z = snapshot(x);
  for (int i = 0; i < 90; i++) {
    lxla_tensor half = scalar(MUL, z, 0.5);
    RELEASE(z);
    z = binary(ADD, half, half);
    RELEASE(half);
  }
  HAS_F32(z, DIMS(2), 3e38f, -2e38f);
  RELEASE(x, y, minus);
}

// The divisor becomes a parameter of the program when it changes.
static void changing_divisors(void) {
  lxla_tensor x = F32S(DIMS(2), 1e38f, -1e38f);
  const double divisors[] = {1e27, 1e28, 1e29, 1e30};
  for (size_t i = 0; i < sizeof divisors / sizeof *divisors; i++) {
    lxla_tensor made = of_scalars(x, DIV, 1e30, DIV, divisors[i]);
    float got[2], want = (float)(1e8 / divisors[i]);
    OK(lxla_tensor_read(made, got, sizeof got));
    if (!(fabsf(got[0] - want) <= 1e-6f * want && got[1] == -got[0]))
      FAIL("on device %d by %g: %.9g and %.9g, want %.9g", device.kind, divisors[i], got[0], got[1], want);
    RELEASE(made);
  }
  RELEASE(x);
}

// Values of one program are kept apart, up to the number in crates/ops/src/simplifier.rs.
static void many_values(void) {
  enum { KEPT = 100 };
  lxla_tensor made[KEPT];
  for (int i = 0; i < KEPT; i++) {
    lxla_tensor x = F32S(DIMS(2), (float)(i + 1) * 1e-32f, 0);
    made[i] = of_scalars(x, MUL, 1e30, MUL, 1e30);
    RELEASE(x);
  }
  OK(lxla_sync(made, KEPT));
  for (int i = 0; i < KEPT; i++) {
    float got[2], want = (float)(i + 1) * 1e28f;
    OK(lxla_tensor_read(made[i], got, sizeof got));
    if (!(fabsf(got[0] - want) <= 1e-6f * want && got[1] == 0))
      FAIL("on device %d value %d is %.9g and %.9g, want %.9g", device.kind, i, got[0], got[1], want);
  }
  OK(lxla_tensor_release_many(made, KEPT));
}

static void zeros_and_nans(void) {
  lxla_tensor zero = F32S(DIMS(2), -0.0f, 1), x = F32S(DIMS(4), NAN, INFINITY, 3, -2), flag, mask, made, power, size;
  HAS_F32(scalar(ADD, zero, 0), DIMS(2), 0, 1);
  HAS_F32(scalar(SUB, zero, -0.0), DIMS(2), 0, 1);
  HAS_F32(of_two_values(ADD, snapshot(zero), full(0)), DIMS(2), 0, 1);
  // A product with a pred is not a selection.
  OK(lxla_compare_scalar(LXLA_COMPARE_EQ, x, 3, &flag));
  OK(lxla_convert(flag, F32, &mask));
  HAS_F32(binary(MUL, x, mask), DIMS(4), NAN, NAN, 3, -0.0f);
  RELEASE(flag, mask);
  // NaN is not at least 0, whatever is known of the sign.
  OK(lxla_unary(LXLA_UNARY_ABS, x, &size));
  OK(lxla_compare_scalar(LXLA_COMPARE_GE, size, 0, &flag));
  HAS(flag, PRED, uint8_t, DIMS(4), 0, 1, 1, 1);
  power = binary(MUL, x, x);
  OK(lxla_compare_scalar(LXLA_COMPARE_GE, power, 0, &flag));
  HAS(flag, PRED, uint8_t, DIMS(4), 0, 1, 1, 1);
  RELEASE(size, power);
  // The logarithm of what is not a number.
  power = scalar(LXLA_BINARY_POWER, x, -0.5);
  OK(lxla_unary(LXLA_UNARY_LOG, power, &made));
  float got[4];
  OK(lxla_tensor_read(made, got, sizeof got));
  CHECK(isnan(got[0]) && got[1] == -INFINITY && isnan(got[3]));
  RELEASE(made, power);
  power = scalar(LXLA_BINARY_POWER, x, 3);
  OK(lxla_unary(LXLA_UNARY_LOG, power, &made));
  OK(lxla_tensor_read(made, got, sizeof got));
  CHECK(isnan(got[0]) && got[1] == INFINITY && fabsf(got[2] - 3.2958369f) < 1e-6f && isnan(got[3]));
  RELEASE(made, power, x, zero);
}

// The angle of two zeros that XLA finds out late: two equal comparisons differ nowhere.
static void angles_of_folded_zeros(void) {
  lxla_tensor x = F32S(DIMS(3), 1, 2, 3), first, second, differ, e, made;
  OK(lxla_compare_scalar(LXLA_COMPARE_GT, x, 2, &first));
  OK(lxla_compare_scalar(LXLA_COMPARE_GT, x, 2, &second));
  differ = binary(LXLA_BINARY_XOR, first, second);
  OK(lxla_convert(differ, F32, &e));
  lxla_tensor minus;
  OK(lxla_unary(LXLA_UNARY_NEGATE, e, &minus));
  OK(lxla_binary(LXLA_BINARY_ATAN2, e, e, &made));
  HAS_F32(made, DIMS(3), 0, 0, 0);
  OK(lxla_binary(LXLA_BINARY_ATAN2, minus, e, &made));
  HAS_F32(made, DIMS(3), -0.0f, -0.0f, -0.0f);
  OK(lxla_binary(LXLA_BINARY_ATAN2, e, minus, &made));
  HAS_F32(made, DIMS(3), (float)M_PI, (float)M_PI, (float)M_PI);
  RELEASE(x, first, second, differ, e, minus);
}

// The same formula in the computations that operations apply.
static void within_computations(void) {
  lxla_tensor a = placeholder(env, F32, NULL, 0), b = placeholder(env, F32, NULL, 0), sum = binary(ADD, a, b);
  lxla_tensor rounded = of_scalars(sum, ADD, 12582912, SUB, 12582912);
  lxla_computation add = traced(TENSORS(a, b), TENSORS(rounded)),
                   step = traced(TENSORS(a, b), TENSORS(rounded, rounded));
  lxla_tensor x = F32S(DIMS(5), 1.25f, 1.25f, 1.25f, 1.25f, 4), zero = at(F32, 0), out, carry, steps;
  OK(lxla_reduce_with(add, &x, &zero, 1, (int64_t[]){0}, 1, &out));
  float total;
  OK(lxla_tensor_read(out, &total, sizeof total));
  CHECK(total == rintf(total));
  RELEASE(out);
  OK(lxla_scan(step, &zero, 1, &x, 1, 5, 0, &carry, &steps, 1));
  HAS_F32(carry, SCALAR, 8);
  HAS_F32(steps, DIMS(5), 1, 2, 3, 4, 8);
  lxla_window_options w = window(1, (int64_t[]){2});
  OK(lxla_reduce_window(add, &x, &zero, 1, &w, &out));
  float windows[4];
  OK(lxla_tensor_read(out, windows, sizeof windows));
  for (int i = 0; i < 4; i++) CHECK(windows[i] == rintf(windows[i]));
  RELEASE(a, b, sum, rounded, x, zero, out);
  DONE(add, step);
}

TEST(constants_are_applied_in_order) { on_both(chains_of_constants); }
TEST(quotients_of_quotients) { on_both(quotients); }
TEST(sums_of_products_with_one_factor) { on_both(common_factors); }
TEST(quotients_by_scalars_that_change) { on_both(changing_divisors); }
TEST(many_values_of_one_program_are_kept_apart) { on_both(many_values); }
TEST(signs_of_zeros_and_nans) { on_both(zeros_and_nans); }
TEST(angles_of_zeros_that_are_found_out_late) { on_both(angles_of_folded_zeros); }
TEST(formulas_within_computations) { on_both(within_computations); }
