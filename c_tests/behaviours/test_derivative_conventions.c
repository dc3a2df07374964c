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

static lxla_tensor squared_length(lxla_tensor x) {
  lxla_tensor out;
  OK(lxla_matmul(x, x, &out));
  return own(out);
}

static lxla_tensor slope_of_square(lxla_tensor x) { return slope(squared_length, x); }
static lxla_tensor curvature_of_square(lxla_tensor x) { return mul(slope(slope_of_square, x), x); }

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

// x where it is above 0, else 5; the cotangent is infinite.
static lxla_tensor overflowing(lxla_tensor x) {
  lxla_tensor out;
  OK(lxla_select(is_above(x, 0), x, number_of(F32, 5), &out));
  return times(times(own(out), 3e38), 3e38);
}

// Random numbers of the key x, times x.
static lxla_tensor random_numbers(lxla_tensor key) {
  lxla_tensor out;
  OK(lxla_random_uniform(LXLA_RNG_THREE_FRY, key, F32, DIMS(2), 0, 1, &out));
  return own(out);
}
static lxla_tensor by_its_random_numbers(lxla_tensor x) {
  lxla_tensor key;
  OK(lxla_convert(x, U32, &key));
  return mul(random_numbers(own(key)), x);
}

static lxla_tensor logical(int32_t op, lxla_tensor a, lxla_tensor b) { return own(binary(op, a, b)); }

// The body of argmax or argmin, by GT or LT: of two elements with their indices, the better one.
static lxla_computation better_of_pairs(int32_t op) {
  const lxla_tensor a = HOLE(SCALAR), i = hole_of(S32, SCALAR), b = HOLE(SCALAR), j = hole_of(S32, SCALAR);
  lxla_tensor is_better = own(compared(op, a, b)), is_equal = own(compared(LXLA_COMPARE_EQ, a, b));
  const lxla_tensor b_is_number = own(compared(LXLA_COMPARE_EQ, b, b)), a_is_nan = own(compared(LXLA_COMPARE_NE, a, a));
  is_better = logical(LXLA_BINARY_OR, is_better, logical(LXLA_BINARY_AND, b_is_number, a_is_nan));
  const lxla_tensor nan_a = own(compared(LXLA_COMPARE_NE, a, a)), nan_b = own(compared(LXLA_COMPARE_NE, b, b));
  is_equal = logical(LXLA_BINARY_OR, is_equal, logical(LXLA_BINARY_AND, nan_a, nan_b));
  const lxla_tensor is_earlier = own(compared(LXLA_COMPARE_LT, i, j)),
                    breaks_tie = logical(LXLA_BINARY_AND, is_equal, is_earlier);
  const lxla_tensor takes_a = logical(LXLA_BINARY_OR, is_better, breaks_tie);
  return traces(TENSORS(a, i, b, j), TENSORS(own(selected(takes_a, a, b)), own(selected(takes_a, i, j))));
}

// The body of the reduction, and its initial value.
static lxla_computation better;
static double worst;
static lxla_tensor best_of_four(lxla_tensor x) {
  const lxla_tensor pair[] = {x, own(ARRAY(S32, int32_t, DIMS(4), 0, 1, 2, 3))};
  const lxla_tensor inits[] = {number_of(F32, worst), own(ARRAY(S32, int32_t, SCALAR, INT32_MAX))};
  lxla_tensor out[2];
  OK(lxla_reduce_with(better, pair, inits, 2, (int64_t[]){0}, 1, out));
  own(out[1]);
  return own(out[0]);
}

static lxla_tensor as_dtype(int32_t dtype, lxla_tensor x) {
  lxla_tensor out;
  OK(lxla_convert(x, dtype, &out));
  return own(out);
}

static lxla_tensor repeated(lxla_tensor x) {
  lxla_tensor out;
  OK(lxla_broadcast_to(x, (int64_t[]){1000}, 1, &out));
  return own(out);
}

