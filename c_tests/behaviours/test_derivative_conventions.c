// Conventions of derivatives where functions have kinks, poles or several variables: T11 of docs/behaviours.md, and
// docs/derivatives.md.
#include "derivatives.h"

typedef lxla_tensor function(lxla_tensor x);

// The gradient of the sum of f(x), at x.
static lxla_tensor slope(function *f, lxla_tensor at) {
  int64_t dims[4];
  size_t rank;
  int32_t dtype;
  OK(lxla_tensor_rank(at, &rank));
  OK(lxla_tensor_dims(at, dims, rank));
  OK(lxla_tensor_dtype(at, &dtype));
  const lxla_tensor x = hole_of(dtype, dims, rank), y = total(f(x));
  lxla_tensor r[2];
  apply(value_and_grad(traces(&x, 1, &y, 1)), &at, 1, r, 2);
  return r[1];
}

#define SLOPE_IS(f, at, dims, ...) is(__FILE__, __LINE__, slope(f, at), dims, (double[]){__VA_ARGS__}, 0)

static lxla_tensor by_scalar(int32_t op, lxla_tensor x, double value) { return own(scalar(op, x, value)); }
static lxla_tensor at_least_1(lxla_tensor x) { return by_scalar(LXLA_BINARY_MAXIMUM, x, 1); }
static lxla_tensor at_most_1(lxla_tensor x) { return by_scalar(LXLA_BINARY_MINIMUM, x, 1); }
static lxla_tensor size_of(lxla_tensor x) { return unary(LXLA_UNARY_ABS, x); }
static lxla_tensor power_0(lxla_tensor x) { return by_scalar(LXLA_BINARY_POWER, x, 0); }
static lxla_tensor power_2(lxla_tensor x) { return by_scalar(LXLA_BINARY_POWER, x, 2); }

static lxla_tensor activated(int32_t op, lxla_tensor x) {
  lxla_tensor out;
  OK(lxla_activation(op, x, &out));
  return own(out);
}

static lxla_tensor relu(lxla_tensor x) { return activated(LXLA_ACTIVATION_RELU, x); }
static lxla_tensor relu6(lxla_tensor x) { return activated(LXLA_ACTIVATION_RELU6, x); }

static lxla_tensor reduced(int32_t op, lxla_tensor x) {
  lxla_tensor out;
  OK(lxla_reduce(op, x, (int64_t[]){0}, 1, 0, &out));
  return own(out);
}

static lxla_tensor highest(lxla_tensor x) { return reduced(LXLA_REDUCE_MAX, x); }
static lxla_tensor lowest(lxla_tensor x) { return reduced(LXLA_REDUCE_MIN, x); }
static lxla_tensor multiplied(lxla_tensor x) { return reduced(LXLA_REDUCE_PRODUCT, x); }

static lxla_tensor hypot_with_0(lxla_tensor x) {
  lxla_tensor out;
  OK(lxla_binary(LXLA_BINARY_HYPOT, x, times(x, 0), &out));
  return own(out);
}

// The base 2 to an exponent, of which slope_by_base is the derivative by the base: b 2^(b-1).
static lxla_tensor exponent;
static lxla_tensor to_exponent(lxla_tensor base) { return own(binary(LXLA_BINARY_POWER, base, exponent)); }
static lxla_tensor slope_by_base(lxla_tensor b) {
  exponent = b;
  return slope(to_exponent, number_of(F32, 2));
}

static lxla_tensor length(lxla_tensor x) {
  lxla_tensor out;
  OK(lxla_norm(x, 2, NULL, 0, 0, &out));
  return own(out);
}
static lxla_tensor slope_of_length(lxla_tensor x) { return slope(length, x); }

static lxla_tensor bessel(lxla_tensor x) { return unary(LXLA_UNARY_BESSEL_I1E, x); }
static lxla_tensor slope_of_bessel(lxla_tensor x) { return slope(bessel, x); }

static lxla_tensor digamma(lxla_tensor x) { return unary(LXLA_UNARY_DIGAMMA, x); }
static lxla_tensor slope_of_digamma(lxla_tensor x) { return slope(digamma, x); }
static lxla_tensor second_of_digamma(lxla_tensor x) { return slope(slope_of_digamma, x); }

static lxla_tensor by_order(int32_t op, double order, lxla_tensor x) {
  lxla_tensor out;
  OK(lxla_binary_with_scalar(op, x, &(lxla_scalar){.dtype = F32, .value = {.f = order}}, 1, &out));
  return own(out);
}
static lxla_tensor polygamma_2(lxla_tensor x) { return by_order(LXLA_BINARY_POLYGAMMA, 2, x); }
static lxla_tensor zeta_3(lxla_tensor x) { return by_order(LXLA_BINARY_ZETA, 3, x); }

// The first element is at least 5.
static lxla_tensor raised(lxla_tensor x) {
  const lxla_tensor first = own(ARRAY(S32, int32_t, DIMS(1), 0)), update = DATA(DIMS(1), 5);
  lxla_tensor out;
  OK(lxla_scatter_along(LXLA_SCATTER_MAX, x, first, update, 0, &out));
  return own(out);
}

