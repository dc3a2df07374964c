// Arguments that functions of every subject take alike: lists of axes (NULL means all axes, a list of length 0 means
// none), names of parameters in errors, and constants that are none.
#include "both.h"

static const int64_t no_axes[1] = {0};

static void every_function(void) {
  lxla_tensor x = F32S(DIMS(2, 3), 1, 2, 3, 4, 5, 6), flat = F32S(DIMS(1, 2, 1), 1, 2), no = {0}, out;
  OK(lxla_reduce(LXLA_REDUCE_SUM, x, NULL, 0, 0, &out));
  HAS_F32(out, SCALAR, 21);
  OK(lxla_reduce(LXLA_REDUCE_MAX, x, NULL, 0, 1, &out));
  HAS_F32(out, DIMS(1, 1), 6);
  OK(lxla_reduce(LXLA_REDUCE_SUM, x, no_axes, 0, 0, &out));
  HAS_F32(out, DIMS(2, 3), 1, 2, 3, 4, 5, 6);
  OK(lxla_mean(x, NULL, 0, 0, &out));
  HAS_F32(out, SCALAR, 3.5);
  OK(lxla_mean(x, no_axes, 0, 0, &out));
  HAS_F32(out, DIMS(2, 3), 1, 2, 3, 4, 5, 6);
  OK(lxla_variance(x, NULL, 0, 1, 0, &out));
  HAS_F32(out, SCALAR, 3.5);
  OK(lxla_variance(x, no_axes, 0, 0, 0, &out));
  HAS_F32(out, DIMS(2, 3), 0, 0, 0, 0, 0, 0);
  OK(lxla_standard_deviation(flat, NULL, 0, 0, 0, &out));
  HAS_F32(out, SCALAR, 0.5);
  OK(lxla_standard_deviation(flat, no_axes, 0, 0, 0, &out));
  HAS_F32(out, DIMS(1, 2, 1), 0, 0);
  OK(lxla_logsumexp(flat, NULL, 0, 1, &out));
  RELEASE(out);
  OK(lxla_logsumexp(flat, no_axes, 0, 0, &out));
  HAS_F32(out, DIMS(1, 2, 1), 1, 2);
  OK(lxla_norm(x, 1, NULL, 0, 0, &out));
  HAS_F32(out, SCALAR, 21);
  OK(lxla_norm(x, 1, no_axes, 0, 0, &out));
  HAS_F32(out, DIMS(2, 3), 1, 2, 3, 4, 5, 6);
  OK(lxla_reverse(x, NULL, 0, &out));
  HAS_F32(out, DIMS(2, 3), 6, 5, 4, 3, 2, 1);
  OK(lxla_reverse(x, no_axes, 0, &out));
  HAS_F32(out, DIMS(2, 3), 1, 2, 3, 4, 5, 6);
  OK(lxla_flip(x, NULL, 0, &out));
  HAS_F32(out, DIMS(2, 3), 6, 5, 4, 3, 2, 1);
  OK(lxla_flip(x, no_axes, 0, &out));
  HAS_F32(out, DIMS(2, 3), 1, 2, 3, 4, 5, 6);
  OK(lxla_squeeze(flat, NULL, 0, &out));
  HAS_F32(out, DIMS(2), 1, 2);
  OK(lxla_squeeze(flat, no_axes, 0, &out));
  HAS_F32(out, DIMS(1, 2, 1), 1, 2);
  OK(lxla_layer_norm(flat, NULL, 0, no, no, 0, &out));
  HAS_F32(out, DIMS(1, 2, 1), -1, 1);
  REFUSED(lxla_layer_norm(flat, no_axes, 0, no, no, 0, &out), BAD, "axes: none given; want at least 1");
  REFUSED(lxla_reduce(LXLA_REDUCE_SUM, x, NULL, 1, 0, &out), LXLA_NULL_ARGUMENT, "axes: it is NULL");
  REFUSED(lxla_norm(x, 2, NULL, 1, 0, &out), LXLA_NULL_ARGUMENT, "axes: it is NULL");
  REFUSED(lxla_reduce(LXLA_REDUCE_SUM, no, NULL, 0, 0, &out), LXLA_INVALID_HANDLE, "x");
  RELEASE(x, flat);
}
TEST(null_is_all_axes_and_an_empty_list_is_none) { on_both(every_function); }