// Three cotangents, of 256, 1 and 1.
static lxla_tensor used_thrice(lxla_tensor x) { return add(add(times(x, 256), x), x); }

// Factors whose product is another number if it is not rounded in between.
static lxla_tensor scaled_thrice(lxla_tensor x) { return times(times(times(x, 1.1640625), 1.015625), 1.0078125); }

static lxla_tensor first_a_thousand_times(lxla_tensor x) {
  lxla_tensor zeros, out;
  OK(lxla_tensor_full(env, device, S32, DIMS(1000), 0, &zeros));
  OK(lxla_take(x, own(zeros), 0, &out));
  return own(out);
}

static lxla_window_options windows_of(size_t rank, const int64_t *sizes, const int64_t *strides) {
  lxla_window_options options = {.struct_size = sizeof options};
  OK(lxla_window_options_init(&options));
  options.rank = rank, options.window_dimensions = sizes, options.strides = strides;
  return options;
}

static lxla_tensor sums_of_windows(lxla_tensor x) {
  const lxla_window_options options = windows_of(1, (int64_t[]){300}, NULL);
  const lxla_tensor zero = number_of(BF16, 0);
  lxla_tensor out;
  OK(lxla_reduce_window(owned(of_two(ADD, BF16)), &x, &zero, 1, &options, &out));
  return own(out);
}

// A scan that adds a value that its body captured, a thousand times.
static lxla_tensor added_by_a_scan(lxla_tensor x) {
  const lxla_tensor sum = hole_of(BF16, SCALAR), zero = number_of(BF16, 0);
  lxla_tensor end;
  scan(traces(&sum, 1, (lxla_tensor[]){add(sum, x)}, 1), &zero, 1, NULL, 0, 1000, 0, &end, NULL, 0);
  return end;
}

static lxla_tensor factor_of(lxla_tensor x) {
  lxla_tensor out;
  OK(lxla_cholesky(x, 1, &out));
  return own(out);
}

static lxla_tensor solution_of(lxla_tensor x) {
  int32_t dtype;
  OK(lxla_tensor_dtype(x, &dtype));
  lxla_tensor out;
  OK(lxla_triangular_solve(x, as_dtype(dtype, DATA(DIMS(2, 2), 1, 2, 3, 4)), 1, 1, 0, LXLA_TRANSPOSE_NO_TRANSPOSE,
                           &out));
  return own(out);
}

// The factors are one node, whose cotangent has two terms, and each of these varies with it.
BOTH_TEST(t11_a_vector_times_itself_has_derivatives_of_any_order) {
  SLOPE_IS(squared_length, DATA(DIMS(2), 3, 4), DIMS(2), 6, 8);
  SLOPE_IS(slope_of_square, DATA(DIMS(2), 3, 4), DIMS(2), 2, 2);
  SLOPE_IS(curvature_of_square, DATA(DIMS(2), 3, 4), DIMS(2), 2, 2);
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
  REFUSED(lxla_computation_jvp(of_order, NULL, 0, &out), LXLA_UNIMPLEMENTED,
          "polygamma by its order has no derivative");
  const lxla_computation of_exponent = traces(TENSORS(n, y), (lxla_tensor[]){own(binary(LXLA_BINARY_ZETA, n, y))}, 1);
  REFUSED(lxla_computation_value_and_grad(of_exponent, NULL, &out), LXLA_UNIMPLEMENTED,
          "zeta by its exponent has no derivative");
  OK(lxla_computation_jvp(of_order, (size_t[]){1}, 1, &out));
  owned(out);
}

// The Bessel function that is differentiated.
static int32_t chosen;
static lxla_tensor chosen_bessel(lxla_tensor x) { return unary(chosen, x); }
static lxla_tensor slope_of_chosen(lxla_tensor x) { return slope(chosen_bessel, x); }
static lxla_tensor second_of_chosen(lxla_tensor x) { return slope(slope_of_chosen, x); }
static lxla_tensor erfcx(lxla_tensor x) {
  lxla_tensor out;
  OK(lxla_special(LXLA_SPECIAL_ERFCX, x, &out));
  return own(out);
}
static lxla_tensor slope_of_erfcx(lxla_tensor x) { return slope(erfcx, x); }