// log(x) where x is above 0, else 0: the logarithm gets a safe operand where it is not selected.
static lxla_tensor safe_log(lxla_tensor x) {
  const lxla_tensor is_safe = is_above(x, 0), one = number_of(F32, 1), zero = number_of(F32, 0);
  lxla_tensor inside, out;
  OK(lxla_select(is_safe, x, one, &inside));
  OK(lxla_select(is_safe, unary(LXLA_UNARY_LOG, own(inside)), zero, &out));
  return own(out);
}

// The same without a safe operand: 0 times the infinite slope is NaN.
static lxla_tensor unsafe_log(lxla_tensor x) {
  lxla_tensor out;
  OK(lxla_select(is_above(x, 0), unary(LXLA_UNARY_LOG, x), number_of(F32, 0), &out));
  return own(out);
}

static lxla_tensor repeated(lxla_tensor x) {
  lxla_tensor out;
  OK(lxla_broadcast_to(x, (int64_t[]){1000}, 1, &out));
  return own(out);
}

BOTH_TEST(t11_ties_are_split_evenly) {
  SLOPE_IS(at_least_1, DATA(DIMS(3), 0, 1, 2), DIMS(3), 0, 0.5, 1);
  SLOPE_IS(at_most_1, DATA(DIMS(3), 0, 1, 2), DIMS(3), 1, 0.5, 0);
  SLOPE_IS(highest, DATA(DIMS(4), 3, 1, 3, 2), DIMS(4), 0.5, 0, 0.5, 0);
  SLOPE_IS(lowest, DATA(DIMS(3), 1, 1, 1), DIMS(3), 1.0f / 3, 1.0f / 3, 1.0f / 3);
  SLOPE_IS(size_of, DATA(DIMS(3), -2, 0, 2), DIMS(3), -1, 0, 1);
}

BOTH_TEST(t11_relu_has_slope_0_at_its_kinks) {
  SLOPE_IS(relu, DATA(DIMS(3), -1, 0, 1), DIMS(3), 0, 0, 1);
  SLOPE_IS(relu6, DATA(DIMS(5), -1, 0, 1, 6, 7), DIMS(5), 0, 0, 1, 0, 0);
}

BOTH_TEST(t11_products_with_zeros) {
  SLOPE_IS(multiplied, DATA(DIMS(3), 2, 3, 4), DIMS(3), 12, 8, 6);
  SLOPE_IS(multiplied, DATA(DIMS(3), 0, 3, 4), DIMS(3), 12, 0, 0);
  SLOPE_IS(multiplied, DATA(DIMS(3), 0, 3, 0), DIMS(3), 0, 0, 0);
}

BOTH_TEST(t11_powers_and_lengths_at_0) {
  SLOPE_IS(power_0, DATA(DIMS(2), 0, 3), DIMS(2), 0, 0);
  SLOPE_IS(power_2, DATA(DIMS(3), -3, 0, 3), DIMS(3), -6, 0, 6);
  SLOPE_IS(hypot_with_0, DATA(DIMS(3), -3, 0, 3), DIMS(3), -1, 0, 1);
}

BOTH_TEST(t11_second_derivatives_at_0) {
  IS_NEAR(slope(slope_by_base, number_of(F32, 0)), SCALAR, 0.5);
  IS_NEAR(slope(slope_of_length, DATA(DIMS(3), 0, 2, 0)), DIMS(3), 0.5, 0, 0.5);
  SLOPE_IS(bessel, DATA(DIMS(4), -1e-40f, 0, 1e-40f, 1e-20f), DIMS(4), 0.5, 0.5, 0.5, 0.5);
  SLOPE_IS(slope_of_bessel, DATA(DIMS(3), -1e-20f, 0, 1e-20f), DIMS(3), 1, 0, -1);
}

// The derivative of trigamma is the polygamma function of order 2; by the order there is none.
BOTH_TEST(t11_gamma_and_zeta_functions_of_any_order) {
  const lxla_tensor x = DATA(DIMS(3), 0.5, -0.5, 1);
  IS_NEAR(slope(slope_of_digamma, x), DIMS(3), -16.8287966f, -0.8287966f, -2.4041138f);
  IS_NEAR(slope(second_of_digamma, x), DIMS(3), 97.4090910f, 193.4090910f, 6.4939394f);
  IS_NEAR(slope(polygamma_2, x), DIMS(3), 97.4090910f, 193.4090910f, 6.4939394f);
  IS_NEAR(slope(zeta_3, x), DIMS(3), -48.7045455f, -96.7045455f, -3.2469697f);
  const lxla_tensor n = HOLE(SCALAR), y = HOLE(SCALAR);
  lxla_computation out;
  const lxla_computation of_order = traces(TENSORS(n, y), (lxla_tensor[]){own(binary(LXLA_BINARY_POLYGAMMA, n, y))}, 1);
  REFUSED(lxla_computation_jvp(of_order, NULL, 0, &out), LXLA_UNIMPLEMENTED, "polygamma by its order has no derivative");
  const lxla_computation of_exponent = traces(TENSORS(n, y), (lxla_tensor[]){own(binary(LXLA_BINARY_ZETA, n, y))}, 1);
  REFUSED(lxla_computation_value_and_grad(of_exponent, NULL, &out), LXLA_UNIMPLEMENTED, "zeta by its exponent has no derivative");
  OK(lxla_computation_jvp(of_order, (size_t[]){1}, 1, &out));
  owned(out);
}