static void by_a_computation(void) {
  lxla_tensor x = F32S(DIMS(2, 3), 1, 2, 3, 4, 5, 6), zero = at(F32, 0), p[2], sum, out;
  lxla_computation add;
  for (int i = 0; i < 2; i++) OK(lxla_tensor_placeholder(env, XLA(0), F32, NULL, 0, &p[i]));
  OK(lxla_binary(LXLA_BINARY_ADD, p[0], p[1], &sum));
  OK(lxla_computation_trace(p, 2, &sum, 1, &add));
  RELEASE(p[0], p[1], sum);
  OK(lxla_reduce_with(add, &x, &zero, 1, NULL, 0, &out));
  HAS_F32(out, SCALAR, 21);
  OK(lxla_reduce_with(add, &x, &zero, 1, no_axes, 0, &out));
  HAS_F32(out, DIMS(2, 3), 1, 2, 3, 4, 5, 6);
  OK(lxla_computation_release(add));
  RELEASE(x, zero);
}
TEST(so_it_is_for_reductions_by_computations) { on_both(by_a_computation); }

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
  REFUSED(lxla_tensor_full(env, device, U8, NULL, 0, 256, &out), BAD,
          "lxla_tensor_full: value: 256.0 cannot be represented in u8");
  REFUSED(lxla_binary_scalar(ADD, u, -1, &out), BAD, "lxla_binary_scalar: rhs: -1.0 cannot be represented in u8");
  REFUSED(lxla_binary_scalar_inplace(ADD, u, 0.5), BAD,
          "lxla_binary_scalar_inplace: rhs: 0.5 cannot be represented in u8");
  REFUSED(lxla_binary_with_scalar(ADD, x, &large, 0, &out), BAD,
          "lxla_binary_with_scalar: rhs: 1e300 cannot be represented in f32");
  REFUSED(lxla_binary_with_scalar_inplace(ADD, x, &large, 1), BAD,
          "lxla_binary_with_scalar_inplace: rhs: 1e300 cannot");
  REFUSED(lxla_compare_scalar(LXLA_COMPARE_LT, u, 1.5, &out), BAD,
          "lxla_compare_scalar: rhs: 1.5 cannot be represented in u8");
  REFUSED(lxla_compare_with_scalar(LXLA_COMPARE_LT, x, &large, 0, &out), BAD,
          "lxla_compare_with_scalar: rhs: 1e300 cannot");
  REFUSED(lxla_layer_norm(x, (int64_t[]){0}, 1, none, none, 1e300, &out), BAD,
          "lxla_layer_norm: epsilon: 1e300 cannot be represented in f32");
  REFUSED(lxla_variance(x, (int64_t[]){0}, 1, 1e300, 0, &out), BAD,
          "lxla_variance: correction: 1e300 cannot be represented in f32");
  REFUSED(lxla_norm(x, 1e300, (int64_t[]){0}, 1, 0, &out), BAD, "lxla_norm: ord: 1e300 cannot be represented in f32");
  REFUSED(lxla_arange(env, device, S8, 0, 200, 1, &out), BAD, "start, stop, step: 199 cannot be represented in s8");
  RELEASE(x, u);
}
TEST(errors_name_the_headers_parameters) { on_both(named_arguments); }

TEST(members_that_are_none) {
  env = new_env();
  device = (lxla_device){LXLA_DEVICE_CPU, 0};
  lxla_tensor x = F32S(DIMS(1), 1), out;
  REFUSED(lxla_unary(57, x, &out), BAD, "op: 57 is not an LXLA_UNARY_* constant (valid: 1 to 56)");
  REFUSED(lxla_binary(27, x, x, &out), BAD, "op: 27 is not an LXLA_BINARY_* constant (valid: 1 to 26)");
  REFUSED(lxla_binary(LXLA_BINARY_HYPOT, x, (lxla_tensor){0}, &out), LXLA_INVALID_HANDLE, "rhs");
  RELEASE(x);
  OK(lxla_env_release(env));
}