// Near 0, and where the terms of the slope cancel: -sqrt(pi / 8) x^-1.5 and -x^-2 / sqrt(pi).
BOTH_TEST(t11_bessel_functions) {
  // y'' = x y.
  chosen = LXLA_UNARY_AIRY_AI;
  IS_NEAR(slope_of_chosen(DATA(DIMS(2), -2, 1)), DIMS(2), 0.61825902, -0.15914744);
  IS_NEAR(second_of_chosen(DATA(DIMS(2), -2, 1)), DIMS(2), -2 * 0.22740743, 0.13529242);
  IS_NEAR(slope(second_of_chosen, DATA(DIMS(2), -2, 1)), DIMS(2), 0.22740743 - 2 * 0.61825902, 0.13529242 - 0.15914744);
  SLOPE_IS(slope_of_chosen, DATA(DIMS(1), INFINITY), DIMS(1), 0);
  chosen = LXLA_UNARY_AIRY_AI_PRIME;
  SLOPE_IS(chosen_bessel, DATA(DIMS(2), INFINITY, -INFINITY), DIMS(2), 0, NAN);
  SLOPE_IS(slope_of_chosen, DATA(DIMS(1), INFINITY), DIMS(1), 0);
  chosen = LXLA_UNARY_AIRY_BI_PRIME;
  SLOPE_IS(chosen_bessel, DATA(DIMS(2), INFINITY, -INFINITY), DIMS(2), INFINITY, NAN);
  SLOPE_IS(slope_of_chosen, DATA(DIMS(2), INFINITY, 1e35f), DIMS(2), INFINITY, INFINITY);
  chosen = LXLA_UNARY_AIRY_BI;
  SLOPE_IS(slope_of_chosen, DATA(DIMS(1), INFINITY), DIMS(1), INFINITY);
  IS_NEAR(unary(LXLA_UNARY_LOG, chosen_bessel(DATA(DIMS(1), 26.25f))), DIMS(1), 88.27296f);
  IS_NEAR(slope_of_chosen(DATA(DIMS(2), -2, 1)), DIMS(2), 0.27879517, 0.93243593);
  IS_NEAR(second_of_chosen(DATA(DIMS(2), -2, 1)), DIMS(2), 2 * 0.41230259, 1.20742360);
  chosen = LXLA_UNARY_BESSEL_J1;
  SLOPE_IS(chosen_bessel, DATA(DIMS(3), 0, 1e-20f, INFINITY), DIMS(3), 0.5, 0.5, 0);
  SLOPE_IS(slope_of_chosen, DATA(DIMS(2), 0, -0.0f), DIMS(2), 0, 0);
  IS_NEAR(slope(second_of_chosen, DATA(DIMS(2), 0, 1e-6f)), DIMS(2), -0.375, -0.375);
  chosen = LXLA_UNARY_BESSEL_Y1;
  SLOPE_IS(chosen_bessel, DATA(DIMS(2), 0, INFINITY), DIMS(2), INFINITY, 0);
  SLOPE_IS(slope_of_chosen, DATA(DIMS(3), 0, 1e-30f, 1e-40f), DIMS(3), -INFINITY, -INFINITY, -INFINITY);
  SLOPE_IS(second_of_chosen, DATA(DIMS(2), 0, 1e-20f), DIMS(2), INFINITY, INFINITY);
  chosen = LXLA_UNARY_BESSEL_K1;
  SLOPE_IS(chosen_bessel, DATA(DIMS(2), 0, INFINITY), DIMS(2), -INFINITY, 0);
  chosen = LXLA_UNARY_BESSEL_K0E;
  SLOPE_IS(chosen_bessel, DATA(DIMS(2), 0, INFINITY), DIMS(2), -INFINITY, 0);
  SLOPE_IS(slope_of_chosen, DATA(DIMS(3), 0, 1e-20f, 1e-40f), DIMS(3), INFINITY, INFINITY, INFINITY);
  SLOPE_IS(second_of_chosen, DATA(DIMS(1), 0), DIMS(1), -INFINITY);
  IS_NEAR(times(slope(chosen_bessel, DATA(DIMS(1), 1e6f)), 1e9), DIMS(1), -0.6266571f);
  chosen = LXLA_UNARY_BESSEL_K1E;
  SLOPE_IS(chosen_bessel, DATA(DIMS(2), 0, INFINITY), DIMS(2), -INFINITY, 0);
  SLOPE_IS(slope_of_chosen, DATA(DIMS(3), 0, 1e-30f, 1e-40f), DIMS(3), INFINITY, INFINITY, INFINITY);
  SLOPE_IS(second_of_chosen, DATA(DIMS(2), 0, 1e-20f), DIMS(2), -INFINITY, -INFINITY);
  IS_NEAR(times(slope(erfcx, DATA(DIMS(1), 1e4f)), 1e8), DIMS(1), -0.5641896f);
  IS_NEAR(times(slope(slope_of_erfcx, DATA(DIMS(1), 1e3f)), 1e9), DIMS(1), 1.1283792f);
}