static void is_number(lxla_tensor t, double want) {
  double got;
  lxla_tensor wide;
  OK(lxla_convert(t, F64, &wide));
  OK(lxla_tensor_read(own(wide), &got, sizeof got));
  if (!(fabs(got - want) <= 1e-6 * fabs(want))) FAIL("it is %.9g, want %.9g", got, want);
}

// The derivatives of an operation by both operands.
static void slopes_are(int32_t op, int32_t dtype, double a, double b, double by_a, double by_b) {
  const lxla_tensor p = hole_of(dtype, SCALAR), q = hole_of(dtype, SCALAR), y = own(binary(op, p, q));
  lxla_tensor r[3];
  apply(value_and_grad(traces(TENSORS(p, q), &y, 1)), TENSORS(number_of(dtype, a), number_of(dtype, b)), r, 3);
  is_number(r[1], by_a);
  is_number(r[2], by_b);
}

static lxla_tensor inverse_sinh(lxla_tensor x) { return unary(LXLA_UNARY_ASINH, x); }
static lxla_tensor inverse_cosh(lxla_tensor x) { return unary(LXLA_UNARY_ACOSH, x); }
static lxla_tensor binary_log(lxla_tensor x) { return unary(LXLA_UNARY_LOG2, x); }
static lxla_tensor gelu_tanh(lxla_tensor x) { return activated(LXLA_ACTIVATION_GELU_TANH, x); }

// Slopes that are normal numbers, of operands whose squares are not.
BOTH_TEST(t11_slopes_at_the_ends_of_the_range) {
  slopes_are(LXLA_BINARY_ATAN2, F32, 3e-30, 4e-30, 1.6e29, -1.2e29);
  slopes_are(LXLA_BINARY_ATAN2, F32, 3e30, 4e30, 1.6e-31, -1.2e-31);
  slopes_are(LXLA_BINARY_ATAN2, F32, 2e-38, 0, 0, -5e37);
  slopes_are(LXLA_BINARY_ATAN2, F32, 1e-20, 1e5, 1e-5, -1e-30);
  slopes_are(LXLA_BINARY_ATAN2, F64, 3e-200, -4e-200, -1.6e199, -1.2e199);
  slopes_are(LXLA_BINARY_ATAN2, F64, 3e300, 4e300, 1.6e-301, -1.2e-301);
  slopes_are(LXLA_BINARY_DIVIDE, F32, 1e-30, 1e-20, 1e20, -1e10);
  slopes_are(LXLA_BINARY_DIVIDE, F32, 1e30, 1e20, 1e-20, -1e-10);
  slopes_are(LXLA_BINARY_DIVIDE, F64, 1e-200, 1e-190, 1e190, -1e180);
  is_number(slope(inverse_sinh, number_of(F32, -1e30)), 1e-30);
  is_number(slope(inverse_sinh, number_of(F64, 1e200)), 1e-200);
  is_number(slope(inverse_cosh, number_of(F32, 1e30)), 1e-30);
  is_number(slope(inverse_cosh, number_of(F64, 1e200)), 1e-200);
  is_number(slope(binary_log, number_of(F32, 1.3e-38)), 1.4426950408889634 / 1.3e-38);
  is_number(slope(gelu_tanh, number_of(F32, 1e30)), 1);
  is_number(slope(gelu_tanh, number_of(F32, -1e30)), 0);
}

BOTH_TEST(t11_scatter_leaves_nan_alone) {
  SLOPE_IS(raised, DATA(DIMS(3), 1, NAN, 7), DIMS(3), 0, 1, 1);
  SLOPE_IS(raised, DATA(DIMS(1), NAN), DIMS(1), 1);
}

BOTH_TEST(t11_a_select_passes_nothing_to_what_it_does_not_select) {
  SLOPE_IS(safe_log, DATA(DIMS(2), 0, 2), DIMS(2), 0, 0.5);
  float got[2];
  read_f32(slope(unsafe_log, DATA(DIMS(2), 0, 2)), got, 2);
  CHECK(isnan(got[0]) && got[1] == 0.5f);
}

// 1000 cotangents of 1 in bf16, whose sum in bf16 would stay at 256.
BOTH_TEST(t11_cotangents_of_16_bits_are_summed_in_f32) {
  const lxla_tensor gradient_of = slope(repeated, number_of(LXLA_DTYPE_BF16, 1));
  lxla_tensor wide;
  OK(lxla_convert(gradient_of, F32, &wide));
  IS(own(wide), SCALAR, 1000);
}