static lxla_tensor igamma_of(double a, lxla_tensor x) { return by_order(LXLA_BINARY_IGAMMA, a, x); }
static lxla_tensor small_igamma(lxla_tensor x) { return igamma_of(2.5, x); }
static lxla_tensor slope_of_small_igamma(lxla_tensor x) { return slope(small_igamma, x); }
static lxla_tensor large_igamma(lxla_tensor x) { return igamma_of(40, x); }
static lxla_tensor slope_of_large_igamma(lxla_tensor x) { return slope(large_igamma, x); }
static lxla_tensor tiny_igamma(lxla_tensor x) { return igamma_of(8.449e-4, x); }
static lxla_tensor slope_of_tiny_igamma(lxla_tensor x) { return slope(tiny_igamma, x); }
static lxla_tensor igamma_by_a(lxla_tensor a) { return own(binary(LXLA_BINARY_IGAMMA, a, number_of(F32, 1.5))); }
static lxla_tensor grad_by_x(lxla_tensor x) { return by_order(LXLA_BINARY_IGAMMA_GRAD_A, 2.5, x); }
static lxla_tensor igammac_of(lxla_tensor x) { return by_order(LXLA_BINARY_IGAMMAC, 2.5, x); }

// By x, derivatives of any order; by a, the first. Values by mpmath.
BOTH_TEST(t11_incomplete_gamma_functions) {
  IS_NEAR(slope(small_igamma, DATA(DIMS(3), 1.5, 0, INFINITY)), DIMS(3), 0.3083607f, 0, 0);
  IS_NEAR(slope(slope_of_small_igamma, DATA(DIMS(1), 1)), DIMS(1), 0.1383692f);
  IS_NEAR(slope(large_igamma, DATA(DIMS(1), 36)), DIMS(1), 0.0564431f);
  IS_NEAR(slope(slope_of_large_igamma, DATA(DIMS(1), 36)), DIMS(1), 0.0047036f);
  IS_NEAR(times(slope(slope_of_tiny_igamma, DATA(DIMS(1), 2.3388e-9f)), 1e-14), DIMS(1), -1.5183477f);
  IS_NEAR(slope(igammac_of, DATA(DIMS(1), 1.5)), DIMS(1), -0.3083607f);
  IS_NEAR(slope(igamma_by_a, DATA(DIMS(1), 2.5)), DIMS(1), -0.2521754f);
  IS_NEAR(slope(grad_by_x, DATA(DIMS(3), 1.5, 0, INFINITY)), DIMS(3), -0.0917964f, 0, 0);
  const lxla_tensor a = HOLE(SCALAR), x = HOLE(SCALAR);
  lxla_computation out;
  const lxla_computation by_a = traces(TENSORS(a, x), (lxla_tensor[]){own(binary(LXLA_BINARY_IGAMMA_GRAD_A, a, x))}, 1);
  REFUSED(lxla_computation_jvp(by_a, NULL, 0, &out), LXLA_UNIMPLEMENTED, "igamma_grad_a by a has no derivative");
}

static void is_number(lxla_tensor t, double want) {
  double got;
  lxla_tensor wide;
  OK(lxla_convert(t, F64, &wide));
  OK(lxla_tensor_read(own(wide), &got, sizeof got));
  if (!(fabs(got - want) <= 1e-6 * fabs(want))) FAIL("it is %.9g, want %.9g", got, want);
}

// A scalar that XLA does not know: it multiplies constants in another order, (x a) b as x (a b), which overflows.
static lxla_tensor sent(int32_t dtype, double value) {
  const float single = (float)value;
  return own(array(dtype, SCALAR, dtype == F32 ? (const void *)&single : (const void *)&value, dtype == F32 ? 4 : 8));
}

// The derivatives of an operation by both operands.
static void slopes_are(int32_t op, int32_t dtype, double a, double b, double by_a, double by_b) {
  const lxla_tensor p = hole_of(dtype, SCALAR), q = hole_of(dtype, SCALAR), y = own(binary(op, p, q));
  lxla_tensor r[3];
  apply(value_and_grad(traces(TENSORS(p, q), &y, 1)), TENSORS(sent(dtype, a), sent(dtype, b)), r, 3);
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
  slopes_are(LXLA_BINARY_IGAMMA, F64, 24.4455585, 1.79303e-4, -1.193512520225028e-115, 1.3739388169302978e-111);
  slopes_are(LXLA_BINARY_DIVIDE, F32, 1e-30, 1e-20, 1e20, -1e10);
  slopes_are(LXLA_BINARY_DIVIDE, F32, 1e30, 1e20, 1e-20, -1e-10);
  slopes_are(LXLA_BINARY_DIVIDE, F64, 1e-200, 1e-190, 1e190, -1e180);
  is_number(slope(inverse_sinh, sent(F32, -1e30)), 1e-30);
  is_number(slope(inverse_sinh, sent(F64, 1e200)), 1e-200);
  is_number(slope(inverse_cosh, sent(F32, 1e30)), 1e-30);
  is_number(slope(inverse_cosh, sent(F64, 1e200)), 1e-200);
  is_number(slope(binary_log, sent(F32, 1.3e-38)), 1.4426950408889634 / 1.3e-38);
  is_number(slope(gelu_tanh, sent(F32, 1e30)), 1);
  is_number(slope(gelu_tanh, sent(F32, -1e30)), 0);
}

BOTH_TEST(t11_scatter_leaves_nan_alone) {
  SLOPE_IS(raised, DATA(DIMS(3), 1, NAN, 7), DIMS(3), 0, 1, 1);
  SLOPE_IS(raised, DATA(DIMS(1), NAN), DIMS(1), 1);
}

BOTH_TEST(t11_a_select_passes_nothing_to_what_it_does_not_select) {
  SLOPE_IS(safe_log, DATA(DIMS(2), 0, 2), DIMS(2), 0, 0.5);
  SLOPE_IS(overflowing, DATA(DIMS(2), 1, -1), DIMS(2), INFINITY, 0);
  float got[2];
  read_f32(slope(unsafe_log, DATA(DIMS(2), 0, 2)), got, 2);
  CHECK(isnan(got[0]) && got[1] == 0.5f);
}

// Numbers of one key, by their parameters: gamma numbers, their logarithms, beta numbers and these by the second
// parameter.
typedef lxla_status gamma_numbers(int32_t, lxla_tensor, lxla_tensor, const int64_t *, size_t, lxla_tensor *);
static lxla_tensor of_key_42(gamma_numbers *draw, lxla_tensor alpha) {
  lxla_tensor out;
  OK(draw(LXLA_RNG_THREE_FRY, own(ARRAY(U32, uint32_t, DIMS(2), 0, 42)), alpha, DIMS(6), &out));
  return own(out);
}
static lxla_tensor gammas(lxla_tensor alpha) { return of_key_42(lxla_random_gamma, alpha); }
static lxla_tensor log_gammas(lxla_tensor alpha) { return of_key_42(lxla_random_log_gamma, alpha); }
#define ALPHAS DATA(DIMS(6), 0.01f, 0.3f, 1, 2.5f, 40, 8)
#define BETAS DATA(DIMS(6), 0.5f, 2, 1, 3, 20, 6)
static lxla_tensor betas(lxla_tensor a, lxla_tensor b) {
  lxla_tensor out;
  OK(lxla_random_beta(LXLA_RNG_THREE_FRY, own(ARRAY(U32, uint32_t, DIMS(2), 0, 42)), a, b, DIMS(6), &out));
  return own(out);
}
static lxla_tensor betas_by_first(lxla_tensor a) { return betas(a, BETAS); }
static lxla_tensor betas_by_second(lxla_tensor b) { return betas(ALPHAS, b); }

// The derivatives of jax.random.beta for jax.random.key(42), and those of the gamma numbers by mpmath.
BOTH_TEST(t11_gamma_numbers_vary_with_their_parameters) {
  IS_NEAR(slope(gammas, ALPHAS), DIMS(6), 4.57511855e-20, 1.58087921, 1.63430602, 0.836693016, 0.945215268,
          0.931954384);
  IS_NEAR(slope(log_gammas, ALPHAS), DIMS(6), 5253.68673, 4.93872489, 0.814203095, 0.534862743, 0.0266383882,
          0.139450105);
  IS_NEAR(slope(betas_by_first, ALPHAS), DIMS(6), 1.1561189e-14, 0.6872586, 0.10798521, 0.073670387, 0.0060823276,
          0.043371424);
  IS_NEAR(slope(betas_by_second, BETAS), DIMS(6), -1.383988e-17, -0.062820032, -0.2531682, -0.10628317, -0.01063983,
          -0.047687009);
  const lxla_tensor alpha = HOLE(DIMS(6));
  lxla_computation out;
  const lxla_computation first = value_and_grad(traces(TENSORS(alpha), (lxla_tensor[]){total(gammas(alpha))}, 1));
  REFUSED(lxla_computation_jvp(first, NULL, 0, &out), LXLA_UNIMPLEMENTED, "igamma_grad_a by a has no derivative");
}

BOTH_TEST(t11_random_numbers_do_not_vary_with_their_key) {
  ARE_NEAR(slope(by_its_random_numbers, DATA(DIMS(2), 3, 4)), random_numbers(own(ARRAY(U32, uint32_t, DIMS(2), 3, 4))));
}

BOTH_TEST(t11_an_extreme_with_its_index_has_the_derivative_of_its_element) {
  better = better_of_pairs(LXLA_COMPARE_GT), worst = -INFINITY;
  SLOPE_IS(best_of_four, DATA(DIMS(4), 1, 3, 3, 2), DIMS(4), 0, 1, 0, 0);
  SLOPE_IS(best_of_four, DATA(DIMS(4), 1, NAN, 3, NAN), DIMS(4), 0, 1, 0, 0);
  better = better_of_pairs(LXLA_COMPARE_LT), worst = INFINITY;
  SLOPE_IS(best_of_four, DATA(DIMS(4), 3, 1, 1, 2), DIMS(4), 0, 1, 0, 0);
}

BOTH_TEST(t11_operations_without_a_derivative_are_named) {
  const lxla_tensor x = HOLE(DIMS(2)), source = HOLE(DIMS(2)), matrix = HOLE(DIMS(2, 2));
  lxla_computation made = {77};
  lxla_tensor out, pair[2];
#define HAS_NO_SLOPE(parameter, result, words)                                                                    \
  REFUSED(lxla_computation_value_and_grad(traces(&parameter, 1, (lxla_tensor[]){total(result)}, 1), NULL, &made), \
          LXLA_UNIMPLEMENTED, words " has no derivative")
  OK(lxla_bitcast_convert(x, F16, &out));
  HAS_NO_SLOPE(x, own(out), "bitcast_convert");
  const lxla_window_options options = windows_of(1, (int64_t[]){2}, (int64_t[]){2});
  const lxla_computation at_least = owned(comparison(LXLA_COMPARE_GE, F32)), multiply = owned(of_two(MUL, F32));
  OK(lxla_select_and_scatter(at_least, multiply, DATA(DIMS(4), 1, 2, 3, 4), source, number_of(F32, 1), &options, &out));
  HAS_NO_SLOPE(source, own(out), "select_and_scatter by another combiner than a sum");
  if (!is_native()) {
    lxla_custom_call_options how = {.struct_size = sizeof how};
    OK(lxla_custom_call_options_init(&how));
    how.backend_config = "1,1,100,1e-6", how.api_version = LXLA_CUSTOM_CALL_ORIGINAL;
    OK(lxla_custom_call("Eigh", &matrix, 1, (int32_t[]){F32, F32}, (size_t[]){2, 1}, (int64_t[]){2, 2, 2}, 2, &how,
                        pair));
    own(pair[0]);
    HAS_NO_SLOPE(matrix, own(pair[1]), "custom_call");
  }
  EQUAL(made.id, 77);
}

// Sums of more than two cotangents are computed in f32, and rounded once: in bf16 they would stay at 256, in 8 bits
// at 8.
BOTH_TEST(t11_cotangents_of_16_bits_are_summed_in_f32) {
  const lxla_tensor one = number_of(BF16, 1);
  IS(as_dtype(F32, slope(repeated, one)), SCALAR, 1000);
  IS(as_dtype(F32, slope(repeated, number_of(LXLA_DTYPE_F8E5M2, 1))), SCALAR, 1024);
  IS(as_dtype(F32, slope(used_thrice, one)), SCALAR, 258);
  IS(as_dtype(F32, slope(first_a_thousand_times, as_dtype(BF16, DATA(DIMS(2), 1, 2)))), DIMS(2), 1000, 0);
  IS(as_dtype(F32, slope(added_by_a_scan, one)), SCALAR, 1000);
  lxla_tensor ones, part;
  OK(lxla_tensor_full(env, device, BF16, DIMS(599), 1, &ones));
  OK(lxla_slice_axis(as_dtype(F32, slope(sums_of_windows, own(ones))), 0, 298, 302, 1, &part));
  IS(own(part), DIMS(4), 300, 300, 300, 298);  // of 299, 300, 299 and 298 windows
}

// Between operations a cotangent is rounded to its dtype.
BOTH_TEST(t11_cotangents_have_the_dtype_of_their_value) {
  IS(as_dtype(F32, slope(scaled_thrice, number_of(BF16, 1))), SCALAR, 1.1875);
}

// The derivatives of factors and solutions in bf16 are those in f32, rounded once.
BOTH_TEST(t11_factors_of_16_bits_are_differentiated_in_f32) {
  function *const functions[] = {factor_of, solution_of};
  const lxla_tensor matrices[] = {DATA(DIMS(2, 2), 4, 2, 2, 3), DATA(DIMS(2, 2), 2, 0, 0.75, 3)};
  for (int i = 0; i < 2; i++) {
    const lxla_tensor rounded = as_dtype(BF16, slope(functions[i], matrices[i]));
    ARE_NEAR(as_dtype(F32, slope(functions[i], as_dtype(BF16, matrices[i]))), as_dtype(F32, rounded));
  }
}
